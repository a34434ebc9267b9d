"""Blocks: checked once on their own, and instantiated where they are called (D8).

"A call means its body with the arguments put in." So a call elaborates the callee's body for the sizes, the families,
the extra axes and the kinds of its arguments, once for each distinct combination (`Checker.instances`). A mistake that
the body makes by itself was reported when the block was checked on its own; what only some calls get wrong is a
requirement of the body, and is reported at the call.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ..dsl import syntax as s
from ..dsl.diagnostic import Diagnostic, Label, Severity, error
from ..dsl.source import Span
from .axes import Axis, Kind
from .body import Body
from .builder import Builder
from .graph import Call, Graph, IndexInto, Input, Output, Role, Scalar, Type, Value
from .modules import BlockDef, Module, size_static
from .names import did_you_mean, is_reserved, listed, nearest
from .session import Session
from .sizes import mentions, substitute
from .static import Arith, Const, ConstOf, Literal, SizeOf, Static, evaluate
from .wires import Wire, show, show_axes, show_type


@dataclass(eq=False)
class Frame:
    """One elaboration of a block: the meaning of names in it, and the mistakes found.

    judge: whether D7 is decided here (not while a block that others call is checked on its own: only a call tells
           whether an argument carries data).
    """

    block: BlockDef
    module: Module
    names: dict[str, Axis]
    consts: dict[str, Static]
    of_file: dict[int, Axis]  # the axis of this instance that stands for a file's axis
    const_of_file: dict[int, Const]
    lifted: tuple[Axis, ...]
    judge: bool
    params: list[Axis] = field(default_factory=list)
    const_params: list[Const] = field(default_factory=list)
    results: tuple[s.Result, ...] = ()
    own_axes: list[Axis] = field(default_factory=list)
    local_consts: dict[str, Static] = field(default_factory=dict)
    problems: list[tuple[Diagnostic, bool]] = field(default_factory=list)

    def axis(self, name: str) -> Axis | None:
        return self.names.get(name)

    def const(self, name: str) -> Static | None:
        return self.local_consts.get(name) or self.consts.get(name)

    def axis_names(self) -> list[str]:
        return list(self.names)

    def const_names(self) -> list[str]:
        return [*self.consts, *self.local_consts]

    def add_axis(self, axis: Axis) -> None:
        self.names = {**self.names, axis.name: axis}
        self.own_axes.append(axis)

    def report(
        self,
        code: str,
        message: str,
        span: Span | None,
        label: str = "",
        *,
        related: Iterable[tuple[Span | None, str]] = (),
        notes: Iterable[str] = (),
        help: str = "",
        fix: Iterable[tuple[Span, str]] = (),
        warning: bool = False,
        deep: bool = False,
    ) -> None:
        severity = Severity.WARNING if warning else Severity.ERROR
        made = error(code, message, span, label, related=related, notes=notes, help=help, fix=tuple(fix), severity=severity)
        self.problems.append((made, deep))

    def mute(self) -> list[tuple[Diagnostic, bool]]:
        """From here on, mistakes are set aside until `unmute`."""
        kept, self.problems = self.problems, []
        return kept

    def unmute(self, kept: list[tuple[Diagnostic, bool]]) -> list[tuple[Diagnostic, bool]]:
        aside, self.problems = self.problems, kept
        return aside

    def replay(self, problems: list[tuple[Diagnostic, bool]]) -> None:
        self.problems.extend(problems)


@dataclass(eq=False)
class Instance:
    """A block elaborated for one kind of call."""

    frame: Frame
    graph: Graph | None
    results: list[Wire | None]  # in the axes of the instance
    problems: list[tuple[Diagnostic, bool]]
    decisions: list[bool]
    undecided: bool


@dataclass(eq=False)
class Checker:
    """All blocks of a program. `called` holds those that some other block calls."""

    session: Session
    instances: dict[object, Instance] = field(default_factory=dict)
    alone: dict[BlockDef, Instance] = field(default_factory=dict)
    closures: dict[BlockDef, tuple[list[Axis], list[Const]]] = field(default_factory=dict)
    called: set[BlockDef] = field(default_factory=set)
    stack: list[BlockDef] = field(default_factory=list)
    decisions: list[bool] = field(default_factory=list)
    undecided: bool = False
    library: dict[str, str] = field(default_factory=dict)  # names that the standard library has, and where

    def library_home(self, name: str) -> str | None:
        return self.library.get(name)

    # -- what a block mentions -----------------------------------------------------------------------------------

    def closure(self, block: BlockDef) -> tuple[list[Axis], list[Const]]:
        """The axes and consts of files that a block mentions, itself or by way of what it calls: its implicit parameters."""
        if block in self.closures:
            return self.closures[block]
        self.closures[block] = ([], [])  # a block that calls itself is refused elsewhere
        axes: dict[int, Axis] = {}
        consts: dict[int, Const] = {}
        module, decl = block.module, block.decl
        own = {generic.name.text for generic in decl.generics} | _locals(decl.body)
        for name in _mentioned(decl):
            if name in own:
                continue
            if name in module.axes:
                axes[module.axes[name].id] = module.axes[name]
                module.read.add(name)
            elif name in module.consts:
                consts[module.consts[name].id] = module.consts[name]
                module.read.add(name)
        shares = {share.name.text: share.block.text for share in _shares(decl.body)}
        for callee, bound in _calls(decl.body):
            other = module.blocks.get(shares.get(callee, callee))
            if other is None or other is block:
                continue
            their_axes, their_consts = self.closure(other)
            rebound = {name for name in bound if name in other.module.axes or name in other.module.consts}
            skip = {other.module.axes[name].id for name in rebound if name in other.module.axes}
            skip |= {other.module.consts[name].id for name in rebound if name in other.module.consts}
            for axis in their_axes:
                if axis.id not in skip and not self._hangs_on(axis.id, skip):
                    axes[axis.id] = axis
            for const in their_consts:
                if const.id not in skip and not self._hangs_on(const.id, skip):
                    consts[const.id] = const
        for id in list(axes):
            self._add_parts(id, axes, consts)
        for id in list(consts):
            self._add_parts(id, axes, consts)
        self.closures[block] = (list(axes.values()), list(consts.values()))
        return self.closures[block]

    def _formula(self, id: int) -> Static | None:
        return self.session.formulas.get(id) or self.session.const_formulas.get(id)

    def _hangs_on(self, id: int, ids: set[int]) -> bool:
        """Whether a file's axis or const is derived from one of these."""
        formula = self._formula(id)
        if formula is None:
            return False
        parts = set().union(*mentions(formula))
        return bool(parts & ids) or any(self._hangs_on(part, ids) for part in parts)

    def _add_parts(self, id: int, axes: dict[int, Axis], consts: dict[int, Const]) -> None:
        """What a derived size is derived from is mentioned too."""
        formula = self._formula(id)
        if formula is None:
            return
        for axis in _axes_of(formula):
            if axis.id not in axes:
                axes[axis.id] = axis
                self._add_parts(axis.id, axes, consts)
        for const in _consts_of(formula):
            if const.id not in consts:
                consts[const.id] = const
                self._add_parts(const.id, axes, consts)

    # -- a block on its own --------------------------------------------------------------------------------------

    def check_alone(self, block: BlockDef) -> Instance:
        """Check a block with its own axes standing for themselves; the graph is that of the block as a model."""
        if block in self.alone:
            return self.alone[block]
        saved = self.decisions, self.undecided
        self.decisions, self.undecided = [], False
        frame = self._frame(block, (), judge=block not in self.called)
        families: dict[int, int] = {}
        axes, consts = self.closure(block)
        for generic in block.decl.generics:
            self._generic(frame, generic)
        for axis in axes:
            family = families.setdefault(axis.family, self.session.fresh())
            self._param(frame, axis, axis, family, implicit=True)
        for const in consts:
            self._const_param(frame, const.name, const.value, const)
        self._reformulate(frame, axes)
        self._all_names(frame)
        builder = Builder()
        wires: dict[str, Wire | None] = {}
        body = Body(self, frame, builder, wires)
        for formal in block.decl.formals:
            wires.update(self._formal(body, formal, wires))
        self.stack.append(block)
        results = self._elaborate(body)
        self.stack.pop()
        graph = self._graph(frame, builder, results, body) if results else None
        instance = Instance(frame, graph, results or [], frame.problems, self.decisions, self.undecided)
        self.alone[block] = instance
        self.decisions, self.undecided = saved
        return instance

    def _frame(self, block: BlockDef, lifted: tuple[Axis, ...], judge: bool) -> Frame:
        return Frame(block, block.module, {}, {}, {}, {}, lifted, judge, results=block.decl.results)

    def _all_names(self, frame: Frame) -> None:
        """File-level names that the block does not mention by any path cannot be wanted, but may be misspelt: keep them known."""
        for name, axis in frame.module.axes.items():
            if axis.id in frame.of_file:
                frame.names.setdefault(name, frame.of_file[axis.id])
        for name, const in frame.module.consts.items():
            if const.id in frame.const_of_file:
                frame.consts.setdefault(name, ConstOf(frame.const_of_file[const.id]))

    def _generic(self, frame: Frame, generic: s.Generic) -> None:
        """An explicit parameter of a block that is checked on its own."""
        name = generic.name.text
        if name in frame.names or name in frame.consts:
            frame.report("E0204", f"parameter `{name}` is declared twice", generic.name.span, help="rename one of the two")
            return
        lookup = lambda ident: self._lookup(frame, ident)  # noqa: E731
        if generic.kind == "const":
            value = None
            if generic.default is not None:
                static = size_static(generic.default, lookup, frame, exact=False)
                value = None if static is None else _quiet(static)
            const = self.session.const(name, value)
            frame.consts[name] = ConstOf(const)
            frame.const_params.append(const)
            return
        family: int | None = None
        extent: int | None = None
        kind = Kind(generic.kind)
        original: Axis | None = None
        if generic.like is not None:
            original = frame.names.get(generic.like.text)
            if original is None and generic.like.text in frame.module.axes:
                frame.report(
                    "E0403", f"`{name}` is to be like `{generic.like.text}`, which is no earlier parameter of this block",
                    generic.like.span, help=f"make `{generic.like.text}` a parameter too, before `{name}`",
                )  # fmt: skip
            elif original is None:
                near = nearest(generic.like.text, frame.names)
                frame.report("E0201", f"no axis is named `{generic.like.text}`", generic.like.span,
                             help=f"did you mean `{near}`?" if near else "")  # fmt: skip
            elif original.kind is not kind:
                frame.report("E0213", f"`{name}` is a {kind.value} but `{original.name}` is a {original.kind.value}", generic.span,
                             help="a copy has the kind of its original")  # fmt: skip
            else:
                family, extent = original.family, original.extent
        setting = self.generic_sizes.get(name) if frame.judge else None
        if isinstance(setting, int) and extent is None:
            extent = setting
        elif generic.default is not None:
            static = size_static(generic.default, lookup, frame)
            value = None if static is None else _quiet(static)
            extent = value if isinstance(value, int) else None
        axis = self.session.axis(name, kind, extent=extent, family=family, span=generic.name.span)
        frame.names[name] = axis
        frame.params.append(axis)

    generic_sizes: dict[str, Any] = field(default_factory=dict)

    def _lookup(self, frame: Frame, ident: s.Ident) -> Static | None:
        """A name in the default of a parameter: an earlier parameter, or one of the file."""
        if ident.text in frame.names:
            return SizeOf(frame.names[ident.text])
        if ident.text in frame.consts:
            return frame.consts[ident.text]
        if ident.text in frame.module.axes:
            return SizeOf(frame.module.axes[ident.text])
        if ident.text in frame.module.consts:
            return ConstOf(frame.module.consts[ident.text])
        known = [*frame.names, *frame.consts, *frame.module.axes, *frame.module.consts]
        frame.report("E0201", f"no axis or const is named `{ident.text}`", ident.span, help=did_you_mean(ident.text, known))
        return None

    def _param(self, frame: Frame, like: Axis, extents: Axis, family: int, implicit: bool) -> Axis:
        """A parameter of an instance, with the size of what it stands for."""
        bound = extents.bound if extents.is_width else None
        axis = self.session.axis(
            like.name, like.kind, label=like.label, extent=extents.extent, bound=bound, family=family, span=like.span
        )
        frame.params.append(axis)
        if implicit:
            frame.of_file[like.id] = axis
        else:
            frame.names[like.name] = axis
        return axis

    def _const_param(self, frame: Frame, name: str, value: Any, of_file: Const | None) -> Const:
        const = self.session.const(name, value)
        frame.const_params.append(const)
        if of_file is None:
            frame.consts[name] = ConstOf(const)
        else:
            frame.const_of_file[of_file.id] = const
        return const

    def _reformulate(self, frame: Frame, axes: list[Axis], rebound: frozenset[int] = frozenset()) -> None:
        """Derived widths of the file keep their formula, over the axes of the instance."""
        for axis in axes:
            if axis.size is None or axis.id in rebound or axis.extent is not None:
                continue
            consts: dict[int, Static] = {id: ConstOf(const) for id, const in frame.const_of_file.items()}
            mine = frame.of_file[axis.id]
            size = substitute(axis.size, frame.of_file, consts)
            derived = replace(mine, size=size, bound=axis.bound)
            frame.of_file[axis.id] = derived
            frame.params[frame.params.index(mine)] = derived

    def _formal(self, body: Body, formal: s.Formal, so_far: dict[str, Wire | None]) -> dict[str, Wire | None]:
        """An input of a block on its own."""
        frame, name = body.frame, formal.name.text
        if name in so_far:
            frame.report("E0204", f"argument `{name}` is declared twice", formal.name.span, help="rename one of the two")
            return {}
        if frame.axis(name) is not None or frame.const(name) is not None:
            what = "an axis" if frame.axis(name) is not None else "a const"
            frame.report("E0205", f"`{name}` is the name of {what}, so no variable may bear it", formal.name.span,
                         help=f"call the argument something else, such as `{name}_`")  # fmt: skip
            return {name: None}
        type = body.type(formal.type)
        if type is None:
            return {name: None}
        wire = body.builder.input(name, type, Role.DATA, formal.name.span)
        if formal.default is not None:
            default = body.expr(formal.default)
            if default is not None and default.static is None:
                frame.report("E0320", f"the default of `{name}` is {show(default)}, but a default is a number or truth value", formal.default.span)
            elif default is not None and default.static is not None:
                if not _fits(default.element, type.element):
                    frame.report("E0304", f"`{name}` is {show_type(type)}, but its default is {show(default)}", formal.default.span)
                body.builder.inputs[-1] = replace(body.builder.inputs[-1], default=default.static)
        if type.element in (Scalar.REAL, Scalar.INT):
            pass
        return {name: replace(wire, loose=body.frame.block in self.called, span=formal.name.span.to(formal.type.span))}

    def _elaborate(self, body: Body) -> list[Wire | None] | None:
        """Run the statements; check what is returned against what is promised."""
        frame, decl = body.frame, body.frame.block.decl
        body.run(decl.body)
        self._unused(body)
        if not body.returned:
            if not any(d.severity is Severity.ERROR for d, _ in frame.problems) or decl.results:
                frame.report("E0408", f"`{decl.name.text}` returns nothing", decl.head, help="end its body with `return ...`")
            return None
        statement, wires = body.returned[0]
        for again, _ in body.returned[1:]:
            frame.report("E0408", "a second `return`", again.span, related=[(statement.span, "the first")], help="return once, at the end")
        results = decl.results
        if not results:
            if frame.block.is_model:
                frame.report("E0408", f"model `{decl.name.text}` does not say what it gives", decl.head,
                             help="write `-> [target, vocab]`: this is the order in memory too")  # fmt: skip
            return wires
        if len(wires) != len(results):
            frame.report(
                "E0408",
                f"`{decl.name.text}` promises {len(results)} result{'s' if len(results) > 1 else ''} but returns {len(wires)}",
                statement.span,
                related=[(results[0].span.to(results[-1].span), "promised here")],
                help="return the results in the order in which they are declared",
            )
            return None
        checked: list[Wire | None] = []
        for position, (wire, result) in enumerate(zip(wires, results, strict=True)):
            wanted = body.type(result.type)
            if wire is None or wanted is None:
                checked.append(None)
                continue
            place = statement.values[position].span if len(statement.values) == len(results) else statement.span
            what = f"`{result.name.text}`" if result.name else f"the result of `{decl.name.text}`"
            good = body.expected(wire, wanted, place, result.type.span, what, "E0313")
            checked.append(wire if good else None)
            local = [axis for axis in wanted.axes if axis in frame.own_axes]
            if local:
                frame.report("E0313", f"the result carries `{local[0].name}`, an axis of the block's own that no caller can name",
                             result.type.span, help=f"make `{local[0].name}` a parameter of the block, or an axis of the file")  # fmt: skip
        return checked

    def _unused(self, body: Body) -> None:
        for name, span in body.assigned.items():
            if name not in body.used and not name.startswith("_") and body.env.get(name) is not None:
                body.report("W0502", f"`{name}` is never used", span, help="delete it, or call it `_`", warning=True)

    def _graph(self, frame: Frame, builder: Builder, results: list[Wire | None], body: Body) -> Graph | None:
        if any(wire is None for wire in results):
            return None
        outputs = []
        declared = frame.block.decl.results
        for position, wire in enumerate(results):
            assert wire is not None
            result = declared[position] if declared else None
            kept = frame.mute()
            wanted = body.type(result.type) if result else None
            frame.unmute(kept)
            axes = wanted.axes if wanted else tuple(axis for axis in wire.type.axes if axis not in frame.lifted)
            value = builder.take(wire)
            outputs.append(Output(result.name.text if result and result.name else None, value, axes))
        kind = "model" if frame.block.is_model else "block"
        return Graph(
            frame.block.name, kind, (*frame.params, *frame.own_axes), len(frame.params), tuple(frame.const_params), frame.lifted,
            tuple(builder.inputs), tuple(builder.nodes), tuple(outputs), frame.block.decl.doc, frame.block.decl.head,
        )  # fmt: skip

    # -- a call --------------------------------------------------------------------------------------------------

    def call_block(self, body: Body, block: BlockDef, call: s.Call, shared: str | None = None) -> list[Wire | None] | None:
        """A block called: its results in the caller's axes; None after a report."""
        return _BlockCall(self, body, block, call, shared).run()


