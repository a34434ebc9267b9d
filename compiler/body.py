"""The body of a block, statement by statement and expression by expression, into a graph.

A mistake is reported where it stands, and the expression it is in gets no value (`None`), which provokes no second
error: whatever reads it is passed over in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..dsl import syntax as s
from ..dsl.source import Span
from .axes import Axis, Kind
from .builder import Builder
from .graph import Apply, Constant, Graph, IndexInto, Init, Output, Parameter, Repeat, Role, Scalar, Type, Value, Weight
from .modules import checked_number, checked_size, is_missing, size_static
from .names import did_you_mean, is_reserved, listed, nearest
from .opcall import OpCall
from .ops import OPS, Brackets, Op
from .sizes import at_most, largest
from .static import Arith, Const, ConstOf, Literal, SizeOf, Static, evaluate
from .wires import Range, Wire, show, show_axes, show_type, static_element

if TYPE_CHECKING:
    from .blocks import Checker, Frame

_HIDDEN = frozenset({"rename", "gather", "neg", "maximum", "minimum"})
WRITABLE_OPS = tuple(name for name in OPS if name.isidentifier() and name not in _HIDDEN) + ("raw", "scan")
_INITS = {"normal": 1, "uniform": 1, "zeros": 0, "ones": 0, "constant": 1, "xavier": 0}
_MOST_PASSES = 10_000


@dataclass
class Body:
    """Elaborates statements in one environment. `env` maps variables to wires (None: known to be wrong)."""

    checker: Checker
    frame: Frame
    builder: Builder
    env: dict[str, Wire | None]
    returned: list[tuple[s.Return, list[Wire | None]]] = field(default_factory=list)
    assigned: dict[str, Span] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    shares: dict[str, s.Share] = field(default_factory=dict)
    gone: dict[str, Span] = field(default_factory=dict)  # variables of a repeat that has ended
    in_repeat: bool = False

    # -- reporting -----------------------------------------------------------------------------------------------

    def report(
        self,
        code: str,
        message: str,
        span: Span,
        label: str = "",
        *,
        related: Iterable[tuple[Span | None, str]] = (),
        notes: Iterable[str] = (),
        help: str = "",
        fix: Iterable[tuple[Span, str]] = (),
        warning: bool = False,
        deep: bool = False,
    ) -> None:
        """deep: the mistake follows from the expanded graph (D6, D7): it is shown in the body, whoever calls it."""
        self.frame.report(
            code, message, span, label, related=related, notes=notes, help=help, fix=fix, warning=warning,
            deep=deep or code == "E0305",
        )  # fmt: skip

    # -- names ---------------------------------------------------------------------------------------------------

    def axis(self, name: s.Ident) -> Axis | None:
        """The axis of that name, or None after a report."""
        axis = self.frame.axis(name.text)
        if axis is not None:
            self.used.add(name.text)
            return axis
        if is_missing(self.frame.module, name.text):
            return None
        if name.text in self.env:
            message = f"`{name.text}` is a variable, but an axis is wanted here"
        elif self.frame.const(name.text) is not None:
            message = f"`{name.text}` is a const, but an axis is wanted here"
        else:
            message = f"no axis is named `{name.text}`"
        near = nearest(name.text, self.frame.axis_names())
        self.report(
            "E0201",
            message,
            name.span,
            help=f"did you mean `{near}`?" if near else f"declare it: `width {name.text}` or `depth {name.text} = 64`",
            fix=[(name.span, near)] if near else [],
        )
        return None

    def axes(self, names: Iterable[s.Ident]) -> list[Axis] | None:
        found = [self.axis(name) for name in names]
        return None if any(axis is None for axis in found) else [axis for axis in found if axis is not None]

    def lookup(self, name: s.Ident) -> Static | None:
        """A name in a declaration: an axis is its size."""
        axis = self.frame.axis(name.text)
        if axis is not None:
            return SizeOf(axis)
        const = self.frame.const(name.text)
        if const is not None:
            return const
        wire = self.env.get(name.text)
        if wire is not None and wire.static is not None:
            return wire.static
        if not is_missing(self.frame.module, name.text) and not (name.text in self.env and wire is None):
            known = [*self.frame.axis_names(), *self.frame.const_names()]
            if wire is not None:
                self.report("E0207", f"`{name.text}` is {show(wire)}: no number known at build time", name.span)
            else:
                self.report("E0201", f"no axis or const is named `{name.text}`", name.span, help=did_you_mean(name.text, known))
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
                self.report(
                    "E0322",
                    f"`{name.text}` stands twice in one type: a value has each axis once",
                    name.span,
                    related=[(axes[axis].span, "first here")],
                    help=f"declare a copy: `{axis.kind.value} other like {axis.name}`",
                )
                good = False
            else:
                axes[axis] = name
        element: Any = Scalar.REAL
        if written.element is not None:
            text = written.element.text
            if text in ("bool", "int", "real"):
                element = Scalar(text)
            else:
                into = self.frame.axis(text)
                if into is None:
                    if not is_missing(self.frame.module, text):
                        near = nearest(text, [*self.frame.axis_names(), "bool", "int"])
                        self.report(
                            "E0215",
                            f"`{text}` is no kind of element: neither bool, nor int, nor an axis",
                            written.element.span,
                            help=f"did you mean `{near}`?" if near else "write `bool[..]`, `int[..]`, or `axis[..]` for indices into that axis",
                            fix=[(written.element.span, near)] if near else [],
                        )
                    return None
                self.used.add(text)
                element = IndexInto(into)
        return Type(element, tuple(axes)) if good else None

    # -- statements ----------------------------------------------------------------------------------------------

    def run(self, statements: Sequence[s.Statement]) -> None:
        for statement in statements:
            if self.returned and not isinstance(statement, s.Return):
                self.report("E0408", "nothing after `return` is run", statement.span, warning=False, help="move it above, or delete it")
                return
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
                    self.expected(wire, wanted, name.span, written.span, f"`{name.text}`")
            case s.Share():
                self.share(statement)
            case s.Repeat():
                self.repeat(statement)
            case s.If():
                self.branch(statement)
            case s.ParamDecl():
                self.param(statement)
            case s.AxisDecl():
                self.local_axis(statement)
            case s.ConstDecl():
                self.local_const(statement)

    def bind(self, name: s.Ident, wire: Wire | None) -> None:
        """Give a variable its value."""
        text = name.text
        if text == "_":
            return
        axis = self.frame.axis(text)
        if axis is not None or self.frame.const(text) is not None:
            kind = "axis" if axis is not None else "const"
            place = axis.span if axis is not None else None
            self.report(
                "E0205",
                f"`{text}` is the name of an {kind}, so no variable may bear it" if kind == "axis"
                else f"`{text}` is the name of a const, so no variable may bear it",
                name.span,
                related=[(place, f"the {kind} is declared here")],
                help=f"call the variable something else, such as `{text}_`",
            )  # fmt: skip
            return
        if wire is not None and wire.value is not None and wire.value.name is None and wire.home is self.builder:
            wire = self._name(wire, text)
        if wire is not None:
            wire = replace(wire, span=name.span)
        self.env[text] = wire
        self.assigned.setdefault(text, name.span)
        self.gone.pop(text, None)

    def _name(self, wire: Wire, text: str) -> Wire:
        """Tell the graph what the spec calls this value."""
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
            if statement.type is not None:
                wanted = self.type(statement.type)
                if wire is not None and wanted is not None:
                    self.expected(wire, wanted, statement.value.span, statement.type.span, f"`{target.text}`")
            self.bind(target, wire)
            return
        wires = self.several(statement.value)
        if wires is not None and len(wires) != len(statement.targets):
            self.report(
                "E0408",
                f"{len(statement.targets)} names for {len(wires)} results",
                statement.targets[0].span.to(statement.targets[-1].span),
                related=[(statement.value.span, f"this gives {len(wires)}")],
                help="name each result; `_` discards one",
            )
            wires = None
        for index, target in enumerate(statement.targets):
            self.bind(target, wires[index] if wires else None)

    def several(self, expr: s.Expr) -> list[Wire | None] | None:
        """A call with several results."""
        if isinstance(expr, s.Call):
            found = self.call(expr, None)
            if found is None or isinstance(found, list):
                return found
            return [found]
        wire = self.expr(expr)
        return None if wire is None else [wire]

    def do_return(self, statement: s.Return) -> None:
        wires: list[Wire | None] = []
        if len(statement.values) == 1:
            found = self.several(statement.values[0])
            wires = [None] * max(1, len(self.frame.results)) if found is None else found
        else:
            wires = [self.expr(value) for value in statement.values]
        self.returned.append((statement, wires))

    def expected(self, wire: Wire, wanted: Type, span: Span, wanted_span: Span, what: str, code: str = "E0315") -> bool:
        """Whether the wire has the type that is written for it (lifted axes apart)."""
        lifted = set(self.frame.lifted)
        have = [axis for axis in wire.type.axes if axis not in lifted or axis in wanted.axes]
        same = set(have) == set(wanted.axes) and self._element_fits(wire.element, wanted.element)
        if not same:
            self.report(code, f"{what} is {show(wire)}, but {show_type(wanted)} is written here", span, f"this is {show(wire)}",
                        related=[(wanted_span, f"{show_type(wanted)} wanted here")], help=self._difference(wire, wanted))  # fmt: skip
        return same

    def _element_fits(self, have: object, wanted: object) -> bool:
        if isinstance(have, IndexInto) and isinstance(wanted, IndexInto):
            return have.axis.family == wanted.axis.family
        return have == wanted or (have is Scalar.INT and wanted is Scalar.REAL)

    def _difference(self, wire: Wire, wanted: Type) -> str:
        """In words: what is missing, what is too much."""
        missing = [axis for axis in wanted.axes if axis not in wire.type.axes]
        extra = [axis for axis in wire.axes if axis not in wanted.axes and axis not in self.frame.lifted]
        for axis in missing:
            for other in extra:
                if axis.family == other.family:
                    return f"`{other.name}` and `{axis.name}` are copies of one axis: rename, `x[{other.name} as {axis.name}]`"
        parts = []
        if missing:
            parts.append(f"{listed(axis.name for axis in missing)} {'is' if len(missing) == 1 else 'are'} missing")
        if extra:
            parts.append(f"{listed(axis.name for axis in extra)} {'is' if len(extra) == 1 else 'are'} too much")
        if not parts:
            return "the kinds of elements differ"
        return "; ".join(parts)

    def share(self, statement: s.Share) -> None:
        if statement.block.text not in self.frame.module.blocks:
            if not is_missing(self.frame.module, statement.block.text):
                near = nearest(statement.block.text, self.frame.module.blocks)
                self.report(
                    "E0203",
                    f"no block is named `{statement.block.text}`",
                    statement.block.span,
                    help=f"did you mean `{near}`?" if near else "`share f = block` gives one set of weights to all calls of `f`",
                )
            return
        if self._owned_name(statement.name.text, statement.name.span):
            self.shares[statement.name.text] = statement
            self.builder.own(statement.name.text, statement.name.span, self)

    def local_axis(self, decl: s.AxisDecl) -> None:
        name = decl.name.text
        if self.frame.axis(name) is not None or self.frame.const(name) is not None or name in self.env:
            self.report("E0204", f"`{name}` is declared already", decl.name.span, help="choose another name")
            return
        kind = Kind(decl.kind)
        extent: int | None = None
        size: Static | None = None
        bound: int | None = None
        family: int | None = None
        if decl.like is not None:
            original = self.axis(decl.like)
            if original is None:
                return
            if original.kind is not kind:
                self.report("E0213", f"`{name}` is a {kind.value} but `{original.name}` is a {original.kind.value}", decl.span,
                            help=f"write `{original.kind.value} {name} like {original.name}`")  # fmt: skip
            extent, size, bound, family = original.extent, SizeOf(original), original.bound, original.family
        elif decl.size is not None:
            size = size_static(decl.size, self.lookup, self.frame)
            if size is None:
                return
            value = checked_size(self.frame, size, decl.size.span, name)
            if decl.bounded:
                bound, size = value, None
            else:
                extent = value
                bound = largest(size) if value is None and kind is Kind.WIDTH else None
        else:
            self.report("E0207", f"`{name}` is declared in a block but has no size", decl.span,
                        help=f"an axis of a block is made of others: `{decl.kind} {name} = ...`, or make it a parameter of the block")  # fmt: skip
            return
        label = decl.display.text if decl.display else name
        axis = self.checker.session.axis(
            name, kind, label=label, extent=extent, size=size, bound=bound, family=family, span=decl.name.span
        )
        self.frame.add_axis(axis)

    def local_const(self, decl: s.ConstDecl) -> None:
        name = decl.name.text
        if self.frame.axis(name) is not None or self.frame.const(name) is not None or name in self.env:
            self.report("E0204", f"`{name}` is declared already", decl.name.span, help="choose another name")
            return
        value = size_static(decl.value, self.lookup, self.frame, exact=False)
        if value is not None:
            checked_number(self.frame, value, decl.value.span)
            self.frame.local_consts[name] = value

    def param(self, decl: s.ParamDecl) -> None:
        name = decl.name.text
        type = self.type(decl.type)
        if not self._owned_name(name, decl.name.span):
            type = None
        if type is None:
            self.bind(decl.name, None)
            return
        if type.element is not Scalar.REAL:
            self.report("E0304", f"a param is real, but {show_type(type)} is written here", decl.type.span)
            self.bind(decl.name, None)
            return
        for axis, written in zip(type.axes, decl.type.axes, strict=True):
            if axis.is_width and axis.extent is None and axis.bound is None:
                self.report(
                    "E0321",
                    f"param `{name}` has the width `{axis.name}`, of which no largest size is known",
                    written.span,
                    related=[(axis.span, f"`{axis.name}` is declared here")],
                    help=f"bound it: `width {axis.name} <= 1024`, or fix it: `width {axis.name} = 1024`",
                )
                self.bind(decl.name, None)
                return
        init = Init("normal", (0.02,)) if decl.init is None else self.init(decl.init)
        weight = Weight(name, tuple((axis,) for axis in type.axes), init or Init("zeros"), decl.frozen, decl.span)
        out = self.builder.value(type, Role.WEIGHT, decl.name.span, name)
        self.builder.nodes.append(Parameter(weight, out))
        self.builder.own(name, decl.name.span, self)
        self.bind(decl.name, Wire(type, Role.WEIGHT, decl.name.span, out, home=self.builder))

    def init(self, expr: s.Expr) -> Init | None:
        """`normal(0.02)`, `zeros`, ..."""
        match expr:
            case s.Name(text, span):
                callee, arguments = s.Ident(text, span), ()
            case s.Call(callee, None, None, arguments):
                pass
            case _:
                self.report("E0320", "this is no initialisation", expr.span, help=f"write one of {listed(_INITS)}")
                return None
        if callee.text not in _INITS:
            near = did_you_mean(callee.text, _INITS)
            self.report("E0320", f"no initialisation is named `{callee.text}`", callee.span, help=near or f"there are {listed(_INITS)}")
            return None
        if len(arguments) != _INITS[callee.text] or any(a.name for a in arguments):
            count = _INITS[callee.text]
            self.report("E0320", f"`{callee.text}` takes {count or 'no'} number{'s' if count > 1 else ''}", expr.span,
                        help="`normal(std)`, `uniform(bound)`, `constant(c)`, `zeros`, `ones`, `xavier`")  # fmt: skip
            return None
        numbers = []
        for argument in arguments:
            wire = self.expr(argument.value)
            if wire is None:
                return None
            value = None if wire.static is None else checked_number(self.frame, wire.static, argument.span)
            if not isinstance(value, int | float):
                self.report("E0320", "an initialisation takes a number known at build time", argument.span)
                return None
            numbers.append(float(value))
        return Init(callee.text, tuple(numbers))

    def _owned_name(self, name: str, span: Span) -> bool:
        """Whether weights may be named so (D11)."""
        if not is_reserved(name):
            return True
        self.report(
            "E0216",
            f"weights cannot be named `{name}`: it is reserved",
            span,
            notes=["names of weights become attributes of a torch module, which keeps some names for itself"],
            help=f"give it another label, such as `{name.strip('_')}_`",
        )
        return False

    # -- static if -----------------------------------------------------------------------------------------------

    def branch(self, statement: s.If) -> None:
        """Static `if`: both branches are checked, only the taken one owns weights."""
        condition = self.expr(statement.condition)
        if condition is not None and condition.static is None:
            self.report(
                "E0323",
                f"`if` is decided at build time, but this is {show(condition)}",
                statement.condition.span,
                help="choose between values with `select(condition, x, y)`",
            )
            return
        decided: object = None
        if condition is not None and condition.static is not None:
            decided = checked_number(self.frame, condition.static, statement.condition.span)
            if decided is not None and not isinstance(decided, bool):
                self.report("E0304", "`if` needs a truth value, but this is a number", statement.condition.span, help="compare it: `n > 0`")
                decided = True
            if decided is None:
                self.checker.undecided = True
        self.checker.decisions.append(bool(decided))
        taken = statement.then if decided is None or decided else statement.otherwise
        other = statement.otherwise if taken is statement.then else statement.then
        known = len(self.checker.decisions)
        self._discard(other, bool(decided is None))
        del self.checker.decisions[known:]
        self.run(taken)

    def _discard(self, statements: Sequence[s.Statement], unsure: bool) -> None:
        """Check a branch that is not taken, and keep nothing of it but its mistakes."""
        builder = Builder(parent=self.builder)
        trial = replace(
            self, builder=builder, env=dict(self.env), returned=[], assigned=dict(self.assigned), shares=dict(self.shares)
        )
        frame_axes, frame_consts = dict(self.frame.names), dict(self.frame.local_consts)
        trial.run(statements)
        self.frame.names, self.frame.local_consts = frame_axes, frame_consts
        for name in trial.assigned:
            self.assigned.setdefault(name, trial.assigned[name])
            if unsure and name not in self.env:
                self.env[name] = None

    # -- repeat --------------------------------------------------------------------------------------------------

    def repeat(self, statement: s.Repeat) -> None:
        """`repeat layers { x = f(x) }` (D10): the body once, however many passes."""
        count = size_static(statement.count, self.lookup, self.frame)
        number = None if count is None else self._count(count, statement.count.span)
        name = self._repeat_name(statement)
        carried = [text for text in _assigned(statement.body) if self.env.get(text) is not None]
        for text in _assigned(statement.body):
            if text in self.env and self.env[text] is None:
                carried = []  # something it would carry is wrong already: check the body once, keep nothing
        index: Const | None = None
        if statement.index is not None:
            if self.frame.axis(statement.index.text) or self.frame.const(statement.index.text):
                self.report("E0205", f"`{statement.index.text}` is a name already", statement.index.span, help="choose another name")
            else:
                index = self.checker.session.const(statement.index.text, None)
        starts = [self.env[text] for text in carried]
        outer_undecided, outer_decisions = self.checker.undecided, self.checker.decisions
        self.checker.undecided, self.checker.decisions = False, []
        body = self._settle(statement, carried, [w for w in starts if w is not None], index)
        varies = index is not None and self.checker.undecided
        self.checker.undecided, self.checker.decisions = outer_undecided or (self.checker.undecided and not varies), outer_decisions
        if body is None or name is None or count is None:
            for text in carried:
                self.env[text] = None
            return
        graphs, variant = [body.graph], [0] * (number or 0)
        builders = [body]
        if varies and number:
            graphs, variant, builders = self._variants(statement, carried, body, index, number)
        outside = self._join_outside(builders, len(carried))
        graphs = [self._with_inputs(b, outside, len(carried)) for b in builders]
        args = tuple(self.builder.take(w) for w in [*body.starts, *outside])
        outs = tuple(self.builder.value(w.type, w.role, statement.span, text) for text, w in zip(carried, body.ends, strict=True))
        owns = any(b.builder.names for b in builders)
        self.builder.nodes.append(
            Repeat(name, count, statement.shared, index, tuple(graphs), tuple(variant), args, len(carried), outs, statement.head)
        )
        if owns:
            self.builder.own(name, statement.label.span if statement.label else statement.head, self)
        for text, wire, out in zip(carried, body.ends, outs, strict=True):
            self.env[text] = replace(wire, value=out, home=self.builder, static=None, span=self.assigned.get(text, wire.span))
        for text in _assigned(statement.body):
            if text not in carried:
                self.gone[text] = statement.head

    def _count(self, count: Static, span: Span) -> int | None:
        value = checked_number(self.frame, count, span)
        if value is None:
            if any_width(count):
                self.report("E0207", "the number of passes hangs on a width, but must be known at build time", span)
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self.report("E0207", f"a repeat runs a whole number of times, not {value}", span)
            return None
        if value > _MOST_PASSES:
            self.report("E0207", f"a repeat of {value} passes is more than {_MOST_PASSES}", span)
            return None
        return value

    def _repeat_name(self, statement: s.Repeat) -> str | None:
        if statement.label is not None:
            return statement.label.text if self._owned_name(statement.label.text, statement.label.span) else None
        if isinstance(statement.count, s.Name):
            return statement.count.text if self._owned_name(statement.count.text, statement.count.span) else None
        self.report(
            "E0218",
            "this repeat needs a label: its weights are named by it",
            statement.count.span,
            help="write `repeat.layers 6 { ... }`, or declare `const layers = 6` and write `repeat layers { ... }`",
        )
        return None

    def _settle(self, statement: s.Repeat, carried: list[str], starts: list[Wire], index: Const | None) -> _Pass | None:
        """Run the body until what it carries has settled: its role, its marks, its thin axes (types must not change)."""
        entering = [self._as_value(wire) for wire in starts]
        result: _Pass | None = None
        for attempt in range(5):
            quiet = self.frame.mute()
            result = self._one_pass(statement, carried, entering, index)
            settled = [_join(a, b) for a, b in zip(entering, result.ends, strict=True)]
            problems = self.frame.unmute(quiet)
            if attempt == 4 or all(_same(a, b) for a, b in zip(entering, settled, strict=True)):
                self.frame.replay(problems)
                break
            entering = settled
        assert result is not None
        if not result.complete:
            return None
        good = True
        for text, before, after in zip(carried, entering, result.ends, strict=True):
            if set(before.type.axes) != set(after.type.axes) or not self._element_fits(after.element, before.element):
                self.report(
                    "E0314",
                    f"`{text}` goes into a pass as {show(before)} but comes out as {show(after)}",
                    after.span,
                    f"this is {show(after)}",
                    related=[(statement.head, "each pass takes what the last one gave"), (before.span, f"`{text}` is {show(before)} here")],
                    help="give the result the type that it had, or bind it to a new name",
                )
                good = False
        result.starts = starts
        return result if good else None

    def _as_value(self, wire: Wire) -> Wire:
        return replace(wire, static=None, range=None, product_of=()) if wire.static is not None else wire

    def _one_pass(self, statement: s.Repeat, carried: list[str], entering: list[Wire], index: Const | None, value: int | None = None) -> _Pass:
        builder = Builder(parent=self.builder)
        env = dict(self.env)
        for text, wire in zip(carried, entering, strict=True):
            inside = builder.input(text, wire.type, wire.role, wire.span)
            env[text] = replace(inside, mark=wire.mark, loose=wire.loose)
        consts = dict(self.frame.local_consts)
        names = dict(self.frame.names)
        if index is not None:
            self.frame.local_consts[index.name] = ConstOf(Const(index.id, index.name, value))
        body = replace(self, builder=builder, env=env, returned=[], assigned=self.assigned, shares=dict(self.shares), in_repeat=True)
        body.run(statement.body)
        self.frame.local_consts, self.frame.names = consts, names
        for returned, _ in body.returned:
            self.report("E0408", "`return` stands inside a repeat", returned.span, help="bind the result, and return it after the repeat")
        ends: list[Wire] = []
        complete = True
        for text, wire in zip(carried, entering, strict=True):
            end = body.env.get(text)
            if end is None:
                complete = False
                end = wire
            ends.append(end)
        return _Pass(builder, ends, complete, statement, self)

    def _variants(
        self, statement: s.Repeat, carried: list[str], first: _Pass, index: Const | None, number: int
    ) -> tuple[list[Graph], list[int], list[_Pass]]:
        """A static `if` hangs on the index: one body for each way in which the decisions fall."""
        kept: dict[tuple[bool, ...], int] = {}
        passes: list[_Pass] = []
        variant: list[int] = []
        outer = self.checker.decisions
        entering = first.ends
        for value in range(number):
            self.checker.decisions = []
            self.checker.undecided = False
            mark = self.frame.mute()
            one = self._one_pass(statement, carried, entering, index, value)
            problems = self.frame.unmute(mark)
            key = tuple(self.checker.decisions)
            if key not in kept:
                self.frame.replay(problems)
                kept[key] = len(passes)
                passes.append(one)
                one.starts = first.starts
                for text, before, after in zip(carried, entering, one.ends, strict=True):
                    if set(before.type.axes) != set(after.type.axes):
                        self.report("E0314", f"`{text}` goes into pass {value} as {show(before)} but comes out as {show(after)}", after.span)
            variant.append(kept[key])
        self.checker.decisions = outer
        self.checker.undecided = False
        return [p.graph for p in passes], variant, passes

    def _join_outside(self, passes: list[_Pass], carried: int) -> list[Wire]:
        """What the bodies read from outside, each once."""
        outside: dict[int, Wire] = {}
        for one in passes:
            for wire in one.builder.outside:
                outside.setdefault(self.builder.take(wire).id, wire)
        return list(outside.values())

    def _with_inputs(self, one: _Pass, outside: list[Wire], carried: int) -> Graph:
        """The body's graph with an input for everything that any variant reads."""
        for wire in outside:
            one.builder.take(wire)
        own = {self.builder.take(w).id: i for w, i in zip(one.builder.outside, one.builder.inputs[carried:], strict=True)}
        ordered = [own[self.builder.take(wire).id] for wire in outside]
        one.builder.inputs[carried:] = ordered
        return one.graph

    # -- expressions ---------------------------------------------------------------------------------------------

    def static(self, value: Static, span: Span) -> Wire:
        """A number known at build time, or a size."""
        checked_number(self.frame, value, span)
        kind = static_element(value)
        known = Range(value, value, True) if kind is Scalar.INT else None
        return Wire(Type(kind, ()), Role.CONSTANT, span, static=value, range=known)

    def expr(self, expr: s.Expr, binding: str | None = None) -> Wire | None:
        """The value of an expression; `binding` is the name that it gets as a whole, which may name its weights."""
        match expr:
            case s.Name(text, span):
                return self.variable(text, span)
            case s.Number(value, span) | s.Truth(value, span):
                return self.static(Literal(value), span)
            case s.SizeOf(name, span):
                axis = self.axis(name)
                return None if axis is None else self.static(SizeOf(axis), span)
            case s.Binary():
                return self.binary(expr)
            case s.Unary(op, operand, span):
                wire = self.expr(operand)
                return None if wire is None else self.apply("neg" if op == "-" else op, op, span, [wire], [operand.span])
            case s.Where(value, mask, span):
                self.expr(value)
                self.expr(mask)
                self.report(
                    "E0308",
                    "`where` stands only in the operand of an op that reduces or normalises",
                    span,
                    help="write `softmax[k](s where m)`, `mean[k](x where m)`; or choose values with `select(m, x, y)`",
                )
                return None
            case s.Index():
                return self.index(expr)
            case s.Call():
                found = self.call(expr, binding)
                if isinstance(found, list):
                    if len(found) == 1:
                        return found[0]
                    self.report(
                        "E0408", f"`{expr.callee.text}` gives {len(found)} results, but one is wanted here", expr.span,
                        help="name them first: `a, b = f(x)` (`_` discards one)",
                    )  # fmt: skip
                    return None
                return found

    def variable(self, text: str, span: Span) -> Wire | None:
        if text in self.env:
            self.used.add(text)
            wire = self.env[text]
            return wire
        axis = self.frame.axis(text)
        if axis is not None:
            self.used.add(text)
            return self.builder.positions(axis, span)
        const = self.frame.const(text)
        if const is not None:
            return self.static(const, span)
        if text == "pi":
            return self.static(Literal(3.141592653589793), span)
        if is_missing(self.frame.module, text):
            return None
        if text in self.gone:
            self.report(
                "E0202",
                f"`{text}` lives inside a repeat and is gone here",
                span,
                related=[(self.gone[text], "it is bound in this repeat")],
                help=f"bind `{text}` before the repeat; then each pass rebinds it and the last value comes out",
            )
            return None
        known = [*self.env, *self.frame.axis_names(), *self.frame.const_names()]
        near = nearest(text, known)
        if text in WRITABLE_OPS or text in self.frame.module.blocks:
            help = f"`{text}` is called with its operands: `{text}(x)`, or `x |> {text}`"
        else:
            help = f"did you mean `{near}`?" if near else ""
        self.report(
            "E0202", f"nothing is named `{text}` here", span, help=help, fix=[(span, near)] if near and help.startswith("did") else []
        )
        return None

    def binary(self, expr: s.Binary) -> Wire | None:
        """A chain `a + b + c ...` is walked, not recursed into: it may be long."""
        spine: list[s.Binary] = []
        left: s.Expr = expr
        while isinstance(left, s.Binary):
            spine.append(left)
            left = left.left
        wire = self.expr(left)
        for node in reversed(spine):
            right = self.expr(node.right)
            if wire is None or right is None:
                wire = None
                continue
            wire = self.apply(node.op, node.op, node.span, [wire, right], [node.left.span, node.right.span])
        return wire

    def apply(self, name: str, shown: str, span: Span, operands: list[Wire], spans: list[Span]) -> Wire | None:
        """An op without brackets or options."""
        call = OpCall(self, OPS[name], shown, span, span, operands, spans)
        return call.op.rule(call)

    # -- brackets on a value -------------------------------------------------------------------------------------

    def index(self, expr: s.Index) -> Wire | None:
        wire = self.expr(expr.value)
        brackets = expr.brackets
        if brackets.result is not None or brackets.each:
            self.report("E0318", "brackets on a value rename or gather: no arrow, no colon", brackets.span,
                        help="write `x[a as b]` or `x[a = index]`; to call a block or op, arguments must follow the brackets")  # fmt: skip
            return None
        for item in brackets.items:
            if item.rename is not None:
                wire = self.rename(wire, item, expr)
            elif item.value is not None:
                wire = self.gather(wire, item, expr)
            else:
                self.report(
                    "E0318", "brackets on a value rename or gather an axis", item.span,
                    help=f"write `x[{item.name.text} as other]` or `x[{item.name.text} = index]`",
                )  # fmt: skip
                wire = None
        return wire

    def rename(self, wire: Wire | None, item: s.BracketItem, expr: s.Index) -> Wire | None:
        assert item.rename is not None
        old, new = self.axis(item.name), self.axis(item.rename)
        if wire is None or old is None or new is None:
            return None
        call = OpCall(self, OPS["rename"], "as", expr.span, item.span, [wire], [expr.value.span],
                      [old], [item.name.span], [new], [item.rename.span])  # fmt: skip
        if old not in wire.type.axes:
            return call.lacks(wire, old, expr.value.span, f"`{old.name} as {new.name}` renames `{old.name}`, which is not there", item.name.span)
        if old.family != new.family:
            call.fail(
                "E0303",
                f"`{old.name}` and `{new.name}` are not copies of one axis, so one cannot be renamed to the other",
                item.span,
                related=[(old.span, f"`{old.name}` is declared here"), (new.span, f"`{new.name}` is declared here")],
                help=f"declare a copy: `{old.kind.value} {new.name} like {old.name}`",
            )
            return None
        if new in wire.type.axes and new != old:
            call.fail("E0302", f"this has `{new.name}` already: it is {show(wire)}", item.span, help="rename to another copy")
            return None
        swap = lambda axes: tuple(new if axis == old else axis for axis in axes)  # noqa: E731
        type = Type(wire.element, swap(wire.type.axes), frozenset(swap(tuple(wire.type.thin))))
        found = call.make(type, mark=frozenset(swap(tuple(wire.mark))), range=wire.range)
        return None if found is None else replace(found, loose=wire.loose)

    def gather(self, wire: Wire | None, item: s.BracketItem, expr: s.Index) -> Wire | None:
        assert item.value is not None
        axis, e = self.axis(item.name), self.expr(item.value)
        if wire is None or axis is None or e is None:
            return None
        call = OpCall(self, OPS["gather"], "[=]", expr.span, item.span, [wire, e], [expr.value.span, item.value.span], [axis], [item.name.span])
        if not wire.has(axis):
            return call.lacks(wire, axis, expr.value.span, f"`{axis.name} = ...` picks along `{axis.name}`, which is not there", item.name.span)
        if isinstance(e.element, IndexInto):
            if e.element.axis.family != axis.family:
                return call.wrong_table(e, axis, item.value.span)
        elif e.element is not Scalar.INT:
            call.fail("E0304", f"`{axis.name}` is picked by indices, but this is {show(e)}", item.value.span, help="use floor(x) for a whole number")
            return None
        inside = self._in_range(call, e, axis, item.value.span)
        if inside is None:
            return None
        call.options["checked"] = Literal(inside)
        rest = tuple(a for a in wire.type.axes if a != axis)
        own = tuple(a for a in e.type.axes if a not in rest)
        call.made = list(own)
        call.made_spans = [item.span] * len(own)
        place = wire.type.axes.index(axis)
        axes = (*wire.type.axes[:place], *own, *wire.type.axes[place + 1 :])
        thin = (wire.type.thin & set(rest)) | (e.type.thin - set(rest))
        thin -= {a for a in rest if e.has(a)}
        mark = frozenset() if axis in wire.mark else wire.mark
        return call.make(Type(wire.element, axes, frozenset(thin)), mark=mark)

    def _in_range(self, call: OpCall, e: Wire, axis: Axis, span: Span) -> bool | None:
        """True: provably inside; False: to be checked at run time; None: provably outside, and reported."""
        found = e.range
        if found is None:
            return isinstance(e.element, IndexInto) and e.role is Role.DATA and e.value is not None and _is_input(self.builder, e.value)
        last = Arith("-", (SizeOf(axis), Literal(1)))
        low, high = found.low, found.high
        if at_most(Literal(0), low) and at_most(high, last):
            return True
        below = at_most(low if found.tight else high, Literal(-1))
        above = at_most(SizeOf(axis), high if found.tight else low)
        if below or above:
            what = "is negative" if below else f"is not less than |{axis.name}|" + (f" = {axis.extent}" if axis.extent else "")
            at = self._show_bound(low if below else high)
            call.fail(
                "E0311",
                f"this index into `{axis.name}` {what}{at}",
                span,
                related=[(axis.span, f"`{axis.name}` is declared here")],
                help="clamp it: `max(i, 0)`, `min(i, |" + axis.name + "| - 1)`" if not isinstance(e.static, Literal) else "",
            )
            return None
        return False

    def _show_bound(self, bound: Static) -> str:
        try:
            value = evaluate(bound)
        except (ArithmeticError, ValueError):
            value = None
        return f": it gets to {value}" if value is not None else ""

    # -- calls ---------------------------------------------------------------------------------------------------

    def call(self, call: s.Call, binding: str | None) -> Wire | list[Wire | None] | None:
        """An op (a wire), or a block (a list of its results)."""
        name = call.callee.text
        if call.scan is not None:
            self._evaluate_arguments(call)
            self.report("E0901", "`scan` is not built yet", call.span, help="unroll it with `repeat`, or wait for the next version")
            return None
        if name in self.shares:
            self.used.add(name)
            share = self.shares[name]
            return self.checker.call_block(self, self.frame.module.blocks[share.block.text], call, shared=name)
        if name in self.frame.module.blocks:
            return self.checker.call_block(self, self.frame.module.blocks[name], call)
        if name == "raw":
            return self.raw(call)
        if name in ("max", "min") and call.brackets is None:
            return self.op_call(call, OPS["maximum" if name == "max" else "minimum"], binding)
        if name in OPS and name not in _HIDDEN:
            return self.op_call(call, OPS[name], binding)
        self._evaluate_arguments(call)
        if is_missing(self.frame.module, name):
            return None
        if name in self.frame.module.ops:
            self.report("E0902", f"`{name}` is an op of your own: these are not built yet", call.span)
            return None
        known = [*WRITABLE_OPS, *self.frame.module.blocks, *self.shares]
        near = nearest(name, known)
        elsewhere = self.checker.library_home(name)
        help = f"did you mean `{near}`?" if near else ""
        if elsewhere:
            help = f"the standard library has it: `use {elsewhere}: {name}`"
        if name in self.env:
            help = f"`{name}` is a variable: it is not called"
        self.report(
            "E0203", f"no op or block is named `{name}`", call.callee.span, help=help,
            fix=[(call.callee.span, near)] if near and help.startswith("did") else [],
        )  # fmt: skip
        return None

    def _evaluate_arguments(self, call: s.Call) -> None:
        """For the mistakes in them, when the call itself cannot be understood."""
        for argument in call.arguments:
            value = argument.value.value if isinstance(argument.value, s.Where) else argument.value
            self.expr(value)

    def raw(self, call: s.Call) -> Wire | None:
        """`raw(w)`: the same value without its mark (D6)."""
        if len(call.arguments) != 1 or call.brackets is not None:
            self._evaluate_arguments(call)
            self.report("E0319", "`raw` takes one value", call.span, help="write `raw(weights)`")
            return None
        wire = self.expr(call.arguments[0].value)
        return None if wire is None else replace(wire, mark=frozenset(), loose=False)

    def op_call(self, call: s.Call, op: Op, binding: str | None) -> Wire | None:
        shown = call.callee.text
        bracket_span = call.brackets.span if call.brackets else call.callee.span
        made = OpCall(self, op, shown, call.span, bracket_span, [], [])
        good = self._operands(call, op, made)
        good = self._brackets(call, op, made) and good
        if not good:
            return None
        if call.label is not None and not op.learned:
            self.report("E0319", f"`{shown}` owns no weights, so it has no label", call.label.span, help=f"write `{shown}` without `.{call.label.text}`")
            return None
        if op.learned and not self._learned_name(call, op, made, binding):
            return None
        return op.rule(made)

    def _learned_name(self, call: s.Call, op: Op, made: OpCall, binding: str | None) -> bool:
        owns = op.name in ("linear", "embed") or any(made.truth(o.name) for o in op.options if o.name in ("scale", "bias"))
        if not owns:
            return True
        if call.label is not None:
            made.name = call.label.text
            return self._owned_name(made.name, call.label.span)
        if binding is not None and binding != "_":
            made.name = binding
            return self._owned_name(binding, call.span)
        self.report(
            "E0218",
            f"this `{op.name}` needs a name: its weights are stored under it",
            call.callee.span,
            help=f"label it, `{op.name}.up[...]`, or bind its result to a name of its own",
            fix=[(Span(call.span.source, call.callee.span.end, call.callee.span.end), ".name")],
        )
        return False

    def _operands(self, call: s.Call, op: Op, made: OpCall) -> bool:
        """Sort the arguments into operands and options."""
        good = True
        slots: dict[str, tuple[Wire, Span]] = {}
        extra: list[tuple[Wire, Span]] = []
        options = {option.name: option for option in op.options}
        given: set[str] = set()
        positions = [*op.operands]
        after = [option.name for option in op.options[: op.positional]]
        seen = 0
        for argument in call.arguments:
            name = argument.name.text if argument.name else None
            if name == "init" and op.learned:
                made.init = self.init(argument.value)
                good = good and made.init is not None
                continue
            if name is None:
                name = (positions + after)[seen] if seen < len(positions + after) else None
                if op.variadic and seen >= len(positions):
                    name = None
                seen += 1
            wire, mask = self._operand(argument, op, made)
            if mask:
                made.mask, made.mask_span = mask, argument.value.mask.span  # type: ignore[union-attr]
            if isinstance(argument.value, s.Where) and mask is None:
                good = False
            if wire is None:
                good = False
                if name:
                    given.add(name)
                continue
            if name in options:
                good = self._option(made, options[name], wire, argument) and good
                given.add(name)
            elif name is not None and name in positions:
                if name in slots:
                    self.report("E0319", f"`{name}` is given twice", argument.span)
                    good = False
                slots[name] = (wire, argument.value.value.span if isinstance(argument.value, s.Where) else argument.value.span)
                given.add(name)
            elif name is None and op.variadic:
                extra.append((wire, argument.value.span))
            else:
                known = [*options, *positions, *(["init"] if op.learned else [])]
                if name is None:
                    usage = f"write `{op.usage}`"
                    self.report("E0319", f"`{made.shown}` takes {len(positions)} operand{'s' if len(positions) > 1 else ''}", argument.span, "one too many", help=usage)
                else:
                    near = nearest(name, known)
                    self.report("E0319", f"`{made.shown}` has no argument `{name}`", argument.span,
                                help=f"did you mean `{near}`?" if near else f"it has {listed(known)}",
                                fix=[(argument.name.span, near)] if near and argument.name else [])  # fmt: skip
                good = False
        missing = [name for name in positions if name not in given]
        if missing and good:
            self.report("E0319", f"`{made.shown}` lacks {listed(missing)}", call.span, help=f"write `{op.usage}`")
            good = False
        for option in op.options:
            if option.name not in made.options and option.name not in given:
                if option.default is None:
                    if good:
                        self.report("E0319", f"`{made.shown}` lacks `{option.name}`: {option.doc}", call.span, help=f"write `{op.usage}`")
                    good = False
                else:
                    made.options[option.name] = Literal(option.default)
        made.operands = [slots[name][0] for name in positions if name in slots] + [wire for wire, _ in extra]
        made.spans = [slots[name][1] for name in positions if name in slots] + [span for _, span in extra]
        return good

    def _operand(self, argument: s.Argument, op: Op, made: OpCall) -> tuple[Wire | None, Wire | None]:
        """The operand, and its mask if it is `x where m`."""
        if not isinstance(argument.value, s.Where):
            return self.expr(argument.value), None
        where = argument.value
        wire, mask = self.expr(where.value), self.expr(where.mask)
        if not op.masked:
            masked = ", ".join(f"`{o.name}`" for o in OPS.values() if o.masked)
            self.report("E0308", f"`{made.shown}` takes no `where`", where.span, help=f"these take one: {masked}; or choose values with `select(m, x, y)`")
            return wire, None
        if mask is not None and not mask.is_bool:
            self.report("E0304", f"a mask is a truth value, but this is {show(mask)}", where.mask.span, help="compare it: `m > 0`")
            mask = None
        return wire, mask

    def _option(self, made: OpCall, option: Any, wire: Wire, argument: s.Argument) -> bool:
        if wire.static is None:
            self.report("E0320", f"`{option.name}` is a number known at build time, but this is {show(wire)}", argument.span)
            return False
        value = checked_number(self.frame, wire.static, argument.span)
        if isinstance(option.default, bool) != (wire.element is Scalar.BOOL):
            wanted = "true or false" if isinstance(option.default, bool) else "a number"
            self.report("E0320", f"`{option.name}` is {wanted}", argument.span)
            return False
        complaint = option.check(value) if value is not None else None
        if complaint:
            self.report("E0320", f"`{option.name}` is {value}, but {complaint}", argument.span, help=option.doc)
            return False
        if isinstance(option.default, bool) and value is None:
            self.report("E0320", f"`{option.name}` must be known at build time", argument.span)
            return False
        made.options[option.name] = wire.static
        return True

    def _brackets(self, call: s.Call, op: Op, made: OpCall) -> bool:
        """Resolve what stands in brackets, and check its form."""
        brackets = call.brackets
        usage = f"write `{op.usage}`"
        if brackets is None:
            if op.brackets is Brackets.NONE:
                return True
            self._no_brackets(call, op, made)
            return False
        if op.brackets is Brackets.NONE:
            self.report("E0318", f"`{made.shown}` works item by item: it takes no brackets", brackets.span, help=usage)
            return False
        for item in brackets.items:
            if item.rename is not None or item.value is not None:
                self.report("E0318", f"the brackets of `{made.shown}` hold names of axes", item.span, help=usage)
                return False
        names = [item.name for item in brackets.items]
        axes, each = self.axes(names), self.axes(brackets.each)
        result = self.axes(brackets.result) if brackets.result is not None else []
        if axes is None or each is None or result is None:
            return False
        if (op.brackets is Brackets.MAP) != (brackets.result is not None):
            if op.brackets is Brackets.MAP:
                self.report("E0318", f"`{made.shown}` needs an arrow: the axes it eats, then those it makes", brackets.span, help=usage)
            else:
                self.report("E0318", f"`{made.shown}` makes no axes: no arrow here", brackets.span, help=usage)
            return False
        if brackets.each and op.name != "linear":
            self.report("E0318", f"`{made.shown}` takes no colon", brackets.each[0].span, help=usage)
            return False
        if not axes and not result:
            self._no_brackets(call, op, made)
            return False
        if op.brackets is Brackets.MAP and op.name != "linear" and (not axes or not result):
            self.report("E0318", f"`{made.shown}` needs axes on both sides of the arrow", brackets.span, help=usage)
            return False
        spans = [name.span for name in names]
        if op.brackets is Brackets.MADE:
            made.made, made.made_spans = axes, spans
        else:
            made.axes, made.axis_spans = axes, spans
            made.made, made.made_spans = result, [name.span for name in brackets.result or ()]
        made.each, made.each_spans = each, [name.span for name in brackets.each]
        for group, places in ((axes, spans), (made.made, made.made_spans)):
            for position, axis in enumerate(group):
                if axis in group[:position] and op.name != "concat":
                    self.report("E0322", f"`{axis.name}` stands twice in these brackets", places[position], help="name each axis once")
                    return False
        return True

    def _no_brackets(self, call: s.Call, op: Op, made: OpCall) -> None:
        """D3: no op has an implicit axis; show how to write it for what stands here."""
        x = made.operands[0] if made.operands else None
        has = [axis for axis in x.axes if axis not in self.frame.lifted] if x is not None else []
        argument = call.arguments[0].value.span.text if call.arguments else "x"
        help = f"write `{op.usage}`"
        if op.brackets is Brackets.ACTS and has:
            help = f"its operand is {show_axes(tuple(has))}: write " + " or ".join(f"`{made.shown}[{axis.name}]({argument})`" for axis in has[:3])
        self.report("E0318", f"`{made.shown}` does not say which axes it acts on", call.callee.span, "no axes in brackets", help=help)

    def normalised_at(self, wire: Wire) -> tuple[Span, list[Span]] | None:
        """Where the softmax stands that gave a wire its mark: the span of its brackets' axes."""
        if wire.value is None:
            return None
        builder: Builder | None = self.builder
        while builder is not None and builder is not wire.home:
            builder = builder.parent
        if builder is None:
            return None
        value: Value | None = wire.value
        while value is not None:
            node = next((n for n in builder.nodes if isinstance(n, Apply) and n.out.id == value.id), None)
            if node is None:
                return None
            if node.op == "softmax" and node.span is not None:
                text = node.span.text
                open_, close = text.find("["), text.find("]")
                start = node.span.start
                place = Span(node.span.source, start + open_ + 1, start + close)
                return (place, [place]) if 0 <= open_ < close else (node.span, [])
            value = node.operands[0] if node.operands else None
        return None


