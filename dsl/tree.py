"""From the grammar's constructs to the syntax tree: one short method per rule of grammar.lark.

The parser calls these from the leaves up while it reads, so nothing here recurses, however long a sum is. What does
nest to the right (signs, powers, `else if`) is counted and refused beyond MAX_DEPTH, as brackets are in layout.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from .base.automaton import Lexeme
from .base.records import replace
from .diagnostic import Diagnostic, error
from .layout import MAX_DEPTH
from .source import Source, Span
from .syntax import (
    COMPUTED,
    Argument,
    Assign,
    AxisDecl,
    Binary,
    BlockDecl,
    BracketItem,
    BracketList,
    CallExpr,
    ConfigDecl,
    ConstDecl,
    Expect,
    Expr,
    Formal,
    Generic,
    Ident,
    If,
    IndexExpr,
    ListExpr,
    Name,
    NumberLiteral,
    OpDecl,
    ParamDecl,
    RepeatStatement,
    ResultDecl,
    Return,
    Setting,
    Share,
    SizeExpr,
    Statement,
    Truth,
    TypeExpr,
    Unary,
    Used,
    UseDecl,
    WhereExpr,
)

MAX_CALLS = 2_000
"""How deep calls, pipes and indices may stand in one another: checking them recurses."""

MAX_LINKS = 10_000
"""How many operators may stand in a row."""

MAX_DIGITS = 18
"""A whole number of more digits does not fit an int64, the largest index of any backend."""


MAX_NAME = 200
"""Letters of a name. Names become files, attributes and keys of a state dict."""


class RefusedText(Exception):
    """The text fits the grammar, and is refused all the same."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic.message)


class _Ended(NamedTuple):
    """A list of nodes, and where its text ends."""

    nodes: tuple[Any, ...]
    end: int


class ItemText:
    """The text of the item that is read: its places, its names, and how deep its nodes nest."""

    def begin(self, source: Source, base: int, doc: str) -> None:
        """Forget the item before. base: offset of the item's text."""
        self.source, self.base, self.doc = source, base, doc
        self.deepest: tuple[object, int] = (None, 0)  # the newest node that nests to the right, and how deep it is
        self.kept: list[object] = []
        self.depths: dict[int, tuple[int, int]] = {}  # of a node's calls in one another, and of its operators

    def between(self, start: int, end: int) -> Span:
        """The span of offsets in the item's text."""
        return Span(self.source, self.base + start, self.base + end)

    def over(self, token: Lexeme) -> Span:
        """The span of a token."""
        start = self.base + token.start_pos
        return Span(self.source, start, start + len(token.value))

    def ident(self, token: Lexeme) -> Ident:
        span = self.over(token)
        if len(token.value) > MAX_NAME:
            message = f"a name of {len(token.value):,} letters has more than {MAX_NAME}"
            raise RefusedText(error("E0220", message, span, help="shorten it"))
        return Ident(token.value, span)

    def maybe(self, token: Lexeme | None) -> Ident | None:
        return None if token is None else self.ident(token)

    def onwards(self, start: Lexeme | Any, end: int) -> Span:
        """From a token or node to an absolute offset."""
        first = _first(start) if hasattr(start, "span") else self.base + start.start_pos
        return Span(self.source, first, end)

    def sink(self, node: object, inner: object, span: Span) -> None:
        """Count how deep a node nests to the right; `span` is the place to blame."""
        depth = self.deepest[1] + 1 if self.deepest[0] is inner else 1
        if depth > MAX_DEPTH:
            raise RefusedText(
                error(
                    "E0107",
                    f"this nests more than {MAX_DEPTH} deep",
                    span,
                    "one too many",
                    help="name an inner value, or move it into a block",
                )
            )
        self.deepest = (node, depth)

    def nest(self, node: Any, parts: Iterable[object], *, call: bool, span: Span) -> Any:
        """Count how deep calls and indices, or operators in a row, hold one another."""
        inner = [self.depths[id(part)] for part in parts if id(part) in self.depths]
        calls = max((depth for depth, _ in inner), default=0) + call
        links = max((length for _, length in inner), default=0) + (not call)
        if calls > MAX_CALLS or links > MAX_LINKS:
            what = f"calls stand in one another more than {MAX_CALLS} deep" if calls > MAX_CALLS else ""
            message = what or f"more than {MAX_LINKS} operators stand in a row"
            raise RefusedText(error("E0107", message, span, "one too many", help="name an inner value"))
        self.depths[id(node)] = (calls, links)
        return node


