"""What ops mean, on named arrays in float64: the generator's own reading of LANGUAGE.md.

Shares nothing with the compiler. An `Arr` has the axes that it varies along; what it lacks it is constant along.

Picks of nothing (`topk[..](x where m)`) are followed as the page says: beside its data an array has where it holds
none, and each op says what it leaves out, what it reads in place of them, and what of its result is of nothing, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import reduce as fold
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


_infinite: ContextVar[list[Array] | None] = ContextVar("_infinite", default=None)


@contextmanager
def noting_infinities() -> Iterator[list[Array]]:
    """Values made meanwhile in which something is infinite, or no number."""
    found: list[Array] = []
    token = _infinite.set(found)
    try:
        yield found
    finally:
        _infinite.reset(token)


@dataclass(frozen=True)
class Arr:
    """valid: where it is no pick of nothing, over some of its axes; None: everywhere. What stands elsewhere is any."""

    data: Array
    axes: tuple[str, ...]
    valid: Arr | None = None

    def __post_init__(self) -> None:
        found = _infinite.get()
        if found is not None and not np.isfinite(self.data.astype(float)).all():
            found.append(self.data)

    def along(self, order: Sequence[str]) -> Array:
        """The data with these axes in this order; size 1 where it has none."""
        kept = [axis for axis in order if axis in self.axes]
        assert len(kept) == len(self.axes), (self.axes, order)
        data = self.data.transpose([self.axes.index(axis) for axis in kept])
        shape = iter(data.shape)
        return data.reshape([next(shape) if axis in self.axes else 1 for axis in order])

    def full(self, axes: Sequence[str], sizes: Mapping[str, int]) -> Arr:
        """With these axes too, written out."""
        more = tuple(axis for axis in axes if axis not in self.axes)
        shape = (*(sizes[axis] for axis in more), *self.data.shape)
        return Arr(np.broadcast_to(self.data, shape), (*more, *self.axes), self.valid)

    def rename(self, names: Mapping[str, str]) -> Arr:
        valid = None if self.valid is None else self.valid.rename(names)
        return Arr(self.data, tuple(names.get(axis, axis) for axis in self.axes), valid)

    def take(self, at: int, axis: str) -> Arr:
        """One item along an axis, where it has that."""
        if axis not in self.axes:
            return self
        rest = tuple(a for a in self.axes if a != axis)
        valid = None if self.valid is None else self.valid.take(at, axis)
        return Arr(self.data.take(at, self.axes.index(axis)), rest, valid)

    def stands(self, axes: Sequence[str]) -> bool:
        """Whether picks of nothing may stand along some of these axes."""
        return self.valid is not None and not set(self.valid.axes).isdisjoint(axes)

    def filled(self, value: float) -> Arr:
        """With this in place of picks of nothing."""
        if self.valid is None:
            return self
        fill = bool(value) if self.data.dtype.kind == "b" else value if self.data.dtype.kind == "f" else int(value)
        order = union([self, self.valid])
        return Arr(np.where(self.valid.along(order), self.along(order), fill), order, self.valid)


def number(value: float | int | bool) -> Arr:
    return Arr(np.asarray(value), ())


def union(values: Sequence[Arr]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(axis for value in values for axis in value.axes))


def both(valids: Iterable[Arr | None]) -> Arr | None:
    """Where all of these are valid."""
    found = [valid for valid in valids if valid is not None]
    if not found:
        return None
    order = union(found)
    return Arr(fold(np.logical_and, (valid.along(order) for valid in found)), order)


def spread(valid: Arr | None, axes: Sequence[str], sizes: Mapping[str, int]) -> Arr:
    """With these axes too."""
    return (number(True) if valid is None else valid).full(axes, sizes)


def untouched(values: Sequence[Arr], axes: Sequence[str]) -> Arr | None:
    """Where the result of an op on these axes is valid: picks of nothing along them are left out."""
    return both(value.valid for value in values if not value.stands(axes))


_rounds: ContextVar[np.random.Generator | None] = ContextVar("_rounds", default=None)


@contextmanager
def rounded_otherwise(draw: np.random.Generator) -> Iterator[None]:
    """Functions of items come out otherwise in their last bits, as those of another library may."""
    token = _rounds.set(draw)
    try:
        yield
    finally:
        _rounds.reset(token)


def pointwise(f: Callable[..., Any], *values: Arr) -> Arr:
    valid = both(value.valid for value in values)
    values = tuple(value.filled(1) for value in values)
    order, draw = union(values), _rounds.get()
    made = np.asarray(f(*(value.along(order) for value in values)))
    if draw is not None and made.dtype.kind == "f":
        made = made * (1 + 2e-16 * draw.normal(size=made.shape))
    return Arr(made, order, valid)


def choose(c: Arr, x: Arr, y: Arr) -> Arr:
    """select: it is of nothing where the side that is taken is."""
    made = pointwise(np.where, *(replace(value, valid=None) for value in (c, x, y)))
    if x.valid is None and y.valid is None:
        return replace(made, valid=c.valid)
    taken = pointwise(np.where, replace(c, valid=None), x.valid or number(True), y.valid or number(True))
    return replace(made, valid=both([c.valid, taken]))


def validity(pick: Arr) -> Arr:
    return number(True) if pick.valid is None else pick.valid


def _over(x: Arr, mask: Arr | None, axes: Sequence[str], sizes: Mapping[str, int]) -> tuple[Array, Array, Any, Any]:
    """The operand and its mask written out alike, the places of the axes, and the names of all.

    What happens not to vary along an axis, such as a state after one step, has it all the same.
    """
    x = x.full(axes, sizes)
    masks = [mask, *(value.valid for value in (x, mask) if value is not None and value.stands(axes))]
    keeps = both(masks) or number(True)
    order = union([x, keeps])
    data, keep = x.along(order), keeps.along(order)
    shape = np.broadcast_shapes(data.shape, keep.shape)
    return np.broadcast_to(data, shape), np.broadcast_to(keep, shape), tuple(order.index(a) for a in axes), order


def reduce(op: str, x: Arr, mask: Arr | None, axes: Sequence[str], sizes: Mapping[str, int]) -> Arr:
    """sum, mean, max, min, any, all, argmax, logsumexp, of what the mask keeps."""
    data, keep, at, order = _over(x, mask, axes, sizes)
    rest = tuple(axis for axis in order if axis not in axes)
    valid = untouched([x] if mask is None else [x, mask], axes)
    if op in ("any", "all"):
        return Arr((keep & data).any(at) if op == "any" else (~keep | data).all(at), rest, valid)
    if op in ("sum", "mean"):
        total = np.where(keep, data, 0).sum(at)
        return Arr(total if op == "sum" else total / np.maximum(keep.sum(at), 1), rest, valid)
    least: float | int = -math.inf if op != "min" else math.inf
    if data.dtype.kind == "i" and op != "logsumexp":
        least = np.iinfo(np.int64).min if op != "min" else np.iinfo(np.int64).max
    data = np.where(keep, data, least)
    if op == "argmax":  # over nothing it is a pick of nothing; an allowed minus infinity is none
        some = Arr(keep.any(at[0]), rest)
        first = ((data == data.max(at[0], keepdims=True, initial=least)) & keep).argmax(at[0]) if data.size else 0
        return Arr(
            np.broadcast_to(first, some.data.shape),
            rest,
            both([valid, None if mask is None and some.data.all() else some]),
        )
    if op == "logsumexp":
        top = data.max(at, keepdims=True, initial=least)
        shift = np.where(np.isfinite(top), top, 0)
        with np.errstate(divide="ignore"):
            return Arr(np.log(np.exp(data - shift).sum(at)) + shift.squeeze(at), rest, valid)
    return Arr(data.max(at, initial=least) if op == "max" else data.min(at, initial=least), rest, valid)


def softmax(x: Arr, mask: Arr | None, axes: Sequence[str], sizes: Mapping[str, int]) -> Arr:
    """Zero where the mask does not keep; over nothing at all zeros, also where it keeps nothing but -inf."""
    data, keep, at, order = _over(x, mask, axes, sizes)
    valid = both([x.valid, None if mask is None else mask.valid])
    if not data.size:
        return Arr(data.astype(float), order, valid)
    data = np.where(keep, data, -math.inf)
    top = data.max(at, keepdims=True)
    shares = np.exp(data - np.where(np.isfinite(top), top, 0))
    total = shares.sum(at, keepdims=True)
    nothing = (total == 0) & ~keep.all(at, keepdims=True)
    return Arr(np.where(keep, shares / np.where(nothing, 1, total), 0), order, valid)


def standardise(x: Arr, axes: Sequence[str], eps: float, centred: bool) -> Arr:
    """layernorm and rmsnorm without their weights."""
    if not x.data.size:
        return x
    at = tuple(x.axes.index(axis) for axis in axes)
    data = x.data - x.data.mean(at, keepdims=True) if centred else x.data
    return Arr(data / np.sqrt((data * data).mean(at, keepdims=True) + eps), x.axes, x.valid)


def l2norm(x: Arr, axes: Sequence[str], eps: float) -> Arr:
    x = x.filled(0) if x.stands(axes) else x
    at = tuple(x.axes.index(axis) for axis in axes)
    return Arr(x.data / np.maximum(np.sqrt((x.data * x.data).sum(at, keepdims=True)), eps), x.axes, x.valid)


def cumsum(x: Arr, axis: str) -> Arr:
    x = x.filled(0)
    return Arr(x.data.cumsum(x.axes.index(axis)), x.axes, x.valid)


def dot(values: Sequence[Arr], axes: Sequence[str]) -> Arr:
    valid = untouched(values, axes)
    values = [value.filled(0) if value.stands(axes) else value for value in values]
    order = (*(axis for axis in union(values) if axis not in axes), *axes)
    product = np.asarray(math.prod((value.along(order) for value in values[1:]), start=values[0].along(order)))
    kept = len(order) - len(axes)
    return Arr(product.sum(tuple(range(kept, len(order)))) if axes else product, order[:kept], valid)


def gather(x: Arr, axis: str, e: Arr) -> Arr:
    """The items of x at the indices e along an axis; the axes that both have align."""
    rest = tuple(a for a in x.axes if a != axis)
    valids = [e.valid]
    if x.valid is not None:
        valids.append(gather(x.valid, axis, e) if axis in x.valid.axes else x.valid)
    e = replace(e.filled(0), valid=None)
    if not x.data.shape[x.axes.index(axis)]:  # all picks are of nothing: there must be something to read
        x = replace(x, data=np.zeros([max(size, 1) for size in x.data.shape], x.data.dtype))
    assert e.data.size == 0 or (e.data.min() >= 0 and e.data.max() < x.data.shape[x.axes.index(axis)]), "out of range"
    order = (*rest, *(a for a in e.axes if a not in rest))
    data = x.rename({axis: "picked"}).along((*order, "picked"))
    index = e.along(order)
    shape = np.broadcast_shapes(data.shape[:-1], index.shape)
    data = np.broadcast_to(data, (*shape, data.shape[-1]))
    found = np.take_along_axis(data, np.broadcast_to(index, shape)[..., None], -1)[..., 0]
    return Arr(found, order, both(valids))


def split(x: Arr, axis: str, parts: Sequence[str], sizes: Mapping[str, int]) -> Arr:
    at = x.axes.index(axis)
    shape = (*x.data.shape[:at], *(sizes[part] for part in parts), *x.data.shape[at + 1 :])
    valid = x.valid if x.valid is None or axis not in x.valid.axes else split(x.valid, axis, parts, sizes)
    return Arr(x.data.reshape(shape), (*x.axes[:at], *parts, *x.axes[at + 1 :]), valid)


def merge(x: Arr, parts: Sequence[str], made: str) -> Arr:
    rest = tuple(axis for axis in x.axes if axis not in parts)
    data = x.along((*rest, *parts))
    shape = data.shape[: len(rest)]
    valid = x.valid
    if x.stands(parts):
        extents = {part: x.data.shape[x.axes.index(part)] for part in parts}
        valid = merge(spread(x.valid, [part for part in parts if part not in valid.axes], extents), parts, made)
    return Arr(data.reshape(*shape, math.prod(data.shape[len(rest) :])), (*rest, made), valid)


def concat(values: Sequence[Arr], axes: Sequence[str], made: str) -> Arr:
    order = tuple(dict.fromkeys(a for v, own in zip(values, axes, strict=True) for a in v.axes if a != own))
    parts = [value.along((*order, own)) for value, own in zip(values, axes, strict=True)]
    shape = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    valid = None
    if any(value.valid is not None for value in values):
        sized = [{own: value.data.shape[value.axes.index(own)]} for value, own in zip(values, axes, strict=True)]
        each = [spread(value.valid, [own] if own not in validity(value).axes else [], size)
                for value, own, size in zip(values, axes, sized, strict=True)]  # fmt: skip
        valid = concat(each, axes, made)
    joined = np.concatenate([np.broadcast_to(p, (*shape, p.shape[-1])) for p in parts], -1)
    return Arr(joined, (*order, made), valid)


def stack(values: Sequence[Arr], axis: str) -> Arr:
    """One behind the other along a new axis."""
    order = union(values)
    valid = None
    if any(value.valid is not None for value in values):
        valid = stack([validity(value) for value in values], axis)
    return Arr(np.stack(np.broadcast_arrays(*(value.along(order) for value in values))), (axis, *order), valid)


def window(x: Arr, axis: str, place: str, tap: str, stride: int, pad: int, sizes: Mapping[str, int]) -> Arr:
    """y[s, t] = x[s * stride + t - pad], 0 outside."""
    rest = tuple(a for a in x.axes if a != axis)
    valid = x.valid
    if x.stands([axis]):  # the 0 outside is no pick of nothing
        assert valid is not None
        nothing = window(pointwise(np.logical_not, valid), axis, place, tap, stride, pad, sizes)
        valid, x = pointwise(np.logical_not, nothing), x.filled(0)
    data = x.along((*rest, axis))
    out = np.zeros((*data.shape[:-1], sizes[place], sizes[tap]), data.dtype)
    for s in range(sizes[place]):
        for t in range(sizes[tap]):
            if 0 <= s * stride + t - pad < data.shape[-1]:
                out[..., s, t] = data[..., s * stride + t - pad]
    return Arr(out, (*rest, place, tap), valid)


def pad(x: Arr, axis: str, made: str, left: int, value: float, sizes: Mapping[str, int]) -> Arr:
    rest = tuple(a for a in x.axes if a != axis)
    data = x.along((*rest, axis))
    valid = pad(x.valid, axis, made, left, True, sizes) if x.stands([axis]) and x.valid is not None else x.valid
    kind = float if isinstance(value, float) else data.dtype
    out = np.full((*data.shape[:-1], sizes[made]), value, kind)
    out[..., left : left + data.shape[-1]] = data
    return Arr(out, (*rest, made), valid)


def ranks(x: Arr, axis: str, made: str, descending: bool, count: int, mask: Arr | None = None) -> Arr:
    """argsort and topk, of what the mask keeps: of equals the first comes first. Where there are fewer items than
    ranks, the rest are picks of nothing.
    """
    size = x.data.shape[x.axes.index(axis)]
    data, keep, _, order = _over(x, mask, [axis], {})
    valid = untouched([x] if mask is None else [x, mask], [axis])
    at, rest = order.index(axis), tuple(a for a in order if a != axis)
    data, keep = np.moveaxis(data, at, -1), np.moveaxis(keep, at, -1)
    found = np.argsort(-data if descending else data, -1, kind="stable")
    last = np.argsort(~np.take_along_axis(keep, found, -1), -1, kind="stable")  # what is left out
    found = np.take_along_axis(found, last, -1)[..., :count]
    found = np.concatenate([found, np.zeros((*found.shape[:-1], max(count - size, 0)), int)], -1)
    some = Arr(np.arange(count) < keep.sum(-1)[..., None], (*rest, made))
    return Arr(found, (*rest, made), both([valid, None if mask is None and some.data.all() else some]))


def cross_entropy(logits: Arr, ids: Arr, vocab: str, smoothing: float) -> Arr:
    at = logits.axes.index(vocab)
    valid = both([ids.valid, None if logits.stands([vocab]) else logits.valid])
    logits, ids = logits.filled(-1e30 if logits.stands([vocab]) else 0), replace(ids.filled(0), valid=None)
    top = logits.data.max(at, keepdims=True)
    logs = logits.data - top - np.log(np.exp(logits.data - top).sum(at, keepdims=True))
    picked = gather(Arr(logs, logits.axes), vocab, ids)
    mean = Arr(logs.mean(at), tuple(axis for axis in logits.axes if axis != vocab))
    loss = pointwise(lambda p, m: -(1 - smoothing) * p - smoothing * m, replace(picked, valid=None), mean)
    return replace(loss, valid=valid)


_erf = np.vectorize(math.erf, otypes=[float])
FUNCTIONS: dict[str, Callable[[Array], Any]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": _erf,
    "relu": lambda x: np.maximum(x, 0.0),
    "gelu": lambda x: x * 0.5 * (1 + _erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "abs": np.abs,
    "floor": lambda x: np.floor(x).astype(np.int64),
    "ceil": lambda x: np.ceil(x).astype(np.int64),
    "neg": lambda x: -x,
}
BINARY: dict[str, Callable[[Array, Array], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: a % b,
    "^": lambda a, b: a**b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
}