@dataclass
class _Pass:
    """One elaboration of a repeat's body."""

    builder: Builder
    ends: list[Wire]
    complete: bool
    statement: s.Repeat
    body: Body
    starts: list[Wire] = field(default_factory=list)

    @property
    def graph(self) -> Graph:
        builder = self.builder
        outputs = tuple(Output(None, builder.take(wire), wire.type.axes) for wire in self.ends)
        frame = self.body.frame
        return Graph(
            frame.block.name, "repeat", (), 0, (), frame.lifted, tuple(builder.inputs), tuple(builder.nodes), outputs, "", self.statement.head
        )


def _join(a: Wire, b: Wire) -> Wire:
    """What is known of a carried value that may be either."""
    element = a.element
    if a.element is Scalar.INT and b.element is Scalar.REAL:
        element = Scalar.REAL
    thin = frozenset(a.type.thin & b.type.thin)
    return replace(
        a, type=Type(element, a.type.axes, thin), role=max(a.role, b.role), mark=a.mark if a.mark == b.mark else frozenset(),
        loose=a.loose and b.loose,
    )  # fmt: skip


def _same(a: Wire, b: Wire) -> bool:
    return (a.type, a.role, a.mark, a.type.thin) == (b.type, b.role, b.mark, b.type.thin)


def _assigned(statements: Sequence[s.Statement]) -> list[str]:
    """The variables that statements bind, in order, those of nested repeats and branches too."""
    names: dict[str, None] = {}
    for statement in statements:
        match statement:
            case s.Assign(targets):
                names.update(dict.fromkeys(target.text for target in targets if target.text != "_"))
            case s.Repeat():
                names.update(dict.fromkeys(_assigned(statement.body)))
            case s.If():
                names.update(dict.fromkeys(_assigned(statement.then) + _assigned(statement.otherwise)))
            case _:
                pass
    return list(names)


def any_width(static: Static) -> bool:
    match static:
        case SizeOf(axis):
            return axis.is_width and axis.extent is None
        case Arith(_, args):
            return any(any_width(arg) for arg in args)
        case _:
            return False


def _is_input(builder: Builder, value: Value) -> bool:
    """Whether the value came in as it is: its indices were checked at the border."""
    return any(entry.value is value for entry in builder.inputs)

