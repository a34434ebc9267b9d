"""The cache of decoding in generated PyTorch code.

../numpy/decoding.py has its twins: generated code holds those of one backend alone, where a common base would stand
for nothing.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..common.decoding import Configuration, reordered
from .maps import joined_maps, map_each, parts_of, split_heads
from .ops import concat, is_traced


class History:
    """The items of one value so far, or the last of them, along one dimension of a buffer with room for more."""

    def __init__(self, dim: int) -> None:
        self.dim, self.first, self.last = dim, 0, 0
        self.size, self.before = 1, 0  # one is made of how many items of time, behind how many others: see Along
        self.buffer: Tensor | None = None

    def of(self, items: int) -> int:
        """How many there are of so many items of time."""
        return -(-(items + self.before) // self.size)

    def room(self, items: int) -> int:
        """How many must have room: a step of places that are not known may make one chunk more than it needs."""
        return self.of(items) + (self.size > 1)

    def extend(self, x: Tensor, size: int | None, room: int, again: int = 0) -> Tensor:
        """The kept items and those of x behind them, at most the last `size`: what is before these is forgotten.

        again: so many of the kept ones are in x anew.
        """
        self.last -= again
        dim, buffer, new = self.dim, self.buffer, x.size(self.dim)
        if size is not None:
            self.first = max(self.first, self.last + new - size)
        free = 0 if buffer is None else buffer.size(dim)
        if buffer is None or self.last + new > free or (size is not None and free > 2 * (size + 32)):
            buffer = self._move(x, self.last + new - self.first, size, room)
        first, last = self.first, self.last
        self.last = last + new
        buffer.narrow(dim, last, new).copy_(x)
        return buffer.narrow(dim, first, last + new - first)

    def _move(self, x: Tensor, used: int, size: int | None, room: int) -> Tensor:
        """To the front of a new buffer: of a window a little longer than it, else twice as long as now."""
        shape = list(x.shape)
        first = min(self.first, self.last)
        begun = max(used, x.shape[self.dim])
        shape[self.dim] = begun + max(32, used // 4) if size is not None else max(room, 2 * used)
        fresh = x.new_empty(shape)
        if self.buffer is not None and self.last > first:
            fresh.narrow(self.dim, 0, self.last - first).copy_(self.kept)
        self.buffer, self.first, self.last = fresh, self.first - first, self.last - first
        return fresh

    @property
    def kept(self) -> Tensor:
        assert self.buffer is not None
        first = min(self.first, self.last)
        return self.buffer.narrow(self.dim, first, self.last - first)


class Cache:
    """What decoding keeps from one step to the next, a part for each block: `cache.at("layers.0").at("self")`.

    The step at hand treats the items `start` to `end - 1`. `room` is how many there will be, where that is known;
    `batch` the extents of the batch axes, known from the first input on.
    """

    put: Callable[[str, Tensor, int, Tensor], Tensor]  # the items of x at these places; of one with room for all alone

    def __init__(
        self, configuration: Configuration, batch: tuple[int, ...] | None = None, whole: "Cache | None" = None
    ) -> None:
        self.configuration, self.batch, self.whole = configuration, batch, whole or self
        self.room, self.first, self.next = 0, 0, 0
        self.sizes: dict[str, int] = {}  # of widths that no step changes
        self.parts: dict[str, Cache] = {}
        self.grown: dict[str, History] = {}
        self.states: dict[str, Tensor] = {}
        self.own: dict[str, int] = {}  # of what has the batch: how many dimensions stand behind it
        self.once: dict[str, Tensor] = {}
        self.hides: dict[str, bool] = {}  # of what is kept as a mask: whether it hides anything
        self.tables: dict[str, tuple[Tensor, int]] = {}  # of what is made of places, each with the dimension of these
        self.reach = 1
        self.trusted = False  # whether what steps are given has been looked at
        self.prefixed = False  # whether a prefix came with the first step
        self.parts_known: tuple[Any, Any] = None, None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"parts_known": (None, None)}  # which hold weights

    def parts_of(self, net: Any) -> Any:
        """The model with its parts as plain attributes, as it was at the first step."""
        known, found = self.parts_known
        if known is not net:
            found = parts_of(net)
            self.parts_known = (net, found) if found is not net else (None, None)
        return found

    def advance(self, count: int) -> None:
        """Begins a step of so many items."""
        self.first, self.next = self.next, self.next + count

    @property
    def start(self) -> int:
        return self.whole.first

    @property
    def end(self) -> int:
        return self.whole.next

    def at(self, name: str) -> "Cache":
        """The part of a block."""
        part = self.parts.get(name)
        if part is None:
            part = self.parts[name] = Cache(self.configuration, whole=self.whole)
        return part

    @property
    def alone(self) -> bool:
        """Whether there is one new item, and all that is kept came before it."""
        return self.whole.next == self.whole.first + 1

    place: Tensor | None = None  # of the new item, where it is a tensor: see FixedCache

    def places(self, device: torch.device) -> Tensor:
        """Where the new items stand in the whole sequence."""
        return torch.arange(self.start, self.end, device=device)

    def past(self, device: torch.device, span: int | None = None) -> Tensor:
        """Where all items so far stand, the new ones too, or the last `span` of them."""
        return torch.arange(0 if span is None else self.end - span, self.end, device=device)

    def lacks(self, name: str) -> bool:
        """Whether a table of places must be made, for those of `ahead`: it is not there, or ends too soon."""
        if self.place is not None:
            return True
        table, dim = self.tables.get(name, (None, 0))
        if table is not None and table.size(dim) >= self.end:
            return False
        self.reach = max(self.whole.room, 2 * self.end)
        return True

    def ahead(self, device: torch.device) -> Tensor:
        """The places that a table is made for: more than are asked for now."""
        return torch.arange(self.reach, device=device) if self.place is None else self.place

    def tabulate(self, name: str, table: Tensor, dim: int) -> None:
        self.tables[name] = table, dim

    def entries(self, name: str) -> Tensor:
        """What a table says of the new items."""
        if self.place is not None:  # it was made for these alone
            return self.tables.pop(name)[0]
        table, dim = self.tables[name]
        return self.rows(table, dim)

    def rows(self, table: Tensor, dim: int) -> Tensor:
        """What a table over all places says of the new items."""
        return table.narrow(dim, self.start, self.end - self.start)

    def span(self, keep: int) -> int:
        """How many items reach back to `keep` before the new ones."""
        return min(self.end, keep + self.end - self.start)

    def filled(self, step: int, least: int = 0) -> int:
        """How many items the next length has that the model takes: `least` and some times `step` more."""
        end = max(self.end, least)
        return end + (least - end) % step

    def fill_up(self, x: Tensor, dim: int, size: int) -> Tensor:
        """All items so far, and so many copies of the last one behind them that they are `size`."""
        end = x.shape[dim]
        return x if size == end else x.index_select(dim, torch.arange(size, device=x.device).clamp(max=end - 1))

    def extend(self, name: str, x: Tensor, dim: int, size: int | None = None) -> Tensor:
        """The items of x behind the earlier ones along `dim`, counted from the right; at most the last `size`."""
        history = self.grown.get(name)
        if history is None:
            history = self.grown[name] = History(dim)
        return history.extend(x, size, self.whole.room)

    @property
    def begins(self) -> bool:
        """Whether no step has been yet."""
        return self.whole.first == 0

    def maps(self, x: Tensor, *parts: Any) -> tuple[Tensor, ...]:
        """x through several learned maps: of few rows as one product, where their weights lie side by side."""
        to = joined_maps(x, parts)
        if to is None:
            return tuple(map_each(x, part) for part in parts)
        return F.linear(x, to.weight, to.bias).split_with_sizes(to.sizes, -1)

    def heads(self, x: Tensor, depth: int, *parts: Any) -> tuple[Tensor, ...]:
        """As `maps`, of x [..., items, model]: each result as [..., heads, items, depth]."""
        to = joined_maps(x, parts)
        if to is None:
            return tuple(split_heads(map_each(x, part), depth) for part in parts)
        y = split_heads(F.linear(x, to.weight, to.bias), depth)
        return y.split_with_sizes([size // depth for size in to.sizes], -3)

    def store(self, name: str, x: Tensor, own: int | None = None) -> None:
        """Keeps what no step changes; `own`: it may have the batch, in front of so many dimensions."""
        self.once[name] = x
        if own is not None:
            self.own[name] = own

    def __getitem__(self, name: str) -> Tensor:
        return self.once[name]

    def mask(self, name: str) -> Tensor | None:
        """What is kept as a mask of attention; None where it hides nothing.

        It is looked at once: on a GPU, or where PyTorch traces, not at all.
        """
        mask = self.once[name]
        if name not in self.hides:
            self.hides[name] = is_traced() or not mask.is_cpu or not bool(mask.all())
        return mask if self.hides[name] else None

    def resume(self, name: str, first: Tensor) -> Tensor:
        """What the last step left, or what the first one begins with."""
        return self.states.get(name, first)

    def leave(self, name: str, x: Tensor, own: int | None = None) -> None:
        """What the next step goes on from; `own` as for `store`."""
        self.states[name] = x.clone()
        if own is not None:
            self.own[name] = own

    def tensors(self) -> dict[str, Tensor]:
        """Everything that is kept, by its path."""
        found = {name: held.kept for name, held in self.grown.items()} | self.states | self.once
        for part, cache in self.parts.items():
            found |= {f"{part}.{name}": x for name, x in cache.tensors().items()}
        return found

    @property
    def nbytes(self) -> int:
        """The bytes that it takes, with the room left for later items."""
        held = [h.buffer for h in self.grown.values() if h.buffer is not None]
        own = sum(x.numel() * x.element_size() for x in (*held, *self.states.values(), *self.once.values()))
        return own + sum(part.nbytes for part in self.parts.values())

    def reorder(self, rows: Tensor) -> None:
        """Puts row `rows[i]` of the batch, the first dimension, in the place of row i."""
        batch = self.batch or ()
        self.batch = reordered(self.configuration.model, self.batch, rows)
        self._reorder(rows, batch)

    def _reorder(self, rows: Tensor, batch: tuple[int, ...]) -> None:
        for held in self.grown.values():
            held.buffer, held.first, held.last = held.kept[rows], 0, held.kept.shape[held.dim]
        for kept in (self.states, self.once):
            for name in kept.keys() & self.own.keys():
                x = kept[name]
                if x.ndim >= len(batch) + self.own[name] and x.shape[0] == batch[0]:
                    kept[name] = x[rows]
        for part in self.parts.values():
            part._reorder(rows, batch)


class Along:
    """Which items a step has along an axis that follows from time: each is made of `size` items of that, and `before`
    others stand in front of the first one. The step has those that its new items of time are in, `start` to `end - 1`:
    of chunks the last one may still be open, which the next step makes anew; a prefix is there at the first step.

    In a cache with room for all items it is known only how many these are, and `place` says where they stand.
    """

    def __init__(self, cache: Cache, size: int = 1, before: int = 0, of: "Along | None" = None) -> None:
        self.cache, self.size, self.before = cache, size, before
        # What is in chunks, or behind the prefix.
        self.whole = of or (Along(cache, before=before) if size > 1 and before else cache)
        self.step = size if of is None else size // of.size

    def chunks(self, size: int) -> "Along":
        """Of what stands along this axis chunks of so many."""
        return Along(self.cache, self.size * size, self.before, self)

    @property
    def start(self) -> int:
        return 0 if self.cache.begins else (self.cache.start + self.before) // self.size

    @property
    def end(self) -> int:
        """How many there are so far, or have room."""
        spare = self.cache.place is not None and self.size > 1  # see History.room
        return -(-(self.cache.end + self.before) // self.size) + spare

    @property
    def count(self) -> int:
        """How many a step has; where places are not known, as many as there can be."""
        if self.cache.place is None:
            return self.end - self.start
        if self.size == 1:
            return self.cache.place.shape[0] + (self.before if self.cache.begins else 0)
        new = self.whole.count if isinstance(self.whole, Along) else self.cache.place.shape[0]
        known = isinstance(new, int)  # else it is traced, and never 1, which would be another program
        return (new + self.step - 2) // self.step + 1 if known else (new - 1) // self.step + 2

    @property
    def place(self) -> Tensor | None:
        """Where they stand, where it is a tensor."""
        first = self.whole.place
        if first is None:
            return None
        if self.size > 1:
            return first[:1] // self.step + torch.arange(self.count, device=first.device)
        return torch.arange(self.count, device=first.device) if self.cache.begins else first + self.before

    def places(self, device: torch.device) -> Tensor:
        place = self.place
        return torch.arange(self.start, self.end, device=device) if place is None else place

    def past(self, device: torch.device, span: int | None = None) -> Tensor:
        """Where all that there are so far stand, or the last `span` of them."""
        return torch.arange(0 if span is None else self.end - span, self.end, device=device)

    def span(self, keep: int) -> int:
        """How many reach back to `keep` before those of this step."""
        return self.end if self.cache.place is not None else min(self.end, keep + self.count)

    def rows(self, table: Tensor, dim: int) -> Tensor:
        """What a table over all places says of those of this step."""
        return table.index_select(dim, self.places(table.device).clamp(max=table.shape[dim] - 1))

    def extend(self, name: str, x: Tensor, dim: int, size: int | None = None) -> Tensor:
        """Those of this step behind the earlier ones, in the place of one that was open; at most the last `size`."""
        place, cache = self.place, self.cache
        if place is not None:
            return cache.put(name, x, dim, place)
        history = cache.grown.get(name)
        if history is None:
            history = cache.grown[name] = History(dim)
            history.size, history.before = self.size, self.before
        again = 0 if cache.begins else history.of(cache.start) - self.start
        return history.extend(x, size, history.of(cache.whole.room), again)

    def fill_up(self, x: Tensor, dim: int, size: int) -> Tensor:
        """All so far, and so many copies of the last one behind them that they are `size`."""
        end, place = x.shape[dim], self.place
        last = torch.arange(size, device=x.device).clamp(max=end - 1 if place is None else place[-1])
        return x if size == end else x.index_select(dim, last)

    def begin(self, parts: list[Tensor], dim: int) -> Tensor:
        """The new items, the last one of `parts`, at the first step behind the prefix."""
        if not self.cache.begins:
            return parts[-1]
        self.cache.whole.prefixed = True
        return concat(parts, dim)

    # -- chunks and what is in them --------------------------------------------------------------------------------

    @property
    def first(self) -> int:
        """The place of the first item of the chunks of this step."""
        return self.start * self.step

    @property
    def items(self) -> int:
        """How many items these chunks have."""
        return self.count * self.step

    def item_places(self, device: torch.device) -> Tensor:
        place = self.place
        start = self.first if place is None else place[:1] * self.step
        return start + torch.arange(self.items, device=device)

    def inside(self, index: Tensor) -> Tensor:
        """Places in the whole sequence as places among these items."""
        place = self.place
        return index - (self.first if place is None else place[:1] * self.step)

    def item_rows(self, table: Tensor, dim: int) -> Tensor:
        """What a table over all places says of these items."""
        return table.index_select(dim, self.item_places(table.device).clamp(max=table.shape[dim] - 1))

    def open(self, x: Tensor, dim: int) -> Tensor:
        """Of the items so far, or the last of them, those in these chunks; copies of the last one fill up."""
        last = self.whole.place
        if last is not None:
            return x.index_select(dim, self.item_places(x.device).clamp(max=last[-1]))
        begin = x.shape[dim] - (self.whole.end - self.first)
        places = torch.arange(begin, begin + self.items, device=x.device)
        return x.index_select(dim, places.clamp(max=x.shape[dim] - 1))

    def new(self, x: Tensor, dim: int) -> Tensor:
        """Of the items in the chunks of this step, or of the prefix and those behind it, the new ones."""
        if self.size == 1:
            count = self.cache.end - self.cache.start if self.cache.place is None else self.cache.place.shape[0]
            return x.narrow(dim, self.count - count, count)
        place, mine = self.whole.place, self.place
        if place is not None and mine is not None:
            return x.index_select(dim, place - mine[:1] * self.step)
        return x.narrow(dim, self.whole.start - self.first, self.whole.end - self.whole.start)

    def resume(self, name: str, first: Tensor) -> Tensor:
        """What the last chunk that is over left, or what the first one begins with."""
        place = self.place
        if place is None:
            return first if self.start == 0 else self.cache.states[name]
        return torch.where(place[0] == 0, first, self.cache.states[name])

    def leave(self, name: str, x: Tensor, dim: int, own: int | None = None) -> None:
        """What the next step goes on from: of x, after each chunk, what is there after the last one that is over."""
        place, cache = self.place, self.cache
        if place is not None and cache.place is not None:
            over = (cache.place[-1:] + 1 + self.before) // self.size - place[:1]
            left = x.index_select(dim, (over - 1).clamp(min=0)).squeeze(dim)
            cache.leave(name, torch.where(over > 0, left, cache.states[name]), own)
            return
        count = (cache.end + self.before) // self.size - self.start
        if count > 0 or name not in cache.states:
            cache.leave(name, x.select(dim, max(count - 1, 0)), own)
