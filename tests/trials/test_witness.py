"""A witness is found for what leaks, and none for what does not."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import attnc
from attnc.compiler.check import build
from attnc.compiler.graph.nodes import Graph
from attnc.compiler.problems.causality import Tried, Witness
from attnc.dsl.source import Source
from attnc.trials import tried
from attnc.trials.run import RunnableGraph
from attnc.trials.search import SHARE, spread
from attnc.trials.shrink import shrunk
from tests.clock import at_most
from tests.compiler.causal_masks import trials
from tests.compiler.test_causality import HERE, SPEC

ROOT = Path(__file__).parents[2]
CLAIM = re.compile(r" causal (\w+)")


def graph_of(text: str, name: str = "f", base: Path | None = None, **sizes: int) -> Graph:
    """Of a text whose claims are left out, so that it may leak."""
    return build(Source("t.attn", CLAIM.sub("", text)), base=base, sizes=sizes).graph(name)


def claim(text: str, name: str = "f", base: Path | None = None, **sizes: int) -> Tried:
    """The first claim of a text, tried."""
    graph = graph_of(text, name, base, **sizes)
    found = CLAIM.search(text)
    assert found is not None
    return tried(graph, 0, next(axis for axis in graph.axes if axis.name == found[1]), ())


def simple(body: str, more: str = "") -> Tried:
    return claim(f"""\
width seq
width past like seq
depth d = 3
{more}
model f(x: [seq, d]) -> [seq, d] causal seq {{
    return {body}
}}
""")


def test_what_a_witness_says() -> None:
    found = simple("x[seq = min(seq + 1, |seq| - 1)]").witness
    assert isinstance(found, Witness)
    assert (found.input, found.item, found.reached, found.appended) == ("x", found.reached + 1, found.item - 1, False)
    assert found.sizes == {"seq": 4} and found.change > 0.1 and found.share > 0.1
    assert simple("x[seq = min(seq + 1, |seq| - 1)]").witness == found, "the same each time"


def test_an_item_appended() -> None:
    found = simple("x / |seq|").witness
    assert found is not None and found.appended and (found.item, found.sizes["seq"]) == (4, 4)
    assert simple("x * (|seq| - |seq|)").witness is None


ATTEND = "dot[past](softmax[past](dot[d](x, x[seq as past]) where {mask}), x[seq as past])"


@pytest.mark.parametrize("window", [5, 60, 300, 4096])
def test_beyond_a_window(window: int) -> None:
    with at_most(80):
        found = simple(ATTEND.format(mask=f"past <= seq or past - seq > {window}")).witness
    assert found is not None and found.sizes["seq"] >= window + 1
    assert simple(ATTEND.format(mask=f"past <= seq and seq - past < {window}")).witness is None


BLOCK = """\
width seq
width past like seq
depth d = 2
block look[t: width, p: width like t, n: const](x: [t, d]) -> [t, d] {
    return dot[p](softmax[p](dot[d](x, x[t as p]) where MASK), x[t as p])
}
model f(x: [seq, d]) -> [seq, d] causal seq {
    return look[seq, past, n = 50](x)
}
"""


@pytest.mark.parametrize(
    ("mask", "least"),
    [
        ("floor(p / 64) > floor(t / 64) + 64", 4160),
        ("(p - t) / 64 > n + 14", 4097),
        ("2 * int(p) - 2 * int(t) > 8000", 4001),
        ("p - t > 64 * n", 3201),
    ],
)
def test_sizes_come_from_the_mask_that_failed(mask: str, least: int) -> None:
    """The graph has no such number: the proof tells where what it compares turns."""
    (found,) = attnc.check(BLOCK.replace("MASK", f"p <= t or {mask}"))
    changed = re.search(r": item (\d+) of `x` changes item ", found.message)
    assert changed is not None and int(changed[1]) >= least


CHUNKS = """\
width seq
width chunk = seq / at
width before like chunk
depth at = SIZE
depth d = 2
model f(x: [seq, d]) -> [seq, d] causal seq {
    y = split[seq -> chunk, at](x)
    means = mean[at](y)[chunk as before]
    return merge[chunk, at -> seq](dot[before](softmax[before](dot[d](y, means) where MASK), means))
}
"""


@pytest.mark.parametrize("size", [64, 100, 128, 512])
def test_chunks_of_any_size(size: int) -> None:
    """Found by what must divide: no small number is a length."""
    text = CHUNKS.replace("SIZE", str(size))
    found = claim(text.replace("MASK", "before <= chunk"))
    assert found.witness is not None and found.witness.sizes["seq"] % size == 0
    for mask in ("before == chunk + 1", "before > chunk + 1"):
        assert claim(text.replace("MASK", mask)).witness is not None
    found = claim(text.replace("MASK", "before < chunk"))
    assert found.witness is None and found.trials > 40


def test_a_block_of_its_own_sizes() -> None:
    found = claim("""\
