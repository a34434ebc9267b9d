"""A model's weights as the many short steps of decoding want them: how they lie, and parts without `nn.Module`.

`nn.Module` looks each part up in three dictionaries, and asks for hooks around each call: at a step of one item that
takes a third as long as its products.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .ops import is_traced

FEW = 16  # rows up to which one product with weights side by side is faster than one with each, on a CPU


def lay_out(net: Any, side_by_side: dict[type, list[tuple[str, ...]]], undo: bool = False) -> None:
    """Puts the weights of the learned maps (`nn.Linear`) where steps of few rows read them fastest, on a CPU.

    Those that a step uses on one value (queries, keys and values; gate and up) lie side by side, for one product: their
    names, for each class. Where there are more results than operands, weights lie as [in, out]. undo: they lie as they
    were made.

    It takes no memory in the end: they are copied product by product, and what they leave is free. They stay the
    parameters of the model, which may be trained, and loaded: what changes them in place changes what steps
    compute. But they are not contiguous, and some share memory: `safetensors` and `fully_shard` refuse them, and
    `pickle` writes that memory once for each. Weights that get other memory, as by `.to()` another type,
    `copy.deepcopy` or `load_state_dict(assign=True)`, leave the layout. A sharded model stays as it is.
    """
    if sharded(net):
        return
    groups = [
        [getattr(module, name) for name in names]
        for module in net.modules()
        for made, several in side_by_side.items()
        for names in several
        if isinstance(module, made)
    ]
    groups = [parts for parts in groups if all(map(is_linear, parts))]
    known = {part for parts in groups for part in parts}
    alone = [[part] for part in net.modules() if is_linear(part) and part not in known]
    with torch.inference_mode(False), torch.no_grad():
        for parts in (*groups, *alone):
            place([part.weight for part in parts], undo)
            place([part.bias for part in parts if part.bias is not None], undo)


def sharded(model: Any) -> list[Any]:
    """The modules of which FSDP2 (`fully_shard`) shards the weights."""
    fsdp = sys.modules.get("torch.distributed.fsdp")
    return [module for module in model.modules() if fsdp is not None and isinstance(module, fsdp.FSDPModule)]


def place(weights: Sequence[Tensor], apart: bool) -> None:
    """Side by side, of [in, out] in memory unless results are fewer than operands; or each as it was made."""
    if apart:
        for x in weights:
            x.data = x.detach().clone(memory_format=torch.contiguous_format)
    elif weights:
        whole = torch.cat([x.detach() for x in weights])
        if whole.dim() == 2 and whole.shape[0] >= whole.shape[1]:
            whole = whole.T.contiguous().T
        for x, part in zip(weights, torch.split(whole, [len(x) for x in weights]), strict=True):
            x.data = part


class Joint(NamedTuple):
    """The weights of some maps as one, [out, in], with their biases, and how many results each has."""

    weight: Tensor
    bias: Tensor | None
    sizes: list[int]


def joint(parts: tuple[nn.Module | Tensor, ...]) -> Joint | None:
    """Views of the weights, so that they follow what changes these in place. None: they do not lie side by side."""
    linears = [part for part in parts if isinstance(part, nn.Linear) and is_linear(part)]
    weight = side_by_side([part.weight for part in linears]) if len(linears) == len(parts) else None
    biases = [part.bias for part in linears if part.bias is not None]
    bias = side_by_side(biases) if len(biases) == len(parts) else None
    if weight is None or (biases and bias is None):
        return None
    return Joint(weight, bias, [len(part.weight) for part in linears])


def is_linear(part: nn.Module | Tensor) -> bool:
    """Whether it is a map and nothing else: it has no hooks, nor other code, nor weights that are tensors of another
    class (quantized, sharded), which alone know how to multiply.
    """
    return (
        type(part) is nn.Linear
        and not (part._forward_hooks or part._forward_pre_hooks or "forward" in vars(part))
        and all(x is None or (type(x) in (Tensor, nn.Parameter) and x.is_cpu) for x in (part.weight, part.bias))
    )


def side_by_side(parts: Sequence[Tensor]) -> Tensor | None:
    """The tensor of which these are the parts along the first dimension: each begins where the one before it ends."""
    first = parts[0].detach()
    place, memory = first.storage_offset(), first.untyped_storage().data_ptr()
    for x in parts:
        like = (x.dtype, x.shape[1:], x.stride()) == (first.dtype, first.shape[1:], first.stride())
        if not like or x.untyped_storage().data_ptr() != memory or x.storage_offset() != place:
            return None
        place += len(x) * x.stride(0)
    return first.as_strided((sum(map(len, parts)), *first.shape[1:]), first.stride())


def map_each(x: Tensor, part: nn.Module | Tensor) -> Tensor:
    y: Tensor = F.linear(x, part) if isinstance(part, Tensor) else part(x)
    return y


def split_heads(x: Tensor, depth: int) -> Tensor:
    """x [..., items, heads * depth] as [..., heads, items, depth]."""
    return torch.unflatten(x, -1, (-1, depth)).transpose(-3, -2)


def parts_of(net: Any) -> Any:
    """A copy of the model that has its parts as plain attributes, all the way down, and shares its weights.

    Of `nn.Linear`, `nn.Embedding` and norms it has the functions. A module that has hooks, code of its own or another
    class stays as it is. Itself where PyTorch traces, shards or watches: there nothing may differ.
    """
    if is_traced() or sharded(net):
        return net
    for_all = vars(nn.modules.module)
    if any(for_all[f"_global_{way}_hooks"] for way in ("forward", "forward_pre", "backward", "backward_pre")):
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
    twin = object.__new__(called_plainly(type(part)))
    vars(twin).update(vars(part) | part._buffers | part._parameters)
    vars(twin).update({name: one and plain_part(one, own) for name, one in part._modules.items()})
    return twin


def called_plainly(kind: type[Any]) -> type[Any]:
    """The class whose instances, when called, do `forward` and nothing else. It is kept, by no name of a part."""
    name = "called plainly"
    if name not in vars(kind):
        own = {"__call__": kind.forward, "__module__": kind.__module__}
        setattr(kind, name, type(kind.__name__, (kind,), own))
    found: type[Any] = vars(kind)[name]
    return found


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
