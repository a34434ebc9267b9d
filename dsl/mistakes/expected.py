"""Syntax errors in words: what was found, what was expected, and what the writer may have meant.

The parser says which terminals it would have taken (`accepts`); here they become words. Then a list of small rules is
asked, in order, whether they know the slip; the first that does adds a help, and a fix where that is certain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from ..diagnostic import Diagnostic, error
from ..layout import ITEM_ALIASES, ITEM_WORDS, STATEMENT_WORDS, TRUTH_WORDS, Piece
from ..slips import FINITE, infinite, piece
from ..source import Source, Span

RESERVED = frozenset((*STATEMENT_WORDS, *TRUTH_WORDS, "else", "false", "scan", "true", "where"))
"""Words that are no names anywhere. (The terminal NAME of grammar.lark excludes the same; a test compares.)"""

_COMPARISONS = frozenset(("LESSEQUAL", "GREATEREQUAL", "EQUALS", "DIFFERS", "LESS", "GREATER"))
_ARITHMETIC = frozenset(("PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "CARET"))
_OPERATORS = _COMPARISONS | _ARITHMETIC | {"AND", "OR", "_WHERE", "PIPE"}
_EXPRESSION = frozenset(("NAME", "INT", "FLOAT", "TRUE", "FALSE", "BAR", "LPAR", "MINUS", "NOT", "SCAN"))
_STATEMENT = frozenset(("NAME", "RETURN", "EXPECT", "SHARE", "REPEAT", "IF", "PARAM", "WIDTH", "DEPTH", "CONST"))
_SUFFIXES = frozenset(("LPAR", "LSQB", "DOT"))
_WORDS = {"NAME": "a name", "STRING": 'a text such as `"module:function"`'}
_SIGNS = {
    "LPAR": "(", "RPAR": ")", "LSQB": "[", "RSQB": "]", "LBRACE": "{", "RBRACE": "}", "BAR": "|", "EQUAL": "=",
    "LESSEQUAL": "<=", "COMMA": ",", "COLON": ":", "DOT": ".", "TILDE": "~", "PIPE": "|>", "ARROW": "->",
}  # fmt: skip

# What other languages call the words of statements.
_STATEMENT_ALIASES = {"for": "repeat", "while": "repeat", "loop": "repeat", "yield": "return"}
# ... and statements that have no meaning here.
_NO_STATEMENTS = {
    "print": "delete it: `attnc inspect` shows any value of a run, by its path",
    "pass": "delete it",
    "assert": "`expect x: [a, b]` checks a type; what sizes must be is checked where they meet",
}
# ... and operators: what to write for the two that they join.
_OPERATOR_WORDS = {
    "xor": "a != b",
    "xnor": "a == b",
    "nand": "not (a and b)",
    "nor": "not (a or b)",
    "implies": "not a or b",
    "is": "a == b",
    "mod": "a % b",
    "div": "floor(a / b)",
}
# Attributes of values in other languages.
_SIZE, _ORDER = "`|seq|` is the size of the axis `seq`", "axes have names and no order: nothing is transposed"
_ATTRIBUTES = {**dict.fromkeys(("shape", "size", "ndim"), _SIZE), **dict.fromkeys(("T", "mT", "H"), _ORDER)}
_DOUBLES = frozenset(("->", "|>", "==", "<="))  # of which the parser may take the first half alone, or nothing
_BEGINNING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)[ \t]+[A-Za-z_]")
_AFTER_A_WORD = re.compile(rf"[ \t]+({'|'.join(ITEM_WORDS)}|repeat)(\.\w+)?[ \t]+(?=[A-Za-z_0-9])")
_FIRST_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LAST = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*|(?<![A-Za-z0-9_])[0-9][0-9A-Za-z_.]*|->|\|>|[<>=!]=|\S)\Z")


def begins_item(text: str, at: int) -> bool:
    """Whether a line begins a top-level item, or was meant to."""
    found = _BEGINNING.match(text, at)
    if found is None:
        return False
    before = _AFTER_A_WORD.match(text, found.end(1)) if found[1] not in RESERVED else None
    return bool(_meant(found[1], ITEM_WORDS, ITEM_ALIASES)) or (before is not None and before[1] in ITEM_WORDS)


def stand_in(text: str, heads: bool, first: bool) -> str | None:
    """What may stand in the place of a faulty line, so that the rest of its item can be read; None: nothing."""
    found = _FIRST_WORD.match(text)
    word = found.group() if found else ""
    if not first:
        if not heads:
            return ""
        if word in ("else", "elif", "elseif"):
            return "else if 0" if word == "else" and re.search(r"\bif\b", text) else "else"
        return "if 0"
    after = _AFTER_A_WORD.match(text, len(word))
    meant = after[1] if after is not None else _meant(word, ITEM_WORDS, ITEM_ALIASES)
    if meant in ("block", "model"):
        return "block _()"
    return "config _" if meant == "config" else None


def alone(text: str, heads: bool, first: bool) -> str:
    """An item that holds no more than one logical line."""
    if heads:
        text += " {}"
    if first:
        return text
    before = "if 0 {} " if re.match(r"else\b", text) else ""
    return f"block _() {{ {before}{text} }}"


def offset(unexpected: UnexpectedToken | UnexpectedCharacters, text: str) -> int:
    """Where in the item's text the parser gave up."""
    at = len(text)
    if isinstance(unexpected, UnexpectedCharacters) or unexpected.token.type != "$END":
        assert unexpected.pos_in_stream is not None
        at = unexpected.pos_in_stream
    # The parser takes `==` for `=` and `=` where it can do nothing with `==`.
    return at - 1 if text[at - 1 : at + 1] in _DOUBLES else at


