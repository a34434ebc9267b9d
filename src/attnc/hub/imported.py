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
from .problem import HubError

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
        return Tokenizer.from_file(str(self.path / TOKENIZER[0]))


def open(path: str | Path) -> Imported:
    """A folder that `attnc import` wrote. Raises HubError if it is none, and as `attnc.load` and `weights.load` do."""
    folder = Path(path)
    if not (folder / ABOUT).is_file():
        raise HubError(f"{folder}: `attnc import` did not write this: it has no {ABOUT}")
    about = read_json(folder / ABOUT)
    weights = folder / WEIGHTS if (folder / WEIGHTS).is_file() else folder / INDEX
    generation = read_json(folder / GENERATION) if (folder / GENERATION).is_file() else {}
    try:
        model = load(folder / Path(about["spec"]).name).model(about["model"])
        map, inputs = folder / Path(about["map"]).name, dict(about["inputs"])
    except (KeyError, LookupError, TypeError):
        raise HubError(f"{folder / ABOUT}: it does not name the spec, the model, the map and the inputs") from None
    config = read_json(folder / CONFIG)
    batched = bool(about.get("batched", True))
    return Imported(folder, model, load_weights(weights), map, inputs, config, generation, batched)
