"""`attnc export`: a folder for others, written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from ...spec import Model
from ...weights.convert import in_parts
from ...weights.files import largest_file, save_parts
from ...weights.files import load as load_weights
from ..folder import CONFIG, whole_folder
from ..imported import open
from ..importing import INDEX, WEIGHTS
from ..problem import HubError
from .known import write_known
from .modelling import modelling
from .programs import write_programs
from .readme import README, readme

TARGETS = ("transformers", "onnx", "torch-export")
Place = str | os.PathLike[str]


def export_folder(
    source: Place, target: Place, to: str = "transformers", *, weights: Place | None = None, room: int | None = None
) -> None:
    """Write a folder that `attnc import` wrote to another one, `target`, which must not be there yet.

    to:      "transformers": as the published model, with its config.json and tokenizer; "onnx" or "torch-export": as
             programs, `prepare` and `step` where it decodes, else `forward`.
    weights: of the spec, trained further, in place of the folder's: a safetensors file, or the index of several.
    room:    of programs: how many items a row may have.

    Raises HubError for what cannot be exported, WeightsError for weights that are not the spec's, OSError. Nothing is
    left behind then.
    """
    imported = open(Path(source))
    file = Path(weights) if weights is not None else imported.path / WEIGHTS
    if weights is None and not file.is_file():
        file = imported.path / INDEX
    given = load_weights(file)
    with _draft(Path(target), to) as draft:
        if to == "transformers":
            write_known(imported, given, largest_file(file), draft)
            names = []
        else:
            names = write_programs(imported.model, given, to, room, draft)
        (draft / README).write_text(readme(imported.model.name, Path(target).name, to, names, False), encoding="utf-8")


def export_model(
    model: Model, weights: Place, target: Place, to: str = "transformers", *, room: int | None = None
) -> None:
    """Write a model of your own with its weights, a safetensors file or the index of several, to a folder.

    to: "transformers": with a modelling file of its own, which `trust_remote_code=True` loads. All else as in
        `export_folder`.
    """
    given = load_weights(weights)
    _fitting(model, given, Path(weights))
    with _draft(Path(target), to) as draft:
        if to == "transformers":
            module = f"modeling_{model.name}"
            made = modelling(model, module, _dtype(given))
            (draft / f"{module}.py").write_text(made.text, encoding="utf-8")
            (draft / CONFIG).write_text(json.dumps(made.config, indent=2) + "\n", encoding="utf-8")
            named = ([(f"net.{path}", array)] for path, array in given.items())
            save_parts(draft, "model", in_parts(named, largest_file(Path(weights))), {"format": "pt"})
            names = []
        else:
            names = write_programs(model, given, to, room, draft)
        (draft / README).write_text(readme(model.name, Path(target).name, to, names, True), encoding="utf-8")


def _draft(target: Path, to: str) -> AbstractContextManager[Path]:
    if to not in TARGETS:
        raise HubError(f"export goes to {', '.join(TARGETS)}, not to {to!r}")
    return whole_folder(target)


def _fitting(model: Model, given: Mapping[str, Any], file: Path) -> None:
    """Raises HubError for weights that are not those of the model."""
    wrong = [f"no {spec}" for path, spec in model.weights.items() if path not in given]
    wrong += [f"{path}, which the model has not" for path in given if path not in model.weights]
    wrong += [
        f"{list(given[path].shape)} for {spec}"
        for path, spec in model.weights.items()
        if path in given and given[path].shape != spec.shape
    ]
    if wrong:
        more = f", and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise HubError(f"{file}: these are not the weights of `{model.name}`: it has {'; '.join(wrong[:3])}{more}")


def _dtype(weights: Mapping[str, Any]) -> str:
    """The type that config.json names: transformers makes all weights of it, so it must hold them all."""
    types = {str(array.dtype) for array in weights.values()}
    return types.pop() if len(types) == 1 else "float64" if "float64" in types else "float32"
