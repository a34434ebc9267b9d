"""An op of which the table has only a row is typed, explained and rewritten by what the row says.

Each row is made here of one of the table: under a name that no file knows, and with other traits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import attnc
from attnc.compiler.graph.nodes import Apply, Graph
from attnc.compiler.graph.traits import (
    LARGEST,
    LOG_ADDED,
    Anything,
    Arrange,
    Function,
    IndexMap,
    Pointwise,
    Running,
    Sum,
)
from attnc.compiler.graph.typed_value import show_type
from attnc.compiler.graph.values import Scalar, Type
from attnc.compiler.ops import OPS, Brackets, Notation, Op, written
from attnc.compiler.ops.table import OpCall
from attnc.compiler.rewrites.kernels.attention import fuse_attention
from attnc.compiler.rewrites.kernels.spend_logits import spend_logits
from attnc.compiler.rewrites.kernels.stack import stack
from attnc.compiler.rewrites.simplify.constants import fold_truths
from attnc.compiler.rewrites.simplify.numbers import fold_numbers

HEAD = "width seq\nwidth past like seq\ndepth d = 4, e = 3, v = 5\n"


def add(monkeypatch: pytest.MonkeyPatch, name: str, like: str, **changed: Any) -> Op:
    """A row in the table for the time of a test."""
    op = replace(OPS[like], name=name, **changed)
    monkeypatch.setitem(OPS, name, op)
    return op


def graph(text: str) -> Graph:
    return fold_truths(attnc.loads(HEAD + text).model("f")._sized)[0]


def ops(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes if isinstance(node, Apply)]


def refused(text: str) -> str:
    with pytest.raises(attnc.AttnError) as error:
        attnc.loads(HEAD + text)
    return str(error.value)


def like_its_operand(call: OpCall) -> Any:
    """The type rule of an op whose result has the axes of its operand, and its mark."""
    x = call.operands[0]
    return call.make(Type(x.element, x.type.axes, x.type.broadcast_axes), mark=x.mark)


# -- how an op is written ----------------------------------------------------------------------------------------


def test_each_form_has_its_row() -> None:
    for op in OPS.values():
        assert written(op.notation, op.sign or op.name) is op
    found = {word: written(Notation.BARE, word) for word in ("max", "min", "maximum", "sum")}
    assert {word: op.name for word, op in found.items() if op is not None} == {"max": "maximum", "min": "minimum"}
    assert written(Notation.CALL, "maximum") is written(Notation.CALL, "as") is written(Notation.INFIX, "not") is None


def test_a_word_with_and_without_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `max` has it; the help of the one speaks of the other."""
    add(monkeypatch, "soft", "logsumexp")
    add(monkeypatch, "softest", "maximum", notation=Notation.BARE, sign="soft")
    model = graph("model f(x: [seq, d], y: [seq, d]) -> [seq] {\n    return soft[d](soft(x, y))\n}\n")
    assert ops(model) == ["softest", "soft"]
    assert "`soft(x, y)` is of two values, item by item" in refused(
        "model f(x: [seq, d]) -> [seq] {\n    return soft(x)\n}\n"
    )


# -- types -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("combination", "given", "wanted"),
    [
        (LOG_ADDED, "[seq]", "[seq]"),
        (LOG_ADDED, "int[seq]", "[seq]"),
        (LARGEST, "[seq]", "[seq]"),
        (LARGEST, "int[seq]", "int[seq]"),
    ],
)
def test_what_a_running_op_makes(monkeypatch: pytest.MonkeyPatch, combination: Any, given: str, wanted: str) -> None:
    add(monkeypatch, "runs", "cumsum", reads=Running(combination))
    (node,) = graph(f"model f(x: {given}) -> {wanted} {{\n    return runs[seq](x)\n}}\n").nodes
    assert isinstance(node, Apply) and show_type(node.out.type) == wanted


@pytest.mark.parametrize("like", ["gelu", "abs", "floor", "sum", "cumsum", "softmax", "l2norm", "max", "+", "maximum"])
def test_a_type_rule_may_serve_an_op_that_reads_otherwise(monkeypatch: pytest.MonkeyPatch, like: str) -> None:
    """Of what it does not know a rule says nothing more than the type."""
    op = add(monkeypatch, "other", like, reads=Anything(), notation=Notation.CALL, sign="", number="")
    brackets = "[d]" if op.brackets is Brackets.ACTS else ""
    used = f"other{brackets}({', '.join(op.operands)})"
    text = f"block f(x: [seq, d], y: [seq, d]) -> [] {{\n    made = {used}\n    return 0\n}}\n"
    made = attnc.loads(HEAD + text).block("f").graph.nodes[0]
    assert isinstance(made, Apply) and made.out.type.element is (Scalar.INT if like == "floor" else Scalar.REAL)


