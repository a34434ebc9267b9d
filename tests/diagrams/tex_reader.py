"""Reads an equation of scalars as a mathematician would, and computes it: what `latex` writes must mean that.

What habits read in two ways (a sum before "mod", "and" beside "or", a chain of comparisons) is a mistake.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping

Number = float | bool
_TOKEN = re.compile(
    r"\\left\\lfloor|\\right\\rfloor|\\left\||\\right\||\\left\(|\\right\)|\\begin\{cases\}|\\end\{cases\}"
    r"|\\text\{(?:if |otherwise)\}|\\\\|\\mathrm\{\w+\}|\\[a-z]+|\d+(?:\.\d+)?|[a-z]'*|[-+<>={}^&(),]"
)
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    r"\le": operator.le, r"\ge": operator.ge, "<": operator.lt, ">": operator.gt, "=": operator.eq, r"\ne": operator.ne,
}  # fmt: skip
_FUNCTIONS = {r"\sin": math.sin, r"\cos": math.cos, r"\tanh": math.tanh, r"\exp": math.exp}


class Reader:
    def __init__(self, tex: str, values: Mapping[str, Number]) -> None:
        self.tokens = _TOKEN.findall(tex)
        assert "".join(self.tokens).replace(" ", "") == tex.replace(" ", ""), tex
        self.place, self.values = 0, values

    def whole(self) -> Number:
        found = self.logic()
        assert self.place == len(self.tokens), self.tokens[self.place :]
        return found

    def next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def may(self, *tokens: str) -> str:
        if self.next() not in tokens or not self.next():
            return ""
        self.place += 1
        return self.tokens[self.place - 1]

    def take(self, token: str) -> None:
        assert self.may(token), f"{token} for {self.next()} in {' '.join(self.tokens)}"

    def logic(self) -> Number:
        found, sign = self.compare(), ""
        while now := self.may(r"\wedge", r"\vee"):
            assert now == (sign or now), "and beside or"
            sign, other = now, self.compare()
            found = (found and other) if now == r"\wedge" else (found or other)
        return found

    def compare(self) -> Number:
        found = self.mod()
        if sign := self.may(*_COMPARE):
            found = _COMPARE[sign](found, self.mod())
            assert self.next() not in _COMPARE, "a chain of comparisons"
        return found

    def mod(self) -> Number:
        start = self.place
        found = self.sum()
        if self.may(r"\bmod"):
            before = self.place
            found = found % self.sum()
            for part in (self.tokens[start : before - 1], self.tokens[before : self.place]):
                assert not {"+", "-"} & set(_outside(part)), "a sum beside mod"
        assert self.next() != r"\bmod"
        return found

    def sum(self) -> Number:
        found = -self.product() if self.may("-") else self.product()
        while sign := self.may("+", "-"):
            other = self.product()
            found = found + other if sign == "+" else found - other
        return found

    def product(self) -> Number:
        found = self.factor()
        while self.may(r"\cdot"):
            found = found * self.factor()
        return found

    def factor(self) -> Number:
        if self.may(r"\neg"):
            return not self.factor()
        if self.may(r"\begin{cases}"):
            return self.cases()
        found = self.atom()
        if self.may("^"):
            assert not self.tall, "a power of a fraction without brackets"
            found = found ** self.braced()
            assert self.next() != "^"
        return found

    def cases(self) -> Number:
        yes = self.logic()
        self.take("&")
        self.take(r"\text{if }")
        test = self.logic()
        self.take("\\\\")
        no = self.logic()
        for token in ("&", r"\text{otherwise}", r"\end{cases}"):
            self.take(token)
        return yes if test else no

    def braced(self) -> Number:
        self.take("{")
        found = self.logic()
        self.take("}")
        return found

    def atom(self) -> Number:
        self.tall = False
        token = self.next()
        self.place += 1
        if token == "{":
            found = self.logic()
            self.take("}")
            return found
        if token == r"\frac":
            above, below = self.braced(), self.braced()
            self.tall = True
            return above / below
        if token == r"\sqrt":
            return math.sqrt(self.braced())
        if token == r"\pi":
            return math.pi
        if token in _FUNCTIONS:
            self.take(r"\left(")
            return _FUNCTIONS[token](self.inside(r"\right)"))
        if token == r"\left(":
            return self.inside(r"\right)")
        if token == r"\left|":
            return abs(self.inside(r"\right|"))
        if token == r"\left\lfloor":
            return math.floor(self.inside(r"\right\rfloor"))
        return self.values[token] if token in self.values else float(token)

    def inside(self, end: str) -> Number:
        found = self.logic()
        self.take(end)
        self.tall = False
        return found


def _outside(tokens: list[str]) -> list[str]:
    """The tokens that stand in no brackets."""
    depth, found = 0, []
    for token in tokens:
        depth -= token.startswith(r"\right") or token == "}"
        if depth == 0:
            found.append(token)
        depth += token.startswith(r"\left") or token == "{"
    return found
