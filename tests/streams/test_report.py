"""The report of `attnc cost --streams`, its mistakes, and a verdict for each attention."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from attnc import load
from attnc.cli import main
from attnc.compiler.graph.nodes import Graph, children
from attnc.compiler.streams.find import find
from attnc.compiler.streams.prepare import prepared
from attnc.compiler.streams.region import StreamingRegion
from attnc.compiler.streams.report import fold_text, refusal_text, stored_texts

ROOT, HERE = Path(__file__).parents[2], Path(__file__).parent
ATTENTIONS = sorted((ROOT / "examples/attentions").glob("*.attn"))
ZOO = sorted((ROOT / "examples/zoo").rglob("*.attn"))
Golden = Callable[[Path, str], None]


def graphs(graph: Graph, seen: set[int]) -> Iterator[Graph]:
    if id(graph) not in seen:
        seen.add(id(graph))
        yield graph
        for node in graph.nodes:
            for child in children(node):
                yield from graphs(child, seen)


def verdict(path: Path) -> str:
    lines = [path.relative_to(ROOT / "examples").as_posix()]
    spec = load(path)
    for name in spec.models:
        found = []
        for graph in graphs(prepared(spec.model(name).graph), set()):
            streams = find(graph)
            found += [f"    {graph.name}: {_streams(one)}" for one in streams.regions]
            found += [f"    {graph.name}: in the way: {refusal_text(one, place=False)}" for one in streams.refusals]
        lines += [f"  {name}", *(dict.fromkeys(found) or ["    nothing is larger than what it is made of"])]
    return "\n".join(lines)


def _streams(region: StreamingRegion) -> str:
    own = ", ".join(axis.name + (" (tiles)" if axis == region.rows else "") for axis in region.partitioned)
    folds = "; ".join([*map(fold_text, region.folds), *(f"stored {one}" for one in stored_texts(region))])
    return f"along {region.streamed.name}{own and f', for each {own}'}: {folds}"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "paths"), [("attentions", ATTENTIONS), ("zoo", ZOO)], ids=["attentions", "zoo"])
def test_each_gets_a_verdict(name: str, paths: list[Path], golden: Golden) -> None:
    golden(HERE / f"{name}.txt", "\n".join(map(verdict, paths)) + "\n")


QUICK = [ROOT / "examples/attentions" / f"{name}.attn" for name in ("differential", "talking_heads")]


def test_some_verdicts() -> None:
    told = (HERE / "attentions.txt").read_text(encoding="utf-8")
    assert all(f"{verdict(path)}\n" in told for path in QUICK)


def printed(capsys: pytest.CaptureFixture[str], *args: str, status: int = 0) -> str:
    assert main(["cost", "--streams", *args]) == status
    out, err = capsys.readouterr()
    return out if status == 0 else err


@pytest.mark.slow
def test_transformer(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    file = str(ROOT / "examples/transformer.attn")
    args = [file, "--dtype", "bfloat16", "--set", "source=2048", "--set", "target=2048"]
    golden(HERE / "transformer.txt", printed(capsys, *args))
    told = json.loads(printed(capsys, *args, "--json"))
    assert [one["times"] for one in told["regions"]] == [6, 6, 6] and not told["refused"]


def test_report(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    args = [str(ROOT / "examples/attentions/multi_head.attn"), "--device", "a100", "--dtype", "bfloat16"]
    golden(HERE / "multi_head.txt", printed(capsys, *args))
    (told,) = json.loads(printed(capsys, *args, "--json"))["regions"]
    assert told["asked"]["value"] > told["least"]["value"] and told["tiles"]["rows"] == 128


def test_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(ROOT / "examples/attentions/multi_head.attn")
    for args, said in (
        ([file, "--device", "h101"], "no device `h101`: did you mean `h100`?"),
        ([file, "--training"], "--streams is a report of its own: leave --training out"),
        ([file, "--dtype", "float64"], "h100 has no figure for products in float64"),
        ([file, "--set", "targt=3"], "did you mean `target`?"),
    ):
        assert said in printed(capsys, *args, status=2), args
    assert main(["cost", file, "--device", "h100"]) == 2
    assert "--device goes with --streams" in capsys.readouterr().err
