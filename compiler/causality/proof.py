"""Causality, proved (LANGUAGE D12): item i of a result depends on no item after i of any input along that family.

On the expanded graph every value has a *reach*: upper bounds of the input indices, along the family in question, that
it depends on. A bound is a number in mixed radix whose digits are the value's own axes plus an offset (one digit, until
an axis is split). Inputs reach their own index; what is built of positions and weights reaches nothing. Pointwise ops
unite; arranging ops and gathers substitute their index map; summing, normalising or picking over a reached axis
replaces it by its bound, taken from the *support* of what is summed (`predicates.Cases`), else by everything.

What is proved is sound, not complete: a failed proof shows the path of the leak as far as the rules see it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ...dsl.diagnostic import Diagnostic
from ...dsl.source import Span
from ..graph.nodes import Apply, Call, Constant, Graph, Parameter, Positions, Repeat, Scan
from ..graph.values import Role, Value
from ..ops import OPS
from ..sizes.arithmetic import never_negative, poly, substitute
from ..sizes.axes import Arith, Axis, Const, Literal, SizeOf, Static, axes_in, consts_in, known
from ..sizes.limits import PROOF, TooMuch
from ..sizes.predicates import (
    ALWAYS,
    NEVER,
    Cases,
    Facts,
    Linear,
    at_most_zero,
    both,
    closed,
    either,
    over,
    shared,
    without,
)
from .leak import Trace, leak


@dataclass(frozen=True, slots=True)
class Digit:
    """`axis + offset`; without an axis the largest index there is (`TOP`), or 0 (`ZERO`)."""

    axis: Axis | None
    offset: int = 0
    zero: bool = False


TOP = Digit(None)
ZERO = Digit(None, zero=True)
Bound = tuple[Digit, ...]
UPPERS = 16  # bounds kept of one index
RIVALS = 8  # bounds kept that differ in the offsets of several digits alone
ZERO_OF_ZERO = frozenset(
    ("/", "neg", "abs", "int", "floor", "ceil", "sqrt", "sin", "tanh", "erf", "relu", "gelu", "gelu_tanh", "silu")
)  # ops that give zero where their first operand is zero

Reach = dict[Bound, Trace]
Nearest = dict[Axis, tuple[Axis, int]]  # of each axis, another and a number: it is at most their sum


@dataclass(frozen=True, slots=True)
class Info:
    """What is known of a value: its reach; what holds where it is true or not zero, and where it is false; its form."""

    reach: Reach
    true: Cases = ALWAYS
    false: Cases = ALWAYS
    linear: Linear | None = None
    uppers: tuple[Linear, ...] = ()  # each is an upper bound of the value
    absolute: Linear | None = None  # the value is the absolute value of this
    extent: tuple[Axis, int] | None = None  # the value is the run-time size of this axis, plus a number
    never_negative: bool = False  # it is 0 or more, though not known: the number of a pass


@dataclass(frozen=True, slots=True)
class Given:
    """What the axes and consts of a graph stand for where it is called.

    families: of the axes whose run-time size tells how many items there are.
    consts:   those without a value, each with what it is given in terms of the outermost graph.
    telling:  those that are given a run-time size, which tells how many items there are.
    wanted:   the axis that a bound is wanted of, where what is left out of a sum has several.
    """

    families: frozenset[int] = frozenset()
    consts: frozenset[tuple[Const, Static]] = frozenset()
    telling: frozenset[Const] = frozenset()
    wanted: Axis | None = None

    def inside(self, node: Call | Scan) -> Given:
        """The same for the graph that is called here."""
        families = {formal.family for formal, actual in node.axes if counts(actual, self)}
        families |= {axis.family for axis in node.graph.lifted if counts(axis, self)}
        open = [(formal, static) for formal, static in node.consts if formal.value is None]
        consts = frozenset((formal, found) for formal, static in open if (found := self.outermost(static)) is not None)
        telling = frozenset(formal for formal, static in open if counted(static, None, self))
        wanted = next((formal for formal, actual in node.axes if actual == self.wanted), None)
        return Given(frozenset(families), consts, telling, self.wanted if self.wanted in node.graph.lifted else wanted)

    def outermost(self, static: Static) -> Static | None:
        """A number with what its consts are given put in; None if that is too long to reason with."""
        try:
            return substitute(static, {}, {const.id: given for const, given in self.consts})
        except TooMuch:
            return None


def unite(*reaches: Reach) -> Reach:
    """All bounds; of two along the same digits only the larger, and of many one that is as large as they are."""
    out: Reach = {}
    alike: dict[object, list[Bound]] = {}
    for reach in reaches:
        for bound, trace in reach.items():
            rivals = alike.setdefault(tuple((d.axis, d.zero) for d in bound), [])
            if any(_at_most(bound, other) for other in rivals):
                continue
            if len(rivals) == RIVALS:
                bound = tuple(max(digits, key=lambda d: d.offset) for digits in zip(bound, *rivals, strict=True))
            for other in [other for other in rivals if _at_most(other, bound)]:
                rivals.remove(other)
                del out[other]
            rivals.append(bound)
            out[bound] = trace
    return out


def _at_most(a: Bound, b: Bound) -> bool:
    """Of two bounds along the same digits."""
    return all(x.offset <= y.offset for x, y in zip(a, b, strict=True))


def everything(text: str, span: Span | None, *reaches: Reach, again: bool = False) -> Reach:
    """What reads any item of what it reaches at all."""
    found = [(max(digit.offset for digit in bound), trace) for reach in reaches for bound, trace in reach.items()]
    return {(TOP,): Trace(text, span, max(found, key=lambda item: item[0])[1], again=again)} if found else {}


def check_causal(graph: Graph, output: int, axis: Axis, span: Span) -> Diagnostic | None:
    """The diagnostic of a claim that does not hold, or None if it is proved. `axis` is one of the graph's own."""
    given = Given(frozenset({axis.family}))
    found = _first_leak(graph, output, axis, span, given)
    if found is not None and _first_leak(graph, output, axis, span, replace(given, wanted=axis)) is None:
        return None
    return found


