"""How a stream of residuals runs through a module: what it begins with, its layers, and what is made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import torch

from .attention import AttentionUse, NotUnderstood, attentions
from .begin import StreamStart, begun
from .ending import StreamEnd, ended
from .listening.trace import RunValue, Tensor
from .listening.uses import CLOSE, NormUse, ScaleUse, WeightUses, near, same
from .parts import FeedUse, LayerPart, feeds


@dataclass(eq=False)
class Stream:
    """A stream: how it begins, the parts of each of its layers, what is made of it at the end.

    doubts: what does not fit, in words. uneven: how layers are not like the first.
    """

    begin: StreamStart
    layers: list[list[LayerPart]]
    ending: StreamEnd
    doubts: list[str] = field(default_factory=list)
    uneven: list[str] = field(default_factory=list)

    @property
    def parts(self) -> list[LayerPart]:
        return [part for layer in self.layers for part in layer]

    @property
    def is_causal(self) -> bool:
        """Whether each item sees its own past alone."""
        own = [part.does for part in self.parts if isinstance(part.does, AttentionUse) and not part.does.cross]
        return bool(own) and all(one.mask != "none" for one in own)


@dataclass(eq=False)
class Reading:
    """All of a module: one stack, or an encoder and a decoder that reads what it gives.

    values: what the decoder reads for values alone, where that is not what it reads for keys.
    """

    decoder: Stream
    encoder: Stream | None
    values: Stream | None = None

    @property
    def stacks(self) -> list[Stream]:
        return [one for one in (self.encoder, self.values, self.decoder) if one is not None]

    @property
    def doubts(self) -> list[str]:
        """What does not fit, in words."""
        return [doubt for stack in self.stacks for doubt in stack.doubts]


def read(uses: WeightUses, bases: Sequence[float]) -> Reading:
    """What a run shows of a module. Raises NotUnderstood where a part is not understood at all."""
    heard = attentions(uses, bases)
    if not heard:
        raise NotUnderstood(
            "there is no attention in it: no softmax of products of two maps, whose result is mapped again"
        )
    taken = {one.step.number for attention in heard for one in attention.linears}
    fed = feeds(uses, taken)
    crossing = [one for one in heard if one.cross]
    every: list[AttentionUse | FeedUse] = sorted([*heard, *fed], key=lambda one: one.start)
    if not crossing:
        return Reading(_stack(uses, every, uses.trace.results, None), None)
    memory = crossing[0].K.linear.x
    sources = _sources(uses, crossing[0])
    encoder = [one for one in every if one.end in sources]
    decoder = [one for one in every if one.end not in sources]
    first = _stack(uses, encoder, [], memory) if encoder else _given(uses, memory)
    values = _given(uses, crossing[0].V.linear.x) if crossing[0].parted else None
    if any(one.parted != crossing[0].parted for one in crossing):
        raise NotUnderstood("some of its layers read keys and values of one thing, others of two")
    return Reading(_stack(uses, decoder, uses.trace.results, None), first, values)


def _given(uses: WeightUses, memory: Tensor) -> Stream:
    """What attention reads beside the stream, where no layers make it: an input, or little more."""
    begin = begun(uses, memory, [])
    if begin.doubts:
        raise NotUnderstood(f"what attention reads beside the stream: {begin.doubts[0]}")
    return Stream(begin, [], StreamEnd([]))


def _sources(uses: WeightUses, cross: AttentionUse) -> set[int]:
    """All steps that the keys of an attention hang on."""
    return {step.number for step in uses.trace.back(cross.K.linear.operand, lambda step: False)}


def _stack(
    uses: WeightUses, every: list[AttentionUse | FeedUse], results: list[RunValue], target: Tensor | None
) -> Stream:
    """The reading, norms before parts or behind them, that leaves the fewest doubts."""
    if not every:
        raise NotUnderstood("an encoder without attention or feed-forward")
    found: list[Stream] = []
    wrong: NotUnderstood | None = None
    for last in (False, True):
        try:
            found.append(_Walk(uses, every, last).stack(results, target))
        except NotUnderstood as unread:
            wrong = wrong or unread
    if not found:
        raise wrong or NotUnderstood("nothing was read")
    best = min(found, key=lambda stack: len(stack.doubts) + len(stack.uneven))
    if best.uneven:
        raise NotUnderstood(best.uneven[0])
    return best


@dataclass
class _Walk:
    """Along the stream, part by part. last: norms stand behind the sums, not before the parts."""

    uses: WeightUses
    every: list[AttentionUse | FeedUse]
    last: bool
    doubts: list[str] = field(default_factory=list)
    done: list[tuple[LayerPart, LayerPart]] = field(default_factory=list)

    def stack(self, results: list[RunValue], target: Tensor | None) -> Stream:
        parts = [LayerPart(one) for one in self.every]
        begin, x, parts[0].before = self._begun(self.every[0])
        place = 0
        while place < len(parts):
            part, following = parts[place], parts[place + 1] if place + 1 < len(parts) else None
            if following is not None and self._is_beside(part, following, x):
                y, z = self._heard(part), self._heard(following)
                x = self._on(part, following, x, [y, z], parts[place + 2] if place + 2 < len(parts) else None)
                place += 2
            else:
                x = self._on(part, part, x, [self._heard(part)], following)
                place += 1
        layers = self._layers(parts)
        taken = {one.step.number for one in (linear for each in self.every for linear in each.linears)}
        free = [one for one in self.uses.linears if one.step.number not in taken]
        ending = ended(self.uses, x, results, target, free)
        for i, layer in enumerate(layers):
            for part in layer:
                self.doubts += [f"layer {i}, {part.kind}: {doubt}" for doubt in (*part.does.doubts, *part.doubts)]
        self.doubts = [*begin.doubts, *self.doubts, *ending.doubts]
        return Stream(begin, layers, ending, self.doubts, _uneven(layers))

    def _begun(self, first: AttentionUse | FeedUse) -> tuple[StreamStart, Tensor, NormUse | None]:
        """The reading of the first value of the stream that leaves the fewest doubts."""
        starts: list[tuple[Tensor, NormUse | None]] = [(first.x, None)]
        if not self.last:
            starts += [(norm.x, norm) for norm in self._making(first.x)]
        tried = [(begun(self.uses, x, self._making(x)), x, norm) for x, norm in starts]
        return min(tried, key=lambda one: (len(one[0].doubts), one[2] is None, one[0].apart))

    def _making(self, y: Tensor) -> list[NormUse]:
        return [norm for norm in self.uses.norms if same(norm.y, y)]

    def _is_beside(self, part: LayerPart, following: LayerPart, x: Tensor) -> bool:
        """Whether two parts read the same."""
        if isinstance(part.does, FeedUse) == isinstance(following.does, FeedUse):
            return False
        if same(following.does.x, part.does.x):
            following.beside = following.once = True
            return True
        for norm in self._making(following.does.x):
            if same(norm.x, x):
                following.beside, following.before = True, norm
                return True
        return False

    def _heard(self, part: LayerPart) -> list[tuple[Tensor, NormUse | None]]:
        """What a part may add: what it makes, or the norm of that."""
        y = part.does.y
        return [(y, None), *((norm.y, norm) for norm in self.uses.norms if same(norm.x, y))]

    def _on(
        self,
        part: LayerPart,
        lead: LayerPart,
        x: Tensor,
        made: list[list[tuple[Tensor, NormUse | None]]],
        following: LayerPart | None,
    ) -> Tensor:
        """The stream behind a part, or behind two beside each other, `part` and `lead`."""
        best: tuple[float, Tensor, list[float]] | None = None
        chosen: list[tuple[NormUse | None, ScaleUse | None]] = []
        after = before = None
        least = float("inf")
        for heard in product(*made):
            scaled = [self._scaled(y) for y, _ in heard]
            for y, norm_after, norm_before in self._nexts(following):
                factors, apart = _solved(y if norm_after is None else norm_after.x, [x, *(one for one, _ in scaled)])
                if abs(factors[0]) < 1e-9 and apart < CLOSE and not any(one.kept for one, _ in self.done):
                    factors[0] = 0.0  # the stream goes no further: there is no residual
                if min(abs(one) for one in factors[1:]) < 1e-6 or 0 < abs(factors[0]) < 1e-6:
                    continue
                rank = apart if factors[0] else 0.9 * CLOSE  # what a norm behind the part reads, most likely
                if best is not None and rank >= 0.5 * least:
                    continue
                least = rank
                best = apart, y if norm_after is None else norm_after.y, factors
                chosen = [(norm, scale) for (_, norm), (_, scale) in zip(heard, scaled, strict=True)]
                after, before = norm_after, norm_before
        like = next((one for one in self.done if one[0].kind == part.kind), (part, lead))
        shown = best is not None and (best[0] <= CLOSE or any(one.doubts for one in like))
        if following is None and not self.last and not shown:  # nothing shows the sum itself: as in other layers
            normed = like[0] is part or like[0].behind is not None
            heard_last = [some[-1 if normed else 0] for some in made]  # behind a norm, if one reads it
            whole = [self._scaled(y) for y, _ in heard_last]
            factors = [like[0].kept, *(one.added for one in dict.fromkeys(like))]
            best = 0.0, _sum(factors, [x, *(y for y, _ in whole)]), factors
            chosen = [(norm, scale) for (_, norm), (_, scale) in zip(heard_last, whole, strict=True)]
        if best is None:
            raise NotUnderstood(f"nothing reads what `{part.does.linears[-1].weight.name}` adds to the stream")
        apart, x, factors = best
        if apart > CLOSE:
            names = " and ".join(dict.fromkeys(f"`{one.does.linears[-1].weight.name}`" for one in (part, lead)))
            part.doubts.append(
                f"the stream behind {names} is no sum of the stream before and what is added, {apart:.1e} of the "
                "standard deviation away"
            )
            factors = [1.0] * len(factors)
            x, after, before = self._likely(lead, following, x, after, before)
        for one, (norm, scale), added in zip(dict.fromkeys((part, lead)), chosen, factors[1:], strict=True):
            one.behind, one.scale = norm, scale
            one.kept, one.added = _plain(factors[0], apart), _plain(added, apart)
        lead.after = after
        self.done.append((part, lead))
        if following is not None:
            following.before = before
        return x

    def _likely(
        self, lead: LayerPart, following: LayerPart | None, x: Tensor, after: NormUse | None, before: NormUse | None
    ) -> tuple[Tensor, NormUse | None, NormUse | None]:
        """Where no sum fits: what the norm reads of which the next part is made, or what that norm makes."""
        if following is not None:
            norms = self._making(following.does.x)
        else:
            norms = [norm for norm in self.uses.norms if norm.step.number > lead.does.end and norm.x.shape == x.shape]
        for norm in norms:
            return (norm.y, norm, None) if self.last else (norm.x, None, norm if following is not None else None)
        return x, after, before

    def _scaled(self, y: Tensor) -> tuple[Tensor, ScaleUse | None]:
        for scale in self.uses.scales:
            if same(scale.x, y):
                return scale.y, scale
        return y, None

    def _nexts(self, following: LayerPart | None) -> Iterator[tuple[Tensor, NormUse | None, NormUse | None]]:
        """What the stream may be next: the value, the norm that makes it, the norm that reads it."""
        if following is None:
            for norm in self.uses.norms:
                yield (norm.y, norm, None) if self.last else (norm.x, None, None)
            if not self.last:
                yield from ((one.x, None, None) for one in self.uses.linears)
                results = [self.uses.items(one) for one in self.uses.trace.results]
                yield from ((one, None, None) for one in results if one is not None)
            return
        x = following.does.x
        if self.last:
            yield from ((x, norm, None) for norm in self._making(x))
        yield x, None, None
        if not self.last:
            yield from ((norm.x, None, norm) for norm in self._making(x))

    def _layers(self, parts: list[LayerPart]) -> list[list[LayerPart]]:
        """The parts of each layer: they come again in the same order."""
        kinds = [part.kind for part in parts]
        for size in range(1, len(kinds) + 1):
            if len(kinds) % size == 0 and kinds == kinds[:size] * (len(kinds) // size):
                break
        return [parts[i : i + size] for i in range(0, len(parts), size)]


def _uneven(layers: list[list[LayerPart]]) -> list[str]:
    """How layers are not like the first, in words."""
    found: list[str] = []
    for i, layer in enumerate(layers):
        for one, first in zip(layer, layers[0], strict=True):
            forms = [] if one.is_doubtful or first.is_doubtful else zip(first.form, one.form, strict=True)
            apart = [f"{name} is {b}, not {a}" for (name, a), (_, b) in forms if a != b]
            found += [f"layer {i} is not like layer 0: of its {one.kind}, {', '.join(apart)}"] if apart else []
    return found


def _solved(y: Tensor, terms: list[Tensor]) -> tuple[list[float], float]:
    """The numbers by which a sum of terms is nearest to y, and how far it is then."""
    if any(one.shape != y.shape for one in terms):
        return [1.0] * len(terms), float("inf")
    columns = torch.stack([one.reshape(-1) for one in terms], 1).double()
    found = torch.linalg.lstsq(columns, y.reshape(-1, 1).double()).solution
    return [float(one) for one in found.reshape(-1)], near((columns @ found).reshape(y.shape), y)


def _sum(factors: list[float], terms: list[Tensor]) -> Tensor:
    return torch.stack([factor * one for factor, one in zip(factors, terms, strict=True)]).sum(0)


def _plain(number: float, apart: float) -> float:
    """The number of fewest digits that is as near as what it was found by, which theirs may have rounded."""
    for digits in range(1, 15):
        short = float(f"{number:.{digits}g}")
        if abs(short - number) <= max(10 * apart, 1e-12) * abs(number):
            return short
    return number
