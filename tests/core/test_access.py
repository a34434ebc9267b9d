"""`access`, row by row of the op table, beside what NumPy does: an op is run alone, one item of an operand is changed
at a time, and what changes in the result is compared with what the op is said to read.

Sound: what changes was read. Complete: what is read changes something, in one of the draws.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import attnc
from attnc.compiler.graph.core.access import Holds, Read, access
from attnc.compiler.graph.nodes import Apply, Constant, Input, Output, reads
from attnc.compiler.graph.traits import Validity
from attnc.compiler.graph.values import IndexInto, Role, Scalar, Value
from attnc.compiler.ops import OPS
from attnc.compiler.sizes.axes import Axis
from attnc.compiler.sizes.forms import FLOOR, LinearForm
from attnc.compiler.sizes.polynomials import Opaque, Poly, Size
from attnc.dsl.base.records import replace

Array = np.ndarray[Any, np.dtype[Any]]
FREE = 3  # items along a width of a free size
LEAST, MOST = 8, 120  # draws: until all that is said to be read has changed something

MORE = {  # forms that the examples of the rows do not have
    "softmax of all": "width q, k\nblock f(s: [q, k]) -> [q, k] {\n    return softmax[k](s)\n}",
    "softmax along two axes": "width q, k, h\nblock f(s: [q, k, h]) -> [q, k, h] {\n    return softmax[k, h](s)\n}",
    "sum of all": "width q, k\nblock f(s: [q, k]) -> [q] {\n    return sum[k](s)\n}",
    "max of all": "width q, k\nblock f(s: [q, k]) -> [] {\n    return max[q, k](s)\n}",
    "gather beside": "width q, k\nblock f(x: [q, k], i: k[q]) -> [q] {\n    return x[k = i]\n}",
    "window of every second": """width s
width t = 2
depth tap = 2
const n = 2
block f(x: [s]) -> [s, tap] {
    return window[s -> s, tap](x, pad = 1)
}""",
    "window with a stride": """depth s = 7, t = 3, tap = 3
block f(x: [s]) -> [t, tap] {
    return window[s -> t, tap](x, stride = 2)
}""",
    "three parts": """depth a = 2, b = 3, d = 7
block f(x: [a], y: [b], z: [a]) -> [d] {
    return concat[a, b, a -> d](x, y, z)
}""",
    "three digits": """depth a = 2, b = 3, c = 2, d = 12
block f(x: [d]) -> [c, b, a] {
    return split[d -> a, b, c](x)
}""",
    "three digits together": """depth a = 2, b = 3, c = 2, d = 12
block f(x: [c, a, b]) -> [d] {
    return merge[a, b, c -> d](x)
}""",
    "linear onto itself": """width s
depth d = 3
block f(x: [s, d]) -> [s, d] {
    return linear.w[d -> d](x)
}""",
    "scores of two axes": """width q, k
