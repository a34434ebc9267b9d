"""What names mean at one place of a block, and the protocol by which the typing of a block reaches its callees."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from ...dsl import syntax as s
from ...dsl.base.records import field, mutable, record
from ...dsl.source import Span
from ..base.problems import Problem, Problems
from ..base.session import Session
from ..graph.equality import ModelPaths
from ..graph.nodes import Graph
from ..graph.typed_value import TypedValue
from ..names.modules import BlockDef, Module
from ..names.written_sizes import checked_size
from ..ops.table import Splits, Validator
from ..problems.axes import Surroundings
from ..sizes.arithmetic import substitute
from ..sizes.axes import Axis, Literal, Number, Static, known
from .builder import Builder
from .outcome import Formula, Outcome
from .signature import BlockSignature


class Caller(Protocol):
    """The checker of whole blocks, as the typing of one block sees it: typing reaches calls through this protocol only.

    owners:  whether graphs have weights; `ways`: how they come to models with weights.
    library: names that the standard library has, and where.
    """

    session: Session
    owners: dict[Graph, bool]
    ways: dict[Graph, ModelPaths]
    library: dict[str, str]

    @property
    def alone(self) -> Container[BlockDef]:
        """The blocks that were checked on their own."""

    def spend(self, span: Span, amount: int = 1) -> None:
        """Use up fuel: one more expression is checked. Raises Exhausted where none is left."""

    def call_block(
        self, env: Environment, block: BlockDef, call: s.CallExpr, shared: str | None = None
    ) -> list[TypedValue | None] | None:
        """A block called: its results in the caller's axes; None after a report."""


class Notes(Protocol):
    """Keeps what is found, for editors."""

    results: dict[Span, list[TypedValue | None]]

    def note(self, span: Span, wire: TypedValue | None) -> None:
        """The value of what is written there."""


@mutable
class Shared:
    """A set of weights, made where `share name = block` stands: anew for each pass of a repeat that it is in."""

    name: s.Ident
    block: s.Ident
    first: tuple[Graph, Span] | None = None  # the first call, which the others make the weights like


