"""Decoding in generated PyTorch code: `generate` and `stream`."""

import random
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..common.decoding import Decodes, check_batch, check_beams, check_call, check_rows, plain, prompt_rows
from .border import check_dense, check_place
from .cache import Cache
from .fixed import FixedStep, fixed_step
from .maps import sharded


class Decoder(NamedTuple):
    """`generate` and `stream` over a model's `prepare` and `step`, of which the first argument is the module."""

    decodes: Decodes
    net: Any
    prepare_: Callable[..., Cache]
    step_: Callable[..., Tensor]

    def prepare(self, /, **inputs: Any) -> Cache:
        return self.prepare_(self.net, **inputs)

    def step(self, items: Tensor, cache: Cache, last: int) -> Tensor:
        scores: Tensor = unwrapped(self.step_)(self.net, items, cache, last)  # in inference mode it is already
        return scores

    def begin(self, static: Any) -> None:
        gather_for_steps(self, static)

    def part(self, x: Tensor) -> Tensor:
        """Of what there is for each row the rows that are done here."""
        return x

    def whole(self, x: Tensor, rows: int) -> Tensor:
        """What was made of such a part for all rows."""
        return x

    def generate(self, prompt: Any, max_new: int, given: dict[str, Any]) -> Tensor:
        """Up to `max_new` new items behind each prompt: [batch, new], or [new] for a prompt without a batch.

        prompt:         indices [batch, length] or [length], or a list of prompts of different lengths.
        temperature:    0 (the default) takes the likeliest item; else draws from softmax(scores / temperature).
        top_k, top_p:   draws from the k likeliest, or from the fewest that together have the probability p.
        eos:            the item that ends a row; what follows it is filled with it. All rows ended: the result ends.
        seed:           of the draws. Row i draws as a prompt on its own does with `seed + i`.
        beams:          more than 1: the best of a beam search (no drawing), by its log-probability over length to the
                        power `length_penalty`.
        static:         True: one item after another over buffers that stay where they are, on CUDA as a graph, which is
                        kept for the next call. What compiles a function (`torch.compile`) compiles the step before.
        The model's other inputs are given by name. Raises ValueError or TypeError, in the names of the model's axes.
        """
        max_new = plain(max_new)
        rows, single, inputs, options = check_prompt(
            self, prompt, max_new, given, beams=1, length_penalty=1.0, static=False
        )
        beams, static = options["beams"], options["static"]
        check_beams(self.decodes.model, beams, options["length_penalty"], options)
        check_static(self.decodes.model, static, beams)
        self.begin(static)
        with torch.inference_mode():
            if beams > 1:
                return beam_rows(self, rows, single, inputs, max_new, beams, options["length_penalty"], options)
            found = list(decode_items(self, rows, single, inputs, max_new, options, static))
            new = torch.stack(found, -1) if found else rows[0].new_zeros(len(rows), 0)
            return new[0] if single else new

    def stream(self, prompt: Any, max_new: int, given: dict[str, Any]) -> Iterator[Tensor]:
        """The items of `generate` as they come: [batch] each, or a single one for a prompt without a batch.

        Of prompts of different lengths, a new item comes as soon as all rows have theirs.
        """
        max_new = plain(max_new)
        rows, single, inputs, options = check_prompt(self, prompt, max_new, given, static=False)
        check_static(self.decodes.model, options["static"], 1)
        self.begin(options["static"])
        found = without_gradients(decode_items(self, rows, single, inputs, max_new, options, options["static"]))
        return (one[0] for one in found) if single else found


def unwrapped(function: Any) -> Any:
    """`prepare` or `step` without inference mode."""
    return getattr(function, "__wrapped__", function)


def without_gradients(items: Iterator[Tensor]) -> Iterator[Tensor]:
    """The items, each made in inference mode: what is done between them, by whoever wants them, is not."""
    while True:
        with torch.inference_mode():
            found = next(items, None)
        if found is None:
            return
        yield found


def gather_for_steps(model: Decoder, static: Any = False) -> None:
    """FSDP2 (`fully_shard`) gathers the weights of a module for `forward` alone: steps want them all, until `scatter`.

    `prepare` and `step` of such a model, called by hand from now on, gather them for themselves.
    """
    modules = sharded(model.net)
    if modules and static:
        raise ValueError(
            f"{model.decodes.model}: the weights are sharded, and so do not stay where they are: leave static out"
        )
    for name in ("prepare", "step") if modules else ():
        method = getattr(model.net, name, None)
        if method is not None and name not in vars(model.net):
            setattr(model.net, name, gathered(model.net, getattr(method, "__wrapped__", method).__get__(model.net)))
    gather(model.net)


def gather(net: Any) -> None:
    """All weights of such a model, until `scatter`."""
    with torch.inference_mode(False):
        begin_at_root(net)
        for module in sharded(net):
            module.unshard()


