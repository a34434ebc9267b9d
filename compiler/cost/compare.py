"""Two bills side by side: rows aligned by their paths, ratios, and the sizes at which one gets cheaper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from fractions import Fraction

from .bill import Bill, CostError
from .polynomials.show import amount, short
from .seconds import duration
from .table import BYTES, COLUMNS, TableLine, aligned, batch, label, lines

FIGURES: dict[str, Callable[[Bill], int]] = {
    "parameters": lambda cost: cost.parameters.value,
    "macs": lambda cost: cost.macs.value,
    "kept": lambda cost: cost.kept.value,
    "backward": lambda cost: cost.backward.value,
    "operations": lambda cost: cost.operations.value,
    "moved": lambda cost: cost.moved.value,
    "peak": lambda cost: cost.peak.value,
    "steps": lambda cost: cost.steps.value,
}
FARTHEST = 2**24
Maker = Callable[[int], Bill]  # the bill with one width at this size


@dataclass(frozen=True, slots=True)
class Crossing:
    """From `size` on (along `width`) the `cheaper` of the two takes less of a figure than the other."""

    figure: str
    width: str
    size: int
    cheaper: str


def text(a: Bill, b: Bill, crossings: Sequence[Crossing], *, depth: int | None, column: str) -> list[str]:
    """The report. column: the figure that is compared part by part."""
    parts = [["", *_names(a, b), "ratio"], *_parts(a, b, depth, column)]
    out = [*totals(a, b), "", f"{COLUMNS[column][0]}, part by part:", *_padded(parts)]
    if crossings:
        out += ["", *(_said(found) for found in crossings)]
    return out


def totals(a: Bill, b: Bill) -> list[str]:
    """The figures of both, as a table, beneath what they are of."""
    sizes = dict.fromkeys(f"{name} = {bill.sizes[name]:,}" for bill in (a, b) for name in bill.assumed)
    assumed = f"; assumed, as nobody set them: {', '.join(sizes)}" if sizes else ""
    rows = [["", *_names(a, b), "ratio"]]
    for figure, get in FIGURES.items():
        x, y = get(a), get(b)
        rows.append([COLUMNS[figure][0], _cell(x, figure), _cell(y, figure), ratio(x, y)])
    rows.append(["estimated time", duration(a.seconds), duration(b.seconds), ratio(a.seconds, b.seconds)])
    return [f"{batch(a)}, {a.dtype}{assumed}", *_padded(rows)]


def figures(a: Bill, b: Bill) -> list[dict[str, object]]:
    """The same as plain data."""
    rows: list[dict[str, object]] = [
        {"figure": name, "first": get(a), "second": get(b), "ratio": ratio(get(a), get(b))}
        for name, get in FIGURES.items()
    ]
    seconds = {"first": a.seconds, "second": b.seconds, "ratio": f"{b.seconds / a.seconds:.3g}"}
    return [*rows, {"figure": "seconds", **seconds}]


def _said(found: Crossing) -> str:
    return f"{COLUMNS[found.figure][0]}: from {found.width} = {found.size:,} on, {found.cheaper} is cheaper"


def _names(a: Bill, b: Bill) -> tuple[str, str]:
    return (a.name, b.name) if a.name != b.name else (f"{a.name} (1)", f"{b.name} (2)")


def ratio(x: float, y: float) -> str:
    """Of the second to the first."""
    return "" if not x else f"{y / x:.3g}"


def _cell(value: int, figure: str) -> str:
    return amount(value) if figure in BYTES else short(value)


def _parts(a: Bill, b: Bill, depth: int | None, column: str) -> list[list[str]]:
    """One row for each part of either, those of one path in one row."""
    left, right = lines(a, depth)[1:], lines(b, depth)[1:]
    matcher = SequenceMatcher(None, [line.path for line in left], [line.path for line in right], autojunk=False)
    rows: list[tuple[TableLine | None, TableLine | None]] = []
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            rows += zip(left[i:j], right[k:m], strict=True)
        else:
            rows += [(line, None) for line in left[i:j]] + [(None, line) for line in right[k:m]]
    return [_row(a, b, x, y, column) for x, y in rows]


def _row(a: Bill, b: Bill, x: TableLine | None, y: TableLine | None, column: str) -> list[str]:
    values: list[int | None] = []
    for cost, line in ((a, x), (b, y)):
        poly = None if line is None else COLUMNS[column][1](line)
        values.append(None if poly is None else cost.figure(poly).value)
    first, second = values
    cells = ["" if value is None else _cell(value, column) for value in values]
    shown = label(a, x) if x is not None else label(b, y) if y is not None else ""
    return [shown, *cells, ratio(first, second) if first and second is not None else ""]


def _padded(rows: Sequence[Sequence[str]]) -> list[str]:
    return aligned([[*row, ""] for row in rows])


def shared_widths(a: Bill, b: Bill) -> list[str]:
    """Names of widths that vary at run time in both."""

    def free(cost: Bill) -> list[str]:
        first = {axis.family: axis.name for axis in sorted(cost.graph.axes, key=lambda axis: -axis.id)}
        axes = [axis for axis in cost.graph.axes if axis.is_width and axis.extent is None and axis.size is None]
        return [axis.name for axis in axes if first[axis.family] == axis.name]

    return [name for name in free(a) if name in free(b)]


def crossings(names: tuple[str, str], a: Maker, b: Maker, width: str, figures: Sequence[str]) -> list[Crossing]:
    """The sizes at which another of the two becomes the cheaper one, between 1 and 16,777,216 items of a width.

    Sizes that a model cannot have (a bound, a division that leaves a remainder) are passed over.
    """
    known: dict[int, tuple[Bill, Bill] | None] = {}

    def at(size: int) -> tuple[Bill, Bill] | None:
        if size not in known:
            try:
                known[size] = (a(size), b(size))
            except CostError:
                known[size] = None
        return known[size]

    def sign(size: int, figure: str) -> int | None:
        pair = at(size)
        if pair is None:
            return None
        difference = Fraction(FIGURES[figure](pair[1]) - FIGURES[figure](pair[0]))
        return (difference > 0) - (difference < 0)

    found = []
    for figure in figures:
        last: tuple[int, int] | None = None
        size = 1
        while size <= FARTHEST:
            now = sign(size, figure)
            if now:
                if last is not None and now != last[1]:
                    place = _between(last[0], size, lambda n: sign(n, figure) == now)  # noqa: B023 (used at once)
                    found.append(Crossing(figure, width, place, names[0] if now > 0 else names[1]))
                last = (size, now)
            size *= 2
    return found


def _between(low: int, high: int, there: Callable[[int], bool]) -> int:
    """The least size above `low` at which the condition holds; it holds at `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if there(middle) else (middle, high)
    return high
