"""Every figure: the geometry that must hold, the DOT that is expected, and how it leaves the house."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from attnc.compiler.check import build
from attnc.compiler.graph.nodes import Graph
from attnc.compiler.ops import OPS
from attnc.diagrams import Diagram, ExportError, UnknownBlock, draw
from attnc.diagrams.base.theme import COLOR, PENS
from attnc.diagrams.formats.export import render, save
from attnc.diagrams.scene import op_glyphs
from attnc.diagrams.scene.op_glyphs import SENT, Glyph, Shape, glyph_of
from attnc.dsl.source import Source
from tests.clock import least, wait_until
from tests.specs import sampled

from . import graphs
from .geometry import faults

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SPECS = sorted(
    [
        *(ROOT / "compiler" / "std").glob("*.attn"),
        *(ROOT / "examples").rglob("*.attn"),
        *(HERE / "specs").glob("*.attn"),
    ]
)


FIGURES: dict[str, Callable[[], Graph]] = {
    "attend": lambda: graphs.attend()[0],
    "attend_masked": lambda: graphs.attend(True)[0],
    "multihead": lambda: graphs.multihead()[0],
    "multihead_masked": lambda: graphs.multihead(True)[0],
    "encoder_post": graphs.encoder,
    "encoder_pre": lambda: graphs.encoder(True),
    "swiglu": graphs.swiglu,
    "glyphs": graphs.glyphs,
    "transformer": graphs.transformer,
}
needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")


def _renumbered(make: Callable[[], Graph]) -> Graph:
    """The graph with axis ids counted from 0, so that nothing hangs on which test ran first."""
    graphs._axis_ids = iter(range(100_000))
    return make()


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("depth", [None, 0, 9])
def test_geometry(name: str, depth: int | None) -> None:
    assert faults(draw(FIGURES[name](), depth=depth)._sheet) == []


@pytest.mark.parametrize("depth", [None, pytest.param(9, marks=pytest.mark.slow)])
@pytest.mark.parametrize("path", sampled(SPECS), ids=lambda p: p.stem)
def test_geometry_of_every_spec(path: Path, depth: int | None) -> None:
    program = build(Source(str(path), path.read_text(encoding="utf-8")))
    for name in (*program.models, *program.blocks):
        assert faults(draw(program.graph(name), depth=depth)._sheet) == [], name


@pytest.mark.parametrize("name", FIGURES)
def test_golden(name: str, golden: Callable[[Path, str], None]) -> None:
    golden(Path("golden") / f"{name}.dot", draw(_renumbered(FIGURES[name])).dot)


@pytest.mark.parametrize("op", OPS)
def test_every_op_is_drawn(op: str) -> None:
    program = build(Source("<op>", OPS[op].example))
    for name in program.blocks:
        diagram = draw(program.graph(name))
        assert faults(diagram._sheet) == []
        assert diagram.dot.count(" -> ") > 0
    assert glyph_of(OPS[op]).shape in Shape


def test_glyphs_of_the_table_exist() -> None:
    known = {glyph for glyph in vars(op_glyphs).values() if isinstance(glyph, Glyph)}
    assert {glyph_of(op) for op in OPS.values()} == known - {SENT}


def test_an_op_that_nobody_knows_is_drawn() -> None:
    s, m = graphs.width("s"), graphs.depth("m")
    block = graphs.Block("strange")
    x = block.input("x", s, m)
    y = block.op("their_own", x, axes=(m,), made=(graphs.depth("n"),))
    z = block.op("their_own", y, block.input("z", s, m), out=(s,))
    assert faults(draw(block.done(z))._sheet) == []


def test_same_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import graphs; from attnc.diagrams import draw\n"
        "print(draw(graphs.transformer()).dot, draw(graphs.multihead(True)[0], depth=2).dot)"
    )
    out = set()
    for seed in ("0", "1", "77"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", program, str(HERE)], env=env, capture_output=True, check=True)
        out.add(done.stdout)
    assert len(out) == 1


def test_opening() -> None:
    graph = graphs.transformer()
    closed, named = draw(graph, depth=0), draw(graph, open=["self"])
    assert "encode" in closed.dot
    assert "softmax" not in closed.dot
    assert "softmax" in named.dot
    assert named.dot.count("<feed") == draw(graph).dot.count("<feed") > 0
    assert "multihead<BR/>(cross)" in named.dot
    assert "multihead<BR/>(cross)" not in draw(graph, open=["multihead"]).dot
    with pytest.raises(UnknownBlock, match=r"no block `selfs` to open; this diagram has .*multihead"):
        draw(graph, open=["selfs"])


def test_the_default_of_the_transformer_tells_its_structure() -> None:
    dot = draw(graphs.transformer()).dot
    assert dot.count("×6") == 2
    assert dot.count("op copy") >= 10
    assert dot.count("label=<LN>") == 5
    assert dot.count("multihead") >= 3
    assert "softmax" not in dot


@pytest.mark.parametrize(("name", "count"), [("attend", 1), ("multihead", 1), ("encoder_post", 1)])
def test_rows(name: str, count: int) -> None:
    assert len(draw(FIGURES[name]())._sheet.rows) == count


def test_text_is_never_smaller_than_7_points() -> None:
    for make in FIGURES.values():
        sheet = draw(make())._sheet
        assert sheet.scale * 12 >= 6.95
        assert len(draw(make(), width=3.2)._sheet.rows) >= len(sheet.rows)


def test_themes() -> None:
    graph = graphs.multihead()[0]
    color, mono = draw(graph).dot, draw(graph, theme="mono").dot
    assert "#00548F" in color
    assert "#00548F" not in mono
    assert "#C2600A" not in mono
    with pytest.raises(ValueError, match="no theme `pink`: there is color, mono"):
        draw(graph, theme="pink")


def test_black_and_white_tells_widths_from_depths() -> None:
    """Their wires are not of one grey, nor of one thickness, in any format; letters can be read."""

    def luminance(color: str) -> float:
        parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    def lightness(color: str) -> float:
        return 116 * luminance(color) ** (1 / 3) - 16

    assert lightness(COLOR.depth) - lightness(COLOR.width) > 15 and PENS["width"] > 1.5 * PENS["depth"]
    assert [1.05 / (luminance(c) + 0.05) > 4.5 for c in (COLOR.width, COLOR.label, COLOR.ink)] == [True] * 3
    diagram = draw(graphs.multihead()[0])
    for text in (diagram.dot, diagram.tex, diagram.html()):
        assert all(color[1:].lower() in text.lower() for color in (COLOR.width, COLOR.depth, COLOR.label))


def test_widths_have_macrons() -> None:
    dot = draw(graphs.attend()[0]).dot
    assert "<I>y\u0304</I>" in dot
    assert "<I>k</I>" in dot


def test_user_text_stays_text() -> None:
    """Labels from outside can neither close a label nor an attribute."""
    nasty = 'a"]; evil [label=<B>x</B>\\N&amp;\n\x01'
    graph = graphs.attend()[0]
    graph = replace(graph, name=nasty, inputs=tuple(replace(i, name=nasty) for i in graph.inputs))
    dot = draw(graph).dot
    assert "&lt;B&gt;x" in dot
    assert "\x01" not in dot
    if shutil.which("dot"):
        root = ElementTree.fromstring(render(dot, "svg"))
        text = "".join(root.itertext())
        assert "evil [label=<B>x</B>\\N&amp;" in text


# -- leaving the house -----------------------------------------------------------------------------------------


@pytest.fixture
def diagram() -> Diagram:
    return draw(graphs.attend()[0])


@needs_dot
def test_svg_keeps_the_topology(diagram: Diagram) -> None:
    root = ElementTree.fromstring(diagram.svg())
    classes = [element.get("class", "") for element in root.iter()]
    assert sum(c.startswith("edge wire") and " width " in c for c in classes) == 3
    assert sum(c.startswith("edge wire") and " depth " in c for c in classes) == 3
    assert any("op softmax" in c for c in classes)
    assert diagram._repr_svg_() == diagram.svg()


@needs_dot
@pytest.mark.parametrize(
    ("ending", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG"), ("dot", b"digraph")]
)
def test_save(diagram: Diagram, tmp_path: Path, ending: str, start: bytes) -> None:
    assert diagram.save(tmp_path / f"figure.{ending}").read_bytes().startswith(start)
    assert [p.name for p in tmp_path.iterdir()] == [f"figure.{ending}"]


def test_unknown_ending(diagram: Diagram, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"cannot write `docx`: a figure is one of \.svg, \.pdf, \.png, \.dot"):
        diagram.save(tmp_path / "figure.docx")
    assert list(tmp_path.iterdir()) == []


def test_without_graphviz(diagram: Diagram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ExportError, match="apt-get install graphviz"):
        diagram.save(tmp_path / "figure.pdf")
    assert diagram.save(tmp_path / "figure.dot").read_text(encoding="utf-8") == diagram.dot


def _pretend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = tmp_path / "bin" / "dot"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


def test_out_of_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _pretend(tmp_path, monkeypatch, "exec sleep 20")
    with pytest.raises(ExportError, match=r"more than 0.2 s"):
        save("digraph {}", tmp_path / "figure.pdf", seconds=0.2)
    assert not (tmp_path / "figure.pdf").exists()


def test_graphviz_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _pretend(tmp_path, monkeypatch, "echo no fonts >&2; exit 1")
    with pytest.raises(ExportError, match="no fonts"):
        save("digraph {}", tmp_path / "figure.pdf")
    assert not (tmp_path / "figure.pdf").exists()


@pytest.mark.parametrize(
    ("form", "rubbish"),
    [
        ("svg", "echo hello"),
        ("svg", ":"),
        ("svg", "echo '<svg xmlns=\"http://www.w3.org/2000/svg\"><g>'"),
        ("svg", "echo '<html/>'"),
        ("svg", r"printf '<svg>\377</svg>'"),
        ("pdf", "echo '%PDF-1.7'"),
        ("pdf", "echo '<svg/>'"),
        ("png", r"printf '\211PNG\r\n\032\nhalf'"),
        ("png", "echo '%PDF-1.7'"),
    ],
)
def test_what_ends_well_and_draws_nothing(
    diagram: Diagram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, rubbish: str
) -> None:
    _pretend(tmp_path, monkeypatch, rubbish)
    with pytest.raises(
        ExportError, match=rf"`.*/bin/dot` ended well, but what it wrote is no whole {form.upper()}: it "
    ):
        diagram.save(tmp_path / f"figure.{form}")
    assert not (tmp_path / f"figure.{form}").exists()


def test_an_outline_of_nothing(diagram: Diagram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _pretend(tmp_path, monkeypatch, "printf '%%PDF-1.7\n%%%%EOF\n'")
    poppler = tmp_path / "bin" / "pdftocairo"
    poppler.write_text('#!/bin/sh\necho hello > "$3"\n')
    poppler.chmod(0o755)
    with pytest.raises(ExportError, match=r"pdftocairo` ended well, but what it wrote is no whole SVG"):
        diagram.save(tmp_path / "figure.svg", outline=True)


@pytest.mark.skipif(os.name != "posix", reason="elsewhere only the program itself is ended")
@pytest.mark.parametrize("interrupted", [False, True])
def test_what_dot_started_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupted: bool) -> None:
    """A `dot` that is a script around the true one, which hangs."""
    _pretend(tmp_path, monkeypatch, f"sleep 600 & echo $! > {tmp_path}/child; wait")

    def interrupt(self: subprocess.Popen[bytes], *args: object, **more: object) -> None:
        wait_until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text().strip())
        raise KeyboardInterrupt

    if interrupted:
        monkeypatch.setattr(subprocess.Popen, "communicate", interrupt)
    with pytest.raises(KeyboardInterrupt if interrupted else ExportError):
        render("digraph {}", "svg", seconds=2)
    child = int((tmp_path / "child").read_text())
    state = Path(f"/proc/{child}/stat")
    try:
        wait_until(lambda: not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z")
    except AssertionError:
        os.kill(child, 9)
        raise


def test_nowhere_to_write(diagram: Diagram, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"cannot write .*No such file"):
        diagram.save(tmp_path / "no" / "figure.dot")


@pytest.mark.parametrize(
    ("make", "most"),
    [(lambda: graphs.multihead(True)[0], 6), (graphs.transformer, 40), (lambda: graphs.flat(1000), 200)],
    ids=["multihead", "transformer", "1000 ops"],
)
def test_speed(make: Callable[[], Graph], most: float) -> None:
    graph = make()
    assert least(lambda: draw(graph)) < most
