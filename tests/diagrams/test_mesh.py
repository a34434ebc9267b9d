"""Figures of a model on a mesh: hatched wires, and a glyph for each collective."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import attnc
from attnc.cli import main
from attnc.compiler.graph.nodes import Apply, Call, Graph, Repeat
from attnc.compiler.sharding.choose import mesh_over
from attnc.compiler.sharding.drawn import is_sent, with_collectives
from attnc.compiler.sharding.sends import Collective
from attnc.compiler.sharding.spread import spread

from .geometry import faults

EXAMPLES = Path(__file__).parents[2] / "examples"
DEPTHS = ["groups", "inner", "vocab"]
MESHES = [
    pytest.param("zoo/llama", {"data": 2, "model": 4}, {"model": [*DEPTHS, "seq"]}, marks=pytest.mark.slow),
    ("transformer", {"model": 4}, {"model": ["heads", "inner", "vocab"]}),
    pytest.param("zoo/gpt2", {"data": 2, "model": 4}, {"model": ["heads", "inner"]}, marks=pytest.mark.slow),
    pytest.param("zoo/decoder/decoder", {"context": 2, "model": 2}, {"model": DEPTHS}, marks=pytest.mark.slow),
    pytest.param("zoo/mixtral", {"expert": 4, "model": 2}, {}, marks=pytest.mark.slow),
]


def model(name: str) -> attnc.Model:
    spec = attnc.load(EXAMPLES / f"{name}.attn")
    return spec.model(spec.models[0])


def sent(graph: Graph, path: str = "") -> Iterator[tuple[str, object, int]]:
    for node in graph.nodes:
        match node:
            case Apply(traits=Collective(kind=kind, mesh=mesh) as op) if is_sent(op):
                yield path, kind, mesh
            case Call():
                yield from sent(node.graph, f"{path}.{node.name}")
            case Repeat():
                for body in node.bodies:
                    yield from sent(body, f"{path}.{node.name}")
            case _:
                pass


@pytest.mark.parametrize(("name", "mesh", "splits"), MESHES)
def test_each_collective_has_its_place(name: str, mesh: dict[str, int], splits: dict[str, list[str]]) -> None:
    """All that a device sends is in the figure's graph, each once, in its block."""
    of = model(name)
    found = spread(of._sized, mesh_over(of._sized, mesh, splits))
    assert Counter(sent(with_collectives(found))) == Counter(sent(found.graph))


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["color", "mono"])
@pytest.mark.parametrize(("name", "mesh", "splits"), MESHES)
def test_nothing_lies_upon_anything(name: str, mesh: dict[str, int], splits: dict[str, list[str]], theme: str) -> None:
    figure = model(name).draw(mesh=mesh, splits=splits, depth=2, theme=theme)
    assert not faults(figure._sheet)


@pytest.mark.slow
def test_keys_and_values_go_round_a_ring() -> None:
    dot = model("zoo/llama").draw(mesh={"context": 4}, depth=2).dot
    assert dot.count("<B>ring</B>") == 2 + 1  # keys, values, and the legend
    assert "<B>AG</B>" not in dot


def test_split_wires_are_hatched_and_others_are_not() -> None:
    """Between its two maps, and nowhere else; with parts of the sequence outside of them, too."""
    text = (
        "width x\ndepth m = 8, f = 16\n"
        "model feed(X: [x, m]) -> [x, m] {\n"
        "    y = linear.U[m -> f](layernorm.n[m](X), bias = false)\n"
        "    return X + linear.D[f -> m](relu(y), bias = false)\n}\n"
    )
    of = attnc.loads(text).model("feed")

    def hatched(**splits: list[str]) -> set[str]:
        sheet = of.draw(mesh={"model": 2}, splits=splits)._sheet
        strokes = [edge.points for edge in sheet.picture.edges if edge.attributes["class"] == "hatch"]
        middles = [((a[0] + b[0]) / 2, (a[1] + b[1]) / 2) for a, *_, b in strokes]
        return {
            run.wire.axis.name
            for run in sheet.runs
            if run.wire.axis is not None and any(run.x0 < x < run.x1 and abs(run.y - y) < 1 for x, y in middles)
        }

    assert hatched(model=["f"]) == {"f"}
    assert {"x", "f"} <= hatched(model=["f", "x"])


def test_a_closed_block_says_what_it_sends() -> None:
    """Those of a repeat in it for each pass; the legend explains the letters."""
    text = (
        "width x\ndepth m = 8, f = 16\n"
        "block deep(X: [x, m]) -> [x, m] {\n"
        "    repeat.layers 3 { X = linear.D[f -> m](relu(linear.U[m -> f](X))) }\n    return X\n}\n"
        "model some(X: [x, m]) -> [x, m] { return deep(X) }\n"
    )
    dot = attnc.loads(text).model("some").draw(mesh={"model": 2}, splits={"model": ["f"]}, close="deep").dot
    assert "3 (AR), 3 AR" in dot and "all-reduce between devices" in dot and "all-reduce of gradients alone" in dot


def test_what_a_mesh_needs_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(EXAMPLES / "transformer.attn")
    for arguments, says in (
        (["--mesh", "model=3", "--split", "model=heads"], "`heads` has 8 items, which the 3 devices of `model`"),
        (["--split", "model=heads"], "--split says what an axis of a mesh splits: which devices?"),
        (["--mesh", "tensor=2"], "what does the mesh axis `tensor` split?"),
    ):
        assert main(["draw", path, *arguments]) == 2
        assert says in capsys.readouterr().err
