"""What a mask or a branch leaves out contributes exactly 0, forward and backward, whatever finite number stands there.

Each case is a small model in which items are left out: with numbers there of which an op has no value or derivative,
it must give what it gives with ordinary numbers there, in both backends, and the same gradients, exactly 0 at these
items. Cases are all combinations of what stands below; ops and reductions are those of the table.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
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

OWN: dict[str, tuple[str, Callable[..., Any]]] = {  # ops of one's own
    "mine": ("(x: []) -> []", lambda x: np.log(x) if isinstance(x, np.ndarray) else x.log()),
    "scaled": ("(x: [], y: []) -> []", lambda x, y: y * vars_of("mine")(x)),
    "both": ("(x: [], y: []) -> (a: [], b: [])", lambda x, y: (vars_of("mine")(x), y / x)),
    "along": ("[n: depth](x: [n]) -> []", lambda x: vars_of("mine")(x.sum(-1))),
    "kept": ("[n: depth](x: [n]) -> [n]", lambda x: x / x.sum(-1)[..., None]),
}
USES_OF_OWN = [("mine(X)", False), ("scaled(X, Y)", False), ("along[d](X)", True), ("kept[d](X)", True)]
OWN_OPS = "".join(f'op {name}{types} = "left_out_ops:{name}"\n' for name, (types, _) in OWN.items())


def vars_of(name: str) -> Callable[..., Any]:
    return OWN[name][1]


@pytest.fixture(autouse=True)
def own_ops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "left_out_ops", module := ModuleType("left_out_ops"))
    vars(module).update({name: function for name, (_, function) in OWN.items()})


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


HAZARDS = [*dict.fromkeys(one for one in hazards() if one[0] and limited(*one)), *USES_OF_OWN]
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
    "moved": "R(v where M)",  # items of the value go elsewhere before
    "looped": "R(v where M)",  # the value in a repeat, the mask outside
    "rounds": "R(v where M)",  # likewise, of what goes round
    "scanned": "R(v where M)",  # the value in a scan, the mask outside: an item is used by those behind it
    "stepped": "R(v where M)",  # likewise, of a result that is no state
    "within": "scan[t] taken(v, M, h = 0)",  # the mask in a scan, the value outside
    "paired": "R(v where M)",  # the value before a block of several results, the mask behind
    "halved": "R(v where c and M) + R(u where M)",  # likewise, with a weight, and both results used
    "joint": "R(v where M)",  # the value in a block of several results, the mask outside
    "modelled": "R(v where M)",  # the value in a called model with a weight, the mask outside
    "handed": "R(v where M)",  # the value before a called model, the mask behind
    "picked": "R(v where M)",  # by an order under the mask, of what is read again
}
LEARNED = "linear.up[d -> e](v)"
BEHIND = [*(written(op, ["v"]) for op in ALONG if not op.options), LEARNED]
PLACES = np.arange(5)
FROM, TO = PLACES[None], PLACES[:, None]
MOVED = {  # and which item along t goes where; of an index that is data None
    "v[t = max(t - 1, 0)]": np.maximum(TO - 1, 0) == FROM,
    "v[t = i]": None,
    "sum[tap](window[t -> t, tap](v, pad = 2))": (TO - 2 <= FROM) & (FROM <= TO),
    "sum[tap](window[t -> half, tap](v, pad = 1, stride = 2))[half = floor(t / 2)]": (
        (TO // 2 * 2 - 1 <= FROM) & (FROM <= TO // 2 * 2 + 1)
    ),
    "pad[t -> longer](v, left = 2)[longer = int(t)]": FROM == TO - 2,
    "flip[t](v)": FROM == 4 - TO,
}


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
        return [*self.value, "d"] if self.along or self.behind in BEHIND else self.value

    @property
    def is_own(self) -> bool:
        return self.use.startswith((*OWN,))

    @property
    def is_one(self) -> bool:
        if self.form == "after" and (not self.mask or "t" not in self.value):
            return False
        if self.form in ("moved", "scanned", "stepped", "within", "halved") and "t" not in self.value:
            return False
        if (self.form == "rounds" and self.kept != self.x[len(self.value) :]) or (
            self.form == "within" and self.reduced is not REDUCED[0]
        ):
            return False
        if self.form == "seen" and self.is_own:  # it is not done anew
            return False
        if self.form == "picked" and isinstance(self.reduced.reads, Normalise):
            return False
        return not (self.behind in BEHIND and self.along)

    @property
    def predicate(self) -> str:
        places = "t <= s and t > 1" if {*self.mask} == {"s", "t"} else f"{self.mask[0]} > 1"
        return {"data": "m", "places": places, "both": f"m and {places}"}[self.content]

    @property
    def kept(self) -> list[str]:
        """What is left of d."""
        last = self.behind if self.behind in BEHIND else self.use if self.along else ""
        if last == LEARNED:
            return ["e"]
        reduces = [*(op.name for op in ALONG if isinstance(op.reads, Reduce)), "along"]
        return ["d"] if last and last.split("[")[0] not in reduces else []

    @property
    def spread(self) -> list[str]:
        """The axes that the value must be given to be written so."""
        chosen = self.form in ("select", "otherwise", "picked")
        return [axis for axis in "st" if axis not in self.value and (axis == "t" or (chosen and axis in self.mask))]

    @property
    def result(self) -> list[str]:
        stays = isinstance(self.reduced.reads, Normalise) or self.form == "within"
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
        lines, more = self.made(made)
        blocks += more
        lines += [f"v = {self.behind}"] if self.behind else []
        lines += [f"v = broadcast[{', '.join(self.spread)}](v)"] if self.spread else []
        reduced = f"{self.reduced.name}[t]("
        body = FORMS[self.form].replace("M", self.predicate).replace("R(", reduced)
        mask, result = ", ".join(self.mask), ", ".join(self.result)
        whole = ", ".join([*self.spread, *self.value, *self.kept])
        given = [("x", "", ", ".join(self.x)), ("y", "", ", ".join(self.x))]
        given += [("m", "bool", mask), ("c", "bool", ", ".join(self.value)), ("i", "t", "t")]
        match self.form:
            case "inside":
                blocks = block("block reduced", [("v", "", whole), ("m", "bool", mask)], result, [f"return {body}"])
                lines.append("return reduced(v, m)")
            case "again":
                given.append(("r", "", result))
                lines += ["repeat.twice 2 {", f"    r = r + {body}", "}", "return r"]
            case "picked":
                picks = f"topk[t -> some](v where {self.predicate})"
                lines += [f"p = {picks}", f"return {self.reduced.name}[some](v[t = p])"]
            case "seen":
                lines, result = [*lines, f"r = {body}", "return r, v"], f"{result}], v: [{whole}"
            case _:
                lines.append(f"return {body}")
        return HEAD + OWN_OPS + blocks + block("model net", given, result, lines)

    def made(self, use: str) -> tuple[list[str], str]:
        """How the value is made, and blocks for it."""
        kept, d = ", ".join(self.kept), "d" if self.along else ""
        begun = f"v = {'sum[d]' if d and not kept else ''}(0 * y)"
        step = [("x", "", d), ("y", "", d), ("h", "", kept)]
        match self.form:
            case "paired" | "halved":
                results = f"(p: [{kept}], q: [{kept}])"
                learned, by, other = ("", "2", "_") if self.form == "paired" else ("    param w: [] ~ ones\n", "w", "u")
                pair = (
                    f"block pair(v: [{kept}]) -> {results} {{\n{learned}    return v / {by} + 1, 1 / (1 + abs(v))\n}}\n"
                )
                return [f"u = {use}", f"v, {other} = pair(u)"], pair
            case "joint":
                results = f"(p: [{kept}], q: [{d}])"
                pair = f"block pair({arguments(step[:2])}) -> {results} {{\n    return {use}, y / x\n}}\n"
                return ["v, _ = pair(x, y)"], pair
            case "modelled":
                whole, given = (", ".join([*self.value, *axes]) for axes in (self.kept, ["d"] if d else []))
                lines = ["param w: [] ~ ones", f"return w * {use}"]
                return ["v = made(x, y)"], block("model made", [("x", "", given), ("y", "", given)], whole, lines)
            case "handed":
                whole = ", ".join([*self.value, *self.kept])
                return [f"v = made({use})"], block("model made", [("v", "", whole)], whole, ["return v / 2 + 1"])
            case "looped":
                return [begun, "repeat.twice 2 {", f"    v = v + {use}", "}"], ""
            case "rounds":
                round = f"    v = 0.8 + 0.1 * tanh({self.use.replace('X', 'v').replace('Y', 'y')})"
                return ["v = x", "repeat.twice 2 {", round, "}"], ""
            case "scanned":
                cell = f"block cell({arguments(step)}) -> (h: [{kept}]) {{\n    h = h / 2 + {use}\n    return h\n}}\n"
                return ["v = scan[t] cell(x, y, h = 0)"], cell
            case "stepped":
                results = f"(h: [{kept}], v: [{kept}])"
                cell = f"block cell({arguments(step)}) -> {results} {{\n    return h + 1, {use}\n}}\n"
                return ["_, v = scan[t] cell(x, y, h = 0)"], cell
            case "within":
                step = [("v", "", kept), ("m", "bool", ""), ("h", "", kept)]
                cell = f"block taken({arguments(step)}) -> (h: [{kept}]) {{\n    return h / 2 + select(m, v, 0)\n}}\n"
                return [f"v = {use}"], cell
            case _:
                return [f"v = {use}"], ""

    def taken(self, m: Array, c: Array, i: Array) -> Array:
        """Which items of the value are used anywhere, of each example."""

        def laid(array: Array, axes: list[str]) -> Array:
            return array.reshape(len(array), *(SIZE if axis in axes else 1 for axis in "st"))

        s, t = np.arange(SIZE)[:, None], np.arange(SIZE)
        places = (t <= s) & (t > 1) if {*self.mask} == {"s", "t"} else s > 1 if self.mask == ["s"] else t > 1
        used = np.ones((len(m), SIZE, SIZE), bool)
        used &= places if self.content != "data" else True
        used &= laid(m, self.mask) if self.content != "places" else True
        used &= laid(c, self.value) if self.form in ("both", "further") else True
        if self.form == "scanned":
            used = np.flip(np.logical_or.accumulate(np.flip(used, -1), -1), -1)
        if self.form == "moved":
            moved = i[:, :, None] == FROM if MOVED[self.behind] is None else MOVED[self.behind]
            used = (used[..., None] & np.reshape(moved, (-1, 1, SIZE, SIZE))).any(-2)
        return used.any(tuple(place for place, axis in enumerate("st", 1) if axis not in self.value))


HEAD = "width s\nwidth t like s\nwidth longer = t + 2\nwidth half = (t + 1) / 2\ndepth d = 2, e = 2\n"
HEAD += "depth tap = 3, some = 5\n"


def arguments(given: list[tuple[str, str, str]]) -> str:
    return ", ".join(f"{name}: {kind}[{axes}]" for name, kind, axes in given)


def block(head: str, given: list[tuple[str, str, str]], result: str, lines: list[str]) -> str:
    results = f"(r: [{result}])" if "]" in result else f"[{result}]"  # of two, or one
    return f"{head}({arguments(given)}) -> {results} {{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"


def cases() -> list[Case]:
    between = {form: [""] for form in FORMS} | dict.fromkeys(("behind", "twice", "apart", "picked"), BEHIND)
    between["moved"] = [*MOVED]
    product = itertools.product(HAZARDS, SHAPES, CONTENTS, REDUCED, FORMS)
    every = (Case(*use, *more, behind) for use, *more in product for behind in between[more[-1]])
    return [case for case in every if case.is_one]


# -- what each must give ---------------------------------------------------------------------------------------------


def given(case: Case) -> tuple[list[Array], Array]:
    """Ordinary inputs, and x with any numbers where it is left out. Of a second example mostly nothing is seen."""
    rng = np.random.default_rng(0)
    size = dict.fromkeys("st", SIZE) | {"d": 2, "e": 2}
    x, y = (rng.uniform(0.6, 1.4, (2, *(size[axis] for axis in case.x))) for _ in "xy")
    m, c = (rng.random((2, *(size[axis] for axis in axes))) > 0.4 for axes in (case.mask, case.value))
    m[1:] = False
    i = rng.integers(0, SIZE, (2, SIZE))
    taken = case.taken(m, c, i)
    taken = taken[..., None] if len(case.x) > len(case.value) else taken
    more = [np.zeros((2, *(size[axis] for axis in case.result)))] if case.form == "again" else []
    return [x, y, m, c, i, *more], np.where(taken, x, np.resize(BAD, x.shape))


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


@pytest.mark.parametrize("number", [2, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", FORMS)
def test_what_is_left_out_contributes_nothing(form: str, number: int) -> None:
    chosen = random.Random(number).sample([case for case in CASES if case.form == form], number)
    assert not {case.text(): found for case in chosen if (found := wrong(case))}


def first_two(m: Array) -> Array:
    """Which items are among the first two that a mask lets through, of those up to some place."""
    return m & (np.cumsum(m, -1) <= 2)


def or_later(m: Array) -> Array:
    return np.flip(np.logical_or.accumulate(np.flip(m, -1), -1), -1)


def around(m: Array) -> Array:
    wide = np.pad(m, ((0, 0), (1, 1)))
    return wide[:, 2:] | wide[:, 1:-1] | wide[:, :-2]


CELLS = """\
block rooted(x: [], h: []) -> (h: []) {
    return h / 2 + sqrt(x)
}
block crossed(x: [], h: [], c: []) -> (h: [], c: []) {
    return c / 2 + sqrt(x), c + log(x)
}
block fading(x: [], h: []) -> (h: []) {
    return h * exp(-x) + log(x)
}
block owned(x: [], h: []) -> (h: []) {
    return h / 2 + mine(x)
}
block choosing(x: [], v: [], h: []) -> (h: []) {
    return h / 2 + select(x > 1, v, 0)
}
block smooth(x: [t]) -> [t] {
    return sum[tap](window[t -> t, tap](x, pad = 1))
}
block summed(x: [t]) -> (a: [t], b: []) {
    return x + 1, sum[t](x)
}
block mapped(x: [t]) -> (a: [t], b: []) {
    param w: [] ~ ones
    return x * w, sum[t](x)
}
block ranked(x: [t], m: bool[t]) -> [e] {
    return x[t = topk[t -> e](x where m)]
}
"""
SCORES = "a = sum[d](broadcast[d](log(x)))\nb = sum[d](broadcast[d](sqrt(x)))\n"
FIRST = "topk[t -> e](broadcast[s](0 * x) - t where m and t <= s)"
NEARBY: dict[str, tuple[Any, ...]] = {  # a model's result and body; which items of x are used
    "a weight for an op of one's own": ("[]", "param w: [] ~ ones\nreturn sum[t](scaled(x, w) where m)"),
    "what all share for one": ("[]", "w = sum[t](y)\nreturn sum[t](scaled(x, w) where m)"),
    "two results of one": ("[]", "a, b = both(x, y)\nreturn sum[t](a where m) + sum[t](b where m)"),
    "one of two results": ("[]", "a, _ = both(x, y)\nreturn sum[t](a where m)"),
    "one behind another": ("[]", "return sum[t](1 / mine(sqrt(mine(x) + 3)) where m)"),
    "its result times a weight": ("[t]", "param w: [] ~ ones\nreturn select(m, w * mine(x) * y, y)"),
    "two that go round": (
        "[]",
        "a = x\nb = y\nrepeat.r 2 {\n    c = a\n    a = sqrt(a) + 1\n    b = sqrt(b) / c\n}\n"
        "return sum[t](a where m) + sum[t](b where m)",
    ),
    "one of two that go round": (
        "[]",
        "a = x\nb = y\nrepeat.r 2 {\n    a = sqrt(a) + 1\n    b = b + 1\n}\nreturn sum[t](a where m) + sum[t](b)",
    ),
    "a repeat in a repeat": (
        "[]",
        "a = x\nrepeat.r 2 {\n    repeat.q i in 2 {\n        a = sqrt(a) + i + 1\n    }\n}\nreturn sum[t](a where m)",
    ),
    "unlike passes": (
        "[]",
        "a = x\nrepeat.r i in 3 {\n    if i == 1 {\n        a = sqrt(a) + i\n    } else {\n        a = log(a) + 2\n"
        "    }\n}\n"
        "return sum[t](a where m)",
    ),
    "maps in passes": (
        "[]",
        "a = broadcast[d](x)\nrepeat.r 3 {\n    a = linear.u[d -> d](sqrt(abs(a) + x))\n}\nreturn sum[t, d](a where m)",
    ),
    "no pass": (
        "[t]",
        "a = sqrt(abs(x))\nrepeat.r none {\n    a = select(m, a, 0) + 1\n}\nreturn a",
        np.ones_like,
    ),
    "a scan in a repeat": (
        "[t]",
        "v = 0 * y\nrepeat.r 2 {\n    v = v + scan[t] rooted(x, h = 0)\n}\nreturn select(m, v, 0)",
        or_later,
    ),
    "two states": (
        "[t]",
        "v, w = scan[t] crossed(x, h = 0, c = 0)\nreturn select(m, v, 0) + select(m, w, 0)",
        or_later,
    ),
    "states that fade": ("[t]", "return select(m, scan[t] fading(x, h = 0), 0)", or_later),
    "an op of one's own in a scan": ("[t]", "return select(m, scan[t] owned(x, h = 0), 0)", or_later),
    "the first state": ("[t]", "return select(m, scan[t] rooted(y, h = log(sum[t](x where m))), 0)"),
    "a scan that chooses by data": ("[t]", "return scan[t] choosing(select(m, 2, 0) + 0 * y, log(x), h = 0)"),
    "a running sum": ("[t]", "return select(m, cumsum[t](log(x)), 0)", or_later),
    "the best": ("[]", "return sqrt(x)[t = argmax[t](0 * x - t where m)]", lambda m: m & (np.cumsum(m, -1) <= 1)),
    "the best two": ("[]", "p = topk[t -> e](0 * x - t where m)\nreturn sum[e](log(x)[t = p])", first_two),
    "the best two of each": ("[s]", f"p = {FIRST}\nreturn sum[e](select(valid(p), log(x)[t = p], 0))", first_two),
    "the best of their own scores": (
        "[e]",
        f"{SCORES}p = topk[t -> e](a where m)\nreturn a[t = p]",
    ),
    "the best by other scores, both ways": (
        "[]",
        f"{SCORES}p = topk[t -> e](a where m)\nq = topk[t -> e](b where m)\nreturn sum[e](a[t = q] + b[t = p])",
    ),
    "a choice by where the best is": ("[]", f"{SCORES}return select(argmax[t](a where m) > 2, sum[t](a where m), 0)"),
    "the best, in a block": ("[e]", f"{SCORES}return ranked(a, m)"),
    "one result, and a sum that nothing reads": ("[]", "a, _ = summed(log(x))\nreturn sum[t](a where m)"),
    "likewise, with a weight": ("[]", "a, _ = mapped(log(x))\nreturn sum[t](a where m)"),
    "all in order": ("[]", "p = argsort[t -> s](y where m)\nreturn sum[s](log(x)[t = p] where valid(p))"),
    "some of the items around": (
        "[t]",
        "around = window[t -> t, tap](log(x), pad = 1)\nreturn sum[tap](around where m and tap != 1)",
        lambda m: np.pad(m, ((0, 0), (1, 1)))[:, 2:] | np.pad(m, ((0, 0), (1, 1)))[:, :-2],
    ),
    "the items around, in a block": ("[t]", "return select(m, smooth(log(x)), 0)", around),
}


@pytest.mark.parametrize("name", NEARBY)
def test_what_is_left_out_through_loops_and_lookups(name: str) -> None:
    result, body, *used = NEARBY[name]
    given = [("x", "", "t"), ("y", "", "t"), ("m", "bool", "t")]
    text = HEAD + OWN_OPS + "const none = 0\n" + CELLS + block("model net", given, result[1:-1], body.split("\n"))
    model, rng = attnc.loads(text).model("net"), np.random.default_rng(0)
    x, y, m = *rng.uniform(0.6, 1.4, (2, 2, SIZE)), np.array([[0, 1, 0, 1, 1], [0, 0, 0, 0, 0]], bool)
    if name == "a running sum":
        m[0, 4] = False
    bad = np.where(used[0](m) if used else m, x, np.resize(BAD, x.shape))
    right, found = computed(model, [x, y, m]), computed(model, [bad, y, m])
    for part, array in found.items():
        np.testing.assert_allclose(array, right[part], rtol=1e-9, atol=1e-12, err_msg=part)
    assert not found["x"][bad != x].any()


SEEN_ANYWHERE = (
    "t <= s", "not (t > s)", "t == s or t < 3", "abs(s - t) < 2", "max(t - s, 0) < 1", "near[s, t, by = 3]()",
    "s - t < 2 and t <= s", "(s - t) % 2 == 0", "floor(s / 4) == floor(t / 4)", "select(s > 3, t <= s, t == s)",
)  # fmt: skip


def test_nothing_is_chosen_where_each_item_is_surely_seen() -> None:
    near = "block near[q: width, k: width like q, by: const]() -> bool[q, k] {\n    return k <= q and q - k < by\n}\n"
    for mask in (*SEEN_ANYWHERE, "t < s", "t <= s and t > 1", "near[s, t, by = 0]()", "t == s / 2"):
        net = block("model net", [("x", "", "t")], "s", [f"return sum[t](log(x) where {mask})"])
        model = attnc.loads(HEAD + near + net).model("net")
        same = model.source("torch") == model.source("torch", without=["guard"])
        assert same == (mask in SEEN_ANYWHERE), mask


def test_what_is_walked() -> None:
    """The ops of the table that are not finite everywhere, and those that take a mask: a new one joins by itself."""
    uses = {use for use, _ in HAZARDS}
    assert {"log(X)", "log1p(X)", "sqrt(X)", "rsqrt(X)", "(X ^ 0.5)", "(Y / X)", "l2norm[d](X, eps=0)"} <= uses
    assert {op.name for op in REDUCED} == {op.name for op in OPS.values() if op.masked and op.group != "order"} - {
        "any",
        "all",
        "argmax",
    }
