"""How costs grow: the leading terms of exact polynomials, as the paper's table 1 writes them.

A term is left out if another one is at least as large whatever the sizes (each of 1 or more), and so are what is
subtracted and all constant factors. Nothing is typed in: `O(n^2 d)` is what is left of `2 d n^2 + ...`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..sizes.functions import OPERATIONS, Quotient, Rounded
from .bill import Bill
from .paths.longest import Path
from .polynomials.operations import put
from .polynomials.polynomial import CONST, DEPTH, ONE, WIDTH, Monomial, Poly, SizeSymbol, base_symbols
from .polynomials.show import power
from .work import BATCH

ORDER = {CONST: 0, WIDTH: 1, DEPTH: 2}  # r n d


def order(poly: Poly, constant: Iterable[SizeSymbol] = ()) -> str:
    """The leading terms in big-O. constant: symbols that do not grow."""
    for symbol in (*constant, BATCH):
        poly = put(poly, symbol, ONE)
    terms = [_smooth(monomial) for monomial, c in poly.terms.items() if c > 0]
    leading = [term for term in terms if not any(_larger(other, term) for other in terms)]
    shown = [" ".join(power(s, e) for s, e in sorted(term, key=_by_rank)) or "1" for term in dict.fromkeys(leading)]
    return f"O({' + '.join(shown) or '1'})"


def _by_rank(item: tuple[SizeSymbol, int]) -> tuple[int, str]:
    return (ORDER[item[0].rank], item[0].name)


def _smooth(monomial: Monomial) -> Monomial:
    """Rounded sizes grow as what is rounded: `floor(k / 2)` as k."""
    powers: dict[SizeSymbol, int] = {}
    for symbol, e in monomial:
        inner = symbol
        while inner.formula is not None and _rounds(inner.formula[0]):
            bases = [s for s in base_symbols([inner.formula[1][0]]) if s != inner]
            if len(bases) != 1:
                break
            inner = bases[0]
        powers[inner] = powers.get(inner, 0) + e
    return tuple(sorted(((s, e) for s, e in powers.items() if e), key=lambda item: item[0].order))


def _rounds(op: str) -> bool:
    """Whether the result grows as the first operand does (of a quotient, the dividend)."""
    return op == "is" or isinstance(OPERATIONS[op].meaning, Rounded | Quotient)


def _larger(a: Monomial, b: Monomial) -> bool:
    """Whether a is at least b for all sizes, and not the same."""
    powers = dict(a)
    for symbol, e in b:
        powers[symbol] = powers.get(symbol, 0) - e
    return a != b and all(e >= 0 for e in powers.values())


def complexity(cost: Bill) -> str:
    """Multiply-adds of one layer, what masks leave out not counted."""
    return order(cost.part.work.kept, _counts(cost))


def sequential(cost: Bill) -> str:
    """Steps that must follow one another, as widths grow."""
    still = [symbol for symbol in base_symbols([cost.part.steps]) if symbol.rank != WIDTH]
    return order(cost.part.steps, still)


def path(cost: Bill, found: Path, width: Poly) -> str:
    """The longest path in big-O, as its width and the reach of a layer grow."""
    if found.grows:
        assert found.base is not None
        return f"O(log_{order(found.base)[2:-1]}({width_name(width)}))"
    match found.growth:
        case "never":
            return "never"
        case "n / reach":
            assert found.base is not None
            reach = order(found.base)[2:-1]
            return f"O({width_name(width)})" if reach == "1" else f"O({width_name(width)} / {reach})"
        case _:
            still = [s for s in base_symbols([found.formula or ONE]) if s.rank != WIDTH]
            return order(found.formula or ONE, still)


def width_name(width: Poly) -> str:
    return " ".join(symbol.name for symbol in width.symbols)


def _counts(cost: Bill) -> list[SizeSymbol]:
    """The consts that count passes of repeats."""
    found: list[SizeSymbol] = []

    def look(parts: Iterable[object]) -> None:
        from .walk import Part

        for part in parts:
            assert isinstance(part, Part)
            if part.kind == "repeat":
                found.extend(symbol for symbol in part.count.symbols if symbol.rank == CONST)
            look(part.parts)

    look([cost.part])
    return found


def rows(cost: Bill) -> list[tuple[str, str, str, str]]:
    """(model, complexity per layer, sequential operations, longest path), one for each width that has a path.

    Of several each path says along which.
    """
    paths = {name: found for name, found in cost.paths.items() if found.growth != "never" or len(cost.paths) == 1}
    out = []
    for name, found in paths.items():
        size = cost.scope.size(next(axis for axis in cost.graph.axes if axis.name == name))
        shown = path(cost, found, size) if found.sure else f"at least {path(cost, found, size)}"
        if len(paths) > 1:
            symbol = width_name(size)
            shown += f" along {name}" + (f" ({symbol})" if symbol != name else "")
        out.append((cost.name, complexity(cost), sequential(cost), shown))
    return out