@dataclass(frozen=True, slots=True)
class _Context:
    """Where the parser could not go on, as the rules see it."""

    text: str  # what stands there, "" at the end of the line
    kind: str  # its terminal
    accepts: frozenset[str]
    span: Span  # of what was found
    before: str  # the text of the item up to it
    previous: str  # the last token of `before`
    line: str  # the logical line up to it
    values: list[Any]  # the parser's stack: tokens and finished nodes
    newline: bool  # whether a newline stands between the previous token and this one

    @property
    def previous_span(self) -> Span:
        end = self.span.start - len(self.gap)
        return Span(self.span.source, end - len(self.previous), end)

    @property
    def gap(self) -> str:
        return self.before[len(self.before.rstrip()) :]

    @property
    def first(self) -> str:
        word = _FIRST_WORD.match(self.line)
        return word.group() if word else ""

    @property
    def begins_item(self) -> bool:
        return "USE" in self.accepts

    @property
    def after_expression(self) -> bool:
        # Not `*`: by then the parser may have taken a sum for finished.
        return "PLUS" in self.accepts and not self.after_place

    @property
    def after_place(self) -> bool:
        """Behind a name or number in brackets: most likely an axis, though it may be the place of a list's number."""
        return {"PLUS", "STAR"} <= self.accepts and "CARET" not in self.accepts

    @property
    def opener(self) -> str:
        """The innermost bracket that is open here."""
        stack = []
        for sign in re.findall(r"[][(){}]", self.before):
            if sign in "([{":
                stack.append(sign)
            elif stack:
                stack.pop()
        return stack[-1] if stack else ""


@dataclass(frozen=True, slots=True)
class _Finding:
    """What a rule says; what it leaves empty is filled in from the words for found and expected."""

    help: str = ""
    code: str = "E0101"
    message: str = ""
    label: str = ""
    span: Span | None = None
    fix: tuple[tuple[Span, str], ...] = ()


def explain(
    unexpected: UnexpectedToken | UnexpectedCharacters, source: Source, text: str, piece: Piece, at: int, item: str
) -> Diagnostic:
    """The diagnostic for an error of the parser at the offset `at` of the source; `item` is the text it was reading."""
    parser = unexpected.interactive_parser
    accepts = frozenset(parser.accepts())  # type: ignore[no-untyped-call]
    kind = unexpected.token.type if isinstance(unexpected, UnexpectedToken) else ""
    before = item[: at - piece.start]
    if kind == "_NL":  # point right after the last token, not after the comment behind it
        before = before.rstrip()
        span = Span(source, piece.start + len(before), piece.start + len(before))
        found = ""
    else:
        length = 2 if text[at : at + 2] in _DOUBLES else len(getattr(unexpected, "token", "?"))
        span = Span(source, at, min(at + length, piece.end))
        found = span.text
    last = _LAST.search(before.rstrip())
    start = piece.line_at(at).start - piece.start
    gap = source.text[piece.start + len(before.rstrip()) : at]
    context = _Context(
        found,
        kind,
        accepts,
        span,
        before,
        last.group() if last else "",
        before[start:],
        list(parser.parser_state.value_stack),
        "\n" in gap,
    )
    what = f"`{found}`" if found else "the end of the line"
    if kind == "NAME":
        what = f"the name `{found}`"
    elif found in RESERVED:
        what = f"the word `{found}`"
    wanted = _listed(_words(context))
    for rule in _RULES:
        finding = rule(context)
        if finding is not None:
            break
    else:
        finding = _Finding()
    return error(
        finding.code,
        finding.message or f"expected {wanted}, found {what}",
        finding.span or span,
        finding.label or ("" if finding.message else f"expected {wanted}"),
        help=finding.help,
        fix=finding.fix,
    )


# -- words


