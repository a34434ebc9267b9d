"""Code generation: typed graphs become flat, readable PyTorch or NumPy source that depends on neither attnc nor us.

The errors that a caller may want to catch stand here. They are imported when they are first asked for: writing source
needs neither torch nor NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .loading.load import WeightsError as WeightsError
    from .plan.capture import CaptureError as CaptureError
    from .text.values import CannotEmit as CannotEmit

_HOMES = {"CannotEmit": "text.values", "CaptureError": "plan.capture", "WeightsError": "loading.load"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