class TreeBuilder:
    """A method for each rule of the grammar: callbacks of the automaton, and of lark."""

    def __init__(self) -> None:
        self.at = ItemText()
        self.begin = self.at.begin

    # -- items

    def use(self, parts: list[Any]) -> UseDecl:
        keyword, path, *names = parts
        last = names[-1] if names else path[-1]
        return UseDecl(path, tuple(names), self.at.onwards(keyword, last.span.end))

    def path(self, parts: list[Lexeme]) -> tuple[Ident, ...]:
        return tuple(map(self.at.ident, parts))

    def used(self, parts: list[Any]) -> Used:
        name, rename = self.at.ident(parts[0]), self.at.maybe(parts[1])
        return Used(name, rename, name.span.to((rename or name).span))

    def axes(self, parts: list[Any]) -> tuple[AxisDecl, ...]:
        return tuple(replace(axis, kind=parts[0].value) for axis in parts[1:])

    def axis(self, parts: list[Any]) -> AxisDecl:
        name, display, like = self.at.ident(parts[0]), self.at.maybe(parts[1]), self.at.maybe(parts[2])
        relation, size, ragged = parts[3], parts[4], self.at.maybe(parts[5])
        last = ragged or size or like or display or name
        return AxisDecl(
            "",
            name,
            display,
            like,
            size,
            relation is not None and relation.value == "<=",
            ragged,
            name.span.to(last.span),
        )

    def consts(self, parts: list[Any]) -> tuple[ConstDecl, ...]:
        return tuple(parts[1:])

    def numbers(self, parts: list[Any]) -> ListExpr:
        opener, *items, closer = parts
        return ListExpr(tuple(items), self.at.over(opener).to(self.at.over(closer)))

    def const(self, parts: list[Any]) -> ConstDecl:
        name = self.at.ident(parts[0])
        return ConstDecl(name, parts[1], name.span.to(parts[1].span))

    def param(self, parts: list[Any]) -> ParamDecl:
        keyword, name, type, init, frozen = parts
        end = self.at.over(frozen).end if frozen is not None else (init or type).span.end
        return ParamDecl(self.at.ident(name), type, init, frozen is not None, self.at.onwards(keyword, end))

    def init(self, parts: list[Any]) -> CallExpr:
        name, _, arguments, closer = parts
        return _call(self.at, name, name, None, None, arguments, closer)

    def config(self, parts: list[Any]) -> ConfigDecl:
        keyword, name, *settings, closer = parts
        return ConfigDecl(self.at.ident(name), tuple(settings), self.at.onwards(keyword, self.at.over(closer).end))

    def setting(self, parts: list[Any]) -> Setting:
        name = self.at.ident(parts[0])
        return Setting(name, parts[1], name.span.to(parts[1].span))

    def op(self, parts: list[Any]) -> OpDecl:
        keyword, name, generics, formals, results, target = parts
        place = self.at.over(target)
        span = self.at.onwards(keyword, place.end)
        return OpDecl(
            self.at.ident(name),
            generics or (),
            formals.nodes,
            results.nodes,
            target.value[1:-1],
            self.at.doc,
            span,
            place,
        )

    def block(self, parts: list[Any]) -> BlockDecl:
        keyword, name, display, generics, formals, results, body = parts
        shown = None if display is None else Ident(display.value[1:-1], self.at.over(display))
        head = self.at.onwards(keyword, (results or formals).end)
        span = self.at.onwards(keyword, body.end)
        outputs = results.nodes if results else ()
        return BlockDecl(
            keyword.value,
            self.at.ident(name),
            generics or (),
            formals.nodes,
            outputs,
            body.nodes,
            self.at.doc,
            span,
            head,
            shown,
        )

    def generics(self, parts: list[Any]) -> tuple[Generic, ...]:
        return tuple(parts[:-1])

    def generic(self, parts: list[Any]) -> Generic:
        name, kind, like, default = self.at.ident(parts[0]), parts[1], self.at.maybe(parts[2]), parts[3]
        last = default or like
        end = self.at.over(kind).end if last is None else last.span.end
        return Generic(name, kind.value, like, default, name.span.to(Span(self.at.source, end, end)))

    def formals(self, parts: list[Any]) -> _Ended:
        return _Ended(tuple(parts[:-1]), self.at.over(parts[-1]).end)

    def formal(self, parts: list[Any]) -> Formal:
        name, type, default = self.at.ident(parts[0]), parts[1], parts[2]
        return Formal(name, type, default, name.span.to((default or type).span))

    def single(self, parts: list[ResultDecl]) -> _Ended:
        return _Ended((parts[0],), parts[0].span.end)

    several = formals

    def result(self, parts: list[Any]) -> ResultDecl:
        type, causal, why = parts
        return _result(self.at, None, type, causal or (), why)

    def named(self, parts: list[Any]) -> ResultDecl:
        name, type, causal, why = parts
        return _result(self.at, self.at.ident(name), type, (self.at.ident(causal),) if causal else (), why)

    def type(self, parts: list[Any]) -> TypeExpr:
        element, opener, axes, closer = parts
        start = (opener if element is None else element).start_pos
        return TypeExpr(self.at.maybe(element), axes or (), self.at.between(start, closer.end_pos))

    names = path

    # -- statements

    def body(self, parts: list[Any]) -> _Ended:
        statements: list[Statement] = []
        for part in parts[:-1]:
            if isinstance(part, tuple):  # one line may declare many axes
                statements += part
            else:
                statements.append(part)
        return _Ended(tuple(statements), self.at.over(parts[-1]).end)

    def assign(self, parts: list[Any]) -> Assign:
        name, type, value = parts
        return Assign((self.at.ident(name),), type, value, self.at.onwards(name, value.span.end))

    def unpack(self, parts: list[Any]) -> Assign:
        *names, value = parts
        return Assign(tuple(map(self.at.ident, names)), None, value, self.at.onwards(names[0], value.span.end))

    def returns(self, parts: list[Any]) -> Return:
        return Return(tuple(parts[1:]), self.at.onwards(parts[0], parts[-1].span.end))

    def expect(self, parts: list[Any]) -> Expect:
        return Expect(self.at.ident(parts[1]), parts[2], self.at.onwards(parts[0], parts[2].span.end))

    def share(self, parts: list[Any]) -> Share:
        name, block = self.at.ident(parts[1]), self.at.ident(parts[-1])
        return Share(name, block, self.at.onwards(parts[0], block.span.end))

    def repeat(self, parts: list[Any]) -> RepeatStatement:
        keyword, label, index, count, shared, body = parts
        head = self.at.onwards(keyword, self.at.over(shared).end if shared is not None else count.span.end)
        span = self.at.onwards(keyword, body.end)
        return RepeatStatement(
            self.at.maybe(label), self.at.maybe(index), count, shared is not None, body.nodes, span, head
        )

    def conditional(self, parts: list[Any]) -> If:
        keyword, condition, body, other = parts
        chained = isinstance(other, If)
        otherwise = () if other is None else (other,) if chained else other.nodes
        end = body.end if other is None else other.span.end if chained else other.end
        span = self.at.onwards(keyword, end)
        node = If(condition, body.nodes, otherwise, span)
        if chained:
            self.at.sink(node, other, self.at.over(keyword))
        return node

    # -- expressions

    def name(self, parts: list[Lexeme]) -> Name:
        name = self.at.ident(parts[0])
        return Name(name.text, name.span)

    def integer(self, parts: list[Lexeme]) -> NumberLiteral:
        span, digits = self.at.over(parts[0]), parts[0].value
        if len(digits) > MAX_DIGITS and len(digits.lstrip("0")) > MAX_DIGITS:
            raise RefusedText(error("E0105", "this number is too large", span, f"more than {MAX_DIGITS} digits"))
        return NumberLiteral(int(digits), span)

    def real(self, parts: list[Lexeme]) -> NumberLiteral:
        value, span = float(parts[0].value), self.at.over(parts[0])
        if math.isinf(value):
            raise RefusedText(error("E0105", "this number is too large", span, "beyond a 64-bit float"))
        return NumberLiteral(value, span)

    def truth(self, parts: list[Lexeme]) -> Truth:
        return Truth(parts[0].value == "true", self.at.over(parts[0]))

    def size(self, parts: list[Lexeme]) -> SizeExpr:
        return SizeExpr(self.at.ident(parts[1]), self.at.over(parts[0]).to(self.at.over(parts[2])))

    def paren(self, parts: list[Any]) -> Expr:
        # No node of its own, but the span grows by the brackets, so that what encloses it has its true ends.
        node = replace(parts[1], span=self.at.over(parts[0]).to(self.at.over(parts[2])))
        if id(parts[1]) in self.at.depths:
            self.at.depths[id(node)] = self.at.depths[id(parts[1])]
        self.at.kept.append(parts[1])  # kept alive, so that no other node gets its id
        return node  # type: ignore[no-any-return]

    def unary(self, parts: list[Any]) -> Unary:
        token, operand = parts
        node = Unary(token.value, operand, self.at.onwards(token, operand.span.end))
        self.at.sink(node, operand, self.at.over(token))
        return self.at.nest(node, (operand,), call=True, span=self.at.over(token))  # type: ignore[no-any-return]

    def binary(self, parts: list[Any]) -> Binary:
        left, token, right = parts
        node = Binary(token.value, left, right, left.span.to(right.span), self.at.over(token))
        if token.type == "CARET":
            self.at.sink(node, right, node.op_span)
        return self.at.nest(node, (left, right), call=False, span=node.op_span)  # type: ignore[no-any-return]

    def where(self, parts: list[Any]) -> WhereExpr:
        node = WhereExpr(parts[0], parts[1], self.at.onwards(parts[0], parts[1].span.end))
        return self.at.nest(node, parts, call=True, span=node.span)  # type: ignore[no-any-return]

    def pipe(self, parts: list[Any]) -> CallExpr:
        value, call = parts
        first = Argument(None, value, self.at.onwards(value, value.span.end))
        node = replace(call, arguments=(first, *call.arguments))
        self.at.kept.append(call)
        return self.at.nest(node, (value, call), call=True, span=call.span)  # type: ignore[no-any-return]

    def stage(self, parts: list[Any]) -> CallExpr:
        name, label, brackets, _, arguments, closer = parts
        return _call(self.at, name, name, label, brackets, arguments, closer)

    call = stage

    def scan(self, parts: list[Any]) -> CallExpr:
        keyword, axis, name, label, brackets, _, arguments, closer = parts
        return _call(self.at, keyword, name, label, brackets, arguments, closer, self.at.ident(axis))

    def args(self, parts: list[Argument]) -> tuple[Argument, ...]:
        return tuple(parts)

    def arg(self, parts: list[Any]) -> Argument:
        name, value = parts[0], parts[-1]
        if name is None:
            return Argument(None, value, self.at.onwards(value, value.span.end))
        return Argument(self.at.ident(name), value, self.at.onwards(name, value.span.end))

    def index_name(self, parts: list[Any]) -> IndexExpr:
        return self.index([self.name(parts), parts[1]])

    def index(self, parts: list[Any]) -> IndexExpr:
        value, brackets = parts
        node = IndexExpr(value, brackets, value.span.to(brackets.span))
        return self.at.nest(node, [value, *_values(brackets)], call=True, span=brackets.span)  # type: ignore[no-any-return]

    def brackets(self, parts: list[Any]) -> BracketList:
        opener, first, second, result, closer = parts
        each: tuple[Ident, ...] = ()
        items = first
        if second is not None:
            for item in first:
                if item.rename is not None or item.value is not None or item.at is not None:
                    from .mistakes.words import piece

                    raise RefusedText(
                        error(
                            "E0101",
                            "only names of axes stand before the `:`",
                            item.span,
                            "not a plain name",
                            help=piece("x", item.name.text, item.value.span.text)
                            if item.value is not None and result is None
                            else "the axes before `:` get weights of their own: `linear[expert: a -> b](x)`",
                        )
                    )
            each, items = tuple(item.name for item in first), second
        return BracketList(each, items, result, self.at.between(opener.start_pos, closer.end_pos))

    bracketed = args

    def item(self, parts: list[Lexeme]) -> BracketItem:
        name = self.at.ident(parts[0])
        return BracketItem(name, None, None, name.span)

    def item_at(self, parts: list[Expr]) -> BracketItem:
        span = parts[0].span
        return BracketItem(Ident(COMPUTED, span), None, None, span, parts[0])

    def item_as(self, parts: list[Lexeme]) -> BracketItem:
        name, rename = map(self.at.ident, parts)
        return BracketItem(name, rename, None, name.span.to(rename.span))

    def item_is(self, parts: list[Any]) -> BracketItem:
        name = self.at.ident(parts[0])
        return BracketItem(name, None, parts[-1], name.span.to(parts[-1].span))