def _words(context: _Context) -> list[str]:
    """What would have been right, as words for a sentence."""
    accepts = set(context.accepts)
    words = []
    if context.begins_item:
        return ["`block`, `model` or a declaration"]
    if "RETURN" in accepts:
        words.append("a statement")
        accepts -= _STATEMENT | {"_NL"}
    if "TRUE" in accepts:
        words.append("an expression")
        accepts -= _EXPRESSION
    if "TRUE" not in context.accepts:  # brackets hold names: what else they take is read off lists alone
        accepts -= {"INT", "FLOAT", "BAR", "LPAR"} if "INT" in context.accepts else set()
        accepts -= _ARITHMETIC | _SUFFIXES if context.after_place else set()
    else:
        accepts -= {"LSQB"}
    if "LPAR" in accepts:  # a display name is rarely what was meant
        accepts.discard("_AS")
    if context.after_expression:
        words.append("an operator")
        accepts -= _OPERATORS | _SUFFIXES
    words += (word for kind, word in _WORDS.items() if kind in accepts)
    accepts -= _WORDS.keys()
    ends = accepts & {"_NL", "$END"}
    accepts -= ends
    words += [f"`{_spelling(kind)}`" for kind in sorted(accepts, key=_spelling)]
    if ends:
        words.append("the end of the line")
    return words


def _spelling(kind: str) -> str:
    return _SIGNS.get(kind, kind.strip("_").lower())


def _listed(words: list[str]) -> str:
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words) or "nothing more"


def _meant(word: str, known: Iterable[str], aliases: dict[str, str]) -> str:
    """The word that was meant by a misspelt or a foreign one, or ""."""
    if word in aliases:
        return aliases[word]
    return _nearest(word.lower(), tuple(known))


@lru_cache(1000)
def _nearest(word: str, known: tuple[str, ...]) -> str:
    return next(iter(get_close_matches(word, known, 1, 0.72)), "")


# -- rules, the most specific first


def _chain(context: _Context) -> _Finding | None:
    if context.kind not in _COMPARISONS or "AND" not in context.accepts:
        return None
    left, sign, middle = context.values[-3:]  # a complete expression that takes no comparison is itself a comparison
    again = middle.span.text
    return _Finding(
        code="E0109",
        message="comparisons do not chain",
        label="a second comparison",
        help=f"write `{left.span.text} {sign} {again} and {again} {context.text} ...`",
        fix=((Span(middle.span.source, middle.span.end, middle.span.end), f" and {again}"),),
    )


def _to_nothing(context: _Context) -> _Finding | None:
    if context.previous == "->" and context.text == "]":
        return _Finding(
            "a map makes an axis; for one number it is of size 1, `depth one = 1`, or a `dot` with a `param`"
        )
    return None


def _equals(context: _Context) -> _Finding | None:
    if context.text == "==" and context.kind == "EQUAL":  # the first half was taken for `=`
        fix = ((context.span, "="),)
        return _Finding(
            "a value is bound with one `=`", message="expected `=`, found `==`", label="expected `=`", fix=fix
        )
    if context.text == "=" and "EQUALS" in context.accepts:
        inside = context.opener in ("(", "[") or context.first == "if"
        return _Finding("two values are compared with `==`", fix=((context.span, "=="),) if inside else ())
    return None


def _no_value(context: _Context) -> _Finding | None:
    typed = re.match(r"\s*(\w+) *: *(\w*\[[^]]*\])\s*$", context.line)
    if typed is None or "EQUAL" not in context.accepts or not (context.newline or context.text in ("", "\n")):
        return None
    name, type = typed.groups()
    return _Finding(
        f"give it a value, `{name}: {type} = ...`; of a name that is bound, `expect {name}: {type}` says its type"
    )


def _item_begins(context: _Context) -> _Finding | None:
    if not context.begins_item:
        return None
    word = context.text
    if word in RESERVED or re.match(r"[ \t]*(?:=(?!=)|,|:[ \t]*\w*\[)", context.span.source.text[context.span.end :]):
        return _Finding(
            code="E0106",
            message="a statement stands outside of any block",
            help="move it into a `block` or a `model`; a number that is used in many places is a `const`",
        )
    if context.kind != "NAME":
        return None
    moved = _moved(word, context.span)
    if moved is not None:
        return moved
    meant = _meant(word, ITEM_WORDS, ITEM_ALIASES)
    known = _listed([f"`{each}`" for each in ITEM_WORDS if each != "param"])
    whole, fix = _whole_line(context, meant)
    if meant and not whole and word not in ITEM_ALIASES:
        fix = ((context.span, meant),)
    help = f"write `{whole or meant}`" if meant else f"a file is made of {known}"
    if word == "import" and not whole:
        help = "delete it: a spec needs no library, and `use file: name` brings what another file declares"
    return _Finding(
        code="E0106",
        message=f"`{word}` begins nothing that the language knows",
        label=f"expected {_listed(_words(context))}",
        help=help,
        fix=fix,
    )


def _moved(word: str, span: Span) -> _Finding | None:
    """A word in front of the one that begins a declaration or a repeat."""
    source = span.source
    after = _AFTER_A_WORD.match(source.text, span.end)
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
    return _Finding(help, "E0106", f"`{word}` stands before `{kind}`", span=span, fix=edit)


