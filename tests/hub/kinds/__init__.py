"""Random small configurations of each kind of model that an adapter knows, drawn from all its options.

Each file here has its KINDS, which are put together: none needs to be named.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from .drawing import Kind

KINDS: dict[str, Kind] = {}
for _file in pkgutil.iter_modules(__path__):
    KINDS |= getattr(import_module(f"{__name__}.{_file.name}"), "KINDS", {})
