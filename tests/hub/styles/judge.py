"""Whether what `attnc adopt` wrote computes what the module does: looked at anew in float32, without its formulas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import attnc
from attnc import hub, weights
from attnc.compiler.graph.values import IndexInto
from attnc.hub.adopting.listening.trace import tensors

LIMIT = 1e-4  # of the standard deviation, in float32


@dataclass
class Judged:
    """verdict: "equal", "refused", "unequal" or "failed". said: the message, or how far it is."""

    verdict: str
    said: str


def judged(place: str, made: Any, items_first: bool, folder: Path, given: str | None = None) -> Judged:
    """made: gives the module. items_first: its inputs are [items, batch, ...]."""
    try:
        hub.adopt(place, folder, given)
    except (hub.HubError, weights.WeightsError) as wrong:
        said = str(wrong)
        if folder.exists():
            return Judged("failed", f"a folder beside a message: {said}")
        return Judged("refused" if "\n" not in said else "failed", said)
    except Exception as bug:
        return Judged("failed", f"{type(bug).__name__}: {bug}")
    torch.manual_seed(11)
    module = made().eval()
    with torch.no_grad():
        for weight in module.parameters():
            weight.add_(torch.randn(weight.shape) * (0.3 if weight.ndim < 2 else 0.1))
    worst = max(compared(module, folder, items_first, count) for count in (9, 6))
    if worst > LIMIT:  # what is not there in float64 either is rounding
        worst = min(worst, max(compared(module.double(), folder, items_first, count) for count in (9, 6)))
    return Judged("equal" if worst <= LIMIT else "unequal", f"{worst:.1e}")


def compared(module: Any, folder: Path, items_first: bool, count: int) -> float:
    """How far results and gradients are apart, in standard deviations, in the type of the module's weights."""
    about = json.loads((folder / "attnc.json").read_text())
    model, map = attnc.load(folder / about["spec"]).model(about["model"]), folder / about["map"]
    dtype = next(module.parameters()).dtype
    inputs = {n: x.to(dtype) if x.is_floating_point() else x for n, x in _inputs(model, count).items()}
    told = {about["inputs"][n]: x.transpose(0, 1) if items_first and x.ndim < 4 else x for n, x in inputs.items()}
    wanted = [*tensors(module(**told))][int(about["results"][0])]
    held = {name: one.detach() for name, one in module.state_dict().items()}
    ours = model.torch(weights=weights.convert(held, map, model), dtype=dtype).eval()
    found = ours(**inputs)
    found = found[:, -1:] if about["last"][0] else found
    if items_first and wanted.ndim > 1 and found.ndim == 3 and found.shape[1] != 1:
        found = found.transpose(0, 1)
    if found.numel() != wanted.numel():
        return float("inf")
    found = found.reshape(wanted.shape)
    torch.manual_seed(4)
    along = torch.randn(wanted.shape, dtype=dtype)
    mine = dict(ours.named_parameters())
    slopes = torch.autograd.grad((found * along).sum(), [*mine.values()], allow_unused=True)
    own = {n: torch.zeros_like(w) if s is None else s for (n, w), s in zip(mine.items(), slopes, strict=True)}
    theirs = {n: torch.tensor(np.asarray(one)) for n, one in _gradients(module, wanted, along, model, map).items()}
    # The bias of keys has none but what is rounded: a gradient all but zero is measured by a hundredth of the largest.
    least = 1e-2 * max(float(one.std()) for one in theirs.values() if one.numel() > 1)
    apart = [float((found - wanted).abs().max() / wanted.std())]
    apart += [_apart(own[name], theirs[name], least) for name in own]
    return float("inf") if any(one != one for one in apart) else max(apart)


def _apart(one: Any, other: Any, least: float) -> float:
    scale = float(other.std()) if other.numel() > 1 else float(other.abs().max())
    return float((one - other).abs().max()) / max(scale, least)


def _gradients(module: Any, wanted: Any, along: Any, model: Any, map: Path) -> Mapping[str, Any]:
    every = dict(module.named_parameters(remove_duplicate=False))
    slopes = torch.autograd.grad((wanted * along).sum(), [*every.values()], allow_unused=True)
    told = {n: torch.zeros_like(w) if s is None else s for (n, w), s in zip(every.items(), slopes, strict=True)}
    return weights.convert({**{n: one.detach() for n, one in module.state_dict().items()}, **told}, map, model)


def _inputs(model: Any, count: int) -> dict[str, Any]:
    """Drawn anew: batches of two, so many items along each free axis."""
    torch.manual_seed(count)
    free: dict[str, int] = {}
    made: dict[str, Any] = {}
    for entry in model.graph.inputs:
        shape = [2]
        for axis in entry.value.type.axes:
            free.setdefault(axis.name, count + 2 * len(free))
            shape.append(free[axis.name] if axis.extent is None else axis.extent)
        kind = entry.value.type.element
        is_index = isinstance(kind, IndexInto)
        made[entry.name] = torch.randint(0, kind.axis.extent, shape) if is_index else torch.randn(shape)
    return made