def _whole_line(context: _Context, meant: str) -> tuple[str, tuple[tuple[Span, str], ...]]:
    """What to write for a line of another language, and the edit where it is certain."""
    source, start, end = context.span.source, context.span.start, context.span.end
    line = source.text[end:].partition("\n")[0].partition("#")[0].rstrip()
    imported = re.fullmatch(r"[ \t]+([A-Za-z_][\w.]*)[ \t]+import[ \t]+(\w[\w, \t]*)", line)
    if context.text == "from" and imported is not None:
        use = f"use {imported[1]}: {imported[2]}"
        return use, ((Span(source, start, end + len(line)), use),)
    alone = re.fullmatch(r"[ \t]+([A-Za-z_][\w.]*)", line)
    if context.text in ("import", "include") and re.match(r"[ \t]+[\w.]+[ \t]+as\b|[ \t]+(torch|numpy|jax)\b", line):
        return "", ()
    if context.text in ("import", "include") and alone is not None:
        return f"use {alone[1]}: name, other", ()
    head = re.match(r"[ \t]+(\w+)[ \t]*\(", line)
    if meant in ("block", "model") and context.text in ITEM_ALIASES and head is not None and "->" not in line:
        return f"{meant} {head[1]}(x: [...]) -> [...] {{ ... }}", ()
    return "", ()


def _item_word_as_name(context: _Context) -> _Finding | None:
    alone = context.before.strip() == context.previous and context.text in ("=", "as", "like", "<=")
    if alone and context.previous in ITEM_WORDS and context.previous not in RESERVED:
        return _Finding(f"an axis is declared by its kind: `depth {context.previous} = ...`")
    return None


def _else_if(context: _Context) -> _Finding | None:
    if context.text in ("elif", "elseif", "elsif") and context.previous == "}":
        return _Finding("write `else if`", fix=((context.span, "else if"),))
    if context.text == "else":
        return _Finding("an `else` stands behind the `}` of its `if`")
    return None


def _statement_begins(context: _Context) -> _Finding | None:
    """A line of a body begins with a name, and what follows binds nothing."""
    if "COLON" not in context.accepts or context.line.strip() != context.previous:
        return None
    word, span = context.previous, context.previous_span
    moved = _moved(word, span) if context.text in RESERVED else None
    if moved is not None:
        return moved
    if word in ("block", "model", "use", "config", "op") and context.kind == "NAME":
        return _Finding("it stands at the top of a file", "E0106", f"`{word}` begins no statement", span=span)
    if word in _NO_STATEMENTS and context.text not in ("=", ","):
        return _Finding(_NO_STATEMENTS[word], "E0106", f"`{word}` begins no statement", span=span)
    if context.text in ("(", "[", ".") and context.gap == "":
        rest = context.span.source.text[context.span.start :].split("\n", 1)[0]
        if context.text == "[" and re.match(r"\[[^]]*\][ \t]*=(?!=)", rest):
            return _Finding(
                "bind a new name: `select(condition, new, old)` changes some of the items",
                "E0110",
                "a value cannot be changed in place",
            )
        call = {"(": "(...)", "[": "[...]", ".": ".label(...)"}[context.text]
        return _unbound(f"{word}{call}", span)
    if (
        context.kind == "NAME"
        or context.text in ("-", "(")
        or context.text in RESERVED
        or context.kind in ("INT", "FLOAT")
    ):
        meant = _meant(word, STATEMENT_WORDS, _STATEMENT_ALIASES)
        if word == "for":
            return _Finding(_loop(context), "E0106", "`for` begins no statement", span=span)
        if meant:
            fix = ((span, meant),) if word not in _STATEMENT_ALIASES else ()
            return _Finding(f"write `{meant}`", "E0106", f"`{word}` begins no statement", span=span, fix=fix)
        return _Finding("a statement reads `name = value`")
    if context.kind in _OPERATORS:
        return _unbound(f"{word} ...", span)
    if context.kind in ("_NL", "RBRACE"):
        return _unbound(word, span)
    return None


def _loop(context: _Context) -> str:
    """The `repeat` for `for i in range(n)`."""
    rest = context.span.source.text[context.span.start :].split("\n", 1)[0]
    counted = r"range[ \t]*\((?:[ \t]*0[ \t]*,)?([^,{}]*)\)"
    head = re.match(rf"(\w+)[ \t]+in[ \t]+(?:{counted}|((?!range)[^,{{}}:#]*))[ \t]*(?:[{{:#]|\Z)", rest)
    count = (head[2] or head[3] or "").strip() if head is not None else ""
    if head is None or not count:
        return "write `repeat n { ... }`"
    index = "" if head[1] == "_" else f"{head[1]} in "
    return f"write `repeat {index}{count} {{ ... }}`"


def _unbound(value: str, span: Span) -> _Finding:
    name = "z" if span.text == "y" else "y"
    what = f"write `{name} = {value}`, or return it"
    return _Finding(what, "E0110", "a statement must bind its value", "nothing takes what it gives", span)


