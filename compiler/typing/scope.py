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
from ..base.names import is_reserved, misspelt, nearest, respelt, undeclared
from ..base.problems import Problems
from ..base.session import Session
from ..graph.equality import Ways
from ..graph.nodes import Graph
from ..graph.typed_value import Range, TypedValue, show, static_element
from ..graph.values import IndexInto, Role, Scalar, Type
from ..names.modules import ELEMENTS, BlockDef
from ..names.written_sizes import checked_number, has_no_value
from ..sizes.axes import Arith, Axis, ConstOf, Kind, Number, SizeOf, Static, items_of, known, undetermined
from .builder import Builder
from .copies import copies
from .environment import Environment
from .facts import Facts
from .specialisation import Formula, Specialisation

_REALS = frozenset(("tensor", "float", "double", "half", "f", "bf", "bfloat", "number", "scalar", "array", "ndarray"))
"""What other languages call real numbers, or anything in brackets; with a number of bits or without."""
_BATCH = frozenset(("batch", "batches", "batch_size", "batchsize", "bs", "bsz", "n_batch", "nbatch"))
_ELEMENTS = "a type is `[axes]` for real numbers, `bool[axes]`, `int[axes]`, or `axis[axes]` for indices into that axis"

Splits = dict[tuple[int, frozenset[int]], tuple[tuple[tuple[Axis, ...], Span], ...]]
"""By an axis and the set of axes that it was split into: the orders that were written, and where."""


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

    def report(self, *said: Any, **more: Any) -> None:
        """As `problems.report`."""
        self.problems.report(*said, **more)

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

    def report_namesakes(self, a: Axis, b: Axis, span: Span, related: Iterable[tuple[Span | None, str]] = ()) -> None:
        files = [axis.span.source.name for axis in (a, b) if axis.span is not None]
        where = f": one of {files[0]}, one of {files[1]}" if len(set(files)) == 2 else ""
        self.problems.report(
            "E0212",
            f"two axes named `{a.name}` meet here{where}",
            span,
            related=[*related, (a.span, f"one `{a.name}`"), (b.span, f"another `{b.name}`")],
            help=f"if they are to be one, name it in the `use`: `use ...: {a.name}`; the declaration "
            f"of this file then holds in both",
        )

    def report_wrong_table(self, ids: TypedValue, have: Axis, want: Axis, message: str, span: Span, help: str) -> None:
        """Indices into one axis where those into another are wanted (D2)."""
        self.problems.report(
            "E0312",
            message,
            span,
            f"this is {show(ids)}",
            related=[(want.span, f"`{want.name}` is declared here"), (have.span, f"`{have.name}` is declared here")],
            help=help,
        )

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
            self.problems.report(
                "E0318",
                "brackets hold names of axes, but this is a number",
                name.span,
                help=f"declare an axis of that size, `depth name = {name.text}`, and write `name`"
                if name.text != "0"
                else "axes have names and no order: write the name of one",
            )
            return None
        near = nearest(name.text, self.environment.candidate_axes())
        message = f"no axis is named `{name.text}`"
        help = f"declare it: `width {name.text}` or `depth {name.text} = 64`"
        numbered = self.environment.axis(re.sub(r"_?\d+\Z", "", name.text))
        if name.text.lower() in _BATCH and near is None:
            help = "leave it out: the axes of a batch are not written, all ops run along them by themselves"
        elif numbered is not None and not misspelt(name.text, near or ""):
            near, help = None, f"declare a copy: `{numbered.kind.value} {name.text} like {numbered.name}`"
        elif declared:
            help = f"declare it: `{declared.format(name.text)}`"
        if name.text in self.variables:
            message = f"`{name.text}` is a variable, but an axis is wanted here"
            help = f"write the name of an axis; `abs({name.text})` is the absolute value"
        elif self.environment.const(name.text) is not None:
            message = f"`{name.text}` is a const, but an axis is wanted here"
            help = f"declare an axis of that size: `depth other = {name.text}`"
        elif name.text in self.environment.block.mentions.declared:
            near, message = None, f"`{name.text}` is declared in this body, further down"
            help = f"call that one otherwise, and `{name.text}` is that of the file"
            if name.text not in self.environment.module.axes:
                help = "declare it before, or make it a parameter of the block"
        help = f"did you mean `{near}`?" if near else help
        self.problems.report("E0201", message, name.span, help=help, fix=respelt(name.span, near))
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
            if wire is not None:
                self.problems.report(
                    "E0207",
                    f"`{name.text}` is {show(wire)}: no number known at build time",
                    name.span,
                    help="a size or const is made of numbers, sizes and consts",
                )
            else:
                self.problems.report(
                    "E0201", f"no axis or const is named `{name.text}`", name.span, help=undeclared(name.text, known)
                )
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
                self.problems.report(
                    "E0322",
                    f"`{name.text}` stands twice in one type: a value has each axis once",
                    name.span,
                    related=[(axes[axis].span, "first here")],
                    help=f"write its copy: `{others[0]}`"
                    if (others := copies(axis, self.environment))
                    else f"declare a copy: `{axis.kind.value} other like {axis.name}`",
                )
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
                        reals = "".join(c for c in text.lower() if c.isalpha()) in _REALS
                        others = [Scalar.BOOL.value, Scalar.INT.value]
                        near = "" if reals else nearest(text, [*self.environment.candidate_axes(), *others])
                        self.problems.report(
                            "E0215",
                            f"`{text}` is no kind of element: neither bool, nor int, nor an axis",
                            written.element.span,
                            help=f"did you mean `{near}`?" if near else _ELEMENTS,
                            fix=[(written.element.span, near or "")] if near or reals else [],
                        )
                    return None
                element = IndexInto(into)
        return Type(element, tuple(axes)) if good else None

    def may_own(self, name: str, span: Span) -> bool:
        """Whether weights may be named so (D11)."""
        if not is_reserved(name):
            return True
        self.problems.report(
            "E0216",
            f"weights cannot be named `{name}`: it is reserved",
            span,
            notes=["names of weights become attributes of a torch module: Python and torch keep some for themselves"],
            help=f"give it another label, such as `{name.strip('_')}_`",
            fix=[(span, f"{name.strip('_')}_")] if span.source.text[: span.start].endswith(".") else [],
        )
        return False
