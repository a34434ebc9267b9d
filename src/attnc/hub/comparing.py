"""`attnc run --check`: the same numbers as the transformers library, on random inputs, with padding on either side."""

from __future__ import annotations

import inspect
import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..compiler.graph.values import IndexInto, Scalar
from ..weights.convert import convert
from ..weights.maps import Map, ignored
from .folder import CONFIG
from .imported import Imported
from .problem import HubError

if TYPE_CHECKING:
    import torch

SOME, MANY = 3, 48  # the batch, and that on which it is measured what is rounded: seldom much
TOLERANCE = 2e-5  # of the standard deviation of theirs: what float32 rounds
LARGER = 4  # times what theirs itself rounds, where its weights enlarge that


@dataclass(frozen=True, slots=True)
class Comparison:
    """difference: the largest, in standard deviations of theirs. rounding: that of theirs to itself in float64, without
    padding; and, where that does not account for the difference, what is rounded of the same inputs. length: of the
    inputs. padded: on which side. beside: the results of theirs that ours has not.
    """

    difference: float
    rounding: float
    length: int
    padded: str
    beside: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        return self.difference <= max(TOLERANCE, LARGER * self.rounding)


def reference(imported: Imported) -> Any:
    """The published model in transformers, in float32, with our weights under its names. Raises HubError."""
    try:
        import torch
        import transformers
    except ImportError:
        raise HubError('a comparison needs transformers: pip install "transformers>=5"') from None
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / CONFIG).write_text(json.dumps(dict(imported.config)), encoding="utf-8")
        config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False)
    if not imported.config.get("architectures"):
        raise HubError(
            f"{imported.path / CONFIG}: it names no `architectures`, so no class of transformers to compare with"
        )
    architecture = str(imported.config["architectures"][0])
    kind = getattr(transformers, architecture, None)
    if kind is None:
        raise HubError(f"the installed transformers has no {architecture}")
    model = kind(config).float().eval()
    if hasattr(model, "set_experts_implementation"):  # the usual one has no float64
        model.set_experts_implementation("eager")
    names = [*model.state_dict()]
    theirs = convert(imported.weights, imported.map, imported.model, reverse=True, like=names)
    unused = {name: array for name, array in imported.unused.items() if name in names}
    tensors = {name: torch.tensor(array.astype("float32")) for name, array in {**unused, **theirs}.items()}
    firsts: dict[int, str] = {}
    for name, weight in [*model.named_parameters(remove_duplicate=False)]:  # tied there, unless a file has two of them
        first = firsts.setdefault(id(weight), name) if name in tensors else name
        if first != name and not torch.equal(tensors[first], tensors[name]):
            owner, _, leaf = name.rpartition(".")
            setattr(model.get_submodule(owner), leaf, torch.nn.Parameter(weight.detach().clone()))
    lost, unknown = model.load_state_dict(tensors, strict=False)
    reckoned = ignored(Map.read(imported.map), names)  # and tables that theirs makes itself
    lost = [name for name in lost if name in dict(model.named_parameters()) and name not in reckoned]
    if lost or unknown:
        raise HubError(f"transformers' {architecture} has other weights: {', '.join([*lost, *unknown][:5])}")
    return model


class _Beside:
    """Both models on the same inputs."""

    def __init__(self, imported: Imported) -> None:
        self.imported = imported
        self.theirs, self.ours = reference(imported), imported.torch(dtype="float32")
        self.results = [entry.value.type.axes for entry in imported.model.graph.outputs]
        takes = inspect.signature(self.theirs.forward).parameters
        self._counted = self.theirs.can_generate() and "position_ids" in takes

    def told(self, inputs: dict[str, torch.Tensor], dtype: torch.dtype) -> dict[str, Any]:
        """The results of theirs, by name."""
        named = as_theirs(self.imported, inputs, dtype)
        if self._counted and "attention_mask" in named:  # as their `generate` does: from the first that is no padding
            named["position_ids"] = (named["attention_mask"].cumsum(-1) - 1).clamp(min=0)
        try:
            found: dict[str, Any] = self.theirs.to(dtype)(**named, return_dict=True)
        except Exception as wrong:  # its code is not ours: it may raise anything
            raise HubError(
                f"transformers' {type(self.theirs).__name__} fails itself: {type(wrong).__name__}: {wrong}"
            ) from None
        return found

    def mine(self, inputs: dict[str, torch.Tensor], dtype: torch.dtype) -> Sequence[torch.Tensor]:
        found = self.ours.to(dtype)(**inputs)
        return found if isinstance(found, tuple) else (found,)

    def apart(self, one: Iterable[Any], other: Iterable[Any], padded: str | None, real: torch.Tensor) -> float:
        """The largest difference of any result, in standard deviations of the other's."""
        differences = []
        for axes, a, b in zip(self.results, one, other, strict=False):
            if padded is not None and axes and axes[0].name == padded:
                a, b = a[real], b[real]
            differences.append(float((a - b).abs().max() / b.std()))
        return next((one for one in differences if one != one), max(differences))  # what is no number stays none

    def rounded(self, inputs: dict[str, torch.Tensor], padded: str | None, real: torch.Tensor) -> float:
        """Of these inputs: ours to itself in float64, and theirs with the tables that it makes (rotary frequencies, in
        float32 for every type) the last bit larger.
        """
        import torch

        single, double = self.mine(inputs, torch.float32), self.mine(inputs, torch.float64)
        wanted = self.told(inputs, torch.float32).values()
        stored = self.theirs.state_dict()
        made = [t for name, t in self.theirs.named_buffers() if name not in stored and t.is_floating_point()]
        before = [table.clone() for table in made]
        for table in made:
            table.mul_(1 + torch.finfo(torch.float32).eps)
        moved = self.told(inputs, torch.float32).values()
        for table, value in zip(made, before, strict=True):
            table.copy_(value)
        return max(self.apart(single, double, padded, real), self.apart(moved, wanted, padded, real))


