"""What is written for a model, as tests look at it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attnc


def written(model: attnc.Model, backend: str, without: Sequence[str] = ()) -> str:
    """The file of a model, and that of its decoding if it decodes."""
    code = model._code(backend, False, False, without)
    return code.default() + (code.beside(model.name) if code.decoding else "")


def run_alone(model: attnc.Model, backend: str = "torch", **options: Any) -> dict[str, Any]:
    """What a single file of it makes where it is run, by name."""
    space: dict[str, Any] = {"__name__": "made"}
    source = model.source(backend, single_file=True, **options)  # type: ignore[arg-type]
    exec(compile(source, "made.py", "exec", dont_inherit=True), space)
    return space
