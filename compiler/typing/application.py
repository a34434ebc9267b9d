"""One use of an op: what its type rule reads, and the ways in which a rule answers."""

from __future__ import annotations

from collections.abc import Mapping

from ...dsl.base.records import field, mutable, replace
from ...dsl.source import Span
from ..base.problems import Problem, Problems
from ..graph.nodes import Apply, Init, Weight
from ..graph.traits import Arrange, IndexMap, Pointwise, Sum
from ..graph.typed_value import Range, TypedValue
from ..graph.values import Role, Scalar, Type
from ..ops import Op
from ..ops.use import Splits, Validator
from ..problems.axes import Namesakes, Surroundings
from ..sizes.axes import Arith, Axis, Static, undetermined
from ..sizes.functions import has_all_numbers
from .environment import Environment
from .names import namesakes, number
from .outcome import Formula, validate_number
from .sharing import claim

_Lacking = tuple[TypedValue, Span, list[Axis]]  # an operand, its place, and the axes of another that it lacks


@mutable
class OpApplication:
    """axes, made, each: the brackets, resolved, with the span of each; options: given or default; name: of a
    learned op.
    """

    env: Environment
    op: Op
    shown: str  # the op as the user wrote it
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

    # -- answers -------------------------------------------------------------------------------------------------

    def fail(self, problem: Problem) -> TypedValue | None:
        """Report a mistake; the answer is that there is no result."""
        self.problems.add(problem)
        return None

    @property
    def problems(self) -> Problems:
        """Where what is not wrong, but most likely not meant, is reported."""
        return self.env.problems

    @property
    def surroundings(self) -> Surroundings:
        """What is known of axes here."""
        return self.env.surroundings

    def make(
        self,
        type: Type,
        *,
        role: Role = Role.CONSTANT,
        mark: frozenset[Axis] = frozenset(),
        range: Range | None = None,
        weights: tuple[Weight, ...] = (),
        product_of: tuple[Axis, ...] = (),
    ) -> TypedValue | None:
        """The result: a node of the graph, or static arithmetic where all operands are static."""
        statics = [wire.static for wire in self.operands]
        if self.op.number and all(static is not None for static in statics):
            result = Arith(self.op.number, tuple(s for s in statics if s is not None))
            if not has_all_numbers(result.meaning) and (undetermined(result) or not self.taken):
                self.env.outcome.formulas.append(Formula((result,), self.span, validate_number))
            return replace(number(self.env, result, self.span), spread=self._spread())
        wires = [*self.operands, *([self.mask] if self.mask else [])]
        meeting = namesakes(self.env, type)
        if meeting is not None:
            return self.fail(Namesakes(self.span, *meeting, tuple(zip(self.spans, self.operands, strict=True))))
        role = max(role, *(wire.role for wire in wires)) if wires else role
        if type.axes:  # a constant has no axes: a number that gets some is a table
            role = max(role, Role.TABLE)
        builder = self.env.builder
        operands = tuple(builder.take(wire) for wire in self.operands)
        mask = builder.take(self.mask) if self.mask else None
        out = builder.value(type, role, self.span)
        builder.nodes.append(
            Apply(
                self.op,
                operands,
                out,
                tuple(self.axes),
                tuple(self.made),
                tuple(self.each),
                mask,
                dict(self.options),
                self.name if weights else None,
                weights,
                self.span,
            )
        )
        if weights and self.name:
            claim(self.env, self.name, self.span)
        item_by_item = isinstance(self.op.reads, Pointwise) and not self.op.random and not self.made
        return TypedValue(
            type,
            role,
            self.span,
            out,
            mark,
            None,
            range,
            mark_unknown=self.operands[0].mark_unknown and _same_items(self.op, type),
            product_of=product_of,
            home=builder,
            spread=self._spread() - set(type.axes) if item_by_item else frozenset(),
        )

    def _spread(self) -> frozenset[Axis]:
        return frozenset(axis for wire in self.operands for axis in wire.spread)

    # -- the place where it stands -------------------------------------------------------------------------------

    @property
    def taken(self) -> bool:
        return self.env.taken

    @property
    def roles_known(self) -> bool:
        return self.env.signature.roles_known

    @property
    def variables(self) -> Mapping[str, TypedValue | None]:
        return self.env.variables

    @property
    def splits(self) -> Splits:
        return self.env.outcome.splits

    def is_open(self, static: Static | None) -> bool:
        return self.env.signature.is_open(static)

    def lacks_size(self, axis: Axis) -> bool:
        """Whether it is a width whose size only a run knows."""
        return axis.is_width and axis.extent is None and axis.id not in self.env.signature.open

    def in_each_pass(self, validator: Validator, span: Span, *statics: Static) -> bool:
        """Whether nothing is wrong with these numbers, as far as they are known. What depends on the number of a pass
        is validated in each pass too.
        """
        environment = self.env
        before = len(environment.problems.found)
        validator(environment.of_sizes, statics, span)
        formula = Formula(statics, span, validator)
        good = len(environment.problems.found) == before
        if good and (formula.undetermined or not environment.taken):
            self.env.outcome.formulas.append(formula)
        return good


def _same_items(op: Op, type: Type) -> bool:
    """Whether all items of a result of this type are items of the operand: if those are weights, these are."""
    match op.reads:
        case Arrange(IndexMap.PARTS | IndexMap.SHIFTED):
            return False
        case Arrange():
            return True
        case Pointwise(Sum((1,))):
            return type.element is Scalar.REAL
        case _:
            return False
