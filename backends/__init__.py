"""Code generation: typed graphs become flat, readable PyTorch or NumPy source that depends on neither attnc nor us.

Names are imported when they are first asked for: writing source needs neither torch nor NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .capture import CaptureError, capturable
    from .load import WeightsError, build_numpy, build_torch
    from .numpy_code import numpy_source
    from .reports import explain
    from .torch_code import torch_source
    from .values import CannotEmit

_HOMES = {
    "CannotEmit": "values",
    "CaptureError": "capture",
    "WeightsError": "load",
    "build_numpy": "load",
    "build_torch": "load",
    "capturable": "capture",
    "explain": "reports",
    "numpy_source": "numpy_code",
    "torch_source": "torch_code",
}

__all__ = [
    "CannotEmit",
    "CaptureError",
    "WeightsError",
    "build_numpy",
    "build_torch",
    "capturable",
    "explain",
    "numpy_source",
    "torch_source",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