depth a = 2, b = 2
block f(x: [q, a, b], y: [k, a, b]) -> [q, k] {
    return dot[a, b](x, y)
}""",
}


@dataclass
class Alone:
    """One op as a graph of its own, whose inputs are its operands."""

    node: Apply
    places: tuple[int, ...]  # of the operands that are inputs, in order
    model: attnc.Model

    @property
    def operands(self) -> tuple[Value, ...]:
        return reads(self.node)


def programs() -> Iterator[Any]:
    for op in OPS.values():
        text = re.sub(r"^width (w)$", r"width \1 = 3", op.example, flags=re.MULTILINE)  # no operand says how long it is
        yield pytest.param(text, op.name, id=op.name)
    for name, text in MORE.items():
        yield pytest.param(text, "", id=name)


def alone(text: str, name: str) -> Alone:
    graph = attnc.loads(text).block("f").graph
    node = next(n for n in reversed(graph.nodes) if isinstance(n, Apply) and name in ("", n.op))
    constants = {each.out.id: each for each in graph.nodes if isinstance(each, Constant)}
    values = [each if each.id in constants else replace(each, role=Role.DATA) for each in reads(node)]
    masked = node.mask is not None
    node = replace(
        node,
        operands=tuple(values[: len(node.operands)]),
        mask=values[-1] if masked else None,
        out=replace(node.out, role=Role.DATA),
    )
    places = tuple(place for place, value in enumerate(values) if value.id not in constants)
    inputs = {values[place].id: Input(f"x{place}", values[place]) for place in places}
    kept = tuple(constants[value.id] for value in dict.fromkeys(values) if value.id in constants)
    out = Output(None, node.out, node.out.type.axes)
    graph = replace(graph, kind="model", inputs=tuple(inputs.values()), nodes=(*kept, node), outputs=(out,))
    return Alone(node, places, attnc.Model(graph, ""))


def size(axis: Axis) -> int:
    return axis.extent or FREE


def shape(value: Value) -> tuple[int, ...]:
    return tuple(map(size, value.type.axes))


def draw(op: Alone, place: int, rng: np.random.Generator) -> Array:
    """Numbers of the kind of an operand. Reals are 0 or more, some are 0 and some alike. An index that is asked whether
    it is one may be -1.
    """
    value, least = op.operands[place], -isinstance(op.node.traits.meaning, Validity)
    match value.type.element:
        case Scalar.BOOL:
            return rng.random(shape(value)) > rng.choice([0.1, 0.4, 0.8])
        case Scalar.REAL:
            some = rng.choice([0.0, 0.5, 1.0, 2.0], shape(value))
            return np.where(rng.random(shape(value)) > 0.5, some, rng.uniform(0.1, 2, shape(value)))
        case Scalar.INT:
            return rng.integers(0, 4, shape(value))
        case IndexInto(axis):
            return rng.integers(least, size(axis), shape(value))


# -- what `access` says, at numbers ----------------------------------------------------------------------------------


def number(form: LinearForm | Poly, at: Mapping[Axis | int, Any]) -> Array:
    """The number that a form is at these indices, and sizes of families."""
    total: Any = np.zeros(())
    for key, by in (form.poly if isinstance(form, LinearForm) else form).items():
        term: Any = float(by)
        for unknown in key:
            match unknown:
                case Axis():
                    term = term * at[unknown]
                case Size(family):
                    term = term * at[family]
                case Opaque(op, (inner,)) if op == FLOOR:
                    term = term * np.floor(number(dict(inner), at))
                case _:
                    raise AssertionError(unknown)
        total = total + term
    return total


def items_read(op: Alone, given: Mapping[int, Array]) -> dict[int, Array]:
    """By the place of an operand: of each item of the result, which items of the operand it reads there."""
    out, found = op.node.out, {}
    ways = access(op.node)
    by_operand = {read.operand: read for read in ways}
    for read in ways:
        value = op.operands[read.operand]
        free = sorted(read.free, key=lambda axis: axis.id)
        counts = [*map(size, out.type.axes), *map(size, free)]
        grids = np.meshgrid(*map(np.arange, counts), indexing="ij") if counts else []
        split = len(out.type.axes)
        at: dict[Axis | int, Any] = dict(zip((*out.type.axes, *free), grids, strict=True))
        at |= {axis.family: size(axis) for each in (*op.operands, out) for axis in each.type.axes}
        sure = np.ones(counts, bool)
        for fact in read.given:
            sure &= number(fact, at) >= 0
        for other, holds in read.when:
            there = given[other][indices(op.operands[other], by_operand[other], at, counts)]
            sure &= {Holds.TRUE: there != 0, Holds.FALSE: there == 0, Holds.NOT_ZERO: there != 0}[holds]
        for other, index in read.picked:
            sure &= given[other][indices(op.operands[other], by_operand[other], at, counts)] == at[index]
        said = found.setdefault(read.operand, np.zeros((*shape(out), *shape(value)), bool))
        result = tuple(grids[:split])
        said[tuple(each[sure] for each in (*result, *indices(value, read, at, counts, sure)))] = True
    return found


def indices(
    value: Value, read: Read, at: Mapping[Axis | int, Any], counts: list[int], sure: Array | None = None
) -> tuple[Array, ...]:
    """Where along each axis of an operand it is read, at each index of `at`."""
    found = []
    for axis in value.type.axes:
        there = number(read.at[axis], at) if axis in read.at else at[axis]
        whole = np.broadcast_to(there, counts).astype(int)
        assert sure is None or ((whole >= 0) & (whole < size(axis)))[sure].all(), axis
        found.append(np.clip(whole, 0, size(axis) - 1))
    return tuple(found)


# -- beside what NumPy does ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "name"), [*programs()])
def test_what_changes_is_read_and_what_is_read_changes(text: str, name: str) -> None:
    op = alone(text, name)
    run = op.model.numpy(seed=1, dtype="float64")
    values = op.operands
    rng = np.random.default_rng(5)
    read = {place: np.zeros((*shape(op.node.out), *shape(values[place])), bool) for place in op.places}
    changed = {place: array.copy() for place, array in read.items()}
    for number in range(MOST):
        if number >= LEAST and all((read[place] == changed[place]).all() for place in op.places):
            break
        base = {place: draw(op, place, rng) for place in op.places}
        for place in op.places:
            every = list(np.ndindex(shape(values[place])))
            other = np.stack([base[place]] * (len(every) + 1))
            fresh = others(op, place, base[place], rng)
            for row, item in enumerate(every):
                other[(row, *item)] = fresh[item]
            batch = {f"x{each}": other if each == place else np.stack([base[each]] * len(other)) for each in op.places}
            with np.errstate(all="ignore"):
                result = np.asarray(run(**batch))
            results = result.reshape(len(other), *shape(op.node.out))
            differs = ~np.isclose(results, results[-1:], rtol=1e-9, atol=1e-12, equal_nan=True)
            for row, item in enumerate(every):
                before, after = (items_read(op, base | {place: one})[place] for one in (base[place], other[row]))
                said = (before | after)[(..., *item)]
                assert not (differs[row] & ~said).any(), f"changing {place}{item} changes what does not read it"
                read[place][(..., *item)] |= said
                changed[place][(..., *item)] |= differs[row]
    for place in op.places:
        assert (read[place] == changed[place]).all(), f"of operand {place} items are said to be read that never matter"


def others(op: Alone, place: int, base: Array, rng: np.random.Generator) -> Array:
    """For each item another one."""
    value = op.operands[place]
    if value.type.element is Scalar.BOOL:
        return ~base
    fresh = draw(op, place, rng)
    if value.type.element is Scalar.REAL:
        return np.where(fresh == base, base + 1, fresh)
    most = size(value.type.element.axis) if isinstance(value.type.element, IndexInto) else 5
    return np.where(fresh == base, (base + 1) % most, fresh)


@pytest.mark.parametrize(("text", "name"), [*programs()])
def test_what_moves_is_that_item(text: str, name: str) -> None:
    op = alone(text, name)
    rng = np.random.default_rng(6)
    base = {place: draw(op, place, rng) for place in op.places}
    result = np.asarray(op.model.numpy(seed=1)(**{f"x{place}": array[None] for place, array in base.items()}))[0]
    for read in (each for each in access(op.node) if each.moves):
        said = items_read(op, base)[read.operand]
        for index in np.ndindex(shape(op.node.out)):
            (item,) = np.argwhere(said[index])
            assert np.isclose(result[index], base[read.operand][tuple(item)])


@pytest.mark.parametrize(("text", "name"), [*programs()])
@pytest.mark.parametrize("alike", [0, 1])
def test_only_what_tells_shows_how_many_there_are(
    text: str, name: str, alike: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of items that are all alike, one more changes nothing, but where the op is said to tell."""
    op = alone(text, name)
    free = {axis for place in op.places for axis in op.operands[place].type.axes if axis.extent is None}
    if any(read.tells & free for read in access(op.node)):
        return
    results = []
    for number in (FREE, FREE + 1):
        monkeypatch.setattr(sys.modules[__name__], "FREE", number)
        given = {place: draw(op, place, np.random.default_rng(0)) for place in op.places}
        whole = {f"x{place}": np.full_like(array, alike)[None] for place, array in given.items()}
        with np.errstate(all="ignore"):
            results.append(np.asarray(op.model.numpy(seed=1, dtype="float64")(**whole))[0])
    both = tuple(slice(least) for least in results[0].shape)
    np.testing.assert_allclose(results[1][both], results[0])
