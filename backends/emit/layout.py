"""How values lie in memory in generated code, and how one is brought into the order that an op wants.

Layout. A value in generated code is an array whose last dimensions are `Val.axes`, in that order; before them come the
*leading* dimensions: the batch, and the axes over which a block's caller lifts it. Code inside a class never names
these, and addresses its own dimensions from the right. So one class serves any batch and any lift.

A body is lowered to statements, which are data (text/statements.py), once its callers have told it what may be
broadcast (of size 1) and what has leading dimensions (`Emitter.lower`). What it asks of its callers in turn is read off
these statements; then text/printer.py writes each class once.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

from ...compiler.decoding import Decoding
from ...compiler.graph.core.index import index_of
from ...compiler.graph.nodes import Apply, Call, Graph, ItemsAlong, Node, Repeat, Scan, Weight
from ...compiler.graph.traits import Choice, Pointwise, Power, Remainder
from ...compiler.graph.values import IndexInto, Role, Scalar, Value
from ...compiler.sizes.axes import Axis, Const, Literal, Static, known
from ..plan.capture import Captures
from ..plan.plan import ClassPlan, InputState, ModelPlan, Plan, padded
from ..text import ranges
from ..text.expressions import AND, OR, TERM, TERNARY, Code, Given, Variable, binary, call, filled_in, joined
from ..text.names import DEVICE, DTYPE, FOUND, Namer
from ..text.numbers import static_code
from ..text.printer import CodePrinter
from ..text.ranges import ANY
from ..text.statements import Do, For, Let, Place, Statement, refusal
from ..text.values import FULL, NONE, CannotEmit, Val, is_table, join_leading, kind_of, needed
from ..text.writing import WIDTH, is_path


@dataclass(frozen=True, slots=True)
class KeptLayout:
    """How a value lies that `prepare` keeps: places of its dimensions among the value's axes (`broadcast`: those that
    may have one item in their stead), and its leading ones.
    """

    order: tuple[int, ...]
    broadcast: frozenset[int]
    leading: int


class CodeFile(Protocol):
    """What a body asks of the file that it is written into (file.py)."""

    array: ClassVar[str]
    not_by_name: ClassVar[frozenset[str]]
    program: ModelPlan
    captures: Captures
    decoding: Decoding | None
    checked: bool
    globals: frozenset[str]
    asked: set[str]
    inputs: dict[Plan, list[InputState]]
    functions: dict[str, str]  # what functions are called, by the key of their plans
    over_nothing: Set[Plan]  # those of blocks that have nothing to keep in a module
    kept: dict[tuple[str, str], KeptLayout]

    @property
    def ops(self) -> Mapping[str, Callable[[Any, Apply, list[Val], Val | None], Val]]:
        """The code of each op that more than a template makes: `ops.py` of each backend."""

    @property
    def points(self) -> Mapping[str, Callable[[Any, list[Val], Value], Code]]:
        """Of those done item by item that no template says, the expression: likewise."""

    @property
    def bodies(self) -> Mapping[str, MemoryLayout]: ...

    def owns(self, graph: Graph) -> bool: ...

    def foreign(self, graph: Graph) -> str: ...

    def tell(self, plan: Plan, place: int, state: InputState) -> None: ...

    def lowered(self, plan: Plan) -> ClassPlan: ...

    def constructor(self, plan: Plan) -> ClassPlan: ...

    def lowering(self, plan: Plan) -> MemoryLayout: ...

    def captured(self, batch: Code) -> list[Code]: ...


@dataclass(slots=True)
class ClassNames:
    """What the arguments, sizes and consts of one class are called."""

    inputs: list[str]
    axes: dict[Axis, Given]
    consts: dict[Const, Given]
    bounds: dict[Axis, Given]  # the largest extent of a bounded width: `max_seq`
    namer: Namer


def scope_of(plan: Plan, file: CodeFile) -> ClassNames:
    """Names in the order of claim: arguments, axes, consts. Other variables are called as no function or class is."""
    namer = Namer(file.globals)

    def claim(name: str, by_name: bool) -> str:
        return namer.claim(f"{name}_" if by_name and name in file.not_by_name else name)

    inputs = [claim(item.name, by_name=plan.is_root) for item in plan.graph.inputs]
    axes = {axis: Given(claim(axis.name, by_name=not plan.is_root)) for axis in plan.axes}
    counts = {node.index for node in plan.graph.nodes if isinstance(node, Repeat)}  # named where their loop stands
    consts = {c: Given(claim(c.name, by_name=not plan.is_root)) for c in plan.consts if c not in counts}
    bounds = {axis: Given(namer.give(f"max_{axis.name}")) for axis in plan.axes if axis.bound is not None}
    return ClassNames(inputs, axes, consts, bounds, namer)


@dataclass(slots=True)
class ReadCount:
    """How many reads of a value are still to come."""

    left: int = 0


@dataclass(slots=True)
class ToldExtents:
    """The extents that the running code knows so far.

    late: those that are not told at the top. in_loop: those that were told in the loop at hand.
    """

    known: dict[Axis, Code] = field(default_factory=dict)
    computing: set[Axis] = field(default_factory=set)
    late: set[Axis] = field(default_factory=set)
    in_loop: list[Axis] | None = None


@dataclass(frozen=True, slots=True)
class Words:
    """How a backend spells what is done to arrays: templates, as rows of the op table have them.

    library: of arrays, as the file imports it.
    moved: a dimension, or several, from one place to another; swapped: two; transposed: the last two.
    flat: the dimensions from one to another as one; flat_to_the_end: from one on.
    stacked: arrays along a new dimension. items: those along a dimension, one by one. indices: 0 .. n - 1.
    new_places: those of the new items of a step.
    taps: windows of the new items. cast: to a type; doubled: to float64.
    """

    library: str
    moved: str
    swapped: str
    transposed: str
    flat: str
    flat_to_the_end: str
    stacked: str
    items: str
    indices: str
    new_places: str
    taps: str
    cast: str
    doubled: str
    float64: str
    int64: str
    truth: str


class MemoryLayout(ABC):
    """The values, sizes and layouts of one class or function while it is being lowered.

    calls.py, scans.py, repeats.py and extents.py are functions of it; body.py goes through its nodes.
    """

    words: ClassVar[Words]
    margin: int  # before the lines of a body

    def __init__(self, file: CodeFile, plan: Plan) -> None:
        self.file = file
        self.program = file.program
        self.plan = plan
        self.graph = plan.graph
        self.index = index_of(self.graph)
        self.scope = scope_of(plan, file)
        self.namer = self.scope.namer
        self.sizes: list[Let] = []  # those that are worked out from others, where it is built with these
        self.prologue: list[Statement] = []
        self.lines: list[Statement] = []
        self.checks: list[Statement] = []  # what a model does before anything else: those of its border
        self.statements: list[Statement] = []  # all of them
        self.env: dict[int, Val] = {}
        self.inputs: list[Val] = []
        self.returned: list[Val] = []
        self.place: int  # of the node at hand
        self.spreads: dict[
            int, tuple[Axis, ...]
        ] = {}  # place of a call -> the axes over which it lifts, outermost first
        self.recorded: dict[int, tuple[Axis, ...]] = {}  # captured value (canonical number) -> its dimensions
        # Result of a map that is done with others -> the variable that holds it, and whether its heads are in front.
        self.joined: dict[int, tuple[Code, bool]] = {}
        self.told = ToldExtents()
        self.tabulating = False  # the lines at hand make a table of places
        self._device: Code | None = None
        self._dtype: Code | None = None
        self.batch_shape = Variable("batch", "batch", lasting=True, unique=True)  # of a model: what its border finds
        self.given_device, self.given_dtype = Given(DEVICE), Given(DTYPE)  # by callers
        self.readers: dict[int, ReadCount] = {}
        self.counters: dict[Const, Variable] = {}  # the number of a pass -> the variable of the loop around
        self._hints: dict[int, tuple[Axis, ...]] = {}
        self._laid: dict[int, tuple[Axis, ...]] = {}  # the order in which attention wants an operand
        self._wishes: dict[int, str] = {}
        self._families: dict[tuple[int, ...], Axis] = {}
        self._clocks: dict[tuple[int, Static], Variable] = {}
        # A width counts as at least 1: where it is 0 there are no items, and either library refuses to pick one.
        self.bounds = ranges.Bounds(self._representative, lambda axis: self.plan.least(axis) or 1)

    @property
    def made(self) -> list[str]:
        """All lines that a class owes to this: what tells one model from another."""
        return self.text

    @cached_property
    def text(self) -> list[str]:
        """What the class or function does, as it is written."""
        printer = CodePrinter(self.namer, WIDTH - self.margin, self.statements)
        printer.print(self.statements)
        return printer.lines

    # -- what a backend must spell ------------------------------------------------------------------------------

    @abstractmethod
    def size_code(self, axis: Axis) -> Code: ...

    @abstractmethod
    def point(self, op: str, vals: list[Val], out: Value) -> Code: ...

    @abstractmethod
    def const_code(self, const: Const) -> Code: ...

    @abstractmethod
    def bound_code(self, axis: Axis) -> Code: ...

    @abstractmethod
    def parameter(self, weight: Weight) -> Code: ...

    @abstractmethod
    def expanded(self, x: Val, shape: Sequence[Code]) -> Code: ...

    @abstractmethod
    def unflatten(self, x: Val, dim: int, axes: Sequence[Axis]) -> Code: ...

    def lookup(self, x: Val, e: Val) -> Code:
        """Rows of a table."""
        return at_items(x, [e.code])

    @abstractmethod
    def finish(self, node: Node, out: Value, val: Val) -> None: ...

    @abstractmethod
    def item_places(self, axis: Axis) -> Code:
        """Where the items of the chunks at hand stand in the whole sequence."""

    @abstractmethod
    def new_rows(self, x: Val, axis: Axis, clock: Code) -> Code:
        """What a table over all places says of those."""

    @abstractmethod
    def filled(self, shape: Code, value: Code, kind: Scalar, dtype: Code | None) -> Code: ...

    @abstractmethod
    def invoke(self, node: Call | Scan, plan: Plan, args: list[Code], keywords: list[Code]) -> Code: ...

    @abstractmethod
    def loop(
        self, node: Repeat, plans: list[Plan], targets: list[Variable], args: list[Code], keywords: list[list[Code]]
    ) -> For: ...

    @abstractmethod
    def counts(self, node: Repeat) -> bool:
        """Whether the number of the pass is a variable of the running code, rather than fixed when it is built."""

    @abstractmethod
    def found_at(self, label: str) -> Code:
        """Under which key of `found` a recorded value goes."""

    @abstractmethod
    def root_device(self) -> Code: ...

    @abstractmethod
    def root_dtype(self) -> Code | None: ...

    @abstractmethod
    def first_weight(self) -> Code | None: ...

    def checks_input(self, val: Val) -> bool:
        """Whether an input of a model is held to what it declares.

        What another model makes and broadcasts for one that it calls need not have all extents. In a step it has new
        items of one input and all so far of another, of one width: the model that is called checks what it is given.
        """
        stepped = self.graph.stepped
        whole = stepped is None or stepped.method != "step"
        return self.graph.kind == "model" and (
            self.plan.is_root or (whole and val.leading == FULL and not val.broadcast)
        )

    def lies_in(self, index: Val, axis: Axis) -> bool:
        """Whether an index is proved to lie within its axis, which bounds take to have items: that is seen to, too."""
        family = self.plan.family(axis)
        some = (
            self.plan.static_size(axis)
            or self.bounds.has_items(index.bounds, axis)
            or any(self.plan.family(other) == family and index.has(other) for other in index.axes)
        )
        return some and self.bounds.within(index.bounds, axis)

    def check_index(self, index: Code, extent: Code, axis: Axis) -> None:
        self.do(call("check_index", index, extent, f'"{self.graph.name}: index into {axis.name}"'))

    # -- what its table of words spells -------------------------------------------------------------------------

    def flatten(self, x: Val, first: int, last: int) -> Code:
        if last == -1:
            return self.write(self.words.flat_to_the_end, x.code, first)
        return self.write(self.words.flat, x.code, first, last)

    def arange(self, extent: Code) -> Code:
        device = [self.device] if "{1}" in self.words.indices else []
        return self.write(self.words.indices, extent, *device)

    def cast(self, x: Val, dtype: Code) -> Code:
        return self.write(self.words.doubled if dtype == self.float64 else self.words.cast, x.code, dtype)

    def new_places(self, axis: Axis) -> Code:
        """Where the new items of a step stand in the whole sequence; of a table, those that it is made for."""
        if self.tabulating:
            return call("cache.ahead", self.device)
        return self.write(
            self.words.new_places, self.clock(axis), *([self.device] if "{1}" in self.words.new_places else [])
        )

    @property
    def float64(self) -> Code:
        return Code(self.words.float64)

    def write(self, template: str, *operands: Code | int | tuple[int, ...]) -> Code:
        """One of the templates in `words`, with these operands."""
        return filled_in(template, [each if isinstance(each, Code) else Code(str(each)) for each in operands])

    def _bind_input(self, place: int, value: Value) -> None:
        state = self.file.inputs[self.plan][place]
        name = self.scope.inputs[place]
        kind = kind_of(value)
        code = Variable(name, name, lasting=True).code
        if value.role is Role.CONSTANT:
            val = Val(code, kind=kind, table=is_table(value), number=True, needs=1 << place)
        else:
            bounds = ANY
            element = value.type.element
            item = self.graph.inputs[place]
            if isinstance(element, IndexInto) and state.in_range and not padded(self.graph, item):
                bounds = self.bounds.positions(element.axis)
                if item.default is not None and self.plan.is_root:  # which the border does not look at
                    bounds = self.bounds.union(bounds, self.bounds.static(item.default))
            axes = self.core(value.type.axes)
            leading = NONE if state.leading is None else state.leading
            val = Val(code, axes, state.broadcast, leading, kind, is_table(value), False, 1 << place, bounds)
            stepped = self.graph.stepped
            if kind is Scalar.BOOL and stepped is None:
                val = replace(val, left_out=item.default == Literal(True) if self.plan.is_root else not state.given)
            if stepped is not None and value.id in stepped.absent:
                val = replace(val, broadcast=frozenset(axes), absent=True)
        self.inputs.append(val)
        self.keep(value, val)

    def keep(self, value: Value, val: Val) -> None:
        # A call, a scan or a repeat spreads all its results alike: also those that do not hang on what is spread.
        val = self.without(val, [axis for axis in val.axes if axis not in value.type.axes])
        self.env[value.id] = val

    def release(self, values: Iterable[Value]) -> None:
        """Notes one read of each value."""
        for value in values:
            self.readers[value.id].left -= 1

    def record(self, out: Value, val: Val) -> None:
        """Puts a value that is captured where the model finds it, and remembers its dimensions."""
        if val.number:
            dtype = self.dtype_of(kind_of(out), is_table(out))
            val = Val(self.filled(Code("()"), val.code, kind_of(out), dtype))
        val = self.full(
            val, [axis for axis in out.type.axes if axis in val.axes and axis not in out.type.broadcast_axes]
        )
        self.recorded[self.program.canonical(self.graph, out.id)] = val.axes
        place = self.found_at(self.file.captures.label(self.graph, out))
        self.do(Code.of("{}[{}] = {}", FOUND, place, val.code))

    def array(self, x: Val, axes: Sequence[Axis], kind: Scalar, table: bool) -> Val:
        """A number as an array, of size 1 along these axes."""
        code = self.filled(shape_of(["1"] * len(axes)), x.code, kind, self.dtype_of(kind, table))
        return replace(x, code=code, axes=tuple(axes), broadcast=frozenset(axes), kind=kind, table=table, number=False)

    def dtype_of(self, kind: Scalar, table: bool) -> Code | None:
        """The type of an array made anew; None for that of its kind. Tables are float64."""
        return self.float64 if table else self.dtype if kind is Scalar.REAL else None

    def order_wanted(self, value: Value) -> tuple[Axis, ...] | None:
        """In which order its readers would like the axes of a value, if they say so."""
        return self._hints.get(value.id)

    def reads_left(self, value: Value) -> int:
        reader = self.readers.get(value.id)
        return reader.left if reader else 0

    def core(self, axes: Iterable[Axis]) -> tuple[Axis, ...]:
        """Axes without those over which callers lift: these are leading dimensions, never named."""
        return tuple(axis for axis in axes if axis not in self.plan.lifted)

    # -- lines --------------------------------------------------------------------------------------------------

    def do(self, code: Code, *targets: Variable | None, comment: str = "") -> None:
        self.lines.append(Do(code, targets, comment))

    @contextmanager
    def looping(self) -> Iterator[list[Statement]]:
        """What is done here is done in a loop, which may have no step: an extent that is told in it is told there."""
        lines, told = self.lines, self.told.in_loop
        self.lines, self.told.in_loop = [], []
        yield self.lines
        for axis in self.told.in_loop:
            del self.told.known[axis]
        self.lines, self.told.in_loop = lines, told

    def shown(self, axes: Sequence[Axis]) -> str:
        """Axes for a comment: `[target, heads, key]`."""
        return "[" + ", ".join(axis.name for axis in axes) + "]"

    def let(self, wish: str, val: Val, place: Place = Place.LINE) -> Val:
        """The expression as a variable, which may have a line of its own."""
        variable = Variable(wish, lasting=place > Place.INLINE)
        self.lines.append(Let(variable, val.code, "" if val.number else self.shown(val.axes), place))
        return replace(val, code=variable.code)

    def named(self, val: Val, wish: str = "x") -> Val:
        """The value as a plain variable or attribute: for an expression that is written more than once."""
        return val if is_path(val.code.text) else self.let(wish, val, Place.INLINE)

    def one_word(self, val: Val, wish: str) -> Val:
        """The value as a variable or a number: for one that two lines read."""
        return val if re.fullmatch(r"\w+", val.code.text) else self.named(val, wish)

    # -- numbers ------------------------------------------------------------------------------------------------

    def static(self, static: Static) -> Code:
        """A static number in the running code: sizes as they are at run time."""
        return static_code(static, lambda axis: self.extent(axis).atom, self.const_code, careful=True)

    def _representative(self, axis: Axis) -> Axis:
        """One axis for all copies of a family (D4)."""
        return self._families.setdefault(self.plan.family(axis), axis)

    @abstractmethod
    def extent(self, axis: Axis) -> Code:
        """The size of an axis in the running code: known when built, or read from an argument's shape."""

    def whole(self, formula: Static, code: Code) -> Code:
        """A size that is known when it is built: an int, also where it is made of reals."""
        return code if self.plan.is_int(formula) else Code.of("int({})", code)

    def refuse(self, condition: Code, text: Code, where: list[Statement]) -> None:
        """What refuses an input where a condition holds: `text` is what the spec says of sizes."""
        where.append(refusal(condition, Code.of(f"{self.graph.name}: {{}}", text)))

    def is_new(self, axis: Axis) -> bool:
        """Whether the axis is one of the new items of a step."""
        assert self.graph.stepped is not None
        return axis.family == self.graph.stepped.new

    def endless(self, axis: Axis) -> bool:
        """Whether the axis is that of all items so far."""
        assert self.graph.stepped is not None
        return axis.family == self.graph.stepped.whole.family

    def along(self, axis: Axis) -> ItemsAlong | None:
        """What is known of an axis of a step whose items come in chunks, or behind a prefix."""
        stepped = self.graph.stepped
        return None if stepped is None else next((along for one, along in stepped.along if one == axis), None)

    def clock(self, axis: Axis) -> Code:
        """What knows which items of an axis a step has: the cache, or its view of chunks or of a prefix."""
        along = self.along(axis)
        if along is None:
            return Code("cache")
        size, chunk = (along.size, along.chunk) if along.size > 1 else (max(along.chunk, 1), 0)
        key = size, along.before
        if key not in self._clocks:
            before = {} if known(along.before) == 0 else {
                "before": static_code(along.before, self._prepared, self.const_code)
            }  # fmt: skip
            code = call("Along", "cache", *([size] if size > 1 else []), **before)
            assert self.graph.stepped is not None
            named = (a.name for a, one in self.graph.stepped.along if (one.size, one.before, one.chunk) == (*key, 0))
            clock = self._clocks[key] = Variable(f"along_{next(named, axis.name)}", lasting=True, unique=True)
            self.prologue.append(Let(clock, code, place=Place.ASIDE))
        code = self._clocks[key].code
        return Code.of("{}.chunks({})", code, str(chunk)) if chunk else code

    def _prepared(self, axis: Axis) -> Code:
        """The size of an axis that is not known before `prepare` is called."""
        if axis.extent is not None:
            return Code(str(axis.extent))
        self.file.asked.add(axis.name)
        return Code(f'cache.{"" if self.plan.is_root else "whole."}sizes["{axis.name}"]')

    def is_filled(self, axis: Axis) -> bool:
        """Whether the axis is that of all items so far and some copies of the last one."""
        stepped = self.graph.stepped
        return stepped is not None and stepped.filled is not None and axis.family == stepped.filled[0]

    @property
    def device(self) -> Code:
        """Where tables are made: an argument's device, a weight's, or the caller's."""
        if self._device is None:
            told = next((val.code for val in self.inputs if not val.number and not self._optional(val)), None)
            told = told or self.first_weight() or (self.root_device() if self.plan.is_root else None)
            self._device = self._told(self.given_device, "device", told)
        return self._device

    def _told(self, given: Given, attribute: str, of: Code | None) -> Code:
        """A variable called as everywhere, for an attribute of something; else callers give it."""
        if of is None:
            return given.code
        variable = Variable(given.name, given.name, lasting=True, unique=True)
        self.prologue.append(Let(variable, Code.of(f"{{}}.{attribute}", of.atom), place=Place.ASIDE))
        return variable.code

    def _optional(self, val: Val) -> bool:
        place = next(at for at, each in enumerate(self.inputs) if each is val)
        return self.graph.inputs[place].default is not None

    @property
    def dtype(self) -> Code:
        """The model's own type of reals: a real argument's, a weight's, or the caller's."""
        if self._dtype is None:
            reals = (val for val in self.inputs if not val.number and val.kind is Scalar.REAL and not val.table)
            told = next((val.code for val in reals if not self._optional(val)), None)
            told = told or self.first_weight() or (self.root_dtype() if self.plan.is_root else None)
            self._dtype = self._told(self.given_dtype, "dtype", told)
        return self._dtype

    # -- layout -------------------------------------------------------------------------------------------------

    def permute(self, x: Val, order: Sequence[Axis]) -> Val:
        """The same dimensions in another order."""
        order = tuple(order)
        if x.axes == order:
            return x
        x = self.named(x)
        rank = len(order)
        moved = [place for place in range(rank) if x.axes[place] != order[place]]
        one = next((axis for axis in order if but(x.axes, axis) == but(order, axis)), None)
        if len(moved) == 2:
            first, second = moved[0] - rank, moved[1] - rank
            last_two = (first, second) == (-2, -1)
            code = self.write(self.words.transposed if last_two else self.words.swapped, x.code, first, second)
        elif one is not None:
            code = self.write(self.words.moved, x.code, x.dim(one), order.index(one) - rank)
        else:
            source = tuple(x.dim(order[place]) for place in moved)
            code = self.write(self.words.moved, x.code, source, tuple(place - rank for place in moved))
        return replace(x, code=code, axes=order)

    def align(self, x: Val, order: Sequence[Axis], short: bool = False) -> Val:
        """x with exactly these dimensions: permuted, and of size 1 where it has no such axis.

        short: dimensions that would come first may be left out, where nothing stands before them.
        """
        order = tuple(order)
        if x.number or x.axes == order:
            return x
        if x.absent:
            there = self.align(replace(x, absent=False), order, short)
            code = Code.of("None if {} is None else {}", x.code, there.code, level=TERNARY)
            return replace(there, code=x.code if there.code == x.code else code, absent=True)
        x = self.without(x, [axis for axis in x.axes if axis in x.broadcast and axis not in order])
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
        if short and x.leading == NONE:
            while wanted and wanted[0] not in x.axes:
                wanted.pop(0)
            if not any(axis not in x.axes for axis in wanted):
                return x
        items = [":" if axis in x.axes else "None" for axis in wanted]
        if x.leading == NONE:
            while items[-1] == ":":
                items.pop()
        else:
            items = ["...", *items[items.index("None") :]]
        code = at_items(x, items)
        broadcast = x.broadcast | {axis for axis in wanted if axis not in x.axes}
        return replace(x, code=code, axes=tuple(wanted), broadcast=broadcast)

    def without(self, x: Val, broadcast: Sequence[Axis]) -> Val:
        """x without dimensions that it is the same along, of which its reader knows nothing."""
        x = self.first(x, [axis for axis in broadcast if not self.plan.static_size(axis)])  # which may have no item
        broadcast = [axis for axis in broadcast if axis in x.axes]
        if not broadcast:
            return x
        first = min(x.axes.index(axis) for axis in broadcast)
        items = ["0" if axis in broadcast else ":" for axis in x.axes[first:]]
        if first or x.leading != NONE:
            items.insert(0, "...")
        axes = tuple(axis for axis in x.axes if axis not in broadcast)
        return replace(x, code=at_items(x, items), axes=axes, broadcast=x.broadcast - set(broadcast))

    def first(self, x: Val, axes: Iterable[Axis]) -> Val:
        """The first item along these axes, or zeros where there is none: for what does not hang on it."""
        for axis in axes:
            place = x.axes.index(axis) - len(x.axes)
            first = at_items(x, ["...", ":1", *[":"] * (-place - 1)])
            code = Code.of("{}.any({})" if x.kind is Scalar.BOOL else "{}.sum({})", first, place)
            left = tuple(a for a in x.axes if a != axis)
            x = replace(x, code=code, axes=left, broadcast=x.broadcast - {axis})
        return x

    def full(self, x: Val, axes: Iterable[Axis]) -> Val:
        """x with these axes at their true extent."""
        wanted = [axis for axis in axes if not x.has(axis)]
        if not wanted:
            return x
        assert not x.number  # CodeBody.spread_number
        x = self.named(self.align(x, (*(axis for axis in wanted if axis not in x.axes), *x.axes)))
        sizes = [self.extent(axis) if axis in wanted else length(x, axis) for axis in x.axes]
        leading = [] if x.leading == NONE else [Code.of("*{}", leading_of(x))]
        return replace(x, code=self.expanded(x, [*leading, *sizes]), broadcast=x.broadcast - set(wanted))

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
        hint = self._hints.get(out.id)
        if arrays[0].axes and len(arrays[0].axes) == len(found) and not (hint and out.role <= Role.TABLE):
            return arrays[0].axes
        order = hint if hint and set(found) <= set(hint) else self.core(out.type.axes)
        kept = [axis for axis in order if axis in found]
        return (*(axis for axis in found if axis not in kept), *kept)

    def combine(self, vals: Sequence[Val], code: Code, order: Sequence[Axis], out: Value, **more: object) -> Val:
        """The result of an op that broadcasts its operands: what it may lack, and what it hangs on.

        An axis that no operand knows is the op's own, and has its extent.
        """
        arrays = [val for val in vals if not val.number]
        lacked = {axis for val in arrays for axis in val.broadcast}
        broadcast = frozenset(axis for axis in order if axis in lacked and not any(val.has(axis) for val in arrays))
        result = Val(
            code, tuple(order), broadcast, join_leading(val.leading for val in arrays), kind_of(out), is_table(out),
            needs=needed(val.needs for val in vals),
        )  # fmt: skip
        return replace(result, **more)  # type: ignore[arg-type]

    # -- kinds of elements --------------------------------------------------------------------------------------

    def real(self, x: Val, table: bool, like: Sequence[Val] = ()) -> Val:
        """x as reals: float64 in a table, else of the model's own type."""
        if x.number or (x.kind is Scalar.REAL and x.table == table):
            return x
        if table:
            dtype = self.float64
        else:
            near = next((v for v in like if not v.number and v.kind is Scalar.REAL and not v.table and v.lasting), None)
            dtype = Code.of("{}.dtype", near.code) if near else self.dtype
        return replace(x, code=self.cast(x, dtype), kind=Scalar.REAL, table=table, bounds=ANY)

    def pointwise(self, node: Apply, vals: list[Val]) -> Val:
        """An op done for each index: operands are aligned, and made reals of one type where the result is real."""
        out, how = node.out, node.traits.reads
        meaning = how.meaning if isinstance(how, Pointwise) else None
        if all(val.number for val in vals):  # an op that is written of arrays alone
            vals = [
                self.array(val, (), kind_of(operand), is_table(operand))
                for val, operand in zip(vals, node.operands, strict=True)
            ]
        if isinstance(meaning, Choice) and vals[0].number:  # `where` wants an array to choose by
            chosen = self.filled(Code("()"), vals[0].code, Scalar.BOOL, None)
            vals = [replace(vals[0], code=chosen, kind=Scalar.BOOL, number=False), *vals[1:]]
        if isinstance(meaning, Remainder) and vals[0].kind is vals[1].kind is Scalar.INT and not self._divides(*vals):
            vals = [vals[0], self._or_one(vals[1])]
        order = self.union_order(vals, out)
        if kind_of(out) is Scalar.REAL:
            vals = [val if val.kind is Scalar.BOOL else self.real(val, is_table(out), vals) for val in vals]
        power = vals[1].code.text if isinstance(meaning, Power) and vals[1].number else ""
        vals = [self.align(val, order, short=True) for val in vals]
        if power in ("2", "3"):  # far faster than `**` (SPEED.md), and the same number
            x = self.named(vals[0])
            product = joined([x.code] * int(power), " * ")
            return self.combine([x, vals[1]], replace(product, level=TERM), order, out)
        return self.combine(vals, self.point(node.op, vals, out), order, out)

    def _or_one(self, divisor: Val) -> Val:
        """A divisor of ints, 1 where it is 0, which leaves the rest 0: PyTorch refuses to divide ints by 0."""
        if divisor.number:
            return replace(divisor, code=Code.of("{} or 1", divisor.code.at(AND), level=OR))
        code = self.named(divisor, "divisor").code
        return replace(divisor, code=call(f"{self.words.library}.where", binary("!=", code, Code("0")), code, 1))

    def _divides(self, x: Val, size: Val) -> bool:
        """Whether a number is surely not 0 where x has items: it is 1 or more, or the size of one of its axes."""
        low = size.bounds.low
        if low is None or any(low == self.bounds.size(axis) for axis in x.axes):
            return low is not None
        if low == size.bounds.high and low[0].keys() == {None}:  # a number as written
            return low[0][None] != 0
        least = {axis: (self.plan.least(axis) or 0) if axis else 1 for form in low for axis in form}
        return all(sum(least[axis] * n for axis, n in form.items()) > 0 <= min(form.values()) for form in low)


