"""`attnc diff`: what is told of pairs of models, and what is tinted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

import attnc
from attnc.cli import main
from attnc.compiler.diff import DiffKind, difference
from attnc.compiler.graph.nodes import Graph
from attnc.diagrams.draw.beside import LOOKS
from attnc.diagrams.draw.diagram import draw_diff
from attnc.dsl.syntax import Binary
from tests.diagrams.twins.mutations import blocks
from tests.diagrams.twins.programs import Unit, constructs, written
from tests.diagrams.twins.sameness import key
from tests.soundness.alter import bracketed, put, within

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BASE = """
width seq
width past like seq
depth model = 16, inner = 32, heads = 4, key = 4
const scale = 0.5, deep = 2
block feed(x: [seq, model]) -> [seq, model] {
    return linear.out[inner -> model](relu(linear.into[model -> inner](x)))
}
block attend(x: [seq, model], seen: bool[seq, past]) -> [seq, model] {
    Q = linear.Q[model -> heads, key](x)
    K = linear.K[model -> heads, key](x)[seq as past]
    V = linear.V[model -> heads, key](x)[seq as past]
    w = softmax[past](scale * dot[key](Q, K) where seen)
    return linear.O[heads, key -> model](dot[past](w, V))
}
model net(x: [seq, model], real: bool[seq] = true) -> [seq, model] causal seq {
    seen = past <= seq and real[seq as past]
    repeat deep {
        x = x + attend(layernorm.a[model](x), seen)
        x = x + dropout(feed(layernorm.b[model](x)), p = 0.1)
    }
    return layernorm.last[model](x)
}
"""
CHANGES = {  # what is written otherwise, and what is told of it
    "a size": ("inner = 32", "inner = 64", "~ inner  32 -> 64"),
    "a number": ("scale = 0.5", "scale = 0.25", "~ scale  0.5 -> 0.25"),
    "an op": ("relu(", "gelu(", "- relu  [<string>:7]|+ gelu  [<string>:7]"),
    "an axis": ("O[heads, key ->", "O[key, heads ->", "~ over key, heads, was heads, key"),
    "a mask": (" where seen)", ")", "~ under no mask"),
    "an option": ("p = 0.1", "p = 0.2", "~ p = 0.2, was 0.1"),
    "a norm": ("layernorm.last", "rmsnorm.last", "~ was last (layernorm[model])"),
    "a sign": ("past <= seq and", "past < seq and", "- (<=)  [<string>:17]|+ (<)  [<string>:17]"),
    "an operand": ("(w, V)", "(w, K)", "~ reads `K`, was `V`"),
    "how it begins": ("(w, V))", "(w, V), init = zeros)", "~ `O.weight` is zeros at first, was default at first"),
    "a count": ("repeat deep", "repeat.deep 3", "~ 3 times, was deep"),
    "a claim": (" causal seq {", " {", "~ the result is not claimed to be causal"),
    "an input": (", real: bool[seq] = true)", ")", "~ without the input `real`"),
    "a default": ("bool[seq] = true", "bool[seq]", "~ `real` must be given, before it is true where it is not given"),
    "an addend": ("x = x + attend(", "x = attend(", "- (+)  [<string>:19]"),
}
TURNED = {DiffKind.ADDED: DiffKind.REMOVED, DiffKind.REMOVED: DiffKind.ADDED}


def load(text: str) -> attnc.Model:
    return attnc.loads(text).model("net")


def changed(what: str) -> str:
    old, new, _ = CHANGES[what]
    text = BASE.replace(old, new)
    if what == "an input":
        text = text.replace(" and real[seq as past]", "")
    return text.replace(" causal seq {", " {") if what == "a mask" else text


@pytest.mark.parametrize("what", CHANGES)
def test_each_change_is_told(what: str) -> None:
    old, _, said = CHANGES[what]
    assert BASE.count(old) == 1
    text = changed(what)
    found = load(BASE).diff(load(text))
    lines = [re.sub("^(.) +", "\\1 ", line) for line in str(found).splitlines()]
    assert not found.same
    assert {*said.split("|")} <= {*lines}, f"{found}"
    back = load(text).diff(load(BASE))
    assert {part.change for top in back.parts for part in top.walk()} == {
        TURNED.get(part.change, part.change) for top in found.parts for part in top.walk()
    }


def test_a_size_of_a_blocks_own() -> None:
    """No size of the model says it, and the weights are others."""
    text = BASE.replace(
        "block feed(x: [seq, model]) -> [seq, model] {",
        "block feed(x: [seq, model]) -> [seq, model] {\n    depth wide = 4 * model",
    )
    text = text.replace("[inner -> model](relu", "[wide -> model](relu").replace(
        "[model -> inner](x)", "[model -> wide](x)"
    )
    found = load(text).diff(load(text.replace("4 * model", "2 * model")))
    assert not found.same and "its own `wide` is (2 * |model|), was (4 * |model|)" in str(found), f"{found}"


def test_what_differs_of_a_block_is_told_once() -> None:
    """At its first call, by whatever way it is called: later ones say where that was, and what is their own."""
    again = "x = x + dropout(feed(layernorm.b[model](x)), p = 0.1)"
    text = BASE.replace(again, f"x = feed.first(x)\n        x = twice(x)\n        {again}")
    text = text.replace(
        "model net", "block twice(x: [seq, model]) -> [seq, model] { return feed.one(feed.two(x)) }\nmodel net"
    )
    found = load(text).diff(
        load(text.replace("relu(", "gelu(").replace("feed.one(feed.two(x))", "feed.one(feed.two(2 * x))"))
    )
    assert f"{found}".count("gelu") == 1
    lines = [" ".join(line.split()) for line in f"{found}".splitlines()]
    first = next(line for line in lines if line.startswith("first (feed)"))
    at = first.removeprefix("first (feed) ")
    assert [line.split()[0] for line in lines if line.endswith(f" changed as at {at}")] == ["two", "one", "feed"]
    assert "+ (*) [<string>:16]" in lines
    assert json.dumps(found.data()).count("gelu") == 4  # data has each call whole


def test_the_same_is_the_same() -> None:
    """Names of values, spaces, comments and the order of a sum are not what a model is."""
    other = BASE.replace("Q = linear", "queries = linear").replace("dot[key](Q, K)", "dot[key](queries, K)")
    other = other.replace(
        "x = x + attend(layernorm.a[model](x), seen)", "x = attend(layernorm.a[model](x), seen) + x  # so"
    )
    found = load(BASE).diff(load(other))
    assert found.same and str(found) == "net and net are the same"
    assert "same" in found.data() and not found.data()["parts"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("x + y", "y + x", True),
        ("x * y", "y * x", True),
        ("max(x, y)", "max(y, x)", True),
        ("dot[d](x, y, x + y)", "dot[d](y, x + y, x)", True),
        ("dot[d](x, x, y)", "dot[d](y, x, x)", True),
        ("dot[d](x, x, y)", "dot[d](y, x, y)", False),
        ("sum[d](x * y where x == y)", "sum[d](y * x where y == x)", True),
        ("sum[d](x where p or q)", "sum[d](x where q or p)", True),
        ("x - y", "y - x", False),
        ("x / y", "y / x", False),
        ("x ^ y", "y ^ x", False),
    ],
)
def test_operands_in_another_order(one: str, other: str, same: bool) -> None:
    text = "depth d = 4\nmodel net(x: [d], y: [d], p: bool[d], q: bool[d]) -> [%s] { return %s }"
    result = "" if "[d]" in one else "d"
    assert load(text % (result, one)).diff(load(text % (result, other))).same is same


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("zoo/llama", "zoo/mixtral"),
        ("zoo/gpt2", "zoo/llama"),
        ("attentions/multi_head", "attentions/differential"),
    ],
)
def test_reports(old: str, new: str, golden: Callable[[Path, str], None]) -> None:
    a, b = (attnc.load(ROOT / f"examples/{name}.attn") for name in (old, new))
    found = a.model(a.models[0]).diff(b.model(b.models[0]))
    golden(HERE / f"{Path(old).name}_{Path(new).name}.txt", f"{found}\n")


def test_what_differs_is_tinted() -> None:
    """Each part that only one has is tinted in its figure, and nothing else: the first above, the second below."""
    one = load(BASE)
    dot = one.draw_diff(load(BASE.replace("relu(", "gelu("))).dot
    colors = {change: dot.count(f'fillcolor="{color}"') for change, (color, _) in LOOKS.items()}
    assert colors == {DiffKind.REMOVED: 2, DiffKind.ADDED: 2, DiffKind.CHANGED: 0}  # each with its entry of the legend
    assert "only in net (old)" in dot and "only in net (new)" in dot
    nothing = one.draw_diff(load(BASE)).dot
    assert not any(f'fillcolor="{color}"' in nothing for color, _ in LOOKS.values())


def test_the_legend_has_each_colour_that_is_there() -> None:
    """Of each change: the plates in both figures, and the entries that explain them."""
    one, met = load(BASE), set[str]()
    for what in CHANGES:
        picture = one.draw_diff(load(changed(what)))._sheet.picture
        plates = {c.fill for c in picture.clusters} & {color for color, _ in LOOKS.values()}
        assert plates == {n.attributes["fillcolor"] for n in picture.nodes if re.match("legend_[a-z]+$", n.id)}, what
        met |= plates
    assert met == {color for color, _ in LOOKS.values()}


def test_a_block_that_went_is_tinted_whole() -> None:
    dot = load(BASE).draw_diff(load(BASE.replace("x = x + attend(layernorm.a[model](x), seen)", "x = x + x"))).dot
    assert f'fillcolor="{LOOKS[DiffKind.REMOVED][0]}"' in dot


FORMULAS = ("band", "sliding_window", "sinusoid", "gamma", "step", "part")  # blocks of which figures write formulas


def _without_a_term(unit: Unit) -> Iterator[Graph]:
    """Other programs, each of which lacks one side of a sum, difference or product of it."""
    for block in blocks(unit.text):
        for node in within(block.body):
            if isinstance(node, Binary) and node.op in ("+", "-", "*"):
                for side in (node.left, node.right):
                    graph = unit.graph(put(unit.text, node.span, bracketed(side)))
                    if graph is not None and key(graph) != key(unit.graph() or graph):
                        yield graph


@pytest.mark.parametrize("most", [1, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_term_that_went_is_tinted(most: int) -> None:
    """Wherever it was: in a value, in a formula that is written, in a mask, within what a block makes."""
    count = 0
    for unit in (*constructs(), *written()):
        if unit.small and (most > 1 or unit.name in FORMULAS):
            old = unit.graph()
            for new in islice(_without_a_term(unit), most) if old is not None else ():
                count += 1
                picture = draw_diff(difference(old, new))._sheet.picture
                plates = {c.fill for c in picture.clusters} & {color for color, _ in LOOKS.values()}
                entries = {n.attributes["fillcolor"] for n in picture.nodes if re.match("legend_[a-z]+$", n.id)}
                assert plates and plates == entries, unit.name
    assert count >= (len(FORMULAS) if most == 1 else 200)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.attn", tmp_path / "b.attn"
    a.write_text(BASE + "config wide { inner = 48 }\n")
    b.write_text(BASE.replace("relu(", "gelu("))
    assert main(["diff", str(a), str(a), "--new-config", "wide", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sizes"] == [{"kind": "depth", "name": "inner", "old": "32", "new": "48"}] and not found["parts"]
    assert {one["figure"] for one in found["figures"]} >= {"parameters", "macs"}
    out = tmp_path / "c.dot"
    assert main(["diff", str(a), str(b), "-o", str(out)]) == 0
    assert "digraph" in out.read_text() and "parameters" in capsys.readouterr().out
    assert main(["diff", str(a), str(b), "-o", str(tmp_path / "c.html")]) == 2
    assert main(["diff", str(a), f"{b}:nte"]) == 2
    assert "did you mean `net`?" in capsys.readouterr().err
