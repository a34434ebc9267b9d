"""Rows, balanced, with no input parted from its reader; pages and panels: in the examples, the zoo, the library."""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import attnc
from attnc.cli.main import main
from attnc.diagrams import Diagram
from attnc.diagrams.base import theme
from attnc.diagrams.base.curves import bend, straight
from attnc.diagrams.base.paper import PRESETS
from attnc.diagrams.base.text import Run, plain, shifted
from attnc.diagrams.draw.bends import separate
from attnc.diagrams.draw.sheet import Sheet
from attnc.diagrams.layout.figure import PAD
from attnc.diagrams.layout.rows import FILLED, waiting
from tests.specs import sampled

from .geometry import crossings, faults, piled

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SPECS = sorted([*(ROOT / "compiler" / "std").glob("*.attn"), *(ROOT / "examples").rglob("*.attn")])
RAGGED = {line for line in (HERE / "ragged.txt").read_text().splitlines() if not line.startswith("#")}


def models(path: Path) -> Iterator[attnc.Model]:
    spec = attnc.load(path)
    for name in (*spec.models, *spec.blocks):
        yield spec.model(name) if name in spec.models else spec.block(name)


def ragged(sheet: Sheet) -> list[str]:
    """What is wrong with its rows."""
    long = [sheet.right[row[-1]] - sheet.left[row[0]] for row in sheet.rows]
    out = [f"row {k} fills {a / max(long):.0%}" for k, a in enumerate(long[:-1]) if a < FILLED * max(long)]
    row_of = {j: k for k, row in enumerate(sheet.rows) for j in row}
    waits = waiting([column.steps for column in sheet.columns])
    out += [f"an input waits in row {row_of[a]}" for a, b in waits.values() if b in row_of and row_of[a] < row_of[b]]
    return out


def check(path: Path, depths: tuple[int | None, ...]) -> None:
    for model in models(path):
        for depth in depths:
            name = f"{path.relative_to(ROOT)}:{model.name} {depth}"
            assert (ragged(model.draw(depth=depth)._sheet) != []) == (name in RAGGED), name


@pytest.mark.parametrize("path", sampled(SPECS), ids=lambda path: path.stem)
def test_rows_are_balanced(path: Path) -> None:
    check(path, (None,))


@pytest.mark.slow
@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_rows_of_open_figures_are_balanced(path: Path) -> None:
    check(path, (1, 2))


def letters(sheet: Sheet) -> float:
    """Points on paper of the letters at the wires."""
    return sheet.scale * theme.AXIS


@pytest.mark.parametrize(
    "name", ["compiler/std/attention.attn:multihead", "examples/attentions/multi_head.attn:multi_head"]
)
def test_multi_head_attention_takes_one_row(name: str) -> None:
    """Open, at 5.5 in, with letters as large as in the drawing of it by Abbott."""
    file, _, block = name.partition(":")
    spec = attnc.load(ROOT / file)
    sheet = (spec.model(block) if block in spec.models else spec.block(block)).draw(depth=1)._sheet
    assert len(sheet.rows) == 1 and letters(sheet) >= 7.5


def test_the_transformer_takes_two_rows() -> None:
    """Both embeddings and the encoder, and beneath them the decoder."""
    sheet = attnc.load(ROOT / "examples" / "transformer.attn").model("transformer").draw()._sheet
    assert len(sheet.rows) == 2 and letters(sheet) >= 7.5
    kinds = [[step.mark for j in row for step in sheet.columns[j].steps] for row in sheet.rows]
    assert kinds[0].count("input") == 2 and "input" not in kinds[1]
    assert [row.count("bracket") for row in kinds] == [2, 2]


def marks(sheet: Sheet) -> list[list[str]]:
    """The blocks, brackets and learned things of each row."""
    steps = [[step for j in row for step in sheet.columns[j].steps] for row in sheet.rows]
    return [[step.block or plain(step.text) or step.mark for step in row] for row in steps]


def test_the_encoder_of_t5_is_one_row() -> None:
    """A table that says how far items are apart is a box, as other tables of places."""
    sheet = attnc.load(ROOT / "examples" / "zoo" / "t5.attn").model("t5").draw()._sheet
    first = marks(sheet)[0]
    assert first.count("bracket") == 2 and first.count("relative_bias") == 1 and ragged(sheet) == []
    assert len(sheet.rows) == 3 and (sheet.extent[3] - sheet.extent[1]) * sheet.scale < 7.3 * 72


