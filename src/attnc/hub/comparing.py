"""`attnc run --check`: the same numbers as the transformers library, on random inputs, with padding on either side."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..compiler.graph.values import IndexInto, Scalar
from ..weights.convert import convert
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
    padding. length: of the inputs. padded: on which side.
    """

    difference: float
    rounding: float
    length: int
    padded: str

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
    theirs = convert(imported.weights, imported.map, imported.model, reverse=True)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / CONFIG).write_text(json.dumps(dict(imported.config)), encoding="utf-8")
        config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False)
    (architecture, *_) = imported.config.get("architectures") or [None]
    kind = getattr(transformers, str(architecture), None)
    if kind is None:
        raise HubError(f"the installed transformers has no {architecture}")
    model = kind(config).float().eval()
    tensors = {name: torch.tensor(array.astype("float32")) for name, array in theirs.items()}
    lost, unknown = model.load_state_dict(tensors, strict=False)
    lost = [name for name in lost if name in dict(model.named_parameters())]
    if lost or unknown:
        raise HubError(f"transformers' {architecture} has other weights: {', '.join([*lost, *unknown][:5])}")
    return model


def compare(imported: Imported, length: int = 24, seed: int = 0) -> list[Comparison]:
    """Ours beside theirs, both in float32: without padding, and with it where the model takes a mask of it."""
    import torch

    theirs, ours = reference(imported), imported.torch(dtype="float32")
    draw = torch.Generator().manual_seed(seed)
    sides = ("none", "left", "right") if "attention_mask" in imported.inputs.values() else ("none",)
    given = [_inputs(imported, length, side, draw) for side in sides]

    def told(inputs: dict[str, torch.Tensor], dtype: torch.dtype) -> torch.Tensor:
        named = {imported.inputs[name]: _as_theirs(x, dtype) for name, x in inputs.items()}
        found: torch.Tensor = theirs.to(dtype)(**named)[0]
        return found

    pairs = []
    with torch.no_grad():
        for inputs, real in given:
            mine, wanted = ours(**inputs), told(inputs, torch.float32)
            mine = mine[0] if isinstance(mine, tuple) else mine
            padded = mine.shape[:2] == real.shape
            pairs.append((mine[real], wanted[real]) if padded else (mine, wanted))
        plain, _ = _inputs(imported, length, "none", draw, MANY)  # padded, theirs may be no number in float64
        single, double = told(plain, torch.float32), told(plain, torch.float64)
    rounding = float((single - double).abs().max() / double.std())
    return [
        Comparison(float((mine - wanted).abs().max() / wanted.std()), rounding, length, side)
        for side, (mine, wanted) in zip(sides, pairs, strict=True)
    ]


def _as_theirs(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Their masks are numbers."""
    return value.to(dtype) if value.dtype.is_floating_point else value.long()


def _inputs(
    imported: Imported, length: int, side: str, draw: torch.Generator, count: int = SOME
) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Random ones of the types that the spec declares, and which items are no padding."""
    import torch

    real = torch.ones(count, length, dtype=torch.bool)
    away = torch.tensor([0, length // 4, length // 2])[:, None]  # of SOME
    if side == "left":
        real = torch.arange(length) >= away
    elif side == "right":
        real = torch.arange(length) < length - away
    given: dict[str, torch.Tensor] = {}
    for entry in imported.model.graph.inputs:
        type, name = entry.value.type, entry.name
        if name not in imported.inputs:
            continue
        shape = [count, *(length if axis.extent is None else axis.extent for axis in type.axes)]
        if isinstance(type.element, IndexInto):
            given[name] = torch.randint(0, type.element.axis.extent or 1, shape, generator=draw)
        elif type.element is Scalar.BOOL:
            given[name] = real
        elif type.element is Scalar.INT:
            given[name] = torch.zeros(shape, dtype=torch.long)
        else:
            given[name] = torch.randn(shape, generator=draw)
    return given, real
