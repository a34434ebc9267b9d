"""`attnc run --check`: the same numbers as the transformers library, on random inputs, with padding on either side."""

from __future__ import annotations

import inspect
import json
import tempfile
from dataclasses import dataclass
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
    padding. length: of the inputs. padded: on which side. beside: the results of theirs that ours has not.
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


def compare(imported: Imported, length: int = 24, seed: int = 0) -> list[Comparison]:
    """Ours beside theirs, both in float32: without padding, and with it where the model takes a mask of it.

    Each result of ours is theirs at the same place.
    """
    import torch

    theirs, ours = reference(imported), imported.torch(dtype="float32")
    draw = torch.Generator().manual_seed(seed)
    sides = ("none", "left", "right") if "attention_mask" in imported.inputs.values() else ("none",)

    counted = theirs.can_generate() and "position_ids" in inspect.signature(theirs.forward).parameters

    def told(inputs: dict[str, torch.Tensor], dtype: torch.dtype) -> dict[str, Any]:
        named = as_theirs(imported, inputs, dtype)
        if counted and "attention_mask" in named:  # as their `generate` does: from the first item that is no padding
            named["position_ids"] = (named["attention_mask"].cumsum(-1) - 1).clamp(min=0)
        try:
            found: dict[str, Any] = theirs.to(dtype)(**named, return_dict=True)
        except Exception as wrong:  # its code is not ours: it may raise anything
            raise HubError(
                f"transformers' {type(theirs).__name__} fails itself: {type(wrong).__name__}: {wrong}"
            ) from None
        return found

    results = [entry.value.type.axes for entry in imported.model.graph.outputs]
    differences = []
    with torch.no_grad():
        for side in sides:
            inputs, padded, real = drawn(imported, length, side, draw)
            found, wanted = ours(**inputs), told(inputs, torch.float32)
            beside = tuple(
                name
                for name in [*wanted][len(results) :]
                if isinstance(wanted[name], torch.Tensor) and "hidden" not in name
            )
            apart = []
            for axes, a, b in zip(
                results, found if isinstance(found, tuple) else [found], wanted.values(), strict=False
            ):
                if padded is not None and axes and axes[0].name == padded:
                    a, b = a[real], b[real]
                apart.append((a - b).abs().max() / b.std())
            differences.append(float(torch.stack(apart).max()))  # what is no number stays none
        plain, _, _ = drawn(imported, length, "none", draw, MANY)  # padded, theirs may be no number in float64
        single, double = (next(iter(told(plain, dtype).values())) for dtype in (torch.float32, torch.float64))
    rounding = float((single - double).abs().max() / double.std())
    return [Comparison(worst, rounding, length, side, beside) for side, worst in zip(sides, differences, strict=True)]


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
