"""What ops need alike in both backends: dimensions to act on, operands laid out for a reduction or for attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from ...compiler.graph.nodes import Apply
from ...compiler.graph.term import leaves
from ...compiler.graph.traits import Arrange, Combination, IndexMap, Reduce
from ...compiler.graph.values import Scalar
from ...compiler.rewrites.kernels.mask_arguments import arguments
from ...compiler.sizes.axes import Arith, Axis, Literal, SizeOf, Static
from ..text.expressions import TERM, Code, Given, Variable, binary, call, joined, number, times
from ..text.printer import UNNAMED
from ..text.statements import Block, Do, Let
from ..text.values import FULL, NONE, CannotEmit, Val, is_table, kind_of
from ..text.writing import is_path
from .body import CodeBody
from .calls import is_optional
from .layout import at_items

ZERO = (Literal(0), Literal(0.0))
MERGED = Arrange(IndexMap.NUMBER)


def dims(x: Val, axes: Sequence[Axis]) -> str:
    """Dimensions for a reduction: `-1` or `(-2, -1)`."""
    places = sorted(x.dim(axis) for axis in axes)
    return str(places[0]) if len(places) == 1 else str(tuple(places))


def items_along(body: CodeBody, axes: Sequence[Axis]) -> Code:
    """How many items there are along these axes together."""
    return reduce(times, map(body.extent, axes))


def without(x: Val, axes: Sequence[Axis]) -> tuple[Axis, ...]:
    return tuple(axis for axis in x.axes if axis not in axes)


def factors(body: CodeBody, axes: Sequence[Axis], vals: Sequence[Val]) -> list[Val]:
    """Operands of a product that sums over axes, each of these at its true extent wherever it is laid out."""
    nowhere = {axis for axis in axes if not any(val.has(axis) for val in vals)}
    found = []
    for place, val in enumerate(vals):
        found.append(body.full(val, [a for a in axes if a in val.axes or (place == 0 and a in nowhere)]))
    return found


def masked(body: CodeBody, node: Apply, x: Val, mask: Val) -> tuple[Val, Val, tuple[Axis, ...]]:
    """Operand and mask laid out alike, the operand with all axes that the op acts on."""
    x = body.full(x, [axis for axis in node.axes if not mask.has(axis)])
    order = body.union_order([x, mask], node.out)
    return body.align(x, order, short=True), body.align(mask, order, short=True), order


def is_usual_scale(scale: Static, d: Axis) -> bool:
    """Whether the scale is 1 / sqrt(|d|), the fused op's own."""
    return scale in (Arith("/", (Literal(1), Arith("sqrt", (SizeOf(d),)))), Arith("rsqrt", (SizeOf(d),)))


def over(x: Val, shared: tuple[Axis, ...], q: Axis, k: Axis, body: CodeBody) -> Val:
    """A mask or bias with at least the two dimensions that the fused op wants."""
    wants = shared if x.leading != NONE or set(x.axes) & set(shared) else ()
    return body.align(x, (*wants, q, k))


@dataclass(frozen=True, slots=True)
class Attention:
    """The operands of attention as the backends lay them out.

    args:  Q [.., q, d], K [.., k, d] and V [.., k, v].
    where: the mask [.., q, k], and `data` what a mask of positions reads besides these, [.., q, k] too, or numbers.
    alike: whether Q, K and V surely have the same leading dimensions, and a mask as many or none: kernels want it so.
    """

    args: tuple[Val, Val, Val]
    where: Val | None
    data: list[Val]
    bias: Val | None
    result: Val
    alike: bool


