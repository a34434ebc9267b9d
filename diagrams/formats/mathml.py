"""Equations as MathML, which browsers draw without anything loaded; and as words, for those who listen."""

from __future__ import annotations

from html import escape

from .texmath import Form, Term

_SAID = {
    "⊙": "dot", "·": "times", "×": "times", "→": "to", "←": "becomes", "≤": "is at most", "≥": "is at least",
    "≠": "is not", "<": "is less than", ">": "is greater than", "=": "is", "∧": "and", "∨": "or", "¬": "not",
    "−": "minus", "+": "plus", "/": "over", "∑": "sum", "mod": "modulo", ":": "maps", "…": "up to",
}  # fmt: skip
_TAGS = {Form.FRACTION: "mfrac", Form.ROOT: "msqrt", Form.SUB: "msub", Form.SUPER: "msup", Form.UNDER: "munder"}
_ALONG = {"ℝ": "numbers", "ℤ": "whole numbers"}
_FENCES = {"||": "the size of", "⌊⌋": "floor of", "⌈⌉": "ceiling of"}


def mathml(term: Term) -> str:
    """The inside of a `<math>`."""
    parts = [mathml(part) for part in term.parts]
    text = escape(term.text, quote=False)
    match term.form:
        case Form.NAME:
            return _name(text, term.style)
        case Form.NUMBER:
            return f"<mn>{text}</mn>"
        case Form.SIGN:
            return f"<mo>{text}</mo>"
        case Form.WORDS:
            return f"<mtext>{text.replace(' ', chr(160))}</mtext>"
        case Form.SPACE:
            return f'<mspace width="{text}em"/>'
        case Form.FENCED:
            return f"<mrow><mo>{text[:1]}</mo>{parts[0]}<mo>{text[1:]}</mo></mrow>"
        case Form.CASES:
            rows = zip(parts[::2], parts[1::2], strict=False)
            table = "".join(f"<mtr><mtd>{value}</mtd><mtd>{when}</mtd></mtr>" for value, when in rows)
            return f"<mrow><mo>{{</mo><mtable>{table}</mtable></mrow>"
        case Form.PLACE:
            return f'<mrow data-p="{text}">{parts[0]}</mrow>'
        case form:
            tag = {
                Form.FRACTION: "mfrac",
                Form.ROOT: "msqrt",
                Form.SUB: "msub",
                Form.SUPER: "msup",
                Form.UNDER: "munder",
            }
            return f"<{(name := tag.get(form, 'mrow'))}>{''.join(parts)}</{name}>"


def _name(text: str, style: str) -> str:
    """One letter alone is set in italics by itself, and more in roman letters."""
    if style == "axis":
        return f'<mi class="x" mathvariant="normal">{text}</mi>'
    if (style == "i") == (len(text.rstrip("′")) == 1):
        return f"<mi>{text}</mi>"
    return f'<mi class="{style}"' + (' mathvariant="normal"' if style == "r" else "") + f">{text}</mi>"


def spoken(term: Term) -> str:
    """The same as words."""
    said = _words(term).rstrip()
    said = f"{said[:-5].rstrip()}:" if said.endswith(" maps") else said  # the heading of a repeat
    return " ".join(
        said.replace("( ", "(").replace(" )", ")").replace(" ,", ",").replace(" ;", ";").replace(" :", ":").split()
    )


def _words(term: Term) -> str:
    match term:
        case Term(Form.NAME, text):
            return _ALONG.get(text, text.replace("_", " ").replace("′", " prime"))
        case Term(Form.SIGN, text):
            return f" {_SAID.get(text, text)} "
        case Term(Form.SPACE):
            return " "
        case Term(Form.FENCED, fences, (inner,)):
            said = _FENCES.get(fences)
            return f"{fences[:1]}{_words(inner)}{fences[1:]}" if said is None else f" {said} {_words(inner)} "
        case Term(Form.FRACTION, _, (above, below)):
            return f" {_operand(above)} over {_operand(below)} "
        case Term(Form.ROOT, _, (inner,)):
            return f" the root of {_operand(inner)} "
        case Term(Form.SUB, _, (base, sub)):
            return f"{_words(base)} {'' if sub.form is Form.NAME and sub.style == 'r' else 'at '}{_words(sub)}"
        case Term(Form.SUPER, _, (base, power)):
            return _raised(base, power)
        case Term(Form.UNDER, _, (base, under)):
            beneath, sign = _words(under), base.form is Form.SIGN
            joint = "with" if " is " in beneath else "over"
            return f"{_words(base)} {joint} {beneath} {'and' if sign and base.text != '∑' else 'of'} "
        case Term(Form.CASES, _, parts):
            pairs = zip(parts[::2], parts[1::2], strict=False)
            return "; ".join(f"{_words(value)} {_words(when)}" for value, when in pairs)
        case Term(Form.NUMBER | Form.WORDS, text):
            return text
    return "".join(map(_spaced, term.parts))


def _spaced(part: Term) -> str:
    return f" {_words(part)} " if part.form in (Form.WORDS, Form.UNDER) else _words(part)


def _operand(term: Term) -> str:
    words = " ".join(_words(term).split())
    return f"({words})" if " " in words else words


def _raised(base: Term, power: Term) -> str:
    """A power, the shape of a space, or the name of weights."""
    words, above = _words(base), _words(power)
    if base.text in _ALONG or words.rstrip().endswith(("]", "}")):
        return f" {words} along {above.replace(' times ', ' and ')} "
    if power.form is Form.NAME and power.style in ("i", "r") and (base.form is Form.NAME or base.form is Form.WORDS):
        return f"{words} {above}"
    return f"{words} to the power {above} "
