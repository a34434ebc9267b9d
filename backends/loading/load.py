"""From generated source to something callable: run the text, put in the weights."""

from __future__ import annotations

import copyreg
import functools
import hashlib
import inspect
import linecache
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.advice.methods import why_no_step
from ...compiler.base.names import DECODING
from ...compiler.graph.inventory import WeightSpec, inventory
from ...compiler.graph.nodes import Graph
from ...compiler.pipeline import PASSES, Pass
from ..numpy.module import NumpyCode, numpy_code
from ..plan.plan import parts
from ..torch.module import torch_source
from .init import Law, initial, initial_weights, law
from .memory import Mappings, as_array, as_tensor, mapped_anew

if TYPE_CHECKING:
    import torch

Array = np.ndarray[Any, np.dtype[Any]]


class WeightsError(ValueError):
    """Weights that do not fit the model: every missing, unknown and mis-shaped one in one message."""


def check_weights(specs: Mapping[str, WeightSpec], given: Mapping[str, Any]) -> None:
    """Raises WeightsError unless `given` has exactly the model's weights, each of its shape, in real numbers."""
    problems = []
    for path, spec in specs.items():
        if path not in given:
            problems.append(f"missing: {spec}")
        elif tuple(np.shape(given[path])) != spec.shape:
            problems.append(f"wrong shape: {spec}, but given {list(np.shape(given[path]))}")
        elif not _is_real(given[path]):
            problems.append(f"no real numbers: {spec}, but given {_kind(given[path])}")
    problems += [f"unknown: {path} {list(np.shape(given[path]))}" for path in given if path not in specs]
    if problems:
        shown = problems[:40] + ([f"and {len(problems) - 40} more"] if len(problems) > 40 else [])
        raise WeightsError("the weights do not fit the model:\n  " + "\n  ".join(shown))


def _is_real(value: Any) -> bool:
    if hasattr(value, "is_meta"):  # a tensor
        return not (value.is_meta or value.is_complex())
    return np.can_cast(np.asarray(value).dtype, np.float64, "same_kind")


def _kind(value: Any) -> str:
    if getattr(value, "is_meta", False):
        return "a tensor without numbers, on meta"
    return str(value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype)


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
    checked: bool = True,
) -> torch.nn.Module:
    """The model as an `nn.Module` on `device`, its reals of `dtype` (None: as the weights; float32 if they are drawn).

    weights: {path: array or tensor}, exactly the model's (else WeightsError); None: drawn by `seed` (see init.py), or,
    without a seed, by the modules themselves from torch's generator. On the device "meta" there are none.

    What a `MappedFile` holds, in one piece and of this type, stays there on a CPU; all else is copied.
    """
    import torch

    specs = inventory(graph)
    if weights is not None:
        check_weights(specs, weights)
    source = torch_source(graph, header=header, capture=capture, passes=passes, checked=checked)
    inputs = tuple(item.name for item in graph.inputs)
    laws = tuple((path, law(spec)) for path, spec in specs.items())
    resets = "reset_parameters" not in parts([graph])
    made = torch_class(source, graph.name, inputs, laws, resets, why_no_step(graph))
    wanted: Any = dtype
    if dtype is None:  # the type that holds all weights, of those in which PyTorch computes
        known = [name for name in ("float16", "bfloat16", "float32", "float64") if name in _types(weights)]
        wanted = functools.reduce(torch.promote_types, [getattr(torch, name) for name in known or ["float32"]])
    elif isinstance(dtype, str):
        wanted = getattr(torch, dtype, dtype)
    if not (isinstance(wanted, torch.dtype) and wanted.is_floating_point):
        raise TypeError(f"dtype is {wanted}, but a model computes in reals: torch.float32, float64, bfloat16, ...")
    try:
        place = torch.empty(0, device=device).device if device is not None else torch.device("cpu")
    except (RuntimeError, AssertionError) as problem:
        reason = str(problem).partition("\n")[0]
        raise ValueError(f"device {str(device)!r} cannot be used here: {reason}") from None
    drawn = weights is None and seed is None and place.type != "meta"
    with torch.device("cpu" if drawn else "meta"):
        model = made()
    if drawn:
        return model.to(device=place, dtype=wanted)
    model = model.to(dtype=wanted)
    if place.type == "meta":
        return model
    model.to_empty(device=place)
    mappings: Mappings = {}
    with torch.no_grad():
        for path, parameter in model.state_dict(keep_vars=True).items():  # one at a time
            _put(parameter, initial(specs[path], seed or 0) if weights is None else weights[path], mappings)
    return model


