"""Random well-typed programs: parameters are those of the inventory, and multiply-adds what torch counts."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from tests.cost.measured import compiled, flops  # noqa: E402
from tests.soundness.generate import generate  # noqa: E402
from tests.soundness.judge import load  # noqa: E402

QUICK, MANY, CHUNK = 100, 2000, 50


def check(seed: int) -> tuple[int, int]:
    """Two numbers that should be equal; what torch need not repeat for a broadcast argument is left out."""
    ours, theirs = counts(seed)
    return (theirs, theirs) if ours > theirs and "broadcast[" in generate(seed).text else (ours, theirs)


def counts(seed: int) -> tuple[int, int]:
    """Ours and torch's, whose einsum does not count a sum over a single item; nor does it count without items."""
    program = generate(seed)
    if 0 in program.batch or min(axis.size for axis in program.axes) < 2:
        return 0, 0
    model = load(program.text, program)
    first = {axis.family: axis.name for axis in reversed(model.graph.axes)}
    free = [axis for axis in model.graph.axes if axis.is_width and axis.extent is None and axis.size is None]
    sizes = {axis.name: program.extents[axis.name] for axis in free if first[axis.family] == axis.name}
    cost = model.cost(sizes, batch=math.prod(program.batch))
    assert cost.parameters.value == sum(weight.size for weight in model.weights.values())
    net = compiled(model, "cpu").double()
    given = {name: torch.as_tensor(arr.data) for name, arr in program.inputs().items()}
    return cost.flops, flops(lambda: net(**given))


@pytest.mark.parametrize("start", range(0, QUICK, CHUNK))
def test_programs(start: int) -> None:
    found = {seed: check(seed) for seed in range(start, start + CHUNK)}
    assert {seed: pair for seed, pair in found.items() if pair[0] != pair[1]} == {}
    assert sum(pair[1] > 0 for pair in found.values()) > 2


@pytest.mark.slow
@pytest.mark.parametrize("start", range(QUICK, QUICK + MANY, 100))
def test_many_programs(start: int) -> None:
    found = {seed: check(seed) for seed in range(start, start + 100)}
    assert {seed: pair for seed, pair in found.items() if pair[0] != pair[1]} == {}
