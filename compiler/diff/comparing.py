"""Two graphs compared, each pair of blocks once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..graph.core.index import index_of
from ..graph.nodes import (
    Apply,
    Call,
    Constant,
    Graph,
    Input,
    Node,
    Parameter,
    Positions,
    Repeat,
    Scan,
    Weight,
    makes,
    reads,
)
from ..graph.typed_value import show_type
from ..graph.values import Type, Value
from ..sizes.axes import Axis, show_static
from .align import aligned, called
from .difference import Difference, DiffKind, DiffPart, SizeChange
from .wording import axes_text, begins, label, stored


def difference(old: Graph, new: Graph) -> Difference:
    """What `new` has otherwise than `old`."""
    comparing = _Comparing()
    says, parts = comparing.graphs(old, new)
    return Difference(old, new, tuple(_sizes(old, new)), says, parts, comparing.old_places, comparing.new_places)


def _sizes(old: Graph, new: Graph) -> Iterator[SizeChange]:
    def of(graph: Graph) -> dict[tuple[str, str], str]:
        found = {(axis.kind.value, axis.name): _size(axis) for axis in graph.axes}
        return found | {("const", const.name): _shown(const.value) for const in graph.consts}

    before, after = of(old), of(new)
    for kind, name in {**before, **after}:
        was, now = before.get((kind, name)), after.get((kind, name))
        if was != now:
            yield SizeChange(kind, name, was, now)


def _size(axis: Axis) -> str:
    if axis.extent is not None:
        return f"{axis.extent:,}"
    bound = f" <= {axis.bound:,}" if axis.bound is not None else ""
    return f"free{bound}{' ragged' if axis.ragged else ''}"


def _formula(axis: Axis) -> str:
    return _size(axis) if axis.size is None else show_static(axis.size)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "free" if value is None else f"{value:,}" if type(value) is int else str(value).lower()


Result = tuple[tuple[str, ...], tuple[DiffPart, ...]]


class _Comparing:
    """Two graphs, each pair of blocks once."""

    def __init__(self) -> None:
        self.old_places: dict[tuple[int, int], DiffKind] = {}
        self.new_places: dict[tuple[int, int], DiffKind] = {}
        self._known: dict[tuple[Graph, Graph], Result] = {}

    def graphs(self, old: Graph, new: Graph) -> Result:
        """What differs of them as a whole, and their parts."""
        if old is new:
            return (), ()
        if (old, new) not in self._known:
            self._known[old, new] = _Pair(self, old, new).compared()
        return self._known[old, new]


class _Pair:
    """One graph beside another.

    now:  of old values, by their ids, those that stand for them.
    made: who makes a value, in each of the two.
    """

    def __init__(self, comparing: _Comparing, old: Graph, new: Graph) -> None:
        self.comparing, self.old, self.new = comparing, old, new
        self.now: dict[int, Value] = {}
        self.then: set[int] = set()  # of the new values, those that stand for an old one
        self.made = index_of(old), index_of(new)

    def compared(self) -> Result:
        says = [*self._own_sizes(), *self._inputs()]
        pairs = [*aligned(self.old, self.new)]
        for before, after in pairs:
            if before is not None and after is not None:
                self._stand_for(makes(before), makes(after))
        parts = tuple(self._part(*pair) for pair in pairs)
        says += self._outputs()
        return tuple(says), parts

    def _own_sizes(self) -> Iterator[str]:
        """Of axes that a block declares itself: those of a model stand among the sizes, others are given by callers."""
        if self.new.kind != "block":
            return
        after = {axis.name: axis for axis in self.new.axes[self.new.params :]}
        for axis in self.old.axes[self.old.params :]:
            was, now = _formula(axis), _formula(after.get(axis.name, axis))
            if was != now:
                yield f"its own `{axis.name}` is {now}, was {was}"

    def _stand_for(self, old: Sequence[Value], new: Sequence[Value]) -> None:
        for before, after in zip(old, new, strict=False):
            self.now[before.id] = after
            self.then.add(after.id)

    def _inputs(self) -> Iterator[str]:
        after = {entry.name: entry for entry in self.new.inputs}
        for entry in self.old.inputs:
            other = after.pop(entry.name, None)
            if other is None:
                yield f"without the input `{entry.name}`"
                continue
            self._stand_for((entry.value,), (other.value,))
            was, now = (_type(end.value.type, self._axes(end.value.type.axes)) for end in (entry, other))
            if was != now:
                yield f"`{entry.name}` is {now}, was {was}"
            was, now = (_default(end) for end in (entry, other))
            if was != now:
                yield f"`{entry.name}` {now}, before it {was}"
        yield from (f"with an input `{name}`" for name in after)

    def _axes(self, axes: Sequence[Axis]) -> Sequence[Axis]:
        """In the order of memory, which only a model has."""
        return axes if self.new.kind == "model" else sorted(axes, key=lambda axis: axis.name)

    def _outputs(self) -> Iterator[str]:
        if len(self.old.outputs) != len(self.new.outputs):
            yield f"{_counted(len(self.new.outputs), 'result')}, was {len(self.old.outputs)}"
            return
        for before, after in zip(self.old.outputs, self.new.outputs, strict=True):
            name = f"the result `{after.name}`" if after.name else "the result"
            was, now = (_type(end.value.type, self._axes(end.axes)) for end in (before, after))
            if was != now:
                yield f"{name} is {now}, was {was}"
            elif self._reads_other(before.value, after.value):
                yield f"{name} is {self._told(after.value, 1)}, was {self._told(before.value, 0)}"
            claims = [axes_text(end.causal) for end in (before, after)]
            if claims[0] != claims[1]:
                yield f"{name} is {f'causal along {claims[1]}' if claims[1] else 'not claimed to be causal'}"

    def _part(self, old: Node | None, new: Node | None) -> DiffPart:
        if old is None or new is None:
            node = old or new
            assert node is not None
            change = DiffKind.REMOVED if new is None else DiffKind.ADDED
            self._mark(old, new, change)
            return DiffPart(change, label(node), (), (), old, new)
        if called(old) != called(new):
            self._mark(old, new, DiffKind.CHANGED)
            return DiffPart(DiffKind.CHANGED, label(new), (f"was {label(old)}",), (), old, new)
        within, parts = self._within(old, new)
        says = (*_details(old, new), *self._operands(old, new))
        if says or within:
            self._mark(old, new, DiffKind.CHANGED)
        differs = bool(says or within) or any(part.change is not DiffKind.SAME for part in parts)
        change = DiffKind.CHANGED if differs else DiffKind.SAME
        return DiffPart(change, label(new), says, parts if differs else (), old, new, within)

    def _mark(self, old: Node | None, new: Node | None, change: DiffKind) -> None:
        for graph, node, places in (
            (self.old, old, self.comparing.old_places),
            (self.new, new, self.comparing.new_places),
        ):
            for out in () if node is None else makes(node):
                places[id(graph), out.id] = change

    def _within(self, old: Node, new: Node) -> Result:
        match old, new:
            case Call() | Scan(), Call() | Scan():
                return self.comparing.graphs(old.graph, new.graph)
            case Repeat(), Repeat():
                found = [self.comparing.graphs(*pair) for pair in zip(old.bodies, new.bodies, strict=False)]
                says = list(dict.fromkeys(each for body, _ in found for each in body))
                if {*old.variant} | {*new.variant} > {0} and old.variant != new.variant:
                    says.append(f"{_counted(len(new.bodies), 'kind')} of passes in another order or number")
                return tuple(says), tuple(part for _, parts in found for part in parts)
        return (), ()

    # -- what a part reads

    def _operands(self, old: Node, new: Node) -> Iterator[str]:
        before, after = list(reads(old)), list(reads(new))
        if len(before) != len(after):
            yield f"reads {_counted(len(after), 'value')}, was {len(before)}"
            return
        if isinstance(new, Apply) and new.traits.commutes:
            wanted = [self._key(value, 1) for value in new.operands]
            for value in before[: len(wanted)]:
                if (key := self._key(value, 0)) in wanted:
                    place = wanted.index(key)
                    before.remove(value)
                    del wanted[place], after[place]
        for was, now in zip(before, after, strict=True):
            if self._reads_other(was, now):
                yield f"reads {self._told(now, 1)}, was {self._told(was, 0)}"

    def _reads_other(self, was: Value, now: Value) -> bool:
        """Whether another of the values that both have stands here: what came or went is said where it did."""
        if self._key(was, 0) == self._key(now, 1):
            return False
        gone = was.id not in self.now and not self._number(was, 0)
        come = now.id not in self.then and not self._number(now, 1)
        return not (gone or come)

    def _key(self, value: Value, side: int) -> object:
        """What a value is, in terms of the new graph where it is there."""
        if number := self._number(value, side):
            return number
        if side:
            return value.id
        return self.now[value.id].id if value.id in self.now else ("gone", value.id)

    def _number(self, value: Value, side: int) -> str:
        """What is known when a model is built, and places; "" for all else."""
        match self.made[side].maker(value):
            case Constant(value=static):
                return show_static(static)
            case Positions(axis=axis):
                return f"the places along {axis.name}"
        return ""

    def _told(self, value: Value, side: int) -> str:
        if number := self._number(value, side):
            return number
        maker = self.made[side].maker(value)
        if value.name or maker is None:
            return f"`{value.name}`"
        return f"what `{label(maker)}` makes"


def _details(old: Node, new: Node) -> Iterator[str]:
    """What differs of two parts themselves."""
    match old, new:
        case Apply(), Apply():
            slots = ("over", old.axes, new.axes), ("to", old.made, new.made), ("for each", old.each, new.each)
            for word, *axes in slots:
                was, now = map(axes_text, axes)
                if was != now:
                    yield f"{word} {now or 'nothing'}, was {was or 'nothing'}"
            if (old.mask is None) != (new.mask is None):
                yield "under a mask" if new.mask is not None else "under no mask"
            yield from _options(old, new)
            yield from _weights(old.weights, new.weights)
        case Parameter(), Parameter():
            if stored(old.weight) != stored(new.weight):
                yield f"{stored(new.weight)}, was {stored(old.weight)}"
            yield from _weights((old.weight,), (new.weight,))
        case Call() | Scan(), Call() | Scan():
            stand = [{inner.name: outer.name for inner, outer in node.axes} for node in (old, new)]
            for name in {**stand[0], **stand[1]}:
                one, other = (known.get(name) for known in stand)
                if one is not None and other is not None and one != other:
                    yield f"its `{name}` is {other}, was {one}"
            given = [{const.name: show_static(value) for const, value in node.consts} for node in (old, new)]
            for name in {**given[0], **given[1]}:
                if given[0].get(name) != given[1].get(name):
                    yield f"{name} = {given[1].get(name, 'not there')}, was {given[0].get(name, 'not there')}"
        case Repeat(), Repeat():
            was, now = show_static(old.count), show_static(new.count)
            if was != now:
                yield f"{now} times, was {was}"
            if old.shared != new.shared:
                yield "of shared weights" if new.shared else "each pass of its own weights"


def _options(old: Apply, new: Apply) -> Iterator[str]:
    was, now = ({name: show_static(value) for name, value in node.options.items()} for node in (old, new))
    for name in {**was, **now}:
        if was.get(name) != now.get(name):
            yield f"{name} = {now.get(name, 'as usual')}, was {was.get(name, 'as usual')}"


def _weights(old: Sequence[Weight], new: Sequence[Weight]) -> Iterator[str]:
    was, now = ({weight.name: weight for weight in weights} for weights in (old, new))
    for name in {**was, **now}:
        if name not in now or name not in was:
            yield f"{'with' if name in now else 'without'} the weight `{name}`"
        elif begins(was[name]) != begins(now[name]):
            yield f"`{name}` is {begins(now[name])}, was {begins(was[name])}"


def _type(of: Type, axes: Sequence[Axis]) -> str:
    return show_type(Type(of.element, tuple(axes)))


def _default(of: Input) -> str:
    return "must be given" if of.default is None else f"is {show_static(of.default)} where it is not given"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
