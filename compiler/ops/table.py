"""What a row of the op table is, and one use of it. Each op lives in one row: its form, its type rule, its page, its
templates, its notation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, IntEnum
from typing import Protocol, TypedDict, Unpack

from ...dsl.base.records import field, mutable, record
from ...dsl.source import Span
from ..base.problems import Problem, Problems
from ..graph.nodes import Init, Weight
from ..graph.traits import OpCost, OpTraits
from ..graph.typed_value import Range, TypedValue
from ..graph.values import Role, Type
from ..problems.axes import Surroundings
from ..sizes.axes import Axis, Number, Static

Rule = Callable[["OpCall"], "TypedValue | None"]


class Brackets(Enum):
    """What stands in an op's brackets."""

    NONE = "no brackets"
    ACTS = "the axes it acts on"
    MAP = "axes it eats, an arrow, axes it makes"
    MADE = "the axes it makes"
    INTO = "the axis that its result is an index into"


class Notation(Enum):
    """How an op is written, around its word."""

    CALL = "word[axes](x, y)"
    BARE = "word(x, y), without brackets: with brackets the word may be another op"
    PREFIX = "word x"
    INFIX = "x word y"
    ITEM = "x[axis word y]"


class Precedence(IntEnum):
    """How tightly an operator of equations binds, as readers of mathematics expect it. That differs from attnc's own
    rules: "mod" binds less than a sum, and the product of named tensors less than the dot between numbers.
    """

    ANY = 0
    LOGIC = 1
    COMPARE = 2
    MOD = 3
    PLUS = 4
    ODOT = 5
    TIMES = 6
    POWER = 7
    FRACTION = 8
    ATOM = 9


FIRST = "0.1"  # the version in which the language was first told


@record
class Option:
    """A keyword argument known at build time. `check` gives a complaint about a value, or None."""

    name: str
    default: Number | None  # None: it must be given
    doc: str
    check: Callable[[Number], str | None] = lambda value: None


@record(eq=False)
class WrittenOp(OpTraits):
    """An op whose code is an expression of its operands alone.

    torch, numpy: expression templates over `{0}`, `{1}`, ...; "" where the backend has a function.
    python:  the same of Python's numbers; "" where it has no such function: of numbers, too, arrays are made. Of an op
             that takes any number of operands `{0}` is all of them.
    careful: in its place where Python refuses some numbers, and nothing is known of these: by the helpers of
             runtime/common/numbers, which make of them what arrays do.
    """

    torch: str = field(default="", kw_only=True)
    numpy: str = field(default="", kw_only=True)
    python: str = field(default="", kw_only=True)
    careful: str = field(default="", kw_only=True)


@record(eq=False)
class Op(WrittenOp):
    """One row: what the analyses ask of an op (`graph.traits`), and how it is written, checked and shown.

    usage:    how it is written, for messages and docs.
    example:  a block `f` that uses it; `wrong`: one that the checker refuses, for its page.
    operands: names of its operands, which may be given by name; `most` is None where it takes any number from
              `len(operands)` up.
    options:  static keyword arguments; `positional` of them may follow the operands without a name.
    learned:  owns weights, so it has a name (D11). `label`: what they are called where nothing names them; `optional`:
              the options without all of which it has none; `each`: axes may stand before a colon in its brackets, which
              have weights of their own.
    notation, sign: how it is written, and what stands there in place of its name.
    number:   the operation on numbers known at build time (`sizes.functions.OPERATIONS`) that it is. "" where there is
              none: of such numbers, too, it is computed when the model runs.
    drawn:    what a diagram writes at its glyph, if that is not its name. The glyph follows from how it reads.
    latex:    how equations write it, if not as a function of its name: a command or word; a template over `{0}`, ...
              (`{0:PLUS}`: in parentheses if it binds less than a sum) and `{axes}`; or a sign, if it `binds` less than
              an atom: between its operands, or before one with the axes in brackets beneath.
    binds:    how tightly, as an operand of another in equations.
    result:   what generated code calls its result, where the spec has no name for it.
    cost:     it must be said of each row: what is not said would be left out of a bill.
    since:    the version of attnc that has it first. A spec may be older: its own block of that name wins.
    """

    group: str
    usage: str
    doc: str
    example: str
    wrong: str
    rule: Rule
    cost: OpCost = field(kw_only=True)
    brackets: Brackets = Brackets.NONE
    operands: tuple[str, ...] = ("x",)
    variadic: bool = False
    options: tuple[Option, ...] = ()
    positional: int = 0
    learned: bool = False
    label: str = ""
    optional: tuple[str, ...] = ()
    each: bool = False
    notation: Notation = Notation.CALL
    sign: str = ""
    number: str = ""
    result: str = "x"
    drawn: str = ""
    latex: str = ""
    binds: Precedence = Precedence.ATOM
    since: str = FIRST

    @property
    def arguments(self) -> list[str]:
        """The names of all that it may be given."""
        return [*(option.name for option in self.options), *self.operands, *(["init"] if self.learned else [])]

    @property
    def has_template(self) -> bool:
        """Whether equations write it by a template."""
        return "{" in self.latex