def _reserved(context: _Context) -> _Finding | None:
    word, span = "", None
    if context.text in RESERVED and "NAME" in context.accepts and "TRUE" not in context.accepts:
        word, span = context.text, context.span
    elif context.previous in RESERVED and context.text in ("=", ":") and context.line.strip() == context.previous:
        word, span = context.previous, context.previous_span
    if not word:
        return None
    if word in ("width", "depth", "const") and context.opener == "(" and context.before.rstrip().endswith(":"):
        name = context.before.rstrip()[:-1].replace("(", " ").replace(",", " ").split()[-1]
        return _Finding(
            f"widths, depths and consts of a block stand in brackets: `[{name}: {word}]`, before the parentheses",
            "E0108",
            f"`{word}` is no type of an argument",
            span=span,
        )
    if word == "where" and context.previous == ".":
        help = "`select(condition, x, y)` chooses"
    else:
        help = f"take another name, such as `{word}_`"
    return _Finding(help, "E0108", f"`{word}` is a word of the language, not a name", span=span)


def _shared_call(context: _Context) -> _Finding | None:
    """What `share` names is a block, not a call of it."""
    head = re.fullmatch(r"share[ \t]+(\w+)[ \t]*=[ \t]*(\w+)[ \t]*", context.line)
    if head is None or context.text not in ("(", "[", "."):
        return None
    text, start = context.span.source.text, context.span.start
    name, end = head[1], start + len(text[start:].partition("\n")[0].partition("#")[0].rstrip())
    called = re.search(rf"(?<![\w.]){name}[ \t]*[(\[]", text[end:].partition("\n}")[0]) is not None
    empty = re.fullmatch(r"\([ \t]*\)", text[start:end]) is not None  # else the calls are to be given what stands here
    return _Finding(
        f"it names the block alone, `share {name} = {head[2]}`; the calls give axes and arguments: `{name}(...)`",
        message=f"`share {name} = {head[2]}` takes no call",
        fix=((Span(context.span.source, context.previous_span.end, end), ""),) if called and empty else (),
    )


def _display(context: _Context) -> _Finding | None:
    """A display name is quoted text: it may have spaces and signs."""
    if context.previous != "as" or context.accepts != {"STRING"}:
        return None
    quoted = ((context.span, f'"{context.text}"'),) if context.kind == "NAME" else ()
    return _Finding(
        'write it as in `block multihead as "Multi-Head Attention"(...)`',
        message="a display name is text in double quotes",
        fix=quoted,
    )


def _op_with_body(context: _Context) -> _Finding | None:
    """An op of one's own has no body."""
    if context.first != "op" or not context.accepts & {"EQUAL", "ARROW"} or context.text not in ("{", ""):
        return None
    start = context.span.start - len(context.line)
    word = Span(context.span.source, start, start + len("op"))
    return _Finding(
        'an `op` names a function in Python, `= "module:function"`; what is made of ops is a `block`',
        fix=((word, "block"),) if context.text else (),
    )


def _body(context: _Context) -> _Finding | None:
    if "LBRACE" not in context.accepts:
        return None
    if context.text in ("=", ":") and re.match(r"\s*\{", context.span.source.text[context.span.end :]):
        head = context.line.strip() if len(context.line) < 60 else "..."
        start = context.previous_span.end
        return _Finding(
            f"nothing stands between them: `{head} {{`",
            message=f"no `{context.text}` stands before the `{{`",
            fix=((Span(context.span.source, start, context.span.end), ""),),
        )
    if context.text == ":":
        return _Finding("a body stands in braces: `{` here, and `}` after its last statement")
    if context.text == "[" and "ARROW" in context.accepts:
        return _Finding("a result is written `-> [axis, ...]`", fix=((context.span, "-> ["),))
    if context.text == "causal" and "ARROW" in context.accepts:
        return _Finding("the claim stands behind a result: `-> [seq, d] causal seq`")
    if context.text == "causal" and context.before.rstrip().endswith(")"):
        return _Finding("the claim stands behind its result, inside: `-> (out: [seq, d] causal seq, state: [d])`")
    return None


