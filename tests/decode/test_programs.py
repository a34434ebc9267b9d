"""Small causal programs: what is kept of each, and that going on with that gives what all at once gives."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import attnc
from attnc.compiler.decoding.build import by_pass
from attnc.compiler.sizes.axes import Arith, Literal, Static, known
from tests.backends.test_reading import PROGRAMS, SPECS, model_of
from tests.backends.written import written

from .steps import check_steps

HEAD = """
width seq
width past like seq
width other
width t <= 16
width t2 like t
width half = seq / 2
depth model = 9, two = 2, tap = 3, vocab = 11, rel = 31
const layers = 4
op magic[n: width](x: [n, model]) -> [n, model] = "nowhere:magic"
block mix[reach: const](x: [seq, model]) -> [seq, model] {
    near = seq - past < reach and past <= seq
    Q = linear.Q[model -> two](x)
    K = linear.K[model -> two](x)
    V = linear.V[model -> two](x)
    weights = softmax[past](dot[two](Q, K[seq as past]) where near)
    return linear.O[two -> model](dot[past](weights, V[seq as past]))
}
block cell(x: [model], h: [model]) -> (h: [model]) {
    return tanh(x + h)
}
block spread(x: [seq], h: [seq]) -> (h: [seq]) {
    return h + x - broadcast[seq](mean[seq](x))
}
"""
X = "x [model = 9], {}: 9 numbers an item"


def mixed(keep: str, times: int = 4, path: str = "layers.{i}.", block: str = "mix") -> list[str]:
    return [f"{path}{block}.{name} [two = 2], {keep}, {times} times: 2 numbers an item" for name in "KV"]


# How far a layer looks back hangs on the number of the pass.
BY_PASS = {
    "reach = 2 ^ i + 1": "the last item or the last 2 items or the last 4 items or the last 8 items",
    "reach = i + 1": "no item or the last item or the last 2 items or the last 3 items",
    "reach = 4 - i": "the last 3 items or the last 2 items or the last item or no item",
    "reach = 2 + 3 * (i % 2)": "the last item or the last 4 items",
    "reach = 2 + floor(i / 2)": "the last item or the last 2 items",
    "reach = 3 + 0 * i": "the last 2 items",
    "reach = 3": "the last 2 items",
}


@pytest.mark.parametrize("given", BY_PASS)
def test_windows_that_differ_from_pass_to_pass(given: str) -> None:
    model = made(f"repeat i in layers {{\n x = x + mix[{given}](x)\n}}\nreturn x")
    assert told(model) == mixed(BY_PASS[given])
    check_steps(model, widths=(11,), dtypes=("float64",))


@pytest.mark.parametrize(
    "keep", [(3,), (1, 2), (1, 2, 1, 2), (1, 2, 1, 2, 1), (1, 1, 2, 2), (4, None, 4), (0, 1, 0, 0, 1)]
)
def test_a_number_for_each_pass(keep: tuple[int | None, ...]) -> None:
    def number(k: int | None) -> Static:
        return Literal(1000 if k is None else k)

    for i, k in enumerate(keep):
        found = by_pass(keep, Literal(i), number)
        assert chosen(found) == (1000 if k is None else k)
    assert by_pass((5, 5, 5), Literal(0), number) == Literal(5)


def chosen(static: Static) -> object:
    match static:
        case Arith("select", (condition, one, other)):
            return chosen(one) if known(condition) else chosen(other)
    return known(static)


@pytest.mark.parametrize("name", ["lm", "decode", "outer"])
def test_programs_whose_code_is_read(name: str) -> None:
    model = next(model for model in map(model_of, PROGRAMS) if model.name == name)
    check_steps(model, widths=(8,), dtypes=("float64",))


KEPT: dict[str, tuple[str, list[str]]] = {
    "two bodies": (
        """repeat i in layers {
            if i < 2 {
                x = x + mix.near[reach = i + 2](x)
            } else {
                x = x + mix.far[reach = 2 * i](x)
            }
        }
        return x""",
        [*mixed("the last item or the last 2 items", 2, block="near"),
         *mixed("the last 3 items or the last 5 items", 2, block="far")],
    ),
    "two repeats": (
        """repeat.a i in layers {
            x = x + mix[reach = i + 2](x)
        }
        repeat.b j in 3 {
            x = x + mix[reach = 5 - j](x)
        }
        return x""",
        [*mixed("the last item or the last 2 items or the last 3 items or the last 4 items", 4, "a.{i}."),
         *mixed("the last 4 items or the last 3 items or the last 2 items", 3, "b.{i}.")],
    ),
    "two windows over the same": (
        """repeat i in layers {
            K = linear.K[model -> two](x)
            w = softmax[past](dot[two](K, K[seq as past]) where past <= seq and seq - past < i + 2)
            v = softmax[past](dot[two](K, K[seq as past]) where past <= seq and seq - past < 5 - i)
            x = x + linear.O[two -> model](dot[past](w, K[seq as past]) + dot[past](v, K[seq as past]))
        }
        return x""",
        ["layers.{i}.K [two = 2], the last 4 items or the last 3 items, 4 times: 2 numbers an item"],
    ),
    "keys from outside of the repeat": (
        """K = linear.K[model -> two](x)
        repeat.a i in layers {
            s = dot[two](linear.Q[model -> two](x), K[seq as past])
            w = softmax[past](s where past <= seq and seq - past < i + 2)
            x = x + linear.O[two -> model](dot[past](w, K[seq as past]))
        }
        repeat.b i in layers {
            s = dot[two](linear.Q[model -> two](x), K[seq as past])
            w = softmax[past](s where past <= seq and seq - past < 9 - i)
            x = x + linear.O[two -> model](dot[past](w, K[seq as past]))
        }
        return x""",
        ["K [two = 2], the last 8 items: 2 numbers an item"],
    ),
    "a repeat in a repeat": (
        """repeat.outer i in 4 {
            x = x + mix.a[reach = 2 + i % 2](x)
            repeat.inner 2 {
                x = x + mix.b[reach = 2 + i](x)
            }
        }
        return x""",
        [*mixed("the last item or the last 2 items", 4, "outer.{i}.", "a"),
         *mixed("the last item or the last 2 items or the last 3 items or the last 4 items", 8,
                "outer.{i}.inner.{i}.", "b")],
    ),
    "passes of the inner repeat": (
        """repeat.outer 4 {
            repeat.inner j in 2 {
                x = x + mix[reach = 2 + j](x)
            }
        }
        return x""",
        mixed("the last item or the last 2 items", 8, "outer.{i}.inner.{i}."),
    ),
    "passes of both": (
        """repeat.outer i in 4 {
            repeat.inner j in 2 {
                x = x + mix[reach = 2 + i + j](x)
            }
        }
        return x""",
        mixed("all items", 8, "outer.{i}.inner.{i}."),
    ),
    "a factor that is zero in the first pass": (
        """repeat i in layers {
            m = past <= seq and seq - past < 4
            x = x + sum[past](broadcast[seq](tanh(x[seq as past])) * (i * 0.5) where m)
        }
        return x""",
        ["layers.{i}.tanh [model = 9], no item or the last 3 items, 4 times: 9 numbers an item"],
    ),
    "a whole number, then a real": (
        """repeat i in layers {
            m = past <= seq and seq - past < 2 ^ (1 - i) + 1
            x = x + sum[past](broadcast[seq](tanh(x[seq as past])) where m)
        }
        return x""",
        ["layers.{i}.tanh [model = 9], the last 2 items or the last item, 4 times: 9 numbers an item"],
    ),
    "nothing at all": (
        "return x + sum[past](broadcast[seq](x[seq as past]) where past < seq and past > seq)", [X.format("no item")],
    ),
    "nothing before the new items": (
        "return dot[past](softmax[past](dot[model](x, x[seq as past]) where past == seq), x[seq as past])",
        [X.format("no item")],
    ),
    "the one before alone": (
        "w = softmax[past](dot[model](x, x[seq as past]) where past < seq and seq - past <= 2)\n"
        "return dot[past](w, x[seq as past])",
        [X.format("the last 2 items")],
    ),
    "a largest in sight": (
        "return max[past](broadcast[seq](x[seq as past]) where past <= seq and seq - past < 4)",
        [X.format("the last 3 items")],
    ),
    "whether any in sight": (
        "m = any[past](x[seq as past] > 1 where past <= seq and seq - past < 3)\nreturn select(m, x, 0)",
        ["> [model = 9], the last 2 items: 9 numbers an item"],
    ),
    "zeros where it does not look": (
        "s = select(past <= seq and seq - past < 4, dot[model](x, x[seq as past]), 0)\n"
        "return dot[past](s, x[seq as past])",
        [X.format("the last 3 items")],
    ),
    "other items": (
        "return x[seq = clamp(seq - 3, 0, |seq| - 1)] + x[seq = max(0, seq - 2)] + x[seq = max(seq - 1, 0)]",
        [X.format("the last 3 items")],
    ),
    "one before": ("return x + x[seq = max(seq - 1, 0)]", [X.format("the last item")]),
    "the first": ("return x + broadcast[seq](x[seq = 0])", [X.format("all items")]),
    "a weight of its own": (
        "w = softmax[past](dot[model](x, x[seq as past]) where past <= seq)\n"
        "return broadcast[model](w[past = seq]) * x",
        [X.format("all items")],
    ),
    "a running sum": ("return cumsum[seq](x)", ["total [model = 9], of the last item: 9 numbers"]),
    "a running mean": (
        "return cumsum[seq](x) / broadcast[model](cumsum[seq](broadcast[seq](1.0)))",
        ["total [model = 9], of the last item: 9 numbers", "total_2 [], of the last item: 1 number"],
    ),
    "a running sum that is looked at": (
        "y = cumsum[seq](tanh(x))\nreturn y[seq = max(seq - 1, 0)]",
        ["y [model = 9], of the last item: 9 numbers", "y_2 [model = 9], the last item: 9 numbers an item"],
    ),
    "a state that is looked at": (
        "h = scan[seq] cell(x, h = 0)\nw = softmax[past](dot[model](h, h[seq as past]) where past <= seq)\n"
        "return dot[past](w, h[seq as past])",
        ["h [model = 9], of the last item: 9 numbers", "h_2 [model = 9], all items: 9 numbers an item"],
    ),
    "made once": (
        "m = mean[other](y)\nreturn x + broadcast[seq](m)", ["m [model = 9], made once: 9 numbers"],
    ),
    "read again and again": (
        "w = softmax[other](dot[model](x, y))\nreturn dot[other](w, y)",
        ["y [other, model = 9], made once"],
    ),
    "round by way of others": (
        """param one: [model]
        u = broadcast[seq](one)
        v = u * 2
        w = u * 3
        repeat layers {
            w = v
            v = u
            u = tanh(x)
        }
        return x + w[seq = max(seq - 1, 0)]""",
        ["w [model = 9], the last item: 9 numbers an item"],
    ),
    "nothing to keep": ("return layernorm.n[model](x) * sin(seq / 9)", []),
}  # fmt: skip


def made(body: str, inputs: str = "x: [seq, model]", result: str = "[seq, model] causal seq") -> attnc.Model:
    return attnc.loads(f"{HEAD}model net({inputs}) -> {result} {{\n{body}\n}}\n").model("net")


def told(model: attnc.Model) -> list[str]:
    assert model.decoding.step is not None, model.decoding.reason
    return str(model.decoding).splitlines()[1:]


@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept(name: str) -> None:
    body, kept = KEPT[name]
    model = made(body, "x: [seq, model], y: [other, model]" if "y)" in body and "other" in body else "x: [seq, model]")
    assert sorted(told(model)) == sorted(kept)
    check_steps(model, dtypes=("float64",))


TABLES = {
    "of positions": "param P: [t, model] ~ normal(1)\nreturn linear.o[model -> vocab](x + P)",
    "of pairs": "param B: [t, t2] ~ normal(1)\nw = softmax[t2](B + dot[model](x, x[t as t2]) where t2 <= t)\n"
    "return linear.o[model -> vocab](dot[t2](w, x[t as t2]))",
    "of distances": "param B: [rel] ~ normal(1)\n"
    "w = softmax[t2](B[rel = index[rel](int(t) - int(t2) + 15)] + dot[model](x, x[t as t2]) where t2 <= t)\n"
    "return linear.o[model -> vocab](dot[t2](w, x[t as t2]))",
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_positions(name: str) -> None:
    body = f"x = embed.E[vocab -> model](ids)\n{TABLES[name]}"
    check_steps(made(body, "ids: vocab[t]", "[t, vocab] causal t"), dtypes=("float64",))


BESIDE = {  # of another result than that of which there are steps
    "an op of one's own": ("return x, magic[seq](x)", "b: [seq, model]"),
    "a number": ("return x, mean[seq](x) * |half|", "b: [model]"),
    "indices of a derived width": ("return x, mean[half](half / 2)", "b: []"),
    "a scan across": ("h = scan[model] spread(x, h = 0)\nreturn x, h", "b: [seq, model]"),
}


@pytest.mark.parametrize("name", BESIDE)
def test_what_other_results_do(name: str) -> None:
    body, other = BESIDE[name]
    found = made(body, "x: [seq, model]", f"(a: [seq, model] causal seq, {other})")
    assert found.decoding.step is not None and found.decoding.left_out == ("b",)
    if "magic" not in body:  # which is nowhere
        check_steps(found, widths=(6, 4), dtypes=("float64",))


def test_items_in_pairs() -> None:
    pairs = made(
        "return merge[half, two -> seq](split[seq -> half, two](x))", "x: [seq, model]", "[seq, model] causal seq"
    )
    check_steps(pairs, widths=(6, 4), dtypes=("float64",))


NO_STEP = {
    "places": (
        "return x * select(seq >= 1, mean[other](int(at)), 0)", "[seq, model] causal seq",
        "x: [seq, model], at: seq[other]", "`at` says places along `seq`, all at once", "at",
    ),
    "both axes": (
        "return select(past <= seq, 1.0, 0)", "[seq, past] causal seq", "x: [seq, model]",
        "its result has both `seq` and `past`", "select(past <= seq, 1.0, 0)",
    ),
    "two axes of time": (
        "return sum[past](x where past <= seq)", "[seq, model] causal seq", "x: [seq, past, model]",
        "`x` has two axes of time", "x",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_STEP)
def test_no_step(name: str) -> None:
    body, result, inputs, reason, place = NO_STEP[name]
    found = made(body, inputs, result).decoding
    assert found.step is None and found.prepare is None
    assert found.reason == f"`net` has no one-step form along `seq`: {reason}"
    assert found.span is not None and found.span.text == place
    assert str(found) == found.reason


LOGITS = "linear.o[model -> vocab](embed.E[vocab -> model](ids))"
GENERATES = {
    ("ids: vocab[seq]", "[seq, vocab]", LOGITS): "`generate` takes `ids`",
    ("ids: vocab[seq]", "[vocab, seq]", LOGITS): "`generate` takes `ids`",
    ("ids: vocab[seq], real: bool[seq] = true, w: [seq] = 0.5", "[seq, vocab]",
     f"{LOGITS} * broadcast[vocab](select(real, 1, 0) + w)"): "`generate` takes `ids`",
    ("ids: vocab[seq]", "[seq, model]", "embed.E[vocab -> model](ids)"):
        "`net` has no `generate`: its result is no score for each `vocab`; call `step`",
    ("ids: vocab[seq]", "vocab[seq, vocab]", "broadcast[vocab](ids)"):
        "`net` has no `generate`: its result is no score for each `vocab`; call `step`",
    ("ids: vocab[seq, two]", "[seq, vocab]", "linear.o[model -> vocab](mean[two](embed.E[vocab -> model](ids)))"):
        "`net` has no `generate`: `ids` is no sequence of indices; call `step`",
    ("n: int[seq]", "[seq, model]", "broadcast[model](n * 0.5)"):
        "`net` has no `generate`: what the ints of `n` index is not known: declare `n: vocab[seq]`, with the axis "
        "that it indexes",
    ("x: [seq, model]", "[seq, model]", "x"): "`net` has no `generate`: `x` is no sequence of indices; call `step`",
    ("x: [seq, model], y: [seq, model]", "[seq, model]", "x + y"):
        "`net` has no `generate`: each step wants `x`, `y`; call `step` with them",
}  # fmt: skip


@pytest.mark.parametrize("form", GENERATES, ids=lambda form: f"{form[0]} -> {form[1]}")
def test_what_generate_takes(form: tuple[str, str, str]) -> None:
    inputs, result, body = form
    model = made(f"return {body}", inputs, f"{result} causal seq")
    assert str(model.decoding).splitlines()[0] == f"net decodes along seq; {GENERATES[form]}"
    check_steps(model, dtypes=("float64",), seeds=(0,))


def test_models_that_models_call() -> None:
    """Of a called model a step calls the step, not a class of that name."""
    model = attnc.loads(
        f"{HEAD}"
        "model inner(x: [seq, model]) -> [seq, model] causal seq {\n"
        "    return x + mix[reach = 3](x)\n}\n"
        "model middle(x: [seq, model]) -> (a: [seq, model] causal seq, b: [seq, model] causal seq) {\n"
        "    x = inner(x)\n    return linear.L[model -> model](x), cumsum[seq](x)\n}\n"
        "model net(y: [model], x: [seq, model]) -> [seq, model] causal seq {\n"
        "    a, b = middle(x)\n    return a + broadcast[seq](y) + mix.last[reach = 2](b)\n}\n"
    ).model("net")
    check_steps(model, dtypes=("float64",), seeds=(0, 1))


WITH_A_MASK = {
    "of its own items": "return inner(ids, ids > 1)",
    "of its own items and of what stays": "return inner(ids, ids > 1 and broadcast[seq](limit > 0))",
    "of earlier items": "return inner(ids, ok = ids[seq = max(seq - 2, 0)] != ids)",
    "given and left out": "return inner(ids, ids > 1) - inner(ids)",
    "at each pass": (
        "x = broadcast[vocab](select(ids > 1, 0.5, 0.1))\n"
        "repeat.layers 3 shared {\n x = tanh(x + inner(ids, max[vocab](x) > 0))\n}\nreturn x"
    ),
}


@pytest.mark.parametrize("body", WITH_A_MASK.values(), ids=WITH_A_MASK)
@pytest.mark.parametrize("reach", ["past <= seq", "past <= seq and seq - past < 3"])
def test_models_that_are_given_a_mask_of_their_items(body: str, reach: str) -> None:
    """A step gives a called model new items of one input and all so far of another."""
    model = attnc.loads(
        f"{HEAD}"
        "model inner(ids: vocab[seq], ok: bool[seq] = true) -> [seq, vocab] causal seq {\n"
        "    x = embed[vocab -> model](ids)\n"
        f"    weights = softmax[past](dot[model](x, x[seq as past]) where {reach} and ok[seq as past])\n"
        "    return linear.L[model -> vocab](dot[past](weights, x[seq as past]))\n}\n"
        f"model net({'limit: [], ' * ('limit' in body)}ids: vocab[seq]) -> [seq, vocab] causal seq {{\n{body}\n}}\n"
    ).model("net")
    check_steps(model, dtypes=("float64",), seeds=(0, 1))
    if model.decoding.prompt is not None and model.decoding.prepare is not None and not model.decoding.prepare.inputs:
        for net in (model.torch(seed=1), model.numpy(seed=1)):
            ids = [1, 2]
            for _ in range(3):
                scores = net(torch.tensor(ids)) if isinstance(net, torch.nn.Module) else net(np.array(ids))
                ids.append(int(scores[-1].argmax()))
            assert [int(one) for one in net.generate([1, 2], 3)] == ids[2:]


@pytest.mark.parametrize("text", [text for text in SPECS if " causal " in text])
def test_specs_whose_code_is_read(text: str) -> None:
    check_steps(model_of(text), dtypes=("float64",), seeds=(0, 1))


@pytest.mark.parametrize("heads", ["2 ^ i", "1 + i % 2"])
def test_as_many_heads_as_the_pass_has(heads: str) -> None:
    """The passes are of one class, which has a step for each number of heads: each pass calls its own."""
    model = attnc.loads(
        "use std.attention: multihead, model\n"
        "width t\nwidth p like t\ndepth model = 8\nconst layers = 4\n"
        "model net(x: [t, model]) -> [t, model] causal t {\n"
        "    repeat i in layers {\n"
        f"        x = x + multihead[t, p, heads = {heads}](x, x[t as p], mask = p <= t and t - p < i + 2)\n"
        "        if i % 2 == 0 {\n            x = x + linear.again[model -> model](x)\n        }\n    }\n"
        "    return x\n}\n"
    ).model("net")
    assert all("\ndef step(" in written(model, backend) for backend in ("torch", "numpy"))
    check_steps(model, dtypes=("float64",), seeds=(0, 1))
