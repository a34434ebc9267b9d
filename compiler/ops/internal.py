"""Ops that no spec can write: rewrites and decoding make them, and the backends know them."""

from __future__ import annotations

from ..graph.traits import (
    Anything,
    CellKernel,
    Chunks,
    Counts,
    LogSum,
    OpCost,
    OpTraits,
    Pointwise,
    Quotient,
    RunningState,
    Sum,
)
from .table import WrittenOp

DISPATCH = OpTraits("dispatch", reads=Anything())
TAKEN = OpTraits("rows", reads=Anything(), cost=OpCost(work=0))
BACK = OpTraits("back", reads=Anything(), cost=OpCost(work=0))
WEIGHED = OpTraits("weighed", reads=Anything(), cost=OpCost(work=2, reads=True, saves=("x",)))
GROUPED = OpTraits("grouped", reads=Anything())
MAP_WEIGHTS = OpTraits("map_weights", reads=Anything(), cost=OpCost(work=0, moves=False))
"""Weights of a learned map that is done elsewhere (rewrites/dispatch, rewrites/recurrent)."""
PICKED = OpTraits("picked", reads=Anything(), gradient=False)
"""Of each item along the axis that it makes, whether any index that is kept, over the axes in brackets, names it."""
ALONE = "alone"
"""The option of a map that leaves out its bias: on a mesh it is added behind the sum of parts."""

ROWS: tuple[OpTraits, ...] = (
    OpTraits("//", reads=Pointwise(Quotient(whole=True))),
    OpTraits("within", reads=Pointwise(Sum((1,)))),  # an index, checked
    OpTraits("cast", reads=Pointwise(Sum((1,)))),  # a table in another type of numbers
    # of minus infinity twice it is that, too
    WrittenOp(
        "logaddexp",
        reads=Pointwise(LogSum()),
        torch="torch.logaddexp({0}, {1})",
        numpy="np.logaddexp({0}, {1})",
    ),
    OpTraits("demand", reads=Anything(), checks=True),
    # the whole of softmax attention, and two values side by side (rewrites/kernels)
    OpTraits("attention", reads=Anything(), cost=OpCost(saves=("x", "result"), spare=0)),  # its scores are not kept
    OpTraits("stack", reads=Anything()),
    # what is picked, computed alone (rewrites/dispatch)
    DISPATCH,
    TAKEN,
    BACK,
    WEIGHED,
    GROUPED,
    MAP_WEIGHTS,
    PICKED,
    # what scans become whose states are linear in themselves (rewrites/recurrent)
    OpTraits("linear_attention", reads=Anything(), cost=OpCost(work=0, saves=("x",), kernel=Chunks())),
    *(
        OpTraits(name, reads=Anything(), cost=OpCost(work=0, saves=("x", "result"), kernel=CellKernel(*numbers)))
        for name, *numbers in (("lstm", 4, 13, 0), ("gru", 3, 10, 3), ("rnn", 1, 2, 1))
    ),
    OpTraits("weighs", reads=Anything(), cost=OpCost(work=0, moves=False, kernel=Counts())),
    OpTraits("recurrence", reads=Anything(), cost=OpCost(work=0, saves=("x", "result"), kernel=RunningState())),
    # steps of decoding: caches, places, and what is cut out of what all items have
    OpTraits("positions", reads=Anything(), caches=True, cost=OpCost(work=0, moves=False)),
    *(OpTraits(name, reads=Anything(), caches=True, remembers=True) for name in ("remember", "recall", "resume")),
    *(OpTraits(name, reads=Anything(), caches=True, remembers=True, keeps=True) for name in ("store", "leave")),
    *(OpTraits(name, reads=Anything(), caches=True) for name in ("slice", "since", "taps", "fill", "behind", "map")),
    OpTraits("tail", reads=Anything()),
)
