"""What a stream begins with: embeddings of items or patches of a picture, positions, a norm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import sqrt

import torch

from .listening.trace import Tensor
from .listening.uses import CLOSE, Elements, LinearUse, NormUse, WeightUses, near, same

SINUSOIDS = ("interleaved", "halves", "halves to the end")


@dataclass(eq=False)
class AddedPlaces:
    """What is added for positions. kind: "none", "learned" or one of SINUSOIDS. table: where learned, [rows, model].

    offset: the row, or the position, of the first item. factor: by which it is multiplied.
    """

    kind: str = "none"
    table: Elements | None = None
    offset: int = 0
    factor: float = 1.0
    frozen: bool = False


@dataclass(eq=False)
class StreamStart:
    """source: the input. table: embeddings of items, or None: patches of a picture, mapped, normed before and behind,
    or vectors. enter: the map of vectors to the stream.

    segment: a table whose first row is added, too. first: parameters that stand before the patches.
    sizes: of the picture, high and wide, of a patch, down and across, and how many colours.
    apart: how far the reading is from the values.
    """

    source: str
    table: Elements | None
    factor: float
    places: AddedPlaces
    norm: NormUse | None
    segment: Elements | None = None
    enter: LinearUse | None = None
    patch: LinearUse | None = None
    patch_order: tuple[str, ...] = ()
    patch_norms: tuple[NormUse | None, NormUse | None] = (None, None)
    first: list[Elements] = field(default_factory=list)
    sizes: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    apart: float = float("inf")
    doubts: list[str] = field(default_factory=list)


def begun(uses: WeightUses, x: Tensor, norms: list[NormUse]) -> StreamStart:
    """How x [batch, items, model] is made; `norms` make it."""
    tried: list[StreamStart] = []
    for value, norm in [(x, None), *((norm.x, norm) for norm in norms)]:
        tried += [*_of_items(uses, value, norm), *_of_patches(uses, value, norm), *_of_vectors(uses, value, norm)]
    if not tried:
        return StreamStart(
            "", None, 1.0, AddedPlaces(), None, doubts=["its first layer reads no embeddings of an input"]
        )
    best = min(tried, key=lambda one: one.apart)
    if best.apart > CLOSE:
        best.doubts.append(
            "what its first layer reads is no sum of embeddings and positions that were tried: "
            f"{best.apart:.1e} of the standard deviation away"
        )
    return best


def _of_items(uses: WeightUses, x: Tensor, norm: NormUse | None) -> Iterator[StreamStart]:
    given = {name: value.tensor for name, value in uses.trace.inputs.items()}
    for lookup in uses.lookups:
        if lookup.counted or lookup.y.ndim != 3:
            continue
        turned = lookup.y.transpose(0, 1)
        found = [(name, lookup.y) for name, ids in given.items() if torch.equal(ids, lookup.ids)]
        found += [(name, turned) for name, ids in given.items() if torch.equal(ids.mT, lookup.ids)]
        if not found or found[0][1].shape != x.shape:
            continue
        name, y = found[0]
        factor = _factor(x, y)
        rest = x - factor * y
        places, segment, apart = _places(uses, rest.mean(0), x, factor * y)
        yield StreamStart(name, lookup.weight, _neat(factor, x.shape[-1]), places, norm, segment, apart=apart)


def _of_vectors(uses: WeightUses, x: Tensor, norm: NormUse | None) -> Iterator[StreamStart]:
    """An input of the stream's own depth, or mapped to it."""
    for name, value in uses.trace.inputs.items():
        if value.tensor.is_floating_point() and value.tensor.shape == x.shape:
            places, segment, apart = _places(uses, (x - value.tensor).mean(0), x, value.tensor)
            yield StreamStart(name, None, 1.0, places, norm, segment, apart=apart)
        for linear in uses.linears:
            if value.tensor.is_floating_point() and same(linear.x, value.tensor) and linear.y.shape == x.shape:
                places, segment, apart = _places(uses, (x - linear.y).mean(0), x, linear.y)
                yield StreamStart(name, None, 1.0, places, norm, segment, linear, apart=apart)