@dataclass
class _BlockCall:
    """One call, step by step."""

    checker: Checker
    body: Body
    block: BlockDef
    call: s.Call
    shared: str | None

    def run(self) -> list[Wire | None] | None:
        checker, body, block, call = self.checker, self.body, self.block, self.call
        if block in checker.stack:
            self._arguments_only()
            chain = [b.name for b in checker.stack[checker.stack.index(block) :]] + [block.name]
            body.report(
                "E0407", f"`{block.name}` would call itself: {' -> '.join(chain)}", call.span,
                help="a block may not call itself; write the repetition as `repeat`",
            )  # fmt: skip
            return None
        name = self._name()
        alone = checker.check_alone(block)
        bound = self._bind_parameters()
        arguments = self._bind_arguments()
        if bound is None or arguments is None or name is None:
            return None
        broken = alone.graph is None or any(d.severity is Severity.ERROR for d, _ in alone.problems)
        frame = self._instance_frame(bound)
        inputs = self._inputs(frame, arguments)
        if inputs is None:
            return self._promised(frame)
        if broken:
            return self._promised(frame)
        instance = self._instance(frame, inputs)
        checker.decisions.extend(instance.decisions)
        checker.undecided = checker.undecided or instance.undecided
        self._relay(instance)
        if instance.graph is None:
            return self._promised(frame)
        if not self._apart(instance, frame):
            return None
        return self._emit(instance, frame, arguments, name)

    # Names and parameters.

    def _name(self) -> str | None:
        """The path that the call adds to the names of weights (D11)."""
        if self.shared is not None:
            if self.call.label is not None:
                self.body.report("E0319", "a shared block has one name: no label here", self.call.label.span)
                return None
            return self.shared
        if self.block.is_model:
            if self.call.label is not None:
                self.body.report("E0319", "a model adds no path: no label here", self.call.label.span)
                return None
            return ""
        ident = self.call.label or self.call.callee
        if is_reserved(ident.text):
            return ident.text if self.body._owned_name(ident.text, ident.span) else None
        return ident.text

    def _arguments_only(self) -> None:
        self.body._evaluate_arguments(self.call)

    def _bind_parameters(self) -> dict[str, Axis | Static] | None:
        """What stands in brackets, by the parameter's name: an axis of the caller, or a number."""
        body, block, call = self.body, self.block, self.call
        generics = {generic.name.text: generic for generic in block.decl.generics}
        axes, consts = self.checker.closure(block)
        implicit = {axis.name: axis for axis in axes} | {const.name: const for const in consts}  # type: ignore[dict-item]
        order = list(generics)
        bound: dict[str, Axis | Static] = {}
        good = True
        brackets = call.brackets
        items = brackets.items if brackets else ()
        if brackets and (brackets.result is not None or brackets.each):
            body.report("E0318", f"`{block.name}` is a block: its brackets name axes, without an arrow", brackets.span, help=self._usage())
            return None
        position = 0
        for item in items:
            if item.rename is not None:
                body.report("E0318", "brackets of a call name axes, they do not rename", item.span, help=self._usage())
                return None
            if item.value is not None:
                name, value = item.name.text, item.value
                if name not in generics and name not in implicit:
                    near = nearest(name, [*generics, *implicit])
                    body.report("E0401", f"`{block.name}` has no parameter `{name}`", item.name.span,
                                help=f"did you mean `{near}`?" if near else self._usage(),
                                fix=[(item.name.span, near)] if near else [])  # fmt: skip
                    good = False
                    continue
            else:
                if position >= len(order):
                    body.report("E0401", f"`{block.name}` takes {len(order)} parameter{'s' if len(order) != 1 else ''} in brackets, but this is number {position + 1}",
                                item.span, related=[(block.decl.head, "declared here")], help=self._usage())  # fmt: skip
                    return None
                name, value = order[position], s.Name(item.name.text, item.name.span)
                position += 1
            if name in bound:
                body.report("E0401", f"parameter `{name}` is given twice", item.span, help=self._usage())
                good = False
                continue
            kind = generics[name].kind if name in generics else self._kind(implicit[name])
            found = self._parameter(name, kind, value)
            if found is None:
                good = False
            else:
                bound[name] = found
        missing = [n for n, g in generics.items() if n not in bound and g.default is None]
        if missing and good:
            body.report(
                "E0401", f"`{block.name}` needs {listed(missing)} in brackets", call.brackets.span if call.brackets else call.callee.span,
                related=[(block.decl.head, "declared here")], help=self._usage(),
            )  # fmt: skip
            good = False
        return bound if good else None

    def _kind(self, item: Axis | Const) -> str:
        return item.kind.value if isinstance(item, Axis) else "const"

    def _usage(self) -> str:
        """How the block is called."""
        decl = self.block.decl
        brackets = ", ".join(generic.name.text for generic in decl.generics)
        arguments = ", ".join(formal.name.text for formal in decl.formals)
        return f"write `{decl.name.text}{f'[{brackets}]' if brackets else ''}({arguments})`"

    def _parameter(self, name: str, kind: str, value: s.Expr) -> Axis | Static | None:
        body = self.body
        if kind == "const":
            if isinstance(value, s.Name) and body.frame.axis(value.text) is not None and body.frame.const(value.text) is None:
                body.report("E0402", f"`{name}` is a const, but `{value.text}` is an axis", value.span,
                            help=f"its size as a number is `|{value.text}|`: `{name} = |{value.text}|`")  # fmt: skip
                return None
            wire = body.expr(value)
            if wire is None:
                return None
            if wire.static is None:
                body.report("E0402", f"`{name}` is a const: a number known at build time, but this is {show(wire)}", value.span)
                return None
            return wire.static
        if isinstance(value, s.Name) and body.frame.axis(value.text) is not None:
            axis = body.axis(s.Ident(value.text, value.span))
            assert axis is not None
            if axis.kind.value != kind:
                body.report(
                    "E0402",
                    f"parameter `{name}` of `{self.block.name}` is a {kind}, but `{axis.name}` is a {axis.kind.value}",
                    value.span,
                    related=[(axis.span, f"`{axis.name}` is declared here"), (self.block.decl.head, f"`{name}` is a {kind} here")],
                    help=f"pass a {kind}",
                )
                return None
            return axis
        if isinstance(value, s.Name) and body.frame.const(value.text) is None:
            body.axis(s.Ident(value.text, value.span))
            return None
        if kind == "width":
            body.report("E0402", f"parameter `{name}` of `{self.block.name}` is a width: it takes an axis, not a number", value.span)
            return None
        static = size_static(value, body.lookup, body.frame)
        if static is None:
            return None
        from .modules import checked_size

        extent = checked_size(body.frame, static, value.span, name)
        return self.checker.session.axis(name, Kind.DEPTH, extent=extent, size=None if extent else static, span=value.span)

    # Arguments.

    def _bind_arguments(self) -> dict[str, tuple[Wire, Span]] | None:
        body, block, call = self.body, self.block, self.call
        formals = {formal.name.text: formal for formal in block.decl.formals}
        order = list(formals)
        found: dict[str, tuple[Wire, Span]] = {}
        given: set[str] = set()
        good = True
        position = 0
        for argument in call.arguments:
            value = argument.value
            if isinstance(value, s.Where):
                body.expr(value)
                good = False
                continue
            wire = body.expr(value)
            if argument.name is None:
                if position >= len(order):
                    body.report("E0410", f"`{block.name}` takes {len(order)} argument{'s' if len(order) != 1 else ''}, but this is number {position + 1}",
                                argument.span, related=[(block.decl.head, "declared here")], help=self._usage())  # fmt: skip
                    return None
                name = order[position]
                position += 1
            else:
                name = argument.name.text
                if name not in formals:
                    near = nearest(name, formals)
                    body.report("E0410", f"`{block.name}` has no argument `{name}`", argument.name.span,
                                related=[(block.decl.head, "declared here")],
                                help=f"did you mean `{near}`?" if near else self._usage(),
                                fix=[(argument.name.span, near)] if near else [])  # fmt: skip
                    good = False
                    continue
            if name in given:
                body.report("E0410", f"argument `{name}` is given twice", argument.span, help=self._usage())
                good = False
                continue
            given.add(name)
            if wire is None:
                good = False
            else:
                found[name] = (wire, value.span)
        missing = [name for name, formal in formals.items() if name not in given and formal.default is None]
        if missing:
            body.report("E0410", f"`{block.name}` lacks its argument{'s' if len(missing) > 1 else ''} {listed(missing)}", call.span,
                        related=[(block.decl.head, "declared here")], help=self._usage())  # fmt: skip
            good = False
        return found if good else None

    # The instance.

    def _instance_frame(self, bound: dict[str, Axis | Static]) -> Frame:
        """Fresh axes for the callee's parameters. `self.actual` says what of the caller each stands for."""
        checker, block, caller = self.checker, self.block, self.body.frame
        frame = checker._frame(block, (), judge=True)
        self.actual: list[tuple[Axis, Axis]] = []
        self.const_actual: list[tuple[Const, Static]] = []
        families: dict[int, int] = {}
        alone = checker.alone[block].frame
        rebound: set[int] = set()
        axes, consts = checker.closure(block)
        given: dict[int, Axis] = {}
        numbers: dict[int, Static] = {}
        for axis in axes:
            if axis.name in bound and axis.name not in {g.name.text for g in block.decl.generics}:
                value = bound[axis.name]
                assert isinstance(value, Axis)
                given[axis.id] = value
                rebound.add(axis.id)
        for const in consts:
            if const.name in bound and const.name not in {g.name.text for g in block.decl.generics}:
                numbers[const.id] = bound[const.name]  # type: ignore[assignment]
                rebound.add(const.id)
        for axis in axes:
            if axis.id not in given:
                given[axis.id] = self._inherited(axis, rebound, given, numbers)
        for const in consts:
            if const.id not in numbers:
                mine = caller.const_of_file.get(const.id)
                formula = checker.session.const_formulas.get(const.id)
                if formula is not None and checker._hangs_on(const.id, rebound):
                    numbers[const.id] = substitute(formula, given, numbers)
                else:
                    numbers[const.id] = ConstOf(mine) if mine is not None else Literal(const.value or 0)

        def family(axis: Axis) -> int:
            return families.setdefault(axis.family, checker.session.fresh())

        explicit: dict[str, Axis] = {}
        for generic in block.decl.generics:
            name = generic.name.text
            lookup = lambda ident: self._default_name(frame, ident, given, numbers)  # noqa: E731
            if generic.kind == "const":
                static = bound.get(name)
                if static is None:
                    assert generic.default is not None
                    static = size_static(generic.default, lookup, self.body.frame, exact=False) or Literal(0)
                assert not isinstance(static, Axis)
                const = checker._const_param(frame, name, _quiet(static), None)
                self.const_actual.append((const, static))
                continue
            actual = bound.get(name)
            if actual is None:
                assert generic.default is not None
                static = size_static(generic.default, lookup, self.body.frame) or Literal(1)
                actual = self._default_axis(generic, static, frame, given)
            assert isinstance(actual, Axis)
            template = next(axis for axis in alone.params if axis.name == name)
            axis = checker._param(frame, template, actual, family(actual), implicit=False)
            explicit[name] = axis
            self.actual.append((axis, actual))
            if generic.like is not None and generic.like.text in explicit and explicit[generic.like.text].family != axis.family:
                original = next(a for f, a in self.actual if f is explicit[generic.like.text])
                self.body.report(
                    "E0403",
                    f"`{block.name}` wants `{name}` to be a copy of `{generic.like.text}`, but `{actual.name}` is no copy of `{original.name}`",
                    self.call.brackets.span if self.call.brackets else self.call.span,
                    related=[(generic.span, "required here"), (actual.span, f"`{actual.name}` is declared here")],
                    help=f"declare `{actual.kind.value} {actual.name} like {original.name}`",
                )
        for axis in axes:
            actual = given[axis.id]
            mine = checker._param(frame, axis, actual, family(actual), implicit=True)
            self.actual.append((mine, actual))
        for const in consts:
            formal = checker._const_param(frame, const.name, _quiet(numbers[const.id]), const)
            self.const_actual.append((formal, numbers[const.id]))
        checker._reformulate(frame, axes, frozenset(rebound))
        self.actual = [(_current(frame, f), a) for f, a in self.actual]
        checker._all_names(frame)
        return frame

    def _inherited(self, axis: Axis, rebound: set[int], given: dict[int, Axis], numbers: dict[int, Static]) -> Axis:
        """What an implicit parameter stands for that the call does not name: derived anew, or the caller's, or itself."""
        checker, caller = self.checker, self.body.frame
        formula = checker.session.formulas.get(axis.id)
        if formula is not None and checker._hangs_on(axis.id, rebound):
            for part in _axes_of(formula):
                if part.id not in given:
                    given[part.id] = self._inherited(part, rebound, given, numbers)
            if isinstance(formula, SizeOf) and formula.axis.family == axis.family:
                original = given[formula.axis.id]
                if original.family == formula.axis.family:
                    return caller.of_file.get(axis.id, axis)
                return checker.session.axis(axis.name, axis.kind, label=axis.label, extent=original.extent, family=original.family, span=axis.span)
            size = substitute(formula, given, numbers)
            from .modules import checked_size

            extent = checked_size(self.body.frame, size, self.call.span, axis.name)
            return checker.session.axis(axis.name, axis.kind, label=axis.label, extent=extent, size=None if extent else size, span=axis.span)
        return caller.of_file.get(axis.id, axis)

    def _default_name(self, frame: Frame, ident: s.Ident, given: dict[int, Axis], numbers: dict[int, Static]) -> Static | None:
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
        return Literal(1)

    def _default_axis(self, generic: s.Generic, static: Static, frame: Frame, given: dict[int, Axis]) -> Axis:
        """A default that names an axis is that axis; a number makes an axis of its own."""
        if isinstance(static, SizeOf):
            return static.axis
        value = _quiet(static)
        extent = value if isinstance(value, int) and not isinstance(value, bool) else None
        return self.checker.session.axis(generic.name.text, Kind(generic.kind), extent=extent, size=None if extent else static, span=generic.span)

    def _inputs(self, frame: Frame, arguments: dict[str, tuple[Wire, Span]]) -> list[tuple[s.Formal, Wire | None]] | None:
        """The arguments as the callee sees them: in its own axes, those of a formal that they lack thin, the rest lifted."""
        body, block = self.body, self.block
        probe = Body(self.checker, frame, Builder(), {})
        inputs: list[tuple[s.Formal, Wire | None]] = []
        lifted: dict[Axis, None] = {}
        good = True
        mentioned = {actual: formal for formal, actual in reversed(self.actual)}
        for formal in block.decl.formals:
            name = formal.name.text
            if name not in arguments:
                inputs.append((formal, None))
                continue
            wire, span = arguments[name]
            wanted = probe.type(formal.type)
            if wanted is None:
                return None
            to_actual = dict((f.id, a) for f, a in self.actual)
            actuals = {to_actual[axis.id]: axis for axis in wanted.axes}
            if len(actuals) < len(wanted.axes):
                self._one_axis_twice(wanted.axes, to_actual, formal)
                return None
            extra = [axis for axis in wire.axes if axis not in actuals]
            missing = [axis for axis in actuals if not wire.has(axis)]
            wrong = [axis for axis in extra if axis in mentioned]
            if not self._element(wire, wanted, formal, span, to_actual):
                good = False
                continue
            carries = wire.role is Role.DATA and wire.is_number
            lacking = [axis for axis in missing if carries and axis.is_width]
            twins = [a for a in extra if any(a.name == m.name or a.family == m.family for m in missing)]
            if lacking or (wrong and missing) or (missing and twins and carries) or (missing and extra and not wrong and carries):
                self._lacks_axis(wire, span, formal, missing, extra, wanted, to_actual)
                good = False
                continue
            if wrong:
                self._lifts_mentioned(wire, span, formal, wrong[0], mentioned[wrong[0]])
                good = False
                continue
            lifted.update(dict.fromkeys(extra))
            axes = (*extra, *wanted.axes)
            thin = frozenset(actuals[axis] for axis in missing)
            mark = frozenset(actuals.get(axis, axis) for axis in wire.mark)
            element = wanted.element
            inner = Wire(Type(element, axes, thin), wire.role, formal.name.span, mark=mark, loose=wire.loose)
            inputs.append((formal, inner))
        if not good:
            return None
        frame.lifted = tuple(lifted)
        # Lifted axes come first, in one order for all arguments: the memory order of the callee.
        for position, (formal, inner) in enumerate(inputs):
            if inner is not None:
                own = [axis for axis in inner.type.axes if axis not in lifted]
                first = [axis for axis in lifted if axis in inner.type.axes]
                inputs[position] = (formal, replace(inner, type=replace(inner.type, axes=(*first, *own))))
        return inputs

    def _element(self, wire: Wire, wanted: Type, formal: s.Formal, span: Span, to_actual: dict[int, Axis]) -> bool:
        have, want = wire.element, wanted.element
        if isinstance(want, IndexInto):
            target = to_actual[want.axis.id]
            if isinstance(have, IndexInto) and have.axis.family == target.family:
                return True
            if isinstance(have, IndexInto):
                OpLike(self.body).wrong_table(have.axis, target, wire, span, formal.name.text)
                return False
            shown = f"indices into `{target.name}`"
        elif _fits(have, want):
            return True
        else:
            shown = show_type(replace(wanted, axes=()))[:-2] or "real"
            shown = f"{shown} elements"
        self.body.report(
            "E0304",
            f"`{formal.name.text}` of `{self.block.name}` takes {shown}, but this is {show(wire)}",
            span,
            related=[(formal.span, "declared here")],
            help="`int(i)` makes a number of an index; `x > 0` makes a truth value of a number" if want is not Scalar.REAL or isinstance(have, IndexInto)
            else "write `select(m, 1, 0)` for 1 and 0",
        )  # fmt: skip
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
        self.body.report(
            "E0404",
            f"`{a.name}` and `{b.name}` of `{self.block.name}` are both bound to `{actual.name}`, but {carrier} carries both",
            self.call.brackets.span if self.call.brackets else self.call.span,
            related=[(place, "carries both"), (actual.span, f"`{actual.name}` is declared here")],
            help=f"declare a copy, `{actual.kind.value} other like {actual.name}`, and rename: `x[{actual.name} as other]`",
        )

    def _lacks_axis(
        self, wire: Wire, span: Span, formal: s.Formal, missing: list[Axis], extra: list[Axis], wanted: Type, to_actual: dict[int, Axis]
    ) -> None:
        """An argument without an axis that its formal has."""
        name = formal.name.text
        shown = show_axes(tuple(to_actual[axis.id] for axis in wanted.axes))
        help, fix = "", []
        for axis in missing:
            for other in extra:
                if other.family == axis.family:
                    help = f"`{other.name}` and `{axis.name}` are copies of one axis: write `{span.text}[{other.name} as {axis.name}]`"
                    fix = [(Span(span.source, span.end, span.end), f"[{other.name} as {axis.name}]")]
                elif other.name == axis.name and not help:
                    help = (
                        f"two axes named `{axis.name}` meet: one of this file and one of {self.block.module.source.name}; "
                        f"name it in the `use`: `use ...: {self.block.name}, {axis.name}`"
                    )
        code = "E0212" if help.startswith("two axes") else "E0405"
        if not help:
            widths = [axis for axis in missing if axis.is_width]
            if extra:
                help = f"is this the right value? it has {listed(a.name for a in extra)} instead of {listed(a.name for a in missing)}"
            elif widths:
                help = f"if the same value for every `{widths[0].name}` is meant, write `broadcast[{widths[0].name}]({span.text})`"
                fix = [(span, f"broadcast[{widths[0].name}]({span.text})")]
        label = f"this is {show(wire)}"
        related = [(formal.span, f"`{name}` is declared here")]
        if wire.span.source is span.source and (wire.span.start, wire.span.end) != (span.start, span.end):
            related.append((wire.span, "it comes from here"))
        related.extend((axis.span, f"`{axis.name}` is declared here") for axis in missing[:1] if code == "E0212")  # type: ignore[misc]
        self.body.report(
            code,
            f"`{name}` of `{self.block.name}` should be {shown}, but this is {show(wire)}: no {listed((a.name for a in missing), 'or')}",
            span,
            label,
            related=related,
            help=help,
            fix=fix,
        )

    def _lifts_mentioned(self, wire: Wire, span: Span, formal: s.Formal, axis: Axis, parameter: Axis) -> None:
        self.body.report(
            "E0406",
            f"`{formal.name.text}` of `{self.block.name}` carries `{axis.name}` too many: the block uses that axis itself"
            + (f" (as `{parameter.name}`)" if parameter.name != axis.name else ""),
            span,
            f"this is {show(wire)}",
            related=[(formal.span, f"`{formal.name.text}` is declared here")],
            help=f"a call may not lift over an axis that the block mentions: rename it to a copy, `x[{axis.name} as other]`, "
            "or pass what the argument asks for",
        )

    def _instance(self, frame: Frame, inputs: list[tuple[s.Formal, Wire | None]]) -> Instance:
        checker = self.checker
        key = self._key(frame, inputs)
        if key in checker.instances:
            instance = checker.instances[key]
            self._onto(instance.frame)
            return instance
        saved = checker.decisions, checker.undecided
        checker.decisions, checker.undecided = [], False
        builder = Builder()
        wires: dict[str, Wire | None] = {}
        body = Body(checker, frame, builder, wires)
        for formal, wire in inputs:
            name = formal.name.text
            if wire is None:
                assert formal.default is not None
                default = body.expr(formal.default)
                wires[name] = default
            else:
                made = builder.input(name, wire.type, wire.role, formal.name.span.to(formal.type.span))
                wires[name] = replace(made, mark=wire.mark, loose=wire.loose)
        checker.stack.append(self.block)
        results = checker._elaborate(body)
        checker.stack.pop()
        graph = checker._graph(frame, builder, results, body) if results else None
        instance = Instance(frame, graph, results or [], frame.problems, checker.decisions, checker.undecided)
        checker.decisions, checker.undecided = saved
        checker.instances[key] = instance
        return instance

    def _onto(self, frame: Frame) -> None:
        """The parameters of a kept instance, in place of the fresh ones."""
        self.actual = [(mine, actual) for mine, (_, actual) in zip(frame.params, self.actual, strict=True)]
        self.const_actual = [(mine, static) for mine, (_, static) in zip(frame.const_params, self.const_actual, strict=True)]

    def _key(self, frame: Frame, inputs: list[tuple[s.Formal, Wire | None]]) -> object:
        """Calls of equal keys have one body: same sizes, same copies among the parameters, arguments of the same kind."""
        place = {axis.id: index for index, axis in enumerate(frame.params)}
        families: dict[int, int] = {}
        axes = tuple(
            (axis.extent, axis.bound, axis.size is not None, families.setdefault(axis.family, len(families))) for axis in frame.params
        )
        lifted = tuple((axis.id) for axis in frame.lifted)

        def at(axis: Axis) -> tuple[str, int]:
            return ("p", place[axis.id]) if axis.id in place else ("l", axis.id)

        arguments: list[object] = []
        for _, wire in inputs:
            if wire is None:
                arguments.append(None)
                continue
            element = at(wire.element.axis) if isinstance(wire.element, IndexInto) else wire.element.value
            arguments.append((
                element, tuple(at(axis) for axis in wire.type.axes), tuple(sorted(at(axis) for axis in wire.type.thin)),
                wire.role, tuple(sorted(at(axis) for axis in wire.mark)), wire.loose,
            ))  # fmt: skip
        consts = tuple((const.value, type(const.value).__name__) for const in frame.const_params)
        return (id(self.block), axes, consts, lifted, tuple(arguments))

    # What comes of it.

    def _relay(self, instance: Instance) -> None:
        """Mistakes of this instance that the block does not make on its own: shown at the call."""
        known = {(d.code, _place(d.span)) for d, _ in self.checker.alone[self.block].problems}
        known |= {(d.code, _place(d.span)) for d in self.checker.session.diagnostics}
        for problem, deep in instance.problems:
            if (problem.code, _place(problem.span)) in known or problem.severity is Severity.WARNING:
                continue
            if deep:
                related = (*problem.related, Label(self.call.span, "called from here"))
                self.body.frame.problems.append((replace(problem, related=related), True))
                continue
            related = (Label(problem.span, f"required here, in `{self.block.name}`"),) if problem.span else ()
            self.body.frame.problems.append((replace(problem, span=self.call.span, label="", related=(*related, *problem.related), fix=None), False))

    def _promised(self, frame: Frame) -> list[Wire | None]:
        """Something is wrong inside: go on with what the block promises, so that the rest is checked."""
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
            out.append(Wire(mapped, Role.DATA, self.call.span, builder.value(mapped, Role.DATA, self.call.span), loose=True, home=builder))
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

    def _emit(self, instance: Instance, frame: Frame, arguments: dict[str, tuple[Wire, Span]], name: str) -> list[Wire | None]:
        body, builder, graph = self.body, self.body.builder, instance.graph
        assert graph is not None
        args = []
        for formal in self.block.decl.formals:
            if formal.name.text in arguments:
                args.append(builder.take(arguments[formal.name.text][0]))
        to_actual = {formal.id: actual for formal, actual in self.actual}
        outs: list[Wire | None] = []
        values: list[Value] = []
        for wire, output in zip(instance.results, graph.outputs, strict=True):
            assert wire is not None
            lifted = tuple(axis for axis in wire.type.axes if axis in graph.lifted)
            ordered = replace(wire.type, axes=(*lifted, *output.axes))
            type = self._outward(ordered)
            if type is None:
                body.report("E0404", f"the result of `{self.block.name}` would have one axis twice", self.call.span, help=self._usage())
                return [None] * len(graph.outputs)
            value = builder.value(type, wire.role, self.call.span)
            values.append(value)
            mark = frozenset(to_actual.get(axis.id, axis) for axis in wire.mark)
            outs.append(Wire(type, wire.role, self.call.span, value, mark, loose=wire.loose, home=builder))
        builder.nodes.append(
            Call(graph, name, tuple(args), tuple(values), tuple(self.actual), tuple(self.const_actual), self.call.span)
        )
        if name and self.shared is None and owns_weights(graph):
            builder.own(name, self.call.label.span if self.call.label else self.call.callee.span, body)
        return outs


