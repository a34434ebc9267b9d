"""What is said of slips where the table's words do not do: texts that depend on more than a name.

Each function is named in `slips.txt` as `@name`. None: it knows nothing to say, and later rows are asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import lru_cache

from ..layout import ITEM_ALIASES, ITEM_WORDS, STATEMENT_WORDS, TRUTH_WORDS
from ..slips import piece
from ..source import Span
from .stumble import AFTER_A_WORD, ATTRIBUTES, RESERVED, WORDS, Finding, Stumble, listed, spelling, wanted

# What other languages call the words of statements.
STATEMENT_ALIASES = {"for": "repeat", "while": "repeat", "loop": "repeat", "yield": "return"}


def chain(at: Stumble) -> Finding | None:
    left, sign, middle = at.values[-3:]  # a complete expression that takes no comparison is itself a comparison
    again = middle.span.text
    return Finding(
        f"write `{left.span.text} {sign} {again} and {again} {at.text} ...`",
        "E0109",
        "comparisons do not chain",
        "a second comparison",
        fix=((Span(middle.span.source, middle.span.end, middle.span.end), f" and {again}"),),
    )


def item(at: Stumble) -> Finding | None:
    """A word that begins no item: another language's, or a misspelt one."""
    word, moved = at.text, _moved(at.text, at.span)
    if moved is not None:
        return moved
    meant = what_was_meant(word, ITEM_WORDS, ITEM_ALIASES)
    whole, fix = _whole_line(at, meant)
    if meant and not whole and word not in ITEM_ALIASES:
        fix = ((at.span, meant),)
    known = listed([f"`{each}`" for each in ITEM_WORDS if each != "param"])
    help = f"write `{whole or meant}`" if meant else f"a file is made of {known}"
    if word == "import" and not whole:
        help = "delete it: a spec needs no library, and `use file: name` brings what another file declares"
    label = f"expected {listed(wanted(at))}"
    return Finding(help, "E0106", f"`{word}` begins nothing that the language knows", label, fix=fix)


def moved(at: Stumble) -> Finding | None:
    return _moved(at.previous, at.previous_span)


def _moved(word: str, span: Span) -> Finding | None:
    """A word in front of the one that begins a declaration or a repeat."""
    source = span.source
    after = AFTER_A_WORD.match(source.text, span.end)
    if after is None or word in RESERVED:
        return None
    kind = after[1]
    rest = source.text[after.end() :].partition("\n")[0].partition("#")[0].rstrip()
    help, fix = f"leave it out: the line begins with `{kind}`", ""
    if word == "ragged" and kind == "width":
        axes = [axis.strip().removesuffix(" ragged") for axis in rest.split(",")]
        fix = ", ".join(f"{axis} ragged" for axis in axes) if all(axes) and "(" not in rest else ""
        help = f"it stands behind the name: `width {axes[0]} ragged`"
    elif word == "frozen" and kind == "param":
        fix = f"{rest.removesuffix(' frozen')} frozen" if ":" in rest else ""
        help = "it stands at the end: `param E: [...] frozen`"
    elif word == "shared" and kind == "repeat":
        body = re.fullmatch(r"([^{]*\S)([ \t]*\{.*)", rest)
        fix = f"{body[1]} shared{body[2]}" if body is not None else ""
        help = "it stands before the `{`: `repeat n shared { ... }`"
    elif word == "causal" and kind in ("block", "model"):
        help = "the claim stands behind a result, with its axis: `-> [seq, d] causal seq`"
    edit = ((Span(source, span.start, after.end() + len(rest)), f"{kind}{after[2] or ''} {fix}"),) if fix else ()
    return Finding(help, "E0106", f"`{word}` stands before `{kind}`", span=span, fix=edit)


def _whole_line(at: Stumble, meant: str) -> tuple[str, tuple[tuple[Span, str], ...]]:
    """What to write for a line of another language, and the edit where it is certain."""
    line = at.rest.partition("\n")[0].partition("#")[0].rstrip()
    imported = re.fullmatch(r"[ \t]+([A-Za-z_][\w.]*)[ \t]+import[ \t]+(\w[\w, \t]*)", line)
    if at.text == "from" and imported is not None:
        use = f"use {imported[1]}: {imported[2]}"
        return use, ((Span(at.source, at.span.start, at.span.end + len(line)), use),)
    alone = re.fullmatch(r"[ \t]+([A-Za-z_][\w.]*)", line)
    if at.text in ("import", "include") and alone is not None and not re.fullmatch(r"\s+(torch|numpy|jax)\b.*", line):
        return f"use {alone[1]}: name, other", ()
    head = re.match(r"[ \t]+(\w+)[ \t]*\(", line)
    if meant in ("block", "model") and at.text in ITEM_ALIASES and head is not None and "->" not in line:
        return f"{meant} {head[1]}(x: [...]) -> [...] {{ ... }}", ()
    return "", ()


