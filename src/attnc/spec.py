"""The Python face: load a spec, take a model or a block from it, and draw it, compile it or list its weights."""

from __future__ import annotations

import keyword
import os
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from .compiler.sizes.limits import deep
from .dsl.base.records import record, replace
from .dsl.diagnostic import Diagnostic, Severity, error
from .dsl.errors import AttnError
from .dsl.source import Source, Span
from .version import __version__

if TYPE_CHECKING:
    import torch
    from numpy.typing import ArrayLike, DTypeLike
    from torch.distributed.device_mesh import DeviceMesh

    from .backends.emit.file import Writing
    from .backends.files.code import ModelCode
    from .compiler.advice.failures import Failure
    from .compiler.check import Program
    from .compiler.cost.report import Cost
    from .compiler.decoding import Decoding
    from .compiler.diff import Difference
    from .compiler.graph.inventory import WeightSpec
    from .compiler.graph.nodes import Graph
    from .compiler.graph.report import Report
    from .compiler.graph.values import Type
    from .compiler.problems.causality import Tried
    from .compiler.reads import ResultReads
    from .compiler.sharding.mesh import Mesh
    from .compiler.sharding.options import PlanKeywords
    from .compiler.sharding.plan import ShardingPlan
    from .compiler.sharding.stages import PipelinePlan
    from .compiler.sizes.axes import Axis, Value
    from .compiler.streams.drawn import DrawnStreams
    from .compiler.streams.report import StreamReport
    from .diagrams import Diagram
    from .diagrams.hints.hints import Hints as Checked

Size = int | float | bool
Setting = Size | Sequence[Size]
"""What `sizes=` gives a name: a number, or a list of them for a const that is one."""


Folder = str | os.PathLike[str]
Hints = str | os.PathLike[str] | Mapping[str, Any] | None


def load(
    file: str | os.PathLike[str],
    /,
    *,
    config: str | None = None,
    sizes: Mapping[str, Setting] | None = None,
    path: Sequence[Folder] = (),
) -> Spec:
    """Read and check the spec in a file.

    config: the name of one of its `config`s, in place of the sizes as written.
    sizes:  values for its depths, fixed widths and consts, by name (`{"layers": 2, "windows": [0, 512]}`); they win
            over `config`.
    path:   folders where `use` looks after that of the file. Without it no file outside of the project is read: the
            nearest folder upwards that holds `.git` or `pyproject.toml`, else that of the file.

    Raises AttnError, with every mistake in `.diagnostics`, if the spec is wrong or a name in `config` or `sizes` is
    not in it; OSError, with a one-line message, if the file cannot be read as text.
    """
    from .dsl.files import read

    source = read(file)
    return checked(source, Path(file).parent, config, sizes, path)


def loads(
    text: str,
    *,
    name: str = "<string>",
    base: Folder | None = None,
    config: str | None = None,
    sizes: Mapping[str, Setting] | None = None,
    path: Sequence[Folder] = (),
) -> Spec:
    """Check the spec in a string. `name` is what messages call it; `base` is the folder where `use` looks.

    Without `base` and `path` only the standard library can be used. Raises AttnError as `load` does.
    """
    try:
        return checked(Source(name, text), None if base is None else Path(base), config, sizes, path)
    except AttnError as wrong:
        file = text.strip()
        if not file.endswith(".attn") or len(file.split()) > 1:
            raise
        first, *others = wrong.diagnostics
        note = f"this is the name of a file, not its text: `attnc.load({file!r})` reads it"
        raise AttnError([replace(first, help=note, fix=None), *others]) from None


def check(
    text: str,
    *,
    name: str = "<string>",
    base: Folder | None = None,
    config: str | None = None,
    sizes: Mapping[str, Setting] | None = None,
    path: Sequence[Folder] = (),
) -> tuple[Diagnostic, ...]:
    """What is wrong with the spec in a string, and the warnings, in the order of the text; as `loads`, without raising.

    A diagnostic's `fix`, where it has one, is a tuple of edits of the text.
    """
    return built(Source(name, text), None if base is None else Path(base), config, sizes, path).diagnostics


def format(text: str, *, name: str = "<string>") -> str:
    """The canonical form of a spec's text, as `attnc fmt` writes it: comments stay, and so does what it means.

    Raises AttnError, with every mistake of its syntax, if it does not parse.
    """
    from .dsl.formatting import format_source

    return format_source(Source(name, text))


def built(
    source: Source, base: Path | None, config: str | None, sizes: Mapping[str, Setting] | None, path: Sequence[Folder]
) -> Program:
    """The program of a source, whatever is wrong with it."""
    from .compiler.check import build

    if isinstance(path, str | os.PathLike):
        raise TypeError(f"path: a list of folders, such as [{str(path)!r}], not one")
    folders = [Path(each) for each in path]
    return build(source, base=base, config=config, sizes=_plain(sizes or {}), path=folders, trials=_tried)


def _tried(graph: Graph, result: int, axis: Axis, numbers: Collection[int]) -> Tried:
    from .trials import tried  # which runs NumPy: only where a proof fails

    return tried(graph, result, axis, numbers)


