"""What an author says of a figure: read, checked, and done."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import attnc
from attnc.cli import main
from attnc.diagrams import Diagram
from attnc.diagrams.base.text import plain
from attnc.diagrams.hints.hints import TINTS
from attnc.diagrams.hints.naming import called_brackets
from attnc.diagrams.scene.steps import DrawStep, Section
from attnc.dsl.diagnostic import Diagnostic
from attnc.dsl.errors import AttnError

from .geometry import box_of, faults, is_note, within

SPEC = """
use std.attention: attend
width t
width s like t
depth m = 512, h = 8, k = 64, v = 64
block heads(x: [t, m], y: [s, m], real: bool[s] = true) -> [t, m] {
    Q = linear[m -> h, k](x, bias = false)
    K = linear[m -> h, k](y, bias = false)
    V = linear[m -> h, v](y, bias = false)
    scores = dot[k](Q, K) / sqrt(|k|)
    weights = softmax[s](scores where real)
    return linear.O[h, v -> m](dot[s](weights, V), bias = false)
}
model net(a: [t, m], b: [t, m], c: [t, m]) -> [t, m] {
    gain = sigmoid(mean[m](relu(c)))
    return heads(a, b[t as s]) * gain + c
}
"""


def drawn(hints: Mapping[str, Any], name: str = "heads", **more: Any) -> Diagram:
    spec = attnc.loads(SPEC)
    model = spec.model(name) if name in spec.models else spec.block(name)
    made = model.draw(hints=hints, **more)
    assert faults(made._sheet) == []
    return made


def wrong(hints: Mapping[str, Any], name: str = "heads", **more: Any) -> Diagnostic:
    with pytest.raises(AttnError) as raised:
        drawn(hints, name, **more)
    (found,) = raised.value.diagnostics
    return found


def heights(made: Diagram) -> list[str]:
    """The inputs at the left, from top to bottom."""
    sheet = made._sheet
    own = [step for step in sheet.columns[0].steps if step.mark == "input"]
    return [step.outs[0].name for step in sorted(own, key=lambda s: sheet.meetings[id(s)].outs[0][0].y[0])]


def test_inputs_stand_in_the_order_of_the_hint() -> None:
    assert heights(drawn({"inputs": ["y", "x"]})) == ["y", "x"]
    assert heights(drawn({"inputs": ["x", "y"]})) == ["x", "y"]
    for order in (["a", "c", "b"], ["c", "a", "b"], ["b", "c", "a"]):
        assert heights(drawn({"inputs": order}, "net")) == order
    assert heights(drawn({"inputs": "c"}, "net")) == ["c", "a", "b"]


def test_a_row_begins_where_the_hint_says() -> None:
    assert len(drawn({})._sheet.rows) == 1
    sheet = drawn({"break": ["weights", "O"]})._sheet
    assert len(sheet.rows) == 3
    for row, name in zip(sheet.rows[1:], ("weights", "O"), strict=True):
        first = next(sheet.columns[j] for j in row if sheet.columns[j].steps)
        assert any(name in step.names for step in first.steps)


def test_what_is_hidden_says_so() -> None:
    made = drawn({"hide": ["gain"]}, "net")
    hidden = [step for step in made._sheet.scene.steps if step.mark == "hidden"]
    assert [plain(step.text) for step in hidden] == ["gain: not drawn"]
    assert "mean" not in made.dot and "not drawn" in made.dot
    assert [axis.name for tensor in hidden[0].outs for axis in tensor.axes] == ["t"]
    assert "left out by the author" in drawn({"hide": ["gain"]}, "net", legend=True).dot
    assert "mean" in drawn({}, "net").dot


NOTES = [
    {"at": ["Q", "K", "V"], "text": "Learned maps make *Q*, *K* and *V* of the inputs."},
    {"at": "Q[h]", "text": "A vector for each head.", "tint": "pink"},
    {"at": "weights", "text": "They sum to one.", "tint": "blue", "side": "below"},
    {"at": "O", "text": "A last map joins the results of the separate heads into one vector.", "tint": "green"},
]


def boxes(made: Diagram) -> list[tuple[float, float, float, float]]:
    return [box_of(node) for node in made._sheet.picture.nodes if is_note(node)]


@pytest.mark.parametrize("width", [5.5, 3.3])
def test_notes_cover_nothing_and_reach_what_they_speak_of(width: float) -> None:
    made = drawn({"note": NOTES}, width=width)  # `faults` sees that nothing lies on a note
    sheet = made._sheet
    assert len(boxes(made)) == 4
    wedges = [e for e in sheet.picture.edges if e.attributes["class"] == "wedge"]
    plates = [c for c in sheet.picture.clusters if c.cls == "plate"]
    assert {e.attributes["color"] for e in wedges} == {TINTS[t] for t in ("yellow", "pink", "blue", "green")}
    for step in (s for s in sheet.scene.steps if s.names & {"Q", "K", "V", "O", "weights"}):
        _, box, _ = next(glyph for glyph in sheet.glyphs if glyph[2] is step)
        assert any(within(box, plate.box) for plate in plates)
    first = min(i for i, e in enumerate(sheet.picture.edges) if e.attributes["class"].startswith("wire"))
    under = [i for i, e in enumerate(sheet.picture.edges) if e.attributes["class"] in ("wedge", "halo")]
    assert under and max(under) < first, "wedges and halos lie beneath the wires"
    tails = {e.tail for e in sheet.picture.edges if e.attributes["class"] in ("wedge", "halo")}
    nodes = [node.id for node in sheet.picture.nodes]  # Graphviz draws the edges of one node after those of another
    assert max(map(nodes.index, tails)) < min(nodes.index(e.tail) for e in sheet.picture.edges if e.tail not in tails)


def test_a_note_stands_on_the_side_that_it_is_told() -> None:
    for side, sign in (("above", -1), ("below", 1)):
        made = drawn({"note": [{"at": "weights", "text": "one", "side": side}]})
        (box,) = boxes(made)
        (step,) = (s for s in made._sheet.scene.steps if "weights" in s.names)
        (wire,) = (w for w in made._sheet.meetings[id(step)].ins[0] if w.axis in step.on)
        assert (box[1] - next(iter(wire.y.values()))) * sign > 0


def test_the_text_of_a_note_is_text() -> None:
    made = drawn({"note": [{"at": "Q", "text": 'A <b> & "q" \\N of *k* × 2 * 3'}]})
    assert "&lt;b&gt; &amp; &quot;q&quot; \\\\N" in made.dot and "<I>k</I>" in made.dot and "2 * 3" in made.dot
    assert "\\textbackslash" in made.tex


def test_names_within_open_blocks() -> None:
    for name in ("Q", "heads.Q"):
        made = drawn({"open": "heads", "note": [{"at": name, "text": "queries"}]}, "net")
        assert len(boxes(made)) == 1
        ((mark, axis),) = made._sheet.scene.callouts[0].marks
        assert isinstance(mark, DrawStep) and "Q" in mark.names and axis is None
    made = drawn({"note": [{"at": "heads", "text": "a block"}]}, "net", open="heads")
    assert len(boxes(made)) == 1


def test_open_and_close_are_those_of_the_flags_where_there_are_none() -> None:
    assert drawn({"open": "heads"}, "net").dot == drawn({}, "net", open="heads").dot
    assert drawn({"open": "heads"}, "net", depth=0).dot == drawn({}, "net", depth=0).dot


def test_tints_are_those_of_the_equations() -> None:
    spec = attnc.loads(SPEC)
    tints = {"scores": "violet", "weights": "blue"}
    made = drawn({"tint": tints})
    assert [c.fill for c in made._sheet.picture.clusters if c.cls == "plate"] == [TINTS["violet"], TINTS["blue"]]
    tex = spec.block("heads").latex(hints={"tint": tints}, tint=True)
    rows = {row.split("&=")[0].strip(): row for row in tex.split("\n") if "colorbox" in row}
    assert set(rows) == {r"\mathit{scores}", r"\mathit{weights}"}
    assert TINTS["violet"][1:] in rows[r"\mathit{scores}"] and TINTS["blue"][1:] in rows[r"\mathit{weights}"]
    assert "colorbox" not in spec.block("heads").latex(hints={"tint": tints})


def test_each_value_gets_a_tint_if_the_author_has_chosen_none() -> None:
    spec = attnc.loads(SPEC)
    made = drawn({}, tint=True)
    tex = spec.block("heads").latex(hints={}, tint=True)
    plates = [c.fill for c in made._sheet.picture.clusters if c.cls == "plate"]
    assert len(plates) == 5 == tex.count("colorbox")  # Q, K, V, scores, weights
    assert all(color[1:] in tex for color in plates)
    assert "xcolor" in tex.split("\n")[0] and "xcolor" not in spec.block("heads").latex()


NAMED = {  # where a value may stand; `there` is its name, and no other value has it
    "at the top": "    there = a * b\n    return tanh(there)\n",
    "in a repeat": "    repeat.r 3 {\n        there = a * b\n        a = tanh(there)\n    }\n    return a\n",
    "in a nested repeat": "    repeat.r 3 {\n    repeat.s 2 {\n        there = a * b\n        a = tanh(there)\n    }\n"
    "    }\n    return a\n",
    "of a repeat": "    there = a\n    repeat.r 3 {\n        there = tanh(there) * b\n    }\n    return there\n",
    "in a scan": "    return scan[t] cell(a, h = 0)\n",
    "of a scan": "    there = scan[t] cell(a, h = 0)\n    return there\n",
    "in a block in line": "    return inner(a, b)\n",
}
CELL = (
    "block cell(i: [m], h: [m]) -> (h: [m]) {{\n    {0} = i * h\n    return tanh({0})\n}}\n"
    "block inner(a: [t, m], b: [t, m]) -> [t, m] {{\n    {0} = a * b\n    return tanh({0})\n}}\n"
)


@pytest.mark.parametrize("place", NAMED)
def test_a_value_is_tinted_wherever_it_stands(place: str) -> None:
    """By its name, and with all that have names: as a glyph, or as the brackets that make it."""
    blocks = CELL.format("other" if place == "of a scan" else "there")
    head = "width t\ndepth m = 4\n" + blocks + "model f(a: [t, m], b: [t, m]) -> [t, m] {\n"
    model = attnc.loads(f"{head}{NAMED[place]}}}\n").model("f")
    alone = place not in ("of a repeat",)  # this name is bound again and again
    for made in (model.draw(hints={"tint": {"there": "violet"}}), *([model.draw(tint=True)] if alone else ())):
        assert faults(made._sheet) == []
        marks = [tint.mark for tint in made._sheet.scene.tints]
        assert any("there" in (mark.names if isinstance(mark, DrawStep) else called_brackets(mark)) for mark in marks)
        assert {c.fill for c in made._sheet.picture.clusters if c.cls == "plate"}


@pytest.mark.parametrize("name", ["r", "cell"])
def test_brackets_have_names(name: str) -> None:
    place = "in a repeat" if name == "r" else "in a scan"
    text = f"width t\ndepth m = 4\n{CELL.format('there')}model f(a: [t, m], b: [t, m]) -> [t, m] {{\n{NAMED[place]}}}\n"
    sheet = attnc.loads(text).model("f").draw(hints={"tint": {name: "violet"}})._sheet
    assert [isinstance(tint.mark, Section) for tint in sheet.scene.tints] == [True]
    assert faults(sheet) == []


@pytest.mark.parametrize(
    ("hints", "code", "says", "help"),
    [
        ({"hidden": "Q"}, "E1002", "no `hidden` here", "did you mean `hide`?"),
        ({"note": [{"at": "Q", "text": "q", "tnt": "blue"}]}, "E1002", "no `tnt` here", "did you mean `tint`?"),
        ({"hide": 3}, "E1003", "not a number", "list of names"),
        ({"hide": []}, "E1003", "not an empty list", "list of names"),
        ({"hide": ["Q", "Q"]}, "E1003", "`Q` is named twice", "once"),
        ({"note": {"at": "Q"}}, "E1003", "not a table", "[[model.note]]"),
        ({"note": [{"at": "Q"}]}, "E1003", "no `text`", "text ="),
        ({"note": [{"text": "q"}]}, "E1003", "no `at`", "at ="),
        ({"note": [{"at": "Q", "text": " "}]}, "E1003", "`text` is a text", "a text"),
        ({"note": [{"at": "Q", "text": "q", "side": "left"}]}, "E1003", "no side `left`", '"above" or "below"'),
        ({"tint": {"Q": "voilet"}}, "E1003", "no tint `voilet`", "did you mean `violet`?"),
        ({"tint": "blue"}, "E1003", 'not the text "blue"', "a table"),
        ({"hide": "score"}, "E1004", "no thing `score`", "did you mean `scores`?"),
        ({"break": "zzz"}, "E1004", "no thing `zzz`", "it has"),
        ({"inputs": ["X"]}, "E1004", "no input `X`", "it has `x`, `y`"),
        ({"inputs": ["Q"]}, "E1004", "no input `Q`", "it has `x`, `y`"),
        ({"note": [{"at": "Q[q]", "text": "q"}]}, "E1004", "`Q` has no wire `q`", "it has"),
        ({"note": [{"at": "Q K", "text": "q"}]}, "E1004", "`Q K` is no name", "write a name such as"),
        ({"tint": {"x": "blue"}}, "E1004", "no thing `x`", "it has"),
    ],
)  # fmt: skip
def test_mistakes(hints: dict[str, Any], code: str, says: str, help: str) -> None:
    found = wrong(hints)
    assert (found.code, found.span) == (code, None)
    assert says in found.message and help in found.help, found


def test_what_is_in_a_closed_block_is_said_to_be() -> None:
    found = wrong({"note": [{"at": "scores", "text": "s"}]}, "net", depth=0)
    assert found.help == 'it is in `heads`, which is closed: `open = ["heads"]`'


def test_a_mask_that_comes_in_is_named_where_it_masks() -> None:
    made = drawn({"note": [{"at": "real", "text": "padding"}]})
    ((mark, _),) = made._sheet.scene.callouts[0].marks
    assert isinstance(mark, DrawStep) and mark.mark == "mask"
    gpt2 = attnc.load("examples/zoo/gpt2.attn").model("gpt2")
    ((mark, _),) = gpt2.draw(hints={"note": [{"at": "real", "text": "padding"}]})._sheet.scene.callouts[0].marks
    assert isinstance(mark, DrawStep) and mark.block == "multihead"


def test_names_are_those_of_the_figure_that_is_drawn() -> None:
    """Blocks that a small figure opens by itself are tried first: what is within them is there."""
    text = "width t\ndepth m = 4\nblock part(x: [t, m]) -> [t, m] {\n    a = linear.A[m -> m](x)\n"
    text += "    b = linear.B[m -> m](relu(a))\n    return softmax[m](b)\n}\n"
    text += "model f(x: [t, m]) -> [t, m] {\n    y = part(x)\n    return x + y\n}\n"
    model = attnc.loads(text).model("f")
    assert {s.name for s in model.draw(hints={})._sheet.scene.sections} == {"part"}
    assert len(boxes(model.draw(hints={"note": [{"at": "b", "text": "within"}, {"at": "y", "text": "a block"}]}))) == 2
    with pytest.raises(AttnError, match="no thing `b`"):
        model.draw(hints={"close": "part", "note": [{"at": "b", "text": "within"}]})
    with pytest.raises(AttnError, match="no wire `z`"):
        model.draw(hints={"note": [{"at": "b[z]", "text": "a wire"}]})


def test_an_open_block_is_not_hidden() -> None:
    assert "is open in this figure" in wrong({"open": "heads", "hide": "heads"}, "net").message


def test_an_input_is_not_hidden() -> None:
    assert "nothing is behind it" in wrong({"hide": "x"}).message


def test_notes_in_ink_alone() -> None:
    made = drawn({"note": NOTES, "tint": {"scores": "violet"}}, theme="mono")
    fills = {c.fill for c in made._sheet.picture.clusters if c.cls == "plate"}
    fills |= {e.attributes["color"] for e in made._sheet.picture.edges if e.attributes["class"] in ("wedge", "halo")}
    assert fills and all(fill[1:3] == fill[3:5] == fill[5:7] for fill in fills)


def test_kinds_of_hints() -> None:
    with pytest.raises(TypeError, match="a file or a dict, not int"):
        attnc.loads(SPEC).block("heads").draw(hints=3)  # type: ignore[arg-type]


# -- files

FILE = """# of our paper
[heads]
inputs = ["y", "x"]
tint = { scores = "violet" }

