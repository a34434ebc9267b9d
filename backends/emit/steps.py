"""Code of the ops of decoding (compiler/decoding/build.py), alike in both backends: what is kept lives in `cache`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ...compiler.graph.nodes import Apply
from ...compiler.sizes.axes import Axis
from ..text.ranges import ANY
from ..text.static_code import SUM, TERM, Code
from ..text.values import NONE, SOME, CannotEmit, Val, is_table, kind_of
from .layout import Kept
from .maps import mapped

if TYPE_CHECKING:
    from .body import Body

Emit = Callable[["Body", Apply, list[Val]], "Val | None"]


def _plain(body: Body, node: Apply, x: Val) -> Val:
    """An operand as an array of the type that the result has."""
    table = is_table(node.out)
    if not x.number:
        return body.real(x, table) if kind_of(node.out) == "real" else x
    return body.array(x, body.core(node.operands[0].type.axes), kind_of(node.out), table)


def _home(body: Body) -> str:
    """The class that both `prepare` and `step` are methods of."""
    if body.plan.owner is None:
        raise CannotEmit(f"{body.graph.name}: it keeps what its whole form does otherwise")
    return body.plan.owner.key


def _own(x: Val, count: int) -> str:
    """For what may have the batch: how many dimensions stand behind that, but for those that calls lift over."""
    return "" if x.lead == NONE else f", own={count}"


def remember(body: Body, node: Apply, vals: list[Val]) -> Val:
    """The new items behind the earlier ones; of a span that has a bound, what it reaches."""
    new, made = node.axes[0], node.made[0]
    x = body.full(_plain(body, node, vals[0]), [new])
    order = body.order_wanted(node.out)  # it is laid down as those who read it want it
    if order is not None and set(order) == {made if axis == new else axis for axis in x.axes}:
        x = body.permute(x, [new if axis == made else axis for axis in order])
    size = "" if body.endless(made) else f", {body.extent(made).text}"
    text = f'cache.extend("{node.name}", {x.text}, {x.dim(new)}{size})'
    axes = tuple(made if axis == new else axis for axis in x.axes)
    return body.combine([x], Code(text), axes, node.out, bounds=ANY)


def store(body: Body, node: Apply, vals: list[Val]) -> None:
    x = _plain(body, node, vals[0])
    axes = body.core(node.out.type.axes)
    x = body.first(x, [axis for axis in x.axes if axis not in axes])
    order, thin = tuple(axes.index(a) for a in x.axes), frozenset(axes.index(a) for a in x.thin)
    body.file.kept[_home(body), node.name or ""] = Kept(order, thin, x.lead)
    body.line(f'cache.store("{node.name}", {x.text}{_own(x, len(x.axes))})', body.shown(x.axes))


def recall(body: Body, node: Apply, vals: list[Val]) -> Val:
    kept = body.file.kept[_home(body), node.name or ""]
    axes = body.core(node.out.type.axes)
    return Val(
        Code(f'cache["{node.name}"]'),
        tuple(axes[place] for place in kept.order),
        frozenset(axes[place] for place in kept.thin),
        kept.lead,
        kind=kind_of(node.out),
        table=is_table(node.out),
    )


def resume(body: Body, node: Apply, vals: list[Val]) -> Val:
    axes = body.core(node.out.type.axes)
    x = body.align(_plain(body, node, vals[0]), axes)
    text = f'cache.resume("{node.name}", {x.text})'
    return replace(x, code=Code(text), axes=axes, thin=frozenset(axes), lead=SOME)


def leave(body: Body, node: Apply, vals: list[Val]) -> None:
    """The last of the new items is what the next step goes on from."""
    axis = node.axes[0]
    x, axes = _plain(body, node, vals[0]), [a for a in body.core(node.out.type.axes) if a != axis]
    if axis in x.axes:
        x = body.align(body.full(x, [axis]), [axis, *axes])
        last = f"{x.atom}[..., -1{', :' * len(axes)}]"
    else:  # it is the last one itself
        x = body.align(x, axes)
        last = x.text
    body.line(f'cache.leave("{node.name}", {last}{_own(x, len(axes))})')


def positions(body: Body, node: Apply, vals: list[Val]) -> Val:
    axis = node.axes[0]
    stepped = body.graph.stepped
    assert stepped is not None
    text = body.new_places() if body.is_new(axis) else body.arange(_range(body, axis))
    return Val(Code(text), (axis,), kind="int", bounds=body.bounds.positions(stepped.whole))


def _range(body: Body, axis: Axis, separator: str = ", ") -> str:
    """The places of the items of a span in the whole sequence: `start, end`."""
    if body.endless(axis):
        return "cache.end" if separator == ", " else f"{separator}cache.end"
    first = f"cache.end - {body.extent(axis).at(SUM + 1)}"
    return f"{first}{separator}cache.end"


def slice_(body: Body, node: Apply, vals: list[Val]) -> Val:
    """The rows of a table for the items at hand."""
    axis, made = node.axes[0], node.made[0]
    x = vals[0]
    if axis not in x.axes:
        return x
    x = body.full(x, [axis])
    at = x.axes.index(axis)
    if body.is_new(made):
        axes = tuple(made if a == axis else a for a in x.axes)
        return replace(x, code=Code(body.new_rows(x, axis)), axes=axes)
    places = _range(body, made, ":")
    before = [":"] * at if x.lead == NONE else ["..."]
    after = [":"] * (len(x.axes) - at - 1) if before == ["..."] else []
    axes = tuple(made if a == axis else a for a in x.axes)
    return replace(x, code=Code(f"{x.atom}[{', '.join([*before, places, *after])}]"), axes=axes)


def since(body: Body, node: Apply, vals: list[Val]) -> Val:
    """A place in the whole sequence as one in a span of it."""
    e, axis = vals[0], node.axes[0]
    if body.endless(axis):
        return e
    first = Code(f"cache.end - {body.extent(axis).at(SUM + 1)}", SUM)
    return replace(e, code=Code(f"{e.code.at(SUM)} - {first.at(TERM)}", SUM), bounds=ANY)


def taps(body: Body, node: Apply, vals: list[Val]) -> Val:
    axis, (place, tap) = node.axes[0], node.made
    x = body.full(_plain(body, node, vals[0]), [axis])
    at, order = x.axes.index(axis), x.axes
    left = body.static(node.options["pad"]).text
    body.helper("taps")
    given = f"{x.text}, {x.dim(axis)}, {body.extent(place).text}, {body.extent(tap).text}, {left}"
    return body.combine([x], Code(body.last_taps(given)), (*order[:at], place, tap, *order[at + 1 :]), node.out)


def tail(body: Body, node: Apply, vals: list[Val]) -> Val:
    """The last of the new items; -0 is 0, so that `last = 0` means all."""
    new, made = node.axes[0], node.made[0]
    x = vals[0]
    if new not in x.axes:
        return x
    x = body.full(x, [new])
    at = x.axes.index(new)
    after = ", :" * (len(x.axes) - at - 1)
    axes = tuple(made if a == new else a for a in x.axes)
    return replace(x, code=Code(f"{x.atom}[..., -last:{after}]"), axes=axes)


STEPS: dict[str, Emit] = {
    "remember": remember,
    "store": store,
    "recall": recall,
    "resume": resume,
    "leave": leave,
    "positions": positions,
    "slice": slice_,
    "since": since,
    "taps": taps,
    "tail": tail,
    "map": mapped,
}
