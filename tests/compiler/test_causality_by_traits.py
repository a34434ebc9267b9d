"""The proof of causality goes by what an op does: rows made here, of which nothing else knows the name."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import attnc
from attnc.compiler.check import build
from attnc.compiler.graph.traits import (
    ADDED,
    LARGEST,
    LOG_ADDED,
    Anything,
    Arrange,
    Combination,
    Function,
    IndexMap,
    Normalise,
    Pointwise,
    Reads,
    Reduce,
    Running,
    Sum,
)
from attnc.compiler.graph.typed_value import TypedValue
from attnc.compiler.ops import OPS, Op, Option
from attnc.compiler.ops.table import OpCall
from attnc.dsl.source import Source
from tests.compiler import test_causality as rows
from tests.test_half_rows import CALLED, renamed

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Strange:
    """No way to read that the proof knows."""


def row(name: str, like: str, reads: Reads, **more: Any) -> Op:
    return replace(OPS[like], name=name, reads=reads, **more)


def alike(call: OpCall) -> TypedValue | None:
    return call.make(call.operands[0].type)


def shifted(call: OpCall) -> TypedValue | None:
    x = call.operands[0]
    axes = tuple(call.made[0] if axis == call.axes[0] else axis for axis in x.type.axes)
    return call.make(replace(x.type, axes=axes))


OPTIONS = (Option("left", 0, "how far"), Option("value", 0, "what stands outside of x"))
MADE = (
    row("cummax_", "cumsum", Running(LARGEST)),
    row("logcumsumexp_", "cumsum", Running(LOG_ADDED)),
    row("flip_", "cumsum", Arrange(IndexMap.MIRRORED), rule=alike),
    row("softplus_", "exp", Pointwise(Function(least=0, rising=True))),
    row("expm1_", "exp", Pointwise(Function(zero=True, least=-1, rising=True))),
    row("stop_", "abs", Pointwise(Sum((1,))), gradient=False),
    row("shift_", "pad", Arrange(IndexMap.SHIFTED), rule=shifted, options=OPTIONS),
    row("opaque_", "cumsum", Anything(), rule=alike),
    row("strange_", "cumsum", Strange(), rule=alike),  # type: ignore[arg-type]
    row("some_", "any", Reduce(Combination(False, truths=True, largest=True), skips_zeros=True)),
    row("product_", "sum", Reduce(Combination(1.0), skips_zeros=True)),  # of what is not 0
    row("add_", "sum", Reduce(None, skips_zeros=True)),
    row("weighted_", "sum", Reduce(ADDED, multiplies=True)),
    row("share_", "softmax", Normalise(weights=True)),
    row("log_share_", "softmax", Normalise(weights=True, logarithm=True)),
)


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> None:
    for op in MADE:
        monkeypatch.setitem(OPS, op.name, op)


# -- the same op under another name ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_under_another_name_the_same_is_proved_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each row of causality.txt. `max` and `min` stand for two ops each, as they are written."""
    others = [op for op in CALLED if op.name not in ("max", "min")]
    names = "|".join(sorted((op.name for op in others), key=len, reverse=True))
    for op in others:
        monkeypatch.setitem(OPS, f"{op.name}_anew", renamed(op))

    def anew(text: str) -> str:
        return re.sub(rf"\b({names})(?=(\.\w+)?(\[[^\]]*\])?\()", r"\1_anew", text)

    spec, expected = rows.SPEC, {line: rows.told(line) for line in rows.ROWS}
    monkeypatch.setattr(rows, "SPEC", anew(spec))
    changed = [line for line in rows.ROWS if anew(spec + line).count("_anew") > anew(spec).count("_anew")]
    assert len(changed) > 80
    for line in rows.ROWS:
        assert rows.told(anew(line)).replace("_anew", "") == expected[line], line


# -- what no op does today, or not so ----------------------------------------------------------------------------------

