"""From generated source to something callable: run the text, put in the weights."""

from __future__ import annotations

import functools
import hashlib
import inspect
import linecache
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.graph import Graph
from ..compiler.inventory import WeightSpec, inventory
from ..compiler.rewrites import PASSES, Pass
from .init import initial_weights
from .numpy_code import numpy_code
from .torch_code import torch_source

if TYPE_CHECKING:
    import torch

Array = np.ndarray[Any, np.dtype[Any]]


class WeightsError(ValueError):
    """Weights that do not fit the model: every missing, unknown and mis-shaped one in one message."""


def check_weights(specs: Mapping[str, WeightSpec], given: Mapping[str, Any]) -> None:
    """Raises WeightsError unless `given` has exactly the model's weights, each of its shape."""
    problems = []
    for path, spec in specs.items():
        if path not in given:
            problems.append(f"missing: {spec}")
        elif tuple(np.shape(given[path])) != spec.shape:
            problems.append(f"wrong shape: {spec}, but given {list(np.shape(given[path]))}")
    problems += [f"unknown: {path} {list(np.shape(given[path]))}" for path in given if path not in specs]
    if problems:
        shown = problems[:40] + ([f"and {len(problems) - 40} more"] if len(problems) > 40 else [])
        raise WeightsError("the weights do not fit the model:\n  " + "\n  ".join(shown))


def run_source(source: str, name: str) -> ModuleType:
    """Runs generated code as a module, so that `inspect.getsource` and tracebacks show its lines."""
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    module_name = f"attnc_generated_{name}_{digest}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    file = f"<{module_name}>"
    module = ModuleType(module_name)
    module.__file__ = file
    # No modification time: linecache keeps the entry, as doctest does for its examples.
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    sys.modules[module_name] = module
    return module


def build_torch(
    graph: Graph,
    *,
    header: str = "",
    weights: Mapping[str, Any] | None = None,
    seed: int | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype | str | None = None,
    capture: tuple[str, ...] = (),
    passes: Sequence[Pass] = PASSES,
) -> torch.nn.Module:
    """The model as an `nn.Module` on `device`, its reals of `dtype` (float32 if None).

    weights: {path: array or tensor}, exactly the model's (else WeightsError); None: drawn by `seed` (see init.py), or,
    without a seed, by the modules themselves from torch's generator.
    """
    import torch

    specs = inventory(graph)
    if weights is not None:
        check_weights(specs, weights)
    module = run_source(torch_source(graph, header=header, capture=capture, passes=passes), graph.name)
    made: type[torch.nn.Module] = next(
        value for value in reversed(list(module.__dict__.values()))
        if isinstance(value, type) and issubclass(value, torch.nn.Module) and value.__module__ == module.__name__
    )  # fmt: skip
    wanted = torch.float32 if dtype is None else getattr(torch, dtype, dtype) if isinstance(dtype, str) else dtype
    if not (isinstance(wanted, torch.dtype) and wanted.is_floating_point):
        raise TypeError(f"dtype is {wanted}, but a model computes in reals: torch.float32, float64, bfloat16, ...")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as problem:
        reason = str(problem).partition("\n")[0]
        raise ValueError(f"device {str(device)!r} cannot be used here: {reason}") from None
    with torch.device("meta" if weights is not None or seed is not None else "cpu"):
        model = _called(made, graph)()
    if weights is not None or seed is not None:
        model.to_empty(device="cpu")
    model = model.to(device=device, dtype=wanted)
    if weights is None and seed is not None:
        weights = initial_weights(specs, seed)
    if weights is not None:
        with torch.no_grad():
            for path, parameter in model.state_dict(keep_vars=True).items():
                parameter.copy_(_tensor(weights[path]))  # one at a time: they may be mapped from a file
    return model


