"""Ops of generated NumPy code that are more than a call of NumPy.

All keep the type of their operands: float32 stays float32.
"""

from __future__ import annotations

import math

import numpy as np

from .arrays import Array


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """x [..., in] times weight [out, in] transposed, plus bias: one matrix product, whatever the leading dimensions."""
    y: Array = vectors(x) @ weight.T
    if bias is not None:
        y += bias
    return y.reshape(*x.shape[:-1], weight.shape[0])


def vectors(x: Array) -> Array:
    """The vectors along the last dimension as [rows, size]; one alone as [size], with which NumPy is done sooner."""
    rows, size = math.prod(x.shape[:-1]), x.shape[-1]
    return x.reshape(size) if rows == 1 else x.reshape(rows, size)


def unflatten(x: Array, axis: int, *sizes: int) -> Array:
    """One dimension, counted from the right, as several."""
    after = x.shape[x.ndim + axis + 1 :]
    return x.reshape(*x.shape[: x.ndim + axis], *sizes, *after)


def flatten(x: Array, first: int, last: int) -> Array:
    """The dimensions `first` to `last`, counted from the right, as one."""
    first, last = x.ndim + first, x.ndim + last + 1
    return x.reshape(*x.shape[:first], math.prod(x.shape[first:last]), *x.shape[last:])


def grouped_linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """A linear map for each group: x [..., groups, in] and weight [groups, out, in] give [..., groups, out]."""
    groups = weight.ndim - 2
    lead = x.ndim - 1 - groups
    front = np.moveaxis(x, range(lead, lead + groups), range(groups))  # [groups, ..., in]
    flat = front.reshape(*front.shape[:groups], math.prod(front.shape[groups:-1]), x.shape[-1])
    y: Array = flat @ weight.swapaxes(-1, -2)
    y = y.reshape(*y.shape[:groups], *front.shape[groups:-1], weight.shape[-2])
    y = np.moveaxis(y, range(groups), range(lead, lead + groups))
    return y if bias is None else y + bias


def widened(x: Array) -> Array:
    """x in float32 if it is of half precision, whose sums would overflow and lose digits: there PyTorch adds so too."""
    return x.astype(np.float32) if x.dtype.itemsize < 4 else x


def sum_of(x: Array, axis: int | tuple[int, ...], over: Array | int | None = None) -> Array:
    """The sum along these axes, over a number of items where it is a mean, in the type of x."""
    total: Array = np.asarray(widened(x).sum(axis))
    return (total if over is None else total / over).astype(x.dtype, copy=False)


def running_sum(x: Array, axis: int) -> Array:
    """Of each item along `axis`, the sum of those up to it."""
    return widened(x).cumsum(axis).astype(x.dtype, copy=False)


def sum_of_products(x: Array, y: Array, axis: int | tuple[int, ...]) -> Array:
    """The sum of x y along these axes."""
    total: Array = (widened(x) * widened(y)).sum(axis)
    return total.astype(np.result_type(x, y), copy=False)


def average(x: Array, axes: int) -> Array:
    """The mean over the last `axes` dimensions, kept as 1. Of few items, `x.mean` takes three times as long."""
    total: Array = np.add.reduce(x, tuple(range(-axes, 0)), keepdims=True)
    total /= max(math.prod(x.shape[-axes:]), 1)
    return total


def mean_square(x: Array, axes: int) -> Array:
    """The mean of the squares over the last `axes` dimensions, kept as 1."""
    if axes > 1:
        return average(x * x, axes)
    total: Array = np.vecdot(x, x)[..., None]
    total /= max(x.shape[-1], 1)
    return total


def one_vector(x: Array, axes: int) -> bool:
    """Whether this is one vector for a norm over `axes`, of which numbers are sooner made than arrays of one item."""
    return axes == 1 and 0 < x.size == x.shape[-1]


def layernorm(x: Array, axes: int, eps: float, weight: Array | None = None, bias: Array | None = None) -> Array:
    """x minus its mean, over its standard deviation, over the last `axes` dimensions (Ba et al. 2016)."""
    dtype, x = x.dtype, widened(x)
    if one_vector(x, axes):
        y = x.reshape(x.size)
        y = y - float(np.add.reduce(y)) / y.size
        y /= math.sqrt(float(y.dot(y)) / y.size + eps)
    else:
        y = x - average(x, axes)
        y /= np.sqrt(mean_square(y, axes) + eps)
    if weight is not None:
        y *= weight
    if bias is not None:
        y += bias
    return y.reshape(x.shape).astype(dtype, copy=False)


