"""From generated source to something callable: run the texts, put in the weights."""

from __future__ import annotations

import ast
import copyreg
import functools
import hashlib
import importlib
import inspect
import linecache
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ...compiler.advice.methods import why_no_step
from ...compiler.base.names import DECODING, METHODS
from ...compiler.graph.inventory import Law, WeightSpec, inventory, law
from ...compiler.graph.nodes import Graph
from ...dsl.base.escapes import escaped
from ..emit.file import Writing
from ..files.code import ModelCode
from ..numpy.module import numpy_code
from ..plan.plan import parts
from ..text.carried import homes
from ..torch.module import torch_code
from ..triton.module import kernels_module, triton_code
from .init import initial, initial_weights
from .memory import Mappings, as_array, as_tensor, mapped_anew

if TYPE_CHECKING:
    import torch

Array = np.ndarray[Any, np.dtype[Any]]
CALLED = (*DECODING, "lay_out_for_decoding", "export_decoding")  # the methods of decoding that are called


class WeightsError(ValueError):
    """Weights that do not fit the model: every missing, unknown and mis-shaped one in one message."""

    def __init__(self, message: str) -> None:
        super().__init__("\n".join(map(escaped, message.split("\n"))))


def check_weights(specs: Mapping[str, WeightSpec], given: Mapping[str, Any]) -> None:
    """Raises WeightsError unless `given` has exactly the model's weights, each of its shape, in real numbers."""
    problems = []
    for path, spec in specs.items():
        if path not in given:
            problems.append(f"missing: {spec}")
        elif tuple(np.shape(given[path])) != spec.shape:
            problems.append(f"wrong shape: {spec}, but given {list(np.shape(given[path]))}")
        elif not is_real(given[path]):
            problems.append(f"no real numbers: {spec}, but given {_kind(given[path])}")
    problems += [f"unknown: {path} {list(np.shape(given[path]))}" for path in given if path not in specs]
    if problems:
        shown = problems[:40] + ([f"and {len(problems) - 40} more"] if len(problems) > 40 else [])
        raise WeightsError("the weights do not fit the model:\n  " + "\n  ".join(shown))


def is_real(value: Any) -> bool:
    """Whether it can be a weight: floats, or numbers in lists. Whole numbers are quantised ones, or no weights."""
    if hasattr(value, "is_meta"):  # a tensor
        return not value.is_meta and bool(value.is_floating_point())
    dtype = np.asarray(value).dtype
    whole = hasattr(value, "dtype") and np.can_cast(dtype, np.int64, "same_kind")
    return np.can_cast(dtype, np.float64, "same_kind") and not whole


def _kind(value: Any) -> str:
    if getattr(value, "is_meta", False):
        return "a tensor without numbers, on meta"
    return str(value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype)


Beside = Callable[[str], Any]
"""What is called so in a file that is imported."""


def run_source(source: str, name: str, beside: Mapping[str, Beside] | None = None) -> ModuleType:
    """Runs generated code as a module, so that `inspect.getsource` and tracebacks show its lines.

    beside: the files of ours that it imports, by the names of their modules: they are not looked for elsewhere.
    """
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    module_name = f"attnc_generated_{name}_{digest}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    file = f"<{module_name}>"
    module = ModuleType(module_name)
    module.__file__ = file
    # No modification time: linecache keeps the entry, as doctest does for its examples.
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    tree = ast.parse(source, file)
    for node in [node for node in tree.body if isinstance(node, ast.ImportFrom)]:
        look_up = (beside or {}).get(node.module or "")
        if look_up is not None:
            module.__dict__.update({each.asname or each.name: look_up(each.name) for each in node.names})
            tree.body.remove(node)
    exec(compile(tree, file, "exec", dont_inherit=True), module.__dict__)
    sys.modules[module_name] = module
    return module


@dataclass(frozen=True, slots=True)
class Texts:
    """The files of a model that is run here: what is pickled of it.

    kernels: its file of Triton kernels, if it has one.
    names: what its file of decoding calls the functions of decoding. no_step: why it does not decode, to be said to who
    asks for one of them, where a part of it has the name of one.
    """

    name: str
    runtime: str
    modules: tuple[str, ...]
    model: str
    decoding: str
    names: tuple[tuple[str, str], ...]
    no_step: str
    kernels: str = ""

    @classmethod
    def of(cls, code: ModelCode, no_step: str, kernels: str = "") -> Texts:
        library, decoding = code.library, code.beside(_home(code.name)) if code.decoding else ""
        names = tuple(code.names.items())
        return cls(code.name, library.runtime, library.modules, code.default(), decoding, names, no_step, kernels)

    def run(self) -> tuple[ModuleType, dict[str, Any]]:
        """The module of the model, and the functions of its decoding."""
        known = homes(self.modules)
        root = __package__.rpartition(".")[0]

        def ours(name: str) -> Any:
            return getattr(importlib.import_module(f"{root}.runtime.{known[name].replace('/', '.')}"), name)

        files: dict[str, Beside] = {self.runtime: ours}
        if self.kernels:
            lies = run_source(self.kernels, kernels_module(self.name))
            files[kernels_module(self.name)] = functools.partial(getattr, lies)
        module = run_source(self.model, self.name, files)
        if not self.decoding:
            return module, {}
        beside = files | {_home(self.name): functools.partial(getattr, module)}
        made = run_source(self.decoding, f"{self.name}_decoding_{module.__name__[-16:]}", beside)
        called = dict(self.names)
        return module, {name: made.__dict__[called[name]] for name in METHODS if called.get(name) in made.__dict__}


