"""Expressions of Python, and how tightly their operators bind.

An expression is text with holes for the variables that it reads. What these are called, and whether what they stand for
has a line of its own or is written in their place, is for the printer to say (printer.py).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, reduce

from ...compiler.sizes.functions import OPERATIONS, Complement, Conjunction, Connective, Disjunction, Sum, Value

# How tightly Python's operators bind; an operand that binds less is put in parentheses.
TERNARY, OR, AND, NOT, COMPARE, BITOR, BITAND, SUM, TERM, UNARY, POWER, ATOM = 0, 1, 2, 3, 4, 5, 7, 9, 10, 11, 12, 13

_SIGNS: dict[str, tuple[str, int, int, int]] = {  # Python's spelling, its level, the levels wanted left and right
    "+": ("+", SUM, SUM, TERM),
    "-": ("-", SUM, SUM, TERM),
    "*": ("*", TERM, TERM, UNARY),
    "/": ("/", TERM, TERM, UNARY),
    "//": ("//", TERM, TERM, UNARY),
    "%": ("%", TERM, TERM, UNARY),
    "^": ("**", POWER, ATOM, ATOM),
    "<=": ("<=", COMPARE, SUM, SUM),
    ">=": (">=", COMPARE, SUM, SUM),
    "<": ("<", COMPARE, SUM, SUM),
    ">": (">", COMPARE, SUM, SUM),
    "==": ("==", COMPARE, SUM, SUM),
    "!=": ("!=", COMPARE, SUM, SUM),
}


HOLE = "\0"  # stands in the text of an expression for a variable, which the printer puts there
SPACE = "\1"  # stands there for a space, which goes where plain names or numbers are around: `x**2`, `x[:n]`
_POWER, _UP_TO = f"{SPACE}**{SPACE}", f":{SPACE}"
_PLAIN = {_POWER: re.compile(r"[\w.]+(?:e-\d+)?"), _UP_TO: re.compile(r"\w+")}  # as `ruff format` has it
_PARTS = re.compile(f"({HOLE}|{re.escape(_POWER)}|{_UP_TO})")


@dataclass(eq=False, slots=True)
class Variable:
    """A variable of generated code: what it would be called, or (`name`) what it is called whatever else there is.

    unique: whether nothing else has its name when it is read no more.
    lasting: whether it surely has a line of its own, where the printer does not put its expression in its stead.
    """

    wish: str
    name: str = ""
    lasting: bool = False
    unique: bool = False

    @property
    def code(self) -> Code:
        return Code(HOLE, ATOM, ((self, 0),))


class Given(Variable):
    """A parameter of the class or function: it is there wherever it is read, under this name."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(name.rpartition(".")[2], name, lasting=True, unique=True)


class Attribute(Given):
    """An attribute of the object."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Code:
    """An expression of Python and how tightly its outermost operator binds.

    reads: the variables whose places are held by a HOLE each in the text, and how tightly what stands there must bind.
    """

    text: str
    level: int = ATOM
    reads: tuple[tuple[Variable, int], ...] = ()

    @staticmethod
    def of(template: str, *operands: Code | str | int | tuple[int, ...], level: int = ATOM) -> Code:
        """The template with the operands in place of its `{}`."""
        first, *rest = template.split("{}")
        codes = [each if isinstance(each, Code) else Code(str(each)) for each in operands]
        text = first + "".join(code.text + after for code, after in zip(codes, rest, strict=True))
        return Code(text, level, tuple(read for code in codes for read in code.reads))

    def at(self, level: int) -> Code:
        """In parentheses where something of `level` is wanted and this binds less."""
        if self.text == HOLE:
            ((variable, wanted),) = self.reads
            return Code(HOLE, ATOM, ((variable, max(wanted, level)),))
        return self if self.level >= level else Code(f"({self.text})", ATOM, self.reads)

    @property
    def atom(self) -> Code:
        """Fit to be followed by `.` or `[`."""
        return self.at(ATOM)

    def filled(self, texts: Sequence[str]) -> str:
        """The text with these in place of its variables."""
        parts = _PARTS.split(self.text)  # every other is a hole, or an operator between two of them at least
        holes, operators = (
            [at for at in range(1, len(parts), 2) if (parts[at] == HOLE) is hole] for hole in (True, False)
        )
        for at, text in zip(holes, texts, strict=True):
            parts[at] = text
        for at in operators:
            beside = [parts[at + 2 * side] for side in (-1, 1) if not parts[at + side] and at + 2 * side in holes]
            plain = all(map(_PLAIN[parts[at]].fullmatch, beside))
            parts[at] = parts[at].replace(SPACE, "" if plain else " ")
        return "".join(parts)

    @property
    def named(self) -> str:
        """The text, of variables that have their names."""
        return self.filled([variable.name for variable, _ in self.reads])

    @property
    def variable(self) -> Variable | None:
        """The variable that this is."""
        return self.reads[0][0] if self.text == HOLE else None

    def __post_init__(self) -> None:
        assert self.text.count(HOLE) == len(self.reads), "a text was taken without its variables"


def joined(codes: Iterable[Code | str | int], separator: str = ", ") -> Code:
    """`a, b, c`."""
    codes = [*codes]
    return Code.of(separator.join(["{}"] * len(codes)), *codes)


def call(function: Code | str, *args: Code | str | int, **words: Code | str | int) -> Code:
    """`function(a, b, word=c)`."""
    given = [*args, *(Code.of(f"{name}={{}}", word) for name, word in words.items())]
    return Code.of("{}({})", function, joined(given))


def number(value: int | float | bool) -> Code:
    """A literal. Infinities and NaN have no literal in Python."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return Code("math.nan") if value != value else Code("math.inf") if value > 0 else Code("-math.inf", UNARY)
    return Code(repr(value), ATOM if value >= 0 else UNARY)


