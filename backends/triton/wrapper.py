"""The functions of PyTorch around the kernels of one fold: what they are given, what is allocated, gradients."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ...compiler.sizes.axes import Axis, known
from ...compiler.streams.rules import FoldKind
from .backward import grouped
from .points import LOG2E, tables, wrapped
from .tiles import Features, Kernel, PairNumber, Part
from .writer import column_leaves, dense, depths, of_columns, of_rows, results, row_leaves


def text(kernel: Kernel, digest: str) -> str:
    """The two ops, how they make a gradient, and the function that a model calls."""
    back = [_back_op(kernel, digest), _autograd(kernel)] if kernel.trains else []
    return "\n\n\n".join([_op(kernel, digest), *back, _function(kernel)])


def _stat(kernel: Kernel) -> list[str]:
    return ["stat"] if kernel.fold is not FoldKind.TOTAL else []


def _shares(kernel: Kernel) -> list[str]:
    return ["shares"] if kernel.shares is not None else []


def _outs(kernel: Kernel) -> list[str]:
    """What the op gives."""
    return [*results(kernel), *_stat(kernel), *_shares(kernel)]


def _names(kernel: Kernel, axes: tuple[Axis, ...]) -> list[str]:
    return [kernel.names[axis] for axis in axes]


def _sizes(kernel: Kernel) -> list[str]:
    """Lines that say how long each axis is."""
    lines = [f"lead = max({', '.join(f'{part.name}.shape[0]' for part in kernel.inputs)})"]
    if len(kernel.inputs) == 1:
        lines = [f"lead = {kernel.inputs[0].name}.shape[0]"]
    known: dict[Axis, str] = {}
    for part in kernel.inputs:
        for place, axis in enumerate(part.axes, 1):
            known.setdefault(axis, f"{part.name}.shape[{place}]")
    axes = dict.fromkeys((*kernel.batch, kernel.rows, kernel.columns, *depths(kernel)))
    lines += [f"{kernel.names[axis]} = {known[axis]}" for axis in axes]
    return lines


def _launch(
    kernel: Kernel, part: str, first: list[str], along: Axis, batch: tuple[Axis, ...], more: list[str]
) -> list[str]:
    rows, columns = kernel.names[kernel.rows], kernel.names[kernel.columns]
    known = [kernel.names[axis] for axis in depths(kernel)]
    most = f"max({', '.join(known)})" if len(known) > 1 else known[0]
    block = f"BLOCK_{kernel.names[along]}"
    programs = " * ".join([f"triton.cdiv({kernel.names[along]}, {block})", "lead", *_names(kernel, batch)])
    shared = part in ("forward", "shares")
    programs = f"({programs}, {'chunks' if shared else 1})"
    lengths = [f"{leaf.name}.shape[-1]" for leaf in kernel.leaves if leaf.looked_up]
    args = [
        f"{kernel.name}_{part}", programs, *(part.name for part in kernel.inputs), *first,
        *(f"*steps({part.name})" for part in kernel.inputs),
        *_names(kernel, kernel.batch), rows, columns, *lengths, *known,
        f"BLOCK_{rows}", f"BLOCK_{columns}", *(f"block({each})" for each in known),
        f"precision({kernel.inputs[0].name})", *more, "**how",
    ]  # fmt: skip
    few = f", {rows}" if shared else ""
    head = f'BLOCK_{rows}, BLOCK_{columns}, how = tiles("{part}", {most}, {kernel.inputs[0].name}{few})'
    return [*([head] if part != "shares" else []), *wrapped("launch(", args, ")")]


def _shape(kernel: Kernel, axes: tuple[Axis, ...]) -> str:
    return ", ".join(["lead", *_names(kernel, axes)])


def _given(kernel: Kernel, more: Sequence[str] = ()) -> list[str]:
    return [*(f"{part.name}: torch.Tensor" for part in kernel.inputs), *more]


def _body(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _op(kernel: Kernel, digest: str) -> str:
    outs = _outs(kernel)
    first_pass = [*results(kernel), *_stat(kernel)]
    lines = _sizes(kernel)
    first = kernel.inputs[0].name
    rows, columns = kernel.names[kernel.rows], kernel.names[kernel.columns]
    items = " * ".join(["lead", *_names(kernel, kernel.batch)])
    lines.append(f"chunks = chunks_of({rows}, {columns}, {items})")
    lines.append("parts = (chunks,) if chunks > 1 else ()")
    lines.append(f"kind = torch.float32 if chunks > 1 else {first}.dtype")
    for read, value in zip(results(kernel), kernel.values, strict=True):
        axes = (*kernel.batch, kernel.rows, value.depth)
        lines.append(f"{read} = {first}.new_empty(*parts, {_shape(kernel, axes)}, dtype=kind)")
    for stat in _stat(kernel):
        shape = _shape(kernel, (*kernel.batch, kernel.rows))
        lines.append(f"{stat} = {first}.new_empty(*parts, {shape}, dtype=torch.float32)")
    lines += _launch(kernel, "forward", first_pass, kernel.rows, kernel.batch, ["chunks"])
    join = {FoldKind.SHARES: "join_shares", FoldKind.ROOT: "join_roots", FoldKind.TOTAL: "join_totals"}[kernel.fold]
    given = [f"[{', '.join(results(kernel))}]", *_stat(kernel), f"{first}.dtype"]
    lines += ["if chunks > 1:", f"    {', '.join(first_pass)} = {join}({', '.join(given)})"]
    if len(first_pass) == 1:
        lines[-1] = f"    {first_pass[0]} = {join}({', '.join(given)})[0]"
    if kernel.shares is not None:
        lines.append(f"shares = {first}.new_empty({_shape(kernel, (*kernel.batch, kernel.rows, kernel.columns))})")
        lines += _launch(kernel, "shares", ["stat", "shares"], kernel.rows, kernel.batch, ["chunks"])
    lines.append(f"return {', '.join(outs)}")
    kind = f"tuple[{', '.join(['torch.Tensor'] * len(outs))}]" if len(outs) > 1 else "torch.Tensor"
    head = wrapped(f"def {kernel.name}_op(", _given(kernel), f") -> {kind}:")
    return "\n".join([f'@kernel_op("attnc::{kernel.name}_{digest}")', *head, *_body(lines)])


def learned(kernel: Kernel) -> list[Part]:
    """What may get a gradient, in the order of the inputs."""
    found = {part.name for part in (*row_leaves(kernel), *column_leaves(kernel), *dense(kernel), *tables(kernel))}
    return [part for part in kernel.inputs if isinstance(part, Features) or part.name in found]


def _back_op(kernel: Kernel, digest: str) -> str:
    reads, stats = results(kernel), _stat(kernel)
    given = [f"d_{read}: torch.Tensor" for read in reads]
    given += ["d_stat: torch.Tensor"] if kernel.logsum is not None else []
    given += [f"d_{name}: torch.Tensor | None" for name in _shares(kernel)]
    given += _given(kernel, [f"{name}: torch.Tensor" for name in _outs(kernel)])
    given += [f"learn_{leaf.name}: bool" for leaf in dense(kernel)]
    lines = _sizes(kernel)
    lines += [f"d_{read} = d_{read}.to({read}.dtype).contiguous()" for read in reads]
    lines += _delta(kernel)
    shown = _shares(kernel)
    if shown:
        lines += ["shown = d_shares is not None", "given_shares = d_shares.contiguous() if shown else stat"]
    upstream = [*(f"d_{read}" for read in reads), *(f"given_{name}" for name in shown)]
    upstream += ["stat", "delta"] if stats else []
    row_side: list[Part] = [*of_rows(kernel), *row_leaves(kernel), *dense(kernel), *tables(kernel)]
    lines += [_buffer(kernel, part, kernel.batch) for part in row_side]
    seen = ["shown"] if shown else []
    flags = [*(f"learn_{leaf.name}" for leaf in dense(kernel)), *seen]
    first = [*upstream, *(f"d_{part.name}" for part in row_side)]
    lines += _launch(kernel, "back_rows", first, kernel.rows, kernel.batch, flags)
    group = grouped(kernel)
    column_side: list[Part] = [*of_columns(kernel), *column_leaves(kernel)]
    lines += [_buffer(kernel, part, group) for part in column_side]
    first = [*upstream, *(f"d_{part.name}" for part in column_side)]
    lines += _launch(kernel, "back_columns", first, kernel.columns, group, seen)
    fitted = [_fitted(part, group if part in column_side else kernel.batch) for part in learned(kernel)]
    lines += wrapped("return (", fitted, ")")
    kind = f"tuple[{', '.join(['torch.Tensor'] * len(fitted))}]"
    head = wrapped(f"def {kernel.name}_back_op(", given, f") -> {kind}:")
    return "\n".join([f'@kernel_op("attnc::{kernel.name}_back_{digest}")', *head, *_body(lines)])


def _delta(kernel: Kernel) -> list[str]:
    """What the gradients of a row's shares have in common."""
    total = " + ".join(f"(d_{read}.float() * {read}.float()).sum(-1)" for read in results(kernel))
    if kernel.fold is FoldKind.SHARES:
        lines = [f"delta = {total}  # what a row's shares lose together, for they sum to one", *_delta_of(kernel)]
        return lines if kernel.logsum is None else [*lines, f"delta = delta - d_stat * {LOG2E!r}"]
    if kernel.fold is FoldKind.ROOT:
        lines = [f"delta = {total}  # the part along the row itself, which the norm takes away", *_delta_of(kernel)]
        return [*lines, f"delta = torch.where(stat < {1 / kernel.eps!r}, delta, 0.0)"] if kernel.eps else lines
    return []


