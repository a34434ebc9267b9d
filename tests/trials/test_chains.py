"""Moves along a width, one behind the other: what is proved of them has no witness, and enough of them is proved.

The number of items shows in much that reads none of them: where `concat` goes on, at which place `flip` begins.
"""

from __future__ import annotations

from collections.abc import Collection

import pytest

import attnc
from attnc.compiler.causality.proof import check_causal
from attnc.compiler.check import build
from attnc.dsl.source import Source, Span
from attnc.trials import tried

from .chains import program

QUICK, SHARD = range(1000, 1026), 100


def judged(seeds: Collection[int]) -> None:
    proved = 0
    for seed in seeds:
        text = program(seed)
        source = Source(f"seed {seed}", text)
        try:
            graph = build(source).graph("f")
        except attnc.AttnError as error:
            pytest.fail(f"{text}\n{error}", pytrace=False)
        axis = next(axis for axis in graph.outputs[0].axes if axis.name == "seq")
        if check_causal(graph, 0, axis, Span(source, 0, 0)) is None:
            proved += 1
            found = tried(graph, 0, axis, ())
            if found.witness is not None:
                pytest.fail(f"seed {seed} is proved\n{text}\n{found.witness}", pytrace=False)
    assert proved >= len(seeds) // 8


def test_what_is_proved_has_no_witness() -> None:
    judged(QUICK)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "start" in metafunc.fixturenames:
        first, last = (int(end) for end in metafunc.config.getoption("--seeds").split(":"))
        metafunc.parametrize("start", range(first, min(last, first + 5_000), SHARD))


@pytest.mark.slow
def test_many(start: int) -> None:
    judged(range(start, start + SHARD))
