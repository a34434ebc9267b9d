"""Ops that work element by element: arithmetic, comparisons, truth, functions. Results have the union of the axes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ...dsl.base.records import replace
from ..graph.extents import at_least_0
from ..graph.traits import (
    Compared,
    Extreme,
    Function,
    Limited,
    Meaning,
    OpCost,
    Pointwise,
    Power,
    Product,
    Quotient,
    Remainder,
    Rounded,
    Sum,
    Validity,
)
from ..graph.typed_value import Range, union
from ..graph.values import Element, IndexInto, Role, Scalar, Type
from ..problems.elements import ComparedWithItself, DividedByIndex, NotCompared, RootOfIndex, Wanted, WrongElement
from ..problems.plain import Plain
from ..sizes.arithmetic import at_most
from ..sizes.axes import Arith, Literal, Static, consts_in, known
from ..sizes.functions import LARGEST_EXPONENT, OPERATIONS
from .broadcasting import may_broadcast
from .marks import check_scale
from .table import Notation, Op, OpCall, Precedence, Rule
from .use import truth_value

if TYPE_CHECKING:
    from ...dsl.source import Span
    from ..base.problems import Problems
    from ..graph.typed_value import TypedValue
    from ..sizes.axes import Axis


def _meaning(call: OpCall) -> Meaning | None:
    """What the op computes of one item of each operand, if it works item by item."""
    return call.op.reads.meaning if isinstance(call.op.reads, Pointwise) else None


def _numbers(call: OpCall) -> bool:
    """Every operand is a number (an index counts)."""
    for wire, span in zip(call.operands, call.spans, strict=True):
        if wire.is_bool:
            call.fail(WrongElement(span, wire.type, Wanted.ITEMS, call.shown))
            return False
    return True


def _families(call: OpCall, a: Axis, b: Axis) -> TypedValue | None:
    """Two indices that do not compare (D5)."""
    return call.fail(NotCompared(call.span, a, b, call.at.surroundings))


def function(call: OpCall) -> TypedValue | None:
    """real -> real, element by element."""
    if not _numbers(call):
        return None
    x = call.operands[0]
    if isinstance(x.element, IndexInto) and x.role > Role.TABLE:
        return call.fail(WrongElement(call.spans[0], x.type, Wanted.ITEMS, call.shown))
    meaning = _meaning(call)
    given = None if call.op.number else x.static  # of which else a number known at build time is made, and validated
    if given is not None and not call.at.in_each_pass(partial(_argument, meaning), call.span, given):
        return None
    made = call.make(Type(Scalar.REAL, x.type.axes, x.type.broadcast_axes))
    power = meaning.power if isinstance(meaning, Function) else None
    if x.power_of is not None and power is not None and power < 0:
        return _divided_by_index(call, x.power_of, 0)
    return None if made is None else replace(made, power_of=_powered(x, power))


def keep(call: OpCall) -> TypedValue | None:
    """Like its operand: int stays int, an index becomes an int."""
    if not _numbers(call):
        return None
    x = call.operands[0]
    element = Scalar.REAL if x.element is Scalar.REAL else Scalar.INT
    return _as_zero(call.make(Type(element, x.type.axes, x.type.broadcast_axes)), x)


def whole(call: OpCall) -> TypedValue | None:
    """floor and ceil: an int."""
    if not _numbers(call):
        return None
    x = call.operands[0]
    return _as_zero(call.make(Type(Scalar.INT, x.type.axes, x.type.broadcast_axes)), x)


def to_int(call: OpCall) -> TypedValue | None:
    """An index as a plain int: it forgets what it is an index into."""
    wire = call.operands[0]
    if wire.element is Scalar.REAL or wire.is_bool:
        return call.fail(WrongElement(call.spans[0], wire.type, Wanted.INDEX))
    return call.make(Type(Scalar.INT, wire.type.axes, wire.type.broadcast_axes), range=wire.range)


def valid(call: OpCall) -> TypedValue | None:
    """Whether an index is a pick of something."""
    wire = call.operands[0]
    if not isinstance(wire.element, IndexInto):
        return call.fail(WrongElement(call.spans[0], wire.type, Wanted.PICK))
    return call.make(Type(Scalar.BOOL, wire.type.axes, wire.type.broadcast_axes))


def same(call: OpCall) -> TypedValue | None:
    """The operand, a number, as it is."""
    if not _numbers(call):
        return None
    x = call.operands[0]
    made = call.make(x.type, mark=x.mark, range=x.range, product_of=x.product_of)
    return None if made is None else replace(made, scaled=x.scaled, power_of=x.power_of)


def arithmetic(call: OpCall) -> TypedValue | None:
    """`+ - * / % ^`: D5 for indices, D7 for what may be broadcast."""
    if not _numbers(call):
        return None
    a, b = call.operands
    meaning = _meaning(call)
    axes, broadcast_axes = union(call.operands)
    indices = [wire.element.axis for wire in (a, b) if isinstance(wire.element, IndexInto)]
    if isinstance(meaning, Sum) and len(indices) == 2 and indices[0].family != indices[1].family:
        return _families(call, indices[0], indices[1])
    exponent = known(b.static) if isinstance(meaning, Power) and b.static is not None else None
    if isinstance(meaning, Quotient) and b.power_of is not None:
        return _divided_by_index(call, b.power_of, 1)
    if a.power_of is not None and exponent is not None and exponent < 0:
        return _divided_by_index(call, a.power_of, 0)
    divided = b.static if isinstance(meaning, Quotient | Remainder) and a.static is None else None
    if divided is not None and not call.at.in_each_pass(_divisor, call.spans[1], divided):
        return None
    if not may_broadcast(call, outer=isinstance(meaning, Product)):
        return None
    _ids_as_features(call)
    if isinstance(meaning, Product):
        _root_of_index(call)
    factors = isinstance(meaning, Product | Quotient)
    product = a.product_of if factors and b.static is not None else ()
    wire = call.make(
        Type(_element(meaning, a, b), axes, broadcast_axes), range=_range(meaning, a, b), product_of=product
    )
    if wire is not None:
        power_of = _multiplied(a, b) if factors else _powered(a, exponent)
        wire = replace(wire, scaled=_scaled(meaning, a, b), power_of=power_of)
    if factors and wire is not None:
        check_scale(call, a, b)
    return wire


def _element(meaning: Meaning | None, a: TypedValue, b: TypedValue) -> Element:
    """What arithmetic of two operands gives. An index and a whole number give an index; two indices a whole number."""
    if Scalar.REAL in (a.element, b.element):
        return Scalar.REAL
    match meaning:
        case Sum(times):
            indices = [
                (wire.element, sign)
                for wire, sign in zip((a, b), times, strict=True)
                if isinstance(wire.element, IndexInto)
            ]
            return indices[0][0] if len(indices) == 1 and indices[0][1] == 1 else Scalar.INT
        case Product() | Remainder():
            return Scalar.INT
        case Power() if a.element is b.element is Scalar.INT and b.static is not None and _from_0_up(b.static):
            return Scalar.INT
        case _:
            return Scalar.REAL


def _from_0_up(exponent: Static) -> bool:
    """Whether an exponent is not negative; of a const parameter without a value that is taken for granted."""
    open = any(const.value is None and not const.is_index for const in consts_in(exponent))
    return open or at_least_0(exponent, {})


def _argument(meaning: Meaning | None, problems: Problems, numbers: tuple[Static, ...], place: Span) -> None:
    """Report a number known at build time of which a function has no value."""
    number = known(numbers[0])
    if number is not None and isinstance(meaning, Function) and not meaning.has_value(number):
        problems.add(Plain.UNDEFINED.at(place))


def _divisor(problems: Problems, numbers: tuple[Static, ...], place: Span) -> None:
    """Report a division by a number that is 0."""
    if known(numbers[0]) == 0:
        problems.add(Plain.DIVIDES_BY_ZERO.at(place))


def _powered(wire: TypedValue, exponent: int | float | None) -> tuple[Axis, float] | None:
    if wire.power_of is None or exponent is None or exponent <= 0:
        return None
    axis, before = wire.power_of
    return axis, before * exponent


def _multiplied(a: TypedValue, b: TypedValue) -> tuple[Axis, float] | None:
    """Of an index times or over a number, or times an index: 0 at the first place still."""
    for one, other in ((a, b), (b, a)):
        if one.power_of is not None and (other.static is not None or other.power_of is not None):
            return one.power_of
    return None


def _as_zero(made: TypedValue | None, x: TypedValue) -> TypedValue | None:
    """What is 0 where its operand is."""
    return None if made is None else replace(made, power_of=x.power_of)


def _divided_by_index(call: OpCall, power_of: tuple[Axis, float], place: int) -> TypedValue | None:
    axis, exponent = power_of
    span = call.spans[place]
    # A running mean divides by the place, and of two indices both may be slips, or one.
    before = [wire.power_of[0] for wire in call.operands[:place] if wire.power_of and wire.power_of[0] != axis]
    running = axis.is_width and exponent >= 1 and any(wire.has(axis) for wire in call.operands[:place])
    return call.fail(DividedByIndex(span, axis, call.operands[place].span, tuple(before), running))


def _root_of_index(call: OpCall) -> None:
    """Warn of features times the root of an index: `x * sqrt(d)` for `x * sqrt(|d|)`."""
    for wire, span, other in zip(call.operands, call.spans, reversed(call.operands), strict=True):
        axis, exponent = wire.power_of or (None, 1)
        plain = axis is not None and f"|{axis.name}|" not in span.text  # `(d / |d|) ^ 0.5` knows what it does
        if axis is not None and plain and exponent < 1 and wire.element is Scalar.REAL and other.role is Role.DATA:
            call.at.problems.add(RootOfIndex(span, axis, wire.span))


def _ids_as_features(call: OpCall) -> None:
    """Warn of arithmetic between features and indices that are data: ids of tokens are names, not amounts."""
    if not any(wire.element is Scalar.REAL and wire.role is Role.DATA for wire in call.operands):
        return
    for wire, span in zip(call.operands, call.spans, strict=True):
        if isinstance(wire.element, IndexInto) and wire.role is Role.DATA:
            call.at.problems.add(Plain.IDS_AS_FEATURES.at(span, call.shown, wire.type, wire.element.axis))


def _scaled(meaning: Meaning | None, a: TypedValue, b: TypedValue) -> frozenset[Axis]:
    """The mark of weights times a number (a constant of a router), or plus one. Divided by their sum, as in slot
    attention, they are what that makes of them.
    """
    if isinstance(meaning, Sum | Product | Quotient) and b.static is not None:
        return a.mark or a.scaled
    return b.mark or b.scaled if meaning in (Sum((1, 1)), Product()) and a.static is not None else frozenset()


def _range(meaning: Meaning | None, a: TypedValue, b: TypedValue) -> Range | None:
    x, y = a.range, b.range
    whole = a.element is not Scalar.REAL
    if isinstance(meaning, Remainder) and whole and y is not None and y.low == y.high and at_most(Literal(1), y.low):
        return Range.of(Literal(0), Arith("-", (y.high, Literal(1))), False)
    if x is None or y is None:
        return None
    tight = x.tight and y.tight and not set(a.axes) & set(b.axes)
    match meaning:
        case Sum((1, 1)):
            return Range.of(Arith("+", (x.low, y.low)), Arith("+", (x.high, y.high)), tight)
        case Sum((1, -1)):
            return Range.of(Arith("-", (x.low, y.high)), Arith("-", (x.high, y.low)), tight)
        case _:
            return None


def extreme(call: OpCall) -> TypedValue | None:
    """max and min without brackets: element by element, of two or more. Indices of one family give an index."""
    if not _numbers(call):
        return None
    axes, broadcast_axes = union(call.operands)
    indices = [wire.element for wire in call.operands if isinstance(wire.element, IndexInto)]
    element: Scalar | IndexInto = Scalar.INT
    if any(wire.element is Scalar.REAL for wire in call.operands):
        element = Scalar.REAL
    elif indices:
        for other in indices[1:]:
            if other.axis.family != indices[0].axis.family:
                return _families(call, indices[0].axis, other.axis)
        element = indices[0]
    if not may_broadcast(call):
        return None
    meaning = _meaning(call)
    found = _extreme_range(meaning.largest, call.operands) if isinstance(meaning, Extreme) else None
    return call.make(Type(element, axes, broadcast_axes), range=found)


def _extreme_range(largest: bool, wires: list[TypedValue]) -> Range | None:
    """max(e, 0) is at least 0, and at most what e is at most if that is no less than 0."""
    op = "max" if largest else "min"
    ranges = [wire.range for wire in wires if wire.range is not None]
    if len(wires) != 2 or len(ranges) != 2:
        return None
    x, y = ranges
    return Range.of(Arith(op, (x.low, y.low)), Arith(op, (x.high, y.high)), False)


def clamp(call: OpCall) -> TypedValue | None:
    """x kept between two numbers."""
    if not _numbers(call):
        return None
    x, low, high = call.operands
    axes, broadcast_axes = union(call.operands)
    element = x.element
    if element is not Scalar.REAL and Scalar.REAL in (low.element, high.element):
        element = Scalar.REAL
    found = Range(low.range.low, high.range.high, False) if low.range and high.range else None
    if not may_broadcast(call):
        return None
    return call.make(Type(element, axes, broadcast_axes), range=found)


def compare(call: OpCall) -> TypedValue | None:
    """Comparisons give truth values and broadcast freely (D7); indices compare within a family (D5)."""
    a, b = call.operands
    ia = a.element if isinstance(a.element, IndexInto) else None
    ib = b.element if isinstance(b.element, IndexInto) else None
    if a.index_of is not None and a.index_of == b.index_of:
        itself = ComparedWithItself(call.span, a.index_of, call.op.name, call.op.reads, call.at.surroundings)
        call.fail(itself)
    if ia and ib:
        if ia.axis.family != ib.axis.family:
            return _families(call, ia.axis, ib.axis)
    elif a.is_bool != b.is_bool:
        wire, span = (a, call.spans[0]) if a.is_bool else (b, call.spans[1])
        return call.fail(WrongElement(span, wire.type, Wanted.COMPARED, call.shown))
    elif a.is_bool and _meaning(call) not in (Compared("=="), Compared("!=")):
        return call.fail(WrongElement(call.spans[0], a.type, Wanted.ORDERED, call.shown))
    axes, broadcast_axes = union(call.operands)
    return call.make(Type(Scalar.BOOL, axes, broadcast_axes))


def truth(call: OpCall) -> TypedValue | None:
    """and, or, not."""
    for wire, span in zip(call.operands, call.spans, strict=True):
        if not truth_value(call, wire):
            return call.fail(WrongElement(span, wire.type, Wanted.TRUTH, call.shown))
    axes, broadcast_axes = union(call.operands)
    return call.make(Type(Scalar.BOOL, axes, broadcast_axes))


def select(call: OpCall) -> TypedValue | None:
    """select(c, x, y): x where c holds, else y."""
    c, x, y = call.operands
    if not truth_value(call, c):
        return call.fail(WrongElement(call.spans[0], c.type, Wanted.CONDITION))
    if x.is_bool != y.is_bool:
        return call.fail(Plain.CHOSEN_MIXED.at(call.spans[2], x.type, y.type))
    element = x.element
    if x.element != y.element and not x.is_bool:
        elements = (x.element, y.element)
        indices = [e for e in elements if isinstance(e, IndexInto)]
        if len(indices) == 2 and indices[0].axis.family != indices[1].axis.family:
            return _families(call, indices[0].axis, indices[1].axis)
        element = Scalar.REAL if Scalar.REAL in elements else indices[0] if indices else Scalar.INT
    if not may_broadcast(call):
        return None
    found = None
    if x.range and y.range:
        r = _extreme_range(False, [x, y]), _extreme_range(True, [x, y])
        found = Range.of(r[0].low, r[1].high, False) if r[0] and r[1] else None
    axes, broadcast_axes = union(call.operands)
    return call.make(Type(element, axes, broadcast_axes), range=found)


def _op(
    name: str,
    meaning: Meaning | str,
    usage: str,
    doc: str,
    rule: Rule,
    torch: str,
    numpy: str,
    *operands: str,
    saves: str = "",
    example: str = "",
    wrong: str = "",
    cost: OpCost | None = None,
    **more: Any,
) -> Op:
    """meaning: or the operation on numbers known at build time that the op is, whose meaning it has.

    The wrong program, unless given: the op on truth values.
    """
    number, meaning = (meaning, OPERATIONS[meaning].meaning) if isinstance(meaning, str) else ("", meaning)
    inputs = ", ".join(f"{name}: bool[]" for name in operands or ("x",))
    return Op(
        name,
        "pointwise",
        usage,
        doc,
        example or f"block f(x: []) -> [] {{\n    return {usage}\n}}\n",
        wrong or f"block f({inputs}) -> [] {{\n    return {usage.replace(', ...', '')}\n}}\n",
        rule,
        operands=operands or ("x",),
        cost=cost or OpCost(saves=tuple(saves.split())),
        torch=torch,
        numpy=numpy,
        reads=Pointwise(meaning),
        jumps=isinstance(meaning, Compared | Rounded | Remainder),
        number=number,
        **more,
    )


def _binary(
    name: str,
    doc: str,
    rule: Rule,
    latex: str = "",
    binds: Precedence = Precedence.PLUS,
    drawn: str = "",
    saves: str = "",
    careful: str = "",
) -> Op:
    """The backends write operators as Python does: no template says how."""
    boolean = rule in (compare, truth)
    result = "bool[]" if boolean else "[]"
    kind = "bool[]" if rule is truth else "[]"
    if rule is truth:  # a number is no truth value
        wrong = f"block f(x: [], y: bool[]) -> bool[] {{\n    return x {name} y\n}}\n"
    elif rule is compare:  # indices of two families
        wrong = f"width source, target\nblock f() -> bool[source, target] {{\n    return source {name} target\n}}\n"
    else:  # a width that one operand lacks
        wrong = (
            "width seq\ndepth model = 8\nblock f(x: [seq, model], y: [model]) -> [seq, model] {\n"
            f"    return x {name} y\n}}\n"
        )
    return _op(
        name,
        name,
        f"x {name} y",
        doc,
        rule,
        "",
        "",
        "x",
        "y",
        saves=saves,
        notation=Notation.INFIX,
        example=f"block f(x: {kind}, y: {kind}) -> {result} {{\n    return x {name} y\n}}\n",
        wrong=wrong,
        drawn=drawn,
        latex=latex or name,
        binds=binds,
        careful=careful,
    )


ROWS: tuple[Op, ...] = (
    _binary("+", "Sum.", arithmetic),
    _binary("-", "Difference.", arithmetic, drawn="−"),
    _binary("*", "Product, element by element.", arithmetic, r"\cdot", Precedence.TIMES, saves="other"),
    _binary(
        "/",
        "Quotient: always real.",
        arithmetic,
        r"\frac{{{0}}}{{{1}}}",
        Precedence.FRACTION,
        drawn="÷",
        saves="other divisor",
        careful="number_ratio({0}, {1})",
    ),
    _binary(
        "%",
        "Remainder, with the sign of the divisor; of an int by 0 it is 0.",
        arithmetic,
        r"\bmod",
        Precedence.MOD,
        drawn="mod",
        careful="number_rest({0}, {1})",
    ),
    _binary(
        "^",
        "Power; of ints an int if the exponent is a number from 0 up.",
        arithmetic,
        "{{{0:ATOM}}}^{{{1}}}",
        Precedence.POWER,
        saves="x",
        careful="number_power({0}, {1})",
    ),
    _op(
        "neg",
        "neg",
        "-x",
        "Negation.",
        keep,
        "",
        "",
        notation=Notation.PREFIX,
        sign="-",
        drawn="−",
        latex="-{0:ODOT}",
        binds=Precedence.PLUS,
    ),
    _binary("<=", "At most.", compare, r"\le", Precedence.COMPARE, drawn="≤"),
    _binary(">=", "At least.", compare, r"\ge", Precedence.COMPARE, drawn="≥"),
    _binary("<", "Less.", compare, binds=Precedence.COMPARE),
    _binary(">", "Greater.", compare, binds=Precedence.COMPARE),
    _binary("==", "Equal.", compare, "=", Precedence.COMPARE, drawn="="),
    _binary("!=", "Unequal.", compare, r"\ne", Precedence.COMPARE, drawn="≠"),
    _binary("and", "Both.", truth, r"\wedge", Precedence.LOGIC),
    _binary("or", "Either.", truth, r"\vee", Precedence.LOGIC),
    _op(
        "not",
        "not",
        "not x",
        "The opposite.",
        truth,
        "",
        "",
        notation=Notation.PREFIX,
        latex=r"\neg {0:FRACTION}",
        binds=Precedence.FRACTION,
        example="block f(x: bool[]) -> bool[] {\n    return not x\n}\n",
        wrong="block f(x: []) -> bool[] {\n    return not x\n}\n",
    ),
    _op(
        "select",
        "select",
        "select(c, x, y)",
        "x where the truth value c holds, else y.",
        select,
        "",
        "",
        "c",
        "x",
        "y",
        latex=r"\begin{{cases}} {1} & \text{{if }} {0} \\ {2} & \text{{otherwise}} \end{{cases}}",
        binds=Precedence.ANY,
        example="block f(c: bool[], x: [], y: []) -> [] {\n    return select(c, x, y)\n}\n",
        wrong="block f(c: [], x: [], y: []) -> [] {\n    return select(c, x, y)\n}\n",
        saves="discrete",
    ),
    _op(
        "exp",
        "exp",
        "exp(x)",
        "e to the power x.",
        function,
        "torch.exp({0})",
        "np.exp({0})",
        saves="result",
        latex=r"\exp",
        python="math.exp({0})",
        careful="number_exp({0})",
    ),
    _op(
        "log",
        "log",
        "log(x)",
        "Natural logarithm.",
        function,
        "torch.log({0})",
        "np.log({0})",
        saves="x",
        latex=r"\log",
        python="math.log({0})",
        careful="number_log({0})",
    ),
    _op(
        "sqrt",
        "sqrt",
        "sqrt(x)",
        "Square root.",
        function,
        "torch.sqrt({0})",
        "np.sqrt({0})",
        saves="result",
        latex=r"\sqrt{{{0}}}",
        python="math.sqrt({0})",
        careful="number_root({0})",
    ),
    _op(
        "rsqrt",
        "rsqrt",
        "rsqrt(x)",
        "1 / sqrt(x).",
        function,
        "torch.rsqrt({0})",
        "1 / np.sqrt({0})",
        saves="result",
        latex=r"\frac{{1}}{{\sqrt{{{0}}}}}",
        binds=Precedence.FRACTION,
        python="1 / math.sqrt({0})",
        careful="number_over_root({0})",
    ),
    _op(
        "sin",
        "sin",
        "sin(x)",
        "Sine of radians.",
        function,
        "torch.sin({0})",
        "np.sin({0})",
        saves="x",
        latex=r"\sin",
        result="sin",
        python="math.sin({0})",
        careful="number_sin({0})",
    ),
    _op(
        "cos",
        "cos",
        "cos(x)",
        "Cosine of radians.",
        function,
        "torch.cos({0})",
        "np.cos({0})",
        saves="x",
        latex=r"\cos",
        result="cos",
        python="math.cos({0})",
        careful="number_cos({0})",
    ),
    _op(
        "tanh",
        "tanh",
        "tanh(x)",
        "Hyperbolic tangent.",
        function,
        "torch.tanh({0})",
        "np.tanh({0})",
        saves="result",
        latex=r"\tanh",
        python="math.tanh({0})",
    ),
    _op(
        "sigmoid",
        Function(least=0, greatest=1, rising=True),
        "sigmoid(x)",
        "1 / (1 + exp(-x)).",
        function,
        "torch.sigmoid({0})",
        "sigmoid({0})",
        saves="result",
        drawn="σ",
        latex=r"\sigma",
        python="1 / (1 + number_exp(-{0}))",
    ),
    _op(
        "erf",
        Function(zero=True, least=-1, greatest=1, rising=True),
        "erf(x)",
        "The error function.",
        function,
        "torch.erf({0})",
        "erf({0})",
        saves="x",
        python="math.erf({0})",
    ),
    _op(
        "relu",
        Function(zero=True, least=0, rising=True, straight=True),
        "relu(x)",
        "max(x, 0).",
        function,
        "F.relu({0})",
        "np.maximum({0}, 0)",
        saves="result",
        drawn="ReLU",
        latex="ReLU",
        python="max({0}, 0)",
    ),
    _op(
        "gelu",
        Function(zero=True),
        "gelu(x)",
        "x times the normal distribution function of x, exact (Hendrycks and Gimpel 2016).",
        function,
        "F.gelu({0})",
        "gelu({0})",
        saves="x",
        drawn="GELU",
        latex="GELU",
        python="{0} * (1 + math.erf({0} / math.sqrt(2))) / 2",
    ),
    _op(
        "gelu_tanh",
        Function(zero=True),
        "gelu_tanh(x)",
        "GELU by its tanh approximation (Hendrycks and Gimpel 2016), as GPT-2 has it.",
        function,
        'F.gelu({0}, approximate="tanh")',
        "gelu_tanh({0})",
        saves="x",
        drawn="GELU (tanh)",
        latex="GELU",
        python="{0} * (1 + math.tanh(math.sqrt(2 / math.pi) * ({0} + 0.044715 * {0} * {0} * {0}))) / 2",
    ),
    _op(
        "silu",
        Function(zero=True),
        "silu(x)",
        "x sigmoid(x), also called swish.",
        function,
        "F.silu({0})",
        "silu({0})",
        saves="x",
        drawn="SiLU",
        latex="SiLU",
        python="{0} / (1 + number_exp(-{0}))",
    ),
    _op(
        "softplus",
        Function(least=0, rising=True),
        "softplus(x)",
        "log(1 + exp(x)), a smooth max(x, 0) (Dugas et al. 2001).",
        function,
        "F.softplus({0}, threshold=40)",  # up to 20, its default, it is 2e-9 from x in float64
        "np.logaddexp({0}, 0)",
        saves="x",
        since="0.2",
    ),
    _op(
        "log1p",
        Function(zero=True, above=-1, harmless=0, rising=True),
        "log1p(x)",
        "log(1 + x), exact for small x.",
        function,
        "torch.log1p({0})",
        "np.log1p({0})",
        saves="x",
        latex=r"\log \left( 1 + {0:PLUS} \right)",
        since="0.2",
    ),
    _op(
        "expm1",
        Function(zero=True, least=-1, below=LARGEST_EXPONENT, harmless=0, overflows=True, rising=True),
        "expm1(x)",
        "exp(x) - 1, exact for small x.",
        function,
        "torch.expm1({0})",
        "np.expm1({0})",
        saves="result",
        latex=r"\exp \left( {0} \right) - 1",
        binds=Precedence.PLUS,
        since="0.2",
    ),
    _op(
        "abs",
        "abs",
        "abs(x)",
        "Absolute value; of an index or int, an int.",
        keep,
        "torch.abs({0})",
        "np.abs({0})",
        saves="x",
        latex=r"\left|{0}\right|",
        python="abs({0})",
    ),
    _op(
        "floor",
        "floor",
        "floor(x)",
        "The whole number at or below x.",
        whole,
        "{0}.floor().long()",
        "np.floor({0}).astype(np.int64)",
        example="block f(x: []) -> int[] {\n    return floor(x)\n}\n",
        latex=r"\left\lfloor {0} \right\rfloor",
        python="math.floor({0})",
        careful="number_floor({0})",
    ),
    _op(
        "ceil",
        "ceil",
        "ceil(x)",
        "The whole number at or above x.",
        whole,
        "{0}.ceil().long()",
        "np.ceil({0}).astype(np.int64)",
        example="block f(x: []) -> int[] {\n    return ceil(x)\n}\n",
        latex=r"\left\lceil {0} \right\rceil",
        python="math.ceil({0})",
        careful="number_ceil({0})",
    ),
    _op(
        "clamp",
        Limited(),
        "clamp(x, low, high)",
        "x, but at least low and at most high.",
        clamp,
        "",
        "",
        "x",
        "low",
        "high",
        example="block f(x: []) -> [] {\n    return clamp(x, -1, 1)\n}\n",
        saves="x",
        python="min(max({0}, {1}), {2})",
    ),
    _op(
        "maximum",
        "max",
        "max(x, y, ...)",
        "The largest, element by element (without brackets).",
        extreme,
        "",
        "",
        "x",
        "y",
        notation=Notation.BARE,
        sign="max",
        variadic=True,
        example="block f(x: [], y: []) -> [] {\n    return max(x, y)\n}\n",
        saves="x",
        drawn="max",
        python="max({0})",
    ),
    _op(
        "minimum",
        "min",
        "min(x, y, ...)",
        "The smallest, element by element (without brackets).",
        extreme,
        "",
        "",
        "x",
        "y",
        notation=Notation.BARE,
        sign="min",
        variadic=True,
        example="block f(x: [], y: []) -> [] {\n    return min(x, y)\n}\n",
        saves="x",
        drawn="min",
        python="min({0})",
    ),
    _op(
        "int",
        Sum((1,)),
        "int(i)",
        "An index as a plain number: it forgets its axis, on purpose.",
        to_int,
        "",
        "",
        "i",
        example="width seq\ndepth vocab = 9\nblock f(ids: vocab[seq]) -> int[seq] {\n    return int(ids)\n}\n",
        wrong="block f(i: []) -> int[] {\n    return int(i)\n}\n",
        cost=OpCost(work=0, moves=False),
        python="int({0})",
    ),
    _op(
        "valid",
        Validity(),
        "valid(pick)",
        "Whether an index is a pick of something: where a mask lets through fewer items than are picked, or there are "
        "fewer, the rest are picks of nothing.",
        valid,
        "{0} >= 0",
        "{0} >= 0",
        "pick",
        example="width seq\ndepth best = 2\nblock f(x: [seq]) -> bool[best] {\n"
        "    return valid(topk[seq -> best](x))\n}\n",
        wrong="width seq\nblock f(pick: [seq]) -> bool[seq] {\n    return valid(pick)\n}\n",
        result="valid",
        since="0.2",
    ),
    _op(
        "stop_gradient",
        Sum((1,)),
        "stop_gradient(x)",
        "x itself, but no gradient goes through it to what x is made of.",
        same,
        "",
        "",
        gradient=False,
        cost=OpCost(work=0, moves=False),
        drawn="sg",  # as in van den Oord et al. 2017
        latex="sg",
        since="0.2",
    ),
)
