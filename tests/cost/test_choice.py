"""Which form is cheaper: what `Cost.seconds` says of forms of one model, and what is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

import attnc
from attnc.compiler.cost.lowered import FORMS
from attnc.compiler.cost.seconds import duration
from tests.clock import ratio

ATTENTIONS = Path(__file__).parents[2] / "examples/attentions"


def example(file: str, name: str, **sizes: int) -> attnc.Model:
    return attnc.load(ATTENTIONS / f"{file}.attn", sizes=sizes).model(name)


def test_the_cheaper_form_hangs_on_sizes() -> None:
    """Of few items all pairs at once take less than chunks with what these need; of many they take far more."""
    model = example("retention", "parallel", heads=2, key=16, value=16)
    few, many = (model.cost(target=n).lowered for n in (8, 2048))
    assert few is not None and few.cheaper == "written" and few.seconds < 2 * few.written_seconds
    assert many is not None and many.cheaper == "computed" and 8 * many.seconds < many.written_seconds
    assert many.seconds == model.cost(target=2048).seconds


def test_one_form_is_no_choice() -> None:
    found = example("additive", "search").cost(target=4, source=4)
    assert found.lowered is not None and found.lowered.cheaper is None
    plain = attnc.loads("width n = 3\nmodel f(x: [n]) -> [n] { return exp(x) }").model("f").cost()
    assert plain.lowered is None and plain.seconds > 0


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(2e-6, "2.0 µs"), (9.96e-6, "10 µs"), (0.000123, "120 µs"), (0.0042, "4.2 ms"), (0.31, "310 ms"), (12.3, "12 s")],
)
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


HEADS = {"heads": 8, "key": 64, "value": 64}
APART = [  # far apart, by what is predicted
    ("linear_attention", "recurrent", {"heads": 2, "key": 16, "value": 16}, {"target": 256}),
    ("linear_attention", "causal_sum", HEADS, {"target": 1024}),
    ("retention", "recurrent_retention", HEADS, {"target": 512}),
    ("retention", "parallel", HEADS, {"target": 4096}),
    ("gated_delta", "recurrent_delta", HEADS, {"seq": 512}),
    ("lstm", "lstm", {"input": 32, "hidden": 32}, {"words": 256}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("file", "name", "depths", "widths"), APART)
def test_forms_that_are_far_apart_are_so(file: str, name: str, depths: dict[str, int], widths: dict[str, int]) -> None:
    torch = pytest.importorskip("torch")
    model = example(file, name, **depths)
    cost = model.cost(widths)
    assert cost.lowered is not None and 4 * cost.lowered.seconds < cost.lowered.written_seconds
    nets = [model.torch(seed=0, without=without) for without in ((), FORMS)]
    given = [torch.randn(1, *(cost.sizes[axis] for axis in port.axes)) for port in model.inputs]
    chosen, written = nets
    with torch.inference_mode():
        assert ratio(lambda: written(*given), lambda: chosen(*given)) > 1.5
