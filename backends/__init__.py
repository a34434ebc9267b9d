"""Code generation: typed graphs become flat, readable PyTorch or NumPy source that depends on neither attnc nor us."""

from __future__ import annotations

from .body import CannotEmit
from .capture import CaptureError, capturable
from .load import WeightsError, build_numpy, build_torch
from .numpy_code import numpy_source
from .torch_code import torch_source

__all__ = [
    "CannotEmit", "CaptureError", "WeightsError", "build_numpy", "build_torch", "capturable", "numpy_source",
    "torch_source",
]  # fmt: skip