def begin_at_root(net: Any) -> None:
    """Tells FSDP2 which module is the whole: else the first part that is called counts as that."""
    if net in sharded(net):
        name = "begin at root"  # which no part of a spec can be called
        setattr(net, name, lambda: None)
        sys.modules["torch.distributed.fsdp"].register_fsdp_forward_method(net, name)
        getattr(net, name)()
        delattr(net, name)


def scatter(net: Any) -> None:
    """Lets go of the gathered weights: an optimizer would change the shards alone."""
    for module in sharded(net):
        module.reshard()


def gathered(net: Any, method: Callable[..., Any]) -> Callable[..., Any]:
    """With all weights at hand; not in inference mode, in which gathered ones could not be trained any more."""

    @wraps(method)
    def call(*given: Any, **named: Any) -> Any:
        with torch.inference_mode(False), torch.no_grad():
            gather(net)
            try:
                return method(*given, **named)
            finally:
                scatter(net)

    return call


def check_static(model: str, static: Any, beams: int) -> None:
    """Refuses what cannot be done over buffers that stay where they are."""
    if not isinstance(static, bool) and not callable(static):
        raise TypeError(f"{model}: static is {static!r}, but must be True, False or what compiles a function")
    if static and beams > 1:
        raise ValueError(f"{model}: a beam search puts rows in other places: leave static out, or beams")


def numbers(x: Any) -> Tensor:
    """A tensor of numbers, with which PyTorch computes whatever integers they were."""
    found = torch.as_tensor(x)
    if found.is_meta or found.layout != torch.strided:
        raise TypeError("it has no numbers")
    return found.long() if integral(found) else found


def integral(x: Tensor) -> bool:
    return not (x.is_floating_point() or x.is_complex() or x.dtype == torch.bool)


def check_prompt(
    model: Decoder, prompt: Any, max_new: int, given: dict[str, Any], **more: Any
) -> tuple[list[Tensor], bool, dict[str, Tensor], dict[str, Any]]:
    """Refuses what cannot be decoded; gives the rows, whether there is one without a batch, the inputs, the options."""
    decodes = model.decodes
    inputs, options = check_call(decodes, given, max_new, **more)
    rows, single = prompt_rows(decodes, prompt, numbers)
    check_rows(decodes, rows, single, integral, max_new)
    check_place(f"{decodes.model}: `{decodes.prompt}`", rows[0], model.net)
    for key, x in inputs.items():
        if isinstance(x, Tensor):
            check_dense(f"{decodes.model}: `{key}`", x)
            check_place(f"{decodes.model}: `{key}`", x, model.net)
        if isinstance(x, Tensor) and single:
            inputs[key] = x[None]
        elif isinstance(x, Tensor) and (not x.dim() or x.shape[0] != len(rows)):
            batch = x.shape[0] if x.dim() else "none"
            raise ValueError(f"{decodes.model}: `{key}` has the batch {batch}, but there are {len(rows)} prompts")
    return rows, single, inputs, options


def decode_items(
    model: Any, rows: list[Tensor], single: bool, inputs: dict[str, Tensor], max_new: int, options: dict[str, Any],
    static: Any = False,
) -> Iterator[Tensor]:  # fmt: skip
    """The new items, column by column: [batch]. While longer prompts are still being read, shorter ones go on."""
    eos, seed, drawn = options["eos"], options["seed"], options["temperature"] > 0
    dice = [random.Random(None if seed is None else seed + number) for number in range(len(rows))]
    lengths = [len(row) for row in rows]
    short, long = min(lengths), max(lengths)
    given = torch.stack([torch.cat([row, row.new_zeros(long - len(row))]) for row in rows])
    ends = torch.tensor(lengths, device=given.device)
    came = given.new_full((len(rows), long + max_new), 0 if eos is None else eos)  # behind the prompts, by place
    gone = torch.zeros(len(rows), dtype=torch.bool, device=given.device)
    cache = model.prepare(**{key: model.part(x) if isinstance(x, Tensor) else x for key, x in inputs.items()})
    check_batch(model.decodes.model, cache, len(model.part(ends)), None if single else len(rows))
    cache.room, cache.trusted = long + max_new - 1, True
    items = given[:, :short]
    fixed: FixedStep | None = None
    shown = 0
    for place in range(short, long + max_new) if max_new else ():  # where the next items come
        scores = (model.step(model.part(items), cache, 1) if fixed is None else fixed(items))[:, -1]
        draws = (
            [row.random() if place >= length else 0.0 for row, length in zip(dice, lengths, strict=True)]
            if drawn
            else []
        )
        found = model.whole(choose(scores, model.part(torch.tensor(draws, dtype=torch.float64)), options), len(rows))
        if eos is not None:
            found = torch.where(gone, eos, found)
            gone |= (found == eos) & (place >= ends)
        if place < long:  # some prompts still go on
            found = torch.where(place < ends, given[:, place], found)
        items = found[:, None]
        if static and fixed is None and place + 1 < long + max_new:
            fixed = fixed_step(model, cache, cache.room, items, static)
        if short == long:
            yield found
            if eos is not None and bool(gone.all()):
                break
            continue
        came[:, place] = found
        if place >= long:
            yield came.gather(1, (ends + shown)[:, None])[:, 0]
            shown += 1
        if eos is not None and bool((gone | (place + 1 >= ends + max_new)).all()):
            break
    new = came.gather(1, ends[:, None] + torch.arange(max_new, device=ends.device))
    while short < long and shown < max_new and not bool((new[:, :shown] == eos).any(-1).all()):
        yield new[:, shown]
        shown += 1
    scatter(model.net)
    if fixed is not None:
        model.net.__dict__["_fixed_step"] = fixed


