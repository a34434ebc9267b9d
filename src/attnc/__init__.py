"""attnc: one text file describes an attention architecture; attnc checks it, draws it, and compiles it.

    import attnc

    spec = attnc.load("transformer.attn", sizes={"layers": 2})
    model = spec.model("transformer")
    net = model.torch(seed=0)            # an nn.Module of readable code
    model.draw().save("transformer.svg")

Importing attnc is cheap: what a call needs (lark, NumPy, torch) is imported by that call.
"""

from __future__ import annotations

from typing import Any

from .dsl.diagnostic import AttnError, Diagnostic, Severity
from .spec import Model, Port, Spec, check, format, load, loads

__version__ = "0.1.0"

__all__ = ["AttnError", "Diagnostic", "Model", "Port", "Severity", "Spec", "check", "format", "load", "loads"]


def __getattr__(name: str) -> Any:
    """`attnc.weights` and `attnc.inspect` without an import of their own: they load NumPy."""
    if name in ("inspect", "weights"):
        from importlib import import_module

        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