@record(eq=False, slots=False)
class Environment:
    """What is known before a statement or expression; a statement gives the environment of the next.

    names, consts: axes and numbers. variables: None where a value is known to be wrong.
    facts:    to be filled, for editors.
    stack:    the blocks that are being elaborated, this one last.
    taken:    whether what is checked is surely done. In a branch of a static `if` that is not taken, or that may not
              be, names and types are checked, and sizes are not: they may fit only where it is taken.
    numbers:  of consts, by id, in the pass at hand: for what is decided by it.
    gone:     variables of a repeat that has ended. untaken: those of a branch that is not taken.
    outside:  shares that stand before a repeat around this whose passes have weights.
    around:   shares that stand before the shared repeat around this.
    numbered: inside a repeat whose passes have weights of their own.
    decided:  inside a repeat of which the sizes of depths are decided pass by pass.
    """

    checker: Caller
    signature: BlockSignature
    names: Mapping[str, Axis]
    consts: Mapping[str, Static]
    variables: Mapping[str, TypedValue | None]
    builder: Builder = field(default_factory=Builder)
    outcome: Outcome = field(default_factory=Outcome)
    facts: Notes | None = None
    stack: tuple[BlockDef, ...] = ()
    taken: bool = True
    numbers: Mapping[int, Number] = field(default_factory=dict)
    shares: Mapping[str, Shared] = field(default_factory=dict)
    gone: Mapping[str, Span] = field(default_factory=dict)
    untaken: Mapping[str, Span] = field(default_factory=dict)
    outside: frozenset[str] = frozenset()
    around: frozenset[str] = frozenset()
    numbered: bool = False
    decided: bool = False

    @classmethod
    def of(cls, checker: Caller, signature: BlockSignature) -> Environment:
        """What is known before the first statement, but for the arguments."""
        return cls(checker, signature, dict(signature.names), dict(signature.consts), {})

    def but(self, **changes: Any) -> Environment:
        """The same with other values of some fields; `dataclasses.replace` takes longer."""
        changed = object.__new__(Environment)
        changed.__dict__.update(self.__dict__, **changes)
        return changed

    def bound(self, name: str, value: TypedValue | None) -> Environment:
        """The same with one variable more."""
        return self.but(variables={**self.variables, name: value})

    @property
    def block(self) -> BlockDef:
        return self.signature.block

    @property
    def module(self) -> Module:
        return self.signature.block.module

    @property
    def problems(self) -> Problems:
        """Where mistakes are reported."""
        return self.signature.problems

    @property
    def of_sizes(self) -> Problems:
        """Where it is said that sizes and numbers are not what they must be: aside, in a branch that is not taken."""
        return self.problems if self.taken else Problems()

    # -- what rules of ops ask (`ops.table.OpPlace`)

    @property
    def roles_known(self) -> bool:
        return self.signature.roles_known

    def refuse_by_role(self, problem: Problem) -> bool:
        self.signature.by_roles = True
        return self.problems.refuse(problem)

    @property
    def splits(self) -> Splits:
        return self.outcome.splits

    def is_open(self, static: Static | None) -> bool:
        return self.signature.is_open(static)

    def lacks_size(self, axis: Axis) -> bool:
        return axis.is_width and axis.extent is None and axis.id not in self.signature.open

    def in_each_pass(self, validator: Validator, span: Span, *statics: Static) -> bool:
        before = len(self.problems.found)
        validator(self.of_sizes, statics, span)
        formula = Formula(statics, span, validator)
        good = len(self.problems.found) == before
        if good and (formula.undetermined or not self.taken):
            self.outcome.formulas.append(formula)
        return good

    # -- sizes and names

    def sized(
        self, size: Static, span: Span, name: str, *, formula_span: Span | None = None, library: bool = False
    ) -> tuple[int | None, Static | None]:
        """The extent of an axis where it is known, and its formula; a wrong one is reported. In a branch that is not
        taken nothing is known of such a size.
        """
        problems = self.of_sizes
        extent = checked_size(problems, size, span, name, formula_span=formula_span, library=library)
        return extent, None if not self.taken and problems.found else size

    def axis(self, name: str) -> Axis | None:
        return self.names.get(name)

    def const(self, name: str) -> Static | None:
        return self.consts.get(name)

    def bearer(self, name: str) -> tuple[str, Span | None] | None:
        """What has this name here already, so that no variable may: "axis" or "const", and where it is declared."""
        axis = self.axis(name) or self.module.axes.get(name)  # also what the block does not mention otherwise
        if axis is not None:
            return "axis", axis.span
        return None if self.const(name) is None and name not in self.module.consts else ("const", None)

    def in_this_pass(self, static: Static) -> Static:
        """A number with those of the pass at hand put in. The graph keeps the index itself: passes of one body have
        different numbers.
        """
        return substitute(static, {}, {id: Literal(number) for id, number in self.numbers.items()})

    def only_if(self, condition: Static | None) -> AbstractContextManager[Environment]:
        """Where what is done is done only if this holds; None: always. Else its sizes and numbers may be any."""
        return nullcontext(self) if condition is None else self._only_if(condition)

    @contextmanager
    def _only_if(self, condition: Static) -> Iterator[Environment]:
        holds, formulas = known(self.in_this_pass(condition)), self.outcome.formulas
        before = len(formulas)
        yield self.but(taken=self.taken and holds is True)
        if holds is not True:
            formulas[before:] = [each.only_if(condition) for each in formulas[before:]] if holds is None else []

    def noted(self, span: Span, value: TypedValue | None) -> TypedValue | None:
        """The value, kept for editors."""
        if self.facts is not None:
            self.facts.note(span, value)
        return value

    @property
    def surroundings(self) -> Surroundings:
        """What is known of axes at this point, for mistakes."""
        module, block, signature = self.module, self.block, self.signature
        beside = tuple(each.decl for each in module.own if each is not block)
        known = self.names, module.axes, signature.of_file, module.spans.keys(), signature.lifted
        return Surroundings(*known, block.decl, beside)

    def candidate_axes(self) -> list[str]:
        """The axis names that a misspelt one may mean: also those of the file that the block does not mention."""
        return [*self.names, *self.module.axes]

    def candidate_consts(self) -> list[str]:
        return [*self.consts, *self.module.consts]


@mutable
class Specialisation:
    """A block elaborated for one kind of call: what is known at its end, its graph if nothing is wrong, and its results
    in the axes of the specialisation.
    """

    environment: Environment
    graph: Graph | None
    results: list[TypedValue | None]
