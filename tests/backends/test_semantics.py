"""Specs of every kind: both backends give what the language says, as an independent interpreter computes it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attnc
from attnc.compiler.check import build
from attnc.dsl.source import Source

from .agreement import agree

SPECS = (Path(__file__).parent / "specs.txt").read_text(encoding="utf-8").strip().split("\n---\n")


@pytest.mark.parametrize("text", SPECS, ids=[f"{number}" for number in range(len(SPECS))])
def test_backends_agree_with_the_oracle(text: str) -> None:
    program = build(Source("<test>", text))
    assert not program.errors, program.errors[0].message
    for name in program.models:
        agree(program.graph(name), widths=((5, 7, 3), (1, 1, 1)))


# Over nothing at all an argmax or the first item does not exist, and no number is 0 / 0 or inf - inf.
EMPTY = [text for text in SPECS if not any(word in text for word in ("argmax[", "= 0]", "/ |src|", "logsumexp[b, t]"))]


@pytest.mark.parametrize("text", EMPTY)
def test_widths_of_zero(text: str) -> None:
    program = build(Source("<test>", text))
    for name in program.models:
        agree(program.graph(name), leads=((), (2,)), widths=((0, 0, 0), (0, 4, 3)))


NOTHING = """
width t
width s
depth d = 2
model largest(x: [t, d], y: int[t, d]) -> (a: [d], b: [d], c: [], e: int[d], f: int[], g: [d]) {
    m = int(t) > 0
    return max[t](x), max[t](x where m), max[t, d](x), max[t](y), max[t, d](y where m), logsumexp[t](x)
}
model smallest(x: [t, d], y: int[t, d]) -> (a: [d], b: [d], c: [], e: int[d], f: int[]) {
    m = int(t) > 0
    return min[t](x), min[t](x where m), min[t, d](x), min[t](y), min[t, d](y where m)
}
model which(x: [t, s]) -> t[s] {
    return argmax[t](x where x > 0)
}
"""


@pytest.mark.parametrize(("name", "sign"), [("largest", -1), ("smallest", 1)])
@pytest.mark.parametrize("lead", [(), (3,), (0,)])
@pytest.mark.parametrize("whole", [np.int64, np.int32, np.uint8])
def test_the_largest_of_nothing(name: str, sign: int, lead: tuple[int, ...], whole: type[np.integer[Any]]) -> None:
    """Less than any number, as where a mask leaves nothing; the smallest is more."""
    model = attnc.loads(NOTHING).model(name)
    x, y = np.zeros((*lead, 0, 2)), np.zeros((*lead, 0, 2), whole)
    given = torch.tensor(x, requires_grad=True)
    by_torch = model.torch()(given, torch.tensor(y))
    last = np.iinfo(whole).min if sign < 0 else np.iinfo(whole).max
    for found in (model.numpy()(x, y), [result.detach().numpy() for result in by_torch]):
        for place, result in enumerate(found):
            assert result.shape == (*lead, *([], [2])[place in (0, 1, 3, 5)])
            assert result.dtype == (np.float64 if place in (0, 1, 2, 5) else whole)
            assert (result == (sign * np.inf if result.dtype == np.float64 else last)).all()
    sum(result.sum() for result in by_torch if result.is_floating_point()).backward()
    assert given.grad is not None and given.grad.shape == x.shape


@pytest.mark.parametrize("whole", [np.int64, np.int32, np.uint8])
def test_the_largest_of_whole_numbers_of_few_bits(whole: type[np.integer[Any]]) -> None:
    for name, over in ("largest", np.max), ("smallest", np.min):
        model = attnc.loads(NOTHING).model(name)
        x, y = np.zeros((3, 2)), np.array([[7, 1], [5, 2], [3, 6]], whole)
        for found in (model.numpy()(x, y), model.torch()(torch.tensor(x), torch.tensor(y))):
            of_columns, of_kept = np.asarray(found[3]), np.asarray(found[4])
            assert of_columns.tolist() == over(y, 0).tolist() and of_kept == over(y[1:])
            assert of_columns.dtype == of_kept.dtype == whole


def test_the_first_of_nothing_in_order() -> None:
    """One item is looked for, and a width may have none: then nothing is picked, and reads 0."""
    model = attnc.loads("width t\ndepth k = 1\nmodel f(x: [t]) -> [k] { return x[t = topk[t -> k](x)] }").model("f")
    for run in (model.numpy(), lambda x: model.torch()(torch.tensor(x))):
        assert np.asarray(run(np.array([1.0, 3, 2]))).tolist() == [3]
        assert np.asarray(run(np.zeros(0))).tolist() == [0]


def test_what_is_padded_has_room() -> None:
    text = "width s, t\nmodel f(x: [s], y: [t]) -> [t] { return pad[s -> t](x, left = 2) + y }"
    model = attnc.loads(text).model("f")
    for run in (model.numpy(), lambda x, y: model.torch()(torch.tensor(x), torch.tensor(y))):
        assert np.asarray(run(np.ones(3), np.zeros(5))).tolist() == [0, 0, 1, 1, 1]
        with pytest.raises(ValueError, match=r"f: pad\[s -> t\] needs \|s\| \+ 2 at most \|t\|, but these are 6 and 5"):
            run(np.ones(4), np.zeros(5))


def test_the_index_of_the_largest_of_nothing() -> None:
    model = attnc.loads(NOTHING).model("which")
    backends = (model.numpy(), lambda x: model.torch()(torch.tensor(x)))
    for run in backends:
        assert np.asarray(run(np.zeros((0, 3)))).tolist() == [-1, -1, -1]
        assert np.asarray(run(np.zeros((0, 0)))).shape == (0,)
        assert np.asarray(run(np.eye(3))).tolist() == [0, 1, 2]


def test_the_logsumexp_of_infinity() -> None:
    model = attnc.loads("width t\nmodel f(x: [t]) -> [] { return logsumexp[t](x) }").model("f")
    for x in ([1.0, np.inf], [np.inf, -np.inf], [np.inf, np.inf], [-np.inf, -np.inf], [1e308, -np.inf]):
        want = torch.logsumexp(torch.tensor(x, dtype=torch.float64), 0)
        assert model.numpy()(np.array(x)) == want == model.torch()(torch.tensor(x, dtype=torch.float64))


def test_shares_of_minus_infinities() -> None:
    """There are none, in both backends; what a mask leaves nothing of has shares of 0."""
    spec = attnc.loads(
        "width t\nmodel f(x: [t]) -> [t] { return softmax[t](x) }\n"
        "model g(x: [t]) -> [t] { return softmax[t](x where t < 0) }\n"
    )
    x = np.full(3, -np.inf)
    for name, want in ("f", np.nan), ("g", 0.0):
        model = spec.model(name)
        for found in (model.numpy()(x), model.torch()(torch.tensor(x))):
            np.testing.assert_array_equal(found, np.full(3, want))


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_what_a_mask_leaves_out_weighs_nothing_beside_what_is_no_number(odd: float) -> None:
    model = attnc.loads("width t\nmodel f(x: [t]) -> [t] { return softmax[t](x where t > 0) }").model("f")
    x = np.array([1, odd, 2])
    for found in (model.numpy()(x), model.torch()(torch.tensor(x)).numpy()):
        np.testing.assert_array_equal(found[:2], [0, np.nan])


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize("options", ["", ", smoothing = 0.1"])
@pytest.mark.parametrize("shape", [(0, 0), (0, 2, 0), (0, 3), (2, 0, 3)])
@pytest.mark.parametrize("scores", ["s", "s * 2"])
def test_the_loss_of_no_items(scores: str, shape: tuple[int, ...], options: str) -> None:
    """Nor need there be any class."""
    text = f"width q\nwidth k\nmodel f(s: [q, k], p: k[q]) -> [q] {{ return cross_entropy[k]({scores}, p{options}) }}"
    model = attnc.loads(text).model("f")
    s, p = np.zeros(shape), np.zeros(shape[:-1], np.int64)
    given = torch.tensor(s, requires_grad=True)
    found = model.torch()(given, torch.tensor(p))
    found.sum().backward()
    assert model.numpy()(s, p).shape == found.shape == p.shape
    assert given.grad is not None


@pytest.mark.parametrize("items", [0, 1, 3])
def test_a_scan_lifted_over_no_items(items: int) -> None:
    """What goes round is the same for all, and stands along them nevertheless."""
    model = attnc.loads(
        "width seq\nwidth o\nblock c(x: [], n: int[]) -> (n: int[], y: []) {\n    return n + 1, x * n\n}\n"
        "model f(x: [seq, o]) -> [seq, o] {\n    n, y = scan[seq] c(x, n = 0)\n    return y * broadcast[o](n)\n}\n"
    ).model("f")
    x = np.arange(3.0 * items).reshape(3, items) + 1
    want = x * np.array([0, 1, 2])[:, None] * np.array([1, 2, 3])[:, None]
    np.testing.assert_array_equal(model.numpy()(x), want)
    np.testing.assert_array_equal(model.torch()(torch.tensor(x)), want)


@pytest.mark.parametrize("items", [0, 1, 2])
@pytest.mark.parametrize("inside", [False, True])
def test_what_a_lifted_scan_counts_without_a_look_at_what_lifts_it(items: int, inside: bool) -> None:
    """It is the same where there are no items to lift over."""
    model = attnc.loads(
        "width b, d\n"
        "block c(x: [], h: [], n: []) -> (h: [], n: []) {\n    return h + x, n + 1\n}\n"
        "block two(x: [d]) -> (h: [d], n: [d]) {\n    return scan[d] c(x, h = 0, n = 0)\n}\n"
        "model m(x: [b, d]) -> (h: [b, d], n: [d]) {\n"
        f"    return {'two(x)' if inside else 'scan[d] c(x, h = 0, n = 0)'}\n}}\n"
    ).model("m")
    x = np.random.default_rng(0).normal(size=(3, items, 2))
    for h, n in (model.numpy()(x), model.torch(dtype="float64")(torch.tensor(x))):
        np.testing.assert_allclose(h, np.cumsum(x, -1))
        np.testing.assert_array_equal(n, [[1, 2]] * 3)


@pytest.mark.parametrize("places", [0, 1, 3])
def test_a_state_may_come_back_with_its_axes_in_another_order(places: int) -> None:
    """With a size for each axis, and with one for both: nothing would stumble over that."""
    for b in (2, 3):
        model = attnc.loads(
            f"width t\ndepth b = {b}, k = 3\n"
            "block step(x: [], h: [b, k]) -> (h: [k, b]) {\n    return h * 2 + x * |b| + b - k\n}\n"
            "model f(x: [t], y: [b, k]) -> [b, k, t] {\n    return scan[t] step(x, h = y)\n}\n"
        ).model("f")
        rng = np.random.default_rng(0)
        x, y, steps = rng.normal(size=(5, places)), rng.normal(size=(5, b, 3)), []
        h = y
        for place in range(places):
            h = h * 2 + x[:, place, None, None] * b + np.arange(b)[:, None] - np.arange(3)
            steps.append(h)
        want = np.stack(steps, -1) if steps else np.zeros((5, b, 3, 0))
        np.testing.assert_allclose(model.numpy()(x, y), want)
        np.testing.assert_allclose(model.torch(dtype="float64")(torch.tensor(x), torch.tensor(y)), want)


def test_calls_of_one_cell_may_give_it_more_or_less() -> None:
    """What one call counts without the batch, another one starts from data."""
    model = attnc.loads(
        "width b, d\n"
        "block c(x: [], h: [], n: []) -> (h: [], n: [], y: []) {\n    return h + x, n + 1, n * 2\n}\n"
        "model m(x: [b, d], k: []) -> (n: [d], y: [d], h: [b, d], m: [d], z: [d]) {\n"
        "    _, first, _ = scan[d] c(x, h = 0, n = 0)\n"
        "    g, n, y = scan[d] c(x, h = 0, n = first[d = 0])\n"
        "    h, m, z = scan[d] c(x, h = 0, n = k)\n"
        "    return n, y, h + g, m, z\n}\n"
    ).model("m")
    x, k = np.random.default_rng(0).normal(size=(3, 4, 2)), np.arange(3.0)
    ones = np.ones((3, 1))
    for n, y, h, m, z in (model.numpy()(x, k), model.torch(dtype="float64")(torch.tensor(x), torch.tensor(k))):
        np.testing.assert_array_equal(n, ones * [2, 3])
        np.testing.assert_array_equal(y, ones * [2, 4])
        np.testing.assert_allclose(h, 2 * np.cumsum(x, -1))
        np.testing.assert_array_equal(m, k[:, None] + [1, 2])
        np.testing.assert_array_equal(z, 2 * k[:, None] + [0, 2])


def test_a_pass_hangs_on_what_another_one_gave() -> None:
    """`a` has the batch by way of `c`, which another body made of `y`: whoever lifts the block must know."""
    model = attnc.loads(
        "depth b = 4, k = 3, j = 2\n"
        "block f(y: [b], a: [], c: []) -> (a: []) {\n"
        "    repeat.r i in 2 {\n        if i == 0 {\n            c = c + sum[b](y)\n        } else {\n"
        "            a = a + c\n        }\n    }\n    return a\n}\n"
        "model m(y: [b], u: [k, j]) -> [k, j] {\n    param z: [k]\n    return u * f(y, z, 2.0)\n}\n"
    ).model("m")
    rng = np.random.default_rng(0)
    y, u = rng.normal(size=(3, 4)), rng.normal(size=(3, 3, 2))  # a batch as long as `k`: nothing would stumble over it
    run = model.numpy(seed=0, dtype="float64")
    want = u * (run.weights["z"] + 2 + y.sum(-1)[:, None])[..., None]
    np.testing.assert_allclose(run(y, u), want, rtol=1e-10)
    found = model.torch(seed=0, dtype="float64")(torch.tensor(y), torch.tensor(u))
    np.testing.assert_allclose(found.detach(), want, rtol=1e-10)


@pytest.mark.parametrize(("place", "shown"), [("0", 0), ("|t| - 1", -1)])
def test_the_first_of_no_items(place: str, shown: int) -> None:
    model = attnc.loads(f"width t\ndepth d = 2\nmodel f(x: [t, d]) -> [d] {{ return x[t = {place}] }}").model("f")
    x = np.arange(6.0).reshape(3, 2)
    for run in (model.numpy(), lambda x: model.torch()(torch.tensor(x))):
        with pytest.raises(IndexError, match=rf"f: index into t: {shown} is no index \(there is no item\)"):
            run(x[:0])
        np.testing.assert_array_equal(run(x), x[shown])


INDEX_OF_NOTHING = {
    "made of the last index": ("", "x[t = clamp(max[t](t), 0, |t| - 1)]", -1),
    "a default": ("", "x[t = i]", 0),
    "a block's default": ("block b[n: width](x: [n, d], i: n[] = 0) -> [d] { return x[n = i] }", "b[t](x)", 0),
    "given to a block": ("block b[n: width](x: [n, d], i: n[]) -> [d] { return x[n = i] }", "b[t](x, index[t](0))", 0),
    "the same for each item": ("width past like t", "broadcast[past](x[t = i])[past = 0]", 0),
    "a result of a block": ("block b[n: width](x: [n, d]) -> (i: n[]) { return max[n](n) }", "x[t = b[t](x)]", -1),
}


@pytest.mark.parametrize("name", INDEX_OF_NOTHING)
def test_an_index_into_no_items(name: str) -> None:
    """It may be made of numbers alone, and so be there though nothing is that it could be an index of."""
    declared, body, place = INDEX_OF_NOTHING[name]
    text = f"width t\ndepth d = 2\n{declared}\nmodel f(x: [t, d], i: t[] = 0) -> [d] {{ return {body} }}"
    model = attnc.loads(text).model("f")
    x = np.arange(6.0).reshape(3, 2)
    for run in (model.numpy(), lambda x: model.torch()(torch.tensor(x))):
        with pytest.raises(IndexError, match=r"[fb]: index into [tn]: -?[0-9]+ is no index \(there is no item"):
            run(x[:0])
        np.testing.assert_array_equal(run(x), x[place])


def test_a_default_that_is_no_index() -> None:
    model = attnc.loads("width t\nmodel f(x: [t], i: t[] = 2) -> [] { return x[t = i] }").model("f")
    for run in (model.numpy(), lambda x: model.torch()(torch.tensor(x))):
        with pytest.raises(IndexError, match=r"f: the default of `i`: index into t: 2 is no index \(0\.\.1\)"):
            run(np.ones(2))
        assert run(np.ones(3)) == 1


def test_a_default_that_is_no_index_is_refused_where_nothing_would_stumble_over_it() -> None:
    model = attnc.loads("width t\nmodel f(x: [t], i: t[] = 2) -> [t] { return select(t == i, x, 0) }").model("f")
    for run in (model.numpy(), lambda x: model.torch()(torch.tensor(x))):
        with pytest.raises(IndexError, match=r"f: the default of `i`: index into t: 2 is no index \(0\.\.1\)"):
            run(np.ones(2))
        assert run(np.ones(3)).tolist() == [0, 0, 1]
        assert run(np.ones(0)).tolist() == []


@pytest.mark.parametrize("first", ["0", "broadcast[d](0)", "n", "floor(x[t = 0])"])
def test_a_state_is_real_whatever_it_begins_with(first: str) -> None:
    model = attnc.loads(
        "width t\ndepth d = 2\nblock c(x: [d], s: [d]) -> (s: [d]) {\n    return s + x\n}\n"
        "model f(x: [t, d], n: int[d]) -> [t, d] {\n"
        f"    s = scan[t] c(x, s = {first})\n    return floor(s) * 1.0\n}}\n"
    ).model("f")
    x, n = np.array([[0.5, 1.5], [0.25, 2.0]]), np.array([0, 0])
    want = np.floor(np.cumsum(x, 0) + (np.floor(x[0]) if "floor" in first else 0))
    np.testing.assert_array_equal(model.numpy(dtype="float64")(x, n), want)
    np.testing.assert_array_equal(model.torch()(torch.tensor(x), torch.tensor(n)), want)


@pytest.mark.parametrize("given", [("a",), ("b",), ("a", "b"), ()])
def test_a_scan_whose_arguments_may_all_lack_the_batch(given: tuple[str, ...]) -> None:
    """Each may have it or not: what the state takes of leading dimensions is told by all of them together."""
    model = attnc.loads(
        "width t\ndepth d = 2\nblock c(y: [], b: [d], h: [d]) -> (h: [d]) { return h * 0.5 + b * y }\n"
        "model f(x: [t], a: [d] = 0, b: [d] = 1) -> [t, d] {\n"
        "    return scan[t] c(t * 0.25, b, h = a) + 0 * broadcast[t](sum[t](x))\n}\n"
    ).model("f")
    rng = np.random.default_rng(0)
    x, more = rng.normal(size=(3, 4)), {name: rng.normal(size=(3, 2)) for name in given}
    h, want = more.get("a", np.zeros((3, 2))), []
    for step in range(4):
        h = h * 0.5 + more.get("b", np.ones((3, 2))) * step * 0.25
        want.append(h)
    np.testing.assert_allclose(model.numpy(dtype="float64")(x, **more), np.stack(want, 1))
    found = model.torch(dtype="float64")(torch.tensor(x), **{name: torch.tensor(y) for name, y in more.items()})
    np.testing.assert_allclose(found, np.stack(want, 1))


def test_a_state_that_is_an_index_stays_one() -> None:
    model = attnc.loads(
        "width t\ndepth v = 5\nblock c(i: v[], p: v[] = 3) -> (p: v[]) {\n"
        "    return index[v](int(i) * 0 + min(int(p) + 1, 4))\n}\n"
        "model f(i: v[t], w: [v]) -> [t] { return w[v = scan[t] c(i)] }\n"
    ).model("f")
    i, w = np.array([0, 1, 2]), np.arange(5.0)
    assert model.numpy()(i, w).tolist() == model.torch()(torch.tensor(i), torch.tensor(w)).tolist() == [4, 4, 4]


def test_a_first_value_that_a_small_type_has_no_room_for() -> None:
    model = attnc.loads(
        "width t\nblock c(x: [], m: [] = -1e30) -> (m: []) { return max(x, m) }\n"
        "model f(x: [t]) -> [t] { return scan[t] c(x) }\n"
    ).model("f")
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        x = torch.tensor([-2.0, 1.0, 0.5], dtype=dtype)
        assert model.torch(dtype=dtype)(x).tolist() == [-2, 1, 1]


PICKED = {
    "a block": "block f(x: [word]) -> [word] { return C[word] }\nmodel m(x: [word]) -> [word] { return f(x) }",
    "spread": "block f(x: [word]) -> [word] { return C[word] }\n"
    "model m(x: [word]) -> [k, word] { return broadcast[k](f(x)) }",
    "lifted": "block f(x: [d]) -> [d] { return C[d] }\nmodel m(x: [word, d]) -> [word, d] { return f(x) }",
    "steps": "block f(x: [d], h: [d]) -> (h: [d]) { return h + C[d] }\n"
    "model m(x: [word, d]) -> [word, d] { return scan[word] f(x, h = 0) }",
    "passes": "model m(x: [word]) -> [word] {\n    y = x\n    repeat.r 2 shared { y = C[word] }\n    return y\n}",
}


@pytest.mark.parametrize("name", PICKED)
@pytest.mark.parametrize("batch", [(), (2,)])
def test_what_is_picked_from_a_number_hangs_on_no_index(name: str, batch: tuple[int, ...]) -> None:
    def picked(found: re.Match[str]) -> str:
        x = "y" if name == "passes" else "x"
        return f"l2norm[{found[1]}](broadcast[k, {found[1]}](1.25)[k = argmax[k](broadcast[k]({x}))])"

    text = re.sub(r"C\[(\w+)\]", picked, PICKED[name])
    model = attnc.loads(f"width word\ndepth k = 3, d = 2\n{text}\n").model("m")
    x = np.random.default_rng(0).normal(size=(*batch, 4, 2) if "[word, d]" in text else (*batch, 4))
    size = 2 if "[word, d]" in text else 4
    want = np.broadcast_to(np.full(size, size**-0.5), (*batch, 3, 4) if name == "spread" else x.shape)
    if name == "steps":
        want = want.cumsum(-2)
    np.testing.assert_allclose(model.numpy()(x), want)
    found = model.torch(dtype="float64")(torch.tensor(x))
    assert found.shape == want.shape
    np.testing.assert_allclose(found, want)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 0), (0, 3), (1, 0)])
def test_a_product_of_no_items(shape: tuple[int, ...]) -> None:
    model = attnc.loads("width t\ndepth d = 4\nmodel f(x: [t]) -> [d] { return dot[t](x, cos(t * d / 4)) }").model("f")
    for run in (model.numpy(), lambda x: model.torch()(torch.tensor(x))):
        found = run(np.ones(shape, np.float32))
        assert found.shape == (*shape[:-1], 4) and not np.asarray(found).any()


def test_what_a_scan_begins_with_is_computed_once() -> None:
    """It also tells the leading dimensions of a step."""
    model = attnc.loads(
        "width t\ndepth d = 2\nblock c(h: [], x: []) -> (h: [], y: []) {\n    n = tanh(h + x)\n    return n, n * x\n}\n"
        "model f(k: [d], x: [t]) -> [t] {\n    _, y = scan[t] c(h = sin(mean[d](k)), x = x)\n    return y\n}\n"
    ).model("f")
    assert [model.source(backend).count(".sin(") for backend in ("torch", "numpy")] == [1, 1]
