"""Scores as Triton text: the function of one pair, and its gradients, which go the same way backwards."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from ...compiler.graph.traits import (
    Choice,
    Compared,
    Complement,
    Conjunction,
    Disjunction,
    Extreme,
    Function,
    Limited,
    Magnitude,
    Power,
    Product,
    Quotient,
    Remainder,
    Rounded,
    Sum,
)
from ...compiler.graph.values import Scalar
from ...compiler.streams.rules import FoldKind
from .names import FreeNames
from .ops import FUNCTIONS, LARGEST, ROUNDED, SIGNS, STOPS
from .tiles import Done, Kernel, Load, NoKernel, PairNumber, PairPlace, Point, Score, StaticPoint, ordered

LOG2E = 1.4426950408889634
AS = {
    Scalar.REAL: ".to(tl.float32)",
    Scalar.INT: ".to(tl.int64)",
    Scalar.BOOL: " != 0",
}  # what is read, as computed with


def number(value: float | int | bool) -> str:
    """A number as Triton reads it, fit to stand beside an operator: a whole one is of 32 bits where it fits in."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, int) and not -(2**31) <= value < 2**31:
        return f"tl.full([], {value}, tl.int64)"
    return repr(value) if value >= 0 else f"({value!r})"


@dataclass
class Points:
    """The lines that compute some points, each once."""

    kernel: Kernel
    lines: list[str] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    free: FreeNames = field(default_factory=FreeNames)

    def name(self, point: Point) -> str:
        """What a point is called, or a number as it is."""
        match point:
            case StaticPoint(value):
                return number(value)
            case PairPlace(axis):
                return f"{self.kernel.names[axis]}_at"
            case Load(leaf, None):
                return leaf.name
            case Score(name):
                return name
            case _:
                return self.names[id(point)]

    def write(self, roots: list[Point]) -> None:
        """The lines of all that these are made of."""
        for point in ordered(roots):
            match point:
                case Load(leaf, at) if at is not None:
                    code, wish = self._item(leaf, self.name(at)), f"{leaf.name}_here"
                case Done(name=wish):
                    code = written(point, [self.name(arg) for arg in point.args])
                case _:
                    continue
            self.names[id(point)] = self.free.give(wish)
            self.lines.append(f"{self.names[id(point)]} = {code}")

    def _item(self, leaf: PairNumber, at: str) -> str:
        """The item of a table at a place."""
        step, inside = f"{leaf.name}_{self.kernel.names[leaf.own[0]]}", f"({at} >= 0) & ({at} < {leaf.name}_size)"
        return f"tl.load({leaf.name} + {at} * {step}, mask={inside}, other=0){AS[leaf.kind]}"


def written(point: Done, args: list[str]) -> str:
    """One op. Raises NoKernel for what Triton has no word for."""
    if point.exact and _widens(point):
        args = [
            arg if isinstance(of, StaticPoint) or of.kind is Scalar.BOOL else f"{arg}.to(tl.float64)"
            for arg, of in zip(args, point.args, strict=True)
        ]
    code = _arithmetic(point, args) or _chosen(point, args)
    if code is None:
        raise NoKernel(f"`{point.op}` has no form in Triton yet")
    return code


def _arithmetic(point: Done, args: list[str]) -> str | None:
    kinds = [arg.kind for arg in point.args]
    match point.meaning:
        case Sum((1,)):
            return args[0]
        case Sum((-1,)):
            return f"-{args[0]}"
        case Sum(times):
            return f"{args[0]} {'+' if times[1] > 0 else '-'} {args[1]}"
        case Product():
            return " * ".join(_wide(point, args))
        case Quotient(whole):
            return _floored(*args) if whole else f"{args[0]} / {args[1]}"
        case Remainder() if all(kind is Scalar.INT for kind in kinds):
            return f"(({args[0]} % {args[1]}) + {args[1]}) % {args[1]}"
        case Remainder():
            return f"{args[0]} - tl.floor({args[0]} / {args[1]}) * {args[1]}"
        case Power():
            return _power(point, args)
        case Rounded(up):
            return args[0] if kinds[0] is Scalar.INT else f"{ROUNDED[up]}({args[0]}).to(tl.int64)"
        case Function() if point.op in FUNCTIONS:
            operand = args[0] if kinds[0] is Scalar.REAL or point.exact else f"{args[0]}.to(tl.float32)"
            return FUNCTIONS[point.op][0].format(operand)
        case _:
            return None


