"""What is proved causal, and how a leak is told where there is one: the rows of causality.txt."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attnc
from attnc.compiler.check import build
from attnc.compiler.ops import OPS
from attnc.dsl.source import Source

SPEC = """\
width t
width past like t
width later like t
width u
depth d = 2, e = 2, tap = 3, both = 4, one = 1
width half = t / 2
width group like half
width longer = t + 1
width twice = 2 * t
const layers = 3
op mystery(x: [t, d]) -> [t, d] = "m:f"
block add(x: [d], h: [d]) -> (h: [d]) {
    return x + h
}
block see[a: width, b: width like a](x: [a, d], m: bool[a, b]) -> [a, d] {
    return dot[b](softmax[b](dot[d](x, x[a as b]) where m), x[a as b])
}
block push(g: [d], h: [t, d]) -> (h: [t, d]) {
    return h[t = min(t + 1, |t| - 1)] + broadcast[t](g)
}
block keep(g: [d], h: [t, d]) -> (h: [t, d]) {
    return h[t = max(t - 1, 0)] + broadcast[t](g)
}
block before[a: width](x: [a, d]) -> [a, d] {
    return x[a = max(a - 1, 0)]
}
block after[a: width](x: [a, d]) -> [a, d] {
    return x[a = min(a + 1, |a| - 1)]
}
model f(
    x: [t, d], y: [t], g: [u, d], n: int[], i: t[t], j: int[t], p: bool[t], m: bool[t, past], E: [past, t]
) -> [t, d] causal t {
    BODY
}
"""
HERE = Path(__file__).parent


def told(row: str) -> str:
    """`proved`, or the way of the leak and what is reached."""
    result, _, before = row.partition("; ")
    lines = [*(before.split("; ") if before else ()), f"return {result}"]
    program = build(Source("t.attn", SPEC.replace("BODY", "\n    ".join(lines))))
    assert {found.code for found in program.errors} <= {"E0701"}, (row, [found.message for found in program.errors])
    if not program.errors:
        return "proved"
    (leak,) = program.errors
    assert leak.span is not None
    steps = [(label.text, label.span.text) for label in leak.related] + [(leak.label, leak.span.text)]
    way = [f"{text.partition('. ')[2]} (`{place}`)" for text, place in sorted(steps) if text[:1].isdigit()]
    reached = leak.message.partition("may depend on ")[2]
    return f"{reached}: {', '.join(way)}" + (f"; marked: {leak.span.text}" if not leak.label[:1].isdigit() else "")


def test_what_is_proved_and_what_is_told(golden: Callable[[Path, str], None]) -> None:
    golden(HERE / "causality.txt", "".join(f"{row}\n    {told(row)}\n" for row in ROWS))


ROWS = [row for row in (HERE / "causality.txt").read_text("utf-8").splitlines() if row and not row.startswith(" ")]


def given_for(size: int, seed: int) -> dict[str, np.ndarray]:
    """Inputs of the model, so many items along `t`. Its indices are of the first two."""
    rng = np.random.default_rng(seed)
    shapes = {"x": (size, 2), "y": (size,), "g": (3, 2), "E": (size, size)}
    reals = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    whole = {"n": np.array(2), "i": rng.integers(0, 2, size), "j": rng.integers(0, 5, size)}
    truths = {"p": rng.random(size) > 0.4, "m": rng.random((size, size)) > 0.4}
    return {**reals, **whole, **truths}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_proved_is_so() -> None:
    """Of each row that is proved: what is computed of an item stays when those after it are others, or more."""
    before, size = given_for(4, 0), 4
    ran = 0
    for row in ROWS:
        result, _, lines = row.partition("; ")
        body = "\n    ".join([*(lines.split("; ") if lines else ()), f"return {result}"])
        try:
            run = attnc.loads(SPEC.replace("BODY", body)).model("f").numpy(seed=1, dtype="float64")
            right = run(**before)
        except (attnc.AttnError, ModuleNotFoundError, IndexError):  # a leak, an op that is not there, no such item
            continue
        ran += 1
        for seen, total in [(1, size), (2, size), (3, size), (4, 6)]:
            later = given_for(total, 1) | {name: before[name] for name in "gn"}
            for name in later.keys() - {"g", "n"}:
                first = tuple(slice(seen) for side in before[name].shape if side == size)
                later[name][first] = before[name][first]
            np.testing.assert_allclose(run(**later)[:seen], right[:seen], rtol=1e-12, atol=1e-12, err_msg=row)
    assert ran > 110


OF_REALS = [op.name for op in OPS.values() if op.group == "pointwise" and op.operands == ("x",)]


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("op", [op for op in OF_REALS if op not in ("not", "int")])
def test_what_is_zero_in_the_future_stays_so_in_ops_that_give_zero_for_zero(op: str) -> None:
    written = "-({})" if op == "neg" else f"{op}({{}})"
    model = f"depth d = 2\nmodel f(x: [d]) -> [d] {{\n    return 1 * {written.format('x')}\n}}\n"
    zero = bool((attnc.loads(model).model("f").numpy()(np.zeros(2)) == 0).all())
    future = written.format("broadcast[t](x[t as past]) * select(past <= t, 1, 0)")
    assert (told(f"sum[past]({future})") == "proved") == zero


def test_what_is_proved_of_which_result() -> None:
    text = """
