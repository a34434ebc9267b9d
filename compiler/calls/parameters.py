"""What the parameters of a called block stand for: fresh axes and consts of its own, for those of the caller."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...dsl import syntax as s
from ...dsl.source import Span
from ..graph.typed_value import static_element
from ..graph.values import Scalar
from ..names.written_sizes import const_static, size_static
from ..problems.calls import NoCopyGiven
from ..sizes.arithmetic import largest, substitute
from ..sizes.axes import (
    Axis,
    Const,
    ConstOf,
    Kind,
    Literal,
    Number,
    SizeOf,
    Static,
    as_static,
    axes_in,
    consts_in,
    is_list,
    value_of,
)
from ..typing.names import size_in_this_pass
from ..typing.signature import Signature
from .binding import Binding
from .formals import const_parameter, derive_sizes, keep_names_known, parameter


@dataclass
class Parameters(Binding):
    """`actual` says what of the caller each parameter stands for, `const_actual` what each const is given."""

    actual: list[tuple[Axis, Axis]] = field(default_factory=list)
    const_actual: list[tuple[Const, Static]] = field(default_factory=list)
    of_sizes: set[int] = field(default_factory=set)  # parameters that only sizes are derived from: no value has them
    unlike: bool = False  # a parameter is no copy of what it must be a copy of
    invalid_default: bool = False  # the default of a parameter is wrong

    def _own_environment(self, bound: dict[str, Axis | Static]) -> Signature:
        """Fresh axes for the callee's parameters. `self.actual` says what of the caller each stands for."""
        checker, block = self.checker, self.block
        around = self.env
        environment = Signature(block, around.signature.roles_known)
        axes, consts = checker.closures.of(block)
        checker.spend(self.call.span, len(axes) + len(consts))
        given, numbers, rebound = self._implicit(bound, axes, consts)
        families: dict[int, int] = {}

        def family(axis: Axis) -> int:
            return families.setdefault(axis.family, checker.session.fresh())

        templates = {axis.name: axis for axis in checker.alone[block].environment.signature.params}
        for generic in block.generics.values():
            if generic.kind == "const":
                self._explicit_const(environment, generic, bound, given, numbers)
                continue
            actual = self._explicit_axis(environment, generic, bound, given, numbers)
            axis = parameter(
                checker.session, environment, templates[generic.name.text], actual, family(actual), implicit=False
            )
            self.actual.append((axis, actual))
            self._like(environment, generic, axis, actual)
        for axis in axes:
            actual = given[axis.id]
            own = parameter(checker.session, environment, axis, actual, family(actual), implicit=True)
            self.actual.append((own, actual))
            if axis.id not in checker.closures.carried[block]:
                self.of_sizes.add(own.id)
        for const in consts:
            number = numbers[const.id]
            formal = const_parameter(
                checker.session, environment, const.name, value_of(number), const, self._like_number(number)
            )
            self.const_actual.append((formal, numbers[const.id]))
        derive_sizes(environment, axes, rebound)
        now = {axis.id: axis for axis in environment.params}  # a derived width got its formula after it was made
        self.actual = [(now.get(formal.id, formal), actual) for formal, actual in self.actual]
        environment.open |= {formal.id for formal, actual in self.actual if actual.id in self.env.signature.open}
        keep_names_known(environment)
        environment.running = {
            formal for formal, static in self.const_actual if self.env.signature.only_at_run_time(static)
        }
        return environment

    def _implicit(
        self, bound: dict[str, Axis | Static], axes: list[Axis], consts: list[Const]
    ) -> tuple[dict[int, Axis], dict[int, Static], frozenset[int]]:
        """What the callee's implicit parameters stand for, by the ids of the file's axes and consts: as the call names
        them (the ids of those come third), else derived anew from what it names, else the caller's own.
        """
        given: dict[int, Axis] = {}
        numbers: dict[int, Static] = {}
        for name, item in self.checker.closures.file_names(self.block).items():
            value = bound.get(name)
            if isinstance(item, Axis) and isinstance(value, Axis):
                given[item.id] = value
            elif isinstance(item, Const) and value is not None and not isinstance(value, Axis):
                numbers[item.id] = value
        rebound = {*given, *numbers}
        for axis in axes:
            self._inherit_axis(axis, rebound, given, numbers)
        for const in consts:
            self._inherit_const(const, rebound, given, numbers)
        return given, numbers, frozenset(rebound)

    def _explicit_const(
        self,
        environment: Signature,
        generic: s.Generic,
        bound: dict[str, Axis | Static],
        given: dict[int, Axis],
        numbers: dict[int, Static],
    ) -> None:
        """A const in the callee's brackets: what the call gives, else its default."""
        static = bound.get(generic.name.text)
        if static is None:
            static = self._default(environment, generic, given, numbers, exact=False) or Literal(0)
        assert not isinstance(static, Axis)
        like = self._like_number(static)
        const = const_parameter(self.checker.session, environment, generic.name.text, value_of(static), None, like)
        self.const_actual.append((const, static))

    def _default(
        self,
        environment: Signature,
        generic: s.Generic,
        given: dict[int, Axis],
        numbers: dict[int, Static],
        exact: bool = True,
    ) -> Static | None:
        """The default of a parameter of the callee, for a call that does not set it. None after a report."""
        assert generic.default is not None
        lookup = lambda ident: self._default_name(environment, ident, given, numbers)  # noqa: E731
        if exact:
            static = size_static(generic.default, lookup, self.env.problems)
        else:
            static = const_static(generic.default, lookup, self.env.problems)
        self.invalid_default = self.invalid_default or static is None
        return static

    def _like_number(self, static: Static) -> Number | None:
        """A number of the same kind as what a const is given; None where calls of the block around decide the kind, and
        of a list.
        """
        if is_list(static) or any(self.env.signature.is_open(ConstOf(const)) for const in consts_in(static)):
            return None
        return {Scalar.REAL: 0.5, Scalar.BOOL: True}.get(static_element(static), 0)

    def _explicit_axis(
        self,
        environment: Signature,
        generic: s.Generic,
        bound: dict[str, Axis | Static],
        given: dict[int, Axis],
        numbers: dict[int, Static],
    ) -> Axis:
        """The axis of the caller that an axis in the callee's brackets stands for."""
        actual = bound.get(generic.name.text)
        if actual is None:
            return self._default_axis(generic, self._default(environment, generic, given, numbers) or Literal(1))
        assert isinstance(actual, Axis)
        return actual

    def _like(self, environment: Signature, generic: s.Generic, axis: Axis, actual: Axis) -> None:
        """`k: width like q`: what k and q stand for must be copies of one axis."""
        original = environment.names.get(generic.like.text) if generic.like is not None else None
        if original is None or original.family == axis.family:
            return
        self.unlike = True
        theirs = next(a for f, a in self.actual if f is original)
        at, around = (self.call.brackets or self.call).span, self.env.surroundings
        names = self.called, axis.name, original.name
        self.env.problems.add(NoCopyGiven(at, *names, actual, theirs, generic, self.call, around))

    def _inherit_axis(self, axis: Axis, rebound: set[int], given: dict[int, Axis], numbers: dict[int, Static]) -> None:
        """What an implicit parameter stands for that the call does not name: derived anew, or the caller's,
        or itself.
        """
        if axis.id in given:
            return
        session, caller = self.checker.session, self.env
        mine = caller.signature.of_file.get(axis.id)
        formula = session.formulas.get(axis.id)
        if formula is None or not self.checker.closures.hangs_on(axis.id, rebound):
            given[axis.id] = mine or axis
            return
        self._inherit_parts(formula, rebound, given, numbers)
        if mine is not None and not self.checker.closures.hangs_on(axis.id, self._changed(rebound, given, numbers)):
            given[axis.id] = mine
        elif isinstance(formula, SizeOf) and formula.axis.family == axis.family:
            original = given[formula.axis.id]
            given[axis.id] = session.axis(
                axis.name,
                axis.kind,
                label=axis.label,
                extent=original.extent,
                bound=original.bound,
                family=original.family,
                span=axis.span,
                ragged=original.ragged,
            )
        else:
            size = substitute(formula, given, numbers)
            given[axis.id] = self._of_size(axis.name, axis.kind, size, axis.span, axis.label)

    def _inherit_const(
        self, const: Const, rebound: set[int], given: dict[int, Axis], numbers: dict[int, Static]
    ) -> None:
        if const.id in numbers:
            return
        mine = self.env.signature.const_of_file.get(const.id)
        formula = self.checker.session.const_formulas.get(const.id)
        if formula is not None and self.checker.closures.hangs_on(const.id, rebound):
            self._inherit_parts(formula, rebound, given, numbers)
            numbers[const.id] = substitute(formula, given, numbers)
        else:
            numbers[const.id] = ConstOf(mine) if mine is not None else as_static(const.value or 0)

    def _inherit_parts(
        self, formula: Static, rebound: set[int], given: dict[int, Axis], numbers: dict[int, Static]
    ) -> None:
        for axis in axes_in(formula):
            self._inherit_axis(axis, rebound, given, numbers)
        for const in consts_in(formula):
            self._inherit_const(const, rebound, given, numbers)

    def _changed(self, rebound: set[int], given: dict[int, Axis], numbers: dict[int, Static]) -> set[int]:
        """The names that the call sets to something else than the caller's own of that name: not `f[seq = seq]`."""
        caller = self.env
        own = {id for id, axis in caller.signature.of_file.items() if given.get(id) == axis}
        own |= {id for id, const in caller.signature.const_of_file.items() if numbers.get(id) == ConstOf(const)}
        return rebound - own

    def _default_name(
        self, environment: Signature, ident: s.Ident, given: dict[int, Axis], numbers: dict[int, Static]
    ) -> Static | None:
        name = ident.text
        for formal, actual in self.actual:
            if formal.name == name and name in environment.names:
                return SizeOf(actual)
        for const, static in self.const_actual:
            if const.name == name:
                return static
        module = self.block.module
        if name in module.axes:
            return SizeOf(given.get(module.axes[name].id, module.axes[name]))
        if name in module.consts:
            return numbers.get(module.consts[name].id, ConstOf(module.consts[name]))
        return None  # said of the block itself

    def _default_axis(self, generic: s.Generic, static: Static) -> Axis:
        """A default that names an axis is that axis; a number makes an axis of its own."""
        if isinstance(static, SizeOf):
            return static.axis
        return self._of_size(generic.name.text, Kind(generic.kind), static, generic.span)

    def _of_size(self, name: str, kind: Kind, size: Static, span: Span | None, label: str | None = None) -> Axis:
        """A new axis, as large as axes and consts of the caller make it."""
        size = size_in_this_pass(self.env, kind, size)
        if kind is Kind.DEPTH and not self.env.signature.known_depth(name, size, self.call.span):
            self.invalid_default = True
        extent, formula = self.env.sized(size, self.call.span, name, formula_span=span)
        bound = largest(size) if extent is None and kind is Kind.WIDTH else None
        return self.env.signature.opened(
            self.checker.session.axis(
                name, kind, label=label, extent=extent, size=formula if extent is None else None, bound=bound, span=span
            )
        )
