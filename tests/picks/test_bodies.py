"""What is computed of picks under a mask is what is computed of the items that there were to pick, of nothing else.

Each body is a block over an axis `k`. It is given the picks of each query, some of them of nothing, and as a reference
exactly the items that a brute force picks, along a width of just that many.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attnc

torch = pytest.importorskip("torch")

Array = np.ndarray[Any, np.dtype[Any]]
HEAD = """
width seq, k
width past like seq
width best = 4
depth d = 4, two = 2, half = 2, c = 8
const times = 2
"""
# Of the items y: [k, d] and the query q: [d]; every weight is the same in the model and in its reference.
BODIES = {
    "sum": "return sum[k](y)",
    "mean": "return mean[k](y + 1)",
    "max": "return select(max[k](y) > -1e9, max[k](y), 0)",
    "min": "return select(min[k](y + 1) < 1e9, min[k](y + 1), 0)",
    "logsumexp": "l = logsumexp[k](y)\n    return select(l > -1e9, l, 0)",
    "softmax": "w = softmax[k](dot[d](y, q))\n    return dot[k](w, y)",
    "a bias behind": "v = linear.v[d -> d](y)\n    return dot[k](softmax[k](dot[d](v, q)), v)",
    "a norm": "v = layernorm.n[d](linear.v[d -> d](y))\n    return mean[k](rmsnorm.r[d](v) * v)",
    "a norm of no eps": "return sum[k](l2norm[d](y, eps = 0))",
    "a norm over the picks": "return sum[k](l2norm[k](y + 1))",
    "a mask of its own": "return mean[k](y + 2 where y > 0)",
    "a mask over another axis": "return sum[k](broadcast[d](mean[d](y + 2 where y > 0)))",
    "logarithms": "return sum[k](log(y * y))",
    "quotients": "return mean[k](1 / y + sqrt(y * y))",
    "powers": "return sum[k]((y * y) ^ 0.3)",
    "an exponential": "return sum[k](exp(100 - y * y))",
    "entropy": "w = softmax[k](dot[d](y, q))\n    return broadcast[d](sum[k](w * log_softmax[k](dot[d](y, q)))) + q",
    "a choice": "return sum[k](select(y > 0, log(y), y - 3))",
    "counting": "return broadcast[d](sum[k](select(dot[d](y, q) > 0, 1, 2))) + q",
    "all": "return select(all[k](y + 3 > 0), q, -q)",
    "not any": "return select(not any[k](not (y > 0)), q, -q)",
    "a running sum": "return mean[k](cumsum[k](y + 1))",
    "a running maximum": "return sum[k](cummax[k](y))",
    "a product along the picks": "return dot[k](y + 1, y - 1)",
    "a softmax over a depth": "return mean[k](softmax[d](y))",
    "a repeat": "repeat.layers times {\n        y = y + tanh(linear.v[d -> d](y))\n    }\n    return mean[k](y)",
    "a repeat that reads all": "repeat.layers times {\n        y = y + tanh(broadcast[k](mean[k](y)) + 1)\n    }\n"
    "    return sum[k](y)",
    "split depths": "return merge[two, half -> d](mean[k](split[d -> two, half](y) + 1))",
    "joined depths": "return linear.v[c -> d](sum[k](concat[d, d -> c](y, y + 1)))",
    "an index into depths": "return sum[k](y[d = argmax[d](y)]) + q",
    "blocks in blocks": "return mean[k](inner.one[k](inner.two[k](y, q), q))",
}
INNER = """
block inner[k: width](y: [k, d], q: [d]) -> [k, d] {
    return y * linear.v[d -> d](y) + broadcast[k](mean[k](y + 1)) + broadcast[k](q)
}
"""


@cache
def models(name: str) -> tuple[attnc.Model, attnc.Model]:
    """The model with picks, and its reference."""
    text = f"""{HEAD}{INNER}
