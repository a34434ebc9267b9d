"""Which maps of a run make attention, and what is done between them, each tried on the numbers of the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations

import torch

from .listening.trace import RunStep, RunTrace, RunValue, Tensor
from .listening.uses import CLOSE, Elements, LinearUse, NormUse, WeightUses, makers, near, same

BASES = (10000.0, 500000.0, 1000000.0, 100000.0, 50000.0, 1000.0, 5000000.0, 8000000.0)
_PRODUCTS = ("aten::bmm", "aten::mm", "aten::baddbmm", "aten::matmul")
_MASKED = -5000.0  # scores below are masked, however theirs does it


@dataclass(frozen=True)
class Rotary:
    """How positions turn the first `turned` items of a head: 2 i and 2 i + 1 together (`pairs`), or i and i + half."""

    base: float
    turned: int
    pairs: bool

    def __call__(self, x: Tensor) -> Tensor:
        """x: [*, items, key]."""
        half = self.turned // 2
        rates = self.base ** (-torch.arange(half, dtype=x.dtype) / half)
        angle = torch.arange(x.shape[-2], dtype=x.dtype)[:, None] * rates
        head, rest = x[..., : self.turned], x[..., self.turned :]
        a, b = (head[..., 0::2], head[..., 1::2]) if self.pairs else (head[..., :half], head[..., half:])
        turned = a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()
        joined = torch.stack(turned, -1).flatten(-2) if self.pairs else torch.cat(turned, -1)
        return torch.cat([joined, rest], -1)


def bases_of(trace: RunTrace) -> list[float]:
    """The bases of rotary positions of which tables of the run are made: cosines, as they are or of complex numbers."""
    found: dict[float, None] = {}
    for value in dict.fromkeys(read for step in trace.steps for read in step.reads if read.kind == "constant"):
        table = value.tensor.real if value.tensor.is_complex() else value.tensor
        if not table.is_floating_point() or table.ndim < 2 or min(table.shape[-2:]) < 2:
            continue
        first, second = table.double().reshape(-1, *table.shape[-2:])[0, :2]
        if (
            not bool((first == 1).all())
            or not bool((second.abs() < 1).all())
            or float(second.max()) <= float(second.min())
        ):
            continue
        rates = second.clamp(-1, 1).acos().unique(sorted=True).flip(0)
        base = float(rates[0] / rates[1]) ** len(rates)
        meant = float(f"{base:.4g}")
        if float(rates[0]) > 0.99 and abs(base / meant - 1) < 1e-2:
            found[meant] = None
    return list(found)


@dataclass(frozen=True, slots=True)
class ManyElements(Elements):
    """Equal parts of several parameters, one after the other."""

    names: tuple[str, ...] = ()


def _of(piece: Elements, rows: Tensor) -> Elements:
    return piece if isinstance(piece, ManyElements) else Elements(piece.name, piece.rows[rows], piece.columns)


@dataclass(frozen=True)
class Split:
    """Where queries, keys or values lie among what one map makes: `rows` of it, in the order of heads and items."""

    linear: LinearUse
    rows: Tensor

    @staticmethod
    def whole(linear: LinearUse) -> Split:
        """All that a map makes."""
        return Split(linear, torch.arange(linear.made))

    @property
    def weight(self) -> Elements:
        return _of(self.linear.weight, self.rows)

    @property
    def bias(self) -> Elements | None:
        return None if self.linear.bias is None else _of(self.linear.bias, self.rows)

    def heads(self, count: int) -> Tensor:
        """[batch, heads, items, key]."""
        y = self.linear.y[..., self.rows]
        return y.reshape(*y.shape[:2], count, -1).transpose(1, 2)


@dataclass(eq=False)
class AttentionUse:
    """One attention. mask: "none", "causal", or how many items it sees, itself included. scale: of scores.

    alibi: scores fall with distance (Press et al. 2022). parted: values are made of something else than keys. doubts:
    what does not fit, in words; empty where all fits.
    """

    Q: Split
    K: Split
    V: Split
    out: LinearUse
    heads: int
    groups: int
    key: int
    scale: float
    mask: str | int
    rotary: Rotary | None
    q_norm: NormUse | None
    k_norm: NormUse | None
    cross: bool
    doubts: list[str]
    alibi: bool = False
    parted: bool = False

    @property
    def x(self) -> Tensor:
        return self.Q.linear.x

    @property
    def y(self) -> Tensor:
        return self.out.y

    @property
    def start(self) -> int:
        return self.Q.linear.step.number

    @property
    def end(self) -> int:
        return self.out.last.number

    @property
    def linears(self) -> list[LinearUse]:
        return [self.Q.linear, self.K.linear, self.V.linear, self.out]


class NotUnderstood(Exception):
    """A part of the module that is not understood, in words."""


@dataclass
class _Core:
    """The softmaxes that one map follows: probabilities and scores, [batch, heads, queries, keys]."""

    steps: list[RunStep]
    befores: list[RunValue]
    out: LinearUse
    weights: Tensor
    scores: Tensor

    @property
    def heads(self) -> int:
        return self.weights.shape[1]


def attentions(uses: WeightUses, bases: Sequence[float]) -> list[AttentionUse]:
    """All of a run, in its order. Raises NotUnderstood where the maps of one cannot be told apart."""
    return [_read(uses, core, bases) for core in _cores(uses)]


def _cores(uses: WeightUses) -> Iterator[_Core]:
    trace = uses.trace
    lasts = {one.step.number: one for one in uses.linears}
    behind: dict[int, tuple[LinearUse, list[RunStep]]] = {}
    scored: dict[int, RunValue] = {}
    for step in trace.steps:
        before = _softmax_of(step)
        if before is None:
            continue
        scored[step.number] = before
        found = list(trace.on(step.makes[0], lambda each: each.number in lasts))
        if not any(one.op in _PRODUCTS and one.number not in lasts for one in found):
            continue  # of results, not of scores
        outs = sorted(one.number for one in found if one.number in lasts)
        if outs:
            behind.setdefault(outs[0], (lasts[outs[0]], []))[1].append(step)
    for out, steps in behind.values():
        weights = [_by_head(step.makes[0].tensor, trace.batch) for step in steps]
        befores = [scored[step.number] for step in steps]
        scores = [_by_head(one.tensor, trace.batch) for one in befores]
        yield _Core(steps, befores, out, torch.cat(weights, 1), torch.cat(scores, 1))


def _softmax_of(step: RunStep) -> RunValue | None:
    """What a step is the softmax of, along the last axis: PyTorch's, or exp(x - max) / sum written out."""
    if step.op in ("aten::_softmax", "aten::_safe_softmax"):
        return step.reads[0]
    if step.op != "aten::div" or len(step.reads) != 2 or not step.makes:
        return None
    up, y = [*makers(step.reads[0])][-1].step, step.makes[0].tensor
    if up is None or up.op != "aten::exp" or y.ndim < 3 or not same(y.sum(-1), torch.ones_like(y[..., 0])):
        return None
    before = up.reads[0]
    lowered = [*makers(before)][-1].step
    if lowered is not None and lowered.op == "aten::sub" and lowered.reads[-1].tensor.shape[-1:] == (1,):
        return lowered.reads[0]
    return before


