"""How far information travels along a width, and in how many hops: the paths of Vaswani et al. 2017, table 1.

A `Route` says which input items a value hangs on: those at `form - left` to `form + right`, where `form` is made of the
value's own axes, and how many hops it took. A hop is an op that brings items together: a sum over the width (attention,
pooling), a window, one step of a scan. What a mask made of indices leaves out is not reached. A repeat adds the reach
of its passes; so the longest path between two items is as many passes as it takes to get from one to the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from ..axes import Axis
from ..graph import Apply, Role
from ..ops import OPS
from .bands import Facts, Form, Index, limits
from .polynomial import ONE, ZERO, Poly, Symbol, Values, apply, total
from .scope import Scope


@dataclass(frozen=True, slots=True)
class Step:
    """One pass of a repeat: its reach to both sides and its hops, which may hang on the pass (`index`); of `count`."""

    left: Poly
    right: Poly
    hops: Poly
    count: Poly
    index: Symbol | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """carried: it begins at what goes round a repeat, not at an input. step: what a further pass would add.

    local: it stays within blocks of this size, however often it is taken.
    sure:  it reaches all of that: not so where a mask or an index is no band, and only a bound of it is known.
    """

    form: Form
    left: Poly
    right: Poly
    hops: Poly
    step: Step | None = None
    carried: bool = False
    local: Poly | None = None
    sure: bool = True

    def over(self, names: Mapping[Axis, Axis]) -> Route:
        return replace(self, form=self.form.over(names))


Routes = tuple[Route, ...]


def start(axes: Iterable[Axis], families: frozenset[int], carried: bool = False) -> Routes:
    """Of an input: each item of a width is reached from itself."""
    return tuple(
        Route(Form({axis: ONE}, ZERO), ZERO, ZERO, ZERO, carried=carried) for axis in axes if axis.family in families
    )


def pruned(routes: Iterable[Route], values: Values) -> Routes:
    """Without those than which another reaches as far in no more hops."""
    kept: list[Route] = []
    for route in routes:
        if any(_covers(other, route, values) for other in kept):
            continue
        kept = [other for other in kept if not _covers(route, other, values)]
        kept.append(route)
    return tuple(kept)


def _covers(a: Route, b: Route, values: Values) -> bool:
    return (
        a.form == b.form
        and a.carried == b.carried
        and (a.local is None or a.local == b.local)
        and (b.step is None or a.step == b.step or _reach(a, values) >= _reach(b, values))
        and a.left.at(values) >= b.left.at(values)
        and a.right.at(values) >= b.right.at(values)
        and a.hops.at(values) <= b.hops.at(values)
        and (a.sure or not b.sure)
    )


def _reach(route: Route, values: Values) -> Fraction:
    return max(route.left.at(values), route.right.at(values))


@dataclass(frozen=True, slots=True)
class Reach:
    """The rules, in one scope. whole: the size of the width less one: as far as anything reaches."""

    scope: Scope
    values: Values
    whole: Poly

    def through(
        self, node: Apply, parts: Sequence[Routes], indices: Sequence[Index], support: Facts, exact: bool
    ) -> Routes:
        """The routes of an op's result. parts: of its operands, and of its mask last. exact: the support is all."""
        before = [route for part in parts for route in part]
        found = self._through(node, parts, indices, support)
        if not exact:
            found = tuple(route if route in before else replace(route, sure=False) for route in found)
        return found

    def _through(self, node: Apply, parts: Sequence[Routes], indices: Sequence[Index], support: Facts) -> Routes:
        all_parts = [route for part in parts for route in part]
        if not all_parts:
            return ()
        match node.op:
            case "rename":
                found = [route.over({node.axes[0]: node.made[0]}) for route in all_parts]
            case "gather":
                found = [self._gathered(route, node, indices[1]) for route in parts[0]]
                found += parts[1]
            case "window":
                found = [self._windowed(route, node) for route in all_parts]
            case "pad":
                left = self.scope.number(node.options["left"])
                made = Form({node.made[0]: ONE}, -left)
                found = [self._put(route, node.axes[0], made) for route in all_parts]
            case "split":
                found = [self._put(route, node.axes[0], self._digits(node.made)) for route in all_parts]
            case "merge":
                found = [self._merged(route, node) for route in all_parts]
            case "concat":
                found = [self._joined(route, node, place) for place, part in enumerate(parts) for route in part]
            case "cumsum":
                found = [self._run(route, node.axes[0], ONE) for route in all_parts]
            case "topk" | "argsort" | "argmax" | "cross_entropy":
                found = [self._summed(route, node.axes, {}, ONE) for route in all_parts]
            case "softmax" | "log_softmax" | "l2norm" | "layernorm" | "rmsnorm":
                found = [self._summed(route, node.axes, support, ONE) for route in all_parts]
            case op if OPS[op].group in ("contract", "reduce", "learned"):
                found = [self._summed(route, node.axes, support, ONE) for route in all_parts]
            case _:
                found = list(all_parts)
        return pruned(found, self.values)

    def _on(self, route: Route, axes: Iterable[Axis]) -> bool:
        return any(axis in route.form.terms for axis in axes)

    def _summed(self, route: Route, axes: Sequence[Axis], support: Facts, hop: Poly) -> Route:
        """Over axes of the route: to as far as the mask lets them go from another axis, else over all of them."""
        if not self._on(route, axes):
            return route
        route = replace(route, hops=route.hops + hop)
        for axis in axes:
            scale = route.form.terms.get(axis)
            if scale is None:
                continue
            near = next((q for q, k in support if k == axis and q not in axes), None)
            near = near or next((q for k, q in support if k == axis and q not in axes), None)
            form = Form({a: c for a, c in route.form.terms.items() if a != axis}, route.form.constant)
            if near is None:
                route = self._wider(replace(route, form=form), ZERO, scale * (self.scope.size(axis) - 1))
                continue
            left, right = limits(support, near, axis)
            form = form.plus(Form({near: scale}, ZERO))
            route = self._wider(
                replace(route, form=form),
                self.whole if left is None else left * scale,
                self.whole if right is None else right * scale,
            )
        return route

    def _wider(self, route: Route, left: Poly, right: Poly) -> Route:
        """Reaching further to both sides (a negative amount: the other way), the width itself at most."""
        return replace(route, left=self._most(route.left + left), right=self._most(route.right + right))

    def _most(self, reach: Poly) -> Poly:
        return self.whole if reach.at(self.values) >= self.whole.at(self.values) else reach

    def _run(self, route: Route, axis: Axis, hops: Poly) -> Route:
        """Along the axis from its start to each of its items; that of a part of the width begins anew in each block."""
        scale = route.form.terms.get(axis)
        if scale is None:
            return route
        local = scale * self.scope.size(axis) if len(route.form.terms) > 1 else route.local
        wider = self._wider(route, scale * (self.scope.size(axis) - 1), ZERO)
        return replace(wider, hops=route.hops + hops, local=local)

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

    def _shifted(self, route: Route) -> Route:
        """The constant of the form as reach: `x[t - 3]` reaches 3 to the left, and none to the right."""
        c = route.form.constant
        if not c:
            return route
        return self._wider(replace(route, form=Form(route.form.terms, ZERO)), -c, c)

    def _gathered(self, route: Route, node: Apply, index: Index) -> Route:
        axis = node.axes[0]
        if axis not in route.form.terms:
            return route
        if node.operands[1].role is Role.DATA:  # any item, by content
            return self._summed(route, (axis,), {}, ONE)
        low = index.form or next(iter(index.lows), None)
        high = index.form or next(iter(index.highs), None)
        if low is None or high is None or low.terms != high.terms:
            return replace(self._summed(route, (axis,), {}, ONE), sure=False)
        return self._around(self._put(route, axis, low), axis.family)

    def _around(self, route: Route, family: int) -> Route:
        """One axis as the middle, the spread of all others (the taps) as reach; a hop if anything else is read.

        Without a middle, as backwards or by twos, all that is known is a bound.
        """
        terms = dict(route.form.terms)
        middle = next((axis for axis, c in terms.items() if axis.family == family and c == ONE), None)
        if terms and middle is None:
            route = replace(route, sure=False)
        moved = bool(route.form.constant)
        for axis, c in list(terms.items()):
            if axis == middle or middle is None:
                continue
            del terms[axis]
            spread = c * (self.scope.size(axis) - 1)
            route = self._wider(route, ZERO, spread) if c.at(self.values) > 0 else self._wider(route, -spread, ZERO)
            moved = True
        route = self._shifted(replace(route, form=Form(terms, route.form.constant)))
        return replace(route, hops=route.hops + 1) if moved else route

    def _windowed(self, route: Route, node: Apply) -> Route:
        axis, (place, tap) = node.axes[0], node.made
        if axis not in route.form.terms:
            return route
        stride, pad = self.scope.number(node.options["stride"]), self.scope.number(node.options["pad"])
        scale = route.form.terms[axis]
        moved = self._put(route, axis, Form({place: stride}, -pad))
        taps = scale * (self.scope.size(tap) - 1)
        return self._shifted(replace(self._wider(moved, ZERO, taps), hops=route.hops + 1))

    def _merged(self, route: Route, node: Apply) -> Route:
        """Digits as one axis again. Of a digit that is gone any value may be meant."""
        if not self._on(route, node.axes):
            return route
        digits = self._digits(node.axes)
        made = node.made[0]
        first = next(axis for axis in node.axes if axis in route.form.terms)
        scale = route.form.terms[first].over(digits.terms[first]) or ONE
        rest = {a: c for a, c in route.form.terms.items() if a not in node.axes}
        out = replace(route, form=Form({**rest, made: scale}, route.form.constant))
        gone = [axis for axis in node.axes if axis not in route.form.terms]
        for axis in gone:
            out = self._wider(out, scale * digits.terms[axis] * (self.scope.size(axis) - 1), ZERO)
        blocks = gone == list(node.axes[len(node.axes) - len(gone) :])
        if gone and blocks and not route.form.constant and not route.left:
            return replace(out, local=self.scope.product(gone))
        return out if blocks else replace(out, sure=False)

    def _joined(self, route: Route, node: Apply, place: int) -> Route:
        """A part of what is joined begins where those before it end."""
        axis, before = node.axes[place], self.scope.product(()) * 0
        for other in node.axes[:place]:
            before = before + self.scope.size(other)
        return self._put(route, axis, Form({node.made[0]: ONE}, ZERO))

    # -- repeats and scans ---------------------------------------------------------------------------------------

    def repeated(
        self, outside: Sequence[Routes], inside: Sequence[Routes], count: Poly, index: Symbol | None
    ) -> list[Routes]:
        """After all passes. outside: of what goes in; inside: of one pass, from what goes round or elsewhere."""
        before = [route for part in outside for route in part]
        out = []
        for part, entered in zip(inside, outside, strict=True):
            found: list[Route] = list(entered) if count.at(self.values) == 0 else []
            for step in part:
                if not step.carried:
                    found.append(step)
                    continue
                found += [self._passes(old, step, count, index) for old in before]
            out.append(pruned(found, self.values))
        return out

    def _passes(self, old: Route, step: Route, count: Poly, index: Symbol | None) -> Route:
        if not step.left and not step.right and not step.hops:
            return replace(old, form=step.form if step.form.terms else old.form)
        here = self.values if index is None else {**self.values, index: 0}
        if step.local is not None or _reach(step, here) >= self.whole.at(self.values):
            wider = self._wider(replace(old, form=step.form), step.left, step.right)
            return replace(wider, hops=old.hops + step.hops, local=step.local, sure=old.sure and step.sure)
        one = Step(step.left, step.right, step.hops, count, index)
        left, right, hops = (self._all(each, count, index) for each in (step.left, step.right, step.hops))
        wider = self._wider(replace(old, form=step.form), left, right)
        return replace(wider, hops=old.hops + hops, step=one, sure=old.sure and step.sure)

    def _all(self, each: Poly, count: Poly, index: Symbol | None) -> Poly:
        """The sum over all passes."""
        if index is None:
            return each * count
        return total(each.put(index, Poly.of(number)) for number in range(int(count.at(self.values))))

    def scanned(self, routes: Routes, axis: Axis) -> Routes:
        """Of what a scan gives, from those of one step: every item up to this one, a hop for each step in between."""
        items = [route for route in routes if axis in route.form.terms]
        further = [self._run(route, axis, self.scope.size(axis) - 1) for route in items]
        return pruned([*routes, *further], self.values)