def test_what_is_known_stands_just_before_its_reader() -> None:
    """The bias of the logits of BART is not carried past the encoder and the decoder."""
    sheet = attnc.load(ROOT / "examples" / "zoo" / "bart.attn").model("bart").draw()._sheet
    assert [row.count("bias") for row in marks(sheet)] == [0, 0, 1]


def test_a_table_stands_beside_what_it_is_added_to() -> None:
    text = """width s <= 38, t <= 38
depth m = 8, p = 40, n = 100
block f(a: n[s], b: n[t]) -> (one: [s, m], other: [t, m]) {
    param P: [p, m]
    return embed.A[n -> m](a) + P[p = int(s) + 2], embed.B[n -> m](b) + P[p = int(t) + 2]
}"""
    sheet = attnc.loads(text).block("f").draw()._sheet
    assert crossings(sheet) <= 2 and faults(sheet) == []


def test_wires_have_names_on_both_sides_of_a_break() -> None:
    sheet = attnc.load(ROOT / "examples" / "transformer.attn").model("transformer").draw()._sheet
    for run in sheet.runs:
        if run.on and run.x1 - run.x0 > 60:
            near = [box for text, box in sheet.texts if abs(box[3] - run.y) < 16 or abs(box[1] - run.y) < 16]
            assert any(run.x1 - 70 < box[2] <= run.x1 + 1 for box in near), (run.wire.axis, run.x1)


# -- pages


def heights(diagram: Diagram) -> list[float]:
    """Of each panel, in points on paper, as Graphviz makes its page."""
    sheets = [panel._sheet for panel in (diagram, *diagram.panels)]
    return [(sheet.extent[3] - sheet.extent[1]) * sheet.scale + 2 * PAD for sheet in sheets]


def check_pages(path: Path, pages: tuple[str, ...], depths: tuple[int, ...]) -> None:
    """No panel is higher or wider than its page, letters are large enough, and nothing lies on anything else."""
    for model in models(path):
        for page, depth in itertools.product(pages, depths):
            diagram = model.draw(depth=depth, page=page)
            name, paper = f"{model.name} {page} {depth}", PRESETS[page]
            assert paper.height is not None and max(heights(diagram)) <= paper.height + 0.01, name
            for panel in (diagram, *diagram.panels):
                assert panel._sheet.extent[2] - panel._sheet.extent[0] <= paper.row, name
                assert faults(panel._sheet) == [], (name, panel.suffix)
            assert diagram.warnings == (), name


QUICK = [
    path
    for path in SPECS
    if path.parents[1].name != "zoo" and path.stem in ("transformer", "gpt", "latent", "retention", "convolution")
]


@pytest.mark.parametrize("path", QUICK, ids=lambda path: path.stem)
def test_pages(path: Path) -> None:
    check_pages(path, ("neurips",), (1,))


@pytest.mark.slow
@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_every_page(path: Path) -> None:
    check_pages(path, ("neurips",), (1, 2))


def test_panels_hold_what_the_main_panel_closes() -> None:
    diagram = attnc.load(ROOT / "examples" / "transformer.attn").model("transformer").draw(depth=2, page="neurips")
    named = {panel.letter: panel for panel in diagram.panels}
    assert diagram.letter == "" and list(named) == [*"abcdefgh"][: len(named)] and "a" in named
    boxes = [step for panel in (diagram, *diagram.panels) for step in panel._sheet.scene.steps if step.panel]
    assert {step.panel for step in boxes} == set(named)
    for step in boxes:
        assert named[step.panel]._sheet.scene.title == step.title
    heads = [step.panel for step in diagram._sheet.scene.steps if step.block == "multihead"]
    assert len(heads) == 3 and heads[0] == heads[2] != heads[1]  # over padding; causal; over padding
    assert "attend" in named[heads[0]].dot and "attend" not in diagram.dot
    assert len({panel._sheet.scale for panel in (diagram, *diagram.panels)}) == 1  # letters of one size


def test_what_cannot_be_closed_goes_on() -> None:
    diagram = attnc.load(ROOT / "examples" / "attentions" / "lsh.attn").block("attend").draw(page="5.5x5in")
    assert [panel.suffix for panel in diagram.panels][:1] == ["-2"]
    assert max(heights(diagram)) <= 5 * 72
    whole = attnc.load(ROOT / "examples" / "attentions" / "lsh.attn").block("attend").draw()
    drawn = [step.mark for panel in (diagram, *diagram.panels) for c in panel._sheet.columns for step in c.steps]
    assert sorted(drawn) == sorted(step.mark for step in whole._sheet.scene.steps)


