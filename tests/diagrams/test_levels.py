"""Figures of what streams: loops over tiles, and wires hatched by level of memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import attnc
from attnc.cli import main
from attnc.compiler.graph.nodes import Call, makes, reads
from attnc.compiler.streams.drawn import NothingStreams, with_loops
from attnc.diagrams.base.picture import Edge
from attnc.diagrams.draw.sheet import Sheet

from .geometry import faults

ROOT = Path(__file__).parents[2]
ATTENTION = ROOT / "compiler" / "std" / "attention.attn"
ZOO, ATTENTIONS = ROOT / "examples" / "zoo", ROOT / "examples" / "attentions"
HEAD = "width q\nwidth k like q\nwidth n\ndepth d = 64, h = 4, b = 33\n"
BODIES = {
    "attend": "(Q: [q, d], K: [k, d], V: [k, d]) -> [q, d] {\n"
    "    return dot[k](softmax[k](dot[d](Q, K) / sqrt(|d|) where k <= q), V)\n}",
    "table": "(Q: [h, q, d], K: [h, k, d], V: [h, k, d]) -> [h, q, d] {\n    param T: [h, b] ~ normal(0.02)\n"
    "    near = T[b = clamp(k - q, -16, 16) + 16]\n    return dot[k](softmax[k](dot[d](Q, K) + near), V)\n}",
    "difference": "(Q: [q, d], P: [q, d], K: [k, d], V: [k, d]) -> [q, d] {\n"
    "    return dot[k](softmax[k](dot[d](Q, K)) - 0.5 * softmax[k](dot[d](P, K)), V)\n}",
    "shown": "(Q: [q, d], K: [k, d], V: [k, d]) -> (read: [q, d], weights: [q, k]) {\n"
    "    weights = softmax[k](dot[d](Q, K))\n    return dot[k](weights, V), weights\n}",
}

DEEP = """
width q
width k like q
depth m = 8, d = 4
block sums(Q: [q, d], K: [k, d]) -> [q, k] { return dot[d](Q, K) }
block look(X: [q, m]) -> [q, m] {
    Q = linear.Q[m -> d](X)
    K = linear.K[m -> d](X)
    return linear.O[d -> m](dot[k](softmax[k](sums(Q, K[q as k])), linear.V[m -> d](X)[q as k]))
}
model deep(X: [q, m]) -> [q, m] {
    repeat.layers 2 { X = X + look(X) }
    return X
}
"""


def model(name: str) -> attnc.Model:
    return attnc.loads(f"{HEAD}model {name}{BODIES[name]}\n").model(name)


def test_golden(golden: Callable[[Path, str], None]) -> None:
    """The whole figure of one; of the others what is said, and the marks of each wire where it runs level."""
    told: list[str] = []
    for name in BODIES:
        figure = model(name).draw(levels=True, theme="mono" if name == "table" else "color")
        sheet = figure._sheet
        assert not faults(sheet)
        if name == "attend":
            golden(Path("golden") / "levels.dot", figure.dot)
        told += [f"{name}: {', '.join(text for text, _ in sheet.texts if ' / ' in text or 'k' in text)}"]
        told += [f"  {axis} {'; '.join(sorted(said)) or 'bare'}" for (axis, _), said in levels(sheet).items()]
    golden(Path("golden") / "levels.txt", "\n".join([*told, ""]))


def middle(edge: Edge) -> float:
    return (edge.points[0][1] + edge.points[-1][1]) / 2


def levels(sheet: Sheet) -> dict[tuple[str, int], set[str]]:
    """What the strokes on each level stretch say, by its axis and height."""
    strokes = [edge for edge in sheet.picture.edges if edge.attributes["class"] == "hatch"]
    found: dict[tuple[str, int], set[str]] = {}
    for run in sheet.runs:
        if run.wire.axis is not None:
            own = [edge for edge in strokes if edge.attributes["color"] == sheet.color(run.wire)]
            said = {
                edge.attributes["tooltip"]
                for edge in own
                if run.x0 - 4 < edge.points[0][0] < run.x1 + 4 and abs(run.y - middle(edge)) < 0.1
            }
            found.setdefault((run.wire.axis.name, round(run.y)), set()).update(said)
    return found


def test_wires_say_where_their_items_lie() -> None:
    """What a loop has read lies in shared memory, what it has made of that in registers; outside nothing is hatched."""
    sheet = model("attend").draw(levels=True)._sheet
    shared, registers, more = "in shared memory", "in registers alone", ", tile after tile"
    found = levels(sheet)
    for axis, may in (("q", {shared, registers}), ("k", {shared + more, registers + more}), ("d", {shared, registers})):
        own = [said for (name, _), said in found.items() if name == axis]
        assert set().union(*own) <= may and set().union(*own) & may, axis
    keys = [said for (name, _), said in found.items() if name == "k"]
    assert {shared + more, registers + more} in keys  # of K: read, then scores
    assert {shared + more} in keys  # of V
    (border,) = sheet.borders
    strokes = [e.points[0][0] for e in sheet.picture.edges if e.attributes["class"] == "hatch"]
    bottom = max(y for _, y in found)
    inside = [e for e in sheet.picture.edges if e.attributes["class"] == "hatch" and e.points[0][1] < bottom + 5]
    assert len(inside) > 20 and len(strokes) > len(inside)  # the legend has some
    assert all(border.x0 < e.points[0][0] < border.x1 for e in inside)


def test_tiles_stand_at_the_axes_that_have_them() -> None:
    found = model("attend").streams()
    (one,) = found.regions
    assert one.traffic is not None
    texts = [text.replace("\u0304", "") for text, _ in model("attend").draw(levels=found)._sheet.texts]
    assert texts.count(f"q / {one.traffic.tile}") == 1 + 1  # Q, and the legend
    assert texts.count(f"k / {one.traffic.step}") == 2 + 1
    assert f"k streams, {one.traffic.step} at a time" in texts
    assert "keeps m, l, a" in texts
    assert not any(text.startswith("d /") for text in texts)


def test_a_table_that_is_looked_up_in_stays_where_it_is() -> None:
    graph = with_loops(model("table").streams())
    (loop,) = graph.loops.values()
    (inner,) = graph.loops
    assert [entry.name for entry in inner.inputs if entry.value.id in loop.looked] == ["T"]


def test_a_loop_computes_what_its_region_does() -> None:
    """It reads what the loop reads, gives what is read of it, and none of it is left outside."""
    for name in BODIES:
        found = model(name).streams()
        graph = with_loops(found).graph
        calls = [node for node in graph.nodes if isinstance(node, Call)]
        assert len(calls) == len(found.regions)
        known = {entry.value.id for entry in graph.inputs}
        for node in graph.nodes:
            assert {value.id for value in reads(node)} <= known
            known |= {out.id for out in makes(node)}
        folds = {fold.node.out.id for one in found.regions for fold in one.region.folds}
        assert not folds & {out.id for node in graph.nodes if not isinstance(node, Call) for out in makes(node)}


def test_what_holds_a_loop_is_open_if_nothing_else_is_said() -> None:
    deep = attnc.loads(DEEP).model("deep")
    says = "streams, "
    assert says in deep.draw(levels=True).dot
    closed = deep.draw(levels=True, depth=0)
    assert says not in closed.dot
    assert closed.warnings == ("what streams is not seen, for it is in `look`, which is closed",)
    assert deep.draw(levels=True).warnings == ()
    hints = {"open": ["sums"], "note": [{"at": "Q", "text": "queries"}]}
    assert says in deep.draw(levels=True, hints=hints).dot  # its block to open is part of the loop
    assert says in deep.draw(levels=True, open="sums").dot  # what is in the loop is open anyway
    assert says not in deep.draw(levels=True, close="look").dot


@pytest.mark.slow
def test_formats() -> None:
    figure = model("attend").draw(levels=True)
    assert "at a time" in figure.tex
    page = model("attend").draw(levels="a100").html()
    assert "attend --levels --device a100" in page
    assert "a loop on the chip: k streams, 64 at a time, keeps m, l, a" in page


def test_what_cannot_be_drawn_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    spec = tmp_path / "some.attn"
    spec.write_text(f"{HEAD}model attend{BODIES['attend']}\n", encoding="utf-8")
    tiny = tmp_path / "tiny.toml"
    numbers = "\n".join(f"{name} = 1000" for name in ("bandwidth", "others", "shared", "registers", "cache"))
    tiny.write_text(f"{numbers}\n[products]\nbfloat16 = 1e12\n", encoding="utf-8")
    talking, linear = ATTENTIONS / "talking_heads.attn", f"{ATTENTIONS / 'linear_attention.attn'}:linear_attention"
    for target, arguments, says in (
        (
            talking,
            [],
            "nothing of talking_heads streams, so there are no levels of memory to draw\n  `softmax[source]`",
        ),
        (linear, [], "\n  nothing that is reduced over a width is larger than what it is made of"),
        (spec, ["--device", "h101"], "no device `h101`: did you mean `h100`?"),
        (spec, ["--device", str(tiny)], "\n  no tiles fit tiny: a tile has all of d"),
        (spec, ["--dtype", "float99"], "no dtype `float99`"),
        (spec, ["--mesh", "data=2"], "--levels are those of one device, --mesh has many: draw one figure of each"),
        (spec, ["--gallery", str(tmp_path / "all")], "--gallery draws all of a file: it goes without"),
        (f"{ATTENTION}:attend", [], "depth `d` of `attend` has no size: set it, `d=64`"),
        (f"{ATTENTION}:multihead", ["--close", "attend"], "`attend` cannot be closed: the loops of `levels` are made"),
        (f"{ATTENTION}:multihead", ["--open", "attendd"], "no block `attendd` to open; this diagram has no calls"),
    ):
        out = tmp_path / "figure.svg"
        more = [] if "--gallery" in arguments else ["-o", str(out)]
        assert main(["draw", str(target), "--levels", *arguments, *more]) == 2, arguments
        assert says in capsys.readouterr().err, arguments
        assert not out.exists()
    assert main(["draw", str(spec), "--device", "h100"]) == 2
    assert "--device goes with --levels" in capsys.readouterr().err


def test_streams_of_another_model_are_refused() -> None:
    with pytest.raises(ValueError, match="these are the streams of table, not of attend"):
        model("attend").draw(levels=model("table").streams())
    with pytest.raises(ValueError, match="a mesh has many"):
        model("attend").draw(levels=True, mesh={"data": 2})
    with pytest.raises(NothingStreams):
        attnc.load(ATTENTIONS / "talking_heads.attn").model("talking_heads").draw(levels="a100")


@pytest.mark.slow
@pytest.mark.parametrize("width", [5.5, 3.25])
@pytest.mark.parametrize(
    "path",
    [
        *(ATTENTIONS / f"{name}.attn" for name in ("differential", "latent", "relative_t5", "alibi", "sinks")),
        ROOT / "examples" / "transformer.attn",
        *(ZOO / f"{name}.attn" for name in ("llama", "gpt2", "mixtral")),
    ],
    ids=lambda path: path.stem if isinstance(path, Path) else str(path),
)
def test_nothing_lies_upon_anything(path: Path, width: float) -> None:
    spec = attnc.load(path)
    for theme in ("color", "mono"):
        figure = spec.model(spec.models[0]).draw(levels=True, width=width, theme=theme, legend=theme == "mono")
        assert not faults(figure._sheet)
