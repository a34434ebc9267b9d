"""The statements of one class or function, the same for both backends; each backend adds its spelling and its ops.

Layout. A value in generated code is an array whose last dimensions are `Val.axes`, in that order; before them come the
*leading* dimensions: the batch, and the axes over which a block's caller lifts it. Code inside a class never names
these, and addresses its own dimensions from the right. So one class serves any batch and any lift.

A body is emitted again and again, while its class's callers and callees learn from one another what may be thin (of
size 1), what has leading dimensions, which sizes they need; `emit_all` stops when nothing changes any more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..compiler.axes import Axis
from ..compiler.graph import (
    Apply,
    Call,
    Constant,
    Graph,
    IndexInto,
    Node,
    Output,
    Parameter,
    Positions,
    Repeat,
    Role,
    Scalar,
    Scan,
    Value,
    Weight,
)
from ..compiler.static import Arith, Const, ConstOf, Literal, SizeOf, Static
from . import ranges
from .names import Namer
from .plan import InputState, OutputState, Plan, Program, operands, results
from .ranges import ANY, Interval
from .static_code import ATOM, TERM, Code, apply, number, static_code

NONE, SOME, FULL = (
    0,
    1,
    2,
)  # leading dimensions: surely none; perhaps some, perhaps of size 1; all, as long as any value's
WIDTH = 120  # of a line of generated code
INLINE = 64  # characters: a longer expression gets a line of its own


class CannotEmit(Exception):
    """A graph that this backend cannot turn into code; the message says what and in whose name."""


@dataclass(frozen=True, slots=True)
class Val:
    """A value in generated code.

    axes:   its dimensions, last ones, in memory order.
    thin:   those that may be of size 1 instead of their extent.
    kind:   "real", "bool" or "int".
    table:  a real computed from indices alone: float64, whatever the model's own type.
    number: a Python number, not an array.
    needs:  which arguments of the class it depends on.
    bounds: what is known of an integer's value.
    names:  the variables that the expression reads.
    depth:  how many operations the expression holds.
    """

    code: Code
    axes: tuple[Axis, ...] = ()
    thin: frozenset[Axis] = frozenset()
    lead: int = NONE
    kind: str = "real"
    table: bool = False
    number: bool = False
    needs: frozenset[int] = frozenset()
    bounds: Interval = ANY
    names: frozenset[str] = frozenset()
    depth: int = 0

    @property
    def text(self) -> str:
        return self.code.text

    @property
    def atom(self) -> str:
        """The text, fit to be followed by `.` or `[`."""
        return self.code.at(ATOM)

    def dim(self, axis: Axis) -> int:
        """The dimension of an axis, counted from the right: -1 is the last."""
        return self.axes.index(axis) - len(self.axes)

    def has(self, axis: Axis) -> bool:
        """Whether the axis is a dimension that surely has its full extent."""
        return axis in self.axes and axis not in self.thin


def join_leads(leads: Iterable[int]) -> int:
    """The leading dimensions of a result of broadcasting."""
    found = set(leads)
    return FULL if FULL in found else SOME if SOME in found else NONE


def kind_of(value: Value) -> str:
    """How the elements are stored."""
    element = value.type.element
    if isinstance(element, IndexInto) or element is Scalar.INT:
        return "int"
    return "bool" if element is Scalar.BOOL else "real"


def is_table(value: Value) -> bool:
    """A real that hangs on indices and sizes only: kept in float64 until it meets weights or data."""
    return value.type.element is Scalar.REAL and value.role <= Role.TABLE


@dataclass(slots=True)
class Scope:
    """What the arguments, sizes and consts of one class are called."""

    inputs: list[str]
    axes: dict[Axis, str]
    consts: dict[Const, str]
    bounds: dict[Axis, str]  # the largest extent of a bounded width: `max_seq`
    namer: Namer


def scope_of(plan: Plan) -> Scope:
    """Names in the order of claim: arguments, axes, consts."""
    namer = Namer()
    inputs = [namer.give(item.name) for item in plan.graph.inputs]
    axes = {axis: namer.give(axis.name) for axis in plan.axes}
    consts = {const: namer.give(const.name) for const in plan.consts}
    bounds = {axis: namer.give(f"max_{axis.name}") for axis in plan.axes if axis.bound is not None}
    return Scope(inputs, axes, consts, bounds, namer)


@dataclass(slots=True)
class _Reader:
    """How many reads of a value are still to come."""

    left: int = 0


class Body(ABC):
    """Emits one class or function. Subclasses: torch_code.TorchBody, numpy_code.NumpyBody."""

    def __init__(self, file: Emitter, plan: Plan) -> None:
        self.file = file
        self.program = file.program
        self.plan = plan
        self.graph = plan.graph
        self.scope = scope_of(plan)
        self.namer = self.scope.namer
        self.prologue: list[str] = []
        self.lines: list[str] = []
        self.indent = ""
        self.env: dict[int, Val] = {}
        self.inputs: list[Val] = []
        self.returned: list[Val] = []
        self.place = 0  # of the node at hand
        self.spreads: dict[
            int, tuple[Axis, ...]
        ] = {}  # place of a call -> the axes over which it lifts, outermost first
        self.recorded: dict[int, tuple[Axis, ...]] = {}  # captured value (canonical number) -> its dimensions
        self._extents: dict[Axis, Code] = {}
        self._device: str | None = None
        self._dtype: str | None = None
        self._readers: dict[int, _Reader] = {}
        self._holders: dict[str, int] = {}  # variable -> how many live values read it
        self.counters: dict[Const, str] = {}  # the number of a pass -> the variable of the loop around
        self._hints: dict[int, tuple[Axis, ...]] = {}
        self._wishes: dict[int, str] = {}
        self._families: dict[Axis, Axis] = {}
        # A width counts as at least 1: where it is 0 there are no items, and either library refuses to pick one.
        self.bounds = ranges.Bounds(self._representative, lambda axis: self.plan.least(axis) or 1)

    # -- what a backend must spell ------------------------------------------------------------------------------

    @abstractmethod
    def size_code(self, axis: Axis) -> str: ...

    @abstractmethod
    def point(self, op: str, vals: list[Val], out: Value) -> Code: ...

    @abstractmethod
    def const_code(self, const: Const) -> str: ...

    @abstractmethod
    def bound_code(self, axis: Axis) -> str: ...

    @abstractmethod
    def parameter(self, weight: Weight) -> str: ...

    @abstractmethod
    def permuted(self, x: Val, source: tuple[int, ...], target: tuple[int, ...]) -> str: ...

    @abstractmethod
    def swapped(self, x: Val, a: int, b: int) -> str: ...

    @abstractmethod
    def expanded(self, x: Val, shape: str) -> str: ...

    @abstractmethod
    def arange(self, extent: str) -> str: ...

    @abstractmethod
    def filled(self, shape: str, value: str, kind: str, dtype: str) -> str: ...

    @abstractmethod
    def cast(self, text: str, dtype: str) -> str: ...

    @abstractmethod
    def float64(self) -> str: ...

    @abstractmethod
    def apply(self, node: Apply, vals: list[Val], mask: Val | None) -> Val: ...

    @abstractmethod
    def invoke(self, node: Call | Scan, plan: Plan, args: list[str], keywords: list[str]) -> str: ...

    @abstractmethod
    def loop(
        self, node: Repeat, plans: list[Plan], targets: list[str], args: list[str], keywords: list[list[str]]
    ) -> list[str]: ...

    @abstractmethod
    def counts(self, node: Repeat) -> bool:
        """Whether the number of the pass is a variable of the running code, rather than fixed when it is built."""

    @abstractmethod
    def record(self, out: Value, val: Val) -> None: ...

    @abstractmethod
    def root_device(self) -> str: ...

    @abstractmethod
    def root_dtype(self) -> str: ...

    @abstractmethod
    def first_weight(self) -> str | None: ...

    @abstractmethod
    def check_index(self, code: str, extent: str, axis: Axis) -> None: ...

    # -- the whole body -----------------------------------------------------------------------------------------

    def emit(self) -> None:
        """Fills prologue, lines and returned, and what the class's state says to others."""
        graph, plan = self.graph, self.plan
        for node in graph.nodes:
            for value in operands(node):
                self._readers.setdefault(value.id, _Reader()).left += 1
        for output in graph.outputs:
            self._readers.setdefault(output.value.id, _Reader()).left += 1
        for number_, item in enumerate(graph.inputs):
            self._bind_input(number_, item.value)
        self._find_hints()
        self.begin()
        for self.place, node in enumerate(graph.nodes):
            self._node(node)
        outputs = [self._output(output, number_) for number_, output in enumerate(graph.outputs)]
        self.returned = outputs
        for place, (output, val) in enumerate(zip(graph.outputs, outputs, strict=True)):
            in_range = isinstance(output.value.type.element, IndexInto) and self.bounds.within(
                self.env[output.value.id].bounds, output.value.type.element.axis
            )
            plan.outputs[place] = OutputState(
                val.axes, val.thin, val.lead, val.text if val.number else None, val.needs, in_range
            )

    def begin(self) -> None:
        """What a model does before anything else: checks at its border."""

    def core(self, axes: Iterable[Axis]) -> tuple[Axis, ...]:
        """Axes without those over which callers lift: these are leading dimensions, never named."""
        return tuple(axis for axis in axes if axis not in self.plan.lifted)

    def _bind_input(self, place: int, value: Value) -> None:
        state = self.plan.inputs[place]
        name = self.scope.inputs[place]
        kind = kind_of(value)
        if value.role is Role.CONSTANT:
            val = Val(Code(name), kind=kind, table=is_table(value), number=True, needs=frozenset({place}))
        else:
            bounds = ANY
            element = value.type.element
            if isinstance(element, IndexInto) and state.in_range:
                bounds = self.bounds.positions(element.axis)
            axes = self.core(value.type.axes)
            lead = NONE if state.lead is None else state.lead
            thin = frozenset(state.thin)
            val = Val(Code(name), axes, thin, lead, kind, is_table(value), False, frozenset({place}), bounds)
        val = replace(val, names=frozenset({name}))
        self.inputs.append(val)
        self._keep(value, val)

    def _keep(self, value: Value, val: Val) -> None:
        self.env[value.id] = val
        for name in val.names:
            self._holders[name] = self._holders.get(name, 0) + 1

    def release(self, values: Iterable[Value]) -> None:
        """Notes one read of each value; a variable that nothing will read again gives its name back."""
        for value in values:
            reader = self._readers[value.id]
            reader.left -= 1
            if reader.left == 0:
                for name in self.env[value.id].names:
                    self._holders[name] -= 1
                    if self._holders[name] == 0:
                        self.namer.free(name)

    def note(self, out: Value, val: Val) -> None:
        """Remembers the dimensions of a recorded value."""
        self.recorded[self.program.canonical(self.graph, out.id)] = val.axes

    def reads_left(self, value: Value) -> int:
        reader = self._readers.get(value.id)
        return reader.left if reader else 0

    def _find_hints(self) -> None:
        """In which order a value's readers would like its axes: backwards from calls and outputs through pointwise ops."""
        for output in self.graph.outputs:
            self._hints.setdefault(output.value.id, self.core(output.axes))
        for node in reversed(self.graph.nodes):
            if isinstance(node, Call):
                to_caller = dict(node.axes)
                for item, arg in zip(node.graph.inputs, node.args, strict=True):
                    formal = [to_caller.get(a, a) for a in item.value.type.axes if a not in node.graph.lifted]
                    lifted = [a for a in node.graph.lifted if a not in self.plan.lifted]
                    self._hints.setdefault(arg.id, (*lifted, *formal))
                    self._wishes.setdefault(arg.id, item.name)
            elif isinstance(node, Apply) and node.op == "attention":
                if node.mask is not None:
                    self._wishes.setdefault(node.mask.id, "mask")
                q = self.core(node.out.type.axes)
                if node.mask is not None:
                    self._hints.setdefault(node.mask.id, (*(a for a in q if a not in node.made), node.axes[-1]))
            elif isinstance(node, Apply) and node.out.id in self._hints and not node.axes:
                for operand in node.operands:
                    self._hints.setdefault(operand.id, self._hints[node.out.id])

    # -- lines --------------------------------------------------------------------------------------------------

    def line(self, text: str, comment: str = "") -> None:
        self.lines += wrap(self.indent + text, comment, WIDTH - 8)

    def shown(self, axes: Sequence[Axis]) -> str:
        """Axes for a comment: `[target, heads, key]`."""
        return "[" + ", ".join(axis.name for axis in axes) + "]"

    def let(self, wish: str, val: Val) -> Val:
        """Gives an expression a line and a name."""
        name = self.namer.give(wish)
        self.line(f"{name} = {val.text}", "" if val.number else self.shown(val.axes))
        return replace(val, code=Code(name), names=frozenset({name}), depth=0)

    def named(self, val: Val, wish: str = "x") -> Val:
        """The value as a plain variable or attribute: for an expression that is written more than once."""
        return val if val.code.level == ATOM and is_path(val.text) else self.let(wish, val)

    # -- numbers ------------------------------------------------------------------------------------------------

    def static(self, static: Static) -> Code:
        """A static number in the running code: sizes as they are at run time."""
        return static_code(static, lambda axis: self.extent(axis).at(ATOM), self.const_code)

    def _representative(self, axis: Axis) -> Axis:
        """One axis for all copies of a family (D4)."""
        if axis not in self._families:
            for other in list(self._families):
                if self.plan.same_family(axis, other):
                    self._families[axis] = self._families[other]
                    break
            else:
                self._families[axis] = axis
        return self._families[axis]

    def extent(self, axis: Axis) -> Code:
        """The size of an axis in the running code: known when built, or read from an argument's shape."""
        if self.plan.static_size(axis):
            return Code(self.size_code(axis))
        found = self._find_extent(axis)
        if found is None:
            if self.plan.is_root:
                raise CannotEmit(f"no input of `{self.graph.name}` tells the extent of the width `{axis.name}`")
            self.plan.extents[axis] = None
            found = Code(self.scope.axes.get(axis) or axis.name)
        self._extents[axis] = found
        return found

    def _find_extent(self, axis: Axis) -> Code | None:
        if axis in self._extents:
            return self._extents[axis]
        if self.plan.static_size(axis):
            return Code(self.size_code(axis))
        if axis in self.plan.extents:
            return Code(self.scope.axes[axis])
        copies = [axis, *(a for a in self.plan.axes if a is not axis and self.plan.same_family(a, axis))]
        for copy in copies:
            for val in self.inputs:
                if not val.number and val.has(copy):
                    return self._read_extent(axis, f"{val.text}.shape[{val.dim(copy)}]", self.prologue)
        if axis.size is not None and self.plan.follows_formula(axis):
            parts = [self._find_extent(part) for part in _sizes(axis.size)]
            if all(part is not None for part in parts):

                def sizes(part: Axis) -> str:
                    return (self._find_extent(part) or Code("")).at(ATOM)

                code = static_code(axis.size, sizes, self.const_code, exact=True)
                where = self.prologue if self._early(axis.size) else self.lines
                for above, below in _quotients(axis.size):
                    self._check_division(axis, static_code(above, sizes, self.const_code, exact=True),
                                         static_code(below, sizes, self.const_code, exact=True), where)  # fmt: skip
                return self._read_extent(axis, code.text, where)
        for copy in copies:
            for val in self.env.values():
                if not val.number and val.has(copy) and is_path(val.text) and self._alive(val):
                    return self._read_extent(axis, f"{val.text}.shape[{val.dim(copy)}]", self.lines)
        return None

    def _check_division(self, axis: Axis, above: Code, below: Code, where: list[str]) -> None:
        """The size of an axis divides exactly (D1), or the input is refused."""
        space = self.indent if where is self.lines else ""
        text = f"{axis.name} = {above.text} / {below.text} does not divide: "
        where.append(f"{space}if {above.at(TERM)} % {below.at(ATOM)}:")
        where.append(f'{space}    raise ValueError(f"{self.graph.name}: {text}{{{above.text}}} / {{{below.text}}}")')

    def _early(self, size: Static) -> bool:
        """Whether a derived extent can be computed at the top of the body."""
        lines = "\n".join(self.lines)
        names = [code.text for code in (self._find_extent(part) for part in _sizes(size)) if code is not None]
        return not any(f"{name} = " in lines for name in names)

    def _alive(self, val: Val) -> bool:
        return all(self._holders.get(name, 0) > 0 for name in val.names)

    def _read_extent(self, axis: Axis, text: str, where: list[str]) -> Code:
        name = self.scope.axes.get(axis) or self.namer.give(axis.name)
        where.append((self.indent if where is self.lines else "") + f"{name} = {text}")
        self._extents[axis] = Code(name)
        return self._extents[axis]

    @property
    def device(self) -> str:
        """Where tables are made: an argument's device, a weight's, or the caller's."""
        if self._device is None:
            for val in self.inputs:
                if not val.number and not self._optional(val):
                    self._device = f"{val.text}.device"
                    break
            else:
                weight = self.first_weight()
                if weight is not None:
                    self._device = f"{weight}.device"
                elif self.plan.is_root:
                    self._device = self.root_device()
                else:
                    self.plan.wants_device = True
                    return "device"
            name = self.namer.give("device")
            self.prologue.append(f"{name} = {self._device}")
            self._device = name
        return self._device

    def _optional(self, val: Val) -> bool:
        place = self.inputs.index(val)
        return self.graph.inputs[place].default is not None

    @property
    def dtype(self) -> str:
        """The model's own type of reals: a real argument's, a weight's, or the caller's."""
        if self._dtype is None:
            for val in self.inputs:
                if not val.number and val.kind == "real" and not val.table and not self._optional(val):
                    self._dtype = f"{val.text}.dtype"
                    break
            else:
                weight = self.first_weight()
                if weight is not None:
                    self._dtype = f"{weight}.dtype"
                elif self.plan.is_root:
                    self._dtype = self.root_dtype()
                else:
                    self.plan.wants_dtype = True
                    return "dtype"
            name = self.namer.give("dtype")
            self.prologue.append(f"{name} = {self._dtype}")
            self._dtype = name
        return self._dtype

    # -- layout -------------------------------------------------------------------------------------------------

    def permute(self, x: Val, order: Sequence[Axis]) -> Val:
        """The same dimensions in another order."""
        order = tuple(order)
        if x.axes == order:
            return x
        if len(x.text) > INLINE:
            x = self.let("x", x)
        rank = len(order)
        moved = [place for place in range(rank) if x.axes[place] != order[place]]
        if len(moved) == 2:
            text = self.swapped(x, moved[0] - rank, moved[1] - rank)
        else:
            source = tuple(x.dim(order[place]) for place in moved)
            text = self.permuted(x, source, tuple(place - rank for place in moved))
        return replace(x, code=Code(text), axes=order, depth=x.depth + 1)

    def align(self, x: Val, order: Sequence[Axis], short: bool = False) -> Val:
        """x with exactly these dimensions: permuted, and of size 1 where it has no such axis.

        short: dimensions that would come first may be left out, where nothing stands before them.
        """
        order = tuple(order)
        if x.number or x.axes == order:
            return x
        extra = [axis for axis in x.axes if axis not in order]
        if extra:
            raise CannotEmit(
                f"{self.graph.name}: a value has the axes {self.shown(extra)}, which its reader does not expect"
            )
        x = self.permute(x, [axis for axis in order if axis in x.axes])
        missing = [axis for axis in order if axis not in x.axes]
        if not missing:
            return x
        wanted = list(order)
        if short and x.lead == NONE:
            while wanted and wanted[0] not in x.axes:
                wanted.pop(0)
            if not any(axis not in x.axes for axis in wanted):
                return x
        items = [":" if axis in x.axes else "None" for axis in wanted]
        if x.lead == NONE:
            while items[-1] == ":":
                items.pop()
        else:
            items = ["...", *items[items.index("None") :]]
        text = f"{x.atom}[{', '.join(items)}]"
        thin = x.thin | {axis for axis in wanted if axis not in x.axes}
        return replace(x, code=Code(text), axes=tuple(wanted), thin=thin, depth=x.depth + 1)

    def full(self, x: Val, axes: Iterable[Axis]) -> Val:
        """x with these axes at their true extent."""
        wanted = [axis for axis in axes if not x.has(axis)]
        if not wanted:
            return x
        if x.number:
            raise CannotEmit(f"{self.graph.name}: a number is spread over {self.shown(wanted)}")
        x = self.named(self.align(x, (*(axis for axis in wanted if axis not in x.axes), *x.axes)))
        rank = len(x.axes)
        sizes = [
            self.extent(a).text if a in wanted else f"{x.text}.shape[{place - rank}]" for place, a in enumerate(x.axes)
        ]
        lead = [] if x.lead == NONE else [f"*{x.text}.shape[:-{rank}]"]
        text = self.expanded(x, ", ".join([*lead, *sizes]))
        return replace(x, code=Code(text), thin=x.thin - set(wanted), depth=x.depth + 1)

    def last(self, x: Val, axes: Sequence[Axis]) -> Val:
        """x with these axes, at their true extent, as its last dimensions."""
        x = self.full(x, axes)
        return self.permute(x, [*(axis for axis in x.axes if axis not in axes), *axes])

    def union_order(self, vals: Sequence[Val], out: Value) -> tuple[Axis, ...]:
        """The memory order of a pointwise result: as the reader wants it, or as the largest operand has it."""
        found: dict[Axis, None] = {}
        arrays = sorted((val for val in vals if not val.number), key=lambda val: (-len(val.axes), val.table))
        for val in arrays:
            found.update(dict.fromkeys(val.axes))
        if not arrays:
            return ()
        hint = self._hints.get(out.id)
        if arrays[0].axes and len(arrays[0].axes) == len(found) and not (hint and out.role <= Role.TABLE):
            return arrays[0].axes
        order = hint if hint and set(found) <= set(hint) else self.core(out.type.axes)
        kept = [axis for axis in order if axis in found]
        return (*(axis for axis in found if axis not in kept), *kept)

    def combine(self, vals: Sequence[Val], code: Code, order: Sequence[Axis], out: Value, **more: object) -> Val:
        """The result of an op that broadcasts its operands: what it may lack, and what it hangs on."""
        arrays = [val for val in vals if not val.number]
        thin = frozenset(axis for axis in order if not any(val.has(axis) for val in arrays))
        result = Val(
            code, tuple(order), thin, join_leads(val.lead for val in arrays), kind_of(out), is_table(out),
            needs=frozenset[int]().union(*(val.needs for val in vals)),
            names=frozenset[str]().union(*(val.names for val in vals)),
            depth=1 + max((val.depth for val in vals), default=0),
        )  # fmt: skip
        return replace(result, **more)  # type: ignore[arg-type]

    # -- kinds of elements --------------------------------------------------------------------------------------

    def real(self, x: Val, table: bool, like: Sequence[Val] = ()) -> Val:
        """x as reals: float64 in a table, else of the model's own type."""
        if x.number or (x.kind == "real" and x.table == table):
            return x
        if table:
            dtype = self.float64()
        else:
            near = next(
                (v for v in like if not v.number and v.kind == "real" and not v.table and is_path(v.text)), None
            )
            dtype = f"{near.text}.dtype" if near else self.dtype
        names = x.names if table else x.names | frozenset(n for v in like for n in v.names)
        return replace(x, code=Code(self.cast(x.atom, dtype)), kind="real", table=table, bounds=ANY, names=names)

    def pointwise(self, node: Apply, vals: list[Val]) -> Val:
        """An op done for each index: operands are aligned, and made reals of one type where the result is real."""
        op, out = node.op, node.out
        order = self.union_order(vals, out)
        if kind_of(out) == "real":
            skip = 1 if op == "select" else 0
            vals = [*vals[:skip], *(self.real(val, is_table(out), vals) for val in vals[skip:])]
        power = vals[1].text if op == "^" and vals[1].number else ""
        vals = [self.align(val, order, short=True) for val in vals]
        if power in ("2", "3"):  # far faster than `**` (SPEED.md), and the same number
            x = self.named(vals[0])
            return self.combine([x, vals[1]], Code(" * ".join([x.text] * int(power)), TERM), order, out)
        return self.combine(vals, self.point(op, vals, out), order, out)

    # -- nodes --------------------------------------------------------------------------------------------------

    def _node(self, node: Node) -> None:
        match node:
            case Constant(value, out):
                if self.reads_left(out) == 0:  # a rewrite took its reader
                    return
                code = self.static(value) if not isinstance(value, Literal) else number(value.value)
                self._keep(out, Val(code, kind=kind_of(out), table=True, number=True, bounds=self.bounds.static(value)))
            case Positions(axis, out):
                extent = self.extent(axis).text
                val = Val(Code(self.arange(extent)), (axis,), kind="int", bounds=self.bounds.positions(axis), depth=1)
                self._finish(node, out, val, inline=True)
            case Parameter(weight, out):
                self._parameter(node, weight, out)
            case Apply():
                self._apply(node)
            case Call():
                self._call(node)
            case Repeat():
                self._repeat(node)
            case Scan():
                self._scan(node)

    def _parameter(self, node: Node, weight: Weight, out: Value) -> None:
        text = self.parameter(weight)
        axes = tuple(axis for dim in weight.dims for axis in dim)
        slices = [
            f":{self.extent(axis).text}" if axis.bound is not None and axis.extent is None else ":" for axis in axes
        ]
        while slices and slices[-1] == ":":
            slices.pop()
        if slices:
            text = f"{text}[{', '.join(slices)}]"
        self._finish(node, out, Val(Code(text), axes), inline=True)

    def _finish(self, node: Node, out: Value, val: Val, inline: bool) -> None:
        """Binds a node's result: to a variable, or, read once and short, to its expression."""
        self.release(operands(node))
        reads = self.reads_left(out)
        captured = out.id in self.plan.captured
        unnamed = out.name is None
        short = len(val.text) <= INLINE and val.depth <= 4
        last = len(self.graph.outputs) == 1 and self.graph.outputs[0].value.id == out.id  # it stands behind `return`
        short = short or last
        if reads == 0 and not captured:
            self._keep(out, val)
            return
        if (
            val.number
            or (is_path(val.text) and not captured)
            or (inline and unnamed and reads == 1 and short and not captured)
        ):
            self._keep(out, val)
            return
        bound = self.let(out.name or self.wish(node), val)
        if captured:
            self.record(out, bound)
        self._keep(out, bound)

    def wish(self, node: Node) -> str:
        """What to call an unnamed result: as its reader calls it, where that is a block or a mask."""
        made = results(node)[0].id
        if made in self._wishes:
            return self._wishes[made]
        if isinstance(node, Apply):
            return {"softmax": "weights", "Positions": "index"}.get(node.op, "x")
        return f"{node.axis.name}_index" if isinstance(node, Positions) else "x"

    def _apply(self, node: Apply) -> None:
        vals = [self.env[operand.id] for operand in node.operands]
        mask = None if node.mask is None else self.env[node.mask.id]
        out = node.out
        match node.op:
            case "rename":
                change = dict(zip(node.axes, node.made, strict=True))
                x = vals[0]
                axes = tuple(change.get(axis, axis) for axis in x.axes)
                val = replace(x, axes=axes, thin=frozenset(change.get(axis, axis) for axis in x.thin))
            case "broadcast" | "int":
                val = replace(vals[0], kind=kind_of(out))
            case "index":
                val = self._checked(vals[0], node.made[0])
            case "split" if not vals[0].number:
                val = self._split(node, vals[0])
            case "merge" if not vals[0].number:
                val = self._merge(node, vals[0])
            case "gather":
                val = self._gather(node, vals[0], vals[1])
            case _ if (
                vals
                and all(v.number for v in vals)
                and mask is None
                and not node.axes
                and not node.weights
                and node.op != "dropout"
            ):
                names = frozenset[str]().union(*(v.names for v in vals))
                needs = frozenset[int]().union(*(v.needs for v in vals))
                bounds = self.bounds.apply(node.op, [v.bounds for v in vals])
                val = Val(apply(node.op, [v.code for v in vals]), kind=kind_of(out), table=True, number=True,
                          needs=needs, names=names, bounds=bounds)  # fmt: skip
            case _:
                val = self.apply(node, vals, mask)
                if val.kind == "int" and not node.axes:
                    val = replace(val, bounds=self.bounds.apply(node.op, [v.bounds for v in vals]))
                elif node.op == "argmax":
                    val = replace(val, bounds=self.bounds.positions(node.axes[0]))
        self._finish(node, out, val, inline=True)

    def _checked(self, e: Val, axis: Axis) -> Val:
        """An index that surely lies within its axis: proved, or checked when the code runs."""
        if self.bounds.within(e.bounds, axis):
            return e
        e = self.named(e, "index")
        self.check_index(e.text, self.extent(axis).text, axis)
        return replace(e, bounds=self.bounds.positions(axis))

    def _split(self, node: Apply, x: Val) -> Val:
        axis = node.axes[0]
        x = self.full(x, [axis])
        place = x.axes.index(axis)
        axes = (*x.axes[:place], *node.made, *x.axes[place + 1 :])
        return replace(x, code=Code(self.unflatten(x, x.dim(axis), node.made)), axes=axes, depth=x.depth + 1)

    def _merge(self, node: Apply, x: Val) -> Val:
        axes, made = node.axes, node.made[0]
        x = self.full(x, axes)
        rest = [axis for axis in x.axes if axis not in axes]
        before = sum(axis in rest for axis in x.axes[: x.axes.index(axes[0])])
        x = self.permute(x, [*rest[:before], *axes, *rest[before:]])
        order = (*rest[:before], made, *rest[before:])
        if len(axes) == 1:
            return replace(x, axes=order)
        text = self.flatten(x, x.dim(axes[0]), x.dim(axes[-1]))
        return replace(x, code=Code(text), axes=order, depth=x.depth + 1)

    @abstractmethod
    def stacked(self, items: str, dim: int) -> str: ...

    @abstractmethod
    def unflatten(self, x: Val, dim: int, axes: Sequence[Axis]) -> str: ...

    @abstractmethod
    def flatten(self, x: Val, first: int, last: int) -> str: ...

    @abstractmethod
    def lookup(self, x: Val, e: Val) -> str: ...

    @abstractmethod
    def take_along(self, x: Val, e: Val, dim: int) -> str: ...

    def _gather(self, node: Apply, x: Val, e: Val) -> Val:
        """x[a = e]: axes that e shares with x align, its other axes take a's place (D5)."""
        a, out = node.axes[0], node.out
        e = self._checked(e, a)
        needs, names = x.needs | e.needs, x.names | e.names
        depth = 1 + max(x.depth, e.depth)
        if x.number:
            return x
        if e.number:
            if a not in x.axes:
                return replace(x, needs=needs)
            if a in x.thin:
                x = self.full(x, [a])
            place = x.axes.index(a)
            after = [":"] * (len(x.axes) - place - 1)
            before = [":"] * place if x.lead == NONE else ["..."]
            text = f"{x.atom}[{', '.join([*before, e.text, *(after if before == ['...'] else [])])}]"
            axes = (*x.axes[:place], *x.axes[place + 1 :])
            return replace(x, code=Code(text), axes=axes, thin=x.thin - {a}, needs=needs, names=names, depth=depth)
        if not x.has(a):
            x = self.full(x, [a])
        shared = [axis for axis in e.axes if axis in x.axes and axis != a]
        own = [axis for axis in e.axes if axis not in shared]
        lead = join_leads((x.lead, e.lead))
        thin = (x.thin | e.thin) - {a} | (e.thin & set(own))
        thin = frozenset(axis for axis in thin if not (x.has(axis) and axis != a) and not e.has(axis))
        common = {
            "thin": thin,
            "needs": needs,
            "names": names,
            "depth": depth,
            "lead": lead,
            "kind": kind_of(out),
            "table": x.table,
        }
        if not shared and x.lead == NONE:  # rows of a table
            x = self.permute(x, [a, *(axis for axis in x.axes if axis != a)])
            return self.combine([x, e], Code(self.lookup(x, e)), (*e.axes, *x.axes[1:]), out, bounds=x.bounds, **common)
        if not shared and e.lead == NONE:  # the same items of every row
            place = x.axes.index(a)
            after = [":"] * (len(x.axes) - place - 1)
            text = f"{x.atom}[{', '.join(['...', e.text, *after])}]"
            axes = (*x.axes[:place], *e.axes, *x.axes[place + 1 :])
            return self.combine([x, e], Code(text), axes, out, bounds=x.bounds, **common)
        rest = [axis for axis in x.axes if axis not in shared and axis != a]
        x = self.permute(x, [*shared, a, *rest])
        e = self.full(e, own) if len(own) > 1 else e
        e = self.permute(e, [*shared, *own])
        if not own:
            e = replace(e, code=Code(f"{e.atom}[..., None]"))
        elif len(own) > 1:
            flat = self.named(e, "index")
            e = replace(flat, code=Code(self.flatten(flat, -len(own), -1)))
        if rest:
            e = replace(e, code=Code(f"{e.atom}[..., {', '.join(['None'] * len(rest))}]"))
        text = self.take_along(x, e, -(1 + len(rest)))
        found = Val(Code(text), (*shared, a, *rest))
        if not own:
            text = f"{text}.squeeze({-(1 + len(rest))})"
        elif len(own) > 1:
            text = self.unflatten(found, -(1 + len(rest)), own)
        return self.combine([x, e], Code(text), (*shared, *own, *rest), out, bounds=x.bounds, **common)

    # -- calls --------------------------------------------------------------------------------------------------

    def _arguments(
        self,
        node: Call | Repeat,
        plan: Plan,
        graph: Graph,
        to_caller: Mapping[Axis, Axis],
        spread: Sequence[Axis],
        full: bool,
    ) -> list[Val]:
        """The arguments of a call as the callee's layout wants them, and what the callee learns from them."""
        vals = [self.env[arg.id] for arg in node.args]
        arrays = [val for val in vals if not val.number]
        any_lead = any(val.lead != NONE for val in arrays)
        lifted = plan.lifted if isinstance(node, Repeat) else frozenset(graph.lifted)
        prepared = []
        for place, (item, val) in enumerate(zip(graph.inputs, vals, strict=True)):
            state = plan.inputs[place]
            formal = [to_caller.get(axis, axis) for axis in item.value.type.axes if axis not in lifted]
            back = dict(zip(formal, plan_axes(plan, place), strict=True))
            if item.value.role is Role.CONSTANT:
                prepared.append(val)
                continue
            kind, table = kind_of(item.value), is_table(item.value)
            if val.number:
                dtype = self.float64() if table else self.dtype if kind == "real" else ""
                shape = "1, " * len(formal)
                text = self.filled(f"({shape.strip()})" if formal else "()", val.text, kind, dtype)
                val = Val(
                    Code(text), tuple(formal), frozenset(formal), NONE, kind, table, needs=val.needs, names=val.names
                )
            if kind == "real":
                val = self.real(val, table)
            whole = (val.lead == FULL or not any_lead) and all(val.has(axis) for axis in spread)
            lead = FULL if whole and (spread or any_lead) else SOME if val.lead != NONE or spread else NONE
            val = (
                self.align(val, (*spread, *formal), short=False)
                if full
                else self._short(val, spread, formal, plan, place, vals)
            )
            if (not spread and val.lead == NONE) or (
                lead != FULL and val.lead == NONE and not any(axis in val.axes for axis in spread)
            ):
                lead = NONE
            state.lead = lead if state.lead is None or state.lead == lead else SOME
            state.thin |= {back[axis] for axis in formal if axis in val.thin}
            element = item.value.type.element
            if isinstance(element, IndexInto):
                axis = to_caller.get(element.axis, element.axis)
                state.in_range = state.in_range and self.bounds.within(val.bounds, axis)
            prepared.append(val)
        return prepared

    def _short(
        self, val: Val, spread: Sequence[Axis], formal: Sequence[Axis], plan: Plan, place: int, vals: list[Val]
    ) -> Val:
        """Without dimensions of size 1 in front, where each result that hangs on it has them from another argument."""
        lacks = [axis for axis in spread if axis not in val.axes]
        if val.lead == NONE and lacks == list(spread):
            for state in plan.outputs:
                if state is None or place not in state.needs:
                    continue
                if not any(
                    other != place and set(spread) <= set(vals[other].axes)
                    for other in state.needs
                    if not vals[other].number
                ):
                    break
            else:
                if all(state is not None for state in plan.outputs):
                    return self.align(val, formal)
        return self.align(val, (*spread, *formal))

    def _spread(
        self, node: Call | Repeat, graph: Graph, lifted: frozenset[Axis], to_caller: Mapping[Axis, Axis]
    ) -> tuple[Axis, ...]:
        """The axes over which the call lifts, as the arguments have them: dimensions that no formal asks for."""
        found: dict[Axis, None] = {}
        for item, arg in zip(graph.inputs, node.args, strict=True):
            formal = {to_caller.get(axis, axis) for axis in item.value.type.axes if axis not in lifted}
            val = self.env[arg.id]
            found.update(dict.fromkeys(axis for axis in val.axes if axis not in formal))
        return tuple(found)

    def keywords(
        self, plan: Plan, graph: Graph, to_caller: Mapping[Axis, Axis], consts: Mapping[Const, Static]
    ) -> list[str]:
        """What a callee wants besides its arguments: extents, a device, a dtype, the number of a pass."""
        own_axes, own_consts = self.program.bindings[id(graph)]
        scope = scope_of(plan)
        found = []
        for axis in plan.extents:
            mine = to_caller.get(own_axes[axis], own_axes[axis])
            found.append(f"{scope.axes[axis]}={self.extent(mine).text}")
        for const in plan.late:
            theirs = own_consts[const]
            given = consts.get(theirs, ConstOf(theirs))
            found.append(f"{scope.consts[const]}={self.static(given).text}")
        if plan.wants_device:
            found.append(f"device={self.device}")
        if plan.wants_dtype:
            found.append(f"dtype={self.dtype}")
        return found

    def built(
        self,
        plan: Plan,
        graph: Graph,
        to_caller: Mapping[Axis, Axis],
        consts: Mapping[Const, Static],
        size: Callable[[Axis], str],
        const_name: Callable[[Const], str],
        bound: Callable[[Axis], str],
    ) -> list[str]:
        """The sizes and consts that a callee is built with, in the caller's terms."""
        own_axes, own_consts = self.program.bindings[id(graph)]
        scope = scope_of(plan)
        found = []
        for axis in plan.axes:
            if axis in plan.sizes:
                theirs = own_axes[axis]
                mine = to_caller.get(theirs, theirs)
                known = mine in self.plan.axes and self.plan.static_size(mine)
                found.append(f"{scope.axes[axis]}={size(mine) if known else theirs.extent}")
            if axis in plan.sizes_bound:
                theirs = own_axes[axis]
                mine = to_caller.get(theirs, theirs)
                found.append(f"{scope.bounds[axis]}={bound(mine) if mine in self.plan.axes else theirs.bound}")
        for const in plan.consts:
            if const in plan.numbers and const not in plan.late:
                own = own_consts[const]
                given = consts.get(own)
                if given is None and own not in self.plan.consts:
                    text = number(own.value if own.value is not None else 0).text
                else:
                    text = static_code(given if given is not None else ConstOf(own), size, const_name).text
                found.append(f"{scope.consts[const]}={text}")
        return found

    def _late(self, plan: Plan, graph: Graph, consts: Mapping[Const, Static]) -> None:
        """A const that hangs on the number of a pass of a shared repeat is passed at each call."""
        if not self.plan.late:
            return
        own_consts = self.program.bindings[id(graph)][1]
        for const in plan.consts:
            theirs = own_consts[const]
            if set(_consts(consts.get(theirs, ConstOf(theirs)))) & set(self.plan.late):
                plan.late[const] = None

    def _call(self, node: Call) -> None:
        graph = node.graph
        if graph.kind == "op":
            self._foreign(node)
            return
        plan = self.program.plan(graph)
        to_caller, consts = dict(node.axes), dict(node.consts)
        lifted = frozenset(graph.lifted)
        self._late(plan, graph, consts)
        if any(state is None for state in plan.outputs):  # the first call: learn first what the callee returns
            written = len(self.lines)
            self._arguments(node, plan, graph, to_caller, self._spread(node, graph, lifted, to_caller), full=False)
            del self.lines[written:]
            self.file.emit(plan)
        spread = self._spread(node, graph, lifted, to_caller)
        self.spreads[self.place] = spread
        vals = self._arguments(node, plan, graph, to_caller, spread, full=False)
        keywords = self.keywords(plan, graph, to_caller, consts)
        text = self.invoke(node, plan, [val.text for val in vals], keywords)
        own_axes = self.program.bindings[id(graph)][0]
        outs = []
        for state, out in zip(plan.outputs, node.outs, strict=True):
            assert state is not None
            outs.append(self._result(state, out, vals, own_axes, to_caller, spread))
        self._bind_call(node, text, outs)

    def _result(
        self,
        state: OutputState,
        out: Value,
        vals: list[Val],
        own: Mapping[Axis, Axis],
        to_caller: Mapping[Axis, Axis],
        spread: Sequence[Axis],
    ) -> Val:
        fed = [vals[place] for place in state.needs if not vals[place].number]
        needs = frozenset[int]().union(*(vals[place].needs for place in state.needs))
        names = frozenset[str]().union(*(val.names for val in vals))
        if state.number is not None:
            return Val(Code(""), number=True, kind=kind_of(out), table=True, needs=needs, names=names)
        lifted = tuple(spread) if any(set(val.axes) & set(spread) for val in fed) else ()

        def rename(axis: Axis) -> Axis:
            return to_caller.get(own[axis], own[axis])

        thin = {rename(axis) for axis in state.thin} | {a for a in lifted if not any(val.has(a) for val in fed)}
        bounds = ANY
        if isinstance(out.type.element, IndexInto) and state.in_range:
            bounds = self.bounds.positions(out.type.element.axis)
        return Val(
            Code(""), (*lifted, *(rename(axis) for axis in state.axes)), frozenset(thin), join_leads(val.lead for val in fed),
            kind_of(out), is_table(out), False, needs, bounds, names, 1 + max((val.depth for val in vals), default=0),
        )  # fmt: skip

    def _bind_call(self, node: Call, text: str, outs: list[Val]) -> None:
        if len(outs) == 1:
            self._finish(node, node.outs[0], replace(outs[0], code=Code(text)), inline=True)
            return
        self.release(node.args)
        targets = []
        for out, val in zip(node.outs, outs, strict=True):
            if self.reads_left(out) == 0 and out.id not in self.plan.captured:
                targets.append("_")
                self._keep(out, val)
                continue
            name = self.namer.give(out.name or "x")
            targets.append(name)
            self._keep(out, replace(val, code=Code(name), names=frozenset({name}), depth=0))
        shown = ", ".join(self.shown(val.axes) for val in outs)
        self.line(f"{', '.join(targets)} = {text}", shown)
        for out in node.outs:
            if out.id in self.plan.captured:
                self.record(out, self.env[out.id])

    def _repeat(self, node: Repeat) -> None:
        plans = [self.program.plan(body) for body in node.bodies]
        identity: dict[Axis, Axis] = {}
        spread = self._spread(node, node.bodies[0], plans[0].lifted, identity)
        self.spreads[self.place] = spread
        if node.shared and node.index is not None:
            for plan, body in zip(plans, node.bodies, strict=True):
                for const, theirs in self.program.bindings[id(body)][1].items():
                    if theirs == node.index:
                        plan.late[const] = None
        for plan, body in zip(plans, node.bodies, strict=True):
            self._late(plan, body, {})
        vals: list[Val] = []
        for plan, body in zip(plans, node.bodies, strict=True):
            written = len(self.lines)
            found = self._arguments(node, plan, body, identity, spread, full=True)
            if vals:  # all bodies take the same arguments
                del self.lines[written:]
            vals = vals or found
            if any(state is None for state in plan.outputs):
                self.file.emit(plan)
        # The carried values of all bodies are alike: what one pass returns, the next one takes.
        for _ in range(2):
            for plan in plans:
                for place in range(node.carried):
                    for other in plans:
                        state = other.outputs[place]
                        assert state is not None
                        change = dict(zip(other.axes, plan.axes, strict=False)) if other is not plan else {}
                        taken = plan.inputs[place]
                        taken.thin |= {change.get(axis, axis) for axis in state.thin}
                        lead = state.lead
                        taken.lead = lead if taken.lead is None or taken.lead == lead else SOME
                        taken.in_range = taken.in_range and state.in_range
        if node.index is not None and self.counts(node):
            self.counters[node.index] = self.namer.give(node.index.name)
        keywords = [self.keywords(plan, body, identity, {}) for plan, body in zip(plans, node.bodies, strict=True)]
        extra = [self.named(val) if not val.number else val for val in vals[node.carried :]]
        carried = vals[: node.carried]
        before = [(val.text, val.names) for val in carried]
        # Values that enter unchanged must outlive the loop's own names.
        self.release(node.args[: node.carried])
        targets: list[str] = []
        for out, (text, _) in zip(node.outs, before, strict=True):
            wish = out.name or "x"
            reuse = text.isidentifier() and not self.namer.is_taken(text)
            if reuse:
                self.namer.reserve(text)
            targets.append(text if reuse else self.namer.give(wish))
        changed = [(t, text, val) for t, (text, _), val in zip(targets, before, carried, strict=True) if t != text]
        if len(changed) > 1:  # at once: an initial value may be another one's variable
            self.line(f"{', '.join(t for t, _, _ in changed)} = {', '.join(text for _, text, _ in changed)}")
        elif changed:
            self.line(f"{changed[0][0]} = {changed[0][1]}", self.shown(changed[0][2].axes))
        self.release(node.args[node.carried :])
        loop = self.loop(node, plans, targets, [val.text for val in extra], keywords)
        self.lines += [self.indent + text for text in loop]
        own_axes = self.program.bindings[id(node.bodies[0])][0]
        needs = frozenset[int]().union(*(val.needs for val in vals))
        for place, (out, target, val) in enumerate(zip(node.outs, targets, carried, strict=True)):
            state = plans[0].outputs[place]
            assert state is not None
            thin = val.thin | {own_axes[axis] for axis in state.thin}
            lead = join_leads([val.lead, *(v.lead for v in vals)]) if state.lead else val.lead
            if val.lead != lead:
                lead = SOME
            result = replace(
                val, code=Code(target), thin=thin, lead=lead, kind=kind_of(out), table=is_table(out), needs=needs,
                names=frozenset({target}), depth=0, bounds=ANY,
            )  # fmt: skip
            self._keep(out, result)
            if out.id in self.plan.captured:
                self.record(out, result)

    def _scan(self, node: Scan) -> None:
        """A block called at each index of an axis in order: a loop, whose results are stacked."""
        graph, axis = node.graph, node.axis
        plan = self.program.plan(graph)
        to_caller, consts = dict(node.axes), dict(node.consts)
        own = self.program.bindings[id(graph)][0]
        vals = [self.env[arg.id] for arg in node.args]
        formals = [
            [to_caller.get(a, a) for a in item.value.type.axes if a not in graph.lifted] for item in graph.inputs
        ]
        spread: dict[Axis, None] = {}
        for val, formal in zip(vals, formals, strict=True):
            spread.update(dict.fromkeys(a for a in val.axes if a not in formal and a != axis))
        self.spreads[self.place] = tuple(spread)
        any_lead = any(val.lead != NONE for val in vals if not val.number)
        states = dict(node.states)
        args: list[Val] = []
        for place, (item, val, formal) in enumerate(zip(graph.inputs, vals, formals, strict=True)):
            kind, table = kind_of(item.value), is_table(item.value)
            if kind == "real":
                val = self.real(val, table)
            if place in states:
                args.append(val)  # once the shape of a step is known
            elif place in node.steps:
                val = self.full(val, [axis, *(a for a in formal if a in val.thin)])
                args.append(self.named(self.align(val, (*spread, axis, *formal))))
            elif item.value.role is Role.CONSTANT:
                args.append(val)
            else:
                args.append(self.named(self.align(val, (*spread, *formal))))
        lead = self._lead_shape(args, node.steps, spread, any_lead)
        shapes: dict[int, str] = {}
        for place in states:
            item, val, formal = graph.inputs[place], args[place], formals[place]
            kind, table = kind_of(item.value), is_table(item.value)
            sizes = [self.extent(a).text for a in (*spread, *formal)]
            shapes[place] = ", ".join([*lead, *sizes])
            if val.number:
                dtype = self.float64() if table else self.dtype if kind == "real" else ""
                shape = f"({shapes[place]}{',' if len(sizes) + len(lead) == 1 else ''})"
                val = Val(Code(self.filled(shape, val.text, kind, dtype)), (*spread, *formal), kind=kind, table=table)
            else:
                val = self.align(val, (*spread, *formal))
                if val.thin or (any_lead and val.lead != FULL):
                    val = replace(val, code=Code(self.expanded(val, shapes[place])))
            args[place] = replace(val, thin=frozenset(), lead=FULL if any_lead or spread else NONE)
        for place, (item, val) in enumerate(zip(graph.inputs, args, strict=True)):
            if item.value.role is Role.CONSTANT:
                continue
            state = plan.inputs[place]
            whole = (val.lead == FULL or not any_lead) and all(val.has(a) for a in spread)
            given = FULL if whole and (any_lead or spread) else SOME if any_lead or spread else NONE
            state.lead = given if state.lead is None or state.lead == given else SOME
            back = dict(zip(formals[place], plan_axes(plan, place), strict=True))
            state.thin |= {back[a] for a in formals[place] if a in val.thin}
            state.in_range = False
        self._late(plan, graph, consts)
        if any(state is None for state in plan.outputs):
            self.file.emit(plan)
        names: dict[int, str] = {}
        for place in states:
            names[place] = self.namer.give(graph.inputs[place].name)
            self.line(f"{names[place]} = {args[place].text}", self.shown(args[place].axes))
        collected = [out if self.reads_left(out) or out.id in self.plan.captured else None for out in node.outs]
        lists = [self.namer.give(f"{out.name or 'step'}_steps") if out else "_" for out in collected]
        for name in lists:
            if name != "_":
                self.line(f"{name} = []")
        counter = self.namer.give(axis.name if axis.name not in self.scope.axes.values() else f"{axis.name}_index")
        self.line(f"for {counter} in range({self.extent(axis).text}):")
        self.indent += "    "
        given_args = []
        for place, val in enumerate(args):
            if place in names:
                given_args.append(names[place])
            elif place in node.steps:
                after = "".join(", :" for _ in formals[place])
                given_args.append(f"{val.atom}[..., {counter}{after}]")
            else:
                given_args.append(val.text)
        keywords = self.keywords(plan, graph, to_caller, consts)
        text = self.invoke(node, plan, given_args, keywords)
        next_state = {result: place for place, result in states.items()}
        targets = []
        for place in range(len(node.outs)):
            if place in next_state:
                targets.append(names[next_state[place]])
            else:
                targets.append(self.namer.give(graph.outputs[place].name or "y") if lists[place] != "_" else "_")
        self.line(f"{', '.join(targets)} = {text}")
        for place in range(len(node.outs)):
            output = plan.outputs[place]
            assert output is not None
            if place in next_state and (output.thin or (output.lead != FULL and (any_lead or spread))):
                name = targets[place]
                self.line(f"{name} = {self.expanded(Val(Code(name)), shapes[next_state[place]])}")
            if lists[place] != "_":
                self.line(f"{lists[place]}.append({targets[place]})")
        self.indent = self.indent[:-4]
        self.release(node.args)
        needs = frozenset[int]().union(*(val.needs for val in vals))
        for place, out in enumerate(node.outs):
            output = plan.outputs[place]
            assert output is not None
            axes = tuple(to_caller.get(own[a], own[a]) for a in output.axes)
            thin = frozenset() if place in next_state else {to_caller.get(own[a], own[a]) for a in output.thin}
            got = FULL if any_lead and (place in next_state or output.lead == FULL) else SOME if any_lead else NONE
            order = (*spread, axis, *axes)
            if place not in next_state and output.lead == NONE:
                order, got = (axis, *axes), NONE
            val = Val(Code("_"), order, frozenset(thin), got, kind_of(out), is_table(out), False, needs)
            if collected[place] is None:
                self._keep(out, val)
                continue
            sizes = ["0", *(self.extent(a).text for a in axes)]
            ahead = [*lead, *(self.extent(a).text for a in spread)] if len(order) > 1 + len(axes) or got != NONE else []
            empty = self.filled(f"({', '.join([*ahead, *sizes])},)", "0", val.kind, self._kept_dtype(val))
            text = self.stacked(lists[place], -1 - len(axes))
            bound = self.let(out.name or "x", replace(val, code=Code(f"{text} if {lists[place]} else {empty}", 0)))
            self._keep(out, bound)
            if out.id in self.plan.captured:
                self.record(out, bound)

    def _kept_dtype(self, val: Val) -> str:
        return self.float64() if val.table else self.dtype if val.kind == "real" else ""

    def _lead_shape(self, args: list[Val], steps: tuple[int, ...], spread: Iterable[Axis], any_lead: bool) -> list[str]:
        """The leading dimensions of one step, as a part of a shape."""
        if not any_lead:
            return []
        best = max((val for val in args if not val.number), key=lambda val: val.lead)
        best = self.named(best)
        return [f"*{best.text}.shape[:-{len(best.axes)}]" if best.axes else f"*{best.text}.shape"]

    def _foreign(self, node: Call) -> None:
        """A call of an op of the user's own: its inputs in memory order, every declared axis at its extent."""
        graph = node.graph
        to_caller = dict(node.axes)
        formals = [
            [to_caller.get(a, a) for a in item.value.type.axes if a not in graph.lifted] for item in graph.inputs
        ]
        vals = [self.env[arg.id] for arg in node.args]
        spread: dict[Axis, None] = {}
        for val, formal in zip(vals, formals, strict=True):
            spread.update(dict.fromkeys(a for a in val.axes if a not in formal))
        args = []
        for item, val, formal in zip(graph.inputs, vals, formals, strict=True):
            if val.number:
                args.append(val.text)
                continue
            if item.value.type.element is Scalar.REAL:
                val = self.real(val, False)
            args.append(self.align(self.full(val, formal), (*spread, *formal)).text)
        lead = join_leads(val.lead for val in vals if not val.number)
        needs = frozenset[int]().union(*(val.needs for val in vals))
        names = frozenset[str]().union(*(val.names for val in vals))
        outs = []
        for output, out in zip(graph.outputs, node.outs, strict=True):
            axes = (*spread, *(to_caller.get(a, a) for a in output.axes if a not in graph.lifted))
            outs.append(Val(Code(""), axes, frozenset(), lead, kind_of(out), False, False, needs, ANY, names, 1))
        self._bind_call(node, f"{self.file.foreign(graph)}({', '.join(args)})", outs)

    # -- results ------------------------------------------------------------------------------------------------

    def _output(self, output: Output, place: int) -> Val:
        val = self.env[output.value.id]
        order = self.core(output.axes)
        if self.graph.kind == "repeat":
            order = plan_axes(self.plan, place)
        if val.number:
            if self.graph.kind == "block":
                return val
            kind, table = kind_of(output.value), is_table(output.value)
            dtype = self.float64() if table and self.graph.kind == "repeat" else self.dtype if kind == "real" else ""
            shape = f"({'1, ' * len(order)})" if order else "()"
            text = self.filled(shape.replace(", )", ",)"), val.text, kind, dtype)
            val = Val(Code(text), order, frozenset(order), NONE, kind, table, False, val.needs, val.bounds, val.names)
        if self.graph.kind == "repeat" and kind_of(self.graph.inputs[place].value) == "real":
            val = self.real(val, is_table(self.graph.inputs[place].value))
        if self.graph.kind == "model":
            if val.kind == "real" and val.table:
                val = self.real(val, False)
            return self.complete(self.full(val, order), order)
        return self.align(val, order)

    def complete(self, val: Val, order: Sequence[Axis]) -> Val:
        """A model's result in declared order, with the batch."""
        val = self.permute(val, order)
        if val.lead == FULL:
            return val
        val = self.named(val, "out")
        rank = len(val.axes)
        sizes = [f"{val.text}.shape[{place - rank}]" for place in range(rank)]
        batch = self.batch()
        return replace(val, code=Code(self.expanded(val, ", ".join([f"*{batch}", *sizes]))), lead=FULL)

    @abstractmethod
    def batch(self) -> str: ...