@dataclass(frozen=True, slots=True)
class Path:
    """The longest path between two items of a width, along which information may go at all.

    hops:    as many as it takes, or None where items never meet.
    formula: the same over the sizes. growth: "1", "n" (a scan), "n / reach", "log" or "never".
    passes:  how many passes of a repeat, or layers, it takes; `there`: how many there are.
    base:    the reach of one pass, or by what it grows from one to the next ("log").
    sure:    False where `hops` is only known to be at least this.
    """

    hops: int | None
    formula: Poly | None
    growth: str
    passes: int = 1
    there: int | None = None
    base: Poly | None = None
    sure: bool = True


def longest(routes: Routes, n: Poly, values: Values) -> Path:
    """The path of the pair that is furthest apart, in the direction that is worst."""
    whole = n - 1
    sides = []
    for side in ("left", "right"):
        reaching = [route for route in routes if _goes(route, side, whole, values)]
        if reaching:
            paths = [replace(_taken(route, side, whole, values), sure=route.sure) for route in reaching]
            sides.append(min(paths, key=_worth))
    if not sides:
        return Path(None, None, "never")
    return max(sides, key=_worth)


def _worth(path: Path) -> tuple[bool, int, bool, bool]:
    """Of equals those that there are passes enough for come before those that would take more."""
    return (path.hops is None, path.hops or 0, path.passes > (path.there or 1), not path.sure)


