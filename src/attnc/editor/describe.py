"""Types, axes, blocks and ops in words, as Markdown."""

from __future__ import annotations

import os
from textwrap import dedent

from ..compiler.base.names import listed
from ..compiler.graph.equality import shape
from ..compiler.graph.nodes import Apply, Parameter, Repeat, Weight
from ..compiler.graph.typed_value import TypedValue, show
from ..compiler.graph.values import IndexInto
from ..compiler.ops import OPS, Notation, written
from ..compiler.ops.table import Op
from ..compiler.sizes.axes import Axis, Literal, Static, known, show_static
from ..compiler.typing.environment import Environment, Specialisation
from ..dsl import catalogue
from ..dsl import syntax as s
from ..dsl.comments.docs import behind
from ..dsl.source import Span
from .analysis import Analysis
from .names import Symbol


def code(text: str) -> str:
    """A fence that no text can break out of."""
    return f"```attn\n{text.replace('```', '` ` `')}\n```"


def op_named(name: str, brackets: bool = False) -> Op | None:
    """The row of an op as it is written: `max(a, b)` is another op than `max[k](x)`."""
    return (None if brackets else written(Notation.BARE, name)) or OPS.get(name)


# -- types


def typed(name: str, wire: TypedValue) -> str:
    """`name: [q, k]`, and its value where that is known."""
    value = known(wire.static) if wire.static is not None else None
    return f"{name}: {show(wire)}" + (f" = {plain(value)}" if value is not None else "")


def plain(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(plain, value))}]"
    return (
        str(value).lower() if isinstance(value, bool) else f"{value:.12g}" if isinstance(value, float) else str(value)
    )


def about(analysis: Analysis, wire: TypedValue, environment: Environment | None) -> list[str]:
    """What else is known of a value, and a line for each of its axes: kind, size, where it comes from."""
    lines = []
    if wire.mark:
        lines.append(f"sums to one over {listed(axis.name for axis in sorted(wire.mark, key=lambda a: a.id))}")
    if isinstance(wire.element, IndexInto):
        lines.append(f"holds indices into `{wire.element.axis.name}`")
    axes = list(wire.axes)
    if isinstance(wire.element, IndexInto) and wire.element.axis not in axes:
        axes.append(wire.element.axis)
    return ["; ".join(lines), *(f"- {axis_line(analysis, axis, environment)}" for axis in axes)]


def axis_line(analysis: Analysis, axis: Axis, environment: Environment | None = None) -> str:
    """Of one axis: its kind, its size, what it is a copy of, and where it is declared."""
    symbol = _declared(analysis, axis)
    node = symbol.node if symbol is not None else None
    written = node.size if isinstance(node, s.AxisDecl) else node.default if isinstance(node, s.Generic) else None
    parts = [f"`{axis.name}`: {axis.kind.value}", size_of(axis, written)]
    twins = (
        [a.name for a in environment.names.values() if a.family == axis.family and a != axis]
        if environment is not None
        else []
    )
    if twins:
        parts.append(f"copies of one axis: {listed([axis.name, *dict.fromkeys(twins)])}")
    if symbol is not None and isinstance(node, s.Generic) and symbol.owner is not None:
        parts.append(f"a parameter of `{symbol.owner.name.text}`")
    if axis.span is not None:
        parts.append(f"declared in {location(analysis, axis.span)}")
    return ", ".join(part for part in parts if part)


def _declared(analysis: Analysis, axis: Axis) -> Symbol | None:
    """The declaration of an axis, in whatever file."""
    names = analysis.project.names(analysis.project.path_of(axis.span.source)) if axis.span is not None else None
    found = names.at(axis.span.start) if names is not None and axis.span is not None else None
    return found.symbol if found is not None and found.symbol.name == axis.name else None