def _types(weights: Mapping[str, Any] | None) -> set[str]:
    """The names of the types of weights, as torch and NumPy call them; numbers in lists have none."""
    types = [value.dtype for value in (weights or {}).values() if hasattr(value, "dtype")]
    names = {getattr(dtype, "name", str(dtype).removeprefix("torch.")) for dtype in types}
    return {"float64" if name == np.dtype(np.longdouble).name else name for name in names}


def _put(parameter: torch.Tensor, value: Any, mappings: Mappings) -> None:
    """Weights into a parameter: the memory where they lie, if it is nobody else's; else a copy."""
    import torch

    if isinstance(value, torch.Tensor):
        parameter.copy_(value.detach())
        return
    array = as_array(value)
    stays = parameter.device.type == "cpu" and str(parameter.dtype) == f"torch.{array.dtype.name}"
    tensor, own = as_tensor(array, mappings if stays else None)
    if own and stays:
        parameter.data = tensor
    else:
        parameter.copy_(tensor)


@functools.cache
def torch_class(
    source: str, name: str, inputs: tuple[str, ...], laws: tuple[tuple[str, Law], ...], resets: bool, no_step: str
) -> type[torch.nn.Module]:
    """The class of a model, from its source. What is pickled of its instances takes all of these arguments along.

    inputs: as the spec calls them. laws: how each weight is drawn. resets: whether it has `reset_parameters`, which may
    be the name of something in the spec. no_step: why it does not decode, to be said to who asks for it.
    """
    import torch

    module = run_source(source, name)
    made: type[torch.nn.Module] = next(
        value for value in reversed(list(module.__dict__.values()))
        if isinstance(value, type) and issubclass(value, torch.nn.Module) and value.__module__ == module.__name__
    )  # fmt: skip
    made = _called(made, inputs)
    if resets:
        made.reset_parameters = functools.partialmethod(_reset_parameters, dict(laws))  # type: ignore[attr-defined]
    if no_step:
        made.__getattr__ = _attributes(no_step)  # type: ignore[method-assign]
    copyreg.pickle(made, lambda model: (_empty, (source, name, inputs, laws, resets, no_step), model.__dict__))
    return made


def _empty(*made_from: Any) -> torch.nn.Module:
    """A model that is being unpickled, before anything is in it."""
    made = torch_class(*made_from)
    return made.__new__(made)


def _attributes(no_step: str) -> Callable[[torch.nn.Module, str], Any]:
    """`__getattr__` of a module that does not decode: asked for a function of decoding, it raises with the reason."""
    import torch

    def attribute(module: torch.nn.Module, name: str) -> Any:
        try:
            return torch.nn.Module.__getattr__(module, name)
        except AttributeError:
            if name in DECODING:
                raise AttributeError(no_step) from None
            raise

    return attribute


def _reset_parameters(module: torch.nn.Module, laws: Mapping[str, Law]) -> None:
    """Draws all weights anew, where they lie, from torch's generator: for a model made on "meta", after `to_empty`."""
    import torch

    with torch.no_grad():
        for path, parameter in module.state_dict(keep_vars=True).items():
            distribution, *numbers = laws[path]
            getattr(parameter, f"{distribution}_")(*numbers)


