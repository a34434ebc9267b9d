"""Decoding in generated NumPy code: the cache, and `generate`."""

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..common.decoding import (
    Configuration,
    Decodes,
    check_batch,
    check_beams,
    check_call,
    check_rows,
    plain,
    prompt_rows,
    reordered,
)
from .arrays import Array
from .maps import FEW, Joint, joint, map_rows
from .ops import concat, linear


class History:
    """The items of one value so far, or the last of them, along one dimension of a buffer with room for more."""

    def __init__(self, dim: int) -> None:
        self.dim, self.first, self.last = dim, 0, 0  # dim: counted from the right
        self.behind = (slice(None),) * (-1 - dim)  # dimensions to the right
        self.buffer: Array | None = None

    def extend(self, x: Array, size: int | None, room: int, again: int = 0) -> Array:
        """The kept items and those of x behind them, at most the last `size`: what is before these is forgotten.

        again: so many of the kept ones are in x anew.
        """
        self.last -= again
        new = x.shape[self.dim]
        if size is not None:
            self.first = max(self.first, self.last + new - size)
        free = 0 if self.buffer is None else self.buffer.shape[self.dim]
        if self.last + new > free or (size is not None and free > 2 * (size + 32)):
            self._move(x, self.last + new - self.first, size, room)
        assert self.buffer is not None
        self.buffer[self._place(self.last, self.last + new)] = x
        self.last += new
        return self.kept

    def _move(self, x: Array, used: int, size: int | None, room: int) -> None:
        """To the front of a new buffer: of a window a little longer than it, else twice as long as now."""
        shape = list(x.shape)
        first = min(self.first, self.last)
        begun = max(used, x.shape[self.dim])
        shape[self.dim] = begun + max(32, used // 4) if size is not None else max(room, 2 * used)
        fresh = np.empty(shape, x.dtype)
        if self.buffer is not None and self.last > first:
            fresh[self._place(0, self.last - first)] = self.kept
        self.buffer, self.first, self.last = fresh, self.first - first, self.last - first

    @property
    def kept(self) -> Array:
        assert self.buffer is not None
        kept: Array = self.buffer[self._place(min(self.first, self.last), self.last)]
        return kept

    def _place(self, first: int, last: int) -> tuple[Any, ...]:
        """The index of the items `first` to `last - 1`."""
        return (..., slice(first, last), *self.behind)


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
        self.states: dict[str, Array] = {}
        self.own: dict[str, int] = {}  # of what has the batch: how many dimensions stand behind it
        self.once: dict[str, Array] = {}
        self.hides: dict[str, bool] = {}  # of what is kept as a mask: whether it hides anything
        self.joint: dict[tuple[int, ...], Joint | None] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"joint": {}}  # which hangs on where the weights lie

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
        if name not in self.parts:
            self.parts[name] = Cache(self.configuration, whole=self.whole)
        return self.parts[name]

    def span(self, keep: int) -> int:
        """How many items reach back to `keep` before the new ones."""
        return min(self.end, keep + self.end - self.start)

    def filled(self, step: int, least: int = 0) -> int:
        """How many items the next length has that the model takes: `least` and some times `step` more."""
        end = max(self.end, least)
        return end + (least - end) % step

    def fill_up(self, x: Array, dim: int, size: int) -> Array:
        """All items so far, and so many copies of the last one behind them that they are `size`."""
        end = x.shape[dim]
        return x if size == end else x.take(np.minimum(np.arange(size), end - 1), dim)

    def extend(self, name: str, x: Array, dim: int, size: int | None = None) -> Array:
        """The items of x behind the earlier ones along `dim`, counted from the right; at most the last `size`."""
        if name not in self.grown:
            self.grown[name] = History(dim)
        return self.grown[name].extend(x, size, self.whole.room)

    def maps(self, x: Array, *parts: tuple[Array, ...]) -> list[Array]:
        """x through several learned maps, each with a weight and perhaps a bias: of few rows as one product."""
        if x.size <= FEW * x.shape[-1]:
            key = tuple(id(part[0]) for part in parts)
            if key not in self.joint:
                self.joint[key] = joint(parts)
            to = self.joint[key]
            if to is not None:
                return map_rows(x, to)
        return [linear(x, *part) for part in parts]

    def store(self, name: str, x: Array, own: int | None = None) -> None:
        """Keeps what no step changes; `own`: it may have the batch, in front of so many dimensions."""
        self.once[name] = x
        if own is not None:
            self.own[name] = own

    def __getitem__(self, name: str) -> Array:
        return self.once[name]

    def mask(self, name: str) -> Array | None:
        """What is kept as a mask of attention; None where it hides nothing, which is looked at once."""
        if name not in self.hides:
            self.hides[name] = not self.once[name].all()
        return self.once[name] if self.hides[name] else None

    def resume(self, name: str, first: Array) -> Array:
        """What the last step left, or what the first one begins with."""
        return self.states.get(name, first)

    def leave(self, name: str, x: Array, own: int | None = None) -> None:
        """What the next step goes on from; `own` as for `store`."""
        self.states[name] = x.copy()
        if own is not None:
            self.own[name] = own

    def tensors(self) -> dict[str, Array]:
        """Everything that is kept, by its path."""
        found = {name: held.kept for name, held in self.grown.items()} | self.states | self.once
        for part, cache in self.parts.items():
            found |= {f"{part}.{name}": x for name, x in cache.tensors().items()}
        return found

    @property
    def nbytes(self) -> int:
        """The bytes that it takes, with the room left for later items."""
        held = [h.buffer for h in self.grown.values() if h.buffer is not None]
        own = sum(x.nbytes for x in (*held, *self.states.values(), *self.once.values()))
        return own + sum(part.nbytes for part in self.parts.values())

    def reorder(self, rows: Array) -> None:
        """Puts row `rows[i]` of the batch, the first dimension, in the place of row i."""
        batch = self.batch or ()
        self.batch = reordered(self.configuration.model, self.batch, rows)
        self._reorder(rows, batch)

    def _reorder(self, rows: Array, batch: tuple[int, ...]) -> None:
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
        return (self.cache.start + self.before) // self.size if self.cache.start else 0

    @property
    def end(self) -> int:
        """How many there are so far."""
        return -(-(self.cache.end + self.before) // self.size)

    @property
    def count(self) -> int:
        """How many a step has."""
        return self.end - self.start

    def span(self, keep: int) -> int:
        """How many reach back to `keep` before those of this step."""
        return min(self.end, keep + self.count)

    def extend(self, name: str, x: Array, dim: int, size: int | None = None) -> Array:
        """Those of this step behind the earlier ones, in the place of one that was open; at most the last `size`."""
        cache, again = self.cache, 0
        if cache.start:
            again = -(-(cache.start + self.before) // self.size) - self.start
        if name not in cache.grown:
            cache.grown[name] = History(dim)
        return cache.grown[name].extend(x, size, -(-(cache.whole.room + self.before) // self.size), again)

    def fill_up(self, x: Array, dim: int, size: int) -> Array:
        """All so far, and so many copies of the last one behind them that they are `size`."""
        return self.cache.fill_up(x, dim, size)

    def begin(self, parts: list[Array], dim: int) -> Array:
        """The new items, the last one of `parts`, at the first step behind the prefix."""
        return parts[-1] if self.cache.start else concat(parts, dim)

    # -- chunks and what is in them --------------------------------------------------------------------------------

    @property
    def first(self) -> int:
        """The place of the first item of the chunks of this step."""
        return self.start * self.step

    @property
    def items(self) -> int:
        """How many items these chunks have."""
        return self.count * self.step

    def item_places(self) -> Array:
        return np.arange(self.first, self.first + self.items)

    def inside(self, index: Array) -> Array:
        """Places in the whole sequence as places among these items."""
        return index - self.first

    def item_rows(self, table: Array, dim: int) -> Array:
        """What a table over all places says of these items."""
        rows: Array = table.take(np.minimum(self.item_places(), table.shape[dim] - 1), dim)
        return rows

    def open(self, x: Array, dim: int) -> Array:
        """Of the items so far, or the last of them, those in these chunks; copies of the last one fill up."""
        begin = x.shape[dim] - (self.whole.end - self.first)
        found: Array = x.take(np.minimum(np.arange(begin, begin + self.items), x.shape[dim] - 1), dim)
        return found

    def new(self, x: Array, dim: int) -> Array:
        """Of the items in the chunks of this step, or of the prefix and those behind it, the new ones."""
        whole = self.cache if self.size == 1 else self.whole
        count = whole.end - whole.start
        begin = self.count - count if self.size == 1 else whole.start - self.first
        index: tuple[Any, ...] = (..., slice(begin, begin + count), *(slice(None),) * (-1 - dim))
        found: Array = x[index]
        return found

    def resume(self, name: str, first: Array) -> Array:
        """What the last chunk that is over left, or what the first one begins with."""
        return self.cache.states[name] if self.start else first

    def leave(self, name: str, x: Array, dim: int, own: int | None = None) -> None:
        """What the next step goes on from: of x, after each chunk, what is there after the last one that is over."""
        over = (self.cache.end + self.before) // self.size - self.start
        if over > 0 or name not in self.cache.states:
            self.cache.leave(name, x.take(max(over - 1, 0), dim), own)


class Decoder(NamedTuple):
    """`generate` and `stream` over a model's `prepare` and `step`, of which the first argument is the weights."""

    decodes: Decodes
    weights: dict[str, Array]
    prepare_: Callable[..., Cache]
    step_: Callable[..., Array]

    def prepare(self, /, **inputs: Any) -> Cache:
        return self.prepare_(self.weights, **inputs)

    def step(self, items: Array, cache: Cache, last: int) -> Array:
        return self.step_(self.weights, items, cache, last)

    def generate(self, prompt: Any, max_new: int, given: dict[str, Any]) -> Array:
        """Up to `max_new` new items behind each prompt: [batch, new], or [new] for a prompt without a batch.

        prompt:         indices [batch, length] or [length], or a list of prompts of different lengths.
        temperature:    0 (the default) takes the likeliest item; else draws from softmax(scores / temperature).
        top_k, top_p:   draws from the k likeliest, or from the fewest that together have the probability p.
        eos:            the item that ends a row; what follows it is filled with it. All rows ended: the result ends.
        seed:           of the draws. Row i draws as a prompt on its own does with `seed + i`.
        beams:          more than 1: the best of a beam search (no drawing), by its log-probability over length to the
                        power `length_penalty`.
        The model's other inputs are given by name. Raises ValueError or TypeError, in the names of the model's axes.
        """
        max_new = plain(max_new)
        rows, single, inputs, options = check_prompt(self.decodes, prompt, max_new, given, beams=1, length_penalty=1.0)
        beams, penalty = options["beams"], options["length_penalty"]
        check_beams(self.decodes.model, beams, penalty, options)
        if beams > 1:
            return beam_rows(self, rows, single, inputs, max_new, beams, penalty, options)
        found = list(decode_items(self, rows, single, inputs, max_new, options))
        new = np.stack(found, -1) if found else np.zeros((len(rows), 0), np.int64)
        return new[0] if single else new

    def stream(self, prompt: Any, max_new: int, given: dict[str, Any]) -> Iterator[Array]:
        """The items of `generate` as they come: [batch] each, or a single one for a prompt without a batch.

        Of prompts of different lengths, a new item comes as soon as all rows have theirs.
        """
        max_new = plain(max_new)
        rows, single, inputs, options = check_prompt(self.decodes, prompt, max_new, given)
        found = decode_items(self, rows, single, inputs, max_new, options)
        return (one[0] for one in found) if single else found


def numbers(x: Any) -> Array:
    """An array of numbers; NumPy would make one of anything."""
    found = np.asarray(x)
    if found.dtype.kind not in "iufcb":
        raise TypeError("no numbers")
    return found


def integral(x: Array) -> bool:
    return x.dtype.kind in "iu"


def check_prompt(
    decodes: Decodes, prompt: Any, max_new: int, given: dict[str, Any], **more: Any
) -> tuple[list[Array], bool, dict[str, Array], dict[str, Any]]:
    """Refuses what cannot be decoded; gives the rows, whether there is one without a batch, the inputs, the options."""
    inputs, options = check_call(decodes, given, max_new, **more)
    rows, single = prompt_rows(decodes, prompt, numbers)
    check_rows(decodes, rows, single, integral, max_new)
    for key, x in inputs.items():
        if isinstance(x, np.ndarray) and single:
            inputs[key] = x[None]
        elif isinstance(x, np.ndarray) and (not x.ndim or x.shape[0] != len(rows)):
            batch = x.shape[0] if x.ndim else "none"
            raise ValueError(f"{decodes.model}: `{key}` has the batch {batch}, but there are {len(rows)} prompts")
    return [row.astype(np.int64) for row in rows], single, inputs, options


def decode_items(
    model: Any, rows: list[Array], single: bool, inputs: dict[str, Array], max_new: int, options: dict[str, Any]
) -> Iterator[Array]:
    """The new items, column by column: [batch]. While longer prompts are still being read, shorter ones go on."""
    eos, seed = options["eos"], options["seed"]
    dice = [random.Random(None if seed is None else seed + number) for number in range(len(rows))]
    lengths, every = np.array([len(row) for row in rows]), np.arange(len(rows))
    short, long = int(lengths.min()), int(lengths.max())
    given = np.stack([np.pad(row, (0, long - len(row))) for row in rows])
    came = np.full((len(rows), long + max_new), 0 if eos is None else eos)  # behind the prompts, by place
    gone = np.zeros(len(rows), np.bool_)
    cache = model.prepare(**inputs)
    check_batch(model.decodes.model, cache, len(rows), None if single else len(rows))
    cache.room = long + max_new - 1
    items, shown = given[:, :short], 0
    for place in range(short, long + max_new) if max_new else ():  # where the next items come
        scores = model.step(items, cache, last=1)[:, -1]
        draws = [row.random() if options["temperature"] and place >= length else 0.0
                 for row, length in zip(dice, lengths, strict=True)]  # fmt: skip
        found = choose(scores, draws, options)
        if eos is not None:
            found = np.where(gone, eos, found)
            gone |= (found == eos) & (place >= lengths)
        if place < long:  # some prompts still go on
            found = np.where(place < lengths, given[:, place], found)
        came[:, place] = found
        items = found[:, None]
        if place >= long:
            yield came[every, lengths + shown]
            shown += 1
        if eos is not None and (gone | (place + 1 >= lengths + max_new)).all():
            break
    new = came[every[:, None], lengths[:, None] + np.arange(max_new)]
    while shown < max_new and not (new[:, :shown] == eos).any(-1).all():
        yield new[:, shown]
        shown += 1


def choose(scores: Array, draws: list[float], options: dict[str, Any]) -> Array:
    """An item for each row of scores [batch, vocab]: the likeliest, or where the row's draw in [0, 1) falls."""
    temperature, top_k, top_p = options["temperature"], options["top_k"], options["top_p"]
    if not temperature:
        likeliest: Array = scores.argmax(-1)
        return likeliest
    scaled = scores.astype(np.float64) / temperature
    items = np.argsort(-scaled, -1, kind="stable")
    ordered = np.take_along_axis(scaled, items, -1)
    chances = np.exp(ordered - ordered[:, :1])
    chances /= chances.sum(-1, keepdims=True)
    before = chances.cumsum(-1) - chances
    kept = np.ones_like(chances, np.bool_)
    if top_k is not None:
        kept[:, top_k:] = False
    if top_p is not None:
        kept &= before < top_p
    reached = np.where(kept, chances, 0.0).cumsum(-1)
    aim = np.array(draws)[:, None] * reached[:, -1:]
    place = np.minimum((reached <= aim).sum(-1, keepdims=True), scores.shape[-1] - 1)
    drawn: Array = np.take_along_axis(items, place, -1)[:, 0]
    return drawn


def beam_rows(
    model: Any, rows: list[Array], single: bool, inputs: dict[str, Array], max_new: int, beams: int, penalty: float,
    options: dict[str, Any],
) -> Array:  # fmt: skip
    """Beam search for each row on its own; shorter results are filled with `eos`."""
    prompts, found = None if single else len(rows), []
    for number, row in enumerate(rows):
        own = {key: np.repeat(x[number : number + 1], beams, 0) if isinstance(x, np.ndarray) else x
               for key, x in inputs.items()}  # fmt: skip
        found.append(beam_search(model, row, prompts, own, max_new, beams, penalty, options["eos"]))
    long = max(len(row) for row in found)
    fill = options["eos"] or 0
    new = np.stack([np.pad(row, (0, long - len(row)), constant_values=fill) for row in found])
    return new[0] if single else new


def beam_search(
    model: Any, prompt: Array, prompts: int | None, inputs: dict[str, Array], max_new: int, beams: int,
    penalty: float, eos: int | None,
) -> Array:  # fmt: skip
    """The best continuation found: the one with the largest log-probability / length ** penalty.

    Ended continuations are set aside; the search stops when none still running can beat the worst of the best `beams`.
    prompts: how many there are beside this one, itself included; None for one without a batch.
    """
    cache = model.prepare(**inputs)
    check_batch(model.decodes.model, cache, beams, prompts)
    cache.room = len(prompt) + max_new - 1
    items = np.repeat(prompt[None], beams, 0)
    made = np.zeros((beams, 0), np.int64)
    totals = np.full(beams, -np.inf)
    totals[0] = 0.0  # all beams are alike at first
    ended: list[tuple[float, Array]] = []
    for length in range(1, max_new + 1):
        scores = model.step(items, cache, last=1)[:, -1].astype(np.float64)
        scores -= scores.max(-1, keepdims=True)
        scores = scores - np.log(np.exp(scores).sum(-1, keepdims=True)) + totals[:, None]
        size = scores.shape[-1]
        places = np.argsort(-scores, axis=None, kind="stable")[: 2 * beams]
        best, rows, tokens = scores.flat[places], places // size, places % size
        ending = (tokens == eos) & np.isfinite(best) if eos is not None else np.zeros(len(tokens), np.bool_)
        for total, row in zip(best[ending].tolist(), rows[ending].tolist(), strict=True):
            ended.append((total / length**penalty, np.append(made[row], eos or 0)))
        ended = sorted(ended, key=lambda one: -one[0])[:beams]
        going = (~ending).nonzero()[0][:beams]
        rows, tokens, totals = rows[going], tokens[going], best[going]
        made = np.concatenate([made[rows], tokens[:, None]], -1)
        if len(ended) == beams and ended[-1][0] >= float(totals[0]) / max(length**penalty, max_new**penalty):
            break
        if length < max_new:
            cache.reorder(rows)
            items = tokens[:, None]
    else:
        ended += [(total / max(max_new, 1) ** penalty, row) for total, row in zip(totals.tolist(), made, strict=True)]
    return max(ended, key=lambda one: one[0])[1]