def _by_head(tensor: Tensor, batch: int) -> Tensor:
    """[batch, heads, queries, keys], of one with heads apart, in groups, or together with the batch."""
    return tensor.reshape(batch, -1, *tensor.shape[-2:])


def _read(uses: WeightUses, core: _Core, bases: Sequence[float]) -> AttentionUse:
    softmaxes = {step.number for step in core.steps}
    through = uses.nearest(core.out.operand, softmaxes)
    if len(core.steps) > 1:
        return _of_many(uses, core, bases)
    pair = uses.nearest(core.befores[0])
    heads = core.heads
    if core.out.given % heads or not through or not pair:
        raise NotUnderstood(f"attention before `{core.out.weight.name}`: no queries, keys and values of {heads} heads")
    key = core.out.given // heads
    if len(through) == heads > 1 and len(pair) == 2 * heads and all(one.made == key for one in (*through, *pair)):
        V, families = _stacked(through, pair, heads)
    else:
        V, families = _values(core, through, pair, heads, key)
    return _scored(uses, core, V, families, heads, key, bases)


def _values(
    core: _Core, through: list[LinearUse], pair: list[LinearUse], heads: int, key: int
) -> tuple[Split, list[tuple[Split, Split]]]:
    """The values, and what queries and keys may be then."""
    tried: list[tuple[Split, list[tuple[Split, Split]]]] = []
    for linear in through:
        shared = sum(one is linear for one in pair)
        others = [one for one in pair if one is not linear]
        tried += list(_layouts(linear, shared, others, heads, key))
    best = min(tried, key=lambda one: _mixed(core, one[0], heads, key), default=None)
    if best is None or _mixed(core, best[0], heads, key) > CLOSE:
        raise NotUnderstood(
            f"attention before `{core.out.weight.name}`: with weights read as [batch, heads, queries, keys], the "
            f"values that its {heads} heads weigh are no part of what "
            + " or ".join(f"`{one.weight.name}`" for one in through)
            + " makes"
        )
    return best


