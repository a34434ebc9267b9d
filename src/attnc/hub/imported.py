"""A folder that `attnc import` wrote, opened: the model with its weights, its tokenizer and how it generates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..spec import Model, load
from ..weights.files import Weights
from ..weights.files import load as load_weights
from .folder import CONFIG, GENERATION, TOKENIZER, read_json
from .importing import ABOUT, INDEX, UNUSED, WEIGHTS
from .problem import HubError, as_json

if TYPE_CHECKING:
    import tokenizers
    import torch


@dataclass(frozen=True, slots=True)
class Imported:
    """path: the folder. config, generation: what the published files say. weights: mapped, by the spec's names.
    map: which of theirs they are. inputs: ours, and what theirs are called. batched: whether theirs has examples where
    the spec has no axis for them.
    """

    path: Path
    model: Model
    weights: Weights
    map: Path
    inputs: Mapping[str, str]
    config: Mapping[str, Any]
    generation: Mapping[str, Any]
    batched: bool = True

    def torch(self, **options: Any) -> torch.nn.Module:
        """The model in PyTorch with its weights, for inference: `net.train()` before it is trained further.

        options: of `Model.torch`, such as `dtype` and `device`. The type is that of the file by default.
        """
        return self.model.torch(weights=self.weights, **options).eval()

    @property
    def unused(self) -> Mapping[str, Any]:
        """Arrays of the published file that the spec has no use for, by their names there."""
        file = self.path / UNUSED
        return load_weights(file) if file.is_file() else {}

    @property
    def tokenizes(self) -> bool:
        """Whether the folder has a tokenizer."""
        return (self.path / TOKENIZER[0]).is_file()

    def tokenizer(self) -> tokenizers.Tokenizer:
        """That of the folder. Raises HubError where there is none, or the library is not installed."""
        if not self.tokenizes:
            raise HubError(f"{self.path}: it has no tokenizer.json: give ids, `--ids 1,2,3`, in place of a text")
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise HubError('a prompt in words needs tokenizers: pip install "tokenizers>=0.20"') from None
        file = self.path / TOKENIZER[0]
        try:
            return Tokenizer.from_buffer(file.read_bytes())
        except Exception as wrong:  # the library raises no class of its own
            raise HubError(f"{file}: tokenizers cannot read it: {' '.join(str(wrong).split())[:300]}") from None


def open(path: str | Path) -> Imported:
    """A folder that `attnc import` wrote. Raises HubError if it is none, and as `attnc.load` and `weights.load` do."""
    folder = Path(path)
    if not (folder / ABOUT).is_file():
        raise HubError(f"{folder}: `attnc import` did not write this: it has no {ABOUT}")
    about = read_json(folder / ABOUT)
    weights = folder / WEIGHTS if (folder / WEIGHTS).is_file() else folder / INDEX
    generation = read_json(folder / GENERATION) if (folder / GENERATION).is_file() else {}
    texts, inputs = [about.get(key) for key in ("spec", "model", "map")], about.get("inputs")
    named = isinstance(inputs, dict) and all(isinstance(text, str) for text in (*texts, *inputs.values()))
    if not named or not isinstance(inputs, dict):
        raise HubError(f"{folder / ABOUT}: it does not name the spec, the model, the map and the inputs")
    spec, name, weights_map = (str(text) for text in texts)
    loaded = load(folder / Path(spec).name)
    if name not in loaded.models:
        raise HubError(f"{folder / ABOUT}: {spec} has no model {as_json(name)}")
    model = loaded.model(name)
    config = read_json(folder / CONFIG)
    batched = bool(about.get("batched", True))
    map = folder / Path(weights_map).name
    return Imported(folder, model, load_weights(weights), map, inputs, config, generation, batched)