block f[k: width](y: [k, d], q: [d]) -> [d] {{
    {BODIES[name]}
}}
model picked(s: [seq, past], m: bool[seq, past], x: [past, d], q: [seq, d]) -> [seq, d] {{
    pick = topk[past -> best](s where m)
    return f[best](x[past = pick], q)
}}
model plain(y: [k, d], q: [d]) -> [d] {{
    return f[k](y, q)
}}
"""
    spec = attnc.loads(text)
    return spec.model("picked"), spec.model("plain")


@cache
def nets(name: str) -> tuple[Any, Any, Any]:
    picked, plain = models(name)
    deep = picked.torch(dtype=torch.float64, seed=1)
    reference = plain.torch(dtype=torch.float64, seed=1)
    reference.load_state_dict(deep.state_dict())
    return picked.numpy(dtype="float64", seed=1), deep, reference


def brute(s: Array, m: Array, count: int) -> list[list[int]]:
    """The best of what is allowed, of equals the first."""
    found = []
    for scores, allowed in zip(s, m, strict=True):
        items = [place for place in range(len(scores)) if allowed[place]]
        found.append(sorted(items, key=lambda place: -scores[place])[:count])
    return found


def grads(loss: Any, *of: Any) -> list[Array]:
    found = torch.autograd.grad(loss, of, allow_unused=True)
    return [np.zeros(x.shape) if g is None else g.numpy() for g, x in zip(found, of, strict=True)]


def weighed(result: Any) -> Any:
    """A loss that each item of a result moves otherwise."""
    return (result * torch.linspace(1, 2, result.numel(), dtype=torch.float64).reshape(result.shape)).sum()


def problem(n: int, seed: int) -> list[Array]:
    """Scores, a mask, items and queries."""
    draw = np.random.default_rng(seed)
    s, x, q = draw.integers(-2, 3, (n, n)).astype(float), draw.normal(0, 1, (n, 4)), draw.normal(0, 1, (n, 4))
    s[draw.random((n, n)) < 0.2] = -np.inf
    return [s, draw.random((n, n)) < draw.random((n, 1)), x, q]


def tensors(arrays: list[Array]) -> list[Any]:
    found = [torch.from_numpy(array) for array in arrays]
    return [*found[:2], *(t.requires_grad_() for t in found[2:])]


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize(("n", "seed"), [(1, 0), (2, 1), (6, 2), (9, 3)])
def test_it_is_what_the_items_there_are_give(name: str, n: int, seed: int) -> None:
    arrays = problem(n, seed)
    run, deep, reference = nets(name)
    s, m, x, q = tensors(arrays)
    result = deep(s, m, x, q)
    expected = torch.stack([reference(x[picks], q[i]) for i, picks in enumerate(brute(*arrays[:2], 4))])
    np.testing.assert_allclose(result.detach(), expected.detach(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(run(*arrays), expected.detach(), rtol=1e-9, atol=1e-12)
    weights = dict(deep.named_parameters()), dict(reference.named_parameters())
    ours = grads(weighed(result), x, q, *weights[0].values())
    right = grads(weighed(expected), x, q, *(weights[1][key] for key in weights[0]))
    for got, wanted in zip(ours, right, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", BODIES)
def test_nothing_depends_on_what_the_mask_forbids(name: str) -> None:
    """In values, and in gradients, though what is forbidden be no number."""
    s, m, x, q = problem(7, 4)
    m[:, [0, 3]] = False  # no query may see these
    run, deep, _ = nets(name)

    def of(s: Array, x: Array) -> list[Array]:
        given = tensors([s, m, x, q])
        result = deep(*given)
        return [result.detach().numpy(), run(s, m, x, q), *grads(weighed(result), *given[2:], *deep.parameters())]

    spoilt = x.copy()
    spoilt[[0, 3]] = np.nan
    for before, after in zip(of(s, x), of(np.where(m, s, np.nan), spoilt), strict=True):
        np.testing.assert_array_equal(before, after)


@settings(max_examples=30, deadline=None)
@given(st.data())
@pytest.mark.parametrize("name", ["softmax", "a bias behind", "quotients", "max"])
def test_any_mask(name: str, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 6))
    m = np.array(data.draw(st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=n, max_size=n)))
    s, _, x, q = problem(n, data.draw(st.integers(0, 99)))
    run, deep, reference = nets(name)
    with torch.no_grad():
        items, queries = torch.from_numpy(x), torch.from_numpy(q)
        expected = torch.stack([reference(items[picks], queries[i]) for i, picks in enumerate(brute(s, m, 4))])
        found = deep(torch.from_numpy(s), torch.from_numpy(m), items, queries)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(run(s, m, x, q), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "made",
    [
        "best[bucket = ids]",
        "flip[target](best[bucket = ids])",
        "best[bucket = flip[target](ids)]",
        "best[bucket as near][near = int(ids)]",
        "concat[first, bucket -> both](best[bucket as first], best)[both = min(int(ids), 5)]",
        "max(best[bucket = ids], best[bucket = ids])",
    ],
)
def test_a_result_lacks_what_its_argument_lacks(made: str) -> None:
    """What a block gives of picks is over no axis that it was not given: here `inner` of `ids`."""
    head = "width target\ndepth inner = 6\ndepth bucket = 3, near like bucket, first like bucket, both = 6\n"
    block = f"""\
block pick(x: [inner], ids: bucket[inner, target]) -> inner[target, inner] {{
    best = topk[inner -> bucket](x where inner <= 1)
    return {made}
}}
"""
    short = "model net(x: [inner], ids: bucket[target]) -> inner[target] {\n    return pick(x, ids)\n}\n"
    long = short.replace("inner[target]", "inner[target, inner]").replace("ids)\n", "broadcast[inner](ids))\n")
    rng = np.random.default_rng(0)
    given = rng.normal(size=(2, 6)), rng.integers(0, 3, (2, 4))
    wanted = attnc.loads(head + block + long).model("net").numpy()(*given)[..., 0]
    net = attnc.loads(head + block + short).model("net")
    np.testing.assert_array_equal(net.numpy()(*given), wanted)
    np.testing.assert_array_equal(net.torch()(*map(torch.tensor, given)).numpy(), wanted)
