"""What ops mean, on named arrays in float64: the generator's own reading of LANGUAGE.md.

Shares nothing with the compiler. An `Arr` has the axes that it varies along; what it lacks it is constant along.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
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
    data: Array
    axes: tuple[str, ...]

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
        return Arr(np.broadcast_to(self.data, shape), (*more, *self.axes))

    def rename(self, names: Mapping[str, str]) -> Arr:
        return Arr(self.data, tuple(names.get(axis, axis) for axis in self.axes))


def number(value: float | int | bool) -> Arr:
    return Arr(np.asarray(value), ())


def union(values: Sequence[Arr]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(axis for value in values for axis in value.axes))


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
    order, draw = union(values), _rounds.get()
    made = np.asarray(f(*(value.along(order) for value in values)))
    if draw is not None and made.dtype.kind == "f":
        made = made * (1 + 2e-16 * draw.normal(size=made.shape))
    return Arr(made, order)


def _over(x: Arr, mask: Arr | None, axes: Sequence[str], sizes: Mapping[str, int]) -> tuple[Array, Array, Any, Any]:
    """The operand and its mask written out alike, the places of the axes, and the names of all.

    What happens not to vary along an axis, such as a state after one step, has it all the same.
    """
    x = x.full(axes, sizes)
    order = union([x] if mask is None else [x, mask])
    data = x.along(order)
    keep = np.ones((), bool) if mask is None else mask.along(order)
    shape = np.broadcast_shapes(data.shape, keep.shape)
    return np.broadcast_to(data, shape), np.broadcast_to(keep, shape), tuple(order.index(a) for a in axes), order


def reduce(op: str, x: Arr, mask: Arr | None, axes: Sequence[str], sizes: Mapping[str, int]) -> Arr:
    """sum, mean, max, min, any, all, argmax, logsumexp, of what the mask keeps."""
    data, keep, at, order = _over(x, mask, axes, sizes)
    rest = tuple(axis for axis in order if axis not in axes)
    if op in ("any", "all"):
        return Arr((keep & data).any(at) if op == "any" else (~keep | data).all(at), rest)
    if op in ("sum", "mean"):
        total = np.where(keep, data, 0).sum(at)
        return Arr(total if op == "sum" else total / np.maximum(keep.sum(at), 1), rest)
    least: float | int = -math.inf if op != "min" else math.inf
    if data.dtype.kind == "i" and op != "logsumexp":
        least = np.iinfo(np.int64).min if op != "min" else np.iinfo(np.int64).max
    data = np.where(keep, data, least)
    if op == "argmax":
        return Arr(data.argmax(at[0]) if data.size else data.sum(at[0]).astype(int), rest)
    if op == "logsumexp":
        top = data.max(at, keepdims=True, initial=least)
        shift = np.where(np.isfinite(top), top, 0)
        with np.errstate(divide="ignore"):
            return Arr(np.log(np.exp(data - shift).sum(at)) + shift.squeeze(at), rest)
    return Arr(data.max(at, initial=least) if op == "max" else data.min(at, initial=least), rest)


def softmax(x: Arr, mask: Arr | None, axes: Sequence[str], sizes: Mapping[str, int]) -> Arr:
    """Zero where the mask does not keep; over nothing at all zeros, also where it keeps nothing but -inf."""
    data, keep, at, order = _over(x, mask, axes, sizes)
    if not data.size:
        return Arr(data.astype(float), order)
    data = np.where(keep, data, -math.inf)
    top = data.max(at, keepdims=True)
    shares = np.exp(data - np.where(np.isfinite(top), top, 0))
    total = shares.sum(at, keepdims=True)
    nothing = (total == 0) & ~keep.all(at, keepdims=True)
    return Arr(np.where(keep, shares / np.where(nothing, 1, total), 0), order)


def standardise(x: Arr, axes: Sequence[str], eps: float, centred: bool) -> Arr:
    """layernorm and rmsnorm without their weights."""
    if not x.data.size:
        return x
    at = tuple(x.axes.index(axis) for axis in axes)
    data = x.data - x.data.mean(at, keepdims=True) if centred else x.data
    return Arr(data / np.sqrt((data * data).mean(at, keepdims=True) + eps), x.axes)


def l2norm(x: Arr, axes: Sequence[str], eps: float) -> Arr:
    at = tuple(x.axes.index(axis) for axis in axes)
    return Arr(x.data / np.maximum(np.sqrt((x.data * x.data).sum(at, keepdims=True)), eps), x.axes)


def dot(values: Sequence[Arr], axes: Sequence[str]) -> Arr:
    order = (*(axis for axis in union(values) if axis not in axes), *axes)
    product = np.asarray(math.prod((value.along(order) for value in values[1:]), start=values[0].along(order)))
    kept = len(order) - len(axes)
    return Arr(product.sum(tuple(range(kept, len(order)))) if axes else product, order[:kept])


def gather(x: Arr, axis: str, e: Arr) -> Arr:
    """The items of x at the indices e along an axis; the axes that both have align."""
    rest = tuple(a for a in x.axes if a != axis)
    assert e.data.size == 0 or (e.data.min() >= 0 and e.data.max() < x.data.shape[x.axes.index(axis)]), "out of range"
    order = (*rest, *(a for a in e.axes if a not in rest))
    data = x.rename({axis: "picked"}).along((*order, "picked"))
    index = e.along(order)
    shape = np.broadcast_shapes(data.shape[:-1], index.shape)
    data = np.broadcast_to(data, (*shape, data.shape[-1]))
    return Arr(np.take_along_axis(data, np.broadcast_to(index, shape)[..., None], -1)[..., 0], order)


def split(x: Arr, axis: str, parts: Sequence[str], sizes: Mapping[str, int]) -> Arr:
    at = x.axes.index(axis)
    shape = (*x.data.shape[:at], *(sizes[part] for part in parts), *x.data.shape[at + 1 :])
    return Arr(x.data.reshape(shape), (*x.axes[:at], *parts, *x.axes[at + 1 :]))


def merge(x: Arr, parts: Sequence[str], made: str) -> Arr:
    rest = tuple(axis for axis in x.axes if axis not in parts)
    data = x.along((*rest, *parts))
    shape = data.shape[: len(rest)]
    return Arr(data.reshape(*shape, math.prod(data.shape[len(rest) :])), (*rest, made))


def concat(values: Sequence[Arr], axes: Sequence[str], made: str) -> Arr:
    order = tuple(dict.fromkeys(a for v, own in zip(values, axes, strict=True) for a in v.axes if a != own))
    parts = [value.along((*order, own)) for value, own in zip(values, axes, strict=True)]
    shape = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return Arr(np.concatenate([np.broadcast_to(p, (*shape, p.shape[-1])) for p in parts], -1), (*order, made))


def window(x: Arr, axis: str, place: str, tap: str, stride: int, pad: int, sizes: Mapping[str, int]) -> Arr:
    """y[s, t] = x[s * stride + t - pad], 0 outside."""
    rest = tuple(a for a in x.axes if a != axis)
    data = x.along((*rest, axis))
    out = np.zeros((*data.shape[:-1], sizes[place], sizes[tap]), data.dtype)
    for s in range(sizes[place]):
        for t in range(sizes[tap]):
            if 0 <= s * stride + t - pad < data.shape[-1]:
                out[..., s, t] = data[..., s * stride + t - pad]
    return Arr(out, (*rest, place, tap))


def pad(x: Arr, axis: str, made: str, left: int, value: float, sizes: Mapping[str, int]) -> Arr:
    rest = tuple(a for a in x.axes if a != axis)
    data = x.along((*rest, axis))
    kind = float if isinstance(value, float) else data.dtype
    out = np.full((*data.shape[:-1], sizes[made]), value, kind)
    out[..., left : left + data.shape[-1]] = data
    return Arr(out, (*rest, made))


def ranks(x: Arr, axis: str, made: str, descending: bool, count: int) -> Arr:
    """argsort and topk: of equals the first comes first."""
    rest = tuple(a for a in x.axes if a != axis)
    data = x.along((*rest, axis))
    order = np.argsort(-data if descending else data, -1, kind="stable")
    return Arr(order[..., :count], (*rest, made))


def cross_entropy(logits: Arr, ids: Arr, vocab: str, smoothing: float) -> Arr:
    at = logits.axes.index(vocab)
    top = logits.data.max(at, keepdims=True)
    logs = logits.data - top - np.log(np.exp(logits.data - top).sum(at, keepdims=True))
    picked = gather(Arr(logs, logits.axes), vocab, ids)
    mean = Arr(logs.mean(at), tuple(axis for axis in logits.axes if axis != vocab))
    return pointwise(lambda p, m: -(1 - smoothing) * p - smoothing * m, picked, mean)


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
