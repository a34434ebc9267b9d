"""Random well-typed programs: parameters are those of the inventory, and multiply-adds what torch counts."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from tests.cost.measured import compiled, flops  # noqa: E402
from tests.soundness.generate import generate  # noqa: E402
from tests.soundness.judge import load  # noqa: E402

QUICK, MANY, CHUNK = 120, 2000, 60


def check(seed: int) -> tuple[int, int, bool, bool]:
    """Ours, torch's, and whether ours may be more, and less.

    A broadcast is not repeated: torch counts one item, of many and of none too. Of an einsum that sums a single item
    it counts nothing.
    """
    program = generate(seed)
    model = load(program.text, program).model("net")
    first = {axis.family: axis.name for axis in reversed(model.graph.axes)}
    free = [axis for axis in model.graph.axes if axis.is_width and axis.extent is None and axis.size is None]
    sizes = {axis.name: program.extents[axis.name] for axis in free if first[axis.family] == axis.name}
    cost = model.cost(sizes, batch=math.prod(program.batch))
    assert cost.parameters.value == sum(weight.size for weight in model.weights.values())
    net = compiled(model, "cpu").double()
    given = {name: torch.as_tensor(arr.data) for name, arr in program.inputs().items()}
    fewest, broadcasts = min(axis.size for axis in program.axes), "broadcast[" in program.text
    return cost.flops, flops(lambda: net(**given)), broadcasts or fewest <= 1, broadcasts and fewest == 0


def judge(seeds: range) -> int:
    """How many were equal, and not 0."""
    programs = {seed: generate(seed) for seed in seeds}
    found = {  # of ragged widths torch counts the padding too
        seed: check(seed)
        for seed, program in programs.items()
        if 0 not in program.batch and "ragged" not in program.text
    }
    wrong = {
        seed: (ours, theirs)
        for seed, (ours, theirs, more, less) in found.items()
        if (ours > theirs and not more) or (ours < theirs and not less)
    }
    assert wrong == {}
    return sum(ours == theirs > 0 for ours, theirs, *_ in found.values())


@pytest.mark.parametrize("start", range(0, QUICK, CHUNK))
def test_programs(start: int) -> None:
    assert judge(range(start, start + CHUNK)) > CHUNK // 6


@pytest.mark.slow
@pytest.mark.parametrize("start", range(QUICK, QUICK + MANY, 100))
def test_many_programs(start: int) -> None:
    judge(range(start, start + 100))