def _goes(route: Route, side: str, whole: Poly, values: Values) -> bool:
    """Whether it goes to this side at all; a value without the width is reached if every item is."""
    if not route.form.terms:
        return (route.left + route.right).at(values) >= whole.at(values)
    return _side(route, side).at(values) > 0


def _side(route: Route, side: str) -> Poly:
    return route.left if side == "left" else route.right


def _taken(route: Route, side: str, whole: Poly, values: Values) -> Path:
    """The path along one route, which may need more passes, or layers, than there are."""
    far = whole.at(values)
    if not route.form.terms:
        return Path(int(route.hops.at(values)), route.hops, "1")
    step = route.step
    if step is None:
        reach = _side(route, side)
        if reach.at(values) >= far:
            growth = "n" if set(whole.symbols) & set(route.hops.symbols) else "1"
            return Path(int(route.hops.at(values)), route.hops, growth)
        if route.local is not None or list(route.form.terms.values()) != [ONE]:  # not items of the same width
            return Path(None, None, "never")
        step = Step(route.left, route.right, route.hops, ONE)
    return _walked(step, side, whole, values)


def _walked(step: Step, side: str, whole: Poly, values: Values) -> Path:
    far, there = whole.at(values), int(step.count.at(values))
    reach = step.left if side == "left" else step.right
    if step.index is None:
        passes = ceil(far / reach.at(values))
        formula = apply("ceil", (apply("/", (whole, reach)),)) * step.hops
        return Path(passes * int(step.hops.at(values)), formula, "n / reach", passes, there, reach)
    done, passes, hops = Fraction(0), 0, 0
    while done < far:
        here = {**values, step.index: passes}
        if reach.at(here) < 0 or (not reach.at(here) and passes >= there) or passes > 100_000:
            return Path(None, None, "never")
        done, hops, passes = done + reach.at(here), hops + int(step.hops.at(here)), passes + 1
    base = _geometric(reach, step.index)
    return Path(hops, None, "sum" if base is None else "log", passes, there, base or reach)


def _geometric(reach: Poly, index: Symbol) -> Poly | None:
    """The factor by which each pass reaches further than the one before, if it is `c * base ^ index`."""
    bases = {
        symbol.formula[1][0]
        for monomial in reach.terms
        for symbol, _ in monomial
        if symbol.formula is not None and symbol.formula[0] == "^" and symbol.formula[1][1] == Poly.of(index)
    }
    return next(iter(bases)) if len(bases) == 1 else None