def _call(
    at: ItemText,
    start: Lexeme,
    name: Lexeme,
    label: Lexeme | None,
    brackets: BracketList | None,
    arguments: tuple[Argument, ...] | None,
    closer: Lexeme | None,
    scan: Ident | None = None,
) -> CallExpr:
    if closer is not None:
        end = at.over(closer).end
    elif brackets is not None:
        end = brackets.span.end
    else:
        end = at.over(name if label is None else label).end
    for item in brackets.items if brackets is not None else ():
        if item.at is not None:
            text = " ".join(item.span.text.split())
            raise RefusedText(
                error(
                    "E0101",
                    "brackets hold names of axes, but this is computed",
                    item.span,
                    help=f"declare `depth name = {text}`, and write `name`; a block takes a number by its name, "
                    f"`n = {text}`",
                )
            )
    node = CallExpr(at.ident(name), at.maybe(label), brackets, arguments or (), at.onwards(start, end), scan)
    inner = [argument.value for argument in node.arguments] + _values(brackets)
    return at.nest(node, inner, call=True, span=node.callee.span)  # type: ignore[no-any-return]


def _result(
    at: ItemText, name: Ident | None, type: TypeExpr, causal: tuple[Ident, ...], why: Lexeme | None
) -> ResultDecl:
    trusted = None if why is None else Ident(why.value[1:-1], at.over(why))
    last = trusted or (causal[-1] if causal else type)
    return ResultDecl(name, type, causal, (name or type).span.to(last.span), trusted)


def _values(brackets: BracketList | None) -> list[Expr]:
    """The expressions in brackets."""
    items = () if brackets is None else brackets.items
    return [each for item in items for each in (item.value, item.at) if each is not None]


def _first(node: Any) -> int:
    """Where an expression begins: a pipe does so before its call's own span, which is that of the last stage."""
    start: int = node.span.start
    if isinstance(node, CallExpr) and node.arguments:
        return min(start, node.arguments[0].span.start)
    return start