def compare(imported: Imported, length: int = 24, seed: int = 0) -> list[Comparison]:
    """Ours beside theirs, both in float32: without padding, and with it where the model takes a mask of it.

    Each result of ours is theirs at the same place.
    """
    import torch

    both, draw = _Beside(imported), torch.Generator().manual_seed(seed)
    sides = ("none", "left", "right") if "attention_mask" in imported.inputs.values() else ("none",)
    found = []
    with torch.no_grad():
        cases = [(side, *drawn(imported, length, side, draw)) for side in sides]
        plain, _, _ = drawn(imported, length, "none", draw, MANY)  # padded, theirs may be no number in float64
        exact, rough = (next(iter(both.told(plain, dtype).values())) for dtype in (torch.float64, torch.float32))
        rounding = float((rough - exact).abs().max() / exact.std())
        for side, inputs, padded, real in cases:
            wanted = both.told(inputs, torch.float32)
            more = [name for name, value in [*wanted.items()][len(both.results) :] if isinstance(value, torch.Tensor)]
            beside = tuple(name for name in more if "hidden" not in name)
            difference = both.apart(both.mine(inputs, torch.float32), wanted.values(), padded, real)
            one = Comparison(difference, rounding, length, side, beside)
            if not one.same:
                one = replace(one, rounding=max(rounding, both.rounded(inputs, padded, real)))
            found.append(one)
    return found


def as_theirs(
    imported: Imported, inputs: dict[str, torch.Tensor], dtype: torch.dtype | None = None
) -> dict[str, torch.Tensor]:
    """Inputs of ours under their names. Their masks are numbers."""
    return {
        imported.inputs[name]: value.to(dtype) if value.dtype.is_floating_point else value.long()
        for name, value in inputs.items()
    }


def drawn(
    imported: Imported, length: int, side: str, draw: torch.Generator, count: int = SOME
) -> tuple[dict[str, torch.Tensor], str | None, torch.Tensor]:
    """Random ones of the types that the spec declares, the width that is padded, and which items of it are real.

    The first free width has that length, each further one three items less.
    """
    import torch

    free: dict[str, int] = {}
    padded, real = None, torch.ones(count, length, dtype=torch.bool)
    given: dict[str, torch.Tensor] = {}
    for entry in imported.model.graph.inputs:
        type, name = entry.value.type, entry.name
        if name not in imported.inputs:
            continue
        shape = [count] if imported.batched else []
        for axis in type.axes:
            if axis.extent is None:
                free.setdefault(axis.name, min(axis.bound or length, max(length - 3 * len(free), 1)))
            shape.append(free[axis.name] if axis.extent is None else axis.extent)
        if isinstance(type.element, IndexInto):
            given[name] = torch.randint(0, type.element.axis.extent or 1, shape, generator=draw)
        elif type.element is Scalar.BOOL:
            padded, size = type.axes[-1].name, shape[-1]
            real = torch.ones(shape, dtype=torch.bool)
            if side != "none":
                away = (torch.arange(shape[0]) % SOME * size // 4)[:, None]
                real = torch.arange(size) >= away if side == "left" else torch.arange(size) < size - away
            given[name] = real
        elif type.element is Scalar.INT:
            given[name] = torch.zeros(shape, dtype=torch.long)
        else:
            given[name] = torch.randn(shape, generator=draw)
    return given, padded, real
