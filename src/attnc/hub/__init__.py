"""Models of the Hugging Face hub: from a folder of theirs to a spec with its weights, checked, drawn and run.

    attnc.hub.import_folder("TinyLlama", "tiny")           # as `attnc import TinyLlama --to tiny`
    net = attnc.hub.open("tiny").torch()                   # an nn.Module with its weights
    attnc.hub.export_folder("tiny", "served")              # and back, as `attnc export tiny --to transformers`

Nothing of a folder is run or unpickled: config.json, safetensors and tokenizer.json are read.
"""

from .adapter import Adapter
from .adapters import adapters
from .exporting import export_folder, export_model
from .imported import Imported, open
from .importing import import_folder
from .problem import HubError

__all__ = ["Adapter", "HubError", "Imported", "adapters", "export_folder", "export_model", "import_folder", "open"]
