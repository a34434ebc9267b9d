"""The properties that every generated program must have. A broken one raises `Fault`, which says which."""

from __future__ import annotations

import re
import sys
import tempfile
import types
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import attnc
from tests.backends.written import written

from .meant import misjudged, speaks_of_meaning, weights_misjudged
from .named import Arr, noting_infinities, rounded_otherwise
from .program import Program, Weights

external = types.ModuleType("attnc_soundness_external")
external.__dict__.update(doubled=lambda x: x * 2 + 1, centred=lambda x: x - x.mean(-1)[..., None])
sys.modules.setdefault("attnc_soundness_external", external)

Array = np.ndarray[Any, np.dtype[Any]]
DETERMINISTIC, SINGLE, GRADIENTS = 7, 3, 2  # in every so many programs


class Fault(AssertionError):
    """kind: the property; sign: what is the same as it shrinks."""

    def __init__(self, kind: str, detail: str, sign: str = "") -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind, self.sign = kind, sign


@dataclass
class Report:
    """What was looked at: claims of causality proved, gradients compared, inputs of which picks left something out, and
    what rounding made incomparable.
    """

    proved: int = 0
    gradients: int = 0
    hidden: int = 0
    ill: int = 0


def load(text: str, program: Program) -> attnc.Spec:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in program.files.items():
            (Path(folder) / name).write_text(content)
        return attnc.loads(text, base=folder, config=program.config, sizes=program.sizes)


def accepted(program: Program) -> attnc.Spec:
    try:
        spec = load(program.text, program)
    except attnc.AttnError as error:
        codes = [d.code for d in error.diagnostics if d.code.startswith("E")]
        raise Fault("refused", str(error), str(sorted(set(codes)))) from None
    except Exception as error:
        raise Fault("checker raised", repr(error), repr(type(error))) from error
    _warned(spec, program)
    return spec


def _warned(spec: attnc.Spec, program: Program) -> None:
    """What looks like a slip is warned of where it was written, and nowhere else."""
    found = {warning.code for warning in spec.warnings if warning.code >= "W0505" and not speaks_of_meaning(warning)}
    written = {code for code, text in program.slips if _stands(text, program.model.text())}
    models = [unit for unit in program.units if unit.keyword == "model"]
    masks = [formal.val for unit in models for formal in unit.formals if formal.val.element == "bool"]
    if any(len(mask.axes) == 1 for mask in masks) and any(axis.ragged for axis in program.axes):
        written |= found & {"W0505"}  # as a mask it may stand anywhere, and a sum of widths is ragged too
    if found != written:
        raise Fault("warned", f"of {sorted(found)}, but there is {sorted(written)}", str(sorted(found ^ written)))
    wrong = misjudged([warning for warning in spec.warnings if speaks_of_meaning(warning)], program)
    if wrong is not None:
        raise Fault("not meant", wrong, wrong[:20])


def _stands(text: str, within: str) -> bool:
    """`seq <= seq` does not stand in `past_seq <= seq`."""
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", within) is not None


def arrays(result: Any) -> list[Array]:
    parts = result if isinstance(result, tuple) else (result,)
    return [part.detach().numpy() if isinstance(part, torch.Tensor) else np.asarray(part) for part in parts]


def data(inputs: Mapping[str, Arr], program: Program, dtype: type) -> dict[str, Array]:
    given = {name: arr.data for name, arr in inputs.items() if name not in program.omitted}
    return {name: x.astype(dtype) if x.dtype.kind == "f" else x for name, x in given.items()}


def lengths(model: attnc.Model, program: Program) -> dict[str, Arr]:
    """The inputs that say how long each example is; they go by whichever axis of the family was declared first."""
    families = {f"{axis.name}_lengths": axis.family for axis in program.axes if axis.ragged}
    found = program.lengths()
    batch = tuple(f"#{i}" for i in range(len(program.batch)))
    extra = [port.name for port in model.inputs if port.name not in {formal.name for formal in program.model.formals}]
    return {name: Arr(found[families[name]], batch) for name in extra}


