"""PyTorch code of the ops that are not pointwise: one function each, in the table at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...compiler.graph.nodes import Apply, Init
from ...compiler.graph.values import Scalar, Value
from ...compiler.masks.kinds import is_causal, is_causal_but_for_data
from ...compiler.ops.internal import ALONE
from ...compiler.sizes.axes import Axis, Literal
from ..emit.mask_code import define
from ..emit.operands import (
    ZERO,
    concat_operands,
    dims,
    factors,
    is_usual_scale,
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
from ..text.expressions import UNARY, Code, call, folded, joined, matmul, operator, times
from ..text.values import NONE, Val, is_table, kind_of
from .body import Emit, Point, TorchBody
from .parallel import COLLECTIVES


def dot(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    out = node.out
    vals = [body.real(val, is_table(out), vals) for val in vals]
    numbers = [val for val in vals if val.number]
    arrays = factors(body, node.axes, [val for val in vals if not val.number])
    order, code = _product(body, node, arrays)
    for val in numbers:
        code = times(code, val.code)
    return body.combine(vals if len(arrays) == len(vals) else [*arrays, *numbers], code, order, out)


def _product(body: TorchBody, node: Apply, arrays: list[Val]) -> tuple[tuple[Axis, ...], Code]:
    eaten = node.axes
    if len(arrays) == 1:
        x = arrays[0]
        return without(x, eaten), Code.of("{}.sum({})", x.atom, dims(x, eaten))
    if len(arrays) == 2 and len(eaten) == 1:
        found = _matmul(arrays[0], arrays[1], eaten[0])
        if found is not None:
            return found
    letters = _letters([axis for val in arrays for axis in val.axes])
    spelled = ["".join(letters[axis] for axis in val.axes) for val in arrays]
    kept = [axis for axis in dict.fromkeys(axis for val in arrays for axis in val.axes) if axis not in eaten]
    shared = [axis for axis in kept if all(axis in val.axes for val in arrays)]
    order = (*shared, *(axis for axis in kept if axis not in shared))
    dots = "..." if any(val.leading != NONE for val in arrays) else ""
    inputs = ",".join((dots if val.leading != NONE else "") + text for val, text in zip(arrays, spelled, strict=True))
    result = dots + "".join(letters[axis] for axis in order)
    return order, call("torch.einsum", f'"{inputs}->{result}"', *(val.code for val in arrays))


def _matmul(a: Val, b: Val, c: Axis) -> tuple[tuple[Axis, ...], Code] | None:
    """`a @ b`, where both lie as matmul wants them but for a transposed last pair; else None."""
    shared = [axis for axis in a.axes if axis in b.axes and axis != c]
    left = [axis for axis in a.axes if axis not in shared and axis != c]
    right = [axis for axis in b.axes if axis not in shared and axis != c]
    if c not in a.axes or c not in b.axes:  # one has it in name only
        return None
    if b.leading == NONE and not shared and len(right) <= 1 and a.axes[-1] == c:  # a shared matrix: any rows
        return (*left, *right), matmul(a.code, b.code if b.axes[0] == c else Code.of("{}.mT", b.atom))
    if len(left) != 1 or len(right) != 1:
        return None
    first = _pair(a, (*shared, left[0], c))
    second = _pair(b, (*shared, c, right[0]))
    if first is None or second is None:
        return None
    return (*shared, left[0], right[0]), matmul(first, second)


def _pair(x: Val, order: tuple[Axis, ...]) -> Code | None:
    if x.axes == order:
        return x.code
    return Code.of("{}.mT", x.atom) if x.axes == (*order[:-2], order[-1], order[-2]) else None


def _letters(axes: Sequence[Axis]) -> dict[Axis, str]:
    """A letter for each axis: its initial where that is free."""
    found: dict[Axis, str] = {}
    spare = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    for axis in dict.fromkeys(axes):
        wish = next((c for c in axis.name if c.isalpha()), "a").lower()
        if wish in found.values():
            wish = wish.upper()
        while wish in found.values():
            wish = next(spare)
        found[axis] = wish
    return found


def linear(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """The map applied to the eaten axes, flattened."""
    x = body.last(body.real(vals[0], False), node.axes)
    if len(vals) > 1:  # of rows that picked their group
        kept: tuple[Axis, ...] = without(x, node.axes)
    elif node.each:
        rest = [axis for axis in x.axes if axis not in node.axes and axis not in node.each]
        x = body.align(x, [*rest, *node.each, *node.axes])
        kept = (*rest, *node.each)
    else:
        kept = without(x, node.axes)
    if len(node.axes) > 1:
        x = replace(x, code=body.flatten(x, -len(node.axes), -1))
    module = body.linear_module(node)
    if ALONE in node.options:  # of parts of what is eaten: sums of these have the bias
        weight = Code(f"{module}.weight")
        code = (
            Code.of("{}.product({}, {})", vals[1].code, x.code, weight)
            if vals[1:]
            else call("F.linear", x.code, weight)
        )
    else:
        code = call(module, x.code, *(val.code for val in vals[1:]))
    if len(node.made) > 1:
        code = body.unflatten(Val(code), -1, node.made)
    val = body.combine([x, *vals[1:]], code, (*kept, *node.made), node.out)
    return replace(val, broadcast=val.broadcast - set(node.each))


def embed(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    ids = body.checked(vals[0], node.axes[0])
    made = call("nn.Embedding", body.dim_size(node.axes), body.dim_size(node.made))
    given = ids.code if not ids.number else body.filled(Code("()"), ids.code, Scalar.INT, None)
    code = call(body.module(node, made, {"weight": Init("normal", (1.0,))}), given)
    if len(node.made) > 1:
        code = body.unflatten(Val(code), -1, node.made)
    return body.combine([ids], code, (*ids.axes, *node.made), node.out)


def norm(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """`nn.LayerNorm`, `nn.RMSNorm`: over the last dimensions; their functions where the module does not know eps."""
    x = body.last(body.real(vals[0], is_table(node.out)), node.axes)
    kind, function = ("LayerNorm", "layer_norm") if node.op == "layernorm" else ("RMSNorm", "rms_norm")
    names = [weight.name.rsplit(".", 1)[1] for weight in node.weights]
    eps = node.options["eps"]
    learned = []
    if names:
        shape = joined(body.dim_size((axis,)) for axis in node.axes)
        given = {"eps": body.built_static(eps)} if body.is_built(eps) else {}
        if kind == "LayerNorm" and names == ["weight"]:
            given["bias"] = Code("False")
        made = call(f"nn.{kind}", Code.of("({})", shape) if len(node.axes) > 1 else shape, **given)
        without_weight = ["weight"] if names == ["bias"] else []
        module = body.module(node, made, {"weight": Init("ones"), "bias": Init("zeros")}, without_weight)
        if body.is_built(eps) and body.modules.get(node.name or "") == made:
            return body.combine([x], call(module, x.code), x.axes, node.out)
        learned = [f"{module}.{name}" for name in (("weight", "bias") if kind == "LayerNorm" else ("weight",))]
    sizes = Code.of("({},)", joined(body.extent(axis) for axis in node.axes))
    code = call(f"F.{function}", x.code, sizes, *learned, eps=body.static(eps))
    return body.combine([x], code, x.axes, node.out)


def reduce(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """sum, mean, max, min, any, all, argmax, logsumexp, over what the mask keeps."""
    op, axes, out = node.op, node.axes, node.out
    x = vals[0]
    if x.number and mask is not None and op == "sum":
        return times_kept(body, node, x, mask)
    x = to_reduce(body, node, x)
    if op == "argmax" and (mask is not None or not body.plan.static_size(axes[0])):
        return best(body, node, x, mask)
    if mask is None:
        x = body.full(x, axes)
        fed = [x]
    elif op == "mean":
        x, mask, order = masked(body, node, x, mask)
        mask = body.full(body.align(mask, order), axes)
        whole = body.combine([x, mask], Code(""), order, out)
        code = call("masked_mean", x.code, mask.code, dims(whole, axes))
        return replace(whole, code=code, axes=without(whole, axes), broadcast=whole.broadcast - set(axes))
    else:
        x, mask, order = masked(body, node, x, mask)
        low = neutral(node)
        if x.kind is Scalar.INT and op in ("max", "min"):
            x = body.named(x)
            low = Code.of("torch.iinfo({}.dtype).{}", x.atom, "max" if op == "min" else "min")
        fed = [x, mask]
        if op == "any":
            kept_items = operator("and", [mask.code, x.code])
        elif op == "all":
            kept_items = operator("or", [operator("not", [mask.code]), x.code])
        else:
            kept_items = call("torch.where", mask.code, x.code, low)
        x = body.combine(fed, kept_items, order, out)
    kept = without(x, axes)
    where = dims(x, axes)
    name = {"max": "amax", "min": "amin"}.get(op, op)
    if op == "mean":
        x = body.named(x)
        sizes = items_along(body, axes)
        if all(body.plan.static_size(axis) for axis in axes):
            code = Code.of("{}.mean({})", x.atom, where)
        else:  # the mean of nothing is 0
            code = call("mean_of", x.code, where, call("max", sizes, 1))
        return body.combine([x], code, kept, out)
    code = Code.of("{}.{}({})", x.atom, name, where)
    if op in ("max", "min") and not all(map(body.plan.static_size, axes)):  # there may be no item
        code = call(name, x.code, where)
    return body.combine([x], code, kept, out)


def cumsum(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = vals[0] if kind_of(node.out) is Scalar.INT else body.real(vals[0], is_table(node.out))
    x = body.full(x, node.axes)
    return body.combine([x], Code.of("{}.cumsum({})", x.atom, dims(x, node.axes)), x.axes, node.out)


def cummax(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = body.full(vals[0], node.axes)
    return body.combine([x], Code.of("{}.cummax({}).values", x.atom, dims(x, node.axes)), x.axes, node.out)


def logcumsumexp(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = body.full(body.real(vals[0], is_table(node.out)), node.axes)
    return body.combine([x], Code.of("{}.logcumsumexp({})", x.atom, dims(x, node.axes)), x.axes, node.out)


def flip(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = body.full(vals[0], node.axes)
    return body.combine([x], Code.of("{}.flip({})", x.atom, dims(x, node.axes)), x.axes, node.out)


def stop_gradient(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    x = vals[0]
    return x if x.number else body.combine([x], Code.of("{}.detach()", x.atom), x.axes, node.out)


def softmax(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """softmax and log_softmax; several axes jointly are flattened into one and back."""
    x = body.real(vals[0], is_table(node.out))
    if x.number:  # a mask alone says where it is
        dtype = body.float64 if is_table(node.out) else body.dtype
        x = replace(x, code=body.filled(Code("()"), x.code, Scalar.REAL, dtype), number=False)
    axes, op = node.axes, node.op
    fed = [x]
    if mask is None:
        x = body.full(x, axes)
        order = x.axes
    else:
        x, mask, order = masked(body, node, x, mask)
        fed = [x, mask]
    if len(axes) > 1:
        order = (*(axis for axis in order if axis not in axes), *axes)
        x = body.full(body.align(x, order), axes)
        x = replace(x, code=body.flatten(x, -len(axes), -1))
        if mask is not None:
            mask = body.full(body.align(mask, order), axes)
            mask = replace(mask, code=body.flatten(mask, -len(axes), -1))
        where = "-1"
    else:
        where = str(order.index(axes[0]) - len(order))
    if mask is None:
        code = Code.of("{}.{}({})", x.atom, op, where)
    else:
        code = call(f"masked_{op}", x.code, mask.code, where)
    if len(axes) > 1:
        code = body.unflatten(Val(code), -1, axes)
    return body.combine(fed, code, order, node.out)


def concat(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """One after the other; dimensions that some operands lack are spread first."""
    parts, order, dim, same = concat_operands(body, node, vals)
    code = call("torch.cat" if same else "concat", listed(parts), dim)
    return body.combine(parts, code, order, node.out)


def stack(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """Two values side by side along a new axis (rewrites/stack.py)."""
    parts, order, dim, same = stack_operands(body, node, vals)
    given = listed(parts) if same else call("torch.broadcast_tensors", *(val.code for val in parts))
    return body.combine(parts, body.write(body.words.stacked, given, dim), order, node.out)


def dropout(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    p = node.options["p"]
    if p in ZERO:
        return vals[0]
    x = body.real(vals[0], is_table(node.out))
    if x.number:
        return x
    # Each item is left out on its own: an axis along which the operand does not vary yet is written out first.
    x = body.full(x, [axis for axis in x.axes if axis not in node.out.type.broadcast_axes])
    return body.combine(
        [x], body.drawing(node, "F.dropout", x.code, body.static(p), Code("self.training")), x.axes, node.out
    )


def cross_entropy(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """Minus the log-likelihood of each id; smoothing spreads its share evenly over all classes, as torch does."""
    vocab, out = node.axes[0], node.out
    ids = body.checked(vals[1], vocab)
    x = body.last(body.real(vals[0], is_table(out)), [vocab])
    if ids.number:
        ids = Val(body.filled(Code("()"), ids.code, Scalar.INT, None), kind=Scalar.INT, needs=ids.needs)
    kept = without(x, [vocab])
    order = (*(axis for axis in ids.axes if axis not in kept), *kept)
    smoothing = node.options["smoothing"]
    same = (
        set(ids.axes) == set(kept) == set(order)
        and not x.broadcast
        and not ids.broadcast
        and x.leading == ids.leading != 1
    )
    ids = body.align(ids, order)
    x = body.align(x, (*order, vocab))
    smooth = None if smoothing in ZERO else body.static(smoothing)
    if same:
        # rewrites/spend_logits.py; what is the same for all classes would be written to in one place
        if "spend" in node.options and vals[0].has(vocab):
            words = {} if smooth is None else {"smoothing": smooth}
            return body.combine([x, ids], call("cross_entropy", x.code, ids.code, **words), order, out)
        x, ids = body.named(x, "logits"), body.named(ids, "ids")
        # of no classes it cannot be told
        rows = "-1" if body.plan.static_size(vocab) else Code.of("{}.numel()", ids.atom)
        flat = Code.of("{}.reshape({}, {})", x.atom, rows, body.extent(vocab))
        words = {} if smooth is None else {"label_smoothing": smooth}
        labels = Code.of("{}.reshape(-1).long()", ids.atom)
        losses = call("F.cross_entropy", flat, labels, reduction='"none"', **words)
        return body.combine([x, ids], Code.of("{}.reshape({}.shape)", losses, ids.atom), order, out)
    logs = body.let("logs", body.combine([x], Code.of("{}.log_softmax(-1)", x.atom), x.axes, out))
    code = Code.of("-take_along({}, {}[..., None], -1).squeeze(-1)", logs.code, ids.atom, level=UNARY)
    if smooth is not None:
        code = smoothed(code, smooth, logs)
    return body.combine([logs, ids], code, order, out)


def attention(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """softmax(Q K' scale + bias, where mask) V, fused (rewrites/attention.py).

    A mask of positions is never made: causal is a flag of the kernel, the others go to `masked_attention`.
    """
    laid, causal = with_arguments(body, node, vals, mask)
    args = [val.code for val in laid.args]
    options = []
    p = node.options.get("p", Literal(0))
    if p not in ZERO:
        options.append(Code.of("dropout_p={} if self.training else 0.0", body.static(p)))
    scale = node.options["scale"]
    if not is_usual_scale(scale, node.axes[0]):
        options.append(Code.of("scale={}", body.static(scale)))
    cap = node.options.get("cap")
    if cap is not None:
        options.append(Code.of("cap={}", body.static(cap)))
    if causal is not None:
        function = "F.scaled_dot_product_attention" if laid.alike and laid.where is None else "attention"
        function = "safe_attention" if laid.alike and laid.where is not None else function
        args += [] if laid.where is None else [Code.of("mask={}", laid.where.code)]
        args.append(Code.of("is_causal={}", causal))
    elif node.seen is not None and (laid.bias is not None or cap is not None or not is_causal(node.seen)):
        seen, numbers = define(body, node.seen, laid.data)
        args = [seen, *args, *(val.code for val in laid.data if not val.number)]
        if laid.bias is not None:
            args.append(Code.of("bias={}", laid.bias.code))
        elif cap is None and is_causal_but_for_data(node.seen) and not any(val.number for val in laid.data):
            args.append(Code("causal_if_true=True"))
            if all(val.left_out and node.axes[1] in val.axes for val in vals[-len(laid.data) :]):
                args.append(Code("true_if_one=True"))
        if numbers:
            args.append(Code.of("numbers=({},)", joined(numbers)))
        function = "masked_attention"
    else:
        function = "safe_attention" if laid.alike else "attention"
        if node.seen is not None:
            args.append(Code("is_causal=True"))
        elif laid.where is not None:  # it may leave a query nothing
            args.append(Code.of("mask={}", laid.where.code))
        if laid.bias is not None:
            args.append(Code.of("bias={}", laid.bias.code))
        elif laid.alike and laid.where is None:
            function = "F.scaled_dot_product_attention"
    code = call(function, *args, *options) if p in ZERO else body.drawing(node, function, *args, *options)
    return replace(laid.result, code=code)


PYTHON = {"maximum": "max", "minimum": "min"}  # what it calls them


def extreme(body: TorchBody, op: str, vals: list[Val]) -> Code:
    """max or min: `torch.maximum` takes no numbers, which bound what the arrays have."""
    arrays, numbers = [val.code for val in vals if not val.number], [val.code for val in vals if val.number]
    if not arrays:
        return call(PYTHON[op], *numbers)
    code = folded(f"torch.{op}({{0}}, {{1}})", arrays)
    for number in numbers:
        code = Code.of("{}.clamp({}={})", code.atom, "min" if op == "maximum" else "max", number)
    return code


def clamp(body: TorchBody, vals: list[Val], out: Value) -> Code:
    x, low, high = vals
    if low.number and high.number:
        return Code.of("{}.clamp({}, {})", x.atom, low.code, high.code)
    raised = Val(extreme(body, "maximum", [x, low]), number=x.number and low.number)
    return extreme(body, "minimum", [raised, high])


def select(body: TorchBody, vals: list[Val], out: Value) -> Code:
    """Of two numbers, one as an array of the result's type: of two PyTorch makes its default type."""
    choice, x, y = vals
    first = x.code
    if x.number and y.number and kind_of(out) is Scalar.REAL:
        first = body.filled(Code("()"), x.code, Scalar.REAL, body.dtype_of(Scalar.REAL, is_table(out)))
    return call("torch.where", choice.code, first, y.code)


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
    **COLLECTIVES,
}
