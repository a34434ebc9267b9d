"""Ops whose code is alike in both backends: one function each.

Those that a spec can write stand in the tables of the backends. The table at the end is of those that no spec can: of
decoding (compiler/decoding/build.py), where what is kept lives in `cache`, and of what each example of a ragged batch
is held to (compiler/rewrites/ragged). A function without a result has written a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...compiler.decoding.steps.join_maps import joined as joined_maps
from ...compiler.graph.extents import enough, holds
from ...compiler.graph.nodes import Apply
from ...compiler.graph.values import Scalar, Value
from ...compiler.sharding.sends import SHARE
from ...compiler.sizes.axes import Axis, evaluate
from ..text.expressions import Code, Variable, binary, call, joined, times
from ..text.ranges import ANY
from ..text.values import FULL, NONE, SOME, CannotEmit, Val, is_table, kind_of
from .body import CodeBody, Emit
from .layout import KeptLayout, at_items, but
from .operands import (
    cell,
    concat_operands,
    dims,
    linear_attention,
    listed,
    map_weights,
    masked,
    recurrence,
    weighs,
    without,
)


def _plain(body: CodeBody, node: Apply, x: Val) -> Val:
    """An operand as an array of the type that the result has."""
    table = is_table(node.out)
    if not x.number:
        return body.real(x, table) if kind_of(node.out) is Scalar.REAL else x
    return body.array(x, body.core(node.operands[0].type.axes), kind_of(node.out), table)


def rename(body: CodeBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    change = dict(zip(node.axes, node.made, strict=True))
    axes, broadcast = ([change.get(axis, axis) for axis in some] for some in (vals[0].axes, vals[0].broadcast))
    return replace(vals[0], axes=tuple(axes), broadcast=frozenset(broadcast))


def same(body: CodeBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """The operand as it is: dimensions that it lacks are as good as written out."""
    return replace(vals[0], kind=kind_of(node.out))


def index(body: CodeBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    return body.checked(vals[0], node.made[0])


def split(body: CodeBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    axis = node.axes[0]
    x = body.full(vals[0], [axis])
    place = x.axes.index(axis)
    axes = (*x.axes[:place], *node.made, *x.axes[place + 1 :])
    return replace(x, code=body.unflatten(x, x.dim(axis), node.made), axes=axes)


def merge(body: CodeBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    axes, made = node.axes, node.made[0]
    x = body.full(vals[0], axes)
    rest = [axis for axis in x.axes if axis not in axes]
    before = sum(axis in rest for axis in x.axes[: x.axes.index(axes[0])])
    x = body.permute(x, [*rest[:before], *axes, *rest[before:]])
    order = (*rest[:before], made, *rest[before:])
    if len(axes) == 1:
        return replace(x, axes=order)
    return replace(x, code=body.flatten(x, x.dim(axes[0]), x.dim(axes[-1])), axes=order)


def gather(body: CodeBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """x[a = e]: axes that e shares with x align, its other axes take a's place (D5); 0 where a mask leaves e out."""
    a, out, x = node.axes[0], node.out, vals[0]
    if kind_of(out) is Scalar.REAL:
        x = body.real(x, is_table(out))
    if mask is not None:
        x = body.array(x, body.core(node.operands[0].type.axes), kind_of(out), is_table(out)) if x.number else x
        return _kept(body, out, _taken(body, node, *_harmless(body, a, x, vals[1], mask, node.operands[1])), mask)
    return _taken(body, node, x, body.checked(vals[1], a))


def _harmless(body: CodeBody, a: Axis, x: Val, e: Val, mask: Val, index: Value) -> tuple[Val, Val]:
    """What is looked up, and where, such that there is an item also where the mask leaves the index out."""
    inside = body.bounds.within(e.bounds, a)
    e = _kept(body, index, e, mask)
    if not inside:
        e, extent = body.one_word(e, "pick"), body.extent(a)
        body.check_index(e.code, extent if body.plan.static_size(a) else Code.of("max({}, 1)", extent), a)
    if not body.plan.static_size(a):
        x = body.full(x, [a])
        x = replace(x, code=call("some", x.code, x.dim(a)))
    return x, replace(e, bounds=body.bounds.positions(a))