def checked(
    source: Source, base: Path | None, config: str | None, sizes: Mapping[str, Setting] | None, path: Sequence[Folder]
) -> Spec:
    """The spec of a source. Raises AttnError if it is wrong."""
    program = built(source, base, config, sizes, path)
    if any(found.severity is Severity.ERROR for found in program.diagnostics):
        raise AttnError(program.diagnostics)
    here = base is not None and source.name.endswith(".attn")
    return Spec(program, base / f"{Path(source.name).stem}.figure" if here and base is not None else None)


def _plain(sizes: Mapping[str, Setting]) -> dict[str, Value]:
    """Sizes as Python's own numbers, lists as tuples: NumPy's are welcome too. Raises TypeError for anything else."""
    found: dict[str, Value] = {}
    for name, value in sizes.items():
        given: Any = value.tolist() if hasattr(value, "tolist") else value
        if isinstance(given, Sequence) and not isinstance(given, str | bytes):
            given = tuple(each.item() if hasattr(each, "item") else each for each in given)
        numbers = given if isinstance(given, tuple) else (given,)
        if not isinstance(name, str) or not numbers or not all(isinstance(each, int | float) for each in numbers):
            raise TypeError(
                f"sizes: {name!r} is set to {value!r}, but a name is set to a number, True or False, or a list of them"
            )
        found[name] = given
    return found


def _of_bill(sizes: Mapping[str, Setting]) -> dict[str, Size]:
    """Sizes of a bill, which knows numbers alone. Raises TypeError for anything else."""
    found: dict[str, Size] = {}
    for name, value in _plain(sizes).items():
        if isinstance(value, tuple):
            raise TypeError(
                f"sizes: {name!r} is set to a list, which counts for a spec as it is loaded: `sizes=` there"
            )
        found[name] = value
    return found


class Spec:
    """A file that has been checked. Made by `load` and `loads`.

    models, blocks: the names of its own models and blocks, in the order of the file.
    configs:        the names of its configs, whichever of them it was checked with.
    warnings:       what the checker found that is no error.
    failures:       what failed in attnc itself while it looked for warnings; in a sound version nothing.
    """

    def __init__(self, program: Program, figure: Path | None = None) -> None:
        self._program = program
        self._figure = figure  # where hints for its figures may lie

    @property
    def name(self) -> str:
        return self._program.source.name

    @property
    def models(self) -> tuple[str, ...]:
        return self._program.models

    @property
    def blocks(self) -> tuple[str, ...]:
        return self._program.blocks

    @property
    def configs(self) -> tuple[str, ...]:
        return self._program.configs

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return self._program.diagnostics

    @property
    def failures(self) -> tuple[Failure, ...]:
        return self._program.failures

    def model(self, name: str) -> Model:
        """The model of that name. Raises LookupError, with near names, if there is none."""
        return self._pick(name, "model", self.models)

    def block(self, name: str) -> Model:
        """The block of that name, standing alone: its axis parameters are free widths, or sizes of the file.

        Raises LookupError if there is none, and AttnError if the block cannot stand alone.
        """
        return self._pick(name, "block", self.blocks)

    def _pick(self, name: str, kind: str, names: Sequence[str]) -> Model:
        if name not in names:
            raise LookupError(f"{self.name} has no {kind} `{name}`{suggestion(name, names)}")
        return Model(self._program.graph(name), self._header(name), self._figure, (*self.models, *self.blocks))

    def _header(self, name: str) -> str:
        """What generated code says of where it comes from, and what the comment at the head of the file says."""
        program = self._program
        import hashlib

        digest = hashlib.sha256()
        for source in program.sources:  # what a file uses makes the code as much as the file does
            digest.update(source.text.encode())
        settings = [program.config] if program.config else []
        for setting, value in program.sizes.items():
            settings.append(f"{setting} = {[*value] if isinstance(value, tuple) else value}")
        file = " ".join(re.split(r"[/\\]", self.name)[-1].split())
        file = "a text" if file in ("", "<string>") else file
        given = f", with {', '.join(settings)}" if settings else ""
        where = f"written by attnc {__version__} from {file} (sha256 {digest.hexdigest()[:16]}){given}."
        return f"{name}: {where}\n\n{program.doc}"

    def __repr__(self) -> str:
        return f"<attnc.Spec {self.name!r}: models {list(self.models)}, blocks {list(self.blocks)}>"

    def _repr_html_(self) -> str:
        """In a notebook: the signatures of its models, the names of its blocks, and its warnings."""
        from html import escape

        lines = [repr(self.model(name)) for name in self.models]
        lines += [f"blocks: {', '.join(self.blocks)}"] * bool(self.blocks)
        return f"<pre>{escape(chr(10).join([*lines, *map(str, self.warnings)]))}</pre>"


def _fitting(weights: object, seed: object, capture: object) -> None:
    """Arguments of other kinds than `Model.torch` takes: TypeError or ValueError, before anything is made."""
    if isinstance(weights, str | os.PathLike):
        raise TypeError(
            f"weights: {{path: array}}, not the name of a file: attnc.weights.load({str(weights)!r}) reads it"
        )
    if weights is not None and not isinstance(weights, Mapping):
        raise TypeError(f"weights: {{path: array}}, not {type(weights).__name__}")
    if seed is not None and (isinstance(seed, bool) or not hasattr(seed, "__index__")):
        raise TypeError(f"seed: a whole number or None, not {seed!r}")
    if seed is not None and not 0 <= int(seed) < 1 << 63:
        raise ValueError(f"seed: a whole number of 0 or more, not {seed!r}")
    if isinstance(capture, str):
        raise TypeError(f"capture: a list of paths, such as [{capture!r}], not one")


