"""Blocks: checked once on their own, and instantiated where they are called (D8).

"A call means its body with the arguments put in." So a call elaborates the callee's body for the sizes, the families,
the extra axes and the kinds of its arguments, once for each distinct combination (`Checker.specialisations`). A mistake
that the body makes by itself was reported when the block was checked on its own; what only some calls get wrong is a
requirement of the body, and is reported at the call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.mentions import walk
from ..base.problems import Told
from ..base.session import Session
from ..graph.equality import Ways
from ..graph.nodes import Graph, Output
from ..graph.typed_value import TypedValue, fits
from ..graph.values import Element, IndexInto, Role, Scalar, Type
from ..names.modules import BlockDef
from ..names.written_sizes import checked_size, const_static, size_set, size_static
from ..problems.elements import DefaultElement, DefaultIndex
from ..problems.names import (
    Bearer,
    DeclaredTwice,
    DefaultComputed,
    DefaultKind,
    KindOfCopy,
    NameTaken,
    NoParameterNamed,
    NoSizeNamed,
    NotEarlier,
    Twice,
    Unused,
)
from ..problems.results import Count, LocalAxis, NothingPromised, OtherCount, WrongReturn
from ..problems.sizes import SizeOfCopy
from ..sizes.arithmetic import mentions, substitute
from ..sizes.axes import (
    Axis,
    Const,
    ConstOf,
    Kind,
    Literal,
    Number,
    SizeOf,
    Static,
    Value,
    axes_in,
    consts_in,
    known,
    value_of,
)
from ..sizes.limits import MISTAKES, WORK, Exhausted, TooMuch
from ..typing.builder import Builder
from ..typing.environment import Environment
from ..typing.facts import Facts
from ..typing.recorder import Recorder
from ..typing.scope import Scope
from ..typing.sharing import check_one_set
from ..typing.specialisation import Specialisation
from ..typing.statements import Body


@dataclass(eq=False)
class Checker(ABC):
    """All blocks of a program. `called` holds those that some other block calls."""

    session: Session
    specialisations: dict[object, Specialisation] = field(default_factory=dict)
    alone: dict[BlockDef, Specialisation] = field(default_factory=dict)
    closures: dict[BlockDef, tuple[list[Axis], list[Const]]] = field(default_factory=dict)
    carried: dict[BlockDef, frozenset[int]] = field(
        default_factory=dict
    )  # by id: those that are no mere part of a size
    called: set[BlockDef] = field(default_factory=set)
    stack: list[BlockDef] = field(default_factory=list)
    decisions: list[object] = field(default_factory=list)
    undecided: bool = False
    numbers: dict[int, Number] = field(default_factory=dict)  # of consts in the pass at hand, for what is decided by it
    owners: dict[Graph, bool] = field(default_factory=dict)  # whether graphs have weights
    ways: dict[Graph, Ways] = field(default_factory=dict)  # how graphs come to models with weights
    given_up: set[BlockDef] = field(default_factory=set)  # blocks that ask for too much
    library: dict[str, str] = field(default_factory=dict)  # names that the standard library has, and where
    generic_sizes: Mapping[str, Value] = field(default_factory=dict)  # set from outside, for blocks checked alone
    facts: Facts | None = None  # to be filled
    fuel: int = WORK  # expressions that may still be checked
    ranks: Mapping[BlockDef, int] = field(default_factory=dict)  # the order in which a reader meets the blocks

    def spend(self, span: Span, amount: int = 1) -> None:
        """Use up fuel: an expression is checked, or so many parameters are given. Raises Exhausted if none is left."""
        self.fuel -= amount
        if self.fuel < 0:
            raise Exhausted(
                f"calls for different sizes, and passes that differ, come to more than {WORK:,} expressions to check",
                "call blocks for fewer different parameters, and let fewer passes of a repeat depend on its index",
                span,
            )

    def in_this_pass(self, static: Static) -> Static:
        """What decides a static `if`. The graph keeps the index itself: passes of one body have different numbers."""
        return substitute(static, {}, {id: Literal(number) for id, number in self.numbers.items()})

    # -- what a block mentions -----------------------------------------------------------------------------------

    def closure(self, block: BlockDef) -> tuple[list[Axis], list[Const]]:
        """The axes and consts of files that a block mentions, itself or by way of what it calls: its
        implicit parameters.
        """
        if block in self.closures:
            return self.closures[block]
        self.closures[block], self.carried[block] = ([], []), frozenset()  # one that calls itself is refused elsewhere
        axes: dict[int, Axis] = {}
        consts: dict[int, Const] = {}
        parts: set[int] = set()
        module = block.module
        said = block.mentions
        own = {*block.generics, *said.declared}
        for name in said.names:
            if name in own:
                continue
            if name in module.axes:
                axes[module.axes[name].id] = module.axes[name]
                module.read.add(name)
            elif name in module.consts:
                consts[module.consts[name].id] = module.consts[name]
                module.read.add(name)
        for callee, bound in said.calls:
            other = module.blocks.get(callee)
            if other is None or other is block:
                continue
            their_axes, their_consts = self.closure(other)
            skip = {other.module.axes[name].id for name in bound if name in other.module.axes}
            skip |= {other.module.consts[name].id for name in bound if name in other.module.consts}
            for axis in their_axes:
                if axis.id not in skip and not self.hangs_on(axis.id, skip):
                    if axis.id not in self.carried[other] and axis.id not in axes:
                        parts.add(axis.id)
                    elif axis.id in self.carried[other]:
                        parts.discard(axis.id)
                    axes[axis.id] = axis
            for const in their_consts:
                if const.id not in skip and not self.hangs_on(const.id, skip):
                    consts[const.id] = const
        self.carried[block] = frozenset(axes) - parts
        for id in list(axes):
            self._add_parts(id, axes, consts)
        for id in list(consts):
            self._add_parts(id, axes, consts)
        ordered: dict[int, Axis] = {}
        for axis in axes.values():
            self._after_its_parts(axis, axes, ordered)
        self.closures[block] = (list(ordered.values()), list(consts.values()))
        return self.closures[block]

    def file_names(self, block: BlockDef) -> dict[str, Axis | Const]:
        """The axes and consts of files that a call may give anew, by the names that they have in the block's file.

        Also by their own, which the file that uses them may have given them, where that means nothing else there.
        """
        axes, consts = self.closure(block)
        module = block.module
        there: dict[str, Axis | Const] = {**module.axes, **module.consts}
        names: dict[int, list[str]] = {}
        for name, own in there.items():
            names.setdefault(own.id, []).append(name)
        found: dict[str, Axis | Const] = {}
        items: list[Axis | Const] = [*axes, *consts]
        for item in items:
            for name in (*names.get(item.id, ()), item.name):
                if name not in block.generics and there.get(name, item).id == item.id:
                    found.setdefault(name, item)
        return found

    def _after_its_parts(self, axis: Axis, axes: dict[int, Axis], ordered: dict[int, Axis]) -> None:
        """A derived axis stands after what it is derived from: code computes sizes in this order."""
        formula = self.formula(axis.id)
        for part in axes_in(formula) if formula is not None else []:
            if part.id not in ordered:
                self._after_its_parts(axes[part.id], axes, ordered)
        ordered[axis.id] = axis

    def formula(self, id: int) -> Static | None:
        """How a file's axis or const depends on others."""
        return self.session.formulas.get(id) or self.session.const_formulas.get(id)

    def parts(self, id: int) -> set[int]:
        """The axes and consts in the formula of one."""
        formula = self.formula(id)
        return set() if formula is None else set().union(*mentions(formula))

    def hangs_on(self, id: int, ids: set[int]) -> bool:
        """Whether a file's axis or const is derived from one of these."""
        seen, left = {id}, [id]
        while left:
            parts = self.parts(left.pop())
            if parts & ids:
                return True
            left += parts - seen
            seen |= parts
        return False

    def _add_parts(self, id: int, axes: dict[int, Axis], consts: dict[int, Const]) -> None:
        """What a derived size is derived from is mentioned too."""
        formula = self.formula(id)
        if formula is None:
            return
        for axis in axes_in(formula):
            if axis.id not in axes:
                axes[axis.id] = axis
                self._add_parts(axis.id, axes, consts)
        for const in consts_in(formula):
            if const.id not in consts:
                consts[const.id] = const
                self._add_parts(const.id, axes, consts)

    # -- a block on its own --------------------------------------------------------------------------------------

    def check_alone(self, block: BlockDef) -> Specialisation:
        """Check a block with its own axes standing for themselves; the graph is that of the block as a model."""
        if block in self.alone:
            return self.alone[block]
        saved = self.decisions, self.undecided
        self.decisions, self.undecided = [], False
        environment = Environment.of(block, roles_known=block not in self.called)
        results, graph, depth = None, None, len(self.stack)
        try:
            results, graph = self._alone(block, environment)
        except Exhausted:
            raise
        except TooMuch as much:
            del self.stack[depth:]
            self.given_up.add(block)
            environment.problems.found[MISTAKES:] = [Told.of(much.at(environment.at or block.decl.name.span))]
        specialisation = Specialisation(
            environment, graph, results or [], environment.problems.found, self.decisions, self.undecided
        )
        self.alone[block] = specialisation
        self.decisions, self.undecided = saved
        return specialisation

    def _alone(self, block: BlockDef, environment: Environment) -> tuple[list[TypedValue | None] | None, Graph | None]:
        """The results of a block with its own axes, and its graph."""
        families: dict[int, int] = {}
        axes, consts = self.closure(block)
        if not block.module.library:
            for problem in (problem for axis in axes for problem in self.session.waiting.get(axis.id, ())):
                self.session.problems.add(problem)
        for generic in block.decl.generics:
            self._generic(environment, generic)
        for axis in axes:
            family = families.setdefault(axis.family, self.session.fresh())
            self.parameter(environment, axis, axis, family, implicit=True)
        for const in consts:
            self.const_parameter(environment, const.name, const.value, const)
        self.derive_sizes(environment, axes)
        self.keep_names_known(environment)
        builder = Builder()
        wires: dict[str, TypedValue | None] = {}
        body = (
            Body(self, environment, builder, wires)
            if self.facts is None
            else Recorder(self, environment, builder, wires)
        )
        for formal in block.decl.formals:
            wires.update(self._formal(body, formal, wires))
            if self.facts is not None:
                self.facts.note(formal.name.span, wires.get(formal.name.text))
        self._results_once(environment)
        self.stack.append(block)
        results = self.elaborate(body)
        self.stack.pop()
        return results, self.graph_of(environment, builder, results, body) if results else None

    def keep_names_known(self, environment: Environment) -> None:
        """File-level names that the block does not mention by any path cannot be wanted, but may be
        misspelt: keep them known.
        """
        for name, axis in environment.module.axes.items():
            if axis.id in environment.of_file:
                environment.names.setdefault(name, environment.of_file[axis.id])
        for name, const in environment.module.consts.items():
            if const.id in environment.const_of_file:
                environment.consts.setdefault(name, ConstOf(environment.const_of_file[const.id]))

    def _generic(self, environment: Environment, generic: s.Generic) -> None:
        """An explicit parameter of a block that is checked on its own."""
        name = generic.name.text
        if name in environment.names or name in environment.consts:
            environment.problems.add(DeclaredTwice(generic.name.span, name, Twice.PARAMETER))
            return
        lookup = lambda ident: self._lookup(environment, ident)  # noqa: E731
        if generic.kind == "const":
            value = None
            if generic.default is not None:
                static = const_static(generic.default, lookup, environment.problems)
                value = None if static is None else value_of(static)
            if not environment.module.library:
                value = self.generic_sizes.get(name, value)
            const = self.session.const(name, value)
            environment.consts[name] = ConstOf(const)
            environment.const_params.append(const)
            return
        family: int | None = None
        extent: int | None = None
        kind = Kind(generic.kind)
        original: Axis | None = None
        if generic.like is not None:
            original = environment.names.get(generic.like.text)
            if original is None and generic.like.text in environment.module.axes:
                environment.problems.add(NotEarlier(generic.like.span, name, generic.like.text))
            elif original is None and not environment.is_missing(generic.like.text):
                like, known = generic.like, tuple(environment.names)
                environment.problems.add(NoParameterNamed(like.span, like.text, name, generic.kind, known))
            elif original is not None and original.kind is not kind:
                environment.problems.add(KindOfCopy(generic.span, name, kind.value, original))
            elif original is not None:
                family, extent = original.family, original.extent
        setting = None if environment.module.library else self.generic_sizes.get(name)
        if setting is not None and family is None:  # a copy has the size of its original
            extent = size_set(environment.problems, setting, generic.name)
        elif generic.default is not None:
            static = size_static(generic.default, lookup, environment.problems)
            if isinstance(static, SizeOf) and static.axis.kind is not kind:
                environment.problems.add(DefaultKind(generic.default.span, name, kind.value, static.axis))
            elif family is None and static is not None:
                extent = checked_size(environment.problems, static, generic.default.span, name)
            elif not isinstance(static, SizeOf | None):
                assert original is not None
                environment.problems.add(SizeOfCopy(generic.default.span, name, original.name))
        axis = self.session.axis(name, kind, extent=extent, family=family, span=generic.name.span)
        if generic.like is not None and original is None:
            environment.misdeclared.add(name)
        else:
            environment.names[name] = axis
        environment.params.append(axis)
        if extent is None:
            environment.open.add(axis.id)

    def _lookup(self, environment: Environment, ident: s.Ident) -> Static | None:
        """A name in the default of a parameter: an earlier parameter, or one of the file."""
        if ident.text in environment.names:
            return SizeOf(environment.names[ident.text])
        if ident.text in environment.consts:
            return environment.consts[ident.text]
        if ident.text in environment.module.axes:
            return SizeOf(environment.module.axes[ident.text])
        if ident.text in environment.module.consts:
            return ConstOf(environment.module.consts[ident.text])
        if not environment.is_missing(ident.text):
            known = (*environment.names, *environment.consts, *environment.module.axes, *environment.module.consts)
            environment.problems.add(NoSizeNamed(ident.span, ident.text, known))
        return None

    def parameter(self, environment: Environment, like: Axis, extents: Axis, family: int, implicit: bool) -> Axis:
        """A parameter of a specialisation, with the size of what it stands for."""
        axis = self.session.axis(
            like.name,
            like.kind,
            label=like.label,
            extent=extents.extent,
            bound=extents.bound,
            family=family,
            span=like.span,
            ragged=extents.ragged,
        )
        environment.params.append(axis)
        if implicit:
            environment.of_file[like.id] = axis
        else:
            environment.names[like.name] = axis
        return axis

    def const_parameter(
        self,
        environment: Environment,
        name: str,
        value: Value | None,
        of_file: Const | None,
        like: Number | None = None,
    ) -> Const:
        const = self.session.const(name, value, like=like)
        environment.const_params.append(const)
        if of_file is None:
            environment.consts[name] = ConstOf(const)
        else:
            environment.const_of_file[of_file.id] = const
        return const

    def derive_sizes(self, environment: Environment, axes: list[Axis], rebound: frozenset[int] = frozenset()) -> None:
        """Derived axes of the file keep their formula, over the axes of the specialisation."""
        for axis in axes:
            if axis.size is None or axis.id in rebound:
                continue
            consts: dict[int, Static] = {id: ConstOf(const) for id, const in environment.const_of_file.items()}
            mine = environment.of_file[axis.id]
            size = substitute(axis.size, environment.of_file, consts)
            derived = replace(mine, size=size)
            environment.of_file[axis.id] = derived
            environment.params[environment.params.index(mine)] = derived

    def _results_once(self, environment: Environment) -> None:
        """Results have names of their own; one may bear that of an argument."""
        seen: set[str] = set()
        for result in environment.block.decl.results:
            if result.name is not None and result.name.text in seen:
                environment.problems.add(DeclaredTwice(result.name.span, result.name.text, Twice.RESULT))
            elif result.name is not None:
                seen.add(result.name.text)

    def _formal(
        self, body: Body, formal: s.Formal, so_far: dict[str, TypedValue | None]
    ) -> dict[str, TypedValue | None]:
        """An input of a block on its own."""
        environment, name = body.environment, formal.name.text
        if name in so_far:
            environment.problems.add(DeclaredTwice(formal.name.span, name, Twice.ARGUMENT))
            return {}
        bearer = environment.bearer(name)
        if bearer is not None:
            environment.problems.add(NameTaken(formal.name.span, name, Bearer.ARGUMENT, bearer[0]))
            return {name: None}
        type = body.type(formal.type)
        if type is None:
            return {name: None}
        wire = body.builder.input(name, type, Role.DATA, formal.name.span)
        if formal.default is not None:
            default = body.expr(formal.default)
            if default is not None and default.static is None:
                environment.problems.add(DefaultComputed(formal.default.span, name, default.type))
            elif default is not None and default.static is not None:
                if not fits(default.element, type.element) and not _is_index(default.static, type.element):
                    whole = isinstance(type.element, IndexInto) and default.element is Scalar.INT
                    wrong = DefaultIndex if whole else DefaultElement
                    environment.problems.add(wrong(formal.default.span, name, type, default.type))
                body.builder.inputs[-1] = replace(body.builder.inputs[-1], default=default.static)
        return {
            name: replace(
                wire, mark_unknown=body.environment.block in self.called, span=formal.name.span.to(formal.type.span)
            )
        }

    def elaborate(self, body: Body) -> list[TypedValue | None] | None:
        """Run the statements; check what is returned against what is promised."""
        environment, decl = body.environment, body.environment.block.decl
        if environment.block.target:
            return self._external(body)
        body.run(decl.body)
        check_one_set(body)
        self._unused(body)
        if not body.returned:
            if not any(isinstance(node, s.Return) for node in walk(decl.body)):
                environment.problems.add(WrongReturn(decl.head, Count.NOTHING, decl.name.text))
            return None
        statement, wires = body.returned[0]
        for again, _ in body.returned[1:]:
            environment.problems.add(WrongReturn(again.span, Count.AGAIN, first=statement.span))
        results = decl.results
        if not results:
            if environment.block.is_model:
                types = tuple(wire.type for wire in wires if wire is not None)
                environment.problems.add(NothingPromised(decl.head, decl.name.text, types))
            return wires
        if len(wires) != len(results):
            promised, counts = results[0].span.to(results[-1].span), (len(wires), len(results))
            environment.problems.add(OtherCount(statement.span, decl.name.text, statement, *counts, promised))
            return None
        checked: list[TypedValue | None] = []
        for position, (wire, result) in enumerate(zip(wires, results, strict=True)):
            wanted = body.type(result.type)
            if wire is None or wanted is None:
                checked.append(None)
                continue
            place = statement.values[position].span if len(statement.values) == len(results) else statement.span
            name = result.name or decl.name
            good = body.expected(wire, wanted, place, result.type.span, name.text, result.name is None)
            lacks = [axis for axis in wanted.axes if axis not in wire.type.axes]
            if good and lacks:
                broadcast_axes = wire.type.broadcast_axes | set(lacks)
                wire = replace(wire, type=Type(wire.element, (*wire.type.axes, *lacks), broadcast_axes))
            checked.append(wire if good else None)
            local = [axis for axis in wanted.axes if axis in environment.own_axes]
            if local:
                environment.problems.add(LocalAxis(result.type.span, local[0]))
        return checked

    def _external(self, body: Body) -> list[TypedValue | None]:
        """What an op of the user's own gives: what it promises, for each index of the lifted axes."""
        environment, builder = body.environment, body.builder
        role = max([entry.value.role for entry in builder.inputs], default=Role.TABLE)
        wires: list[TypedValue | None] = []
        for result in environment.results:
            wanted = body.type(result.type)
            if wanted is None:
                wires.append(None)
                continue
            type = replace(wanted, axes=(*environment.lifted, *wanted.axes))
            wires.append(TypedValue(type, role, result.span, builder.value(type, role, result.span), home=builder))
        return wires

    def _unused(self, body: Body) -> None:
        if body.problems.errors:
            return  # what would use it may be what is wrong
        if not body.returned:
            return
        for name, span in body.assigned.items():
            known = body.variables.get(name) is not None or name in body.gone
            if known and name not in body.used and not name.startswith("_"):
                body.problems.add(Unused(span, name, name in body.gone))

    def graph_of(
        self, environment: Environment, builder: Builder, results: list[TypedValue | None], body: Body
    ) -> Graph | None:
        if any(wire is None for wire in results):
            return None
        outputs = []
        declared = environment.block.decl.results
        for position, wire in enumerate(results):
            assert wire is not None
            result = declared[position] if declared else None
            with environment.problems.aside():
                wanted = body.type(result.type) if result else None
            axes = wanted.axes if wanted else tuple(axis for axis in wire.type.axes if axis not in environment.lifted)
            value = builder.take(wire)
            name = result.name.text if result is not None and result.name is not None else None
            claimed = result.causal if result is not None and result.trusted is not None else ()
            trusted = tuple(axis for each in claimed if (axis := environment.axis(each.text)) is not None)
            outputs.append(Output(name, value, axes, trusted=trusted))
        kind = "op" if environment.block.target else environment.block.decl.keyword
        return Graph(
            environment.block.name,
            kind,
            (*environment.params, *environment.own_axes),
            len(environment.params),
            tuple(environment.const_params),
            environment.lifted,
            tuple(builder.inputs),
            tuple(builder.nodes),
            tuple(outputs),
            environment.block.decl.doc,
            environment.block.decl.head,
            environment.block.target,
            display=environment.block.display,
            rank=self.ranks.get(environment.block),
        )

    # -- a call --------------------------------------------------------------------------------------------------

    @abstractmethod
    def call_block(
        self, body: Scope, block: BlockDef, call: s.CallExpr, shared: str | None = None
    ) -> list[TypedValue | None] | None:
        """A block called: its results in the caller's axes; None after a report."""


def _is_index(static: Static, element: Element) -> bool:
    """Whether a number may stand for an index: it is a whole one, and lies within the axis as far as is known."""
    if not isinstance(element, IndexInto):
        return False
    value, size = known(static), element.axis.extent
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0 and (size is None or value < size)
