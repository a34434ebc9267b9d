"""What the cursor is on: the type of an expression and where its axes come from; blocks, ops, names; diagnostics."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...compiler.base.mentions import walk
from ...compiler.base.problems import Problems
from ...compiler.graph.typed_value import TypedValue, show
from ...compiler.graph.values import Scalar
from ...compiler.names.written_sizes import const_static
from ...compiler.ops import INITS
from ...compiler.sizes.axes import ConstOf, SizeOf, Static, axes_in, is_list, value_of
from ...dsl import syntax as s
from ...dsl.comments.docs import opening
from ...dsl.source import Span
from ...dsl.tokens import TRUTH_WORDS
from .. import describe
from ..analysis import Analysis, views
from ..lexical import WORDS, word_at
from ..names import AXES, VALUES, Mention, Symbol

_INSIDE = frozenset((*TRUTH_WORDS, "true", "false", "as"))  # words of expressions: the type says more


@dataclass(frozen=True, slots=True)
class Hover:
    """Markdown about a stretch of the text; the stretch is None where the text has changed since."""

    text: str
    span: Span | None


def hover(analysis: Analysis, offset: int) -> Hover | None:
    """What there is to say of a place."""
    found = None
    for view, at in views(analysis, offset):
        found = _code(view, at)
        if found is not None:
            if view is not analysis:
                found = Hover(found.text, None)
            break
    pages = [
        describe.error_page(problem.code)
        for problem in analysis.diagnostics
        if problem.span is not None and problem.span.start <= offset <= problem.span.end
    ]
    parts = [*([found.text] if found is not None else []), *dict.fromkeys(page for page in pages if page)]
    if not parts:
        return None
    return Hover("\n\n---\n\n".join(parts), found.span if found is not None else None)


def _code(view: Analysis, offset: int) -> Hover | None:
    if any(c.span.start <= offset <= c.span.end for c in view.file.comments):
        return None
    mention = view.names.at(offset)
    expressions = view.expressions(offset)
    call = next((e for e in expressions if isinstance(e, s.CallExpr)), None)
    if call is not None and call.callee.span.start <= offset <= call.callee.span.end:
        return _callee(view, call, mention)
    if mention is not None:
        return Hover(name_page(view, mention), mention.span)
    if call is not None:
        option = _option(call, offset)
        if option is not None:
            return option
    shown = _display(view, offset)
    if shown is not None:
        return shown
    word = word_at(view.text, offset)
    if word is not None and word.text in WORDS:
        inner = _expression(view, expressions, offset) if word.text in _INSIDE else None
        span = Span(view.source, word.start, word.end)
        return inner or Hover(f"**{word.text}**: {WORDS[word.text]}", span)
    return _expression(view, expressions, offset)


def _display(view: Analysis, offset: int) -> Hover | None:
    """The other name of an axis, `depth model as m`."""
    for node in walk(view.file):
        if isinstance(node, s.AxisDecl) and node.display is not None:
            name = node.display
            if name.span.start <= offset <= name.span.end:
                return Hover(
                    f"`{name.text}`: how diagrams, equations and tables of sizes call `{node.name.text}`", name.span
                )
    return None


# -- expressions


def _expression(view: Analysis, expressions: list[s.Expr], offset: int) -> Hover | None:
    """The innermost expression at the place whose type is known; of a number, its value."""
    for expression in expressions:
        wire = view.typed_value(expression.span)
        if wire is not None:
            text = " ".join(expression.span.text.split())
            shown = text if len(text) <= 60 else f"{text[:57]}..."
            environment = view.environment(view.names.owner(offset))
            return Hover(_page(describe.typed(shown, wire), describe.about(view, wire, environment)), expression.span)
    return _untyped(view, expressions[-1], offset) if expressions else None


def _untyped(view: Analysis, expression: s.Expr, offset: int) -> Hover:
    """What is no value of its own: a number as a declaration computes it, a call with several results, a mistake."""
    environment, module = view.environment(view.names.owner(offset)), view.facts.module

    def lookup(name: s.Ident) -> Static | None:
        axis = (environment.axis(name.text) if environment else None) or (
            module.axes.get(name.text) if module else None
        )
        if axis is not None:
            return SizeOf(axis)
        const = environment.const(name.text) if environment else None
        if const is None and module is not None and name.text in module.consts:
            const = ConstOf(module.consts[name.text])
        return const

    text = " ".join(expression.span.text.split())
    if isinstance(expression, s.CallExpr) and expression.callee.text in INITS:
        return Hover(f"**{expression.callee.text}**: how a weight begins", expression.span)
    if (wires := view.facts.results.get(expression.span)) is not None:
        return Hover(f"{describe.code(text)}\n\n{len(wires)} results", expression.span)
    static = const_static(expression, lookup, Problems())
    if static is None:
        return Hover(f"{describe.code(text)}\n\nits type is not known", expression.span)
    value = value_of(static)
    if value is not None:
        return Hover(describe.code(f"{text} = {describe.plain(value)}"), expression.span)
    when = "run time" if any(axis.is_width for axis in axes_in(static)) else "build time: each use says it"
    kind = "a list" if is_list(static) else "a number"
    return Hover(f"{describe.code(text)}\n\n{kind} known at {when}", expression.span)


def _page(first: str, lines: list[str]) -> str:
    return "\n\n".join(part for part in (describe.code(first), "\n".join(line for line in lines if line)) if part)


# -- calls


def _callee(view: Analysis, call: s.CallExpr, mention: Mention | None) -> Hover | None:
    wire = view.typed_value(call.span)
    owner = view.names.owner(call.span.start)
    environment = view.environment(owner)
    op = describe.op_named(call.callee.text, call.brackets is not None)
    lines: list[str] = []
    if wire is not None:
        lines = [describe.code(describe.typed("result", wire)), *describe.about(view, wire, environment)]
    elif call.span in view.facts.results:
        several = [wire for wire in view.facts.results[call.span] if wire is not None]
        lines = [describe.code("\n".join(describe.typed("result", wire) for wire in several))]
    lines += describe.weights_at(view.alone(owner), call.span)
    if mention is not None:
        page = name_page(view, mention)
    elif op is not None:
        page = describe.op_page(op)
    elif call.callee.text in INITS:
        page = f"**{call.callee.text}**: how a weight begins"
    elif call.callee.text in WORDS:
        page = f"**{call.callee.text}**: {WORDS[call.callee.text]}"
    else:
        return None
    result = "\n".join(line for line in lines if line)
    return Hover("\n\n".join(part for part in (result, page) if part), call.callee.span)


def _option(call: s.CallExpr, offset: int) -> Hover | None:
    """The name of an op's option or operand."""
    op = describe.op_named(call.callee.text, call.brackets is not None)
    for argument in call.arguments:
        name = argument.name
        if op is not None and name is not None and name.span.start <= offset <= name.span.end:
            for option in op.options:
                if option.name == name.text:
                    return Hover(f"`{option.name}` of `{op.name}`: {option.doc}", name.span)
            if name.text == "init" and op.learned:
                return Hover("`init`: how the weights begin: `normal(std)`, `zeros`, ...", name.span)
    return None


