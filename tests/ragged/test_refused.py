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
    "the best two of one": (
        "",
        "[two] { return x[s = topk[s -> two](x)] }",
        [4, 2, 1],
        "topk[s -> two] needs |two| at most |s|, but these are 2 and 1",
    ),
    "a choice of nothing": ("", "s[] { return argmax[s](x) }", [4, 2, 0], "argmax[s]: there is no item to choose"),
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