def _signature(context: _Context) -> _Finding | None:
    """Mistakes in types and in what a block takes."""
    name = context.previous
    if context.accepts == {"COLON"} and context.text in (",", ")", "]", "="):
        if context.opener == "[":
            return _Finding(f"say what it is: `{name}: width`, `{name}: depth` or `{name}: const`")
        return _Finding(f"say what type it has: `{name}: [axis, ...]`")
    if (
        context.text == "("
        and context.accepts == {"NAME"}
        and re.search(r"\bscan[ \t]*\[\s*\w+\s*\]\s*\Z", context.before)
    ):
        return _Finding("the block that is scanned stands in front of its arguments: `scan[seq] cell(x, h = 0)`")
    if context.text == "," and context.accepts == {"RSQB"} and re.search(r"\bscan[ \t]*\[\s*\w+\s*\Z", context.before):
        return _Finding("a scan runs along one axis: scan the other one in a block of its own")
    if name == "scan":
        return _Finding("a scan names the axis that it runs along: `scan[seq] f(...)`")
    if context.accepts == {"LSQB"} or (context.accepts == {"NAME", "LSQB"} and context.text):
        return _Finding("a type lists its axes: `[seq, model]`, `bool[q, k]`, or `[]` for a single number")
    if (
        context.text == ":"
        and "EQUAL" in context.accepts
        and (len(context.accepts) == 1 or context.first in ITEM_WORDS)
    ):
        return _Finding(f"write `{name} = ...`", fix=((context.span, " ="),) if context.gap == "" else ())
    if context.first == "param" and context.text == "," and "TILDE" in context.accepts:
        return _Finding("each `param` is a statement of its own, on a line of its own")
    if context.first == "use" and context.text == "*":
        return _Finding("name what it brings: `use path: name, other`")
    if context.text == "[" and context.previous in ("(", ",") and re.search(r"->[ \t]*\([^()]*\Z", context.before):
        return _Finding("each of several results has a name: `-> (y: [...], z: [...])`")
    hyphened = re.match(r"(?:-\w+)+", context.span.source.text[context.span.start :])
    if context.first in ITEM_WORDS and context.line.split() == [context.first, name] and hyphened and context.gap == "":
        whole = (name + hyphened.group()).replace("-", "_")
        at = context.previous_span.start
        fix = ((Span(context.span.source, at, context.span.start + hyphened.end()), whole),)
        return _Finding(f"a name has no `-`: write `{whole}`", fix=fix if context.first in ("block", "model") else ())
    if context.first == "use" and context.text in ("import", "as") and "COLON" in context.accepts:
        return _Finding("write `use path: name, other as alias`")
    return None


def _where_chooses(context: _Context) -> _Finding | None:
    if (
        context.kind == "_WHERE"
        and "LPAR" in context.accepts
        and context.span.source.text.startswith("(", context.span.end)
    ):
        return _Finding("choose between values with `select(condition, yes, no)`", fix=((context.span, "select"),))
    return None


def _where_named(context: _Context) -> _Finding | None:
    """`f(x, where = m)`."""
    named = re.match(r"[ \t]*=(?!=)[ \t]*", context.span.source.text[context.span.end :])
    if context.kind != "_WHERE" or named is None or context.opener != "(":
        return None
    one = context.previous == "," and re.search(r"\w[ \t]*(?:\[[^][]*\])?[ \t]*\([^(),]+,[ \t]*\Z", context.before)
    edit = Span(context.span.source, context.previous_span.start, context.span.end + named.end())
    return _Finding("a mask stands behind what it masks: `x where m`", fix=((edit, " where "),) if one else ())


def _where_twice(context: _Context) -> _Finding | None:
    if context.kind == "_WHERE" and "OR" in context.accepts:
        return _Finding("join the two masks with `and`")
    return None


def _after_pipe(context: _Context) -> _Finding | None:
    if "PIPE" in context.accepts and not context.after_expression and context.kind in _OPERATORS:
        return _Finding(f"put the pipe in brackets: `(x |> f) {context.text} ...`")
    if context.kind == "PIPE" and "OR" in context.accepts:
        return _Finding("put what the pipe begins with in brackets: `(...) |> f`")
    return None


def _slice(context: _Context) -> _Finding | None:
    """`x[1:]`, `x[:, 3]`, `x[seq = :4]`."""
    begins = context.text == ":" and context.previous in ("[", ",", "=")
    if context.opener != "[" or not (
        begins or (context.previous == ":" and context.kind in ("RSQB", "COMMA", "MINUS"))
    ):
        return None
    rest = re.match(r"([^][\n]*)\]?[ \t]*(\(?)", context.span.source.text[context.span.start :])
    if rest is not None and ("->" in rest[1] or rest[2]):  # the brackets of a call
        return None
    value = re.search(r"([\w.]+)[ \t]*\[[^][]*\Z", context.before)
    shown = value[1] if value else "x"
    if begins and re.match(r"[ \t]*[],]", context.span.source.text[context.span.end :]):
        return _Finding(f"an axis that is not named stays as it is: `{shown}[axis = e]` picks along another")
    axis = re.search(r"(\w+)[ \t]*=[^,[]*\Z", context.before)
    first = re.search(r"\b([1-9]\d*)[ \t]*:[ \t]*\Z", context.before)
    return _Finding(piece(shown, axis[1] if axis else "axis", first[1] if first else "0"))