def _with_kernels(kernels: object, capture: object) -> None:
    """Raises ImportError where Triton is not installed, ValueError for other kernels or what they do not go with."""
    if kernels is None:
        return
    if kernels != "triton":
        raise ValueError(f'kernels: there are those of "triton", no {kernels!r}')
    if capture:
        raise ValueError("capture: kernels keep no values inside of them: leave out kernels, or what is captured")
    from importlib.util import find_spec

    if find_spec("triton") is None:
        raise ImportError('kernels="triton" needs Triton: pip install "triton>=3.6"')


def lacks(file: str, name: str, names: Sequence[str]) -> str:
    """The message about a model or block that a file does not have, by the names of those that it has."""
    return f"{file} has no model or block `{name}`{suggestion(name, names)}"


def suggestion(name: str, names: Sequence[str]) -> str:
    """The end of a message about an unknown name: the near ones, else all of them."""
    import difflib  # a right name needs no other

    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"; did you mean `{near[0]}`?"
    return f"; it has {', '.join(f'`{known}`' for known in names)}" if names else ""


@record
class Port:
    """An input or an output of a model, without the leading batch axes, which are not written in a spec (D3).

    name:     None for the one result of a model that does not name it.
    element:  "real", "bool", "int", or the axis that the elements index (`vocab[seq]` has element "vocab").
    axes:     names of the axes, in memory order.
    shape:    their sizes, None where the size is free (a width known at run time).
    optional: an input that has a default.
    """

    name: str | None
    element: str
    axes: tuple[str, ...]
    shape: tuple[int | None, ...]
    optional: bool = False

    def __str__(self) -> str:
        element = "" if self.element == "real" else self.element
        return f"{self.name + ': ' if self.name else ''}{element}[{', '.join(self.axes)}]"


def _port(name: str | None, type: Type, axes: tuple[Axis, ...], optional: bool = False) -> Port:
    from .compiler.graph.values import IndexInto

    element = type.element.axis.name if isinstance(type.element, IndexInto) else type.element.value
    return Port(name, element, tuple(a.name for a in axes), tuple(a.extent for a in axes), optional)


