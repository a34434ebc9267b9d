"""What a module does in one run: each op of PyTorch, and what it reads and makes, as a graph that can be walked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

Tensor = torch.Tensor
_FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
_VIEWS = (
    *("aten::view", "aten::_unsafe_view", "aten::transpose", "aten::permute", "aten::t", "aten::expand"),
    *("aten::unsqueeze", "aten::squeeze", "aten::alias", "aten::detach", "aten::slice", "aten::select"),
)
_Key = tuple[int, int, tuple[int, ...], tuple[int, ...], torch.dtype]


@dataclass(eq=False, repr=False)
class RunValue:
    """A tensor of the run. kind: "data" hangs on the inputs, "weight" on parameters alone, "constant" on neither.

    source: the name of the parameter, buffer or input that it is or is a view of. step: what made it.
    """

    tensor: Tensor
    kind: str
    source: str | None = None
    step: RunStep | None = None
    readers: list[RunStep] = field(default_factory=list)


@dataclass(eq=False, repr=False)
class RunStep:
    """One op of PyTorch, such as `aten::mm`. args: as it was called, with Values in place of tensors."""

    number: int
    op: str
    args: list[Any]
    reads: list[RunValue]
    makes: list[RunValue] = field(default_factory=list)
    does: Callable[..., Any] | None = None

    def again(self, tensor: Tensor) -> Any:
        """The op, of another tensor in the place of each that it reads."""
        assert self.does is not None
        if self.op in ("aten::view", "aten::_unsafe_view"):  # the other may lie otherwise in memory
            return tensor.reshape(self.args[1])
        return self.does(*(tensor if isinstance(one, RunValue) else one for one in self.args))

    def again_of_content(self) -> Any:
        """The op, of what the one tensor that it reads holds."""
        assert self.does is not None
        return self.does(*(one.tensor if isinstance(one, RunValue) else one for one in self.args))


@dataclass
class RunTrace:
    """A run: its steps in order, the inputs by name, what it returned, and the parameters that it used.

    names: what the module calls its results; "" where it has no name for one.

    rounds: some of its values, or constants that it computes with, have fewer digits than others: it casts on its way.
    """

    steps: list[RunStep]
    inputs: dict[str, RunValue]
    results: list[RunValue]
    used: set[str]
    batch: int
    rounds: bool
    names: list[str]

    def behind(self, value: RunValue) -> set[str]:
        """The parameters that a value hangs on."""
        return {
            name
            for step in self.back(value, lambda step: False)
            for read in step.reads
            if read.kind == "weight"
            for name in ([read.source] if read.source is not None else self.used)
        }

    def back(self, value: RunValue, stop: Callable[[RunStep], bool]) -> Iterator[RunStep]:
        """The steps that lead to a value, near ones first; of those where it stops, what is behind is left out."""
        seen: set[int] = set()
        waiting = [value]
        while waiting:
            step = waiting.pop(0).step
            if step is None or step.number in seen:
                continue
            seen.add(step.number)
            yield step
            if not stop(step):
                waiting += [read for read in step.reads if read.kind == "data"]

    def on(self, value: RunValue, stop: Callable[[RunStep], bool]) -> Iterator[RunStep]:
        """The steps that a value leads to, in the same way."""
        seen: set[int] = set()
        waiting = [value]
        while waiting:
            for step in waiting.pop(0).readers:
                if step.number not in seen:
                    seen.add(step.number)
                    yield step
                    if not stop(step):
                        waiting += step.makes


class _Listener(TorchDispatchMode):
    def __init__(self, names: Mapping[int, tuple[str, str]]) -> None:
        start: Any = super().__init__
        start()
        self.steps: list[RunStep] = []
        self.used: set[str] = set()
        self.kinds: set[torch.dtype] = set()
        self._names = names  # of storages: what kind each is, and its name
        self._known: dict[_Key, RunValue] = {}
        self._written: dict[int, list[RunValue]] = {}
        self._kept: list[Tensor] = []  # as long as they live no other tensor has their place in memory

    def value(self, tensor: Tensor) -> RunValue:
        key = _key(tensor)
        known = self._known.get(key)
        if known is not None:
            return known
        kind, source = self._names.get(key[0], ("constant", None))
        if kind == "weight" and source is not None:
            self.used.add(source)
        value = RunValue(_content(tensor, kind), kind, source)
        writers = self._written.get(key[0])
        if writers:  # part of what was written into
            value.kind = "data" if any(one.kind == "data" for one in writers) else value.kind
            value.step = RunStep(len(self.steps), "written", [], list(writers), [value])
            self.steps.append(value.step)
            for one in writers:
                one.readers.append(value.step)
        self._keep(key, tensor, value)
        return value

    def _keep(self, key: _Key, tensor: Tensor, value: RunValue) -> None:
        self._known[key] = value
        self._kept.append(tensor)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        reads: list[RunValue] = []

        given: list[Tensor] = []

        def as_value(item: Any) -> Any:
            if isinstance(item, Tensor):
                given.append(item)
                reads.append(self.value(item))
                return reads[-1]
            return [as_value(one) for one in item] if isinstance(item, list | tuple) else item

        told = [as_value(one) for one in args]
        for one in kwargs.values():
            as_value(one)
        out = func(*args, **kwargs)
        op = func._schema.name
        step = RunStep(len(self.steps), op, told, reads, does=func)
        self.steps.append(step)
        for read in reads:
            read.readers.append(step)
        kinds = {read.kind for read in reads}
        kind = "data" if "data" in kinds else "weight" if "weight" in kinds else "constant"
        sources = {read.source for read in reads if read.kind == kind and read.source is not None}
        source = sources.pop() if len(sources) == 1 and kind != "data" else None
        writes = op.endswith("_")
        for tensor in tree_leaves(out):
            if isinstance(tensor, Tensor):
                key = _key(tensor)
                content = None if writes else _seen_as(step, tensor)
                content = _content(tensor, "" if writes else kind) if content is None else content
                made = RunValue(content, kind, source, step)
                step.makes.append(made)
                if writes:
                    for other in [one for one in self._known if one[0] == key[0] and one != key]:
                        del self._known[other]
                    self._written.setdefault(key[0], []).append(made)
                self._keep(key, tensor, made)
                if kind == "data" and tensor.dtype in _FLOATS:
                    tables = {one.dtype for one in given if one.ndim and one.dtype in _FLOATS}
                    self.kinds |= {tensor.dtype, *tables}
        return out


def _seen_as(step: RunStep, tensor: Tensor) -> Tensor | None:
    """What it holds, as a view of what it is a view of; None where it is none."""
    if step.op not in _VIEWS or step.reads[0].kind == "weight":
        return None
    try:
        found: Tensor = step.again_of_content()
    except RuntimeError:  # they do not lie alike in memory
        return None
    return found if found.shape == tensor.shape else None


def _content(tensor: Tensor, kind: str) -> Tensor:
    """What it holds now, numbers as float64; of parameters themselves, where they are."""
    content = tensor.detach()
    if kind == "weight":
        return content
    return content.to(torch.float64, copy=True) if content.is_floating_point() else content.clone()


def _key(tensor: Tensor) -> _Key:
    place = tensor.untyped_storage().data_ptr()
    return place, int(tensor.storage_offset()), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype


def listen(module: torch.nn.Module, inputs: Mapping[str, Tensor], call: Callable[[], Any], batch: int) -> RunTrace:
    """The trace of `call()`, which runs the module on the inputs. Raises what the module raises."""
    names: dict[int, tuple[str, str]] = {}
    for name, buffer in module.named_buffers():
        names.setdefault(buffer.untyped_storage().data_ptr(), ("constant", name))
    for name, weight in module.named_parameters():
        names[weight.untyped_storage().data_ptr()] = ("weight", name)
    for name, tensor in inputs.items():
        names[tensor.untyped_storage().data_ptr()] = ("data", name)
    listener = _Listener(names)
    given = {name: listener.value(tensor) for name, tensor in inputs.items()}
    # With gradients on, and attention spelled out, no layer of PyTorch is one op that hides its parts.
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH), listener:
        out = call()
    told = named(out)
    results = [listener.value(tensor) for _, tensor in told]
    called = [name for name, _ in told]
    return RunTrace(listener.steps, given, results, listener.used, batch, len(listener.kinds) > 1, called)


def tensors(out: Any) -> list[Tensor]:
    """The results of a module that are numbers, in order: of a tensor, a tuple, a mapping or a dataclass."""
    return [tensor for _, tensor in named(out)]


def named(out: Any, name: str = "") -> list[tuple[str, Tensor]]:
    """These, and what they are called: the fields of a named tuple or a dataclass, the keys of a mapping. What is both
    has both.
    """
    if isinstance(out, Tensor):
        return [(name, out)] if out.is_floating_point() else []
    if hasattr(out, "__dataclass_fields__"):
        fields = {field: getattr(out, field, None) for field in out.__dataclass_fields__}
        out = fields | (dict(out) if isinstance(out, Mapping) else {})
    elif hasattr(out, "_fields"):
        out = dict(zip(out._fields, out, strict=True))
    items: Any = out.items() if isinstance(out, Mapping) else ()
    if isinstance(out, list | tuple):
        items = [(name, item) for item in out]
    return [one for key, item in items for one in named(item, str(key))]
