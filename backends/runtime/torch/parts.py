"""A model's parts as plain attributes, for the many short steps of decoding in generated PyTorch code.

`nn.Module` looks each part up in three dictionaries, and asks for hooks around each call: at a step of one item that
takes a third as long as its products.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .maps import FEW, Joint, joint, sharded
from .tracing import is_traced


def parts_of(net: Any) -> Any:
    """A copy of the model that has its parts as plain attributes, all the way down, and shares its weights.

    Of `nn.Linear`, `nn.Embedding` and norms it has the functions. A module that has hooks, code of its own or another
    class stays as it is. Itself where PyTorch traces, shards or watches: there nothing may differ.
    """
    if is_traced() or nn.modules.module._has_any_global_hook() or sharded(net):  # type: ignore[no-untyped-call]
        return net
    return plain_part(net, {one.__module__ for one in type(net).__mro__} - {nn.Module.__module__})


def plain_part(part: nn.Module, own: set[str]) -> Any:
    """The twin of one part. own: the Python modules of the model's own classes."""
    function = FUNCTIONS.get(type(part))
    if part._forward_hooks or part._forward_pre_hooks or "forward" in vars(part):
        return part
    if function is not None:
        return function(part)
    if type(part) is nn.ModuleList:
        return [plain_part(one, own) for one in part]
    if type(part).__module__ not in own:
        return part
    twin = object.__new__(type(part))
    vars(twin).update(vars(part) | part._buffers | part._parameters)
    vars(twin).update({name: one and plain_part(one, own) for name, one in part._modules.items()})
    return twin


class Map:
    """What `nn.Linear` does. beside: the product of it and others whose weights lie beside its own, once asked for."""

    __slots__ = ("beside", "bias", "module", "weight")

    def __init__(self, module: nn.Linear) -> None:
        self.module, self.weight, self.bias = module, module.weight, module.bias
        self.beside: dict[tuple[Any, ...], Joint | None] = {}

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


def joined_maps(x: Tensor, parts: tuple[Any, ...]) -> Joint | None:
    """The weights of several maps as one, if x has few rows and they lie side by side."""
    first = parts[0]
    if type(first) is not Map or x.numel() > FEW * x.shape[-1]:
        return None
    if parts not in first.beside:
        alike = all(type(part) is Map for part in parts)
        first.beside[parts] = joint(tuple(part.module for part in parts)) if alike else None
    return first.beside[parts]


class Norm:
    """What `nn.LayerNorm` does."""

    __slots__ = ("bias", "eps", "shape", "weight")

    def __init__(self, module: nn.LayerNorm) -> None:
        self.shape, self.weight, self.bias, self.eps = module.normalized_shape, module.weight, module.bias, module.eps

    def __call__(self, x: Tensor) -> Tensor:
        return torch.layer_norm(x, self.shape, self.weight, self.bias, self.eps)


class ScaledNorm:
    """What `nn.RMSNorm` does."""

    __slots__ = ("eps", "shape", "weight")

    def __init__(self, module: nn.RMSNorm) -> None:
        self.shape, self.weight, self.eps = module.normalized_shape, module.weight, module.eps

    def __call__(self, x: Tensor) -> Tensor:
        return torch.rms_norm(x, self.shape, self.weight, self.eps)


class Table:
    """What `nn.Embedding` does."""

    __slots__ = ("weight",)

    def __init__(self, module: nn.Embedding) -> None:
        self.weight = module.weight

    def __call__(self, ids: Tensor) -> Tensor:
        return torch.embedding(self.weight, ids)


FUNCTIONS: dict[type, Callable[[Any], Any]] = {
    nn.Linear: Map,
    nn.LayerNorm: Norm,
    nn.RMSNorm: ScaledNorm,
    nn.Embedding: lambda module: module if module.max_norm is not None else Table(module),
}
