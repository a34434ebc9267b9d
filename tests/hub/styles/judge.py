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
    apart = [compared(module, folder, items_first, count) for count in (9, 6)]
    worst = max(apart)
    return Judged("equal" if worst <= LIMIT else "unequal", f"{worst:.1e}")


def compared(module: Any, folder: Path, items_first: bool, count: int) -> float:
    """How far results and gradients are apart, in standard deviations, less what float32 rounds."""
    about = json.loads((folder / "attnc.json").read_text())
    model = attnc.load(folder / about["spec"]).model(about["model"])
    inputs = _inputs(model, count)
    told = {
        about["inputs"][name]: _turned(one) if items_first and one.ndim < 4 else one for name, one in inputs.items()
    }
    wanted = [*tensors(module(**told))][int(about["result"])]
    found: list[list[Any]] = []
    for dtype in (torch.float32, torch.float64):
        held = {name: one.detach() for name, one in module.state_dict().items()}
        ours = model.torch(weights=weights.convert(held, folder / f"{about['model']}.map", model), dtype=dtype).eval()
        made = ours(**{name: one.to(dtype) if one.is_floating_point() else one for name, one in inputs.items()})
        made = made[:, -1:] if about["last"] else made
        if items_first and wanted.ndim > 1 and made.ndim == 3 and made.shape[1] != 1:
            made = made.transpose(0, 1)
        if made.numel() != wanted.numel():
            return float("inf")
        made = made.reshape(wanted.shape)
        torch.manual_seed(4)
        along = torch.randn(wanted.shape)
        slopes = torch.autograd.grad((made * along).sum(), [*ours.parameters()], allow_unused=True)
        found.append(
            [
                made.detach(),
                *(torch.zeros_like(w) if s is None else s for s, w in zip(slopes, ours.parameters(), strict=True)),
            ]
        )
    names = [name for name, _ in ours.named_parameters()]
    theirs = _gradients(module, wanted, along, model, folder / f"{about['model']}.map")
    every = [wanted.detach(), *(torch.tensor(np.asarray(theirs[name])) for name in names)]
    least = 1e-3 * max(float(one.std()) for one in every[1:] if one.numel() > 1)
    worst = 0.0
    for i, (single, double, one) in enumerate(zip(*found, every, strict=True)):
        scale = max(float(one.std()) if one.numel() > 1 else float(one.abs().max()), least if i else 1e-12)
        rounding = float((single - double).abs().max())
        worst = max(worst, (float((single - one).abs().max()) - 4 * rounding) / scale)
    return worst


def _gradients(module: Any, wanted: Any, along: Any, model: Any, map: Path) -> Mapping[str, Any]:
    every = dict(module.named_parameters(remove_duplicate=False))
    slopes = torch.autograd.grad((wanted * along).sum(), [*every.values()], allow_unused=True)
    told = {n: torch.zeros_like(w) if s is None else s for (n, w), s in zip(every.items(), slopes, strict=True)}
    return weights.convert({**{n: one.detach() for n, one in module.state_dict().items()}, **told}, map, model)


def _turned(one: Any) -> Any:
    return one.transpose(0, 1)


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
