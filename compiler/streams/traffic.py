"""What a region takes: bytes to and from device memory, operations, shared memory and registers, as exact polynomials
of sizes and tiles; and which tiles fit a device.

A kernel is taken to do what `region.py` says: each program has one tile of rows and one item of each other partitioned
axis. It reads what does not move once, what moves in each turn of its loop, and writes each fold's result, and of
shares what the gradients need of them (one float32 for each row). Shares that are a result are made in a second walk
along all items, which reads that number, and what scores are made of, again, and writes them once. Only what is inside
of an array counts: a tile that reaches beyond its end reads nothing there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from ..cost.polynomials.operations import rounded
from ..cost.polynomials.polynomial import ONE, WIDTH, ZERO, Poly, SizeSymbol, total
from ..cost.work import BATCH_SIZE, Contraction, Meter, contractions, plain_work
from ..graph.nodes import Apply, Node, makes, reads
from ..graph.traits import Gather
from ..graph.values import Role, Value
from ..masks.bounds import key_bounds
from ..sizes.axes import Axis
from .along import multiplies
from .device import Device
from .region import Fold, Operand, StreamingRegion, varies
from .rules import FoldKind
from .sight import visited

STAGES = 2  # tiles of what moves that lie in shared memory at once: one is read while one is used
STAT = 4  # bytes of what shares leave for their gradients
ROWS, STEPS = (128, 64, 32, 16), (128, 64, 32, 16)
FREE = 2  # of the registers one in so many holds tiles; the rest are addresses, masks, operands on their way


@dataclass(frozen=True)
class KeyWalk:
    """One walk along the streamed axis: what is done in it, what this reads (by id), and how many of the axis' items,
    and of pairs, all tiles of rows read.
    """

    nodes: tuple[Node, ...]
    read: frozenset[int]
    keys: Poly
    pairs: Poly

    @property
    def ops(self) -> list[Apply]:
        return [node for node in self.nodes if isinstance(node, Apply)]

    def lookups(self, table: Value) -> list[Apply]:
        return [one for one in self.ops if isinstance(one.traits.reads, Gather) and one.operands[0].id == table.id]


@dataclass(frozen=True)
class Traffic:
    """A region with tiles of `tile` rows and `step` items of the streamed axis, `times` times."""

    region: StreamingRegion
    meter: Meter
    tile: int
    step: int
    times: Poly = ONE

    # -- sizes ----------------------------------------------------------------------------------------------------

    @cached_property
    def tile_symbol(self) -> SizeSymbol:
        rows = self.region.rows
        return SizeSymbol(("tile", rows), f"B_{rows.label if rows is not None else 1}", WIDTH)

    @cached_property
    def values(self) -> dict[SizeSymbol, int]:
        """The numbers of all symbols."""
        return {**self.meter.values, self.tile_symbol: self.tile, **dict(zip(self._seen, self._visited, strict=True))}

    @cached_property
    def queries(self) -> Poly:
        """How many rows there are."""
        return ONE if self.region.rows is None else self.meter.scope.size(self.region.rows)

    @cached_property
    def tiles(self) -> Poly:
        """How many tiles of rows there are."""
        ratio = self.queries.over(Poly.of(self.tile_symbol))
        return ONE if self.region.rows is None or ratio is None else rounded(ratio, up=True)

    @cached_property
    def _seen(self) -> tuple[SizeSymbol, ...]:
        """What stands for the keys that all tiles read, and for the pairs in these tiles; none where all are seen."""
        rows, seen = self.region.rows, self.region.seen
        if rows is None or seen is None or seen.q != rows or not key_bounds(seen).sides:
            return ()
        keys = self.region.streamed
        key = ("seen", rows, keys, seen, self.tile, self.step)
        return (
            SizeSymbol((*key, 1), f"seen({keys.label})", WIDTH),
            SizeSymbol((*key, 2), f"seen({rows.label} {keys.label})", WIDTH),
        )

    @cached_property
    def _visited(self) -> tuple[int, ...]:
        if not self._seen or self.region.seen is None:
            return ()
        sizes = (int(self.queries.at(self.meter.values)), int(self.keys.at(self.meter.values)))
        return visited(key_bounds(self.region.seen).sides, *sizes, self.tile, self.step)

    @property
    def keys(self) -> Poly:
        """How many items the streamed axis has."""
        return self.meter.scope.size(self.region.streamed)

    @property
    def read_keys(self) -> Poly:
        """How many items of the streamed axis all tiles of rows read."""
        return Poly.of(self._seen[0]) if self._seen else self.tiles * self.keys

    @property
    def pairs(self) -> Poly:
        """How many pairs of a row and an item of the streamed axis are computed."""
        return Poly.of(self._seen[1]) if self._seen else self.queries * self.keys

    @cached_property
    def grid(self) -> Poly:
        """How many items all partitioned axes have but the rows, batch axes among them."""
        batched = any(item.value.role is Role.DATA for item in self.region.inputs)
        others = (axis for axis in self.region.partitioned if axis != self.region.rows)
        return self.meter.scope.product(others) * (BATCH_SIZE if batched else ONE) * self.times

    @cached_property
    def walks(self) -> list[KeyWalk]:
        """That of the folds, and where shares are stored the one that makes them again."""
        region = self.region
        every = frozenset(value.id for node in (*region.before, *region.inside) for value in reads(node))
        wanted = {value.id for value in region.stored}
        again: list[Node] = []
        for node in reversed((*region.before, *region.inside)):
            if any(out.id in wanted for out in makes(node)):
                again.append(node)
                wanted |= {value.id for value in reads(node)}
        inside = tuple(node for node in region.inside if any(node is one for one in again))
        second = KeyWalk(inside, frozenset(wanted), self.tiles * self.keys, self.queries * self.keys)
        return [KeyWalk(region.inside, every, self.read_keys, self.pairs), *([second] if again else [])]

    @cached_property
    def inputs(self) -> list[Operand]:
        """What the loop reads: what only `after` does, which is left to the graph, it does not."""
        return [item for item in self.region.inputs if item.value.id in self.walks[0].read]

    # -- bytes ----------------------------------------------------------------------------------------------------

    def reads(self, item: Operand) -> Poly:
        """Bytes of an operand that are read, each time anew."""
        return total(self._read(item, walk) for walk in self.walks if item.value.id in walk.read)

    def _read(self, item: Operand, walk: KeyWalk) -> Poly:
        width = self.meter.width(item.value)
        if item.lookup:
            return total(self._over(varies(node.out), walk) for node in walk.lookups(item.value)) * width
        has_rows = self.region.rows in item.axes
        places = {
            (True, True): walk.pairs,
            (True, False): walk.keys,
            (False, True): self.queries,
            (False, False): self.tiles,
        }[item.moves, has_rows]
        return self._rest(item.axes) * places * self.grid * width

    def _rest(self, axes: Iterable[Axis]) -> Poly:
        """Items along the axes of which a tile has all."""
        own = (*self.region.partitioned, self.region.streamed)
        return self.meter.scope.product(axis for axis in axes if axis not in own)

    def written(self, fold: Fold) -> Poly:
        """Bytes that a fold writes: its result, or what is kept of shares for their gradients, and shares stored."""
        rows = self.queries * self.grid
        match fold.kind:
            case FoldKind.SHARES | FoldKind.ROOT:
                shown = fold.node.out in self.region.stored
                pairs = self.keys * self.meter.width(fold.node.out) if shown else ZERO
                return rows * self._rest(fold.axes) * (pairs + STAT)
            case FoldKind.LOGSUM if any(self._like(fold, other) for other in self.region.folds):
                return ZERO  # it is what is kept of those shares
            case _:
                return rows * self._rest(fold.axes) * self.meter.width(fold.node.out)

    @staticmethod
    def _like(fold: Fold, other: Fold) -> bool:
        return other.kind is FoldKind.SHARES and reads(other.node) == reads(fold.node)

    @cached_property
    def sums(self) -> Poly:
        """Bytes of what shares that are stored are made from, besides scores."""
        shown = [fold for fold in self.region.folds if fold.node.out in self.region.stored]
        return total(self.queries * self.grid * self._rest(fold.axes) * STAT for fold in shown)

    @cached_property
    def asked(self) -> Poly:
        """Bytes of all loads and stores."""
        return total(map(self.reads, self.inputs)) + self.sums + total(map(self.written, self.region.folds))

    @cached_property
    def least(self) -> Poly:
        """Bytes if each operand came from device memory once."""
        once = total(self.meter.bytes(item.value) for item in self.inputs) * self.times
        return once + total(map(self.written, self.region.folds))

    @cached_property
    def unfused(self) -> Poly:
        """Bytes that the same ops move one by one, with every score stored."""
        return total(plain_work(node, self.meter).moved for node in self.walks[0].ops) * self.times

    # -- operations -----------------------------------------------------------------------------------------------

    @cached_property
    def macs(self) -> Poly:
        """Multiply-adds of products of matrices, whole tiles."""
        return total(
            self._over(one.axes, walk)
            for walk in self.walks
            for node in walk.ops
            if multiplies(node)
            for one in _contractions(node)
        )

    @cached_property
    def others(self) -> Poly:
        """Other operations, whole tiles."""
        return total(
            self._over(varies(node.operands[0] if node.traits.cost.reads else node.out), walk) * node.traits.cost.work
            for walk in self.walks
            for node in walk.ops
            if node.traits.cost.work and not (multiplies(node) and _contractions(node))
        )

    def _over(self, axes: Iterable[Axis], walk: KeyWalk) -> Poly:
        """Items along these axes, in all tiles."""
        own = dict.fromkeys(axes)
        places = walk.pairs if self.region.rows in own or self.region.rows is None else walk.keys
        return self._rest(own) * places * self.grid

    # -- what a program holds -------------------------------------------------------------------------------------

    @cached_property
    def held(self) -> tuple[int, int]:
        """Bytes of shared memory, and of registers that hold tiles."""
        shared = registers = 0
        for item in self.inputs:
            size = self._number(self._rest(item.axes)) * self.meter.width(item.value)
            tile = self.tile if self.region.rows in item.axes else 1
            if not item.lookup:
                shared += size * tile * (STAGES * self.step if item.moves else 1)
        pair = 0
        for node in self.walks[0].ops:
            if self.region.fold(node) is None and node.out.role > Role.TABLE:
                pair = max(pair, self._number(self._rest(varies(node.out))))
        registers += self.tile * self.step * pair * (4 + self.meter.real)
        registers += self.state * self.tile
        return shared, registers

    @cached_property
    def state(self) -> int:
        """Bytes of the state of all folds, for each row: float32."""
        return sum(4 * len(fold.rule.state) * self._number(self._rest(fold.axes)) for fold in self.region.folds)

    def _number(self, poly: Poly) -> int:
        return int(poly.at(self.meter.values))

    def fits(self, device: Device) -> bool:
        shared, registers = self.held
        return shared <= device.shared and registers * FREE <= device.registers


def _contractions(node: Apply) -> list[Contraction]:
    none = [False] * len(node.operands)
    return contractions(node, none, none)


def fitted(region: StreamingRegion, meter: Meter, device: Device, times: Poly = ONE) -> Traffic | None:
    """The region with tiles that fit a device: of those with the most rows (each program reads all that moves), the
    one with the longest steps. None where not even the smallest fit.
    """
    rows = ROWS if region.rows is not None else (1,)
    tries = (Traffic(region, meter, tile, step, times) for tile in rows for step in STEPS)
    return next((one for one in tries if one.fits(device)), None)