Validator = Callable[[Problems, tuple[Static, ...], Span], object]
"""Reports what is wrong with numbers at a place."""

Splits = dict[tuple[int, frozenset[int]], tuple[tuple[tuple[Axis, ...], Span], ...]]
"""By an axis and the set of axes that it was split into: the orders that were written, and where."""


class OpPlace(Protocol):
    """What a type rule asks of the place where an op stands: the environment of an expression.

    taken:       whether sizes must fit: not in a branch that is not taken.
    roles_known: whether it is known which values carry data: else only a call decides what may broadcast (D7).
    variables:   what is bound here; `splits`: what was split so far.
    """

    @property
    def taken(self) -> bool: ...

    @property
    def roles_known(self) -> bool: ...

    @property
    def variables(self) -> Mapping[str, TypedValue | None]: ...

    @property
    def splits(self) -> Splits: ...

    @property
    def problems(self) -> Problems: ...

    @property
    def surroundings(self) -> Surroundings: ...

    def refuse_by_role(self, problem: Problem) -> bool:
        """Reports what is wrong only because it is known which values carry data; False."""

    def is_open(self, static: Static | None) -> bool:
        """Whether it is a const parameter without a value: each call says whether it is a number or a truth value."""

    def lacks_size(self, axis: Axis) -> bool:
        """Whether it is a width whose size only a run knows."""

    def in_each_pass(self, validator: Validator, span: Span, *statics: Static) -> bool:
        """Whether nothing is wrong with these numbers, as far as they are known. What depends on the number of a pass
        is validated in each pass too.
        """


class Known(TypedDict, total=False):
    """What a type rule may know of its result."""

    role: Role
    mark: frozenset[Axis]
    range: Range | None
    weights: tuple[Weight, ...]
    product_of: tuple[Axis, ...]


@mutable
class OpCall:
    """One use of an op, its operands typed.

    at:         where it stands. maker: makes the node.
    shown:      the op as the user wrote it.
    axes, made, each: the brackets, resolved: what it acts on, what it makes, what stands before a colon.
    spans, axis_spans, made_spans, each_spans: where each operand and each axis stands; bracket_span: all brackets.
    mask:       of `x where m`.
    options:    static keyword arguments, given or default.
    init, name: of an op that owns weights.
    """

    at: OpPlace
    maker: Callable[..., TypedValue | None]
    op: Op
    shown: str
    span: Span
    bracket_span: Span
    operands: list[TypedValue]
    spans: list[Span]
    axes: list[Axis] = field(default_factory=list)
    axis_spans: list[Span] = field(default_factory=list)
    made: list[Axis] = field(default_factory=list)
    made_spans: list[Span] = field(default_factory=list)
    each: list[Axis] = field(default_factory=list)
    each_spans: list[Span] = field(default_factory=list)
    mask: TypedValue | None = None
    mask_span: Span | None = None
    options: dict[str, Static] = field(default_factory=dict)
    init: Init | None = None
    name: str | None = None

    def make(self, type: Type, **known: Unpack[Known]) -> TypedValue | None:
        """The result: a node of the graph, or static arithmetic where all operands are static."""
        return self.maker(self, type, **known)

    def fail(self, problem: Problem) -> TypedValue | None:
        """Report a mistake; the answer is that there is no result."""
        self.at.problems.add(problem)
        return None
