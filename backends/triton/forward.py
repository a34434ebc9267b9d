"""Forward: one tile of rows, all columns in turn, the state of the fold between them."""

from __future__ import annotations

from ...compiler.masks.bounds import KeyBounds
from ...compiler.streams.rules import FoldKind
from .bounds import limited, loop, numbers, sides
from .tiles import Kernel
from .writer import Writer, of_rows, results

STATES = {
    FoldKind.SHARES: "softmax: (largest, total, {reads}), rescaled by exp2(largest - new largest) where that rises",
    FoldKind.ROOT: "L2 norm: (length, {reads}), the sum of squares and what the scores weigh; the root divides last",
    FoldKind.TOTAL: "sum: {reads}, what the scores weigh",
}


def forward(kernel: Kernel) -> str:
    """The function that computes the results, and of each row what its fold came to."""
    w = Writer(kernel, False)
    w.shared = True
    reads = results(kernel)
    more = [*reads, *(["stat"] if kernel.fold is not FoldKind.TOTAL else [])]
    w.signature(f"{kernel.name}_forward", more, [
        f"One tile of {w.rows}, all {w.columns} in turn. What is kept of these is the state of a fold,",
        f"{STATES[kernel.fold].format(reads=', '.join(reads))}.",
    ])  # fmt: skip
    these = sides(kernel)
    begin_rows(w, these)
    if kernel.fold is FoldKind.SHARES:
        w.do(f'largest = tl.full([BLOCK_{w.rows}], float("-inf"), tl.float32)')
        w.zeros([("total", None)], w.rows)
    elif kernel.fold is FoldKind.ROOT:
        w.zeros([("length", None)], w.rows)
    w.zeros([(f"{read}_tile", value.depth) for read, value in zip(reads, kernel.values, strict=True)], w.rows)
    lines, parts = row_bounds(w, these)
    w.do(*lines)
    _chunks(w)
    w.loop(parts, w.columns, lambda border: _turn(w, border))
    _finish(w)
    return "\n".join(w.lines)


def shares(kernel: Kernel) -> str:
    """The function that writes the shares themselves, for kernels that have them as a result."""
    w = Writer(kernel, False)
    w.shared = True
    w.signature(f"{kernel.name}_shares", ["stat", "shares"], [
        f"What each pair weighs, made again from what the fold came to: one tile of {w.rows}, all {w.columns} in turn.",
    ])  # fmt: skip
    begin_rows(w, sides(kernel))
    w.row()
    w.state()
    _chunks(w)

    def turn(border: bool) -> None:
        for part in {score.columns.name: score.columns for score in kernel.scores}.values():
            w.tile(part, w.edge)
        w.leaves({kernel.columns})
        w.pairs(border)
        w.share()
        w.do("at_pair, ends = " + w.pair())
        w.do("tl.store(shares + at_pair, share.to(shares.dtype.element_ty), mask=ends)")

    w.loop([("0", w.columns, True)], w.columns, turn)
    return "\n".join(w.lines)


def _chunks(w: Writer) -> None:
    """Which columns a program has where several share them."""
    w.do(
        f"if CHUNKS > 1:  # rows are few: several programs share their {w.columns}",
        f"    own = tl.cdiv(tl.cdiv({w.columns}, CHUNKS), BLOCK_{w.columns}) * BLOCK_{w.columns}",
        "    own_from = tl.program_id(1) * own",
        "    own_to = own_from + own",
    )


def begin_rows(w: Writer, these: KeyBounds) -> None:
    """Which program it is, and all that its tile of rows has."""
    kernel = w.kernel
    w.program(kernel.batch, w.rows, any(side.slope == 1 and not side.least for side in these.sides))
    for part in kernel.inputs:
        w.do(f"{part.name} = {w.offset(part)}")
    for part in of_rows(kernel):
        w.tile(part, "True")
    w.leaves(set())
    w.leaves({kernel.rows})


def row_bounds(w: Writer, these: KeyBounds) -> tuple[list[str], list[tuple[str, str, bool]]]:
    """Which columns a tile of rows goes through: see `loop`."""
    made = [limited(name, f"{leaf.name}_tile") for leaf, name in numbers(w.kernel, these)]
    row, column = w.kernel.begins(w.kernel.rows), w.kernel.begins(w.kernel.columns)
    more = f"{row} + " if row else ""
    last = f"{more}tl.minimum(begin + BLOCK_{w.rows}, {w.rows}) - 1"
    lines, parts = loop(these, f"{more}begin", last, w.columns, f"BLOCK_{w.columns}", column)
    return [*made, *lines], parts


def _turn(w: Writer, border: bool) -> None:
    """What is done with one tile of columns."""
    kernel, softmax = w.kernel, w.kernel.fold is FoldKind.SHARES
    keys = {score.columns.name: score.columns for score in kernel.scores}
    for part in keys.values():
        w.tile(part, w.edge)
    w.leaves({kernel.columns})
    w.pairs(border)
    if softmax:
        w.do(
            "grown = tl.maximum(largest, tl.max(score, 1))",
            'base = tl.where(grown == float("-inf"), 0.0, grown)  # of a row that has seen nothing yet',
            "share = tl.exp2(score - base[:, None])",
            "shrink = tl.exp2(largest - base)",
            "total = total * shrink + tl.sum(share, 1)",
            "largest = grown",
        )
    else:
        w.do("share = score")
    if kernel.fold is FoldKind.ROOT:
        w.do("length += tl.sum(share * share, 1)")
    for read, value in zip(results(kernel), kernel.values, strict=True):
        if value.name not in keys:
            w.tile(value, w.edge)
        if softmax:
            w.do(f"{read}_tile *= shrink[:, None]")
        w.add(f"{read}_tile", "share", f"{value.name}_tile")


def _finish(w: Writer) -> None:
    """The results of a tile of rows."""
    kernel, finish = w.kernel, ""
    w.row()
    w.do(
        "if CHUNKS > 1:",
        f"    row += tl.program_id(1) * (tl.num_programs(0) // tiles) * {w.rows}  # behind those of the shares before",
    )
    if kernel.fold is FoldKind.SHARES:
        w.do(
            "divisor = tl.where(total == 0.0, 1.0, total)  # a row that sees nothing reads 0",
            'logs = tl.where(total == 0.0, float("inf"), largest + tl.log2(divisor))  # exp2(score - inf) is 0',
            "tl.store(stat + row, logs, mask=inside)",
        )
        finish = " / divisor[:, None]"
    elif kernel.fold is FoldKind.ROOT:
        w.do(
            f"inverse = 1.0 / tl.maximum(tl.sqrt(length), {kernel.eps!r})", "tl.store(stat + row, inverse, mask=inside)"
        )
        finish = " * inverse[:, None]"
    for read, value in zip(results(kernel), kernel.values, strict=True):
        w.save(read, value, "row", f"{read}_tile{finish}")
