"""Whether a spec computes what a module of the user's does: results, gradients, and where they begin to differ."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...spec import Model, load
from ...weights.convert import convert
from ...weights.maps import Map
from ..folder import read_json
from ..importing import ABOUT
from ..problem import HubError
from .listening.factory import module as module_of
from .listening.factory import theirs
from .listening.inputs import Inputs, inputs_of
from .listening.trace import RunTrace, Tensor, listen, tensors
from .listening.uses import EPSILONS, LinearUse, WeightUses, near

# Of the deviation of results and of gradients, which rounding changes more (a unit at its kink, say); tables of float32
# are rounded, too, where all else is float64.
LIMITS = {"float64": (1e-6, 1e-4), "float32": (2e-5, 1e-3)}
SHORTER = 2  # items that the second of two inputs has less


@dataclass(frozen=True, slots=True)
class Verdict:
    """outputs: the largest difference of results, in standard deviations of theirs. gradients: that of gradients, in
    standard deviations of the gradient of the same weight. weight: whose gradient that is. shapes: of the inputs.
    where: the first place at which values differ, or "". precision: "float64", or "float32" where theirs runs in no
    other. rounds: theirs casts to float32 on its way.
    """

    outputs: float
    gradients: float
    weight: str
    shapes: tuple[tuple[int, ...], ...]
    precision: str
    where: str
    rounds: bool = False

    @property
    def limits(self) -> tuple[float, float]:
        """How far results and gradients may be away."""
        return LIMITS["float32" if self.rounds else self.precision]

    @property
    def same(self) -> bool:
        return self.outputs <= self.limits[0] and self.gradients <= self.limits[1]

    def __str__(self) -> str:
        inputs = " and ".join(str(list(shape)) for shape in self.shapes)
        told = (
            f"inputs {inputs}, weights drawn anew, {self.precision}: results within {self.outputs:.1e} of the standard "
            f"deviation, gradients within {self.gradients:.1e} (`{self.weight}`)"
        )
        return told + (f"\n{self.where}" if self.where else "")


def redrawn(module: torch.nn.Module) -> torch.nn.Module:
    """A copy with other weights, in eval mode: matrices of deviation 2 / sqrt(fan in), tables and biases of 1 and 0.5,
    what was alike in all its items (the gains of norms) between 0.5 and 1.5 of it. Raises HubError.
    """
    try:
        made = copy.deepcopy(module).eval()
    except Exception as wrong:
        raise HubError(theirs(wrong, "copying the module")) from None
    draw = torch.Generator().manual_seed(0)
    tables = {id(one.weight) for one in made.modules() if isinstance(one, torch.nn.Embedding)}
    with torch.no_grad():
        for weight in made.parameters():
            if not weight.is_floating_point():
                continue
            weight.requires_grad_(True)
            old, new = weight.reshape(-1), torch.randn(weight.shape, generator=draw, dtype=torch.float64)
            if weight.ndim > 1:
                new *= 1 if id(weight) in tables or min(weight.shape[:-1]) == 1 else 2 / weight[0].numel() ** 0.5
            elif len(old) and bool((old == old[0]).all()) and float(old[0]) != 0:
                new = (torch.rand(weight.shape, generator=draw, dtype=torch.float64) + 0.5) * float(old[0])
            else:
                new *= 0.5
            weight.copy_(new.float())  # so that what theirs casts to float32 is as it was
    return made


def precise(module: torch.nn.Module, inputs: Inputs) -> tuple[torch.nn.Module, torch.dtype]:
    """The module in float64, if it runs so, else in float32. Raises HubError where it runs in neither."""
    try:
        double = copy.deepcopy(module).double()
        with torch.no_grad():
            found = tensors(inputs.call(double, torch.float64))
        if found and all(bool(torch.isfinite(one).all()) for one in found[:1]):
            return double, torch.float64
    except Exception:
        pass
    try:
        single = module.float()
        with torch.no_grad():
            inputs.call(single, torch.float32)
    except Exception as wrong:
        raise HubError(theirs(wrong, "with weights drawn anew")) from None
    return single, torch.float32


def parameters(module: torch.nn.Module) -> dict[str, Tensor]:
    """By the first name of each, as the trace has them."""
    return dict(module.named_parameters())


def epsilons(module: torch.nn.Module) -> list[float]:
    """What stands in its modules as an epsilon, and the usual ones."""
    told = [value for value in numbers(module, "eps") if isinstance(value, float) and 0 <= value < 0.1]
    return list(dict.fromkeys([*told, *EPSILONS]))


def numbers(module: torch.nn.Module, *words: str) -> Iterator[int | float]:
    """The numbers that its modules have under names with one of these words."""
    for name, value in (item for one in module.modules() for item in vars(one).items()):
        if isinstance(value, int | float) and any(word in name.lower() for word in words):
            yield value


def heard(module: torch.nn.Module, inputs: Inputs, dtype: torch.dtype) -> RunTrace:
    """The trace of the module on these inputs."""
    told = inputs.of(dtype)
    batch = next(iter(told.drawn.values())).shape[0]
    return listen(module, told.tensors, lambda: told.call(module, dtype), batch)


def check_adopted(folder: str | Path, place: str | None = None, inputs: str | None = None) -> Verdict:
    """Whether the spec in a folder that `attnc adopt` wrote still computes what the module does, by the map there.

    place, inputs: the module and its inputs, where they are not those of then. Runs the user's code. Raises HubError.
    """
    path = Path(folder)
    about = read_json(path / ABOUT)
    if "adopted" not in about:
        raise HubError(f"{path}: `attnc adopt` did not write this")
    module = module_of(place or str(about["adopted"]))
    given = inputs_of(module, inputs or about.get("given"))
    model = load(path / str(about["spec"])).model(str(about["model"]))
    return compare(module, given, model, Map.read(path / str(about["map"])), about)


def compare(module: torch.nn.Module, inputs: Inputs, model: Model, map: Map, about: Mapping[str, Any]) -> Verdict:
    """The module beside the spec, both with the same redrawn weights. about: `inputs`, ours and what theirs are called;
    `result`, which of theirs is compared; `last`, whether theirs gives the last item alone.

    Raises HubError, and WeightsError where the map does not make the spec's weights of theirs.
    """
    copied, dtype = precise(redrawn(module), inputs)
    given = _weights(copied)
    ours = model.torch(weights=convert(given, map, model), dtype=str(dtype).removeprefix("torch.")).eval()
    runs = [inputs.again(1)]
    if (
        not inputs.given
        and len(inputs.drawn) == len(inputs.tensors)
        and any(one.ndim < 4 for one in inputs.drawn.values())
    ):
        runs.append(inputs.again(2, SHORTER))
    outputs, worst = 0.0, (0.0, "")
    for run in runs:
        found, wanted = _results(copied, ours, run, about, dtype)
        outputs = max(outputs, near(found, wanted))
        worst = max(worst, _gradients(copied, ours, found, wanted, map, model))
    shapes = tuple(tuple(one.shape) for one in runs[0].drawn.values())
    trace = heard(copied, runs[0], dtype)
    precision = str(dtype).removeprefix("torch.")
    verdict = Verdict(outputs, worst[0], worst[1], shapes, precision, "", trace.rounds)
    if verdict.same:
        return verdict
    where = _where(
        WeightUses(trace, parameters(copied), EPSILONS), _owners(copied, map, model), ours, runs[0], about, dtype
    )
    return replace(verdict, where=where)


def _weights(module: torch.nn.Module) -> dict[str, Tensor]:
    return {name: one.detach() for name, one in module.state_dict().items() if isinstance(one, Tensor)}


def _ours(run: Inputs, about: Mapping[str, Any], dtype: torch.dtype) -> dict[str, Tensor]:
    tensors = run.of(dtype).tensors
    return {ours: tensors[name] for ours, name in about["inputs"].items()}


def _results(
    module: torch.nn.Module, ours: Any, run: Inputs, about: Mapping[str, Any], dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """One result of ours, and of theirs, with gradients behind them."""
    try:
        wanted = tensors(run.call(module, dtype))[int(about.get("result", 0))]
    except Exception as wrong:
        raise HubError(theirs(wrong, "with weights drawn anew")) from None
    found = ours(**_ours(run, about, dtype))
    if about.get("last"):
        found = found[:, -1:]
    if found.shape != wanted.shape and found.numel() == wanted.numel():
        if wanted.ndim == 3 and wanted.shape[:2] == found.shape[1::-1]:
            wanted = wanted.transpose(0, 1)
        else:
            found = found.reshape(wanted.shape)
    return found, wanted


def _gradients(
    module: torch.nn.Module, ours: Any, found: Tensor, wanted: Tensor, map: Map, model: Model
) -> tuple[float, str]:
    """The largest difference of gradients of one random sum of the results, and whose that is.

    A weight whose gradient is all but zero (the bias of keys) is measured by a thousandth of the largest deviation.
    """
    if found.shape != wanted.shape:
        return float("inf"), "results of other shapes"
    draw = torch.Generator().manual_seed(3)
    along = torch.randn(wanted.shape, generator=draw, dtype=wanted.dtype)
    every = dict(module.named_parameters(remove_duplicate=False))
    try:
        told = dict(zip(every, _slopes(wanted, along, list(every.values())), strict=True))
    except RuntimeError as wrong:  # values that its gradients need were written over, say
        raise HubError(theirs(wrong, "its gradients")) from None
    theirs_grads = convert({**_weights(module), **told}, map, model)
    mine = dict(ours.named_parameters())
    own = dict(zip(mine, _slopes(found, along, list(mine.values())), strict=True))
    deviations = {name: float(np.std(grad)) for name, grad in theirs_grads.items()}
    least = 1e-3 * max(deviations.values())
    worst = (0.0, next(iter(own)))
    for name, grad in own.items():
        apart = np.abs(grad.numpy() - theirs_grads[name]).max()
        worst = max(worst, (float(apart) / max(deviations[name], least, 1e-300), name))
    return worst


def _slopes(result: Tensor, along: Tensor, weights: list[Tensor]) -> list[Tensor]:
    """The gradients of a sum of results, each times a number; nothing where a weight has no part in it."""
    found = torch.autograd.grad((result * along).sum(), weights, allow_unused=True)
    return [torch.zeros_like(weight) if one is None else one for one, weight in zip(found, weights, strict=True)]


# -- where they differ ---------------------------------------------------------------------------------------------


def _where(
    uses: WeightUses, owners: Mapping[str, str], ours: Any, run: Inputs, about: Mapping[str, Any], dtype: torch.dtype
) -> str:
    """The first map, in their order, that reads other values than ours: what stands before it differs."""
    given = _ours(run, about, dtype)
    batch = next(iter(given.values())).shape[0]
    own = WeightUses(listen(ours, given, lambda: ours(**given), batch), parameters(ours), EPSILONS)
    known: dict[str, list[tuple[str, LinearUse]]] = {}
    for one in own.linears:
        known.setdefault(owners.get(one.weight.name, ""), []).append((one.weight.name, one))
    before: list[str] = []
    limit = LIMITS["float32" if uses.trace.rounds else str(dtype).removeprefix("torch.")][0]
    for one in uses.linears:
        for path, mine in known.get(one.weight.name, []):
            if one.patches is not None or mine.x.shape != one.x.shape:
                continue
            apart = near(mine.x, one.x)
            if apart > limit:
                agreed = f"what {_listed(before)} makes agrees; " if before else ""
                return (
                    f"they differ first before `{one.weight.name}` (ours `{path}`): {agreed}what enters it is "
                    f"{apart:.1e} of the standard deviation away"
                )
        before.append(one.weight.name)
    return f"what enters every map agrees: they differ behind {_listed(before)}"


def _listed(before: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in before[-1:])


def _owners(module: torch.nn.Module, map: Map, model: Model) -> dict[str, str]:
    """Of which parameter of theirs each weight of ours is made: its first elements, followed through the map."""
    names = {name: name for name, _ in module.named_parameters()}
    first = {id(one): name for name, one in module.named_parameters()}
    for name, one in module.named_parameters(remove_duplicate=False):
        names[name] = first[id(one)]
    order = {name: i for i, name in enumerate(dict.fromkeys(names.values()))}
    marked = {
        name: np.full(tuple(one.shape), order[names[name]] if name in names else -1, dtype=np.int64)
        for name, one in _weights(module).items()
    }
    back = {i: name for name, i in order.items()}
    return {path: back.get(int(array.reshape(-1)[0]), "") for path, array in convert(marked, map, model).items()}
