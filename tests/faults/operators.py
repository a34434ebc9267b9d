"""Faults that a tired programmer makes, put into a module one at a time: the syntax tree with one node replaced."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import TypeVar

_COMPARE: dict[type[ast.cmpop], tuple[str, type[ast.cmpop]]] = {
    ast.Lt: ("a boundary moved", ast.LtE), ast.LtE: ("a boundary moved", ast.Lt),
    ast.Gt: ("a boundary moved", ast.GtE), ast.GtE: ("a boundary moved", ast.Gt),
    ast.Eq: ("a comparison turned round", ast.NotEq), ast.NotEq: ("a comparison turned round", ast.Eq),
    ast.In: ("a comparison turned round", ast.NotIn), ast.NotIn: ("a comparison turned round", ast.In),
    ast.Is: ("a comparison turned round", ast.IsNot), ast.IsNot: ("a comparison turned round", ast.Is),
}  # fmt: skip
_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
_NAMES = {
    "min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "reversed": "list",
    "start": "end", "end": "start", "left": "right", "right": "left", "lower": "upper", "upper": "lower",
    "first": "last", "last": "first", "startswith": "endswith", "axes": "made", "made": "axes", "lead": "axes",
}  # fmt: skip
_SYMMETRIC = {"min", "max", "isinstance", "gcd", "lcm"}
# In emitted code. What stands in a hole of an f-string is Python, and is changed as such.
_TEXT = [
    (r"-1\b", "-2"), (r"(?<![\w.-])0\b", "1"), (r"(?<![\w.-])1\b", "2"), (r" \+ ", " - "), (r" - ", " + "),
    (r" \* ", " + "), (r" / ", " * "), (r" <= ", " < "), (r" < ", " <= "), (r" >= ", " > "), (r" & ", " | "),
    (r"\bmin", "max"), (r"\bmax", "min"), (r"\bTrue\b", "False"), (r"\bFalse\b", "True"), (r"\bsum\(", "mean("),
    (r"\bzeros", "ones"), (r"\bones", "zeros"), (r"\bnot ", ""), (r"\bdim=", "dim=-1 + "), (r"\band\b", "or"),
]  # fmt: skip

N = TypeVar("N", bound=ast.AST)


@dataclass(frozen=True, slots=True)
class Fault:
    """The node `number` of the walk over the tree gets its replacement `choice`. lines: of the statement around it."""

    what: str
    lines: range
    number: int
    choice: int


def faults(text: str, emits: bool = False) -> Iterator[Fault]:
    """Every fault of a module. emits: its strings are code, and are changed too."""
    tree = ast.parse(text)
    quiet = _quiet(tree)
    lines = _statement_lines(tree)
    for number, node in enumerate(ast.walk(tree)):
        if id(node) not in quiet:
            for choice, (what, _) in enumerate(_changes(node, emits)):
                yield Fault(what, lines[id(node)], number, choice)


def change(text: str, fault: Fault, emits: bool = False) -> tuple[str, str]:
    """What stands there, and what comes in its place."""
    _, node, new = _found(text, fault, emits)
    return ast.unparse(node), ast.unparse(new)


def one_line(text: str) -> str:
    """Code as lists show it."""
    text = " ".join(text.split())
    return text if len(text) <= 100 else f"{text[:60]} ... {text[-35:]}"


def _found(text: str, fault: Fault, emits: bool) -> tuple[ast.Module, ast.AST, ast.AST]:
    tree = ast.parse(text)
    node = next(node for number, node in enumerate(ast.walk(tree)) if number == fault.number)
    return tree, node, list(_changes(node, emits))[fault.choice][1]


def with_fault(text: str, fault: Fault, emits: bool = False, sound: bool = False) -> str:
    """The text of the module with the fault in it; other definitions stay as they stand, letter by letter.

    sound: without the fault, but its definition printed anew in the same way.
    """
    tree, node, new = _found(text, fault, emits)
    part = next(part for part in tree.body if any(inner is node for inner in ast.walk(part)))
    decorators = part.decorator_list if isinstance(part, ast.FunctionDef | ast.ClassDef) else []
    first = min([part.lineno, *(decorator.lineno for decorator in decorators)])
    if sound:
        pass
    elif part is node:
        part = new  # type: ignore[assignment]
    else:
        _replace(part, node, new)
    lines = text.splitlines(keepends=True)
    end = next(part.end_lineno for part in ast.parse(text).body if first <= (part.end_lineno or 0))
    changed = ast.unparse(ast.fix_missing_locations(part))
    return "".join(lines[: first - 1]) + changed + "\n" + "".join(lines[end:])


def _replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
            elif isinstance(value, list):
                setattr(parent, field, [new if item is old else item for item in value])


def _quiet(tree: ast.Module) -> set[int]:
    """What no run sees: annotations, docstrings, assertions, decorators, what is imported for types alone."""
    hidden: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                parts = [*node.decorator_list]
                if isinstance(node, ast.FunctionDef):
                    parts += [node.returns, *(arg.annotation for arg in (*node.args.args, *node.args.kwonlyargs))]
            case ast.AnnAssign():
                parts = [node.annotation]
            case ast.Assign(value=ast.BinOp(op=ast.BitOr()) as union) if _is_type(union):
                parts = [union]
            case ast.Assert() | ast.Expr(value=ast.Constant()) | ast.keyword(arg="strict"):
                parts = [node]
            case ast.Call(func=ast.Name(id="cast" | "TypeVar" | "assert_never")):
                parts = [node]
            case ast.If() if ast.unparse(node.test) == "TYPE_CHECKING":
                parts = [node]
            case ast.Subscript(value=ast.Name(id=name)) if name[0].isupper() or name in {
                "tuple",
                "list",
                "dict",
                "set",
            }:
                parts = [node.slice]
        hidden |= {id(inner) for part in parts if part is not None for inner in ast.walk(part)}
    return hidden


def _statement_lines(tree: ast.Module) -> dict[int, range]:
    """For each node the lines of its innermost statement, without those of the statements inside."""
    found: dict[int, range] = {}

    def go(node: ast.AST, lines: range) -> None:
        if isinstance(node, ast.stmt | ast.match_case | ast.ExceptHandler):
            inner = [child for child in ast.walk(node) if isinstance(child, ast.stmt) and child is not node]
            first = node.pattern.lineno if isinstance(node, ast.match_case) else node.lineno
            last = node.body[-1].end_lineno if isinstance(node, ast.match_case) else node.end_lineno
            lines = range(first, max(first, min([line.lineno - 1 for line in inner], default=last or first)) + 1)
        found[id(node)] = lines
        for child in ast.iter_child_nodes(node):
            go(child, lines)

    go(tree, range(1, 2))
    return found


def _with(node: N, **fields: object) -> N:
    new = deepcopy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _without(items: list[N], place: int) -> list[N]:
    return items[:place] + items[place + 1 :]


def _changes(node: ast.AST, emits: bool) -> Iterator[tuple[str, ast.AST]]:
    """What may stand in the place of a node, and what is then wrong."""
    match node:
        case ast.expr():
            yield from _expression_changes(node)
            if emits and isinstance(node, ast.Constant) and isinstance(node.value, str):
                for pattern, other in _TEXT:
                    if re.search(pattern, node.value):
                        yield "wrong code emitted", ast.Constant(re.sub(pattern, other, node.value, count=1))
        case ast.stmt():
            yield from _statement_changes(node)
        case ast.comprehension(ifs=[_, *rest]):
            yield "a filter lost", _with(node, ifs=rest)
        case ast.match_case(guard=ast.expr()):
            yield "a guard lost", _with(node, guard=None)
        case ast.MatchOr(patterns=patterns) if len(patterns) > 2:
            yield "an alternative lost", _with(node, patterns=patterns[:-1])


def _expression_changes(node: ast.expr) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Compare(ops=ops):
            for place, op in enumerate(ops):
                if type(op) in _COMPARE:
                    what, other = _COMPARE[type(op)]
                    yield what, _with(node, ops=[*ops[:place], other(), *ops[place + 1 :]])
        case ast.BoolOp(op=op, values=values):
            yield "and for or", _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
            yield "a part of a condition lost", values[0] if len(values) == 2 else _with(node, values=values[:-1])
            yield "a part of a condition lost", values[1] if len(values) == 2 else _with(node, values=values[1:])
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _BINARY:
            if not any(
                isinstance(side, ast.List | ast.Tuple | ast.JoinedStr) or _is_text(side) for side in (left, right)
            ):
                yield "wrong arithmetic", _with(node, op=_BINARY[type(op)]())
            yield "an operand lost", left
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield "a not or minus lost", operand
        case ast.IfExp(body=body, orelse=orelse):
            yield "a condition negated", _with(node, body=orelse, orelse=body)
            yield "a condition always true", body
            yield "a condition always false", orelse
        case ast.Constant(value=bool() as value):
            yield "a truth value turned round", ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield "a number one off", ast.Constant(value + 1)
        case ast.Set(elts=elts) | ast.List(elts=elts) | ast.Tuple(elts=elts) if len(elts) > 1:
            if isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and all(_is_text(each) for each in elts):
                for place in range(len(elts)):
                    yield "an entry left out", _with(node, elts=_without(elts, place))
            elif isinstance(getattr(node, "ctx", None), ast.Load) and any(
                isinstance(each, ast.Starred) for each in elts
            ):
                yield "wrong order", _with(node, elts=[elts[1], elts[0], *elts[2:]])
        case ast.Dict(keys=keys, values=values) if len(keys) > 1:
            for place in range(len(keys)):
                yield (
                    "an entry left out",
                    _with(node, keys=_without(keys, place), values=_without(values, place)),  # type: ignore[type-var]
                )
        case ast.Call(func=func, args=args, keywords=keywords):
            name = func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""
            plain = len(args) > 1 and not any(isinstance(arg, ast.Starred) for arg in args[:2])
            if plain and name not in _SYMMETRIC:
                yield "arguments swapped", _with(node, args=[args[1], args[0], *args[2:]])
            for place, keyword in enumerate(keywords):
                if keyword.arg not in (None, "strict"):
                    yield "an argument left out", _with(node, keywords=_without(keywords, place))
        case ast.JoinedStr(values=values):
            holes = [place for place, value in enumerate(values) if isinstance(value, ast.FormattedValue)]
            if len(holes) > 1:
                one, two = holes[:2]
                swapped = [values[{one: two, two: one}.get(place, place)] for place in range(len(values))]
                yield "two holes of a text swapped", _with(node, values=swapped)
        case ast.Name(id=name, ctx=ast.Load()) if name in ("min", "max", "any", "all", "sorted", "reversed"):
            yield "a wrong name", ast.Name(_NAMES[name], ast.Load())
        case ast.Attribute(attr=attr, ctx=ast.Load()) if attr in _NAMES:
            yield "a wrong name", _with(node, attr=_NAMES[attr])


def _statement_changes(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.If(test=test):
            yield "a condition always true", _with(node, test=ast.Constant(True))
            yield "a condition always false", _with(node, test=ast.Constant(False))
            yield "a condition negated", _with(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.For(body=body):
            yield "a loop stops after its first round", _with(node, body=[*body, ast.Break()])
        case ast.Continue():
            yield "break for continue", ast.Break()
        case ast.Break():
            yield "a break lost", ast.Pass()
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and not value.value):
            yield "nothing returned", ast.Return(ast.Constant(None))
        case ast.Return(value=None):
            yield "a return lost", ast.Pass()
        case ast.Expr(value=ast.Call()):
            yield "a call left out", ast.Pass()
        case ast.AugAssign():
            yield "an assignment left out", ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "an assignment left out", ast.Pass()
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            if any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(value)):
                yield "an assignment left out", ast.Pass()
        case ast.Match(cases=cases) if len(cases) > 2:
            for place in range(len(cases)):
                yield "a case left out", _with(node, cases=_without(cases, place))


def _is_type(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _is_type(left) and _is_type(right)
        case ast.Name(id=name):
            return name[0].isupper() and not name.isupper()
    return False


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