class OpLike:
    """The message about a wrong table, outside an op."""

    def __init__(self, body: Body) -> None:
        self.body = body

    def wrong_table(self, have: Axis, want: Axis, wire: Wire, span: Span, name: str) -> None:
        self.body.report(
            "E0312",
            f"`{name}` takes indices into `{want.name}`, but these are indices into `{have.name}`",
            span,
            f"this is {show(wire)}",
            related=[(want.span, f"`{want.name}` is declared here"), (have.span, f"`{have.name}` is declared here")],
            help="pass the indices that belong to this table",
        )


def owns_weights(graph: Graph) -> bool:
    """Whether a graph owns weights, itself or in what it calls."""
    from .graph import Apply, Parameter, Repeat

    for node in graph.nodes:
        match node:
            case Parameter():
                return True
            case Apply(weights=weights) if weights:
                return True
            case Call(graph=inner) if owns_weights(inner):
                return True
            case Repeat(bodies=bodies) if any(owns_weights(inner) for inner in bodies):
                return True
            case _:
                pass
    return False


def _carries_two(graph: Graph, formals: list[Axis]) -> tuple[Value, Axis, Axis] | None:
    """A value of the graph, or of what it calls, that carries two of these axes."""
    from .graph import Repeat

    for value in _values(graph):
        held = [axis for axis in formals if axis in value.type.axes]
        if len(held) > 1:
            return value, held[0], held[1]
    for node in graph.nodes:
        if isinstance(node, Call):
            inner = [formal for formal, actual in node.axes if actual in formals]
            inner += [axis for axis in formals if axis in node.graph.lifted]
            found = _carries_two(node.graph, inner) if len(inner) > 1 else None
            if found is not None:
                back = dict((f.id, a) for f, a in node.axes)
                a, b = back.get(found[1].id, found[1]), back.get(found[2].id, found[2])
                if a != b:
                    return found[0], a, b
        elif isinstance(node, Repeat):
            for one in node.bodies:
                found = _carries_two(one, formals)
                if found is not None:
                    return found
    return None