def on_torch(module: torch.nn.Module, values: Mapping[str, Array]) -> list[Array]:
    with torch.no_grad():
        return arrays(module(**{name: torch.as_tensor(x) for name, x in values.items()}))


def running(what: str, f: Any, *args: Any, **more: Any) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return f(*args, **more)
    except Exception as error:
        message = re.sub(r"\d+", "0", str(error))[:60]
        raise Fault(
            f"{what} raised", f"{type(error).__name__}: {error}", f"{type(error).__name__} {message}"
        ) from error


def far(a: Array, b: Array, floor: float = 1e-3) -> float:
    """How far apart, relative to the size of b, or to `floor` where that is less. Where b is of nothing, a may be any
    number.
    """
    if a.shape != b.shape:
        return np.inf
    if isinstance(b, np.ma.MaskedArray):
        a, b = np.where(b.mask & np.isfinite(a), 0, a), np.where(b.mask, 0, b.data)
    if a.dtype.kind in "bi" and b.dtype.kind in "bi":
        return float(not np.array_equal(a, b))
    a, b = a.astype(float), b.astype(float)
    known = np.isfinite(b)  # what is no number must be the same one
    if not np.array_equal(a[~known], b[~known], equal_nan=True) or not np.isfinite(a[known]).all():
        return np.inf
    a, b = a[known], b[known]
    return float(np.abs(a - b).max() / max(float(b.std()), float(np.abs(b).max()), floor)) if a.size else 0.0


def judge(program: Program, report: Report | None = None) -> Report:
    """What costs much and seldom finds anything is looked at in every so many programs, by their seeds."""
    report = report or Report()
    spec = accepted(program)
    model = spec.model("net")
    weights = Weights(program.seed)
    inputs = program.inputs() | lengths(model, program)
    odd: list[str] = []  # infinities, and what comes of them
    with (
        noting_infinities() as infinite,
        np.errstate(over="call", divide="call", invalid="call", call=lambda kind, flag: odd.append(kind)),
    ):
        meant = program.evaluate(inputs, weights)
    shapes = {path: tuple(weight.shape) for path, weight in model.weights.items()}
    ours = {path: array.shape for path, array in weights.arrays.items()}
    if shapes != ours:
        raise Fault("weights", f"the model has {shapes}, but the spec says {ours}")
    module = running("torch", lambda: model.torch(dtype=torch.float64, weights=weights.arrays).eval())
    state = {key: tuple(value.shape) for key, value in module.state_dict().items()}
    if state != shapes:
        raise Fault("state dict", f"{state} is not {shapes}")
    idle = [warning for warning in spec.warnings if warning.code == "W0521"]
    if idle or program.seed % GRADIENTS == 0:
        wrong = weights_misjudged(
            idle, module, shapes, lambda seed: data(program.inputs(seed) | lengths(model, program), program, np.float64)
        )
        if wrong is not None:
            raise Fault("never learns", wrong, wrong[-20:])
    if program.seed % DETERMINISTIC == 0:
        _deterministic(model, program)
    values = data(inputs, program, np.float64)
    finite = all(np.isfinite(np.ma.filled(x.astype(float), 0)).all() for x in meant)
    from_torch = running("torch", on_torch, module, values)
    with np.errstate(all="ignore" if odd else None):  # then NumPy may warn of them too
        from_numpy = running("numpy", lambda: arrays(model.numpy(weights.arrays, dtype=np.float64)(**values)))
        ill = _compared(program, meant, from_torch, from_numpy, inputs, weights) or not finite
        if program.seed % SINGLE == 0:
            _single(model, program, inputs)
    report.ill += ill
    if not ill:
        report.proved += _causal(program, module, inputs)
        if program.seed % GRADIENTS == 0:
            report.gradients += _gradients(model, module, program, values, bool(infinite))
        report.hidden += _forbidden(model, module, program, inputs, weights)
    return report