def attention_operands(body: CodeBody, node: Apply, vals: list[Val], mask: Val | None) -> Attention:
    """Brings the operands of fused attention into the order that its kernels want."""
    d, k = node.axes
    q, v = node.made
    read = len(leaves(node.seen.term)) if node.seen is not None else 0
    vals, data = vals[: len(vals) - read], vals[len(vals) - read :]
    Q, K, V, *biases = [body.real(val, False, vals) for val in vals]
    Q, K, V = body.full(Q, [q, d]), body.full(K, [k, d]), body.full(V, [k, v])
    shared = tuple(dict.fromkeys(axis for val in (Q, K, V) for axis in val.axes if axis not in (q, k, d, v)))
    others = [val for val in (mask, *data, *biases) if val is not None and not val.number]
    # The mask may have axes that no operand has.
    more = tuple(dict.fromkeys(axis for val in others for axis in val.axes if axis not in (*shared, q, k)))
    Q, shared = body.full(Q, more), (*more, *shared)
    laid = (
        body.align(Q, (*shared, q, d), short=True),
        body.align(K, (*shared, k, d), short=True),
        body.align(V, (*shared, k, v), short=True),
    )
    where = over(mask, shared, q, k, body) if mask is not None and not mask.number else None
    bias = over(biases[0], shared, q, k, body) if biases else None
    result = body.combine([Q, K, V, *others], Code(""), (*shared, q, v), node.out)
    data = [over(val, shared, q, k, body) for val in data]
    alike = len({len(val.axes) for val in laid}) == 1 and all(val.leading == FULL and not val.broadcast for val in laid)
    masks = [val for val in (where, bias) if val is not None]
    alike = alike and all(val.leading == FULL or (val.leading == NONE and len(val.axes) == 2) for val in masks)
    return Attention(laid, where, data, bias, result, alike)


def with_arguments(body: CodeBody, node: Apply, vals: list[Val], mask: Val | None) -> tuple[Attention, Code | None]:
    """The operands of attention whose block may be given a mask, or be causal: in the end the code of that.

    A mask that may be absent gets the dimensions that it lacks in lines of their own.
    """
    found, causal = arguments(node.seen), None
    if found is not None:
        node, vals = replace(node, seen=None, operands=node.operands[:3]), vals[:3]
        mask, causal = None if found[0] is None else body.env[found[0].id], body.env[found[1].id].code
    laid = attention_operands(body, node, vals, mask)
    optional = mask is not None and any(
        val.code == mask.code and is_optional(body.graph, item)
        for val, item in zip(body.inputs, body.graph.inputs, strict=True)
    )
    if mask is None or laid.where is None or not optional:
        return _in_parts(body, laid, vals, mask), causal
    if laid.where.code != mask.code:
        shown = ", ".join(axis.name if axis in mask.axes else "1" for axis in laid.where.axes)
        again = Do(laid.where.code, (mask.code.variable,), f"[{shown}]")
        body.lines.append(Block(Code.of("if {} is not None", mask.code), [again]))
    return _in_parts(body, replace(laid, where=replace(laid.where, code=mask.code)), vals, mask), causal


def _in_parts(body: CodeBody, laid: Attention, vals: Sequence[Val], mask: Val | None) -> Attention:
    """The same, each operand that was laid out anew fit for a line of its own, where the call has no room for it."""

    def part(val: Val, of: Val, wish: str) -> Val:
        if val.number or val.code.variable is not None or is_path(val.code.text):
            return val
        shown = ", ".join(axis.name if axis in of.axes else "1" for axis in val.axes)
        let = Let(Variable(wish), val.code, f"[{shown}]")
        body.lines.append(let)
        return replace(val, code=let.variable.code)

    operands, more = [*zip(laid.args, vals, "QKV", strict=False)], vals[len(vals) - len(laid.data) :]
    Q, K, V = (part(val, of, _name(of) or letter) for val, of, letter in operands)
    where = None if laid.where is None or mask is None else part(laid.where, mask, "mask")
    bias = None if laid.bias is None else part(laid.bias, vals[3], "bias")
    data = [
        part(val, of, "mask" if val.kind is Scalar.BOOL else "data") for val, of in zip(laid.data, more, strict=True)
    ]
    return replace(laid, args=(Q, K, V), where=where, bias=bias, data=data)


def _name(of: Val) -> str:
    """What an operand is called, if it is a variable with a name."""
    variable = of.code.variable
    return "" if variable is None or isinstance(variable, Given) or variable.wish in UNNAMED else variable.wish


