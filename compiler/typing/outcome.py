"""What elaborating statements comes to beside nodes and mistakes; numbers that only passes of a repeat determine."""

from __future__ import annotations

from ...dsl import syntax as s
from ...dsl.base.records import field, mutable, record, replace
from ...dsl.source import Span
from ..base.problems import Problems
from ..graph.nodes import Graph
from ..graph.typed_value import TypedValue
from ..names.written_sizes import checked_number
from ..ops.table import Splits, Validator
from ..sizes.arithmetic import substitute
from ..sizes.axes import Axis, Static, known, undetermined


def validate_number(problems: Problems, numbers: tuple[Static, ...], place: Span) -> None:
    """Report arithmetic that has no value."""
    checked_number(problems, numbers[0], place)


@record(slots=False)
class Formula:
    """Numbers of a body that depend on a const without a value: each pass of a repeat gives it one, and validates them.

    validator: reports what is wrong with their values, at a place: `span`, or the call of the block in the repeat.
    passes:    the indices of repeats that have a value by now, and the values in words.
    given:     what must hold for them to matter: what stands before an `or` may settle it.
    """

    statics: tuple[Static, ...]
    span: Span
    validator: Validator
    call: Span | None = None
    passes: tuple[tuple[str, str], ...] = ()
    given: tuple[Static, ...] = ()

    @property
    def reported_at(self) -> Span:
        return self.call or self.span

    @property
    def undetermined(self) -> bool:
        return any(map(undetermined, self.statics)) or any(known(condition) is None for condition in self.given)

    @property
    def matters(self) -> bool:
        """Whether nothing that is known by now rules it out."""
        return all(known(condition) is not False for condition in self.given)

    def with_values(self, axes: dict[int, Axis], consts: dict[int, Static]) -> Formula:
        """The same over other axes and consts."""
        statics, given = (tuple(substitute(each, axes, consts) for each in all_) for all_ in (self.statics, self.given))
        return replace(self, statics=statics, given=given)

    def only_if(self, condition: Static) -> Formula:
        """The same, where something holds besides."""
        return replace(self, given=(condition, *self.given))


@mutable
class Outcome:
    """What is found in one body: each body has its own, and who elaborates it takes from there what it needs.

    decisions: what was decided by numbers of the pass at hand; undecided: whether some of them are not known.
    formulas:  numbers that depend on the number of a pass.
    own_axes:  axes that the body declares.
    named:     what owns weights, where it stands (D11); models: those called, by where they are declared.
    lent:      sets of weights of the graph around that are called here.
    """

    decisions: list[object] = field(default_factory=list)
    undecided: bool = False
    formulas: list[Formula] = field(default_factory=list)
    own_axes: list[Axis] = field(default_factory=list)
    returned: list[tuple[s.Return, list[TypedValue | None]]] = field(default_factory=list)
    assigned: dict[str, Span] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    splits: Splits = field(default_factory=dict)
    named: dict[str, Span] = field(default_factory=dict)
    models: dict[object, tuple[Graph, Span]] = field(default_factory=dict)
    lent: set[str] = field(default_factory=set)

    def decide(self, what: object, undecided: bool) -> None:
        """Something was decided, or is open."""
        self.decisions.append(what)
        self.undecided = self.undecided or undecided

    def hangs_on(self, other: Outcome, settled: bool = False) -> None:
        """This hangs on what the other does. settled: what was open there is decided by now."""
        self.decisions += other.decisions
        self.undecided = self.undecided or (other.undecided and not settled)