def _first_leak(graph: Graph, output: int, axis: Axis, span: Span, given: Given) -> Diagnostic | None:
    """What a result reads after its own item, in the order of the proof; None if that is nothing."""
    analysis = CausalityAnalysis()
    inputs = [
        Info(
            {
                (Digit(a),): Trace(f"`{entry.name}` is read along `{a.name}`", entry.value.span, None)
                for a in entry.value.type.axes
                if a.family == axis.family
            }
            | (counted(entry.default, entry.value.span, given) if entry.default is not None else {})
        )
        for entry in graph.inputs
    ]
    info = analysis.run(graph, inputs, given)[output]
    for bound, trace in info.reach.items():
        if not _within(bound, axis):
            return leak(trace, _reached(bound, axis), graph, axis, span)
    return None


def _within(bound: Bound, axis: Axis) -> bool:
    if all(digit.zero for digit in bound):
        return True
    return len(bound) == 1 and bound[0].axis == axis and bound[0].offset <= 0


def _reached(bound: Bound, axis: Axis) -> str:
    """In words: what an item of the result depends on."""
    digit = bound[0]
    if digit.axis is None:
        return f"items of `{axis.name}` after it"
    if len(bound) > 1:
        return f"whole groups of items, up to group number `{digit.axis.name}` as far as the proof can tell"
    if digit.axis == axis:
        return f"the item {digit.offset} after it"
    return f"items along `{digit.axis.name}`, which may come after it"


