"""Backward: scores are made again from what their fold came to, for tiles of rows and for tiles of columns."""

from __future__ import annotations

from ...compiler.masks.bounds import turned
from ...compiler.sizes.axes import Axis
from ...compiler.streams.rules import FoldKind
from .bounds import limited, loop, numbers, sides
from .forward import begin_rows, row_bounds
from .points import AS, gradients, tables
from .tiles import Kernel, PairNumber, Part, Score
from .writer import Writer, column_leaves, dense, of_columns, of_rows, results, row_leaves


def back_rows(kernel: Kernel) -> str:
    """The function that gives queries, and numbers of rows, pairs and tables, their gradients."""
    w = Writer(kernel, False)
    rows, leaves = of_rows(kernel), row_leaves(kernel)
    own: list[Part] = [*rows, *leaves, *dense(kernel), *tables(kernel)]
    made = [f"d_{part.name}" for part in own]
    w.signature(f"{kernel.name}_back_rows", [*_upstream(kernel), *made], [
        f"Gradients of what belongs to {w.rows}: one tile of them, all {w.columns} in turn, scores made again.",
    ])  # fmt: skip
    these = sides(kernel)
    begin_rows(w, these)
    for leaf in tables(kernel):
        w.do(f"d_{leaf.name} += {w.offset(leaf).removeprefix(f'{leaf.name} + ')}")
    _read(w)
    w.zeros([(f"d_{part.name}_tile", part.depth) for part in rows], w.rows)
    w.zeros([(f"d_{leaf.name}_tile", None) for leaf in leaves], w.rows)
    lines, parts = row_bounds(w, these)
    w.do(*lines)
    w.loop(parts, w.columns, lambda border: _row_turn(w, border))
    for part in rows:
        w.save(f"d_{part.name}", part, "row", f"d_{part.name}_tile")
    for leaf in leaves:
        w.do(f"tl.store(d_{leaf.name} + row, d_{leaf.name}_tile, mask=inside)")
    return "\n".join(w.lines)


def back_columns(kernel: Kernel) -> str:
    """The function that gives keys and values, and numbers of columns, their gradients."""
    w = Writer(kernel, True)
    columns, leaves, group = of_columns(kernel), column_leaves(kernel), grouped(kernel)
    own: list[Part] = [*columns, *leaves]
    made = [f"d_{part.name}" for part in own]
    w.signature(f"{kernel.name}_back_columns", [*_upstream(kernel), *made], [
        f"Gradients of what belongs to {w.columns}: one tile of them, all {w.rows} in turn, scores made again; in a",
        f"tile of pairs {w.columns} go down and {w.rows} across.",
    ])  # fmt: skip
    w.program(group, w.columns, False)
    for each in own:
        w.do(f"{each.name} = {w.offset(each)}")
    for part in columns:
        w.tile(part, "True")
    for leaf in leaves:
        w.leaf(leaf)
    w.zeros([(f"d_{part.name}_tile", part.depth) for part in columns], w.columns)
    w.zeros([(f"d_{leaf.name}_tile", None) for leaf in leaves], w.columns)
    _through_rows(w, group)
    block = f"BLOCK_{w.columns}"
    w.do(f"column = {w.item(group)} * {w.columns} + begin + tl.arange(0, {block})")
    w.do(f"inside = begin + tl.arange(0, {block}) < {w.columns}")
    for part in columns:
        w.save(f"d_{part.name}", part, "column", f"d_{part.name}_tile")
    for leaf in leaves:
        w.do(f"tl.store(d_{leaf.name} + column, d_{leaf.name}_tile, mask=inside)")
    return "\n".join(w.lines)


def grouped(kernel: Kernel) -> tuple[Axis, ...]:
    """The axes of which a program of the columns has one item; it goes through those of the others itself."""
    own = {axis for features in of_columns(kernel) for axis in features.batch}
    own |= {axis for leaf in column_leaves(kernel) for axis in leaf.batch}
    return tuple(axis for axis in kernel.batch if axis in own)


def _through_rows(w: Writer, group: tuple[Axis, ...]) -> None:
    """The loop of a tile of columns: through all rows of all who share these."""
    kernel = w.kernel
    these = turned(sides(kernel))
    last = f"tl.minimum(begin + BLOCK_{w.columns}, {w.columns}) - 1"
    for leaf, name in numbers(kernel, these):
        w.do(limited(name, f"tl.load({w.offset(leaf)}){AS[leaf.kind]}"))
    lines, parts = loop(these, "begin", last, w.rows, f"BLOCK_{w.rows}")
    w.do(*lines)
    for axis in kernel.batch:
        if axis not in group:
            w.do(f"for {w.name(axis)}_at in range({w.name(axis)}):  # those who share these {w.columns}")
            w.margin += "    "
    others = [leaf for leaf in kernel.leaves if leaf not in column_leaves(kernel)]
    moved: list[Part] = [*of_rows(kernel), *others]
    for part in moved:
        w.do(f"{part.name}_item = {w.offset(part)}")
    w.moved = {part.name for part in moved}
    w.loop(parts, w.rows, lambda border: _column_turn(w, border, others))
    w.margin = "    "


