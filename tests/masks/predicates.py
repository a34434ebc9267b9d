"""Masks as generated code writes them: predicates over positions, and over what else a mask reads."""

from __future__ import annotations

from typing import Any


def causal(q: Any, k: Any) -> Any:
    return k <= q


def gaps(q: Any, k: Any) -> Any:
    return (k < q) & ((q - k < 10) | (k < 4))  # the first query sees nothing


def anchored(q: Any, k: Any) -> Any:
    return (k <= q) & ((q - k < 10) | ((k >= 70) & (k < 75)))  # from 256 on: 64 to 127, and from 192


def window(q: Any, k: Any, real: Any) -> Any:
    return (k <= q) & (q - k < 40) & real
