"""Does a claim of causality leak? The graph is run in NumPy, an input changed at an item, and results looked at.

What is found is a witness (`compiler/problems/causality.py`); that none is found proves nothing.
"""

from __future__ import annotations

from .search import tried

__all__ = ["tried"]
