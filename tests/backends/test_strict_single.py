"""In NumPy, what is made of float32 is float32 at every step: one float64 scalar promotes a whole model silently.

Inputs and weights are arrays that watch what is done to them, and so is all that is made of them. Tables of positions
are float64 until they meet these (docs/decisions.md), and so is what is made of whole numbers alone, also of those that
reals were rounded to; no array that met reals may be.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnc
from tests.soundness.generate import generate
from tests.soundness.judge import data, lengths, load
from tests.soundness.program import Weights

from .agreement import random_inputs

ROOT = Path(__file__).parents[2]
SMALL = {"layers": 2, "model": 16, "heads": 2, "inner": 12, "vocab": 11}
LLAMA = {"layers": 2, "model": 16, "groups": 2, "sharing": 2, "key": 8, "inner": 12, "vocab": 11}
ZOO = {"bart": SMALL, "gpt2": SMALL, "marian": SMALL, "t5": SMALL, "llama": LLAMA, "mistral": LLAMA}
ATTENTIONS = ("additive", "alibi", "differential", "latent", "longformer", "lsh", "positions", "relative_shaw",
              "retention", "selective_scan", "sinks", "talking_heads")  # fmt: skip
EXAMPLES = [("attentions", name, {}) for name in ATTENTIONS] + [("zoo", name, sizes) for name, sizes in ZOO.items()]


class Promoted(AssertionError):
    pass


class Watched(np.ndarray[Any, Any]):
    """A float32 array, or what was made of one."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **more: Any) -> Any:
        given = [plain(x) for x in inputs]
        if out is not None:
            more["out"] = tuple(plain(x) for x in out)
        return watched(getattr(ufunc, method)(*given, **more), f"np.{ufunc.__name__}", given)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        result = func(*unwrapped(args), **unwrapped(kwargs))
        return watched(result, f"np.{func.__name__}", args)

    def astype(self, dtype: Any, **more: Any) -> Any:
        made = super().astype(dtype, **more)
        return made if made.dtype.kind == "f" else plain(made)


def plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, Watched) else x


def unwrapped(x: Any) -> Any:
    if isinstance(x, list | tuple):
        return type(x)(map(unwrapped, x))
    return {key: unwrapped(value) for key, value in x.items()} if isinstance(x, dict) else plain(x)


def watched(result: Any, what: str, given: Any) -> Any:
    if isinstance(result, tuple | list):
        return type(result)(watched(one, what, given) for one in result)
    if not isinstance(result, np.ndarray | np.generic):
        return result
    if result.dtype == np.float64:
        kinds = [getattr(x, "dtype", type(x).__name__) for x in given] if isinstance(given, list | tuple) else []
        raise Promoted(f"{what} of {', '.join(map(str, kinds))} gives float64")
    real = result.dtype.kind == "f"  # whole numbers and truth values are exact
    return result.view(Watched) if isinstance(result, np.ndarray) and real else result


def test_the_watch_sees() -> None:
    x = np.ones(3, np.float32).view(Watched)
    assert isinstance((x + 1) @ np.ones((3, 3), np.float32), Watched)
    assert isinstance(np.concatenate([x, x])[::2], Watched)
    wrongs = (
        lambda: x * np.sqrt(2),
        lambda: x + np.arange(3.0),
        lambda: np.stack([x, np.zeros(3)]),
        lambda: x / 3 * np.float64(1),
        lambda: np.where(x > 0, x, np.zeros(3)),
        lambda: np.multiply(x, np.ones(3)),
    )
    for wrong in wrongs:
        with pytest.raises(Promoted):
            wrong()


def strict(model: attnc.Model, weights: dict[str, Any] | None, values: dict[str, Any]) -> None:
    function: Any = model.numpy(weights, seed=1, dtype=np.float32)
    function.weights = {path: array.view(Watched) for path, array in function.weights.items()}
    given = {name: x.view(Watched) if x.dtype == np.float32 else x for name, x in values.items()}
    with np.errstate(all="ignore"):
        result = function(**given)
    for one in result if isinstance(result, tuple) else (result,):
        assert one.dtype != np.float64


@pytest.mark.parametrize("group", range(4))
def test_random_programs(group: int) -> None:
    for seed in range(7000 + group * 10, 7010 + group * 10):
        program = generate(seed)
        if "external" in program.text or "op " in program.text:  # a user's own op may do as it likes
            continue
        model = load(program.text, program).model("net")
        inputs = program.inputs() | lengths(model, program)
        weights = Weights(program.seed)
        with np.errstate(all="ignore"):
            program.evaluate(inputs, weights)
        try:
            strict(model, weights.arrays, data(inputs, program, np.float32))
        except Promoted as error:
            error.add_note(f"seed {seed}\n{program.text}")
            raise


@pytest.mark.parametrize(("folder", "name", "sizes"), EXAMPLES, ids=[name for _, name, _ in EXAMPLES])
def test_examples(folder: str, name: str, sizes: dict[str, int]) -> None:
    spec = attnc.load(ROOT / "examples" / folder / f"{name}.attn", sizes=sizes)
    for one in spec.models:
        model = spec.model(one)
        values = random_inputs(model._sized, (2,), (64, 64, 64, 64), np.float32, 0)
        strict(model, None, dict(zip([port.name for port in model.inputs], values, strict=True)))