def _values(graph: Graph) -> Iterable[Value]:
    for entry in graph.inputs:
        yield entry.value
    for node in graph.nodes:
        made: Any = node
        yield from made.outs if hasattr(made, "outs") else (made.out,)


def _current(frame: Frame, axis: Axis) -> Axis:
    """The axis as the frame has it now: a derived width got its formula after it was made."""
    return next((param for param in frame.params if param.id == axis.id), axis)


def _fits(have: object, want: object) -> bool:
    """Whether elements of one kind may stand for another: an int for a real."""
    if isinstance(have, IndexInto) or isinstance(want, IndexInto):
        return isinstance(have, IndexInto) and isinstance(want, IndexInto)
    return have == want or (have is Scalar.INT and want is Scalar.REAL)


def _quiet(static: Static) -> Any:
    try:
        return evaluate(static)
    except (ArithmeticError, ValueError, TypeError):
        return None


def _place(span: Span | None) -> object:
    return None if span is None else (id(span.source), span.start, span.end)


def _axes_of(static: Static) -> list[Axis]:
    match static:
        case SizeOf(axis):
            return [axis]
        case Arith(_, args):
            return [axis for arg in args for axis in _axes_of(arg)]
        case _:
            return []


def _consts_of(static: Static) -> list[Const]:
    match static:
        case ConstOf(const):
            return [const]
        case Arith(_, args):
            return [const for arg in args for const in _consts_of(arg)]
        case _:
            return []


