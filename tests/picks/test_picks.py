"""Picks of nothing themselves: what they are, what else reads them, and where they go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attnc

torch = pytest.importorskip("torch")

Array = np.ndarray[Any, np.dtype[Any]]
HEAD = """
width seq
width past like seq
width other like seq
width best = 3, local = 2, all = best + local, pair = 2, wide = 6, longer = 5
depth d = 4, half = 2, two = 2, vocab = 7
"""
TWICE = "pick = topk[past -> best](s where past <= seq)"


def both(body: str, arrays: dict[str, Array], more: str = "", dtype: str = "float64") -> Array:
    """The result of the model `m` in NumPy, which PyTorch has too; gradients are numbers."""
    model = attnc.loads(f"{HEAD}{more}\n{body}\n").model("m")
    found = model.numpy(dtype=dtype, seed=1)(**arrays)
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    real = [t.requires_grad_() for t in tensors.values() if t.is_floating_point()]
    net = model.torch(dtype=getattr(torch, dtype), seed=1)
    result = net(**tensors)
    for one, other in zip(*((r,) if not isinstance(r, tuple) else r for r in (found, result)), strict=True):
        np.testing.assert_allclose(other.detach().numpy(), one, rtol=1e-6 if dtype == "float32" else 1e-10, atol=1e-12)
    if isinstance(result, torch.Tensor) and result.requires_grad:
        for gradient in torch.autograd.grad(result.sum(), real, allow_unused=True):
            assert gradient is None or gradient.isfinite().all()
    return found


S = np.array([[0.0, 9, 9, 9], [1, 1, 9, 9], [-np.inf, 2, 1, 9], [1, 2, 2, 1]])
X = np.arange(16.0).reshape(4, 4) + 1
PICKED = np.array([[0, -1, -1], [0, 1, -1], [1, 2, 0], [1, 2, 0]])


def test_where_there_are_too_few_the_rest_is_nothing() -> None:
    """The largest first, of equals the first; an allowed minus infinity is a pick; what is forbidden is none."""
    body = f"model m(s: [seq, past]) -> past[seq, best] causal seq {{\n    {TWICE}\n    return pick\n}}"
    for dtype in ("float32", "float64"):
        found = both(body, {"s": S.astype(dtype)}, dtype=dtype)
        np.testing.assert_array_equal(found, PICKED)


def test_whole_numbers_and_reals_no_less_than_any() -> None:
    least = np.iinfo(np.int64).min
    ints = np.array([[least, 3, 0, 5]] * 4)
    body = f"model m(s: int[seq, past]) -> past[seq, best] {{\n    {TWICE}\n    return pick\n}}"
    np.testing.assert_array_equal(both(body, {"s": ints}), [[0, -1, -1], [1, 0, -1], [1, 2, 0], [3, 1, 2]])
    reals = np.array([[np.inf, -np.inf, np.finfo(np.float64).min, np.nan]] * 4)
    body = body.replace("int[seq", "[seq").replace("past <= seq", "past < 3 and past != 0")
    np.testing.assert_array_equal(both(body, {"s": reals}), [[2, 1, -1]] * 4)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_fewer_items_than_picks(n: int) -> None:
    body = "model m(s: [seq]) -> seq[best] {\n    return topk[seq -> best](s)\n}"
    found = both(body, {"s": np.arange(float(n))})
    np.testing.assert_array_equal(found, [*range(n)[::-1], -1, -1, -1][:3])
    body = "model m(s: [seq], x: [seq, d]) -> [d] {\n    return mean[best](x[seq = topk[seq -> best](s)])\n}"
    found = both(body, {"s": np.arange(float(n)), "x": X[:n]})
    np.testing.assert_allclose(found, X[:n][-3:].mean(0) if n else np.zeros(4))


def test_the_order_of_what_is_kept() -> None:
    body = "model m(s: [seq, past]) -> past[seq, other] {\n    return argsort[past -> other](s where past <= seq)\n}"
    rising = [[0, -1, -1, -1], [0, 1, -1, -1], [0, 2, 1, -1], [0, 3, 1, 2]]
    np.testing.assert_array_equal(both(body, {"s": S}), rising)
    falling = body.replace("past <= seq", "past <= seq, descending = true")
    np.testing.assert_array_equal(
        both(falling, {"s": S}), [[0, -1, -1, -1], [0, 1, -1, -1], [1, 2, 0, -1], [1, 2, 0, 3]]
    )


def test_the_largest_of_nothing() -> None:
    body = "model m(s: [seq, past]) -> past[seq] causal seq {\n    return argmax[past](s where past < seq)\n}"
    s = np.array([[0.0] * 4, [-np.inf, 9, 9, 9], [-np.inf, -np.inf, 9, 9], [1, 3, 3, 9]])
    np.testing.assert_array_equal(both(body, {"s": s}), [-1, 0, 0, 1])
    np.testing.assert_array_equal(both(body.replace("s: [", "s: int["), {"s": np.full((4, 4), np.iinfo(np.int64).min)}),
                                  [-1, 0, 0, 0])  # fmt: skip
    body = "model m(s: [seq, d]) -> seq[d] {\n    return argmax[seq](s)\n}"
    np.testing.assert_array_equal(both(body, {"s": np.zeros((0, 4))}), [-1] * 4)
    np.testing.assert_array_equal(both(body, {"s": np.eye(4)}), [0, 1, 2, 3])


# What is made of picks -> its type, and its value where there is one to pick, and where there is none.
MADE = {
    "pick": ("past", lambda p: p, -1),
    "pick + 1 - 1": ("past", lambda p: p, -1),
    "index[past](int(pick) * 0 + 1)": ("past", lambda p: 1 + 0 * p, -1),
    "index[vocab](int(pick))": ("vocab", lambda p: p, -1),
    "valid(pick)": ("bool", lambda p: p >= 0, False),
    "not valid(pick)": ("bool", lambda p: p < 0, True),
    "valid(pick + 1)": ("bool", lambda p: p >= 0, False),
    "pick <= seq": ("bool", lambda p: p >= 0, False),
    "pick != seq": ("bool", lambda p: p != np.arange(4)[:, None], False),
    "pick < 1": ("bool", lambda p: p < 1, False),
    "int(pick) >= -5": ("bool", lambda p: p >= 0, False),
    "not (pick >= 0)": ("bool", lambda p: p < 0, True),
    "pick == 1 or pick == 2": ("bool", lambda p: p > 0, False),
    "x[past = pick, d = 1]": ("", lambda p: X[p, 1], 0),
    "x[past = pick + 1 - 1, d = 1]": ("", lambda p: X[p, 1], 0),
    "x[past = max(pick - 1, 0), d = 1]": ("", lambda p: X[np.maximum(p - 1, 0), 1], 0),
    "select(pick == seq, 5, 7)": ("int", lambda p: np.where(p == np.arange(4)[:, None], 5, 7), 7),
    "select(valid(pick), x[past = pick, d = 0], -3)": ("", lambda p: X[p, 0], -3),
    "real[past = pick]": ("bool", lambda p: p != 1, False),
    "ids[past = pick]": ("vocab", lambda p: 6 - p, -1),
}


@pytest.mark.parametrize("text", MADE)
def test_what_is_made_of_a_pick_of_nothing(text: str) -> None:
    kind, value, nothing = MADE[text]
    head = "model m(s: [seq, past], x: [past, d], real: bool[past], ids: vocab[past])"
    body = f"{head} -> {kind}[seq, best] {{\n    {TWICE}\n    return {text}\n}}"
    given = {"s": S, "x": X, "real": np.array([True, False, True, True]), "ids": np.array([6, 5, 4, 3])}
    np.testing.assert_array_equal(both(body, given), np.where(PICKED >= 0, value(PICKED), nothing))


# Along the pick's axis -> the same of the items that were picked, y: [picks, d], and of two others, z: [2, d].
ALONG = {
    "mean[all](concat[best, local -> all](y, z))": lambda y, z: np.concatenate([y, z]).mean(0),
    "mean[all](concat[local, best -> all](z, y + 1))": lambda y, z: np.concatenate([z, y + 1]).mean(0),
    "max[all](concat[best, local -> all](y - 99, z - 99))": lambda y, z: np.concatenate([y, z]).max(0) - 99,
    "mean[wide](merge[best, pair -> wide](broadcast[pair](y) + 1))": lambda y, z: y.mean(0) + 1 if len(y) else 0 * X[0],
    "mean[best](flip[best](y) + 1)": lambda y, z: y.mean(0) + 1,
    "sum[longer](pad[best -> longer](y, left = 1, value = 2))": lambda y, z: y.sum(0) + 4,
    "y[best = 0]": lambda y, z: y[0],
    "mean[local](y[best = int(local) + 1] + 1)": lambda y, z: y[1:].mean(0) + 1 if len(y) > 1 else 0 * X[0],
    "mean[best](y[best = max(best - 1, 0)] + 1)": lambda y, z: (
        y[[0, 0, *range(1, len(y))][: min(len(y) + 1, 3)]].mean(0) + 1 if len(y) else 0 * X[0]
    ),
    "y[best = argmax[best](sum[d](0 - y))]": lambda y, z: y[y.sum(1).argmin()],
    "mean[local](y[best = topk[best -> local](sum[d](0 - y))] + 1)": lambda y, z: (
        y[np.argsort(y.sum(1), kind="stable")[:2]].mean(0) + 1
    ),
    "dot[best](softmax[best](dot[d](y, z[local = 0])), y)": lambda y, z: soft(y @ z[0]) @ y,
    "mean[best](merge[two, half -> d](split[d -> two, half](y)) + 1)": lambda y, z: y.mean(0) + 1,
    "mean[best](scan[best] cell(y, h = 0))": lambda y, z: np.cumsum(y + 1, 0).mean(0),
    "mean[best](scan[d] along(y[d = d], h = 0)) + 0 * z[local = 0]": lambda y, z: np.cumsum(y + 1, 1).mean(0),
    "mean[best](lifted(y))": lambda y, z: (y * 2).mean(0) + 1,
    "sum[best, d](y + 1) * z[local = 0]": lambda y, z: (y + 1).sum() * z[0],
    "mean[best](cross_entropy[d](y, index[d](int(pick) * 0 + 1))) * z[local = 0]": lambda y, z: (
        np.mean([np.log(np.exp(row - row.max()).sum()) + row.max() - row[1] for row in y]) * z[0]
    ),
}
BLOCKS = """
block cell(y: [d], h: [d]) -> (h: [d]) {
    return h + y + 1
}
block along(y: [], h: []) -> (h: []) {
    return h + y + 1
}
block lifted(y: [d]) -> [d] {
    return y * 2 + 1
}
"""


def soft(scores: Array) -> Array:
    shares = np.exp(scores - scores.max())
    return shares / shares.sum()


@pytest.mark.parametrize("text", ALONG)
def test_along_the_axis_of_picks(text: str) -> None:
    head = "model m(s: [seq, past], x: [past, d], w: [local, d]) -> [seq, d]"
    body = f"{head} {{\n    {TWICE}\n    y = x[past = pick]\n    z = broadcast[seq](w)\n    return {text}\n}}"
    z = np.array([[1.0, -1, 2, 0], [0, 3, 1, -2]])
    found = both(body, {"s": S, "x": X / 8, "w": z}, BLOCKS)
    right = [ALONG[text](X[[p for p in picks if p >= 0]] / 8, z) for picks in PICKED]
    np.testing.assert_allclose(found, right, rtol=1e-10)


def test_no_items_along_a_derived_depth() -> None:
    body = (
        "model m(s: [seq, past, half], x: [past, two]) -> [seq, best, half, two] {\n"
        "    return x[past = topk[past -> best](s where past < seq)]\n}"
    )
    head = HEAD.replace("half = 2, two = 2", "two = 2, half = d / two")
    model = attnc.loads(f"{head}\n{body}\n").model("m")
    for n in (0, 1, 3):
        s, x = np.zeros((n, n, 2)), np.ones((n, 2))
        found = model.torch()(torch.tensor(s), torch.tensor(x))
        assert found.shape == (n, 3, 2, 2) and found.sum() == 4 * sum(min(i, 3) for i in range(n))
