"""What tests over all specs have in common."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest


def sampled(specs: Iterable[Path]) -> list[Any]:
    """Parameters: the specs that `attnc import` fills in, large ones with many switches, are for the slow suite."""
    return [pytest.param(path, marks=pytest.mark.slow if path.parents[1].name == "zoo" else ()) for path in specs]
