"""The syntax tree of an `.attn` file: what was written, before any meaning is given to it.

Every node is frozen and carries the span of its text, which takes no part in equality: two files that differ in
layout alone have equal trees. Unions at the end list all statements and all expressions.
"""

from __future__ import annotations

from .base.records import field, record
from .source import Span


def _span() -> Span:
    """A field for the node's place in the text."""
    return field(compare=False, repr=False)  # type: ignore[no-any-return]


@record
class Ident:
    """A name as written at one place."""

    text: str
    span: Span = _span()


# -- expressions -------------------------------------------------------------------------------------------------


@record
class Name:
    """A variable, an axis standing for its index, or a const."""

    text: str
    span: Span = _span()


@record
class NumberLiteral:
    """`3` (int) or `0.1`, `1e-5` (float)."""

    value: int | float
    span: Span = _span()


@record
class Truth:
    """`true` or `false`."""

    value: bool
    span: Span = _span()


@record
class ListExpr:
    """`[0, 512, 512]`: numbers, or truth values. It stands where a const gets its value."""

    items: tuple[Expr, ...]
    span: Span = _span()


@record
class SizeExpr:
    """`|key|`: the size of an axis; `|windows|`: how many numbers a list has."""

    axis: Ident
    span: Span = _span()


@record
class Unary:
    """`-x` or `not x`."""

    op: str
    operand: Expr
    span: Span = _span()


@record
class Binary:
    """`+ - * / ^ %`, comparisons `<= >= == != < >`, and `and`, `or`. `op_span` is the operator's place."""

    op: str
    left: Expr
    right: Expr
    span: Span = _span()
    op_span: Span = _span()


@record
class WhereExpr:
    """`x where m`: x, of which an op is to see what the mask keeps."""

    value: Expr
    mask: Expr
    span: Span = _span()


COMPUTED = "..."
"""In the place of a name: what stands there is computed."""


@record
class BracketItem:
    """One entry in brackets: `a`, `a as b` (rename) or `a = e` (gather, or a named parameter).

    In the first form `a` may be a number, or be computed: then `at` is what makes it, and `name` is COMPUTED. These
    are read off a list; the checker, which refuses them elsewhere, knows what they were meant for.
    """

    name: Ident
    rename: Ident | None
    value: Expr | None
    span: Span = _span()
    at: Expr | None = None


@record
class BracketList:
    """`[a, b]`, `[a -> b, c]`, `[e: a -> b]`. `result` is None without an arrow."""

    each: tuple[Ident, ...]
    items: tuple[BracketItem, ...]
    result: tuple[Ident, ...] | None
    span: Span = _span()


@record
class Argument:
    """`e` or `name = e` in a call."""

    name: Ident | None
    value: Expr
    span: Span = _span()


@record
class CallExpr:
    """`callee.label[brackets](arguments)`: an op, a block, or a shared block. A pipe `x |> f(y)` is `f(x, y)`.

    `scan` holds the axis of `scan[seq] cell(...)`.
    """

    callee: Ident
    label: Ident | None
    brackets: BracketList | None
    arguments: tuple[Argument, ...]
    span: Span = _span()
    scan: Ident | None = None


@record
class IndexExpr:
    """`x[a as b]`, `x[a = e]` or `windows[i]`: brackets on a value, or a list, not followed by arguments."""

    value: Expr
    brackets: BracketList
    span: Span = _span()


Expr = Name | NumberLiteral | Truth | ListExpr | SizeExpr | Unary | Binary | WhereExpr | CallExpr | IndexExpr


# -- types -------------------------------------------------------------------------------------------------------


@record
class TypeExpr:
    """`[seq, model]`, `bool[q, k]`, `int[seq]`, or `vocab[seq]`: an index into vocab. `element` None: real."""

    element: Ident | None
    axes: tuple[Ident, ...]
    span: Span = _span()


# -- declarations ------------------------------------------------------------------------------------------------


@record
class AxisDecl:
    """`depth model as m = 512`, `width past like target`, `width seq <= 1024`, `width source ragged`.

    bounded: `<=` rather than `=`. ragged: the word, where it stands.
    """

    kind: str  # "width" | "depth"
    name: Ident
    display: Ident | None
    like: Ident | None
    size: Expr | None
    bounded: bool
    ragged: Ident | None
    span: Span = _span()


@record
class ConstDecl:
    """`const layers = 6`, `const windows = [0, 512]`."""

    name: Ident
    value: Expr
    span: Span = _span()


