"""Which sizes a bill is made at: what may be set, what is assumed, and one sentence for what cannot be."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import attnc
from attnc.compiler.cost.bill import CostError

NET = """
width seq as n <= 50
width past like seq
width other
width half = seq / 2, rest = past - 2
depth heads = 2, model = 8, tap = 3, two = 2
depth key = model / heads
const layers = 3, rate = 0.5, gated = true
model net(x: [seq, model], y: [other, model]) -> (a: [half, model], b: [rest, model], c: [other, model]) {
    param table: [seq, model] ~ normal(1)
    repeat layers {
        x = linear.w[heads, key -> model](split[model -> heads, key](x)) * rate
    }
    if gated {
        y = tanh(y)
    }
    w = softmax[past](dot[model](x, x[seq as past]) where past <= seq)
    x = x + table + dot[past](w, x[seq as past])
    return sum[two](split[seq -> half, two](x)), sum[tap](window[seq -> rest, tap](x)), y
}
block open[d: depth, k: const, n: const](x: [d]) -> [d] {
    repeat k {
        x = x * n
    }
    return x
}
"""
SPEC = attnc.loads(NET)


def cost(**sizes: Any) -> Any:
    return SPEC.model("net").cost(sizes)


WRONG = {
    "seq": [
        (51, "`seq` = 51, but it is at most 50"),
        (-1, "`seq` is set to -1, but a size is a whole number of 0 or more"),
        (7.0, "`seq` is set to 7.0, but a size is a whole number of 0 or more"),
        (True, "`seq` is set to True, but a size is a whole number of 0 or more"),
        (7, "`half` = seq / 2 would be 7/2 with seq = 7: it must be a whole number"),
        (0, "`rest` = seq - 2 would be -2 with seq = 0: it must be a whole number"),
    ],
    "past": [(4, "`past` is a copy of `seq`: set `seq`")],
    "half": [(4, "`half` is seq / 2: set `seq`")],
    "key": [(3, "`key` is model / heads: set `heads` and `model`")],
    "sequ": [(4, "`net` has no axis or const `sequ`; did you mean `seq`?")],
}


@pytest.mark.parametrize(
    ("name", "size", "said"), [(name, size, said) for name, rows in WRONG.items() for size, said in rows]
)
def test_what_cannot_be(name: str, size: Any, said: str) -> None:
    with pytest.raises(CostError) as wrong:
        cost(**{name: size})
    assert str(wrong.value) == said


def test_a_size_of_a_block_that_cannot_be() -> None:
    """It is told in the sizes of the model, which are those that can be set."""
    halves = """
        width seq
        block halves[n: width](x: [n]) -> [n] {
            width half = n / 2
            depth two = 2
            return merge[half, two -> n](tanh(split[n -> half, two](x)))
        }
        model net(x: [seq]) -> [seq] { return halves[seq](x) }
    """
    with pytest.raises(CostError) as wrong:
        attnc.loads(halves).model("net").cost(seq=7)
    assert str(wrong.value) == "`half` = seq / 2 would be 7/2 with seq = 7: it must be a whole number"


@pytest.mark.parametrize(
    ("size", "would"),
    [
        ("12 / seq", "12 / seq would divide by 0"),
        ("(seq + 9) ^ 9999", "(seq + 9)^9999 would have thousands of digits"),
        ("exp(seq + 999)", "exp(seq + 999) would have thousands of digits"),
        ("log(seq)", "log(seq) would have no value"),
        ("(seq - 2) ^ 0.5", "(seq - 2)^(1 / 2) would have no value"),
    ],
)
def test_a_size_without_a_value(size: str, would: str) -> None:
    text = f"width seq, other\nwidth part = {size}\nmodel net(x: [seq], y: [part], z: [other]) -> [part] {{ return y }}"
    with pytest.raises(CostError) as wrong:
        attnc.loads(text).model("net").cost(seq=0)
    must = "smaller" if "digits" in would else "a whole number"
    assert str(wrong.value) == f"`part` = {would} with seq = 0: it must be {must}"


def test_a_strange_name() -> None:
    with pytest.raises(CostError, match=r"`net` has no axis or const `strange`; it has `.*`, `past`.*`gated`"):
        cost(strange=1)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (dict(batch=0), "a batch of 0: it must be a whole number of 1 or more"),
        (dict(batch=1.5), "a batch of 1.5: it must be a whole number of 1 or more"),
        (dict(dtype="int8"), "no dtype `int8`: there are `float64`, `float32`, `bfloat16` and `float16`"),
    ],
)
def test_a_wrong_batch_or_dtype(given: dict[str, Any], said: str) -> None:
    with pytest.raises(CostError) as wrong:
        SPEC.model("net").cost(**given)
    assert str(wrong.value) == said


def test_a_block_standing_alone() -> None:
    block = SPEC.block("open")
    with pytest.raises(CostError, match=r"^depth `d` of `open` has no size: set it, `d=64`$"):
        block.cost(k=2, n=2)
    with pytest.raises(CostError, match=r"^const `n` of `open` has no value: set it, `n=2`$"):
        block.cost(d=4, k=2)


def test_what_is_assumed() -> None:
    assert cost().assumed == ("seq", "other")
    assert cost(seq=50).assumed == ("other",)
    assert cost(seq=2, other=0).assumed == ()
    found = cost()
    assert (found.sizes["seq"], found.sizes["other"], found.sizes["half"]) == (50, 1024, 25)
    assert cost(seq=10).sizes == {
        "seq": 10, "past": 10, "other": 1024, "half": 5, "rest": 8, "heads": 2, "model": 8, "tap": 3, "two": 2,
        "key": 4, "layers": 3,
    }  # fmt: skip


def test_a_derived_size_may_be_set_to_what_it_is() -> None:
    """And what stands behind it in the list is set all the same."""
    assert cost(key=4, seq=10, other=3, layers=3).sizes["other"] == 3
    assert cost(key=4, seq=10).macs.value == cost(seq=10).macs.value


def test_a_figure_at_other_sizes() -> None:
    for seq in (2, 10, 50):
        assert cost().macs.at(n=seq) == cost(seq=seq).macs.value
    with pytest.raises(KeyError):
        cost().macs.at(m=3)


def test_a_weight_along_a_bounded_width_is_as_long_as_its_bound() -> None:
    found = cost(seq=10)
    assert found.parameters.value == 50 * 8 + 3 * (8 * 8 + 8)
    assert str(found.parameters) == "model max(n) + layers model (model + 1)"


def test_a_bill_prints_without_its_graph() -> None:
    assert len(repr(cost()).partition("graph=")[2]) == 0


def test_halves_are_rounded_up() -> None:
    from attnc.compiler.cost.polynomials.figure import Figure
    from attnc.compiler.cost.polynomials.polynomial import ONE, ZERO

    for exact, shown in [(Fraction(5, 2), 3), (Fraction(2), 2), (Fraction(-5, 2), -2), (Fraction(1, 9), 1)]:
        assert Figure(ONE * exact, {}).value == shown
    assert Figure(ZERO, {}).value == 0


@pytest.mark.parametrize(("dtype", "real"), [("float64", 8), ("float32", 4), ("bfloat16", 2), ("float16", 2)])
def test_bytes_of_reals_alone_hang_on_the_dtype(dtype: str, real: int) -> None:
    spec = "width n = 3\ndepth d = 5\nmodel f(x: [n, d], i: d[n], m: bool[n]) -> d[n] { return select(m, i, i) }"
    assert attnc.loads(spec).model("f").cost(dtype=dtype).moved.value == 3 * (1 + 8 + 8 + 8)
    spec = "width n = 3\ndepth d = 5\nmodel f(x: [n, d]) -> [n, d] { return linear.w[d -> d](x) }"
    assert attnc.loads(spec).model("f").cost(dtype=dtype, batch=2).moved.value == real * (2 * 2 * 3 * 5 + 5 * 5 + 5)


def test_a_size_that_follows_from_what_a_call_gives() -> None:
    """`wide` of a call with another `inner` is no size of the model: nothing had a value for it."""
    spec = """