def _kept(body: CodeBody, like: Value, x: Val, mask: Val) -> Val:
    """What the mask keeps, and 0 elsewhere."""
    order = body.union_order([x, mask], like)
    x, mask = body.align(x, order, short=True), body.align(mask, order, short=True)
    code = call(f"{body.words.library}.where", mask.code, x.code, "False" if x.kind is Scalar.BOOL else "0")
    return body.combine([x, mask], code, order, like)


def _taken(body: CodeBody, node: Apply, x: Val, e: Val) -> Val:
    """The items of x at e, which surely lies within the axis."""
    a, out = node.axes[0], node.out
    if x.number or (e.number and a not in x.axes):
        return x
    needs = x.needs | e.needs
    x = body.full(x, [a])
    if e.number:
        place = x.axes.index(a)
        after = [":"] * (len(x.axes) - place - 1)
        before = [":"] * place if x.leading == NONE else ["..."]
        code = at_items(x, [*before, e.code, *(after if before == ["..."] else [])])
        return replace(x, code=code, axes=but(x.axes, a), needs=needs)

    def result(code: Code, axes: Sequence[Axis]) -> Val:
        return body.combine([replace(x, axes=but(x.axes, a)), e], code, axes, out)

    shared = [axis for axis in e.axes if axis in x.axes and axis != a]
    own = [axis for axis in e.axes if axis not in shared]
    if not shared and x.leading == NONE:  # rows of a table
        x = body.permute(x, [a, *but(x.axes, a)])
        return result(body.lookup(x, e), (*e.axes, *x.axes[1:]))
    if not shared and e.leading == NONE:  # the same items of every row
        place = x.axes.index(a)
        after = [":"] * (len(x.axes) - place - 1)
        return result(at_items(x, ["...", e.code, *after]), (*x.axes[:place], *e.axes, *x.axes[place + 1 :]))
    rest = [axis for axis in x.axes if axis not in shared and axis != a]
    x = body.permute(x, [*shared, a, *rest])
    e = body.full(e, own) if len(own) > 1 else e
    e = body.permute(e, [*shared, *own])
    if not own:
        e = replace(e, code=at_items(e, ["...", "None"]))
    elif len(own) > 1:
        flat = body.named(e, "index")
        e = replace(flat, code=body.flatten(flat, -len(own), -1))
    if rest:
        e = replace(e, code=at_items(e, ["...", *["None"] * len(rest)]))
    code = call("take_along", x.code, e.code, -(1 + len(rest)))
    if not own:
        code = Code.of("{}.squeeze({})", code, -(1 + len(rest)))
    elif len(own) > 1:
        code = body.unflatten(Val(code, (*shared, a, *rest)), -(1 + len(rest)), own)
    return result(code, (*shared, *own, *rest))