@dataclass
class CausalityAnalysis:
    """Runs over graphs, nested ones with the infos of their arguments; kept by graph and infos."""

    kept: dict[object, list[Info]] = field(default_factory=dict)
    fuel: int = field(default_factory=lambda: PROOF)  # read late: a test of the limit sets it

    def run(self, graph: Graph, inputs: list[Info], given: Given) -> list[Info]:
        """The infos of a graph's outputs."""
        if graph.target:
            text = f"`{graph.name}` is an op of your own: it may read anything"
            read = everything(text, None, *(info.reach for info in inputs))
            read = {bound: replace(trace, at=graph) for bound, trace in read.items()}  # it stands where it is called
            return [Info(read) for _ in graph.outputs]
        key = (id(graph), given, tuple(_freeze(info) for info in inputs))
        if key in self.kept:
            return self.kept[key]
        self.fuel -= len(graph.nodes)
        if self.fuel < 0:
            read = everything(f"`{graph.name}` is too long to follow", graph.span, *(info.reach for info in inputs))
            return [Info(read) for _ in graph.outputs]
        infos: dict[int, Info] = {entry.value.id: info for entry, info in zip(graph.inputs, inputs, strict=True)}
        for node in graph.nodes:
            match node:
                case Constant(value, out):
                    infos[out.id] = constant_info(value, out, given)
                case Positions(axis, out):
                    form = Linear.of({axis: 1}, 0)
                    infos[out.id] = Info({}, linear=form, uppers=(form,))
                case Parameter(_, out):
                    infos[out.id] = Info({})
                case Apply():
                    infos[node.out.id] = Step(node, infos, given, graph).info()
                case Call():
                    self.call(node, infos, given, graph)
                case Repeat():
                    self._repeat(node, infos, given, graph)
                case Scan():
                    self._scan(node, infos, given, graph)
        result = [infos[output.value.id] for output in graph.outputs]
        self.kept[key] = result
        return result

    def call(self, node: Call, infos: dict[int, Info], given: Given, graph: Graph) -> None:
        """Puts the infos of a call's results beside those of its arguments."""
        inner = given.inside(node)
        entering = []
        for entry, arg in zip(node.graph.inputs, node.args, strict=True):
            back = {actual: formal for formal, actual in node.axes if formal in entry.value.type.axes}
            entering.append(over_info(infos[arg.id], back))
        names = dict(node.axes)
        for out, info in zip(node.outs, self.run(node.graph, entering, inner), strict=True):
            infos[out.id] = leaving(over_info(info, names), node.graph, node, graph)

    def _scan(self, node: Scan, infos: dict[int, Info], given: Given, graph: Graph) -> None:
        """A state depends on items up to the one at hand: each step adds its own, and none after it."""
        inner = given.inside(node)
        entering = []
        for entry, arg in zip(node.graph.inputs, node.args, strict=True):
            back = {actual: formal for formal, actual in node.axes if formal in entry.value.type.axes}
            entering.append(over_info(infos[arg.id], back))
        for at, _ in node.states:  # what is known of the first value need not hold of the next
            entering[at] = Info(entering[at].reach)
        found: list[Info] = []
        for attempt in range(8):
            found = self.run(node.graph, entering, inner)
            after = list(entering)
            for at, result in node.states:
                after[at] = Info(unite(entering[at].reach, found[result].reach))
            if all(set(a.reach) == set(b.reach) for a, b in zip(entering, after, strict=True)):
                break
            entering = after
            if attempt == 6:
                for at, _ in node.states:
                    entering[at] = Info(
                        everything("each step reaches further", node.span, entering[at].reach, again=True)
                    )
        names = dict(node.axes)
        for out, info in zip(node.outs, found, strict=True):
            infos[out.id] = Info(leaving(over_info(info, names), node.graph, node, graph).reach)

    def _repeat(self, node: Repeat, infos: dict[int, Info], given: Given, graph: Graph) -> None:
        carried = [Info(infos[arg.id].reach) for arg in node.args[: node.carried]]
        outside = [infos[arg.id] for arg in node.args[node.carried :]]
        for attempt in range(8):
            after = [Info(info.reach) for info in carried]
            for body in node.bodies:
                found = [leaving(info, body, node, graph) for info in self.run(body, [*carried, *outside], given)]
                after = [Info(unite(a.reach, b.reach)) for a, b in zip(after, found, strict=True)]
            settled = all(set(a.reach) == set(b.reach) for a, b in zip(carried, after, strict=True))
            carried = after
            if settled:
                break
            if attempt == 6:  # a bound that grows with every pass
                carried = [
                    Info(everything("each pass reaches further", node.span, info.reach, again=True)) for info in carried
                ]
        for out, info in zip(node.outs, carried, strict=True):
            infos[out.id] = info