def _delta_of(kernel: Kernel) -> list[str]:
    """The part that gradients of the shares themselves have in it."""
    if kernel.shares is None:
        return []
    return ["if d_shares is not None:", "    delta = delta + (d_shares * shares).sum(-1, dtype=torch.float32)"]


def _buffer(kernel: Kernel, part: Part, batch: tuple[Axis, ...]) -> str:
    """What a gradient is written into."""
    name = part.name
    if isinstance(part, Features):
        shape = _shape(kernel, (*batch, part.place, part.depth))
        return f"d_{name} = {name}.new_empty({shape}, dtype={_kind(part, batch)})"
    if part.looked_up:
        return f"d_{name} = torch.zeros_like({name}, dtype=torch.float32)"
    shape = _shape(kernel, (*batch, *(part.own or (kernel.rows,))))
    if len(part.own) == 2:
        shape = f"({shape}) if learn_{name} else (0,)"
    return f"d_{name} = {name}.new_zeros({shape}, dtype={_kind(part, batch)})"


def _fitted(part: Part, batch: tuple[Axis, ...]) -> str:
    """A gradient in the shape of what it is of."""
    if isinstance(part, PairNumber) and part.looked_up:
        return f"d_{part.name}.to({part.name}.dtype)"
    missing = [place for place, axis in enumerate(batch, 1) if axis not in part.batch]
    if isinstance(part, PairNumber) and not part.own:
        missing.append(len(batch) + 1)
    code = f"fitted(d_{part.name}, {part.name}, {missing})"
    if isinstance(part, PairNumber) and len(part.own) == 2:
        return f"{code} if learn_{part.name} else d_{part.name}"
    return code