def test_presets_are_those_of_the_style_files() -> None:
    inches = {name: (round(p.width / 72, 2), round((p.height or 0) / 72, 2)) for name, p in PRESETS.items()}
    assert inches == {
        "neurips": (5.5, 9.0),
        "acl-column": (3.03, 9.72),
        "ieee": (3.49, 9.63),
        "slide-16x9": (5.51, 2.76),
        "poster": (14.17, 23.62),
    }


def test_a_page_in_words_and_in_numbers() -> None:
    model = attnc.load(ROOT / "examples" / "transformer.attn").model("transformer")
    assert model.draw(page="5.5x9in").dot == model.draw(page="neurips").dot == model.draw(page=(5.5, 9)).dot
    assert model.draw(page="139.7mm x 22.86cm").dot == model.draw(page="neurips").dot
    for wrong in ("nips", "5.5in", "0x9in", "5.5x9km", ""):
        with pytest.raises(ValueError, match=r"is not a page such as 5\.5x9in or 14x20cm, and not one of neurips"):
            model.draw(page=wrong)
    with pytest.raises(ValueError, match=r"no page is 0 by 9 in"):
        model.draw(page=(0, 9))
    with pytest.raises(ValueError, match=r"`width` cannot be given too"):
        model.draw(page="neurips", width=5.5)


def test_a_poster_has_large_letters() -> None:
    sheet = attnc.load(ROOT / "examples" / "transformer.attn").model("transformer").draw(page="poster")._sheet
    assert sheet.scale * theme.CAPTION >= 17.2


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_files_of_panels(tmp_path: Path) -> None:
    model = attnc.load(ROOT / "examples" / "transformer.attn").model("transformer")
    diagram = model.draw(depth=2, page="neurips")
    assert diagram.save(tmp_path / "f.svg") == tmp_path / "f.svg"
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"f{panel.suffix}.svg" for panel in (diagram, *diagram.panels)} > {"f.svg", "f-a.svg"}
    high = re.search(r'height="(\d+)pt"', (tmp_path / "f.svg").read_text())
    assert high and int(high[1]) <= 9 * 72


def test_the_command_names_the_files_of_panels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, out = tmp_path / "f.attn", str(tmp_path / "f.dot")
    maps = " |> ".join(f"linear.m{k}[d -> d]" for k in range(9))
    spec.write_text(f"depth d = 4\n\nblock f(x: [d]) -> [d] {{\n    return x |> {maps}\n}}\n", encoding="utf-8")
    assert main(["draw", str(spec), "-o", out]) == 0 and capsys.readouterr().err == ""
    assert main(["draw", str(spec), "--page", "1.5x0.6in", "-o", out]) == 0
    said = capsys.readouterr().err
    assert said.startswith("attnc: the figure is in 5 files") and said.endswith("f-4.dot, f-5.dot\n")


# -- wires that cross

PILED = {  # figures in which more wires cross between two columns than there is room for; this list may only shrink
    "longformer",
    "lsh",
    "attend",
    "chunk",
    "chunkwise",
    "shifted_windows",
}


@pytest.mark.parametrize("path", QUICK, ids=lambda path: path.stem)
def test_three_wires_never_cross_in_one_point(path: Path) -> None:
    for model in models(path):
        sheet = model.draw(depth=1)._sheet
        assert model.name in PILED or piled([chain for _, chain in sheet.curves]) == [], model.name


def test_what_is_piled_up_is_seen_and_moved_apart() -> None:
    """Two copies that leave one dot and cross the wire beneath it."""
    level = [(0.0, 23.0), *straight((0.0, 23.0), (60.0, 23.0))]
    chains = [[(10.0, 0.0), *bend((10.0, 0.0), (42.0, y))] for y in (180.0, 400.0)] + [level]
    assert piled(chains) != []
    separate(chains)
    assert piled(chains) == []


def test_scripts_and_letters_are_large_enough() -> None:
    """On paper, with the smallest letters that a figure may have."""
    scale = theme.LEAST / theme.CAPTION
    for size in (theme.CAPTION, theme.AXIS, theme.GLYPH, theme.RAISED, theme.BLOCK):
        assert size * scale >= 7
        assert shifted(Run("2", "", 1), size)[0] * scale >= 6
