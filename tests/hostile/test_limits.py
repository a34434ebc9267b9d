"""Texts of 64 KiB made to be slow or deep: each is answered with a message, in little time and memory."""

from __future__ import annotations

import resource
from collections.abc import Callable

import pytest

import attnc
from attnc.compiler.sizes.limits import MISTAKES
from tests.clock import at_most

SIZE = 1 << 16
MOST = 60  # yardsticks


def fill(head: str, unit: Callable[[int], str], tail: str, between: str = "\n") -> str:
    """The head, as many units as there is room for, and the tail."""
    count = (SIZE - len(head) - len(tail)) // (len(unit(10_000)) + len(between))
    return head + between.join(unit(number) for number in range(count)) + tail


def doubling(parameter: str = "", argument: str = "") -> str:
    blocks = "".join(
        f"block b{n + 1}{parameter}(x: [s]) -> [s] {{\n    y = b{n}.p{argument.replace('*', '2 * n')}(x)\n"
        f"    return b{n}.q{argument.replace('*', '2 * n + 1')}(y)\n}}\n"
        for n in range(30)
    )
    start = argument.replace("*", "1")
    return (
        f"width s\nblock b0{parameter}(x: [s]) -> [s] {{\n    return x + 1\n}}\n{blocks}"
        f"model m(x: [s]) -> [s] {{\n    return b30{start}(x)\n}}\n"
    )


