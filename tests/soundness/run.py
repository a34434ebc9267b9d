"""What is accepted is compiled and run, in both backends: they give the same, or refuse inputs in the same words."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

import attnc
from tests.backends.agreement import random_inputs
from tests.backends.written import written
from tests.decode.steps import check_steps

from .judge import Fault, arrays, far

LARGE = 200_000  # numbers in weights or one input: more take too long
CLOSE = 1e-8


def run(model: attnc.Model, widths: Sequence[int] = (9, 7, 5)) -> bool:
    """Whether it was run with some inputs, and its steps, if it has any; models that are large are compiled alone."""
    for backend in ("torch", "numpy"):
        written(model, backend)
    if sum(math.prod(weight.shape) for weight in model.weights.values()) > LARGE:
        return False
    taken = [_alike(model, lead, widths) for lead in ((), (2,))]
    if all(taken) and model.decoding.step is not None:
        check_steps(model, widths=widths, seeds=(0,), dtypes=("float64",))
    return any(taken)


def _alike(model: attnc.Model, lead: Sequence[int], widths: Sequence[int]) -> bool:
    try:
        inputs = random_inputs(model._sized, lead, widths)
    except (KeyError, ZeroDivisionError):  # of an axis that nothing tells
        return False
    if any(x.size > LARGE for x in inputs):
        return False
    module = model.torch(dtype=torch.float64, seed=1).eval()
    function = model.numpy(seed=1, dtype=np.float64)
    there = _answer(lambda: arrays(module(*map(torch.as_tensor, inputs))))
    here = _answer(lambda: arrays(function(*inputs)))
    if isinstance(there, str) or isinstance(here, str):
        if there != here:
            raise Fault("refused", f"torch: {there}\nnumpy: {here}", "refused")
        return False
    for one, other in zip(there, here, strict=True):
        if far(one, other) > CLOSE:
            raise Fault("value", f"torch and numpy differ by {far(one, other)}", "value")
    return True


def _answer(made: Any) -> Any:
    """The results, or in which words inputs are refused."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            return made()
        except (ValueError, TypeError, IndexError) as error:
            said = str(error)
            if "`" not in said and ": " not in said:
                raise
            return said
