"""The results as a picture: a dot for each contender, by its multiple of the floor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .timing import FLOOR, OURS, Result


def save(results: Sequence[Result], path: Path) -> None:
    """Nothing without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 0.6 + 0.5 * len(results)))
    results = [result for result in results if FLOOR in result.case.contenders]
    for row, result in enumerate(reversed(results)):
        for name in result.case.contenders:
            if name == FLOOR:
                continue
            ours = name == OURS
            ratio = result.ratio(name, FLOOR)
            axes.plot(ratio.median, row, "o", color="#0072B2" if ours else "#999999", zorder=2 if ours else 1)
            axes.annotate(name, (ratio.median, row), xytext=(0, 6), textcoords="offset points", fontsize=6, ha="center")
        if result.case.target is not None:
            axes.plot(result.case.target, row, "|", color="#B34700", markersize=14)
    axes.set_yticks(range(len(results)), [result.case.name for result in reversed(results)], fontsize=7)
    axes.set_xscale("log")
    axes.set_xlabel("time / floor (the matrix products alone); the bar is our target")
    axes.axvline(1, color="#1A1A1A", linewidth=0.5)
    figure.savefig(path, bbox_inches="tight")
    pyplot.close(figure)