def _freeze(info: Info) -> object:
    def facts(of: Cases) -> object:
        return frozenset(frozenset(case.items()) for case in of)

    forms = (info.linear, info.uppers, info.absolute, info.extent, info.never_negative)
    return (frozenset(info.reach), facts(info.true), facts(info.false), *forms)


def over_info(info: Info, names: Mapping[Axis, Axis]) -> Info:
    """The same in the axes on the other side of a block's border."""

    def digit(d: Digit) -> Digit:
        return Digit(names.get(d.axis, d.axis), d.offset, d.zero) if d.axis else d

    return Info(
        {tuple(map(digit, bound)): trace for bound, trace in info.reach.items()},
        over(info.true, names),
        over(info.false, names),
        info.linear.over(names) if info.linear else None,
        tuple(form.over(names) for form in info.uppers),
        info.absolute.over(names) if info.absolute else None,
        (names.get(info.extent[0], info.extent[0]), info.extent[1]) if info.extent else None,
        info.never_negative,
    )


def leaving(info: Info, inner: Graph, node: Call | Repeat | Scan, outer: Graph) -> Info:
    """The same outside of a call or a repeat: its traces know the way."""
    return replace(info, reach={bound: trace.leaving(inner, node, outer) for bound, trace in info.reach.items()})


def counts(axis: Axis, given: Given) -> bool:
    """Whether the number of an axis's items grows with the input's: who knows it knows how many come after."""
    seen, left = {axis}, [axis]
    while left:
        part = left.pop()
        if part.is_width and part.extent is None:
            if part.family in given.families or (part.size and given.telling.intersection(consts_in(part.size))):
                return True
            parts = set() if part.size is None else {*axes_in(part.size)} - seen
            seen |= parts
            left += parts
    return False


def _extent(size: Static) -> tuple[Axis, int] | None:
    """`(axis, n)` if this is `|axis| + n`."""
    match size:
        case SizeOf(axis):
            return axis, 0
        case Arith("+" | "-" as op, (first, Literal(int() as number))):
            found = _extent(first)
            return None if found is None else (found[0], found[1] + (number if op == "+" else -number))
        case _:
            return None


def _below(x: Info, size: Info, gap: int = 0) -> bool:
    """Whether x + gap is at most the size, whatever the size is: an index is at most |its axis| - 1."""
    if size.extent is None:
        return False
    axis, number = size.extent
    bounds = [form.bound for form in x.uppers]
    return any(b is not None and b[0].family == axis.family and b[1] - 1 + gap <= number for b in bounds)


def counted(value: Static, span: Span | None, given: Given) -> Reach:
    """What a number tells: a size that is known at run time only says how many items there are."""
    told = any(counts(axis, given) for axis in axes_in(value)) or given.telling.intersection(consts_in(value))
    if known(value) is not None or not told:
        return {}
    shown = f"|{axes_in(value)[0].name}|" if isinstance(value, SizeOf) else "a size"
    return {(TOP,): Trace(f"{shown} tells how many items there are", span, None)}


def constant_info(value: Static, out: Value, given: Given) -> Info:
    number = known(value)
    if reach := counted(value, out.span, given):
        return Info(reach, extent=_extent(value))
    form = Linear((), number) if isinstance(number, int) and not isinstance(number, bool) else None
    true = NEVER if number is not None and not number else ALWAYS
    false = NEVER if number else ALWAYS
    whole = given.outermost(value) if number is None else None
    open = whole is not None and never_negative(poly(whole))
    return Info({}, true, false, form, (form,) if form else (), extent=_extent(value), never_negative=open)