width seq
depth inner = 3, other = 2
depth wide = inner * 2 + 1
block up[n: width](x: [n, inner]) -> [n, wide] {
    return linear.w[inner -> wide](x)
}
block twice[n: width](x: [n, inner]) -> [n] {
    return sum[wide](up[n](x) + up.b[n](x))
}
model net(x: [seq, other]) -> [seq] {
    return twice[seq, inner = other](x)
}
"""
    found = attnc.loads(spec).model("net").cost(seq=10, other=4)
    assert str(found.macs) == "2 other wide seq" and found.macs.value == 2 * 4 * 9 * 10
    assert found.parameters.value == 2 * (4 + 1) * 9
    again = attnc.loads(spec, sizes={"other": 4}).model("net").cost(seq=10)
    assert (again.macs.value, again.peak.value) == (found.macs.value, found.peak.value)


def test_sizes_that_calls_give() -> None:
    """A number that a call gives for a depth is one; a formula follows the sizes that it is made of."""
    text = """
width t
depth d = 8
block feed[up: depth](x: [d]) -> [d] {
    return linear.down[up -> d](relu(linear.up[d -> up](x)))
}
model net(x: [t, d]) -> [t, d] {
    x = feed.numbered[up = 5](x)
    repeat.passes i in 2 {
        x = feed.made[up = d * (i + 2)](x)
    }
    return x
}
"""

    def parameters(d: int) -> int:
        return sum(2 * d * up + d + up for up in (5, 2 * d, 3 * d))

    model = attnc.loads(text).model("net")
    assert model.cost().parameters.value == parameters(8)
    assert model.cost(d=4).parameters.value == parameters(4)
    assert attnc.loads(text, sizes={"d": 4}).model("net").cost().parameters.value == parameters(4)


def test_widths_of_a_pass() -> None:
    """Each pass is counted with its own sizes."""
    text = """
