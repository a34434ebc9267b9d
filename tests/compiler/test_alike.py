"""What makes two calls of one set of weights differ: two blocks, and what is said of the second beside the first."""

from __future__ import annotations

import pytest

from attnc.compiler.alike import told_apart
from attnc.compiler.program import build
from attnc.dsl.source import Source

FILE = """
width seq, row, col = seq, half = seq / 2, other_half = row / 2
width past like seq
width most <= 16, more <= 32
width four = 4
depth d = 8, e = 8, wide = 12
const two = 2, three = 3, again = 2
block act(x: [d]) -> [d] {
    return relu(x)
}
block soft(x: [d]) -> [d] {
    return gelu(x)
}
block power[n: const](x: [d]) -> [d] {
    return x ^ n
}
block powers[n: const, m: const](x: [d]) -> [d] {
    return x ^ n + m
}
block cell(x: [d], h: [d]) -> (h: [d]) {
    return tanh(x + h)
}
block slow(x: [d], h: [d], gone: [d]) -> (h: [d], gone: [d]) {
    return tanh(x + h), x
}
block masked[n: width](x: [n, d], m: bool[n] = true) -> [d] {
    return mean[n](x where m)
}
block one%s
block other%s
"""
OTHERWISE = "its body comes out otherwise"

ALIKE = {
    "names": (
        "(x: [seq, d]) -> [seq, d] {\n y = relu(x)\n return y + 1\n}",
        "(x: [row, e]) -> [row, e] {\n z = relu(x)\n return z + 1\n}",
    ),
    "a bound of another size": (
        "(x: [most]) -> [most] {\n return relu(x)\n}",
        "(x: [more]) -> [more] {\n return relu(x)\n}",
    ),
    "a width that is fixed": (
        "(x: [seq]) -> [seq] {\n return relu(x)\n}",
        "(x: [four]) -> [four] {\n return relu(x)\n}",
    ),
    "consts of one value": (
        "(x: [d]) -> [d] {\n return x ^ two + power[n = two](x)\n}",
        "(x: [d]) -> [d] {\n return x ^ again + power[n = again](x)\n}",
    ),
    "a width that is derived alike": (
        "(x: [seq], y: [half]) -> [half] {\n return y + half\n}",
        "(x: [seq], y: [half]) -> [half] {\n return y + half\n}",
    ),
    "repeats": (
        "(x: [seq, d], y: [seq, d]) -> [seq, d] {\n repeat i in two {\n  x = act(x) + i * y\n }\n return x\n}",
        "(x: [row, d], y: [row, d]) -> [row, d] {\n repeat j in two {\n  x = act(x) + j * y\n }\n return x\n}",
    ),
    "scans": (
        "(x: [seq, d]) -> [seq, d] {\n return scan[seq] cell(x, h = 0)\n}",
        "(x: [row, d]) -> [row, d] {\n return scan[row] cell(x, h = 0)\n}",
    ),
    "masks": (
        "(x: [seq, d], m: bool[seq]) -> [d] {\n return max[seq](x where m)\n}",
        "(x: [row, d], m: bool[row]) -> [d] {\n return max[row](x where m)\n}",
    ),
    "indices": (
        "(x: [e, d], i: e[seq]) -> [seq, d] {\n return x[e = i]\n}",
        "(x: [d, e], i: d[seq]) -> [seq, e] {\n return x[d = i]\n}",
    ),
}

