"""Whose weights a part has shows: programs that differ in nothing else are drawn otherwise.

Every part that has weights stands in every place, and each place has all ways to say which uses have weights of their
own, in which passes.
"""

from __future__ import annotations

from itertools import combinations

import pytest

from attnc.compiler.ops import OPS
from attnc.spec import loads

from .twins.signature import Signature, seen

HEAD = "width x\ndepth m = 8, n = 30\ndepth j like m\n"
MODEL = "model f(u: [x, m], v: [x, m], ids: n[x]) -> [x, m] {\n"
PARTS = {  # the body of a block with one set of weights, made of X and ids
    "linear": "return linear.W[m -> m](X)",
    "layernorm": "return layernorm.n[m](X)",
    "rmsnorm": "return rmsnorm.n[m](X)",
    "embed": "return X + embed.E[n -> m](ids)",
    "scale": "param g: [m] ~ ones\n    return X * g",
    "shift": "param b: [m] ~ zeros\n    return X + b",
    "table": "param T: [n, m] ~ normal(1.0)\n    return X + T[n = ids]",
    "matrix": "param M: [j, m] ~ normal(1.0)\n    return dot[j](M, X[m as j])",
    "gate": "return X * sigmoid(linear.W[m -> m](X))",
    "norm and map": "return linear.W[m -> m](layernorm.n[m](X))",
    "block": "return inside(X, ids)",
}


def use(letter: str, of: str = "X") -> str:
    """A capital letter is a `share`, a small one a use with weights of its own; both are called the same."""
    return f"{letter.lower() if letter.isupper() else f'p.{letter}'}({of}, ids)"


def uses(letters: str) -> str:
    """One after the other."""
    return "".join(f"    X = {use(letter)}\n" for letter in letters)


def shares(letters: str) -> str:
    return "".join(f"    share {letter.lower()} = p\n" for letter in sorted(set(letters)) if letter.isupper())


def in_line(letters: str) -> str:
    return f"{shares(letters)}    X = u\n{uses(letters)}    return X\n"


def apart(letters: str) -> str:
    return f"{shares(letters)}    return {use(letters[0], 'u')} + tanh({use(letters[1], 'v')})\n"


def looped(letters: str, shared: str = "", inside: bool = False) -> str:
    """inside: whether what is shared is so within each pass."""
    before, within = ("", shares(letters)) if inside else (shares(letters), "")
    return f"{before}    X = u\n    repeat.r 3{shared} {{\n{within}{uses(letters)}    }}\n    return X\n"


def nested(outer: str, inner: str) -> str:
    return (
        f"    X = u\n    repeat.o 2{outer} {{\n    repeat.i 3{inner} {{\n{uses('a')}    }}\n    X = tanh(X)\n    }}\n"
        "    return X\n"
    )


def two_loops(first: str, second: str, letters: str = "aa") -> str:
    return (
        f"{shares(letters)}    X = u\n    repeat.r 3{first} {{\n{uses(letters[0])}    }}\n    X = tanh(X)\n"
        f"    repeat.s 3{second} {{\n{uses(letters[1])}    }}\n    return X\n"
    )


def scanned(letters: str) -> str:
    """In each step of two scans."""
    first, second = (use(letter).partition("(")[0].replace("p.", "q.") for letter in letters)
    return (
        f"{shares(letters).replace('= p', '= q')}    X = scan[x] {first}(u, ids, h = 0)\n"
        f"    return scan[x] {second}(tanh(X), ids, h = 0)\n"
    )


def beside(letters: str, shared: str = "") -> str:
    """Before a loop, and in it."""
    inside = f"    repeat.r 3{shared} {{\n{uses(letters[1])}    }}\n"
    return f"{shares(letters)}    X = u\n{uses(letters[0])}{inside}    return X\n"


S = " shared"
PLACES = {  # in each, programs that differ in nothing but whose weights there are
    "one after the other": [in_line(uses) for uses in ("abc", "AAb", "AbA", "aBB", "AAA")],
    "two after two": [in_line(uses) for uses in ("AABB", "ABAB", "ABBA")],
    "side by side": [apart("ab"), apart("AA")],
    "in a loop": [looped("a"), looped("a", S)],
    "two in a pass": [
        looped("ab"), looped("ab", S), looped("AA", inside=True), looped("AA", S),
    ],
    "nested": [nested(outer, inner) for outer in ("", S) for inner in ("", S)],
    "two loops": [*(two_loops(a, b) for a in ("", S) for b in ("", S)), two_loops(S, S, "AA")],
    "two scans": [scanned("ab"), scanned("AA")],
    "before a loop and in it": [beside("aa"), beside("aa", S), beside("AA", S)],
}  # fmt: skip


def figure(part: str, body: str, **options: str) -> Signature:
    blocks = {
        "inside": "(X: [x, m], ids: n[x]) -> [x, m] {\n    return tanh(linear.V[m -> m](X))",
        "p": f"(X: [x, m], ids: n[x]) -> [x, m] {{\n    {PARTS[part]}",
        "q": f"(X: [m], ids: n[], h: [m]) -> (h: [m]) {{\n    X = tanh(X + h)\n    {PARTS[part]}",
    }
    texts = (f"block {name}{text}\n}}\n" for name, text in blocks.items() if name != "q" or "scan" in body)
    return seen(loads(f"{HEAD}{''.join(texts)}{MODEL}{body}}}\n").model("f").graph, **options)


def test_every_op_with_weights_is_here() -> None:
    assert not [name for name, op in OPS.items() if op.learned and not any(name in body for body in PARTS.values())]


DRAWN = ("as it comes", "open", "close")
QUICK = {("as it comes", part) for part in ("linear", "layernorm", "embed", "scale", "norm and map")}
QUICK |= {(drawn, "layernorm") for drawn in DRAWN}
CASES = [
    pytest.param(drawn, part, marks=() if (drawn, part) in QUICK else pytest.mark.slow)
    for drawn in DRAWN
    for part in PARTS
]


@pytest.mark.parametrize(("drawn", "part"), CASES)
def test_whose_weights(drawn: str, part: str) -> None:
    alike = []
    for place, bodies in PLACES.items():
        if (part, place) == ("block", "two scans"):
            continue  # a step has no width, and the block is along one
        options = {drawn: "q" if place == "two scans" else "p"} if drawn != "as it comes" else {}
        figures = [(body, figure(part, body, **options)) for body in bodies]
        pairs = combinations(figures, 2)
        alike += [f"{place}, drawn alike:\n{a}\n{b}" for (a, one), (b, other) in pairs if one == other]
    assert not alike, "\n".join(alike)
