"""Ragged widths: a padded batch gives each example what it gets alone, whatever stands in the padding."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnc

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]

HEAD = """
width seq ragged
width past like seq
depth d = 4, e = 3
"""

# One model each; all inputs run along ragged widths. `other` is a second ragged family.
MODELS = {
    "sum": "model f(x: [seq, d]) -> [d] { return sum[seq](x) }",
    "mean": "model f(x: [seq, d]) -> [d] { return mean[seq](x) }",
    "max": "model f(x: [seq, d]) -> [d] { return max[seq](x) }",
    "min of everything": "model f(x: [seq, d]) -> [] { return min[seq, d](x) }",
    "logsumexp": "model f(x: [seq, d]) -> [d] { return logsumexp[seq](x) }",
    "argmax": "model f(x: [seq, d]) -> seq[d] { return argmax[seq](x) }",
    "any": "model f(x: [seq, d]) -> bool[d] { return any[seq](x > 1) }",
    "all": "model f(x: [seq, d]) -> bool[d] { return all[seq](x > -1) }",
    "count": "model f(x: [seq, d]) -> [d] { return sum[seq](1 where x > 0) }",
    "cumsum": "model f(x: [seq, d]) -> [seq, d] { return cumsum[seq](x) }",
    "cummax": "model f(x: [seq, d]) -> [seq, d] { return cummax[seq](x) }",
    "logcumsumexp": "model f(x: [seq, d]) -> [seq, d] { return logcumsumexp[seq](x) }",
    "flip": "model f(x: [seq, d]) -> [d, seq] { return flip[seq, d](x) }",
    "functions": "model f(x: [seq, d]) -> [d] { return sum[seq](log1p(expm1(softplus(x)))) }",
    "straight through": "model f(x: [seq, d]) -> [d] { return mean[seq](x + stop_gradient(select(x > 0, 1, 0) - x)) }",
    "softmax": "model f(x: [seq, d]) -> [seq, d] { return softmax[seq](x) }",
    "log_softmax": "model f(x: [seq, d]) -> [seq, d] { return log_softmax[seq](x) }",
    "l2norm": "model f(x: [seq, d]) -> [seq, d] { return l2norm[seq](x) }",
    "layernorm": "model f(x: [seq, d]) -> [seq, d] {\n"
    " y = layernorm[seq, d](x, scale = false, bias = false)\n return y }",
    "rmsnorm": "model f(x: [seq, d]) -> [seq, d] { y = rmsnorm[seq](x, scale = false)\n return y }",
    "dot": "model f(x: [seq, d]) -> [d, e] { y = linear[d -> e](x)\n return dot[seq](x, y) }",
    "gram": "model f(x: [seq, d]) -> [seq, past] { return dot[d](x, x[seq as past]) }",
    "window": "depth tap = 3\nmodel f(x: [seq, d]) -> [seq, tap, d] { return window[seq -> seq, tap](x, pad = 1) }",
    "reversal": "model f(x: [seq, d]) -> [seq, d] { return x[seq = |seq| - 1 - seq] }",
    "last": "model f(x: [seq, d]) -> [d] { return x[seq = max(|seq| - 1, 0)] }",
    "shift": "model f(x: [seq, d]) -> [seq, d] { return x[seq = max(seq - 1, 0)] }",
    "size": "model f(x: [seq, d]) -> [seq, d] { return x / sqrt(|seq|) + (|seq| - 1) }",
    "position": "model f(x: [seq, d]) -> [seq, d] { return x * (seq + 1) / |seq| }",
    "sort": "width rank like seq\nmodel f(x: [seq]) -> [rank] { return x[seq = argsort[seq -> rank](x)] }",
    "sort down": "width rank like seq\n"
    "model f(x: [seq]) -> [rank] { return x[seq = argsort[seq -> rank](x, descending = true)] }",
    "concat": "width mark = 1\nwidth all = mark + seq\n"
    "model f(x: [seq, d]) -> [d] { param c: [mark, d]\n return mean[all](concat[mark, seq -> all](c, x)) }",
    "pad": "width longer = seq + 2\n"
    "model f(x: [seq, d]) -> [d] { return mean[longer](pad[seq -> longer](x, left = 1)) }",
    "pointer": "model f(x: [seq, d], ids: seq[past]) -> [] { s = dot[d](x, x[seq as past])\n"
    " return mean[past](cross_entropy[seq](s, ids)) }",
    "loss": "depth vocab = 7\n"
    "model f(x: [seq, vocab], ids: vocab[seq]) -> [] {\n return mean[seq](cross_entropy[vocab](x, ids)) }",
    "scan": "block cell(x: [d], h: [d]) -> (h: [d]) { return tanh(linear.x[d -> d](x) + h) }\n"
    "model f(x: [seq, d]) -> [d] { h = scan[seq] cell(x, h = 0)\n return h[seq = max(|seq| - 1, 0)] }",
    "embedding": "depth vocab = 9\nmodel f(ids: vocab[seq]) -> [d] { return mean[seq](embed.E[vocab -> d](ids)) }",
    "attention": """
