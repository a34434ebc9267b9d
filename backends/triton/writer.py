"""What the functions of a kernel have in common: which program they are, tiles, pairs, the loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...compiler.sizes.axes import Axis
from ...compiler.streams.rules import FoldKind
from .points import AS, learnt, parameters, wrapped
from .tiles import Features, Kernel, Load, PairNumber, Point


def results(kernel: Kernel) -> list[str]:
    """What each result is called."""
    return [f"read{number or ''}" for number, _ in enumerate(kernel.values)]


def depths(kernel: Kernel) -> list[Axis]:
    return list(dict.fromkeys(part.depth for part in kernel.features))


def dense(kernel: Kernel) -> list[PairNumber]:
    """Learned numbers of each pair, which have a gradient of their own size."""
    return [leaf for leaf in kernel.leaves if leaf.learns and len(leaf.own) == 2]


def row_leaves(kernel: Kernel) -> list[PairNumber]:
    """Learned numbers of each row, or of none: summed over columns."""
    return [leaf for leaf in _summed(kernel) if kernel.columns not in leaf.own]


def column_leaves(kernel: Kernel) -> list[PairNumber]:
    return [leaf for leaf in _summed(kernel) if leaf.own == (kernel.columns,)]


def of_rows(kernel: Kernel) -> list[Features]:
    """Queries: vectors of rows."""
    return [part for part in kernel.features if part.place == kernel.rows]


def of_columns(kernel: Kernel) -> list[Features]:
    """Keys and values: vectors of columns."""
    return [part for part in kernel.features if part.place == kernel.columns]


def _summed(kernel: Kernel) -> list[PairNumber]:
    through = learnt(kernel)
    names = {p.leaf.name for p in kernel.points() if isinstance(p, Load) and p.at is None and id(p) in through}
    return [leaf for leaf in kernel.leaves if leaf.name in names and len(leaf.own) < 2 and not leaf.looked_up]


class Writer:
    """What the three functions have in common. `across`: the rows of a tile lie across, columns down."""

    def __init__(self, kernel: Kernel, across: bool) -> None:
        self.kernel, self.across = kernel, across
        self.rows, self.columns = kernel.names[kernel.rows], kernel.names[kernel.columns]
        self.lines: list[str] = []
        self.margin = "    "
        self.moved: set[str] = set()  # what an inner loop reads: its pointers have names of their own there

    def at(self, part: Features | PairNumber) -> str:
        """The pointer to the item of this program, or of this turn of an inner loop."""
        return f"{part.name}_item" if part.name in self.moved else part.name

    def do(self, *lines: str) -> None:
        self.lines += [f"{self.margin}{line}".rstrip() for line in lines]

    def call(self, target: str, function: str, args: list[str]) -> None:
        head = f"{target} = {function}(" if target else f"{function}("
        self.lines += wrapped(head, args, ")", self.margin)

    def name(self, axis: Axis) -> str:
        return self.kernel.names[axis]

    def strides(self, part: Features | PairNumber) -> list[str]:
        return [f"{part.name}_{axis}" for axis in ("lead", *map(self.name, part.axes))]

    def signature(self, name: str, more: list[str], says: list[str]) -> None:
        k = self.kernel
        given = [part.name for part in k.inputs] + more
        steps = [step for part in k.inputs for step in self.strides(part)]
        sizes = [self.name(axis) for axis in (*k.batch, k.rows, k.columns)]
        sizes += [f"{leaf.name}_size" for leaf in k.leaves if leaf.looked_up]
        known = [self.name(axis) for axis in depths(k)]
        known += [f"BLOCK_{name}" for name in (self.rows, self.columns, *known)] + ["PRECISION"]
        if self.shared:
            known.append("CHUNKS")
        else:
            known += [f"LEARN_{leaf.name}" for leaf in dense(k) if name.endswith("_rows")]
            known += ["SHOWN"] if k.shares is not None else []
        self.lines.append("@triton.jit")
        groups = [given, steps, sizes, [f"{each}: tl.constexpr" for each in known]]
        self.lines.append(f"def {name}(")
        for group in groups:
            now = "    "
            for part in group:
                if len(now) + len(part) > 108:
                    self.lines.append(now.rstrip())
                    now = "    "
                now += f"{part}, "
            if group:
                self.lines.append(now.rstrip())
        self.lines.append("):")
        self.lines += [f'    """{says[0]}', *(f"    {line}" for line in says[1:]), '    """']

    def offset(self, part: Features | PairNumber) -> str:
        steps = [
            f"lead_at * {part.name}_lead",
            *(f"{self.name(a)}_at * {part.name}_{self.name(a)}" for a in part.batch),
        ]
        return " + ".join([part.name, *steps])

    def program(self, axes: tuple[Axis, ...], along: str, backwards: bool) -> None:
        """Which tile, and which item of each axis, a program has."""
        block = f"BLOCK_{along}"
        self.do(f"tiles = tl.cdiv({along}, {block})", "at = tl.program_id(0).to(tl.int64)")
        tile = "tiles - 1 - at % tiles  # the longest first" if backwards else "at % tiles"
        self.do(f"tile = ({tile.split('  #')[0]}).to(tl.int32)" + ("  # the longest first" if backwards else ""))
        self.do("at = at // tiles")
        for axis in reversed(axes):
            self.do(f"{self.name(axis)}_at = at % {self.name(axis)}", f"at = at // {self.name(axis)}")
        self.do("lead_at = at")
        self.do(f"begin = tile * {block}", f"{along}_at = begin + tl.arange(0, {block})")
        for axis in depths(self.kernel):
            self.do(f"{self.name(axis)}_at = tl.arange(0, BLOCK_{self.name(axis)})")

    def tile(self, part: Features, edge: str) -> None:
        place, depth = self.name(part.place), self.name(part.depth)
        self.call(
            f"{part.name}_tile", "tile_of",
            [self.at(part), f"{place}_at", f"{part.name}_{place}", place,
             f"{depth}_at", f"{part.name}_{depth}", depth, edge],
        )  # fmt: skip

    def shaped(self, axis: Axis) -> str:
        """How numbers of each row, or column, lie in a tile of pairs."""
        return "[None, :]" if (axis == self.kernel.rows) is self.across else "[:, None]"

    def leaf(self, leaf: PairNumber) -> None:
        """The numbers of a leaf, as they lie in a tile of pairs; a truth value stays one."""
        if leaf.looked_up:
            return
        point, inside = self.at(leaf), []
        for axis in leaf.own:
            name = self.name(axis)
            point += f" + {name}_at{self.shaped(axis)} * {leaf.name}_{name}"
            inside.append(f"({name}_at < {name}){self.shaped(axis)}")
        mask = f", mask={' & '.join(inside)}, other=0" if inside else ""
        self.do(f"{leaf.name}_tile = tl.load({point}{mask}){AS[leaf.kind]}")

    def leaves(self, along: set[Axis]) -> None:
        """Those that vary along these axes of the pair, and no others."""
        for leaf in self.kernel.leaves:
            own = set() if leaf.looked_up else {*leaf.own}
            if own == along:
                self.leaf(leaf)

    def args(self, roots: list[Point]) -> list[str]:
        """What a function of points is given here."""
        k, found = self.kernel, []
        leaves = {leaf.name: leaf for leaf in k.leaves}
        places = {f"{self.name(axis)}_at": axis for axis in (k.rows, k.columns)}
        for name in parameters(k, roots):
            if name in places:
                found.append(f"{name}{self.shaped(places[name])}")
            elif name in leaves:
                found.append(self.at(leaves[name]) if leaves[name].looked_up else f"{name}_tile")
            else:
                found.append(name)
        return found

    def pairs(self, border: bool) -> None:
        """The score of a tile of pairs, and where it counts."""
        k = self.kernel
        self.leaves({k.rows, k.columns})
        for score in k.scores:
            left, right = (score.columns, score.rows) if self.across else (score.rows, score.columns)
            self.do(f"{score.name} = product({left.name}_tile, tl.trans({right.name}_tile), PRECISION)")
        self.call("score", f"{k.name}_score", self.args([k.score]))
        self.at_border(border, self.masked)

    def masked(self) -> None:
        k = self.kernel
        ends = ((k.rows, self.rows), (k.columns, self.columns))
        inside = [f"({name}_at < {name}){self.shaped(axis)}" for axis, name in ends]
        self.do(f"seen = {' & '.join(inside)}")
        if k.seen is not None:
            self.call("seen", f"seen & {k.name}_seen", self.args([k.seen]))
        other = 'float("-inf")' if k.fold is FoldKind.SHARES else "0.0"
        self.do(f"score = tl.where(seen, score, {other})")

    def at_border(self, border: bool, body: Callable[[], None]) -> None:
        """What is done only where some pairs of a tile do not count."""
        if self.whole is None:
            if border:
                body()
            return
        before, self.margin = self.margin, self.margin + "    "
        self.lines.append(f"{before}if part != {self.whole}:")
        body()
        self.margin = before

    @property
    def edge(self) -> str:
        """Whether a tile may reach beyond the last item."""
        return "True" if self.whole is None else f"part != {self.whole}"

    def loop(self, parts: list[tuple[str, str, bool]], along: str, body: Callable[[bool], None]) -> None:
        """The loop along an axis: written once, run in its parts."""
        block = f"BLOCK_{along}"
        if len(parts) == 1 and self.shared:
            start, end, border = parts[0]
            self.do(f"start_at, end_at = {start}, {end}")
            self.own_columns()
            self.do(f"for start in range(start_at, end_at, {block}):")
            self.within(lambda: body(border), along)
            return
        if len(parts) == 1:
            start, end, border = parts[0]
            self.do(f"for start in range({start}, {end}, {block}):")
            self.within(lambda: body(border), along)
            return
        words = {False: "tiles of which every pair counts", True: "those at the border"}
        self.do(f"for part in tl.static_range({len(parts)}):  # {', '.join(words[border] for _, _, border in parts)}")
        self.margin += "    "
        for number, (start, end, _) in enumerate(parts):
            head = (
                f"if part == {number}:"
                if not number
                else "else:"
                if number == len(parts) - 1
                else f"elif part == {number}:"
            )
            self.do(head, f"    start_at, end_at = {start}, {end}")
        if self.shared:
            self.own_columns()
        self.do(f"for start in range(start_at, end_at, {block}):")
        whole = next(number for number, (_, _, border) in enumerate(parts) if not border)
        self.whole = whole
        self.within(lambda: body(True), along)
        self.margin = self.margin[:-4]

    whole: int | None = None
    shared = False  # whether several programs may share the columns of a tile of rows

    def own_columns(self) -> None:
        """Where columns are shared, a program goes through its own."""
        self.do("if CHUNKS > 1:")
        self.do("    start_at, end_at = tl.maximum(start_at, own_from), tl.minimum(end_at, own_to)")

    def within(self, body: Callable[[], None], along: str) -> None:
        before, self.margin = self.margin, self.margin + "    "
        self.do(f"{along}_at = start + tl.arange(0, BLOCK_{along})")
        body()
        self.margin = before
        self.whole = None

    def row(self) -> None:
        """Where the rows of a tile lie in results."""
        code = self.item(self.kernel.batch)
        self.do(f"row = {code} * {self.rows} + {self.rows}_at", f"inside = {self.rows}_at < {self.rows}")

    def state(self, *more: str) -> None:
        """What the fold of each row came to, and more such numbers; a row beyond the last weighs nothing."""
        lies, none = self.shaped(self.kernel.rows), 'float("inf")' if self.kernel.fold is FoldKind.SHARES else "0.0"
        for name, other in (("stat", none), *((each, "0.0") for each in more)):
            self.do(f"{name}_tile = tl.load({name} + row, mask=inside, other={other}){lies}")

    def share(self) -> None:
        """What each pair weighs, from what the fold came to in the end."""
        codes = {FoldKind.SHARES: "tl.exp2(score - stat_tile)", FoldKind.ROOT: "score * stat_tile"}
        self.do(f"share = {codes.get(self.kernel.fold, 'score')}")

    def pair(self) -> str:
        """Where the pairs of a tile lie in what has a number of each without gaps, and which of them there are."""
        rows, columns = self.shaped(self.kernel.rows), self.shaped(self.kernel.columns)
        inside = f"inside{rows} & ({self.columns}_at < {self.columns}){columns}"
        return f"row{rows} * {self.columns} + {self.columns}_at{columns}, {inside}"

    def item(self, batch: Sequence[Axis]) -> str:
        """The number of this item of the leading axes and these, in what lies without gaps."""
        code = "lead_at"
        for axis in batch:
            code = f"({code} * {self.name(axis)} + {self.name(axis)}_at)"
        return code

    def save(self, target: str, part: Features, row: str, code: str) -> None:
        """Writes a tile of vectors."""
        depth = self.name(part.depth)
        self.call("", "store_tile", [target, row, "inside", f"{depth}_at", depth, code])

    def zeros(self, of: Sequence[tuple[str, Axis | None]], along: str) -> None:
        """Sums that begin at 0: of a vector of a depth, or of a number, for each item of the tile."""
        for name, depth in of:
            shape = [f"BLOCK_{along}", *([] if depth is None else [f"BLOCK_{self.name(depth)}"])]
            self.do(f"{name} = tl.zeros([{', '.join(shape)}], tl.float32)")

    def add(self, total: str, a: str, b: str) -> None:
        """Adds a product of two tiles."""
        self.call(total, "product_onto", [total, f"{a}.to({b}.dtype)", b, "PRECISION"])
