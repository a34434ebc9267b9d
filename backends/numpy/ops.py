"""NumPy code of the ops that are not pointwise: one function each, in the table at the end.

Products go through matmul, never through c_einsum, which does not reach BLAS (SPEED.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...compiler.graph.nodes import Apply
from ...compiler.graph.values import Scalar, Value
from ...compiler.sizes.axes import Axis
from ..emit.layout import at_items
from ..emit.mask_code import define
from ..emit.operands import (
    ZERO,
    concat_operands,
    dims,
    factors,
    items_along,
    listed,
    masked,
    neutral,
    smoothed,
    stack_operands,
    with_arguments,
    without,
)
from ..emit.ops import (
    best,
    gather,
    index,
    kept,
    l2norm,
    merge,
    pad,
    rank,
    rename,
    same,
    split,
    times_kept,
    to_reduce,
    window,
)
from ..text.expressions import UNARY, Code, call, folded, matmul, operator, times
from ..text.values import NONE, Val, is_table, kind_of, needed
from .body import Emit, NumpyBody, Point


def dot(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    out = node.out
    vals = [body.real(val, is_table(out), vals) for val in vals]
    numbers = [val for val in vals if val.number]
    arrays = factors(body, node.axes, [val for val in vals if not val.number])
    total = arrays[0]
    if len(arrays) == 1:
        kept = without(total, node.axes)
        total = body.combine([total], _sum(body, total, node.axes), kept, out)
    for place, other in enumerate(arrays[1:], 1):
        later = {axis for val in arrays[place + 1 :] for axis in val.axes}
        eaten = [axis for axis in node.axes if (axis in total.axes or axis in other.axes) and axis not in later]
        if place < len(arrays) - 1:
            total = body.named(total, "product")
        total = product(body, total, other, eaten, out)
    for val in numbers:
        total = replace(total, code=times(total.code, val.code))
    return replace(total, needs=needed(val.needs for val in vals))


def product(body: NumpyBody, a: Val, b: Val, eaten: Sequence[Axis], out: Value) -> Val:
    """Two operands multiplied and summed over some axes: one matmul, axes in excess broadcasting like a batch."""
    a, b = [_summed(body, x, [axis for axis in eaten if axis not in y.axes], out) for x, y in ((a, b), (b, a))]
    over = [axis for axis in a.axes if axis in eaten]
    shared = [axis for axis in a.axes if axis in b.axes and axis not in over]
    left = [axis for axis in a.axes if axis not in shared and axis not in over]
    right = [axis for axis in b.axes if axis not in shared and axis not in over]
    if not over or (not left and not right and (shared or (a.leading != NONE and b.leading != NONE))):
        order = (*shared, *left, *right, *over)
        x, y = body.align(a, order, short=True), body.align(b, order, short=True)
        total = body.combine([x, y], times(x.code, y.code), order, out)
        if not over:
            return total
        kept = without(total, over)
        code = call("sum_of_products", x.code, y.code, dims(total, over))
        return replace(total, code=code, axes=kept, broadcast=total.broadcast & set(kept))
    if (
        b.leading == NONE and not shared and len(right) <= 1 and len(over) == 1 and a.axes[-1] == over[0]
    ):  # any rows, one matrix
        kept = (*left, *right)
        if len(right) == 1:
            matrix = b.atom if b.axes[-1] == over[0] else Code.of("{}.T", b.atom)
            return body.combine([a, b], call("linear", a.code, matrix), kept, out)
        return body.combine([a, b], matmul(a.code, b.code), kept, out)
    rows, columns = left[-1:], right[-1:]
    wide_left, wide_right = left[:-1], right[:-1]
    first = body.align(a, (*shared, *wide_left, *wide_right, *rows, *over))
    straight = len(over) == 1 and b.axes != (*shared, *right, *over)  # what is moved anyway is moved at once
    ends = (*over, *columns) if straight else (*columns, *over)
    second = body.align(b, (*shared, *wide_left, *right[:-1], *ends), short=True)
    if len(over) > 1:
        first = replace(first, code=body.flatten(first, -len(over), -1))
        second = replace(second, code=body.flatten(second, -len(over), -1))
    one = first.code if rows else at_items(first, ["...", "None", ":"])
    if not columns:
        two = at_items(second, ["...", "None"])
    else:
        two = second.code if straight else body.write(body.words.swapped, second.code, -1, -2)
    code = matmul(one, two)
    if not rows:
        code = at_items(Val(code), ["...", "0", ":"])
    if not columns:
        code = at_items(Val(code), ["...", "0"])
    return body.combine([a, b], code, (*shared, *wide_left, *wide_right, *rows, *columns), out)


def _summed(body: NumpyBody, x: Val, axes: Sequence[Axis], out: Value) -> Val:
    """Axes that only one operand has are summed away first."""
    if not axes:
        return x
    return body.combine([x], _sum(body, x, axes), without(x, axes), out)


def _sum(body: NumpyBody, x: Val, axes: Sequence[Axis], *over: Code) -> Code:
    """The sum over axes, or the mean: `over` says of how many items."""
    return call("sum_of", x.code, dims(x, axes), *over)


def linear(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = body.last(body.real(vals[0], False), node.axes)
    each = () if len(vals) > 1 else node.each  # of rows that picked their group
    kept = (*(axis for axis in x.axes if axis not in node.axes and axis not in each), *each)
    x = body.full(body.align(x, [*kept, *node.axes]), each)
    if len(node.axes) > 1:
        x = replace(x, code=body.flatten(x, -len(node.axes), -1))
    name = Code.of("{}.product", vals[1].code) if len(vals) > 1 else "grouped_linear" if node.each else "linear"
    code = call(name, x.code, *map(body.weight, node.weights))
    val = body.combine([x, *vals[1:]], code, (*kept, *node.made), node.out)
    if len(node.made) > 1:
        val = replace(val, code=body.unflatten(val, -1, node.made))
    return val


def embed(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    ids = body.checked(vals[0], node.axes[0])
    code = at_items(Val(body.weight(node.weights[0])), [ids.code])
    val = body.combine([ids], code, (*ids.axes, *node.made), node.out)
    if len(node.made) > 1:
        val = replace(val, code=body.unflatten(val, -1, node.made))
    return val


def norm(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = body.last(body.real(vals[0], is_table(node.out)), node.axes)
    names = {weight.name.rsplit(".", 1)[1]: body.weight(weight) for weight in node.weights}
    learned = [*names.values()] if "weight" in names else [Code.of("bias={}", each) for each in names.values()]
    code = call(node.op, x.code, len(node.axes), body.static(node.options["eps"]), *learned)
    return body.combine([x], code, x.axes, node.out)


def reduce(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """sum, mean, max, min, any, all, argmax, logsumexp, over what the mask keeps."""
    x, axes = vals[0], node.axes
    if x.number and mask is not None and node.op == "sum":
        return times_kept(body, node, x, mask)
    x = to_reduce(body, node, x)
    if node.op == "argmax" and (mask is not None or not body.plan.static_size(axes[0])):
        return best(body, node, x, mask)
    fed = [x]
    if mask is None:
        x = body.full(x, axes)
    else:
        x, mask, order = masked(body, node, x, mask)
        fed = [x, mask]
        x = body.full(body.combine(fed, _left_out(body, node, x, mask), order, node.out, kind=x.kind), axes)
    code = _REDUCED.get(node.op, _by_method)(body, node, x, mask)
    return body.combine([x], code, without(x, axes), node.out, needs=needed(val.needs for val in fed))


def _left_out(body: NumpyBody, node: Apply, x: Val, mask: Val) -> Code:
    """The operand with that in place of what the mask leaves out which changes no result."""
    match node.op:
        case "logsumexp":  # its function takes the mask
            return x.code
        case "any":
            return operator("and", [mask.code, x.code])
        case "all":
            return operator("or", [operator("not", [mask.code]), x.code])
        case "max" | "min" if x.kind is Scalar.INT:
            x = body.named(x)
            return call("np.where", mask.code, x.code, _farthest(x, node))
        case _:
            return call("np.where", mask.code, x.code, neutral(node))


def _farthest(x: Val, node: Apply) -> Code:
    """The integer that is never the largest, or the smallest."""
    return Code.of("np.iinfo({}.dtype).{}", x.atom, "max" if node.op == "min" else "min")


def _by_method(body: NumpyBody, node: Apply, x: Val, mask: Val | None) -> Code:
    return Code.of("{}.{}({})", x.atom, node.op, dims(x, node.axes))


def _total(body: NumpyBody, node: Apply, x: Val, mask: Val | None) -> Code:
    return _sum(body, x, node.axes) if x.kind is Scalar.REAL else _by_method(body, node, x, mask)


def _mean(body: NumpyBody, node: Apply, x: Val, mask: Val | None) -> Code:
    """Of nothing it is 0."""
    if mask is not None:
        return _sum(body, x, node.axes, call("np.maximum", kept(body.full(mask, node.axes), node), 1))
    if all(map(body.plan.static_size, node.axes)):
        return _by_method(body, node, x, mask)
    return _sum(body, x, node.axes, call("max", items_along(body, node.axes), 1))


def _extreme(body: NumpyBody, node: Apply, x: Val, mask: Val | None) -> Code:
    """max and min: where there may be no item, what is farther than any."""
    if x.kind is Scalar.REAL:
        end = Code("-np.inf" if node.op == "max" else "np.inf")
    elif all(map(body.plan.static_size, node.axes)):
        return _by_method(body, node, x, mask)
    else:
        x = body.named(x)
        end = _farthest(x, node)
    return Code.of("{}.{}({}, initial={})", x.atom, node.op, dims(x, node.axes), end)


def _logsumexp(body: NumpyBody, node: Apply, x: Val, mask: Val | None) -> Code:
    return call("logsumexp", x.code, dims(x, node.axes), *([] if mask is None else [mask.code]))


_REDUCED = {"sum": _total, "mean": _mean, "max": _extreme, "min": _extreme, "logsumexp": _logsumexp}


def cumsum(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = vals[0] if kind_of(node.out) is Scalar.INT else body.real(vals[0], is_table(node.out))
    x = body.full(x, node.axes)
    if x.kind is Scalar.INT:
        return body.combine([x], Code.of("{}.cumsum({})", x.atom, dims(x, node.axes)), x.axes, node.out)
    return body.combine([x], call("running_sum", x.code, dims(x, node.axes)), x.axes, node.out)


def cummax(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = body.full(vals[0], node.axes)
    return body.combine([x], call("np.maximum.accumulate", x.code, dims(x, node.axes)), x.axes, node.out)


def logcumsumexp(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = body.named(body.full(body.real(vals[0], is_table(node.out)), node.axes))
    sums = call("np.logaddexp.accumulate", call("widened", x.code), dims(x, node.axes))
    return body.combine([x], Code.of("{}.astype({}.dtype, copy=False)", sums, x.atom), x.axes, node.out)


def flip(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = body.full(vals[0], node.axes)
    return body.combine([x], call("np.flip", x.code, dims(x, node.axes)), x.axes, node.out)


def stop_gradient(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """There are no gradients here."""
    return vals[0]


def softmax(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """softmax and log_softmax, over one axis or several jointly."""
    x = body.real(vals[0], is_table(node.out))
    if x.number:  # a mask alone says where it is
        dtype = body.float64 if is_table(node.out) else body.dtype
        x = replace(x, code=body.filled(Code("()"), x.code, Scalar.REAL, dtype), number=False)
    fed = [x]
    if mask is None:
        x = body.full(x, node.axes)
        order = x.axes
    else:
        x, mask, order = masked(body, node, x, mask)
        x = body.full(x, node.axes)
        order = (*(axis for axis in order if axis not in x.axes), *x.axes)
        mask = body.align(mask, order, short=True)
        fed = [x, mask]
    whole = replace(x, axes=order)
    code = call(node.op, x.code, dims(whole, node.axes), *([] if mask is None else [mask.code]))
    return body.combine(fed, code, order, node.out)


def concat(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    parts, order, dim, same = concat_operands(body, node, vals)
    code = call("np.concatenate" if same else "concat", listed(parts), dim)
    return body.combine(parts, code, order, node.out)


def stack(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """Two values side by side along a new axis (rewrites/stack.py)."""
    parts, order, dim, same = stack_operands(body, node, vals)
    given = listed(parts) if same else call("np.broadcast_arrays", *(val.code for val in parts))
    return body.combine(parts, body.write(body.words.stacked, given, dim), order, node.out)


def dropout(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """This is inference: nothing is left out."""
    return body.real(vals[0], is_table(node.out))


def cross_entropy(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """Minus the log-likelihood of each id; smoothing spreads its share evenly over all classes, as torch does."""
    vocab, out = node.axes[0], node.out
    ids = body.checked(vals[1], vocab)
    if ids.number:
        ids = replace(ids, code=body.filled(Code("()"), ids.code, Scalar.INT, None), number=False)
    x = body.last(body.real(vals[0], is_table(out)), [vocab])
    kept = without(x, [vocab])
    order = (*(axis for axis in ids.axes if axis not in kept), *kept)
    ids, x = body.align(ids, order), body.align(x, (*order, vocab))
    logs = body.let("logs", body.combine([x], call("log_softmax", x.code, -1), x.axes, out))
    code = Code.of("-take_along({}, {}[..., None], -1)[..., 0]", logs.code, ids.atom, level=UNARY)
    smoothing = node.options["smoothing"]
    if smoothing not in ZERO:
        code = smoothed(code, body.static(smoothing), logs)
    return body.combine([logs, ids], code, order, out)


def attention(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """softmax(Q K' scale + bias, where mask) V (rewrites/attention.py); a mask of positions is never made."""
    laid, causal = with_arguments(body, node, vals, mask)
    args = [val.code for val in laid.args]
    if causal is not None:
        args += [] if laid.where is None else [laid.where.code]
        args.append(Code.of("causal={}", causal))
    elif node.seen is not None:
        seen, _ = define(body, node.seen, laid.data)
        args = [seen, *args, *(val.code for val in laid.data if not val.number)]
    elif laid.where is not None:
        args.append(laid.where.code)
    if laid.bias is not None:
        args.append(Code.of("bias={}", laid.bias.code))
    scale = body.static(node.options["scale"])
    if scale.text != "1":
        args.append(Code.of("scale={}", scale))
    if "cap" in node.options:
        args.append(Code.of("cap={}", body.static(node.options["cap"])))
    function = "attention" if node.seen is None or causal is not None else "masked_attention"
    return replace(laid.result, code=call(function, *args))


PYTHON = {"maximum": "max", "minimum": "min"}  # what it calls them


def extreme(body: NumpyBody, op: str, vals: list[Val]) -> Code:
    """max or min, of numbers Python's: what NumPy makes of them has a type of its own, and float32 would become
    float64.
    """
    arrays, numbers = [val.code for val in vals if not val.number], [val.code for val in vals if val.number]
    if len(numbers) > 1:
        numbers = [call(PYTHON[op], *numbers)]
    return folded(f"np.{op}({{0}}, {{1}})", [*arrays, *numbers])


def clamp(body: NumpyBody, vals: list[Val], out: Value) -> Code:
    x, low, high = vals
    raised = Val(extreme(body, "maximum", [x, low]), number=x.number and low.number)
    return extreme(body, "minimum", [raised, high])


def select(body: NumpyBody, vals: list[Val], out: Value) -> Code:
    """Of two numbers NumPy makes its default type."""
    choice, x, y = vals
    code = call("np.where", choice.code, x.code, y.code)
    if x.number and y.number and kind_of(out) is Scalar.REAL:
        return Code.of("{}.astype({})", code, body.float64 if is_table(out) else body.dtype)
    return code


POINTS: dict[str, Point] = {
    "maximum": lambda body, vals, out: extreme(body, "maximum", vals),
    "minimum": lambda body, vals, out: extreme(body, "minimum", vals),
    "clamp": clamp,
    "select": select,
}
OPS: dict[str, Emit] = {
    "rename": rename,
    "gather": gather,
    "broadcast": same,
    "split": split,
    "merge": merge,
    "index": index,
    "int": same,
    "dot": dot,
    "linear": linear,
    "embed": embed,
    "layernorm": norm,
    "rmsnorm": norm,
    "sum": reduce,
    "mean": reduce,
    "max": reduce,
    "min": reduce,
    "any": reduce,
    "all": reduce,
    "argmax": reduce,
    "logsumexp": reduce,
    "cumsum": cumsum,
    "cummax": cummax,
    "logcumsumexp": logcumsumexp,
    "flip": flip,
    "stop_gradient": stop_gradient,
    "softmax": softmax,
    "log_softmax": softmax,
    "l2norm": l2norm,
    "concat": concat,
    "stack": stack,
    "dropout": dropout,
    "cross_entropy": cross_entropy,
    "window": window,
    "pad": pad,
    "topk": rank,
    "argsort": rank,
    "attention": attention,
}