def _factor(x: Tensor, y: Tensor) -> float:
    """By how much y stands in x, where all else of x is alike in all examples."""
    a, b = (x - x.mean(0)).reshape(-1).double(), (y - y.mean(0)).reshape(-1).double()
    return float((a * b).sum() / (b * b).sum())


def _neat(factor: float, model: int) -> float:
    """The number that is meant."""
    for meant in (1.0, sqrt(model), 1 / sqrt(model)):
        if abs(factor / meant - 1) < 1e-6:
            return meant
    return float(f"{factor:.9g}")


# -- positions -----------------------------------------------------------------------------------------------------


def sinusoids(kind: str, count: int, offset: int, model: int, dtype: torch.dtype) -> Tensor:
    """[count, model] (Vaswani et al. 2017, section 3.5), sine and cosine side by side or in two halves."""
    half = model // 2
    steps = half - 1 if kind == "halves to the end" else half
    rates = 10000.0 ** (-torch.arange(half, dtype=dtype) / steps)
    angle = (torch.arange(count, dtype=dtype) + offset)[:, None] * rates
    wave = angle.sin(), angle.cos()
    return torch.stack(wave, -1).flatten(1) if kind == "interleaved" else torch.cat(wave, -1)


def _places(uses: WeightUses, rest: Tensor, x: Tensor, known: Tensor) -> tuple[AddedPlaces, Elements | None, float]:
    """What makes the rest [items, model] of x, beside what is known: the nearest, and how far it is."""
    count, model = rest.shape
    deviation = float(x.std())
    found: tuple[AddedPlaces, Elements | None, float] = AddedPlaces(), None, near(known, x)

    def tried(made: Tensor, places: AddedPlaces, segment: Elements | None = None) -> None:
        nonlocal found
        apart = float((known + made - x).abs().max()) / deviation
        if apart < 0.5 * found[2]:
            found = places, segment, apart

    mapping = {one.weight.name for one in uses.linears}  # no tables of positions, and large
    tables = {name: table for name, table in uses.parameters.items() if name not in mapping}
    for name, table in tables.items():
        rows = table.detach().reshape(-1, model) if table.numel() % model == 0 and table.shape[-1] == model else None
        if rows is None or name not in uses.trace.used or len(rows) > 1 << 20:
            continue
        at = Elements.whole(name, rows.shape)
        if len(rows) >= count:
            offset, factor = _rows(rest, rows)
            tried(factor * rows[offset : offset + count], AddedPlaces("learned", at, offset, _neat(factor, model)))
            for other, small in tables.items():
                if other != name and small.ndim == 2 and small.shape[1] == model and len(small) < count:
                    segment = Elements.whole(other, small.shape)
                    offset, _ = _rows(rest - small[0].detach(), rows)
                    tried(
                        rows[offset : offset + count] + small[0].detach(), AddedPlaces("learned", at, offset), segment
                    )
    if model % 2 == 0:
        for kind in SINUSOIDS:
            for offset in (0, 1, 2):
                made = sinusoids(kind, count, offset, model, rest.dtype)
                factor = float((rest * made).sum() / (made * made).sum())
                tried(factor * made, AddedPlaces(kind, None, offset, _neat(factor, model)))
    return found


def _rows(rest: Tensor, rows: Tensor) -> tuple[int, float]:
    """The row of the first item, and the factor, by which rows of a table are nearest."""
    best = (float("inf"), 0, 1.0)
    for offset in range(min(len(rows) - len(rest), 4) + 1):
        some = rows[offset : offset + len(rest)]
        factor = float((rest * some).sum() / (some * some).sum())
        best = min(best, (float((rest - factor * some).square().sum()), offset, factor))
    return best[1], best[2]


# -- patches -------------------------------------------------------------------------------------------------------


