"""Attention of few pairs: over the keys in sight alone, block by block as one writes it by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from speed.attention import SPEC
from speed.floor import Attention, floor
from speed.timing import OURS, Case
from torch import Tensor
from torch.nn import functional as F

import attnc

from .paired import Way, case, drawn, example


@dataclass(frozen=True, slots=True)
class Sizes:
    """window: how far back a query sees; of blocks, the items of one; of a Sparse Transformer, the stride."""

    width: int = 2000
    heads: int = 8
    head: int = 64
    batch: int = 1
    window: int = 100
    gradients: int = 1  # 0: forward alone


Seen = Callable[[Tensor, Tensor], Tensor]  # of queries [q, 1] and keys [k]: whether they are in sight


def window(sizes: Sizes) -> tuple[str, Seen]:
    near = sizes.window
    return f"k <= q and q - k < {near}", lambda q, k: (k <= q) & (q - k < near)


def blocks(sizes: Sizes) -> tuple[str, Seen]:
    """The own block, the one before, and each eighth."""
    at = sizes.window
    spec = f"k <= q and (floor(q / {at}) - floor(k / {at}) <= 1 or floor(k / {at}) % 8 == 0)"
    return spec, lambda q, k: (k <= q) & ((q // at - k // at <= 1) | (k // at % 8 == 0))


def by_hand(seen: Tensor, size: int) -> Callable[..., Tensor]:
    """`size` queries at once and the keys that any of them sees: gathered where they do not lie side by side."""
    plan = []
    for start in range(0, len(seen), size):
        rows = seen[start : start + size]
        keys = rows.any(0).nonzero()[:, 0]
        first, last = int(keys[0]), int(keys[-1]) + 1
        plan.append(
            (slice(start, start + size), slice(first, last) if last - first == len(keys) else keys, rows[:, keys])
        )

    def attend(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        found = [
            F.scaled_dot_product_attention(Q[..., rows, :], K[..., keys, :], V[..., keys, :], mask)
            for rows, keys, mask in plan
        ]
        return torch.cat(found, -2)

    return attend


def pairs(sizes: Sizes, count: int) -> Callable[[], object]:
    """The floor: so many pairs of a query and a key in each head, `window` keys to a product."""
    keys = min(sizes.window, sizes.width)
    works = [
        Attention(
            "seen", max(count // sizes.width, 1), keys, sizes.head, sizes.batch * sizes.heads * (sizes.width // keys)
        )
    ]
    return floor([works], gradients=bool(sizes.gradients))


def inputs_of(sizes: Sizes) -> list[Tensor]:
    return drawn(*[(sizes.batch, sizes.heads, sizes.width, sizes.head)] * 3)


def alone(name: str, sizes: Sizes, target: float | None, mask_of: Callable[[Sizes], tuple[str, Seen]]) -> list[Case]:
    """Beside seen keys alone."""
    text, sight = mask_of(sizes)
    place = torch.arange(sizes.width)
    seen = sight(place[:, None], place)
    spec = SPEC.format(heads=sizes.heads, head=sizes.head, mask=text).replace(", real: bool[q]", "")
    calls = {
        OURS: attnc.loads(spec).model("f").torch(),
        "seen keys by hand": by_hand(seen, sizes.window),
        "SDPA, dense mask": lambda *x: F.scaled_dot_product_attention(*x, attn_mask=seen),
    }
    ways = {who: Way(call, [x.clone() for x in inputs_of(sizes)]) for who, call in calls.items()}
    share = float(seen.float().mean())
    what = f"attention, {text}, T {sizes.width:,}, {share:.1%} seen"
    return [case(name, what, target, ways, sizes.gradients, pairs(sizes, int(seen.sum())))]


def given_blocks(name: str, sizes: Sizes, target: float | None) -> list[Case]:
    """Which blocks are seen is an input: the own, the one before, and a tenth of those further back, drawn by lot."""
    at = sizes.window
    many = -(-sizes.width // at)
    torch.manual_seed(1)
    block = torch.arange(many)
    layout = (block[:, None] - block).abs() <= 1
    layout |= torch.rand(many, many) < 0.1
    place = torch.arange(sizes.width)
    seen = layout[place[:, None] // at, place // at] & (place <= place[:, None])
    read = f"layout[rows = min(floor(q / {at}), |rows| - 1), columns = min(floor(k / {at}), |columns| - 1)]"
    text = SPEC.format(heads=sizes.heads, head=sizes.head, mask=f"k <= q and {read}")
    text = text.replace("real: bool[q]", "layout: bool[rows, columns]")
    net = attnc.loads(f"width rows = {many}\nwidth columns = {many}\n{text}").model("f").torch()
    calls = {
        OURS: lambda *x: net(*x, layout.expand(sizes.batch, -1, -1)),
        "seen keys by hand": by_hand(seen, at),
        "SDPA, dense mask": lambda *x: F.scaled_dot_product_attention(*x, attn_mask=seen),
    }
    ways = {who: Way(call, [x.clone() for x in inputs_of(sizes)]) for who, call in calls.items()}
    what = f"attention, blocks of {at} by an input, T {sizes.width:,}, {float(seen.float().mean()):.1%} seen"
    return [case(name, what, target, ways, sizes.gradients, pairs(sizes, int(seen.sum())))]


def by_head(name: str, sizes: Sizes, target: float | None, pattern: str) -> list[Case]:
    """A Sparse Transformer, "strided" or "fixed": heads of two kinds in one call, beside a call for each kind."""
    stride, summary = sizes.window, max(sizes.window // 16, 1)
    parts = {"stride": stride, "summary": summary, "heads": sizes.heads, "key": sizes.head, "value": sizes.head}
    kinds = {
        "strided": (f"q - k < {stride}", f"(q - k) % {stride} == 0"),
        "fixed": (f"floor(q / {stride}) == floor(k / {stride})", f"k % {stride} >= {stride - summary}"),
    }[pattern]
    half = SPEC.replace(", real: bool[q]", "").replace("{heads}", str(sizes.heads // 2))
    nets = [attnc.loads(half.format(head=sizes.head, mask=f"k <= q and {kind}")).model("f").torch() for kind in kinds]
    place = torch.arange(sizes.width)
    k, q = place, place[:, None]
    kept = {
        "strided": (q - k < stride, (q - k) % stride == 0),
        "fixed": (q // stride == k // stride, k % stride >= stride - summary),
    }[pattern]
    masks = torch.stack([(k <= q) & kept[head % 2] for head in range(sizes.heads)])

    def apart(*x: Tensor) -> Tensor:
        return torch.stack([net(*(each[:, at::2] for each in x)) for at, net in enumerate(nets)], 2).flatten(1, 2)

    calls = {
        OURS: example("sparse", pattern, **parts).torch(),
        "heads apart (attnc)": apart,
        "SDPA, dense mask": lambda *x: F.scaled_dot_product_attention(*x, attn_mask=masks),
    }
    ways = {who: Way(call, [x.clone() for x in inputs_of(sizes)]) for who, call in calls.items()}
    share = float(masks.float().mean())
    what = f"Sparse Transformer, {pattern} by {stride}, T {sizes.width:,}, {sizes.heads} heads, {share:.1%} seen"
    return [case(name, what, target, ways, sizes.gradients, pairs(sizes, int(masks.sum()) // sizes.heads))]
