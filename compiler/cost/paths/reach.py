"""How far information travels along a width, and in how many hops: the paths of Vaswani et al. 2017, table 1.

A `Route` says which input items a value depends on: those at `form - left` to `form + right`, where `form` is made of
the value's own axes, and how many hops it took. A hop is an op that brings items together: a sum over the width
(attention, pooling), a window, one step of a scan. What a mask made of indices leaves out is not reached. A repeat adds
the reach of its passes, which are kept apart (`Passes`): as many are taken as the way between two items needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import add

from ...graph.nodes import Apply
from ...graph.traits import Arrange, Gather, IndexMap, Normalise, Pointwise, Reduce, Running, Window
from ...graph.values import Role
from ...sizes.axes import Axis
from ..bands import Facts, Form, IndexBounds, limits
from ..polynomials.operations import put
from ..polynomials.polynomial import ONE, ZERO, Poly, SizeSymbol, Values, total
from ..scope import SizeScope


@dataclass(frozen=True, slots=True)
class Distance:
    """How far to the left and to the right, and in how many hops."""

    left: Poly
    right: Poly
    hops: Poly

    def __add__(self, other: Distance) -> Distance:
        return Distance(self.left + other.left, self.right + other.right, self.hops + other.hops)

    def put(self, index: SizeSymbol, by: Poly) -> Distance:
        return Distance(*(put(poly, index, by) for poly in (self.left, self.right, self.hops)))

    def to(self, side: str) -> Poly:
        """How far to the "left" or "right", or to "both" together, which is all that counts for what has no width."""
        return self.left + self.right if side == "both" else self.left if side == "left" else self.right


SIDES = ("left", "right", "both")
NOWHERE = Distance(ZERO, ZERO, ZERO)


@dataclass(frozen=True, slots=True)
class Passes:
    """Passes of a repeat: what one of them adds, which may depend on its number (`index`, from `first` on), and what
    all of them do.
    """

    one: Distance
    all: Distance
    count: Poly
    index: SizeSymbol | None = None
    first: int = 0

    def put(self, index: SizeSymbol, by: Poly) -> Passes:
        return replace(self, one=self.one.put(index, by), all=self.all.put(index, by), count=put(self.count, index, by))


@dataclass(frozen=True, slots=True)
class Route:
    """steps: the repeats that it goes through, of which `own` says nothing; `all` is with them.

    carried: it begins at what goes round a repeat, not at an input.
    local: it stays within blocks of this size, however often it is taken.
    sure:  it reaches all of that: not so where a mask or an index is no band, and only a bound of it is known.
    """

    form: Form
    own: Distance = NOWHERE
    steps: tuple[Passes, ...] = ()
    carried: bool = False
    local: Poly | None = None
    sure: bool = True

    @property
    def all(self) -> Distance:
        return reduce(add, (step.all for step in self.steps), self.own)

    def over(self, names: Mapping[Axis, Axis]) -> Route:
        return replace(self, form=self.form.over(names))

    def put(self, index: SizeSymbol, by: Poly) -> Route:
        local = None if self.local is None else put(self.local, index, by)
        return replace(
            self, own=self.own.put(index, by), steps=tuple(step.put(index, by) for step in self.steps), local=local
        )

    def further(self, left: Poly = ZERO, right: Poly = ZERO, hops: Poly = ZERO) -> Route:
        return replace(self, own=self.own + Distance(left, right, hops))


Routes = tuple[Route, ...]


def start(axes: Iterable[Axis], families: frozenset[int]) -> Routes:
    """Of an input: each item of a width is reached from itself."""
    return tuple(Route(Form({axis: ONE}, ZERO)) for axis in axes if axis.family in families)


def pruned(routes: Iterable[Route], values: Values) -> Routes:
    """The routes, but for those that others match on each side in no more hops; bounds if there are too many."""
    kept = [(route, _measured(route, values)) for route in routes]
    if len(kept) > MANY:
        kept = [(route, _measured(route, values)) for route in _bounds(kept)]
    for each in list(kept):
        others = [other for other in kept if other is not each]
        if all(any(_covers(other, each, side) for other in others) for side in SIDES):
            kept = others
    return tuple(route for route, _ in kept)


MANY = 100  # routes: nested repeats make more with each level; bounds of so many are enough
Measured = Mapping[str, Fraction]


def _bounds(routes: Sequence[tuple[Route, Measured]]) -> Iterator[Route]:
    """One route for all of a form that go anywhere: as far as any of them, in one hop."""
    kinds: dict[str, list[tuple[Route, Measured]]] = {}
    for route, measured in routes:
        goes = any(measured[side] for side in SIDES)
        kinds.setdefault(f"{route.form} {route.carried} {goes}", []).append((route, measured))
    for some in kinds.values():
        left, right = (max(some, key=lambda each: each[1][side])[0].all.to(side) for side in ("left", "right"))
        hops = ONE if all(measured["hops"] for _, measured in some) else ZERO
        yield Route(some[0][0].form, Distance(left, right, hops), carried=some[0][0].carried, sure=False)


def _measured(route: Route, values: Values) -> Measured:
    """How far to each side, and in how many hops; of the route as a whole, and without its repeats."""
    own = {f"own {side}": route.own.to(side).at(values) for side in SIDES} | {"own hops": route.own.hops.at(values)}
    if not route.steps:
        return own | {side: own[f"own {side}"] for side in SIDES} | {"hops": own["own hops"]}
    every = route.all
    return own | {side: every.to(side).at(values) for side in SIDES} | {"hops": every.hops.at(values)}


def _covers(a: tuple[Route, Measured], b: tuple[Route, Measured], side: str) -> bool:
    """Whether a goes as far to this side as b in no more hops, however many of its passes b takes."""
    (one, its), (other, mine) = a, b
    return (
        one.form == other.form
        and one.carried == other.carried
        and (one.local is None or one.local == other.local)
        and (one.sure or not other.sure)
        and its[side] >= mine[side]
        and (
            its["hops"] <= mine["own hops"]
            or (
                one.steps == other.steps
                and its[f"own {side}"] >= mine[f"own {side}"]
                and its["own hops"] <= mine["own hops"]
            )
        )
    )


@dataclass(frozen=True, slots=True)
class Reach:
    """The rules, in one scope. whole: the size of the width less one: as far as anything reaches."""

    scope: SizeScope
    values: Values
    whole: Poly

    def through(
        self, node: Apply, parts: Sequence[Routes], indices: Sequence[IndexBounds], support: Facts, exact: bool
    ) -> Routes:
        """The routes of an op's result. parts: of its operands, and of its mask last. exact: the support is all."""
        before = [route for part in parts for route in part]
        found = self._through(node, parts, indices, support)
        if not exact:
            found = tuple(route if route in before else replace(route, sure=False) for route in found)
        return found

    def _through(self, node: Apply, parts: Sequence[Routes], indices: Sequence[IndexBounds], support: Facts) -> Routes:
        all_parts = [route for part in parts for route in part]
        if not all_parts:
            return ()
        match node.traits.reads:
            case Pointwise() | Arrange(IndexMap.NEW):
                found = all_parts
            case Arrange(IndexMap.SAME):
                found = [route.over({node.axes[0]: node.made[0]}) for route in all_parts]
            case Gather():
                found = [self._gathered(route, node, indices[1]) for route in parts[0]]
                found += parts[1]
            case Window():
                found = [self._windowed(route, node) for route in all_parts]
            case Arrange(IndexMap.SHIFTED):
                left = self.scope.number(node.options["left"])
                made = Form({node.made[0]: ONE}, -left)
                found = [self._put(route, node.axes[0], made) for route in all_parts]
            case Arrange(IndexMap.DIGITS):
                found = [self._put(route, node.axes[0], self._digits(node.made)) for route in all_parts]
            case Arrange(IndexMap.NUMBER):
                found = [self._merged(route, node) for route in all_parts]
            case Arrange(IndexMap.PARTS):
                found = [self._joined(route, node, place) for place, part in enumerate(parts) for route in part]
            case Arrange(IndexMap.MIRRORED):
                found = [self._mirrored(route, node.axes[0]) for route in all_parts]
            case Running():
                found = [self._run(route, node.axes[0], ONE) for route in all_parts]
            case Reduce(combination=None):  # what is not known of it may hang on what a mask leaves out
                found = [self._summed(route, node.axes, {}, ONE) for route in all_parts]
            case Reduce() | Normalise():
                found = [self._summed(route, node.axes, support, ONE) for route in all_parts]
            case _:
                found = [replace(self.anywhere(route), sure=False) for route in all_parts]
        return pruned(found, self.values)

    def anywhere(self, route: Route) -> Route:
        """The route through what may read anything: to all items in one hop."""
        return replace(route, own=Distance(self.whole, self.whole, route.own.hops + 1), local=None)

    def _on(self, route: Route, axes: Iterable[Axis]) -> bool:
        return any(axis in route.form.terms for axis in axes)

    def _summed(self, route: Route, axes: Sequence[Axis], support: Facts, hop: Poly) -> Route:
        """Over axes of the route: to as far as the mask lets them go from another axis, else over all of them."""
        if not self._on(route, axes):
            return route
        route = route.further(hops=hop)
        for axis in axes:
            scale = route.form.terms.get(axis)
            if scale is None:
                continue
            near = next((q for q, k in support if k == axis and q not in axes), None)
            near = near or next((q for k, q in support if k == axis and q not in axes), None)
            form = Form({a: c for a, c in route.form.terms.items() if a != axis}, route.form.constant)
            left, right = ZERO, self.scope.size(axis) - 1
            if near is not None:
                band = (right if limit is None else limit for limit in limits(support, near, axis))
                left, right = (min(right, limit, key=lambda far: far.at(self.values)) for limit in band)
                form = form.plus(Form({near: scale}, ZERO))
            moved = replace(self._moving(route, axis, near is None), form=form)
            route = self._wider(moved, *self._sides(scale, left, right))
        return route

    def _sides(self, scale: Poly, left: Poly, right: Poly) -> tuple[Poly, Poly]:
        """Distances along an axis as distances along the width, of which a step is `scale` (negative: backwards)."""
        return (left * scale, right * scale) if scale.at(self.values) > 0 else (right * -scale, left * -scale)

    def _wider(self, route: Route, left: Poly, right: Poly) -> Route:
        """Reaching further to both sides (a negative amount: the other way), its block or the width itself at most."""
        own, most = route.further(left, right).own, self.whole if route.local is None else route.local - 1

        def within(reach: Poly) -> Poly:
            return most if reach.at(self.values) >= most.at(self.values) else reach

        return replace(route, own=Distance(within(own.left), within(own.right), own.hops))

    def _moving(self, route: Route, axis: Axis, every: bool) -> Route:
        """The route before it moves along an axis (every: to all items): within blocks, if that is part of the width.

        Where blocks are left by less than a block, or items between those that it moves to, not all have as far to go.
        """
        if self._is_single(axis):
            return route
        scale = route.form.terms[axis]
        others = [c for other, c in route.form.terms.items() if other != axis and not self._is_single(other)]
        local = self._nested(route, scale * self.scope.size(axis)) if others else None
        if every and not others:
            return replace(route, local=local)
        parts = bool(others) if route.local is None else scale.at(self.values) % route.local.at(self.values) != 0
        strides = any(c.at(self.values) < scale.at(self.values) for c in others)
        even = not (local is None and parts) and (every or not strides)
        return replace(route, local=local, sure=route.sure and even)

    def _is_single(self, axis: Axis) -> bool:
        return self.scope.size(axis).at(self.values) == 1

    def _nested(self, route: Route, size: Poly) -> Poly | None:
        """The size of the blocks, if those in which it stayed so far lie within such ones, or the other way round."""
        if route.local is None:
            return None if route.steps or route.own.left or route.own.right else size
        small, large = sorted((route.local, size), key=lambda poly: poly.at(self.values))
        return large if large.at(self.values) % small.at(self.values) == 0 else None

    def _run(self, route: Route, axis: Axis, hops: Poly) -> Route:
        """Along the axis from its start to each of its items; that of a part of the width begins anew in each block."""
        scale = route.form.terms.get(axis)
        if scale is None:
            return route
        sides = self._sides(scale, self.scope.size(axis) - 1, ZERO)
        return self._wider(self._moving(route, axis, False).further(hops=hops), *sides)

    def _mirrored(self, route: Route, axis: Axis) -> Route:
        """To an item as far away as the axis is long, or nearer: of which one it is no more than a bound is known."""
        scale = route.form.terms.get(axis)
        if scale is None:
            return route
        far = self.scope.size(axis) - 1
        moved = self._moving(route, axis, False).further(hops=ONE)
        return replace(self._wider(moved, *self._sides(scale, far, far)), sure=False)

    def _put(self, route: Route, axis: Axis, form: Form) -> Route:
        """With a form in an axis' place."""
        scale = route.form.terms.get(axis)
        if scale is None:
            return route
        rest = Form({a: c for a, c in route.form.terms.items() if a != axis}, route.form.constant)
        return replace(route, form=rest.plus(form.times(scale)))

    def _digits(self, axes: Sequence[Axis]) -> Form:
        form, scale = Form({}, ZERO), ONE
        for axis in reversed(axes):
            form = form.plus(Form({axis: scale}, ZERO))
            scale = scale * self.scope.size(axis)
        return form

    def _shifted(self, route: Route, left: Poly, right: Poly) -> Route:
        """In one hop that far, and by the constant of the form: `x[t - 3]` reaches 3 to the left, none to the right."""
        c = route.form.constant
        route = replace(route, form=Form(route.form.terms, ZERO)).further(hops=ONE)
        return self._wider(route, left - c, right + c)

    def _gathered(self, route: Route, node: Apply, index: IndexBounds) -> Route:
        axis = node.axes[0]
        if axis not in route.form.terms:
            return route
        if node.operands[1].role is Role.DATA:  # any item, by content
            return self._summed(route, (axis,), {}, ONE)
        if index.clamped is None:
            return replace(self._summed(route, (axis,), {}, ONE), sure=False)
        moving = self._moving(route, axis, False)
        return self._around(self._put(route, axis, index.clamped), axis.family, moving)

    def _around(self, route: Route, family: int, moving: Route) -> Route:
        """One axis as the middle, the spread of all others (the taps) as reach; a hop if anything else is read.

        Without a middle, as backwards or by twos, all that is known is a bound.
        """
        terms = dict(route.form.terms)
        middle = next((axis for axis, c in terms.items() if axis.family == family and c == ONE), None)
        back = next((axis for axis, c in terms.items() if axis.family == family and c == -ONE), None)
        if middle is None and back is not None:
            return self._mirrored(replace(route, form=Form({**terms, back: ONE}, ZERO)), back)
        if terms and middle is None:
            route = replace(route, sure=False)
        if not route.form.constant and (middle is None or len(terms) == 1):
            return route
        left = right = ZERO
        for axis, c in route.form.terms.items() if middle is not None else ():
            if axis != middle:
                del terms[axis]
                spread = c * (self.scope.size(axis) - 1)
                left, right = (left, right + spread) if c.at(self.values) > 0 else (left - spread, right)
        moved = replace(route, form=Form(terms, route.form.constant), local=moving.local)
        return self._shifted(replace(moved, sure=route.sure and moving.sure), left, right)

    def _windowed(self, route: Route, node: Apply) -> Route:
        axis, (place, tap) = node.axes[0], node.made
        if axis not in route.form.terms:
            return route
        stride, pad = self.scope.number(node.options["stride"]), self.scope.number(node.options["pad"])
        scale = route.form.terms[axis]
        taps = self._sides(scale, ZERO, self.scope.size(tap) - 1)
        moved = self._put(self._moving(route, axis, False), axis, Form({place: stride}, -pad))
        return self._shifted(moved, *taps)

    def _merged(self, route: Route, node: Apply) -> Route:
        """Digits as one axis again. A digit that is gone may have any value."""
        if not self._on(route, node.axes):
            return route
        digits = self._digits(node.axes)
        made = node.made[0]
        first = next(axis for axis in node.axes if axis in route.form.terms)
        scale = route.form.terms[first].over(digits.terms[first]) or ONE
        rest = {a: c for a, c in route.form.terms.items() if a not in node.axes}
        gone = [axis for axis in node.axes if axis not in route.form.terms]
        blocks = gone == list(node.axes[len(node.axes) - len(gone) :])
        local = route.local
        if gone:
            local = self._nested(route, scale * self.scope.product(gone)) if blocks else None
        out = replace(route, form=Form({**rest, made: scale}, route.form.constant), local=local)
        for axis in gone:
            out = self._wider(out, *self._sides(scale, digits.terms[axis] * (self.scope.size(axis) - 1), ZERO))
        return out if blocks else replace(out, sure=False)

    def _joined(self, route: Route, node: Apply, place: int) -> Route:
        """A part of what is joined begins where those before it end."""
        before = total(self.scope.size(other) for other in node.axes[:place])
        return self._put(route, node.axes[place], Form({node.made[0]: ONE}, -before))

    # -- repeats and scans ---------------------------------------------------------------------------------------

    def repeated(
        self, outside: Sequence[Routes], inside: Sequence[Routes], count: Poly, index: SizeSymbol | None
    ) -> list[Routes]:
        """After all passes. outside: of what goes in; inside: of one pass, from what goes round or elsewhere."""
        before = [route for part in outside for route in part]
        last = count.at(self.values) - 1
        if last < 0:  # no pass
            return list(outside)
        # What goes in from elsewhere in the first pass goes through all that follow.
        late = [self._in_pass(route, index, 0) for part in inside for route in part if not route.carried]
        out = []
        for part in inside:
            found: list[Route] = []
            for step in part:
                if not step.carried:
                    found += [self._in_pass(step, index, number) for number in sorted({0, int(last)})]
                    continue
                for old, first in [*((old, 0) for old in before), *((old, 1) for old in late if last > 0)]:
                    found += self._passes(old, step, first, count, index)
            out.append(pruned(found, self.values))
        return out

    @staticmethod
    def _in_pass(route: Route, index: SizeSymbol | None, number: int) -> Route:
        return route if index is None else route.put(index, Poly.of(number))

    def _passes(self, old: Route, step: Route, first: int, count: Poly, index: SizeSymbol | None) -> list[Route]:
        """From that pass on. One pass is enough for a side that it reaches the end of."""
        if step.all == NOWHERE:
            return [replace(old, form=step.form if step.form.terms else old.form)]
        here = step if index is None else step.put(index, Poly.of(first))
        if index is not None and step.local is not None:  # the pass of the largest blocks
            every_pass = (step.put(index, Poly.of(number)) for number in range(first, int(count.at(self.values))))
            here = max(every_pass, key=lambda one: one.local.at(self.values) if one.local is not None else 0)
        local = None if here.local is None else self._nested(old, here.local)
        old = replace(old, form=step.form, local=local, sure=old.sure and step.sure)
        near, far = sorted((here.all.left.at(self.values), here.all.right.at(self.values)))
        whole = self.whole.at(self.values)
        found = []
        if step.local is not None or far >= whole:
            once = replace(old, steps=(*old.steps, *here.steps)).further(hops=here.own.hops)
            found.append(self._wider(once, here.own.left, here.own.right))
        if step.local is None and (far < whole or 0 < near < whole):
            one = step.all
            every = Distance(*(self._all(each, first, count, index) for each in (one.left, one.right, one.hops)))
            found.append(replace(old, steps=(*old.steps, Passes(one, every, count - first, index, first))))
        return found

    def _all(self, each: Poly, first: int, count: Poly, index: SizeSymbol | None) -> Poly:
        """The sum over all passes from that one on."""
        if index is None:
            return each * (count - first)
        return total(put(each, index, Poly.of(number)) for number in range(first, int(count.at(self.values))))

    def scanned(self, routes: Routes, axis: Axis) -> Routes:
        """Of what a scan gives, from those of one step: every item up to this one, a hop for each step in between."""
        further = [self._run(route, axis, self.scope.size(axis) - 1) for route in routes]
        return pruned([*routes, *further], self.values)
