"""The caches and beam searches that generated code carries along, by themselves: buffers, parts, early stops."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from attnc.backends.runtime.common.decoding import Configuration
from attnc.backends.runtime.numpy import decoding as numpy_decoding
from attnc.backends.runtime.torch import cache as torch_cache
from attnc.backends.runtime.torch import decoding as torch_decoding

NET = Configuration("net", "", {}, "x", "t", None)

# Of each library: its cache, its beam search, and an array of it.
LIBRARIES: dict[str, tuple[Any, Any, Any]] = {
    "numpy": (numpy_decoding, numpy_decoding.beam_search, np.asarray),
    "torch": (torch_cache, torch_decoding.beam_search, torch.as_tensor),
}
both = pytest.mark.parametrize("library", LIBRARIES)

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


@both
@pytest.mark.parametrize("dim", [-1, -2])
@pytest.mark.parametrize(("size", "room", "calls"), ROOM)
def test_the_room_of_a_buffer(
    size: int | None, room: int, calls: list[tuple[int, int, int]], dim: int, library: str
) -> None:
    module, _, array = LIBRARIES[library]
    history = module.History(dim)
    every = np.zeros((2, 0))
    for new, kept, length in calls:
        items = np.arange(2 * new).reshape(2, new) + 100.0 * every.shape[1]
        every = np.concatenate([every, items], 1)
        given = items if dim == -1 else items[..., None]
        found = np.asarray(history.extend(array(given), size, room))
        expected = every[:, -kept:]
        assert found.shape[dim] == kept and (found == (expected if dim == -1 else expected[..., None])).all()
        assert history.buffer is not None and history.buffer.shape[dim] == length


def cache_of_two(library: str) -> tuple[Any, Any]:
    """A cache with a part, after a step of three items of a batch of two."""
    module, _, array = LIBRARIES[library]
    cache = module.Cache(NET, (2,))
    cache.room = 7
    cache.advance(3)
    part = cache.at("layers.0").at("self")
    part.extend("K", array(np.arange(12.0).reshape(2, 3, 2)), -2)
    part.extend("near", array(np.arange(6.0).reshape(2, 3)), -1, 2)
    part.leave("h", array(np.array([[1.0], [2.0]])), own=1)
    part.leave("count", array(np.array([5.0, 6.0])))
    cache.store("memory", array(np.arange(8.0).reshape(2, 4)), own=1)
    cache.store("table", array(np.ones((2, 3))))
    return cache, part


@both
def test_places_and_parts(library: str) -> None:
    cache, part = cache_of_two(library)
    assert cache.at("layers.0").at("self") is part and cache.at("layers.0") is not part
    assert (cache.start, cache.end, part.start, part.end) == (0, 3, 0, 3)
    cache.advance(2)
    assert (cache.start, cache.end, part.start, part.end) == (3, 5, 3, 5)
    assert [part.span(keep) for keep in (0, 1, 3, 4)] == [2, 3, 5, 5]
    assert part.extend("K", LIBRARIES[library][2](np.zeros((2, 2, 2))), -2).shape == (2, 5, 2)
    assert cache["memory"] is cache["memory"] and cache["memory"].shape == (2, 4)


def test_where_the_new_items_stand() -> None:
    cache = torch_cache.Cache(NET)
    cache.advance(3)
    cache.advance(2)
    part, table = cache.at("layers.0"), torch.arange(14).reshape(2, 7)
    assert part.place is None and part.places(torch.device("cpu")).tolist() == [3, 4]
    assert part.rows(table, -1).tolist() == [[3, 4], [10, 11]] and part.rows(table.T, -2).tolist() == [[3, 10], [4, 11]]


@both
def test_what_is_kept(library: str) -> None:
    cache, part = cache_of_two(library)
    shapes = {name: x.shape for name, x in cache.tensors().items()}
    assert shapes == {
        "memory": (2, 4),
        "table": (2, 3),
        "layers.0.self.K": (2, 3, 2),
        "layers.0.self.near": (2, 2),
        "layers.0.self.h": (2, 1),
        "layers.0.self.count": (2,),
    }
    # room for 7 items of 2 rows by 2; for 3 and 32 more of 2 rows
    assert cache.nbytes == 8 * (2 * 7 * 2 + 2 * (3 + 32) + 2 + 2 + 8 + 6) and part.nbytes == cache.nbytes - 8 * 14


@both
def test_a_state_is_a_copy(library: str) -> None:
    module, _, array = LIBRARIES[library]
    cache, first, state = module.Cache(NET), array(np.zeros(2)), array(np.ones(2))
    assert cache.resume("h", first) is first
    cache.leave("h", state)
    state[:] = 7
    assert cache.resume("h", first).tolist() == [1, 1]


@both
def test_rows_in_another_order(library: str) -> None:
    cache, part = cache_of_two(library)
    before = cache.tensors()
    array = LIBRARIES[library][2]
    cache.reorder(array(np.array([1, 1, 0])))
    after = cache.tensors()
    assert cache.batch == (3,)
    for name in ("K", "near", "h"):
        assert (after[f"layers.0.self.{name}"] == before[f"layers.0.self.{name}"][[1, 1, 0]]).all()
    assert (after["memory"] == before["memory"][[1, 1, 0]]).all()
    assert after["layers.0.self.count"].tolist() == [5, 6] and after["table"].shape == (2, 3)  # have no rows
    assert part.extend("K", array(np.zeros((3, 1, 2))), -2)[:, :3].tolist() == after["layers.0.self.K"].tolist()
    assert part.extend("near", array(np.zeros((3, 1))), -1, 9)[:, :2].tolist() == after["layers.0.self.near"].tolist()
    with pytest.raises(IndexError, match="net: reorder: 3 is no row of the batch"):
        cache.reorder(array(np.array([3, 0])))


@both
def test_what_may_have_the_batch_and_has_not_stays(library: str) -> None:
    module, _, array = LIBRARIES[library]
    cache, several = module.Cache(NET, (2,)), module.Cache(NET, (2, 3))
    rows = array(np.array([1, 1]))
    for name, shape, batch, own, moves in (
        ("all", (2, 5), cache, 1, True), ("one for all", (1, 5), cache, 1, False), ("without", (2,), cache, 1, False),
        ("a number", (2,), cache, 0, True), ("behind", (2, 3, 5), several, 1, True),
        ("lifted", (2, 3, 4, 5), several, 1, True), ("of the second", (2, 5), several, 1, False),
    ):  # fmt: skip
        x = np.arange(math.prod(shape)).reshape(shape)
        batch.store(name, array(x), own)
        batch.at("layer").leave(name, array(x), own)
        batch.reorder(rows)
        wanted = x[[1, 1]] if moves else x
        assert batch[name].tolist() == batch.at("layer").states[name].tolist() == wanted.tolist(), name


# -- beams -----------------------------------------------------------------------------------------------------------


def made_up(seed: int, vocab: int, places: int, library: str = "numpy") -> Any:
    """A model of which the scores hang on all items before: by a table, at their sum."""
    table = np.random.default_rng(seed).normal(size=(places, 7, vocab)) * 2
    module, _, array = LIBRARIES[library]

    def prepare() -> Any:
        return module.Cache(NET)

    def step(items: Any, cache: Any, last: int) -> Any:
        cache.batch = (len(items),)
        cache.advance(items.shape[1])
        sums = cache.resume("sums", array(np.zeros(len(items), np.int64))) + items.sum(1)
        cache.leave("sums", sums, own=0)
        steps.append(cache.end)
        return array(table)[cache.end - 1, sums % 7][:, None]

    steps: list[int] = []
    known = {"table": table, "decodes": SimpleNamespace(model="made_up"), "net": torch.nn.Module()}
    rows = {"part": lambda x: x, "whole": lambda x, rows: x}  # all are done here
    return SimpleNamespace(prepare=prepare, step=step, steps=steps, **known, **rows)


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


@both
@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0, 2.0, -1.0])
def test_beams_as_written_plainly(penalty: float, library: str) -> None:
    """The same result, and no step more than needed."""
    stopped = 0
    for seed in range(60):
        rolls = np.random.default_rng(1000 + seed)
        vocab, beams, max_new = int(rolls.integers(3, 6)), int(rolls.integers(2, 4)), int(rolls.integers(1, 7))
        prompt = rolls.integers(0, vocab, int(rolls.integers(1, 4))).tolist()
        eos = None if seed % 5 == 0 else int(rolls.integers(0, vocab))
        _, beam_search, array = LIBRARIES[library]
        net = made_up(seed, vocab, len(prompt) + max_new, library)
        if eos is not None:
            net.table[..., eos] += 2 * (seed % 4)  # likelier
        found = beam_search(net, array(np.array(prompt)), True, {}, max_new, beams, penalty, eos).tolist()
        expected, needed = searched(net.table, prompt, max_new, beams, penalty, eos)
        assert (found, len(net.steps)) == (expected, needed), seed
        stopped += needed < max_new
    assert stopped > 5


# -- items -----------------------------------------------------------------------------------------------------------


def drawn(scores: list[float], draw: float, options: dict[str, Any]) -> int:
    """The item that a draw from 0 to 1 falls on."""
    order = sorted(range(len(scores)), key=lambda item: -scores[item])
    if not options["temperature"]:
        return order[0]
    chances = [math.exp((scores[item] - max(scores)) / options["temperature"]) for item in order]
    chances = [chance / sum(chances) for chance in chances]
    before = [sum(chances[:place]) for place in range(len(chances))]
    count = min(
        len(order) if options["top_k"] is None else options["top_k"],
        len(order) if options["top_p"] is None else sum(each < options["top_p"] for each in before),
    )
    aim = draw * sum(chances[:count])
    return order[next(place for place in range(count) if sum(chances[: place + 1]) > aim)]


OPTIONS: dict[str, Any] = {"temperature": 0.0, "top_k": None, "top_p": None, "eos": None, "seed": None}


@both
@pytest.mark.parametrize("top_k", [None, 1, 2, 3, 9])
@pytest.mark.parametrize("top_p", [None, 0.4, 0.6, 0.9, 1.0])
def test_where_draws_fall(library: str, top_k: int | None, top_p: float | None) -> None:
    module = torch_decoding if library == "torch" else numpy_decoding
    rows = np.log([[0.2, 0.5, 0.3, 0.0001], [0.25, 0.25, 0.25, 0.25]]).repeat(8, 0)
    draws = [0.0, 0.1, 0.3, 0.51, 0.64, 0.8, 0.9, 0.99] * 2
    for temperature in (0.0, 0.5, 1.0, 3.0):
        options = OPTIONS | {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        found = module.choose(LIBRARIES[library][2](rows.astype(np.float32)), draws, options)
        wanted = [drawn(row, draw, options) for row, draw in zip(rows.astype(np.float32).tolist(), draws, strict=True)]
        assert found.tolist() == wanted, temperature


def alone(table: Any, prompt: list[int], max_new: int, dice: random.Random, options: dict[str, Any]) -> list[int]:
    made: list[int] = []
    for length in range(len(prompt), len(prompt) + max_new):
        draw = dice.random() if options["temperature"] else 0.0
        made.append(drawn(table[length - 1, sum(prompt + made) % 7].tolist(), draw, options))
        if made[-1] == options["eos"]:
            break
    return made


@both
@pytest.mark.parametrize("seed", range(40))
def test_items_as_written_plainly(seed: int, library: str) -> None:
    """Rows of different lengths, as if each were alone: what comes, how soon it is shown, and no step too many."""
    rolls = np.random.default_rng(seed)
    vocab, max_new = int(rolls.integers(3, 6)), int(rolls.integers(0, 7))
    prompts = [rolls.integers(0, vocab, int(rolls.integers(1, 6))).tolist() for _ in range(int(rolls.integers(1, 4)))]
    options = OPTIONS | {"eos": [None, 0, 1][seed % 3], "seed": seed}
    if seed % 2:
        options |= {"temperature": 0.7, "top_k": [None, 2][seed % 4 // 2]}
    module, array = (torch_decoding if library == "torch" else numpy_decoding), LIBRARIES[library][2]
    net = made_up(seed, vocab, 12, library)
    rows = [alone(net.table, prompt, max_new, random.Random(seed + i), options) for i, prompt in enumerate(prompts)]
    given = [array(np.array(prompt)) for prompt in prompts]
    shown, steps = [], []
    for column in module.decode_items(net, given, False, {}, max_new, options):
        shown.append(column.tolist())
        steps.append(len(net.steps))
    width = max(map(len, rows))
    filled = [row + [options["eos"]] * (width - len(row)) for row in rows]
    assert np.array(shown).T.reshape(len(rows), width).tolist() == filled
    ends = [len(prompt) + len(row) for prompt, row in zip(prompts, rows, strict=True)]
    short, long = min(map(len, prompts)), max(map(len, prompts))
    assert len(net.steps) == (max(ends) - short if max_new else 0)
    assert steps == [min(long + place, max(ends) - 1) - short + 1 for place in range(width)]
