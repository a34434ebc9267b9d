"""What the runtime does for a scan, gone through with shapes alone, is what torch counts while it does it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from attnc.backends.runtime.scans.torch_cells import gru, lstm, rnn  # noqa: E402
from attnc.backends.runtime.scans.torch_scans import linear_attention, running  # noqa: E402
from attnc.compiler.cost.computed.cells import by_kernel  # noqa: E402
from attnc.compiler.cost.computed.chunks import ChunkInputs, in_chunks  # noqa: E402
from attnc.compiler.cost.computed.running import number_by_number  # noqa: E402
from attnc.compiler.cost.computed.shapes import ArrayShape, Tally  # noqa: E402
from attnc.compiler.cost.polynomials.polynomial import Poly  # noqa: E402
from attnc.compiler.cost.scope import SizeScope  # noqa: E402
from attnc.compiler.cost.work import Meter  # noqa: E402
from attnc.compiler.graph.traits import CellKernel  # noqa: E402
from attnc.compiler.ops import op_named  # noqa: E402
from attnc.compiler.sizes.axes import Axis, Kind  # noqa: E402
from tests.cost.measured import Arithmetic, flops  # noqa: E402


def axis(number: int, extent: int) -> Axis:
    return Axis(number, "abc"[number], Kind.DEPTH, "abc"[number], extent, None, None, number, None)


AHEAD = (axis(0, 2), axis(1, 3))
LEADS = [(), AHEAD[:1], AHEAD]


class Drawn:
    """An operand: its axes ahead, its dimensions behind them, whether it has a gradient."""

    def __init__(self, rng: random.Random, *dims: int, lead: tuple[Axis, ...] | None = None) -> None:
        self.lead, self.dims, self.graded = rng.choice(LEADS) if lead is None else lead, dims, rng.random() < 0.5

    def shape(self, first: int = 0) -> ArrayShape:
        return ArrayShape(frozenset(self.lead), tuple(map(Poly.of, self.dims[first:])), self.graded)

    def tensor(self) -> Any:
        ahead = (one.extent if one in self.lead else 1 for one in AHEAD)
        return torch.zeros(*ahead, *self.dims, device="meta").requires_grad_(self.graded)


def tally() -> Tally:
    return Tally(Meter(SizeScope(), 4, {}))


def compared(told: Tally, run: Callable[[], Any], what: object) -> None:
    """Multiply-adds forward and backward, and other operations."""
    made: list[Any] = []
    with Arithmetic() as arithmetic:
        forward = flops(lambda: made.append(run()))
    backward = flops(lambda: made[0].sum().backward()) if made[0].requires_grad else 0
    found = (2 * told.macs.at({}), 2 * told.back.at({}), told.ops.at({}))
    assert found == (forward, backward, arithmetic.count), what


def chunks(seed: int) -> None:
    rng = random.Random(seed)
    n, d, e = rng.choice([1, 2, 5, 16, 17, 32, 33, 64, 65, 100, 130]), rng.choice([1, 3, 5]), rng.choice([1, 4])
    given = {"q": Drawn(rng, n, d), "k": Drawn(rng, n, d), "v": Drawn(rng, n, e)}
    erases = rng.random() < 0.4
    if rng.random() < 0.7:
        given["decay"] = Drawn(rng, rng.choice([1, n]), 1 if erases else rng.choice([1, d]))
    if erases:
        given["erase"] = Drawn(rng, n, d)
    if rng.random() < 0.4:
        given["start"] = Drawn(rng, d, e, lead=rng.choice([(), given["v"].lead]))
    told, before = tally(), rng.random() < 0.4
    in_chunks(told, ChunkInputs(**{name: one.shape() for name, one in given.items()}))
    tensors = {name: one.tensor() for name, one in given.items()}
    compared(told, lambda: linear_attention(**tensors, before=before), (seed, given, n, d, e, before))


def sums(seed: int) -> None:
    rng = random.Random(seed)
    n, wide = rng.choice([1, 2, 5, 15, 16, 17, 30, 100]), axis(2, rng.choice([1, 4, 400]))
    given = {"x": Drawn(rng, n, wide.extent)}
    if rng.random() < 0.7:
        given["decay"] = Drawn(rng, rng.choice([1, n]), wide.extent)
    if rng.random() < 0.5:
        given["start"] = Drawn(rng, wide.extent)
    told, before = tally(), rng.random() < 0.5
    shapes = {
        name: ArrayShape(frozenset({*one.lead, wide}), (Poly.of(1 if name == "start" else one.dims[0]),))
        for name, one in given.items()
    }
    number_by_number(told, **shapes, before=before)
    tensors = {name: one.tensor().detach() for name, one in given.items()}
    compared(told, lambda: running(tensors.pop("x"), -2, **tensors, before=before), (seed, n, before))


def cells(seed: int) -> None:
    rng = random.Random(seed)
    kernel, kind, gates = rng.choice([(lstm, "lstm", 4), (gru, "gru", 3), (rnn, "rnn", 1)])
    n, width, hidden = rng.choice([1, 2, 7]), rng.choice([1, 3]), rng.choice([1, 5])
    x, told, starts = Drawn(rng, n, width, lead=AHEAD), tally(), {}
    if rng.random() < 0.5:
        starts = {name: Drawn(rng, hidden) for name in ("hc" if kind == "lstm" else "h")}
    cell = op_named(kind).cost.kernel
    assert isinstance(cell, CellKernel) and cell.gates == gates
    by_kernel(told, cell, x.shape(), Poly.of(hidden), starts["h"].shape() if starts else None)
    maps = [[torch.nn.Linear(size, gates * hidden, device="meta")] for size in (width, hidden)]
    tensors = {name: one.tensor() for name, one in starts.items()}
    compared(told, lambda: kernel(x.tensor(), *maps, **tensors), (seed, kind, n, width, hidden))


KINDS = [chunks, sums, cells]


@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_those_of_torch(kind: Callable[[int], None]) -> None:
    for seed in range(12):
        kind(seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_more_counts(kind: Callable[[int], None]) -> None:
    for seed in range(12, 2000):
        kind(seed)
