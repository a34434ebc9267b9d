"""Numbers as Python code, lines of it, and what is proved of integers: small tables of what must come out."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import attnc
from attnc.backends.runtime.common import numbers as helpers
from attnc.backends.runtime.common.numbers import number_exp, number_rest
from attnc.backends.text.expressions import ATOM, UNARY, Attribute, Code, Given, binary, number, operator
from attnc.backends.text.expressions import literal as written_out
from attnc.backends.text.names import Namer
from attnc.backends.text.numbers import _least as least_of
from attnc.backends.text.numbers import apply, of_unknown, static_code
from attnc.backends.text.printer import CodePrinter
from attnc.backends.text.ranges import ANY, Bounds, Interval, constant
from attnc.backends.text.statements import side_by_side
from attnc.backends.text.writing import is_one_of, is_path, wrap
from attnc.compiler.graph.extents import claim_of, enough, holds, takes_nothing_away
from attnc.compiler.graph.nodes import Apply
from attnc.compiler.graph.traits import Anything, Function, LogSum, Pointwise, Product, Reads
from attnc.compiler.ops import OPS as TABLE
from attnc.compiler.ops import Op
from attnc.compiler.sizes.axes import Arith, Axis, Const, ConstOf, Kind, Literal, SizeOf, Static
from attnc.compiler.sizes.functions import OPERATIONS


@pytest.mark.parametrize(("a", "b", "rest"), [(7, 4, 3), (7.5, 4, 3.5), (3, 0, 0), (1.5, 0, None), (3, 0.0, None)])
def test_the_rest_of_no_parts(a: float, b: float, rest: float | None) -> None:
    """0 of an int, as arrays have it; of a real no number."""
    assert math.isnan(number_rest(a, b)) if rest is None else number_rest(a, b) == rest


# -- Python expressions ----------------------------------------------------------------------------------------------

NUMBERS = {
    "1": 1, "0": 0, "-1": -1, "0.5": 0.5, "-0.5": -0.5, "True": True, "False": False, "math.inf": math.inf,
    "-math.inf": -math.inf, "math.nan": math.nan, "1e-05": 1e-5,
}  # fmt: skip


@pytest.mark.parametrize("text", NUMBERS)
def test_a_literal(text: str) -> None:
    code = number(NUMBERS[text])
    assert code.text == text and (code.level == UNARY) == text.startswith("-")
    assert code.at(ATOM).text == (f"({text})" if text.startswith("-") else text)


x, y, z = Code("x"), Code("y"), Code("z")
ORDERS = {
    "x + y + z": lambda: binary("+", binary("+", x, y), z),
    "x + (y + z)": lambda: binary("+", x, binary("+", y, z)),
    "x - (y - z)": lambda: binary("-", x, binary("-", y, z)),
    "x - y - z": lambda: binary("-", binary("-", x, y), z),
    "x - y * z": lambda: binary("-", x, binary("*", y, z)),
    "(x - y) * z": lambda: binary("*", binary("-", x, y), z),
    "x / (y * z)": lambda: binary("/", x, binary("*", y, z)),
    "x // y % z": lambda: binary("%", binary("//", x, y), z),
    "x * -y": lambda: binary("*", x, apply("neg", [y])),
    "-x * y": lambda: binary("*", apply("neg", [x]), y),
    "-(x * y)": lambda: apply("neg", [binary("*", x, y)]),
    "--x": lambda: apply("neg", [apply("neg", [x])]),
    "(-x) ** y": lambda: binary("^", apply("neg", [x]), y),
    "-x**y": lambda: apply("neg", [binary("^", x, y)]),
    "x ** (-y)": lambda: binary("^", x, apply("neg", [y])),
    "(x**y) ** z": lambda: binary("^", binary("^", x, y), z),
    "x ** (y**z)": lambda: binary("^", x, binary("^", y, z)),
    "x + y <= z": lambda: binary("<=", binary("+", x, y), z),
    "(x <= y) == z": lambda: binary("==", binary("<=", x, y), z),
    "x == (y != z)": lambda: binary("==", x, binary("!=", y, z)),
    "x > y and not z": lambda: binary("and", binary(">", x, y), apply("not", [z])),
    "not x == y": lambda: apply("not", [binary("==", x, y)]),
    "not (x and y)": lambda: apply("not", [binary("and", x, y)]),
    "(x or y) and z": lambda: binary("and", binary("or", x, y), z),
    "(x and y) and z": lambda: binary("and", binary("and", x, y), z),
    "x and y or z": lambda: binary("or", binary("and", x, y), z),
    "x >= y or z < x": lambda: binary("or", binary(">=", x, y), binary("<", z, x)),
    "y if x else z": lambda: apply("select", [x, y, z]),
    "y if x or y else z": lambda: apply("select", [binary("or", x, y), y, z]),
    "(y if x else z) + x": lambda: binary("+", apply("select", [x, y, z]), x),
    "min(max(x, y), z)": lambda: apply("clamp", [x, y, z]),
    "max(x - y, 0)": lambda: apply("relu", [binary("-", x, y)]),
    "1 / math.sqrt(x + y)": lambda: apply("rsqrt", [binary("+", x, y)]),
    "x * (1 / math.sqrt(y))": lambda: binary("*", x, apply("rsqrt", [y])),
    "1 / (1 + number_exp(-(x + y)))": lambda: apply("sigmoid", [binary("+", x, y)]),
    "(x + y) / (1 + number_exp(-(x + y)))": lambda: apply("silu", [binary("+", x, y)]),
    "max(x, y, z)": lambda: apply("maximum", [x, y, z]),
    "min(x, y)": lambda: apply("minimum", [x, y]),
    "x + y - z": lambda: binary("-", binary("+", x, y), z),
    "abs(x - y)": lambda: apply("abs", [binary("-", x, y)]),
    "int(x)": lambda: apply("int", [x]),
    "math.floor(x / y)": lambda: apply("floor", [binary("/", x, y)]),
    "math.ceil(x / y)": lambda: apply("ceil", [binary("/", x, y)]),
}


@pytest.mark.parametrize("text", ORDERS)
def test_parentheses_where_they_are_needed(text: str) -> None:
    assert ORDERS[text]().text == text


ON_ARRAYS = {
    "x & y & z": lambda: operator("and", [operator("and", [x, y]), z]),
    "x & (y & z)": lambda: operator("and", [x, operator("and", [y, z])]),
    "x | y | z": lambda: operator("or", [operator("or", [x, y]), z]),
    "x | (y | z)": lambda: operator("or", [x, operator("or", [y, z])]),
    "(x | y) & z": lambda: operator("and", [operator("or", [x, y]), z]),
    "x & y | z": lambda: operator("or", [operator("and", [x, y]), z]),
    "x | y & z": lambda: operator("or", [x, operator("and", [y, z])]),
    "(x <= y) & (y > z)": lambda: operator("and", [operator("<=", [x, y]), operator(">", [y, z])]),
    "x + y & z * x": lambda: operator("and", [operator("+", [x, y]), operator("*", [z, x])]),
    "~(x & y)": lambda: operator("not", [operator("and", [x, y])]),
    "~~x": lambda: operator("not", [operator("not", [x])]),
    "-(x + y)": lambda: operator("neg", [operator("+", [x, y])]),
    "-x * y": lambda: operator("*", [operator("neg", [x]), y]),
    "x % (y / z)": lambda: operator("%", [x, operator("/", [y, z])]),
    "(x**y) ** z": lambda: operator("^", [operator("^", [x, y]), z]),
    "(x == y) != z": lambda: operator("!=", [operator("==", [x, y]), z]),
}


@pytest.mark.parametrize("text", ON_ARRAYS)
def test_parentheses_of_signs(text: str) -> None:
    assert ON_ARRAYS[text]().text == text


EXACT: dict[str, Any] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
    "//": lambda a, b: a // b, "%": lambda a, b: a % b, "^": lambda a, b: a**b, "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b, "<": lambda a, b: a < b, ">": lambda a, b: a > b, "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b, "and": lambda a, b: bool(a and b), "or": lambda a, b: bool(a or b), "neg": lambda a: -a,
    "not": lambda a: not a, "abs": abs, "floor": math.floor, "ceil": math.ceil, "max": max, "min": min,
    "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "sin": math.sin, "cos": math.cos, "tanh": math.tanh,
    "erf": math.erf, "int": int,
    "rsqrt": lambda a: a**-0.5, "relu": lambda a: max(a, 0), "sigmoid": lambda a: 1 / (1 + math.exp(-a)),
    "silu": lambda a: a / (1 + math.exp(-a)), "gelu": lambda a: a * (1 + math.erf(a / math.sqrt(2))) / 2,
    "gelu_tanh": lambda a: a * (1 + math.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3))) / 2,
    "clamp": lambda a, b, c: min(max(a, b), c), "select": lambda a, b, c: b if a else c,
}  # fmt: skip
ARITY = {"clamp": 3, "select": 3} | dict.fromkeys(
    ("+", "-", "*", "/", "//", "%", "^", "<=", ">=", "<", ">", "==", "!=", "and", "or", "max", "min"), 2
)


@pytest.mark.parametrize("op", EXACT)
def test_each_operation_is_what_it_says(op: str) -> None:
    values = (True, False) if op in ("and", "or", "not") else (0.75, 2, 3)
    for args in itertools.product(values, repeat=ARITY.get(op, 1)):
        code = apply(op, [number(value) for value in args])
        assert eval(code.text, {"math": math, "number_exp": number_exp}) == pytest.approx(EXACT[op](*args)), code.text


def test_every_operation_is_there() -> None:
    assert set(OPERATIONS) - {"list", "item", "length"} <= set(EXACT)


def test_lists_are_read_by_their_names() -> None:
    windows, i = Const(1, "windows", (0, 512)), Const(2, "i", None, is_index=True)
    item = Arith("item", (Arith("+", (ConstOf(i), Literal(1))), ConstOf(windows)))
    own = Arith("item", (Literal(0), Arith("list", (item,))))

    def text(static: Static) -> str:
        return static_code(static, lambda axis: Code(axis.name), lambda const: Code(const.name)).text

    assert text(item) == "windows[i + 1]" and text(Arith("length", (ConstOf(windows),))) == "len(windows)"
    assert text(own) == "(windows[i + 1],)[0]" and written_out((1, 0.5)).text == "(1, 0.5)"


ODD = [-math.inf, -1e300, -2, -0.5, 0, 0.0, 0.5, 3, 1e300, math.inf, math.nan]


@pytest.mark.parametrize("op", [op for op in TABLE.values() if op.python or op.careful], ids=lambda op: op.name)
def test_python_refuses_no_number_of_a_run(op: Op) -> None:
    """A row whose `python` may raise says in `careful` what does not: a function that generated code carries along."""
    numbers = [value for value in ODD if isinstance(value, int)] if op.name == "int" else ODD
    for args in itertools.product(numbers, repeat=len(op.operands)):
        code = of_unknown(op.name, [number(arg) for arg in args])
        assert code is not None and isinstance(eval(code.text, {"math": math} | vars(helpers)), int | float)


def test_what_is_no_operation() -> None:
    assert apply("argmax", [x]) is None
    assert of_unknown("argmax", [x]) is None


TRUTHS = ["<=", "==", "!=", ">", "and", "or", "not"]
NUMERIC = ["+", "-", "*", "//", "%", "^", "neg", "select", "max", "clamp", "abs"]


def test_any_expression_means_what_it_is_made_of() -> None:
    """Random trees: Python reads the text as it was put together."""
    draw = random.Random(0)

    def tree(depth: int, truth: bool) -> tuple[Code, Any]:
        if not depth or draw.random() < 0.2:
            value = draw.choice([True, False] if truth else [1, 2, 3, -2])
            return number(value), value
        op = draw.choice(TRUTHS if truth else NUMERIC)
        inner = [op in ("and", "or", "not") or (op == "select" and not place) for place in range(ARITY.get(op, 1))]
        parts = [tree(depth - 1, each) for each in inner]
        if op in ("//", "%", "^"):  # nothing is divided by nothing, and no number grows without end
            parts[1] = (number(2), 2)
        return apply(op, [code for code, _ in parts]), EXACT[op](*(value for _, value in parts))

    for number_ in range(600):
        code, value = tree(4, number_ % 2 == 0)
        assert eval(code.text) == value, code.text


def axis(number_: int, name: str, extent: int | None = None) -> Axis:
    kind = Kind.WIDTH if extent is None else Kind.DEPTH
    return Axis(number_, name, kind, name, extent, None, None, number_, None)


A = axis(1, "a")


def size_of(static: Static) -> str:
    return static_code(static, lambda one: Code(f"self.{one.name}"), lambda const: Code(const.name)).text


# -- lines -----------------------------------------------------------------------------------------------------------

WRAPPED = [  # line, comment, width, what becomes of it
    ("x = f(a, b)", "[t]", 20, ["x = f(a, b)  # [t]"]),
    ("x = f(a, b)", "[t]", 18, ["x = f(a, b)  # [t]"]),
    ("x = f(a, b)", "[t]", 17, ["# [t]", "x = f(a, b)"]),
    ("    x = f(a, b)", "[t]", 15, ["    # [t]", "    x = f(a, b)"]),
    ("    x = f(a, b)", "", 14, ["    x = f(", "        a, b", "    )"]),
    ("    x = f(a, b)", "[t]", 12, ["    # [t]", "    x = f(", "        a, b", "    )"]),
    ("    x = f(a, b)", "", 11, ["    x = f(", "        a,", "        b,", "    )"]),
    ("    x = f(a, b,)", "", 14, ["    x = f(", "        a,", "        b,", "    )"]),
    ("x = f(a, g(b, c), d)", "", 12, ["x = f(", "    a,", "    g(b, c),", "    d,", ")"]),
    ("x = f(a)[0] + g(bb, cc)", "", 12, ["x = f(a)[0] + g(", "    bb, cc", ")"]),
    ("x = f(a)[0] + g(bb, cc)", "", 9, ["x = f(a)[0] + g(", "    bb,", "    cc,", ")"]),
    ("x = aaa + bbb + ccc", "", 12, ["x = aaa + bbb + ccc"]),
    ("x = (aaa + bbb) * ccc", "", 12, ["x = (aaa + bbb) * ccc"]),
    ("x = (aaa, bbb), ccc", "", 12, ["x = (", "    aaa, bbb", "), ccc"]),
    ("x = (aaa, bbb), ccc", "", 11, ["x = (", "    aaa,", "    bbb,", "), ccc"]),
    ("xxxxxxxx = (aaa,)", "", 12, ["xxxxxxxx = (", "    aaa,", ")"]),
    ('x = f("a, (b", c)', "", 12, ["x = f(", '    "a, (b",', "    c,", ")"]),
    ("x = f(\"it's\", 'a)b', c)", "", 12, ["x = f(", '    "it\'s",', "    'a)b',", "    c,", ")"]),
    ("x = f(a[1, 2], {b: c})", "", 12, ["x = f(", "    a[1, 2],", "    {b: c},", ")"]),
    ("x = f(g(y) for y in zz)", "", 16, ["x = f(", "    g(y)", "    for y in zz", ")"]),
    ("x = f(g(y) for y in zz)", "", 20, ["x = f(", "    g(y) for y in zz", ")"]),
    ("x = f(g if c else h for y in zz)", "", 16, ["x = f(", "    g if c", "    else h", "    for y in zz", ")"]),
    ("def f(self) -> None:", "", 12, ["def f(", "    self", ") -> None:"]),
    ("def f(self, x) -> None:", "", 10, ["def f(", "    self,", "    x,", ") -> None:"]),
    ("x = f()(aaaa, bbb)", "", 12, ["x = f()(", "    aaaa,", "    bbb,", ")"]),
    ("x = y[0](aaaa, bbb)", "", 12, ["x = y[0](", "    aaaa,", "    bbb,", ")"]),
    ("x = f_(aaaa, bbb)", "", 12, ["x = f_(", "    aaaa,", "    bbb,", ")"]),
]


@pytest.mark.parametrize(("line", "comment", "width", "lines"), WRAPPED, ids=[str(n) for n in range(len(WRAPPED))])
def test_wrap(line: str, comment: str, width: int, lines: list[str]) -> None:
    assert wrap(line, comment, width) == lines


def test_the_width_of_a_line() -> None:
    assert len(wrap(f"x = f({'a' * 100}, {'b' * 10})")[0]) == 119
    assert wrap(f"x = f({'a' * 100}, {'b' * 11})") == [f"x = f({'a' * 100}, {'b' * 11})"]
    assert len(wrap(f"x = f({'a' * 100}, {'b' * 12})")) == 3
    assert len(wrap(f"x = f({'a' * 100}, {'b' * 15})")) == 4


def beside(names: Sequence[str], width: int = 120) -> list[str]:
    """Attributes and the names that they are given, in lines."""
    pairs = [(Attribute(f"self.{name}"), Given(name)) for name in names]
    printer = CodePrinter(Namer(), 120, lines := side_by_side(pairs, width))
    printer.print(lines)
    return printer.lines


def test_assignments_side_by_side() -> None:
    names = ("one", "two", "three", "four", "five", "six")
    assert beside([]) == []
    assert beside(names[:1]) == ["self.one = one"]
    assert beside(names) == [
        "self.one, self.two, self.three, self.four = one, two, three, four", "self.five, self.six = five, six",
    ]  # fmt: skip
    assert beside(names[:3], 30) == ["self.one, self.two = one, two", "self.three = three"]
    assert beside(names[:2], 29) == ["self.one, self.two = one, two"]
    assert beside(names[:2], 28) == ["self.one = one", "self.two = two"]
    assert beside(names[:2], 1) == ["self.one = one", "self.two = two"]


PASSES = {
    "i == 0": [0], "i == 3": [3], "i in (0, 1)": [0, 1], "i in range(0, 3, 1)": [0, 1, 2],
    "i in range(1, 6, 2)": [1, 3, 5], "i in (0, 1, 3)": [0, 1, 3], "i in range(2, 12, 3)": [2, 5, 8, 11],
    "i in ()": [], "i in (1, 4)": [1, 4],
}  # fmt: skip


@pytest.mark.parametrize("text", PASSES)
def test_is_one_of(text: str) -> None:
    assert is_one_of("i", PASSES[text]) == text
    assert [i for i in range(20) if eval(text)] == PASSES[text]


def test_paths() -> None:
    assert [text for text in ("x", "self.E", "a_1", "x.y_.z") if not is_path(text)] == []
    assert [text for text in ("1", "0.5", "x + y", "f(x)", "x[0]", "-x", "1x") if is_path(text)] == []


# -- what is proved of integers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["maximum", "clamp", "neg", "int"])
def test_of_an_op_under_another_name(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    row = replace(TABLE[op], name="anew")
    monkeypatch.setitem(TABLE, "anew", row)
    args = [PLACES, literal(0), LAST][: len(row.operands)]
    assert does("anew", args) == does(op, args) != ANY


@pytest.mark.parametrize("reads", [Pointwise(Function()), Pointwise(LogSum()), Pointwise(Product()), Anything()])
def test_of_an_op_of_which_nothing_is_proved(reads: Reads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLE, "anew", replace(TABLE["maximum"], name="anew", reads=reads))
    assert does("anew", [PLACES, LAST]) == replace(ANY, items=PLACES.items)


T, S, FOUR = axis(10, "t"), axis(11, "s"), axis(12, "four", 4)
BOUNDS = Bounds(lambda one: one, lambda one: one.extent or 1)


def known(low: int, high: int) -> Interval:
    return Interval(constant(low), constant(high))


def literal(value: int) -> Interval:
    return BOUNDS.static(Literal(value))


PLACES = BOUNDS.positions(T)
SIZE = BOUNDS.static(SizeOf(T))
LAST = BOUNDS.static(Arith("-", (SizeOf(T), Literal(1))))
does = BOUNDS.apply
INDEX: dict[str, tuple[Callable[[], Interval], bool]] = {  # an index into T, or none
    "t": (lambda: PLACES, True),
    "|t| - 1": (lambda: LAST, True),
    "|t|": (lambda: SIZE, False),
    "0": (lambda: literal(0), True),  # a width counts as at least 1
    "1": (lambda: literal(1), False),
    "-1": (lambda: literal(-1), False),
    "t + 1": (lambda: does("+", [PLACES, literal(1)]), False),
    "t - 1": (lambda: does("-", [PLACES, literal(1)]), False),
    "|t| - 1 - t": (lambda: does("-", [LAST, PLACES]), True),
    "|t| - t": (lambda: does("-", [SIZE, PLACES]), False),
    "t - t": (lambda: does("-", [PLACES, PLACES]), False),
    "max(t - 1, 0)": (lambda: does("maximum", [does("-", [PLACES, literal(1)]), literal(0)]), True),
    "max(0, t - 1)": (lambda: does("maximum", [literal(0), does("-", [PLACES, literal(1)])]), True),
    "max(t + 1, 0)": (lambda: does("maximum", [does("+", [PLACES, literal(1)]), literal(0)]), False),
    "min(t + 1, |t| - 1)": (lambda: does("minimum", [does("+", [PLACES, literal(1)]), LAST]), True),
    "min(|t| - 1, t + 1)": (lambda: does("minimum", [LAST, does("+", [PLACES, literal(1)])]), True),
    "min(t - 1, |t| - 1)": (lambda: does("minimum", [does("-", [PLACES, literal(1)]), LAST]), False),
    "min(t, n)": (lambda: does("minimum", [PLACES, ANY]), False),
    "max(t, n)": (lambda: does("maximum", [PLACES, ANY]), False),
    "clamp(n, 0, |t| - 1)": (lambda: does("clamp", [ANY, literal(0), LAST]), True),
    "clamp(n, 1, |t| - 1)": (lambda: does("clamp", [ANY, literal(1), LAST]), True),  # the upper end is the last word
    "clamp(n, 0, |t|)": (lambda: does("clamp", [ANY, literal(0), SIZE]), False),
    "clamp(n, -1, |t| - 1)": (lambda: does("clamp", [ANY, literal(-1), LAST]), False),
    "n % |t|": (lambda: does("%", [ANY, SIZE]), True),
    "n % (|t| + 1)": (lambda: does("%", [ANY, does("+", [SIZE, literal(1)])]), False),
    "n % (|t| - 1)": (lambda: does("%", [ANY, LAST]), False),  # which may be 0
    "n": (lambda: ANY, False),
    "abs(t)": (lambda: does("abs", [PLACES]), True),
    "abs(t - 1)": (lambda: does("abs", [does("-", [PLACES, literal(1)])]), False),
    "-t": (lambda: does("neg", [PLACES]), False),
    "-t + |t| - 1": (lambda: does("+", [does("neg", [PLACES]), LAST]), True),
    "int(t)": (lambda: does("int", [PLACES]), True),
    "select(b, t, 0)": (lambda: does("select", [ANY, PLACES, literal(0)]), True),
    "select(b, t, |t|)": (lambda: does("select", [ANY, PLACES, SIZE]), False),
    "select(b, -1, t)": (lambda: does("select", [ANY, literal(-1), PLACES]), False),
    "max(n, |t|)": (lambda: does("maximum", [ANY, SIZE]), False),
    "min(max(n, 0), |t| - 1)": (lambda: does("minimum", [does("maximum", [ANY, literal(0)]), LAST]), True),
    "min(|t| - 1, max(0, n))": (lambda: does("minimum", [LAST, does("maximum", [literal(0), ANY])]), True),
    "max(t, 1)": (lambda: does("maximum", [PLACES, literal(1)]), False),
    "max(s, t)": (lambda: does("maximum", [BOUNDS.positions(S), PLACES]), False),
    "min(s, t)": (lambda: does("minimum", [BOUNDS.positions(S), PLACES]), False),  # of two unlike ends the first
    "min(t, s)": (lambda: does("minimum", [PLACES, BOUNDS.positions(S)]), True),
    "n % 1": (lambda: does("%", [ANY, literal(1)]), True),
    "n % 0": (lambda: does("%", [ANY, literal(0)]), False),
    "|t| - 3 / 2": (lambda: BOUNDS.static(Arith("-", (SizeOf(T), Arith("/", (Literal(3), Literal(2)))))), False),
    "|t| - 2 / 2": (lambda: BOUNDS.static(Arith("-", (SizeOf(T), Arith("//", (Literal(2), Literal(2)))))), True),
    "|t| - 1 / 0": (lambda: BOUNDS.static(Arith("-", (SizeOf(T), Arith("//", (Literal(1), Literal(0)))))), False),
    "t * 1": (lambda: does("*", [PLACES, literal(1)]), False),  # not followed
    "s": (lambda: BOUNDS.positions(S), False),
}


@pytest.mark.parametrize("text", INDEX)
def test_what_is_surely_an_index(text: str) -> None:
    interval, within = INDEX[text]
    assert BOUNDS.within(interval(), T) is within


@pytest.mark.parametrize(
    ("value", "within"),
    [(0, True), (3, True), (4, False), (-1, False)],
)
def test_of_an_axis_whose_size_is_known(value: int, within: bool) -> None:
    assert BOUNDS.within(literal(value), FOUR) is within
    assert BOUNDS.within(BOUNDS.apply("+", [known(0, 1), literal(value)]), FOUR) is (0 <= value <= 2)
    assert BOUNDS.within(BOUNDS.static(Arith("*", (Literal(value), Literal(1)))), FOUR) is within
    assert not BOUNDS.within(BOUNDS.static(Literal(0.5)), FOUR)


def test_of_too_many_alternatives_nothing_is_known() -> None:
    several = BOUNDS.any_of([known(0, place) for place in range(3)])
    assert BOUNDS.within(several, FOUR)
    assert BOUNDS.within(BOUNDS.union(several, several), FOUR)  # six
    seven = BOUNDS.union(BOUNDS.union(several, several), known(0, 1))
    assert seven == ANY
    assert BOUNDS.apply("+", [several, several]) == ANY  # nine
    assert BOUNDS.within(BOUNDS.apply("+", [several, BOUNDS.union(known(0, 0), known(0, 1))]), FOUR)


# -- what ops take for granted of extents ----------------------------------------------------------------------------

OPS = """
depth model = 6, a = 2, b = 3, more = 5, k = 2, six = 6
block ops(
    x: [model], y: [a, b], z: [a], w: [b], u: [six]
) -> (i: [a, b], j: [model], l: [more], m: [k], n: [six]) {
    best = topk[model -> k](x)
    last = pad[b -> six](w, left = 2) + u
    return split[model -> a, b](x), exp(merge[a, b -> model](y)), concat[a, b -> more](z, w), x[model = best], last
}
"""
CLAIMS = {
    "split": "model == (a * b)",
    "merge": "model == (a * b)",
    "concat": "more == (a + b)",
    "topk": "k <= model",
    "pad": "(b + 2) <= six",
}
# What is put in an axis' place, and which of the claims then still hold.
PUT: dict[str, tuple[dict[str, str], set[str]]] = {
    "themselves": ({}, {"split", "merge", "concat", "topk", "pad"}),
    "another of the same size": ({"model": "six"}, {"split", "merge", "concat", "topk", "pad"}),
    "a smaller whole": ({"model": "more"}, {"concat", "topk", "pad"}),
    "a larger part": ({"a": "b"}, {"topk", "pad"}),
    "a larger sum": ({"more": "six"}, {"split", "merge", "topk", "pad"}),
    "as many as there are": ({"k": "six"}, {"split", "merge", "concat", "topk", "pad"}),
    "more than there are": ({"k": "six", "model": "more"}, {"concat", "pad"}),
    "no room before it": ({"b": "more"}, {"topk"}),
    "just room": ({"six": "more"}, {"split", "merge", "concat", "topk", "pad"}),
}


def shown(static: Static) -> str:
    match static:
        case SizeOf(one):
            return one.name
        case Literal(value):
            return str(value)
        case Arith(op, args):
            return f"({f' {op} '.join(map(shown, args))})"
    raise AssertionError(static)


@pytest.mark.parametrize("put", PUT)
def test_what_is_claimed_of_extents(put: str) -> None:
    graph = attnc.loads(OPS).block("ops").graph
    claims = {node.op: claim for node in graph.nodes if isinstance(node, Apply) and (claim := claim_of(node))}
    claims |= {node.op: enough(node) for node in graph.nodes if isinstance(node, Apply) and node.op == "topk"}
    assert {op: f"{shown(left)} {is_} {shown(right)}" for op, (left, is_, right) in claims.items()} == CLAIMS
    axes = {one.name: one for one in graph.axes}
    others, hold = PUT[put]
    instead = {one: axes[others.get(name, name)] for name, one in axes.items()}
    assert {op for op, claim in claims.items() if holds(claim, instead)} == hold


def test_a_claim_follows_from_how_an_op_reads() -> None:
    for node in attnc.loads(OPS).block("ops").graph.nodes:
        if isinstance(node, Apply):
            assert claim_of(replace(node, traits=replace(node.traits, name="anew"))) == claim_of(node)


# -- numbers of run-time sizes, which may be 0 ----------------------------------------------------------------------

UNDEFINED = {  # beside them, what stays an operation of Python
    "1 / |n|": "1 / (|n| + 1)", "|n| / |m|": "|n| / |d|", "3 / (|n| - |m|)": "|n| / max(|m|, 1)",
    "0 * (1 / |n|)": "|n| / -2",
    "sqrt(|n| - 2)": "sqrt(|n| * |m|)", "rsqrt(|n|)": "rsqrt(|n| + 0.5)", "log(|m|)": "log(1 + sqrt(|m|))",
    "log(|n| - 2)": "log(max(|n|, 2))", "|n| ^ -0.5": "(|n| + 1) ^ -0.5", "(|n| - 2) ^ 0.5": "|n| ^ 0.5",
    "(|n| - 2) ^ 3": "|m| ^ 2", "(|n| - 2) ^ -1": "2 ^ |m|", "2 ^ (|m| - |n|)": "|m| ^ 16",
    "7.5 % |n|": "7.5 % (|n| + 1)", "exp(|n|)": "exp(|d|)", "cos(1 / |n|)": "cos(|d|)", "sin(|n|)": "sin(2)",
    "sqrt(|n| / |m|)": "sqrt(|n| / (|m| + 1))",
}  # fmt: skip


@pytest.mark.parametrize("number", [*UNDEFINED, *UNDEFINED.values()])
def test_a_size_of_zero_leaves_numbers_as_arrays_have_them(number: str) -> None:
    """Infinite or NaN, in both backends; nothing raises, nothing becomes complex."""
    torch = pytest.importorskip("torch")
    model = attnc.loads(
        "width n, m\ndepth d = 3\nmodel f(x: [n, m, d], one: []) -> [d] {\n"
        f"    return sum[n, m](x) * 0 + one * ({number})\n}}\n"
    ).model("f")
    written = number.replace("^", "**").replace("|n|", "n").replace("|m|", "m").replace("|d|", "d")
    own = {
        "sqrt": np.sqrt,
        "log": np.log,
        "exp": np.exp,
        "sin": np.sin,
        "cos": np.cos,
        "rsqrt": lambda v: 1 / np.sqrt(v),
        "max": max,
    }
    ours, other = model.numpy(), model.torch(dtype="float64")
    for n, m in itertools.product(range(4), repeat=2):
        sizes = {"n": np.float64(n), "m": np.float64(m), "d": np.float64(3)}
        with np.errstate(all="ignore"):
            expected = np.full(3, eval(written, own | sizes))
        x, one = np.ones((n, m, 3)), np.array(1.0)
        for found in (ours(x, one), other(torch.tensor(x), torch.tensor(one)).numpy()):
            assert found.dtype == np.float64
            np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=f"{number} at n = {n}, m = {m}")


@pytest.mark.parametrize("number", [*UNDEFINED, *UNDEFINED.values()])
def test_helpers_stand_only_where_sizes_may_leave_a_number_undefined(number: str) -> None:
    text = f"width n, m\ndepth d = 3\nmodel f(x: [n, m, d]) -> [d] {{\n    return sum[n, m](x) * ({number})\n}}\n"
    assert ("number_" in attnc.loads(text).model("f").source("numpy")) == (number in UNDEFINED)


# -- what a class is told of its consts -------------------------------------------------------------------------------

CONSTS = """
width t
depth d = 4
block half[c: const](x: [t, d]) -> [t, d] {
    y = x * c
    return y + 0 * y
}
block chosen[c: const, b: const](x: [t, d]) -> [t, d] {
    y = x * c
    return select(b, y, x + 0 * y)
}
block long[c: const](x: [t, d]) -> [t, d] {
    width w = 2 * t * c
    return x * mean[w](broadcast[w](1.0) + w)
}
model net(x: [t, d]) -> [t, d] {
    repeat.layers i in 3 {
        x = half[c = i / 2](x) + chosen[c = 2 * i, b = i > 1](x) + half[c = 2](x)
        x = x + long.one[c = i + 1](x) + FLOAT
    }
    return x
}
"""


@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_a_const_is_annotated_as_what_callers_give(to: str) -> None:
    source = attnc.loads(CONSTS.replace("FLOAT", "1")).model("net").source(to)
    kinds = set(re.findall(r"\b([cbi]: (?:int|float|bool))\b", source))
    assert kinds == {"c: float", "c: int", "b: bool", "i: int"}
    made = source.partition("def check_inputs")[2].partition("\n\n\n")[2]
    assert "int(" not in made.replace("int(b), dtype=torch.bool", "")  # all sizes are whole; a truth fills in as 0 or 1


def test_a_size_made_of_a_real_is_whole_or_refused() -> None:
    """It was divided as sizes are, without remainder: 3 / 2 times 6 was refused, and 1 / 3 of 7 was 2."""
    model = attnc.loads(CONSTS.replace("FLOAT", "long.two[c = (i + 1) / 4](x)")).model("net")
    for run in (model.numpy(seed=0), lambda x: model.torch(seed=0, dtype=torch.float64)(torch.as_tensor(x)).numpy()):
        x = np.ones((2, 4))
        for i in range(3):
            x = x * i / 2 + x * (2 * i if i > 1 else 1) + x * 2
            x = x + x * (1 + (4 * (i + 1) - 1) / 2) + x * (1 + (i + 1 - 1) / 2)
        np.testing.assert_allclose(run(np.ones((2, 4))), x)
        with pytest.raises(ValueError, match=r"w = 2 \* t \* .* is no whole number: 1.5"):
            run(np.ones((3, 4)))


# -- numbers of a run that Python refuses -----------------------------------------------------------------------------

# What is written of n = |t|, and the same of arrays; reals, then ints, of which NumPy makes 0 where 0 divides.
AS_ARRAYS: dict[str, Callable[[Any], Any]] = {
    "7.5 % |t|": lambda n: np.mod(7.5, n),
    "exp(|t|)": lambda n: np.exp(n),
    "exp(-|t|)": lambda n: np.exp(-n),
    "exp(1 / |t|)": lambda n: np.exp(1 / n),
    "2.5 ^ |t|": lambda n: np.power(2.5, n),
    "(0 - 2.5) ^ (|t| + 1)": lambda n: np.power(-2.5, n + 1),
    "(|t| * 1.0) ^ 500": lambda n: np.power(n, 500.0),
    "cos(1 / |t|)": lambda n: np.cos(1 / n),
    "sin(exp(|t|))": lambda n: np.sin(np.exp(n)),
    "sigmoid(-|t|)": lambda n: 1 / (1 + np.exp(n)),
    "silu(-|t|)": lambda n: -n / (1 + np.exp(n)),
    "gelu_tanh(|t| * 1e200)": lambda n: n * 1e200,
    "7 % |t|": lambda n: np.mod(7, n.astype(int)),
    "i % |t|": lambda n: np.mod([5, -7], n.astype(int)),
    "i % (|t| - 1)": lambda n: np.mod([5, -7], n.astype(int) - 1),
    "int(u) % |t|": lambda n: np.mod([0, 1], n.astype(int)),
    "select(|t| > 3, 1, 2) % |t|": lambda n: np.mod(np.where(n > 3, 1, 2), n.astype(int)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("written", AS_ARRAYS)
def test_a_number_of_a_run_is_what_arrays_make_of_it(written: str) -> None:
    text = "width t, u\ndepth d = 3\nmodel m(x: [t, d], y: [u], i: int[u]) -> [u] {\n    return y + %s\n}\n"
    model = attnc.loads(text % written).model("m")
    function, net = model.numpy(dtype="float64"), model.torch(dtype=torch.float64)
    for size in (0, 1, 2, 800):
        given = np.ones((size, 3)), np.zeros(2), np.array([5, -7])
        right = np.broadcast_to(AS_ARRAYS[written](np.array(float(size))), 2)
        np.testing.assert_allclose(function(*given), right, rtol=1e-12)
        np.testing.assert_allclose(net(*map(torch.as_tensor, given)).numpy(), right, rtol=1e-12)


def test_what_is_never_below_0() -> None:
    axis = Axis(1, "a", Kind.WIDTH, "a", None, None, None, 1, None)
    size, less = SizeOf(axis), Arith("-", (SizeOf(axis), Literal(3)))
    for found in (size, Literal(0), Literal(2), Arith("max", (less, Literal(0))), Arith("%", (size, Literal(4)))):
        assert takes_nothing_away(found)
        assert takes_nothing_away(Arith("+", (found, size))) and not takes_nothing_away(Arith("+", (found, less)))
    for found in (less, Literal(-1), Arith("max", (less, Literal(-1))), Arith("min", (less, size))):
        assert not takes_nothing_away(found)


def test_what_is_never_below_what() -> None:
    size = SizeOf(axis(1, "n"))
    quarter = Arith("max", (size, Literal(0.25)))
    for op, least in (("abs", 0.25), ("sqrt", 0.5), ("log", -math.inf), ("floor", -math.inf)):
        assert least_of(Arith(op, (quarter,))) == least
    assert least_of(Arith("+", (quarter, Literal(2)))) == 2.25
    assert least_of(Arith("-", (quarter, Literal(2)))) == -math.inf
