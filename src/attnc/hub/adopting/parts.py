"""The parts of a stack that are not attention: feed-forwards, and what each does to the stream that runs past."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import pi, sqrt

import torch
import torch.nn.functional as F

from .attention import AttentionUse, Split
from .listening.trace import Tensor
from .listening.uses import CLOSE, LinearUse, NormUse, ScaleUse, WeightUses, near

ACTS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "gelu({x})": F.gelu,
    "gelu_tanh({x})": lambda x: x * torch.sigmoid(sqrt(8 / pi) * (x + 0.044715 * x**3)),
    "relu({x})": F.relu,
    "silu({x})": F.silu,
    "relu({x}) ^ 2": lambda x: F.relu(x).square(),
    "{x} * sigmoid(1.702 * {x})": lambda x: x * torch.sigmoid(1.702 * x),
    "tanh({x})": torch.tanh,
    "sigmoid({x})": torch.sigmoid,
    "{x} * tanh(softplus({x}))": F.mish,
    "softplus({x})": F.softplus,
    "select({x} > 0, {x}, exp(min({x}, 0)) - 1)": F.elu,
    "{x}": lambda x: x,
}
"""Functions of a feed-forward, by what the spec writes for each."""


@dataclass(eq=False)
class FeedUse:
    """down(act(up(x))), or with a gate: down(act(gate(x)) * up(x))."""

    up: Split
    gate: Split | None
    down: LinearUse
    act: str
    doubts: list[str]

    @property
    def x(self) -> Tensor:
        return self.up.linear.x

    @property
    def y(self) -> Tensor:
        return self.down.y

    @property
    def start(self) -> int:
        return self.up.linear.step.number

    @property
    def end(self) -> int:
        return self.down.last.number

    @property
    def linears(self) -> list[LinearUse]:
        return [self.up.linear, *([self.gate.linear] if self.gate else []), self.down]


@dataclass(eq=False)
class LayerPart:
    """A part of a layer, in its stream x = after(kept * x + added * scale * behind(part(before(x)))).

    beside: it reads what the part before it has read; once: by the same norm.
    """

    does: AttentionUse | FeedUse
    before: NormUse | None = None
    behind: NormUse | None = None
    scale: ScaleUse | None = None
    after: NormUse | None = None
    kept: float = 1.0
    added: float = 1.0
    beside: bool = False
    once: bool = False
    doubts: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return "feed" if isinstance(self.does, FeedUse) else "cross" if self.does.cross else "self"

    @property
    def norms(self) -> list[NormUse]:
        return [norm for norm in (self.before, self.behind, self.after) if norm is not None]

    @property
    def is_doubtful(self) -> bool:
        return bool(self.doubts or self.does.doubts)

    @property
    def form(self) -> list[tuple[str, object]]:
        """What must be alike in all layers, each by its name."""
        does = self.does
        names = ("before", "behind", "after")
        told: list[tuple[str, object]] = [
            (f"the norm {name}", None if norm is None else norm.form)
            for name, norm in zip(names, (self.before, self.behind, self.after), strict=True)
        ]
        told += [("the factor of the stream", self.kept), ("the factor of what is added", self.added)]
        told += [("beside the part before", self.beside), ("the scale learned", self.scale is not None)]
        if isinstance(does, AttentionUse):
            told += [("heads", (does.heads, does.groups, does.key)), ("the factor of scores", f"{does.scale:.6g}")]
            told += [("the mask", does.mask), ("rotary positions", does.rotary), ("ALiBi", does.alibi)]
            biased = [one.bias is not None for one in (does.Q, does.K, does.V, does.out)]
        else:
            told += [("the depth inside", does.down.given), ("the function", does.act.format(x="x"))]
            told += [("a gate", does.gate is not None)]
            biased = [one.bias is not None for one in (does.up, does.down)]
        return [*told, ("biases", biased)]


def feeds(uses: WeightUses, taken: set[int]) -> list[FeedUse]:
    """Pairs of maps, from the stream and back to it, with a function between them. taken: steps of other maps."""
    found: list[FeedUse] = []
    free = [one for one in uses.linears if one.step.number not in taken]
    for down in free:
        ups = uses.nearest(down.operand)
        if not 1 <= len(ups) <= 2 or any(one.step.number in taken or one.x.shape[-1] != down.made for one in ups):
            continue
        if any(one.x.shape != ups[0].x.shape or near(one.x, ups[0].x) > CLOSE for one in ups):
            continue
        apart, best = min(((near(made, down.x), feed) for made, feed in _tried(ups, down)), key=lambda one: one[0])
        if apart == float("inf"):
            continue
        if apart > CLOSE:
            gate = " and ".join(f"`{one.weight.name}`" for one in ups)
            listed = ", ".join(act.format(x="x") for act in ACTS)
            best.doubts.append(
                f"what stands between {gate} and `{down.weight.name}` is none of {listed}, with a gate or without; "
                f"nearest is {best.act.format(x='x')}{' with a gate' if best.gate else ''}, {apart:.1e} of the "
                "standard deviation away"
            )
        found.append(best)
    return found


def _tried(ups: list[LinearUse], down: LinearUse) -> Iterator[tuple[Tensor, FeedUse]]:
    first = ups[0]
    rows = torch.arange(first.made)
    for act, function in ACTS.items():
        if len(ups) == 2:
            for gate, up in ((first, ups[1]), (ups[1], first)):
                feed = FeedUse(Split.whole(up), Split.whole(gate), down, act, [])
                yield function(gate.y) * up.y, feed
        elif first.made == 2 * down.given:
            for halves in (rows.reshape(2, -1), rows.reshape(-1, 2).T):
                for gate_rows, up_rows in (halves, halves.flip(0)):
                    feed = FeedUse(Split(first, up_rows), Split(first, gate_rows), down, act, [])
                    yield function(first.y[..., gate_rows]) * first.y[..., up_rows], feed
        else:
            yield function(first.y), FeedUse(Split(first, rows), None, down, act, [])
