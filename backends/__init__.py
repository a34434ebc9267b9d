"""Code generation: typed graphs become flat, readable PyTorch or NumPy source that depends on neither attnc nor us.

Names are imported when they are first asked for: writing source needs neither torch nor NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .files.code import version_of_runtime
    from .loading.load import WeightsError, build_numpy, build_torch
    from .loading.parallel import DivisionOptions, build_parallel
    from .loading.pipelined import build_stage
    from .numpy.module import numpy_code, numpy_source
    from .plan.capture import CaptureError, capturable
    from .report.reports import explain
    from .text.values import CannotEmit
    from .torch.module import torch_code, torch_source
    from .torch.parallel_file import parallel_code
    from .torch.stage_files import stage_codes
    from .triton.module import kernels_module, triton_code

_HOMES = {
    "CannotEmit": "text.values",
    "CaptureError": "plan.capture",
    "DivisionOptions": "loading.parallel",
    "WeightsError": "loading.load",
    "build_numpy": "loading.load",
    "build_parallel": "loading.parallel",
    "build_stage": "loading.pipelined",
    "build_torch": "loading.load",
    "capturable": "plan.capture",
    "explain": "report.reports",
    "kernels_module": "triton.module",
    "numpy_code": "numpy.module",
    "numpy_source": "numpy.module",
    "parallel_code": "torch.parallel_file",
    "stage_codes": "torch.stage_files",
    "torch_code": "torch.module",
    "torch_source": "torch.module",
    "triton_code": "triton.module",
    "version_of_runtime": "files.code",
}

__all__ = [
    "CannotEmit",
    "CaptureError",
    "DivisionOptions",
    "WeightsError",
    "build_numpy",
    "build_parallel",
    "build_stage",
    "build_torch",
    "capturable",
    "explain",
    "kernels_module",
    "numpy_code",
    "numpy_source",
    "parallel_code",
    "stage_codes",
    "torch_code",
    "torch_source",
    "triton_code",
    "version_of_runtime",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