def _called(made: type[torch.nn.Module], graph: Graph) -> type[torch.nn.Module]:
    """The class, its methods called by the spec's names also where Python, or the code, needs one for itself."""
    arguments = list(inspect.signature(made.forward).parameters)[1 : 1 + len(graph.inputs)]
    names = {item.name: name for item, name in zip(graph.inputs, arguments, strict=True) if item.name != name}

    def renaming(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(self: Any, /, *inputs: Any, **named: Any) -> Any:
            return method(self, *inputs, **{names.get(name, name): value for name, value in named.items()})

        return call

    if not names:
        return made
    methods = [name for name in ("__call__", "prepare", "step", "generate", "stream") if hasattr(made, name)]
    inside = {name: renaming(getattr(made, name)) for name in methods}
    return type(made.__name__, (made,), {"__module__": made.__module__, "__doc__": made.__doc__, **inside})


def _tensor(array: Any) -> torch.Tensor:
    import torch

    if isinstance(array, torch.Tensor):
        return array.detach()
    array = np.array(array, order="C")
    dtype = np.float64 if array.dtype == np.longdouble else array.dtype.newbyteorder("=")  # what torch knows
    return torch.from_numpy(array.astype(dtype, copy=False))


def build_numpy(
    graph: Graph,
    *,
    header: str = "",
    weights: Mapping[str, Any] | None = None,
    seed: int | None = None,
    dtype: Any = None,
    capture: tuple[str, ...] = (),
    passes: Sequence[Pass] = PASSES,
) -> Callable[..., Any]:
    """The model as a function of arrays, named as in the spec. Its weights are in `.weights`, its module in `.module`.

    weights: as for `build_torch`; None: drawn by `seed` (0 if None). dtype: of the weights (float32 if None); the
    inputs should have the same.
    """
    specs = inventory(graph)
    if weights is not None:
        check_weights(specs, weights)
    source, together = numpy_code(graph, header=header, capture=capture, passes=passes)
    module = run_source(source, graph.name)
    given = initial_weights(specs, seed or 0) if weights is None else weights
    try:
        wanted = np.dtype(np.float32 if dtype is None else dtype)
    except TypeError as problem:
        raise TypeError(f"dtype is {dtype!r}, but a model computes in reals: float32, float64, ...") from problem
    if wanted.kind not in "fV":  # V: bfloat16 and its like
        raise TypeError(f"dtype is {wanted}, but a model computes in reals: float32, float64, ...")
    arrays = laid_out({path: spec.shape for path, spec in specs.items()}, given, wanted, together)
    function = module.__dict__[function_name(module)]
    parameters = list(inspect.signature(function).parameters)
    called = parameters[1 : 1 + len(graph.inputs)]  # the inputs, behind the weights: not all keep their names
    if "dtype" in parameters:
        function = functools.partial(function, dtype=wanted)  # a model without weights or real inputs
    return Compiled(function, arrays, module, [item.name for item in graph.inputs], called, wanted)


def laid_out(
    shapes: Mapping[str, tuple[int, ...]],
    given: Mapping[str, Any],
    dtype: np.dtype[Any],
    together: list[tuple[str, ...]],
) -> dict[str, Array]:
    """Copies of the weights in one block of memory, in order: so the system gives it large pages, read in fewer steps.

    Weights [out, in] that a step's product reads together lie side by side, as it reads them fastest: fewer results
    than operands are best made of [out, in] in memory, else of [in, out].
    """
    groups: dict[str, tuple[str, ...]] = {}
    for paths in together:
        if len(set(paths)) == len(paths) and not groups.keys() & set(paths):
            groups |= dict.fromkeys(paths, paths)
    line = 64 // math.gcd(dtype.itemsize, 64)  # items to a line of the cache, where each weight begins
    sizes = {path: math.prod(shape) for path, shape in shapes.items()}
    block = np.empty(sum(-(-size // line) * line for size in sizes.values()), dtype)
    arrays: dict[str, Array] = {}
    at = 0
    for path, shape in shapes.items():
        if path in arrays:
            continue
        paths = groups.get(path, (path,))
        size = sum(sizes[one] for one in paths)
        memory, at = block[at : at + size], at + -(-size // line) * line
        if path not in groups:
            arrays[path] = memory.reshape(shape)
            continue
        inner, out = shape[1], size // shape[1]
        whole = memory.reshape(inner, out).T if out >= inner else memory.reshape(out, inner)
        rows = np.cumsum([shapes[one][0] for one in paths])[:-1]
        arrays |= zip(paths, np.split(whole, rows), strict=True)
    for path, array in given.items():
        arrays[path][...] = np.asarray(_array(array)).reshape(shapes[path])  # the caller's own stay theirs
    return {path: arrays[path] for path in shapes}


def function_name(module: ModuleType) -> str:
    """The last function of a generated module: the model."""
    found = [
        name
        for name, value in module.__dict__.items()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    ]
    return found[-1]


def _array(array: Any) -> Any:
    detach = getattr(array, "detach", None)
    if detach is None:
        return array
    tensor = detach().cpu()
    return tensor.float().numpy() if str(tensor.dtype) == "torch.bfloat16" else tensor.numpy()


class Compiled:
    """A model in NumPy: call it with its inputs, by position or by name."""

    def __init__(
        self,
        function: Callable[..., Any],
        weights: dict[str, Array],
        module: ModuleType,
        names: list[str],
        args: list[str],
        dtype: np.dtype[Any],
    ) -> None:
        self._function = function
        self.weights = weights
        self.module = module
        self._rename = dict(zip(names, args, strict=True))

        self._dtype = dtype
        self._decodes = "prepare" in module.__dict__ and "Cache" in module.__dict__

    def __call__(self, /, *inputs: Any, **named: Any) -> Any:  # an input may be called `self`
        return self._function(self.weights, *inputs, **self._named(named))

    def _named(self, named: dict[str, Any]) -> dict[str, Any]:
        return {self._rename.get(name, name): value for name, value in named.items()}

    def __getattr__(self, name: str) -> Any:
        """`prepare`, `step`, `generate` and `stream` of a model that decodes."""
        if name in ("prepare", "step", "generate", "stream") and self.__dict__.get("_decodes"):
            function = self.module.__dict__.get(name)
            if function is not None and "dtype" in inspect.signature(function).parameters:
                function = functools.partial(function, dtype=self._dtype)
            if function is not None:
                return lambda *inputs, **named: function(self.weights, *inputs, **self._named(named))
        raise AttributeError(f"a compiled model has no attribute {name!r}")
