"""An imported folder as transformers has it again: the map backwards, its configuration, its tokenizer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ...weights.convert import in_parts, unconverted
from ...weights.files import Array, save_parts
from ...weights.maps import Map
from ..folder import CONFIG, GENERATION, TOKENIZER, read_json
from ..imported import Imported
from ..importing import ABOUT, sha256
from ..problem import HubError


def write_known(imported: Imported, weights: Mapping[str, Any], limit: int, draft: Path) -> None:
    """Into an empty folder, in files of at most `limit` bytes.

    Raises HubError for a folder that is not as it was imported, WeightsError for weights that are not the spec's.
    """
    _as_imported(imported)
    names = read_json(imported.path / ABOUT).get("names")  # where the map leaves a choice, as they were
    made = unconverted(weights, Map.read(imported.map), imported.model, names)
    limit += sum(array.nbytes for array in imported.unused.values())  # of the files that it came in, which had these
    save_parts(draft, "model", in_parts(_with_unused(made, imported.unused), limit), {"format": "pt"})
    for file in (GENERATION, *TOKENIZER):
        if (imported.path / file).is_file():
            shutil.copyfile(imported.path / file, draft / file)
    config = dict(imported.config)
    types = {str(array.dtype) for array in weights.values()}
    if len(types) == 1:  # they may have been trained in another
        config["dtype"] = types.pop()
        config.pop("torch_dtype", None)
    (draft / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _with_unused(
    made: Iterable[list[tuple[str, Array]]], unused: Mapping[str, Array]
) -> Iterator[list[tuple[str, Array]]]:
    """And what the spec does not use of the published file, such as another head's weights."""
    names: set[str] = set()
    for some in made:
        names.update(name for name, _ in some)
        yield some
    for name in unused:
        if name not in names:
            yield [(name, unused[name])]


def _as_imported(imported: Imported) -> None:
    """A spec that was edited since may be another model, which the published code would not compute."""
    told = read_json(imported.path / ABOUT).get("sha256")
    if not isinstance(told, dict):
        raise HubError(f"{imported.path / ABOUT}: it does not say how its files were: import the model again")
    for file, digest in told.items():
        if sha256(imported.path / Path(file).name) != digest:
            spec = next(iter(told))
            raise HubError(
                f"{imported.path / file}: it was changed since the import, so that this may be no "
                f"`{imported.config.get('model_type')}` any more. As a model of its own: "
                f"attnc export {imported.path / spec}:{imported.model.name} --weights FILE --to transformers --out DIR"
            )
