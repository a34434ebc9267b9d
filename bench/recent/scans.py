"""Recurrences of a state: the selective scan of Mamba, and the gated delta rule of Qwen3-Next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from speed import peers
from speed.floor import Attention, floor
from speed.timing import OURS, Case
from torch import Tensor, nn
from torch.nn import functional as F

from .paired import Way, case, drawn, example


@dataclass(frozen=True, slots=True)
class Mamba:
    width: int = 512
    batch: int = 1
    model: int = 256
    inner: int = 512
    state: int = 16
    rank: int = 16
    gradients: int = 0  # 1: backward too


def by_steps(a: Tensor, b: Tensor) -> Tensor:
    """h = a * h + b, item by item along axis 1."""
    h, found = torch.zeros_like(b[:, 0]), []
    for fade, put in zip(a.unbind(1), b.unbind(1), strict=True):
        h = torch.addcmul(put, fade, h)
        found.append(h)
    return torch.stack(found, 1)


def doubled(a: Tensor, b: Tensor) -> Tensor:
    """The same, all items at once, in as many rounds as the width has digits: each looks back twice as far."""
    far = 1
    while far < b.shape[1]:
        b = torch.cat([b[:, :far], torch.addcmul(b[:, far:], a[:, far:], b[:, :-far])], 1)
        a = torch.cat([a[:, :far], a[:, far:] * a[:, :-far]], 1)
        far *= 2
    return b


def block(scan: Callable[[Tensor, Tensor], Tensor], w: dict[str, Tensor], u: Tensor) -> Tensor:
    """Gu and Dao 2023, algorithm 2, with what does not depend on the state made for all items at once."""
    x, gate = F.linear(u, w["enter.weight"]).chunk(2, -1)
    taps = w["kernel"].shape[1]
    x = F.silu(
        F.conv1d(x.mT, w["kernel"][:, None], w["offset"], padding=taps - 1, groups=x.shape[-1])[..., : u.shape[1]].mT
    )
    B, C = F.linear(x, w["B.weight"]), F.linear(x, w["C.weight"])
    delta = F.softplus(F.linear(F.linear(x, w["delta_low.weight"]), w["delta.weight"], w["delta.bias"]))
    a = torch.exp(delta[..., None] * -w["log_A"].exp())
    h = scan(a, (delta * x)[..., None] * B[..., None, :])
    y = (h @ C[..., None])[..., 0] + w["D"] * x
    return F.linear(y * F.silu(gate), w["leave.weight"])


def selective(name: str, sizes: Mamba, target: float | None) -> list[Case]:
    (u,) = drawn((sizes.batch, sizes.width, sizes.model))
    parts = {part: getattr(sizes, part) for part in ("model", "inner", "state", "rank")}
    ours = example("selective_scan", "selective_scan", **parts).torch(seed=0)
    ways = {OURS: Way(ours, [u], list(ours.parameters()))}
    for who, scan in {"steps by hand": by_steps, "parallel by hand": doubled}.items():
        w = {each: nn.Parameter(x.detach().clone()) for each, x in ours.named_parameters()}
        ways[who] = Way(lambda u, scan=scan, w=w: block(scan, w, u), [u.clone()], list(w.values()))
    what = f"selective scan with its block, T {sizes.width:,}, d {sizes.model}, {sizes.inner} states of {sizes.state}"
    return [case(name, what, target, ways, sizes.gradients, None)]


@dataclass(frozen=True, slots=True)
class Delta:
    """width: a multiple of 64, which is the chunk of all who have chunks."""

    width: int = 512
    heads: int = 4
    key: int = 64
    value: int = 64
    batch: int = 1
    gradients: int = 0  # 1: backward too


CHUNK = 64


def slow_paths() -> dict[str, Callable[..., Tensor]]:
    """What Qwen3-Next of transformers computes where no kernel of its own is installed."""
    from transformers.models.qwen3_next import modeling_qwen3_next as theirs

    return {
        "Hugging Face chunks": lambda *x: theirs.torch_chunk_gated_delta_rule(*x)[0],
        "Hugging Face steps": lambda *x: theirs.torch_recurrent_gated_delta_rule(*x)[0],
    }


def gated_delta(name: str, sizes: Delta, target: float | None) -> list[Case]:
    """Ours item by item, and chunk by chunk. Theirs has the heads behind the items, and divides q by sqrt(|key|)."""
    rows = (sizes.batch, sizes.heads, sizes.width)
    q, k, v, fading, written = drawn((*rows, sizes.key), (*rows, sizes.key), (*rows, sizes.value), rows, rows)
    k = F.normalize(k, dim=-1)
    inputs = [q, k, v, F.logsigmoid(fading + 2), written.sigmoid()]
    parts = {part: getattr(sizes, part) for part in ("heads", "key", "value")}
    recurrent = example("gated_delta", "recurrent_delta", **parts).torch()
    chunks = example("gated_delta", "chunkwise_delta", **parts, at=CHUNK).torch()
    scale = sizes.key**-0.5
    ways = {
        OURS: Way(lambda q, *x: recurrent(q * scale, *x), inputs),
        f"{OURS}, chunks": Way(lambda q, *x: chunks(q * scale, *x), [x.clone() for x in inputs]),
    }
    for paths in peers.installed({"Hugging Face": slow_paths}).values():
        for who, call in paths.items():
            ways[who] = Way(
                lambda *x, call=call: call(*(each.transpose(1, 2) for each in x)).transpose(1, 2),
                [x.clone() for x in inputs],
            )
    many = sizes.batch * sizes.heads * (sizes.width // CHUNK)
    works = [
        Attention("within", CHUNK // 2, CHUNK, sizes.key, many),
        Attention("state", CHUNK, sizes.key, sizes.value, many),
    ]
    what = f"gated delta rule, T {sizes.width:,}, {sizes.heads} heads of {sizes.key}"
    return [case(name, what, target, ways, sizes.gradients, floor([works], gradients=bool(sizes.gradients)))]