[[heads.note]]
at = ["Q", "K"]
text = \"\"\"
  Learned maps
  side = by side\"\"\"

[[heads.note]]
at = 'V'
tint = "blue"
text = "Values."

[net]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.attn").write_text(SPEC, encoding="utf-8")
    return tmp_path


def test_a_file_beside_the_spec_is_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = attnc.load("a.attn").block("heads").draw().dot
    Path("a.figure").write_text(FILE, encoding="utf-8")
    made = attnc.load("a.attn").block("heads").draw()
    assert made.dot != bare and len(boxes(made)) == 2
    assert attnc.load("a.attn").block("heads").draw(hints={}).dot == bare
    Path("b.figure").write_text(FILE, encoding="utf-8")
    assert attnc.load("a.attn").block("heads").draw(hints="b.figure").dot == made.dot
    assert attnc.loads(SPEC).block("heads").draw(hints=Path("b.figure")).dot == made.dot
    for flags, dot in (([], made.dot), (["--hints", "b.figure"], made.dot), (["--hints", ""], bare)):
        assert main(["draw", "a.attn:heads", *flags]) == 0
        assert capsys.readouterr().out == dot
    assert main(["show", "a.attn:heads", "--latex", "--tint"]) == 0
    assert capsys.readouterr().out.count("colorbox") == 1
    assert main(["draw", "a.attn:heads", "--hints", "", "--tint"]) == 0
    assert capsys.readouterr().out == attnc.loads(SPEC).block("heads").draw(tint=True).dot


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "text"),
    [
        ("[heads]", "[heads", "E1001", 2, "\n"),
        ("[heads]", "[haeds]", "E1004", 2, "haeds"),
        ("inputs", "input", "E1002", 3, "input"),
        ('"y"', '"z"', "E1004", 3, "z"),
        ("scores", "score", "E1004", 4, "score"),
        ("violet", "voilet", "E1003", 4, "voilet"),
        ('["Q", "K"]', '["Q", "k"]', "E1004", 7, "k"),
        ('["Q", "K"]', "12", "E1003", 7, "at"),
        ("'V'", "'W'", "E1004", 13, "W"),
        ('tint = "blue"', "tint = 3", "E1003", 14, "tint"),
        ('text = "Values."', 'txt = "Values."', "E1002", 15, "txt"),
        ("[net]", "[nett]", "E1004", 17, "nett"),
        ("[net]", "[net]\nhide = true", "E1003", 18, "hide"),
        ("[net]", "net = 1", "E1002", 17, "net"),
    ],
)
def test_a_mistake_has_its_place(folder: Path, old: str, new: str, code: str, line: int, text: str) -> None:
    Path("a.figure").write_text(FILE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(AttnError) as raised:
        attnc.load("a.attn").block("heads").draw()
    found = next(each for each in raised.value.diagnostics if each.code == code)
    assert found.span is not None and found.span.source.name.endswith("a.figure")
    assert found.span.source.position(found.span.start)[0] == line
    assert found.span.text == text
    if found.fix is not None:  # what is offered mends it
        (edit,) = found.fix.edits
        assert edit.text in FILE


def test_a_file_that_is_not_there_or_says_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", "a.attn:heads", "--hints", "none.figure"]) == 2
    assert "none.figure: no such file" in capsys.readouterr().err
    Path("b.figure").write_text("[net]\n", encoding="utf-8")
    assert main(["draw", "a.attn:heads", "--hints", "b.figure"]) == 1
    assert "b.figure has no hints for `heads`" in capsys.readouterr().err
    Path("a.figure").write_text("[net]\n", encoding="utf-8")
    assert main(["draw", "a.attn:heads"]) == 0


def test_levels_of_a_page_may_lack_what_notes_speak_of() -> None:
    made = drawn({"open": "heads", "note": [{"at": "scores", "text": "s"}, {"at": "gain", "text": "g"}]}, "net")
    sheet = made._maker.level(made._graph, (), 500, False)
    assert [note.text for note in sheet.scene.callouts] == ["g"] and faults(sheet) == []


PANELS = """
width t
width s like t
depth m = 64, h = 8, k = 8, f = 64
block inner(x: [t, m], y: [s, m]) -> [t, m] {
    Q = linear[m -> h, k](x)
    K = linear[m -> h, k](y)
    weights = softmax[s](dot[k](Q, K) / sqrt(|k|))
    return linear.O[h, k -> m](dot[s](weights, linear.V[m -> h, k](y)))
}
block outer(x: [t, m]) -> [t, m] {
    return x + inner.one(layernorm.n[m](x), x[t as s]) + linear.down[f -> m](relu(linear.up[m -> f](x)))
}
model net(x: [t, m]) -> [t, m] {
    gain = sigmoid(linear.gain[m -> m](x))
    return outer(outer.first(x) * gain)
}
"""


def test_panels_have_what_the_author_says_of_them() -> None:
    """A note stands in the first panel that has what it speaks of, by a path as in the figure that is one."""
    hints = {
        "note": [
            {"at": "gain", "text": "of the figure"},
            {"at": "one.weights", "text": "of a block in a block"},
            {"at": ["gain", "up"], "text": "of two panels"},
        ],
        "hide": ["K"],
        "tint": {"Q": "violet"},
    }
    net = attnc.loads(PANELS).model("net")
    made = net.draw(depth=3, page=(5.5, 2.6), hints=hints)
    panels = (made, *made.panels)
    assert len({panel.letter for panel in panels}) == 3 and all(faults(panel._sheet) == [] for panel in panels)
    notes = {panel.letter: [note.text for note in panel._sheet.scene.callouts] for panel in panels}
    whole = {text for said in notes.values() for text in said}
    assert whole == {"of the figure", "of a block in a block", "of two panels"}
    own = {step.letter: step for step in panels}
    assert notes[""] == ["of the figure", "of two panels"]
    (deep,) = [letter for letter, said in notes.items() if "of a block in a block" in said]
    assert own[deep]._sheet.scene.title == "inner" and "not drawn" in own[deep].dot
    assert [tint.color for tint in own[deep]._sheet.scene.tints] == [TINTS["violet"]]
    with pytest.raises(AttnError, match="weight"):
        net.draw(depth=3, page=(5.5, 2.6), hints={"note": [{"at": "one.weight", "text": "misspelt"}]})


def test_each_panel_has_a_tint_for_each_of_its_values() -> None:
    made = attnc.loads(PANELS).model("net").draw(depth=3, page=(5.5, 2.6), tint=True)
    tinted = {panel._sheet.scene.title: len(panel._sheet.scene.tints) for panel in (made, *made.panels)}
    assert tinted == {"net": 1, "outer": 0, "inner": 3}


@pytest.mark.parametrize("depth", [1, 2])
def test_an_open_block_keeps_its_title_under_every_tint(depth: int) -> None:
    """Tinted as a whole, alone and within another that is; so does a block in brackets that are tinted."""
    model = attnc.loads(PANELS).model("net")
    for names in (["outer"], ["inner"], ["outer", "inner"], None):
        hints = {"tint": dict.fromkeys(names, "violet")} if names else {}
        sheet = model.draw(depth=depth, hints=hints, tint=names is None)._sheet
        assert faults(sheet) == []
        titled = {c.tip for c in sheet.picture.clusters if c.label}
        assert names is None or any(c.fill == TINTS["violet"] for c in sheet.picture.clusters)
        assert titled == {border.section.title for border in sheet.borders if not border.section.repeat}
