r"""The LaTeX that `equations.py` writes, read back as a tree, from which MathML and words are written.

`\place{12}{..\endplace}` is a mark of ours: what stands in it comes from the words of the spec that have this number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from ..base.metrics import GREEK

_TOKENS = re.compile(r"\\[a-zA-Z]+|\\.|[0-9]+(?:\.[0-9]+)?|\s+|.", re.DOTALL)
_TABLE = re.compile(r"(\S+?)=(\S+)")
_SIGNS: dict[str, str] = dict(
    _TABLE.findall(
        "times=× to=→ odot=⊙ colon=: cdot=· le=≤ ge=≥ ne=≠ leftarrow=← bmod=mod wedge=∧ vee=∨ neg=¬ ldots=… sum=∑ "
        "lfloor=⌊ rfloor=⌋ lceil=⌈ rceil=⌉ {={ }=} div=÷ infty=∞"
    )
)
_BUILDS: dict[str, str] = dict(
    _TABLE.findall(
        "text=WORDS textrm=WORDS mathop=ROW mathbin=ROW underset=UNDER frac=FRACTION sqrt=ROOT place=PLACE left=FENCED "
        "begin=CASES"
    )
)
_LETTERS = {**GREEK, "ell": "ℓ"}
_SPACES = {"quad": 1.0, " ": 0.25, ";": 0.28, ",": 0.17}
_STYLED = {"mathsf": "axis", "mathit": "i", "mathrm": "r", "texttt": "r", "textbf": "b", "textit": "i", "mathbf": "b"}
_BOARD = {"R": "ℝ", "Z": "ℤ"}
_PLAIN = {"textbackslash": "\\", "textasciicircum": "^", "textasciitilde": "~", "textbar": "|"}


class TexForm(Enum):
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
class TexTerm:
    form: TexForm
    text: str = ""
    parts: tuple[TexTerm, ...] = ()
    style: str = ""


def read(tex: str) -> TexTerm:
    """One row of equations. The signs of alignment are left out."""
    return _TexReader(_TOKENS.findall(tex)).row(())


class _TexReader:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.at = tokens, 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def row(self, ends: tuple[str, ...]) -> TexTerm:
        """Up to one of these tokens, or the end."""
        parts: list[TexTerm] = []
        while self.at < len(self.tokens) and self.peek() not in ends:
            token = self.take()
            if token.isspace() or token == r"\endplace" or (token == "&" and "&" not in ends):
                continue
            if token in ("_", "^"):
                base = parts.pop() if parts else TexTerm(TexForm.ROW)
                parts.append(TexTerm(TexForm.SUB if token == "_" else TexForm.SUPER, parts=(base, self.group())))
            elif token == "'":
                base = parts.pop() if parts else TexTerm(TexForm.ROW)
                parts.append(
                    TexTerm(base.form, base.text + "′", base.parts, base.style) if base.text else _primed(base)
                )
            else:
                parts.append(self.atom(token))
        return parts[0] if len(parts) == 1 else TexTerm(TexForm.ROW, parts=tuple(parts))

    def group(self) -> TexTerm:
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

    def atom(self, token: str) -> TexTerm:
        if token == "{":
            self.at -= 1
            return self.group()
        if (closing := {"|": "|", "[": "]", r"\{": r"\}"}.get(token)) is not None:
            inner = self.row((closing,))
            self.at += 1
            return TexTerm(TexForm.FENCED, _bracket(token) + _bracket(closing), (inner,))
        if not token.startswith("\\"):
            if token[0].isdigit():
                return TexTerm(TexForm.NUMBER, token)
            return (
                TexTerm(TexForm.NAME, token, style="i")
                if token.isalpha()
                else TexTerm(TexForm.SIGN, token.replace("-", "−"))
            )
        name = token[1:]
        if name in _STYLED:
            return TexTerm(TexForm.NAME, self.raw(), style=_STYLED[name])
        if name in _LETTERS:
            return TexTerm(TexForm.NAME, _LETTERS[name], style="i")
        if name == "mathbb":
            return TexTerm(TexForm.NAME, _BOARD.get(text := self.raw(), text), style="r")
        if name in _SPACES:
            return TexTerm(TexForm.SPACE, f"{_SPACES[name]:g}")
        if name in _SIGNS:
            return TexTerm(TexForm.SIGN, _SIGNS[name])
        return self.command(name)

    def command(self, name: str) -> TexTerm:
        match _BUILDS.get(name):
            case "WORDS":
                return TexTerm(TexForm.WORDS, self.raw())
            case "ROW":
                return self.group()
            case "UNDER":
                under = self.group()
                return TexTerm(TexForm.UNDER, parts=(self.group(), under))
            case "FRACTION":
                return TexTerm(TexForm.FRACTION, parts=(self.group(), self.group()))
            case "ROOT":
                return TexTerm(TexForm.ROOT, parts=(self.group(),))
            case "PLACE":
                return TexTerm(TexForm.PLACE, self.raw(), (self.group(),))
            case "FENCED":
                opened = _bracket(self.take())
                inner = self.row((r"\right",))
                self.at += 1
                return TexTerm(TexForm.FENCED, opened + _bracket(self.take()), (inner,))
            case "CASES":
                self.raw()
                return self.cases()
        return TexTerm(TexForm.NAME, name, style="r")  # of a function, such as a sine

    def cases(self) -> TexTerm:
        parts: list[TexTerm] = []
        while self.peek() not in (r"\end", ""):
            parts.append(self.row(("&", r"\\", r"\end")))
            if self.peek() in ("&", r"\\"):
                self.at += 1
        self.at += 1
        self.raw()
        return TexTerm(TexForm.CASES, parts=tuple(parts))


def _bracket(token: str) -> str:
    return _SIGNS.get(token.removeprefix("\\"), token.removeprefix("\\"))


def _primed(base: TexTerm) -> TexTerm:
    return TexTerm(TexForm.SUPER, parts=(base, TexTerm(TexForm.SIGN, "′")))
