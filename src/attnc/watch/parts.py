"""What is shown of a model, as text: its figure (a page), its code, what its results read, its cost, its weights."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from ..compiler.check import Program
from ..dsl.errors import AttnError
from ..spec import Model, Spec

Maker = Callable[[Model], str]

PARTS: dict[str, Maker] = {
    "figure": lambda model: model.draw().html(),
    "torch": lambda model: model.source("torch"),
    "numpy": lambda model: model.source("numpy"),
    "reads": lambda model: "\n".join(map(str, model.reads())),
    "cost": lambda model: str(model.cost()),
    "weights": lambda model: str(model.weights),
}


def named(program: Program, name: str) -> Model:
    """The model or block of that name. Raises AttnError for a block that cannot stand alone."""
    spec = Spec(program)
    return spec.block(name) if name in spec.blocks else spec.model(name)


def made(part: str, make: Maker, model: Model) -> str:
    """One of `PARTS`, or why there is none."""
    try:
        return make(model)
    except (AttnError, ValueError, RuntimeError) as why:
        return reason(part, str(why).strip())


def reason(part: str, text: str) -> str:
    """What stands where a part is missing: in place of a figure, which is a page, a page."""
    return f"<!doctype html><pre>{escape(text)}</pre>" if part == "figure" else text
