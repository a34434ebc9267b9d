"""`attnc.probe`: what leaks is found and said, what does not is left in peace, and the module is as it was."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

import attnc

from . import modules
from .modules import WIDTH, Attention, Cross, Less, Tokens, ZeroBranch

ROOT = Path(__file__).parents[2]
Make = Callable[[], Callable[..., Any]]


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def x(batch: int = 2, length: int = 11) -> Tensor:
    return torch.randn(batch, length, WIDTH)


# -- along an axis -------------------------------------------------------------------------------------------------

RIGHT: list[Make] = [
    modules.causal,
    lambda: Less(modules.running_norm),
    lambda: Less(modules.causal_convolution),
    lambda: Less(modules.over_length),
    lambda: nn.Sequential(modules.causal(), nn.LayerNorm(WIDTH), modules.causal(), nn.Dropout(0.5)),
    lambda: modules.running_norm,
]
WRONG: list[Make] = [
    modules.one_further,
    modules.turned_round,
    modules.same_chunk,
    lambda: Less(modules.minus_mean),
    lambda: Less(modules.circular_convolution),
    lambda: nn.Sequential(modules.causal(), Less(modules.minus_mean), modules.causal()),
    lambda: nn.Sequential(modules.causal(), nn.LayerNorm([11, WIDTH])),
]


@pytest.mark.parametrize("make", RIGHT)
def test_what_is_causal_does_not_leak(make: Make) -> None:
    report = attnc.probe(make(), x(), axis=1)
    assert report and not report.leaks, str(report)
    report.check()


@pytest.mark.parametrize("make", WRONG)
def test_what_sees_later_items_leaks(make: Make) -> None:
    module = make()
    given = x()
    report = attnc.probe(module, given, axis=1)
    assert not report
    (leak,) = report.leaks
    (changed,) = leak.items
    assert leak.kind == "axis" and leak.item < changed
    with pytest.raises(AssertionError, match=r"changing item \d+ of `.+` changes item \d+ of `output` by"):
        report.check()
    # ... and it is so: that item alone, by hand
    other = given.clone()
    other[:, changed[0]] += 1
    with torch.no_grad():
        assert (module(other) - module(given)).abs()[:, leak.item[0]].max() > 1e-4


def test_the_line() -> None:
    report = attnc.probe(modules.one_further(), {"x": x()}, axis=1)
    (leak,) = report.leaks
    assert leak.items[0][0] == leak.item[0] + 1
    assert str(report).startswith(f"leak: changing item {leak.items[0][0]} of `x` changes item {leak.item[0]} of")
    assert f"by {leak.change:.2g} ({leak.share:.2g} of its standard deviation)" in str(report)


def test_one_pair_of_items_is_found() -> None:
    """A leak from one item to one other, between which there is one cut alone."""

    def pair(x: Tensor) -> Tensor:
        return torch.cat([x[:, :6], x[:, 6:7] + 0.01 * x[:, 7:8], x[:, 7:]], 1)

    (leak,) = attnc.probe(pair, x(), axis=1).leaks
    assert (leak.items, leak.item) == (((7,),), (6,))


def test_tokens_become_others_of_the_same() -> None:
    tokens = torch.randint(50, (2, 11))
    assert attnc.probe(Tokens(modules.causal()), tokens, axis=1, batch=0)
    (leak,) = attnc.probe(Tokens(modules.same_chunk()), {"tokens": tokens}, axis=1, batch=0).leaks
    assert leak.input == "tokens" and leak.kind == "axis"
    with pytest.raises(ValueError, match="`tokens` holds one integer only"):
        attnc.probe(Tokens(modules.causal()), torch.zeros(2, 11, dtype=torch.long), axis=1)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_types(dtype: torch.dtype) -> None:
    given = x().to(dtype)
    assert attnc.probe(modules.causal().to(dtype), given, axis=1, batch=0)
    assert not attnc.probe(modules.one_further().to(dtype), given, axis=1)


def test_a_copy_in_another_type() -> None:
    small = Less(lambda x: x + 1e-6 * x.flip(1))
    assert attnc.probe(small, x(), axis=1)
    assert not attnc.probe(small, x(), axis=1, dtype=torch.float64)
    assert not attnc.probe(small, x(), axis=1, dtype=torch.float64, tolerance=1e-9)
    assert attnc.probe(small, x(), axis=1, dtype=torch.float64, tolerance=1e-3)


def test_what_may_be_seen() -> None:
    ahead = modules.one_further()
    assert attnc.probe(ahead, x(), axis=1, last=lambda item: item + 1)
    halves = Less(lambda x: x.unflatten(1, (-1, 2)).mean(2))
    assert attnc.probe(halves, x(length=12), axis=1, last=lambda item: 2 * item + 1)
    (leak,) = attnc.probe(halves, x(length=12), axis=1, last=lambda item: 2 * item).leaks
    assert leak.items[0][0] == 2 * leak.item[0] + 1


def test_the_length() -> None:
    assert attnc.probe(modules.causal(), x(), axis=1, shorter=1)
    report = attnc.probe(Less(modules.over_length), {"x": x()}, axis=1, shorter=3)
    (leak,) = report.leaks
    assert leak.kind == "length" and leak.items == ()
    assert "appending to `x` changes item" in str(report)
    assert "no later item" in str(report)
    hidden = Less(lambda x, mask: (mask.float() / mask.sum(-1, keepdim=True)) @ x)  # a mask becomes shorter, too
    mask = torch.ones(11, 11, dtype=torch.bool)
    assert attnc.probe(hidden, {"x": x(), "mask": mask.tril()}, axis=1, shorter=2)
    assert len(attnc.probe(hidden, {"x": x(), "mask": mask}, axis=1, shorter=2).leaks) == 2


def test_long_inputs_are_cut_here_and_there() -> None:
    report = attnc.probe(modules.causal(), x(length=200), axis=1, trials=8)
    assert report.runs == 10 and "(8 tried)" in str(report)
    assert not attnc.probe(modules.same_chunk(), x(length=200), axis=1, trials=8)


# -- between examples ----------------------------------------------------------------------------------------------


def test_examples() -> None:
    assert attnc.probe(modules.all_see_all(), x(3), batch=0)
    (leak,) = attnc.probe(modules.borrows, x(4), batch=0).leaks
    assert leak.kind == "batch" and leak.items[0][0] == (leak.item[0] - 1) % 4
    assert "changing example" in str(leak)


def test_batch_norm_mixes_examples_in_training() -> None:
    net = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH))
    given = torch.randn(5, WIDTH)
    report = attnc.probe(net, given, batch=0)
    assert report and "train=True" in str(report)
    state = {name: value.clone() for name, value in net.state_dict().items()}
    assert not attnc.probe(net, given, batch=0, train=True)
    assert all(torch.equal(value, state[name]) for name, value in net.state_dict().items())
    assert attnc.probe(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Dropout(0.5)), given, batch=0, train=True)


def test_time_leaks_between_examples_of_the_wrong_axis() -> None:
    """An LSTM that takes the first axis for time."""
    lstm = nn.LSTM(WIDTH, WIDTH)
    report = attnc.probe(lstm, {"input": x(3)}, batch=0)
    (leak,) = report.leaks
    assert leak.output == "output[0]"
    assert attnc.probe(nn.LSTM(WIDTH, WIDTH, batch_first=True), {"input": x(3)}, axis={"input": 1, "output[0]": 1})


# -- padding -------------------------------------------------------------------------------------------------------


def test_padding() -> None:
    real = torch.arange(11)[None] < torch.tensor([[11], [7]])
    inputs = {"x": x(), "real": real}
    assert attnc.probe(modules.all_see_all(), inputs, padding="real")
    assert attnc.probe(modules.all_see_all(), inputs | {"real": real.long()}, padding="real")
    (leak,) = attnc.probe(Attention(lambda query, key: key >= 0 * query, hide=False), inputs, padding="real").leaks
    assert leak.items[0][0] == leak.item[0] == 1 and leak.items[0][1] >= 7 > leak.item[1]
    assert f"changing item {leak.items[0][1]} of example 1 of `x`, which is padding, changes item" in str(leak)
    assert attnc.probe(modules.causal(), {"x": x()}, padding=real), "later items, so they do no harm"


@pytest.mark.parametrize("hide", [True, False])
def test_padding_of_one_of_two_sequences(hide: bool) -> None:
    real = torch.arange(8)[None] < torch.tensor([[5], [8], [3]])
    inputs = {"target": x(3, 5), "source": x(3, 8), "source_real": real}
    report = attnc.probe(Cross(hide), inputs, padding={"source": "source_real"}, batch=0)
    assert bool(report) is hide
    if not hide:
        (leak,) = report.leaks
        assert {leak.output, *leak.others} == {"states", "pooled"} and leak.item in {(0,), (2,)}


# -- what is taken and given ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class Result:
    logits: Tensor
    states: tuple[Tensor, ...]
    name: str = ""


class Pair(NamedTuple):
    first: Tensor
    second: Tensor


@pytest.mark.parametrize(
    ("give", "name"),
    [
        (lambda x: {"a": x, "b": {"c": x.flip(1)}}, "b.c"),
        (lambda x: (x, x.flip(1)), "output[1]"),
        (lambda x: [x, None, x.flip(1)], "output[2]"),
        (lambda x: Pair(x, x.flip(1)), "second"),
        (lambda x: Result(x, (x, x.flip(1))), "states[1]"),
        (lambda x: torch.complex(x, x.flip(1)), "output"),
        (lambda x: x.flip(1).argmax(-1), "output"),
    ],
)
def test_results(give: Callable[[Tensor], object], name: str) -> None:
    (leak,) = attnc.probe(give, x(), axis=1).leaks
    assert leak.output == name and not leak.others


def test_arguments() -> None:
    def module(pair: dict[str, Tensor], scale: float, mask: Tensor) -> Tensor:
        return scale * (pair["a"] + (mask.float() @ pair["b"]))

    mask = torch.ones(11, 11, dtype=torch.bool)
    pair = {"a": x(), "b": x()}
    for inputs in ({"pair": pair, "scale": 2.0, "mask": mask}, (pair, 2.0, mask)):
        (leak,) = attnc.probe(module, inputs, axis=1).leaks
        assert leak.input == "pair.b"
    report = attnc.probe(module, (pair, 2.0, mask.tril()), axis=1, batch=0)
    assert report and report.notes == ("`mask` stayed as given",)
    assert attnc.probe(module, (pair, 2.0, mask), axis={"pair.a": 1}), "the other is not changed"
    report = attnc.probe(lambda a, b: {"x": a, "both": a + b.flip(1)}, (x(), x()), axis={"a": 1, "x": 1})
    assert report and report.notes == ("`b` stayed as given", "`both` was not looked at")
    assert not attnc.probe(lambda a, b: {"out": a, "both": a + b.flip(1)}, (x(), x()), axis={"b": 1, "both": 1})


def test_scores_that_are_added_are_a_mask() -> None:
    bias = torch.full((11, 11), -torch.inf).triu(1)
    module = Less(lambda x, bias: (x @ x.mT + bias).softmax(-1) @ x)
    assert attnc.probe(module, {"x": x(), "bias": bias}, axis=1)
    assert not attnc.probe(module, {"x": x(), "bias": torch.zeros(11, 11)}, axis={"x": 1})


def test_nothing_is_left_changed() -> None:
    class Remembers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(()))
            self.register_buffer("last", torch.zeros(2, 11, WIDTH), persistent=False)
            self.drop, self.norm = nn.Dropout(0.5), nn.LayerNorm(WIDTH)
            self.norm.eval()

        def forward(self, x: Tensor) -> Tensor:
            self.count += 1
            self.last = x
            x += self.count
            return self.norm(self.drop(x))

    net, given = Remembers(), x().requires_grad_()
    before, state = given.detach().clone(), torch.get_rng_state()
    assert attnc.probe(net, {"x": given}, axis=1, batch=0)
    assert torch.equal(given, before) and torch.equal(torch.get_rng_state(), state) and given.grad is None
    assert net.training and net.drop.training and not net.norm.training
    assert float(net.count) == 0 and not net.last.any()


# -- what may hide a leak ------------------------------------------------------------------------------------------


def test_weights_of_zero_hide_a_leak() -> None:
    net = ZeroBranch()
    report = attnc.probe(net, x(), axis=1)
    assert report and "the weight `out.weight` is zero" in str(report) and "redraw=True" in str(report)
    again = attnc.probe(net, x(), axis=1, redraw=True)
    assert not again and "redraw" not in str(again)
    assert not net.out.weight.any(), "a copy was redrawn"
    assert attnc.probe(nn.Sequential(modules.causal(), nn.LayerNorm(WIDTH)), x(), axis=1, redraw=True)
    report = attnc.probe(Less(lambda x: 0 * x), x(), axis=1)
    assert report and "`output` is the same everywhere" in str(report)


def test_nan_is_no_rounding() -> None:
    poisoned = Less(lambda x: torch.where(x[:, -1:] > 1e-3, x, torch.nan))
    (leak,) = attnc.probe(poisoned, x(), axis=1).leaks
    assert "from a number to none, or back" in str(leak)
    half = Less(lambda x: torch.cat([x[:, :4] * torch.nan, x[:, 4:]], 1))
    assert attnc.probe(half, x(), axis=1), "what is no number in both runs has not changed"
    with pytest.raises(ValueError, match="`output` holds no number"):
        attnc.probe(Less(lambda x: x * torch.nan), x(), axis=1)


def test_rounding_from_run_to_run_is_measured() -> None:
    generator = torch.Generator().manual_seed(0)
    noisy = Less(lambda x: x + 1e-3 * torch.randn(x.shape, generator=generator))
    report = attnc.probe(noisy, x(), axis=1)
    assert report and "of its standard deviation from run to run" in str(report)
    assert not attnc.probe(Less(lambda x: noisy(x.flip(1))), x(), axis=1)
    random = Less(lambda x: x + torch.randn(x.shape, generator=generator))
    with pytest.raises(ValueError, match="`output` is another in a second run"):
        attnc.probe(random, x(), axis=1)


def test_lengths_mean_nothing_where_numbers_are_random() -> None:
    net = nn.Sequential(modules.causal(), nn.Dropout(0.5))
    assert attnc.probe(net, x(), axis=1, shorter=1)
    report = attnc.probe(net, x(), axis=1, shorter=1, train=True)
    assert report and "`shorter` tells nothing" in str(report)


# -- what cannot be asked ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        ({}, "say what to look for"),
        ({"shorter": 1, "batch": 0}, "they need axis="),
        ({"axis": 1, "trials": 0}, "`trials` is 1 or more"),
        ({"axis": 1, "shorter": 11}, "of 11 items, 11 left off leave none"),
        ({"axis": 3}, "no input with dimension 3 is there to change: `x` .2, 11, 6."),
        ({"axis": {"y": 1}}, "no input or output is called `y`; there are `x` .2, 11, 6., `output`"),
        ({"axis": {"outputs": 1}}, "did you mean `output`"),
        ({"axis": {"output": 1}}, "no input with dimension"),
        ({"axis": {"x": 5}}, "`x` is .2, 11, 6., so it has no dimension 5"),
        ({"padding": "real"}, "no input or output is called `real`"),
        ({"padding": torch.ones(2, 11, dtype=torch.bool)}, "every item is real"),
        ({"padding": torch.ones(2, 12, dtype=torch.bool)}, "no input has the shape of what is real"),
        ({"padding": torch.rand(2, 11)}, "truth values"),
        ({"padding": {"x": torch.ones(2, 12, dtype=torch.bool)}}, "`x` is .2, 11, 6., but what is real is .2, 12."),
        ({"axis": 1, "last": lambda item: 100}, "every item of the outputs may depend on every item"),
    ],
)
def test_questions_that_make_no_sense(ask: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        attnc.probe(modules.causal(), {"x": x()}, **ask)


def test_modules_that_cannot_be_asked() -> None:
    with pytest.raises(ValueError, match="no output has 11 items in dimension 1"):
        attnc.probe(Less(lambda x: x.sum()), x(), axis=1)
    with pytest.raises(ValueError, match="of 1 items none can leak"):
        attnc.probe(modules.causal(), x(1), batch=0)
    with pytest.raises(ValueError, match="has another shape for other values"):
        attnc.probe(Less(lambda x: x[:, : 2 + int(1000 * x[0, 0, 0].abs()) % 7]), x(), batch=0)
    with pytest.raises(ValueError, match="a function has no weights"):
        attnc.probe(modules.borrows, x(), batch=0, redraw=True)


# -- models of others, and ours ------------------------------------------------------------------------------------


def test_a_language_model_of_transformers() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(n_layer=2, n_head=2, n_embd=16, vocab_size=60, n_positions=32)
    net = transformers.GPT2LMHeadModel(config)
    mask = (torch.arange(12)[None] < torch.tensor([[12], [8]])).long()
    inputs = {"input_ids": torch.randint(60, (2, 12)), "attention_mask": mask}
    report = attnc.probe(net, inputs, axis=1, batch=0, padding="attention_mask", shorter=1)
    assert report and len(report.holds) == 4, str(report)
    assert net.training
    bert = transformers.BertConfig(
        vocab_size=60, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    (leak,) = attnc.probe(transformers.BertModel(bert), inputs, axis=1, batch=0, padding="attention_mask").leaks
    assert (leak.kind, leak.input, leak.output) == ("axis", "input_ids", "last_hidden_state")


def test_our_transformer() -> None:
    net = attnc.load(ROOT / "examples" / "transformer.attn", config="tiny").model("transformer").torch(seed=0)
    real = torch.arange(9)[None] < torch.tensor([[9], [6]])
    inputs = {"source_ids": torch.randint(50, (2, 9)), "target_ids": torch.randint(50, (2, 7)), "real": real}
    asked: dict[str, Any] = {"axis": {"target_ids": 1}, "batch": 0, "padding": {"source_ids": "real"}}
    assert attnc.probe(net, inputs, **asked, shorter=1)
    (leak,) = attnc.probe(net, inputs, axis={"source_ids": 1, "output": 1}).leaks
    assert leak.input == "source_ids", "every word reads all of the source"


CAUSAL = [
    ("alibi", "alibi_attention"), ("convolution", "decoder"), ("differential", "differential"),
    ("grouped_query", "grouped_query"), ("gru", "gru"), ("latent", "latent_attention"), ("lstm", "lstm"),
    ("low_rank_value", "low_rank_value"), ("multi_query", "multi_query"), ("positions", "sinusoidal"),
    ("selective_scan", "selective_scan"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "name"), CAUSAL, ids=[name for _, name in CAUSAL])
def test_what_we_proved_to_be_causal(file: str, name: str) -> None:
    model = attnc.load(ROOT / "examples" / "attentions" / f"{file}.attn").model(name)
    (port,) = model.inputs
    shape = [2, *(9 if size is None else size for size in port.shape)]
    given = torch.randn(shape) if port.element == "real" else torch.randint(50, shape)
    report = attnc.probe(model.torch(seed=0), given, axis=1, batch=0, shorter=1, trials=8)
    assert report and len(report.holds) == 3, str(report)