@record
class ParamDecl:
    """`param E: [vocab, model] ~ normal(0.02) frozen`."""

    name: Ident
    type: TypeExpr
    init: CallExpr | None  # `~ normal(0.02)` as a call; `~ zeros` is a call without arguments
    frozen: bool
    span: Span = _span()


@record
class Setting:
    """`model = 1024` in a config."""

    name: Ident
    value: Expr
    span: Span = _span()


@record
class ConfigDecl:
    """`config big { model = 1024, heads = 16 }`."""

    name: Ident
    settings: tuple[Setting, ...]
    span: Span = _span()


@record
class Used:
    """`a` or `a as b` in a `use`."""

    name: Ident
    rename: Ident | None
    span: Span = _span()


@record
class UseDecl:
    """`use std.attention: multihead, model`. Without a colon `names` is empty."""

    path: tuple[Ident, ...]
    names: tuple[Used, ...]
    span: Span = _span()


@record
class Generic:
    """An axis (or const) parameter of a block: `k: width like q`, `n: const = 3`. `kind`: width, depth, const."""

    name: Ident
    kind: str
    like: Ident | None
    default: Expr | None
    span: Span = _span()


@record
class Formal:
    """`mask: bool[q, k] = true`."""

    name: Ident
    type: TypeExpr
    default: Expr | None
    span: Span = _span()


@record
class ResultDecl:
    """One result: its name where it has one, its type, and the axes that it is to be causal along.

    trusted: why that is so where no proof says it, the text of `trusted "..."`; its span is that of the quoted text.
    """

    name: Ident | None
    type: TypeExpr
    causal: tuple[Ident, ...]
    span: Span = _span()
    trusted: Ident | None = None


@record
class BlockDecl:
    """`block f[q: width](x: [q]) -> [q] { ... }`; a `model` likewise. `doc` is the comment right above it."""

    keyword: str  # "block" | "model"
    name: Ident
    generics: tuple[Generic, ...]
    formals: tuple[Formal, ...]
    results: tuple[ResultDecl, ...]
    body: tuple[Statement, ...]
    doc: str
    span: Span = _span()
    head: Span = _span()  # from the keyword to the results, for messages about the signature
    display: Ident | None = None  # `as "..."`: its name in figures; the span is that of the quoted text


@record
class OpDecl:
    """`op f[a: width](x: [a]) -> [a] = "module:function"`: a primitive of the user's own."""

    name: Ident
    generics: tuple[Generic, ...]
    formals: tuple[Formal, ...]
    results: tuple[ResultDecl, ...]
    target: str
    doc: str
    span: Span = _span()
    target_span: Span = _span()


# -- statements --------------------------------------------------------------------------------------------------


@record
class Assign:
    """`x = e`, `x: type = e`, `a, _ = e`."""

    targets: tuple[Ident, ...]
    type: TypeExpr | None
    value: Expr
    span: Span = _span()


@record
class Return:
    values: tuple[Expr, ...]
    span: Span = _span()


@record
class Expect:
    """`expect x: [seq, model]`: a checked comment."""

    name: Ident
    type: TypeExpr
    span: Span = _span()


@record
class Share:
    """`share f = block_name`: one set of weights for many calls."""

    name: Ident
    block: Ident
    span: Span = _span()


@record
class RepeatStatement:
    """`repeat.label i in layers shared { ... }`. `count` may be a list, of which `index` is each number in turn."""

    label: Ident | None
    index: Ident | None
    count: Expr
    shared: bool
    body: tuple[Statement, ...]
    span: Span = _span()
    head: Span = _span()


@record
class If:
    """Static `if`: decided at build time, both branches checked."""

    condition: Expr
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]
    span: Span = _span()


Statement = Assign | Return | Expect | Share | RepeatStatement | If | ParamDecl | AxisDecl | ConstDecl
Item = UseDecl | AxisDecl | ConstDecl | ParamDecl | ConfigDecl | BlockDecl | OpDecl


@record
class Comment:
    """A comment with its `#`, kept for the formatter."""

    text: str
    span: Span = _span()


@record
class File:
    items: tuple[Item, ...]
    comments: tuple[Comment, ...] = field(compare=False)
    span: Span = _span()


def same(one: object, other: object) -> bool:
    """Whether two trees are equal but for their places: `==`, however deep they are."""
    from dataclasses import fields, is_dataclass  # takes time, which `attnc check` has not

    todo = [(one, other)]
    while todo:
        a, b = todo.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, tuple) and isinstance(b, tuple):
            if len(a) != len(b):
                return False
            todo += zip(a, b, strict=True)
        elif is_dataclass(a):
            todo += ((getattr(a, f.name), getattr(b, f.name)) for f in fields(a) if f.compare)
        elif a != b:
            return False
    return True
