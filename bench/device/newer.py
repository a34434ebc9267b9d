"""Experts and linear attention on a device, beside what others write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from recent import experts, linear, paired
from speed import peers
from speed.timing import OURS
from torch import Tensor, nn

from .setting import Call, Case, Goal, Setting, drawn

SOME = experts.Sizes(layers=4, model=1024, groups=8, sharing=2, inner=3584, vocab=32_000, width=1024, batch=8)
MANY = replace(SOME, inner=384, expert=128, chosen=8)
TINY = {"layers": 1, "model": 32, "groups": 2, "key": 16, "inner": 48, "vocab": 96, "width": 12, "batch": 2}


def train_experts(setting: Setting, sizes: experts.Sizes, goals: Sequence[Goal]) -> Case:
    """Forward and backward in bfloat16, not compiled: how many rows an expert is given, data alone tells."""
    sizes = replace(sizes, **TINY) if setting.small else sizes
    draw = torch.Generator(setting.device).manual_seed(0)
    shape = (sizes.batch, sizes.width + 1)
    ids = torch.randint(1, sizes.vocab, shape, generator=draw, device=setting.device)
    given, following = ids[:, :-1], ids[:, 1:]
    ours = drawn(experts.model_of(sizes), setting, torch.bfloat16)
    losses: dict[str, peers.Loss] = {OURS: (ours, lambda: peers.cross_entropy(ours(given), following))}
    others = experts.theirs(
        sizes, {name: x.float().cpu() for name, x in ours.state_dict().items()}, sizes.batch * sizes.width
    )
    for who, net in others.items():
        losses[who] = (
            net().to(setting.device, torch.bfloat16),
            lambda net=net: peers.cross_entropy(net()(given, use_cache=False), following),
        )

    def check() -> None:
        found = {who: float(loss().detach()) for who, (_, loss) in losses.items()}
        assert max(found.values()) - min(found.values()) < 0.02 * found[OURS], found

    contenders = {who: peers.step(*loss) for who, loss in losses.items()}
    what = f"training of experts, {experts.described(sizes)}, T {sizes.width}, bfloat16, forward and backward"
    return Case(f"experts_{sizes.expert}", what, "tokens", sizes.batch * sizes.width, contenders, goals, check)


def linear_attention(setting: Setting, goals: Sequence[Goal]) -> Case:
    """Causal, forward and backward, float32."""
    sizes = linear.Sizes(width=64, heads=2, key=16, value=16) if setting.small else linear.Sizes(width=4096, batch=8)
    parts = {part: getattr(sizes, part) for part in ("heads", "key", "value")}
    draw = torch.Generator(setting.device).manual_seed(0)
    inputs = [
        torch.randn(shape, generator=draw, device=setting.device, requires_grad=True) for shape in linear.shapes(sizes)
    ]
    net: nn.Module = paired.example("linear_attention", "causal_sum", **parts).torch(device=setting.device)
    ways: dict[str, Callable[..., Tensor]] = {
        OURS: net,
        "chunked by hand": lambda *x: linear.causal_sums(*x, sizes.chunk),
    }
    ways |= {f"{who}, compiled": setting.compiled(way) for who, way in list(ways.items())}

    def both(way: Callable[..., Tensor]) -> Call:
        def call() -> list[Tensor]:
            out = way(*inputs)
            return [out.detach(), *torch.autograd.grad(out.square().sum(), inputs)]

        return call

    contenders = {who: both(way) for who, way in ways.items()}

    def check() -> None:
        expected = contenders[OURS]()
        for who, call in contenders.items():
            for one, other in zip(call(), expected, strict=True):
                apart = float((one - other).square().mean().sqrt())  # products are of TF32
                assert apart < 0.02 * float(other.square().mean().sqrt()), who

    what = f"causal linear attention, forward and backward, {linear.described(sizes)}, float32"
    return Case("linear", what, "passes", 1, contenders, goals, check)