def literal(value: Value) -> Code:
    """A literal of a number, or of a list of them."""
    if isinstance(value, tuple):
        return Code.of("({},)" if len(value) == 1 else "({})", joined(map(number, value)))
    return number(value)


def binary(op: str, left: Code, right: Code) -> Code:
    """`left op right` of numbers, with the parentheses that it needs."""
    match OPERATIONS[op].meaning:
        case Conjunction():
            return Code.of("{} and {}", left.at(NOT), right.at(NOT), level=AND)
        case Disjunction():
            return Code.of("{} or {}", left.at(AND), right.at(AND), level=OR)
    spelling, level, left_level, right_level = _SIGNS[op]
    left, right = left.at(left_level), right.at(right_level)
    if op == "^":
        return Code.of(f"{{}}{_close(_POWER, left, right)}{{}}", left, right, level=level)
    return Code.of(f"{{}} {spelling} {{}}", left, right, level=level)


def up_to(end: Code) -> Code:
    """`:n`, the first items."""
    return Code.of(f"{_close(_UP_TO, end)}{{}}", end)


def _close(operator: str, *operands: Code) -> str:
    """An operator without spaces around it, unless one of the operands is more than a name or a number."""
    texts = [operand.text for operand in operands if operand.text != HOLE]
    if not all(map(_PLAIN[operator].fullmatch, texts)):
        return operator.replace(SPACE, " ")
    return operator if len(texts) < len(operands) else operator.replace(SPACE, "")


def times(left: Code, right: Code) -> Code:
    """`left * right`."""
    return binary("*", left, right)


def matmul(left: Code, right: Code) -> Code:
    """`left @ right`, which binds as `*` does."""
    return Code.of("{} @ {}", left.at(TERM), right.at(TERM + 1), level=TERM)


# What arrays, too, have an operator of Python for.
OPERATORS = frozenset(
    op
    for op, operation in OPERATIONS.items()
    if op in _SIGNS or operation.meaning == Sum((-1,)) or isinstance(operation.meaning, Connective)
)


def operator(op: str, codes: list[Code]) -> Code:
    """One of OPERATORS on arrays: where numbers have words, these have signs."""
    match OPERATIONS[op].meaning:
        case Conjunction():
            return Code.of("{} & {}", codes[0].at(BITAND), codes[1].at(BITAND + 1), level=BITAND)
        case Disjunction():
            return Code.of("{} | {}", codes[0].at(BITOR), codes[1].at(BITOR + 1), level=BITOR)
        case Complement():
            return Code.of("~{}", codes[0].at(UNARY), level=UNARY)
        case Sum((-1,)):
            return Code.of("-{}", codes[0].at(UNARY), level=UNARY)
        case _:
            return binary(op, *codes)


# -- templates of rows of the op table -----------------------------------------------------------------------------

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
    """The template of a row of the op table, `np.logaddexp({0}, {1})`, with these operands.

    One that is a whole argument stands as it is; elsewhere it is put in parentheses, unless it binds most tightly
    (behind a minus, as that does).
    """
    if template == "{0}":
        return codes[0]
    level, wanted = _shape(template)
    given = [code.at(wanted.get(f"_{place}", ATOM)) for place, code in enumerate(codes)]
    places = [int(place) for place in re.findall(r"{(\d+)}", template)]
    return Code.of(re.sub(r"{\d+}", "{}", template), *(given[place] for place in places), level=level)


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