def _brackets(context: _Context) -> _Finding | None:
    """Brackets hold names of axes."""
    if (
        context.opener == "["
        and context.kind in _ARITHMETIC
        and not context.after_expression
        and re.fullmatch(r"\w[\w.]*", context.previous)
    ):
        size = f"{context.previous} {context.text} ..."
        by_name = f"; a block takes a number by its name, `n = {size}`" if "ARROW" in context.accepts else ""
        return _Finding(f"brackets hold names of axes: declare `depth name = {size}`, and write `name`{by_name}")
    if (
        context.opener == "["
        and context.text == ":"
        and "COLON" not in context.accepts
        and "EQUAL" not in context.accepts
    ):
        return _Finding("what stands for a parameter is given by `=`: `f[q = seq, k = past](x)`")
    if context.opener == "[" and context.text == "=" and re.fullmatch(r"[\d.]+", context.previous):
        return _Finding("axes have names and no order: one item of an axis is `x[axis = 0]`")
    if context.opener == "[" and context.text == "=" and "EQUAL" not in context.accepts:
        return _Finding("options stand in parentheses, behind the operand: `linear[a -> b](x, bias = false)`")
    if context.opener != "[" or "NAME" not in context.accepts or "TRUE" in context.accepts:
        return None
    if context.kind in ("INT", "MINUS") and re.search(r"\.[ \t]*(shape|size)[ \t]*\[\Z", context.before.rstrip()):
        return _Finding(_SIZE)
    if context.kind in ("INT", "MINUS"):
        return _Finding(
            "brackets hold names of axes: declare `depth name = size`; one item of an axis is `x[axis = 0]`"
        )
    if context.text == "]" and context.previous == "[":
        return _Finding("name the axes that it acts on, or leave the brackets away")
    return None


def _called(context: _Context) -> _Finding | None:
    if context.text == "." and context.previous in (")", "]") and "NAME" not in context.accepts:
        return _dotted(context)
    if context.kind == "LPAR" and context.previous in (")", "]") and context.after_expression:
        made = re.search(r"\.[ \t]*[A-Z]\w*\([^()]*\)\Z", context.before)  # `nn.Linear(8, 8)(x)`
        otherwise = "what is learned is an op, such as `linear[a -> b](x)`" if made else "bind the value first"
        return _Finding(f"only a name is called: {otherwise}")
    attribute = re.search(r"\w(\.[ \t]*(\w+)(?:\[[^][]*\])?)\Z", context.before.rstrip())
    known = attribute is not None and attribute[2] in _ATTRIBUTES
    if attribute is not None and (context.accepts == {"LPAR", "LSQB"} or (known and context.accepts == {"LPAR"})):
        end = context.span.start - len(context.gap)
        span = Span(context.span.source, end - len(attribute[1]), end - len(attribute[1]) + len(attribute[2]) + 1)
        help = _ATTRIBUTES.get(attribute[2], f"it labels the weights of a call: `linear.{attribute[2]}[a -> b](x)`")
        return _Finding(
            help, message=f"`.{attribute[2]}` asks for a call", label="expected `(` or `[` behind it", span=span
        )
    if context.accepts == {"LPAR"} and context.previous == "]":
        return _Finding("give its operand: `(x)`; without one it can only stand after `|>`")
    return None


def _dotted(context: _Context) -> _Finding | None:
    """A dot behind a call, or behind its brackets: a label that came late, or a method of other languages."""
    source, start = context.span.source, context.span.start
    word = re.match(r"\.[ \t]*(\w+)", source.text[start:])
    if word is None:
        return None
    label, end = word[1], start + word.end()
    called = re.match(r"[ \t]*[(\[]", source.text[end:]) is not None
    if context.previous == ")":
        help = _ATTRIBUTES.get(label, "a label stands behind the name of what is called: `linear.out[a -> b](x)`")
        return _Finding(f"a value has no methods: `x |> {label}` pipes it" if called else help)
    callee = re.search(r"(\w+)(\.[ \t]*\w+)?([ \t]*\[[^][]*\])[ \t]*\Z", context.before)
    if callee is None or callee[2]:
        return _Finding("a call has one label, before its brackets: `linear.out[a -> b](x)`")
    plain = re.match(r"[ \t]*(\([^()\n]*\))", source.text[end:])
    at = start - len(context.before) + callee.end(1)
    return _Finding(
        f"write `{callee[1]}.{label}{callee[3]}{plain[1] if plain else '(...)' if called else ''}`",
        message="a label stands before the brackets",
        fix=((Span(source, at, at), f".{label}"), (Span(source, start, end), "")),
    )


def _statement_within(context: _Context) -> _Finding | None:
    """The word of another statement in an expression, or behind it; of an `if` see `_ternary`."""
    if context.text == "repeat" and "TRUE" in context.accepts:
        return _Finding("a `repeat` has no value: `broadcast[a](x)` spreads one over an axis")
    if (
        context.text in STATEMENT_WORDS
        and context.text != "if"
        and context.after_expression
        and context.opener in ("", "{")
    ):
        return _Finding("begin a new line")
    return None


def _ternary(context: _Context) -> _Finding | None:
    if context.text == "if" and (context.after_expression or "TRUE" in context.accepts):
        return _Finding("choose between values with `select(condition, yes, no)`")
    if context.text == "~" and "TRUE" in context.accepts:
        return _Finding("write `not`", fix=((context.span, "not "),))
    if context.kind == "NOT" and "TRUE" in context.accepts:
        return _Finding("put it in brackets: `(not ...)`")
    return None


