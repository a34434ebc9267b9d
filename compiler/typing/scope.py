"""Names in the body of a block: axes, types, and where mistakes go."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.names import is_reserved
from ..base.problems import Problems
from ..base.session import Session
from ..graph.equality import Ways
from ..graph.nodes import Graph
from ..graph.typed_value import Range, TypedValue, static_element
from ..graph.values import IndexInto, Role, Scalar, Type
from ..names.modules import ELEMENTS, BlockDef
from ..names.written_sizes import checked_number, has_no_value
from ..ops.use import Splits
from ..problems.axes import TypedTwice
from ..problems.elements import KindOfElement
from ..problems.forms import NumberForAxis
from ..problems.names import NoAxisNamed, NoSizeNamed, Other, ReservedName
from ..problems.sizes import NotStaticName
from ..sizes.axes import Arith, Axis, ConstOf, Kind, Number, SizeOf, Static, items_of, known, undetermined
from .builder import Builder
from .environment import Environment
from .facts import Facts
from .specialisation import Formula, Specialisation


@dataclass
class Shared:
    """A set of weights, made where `share name = block` stands: anew for each pass of a repeat that it is in."""

    name: s.Ident
    block: s.Ident
    first: tuple[Graph, Span] | None = None  # the first call, which the others make the weights like


class Caller(Protocol):
    """The checker of whole blocks, as the typing of one block sees it: typing reaches calls through this protocol only.

    alone:     each block checked on its own.
    decisions: what was decided by numbers of the pass at hand (`numbers`); undecided: whether some are not known.
    owners:    whether graphs have weights; `ways`: how they come to models with weights.
    library:   names that the standard library has, and where.
    facts:     to be filled, for editors.
    """

    session: Session
    alone: dict[BlockDef, Specialisation]
    decisions: list[object]
    undecided: bool
    numbers: dict[int, Number]
    owners: dict[Graph, bool]
    ways: dict[Graph, Ways]
    library: dict[str, str]
    facts: Facts | None

    def spend(self, span: Span, amount: int = 1) -> None:
        """Use up fuel: one more expression is checked. Raises Exhausted where none is left."""

    def in_this_pass(self, static: Static) -> Static:
        """A number with those of the pass at hand put in."""

    def call_block(
        self, body: Scope, block: BlockDef, call: s.CallExpr, shared: str | None = None
    ) -> list[TypedValue | None] | None:
        """A block called: its results in the caller's axes; None after a report."""