def size_of(axis: Axis, written: s.Expr | None = None) -> str:
    """The size of an axis in words; `written` is how the declaration says it."""
    derived = None
    if written is not None and not isinstance(written, s.NumberLiteral):
        derived = f"`{' '.join(written.span.text.split())}`"
    elif written is None and axis.size is not None and not isinstance(axis.size, Literal):
        derived = formula(axis.size)
    if axis.extent is not None:
        return f"size {axis.extent}" + (f" = {derived}" if derived else "")
    if axis.bound is not None and axis.size is None:
        return f"at most {axis.bound}, known at run time"
    if derived is not None:
        return f"size {derived}"
    if axis.ragged:
        return "of its own length in each example"
    return "size known at run time" if axis.is_width else "size for each use to say"


def formula(static: Static) -> str:
    return f"`{show_static(static)}`"


def location(analysis: Analysis, span: Span) -> str:
    """`file:line`, as a link where the file is on disk."""
    path = analysis.project.path_of(span.source)
    line = span.source.position(span.start)[0]
    shown = span.source.name if span.source.name.startswith("std/") else os.path.basename(path)
    return f"[{shown}:{line}](file://{path}#L{line})" if os.path.isabs(path) else f"{shown}:{line}"


# -- declarations


def head(symbol: Symbol) -> str:
    """The declaration of a name, as it is written."""
    node = symbol.node
    match node:
        case s.BlockDecl():
            return dedent(node.head.text)
        case s.AxisDecl(kind=kind):
            return f"{kind} {node.span.text}"
        case s.ConstDecl():
            return f"const {node.span.text}"
        case s.RepeatStatement():
            return node.head.text
        case s.Generic() | s.Formal() | s.OpDecl() | s.ParamDecl() | s.Share() | s.ResultDecl() | s.ConfigDecl():
            return node.span.text
        case s.Used(name=name):
            return f"{node.span.text}\n{head(symbol.target)}" if symbol.target is not None else f"use ...: {name.text}"
        case _:
            return symbol.name


def doc(symbol: Symbol) -> str:
    """The comment above a block; that behind an axis, const or param."""
    match symbol.meant.node:
        case s.BlockDecl(doc=words) | s.OpDecl(doc=words):
            return "\n".join(words.splitlines())
        case s.AxisDecl(span=span) | s.ConstDecl(span=span) | s.ParamDecl(span=span):
            return "\n".join(behind(span).splitlines())
        case _:
            return ""


def op_page(op: Op) -> str:
    """What the table says of an op."""
    parts = [code(op.usage), op.doc]
    for option in op.options:
        default = "must be given" if option.default is None else f"`{plain(option.default)}` if not given"
        parts.append(f"- `{option.name}`: {option.doc} ({default})")
    return "\n".join([*parts, "", code(op.example.strip())])


def error_page(code_: str) -> str:
    """What the catalogue says of a diagnostic: `attnc explain`, as Markdown."""
    entry = catalogue.CATALOGUE.get(code_)
    if entry is None:
        return ""
    text = " ".join(dedent(entry.explanation).split("\n")).strip()
    wrong, right = code(entry.wrong.strip()), code(entry.right.strip())
    return f"**{entry.code}: {entry.title}**\n\n{text}\n\nWrong:\n{wrong}\nRight:\n{right}"


# -- weights


def weights_at(block: Specialisation | None, span: Span) -> list[str]:
    """The weights that the call at a place of a block owns: name, stored shape (D2)."""
    found: list[Weight] = []
    todo = [block.graph] if block is not None and block.graph is not None else []
    while todo:
        for node in todo.pop().nodes:
            match node:
                case Apply(weights=weights) if node.span == span:
                    found = list(weights)
                case Parameter(weight=weight, out=out) if span in (weight.span, out.span):
                    found = [weight]
                case Repeat(bodies=bodies):
                    todo += bodies
                case _:
                    pass
    return [f"- `{weight.name}`: stored as {_stored(weight)}" for weight in found]


def _stored(weight: Weight) -> str:
    dims = [" ".join(axis.name for axis in dim) or "1" for dim in weight.dims]
    known_ = f" = {' x '.join(map(str, sizes))}" if (sizes := shape(weight)) and None not in sizes else ""
    return f"`[{', '.join(f'({dim})' if ' ' in dim else dim for dim in dims)}]`{known_}"
