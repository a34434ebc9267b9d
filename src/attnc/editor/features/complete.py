"""What may be written at the cursor. The text around it says what is wanted; the checker's names say what there is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...compiler.graph.values import Scalar
from ...dsl import syntax as s
from ...dsl.source import Span
from ...dsl.tokens import JOINING_WORDS, TRUTH_WORDS
from .. import describe
from ..analysis import Analysis
from ..lexical import Around, Opened, Token, around, tokens
from ..names import AXES, Symbol
from . import offers
from .navigate import visible_names
from .offers import Offer

_HANGING = "= ( [ , + - * / ^ % < > <= >= == != |> -> where return in if repeat"
_OPERATORS = frozenset((*_HANGING.split(), *TRUTH_WORDS))  # an expression is to follow
_NAMING = frozenset(("param", "const", "expect"))  # no expression follows, but behind a `=`


def complete(analysis: Analysis, offset: int) -> list[Offer]:
    """The offers at a place, the likeliest first; none in comments and numbers."""
    place = around(analysis.text, offset)
    if place.silent or (not place.word and analysis.text[offset - 1 : offset].isdigit()):
        return []
    found: dict[str, Offer] = {}
    for offer in _Completion(analysis, offset, place).offers():
        if offer.label not in found or offer.rank < found[offer.label].rank:
            found[offer.label] = offer
    return sorted(found.values(), key=lambda offer: (offer.rank, offer.label))


class _Completion:
    def __init__(self, analysis: Analysis, offset: int, place: Around) -> None:
        self.analysis, self.offset, self.cursor = analysis, offset, place
        self.view, self.at, self.names, self.visible = visible_names(analysis, place.start)

    def offers(self) -> Iterator[Offer]:
        place = self.cursor
        first = place.line[0].text if place.line else ""
        if first == "use" and not place.opened:
            yield from self._use()
        elif place.previous == "." and place.line[-2:-1] and place.line[-2].is_name:
            yield from self._labels()
        elif place.previous == "like":
            yield from offers.axes(self.view, self._with_parameters(), kind=self._kind(first))
        elif place.previous == "|" and self._texts().count("|") % 2:  # `|a|`, a size
            yield from offers.axes(self.view, self._with_parameters())
        elif self._scans():
            yield from offers.blocks(self.visible)
        elif place.inner is None:
            yield from self._top(first)
        elif place.inner.bracket == "{":
            yield from self._body(first)
        elif self._signature(place.inner):
            yield from self._in_signature(place.inner)
        elif place.inner.bracket == "[":
            yield from self._in_brackets(place.inner)
        else:
            yield from self._in_call(place.inner)

    # -- the top of a file

    def _use(self) -> Iterator[Offer]:
        line = [token.text for token in self.cursor.line[1:]]
        if ":" in line:
            given = {text for text in line[line.index(":") + 1 :] if text not in (",", "as")}
            if self.cursor.previous in (":", ","):
                parts = [text for text in line[: line.index(":")] if text != "."]
                yield from offers.used_names(self.analysis, parts, given)
            elif self.cursor.previous != "as":
                yield from offers.words(["as"])
        elif not line or line[-1] == ".":
            yield from offers.modules(self.analysis.path, [text for text in line if text != "."])

    def _top(self, first: str) -> Iterator[Offer]:
        place = self.cursor
        if not place.line:
            yield from offers.snippets(offers.ITEMS)
        elif first in ("width", "depth"):
            yield from self._declaration(first)
        elif first == "const" and "=" in self._texts():
            yield from self._sizes()
        elif place.previous == "causal" or (place.previous == "," and "causal" in self._texts()):
            yield from offers.axes(self.view, self._with_parameters())
        elif first in ("block", "model") and place.previous == "]":
            yield from offers.words(["causal"])
        elif first in ("block", "model", "op") and place.previous == "->":
            yield from self._elements()

    def _declaration(self, kind: str) -> Iterator[Offer]:
        """`width a as b like c`, `depth d = size`."""
        if self.cursor.previous in ("width", "depth", ",", "as", "const"):
            return
        if {"=", "<="} & set(self._texts()):
            yield from self._sizes()
        else:
            yield from offers.words(["like", "as", *(["ragged"] if kind == "width" else [])])

    def _sizes(self) -> Iterator[Offer]:
        yield from offers.axes(self.view, self.visible)
        yield from offers.consts(self.visible)
        for name in ("ceil", "floor", "sqrt", "min", "max"):
            yield Offer(name, "op", insert=f"{name}($0)")

    # -- signatures

    def _signature(self, opened: Opened) -> bool:
        """Whether a bracket belongs to the head of a block, or to a type in it."""
        line = self.cursor.line
        keyword = bool(line) and line[0].text in ("block", "model", "op")
        return keyword and all(each.bracket != "{" for each in self.cursor.opened)

    def _in_signature(self, opened: Opened) -> Iterator[Offer]:
        previous = self.cursor.previous
        outer = self.cursor.opened[0]
        if opened is not outer or not opened.head:  # the brackets of a type
            yield from offers.axes(self.view, self._with_parameters())
        elif previous == ":" and opened.bracket == "[":
            yield from offers.words(["width", "depth", "const"], rank=0)
        elif previous == ":":
            yield from self._elements()
        elif previous == "=":
            yield from self._sizes()
            yield from offers.words(["true", "false"])
        elif opened.bracket == "[" and opened.parts[-1]:
            yield from offers.words(["like"])

    def _elements(self) -> Iterator[Offer]:
        yield from offers.words([Scalar.BOOL.value, Scalar.INT.value], rank=1)
        yield from offers.axes(self.view, self._with_parameters())

    def _with_parameters(self) -> dict[str, Symbol]:
        """The names in scope, and the parameters of the signature that is being written."""
        found = dict(self.visible)
        line = [token.text for token in self.cursor.line]
        for name, colon, kind in zip(line, line[1:], line[2:], strict=False):
            if colon == ":" and kind in AXES and name not in found:
                span = Span(self.view.source, self.at, self.at)
                found[name] = Symbol(name, kind, self.view.path, span, None)
        return found

    def _kind(self, first: str) -> str:
        """Of what kind a copy is to be: that of the declaration."""
        words = [token.text for token in self.cursor.line if token.text in AXES]
        return words[-1] if words else first if first in AXES else ""

    # -- bodies

    def _body(self, first: str) -> Iterator[Offer]:
        place, head = self.cursor, self._brace_head()
        if head == "config":
            if place.previous == "=":
                yield from self._sizes()
            else:
                for offer in (*offers.axes(self.view, self.names.top), *offers.consts(self.names.top)):
                    yield Offer(offer.label, offer.kind, offer.detail, insert=f"{offer.label} = $0")
        elif not place.line:
            yield from offers.snippets(offers.STATEMENTS)
            yield from offers.values(self.view, self.visible, self.at)
        elif first in ("width", "depth"):
            yield from self._declaration(first)
        elif first == "share":
            yield from (o for o in offers.blocks(self.visible) if place.previous == "=")
        elif first == "expect" and place.previous == "expect":
            yield from offers.values(self.view, self.visible, self.at)
        elif first == "param" and place.previous == "~":
            yield from offers.inits()
        elif first == "param" and ":" in self._texts() and (place.previous in ("]", ")") or "~" in self._texts()):
            yield from offers.words(["frozen"])
        elif first == "repeat" and place.previous in ("repeat", "in"):
            yield from self._sizes()
        elif place.previous in _OPERATORS:
            yield from self._expression()
        elif place.previous == ":" and (first in ("expect", "param") or len(place.line) == 2):  # `x: [..] = ...`
            yield from self._elements()
        elif first in _NAMING and "=" not in self._texts():
            return
        elif place.previous and (place.line[-1].is_name or place.previous in (")", "]")):
            yield from offers.words(["where", *JOINING_WORDS] if first != "repeat" else ["in", "shared"])

    def _scans(self) -> bool:
        """Whether the block of a `scan[a]` is to follow."""
        last = self._texts()[-4:]
        return last[:2] == ["scan", "["] and last[3:] == ["]"]

    def _brace_head(self) -> str:
        """The word that the item of the innermost brace begins with."""
        before = [t for t in self.cursor.before if t.start < (self.cursor.inner.at if self.cursor.inner else 0)]
        names = [t.text for t in before if t.text in ("config", "block", "model", "op")]
        return "config" if names[-1:] == ["config"] and len(before) < 4 else ""

    def _expression(self) -> Iterator[Offer]:
        if self.cursor.previous == "|>":  # only what is called
            yield from offers.blocks(self.visible, piped=True)
            yield from offers.ops(piped=True)
            yield from offers.words(["scan"])
            if self.cursor.word:
                yield from offers.library(self.analysis, self.visible, piped=True)
            return
        yield from offers.values(self.view, self.visible, self.at)
        yield from offers.axes(self.view, self.visible)
        yield from offers.consts(self.visible)
        yield from offers.blocks(self.visible)
        yield from offers.ops()
        yield from offers.words(["true", "false", "not", "scan", "pi"])
        if self.cursor.word:
            yield from offers.library(self.analysis, self.visible)

    def _labels(self) -> Iterator[Offer]:
        """The labels of the file, those of the same callee first."""
        callee = self.cursor.line[-2].text
        for mention in self.names.mentions:
            symbol = mention.symbol
            if symbol.kind == "label":
                same = isinstance(symbol.node, s.CallExpr) and symbol.node.callee.text == callee
                yield Offer(symbol.name, "label", "a label: the weights are stored under it", rank=1 if same else 3)

    # -- brackets and calls

    def _in_brackets(self, opened: Opened) -> Iterator[Offer]:
        previous = self.cursor.previous
        callee = opened.head[0].text if opened.head else ""
        symbol = self._callee(callee)
        op = describe.op_named(callee, brackets=True)
        if previous == "=" or (previous in _OPERATORS and previous not in ("[", ",", "->")):
            yield from self._expression()
        elif previous == "as":
            yield from self._copies(opened)
        elif symbol is not None:
            kind = self._parameter_kind(symbol, len(opened.parts) - 1)
            for offer in offers.axes(self.view, self.visible):  # those of the kind that is wanted first
                yield replace(offer, rank=1 if offer.kind == kind else 5)
            if previous in ("[", ","):
                yield from offers.parameters(self.view, symbol, *_arguments_before(opened.parts))
        elif previous in ("[", ",", "->", ":"):
            names = self._operands(opened) if op is not None else [callee]
            wires = [wire for name in names if (wire := offers.latest(self.view, name, self.at)) is not None]
            known = [axis.name for wire in wires for axis in wire.axes]
            inside = [token.text for token in opened.inside]
            if op is not None and op.learned and "->" in inside:  # what it eats it may make, too
                inside = inside[inside.index("->") :]
            given = set(inside)
            suited = [name for name in known if name not in given] if previous != "->" else []
            yield from (o for o in offers.axes(self.view, self.visible, suited) if o.label not in given)
        elif op is None and callee:
            yield from offers.words(["as"])

    def _parameter_kind(self, symbol: Symbol, position: int) -> str:
        """Of what kind the parameter at a position in the brackets of a call is."""
        node = symbol.meant.node
        generics = node.generics if isinstance(node, s.BlockDecl | s.OpDecl) else ()
        return generics[position].kind if position < len(generics) else ""

    def _operands(self, opened: Opened) -> list[str]:
        """The names in the parentheses that follow a bracket, and before a pipe."""
        row_end = self.analysis.text.find("\n", self.offset)
        rest = tokens(self.analysis.text, self.offset, len(self.analysis.text) if row_end < 0 else row_end)
        after: list[Token] = []
        depth = 1
        for token in rest:
            depth += (token.text in ("[", "(")) - (token.text in ("]", ")"))
            if depth == 0 and after and token.text == ")":
                break
            after.append(token)
        piped = [token.text for token in self.cursor.line] if "|>" in self._texts() else []
        return [token.text for token in after if token.is_name] + piped

    def _copies(self, opened: Opened) -> Iterator[Offer]:
        """`x[a as ...]`: the copies of the axis."""
        name = opened.parts[-1][0].text if opened.parts[-1] else ""
        symbol = self.visible.get(name)
        axis = self.view.axis(symbol) if symbol is not None else None
        for offer in offers.axes(self.view, self.visible, kind=symbol.meant.kind if symbol is not None else ""):
            other = self.view.axis(self.visible[offer.label])
            if offer.label == name:
                continue
            if axis is None or other is None:
                yield offer
            elif other.family == axis.family:
                yield replace(offer, rank=0)

    def _in_call(self, opened: Opened) -> Iterator[Offer]:
        part = opened.parts[-1]
        callee = opened.head[0].text if opened.head else ""
        if [token.text for token in part] == ["init", "="]:
            yield from offers.inits()
            return
        if not part:
            brackets = any(token.text == "[" for token in self._between(opened))
            op, symbol = describe.op_named(callee, brackets), self._callee(callee)
            count, given = _arguments_before(opened.parts)
            count += bool(opened.head) and self._piped(opened.head[0])
            if symbol is not None:
                yield from offers.arguments(symbol, count, given)
            elif op is not None:
                yield from offers.options(op, count, given)
        if not part or part[-1].text in _OPERATORS:
            yield from self._expression()
        else:
            yield from offers.words(["where", *JOINING_WORDS])

    def _piped(self, callee: Token) -> bool:
        """Whether the first argument of a call stands before it: `x |> f(...)`."""
        before = [token.text for token in self.cursor.before if token.start < callee.start]
        return before[-1:] == ["|>"]

    def _between(self, opened: Opened) -> Iterable[Token]:
        """What stands between the name of a call and its parenthesis."""
        end = opened.head[-1].end if opened.head else opened.at
        return [token for token in self.cursor.before if end <= token.start < opened.at]

    def _callee(self, name: str) -> Symbol | None:
        """The block that a name calls."""
        symbol = self.visible.get(name)
        if symbol is not None and symbol.kind == "share" and isinstance(symbol.node, s.Share):
            symbol = self.names.top.get(symbol.node.block.text)
        if symbol is None:
            return None
        return symbol if isinstance(symbol.meant.node, s.BlockDecl | s.OpDecl) else None

    def _texts(self) -> list[str]:
        return [token.text for token in self.cursor.line]


def _arguments_before(parts: list[list[Token]]) -> tuple[int, set[str]]:
    """What a call is given before the cursor: how many without a name, and the names of the others."""
    named = {part[0].text for part in parts if len(part) > 1 and part[1].text == "="}
    return len(parts) - 1 - sum(len(part) > 1 and part[1].text == "=" for part in parts[:-1]), named
