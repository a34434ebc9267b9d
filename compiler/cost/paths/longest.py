"""The longest of the shortest paths between two items of a width, from the routes that information takes (`reach`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from ..polynomials.operations import apply
from ..polynomials.polynomial import ONE, ZERO, Poly, SizeSymbol, Values
from .reach import Passes, Route, Routes


@dataclass(frozen=True, slots=True)
class Path:
    """The longest path between two items of a width, along which information may go at all.

    hops:    as many as it takes, or None where items never meet.
    formula: the same over the sizes. growth: "1", "n" (a scan), "n / reach", "log" or "never".
    passes:  how many passes of a repeat, or layers, it takes; `there`: how many there are.
    base:    the reach of one pass; or, where that grows by a factor from one to the next, the factor (`grows`).
    sure:    False where `hops` is only known to be at least this: of a mask or an index that is no band, or where the
             passes of a repeat differ, no more than a bound of what they reach is known.
    """

    hops: int | None
    formula: Poly | None
    growth: str
    passes: int = 1
    there: int = 1
    base: Poly | None = None
    grows: bool = False
    sure: bool = True


def longest(routes: Routes, n: Poly, values: Values) -> Path:
    """The path of the pair that is furthest apart, in the direction that is worst."""
    sides = []
    for side in ("left", "right"):
        ways = [_Way(route, side if route.form.terms else "both", n - 1, values) for route in routes]
        paths = [replace(way.path(), sure=way.route.sure) for way in ways if way.goes]
        if paths:
            sides.append(min(paths, key=_worth))
    if not sides:
        return Path(None, None, "never")
    return max(sides, key=_worth)


def _worth(path: Path) -> tuple[bool, bool, int, bool]:
    """The sort key of paths, the shortest first; those that need more passes than there are come behind."""
    return (path.hops is None, path.passes > path.there, path.hops or 0, not path.sure)


@dataclass(frozen=True, slots=True)
class _Way:
    """A route followed to one side, over the width `whole`."""

    route: Route
    side: str
    whole: Poly
    values: Values

    def at(self, poly: Poly) -> Fraction:
        return poly.at(self.values)

    def to(self, step: Passes) -> Fraction:
        return self.at(step.all.to(self.side))

    @property
    def goes(self) -> bool:
        """Whether it goes to this side at all; a value without the width is reached if every item is."""
        far = self.at(self.route.all.to(self.side))
        return far > 0 if self.route.form.terms else far >= self.at(self.whole)

    def path(self) -> Path:
        """In the fewest passes that suffice, the furthest a hop first; in more than there are, if all are too few."""
        route = self.route
        done, hops = route.own.to(self.side), route.own.hops
        useful = [step for step in route.steps if self.to(step) > 0]
        for step in route.steps:
            if step not in useful:  # there is no way round them
                done, hops = done + step.all.to(self.side), hops + step.all.hops
        if self.at(done) >= self.at(self.whole):
            growth = "n" if set(self.whole.symbols) & set(hops.symbols) else "1"
            return Path(int(self.at(hops)), hops, growth)
        if not useful:
            if route.local is not None or list(route.form.terms.values()) != [ONE]:  # not items of the same width
                return Path(None, None, "never")
            useful, done, hops = [Passes(route.all, route.all, ONE)], ZERO, ZERO
        *first, last = sorted(useful, key=lambda step: self.at(step.all.hops) / self.to(step))
        passes = 0
        for step in first:
            if self.at(done) + self.to(step) >= self.at(self.whole):
                return self._last(step, done, hops, passes)
            done, hops = done + step.all.to(self.side), hops + step.all.hops
            passes += int(self.at(step.count))
        return self._last(last, done, hops, passes)

    def _last(self, step: Passes, done: Poly, hops: Poly, before: int) -> Path:
        """What is left of the way, by passes of one repeat."""
        far, there = self.at(self.whole - done), int(self.at(step.count))
        reach = step.one.to(self.side)
        if step.index is None:
            passes = ceil(far / self.at(reach))
            formula = hops + apply("ceil", (apply("/", (self.whole - done, reach)),)) * step.one.hops
            return Path(int(self.at(formula)), formula, "n / reach", before + passes, before + there, reach)
        passes, taken = 0, int(self.at(hops))
        while far > 0:
            here = {**self.values, step.index: step.first + passes}
            if reach.at(here) < 0 or (not reach.at(here) and passes >= there) or passes > 100_000:
                return Path(None, None, "never")
            far, taken, passes = far - reach.at(here), taken + int(step.one.hops.at(here)), passes + 1
        base = _geometric(reach, step.index)
        growth = "sum" if base is None else "log"
        return Path(taken, None, growth, before + passes, before + there, base or reach, base is not None)


def _geometric(reach: Poly, index: SizeSymbol) -> Poly | None:
    """The factor by which each pass reaches further than the one before, if it is `c * base ^ index`."""
    bases = {
        symbol.formula[1][0]
        for monomial in reach.terms
        for symbol, _ in monomial
        if symbol.formula is not None and symbol.formula[0] == "^" and symbol.formula[1][1] == Poly.of(index)
    }
    return next(iter(bases)) if len(bases) == 1 else None