# -- names


def name_page(view: Analysis, mention: Mention) -> str:
    """What a name stands for."""
    symbol, meant = mention.symbol, mention.symbol.meant
    environment = view.environment(view.names.owner(mention.span.start))
    if meant.kind in VALUES | {"result"}:
        return _value(view, mention)
    if (ours := _in_its_place(view, mention)) is not None:
        theirs = f"in place of `{describe.head(symbol)}`, declared in {describe.location(view, meant.span)}"
        return f"{name_page(view, Mention(ours.span, ours, declares=True))}\n\n{theirs}"
    parts = [describe.code(describe.head(symbol))]
    if meant.kind in AXES:
        axis = (environment.axis(symbol.name) if environment is not None else None) or view.axis(symbol)
        wire = view.typed_value(mention.span)
        if wire is not None and not mention.declares:
            parts.append(f"its index: `{show(wire)}`")
        if axis is not None:
            parts.append(f"- {describe.axis_line(view, axis, environment)}")
    elif meant.kind == "const":
        value = _const(view, symbol)
        if value is not None:
            parts.append(f"the value is {describe.plain(value)}")
        elif symbol.owner is not None:
            parts.append("each call says its value")
    elif meant.kind == "file":
        return f"`{meant.name}`: {describe.location(view, meant.span)}\n\n{opening(meant.span.source.text)}"
    elif meant.kind == "label":
        parts = [f"`{meant.name}`: a label. The weights of what it labels are stored under this name."]
    elif meant.kind == "share":
        parts.append("one set of weights for all its calls")
    parts.append(describe.doc(meant))
    if symbol.path != view.path or meant.path != view.path:
        parts.append(f"declared in {describe.location(view, meant.span)}")
    return "\n\n".join(part for part in parts if part)


