"""The steps of random decoders, as before: `drawn/*.txt`; and some of them run.

For each program what is kept, or why there is no step, and a fingerprint of both graphs. `python -m
tests.decode.test_drawn 17` prints these of a decoder, to be compared with those of the commit before.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import attnc
from attnc.backends.plan.lower import derived, lower
from attnc.compiler.sizes.axes import show_static
from tests.dump import dump

from .decoders import decoder
from .steps import check_steps
from .test_derived import each

COUNT, FEW = 120, 30


def graphs(model: attnc.Model) -> str:
    found = derived(model._sized, lower(model._sized)[0])
    told = [found.reason]
    for graph in (found.prepare, found.step):
        for one in each(graph) if graph is not None else ():
            spans = one.stepped.visible if one.stepped is not None else ()
            told += [dump(one), *(f"{axis.name} {show_static(keep)}" for axis, keep in spans)]
    return "\n".join(told)


def shown(model: attnc.Model) -> str:
    """What is kept, or why there is no step; and a fingerprint of both graphs."""
    return f"{model.decoding}\n{hashlib.sha256(graphs(model).encode()).hexdigest()[:8]}"


def net(seed: int) -> attnc.Model:
    return attnc.loads(decoder(seed)).model("net")


@pytest.mark.parametrize("start", range(0, COUNT, FEW))
def test_the_steps_are_as_before(start: int, golden: Callable[[Path, str], None]) -> None:
    told = []
    for seed in range(start, start + FEW):
        body = decoder(seed).partition("causal seq {\n")[2]
        told.append(f"=== {seed}\n{body}{shown(net(seed))}\n")
    golden(Path("drawn") / f"{start}.txt", "\n".join(told))


@pytest.mark.parametrize("seed", [2, 7, 11, 26])
def test_the_steps_are_right(seed: int) -> None:
    with np.errstate(all="ignore"):
        check_steps(net(seed), widths=(7, 4), seeds=(0, 1), dtypes=("float64",), backends=("numpy",))


if __name__ == "__main__":
    print(decoder(int(sys.argv[1])), graphs(net(int(sys.argv[1]))), sep="\n")
