"""Modules made without drawing their weights, which are given at once: on the device "meta" there is nothing to draw.

PyTorch loads its whole compiler to draw normal numbers there: a second, and 60 MiB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch.overrides import TorchFunctionMode

_DRAWS = frozenset({"normal_", "uniform_"})


class Undrawn(TorchFunctionMode):
    """While it is entered, tensors stay as they are where they would be drawn."""

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if getattr(func, "__module__", "") == "torch.nn.init" or getattr(func, "__name__", "") in _DRAWS:
            return (*args, *(kwargs or {}).values())[0]
        return func(*args, **(kwargs or {}))
