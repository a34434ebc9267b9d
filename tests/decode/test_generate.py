"""`generate` and `stream`: rows of a batch as if each ran alone, draws, beams, and what a user gets wrong."""

from __future__ import annotations

import itertools
import math
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

import attnc

from .models import ROOT, ZOO, small
from .steps import Array

MODEL = small("examples/zoo/gpt2")
PROMPTS = [[1, 2, 3], [4, 5], [6, 7, 8, 9], [10]]


def both(dtype: str = "float64") -> list[Any]:
    return [MODEL.torch(seed=3, dtype=getattr(torch, dtype)).eval(), MODEL.numpy(seed=3, dtype=dtype)]


def scores(net: Any, ids: list[int]) -> Array:
    """The whole model's scores of the next item."""
    with torch.no_grad():
        return np.asarray(net(torch.tensor(ids) if isinstance(net, torch.nn.Module) else np.array(ids)))[-1]


def greedy(net: Any, prompt: list[int], count: int) -> list[int]:
    ids = list(prompt)
    for _ in range(count):
        ids.append(int(scores(net, ids).argmax()))
    return ids[len(prompt) :]


@pytest.mark.parametrize("net", both(), ids=["torch", "numpy"])
def test_rows_run_as_if_alone(net: Any) -> None:
    expected = [greedy(net, prompt, 6) for prompt in PROMPTS]
    assert net.generate(PROMPTS, 6).tolist() == expected
    assert [net.generate(prompt, 6).tolist() for prompt in PROMPTS] == expected
    assert np.stack([np.asarray(x) for x in net.stream(PROMPTS, 6)], -1).tolist() == expected
    assert [int(x) for x in net.stream(PROMPTS[0], 6)] == expected[0]


