"""Calls of blocks: their parameters in brackets, their arguments in parentheses, what is scanned."""

from __future__ import annotations

from collections.abc import Mapping

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.problems import Problem, Record
from ..graph.typed_value import TypedValue
from ..graph.values import Type
from ..sizes.axes import Axis
from .axes import Surroundings


class NoCopyGiven(Problem, code="E0403"):
    """Two parameters that must be copies of one axis are given `original` and `actual`, which are not.

    generic: the parameter that wants it. call: as it is written.
    """

    called: str
    parameter: str
    like: str
    actual: Axis
    original: Axis
    generic: s.Generic
    call: s.CallExpr
    around: Surroundings


class OneAxisForTwo(Problem, code="E0404"):
    """Two parameters are bound to one axis, and a value carries both: a variable of this name, at `carrier`.

    in_body: whether it is a value of the body, which may have no name; else an argument.
    call, decl: what is called, and how.
    """

    called: str
    parameters: tuple[str, str]
    actual: Axis
    name: str | None
    carrier: Span | None
    in_body: bool
    around: Surroundings
    call: s.CallExpr
    decl: s.BlockDecl


class ArgumentLacks(Problem, code="E0405"):
    """An argument without axes that its formal has.

    wanted: those of its formal, in the caller's; extra: what it has instead. turned: whether another argument has what
    it lacks, and not what it has. named: whether the call names what it has. changed: the call with that argument in
    its place, if both then fit. fitting: values that would.
    """

    called: str
    formal: s.Formal
    value: TypedValue
    wanted: tuple[Axis, ...]
    missing: tuple[Axis, ...]
    extra: tuple[Axis, ...]
    turned: bool
    named: bool
    changed: str
    fitting: tuple[str, ...]

    @property
    def deep(self) -> bool:
        return True


class ArgumentNamesake(Problem, code="E0212"):
    """An argument has an axis of the right name, but of another file than the block, at `argument`.

    block: by its own name; file: its. use: the edit that makes them one, where there is one.
    """

    called: str
    block: str
    file: str
    theirs: Axis
    mine: Axis
    value: TypedValue
    argument: Span
    use: tuple[tuple[Span, str], ...]


class LiftsMentioned(Problem, code="E0406"):
    """An argument carries an axis that the block uses itself, as `parameter`."""

    called: str
    formal: s.Formal
    value: TypedValue
    axis: Axis
    parameter: Axis


class BlockUse(Record):
    """One call of a block: as messages call it, as it is declared, and as it is called."""

    called: str
    decl: s.BlockDecl
    call: s.CallExpr


class LabelOfOneSet(Problem, code="E0319"):
    """A label on the call of a model, or of a share."""

    call: s.CallExpr
    model: bool


class BlockArrow(Problem, code="E0318"):
    """Brackets of a call with an arrow or a colon."""

    use: BlockUse


class NoParameter(Problem, code="E0401"):
    """known: all that brackets may set."""

    use: BlockUse
    item: s.BracketItem
    known: tuple[str, ...]


class TooManyParameters(Problem, code="E0401"):
    use: BlockUse


class NumberForParameter(Problem, code="E0401"):
    """A number without its name. What follows it needs its name too, as names take no place. name: of the parameter in
    its place.
    """

    use: BlockUse
    name: str
    item: s.BracketItem


class ParametersMissing(Problem, code="E0401"):
    """given: the parameters that have something, and the axes among that. values: the axes of variables."""

    use: BlockUse
    names: tuple[str, ...]
    given: tuple[tuple[str, Axis | None], ...]
    values: Mapping[str, tuple[Axis, ...]]
    variables: frozenset[str]
    around: Surroundings


class AxisForConst(Problem, code="E0402"):
    name: str
    axis: str


class KindOfParameter(Problem, code="E0402"):
    """A width for a depth, or the other way round."""

    use: BlockUse
    name: str
    kind: str
    given: Axis


class TooManyArguments(Problem, code="E0410"):
    use: BlockUse


class ParameterAsArgument(Problem, code="E0410"):
    """A parameter among the arguments: of all of them it has this number."""

    use: BlockUse
    name: str
    number: int


class NoArgument(Problem, code="E0410"):
    use: BlockUse
    argument: s.Argument


class ArgumentTwice(Problem, code="E0410"):
    use: BlockUse
    name: str


class ArgumentsMissing(Problem, code="E0410"):
    use: BlockUse
    names: tuple[str, ...]


class NothingCarried(Problem, code="E0411"):
    """No result of a block that is scanned is named like an argument."""

    use: BlockUse


class StateType(Problem, code="E0411"):
    """What a step takes as its state is not what it gives as the next. It stands at the result."""

    use: BlockUse
    formal: s.Formal
    takes: Type
    gives: Type