def plan_axes(plan: Plan, place: int) -> tuple[Axis, ...]:
    """The dimensions of a class's argument, in the class's own axes."""
    return tuple(axis for axis in plan.graph.inputs[place].value.type.axes if axis not in plan.lifted)


def _sizes(static: Static) -> list[Axis]:
    match static:
        case SizeOf(axis):
            return [axis]
        case Arith(_, args):
            return [axis for arg in args for axis in _sizes(arg)]
        case _:
            return []


def _quotients(static: Static) -> list[tuple[Static, Static]]:
    """Numerator and denominator of each division that must be exact."""
    match static:
        case Arith(op, args) if op in ("/", "//"):
            return [(args[0], args[1]), *(pair for arg in args for pair in _quotients(arg))]
        case Arith(op, args) if op not in ("floor", "ceil"):
            return [pair for arg in args for pair in _quotients(arg)]
        case _:
            return []


def _consts(static: Static) -> list[Const]:
    match static:
        case ConstOf(const):
            return [const]
        case Arith(_, args):
            return [const for arg in args for const in _consts(arg)]
        case _:
            return []


def is_path(text: str) -> bool:
    """A variable or attribute: `x`, `self.E`."""
    return text.replace(".", "").replace("_", "a").isalnum() and not text[0].isdigit()


