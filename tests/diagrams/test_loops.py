"""Loops: programs that compute otherwise are drawn otherwise, the same program is drawn alike.

Pairs, not a reader: what differs is judged by what the NumPy backend computes, or by other weights. What a reader sees
of a figure is the `signature` of twins/. `pytest -m slow tests/diagrams/test_loops.py --seeds 100:900` runs more.
"""

from __future__ import annotations

import random
import re
import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pytest

from attnc.compiler.graph.nodes import Graph
from attnc.dsl.errors import AttnError
from attnc.spec import loads

from .loops import Program, made, mutants, same, smaller
from .twins.signature import Signature, seen

QUICK = range(10)
EACH = 5  # mutants of a program
PARTS = 40
WIDE, NARROW = 12.0, 5.5  # pages in inches: rows of a wide one are seldom folded, and are drawn in half the time


@dataclass(frozen=True, eq=False)
class Judged:
    """What a program computes of three inputs, and the shapes of its weights."""

    outputs: tuple[np.ndarray, ...]
    shapes: tuple[tuple[int, ...], ...]
    graph: Graph


@lru_cache(maxsize=4000)
def judged(text: str) -> Judged | None:
    """None: it is no right program."""
    try:
        model = loads(text).model("f")
    except AttnError:
        return None
    weights = _weights({name: weight.shape for name, weight in model.weights.items()})
    run = model.numpy(weights=weights, dtype="float64")
    rng = np.random.default_rng(0)
    inputs = [[rng.normal(size=(4, 3)) for _ in model.inputs] for _ in range(3)]
    outputs = tuple(run(*each) for each in inputs)
    shapes = []
    for array in weights.values():  # a figure leaves out what nothing reads, and its weights
        array += 1.0
        if not np.array_equal(run(*inputs[0]), outputs[0]):
            shapes.append(array.shape)
        array -= 1.0
    return Judged(outputs, tuple(sorted(shapes)), model.graph)


@lru_cache(maxsize=4000)
def figure(program: Judged, names: tuple[tuple[str, str], ...] = (), width: float = WIDE) -> Signature:
    """What a reader sees of it, on a page of this width."""
    return seen(program.graph, dict(names), depth=1, width=width)


def _weights(shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """By their names and passes, wherever they stand: a loop that shares its weights may read them from outside."""

    def drawn(name: str, shape: tuple[int, ...]) -> np.ndarray:
        own = re.sub(r"\br\d+\.", "", name)
        return np.random.default_rng(zlib.crc32(own.encode())).normal(size=shape, scale=0.8)

    return {name: drawn(name, shape) for name, shape in shapes.items()}


def differ(one: Judged, other: Judged) -> bool:
    if one.shapes != other.shapes:
        return True
    return not all(np.allclose(a, b, rtol=1e-6, atol=1e-9) for a, b in zip(one.outputs, other.outputs, strict=True))


def drawn_alike(one: Program, other: Program) -> bool:
    """Whether they compute different things and look the same."""
    a, b = judged(one.text), judged(other.text)
    return a is not None and b is not None and differ(a, b) and figure(a) == figure(b)


def shrunk(kind: str, one: Program, other: Program) -> tuple[Program, Program]:
    """A smaller pair of the same kind that is drawn alike, too."""
    for less in smaller(one):
        for name, changed in mutants(less):
            if name == kind and drawn_alike(less, changed):
                return shrunk(kind, less, changed)
    return one, other


def pairs(seed: int, each: int) -> tuple[int, list[str]]:
    """How many pairs were judged, and what is wrong with them."""
    program, rng = made(seed), random.Random(seed)
    first = judged(program.text)
    assert first is not None, program.text
    count, wrong = 0, list[str]()
    by_kind: dict[str, list[Program]] = {}
    for kind, changed in mutants(program):
        by_kind.setdefault(kind, []).append(changed)
    kinds = rng.sample(sorted(by_kind), len(by_kind))
    for kind in kinds * 2:
        if count == each:
            break
        changed = by_kind[kind].pop(rng.randrange(len(by_kind[kind]))) if by_kind[kind] else None
        second = judged(changed.text) if changed is not None else None
        if changed is None or second is None or not differ(first, second):
            continue
        count += 1
        if figure(first) == figure(second):
            small = shrunk(kind, program, changed)
            wrong.append(f"{kind}, seed {seed}, drawn alike:\n{small[0].text}\n{small[1].text}")
    again, names = same(program, seed)
    third = judged(again.text)
    assert third is not None and not differ(first, third), again.text
    if figure(first, (), NARROW) != figure(third, tuple(names.items()), NARROW):
        wrong.append(f"seed {seed}, the same program drawn otherwise:\n{program.text}\n{again.text}")
    return count + 1, wrong


def test_pairs_of_loops() -> None:
    found = [pairs(seed, EACH) for seed in QUICK]
    assert sum(count for count, _ in found) >= 60
    assert not (wrong := [text for _, texts in found for text in texts]), "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_many_pairs_of_loops(part: int, request: pytest.FixtureRequest) -> None:
    start, stop = map(int, request.config.getoption("--seeds").split(":"))
    seeds = range(start + part, min(stop, start + 10 * PARTS), PARTS)
    wrong = [text for seed in seeds for text in pairs(seed, 12)[1]]
    assert not wrong, "\n".join(wrong)
