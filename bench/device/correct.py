"""What a device computes beside float64 on the CPU: its error is at most twice that of plain code of the same model.

Plain is the model without the rewrites that make kernels of it, in the same type: what that loses is rounding. Errors
are root mean squares, in those of the right numbers; of results, of gradients, and of what decoding gives step by step.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from unittest.mock import patch

import torch
from torch import Tensor, nn

import attnc
from attnc.backends.runtime.torch import masks

from .setting import Setting
from .subjects import Subject, subjects

PLAIN = ("fuse_attention",)
ENOUGH = {torch.float32: 2e-5, torch.bfloat16: 2e-3}  # of error in any case: what is rounded once and again


def trained(net: nn.Module) -> nn.Module:
    """No bias is 0, no gain 1, and attention is far from even: else the gradients of its scores are all rounding."""
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in net.parameters():
            weight += 0.15 * torch.randn(weight.shape, generator=draw, dtype=weight.dtype)
    return net


def of_type(given: Mapping[str, Tensor], device: torch.device, dtype: torch.dtype) -> dict[str, Tensor]:
    return {name: x.to(device, dtype if x.is_floating_point() else x.dtype) for name, x in given.items()}


def found(net: nn.Module, given: Mapping[str, Tensor], subject: Subject) -> dict[str, list[Tensor]]:
    """Results, gradients and steps, as float64 on the CPU."""
    leaves = [x.requires_grad_() for x in given.values() if x.is_floating_point()]
    leaves += [x for x in net.parameters() if x.requires_grad]
    result = net(**given)
    results = [x for x in (result if isinstance(result, tuple) else (result,)) if x.is_floating_point()]
    told = {"forward": results}
    learnt = [x for x in results if x.requires_grad]
    if learnt and leaves:
        draw = torch.Generator().manual_seed(2)
        ups = [torch.randn(x.shape, generator=draw, dtype=torch.float64).to(x) for x in learnt]
        gradients = torch.autograd.grad(learnt, leaves, ups, allow_unused=True)
        told["backward"] = [x for x in gradients if x is not None]
    if subject.steps:
        with torch.no_grad():
            told["decoding"] = subject.stepped(net, {name: x.detach() for name, x in given.items()})
    return {name: [x.detach().double().cpu() for x in parts] for name, parts in told.items()}


def error(parts: Sequence[Tensor], right: Sequence[Tensor]) -> float:
    """The largest of the errors; infinite where something is no number that should be one.

    What is less than a tenth of the largest is measured by that tenth. The gradients of scores may be differences of
    almost equal numbers: there kernels that go block by block lose more than plain code, which holds them all. float32
    tells what is wrong from what is rounded.
    """
    assert [x.shape for x in parts] == [x.shape for x in right]
    sizes = [size(x) for x in right]
    least, worst = max(sizes, default=0.0) / 10, 0.0
    for one, other, own in zip(parts, right, sizes, strict=True):
        if least:
            apart = size(torch.where(other.isfinite(), one, 0) - torch.where(other.isfinite(), other, 0), wrong=True)
            worst = max(worst, apart / max(own, least))
    return worst


def size(x: Tensor, wrong: bool = False) -> float:
    """The root mean square of its numbers; with `wrong` infinite where one is none."""
    if wrong and not x.isfinite().all():
        return float("inf")
    numbers = x[x.isfinite()]
    return float(numbers.square().mean().sqrt()) if numbers.numel() else 0.0


@contextmanager
def eager() -> Iterator[None]:
    """FlexAttention without its compiler, which would take longer than all else here; kernels are another case."""
    from torch.nn.attention.flex_attention import flex_attention

    with patch.object(masks, "compiled_flex", lambda: flex_attention):
        yield


def compared(setting: Setting, folder: str) -> dict[str, object]:
    """Every model of a folder of examples. Where it picks items, bfloat16 may pick others: that is told, not judged."""
    rows, wrong = [], []
    for subject in subjects(folder):
        given = subject.inputs()
        nets = [trained(subject.model.torch(seed=0, dtype=torch.float64, without=off)) for off in ((), PLAIN)]
        right = found(nets[1].eval(), of_type(given, torch.device("cpu"), torch.float64), subject)
        for dtype in ENOUGH:
            try:
                errors = []
                for net in nets:
                    moved = copy.deepcopy(net).to(setting.device, dtype).eval()
                    with eager():
                        made = found(moved, of_type(given, setting.device, dtype), subject)
                    errors.append({what: error(made[what], parts) for what, parts in right.items()})
            except Exception as problem:  # whatever it is, the next one is tried
                wrong.append(f"{subject.name} in {dtype}: {type(problem).__name__}: {problem}"[:500])
                continue
            for what, (ours, plain) in {what: (errors[0][what], errors[1][what]) for what in right}.items():
                rows.append([subject.name, str(dtype).removeprefix("torch."), what, ours, plain])
                judged = dtype == torch.float32 or not subject.picks
                if judged and not ours <= max(2 * plain, ENOUGH[dtype]):
                    wrong.append(f"{subject.name} in {dtype}, {what}: error {ours:.2g}, of plain code {plain:.2g}")
    return {"what": f"every model of examples/{folder}, forward, backward and decoding", "errors": rows, "wrong": wrong}


MASKS = {
    "causal, padding": "k <= q and real[q as k]",
    "window": "k <= q and q - k < 100",
    "blocks": "floor(q / 64) == floor(k / 64)",
}
MASKED = """\
width q
width k like q
depth h = 4, d = 64
model f(Q: [h, q, d], K: [h, k, d], V: [h, k, d], real: bool[q]) -> [h, q, d] {{
    return dot[k](softmax[k](dot[d](Q, K) / sqrt(|d|) where {mask}), V)
}}
"""


def masked(setting: Setting) -> dict[str, object]:
    """FlexAttention's compiled kernels, forward and backward."""
    width = 64 if setting.small else 1024
    rows, wrong = [], []
    draw = torch.Generator().manual_seed(0)
    given = {name: torch.randn(2, 4, width, 64, generator=draw, dtype=torch.float64) for name in "QKV"}
    given["real"] = torch.rand(2, width, generator=draw) < 0.8
    for name, mask in MASKS.items():
        model = attnc.loads(MASKED.format(mask=mask)).model("f")
        subject = Subject("masks", model, False)
        plain, ours = model.torch(without=PLAIN), model.torch()
        right = found_in(plain, given, torch.device("cpu"), torch.float64, subject)
        for dtype in ENOUGH:
            errors = []
            for net in (ours, plain):
                made = found_in(net, given, setting.device, dtype, subject)
                errors.append({what: error(made[what], right[what]) for what in ("forward", "backward")})
            for what in ("forward", "backward"):
                one, other = errors[0][what], errors[1][what]
                rows.append([name, str(dtype).removeprefix("torch."), what, one, other])
                if not one <= max(2 * other, ENOUGH[dtype]):
                    wrong.append(f"{name} in {dtype}, {what}: error {one:.2g}, of plain code {other:.2g}")
    return {"what": f"masks by FlexAttention, T {width}", "errors": rows, "wrong": wrong}


def found_in(
    net: nn.Module, given: Mapping[str, Tensor], device: torch.device, dtype: torch.dtype, subject: Subject
) -> dict[str, list[Tensor]]:
    plain = found(net, of_type({name: x.detach() for name, x in given.items()}, device, dtype), subject)
    return {what: parts for what, parts in plain.items() if what != "decoding"}