def _kind(part: Part, batch: tuple[Axis, ...]) -> str:
    """The type in which a gradient is written: that of what it is of, unless there are sums to come."""
    whole = all(axis in part.batch for axis in batch) and not (isinstance(part, PairNumber) and len(part.own) < 2)
    return f"{part.name}.dtype" if whole else "torch.float32"


def _autograd(kernel: Kernel) -> str:
    outs = _outs(kernel)
    saved = [part.name for part in kernel.inputs]
    ins = ", ".join(saved) + ("," if len(saved) == 1 else "")
    n = kernel.name
    flags = [f"ctx.needs_input_grad[{saved.index(leaf.name)}]" for leaf in dense(kernel)]
    grads = ["d_" + name for name in outs]
    used = [f"d_{read}" for read in results(kernel)]
    used += ["d_stat"] if kernel.logsum is not None else []
    used += ["d_shares"] if kernel.shares is not None else []
    of = {part.name for part in learned(kernel)}
    given = [*used, "*ctx.saved_tensors", *flags]
    returned = ", ".join(f"d_{name}" if name in of else "None" for name in saved)
    missing = []
    if kernel.shares is not None:
        for name in used[:-1]:
            like = f"ctx.saved_tensors[{len(saved) + outs.index(name[2:])}]"
            missing.append(f"    {name} = torch.zeros_like({like}) if {name} is None else {name}")
    lines = [
        f"def {n}_keep(ctx, inputs, output):",
        f"    {ins} = inputs",
        f"    {', '.join(outs)} = output" if len(outs) > 1 else f"    {outs[0]} = output",
        f"    ctx.save_for_backward({', '.join([*saved, *outs])})",
        *(
            ["    ctx.set_materialize_grads(False)  # zeros for all pairs would be read twice"]
            if _shares(kernel)
            else []
        ),
        "",
        "",
        f"def {n}_gradient(ctx, {', '.join(grads)}):",
        *missing,
        *wrapped(f"    {', '.join(f'd_{part.name}' for part in learned(kernel))} = {n}_back_op(", given, ")"),
        f"    return {returned}",
        "",
        "",
        f"{n}_op.register_autograd({n}_gradient, setup_context={n}_keep)",
    ]
    return "\n".join(lines)


