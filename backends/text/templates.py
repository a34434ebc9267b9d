"""The templates of rows of the op table as Python: `np.logaddexp({0}, {1})` with the operands put in.

An operand that is a whole argument stands as it is; elsewhere it is put in parentheses, unless it binds most tightly
(behind a minus, as that does).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache, reduce

from .expressions import ATOM, POWER, SUM, TERM, TERNARY, UNARY, Code

GROUP = 50  # calls, one in another
_LEVELS: dict[type[ast.operator], int] = {
    ast.Add: SUM,
    ast.Sub: SUM,
    ast.Mult: TERM,
    ast.Div: TERM,
    ast.Mod: TERM,
    ast.FloorDiv: TERM,
    ast.Pow: POWER,
}


def filled_in(template: str, codes: Sequence[Code]) -> Code:
    """The template with these operands."""
    if template == "{0}":
        return codes[0]
    level, wanted = _shape(template)
    texts = (code.at(wanted.get(f"_{place}", ATOM)) for place, code in enumerate(codes))
    return Code(template.format(*texts), level)


def folded(template: str, codes: Sequence[Code]) -> Code:
    """`f(f(a, b), c)`, of a template for two. Python reads at most 200 nested parentheses: many go in groups."""
    if len(codes) > GROUP:
        return folded(template, [folded(template, codes[at : at + GROUP]) for at in range(0, len(codes), GROUP)])
    return reduce(lambda a, b: filled_in(template, [a, b]), codes)


@cache
def called(template: str) -> tuple[str, ...]:
    """The functions that a template calls by a bare name."""
    calls = [node.func for node in ast.walk(_tree(template)) if isinstance(node, ast.Call)]
    return tuple(call.id for call in calls if isinstance(call, ast.Name))


@cache
def _shape(template: str) -> tuple[int, dict[str, int]]:
    """How tightly it binds, and how tightly each operand must wherever it stands."""
    tree = _tree(template)
    level = ATOM if isinstance(tree, ast.Call | ast.Attribute | ast.Subscript | ast.Name | ast.Constant) else TERNARY
    if isinstance(tree, ast.BinOp):
        level = _LEVELS.get(type(tree.op), TERNARY)
    elif isinstance(tree, ast.UnaryOp) and not isinstance(tree.op, ast.Not):
        level = UNARY
    own: dict[int, int] = {}
    wanted: dict[str, int] = {}
    for node in ast.walk(tree):  # from the outside in
        match node:
            case ast.Call(args=args, keywords=words):
                own |= dict.fromkeys(map(id, (*args, *(word.value for word in words))), TERNARY)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                own[id(operand)] = UNARY
            case ast.Name(name):
                wanted[name] = max(wanted.get(name, TERNARY), own.get(id(node), ATOM))
    return level, wanted


def _tree(template: str) -> ast.expr:
    places = [f"_{place}" for place in range(template.count("{"))]  # at least as many as it has operands
    return ast.parse(template.format(*places), mode="eval").body
