"""`attnc cost --plot`: cost against a width, both axes logarithmic, with the crossings."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..output import CannotRun

if TYPE_CHECKING:
    from ...compiler.cost.compare import Crossing

NEEDS = 'a plot needs matplotlib: pip install "matplotlib>=3.9"'


def require() -> None:
    """Raises CannotRun without matplotlib."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise CannotRun(NEEDS) from None


def plot(
    out: str,
    curves: Mapping[str, Sequence[tuple[int, int]]],
    crossings: Sequence[Crossing],
    *,
    width: str,
    figure: str,
) -> None:
    """Writes the picture. curves: for each name the (size, value) of its points. Raises CannotRun."""
    require()
    for name, points in curves.items():
        if (size := next((size for size, value in points if value > sys.float_info.max), None)) is not None:
            raise CannotRun(f"cannot plot {figure} of {name} at {width} = {size}: more than a float can hold")
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "attnc"
    drawing, axes = plt.subplots(figsize=(6.4, 4.2))
    for name, points in curves.items():
        axes.plot([size for size, _ in points], [value for _, value in points], label=name)
    for found in crossings:
        axes.axvline(found.size, color="0.6", linestyle="--", linewidth=0.8)
        axes.annotate(
            f"{found.size:,}", (found.size, 0.02), xycoords=("data", "axes fraction"), rotation=90, fontsize=8,
            ha="right",
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    if any(value > 0 for points in curves.values() for _, value in points):
        axes.set_yscale("log")
    axes.set_xlabel(width)
    axes.set_ylabel(figure)
    axes.legend()
    axes.grid(alpha=0.3)
    drawing.tight_layout()
    try:
        drawing.savefig(out, metadata={"Date": None} if out.lower().endswith(".svg") else None)
    except (OSError, ValueError) as problem:
        raise CannotRun(f"cannot write {out}: {problem}") from None
    finally:
        plt.close(drawing)