def _foreign(context: _Context) -> _Finding | None:
    """Forms that are written otherwise here."""
    if re.search(r"\blambda[ \t]*\Z", context.before.rstrip()):
        return _Finding("functions have names: write a `block`")
    if context.text == ">" and context.previous == ">":
        pair = Span(context.span.source, context.previous_span.start, context.span.end)
        named = re.match(r"[ \t]*[A-Za-z_]", context.span.source.text[context.span.end :])
        return _Finding("a pipe is `|>`", fix=((pair, "|>"),) if named else ())
    if context.text == "times" and context.first == "repeat":
        return _Finding("leave it out: `repeat n { ... }`")
    if context.text == "<" and context.opener == "[":
        return _Finding("an arrow points to what is made: `linear[a -> b](x)`")
    if context.kind in ("INT", "FLOAT") and context.previous == "~":
        return _Finding(f"write `constant({context.text})`", fix=((context.span, f"constant({context.text})"),))
    if context.text == "=" and context.accepts == {"LBRACE"} and context.first in ("block", "model"):
        return _Finding("a body stands in braces: `{ return ... }`")
    return None


def _logic(context: _Context) -> _Finding | None:
    """Operators that other languages write as words, or as a bar."""
    if context.kind == "BAR" and context.after_expression:
        size = re.match(r"\|\w+\|", context.span.source.text[context.span.start :])
        return None if size else _Finding("write `or`", fix=((context.span, "or"),))
    rest = context.span.source.text[context.span.end :]
    written = _OPERATOR_WORDS.get(context.text) if context.after_expression else None
    if context.text == "is" and re.match(r"[ \t]+not\b", rest):
        written = "a != b"
    return _Finding(f"write `{written}`") if written else None


def _misspelt(context: _Context) -> _Finding | None:
    """A word of the language that could stand here, with letters turned round or missing."""
    known = tuple(sorted(filter(str.isalpha, map(_spelling, context.accepts - _WORDS.keys()))))
    meant = _nearest(context.text.lower(), known) if context.kind == "NAME" and len(context.text) > 2 else ""
    # `annd` is `and` for sure; of letters added there may come another operator.
    if meant in TRUTH_WORDS and re.sub(r"(.)\1+", r"\1", context.text.lower()) != meant:
        return None
    return _Finding(f"write `{meant}`", fix=((context.span, meant),)) if meant else None


def _comma(context: _Context) -> _Finding | None:
    """Two things side by side."""
    if (
        context.text == ","
        and context.opener == "("
        and context.previous not in ("(", ",")
        and "RPAR" in context.accepts
    ):
        return _Finding("there are no tuples: `a, b = f(x)` takes two results, `return a, b` gives two")
    begins = ({"NAME"} if context.opener == "[" else _EXPRESSION | {"LSQB"}) - {"MINUS"}
    if context.opener == "(" and context.accepts & {"COMMA", "PLUS"} == {"PLUS"} and context.kind in begins:
        return _Finding("join the two with an operator")
    if "COMMA" not in context.accepts or context.kind not in begins or context.text == "as":
        return None
    if context.opener in ("(", "[") and (context.newline or not context.after_expression):
        at = context.previous_span.end
        return _Finding("separate the two with a comma", fix=((Span(context.span.source, at, at), ","),))
    if context.first in ("width", "depth", "const") and not context.after_expression:
        at = context.previous_span.end
        return _Finding("separate the two with a comma", fix=((Span(context.span.source, at, at), ","),))
    if context.opener in ("(", "["):
        return _Finding("separate the two with a comma, or join them with an operator")
    return None


def _text(context: _Context) -> _Finding | None:
    if context.text == "[" and "TRUE" in context.accepts:
        where = "; axes stand in brackets behind the name of an op: `sum[d](x)`" if context.opener == "(" else ""
        return _Finding(f"a list is a `const`: `const numbers = [0, 1]`, read as `numbers[i]`{where}")
    if context.kind != "STRING":
        return None
    if infinite(context.text):
        return _Finding(FINITE)
    if context.text.startswith('""') and "RETURN" in context.accepts:
        return _Finding("a comment begins with `#`")
    if context.previous == "=" and context.opener == "(":
        tanh = " (`gelu_tanh(x)` is an op of its own)" if "gelu" in context.before else ""
        return _Finding(f"options are numbers, or `true` or `false`{tanh}")
    return _Finding(
        "text is the target of an `op` alone; axes stand in brackets: `dot[d](x, y)`, `split[a -> b, c](x)`"
    )


_RULES: tuple[Callable[[_Context], _Finding | None], ...] = (
    _chain,
    _item_begins,
    _item_word_as_name,
    _else_if,
    _reserved,
    _to_nothing,
    _shared_call,
    _display,
    _op_with_body,
    _equals,
    _no_value,
    _statement_begins,
    _body,
    _signature,
    _where_chooses,
    _where_named,
    _where_twice,
    _after_pipe,
    _slice,
    _brackets,
    _called,
    _statement_within,
    _ternary,
    _foreign,
    _logic,
    _misspelt,
    _comma,
    _text,
)
