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


@dataclass(eq=False)
class StreamEnd:
    """moves: what is done, in order. result: which of the module's results is made so."""

    moves: list[Move]
    result: int = 0
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
    """The shortest way from a stream [batch, items, model] to a result of the module, or to `target`."""
    goals = [target] if target is not None else [_items(uses, one.tensor) for one in results]
    paths: list[tuple[Tensor, list[Move]]] = [(x, [])]
    farthest: list[Move] = []
    for _ in range(_DEEPEST):
        for at, moves in paths:
            for i, goal in enumerate(goals):
                result = _reached(at, goal)
                if result is not None:
                    return StreamEnd([*moves, *result], i)
        paths = [(y, [*moves, move]) for at, moves in paths for y, move in _moves(uses, at, moves, free)][:200]
        if not paths:
            break
        farthest = next((moves for at, moves in paths if any(at.shape == goal.shape for goal in goals)), farthest)
    return StreamEnd(farthest, 0, [_doubt(uses, x, goals, target, free)])


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