def picked(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """Of each item along an axis, whether any index that is kept names it: the axes of the indices go."""
    (made,), order = node.made, body.union_order(vals, node.out)
    shared = tuple(axis for axis in order if axis not in node.axes)
    kept, index = (body.align(val, (*shared, *node.axes)) for val in vals)
    index = body.full(index, node.axes)
    if not node.axes:
        kept, index = (replace(val, code=at_items(val, ["...", "None"])) for val in (kept, index))
    elif len(node.axes) > 1:
        kept, index = body.named(body.full(kept, node.axes)), body.named(index)
        kept, index = (replace(val, code=body.flatten(val, -len(node.axes), -1)) for val in (kept, index))
    found = body.combine(vals, call("picked", kept.code, index.code, body.extent(made)), (*shared, made), node.out)
    return replace(found, broadcast=found.broadcast - {made})


def _whole(body: CodeBody, node: Apply, x: Val) -> Val:
    """The operand of the type that the result has, with all items of the axis that the op acts on."""
    x = body.full(x, node.axes)
    return body.real(x, is_table(node.out)) if kind_of(node.out) is Scalar.REAL else x


def _windows(body: CodeBody, node: Apply, x: Val, template: str, *more: Code) -> Val:
    """Places and taps where an axis was; the template takes the operand, its dimension, both extents, what is ahead."""
    (axis,), (place, tap) = node.axes, node.made
    at = x.axes.index(axis)
    extents = body.extent(place), body.extent(tap)
    given = joined([x.code, x.dim(axis), *extents, *more, body.static(node.options["pad"])])
    order = (*x.axes[:at], place, tap, *x.axes[at + 1 :])
    return body.combine([x], body.write(template, given, body.clock(place)), order, node.out)


def window(body: CodeBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """y[s, t] = x[s * stride + t - pad], and 0 outside of x."""
    x = _whole(body, node, vals[0])
    return _windows(body, node, x, "window({0})", body.static(node.options["stride"]))


def pad(body: CodeBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """y[b] = x[b - left], and `value` outside of x."""
    (axis,), (made,), x = node.axes, node.made, _whole(body, node, vals[0])
    left, value = body.static(node.options["left"]), body.static(node.options["value"])
    code = Code.of("pad({})", joined([x.code, x.dim(axis), left, body.extent(made), value]))
    return body.combine([x], code, tuple(made if a == axis else a for a in x.axes), node.out)


def rank(body: CodeBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """topk, argsort: indices into an axis, along an axis of ranks; of equals the first. -1 where there is no item."""
    axis, made = node.axes[0], node.made[0]
    x = vals[0]
    first_few = "descending" not in node.options  # topk, the largest first
    falling = first_few or evaluate(node.options["descending"])
    if mask is not None or not all(holds(enough(node), axes) for axes, _ in body.plan.instances):
        return _picks(body, node, x, mask, {} if falling else {"descending": Code("False")})
    x = body.full(x, [axis])
    at = x.axes.index(axis)
    more = ["descending=True"] if falling else []
    first = [Code.of("first={}", body.extent(made))] if first_few else []
    code = Code.of("argsort({})", joined([x.code, x.dim(axis), *more, *first]))
    return body.combine([x], code, (*x.axes[:at], made, *x.axes[at + 1 :]), node.out)


def _picks(body: CodeBody, node: Apply, x: Val, mask: Val | None, more: dict[str, Code]) -> Val:
    """The first few of what a mask keeps, in order; where there are fewer, -1."""
    axis, made = node.axes[0], node.made[0]
    given = [x]
    if mask is None:
        x = body.full(x, [axis])
        order = x.axes
    else:
        x, mask, order = masked(body, node, x, mask)
        given, more = [x, mask], {"mask": mask.code, **more}
    dim = order.index(axis) - len(order)
    code = call("picks", x.code, dim, body.extent(made), **more)
    return body.combine(given, code, tuple(made if a == axis else a for a in order), node.out)


def best(body: CodeBody, node: Apply, x: Val, mask: Val | None) -> Val:
    """argmax: the index of the largest of what a mask keeps, or -1 of nothing."""
    given = [x]
    if mask is None:
        x = body.full(x, node.axes)
        order = x.axes
    else:
        x, mask, order = masked(body, node, x, mask)
        given = [x, mask]
    dim = order.index(node.axes[0]) - len(order)
    code = call("pick_one", x.code, dim, *([] if mask is None else [mask.code]))
    return body.combine(given, code, tuple(a for a in order if a not in node.axes), node.out)


def to_reduce(body: CodeBody, node: Apply, x: Val) -> Val:
    """What is to be reduced, as an array of its kind."""
    kind, table = kind_of(node.out), is_table(node.out)
    if kind is Scalar.REAL:
        x = body.real(x, table)
    if not x.number:
        return x
    return replace(x, code=body.filled(Code("()"), x.code, kind, body.dtype_of(kind, table)), number=False)


def times_kept(body: CodeBody, node: Apply, x: Val, mask: Val) -> Val:
    """The sum of one number over what a mask keeps: as often."""
    out = node.out
    mask = body.full(mask, node.axes)
    total = body.combine([mask, x], kept(mask, node), without(mask, node.axes), out, kind=Scalar.INT)
    if kind_of(out) is Scalar.REAL:
        total = body.real(total, is_table(out))
    return total if x.code.text == "1" else replace(total, code=times(total.code, x.code))


def kept(mask: Val, node: Apply) -> Code:
    """How many items a mask keeps."""
    return Code.of("{}.sum({})", mask.atom, dims(mask, node.axes))


def l2norm(body: CodeBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = body.full(body.real(vals[0], is_table(node.out)), node.axes)
    code = Code.of("l2norm({}, {}, {})", x.code, dims(x, node.axes), body.static(node.options["eps"]))
    return body.combine([x], code, x.axes, node.out)


def cast(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """A table that is hoisted, in the numbers of those who read it (rewrites/hoist.py)."""
    return body.real(vals[0], is_table(node.out))


def _home(body: CodeBody) -> str:
    """The class that both `prepare` and `step` are methods of."""
    if body.plan.owner is None:
        raise CannotEmit(f"{body.graph.name}: it keeps what its whole form does otherwise")
    return body.plan.owner.key


def _own(x: Val, count: int) -> dict[str, int]:
    """For what may have the batch: how many dimensions stand behind that, but for those that calls lift over."""
    return {} if x.leading == NONE else {"own": count}


def _on(body: CodeBody, axis: Axis, method: str, *args: Code | str | int, **named: Any) -> Code:
    """A call of what knows which items of an axis a step has."""
    clock = body.clock(axis)
    return Code.of("{}.{}", clock, call(method, *args, **named))


def remember(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """The new items behind the earlier ones; of a span that has a bound, what it reaches."""
    new, made = node.axes[0], node.made[0]
    x = body.full(_plain(body, node, vals[0]), [new])
    order = body.order_wanted(node.out)  # it is laid down as those who read it want it
    if order is not None and set(order) == {made if axis == new else axis for axis in x.axes}:
        x = body.permute(x, [new if axis == made else axis for axis in order])
    along = body.along(made)
    endless = body.endless(made) if along is None else along.keep is None
    size = [] if endless else [body.extent(made)]
    code = _on(body, made, "extend", f'"{node.name}"', x.code, x.dim(new), *size)
    axes = tuple(made if axis == new else axis for axis in x.axes)
    return body.combine([x], code, axes, node.out, bounds=ANY)


def store(body: CodeBody, node: Apply, vals: list[Val]) -> None:
    x = _plain(body, node, vals[0])
    axes = body.core(node.out.type.axes)
    x = body.first(x, [axis for axis in x.axes if axis not in axes])
    x = body.permute(x, [axis for axis in axes if axis in x.axes])
    order, broadcast = tuple(axes.index(a) for a in x.axes), frozenset(axes.index(a) for a in x.broadcast)
    body.file.kept[_home(body), node.name or ""] = KeptLayout(order, broadcast, x.leading)
    stored = call("cache.store", f'"{node.name}"', x.code, **_own(x, len(x.axes)))
    body.do(stored, comment=body.shown(x.axes))


def recall(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    kept = body.file.kept[_home(body), node.name or ""]
    axes = body.core(node.out.type.axes)
    found = Val(
        Code(f'cache["{node.name}"]'),
        tuple(axes[place] for place in kept.order),
        frozenset(axes[place] for place in kept.broadcast),
        kept.leading,
        kind=kind_of(node.out),
        table=is_table(node.out),
    )
    if "several" not in node.options:
        return found
    mask = replace(found, code=call("cache.mask", f'"{node.name}"'), broadcast=frozenset(found.axes), absent=True)
    return body.let(node.out.name or "mask", mask)


def _item(body: CodeBody, x: Val, along: tuple[Axis, ...], place: int, axes: tuple[Axis, ...]) -> Val:
    """x along these axes, of what it has along a further one the item at a place."""
    if not along or along[0] not in x.axes:
        return body.align(x, axes)
    x = body.align(body.full(x, along), [*along, *axes])
    return replace(x, code=at_items(x, ["...", str(place), *[":"] * len(axes)]))


def resume(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """What the last step left; at first the operand, of the new items the first."""
    axes = body.core(node.out.type.axes)
    x = _item(body, _plain(body, node, vals[0]), node.axes, 0, axes)
    clock = body.clock(node.made[0]) if node.made else Code("cache")
    code = Code.of("{}.{}", clock, call("resume", f'"{node.name}"', x.code))
    return replace(x, code=code, axes=axes, broadcast=frozenset(axes), leading=SOME)


def leave(body: CodeBody, node: Apply, vals: list[Val]) -> None:
    """The last of the new items is what the next step goes on from; of chunks the last that is over."""
    axes = tuple(axis for axis in body.core(node.out.type.axes) if axis not in node.axes)
    along = body.along(node.axes[0])
    if along is not None and along.size > 1:
        x = body.align(body.full(_plain(body, node, vals[0]), node.axes), [*node.axes, *axes])
        body.do(_on(body, node.axes[0], "leave", f'"{node.name}"', x.code, x.dim(node.axes[0]), **_own(x, len(axes))))
        return
    x = _item(body, _plain(body, node, vals[0]), node.axes, -1, axes)
    body.do(call("cache.leave", f'"{node.name}"', x.code, **_own(x, len(axes))))


def positions(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    axis = node.axes[0]
    stepped = body.graph.stepped
    assert stepped is not None
    along = body.along(axis)
    if along is not None and along.chunk:
        code = body.item_places(axis)
    elif body.is_new(axis) or (along is not None and along.new):
        code = body.new_places(axis)
    else:
        code = body.places_so_far(axis)
    return Val(code, (axis,), kind=Scalar.INT, bounds=body.bounds.positions(stepped.whole))


def _range(body: CodeBody, axis: Axis) -> Code:
    """The places of the items of a span in the whole sequence: `start:end`."""
    end = Code.of("{}.end", body.clock(axis))
    return Code.of(": {}", end) if _endless(body, axis) else Code.of("{} : {}", _first(body, axis), end)


def _endless(body: CodeBody, axis: Axis) -> bool:
    along = body.along(axis)
    return body.endless(axis) if along is None else not along.new and not along.chunk and along.keep is None


def _first(body: CodeBody, axis: Axis) -> Code:
    """The place of the first item of a span in the whole sequence."""
    return binary("-", Code.of("{}.end", body.clock(axis)), body.extent(axis))


def slice_(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """The rows of a table for the items at hand."""
    axis, made = node.axes[0], node.made[0]
    x = vals[0]
    if axis not in x.axes:
        return x
    x = body.full(x, [axis])
    at = x.axes.index(axis)
    here, there = body.along(axis), body.along(made)
    axes = tuple(made if a == axis else a for a in x.axes)
    if here is not None and (here.new or here.chunk):  # they have more than the new ones
        return replace(x, code=_on(body, axis, "new", x.code, x.dim(axis)), axes=axes)
    if there is not None and there.chunk:
        return replace(x, code=_on(body, made, "item_rows", x.code, x.dim(axis)), axes=axes)
    if body.is_new(made) or (there is not None and there.new):
        return replace(x, code=body.new_rows(x, axis, body.clock(made)), axes=axes)
    places = Code.of(":{}", body.extent(made)) if body.is_filled(made) else _range(body, made)
    before = [":"] * at if x.leading == NONE else ["..."]
    after = [":"] * (len(x.axes) - at - 1) if before == ["..."] else []
    return replace(x, code=at_items(x, [*before, places, *after]), axes=axes)


def since(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """A place in the whole sequence as one in a span of it."""
    e, axis = vals[0], node.axes[0]
    if _endless(body, axis):
        return e
    along = body.along(axis)
    if along is not None and along.chunk:
        return replace(e, code=_on(body, axis, "inside", e.code), bounds=ANY)
    return replace(e, code=binary("-", e.code, _first(body, axis)), bounds=ANY)


def taps(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    x = body.full(_plain(body, node, vals[0]), node.axes)
    return _windows(body, node, x, body.words.taps)


def fill(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """All items so far, and copies of the last one behind them."""
    had, made = node.axes[0], node.made[0]
    x = body.full(_plain(body, node, vals[0]), [had])
    along = body.along(made)
    if along is not None and along.chunk:
        code = _on(body, made, "open", x.code, x.dim(had))
    else:
        code = _on(body, had, "fill_up", x.code, x.dim(had), body.extent(made))
    return body.combine([x], code, tuple(made if axis == had else axis for axis in x.axes), node.out, bounds=ANY)


def behind(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """New items, at the first step behind a prefix."""
    parts, order, dim, _ = concat_operands(body, node, vals)
    return body.combine(parts, _on(body, node.made[0], "begin", listed(parts), dim), order, node.out)


def tail(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """The last of the new items; -0 is 0, so that `last = 0` means all."""
    new, made = node.axes[0], node.made[0]
    x = vals[0]
    if new not in x.axes:
        return x
    x = body.full(x, [new])
    at = x.axes.index(new)
    after = [":"] * (len(x.axes) - at - 1)
    axes = tuple(made if a == new else a for a in x.axes)
    return replace(x, code=at_items(x, ["...", "-last:", *after]), axes=axes)


def mapped(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """A map; of those that are done together, the first has the line `Q, K, V = cache.maps(x, ...)`.

    Where each makes heads of one depth, of each item, that is `cache.heads(x, depth, ...)`, with the heads in front.
    """
    x = body.last(body.real(body.spread_number(vals[0], node.operands[0]), False), node.axes)
    kept = tuple(axis for axis in x.axes if axis not in node.axes)
    flat = x if len(node.axes) == 1 else replace(x, code=body.flatten(x, -len(node.axes), -1))
    group = joined_maps(body.graph, node)
    if len(group) == 1:
        val = body.combine([x], body.mapped(flat, node), (*kept, *node.made), node.out)
        return val if len(node.made) == 1 else replace(val, code=body.unflatten(val, -1, node.made))
    if node is group[0]:
        given = [Variable(one.out.name or one.name or "x", lasting=True) for one in group]
        depth = body.depth_of_heads(group) if len(kept) == 1 else None
        body.joined |= {one.out.id: (each.code, depth is not None) for one, each in zip(group, given, strict=True)}
        maps = body.learned(group)
        together = call("cache.maps", flat.code, maps) if depth is None else call("cache.heads", flat.code, depth, maps)
        body.do(together, *given)
    code, in_front = body.joined.pop(node.out.id)
    if not in_front:
        val = body.combine([x], code, (*kept, *node.made), node.out)
        return val if len(node.made) == 1 else replace(val, code=body.unflatten(val, -1, node.made))
    heads = node.made[:-1]
    val = body.combine([x], code, (*heads, *kept, node.made[-1]), node.out)
    return val if len(heads) == 1 else replace(val, code=body.unflatten(val, -3, heads))


def demand(body: CodeBody, node: Apply, vals: list[Val]) -> None:
    """A line that refuses the batch where a truth is false of an example."""
    ok, *shown = vals
    body.do(call("check_examples", ok.code, f'"{body.graph.name}: {node.says}"', *(val.code for val in shown)))


def within(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """An index into each example's own items: proved, or checked when the code runs, but for what the mask drops."""
    index, length = vals
    mask = None if node.mask is None else body.env[node.mask.id]
    axis = node.axes[0]
    if body.lies_in(index, axis):
        return index
    if index.number and length.number:
        body.check_index(index.code, length.code, axis)
        return index
    index = body.one_word(index, "index")
    laid = [val for val in (index, length, mask) if val is not None and not val.number]
    order = body.union_order(laid, node.out)
    index_, length_, *valid = [
        body.align(val, order, short=True).code if val in laid else val.code
        for val in (index, length, *([] if mask is None else [mask]))
    ]
    where = f'"{body.graph.name}: index into {axis.name}"'
    body.do(call("check_ragged_index", index_, length_, where, *valid))
    return replace(index, bounds=body.bounds.positions(axis))


def dispatch(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """Rows sorted by what each picks of an axis (rewrites/dispatch). It stands where the batch stands."""
    best = body.full(vals[0] if len(vals) > 1 else body.checked(vals[0], node.each[0]), node.made)
    order = (*body.core(node.axes), *node.made)
    given = [
        body.align(body.permute(val, [axis for axis in order if axis in val.axes]), order) for val in (best, *vals[1:])
    ]
    codes = [val.code if node.made else at_items(val, ["...", "None"]) for val in given]
    counted = {"counted": "True"} if SHARE in node.options else {}
    made = call("Dispatch", codes[0], body.extent(node.each[0]), *codes[1:], **counted)
    return replace(body.combine(given, made, (), node.out), leading=FULL)


def rows(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """What each row reads: of its item, and of what it picked."""
    x, plan = vals
    if x.number:
        return x
    x = body.full(x, node.each)
    front = (*body.core(node.axes), *node.each)
    own = tuple(axis for axis in x.axes if axis not in front)
    x = body.align(x, (*front, *own))
    code = Code.of("{}.rows({})", plan.code, joined([x.code, str(len(own)), *(["grouped=True"] if node.each else [])]))
    made = body.combine([x, plan], code, own, node.out)
    return replace(made, broadcast=x.broadcast & {*own}, leading=FULL)


def back(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """Rows brought to their items, and their ranks."""
    y, plan = vals
    code = Code.of("{}.back({})", plan.code, y.code)
    if not node.made:
        code = Code.of("{}.squeeze({})", code, -1 - len(y.axes))
    made = body.combine([y, plan], code, (*body.core(node.axes), *node.made, *y.axes), node.out)
    return replace(made, broadcast=y.broadcast, leading=FULL)


def weighed(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """Rows brought to their items, times the weights of these and their ranks, and added up over the ranks."""
    y, plan, weights = vals
    y, order = body.real(y, False), (*body.core(node.axes), *node.made)
    weights = body.align(body.full(body.real(weights, False), node.made), order)
    code = Code.of("{}.weighed({}, {})", plan.code, y.code, weights.code)
    made = body.combine([y, plan, weights], code, (*body.core(node.axes), *y.axes), node.out)
    return replace(made, broadcast=y.broadcast, leading=FULL)


def grouped(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """Rows times the matrices of what they picked."""
    x, plan, weight = vals
    x = body.last(body.real(x, False), node.axes)
    kept = tuple(axis for axis in x.axes if axis not in node.axes)
    weight = body.permute(body.real(weight, False), (*node.each, *node.made, *node.axes))
    if len(node.axes) > 1:
        x, weight = (replace(val, code=body.flatten(val, -len(node.axes), -1)) for val in (x, weight))
    if len(node.made) > 1:
        weight = replace(weight, code=body.flatten(weight, -1 - len(node.made), -2))
    code = Code.of("{}.product({}, {})", plan.code, x.code, weight.code)
    if len(node.made) > 1:
        code = body.unflatten(Val(code), -1, node.made)
    return body.combine([x, plan, weight], code, (*kept, *node.made), node.out)


COMMON: dict[str, Emit] = {
    "dispatch": dispatch,
    "picked": picked,
    "rows": rows,
    "back": back,
    "weighed": weighed,
    "grouped": grouped,
    "cast": cast,
    "remember": remember,
    "store": store,
    "recall": recall,
    "resume": resume,
    "leave": leave,
    "positions": positions,
    "slice": slice_,
    "since": since,
    "taps": taps,
    "fill": fill,
    "behind": behind,
    "tail": tail,
    "map": mapped,
    "demand": demand,
    "within": within,
    "linear_attention": linear_attention,
    "recurrence": recurrence,
    "weighs": weighs,
    "map_weights": map_weights,
    "lstm": cell,
    "gru": cell,
    "rnn": cell,
}
