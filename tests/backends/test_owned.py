"""What whoever owns a generated file would have written so: names, lines with axes, whole quotients, spaces."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

import attnc
from attnc.backends.text.expressions import Code, Variable, binary, up_to

EXAMPLES = Path(__file__).parents[2] / "examples"
BACKENDS: tuple[Literal["torch", "numpy"], ...] = ("torch", "numpy")
HEAD = "width t\ndepth d = 4, half = 2\n"


def source(text: str, backend: Literal["torch", "numpy"] = "torch") -> str:
    return attnc.loads(HEAD + text).model("net").source(backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("example", ["transformer", "zoo/gpt2", "zoo/llama", "zoo/mixtral", "zoo/t5", "zoo/vit"])
def test_no_number_stands_for_a_name_in_the_examples(example: str, backend: Literal["torch", "numpy"]) -> None:
    (name,) = attnc.load(EXAMPLES / f"{example}.attn").models
    assert not re.findall(
        r"\b[a-z]+_\d\b|\bself\.\w+_\b", attnc.load(EXAMPLES / f"{example}.attn").model(name).source(backend)
    )


def test_a_letter_that_the_spec_wants_is_left_to_it() -> None:
    """`y` is the spec's, before and behind the values that have no name."""
    made = source(
        "model net(x: [t, d]) -> [t, d] {\n"
        "    a = x + softmax[d](linear.first[d -> d](sin(linear.one[d -> d](x) * cos(linear.two[d -> d](x)))) ^ 2)\n"
        "    y = a * sin(a)\n    return y + cos(y) * x\n}\n",
        "numpy",
    )
    assert re.search(r"(?m)^    y = a \* np\.sin\(a\)", made) and re.search(r"(?m)^    z = ", made)
    assert "y_2" not in made and "x_2" not in made


def test_a_size_called_as_a_method_of_modules_says_what_it_is() -> None:
    body = "x * sum[half](x * int(half)) * train"
    text = f"const train = 0.5\nmodel net(x: [t, half]) -> [t, half] {{\n    return {body}\n}}\n"
    made = source(text)
    assert "self.half_size" in made and "self.half_ " not in made and "self.train_value" in made
    net = attnc.loads(HEAD + text).model("net").torch()
    assert net.half().train() is net  # they are still the module's


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_joins_masks_is_called_a_mask(backend: Literal["torch", "numpy"]) -> None:
    """A step makes the mask once, and gives it to all layers: its argument is no `and_`."""
    spec = attnc.loads("""
        use std.attention: multihead, model, heads
        width t
        width s like t
        depth model = 8, heads = 2
        model net(x: [t, model]) -> [t, model] causal t {
            repeat.layers 3 {
                x = x + multihead[t, s](x, x[t as s], s <= t and t - s < 3)
            }
            return x
        }""")
    made = spec.model("net").source(backend, decoding=True, single_file=True)
    assert re.search(r"(?m)^    mask = .* & ", made) and not re.search(r"\band_", made)


@pytest.mark.parametrize("backend", BACKENDS)
def test_operands_of_attention_have_lines_with_their_axes(backend: Literal["torch", "numpy"]) -> None:
    made = attnc.load(EXAMPLES / "zoo/llama.attn").model("llama").source(backend)
    for line in (
        r"K = K\[\.\.\., None, :, :\]  # \[groups, 1, k, key\]",
        r"V = V\.\w+\(-3, -2\)\[\.\.\., None, :, :\]  # \[groups, 1, k, value\]",
        r"mask = real\[\.\.\., None, None, None, :\]  # \[1, 1, 1, k\]",
        r"O = masked_attention\(seen, Q, K, V, mask, .*\)  # \[groups, sharing, q, value\]",
    ):
        assert re.search(rf"(?m)^ +{line}$", made), line