width s, u
block one(x: [s, u]) -> [s, u] causal s, u {
    return 2 * x
}
block three(x: [s, u]) -> (a: [s, u] causal u, b: [s], c: [s, u] causal s) {
    return 2 * x, mean[u](x), cumsum[s](x)
}
"""
    program = build(Source("t.attn", text))
    assert not program.errors
    proved = {
        name: [[axis.name for axis in out.causal] for out in program.graph(name).outputs] for name in ("one", "three")
    }
    assert proved == {"one": [["s", "u"]], "three": [["u"], [], ["s"]]}


@pytest.mark.parametrize("inside", [False, True])
def test_of_several_bounds_each_may_be_claimed(inside: bool) -> None:
    """What is read up to one axis and up to another is causal along both, in a block too."""
    body = "    s = broadcast[T, U](mean[d](x))\n    return dot[P](softmax[P](s where MASK), x)\n}\n"
    block = "block see[a: width, b: width like a, c: width like a](x: [c, d]) -> [a, b, d] {\n" + body
    own = body.replace("T", "t").replace("U", "u").replace("P", "p").replace("MASK", "M1")
    of_block = block.replace("T", "a").replace("U", "b").replace("P", "c").replace("MASK", "M2")

    def errors(bound: str, axis: str) -> list[str]:
        mine, theirs = bound.format("t", "u", "p"), bound.format("a", "b", "c")
        head = f"model net(x: [p, d]) -> [t, u, d] causal {axis} {{\n"
        model = head + ("    return see[t, u, p](x)\n}\n" if inside else own.replace("M1", mine))
        text = "width t\nwidth u like t\nwidth p like t\ndepth d = 2\n" + of_block.replace("M2", theirs) + model
        return [one.code for one in attnc.check(text) if one.severity is attnc.Severity.ERROR]

    for axis in "tu":
        assert errors("{2} <= {0} and {2} <= {1}", axis) == []
    assert errors("{2} <= {0} + 1 and {2} <= {1}", "t") == ["E0701"]
    assert errors("{2} <= {0} + 1 and {2} <= {1}", "u") == []
    assert errors("{2} <= {0}", "u") == ["E0701"]


@pytest.mark.parametrize("op", ["sum", "mean", "max", "logsumexp"])
def test_what_the_help_says_is_causal(op: str) -> None:
    """Each piece of code in the help, put in the place of the leak."""
    spec = (
        f"width t\nwidth past like t\nmodel f(x: [t]) -> [t] causal t {{\n    return x - broadcast[t]({op}[t](x))\n}}\n"
    )
    (found,) = build(Source("t.attn", spec)).errors
    pieces = [piece for piece in found.help.split("`")[1::2] if "(" in piece]
    assert len(pieces) == 1 + (op in ("sum", "max", "logsumexp"))
    for piece in pieces:
        mended = spec.replace(f"broadcast[t]({op}[t](x))", piece)
        assert not build(Source("t.attn", mended)).errors, piece


SPLIT = """\
width t
width block = t / 3
width before like block
depth place = 3, there like place
model f(x: [t]) -> [t] causal t {
    k = split[t -> block, place](x)[block as before, place as there]
    m = MASK
    y = sum[before, there](broadcast[block, place](k) where m)
    return merge[block, place -> t](y)
}
"""


def proved_in_blocks(mask: str) -> bool:
    codes = {found.code for found in build(Source("t.attn", SPLIT.replace("MASK", mask))).errors}
    assert codes <= {"E0701"}, (mask, codes)
    return not codes


@pytest.mark.parametrize(
    ("mask", "proved"),
    [
        ("before < block or (before == block and there <= place)", True),
        ("(before <= block and there <= place) or before < block", True),
        ("before <= block and (before < block or there <= place)", True),
        ("before < block or (before <= block and there < place)", True),
        ("not (before > block or (before >= block and there > place))", True),
        ("before < block or there <= place", False),
        ("before <= block or (before == block and there <= place)", False),
        ("before < block or (before == block and there <= place + 1)", False),
        ("before < block or (before == block and place <= there)", False),
        ("before < block and there <= place or before == block", False),
    ],
)
def test_blocks_before_or_items_of_the_own_one(mask: str, proved: bool) -> None:
    assert proved_in_blocks(mask) == proved


ATOMS = st.builds(
    "({0} {2} {1}{3})".format,
    st.sampled_from(["before", "there"]),
    st.sampled_from(["block", "place"]),
    st.sampled_from(["<", "<=", "==", ">=", "!="]),
    st.sampled_from(["", " + 1", " - 1"]),
).filter(lambda atom: ("before" in atom) == ("block" in atom))


@settings(max_examples=40, deadline=None)
@given(
    st.recursive(
        ATOMS,
        lambda parts: st.one_of(
            st.builds("({} {} {})".format, parts, st.sampled_from(["and", "or"]), parts),
            st.builds("(not {})".format, parts),
        ),
        max_leaves=6,
    )
)
def test_what_is_proved_of_blocks_is_so(mask: str) -> None:
    """Every pair of items of three blocks of three."""
    if proved_in_blocks(mask):
        for before, there, block, place in product(range(3), repeat=4):
            kept = eval(mask, {"before": before, "there": there, "block": block, "place": place})
            assert not kept or 3 * before + there <= 3 * block + place, (before, there, block, place)


@pytest.mark.parametrize(
    ("result", "proved"),
    [
        ("x + |blk|", False),
        ("x + |seq|", False),
        ("x + broadcast[seq](sum[blk](1.0 * blk))", False),
        ("x + merge[blk, inn -> seq](broadcast[inn](flip[blk](1.0 * blk)))", False),
        ("x + merge[blk, inn -> seq](broadcast[inn](1.0 * blk))", True),
        ("x * broadcast[seq](scale) / |inn|", True),
    ],
)
def test_what_a_derived_width_is_made_of_reveals_its_length(result: str, proved: bool) -> None:
    """Of `seq = blk * inn` the number of blocks says how many items come after."""
    spec = (
        "width blk\ndepth inn = 2\nwidth seq = blk * inn\n"
        f"model f(x: [seq], scale: []) -> [seq] causal seq {{\n    return {result}\n}}\n"
    )
    assert [found.code for found in build(Source("t.attn", spec)).errors] == ([] if proved else ["E0701"])