def _mixed(core: _Core, V: Split, heads: int, key: int) -> float:
    values = V.heads(len(V.rows) // key)
    if values.shape[-2] != core.weights.shape[-1]:
        return float("inf")
    mixed = core.weights @ values.repeat_interleave(heads // values.shape[1], 1)
    return near(mixed.transpose(1, 2).flatten(2), core.out.x)


def _layouts(
    linear: LinearUse, shared: int, others: list[LinearUse], heads: int, key: int
) -> Iterator[tuple[Split, list[tuple[Split, Split]]]]:
    """How one map may hold the values, alone or with keys and queries."""
    rows = torch.arange(linear.made)
    if not shared:
        groups = linear.made // key
        if linear.made % key == 0 and groups and heads % groups == 0 and len(others) in (1, 2):
            pairs = _pairs(others, groups, heads, key)
            yield Split(linear, rows), pairs
    elif others:  # keys and values
        groups = linear.made // (2 * key)
        if linear.made == 2 * groups * key and groups and heads % groups == 0:
            plain = rows.reshape(2, -1)
            per = rows.reshape(groups, 2, key).transpose(0, 1).reshape(2, -1)
            for parts in (plain, plain.flip(0), per, per.flip(0)):
                for query in others:
                    if query.made == heads * key:
                        found = [(Split.whole(query), Split(linear, parts[0]))]
                        yield Split(linear, parts[1]), found
    else:
        groups = (linear.made // key - heads) // 2
        if linear.made == (heads + 2 * groups) * key and groups > 0 and heads % groups == 0:
            for order in permutations("QKV"):
                for cut in (_plain(order, heads, groups, key), _per_group(order, heads, groups, key)):
                    Q, K, V = (Split(linear, cut[name]) for name in "QKV")
                    yield V, [(Q, K)]


def _pairs(others: list[LinearUse], groups: int, heads: int, key: int) -> list[tuple[Split, Split]]:
    if len(others) == 1:  # queries and keys together
        (both,) = others
        if both.made != (heads + groups) * key:
            return []
        rows, cut = torch.arange(both.made), heads * key
        halves = rows.reshape(-1, 2, key).transpose(0, 1).reshape(2, -1) if groups == heads else None
        found = [(rows[:cut], rows[cut:]), (rows[groups * key :], rows[: groups * key])]
        found += [] if halves is None else [(halves[0], halves[1]), (halves[1], halves[0])]
        return [(Split(both, one), Split(both, other)) for one, other in found]
    return [
        (Split.whole(one), Split.whole(other))
        for one, other in permutations(others)
        if one.made == heads * key and other.made == groups * key
    ]


def _plain(order: Sequence[str], heads: int, groups: int, key: int) -> dict[str, Tensor]:
    sizes = [(heads if name == "Q" else groups) * key for name in order]
    return dict(zip(order, torch.split(torch.arange(sum(sizes)), sizes), strict=True))


def _per_group(order: Sequence[str], heads: int, groups: int, key: int) -> dict[str, Tensor]:
    sizes = [(heads // groups if name == "Q" else 1) * key for name in order]
    grid = torch.arange(groups * sum(sizes)).reshape(groups, -1)
    return {name: part.reshape(-1) for name, part in zip(order, torch.split(grid, sizes, 1), strict=True)}


def _of_many(uses: WeightUses, core: _Core, bases: Sequence[float]) -> AttentionUse:
    """Heads that are modules of their own, one beside the other."""
    parts: dict[str, list[LinearUse]] = {"Q": [], "K": [], "V": []}
    softmaxes = {step.number for step in core.steps}
    values = uses.nearest(core.out.operand, softmaxes)
    key = core.out.given // core.heads
    for i in range(core.heads):
        pair = uses.nearest(core.befores[i])
        held = [one for one in values if same(core.weights[:, i] @ one.y, core.out.x[..., i * key : (i + 1) * key])]
        found = [
            (Q, K) for Q, K in permutations(pair, 2) if Q.made == K.made and _fits(core.scores[:, i : i + 1], Q.y, K.y)
        ]
        if len(held) != 1 or not found:
            raise NotUnderstood(f"attention before `{core.out.weight.name}`: head {i} is not made of three maps")
        for name, linear in zip("QKV", (*found[0], held[0]), strict=True):
            parts[name].append(linear)
    Q, K, V = (_joined(parts[name]) for name in "QKV")
    return _scored(uses, core, V, [(Q, K)], core.heads, key, bases)


def _stacked(through: list[LinearUse], pair: list[LinearUse], heads: int) -> tuple[Split, list[tuple[Split, Split]]]:
    """Heads that are modules of their own, stacked in the order in which they are computed."""
    values, both = (sorted(some, key=lambda one: one.step.number) for some in (through, pair))
    cuts = [(both[:heads], both[heads:]), (both[0::2], both[1::2])]
    return _joined(values), [(_joined(one), _joined(other)) for a, b in cuts for one, other in ((a, b), (b, a))]


def _fits(scores: Tensor, Q: Tensor, K: Tensor) -> bool:
    return _scaled(scores, (Q @ K.mT)[:, None], scores > _MASKED)[1] < CLOSE


def _joined(linears: list[LinearUse]) -> Split:
    """Several maps of one value as if they were one."""
    first = linears[0]
    biases = [one.bias for one in linears if one.bias is not None]
    joined = LinearUse(
        first.step,
        first.last,
        _many([one.weight for one in linears]),
        _many(biases) if biases else None,
        first.x,
        torch.cat([one.y for one in linears], -1),
    )
    return Split(joined, torch.arange(joined.y.shape[-1]))


def _many(pieces: Sequence[Elements]) -> ManyElements:
    rows = torch.cat([one.rows for one in pieces])
    return ManyElements("", rows, pieces[0].columns, tuple(one.name for one in pieces))


# -- scores --------------------------------------------------------------------------------------------------------


def _scored(
    uses: WeightUses,
    core: _Core,
    V: Split,
    families: list[tuple[Split, Split]],
    heads: int,
    key: int,
    bases: Sequence[float],
) -> AttentionUse:
    """With the queries, keys, norms and positions whose scores are nearest to theirs."""
    groups, scores = len(V.rows) // key, core.scores
    seen = scores > _MASKED
    best: tuple[float, AttentionUse] | None = None
    for Q, K in families:
        if Q.linear.y.shape[1] != scores.shape[-2] or K.linear.y.shape[1] != scores.shape[-1]:
            continue
        q_norm, k_norm = (_norm_of(uses, one, count) for one, count in ((Q, heads), (K, groups)))
        q, k = _normed(Q, q_norm, heads), _normed(K, k_norm, groups)
        cross = not same(Q.linear.x, K.linear.x)
        slanted = None if cross else _slanted(scores, q @ k.repeat_interleave(heads // groups, 1).mT, seen)
        attention = partial(
            AttentionUse, Q, K, V, core.out, heads, groups, key, mask="none", q_norm=q_norm, k_norm=k_norm, cross=cross
        )
        if slanted is not None and groups == heads:
            best = 0.0, attention(scale=slanted, rotary=None, doubts=[], alibi=True)
            break
        for rotary in [None] if cross else _rotaries(key, bases):
            a, b = (q, k) if rotary is None else (rotary(q), rotary(k))
            made = a @ b.repeat_interleave(heads // groups, 1).mT
            scale, apart = _scaled(scores, made, seen)
            if best is None or apart < 0.5 * best[0]:
                doubts = [] if apart < CLOSE else [_doubt(apart, scale)]
                best = apart, attention(scale=scale, rotary=rotary, doubts=doubts)
    if best is None:
        raise NotUnderstood(f"attention before `{core.out.weight.name}`: nothing that could be its queries and keys")
    found = best[1]
    found.parted = found.cross and not same(found.K.linear.x, V.linear.x)
    mask = _mask(seen)
    if mask is None:
        found.doubts.append("its mask is neither of the past, nor of a window of it, nor none")
    else:
        found.mask = mask
    return found


def slopes(heads: int) -> Tensor:
    """How fast ALiBi's scores fall with distance (Press et al. 2022), [heads]."""
    most = 2 ** (heads.bit_length() - 1)
    plain = [2 ** (-8 * (i + 1) / most) for i in range(most)]
    return torch.tensor([*plain, *(2 ** (-4 * (2 * i + 1) / most) for i in range(heads - most))], dtype=torch.float64)


def _slanted(scores: Tensor, made: Tensor, seen: Tensor) -> float | None:
    """The factor of products to which ALiBi is added, if that is what the scores are, but for a number each query."""
    heads, count = scores.shape[1], scores.shape[-1]
    if heads < 2 or scores.shape[-2] != count:
        return None
    place = torch.arange(count, dtype=torch.float64)
    rest = scores.double() - slopes(heads)[:, None, None] * place
    weight = seen.double()

    def levelled(x: Tensor) -> Tensor:
        mean = (x * weight).nan_to_num(0.0).sum(-1, keepdim=True) / weight.sum(-1, keepdim=True)
        return torch.where(seen, x - mean, 0.0)

    a, b = levelled(torch.where(seen, rest, 0.0)), levelled(made.double())
    scale, apart = _scaled(a, b, seen)
    return scale if apart < CLOSE else None


def _doubt(apart: float, scale: float) -> str:
    return (
        f"its scores are no multiple of the products of queries and keys: nearest to them is {scale:.4g} times these, "
        f"{apart:.1e} of the standard deviation away"
    )


def _rotaries(key: int, bases: Sequence[float]) -> Iterator[Rotary | None]:
    yield None
    turned = dict.fromkeys(part for part in (key, key // 2, key // 4, 3 * key // 4) if part >= 2 and part % 2 == 0)
    for part in turned:
        for base in bases:
            for pairs in (False, True):
                yield Rotary(base, part, pairs)


def _scaled(scores: Tensor, made: Tensor, seen: Tensor) -> tuple[float, float]:
    """The number by which products are nearest to the scores that are not masked, and how far they are then."""
    wanted, given = scores[seen].double(), made[seen].double()
    square = float(given.square().sum())
    scale = float((wanted * given).sum()) / square if square else 0.0
    deviation = float(wanted.std()) or 1.0
    return scale, float((scale * given - wanted).abs().max()) / deviation if len(wanted) else float("inf")


def _mask(seen: Tensor) -> str | int | None:
    """What is seen alike in all examples and heads: all, the past, or the last so many items."""
    first = seen[0, 0]
    if not bool((seen == first).all()):
        return None
    if bool(first.all()):
        return "none"
    if first.shape[0] != first.shape[1]:
        return None
    apart = torch.arange(first.shape[0])[:, None] - torch.arange(first.shape[1])
    if torch.equal(first, apart >= 0):
        return "causal"
    window = int(first.sum(-1).max())
    return window if torch.equal(first, (apart >= 0) & (apart < window)) else None


def _norm_of(uses: WeightUses, split: Split, count: int) -> NormUse | None:
    """The norm that follows queries or keys, of each head, or of all of them at once."""
    heads = split.heads(count)
    flat = heads.transpose(1, 2).flatten(2)
    for norm in uses.norms:
        size = norm.x.shape[-1]
        if size == heads.shape[-1] and norm.x.numel() == heads.numel():
            if same(_plainly(norm.x, heads), heads):
                return norm
        elif size == flat.shape[-1] and norm.x.numel() == flat.numel() and same(norm.x.reshape(flat.shape), flat):
            return norm
    return None


def _plainly(x: Tensor, heads: Tensor) -> Tensor:
    """Values of heads, [batch, heads, items, key], of [batch, items, heads, key] or as they are."""
    if x.shape == heads.shape:
        return x
    batch, count, items, key = heads.shape
    return x.reshape(batch, items, count, key).transpose(1, 2)


def _normed(split: Split, norm: NormUse | None, count: int) -> Tensor:
    heads = split.heads(count)
    if norm is None:
        return heads
    if norm.x.shape[-1] == heads.shape[-1]:
        return _plainly(norm.y, heads)
    flat = heads.transpose(1, 2).flatten(2)
    return norm.y.reshape(*flat.shape[:2], count, -1).transpose(1, 2)