def _deterministic(model: attnc.Model, program: Program) -> None:
    again = load(program.text, program).model("net")
    for backend in ("torch", "numpy"):
        if running(backend, written, model, backend) != written(again, backend):
            raise Fault("deterministic", f"the {backend} source differs from run to run")


def _compared(
    program: Program, meant: Sequence[Array], from_torch: Sequence[Array], from_numpy: Sequence[Array],
    inputs: Mapping[str, Arr], weights: Weights,
) -> bool:  # fmt: skip
    """(b) three ways agree, with declared shapes and kinds. True if rounding alone decides too much to compare."""
    ill = False
    for place, (result, want) in enumerate(zip(program.model.results, meant, strict=True)):
        kind = {"real": "f", "bool": "b"}.get(result.val.element, "i")
        for name, found in (("torch", from_torch), ("numpy", from_numpy)):
            got = found[place]
            shown = f"result {place} ({result.text}) of {name}"
            if got.shape != want.shape:
                raise Fault("shape", f"{shown}: {got.shape} is not {want.shape}", name)
            if got.dtype.kind != kind or (kind == "f" and got.dtype != np.float64):
                raise Fault("kind", f"{shown}: {got.dtype}", name)
            gap = far(got, want)
            if isinstance(want, np.ma.MaskedArray) and far(from_torch[place], from_numpy[place]) > gap:
                gap = far(from_torch[place], from_numpy[place])  # of nothing the backends say the same
            if gap > 1e-10:
                if _unstable(program, place, inputs, weights, gap):
                    ill = True
                    continue
                both = far(from_torch[place], from_numpy[place]) > 1e-10
                raise Fault("value", f"{shown}: off by {gap:.3g}\n{got}\nis not\n{want}", f"{name} {both}")
    return ill


def _unstable(program: Program, place: int, inputs: Mapping[str, Arr], weights: Weights, gap: float) -> bool:
    """Whether changes of the last bit of the inputs and weights change the meaning as much. Of a small gap, also of
    what is made of them: tanh hides what it is given near 1, and what lies so near together may be divided again.
    """
    draw = np.random.default_rng(0)

    def shaken(x: Array) -> Array:
        return x * (1 + 1e-15 * draw.normal(size=x.shape)) if x.dtype.kind == "f" else x

    want = program.evaluate(inputs, weights)[place]
    for _ in range(3):
        moved = {name: replace(arr, data=shaken(arr.data)) for name, arr in inputs.items()}
        other = Weights(weights.seed, {path: shaken(array) for path, array in weights.arrays.items()})
        with rounded_otherwise(draw) if gap < 1e-6 else nullcontext():
            found = program.evaluate(moved, other)[place]
        if far(found, want) * 30 > gap:
            return True
    return False


def _single(model: attnc.Model, program: Program, inputs: Mapping[str, Arr]) -> None:
    """float32 stays float32, and the backends agree as far as it goes; one seed gives both the same weights."""
    values = data(inputs, program, np.float32)
    from_torch = running("torch float32", lambda: on_torch(model.torch(dtype=torch.float32, seed=1).eval(), values))
    from_numpy = running("numpy float32", lambda: arrays(model.numpy(seed=1, dtype=np.float32)(**values)))
    exact = model.torch(dtype=torch.float64, seed=1).eval()
    double = running("torch", on_torch, exact, data(inputs, program, np.float64))
    for place, (a, b, c) in enumerate(zip(from_torch, from_numpy, double, strict=True)):
        if program.model.results[place].val.element != "real" or not np.isfinite(c).all():
            continue
        for name, got in (("torch", a), ("numpy", b)):
            if got.dtype != np.float32:
                raise Fault("float32", f"result {place} of {name} is {got.dtype}", name)
        gap = far(a, b, 0.1)
        if gap > 1e-3 + 20 * far(a, c, 0.1) and not _unstable_in_single(program, place, inputs, exact, gap):
            raise Fault("float32", f"result {place}: {far(a, b):.3g} apart, {far(a, c):.3g} from double")