def choose(scores: Tensor, draws: Any, options: dict[str, Any]) -> Tensor:
    """An item for each row of scores [batch, vocab]: the likeliest, or where the row's draw in [0, 1) falls."""
    temperature, top_k, top_p = options["temperature"], options["top_k"], options["top_p"]
    if not temperature:
        return scores.argmax(-1)
    ordered, items = (scores.double() / float(temperature)).sort(dim=-1, descending=True, stable=True)
    chances = ordered.softmax(-1)
    before = chances.cumsum(-1) - chances
    kept = torch.ones_like(chances, dtype=torch.bool)
    if top_k is not None:
        kept[:, top_k:] = False
    if top_p is not None:
        kept &= before < top_p
    chances = torch.where(kept, chances, 0.0)
    reached = chances.cumsum(-1)
    aim = torch.as_tensor(draws, dtype=torch.float64, device=scores.device)[:, None] * reached[:, -1:]
    place = (reached <= aim).sum(-1, keepdim=True).clamp(max=scores.shape[-1] - 1)
    drawn: Tensor = items.gather(-1, place)[:, 0]
    return drawn


def beam_rows(
    model: Any, rows: list[Tensor], single: bool, inputs: dict[str, Tensor], max_new: int, beams: int, penalty: float,
    options: dict[str, Any],
) -> Tensor:  # fmt: skip
    """Beam search for each row on its own; shorter results are filled with `eos`."""
    prompts, found = None if single else len(rows), []
    for number, row in enumerate(rows):
        own = {key: x[number : number + 1].expand(beams, *x.shape[1:]) if isinstance(x, Tensor) else x
               for key, x in inputs.items()}  # fmt: skip
        found.append(beam_search(model, row, prompts, own, max_new, beams, penalty, options["eos"]))
    scatter(model.net)
    long = max(len(row) for row in found)
    fill = options["eos"] or 0
    new = torch.stack([torch.cat([row, row.new_full((long - len(row),), fill)]) for row in found])
    return new[0] if single else new


def beam_search(
    model: Any, prompt: Tensor, prompts: int | None, inputs: dict[str, Tensor], max_new: int, beams: int,
    penalty: float, eos: int | None,
) -> Tensor:  # fmt: skip
    """The best continuation found: the one with the largest log-probability / length ** penalty.

    Ended continuations are set aside; the search stops when none still running can beat the worst of the best `beams`.
    prompts: how many there are beside this one, itself included; None for one without a batch.
    """
    cache = model.prepare(**inputs)
    check_batch(model.decodes.model, cache, beams, prompts)
    cache.room, cache.trusted = len(prompt) + max_new - 1, True
    items = prompt.expand(beams, -1)
    made = prompt.new_zeros(beams, 0)
    totals = torch.full((beams,), -torch.inf, dtype=torch.float64, device=prompt.device)
    totals[0] = 0.0  # all beams are alike at first
    ended: list[tuple[float, Tensor]] = []
    for length in range(1, max_new + 1):
        scores = model.step(items, cache, 1)[:, -1].double().log_softmax(-1) + totals[:, None]
        size = scores.shape[-1]
        best, places = scores.flatten().topk(min(2 * beams, scores.numel()))
        rows, tokens = places // size, places % size
        ending = (tokens == eos) & best.isfinite() if eos is not None else torch.zeros_like(tokens, dtype=torch.bool)
        for total, row in zip(best[ending].tolist(), rows[ending].tolist(), strict=True):
            ended.append((total / length**penalty, torch.cat([made[row], made.new_full((1,), eos or 0)])))
        ended = sorted(ended, key=lambda one: -one[0])[:beams]
        going = (~ending).nonzero()[:beams, 0]
        rows, tokens, totals = rows[going], tokens[going], best[going]
        made = torch.cat([made[rows], tokens[:, None]], -1)
        if len(ended) == beams and ended[-1][0] >= float(totals[0]) / max(length**penalty, max_new**penalty):
            break
        if length < max_new:
            cache.reorder(rows)
            items = tokens[:, None]
    else:
        ended += [(total / max(max_new, 1) ** penalty, row) for total, row in zip(totals.tolist(), made, strict=True)]
    return max(ended, key=lambda one: one[0])[1]
