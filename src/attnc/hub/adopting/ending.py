"""What is made of a stream at its end: norms, a pool, maps and functions, up to a result of the module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .listening.trace import RunValue, Tensor
from .listening.uses import LinearUse, NormUse, WeightUses, near, same
from .parts import ACTS

POOLS: dict[str, Callable[[Tensor], Tensor]] = {
    "first": lambda x: x[:, :1],
    "last": lambda x: x[:, -1:],
    "average": lambda x: x.mean(1, keepdim=True),
}
RESULTS: dict[str, Callable[[Tensor], Tensor]] = {
    "log_softmax[{axis}](x)": lambda x: x.log_softmax(-1),
    "softmax[{axis}](x)": lambda x: x.softmax(-1),
}
_DEEPEST = 8

Move = tuple[str, NormUse | LinearUse | str | float]
"""What is done: "norm", "map", a function ("act"), "pool", a function of "result" or "times" a number; and which."""


@dataclass(frozen=True, eq=False)
class StreamResult:
    """index: which of the module's results it is. behind: how many moves make it. more: what is done with it alone."""

    index: int
    behind: int
    more: list[Move]


@dataclass(eq=False)
class StreamEnd:
    """moves: what is done, in order. results: those of the module that are met on the way."""

    moves: list[Move]
    results: list[StreamResult] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    @property
    def pooled(self) -> str | None:
        return next((str(what) for kind, what in self.moves if kind == "pool"), None)

    @property
    def norms(self) -> list[NormUse]:
        return [what for _, what in self.moves if isinstance(what, NormUse)]

    @property
    def linears(self) -> list[LinearUse]:
        return [what for _, what in self.moves if isinstance(what, LinearUse)]


def ended(
    uses: WeightUses, x: Tensor, results: list[RunValue], target: Tensor | None, free: list[LinearUse]
) -> StreamEnd:
    """The shortest way from a stream [batch, items, model] to `target`, or to a result of the module, and on from there
    to further ones.
    """
    goals = dict(enumerate([target] if target is not None else [_items(uses, one.tensor) for one in results]))
    end = StreamEnd([])
    at, moves, met = _way(uses, x, [], goals, free)
    while met:
        end.moves = moves
        end.results += [StreamResult(i, len(moves), more) for i, more in met.items()]
        goals = {i: goal for i, goal in goals.items() if i not in met}
        at, moves, met = _way(uses, at, moves, goals, free)
    if end.results:
        return end
    return StreamEnd(moves, [], [_doubt(uses, x, [*goals.values()], target, free)])


def _way(
    uses: WeightUses, x: Tensor, moves: list[Move], goals: dict[int, Tensor], free: list[LinearUse]
) -> tuple[Tensor, list[Move], dict[int, list[Move]]]:
    """The nearest value with which goals are met: it, all moves up to it, and what more makes each goal of it. Where
    none is, the farthest moves that come near one.
    """
    paths, farthest = [(x, moves)], moves
    for _ in range(_DEEPEST if goals else 0):
        for at, done in paths:
            reached = {i: _reached(at, goal) for i, goal in goals.items()}
            if met := {i: more for i, more in reached.items() if more is not None}:
                return at, done, met
        paths = [(y, [*done, move]) for at, done in paths for y, move in _moves(uses, at, done, free)][:200]
        farthest = next((done for at, done in paths if any(at.shape == one.shape for one in goals.values())), farthest)
    return x, farthest, {}


def _items(uses: WeightUses, tensor: Tensor) -> Tensor:
    return tensor[:, None] if tensor.ndim == 2 and len(tensor) == uses.trace.batch else tensor


def _reached(at: Tensor, goal: Tensor) -> list[Move] | None:
    if at.shape != goal.shape and at.numel() == goal.numel() and at.shape[-1] == 1:
        at = at.reshape(goal.shape)
    if goal.ndim == 2 and at.ndim == 3 and goal.shape == (at.shape[0] * at.shape[1], at.shape[2]):
        orders = goal.reshape(at.shape), goal.reshape(at.shape[1], at.shape[0], -1).transpose(0, 1)
        goal = min(orders, key=lambda one: near(at, one))
    if goal.ndim == 3 and at.shape != goal.shape and goal.transpose(0, 1).shape == at.shape:
        goal = goal.transpose(0, 1)
    if at.shape != goal.shape:
        return None
    if same(at, goal):
        return []
    for name, function in RESULTS.items():
        if same(function(at), goal):
            return [("result", name)]
    factor = _factor(goal, at)
    return [("times", factor)] if factor is not None else None


def _factor(y: Tensor, x: Tensor) -> float | None:
    """The number that y is times x, if it is one."""
    factor = float((x * y).sum() / (x * x).sum())
    return float(f"{factor:.9g}") if same(factor * x, y) else None


def _moves(uses: WeightUses, at: Tensor, moves: list[Move], free: list[LinearUse]) -> Iterator[tuple[Tensor, Move]]:
    for linear in free:
        if same(linear.x, at):
            yield linear.y, ("map", linear)
        elif linear.x.shape == at.shape and (factor := _factor(linear.x, at)) is not None:
            yield linear.x, ("times", factor)
    for norm in uses.norms:
        if norm.x.numel() == at.numel() and same(norm.x.reshape(at.shape), at):
            yield norm.y.reshape(at.shape), ("norm", norm)
    last = moves[-1][0] if moves else ""
    if last == "map":
        for name, function in ACTS.items():
            if name != "{x}" and _leads(uses, function(at), free):
                yield function(at), ("act", name)
    if not any(kind == "pool" for kind, _ in moves) and at.ndim == 3 and at.shape[1] > 1:
        for name, function in POOLS.items():
            y = function(at)
            if _leads(uses, y, free) or any(_items(uses, one.tensor).shape == y.shape for one in uses.trace.results):
                yield y, ("pool", name)


def _leads(uses: WeightUses, at: Tensor, free: list[LinearUse]) -> bool:
    """Whether anything goes on from there."""
    if any(same(one.x, at) for one in free):
        return True
    goals = [_items(uses, one.tensor) for one in uses.trace.results]
    return any(one.x.numel() == at.numel() and same(one.x.reshape(at.shape), at) for one in uses.norms) or any(
        _reached(at, goal) is not None for goal in goals
    )


def _doubt(uses: WeightUses, x: Tensor, goals: list[Tensor], target: Tensor | None, free: list[LinearUse]) -> str:
    what = "what the decoder reads of the encoder" if target is not None else "a result of the module"
    left = ", ".join(f"`{one.weight.name}`" for one in free)
    return f"no way was found from the last layer to {what}" + (f", by way of {left}" if left else "")
