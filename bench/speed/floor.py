"""The floor: the matrix products that the work cannot do without, into memory allocated once, and nothing else.

What would make it unfair is kept out: every layer has weights and activations of its own (shared ones would stay in the
cache), while every token of a decoding finds the same weights again; weights, keys and values lie in memory the way
round that was found the faster; scores, which good code never holds as a whole, are made for a few heads at a time.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

Call = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Map:
    """A learned map in each of `layers` layers: [rows, inner] @ [inner, columns]."""

    name: str
    rows: int
    inner: int
    columns: int
    layers: int = 1

    def size(self) -> int:
        return self.rows * self.inner * self.columns

    def calls(self, memory: Memory, layer: int, turned: tuple[bool, ...], gradients: bool) -> tuple[list[Call], ...]:
        """The products forward, and backward: a gradient takes the room of its value, or one that all layers share."""
        at = f"{self.name}.{layer}."
        x, y = memory.take(at + "x", self.rows, self.inner), memory.take(at + "y", self.rows, self.columns)
        weight = memory.take(at + "weight", self.inner, self.columns, turned=turned[0])
        back = []
        if gradients:
            of_x = memory.take("gradient", self.rows, self.inner)
            of_weight = memory.take(at + "gradient", self.inner, self.columns, turned=turned[0])
            left, right, out = (y.mT, x, of_weight.mT) if turned[0] else (x.mT, y, of_weight)
            back = [memory.product(y, weight.mT, of_x), memory.product(left, right, out)]
        return [memory.product(x, weight, y)], back


@dataclass(frozen=True, slots=True)
class Attention:
    """In each of `layers` layers, the scores of queries and keys and what they pick up, `batch` examples times heads.

    Causal attention counts at half: half of the queries see all keys.
    """

    name: str
    queries: int
    keys: int
    head: int
    batch: int
    layers: int = 1

    def size(self) -> int:
        return self.queries * self.keys * self.head

    def calls(self, memory: Memory, layer: int, turned: tuple[bool, ...], gradients: bool) -> tuple[list[Call], ...]:
        at = f"{self.name}.{layer}."
        q, out = (memory.take(at + end, self.batch, self.queries, self.head) for end in ("q", "out"))
        k = memory.take(at + "k", self.batch, self.keys, self.head, turned=turned[0])
        v = memory.take(at + "v", self.batch, self.keys, self.head, turned=turned[1])
        heads = max(2**18 // (self.queries * self.keys), 1)
        there: list[Call] = []
        back: list[Call] = []
        for first in range(0, self.batch, heads):
            Q, K, V, seen = (x[first : first + heads] for x in (q, k, v, out))
            scores = memory.take("scores", len(Q), self.queries, self.keys)
            there += [memory.product(Q, K.mT, scores), memory.product(scores, V, seen)]
            if gradients:
                of_Q, of_K = (memory.take("gradient", *x.shape) for x in (Q, K))
                back += [memory.product(scores.mT, seen, of_K), memory.product(seen, V.mT, scores)]
                back += [memory.product(scores, K, of_Q), memory.product(scores.mT, Q, of_K)]
        return there, back


DRAWN = np.random.default_rng(0).standard_normal(2**16, dtype=np.float32)
Pass = Sequence[Map | Attention]


def floor(passes: Iterable[Pass], *, library: str = "torch", gradients: bool = False) -> Call:
    """A call that does the passes in order, in float32; with `gradients`, each of them forward and then backward.

    library: "torch" or "numpy". What bears one name in several passes has the same memory in all of them.
    """
    passes = [list(one) for one in passes]
    largest: dict[str, Map | Attention] = {}
    for one in itertools.chain(*passes):
        largest[one.name] = max(largest.get(one.name, one), one, key=lambda work: work.size())
    memory = Memory(library)
    layouts = {name: fastest(memory, one, gradients) for name, one in largest.items()}
    calls: list[Call] = []
    for works in passes:
        there: list[Call] = []
        back: list[Call] = []
        for layer in range(max(work.layers for work in works)):
            for work in works:
                if layer < work.layers:
                    forward, backward = work.calls(memory, layer, layouts[work.name], gradients)
                    there, back = there + forward, backward + back
        calls += there + back

    def run() -> None:
        for call in calls:
            call()

    return run


class Memory:
    """Rooms by name. What was asked of one first is filled, and serves all who ask for as much or less."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.rooms: dict[str, Any] = {}

    def take(self, name: str, *shape: int, turned: bool = False) -> Any:
        """[..., rows, columns] in the room of that name; turned: lying there as [..., columns, rows]."""
        if turned:
            return self.take(name, *shape[:-2], shape[-1], shape[-2]).mT
        size = math.prod(shape)
        if name not in self.rooms or len(self.rooms[name]) < size:
            filled = np.resize(DRAWN, size)
            self.rooms[name] = torch.from_numpy(filled) if self.library == "torch" else filled
        return self.rooms[name][:size].reshape(shape)

    def product(self, a: Any, b: Any, out: Any) -> Call:
        if self.library == "numpy":
            return lambda: np.matmul(a, b, out=out)
        op = torch.mm if a.ndim == 2 else torch.bmm
        return lambda: op(a, b, out=out)


def fastest(memory: Memory, work: Map | Attention, gradients: bool) -> tuple[bool, ...]:
    """Which way round its operands are to lie, by the clock: every layer in turn, so that the cache helps no one."""
    ways = {}
    for turned in itertools.product((False, True), repeat=1 if isinstance(work, Map) else 2):
        layers = [work.calls(memory, layer, turned, gradients) for layer in range(work.layers)]
        ways[turned] = [call for there, back in layers for call in (*there, *back)]
    spent: dict[tuple[bool, ...], float] = dict.fromkeys(ways, math.inf)
    start, rounds = time.process_time(), 0
    while rounds < 2 or (rounds < 20 and time.process_time() - start < 0.3):
        rounds += 1
        for turned, calls in ways.items():
            began = time.process_time()
            for call in calls:
                call()
            spent[turned] = min(spent[turned], time.process_time() - began)
    return min(spent, key=lambda turned: spent[turned])