def _row_turn(w: Writer, border: bool) -> None:
    """What a tile of rows does with one tile of columns."""
    kernel = w.kernel
    for part in of_columns(kernel):
        w.tile(part, w.edge)
    w.leaves({kernel.columns})
    w.pairs(border)
    w.share()
    _scored(w, border, True)
    for score in kernel.scores:
        w.add(f"d_{score.rows.name}_tile", f"d_{score.name}", f"{score.columns.name}_tile")
    for leaf in row_leaves(kernel):
        w.do(f"d_{leaf.name}_tile += tl.sum(d_{leaf.name}_pairs, 1)")
    for leaf in dense(kernel):
        w.do(
            f"if LEARN_{leaf.name}:",
            f"    at_pair, ends = {w.pair()}",
            f"    tl.store(d_{leaf.name} + at_pair, d_{leaf.name}_pairs, mask=ends)",
        )


def _column_turn(w: Writer, border: bool, others: list[PairNumber]) -> None:
    """What a tile of columns does with one tile of rows."""
    kernel = w.kernel
    for part in of_rows(kernel):
        w.tile(part, w.edge)
    _read(w)
    for leaf in others:
        if len(leaf.own) < 2:
            w.leaf(leaf)
    w.pairs(border)
    w.share()
    for read, value in zip(results(kernel), kernel.values, strict=True):
        w.add(f"d_{value.name}_tile", "share", f"d_{read}_tile")
    _scored(w, border, False)
    for score in kernel.scores:
        w.add(f"d_{score.columns.name}_tile", f"d_{score.name}", f"{score.rows.name}_tile")
    for leaf in column_leaves(kernel):
        w.do(f"d_{leaf.name}_tile += tl.sum(d_{leaf.name}_pairs, 1)")


def _upstream(kernel: Kernel) -> list[str]:
    """What the gradients are made of besides inputs."""
    return [
        *(f"d_{read}" for read in results(kernel)),
        *(["d_shares"] if kernel.shares is not None else []),
        *(["stat", "delta"] if kernel.fold is not FoldKind.TOTAL else []),
    ]


def _read(w: Writer) -> None:
    """The gradients of what a tile of rows has read, and what its fold came to; a row beyond the last sees nothing."""
    kernel = w.kernel
    w.row()
    for read, value in zip(results(kernel), kernel.values, strict=True):
        depth = w.name(value.depth)
        w.call(f"d_{read}_tile", "load_tile", [f"d_{read}", "row", "inside", f"{depth}_at", depth])
    if kernel.fold is not FoldKind.TOTAL:
        w.state("delta")


def _scored(w: Writer, border: bool, add: bool) -> None:
    """The gradient of each pair's share and score, and of what the score is made of. add: tables get theirs, too."""
    k = w.kernel
    for number, (read, value) in enumerate(zip(results(k), k.values, strict=True)):
        left, right = (f"{value.name}_tile", f"d_{read}_tile") if w.across else (f"d_{read}_tile", f"{value.name}_tile")
        before, function = (["d_share"], "product_onto") if number else ([], "product")
        w.call("d_share", function, [*before, left, f"tl.trans({right})", "PRECISION"])
    if k.shares is not None:
        w.do("if SHOWN:", f"    at_pair, ends = {w.pair()}")
        w.do("    d_share += tl.load(d_shares + at_pair, mask=ends, other=0.0).to(tl.float32)")
    codes = {
        FoldKind.SHARES: "share * (d_share - delta_tile)",
        FoldKind.ROOT: "(d_share - share * delta_tile) * stat_tile",
        FoldKind.TOTAL: "d_share",
    }
    w.do(f"d_score = {codes[k.fold]}")
    if k.fold is not FoldKind.SHARES:
        w.at_border(border, lambda: w.do("d_score = tl.where(seen, d_score, 0.0)"))
    if isinstance(k.score, Score):
        w.do(f"d_{k.score.name} = d_score")
        return
    if add and tables(k):
        w.do("d_score = tl.where(inside[:, None], d_score, 0.0)  # a row beyond the last adds nothing to a table")
    scores = {score.name for score in k.scores}
    names = [f"d_{name}" if name in scores else f"d_{name}_pairs" for name in gradients(k)]
    more = []
    for leaf in tables(k):
        more += [f"d_{leaf.name}" if add else w.at(leaf), f"{leaf.name}_{w.name(leaf.own[0])}"]
    more += [str(add)] if more else []
    w.call(", ".join(names), f"{k.name}_back", ["d_score", *w.args([k.score]), *more])
    # of a pair that does not count, what the score is made of may be anything, and 0 times that no number
    w.at_border(border, lambda: w.do(*(f"{name} = tl.where(seen, {name}, 0.0)" for name in names)))