def in_text(code: Code) -> Code:
    """A number in the text of an f-string."""
    return code if code.text.isdecimal() else joined(["{", code, "}"], "")


def length(x: Val, axis: Axis) -> Code:
    """How many items an array has along an axis."""
    return Code.of("{}.shape[{}]", x.atom, x.dim(axis))


def leading_of(x: Val) -> Code:
    """The shape of the leading dimensions."""
    return Code.of(f"{{}}.shape[:-{len(x.axes)}]" if x.axes else "{}.shape", x.atom)


def at_items(x: Val, items: Sequence[Code | str]) -> Code:
    """`x[..., 0, :]`."""
    return Code.of("{}[{}]", x.atom, joined(items))


def shape_of(sizes: Sequence[Code | str]) -> Code:
    """`(2, n)`, `(n,)`, `()`."""
    return Code.of("({},)" if len(sizes) == 1 else "({})", joined(sizes))


def but(axes: tuple[Axis, ...], axis: Axis) -> tuple[Axis, ...]:
    """All but one of them."""
    return tuple(other for other in axes if other != axis)


def plan_axes(plan: Plan, place: int) -> tuple[Axis, ...]:
    """The dimensions of a class's argument, in the class's own axes."""
    return tuple(axis for axis in plan.graph.inputs[place].value.type.axes if axis not in plan.lifted)
