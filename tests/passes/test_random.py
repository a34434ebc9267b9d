"""Random programs compute the same with every pass on, with each off in turn, and with all off."""

from __future__ import annotations

import numpy as np
import pytest

import attnc
from tests.backends.written import written
from tests.decode.programs import causal
from tests.decode.steps import check_steps
from tests.soundness.generate import generate
from tests.soundness.judge import data, lengths, load
from tests.soundness.program import Weights

from .numbers import WAYS, check_same

GROUPS, EACH = 5, 8


def check_seeds(seeds: range) -> int:
    changed = 0
    for seed in seeds:
        program = generate(seed)
        model = load(program.text, program).model("net")
        weights = Weights(program.seed)
        inputs = program.inputs() | lengths(model, program)
        with np.errstate(all="ignore"):
            meant = program.evaluate(inputs, weights)  # which draws the weights
        if not all(np.isfinite(x.astype(float)).all() for x in meant):
            continue
        try:
            changed += check_same(model, weights.arrays, data(inputs, program, np.float64))
        except Exception as error:
            error.add_note(f"seed {seed}\n{program.text}")
            raise
    return changed


@pytest.mark.parametrize("group", [0, *(pytest.param(group, marks=pytest.mark.slow) for group in range(1, GROUPS))])
def test_same_numbers(group: int) -> None:
    assert check_seeds(range(group * EACH, (group + 1) * EACH)) > 0


def check_decoding(seeds: range) -> int:
    done = 0
    for seed in seeds:
        for text, model, values in causal(seed):
            found = model.decoding
            if found.step is None or found.prepare is None:
                continue
            names = {item.name for graph in (found.step, found.prepare) for item in graph.inputs}
            given = {name: x for name, x in values.items() if name in names}
            usual = written(model, "numpy")
            for without in WAYS:
                if written(model, "numpy", without) == usual:
                    continue
                try:
                    with np.errstate(all="ignore"):
                        check_steps(model, seeds=(2,), dtypes=("float64",), values=given, without=without)
                except Exception as error:
                    error.add_note(f"seed {seed} without {', '.join(without)}\n{text}")
                    raise
                done += 1
    return done


def test_steps_give_the_same() -> None:
    assert check_decoding(range(320, 340)) >= 3


GAVE_OTHERS = {  # cut down from random programs that an earlier generator wrote
    "a result that is the same along a second axis": (
        "width seq\nwidth other_seq like seq\ndepth model = 2\n"
        "block full[g: width](x: [g]) -> [g] {\n    return clamp(x, -0.5, 2.0)\n}\n"
        "model net(x: [seq, model]) -> [seq, model] causal seq {\n"
        "    return max(broadcast[seq, model](full[other_seq](x = 0.5)), tanh(x))\n}\n"
    ),
    "a table read to its end": (
        "width seq = 4\nwidth other_seq like seq\nwidth target\ndepth model = 3\n"
        "model net(x: [other_seq, target], w: [model], k: []) -> [model, other_seq, target] causal other_seq {\n"
        "    t = tanh(broadcast[seq](k))\n"
        "    both = broadcast[other_seq, target](t) + broadcast[seq](x)\n"
        "    return dot[seq](erf(t), min(both, broadcast[other_seq, target, seq](w)))\n}\n"
    ),
}


@pytest.mark.parametrize("text", GAVE_OTHERS.values(), ids=GAVE_OTHERS)
def test_steps_gave_others(text: str) -> None:
    model = attnc.loads(text).model("net")
    for without in [(), *WAYS]:
        check_steps(model, seeds=(2,), dtypes=("float64",), without=without)


@pytest.mark.slow
@pytest.mark.parametrize("group", range(20))
def test_steps_give_the_same_more(group: int) -> None:
    check_decoding(range(6000 + group * 25, 6000 + (group + 1) * 25))


@pytest.mark.slow
@pytest.mark.parametrize("group", range(40))
def test_same_numbers_more(group: int) -> None:
    check_seeds(range(5000 + group * 25, 5000 + (group + 1) * 25))
