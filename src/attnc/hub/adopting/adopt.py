"""`attnc adopt`: from a module of the user's to a folder with its spec, map and weights, and what was measured."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ...dsl.errors import AttnError
from ...spec import Model, load
from ...version import __version__
from ...weights.convert import convert
from ...weights.files import save
from ...weights.maps import Map
from ..folder import whole_folder
from ..importing import ABOUT, LENGTH, WEIGHTS
from ..problem import HubError
from .attention import BASES, NotUnderstood, bases_of
from .composing import Composed, compose
from .ending import StreamResult
from .listening.factory import module as module_of
from .listening.inputs import Inputs, inputs_of
from .listening.redrawn import redrawn
from .listening.uses import WeightUses
from .mapping import map_text
from .reading import Reading, read
from .verifying import Verdict, compare, epsilons, heard, numbers, parameters


@dataclass(frozen=True, slots=True)
class Adopted:
    """model: of the spec. verdict: what was measured. doubts: what was found not to fit, in words. unused: parameters
    of theirs that the result compared does not hang on.
    """

    model: Model
    verdict: Verdict
    doubts: tuple[str, ...]
    unused: tuple[str, ...]


def adopt(place: str, target: str | Path, inputs: str | None = None, anyway: bool = False) -> Adopted:
    """Read a module, given as `package.module:factory`, and write a folder of its spec to `target`, which must be new.

    inputs: `package.module:function`, which gives the arguments of one call; None: they are guessed. anyway: the folder
    is written where results differ, too: the verdict and the doubts say so, and the README.

    The user's package is imported, and the module run, on random inputs, its weights random for that time. Raises
    HubError where the module is not understood, with the parameters that found no place, and where what was made of it
    does not compute the same; nothing is written then.
    """
    module = module_of(place)
    given = inputs_of(module, inputs)
    name = _name(type(module).__name__)
    with whole_folder(Path(target)) as draft:
        with redrawn(module, given, draft) as dtype:
            read, doubts, unused = _read(module, given, dtype, name, place)
            gc.collect()  # the run: its steps and values hold each other
            about = {"attnc": __version__, "adopted": place, "given": inputs, **read.about}
            model, map = _written(draft, about, read.spec, read.map)
            verdict = compare(module, given, dtype, model, map, about)
        adopted = Adopted(model, verdict, doubts, unused)
        if not verdict.same and not anyway:
            raise HubError(_differs(adopted, place))
        weights = {one: tensor.detach() for one, tensor in module.state_dict().items()}
        save(draft / WEIGHTS, convert(weights, map, model))
        model.draw().save(draft / "figure.svg")
        widths: dict[str, Any] = {
            axis.name: min(LENGTH, axis.bound or LENGTH)
            for entry in model.graph.inputs
            for axis in entry.value.type.axes
            if axis.extent is None
        }
        (draft / "cost.txt").write_text(f"{model.cost(**widths)}\n", encoding="utf-8")
        (draft / "check.py").write_text(_check(name, place), encoding="utf-8")
        (draft / "README.md").write_text(_readme(adopted, Path(target).name, name, place), encoding="utf-8")
    return adopted


def _written(draft: Path, about: dict[str, Any], spec: str, map: str) -> tuple[Model, Map]:
    """The spec and the map, on disk and read again. Raises HubError where the spec is refused."""
    (draft / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    (draft / about["spec"]).write_text(spec, encoding="utf-8")
    (draft / about["map"]).write_text(map, encoding="utf-8")
    try:
        return load(draft / about["spec"]).model(about["model"]), Map.read(draft / about["map"])
    except AttnError as wrong:
        said = "; ".join(dict.fromkeys(one.message for one in wrong.diagnostics))
        raise HubError(f"{about['adopted']}: the spec that was made of it is refused: {said}") from None


def _differs(adopted: Adopted, place: str) -> str:
    """One line: what was not read, or where results begin to differ."""
    said = "; ".join(adopted.doubts[:2]) or adopted.verdict.where or "nothing was found that does not fit"
    return (
        f"{place}: what was read of it does not compute the same (results are {adopted.verdict.outputs:.1e} of the "
        f"standard deviation away, gradients {adopted.verdict.gradients:.1e}): {said}. To have it none the less, to be "
        "mended: --anyway"
    )


@dataclass(frozen=True, slots=True)
class _Texts:
    spec: str
    map: str
    about: dict[str, Any]


def _read(
    module: torch.nn.Module, given: Inputs, dtype: torch.dtype, name: str, place: str
) -> tuple[_Texts, tuple[str, ...], tuple[str, ...]]:
    """What a run shows of the module, with weights drawn anew: texts, doubts, and what is unused; nothing that holds
    the run. Raises HubError for what is not understood.
    """
    uses = WeightUses(heard(module, given.again(5), dtype), parameters(module), epsilons(module))
    try:
        reading = read(uses, _bases(module, uses))
    except NotUnderstood as unread:
        raise HubError(f"{type(module).__name__} is not understood: {unread}") from None
    composed, map = _composed(module, reading, uses, name, place)
    results = sorted(reading.decoder.ending.results, key=lambda one: one.index)
    about = {
        "spec": f"{name}.attn",
        "model": name,
        "map": f"{name}.map",
        "inputs": composed.inputs,
        "results": [one.index for one in results] or [0],
        "last": [_last(reading, one) for one in results] or [False],
    }
    needed = _needed(reading, uses)
    unused = tuple(one for one in parameters(module) if one not in needed)
    return _Texts(composed.text, map, about), tuple(reading.doubts), unused


def _bases(module: torch.nn.Module, uses: WeightUses) -> list[float]:
    """What stands in its modules as a base of rotary positions, what its tables of cosines show, and the usual ones."""
    told = [float(value) for value in numbers(module, "theta", "base") if value > 1]
    return list(dict.fromkeys([*told, *bases_of(uses.trace), *BASES]))


def _composed(
    module: torch.nn.Module, reading: Reading, uses: WeightUses, name: str, place: str
) -> tuple[Composed, str]:
    """The spec and the map. Raises HubError where weights are used that found no place in it."""
    head = f"Adopted by attnc {__version__} from {place} ({type(module).__name__})."
    try:
        composed = compose(reading, name, head, uses.trace.names)
        names = {one for pieces in composed.weights.values() for piece in pieces for one in _names(piece)}
        needed = _needed(reading, uses)
        lost = [one for one in parameters(module) if one in needed and one not in names]
        if lost:
            more = f", and {len(lost) - 8} more" if len(lost) > 8 else ""
            told = "".join(f"; {doubt}" for doubt in reading.doubts[:3])
            raise HubError(
                f"{type(module).__name__}: no place was found for {', '.join(f'`{one}`' for one in lost[:8])}{more}, "
                f"which the module uses{told}"
            )
        shapes = {one: tuple(weight.shape) for one, weight in module.named_parameters()}
        firsts = {id(weight): one for one, weight in module.named_parameters()}
        every = [*module.named_parameters(remove_duplicate=False)]
        ties = [(one, firsts[id(weight)]) for one, weight in every if firsts[id(weight)] != one]
        ties = [(alias, one) for alias, one in ties if one in names]
        tied = {alias for alias, _ in ties}
        ignored = [one for one in module.state_dict() if one not in names and one not in tied]
        text = map_text(composed.weights, shapes, ties, ignored, f"{place} ({type(module).__name__}) -> {name}.attn")
    except NotUnderstood as unread:
        raise HubError(f"{type(module).__name__} is not understood: {unread}") from None
    return composed, text


def _names(piece: Any) -> Sequence[str]:
    return getattr(piece, "names", (piece.name,))


def _needed(reading: Reading, uses: WeightUses) -> set[str]:
    """The parameters that the results hang on that the spec has."""
    kept = [one.index for one in reading.decoder.ending.results] or [0]
    return set[str]().union(*(uses.trace.behind(uses.trace.results[index]) for index in kept))


def _last(reading: Reading, result: StreamResult) -> bool:
    moves = reading.decoder.ending.moves[: result.behind]
    return ("pool", "last") in moves and reading.decoder.is_causal


def _name(kind: str) -> str:
    """A model's name in the language, of a class's: `my_gpt` of `MyGPT`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind).lower().strip("_") or "adopted"