PAST = "broadcast[t](y[t as past])"
KEPT = f"{PAST} * select(past <= t, 1, 0)"


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ("cummax_[t](x)", "proved"),
        ("logcumsumexp_[t](x)", "proved"),
        ("cummax_[d](x)", "proved"),
        ("cummax_[t](after[t](x))", "the item 1 after it"),
        ("merge[half, e -> t](cummax_[e](split[t -> half, e](x)))", "proved"),
        ("merge[half, e -> t](cummax_[half](split[t -> half, e](x)))", "proved"),
        ("x + broadcast[t](cummax_[past](x[t as past])[past = 0])", "proved"),
        # turned round
        ("flip_[d](x)", "proved"),
        ("flip_[t](x)", "items of `t` after it"),
        ("flip_[t](flip_[t](x))", "items of `t` after it"),
        ("x + broadcast[t](mean[u](flip_[u](g)))", "proved"),
        ("x + broadcast[t](flip_[t](x)[t = 0])", "items of `t` after it"),
        ("x * flip_[t](int(t))", "items of `t` after it"),  # the number of items, less one
        ("x + broadcast[t](flip_[u](int(u))[u = 0])", "proved"),
        ("x * flip_[d](int(d))", "proved"),
        ("merge[half, e -> t](flip_[e](split[t -> half, e](x)))", "the item 1 after it"),
        ("merge[half, e -> t](flip_[half](split[t -> half, e](x)))", "items of `t` after it"),
        (f"x * sum[past]({PAST} * flip_[past](select(past <= t, 1, 0)))", "items of `t` after it"),
        (f"sum[past](broadcast[d]({PAST}) * flip_[d](broadcast[d](select(past <= t, 1, 0))))", "proved"),
        # unchanged, but for the gradient
        ("stop_(x)", "proved"),
        ("x[t = index[t](stop_(int(t)))]", "proved"),
        ("x[t = index[t](min(stop_(int(t) + 1), |t| - 1))]", "the item 1 after it"),
        (f"x * sum[past](stop_({KEPT}))", "proved"),
        # 0 of 0
        (f"x * sum[past](expm1_({KEPT}))", "proved"),
        (f"x * sum[past](softplus_({KEPT}))", "items of `t` after it"),
        # over nothing they are not 0, or it is not known what they are
        ("x * select(some_[past](past <= t and m), 1, 0)", "proved"),
        (f"x * product_[past]({KEPT})", "proved"),
        (f"x * add_[past]({KEPT})", "proved"),
        (
            f"x * sum[past]({PAST} * sum[later](select(past <= t, 1, 0) * broadcast[later](1) where later <= t))",
            "proved",
        ),
        (
            f"x * sum[past]({PAST} * product_[later](select(past <= t, 1, 0) * broadcast[later](1) where later <= t))",
            "items of `t` after it",
        ),
        (
            f"x * sum[past]({PAST} * add_[later](select(past <= t, 1, 0) * broadcast[later](1) where later <= t))",
            "items of `t` after it",
        ),
        (f"x * sum[past]({PAST} * share_[past](t - past where past <= t))", "proved"),
        (f"x * sum[past]({PAST} * log_share_[past](t - past where past <= t))", "items of `t` after it"),
        # shifted by what the options say, to the front too
        ("shift_[t -> past](x, left = 0)[past as t]", "proved"),
        ("shift_[t -> past](x, left = -1)[past as t]", "the item 1 after it"),
        ("shift_[t -> longer](x, left = 1)[longer = index[longer](int(t) + 1)]", "proved"),
    ],
)
def test_what_is_proved(result: str, told: str) -> None:
    assert rows.told(result).partition(":")[0] == told


@pytest.mark.parametrize(("weight", "proved"), [("{}", True), ("stop_({})", True), ("flip_[there]({})", False)])
def test_what_is_zero_is_elsewhere_when_it_is_turned_round(weight: str, proved: bool) -> None:
    """Of groups of three: what follows in the own group is left out."""
    kept = weight.format("select(there <= place, 1, 0)")
    text = (
        "width t\nwidth block = t / 3\ndepth place = 3, there like place\nmodel f(x: [t]) -> [t] causal t {\n"
        "    k = split[t -> block, there](x)\n"
        f"    return merge[block, place -> t](sum[there](broadcast[place](k) * {kept}))\n}}\n"
    )
    assert [found.code for found in build(Source("t.attn", text)).errors] == ([] if proved else ["E0701"])


@pytest.mark.parametrize("op", ["opaque_", "strange_"])
def test_of_what_is_not_known_it_is_said_that_it_may_read_anything(op: str) -> None:
    assert f"what `{op}` reads is not known: it may read anything" in rows.told(f"{op}[t](x)")
    assert rows.told(f"x + broadcast[t](mean[u]({op}[u](g)))") == "proved"  # of nothing along t


