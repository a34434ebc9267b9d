"""A figure of a bill: an exact polynomial at the sizes of the bill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from .polynomial import Poly, SizeSymbol, base_symbols
from .show import formula


@dataclass(frozen=True, repr=False)
class Figure:
    """An exact polynomial and its value. `str()` is the formula, the leading term first."""

    poly: Poly
    values: Mapping[SizeSymbol, int]

    @property
    def value(self) -> int:
        """At the sizes of the bill, rounded up to a whole number where halves remain."""
        exact = self.poly.at(self.values)
        return -int(-exact // 1)

    def at(self, **sizes: int) -> Fraction:
        """The value with some sizes changed, by name: `figure.at(n=4096)`. Raises KeyError for a name not in it."""
        named = {symbol.name: symbol for symbol in base_symbols([self.poly])}
        return self.poly.at({**self.values, **{named[name]: size for name, size in sizes.items()}})

    def __str__(self) -> str:
        return formula(self.poly, self.values)

    def __repr__(self) -> str:
        return f"<Figure {self.value:,} = {self}>"