width seq
width twice = 2 * seq
width third = twice / 192
depth d = 2
model f(x: [third, d]) -> [third, d] causal third {
    return x + broadcast[third](mean[third](x))
}
""")
    assert found.witness is not None and found.witness.sizes["seq"] % 96 == 0


def test_a_fixed_length_that_is_large() -> None:
    text = ("width seq = 4096\nwidth past like seq\ndepth d = 3\n"
            f"model f(x: [seq, d]) -> [seq, d] causal seq {{{{\n    return {ATTEND}\n}}}}\n")  # fmt: skip
    assert claim(text.format(mask="past <= seq + 1")).witness is not None
    assert claim(text.format(mask="past <= seq")).trials > 0


def test_how_many_there_are_hangs_on_no_clock() -> None:
    path = ROOT / "examples" / "transformer.attn"
    counts = {claim(path.read_text("utf-8"), "transformer", path.parent).trials for _ in range(2)}
    assert len(counts) == 1


def test_weights_are_drawn_whatever_their_init() -> None:
    text = """\
width seq
depth d = 2
model f(x: [seq, d]) -> [seq, d] causal seq {
    param g: [d] ~ INIT
    return x + g * broadcast[seq](mean[seq](x))
}
"""
    for init in ("zeros", "constant(0.0000001)", "normal(0.02)"):
        assert claim(text.replace("INIT", init)).witness is not None


PIECES = """\
width seq
width chunk = seq / at
depth d = 2
depth at = 4
model f(x: [seq, d]) -> [chunk, at, d] causal seq {
    y = split[seq -> chunk, at](x)
    return RESULT
}
"""


def test_claims_on_pieces() -> None:
    assert claim(PIECES.replace("RESULT", "y")).witness is None
    found = claim(PIECES.replace("RESULT", "y - broadcast[at](mean[at](y))")).witness
    assert found is not None and found.item // 4 == found.reached // 4 and found.item > found.reached


def test_what_cannot_be_tried() -> None:
    own = claim("op mine(x: [seq, d]) -> [seq, d] = \"nowhere:f\"\nwidth seq\ndepth d = 2\n"
                "model f(x: [seq, d]) -> [seq, d] causal seq {\n    return mine(x)\n}\n")  # fmt: skip
    assert own == Tried(None, 0, "`mine` is an op of your own, which is not run to check a spec")
    never = simple("x[seq = max(seq, 0, seq + 2)]")
    assert never.witness is None and never.reason == "no sizes were found at which it runs"


# -- the rows of the proof's own test ------------------------------------------------------------------------------

# refused by the proof, but causal
CAUSAL = {
    "sum[past](broadcast[t](x[t as past]) * (1 - select(past > t, 1, 0)))",
    "x[t = 0 * i]",
    "x[t = max(t - n, 0)]",  # where n is less than 0 it does not run
    "x[t = floor(t / n)]",
    "x * (|t| - |t|)",
    "x + broadcast[t](mean[t](broadcast[t](1)))",
    "x[t = min(min(t + 1, |t| - 1), t)]",
    "dropout(x, 1 / (1 + |half|))",
    "x[t = floor((t + 1) / 2)]",
    "select(t != |t|, x, 0)",
    "select(|t| < t, x, 0)",
    "select(|t| <= t, x, 0)",
    "x[t = index[t](min(floor(dropout(int(t), 0.5)), |t| - 1))]",
}


@pytest.mark.slow
def test_rows() -> None:
    lines = (HERE / "causality.txt").read_text("utf-8").splitlines()
    unseen, false = [], []
    for place, (row, told) in enumerate(zip(lines[::2], lines[1::2], strict=True)):
        if told == "    proved" and place % 4:  # those take longest
            continue
        result, _, before = row.partition("; ")
        body = "\n    ".join([*(before.split("; ") if before else ()), f"return {result}"])
        found = claim(SPEC.replace("BODY", body))
        if told == "    proved":
            false += [row] if found.witness is not None else []
        elif found.witness is None and not found.reason:
            unseen.append(row)
    assert not false
    assert set(unseen) == CAUSAL


def test_random_masks() -> None:
    wrong = []
    for seed, setting, mask, causal in islice(trials(), 80):
        found = claim(setting.spec.replace("MASK", mask.text))
        if (found.witness is None) != causal:
            wrong.append((seed, mask.text, found))
    assert not wrong


# -- large models --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "name", "right", "wrong"),
    [
        ("transformer.attn", "transformer", "past <= target", "target <= past"),
        ("zoo/gpt2.attn", "gpt2", "past <= seq", "int(past) <= seq + 1"),
        ("zoo/bart.attn", "bart", "past <= target", "past <= target or past - target > 9"),
    ],
)
def test_large_models_are_tried_with_small_depths(file: str, name: str, right: str, wrong: str) -> None:
    path = ROOT / "examples" / file
    text = path.read_text("utf-8")
    assert right in text
    found = claim(text.replace(right, wrong), name, path.parent)
    assert found.witness is not None
    found = claim(text, name, path.parent)
    assert found.trials > 20 and found.witness is None


def test_depths_that_fit_together() -> None:
    path = ROOT / "examples" / "transformer.attn"
    graph = graph_of(path.read_text("utf-8"), "transformer", path.parent)
    small = shrunk(graph, next(axis for axis in graph.axes if axis.name == "target"))
    sizes = {axis.name: axis.extent for axis in small.axes if axis.extent}
    assert sizes["model"] == sizes["heads"] * sizes["key"] < 32
    assert sum(spec.size for spec in RunnableGraph(small).weights.values()) < 5_000
    assert {axis.name: axis.extent for axis in graph.axes}["model"] == 512, "the graph itself is as it was"


def test_a_depth_that_decides_what_is_read_stays() -> None:
    text = """\
