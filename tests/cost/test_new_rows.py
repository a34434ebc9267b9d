"""What a bill says of ops that no row of the table has today: all that it knows of them is in rows made here."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import attnc
from attnc.compiler.cost.bands import NOTHING, Form, of_form, step
from attnc.compiler.cost.polynomials.polynomial import ONE, ZERO
from attnc.compiler.graph.nodes import Apply
from attnc.compiler.graph.traits import (
    LARGEST,
    LOG_ADDED,
    Anything,
    Arrange,
    IndexMap,
    LogSum,
    OpCost,
    Pointwise,
    Reads,
    Running,
    Sum,
)
from attnc.compiler.graph.typed_value import TypedValue
from attnc.compiler.graph.values import Type
from attnc.compiler.masks.read import Reader
from attnc.compiler.ops import OPS, Op
from attnc.compiler.ops.table import OpCall
from attnc.compiler.rewrites.simplify.constants import fold_truths
from tests.cost.test_paths import model
from tests.cost.test_random_paths import stack


def as_it_is(call: OpCall) -> TypedValue | None:
    """The result has the operand's type."""
    kind = call.operands[0].type
    return call.make(Type(kind.element, kind.axes, kind.broadcast_axes))


def row(name: str, reads: Reads, like: str = "cumsum", **more: object) -> Op:
    return replace(OPS[like], name=name, reads=reads, rule=as_it_is, **more)  # type: ignore[arg-type]


NEW = [
    row("logcumsumexp", Running(LOG_ADDED)),
    row("cummax", Running(LARGEST)),
    row("flip", Arrange(IndexMap.MIRRORED), cost=OpCost(work=0)),
    row("opaque", Anything()),
    row("stop", Pointwise(Sum((1,))), "abs", gradient=False, cost=OpCost(work=0, moves=False)),
]


@pytest.fixture(autouse=True)
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for op in NEW:
        monkeypatch.setitem(OPS, op.name, op)


HEAD = """
width seq
width past like seq
depth d = 4, half = 2, other = 2
"""


def net(body: str, result: str = "[seq, d]", head: str = "net(x: [seq, d])") -> attnc.Model:
    return attnc.loads(f"{HEAD}model {head} -> {result} {{\n{body}\n}}\n").model("net")


@pytest.mark.parametrize("name", ["logcumsumexp", "cummax"])
def test_running_is_a_path_to_all_that_follow(name: str) -> None:
    for body in ("return {}[seq](x)", "return {}[seq](x + {}[seq](x))", "return {}[d](x)"):
        new, old = (net(body.replace("{}", op)).cost(seq=9) for op in (name, "cumsum"))
        assert new.paths == old.paths
        assert str(new.steps) == str(old.steps)


def test_mirrored_items_may_be_as_far_as_the_axis_is_long() -> None:
    path = net("return flip[seq](x)").cost(seq=9).paths["seq"]
    assert (path.hops, path.sure) == (1, False)
    assert net("return flip[d](x)").cost(seq=9).paths["seq"].hops is None
    both = net("return flip[seq](cumsum[seq](flip[seq](x)))").cost(seq=9).paths["seq"]
    assert both.hops is not None and not both.sure


BACKWARDS = [
    ("x[seq = |seq| - 1 - seq]", "flip[seq](x)"),
    (
        "merge[chunk, place -> seq](split[seq -> chunk, place](x)[place = |place| - 1 - place])",
        "merge[chunk, place -> seq](flip[place](split[seq -> chunk, place](x)))",
    ),
]