width t = 16
depth d = 8
model net(x: [t, d]) -> [t, d] {
    repeat.passes i in 3 {
        width n = t / 2 ^ i
        width n2 like n
        depth m = 2 ^ i
        y = split[t -> n, m](x)
        x = x + merge[n, m -> t](dot[n2](softmax[n2](dot[d](y, y[n as n2]) where n2 <= n), y[n as n2]))
    }
    return x
}
"""
    cost = attnc.loads(text).model("net").cost()
    assert cost.macs.value == sum(2 * (16 // m) ** 2 * m * 8 for m in (1, 2, 4))
    assert cost.kept.value == sum((16 // m) * (16 // m + 1) * m * 8 for m in (1, 2, 4))
    assert cost.paths["t"].hops is not None


def test_a_width_that_nobody_set_is_taken_where_all_derived_ones_are_whole() -> None:
    """Near 1,024, or near its bound; also by what a block derives from it, or one derived width from another."""
    text = """
    width seq, most <= 64
    width thirds = seq / 3, fifths = thirds / 5, sixths = most / 6
    depth three = 3, five = 5, six = 6
    block sevens[n: width](x: [n]) -> [n] {
        width part = n / 7
        depth seven = 7
        return merge[part, seven -> n](exp(split[n -> part, seven](x)))
    }
    model net(x: [seq], y: [most]) -> (a: [fifths], b: [sixths]) {
        x = split[seq -> thirds, three](sevens[seq](x))
        return split[thirds -> fifths, five](x)[five = 0, three = 0], split[most -> sixths, six](y)[six = 0]
    }
    """
    model = attnc.loads(text).model("net")
    found = model.cost()
    assert (found.sizes["seq"], found.sizes["most"]) == (3 * 5 * 7 * 10, 60)
    assert found.assumed == ("seq", "most") and found.operations.value == 1050
    assert model.cost({"most": 6}).sizes["most"] == 6
    with pytest.raises(CostError, match="`thirds` = seq / 3 would be 1024/3 with seq = 1024"):
        model.cost({"seq": 1024})