def rmsnorm(x: Array, axes: int, eps: float, weight: Array | None = None) -> Array:
    """x over its root mean square over the last `axes` dimensions (Zhang and Sennrich 2019)."""
    dtype, x = x.dtype, widened(x)
    if one_vector(x, axes):
        y = x.reshape(x.size)
        y = y / math.sqrt(float(y.dot(y)) / y.size + eps)
    else:
        y = x / np.sqrt(mean_square(x, axes) + eps)
    if weight is not None:
        y *= weight
    return y.reshape(x.shape).astype(dtype, copy=False)


def l2norm(x: Array, axis: int | tuple[int, ...], eps: float) -> Array:
    """x over its Euclidean length, which is taken to be at least eps."""
    y = widened(x)
    length: Array = np.sqrt((y * y).sum(axis, keepdims=True))
    return np.asarray(y / np.maximum(length, eps)).astype(x.dtype, copy=False)


def softmax(scores: Array, axis: int | tuple[int, ...], mask: Array | None = None) -> Array:
    """Softmax over what the mask keeps; what it leaves out weighs exactly 0, so a row without any is all zeros."""
    dtype, scores = scores.dtype, widened(scores)
    if mask is not None:
        scores = np.where(mask, scores, np.finfo(scores.dtype).min)
    with np.errstate(invalid="ignore"):  # minus infinities alone have no shares: NaN, as in PyTorch
        weights: Array = scores - scores.max(axis, keepdims=True, initial=-np.inf)
    np.exp(weights, out=weights)
    if mask is not None:
        weights *= mask
    total = weights.sum(axis, keepdims=True)
    weights /= total if mask is None else np.where(total == 0, 1, total)
    if mask is not None and np.isnan(total).any():  # 0 times what is no number
        np.copyto(weights, 0, where=np.logical_not(mask))
    return weights.astype(dtype, copy=False)


def log_softmax(scores: Array, axis: int | tuple[int, ...], mask: Array | None = None) -> Array:
    """The logarithm of softmax; minus infinity where the mask leaves out."""
    logs, _, total = from_the_top(widened(scores), axis, mask)
    logs = (logs - total).astype(scores.dtype, copy=False)
    return logs if mask is None else np.where(mask, logs, -np.inf)


def pick_one(x: Array, axis: int, mask: Array | None = None) -> Array:
    """The index of the largest along `axis`, of equals the first, of what the mask keeps; -1 where that is nothing."""
    if mask is not None:
        x, mask = np.broadcast_arrays(x, mask)
        x = np.where(mask, x, least(x))
    if not x.shape[axis]:
        return np.full(x.sum(axis).shape, -1)
    found: Array = x.argmax(axis)
    if mask is None:
        return found
    kept = np.take_along_axis(mask, np.expand_dims(found, axis), axis).squeeze(axis)
    return np.where(kept, found, np.where(mask.any(axis), mask.argmax(axis), -1))  # else all kept are the least


def least(x: Array) -> float | int:
    """The least number of the type of x."""
    return -math.inf if x.dtype.kind == "f" else int(np.iinfo(x.dtype).min)


def picks(x: Array, axis: int, count: int, mask: Array | None = None, descending: bool = True) -> Array:
    """The indices of the first `count` of what the mask keeps, in order along `axis`; -1 where there are fewer."""
    if mask is not None:
        x, mask = np.broadcast_arrays(x, mask)
        x = np.where(mask, x, 0)
    order = argsort(x, axis, descending)
    if mask is not None:  # what it keeps comes first, in this order: minus infinity too
        kept = np.take_along_axis(mask, order, axis)
        order = np.take_along_axis(np.where(kept, order, -1), np.argsort(~kept, axis, kind="stable"), axis)
    none = np.full(resized(order.shape, axis, count), -1)
    return np.concatenate([order, none], axis).take(np.arange(count), axis)


def some(x: Array, axis: int) -> Array:
    """x, or an item of zeros along `axis`, counted from the right, if it has none there."""
    return x if x.shape[axis] else np.zeros(resized(x.shape, axis, 1), x.dtype)


