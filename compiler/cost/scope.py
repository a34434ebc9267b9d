"""What the axes and consts of a graph come to, as polynomials over the sizes of the model at the top."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from ..graph.nodes import Call, Scan
from ..sizes.axes import Arith, Axis, Const, ConstOf, Literal, SizeOf, Static, is_list
from .polynomials.operations import apply
from .polynomials.polynomial import CONST, DEPTH, WIDTH, Poly, SizeSymbol, product
from .polynomials.show import formula


@dataclass
class Sizes:
    """What all scopes of a model share: the symbol of each family of axes, and the sizes that are derived."""

    families: dict[int, Poly] = field(default_factory=dict)
    derived: dict[Axis, Poly] = field(default_factory=dict)
    standing: dict[SizeSymbol, None] = field(default_factory=dict)  # symbols for formulas, named after an axis

    def ambiguous(self) -> list[SizeSymbol]:
        """The standing symbols whose name another size has, too; those that depend on others come first."""
        plain = {symbol for size in self.families.values() for symbol in size.symbols}
        names = Counter(symbol.name for symbol in (self.standing.keys() | plain))
        return [symbol for symbol in reversed(self.standing) if names[symbol.name] > 1]


class SizeScope:
    """Sizes in one graph. A call's scope is made by `inside`: its axes stand for those of the caller."""

    def __init__(
        self,
        axes: dict[Axis, Poly] | None = None,
        consts: dict[Const, Poly] | None = None,
        bounds: dict[Axis, Poly] | None = None,
        sizes: Sizes | None = None,
    ) -> None:
        self._axes, self._consts, self._bounds = axes or {}, consts or {}, bounds or {}
        self.sizes = sizes or Sizes()

    def size(self, axis: Axis) -> Poly:
        """|axis|. A derived axis is its formula, or, where that is a sum, a symbol that stands for it."""
        if axis not in self._axes:
            self._axes[axis] = self._new_size(axis)
        return self._axes[axis]

    def _new_size(self, axis: Axis) -> Poly:
        rank = WIDTH if axis.is_width else DEPTH
        if axis.size is not None:
            size = named(apply("is", (self.number(axis.size),), axis.label), axis.label, rank)
            self.sizes.derived[axis] = size
            for symbol in size.symbols:
                if stands_for(symbol) is not None:
                    self.sizes.standing.setdefault(symbol)
            return size
        if axis.family not in self.sizes.families and axis.extent is not None:
            return Poly.of(axis.extent)  # a number that a call gives
        return self.sizes.families.setdefault(axis.family, Poly.of(base_symbol(axis)))

    def own(self, axis: Axis) -> Poly:
        """|axis| of an axis of the model at the top, whose size has a symbol: the same model may have another."""
        if axis.extent != 1:
            self.sizes.families.setdefault(axis.family, Poly.of(base_symbol(axis)))
        return self.size(axis)

    def bound(self, axis: Axis) -> Poly:
        """What storage along it needs: its size, or the bound of a bounded width (D14)."""
        if axis in self._bounds:
            return self._bounds[axis]
        return self.size(axis) if axis.extent is not None or axis.bound is None else Poly.of(bound_symbol(axis))

    def number(self, static: Static) -> Poly:
        match static:
            case Literal(value):
                return Poly.of(value)
            case SizeOf(axis):
                return self.size(axis)
            case ConstOf(const):
                return self.const(const)
            case Arith(op):
                return apply(op, tuple(self.number(each) for each in static.operands))

    def const(self, const: Const) -> Poly:
        if const not in self._consts:
            known = const.value if isinstance(const.value, bool | float) else None  # no size depends on these
            self._consts[const] = Poly.of(const_symbol(const) if known is None else known)
        return self._consts[const]

    def product(self, axes: Iterable[Axis]) -> Poly:
        """The number of items of an array with these axes."""
        return product(self.size(axis) for axis in axes)

    def inside(self, node: Call | Scan) -> SizeScope:
        worked_out = [(formal, actual) for formal, actual in node.axes if formal.size and self._is_new(actual)]
        given = [pair for pair in node.axes if pair not in worked_out]
        axes = self._axes | {formal: self.size(actual) for formal, actual in given}
        for axis in node.graph.lifted:
            axes[axis] = self.size(axis)
        bounds = {formal: self.bound(actual) for formal, actual in given}
        consts = {}
        for const, static in node.consts:
            if is_list(static):  # its numbers are read one by one
                continue
            with suppress(ZeroDivisionError):  # in a repeat of no passes: no size depends on it
                consts[const] = self.number(static)
        inner = SizeScope(axes, self._consts | consts, self._bounds | bounds, self.sizes)
        for formal, actual in worked_out:
            self._axes[actual] = inner.size(formal)
        return inner

    def _is_new(self, axis: Axis) -> bool:
        """Whether a size is first met at a call: it follows there from sizes that the call gives for others."""
        return axis.size is None and axis not in self._axes and axis.family not in self.sizes.families

    def turn(self, index: Const | None, number: Poly) -> SizeScope:
        """The scope of one pass of a repeat, with sizes of its own: they may depend on its number."""
        if index is None:
            return self
        return SizeScope(dict(self._axes), self._consts | {index: number}, self._bounds, self.sizes)


def base_symbol(axis: Axis) -> SizeSymbol:
    return SizeSymbol(("axis", axis.family), axis.label, WIDTH if axis.is_width else DEPTH)


def bound_symbol(axis: Axis) -> SizeSymbol:
    """The largest extent of a bounded width: what a weight along it is allocated for (D14)."""
    return SizeSymbol(("bound", axis.family), f"max({axis.label})", WIDTH)


def const_symbol(const: Const) -> SizeSymbol:
    return SizeSymbol(("const", const.id), const.name, CONST)


def stands_for(symbol: SizeSymbol) -> Poly | None:
    """The formula that a symbol named after an axis stands for."""
    if symbol.formula is None:
        return None
    op, args = symbol.formula
    plain = args[0] if op == "is" else apply(op, args)
    return None if symbol.name == formula(plain) else plain


def named(poly: Poly, name: str, rank: int) -> Poly:
    """The same; a symbol that stands for a formula takes the name of the axis that it is the size of."""
    if len(poly.terms) == 1:
        ((monomial, c),) = poly.terms.items()
        if c == 1 and len(monomial) == 1 and monomial[0][1] == 1 and monomial[0][0].formula is not None:
            old = monomial[0][0]
            return Poly.of(SizeSymbol(old.key, name, rank, old.formula))
    return poly
