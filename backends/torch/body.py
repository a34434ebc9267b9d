"""PyTorch code of one class: how its `__init__` and `forward` are spelled."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce

from ...compiler.decoding.steps.tabulate import made_for_tables
from ...compiler.graph.inventory import inventory
from ...compiler.graph.nodes import NESTS, Apply, Call, Graph, Init, Parameter, Repeat, Scan, Weight
from ...compiler.graph.traits import Pointwise, Remainder
from ...compiler.graph.values import Scalar, Value
from ...compiler.ops import WrittenOp, op_named
from ...compiler.sizes.arithmetic import product
from ...compiler.sizes.axes import Axis, Const, ConstOf, Literal, SizeOf, Static, axes_in, consts_in
from ..emit.body import CodeBody
from ..emit.border import batch_of, border, defaults
from ..emit.calls import built, cache_at, counted
from ..emit.decoder import begin_decoding
from ..emit.extents import hold_derived
from ..emit.layout import CodeFile, Words, at_items, shape_of
from ..emit.ops import COMMON
from ..emit.repeats import by_pass
from ..plan.capture import segment
from ..plan.plan import ClassPlan, Plan
from ..text.docstrings import remarked
from ..text.expressions import OPERATORS, TERNARY, Attribute, Code, Given, Variable, call, joined, operator, times
from ..text.names import AT, DIVIDED, FOUND, MODULE_ATTRIBUTES, Namer, plain
from ..text.numbers import static_code
from ..text.printer import CodePrinter, reads_of
from ..text.statements import Block, Do, For, Let, Place, Statement, side_by_side
from ..text.values import CannotEmit, Val, is_table
from ..text.writing import WIDTH, is_one_of, singular
from .tables import write_tables


def accessible(name: str) -> bool:
    """Whether `self.name` is Python, and means that name (Python mangles `__name` inside a class)."""
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")


def attribute(name: str) -> str:
    *around, own = name.split(".")
    of = ".".join(["self", *around])
    return f"{of}.{own}" if accessible(own) else f'getattr({of}, "{own}")'


def assigned(name: str, value: Code) -> Do:
    *around, own = name.split(".")
    if accessible(own):
        return Do(value, (Attribute(attribute(name)),))
    return Do(Code.of('setattr({}, "{}", {})', ".".join(["self", *around]), own, value))


Made = tuple[Plan, Callable[[], list[Code]]]  # the class of a module, and what it is given: known when that is lowered
HALF = 65504.0  # the largest float16: `torch.full` refuses what its type has no room for
Emit = Callable[["TorchBody", Apply, list[Val], Val | None], Val]
Point = Callable[["TorchBody", list[Val], Value], Code]


class TorchBody(CodeBody):
    """Emits `__init__` and `forward` of one class."""

    words = Words(
        library="torch",
        moved="{0}.movedim({1}, {2})",
        swapped="{0}.transpose({1}, {2})",
        transposed="{0}.mT",
        flat="{0}.flatten({1}, {2})",
        flat_to_the_end="{0}.flatten({1})",
        stacked="torch.stack({0}, {1})",
        items="{0}.unbind({1})",
        indices="torch.arange({0}, device={1})",
        new_places="{0}.places({1})",
        taps="taps({0}, {1}.place)",
        cast="{0}.to({1})",
        doubled="{0}.double()",
        float64="torch.float64",
        int64="torch.int64",
        truth="torch.bool",
    )
    common = COMMON

    learner = "self"

    def __init__(self, file: CodeFile, plan: Plan) -> None:
        super().__init__(file, plan)
        self.margin = 4 if plan.key in file.functions else 8
        self.init: list[Callable[[], Sequence[Do]]] = []  # what it adds to `__init__`, once all is lowered
        self.holders: list[str] = []  # modules that do nothing but hold others: repeats whose weights stand here
        self.remarks: dict[Do, str] = {}  # what the spec says of lines of `__init__`
        self.modules: dict[str, Code | Plan] = {}  # attribute -> what it is made with
        # where they are made and by which lines, until that is settled
        self.makers: dict[str, tuple[TorchBody, list[Callable[[], Sequence[Do]]]]] = {}
        self.stored: dict[Variable, Attribute] = {}  # by what `__init__` knows it
        self.derived: dict[Axis, Code] = {}  # sizes that __init__ computes from others
        self.built: list[Statement] = []  # `__init__`, in the end
        self.top = self  # the body of the class that this is a method of
        self._first_weight: Code | None = None
        self.attributes = Namer(MODULE_ATTRIBUTES | DIVIDED | self.program.methods, "")
        self.home: TorchBody | None = None
        self._home_axes: dict[Axis, Axis] = {}
        self._home_consts: dict[Const, Static] = {}
        within = None if plan in file.over_nothing else plan.owner or plan.caller
        if within is not None:
            self._move_in(file, within)
            return
        self._reserve_weights(file, plan.graph)
        self.parts: dict[tuple[str, Code], str] = {}  # of blocks without weights: wish, how it is made -> attribute
        self._first_weight = self._find_weight()

    def _reserve_weights(self, file: CodeFile, graph: Graph) -> None:
        """Weight paths come first: they are what the spec says. Those of a model that is called stand here too."""
        for node in graph.nodes:
            if isinstance(node, Apply) and node.name is not None:
                self.attributes.reserve(node.name)
            elif isinstance(node, Parameter):
                self.attributes.reserve(node.weight.name.split(".")[0])
            elif isinstance(node, Call | Scan) and not node.name:
                self._reserve_weights(file, node.graph)
            elif isinstance(node, Repeat) and node.beside:
                for body in node.bodies:
                    self._reserve_weights(file, body)
                self.attributes.reserve(node.name)
            elif isinstance(node, NESTS) and self.program.homes.learns(node):
                self.attributes.reserve(node.name)

    def _move_in(self, file: CodeFile, within: Plan) -> None:
        """A method besides `forward`: it uses what the class's `__init__` makes, and may add to it."""
        home = file.lowering(within)
        assert isinstance(home, TorchBody)
        self.home, self.top = home, home.top
        self.modules, self.stored, self.sizes, self.remarks = home.modules, home.stored, home.sizes, home.remarks
        self.makers = home.makers
        self.attributes = home.attributes
        call = self.plan.call
        if isinstance(call, Repeat):  # its axes and consts are those of the graph around
            axes, consts = self.program.bindings[id(self.graph)]
            self._home_axes = dict(axes)
            self._home_consts = {own: ConstOf(theirs) for own, theirs in consts.items() if theirs != call.index}
            if any(weight.startswith(f"{call.name}.") for weight in inventory(self.graph)):
                self.top.holders.append(call.name)
            self._first_weight = home._first_weight
            return
        if call is not None:
            axes, consts = self.program.bindings[id(call.graph)]
            sizes, numbers = dict(call.axes), dict(call.consts)
            self._home_axes = {own: sizes[theirs] for own, theirs in axes.items() if theirs in sizes}
            self._home_consts = {own: numbers[theirs] for own, theirs in consts.items() if theirs in numbers}
            self._first_weight = self._find_weight()
            return
        self._first_weight = home._first_weight
        axes, consts = self.program.bindings[id(self.program.origin(self.graph))]
        mine, its = self.program.homes.twins(self.graph)
        self._home_axes = {mine.get(theirs, theirs): own for own, theirs in axes.items()}
        self._home_consts = {its.get(theirs, theirs): ConstOf(own) for own, theirs in consts.items()}

    def _find_weight(self) -> Code | None:
        for node in self.plan.graph.nodes:
            if isinstance(node, Parameter):
                return Code(attribute(node.weight.name))
            if isinstance(node, Apply) and node.weights:
                return Code(self.weight(node.weights[0]))
        return None

    def weight(self, weight: Weight) -> str:
        head, *rest = weight.name.split(".")
        return ".".join([attribute(head), *rest])

    def parameter(self, weight: Weight) -> Code:
        text = attribute(weight.name)
        if weight.name not in self.modules:
            shape = joined(map(self.dim_size, weight.dims)) if weight.dims else "()"
            frozen = {"requires_grad": "False"} if weight.frozen else {}
            if weight.init.kind in ("zeros", "ones"):
                filled = call(f"torch.{weight.init.kind}", shape)
            else:
                filled = self.initial(call("torch.empty", shape), weight)
            code = self.modules[weight.name] = call("nn.Parameter", filled, **frozen)
            self.add(made := assigned(weight.name, code))
            self.remarks[made] = weight.doc
            if "." in weight.name:  # of a map that is done here
                self.top.holders.append(weight.name.rsplit(".", 1)[0])
        return Code(text)

    def add(self, *statements: Do) -> None:
        """Lines of `__init__`."""
        self.init.append(lambda: statements)

    # -- sizes and consts ---------------------------------------------------------------------------------------

    def built_size(self, axis: Axis) -> Code:
        """The size of an axis inside `__init__`."""
        if self.home is not None:
            own = self._home_axes.get(axis)
            return self.home.built_size(own) if own is not None else self._built_at_home(axis)
        if axis in self.derived:
            return self.derived[axis]
        if axis not in self.plan.axes:
            return Code(str(axis.extent))
        if axis.bound is not None and axis.extent is None:
            return self.scope.bounds[axis].code
        formula = self.plan.formula(axis)
        if isinstance(formula, Literal):
            return Code(str(formula.value))
        if isinstance(formula, SizeOf):
            return self.built_size(formula.axis)
        if formula is None:
            return self.scope.axes[axis].code
        code = static_code(formula, self.built_size, self.built_const)
        self.derived[axis] = self._derived(self.scope.axes[axis].name, self.whole(formula, code))
        return self.derived[axis]

    def _built_at_home(self, axis: Axis) -> Code:
        """The size of an axis that `forward` does not have: worked out from others in `__init__`, or a number."""
        assert self.home is not None
        size = axis.size if self.plan.call is None else self.plan.formula(axis)
        known = size is not None and (self.plan.call is not None or set(axes_in(size)) <= set(self._home_axes))
        if size is None or not known:
            return Code(str(axis.extent))
        code = self.home.whole(size, static_code(size, self.built_size, self.built_const))
        return self._worked_out(code) or self._derived(self.top.namer.give(axis.name), code)

    def _derived(self, name: str, code: Code) -> Code:
        """What is worked out in `__init__`, by its name there."""
        alone = all(isinstance(variable, Given) for variable, _ in code.reads)  # how long it is, is known
        place = Place.INLINE if alone else Place.NAMED
        let = Let(Variable(name, name, lasting=True, unique=True), code, place=place)
        self.sizes.append(let)
        return let.variable.code

    def _worked_out(self, code: Code) -> Code | None:
        """What is worked out in `__init__` already."""
        return next((let.variable.code for let in self.sizes if let.code == code), None)

    def built_const(self, const: Const) -> Code:
        if self.home is not None and const in self._home_consts:
            code = static_code(self._home_consts[const], self.home.built_size, self.home.built_const)
            if code.variable or re.fullmatch(r"[\w.]+", code.text):
                return code
            return self._worked_out(code) or self._derived(self.top.namer.give(const.name), code)
        return self.scope.consts[const].code

    def is_built(self, static: Static) -> bool:
        """Whether a number is known when the module is built: it hangs on no size of an input, nor on a pass."""
        known = all(self.plan.static_size(axis) for axis in axes_in(static))
        return known and not any(const in self.plan.late or const in self.counters for const in consts_in(static))

    def built_static(self, static: Static) -> Code:
        return static_code(static, self.built_size, self.built_const)

    def _stored(self, code: Code, kind: str) -> Code:
        """What `__init__` knows by a name, where other methods find it; a number as it is.

        kind: what it is, said in its name where a module has another thing of that name: `half_size`; names that begin
            with `_` are those of modules themselves.
        """
        variable = code.variable
        if variable is None or self.plan in self.file.over_nothing:
            return code
        if variable not in self.stored:
            name = plain(variable.name)
            taken = self.attributes.is_taken(name) or name.startswith("_")
            own = name.strip("_")
            apart = f"{own}_{kind}" if own.isidentifier() else f"{kind}_{own}"
            name = self.attributes.give(apart if taken else name)
            self.stored[variable] = Attribute(f"self.{name}")
        return self.stored[variable].code

    def size_code(self, axis: Axis) -> Code:
        return self._stored(self.built_size(axis), "size")

    def const_code(self, const: Const) -> Code:
        if const in self.counters:
            return self.counters[const].code
        if const in self.plan.late:
            return self.scope.consts[const].code
        return self._stored(self.built_const(const), "value")

    def bound_code(self, axis: Axis) -> Code:
        if self.home is not None:
            return self.home.bound_code(self._home_axes[axis])
        return self._stored(self.scope.bounds[axis].code, "size")

    def longest(self, axis: Axis) -> Code:  # as the module is built
        if axis.extent is not None:
            return self.known_size(axis)
        return Code("None") if axis.bound is None else self.bound_code(axis)

    def known_size(self, axis: Axis) -> Code:
        return self.size_code(axis)

    def dim_size(self, axes: Sequence[Axis]) -> Code:
        """The size of one stored dimension: the product of its axes."""
        whole = product(axes, self.plan.formula) if all(map(self.plan.static_size, axes)) else None
        if whole is not None:
            return self.built_static(whole)
        return reduce(times, map(self.built_size, axes)) if axes else Code("1")

    def initial(self, of: Code, weight: Weight) -> Code:
        """A tensor with the first values of a weight."""
        init = weight.init
        given = ", ".join(repr(float(value)) for value in init.args)
        match init.kind:
            case "normal":
                return call("nn.init.normal_", of, std=given)
            case "uniform":
                return call("nn.init.uniform_", of, f"-{given}", given)
            case "zeros" | "ones":
                return call(f"nn.init.{init.kind}_", of)
            case "constant":
                return call("nn.init.constant_", of, given)
            case "xavier":
                fans = joined([self.dim_size(init.fan_in), self.dim_size(init.fan_out)], " + ")
                bound = Code.of("math.sqrt(6 / ({}))", fans)
                return call("nn.init.uniform_", of, Code.of("-{}", bound), bound)
        raise CannotEmit(f"initialisation {init.kind!r} of {weight.name}")

    def module(self, node: Apply, made: Code, natural: dict[str, Init], without: Sequence[str] = ()) -> str:
        """A learned op's submodule; `natural` says what its constructor initialises by itself.

        without: what it makes by itself, and the spec does not have.
        """
        assert node.name is not None
        if node.name not in self.modules:
            self.modules[node.name], before = made, len(self.init)
            self.add(assigned(node.name, made))
            for weight in node.weights:
                usual = natural.get(weight.name.rsplit(".", 1)[1])
                if usual is None or (usual.kind, usual.args) != (weight.init.kind, weight.init.args):
                    self.add(Do(self.initial(Code(self.weight(weight)), weight)))
            for part in without:
                self.add(Do(Code("None"), (Attribute(f"{attribute(node.name)}.{part}"),)))
            self.makers[node.name] = self, self.init[before:]
        return attribute(node.name)

    def made_here(self, node: Apply) -> None:
        """Sees to it that a map is made at this place among those of the class, the first of these that is named."""
        self.linear_module(node)
        where, lines = self.makers.pop(node.name or "", (self, []))
        where.init = [line for line in where.init if line not in lines]
        self.init += lines

    def linear_module(self, node: Apply) -> str:
        """The `nn.Linear` of a map; or, with weights of their own for each group, its GroupedLinear."""
        bias = {} if len(node.weights) > 1 else {"bias": "False"}
        sizes = [self.dim_size(node.axes), self.dim_size(node.made)]
        if node.each:
            groups = Code.of("({},)", joined(map(self.built_size, node.each)))
            made = call("GroupedLinear", groups, *sizes, **bias)
        else:
            made = call("nn.Linear", *sizes, **bias)
        init = Init("default")
        return self.module(node, made, {"weight": init, "bias": init})

    @property
    def made(self) -> list[str]:
        return [*self.constructor, *super().made]

    def construct(self, methods: Sequence[TorchBody], more: Sequence[Code]) -> ClassPlan:
        """Makes the statements of `__init__`; gives what is read off them. more: what else is read of the class."""
        made = [statement for body in (self, *methods) for each in body.init for statement in each()]
        read = {variable for code in more for variable, _ in code.reads}
        read = read.union(*(reads_of(body.statements) for body in (self, *methods)))
        kept = [(found, variable) for variable, found in self.stored.items() if found in read]
        worked_out = {let.variable: let.code.named for let in self.sizes}
        holders = (assigned(name, Code("nn.Module()")) for name in sorted({*self.holders}))  # a part behind its whole
        self.built = [*self.sizes, *side_by_side(kept, WIDTH - 8, worked_out), *holders, *made]
        read, scope = {*reads_of(self.built)}, self.scope
        return ClassPlan(
            sizes=tuple(axis for axis in self.plan.axes if scope.axes[axis] in read),
            bounds=tuple(axis for axis, most in scope.bounds.items() if most in read),
            numbers=tuple(const for const, given in scope.consts.items() if given in read),
        )

    @cached_property
    def constructor(self) -> list[str]:
        """The lines of `__init__`, with what the spec says of weights."""
        printer, lines = CodePrinter(self.namer, WIDTH - 8, self.built), list[str]()
        for statement in self.built:
            printer.lines = []
            printer.print([statement])
            words = self.remarks.get(statement, "") if isinstance(statement, Do) else ""
            lines += [*remarked(printer.lines[0], words), *printer.lines[1:]] if printer.lines else []
        return lines

    def configuration(self) -> str:
        return "configuration(self)"

    @cached_property
    def sizes_attribute(self) -> str:
        """The attribute that says what a model that decodes was built with."""
        return f"self.{self.attributes.give('sizes')}"

    def learned(self, maps: list[Apply]) -> Code:
        for node in maps:
            if node.name is not None:
                self.linear_module(node)
        return joined(attribute(node.name) if node.name else self.parameter(node.weights[0]) for node in maps)

    def beside(self) -> set[int]:
        return made_for_tables(self.graph)

    def places_so_far(self, axis: Axis) -> Code:
        along = self.along(axis)
        endless = self.endless(axis) if along is None else along.keep is None
        return Code.of("{}.{}", self.clock(axis), call("past", self.device, *([] if endless else [self.extent(axis)])))

    def item_places(self, axis: Axis) -> Code:
        return Code.of("{}.{}", self.clock(axis), call("item_places", self.device))

    def of_several(self, node: Apply, mask: Val) -> Val:
        mask = self.permute(mask, sorted(mask.axes, key=self.is_new, reverse=True))  # queries first
        # Nobody can read an extent from what may be None.
        code = Code.of("None if cache.alone else {}", mask.code, level=TERNARY)
        absent = replace(mask, code=code, broadcast=frozenset(mask.axes), absent=True)
        return self.let(node.out.name or self.wish(node), absent)

    def depth_of_heads(self, maps: list[Apply]) -> Code | None:
        if any(len(node.made) < 2 for node in maps):
            return None
        sizes = {self._size_at_home(node.made[-1]) for node in maps}
        return self.extent(maps[0].made[-1]) if len(sizes) == 1 and None not in sizes else None

    def _size_at_home(self, axis: Axis) -> Static | None:
        """The size of an axis of a step, in the terms of the class that it is a method of."""
        own = self._home_axes.get(axis)
        if self.home is None or own is None:
            return None
        return self.home.plan.formula(own) or SizeOf(own)

    def mapped(self, x: Val, node: Apply) -> Code:
        to = self.learned([node])
        return call(to, x.code) if node.name else call("F.linear", x.code, to)

    # -- spelling -----------------------------------------------------------------------------------------------

    def drawing(self, node: Apply, function: str, *args: Code) -> Code:
        """What draws at random while a model is trained."""
        return call(function, *args)

    def expanded(self, x: Val, shape: Sequence[Code]) -> Code:
        if len(shape) == 1 and shape[0].text.startswith("*"):  # there may be no dimension at all
            shape = [replace(shape[0], text=shape[0].text[1:])]
        return Code.of("{}.expand({})", x.atom, joined(shape))

    def unflatten(self, x: Val, dim: int, axes: Sequence[Axis]) -> Code:
        derived = [axis for axis in axes if self.plan.static_size(axis) and self.plan.formula(axis) is not None]
        may_be_0 = any(axis.is_width and not self.plan.static_size(axis) for axis in axes)
        told = derived[-1] if derived and len(axes) > 1 and not may_be_0 else None  # by the others, of which none is 0
        sizes = [Code("-1") if axis == told else self.extent(axis) for axis in axes]
        return Code.of("{}.unflatten({}, {})", x.atom, dim, shape_of(sizes))

    def lookup(self, x: Val, e: Val) -> Code:
        if len(x.axes) == 2 and x.kind is Scalar.REAL:
            return call("F.embedding", e.code, x.code)
        return at_items(x, [e.code])

    def new_rows(self, x: Val, axis: Axis, clock: Code) -> Code:
        return Code.of("{}.{}", clock, call("rows", x.code, x.dim(axis)))

    def filled(self, shape: Code, value: Code, kind: Scalar, dtype: Code | None) -> Code:
        types = {Scalar.INT: Code(self.words.int64), Scalar.BOOL: Code(self.words.truth)}
        if kind is Scalar.BOOL:  # `torch.jit.trace` knows no `torch.full` of a truth value
            if value.text in ("True", "False"):
                made = "torch.ones" if value.text == "True" else "torch.zeros"
                return call(made, shape, dtype="torch.bool", device=self.device)
            value = Code.of("int({})", value)
        dtype = types.get(kind, dtype or Code(""))
        large = re.fullmatch(r"-?[\d.e+]+", value.text) and abs(float(value.text)) > HALF
        if kind is Scalar.REAL and dtype != self.float64 and large:
            wide = call("torch.full", shape, value, dtype=self.float64, device=self.device)
            return Code.of("{}.to({})", wide, dtype)
        return call("torch.full", shape, value, dtype=dtype, device=self.device)

    def root_device(self) -> Code:
        return Code("next(self.parameters())") if self.file.owns(self.graph) else self._anchor()

    def root_dtype(self) -> Code:
        return self.root_device()

    def _anchor(self) -> Code:
        """A model without weights keeps an empty tensor that `.to(...)` moves, to know its device and type."""
        if "anchor" not in self.modules:
            self.attributes.reserve("anchor")
            made = self.modules["anchor"] = Code('self.register_buffer("anchor", torch.empty(0), persistent=False)')
            self.add(Do(made))
        return Code("self.anchor")

    def first_weight(self) -> Code | None:
        return self._first_weight

    # -- ops ----------------------------------------------------------------------------------------------------

    def point(self, op: str, vals: list[Val], out: Value) -> Code:
        if not all(val.number for val in vals):  # `torch.jit.trace` knows no op of a tensor and a truth value
            vals = [
                replace(val, code=call("torch.tensor", val.code), number=False)
                if val.number and val.kind is Scalar.BOOL
                else val
                for val in vals
            ]
        row = op_named(op)
        if row.reads == Pointwise(Remainder()) and vals[0].number and vals[1].kind is Scalar.REAL:  # else no gradient
            vals = [replace(vals[0], code=call("torch.tensor", vals[0].code, dtype="torch.float64")), vals[1]]
        if op in OPERATORS:
            return operator(op, [val.code for val in vals])
        spell = self.file.points.get(op)
        if spell is not None:
            return spell(self, vals, out)
        vals = [self.array(val, (), val.kind, is_table(out)) if val.number else val for val in vals]
        return self.spelled(row, vals, row.torch if isinstance(row, WrittenOp) else "", "torch")

    # -- calls --------------------------------------------------------------------------------------------------

    def submodule(self, name: str, made: Made, owner: bool) -> Code:
        """The attribute of a called block: one for a name; for blocks without weights, one for each way to make it."""
        home, given = made
        if not owner:
            found = Attribute("")  # it has a name once it is known how it is made
            self.init.append(lambda: self.top.part(name.rpartition(".")[2], found, call(home.name, *given())))
            return found.code
        if name not in self.modules:
            self.modules[name] = home
            self.init.append(lambda: [assigned(name, call(home.name, *given()))])
        elif self.modules[name] is not home:  # E0412, E0414
            raise CannotEmit(f"{self.graph.name}: the calls of `{name}` share weights but differ")
        return Code(attribute(name))

    def part(self, wish: str, found: Attribute, made: Code) -> list[Do]:
        """The line of `__init__` of a block without weights, unless one that is made alike has one; names it."""
        known = self.parts.get((wish, made))
        if known is not None:
            found.name = known
            return []
        found.name = self.parts[wish, made] = attribute(self.attributes.give(wish))
        return [Do(made, (found,))]

    def _made(self, node: Call | Scan) -> Made:
        """The class that has the weights of a called block, and what it is built with."""
        plan, graph = self.program.plan(node.graph), node.graph
        to_caller, consts = dict(node.axes), dict(node.consts)
        if plan.owner is not None and graph.stepped is not None and graph.stepped.origin is not None:
            assert self.home is not None
            return self.home._made(self._twin(node, graph.stepped.origin))
        if plan.owner is not None:
            axes, numbers = self.program.homes.twins(graph)
            to_caller = {mine: to_caller[theirs] for mine, theirs in axes.items() if theirs in to_caller}
            consts = {mine: consts[theirs] for mine, theirs in numbers.items()}
            graph = self.program.homes.of(graph)
            plan = self.program.plan(graph)
        return plan, lambda: built(self, plan, graph, to_caller, consts, self.built_size, self.built_const)

    def traced(self, plan: Plan, path: str, counter: Variable | None = None) -> list[Code]:
        """What a class on the way to a captured value takes besides: where it stands, and where to put the value.

        counter: of a path in a loop, what `{i}` stands for.
        """
        if not plan.on_path:
            return []
        inside = Code(path) if counter is None else counted(path, counter)
        prefix = f"{{{AT}}}" if self.plan.placed else ""
        at = Code.of('f"{}{}."' if prefix or counter is not None else '"{}{}."', prefix, inside)
        return [Code.of("{}={}", AT, at), Code(f"{FOUND}={FOUND}")]

    def _traced_here(self, plan: Plan) -> list[Code]:
        """The same of what adds nothing to the paths in it."""
        if not plan.on_path:
            return []
        at = [Code(f"{AT}={AT}" if self.plan.placed else f'{AT}=""')] if plan.placed else []
        return [*at, Code(f"{FOUND}={FOUND}")]

    def invoke(self, node: Call | Scan, plan: Plan, args: list[Code], keywords: list[Code]) -> Code:
        at = self.traced(plan, segment(self.graph, node) if isinstance(node, Call) else node.name)
        if plan in self.file.over_nothing:
            cache = [cache_at(node.graph)] if plan.cached else []
            return self._function(plan, node.graph, dict(node.axes), dict(node.consts), [*args, *cache, *keywords, *at])
        if plan.is_step:
            return self._step(node, plan, args, keywords)
        if node.name == "":
            return self.called(plan, self._of_model(node), *args, *keywords, *self._traced_here(plan))
        name = self.submodule(node.name, self._made(node), self.file.owns(node.graph))
        cache = [cache_at(node.graph)] if plan.cached and node.graph.stepped is not None else []
        return self.called(plan, name, *args, *cache, *keywords, *at)

    def _function(
        self, plan: Plan, graph: Graph, axes: Mapping[Axis, Axis], consts: Mapping[Const, Static], given: list[Code]
    ) -> Code:
        """The call of a block that is a function, which is told sizes by name."""
        sizes = built(self, plan, graph, axes, consts, self.size_code, self.const_code)
        return call(self.file.functions[plan.key], *given, *sizes)

    def called(self, plan: Plan, module: Code, *given: Code) -> Code:
        """The call of a module: of its class's `forward`, of another method, or of a function of decoding."""
        if plan.is_step:
            return call(self.file.functions[plan.key], module, *given)
        if module == Code("self") or plan.owner is not None:
            return call(Code.of("{}.{}", module, plan.method), *given)
        return call(module, *given)

    def _of_model(self, node: Call | Scan) -> Code:
        """Where a called model stands: in this class if it has weights, else in a module that is like a block."""
        return (
            Code("self")
            if self.program.homes.learns(node)
            else self.submodule(node.graph.name, self._made(node), False)
        )

    def _step(self, node: Call | Scan, plan: Plan, args: list[Code], keywords: list[Code]) -> Code:
        """The call of a function of decoding over another class."""
        stepped = node.graph.stepped
        assert stepped is not None and plan.owner is not None
        cache = [cache_at(node.graph)] if plan.cached else []
        given = [*args, *cache, *keywords]
        if node.name == "":
            return self.called(plan, self._of_model(node), *given)
        origin = stepped.origin
        assert self.home is not None and origin is not None
        name = self.submodule(node.name, self.home._made(self._twin(node, origin)), self.file.owns(origin))
        return self.called(plan, name, *given)

    def _twin(self, node: Call | Scan, origin: Graph) -> Call | Scan:
        """The call in `forward` of this class that a call of a step stands for."""
        assert self.home is not None and self.graph.stepped is not None and self.graph.stepped.origin is not None
        before = [n for n in self.graph.stepped.origin.nodes if isinstance(n, Call | Scan)]
        place = next(i for i, n in enumerate(before) if n.graph is origin and n.name == node.name)
        return [n for n in self.home.graph.nodes if isinstance(n, Call | Scan)][place]

    def _make_passes(self, node: Repeat) -> None:
        """Makes the list of a repeat's modules in `__init__`; a method besides `forward` finds it there."""
        if node.name not in self.modules:
            self.modules[node.name] = Code("nn.ModuleList")
            self.init.append(lambda: [assigned(node.name, self._passes(node))])

    def _passes(self, node: Repeat) -> Code:
        """The list of a repeat's modules: their kinds by the number of the pass."""
        index = Variable("i", "i")

        def built_const(which: Const) -> Code:
            return index.code if which == node.index else self.built_const(which)

        made = [
            call(plan.name, *given()) for plan, given in (self._pass_made(body, built_const) for body in node.bodies)
        ]
        for kind, each in reversed([*enumerate(made[:-1])]):
            these = is_one_of("{}", [i for i, runs in enumerate(node.variant) if runs == kind])
            made[-1] = Code.of("{} if {} else {}", each, Code.of(these, index.code), made[-1])
        counter = "i" if index in (variable for variable, _ in made[-1].reads) else "_"
        count = static_code(node.count, self.built_size, self.built_const)
        return call("nn.ModuleList", Code.of(f"{{}} for {counter} in range({{}})", made[-1], count))

    def _pass_made(self, body: Graph, const: Callable[[Const], Code]) -> Made:
        """How the module of a pass is made: where two kinds of passes have one in another call, it is the first's."""
        home = self.program.homes.of(body)
        plan = self.program.plan(home)
        return plan, lambda: built(self, plan, home, {}, {}, self.built_size, const)

    def _one_module(self, node: Repeat, body: Graph) -> Code:
        """The module that all passes of a kind are calls of."""
        learns = self.program.homes.learns(node)
        if node.beside:
            return Code("self")
        if learns and node.name in self.modules:
            return Code(attribute(node.name))
        if body.stepped is not None and body.stepped.origin is not None:
            body = body.stepped.origin
        made = self._pass_made(body, self.built_const)
        return self.submodule(node.name if learns else singular(node.name) or f"{node.name}_pass", made, learns)

    def loop(
        self, node: Repeat, plans: list[Plan], targets: list[Variable], args: list[Code], keywords: list[list[Code]]
    ) -> For:
        if not self.program.has_list(node):
            return self._counted_loop(node, plans, targets, args, keywords)
        self._make_passes(node)
        each, counter = Variable(singular(node.name) or "layer"), Variable("i")
        calls = []
        for plan, body, words in zip(plans, node.bodies, keywords, strict=True):
            cache = [cache_at(body, counter)] if plan.cached else []
            given = [*args, *cache, *words, *self.traced(plan, f"{node.name}.{{i}}", counter)]
            calls.append(self.called(plan, each.code, *(target.code for target in targets), *given))
        over, alike = Code(attribute(node.name)), [*dict.fromkeys(calls)]
        body_ = by_pass(self, node, counter, calls if len(alike) > 1 else alike, targets)
        counted = len(alike) > 1 or any(plan.cached or plan.on_path for plan in plans)
        return For((counter, each), call("enumerate", over), body_) if counted else For((each,), over, body_)

    def _counted_loop(
        self, node: Repeat, plans: list[Plan], targets: list[Variable], args: list[Code], keywords: list[list[Code]]
    ) -> For:
        """The passes of a repeat that are calls of one module: they share its weights, or there are none."""
        counter = self.counters[node.index] if node.index is not None else Variable("i")
        name = segment(self.graph, node)
        calls = []
        for plan, body, words in zip(plans, node.bodies, keywords, strict=True):
            cache = [cache_at(body, counter)] if plan.cached else []
            at = self.traced(plan, name) if node.shared else self.traced(plan, f"{name}.{{i}}", counter)
            at = self._traced_here(plan) if node.beside else at
            given = [*(target.code for target in targets), *args, *cache, *words, *at]
            if plan in self.file.over_nothing:
                calls.append(self._function(plan, body, {}, {}, given))
            else:
                calls.append(self.called(plan, self._one_module(node, body), *given))
        count = static_code(node.count, self.extent, self.const_code)
        return For((counter,), call("range", count), by_pass(self, node, counter, calls, targets))

    def counts(self, node: Repeat) -> bool:
        return not self.program.has_list(node)

    # -- captures -----------------------------------------------------------------------------------------------

    def found_at(self, label: str) -> Code:
        return Code(f'f"{{{AT}}}{label}"' if self.plan.placed else f'"{label}"')

    # -- a model's border ---------------------------------------------------------------------------------------

    def begin(self) -> None:
        if self.plan.is_root and self.plan.owner is not None:
            self.lines += begin_decoding(self)
            if self.plan.method == "step":
                self.do(Code("self = cache.parts_of(self)"))
        if self.graph.kind == "model" and self.graph.inputs:
            checks = border(self)
            if checks and self.plan.is_root and self.plan.method == "step":  # `generate` has looked at them
                checks = [Block(Code("if not is_trusted(cache)"), checks)]
            self.checks = [*checks, *batch_of(self)]
            hold_derived(self)
            self.lines += defaults(self)
        write_tables(self)
