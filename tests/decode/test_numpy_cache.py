"""The NumPy cache and beam search that generated code carries along, by themselves: buffers, parts, early stops."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attnc.backends.numpy_decoding import Cache, History, beam_search

# -- buffers ---------------------------------------------------------------------------------------------------------

# The window (None: all is kept), how many items there will be (0: not known), and of one call after another: how many
# items come, how many are kept, how many the buffer then has room for.
ROOM: list[tuple[int | None, int, list[tuple[int, int, int]]]] = [
    (None, 0, [(3, 3, 6), (3, 6, 6), (1, 7, 14)]),
    (None, 10, [(3, 3, 10), (7, 10, 10), (1, 11, 22)]),
    (None, 4, [(3, 3, 6)]),
    (4, 0, [(1, 1, 33), (1, 2, 33), (2, 4, 33), (1, 4, 33), (28, 4, 33), (1, 4, 36)]),
    (4, 0, [(3, 3, 35), (10, 4, 35), (1, 4, 35)]),
    (4, 0, [(3, 3, 35), (100, 4, 132), (1, 4, 36)]),  # of a long prompt nothing stays
    (4, 0, [(40, 4, 72), (1, 4, 72)]),
    (4, 0, [(41, 4, 73), (1, 4, 36)]),
    (200, 0, [(150, 150, 187), (100, 200, 250), (50, 200, 250), (1, 200, 250)]),
    (200, 999, [(150, 150, 187)]),
]


@pytest.mark.parametrize("dim", [-1, -2])
@pytest.mark.parametrize(("size", "room", "calls"), ROOM)
def test_the_room_of_a_buffer(size: int | None, room: int, calls: list[tuple[int, int, int]], dim: int) -> None:
    history = History(dim)
    every = np.zeros((2, 0))
    for new, kept, length in calls:
        items = np.arange(2 * new).reshape(2, new) + 100.0 * every.shape[1]
        every = np.concatenate([every, items], 1)
        given = items if dim == -1 else items[..., None]
        found = history.extend(given, size, room)
        expected = every[:, -kept:]
        assert found.shape[dim] == kept and (found == (expected if dim == -1 else expected[..., None])).all()
        assert history.buffer is not None and history.buffer.shape[dim] == length


def cache_of_two() -> tuple[Cache, Cache]:
    """A cache with a part, after a step of three items of a batch of two."""
    cache = Cache("net", (2,))
    cache.room = 7
    cache.advance(3)
    part = cache.at("layers.0").at("self")
    part.extend("K", np.arange(12.0).reshape(2, 3, 2), -2)
    part.extend("near", np.arange(6.0).reshape(2, 3), -1, 2)
    part.leave("h", np.array([[1.0], [2.0]]))
    part.leave("count", np.array([5.0, 6.0]), rows=False)
    cache.store("memory", np.ones((2, 4)))
    return cache, part


def test_places_and_parts() -> None:
    cache, part = cache_of_two()
    assert cache.at("layers.0").at("self") is part and cache.at("layers.0") is not part
    assert (cache.start, cache.end, part.start, part.end) == (0, 3, 0, 3)
    cache.advance(2)
    assert (cache.start, cache.end, part.start, part.end) == (3, 5, 3, 5)
    assert [part.span(keep) for keep in (0, 1, 3, 4)] == [2, 3, 5, 5]
    assert part.extend("K", np.zeros((2, 2, 2)), -2).shape == (2, 5, 2)


def test_what_is_kept() -> None:
    cache, part = cache_of_two()
    shapes = {name: x.shape for name, x in cache.tensors().items()}
    assert shapes == {
        "memory": (2, 4),
        "layers.0.self.K": (2, 3, 2),
        "layers.0.self.near": (2, 2),
        "layers.0.self.h": (2, 1),
        "layers.0.self.count": (2,),
    }
    # room for 7 items of 2 rows by 2; for 3 and 32 more of 2 rows
    assert cache.nbytes == 8 * (2 * 7 * 2 + 2 * (3 + 32) + 2 + 2 + 8) and part.nbytes == cache.nbytes - 8 * 8


def test_a_state_is_a_copy() -> None:
    cache, first, state = Cache("net"), np.zeros(2), np.ones(2)
    assert cache.resume("h", first) is first
    cache.leave("h", state)
    state[:] = 7
    assert cache.resume("h", first).tolist() == [1, 1]


def test_rows_in_another_order() -> None:
    cache, part = cache_of_two()
    before = cache.tensors()
    cache.reorder(np.array([1, 1, 0]))
    after = cache.tensors()
    assert cache.batch == (3,)
    for name in ("K", "near", "h"):
        assert (after[f"layers.0.self.{name}"] == before[f"layers.0.self.{name}"][[1, 1, 0]]).all()
    assert after["layers.0.self.count"].tolist() == [5, 6]  # has no rows
    assert part.extend("K", np.zeros((3, 1, 2)), -2)[:, :3].tolist() == after["layers.0.self.K"].tolist()
    with pytest.raises(IndexError, match="net: reorder: 3 is no row of the batch"):
        cache.reorder(np.array([3, 0]))


# -- beams -----------------------------------------------------------------------------------------------------------


def made_up(seed: int, vocab: int, places: int) -> Any:
    """A model of which the scores hang on all items before: by a table, at their sum."""
    table = np.random.default_rng(seed).normal(size=(places, 7, vocab)) * 2

    def prepare() -> Cache:
        return Cache("made_up")

    def step(items: np.ndarray[Any, Any], cache: Cache, last: int) -> np.ndarray[Any, Any]:
        cache.batch = (len(items),)
        cache.advance(items.shape[1])
        sums = cache.resume("sums", np.zeros(len(items), np.int64)) + items.sum(1)
        cache.leave("sums", sums)
        steps.append(cache.end)
        return table[cache.end - 1, sums % 7][:, None]

    steps: list[int] = []
    return SimpleNamespace(
        prepare=prepare, step=step, steps=steps, table=table, decodes=SimpleNamespace(model="made_up")
    )


def searched(
    table: Any, prompt: list[int], max_new: int, beams: int, penalty: float, eos: int | None
) -> tuple[list[int], int]:
    """A plain beam search to the end, and in how many steps no further one could have mattered."""
    running: list[tuple[float, list[int]]] = [(0.0, [])]
    ended: list[tuple[float, list[int]]] = []
    needed = max_new
    for length in range(1, max_new + 1):
        found = []
        for total, made in running:
            scores = table[len(prompt) + length - 2, sum(prompt + made) % 7]
            logs = scores - math.log(sum(math.exp(score) for score in scores))
            found += [(total + log, [*made, token]) for token, log in enumerate(logs.tolist())]
        found = sorted(found, key=lambda one: -one[0])[: 2 * beams]
        ended += [(total / length**penalty, made) for total, made in found if made[-1] == eos]
        ended = sorted(ended, key=lambda one: -one[0])[:beams]
        running = [one for one in found if one[1][-1] != eos][:beams]
        best = max(running[0][0] / later**penalty for later in range(length, max_new + 1))
        if len(ended) == beams and ended[-1][0] >= best:
            needed = min(needed, length)
    ended += [(total / max_new**penalty, made) for total, made in running]
    return max(ended, key=lambda one: one[0])[1], needed


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0, 2.0, -1.0])
def test_beams_as_written_plainly(penalty: float) -> None:
    """The same result, and no step more than needed."""
    stopped = 0
    for seed in range(60):
        rolls = np.random.default_rng(1000 + seed)
        vocab, beams, max_new = int(rolls.integers(3, 6)), int(rolls.integers(2, 4)), int(rolls.integers(1, 7))
        prompt = rolls.integers(0, vocab, int(rolls.integers(1, 4))).tolist()
        eos = None if seed % 5 == 0 else int(rolls.integers(0, vocab))
        net = made_up(seed, vocab, len(prompt) + max_new)
        if eos is not None:
            net.table[..., eos] += 2 * (seed % 4)  # likelier
        found = beam_search(net, np.array(prompt), {}, max_new, beams, penalty, eos).tolist()
        expected, needed = searched(net.table, prompt, max_new, beams, penalty, eos)
        assert (found, len(net.steps)) == (expected, needed), seed
        stopped += needed < max_new
    assert stopped > 5
