"""A region under construction: what is done for one tile, what folds, what is around."""

from __future__ import annotations

from collections.abc import Collection

from ..graph.nodes import Apply, Constant, Node, Positions, makes, reads
from ..graph.term import Position, Predicate, parts
from ..graph.traits import (
    ADDED,
    ALL_TRUE,
    AVERAGED,
    LARGEST,
    LOG_ADDED,
    SMALLEST,
    SOME_TRUE,
    Arrange,
    Combination,
    Gather,
    IndexMap,
    Normalise,
    Pointwise,
    Product,
    Quotient,
    Reduce,
    Sum,
)
from ..graph.values import Value
from ..masks.read import Reader
from ..sizes.axes import Axis
from .along import Along, left_out, listed, reduced, written
from .region import Fold, Operand, StreamingRegion, is_table, tiled, varies
from .rules import FoldKind


class InTheWay(Exception):
    """An op in the way."""

    def __init__(self, node: Node | None, why: str) -> None:
        self.node, self.why = node, why


class RegionBuilder:
    """A region under construction: the nodes that are done for one tile."""

    def __init__(self, along: Along, seeds: list[Apply]) -> None:
        self.along, self.axis, self.seeds = along, along.axis, seeds
        self.inside: dict[int, Node] = {}
        self.before: dict[int, Node] = {}
        self.inputs: dict[int, Value] = {}
        self.shares: dict[int, Apply] = {}  # values that are linear in what one op makes, not divided yet
        for seed in seeds:
            self.inside[id(seed)] = seed
            for value in reads(seed):
                self._take(value)

    def _take(self, value: Value) -> None:
        """Makes a value in the loop, if it is wide or a table along the axis; before it, if it is another table; else
        reads it from memory.
        """
        along, node = self.along, self.along.index.maker(value)
        if node is not None and (id(node) in self.inside or id(node) in self.before):
            return
        made = isinstance(node, Constant | Positions)
        if isinstance(node, Apply):
            hindered = along.hindered(node)
            if value.id in along.wide and hindered is not None:
                raise InTheWay(node, hindered)
            made = value.id in along.wide or (is_table(value) and hindered is None)
        if node is None or not made:
            self.inputs[value.id] = value
            return
        (self.inside if along.moves(value) else self.before)[id(node)] = node
        for place, operand in enumerate(reads(node)):
            if (
                isinstance(node, Apply)
                and isinstance(node.traits.reads, Gather)
                and place == 0
                and along.wide.get(operand.id)
            ):
                self._stored(node, operand)
            else:
                self._take(operand)

    def _stored(self, node: Apply, value: Value) -> None:
        """A product that is looked up in comes from memory, if it does not hang on the queries."""
        widths = {axis for seed in self.seeds for axis in varies(seed.out) if axis.is_width and axis != self.axis}
        if widths <= {*varies(value)}:
            raise InTheWay(node, f"picks along {listed(node.axes)}")
        self.inputs[value.id] = value

    def region(self, claimed: Collection[int] | None = None) -> StreamingRegion:
        """Raises InTheWay where it does not stream. claimed: nodes, by id, that other regions do after their folds; of
        None it does nothing after its own.
        """
        nodes = self.along.graph.nodes
        inside = [node for node in nodes if id(node) in self.inside]
        folds = self._folds(inside)
        shared = tuple(axis for axis in folds[0].axes if all(axis in self._free(fold) for fold in folds))
        weighing = {id(fold.of) for fold in folds if fold.of is not None}
        stored = tuple(value for node in inside for value in self._stays(node, id(node) in weighing))
        for node in inside:
            if isinstance(node, Apply) and isinstance(node.traits.reads, Reduce) and {*node.axes} & {*shared}:
                raise InTheWay(node, f"mixes {listed(node.axes)}, which the result has too")
        made = {fold.node.out.id for fold in folds if fold.node.out.id not in self.shares}
        after, others = self._after(made, stored, claimed)
        late = next((value for value in self.inputs.values() if value.id in others), None)
        if late is not None:
            raise InTheWay(self.along.index.maker(late), f"needs all of {self.axis.name} before the loop")
        known = made | {node.out.id for node in after}
        for value in (value for node in after for value in reads(node) if value.id not in known):
            self._take(value)
        outs = [fold.node.out for fold in folds if fold.node.out.id in made] + [node.out for node in after]
        together = self._together(inside, shared)
        keys = [set(varies(value)) for value in self.inputs.values() if self.along.moves(value)]
        keys = [one for one in keys if one & {*together} and not one >= {*shared}]
        queries = tuple(axis for axis in shared if not any(axis in one for one in keys))
        return StreamingRegion(
            self.axis,
            shared,
            together,
            queries,
            tuple(node for node in nodes if id(node) in self.before),
            tuple(inside),
            tuple(after),
            tuple(self._operand(value, queries) for value in self.inputs.values()),
            tuple(folds),
            tuple(out for out in outs if self._read_outside(out, after)),
            stored,
            self._seen(folds, queries),
        )

    def _free(self, fold: Fold) -> set[Axis]:
        """The axes of its state that the wide items of a fold have: the depth of values, say, serves all of them."""
        items = [value for value in reads(fold.node) if value.id in self.along.wide]
        return {axis for value in items for axis in varies(value)} & {*fold.axes}

    def _operand(self, value: Value, queries: tuple[Axis, ...]) -> Operand:
        moves = self.along.moves(value)
        return Operand(value, moves, moves and not {*queries}.isdisjoint(varies(value)), self._looked_up(value))

    def _looked_up(self, value: Value) -> bool:
        """Whether all that is read of it here are items at given places."""
        readers = [node for node in self.along.index.takers(value) if id(node) in self.inside]
        return bool(readers) and all(
            isinstance(node, Apply) and isinstance(node.traits.reads, Gather) and node.operands[0].id == value.id
            for node in readers
        )

    def _together(self, inside: list[Node], shared: tuple[Axis, ...]) -> tuple[Axis, ...]:
        read = [value for value in self.inputs.values() if not self._looked_up(value)]
        values = [*read, *(out for node in inside for out in makes(node))]
        axes = dict.fromkeys(axis for value in values for axis in varies(value))
        return tuple(axis for axis in axes if axis != self.axis and axis not in shared)

    # -- what folds -----------------------------------------------------------------------------------------------

    def _folds(self, inside: list[Node]) -> list[Fold]:
        """The folds of the region, in order."""
        folds: list[Fold] = []
        known_late: set[int] = set()  # what is known when the loop is over
        for node in inside:
            if not isinstance(node, Apply):
                continue
            if any(value.id in known_late for value in reads(node)):
                raise InTheWay(node, f"needs a result over all of {self.axis.name} for each item of it")
            held = [self.shares[value.id] for value in reads(node) if value.id in self.shares]
            if self.axis in reduced(node):
                fold = self._fold(node, held)
                folds.append(fold)
                if fold.kind in (FoldKind.SHARES, FoldKind.ROOT):
                    self.shares[node.out.id] = node
                else:
                    known_late.add(node.out.id)
            elif held:
                self.shares[node.out.id] = self._linear(node, held)
        return folds

    def _linear(self, node: Apply, held: list[Apply]) -> Apply:
        """The op whose shares a value is linear in, as its operands are."""
        first = node.operands[0].id in self.shares
        match node.traits.reads:
            case Pointwise(Sum()) if len(held) == len(node.operands) and all(one is held[0] for one in held):
                return held[0]
            case Pointwise(Product()) if len(held) == 1:
                return held[0]
            case Pointwise(Quotient(whole=False)) if len(held) == 1 and first:
                return held[0]
            case Arrange(IndexMap.SAME | IndexMap.NEW):
                return held[0]
            case _:
                raise InTheWay(node, f"is not linear in what {written(held[0])} makes")

    def _fold(self, node: Apply, held: list[Apply]) -> Fold:
        axis, axes = self.axis, varies(node.out)
        rest = tuple(one for one in axes if one not in node.axes)
        match node.traits.reads:
            case _ if node.weights or node.each:
                raise InTheWay(node, f"contracts {axis.name} with weights of its own")
            case Normalise(weights=True, logarithm=False) if not held:
                return Fold(FoldKind.SHARES, node, None, rest)
            case Normalise(centred=False, squares=Combination(adds=True, averages=False)) if not held:
                return Fold(FoldKind.ROOT, node, None, rest)
            case Reduce(Combination() as combination, indices=False) if combination in _KINDS and not held:
                return Fold(_KINDS[combination], node, None, axes)
            case Reduce(Combination(adds=True, averages=False), indices=False) if len(held) == 1:
                return Fold(FoldKind.WEIGHTED, node, held[0], axes)
            case Reduce(indices=True, largest_first=True) if not held and all(
                made.family != axis.family for made in node.made
            ):
                return Fold(FoldKind.TOP, node, None, axes)
            case Reduce(indices=False) if held:
                raise InTheWay(node, f"is no plain sum of what {written(held[0])} makes")
            case Reduce():
                raise InTheWay(node, f"tells where along {axis.name} items stand")
            case _:
                raise InTheWay(node, f"needs all of {axis.name} before its first result")

    # -- what is around -------------------------------------------------------------------------------------------

    def _stays(self, node: Node, shares: bool) -> tuple[Value, ...]:
        """What of a node is stored though a tile has it: shares that weigh something here, and are read elsewhere, too.
        Raises InTheWay where something else reads what a tile alone has.
        """
        for out in makes(node):
            if is_table(out) or not self.along.moves(out):
                continue
            others = [reader for reader in self.along.index.takers(out) if id(reader) not in self.inside]
            if shares and (others or out.id in self.along.index.returned):
                return (out,)
            for reader in others:
                hindered = self.along.hindered(reader) if isinstance(reader, Apply) else None
                raise InTheWay(reader, hindered or f"reads what {written(node)} makes, item by item")
            if out.id in self.along.index.returned:
                why = (
                    "weighs nothing here"
                    if self.axis in reduced(node)
                    else "is no softmax or norm, which are made again"
                )
                raise InTheWay(node, f"is a result itself, as large as all that would not be stored, and {why}")
        return ()

    def _after(
        self, made: set[int], stored: tuple[Value, ...], claimed: Collection[int] | None
    ) -> tuple[list[Apply], set[int]]:
        """What may be done with the results before they are written, and all else that depends on them, by id."""
        known, others = set(made), {value.id for value in stored}
        after: list[Apply] = []
        for node in self.along.graph.nodes:
            read = {value.id for value in reads(node)}
            if id(node) in self.inside or not read & (known | others):
                continue
            free = claimed is not None and id(node) not in claimed and not read & others
            if free and isinstance(node, Apply) and isinstance(node.traits.reads, Pointwise):
                axes = [set(varies(value)) for value in node.operands if value.id in known]
                plain = not node.weights and not node.traits.random and not node.traits.acts
                if plain and any(set(varies(node.out)) <= one for one in axes):
                    after.append(node)
                    known.add(node.out.id)
                    continue
            others |= {out.id for out in makes(node)}
        return after, others

    def _read_outside(self, value: Value, after: list[Apply]) -> bool:
        return value.id in self.along.index.returned or any(
            id(node) not in self.inside and node not in after for node in self.along.index.takers(value)
        )

    def _seen(self, folds: list[Fold], queries: tuple[Axis, ...]) -> Predicate | None:
        masks = [self._mask(fold) for fold in folds if fold.kind is not FoldKind.WEIGHTED]
        if masks[0] is None or any(mask is None or mask.id != masks[0].id for mask in masks):
            return None
        term = Reader(self.along.graph).term(masks[0])
        moves = any(isinstance(part, Position) and part.axis == self.axis for part in parts(term))
        rows = tiled(queries)
        return Predicate(rows, self.axis, term) if moves and rows is not None else None

    def _mask(self, fold: Fold) -> Value | None:
        """What a fold leaves out: by its mask, or by a 0 in a sum."""
        if fold.node.mask is not None or fold.kind not in (FoldKind.TOTAL, FoldKind.ROOT):
            return fold.node.mask
        found = (left_out(value, self.along.index) for value in fold.node.operands)
        return next((one[0] for one in found if one is not None), None)


_KINDS = {
    ADDED: FoldKind.TOTAL,
    AVERAGED: FoldKind.AVERAGE,
    LARGEST: FoldKind.LARGEST,
    SMALLEST: FoldKind.SMALLEST,
    SOME_TRUE: FoldKind.SOME,
    ALL_TRUE: FoldKind.EVERY,
    LOG_ADDED: FoldKind.LOGSUM,
}
