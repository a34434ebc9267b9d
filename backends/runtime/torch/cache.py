"""The cache of decoding in generated PyTorch code.

../numpy/decoding.py has its twins: generated code holds those of one backend alone, where a common base would stand
for nothing.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..common.decoding import Configuration, reordered
from .maps import joined_maps, map_each, parts_of, split_heads
from .ops import is_traced


class History:
    """The items of one value so far, or the last of them, along one dimension of a buffer with room for more."""

    def __init__(self, dim: int) -> None:
        self.dim, self.first, self.last = dim, 0, 0
        self.buffer: Tensor | None = None

    def extend(self, x: Tensor, size: int | None, room: int) -> Tensor:
        """The kept items and those of x behind them, at most the last `size`: what is before these is forgotten."""
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
