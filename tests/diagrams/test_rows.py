"""Ops of which diagrams, equations and the editor know the row alone: these follow from what the row says it does."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import attnc
from attnc.compiler.graph.traits import (
    LARGEST,
    LOG_ADDED,
    Arrange,
    Extreme,
    Function,
    IndexMap,
    Normalise,
    Pointwise,
    Quotient,
    Reads,
    Reduce,
    Running,
    Sum,
)
from attnc.compiler.ops import OPS, Op, Option
from attnc.diagrams import draw
from attnc.diagrams.scene.formulas.symbolic import Symbolic, applied, written
from attnc.diagrams.scene.steps import DrawStep, StepKind
from attnc.editor import describe

from .geometry import faults

HEAD = "width q, k\ndepth d = 4\n"


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    def add(name: str, like: str, reads: Reads, **more: object) -> None:
        row = replace(OPS[like], name=name, reads=reads, number="", latex="", drawn="", **more)  # type: ignore[arg-type]
        monkeypatch.setitem(OPS, name, replace(row, usage=row.usage.replace(like, name)))

    add("cummax", "cumsum", Running(LARGEST))
    add("logcumsumexp", "cumsum", Running(LOG_ADDED))
    add("flip", "cumsum", Arrange(IndexMap.MIRRORED), rule=lambda call: call.make(call.operands[0].type))
    add("softplus", "erf", Pointwise(Function(least=0, rising=True)))
    add("stop_gradient", "abs", Pointwise(Sum((1,))), gradient=False)
    add("median", "mean", Reduce(None))
    add("sparsemax", "softmax", Normalise(weights=True))


def model(body: str, result: str = "[q, k]") -> attnc.Model:
    return attnc.loads(f"{HEAD}block f(x: [q, k]) -> {result} {{\n    return {body}\n}}\n").block("f")


def drawn(model: attnc.Model) -> list[DrawStep]:
    sheet = draw(model.graph)._sheet
    assert faults(sheet) == []
    return [step for step in sheet.scene.steps if step.kind not in (StepKind.SOURCE, StepKind.SINK, StepKind.ENTER)]


def text(step: DrawStep) -> str:
    return "".join(run.text for run in step.text)


def equation(model: attnc.Model) -> str:
    *_, row = model.latex().splitlines()[:-1]
    return row.partition("&= ")[2]


def under(axis: str, word: str) -> str:
    return rf"\mathop{{\underset{{\mathsf{{{axis}}}}}{{\mathrm{{{word}}}}}}}\left(x\right)"


@pytest.mark.parametrize("name", ["cummax", "logcumsumexp", "flip"])
def test_an_axis_that_stays(name: str) -> None:
    """The glyph sits on its wire, which goes on."""
    made = model(f"{name}[k](x)")
    (step,) = drawn(made)
    assert (step.kind, step.mark, text(step)) == (StepKind.ON, "pill", name)
    assert [axis.name for axis in step.on] == ["k"] and not step.eaten and not step.made
    assert equation(made) == under("k", name)


def test_an_axis_that_goes() -> None:
    made = model("median[k](x)", "[q]")
    (step,) = drawn(made)
    assert (step.kind, step.mark, text(step)) == (StepKind.THROUGH, "pill", "median")
    assert [axis.name for axis in step.eaten] == ["k"]
    assert equation(made) == under("k", "median")


def test_shares() -> None:
    made = model("sparsemax[k](x)")
    (step,) = drawn(made)
    assert (step.kind, step.mark) == (StepKind.ON, "triangle")
    assert equation(made) == under("k", "sparsemax")


@pytest.mark.parametrize(("name", "shown"), [("softplus", "softplus"), ("stop_gradient", "stop gradient")])
def test_item_by_item(name: str, shown: str) -> None:
    made = model(f"{name}(x)")
    (step,) = drawn(made)
    assert (step.kind, step.mark, text(step)) == (StepKind.LANE, "arrow", shown)
    assert equation(made) == rf"\mathrm{{{name.replace('_', chr(92) + '_')}}}\left(x\right)"


def test_the_row_says_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPS, "softplus", replace(OPS["softplus"], drawn="ζ", latex=r"\zeta"))
    made = model("softplus(x)")
    assert text(drawn(made)[0]) == "ζ" and equation(made) == r"\zeta\left(x\right)"
    monkeypatch.setitem(OPS, "softplus", replace(OPS["softplus"], latex=r"\ln\left(1 + e^{{{0}}}\right)"))
    assert equation(model("softplus(x + 1)")) == r"\ln\left(1 + e^{x + 1}\right)"
    flipped = replace(OPS["flip"], latex=r"\overleftarrow{{{0:ATOM}}}^{{{axes}}}")
    monkeypatch.setitem(OPS, "flip", flipped)
    assert equation(model("flip[k](x + 1)")) == r"\overleftarrow{\left(x + 1\right)}^{\mathsf{k}}"
    any_of = replace(OPS["median"], latex=r"\bigvee", binds=OPS["sum"].binds)
    monkeypatch.setitem(OPS, "median", any_of)
    assert equation(model("median[k](x + 1)", "[q]")) == (r"\mathop{\underset{\mathsf{k}}{\bigvee}} \left(x + 1\right)")


def test_options_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPS, "softplus", replace(OPS["softplus"], options=(Option("beta", 1.0, "how steep"),)))
    assert equation(model("softplus(x, beta = 1.0)")) == r"\mathrm{softplus}\left(x\right)"
    assert equation(model("softplus(x, beta = 2.0)")) == r"\mathrm{softplus}\left(x, {\beta} = 2\right)"


def test_a_root_is_a_power() -> None:
    root = replace(OPS["softplus"], reads=Pointwise(Function(power=1 / 3)))
    formula = Symbolic(root.name, (Symbolic("symbol", text="n"),), root)
    assert [run.text for run in written(formula)] == ["n", "1/3"]
    over = applied(Quotient(), formula)
    assert "".join(run.text for run in over) == "× n−1/3"
    assert applied(Extreme(largest=True), formula) == ()  # no operator: it is a function of two


def test_in_masks_of_positions() -> None:
    """What leaves numbers as they are is looked through; what reads elsewhere is not taken for a pattern."""

    def mask(condition: str) -> tuple[object, ...]:
        body = f"return softmax[k](x where {condition})"
        text = f"width q\nwidth k like q\nblock f(x: [q, k]) -> [q, k] {{\n    {body}\n}}\n"
        (step,) = [step for step in drawn(attnc.loads(text).block("f")) if step.mark == "mask"]
        return step.cases

    assert mask("stop_gradient(k) <= q") == mask("k <= q") != ()
    assert mask("k <= flip[q](q)") == ()
    assert mask("k <= cummax[q](q)") == ()
    assert mask("softplus(k) <= q") == ()


@pytest.mark.parametrize("name", ["flip", "softplus", "stop_gradient"])
def test_in_formulas(name: str) -> None:
    brackets = "[q]" if OPS[name].reads == Arrange(IndexMap.MIRRORED) else ""
    made = model(f"x * {name}{brackets}(q * 0.5)")
    assert faults(draw(made.graph)._sheet) == []
    assert name.replace("_", r"\_") in equation(made)


@pytest.mark.parametrize("name", ["cummax", "flip", "softplus", "stop_gradient"])
def test_its_page(name: str) -> None:
    op = describe.op_named(name, brackets=True)
    assert isinstance(op, Op) and re.search(rf"\b{name}\b", describe.op_page(op))
