"""Random programs with a causal result (of tests/soundness), to be run step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import attnc
from tests.soundness.generate import generate
from tests.soundness.judge import data, load
from tests.soundness.program import Program

from .steps import Array


def causal(seed: int) -> Iterator[tuple[str, attnc.Model, dict[str, Array]]]:
    """For each width along which results are provably causal: the text, the model that claims it, and inputs."""
    program = generate(seed)
    if "ragged" in program.text:  # tests/ragged decodes along those
        return
    for width in dict.fromkeys(a for r in program.model.results for a in r.axes if a.width and a.size >= 2):
        held = [
            width in r.axes and _proved(program, place, width.name) for place, r in enumerate(program.model.results)
        ]
        if not any(held):
            continue
        results = tuple(replace(r, causal=width if keep else None)
                        for r, keep in zip(program.model.results, held, strict=True))  # fmt: skip
        claimed = replace(program, units=(*program.units[:-1], replace(program.model, results=results)))
        yield claimed.text, load(claimed.text, claimed).model("net"), data(program.inputs(), program, np.float64)


def _proved(program: Program, place: int, width: str) -> bool:
    results = tuple(
        replace(r, causal=next(a for a in r.axes if a.name == width) if at == place else None)
        for at, r in enumerate(program.model.results)
    )
    try:
        claimed = replace(program, units=(*program.units[:-1], replace(program.model, results=results)))
        load(claimed.text, claimed)
    except attnc.AttnError:
        return False
    return True