def logsumexp(x: Array, axis: int | tuple[int, ...], mask: Array | None = None) -> Array:
    """log of the sum of exp without overflow; minus infinity over nothing at all."""
    _, top, total = from_the_top(widened(x), axis, mask)
    return np.asarray((total + top).squeeze(axis)).astype(x.dtype, copy=False)


def from_the_top(x: Array, axis: int | tuple[int, ...], mask: Array | None) -> tuple[Array, Array, Array]:
    """x minus its largest; that; and the log of the sum of exp of the first, in which that cancels no digits."""
    least = np.finfo(x.dtype).min
    if mask is not None:
        x = np.where(mask, x, least)
    top = np.minimum(x.max(axis, keepdims=True, initial=least), np.finfo(x.dtype).max)  # inf - inf is no number
    rest: Array = x - top
    terms = np.exp(rest)
    if mask is not None:
        terms *= mask
    with np.errstate(divide="ignore"):
        return rest, top, np.log(terms.sum(axis, keepdims=True))


def concat(parts: list[Array], axis: int) -> Array:
    """Joins along `axis`, counted from the right; all other dimensions broadcast, and stay where they are."""
    shape = np.broadcast_shapes(*(resized(part.shape, axis, 1) for part in parts))
    whole = [np.broadcast_to(part, resized(shape, axis, part.shape[axis])) for part in parts]
    return np.concatenate(whole, axis)


def resized(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    """A shape with another size along `axis`."""
    found = list(shape)
    found[axis] = size
    return tuple(found)


def pad(x: Array, axis: int, left: int, size: int, value: float = 0) -> Array:
    """x lengthened along `axis`, counted from the right, to `size`: `left` items before it, the rest behind."""
    right = size - left - x.shape[axis]
    if right < 0:
        raise ValueError(f"pad: {size} items have no room for {x.shape[axis]} and {left} more")
    widths = [(0, 0)] * x.ndim
    widths[axis] = (left, right)
    return np.pad(x, widths, constant_values=value)


def window(x: Array, axis: int, places: int, size: int, stride: int, left: int) -> Array:
    """y[s, t] = x[s * stride + t - left] along `axis`, counted from the right, and 0 outside of x."""
    need = max((places - 1) * stride + size, 0) if places else 0
    y = np.moveaxis(x, axis, -1)
    right = max(need - left - y.shape[-1], 0)
    y = np.concatenate([np.zeros((*y.shape[:-1], left), y.dtype), y, np.zeros((*y.shape[:-1], right), y.dtype)], -1)
    index = np.arange(places)[:, None] * stride + np.arange(size)
    return np.moveaxis(y[..., index], (-2, -1), (axis - 1, axis))


def argsort(x: Array, axis: int, descending: bool = False, first: int | None = None) -> Array:
    """The indices that put x into order along `axis`, or the first few of them; equals keep theirs."""
    order = np.argsort(np.flip(x, axis) if descending else x, axis, kind="stable")
    if descending:
        order = np.flip(x.shape[axis] - 1 - order, axis)
    return order if first is None else order.take(np.arange(first), axis)


def take_along(x: Array, index: Array, axis: int) -> Array:
    """The items of x at `index` along `axis`, counted from the right; all other dimensions broadcast."""
    rank = max(x.ndim, index.ndim)
    x, index = x[(None,) * (rank - x.ndim)], index[(None,) * (rank - index.ndim)]
    return np.take_along_axis(x, index, axis)


def taps(x: Array, axis: int, places: int, size: int, left: int) -> Array:
    """`window` of the last `places` items of x, which begins before them: y[s, t] = x[s + t - left]."""
    behind = left - (x.shape[axis] - places)
    if behind < 0:
        x = np.take(x, np.arange(-behind, x.shape[axis]), axis)
    return window(x, axis, places, size, 1, max(behind, 0))


def picked(kept: Array, index: Array, count: int) -> Array:
    """Which of so many items any index that is kept names, along the last dimension."""
    index = np.where(kept & (index >= 0) & (index < count), index, count)
    found = np.zeros((*index.shape[:-1], count + 1), bool)
    np.put_along_axis(found, index, True, -1)
    return found[..., :count]