# -- what a declaration mentions, by its text --------------------------------------------------------------------


def _walk(node: object, stop: tuple[type, ...] = ()) -> Iterable[object]:
    """Every syntax node below, without recursion: bodies may be long."""
    todo = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, tuple):
            todo.extend(reversed(item))
        elif hasattr(item, "__dataclass_fields__") and not isinstance(item, Span):
            yield item
            todo.extend(getattr(item, name) for name in reversed(list(item.__dataclass_fields__)) if name not in ("span", "op_span", "head"))


def _mentioned(decl: s.BlockDecl) -> list[str]:
    """Names that may be axes or consts: in types, brackets, expressions; not labels, not names of arguments."""
    names: dict[str, None] = {}
    for node in _walk((decl.generics, decl.formals, decl.results, decl.body)):
        match node:
            case s.Name(text):
                names[text] = None
            case s.SizeOf(axis):
                names[axis.text] = None
            case s.TypeExpr(element, axes):
                names.update(dict.fromkeys(axis.text for axis in axes))
                if element:
                    names[element.text] = None
            case s.Index(_, brackets):
                for item in brackets.items:
                    names[item.name.text] = None
                    if item.rename:
                        names[item.rename.text] = None
            case s.Call(brackets=brackets, scan=scan):
                if scan:
                    names[scan.text] = None
                if brackets:
                    for ident in (*brackets.each, *(brackets.result or ())):
                        names[ident.text] = None
                    for item in brackets.items:
                        if item.value is None:
                            names[item.name.text] = None
                        if item.rename:
                            names[item.rename.text] = None
            case s.AxisDecl(like=like) if like:
                names[like.text] = None
            case s.Generic(like=like) if like:
                names[like.text] = None
            case _:
                pass
    return list(names)


def _locals(body: tuple[s.Statement, ...]) -> set[str]:
    return {node.name.text for node in _walk(body) if isinstance(node, s.AxisDecl | s.ConstDecl)}


def _shares(body: tuple[s.Statement, ...]) -> list[s.Share]:
    return [node for node in _walk(body) if isinstance(node, s.Share)]


def _calls(body: tuple[s.Statement, ...]) -> list[tuple[str, list[str]]]:
    """Names that are called, each with the parameters that the call names."""
    found = []
    for node in _walk(body):
        if isinstance(node, s.Call):
            items = node.brackets.items if node.brackets else ()
            found.append((node.callee.text, [item.name.text for item in items if item.value is not None]))
        elif isinstance(node, s.Share):
            found.append((node.block.text, []))
    return found


def called_blocks(blocks: Iterable[BlockDef]) -> set[BlockDef]:
    """Those that some block calls."""
    out = set()
    for block in blocks:
        for name, _ in _calls(block.decl.body):
            if name in block.module.blocks:
                out.add(block.module.blocks[name])
    return out


__all__ = ["BlockDef", "Checker", "Frame", "Instance", "Input", "called_blocks", "did_you_mean"]