width seq
width past like seq
depth model = 512, other = 300
model f(x: [seq, model], y: [seq, other]) -> [seq, model] causal seq {
    w = softmax[past](dot[other](y, y[seq as past]) where int(past) <= seq + |model| - 512)
    return dot[past](w, x[seq as past])
}
"""
    graph = graph_of(text)
    small = shrunk(graph, next(axis for axis in graph.axes if axis.name == "seq"))
    assert {axis.name: axis.extent for axis in small.axes if axis.extent} == {"model": 512, "other": 2}
    assert claim(text).witness is None
    assert claim(text.replace("- 512", "- 511")).witness is not None


def test_what_is_rounded_is_no_change() -> None:
    """The same number everywhere but for what rounds, which hangs on where an array lies in memory."""
    same = np.nextafter([0.5, 0.5, 0.5], [0.0, 0.5, 1.0])
    assert 0 < same.std() < 1e-15 and 1e-13 < SHARE * spread(same) < 1e-11
    assert spread(np.array([0.0, 2.0, np.inf])) == 1.0


CANCELS = """
width seq
width chunk = seq / at
width at = 4
depth d = 12

# All of a chunk less all of it: in numbers as large as these are, what is left of later items is rounding.
model f(x: [seq, d]) -> [seq, d] causal seq {{
    K = split[seq -> chunk, at](linear.K[d -> d](x))
    V = split[seq -> chunk, at](linear.V[d -> d](x))
    e = exp(K)
    n = cumsum[at](e * V) + broadcast[at](cumsum[chunk](sum[at](e * V)) - sum[at](e * V))
    w = cumsum[at](e) + broadcast[at](cumsum[chunk](sum[at](e)) - sum[at](e))
    return sigmoid(linear.Q[d -> d](x)) * merge[chunk, at -> seq](n / w)
}}
"""
SMALL = """
width seq
model f(x: [seq]) -> [seq] causal seq {{
    return x + {} * flip[seq](x)
}}
"""


def test_rounding() -> None:
    """What cancels is no leak, though it moves by more than what rounds a number once; one as small as that is."""
    assert claim(CANCELS.format()).witness is None
    found = claim(SMALL.format("0.00001")).witness
    assert found is not None and found.share < 1e-3
