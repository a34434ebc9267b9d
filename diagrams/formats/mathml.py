"""Equations as MathML, which browsers draw without anything loaded; and as words, for those who listen."""

from __future__ import annotations

import re
from html import escape

from .texmath import TexForm, TexTerm

_SAID = dict(
    re.findall(
        r"(\S+) ([^;]+);",
        "⊙ dot; · times; × times; → to; ← becomes; ≤ is at most; ≥ is at least; ≠ is not; < is less than; "
        "> is greater than; = is; ∧ and; ∨ or; ¬ not; − minus; + plus; / over; ∑ the sum; mod modulo; : maps; … up to;",
    )
)
_TAGS = {
    TexForm.FRACTION: "mfrac",
    TexForm.ROOT: "msqrt",
    TexForm.SUB: "msub",
    TexForm.SUPER: "msup",
    TexForm.UNDER: "munder",
}
_ALONG = {"ℝ": "numbers", "ℤ": "whole numbers"}
_FENCES = {"||": "the size of", "⌊⌋": "floor of", "⌈⌉": "ceiling of"}


def mathml(term: TexTerm) -> str:
    """The inside of a `<math>`."""
    parts = [mathml(part) for part in term.parts]
    text = escape(term.text, quote=False)
    match term.form:
        case TexForm.NAME:
            return _name(text, term.style)
        case TexForm.NUMBER:
            return f"<mn>{text}</mn>"
        case TexForm.SIGN:
            return f"<mo>{text}</mo>"
        case TexForm.WORDS:
            return f"<mtext>{text.replace(' ', chr(160))}</mtext>"
        case TexForm.SPACE:
            return f'<mspace width="{text}em"/>'
        case TexForm.FENCED:
            return f"<mrow><mo>{text[:1]}</mo>{parts[0]}<mo>{text[1:]}</mo></mrow>"
        case TexForm.CASES:
            rows = zip(parts[::2], parts[1::2], strict=False)
            table = "".join(f"<mtr><mtd>{value}</mtd><mtd>{when}</mtd></mtr>" for value, when in rows)
            return f"<mrow><mo>{{</mo><mtable>{table}</mtable></mrow>"
        case TexForm.PLACE:
            return f'<mrow data-p="{text}">{parts[0]}</mrow>'
        case form:
            return f"<{(name := _TAGS.get(form, 'mrow'))}>{''.join(parts)}</{name}>"


def _name(text: str, style: str) -> str:
    """One letter alone is set in italics by itself, and more in roman letters."""
    if style == "axis":
        return f'<mi class="x" mathvariant="normal">{text}</mi>'
    if (style == "i") == (len(text) == 1):
        return f"<mi>{text}</mi>"
    return f'<mi class="{style}"' + (' mathvariant="normal"' if style == "r" else "") + f">{text}</mi>"


def spoken(term: TexTerm) -> str:
    """The same as words."""
    said = _words(term).rstrip()
    said = f"{said[:-5].rstrip()}:" if said.endswith(" maps") else said  # the heading of a repeat
    return " ".join(
        said.replace("( ", "(").replace(" )", ")").replace(" ,", ",").replace(" ;", ";").replace(" :", ":").split()
    )


def _words(term: TexTerm) -> str:
    match term:
        case TexTerm(TexForm.NAME, text):
            return _ALONG.get(text, text.replace("_", " ").replace("′", " prime"))
        case TexTerm(TexForm.SIGN, text):
            return f" {_SAID.get(text, text)} "
        case TexTerm(TexForm.SPACE):
            return " "
        case TexTerm(TexForm.FENCED, fences, (inner,)):
            said = _FENCES.get(fences)
            return f"{fences[:1]}{_words(inner)}{fences[1:]}" if said is None else f" {said} {_words(inner)} "
        case TexTerm(TexForm.FRACTION, _, (above, below)):
            return f" {_operand(above)} over {_operand(below)} "
        case TexTerm(TexForm.ROOT, _, (inner,)):
            return f" the root of {_operand(inner)} "
        case TexTerm(TexForm.SUB, _, (base, sub)):
            return f"{_words(base)} {'' if sub.form is TexForm.NAME and sub.style == 'r' else 'at '}{_words(sub)}"
        case TexTerm(TexForm.SUPER, _, (base, power)):
            return _raised(base, power)
        case TexTerm(TexForm.UNDER, _, (base, under)):
            beneath, sign = _words(under), base.form is TexForm.SIGN
            joint = "with" if " is " in beneath else "over"
            return f"{_words(base)} {joint} {beneath} {'and ' if sign and base.text != '∑' else 'of '}"
        case TexTerm(TexForm.CASES, _, parts):
            pairs = zip(parts[::2], parts[1::2], strict=False)
            return "; ".join(f"{_words(value)} {_words(when)}" for value, when in pairs)
        case TexTerm(TexForm.NUMBER | TexForm.WORDS, text):
            return text
    return "".join(map(_spaced, term.parts))


def _spaced(part: TexTerm) -> str:
    return f" {_words(part)} " if part.form in (TexForm.WORDS, TexForm.UNDER) else _words(part)


def _operand(term: TexTerm) -> str:
    words = " ".join(_words(term).split())
    return f"({words})" if " " in words else words


def _raised(base: TexTerm, power: TexTerm) -> str:
    """A power, the shape of a space, or the name of weights."""
    words, above = _words(base), _words(power)
    if power.text and not power.text.strip("′"):
        return words + " prime" * len(power.text)
    if base.text in _ALONG or base.text in ("[]", "{}"):
        return f" {words} along {above.replace(' times ', ' and ')} "
    if (
        power.form is TexForm.NAME
        and power.style in ("i", "r")
        and (base.form is TexForm.NAME or base.form is TexForm.WORDS)
    ):
        return f"{words} {above}"
    if power.form is TexForm.WORDS:  # one name that is bound again and again
        return f"the {above} {words} "
    return f"{words} to the power {above} "