@dataclass
class Scope(ABC):
    """A body at the statement at hand: the variables bound so far (None: known to be wrong), and what was found."""

    checker: Caller
    environment: Environment
    builder: Builder
    variables: dict[str, TypedValue | None]
    returned: list[tuple[s.Return, list[TypedValue | None]]] = field(default_factory=list)
    assigned: dict[str, Span] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)  # variables
    shares: dict[str, Shared] = field(default_factory=dict)
    outside: frozenset[str] = frozenset()  # shares that stand before a repeat around this whose passes have weights
    around: frozenset[str] = frozenset()  # those that stand before the shared repeat around this
    gone: dict[str, Span] = field(default_factory=dict)  # variables of a repeat that has ended
    untaken: dict[str, Span] = field(default_factory=dict)  # variables of a branch that is not taken
    formulas: list[Formula] = field(default_factory=list)  # that depend on the number of a pass
    splits: Splits = field(default_factory=dict)
    numbered: bool = False  # inside a repeat whose passes have weights of their own
    decided: bool = False  # inside a repeat of which the sizes of depths are decided pass by pass
    by_pass: frozenset[Span] = frozenset()  # shared repeats with weights along such depths

    def opened(self, axis: Axis) -> Axis:
        """The axis; one of which nothing is known may have any size: it stands in a branch that is not taken."""
        if axis.extent is None and axis.size is None:
            self.environment.open.add(axis.id)
        return axis

    def size_in_this_pass(self, kind: Kind, size: Static) -> Static:
        """The size of an axis in the pass at hand. Where the passes of a repeat differ in a depth, each has a body of
        its own, for weights may run along it.
        """
        if kind is Kind.WIDTH or not undetermined(size) or (self.builder.parent is not None and not self.decided):
            return size
        size = self.checker.in_this_pass(size)
        self.checker.undecided = self.checker.undecided or undetermined(size)
        self.checker.decisions.append(size)
        return size

    @abstractmethod
    def expr(self, expr: s.Expr, binding: str | None = None) -> TypedValue | None:
        """The value of an expression; `binding` is the name that it gets as a whole, which may name its weights."""

    @abstractmethod
    def listed(self, expr: s.Expr) -> Static | None:
        """The list that an expression names, or the const parameter of which only a call says whether it is one."""

    @abstractmethod
    def visit_arguments(self, call: s.CallExpr) -> None:
        """Check the arguments for mistakes of their own, when the call itself cannot be understood."""

    def static(self, value: Static, span: Span) -> TypedValue:
        """A number known at build time, or a size."""
        kind = static_element(value)
        value = self.worth(value, span)
        exactly = Range(value, value, True) if kind is Scalar.INT else None
        return TypedValue(Type(kind, ()), Role.CONSTANT, span, static=value, range=exactly)

    def worth(self, value: Static, span: Span) -> Static:
        """The formula. Where it has no value, that is reported, and an unknown number stands for it from there on."""
        if (items := items_of(value)) is not None:
            return value if isinstance(value, ConstOf) else Arith("list", tuple(self.worth(i, span) for i in items))
        checked_number(self.environment.of_sizes, value, span)
        nothing = self.environment.taken and has_no_value(value)
        return ConstOf(self.checker.session.const(span.text, None)) if nothing else value

    @contextmanager
    def only_if(self, condition: Static | None) -> Iterator[None]:
        """What is done meanwhile is done only where this holds; None: always. Else its sizes and numbers may be any."""
        if condition is None:
            yield
            return
        holds, surely, before = known(self.checker.in_this_pass(condition)), self.environment.taken, len(self.formulas)
        self.environment.taken = surely and holds is True
        yield
        self.environment.taken = surely
        later = [formula.only_if(condition) for formula in self.formulas[before:]] if holds is None else []
        if holds is not True:
            self.formulas[before:] = later

    # -- reporting -----------------------------------------------------------------------------------------------

    @property
    def problems(self) -> Problems:
        return self.environment.problems

    def namesakes(self, type: Type) -> tuple[Axis, Axis] | None:
        """Two axes of the type that only look alike: one name, but of two files (D13). Lifted axes are the callers'."""
        seen: dict[str, Axis] = {}
        for axis in type.axes:
            if axis in self.environment.lifted:
                continue
            if axis.name in seen:
                return seen[axis.name], axis
            seen[axis.name] = axis
        return None

    # -- names ---------------------------------------------------------------------------------------------------

    def axis(self, name: s.Ident, declared: str = "") -> Axis | None:
        """The axis of that name, or None after a report.

        declared: how to declare it if there is none, with `{}` for the name.
        """
        axis = self.environment.axis(name.text)
        if axis is not None:
            return axis
        if self.environment.is_missing(name.text):
            return None
        if name.text[0].isdigit():
            self.problems.add(NumberForAxis(name.span))
            return None
        environment, other = self.environment, Other.NOTHING
        if name.text in self.variables:
            other = Other.VARIABLE
        elif environment.const(name.text) is not None:
            other = Other.CONST
        elif name.text in environment.block.mentions.declared:
            other = Other.DECLARED_BELOW
        known, in_file = tuple(environment.candidate_axes()), name.text in environment.module.axes
        numbered = environment.axis(re.sub(r"_?\d+\Z", "", name.text))
        self.problems.add(NoAxisNamed(name.span, name.text, other, known, in_file, numbered, declared))
        return None

    def axes(self, names: Iterable[s.Ident], declared: str = "") -> list[Axis] | None:
        """The axes of these names, or None after reports; `declared` as for one."""
        found = [self.axis(name, declared) for name in names]
        return None if any(axis is None for axis in found) else [axis for axis in found if axis is not None]

    def lookup(self, name: s.Ident) -> Static | None:
        """A name in a declaration: an axis is its size, and one that depends on the pass of a repeat is its formula."""
        axis = self.environment.axis(name.text)
        if axis is not None:
            return (
                axis.size if axis.extent is None and axis.size is not None and undetermined(axis.size) else SizeOf(axis)
            )
        const = self.environment.const(name.text)
        if const is not None:
            return const
        wire = self.variables.get(name.text)
        if wire is not None and wire.static is not None:
            return wire.static
        if not self.environment.is_missing(name.text) and not (name.text in self.variables and wire is None):
            known = [*self.environment.candidate_axes(), *self.environment.candidate_consts()]
            unknown = NoSizeNamed(name.span, name.text, tuple(known))
            self.problems.add(unknown if wire is None else NotStaticName(name.span, name.text, wire.type))
        return None

    def type(self, written: s.TypeExpr) -> Type | None:
        """The type as written, its axes in that order."""
        axes: dict[Axis, s.Ident] = {}
        good = True
        for name in written.axes:
            axis = self.axis(name)
            if axis is None:
                good = False
            elif axis in axes:
                self.problems.add(TypedTwice(name.span, axis, axes[axis].span, self.environment.surroundings))
                good = False
            else:
                axes[axis] = name
        element: Any = Scalar.REAL
        if written.element is not None:
            text = written.element.text
            if text in ELEMENTS:
                element = Scalar(text)
            else:
                into = self.environment.axis(text)
                if into is None:
                    if not self.environment.is_missing(text):
                        axes_known = tuple(self.environment.candidate_axes())
                        self.problems.add(KindOfElement(written.element.span, text, axes_known))
                    return None
                element = IndexInto(into)
        return Type(element, tuple(axes)) if good else None

    def may_own(self, name: str, span: Span) -> bool:
        """Whether weights may be named so (D11)."""
        if not is_reserved(name):
            return True
        self.problems.add(ReservedName(span, name))
        return False
