"""A graph with smaller depths, so that large models can be tried: depths of one size become smaller alike.

Which items are read must stay what it was, so a depth keeps its size where that decides a truth value or an index, and
where an op cuts or fills in ways that no formula here speaks of.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from ..compiler.graph.core.places import made_of
from ..compiler.graph.nodes import Apply, Call, Constant, Graph, Repeat, Scan
from ..compiler.graph.traits import Arrange, Gather, IndexMap, OpTraits, Window
from ..compiler.graph.values import IndexInto, Role, Scalar, Value
from ..compiler.sizes.arithmetic import inexact_division, replaced
from ..compiler.sizes.axes import Arith, Axis, ConstOf, Kind, Literal, Number, SizeOf, Static, axes_in, known
from ..dsl.source import Span

KEPT = 4  # depths up to this stay as they are
TRIED = (2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64)


def shrunk(graph: Graph, claimed: Axis) -> Graph:
    """The graph with the smallest depths that are found to fit together; itself, if there are none."""
    facts = DepthFacts()
    facts.stay |= {part.extent for part in made_of(claimed) if part.extent is not None}
    facts.read(graph, {})
    found = facts.solved()
    return Rebuilt(found).of(graph) if found else graph


@dataclass
class DepthFacts:
    """What a graph says of the sizes of its depths: those that stay, and what must hold between them.

    equal: by the sizes that it is of: a test of new ones. read: graphs, by what is known of their inputs.
    """

    sizes: set[int] = field(default_factory=set)
    stay: set[int] = field(default_factory=set)
    formulas: dict[int, set[Axis]] = field(default_factory=dict)
    products: set[tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=set)
    sums: set[tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=set)
    results: dict[object, list[frozenset[int]]] = field(default_factory=dict)

    def read(self, graph: Graph, given: Mapping[int, frozenset[int]]) -> list[frozenset[int]]:
        """given: by inputs of the graph, the sizes that they are made of; the same of its results."""
        key = (id(graph), frozenset(given.items()))
        if key in self.results:
            return self.results[key]
        self._axes(graph)
        made: dict[int, frozenset[int]] = dict(given)

        def of(*values: Value) -> frozenset[int]:
            return frozenset().union(*(made.get(value.id, frozenset()) for value in values))

        for node in graph.nodes:
            match node:
                case Constant(value, out):
                    made[out.id] = _depths(value)
                case Apply():
                    made[node.out.id] = self._apply(node, of(*node.operands))
                case (
                    Call(graph=inner, args=args, outs=outs, consts=consts)
                    | Scan(graph=inner, args=args, outs=outs, consts=consts)
                ):
                    self.stay |= {size for _, static in consts for size in _depths(static)}
                    inside = {e.value.id: of(arg) for e, arg in zip(inner.inputs, args, strict=True)}
                    made |= zip((out.id for out in outs), self.read(inner, inside), strict=True)
                case Repeat(bodies=bodies, args=args, outs=outs):
                    self.stay |= _depths(node.count)
                    everything = of(*args)
                    for body in bodies:
                        everything |= frozenset().union(
                            *self.read(body, {entry.value.id: everything for entry in body.inputs})
                        )
                    made |= {out.id: everything for out in outs}
        self.results[key] = [of(output.value) for output in graph.outputs]
        return self.results[key]

    def _axes(self, graph: Graph) -> None:
        for axis in (*graph.axes, *graph.lifted):
            if axis.extent is None or axis.is_width:
                self.stay |= _depths(axis.size) if axis.size is not None else set()
            else:
                self.sizes.add(axis.extent)
                if axis.size is not None:
                    self.formulas.setdefault(axis.extent, set()).add(axis)

    def _apply(self, node: Apply, made_of: frozenset[int]) -> frozenset[int]:
        axes, made = (tuple(a.extent or 0 for a in some if not a.is_width) for some in (node.axes, node.made))
        options = {size for static in node.options.values() for size in _depths(static)}
        match node.traits.reads:
            case Arrange(IndexMap.DIGITS | IndexMap.NUMBER):
                if any(axis.is_width for axis in (*node.axes, *node.made)):
                    self.stay |= {*axes, *made}
                else:
                    self.products.add((axes, made))
            case Arrange(IndexMap.PARTS):
                if any(axis.is_width for axis in (*node.axes, *node.made)):
                    self.stay |= {*axes, *made}
                else:
                    self.sums.add((axes, made))
            case Arrange(IndexMap.SHIFTED) | Window():
                self.stay |= {*axes, *made} | options
            case Gather():
                self.stay |= made_of
            case _:
                self.stay |= options
        element = node.out.type.element
        if isinstance(element, IndexInto) or element is Scalar.BOOL:
            self.stay |= made_of
            return frozenset()
        return made_of if node.out.role <= Role.TABLE or element is Scalar.INT else frozenset()

    def solved(self) -> dict[int, int]:
        """A new size for each that may have one; empty where nothing smaller fits."""
        open = sorted(size for size in self.sizes if size > KEPT and size not in self.stay)
        new = {size: size for size in {*self.sizes, *self.stay} if size not in open}
        fuel = [20_000]
        found = self._solve(open, new, fuel)
        return {size: found[size] for size in open if found[size] != size} if found else {}

    def _solve(self, open: list[int], new: dict[int, int], fuel: list[int]) -> dict[int, int] | None:
        fuel[0] -= 1
        if fuel[0] < 0 or not self._holds(new):
            return None
        if not open:
            return new
        first, *rest = open
        least = max((size for old, size in new.items() if size < old < first), default=2)
        for size in (*(each for each in TRIED if least <= each < first), first):
            if (found := self._solve(rest, new | {first: size}, fuel)) is not None:
                return found
        return None

    def _holds(self, new: Mapping[int, int]) -> bool:
        """Whether all that is known of the sizes that have a new one is so."""
        for rows, join in ((self.products, math.prod), (self.sums, sum)):
            for left, right in rows:
                if all(size in new for size in (*left, *right)):
                    old = join(left) == join(right)
                    if old and join([new[size] for size in left]) != join([new[size] for size in right]):
                        return False
                    if not old and any(new[size] != size for size in (*left, *right)):
                        return False
        for size, axes in self.formulas.items():
            for axis in axes if size in new else ():
                assert axis.size is not None
                parts = [part.extent for part in axes_in(axis.size) if not part.is_width]
                if all(part in new for part in parts) and _value(axis.size, new) != new[size]:
                    return False
        return True


def _value(static: Static, new: Mapping[int, int]) -> Number | None:
    """A size with new depths; None where it has none."""

    def other(part: SizeOf | ConstOf) -> Static:
        if isinstance(part, ConstOf) or part.axis.is_width or part.axis.extent is None:
            return part
        return Literal(new[part.axis.extent])

    found = replaced(static, other)
    number = known(found)
    return None if number is None or inexact_division(found) is not None else number


def _depths(static: Static) -> frozenset[int]:
    return frozenset(axis.extent for axis in axes_in(static) if axis.extent is not None and axis.kind is Kind.DEPTH)


class Rebuilt:
    """All that a graph is made of, made again with depths of new sizes; ids stay."""

    def __init__(self, new: Mapping[int, int]) -> None:
        self.new = new
        self.known: dict[int, tuple[Any, Any]] = {}  # by identity: the old, which must live on, and the new

    def of(self, thing: Any) -> Any:
        if thing is None or isinstance(thing, str | int | float | Enum | Span | OpTraits):
            return thing
        if id(thing) in self.known:
            return self.known[id(thing)][1]
        made = self._made(thing)
        self.known[id(thing)] = thing, made
        return made

    def _made(self, thing: Any) -> Any:
        if isinstance(thing, tuple | frozenset):
            return type(thing)(map(self.of, thing))
        if isinstance(thing, dict):
            return {key: self.of(value) for key, value in thing.items()}
        if isinstance(thing, Axis):
            extent = thing.extent
            if extent is not None and thing.kind is Kind.DEPTH:
                extent = self.new.get(extent, extent)
            return replace(thing, extent=extent, size=self.of(thing.size))
        if isinstance(thing, Arith):
            return Arith(thing.op, self.of(thing.args))
        return replace(thing, **{f.name: self.of(getattr(thing, f.name)) for f in dataclasses.fields(thing)})