use std.attention: multihead, model, heads
depth model = 8, heads = 2
model f(x: [seq, model]) -> [seq, model] { return multihead[seq, past](x, x[seq as past]) }
""",
    "causal": """
use std.attention: multihead, model, heads
depth model = 8, heads = 2
model f(x: [seq, model]) -> [seq, model] causal seq { return multihead[seq, past](x, x[seq as past], past <= seq) }
""",
    "layers": """
use std.attention: multihead, model, heads
depth model = 8, heads = 2
const layers = 3, near = 2
model f(x: [seq, model]) -> [model] {
    repeat i in layers {
        y = layernorm.n[model](x)
        x = x + multihead[seq, past](y, y[seq as past], mask = i % 2 == 0 or abs(seq - past) <= near)
        if i == 1 { x = x - broadcast[seq](mean[seq](x)) }
    }
    return max[seq](x)
}
""",
    "two families": """
use std.attention: multihead, model, heads
width other ragged
depth model = 8, heads = 2
model f(x: [seq, model], y: [other, model]) -> [seq, model] { return multihead[seq, other](x, y) }
""",
    "sizes in a repeat": "width other ragged\nmodel f(x: [seq, d], y: [other, d]) -> [d] {\n"
    " z = mean[seq](x) + sum[other](y)\n repeat.r 2 shared {\n z = z * |seq| / |other|\n }\n return z }",
    "zero over zero": "model f(x: [seq, d]) -> [d] { y = x / broadcast[d](sum[d](x * x))\n return sum[seq](y) }",
    # What does not vary along the width: a number or a weight in the place of an argument that has it.
    "default": "block same(x: [seq, d], y: [seq, d] = 0.5) -> [seq, d] { return tanh(y) }\n"
    "model f(x: [seq, d]) -> [seq, d] { return same(x) }",
    "default of a copy": "block same(x: [seq, d], n: int[past] = 3) -> int[past] { return n + 1 }\n"
    "model f(x: [seq, d]) -> int[past] { return same(x) }",
    "truth": "block same(x: [seq, d], b: bool[seq] = true) -> bool[seq] { return b }\n"
    "model f(x: [seq, d]) -> bool[seq] { return same(x) }",
    "weight for an argument": "block same(x: [seq, d], y: [seq, d]) -> [seq, d] { return exp(y) }\n"
    "model f(x: [seq, d]) -> [seq, d] { param P: [d]\n return same(x, P) }",
    "default of a chunk": "depth size = 2\nwidth chunk = seq / size\n"
    "block same(x: [seq, d], y: [chunk, d] = 0.5) -> [chunk, d] { return tanh(y) }\n"
    "model f(x: [seq, d]) -> [chunk, d] { return same(x) }",
    "chunks": "depth size = 2\nwidth chunk = seq / size\n"
    "model f(x: [seq, d]) -> [chunk, d] {\n y = max[size](split[seq -> chunk, size](x))\n"
    " return y - broadcast[chunk](mean[chunk](y)) }",
}
EVEN = {"chunks", "default of a chunk"}


def spec(name: str) -> attnc.Model:
    text = MODELS[name]
    uses = "\n".join(line for line in text.splitlines() if line.startswith("use "))
    rest = "\n".join(line for line in text.splitlines() if not line.startswith("use "))
    head = HEAD if "past" in text else HEAD.replace("width past like seq\n", "")
    unused = [axis for axis in ("d", "e") if f"{axis}]" not in rest and f"{axis}," not in rest]
    assert unused != ["d", "e", "seq"]
    return attnc.loads(f"{uses}\n{head}\n{rest}\n", name=f"{name}.attn").model("f")


def examples(
    model: attnc.Model, lengths: list[dict[str, int]], rng: np.random.Generator
) -> list[dict[str, np.ndarray]]:
    found = []
    for sizes in lengths:
        one = {}
        for port in model.inputs:
            if port.name.endswith("_lengths"):
                continue
            shape = tuple(
                sizes[{"past": "seq"}.get(axis, axis)] if size is None else size
                for axis, size in zip(port.axes, port.shape, strict=True)
            )
            if port.element == "real":
                one[port.name] = rng.standard_normal(shape)
            else:
                top = {"vocab": 7}.get(port.element) or max(sizes[port.element], 1)
                one[port.name] = rng.integers(0, top, shape)
        found.append(one)
    return found


def batch(
    model: attnc.Model, ones: list[dict[str, np.ndarray]], lengths: list[dict[str, int]], junk: float
) -> dict[str, np.ndarray]:
    """All examples in one array, what is behind each filled with junk."""
    made: dict[str, np.ndarray] = {}
    for port in model.inputs:
        if port.name.endswith("_lengths"):
            family = port.name.removesuffix("_lengths")
            made[port.name] = np.array([sizes[family] for sizes in lengths])
            continue
        shape = tuple(max(one[port.name].shape[i] for one in ones) for i in range(len(port.axes)))
        whole = np.full((len(ones), *shape), junk if port.element == "real" else -100, dtype=ones[0][port.name].dtype)
        for row, one in zip(whole, ones, strict=True):
            row[tuple(map(slice, one[port.name].shape))] = one[port.name]
        made[port.name] = whole
    return made


def alone(model: attnc.Model, one: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, Any]:
    return {
        **one,
        **{
            p.name: np.array(sizes[p.name.removesuffix("_lengths")])
            for p in model.inputs
            if p.name.endswith("_lengths")
        },
    }


@pytest.mark.parametrize("name", MODELS)
def test_each_example_comes_out_as_if_alone(name: str) -> None:
    model = spec(name)
    rng = np.random.default_rng(0)
    step = 2 if name in EVEN else 1
    lengths = [{"seq": n * step, "other": m} for n, m in ((5, 2), (1, 3), (3, 1), (2, 5))]
    ones = examples(model, lengths, rng)
    plain = model.numpy(seed=1, dtype="float64")
    net = model.torch(seed=1, dtype=torch.float64).eval()
    found = []
    for junk in (0.0, 7.5, np.nan):
        padded = batch(model, ones, lengths, junk)
        found.append(plain(**padded))
        with torch.no_grad():
            deep = net(**{key: torch.from_numpy(value) for key, value in padded.items()}).numpy()
        np.testing.assert_allclose(deep, found[-1], rtol=1e-10, atol=1e-10)
    whole = found[0]
    assert all(np.array_equal(whole, other) for other in found)
    assert not np.isnan(whole).any()
    for row, one, sizes in zip(whole, ones, lengths, strict=True):
        own = plain(**alone(model, one, sizes))
        np.testing.assert_allclose(row[tuple(map(slice, own.shape))], own, rtol=1e-10, atol=1e-10)
        rest = np.ones(row.shape, bool)
        rest[tuple(map(slice, own.shape))] = False
        assert not row[rest].any(), "what is padding in a result is 0"


@pytest.mark.parametrize("name", ["mean", "attention", "layers", "max", "embedding"])
def test_an_example_of_no_items_does_no_harm(name: str) -> None:
    model = spec(name)
    lengths = [{"seq": 0}, {"seq": 3}]
    ones = examples(model, lengths, np.random.default_rng(0))
    whole = model.numpy(seed=1, dtype="float64")(**batch(model, ones, lengths, 1.0))
    own = model.numpy(seed=1, dtype="float64")(**alone(model, ones[1], lengths[1]))
    np.testing.assert_allclose(whole[1], own, rtol=1e-10)


@pytest.mark.parametrize("name", ["attention", "layers", "loss", "layernorm"])
def test_gradients_do_not_see_the_padding(name: str) -> None:
    model = spec(name)
    lengths = [{"seq": 5}, {"seq": 2}]
    ones = examples(model, lengths, np.random.default_rng(0))
    grads = []
    for junk in (0.0, 50.0):
        net = model.torch(seed=1, dtype=torch.float64)
        inputs = {key: torch.from_numpy(value) for key, value in batch(model, ones, lengths, junk).items()}
        for value in inputs.values():
            value.requires_grad_(value.is_floating_point())
        net(**inputs).sum().backward()
        grads.append([p.grad for p in net.parameters()] + [v.grad for v in inputs.values() if v.requires_grad])
    for a, b in zip(*grads, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)
    for value, sizes in zip(inputs["x"].grad, lengths, strict=True):
        assert not value[sizes["seq"] :].any()


def test_the_lengths_are_inputs() -> None:
    model = spec("two families")
    assert [str(port) for port in model.inputs] == [
        "x: [seq, model]",
        "y: [other, model]",
        "seq_lengths: int[]",
        "other_lengths: int[]",
    ]
    assert "seq_lengths" in model.source("torch")
    taken = attnc.loads("width seq ragged\nmodel f(seq_lengths: [seq]) -> [] {\n    return sum[seq](seq_lengths)\n}\n")
    assert [port.name for port in taken.model("f").inputs] == ["seq_lengths", "seq_lengths_"]
    head = "width seq ragged\nwidth past like seq\ndepth d = 2\n"
    copies = attnc.loads(f"{head}model f(y: [past, d], x: [seq, d]) -> [past, seq] {{\n    return dot[d](y, x)\n}}\n")
    assert [port.name for port in copies.model("f").inputs] == ["y", "x", "seq_lengths"]


def test_a_forgotten_length_is_an_error() -> None:
    with pytest.raises(TypeError, match="seq_lengths"):
        spec("mean").numpy(seed=0)(np.zeros((2, 3, 4), np.float32))


@pytest.mark.parametrize("wrong", [[4, 1], [-1, 1]])
def test_a_length_beyond_the_array_is_an_error(wrong: list[int]) -> None:
    x = np.zeros((2, 3, 4), np.float32)
    with pytest.raises(ValueError, match=r"`seq_lengths`: (4|-1) at \[0\] is no length: seq = 3 here"):
        spec("mean").numpy(seed=0)(x, np.array(wrong))
    with pytest.raises(ValueError, match=r"`seq_lengths`: (4|-1) at \[0\] is no length: seq = 3 here"):
        spec("mean").torch(seed=0)(torch.from_numpy(x), torch.tensor(wrong))


def test_what_is_wrong_with_the_inputs_is_told_before_the_lengths_are_read() -> None:
    for wrong, error, said in (
        (np.array([[4, 1]]), ValueError, r"`seq_lengths` has the batch axes \(1, 2\), but `x` has \(2,\)"),
        (np.array([0.5, 9]), TypeError, r"`seq_lengths` is (torch\.)?float64, but must hold integers"),
    ):
        x = np.zeros((2, 3, 4), np.float32)
        with pytest.raises(error, match=said):
            spec("mean").numpy(seed=0)(x, wrong)
        with pytest.raises(error, match=said):
            spec("mean").torch(seed=0)(torch.from_numpy(x), torch.from_numpy(wrong))


def test_an_index_that_is_real_is_still_checked() -> None:
    model = spec("embedding")
    with pytest.raises(IndexError, match="12"):
        model.numpy(seed=0)(np.array([[1, 12, 0]]), np.array([2]))
    model.numpy(seed=0)(np.array([[1, 2, 12]]), np.array([2]))


def test_the_transformer_without_its_masks_by_hand() -> None:
    """examples/transformer.attn, its `real` taken out and its widths ragged: the same numbers as with the mask."""
    text = (ROOT / "examples" / "transformer.attn").read_text(encoding="utf-8")
    ragged = text.replace("width source as x, target as y", "width source as x ragged, target as y ragged")
    for old in (", real: bool[source]", ", mask = real[source as from]", ", mask = real", ", real"):
        ragged = ragged.replace(old, "")
    assert "real" not in re.sub("#.*", "", ragged)
    sizes = {"layers": 2, "model": 16, "heads": 2, "inner": 32, "vocab": 11}
    by_hand = attnc.loads(text, sizes=sizes).model("transformer")
    derived = attnc.loads(ragged, sizes=sizes).model("transformer")
    assert set(by_hand.weights) == set(derived.weights)
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 11, (3, 6)), rng.integers(0, 11, (3, 4))
    lengths, written = np.array([6, 2, 3]), np.array([1, 4, 3])
    real = np.arange(6) < lengths[:, None]
    masked = by_hand.numpy(seed=0, dtype="float64")(source, target, real)
    found = derived.numpy(seed=0, dtype="float64")(source, target, lengths, written)
    kept = np.arange(4) < written[:, None]
    np.testing.assert_allclose(found[kept], masked[kept], rtol=1e-10, atol=1e-12)


def test_decoding_over_a_ragged_source() -> None:
    """Rows of different sources, prompts of different lengths: each is continued as alone; NumPy says the same."""
    text = """
    use std.attention: multihead, model, heads
    width source ragged, target ragged
    width past like target
    depth model = 16, heads = 2, vocab = 11
    model f(source_ids: vocab[source], target_ids: vocab[target]) -> [target, vocab] causal target {
        param E: [vocab, model] ~ normal(1)
        memory = E[vocab = source_ids]
        x = E[vocab = target_ids]
        x = x + multihead.self[target, past](x, x[target as past], past <= target)
        x = x + multihead.cross[target, source](x, memory)
        return dot[model](x, E)
    }
    """
    model = attnc.loads(text).model("f")
    rng = np.random.default_rng(0)
    source, lengths = rng.integers(0, 11, (3, 6)), np.array([6, 2, 4])
    prompts = [rng.integers(0, 11, n) for n in (1, 3, 2)]
    net = model.torch(seed=0, dtype=torch.float64).eval()
    plain = model.numpy(seed=0, dtype="float64")
    deep = net.generate(prompts, 5, source_ids=torch.from_numpy(source), source_lengths=torch.from_numpy(lengths))
    np.testing.assert_array_equal(plain.generate(prompts, 5, source_ids=source, source_lengths=lengths), deep.numpy())
    for row, prompt, ids, length in zip(deep.numpy(), prompts, source, lengths, strict=True):
        own = plain.generate(prompt[None], 5, source_ids=ids[None, :length], source_lengths=np.array([length]))
        np.testing.assert_array_equal(own[0], row)
        whole = np.concatenate([prompt, row])[None]
        scores = plain(ids[None, :length], whole, np.array([length]), np.array([whole.shape[1]]))
        np.testing.assert_array_equal(scores[0, len(prompt) - 1 : -1].argmax(-1), row)


@pytest.mark.parametrize(
    "index", ["max(target - 1, 0)", "max(target - 2, 0)", "min(target, |target| - 1)", "0 * target"]
)
def test_decoding_looks_up_earlier_items_of_a_ragged_target(index: str) -> None:
    model = attnc.loads(f"""
    width target ragged
    depth model = 8, vocab = 11
    model f(ids: vocab[target]) -> [target, vocab] causal target {{
        param E: [vocab, model] ~ normal(0.5)
        x = E[vocab = ids]
        return dot[model](x + 2 * x[target = {index}], E)
    }}
    """).model("f")
    prompts = [np.array([1, 4, 2]), np.array([7]), np.array([3, 5])]
    plain = model.numpy(seed=0, dtype="float64")
    found = model.torch(seed=0, dtype=torch.float64).generate(prompts, 4).numpy()
    np.testing.assert_array_equal(plain.generate(prompts, 4), found)
    for row, prompt in zip(found, prompts, strict=True):
        whole = np.concatenate([prompt, row])
        scores = plain(whole, np.array(len(whole)))
        np.testing.assert_array_equal(scores[len(prompt) - 1 : -1].argmax(-1), row)


def test_decoding_looks_up_the_first_item_of_a_ragged_target() -> None:
    model = attnc.loads("""
    width target ragged
    depth model = 8, vocab = 11
    model f(ids: vocab[target]) -> [target, vocab] causal target {
        param E: [vocab, model] ~ normal(0.5)
        x = E[vocab = ids]
        return dot[model](x + 2 * broadcast[target](x[target = 0]), E)
    }
    """).model("f")
    prompts = [np.array([1, 4, 2]), np.array([7])]
    plain = model.numpy(seed=0, dtype="float64").generate(prompts, 4)
    np.testing.assert_array_equal(model.torch(seed=0, dtype=torch.float64).generate(prompts, 4).numpy(), plain)


PICKED = """
width seq ragged
depth v = 5, d = 3
block pick[s: width](E: [v, d], i: v[s]) -> [s, d] {{
    return E[v = i]
}}
model f(ids: v[seq], x: [seq, v]) -> [seq, d] {{
    param E: [v, d]
    return {0} + 2 * {1}
}}
"""


@pytest.mark.parametrize(
    "parts", [("pick[seq](E, ids)", "pick[seq](E, argmax[v](x))"), ("pick[seq](E, argmax[v](x))", "pick[seq](E, ids)")]
)
def test_indices_are_looked_at_but_in_the_padding(parts: tuple[str, str]) -> None:
    """Also where a block gets others too, which are surely right."""
    model = attnc.loads(PICKED.format(*parts)).model("f")
    ids, x = np.array([[1, 4, 0], [2, 99, -7]]), np.zeros((2, 3, 5))
    for lengths, good in (([3, 1], True), ([2, 2], False), ([3, 3], False)):
        for backend in ("numpy", "torch"):
            wrap = np.asarray if backend == "numpy" else torch.tensor
            call = getattr(model, backend)(seed=0, dtype="float64")
            given = {"ids": wrap(ids), "x": wrap(x), "seq_lengths": wrap(lengths)}
            if good:
                call(**given)
                continue
            with pytest.raises(IndexError, match="99 is no index"):
                call(**given)


@pytest.mark.parametrize(
    ("value", "fill"), [("2.5", 2.5), ("-2.5", -2.5), ("5 / 2", 2.5), ("c", 3), ("-c", -3), ("|six|", 4)]
)
@pytest.mark.parametrize("width", ["depth six = 4", "width six = 4"])
def test_padding_is_what_pad_fills_with(value: str, fill: float, width: str) -> None:
    """However the number is written, and in a block that is given it."""
    model = attnc.loads(
        f"width src ragged\n{width}\nconst c = 3\n"
        "block padded[c: const](x: [src]) -> [six] {\n    return pad[src -> six](x, value = c)\n}\n"
        f"model f(x: [src]) -> (a: [six], b: [six]) {{\n    a = pad[src -> six](x, value = {value})\n"
        "    return a, padded[c = 1.5](x)\n}\n"
    ).model("f")
    x, lengths = np.array([[1, 2], [3, 99.0]]), np.array([2, 1])
    for run in (model.numpy(dtype=np.float64), lambda *given: model.torch()(*map(torch.tensor, given))):
        for whole, alone, by in zip(run(x, lengths), run(x[1:, :1], lengths[1:]), (fill, 1.5), strict=True):
            np.testing.assert_array_equal(whole[1], alone[0])
            np.testing.assert_array_equal(whole[1], [3, by, by, by])


def test_whole_numbers_beside_a_fraction_stay_exact() -> None:
    """Padded with one half they are reals, and were float32 on their way where padding was left out."""
    model = attnc.loads(
        "width s ragged\nwidth longer = s + 2\n"
        "model m(n: int[s]) -> [longer] { return pad[s -> longer](n, left = 1, value = 0.5) }\n"
    ).model("m")
    n, lengths, right = np.array([[2**24 + 1, 7]]), np.array([1]), [[0.5, 2**24 + 1, 0.5, 0]]
    np.testing.assert_array_equal(model.numpy(dtype="float64")(n, lengths), right)
    net = model.torch(dtype=torch.float64)
    np.testing.assert_array_equal(net(torch.tensor(n), torch.tensor(lengths)), right)
