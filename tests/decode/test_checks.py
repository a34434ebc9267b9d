"""What decoding refuses, word for word, and what it lets through: the checks that generated code carries along."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from attnc.backends.runtime.common import decoding as checks
from attnc.backends.runtime.numpy import decoding as numpy_decoding
from attnc.backends.runtime.torch import decoding as torch_decoding

CONFIGURATION = checks.Configuration("lm", "ab", {"near": 3, "heads": 2}, "ids", "seq", 6)
LM = checks.Decodes("lm", "ids", "seq", 6, "vocab", 5, (), ("words",))
TWO = checks.Decodes("two", "ids", "seq", None, "vocab", 5, ("words",), ("words", "more"))


def configuration(**other: Any) -> checks.Configuration:
    """As CONFIGURATION, but for these."""
    return checks.Configuration(**(vars(CONFIGURATION) | other))


def cache(**parts: Any) -> Any:
    known = {"configuration": CONFIGURATION, "next": 4, "batch": (2,), "advanced": []}
    made = SimpleNamespace(**(known | parts))
    made.advance = made.advanced.append
    return made


def begin(held: Any = None, batch: Any = (2,), count: int = 1, longest: int | None = 6, last: Any = 0) -> Any:
    held = cache() if held is None else held
    return checks.begin_step(held, configuration(longest=longest), batch, count, last)


def call(decodes: checks.Decodes = LM, max_new: Any = 3, **given: Any) -> Any:
    return checks.check_call(decodes, given, max_new)


def beams(count: Any, penalty: Any = 1.0, temperature: float = 0.0) -> None:
    checks.check_beams("lm", count, penalty, {"temperature": temperature, "top_k": None, "top_p": None})


def rows(prompt: Any) -> Any:
    return checks.prompt_rows(LM, prompt, numpy_decoding.numbers)


def fits(*prompts: Any, single: bool = False, max_new: int = 1, decodes: checks.Decodes = LM) -> None:
    given = [np.asarray(prompt) for prompt in prompts]
    checks.check_rows(decodes, given, single, numpy_decoding.integral, max_new)


def inputs(side: Any, prompt: Any, **given: Any) -> Any:
    model = TWO if side is numpy_decoding else SimpleNamespace(decodes=TWO, net=None)
    return side.check_prompt(model, prompt, 1, given)


WORDS = np.zeros((3, 2), int)
REFUSED: list[tuple[Callable[[], object], type[Exception], str]] = [
    # steps
    (lambda: begin({}), TypeError, "lm: a step goes on from what `prepare` or the step before it left, but got a dict"),
    *[(lambda found=found: begin(cache(configuration=configuration(**found))), TypeError,
       f"lm: a step goes on from what `prepare` or the step before it left, but got that of {shown}")
      for found, shown in (
        ({"model": "two"}, "`two`"),
        ({"model": "two", "sizes": {"near": 3}}, "`two`"),
        ({"sizes": {"near": 8, "heads": 2}}, "`lm` with near = 8; here near = 3"),
        ({"digest": "cd", "sizes": {"heads": 4, "far": 9}}, "`lm` with heads = 4, far = 9; here near = 3, heads = 2"),
        ({"sizes": {"near": 3, "heads": 2, "far": 9}}, "`lm` with far = 9"),
        ({"sizes": {"near": 3}}, "`lm` with other sizes; here heads = 2"),
        ({"digest": "cd"}, "another `lm`: of another spec, backend or choice of rewrites"),
      )],
    (lambda: begin(count=0), ValueError, "lm: a step takes at least one item of seq, but `ids` has none"),
    (lambda: begin(count=3), ValueError, "lm: seq = 7 after this step, but seq is at most 6"),
    (lambda: begin(batch=(3,)), ValueError, "lm: `ids` has the batch axes (3,), but its cache has (2,)"),
    (lambda: begin(batch=()), ValueError, "lm: `ids` has the batch axes (), but its cache has (2,)"),
    (lambda: begin(last=-1), ValueError, "lm: last is -1, but must be a whole number: how many results (0: all)"),
    (lambda: begin(last=True), ValueError, "lm: last is True, but must be a whole number: how many results (0: all)"),
    (lambda: begin(last=1.0), ValueError, "lm: last is 1.0, but must be a whole number: how many results (0: all)"),
    (lambda: checks.reordered("lm", (3, 2), np.array([0, 3, -1])), IndexError,
     "lm: reorder: 3 is no row of the batch (0..2)"),
    (lambda: checks.reordered("lm", (3,), [2, -1]), IndexError, "lm: reorder: -1 is no row of the batch (0..2)"),
    (lambda: checks.reordered("lm", (), [0]), ValueError, "lm: reorder: the cache has no batch, or no step yet"),
    (lambda: checks.reordered("lm", None, [0]), ValueError, "lm: reorder: the cache has no batch, or no step yet"),
    (lambda: checks.check_batch("lm", cache(batch=(2, 3)), 2, 2), ValueError,
     "lm: the other inputs have the batch axes (2, 3), but there are 2 prompts"),
    (lambda: checks.check_batch("lm", cache(batch=(1, 2)), 1, None), ValueError,
     "lm: the other inputs have the batch axes (2,), but there is one prompt, without a batch"),
    # what generate is given
    (lambda: call(warmth=1, cold=2), TypeError,
     "lm: generate knows no `warmth`: it takes words, temperature, top_k, top_p, eos, seed"),
    (lambda: call(TWO, more=1), TypeError, "two: `words` is missing: give it by name"),
    (lambda: call(max_new=-1), ValueError, "lm: max_new is -1, but must be a whole number, 0 or more"),
    (lambda: call(max_new=True), ValueError, "lm: max_new is True, but must be a whole number, 0 or more"),
    (lambda: call(max_new=1.0), ValueError, "lm: max_new is 1.0, but must be a whole number, 0 or more"),
    (lambda: call(temperature=-0.1), ValueError, "lm: temperature is -0.1, but must be a number, 0 or more"),
    (lambda: call(temperature="a"), ValueError, "lm: temperature is 'a', but must be a number, 0 or more"),
    (lambda: call(temperature=float("inf")), ValueError, "lm: temperature is inf, but must be a number, 0 or more"),
    (lambda: call(temperature=float("nan")), ValueError, "lm: temperature is nan, but must be a number, 0 or more"),
    (lambda: call(temperature=1, top_k=0), ValueError, "lm: top_k is 0, but must be a whole number, 1 or more"),
    (lambda: call(temperature=1, top_k=1.5), ValueError, "lm: top_k is 1.5, but must be a whole number, 1 or more"),
    (lambda: call(temperature=1, top_p=0), ValueError, "lm: top_p is 0, but must be more than 0 and at most 1"),
    (lambda: call(temperature=1, top_p=1.1), ValueError, "lm: top_p is 1.1, but must be more than 0 and at most 1"),
    (lambda: call(temperature=1, top_p="a"), ValueError, "lm: top_p is 'a', but must be more than 0 and at most 1"),
    (lambda: call(top_k=1), ValueError,
     "lm: with temperature 0 nothing is drawn: give a temperature, or no top_k and top_p"),
    (lambda: call(top_p=0.5), ValueError,
     "lm: with temperature 0 nothing is drawn: give a temperature, or no top_k and top_p"),
    (lambda: call(eos=5), ValueError, "lm: eos is 5, but must be an index into vocab (0..4)"),
    (lambda: call(eos=-1), ValueError, "lm: eos is -1, but must be an index into vocab (0..4)"),
    (lambda: call(eos=1.0), ValueError, "lm: eos is 1.0, but must be an index into vocab (0..4)"),
    (lambda: call(seed=1.5), ValueError, "lm: seed is 1.5, but must be a whole number"),
    (lambda: call(seed=False), ValueError, "lm: seed is False, but must be a whole number"),
    (lambda: beams(0), ValueError, "lm: beams is 0, but must be a whole number, 1 or more"),
    (lambda: beams(True), ValueError, "lm: beams is True, but must be a whole number, 1 or more"),
    (lambda: beams(2.0), ValueError, "lm: beams is 2.0, but must be a whole number, 1 or more"),
    (lambda: beams(1, "a"), ValueError, "lm: length_penalty is 'a', but must be a number"),
    (lambda: beams(1, float("inf")), ValueError, "lm: length_penalty is inf, but must be a number"),
    (lambda: beams(1, -float("inf")), ValueError, "lm: length_penalty is -inf, but must be a number"),
    (lambda: beams(2, temperature=1.0), ValueError,
     "lm: a beam search draws nothing: leave beams out, or temperature, top_k and top_p"),
    # prompts
    (lambda: rows("abc"), TypeError,
     "lm: `ids` must hold integers, indices into vocab: [seq], [batch, seq], or a list of prompts"),
    (lambda: rows([1, [2, 3]]), TypeError,
     "lm: `ids` must hold integers, indices into vocab: [seq], [batch, seq], or a list of prompts"),
    (lambda: rows([["a"]]), TypeError,
     "lm: `ids` must hold integers, indices into vocab: [seq], [batch, seq], or a list of prompts"),
    (lambda: rows(3), ValueError, "lm: `ids` is one number, but a prompt is [seq], or [batch, seq]: [3]"),
    (lambda: rows(np.zeros((1, 2, 3), int)), ValueError,
     "lm: `ids` has rank 3, but a prompt is [seq], or [batch, seq]"),
    (lambda: rows([[1, 2], [[3]]]), ValueError,
     "lm: `ids`, prompt 1 has rank 2, but a prompt is [seq], or [batch, seq]"),
    (lambda: rows(np.zeros((0, 3), int)), ValueError, "lm: there is no prompt"),
    (lambda: fits([], single=True), ValueError, "lm: `ids` is empty: it needs at least one item of seq"),
    (lambda: fits([1], []), ValueError, "lm: `ids`, prompt 1 is empty: it needs at least one item of seq"),
    (lambda: fits([0.5], single=True), TypeError, "lm: `ids` is float64, but must hold integers: indices into vocab"),
    (lambda: fits([1], [True]), TypeError, "lm: `ids`, prompt 1 is bool, but must hold integers: indices into vocab"),
    (lambda: fits([0, 5, 7], single=True), IndexError, "lm: `ids`: 5 is no index into vocab (0..4)"),
    (lambda: fits([1], [2, -1]), IndexError, "lm: `ids`, prompt 1: -1 is no index into vocab (0..4)"),
    (lambda: fits([1], [1, 2, 3], [2], max_new=5), ValueError,
     "lm: the prompt and 5 new items make seq = 7, but seq is at most 6"),
    *(
        (call_, error, message)
        for side, array in ((numpy_decoding, np.array), (torch_decoding, torch.tensor))
        for call_, error, message in [
            (lambda side=side, array=array: inputs(side, [[1], [2]], words=array(WORDS)), ValueError,
             "two: `words` has the batch 3, but there are 2 prompts"),
            (lambda side=side, array=array: inputs(side, [[1], [2]], words=array(3)), ValueError,
             "two: `words` has the batch none, but there are 2 prompts"),
        ]
    ),
    (lambda: torch_decoding.check_static("lm", 3, 1), TypeError,
     "lm: static is 3, but must be True, False or what compiles a function"),
    (lambda: torch_decoding.check_static("lm", True, 2), ValueError,
     "lm: a beam search puts rows in other places: leave static out, or beams"),
    (lambda: torch_decoding.check_static("lm", abs, 2), ValueError,
     "lm: a beam search puts rows in other places: leave static out, or beams"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "error", "message"), REFUSED, ids=[row[2] for row in REFUSED])
def test_refused(given: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$") as caught:
        given()
    assert caught.value.__cause__ is None


def test_steps_go_on() -> None:
    for batch, count, longest, last in (((2,), 1, 6, 0), ([2], 2, 6, np.int64(3)), ((2,), 9, None, torch.tensor(1))):
        held = cache()
        begin(held, batch, count, longest, last)
        assert held.batch == (2,) and held.advanced == [count]
    held = cache(batch=None)
    begin(held, [3, 4], 2)
    assert held.batch == (3, 4)
    held = cache()
    with pytest.raises(ValueError, match="last is -1"):
        begin(held, last=-1)
    assert held.advanced == []


def test_rows_of_a_cache_in_another_order() -> None:
    assert checks.reordered("lm", (3, 2), [2, 0]) == (2, 2)
    assert checks.reordered("lm", (3,), np.array([2, 0, 0, 1])) == (4,)
    checks.check_batch("lm", cache(batch=None), 2, False)
    checks.check_batch("lm", cache(batch=[2]), 2, False)


def test_what_generate_takes() -> None:
    usual = {"temperature": 0.0, "top_k": None, "top_p": None, "eos": None, "seed": None}
    assert call() == ({}, usual)
    assert call(words=1, eos=0, max_new=0) == ({"words": 1}, usual | {"eos": 0})
    assert call(temperature=2, top_k=1, top_p=1, seed=0, eos=4)[1] == {
        "temperature": 2, "top_k": 1, "top_p": 1, "seed": 0, "eos": 4,
    }  # fmt: skip
    taken = call(temperature=np.float32(0.5), top_k=torch.tensor(2), eos=np.array(1))[1]
    assert taken == usual | {"temperature": 0.5, "top_k": 2, "eos": 1} and type(taken["top_k"]) is int
    assert call(TWO, words=1, more=2)[0] == {"words": 1, "more": 2}
    beams(1, temperature=1.0)
    beams(3, -2)


@pytest.mark.parametrize("array", [np.array, torch.tensor])
def test_prompts(array: Callable[[Any], Any]) -> None:
    side = numpy_decoding if array is np.array else torch_decoding
    for prompt, wanted, alone in (
        ([1, 2], [[1, 2]], True), ([[1, 2], [3]], [[1, 2], [3]], False), ((1, array(2)), [[1, 2]], True),
        (array([1, 2]), [[1, 2]], True), (array([[1, 2], [3, 4]]), [[1, 2], [3, 4]], False),
        ([array([1]), array([2, 3])], [[1], [2, 3]], False), ([], [[]], True), ([[], [1]], [[], [1]], False),
    ):  # fmt: skip
        found, single = checks.prompt_rows(LM, prompt, side.numbers)
        assert ([row.tolist() for row in found], single) == (wanted, alone)
    fits([0, 4], [1, 2, 3], max_new=4)
    fits([0] * 9, single=True, decodes=TWO)
    words = array(np.array([[1, 2]]))
    _, single, given, _ = inputs(side, [1], words=words[0], more="as it is")
    assert single and given["words"].tolist() == [[1, 2]] and given["more"] == "as it is"
    found, single, given, _ = inputs(side, [[1]], words=words)
    assert not single and given["words"] is words and str(found[0].dtype).endswith("int64")
