"""The sizes of axes in the running code: known when it is built, read from an argument, computed, or told by callers.

Inputs are held to the formulas of their derived widths, as far as other inputs tell what these are made of. Of a ragged
width the examples' own lengths are held to that (compiler/rewrites/ragged): an array may be longer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...compiler.graph.extents import (
    at_least_0,
    fraction,
    inexact,
    negative,
    no_number,
    quotients,
    takes_nothing_away,
    undefined,
    unlike,
)
from ...compiler.graph.nodes import Input
from ...compiler.graph.values import IndexInto, Scalar
from ...compiler.sizes.arithmetic import solved
from ...compiler.sizes.axes import Axis, Static, axes_in, known
from ..plan.plan import padded
from ..text.expressions import TERM, Code, Variable, binary, call
from ..text.numbers import static_code
from ..text.statements import Do, Let, Place, Statement
from ..text.values import CannotEmit, Val
from .layout import MemoryLayout, in_text, length

ROUNDING = "1e-06"  # of a size that is made of reals


def extent(body: MemoryLayout, axis: Axis) -> Code:
    """The size of an axis in the running code: known when built, or read from an argument's shape."""
    if body.plan.static_size(axis):
        return body.size_code(axis)
    found = find_extent(body, axis)
    if found is None:
        if body.plan.is_root:
            raise CannotEmit(f"no input of `{body.graph.name}` tells the extent of the width `{axis.name}`")
        found = body.told.known[axis] = _ask(body, axis)
    return found


def _ask(body: MemoryLayout, axis: Axis) -> Code:
    """Has callers pass what they can know of an extent: parameters, not what the body declares of these."""
    copies = body.plan.copies(axis)
    theirs = body.graph.axes[: body.graph.params]
    asked = next((copy for copy in copies if copy in theirs), None)
    formula = body.plan.formula(axis) if asked is None and axis in body.graph.axes else None
    if formula is not None:
        for part in axes_in(formula):
            extent(body, part)
        found = _compute_extent(body, axis, formula)
        if found is not None:
            return found
    return body.scope.axes[asked or axis].code


def find_extent(body: MemoryLayout, axis: Axis) -> Code | None:
    if axis in body.told.known:
        return body.told.known[axis]
    if body.plan.static_size(axis):
        return body.size_code(axis)
    copies = body.plan.copies(axis)
    for copy in copies:
        for val in body.inputs:
            if val.has(copy):
                return _read_extent(body, axis, length(val, copy), body.prologue)
    formula = body.plan.formula(axis)
    if formula is not None:
        found = _compute_extent(body, axis, formula)
        if found is not None:
            return found
    if _knows_end(body) and body.endless(axis):
        return Code("cache.end")
    for copy in copies:
        for number, val in body.env.items():
            if val.has(copy) and val.lasting and number in body.readers and body.readers[number].left:
                return _read_extent(body, axis, length(val, copy), body.lines)
    for whole in body.plan.axes:
        turned = solved(whole, axis) if _given(body, whole) and body.plan.formula(whole) else None
        if turned is not None:
            found = _compute_extent(body, axis, turned, turned=True)
            if found is not None:
                return found
    return _step_extent(body, axis)


def _given(body: MemoryLayout, axis: Axis) -> bool:
    """Whether an argument has the axis."""
    return any(val.has(axis) for val in body.inputs)


def _compute_extent(body: MemoryLayout, axis: Axis, formula: Static, *, turned: bool = False) -> Code | None:
    """The extent of an axis from others; None where one of these is not known.

    turned: the formula is that of another axis, solved for this one, which proves nothing.
    """
    if axis in body.told.computing:  # by way of itself
        return None
    body.told.computing.add(axis)
    parts = [find_extent(body, part) for part in axes_in(formula)]
    body.told.computing.remove(axis)
    if any(part is None for part in parts):
        return None

    def sizes(part: Axis) -> Code:
        return (find_extent(body, part) or Code("")).atom

    code = static_code(formula, sizes, body.const_code)
    stepped = body.graph.stepped
    of_all_items = stepped is not None and axis.family in stepped.grouped
    where = body.prologue if _early(body, formula) and not of_all_items else body.lines
    if not of_all_items:  # they are as many as make a length that fits
        check_parts(body, axis, formula, sizes, where)
    if body.plan.kind(formula) is Scalar.INT:
        found = _read_extent(body, axis, body.whole(formula, code), where)
    else:
        found = _read_extent(body, axis, code, where)  # it is made of a const that may be 2.0, or 2.5
        body.refuse(Code.of("{} % 1", found), Code.of(fraction(axis, formula), in_text(found)), where)
        where.append(Do(Code.of("int({})", found), (found.variable,)))
    if not all(takes_nothing_away(formula) if turned else at_least_0(formula, axes) for axes, _ in body.plan.instances):
        body.refuse(Code.of("{} < 0", found), Code.of(negative(axis, formula), in_text(found)), where)
    return found