@pytest.mark.parametrize(("power", "right"), [(-0.5, False), (-1, False), (0.5, True), (None, True)])
def test_a_negative_power_of_an_index(monkeypatch: pytest.MonkeyPatch, power: float | None, right: bool) -> None:
    add(monkeypatch, "raised", "rsqrt", reads=Pointwise(Function(power=power)))
    text = "model f(x: [seq, d]) -> [seq, d] {\n    return x * raised(d)\n}\n"
    if right:
        graph(text)
    else:
        assert "this divides by the index of `d`, which begins at 0" in refused(text)


WEIGHING = (
    "block g(w: [seq, past], x: [past, d]) -> [seq, d] {{\n    return dot[past]({}, x)\n}}\n"
    "model f(s: [seq, past], x: [past, d]) -> [seq, d] {{\n    return g(softmax[seq](s), x)\n}}\n"
)


@pytest.mark.parametrize(
    "reads", [Arrange(IndexMap.MIRRORED), Pointwise(Sum((1,))), Arrange(IndexMap.SHIFTED), Pointwise(Function())]
)
def test_weights_that_are_moved_are_weights(monkeypatch: pytest.MonkeyPatch, reads: Any) -> None:
    """Whether they sum to one along another axis is then asked of the call, and told once."""
    add(monkeypatch, "moved", "gelu", reads=reads, rule=like_its_operand)
    said = refused(WEIGHING.format("moved(w)"))
    assert said.count("E0307") == 1, said


# -- weights -----------------------------------------------------------------------------------------------------


def test_an_op_that_always_has_weights_needs_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    add(monkeypatch, "scaled", "rmsnorm", label="by", optional=())
    bare = "model f(x: [seq, d]) -> [seq, d] {{\n    return {}(x)\n}}\n"
    message = refused(bare.format("scaled[d]"))
    assert "E0218" in message and "`scaled.out[...]`" in message
    inner = "model f(x: [seq, d]) -> [seq, d] {\n    x = x + scaled[d](x)\n    return x\n}\n"
    assert "`scaled.by[...]`" in refused(inner)


def test_an_op_whose_weights_may_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    add(monkeypatch, "scaled", "rmsnorm", optional=("scale",))
    bare = "model f(x: [seq, d]) -> [seq, d] {{\n    return scaled[d](x{})\n}}\n"
    assert "E0218" in refused(bare.format(""))
    assert ops(graph(bare.format(", scale = false"))) == ["scaled"]


def test_axes_before_a_colon(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "model f(x: [seq, v, d]) -> [seq, v, e] {\n    return maps.m[v: d -> e](x)\n}\n"
    add(monkeypatch, "maps", "linear")
    (node,) = graph(text).nodes
    assert isinstance(node, Apply) and [axis.name for axis in node.each] == ["v"]
    add(monkeypatch, "maps", "linear", each=False)
    assert "`maps` takes no colon" in refused(text)


# -- what took an axis away --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("like", "said"),
    [("sum", "sums over"), ("mean", "averages over"), ("max", "takes away"), ("argmax", "takes away")],
)
def test_what_took_an_axis_away(monkeypatch: pytest.MonkeyPatch, like: str, said: str) -> None:
    """It is found behind what moves items along an axis, or works item by item."""
    add(monkeypatch, "eats", like)
    add(monkeypatch, "mirrored", "gelu", reads=Arrange(IndexMap.MIRRORED), rule=like_its_operand)
    given = "int(eats[d](x))" if like == "argmax" else "eats[d](x)"
    message = refused(f"model f(x: [seq, d]) -> [seq] {{\n    return sum[d](mirrored(gelu({given})))\n}}\n")
    assert f"`eats[d]` on line 5 {said} `d`" in message


# -- rewrites ----------------------------------------------------------------------------------------------------

ATTENTION = (
    "model f(q: [seq, d], k: [past, d], u: [past, e], b: [seq, past]) -> [seq, e] {{\n    return dot[past]({}, u)\n}}\n"
)
WEIGHTS = [
    "softmax[past]({0}(dot[d](q, k)))",
    "softmax[past]({0}(dot[d](q, k)) + b)",
    "softmax[past](dot[d](q, k) + {0}(b))",
    "{0}(softmax[past](dot[d](q, k)))",
    "softmax[past]({0}(dot[d](q, k) + b) * 2)",
]


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("changed", [{"gradient": False}, {"random": True}], ids=str)
def test_no_kernel_swallows_what_it_does_not_do(
    monkeypatch: pytest.MonkeyPatch, weights: str, changed: dict[str, bool]
) -> None:
    """It stays where it stands: a bias is not looked into."""
    add(monkeypatch, "passed", "gelu", reads=Pointwise(Sum((1,))), rule=like_its_operand, **changed)
    old = graph(ATTENTION.format(weights.format("passed")))
    assert "passed" in ops(fuse_attention(old)[0])
    assert ("attention" in ops(fuse_attention(old)[0])) is ("{0}(b)" in weights)