@pytest.mark.parametrize("net", both(), ids=["torch", "numpy"])
def test_no_step_does_more_than_is_asked(net: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The prompts at once, as far as all have items, then one item a row, and the scores of the last item alone."""
    asked: list[tuple[tuple[int, ...], int, int]] = []
    home: Any = sys.modules[(type(net).step if isinstance(net, torch.nn.Module) else net._decoding["step"]).__module__]
    step = home.step

    def watched(*given: Any, **options: Any) -> Any:
        *_, items, cache, last = (*given, *options.values())
        asked.append((tuple(items.shape), last, cache.room))
        return step(*given, **options)

    monkeypatch.setattr(home, "step", watched, raising=False)

    def steps(*given: Any, **options: Any) -> list[tuple[tuple[int, ...], int, int]]:
        asked.clear()
        assert len(np.asarray(net.generate(*given, **options)).T) <= given[1]
        return list(asked)

    assert steps(PROMPTS, 3) == [((4, 1), 1, 6)] * 6
    assert steps(PROMPTS[0], 3) == [((1, 3), 1, 5), ((1, 1), 1, 5), ((1, 1), 1, 5)]
    assert steps([PROMPTS[0]] * 2, 1) == [((2, 3), 1, 3)]
    assert steps(PROMPTS, 0) == steps(PROMPTS[0], 0) == []
    first = greedy(net, PROMPTS[0], 1)[0]
    assert steps(PROMPTS[0], 5, eos=first) == [((1, 3), 1, 7)]
    assert steps(PROMPTS[0], 3, beams=2) == [((2, 3), 1, 5), ((2, 1), 1, 5), ((2, 1), 1, 5)]


@pytest.mark.parametrize("net", both(), ids=["torch", "numpy"])
def test_rows_end_at_eos(net: Any) -> None:
    for eos in sorted({item for prompt in PROMPTS for item in greedy(net, prompt, 6)}):
        found = net.generate(PROMPTS, 6, eos=eos).tolist()
        longest = 0
        for prompt, row in zip(PROMPTS, found, strict=True):
            alone = greedy(net, prompt, 6)
            kept = alone[: alone.index(eos) + 1] if eos in alone else alone
            longest = max(longest, len(kept))
            assert row == (kept + [eos] * 6)[: len(row)]
            assert net.generate(prompt, 6, eos=eos).tolist() == kept
        assert len(found[0]) == longest
        assert np.stack([np.asarray(x) for x in net.stream(PROMPTS, 6, eos=eos)], -1).tolist() == found


def test_the_same_draws_in_both_backends() -> None:
    one, other = both()
    for options in ({}, {"top_k": 5}, {"top_p": 0.8}, {"top_k": 7, "top_p": 0.9}):
        a = one.generate(PROMPTS, 6, temperature=0.9, seed=5, **options)
        assert a.tolist() == other.generate(PROMPTS, 6, temperature=0.9, seed=5, **options).tolist()
        alone = [one.generate(p, 6, temperature=0.9, seed=5 + i, **options).tolist() for i, p in enumerate(PROMPTS)]
        assert a.tolist() == alone


@pytest.mark.parametrize("net", both(), ids=["torch", "numpy"])
def test_draws_follow_the_scores(net: Any) -> None:
    chances = np.exp(scores(net, [1, 2]) / 0.7)
    chances /= chances.sum()
    count = 3000
    drawn = Counter(net.generate([[1, 2]] * count, 1, temperature=0.7, seed=1)[:, 0].tolist())
    away = sum((drawn[i] - count * p) ** 2 / (count * p) for i, p in enumerate(chances))
    assert away < len(chances) + 5 * math.sqrt(2 * len(chances))
    order = np.argsort(-chances)
    kept = set(net.generate([[1, 2]] * 500, 1, temperature=0.7, top_k=3, seed=1)[:, 0].tolist())
    assert kept == set(order[:3].tolist())
    few = int((chances[order].cumsum() < 0.5).sum()) + 1
    kept = set(net.generate([[1, 2]] * 2000, 1, temperature=0.7, top_p=0.5, seed=1)[:, 0].tolist())
    assert kept <= set(order[:few].tolist())


@pytest.mark.parametrize("net", both(), ids=["torch", "numpy"])
@pytest.mark.parametrize("penalty", [0.0, 1.0, 2.0])
def test_beams_against_all_there_are(net: Any, penalty: float) -> None:
    """With as many beams as there are continuations a beam search finds the best one."""
    eos, longest = 5, 2
    best, ids = -math.inf, []
    for size in range(1, longest + 1):
        for tail in itertools.product(range(37), repeat=size):
            if eos in tail[:-1] or (size < longest and tail[-1] != eos):
                continue
            total = 0.0
            for place in range(size):
                row = logs(net, (1, 2, *tail[:place]))
                total += row[tail[place]]
            if total / size**penalty > best:
                best, ids = total / size**penalty, list(tail)
    assert net.generate([1, 2], longest, beams=37, length_penalty=penalty, eos=eos).tolist() == ids
    found = net.generate([[1, 2], [3]], longest, beams=37, length_penalty=penalty, eos=eos).tolist()
    assert found[0][: len(ids)] == ids


KNOWN: dict[Any, Array] = {}


def logs(net: Any, ids: tuple[int, ...]) -> Array:
    key = (id(net), ids)
    if key not in KNOWN:
        row = scores(net, list(ids)).astype(np.float64)
        KNOWN[key] = row - np.log(np.exp(row - row.max()).sum()) - row.max()
    return KNOWN[key]


def test_narrow_beams_agree() -> None:
    one, other = both()
    for beams in (2, 3, 5):
        a = one.generate(PROMPTS, 5, beams=beams, eos=3)
        assert a.tolist() == other.generate(PROMPTS, 5, beams=beams, eos=3).tolist()


@pytest.mark.parametrize("net", both(), ids=["torch", "numpy"])
def test_shorter_rows_are_filled_with_eos(net: Any) -> None:
    lengths = set()
    for eos in range(1, 9):
        rows = [net.generate(prompt, 4, beams=6, length_penalty=0, eos=eos).tolist() for prompt in PROMPTS]
        longest = max(map(len, rows))
        filled = [row + [eos] * (longest - len(row)) for row in rows]
        assert net.generate(PROMPTS, 4, beams=6, length_penalty=0, eos=eos).tolist() == filled
        lengths.add(len(set(map(len, rows))))
    assert max(lengths) > 1


@pytest.mark.parametrize("backend", ["torch", "numpy"])
def test_more_beams_than_there_is_to_say(backend: str) -> None:
    """A vocabulary of one item has one continuation."""
    spec = attnc.load(ROOT / "examples/zoo/gpt2.attn", sizes=ZOO["examples/zoo/gpt2"] | {"vocab": 1})
    net = getattr(spec.model("gpt2"), backend)(seed=3)
    assert net.generate([0, 0], 4, beams=3).tolist() == [0, 0, 0, 0]
    assert net.generate([[0, 0], [0]], 4, beams=3, eos=0)[:, 0].tolist() == [0, 0]


def test_an_encoder_is_asked_once() -> None:
    model = small("examples/zoo/marian")
    net, function = model.torch(seed=1, dtype=torch.float64).eval(), model.numpy(seed=1, dtype="float64")
    draw = np.random.default_rng(0)
    source, real = draw.integers(0, 37, (2, 5)), np.array([[True] * 5, [True] * 3 + [False] * 2])
    prompts = [[1], [2, 3]]
    given = {"source_ids": torch.tensor(source), "real": torch.tensor(real)}
    found = net.generate(prompts, 5, **given)
    assert found.tolist() == function.generate(prompts, 5, source_ids=source, real=real).tolist()
    for row, prompt in enumerate(prompts):
        ids = list(prompt)
        for _ in range(5):
            whole = net(given["source_ids"][row], torch.tensor(ids), given["real"][row])
            ids.append(int(whole[-1].argmax()))
        assert found[row].tolist() == ids[len(prompt) :]
        alone = net.generate(prompt, 5, **{name: x[row] for name, x in given.items()})
        assert alone.tolist() == found[row].tolist()
        alone = function.generate(prompt, 5, source_ids=source[row], real=real[row])
        assert alone.tolist() == found[row].tolist()
        beams = net.generate(prompt, 5, beams=3, **{name: x[row] for name, x in given.items()})
        assert beams.tolist() == net.generate(prompts, 5, beams=3, **given)[row].tolist()


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"prompt": []}, "gpt2: `ids` is empty: it needs at least one item of seq"),
    ({"prompt": [[1], []]}, "gpt2: `ids`, prompt 1 is empty"),
    ({"prompt": [99]}, r"gpt2: `ids`: 99 is no index into vocab \(0..36\)"),
    ({"prompt": [1.5]}, "gpt2: `ids` is .*float.*, but must hold integers: indices into vocab"),
    ({"prompt": [[[1]]]}, r"gpt2: `ids`, prompt 0 has rank 2, but a prompt is \[seq\], or \[batch, seq\]"),
    ({"max_new": -1}, "gpt2: max_new is -1, but must be a whole number, 0 or more"),
    ({"max_new": 13}, "gpt2: the prompt and 13 new items make seq = 14, but seq is at most 13"),
    ({"warmth": 1}, "gpt2: generate knows no `warmth`: it takes temperature, top_k"),
    ({"eos": 77}, r"gpt2: eos is 77, but must be an index into vocab \(0..36\)"),
    ({"top_p": 2}, "gpt2: top_p is 2, but must be more than 0 and at most 1"),
    ({"top_k": 0}, "gpt2: top_k is 0, but must be a whole number, 1 or more"),
    ({"temperature": -1}, "gpt2: temperature is -1, but must be a number, 0 or more"),
    ({"beams": 0}, "gpt2: beams is 0, but must be a whole number, 1 or more"),
    ({"beams": 2, "temperature": 1.0}, "gpt2: a beam search draws nothing"),
]


@pytest.mark.parametrize("net", both("float32"), ids=["torch", "numpy"])
@pytest.mark.parametrize(("wrong", "message"), WRONG, ids=[str(wrong) for wrong, _ in WRONG])
def test_mistakes(net: Any, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError, IndexError), match=message):
        net.generate(**{"prompt": [1, 2], "max_new": 3, **wrong})


def test_mistakes_with_a_source() -> None:
    model = small("examples/zoo/marian")
    for net, array in ((model.torch(seed=1), torch.tensor), (model.numpy(seed=1), np.array)):
        with pytest.raises(TypeError, match="marian: `source_ids` is missing: give it by name"):
            net.generate([1], 3)
        with pytest.raises(ValueError, match="marian: `source_ids` has the batch 3, but there are 2 prompts"):
            net.generate([[1], [2]], 3, source_ids=array([[1, 2]] * 3))
        for beams in (1, 4):  # it is told what was given, not what the search makes of it
            with pytest.raises(ValueError, match=r"the batch axes \(2, 3\), but there are 2 prompts"):
                net.generate([[1], [2]], 3, source_ids=array([[[1, 2]] * 3] * 2), beams=beams)
            with pytest.raises(ValueError, match=r"the batch axes \(3,\), but there is one prompt, without a batch"):
                net.generate([1], 3, source_ids=array([[1, 2]] * 3), beams=beams)


@pytest.mark.parametrize("net", both("float32"), ids=["torch", "numpy"])
def test_steps_know_their_limits(net: Any) -> None:
    array = torch.tensor if isinstance(net, torch.nn.Module) else np.array
    cache = net.prepare()
    net.step(array([[1] * 10]), cache)
    with pytest.raises(ValueError, match="gpt2: seq = 14 after this step, but seq is at most 13"):
        net.step(array([[1] * 4]), cache)
    assert net.step(array([[1] * 3]), cache, last=1).shape == (1, 1, 37)
    assert net.generate([1], 0).tolist() == []


def test_sizes_keep_clear_of_the_weights_of_a_called_model() -> None:
    """The repeat of the called model is named `layers`, as is the number that a shared repeat around it counts to."""
    text = """
width seq
depth model = 4
const layers = 2
model inner(x: [seq, model]) -> [seq, model] {
    repeat layers { x = x + linear.a[model -> model](x) }
    return x
}
model outer(x: [seq, model]) -> [seq, model] causal seq {
    x = inner(x)
    repeat.more layers shared { x = x + linear.b[model -> model](x) }
    return x
}
"""

    model = attnc.loads(text).model("outer")
    x = np.random.default_rng(0).standard_normal((2, 3, 4))
    deep = model.torch(seed=0, dtype=torch.float64)(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(deep, model.numpy(seed=0, dtype="float64")(x), rtol=1e-10)
