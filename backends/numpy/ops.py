"""NumPy code of the ops that are not pointwise: one function each, in the table at the end.

Products go through matmul, never through c_einsum, which does not reach BLAS (SPEED.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...compiler.graph.nodes import Apply
from ...compiler.graph.values import Scalar, Value
from ...compiler.sizes.axes import Axis, evaluate
from ..emit.mask_code import define
from ..emit.operands import (
    ZERO,
    attention_operands,
    concat_operands,
    dims,
    factors,
    masked,
    neutral,
    stack_operands,
    without,
)
from ..emit.ops import gather, index, merge, rename, same, split
from ..text.expressions import ATOM, TERM, Code, operator
from ..text.templates import folded
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
        total = replace(
            total, code=Code(f"{total.code.at(TERM)} * {val.code.at(TERM + 1)}", TERM), names=total.names | val.names
        )
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
        text = Code(f"{x.code.at(TERM)} * {y.code.at(TERM + 1)}", TERM)
        total = body.combine([x, y], text, order, out)
        if not over:
            return total
        kept = without(total, over)
        body.helper("sum_of_products")
        code = Code(f"sum_of_products({x.text}, {y.text}, {dims(total, over)})")
        return replace(total, code=code, axes=kept, broadcast=total.broadcast & set(kept))
    if (
        b.leading == NONE and not shared and len(right) <= 1 and len(over) == 1 and a.axes[-1] == over[0]
    ):  # any rows, one matrix
        kept = (*left, *right)
        if len(right) == 1:
            body.helper("linear")
            matrix = b.atom if b.axes[-1] == over[0] else f"{b.atom}.T"
            return body.combine([a, b], Code(f"linear({a.text}, {matrix})"), kept, out)
        return body.combine([a, b], Code(f"{a.code.at(TERM)} @ {b.code.at(TERM + 1)}", TERM), kept, out)
    rows, columns = left[-1:], right[-1:]
    wide_left, wide_right = left[:-1], right[:-1]
    first = body.align(a, (*shared, *wide_left, *wide_right, *rows, *over))
    straight = len(over) == 1 and b.axes != (*shared, *right, *over)  # what is moved anyway is moved at once
    ends = (*over, *columns) if straight else (*columns, *over)
    second = body.align(b, (*shared, *wide_left, *right[:-1], *ends), short=True)
    if len(over) > 1:
        first = replace(first, code=Code(body.flatten(first, -len(over), -1)))
        second = replace(second, code=Code(body.flatten(second, -len(over), -1)))
    one = first.code if rows else Code(f"{first.atom}[..., None, :]")
    if not columns:
        two = Code(f"{second.atom}[..., None]")
    else:
        two = second.code if straight else Code(f"{second.atom}.swapaxes(-1, -2)")
    code = Code(f"{one.at(TERM)} @ {two.at(TERM + 1)}", TERM)
    if not rows:
        code = Code(f"{code.at(ATOM)}[..., 0, :]")
    if not columns:
        code = Code(f"{code.at(ATOM)}[..., 0]")
    return body.combine([a, b], code, (*shared, *wide_left, *wide_right, *rows, *columns), out)


def _summed(body: NumpyBody, x: Val, axes: Sequence[Axis], out: Value) -> Val:
    """Axes that only one operand has are summed away first."""
    if not axes:
        return x
    return body.combine([x], _sum(body, x, axes), without(x, axes), out)


def _sum(body: NumpyBody, x: Val, axes: Sequence[Axis], over: str = "") -> Code:
    """The sum over axes, or the mean: `over` says of how many items."""
    body.helper("sum_of")
    return Code(f"sum_of({x.text}, {dims(x, axes)}{f', {over}' if over else ''})")


def linear(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = body.last(body.real(vals[0], False), node.axes)
    kept = (*(axis for axis in x.axes if axis not in node.axes and axis not in node.each), *node.each)
    x = body.full(body.align(x, [*kept, *node.axes]), node.each)
    if len(node.axes) > 1:
        x = replace(x, code=Code(body.flatten(x, -len(node.axes), -1)))
    name = "grouped_linear" if node.each else "linear"
    body.helper(name)
    weights = ", ".join(body.weight(weight) for weight in node.weights)
    text = f"{name}({x.text}, {weights})"
    val = body.combine([x], Code(text), (*kept, *node.made), node.out)
    if len(node.made) > 1:
        val = replace(val, code=Code(body.unflatten(val, -1, node.made)))
    return val


def embed(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    ids = body.checked(vals[0], node.axes[0])
    val = body.combine([ids], Code(f"{body.weight(node.weights[0])}[{ids.text}]"), (*ids.axes, *node.made), node.out)
    if len(node.made) > 1:
        val = replace(val, code=Code(body.unflatten(val, -1, node.made)))
    return val


def norm(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = body.last(body.real(vals[0], is_table(node.out)), node.axes)
    eps = body.static(node.options["eps"]).text
    body.helper(node.op)
    names = {weight.name.rsplit(".", 1)[1]: body.weight(weight) for weight in node.weights}
    args = [x.text, str(len(node.axes)), eps]
    if "weight" in names:
        args.append(names["weight"])
    if "bias" in names:
        args.append(names["bias"] if "weight" in names else f"bias={names['bias']}")
    return body.combine([x], Code(f"{node.op}({', '.join(args)})"), x.axes, node.out)


def reduce(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """sum, mean, max, min, any, all, argmax, logsumexp, over what the mask keeps."""
    op, axes, out = node.op, node.axes, node.out
    x = vals[0]
    kind = Scalar.BOOL if op in ("any", "all") else kind_of(out)
    if kind is Scalar.REAL:
        x = body.real(x, is_table(out))
    if x.number and mask is not None and op == "sum":  # counting what the mask keeps
        mask = body.full(mask, axes)
        kept = without(mask, axes)
        code = Code(f"{mask.atom}.sum({dims(mask, axes)})")
        total = body.combine([mask, x], code, kept, out, kind=Scalar.INT)
        if kind is Scalar.REAL:
            total = body.real(total, is_table(out))
        if x.text != "1":
            total = replace(total, code=Code(f"{total.code.at(TERM)} * {x.code.at(TERM + 1)}", TERM))
        return total
    if x.number:
        dtype = body.dtype_of(kind, is_table(out))
        x = replace(x, code=Code(body.filled("()", x.text, kind, dtype)), number=False)
    fed = [x]
    if mask is None:
        x = body.full(x, axes)
    elif op != "logsumexp":
        x, mask, order = masked(body, node, x, mask)
        fed = [x, mask]
        low = neutral(node)
        if x.kind is Scalar.INT and op in ("max", "min", "argmax"):
            x = body.named(x)
            low = f"np.iinfo({x.text}.dtype).{'max' if op == 'min' else 'min'}"
        if op == "any":
            text = operator("and", [mask.code, x.code])
        elif op == "all":
            text = operator("or", [operator("not", [mask.code]), x.code])
        else:
            text = Code(f"np.where({mask.text}, {x.text}, {low})")
        x = body.full(body.combine(fed, text, order, out, kind=x.kind), axes)
    else:
        x, mask, order = masked(body, node, x, mask)
        fed = [x, mask]
        x = body.combine(fed, x.code, order, out)
    kept = without(x, axes)
    where = dims(x, axes)
    needs = needed(val.needs for val in fed)
    names = frozenset[str]().union(*(val.names for val in fed))
    if op == "mean":
        if mask is None:
            sizes = " * ".join(body.extent(axis).text for axis in axes)
            if all(body.plan.static_size(axis) for axis in axes):
                code = Code(f"{x.atom}.mean({where})")
            else:  # the mean of nothing is 0
                code = _sum(body, x, axes, f"max({sizes}, 1)")
        else:
            mask = body.full(mask, axes)
            kept_items = f"{mask.atom}.sum({dims(mask, axes)})"
            number = Code(f"np.maximum({kept_items}, 1)")
            count = body.combine([mask], number, without(mask, axes), out)
            code = _sum(body, x, axes, count.text)
    elif op == "sum" and x.kind is Scalar.REAL:
        code = _sum(body, x, axes)
    elif op == "logsumexp":
        body.helper("logsumexp")
        code = Code(f"logsumexp({x.text}, {where}{'' if mask is None else f', {mask.text}'})")
    elif op in ("max", "min") and x.kind is Scalar.REAL:
        code = Code(f"{x.atom}.{op}({where}, initial={'-' if op == 'max' else ''}np.inf)")
    elif op in ("max", "min") and not all(map(body.plan.static_size, axes)):  # there may be no item
        x = body.named(x)
        code = Code(f"{x.text}.{op}({where}, initial=np.iinfo({x.text}.dtype).{'min' if op == 'max' else 'max'})")
    elif op == "argmax" and not all(map(body.plan.static_size, axes)):
        body.helper("argmax")
        code = Code(f'argmax({x.text}, {where}, "{body.graph.name}: argmax[{axes[0].name}]")')
    else:
        code = Code(f"{x.atom}.{op}({where})")
    return body.combine([x], code, kept, out, needs=needs, names=names)


def cumsum(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = vals[0] if kind_of(node.out) is Scalar.INT else body.real(vals[0], is_table(node.out))
    x = body.full(x, node.axes)
    if x.kind is Scalar.INT:
        return body.combine([x], Code(f"{x.atom}.cumsum({dims(x, node.axes)})"), x.axes, node.out)
    body.helper("running_sum")
    return body.combine([x], Code(f"running_sum({x.text}, {dims(x, node.axes)})"), x.axes, node.out)


def cummax(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = body.full(vals[0], node.axes)
    return body.combine([x], Code(f"np.maximum.accumulate({x.text}, {dims(x, node.axes)})"), x.axes, node.out)


def logcumsumexp(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = body.full(body.real(vals[0], is_table(node.out)), node.axes)
    body.helper("widened")
    text = f"np.logaddexp.accumulate(widened({x.text}), {dims(x, node.axes)}).astype({x.atom}.dtype, copy=False)"
    return body.combine([x], Code(text), x.axes, node.out)


def flip(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = body.full(vals[0], node.axes)
    axes = dims(x, node.axes)
    return body.combine([x], Code(f"np.flip({x.text}, {axes})"), x.axes, node.out)


def stop_gradient(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """There are no gradients here."""
    return vals[0]


def softmax(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """softmax and log_softmax, over one axis or several jointly."""
    x = body.real(vals[0], is_table(node.out))
    if x.number:  # a mask alone says where it is
        dtype = body.float64() if is_table(node.out) else body.dtype
        x = replace(x, code=Code(body.filled("()", x.text, Scalar.REAL, dtype)), number=False)
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
    body.helper(node.op)
    text = f"{node.op}({x.text}, {dims(whole, node.axes)}{'' if mask is None else f', {mask.text}'})"
    return body.combine(fed, Code(text), order, node.out)


def l2norm(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = body.full(body.real(vals[0], is_table(node.out)), node.axes)
    eps = body.static(node.options["eps"]).text
    body.helper("l2norm")
    return body.combine([x], Code(f"l2norm({x.text}, {dims(x, node.axes)}, {eps})"), x.axes, node.out)


def concat(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    parts, order, dim, same = concat_operands(body, node, vals)
    texts = ", ".join(val.text for val in parts)
    if not same:
        body.helper("concat")
    code = Code(f"np.concatenate([{texts}], {dim})" if same else f"concat([{texts}], {dim})")
    return body.combine(parts, code, order, node.out)


def stack(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """Two values side by side along a new axis (rewrites/stack.py)."""
    parts, order, dim, same = stack_operands(body, node, vals)
    texts = ", ".join(val.text for val in parts)
    given = f"[{texts}]" if same else f"np.broadcast_arrays({texts})"
    return body.combine(parts, Code(f"np.stack({given}, {dim})"), order, node.out)


def dropout(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """This is inference: nothing is left out."""
    return body.real(vals[0], is_table(node.out))


def cross_entropy(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """Minus the log-likelihood of each id; smoothing spreads its share evenly over all classes, as torch does."""
    vocab, out = node.axes[0], node.out
    ids = body.checked(vals[1], vocab)
    if ids.number:
        ids = replace(ids, code=Code(body.filled("()", ids.text, Scalar.INT, "")), number=False)
    x = body.last(body.real(vals[0], is_table(out)), [vocab])
    kept = without(x, [vocab])
    order = (*(axis for axis in ids.axes if axis not in kept), *kept)
    ids, x = body.align(ids, order), body.align(x, (*order, vocab))
    body.helper("log_softmax")
    body.helper("take_along")
    logs = body.let("logs", body.combine([x], Code(f"log_softmax({x.text}, -1)"), x.axes, out))
    text = f"-take_along({logs.text}, {ids.atom}[..., None], -1)[..., 0]"
    smoothing = node.options["smoothing"]
    if smoothing not in ZERO:
        s = body.static(smoothing).at(ATOM)
        text = f"(1 - {s}) * {text} - {s} * {logs.text}.mean(-1)"
    return body.combine([logs, ids], Code(text, 9), order, out)


def attention(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """softmax(Q K' scale + bias, where mask) V (rewrites/attention.py); a mask of positions is never made."""
    laid = attention_operands(body, node, vals, mask)
    args = [val.text for val in laid.args]
    if node.seen is not None:
        seen, _ = define(body, node.seen, laid.data)
        args = [seen, *args, *(val.text for val in laid.data if not val.number)]
    elif laid.where is not None:
        args.append(laid.where.text)
    if laid.bias is not None:
        args.append(f"bias={laid.bias.text}")
    scale = body.static(node.options["scale"]).text
    if scale != "1":
        args.append(f"scale={scale}")
    if "cap" in node.options:
        args.append(f"cap={body.static(node.options['cap']).text}")
    function = "attention" if node.seen is None else "masked_attention"
    body.helper(function)
    return replace(laid.result, code=Code(f"{function}({', '.join(args)})"))


def window(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """y[s, t] = x[s * stride + t - pad], and 0 outside of x."""
    axis, (place, tap) = node.axes[0], node.made
    x = body.full(vals[0], [axis])
    if kind_of(node.out) is Scalar.REAL:
        x = body.real(x, is_table(node.out))
    at, order = x.axes.index(axis), x.axes
    stride = body.static(node.options["stride"]).text
    left = body.static(node.options["pad"]).text
    body.helper("window")
    text = f"window({x.text}, {x.dim(axis)}, {body.extent(place).text}, {body.extent(tap).text}, {stride}, {left})"
    return body.combine([x], Code(text), (*order[:at], place, tap, *order[at + 1 :]), node.out)


def pad(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """y[b] = x[b - left], and `value` outside of x."""
    axis, made = node.axes[0], node.made[0]
    x = body.full(vals[0], [axis])
    if kind_of(node.out) is Scalar.REAL:
        x = body.real(x, is_table(node.out))
    left = body.static(node.options["left"]).text
    value = body.static(node.options["value"]).text
    body.helper("pad")
    text = f"pad({x.text}, {x.dim(axis)}, {left}, {body.extent(made).text}, {value})"
    return body.combine([x], Code(text), tuple(made if a == axis else a for a in x.axes), node.out)


def rank(body: NumpyBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """topk, argsort: indices into an axis, along an axis of ranks; of equals the first."""
    axis, made = node.axes[0], node.made[0]
    x = body.full(vals[0], [axis])
    falling = node.op == "topk" or evaluate(node.options["descending"])
    body.helper("argsort")
    text = f"argsort({x.text}, {x.dim(axis)}{', descending=True' if falling else ''})"
    at = x.axes.index(axis)
    if node.op == "topk":
        after = "".join(", :" for _ in x.axes[at + 1 :])
        text = f"{text}[..., :{body.extent(made).text}{after}]"
    return body.combine([x], Code(text), (*x.axes[:at], made, *x.axes[at + 1 :]), node.out)


PYTHON = {"maximum": "max", "minimum": "min"}  # what it calls them


def extreme(body: NumpyBody, op: str, vals: list[Val]) -> Code:
    """max or min, of numbers Python's: what NumPy makes of them has a type of its own, and float32 would become
    float64.
    """
    arrays, numbers = [val.code for val in vals if not val.number], [val.code for val in vals if val.number]
    if len(numbers) > 1:
        numbers = [Code(f"{PYTHON[op]}({', '.join(number.text for number in numbers)})")]
    return folded(f"np.{op}({{0}}, {{1}})", [*arrays, *numbers])


def clamp(body: NumpyBody, vals: list[Val], out: Value) -> Code:
    x, low, high = vals
    raised = Val(extreme(body, "maximum", [x, low]), number=x.number and low.number)
    return extreme(body, "minimum", [raised, high])


def select(body: NumpyBody, vals: list[Val], out: Value) -> Code:
    """Of two numbers NumPy makes its default type."""
    choice, x, y = vals
    code = Code(f"np.where({choice.text}, {x.text}, {y.text})")
    if x.number and y.number and kind_of(out) is Scalar.REAL:
        return Code(f"{code.text}.astype({body.dtype_of(Scalar.REAL, is_table(out))})")
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
