"""The lines of a bill below a repeat: of one pass if all are alike, else each of those passes that have it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import attnc
from attnc.compiler.cost.polynomials.polynomial import ONE, Poly
from attnc.compiler.cost.report import Cost
from attnc.compiler.cost.table import data
from attnc.compiler.cost.walk import Part

HEAD = """
width seq <= 16
width past like seq
depth model = 8, expert = 4, best = 2
const layers = 4
block feed(x: [model]) -> [model] {
    return linear.down[model -> model](relu(linear.up[model -> model](x)))
}
block look(x: [seq, model]) -> [seq, model] {
    w = softmax[past](dot[model](x, x[seq as past]) where past <= seq)
    return dot[past](w, x[seq as past])
}
block cell(x: [model], h: [model]) -> (h: [model]) {
    return tanh(linear.x[model -> model](x) + h)
}
"""


def cost(body: str, seq: int = 16, batch: int = 1, **sizes: int) -> Cost:
    text = f"{HEAD}model net(x: [seq, model]) -> [seq, model] {{\n{body}\nreturn x\n}}"
    return attnc.loads(text).model("net").cost(seq=seq, batch=batch, **sizes)


def rows(found: Cost) -> dict[str, tuple[int, ...]]:
    """By their paths: of how many runs, parameters, multiply-adds, peak; a param has none."""
    names = "times", "parameters", "macs", "peak"
    parts: Any = data(found)["parts"]
    return {part["path"]: tuple(part[name]["value"] for name in names if name in part) for part in parts}


def test_each_kind_of_pass_has_its_lines() -> None:
    """Blocks of all passes, in the order of the text; the peak of a repeat is that of its largest pass."""
    found = cost(
        """
        repeat i in layers {
            h = layernorm[model](x)
            if i % 4 == 0 { x = look(h) } else { x = linear.other[model -> model](h) }
            x = feed(x)
        }
        """
    )
    below = rows(found)
    square, array = 16 * 8 * 8, 16 * 8 * 4
    look = 2 * 16 * 16 * 8
    scores = 4 * 16 * 16 * 4 + 16 * 16  # w's own, two copies for a moment, what it is of; and the mask
    assert list(below) == [
        "", "layers", "layers.h", "layers.look", *(f"layers.look.{op}" for op in ("dot", "<=", "w")),
        "layers.other", "layers.feed", *(f"layers.feed.{op}" for op in ("up", "relu", "down")),
    ]  # fmt: skip
    assert below["layers.look"] == (1, 0, look, scores)
    assert below["layers.other"] == (3, 3 * 72, 3 * square, array)
    assert below["layers.feed"][:3] == (4, 4 * 144, 4 * 2 * square)
    assert below["layers.feed.up"][:3] == (1, 72, square)  # all alike: of one
    assert below["layers"] == (4, 3 * 72 + 4 * 160, look + 11 * square, array + scores)


def test_sizes_that_grow_from_pass_to_pass() -> None:
    """A line for one op of all passes: their sum, the peak of the largest."""
    found = cost(
        """
        repeat.r i in 3 {
            depth inner = model * 2 ^ i
            x = linear.down[inner -> model](linear.up[model -> inner](x))
        }
        """
    )
    inner = 8 + 16 + 32
    assert rows(found)["r.up"] == (3, 9 * inner, 16 * 8 * inner, 16 * 32 * 4)
    assert rows(found)["r.down"] == (3, 8 * inner + 3 * 8, 16 * 8 * inner, 16 * 8 * 4)


def test_experts_of_some_passes() -> None:
    """`experts picked alone` leaves out, of those passes that have experts, those that are not picked."""
    experts = """
        gate = softmax[expert](linear.router[model -> expert](x))
        chosen = topk[expert -> best](gate)
        x = dot[best](gate[expert = chosen], linear.e[expert: model -> model](x)[expert = chosen])
    """
    for test, passes in ("i == 0", 1), ("i > 0", 3):
        found = cost(f"repeat i in layers {{\nif {test} {{\n{experts}\n}} else {{ x = feed(x) }}\n}}")
        assert found.routed is not None
        assert found.macs.value - found.routed.value == passes * 2 * 16 * 8 * 8


# -- the lines add up ------------------------------------------------------------------------------------------------


class Stack:
    """Random repeats in one another, whose passes differ or do not."""

    def __init__(self, seed: int, also: Sequence[str] = ()) -> None:
        self.rolls, self.names, self.also = random.Random(seed), 0, also

    def some(self, around: tuple[str, ...], depth: int = 0) -> str:
        return "\n".join(self.one(around, depth) for _ in range(self.rolls.randint(1, 2)))

    def one(self, around: tuple[str, ...], depth: int) -> str:
        """around: the numbers of passes that a size may depend on; not those of one set of weights for all."""
        self.names += 1
        name = f"l{self.names}"
        layers = ["x = sin(x)", f"x = feed.{name}(x)", f"x = look.{name}(x)", f"x = scan[seq] cell.{name}(x, h = 0)"]
        layers += self.also
        i = self.rolls.choice(around) if around else "0"
        match self.rolls.choice(["layer", "grows", "if", "if", "repeat", "repeat"] if depth < 4 else ["layer"]):
            case "grows":
                there_and_back = f"linear.{name}d[{name} -> model](linear.{name}u[model -> {name}](x))"
                return f"depth {name} = model * 2 ^ {i}\nx = {there_and_back}"
            case "if":
                yes, no = self.some(around, depth + 1), self.some(around, depth + 1)
                return f"if {i} % 2 == 0 {{\n{yes}\n}} else {{\n{no}\n}}"
            case "repeat":
                count = self.rolls.choice(["1", "2", "3", f"{i} + 1", i])
                shared = self.rolls.random() < 0.3
                inside = self.some(around if shared else (*around, f"{name}i"), depth + 1)
                return f"repeat.{name} {name}i in {count}{' shared' if shared else ''} {{\n{inside}\n}}"
        return self.rolls.choice(layers)


def adds_up(found: Cost, part: Part, path: str = "") -> int:
    """How many parts there are whose runs differ. Whatever has parts is their sum: of all runs, or of one times their
    number. Gradients aside: of those a first pass has fewer.
    """

    def at(poly: Poly) -> int:
        return found.figure(poly).value

    here = f"{path}.{part.name}"
    if part.parts:
        runs, sets = (ONE, ONE) if part.unlike else (part.count, part.sets)
        for name in ("macs", "kept", "ops", "moved"):
            assert at(part.work[name]) == sum(at(inner.work[name]) for inner in part.parts) * at(runs), (here, name)
        assert at(part.parameters) == sum(at(inner.parameters) for inner in part.parts) * at(sets), here
        peaks = [at(inner.peak) for inner in part.parts if inner.peak is not None]
        assert part.peak is None or at(part.peak) >= max(peaks, default=0), here
    return part.unlike + sum(adds_up(found, inner, here) for inner in part.parts)


def test_parts_of_random_repeats_add_up() -> None:
    assert sum(adds_up(found, found.part) for found in (cost(Stack(seed).some(()), seq=4) for seed in range(80))) >= 30


def test_parts_of_random_repeats_that_begin_without_data_add_up() -> None:
    """The first passes have not the batch axes that those have which read what the others gave."""
    begin = "given = x\nparam start: [seq, model] ~ normal(0.5)\nx = start"
    found = 0
    for seed in range(24):
        some = Stack(seed, ["x = x + given"] * 3).some(())
        inside = some if seed % 2 else f"{some}\nx = feed.z(x) + given"
        body = f"{begin}\nrepeat.z layers {{\n{inside}\n}}"
        bill = cost(body, seq=4, batch=3, layers=seed % 5 + 1)
        found += adds_up(bill, bill.part)
    assert found >= 24


def test_a_row_of_passes_of_which_the_first_has_no_data() -> None:
    body = "given = x\nparam start: [seq, model] ~ normal(0.5)\nx = start\nrepeat layers { x = feed(x) + given }"
    found = cost(body, batch=10, layers=7)
    a_pass = 2 * 16 * 8 * 8
    assert rows(found)["layers.feed"][:3] == (7, 7 * 144, a_pass * (1 + 6 * 10))
    assert str(cost(body, layers=2).macs) == str(cost(body, layers=7).macs) == "2 layers model^2 seq"