def statement(at: Stumble) -> Finding | None:
    """A line of a body that begins with a word, and what follows binds nothing."""
    word = at.previous
    meant = what_was_meant(word, STATEMENT_WORDS, STATEMENT_ALIASES)
    if not meant:
        return Finding("a statement reads `name = value`")
    help = _loop(at) if word == "for" else f"write `{meant}`"
    fix = ((at.previous_span, meant),) if word not in STATEMENT_ALIASES else ()
    return Finding(help, "E0106", f"`{word}` begins no statement", span=at.previous_span, fix=fix)


def _loop(at: Stumble) -> str:
    """The `repeat` for `for i in range(n)`."""
    rest = at.source.text[at.span.start :].split("\n", 1)[0]
    counted = r"range[ \t]*\((?:[ \t]*0[ \t]*,)?([^,{}]*)\)"
    head = re.match(rf"(\w+)[ \t]+in[ \t]+(?:{counted}|((?!range)[^,{{}}:#]*))[ \t]*(?:[{{:#]|\Z)", rest)
    count = (head[2] or head[3] or "").strip() if head is not None else ""
    if head is None or not count:
        return "write `repeat n { ... }`"
    index = "" if head[1] == "_" else f"{head[1]} in "
    return f"write `repeat {index}{count} {{ ... }}`"


def hyphen(at: Stumble) -> Finding | None:
    """`block my-model`."""
    parts = re.match(r"(?:-\w+)+", at.source.text[at.span.start :])
    assert parts is not None
    whole = (at.previous + parts.group()).replace("-", "_")
    edit = Span(at.source, at.previous_span.start, at.span.start + parts.end())
    certain = re.match("block|model", at.line) is not None
    return Finding(f"a name has no `-`: write `{whole}`", fix=((edit, whole),) if certain else ())


def slice(at: Stumble) -> Finding | None:
    """`x[1:]`, `x[:, 3]`, `x[seq = :4]`."""
    rest = re.match(r"([^][\n]*)\]?[ \t]*(\(?)", at.source.text[at.span.start :])
    if rest is not None and ("->" in rest[1] or rest[2]):  # the brackets of a call
        return None
    value = re.search(r"([\w.]+)[ \t]*\[[^][]*\Z", at.before)
    shown = value[1] if value else "x"
    if at.text == ":" and re.match(r"[ \t]*[],]", at.rest):
        return Finding(f"an axis that is not named stays as it is: `{shown}[axis = e]` picks along another")
    axis = re.search(r"(\w+)[ \t]*=[^,[]*\Z", at.before)
    first = re.search(r"\b([1-9]\d*)[ \t]*:[ \t]*\Z", at.before)
    return Finding(piece(shown, axis[1] if axis else "axis", first[1] if first else "0"))


def dotted(at: Stumble) -> Finding | None:
    """A dot behind a call, or behind its brackets: a label that came late, or a method of other languages."""
    source, start = at.source, at.span.start
    word = re.match(r"\.[ \t]*(\w+)", source.text[start:])
    if word is None:
        return None
    label, end = word[1], start + word.end()
    called = re.match(r"[ \t]*[(\[]", source.text[end:]) is not None
    if at.previous == ")":
        help = ATTRIBUTES.get(label, "a label stands behind the name of what is called: `linear.out[a -> b](x)`")
        return Finding(f"a value has no methods: `x |> {label}` pipes it" if called else help)
    callee = re.search(r"(\w+)(\.[ \t]*\w+)?([ \t]*\[[^][]*\])[ \t]*\Z", at.before)
    if callee is None or callee[2]:
        return Finding("a call has one label, before its brackets: `linear.out[a -> b](x)`")
    plain = re.match(r"[ \t]*(\([^()\n]*\))", source.text[end:])
    place = start - len(at.before) + callee.end(1)
    return Finding(
        f"write `{callee[1]}.{label}{callee[3]}{plain[1] if plain else '(...)' if called else ''}`",
        message="a label stands before the brackets",
        fix=((Span(source, place, place), f".{label}"), (Span(source, start, end), "")),
    )


def misspelt(at: Stumble) -> Finding | None:
    """A word of the language that could stand here, with letters turned round or missing."""
    known = tuple(sorted(filter(str.isalpha, map(spelling, at.accepts - WORDS.keys()))))
    meant = _nearest(at.text.lower(), known) if len(at.text) > 2 else ""
    # `annd` is `and` for sure; of letters added there may come another operator.
    if not meant or (meant in TRUTH_WORDS and re.sub(r"(.)\1+", r"\1", at.text.lower()) != meant):
        return None
    return Finding(f"write `{meant}`", fix=((at.span, meant),))


def what_was_meant(word: str, known: Iterable[str], aliases: dict[str, str]) -> str:
    """The word that was meant by a misspelt or a foreign one, or ""."""
    return aliases[word] if word in aliases else _nearest(word.lower(), tuple(known))


@lru_cache(1000)
def _nearest(word: str, known: tuple[str, ...]) -> str:
    return next(iter(get_close_matches(word, known, 1, 0.72)), "")


COMPUTED: dict[str, Callable[[Stumble], Finding | None]] = {
    "@" + each.__name__: each for each in (chain, item, moved, statement, hyphen, slice, dotted, misspelt)
}