def _chosen(point: Done, args: list[str]) -> str | None:
    match point.meaning:
        case Compared(sign):
            return f"{args[0]} {sign} {args[1]}"
        case Conjunction() | Disjunction():
            return f" {SIGNS[point.op]} ".join(args)
        case Complement():
            return f"{SIGNS[point.op]}{args[0]}"
        case Magnitude():
            return f"tl.abs({args[0]})"
        case Extreme(largest):
            return f"{LARGEST[largest]}({args[0]}, {args[1]})"
        case Limited():
            return f"tl.minimum(tl.maximum({args[0]}, {args[1]}), {args[2]})"
        case Choice():
            return f"tl.where({', '.join(args)})"
        case _:
            return None


def _wide(point: Done, args: list[str]) -> list[str]:
    """Factors of whole numbers, one of them such that products of long distances have room."""
    if point.kind is not Scalar.INT or any(isinstance(of, StaticPoint) and abs(of.number) <= 1024 for of in point.args):
        return args
    varies = next((place for place, of in enumerate(point.args) if not isinstance(of, StaticPoint)), 0)
    return [f"{arg}.to(tl.int64)" if place == varies else arg for place, arg in enumerate(args)]


def _widens(point: Done) -> bool:
    return isinstance(point.meaning, Quotient | Function | Power) and not (
        isinstance(point.meaning, Quotient) and point.meaning.whole
    )


def _floored(a: str, b: str) -> str:
    """A quotient rounded down, whichever way the language rounds what is below 0."""
    return f"({a} - (({a} % {b}) + {b}) % {b}) // {b}"


def _power(point: Done, args: list[str]) -> str:
    base, exponent = point.args
    if not point.exact and point.kind is Scalar.REAL:
        args = [
            f"{arg}.to(tl.float32)" if of.kind is Scalar.INT and not isinstance(of, StaticPoint) else arg
            for arg, of in zip(args, point.args, strict=True)
        ]
    if isinstance(exponent, StaticPoint):
        whole = point.kind is Scalar.INT
        return _fixed_power(f"{args[0]}.to(tl.int64)" if whole else args[0], exponent.number, whole)
    if isinstance(base, StaticPoint) and base.number > 0:
        return f"tl.exp2({args[1]} * {math.log2(base.number)!r})"
    if isinstance(base, StaticPoint):
        args[0] = f"{args[1]} * 0.0 + {args[0]}"
    return f"power_of({args[0]}, {args[1]})"


def _fixed_power(x: str, n: float, whole: bool) -> str:
    """x to a power that is known."""
    if n == 0:
        return f"{x} * 0 + 1"
    if n == int(n) and (whole or abs(n) <= 16):
        product = " * ".join([x] * abs(int(n)))
        return product if n > 0 else f"1.0 / ({product})"
    if n == 0.5:
        return f"tl.sqrt({x})"
    if n != int(n):
        return f"tl.exp2({number(n)} * tl.log2({x}))"
    size = f"tl.exp2({number(float(n))} * tl.log2(tl.abs({x})))"
    return f"tl.where({x} < 0, -{size}, {size})" if n % 2 else size


# -- gradients --------------------------------------------------------------------------------------------------------


def learnt(kernel: Kernel) -> set[int]:
    """The points through which a gradient goes."""
    found: set[int] = set()
    for point in ordered([kernel.score]):
        match point:
            case Score():
                found.add(id(point))
            case Load(leaf) if leaf.learns:
                found.add(id(point))
            case Done() if point.kind is Scalar.REAL and point.op not in STOPS:
                if any(id(arg) in found for arg in point.args):
                    found.add(id(point))
            case _:
                pass
    return found


