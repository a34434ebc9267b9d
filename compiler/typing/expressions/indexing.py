"""Brackets on a value: `x[a as b]` renames an axis, `x[a = i]` picks along it, `windows[i]` reads a list."""

from __future__ import annotations

from collections.abc import Iterable

from ....dsl import syntax as s
from ....dsl.base.records import replace
from ...graph.typed_value import TypedValue
from ...graph.values import IndexInto, Scalar, Type
from ...names.written_sizes import read_of
from ...ops import Notation
from ...ops.use import lacks, outside, wrong_table
from ...problems.axes import AxisUse, NoCopies, RenamedToAnother
from ...problems.elements import Wanted, WrongElement
from ...problems.forms import BareItem, BareItems, ValueBrackets
from ...problems.plain import Plain
from ...problems.sizes import ReadAtRunTime
from ...sizes.axes import Arith, Axis, Static, undetermined
from ..application import op_use
from ..environment import Environment
from ..names import axis_named, is_const, listed, number
from ..outcome import Formula, validate_number
from .dispatch import expression, of_kind
from .operators import op_written
from .ops import without


@of_kind(s.IndexExpr)
def index(env: Environment, expr: s.IndexExpr) -> TypedValue | None:
    """A value with brackets: its items one by one, from left to right."""
    numbers = listed(env, expr.value)
    if numbers is not None:
        return _read(env, numbers, expr)
    if isinstance(expr.value, s.Name) and is_const(env, expr.value.text):
        env.problems.add(Plain.READ_CONST.at(expr.span, expr.value.text))
        return None
    wire = expression(env, expr.value)
    brackets = expr.brackets
    if brackets.result is not None or brackets.each:
        env.problems.add(ValueBrackets(brackets.span, expr))
        return None
    bare = [item for item in brackets.items if item.rename is None and item.value is None]
    if bare and wire is None:  # its mistake is reported
        return None
    if wire is not None and len(bare) > 1 and wire.type.axes and any(env.axis(each.name.text) is None for each in bare):
        _bare_all(env, wire, bare, expr)
        return None
    for item in brackets.items:
        if item.rename is not None:
            wire = _rename(env, wire, item, expr)
        elif item.value is not None:
            wire = _gather(env, wire, item, expr)
        else:
            _bare(env, wire, item, expr)
            return None
    return wire


def _read(env: Environment, numbers: Static, expr: s.IndexExpr) -> TypedValue | None:
    """`windows[i]`: one number of a list."""
    name, read = expr.value.span.text, read_of(expr.brackets)
    if read is None:
        env.problems.add(Plain.READ_FORM.at(expr.brackets.span, name))
        return None
    place = expression(env, read)
    if place is None:
        return None
    if place.static is None or place.element is not Scalar.INT:
        env.problems.add(ReadAtRunTime(read.span, name, place))
        return None
    item = Arith("item", (place.static, numbers))
    if undetermined(item) or not env.taken:
        env.outcome.formulas.append(Formula((item,), expr.span, validate_number))
    return number(env, item, expr.span)


def _bare_all(env: Environment, wire: TypedValue, items: list[s.BracketItem], expr: s.IndexExpr) -> None:
    """`x[i, j]`: indices in the order of the axes, as other libraries take them."""
    axes, shown = wire.type.axes, expr.value.span.text
    indexed = [_indexed_axis(env, item.name.text, axes) for item in items]
    if not any(indexed) and len(axes) == len(items) == len(expr.brackets.items):
        indexed = [*axes]
    along = []
    for item, axis in zip(items, indexed, strict=True):
        name = item.span.text
        is_axis = name not in env.variables and env.axis(name) is not None
        along.append((name, axis, is_axis))
    env.problems.add(BareItems(items[0].span.to(items[-1].span), shown, axes, tuple(along)))


def _indexed_axis(env: Environment, name: str, axes: tuple[Axis, ...]) -> Axis | None:
    """The axis that a variable is an index of, if it is one of these."""
    index = env.variables.get(name)
    into = index.element.axis if index is not None and isinstance(index.element, IndexInto) else None
    return into if into in axes else None


