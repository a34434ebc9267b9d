"""A bill as text: a line for each part, then the totals with their formulas; and the same as plain data for JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .bill import Bill
from .lowered import Lowered
from .paths.longest import Path
from .polynomials.figure import Figure
from .polynomials.polynomial import ONE, ZERO, Poly, base_symbols
from .polynomials.show import amount, short
from .scope import stands_for
from .seconds import duration
from .walk import Part


@dataclass(frozen=True, slots=True)
class TableLine:
    """A part with its depth in the bill, its path, and whether it is of those passes that have it of unlike ones."""

    part: Part
    level: int
    path: str
    counted: bool = False


def lines(cost: Bill, depth: int | None = None, per_op: bool = False) -> list[TableLine]:
    """The parts down to `depth` (None: all), ops only if asked for."""

    def below(part: Part, level: int, path: str, counted: bool = False) -> Iterator[TableLine]:
        yield TableLine(part, level, path, counted)
        if depth is not None and level >= depth:
            return
        for inner in part.parts:
            if inner.kind != "op" or (per_op and _counts(inner)):
                name = inner.name or inner.what
                yield from below(inner, level + 1, f"{path}.{name}" if path else name, part.unlike)

    return list(below(cost.part, 0, ""))


def _counts(part: Part) -> bool:
    return bool(part.work.macs or part.work.ops or part.work.moved or part.weights)


COLUMNS: dict[str, tuple[str, Callable[[TableLine], Poly | None]]] = {
    "parameters": ("parameters", lambda line: line.part.parameters),
    "macs": ("multiply-adds", lambda line: line.part.work.macs),
    "kept": ("unmasked", lambda line: line.part.work.kept),
    "backward": ("backward", lambda line: line.part.work.back),
    "operations": ("other ops", lambda line: line.part.work.ops),
    "moved": ("bytes moved", lambda line: line.part.work.moved),
    "peak": ("peak memory", lambda line: line.part.peak),
    "steps": ("steps", lambda line: line.part.steps),
}
BYTES = ("moved", "peak")


def text(
    cost: Bill, *, depth: int | None, per_op: bool, training: bool, symbolic: str, most: int | None = None
) -> list[str]:
    """The whole report, or that of so many parts and the totals.

    symbolic: of which column the formula stands at the end of each line (`COLUMNS`).
    """
    columns = ["parameters", "macs", "kept", *(["backward"] if training else []), "moved", "peak", "steps"]
    if cost.kept.value == cost.macs.value:
        columns.remove("kept")
    rows = [["", *(COLUMNS[name][0] for name in columns), f"{COLUMNS[symbolic][0]} ="]]
    parts = lines(cost, depth, per_op)
    for line in parts[:most]:
        cells = [label(cost, line)]
        for name in columns:
            poly = COLUMNS[name][1](line)
            cells.append("" if poly is None else _cell(cost.figure(poly), name))
        poly = COLUMNS[symbolic][1](line)
        cells.append("" if poly is None or not poly else str(cost.figure(poly)))
        rows.append(cells)
    more = [f"... {len(parts) - most:,} more ..."] if most is not None and len(parts) > most else []
    return [
        *_heading(cost),
        "",
        *aligned(rows),
        *more,
        "",
        *_totals(cost, training),
        *_computed(cost, training),
        *_remarks(cost),
    ]


MOST, WIDEST = 40, 240  # parts, and characters of a line


def page(cost: Bill) -> list[str]:
    """The report; of very many parts the first."""
    made = text(cost, depth=None, per_op=False, training=False, symbolic="macs", most=MOST)
    return [line if len(line) <= WIDEST else f"{line[: WIDEST - 1]}…" for line in made]


def _heading(cost: Bill) -> list[str]:
    copies = {
        axis.name
        for axis in cost.graph.axes
        if any(axis.family == o.family and o.id < axis.id for o in cost.graph.axes)
    }
    sizes = ", ".join(_size(cost, name) for name, size in cost.sizes.items() if name not in copies and size != 1)
    where = batch(cost)
    made = [f"{cost.name}: {where}, {cost.dtype}", f"sizes: {sizes}"] if sizes else [f"{cost.name}: {where}"]
    if cost.assumed:
        made.append(f"assumed, as nobody set them: {', '.join(cost.assumed)}")
    return made


def batch(cost: Bill) -> str:
    """How many items along the batch axes."""
    return "one item" if cost.batch == 1 else f"a batch of {cost.batch}"


def _size(cost: Bill, name: str) -> str:
    """`model m = 512`: the name, what formulas call it, and its value."""
    label = next((axis.label for axis in cost.graph.axes if axis.name == name), name)
    return f"{name}{'' if label == name else ' ' + label} = {cost.sizes[name]:,}"


def label(cost: Bill, line: TableLine) -> str:
    part = line.part
    name = part.name or part.what
    if part.kind == "scan":
        shown = f"{name}: scan"
    else:
        shown = name if part.what == name else f"{name} ({part.what})"
    if part.kind in ("repeat", "scan") or line.counted or part.count != ONE:
        shown += f" x {cost.figure(part.count).value:,}"
    return "  " * line.level + shown


def _cell(figure: Figure, name: str) -> str:
    return amount(figure.value) if name in BYTES else short(figure.value)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The first column to the left, the formulas after two blanks, all others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    out = []
    for row in rows:
        middle = [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
        out.append("  ".join([row[0].ljust(widths[0]), *middle, row[-1]]).rstrip())
    return out


def _totals(cost: Bill, training: bool) -> list[str]:
    rows = [("parameters", f"{cost.parameters.value:,}", str(cost.parameters))]
    frozen = cost.figure(cost.part.frozen)
    if frozen.value:
        rows.append(("  of them frozen", f"{frozen.value:,}", str(frozen)))
    rows.append(("multiply-adds", f"{cost.macs.value:,}", str(cost.macs)))
    if cost.kept.value != cost.macs.value:
        rows.append(("  that masks keep", f"{cost.kept.value:,}", str(cost.kept)))
    if cost.routed is not None:
        rows.append(("  experts picked alone", f"{cost.routed.value:,}", str(cost.routed)))
    if training:
        rows.append(("  of the gradients", f"{cost.backward.value:,}", str(cost.backward)))
    rows.append(("other operations", f"{cost.operations.value:,}", str(cost.operations)))
    rows.append(("bytes moved", amount(cost.moved.value), str(cost.moved)))
    rows.append(("peak of activations", amount(cost.peak.value), str(cost.peak)))
    if cost.fused_peak.poly != cost.peak.poly:
        rows.append(("  attention fused", amount(cost.fused_peak.value), str(cost.fused_peak)))
    if training:
        rows.append(("saved for gradients", amount(cost.saved.value), str(cost.saved)))
        if cost.fused_saved.poly != cost.saved.poly:
            rows.append(("  attention fused", amount(cost.fused_saved.value), str(cost.fused_saved)))
    rows.append(("sequential steps", f"{cost.steps.value:,}", str(cost.steps)))
    rows += [("longest path", *path_cells(cost, name, path)) for name, path in cost.paths.items() if path.hops]
    return _said(rows)


def _computed(cost: Bill, training: bool) -> list[str]:
    """What scans and running sums take as they are computed, where there are any."""
    found = cost.lowered
    if found is None:
        return []
    ways = "; ".join(f"{path or cost.name} {how}" for path, how in found.ways)
    rows = [("multiply-adds", f"{found.macs.value:,}", str(found.macs))]
    if training:
        rows.append(("  of the gradients", f"{found.backward.value:,}", str(found.backward)))
    rows.append(("other operations", f"{found.operations.value:,}", str(found.operations)))
    return ["", f"as computed by PyTorch: {ways}", *_said(rows), f"estimated: {_estimated(found)}"]


def _estimated(found: Lowered) -> str:
    """The time of both forms, and which is cheaper."""
    if found.cheaper is None:
        return duration(found.seconds)
    both = f"{duration(found.seconds)}, as written {duration(found.written_seconds)}"
    return f"{both}: as {found.cheaper} is cheaper"


def _said(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    """Name, value, and the formula where it says more."""
    left, middle = max(len(row[0]) for row in rows), max(len(row[1]) for row in rows)
    return [
        f"{a.ljust(left)}  {b.rjust(middle)}" + ("" if c.replace(",", "") == b.replace(",", "") else f"  = {c}")
        for a, b, c in rows
    ]


def path_cells(cost: Bill, name: str, path: Path) -> tuple[str, str]:
    """Hops from any item to any other, and what they come from."""
    formula = "" if path.formula is None else str(cost.figure(path.formula))
    if path.grows:
        assert path.base is not None
        label = next(axis.label for axis in cost.graph.axes if axis.name == name)
        formula = f"log_{cost.figure(path.base)}({label}), rounded up"
    text = f"{formula or 'a sum'} along {name}" if formula != str(path.hops) else f"along {name}"
    if not path.sure:
        text = f"at least; {text}: only a bound of the reach is known"
    if path.there < path.passes:
        text += (
            f"; the {path.there} here do not reach that far" if path.there > 1 else f", in {path.passes} such layers"
        )
    return f"{path.hops:,}", text


def _remarks(cost: Bill) -> list[str]:
    """What the symbols mean that stand for a formula, and what is not in the bill."""
    from .polynomials.show import formula

    found: dict[str, set[tuple[int, str]]] = {}  # an axis of a repeat has a size in each of its passes
    for poly in (
        cost.parameters.poly,
        cost.macs.poly,
        cost.kept.poly,
        cost.moved.poly,
        cost.peak.poly,
        cost.steps.poly,
    ):
        for symbol in poly.symbols:
            stands = stands_for(symbol)
            if stands is not None and symbol not in cost.written_out:
                found.setdefault(symbol.name, set()).add((cost.figure(Poly.of(symbol)).value, formula(stands)))
    out = [
        f"where {name} = " + " or ".join(f"{meaning} = {value:,}" for value, meaning in sorted(meanings))
        for name, meanings in sorted(found.items())
    ]
    out += [
        f"`{name}` is an op of your own: what it costs is not known, and not in these figures"
        for name in sorted(cost.part.unknown)
    ]
    return ["", *out] if out else []


def data(cost: Bill, *, depth: int | None = None, per_op: bool = True) -> dict[str, Any]:
    """Everything as plain data: each figure with its value and formula."""

    def shown(poly: Poly) -> dict[str, Any]:
        figure = cost.figure(poly)
        return {"value": figure.value, "formula": str(figure)}

    totals = {
        "parameters": cost.parameters, "frozen": cost.figure(cost.part.frozen), "multiply_adds": cost.macs,
        "multiply_adds_kept": cost.kept, "multiply_adds_backward": cost.backward, "other_operations": cost.operations,
        "bytes_moved": cost.moved, "peak_memory": cost.peak, "peak_memory_fused": cost.fused_peak,
        "saved_for_gradients": cost.saved,
        "saved_for_gradients_fused": cost.fused_saved, "sequential_steps": cost.steps,
    }  # fmt: skip
    if cost.routed is not None:
        totals["multiply_adds_routed"] = cost.routed
    found = cost.lowered
    computed = {} if found is None else {
        "ways": [{"path": path, "how": how} for path, how in found.ways],
        "multiply_adds": shown(found.macs.poly),
        "multiply_adds_backward": shown(found.backward.poly),
        "other_operations": shown(found.operations.poly),
        "seconds": found.seconds, "seconds_as_written": found.written_seconds, "cheaper": found.cheaper,
    }  # fmt: skip
    parts = []
    for line in lines(cost, depth, per_op):
        part = line.part
        entry = {"path": line.path, "kind": part.kind, "what": part.what, "times": shown(part.count)}
        for name, (_, get) in COLUMNS.items():
            poly = get(line)
            if poly is not None:
                entry[name] = shown(poly)
        parts.append(entry)
    paths = {
        name: {
            "hops": path.hops, "growth": path.growth, "passes": path.passes, "exact": path.sure,
            "formula": None if path.formula is None else str(cost.figure(path.formula)),
        }
        for name, path in cost.paths.items()
    }  # fmt: skip
    return {
        "name": cost.name, "batch": cost.batch, "dtype": cost.dtype, "sizes": dict(cost.sizes),
        "assumed": list(cost.assumed), "unknown_ops": sorted(cost.part.unknown),
        "totals": {name: {"value": figure.value, "formula": str(figure)} for name, figure in totals.items()},
        "longest_paths": paths,
        **({"computed": computed} if computed else {}),
        "parts": parts,
    }  # fmt: skip


__all__ = ["COLUMNS", "ZERO", "TableLine", "base_symbols", "batch", "data", "lines", "text"]
