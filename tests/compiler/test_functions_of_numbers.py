"""What is said of the functions of numbers (sizes/functions.py), against what they compute; and of numbers known at
build time, of ops that sizes do not know.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import attnc
from attnc.compiler.graph.extents import Restricted, at_least_0, undefined
from attnc.compiler.graph.traits import Pointwise
from attnc.compiler.ops import OPS, Op
from attnc.compiler.sizes.arithmetic import at_most
from attnc.compiler.sizes.axes import Arith, Axis, Const, ConstOf, Kind, Literal, SizeOf, Static
from attnc.compiler.sizes.functions import OPERATIONS, Function, has_all_numbers
from attnc.compiler.sizes.polynomials import never_negative, poly

FUNCTIONS = {op: each.meaning for op, each in OPERATIONS.items() if isinstance(each.meaning, Function)}
NUMBERS = [-70.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 70.0]


@pytest.mark.parametrize("op", FUNCTIONS)
def test_a_function_is_what_is_said_of_it(op: str) -> None:
    function, of = FUNCTIONS[op], OPERATIONS[op]
    values = [of(number) for number in NUMBERS if function.has_value(number)]
    assert all(function.least <= value <= function.greatest for value in values)
    assert not function.rising or values == sorted(values)
    assert function.has_value(0) is (op not in ("log", "rsqrt"))
    assert not function.has_value(0) or (of(0) == 0) == function.zero
    assert function.closed is (op == "sqrt")
    for number in NUMBERS:
        if not function.has_value(number):
            assert not has_all_numbers(function) and OPERATIONS[op].noun
            with pytest.raises((ValueError, ZeroDivisionError)):
                of(number)


def test_rows_say_which_of_them_they_are() -> None:
    """Each but the exact quotient of sizes, and what lists are made of and read by."""
    rows = {op.number: op for op in OPS.values() if op.number}
    assert set(OPERATIONS) - set(rows) == {"//", "list", "item", "length"}
    assert all(op.reads == Pointwise(OPERATIONS[number].meaning) for number, op in rows.items())


# -- proofs ----------------------------------------------------------------------------------------------------------

N = SizeOf(Axis(1, "n", Kind.WIDTH, "n", None, None, None, 1, None))
PASS, C = ConstOf(Const(2, "pass", None, is_index=True)), ConstOf(Const(3, "c", None))
LESS = Arith("-", (N, Literal(2)))


@pytest.mark.parametrize(
    ("size", "restricted"),
    [
        (Arith("rsqrt", (N,)), Restricted(N, "takes the root of")),
        (Arith("sqrt", (N,)), None),
        (Arith("sqrt", (LESS,)), Restricted(LESS, "takes the root of", zero=True)),
        (Arith("log", (N,)), Restricted(N, "takes the logarithm of")),
        (Arith("^", (N, Literal(0.5))), Restricted(N, "takes the root of", zero=True)),
        (Arith("^", (N, Literal(-1))), Restricted(N, "divides by")),
        (Arith("exp", (Arith("%", (Literal(7), N)),)), Restricted(N, "divides by")),
        (Arith("tanh", (N,)), None),
    ],
)
def test_what_a_size_may_not_be(size: Static, restricted: Restricted | None) -> None:
    assert undefined(size) == ([] if restricted is None else [restricted])


def test_of_a_function_that_begins_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its operand, less where it begins, must be above 0."""
    log1p = Function(zero=True, above=-1, harmless=0, rising=True)
    monkeypatch.setitem(OPERATIONS, "log1p", replace(OPERATIONS["log"], meaning=log1p))
    over = Arith("-", (LESS, Literal(-1)))
    assert undefined(Arith("log1p", (LESS,))) == [Restricted(over, "takes the logarithm of")]
    assert at_least_0(Arith("log1p", (N,)), {}) and not at_least_0(Arith("log1p", (LESS,)), {})


def test_unknowns() -> None:
    """The number of a pass is 0 or more, a const without a value any number."""
    assert never_negative(poly(PASS)) and not never_negative(poly(C))
    assert never_negative(poly(Arith("*", (PASS, N)))) and poly(PASS) != poly(C)
    assert at_most(Arith("neg", (PASS,)), Literal(0)) and not at_most(Arith("neg", (C,)), Literal(0))
    assert at_most(Arith("min", (C, PASS)), PASS) and at_most(PASS, Arith("max", (C, PASS)))


# -- ops that sizes do not know --------------------------------------------------------------------------------------

LOG1P = replace(
    OPS["log"],
    name="log1p",
    reads=Pointwise(Function(zero=True, above=-1, harmless=0, rising=True)),
    number="",
    torch="torch.log1p({0})",
    numpy="np.log1p({0})",
    python="",
    careful="",
)
WRITTEN = replace(LOG1P, python="math.log1p({0})", careful="number_log(1 + {0})")
MODEL = "width seq\nmodel f(x: [seq]) -> [seq] {\n    return x * log1p(NUMBER)\n}\n"


@pytest.mark.parametrize("row", [LOG1P, WRITTEN], ids=["of arrays", "of numbers"])
@pytest.mark.parametrize(("number", "value"), [("3", 4), ("|seq|", 3), ("|seq| - 3", 0), ("|seq| - 5", -2)])
def test_it_is_computed_when_the_model_runs(
    row: Op, number: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of arrays: infinite, or no number, where sizes that only a run knows leave it undefined."""
    monkeypatch.setitem(OPS, "log1p", row)
    model = attnc.loads(MODEL.replace("NUMBER", number)).model("f")
    right = np.full(2, math.log(value) if value > 0 else -math.inf if value == 0 else math.nan)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(model.numpy(dtype="float64")(np.ones(2)), right)
    np.testing.assert_allclose(model.torch(dtype=torch.float64)(torch.ones(2, dtype=torch.float64)).numpy(), right)


@pytest.mark.parametrize("row", [LOG1P, WRITTEN], ids=["of arrays", "of numbers"])
def test_a_number_of_which_it_has_no_value_is_refused(row: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPS, "log1p", row)
    for number in ("0 - 2", "0 - 1"):
        with pytest.raises(attnc.AttnError, match=r"E0207.*this has no value"):
            attnc.loads(MODEL.replace("NUMBER", number))
    in_passes = MODEL.replace(
        "return x * log1p(NUMBER)", "repeat.r pass in 3 { x = x * log1p(1 - pass) }\n    return x"
    )
    with pytest.raises(attnc.AttnError, match=r"E0207.*this has no value"):
        attnc.loads(in_passes)
    attnc.loads(in_passes.replace("in 3", "in 2"))


@pytest.mark.parametrize(
    "text",
    [
        "depth d = log1p(3)\nblock f(x: [d]) -> [d] {\n    return x\n}\n",
        "const c = log1p(3)\ndepth d = 3\nblock f(x: [d]) -> [d] {\n    return x * c\n}\n",
        "depth d = 3\nblock f(x: [d]) -> [d] {\n    repeat.r log1p(3) { x = x }\n    return x\n}\n",
    ],
)
def test_where_a_number_must_be_known_it_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPS, "log1p", LOG1P)
    with pytest.raises(attnc.AttnError, match=r"E0207.*this is no number known at build time"):
        attnc.loads(text)
