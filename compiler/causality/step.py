"""The step of a proof of causality through one op: what its result reads, by how the op reads its operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..graph.nodes import Apply, Graph
from ..graph.traits import Arrange, Gather, IndexMap, Normalise, Pointwise, Reduce, Running, Window
from ..graph.values import Role
from ..sizes.axes import Axis, known
from ..sizes.predicates import ALWAYS, Cases, Facts, both, closed, shared, without
from .caller_sizes import CallerSizes, reach_of_anything, reach_of_number, reveals_length
from .leak import Trace
from .pointwise import pointwise
from .reach import TOP, ZERO, Bound, Digit, Info, Reach, over_info, unite

Nearest = dict[Axis, tuple[Axis, int]]  # of each axis, another and a number: it is at most their sum


@dataclass
class Step:
    """One op of the table."""

    node: Apply
    infos: dict[int, Info]
    sizes: CallerSizes
    graph: Graph

    def info(self) -> Info:
        found = self._result()
        numbers = [reach_of_number(value, self.node.span, self.sizes) for value in self.node.options.values()]
        return replace(found, reach=unite(found.reach, *numbers)) if any(numbers) else found

    def _result(self) -> Info:
        node, traits = self.node, self.node.traits
        parts = [self.infos[value.id] for value in node.operands]
        mask = self.infos[node.mask.id] if node.mask else None
        read = parts if mask is None else [*parts, mask]
        kept = ALWAYS if mask is None else mask.true
        if traits.checks:
            return Info({})
        match traits.reads:
            case Pointwise(meaning):
                found = pointwise(meaning, parts)
                return Info(found.reach, found.true) if traits.random else found  # multiplied: what is 0 stays so
            case Reduce() as how:
                return self._reduce(how, parts, read, kept)
            case Normalise() as how:
                return self._normalise(how, parts, read, kept)
            case Running():
                return Info(unite(*(part.reach for part in read)))
            case Gather():
                return self._gather(parts[0], parts[1])
            case Window():
                return self._window(parts[0])
            case Arrange(map):
                return self._arrange(map, parts)
            case _:
                text = f"what `{node.op}` reads is not known: it may read anything"
                values = node.operands if node.mask is None else (*node.operands, node.mask)
                return Info(reach_of_anything(text, node.span, read, values, self.sizes))

    # -- reach ---------------------------------------------------------------------------------------------------

    def _step(self, text: str, before: Trace | None) -> Trace:
        return Trace(text, self.node.span, before, self.node, self.graph, self.graph)

    def _replaced(self, digit: Callable[[Digit], tuple[Digit, str]], *reaches: Reach) -> Reach:
        """The reach with each digit replaced; a digit that now reads further comes with words that say how."""
        out: Reach = {}
        for reach in reaches:
            for bound, trace in reach.items():
                changed = [digit(d) for d in bound]
                text = next((said for _, said in changed if said), "")
                out = unite(out, {tuple(d for d, _ in changed): self._step(text, trace) if text else trace})
        return out

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
            return other != self.sizes.wanted, axis not in first or other != first[axis][0], k

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

        out = self._replaced(digit, *(part.reach for part in parts))
        read = {d.axis for part in parts for bound in part.reach for d in bound}
        for axis in sorted(axes - read, key=lambda axis: axis.id):
            d, text = digit(Digit(axis))
            if reveals_length(axis, self.sizes) and (d.axis is None or d.offset > 0):
                out = unite(out, {(d,): self._step(f"{text}: even of equal items, it tells their number", None)})
        return out

    def _reduce(self, how: Reduce, parts: list[Info], read: list[Info], kept: Cases) -> Info:
        """It does not read what its mask leaves out; some ops do not read zeros either."""
        node, axes = self.node, set(self.node.axes)
        support = kept
        for part in parts if how.skips_zeros and (how.multiplies or len(parts) == 1) else []:
            support = both(support, part.true)
        biased = len(node.weights) > how.multiplies  # something is added to the product
        zero = how.skips_zeros and not biased and how.combination is not None and how.combination.neutral == 0
        return Info(self._bounded(read, axes, support), without(tuple(map(closed, support)), axes) if zero else ALWAYS)

    def _normalise(self, how: Normalise, parts: list[Info], read: list[Info], kept: Cases) -> Info:
        """Items that the mask leaves out have weight zero."""
        support = both(parts[0].true, kept) if how.skips_zeros else kept
        reach = self._bounded(read, set(self.node.axes), support)
        return Info(reach, kept if how.weights and not how.logarithm else ALWAYS)

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

        reach = unite(self._replaced(digit, x.reach), e.reach)
        return Info(reach, without(x.true, {axis}), without(x.false, {axis}))

    def _arrange(self, map: IndexMap, parts: list[Info]) -> Info:
        node, x = self.node, parts[0]
        match map:
            case IndexMap.NEW:
                return x
            case IndexMap.SAME:
                return over_info(x, dict(zip(node.axes, node.made, strict=True)))
            case IndexMap.SHIFTED:
                return Info(self._shift(x))
            case IndexMap.PARTS:
                ended = [self._ended(part, axis) for part, axis in zip(parts[:-1], node.axes[:-1], strict=True)]
                reaches = zip([*ended, parts[-1].reach], node.axes, strict=True)
                joined = [over_info(Info(reach), {axis: node.made[0]}) for reach, axis in reaches]
                return Info(unite(*(info.reach for info in joined)))
            case IndexMap.DIGITS:
                return self._split(x)
            case IndexMap.NUMBER:
                return self._merge(x)
            case IndexMap.MIRRORED:
                return self._mirror(x)

    def _mirror(self, x: Info) -> Info:
        """Item 0 of the result is the last item, so the result reveals how many there are, even where all are equal."""
        axes = set(self.node.axes)

        def digit(d: Digit) -> tuple[Digit, str]:
            if d.axis is None or d.axis not in axes:
                return d, ""
            return TOP, f"`{self.node.op}` turns the items of `{d.axis.name}` round: item 0 reads the last"

        reach = self._replaced(digit, x.reach)
        for axis in self.node.axes:
            if reveals_length(axis, self.sizes):
                last, text = digit(Digit(axis))
                reach = unite(reach, {(last,): self._step(text, None)})
        return Info(reach, without(x.true, axes), without(x.false, axes))

    def _shift(self, x: Info) -> Reach:
        axis, left = self.node.axes[0], known(self.node.options["left"])
        by = left if isinstance(left, int) else 0  # it is no less

        def digit(d: Digit) -> tuple[Digit, str]:
            return (Digit(self.node.made[0], d.offset - by) if d.axis == axis else d), ""

        return self._replaced(digit, self._ended(x, axis))

    def _ended(self, x: Info, axis: Axis) -> Reach:
        """A result that goes on after the last item of an axis reveals, by what follows, that it was the last."""
        if reveals_length(axis, self.sizes) and not any(d.axis == axis for bound in x.reach for d in bound):
            text = f"`{self.node.op}` goes on after the last `{axis.name}`: even of equal items, it tells their number"
            return unite(x.reach, {(Digit(axis),): self._step(text, None)})
        return x.reach

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
        if reveals_length(axis, self.sizes) and not any(d.axis == axis for bound in entering for d in bound):
            entering = unite(entering, {(Digit(axis),): self._step(f"`{node.op}` gives 0 past the last item", None)})
        reach: Reach = {}
        for bound, trace in entering.items():
            if not any(d.axis == axis for d in bound):
                reach = unite(reach, {bound: trace})
            elif place == axis and tap.extent is not None and isinstance(pad, int) and len(bound) == 1:
                ahead = tap.extent - 1 - pad
                step = (
                    self._step(f"`{node.op}` reads up to {ahead} item{'s' if ahead > 1 else ''} ahead", trace)
                    if ahead > 0
                    else trace
                )
                reach = unite(reach, {(Digit(axis, bound[0].offset + ahead),): step})
            else:
                reach = unite(reach, {(TOP,): self._step(f"`{node.op}` reads along another axis", trace)})
        return Info(reach)

    def _merge(self, x: Info) -> Info:
        node, made = self.node, self.node.made[0]
        reach: Reach = {}
        for bound, trace in x.reach.items():
            if not any(d.axis in node.axes for d in bound):
                reach = unite(reach, {bound: trace})
                continue
            new = _merged(bound, node.axes, made)
            step = self._step(f"`{node.op}` makes `{made.name}` of axes read further than their own index", trace)
            reach = unite(reach, {new: step if new == (TOP,) else trace})
        gone = set(node.axes)
        return Info(reach, without(x.true, gone), without(x.false, gone))


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
