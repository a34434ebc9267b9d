"""The statements of one class or function, the same for both backends; each backend adds its spelling and its ops."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import ClassVar

from ...compiler.graph.extents import claim_of, demand_of, holds
from ...compiler.graph.nodes import (
    Apply,
    Call,
    Constant,
    Node,
    Output,
    Parameter,
    Positions,
    Repeat,
    Scan,
    Weight,
    makes,
    reads,
)
from ...compiler.graph.traits import (
    Anything,
    Arrange,
    Combination,
    Gather,
    IndexMap,
    Meaning,
    OpTraits,
    Pointwise,
    Product,
    Quotient,
    Reduce,
    Rounded,
    Running,
    Sum,
)
from ...compiler.graph.values import IndexInto, Role, Scalar, Value
from ...compiler.ops import Op, op_meaning
from ...compiler.rewrites.tools.operands import operand_axes
from ...compiler.sizes.axes import Axis, Literal
from ..plan.plan import ClassPlan, OutputState
from ..text.expressions import Code, Variable, binary, call, filled_in, folded, joined, number, up_to
from ..text.names import FOUND
from ..text.numbers import of_unknown
from ..text.printer import reads_of
from ..text.ranges import ANY, Interval
from ..text.statements import Do, Place, Returns, Statement
from ..text.values import FULL, NONE, Val, is_table, kind_of, needed, without_code
from .calls import call_block
from .extents import extent, find_extent
from .layout import MemoryLayout, ReadCount, at_items, in_text, leading_of, length, plan_axes
from .repeats import repeat
from .scans import scan

Emit = Callable[["CodeBody", Apply, list[Val]], Val | None]


class CodeBody(MemoryLayout):
    """Lowers one class or function, node by node. Subclasses: TorchBody, NumpyBody."""

    common: ClassVar[Mapping[str, Emit]]  # ops whose code is alike in both backends: their table (ops.py)
    learner: ClassVar[str] = ""  # the module that the model is, where weights lie in modules

    def lower(self) -> ClassPlan:
        """Makes the statements, once callers have told what arguments are like; gives what is read off them."""
        graph, plan = self.graph, self.plan
        beside = self.beside()
        for place, node in enumerate(graph.nodes):
            for value in reads(node) if place not in beside else ():
                self.readers.setdefault(value.id, ReadCount()).left += 1
        for output in graph.outputs:
            self.readers.setdefault(output.value.id, ReadCount()).left += 1
        for number_, item in enumerate(graph.inputs):
            self._bind_input(number_, item.value)
        self._find_hints()
        self.begin()
        for self.place, node in enumerate(graph.nodes):
            if self.place not in beside:
                self.node(node)
        self.returned = [self._output(output, number_) for number_, output in enumerate(graph.outputs)]
        states = []
        for output, val in zip(graph.outputs, self.returned, strict=True):
            element = output.value.type.element
            in_range = isinstance(element, IndexInto) and self.lies_in(self.env[output.value.id], element.axis)
            states.append(OutputState(val.axes, val.broadcast, val.leading, val.number, val.needs, in_range))
        if plan.on_path and plan.is_root:
            self.checks.append(Do(Code(f"{FOUND}: dict[str, {self.file.array}] = {{}}")))
        self.statements = [*self.sizes, *self.checks, *self.prologue, *self.lines, *self.end()]
        return self.asked(tuple(states), reads_of(self.statements))

    def asked(self, outputs: tuple[OutputState, ...], read: Set[Variable]) -> ClassPlan:
        """What these reads ask of callers: of widths the extents, and what is built of calls the rest."""
        plan, scope = self.plan, self.scope
        return ClassPlan(
            outputs,
            tuple(axis for axis in plan.axes if scope.axes[axis] in read and plan.static_size(axis)),
            tuple(axis for axis, most in scope.bounds.items() if most in read),
            tuple(const for const, given in scope.consts.items() if given in read and const not in plan.late),
            tuple(axis for axis in plan.axes if scope.axes[axis] in read and not plan.static_size(axis)),
            tuple(const for const in plan.late if const in scope.consts and scope.consts[const] in read),
            self.given_device in read,
            self.given_dtype in read,
        )

    def extent(self, axis: Axis) -> Code:
        return extent(self, axis)

    def begin(self) -> None:
        """What a model does before anything else: checks at its border."""

    def _find_hints(self) -> None:
        """In which order readers would like the axes of a value: back from calls and outputs through pointwise ops."""
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
            elif isinstance(node, Repeat):
                for item, arg in zip(node.bodies[0].inputs, node.args, strict=True):
                    self._hints.setdefault(arg.id, self.core(item.value.type.axes))
                    self._wishes.setdefault(arg.id, item.name)
            elif isinstance(node, Apply) and node.op == "attention":
                lead = [axis for axis in self.core(node.out.type.axes) if axis not in node.made]
                for operand, own in operand_axes(node)[:3]:
                    order = (*(axis for axis in lead if axis in operand.type.axes), *own)
                    self._hints.setdefault(operand.id, order)
                    self._laid.setdefault(operand.id, order)
                if node.mask is not None:
                    self._wishes.setdefault(node.mask.id, "mask")
                    self._hints.setdefault(node.mask.id, (*lead, node.axes[-1]))
            elif isinstance(node, Apply) and node.out.id in self._hints and not node.axes:
                for operand in node.operands:
                    self._hints.setdefault(operand.id, self._hints[node.out.id])
                if node.operands and node.out.id in self._wishes and kind_of(node.operands[0]) is Scalar.BOOL:
                    self._wishes.setdefault(node.operands[0].id, self._wishes[node.out.id])

    # -- nodes --------------------------------------------------------------------------------------------------

    def node(self, node: Node) -> None:
        match node:
            case Constant(value, out):
                if self.reads_left(out) == 0 and out.id not in self.plan.captured:  # a rewrite took its reader
                    return
                code = self.static(value) if not isinstance(value, Literal) else number(value.value)
                val = Val(code, kind=kind_of(out), table=True, number=True, bounds=self.bounds.static(value))
                self.finish(node, out, val)
            case Positions(axis, out):
                val = Val(self.arange(self.extent(axis)), (axis,), kind=Scalar.INT, bounds=self.bounds.positions(axis))
                self.finish(node, out, val)
            case Parameter(weight, out):
                self._parameter(node, weight, out)
            case Apply():
                self._apply(node)
            case Call():
                call_block(self, node)
            case Repeat():
                repeat(self, node)
            case Scan():
                scan(self, node)

    def _parameter(self, node: Node, weight: Weight, out: Value) -> None:
        code = self.parameter(weight)
        axes = tuple(axis for dim in weight.dims for axis in dim)
        stepped = self.graph.stepped
        times = stepped.times if stepped is not None else frozenset()  # of them a step takes what it wants (slice_)
        cut = [axis for axis in axes if axis.bound is not None and axis.extent is None and axis.family not in times]
        slices = [up_to(self.extent(axis)) if axis in cut else ":" for axis in axes]
        while slices and slices[-1] == ":":
            slices.pop()
        if slices:
            code = at_items(Val(code), slices)
        self.finish(node, out, Val(code, axes))

    def finish(self, node: Node, out: Value, val: Val) -> None:
        """Binds a node's result: to a variable, which may have a line; a number is written wherever it is read."""
        self.release(reads(node))
        if not val.number:
            returned = len(self.graph.outputs) == 1 and self.graph.outputs[0].value.id == out.id
            val = self._as_read(out, val)
            place = Place.NAMED if out.name is not None else Place.ANYWHERE if returned else Place.INLINE
            val = self.let(out.name or self.wish(node), val, place)
        if out.id in self.plan.captured:
            self.record(out, val)
        self.keep(out, val)

    def _as_read(self, out: Value, val: Val) -> Val:
        """What attention alone reads, in the order in which it wants it."""
        order = self._laid.get(out.id)
        if order is None or self.reads_left(out) != 1 or out.id in self.plan.captured or set(order) != set(val.axes):
            return val
        return self.permute(val, order)

    def wish(self, node: Node) -> str:
        """What to call an unnamed result: as its reader calls it, where that is a block or a mask."""
        made = makes(node)[0].id
        if made in self._wishes and not isinstance(node, Positions):
            return self._wishes[made]
        if isinstance(node, Apply) and node.op == "positions":
            return f"{node.axes[0].name}_index"
        if isinstance(node, Apply):
            return node.traits.result if isinstance(node.traits, Op) else "x"
        return f"{node.axis.name}_index" if isinstance(node, Positions) else "x"

    def emits(self, op: str) -> bool:
        """Whether a function of the backend's `ops.py` makes the code of an op, of whatever operands."""
        return op in self.file.ops

    def apply(self, node: Apply, vals: list[Val], mask: Val | None) -> Val:
        emit = self.file.ops.get(node.op)
        return self.pointwise(node, vals) if emit is None else emit(self, node, vals, mask)

    def spelled(self, row: OpTraits, vals: list[Val], template: str, backend: str) -> Code:
        """An op done item by item, by the template of its row: one of two operands serves more."""
        codes = [val.code for val in vals]
        if isinstance(row.reads, Pointwise) and isinstance(row.reads.meaning, Rounded) and vals[0].kind is Scalar.INT:
            return codes[0]
        if not template:
            raise without_code(row.name, self.graph.name, backend)
        return folded(template, codes) if len(codes) > 2 and "{2}" not in template else filled_in(template, codes)

    def spread_number(self, val: Val, operand: Value) -> Val:
        """A number that is spread over axes, as an array: the op acts on one of them."""
        axes = self.core(operand.type.axes)
        return self.array(val, axes, kind_of(operand), is_table(operand)) if val.number and axes else val

    def _apply(self, node: Apply) -> None:
        given, node = node, self._whole_quotient(node)
        vals = [self.env[operand.id] for operand in node.operands]
        emit = self.common.get(node.op)
        if emit is not None:
            common = emit(self, node, vals)
            if common is None:
                self.release(reads(node))
            else:
                self.finish(node, node.out, common)
            return
        match node.traits.reads:
            case Arrange(IndexMap.SAME) | Gather():
                pass
            case _ if node.axes:
                vals = [self.spread_number(val, operand) for val, operand in zip(vals, node.operands, strict=True)]
        match node.traits.reads:
            case Gather() | Pointwise(Sum()) | Anything():  # axes of an operand, or what the result points into
                pass
            case _:  # what it makes, an operand may have in name only
                made = [axis for axis in node.made if axis not in node.axes]
                vals = [self.without(val, [a for a in made if a in val.broadcast]) for val in vals]
        mask = self._mask(node)
        self._check_extents(node)
        val = self._known(node, vals)
        if val is None:
            val = self.apply(node, vals, mask)
            val = replace(val, bounds=self._bounds(node, vals, val)) if val.kind is Scalar.INT else val
        self.finish(given, node.out, self.of_several(node, val) if "several" in node.options else val)

    def _whole_quotient(self, node: Apply) -> Apply:
        """`n // 2` for `floor(n / 2)` of positions: int64 that floats hold, and so the same numbers."""
        if node.traits.reads != Pointwise(Rounded(up=False)) or node.out.role > Role.TABLE:
            return node
        ratio = self.index.op(node.operands[0])
        if ratio is None or ratio.traits.reads != Pointwise(Quotient(whole=False)) or ratio.out.name is not None:
            return node
        x, divisor = (self.env[operand.id] for operand in ratio.operands)
        if x.number or not x.kind is divisor.kind is Scalar.INT or not self._divides(x, divisor):
            return node
        return replace(node, traits=op_meaning(Quotient(whole=True)), operands=ratio.operands)

    def _known(self, node: Apply, vals: list[Val]) -> Val | None:
        """The result of an op done item by item, if it is an operand, or a number made of numbers."""
        if self.emits(node.op):
            return None
        match node.traits.reads:
            case Pointwise(meaning) if (
                kind_of(node.out) is Scalar.INT and (same := unchanged(meaning, vals)) is not None
            ):
                return same
            case Pointwise() if all(val.number for val in vals):
                code = of_unknown(node.op, [val.code for val in vals])
                if code is None:
                    return None
                needs = needed(val.needs for val in vals)
                bounds = self.bounds.apply(node.op, [val.bounds for val in vals])
                return Val(code, kind=kind_of(node.out), table=True, number=True, needs=needs, bounds=bounds)
            case _:
                return None

    def _bounds(self, node: Apply, vals: list[Val], made: Val) -> Interval:
        """Between which integers the items of a result surely lie."""
        known = [val.bounds for val in vals]
        match node.traits.reads:
            case Pointwise():
                return made.bounds if self.emits(node.op) else self.bounds.apply(node.op, known)
            case Reduce(indices=True):
                return self.bounds.positions(node.axes[0])
            case Gather() | Running(Combination(largest=bool())):  # items of the first operand
                return known[0]
            case Arrange(map) if map is not IndexMap.SHIFTED:  # which adds a number to them
                return self.bounds.any_of(known)
            case _:
                return ANY

    def _mask(self, node: Apply) -> Val | None:
        """What an op leaves out. One truth for all items (`where near > 1`) becomes an array along its axis."""
        if node.mask is None:
            return None
        mask = self.env[node.mask.id]
        return self.array(mask, self.core(node.axes[-1:]), Scalar.BOOL, False) if mask.number else mask

    def _check_extents(self, node: Apply) -> None:
        """A line that refuses extents which do not fit one another, unless they surely do."""
        claim = claim_of(node)
        if claim is None or all(holds(claim, axes) for axes, _ in self.plan.instances):
            return
        if any(along.chunk for axis in [*node.axes, *node.made] if (along := self.along(axis))):
            return  # it has as many as the chunks at hand
        left, relation, right = claim
        if not all(self.plan.static_size(axis) or find_extent(self, axis) for axis in [*node.axes, *node.made]):
            return  # one of them is what this op makes it
        here, there = self.static(left), self.static(right)
        text = Code.of(demand_of(node, claim), in_text(here), in_text(there))
        self.refuse(binary("!=" if relation == "==" else ">", here, there), text, self.lines)

    def checked(self, e: Val, axis: Axis) -> Val:
        """An index that surely lies within its axis: proved, or checked when the code runs."""
        if self.lies_in(e, axis):
            return e
        e = self.one_word(e, "index")
        self.check_index(e.code, self.extent(axis), axis)
        return replace(e, bounds=self.bounds.positions(axis))

    # -- results ------------------------------------------------------------------------------------------------

    def _output(self, output: Output, place: int) -> Val:
        val = self.env[output.value.id]
        order = self.core(output.axes)
        if self.graph.kind == "repeat":
            order = plan_axes(self.plan, place)
        # It does not vary along these, though they may have their extent.
        broadcast = val.broadcast | output.value.type.broadcast_axes
        val = val if val.number else self.without(val, [a for a in val.axes if a in broadcast and a not in order])
        if val.number:
            again = self.graph.kind == "repeat" and self.env[self.graph.inputs[place].value.id].number
            called = self.graph.kind == "block" or (self.graph.kind == "model" and not self.plan.is_root)
            if called or again:  # a number in each pass
                return val
            kind, table = kind_of(output.value), is_table(output.value)
            val = self.array(val, order, kind, table and self.graph.kind == "repeat")
        if self.graph.kind == "repeat" and kind_of(self.graph.inputs[place].value) is Scalar.REAL:
            val = self.real(val, is_table(self.graph.inputs[place].value))
        if self.plan.is_root:
            if val.kind is Scalar.REAL and val.table:
                val = self.real(val, False)
            return self.complete(self.full(val, order), order)
        return self.align(val, order)

    def end(self) -> list[Statement]:
        """The `return`."""
        results, comment = (
            tuple(val.code for val in self.returned),
            ", ".join(self.shown(val.axes) for val in self.returned),
        )
        if not results:
            return [Do(Code("return cache"))] if self.plan.is_root else []
        made = self.plan.results if self.graph.kind == "model" and len(results) > 1 else ""
        if not (self.plan.is_root and self.file.captures.wanted):
            return [Returns(results, made, comment)]
        found = joined(self.file.captured(self.batch()), "\n")
        result = Do(call(made, *results) if made else joined(results), (Variable("", "result"),), comment)
        return [result, Do(joined(["return result, {", found, "}"], "\n"))]

    def complete(self, val: Val, order: Sequence[Axis]) -> Val:
        """A model's result in declared order, with the batch."""
        val = self.permute(val, order)
        if val.leading == FULL:
            return val
        val = self.named(val, "out")
        sizes = [length(val, axis) for axis in val.axes]
        return replace(val, code=self.expanded(val, [Code.of("*{}", self.batch()), *sizes]), leading=FULL)

    def batch(self) -> Code:
        """The extents of the batch axes."""
        if any(map(self.checks_input, self.inputs)):
            return self.batch_shape.code
        val = next((val for val in self.inputs if val.leading != NONE), None)
        return Code("()") if val is None else leading_of(val)

    def longest(self, axis: Axis) -> Code:
        """How many items there can be at most along the axis of decoding."""
        return Code(str(axis.extent if axis.extent is not None else axis.bound))

    def known_size(self, axis: Axis) -> Code:
        """The size of a depth of the model, where a step and `generate` ask for it."""
        return Code(str(axis.extent))

    @abstractmethod
    def configuration(self) -> str:
        """What `prepare` and `step` call that which tells the model's caches from those of others."""

    @abstractmethod
    def learned(self, maps: list[Apply]) -> Code:
        """The arguments of `cache.maps` that say which maps."""

    def made_here(self, node: Apply) -> None:
        """Sees to it that a map is made at this place among those of the class, if it is made there."""

    def places_so_far(self, axis: Axis) -> Code:
        """The places in the whole sequence of the items of a span, up to the last of the new ones."""
        end = Code.of("{}.end", self.clock(axis))
        along = self.along(axis)
        endless = self.endless(axis) if along is None else along.keep is None
        return self.arange(end if endless else joined([binary("-", end, self.extent(axis)), end]))

    def beside(self) -> set[int]:
        """The places of the nodes that have their lines before all others: those that make tables."""
        return set()

    def of_several(self, node: Apply, mask: Val) -> Val:
        """A mask that hides nothing from one new item (compiler/decoding/steps/unmask.py)."""
        return mask

    def depth_of_heads(self, maps: list[Apply]) -> Code | None:
        """The depth of the heads that all of these maps make, where it is one; None where heads stay behind items."""
        return None

    @abstractmethod
    def mapped(self, x: Val, node: Apply) -> Code:
        """x [..., in] through a learned map alone."""


def unchanged(meaning: Meaning, vals: list[Val]) -> Val | None:
    """The operand that stays as it is: `x + 0`, `x - 0`, `x * 1`, where a step has filled in what it knows."""
    match meaning:
        case Sum(times) if len(times) > 1:
            neutral = "0"
        case Product():
            times, neutral = (1,) * len(vals), "1"
        case _:
            return None
    for place, x in enumerate(vals):
        others = [*vals[:place], *vals[place + 1 :]]
        if (
            x.kind is Scalar.INT
            and times[place] == 1
            and all(val.number and val.code.text == neutral for val in others)
        ):
            return x
    return None