APART = {
    "bounded": (
        "(x: [seq]) -> [] {\n return sum[seq](x)\n}",
        "(x: [most]) -> [] {\n return sum[most](x)\n}",
        "`seq` is bounded",
    ),
    "not bounded": (
        "(x: [most]) -> [] {\n return sum[most](x)\n}",
        "(x: [seq]) -> [] {\n return sum[seq](x)\n}",
        "`most` is not bounded",
    ),
    "derived": (
        "(x: [seq, d], y: [row, d]) -> [seq, row] {\n return dot[d](x, y)\n}",
        "(x: [seq, d], y: [half, d]) -> [seq, half] {\n return dot[d](x, y)\n}",
        "`row` is derived",
    ),
    "not derived": (
        "(x: [seq, d], y: [half, d]) -> [seq, half] {\n return dot[d](x, y)\n}",
        "(x: [seq, d], y: [row, d]) -> [seq, row] {\n return dot[d](x, y)\n}",
        "`half` is not derived",
    ),
    "derived by other arithmetic": (
        "(x: [seq, d], y: [half, d]) -> [seq, half] {\n return dot[d](x, y)\n}",
        "(x: [seq, d], y: [col, d]) -> [seq, col] {\n return dot[d](x, y)\n}",
        "a number is another",
    ),
    "derived from what is not there": (
        "(x: [seq, d], y: [half, d]) -> [seq, half] {\n return dot[d](x, y)\n}",
        "(x: [seq, d], y: [other_half, d]) -> [seq, other_half] {\n return dot[d](x, y)\n}",
        "`half` is derived otherwise",
    ),
    "another op": ("(x: [d]) -> [d] {\n return relu(x)\n}", "(x: [d]) -> [d] {\n return gelu(x)\n}", OTHERWISE),
    "operands turned round": (
        "(x: [d], y: [d]) -> [d] {\n return x - y\n}",
        "(x: [d], y: [d]) -> [d] {\n return y - x\n}",
        OTHERWISE,
    ),
    "another result": (
        "(x: [d]) -> [d] {\n y = relu(x)\n z = exp(y)\n return y\n}",
        "(x: [d]) -> [d] {\n y = relu(x)\n z = exp(y)\n return z\n}",
        OTHERWISE,
    ),
    "results turned round": (
        "(x: [seq, row]) -> [seq, row] {\n return relu(x)\n}",
        "(x: [seq, row]) -> [row, seq] {\n return relu(x)\n}",
        "two of its axes are one",
    ),
    "more steps": (
        "(x: [d]) -> [d] {\n return relu(x)\n}",
        "(x: [d]) -> [d] {\n return relu(relu(x))\n}",
        "it takes another branch of an `if`, or is of other steps",
    ),
    "a mask": (
        "(x: [seq, d], m: bool[seq]) -> [d] {\n return sum[seq](x)\n}",
        "(x: [seq, d], m: bool[seq]) -> [d] {\n return sum[seq](x where m)\n}",
        OTHERWISE,
    ),
    "another mask": (
        "(x: [seq, d], m: bool[seq], n: bool[seq]) -> [d] {\n return sum[seq](x where m)\n}",
        "(x: [seq, d], m: bool[seq], n: bool[seq]) -> [d] {\n return sum[seq](x where n)\n}",
        OTHERWISE,
    ),
    "another axis": (
        "(x: [seq, row]) -> [seq, row] {\n return cumsum[seq](x)\n}",
        "(x: [seq, row]) -> [seq, row] {\n return cumsum[row](x)\n}",
        "two of its axes are one",
    ),
    "another number of axes": (
        "(x: [seq, row]) -> [] {\n return sum[seq, row](x)\n}",
        "(x: [seq]) -> [] {\n return sum[seq](x)\n}",
        OTHERWISE,
    ),
    "another number of axes eaten": (
        "(x: [seq, row]) -> [] {\n return sum[seq, row](x)\n}",
        "(x: [seq, row]) -> [row] {\n return sum[seq](x)\n}",
        OTHERWISE,
    ),
    "another size": (
        "(x: [d]) -> [] {\n return sum[d](x)\n}",
        "(x: [wide]) -> [] {\n return sum[wide](x)\n}",
        "`d` has size 12, and not 8",
    ),
    "another size as a number": (
        "(x: []) -> [] {\n return x * |d|\n}",
        "(x: []) -> [] {\n return x * |wide|\n}",
        "`d` has size 12, and not 8",
    ),
    "another option": (
        "(x: [d]) -> [d] {\n return l2norm[d](x, eps = 1)\n}",
        "(x: [d]) -> [d] {\n return l2norm[d](x, eps = 2)\n}",
        "a number is 2, and not 1",
    ),
    "another number": (
        "(x: [d]) -> [d] {\n return x + 1\n}",
        "(x: [d]) -> [d] {\n return x + 1.0\n}",
        "a number is 1.0, and not 1",
    ),
    "another const": (
        "(x: [d]) -> [d] {\n return x * two\n}",
        "(x: [d]) -> [d] {\n return x * three\n}",
        "`two` is 3, and not 2",
    ),
    "a const given otherwise": (
        "(x: [d]) -> [d] {\n return power[n = two](x)\n}",
        "(x: [d]) -> [d] {\n return power[n = three](x)\n}",
        "`n` is 3, and not 2",
    ),
    "a const given by another formula": (
        "(x: [d]) -> [d] {\n repeat i in two {\n  x = powers[n = i, m = i](x)\n }\n return x\n}",
        "(x: [d]) -> [d] {\n repeat i in two {\n  x = powers[n = i, m = i + 1](x)\n }\n return x\n}",
        "a number is another",
    ),
    "a number for an argument": (
        "(x: [d], y: [d]) -> [d] {\n return act(x)\n}",
        "(x: [d]) -> [d] {\n return act(x)\n}",
        "`y` is a number or truth value as written",
    ),
    "an argument for a number": (
        "(x: [d]) -> [d] {\n return act(x)\n}",
        "(x: [d], y: [d]) -> [d] {\n return act(x)\n}",
        "`y` is a value",
    ),
    "one argument for another": (
        "(x: [d], y: [d]) -> [d] {\n return act(x)\n}",
        "(x: [d], z: [d]) -> [d] {\n return act(x)\n}",
        "`y` is a number or truth value as written",
    ),
    "another callee": ("(x: [d]) -> [d] {\n return act.f(x)\n}", "(x: [d]) -> [d] {\n return soft.f(x)\n}", OTHERWISE),
    "another name": ("(x: [d]) -> [d] {\n return act.f(x)\n}", "(x: [d]) -> [d] {\n return act.g(x)\n}", OTHERWISE),
    "another argument": (
        "(x: [d], y: [d]) -> [d] {\n return act(x)\n}",
        "(x: [d], y: [d]) -> [d] {\n return act(y)\n}",
        OTHERWISE,
    ),
    "an argument that is left out": (
        "(x: [seq, d], m: bool[seq]) -> [d] {\n return masked[seq](x)\n}",
        "(x: [seq, d], m: bool[seq]) -> [d] {\n return masked[seq](x, m)\n}",
        "`m` is a value",
    ),
    "a call and a scan": (
        "(x: [e, d], h: [d]) -> [e, d] {\n return cell(x, h)\n}",
        "(x: [e, d], h: [d]) -> [e, d] {\n return scan[e] cell(x, h)\n}",
        OTHERWISE,
    ),
    "scanned along another axis": (
        "(x: [seq, row, d]) -> [seq, row, d] {\n return scan[seq] cell(x, h = 0)\n}",
        "(x: [seq, row, d]) -> [seq, row, d] {\n return scan[row] cell(x, h = 0)\n}",
        "two of its axes are one",
    ),
    "other arguments given item by item": (
        "(x: [seq, d], y: [d]) -> [seq, d] {\n return scan[seq] cell(x, h = y)\n}",
        "(x: [seq, d], y: [d]) -> [seq, d] {\n h, gone = scan[seq] slow(x, h = y, gone = y)\n return h\n}",
        OTHERWISE,
    ),
    "fewer passes": (
        "(x: [d]) -> [d] {\n repeat two {\n  x = relu(x)\n }\n return x\n}",
        "(x: [d]) -> [d] {\n repeat three {\n  x = relu(x)\n }\n return x\n}",
        "its repeats run otherwise",
    ),
    "another body of a repeat": (
        "(x: [d]) -> [d] {\n repeat two {\n  x = relu(x)\n }\n return x\n}",
        "(x: [d]) -> [d] {\n repeat two {\n  x = gelu(x)\n }\n return x\n}",
        OTHERWISE,
    ),
    "more is carried": (
        "(x: [d], y: [d]) -> [d] {\n repeat two {\n  x = relu(x + y)\n }\n return x\n}",
        "(x: [d], y: [d]) -> [d] {\n repeat two {\n  y = relu(x + y)\n }\n return y\n}",
        OTHERWISE,
    ),
    "another kind of element": (
        "(x: [d]) -> [d] {\n return relu(x)\n}",
        "(x: int[d]) -> [d] {\n return relu(x)\n}",
        "`x` has elements of another kind",
    ),
    "indices into another axis": (
        "(x: [d, wide], i: d[]) -> [] {\n return sum[wide](x[d = i])\n}",
        "(x: [d, wide], i: wide[]) -> [] {\n return sum[d](x[wide = i])\n}",
        "two of its axes are one",
    ),
    "no number": (
        "(x: [d]) -> [d] {\n return x * two\n}",
        "(x: [d]) -> [d] {\n return x * |d|\n}",
        "a number is another",
    ),
}


def said(one: str, other: str) -> str | None:
    program = build(Source("main.attn", FILE % (one, other)))
    assert not program.errors, program.errors[0].message
    return told_apart(program.graph("one"), program.graph("other"))


@pytest.mark.parametrize("pair", ALIKE.values(), ids=ALIKE)
def test_they_are_of_one_form(pair: tuple[str, str]) -> None:
    assert said(*pair) is None
    assert said(*reversed(pair)) is None


@pytest.mark.parametrize("row", APART.values(), ids=APART)
def test_how_they_differ(row: tuple[str, str, str]) -> None:
    one, other, how = row
    assert said(one, other) == how
    assert said(one, one) is None
