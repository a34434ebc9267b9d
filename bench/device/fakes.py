"""What would go wrong on a GPU, found without one: `python bench/device/fakes.py [NAME ...]` tells it of every model.

Fake tensors that say they lie on CUDA have shapes and no numbers. So whoever reads a number of one (the processor would
wait for the device there) fails, and so does an op of tensors on two devices. Forward and decoding run on these; their
gradients abort a build of PyTorch without CUDA, so backward runs on `meta` tensors, which tell of the same but devices.

In a process of its own: what must not happen here would abort it.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from device.subjects import Subject, subjects
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode

from attnc.backends.runtime.torch import masks

FAKE = torch.device("cuda")


class Indexed(TorchFunctionMode):
    """`x[...]` and the like by ops of the dispatcher: PyTorch's own functions ask for the device, which is missing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.__getitem__:
            return item(*args)
        if func is Tensor.__setitem__:
            x, at, y = args
            place = item(x, at)
            return place.copy_(y) if isinstance(y, Tensor) else place.fill_(y)
        if func is torch.where and len(args) == 3:
            condition, *sides = args
            kind = next((x.dtype for x in sides if isinstance(x, Tensor)), None)
            return func(condition, *(number(x, kind, condition.device) for x in sides))
        return OPS.get(func, func)(*args, **(kwargs or {}))


def attention(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None, *rest: Any, **options: Any) -> Tensor:
    """What CUDA's kernels refuse, or read wrongly: a mask whose keys do not lie one after another in memory."""
    if mask is not None:
        assert mask.shape[-1] == K.shape[-2], f"a mask of {mask.shape[-1]} keys for {K.shape[-2]}"
        assert mask.stride(-1) == 1, f"a mask with strides {mask.stride()}"
    return nn.functional.scaled_dot_product_attention(Q, K, V, mask, *rest, **options)


OPS: dict[Any, Callable[..., Tensor]] = {
    nn.functional.scaled_dot_product_attention: attention,
    Tensor.copy_: torch.ops.aten.copy_,
    Tensor.contiguous: lambda x: torch.ops.aten.clone(x, memory_format=torch.contiguous_format),
    Tensor.__invert__: torch.ops.aten.bitwise_not,
    nn.functional.rms_norm: lambda x, *_, **__: torch.empty_like(x),
}


def number(x: Any, kind: torch.dtype | None, device: torch.device) -> Tensor:
    return x if isinstance(x, Tensor) else torch.full((), x, dtype=kind, device=device)


def flex(Q: Tensor, K: Tensor, V: Tensor, *, block_mask: Any, **_: Any) -> Tensor:
    """In the place of FlexAttention, whose kernel knows no fakes."""
    given = [Q, K, V, *(x for x in block_mask.as_tuple() if isinstance(x, Tensor))]
    assert len({x.device for x in given}) == 1, {x.device for x in given}
    return Q.new_empty((*Q.shape[:-1], V.shape[-1]))


def item(x: Tensor, at: Any) -> Tensor:
    """x[at]."""
    parts = list(at) if isinstance(at, tuple) else [at]
    if ... in parts:
        place = next(n for n, part in enumerate(parts) if part is ...)
        taken = sum(part.dim() if truths(part) else 1 for part in parts if part is not None and part is not ...)
        parts[place : place + 1] = [slice(None)] * (x.dim() - taken)
    dim, tensors = 0, {}
    for part in parts:
        if part is None:
            x = torch.ops.aten.unsqueeze(x, dim)
        elif isinstance(part, slice):
            if part != slice(None):
                x = torch.ops.aten.slice(x, dim, part.start, part.stop, part.step or 1)
        elif isinstance(part, Tensor) and part.dim() + truths(part):
            tensors[dim] = part
            dim += part.dim() - 1 if truths(part) else 0
        else:
            x = torch.ops.aten.select(x, dim, int(part))
            continue
        dim += 1
    if not tensors:
        return x
    return torch.ops.aten.index(x, [tensors.get(each) for each in range(max(tensors) + 1)])


def truths(part: object) -> bool:
    return isinstance(part, Tensor) and part.dtype == torch.bool


def on(device: torch.device, given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    kinds = {torch.float64: torch.bfloat16}
    return {name: torch.empty(x.shape, dtype=kinds.get(x.dtype, x.dtype), device=device) for name, x in given.items()}


def moved(net: nn.Module, device: torch.device) -> nn.Module:
    """Its weights and tables made anew there: fake tensors cannot take the place of others."""
    for module in net.modules():
        for place in (module._parameters, module._buffers):
            for name, x in place.items():
                if x is not None:
                    made = torch.empty(x.shape, dtype=x.dtype, device=device)
                    place[name] = nn.Parameter(made, requires_grad=False) if isinstance(x, nn.Parameter) else made
    return net


def devices(result: object) -> set[torch.device]:
    parts = result if isinstance(result, tuple | list) else [result]
    return {part.device for part in parts if isinstance(part, Tensor)}


def forward(subject: Subject) -> None:
    """And decoding, where the model has steps."""
    given = subject.inputs()
    net = subject.model.torch(device="meta", dtype=torch.bfloat16).eval()
    with FakeTensorMode(), Indexed(), torch.no_grad(), patch.object(masks, "compiled_flex", lambda: flex):
        fakes = on(FAKE, given)
        found = moved(net, FAKE)(**fakes)
        assert {device.type for device in devices(found)} == {"cuda"}, devices(found)
        if subject.steps:
            found = subject.stepped(net, fakes)
            assert {device.type for device in devices(found)} == {"cuda"}, devices(found)


def backward(subject: Subject) -> None:
    given = subject.inputs()
    net = subject.model.torch(device="meta", dtype=torch.bfloat16)
    result = net(**on(torch.device("meta"), given))
    parts = result if isinstance(result, tuple) else (result,)
    reals = [part.sum() for part in parts if part.is_floating_point() and part.requires_grad]
    if reals:
        torch.autograd.backward(reals)


TRIED: dict[str, Callable[[Subject], None]] = {"forward on CUDA": forward, "backward": backward}


def told(chosen: Iterable[Subject]) -> dict[str, str]:
    """What goes wrong, by model and by what was tried."""
    found = {}
    for subject in chosen:
        for name, attempt in TRIED.items():
            try:
                attempt(subject)
            except Exception as error:  # whatever it is, the next one is tried
                last = traceback.extract_tb(error.__traceback__)[-12:]
                where = " < ".join(f"{Path(each.filename).name}:{each.lineno}" for each in reversed(last))
                found[f"{subject.name}, {name}"] = f"{type(error).__name__}: {error} ({where})"
    return found


def main(names: list[str]) -> int:
    wrong = told(subject for subject in subjects() if not names or subject.name in names)
    for name, what in wrong.items():
        print(f"{name}: {what[:1000]}")
    print(f"{len(wrong)} went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
