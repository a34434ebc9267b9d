"""Steps that do the same whatever has been before, for GPUs: generated PyTorch code carries this along.

Launching the kernels of a step takes longer than they do. A step that is the same work in the same memory can be
compiled once, and captured as a CUDA graph, which is one launch (Nguyen et al. 2021, "Accelerating PyTorch with CUDA
Graphs").

PyTorch gives `torch.cuda.Stream` no types: hence the ignore.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .cache import Cache, History


class FixedCache(Cache):
    """A cache with room for `room` items, filled from `held`: its tensors stay where they are, and what a step attends
    to has one size. Items that are not there yet are zeros, which the mask of a causal model leaves out; where other
    steps keep a window alone, this one keeps all. A step takes one item, at `place`, a tensor.
    """

    def __init__(self, held: Cache, room: int, device: torch.device, whole: "FixedCache | None" = None) -> None:
        super().__init__(held.configuration, held.batch, whole)
        self.room, self.next, self.trusted = room, room - 1, held.trusted
        self.place = torch.zeros(1, dtype=torch.int64, device=device) if whole is None else whole.place
        self.sizes, self.own = held.sizes, held.own
        self.once = {name: x.clone() for name, x in held.once.items()}
        self.states = {name: x.clone() for name, x in held.states.items()}
        for name, history in held.grown.items():
            fixed = self.grown[name] = History(history.dim)
            shape = list(history.kept.shape)
            fixed.size, fixed.before, shape[history.dim] = history.size, history.before, history.room(room)
            fixed.buffer, fixed.last = history.kept.new_zeros(shape), history.room(room)
        top = whole or self
        self.parts = {name: FixedCache(part, room, device, top) for name, part in held.parts.items()}
        if whole is None:
            self.fill(held)

    def fill(self, held: Cache) -> None:
        """Goes on from what `held` keeps, in the memory that is there."""
        if self.place is not None and self.whole is self:
            self.place.fill_(held.next - 1)
        for name, x in held.once.items():
            self.once[name].copy_(x)
        for name, x in held.states.items():
            self.states[name].copy_(x)
        for name, history in held.grown.items():
            buffer, count = self.grown[name].kept, history.kept.shape[history.dim]
            buffer.zero_().narrow(history.dim, history.of(held.end) - count, count).copy_(history.kept)
        for name, part in held.parts.items():
            mine = self.parts[name]
            assert isinstance(mine, FixedCache)
            mine.fill(part)

    def advance(self, count: int) -> None:
        if count != 1 or self.place is None:
            raise ValueError(f"{self.configuration.model}: a step over a fixed cache takes one item, not {count}")
        self.place += 1

    @property
    def start(self) -> int:
        return self.whole.room - 1

    @property
    def end(self) -> int:
        return self.whole.room

    @property
    def alone(self) -> bool:
        return False  # there are items to come

    def places(self, device: torch.device) -> Tensor:
        assert self.place is not None
        return self.place

    def rows(self, table: Tensor, dim: int) -> Tensor:
        assert self.place is not None
        return table.index_select(dim, self.place)

    def span(self, keep: int) -> int:
        return self.end

    def fill_up(self, x: Tensor, dim: int, size: int) -> Tensor:
        assert self.place is not None
        return x.index_select(dim, torch.arange(size, device=x.device).clamp(max=self.place[-1]))

    def extend(self, name: str, x: Tensor, dim: int, size: int | None = None) -> Tensor:
        assert self.place is not None
        return self.put(name, x, dim, self.place)

    @property
    def begins(self) -> bool:
        return False

    def put(self, name: str, x: Tensor, dim: int, places: Tensor) -> Tensor:
        return self.grown[name].kept.index_copy_(dim, places, x)

    def mask(self, name: str) -> Tensor:
        return self.once[name]  # which another may take the place of

    def resume(self, name: str, first: Tensor) -> Tensor:
        return self.states[name].clone()

    def leave(self, name: str, x: Tensor, own: int | None = None) -> None:
        self.states[name].copy_(x)


def cache_form(cache: Cache) -> object:
    """What two caches must have in common for one to be filled from the other."""
    return (
        {name: (x.shape, x.dtype) for name, x in (*cache.once.items(), *cache.states.items())},
        {name: (x.dim, x.kept.movedim(x.dim, 0).shape[1:], x.kept.dtype) for name, x in cache.grown.items()},
        {name: cache_form(part) for name, part in cache.parts.items()},
        (cache.batch, cache.sizes),
    )


class FixedStep:
    """`step` of one new item a row, over a cache of its own. On CUDA it is captured as a graph, and replayed.

    It runs without inference mode, whose tensors compilers cannot have.
    """

    def __init__(
        self, model: Any, held: Cache, room: int, items: Tensor, compiler: Callable[[Any], Any] | None
    ) -> None:
        self.weights = weight_addresses(model.net)
        self.compiler, self.form = compiler, cache_form(held)
        net, function = model.net, model.step_.__wrapped__

        def step(items: Tensor, cache: Cache, last: int) -> Any:
            return function(net, items, cache, last)

        self.step = step if compiler is None else compiler(step)
        self.graph: Any = None
        with torch.inference_mode(False), torch.no_grad():
            self.items, self.cache = items.clone(), FixedCache(held, room, items.device)
            if items.is_cuda:
                self.capture(held)

    def capture(self, held: Cache) -> None:
        """Runs a few times beforehand, as capturing wants it; what that changed is filled in anew."""
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.cache.fill(held)
                self.run()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.run()
        self.cache.fill(held)

    def run(self) -> None:
        self.scores: Tensor = self.step(self.items, self.cache, 1)

    def __call__(self, items: Tensor) -> Tensor:
        """The scores [batch, 1, vocab] behind these items [batch, 1]; the next call overwrites them."""
        with torch.inference_mode(False), torch.no_grad():
            self.items.copy_(items)
            if self.graph is None:
                self.run()
            else:
                self.graph.replay()
        return self.scores

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()  # a copy of the model makes one of its own

    def serves(self, model: Any, held: Cache, room: int, compiler: Callable[[Any], Any] | None) -> bool:
        """Whether it can be used again, filled from `held`."""
        weights = weight_addresses(model.net)
        same = self.compiler == compiler and self.weights == weights and self.form == cache_form(held)
        return same and room <= self.cache.room


def weight_addresses(net: Any) -> list[int]:
    return [x.data_ptr() for x in (*net.parameters(), *net.buffers())]


def fixed_step(model: Any, held: Cache, room: int, items: Tensor, static: Any) -> FixedStep:
    """The step that the model has from the last time, where it serves; else a new one, with some room to spare."""
    compiler = None if static is True else static
    known = model.net.__dict__.pop("_fixed_step", None)  # whoever uses it has it alone
    if isinstance(known, FixedStep) and known.serves(model, held, room, compiler):
        known.cache.fill(held)
        return known
    room, longest = -(-room // 128) * 128, model.decodes.longest
    return FixedStep(model, held, room if longest is None else min(room, longest), items, compiler)
