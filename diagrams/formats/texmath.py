r"""The LaTeX that `equations.py` writes, read back as a tree, from which MathML and words are written.

`\place{12}{..\endplace}` is a mark of ours: what stands in it comes from the words of the spec that have this number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from ..base.metrics import GREEK

_TOKENS = re.compile(r"\\[a-zA-Z]+|\\.|[0-9]+(?:\.[0-9]+)?|\s+|.", re.DOTALL)
_SIGNS = {
    "times": "×", "to": "→", "odot": "⊙", "colon": ":", "cdot": "·", "le": "≤", "ge": "≥", "ne": "≠", "leftarrow": "←",
    "bmod": "mod", "wedge": "∧", "vee": "∨", "neg": "¬", "ldots": "…", "sum": "∑", "lfloor": "⌊", "rfloor": "⌋",
    "lceil": "⌈", "rceil": "⌉", "{": "{", "}": "}", "div": "÷", "infty": "∞", "mid": "|", "lvert": "|", "rvert": "|",
}  # fmt: skip
_NAMED = ("sin", "cos", "tan", "tanh", "exp", "log", "max", "min", "sinh", "cosh", "arg")
_LETTERS = {**GREEK, "ell": "ℓ"}
_SPACES = {"quad": 1.0, " ": 0.25, ";": 0.28, ",": 0.17}
_STYLED = {"mathsf": "axis", "mathit": "i", "mathrm": "r", "texttt": "r", "textbf": "b", "textit": "i", "mathbf": "b"}
_BOARD = {"R": "ℝ", "Z": "ℤ"}
_PLAIN = {"textbackslash": "\\", "textasciicircum": "^", "textasciitilde": "~", "textbar": "|"}


class Form(Enum):
    """What a node of the tree is. FRACTION, SUB, SUPER, UNDER have two parts, ROOT and PLACE one, CASES two a case."""

    NAME = "letters that stand for something; `style`: i, r, b, or axis"
    NUMBER = "digits"
    SIGN = "an operator, a relation, a bracket"
    WORDS = "text"
    SPACE = "as wide as `text` says, in ems"
    ROW = "parts in a row"
    FENCED = "the same between brackets, which `text` gives"
    FRACTION = "one over another"
    ROOT = "a square root"
    SUB = "with a subscript"
    SUPER = "with a superscript"
    UNDER = "with something beneath"
    CASES = "alternatives and their conditions"
    PLACE = "what the words of the spec with the number `text` say"


@dataclass(frozen=True, slots=True)
class Term:
    form: Form
    text: str = ""
    parts: tuple[Term, ...] = ()
    style: str = ""


def read(tex: str) -> Term:
    """One row of equations. The signs of alignment are left out."""
    return _Reader(_TOKENS.findall(tex)).row(())


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.at = tokens, 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def row(self, ends: tuple[str, ...]) -> Term:
        """Up to one of these tokens, or the end."""
        parts: list[Term] = []
        while self.at < len(self.tokens) and self.peek() not in ends:
            token = self.take()
            if token.isspace() or token == r"\endplace" or (token == "&" and "&" not in ends):
                continue
            if token in ("_", "^"):
                base = parts.pop() if parts else Term(Form.ROW)
                parts.append(Term(Form.SUB if token == "_" else Form.SUPER, parts=(base, self.group())))
            elif token == "'":
                base = parts.pop() if parts else Term(Form.ROW)
                parts.append(Term(base.form, base.text + "′", base.parts, base.style) if base.text else _primed(base))
            else:
                parts.append(self.atom(token))
        return parts[0] if len(parts) == 1 else Term(Form.ROW, parts=tuple(parts))

    def group(self) -> Term:
        """The next argument."""
        while self.peek().isspace():
            self.at += 1
        token = self.take()
        if token != "{":
            return self.atom(token)
        inner = self.row(("}",))
        self.at += 1
        return inner

    def raw(self) -> str:
        """The next argument as text."""
        depth, out = 0, []
        while self.at < len(self.tokens):
            token = self.take()
            depth += {"{": 1, "}": -1}.get(token, 0)
            if depth == 0:
                break
            if token not in "{}$":
                name = token.removeprefix("\\")
                out.append(_SIGNS.get(name) or _LETTERS.get(name) or _PLAIN.get(name, name) if token != name else token)
        return "".join(out)

    def atom(self, token: str) -> Term:
        if token == "{":
            self.at -= 1
            return self.group()
        if token == "|":
            inner = self.row(("|",))
            self.at += 1
            return Term(Form.FENCED, "||", (inner,))
        if not token.startswith("\\"):
            if token[0].isdigit():
                return Term(Form.NUMBER, token)
            return Term(Form.NAME, token, style="i") if token.isalpha() else Term(Form.SIGN, token.replace("-", "−"))
        name = token[1:]
        if name in _STYLED:
            return Term(Form.NAME, self.raw(), style=_STYLED[name])
        if name in _LETTERS:
            return Term(Form.NAME, _LETTERS[name], style="i")
        if name in _NAMED:
            return Term(Form.NAME, name, style="r")
        if name in _SPACES:
            return Term(Form.SPACE, f"{_SPACES[name]:g}")
        if name in _SIGNS:
            return Term(Form.SIGN, _SIGNS[name])
        return self.command(name)

    def command(self, name: str) -> Term:
        match name:
            case "text" | "textrm":
                return Term(Form.WORDS, self.raw())
            case "mathbb":
                return Term(Form.NAME, _BOARD.get(text := self.raw(), text), style="r")
            case "mathop" | "mathbin":
                return self.group()
            case "underset":
                under = self.group()
                return Term(Form.UNDER, parts=(self.group(), under))
            case "frac":
                return Term(Form.FRACTION, parts=(self.group(), self.group()))
            case "sqrt":
                return Term(Form.ROOT, parts=(self.group(),))
            case "place":
                return Term(Form.PLACE, self.raw(), (self.group(),))
            case "left":
                opened = _bracket(self.take())
                inner = self.row((r"\right",))
                self.at += 1
                return Term(Form.FENCED, opened + _bracket(self.take()), (inner,))
            case "begin":
                self.raw()
                return self.cases()
        return Term(Form.WORDS, name)

    def cases(self) -> Term:
        parts: list[Term] = []
        while self.peek() not in (r"\end", ""):
            parts.append(self.row(("&", r"\\", r"\end")))
            if self.peek() in ("&", r"\\"):
                self.at += 1
        self.at += 1
        self.raw()
        return Term(Form.CASES, parts=tuple(parts))


def _bracket(token: str) -> str:
    return _SIGNS.get(token.removeprefix("\\"), token.removeprefix("\\"))


def _primed(base: Term) -> Term:
    return Term(Form.SUPER, parts=(base, Term(Form.SIGN, "′")))
