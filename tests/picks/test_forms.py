"""Models with picks under a mask: proved or not, decoded step by step, of ragged widths, in blocks and repeats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attnc

torch = pytest.importorskip("torch")

Array = np.ndarray[Any, np.dtype[Any]]
HEAD = """
width seq{ragged}
width past like seq
width rank like seq
width best = 3
depth d = 4

block cell(y: [d], h: [d]) -> (h: [d]) {{
    return tanh(h + linear.c[d -> d](y))
}}
block layer[k: width](y: [k, d]) -> [k, d] {{
    return y + tanh(linear.w[d -> d](y)) + broadcast[k](mean[k](y))
}}
block chosen[k: width, of: width](s: [of], x: [of, d]) -> (index: of[k], items: [k, d]) {{
    pick = topk[of -> k](s where s < 2)
    return pick, x[of = pick]
}}
"""
START = """
    s = dot[d](x, linear.k[d -> d](x)[seq as past])
    pick = topk[past -> best](s where past <= seq)
    v = linear.v[d -> d](x)[seq as past]
"""
CAUSAL = {
    "attention over picks": f"{START}    y = v[past = pick]\n    return dot[best](softmax[best](dot[d](x, y)), y)",
    "picks before": f"{START.replace('<=', '<')}    y = v[past = pick]\n"
    "    return x + dot[best](softmax[best](dot[d](x, y) - (seq - pick) / 9), y)",
    "a mask of picks": f"{START}    seen = any[best](past == pick)\n"
    "    return dot[past](softmax[past](s where seen), v)",
    "one pick": f"{START}    one = argmax[past](s where past < seq)\n"
    "    return x + v[past = one] + select(valid(one), x, 0) + mean[best](v[past = pick])",
    "how many": f"{START}    return x * sum[best](select(valid(pick), 1, 0)) + mean[best](v[past = pick] + 1)",
    "layers": "    repeat.layers 2 {\n        s = dot[d](x, linear.k[d -> d](x)[seq as past])\n"
    "        pick = topk[past -> best](s where past <= seq)\n"
    "        y = linear.v[d -> d](x)[seq as past][past = pick]\n"
    "        repeat.inner 2 {\n            y = layer[best](y)\n        }\n        x = x + mean[best](y)\n    }\n"
    "    return x",
    "picked in the loop": f"{START}    y = broadcast[best](x)\n    repeat.r 2 {{\n"
    "        y = y + tanh(linear.w[d -> d](v[past = pick]))\n    }\n    return sum[best](y + 1)",
    "what goes round": f"{START}    y = v[past = pick]\n    z = broadcast[best](x)\n    repeat.r 3 {{\n"
    "        t = y\n        y = linear.w[d -> d](z)\n        z = t\n    }\n"
    "    return sum[best](y + 1) + mean[best](z + 2)",
    "a scan over picks": f"{START}    h = scan[best] cell(v[past = pick], h = 0)\n    return mean[best](h + 1)",
    "a scan along the sequence": f"{START}    y = scan[seq] cell(v[past = pick], h = 0)\n    return mean[best](y + 1)",
    "what there is of all": f"{START}    every = argsort[past -> rank](s where past <= seq)\n"
    "    return mean[rank](v[past = every] + 1)",
    "never one": f"{START}    none = topk[past -> best](s where past < seq and seq - past < 1)\n"
    "    return x + sum[best](v[past = none] + 1)",
    "shared blocks": f"{START}    share f = layer\n    y = f[best](v[past = pick])\n"
    "    z = f[best](broadcast[best](x))\n"
    "    return mean[best](y * z + 1)",
}


def model(body: str, ragged: str = "", claim: str = " causal seq") -> attnc.Model:
    text = f"{HEAD.format(ragged=ragged)}model m(x: [seq, d]) -> [seq, d]{claim} {{\n{body}\n}}\n"
    return attnc.loads(text).model("m")


@pytest.mark.parametrize("name", CAUSAL)
def test_later_items_change_nothing_before(name: str) -> None:
    """In values, and gradients: as is proved. Both backends agree."""
    made = model(CAUSAL[name])
    run, net = made.numpy(dtype="float64", seed=1), made.torch(dtype=torch.float64, seed=1)
    x = np.random.default_rng(0).normal(0, 1, (6, 4))
    right = run(x)
    for seen in range(1, 6):
        other = x.copy()
        other[seen:] = np.random.default_rng(seen).normal(0, 9, (6 - seen, 4))
        np.testing.assert_array_equal(run(other)[:seen], right[:seen])
        t = torch.from_numpy(other).requires_grad_()
        result = net(t)
        np.testing.assert_allclose(result.detach()[:seen], right[:seen], rtol=1e-10, atol=1e-12)
        (gradient,) = torch.autograd.grad((result[:seen] ** 2).sum(), t)
        assert (gradient[seen:] == 0).all() and gradient.isfinite().all()


@pytest.mark.parametrize("name", CAUSAL)
def test_steps_are_the_whole(name: str) -> None:
    from tests.decode.steps import check_steps

    made = model(CAUSAL[name])
    if made.decoding.step is None:
        assert name == "a scan along the sequence", made.decoding.reason
        return
    for widths in ((9,), (1,), (2,), (3,)):
        check_steps(made, widths=widths * 3, dtypes=("float64",))


@pytest.mark.parametrize("name", CAUSAL)
def test_each_ragged_example_is_as_if_alone(name: str) -> None:
    """Also one of fewer items than are picked, and one of none, whatever stands in the padding."""
    alone, made = model(CAUSAL[name]), model(CAUSAL[name], " ragged")
    x, lengths = np.random.default_rng(0).normal(0, 1, (4, 6, 4)), np.array([6, 2, 1, 0])
    for place, length in enumerate(lengths):
        x[place, length:] = [np.nan, np.inf, -np.inf, 1e30][place]
    run = alone.numpy(dtype="float64", seed=1)
    t = torch.from_numpy(x).requires_grad_()
    deep = made.torch(dtype=torch.float64, seed=1)(t, torch.from_numpy(lengths))
    (gradient,) = torch.autograd.grad(deep.sum(), t)
    for found in (made.numpy(dtype="float64", seed=1)(x, lengths), deep.detach().numpy()):
        for place, length in enumerate(lengths):
            np.testing.assert_allclose(found[place, :length], run(x[place, :length]), rtol=1e-9, atol=1e-12)
            assert (found[place, length:] == 0).all()
    for place, length in enumerate(lengths):
        assert gradient[place].isfinite().all() and (gradient[place, length:] == 0).all()


REFUSED = {
    "one after": START.replace("<=", "<= 1 +") + "    return mean[best](v[past = pick])",
    "no mask": START.replace(" where past <= seq", "") + "    return mean[best](v[past = pick])",
    "the other way": START.replace("past <= seq", "past >= seq") + "    return mean[best](v[past = pick])",
    "the next of all": f"{START}    every = argsort[past -> rank](s where past <= seq + 1)\n"
    "    return mean[rank](v[past = every] + 1)",
    "a rank behind": f"{START}    every = argsort[past -> rank](s where past <= seq)\n"
    "    return x + sum[rank](select(valid(every[rank = min(rank + 1, |rank| - 1)]), 1, 0))",
    "the next of each": f"{START}    return mean[best](v[past = min(pick + 1, |past| - 1)])",
    # A comparison with a pick of nothing is false, so that its opposite holds for every item.
    "not a comparison": f"{START}    return max[best](sum[past](v where not (pick < past)))",
    "not a comparison, of one": f"{START}    one = argmax[past](s where past < seq)\n"
    "    return sum[past](v where not (one < past))",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_may_leak_is_not_proved(name: str) -> None:
    with pytest.raises(attnc.AttnError) as refused:
        model(REFUSED[name])
    assert "E0701" in str(refused.value)
    model(REFUSED[name], claim="")


def test_a_block_gives_picks() -> None:
    """As a model's result an index is -1; elsewhere what a block gives of nothing is left out."""
    text = HEAD.format(ragged="") + (
        "model m(s: [past], x: [past, d]) -> (index: past[best], mean: [d]) {\n"
        "    index, y = chosen[best, past](s, x)\n    return index, mean[best](y + 1)\n}\n"
    )
    made = attnc.loads(text).model("m")
    s, x = np.array([0.0, 3, 1, 5]), np.arange(16.0).reshape(4, 4)
    for found in (made.numpy()(s, x), made.torch()(torch.tensor(s), torch.tensor(x))):
        np.testing.assert_array_equal(found[0], [2, 0, -1])
        np.testing.assert_allclose(found[1], x[[0, 2]].mean(0) + 1)


def test_what_takes_no_picks_of_nothing_is_as_it_was() -> None:
    """Where there are surely enough items, the graph is the same, and so is its code."""
    from attnc.compiler.rewrites.picks.follow import follow_picks

    text = "width seq\ndepth e = 5, two = 2\nmodel m(x: [seq, e]) -> [seq] {\n" \
           "    return sum[two](x[e = topk[e -> two](x)]) + x[e = argmax[e](x)]\n}\n"  # fmt: skip
    made = attnc.loads(text).model("m")
    assert follow_picks(made.graph) == (made.graph, [])
    assert "where" not in made.source("torch") and "picks" not in made.source("torch")