def _unstable_in_single(
    program: Program, place: int, inputs: Mapping[str, Arr], exact: torch.nn.Module, gap: float
) -> bool:
    """Whether rounding to float32 may change the meaning as much, going by what rounding to float64 changes."""
    weights = Weights(program.seed, {path: weight.numpy() for path, weight in exact.state_dict().items()})
    want, draw = program.evaluate(inputs, weights)[place], np.random.default_rng(0)
    for _ in range(3):
        with rounded_otherwise(draw):
            found = program.evaluate(inputs, weights)[place]
        if far(found, want, 0.1) * 2**29 * 100 > gap:
            return True
    return False


def _gradients(
    model: attnc.Model, module: torch.nn.Module, program: Program, values: Mapping[str, Array], infinite: bool
) -> int:  # fmt: skip
    """(c) the derivative along a random direction is what central differences say.

    What goes by way of an infinite value may have none: that of tanh there is 0 times infinity.
    """
    leaves = {name: torch.as_tensor(x) for name, x in values.items()}
    frozen = {path for path, weight in model.weights.items() if weight.frozen}
    moving = [x.requires_grad_() for x in leaves.values() if x.is_floating_point()]
    for path, parameter in module.named_parameters():
        if parameter.requires_grad == (path in frozen):
            raise Fault("frozen", f"{path} is {'' if parameter.requires_grad else 'not '}trained")
        if parameter.requires_grad:
            moving.append(parameter)
    draw = torch.Generator().manual_seed(program.seed)

    def total() -> torch.Tensor:
        result = module(**leaves)
        parts = [x for x in (result if isinstance(result, tuple) else (result,)) if x.is_floating_point()]
        return sum((x.tanh().sum() for x in parts), torch.zeros((), dtype=torch.float64))

    value = running("torch with gradients", total)
    if not value.requires_grad or not moving:
        return 0
    grads = running("gradient", torch.autograd.grad, value, moving, allow_unused=True)
    steps = [torch.randn(x.shape, generator=draw, dtype=torch.float64) for x in moving]
    slope = sum(float((g * d).sum()) for g, d in zip(grads, steps, strict=True) if g is not None)

    def at(eps: float) -> float:
        with torch.no_grad():
            for x, d in zip(moving, steps, strict=True):
                x += eps * d
            found = float(total())
            for x, d in zip(moving, steps, strict=True):
                x -= eps * d
        return found

    slopes = [(at(eps) - at(-eps)) / (2 * eps) for eps in (1e-5, 1e-6, 1e-7)]
    gaps = [abs(slope - other) / max(abs(slope), abs(other), 1.0) for other in slopes]
    spread = max(slopes) - min(slopes)
    if slope != slope and infinite:
        return 0
    if not min(gaps) < 1e-3:
        if spread > 0.05 * max(1.0, *map(abs, slopes)):  # a step or a kink lies here
            return 0
        raise Fault("gradient", f"{slope} is not {slopes}", "nan" if slope != slope else "")
    return 1


def _forbidden(
    model: attnc.Model, module: torch.nn.Module, program: Program, inputs: Mapping[str, Arr], weights: Weights
) -> int:  # fmt: skip
    """What no pick may be of, or is read at no pick, may be no number: values and gradients do not tell."""
    spoiled = dict(inputs)
    with np.errstate(all="ignore"):
        matters = program.matters(inputs, weights)
    for name, matter in matters.items():
        arr = inputs[name]
        spoiled[name] = replace(arr, data=np.where(matter.along(arr.axes), arr.data, np.nan))
    hidden = [name for name in matters if not np.isfinite(spoiled[name].data).all() and name not in program.omitted]
    if not hidden:
        return 0
    function = model.numpy(weights.arrays, dtype=np.float64)

    def seen(given: Mapping[str, Arr]) -> list[Array]:
        values = data(given, program, np.float64)
        with np.errstate(all="ignore"):
            found = arrays(function(**values))
        leaves = {name: torch.as_tensor(x) for name, x in values.items()}
        moving = [x.requires_grad_() for x in leaves.values() if x.is_floating_point()]
        moving += [parameter for parameter in module.parameters() if parameter.requires_grad]
        result = module(**leaves)
        parts = [*result] if isinstance(result, tuple) else [result]
        found += [x.detach().numpy() for x in parts]
        real = [x.tanh().sum() for x in parts if x.requires_grad]
        grads = torch.autograd.grad(sum(real[1:], real[0]), moving, allow_unused=True) if real else []
        return [*found, *(np.zeros(()) if g is None else g.numpy() for g in grads)]

    count = 2 * len(program.model.results)
    for place, (a, b) in enumerate(zip(seen(inputs), seen(spoiled), strict=True)):
        if not np.allclose(b, a, 1e-9, 1e-12, equal_nan=True):
            what = f"result {place % (count // 2)}" if place < count else f"gradient {place - count}"
            raise Fault("forbidden", f"{what} tells what is in {hidden} where no pick is\n{a}\nis not\n{b}", what[:6])
    return len(hidden)