def linear_attention(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """A call of it for q and k [.., n, d], v [.., n, e], and what else it may take, by its name.

    Where what it weighs values with is summed up, too, the call gives both (compiler/rewrites/recurrent).
    """
    vals = [body.array(val, (), Scalar.REAL, False) if val.number else body.real(val, False, vals) for val in vals]
    (t, *d), e, (q, k, v, *others) = node.axes, node.made, vals
    lead = tuple(dict.fromkeys(axis for val in vals for axis in val.axes if axis not in (t, *d, *e)))

    def laid(val: Val, *groups: Sequence[Axis]) -> Code:
        """With each of these groups of axes as one of its last dimensions; one of size 1 where there is no axis."""
        val, end = body.full(val, [axis for group in groups if len(group) > 1 for axis in group]), -1
        val = body.align(val, (*lead, *(axis for group in groups for axis in group)))
        for group in reversed(groups):
            if not group:
                val = replace(val, code=at_items(val, ["...", "None"]))
            elif len(group) > 1:
                val = replace(val, code=body.flatten(val, end - len(group) + 1, end))
            end -= 1
        return val.code

    q, k, v = body.full(q, (t, *d)), body.full(k, (t, *d)), body.full(v, (t, *e))
    args = [laid(q, [t], d), laid(k, [t], d), laid(v, [t], e)]
    for name, val in zip([name for name in ("decay", "erase", "start") if name in node.options], others, strict=True):
        if name == "decay":
            by = d if any(axis in val.axes for axis in d) else []
            code = laid(body.full(val, by), [t], by)
        else:
            code = laid(body.full(val, (t, *d)), [t], d) if name == "erase" else laid(val, d, e)
        args.append(Code.of(f"{name}={{}}", code))
    args += [Code("before=True")] if "before" in node.options else []
    readers = (one for one in body.index.takers(node.out) if isinstance(one, Apply))
    count = next((one for one in readers if one.op == "weighs" and one.operands[0].id == node.out.id), None)
    code = call("linear_attention" if count is None else "linear_attention_and_sums", *args)
    if count is not None:
        targets = Variable(node.out.name or "x", lasting=True), Variable(count.out.name or "sums", lasting=True)
        body.do(code, *targets, comment=", ".join(body.shown(axes) for axes in ((*lead, t, *e), (*lead, t))))
        code, body.joined[count.out.id] = targets[0].code, (targets[1].code, False)
    code = code if len(e) == 1 else body.unflatten(Val(code), -1, e)
    return body.combine([q, k, v, *others], code, (*lead, t, *e), node.out)


def weighs(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """What an attention without a softmax weighed values with, which its call gives, too."""
    (attention,), maker = vals, body.index.op(node.operands[0])
    assert maker is not None
    code, _ = body.joined.pop(node.out.id)
    axes, broadcast = without(attention, maker.made), attention.broadcast - {*maker.made}
    return replace(attention, code=code, axes=axes, broadcast=broadcast)


def map_weights(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """Of a map, which is made here, where its order is; who reads them writes what they are."""
    body.made_here(node)
    return Val(Code("0"), kind=kind_of(node.out), number=True)


def cell(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """All of a recurrent network of PyTorch's: `lstm(x, [self.x], [self.h])` (compiler/rewrites/recurrent/cells.py)."""
    (t,), made = node.axes, node.made
    maps = [one for x in node.operands if (one := body.index.op(x)) is not None and one.op == "map_weights"]
    x, *starts = (val for val, given in zip(vals, node.operands, strict=True) if body.index.op(given) not in maps)
    x = body.last(body.real(x, False), (t, *maps[0].axes))
    ahead = without(x, (t, *maps[0].axes))
    if len(maps[0].axes) > 1:
        x = replace(x, code=body.flatten(x, -len(maps[0].axes), -1))
    half = len(maps) // 2
    args = [x.code, *(Code.of("[{}]", body.learned(each)) for each in (maps[:half], maps[half:]))]
    order = [body.static(place).text for _, place in sorted(node.options.items())]
    if order != sorted(order):
        args.append(Code(f"order=[{', '.join(order)}]"))
    starts = [body.full(body.align(body.real(one, False), (*ahead, *made)), made) for one in starts]
    args += [Code.of("{}={}", name, one.code) for name, one in zip("hc", starts, strict=False)]
    return body.combine([x, *starts], call(node.op, *args), (*ahead, t, *made), node.out)


def recurrence(body: CodeBody, node: Apply, vals: list[Val]) -> Val:
    """All values of a state: `running`."""
    (t,) = node.axes
    vals = [body.array(val, (), Scalar.REAL, False) if val.number else body.real(val, False, vals) for val in vals]
    x, *others = vals
    found = dict(zip([name for name in ("decay", "start") if name in node.options], others, strict=True))
    x = body.full(x, [t])
    order = body.union_order([x, *others], node.out)
    args = [body.align(x, order).code, Code(str(order.index(t) - len(order)))]
    if "decay" in found:
        args.append(Code.of("decay={}", body.align(found["decay"], order).code))
    if "start" in found:
        args.append(Code.of("start={}", body.align(found["start"], without(Val(Code(""), order), [t])).code))
    args += [Code("before=True")] if "before" in node.options else []
    return body.combine([x, *others], call("running", *args), order, node.out)


def concat_operands(body: CodeBody, node: Apply, vals: list[Val]) -> tuple[list[Val], tuple[Axis, ...], int, bool]:
    """The parts laid out alike, their order, the dimension to join along, and whether all others surely agree."""
    out, made = node.out, node.made[0]
    if kind_of(out) is Scalar.REAL:
        vals = [body.real(val, is_table(out), vals) for val in vals]
    parts = []
    for val, axis in zip(vals, node.axes, strict=True):
        val = body.full(val, [axis])
        parts.append(replace(val, axes=tuple(made if a == axis else a for a in val.axes)))
    largest = max(parts, key=lambda val: len(val.axes))
    extra = dict.fromkeys(axis for val in parts for axis in val.axes if axis not in largest.axes)
    order = (*extra, *largest.axes)
    leading = {val.leading for val in parts}
    same = all(set(val.axes) == set(order) and not val.broadcast for val in parts) and leading in ({NONE}, {FULL})
    return [body.align(val, order) for val in parts], order, order.index(made) - len(order), same


def stack_operands(body: CodeBody, node: Apply, vals: list[Val]) -> tuple[list[Val], tuple[Axis, ...], int, bool]:
    """The parts laid out alike, the order with the new axis, its dimension, and whether the parts surely agree."""
    out, made = node.out, node.made[0]
    if kind_of(out) is Scalar.REAL:
        vals = [body.real(val, is_table(out), vals) for val in vals]
    vals = [body.spread_number(val, operand) for val, operand in zip(vals, node.operands, strict=True)]
    order = body.union_order(vals, out)
    at = 0
    for reader in body.graph.nodes:  # beside what it is merged with, so that nothing moves then
        if isinstance(reader, Apply) and reader.traits.reads == MERGED and reader.operands[0].id == out.id:
            place = reader.axes.index(made)
            after, before = reader.axes[place + 1 :], reader.axes[:place]
            at = order.index(after[0]) if after and after[0] in order else at
            at = order.index(before[-1]) + 1 if not after and before and before[-1] in order else at
    leading = {val.leading for val in vals}
    same = all(set(val.axes) == set(order) and not val.broadcast for val in vals) and leading in ({NONE}, {FULL})
    parts = [body.align(val, order) for val in vals]
    return parts, (*order[:at], made, *order[at:]), at - len(order) - 1, same


def neutral(node: Apply) -> Code:
    """What an item that is left out counts as in a reduction of reals."""
    match node.traits.reads:
        case Reduce(Combination(value)) if value is not None:
            return number(value) if value else Code("0")
    raise CannotEmit(f"`{node.op}` has no number that what its mask leaves out could be")


def listed(vals: Sequence[Val]) -> Code:
    """`[a, b]`."""
    return Code.of("[{}]", joined(val.code for val in vals))


def smoothed(losses: Code, share: Code, logs: Val) -> Code:
    """Losses of which a share is spread evenly over all classes."""
    kept = Code.of("(1 - {})", share.at(TERM + 1))
    return binary("-", times(kept, losses), times(share, Code.of("{}.mean(-1)", logs.atom)))
