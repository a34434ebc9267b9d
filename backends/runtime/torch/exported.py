"""Decoding as programs of `torch.export`: tensors in, tensors out, for ONNX and other runtimes.

Two programs are enough, whatever has been before. Rooms for all items are made at first; a step puts its items, one or
many, where they stand, as the steps of ./fixed do; but it changes nothing in place: it gives the cache that comes after
it. What is not there yet are zeros, which the mask of a causal model leaves out.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from .cache import Cache
from .decoding import unwrapped

Kept = dict[str, Tensor]


class TracedCache(Cache):
    """A cache whose tensors are those given: of items `kept`, with the states; and of what is made `once`."""

    def __init__(
        self, like: Cache, room: int, count: Tensor, kept: Kept, once: Kept, whole: "TracedCache | None" = None,
        path: str = "", begun: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(like.configuration, like.batch, whole)
        self.begun = begun
        self.room, self.trusted, self.sizes, self.own = room, True, like.sizes, like.own
        self.count, self.before = count, count
        self.places_now = count
        self.rooms = {name: kept[path + name] for name in like.grown}
        self.states = {name: kept[path + name] for name in like.states}
        self.once = {name: once[path + name] for name in like.once}
        self.parts = {
            name: TracedCache(part, room, count, kept, once, self.top, f"{path}{name}.")
            for name, part in like.parts.items()
        }

    @property
    def top(self) -> "TracedCache":
        assert isinstance(self.whole, TracedCache)
        return self.whole

    def advance(self, count: int) -> None:
        self.before, self.count = self.count, self.count + count
        self.places_now = self.before + torch.arange(count, device=self.count.device)

    # Elsewhere an attribute that is changed in place, which no program of torch.export does: so the whole is asked.
    @property
    def place(self) -> Tensor:  # type: ignore[override]
        return self.top.places_now

    @property
    def alone(self) -> bool:
        return False

    @property
    def start(self) -> int:
        return self.top.room - 1

    @property
    def end(self) -> int:
        return self.top.room

    def places(self, device: torch.device) -> Tensor:
        return self.place

    def rows(self, table: Tensor, dim: int) -> Tensor:
        return table.index_select(dim, self.place)

    def span(self, keep: int) -> int:
        return self.end

    def fill_up(self, x: Tensor, dim: int, size: int) -> Tensor:
        return x.index_select(dim, torch.arange(size, device=x.device).clamp(max=self.place[-1]))

    def extend(self, name: str, x: Tensor, dim: int, size: int | None = None) -> Tensor:
        return self.put(name, x, dim, self.place)

    @property
    def begins(self) -> bool:
        """Whether the prefix is made: by a step of no items, before all others."""
        return not self.top.begun

    def put(self, name: str, x: Tensor, dim: int, places: Tensor) -> Tensor:
        self.rooms[name] = self.rooms[name].index_copy(dim, places, x)
        return self.rooms[name]

    def mask(self, name: str) -> Tensor:
        return self.once[name]

    def resume(self, name: str, first: Tensor) -> Tensor:
        return torch.where(self.top.before == 0, first, self.states[name])

    def leave(self, name: str, x: Tensor, own: int | None = None) -> None:
        self.states[name] = x.expand_as(self.states[name]).contiguous()  # as the step after it was told

    def kept(self, path: str = "") -> Kept:
        """What the next step needs, by its path."""
        found = {path + name: x for name, x in (*self.rooms.items(), *self.states.items())}
        for name, part in self.parts.items():
            assert isinstance(part, TracedCache)
            found |= part.kept(f"{path}{name}.")
        return found


def kept_of(cache: Cache, room: int, path: str = "") -> Iterator[tuple[str, Tensor, list[int], bool]]:
    """Of all that steps change: its path, what it is like, its shape with room for all items, if it has a batch."""
    batch = cache.whole.batch or ()
    for name, history in cache.grown.items():
        shape = list(history.kept.shape)
        shape[history.dim] = history.room(room)
        yield path + name, history.kept, shape, bool(batch)
    for name, x in cache.states.items():
        has = name in cache.own and x.dim() >= len(batch) + cache.own[name] and bool(batch) and x.shape[0] == batch[0]
        yield path + name, x, list(x.shape), has
    for name, part in cache.parts.items():
        yield from kept_of(part, room, f"{path}{name}.")


def once_of(cache: Cache, path: str = "") -> Kept:
    found = {path + name: x for name, x in cache.once.items()}
    for name, part in cache.parts.items():
        found |= once_of(part, f"{path}{name}.")
    return found


class PrepareProgram(nn.Module):
    """forward(items, inputs) -> once, count, kept: what no step changes, and rooms for `room` items of each row."""

    def __init__(
        self, net: nn.Module, prepare: Callable[..., Cache], step: Callable[..., Tensor], like: Cache, room: int
    ) -> None:
        super().__init__()
        self.net, self.prepare, self.step, self.like, self.room = net, prepare, step, like, room
        self.train(net.training)

    def forward(self, items: Tensor, inputs: Kept) -> tuple[Kept, Tensor, Kept]:
        kept = {}
        for path, x, shape, has_batch in kept_of(self.like, self.room):
            kept[path] = x.new_zeros([items.shape[0], *shape[1:]] if has_batch else shape)
        count = items.new_zeros(1, dtype=torch.int64)
        once = {path: x.clone() for path, x in once_of(self.prepare(self.net, **inputs)).items()}  # no input, in ONNX
        if self.like.prefixed:
            cache = TracedCache(self.like, self.room, count, kept, once, begun=False)
            self.step(self.net, items[:, :0], cache, 1)
            kept = cache.kept()
        return once, count, kept


class StepProgram(nn.Module):
    """forward(items, once, count, kept) -> scores of the last of these items, count, kept."""

    def __init__(self, net: nn.Module, step: Callable[..., Tensor], like: Cache, room: int) -> None:
        super().__init__()
        self.net, self.step, self.like, self.room = net, step, like, room
        self.train(net.training)

    def forward(self, items: Tensor, once: Kept, count: Tensor, kept: Kept) -> tuple[Tensor, Tensor, Kept]:
        cache = TracedCache(self.like, self.room, count, kept, once)
        scores = self.step(self.net, items, cache, 1)
        return scores, cache.count, cache.kept()


def exported(
    net: Any,
    prepare: Callable[..., Cache],
    step: Callable[..., Tensor],
    items: Tensor,
    room: int,
    inputs: Kept,
) -> tuple[torch.export.ExportedProgram, torch.export.ExportedProgram]:
    """`prepare` and `step` of a model as programs, for rows of up to `room` items.

    items [batch, ..], inputs: an example, which tells the forms. What has the size 1 in it keeps it; another batch,
    number of items and length may be given later. One cache has the items of its rows; nothing looks whether they fit.

        once, count, kept = prepare(items, inputs)               # of `items` the batch alone
        scores, count, kept = step(items, once, count, kept)     # of the last item; then with the next ones
    """
    prepare, step = unwrapped(prepare), unwrapped(step)  # no program can have tensors of inference mode
    with torch.no_grad():
        like = prepare(net, **inputs)
        step(net, items, like, 1)
        first, later = PrepareProgram(net, prepare, step, like, room), StepProgram(net, step, like, room)
        once, count, kept = first(items, inputs)
        rows = {path: free(x, int(has_batch)) for path, x, _, has_batch in kept_of(like, room)}
        given, made = ({name: free(x) for name, x in found.items()} for found in (inputs, once))
        shapes: tuple[tuple[Any, ...], tuple[Any, ...]] = (free(items), given), (free(items), made, {}, rows)
        return (
            torch.export.export(first, (items, inputs), dynamic_shapes=shapes[0], strict=False),
            torch.export.export(later, (items, once, count, kept), dynamic_shapes=shapes[1], strict=False),
        )


def free(x: Tensor, dims: int | None = None) -> dict[int, Any]:
    """That the first `dims` dimensions (all) may have another size, but for those of size 1."""
    return {dim: torch.export.Dim.AUTO for dim, size in enumerate(x.shape[:dims]) if size > 1}