BODY = "width s\nmodel m(a: [s]) -> [s] {\n    return "
HOSTILE = {
    "a long sum": (fill(BODY, lambda n: "a", "\n}\n", " + "), {"E0107"}),
    "a long pipe": (fill(BODY + "a |> ", lambda n: "relu", "\n}\n", " |> "), {"E0107"}),
    "powers": (fill(BODY, lambda n: "a", "\n}\n", " ^ "), {"E0107"}),
    "many operands": (fill(BODY + "relu(", lambda n: "a", ")\n}\n", ", "), {"E0220"}),
    "renames": (fill(BODY + "a", lambda n: "[s as t]", "\n}\n", ""), {"E0107"}),
    "doubling blocks": (doubling(), {"E0220"}),
    "doubling blocks, all different": (doubling("[n: const]", "[n = *]"), {"E0220"}),
    "doubling models, with weights": (
        "depth d = 2\nmodel m0(a: [d]) -> [d] {\n return linear.w[d -> d](a)\n}\n"
        + "".join(f"model m{n + 1}(a: [d]) -> [d] {{\n return m{n}(a) + m{n}(a)\n}}\n" for n in range(30)), {"E0220"}),
    "doubling shares, with weights": (
        "depth d = 2\nblock b0(a: [d]) -> [d] {\n return linear.w[d -> d](a)\n}\n"
        + "".join(f"block b{n + 1}(a: [d]) -> [d] {{\n share s = b{n}\n return s(a) + s(a)\n}}\n" for n in range(40))
        + "model m(a: [d]) -> [d] {\n return m1(a)\n}\nmodel m1(a: [d]) -> [d] {\n return b40(a)\n}\n", {"E0220"}),
    "blocks in blocks": (
        fill("width s\nblock b0(x: [s]) -> [s] {\n return x\n}\n",
             lambda n: f"block b{n + 1}(x: [s]) -> [s] {{\n return b{n}(x)\n}}", "\n"), {"E0220"}),
    "doubling numbers": (
        "width s\nmodel m(a: [s]) -> [s] {\n x0 = 2\n"
        + "".join(f" x{n + 1} = x{n} * x{n}\n" for n in range(2000)) + " return a * x2000\n}\n", {"E0220", "E0207"}),
    "a tower of powers": (BODY + "a * 9 ^ 9 ^ 9 ^ 9\n}\nconst c = 9 ^ 9 ^ 9 ^ 9\n", {"E0207"}),
    "digits": ("const a = " + "9" * 65_000 + "\n", {"E0105"}),
    "many axes of a value": (
        "depth " + ", ".join(f"w{n} = 1" for n in range(3000)) + "\nblock f(x: ["
        + ", ".join(f"w{n}" for n in range(3000)) + "]) -> [w0] {\n return x\n}\n", {"E0220"}),
    "a huge weight": (
        "depth a = 10000000, b = 10000000\nblock f(x: [a]) -> [b] {\n return linear.w[a -> b](x)\n}\n", {"E0220"}),
    "many passes": (BODY.replace("return", "repeat.r 1000000000 {\n a = a + 1\n }\n return a") + "\n}\n", {"E0207"}),
    "passes in passes": (
        "width s\nmodel m(a: [s]) -> [s] {\n" + "".join(f"repeat.r{n} 1000 {{\n" for n in range(40)) + "a = a + 1\n"
        + "}\n" * 40 + "return a\n}\n", {"E0220"}),
    "near names": (
        fill("width s\nmodel m(a: [s]) -> [s] {\n", lambda n: f"value_{n} = valeu_{n} + 1", "\nreturn a\n}\n"),
        {"E0202", "E0220"}),
    "near ops": (fill("width s\nmodel m(a: [s]) -> [s] {\n", lambda n: f"v{n} = sofmxx{n}(a)", "\nreturn a\n}\n"),
                 {"E0203", "E0220"}),
    "names that a pass binds": (
        fill("width s\nmodel m(a: [s]) -> [s] {\nrepeat.r i in 9999 {\n",
             lambda n: f"if i == {n} {{\ny{n} = a\n}} else {{\nz{n} = a\n}}", "\n}\nreturn a\n}\n"), {"E0220"}),
    "the same again": ("width a\n" * 8000, {"E0204"}),
    "open brackets": ("const a = " + "(" * 65_000, {"E0102", "E0107"}),
    "open braces": ("block a(x: []) -> [] " + "{" * 65_000, {"E0102", "E0107"}),
    "closing brackets": (")" * SIZE, {"E0102"}),
    "torn lines": (fill("model m() -> [] {\n", lambda n: f"x{n} = f(a", "\n}\n"), {"E0102", "E0107"}),
    "quotes": ('"\n' * 30_000, {"E0104", "E0101", "E0106"}),
    "signs": ("const a = " + "-" * 65_000 + "1\n", {"E0107"}),
    "copies of copies of nothing": (fill("", lambda n: f"width c{n} like c{n + 1}", "\n"), {"E0201"}),
    "copies in a circle": (
        "".join(f"width c{n} like c{(n + 1) % 2500}\n" for n in range(2500)), {"E0208"}),
    "each the sum of two": (
        "depth c0 = 1, c1 = 1\n" + fill("", lambda n: f"depth c{n + 2} = c{n} + c{n + 1}", "\n"), {"E0207"}),
    "a long path": ("use " + ".".join("a" * 32_000) + ": x\n", {"E0220"}),
    "a long path in the library": ("use std." + ".".join("a" * 32_000) + ": x\n", {"E0220"}),
    "a long name": (f"width {'a' * 65_000}\n", {"E0220"}),
    "carriage returns": ("\r" * SIZE, {"E0103"}),
    "letters of elsewhere": ("é" * 30_000, {"E0103"}),
}  # fmt: skip
LEGAL = {
    "5,000 terms": BODY + " + ".join(["a"] * 5000) + "\n}\n",
    "1,000 stages": BODY + "a |> " + " |> ".join(["relu"] * 1000) + "\n}\n",
    "10,000 axes": "\n".join(f"width w{n}" for n in range(10_000)) + "\n",
    "5,000 parameters": BODY.replace("(a: [s])", f"({', '.join(f'a{n}: [s]' for n in range(5000))})") + "a0\n}\n",
    "6,000 statements": fill("width s\nmodel m(a: [s]) -> [s] {\n", lambda n: "a = a + 1", "\nreturn a\n}\n"),
    "3,000 repeats": fill(
        "width s\nmodel m(a: [s]) -> [s] {\n", lambda n: f"repeat.r{n} 9999{{\n}}", "\nreturn a\n}\n"
    ),
    "a number built up": BODY.replace("return", "n0 = 1\n")
    + "".join(f"n{k + 1} = n{k} + {k % 7}\n" for k in range(2400))
    + "return a * n2400\n}\n",
    "a chain of sizes": "\n".join(f"depth w{n} = w{n + 1}" for n in range(2500)) + "\ndepth w2500 = 4\n",
    "numbers made of one another": "block f[c0: const = 1, "
    + ", ".join(f"c{n + 1}: const = c{n} + 1" for n in range(2400))
    + "](x: []) -> [] {\n    return x\n}\nmodel m(x: []) -> [] {\n    return f(x)\n}\n",
    "comments": "# a\n" * 16_000 + "block f() -> [] {\n    return 1\n}\n",
}


def judged(text: str) -> set[str]:
    with at_most(MOST):
        found = attnc.check(text)
        str(attnc.AttnError(found))
    assert len(found) <= MISTAKES
    return {each.code for each in found if each.severity is attnc.Severity.ERROR}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_too_much_is_refused_at_once(name: str) -> None:
    text, codes = HOSTILE[name]
    found = judged(text)
    assert found
    assert found <= codes | {"E0218"}


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_only_long_is_right(name: str) -> None:
    assert judged(LEGAL[name]) == set()


def test_the_memory_that_all_this_took() -> None:
    """Run behind the others. The process holds pytest and what other tests imported, too."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    legal = [LEGAL[name] for name in ("6,000 statements", "3,000 repeats")]
    for text in (HOSTILE["a long pipe"][0], *legal, HOSTILE["doubling blocks, all different"][0]):
        judged(text)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 256 * 1024