def refused(body: str) -> tuple[str, str]:
    """The step that is marked, and the help."""
    (found,) = build(Source("t.attn", f"width t\nmodel f(x: [t]) -> [t] causal t {{\n    return {body}\n}}\n")).errors
    return found.label, found.help


def test_the_leak_of_what_is_turned_round() -> None:
    label, help = refused("flip_[t](x)")
    assert label == "2. `flip_` turns the items of `t` round: item 0 reads the last"
    assert help == 'leave `flip_` out; or say why it holds: `causal t trusted "..."`'
    label, _ = refused("x * flip_[t](int(t))")
    assert label == "1. `flip_` turns the items of `t` round: item 0 reads the last"


@pytest.mark.parametrize(("op", "running"), [("max", "cummax"), ("logsumexp", "logcumsumexp"), ("sum", "cumsum")])
def test_the_help_names_the_op_that_runs(op: str, running: str) -> None:
    _, help = refused(f"x + broadcast[t]({op}[t](x))")
    assert f", or `{running}[t](x)`" in help
    assert not build(
        Source("t.attn", f"width t\nmodel f(x: [t]) -> [t] causal t {{\n    return x + {running}[t](x)\n}}\n")
    ).errors
    assert running not in refused(f"x + broadcast[t]({op}[t](x where x > 0))")[1]
    assert "cumsum" not in refused("x + broadcast[t](weighted_[t](x))")[1]


# -- against what the ops compute --------------------------------------------------------------------------------------


def running(join: Callable[[Array], Any]) -> Callable[[Array], Array]:
    return lambda y: np.array([join(y[: i + 1]) for i in range(len(y))])


def kept(f: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The sum of f over the items, those after each put to 0."""
    return lambda y: np.array([f(y * (np.arange(len(y)) <= i)).sum() for i in range(len(y))])


def log_sum(y: Array) -> Array:
    return np.log(np.exp(y).sum())


@pytest.mark.parametrize(
    ("result", "computed"),
    [
        ("cummax_[t](y)", np.maximum.accumulate),
        ("cummax_[t](stop_(y))", np.maximum.accumulate),
        ("logcumsumexp_[t](y)", running(log_sum)),
        ("logcumsumexp_[t](cummax_[t](y)) - y", lambda y: running(log_sum)(np.maximum.accumulate(y)) - y),
        ("flip_[t](y)", lambda y: y[::-1]),
        ("flip_[t](cummax_[t](flip_[t](y)))", lambda y: np.maximum.accumulate(y[::-1])[::-1]),
        ("y * flip_[t](int(t))", lambda y: y * np.arange(len(y))[::-1]),
        (f"sum[past](expm1_({KEPT}))", kept(np.expm1)),
        (f"sum[past](softplus_({KEPT}))", kept(lambda y: np.log1p(np.exp(y)))),
        ("max(y, 0)[t = index[t](max(int(t) - 1, 0))]", lambda y: np.maximum(y, 0)[[0, *range(len(y) - 1)]]),
    ],
)
def test_what_is_proved_is_so_and_what_is_not_is_not(result: str, computed: Callable[[Array], Array]) -> None:
    """Later items are others, and more or fewer."""
    text = f"width t\nwidth past like t\nmodel f(y: [t]) -> [t] causal t {{\n    return {result}\n}}\n"
    proved = not build(Source("t.attn", text)).errors
    rng = np.random.default_rng(0)
    changed = False
    for seen in range(1, 6):
        first = rng.normal(size=seen)
        right = computed(first)
        for more in range(1, 4):
            found = computed(np.concatenate([first, rng.normal(size=more)]))[:seen]
            changed = changed or not np.allclose(found, right, rtol=1e-12, atol=1e-12)
    assert proved is not changed


def test_a_claim_is_checked_of_ops_made_here() -> None:
    """The text as a user has it: an error with a place, no traceback."""
    with pytest.raises(attnc.AttnError) as refused:
        attnc.loads("width t\nmodel f(x: [t]) -> [t] causal t {\n    return flip_[t](x)\n}\n")
    said = "`f` is not proved causal along `t`: an item of its result may depend on items of `t` after it"
    assert said in str(refused.value)