def check_parts(
    body: MemoryLayout, axis: Axis, formula: Static, sizes: Callable[[Axis], Code], where: list[Statement]
) -> None:
    """Lines that refuse an input of which a size would be no number, or a quotient that leaves a remainder (D1)."""
    for restricted in dict.fromkeys(undefined(formula)):
        if not all(map(body.plan.static_size, axes_in(restricted.part))):
            part = static_code(restricted.part, sizes, body.const_code)
            text = Code.of(no_number(axis, formula, restricted), in_text(part))
            body.refuse(binary("<" if restricted.zero else "<=", part, Code("0")), text, where)
    for pair in dict.fromkeys(quotients(formula)):
        above, below = (static_code(part, sizes, body.const_code) for part in pair)
        text = Code.of(inexact(axis, pair), in_text(above), in_text(below))
        remainder = Code.of("{} % {}", above.at(TERM), below.atom, level=TERM)
        sure = all(map(body.plan.static_size, axes_in(pair[1]))) and known(pair[1]) != 0
        body.refuse(remainder if sure else Code.of("not {} or {}", below.atom, remainder), text, where)


def _knows_end(body: MemoryLayout) -> bool:
    """Whether this is a step that takes the cache, which knows how many items there are."""
    stepped = body.graph.stepped
    return stepped is not None and body.plan.cached and stepped.method != "prepare"


def _step_extent(body: MemoryLayout, axis: Axis) -> Code | None:
    """The extent of an axis of decoding, as the cache knows it."""
    stepped = body.graph.stepped
    if stepped is None or not _knows_end(body):
        return None
    if axis == stepped.tail:
        return _read_extent(body, axis, Code("len(range(cache.start, cache.end)[-last:])"), body.lines)
    if body.plan.is_root:
        for item in body.program.steps[0].inputs:  # of what was prepared
            for other in item.value.type.axes:
                if other.family == axis.family:
                    body.file.asked.add(other.name)
                    return _read_extent(body, axis, Code(f'cache.sizes["{other.name}"]'), body.lines)
    if stepped.filled is not None and stepped.filled[0] == axis.family:
        _, least, step = stepped.filled
        return _read_extent(body, axis, call("cache.filled", str(step), *([str(least)] if least else [])), body.lines)
    for found, keep in stepped.visible:
        if found == axis:
            return _read_extent(body, axis, call("cache.span", body.static(keep)), body.lines)
    along = body.along(axis)
    if along is None:
        return None
    clock = body.clock(axis)
    if along.new or along.chunk:
        return _read_extent(body, axis, Code.of("{}.items" if along.chunk else "{}.count", clock), body.lines)
    if along.keep is None:
        return _read_extent(body, axis, Code.of("{}.end", clock), body.lines)
    return _read_extent(body, axis, Code.of("{}.span({})", clock, body.static(along.keep)), body.lines)


def _early(body: MemoryLayout, size: Static) -> bool:
    """Whether a derived extent can be computed at the top of the body."""
    return not body.told.late & set(axes_in(size))


def _read_extent(body: MemoryLayout, axis: Axis, code: Code, where: list[Statement]) -> Code:
    name = body.scope.axes[axis].name if axis in body.scope.axes else ""
    variable = Variable(axis.name, name, lasting=True, unique=True)
    where.append(Let(variable, code, place=Place.ASIDE))
    body.told.known[axis] = variable.code
    if where is not body.prologue:
        body.told.late.add(axis)
        if body.told.in_loop is not None:
            body.told.in_loop.append(axis)
    return body.told.known[axis]


