"""What tests over all specs have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest


def sampled(specs: Iterable[Path]) -> list[Any]:
    """Parameters: the specs that `attnc import` fills in, large ones with many switches, are for the slow suite."""
    return [pytest.param(path, marks=pytest.mark.slow if path.parents[1].name == "zoo" else ()) for path in specs]


def models_in(path: Path) -> list[str]:
    """The models of a file as its text has them: names of tests, without checking each file."""
    return re.findall(r"(?m)^model (\w+)", path.read_text("utf-8"))
