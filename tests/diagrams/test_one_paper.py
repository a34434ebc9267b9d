"""Figures of one paper: letters of one size, no titles, each block with one tint and drawn one way."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

import attnc
from attnc.diagrams import Diagram
from attnc.diagrams.base.theme import COLOR
from attnc.diagrams.formats import export
from attnc.diagrams.layout.figure import PAD
from attnc.diagrams.scene.steps import StepKind

from .geometry import faults

ROOT = Path(__file__).parents[2]
PAPER = """
width x
width y like x
depth m = 16, h = 2, k = 8, f = 32
const layers = 3

block attend as "Scaled Dot-Product Attention"(Q: [x, k], K: [y, k], V: [y, k]) -> [x, k] {
    return dot[y](softmax[y](dot[k](Q, K) / sqrt(|k|)), V)
}

block heads as "Multi-Head Attention"(base: [x, m], injected: [y, m]) -> [x, m] {
    Q = linear[m -> h, k](base)
    K = linear[m -> h, k](injected)
    V = linear[m -> h, k](injected)
    return linear.O[h, k -> m](attend(Q, K, V))
}

block feed as "Feed-Forward"(a: [m]) -> [m] {
    return linear.down[f -> m](relu(linear.up[m -> f](a)))
}

model reader(start: [x, m], memory: [x, m]) -> (read: [x, m]) {
    X = start
    repeat layers {
        X = X + heads.own(X, X[x as y])
        X = X + heads.cross(layernorm.a[m](X), memory[x as y])
        X = feed(X) + X
    }
    return X
}
"""
SPECS = [ROOT / "examples" / "transformer.attn", *sorted((ROOT / "examples" / "zoo").glob("*.attn"))]


def figures(text: str = PAPER, **options: object) -> dict[str, Diagram]:
    spec = attnc.loads(text)
    models = {name: spec.model(name) for name in spec.models} | {name: spec.block(name) for name in spec.blocks}
    return {name: model.draw(**options) for name, model in models.items()}  # type: ignore[arg-type]


# -- letters


@pytest.mark.parametrize("size", [8, "8pt", 9.5, "7.5 pt"])
def test_letters_have_one_size(size: str | float) -> None:
    drawn = figures(type=size, depth=2)
    points = float(str(size).removesuffix("pt"))
    scales = {scale for diagram in drawn.values() for scale in re.findall(r"scale=([0-9.]+)", diagram.tex)}
    assert scales == {f"{points / 12:.4f}".rstrip("0")}
    for diagram in drawn.values():
        sheet = diagram._sheet
        assert diagram.warnings == () and faults(sheet) == []
        assert (sheet.extent[2] - sheet.extent[0]) * sheet.scale + 2 * PAD <= 5.5 * 72 + 0.1
    assert len({diagram._sheet.scale for diagram in figures().values()}) > 1  # and without it they differ


def test_letters_that_do_not_fit_are_told() -> None:
    diagram = figures(type="12pt", width=2.2)["heads"]
    (warning,) = diagram.warnings
    found = re.fullmatch(r"the text comes out at ([0-9.]+) pt, not at 12 pt: .*give it a width of ([0-9.]+)in", warning)
    assert found is not None
    assert float(found[1]) < 12
    wide = figures(type="12pt", width=float(found[2]) + 0.1)["heads"]
    assert wide.warnings == ()
    assert figures(type=6)["attend"].warnings == ("letters of 6 pt print badly: 7 pt is the least",)


@pytest.mark.parametrize("size", ["8in", "", 0, -8, 300, "eight", float("nan")])
def test_letters_that_none_have_are_refused(size: str | float) -> None:
    with pytest.raises(ValueError, match=r"`type` is a number of points"):
        figures(type=size)


# -- titles


def test_what_goes_into_a_paper_has_no_title(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rendered: list[str] = []
    monkeypatch.setattr(export, "render", lambda text, *_: rendered.append(text) or b"")
    for title, told in ((None, False), ("A Title", True), ("", False)):
        diagram = figures(title=title)["feed"]
        diagram.save(tmp_path / "a.pdf")
        assert ("A Title" in rendered[-1], "A Title" in diagram.tex) == (told, told)
        assert "Feed-Forward" not in rendered[-1] and "Feed-Forward" not in diagram.tex
    assert "Feed-Forward" in figures()["feed"].dot  # on a screen it has
    boxes = [re.search(r"useasboundingbox \(.*,(.*)\) rectangle \(.*,(.*)\)", figures(title=title)["feed"].tex)
             for title in (None, "", "A Title")]  # fmt: skip
    heights = [float(box[2]) - float(box[1]) for box in boxes if box is not None]
    assert heights[0] == heights[1] < heights[2] - 10


# -- tints


def test_a_block_has_one_tint() -> None:
    """In all figures of a file, closed and open; the legend lists it."""
    tints: dict[str, set[int]] = {}
    for options in ({"depth": 0}, {"depth": 1}, {"depth": 2}, {}):
        for diagram in figures(legend=True, **options).values():
            sheet = diagram._sheet
            drawn = {s.block: s.tint for s in sheet.scene.sections if s.block}
            drawn |= {s.title: s.tint for column in sheet.columns for s in column.steps if s.mark == "block"}
            for title, tint in drawn.items():
                tints.setdefault(title, set()).add(tint if tint is not None else -1)
                assert f"{title} (block)" in [text for text, _ in sheet.texts]
    assert {title: len(found) for title, found in tints.items()} == {
        "Scaled Dot-Product Attention": 1, "Multi-Head Attention": 1, "Feed-Forward": 1,
    }  # fmt: skip
    assert len(set.union(*tints.values())) == 3
    opened = figures(depth=1)["heads"]._sheet.picture.clusters
    assert [cluster.fill for cluster in opened] == [COLOR.region[tints["Scaled Dot-Product Attention"].pop()]]


def test_regions_within_one_another_differ() -> None:
    """Without colours too."""
    for theme in ("color", "mono"):
        clusters = figures(depth=2, theme=theme)["reader"]._sheet.picture.clusters
        outer = [c for c in clusters if c.id and "Multi-Head" in c.tip]
        inner = [c for c in clusters if "Scaled" in c.tip]
        assert outer and inner
        assert {c.fill for c in outer}.isdisjoint(c.fill for c in inner)


# -- one way up


def _orders(diagram: Diagram) -> list[str]:
    """Blocks whose arguments do not stand in their order, and residuals that go over what they pass."""
    sheet, found = diagram._sheet, []
    copies = {id(t) for c in sheet.columns for s in c.steps if s.kind is StepKind.COPY for t in s.outs}
    for j, column in enumerate(sheet.columns):
        for step in column.steps:
            ins = sheet.meetings[id(step)].ins
            heights = [min(w.y[max(k for k in w.y if k <= j)] for w in own) for own in ins if own]
            block = step.kind is StepKind.BOX or (step.kind is StepKind.ENTER and step.mark == "border")
            if block and any(a > b for a, b in pairwise(heights)):
                found.append(f"{step.tip or step.mark}: {heights}")
            copied = [id(t) in copies for t in step.ins]
            if step.kind is StepKind.JOIN and step.mark == "sign" and sorted(copied) == [False, True]:
                residual = copied.index(True)
                if heights[residual] < heights[1 - residual]:
                    found.append(f"the residual of {step.span.text if step.span else step.tip} goes above")
    return found


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_block_is_drawn_one_way(depth: int) -> None:
    for diagram in figures(depth=depth).values():
        assert _orders(diagram) == []
        assert faults(diagram._sheet) == []


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_models_are_drawn_one_way(path: Path) -> None:
    """But where it would cost many crossings: a memory that the model takes first lies above what reads it."""
    spec = attnc.load(path)
    for name in spec.models:
        assert [found for found in _orders(spec.model(name).draw()) if "residual" in found] == []


def test_queries_keys_and_values_stand_in_that_order() -> None:
    sheet = figures(depth=0)["heads"]._sheet
    marks = dict(sheet.texts)
    assert marks["Q"][1] < marks["K"][1] < marks["V"][1]