def _of_patches(uses: WeightUses, x: Tensor, norm: NormUse | None) -> Iterator[StreamStart]:
    for linear in uses.linears:
        for name, order, taken in _pictures(uses, linear):
            behind = [one for one in uses.norms if same(one.x, linear.y)]
            for y, after in [(linear.y, None), *((one.y, one) for one in behind)]:
                extra = x.shape[1] - y.shape[1]
                if x.ndim != 3 or y.shape[-1] != x.shape[-1] or not 0 <= extra <= 8:
                    continue
                rest = (x[:, extra:] - y).mean(0)
                for begin in _placed(uses, x, y, rest, extra):
                    begin.source, begin.patch, begin.patch_order, begin.norm = name, linear, order, norm
                    begin.patch_norms = (taken, after)
                    begin.sizes = _sizes(uses.trace.inputs[name].tensor, linear)
                    yield begin


def _pictures(uses: WeightUses, linear: LinearUse) -> Iterator[tuple[str, tuple[str, ...], NormUse | None]]:
    """The input whose patches a map reads, in which order their pixels stand, and the norm before it."""
    for name, value in uses.trace.inputs.items():
        picture = value.tensor
        if picture.ndim != 4 or not picture.is_floating_point():
            continue
        if linear.patches is not None:
            if same(linear.x, picture):
                yield name, ("colour", "down", "across"), None
            continue
        if linear.x.ndim != 3:
            continue
        side = round(sqrt(linear.given / picture.shape[1]))
        if side * side * picture.shape[1] != linear.given or picture.shape[2] % side or picture.shape[3] % side:
            continue
        cut = picture.unfold(2, side, side).unfold(3, side, side)  # batch, colour, rows, columns, down, across
        for order, turned in (
            (("down", "across", "colour"), cut.permute(0, 2, 3, 4, 5, 1)),
            (("colour", "down", "across"), cut.permute(0, 2, 3, 1, 4, 5)),
        ):
            flat = turned.reshape(len(picture), -1, linear.given)
            if same(linear.x, flat):
                yield name, order, None
            yield from ((name, order, one) for one in uses.norms if same(one.y, linear.x) and same(one.x, flat))


def _placed(uses: WeightUses, x: Tensor, y: Tensor, rest: Tensor, extra: int) -> Iterator[StreamStart]:
    """With positions of all items or of the patches alone, and with parameters before the patches."""
    model = x.shape[-1]
    tables: list[tuple[Elements | None, Tensor]] = [(None, torch.zeros_like(x[0]))]
    for name, table in uses.parameters.items():
        if name in uses.trace.used and table.shape[-1:] == (model,) and table.numel() == x.shape[1] * model:
            tables.append((Elements.whole(name, (x.shape[1], model)), table.detach().reshape(-1, model)))
    firsts = [
        (name, table.detach().reshape(-1, model))
        for name, table in uses.parameters.items()
        if name in uses.trace.used and table.shape[-1:] == (model,) and table.numel() <= extra * model
    ]
    for piece, added in tables:
        places = AddedPlaces() if piece is None else AddedPlaces("learned", piece)
        first: list[Elements] = []
        wanted = x[0, :extra] - added[:extra]
        made: list[Tensor] = []
        while sum(len(one) for one in made) < extra:
            at = sum(len(one) for one in made)
            fits = [(n, t) for n, t in firsts if at + len(t) <= extra and same(t, wanted[at : at + len(t)])]
            if not fits:
                break
            first.append(Elements.whole(fits[0][0], fits[0][1].shape))
            made.append(fits[0][1])
        head = torch.cat([*made, wanted.new_zeros(extra - sum(len(one) for one in made), model)])
        whole = torch.cat([head.expand(len(x), -1, -1), y], 1) + added
        yield StreamStart("", None, 1.0, places, None, first=first, apart=near(whole, x))


def _sizes(picture: Tensor, linear: LinearUse) -> tuple[int, int, int, int, int]:
    colour, high, wide = picture.shape[1:]
    if linear.patches is not None:
        down, across = linear.patches
    else:
        down = across = round(sqrt(linear.given / colour))
    return high, wide, down, across, colour