def hold_derived(body: MemoryLayout) -> None:
    """Emits what refuses inputs that do not fit the derived widths along which they run, or which they index."""
    stepped = body.graph.stepped
    times = frozenset[int]() if stepped is None else stepped.times  # of these a step has the new items alone
    pairs = [pair for pair in zip(body.inputs, body.graph.inputs, strict=True) if body.checks_input(pair[0])]
    axes = {item.name: [a for a in body.core(item.value.type.axes) if a.family not in times] for _, item in pairs}
    told = _Told(body, {axis.family: axis for _, item in pairs if item.default is None for axis in axes[item.name]})
    held = set[int]()
    for val, item in sorted(pairs, key=lambda pair: pair[1].default is not None):
        for axis in axes[item.name]:
            formula = told.formula(axis, item) if axis.family not in held else None
            if formula is not None:
                _hold_extent(body, axis, formula, val, item)
                if item.default is None:
                    held.add(axis.family)
    for val, item in pairs:
        element, looked_at = item.value.type.element, item.default is None and not padded(body.graph, item)
        if isinstance(element, IndexInto) and looked_at and stepped is None and told.by_formula_alone(element.axis):
            _hold_indices(body, element.axis, val, item)


def _hold_extent(body: MemoryLayout, axis: Axis, formula: Static, val: Val, item: Input) -> None:
    """Lines that refuse an input with another extent than the formula of the axis gives."""
    plan, optional = body.plan, item.default is not None
    if any(plan.kind(part) is not Scalar.INT for pair in quotients(formula) for part in pair):
        return  # rounding tells whether that divides

    def size(part: Axis) -> Code:
        return extent(body, part).atom

    found = length(val, axis) if optional else extent(body, axis)
    code = static_code(formula, size, body.const_code)
    check_parts(body, axis, formula, size, body.prologue)
    exact = plan.kind(formula) is Scalar.INT
    apart = Code.of("abs({})", binary("-", found, code))
    unequal = binary("!=", found, code) if exact else Code.of("{} > {}", apart, ROUNDING)
    text = Code.of(unlike(axis, formula, item.name), in_text(found), in_text(code))
    body.refuse(Code.of("{} is not None and {}", val.code, unequal) if optional else unequal, text, body.prologue)


def _hold_indices(body: MemoryLayout, axis: Axis, val: Val, item: Input) -> None:
    """A line that refuses an input of indices into a derived width that no input has."""
    where = f'"{body.graph.name}: `{item.name}`: index into {axis.name}"'
    body.prologue.append(Do(call("check_index", val.code, extent(body, axis), where)))


@dataclass
class _Told:
    """What inputs tell. given: by family, the axes of those that must be given."""

    body: MemoryLayout
    given: dict[int, Axis]

    def formula(self, axis: Axis, item: Input) -> Static | None:
        """What the size of an input's axis must be, if that is known without a look at this axis."""
        plan = self.body.plan
        if plan.static_size(axis):  # the border knows it
            return None
        formula = plan.formula(axis)
        if formula is None and item.default is not None and axis.family not in self.given:
            whole = next((whole for whole in self.given.values() if _alone(whole, axis)), None)
            formula = None if whole is None else solved(whole, axis)
        if formula is None or any(map(_is_ragged, (axis, *axes_in(formula)))):
            return None
        return formula if all(self._is_told(part, axis.family) for part in axes_in(formula)) else None

    def by_formula_alone(self, axis: Axis) -> bool:
        """Whether no input has a derived axis, and its size is known all the same."""
        plan = self.body.plan
        known = axis.family in self.given or plan.static_size(axis) or _is_ragged(axis)
        return not known and plan.formula(axis) is not None and self._is_told(axis, None)

    def _is_told(self, axis: Axis, without: int | None, seen: frozenset[int] = frozenset()) -> bool:
        """Whether inputs tell the extent, those of the family `without` aside."""
        if self.body.plan.static_size(axis) or (axis.family in self.given and axis.family != without):
            return True
        if axis.family in seen:
            return False
        formula, seen = self.body.plan.formula(axis), seen | {axis.family}
        if formula is not None and all(self._is_told(part, without, seen) for part in axes_in(formula)):
            return True
        return any(_alone(whole, axis) for whole in self.given.values() if whole.family != without)


def _alone(whole: Axis, part: Axis) -> bool:
    """Whether the extent of one axis tells that of another, which it is derived from, with no other beside it."""
    turned = solved(whole, part) if whole.size is not None else None
    return turned is not None and all(axis.family == whole.family for axis in axes_in(turned))


def _is_ragged(axis: Axis) -> bool:
    return axis.ragged or (axis.size is not None and any(map(_is_ragged, axes_in(axis.size))))