class Model:
    """A model, or a block standing alone. Made by `Spec.model` and `Spec.block`."""

    def __init__(self, graph: Graph, header: str, figure: Path | None = None, beside: tuple[str, ...] = ()) -> None:
        self._graph = graph
        self._header = header
        self._figure = figure  # where hints for the figures of its file may lie
        self._beside = beside  # the models and blocks of its file

    @property
    def name(self) -> str:
        return self._graph.name

    @property
    def graph(self) -> Graph:
        """The typed graph that everything is made from (`attnc.compiler.graph`)."""
        return self._graph

    @cached_property
    @deep()
    def inputs(self) -> tuple[Port, ...]:
        """The inputs, in the order of the call; those of ragged widths' lengths come last."""
        from .compiler.rewrites.ragged.widths import pad_ragged

        inputs = pad_ragged(self._graph)[0].inputs
        return tuple(_port(i.name, i.value.type, i.value.type.axes, i.default is not None) for i in inputs)

    @cached_property
    def outputs(self) -> tuple[Port, ...]:
        """The results, in the order of the spec."""
        return tuple(_port(o.name, o.value.type, o.axes) for o in self._graph.outputs)

    @cached_property
    @deep()
    def _sized(self) -> Graph:
        """The graph, every size in it known. Raises AttnError if a size of a block standing alone was left open.

        A block standing alone is compiled as a model: its inputs are checked, and all have the leading batch axes.
        """
        from .compiler.advice.sizes import require_sizes
        from .compiler.rewrites.numerics.exact import mark_exact
        from .compiler.rewrites.picks.follow import follow_picks
        from .compiler.rewrites.ragged.widths import pad_ragged

        require_sizes(self._graph)
        followed, _ = follow_picks(replace(self._graph, kind="model"))
        return mark_exact(pad_ragged(followed)[0])

    @cached_property
    @deep()
    def weights(self) -> Mapping[str, WeightSpec]:
        """Every weight by its path, which is its key in `state_dict` and in safetensors: axes, shape, init, frozen.

        Printed, it is a table; a page of it, where there are very many.
        """
        from .compiler.graph.inventory import inventory

        return inventory(self._sized)

    @deep()
    def reads(self) -> tuple[ResultReads, ...]:
        """Of each result, in order, which items of which inputs an item of it reads, and of which widths it shows how
        many items there are: `print(*model.reads(), sep="\\n")` is what `attnc reads` prints.

        A result has `.name`, `.axes` and `.ways`; a way has `.input` (None: how many items there are), for each width
        of it in `.at` the `.exact` item or bounds, `.lowers` and `.uppers`, as formulas of the result's indices, and
        `.picked`, the indices by which all of it is looked up; `.data()` is as JSON has it. What is not in it is not
        read: changing that changes no number of the result. What is in it may not be read after all.
        """
        from .compiler.reads import reads

        return reads(self._graph)

    @deep()
    def cost(
        self, sizes: Mapping[str, Size] | None = None, /, *, batch: int = 1, dtype: str = "float32", **more: Size
    ) -> Cost:
        """What it costs, exactly, as numbers and as formulas of its sizes: `model.cost(source=1024).macs`.

        sizes: of widths, depths and consts, by name, in a mapping or as keywords; they win over those of the spec. A
               free width that is given none is taken at its bound, else at 1,024 (`.assumed` names them).
        batch: how many items the leading batch axes hold.
        dtype: of the reals, for bytes: "float64", "float32", "bfloat16" or "float16".

        Raises CostError (a ValueError) for a name that the model does not have and for a size that cannot be.
        """
        from .compiler.cost.report import cost
        from .compiler.rewrites.numerics.exact import mark_exact

        return cost(mark_exact(self._graph), _of_bill({**(sizes or {}), **more}), batch=batch, dtype=dtype)

    @deep()
    def streams(
        self,
        sizes: Mapping[str, Size] | None = None,
        /,
        *,
        device: str = "h100",
        batch: int = 1,
        dtype: str = "bfloat16",
        **more: Size,
    ) -> StreamReport:
        """What of it can be computed one tile of an axis at a time, and what that takes on a device; what cannot, and
        which op is in the way. Printed, it is what `attnc cost --streams` prints.

        device: "h100", "h200", "a100", or the path of a TOML file that says what one can do (docs/streams.md).
        sizes, batch, dtype: as of `cost`.

        Raises CostError as `cost` does, and DeviceError (a ValueError) for a device or a dtype of it that is not known.
        """
        from .compiler.streams.device import device as known
        from .compiler.streams.report import streams

        return streams(self.cost(sizes, batch=batch, dtype=dtype, **more), known(device))

    @deep()
    def plan(
        self, mesh: Mapping[str, int], sizes: Mapping[str, Size] | None = None, /, **step: Unpack[PlanKeywords]
    ) -> ShardingPlan:
        """What it comes to on a mesh of devices, `{"data": 2, "model": 4}`: where each weight lies, what is sent, what
        each device holds and does in a step of training.

        sizes:  as of `cost`. step: keywords, as follow.
        splits: for an axis of the mesh the names of the axes of the spec that it splits, "batch" among them; of those
                that are not here `data` splits the batch, `model` the depths that shorten a step most, `expert` the
                axes of experts and then the batch, `context` the widths of inputs. It hangs on the model and the mesh
                alone, not on `sizes`: `parallelize`, `draw` and `files` split alike.
        batch:  of all devices together; None: one item for each copy of the model.
        dtype:  of what is computed, "bfloat16" where nothing is said.
        zero:   what is scattered over the devices that have the same of it (ZeRO): 1 the optimiser's state, 2
                gradients, too, 3 (as is, where nothing is said) weights, too; 0 nothing.
        reduce: the dtype in which gradients are summed and kept; None: `dtype`.
        micro:  in how many micro-batches the batch of a step is done, one after another: 1.

        Raises Indivisible or NoSplit (each a ValueError) for an axis that does not divide over the devices that split
        it and for an axis of the mesh that has nothing to split, ValueError for another `zero` or `reduce` and for a
        step without items, CostError as `cost` does.
        """
        from .compiler.sharding.options import PlanOptions
        from .compiler.sharding.plan import planned

        return planned(self._sized, mesh, PlanOptions(_of_bill(sizes or {}), **step))

    @deep()
    def plan_stages(
        self, mesh: Mapping[str, int], sizes: Mapping[str, Size] | None = None, /, **step: Unpack[PlanKeywords]
    ) -> PipelinePlan:
        """What it comes to in the stages of a pipeline, on a mesh that has an axis `pipe`: a plan of each stage on the
        rest of the mesh, what stages send, how long devices wait. Everything else as for `plan`.

        Raises NoSplit (a ValueError), too, for more stages than passes, and for a model without repeats.
        """
        from .compiler.sharding.mesh import PIPE
        from .compiler.sharding.options import PlanOptions
        from .compiler.sharding.stages import planned_stages

        if PIPE not in mesh:
            raise ValueError(f"stages are those of the mesh axis `{PIPE}`, and there is none: `plan`")
        return planned_stages(self._sized, mesh, PlanOptions(_of_bill(sizes or {}), **step))

    @cached_property
    @deep()
    def decoding(self) -> Decoding:
        """How the model decodes, derived from the spec: what is cached, or why it has no one-step form.

        `decoding.caches` lists what steps keep (path, axes, how many items), `decoding.reason` says what stands in the
        way of a step or of `generate`, and is "" where nothing does; `print(decoding)` shows both.
        """
        from .backends.torch.decoding import described

        return described(self._sized)

    def source(
        self,
        backend: Literal["torch", "numpy"],
        *,
        single_file: bool = False,
        decoding: bool = False,
        checked: bool = False,
        without: Sequence[str] = (),
    ) -> str:
        """The model as Python source, `forward` alone: it needs torch (or NumPy) and jaxtyping, not attnc; and, where
        a kernel of ours computes something, the module `attnc_runtime_torch` (or `attnc_runtime_numpy`): see `files`.

        single_file: what it needs of that module stands in it, behind the model; with `decoding`, the steps too.
        checked:     its inputs are held to all that the spec says of them, not by one short function.
        without:     names of rewrites to leave out (`attnc compile -h` and docs/passes.md list them): the code computes
                     the same, and shows what each is good for. Everything that compiles takes it.

        Writing it needs neither. Raises ValueError for another backend, for a rewrite that is not there, for `decoding`
        of a model that does not decode, or without `single_file`.
        """
        if decoding and not single_file:
            raise ValueError("decoding is a file of its own: files(..), or single_file=True")
        code = self._code(backend, checked, decoding, without)
        return code.single(decoding) if single_file else code.default()

    def files(
        self,
        backend: Literal["torch", "numpy", "triton"],
        name: str | None = None,
        *,
        decoding: bool = False,
        checked: bool = False,
        without: Sequence[str] = (),
        mesh: Mapping[str, int] | None = None,
        splits: Mapping[str, Sequence[str]] | None = None,
    ) -> dict[str, str]:
        """The model as files of one folder, by their names: `NAME.py`, what `source` gives; with `decoding`
        `NAME_decoding.py`, functions over a cache (`prepare`, `step`, `generate`, `stream`) for its classes; and, if
        these import it, `attnc_runtime_torch.py` (or `attnc_runtime_numpy.py`), one for all models of a folder.

        mesh: of devices, as for `plan`: adds `NAME_parallel.py`, the classes of one device and `parallelize(net,
        mesh)`, and `attnc_parallel_torch.py`, which that imports; only for "torch"; with `decoding` its steps, too, in
        `NAME_parallel_decoding.py`. With an axis `pipe` the classes are those of `NAME_stage0.py` and so on, one for
        each stage, without steps. splits: as for `plan`.

        Of "triton" the files are those of PyTorch, and NAME_kernels.py: kernels of what streams, with `decoding` in the
        steps, too (docs/triton.md).

        name: of the module, which Python can import; the model's, if there is none. All else as for `source`.
        """
        name = self.name if name is None else name
        known = {
            "torch",
            "numpy",
            "jaxtyping",
            "attnc_runtime_torch",
            "attnc_runtime_numpy",
            "attnc_parallel_torch",
            *sys.stdlib_module_names,
        }
        if backend == "triton":
            known.add("triton")
        if not name.isidentifier() or keyword.iskeyword(name) or name in known:
            what = "the files import a module of that name" if name in known else "Python cannot import such a name"
            raise ValueError(f"name: {name!r}: {what}; name the file of the model otherwise")
        kernels = ""
        if backend == "triton":
            code, kernels = self._triton(name, checked, decoding, without)
        else:
            code = self._code(backend, checked, decoding, without)
        found = {f"{name}.py": code.default()}
        if kernels:
            found[f"{name}_kernels.py"] = kernels
        if decoding:
            found[f"{name}_decoding.py"] = code.beside(name)
        if decoding or code.needs_runtime:
            found[f"{code.library.runtime}.py"] = code.library.runtime_file()
        if mesh is not None:
            if backend != "torch":
                raise ValueError(f"a mesh of devices takes PyTorch: there is no such file for {backend!r}")
            found |= self._parallel(name, mesh, splits or {}, decoding, checked, without)
        return found

    @deep()
    def _triton(self, name: str, checked: bool, decoding: bool, without: Sequence[str]) -> tuple[ModelCode, str]:
        """The model whose streaming regions are kernels, and these."""

        from .backends.triton.module import triton_code

        code, text = triton_code(self._sized, name=name, decoding=decoding, **self._asked(without, checked=checked))
        if decoding and not code.decoding:
            raise ValueError(f"{self.name} has no steps: {code.no_step}")
        return code, text

    @deep()
    def _parallel(
        self,
        name: str,
        mesh: Mapping[str, int],
        splits: Mapping[str, Sequence[str]],
        decoding: bool,
        checked: bool,
        without: Sequence[str],
    ) -> dict[str, str]:
        """The files of a model that is divided over a mesh."""
        from .backends.torch.parallel_file import parallel_code
        from .backends.torch.stage_files import stage_codes
        from .compiler.sharding.choose import mesh_over
        from .compiler.sharding.mesh import PIPE

        over, asked = mesh_over(self._sized, mesh, splits), self._asked(without, checked=checked)
        if PIPE in mesh:
            codes = stage_codes(name, self._sized, over, **asked)
        else:
            codes = {f"{name}_parallel": parallel_code(self._sized, over, **asked)}
        code, found = codes[f"{name}_parallel"], {f"{home}.py": each.default() for home, each in codes.items()}
        if decoding and not code.decoding:
            raise ValueError(code.no_step)
        if decoding:
            found[f"{name}_parallel_decoding.py"] = code.beside(f"{name}_parallel")
        return found | {f"{code.library.runtime}.py": code.library.runtime_file()}

    @deep()
    def _code(self, backend: str, checked: bool, decoding: bool, without: Sequence[str]) -> ModelCode:

        from .backends.numpy.module import numpy_code
        from .backends.torch.module import torch_code

        made = {"torch": torch_code, "numpy": numpy_code}.get(backend)
        if backend == "triton":
            raise ValueError("kernels of Triton are a file of their own: files(..)")
        if made is None:
            raise ValueError(f"no backend {backend!r}: there are 'torch' and 'numpy'")
        code = made(self._sized, **self._asked(without, checked=checked))
        if decoding and not code.decoding:
            raise ValueError(f"{self.name} has no steps: {self.decoding.reason}")
        return code

    def _asked(self, without: Sequence[str], capture: Sequence[str] = (), checked: bool = True) -> Writing:
        """What generated code is asked to be."""
        from .compiler.pipeline import passes_without

        passes = passes_without(without)
        return {"header": self._header, "capture": tuple(capture), "passes": passes, "checked": checked}

    @deep()
    def explain(self, *, without: Sequence[str] = ()) -> Report:
        """What compiling makes of the model: what each rewrite changed, and where; for each attention what its queries
        see, how each backend computes it, and which part of a mask could not be read, and why; and what decoding keeps.
        `str(...)` is the text that `attnc compile --explain` prints. without: as in `source`.
        """
        from .backends.report.reports import explain
        from .backends.torch.decoding import described
        from .compiler.pipeline import passes_without

        passes = passes_without(without)
        return explain(self._sized, described(self._sized, passes), passes)

    @deep()
    def parallelize(
        self,
        mesh: DeviceMesh,
        *,
        splits: Mapping[str, Sequence[str]] | None = None,
        weights: Mapping[str, ArrayLike] | None = None,
        seed: int | None = 0,
        dtype: torch.dtype | str = "float32",
        computed_in: torch.dtype | str | None = None,
        zero: int = 3,
        checkpoint: bool = False,
        without: Sequence[str] = (),
    ) -> torch.nn.Module:
        """The model on a mesh of devices, as `plan` says: an `nn.Module` of this device, called on each of them alike.

        mesh:        of `torch.distributed`, its axes named: `init_device_mesh("cuda", (2, 4), mesh_dim_names=("data",
                     "model"))`. splits: as of `plan`.
        weights:     {path: array} as for `torch`, of which each device reads its parts alone; without it they are drawn
                     by `seed`, the same on every mesh and as `torch(seed=...)` draws them; None leaves them on
                     "meta": `net.to_empty(device=...)` gives them memory, which a checkpoint fills.
        dtype:       of the weights, and of gradients' sums. computed_in: another one for what is computed, such as
                     "bfloat16": of weights that are scattered.
        zero:        3: weights, gradients and what the optimiser keeps are scattered over the copies of the model
                     (FSDP2) and gathered for each pass of a repeat; 2: weights are gathered once a step; 0: nothing is.
        checkpoint:  each pass of a repeat keeps what enters it alone, and is done again for its gradients.

        Its parameters are DTensors with the keys and shapes of the whole model. Each device is given its part of the
        batch, `net.batch_part(x)`, and has its parts of the results, `net.whole_result(y)` puts them together. It
        decodes as on one device (`prepare`, `step`, `generate`, `stream`): `generate` is given all prompts on each.
        Gradients are sums over all devices: divide a loss by what all of them count. With an axis `pipe` it is the
        stage of this device, and `net.forward_backward(...)` runs all.

        Raises ValueError for a mesh that does not fit: Indivisible or NoSplit as `plan`, before anything is sent; and
        as `torch` does for weights; TypeError for what is no mesh.
        """
        from .backends.loading.load import type_of_reals
        from .backends.loading.parallel import DivisionOptions, build_parallel
        from .backends.loading.pipelined import build_stage
        from .compiler.sharding.choose import mesh_over, require_known
        from .compiler.sharding.mesh import PIPE

        if not hasattr(mesh, "mesh_dim_names"):
            raise TypeError(
                "the mesh is that of the devices that run, of torch.distributed.device_mesh: "
                f'init_device_mesh("cpu", (2, 4), mesh_dim_names=("data", "model")), not {mesh!r}'
            )
        names = mesh.mesh_dim_names
        if not names:
            raise ValueError(
                'the axes of the mesh have no names: init_device_mesh(.., mesh_dim_names=("data", "model"))'
            )
        sizes = dict(zip(names, mesh.shape, strict=True))
        several = {name: size for name, size in sizes.items() if size > 1 or name == PIPE}
        require_known(self._sized, sizes, splits or {})
        said = {name: axes for name, axes in (splits or {}).items() if name in several}  # others divide nothing
        kinds = type_of_reals(dtype), None if computed_in is None else type_of_reals(computed_in)
        options = DivisionOptions(kinds[0], self._asked(without), weights, seed, kinds[1], zero, checkpoint)
        build = build_stage if PIPE in sizes else build_parallel
        return build(self._sized, mesh_over(self._sized, several, said), mesh, options)

    @deep()
    def torch(
        self,
        *,
        weights: Mapping[str, ArrayLike] | None = None,
        seed: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | str | None = None,
        capture: Sequence[str] = (),
        without: Sequence[str] = (),
        kernels: Literal["triton"] | None = None,
    ) -> torch.nn.Module:
        """The model as an `nn.Module`, whose `state_dict` keys are the paths in `weights`.

        weights: {path: array}, every path of `self.weights`; without it each weight is drawn as its `init` says. What
                 `attnc.weights.load` gave stays mapped, if it lies in one piece: the file is read as it is used.
        seed:    of that drawing. The same seed gives the same weights in torch and NumPy; None: a fresh one.
        device:  "meta" makes the model without memory, whatever the weights: `net.to_empty(device=...)` gives it some,
                 `net.reset_parameters()` draws them there.
        dtype:   of its reals, `torch.float64` or `"float64"`; by default that of the weights (of several the one that
                 holds them all), or float32 where they are drawn.
        capture: paths of values (`"decode.layers.1.cross.weights"`): the call then gives
                 `(result, {path: Captured(value, axes)})`.
        without: names of rewrites to leave out, as in `source`.
        kernels: "triton": what streams is done by kernels written for this model (docs/triton.md), on a GPU.

        The module takes the inputs by position or name, each with the same leading batch axes (0 or more); one
        result is a tensor, several are a NamedTuple. Raises ImportError if torch is not installed (or Triton, for
        kernels of it); ValueError for a
        weight that is missing, unknown, of another shape or not real, for a path that captures nothing, and for a
        rewrite that is not there.
        """
        try:
            import torch  # noqa: F401
        except ImportError:
            raise ImportError('running a model in PyTorch needs torch: pip install "torch>=2.6"') from None
        from .backends.loading.load import build_torch

        _fitting(weights, seed, capture)
        _with_kernels(kernels, capture)
        asked = self._asked(without, capture)
        return build_torch(
            self._sized, weights=weights, seed=seed, device=device, dtype=dtype, kernels=kernels, **asked
        )

    @deep()
    def numpy(
        self,
        weights: Mapping[str, ArrayLike] | None = None,
        *,
        seed: int | None = None,
        dtype: DTypeLike | None = None,
        capture: Sequence[str] = (),
        without: Sequence[str] = (),
    ) -> Callable[..., Any]:
        """The model as a function of NumPy arrays; everything as in `torch`, without gradients and dropout.

        dtype: by default float64 if one of the weights is, else float32: NumPy is slow in half precision.
        """

        from .backends.loading.load import build_numpy

        _fitting(weights, seed, capture)
        return build_numpy(self._sized, weights=weights, seed=seed, dtype=dtype, **self._asked(without, capture))

    @deep()
    def draw(
        self,
        *,
        open: str | Sequence[str] = (),
        close: str | Sequence[str] = (),
        depth: int | None = None,
        width: str | float | None = None,
        type: str | float | None = None,
        page: str | tuple[float, float] | None = None,
        theme: Literal["color", "mono"] = "color",
        title: str | None = None,
        sizes: bool = False,
        legend: bool = False,
        hints: Hints = None,
        tint: bool = False,
        mesh: Mapping[str, int] | None = None,
        splits: Mapping[str, Sequence[str]] | None = None,
        levels: bool | str | StreamReport = False,
    ) -> Diagram:
        """The neural-circuit diagram.

        open:   names of blocks, or one name, to draw from the inside; the others are boxes.
        close:  names of blocks, or one name, to draw as boxes, whatever else is said.
        depth:  how many levels of blocks to open (None: as many as stay readable).
        width:  of the page, in inches (5.5) or as text ("14cm"): what is wider goes on in rows beneath.
        page:   instead of `width`, the width and height of the page, in inches or as text ("14x20cm"), or one of
                "neurips", "acl-column", "ieee", "slide-16x9", "poster". What is too large for it is drawn in panels.
        type:   the size of letters, in points ("8pt" or 8), the same for all figures of a paper. Where such letters do
                not fit the width, `.warnings` says so, and what would. Without it they are as large as fits, 7 to 12.
        theme:  "color", or "mono" for print without colours.
        title:  above the figure (if None the name, but none in .pdf and .tex; nothing if "").
        sizes:  whether the first label of each axis gives its size.
        legend: whether a strip beneath says what the axes and glyphs are.
        hints:  what the author says of the figure (docs/figure.md): a file, or the keys of the model's table in one,
                such as `{"inputs": ["Q", "K"], "note": [{"at": "Q", "text": "the queries"}]}`. None: what `NAME.figure`
                says, if it lies beside `NAME.attn`; an empty dict: nothing.
        mesh:   of devices, {"data": 2, "model": 4}: the axes that it splits are hatched, each mesh axis in its own way,
                what is sent stands on the wires, and a legend says which is which. splits: as of `plan`.
        levels: what streams as loops over tiles, wires hatched by level of memory (docs/diagrams.md): True for an h100,
                a device as of `streams`, or what that gives. What holds a loop is open.
        tint:   a colour behind each value that has a name, as of `latex(tint=True)`; the author's own, if there is one.

        The diagram has `.dot`, `.svg()`, `.tex` (TikZ), `.html()`, `.warnings`, `.panels`, `.save(path)` (.svg, .pdf,
        .png, .dot, .tex, .html) and `.graphviz()`, a `graphviz.Source`, and shows itself in Jupyter. All but .dot, .tex
        and .html need `dot` of Graphviz: else attnc.diagrams.ExportError, a graphviz.ExecutableNotFound too.
        Raises ValueError for a block that is not there, an unknown theme, a width that no page or a size that no
        letters have, an unknown page, a mesh that `plan` refuses, levels where nothing streams; AttnError, with every
        mistake, for hints that are wrong; OSError if their file cannot be read.
        """
        from . import diagrams

        graph, devices = (self._graph, None) if mesh is None else self._sent(mesh, splits or {})
        found = None if levels is False else self._loops(levels, mesh)
        if found is not None:
            open, close = self._left(found, open, "open"), self._left(found, close, "close")
        return diagrams.draw(
            graph, open=open, close=close, depth=depth, width=width, type=type, page=page, theme=theme, title=title,
            sizes=sizes, legend=legend, hints=self._hints(hints, tint, found), mesh=devices,
            streams=found, code=self._lines,
        )  # fmt: skip

    @deep()
    def diff(self, new: Model) -> Difference:
        """What another model has otherwise than this one: sizes, and parts that came, went or changed.

        `print` shows it; it has `.same`, `.sizes`, `.parts` and `.data()`. Parts are set side by side by their names.
        """
        from .compiler.diff import difference

        return difference(self._graph, new._graph)

    @deep()
    def draw_diff(
        self, new: Model, *, width: str | float | None = None, theme: Literal["color", "mono"] = "color"
    ) -> Diagram:
        """This model and another, one above the other, what differs tinted: what is only here, what is only there, and
        what changed. Blocks that differ within are open. width, theme: as of `draw`. A page (.html) there is none of.
        """
        from . import diagrams

        return diagrams.draw_diff(self.diff(new), width=width, theme=theme)

    @deep()
    def _lines(self) -> list[tuple[str, list[Span]]]:
        """The lines of its PyTorch, each with the words of the spec that it comes from; none if there are none."""
        from .backends import CannotEmit
        from .backends.report.origins import Origins

        try:
            return Origins(self.source("torch")).of(self._graph)
        except (CannotEmit, AttnError):  # as where a size is not known
            return []

    def _loops(self, levels: bool | str | StreamReport, mesh: Mapping[str, int] | None) -> DrawnStreams:
        """The graph with what streams as loops."""
        from .compiler.streams.drawn import with_loops
        from .compiler.streams.report import StreamReport

        if mesh is not None:
            raise ValueError("levels of memory are those of one device, a mesh has many: draw one figure of each")
        if not isinstance(levels, StreamReport):
            levels = self.streams(device="h100" if isinstance(levels, bool) else levels)
        elif levels.cost.name != self.name:
            raise ValueError(f"these are the streams of {levels.cost.name}, not of {self.name}")
        return with_loops(levels)

    def _left(self, found: DrawnStreams, names: str | Sequence[str], verb: str) -> tuple[str, ...]:
        """The blocks of these names that a graph with loops still has: those that a loop is made of are open anyway."""
        from .diagrams.scene.opening import Opening

        asked = (names,) if isinstance(names, str) else tuple(names)
        kept, all_names = Opening(found.graph).names(found.graph), Opening(self._graph).names(self._graph)
        gone = [name for name in asked if name in all_names and name not in kept]
        if gone and verb == "close":
            raise ValueError(f"`{gone[0]}` cannot be closed: the loops of `levels` are made of what is in it")
        return tuple(name for name in asked if name not in gone)

    def _sent(self, mesh: Mapping[str, int], splits: Mapping[str, Sequence[str]]) -> tuple[Graph, Mesh]:
        """The graph with the collectives of a mesh in it, and that mesh."""
        from .compiler.sharding.choose import mesh_over
        from .compiler.sharding.drawn import with_collectives
        from .compiler.sharding.spread import spread

        found = mesh_over(self._sized, mesh, splits)
        return with_collectives(spread(self._sized, found)), found

    @deep()
    def latex(self, *, hints: Hints = None, tint: bool = False) -> str:
        """The equations of the model or block in Named Tensor Notation (Chiang, Rush and Barak), as LaTeX.

        tint: each value that has a name, or that `hints` (see `draw`) give a tint, has the colour behind its equation
              that `draw` with the same arguments has behind its glyph. LaTeX then needs the package `xcolor`.
        """
        from .diagrams.formats.equations import latex
        from .diagrams.hints.hints import TINTS

        tints = self._hints(hints, tint).tints if tint else ()
        return latex(self._graph, {said.text: TINTS[color] for said, color in tints})

    def _hints(self, given: Hints, tint: bool, loops: DrawnStreams | None = None) -> Checked:
        """The hints for its figure, or for that with loops. Raises AttnError for those that are wrong."""
        from .diagrams.hints.hints import NONE, tinted
        from .diagrams.hints.reading import of_mapping, read
        from .dsl.files import read as text_of

        if isinstance(given, Mapping):
            hints = of_mapping(given)
        elif given is None and (self._figure is None or not self._figure.exists()):
            hints = NONE
        elif given is None or isinstance(given, str | os.PathLike):
            source = text_of(self._figure or "" if given is None else given)
            found = read(source, self.name, self._beside or (self.name,))
            if found is None and given is not None:
                message = f"{source.name} has no hints for `{self.name}`"
                raise AttnError([error("E1004", message, None, help=f"write a table `[{self.name}]`")])
            hints = found or NONE
        else:
            raise TypeError(f"hints: a file or a dict, not {type(given).__name__}")
        if loops is not None:  # blocks that loops are made of are neither open nor closed
            left = self._left(loops, [said.text for said in (*hints.open, *hints.close)], "open")
            open, close = (tuple(said for said in some if said.text in left) for some in (hints.open, hints.close))
            hints = replace(hints, open=open, close=close)
        return tinted(hints, self._graph) if tint else hints

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        outputs = ", ".join(map(str, self.outputs))
        return f"<attnc.Model {self.name}({inputs}) -> {outputs if len(self.outputs) == 1 else f'({outputs})'}>"

    def _repr_html_(self) -> str | None:
        """In a notebook: its signature, and the living figure, where it is not too large for one."""
        from html import escape

        from .diagrams import TooLarge

        try:
            figure = self.draw()._repr_html_()
        except (AttnError, TooLarge):
            return None
        return f"<code>{escape(repr(self))}</code>{figure or ''}"