def _in_its_place(view: Analysis, mention: Mention) -> Symbol | None:
    """What this file declares in place of the axis or const that a `use` names."""
    names = [used for use, _ in view.names.uses for used in use.names if used.name.span == mention.span]
    ours = view.names.top.get((names[0].rename or names[0].name).text) if names else None
    return ours if ours is not None and ours.path == view.path and ours.kind in AXES | {"const"} else None


def _otherwise(wire: TypedValue, result: s.ResultDecl) -> bool:
    """Whether a variable is of another type than the result of its name: it is rebound on the way."""
    of_reals = wire.element is Scalar.REAL
    return {a.name for a in wire.axes} != {a.text for a in result.type.axes} or of_reals != (not result.type.element)


def _value(view: Analysis, mention: Mention) -> str:
    """A variable, an argument, a param: the type that it has at this place."""
    symbol = mention.symbol
    owner = symbol.owner
    environment = view.environment(owner)
    results = owner.results if owner is not None and symbol.path == view.path else ()
    result = next((each for each in results if each.name is not None and each.name.span == mention.span), None)
    wire = view.typed_value(mention.span) or view.typed_value(symbol.span)
    if result is not None and wire is not None and _otherwise(wire, result):
        head = describe.head(replace(symbol, kind="result", node=result))
        return f"{describe.code(head)}\n\na result: `{symbol.name}` is of another type on the way to it"
    if symbol.kind == "index" and isinstance(symbol.node, s.RepeatStatement):
        over = symbol.node.count
        const = environment.const(over.text) if environment is not None and isinstance(over, s.Name) else None
        listed = isinstance(over, s.ListExpr) or (const is not None and is_list(const))
        what = f"each number of `{over.span.text}` in turn" if listed else "the number of the pass, from 0"
        return f"{describe.code(describe.head(symbol))}\n\n{what}, known at build time"
    if wire is None or (symbol.kind in ("argument", "result") and mention.declares) or symbol.path != view.path:
        parts = [describe.code(describe.head(symbol))]
    else:
        parts = [describe.code(describe.typed(symbol.name, wire))]
    if wire is not None:
        parts.append("\n".join(line for line in describe.about(view, wire, environment) if line))
    if symbol.kind == "param":
        parts.append(describe.doc(symbol))
        parts += describe.weights_at(view.alone(owner), symbol.span)
    words = {"argument": "an argument of", "param": "a weight of", "result": "a result of"}
    if owner is not None and symbol.kind in words:
        parts.append(f"{words[symbol.kind]} `{owner.name.text}`")
    return "\n\n".join(part for part in parts if part)


def _const(view: Analysis, symbol: Symbol) -> object:
    """The value of a const, as far as it is known."""
    environment = view.environment(symbol.owner)
    if environment is not None:
        static = environment.const(symbol.name)
        return value_of(static) if static is not None else None
    module = view.facts.module
    const = module.consts.get(symbol.name) if module is not None else None
    return const.value if const is not None else None
