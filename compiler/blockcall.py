"""A block called: an instance of it found or made, and a node of the caller's graph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..dsl import syntax as s
from ..dsl.diagnostic import Diagnostic, Label, Severity
from ..dsl.source import Span
from .alike import told_apart
from .axes import Axis, Kind
from .binding import Binding
from .body import Body
from .builder import Builder
from .frame import Formula, Frame, Instance
from .graph import (
    Apply,
    Call,
    Graph,
    IndexInto,
    Node,
    Parameter,
    Repeat,
    Role,
    Scalar,
    Scan,
    Type,
    Value,
    owns,
    values_of,
)
from .limits import BODIES, CALLS_DEEP, TooMuch
from .lost import copies
from .mentions import walk
from .modules import checked_size, size_static
from .names import indexed, listed
from .one_set import own, ways
from .session import place
from .sizes import largest, substitute
from .static import Const, ConstOf, Literal, Number, SizeOf, Static, axes_in, consts_in, known
from .wires import Wire, fits, show, show_axes, show_type

_TOLD_BY_CALLS = frozenset({"E0307"})  # what is decided where a block is called, not where it is declared


@dataclass
class BlockCall(Binding):
    """`actual` says what of the caller each parameter stands for, `const_actual` what each const is given."""

    actual: list[tuple[Axis, Axis]] = field(default_factory=list)
    const_actual: list[tuple[Const, Static]] = field(default_factory=list)
    of_sizes: set[int] = field(default_factory=set)  # parameters that only sizes are derived from: no value has them
    unlike: bool = False  # a parameter is no copy of what it must be a copy of
    groundless: bool = False  # the default of a parameter is wrong
    foreign: bool = False  # an argument has an axis of the right name, but of another file
    given_wires: list[Wire] = field(default_factory=list)
    mixed: bool = False  # an argument has other axes than the call names: which of the two is meant is not known

    def run(self) -> list[Wire | None] | None:
        checker, body, block, call = self.checker, self.body, self.block, self.call
        if block in checker.stack:
            body.visit_arguments(call)
            chain = [b.name for b in checker.stack[checker.stack.index(block) :]] + [block.name]
            body.report(
                "E0407",
                f"`{block.name}` would call itself: {' -> '.join(chain)}",
                call.span,
                help="a block may not call itself; write the repetition as `repeat`",
            )
            return None
        name = self._name()
        alone = checker.check_alone(block)
        bound = self._bind_parameters()
        arguments = self._bind_arguments()
        if bound is None or arguments is None or name is None:
            return None
        arranged = self._arranged(bound, arguments)
        if arranged is None:
            return None
        arguments = self._with_defaults(arranged)
        broken = any(d.severity is Severity.ERROR for d, _ in alone.problems)
        broken = broken or (alone.graph is None and not alone.undecided)  # what a const of the call decides is open yet
        frame = self._instance_frame(bound)
        if self.groundless:
            return [None] * max(1, len(block.decl.results))
        inputs = self._inputs(frame, arguments)
        if self.foreign or self.mixed:
            return [None] * max(1, len(block.decl.results))
        if inputs is None or self.unlike:
            return self._promised(frame)
        if block in checker.given_up:
            return self._promised(frame)
        if len(checker.stack) > CALLS_DEEP:
            raise TooMuch(f"blocks call each other more than {CALLS_DEEP} deep", "call fewer blocks in one another")
        if len(checker.instances) > BODIES:
            raise TooMuch(
                f"the blocks called here stand for more than {BODIES} bodies, each for other sizes or arguments",
                "give fewer different parameters; what is the same each time is one body",
            )
        instance = self._instance(frame, inputs)
        if broken:
            self._relay(instance, only=_TOLD_BY_CALLS)
            return self._promised(instance.frame)
        checker.decisions.extend(instance.decisions)
        checker.undecided = checker.undecided or instance.undecided
        self._pass_on(instance.formulas)
        self._relay(instance)
        frame = instance.frame
        if instance.graph is None:
            return self._promised(frame)
        if not self._apart(instance, frame) or not self._one_form(instance.graph):
            return None
        return self._emit(instance, frame, arguments, name)

    def _arranged(
        self, bound: dict[str, Axis | Static], arguments: dict[str, tuple[Wire, Span]]
    ) -> dict[str, tuple[Wire, Span]] | None:
        """The arguments as the callee gets them; a scan gives it items."""
        return arguments

    def _with_defaults(self, arguments: dict[str, tuple[Wire, Span]]) -> dict[str, tuple[Wire, Span]]:
        """An op of the user's own has no body to put a default in: it is given like any other argument. So is the
        default of an argument that another call of the same weights gives.
        """
        given = dict(arguments)
        for formal in self.block.decl.formals:
            name = formal.name.text
            if name not in given and formal.default is not None and (self.block.target or name in self.spread):
                default = Body(self.checker, self.checker.alone[self.block].frame, Builder(), {}).expr(formal.default)
                if default is not None and (self.block.target or isinstance(default.static, Literal)):
                    given[name] = (default, self.call.span)
        return given

    @cached_property
    def spread(self) -> set[str]:
        """The arguments that calls of one set of weights do not all write alike: a number among them stands in no body,
        or the calls would have a body each. Truth values stay: no mask at all is another computation.
        """
        if self.shared is None:
            return set()
        formals = self.block.decl.formals
        written: dict[str, set[object]] = {formal.name.text: set() for formal in formals}
        for node in walk(self.body.frame.block.decl.body):
            if isinstance(node, s.Call) and node.callee.text == self.call.callee.text:
                given = dict(zip(written, (a.value for a in node.arguments if a.name is None), strict=False))
                given |= {a.name.text: a.value for a in node.arguments if a.name is not None}
                for name, told in written.items():
                    told.add(_written(given.get(name)))
        truths = {f.name.text for f in formals if f.type.element is not None and f.type.element.text == "bool"}
        return {name for name, told in written.items() if len(told) > 1} - truths

    def _put_in(self, name: str, wire: Wire | None) -> bool:
        """A plain number or truth value stands in the body as it is, and is no input of it."""
        plain = wire is not None and isinstance(wire.static, Literal)
        return plain and not self.block.target and name not in self.spread

    # The instance.

    def _instance_frame(self, bound: dict[str, Axis | Static]) -> Frame:
        """Fresh axes for the callee's parameters. `self.actual` says what of the caller each stands for."""
        checker, block = self.checker, self.block
        frame = Frame.of(block, judge=self.body.frame.judge)
        axes, consts = checker.closure(block)
        checker.tire(self.call.span, len(axes) + len(consts))
        given, numbers, rebound = self._implicit(bound, axes, consts)
        families: dict[int, int] = {}

        def family(axis: Axis) -> int:
            return families.setdefault(axis.family, checker.session.fresh())

        templates = {axis.name: axis for axis in checker.alone[block].frame.params}
        for generic in block.generics.values():
            if generic.kind == "const":
                self._explicit_const(frame, generic, bound, given, numbers)
                continue
            actual = self._explicit_axis(frame, generic, bound, given, numbers)
            axis = checker.parameter(frame, templates[generic.name.text], actual, family(actual), implicit=False)
            self.actual.append((axis, actual))
            self._like(frame, generic, axis, actual)
        for axis in axes:
            actual = given[axis.id]
            parameter = checker.parameter(frame, axis, actual, family(actual), implicit=True)
            self.actual.append((parameter, actual))
            if axis.id not in checker.carried[block]:
                self.of_sizes.add(parameter.id)
        for const in consts:
            formal = checker.const_parameter(frame, const.name, known(numbers[const.id]), const)
            self.const_actual.append((formal, numbers[const.id]))
        checker.derive_sizes(frame, axes, rebound)
        now = {axis.id: axis for axis in frame.params}  # a derived width got its formula after it was made
        self.actual = [(now.get(formal.id, formal), actual) for formal, actual in self.actual]
        frame.open |= {formal.id for formal, actual in self.actual if actual.id in self.body.frame.open}
        checker.keep_names_known(frame)
        frame.running = {formal for formal, static in self.const_actual if self.body.frame.only_at_run_time(static)}
        return frame

    def _implicit(
        self, bound: dict[str, Axis | Static], axes: list[Axis], consts: list[Const]
    ) -> tuple[dict[int, Axis], dict[int, Static], frozenset[int]]:
        """What the callee's implicit parameters stand for, by the ids of the file's axes and consts: as the call names
        them (the ids of those come third), else derived anew from what it names, else the caller's own.
        """
        given: dict[int, Axis] = {}
        numbers: dict[int, Static] = {}
        anew = self._file_names(axes, consts)
        for axis in axes:
            value = bound.get(axis.name)
            if isinstance(value, Axis) and anew.get(axis.name) is axis:
                given[axis.id] = value
        for const in consts:
            number = bound.get(const.name)
            if number is not None and not isinstance(number, Axis) and anew.get(const.name) is const:
                numbers[const.id] = number
        rebound = {*given, *numbers}
        for axis in axes:
            self._inherit_axis(axis, rebound, given, numbers)
        for const in consts:
            self._inherit_const(const, rebound, given, numbers)
        return given, numbers, frozenset(rebound)

    def _explicit_const(
        self,
        frame: Frame,
        generic: s.Generic,
        bound: dict[str, Axis | Static],
        given: dict[int, Axis],
        numbers: dict[int, Static],
    ) -> None:
        """A const in the callee's brackets: what the call gives, else its default."""
        static = bound.get(generic.name.text)
        if static is None:
            assert generic.default is not None
            lookup = lambda ident: self._default_name(frame, ident, given, numbers)  # noqa: E731
            static = size_static(generic.default, lookup, self.body.frame, exact=False)
            if static is None:
                self.groundless = True
                static = Literal(0)
        assert not isinstance(static, Axis)
        const = self.checker.const_parameter(frame, generic.name.text, known(static), None)
        self.const_actual.append((const, static))

    def _explicit_axis(
        self,
        frame: Frame,
        generic: s.Generic,
        bound: dict[str, Axis | Static],
        given: dict[int, Axis],
        numbers: dict[int, Static],
    ) -> Axis:
        """The axis of the caller that an axis in the callee's brackets stands for."""
        actual = bound.get(generic.name.text)
        if actual is None:
            assert generic.default is not None
            lookup = lambda ident: self._default_name(frame, ident, given, numbers)  # noqa: E731
            static = size_static(generic.default, lookup, self.body.frame)
            self.groundless = self.groundless or static is None
            return self._default_axis(generic, static or Literal(1))
        assert isinstance(actual, Axis)
        return actual

    def _like(self, frame: Frame, generic: s.Generic, axis: Axis, actual: Axis) -> None:
        """`k: width like q`: what k and q stand for must be copies of one axis."""
        original = frame.names.get(generic.like.text) if generic.like is not None else None
        if original is None or original.family == axis.family:
            return
        self.unlike = True
        theirs = next(a for f, a in self.actual if f is original)
        self.body.report(
            "E0403",
            f"`{self.block.name}` wants `{axis.name}` to be a copy of `{original.name}`, but "
            f"`{actual.name}` is no copy of `{theirs.name}`",
            self.call.brackets.span if self.call.brackets else self.call.span,
            related=[(generic.span, "required here"), (actual.span, f"`{actual.name}` is declared here")],
            help=f"declare `{actual.kind.value} {actual.name} like {theirs.name}`",
        )

    def _inherit_axis(self, axis: Axis, rebound: set[int], given: dict[int, Axis], numbers: dict[int, Static]) -> None:
        """What an implicit parameter stands for that the call does not name: derived anew, or the caller's,
        or itself.
        """
        if axis.id in given:
            return
        session, caller = self.checker.session, self.body.frame
        mine = caller.of_file.get(axis.id)
        formula = session.formulas.get(axis.id)
        if formula is None or not self.checker.hangs_on(axis.id, rebound):
            given[axis.id] = mine or axis
            return
        self._inherit_parts(formula, rebound, given, numbers)
        if mine is not None and not self.checker.hangs_on(axis.id, self._changed(rebound, given, numbers)):
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
        mine = self.body.frame.const_of_file.get(const.id)
        formula = self.checker.session.const_formulas.get(const.id)
        if formula is not None and self.checker.hangs_on(const.id, rebound):
            self._inherit_parts(formula, rebound, given, numbers)
            numbers[const.id] = substitute(formula, given, numbers)
        else:
            numbers[const.id] = ConstOf(mine) if mine is not None else Literal(const.value or 0)

    def _inherit_parts(
        self, formula: Static, rebound: set[int], given: dict[int, Axis], numbers: dict[int, Static]
    ) -> None:
        for axis in axes_in(formula):
            self._inherit_axis(axis, rebound, given, numbers)
        for const in consts_in(formula):
            self._inherit_const(const, rebound, given, numbers)

    def _changed(self, rebound: set[int], given: dict[int, Axis], numbers: dict[int, Static]) -> set[int]:
        """Those that the call names which are not the caller's own anyway, as in `f[seq = seq]`."""
        caller = self.body.frame
        own = {id for id, axis in caller.of_file.items() if given.get(id) == axis}
        own |= {id for id, const in caller.const_of_file.items() if numbers.get(id) == ConstOf(const)}
        return rebound - own

    def _default_name(
        self, frame: Frame, ident: s.Ident, given: dict[int, Axis], numbers: dict[int, Static]
    ) -> Static | None:
        name = ident.text
        for formal, actual in self.actual:
            if formal.name == name and name in frame.names:
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
        size = self.body.size_in_this_pass(kind, size)
        if kind is Kind.DEPTH and not self.body.frame.known_depth(name, size, self.call.span):
            self.groundless = True
        extent = checked_size(self.body.frame, size, self.call.span, name, formula_span=span)
        bound = largest(size) if extent is None and kind is Kind.WIDTH else None
        formula = size if extent is None else None
        return self.checker.session.axis(name, kind, label=label, extent=extent, size=formula, bound=bound, span=span)

    def _inputs(
        self, frame: Frame, arguments: dict[str, tuple[Wire, Span]]
    ) -> list[tuple[s.Formal, Wire | None]] | None:
        """The arguments as the callee sees them: in its own axes, those of a formal that they lack thin, the
        rest lifted.
        """
        probe = Body(self.checker, frame, Builder(), {})
        to_actual = {formal.id: actual for formal, actual in self.actual}
        inputs: list[tuple[s.Formal, Wire | None]] = []
        lifted: dict[Axis, None] = {}
        good = True
        self.given_wires = [wire for wire, _ in arguments.values()]
        for formal in self.block.decl.formals:
            if formal.name.text not in arguments:
                inputs.append((formal, None))
                continue
            wire, span = arguments[formal.name.text]
            wanted = probe.type(formal.type)
            if wanted is None:
                return None
            actuals = {to_actual[axis.id]: axis for axis in wanted.axes}
            if len(actuals) < len(wanted.axes):
                self._one_axis_twice(wanted.axes, to_actual, formal)
                return None
            if not self._element(wire, wanted, formal, span, to_actual) or not self._axes(wire, span, formal, actuals):
                good = False
                continue
            lifted.update(dict.fromkeys(axis for axis in wire.axes if axis not in actuals))
            put_in = self._put_in(formal.name.text, wire)
            inside = replace(wire, span=formal.name.span) if put_in else _inside(wire, formal, wanted, actuals)
            if wire.static is not None and formal.name.text in self.spread:
                inside = replace(inside, role=Role.WEIGHT)  # at another call it is no number
            inputs.append((formal, inside))
        frame.lifted = tuple(lifted)
        if not good:
            return None
        # Lifted axes come first, in one order for all arguments: the memory order of the callee.
        for position, (formal, entering) in enumerate(inputs):
            if entering is not None:
                own = [axis for axis in entering.type.axes if axis not in lifted]
                first = [axis for axis in lifted if axis in entering.type.axes]
                inputs[position] = (formal, replace(entering, type=replace(entering.type, axes=(*first, *own))))
        return inputs

    def _axes(self, wire: Wire, span: Span, formal: s.Formal, actuals: dict[Axis, Axis]) -> bool:
        """Whether an argument may lack the axes that it lacks (D7), and lift over those that it has in addition (D8).

        `actuals`: the axes of the caller that the formal's stand for, each with the formal's.
        """
        mentioned = {axis: formal for formal, axis in reversed(self.actual) if formal.id not in self.of_sizes}
        extra = [axis for axis in wire.axes if axis not in actuals]
        missing = [axis for axis in actuals if not wire.has(axis)]
        wrong = [axis for axis in extra if axis in mentioned]
        carries = wire.role is Role.DATA and wire.is_number and self.body.frame.judge
        # What the body around is lifted over, it does not know of: such an axis says nothing of a mix-up.
        seen = [axis for axis in extra if axis not in self.body.frame.lifted]
        if (
            any(a.name == b.name and a.family != b.family for a in seen for b in missing)
            or (missing and wrong)
            or (carries and any(axis.is_width for axis in missing))
            or (carries and any(a.name == b.name or a.family == b.family for a in seen for b in missing))
            or (carries and missing and seen and not wrong)
        ):
            self._lacks_axis(wire, span, formal, missing, extra, actuals)
            return False
        if wrong:
            self._lifts_mentioned(wire, span, formal, wrong[0], mentioned[wrong[0]])
            return False
        return True

    def _element(self, wire: Wire, wanted: Type, formal: s.Formal, span: Span, to_actual: dict[int, Axis]) -> bool:
        have, want = wire.element, wanted.element
        if isinstance(want, IndexInto):
            target = to_actual[want.axis.id]
            if isinstance(have, IndexInto) and have.axis.family == target.family:
                return True
            if span is self.call.span:
                return True  # a default, of which it was seen that it lies within the axis
            if isinstance(have, IndexInto):
                self.body.report_wrong_table(
                    wire,
                    have.axis,
                    target,
                    f"`{formal.name.text}` takes indices into `{target.name}`, "
                    f"but these are indices into `{have.axis.name}`",
                    span,
                    "pass the indices that belong to this table",
                )
                return False
            shown = f"indices into `{target.name}`"
            help = f"`index[{target.name}]({span.text})` makes an index of an int" if have is Scalar.INT else ""
        elif fits(have, want):
            return True
        else:
            shown = f"{show_type(replace(wanted, axes=()))[:-2] or 'real'} elements"
            help = (
                "`int(i)` makes a number of an index; `x > 0` makes a truth value of a number"
                if want is not Scalar.REAL or isinstance(have, IndexInto)
                else f"write `select({span.text}, 1, 0)` for 1 and 0"
            )
        self.body.report(
            "E0304",
            f"`{formal.name.text}` of `{self.block.name}` takes {shown}, but this is {show(wire)}",
            span,
            related=[(formal.span, "declared here")],
            help=help or "pass the indices themselves, or find them: `argmax`, `topk`, `index[a](floor(x))`",
        )
        return False

    def _one_axis_twice(self, axes: tuple[Axis, ...], to_actual: dict[int, Axis], formal: s.Formal) -> None:
        seen: dict[Axis, Axis] = {}
        for axis in axes:
            actual = to_actual[axis.id]
            if actual in seen:
                self._same_axis(seen[actual], axis, actual, f"`{formal.name.text}`", formal.span)
                return
            seen[actual] = axis

    def _same_axis(self, a: Axis, b: Axis, actual: Axis, carrier: str, place: Span | None) -> None:
        known = copies(actual, self.body.frame)
        if known:
            help = (
                f"`{known[0]}` is a copy of it: rename, `x[{actual.name} as {known[0]}]`, and name it in the brackets"
            )
        else:
            declared = f"{actual.kind.value} other like {actual.name}"
            help = f"declare a copy, `{declared}`, and rename: `x[{actual.name} as other]`"
        self.body.report(
            "E0404",
            f"`{a.name}` and `{b.name}` of `{self.block.name}` are both bound to `{actual.name}`, but "
            f"{carrier} carries both",
            self.call.brackets.span if self.call.brackets else self.call.span,
            related=[(place, "carries both"), (actual.span, f"`{actual.name}` is declared here")],
            help=help,
        )

    def _lacks_axis(
        self,
        wire: Wire,
        span: Span,
        formal: s.Formal,
        missing: list[Axis],
        extra: list[Axis],
        actuals: dict[Axis, Axis],
    ) -> None:
        """An argument without an axis that its formal has."""
        namesakes = [(a, b) for a in missing for b in extra if a.name == b.name and a.family != b.family]
        if namesakes:
            self._namesakes(*namesakes[0], wire, span)
            return
        # Where arguments or axes stand in another order, one message is enough for all that do.
        turned = bool(extra) and any(
            all(map(other.has, missing)) and not any(map(other.has, extra)) for other in self.given_wires
        )
        if turned and self.mixed:
            return
        self.mixed = self.mixed or bool(extra)
        name = formal.name.text
        shown = show_axes(tuple(actuals))
        help, fix = "", []
        for axis in missing:
            for other in extra:
                if other.family == axis.family:
                    renamed = indexed(span.text, f"[{other.name} as {axis.name}]")
                    help = f"`{other.name}` and `{axis.name}` are copies of one axis: write `{renamed}`"
                    end = Span(span.source, span.end, span.end)
                    fix = [(span, renamed)] if renamed[0] == "(" else [(end, renamed[len(span.text) :])]
        if not help:
            widths = [axis for axis in missing if axis.is_width]
            if extra:
                help = (
                    f"is this the right value? it has {listed(a.name for a in extra)} instead of "
                    f"{listed(a.name for a in missing)}"
                    + ("; do the arguments, or the axes in brackets, stand in the right order?" if turned else "")
                )
            elif widths:
                help = (
                    f"if the same value for every `{widths[0].name}` is meant, write "
                    f"`broadcast[{widths[0].name}]({span.text})`"
                )
                fix = [(span, f"broadcast[{widths[0].name}]({span.text})")]
        label = f"this is {show(wire)}"
        related = [(formal.span, f"`{name}` is declared here")]
        if wire.span.source is span.source and (wire.span.start, wire.span.end) != (span.start, span.end):
            related.append((wire.span, "it comes from here"))
        self.body.report(
            "E0405",
            f"`{name}` of `{self.block.name}` should be {shown}, but this is {show(wire)}: no "
            f"{listed((a.name for a in missing), 'or')}",
            span,
            label,
            related=related,
            help=help,
            fix=fix,
            deep=True,
        )

    def _also_used(self, name: str, mine: Axis) -> list[tuple[Span, str]]:
        """The edit that names an axis in the `use` that brings the callee: this file's own declaration then wins."""
        module = self.body.frame.module
        if mine.span is None or mine.span.source is not module.source:
            return []
        return module.also_used(self.call.callee.text, name)

    def _namesakes(self, theirs: Axis, mine: Axis, wire: Wire, span: Span) -> None:
        """The argument has an axis of the right name, but of another file. Said once for each call."""
        if self.foreign:
            return
        self.foreign = True
        place = self.call.callee.span
        where = self.block.module.source.name
        self.body.report(
            "E0212",
            f"two axes named `{mine.name}` meet: `{self.block.name}` has one of {where}, its argument another",
            place,
            f"knows the `{theirs.name}` of {where}",
            related=[
                (span, f"this is {show(wire)}, with another `{mine.name}`"),
                (theirs.span, f"the `{theirs.name}` of `{self.block.name}`"),
                (mine.span, f"the `{mine.name}` of the argument"),
            ],
            help=f"name it in the `use`, and there is one for both: `use ...: {self.block.name}, {mine.name}`",
            fix=self._also_used(theirs.name, mine),
        )

    def _lifts_mentioned(self, wire: Wire, span: Span, formal: s.Formal, axis: Axis, parameter: Axis) -> None:
        self.mixed = True
        self.body.report(
            "E0406",
            f"`{formal.name.text}` of `{self.block.name}` carries `{axis.name}` too many: the block "
            f"uses that axis itself" + (f" (as `{parameter.name}`)" if parameter.name != axis.name else ""),
            span,
            f"this is {show(wire)}",
            related=[(formal.span, f"`{formal.name.text}` is declared here")],
            help="a call may not lift over an axis that the block mentions: rename it to a copy, "
            f"`x[{axis.name} as other]`, or pass what the argument asks for",
        )

    def _instance(self, frame: Frame, inputs: list[tuple[s.Formal, Wire | None]]) -> Instance:
        checker = self.checker
        numbers = self._numbers()
        key = (self._key(frame, inputs), tuple(repr(numbers.get(const.id)) for const in frame.const_params))
        if key in checker.instances:
            instance = checker.instances[key]
            self._onto(instance.frame)
            return instance
        saved = checker.decisions, checker.undecided, checker.numbers
        checker.decisions, checker.undecided, checker.numbers = [], False, numbers
        builder = Builder()
        wires: dict[str, Wire | None] = {}
        body = Body(checker, frame, builder, wires)
        for formal, wire in inputs:
            name = formal.name.text
            if wire is None:
                assert formal.default is not None
                wires[name] = body.default(formal)
            elif wire.static is not None:
                wires[name] = wire
            else:
                made = builder.input(name, wire.type, wire.role, formal.name.span.to(formal.type.span))
                wires[name] = replace(made, mark=wire.mark, loose=wire.loose)
        checker.stack.append(self.block)
        results = checker.elaborate(body)
        checker.stack.pop()
        graph = checker.graph_of(frame, builder, results, body) if results else None
        instance = Instance(
            frame, graph, results or [], frame.problems, checker.decisions, checker.undecided, body.formulas
        )
        checker.decisions, checker.undecided, checker.numbers = saved
        checker.instances[key] = instance
        return instance

    def _pass_on(self, formulas: list[Formula]) -> None:
        """What hangs on a const that the call gives the number of a pass is looked at where the passes are."""
        axes = {formal.id: axis for formal, axis in self.actual}
        consts = {formal.id: static for formal, static in self.const_actual}
        for formula in formulas:
            given = formula.with_values(axes, consts)
            if given.hangs:
                self.body.formulas.append(replace(given, call=self.call.span))

    def _numbers(self) -> dict[int, Number]:
        """What consts hang on the pass of a repeat around the call, and what they are in it."""
        if not self.checker.numbers:
            return {}
        found = ((formal, known(self.checker.in_this_pass(static))) for formal, static in self.const_actual)
        return {formal.id: number for formal, number in found if formal.value is None and number is not None}

    def _onto(self, frame: Frame) -> None:
        """The parameters of a kept instance, in place of the fresh ones."""
        self.actual = [(mine, actual) for mine, (_, actual) in zip(frame.params, self.actual, strict=True)]
        self.const_actual = [
            (mine, static) for mine, (_, static) in zip(frame.const_params, self.const_actual, strict=True)
        ]

    def _key(self, frame: Frame, inputs: list[tuple[s.Formal, Wire | None]]) -> object:
        """Calls of equal keys have one body: same sizes, same copies among the parameters, arguments of the
        same kind.
        """
        place = {axis.id: index for index, axis in enumerate(frame.params)}
        families: dict[int, int] = {}
        axes = tuple(
            (
                axis.extent,
                axis.bound,
                axis.size is not None,
                axis.id in frame.open,
                families.setdefault(axis.family, len(families)),
            )
            for axis in frame.params
        )
        lifted = tuple(axis.id for axis in frame.lifted)

        def at(axis: Axis) -> tuple[str, int]:
            return ("p", place[axis.id]) if axis.id in place else ("l", axis.id)

        arguments: list[object] = []
        for _, wire in inputs:
            if wire is None:
                arguments.append(None)
                continue
            if wire.static is not None:
                arguments.append(repr(wire.static))  # 1 is not 1.0, nor true
                continue
            element = at(wire.element.axis) if isinstance(wire.element, IndexInto) else wire.element.value
            arguments.append(
                (
                    element,
                    tuple(at(axis) for axis in wire.type.axes),
                    tuple(sorted(at(axis) for axis in wire.type.thin)),
                    wire.role,
                    tuple(sorted(at(axis) for axis in wire.mark)),
                    wire.loose,
                )
            )
        consts = tuple((repr(const.value), const in frame.running) for const in frame.const_params)
        return (id(self.block), frame.judge, axes, consts, lifted, tuple(arguments))

    # What comes of it.

    def _relay(self, instance: Instance, only: frozenset[str] | None = None) -> None:
        """Mistakes of this instance that the block does not make on its own: shown at the call.

        only: of a block with mistakes of its own, the codes of those that do not come of them.
        """
        known = {(d.code, place(d.span)) for d, _ in self.checker.alone[self.block].problems}
        known |= {(d.code, place(d.span)) for d in self.checker.session.diagnostics}
        for problem, deep in instance.problems:
            if (problem.code, place(problem.span)) in known or problem.severity is Severity.WARNING:
                continue
            if only is not None and problem.code not in only:
                continue
            if deep and (self.body.frame.module.library or not self.block.module.library):
                related = (*problem.related, Label(self.call.span, "called from here"))
                self.body.frame.problems.append((replace(problem, related=related), True))
                continue
            related = (Label(problem.span, f"required here, in `{self.block.name}`"),) if problem.span else ()
            made = replace(
                problem,
                span=self.call.span,
                label="",
                related=(*related, *problem.related),
                notes=(*problem.notes, *self._renamed(problem)),
                help=self._in_callers_words(problem.help),
                fix=None,
            )
            self.body.frame.problems.append((made, False))

    def _in_callers_words(self, help: str) -> str:
        """What a message of the body says to write, written for the call: with its axes and its arguments."""
        words = {f.name: a.name for f, a in self.actual}
        formals = [formal.name.text for formal in self.block.decl.formals]
        for given, argument in enumerate(self.call.arguments):
            name = argument.name.text if argument.name else formals[given] if given < len(formals) else ""
            text = argument.value.span.text
            words[name] = text if text.isidentifier() else f"({text})"

        def said(code: re.Match[str]) -> str:
            return re.sub(r"\b[A-Za-z_]\w*\b(?!\()", lambda word: words.get(word[0], word[0]), code[0])

        return re.sub(r"`[^`]*`", said, help)

    def _renamed(self, problem: Diagnostic) -> list[str]:
        """What the axes that a message of the body speaks of are called here."""
        spoken = re.findall(r"\w+", problem.message)
        pairs = [(f.name, a.name) for f, a in self.actual if f.name != a.name and f.name in spoken]
        return [f"in `{self.block.name}`, " + " and ".join(f"`{a}` is called `{f}`" for f, a in pairs)] if pairs else []

    def _promised(self, frame: Frame) -> list[Wire | None]:
        """Something is wrong inside: go on with what the block promises, so that the rest is checked."""
        if frame.lifted:  # which results would carry them hangs on the body
            return [None] * max(1, len(self.block.decl.results))
        probe = Body(self.checker, frame, Builder(), {})
        out: list[Wire | None] = []
        for result in self.block.decl.results:
            type = probe.type(result.type)
            if type is None:
                out.append(None)
                continue
            mapped = self._outward(type)
            if mapped is None:
                out.append(None)
                continue
            builder = self.body.builder
            out.append(
                Wire(
                    mapped,
                    Role.DATA,
                    self.call.span,
                    builder.value(mapped, Role.DATA, self.call.span),
                    loose=True,
                    home=builder,
                )
            )
        return out or [None]

    def _outward(self, type: Type) -> Type | None:
        """A type of the callee in the caller's axes."""
        to_actual = {formal.id: actual for formal, actual in self.actual}
        axes = tuple(to_actual.get(axis.id, axis) for axis in type.axes)
        if len(set(axes)) < len(axes):
            return None
        element = type.element
        if isinstance(element, IndexInto):
            element = IndexInto(to_actual.get(element.axis.id, element.axis))
        return Type(element, axes, frozenset(to_actual.get(axis.id, axis) for axis in type.thin))

    def _apart(self, instance: Instance, frame: Frame) -> bool:
        """Two parameters bound to one axis: no value of the body may carry both (D8)."""
        groups: dict[Axis, list[Axis]] = {}
        for formal, actual in self.actual:
            groups.setdefault(actual, []).append(formal)
        for actual, formals in groups.items():
            if len(formals) < 2:
                continue
            assert instance.graph is not None
            found = _carries_two(instance.graph, formals)
            if found is not None:
                value, a, b = found
                carrier = f"`{value.name}`" if value.name else "a value"
                self._same_axis(a, b, actual, f"{carrier} of its body", value.span)
                return False
        return True

    def _one_form(self, graph: Graph) -> bool:
        """Calls of a shared block have one set of weights, so they need it in one shape, and one class serves them."""
        if self.shared is None or not owns(graph, self.checker.owners):
            return True
        shared = self.body.shares[self.shared]
        known, place = shared.first = shared.first or (graph, self.call.span)
        if known is graph:
            return True
        first = weight_shapes(known)
        for name, shape in weight_shapes(graph).items():
            if name in first and all(first[name]) and all(shape) and first[name] != shape:
                self.body.report(
                    "E0412",
                    f"the calls of `{self.shared}` share their weights, but `{name}` is {list(shape)} here "
                    f"and {list(first[name])} at the first call",
                    self.call.span,
                    related=[(place, "the first call")],
                    help=f"call `{self.block.name}` itself, with a label: each call then has weights of its own",
                )
                return False
        how = told_apart(known, graph)
        if how is None:
            return True
        self.body.report(
            "E0414",
            f"the calls of `{self.shared}` share their weights, but differ: at this call {how}",
            self.call.span,
            related=[(place, "the first call")],
            help="give what differs as an argument of all calls, or call a block with a label: each call then has "
            "weights of its own",
        )
        return False

    def _emit(
        self, instance: Instance, frame: Frame, arguments: dict[str, tuple[Wire, Span]], name: str
    ) -> list[Wire | None]:
        body, builder, graph = self.body, self.body.builder, instance.graph
        assert graph is not None
        names = [f.name.text for f in self.block.decl.formals if f.name.text in arguments]
        given = [(name, arguments[name][0]) for name in names]
        args = [builder.take(wire) for name, wire in given if not self._put_in(name, wire)]
        to_actual = {formal.id: actual for formal, actual in self.actual}
        outs: list[Wire | None] = []
        values: list[Value] = []
        for wire, output in zip(instance.results, graph.outputs, strict=True):
            assert wire is not None
            lifted = tuple(axis for axis in wire.type.axes if axis in graph.lifted)
            ordered = replace(wire.type, axes=(*lifted, *output.axes))
            type = self._outward(ordered)
            assert type is not None  # two parameters for one axis are apart in all values of the body
            meeting = body.namesakes(type)
            if meeting is not None:
                body.report_namesakes(*meeting, self.call.span)
                return [None] * len(graph.outputs)
            value = builder.value(type, wire.role, self.call.span)
            values.append(value)
            mark = frozenset(to_actual.get(axis.id, axis) for axis in wire.mark)
            outs.append(Wire(type, wire.role, self.call.span, value, mark, loose=wire.loose, home=builder))
        builder.nodes.append(
            Call(graph, name, tuple(args), tuple(values), tuple(self.actual), tuple(self.const_actual), self.call.span)
        )
        self._own(name, graph)
        return outs

    def _own(self, name: str, graph: Graph) -> None:
        """Keep the name that the call's weights go by, which must be free (D11)."""
        body, builder = self.body, self.body.builder
        span = (self.call.label or self.call.callee).span
        if not owns(graph, self.checker.owners):
            return
        if self.shared in body.outside:
            self._share_within()
        elif body.numbered:
            self._one_set(graph)
        if self.block.is_model:
            for model, shapes in _weights_by_model(graph):
                builder.own_model(model.name, place(model.span), shapes, span, body)
        elif self.shared is None:
            body.may_own(name, span)
            own(body, name, span)

    def _share_within(self) -> None:
        """Report a share whose weights the passes of a repeat would have beside those of its own place (D11)."""
        body, name = self.body, self.shared
        assert name is not None
        owner = "each pass of this repeat" if body.numbered else "a repeat"
        self.body.report(
            "E0413",
            f"{owner} has weights of its own, but `{name}` has one set, where it stands",
            self.call.span,
            related=[(body.shares[name].name.span, "outside of the repeat")],
            help=f"write `share {name} = {self.block.name}` inside the repeat"
            + (", and `repeat ... shared { }` if the passes are to have one set" if body.numbered else ""),
        )

    def _one_set(self, graph: Graph) -> None:
        """Report a model that each pass of a repeat would give weights of its own (D11)."""
        direct = self.block.is_model
        model = graph if direct else next((way.model for way in ways(graph, self.checker).values()), None)
        if model is None:
            return
        called = "" if direct else f", which `{self.block.name}` calls,"
        self.body.report(
            "E0413",
            f"each pass of this repeat has weights of its own, but the model `{model.name}`{called} has one set",
            self.call.span,
            related=[(model.span, "a model")],
            help=f"write `repeat ... shared {{ }}`, or make {'it' if direct else f'`{model.name}`'} a `block`: "
            "each pass then has its own",
        )


