"""Long formulas in lines: their named parts stand for themselves, and are defined beneath."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...base.text import Rich, joined, plain, roman
from .symbolic import Symbolic, key, written

_LONG = 48  # characters of a formula that is written as it stands, at most
_SHORT = 12  # and of a named part that needs no definition

Definition = tuple[Symbolic, Symbolic]  # what stands for it, and its formula


def spelled(formula: Symbolic) -> Rich:
    """The whole formula. If it is long, a line for each named part follows."""
    rich = written(formula)
    if len(plain(rich)) <= _LONG:
        return rich
    short, definitions = defined(formula)
    return below(written(short), definitions)


def below(rich: Rich, definitions: Sequence[Definition]) -> Rich:
    """A text, and the definitions in lines beneath it."""
    lines = [(*written(name), *roman(" = "), *written(part)) for name, part in definitions]
    return joined((*rich, *(run for line in lines for run in (*roman("\n"), *line))))


def defined(formula: Symbolic) -> tuple[Symbolic, list[Definition]]:
    """The formula with names for its named parts, and what these are. The same part along other axes has one
    definition, and its axes in brackets."""
    found: dict[str, tuple[Symbolic, Symbolic]] = {}  # by what it computes: the part, and its name
    names: dict[str, int] = {}
    out: list[Definition] = []

    def named(part: Symbolic) -> Symbolic:
        if not part.args:
            return part
        if not part.text or len(plain(written(part))) <= _SHORT:
            return replace(part, args=tuple(map(named, part.args)))
        alike = f"{part.text} {_alike(part)}"
        if alike not in found:
            number = names[part.text] = names.get(part.text, 0) + 1
            text = part.text + "′" * (number - 1)
            symbol = Symbolic("symbol", text=text, axes=part.axes, boolean=part.boolean)
            found[alike] = part, symbol
            at = len(out)
            out.append((symbol, part))
            out[at] = symbol, replace(part, args=tuple(map(named, part.args)))
        first, symbol = found[alike]
        other = tuple(axis for axis in part.axes if axis not in first.axes)
        return replace(symbol, op="along", axes=other) if other else symbol

    return replace(formula, args=tuple(map(named, formula.args))), out


def _alike(formula: Symbolic) -> str:
    """Equal for formulas that are alike but for their axes."""
    axes = formula.axes

    def own(part: Symbolic) -> str:
        at = axes.index(part.axis) if part.axis in axes else part.axis.id if part.axis is not None else ""
        return f"{part.op} {part.number} {at} {part.text if not part.args else ''} {id(part.data)}"

    return key(formula, own)
