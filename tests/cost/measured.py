"""What torch counts and what it holds: floating-point operations, live bytes, bytes saved for the gradient."""

from __future__ import annotations

import math
import types
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

import attnc
from attnc.backends.plan.capture import Captures
from attnc.backends.text.carried import TORCH, homes
from attnc.backends.text.names import camel
from attnc.compiler.decoding import Decoding
from attnc.compiler.graph.nodes import Call, Graph, Repeat, Scan, reads
from attnc.compiler.rewrites.simplify.constants import fold_truths
from attnc.compiler.rewrites.tools.walk import Walk


def _inverted(a: torch.Size, b: torch.Size, **_: object) -> int:
    """Of a matrix that is 1 on the diagonal and 0 above it: half of a product, the diagonal left out."""
    *_, n, m = b
    return math.prod(torch.broadcast_shapes(a[:-2], b[:-2])) * n * (n - 1) * m


VECTORS = {  # the counter knows matrices alone; a product with a vector is one too
    torch.ops.aten.mv: lambda a, x, **_: 2 * a[0] * a[1],
    torch.ops.aten.dot: lambda a, b, **_: 2 * a[0],
    torch.ops.aten.linalg_solve_triangular: _inverted,
}
ARITHMETIC = {  # what each does for each number that it makes; a sum is counted by what it reads
    **dict.fromkeys(["mul", "add", "sub", "rsub", "cumsum", "cumprod", "tril", "gt", "ge", "sigmoid", "tanh"], 1),
    **dict.fromkeys(["mul_", "add_", "sigmoid_", "tanh_"], 1),
    "addcmul": 2,
}


def alive(graph: Graph) -> Graph:
    """Without the nodes that no result hangs on."""
    wanted, nodes = {output.value.id for output in graph.outputs}, []
    for node in reversed(graph.nodes):
        made = node.outs if isinstance(node, Call | Repeat | Scan) else (node.out,)
        if wanted & {value.id for value in made}:
            nodes.append(node)
            wanted |= {value.id for value in reads(node)}
    return replace(graph, nodes=tuple(reversed(nodes)))


@contextmanager
def as_written() -> Iterator[None]:
    """Compiled without fused attention: every score is computed and stored, as the spec says. Dead code is left out."""

    def lower(graph: Graph, *_: object) -> tuple[Graph, Captures]:
        return Walk(lambda old, new: alive(new))(fold_truths(graph)[0]), Captures()

    def stepping(*_: object) -> Decoding:
        return Decoding(reason="not asked for")

    with patch("attnc.backends.emit.file.lower", lower), patch("attnc.backends.emit.file.stepping", stepping):
        yield


def compiled(model: attnc.Model, device: str = "meta", fused: bool = False) -> torch.nn.Module:
    """The generated module, weights as torch makes them (none on the meta device), without dropout."""
    with nullcontext() if fused else as_written():
        source = model.source("torch", single_file=True)
    module = types.ModuleType(f"cost_{model.name}")
    exec(compile(source, module.__name__, "exec"), module.__dict__)
    ours = homes(TORCH).keys() - {camel(model.name)}  # what stands behind the model
    classes = [
        made
        for name, made in module.__dict__.items()
        if isinstance(made, type) and made.__module__ == module.__name__ and name not in ours
    ]
    with torch.device(device):
        net: torch.nn.Module = [made for made in classes if issubclass(made, torch.nn.Module)][-1]()
    return net.eval()


def inputs(model: attnc.Model, sizes: dict[str, int], batch: tuple[int, ...] = (), device: str = "meta") -> list[Any]:
    """One tensor for each input: reals, truth, or indices (all 0)."""
    given = []
    for port in model.inputs:
        shape = (*batch, *(sizes[axis] for axis in port.axes))
        if port.element == "real":
            given.append(torch.randn(shape, device=device))
        elif port.element == "bool":
            given.append(torch.ones(shape, dtype=torch.bool, device=device))
        else:
            given.append(torch.zeros(shape, dtype=torch.long, device=device))
    return given


def reals(result: Any) -> list[torch.Tensor]:
    parts = result if isinstance(result, tuple) else (result,)
    return [part for part in parts if part.is_floating_point()]


def flops(run: Callable[[], Any]) -> int:
    counter = FlopCounterMode(display=False, custom_mapping=VECTORS)
    with counter:
        run()
    return int(counter.get_total_flops())


def forward_and_backward(net: torch.nn.Module, given: list[Any]) -> tuple[int, int]:
    """Operations of the forward pass, and of the gradients of everything that has one."""
    made: list[Any] = []
    forward = flops(lambda: made.append(net(*given)))
    with_gradient = [part for part in reals(made[0]) if part.requires_grad]
    backward = flops(lambda: torch.autograd.backward([part.sum() for part in with_gradient])) if with_gradient else 0
    return forward, backward


class Arithmetic(TorchDispatchMode):
    """How many numbers ops made of numbers, what only moves these left out."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        made, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
        if name == "sum":
            self.count += args[0].numel()
        elif name in ARITHMETIC:
            self.count += ARITHMETIC[name] * made.numel()
        return made


class LiveBytes(TorchDispatchMode):
    """The largest total of bytes in arrays made inside that were alive at once; views share theirs."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self.seen: set[int] = set()

    def __torch_dispatch__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        given = {
            leaf.untyped_storage()._cdata for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)
        }
        for leaf in tree_leaves(made):
            if isinstance(leaf, torch.Tensor):
                storage = leaf.untyped_storage()
                if storage._cdata not in given and storage._cdata not in self.seen:
                    self.add(storage)
        return made

    def add(self, storage: Any) -> None:
        key, size = storage._cdata, storage.nbytes()
        self.seen.add(key)
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self.gone, key, size)

    def gone(self, key: int, size: int) -> None:
        self.now -= size
        self.seen.discard(key)


def peak(run: Callable[[], Any]) -> int:
    with torch.no_grad(), LiveBytes() as live:
        made = run()
    del made
    return live.peak


def saved(net: torch.nn.Module, given: list[Any]) -> int:
    """Bytes that autograd keeps, each array once, weights and inputs left out."""
    outside = {leaf.untyped_storage()._cdata for leaf in [*net.parameters(), *net.buffers(), *given]}
    kept: dict[int, Any] = {}

    def pack(x: torch.Tensor) -> torch.Tensor:
        storage = x.untyped_storage()
        if storage._cdata not in outside:
            kept[storage._cdata] = storage
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        made = net(*given)
    total = sum(storage.nbytes() for storage in kept.values())
    del made
    return total