@pytest.mark.parametrize("backend", BACKENDS)
def test_whole_quotients_of_positions(backend: Literal["torch", "numpy"]) -> None:
    model = attnc.loads(f"{HEAD}model net(x: [t, d]) -> [t, d] {{\n    return x * floor((t - 3) / |half|)\n}}\n").model(
        "net"
    )
    made = model.source(backend)
    assert "//" in made and "floor" not in made
    x = np.ones((9, 4))
    run = model.numpy(dtype="float64") if backend == "numpy" else model.torch(dtype=torch.float64)
    found = np.asarray(run(x if backend == "numpy" else torch.tensor(x)))
    np.testing.assert_array_equal(found, np.floor((np.arange(9) - 3) / 2)[:, None] * x)  # below 0, too


@pytest.mark.parametrize("rest", ["n / 2", "t / |t|", "t / (t - 1)", "t / 2.0", "x / 2"])
def test_what_is_no_whole_quotient_stays(rest: str) -> None:
    """Integers of the user's are of any type, a divisor may be 0, and reals are rounded."""
    text = f"model net(x: [t], n: int[t]) -> [t] {{\n    return x * floor({rest})\n}}\n"
    if rest == "t / |t|":  # 1 or more where there are positions
        assert "//" in source(text)
    else:
        assert "//" not in source(text) and "floor" in source(text)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_mean_over_a_size_that_is_made_of_others(backend: Literal["torch", "numpy"]) -> None:
    """Their product counts the items: the sum in it is put in parentheses."""
    spec = attnc.loads("""
        width t
        depth d = 6, half = 2
        depth all = half + d
        block over(x: [all, t], y: [half], z: [d]) -> [half] {
            return broadcast[half](mean[all, t](x)) + mean[half](y) * y * sum[d](z / int(|d|))
        }
        model net(x: [all, t], y: [half], z: [d]) -> [half] {
            return over(x, y, z)
        }""")
    x, y, z = (np.random.default_rng(0).normal(size=size) for size in ((8, 5), 2, 6))
    model = spec.model("net")
    run = model.numpy(dtype="float64") if backend == "numpy" else model.torch(dtype=torch.float64)
    found = np.asarray(run(*((x, y, z) if backend == "numpy" else map(torch.tensor, (x, y, z)))))
    np.testing.assert_allclose(found, x.mean() + y.mean() * y * z.mean(), rtol=1e-12)


def test_a_size_made_by_floor() -> None:
    made = attnc.load(EXAMPLES / "zoo/t5.attn").model("t5").source("torch")
    assert "b // 2 // 2" in made and "math.floor" not in made


def test_spaces_hang_on_what_is_written_in_the_end() -> None:
    name, number = Variable("n"), Code("10000")
    power, first = binary("^", number, name.code), up_to(name.code)
    for text, shown, cut in (
        ("n", "10000**n", ":n"),
        ("2", "10000**2", ":2"),
        ("self.n", "10000**self.n", ": self.n"),
        ("(a + b)", "10000 ** (a + b)", ": (a + b)"),
        ("f(x)", "10000 ** f(x)", ": f(x)"),
        ("x.shape[-1]", "10000 ** x.shape[-1]", ": x.shape[-1]"),
    ):
        assert power.filled([text]) == shown and first.filled([text]) == cut
    both = Code.of("{} + {}", binary("^", name.code, name.code), power)
    assert both.filled(["a", "g(b)", "c"]) == "a ** g(b) + 10000**c"
    assert binary("^", Code("x"), Code("f(y)")).text == "x ** f(y)" and up_to(Code("16")).text == ":16"
    assert up_to(Code.of("{}.shape[-1]", name.code)).filled(["ids"]) == ": ids.shape[-1]"


def test_a_step_is_told_of_its_items_alone() -> None:
    made = attnc.load(EXAMPLES / "zoo/gpt2.attn").model("gpt2").source("torch", decoding=True, single_file=True)
    assert re.search(r"begin_step\(cache, configuration\(net\), ids\.shape\[:-1\], ids\.shape\[-1\], last\)", made)
    assert re.search(r'return Configuration\("gpt2", "\w{8}", sizes, "ids", "seq", net\.max_seq\)', made)
