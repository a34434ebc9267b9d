"""The helpers that generated code carries along: what their docstrings say, item by item, in both libraries."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from attnc.backends.runtime.numpy import border as numpy_border
from attnc.backends.runtime.numpy import ops as numpy_ops
from attnc.backends.runtime.torch import border as torch_border
from attnc.backends.runtime.torch import losses as torch_losses
from attnc.backends.runtime.torch import ops as torch_ops

Array = np.ndarray[Any, np.dtype[Any]]
DRAW = np.random.default_rng(0)
LIBRARIES: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "numpy": (numpy_ops, lambda x: x),
    "torch": (torch_ops, lambda x: torch.as_tensor(x) if isinstance(x, np.ndarray) else x),
}
BORDERS: dict[str, Any] = {"numpy": numpy_border, "torch": torch_border}
both = pytest.mark.parametrize("library", LIBRARIES)


def call(library: str, name: str, *args: Any) -> Any:
    ops, wrap = LIBRARIES[library]
    given = [[wrap(x) for x in arg] if isinstance(arg, list) else wrap(arg) for arg in args]
    found = getattr(ops if hasattr(ops, name) else BORDERS[library], name)(*given)
    return found.numpy() if isinstance(found, torch.Tensor) else found


def numbers(*shape: int) -> Array:
    return DRAW.standard_normal(shape)


def along(x: Array, axis: int, items: Callable[[Array], Array]) -> Array:
    """Each line of x along `axis`, by itself."""
    return np.apply_along_axis(items, axis, x)


# -- moving items ----------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("axis", [-1, -2, -3])
@pytest.mark.parametrize(("left", "size", "value"), [(0, 4, 0.0), (2, 6, 0.5), (0, 7, -1.0), (1, 7, 0.0)])
def test_pad(library: str, axis: int, left: int, size: int, value: float) -> None:
    x = numbers(4, 4, 4)
    wanted = along(x, axis, lambda line: np.array([*[value] * left, *line, *[value] * (size - left - 4)]))
    np.testing.assert_array_equal(call(library, "pad", x, axis, left, size, value), wanted)
    if value == 0:
        np.testing.assert_array_equal(call(library, "pad", x, axis, left, size), wanted)


@both
def test_pad_without_room(library: str) -> None:
    with pytest.raises(ValueError, match=r"^pad: 5 items have no room for 4 and 2 more$"):
        call(library, "pad", numbers(3, 4), -1, 2, 5)


def windowed(line: Array, places: int, size: int, stride: int, left: int) -> Array:
    def item(at: int) -> float:
        return line[at] if 0 <= at < len(line) else 0.0

    return np.array([[item(s * stride + t - left) for t in range(size)] for s in range(places)]).reshape(places, size)


WINDOWS = [  # places, size, stride, left
    (5, 3, 1, 2), (5, 3, 1, 0), (5, 1, 1, 0), (3, 2, 2, 0), (2, 3, 3, 1), (7, 3, 1, 2), (2, 2, 4, 3), (0, 3, 1, 2),
    (1, 9, 1, 0),
]  # fmt: skip


@both
@pytest.mark.parametrize("axis", [-1, -2])
@pytest.mark.parametrize(("places", "size", "stride", "left"), WINDOWS)
def test_window(library: str, axis: int, places: int, size: int, stride: int, left: int) -> None:
    x = numbers(2, 5, 5)
    lines = np.moveaxis(x, axis, -1)
    wanted = np.array([[windowed(line, places, size, stride, left) for line in rows] for rows in lines])
    found = call(library, "window", x, axis, places, size, stride, left)
    np.testing.assert_array_equal(np.moveaxis(found, (axis - 1, axis), (-2, -1)), wanted)
    assert found.dtype == x.dtype


@both
@pytest.mark.parametrize(("places", "size", "left"), [(1, 3, 2), (2, 3, 2), (5, 3, 2), (2, 2, 4), (3, 1, 0), (4, 4, 1)])
def test_taps_are_the_last_windows(library: str, places: int, size: int, left: int) -> None:
    x = numbers(2, 5, 3)
    all_of_them = call(library, "window", x, -2, 5, size, 1, left)
    np.testing.assert_array_equal(call(library, "taps", x, -2, places, size, left), all_of_them[:, 5 - places :])


def test_taps_at_places() -> None:
    """Of an array with room for more: the items behind the last one at hand are no part of it."""
    x = torch.tensor(numbers(2, 8, 3))
    found = torch_ops.taps(x, -2, 2, 3, 2, torch.tensor([0, 4]))
    wanted = torch_ops.window(x, -2, 5, 3, 1, 2)[:, [0, 4]]
    torch.testing.assert_close(found, wanted, rtol=0, atol=0)


@both
@pytest.mark.parametrize("axis", [-1, -2])
@pytest.mark.parametrize("descending", [False, True])
def test_equals_keep_their_order(library: str, axis: int, descending: bool) -> None:
    x = DRAW.integers(0, 3, (3, 6, 7)).astype(float)
    sign = -1 if descending else 1
    wanted = along(x, axis, lambda line: np.array(sorted(range(len(line)), key=lambda i: sign * line[i])))
    found = call(library, "argsort", x, axis, *([True] if descending else []))
    np.testing.assert_array_equal(found, wanted)


@both
@pytest.mark.parametrize(
    ("x", "index"), [((2, 5, 4), (2, 3, 4)), ((5, 4), (2, 3, 4)), ((2, 5, 1), (3, 4)), ((5, 1), (3, 4))]
)
def test_take_along_broadcasts(library: str, x: tuple[int, ...], index: tuple[int, ...]) -> None:
    array, at = numbers(*x), DRAW.integers(0, 5, index)
    found = call(library, "take_along", array, at, -2)
    lead = np.broadcast_shapes((*x[:-2], x[-1]), (*index[:-2], index[-1]))
    shape = (*lead[:-1], 3, lead[-1])
    array, at = np.broadcast_to(array, (*lead[:-1], 5, lead[-1])), np.broadcast_to(at, shape)
    assert found.shape == shape
    for place in np.ndindex(*shape):
        assert found[place] == array[(*place[:-2], at[place], place[-1])]


@both
def test_concat_broadcasts(library: str) -> None:
    a, b = numbers(2, 1, 3, 4), numbers(5, 2, 4)
    found = call(library, "concat", [a, b], -2)
    assert found.shape == (2, 5, 5, 4)
    for i, j in np.ndindex(2, 5):
        np.testing.assert_array_equal(found[i, j], np.concatenate([a[i, 0], b[j]]))
    last = call(library, "concat", [numbers(2, 3), numbers(1, 4)], -1)
    assert last.shape == (2, 7)


def test_one_dimension_as_several_and_back() -> None:
    x = numbers(2, 12, 5)
    found = numpy_ops.unflatten(x, -2, 3, 4)
    np.testing.assert_array_equal(found, x.reshape(2, 3, 4, 5))
    np.testing.assert_array_equal(numpy_ops.flatten(found, -3, -2), x)
    np.testing.assert_array_equal(numpy_ops.flatten(found, -2, -1), x.reshape(2, 3, 20))
    assert numpy_ops.unflatten(numbers(0, 6), -1, 2, 3).shape == (0, 2, 3)
    assert numpy_ops.flatten(numbers(0, 2, 3), -2, -1).shape == (0, 6)
    assert numpy_ops.flatten(numbers(3, 0, 2), -3, -2).shape == (0, 2)


@both
def test_captured_has_the_batch_and_the_axes_that_it_varies_along(library: str) -> None:
    x = numbers(1, 5, 1, 4)  # [heads of size 1, q, k of size 1, d], recorded without the batch (2, 3)
    value, axes = call(library, "captured", x, (2, 3), ("h", "q", "k", "d"), ("q", "d"))
    assert axes == ("q", "d") and tuple(value.shape) == (2, 3, 5, 4)
    np.testing.assert_array_equal(np.asarray(value), np.broadcast_to(x[0, :, 0], (2, 3, 5, 4)))
    twice = numbers(2, 4, 4)  # one name for two axes: of the outer one it is the first item
    value, _ = call(library, "captured", twice, (2,), ("q", "q"), ("q",))
    np.testing.assert_array_equal(np.asarray(value), twice[:, 0])
    value, _ = call(library, "captured", np.array(1.5), (2,), (), ())
    assert tuple(value.shape) == (2,)


# -- functions -------------------------------------------------------------------------------------------------------


def weights_of(scores: Array, mask: Array | None) -> Array:
    powers = np.exp(scores) if mask is None else np.where(mask, np.exp(scores), 0)
    total = powers.sum()
    return powers / total if total else powers


def test_softmax_and_its_logarithm() -> None:
    x, mask = numbers(3, 4, 5), DRAW.random((3, 4, 5)) < 0.6
    mask[1] = False
    for axis, lines in ((-1, (3, 4)), ((-2, -1), (3,))):
        for kept in (None, mask):
            found, logs = numpy_ops.softmax(x, axis, kept), numpy_ops.log_softmax(x, axis, kept)
            summed = numpy_ops.logsumexp(x, axis, kept)
            assert summed.shape == lines
            for at in np.ndindex(lines):
                line, some = x[at], None if kept is None else kept[at]
                wanted = weights_of(line, some)
                np.testing.assert_allclose(found[at], wanted, atol=1e-12)
                np.testing.assert_allclose(np.exp(logs[at]), wanted, atol=1e-12)
                assert (np.isneginf(logs[at]) == (wanted == 0)).all()
                total = np.exp(line)[... if some is None else some].sum()
                assert summed[at] == pytest.approx(math.log(total) if total else -math.inf)
    there = (torch_ops.masked_softmax, torch_ops.masked_log_softmax)
    here = (numpy_ops.softmax, numpy_ops.log_softmax)
    for one, other in zip(there, here, strict=True):
        np.testing.assert_allclose(one(torch.tensor(x), torch.tensor(mask), -1), other(x, -1, mask), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_neither_large_numbers_nor_infinities_overflow(dtype: Any) -> None:
    top = float(np.finfo(dtype).max)
    rows = np.array([[top, top / 2, -top], [-top, -top, -top], [0, -np.inf, -np.inf], [-np.inf, top, 0]], dtype)
    with np.errstate(over="ignore"):  # a difference may be minus infinity
        found, sums = numpy_ops.softmax(rows, -1), numpy_ops.logsumexp(rows, -1)
    np.testing.assert_allclose(found, [[1, 0, 0], [1 / 3] * 3, [1, 0, 0], [0, 1, 0]], rtol=1e-3)
    np.testing.assert_array_equal(sums, rows.max(-1))
    assert found.dtype == sums.dtype == dtype
    assert (numpy_ops.softmax(np.zeros((2, 0), dtype), -1)).shape == (2, 0)
    np.testing.assert_array_equal(numpy_ops.logsumexp(np.zeros((2, 0), dtype), -1), [-np.inf] * 2)


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_norms(axes: int, dtype: Any) -> None:
    x = numbers(3, 4, 5).astype(dtype)
    weight, bias = numbers(*x.shape[-axes:]).astype(dtype), numbers(*x.shape[-axes:]).astype(dtype)
    over = tuple(range(3 - axes, 3))
    wide = x.astype(np.float64)
    mean = wide.mean(over, keepdims=True)
    centred = (wide - mean) / np.sqrt(((wide - mean) ** 2).mean(over, keepdims=True) + 0.5)
    scaled = wide / np.sqrt((wide**2).mean(over, keepdims=True) + 0.5)
    given, near = x.copy(), 4 * float(np.finfo(dtype).eps)
    for found, wanted in (
        (numpy_ops.layernorm(x, axes, 0.5), centred),
        (numpy_ops.layernorm(x, axes, 0.5, weight), centred * weight),
        (numpy_ops.layernorm(x, axes, 0.5, bias=bias), centred + bias),
        (numpy_ops.layernorm(x, axes, 0.5, weight, bias), centred * weight + bias),
        (numpy_ops.rmsnorm(x, axes, 0.5), scaled),
        (numpy_ops.rmsnorm(x, axes, 0.5, weight), scaled * weight),
    ):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, wanted, rtol=0, atol=4 * near)
    np.testing.assert_array_equal(x, given)  # their operand stays as it is
    large = np.full((2, 600), 200, np.float16)
    np.testing.assert_array_equal(numpy_ops.sum_of(large, -1, 600), [200, 200])  # though their sum is none


@pytest.mark.parametrize("axis", [-1, -2, (-2, -1)])
def test_l2norm(axis: Any) -> None:
    x = numbers(3, 4, 5)
    length = np.sqrt((x**2).sum(axis, keepdims=True))
    np.testing.assert_allclose(numpy_ops.l2norm(x, axis, 1e-12), x / length)
    np.testing.assert_allclose(numpy_ops.l2norm(x, axis, 100.0), x / 100)  # its length is taken to be at least that
    assert (numpy_ops.l2norm(0 * x, axis, 1e-12) == 0).all()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("groups", [(), (3,), (3, 2)])
def test_linear_maps(groups: tuple[int, ...], bias: bool) -> None:
    x, w = numbers(2, 7, *groups, 4), numbers(*groups, 5, 4)
    b = numbers(*groups, 5) if bias else None
    wanted = np.zeros((2, 7, *groups, 5))
    for at in itertools.product(*map(range, wanted.shape)):
        of = at[2:-1]
        wanted[at] = (x[at[:-1]] * w[(*of, at[-1])]).sum() + (0 if b is None else b[(*of, at[-1])])
    if not groups:
        np.testing.assert_allclose(numpy_ops.linear(x, w, b), wanted)
        np.testing.assert_allclose(numpy_ops.linear(x[0, 0], w, b), wanted[0, 0])
        assert numpy_ops.linear(x[:0], w, b).shape == (0, 7, 5)
        return
    np.testing.assert_allclose(numpy_ops.grouped_linear(x, w, b), wanted)
    assert numpy_ops.grouped_linear(x[:, :0], w, b).shape == (2, 0, *groups, 5)
    module = torch_ops.GroupedLinear(groups, 4, 5, bias=bias).double()
    assert (module.bias is None) == (not bias)
    for weight in module.parameters():
        assert 0.25 < float(weight.detach().abs().max()) <= 0.5  # as nn.Linear: within 1 / sqrt(4)
        assert weight.detach().min() < 0
    with torch.no_grad():
        module.weight.copy_(torch.tensor(w))
        if module.bias is not None:
            module.bias.copy_(torch.tensor(b))
    np.testing.assert_allclose(module(torch.tensor(x)).detach(), wanted)


def test_grouped_maps_of_nothing_and_their_own_bias() -> None:
    assert torch_ops.GroupedLinear((2,), 0, 3).weight.shape == (2, 3, 0)  # and no division by it
    assert torch_ops.GroupedLinear((2,), 4, 3).bias is not None


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy_in_the_memory_of_the_logits(smoothing: float) -> None:
    logits, ids = torch.randn(3, 4, 6, dtype=torch.float64), torch.randint(0, 6, (3, 4))
    given, usual = (logits.clone().requires_grad_() for _ in range(2))
    found = torch_losses.cross_entropy(given * 1, ids, smoothing)
    wanted = torch.nn.functional.cross_entropy(
        usual.reshape(-1, 6), ids.reshape(-1), reduction="none", label_smoothing=smoothing
    ).reshape(3, 4)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(torch_losses.cross_entropy(logits.clone(), ids.int(), smoothing), wanted)
    for loss in (found, wanted):
        (loss * torch.arange(12.0).reshape(3, 4)).sum().backward()
    torch.testing.assert_close(given.grad, usual.grad)


# -- the border ------------------------------------------------------------------------------------------------------

F = np.zeros


def Z(shape: Any) -> Array:
    return np.zeros(shape, int)


def B(shape: Any) -> Array:
    return np.zeros(shape, bool)


REFUSED: list[tuple[dict[str, Any], dict[str, Any], type[Exception], str]] = [  # inputs, what is known, error, message
    ({"x": ([1.0], "real", "t")}, {}, TypeError, "`x` is of type list, but must be a "),
    ({"x": (Z(3), "real", "t")}, {}, TypeError, "`x` is int64, but must hold reals"),
    ({"x": (B(3), "real", "t")}, {}, TypeError, "`x` is bool, but must hold reals"),
    ({"x": (F(3), "bool", "t")}, {}, TypeError, "`x` is float64, but must hold truth values"),
    ({"x": (Z(3), "bool", "t")}, {}, TypeError, "`x` is int64, but must hold truth values"),
    ({"x": (F(3), "int", "t")}, {}, TypeError, "`x` is float64, but must hold integers"),
    ({"x": (B(3), "int", "t")}, {}, TypeError, "`x` is bool, but must hold integers"),
    ({"x": (np.zeros(3, complex), "int", "t")}, {}, TypeError, "`x` is complex128, but must hold integers"),
    ({"x": (np.zeros(3, complex), "real", "t")}, {}, TypeError, "`x` is complex128, but must hold reals"),
    ({"x": (F(3), "index v", "t")}, {}, TypeError, "`x` is float64, but must hold integers: it is an index into v"),
    ({"x": (F(3), "real", "t d")}, {}, ValueError, "`x` has rank 1, but needs at least 2: [t, d]"),
    ({"x": (F((2, 3)), "real", "t"), "y": (F((4, 3)), "real", "t")}, {}, ValueError,
     "`y` has the batch axes (4,), but `x` has (2,)"),
    ({"x": (F(3), "real", "t"), "y": (F((4, 3)), "real", "t")}, {}, ValueError,
     "`y` has the batch axes (4,), but `x` has ()"),
    ({"z": (None, "real", "t"), "x": (F(3), "real", "t")}, {}, TypeError, "`z` is of type NoneType, but must be a "),
    ({"z": (None, "real?", "t"), "x": (F(3), "real", "t"), "y": (F(4), "real", "t")}, {}, ValueError,
     "`y` has t = 4, but `x` has t = 3"),
    ({"x": (F(3), "real", "t"), "y": (F(4), "real", "s")}, {"copies": {"s": "t"}}, ValueError,
     "`y` has s = 4, but `x` has t = 3"),
    ({"x": (F(3), "real", "t")}, {"sizes": {"t": 4}}, ValueError, "`x` has t = 3, but this model has t = 4"),
    ({"x": (F((3, 9)), "real", "t s")}, {"bounds": {"s": 8}}, ValueError, "`x` has s = 9, but s is at most 8"),
    ({"x": (Z(3) - 1, "index v", "t")}, {"sizes": {"v": 4}}, IndexError, "`x`: -1 at [0] is no index into v (0..3)"),
    ({"x": (np.array([[0, 3], [4, 9]]), "index v", "t")}, {"sizes": {"v": 4}}, IndexError,
     "`x`: 4 at [1, 0] is no index into v (0..3)"),
    ({"y": (F(3), "real", "t"), "x": (Z(2) + 3, "index s", "u")}, {"copies": {"s": "t"}}, IndexError,
     "`x`: 3 at [0] is no index into s (0..2)"),
]  # fmt: skip


def given(library: str, inputs: dict[str, Any]) -> dict[str, Any]:
    wrap = LIBRARIES[library][1]
    return {name: (wrap(x), kind, axes) for name, (x, kind, axes) in inputs.items()}


@both
@pytest.mark.parametrize(("inputs", "known", "error", "message"), REFUSED, ids=[row[3] for row in REFUSED])
def test_what_the_border_refuses(library: str, inputs: Any, known: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        BORDERS[library].check_inputs("m", given(library, inputs), **known)
    said = str(caught.value).replace("torch.", "").replace("bool_", "bool")
    assert said == f"m: {message}" or (message.endswith("a ") and said.startswith(f"m: {message}"))


PASSED: list[tuple[dict[str, Any], dict[str, Any], tuple[int, ...]]] = [
    ({}, {}, ()),
    ({"x": (None, "real?", "t"), "y": (F((2, 5, 3)), "real", "t")}, {}, (2, 5)),
    ({"x": (F(8), "real", "t")}, {"bounds": {"t": 8}, "sizes": {"d": 3}}, ()),
    ({"x": (F((2, 3)), "real", ""), "y": (Z((2, 3, 4)), "int", "t")}, {}, (2, 3)),
    ({"x": (np.array([0, 3]), "index v", "t")}, {"sizes": {"v": 4}}, ()),
    ({"x": (np.array([0, 99]), "index v", "t")}, {}, ()),  # nothing tells how large v is
    ({"x": (np.zeros(2, np.uint8), "int", "t"), "y": (np.zeros(2, np.float16), "real", "t")}, {}, ()),
    ({"x": (Z(0), "index v", "t"), "y": (F(0), "real", "v")}, {}, ()),
]


@both
@pytest.mark.parametrize(("inputs", "known", "batch"), PASSED)
def test_what_the_border_lets_in(library: str, inputs: Any, known: Any, batch: tuple[int, ...]) -> None:
    assert BORDERS[library].check_inputs("m", given(library, inputs), **known) == batch


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "uint64"])
def test_integers_that_pytorch_hardly_knows(dtype: str) -> None:
    """PyTorch takes some for masks in place of indices, and does no arithmetic with others."""
    x = torch.zeros(3, dtype=getattr(torch, dtype))
    said = f"m: `x` is torch.{dtype}, with which PyTorch does not"
    with pytest.raises(TypeError, match=f"^{said} index: give it as torch.int64$"):
        torch_border.check_inputs("m", {"x": (x, "index v", "t")})
    if dtype in ("int8", "uint8", "int16"):
        torch_border.check_inputs("m", {"x": (x, "int", "t")})
        return
    with pytest.raises(TypeError, match=f"^{said} compute: give it as torch.int64$"):
        torch_border.check_inputs("m", {"x": (x, "int", "t")})


@both
def test_indices_and_lengths(library: str) -> None:
    module, wrap = BORDERS[library], LIBRARIES[library][1]
    for index in (0, 2, np.array([0, 2]), np.zeros((0, 3), int)):
        module.check_index(wrap(index), 3, "m: index into t")
    for index, worst in ((3, 3), (-1, -1), (np.array([[0, 2], [7, -4]]), 7)):
        with pytest.raises(IndexError, match=rf"^m: index into t: {worst} is no index \(0..2\)$"):
            module.check_index(wrap(index), 3, "m: index into t")
    module.check_lengths("m", "long", wrap(np.array([0, 5])), "t", 5)
    module.check_lengths("m", "long", wrap(np.array(5)), "t", 5)
    for lengths, said in (([0, 6], r"6 at \[1\]"), ([-1, 6], r"-1 at \[0\]")):
        with pytest.raises(ValueError, match=rf"^m: `long`: {said} is no length: t = 5 here$"):
            module.check_lengths("m", "long", wrap(np.array(lengths)), "t", 5)


@pytest.mark.parametrize("dim", [-1, -2])
@pytest.mark.parametrize("descending", [False, True])
def test_the_first_few_are_those_of_a_stable_sort(descending: bool, dim: int) -> None:
    """Among them equals, both zeros, infinities and what is no number."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 40, 40)).astype(np.float32)
    x[1] = rng.integers(-2, 3, (40, 40))
    x[2, ::3, ::7], x[2, 1::9, ::5], x[2, 4::9, ::3] = np.nan, np.inf, -np.inf
    x[0, 5, :2] = 0.0, -0.0
    expected = torch.from_numpy(x).sort(dim=dim, descending=descending, stable=True).indices.narrow(dim, 0, 5)
    found = torch_ops.argsort(torch.from_numpy(x).requires_grad_(), dim, descending, first=5)
    assert torch.equal(found, expected)
    real = np.nan_to_num(x)
    whole = numpy_ops.argsort(real, dim, descending)
    assert np.array_equal(numpy_ops.argsort(real, dim, descending, first=5), whole.take(np.arange(5), dim))