def wrap(line: str, comment: str = "", width: int = WIDTH) -> list[str]:
    """A line of code with its comment, broken within brackets where it is too long."""
    noted = f"{line}  # {comment}" if comment else line
    if len(noted) <= width:
        return [noted]
    space = line[: len(line) - len(line.lstrip())]
    above = [f"{space}# {comment}"] if comment else []
    if len(line) <= width:
        return [*above, line]
    opened = _outer_call(line)
    if opened is None:
        return [*above, line]
    start, end, commas = opened
    inner = space + "    "
    if " for " in line[start:end]:  # a comprehension: one part, and no comma after it
        body = line[start + 1 : end]
        head, loop = body.rsplit(" for ", 1)
        return [
            *above,
            line[: start + 1],
            *wrap(f"{inner}{head}", "", width),
            f"{inner}for {loop}",
            f"{space}{line[end:]}",
        ]
    cuts = [start, *commas, end]
    parts = [line[a + 1 : b].strip() for a, b in zip(cuts, cuts[1:], strict=False)]
    found = [*above, line[: start + 1]]
    for part in parts:
        if part:
            found += wrap(f"{inner}{part},", "", width)
    return [*found, f"{space}{line[end:]}"]


def _outer_call(line: str) -> tuple[int, int, list[int]] | None:
    """The widest outermost parentheses that hold a list: where they open and close, and their commas."""
    depth, start = 0, -1
    commas: list[int] = []
    best: tuple[int, int, list[int]] | None = None
    quote = ""
    for place, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([{":
            if depth == 0:
                start, commas = place, []
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth == 0 and line[start] == "(":
                called = start > 0 and (line[start - 1].isalnum() or line[start - 1] in "_])")
                if (called or commas) and (best is None or place - start > best[1] - best[0]):
                    best = (start, place, commas)
        elif character == "," and depth == 1:
            commas.append(place)
    return best


class Emitter(ABC):
    """One generated file: emits bodies until no class learns anything new."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.bodies: dict[str, Body] = {}
        self.helpers: dict[str, None] = {}
        self.imports: dict[str, str] = {}  # an op of the user's own -> what the file calls it

    def foreign(self, graph: Graph) -> str:
        """How the file calls an op of the user's own, `module:function`."""
        if graph.target not in self.imports:
            name = f"op_{graph.name}"
            self.imports[graph.target] = f"{name}_{len(self.imports)}" if name in self.imports.values() else name
        return self.imports[graph.target]

    def import_lines(self) -> list[str]:
        lines = []
        for target, name in sorted(self.imports.items()):
            module, function = target.split(":")
            lines.append(f"from {module} import {function} as {name}")
        return lines

    @abstractmethod
    def body(self, plan: Plan) -> Body: ...

    def emit(self, plan: Plan) -> None:
        body = self.body(plan)
        body.emit()
        self.bodies[plan.key] = body

    def settle(self) -> None:
        """Emits every class, callers first, until their states stand still."""
        root = self.program.plans[-1]
        for state, item in zip(root.inputs, root.graph.inputs, strict=True):
            state.lead = FULL
            if item.default is not None:
                state.lead, state.thin = SOME, set(plan_axes(root, root.graph.inputs.index(item)))
        for _ in range(100):
            before = [plan.state() for plan in self.program.plans]
            self.helpers.clear()
            for plan in reversed(self.program.plans):
                if plan.graph.kind != "op":
                    self.emit(plan)
            if [plan.state() for plan in self.program.plans] == before:
                return
        raise AssertionError("the layouts of the generated code do not settle")


__all__ = ["Body", "CannotEmit", "Emitter", "InputState", "Scope", "Val", "field"]
