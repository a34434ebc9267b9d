"""attnc: one text file describes an attention architecture; attnc checks it, draws it, and compiles it.

    import attnc

    spec = attnc.load("transformer.attn", sizes={"layers": 2})
    model = spec.model("transformer")
    net = model.torch(seed=0)            # an nn.Module of readable code
    model.draw().save("transformer.svg")

Importing attnc is cheap: what a call needs (lark, NumPy, torch) is imported by that call.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dsl.diagnostic import Diagnostic, Severity
    from .dsl.errors import AttnError
    from .probing import probe
    from .spec import Model, Port, Spec, check, format, load, loads
    from .version import __version__ as __version__

__all__ = ["AttnError", "Diagnostic", "Model", "Port", "Severity", "Spec", "check", "format", "load", "loads", "probe"]

_MODULES = ("backends", "checkpoints", "compiler", "diagrams", "dsl", "hub", "inspect", "probing", "spec", "weights")
_HOMES = {
    "AttnError": ".dsl.errors",
    "Diagnostic": ".dsl.diagnostic",
    "Severity": ".dsl.diagnostic",
    "__version__": ".version",
    "load_ipython_extension": ".notebook",
    "probe": ".probing",
}


def __getattr__(name: str) -> Any:
    """Each name is imported when it is first asked for, and so are modules: `attnc.weights`, `attnc.diagrams`."""
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name not in __all__ and name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOMES.get(name, ".spec"), __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