def weight_shapes(graph: Graph, path: str = "") -> dict[str, tuple[int | None, ...]]:
    """The extents of all weights of a graph and of what it calls, by their paths."""
    found: dict[str, tuple[int | None, ...]] = {}
    told: set[tuple[str, Graph]] = set()  # one set of weights, however many calls: they might double
    for node in graph.nodes:
        match node:
            case Parameter(weight=weight):
                found[path + weight.name] = tuple(axis.extent for dim in weight.dims for axis in dim)
            case Apply(weights=weights):
                for weight in weights:
                    found[path + weight.name] = tuple(axis.extent for dim in weight.dims for axis in dim)
            case Call(graph=inner, name=name) | Scan(graph=inner, name=name) if (name, inner) not in told:
                told.add((name, inner))
                found |= weight_shapes(inner, f"{path}{name}." if name else path)
            case Repeat(bodies=bodies, name=name):
                for body in bodies:
                    found |= weight_shapes(body, f"{path}{name}.")
            case _:
                pass
    return found


def _weights_by_model(graph: Graph) -> list[tuple[Graph, dict[str, tuple[int | None, ...]]]]:
    """The shapes of a model's own weights, and of those of the models that it calls: these add no path (D11)."""
    models = [graph]
    for model in models:  # grows as it goes
        called = (node.graph for node in model.nodes if isinstance(node, Call | Scan) and not node.name)
        models += [inner for inner in dict.fromkeys(called) if inner not in models]
    return [(model, weight_shapes(replace(model, nodes=tuple(_named(model))))) for model in models]