def backwards(points: Points, gradient: str) -> tuple[list[str], dict[str, str]]:
    """Lines that give each score and leaf its gradient, and these by name; `points` has the lines of the score."""
    kernel, through = points.kernel, learnt(points.kernel)
    summed: dict[int, str] = {id(kernel.score): gradient}
    lines: list[str] = []
    of_leaf: dict[str, str] = {}

    def add(point: Point, code: str) -> None:
        if id(point) not in through:
            return
        if id(point) in summed:
            lines.append(f"{summed[id(point)]} += {code}")
            return
        name = summed[id(point)] = points.free.give(f"d_{points.name(point)}")
        lines.append(f"{name} = {code}")

    for point in reversed(ordered([kernel.score])):
        d = summed.get(id(point))
        if d is None or id(point) not in through:
            continue
        match point:
            case Score(name):
                of_leaf[name] = d
            case Load(leaf, None):
                of_leaf[leaf.name] = d
            case Load(leaf, at):
                assert at is not None
                axis, place = kernel.names[leaf.own[0]], points.name(at)
                lines += [
                    "if ADD:  # many pairs share an item of the table: of few items each is added once",
                    f"    inside = (d_score != 0.0) & ({place} >= 0) & ({place} < {leaf.name}_size)",
                    f"    first = tl.min(tl.where(inside, {place}, {leaf.name}_size))",
                    f"    last = tl.max(tl.where(inside, {place}, -1))",
                    "    if last - first < 4:",
                    "        for item in range(first, last + 1):",
                    f"            here = tl.sum(tl.where(inside & ({place} == item), {d}, 0.0))",
                    f"            tl.atomic_add(d_{leaf.name} + item * d_{leaf.name}_{axis}, here)",
                    "    else:",
                    f"        tl.atomic_add(d_{leaf.name} + {place} * d_{leaf.name}_{axis}, {d}, mask=inside)",
                ]
            case Done():
                for arg, code in zip(point.args, _shares(points, point, d), strict=True):
                    if code:
                        add(arg, code)
            case _:
                pass
    return lines, of_leaf


def _shares(points: Points, point: Done, d: str) -> list[str]:
    """The gradient of each operand; "" where there is none."""
    args, y = [points.name(arg) for arg in point.args], points.name(point)
    match point.meaning:
        case Sum(times):
            return [d if by > 0 else f"-{d}" for by in times]
        case Product():
            return [f"{d} * {args[1]}", f"{d} * {args[0]}"]
        case Quotient():
            return [f"{d} / {args[1]}", f"-{d} * {y} / {args[1]}"]
        case Remainder():
            return [d, f"-{d} * tl.floor({args[0]} / {args[1]})"]
        case Power():
            return _power_shares(point, args, y, d)
        case Magnitude():
            return [f"tl.where({args[0]} > 0, {d}, tl.where({args[0]} < 0, -{d}, 0.0))"]
        case Extreme(largest):
            sign = ">" if largest else "<"
            ties = 1.0 if any(isinstance(arg, StaticPoint) for arg in point.args) else 0.5
            return [
                f"tl.where({a} {sign} {b}, {d}, tl.where({a} == {b}, {ties} * {d}, 0.0))"
                for a, b in ((args[0], args[1]), (args[1], args[0]))
            ]
        case Limited():
            return [f"tl.where(({args[0]} >= {args[1]}) & ({args[0]} <= {args[2]}), {d}, 0.0)", "", ""]
        case Choice():
            return ["", f"tl.where({args[0]}, {d}, 0.0)", f"tl.where({args[0]}, 0.0, {d})"]
        case Function():
            return [f"{d} * ({FUNCTIONS[point.op][1].format(args[0], y=y)})"]
        case _:
            return ["" for _ in args]


def _power_shares(point: Done, args: list[str], y: str, d: str) -> list[str]:
    """The gradients of base and exponent."""
    base, exponent = point.args
    if isinstance(exponent, StaticPoint):
        n = exponent.number
        if n in (0, 1):
            return [d if n else "", ""]
        below = f"1.0 / {y}" if n == 0.5 else _fixed_power(args[0], n - 1, False)
        return [f"{d} * {number(n)} * ({below})", ""]
    if isinstance(base, StaticPoint) and base.number > 0:
        return ["", f"{d} * {y} * {math.log(base.number)!r}"]
    less = "" if isinstance(base, StaticPoint) else f"{d} * {args[1]} * power_of({args[0]}, {args[1]} - 1.0)"
    return [less, f"tl.where({y} == 0.0, 0.0, {d} * {y} * tl.log({args[0]} + 0.0))"]


# -- the functions ----------------------------------------------------------------------------------------------------


def parameters(kernel: Kernel, roots: list[Point]) -> list[str]:
    """What the functions of these points are given: scores, places, leaves, tables with what finds their items."""
    found: list[str] = []
    for point in ordered(roots):
        match point:
            case Score(name):
                found.append(name)
            case PairPlace(axis):
                found.append(f"{kernel.names[axis]}_at")
            case Load(leaf, None):
                found.append(leaf.name)
            case Load(leaf, _):
                found += [leaf.name, f"{leaf.name}_size", f"{leaf.name}_{kernel.names[leaf.own[0]]}"]
            case _:
                pass
    return list(dict.fromkeys(found))