def _home(name: str) -> str:
    """What a file of decoding that is run here calls the module of its model: nothing else is called so."""
    return f"{name}_model"


def build_torch(
    graph: Graph,
    *,
    weights: Mapping[str, Any] | None = None,
    seed: int | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype | str | None = None,
    kernels: str | None = None,
    **asked: Unpack[Writing],
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
    if kernels is None:
        code, text = torch_code(graph, **asked), ""
    else:
        code, text = triton_code(graph, **asked)
    inputs = tuple(item.name for item in graph.inputs)
    laws = tuple((path, law(spec)) for path, spec in specs.items())
    resets = "reset_parameters" not in parts([graph])
    made = torch_class(Texts.of(code, code.no_step if text else why_no_step(graph), text), inputs, laws, resets)
    wanted = type_of_reals(dtype, weights)
    try:
        place = torch.empty(0, device=device).device if device is not None else torch.device("cpu")
    except (RuntimeError, AssertionError) as problem:
        reason = str(problem).partition("\n")[0]
        raise ValueError(f"device {str(device)!r} cannot be used here: {reason}") from None
    drawn = weights is None and seed is None and place.type != "meta"
    if drawn:
        with torch.device("cpu"):
            model = made()
        return model.to(device=place, dtype=wanted)
    from .undrawn import Undrawn

    with torch.device("meta"), Undrawn():
        model = made()
    model = model.to(dtype=wanted)
    if place.type == "meta":
        return model
    model.to_empty(device=place)
    mappings: Mappings = {}
    with torch.no_grad():
        for path, parameter in model.state_dict(keep_vars=True).items():  # one at a time
            _put(parameter, initial(specs[path], seed or 0) if weights is None else weights[path], mappings)
    return model


def type_of_reals(dtype: torch.dtype | str | None, weights: Mapping[str, Any] | None = None) -> torch.dtype:
    """The type asked for, or the one that holds all weights; raises TypeError for what is none of reals."""
    import torch

    wanted: Any = dtype
    if dtype is None:  # the type that holds all weights, of those in which PyTorch computes
        known = [name for name in ("float16", "bfloat16", "float32", "float64") if name in _types(weights)]
        wanted = functools.reduce(torch.promote_types, [getattr(torch, name) for name in known or ["float32"]])
    elif isinstance(dtype, str):
        wanted = getattr(torch, dtype, dtype)
    if not (isinstance(wanted, torch.dtype) and wanted.is_floating_point):
        raise TypeError(f"dtype is {wanted}, but a model computes in reals: torch.float32, float64, bfloat16, ...")
    return wanted


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
    texts: Texts, inputs: tuple[str, ...], laws: tuple[tuple[str, Law], ...], resets: bool
) -> type[torch.nn.Module]:
    """The class of a model, from its files, the functions of its decoding its methods. What is pickled of its instances
    takes all of these arguments along.

    inputs: as the spec calls them. laws: how each weight is drawn. resets: whether it has `reset_parameters`, which may
    be the name of something in the spec.
    """
    import torch

    module, functions = texts.run()
    made: type[torch.nn.Module] = next(
        value for value in reversed(list(module.__dict__.values()))
        if isinstance(value, type) and issubclass(value, torch.nn.Module) and value.__module__ == module.__name__
    )  # fmt: skip
    made = called(made, inputs, functions)
    if resets:
        made.reset_parameters = functools.partialmethod(_reset_parameters, dict(laws))  # type: ignore[attr-defined]
    if texts.no_step:
        # The class is made here for this one model: its own way to look attributes up is the purpose.
        made.__getattr__ = attributes(texts.no_step)  # type: ignore[method-assign]
    copyreg.pickle(made, lambda model: (_empty, (texts, inputs, laws, resets), model.__dict__))
    return made


def _empty(*made_from: Any) -> torch.nn.Module:
    """A model that is being unpickled, before anything is in it."""
    made = torch_class(*made_from)
    return made.__new__(made)


def attributes(no_step: str) -> Callable[[torch.nn.Module, str], Any]:
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