def _named(model: Graph) -> Iterator[Node]:
    """Its nodes without the calls of models."""
    return (node for node in model.nodes if not isinstance(node, Call | Scan) or node.name)


def _carries_two(graph: Graph, formals: list[Axis]) -> tuple[Value, Axis, Axis] | None:
    """A value of the graph, or of what it calls, that carries two of these axes."""
    for value in values_of(graph):
        held = [axis for axis in formals if axis in value.type.axes]
        if len(held) > 1:
            return value, held[0], held[1]
    for node in graph.nodes:
        if isinstance(node, Call | Scan):
            inner = [formal for formal, actual in node.axes if actual in formals]
            inner += [axis for axis in formals if axis in node.graph.lifted]
            found = _carries_two(node.graph, inner) if len(inner) > 1 else None
            if found is not None:
                back = {f.id: a for f, a in node.axes}
                a, b = back.get(found[1].id, found[1]), back.get(found[2].id, found[2])
                if a != b:
                    return found[0], a, b
        elif isinstance(node, Repeat):
            for one in node.bodies:
                found = _carries_two(one, formals)
                if found is not None:
                    return found
    return None


def _inside(wire: Wire, formal: s.Formal, wanted: Type, actuals: dict[Axis, Axis]) -> Wire:
    """An argument in the callee's axes; those of its formal that it lacks are thin."""
    extra = [axis for axis in wire.axes if axis not in actuals]
    thin = frozenset(axis for actual, axis in actuals.items() if not wire.has(actual))
    mark = frozenset(actuals.get(axis, axis) for axis in wire.mark)
    type = Type(wanted.element, (*extra, *wanted.axes), thin)
    return Wire(type, wire.role, formal.name.span, mark=mark, loose=wire.loose)


def _written(argument: s.Expr | None) -> object:
    """What makes two arguments the same as they are written."""
    match argument:
        case None:
            return "the default"
        case s.Number(value) | s.Truth(value):
            return type(value), value
        case s.Name(text):
            return text
        case _:
            return "a value"
