"""Every causal model of the zoo, step by step: equal to the whole model, in both backends and both types."""

from __future__ import annotations

import pytest

from .models import ZOO, small
from .steps import check_steps


@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.split("/")[-1])
def test_steps(path: str) -> None:
    check_steps(small(path))
