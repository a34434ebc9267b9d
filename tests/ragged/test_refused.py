"""What is refused of an example alone is refused of it in a ragged batch, and what stands in padding never is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import attnc

torch = pytest.importorskip("torch")

HEAD = "width s ragged\ndepth two = 2\n"

# name: what is declared besides, the model, the lengths of a batch (the last is refused), what is said.
REFUSED = {
    "an item that it lacks": ("", "[] { return x[s = 2] }", [4, 3, 1], "index into s: 2 is no index"),
    "its last item": ("", "[] { return x[s = |s| - 1] }", [4, 3, 0], "-1 is no index (there is no item)"),
    "an odd length": (
        "width c = s / 2\n",
        "[c] { return sum[two](split[s -> c, two](x)) }",
        [4, 2, 3],
        "c = s / 2 does not divide: 3 / 2",
    ),
    "a size below 0": ("width c = s - 1\n", "int[] { return |c| }", [4, 2, 0], "c = s - 1 is -1"),
    "a size below 0 of a result": (
        "width c = s - 2\n",
        "[c] { return broadcast[c](sum[s](x)) }",
        [4, 2, 1],
        "c = s - 2 is -1",
    ),
    "in a block": (
        "block last[a: width](y: [a]) -> [] { return y[a = |a| - 3] }\n",
        "[] { return last[s](x) }",
        [4, 3, 2],
        "-1 is no index (0..1)",
    ),
    "in a repeat": (
        "",
        "[] { a = 0.0\n repeat.r 2 shared { a = a + x[s = 2] }\n return a }",
        [4, 3, 1],
        "2 is no index",
    ),
    "a split that is undone": (
        "width c = s / 2\n",
        "[s] { return merge[c, two -> s](2 * split[s -> c, two](x)) }",
        [4, 2, 1],
        "c = s / 2 does not divide: 1 / 2",
    ),
    "a part of another": (
        "width c = s / 2\nblock halves(y: [s]) -> [c, two] { return split[s -> c, two](y) }\n",
        "[two] { return sum[c](halves(x)) }",
        [4, 2, 3],
        "c = s / 2 does not divide: 3 / 2",
    ),
}


def both(model: attnc.Model) -> list[Callable[..., Any]]:
    plain = model.numpy(dtype="float64", seed=0)
    net = model.torch(dtype=torch.float64, seed=0)
    return [plain, lambda *given: net(*map(torch.as_tensor, given)).detach().numpy()]


@pytest.mark.parametrize("name", REFUSED)
def test_a_batch_is_held_to_what_each_example_is(name: str) -> None:
    declared, body, lengths, said = REFUSED[name]
    model = attnc.loads(f"{HEAD}{declared}\nmodel m(x: [s]) -> {body}\n").model("m")
    x = np.arange(12.0).reshape(3, 4)
    for run in both(model):
        with pytest.raises((ValueError, IndexError)) as alone:
            run(x[2, : lengths[2]], np.array(lengths[2]))
        with pytest.raises(type(alone.value)) as together:
            run(x, np.array(lengths))
        assert said in str(alone.value)
        assert str(together.value) in (str(alone.value), f"{alone.value} (the example at [2])")
        good = run(x[:2], np.array(lengths[:2]))
        for row, one, length in zip(good, x, lengths, strict=False):
            own = run(one[:length], np.array(length))
            np.testing.assert_array_equal(row[tuple(map(slice, own.shape))], own)


def test_an_index_that_is_given_is_one_of_each_example() -> None:
    """Alone it is looked at whether anything is looked up or not."""
    model = attnc.loads("width s ragged\nmodel m(x: [s], i: s[]) -> [] { return int(i) + sum[s](x) }\n").model("m")
    x, i = np.ones((2, 4)), np.array([3, 2])
    for run in both(model):
        assert run(x, i, np.array([4, 3])).tolist() == [7, 5]
        with pytest.raises(IndexError, match=r"index into s: 2 is no index \(0..1\)"):
            run(x, i, np.array([4, 2]))


@pytest.mark.parametrize(
    "size", ["5 - s", "s % 2 + 1", "max(5 - s, 0)", "s - t", "floor(t / s)", "s * (t - 3)", "(s - 4) ^ 2"]
)
def test_a_size_that_may_shrink_as_examples_grow_is_refused(size: str) -> None:
    """The arrays are as long as the longest example, and so is what derives from it."""
    text = f"width s ragged\nwidth t ragged\nwidth c = {size}\nmodel m(x: [s], y: [t]) -> [] {{\n"
    with pytest.raises(attnc.AttnError, match=r"not seen that the size of `c` grows with the ragged width `[st]`"):
        attnc.loads(f"{text}    return sum[c](c + 1.0) * sum[s](x) * sum[t](y)\n}}\n")


@pytest.mark.parametrize(
    "size",
    [
        "2 * s - 1",
        "max(s - 2, 0)",
        "floor(s / 3)",
        "ceil(s / 3)",
        "s + t",
        "min(s, t)",
        "2 * (s - 1)",
        "s * (s - 1) / 2",
        "2 * s - s",
        "(s + t) - t",
        "s ^ 2",
        "floor(s * 0.5)",
    ],
)
def test_a_size_that_grows_with_examples_is_each_ones_own(size: str) -> None:
    text = f"width s ragged\nwidth t ragged\nwidth c = {size}\nmodel m(x: [s], y: [t]) -> int[] {{\n"
    model = attnc.loads(f"{text}    return sum[c](1 + 0 * int(c)) + 0 * floor(sum[s](x) * sum[t](y))\n}}\n").model("m")
    x, y, s, t = np.ones((3, 5)), np.ones((3, 4)), np.array([5, 3, 1]), np.array([1, 4, 3])
    for run in both(model):
        alone = [int(run(x[i, : s[i]], y[i, : t[i]], s[i], t[i])) for i in range(3)]
        assert run(x, y, s, t).tolist() == alone


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_lengths_are_not_rounded_with_the_numbers(dtype: torch.dtype) -> None:
    text = "width s ragged\nwidth c = s / 2, e = floor(s / 3), f = floor(s * 0.5)\n"
    text += "model m(x: [s]) -> (a: int[], b: int[], c: int[]) {\n"
    text += "    return sum[c](1 + 0 * int(c)), sum[e](1 + 0 * int(e)), sum[f](1 + 0 * int(f))\n}\n"
    net = attnc.loads(text).model("m").torch(dtype=dtype)
    a, b, c = net(torch.ones(2, 4098, dtype=dtype), torch.tensor([4098, 518]))
    assert a.tolist() == [2049, 259]
    assert b.tolist() == [1366, 172]
    assert c.tolist() == [2049, 259]


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint64])
def test_lengths_are_of_any_kind_of_ints(kind: type[np.generic]) -> None:
    text = "width s ragged\nwidth c = s - 3\nmodel m(x: [s]) -> (a: [s], b: int[], c: int[]) {\n"
    text += "    return x[s = |s| - 1 - s], |s| * |s|, |c|\n}\n"
    plain, x = attnc.loads(text).model("m").numpy(seed=0), np.arange(200.0).reshape(2, 100)
    a, b, c = plain(x, np.array([100, 50], kind))
    assert (a[1, 0], b.tolist(), c.tolist()) == (149, [10000, 2500], [97, 47])
    with pytest.raises(ValueError, match="c = s - 3 is -1"):
        plain(x, np.array([100, 2], kind))


# Blocks that are given a number that each example has its own of: declarations, and a model of x: [s, two].
NUMBERS = {
    "a factor": ("block f(x: [two], n: int[]) -> [two] { return x * n }\n", "f(x, |s|)"),
    "of places": ("block f(x: [s, two], n: int[]) -> [s, two] { return x * (s * n + 1) / n }\n", "f(x, |s|)"),
    "a truth": ("block f(x: [two], long: bool[]) -> [two] { return select(long, x, -x) }\n", "f(x, |s| > 2)"),
    "a mask": (
        "width k like s\nblock f(x: [s, two], all: bool[]) -> [s, two] {\n"
        " return dot[k](softmax[k](broadcast[s](sum[two](x[s as k])) where all or k <= s), x[s as k]) }\n",
        "f(x, |s| > 2)",
    ),
    "a number of it": (
        "block g(n: int[]) -> int[] { return 2 * n + 1 }\nblock f(x: [two], n: int[]) -> [two] { return x * g(n) }\n",
        "f(x, g(|s|))",
    ),
    "an index": ("block f(x: [s, two], n: int[]) -> [two] { return x[s = n - 1] }\n", "broadcast[s](f(x, |s|))"),
    "in passes": (
        "block f(x: [two], n: int[]) -> [two] {\n a = 1.0\n"
        " repeat.r 2 shared { a = a * n + 1 }\n"
        " repeat.q i in 2 { x = x * a + linear.L[two -> two](x) * n * i }\n return x }\n",
        "f(x, |s|)",
    ),
    "for each step": (
        "block f(x: [two], n: int[], h: [two]) -> (h: [two]) { return h / n + x * n }\n",
        "scan[s] f(x, |s|, h = 0)",
    ),
    "at first": (
        "block f(x: [two], h: []) -> (h: []) { return h / 2 + sum[two](x) }\n",
        "broadcast[two](scan[s] f(x, h = |s| * 1.0))",
    ),
    "of a model": ("model f(x: [two], n: int[]) -> [two] { return x * n }\n", "f(x, |s| + 1)"),
    "with a default": (
        "block f(x: [two], n: [] = 2.0) -> [two] { return x * n }\n",
        "f(x) + f(x, n = 1.0 / max(|s|, 1)) + f(x, 3)",
    ),
    "divided by": ("block f(x: [s, two], n: []) -> [s, two] { return x / (n - 2) * (s + 1) }\n", "f(x, 0.5 + |s|)"),
    "in a table": (
        "block f(x: [s, two], n: int[]) -> [s, two] { return x + sin((s + n) / 10 ^ (two / |two|)) }\n"
        "block g(x: [s, two], n: int[]) -> [s, two] {\n repeat.r 2 shared { x = f(x, n) }\n return x }\n",
        "g(x, |s|)",
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_of_each_example_is_its_own_in_a_block(name: str) -> None:
    declared, body = NUMBERS[name]
    text = f"width s ragged\ndepth two = 2\n{declared}\nmodel m(x: [s, two]) -> [s, two] {{\n    return {body}\n}}\n"
    model = attnc.loads(text).model("m")
    x, lengths = np.random.default_rng(0).normal(size=(2, 4, 2)), np.array([4, 2])
    for run in both(model):
        found = run(x, lengths)
        for row, one, length in zip(found, x, lengths, strict=True):
            np.testing.assert_allclose(row[:length], run(one[:length], np.array(length)), rtol=1e-12)
            assert not row[length:].any()


# Indices, quotients and lengths that only padding would make wrong: declarations, and a model of x: [s], z: int[t].
FINE = {
    "an index given to a lifted block": (
        "block pick(x: [s], i: int[]) -> [] { return x[s = i - 1] }\n",
        "[t] { return pick(x, z) }",
    ),
    "an index made of places": (
        "block pick(x: [s], i: int[]) -> [] { return x[s = (i - 1) % 2] }\n",
        "[t] { return pick(x, |t| - t) }",
    ),
    "a row of a table": ("depth v = 9\n", "[t, two] { return embed.E[v -> two](index[v](z - 1)) }"),
    "a row of a table in a lifted block": (
        "depth v = 9\nblock row(i: int[]) -> [two] { return embed.E[v -> two](index[v](i - 1)) }\n",
        "[t, two] { return row(z) }",
    ),
    "a row for each step": (
        "depth v = 9\nblock cell(i: int[], h: []) -> (h: []) {\n"
        " return h + sum[two](embed.E[v -> two](index[v](i - 1))) }\n",
        "[t] { return scan[t] cell(z, h = 0) }",
    ),
    "an item for each step": (
        "block pick(x: [s], i: int[]) -> [] { return x[s = i - 1] }\n"
        "block cell(x: [s], i: int[], h: []) -> (h: []) { return h + pick(x, i) }\n",
        "[t] { return scan[t] cell(x, z, h = 0) }",
    ),
    "an item in a repeat in a lifted block": (
        "block pick(x: [s], i: int[]) -> [] {\n a = 0.0 * i\n"
        " repeat.r 2 shared { a = a + x[s = i - 1] }\n return a }\n",
        "[t] { return pick(x, z) }",
    ),
    "a lifted choice": ("", "[t] { return x[s = argmax[s](broadcast[t](x) * broadcast[s](z))] }"),
    "a class for each": ("", "[t] { return cross_entropy[s](broadcast[t](x) * broadcast[s](z), index[s](z - 1)) }"),
}


@pytest.mark.parametrize("name", FINE)
def test_padding_is_never_refused(name: str) -> None:
    declared, body = FINE[name]
    model = attnc.loads(f"{HEAD}width t ragged\n{declared}\nmodel m(x: [s], z: int[t]) -> {body}\n").model("m")
    rng = np.random.default_rng(0)
    x, s, t = rng.normal(size=(4, 4)), np.array([4, 2, 3, 0]), np.array([3, 1, 2, 0])
    z = rng.integers(1, 3, (4, 3))
    for row, length in zip(z, t, strict=True):
        row[length:] = 99
    uses = {port.name for port in model.inputs}
    given = [value for name, value in (("x", x), ("z", z), ("s_lengths", s), ("t_lengths", t)) if name in uses]
    for run in both(model):
        found = run(*given)
        for place in range(4):
            alone = run(x[place, : s[place]], z[place, : t[place]], s[place], t[place])
            np.testing.assert_allclose(found[place][: t[place]], alone, atol=1e-12)
            assert not found[place][t[place] :].any()


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.float32])
@pytest.mark.parametrize("falling", ["false", "true"])
def test_padding_ranks_last_whatever_the_items_are(kind: type[np.generic], falling: str) -> None:
    whole = np.issubdtype(kind, np.integer)
    ends = [np.iinfo(kind).min, np.iinfo(kind).max] if whole else [-np.inf, np.inf]
    head = f"width s ragged\nwidth r like s\nmodel m(x: {'int' if whole else ''}[s]) -> (a: s[r], b: s[two]) {{\n"
    text = f"depth two = 2\n{head}    return argsort[s -> r](x, descending = {falling}), topk[s -> two](x)\n}}\n"
    x, lengths = np.array([[0, *ends, 5], [*ends, 1, 1], [ends[0], ends[0], 7, 7]], kind), np.array([4, 3, 2])
    model = attnc.loads(text).model("m")
    for found in (model.numpy(seed=0)(x, lengths), model.torch(seed=0)(torch.tensor(x), torch.tensor(lengths))):
        for place, length in enumerate(lengths):
            own = model.numpy(seed=0)(x[place, :length], np.array(length))
            np.testing.assert_array_equal(np.asarray(found[0])[place][:length], own[0])
            np.testing.assert_array_equal(np.asarray(found[1])[place], own[1])


@pytest.mark.parametrize(
    "weight",
    [
        "log(4 - s)",
        "1 / (4 - s)",
        "max[k](x[s as k] where k >= s)",
        "exp(99.0 * s * s)",
        "2.0 ^ (200.0 * broadcast[s](w) * s)",
    ],
)
def test_zero_times_what_is_infinite_is_left_out(weight: str) -> None:
    """Of weights that are 0 in padding; alone none of their factors is infinite."""
    head = "width s ragged\nwidth k like s\n" if "k" in weight else "width s ragged\n"
    param = "param w: [] ~ ones" if "(w)" in weight else ""
    text = f"{head}model m(x: [s]) -> [] {{\n{param}\nreturn dot[s](raw(softmax[s](x)) * ({weight}), x) }}\n"
    model = attnc.loads(text).model("m")
    x, lengths = np.random.default_rng(0).normal(size=(3, 9)), np.array([3, 2, 1])
    for run in both(model):
        with np.errstate(all="ignore"):  # in padding
            found = run(x, lengths)
        alone = [run(x[i, :length], np.array(length)) for i, length in enumerate(lengths)]
        np.testing.assert_allclose(found, alone, rtol=1e-12)


@pytest.mark.parametrize(
    "body",
    [
        "y * log(4 - s)",
        "y / (4 - s)",
        "y * sqrt(3.5 - s)",
        "y * exp(10.0 * s * s)",
        "y / (w * (3 - s))",
        "y * broadcast[d](max[k](z[s as k] where k >= s))",
        "y * broadcast[d](logsumexp[k](z[s as k] where k >= s))",
        "exp(y - broadcast[s](max[s](y)))",
        "exp(y - broadcast[s](logsumexp[s](y)))",
        "y * broadcast[s, d](max[s](z))",
        "y / broadcast[s](sum[s](y))",
        "y * broadcast[s](rsqrt(sum[s](y ^ 2)))",
        "y * broadcast[s, d](log(sum[s](z ^ 2)))",
        "y * (1 / |s|) + y * log(|s|)",
        "y / (|s| - 1)",
        "y * rsqrt(|s| - 1) + y / log(|s|) + y * (|s| - 1) ^ (-1)",
        "y * (s / (|s| - 1))",
        "linear.B[d -> d](l2norm[d](y - y, eps = 0.5) + y * broadcast[s, d](max[s](z)))",
    ],
)
def test_what_is_infinite_of_no_items_spoils_no_gradient(body: str) -> None:
    """The gradient of a batch, with an example of no items and with padding, is the sum of those of its examples."""
    head = "width s ragged\nwidth k like s\n" if "k" in body.replace("broadcast", "") else "width s ragged\n"
    weight = "    param w: [] ~ ones\n" if "w *" in body else ""
    head += f"depth d = 2\nmodel m(x: [s, d], z: [s]) -> [] {{\n{weight}    y = linear.A[d -> d](x)\n"
    model = attnc.loads(f"{head}    return sum[s, d]({body}) + 0 * sum[s](z)\n}}\n").model("m")
    net = model.torch(dtype=torch.float64, seed=0)
    x, z = 2 + torch.rand(3, 9, 2, dtype=torch.float64), 3 + torch.rand(3, 9, dtype=torch.float64)
    lengths = torch.tensor([3, 0, 2])
    found = torch.autograd.grad(net(x, z, lengths).sum(), list(net.parameters()))
    alone = [torch.zeros_like(weight) for weight in net.parameters()]
    for i in (0, 2):
        own = net(x[i, : lengths[i]], z[i, : lengths[i]], lengths[i])
        for total, grad in zip(alone, torch.autograd.grad(own, list(net.parameters())), strict=True):
            total += grad
    for grad, total in zip(found, alone, strict=True):
        torch.testing.assert_close(grad, total, rtol=1e-9, atol=1e-12)


INSIDE = {
    "a block": (
        "block g[n: width](y: [n, d], z: [d]) -> [n, d] { return exp(y - broadcast[n](z)) }\n",
        "g[s](y, max[s](y))",
    ),
    "a lifted block": (
        "block g(y: [], z: []) -> [] { return exp(y - z) * z }\n",
        "g(y, broadcast[s](max[s](y)))",
    ),
    "what a block gives": (
        "block g[n: width](y: [n, d]) -> [d] { return max[n](y) }\n",
        "exp(y - broadcast[s](g[s](y)))",
    ),
    "passes": ("", "a"),
    "carried from pass to pass": ("", "b"),
    "steps": (
        "width k like s\nblock c(y: [d], z: [], h: []) -> (h: []) { return h * 0.5 + sum[d](y * broadcast[d](z)) }\n",
        "broadcast[d](scan[s] c(y, logsumexp[k](dot[d](y, y[s as k]) where k >= s), h = 0))",
    ),
}


@pytest.mark.parametrize("where", INSIDE)
def test_what_is_infinite_is_followed_into(where: str) -> None:
    declared, body = INSIDE[where]
    text = f"width s ragged\ndepth d = 2\n{declared}model m(x: [s, d]) -> [] {{\n    y = linear.A[d -> d](x)\n"
    text += "    z = broadcast[s](max[s](y))\n    a = y\n    repeat.q 2 shared { a = a * 0.5 + y * exp(y - z) }\n"
    text += "    b = y\n    v = mean[s](y)\n    repeat.r 2 shared {\n        b = y * exp(b - broadcast[s](v))\n"
    text += f"        v = max[s](y)\n    }}\n    return sum[s, d]({body})\n}}\n"
    net = attnc.loads(text).model("m").torch(dtype=torch.float64, seed=0)
    x, lengths = 2 + torch.rand(3, 4, 2, dtype=torch.float64), torch.tensor([3, 0, 2])
    found = torch.autograd.grad(net(x, lengths).sum(), list(net.parameters()))
    alone = [torch.autograd.grad(net(x[i, : lengths[i]], lengths[i]), list(net.parameters())) for i in (0, 2)]
    for grad, one, other in zip(found, *alone, strict=True):
        torch.testing.assert_close(grad, one + other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "body",
    [
        "1 / (y - w)",
        "log(y - w)",
        "sqrt(y - w) * rsqrt(y - w)",
        "(y - w) ^ (-1)",
    ],
)
@pytest.mark.parametrize("call", ["f(y = x)", "scan[s] cell(x, h = 0)"])
def test_what_is_undefined_in_a_callers_padding_spoils_no_gradient(body: str, call: str) -> None:
    """Inputs read 1 where there is padding, and the weight is 1: y - w is 0 there, for a block that knows of no s."""
    text = f"""
    width s ragged
    block f(y: []) -> [] {{
        param w: [] ~ ones
        return {body}
    }}
    block cell(y: [], h: []) -> (h: []) {{ return 0.5 * h + f(y) }}
    model m(x: [s]) -> [s] {{ return {call} }}
    """
    model = attnc.loads(text).model("m")
    net = model.torch(dtype=torch.float64, seed=0)
    x = 2 + torch.rand(2, 3, dtype=torch.float64)
    net(x, torch.tensor([3, 1])).sum().backward()
    assert all(weight.grad.isfinite().all() for weight in net.parameters())


STATES = {
    "steps along the width": "sum[s, d](scan[s] cell(x, h = 1))",
    "steps of each item": "sum[s, t, d](scan[t] cell(broadcast[t](x), h = x))",
    "a state that has the width": "sum[s, t, d](scan[t] wide[s](broadcast[t](x), h = x))",
    "a state of which all items feed each": "sum[s, t, d](scan[t] mixed[s](broadcast[t](x), h = x))",
    "steps within steps": "sum[s, d](scan[s] outer(x, h = 1))",
    "a state that is an int": "sum[s, d](counts[s](x))",
    "a state after the last item": "sum[s, d](counts_down[s](x))",
}


@pytest.mark.parametrize("where", STATES)
def test_a_state_does_not_grow_in_padding(where: str) -> None:
    """Padding reads 1: there a state would be infinite after two steps, and the gradients of weights no numbers."""
    text = f"""
    width s ragged
    width t = 4
    depth d = 2
    block grow(y: [d], h: [d]) -> [d] {{ return h * exp(exp(6 * y)) + linear.w[d -> d](y) }}
    block cell(y: [d], h: [d]) -> (h: [d]) {{ return grow(y, h) }}
    block wide[n: width](y: [n, d], h: [n, d]) -> (h: [n, d]) {{ return grow(y, h) }}
    block mixed[n: width](y: [n, d], h: [n, d]) -> (h: [n, d]) {{ return grow(y, h) + broadcast[n](mean[n](h)) }}
    block up(y: [d], m: int[]) -> (m: int[], z: [d]) {{ return m * 8, linear.w[d -> d](y) * exp(m) }}
    block counts[n: width](x: [n, d]) -> [n, d] {{
        _, z = scan[n] up(x, m = 1)
        return z
    }}
    block down(y: [d], m: []) -> (m: [], z: [d]) {{ return m - 1, linear.w[d -> d](y) * log(m) }}
    block counts_down[n: width](x: [n, d]) -> [n, d] {{
        _, z = scan[n] down(x, m = 3)
        return z
    }}
    block outer(y: [d], h: [d]) -> (h: [d]) {{
        g = scan[t] cell(broadcast[t](y), h = h)
        return g[t = 3]
    }}
    model m(x: [s, d]) -> [] {{ return {STATES[where]} }}
    """
    model = attnc.loads(text).model("m")
    net, plain = model.torch(dtype=torch.float64, seed=0), model.numpy(dtype="float64", seed=0)
    x, lengths = -0.5 * torch.rand(2, 6, 2, dtype=torch.float64), torch.tensor([3, 1])
    y = net(x, lengths)
    found = torch.autograd.grad(y.sum(), list(net.parameters()))
    np.testing.assert_allclose(plain(x.numpy(), lengths.numpy()), y.detach(), rtol=1e-10)
    one, other = (torch.autograd.grad(net(x[i, :n], lengths[i]), list(net.parameters())) for i, n in ((0, 3), (1, 1)))
    for total, a, b in zip(found, one, other, strict=True):
        torch.testing.assert_close(total, a + b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("unused", ["argmax[s](x)", "x[s = 1]", "topk[s -> two](x)", "split[s -> half, two](x)"])
def test_what_nothing_reads_refuses_no_batch(unused: str) -> None:
    text = f"width s ragged\nwidth half = s / 2\ndepth two = 2\nmodel m(x: [s]) -> [s] {{ y = {unused}\nreturn 2 * x }}"
    model = attnc.loads(text).model("m")
    x = np.arange(12.0).reshape(2, 6)
    for length in ([0, 3], [1, 5]):
        valid = np.arange(6) < np.array(length)[:, None]
        np.testing.assert_array_equal(model.numpy()(x, np.array(length)), 2 * x * valid)
        found = model.torch()(torch.tensor(x), torch.tensor(length))
        np.testing.assert_array_equal(found.numpy(), 2 * x * valid)
