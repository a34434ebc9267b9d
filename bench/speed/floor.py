"""The floor: the matrix products that the work cannot do without, into memory allocated once, and nothing else.

What would make it unfair is kept out: every layer has weights and activations of its own (shared ones would stay in
the cache), while every token of a decoding finds the same weights again, and keys and values in the same rooms;
scores, which good code never holds as a whole, are made for a few heads at a time. Weights, keys and values lie in
memory the way round that was found the faster, and one row is multiplied as a matrix or as a vector. That is found by
the clock over the whole of the work, with every other product in between as it is there: what is best for the many
rows of a prompt need not be so for the one row of each token behind it, nor what is best for matrices that stay in the
cache for those that are read again.
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
Way = tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Map:
    """A learned map in each of `layers` layers: [rows, inner] @ [inner, columns]. data: x is no result, so that nothing
    asks for its gradient."""

    name: str
    rows: int
    inner: int
    columns: int
    layers: int = 1
    data: bool = False

    def ways(self) -> list[Way]:
        """Whether its weight is turned, and one row a vector."""
        return list(itertools.product((False, True), (False, True) if self.rows == 1 else (False,)))

    def calls(self, memory: Memory, layer: int, way: Way, gradients: bool) -> tuple[list[Call], ...]:
        """The products forward, and backward: a gradient takes the room of its value, or one that all layers share."""
        turned, vector = way
        at = f"{self.name}.{layer}."
        x, y = memory.take(at + "x", self.rows, self.inner), memory.take(at + "y", self.rows, self.columns)
        weight = memory.take(at + "weight", self.inner, self.columns, turned=turned)
        back = []
        if gradients:
            of_x = memory.take("gradient", self.rows, self.inner)
            of_weight = memory.take(at + "gradient", self.inner, self.columns, turned=turned)
            left, right, out = (y.mT, x, of_weight.mT) if turned else (x.mT, y, of_weight)
            back = [] if self.data else [memory.product(y, weight.mT, of_x)]
            back.append(memory.product(left, right, out))
        return [memory.product(x, weight, y, vector=vector and self.rows == 1)], back


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

    def ways(self) -> list[Way]:
        """Whether keys and whether values are turned."""
        return list(itertools.product((False, True), repeat=2))

    def calls(self, memory: Memory, layer: int, way: Way, gradients: bool) -> tuple[list[Call], ...]:
        at = f"{self.name}.{layer}."
        q, out = (memory.take(at + end, self.batch, self.queries, self.head) for end in ("q", "out"))
        k = memory.take(at + "k", self.batch, self.keys, self.head, turned=way[0])
        v = memory.take(at + "v", self.batch, self.keys, self.head, turned=way[1])
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
    memory = Memory(library)
    for work in itertools.chain(*passes):  # rooms become as large as they must before a product keeps one
        for layer in range(work.layers):
            work.calls(memory, layer, work.ways()[0], gradients)
    calls = [call for _, call in arranged(memory, passes, fastest(memory, passes, gradients), gradients)]

    def run() -> None:
        for call in calls:
            call()

    return run


def arranged(memory: Memory, passes: Sequence[Pass], ways: dict[str, Way], gradients: bool) -> list[tuple[str, Call]]:
    """All products in order, each with the name of its work."""
    found: list[tuple[str, Call]] = []
    for works in passes:
        there: list[tuple[str, Call]] = []
        back: list[tuple[str, Call]] = []
        for layer in range(max(work.layers for work in works)):
            for work in works:
                if layer < work.layers:
                    forward, backward = work.calls(memory, layer, ways[work.name], gradients)
                    there += [(work.name, call) for call in forward]
                    back += [(work.name, call) for call in backward]
        found += there + back
    return found


def fastest(memory: Memory, passes: Sequence[Pass], gradients: bool) -> dict[str, Way]:
    """How each work is best done: all of them are timed in all passes, with what comes between them as it is there."""
    options: dict[str, list[Way]] = {}
    for work in itertools.chain(*passes):
        options[work.name] = max(options.get(work.name, []), work.ways(), key=len)
    tried = [
        {name: ways[number % len(ways)] for name, ways in options.items()}
        for number in range(max(len(ways) for ways in options.values()))
    ]
    plans = [arranged(memory, passes, ways, gradients) for ways in tried]
    spent: dict[tuple[str, Way], float] = {}
    start, rounds = time.process_time(), 0
    while rounds < 2 or (rounds < 20 and time.process_time() - start < 1):
        rounds += 1
        for ways, plan in zip(tried, plans, strict=True):
            taken = dict.fromkeys(ways, 0.0)
            for name, call in plan:
                began = time.process_time()
                call()
                taken[name] += time.process_time() - began
            for name, way in ways.items():
                spent[name, way] = min(spent.get((name, way), math.inf), taken[name])
    return {name: min(ways, key=lambda way, of=name: spent[of, way]) for name, ways in options.items()}


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

    def product(self, a: Any, b: Any, out: Any, vector: bool = False) -> Call:
        """vector: a and out, which have one row, are vectors."""
        if vector:
            a, out = a[0], out[0]
        if self.library == "numpy":
            return lambda: np.matmul(a, b, out=out)
        if vector:
            turned = b.mT
            return lambda: torch.mv(turned, a, out=out)
        op = torch.mm if a.ndim == 2 else torch.bmm
        return lambda: op(a, b, out=out)