def test_attention_of_further_ops(monkeypatch: pytest.MonkeyPatch) -> None:
    """What multiplies and sums, and what makes shares: not their logarithms, and nothing that draws otherwise."""
    add(monkeypatch, "contracts", "dot")
    add(monkeypatch, "shares", "softmax")
    add(monkeypatch, "drops", "dropout")
    add(monkeypatch, "twists", "tanh")
    text = ATTENTION.replace("dot", "contracts")
    fused = {
        "shares[past](contracts[d](q, k))": ["attention"],
        "shares[past](5 * tanh(contracts[d](q, k) / 5))": ["attention"],
        "dropout(shares[past](contracts[d](q, k)), 0.1)": ["attention"],
        "shares[past](5 * twists(contracts[d](q, k) / 5))": ["contracts", "/", "twists", "*", "shares", "contracts"],
        "drops(shares[past](contracts[d](q, k)), 0.1)": ["contracts", "shares", "drops", "contracts"],
        "log_softmax[past](contracts[d](q, k))": ["contracts", "log_softmax", "contracts"],
    }
    for weights, wanted in fused.items():
        assert ops(fuse_attention(graph(text.format(weights)), capped=True)[0]) == wanted


def test_a_choice_by_an_index_is_stacked(monkeypatch: pytest.MonkeyPatch) -> None:
    add(monkeypatch, "picks", "select")
    text = "depth two = 2\nmodel f(x: [seq, d], y: [seq, d]) -> [seq, two, d] {\n    return picks(two == 0, x, y)\n}\n"
    assert ops(stack(graph(text))) == ["stack"]


@pytest.mark.parametrize("changed", [{"gradient": False}, {"random": True}], ids=str)
@pytest.mark.parametrize("like", ["+", "-", "*", "/"])
def test_arithmetic_that_does_more_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, like: str, changed: dict[str, bool]
) -> None:
    text = f"model f(x: [seq, d]) -> [seq, d] {{{{\n    return (x {like} {{}}) {like} 2\n}}}}\n"
    number = {"+": 0, "-": 0, "*": 1, "/": 1}[like]
    assert len(ops(fold_numbers(graph(text.format(number))))) < 2
    monkeypatch.setitem(OPS, like, replace(OPS[like], **changed))
    assert ops(fold_numbers(graph(text.format(number)))) == [like, like]


def test_an_op_that_jumps_keeps_numbers_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the last bit may decide, factors are not joined."""
    text = "model f(x: [seq, d]) -> [seq, d] {\n    return steps(x * 3 * 5)\n}\n"
    for jumps, wanted in ((True, ["*", "*", "steps"]), (False, ["*", "steps"])):
        add(monkeypatch, "steps", "gelu", jumps=jumps)
        assert ops(fold_numbers(graph(text))) == wanted


def test_a_loss_that_may_spend_its_operand(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "model f(x: [seq, d], w: [v, d], ids: v[seq]) -> [seq] {\n    return loss[v](dot[d](x, w), ids)\n}\n"
    for spends in (True, False):
        add(monkeypatch, "loss", "cross_entropy", spends=spends)
        last = spend_logits(graph(text)).nodes[-1]
        assert isinstance(last, Apply) and ("spend" in last.options) is spends


def test_help_for_a_further_op(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its form, with the axes at hand: what a table is looked up with, what joins, what slides, what acts."""
    add(monkeypatch, "rows", "embed")
    add(monkeypatch, "joined", "concat")
    add(monkeypatch, "slid", "window")
    add(monkeypatch, "loss", "cross_entropy")
    add(monkeypatch, "pick", "select")
    add(monkeypatch, "kind", "index", brackets=Brackets.INTO)
    given = "model f(ids: v[seq], x: [seq, d], c: bool[seq]) -> [seq] {{\n    return {}\n}}\n"
    for text, said in {
        "rows[e](ids)": "write `rows.out[v -> e](ids)`",
        "joined[d](x, x)": "write `joined[d, d -> ...](x, x)`, with the axes it makes behind the arrow",
        "slid[e](c)": "write `slid[seq -> seq, e](c)`",
        "loss(ids, x)": "the logits come first: write `loss[v](x, ids)`",
        "sum[seq](x where pick(c, 1, 0))": "a mask is the condition itself: `c`",
    }.items():
        assert said in refused(given.format(text))