@dataclass
class Step:
    """One op of the table."""

    node: Apply
    infos: dict[int, Info]
    given: Given
    graph: Graph

    def info(self) -> Info:
        found = self._made()
        numbers = [counted(value, self.node.span, self.given) for value in self.node.options.values()]
        return replace(found, reach=unite(found.reach, *numbers)) if any(numbers) else found

    def _made(self) -> Info:
        node = self.node
        parts = [self.infos[value.id] for value in node.operands]
        mask = self.infos[node.mask.id] if node.mask else None
        match node.op:
            case "rename":
                return over_info(parts[0], {node.axes[0]: node.made[0]})
            case "gather":
                return self._gather(parts[0], parts[1])
            case "split":
                return self._split(parts[0])
            case "merge":
                return self._merge(parts[0])
            case "concat":
                joined = [over_info(part, {axis: node.made[0]}) for part, axis in zip(parts, node.axes, strict=True)]
                return Info(unite(*(part.reach for part in joined)))
            case "softmax" | "log_softmax" | "l2norm" | "layernorm" | "rmsnorm":
                support = both(parts[0].true if node.op == "l2norm" else ALWAYS, mask.true if mask else ALWAYS)
                reach = self._bounded(parts + ([mask] if mask else []), set(node.axes), support)
                return Info(reach, support if node.op == "softmax" and mask else ALWAYS)
            case "sum" | "mean" | "max" | "min" | "logsumexp" | "any" | "all" | "argmax" | "dot" | "linear":
                return self._reduce(parts, mask)
            case "cumsum":
                return Info(parts[0].reach)
            case "argsort" | "topk":
                return Info(self._bounded(parts, set(node.axes), ALWAYS))
            case "broadcast" | "dropout" | "within":
                return parts[0]
            case "demand":
                return Info({})
            case "window":
                return self._window(parts[0])
            case "pad":
                return Info(over_info(parts[0], {node.axes[0]: node.made[0]}).reach)
            case "cross_entropy":
                return Info(self._bounded(parts, set(node.axes), ALWAYS))
            case "embed" | "index" | "//":
                return self._pointwise(parts)
            case op if op in OPS and OPS[op].group == "pointwise":
                return self._pointwise(parts)
            case op:
                read = [part.reach for part in (*parts, *([mask] if mask else []))]
                return Info(everything(f"what `{op}` reads is not known: it may read anything", node.span, *read))

    # -- reach ---------------------------------------------------------------------------------------------------

    def _step(self, text: str, before: Trace | None) -> Trace:
        return Trace(text, self.node.span, before, self.node, self.graph, self.graph)

    def _bounded(self, parts: Sequence[Info], axes: set[Axis], support: Cases) -> Reach:
        """The reach after the axes went: in each case of the support each is replaced by what it is at most there,
        else by everything.
        """
        if not support:
            return {
                tuple(ZERO if digit.axis in axes else digit for digit in bound): trace
                for part in parts
                for bound, trace in part.reach.items()
            }
        in_all = self._nearest(closed(shared(support)), axes, {})
        return unite(*(self._in_case(parts, axes, case, in_all) for case in support))

    def _nearest(self, facts: Facts, axes: set[Axis], first: Nearest) -> Nearest:
        """Of each of these axes what it is at most: of several axes the one wanted, or that of `first`."""
        found: dict[Axis, list[tuple[Axis, int]]] = {}
        for (a, b), k in facts.items():
            if a in axes and b not in axes:
                found.setdefault(a, []).append((b, k))

        def order(axis: Axis, bound: tuple[Axis, int]) -> tuple[bool, bool, int]:
            other, k = bound
            return other != self.given.wanted, axis not in first or other != first[axis][0], k

        return {axis: min(bounds, key=partial(order, axis)) for axis, bounds in found.items()}

    def _in_case(self, parts: Sequence[Info], axes: set[Axis], case: Facts, in_all: Nearest) -> Reach:
        shown, nearest = self.node.op, self._nearest(closed(case), axes, in_all)

        def digit(d: Digit) -> tuple[Digit, str]:
            if d.axis is None or d.axis not in axes:
                return d, ""
            name = d.axis.name
            if d.axis not in nearest:
                turned = next((b for (b, a) in case if a == d.axis and b not in axes), None)
                hint = f": its mask keeps `{turned.name} <= {name}`, is it turned round?" if turned else ""
                return TOP, f"`{shown}` reads every `{name}`{hint}"
            axis, k = nearest[d.axis]
            return Digit(axis, d.offset + k), f"`{shown}` reads `{name}` up to `{axis.name}`" + (f" + {k}" if k else "")

        out: Reach = {}
        for part in parts:
            for bound, trace in part.reach.items():
                changed = [digit(d) for d in bound]
                text = next((said for _, said in changed if said), "")
                new = tuple(d for d, _ in changed)
                out = unite(out, {new: self._step(text, trace) if text else trace})
        read = {d.axis for part in parts for bound in part.reach for d in bound}
        for axis in sorted(axes - read, key=lambda axis: axis.id):
            d, text = digit(Digit(axis))
            if counts(axis, self.given) and (d.axis is None or d.offset > 0):
                out = unite(out, {(d,): self._step(f"{text}: even of equal items, it tells their number", None)})
        return out

    def _reduce(self, parts: list[Info], mask: Info | None) -> Info:
        """sum, dot, linear, ...: what is zero or masked is not read."""
        node = self.node
        zero_kept = node.op in ("sum", "dot", "linear", "any")
        support = mask.true if mask else ALWAYS
        for part in parts if zero_kept else []:
            support = both(support, part.true)
        reach = self._bounded([*parts, *([mask] if mask else [])], set(node.axes), support)
        biased = node.op == "linear" and any(weight.name.endswith(".bias") for weight in node.weights)
        true = without(tuple(map(closed, support)), set(node.axes))
        return Info(reach, true if zero_kept and not biased else ALWAYS)

    def _gather(self, x: Info, e: Info) -> Info:
        node, axis = self.node, self.node.axes[0]
        uppers = [form.bound for form in e.uppers]
        index = node.operands[1]
        zero = e.linear is not None and not e.linear.terms and e.linear.constant == 0
        best = min((bound for bound in uppers if bound is not None), key=lambda b: b[1], default=None)

        def digit(d: Digit) -> tuple[Digit, str]:
            if d.axis != axis:
                return d, ""
            if zero:
                return ZERO, ""
            if best is not None and index.role <= Role.TABLE:
                plus = f" + {best[1]}" if best[1] > 0 else ""
                return Digit(
                    best[0], d.offset + best[1]
                ), f"`[{axis.name} = ...]` reads `{axis.name}` up to `{best[0].name}`{plus}"
            return TOP, f"`[{axis.name} = ...]` may read any `{axis.name}`"

        reach: Reach = {}
        for bound, trace in x.reach.items():
            changed = [digit(d) for d in bound]
            text = next((said for _, said in changed if said), "")
            reach = unite(reach, {tuple(d for d, _ in changed): self._step(text, trace) if text else trace})
        return Info(unite(reach, e.reach), without(x.true, {axis}), without(x.false, {axis}))

    def _split(self, x: Info) -> Info:
        node = self.node

        def digits(bound: Bound) -> Bound:
            out: list[Digit] = []
            for d in bound:
                if d.axis != node.axes[0]:
                    out.append(d)
                elif d.offset <= 0:
                    out.extend(Digit(axis) for axis in node.made)
                else:
                    out.append(TOP)
            return tuple(out)

        gone = {node.axes[0]}
        return Info({digits(b): trace for b, trace in x.reach.items()}, without(x.true, gone), without(x.false, gone))

    def _window(self, x: Info) -> Info:
        """The last tap of the window at s reads s * stride + |tap| - 1 - pad; onto its own axis the stride is 1."""
        node = self.node
        axis, (place, tap) = node.axes[0], node.made
        pad = known(node.options["pad"])
        entering = x.reach
        if counts(axis, self.given) and not any(d.axis == axis for bound in entering for d in bound):
            entering = unite(entering, {(Digit(axis),): self._step("`window` gives 0 past the last item", None)})
        reach: Reach = {}
        for bound, trace in entering.items():
            if not any(d.axis == axis for d in bound):
                reach = unite(reach, {bound: trace})
            elif place == axis and tap.extent is not None and isinstance(pad, int) and len(bound) == 1:
                ahead = tap.extent - 1 - pad
                step = (
                    self._step(f"`window` reads up to {ahead} item{'s' if ahead > 1 else ''} ahead", trace)
                    if ahead > 0
                    else trace
                )
                reach = unite(reach, {(Digit(axis, bound[0].offset + ahead),): step})
            else:
                reach = unite(reach, {(TOP,): self._step("`window` reads along another axis", trace)})
        return Info(reach)

    def _merge(self, x: Info) -> Info:
        node, made = self.node, self.node.made[0]
        reach: Reach = {}
        for bound, trace in x.reach.items():
            if not any(d.axis in node.axes for d in bound):
                reach = unite(reach, {bound: trace})
                continue
            new = _merged(bound, node.axes, made)
            step = self._step(f"`merge` makes `{made.name}` of axes read further than their own index", trace)
            reach = unite(reach, {new: step if new == (TOP,) else trace})
        gone = set(node.axes)
        return Info(reach, without(x.true, gone), without(x.false, gone))

    # -- facts ---------------------------------------------------------------------------------------------------

    def _pointwise(self, parts: list[Info]) -> Info:
        parts = self._felt(parts)
        if len(parts) == 1 and self.node.op in ("minimum", "clamp"):
            return parts[0]
        reach = unite(*(part.reach for part in parts))
        true, false = self._facts(parts)
        return Info(reach, true, false, self._linear(parts), self._uppers(parts), self._absolute(parts))

    def _felt(self, parts: list[Info]) -> list[Info]:
        """Without the run-time sizes that cannot matter: `min(t, |t| - 1)` is `t`, and `t < |t|` holds."""
        match self.node.op, parts:
            case "minimum", _:
                return [part for part in parts if not any(_below(other, part) for other in parts)]
            case "clamp", [x, low, high] if _below(x, high) and low.linear == Linear((), 0) and _never_negative(x):
                return [x]
            case "clamp", [x, low, high] if _below(x, high):
                return [x, low, replace(high, reach={})]
            case "<" | "<=" as op, [a, b] if _below(a, b, op == "<"):
                return [a, replace(b, reach={})]
            case ">" | ">=" as op, [a, b] if _below(b, a, op == ">"):
                return [replace(a, reach={}), b]
            case _:
                return parts

    def _facts(self, parts: list[Info]) -> tuple[Cases, Cases]:
        op = self.node.op
        match op:
            case "and":
                return both(parts[0].true, parts[1].true), either(parts[0].false, parts[1].false)
            case "or":
                return either(parts[0].true, parts[1].true), both(parts[0].false, parts[1].false)
            case "not":
                return parts[0].false, parts[0].true
            case "*":
                return both(parts[0].true, parts[1].true), ALWAYS
            case "+" | "-":  # a sum is not zero where one of its parts is not: a bias has no support, and so loses it
                return either(parts[0].true, parts[1].true), ALWAYS
            case _ if op in ZERO_OF_ZERO:
                return parts[0].true, ALWAYS
            case "select":
                c, x, y = parts
                return either(both(c.true, x.true), both(c.false, y.true)), either(
                    both(c.true, x.false), both(c.false, y.false)
                )
            case "<=" | "<" | ">=" | ">" | "==" | "!=":
                return self._comparison(parts)
            case _:
                return ALWAYS, ALWAYS

    def _comparison(self, parts: list[Info]) -> tuple[Cases, Cases]:
        a, b = parts
        op = self.node.op
        if op in (">", ">="):
            a, b, op = b, a, {">": "<", ">=": "<="}[op]
        if a.linear is not None and b.linear is not None:
            d = a.linear.plus(b.linear, -1)
            one = Linear((), 1)
            match op:
                case "<=":
                    return at_most_zero(d), at_most_zero(d.times(-1).plus(one))
                case "<":
                    return at_most_zero(d.plus(one)), at_most_zero(d.times(-1))
                case "==":
                    return both(at_most_zero(d), at_most_zero(d.times(-1))), ALWAYS
                case "!=":
                    return ALWAYS, both(at_most_zero(d), at_most_zero(d.times(-1)))
        if a.linear is not None and b.uppers and _never_negative(a) and op in ("<=", "<"):
            found = ALWAYS  # 0 <= a <= b, and such a b is at most each of its bounds
            for upper in b.uppers:
                found = both(found, at_most_zero(a.linear.plus(upper, -1)))
            return found, ALWAYS
        if a.absolute is not None and b.linear is not None and not b.linear.terms and op in ("<=", "<"):
            n = Linear((), b.linear.constant - (op == "<"))
            return both(at_most_zero(a.absolute.plus(n, -1)), at_most_zero(a.absolute.times(-1).plus(n, -1))), ALWAYS
        return ALWAYS, ALWAYS

    def _linear(self, parts: list[Info]) -> Linear | None:
        forms = [part.linear for part in parts]
        if any(form is None for form in forms):
            return None
        known_forms = [form for form in forms if form is not None]
        match self.node.op, known_forms:
            case "+", [a, b]:
                return a.plus(b)
            case "-", [a, b]:
                return a.plus(b, -1)
            case "neg", [a]:
                return a.times(-1)
            case (("int" | "index"), [a]):
                return a
            case "*", [a, b] if not a.terms or not b.terms:
                return b.times(a.constant) if not a.terms else a.times(b.constant)
            case _:
                return None

    def _absolute(self, parts: list[Info]) -> Linear | None:
        return parts[0].linear if self.node.op == "abs" else None

    def _uppers(self, parts: list[Info]) -> tuple[Linear, ...]:
        """Upper bounds, for gathers: indices are at least 0. A number or an index plus a number, the least of each."""
        least: dict[object, Linear] = {}
        for upper in self._all_uppers(parts):
            if (upper.bound is not None or not upper.terms) and (
                upper.terms not in least or upper.constant < least[upper.terms].constant
            ):
                least[upper.terms] = upper
        return tuple(least.values())[:UPPERS]

    def _all_uppers(self, parts: list[Info]) -> Iterable[Linear]:
        form = self._linear(parts)
        if form is not None:
            return (form,)
        match self.node.op:
            case "minimum":
                return (upper for part in parts for upper in part.uppers)
            case "maximum":
                return (found for a in parts[0].uppers for b in parts[1].uppers if (found := _larger(a, b)))
            case "clamp":
                either = (found for a in parts[0].uppers for b in parts[1].uppers if (found := _larger(a, b)))
                return (*either, *parts[2].uppers)
            case "floor" | "int" | "index":
                return parts[0].uppers
            case "%":
                return parts[0].uppers if _never_negative(parts[0]) else ()
            case "/":
                divisor = parts[1].linear
                return parts[0].uppers if divisor is not None and not divisor.terms and divisor.constant >= 1 else ()
            case "-":
                return parts[0].uppers if _never_negative(parts[1]) else ()
            case "select":
                return (found for a in parts[1].uppers for b in parts[2].uppers if (found := _larger(a, b)))
            case _:
                return ()


def _never_negative(info: Info) -> bool:
    form = info.linear
    return info.never_negative or (form is not None and form.constant >= 0 and all(c >= 0 for _, c in form.terms))


def _larger(a: Linear, b: Linear) -> Linear | None:
    """Something that is at least both, where that is easy: the same terms, or a number and an index."""
    if a.terms == b.terms:
        return a if a.constant >= b.constant else b
    for x, y in ((a, b), (b, a)):
        if not y.terms and x.bound is not None:
            return Linear(x.terms, max(x.constant, y.constant))
    return None


def _merged(bound: Bound, axes: tuple[Axis, ...], made: Axis) -> Bound:
    """Digits along merged axes as a bound along the axis made, compared digit by digit from the coarsest."""
    if len(bound) != len(axes):
        return (TOP,)
    for digit, axis in zip(bound, axes, strict=True):
        if digit.axis == axis and digit.offset < 0:
            return (Digit(made),)  # an earlier group: whatever follows is before this item
        if not digit.zero and (digit.axis != axis or digit.offset > 0):
            return (TOP,)
    return (Digit(made),)