CLAIM = re.compile(r" causal \w+")


def _causal(program: Program, module: torch.nn.Module, inputs: Mapping[str, Arr]) -> int:
    """(d) claim every result causal along its widths; what is proved does not change with the future."""
    proved = 0
    model = program.model
    for width in dict.fromkeys(a for r in model.results for a in r.axes if a.width):
        claimed = [replace(r, causal=width if width in r.axes else None) for r in model.results]
        tried = replace(program, units=(*program.units[:-1], replace(model, results=tuple(claimed))))
        try:
            load(tried.text, tried)
        except attnc.AttnError as error:
            if any(d.code.startswith("E") and d.code != "E0701" for d in error.diagnostics):
                raise Fault("refused", f"with claims of causality: {error}", "causal") from None
            lost = sum(d.code == "E0701" for d in error.diagnostics)  # two that leak at one place may be told as one
            if lost == sum(r.causal is not None for r in claimed):
                continue
            held = []
            for place, result in enumerate(claimed):
                alone = [replace(r, causal=r.causal if at == place else None) for at, r in enumerate(claimed)]
                one = replace(program, units=(*program.units[:-1], replace(model, results=tuple(alone))))
                try:
                    load(one.text, one)
                    held.append(result.causal is not None)
                except attnc.AttnError:
                    held.append(False)
        else:
            held = [r.causal is not None for r in claimed]
        if not any(held) or width.size < 2:
            continue
        proved += sum(held)
        _future(program, module, inputs, width.name, width.family, held)
    return proved


def _future(
    program: Program, module: torch.nn.Module, inputs: Mapping[str, Arr], width: str, family: str,
    held: Sequence[bool],
) -> None:  # fmt: skip
    """Change all items after i of every input along the family."""
    names = {axis.name: axis for axis in program.axes}
    size = names[width].size

    def run(given: Mapping[str, Arr]) -> list[Array]:
        return on_torch(module, data(given, program, np.float64))

    before = run(inputs)
    other = program.inputs(seed=1)
    for last in range(size - 1):
        changed = {}
        for name, arr in inputs.items():
            keep = np.ones(arr.data.shape, bool)
            for place, axis in enumerate(arr.axes):
                if axis in names and names[axis].family == family:
                    shape = [1] * arr.data.ndim
                    shape[place] = -1
                    keep &= (np.arange(arr.data.shape[place]) <= last).reshape(shape)
            changed[name] = Arr(np.where(keep, arr.data, other.get(name, arr).data), arr.axes)
        after = run(changed)
        for place, (a, b) in enumerate(zip(before, after, strict=True)):
            if not held[place]:
                continue
            axes = [axis.name for axis in program.model.results[place].axes]
            at = a.ndim - len(axes) + axes.index(width)
            first, second = a.take(range(last + 1), at), b.take(range(last + 1), at)
            if far(first, second) > 1e-9:
                raise Fault(
                    "causal",
                    f"result {place} is proved causal along {width}, but its items up to {last} changed",
                    width,
                )
