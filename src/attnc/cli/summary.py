"""`attnc summary`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..spec import Model
from .arguments import sizes, target
from .output import CLEAN
from .target import open_model

if TYPE_CHECKING:
    from ..compiler.inventory import WeightSpec

SUMMARY = "list every weight"


def arguments(parser: argparse.ArgumentParser) -> None:
    target(parser)
    sizes(parser)


def run(args: argparse.Namespace) -> int:
    """List every weight of a model or a block: its path, axes, shape, init and number of parameters; and the total."""
    print("\n".join(table(open_model(args))))
    return CLEAN


def table(model: Model) -> list[str]:
    """The weights of a model as lines of aligned text, and their total."""
    weights = model.weights.values()
    rows = [("path", "axes", "shape", "init", "parameters")]
    for weight in weights:
        axes, shape = f"[{', '.join(weight.axes)}]", " x ".join(map(str, weight.shape)) or "1"
        rows.append((weight.path, axes, shape, init(weight), f"{weight.size:,}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            [*(cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)), row[-1].rjust(widths[-1])]
        )
        for row in rows
    ]
    total, frozen = sum(weight.size for weight in weights), sum(weight.size for weight in weights if weight.frozen)
    note = f" ({frozen:,} of them frozen)" if frozen else ""
    return [*lines, "", f"{total:,} parameters in {len(weights):,} weights{note}"]


def init(weight: WeightSpec) -> str:
    """How a weight begins, as a spec writes it; `default` with the numbers that it comes to."""
    kind, args = weight.init.kind, weight.init.args
    if kind == "default":
        kind, args = ("uniform", (weight.fan_in**-0.5,)) if weight.fan_in else ("normal", (1.0,))
    text = f"{kind}({', '.join(f'{arg:.4g}' for arg in args)})" if args else kind
    return f"{text} frozen" if weight.frozen else text
