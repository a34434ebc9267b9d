"""Models of the Hugging Face hub: from a folder of theirs to a spec with its weights, checked, drawn and run.

    attnc.hub.import_folder("TinyLlama", "tiny")           # as `attnc import TinyLlama --to tiny`
    net = attnc.hub.open("tiny").torch()                   # an nn.Module with its weights
    attnc.hub.export_folder("tiny", "served")              # and back, as `attnc export tiny --to transformers`

Nothing of a folder is run or unpickled: config.json, safetensors and tokenizer.json are read. `adopt` runs what it is
given: a PyTorch module of the user's own.

    attnc.hub.adopt("mypackage.model:make_model", "mine")  # as `attnc adopt mypackage.model:make_model --to mine`
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .adapter import Adapter
from .adapters import adapters
from .exporting import export_folder, export_model
from .imported import Imported, open
from .importing import import_folder
from .problem import HubError

if TYPE_CHECKING:
    from .adopting.adopt import Adopted, adopt
    from .adopting.verifying import Verdict, check_adopted

__all__ = [
    "Adapter",
    "Adopted",
    "HubError",
    "Imported",
    "Verdict",
    "adapters",
    "adopt",
    "check_adopted",
    "export_folder",
    "export_model",
    "import_folder",
    "open",
]

_LATE = {"Adopted": "adopt", "adopt": "adopt", "Verdict": "verifying", "check_adopted": "verifying"}


def __getattr__(name: str) -> Any:
    """What needs PyTorch is imported when it is asked for."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.adopting.{_LATE[name]}"), name)