def _function(kernel: Kernel) -> str:
    names = [part.name for part in kernel.inputs]
    own = ", ".join(str(len(part.axes)) for part in kernel.inputs) + ("," if len(names) == 1 else "")
    listed = ", ".join(names) + ("," if len(names) == 1 else "")
    shapes = [f"{part.name} [{', '.join(['..', *_names(kernel, part.axes)])}]" for part in kernel.inputs]
    says = f"{kernel.name}. {', '.join(shapes)}; leading axes as they are."
    lines = [f"check_device({names[0]})", f"given = ({listed})", f"lead = leading(given, ({own}))"]
    for axis in depths(kernel):
        vectors = next(part for part in kernel.features if part.depth == axis)
        if axis.extent is not None:
            lines.append(f'check_size("{kernel.names[axis]}", {vectors.name}.shape[-1], {axis.extent})')
    lines += [f'check_size("{name}", {name}, {known(static)})' for name, static in kernel.written.items()]
    for part in kernel.inputs:
        cast = ""
        if isinstance(part, Features) and part is not kernel.features[0]:
            cast = f".to({kernel.features[0].name}.dtype)"
        lay = ".contiguous()" if isinstance(part, PairNumber) and part.looked_up else ""
        lines.append(f"{part.name} = as_one({part.name}{cast}, {len(part.axes)}, lead){lay}")
    outs = _outs(kernel)
    lines.append(f"{', '.join(outs)} = {kernel.name}_op({', '.join(names)})")
    back = [f"{read}.reshape(*lead, *{read}.shape[1:])" for read in results(kernel)]
    if kernel.logsum is not None:
        lines.append('logs = torch.where(stat == float("inf"), -stat, stat * 0.6931471805599453)')
        back.append(f"logs.to({names[0]}.dtype).reshape(*lead, *logs.shape[1:])")
    back += [f"{name}.reshape(*lead, *{name}.shape[1:])" for name in _shares(kernel)]
    lines.append(f"return {', '.join(back)}")
    given = [*names, *(["*", *kernel.written] if kernel.written else [])]
    return "\n".join([f"def {kernel.name}({', '.join(given)}):", *_body(paragraph(says)), *_body(lines)])


def paragraph(text: str) -> list[str]:
    """A docstring, over several lines where it is long."""
    lines = textwrap.wrap(text, 105)
    return [f'"""{lines[0]}"""'] if len(lines) == 1 else [f'"""{lines[0]}', *lines[1:], '"""']