def called(made: type[torch.nn.Module], inputs: tuple[str, ...], functions: Mapping[str, Any]) -> type[torch.nn.Module]:
    """The class with these functions as methods, called by the spec's names also where the code needs one for itself.

    It has the name of the class as it is generated, whose subclass it is.
    """
    arguments = list(inspect.signature(made.forward).parameters)[1 : 1 + len(inputs)]
    names = {given: name for given, name in zip(inputs, arguments, strict=True) if given != name}

    def renaming(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(self: Any, /, *inputs: Any, **named: Any) -> Any:
            return method(self, *inputs, **{names.get(name, name): value for name, value in named.items()})

        return call

    methods = {"__call__": made.__call__} if names else {}
    inside: dict[str, Any] = {name: renaming(method) for name, method in methods.items()}
    for name, function in functions.items():
        inside[name] = property(function) if name not in CALLED else renaming(function) if names else function
    if not inside:
        return made
    return type(made.__name__, (made,), {"__module__": made.__module__, "__doc__": made.__doc__, **inside})


def build_numpy(
    graph: Graph,
    *,
    weights: Mapping[str, Any] | None = None,
    seed: int | None = None,
    dtype: Any = None,
    **asked: Unpack[Writing],
) -> Callable[..., Any]:
    """The model as a function of arrays, named as in the spec. Its weights are in `.weights`, its module in `.module`.

    weights: as for `build_torch`; None: drawn by `seed` (0 if None).
    dtype:   of the weights, and best of the inputs. None: float64 if one of the weights is, else float32: in half
             precision NumPy is slow.
    """
    specs = inventory(graph)
    if weights is not None:
        check_weights(specs, weights)
    code = numpy_code(graph, **asked)
    given = initial_weights(specs, seed or 0) if weights is None else weights
    try:
        wanted = np.dtype(("float64" if "float64" in _types(weights) else "float32") if dtype is None else dtype)
    except TypeError as problem:
        raise TypeError(f"dtype is {dtype!r}, but a model computes in reals: float32, float64, ...") from problem
    if wanted.kind not in "fV":  # V: bfloat16 and its like
        raise TypeError(f"dtype is {wanted}, but a model computes in reals: float32, float64, ...")
    arrays = laid_out({path: spec.shape for path, spec in specs.items()}, given, wanted, code.together)
    texts = Texts.of(code, why_no_step(graph))
    return Compiled(texts, [item.name for item in graph.inputs], wanted, arrays, tuple(code.together))


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
        self,
        texts: Texts,
        inputs: list[str],
        dtype: np.dtype[Any],
        weights: dict[str, Array],
        together: Sequence[tuple[str, ...]] = (),
    ) -> None:
        self._made_from = texts, inputs, dtype
        self._together = together
        self.weights = weights
        self.module, self._decoding = texts.run()
        self._dtype = dtype
        self._dtype_name = dict(texts.names).get("dtype", "")
        self._function = self.module.__dict__[function_name(self.module)]
        parameters = list(inspect.signature(self._function).parameters)
        called = parameters[1 : 1 + len(inputs)]  # the inputs, behind the weights: not all keep their names
        self._rename = dict(zip(inputs, called, strict=True))
        if self._dtype_name in parameters:  # of a model without weights or real inputs
            self._function = functools.partial(self._function, **{self._dtype_name: dtype})

    def __copy__(self) -> Compiled:
        return Compiled(*self._made_from, self.weights, self._together)

    def __reduce__(self) -> tuple[Any, ...]:
        return _laid_out_again, (*self._made_from, self.weights, self._together)

    def __call__(self, /, *inputs: Any, **named: Any) -> Any:  # an input may be called `self`
        return self._function(self.weights, *inputs, **self._named(named))

    def _named(self, named: dict[str, Any]) -> dict[str, Any]:
        return {self._rename.get(name, name): value for name, value in named.items()}

    def __getattr__(self, name: str) -> Any:
        """`prepare`, `step`, `generate` and `stream` of a model that decodes."""
        if name in DECODING and "_made_from" in self.__dict__ and self._made_from[0].no_step:
            raise AttributeError(self._made_from[0].no_step)
        function = self.__dict__.get("_decoding", {}).get(name) if name in DECODING else None
        if function is not None:
            if self._dtype_name in inspect.signature(function).parameters:
                function = functools.partial(function, **{self._dtype_name: self._dtype})
            return lambda *inputs, **named: function(self.weights, *inputs, **self._named(named))
        raise AttributeError(f"a compiled model has no attribute {name!r}")


def _laid_out_again(
    texts: Texts, inputs: list[str], dtype: np.dtype[Any], weights: dict[str, Array],
    together: Sequence[tuple[str, ...]],
) -> Compiled:  # fmt: skip
    """A model that was pickled or copied; weights of the user's own that are of another type stay as they are."""
    if all(array.dtype == dtype for array in weights.values()):
        weights = laid_out({path: array.shape for path, array in weights.items()}, weights, dtype, together)
    return Compiled(texts, inputs, dtype, weights, together)