@pytest.mark.parametrize("seed", range(6))
def test_mirrored_among_other_layers(seed: int) -> None:
    """As an op and by an index: where items meet in the compiled module, it is never said that they do not."""
    torch = pytest.importorskip("torch")
    rolls = random.Random(seed)
    lines = stack(rolls).split("\n")
    indexed, mirrored = list(lines), list(lines)
    for _ in range(2):
        place, (index, op) = rolls.randrange(1, len(lines)), rolls.choice(BACKWARDS)
        indexed.insert(place, f"x = {index}")
        mirrored.insert(place, f"x = {op}")
    written = model("\n".join(indexed))
    module, meant = written.torch(seed=0, dtype=torch.float64), model("\n".join(mirrored))
    for n in (8, 16):
        x = 0.1 * torch.randn(n, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        depends = torch.autograd.functional.jacobian(lambda x: module(x).sum(-1), x).abs().sum(-1) > 0
        ends = [(depends[-1, 0], depends.tril(-1)), (depends[0, -1], depends.triu(1))]
        connected = all(end or not side.any() for end, side in ends) and any(end for end, _ in ends)
        for path in (written.cost(seq=n).paths["seq"], meant.cost(seq=n).paths["seq"]):
            reached = path.hops is not None and path.passes <= path.there
            assert reached == connected or (reached and not path.sure), path


def test_what_may_read_anything_reaches_all() -> None:
    path = net("return opaque[d](x)").cost(seq=9).paths["seq"]
    assert (path.hops, path.sure) == (1, False)


ATTENDS = """
    k = x[seq as past]
    m = {mask}
    return dot[past](softmax[past](dot[d](x, k) where m), k)
"""


def kept(mask: str) -> tuple[str, int | None, bool]:
    cost = net(ATTENDS.format(mask=mask)).cost(seq=9)
    return str(cost.kept), cost.paths["seq"].hops, cost.paths["seq"].sure


def test_a_mirrored_mask_is_no_band() -> None:
    near = "past <= seq and seq - past <= 1"
    banded, mirrored = kept(near), kept(f"flip[past]({near})")
    whole = str(net(ATTENDS.format(mask="past <= seq or past > seq")).cost(seq=9).kept)
    assert banded[1:] == (8, True) and banded[0] != whole
    assert mirrored == (whole, 1, False)


def test_truths_unchanged_stay_what_they_are() -> None:
    assert kept("stop(past <= seq)") == kept("past <= seq")


def test_no_gradient_passes() -> None:
    """What comes before has none, what comes after saves nothing for one, and a view takes no memory."""
    body = "h = exp(linear.a[d -> d](x))\n    return exp({}) + linear.b[d -> d](x)"
    plain, cut = (net(body.format(h)).cost(seq=9) for h in ("h", "stop(h)"))
    assert plain.backward.value == plain.macs.value == 2 * cut.backward.value == cut.macs.value
    assert str(plain.saved) == "8 d seq" and str(cut.saved) == "4 d seq"
    assert str(cut.peak) == str(plain.peak)
    assert str(cut.operations) == str(plain.operations)
    assert str(cut.moved) == str(plain.moved)


def test_a_mask_is_not_read_through_what_moves_its_items() -> None:
    graph = net("return flip[past](past <= seq)", "bool[seq, past]").graph
    term = Reader(graph).term(graph.outputs[0].value)
    assert "`flip` is not read through" in str(getattr(term, "why", ""))


def test_a_known_truth_is_the_same_everywhere() -> None:
    """Mirrored it is what it was; what may read anything makes no constant of it."""
    head = "net(x: [seq, d])"
    block = "block masked(m: bool[seq] = true) -> bool[seq] {{\n    return {}[seq](m)\n}}\n"
    for name, left in (("flip", 0), ("opaque", 1)):
        text = f"{HEAD}{block.format(name)}model {head} -> [seq, d] {{\n    return select(masked(), x, 0)\n}}\n"
        graph, _ = fold_truths(attnc.loads(text).model("net").graph)
        inner = [node for call in graph.nodes if hasattr(call, "graph") for node in call.graph.nodes]
        assert sum(isinstance(node, Apply) and node.op == name for node in inner) == left


def test_a_sum_of_exponentials_says_nothing_of_positions() -> None:
    known = [of_form(Form({}, ONE)), of_form(Form({}, ZERO))]
    assert step(LogSum(), known, {}) == NOTHING
    assert step(Sum((1, 1)), known, {}) == of_form(Form({}, ONE))