def _bare(env: Environment, wire: TypedValue | None, item: s.BracketItem, expr: s.IndexExpr) -> None:
    """`x[i]`: an axis alone, or an index without its axis."""
    name, axes = item.span.text, wire.type.axes if wire is not None else ()
    into = _indexed_axis(env, name, axes)
    variable = name in env.variables or env.axis(name) is None
    axes = axes if into is None else (into,)
    env.problems.add(BareItem(item.span, expr.value.span.text, item, axes, variable))


def _rename(env: Environment, wire: TypedValue | None, item: s.BracketItem, expr: s.IndexExpr) -> TypedValue | None:
    """`x[a as b]`: the same items along a copy of the axis."""
    assert item.rename is not None
    old, new = axis_named(env, item.name), axis_named(env, item.rename)
    if wire is None or old is None or new is None:
        return None
    wire = without(wire, [new] if new != old else [])
    renaming = op_written(Notation.ITEM, "as")
    call = op_use(env, renaming, "as", expr.span, item.span, [wire], [expr.value.span])
    call.axes, call.axis_spans, call.made, call.made_spans = [old], [item.name.span], [new], [item.rename.span]
    if old in wire.spread and old.family == new.family and (new == old or new not in wire.spread):
        return replace(wire, span=expr.span, spread=(wire.spread - {old}) | {new})
    if old not in wire.type.axes and new in wire.type.axes and old.family == new.family:
        return call.fail(Plain.RENAMED_BACKWARDS.at(item.name.span, old, new, wire.type, there=expr.value.span))
    if old not in wire.type.axes:
        return lacks(call, wire, old, expr.value.span, AxisUse.RENAMES, item.name.span, new.name)
    if old.family != new.family:
        return call.fail(NoCopies(item.span, old, new, env.surroundings))
    if new in wire.type.axes and new != old:
        after = expr.brackets.items[expr.brackets.items.index(item) + 1 :]
        turned = next((each for each in after if each.rename is not None and each.name.text == new.name), None)
        later = None
        if turned is not None and turned.rename is not None:
            later = turned.span, turned.rename.text == old.name
        return call.fail(RenamedToAnother(item.span, old, new, wire.type, later, env.surroundings))

    def swap(axes: Iterable[Axis]) -> tuple[Axis, ...]:
        return tuple(new if axis == old else axis for axis in axes)

    type = Type(wire.element, swap(wire.type.axes), frozenset(swap(wire.type.broadcast_axes)))
    return call.make(type, mark=frozenset(swap(wire.mark)), range=wire.range)


def _gather(env: Environment, wire: TypedValue | None, item: s.BracketItem, expr: s.IndexExpr) -> TypedValue | None:
    """`x[a = i]`: the items at these indices; the axes of `i` stand where `a` stood."""
    assert item.value is not None
    axis, e = axis_named(env, item.name), expression(env, item.value)
    if wire is None or axis is None or e is None:
        return None
    reading = op_written(Notation.ITEM, "=")
    call = op_use(env, reading, "=", expr.span, item.span, [wire, e], [expr.value.span, item.value.span])
    call.axes, call.axis_spans = [axis], [item.name.span]
    if not wire.has(axis) and axis not in wire.spread:
        return lacks(call, wire, axis, expr.value.span, AxisUse.PICKS, item.name.span)
    if isinstance(e.element, IndexInto):
        if e.element.axis.family != axis.family:
            return wrong_table(call, e, axis, item.value.span)
    elif e.element is not Scalar.INT:
        return call.fail(WrongElement(item.value.span, e.type, Wanted.GATHERED, axis=axis))
    if outside(call, e, axis, item.value.span):
        return None
    if axis in wire.spread:
        return replace(wire, span=expr.span, spread=(wire.spread - {axis}) | frozenset(e.type.axes))
    rest = tuple(a for a in wire.type.axes if a != axis)
    own = tuple(a for a in e.type.axes if a not in rest)
    call.made = list(own)
    call.made_spans = [item.span] * len(own)
    place = wire.type.axes.index(axis)
    axes = (*wire.type.axes[:place], *own, *wire.type.axes[place + 1 :])
    broadcast_axes = (wire.type.broadcast_axes & set(rest)) | (e.type.broadcast_axes - set(rest))
    broadcast_axes -= {a for a in rest if e.has(a)}
    mark = frozenset() if axis in wire.mark else wire.mark
    return call.make(Type(wire.element, axes, frozenset(broadcast_axes)), mark=mark)
