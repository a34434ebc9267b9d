"""Kernels of drawn attentions, as Triton compiles them for a GPU of NVIDIA's, on a machine without one.

`python -m tests.fused.compiled 0:60`: forward and backward of these seeds down to Triton's own representation, in which
each value has its type; prints what does not compile. In a process of its own: here nothing is interpreted.
"""

from __future__ import annotations

import builtins
import importlib.util
import inspect
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from .judge import inputs  # which asks for the interpreter

os.environ.pop("TRITON_INTERPRET", None)

import torch

import attnc

from .drawn import Drawn, drawn

REGISTERED = "torch.library.triton_op(name, mutates_args=())(function)"
KINDS = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "bool": "i1", "int64": "i64", "int32": "i32"}
Launch = tuple[Any, tuple[Any, ...], dict[str, Any]]


class PlainOp:
    """An op of PyTorch's that is but its function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def register_autograd(self, *_: Any, **__: Any) -> None:
        """No gradient is asked for."""


def launches(one: Drawn, folder: Path) -> Iterator[Launch]:
    """All kernels of a spec with what they are launched with: nothing runs."""
    model = attnc.loads(one.text).model("drawn")
    files = model.files("triton", "net")
    for name in files.keys() - {"net.py", "net_kernels.py"}:
        (folder / name).write_text(files[name])
    assert REGISTERED in files["net_kernels.py"]
    path = folder / f"kernels_{one.seed}.py"
    path.write_text(files["net_kernels.py"].replace(REGISTERED, "PlainOp(function)"))
    kernels = _module("net_kernels", path)
    found: list[Launch] = []
    vars(kernels)["launch"] = lambda kernel, programs, *args, **how: found.append((kernel, args, how))
    vars(kernels)["check_device"] = lambda x: None
    path = folder / f"net_{one.seed}.py"
    path.write_text(files["net.py"])
    net = _module("net", path)
    (built,) = (
        each
        for each in vars(net).values()
        if isinstance(each, type) and issubclass(each, torch.nn.Module) and each.__name__ == "Drawn"
    )
    kind = getattr(torch, one.dtype)
    given = inputs(model, one)
    with torch.no_grad():
        built().to(kind)(*(x.to(kind) if x.is_floating_point() else x for x in given.values()))
    forward = list(found)
    yield from forward
    for kernel, args, _ in forward:
        values = dict(zip(kernel.arg_names, args, strict=True))
        back = vars(kernels)[kernel.fn.__name__.removesuffix("_forward") + "_back_op"]
        found.clear()
        back(*(_given(name, values) for name in inspect.signature(back.function).parameters))
        yield from found


def _module(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _given(name: str, values: dict[str, Any]) -> Any:
    """What the op of the gradients is given: of what forward has, its values, and gradients of its results."""
    if name.startswith("learn_"):
        return True
    return values[name] if name in values else torch.zeros_like(values[name.removeprefix("d_")])


def lowered(kernel: Any, args: tuple[Any, ...], how: dict[str, Any]) -> None:
    """Raises what Triton raises for a kernel that it does not take."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend

    signature, known = {}, {}
    for name, value, parameter in zip(kernel.arg_names, args, kernel.params, strict=True):
        if parameter.is_constexpr:
            known[name] = value
        is_array = isinstance(value, torch.Tensor)
        signature[name] = f"*{KINDS[str(value.dtype).removeprefix('torch.')]}" if is_array else "i32"
        signature[name] = "constexpr" if parameter.is_constexpr else signature[name]
    source, backend, context = (
        ASTSource(kernel, signature, known),
        make_backend(GPUTarget("cuda", 90, 32)),
        ir.context(),
    )
    options = backend.parse_options(how)
    ir.load_dialects(context)
    backend.load_dialects(context)
    source.make_ir(
        GPUTarget("cuda", 90, 32),
        options,
        backend.get_codegen_implementation(options),
        backend.get_module_map(),
        context,
    )


def main() -> None:
    vars(builtins)["PlainOp"] = PlainOp
    wrong = count = 0
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        for seed in range(*map(int, sys.argv[1].split(":"))):
            one = drawn(seed)
            try:
                for kernel, args, how in launches(one, Path(folder)):
                    lowered(kernel, args, how)
                    count += 1
            except Exception as failure:
                wrong += 1
                print(f"{type(failure).__name__}: {failure}\n{one}")
    print(f"{count} kernels compiled, {wrong} specs wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
