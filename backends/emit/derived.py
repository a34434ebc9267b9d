"""Inputs are held to the formulas of their derived widths, as far as other inputs tell what these are made of.

Of a ragged width the examples' own lengths are held to that (compiler/rewrites/ragged): an array may be longer.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...compiler.graph.extents import quotients, unlike
from ...compiler.graph.nodes import Input
from ...compiler.graph.values import IndexInto, Scalar
from ...compiler.sizes.arithmetic import solved
from ...compiler.sizes.axes import Axis, Static, axes_in
from ..plan.plan import padded
from ..text.expressions import Code, binary, call
from ..text.numbers import static_code
from ..text.statements import Do
from ..text.values import Val
from .body import CodeBody
from .layout import in_text, length

ROUNDING = "1e-06"  # of a size that is made of reals


def hold_derived(body: CodeBody) -> None:
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


def _hold_extent(body: CodeBody, axis: Axis, formula: Static, val: Val, item: Input) -> None:
    """Lines that refuse an input with another extent than the formula of the axis gives."""
    plan, optional = body.plan, item.default is not None
    if any(plan.kind(part) is not Scalar.INT for pair in quotients(formula) for part in pair):
        return  # rounding tells whether that divides

    def size(part: Axis) -> Code:
        return body.extent(part).atom

    extent = length(val, axis) if optional else body.extent(axis)
    code = static_code(formula, size, body.const_code)
    body.check_parts(axis, formula, size, body.prologue)
    exact = plan.kind(formula) is Scalar.INT
    apart = Code.of("abs({})", binary("-", extent, code))
    unequal = binary("!=", extent, code) if exact else Code.of("{} > {}", apart, ROUNDING)
    text = Code.of(unlike(axis, formula, item.name), in_text(extent), in_text(code))
    body.refuse(Code.of("{} is not None and {}", val.code, unequal) if optional else unequal, text, body.prologue)


def _hold_indices(body: CodeBody, axis: Axis, val: Val, item: Input) -> None:
    """A line that refuses an input of indices into a derived width that no input has."""
    body.helper("check_index")
    where = f'"{body.graph.name}: `{item.name}`: index into {axis.name}"'
    body.prologue.append(Do(call("check_index", val.code, body.extent(axis), where)))


@dataclass
class _Told:
    """What inputs tell. given: by family, the axes of those that must be given."""

    body: CodeBody
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
