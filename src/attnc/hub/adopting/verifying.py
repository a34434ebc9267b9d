"""Whether a spec computes what a module of the user's does: results, gradients, and where they begin to differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...backends.loading.memory import as_array
from ...spec import Model, load
from ...weights.convert import Made, made_of
from ...weights.maps import Map
from ..folder import read_json
from ..importing import ABOUT
from ..problem import HubError
from .listening.factory import module as module_of
from .listening.factory import theirs
from .listening.inputs import Inputs, inputs_of
from .listening.redrawn import redrawn
from .listening.trace import RunTrace, Tensor, listen, named
from .listening.uses import LARGEST, LinearUse, WeightUses, near

# Of the deviation of results and of gradients, which rounding changes more: a unit at its kink, and the one of millions
# that it changes most. What is written wrong is seen in the results.
LIMITS = {"float64": (1e-6, 1e-4), "float32": (1e-4, 1e-2)}
_FEW = 1 << 21  # elements whose gradients are taken at a time
SHORTER = 2  # items that the second of two inputs has less


@dataclass(frozen=True, slots=True)
class Verdict:
    """outputs: the largest difference of results, in standard deviations of theirs. gradients: that of gradients, in
    standard deviations of the gradient of the same weight. weight: whose gradient that is. shapes: of the inputs.
    where: the first place at which values differ, or "". precision: "float64", or "float32" where theirs is large or
    runs in no other. rounds: theirs casts to float32 on its way. form: how what is compared is not all that the spec
    gives, or in another form; else "". left: which results of theirs the spec does not have; else "".
    """

    outputs: float
    gradients: float
    weight: str
    shapes: tuple[tuple[int, ...], ...]
    precision: str
    where: str
    rounds: bool = False
    form: str = ""
    left: str = ""

    @property
    def limits(self) -> tuple[float, float]:
        """How far results and gradients may be away."""
        return LIMITS["float32" if self.rounds else self.precision]

    @property
    def same(self) -> bool:
        return self.outputs <= self.limits[0] and self.gradients <= self.limits[1]

    @property
    def but(self) -> str:
        """What the same results are the same but for."""
        found = ["results that are left out"] * bool(self.left) + ["the form of its result"] * bool(self.form)
        return f" but for {' and '.join(found)}" if found else ""

    def __str__(self) -> str:
        inputs = " and ".join(str(list(shape)) for shape in self.shapes)
        told = (
            f"inputs {inputs}, weights drawn anew, {self.precision}: results within {self.outputs:.1e} of the standard "
            f"deviation, gradients within {self.gradients:.1e} (`{self.weight}`)"
        )
        told += "".join(f"; {one}" for one in (self.left, self.form) if one)
        return told + (f"\n{self.where}" if self.where else "")


def parameters(module: torch.nn.Module) -> dict[str, Tensor]:
    """By the first name of each, as the trace has them."""
    return dict(module.named_parameters())


def epsilons(module: torch.nn.Module) -> dict[str, list[float]]:
    """Of each parameter the small numbers that its module has, under any name; under "" those of all."""
    found: dict[str, list[float]] = {"": []}
    for path, one in module.named_modules():
        told = [value for value in vars(one).values() if isinstance(value, float) and 0 <= value < LARGEST]
        found[""] += told
        for name, _ in one.named_parameters(path, recurse=False):
            found[name] = told
    return found


def numbers(module: torch.nn.Module, *words: str) -> Iterator[int | float]:
    """The numbers that its modules have under names with one of these words."""
    for name, value in (item for one in module.modules() for item in vars(one).items()):
        if isinstance(value, int | float) and any(word in name.lower() for word in words):
            yield value


def heard(module: torch.nn.Module, inputs: Inputs, dtype: torch.dtype) -> RunTrace:
    """The trace of the module on these inputs."""
    told = inputs.of(dtype)
    return listen(module, told.tensors, lambda: told.call(module, dtype), told.batch)


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
    map = Map.read(path / str(about["map"]))
    with redrawn(module, given, path) as dtype:
        return compare(module, given, dtype, model, map, about)


def compare(
    module: torch.nn.Module, inputs: Inputs, dtype: torch.dtype, model: Model, map: Map, about: Mapping[str, Any]
) -> Verdict:
    """The module beside the spec, both with the weights that the module has now, of that type. about: `inputs`, ours
    and what theirs are called; `results`, which of theirs the spec has; `last`, of each, whether theirs is the last
    item alone.

    Raises HubError, and WeightsError where the map does not make the spec's weights of theirs.
    """
    held = {name: as_array(one) for name, one in module.state_dict().items() if isinstance(one, Tensor)}
    made = made_of(held, map, model)
    ours = model.torch(device="meta", dtype=dtype)
    weights = {path: torch.from_numpy(array) for one in made for path, array in one.of(held).items()}
    ours.load_state_dict(weights, assign=True)  # where theirs lie: they would take much memory twice
    ours.eval().requires_grad_(True)
    runs = [inputs.again(1)]
    if (
        not inputs.given
        and len(inputs.drawn) == len(inputs.tensors)
        and any(one.ndim < 4 for one in inputs.drawn.values())
    ):
        runs.append(inputs.again(2, SHORTER))
    outputs, worst, form, left = 0.0, (0.0, ""), "", ""
    for run in runs:
        pairs, left, told = _results(module, ours, run, about, dtype)
        form = form or told
        for found, wanted in pairs:
            outputs = max(outputs, near(found, wanted))
            worst = max(worst, _gradients(module, ours, found, wanted, made))
    shapes = tuple(tuple(one.shape) for one in runs[0].drawn.values())
    precision = str(dtype).removeprefix("torch.")
    verdict = Verdict(outputs, worst[0], worst[1], shapes, precision, "", False, form, left)
    if verdict.same:
        return verdict
    trace = heard(module, runs[0], dtype)
    verdict = replace(verdict, rounds=trace.rounds)
    if verdict.same:
        return verdict
    where = _where(WeightUses(trace, parameters(module), {}), _owners(module, made), ours, runs[0], about, dtype)
    return replace(verdict, where=where)


def _ours(run: Inputs, about: Mapping[str, Any], dtype: torch.dtype) -> dict[str, Tensor]:
    tensors = run.of(dtype).tensors
    return {ours: tensors[name] for ours, name in about["inputs"].items()}


def _results(
    module: torch.nn.Module, ours: Any, run: Inputs, about: Mapping[str, Any], dtype: torch.dtype
) -> tuple[list[tuple[Tensor, Tensor]], str, str]:
    """Each result of ours, and theirs, with gradients behind them; which of theirs are left out; and what of ours is
    compared, where that is not all of it, or of another form.
    """
    try:
        told = named(run.call(module, dtype))
    except Exception as wrong:
        raise HubError(theirs(wrong, "with weights drawn anew")) from None
    made = ours(**_ours(run, about, dtype))
    kept = about.get("results") or [about.get("result", 0)]  # the second of folders from before there were several
    last = about["last"] if isinstance(about.get("last"), list) else [bool(about.get("last"))]
    called = [f"`{name}`" if name else f"number {i}" for i, (name, _) in enumerate(told, 1)]
    left = [f"{called[i]} {list(one.shape)}" for i, (_, one) in enumerate(told) if i not in kept]
    out = f"theirs gives {len(told)} results, of which the spec leaves out {' and '.join(left)}" if left else ""
    forms, pairs = [], []
    for i, is_last, whole in zip(kept, last, made if isinstance(made, tuple) else (made,), strict=True):
        wanted = told[i][1]
        found = _formed(whole[:, -1:] if is_last else whole, wanted, run.items_first)
        if whole.shape != wanted.shape:
            kind = "the last item alone" if is_last else "in another form"
            forms.append(f"theirs gives {list(wanted.shape)}, {kind}, where the spec gives {list(whole.shape)}")
        pairs.append((found, wanted))
    return pairs, out, "; ".join(forms)


def _formed(found: Tensor, wanted: Tensor, items_first: bool) -> Tensor:
    """What is found in the form of what is wanted, if it has one."""
    turned = wanted.ndim == 3 and found.ndim == 3 and wanted.transpose(0, 1).shape == found.shape
    if found.ndim == 3 and wanted.ndim == 2 and found.shape[0] * found.shape[1] == len(wanted) and items_first:
        found = found.transpose(0, 1)
    if found.shape != wanted.shape and turned:
        return found.transpose(0, 1)
    return found.reshape(wanted.shape) if found.shape != wanted.shape and found.numel() == wanted.numel() else found


def _gradients(
    module: torch.nn.Module, ours: Any, found: Tensor, wanted: Tensor, made: Sequence[Made]
) -> tuple[float, str]:
    """The largest difference of gradients of one random sum of the results, and whose that is.

    A weight whose gradient is all but zero (the bias of keys) is measured by a thousandth of the largest deviation.
    Gradients of some weights at a time: those of all would take as much memory as they do.
    """
    if found.shape != wanted.shape:
        return float("inf"), "results of other shapes"
    draw = torch.Generator().manual_seed(3)
    along = torch.randn(wanted.shape, generator=draw, dtype=wanted.dtype)
    theirs_now = dict(module.named_parameters(remove_duplicate=False))
    mine = dict(ours.named_parameters())
    known = [one for one in made if all(name in theirs_now for name in one.theirs)]
    told: list[tuple[str, float, float]] = []
    for some in _parts(known, mine):
        names = [name for one in some for name in one.theirs]
        try:
            slopes = dict(zip(names, _slopes(wanted, along, [theirs_now[name] for name in names]), strict=True))
        except RuntimeError as wrong:  # values that its gradients need were written over, say
            raise HubError(theirs(wrong, "its gradients")) from None
        given = {name: as_array(slope) for name, slope in slopes.items()}
        paths = [path for one in some for path in one.ours]
        own = dict(zip(paths, _slopes(found, along, [mine[path] for path in paths]), strict=True))
        for path, grad in ((path, grad) for one in some for path, grad in one.of(given).items()):
            told.append((path, float(np.abs(own[path].numpy() - grad).max()), float(np.std(grad))))
    least = 1e-3 * max((deviation for _, _, deviation in told), default=0.0)
    worst = [(apart / max(deviation, least, 1e-300), path) for path, apart, deviation in told]
    return max(worst, default=(0.0, ""))


def _parts(made: Sequence[Made], mine: Mapping[str, Tensor]) -> Iterator[list[Made]]:
    """Rules whose weights have at most an eighth of all elements, or so many."""
    limit = max(_FEW, sum(one.numel() for one in mine.values()) // 8)
    part: list[Made] = []
    count = 0
    for one in made:
        size = sum(mine[path].numel() for path in one.ours)
        if part and count + size > limit:
            yield part
            part, count = [], 0
        part.append(one)
        count += size
    if part:
        yield part


def _slopes(result: Tensor, along: Tensor, weights: list[Tensor]) -> list[Tensor]:
    """The gradients of a sum of results, each times a number; nothing where a weight has no part in it."""
    found = torch.autograd.grad((result * along).sum(), weights, allow_unused=True, retain_graph=True)
    return [torch.zeros_like(weight) if one is None else one for one, weight in zip(found, weights, strict=True)]


# -- where they differ ---------------------------------------------------------------------------------------------


def _where(
    uses: WeightUses, owners: Mapping[str, str], ours: Any, run: Inputs, about: Mapping[str, Any], dtype: torch.dtype
) -> str:
    """The first map, in their order, that reads other values than ours: what stands before it differs."""
    given = _ours(run, about, dtype)
    own = WeightUses(listen(ours, given, lambda: ours(**given), run.batch), parameters(ours), {})
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


def _owners(module: torch.nn.Module, made: Sequence[Made]) -> dict[str, str]:
    """The parameter of theirs, by its first name, of which each weight of ours is made, or the first of several."""
    first = {id(one): name for name, one in module.named_parameters()}
    names = {name: first[id(one)] for name, one in module.named_parameters(remove_duplicate=False)}
    return {path: names.get(one.theirs[0], "") for one in made for path in one.ours}
