"""A published model's folder: config.json, generation_config.json, safetensors. Nothing in it is run or unpickled."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..dsl.nested import from_json
from .problem import HubError, of_kind

CONFIG, GENERATION = "config.json", "generation_config.json"
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack")
TOKENIZER = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja",
    "preprocessor_config.json",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class HubFolder:
    """config, generation: what the files say; without one, nothing."""

    path: Path
    config: Mapping[str, Any]
    generation: Mapping[str, Any]

    @property
    def model_type(self) -> str:
        return str(self.config["model_type"])

    def weights(self) -> Path:
        """A file, or the index of several. Raises HubError where there are none."""
        return _weights(self.path)

    @staticmethod
    def read(path: Path) -> HubFolder:
        """Raises HubError for what is missing or not what its name says."""
        if not path.is_dir():
            raise HubError(
                f"{path}: this is {'a file' if path.exists() else 'no folder'}: give a model's folder, with {CONFIG}"
            )
        config = read_json(path / CONFIG)
        generation = read_json(path / GENERATION) if (path / GENERATION).exists() else {}
        if "model_type" not in config:
            raise HubError(f"{path / CONFIG}: it does not say its `model_type`")
        of_kind("model_type", config["model_type"], "text", str(path / CONFIG))
        return HubFolder(path, config, generation)


def read_json(path: Path) -> dict[str, Any]:
    """An object. Raises HubError."""
    try:
        found = from_json(path.read_bytes(), _number)
    except FileNotFoundError:
        raise HubError(f"{path.parent}: it has no {path.name}") from None
    except ValueError as wrong:
        raise HubError(f"{path}: this cannot be read as JSON: {' '.join(str(wrong).split())}") from None
    if not isinstance(found, dict):
        raise HubError(f"{path}: this is no JSON object")
    return found


def _number(table: dict[str, Any]) -> Any:
    """Theirs for what JSON has no number for: `{"__float__": "Infinity"}`."""
    return float(table["__float__"]) if table.keys() == {"__float__"} else table


def _weights(path: Path) -> Path:
    for name in _WEIGHTS:
        if (path / name).is_file():
            return path / name
    others = sorted(file.name for file in path.iterdir())
    alone = [name for name in others if name.endswith(".safetensors")]
    if len(alone) == 1:
        return path / alone[0]
    if any(name.endswith(_PICKLED) for name in others):
        raise HubError(
            f"{path}: its weights are pickled, which can run code: load them in transformers and "
            "`save_pretrained(FOLDER)`, which writes safetensors"
        )
    raise HubError(f"{path}: it has no {' and no '.join(_WEIGHTS)}")


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Where to write a folder that is to be there whole or not at all: beside `target`, which must not be there yet.

    Raises HubError if it is.
    """
    if target.exists():
        raise HubError(f"{target}: it is there already: name another folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}-{os.urandom(4).hex()}")
    draft.mkdir()
    try:
        yield draft
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