def _check(name: str, place: str) -> str:
    return f'''"""Whether {name}.attn still computes what {place} does: results and gradients."""

from pathlib import Path

from attnc.hub import check_adopted

if __name__ == "__main__":
    verdict = check_adopted(Path(__file__).parent)
    print(verdict)
    raise SystemExit(0 if verdict.same else 1)
'''


def _readme(adopted: Adopted, folder: str, name: str, place: str) -> str:
    verdict = adopted.verdict
    but = f",{verdict.but}" if verdict.but else ""
    said = f"It computes the same{but}" if verdict.same else "**It does not compute the same**"
    doubts = "".join(f"- {doubt}\n" for doubt in adopted.doubts)
    doubts = f"\nWhat did not fit when it was read:\n\n{doubts}" if doubts else ""
    unused = "".join(f"- `{one}`\n" for one in adopted.unused)
    unused = f"\nParameters that this result does not hang on, and that the map ignores:\n\n{unused}" if unused else ""
    return f"""# {name}

`{place}` as an attnc spec. `{name}.attn` is the model; `{name}.map` says which weight is which;
`weights.safetensors` has the module's own weights under the spec's names; `figure.svg` is the diagram, `cost.txt` what
it costs.

{said}: {verdict}.
{doubts}{unused}
```console
$ python {folder}/check.py                         # compare again: it runs your module
$ attnc draw {folder}/{name}.attn -o figure.pdf    # the figure, in other formats and styles
```

```python
import attnc

weights = attnc.weights.load("{folder}/weights.safetensors")
net = attnc.load("{folder}/{name}.attn").model("{name}").torch(weights=weights)
```
"""
