"""The body of a block, statement by statement, into a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...dsl import syntax as s
from ...dsl.docs import behind
from ...dsl.source import Span
from ..base.problems import Problems
from ..graph.nodes import Init, Parameter, Weight
from ..graph.typed_value import TypedValue, fits
from ..graph.values import IndexInto, Role, Scalar, Type
from ..names.ragged import refuse_ragged
from ..names.written_sizes import checked_size, const_static, refuse_own_size, size_static
from ..ops import OPS
from ..problems.axes import Namesakes
from ..problems.elements import Wanted, WrongElement
from ..problems.forms import XavierParam
from ..problems.names import Bearer, DeclaredAlready, KindOfCopy, NameTaken, NoBlockNamed
from ..problems.results import Count, CrossedResults, OtherResult, OtherType, Unpacked, WrongReturn
from ..problems.sizes import BranchAtRunTime, NoSizeInBlock, ParamUnbounded
from ..sizes.arithmetic import largest
from ..sizes.axes import Axis, ConstOf, Kind, SizeOf, Static, known, undetermined
from .application import OpApplication
from .builder import Builder
from .repeats import Repeats
from .scope import Shared
from .sharing import check_one_set
from .specialisation import Formula, validate_number


@dataclass
class Body(Repeats):
    """Elaborates statements."""

    def run(self, statements: Sequence[s.Statement]) -> None:
        for statement in statements:
            if self.returned and not isinstance(statement, s.Return):
                self.problems.add(WrongReturn(statement.span, Count.BEFORE_END))
                return
            self.environment.at = statement.span
            self.statement(statement)

    def statement(self, statement: s.Statement) -> None:
        match statement:
            case s.Assign():
                self.assign(statement)
            case s.Return():
                self.do_return(statement)
            case s.Expect(name, written):
                wire = self.variable(name.text, name.span)
                wanted = self.type(written)
                if wire is not None and wanted is not None:
                    self.expected(wire, wanted, name.span, written.span, name.text)
            case s.Share():
                self.share(statement)
            case s.RepeatStatement():
                self.repeat(statement)
            case s.If():
                self.branch(statement)
            case s.ParamDecl():
                self.param(statement)
            case s.AxisDecl():
                self.local_axis(statement)
            case s.ConstDecl():
                self.local_const(statement)

    def default(self, formal: s.Formal) -> TypedValue | None:
        """What stands in for an argument that is not given; a number for an index is one."""
        assert formal.default is not None
        wire, wanted = self.expr(formal.default), self.type(formal.type)
        if wire is None or wanted is None or not isinstance(wanted.element, IndexInto):
            return wire
        op = OPS["index"]
        call = OpApplication(self, op, op.name, wire.span, wire.span, [wire], [wire.span])
        call.made = [wanted.element.axis]
        return call.op.rule(call)

    def everywhere(self, wire: TypedValue | None, formal: s.Formal) -> TypedValue | None:
        """A number passed for an argument is the same along all axes of the formal."""
        wanted = self.type(formal.type)
        if wire is None or wire.static is None or wanted is None:
            return wire
        return replace(wire, spread=frozenset(wanted.axes))

    def bind(self, name: s.Ident, wire: TypedValue | None) -> None:
        """Give a variable its value."""
        text = name.text
        if text == "_":
            return
        bearer = self.environment.bearer(text)
        if bearer is not None:
            kind, declared = bearer
            self.problems.add(NameTaken(name.span, text, Bearer.VARIABLE, kind, declared))
            self.variables[text] = None
            return
        if wire is not None and wire.value is not None and wire.value.name is None and wire.home is self.builder:
            wire = self._name(wire, text)
        if wire is not None:
            wire = replace(wire, span=name.span)
        self.variables[text] = wire
        self.assigned.setdefault(text, name.span)
        self.gone.pop(text, None)

    def _name(self, wire: TypedValue, text: str) -> TypedValue:
        """Give the value its name in the spec, in the graph."""
        assert wire.value is not None
        named = replace(wire.value, name=text)
        nodes = self.builder.nodes
        for index in range(len(nodes) - 1, -1, -1):
            node: Any = nodes[index]
            outs = node.outs if hasattr(node, "outs") else (node.out,)
            if any(out is wire.value for out in outs):
                if hasattr(node, "outs"):
                    nodes[index] = replace(node, outs=tuple(named if out is wire.value else out for out in outs))
                else:
                    nodes[index] = replace(node, out=named)
                break
        else:
            return wire
        return replace(wire, value=named)

    def assign(self, statement: s.Assign) -> None:
        if len(statement.targets) == 1:
            target = statement.targets[0]
            wire = self.expr(statement.value, binding=target.text)
            wanted = None if statement.type is None else self.type(statement.type)
            if statement.type is not None and wire is not None and wanted is not None:
                places = statement.value.span, statement.type.span
                if not self.expected(wire, wanted, *places, target.text):
                    wire = None  # one mistake, reported once
            self.bind(target, wire)
            return
        wires = self.several(statement.value)
        if wires is not None and len(wires) != len(statement.targets):
            place, names = statement.targets[0].span.to(statement.targets[-1].span), len(statement.targets)
            wire = wires[0] if len(wires) == 1 else None
            axis = None if wire is None else next((axis for axis in wire.axes if axis.extent == names), None)
            self.problems.add(Unpacked(place, names, len(wires), statement.value.span, axis))
            wires = None
        self._crossed(statement)
        for index, target in enumerate(statement.targets):
            self.bind(target, wires[index] if wires else None)

    def _crossed(self, statement: s.Assign) -> None:
        """Warn of a name that another result of the block has: names on the left take results by position."""
        call = statement.value
        if not isinstance(call, s.CallExpr):
            return
        share = self.shares.get(call.callee.text)
        block = self.environment.module.blocks.get(share.block.text if share else call.callee.text)
        names = [result.name.text if result.name else "" for result in block.decl.results] if block else []
        for place, target in enumerate(statement.targets[: len(names)]):
            if target.text in names and names[place] not in ("", target.text):
                callee = call.callee.text
                self.problems.add(CrossedResults(target.span, target.text, names[place], callee, tuple(names)))
                return

    def several(self, expr: s.Expr) -> list[TypedValue | None] | None:
        """A call with several results."""
        if isinstance(expr, s.CallExpr):
            found = self.call(expr, None)
            if found is None or isinstance(found, list):
                return found
            return [found]
        wire = self.expr(expr)
        return None if wire is None else [wire]

    def do_return(self, statement: s.Return) -> None:
        wires: list[TypedValue | None] = []
        if len(statement.values) == 1:
            found = self.several(statement.values[0])
            wires = [None] * max(1, len(self.environment.results)) if found is None else found
        else:
            wires = [self.expr(value) for value in statement.values]
        self.returned.append((statement, wires))

    def expected(
        self, wire: TypedValue, wanted: Type, span: Span, wanted_span: Span, name: str, of_block: bool | None = None
    ) -> bool:
        """Whether the value has the type that is written for it (lifted axes apart). of_block: that of a result, which
        may have no name but that of the block.
        """
        lifted = set(self.environment.lifted)
        free = lifted | wire.type.broadcast_axes  # the written type may have a broadcast axis or not
        have = [axis for axis in wire.type.axes if axis not in free or axis in wanted.axes]
        lacks = set(wanted.axes) - set(have)
        # Where the block was checked alone, its written types are right: an axis is lacking since an argument lacks it.
        called = self.environment.block in self.checker.alone
        same = set(have) <= set(wanted.axes) and (called or not lacks) and fits(wire.element, wanted.element)
        twins = [(a, b) for a in wanted.axes for b in have if a.name == b.name and a != b]
        around = self.environment.surroundings if not same else None
        if twins and not same:
            self.problems.add(Namesakes(span, *twins[0], ((wanted_span, wanted),)))
        elif around is not None and of_block is None:
            self.problems.add(OtherType(span, name, wire, wanted, wanted_span, around))
        elif around is not None and of_block is not None:
            self.problems.add(OtherResult(span, name, wire, wanted, wanted_span, around, of_block))
        return same

    def share(self, statement: s.Share) -> None:
        if statement.block.text not in self.environment.module.blocks:
            if not self.environment.is_missing(statement.block.text):
                known = tuple(self.environment.module.blocks)
                self.problems.add(NoBlockNamed(statement.block.span, statement.block.text, known, scanned=False))
            self.variables[statement.name.text] = None
            return
        if self.may_own(statement.name.text, statement.name.span):
            self.shares[statement.name.text] = Shared(statement.name, statement.block)
            self.outside -= {statement.name.text}
            self.around -= {statement.name.text}
            self.builder.own(statement.name.text, statement.name.span, self.problems)

    def _declared_already(self, name: s.Ident) -> bool:
        """Whether an axis or const of the block would take a name that is taken; reported."""
        if (
            self.environment.axis(name.text) is None
            and self.environment.const(name.text) is None
            and name.text not in self.variables
        ):
            return False
        self.problems.add(DeclaredAlready(name.span, name.text))
        return True

    def local_axis(self, decl: s.AxisDecl) -> None:
        name = decl.name.text
        if self._declared_already(decl.name):
            return
        kind = Kind(decl.kind)
        extent: int | None = None
        size: Static | None = None
        bound: int | None = None
        family: int | None = None
        ragged = False
        refuse_ragged(self.checker.session.problems, decl, in_block=True)
        if decl.like is not None:
            original = self.axis(decl.like)
            if original is None:
                self.environment.misdeclared.add(name)
                return
            if original.kind is not kind:
                self.problems.add(KindOfCopy(decl.span, name, kind.value, original, decl.span.text))
            refuse_own_size(self.checker.session.problems, decl)
            extent, size, bound, family = original.extent, SizeOf(original), original.bound, original.family
            ragged = original.ragged
        elif decl.size is not None and not decl.bounded:
            size = size_static(decl.size, self.lookup, self.environment.problems)
            if size is not None:
                size = self.size_in_this_pass(kind, size)
                self._in_each_pass(size, decl.size.span, name)
            reported = len(self.problems.found)
            if size is not None and kind is Kind.DEPTH:
                self.environment.known_depth(name, size, decl.size.span)
            theirs = self.environment.module.library
            place = decl.size.span
            if size is not None:
                extent, size = self.environment.sized(size, place, name, library=theirs)
            if len(self.problems.found) > reported:
                self.environment.misdeclared.add(name)  # mistakes that follow from a wrong size are not reported
                return
            bound = largest(size) if size is not None and extent is None and kind is Kind.WIDTH else None
        else:
            self.problems.add(NoSizeInBlock(decl.span, name, decl.kind))
        label = decl.display.text if decl.display else name
        axis = self.checker.session.axis(
            name,
            kind,
            label=label,
            extent=extent,
            size=size,
            bound=bound,
            family=family,
            span=decl.name.span,
            ragged=ragged,
        )
        self.environment.add_axis(axis)
        if extent is None and size is None:
            self.environment.open.add(axis.id)  # that it has no size is reported

    def local_const(self, decl: s.ConstDecl) -> None:
        name = decl.name.text
        if self._declared_already(decl.name):
            return
        value = const_static(decl.value, self.lookup, self.environment.problems)
        if value is None:
            value = ConstOf(self.checker.session.const(name, None))
        else:
            value = self.worth(value, decl.value.span)
            self._in_each_pass(value, decl.value.span)
        self.environment.local_consts[name] = value

    def _in_each_pass(self, formula: Static, span: Span, name: str | None = None) -> None:
        """A formula that each pass of a repeat gives a value: the size of an axis, if it has a name, or a const."""

        def validate_size(problems: Problems, sizes: tuple[Static, ...], place: Span) -> None:
            checked_size(problems, sizes[0], place, name or "", formula_span=span)

        if undetermined(formula):
            self.formulas.append(Formula((formula,), span, validate_number if name is None else validate_size))

    def param(self, decl: s.ParamDecl) -> None:
        name = decl.name.text
        type = self.type(decl.type)
        if self.variables.get(name) is not None:
            self.problems.add(DeclaredAlready(decl.name.span, name, value=True))
            return
        if not self.may_own(name, decl.name.span):
            type = None
        if type is None:
            self.bind(decl.name, None)
            return
        if type.element is not Scalar.REAL:
            self.problems.add(WrongElement(decl.type.span, type, Wanted.PARAM))
            self.bind(decl.name, None)
            return
        for axis, written in zip(type.axes, decl.type.axes, strict=True):
            if axis.is_width and axis.bound is None and self.environment.only_at_run_time(SizeOf(axis)):
                self.problems.add(ParamUnbounded(written.span, name, axis))
                self.bind(decl.name, None)
                return
        init = Init("normal", (0.02,)) if decl.init is None else self.init(decl.init)
        if init is not None and init.kind == "xavier" and decl.init is not None:
            init = self._between(init, type.axes, decl.init.span)
        dims = tuple((axis,) for axis in type.axes)
        weight = Weight(name, dims, init or Init("zeros"), decl.frozen, decl.span, behind(decl.span))
        out = self.builder.value(type, Role.WEIGHT, decl.name.span, name)
        self.builder.nodes.append(Parameter(weight, out))
        self.builder.own(name, decl.name.span, self.problems)
        self.bind(decl.name, TypedValue(type, Role.WEIGHT, decl.name.span, out, home=self.builder))

    def _between(self, init: Init, axes: tuple[Axis, ...], span: Span) -> Init | None:
        """`xavier` for a param, which maps its second axis to its first as torch.nn.init has it."""
        if len(axes) == 2:
            return replace(init, fan_in=axes[1:], fan_out=axes[:1])
        self.problems.add(XavierParam(span, axes))
        return None

    # -- static if -----------------------------------------------------------------------------------------------

    def branch(self, statement: s.If) -> None:
        """Static `if`: both branches are checked, only the taken one owns weights."""
        condition = self.expr(statement.condition)
        if condition is not None and condition.static is None:
            self.problems.add(BranchAtRunTime(statement.condition.span, condition.type))
            return
        decided: object = None
        by_pass = False
        if condition is not None and condition.static is not None:
            static = self.checker.in_this_pass(condition.static)
            decided = known(static)  # arithmetic in it that has no value is reported
            by_pass = decided is not None and known(condition.static) is None
            if decided is not None and not isinstance(decided, bool):
                self.problems.add(WrongElement(statement.condition.span, condition.type, Wanted.BRANCH))
                decided = True
            if self.environment.only_at_run_time(static):
                self.problems.add(BranchAtRunTime(statement.condition.span, None))
            elif decided is None:
                self.checker.undecided = True
        self.checker.decisions.append(bool(decided))
        taken = statement.then if decided is None or decided else statement.otherwise
        other = statement.otherwise if taken is statement.then else statement.then
        before = len(self.checker.decisions)
        self._discard(other, decided is None, by_pass)
        del self.checker.decisions[before:]
        surely, formulas = self.environment.taken, len(self.formulas)
        self.environment.taken = surely and decided is not None
        self.run(taken)
        self.environment.taken = surely
        if decided is None:
            del self.formulas[formulas:]

    def _discard(self, statements: Sequence[s.Statement], unsure: bool, by_pass: bool) -> None:
        """Check a branch that is not taken, and keep nothing of it but its mistakes: of names and types, not of sizes.

        by_pass: other passes of a repeat take it. What depends on the values that they get (D6) is reported for those.
        """
        builder = Builder(parent=self.builder)
        trial = replace(
            self,
            builder=builder,
            variables=dict(self.variables),
            returned=[],
            assigned={},  # what it binds alone: there may be many branches
            shares={name: replace(share) for name, share in self.shares.items()},
            formulas=[],
            splits=dict(self.splits),
        )
        axes_before, consts_before = dict(self.environment.names), dict(self.environment.local_consts)
        own_axes, surely = list(self.environment.own_axes), self.environment.taken
        self.environment.taken = False
        with self.problems.aside() as found:
            trial.run(statements)
            check_one_set(trial)
        self.problems.found += [problem for problem in found if not (by_pass and problem.deep)]
        self.environment.names, self.environment.local_consts = axes_before, consts_before
        self.environment.own_axes, self.environment.taken = own_axes, surely
        for name in trial.assigned:
            self.assigned.setdefault(name, trial.assigned[name])
            if unsure and name not in self.variables:
                self.variables[name] = None
            elif name not in self.variables:
                self.untaken[name] = trial.assigned[name]
