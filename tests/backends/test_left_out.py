"""What a mask or a branch leaves out contributes exactly 0, forward and backward, whatever finite number stands there.

Each case is a small model in which items are left out: with numbers there of which an op has no value or derivative,
it must give what it gives with ordinary numbers there, in both backends, and the same gradients, exactly 0 at these
items. Cases are all combinations of what stands below; ops and reductions are those of the table.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

import attnc
from attnc.compiler.graph.traits import Choice, Normalise, Pointwise, Reduce, Running
from attnc.compiler.ops import OPS, Op
from attnc.compiler.ops.table import Brackets, Notation

Array = np.ndarray[Any, np.dtype[Any]]
BAD = (0.0, -1.0, 2000.0, -2000.0)  # where functions have no value, no derivative, or too large ones


# -- what may be no number -------------------------------------------------------------------------------------------


def written(op: Op, operands: list[str]) -> str:
    """One use of an op, or "" where it takes something else in its brackets."""
    word = op.sign or op.name
    match op.brackets, op.notation:
        case Brackets.NONE, Notation.INFIX:
            return f"({operands[0]} {word} {operands[1]})"
        case Brackets.NONE, Notation.PREFIX:
            return f"({word} {operands[0]})"
        case Brackets.NONE, Notation.CALL | Notation.BARE:
            return f"{word}({', '.join(operands)})"
        case Brackets.ACTS, Notation.CALL if len(operands) == 1:
            eps = ", eps=0" if any(option.name == "eps" for option in op.options) else ""
            return f"{word}{'.' + op.label if op.label else ''}[d]({operands[0]}{eps})"
    return ""


def hazards() -> Iterator[tuple[str, bool]]:
    """Uses of ops, with `X` for what may be any number and `Y` for another that is ordinary; whether `X` has `d`."""
    for op in OPS.values():
        number = len(op.operands)
        if isinstance(op.reads, Pointwise) and op.reads.meaning != Choice() and op.gradient:
            others = ["Y"] if number == 1 else ["Y", "0.5", "-1"]
            for place, other in itertools.product(range(number), others):
                yield written(op, [other] * place + ["X"] + [other] * (number - place - 1)), False
        elif isinstance(op.reads, Normalise | Running | Reduce) and number == 1 and not op.random:
            yield written(op, ["X"]), True


def real(text: str, along: bool) -> bool:
    """Whether a use is a program that gives real numbers."""
    axes = "d" if along else ""
    for result in ("", axes):
        with suppress(attnc.AttnError):
            body = text.replace("X", "x").replace("Y", "y")
            attnc.loads(f"depth d = 2\nblock f(x: [{axes}], y: [{axes}]) -> [{result}] {{\n    return {body}\n}}\n")
            return True
    return False


def limited(text: str, along: bool) -> bool:
    """Whether a use is finite of ordinary numbers, but itself or its derivative is not of some others."""
    axes = "t, d" if along else "t"
    body = text.replace("X", "x").replace("Y", "y")
    for result in (axes, "t"):
        with suppress(attnc.AttnError, RuntimeError):
            given = f"x: [{axes}], y: [{axes}]"
            spec = attnc.loads(f"width t\ndepth d = 2\nblock f({given}) -> [{result}] {{\n    return {body}\n}}\n")
            net, finite = spec.block("f").torch(dtype="float64"), []
            for numbers in ((0.7, 1.2), BAD):
                x = torch.tensor(numbers, dtype=torch.float64)
                x = (x[:, None].expand(-1, 2) if along else x).clone().requires_grad_()
                found = net(x, torch.full_like(x, 0.75))
                if found.requires_grad:
                    found.sum().backward()
                finite.append(bool(found.isfinite().all() and (x.grad is None or x.grad.isfinite().all())))
            return finite == [True, False]
    return False


HAZARDS = list(dict.fromkeys(one for one in hazards() if one[0] and limited(*one)))
ALONG = [op for op in OPS.values() if isinstance(op.reads, Reduce | Normalise | Running) and len(op.operands) == 1]
ALONG = [op for op in ALONG if not op.jumps and real(written(op, ["X"]), True)]
REDUCED = [op for op in ALONG if op.masked]


# -- cases -----------------------------------------------------------------------------------------------------------

SHAPES = ("t | t", "t | s t", "s | s t", "s t | s t", "s t | t", " | t", " | s t")  # axes of the value, of its mask
CONTENTS = ("data", "places", "both")
FORMS = {  # R is a reduction along t, of a value v and its mask M; c a condition of the value's own
    "where": "R(v where M)",
    "select": "R(select(M, v, 0))",
    "otherwise": "R(select(not (M), 0, v))",
    "both": "R(select(c, v, 0) where M)",
    "further": "R(1 / select(c, v, 0) where c and M)",
    "behind": "R(v where M)",  # another op along d stands between
    "twice": "R(v where c and M) + R(v where M)",  # likewise, and read twice
    "apart": "R(v where c and M) + R(v where not c and M)",  # under conditions that have less in common
    "outside": "R(v where M)",  # the value in a block, the mask outside
    "weighted": "R(v where M)",  # the same, of a block with a weight
    "inside": "R(v where M)",  # the mask in a block, the value outside
    "again": "R(v where M)",  # the mask in a repeat, the value outside
    "seen": "R(v where M)",  # the value is a result, too
    "after": "select(M, clamp(R(v), -9, 9), 0)",  # the mask lacks t
}
LEARNED = "linear.up[d -> e](v)"
BEHIND = [*(written(op, ["v"]) for op in ALONG if not op.options), LEARNED]


@dataclass(frozen=True)
class Case:
    """A value that may be no number, what it is made by, and how a part of its items is left out."""

    use: str
    along: bool
    shape: str
    content: str
    reduced: Op
    form: str
    behind: str = ""

    @property
    def value(self) -> list[str]:
        return self.shape.split("|")[0].split()

    @property
    def mask(self) -> list[str]:
        axes = self.shape.split("|")[1].split()
        return [axis for axis in axes if axis != "t"] if self.form == "after" else axes

    @property
    def x(self) -> list[str]:
        """The axes of what may be any number."""
        return [*self.value, "d"] if self.along or self.behind else self.value

    @property
    def is_one(self) -> bool:
        if self.form == "after" and (not self.mask or "t" not in self.value):
            return False
        return bool(self.behind) == (self.form in ("behind", "twice", "apart")) and not (self.behind and self.along)

    @property
    def predicate(self) -> str:
        places = "t <= s and t > 1" if {*self.mask} == {"s", "t"} else f"{self.mask[0]} > 1"
        return {"data": "m", "places": places, "both": f"m and {places}"}[self.content]

    @property
    def kept(self) -> list[str]:
        """What is left of d."""
        last = self.behind or (self.use if self.along else "")
        if last == LEARNED:
            return ["e"]
        reduces = [op.name for op in ALONG if isinstance(op.reads, Reduce)]
        return ["d"] if last and last.split("[")[0] not in reduces else []

    @property
    def spread(self) -> list[str]:
        """The axes that the value must be given to be written so."""
        chosen = self.form in ("select", "otherwise")
        return [axis for axis in "st" if axis not in self.value and (axis == "t" or (chosen and axis in self.mask))]

    @property
    def result(self) -> list[str]:
        stays = isinstance(self.reduced.reads, Normalise)
        axes = {*self.value, *self.mask, *self.kept, *(["t"] if stays else [])}
        return [axis for axis in "stde" if axis in axes and (axis != "t" or stays)]

    def text(self) -> str:
        """The model."""
        made, blocks = self.use.replace("X", "x").replace("Y", "y"), ""
        if self.form in ("outside", "weighted"):
            d, weight = ("d" if self.along else ""), self.form == "weighted"
            lines = ["param w: [] ~ ones", f"return w * {made}"] if weight else [f"return {made}"]
            blocks = block("block made", [("x", "", d), ("y", "", d)], ", ".join(self.kept), lines)
            made = "made(x, y)"
        lines = [f"v = {made}", *([f"v = {self.behind}"] if self.behind else [])]
        lines += [f"v = broadcast[{', '.join(self.spread)}](v)"] if self.spread else []
        reduced = f"{self.reduced.name}[t]("
        body = FORMS[self.form].replace("M", self.predicate).replace("R(", reduced)
        mask, result = ", ".join(self.mask), ", ".join(self.result)
        whole = ", ".join([*self.spread, *self.value, *self.kept])
        given = [("x", "", ", ".join(self.x)), ("y", "", ", ".join(self.x))]
        given += [("m", "bool", mask), ("c", "bool", ", ".join(self.value))]
        match self.form:
            case "inside":
                blocks = block("block reduced", [("v", "", whole), ("m", "bool", mask)], result, [f"return {body}"])
                lines.append("return reduced(v, m)")
            case "again":
                given.append(("r", "", result))
                lines += ["repeat.twice 2 {", f"    r = r + {body}", "}", "return r"]
            case "seen":
                lines, result = [*lines, f"r = {body}", "return r, v"], f"{result}], v: [{whole}"
            case _:
                lines.append(f"return {body}")
        return HEAD + blocks + block("model net", given, result, lines)

    def taken(self, m: Array, c: Array) -> Array:
        """Which items of the value are used anywhere, of each example."""

        def laid(array: Array, axes: list[str]) -> Array:
            return array.reshape(len(array), *(SIZE if axis in axes else 1 for axis in "st"))

        s, t = np.arange(SIZE)[:, None], np.arange(SIZE)
        places = (t <= s) & (t > 1) if {*self.mask} == {"s", "t"} else s > 1 if self.mask == ["s"] else t > 1
        used = np.ones((len(m), SIZE, SIZE), bool)
        used &= places if self.content != "data" else True
        used &= laid(m, self.mask) if self.content != "places" else True
        used &= laid(c, self.value) if self.form in ("both", "further") else True
        return used.any(tuple(place for place, axis in enumerate("st", 1) if axis not in self.value))


HEAD = "width s\nwidth t like s\ndepth d = 2, e = 2\n"


def block(head: str, given: list[tuple[str, str, str]], result: str, lines: list[str]) -> str:
    arguments = ", ".join(f"{name}: {kind}[{axes}]" for name, kind, axes in given)
    results = f"(r: [{result}])" if "]" in result else f"[{result}]"  # of two, or one
    return f"{head}({arguments}) -> {results} {{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"


def cases() -> list[Case]:
    product = itertools.product(HAZARDS, SHAPES, CONTENTS, REDUCED, FORMS, ["", *BEHIND])
    return [case for use, *more in product if (case := Case(*use, *more)).is_one]


# -- what each must give ---------------------------------------------------------------------------------------------


def given(case: Case) -> tuple[list[Array], Array]:
    """Ordinary inputs, and x with any numbers where it is left out. Of a second example mostly nothing is seen."""
    rng = np.random.default_rng(0)
    size = dict.fromkeys("st", SIZE) | {"d": 2, "e": 2}
    x, y = (rng.uniform(0.6, 1.4, (2, *(size[axis] for axis in case.x))) for _ in "xy")
    m, c = (rng.random((2, *(size[axis] for axis in axes))) > 0.4 for axes in (case.mask, case.value))
    m[1:] = False
    taken = case.taken(m, c)
    taken = taken[..., None] if len(case.x) > len(case.value) else taken
    more = [np.zeros((2, *(size[axis] for axis in case.result)))] if case.form == "again" else []
    return [x, y, m, c, *more], np.where(taken, x, np.resize(BAD, x.shape))


def computed(model: attnc.Model, inputs: list[Array]) -> dict[str, Array]:
    """The result in both backends, and all gradients in PyTorch; a result that is infinite has none."""
    net = model.torch(seed=0, dtype="float64")
    tensors = [torch.tensor(array, requires_grad=array.dtype == float) for array in inputs]
    found = net(*tensors)
    found = found[0] if isinstance(found, tuple) else found
    scales = torch.linspace(0.5, 1.5, found.numel(), dtype=torch.float64).reshape(found.shape)
    (found * scales)[found.isfinite()].sum().backward()
    of = {"x": tensors[0], "y": tensors[1], **dict(net.named_parameters())}
    results = {
        name: (value.grad if value.grad is not None else 0 * value).detach().numpy() for name, value in of.items()
    }
    with np.errstate(all="ignore"):
        same = model.numpy(dict(net.state_dict()), dtype="float64")(*inputs)
    return {"torch": found.detach().numpy(), "numpy": same[0] if isinstance(same, tuple) else same, **results}


def wrong(case: Case) -> str:
    """What differs from what ordinary numbers give in the place of those that are left out; "" if nothing does."""
    model = attnc.loads(case.text()).model("net")
    (x, *more), bad = given(case)
    right, found = computed(model, [x, *more]), computed(model, [bad, *more])
    for name, array in found.items():
        assert name in ("torch", "numpy") or np.isfinite(right[name]).all(), case.text()
        if not np.allclose(array, right[name], rtol=1e-9, atol=1e-12):
            return name
    if found["x"][bad != x].any():
        return "x, where it is left out"
    return "" if np.allclose(found["torch"], found["numpy"], rtol=1e-9, atol=1e-12) else "numpy and torch"


SIZE = 5
CASES = cases()


@pytest.mark.parametrize("number", [5, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", FORMS)
def test_what_is_left_out_contributes_nothing(form: str, number: int) -> None:
    chosen = random.Random(number).sample([case for case in CASES if case.form == form], number)
    assert not {case.text(): found for case in chosen if (found := wrong(case))}


def test_what_is_walked() -> None:
    """The ops of the table that are not finite everywhere, and those that take a mask: a new one joins by itself."""
    uses = {use for use, _ in HAZARDS}
    assert {"log(X)", "log1p(X)", "sqrt(X)", "rsqrt(X)", "(X ^ 0.5)", "(Y / X)", "l2norm[d](X, eps=0)"} <= uses
    assert {op.name for op in REDUCED} == {op.name for op in OPS.values() if op.masked and op.group != "order"} - {
        "any",
        "all",
        "argmax",
    }