def _called(made: type[torch.nn.Module], inputs: tuple[str, ...]) -> type[torch.nn.Module]:
    """The class, its methods called by the spec's names also where Python, or the code, needs one for itself."""
    arguments = list(inspect.signature(made.forward).parameters)[1 : 1 + len(inputs)]
    names = {given: name for given, name in zip(inputs, arguments, strict=True) if given != name}

    def renaming(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(self: Any, /, *inputs: Any, **named: Any) -> Any:
            return method(self, *inputs, **{names.get(name, name): value for name, value in named.items()})

        return call

    if not names:
        return made
    methods = [name for name in ("__call__", *DECODING) if hasattr(made, name)]
    inside = {name: renaming(getattr(made, name)) for name in methods}
    return type(made.__name__, (made,), {"__module__": made.__module__, "__doc__": made.__doc__, **inside})


def build_numpy(
    graph: Graph,
    *,
    header: str = "",
    weights: Mapping[str, Any] | None = None,
    seed: int | None = None,
    dtype: Any = None,
    capture: tuple[str, ...] = (),
    passes: Sequence[Pass] = PASSES,
    checked: bool = True,
) -> Callable[..., Any]:
    """The model as a function of arrays, named as in the spec. Its weights are in `.weights`, its module in `.module`.

    weights: as for `build_torch`; None: drawn by `seed` (0 if None).
    dtype:   of the weights, and best of the inputs. None: float64 if one of the weights is, else float32: in half
             precision NumPy is slow.
    """
    specs = inventory(graph)
    if weights is not None:
        check_weights(specs, weights)
    code = numpy_code(graph, header=header, capture=capture, passes=passes, checked=checked)
    given = initial_weights(specs, seed or 0) if weights is None else weights
    try:
        wanted = np.dtype(("float64" if "float64" in _types(weights) else "float32") if dtype is None else dtype)
    except TypeError as problem:
        raise TypeError(f"dtype is {dtype!r}, but a model computes in reals: float32, float64, ...") from problem
    if wanted.kind not in "fV":  # V: bfloat16 and its like
        raise TypeError(f"dtype is {wanted}, but a model computes in reals: float32, float64, ...")
    arrays = laid_out({path: spec.shape for path, spec in specs.items()}, given, wanted, code.together)
    code = replace(code, no_step=why_no_step(graph))
    return Compiled(code, graph.name, [item.name for item in graph.inputs], wanted, arrays)


def laid_out(
    shapes: Mapping[str, tuple[int, ...]],
    given: Mapping[str, Any],
    dtype: np.dtype[Any],
    together: Sequence[tuple[str, ...]],
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
    for path, value in given.items():
        array = as_array(value)
        mapping = mapped_anew(array)  # what is read there leaves memory with it
        arrays[path][...] = (array if mapping is None else mapping).reshape(
            shapes[path]
        )  # the caller's own stay theirs
    return {path: arrays[path] for path in shapes}


def function_name(module: ModuleType) -> str:
    """The last function of a generated module: the model."""
    found = [
        name
        for name, value in module.__dict__.items()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    ]
    return found[-1]


class Compiled:
    """A model in NumPy: call it with its inputs, by position or by name.

    inputs: their names in the spec.
    """

    def __init__(
        self, code: NumpyCode, name: str, inputs: list[str], dtype: np.dtype[Any], weights: dict[str, Array]
    ) -> None:
        self._made_from = code, name, inputs, dtype
        self._names = code.names
        self.weights = weights
        self.module = run_source(code.source, name)
        self._dtype = dtype
        self._function = self.module.__dict__[function_name(self.module)]
        parameters = list(inspect.signature(self._function).parameters)
        called = parameters[1 : 1 + len(inputs)]  # the inputs, behind the weights: not all keep their names
        self._rename = dict(zip(inputs, called, strict=True))
        if code.names["dtype"] in parameters:  # of a model without weights or real inputs
            self._function = functools.partial(self._function, **{code.names["dtype"]: dtype})

    def __copy__(self) -> Compiled:
        return Compiled(*self._made_from, self.weights)

    def __reduce__(self) -> tuple[Any, ...]:
        return _laid_out_again, (*self._made_from, self.weights)

    def __call__(self, /, *inputs: Any, **named: Any) -> Any:  # an input may be called `self`
        return self._function(self.weights, *inputs, **self._named(named))

    def _named(self, named: dict[str, Any]) -> dict[str, Any]:
        return {self._rename.get(name, name): value for name, value in named.items()}

    def __getattr__(self, name: str) -> Any:
        """`prepare`, `step`, `generate` and `stream` of a model that decodes."""
        if name in DECODING and "_made_from" in self.__dict__ and self._made_from[0].no_step:
            raise AttributeError(self._made_from[0].no_step)
        if name in DECODING and name in self.__dict__.get("_names", ()):
            function = self.module.__dict__.get(self._names[name])
            dtype = self._names["dtype"]
            if function is not None and dtype in inspect.signature(function).parameters:
                function = functools.partial(function, **{dtype: self._dtype})
            if function is not None:
                return lambda *inputs, **named: function(self.weights, *inputs, **self._named(named))
        raise AttributeError(f"a compiled model has no attribute {name!r}")


def _laid_out_again(
    code: NumpyCode, name: str, inputs: list[str], dtype: np.dtype[Any], weights: dict[str, Array]
) -> Compiled:
    """A model that was pickled or copied; weights of the user's own that are of another type stay as they are."""
    if all(array.dtype == dtype for array in weights.values()):
        weights = laid_out({path: array.shape for path, array in weights.items()}, weights, dtype, code.together)
    return Compiled(code, name, inputs, dtype, weights)
