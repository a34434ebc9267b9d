"""The bill of a model: its sizes put in, what everything comes to, and which sizes may be set."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

from ..base.names import did_you_mean, listed
from ..graph.nodes import Graph
from ..rewrites.kernels.attention import fuse_attention
from ..rewrites.simplify.constants import fold_truths
from ..sizes.axes import Axis, Number
from .lowered import Lowered, as_computed, has_ways
from .memory import Memory, measure
from .paths.longest import Path, longest
from .paths.reach import pruned
from .polynomials.figure import Figure
from .polynomials.operations import put
from .polynomials.polynomial import ZERO, Poly, SizeSymbol, base_symbols
from .polynomials.show import formula
from .scope import Sizes, SizeScope, base_symbol, bound_symbol, const_symbol, stands_for
from .seconds import seconds
from .walk import CostWalk, Part
from .work import BATCH

ASSUMED = 1024  # the size of a free width of which nothing is said
TERMS = 100_000  # of sizes, that are tried for a width which leaves them whole
TRACKED = 8  # widths along which the longest path is followed
REALS = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}


class CostError(ValueError):
    """A size that cannot be: an unknown name, one beyond its bound, a division that leaves a remainder."""


@dataclass(frozen=True, repr=False)
class Bill:
    """What a model costs, exactly.

    name:    of the model or block; `dtype` of its reals; `batch`: how many items along the leading batch axes.
    values:  the number that stands for each size and const; `assumed`: names of the widths that nobody gave a size.
    part:    the bill, part by part (`walk.Part`); its polynomials depend on the batch too.
    memory:  of the activations, every op as written; `fused`: with attention fused, no scores kept.
    """

    name: str
    dtype: str
    batch: int
    values: Mapping[SizeSymbol, int]
    sizes: Mapping[str, int]
    assumed: tuple[str, ...]
    part: Part
    memory: Memory
    fused: Memory
    graph: Graph
    scope: SizeScope

    def figure(self, poly: Poly) -> Figure:
        """A polynomial with the batch put in, and with the formula of a size that shares its name with another."""
        poly = put(poly, BATCH, Poly.of(self.batch))
        for symbol, by in self.written_out.items():
            poly = put(poly, symbol, by)
        return Figure(poly, self.values)

    @cached_property
    def written_out(self) -> Mapping[SizeSymbol, Poly]:
        """Sizes that share their name with another: each under its formula, `(d + 1)`."""
        found = {}
        for symbol in self.scope.sizes.ambiguous():
            stands = stands_for(symbol)
            assert stands is not None
            found[symbol] = Poly.of(replace(symbol, name=f"({formula(stands)})"))
        return found

    @cached_property
    def parameters(self) -> Figure:
        """Weights, shared ones once; those along a bounded width at its bound."""
        return self.figure(self.part.parameters)

    @cached_property
    def macs(self) -> Figure:
        """Multiply-adds of the forward pass, what masks leave out included."""
        return self.figure(self.part.work.macs)

    @cached_property
    def kept(self) -> Figure:
        """Multiply-adds of what masks made of indices keep: what an implementation that skips the rest must do."""
        return self.figure(self.part.work.kept)

    @cached_property
    def routed(self) -> Figure | None:
        """`kept` without what is computed of no index that is picked; None where all are computed."""
        unread = self.part.work.unread
        return self.figure(self.part.work.kept - unread) if unread else None

    @cached_property
    def backward(self) -> Figure:
        """Multiply-adds of the gradients of every weight that is not frozen."""
        return self.figure(self.part.work.back)

    @property
    def flops(self) -> int:
        """2 for each multiply-add, as `torch.utils.flop_counter` counts."""
        return 2 * self.macs.value

    @cached_property
    def operations(self) -> Figure:
        """What is no multiply-add of a contraction: pointwise ops, softmax, norms."""
        return self.figure(self.part.work.ops)

    @cached_property
    def moved(self) -> Figure:
        """Bytes: operands, result and weights of each op, once."""
        return self.figure(self.part.work.moved)

    @cached_property
    def peak(self) -> Figure:
        """Bytes of activations alive at once, attention as it is written: every score is stored."""
        return self.figure(self.memory.peak)

    @cached_property
    def fused_peak(self) -> Figure:
        """The same with fused attention, which stores no scores."""
        return self.figure(self.fused.peak)

    @cached_property
    def saved(self) -> Figure:
        """Bytes of activations that the gradients need, attention as it is written."""
        return self.figure(_all_saved(self.memory))

    @cached_property
    def fused_saved(self) -> Figure:
        return self.figure(_all_saved(self.fused))

    @cached_property
    def lowered(self) -> Lowered | None:
        """What is taken as it is computed; None where no scan or running sum is."""
        return Lowered(self._computed, self.figure) if has_ways(as_computed(self.graph)) else None

    def _computed(self, without: Collection[str] = ()) -> Part:
        """The bill of what is computed without these passes."""
        walk = CostWalk(self.values, REALS[self.dtype], timed=True)
        return walk.run(as_computed(self.graph, without), self.scope)[0]

    @cached_property
    def seconds(self) -> float:
        """About how long a forward pass takes in PyTorch on one core: enough to tell the cheaper of two forms."""
        return seconds(self._computed().work, self.figure) if self.lowered is None else self.lowered.seconds

    @cached_property
    def paths(self) -> Mapping[str, Path]:
        """For each width of the inputs (the first eight), by its name: the longest path from an input's item to a
        result's.
        """
        found: dict[str, Path] = {}
        for family, name in self._tracked():
            n = self.scope.sizes.families.get(family) or self.scope.size(_named(self.graph, name))
            walk = CostWalk(self.values, track=frozenset({family}), whole=n - 1)
            _, facts = walk.run(self.graph, self.scope)
            routes = [route for fact in facts for route in fact.routes]
            found[name] = longest(pruned(routes, self.values), n, self.values)
        return found

    def _tracked(self) -> list[tuple[int, str]]:
        """The widths along which inputs have items, by family and the name of the first of it; not more than eight."""
        found: dict[int, str] = {}
        for entry in self.graph.inputs:
            for axis in entry.value.type.axes:
                if axis.is_width and axis not in entry.value.type.broadcast_axes:
                    found.setdefault(axis.family, axis.name)
        return list(found.items())[:TRACKED]

    @cached_property
    def steps(self) -> Figure:
        """Ops that must follow one another: a scan has as many as its width, a repeat as its passes."""
        return self.figure(self.part.steps)


B = TypeVar("B", bound=Bill)


def _named(graph: Graph, name: str) -> Axis:
    return next(axis for axis in graph.axes if axis.name == name)


def _all_saved(memory: Memory) -> Poly:
    poly = memory.saved
    for result in memory.results:
        poly = poly + (result.bytes if result.saved else ZERO)
    return poly


def bill(
    graph: Graph, sizes: Mapping[str, Number] | None = None, *, batch: int = 1, dtype: str = "float32", kind: type[B]
) -> B:
    """The bill of a graph, as a `kind` of bill. sizes: of axes and consts, by name; they win over those of the spec.

    A free width that is not given is taken at its bound, else at 1,024; where that leaves a derived width no whole
    number, at the nearest size below or above that does. Raises CostError.
    """
    if dtype not in REALS:
        raise CostError(f"no dtype `{dtype}`: there are {listed(REALS)}")
    if not isinstance(batch, int) or batch < 1:
        raise CostError(f"a batch of {batch}: it must be a whole number of 1 or more")
    scope, values, assumed = sized(graph, sizes)
    values[BATCH] = batch
    try:
        return _counted(graph, scope, dict(values), assumed, dtype, kind)
    except CostError:
        if not _divide(scope, values, assumed):  # by the sizes of blocks within, which are met while counting
            raise
    return _counted(graph, scope, dict(values), assumed, dtype, kind)


def sized(
    graph: Graph, sizes: Mapping[str, Number] | None = None
) -> tuple[SizeScope, dict[SizeSymbol, int], list[Axis]]:
    """The sizes of a graph as polynomials, a number for each symbol, and the widths that nobody gave one. Raises
    CostError.
    """
    scope = SizeScope(sizes=Sizes())
    values, assumed = _values(graph, scope, sizes or {})
    for axis in graph.axes:
        scope.size(axis)
    _divide(scope, values, assumed)
    return scope, values, assumed


def _counted(
    graph: Graph, scope: SizeScope, values: dict[SizeSymbol, int], assumed: list[Axis], dtype: str, kind: type[B]
) -> B:
    """The bill at these sizes. Raises CostError for derived ones that are no whole numbers."""
    _whole(graph, scope, values)
    memory = measure(graph, scope, values, REALS[dtype])
    walk = CostWalk(values, REALS[dtype])
    part, _ = walk.run(graph, scope, memory)
    plain, _ = fold_truths(graph)
    plain, _ = fuse_attention(plain)
    fused = measure(plain, scope, values, REALS[dtype])
    _whole(graph, scope, values)
    every: dict[str, set[int]] = {}
    for axis in graph.axes:
        every.setdefault(axis.name, set()).add(int(scope.size(axis).at(values)))
    shown = {name: min(found) for name, found in every.items() if len(found) == 1}
    shown |= {c.name: values[const_symbol(c)] for c in graph.consts if const_symbol(c) in values}
    names = tuple(axis.name for axis in assumed)
    return kind(graph.name, dtype, values[BATCH], values, shown, names, part, memory, fused, graph, scope)


def _divide(scope: SizeScope, values: dict[SizeSymbol, int], assumed: list[Axis]) -> bool:
    """Take widths that nobody gave a size at one that leaves the derived ones whole, near that which they have. Whether
    any was taken so.
    """
    before = dict(values)
    for axis in assumed:
        symbol, size = base_symbol(axis), values[base_symbol(axis)]
        hanging = [poly for poly in scope.sizes.derived.values() if symbol in base_symbols([poly])]
        if all(_is_whole(poly, values) for poly in hanging):
            continue
        tries = min(ASSUMED, TERMS // sum(len(poly.terms) for poly in hanging) + 1)
        near = range(size, max(size - tries, 0), -1) if axis.bound is not None else range(size, size + tries)
        values[symbol] = min(near, key=lambda n: sum(not _is_whole(poly, {**values, symbol: n}) for poly in hanging))
    return values != before


def _is_whole(poly: Poly, values: dict[SizeSymbol, int]) -> bool:
    size = _value(poly, values)
    return not isinstance(size, str) and size.denominator == 1 and size >= 0


def _values(graph: Graph, scope: SizeScope, given: Mapping[str, Number]) -> tuple[dict[SizeSymbol, int], list[Axis]]:
    """A number for each symbol, and the widths that had none."""
    left = _whole_sizes(given)
    values: dict[SizeSymbol, int] = {}
    assumed: list[Axis] = []
    roots: dict[int, Axis] = {}
    for axis in sorted(graph.axes, key=lambda axis: axis.id):
        first = roots.setdefault(axis.family, axis)
        if axis.size is not None or first is not axis:
            if axis.name in left and left.pop(axis.name) != axis.extent:
                raise CostError(_follows(graph, axis, first))
            continue
        size = left.pop(axis.name, axis.extent)
        if size is None:
            size = _assumed(graph, axis)
            assumed.append(axis)
        elif axis.bound is not None and axis.extent is None and size > axis.bound:
            raise CostError(f"`{axis.name}` = {size}, but it is at most {axis.bound}")
        values |= dict.fromkeys(scope.own(axis).symbols, size)
        if axis.bound is not None:
            values[bound_symbol(axis)] = axis.bound
    for const in graph.consts:
        number = left.pop(const.name, const.value)
        if number is None:
            raise CostError(f"const `{const.name}` of `{graph.name}` has no value: set it, `{const.name}=2`")
        if isinstance(number, int) and not isinstance(number, bool):
            values[const_symbol(const)] = number
    for name in left:
        known = [axis.name for axis in graph.axes] + [const.name for const in graph.consts]
        help = did_you_mean(name, known) or f"it has {listed(known)}"
        raise CostError(f"`{graph.name}` has no axis or const `{name}`; {help}")
    return values, assumed


def _whole_sizes(given: Mapping[str, Number]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise CostError(f"`{name}` is set to {value!r}, but a size is a whole number of 0 or more")
        sizes[name] = value
    return sizes


def _follows(graph: Graph, axis: Axis, first: Axis) -> str:
    """Why the size of this axis cannot be set, and what can."""
    if axis.size is None:
        return f"`{axis.name}` is a copy of `{first.name}`: set `{first.name}`"
    poly = _spoken(graph).number(axis.size)
    return f"`{axis.name}` is {formula(poly)}: set {listed([symbol.name for symbol in base_symbols([poly])])}"


def _assumed(graph: Graph, axis: Axis) -> int:
    if not axis.is_width:
        raise CostError(f"depth `{axis.name}` of `{graph.name}` has no size: set it, `{axis.name}=64`")
    return axis.bound if axis.bound is not None else ASSUMED


def _spoken(graph: Graph) -> SizeScope:
    """Sizes under the names by which they are set; formulas have short labels for them."""
    free = sorted((axis for axis in graph.axes if axis.size is None), key=lambda axis: axis.id)
    names = {axis.family: axis.name for axis in reversed(free)}  # of copies the first
    return SizeScope({axis: Poly.of(replace(base_symbol(axis), name=names[axis.family])) for axis in free})


TOO_LONG = "have thousands of digits"


def _value(poly: Poly, values: dict[SizeSymbol, int]) -> Fraction | str:
    """Its value; else what it would do instead of having one."""
    try:
        return poly.at(values)
    except ZeroDivisionError:
        return "divide by 0"
    except OverflowError:
        return TOO_LONG
    except ValueError:  # log(0), (-1) ^ 0.5
        return "have no value"


def _whole(graph: Graph, scope: SizeScope, values: dict[SizeSymbol, int]) -> None:
    """Every derived size is a whole number, which is found once: others may be derived from it."""
    for axis, poly in scope.sizes.derived.items():
        size = _value(poly, values)
        if isinstance(size, str) or size.denominator != 1 or size < 0:
            written = poly if axis.size is None or axis not in graph.axes else _spoken(graph).number(axis.size)
            known = ", ".join(f"{symbol.name} = {values[symbol]}" for symbol in base_symbols([written]))
            would = size if isinstance(size, str) else f"be {size}"
            must = "be smaller" if would == TOO_LONG else "be a whole number"
            raise CostError(f"`{axis.name}` = {formula(written)} would {would} with {known}: it must {must}")
        for symbol in poly.symbols:
            if poly == Poly.of(symbol):
                values[symbol] = int(size)