def tables(kernel: Kernel) -> list[PairNumber]:
    """Learned tables that scores look up."""
    return [leaf for leaf in kernel.leaves if leaf.looked_up and leaf.learns]


def functions(kernel: Kernel) -> str:
    """The score of a pair, whether it is seen, and the gradients of what the score is made of."""
    given = parameters(kernel, [kernel.score])
    flags = [f"d_{leaf.name}{axis}" for leaf in tables(kernel) for axis in ("", f"_{kernel.names[leaf.own[0]]}")]
    flags += ["ADD: tl.constexpr"] if flags else []
    points = Points(kernel, free=FreeNames([*given, *flags, "d_score"]))
    points.write([kernel.score])
    root = points.name(kernel.score)
    told = "the score of each pair"
    plain = list(points.lines)
    if kernel.fold is FoldKind.SHARES:
        root, told = _in_logs_of_two(points, kernel.score, root, plain), "the scores times log2(e), for exp2 is faster"
    texts = [_function(f"{kernel.name}_score", given, f"{told}.", plain, root)]
    if kernel.seen is not None:
        asked = parameters(kernel, [kernel.seen])
        mask = Points(kernel, free=FreeNames(asked))
        mask.write([kernel.seen])
        texts.append(_function(f"{kernel.name}_seen", asked, "which pairs count.", mask.lines, mask.name(kernel.seen)))
    if isinstance(kernel.score, Score) or not kernel.trains:  # the gradient of a product is what is given
        return "\n\n\n".join(texts)
    lines, of = backwards(points, "d_score")
    texts.append(
        _function(
            f"{kernel.name}_back",
            ["d_score", *given, *flags],
            "from the gradient of the score, those of what it is made of.",
            _needed(points.lines, lines) + lines,
            ", ".join(of.get(name, "d_score * 0.0") for name in gradients(kernel)),
        )
    )
    return "\n\n\n".join(texts)


def _needed(lines: list[str], after: list[str]) -> list[str]:
    """Those lines that make what is read behind them."""
    kept: list[str] = []
    for line in reversed(lines):
        if re.search(rf"\b{line.partition(' = ')[0]}\b", "\n".join((*kept, *after))):
            kept.insert(0, line)
    return kept


def gradients(kernel: Kernel) -> list[str]:
    """What `_back` returns, in order: the gradients of these."""
    through = learnt(kernel)
    found = [p.name for p in ordered([kernel.score]) if isinstance(p, Score)]
    reads = [p for p in ordered([kernel.score]) if isinstance(p, Load) and p.at is None and id(p) in through]
    return [*found, *(p.leaf.name for p in reads)]


def _in_logs_of_two(points: Points, root: Point, name: str, lines: list[str]) -> str:
    """The score times log2(e): a last factor that is a number takes it in."""
    if isinstance(root, Done) and lines and lines[-1].startswith(f"{name} = "):
        match root.meaning, root.args:
            case Product(), (x, StaticPoint(by)) | (StaticPoint(by), x):
                lines.pop()
                return f"{points.name(x)} * {float(by) * LOG2E!r}"
            case Quotient(whole=False), (x, StaticPoint(by)):
                lines.pop()
                return f"{points.name(x)} * {LOG2E / float(by)!r}"
    return f"{name} * {LOG2E!r}"


def _function(name: str, given: list[str], says: str, lines: list[str], result: str) -> str:
    if lines and lines[-1].startswith(f"{result} = "):
        lines, result = lines[:-1], lines[-1].removeprefix(f"{result} = ")
    head = ["@triton.jit", *wrapped(f"def {name}(", given, "):"), f'    """{says[0].upper()}{says[1:]}"""']
    return "\n".join([*head, *(f"    {line}" for line in (*lines, f"return {result}"))])


def wrapped(head: str, parts: list[str], tail: str, margin: str = "", width: int = 110) -> list[str]:
    """A call or a definition, over several lines where it is long."""
    line = margin + head + ", ".join(parts) + tail
    if len(line) <= width:
        return [line]
    lines, now = [margin + head], margin + "    "
    for part in parts:
        if len(now) + len(part) + 2 > width:
            lines.append(now.rstrip())
            now = margin + "    "
        now += f"{part}, "
    return [*lines, now.rstrip(), margin + tail.lstrip()]
