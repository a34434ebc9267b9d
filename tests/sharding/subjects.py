"""Models on meshes, drawn at random."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

import attnc
from attnc.compiler.graph.inventory import extent
from attnc.spec import Model, Size

EXAMPLES = Path(__file__).parents[2] / "examples"
BATCH, WIDTH = 4, 8
DENSE: dict[str, Size] = {"model": 32, "heads": 4, "inner": 64, "vocab": 48, "layers": 2, "drop": 0.1}
GROUPED: dict[str, Size] = {
    "model": 32, "groups": 4, "sharing": 2, "key": 8, "inner": 64, "vocab": 48, "layers": 2
}  # fmt: skip
CHARACTERS: dict[str, Size] = {"model": 32, "groups": 4, "inner": 64, "character": 48, "layers": 2}
EXPERTS: dict[str, Size] = {
    "model": 16, "inner": 24, "vocab": 48, "expert": 8, "chosen": 2, "groups": 4, "sharing": 2, "key": 4, "layers": 2
}  # fmt: skip
LATENT: dict[str, Size] = {
    "model": 32, "narrow": 16, "expert": 8, "chosen": 2, "clan": 4, "good": 2, "vocab": 48, "inner": 64, "common": 32,
    "heads": 4, "plain": 8, "turned": 4, "value": 8, "latent": 16, "query": 24, "layers": 3, "dense": 1
}  # fmt: skip
T5: dict[str, Size] = {"model": 32, "heads": 4, "key": 8, "inner": 64, "vocab": 48, "layers": 2}
BART: dict[str, Size] = {"model": 32, "heads": 4, "inner": 64, "vocab": 48, "layers": 2, "longest": 30}
KINDS: dict[str, tuple[dict[str, Size], tuple[str, ...], tuple[str, ...]]] = {
    "transformer_loss": (DENSE, ("heads", "inner", "vocab"), ("source", "target")),
    "transformer": (DENSE, ("heads", "inner", "vocab"), ("source", "target")),
    "zoo/gpt2": (DENSE, ("heads", "inner", "vocab"), ("seq",)),
    "zoo/vit": ({"model": 32, "heads": 4, "inner": 64, "layers": 2, "drop": 0.1}, ("heads", "inner"), ()),
    "zoo/decoder/decoder": (GROUPED, ("groups", "inner", "vocab"), ("seq",)),
    "gpt/gpt": (CHARACTERS, ("groups", "inner", "character"), ("seq",)),
    "zoo/mixtral": (EXPERTS, ("groups", "inner", "vocab", "expert"), ("seq",)),
    "zoo/mixed/latent": (LATENT, ("heads", "inner", "narrow", "common", "vocab"), ("seq",)),
    "zoo/t5": (T5, ("heads", "inner", "vocab"), ("source", "target")),
    "zoo/bart": (BART, ("heads", "inner"), ("source", "target")),
}
"""Specs, their sizes, the depths that a mesh may split, and the widths."""
BALANCED = """
use std.attention: rotary_attention, model, groups, sharing, key, value

width seq
width past like seq
depth model = 16, inner = 24, vocab = 48, expert = 4, chosen = 2
depth groups = 2, sharing = 2, key = 4, value = key
const layers = 2, drop = 0.1

block experts(x: [seq, model]) -> (made: [seq, model], balance: []) {
    odds = softmax[expert](linear.router[model -> expert](x, bias = false))
    best = topk[expert -> chosen](odds)
    gain = odds[expert = best]
    up = silu(linear.up[expert: model -> inner](x))
    weights = sum[chosen](select(expert == best, gain / sum[chosen](gain), 0))
    made = dot[expert](weights, linear.down[expert: inner -> model](up))
    picked = mean[seq](sum[chosen](select(expert == best, 1.0, 0.0)))
    return made, |expert| * dot[expert](stop_gradient(picked), mean[seq](odds))
}

model balanced(ids: vocab[seq], target: vocab[seq], real: bool[seq]) -> (total: [], balance: [], count: []) {
    param E: [vocab, model] ~ normal(0.02)
    x = dropout(E[vocab = ids], drop)
    level = stop_gradient(mean[seq, model](x))
    balance = 0
    repeat layers {
        seen = rmsnorm.see[model](x)
        x = x + dropout(rotary_attention.self[seq, past](seen, mask = past <= seq and real[seq as past]), drop)
        made, more = experts.one(rmsnorm.feed[model](x))
        x = x + dropout(made, drop)
        balance = balance + more
    }
    each = cross_entropy[vocab](dot[model](rmsnorm.last[model](x), E), target)
    return sum[seq](select(real, each, 0)) + level, balance, sum[seq](select(real, 1, 0))
}
"""
"""Mixtral with the losses of its balance, added from pass to pass; tied embeddings, padding, dropout."""
EXPERTS: dict[str, dict[str, Size]] = {
    "zoo/mixtral": {
        "model": 16, "inner": 32, "vocab": 24, "expert": 4, "chosen": 2, "groups": 2, "sharing": 2, "key": 4,
        "layers": 2
    },
    "zoo/mixed/experts": {
        "model": 16, "inner": 32, "narrow": 12, "vocab": 24, "expert": 4, "chosen": 2, "groups": 2, "sharing": 2,
        "key": 4, "layers": 1, "common": 8, "turned": 4
    },
    "zoo/mixed/latent": {
        "model": 16, "inner": 32, "narrow": 8, "vocab": 24, "expert": 8, "chosen": 3, "clan": 4, "good": 2, "common": 8,
        "heads": 2, "plain": 4, "turned": 4, "value": 4, "latent": 8, "query": 8, "layers": 2, "dense": 1
    },
    "zoo/t5/t5": {
        "model": 16, "inner": 32, "vocab": 24, "expert": 4, "heads": 2, "key": 4, "source_layers": 1,
        "target_layers": 1, "source_sparse": [True], "target_sparse": [True], "capacity": 3, "buckets": 8, "far": 16
    },
}  # fmt: skip
"""Mixtral; experts of all kinds; DeepSeek's, of groups, with shared ones; the Switch Transformer, with a capacity."""


@cache
def model(name: str) -> Model:
    if name == "balanced":
        return attnc.loads(BALANCED).model("balanced")
    spec = attnc.load(EXAMPLES / f"{name}.attn", sizes=KINDS[name][0] if name in KINDS else EXPERTS[name])
    return spec.model(spec.models[0])


def inputs(of: Model, seed: int = 0) -> dict[str, Tensor]:
    drawn, found = torch.Generator().manual_seed(seed), {}
    axes = {axis.name: axis for axis in of.graph.axes}
    for port in of.inputs:
        shape = [BATCH, *(WIDTH if size is None else size for size in port.shape)]
        if port.element == "bool":
            real = torch.rand(shape, generator=drawn) < 0.8
            real[..., -1] = True
            found[port.name or ""] = real
        elif port.element == "real":
            found[port.name or ""] = torch.randn(shape, generator=drawn, dtype=torch.float64)
        else:
            found[port.name or ""] = torch.randint(0, extent(axes[port.element]), shape, generator=drawn)
    return found


def draw(seed: int) -> tuple[str, dict[str, int], dict[str, tuple[str, ...]]]:
    """A spec, a mesh of at most 8 devices, and what its axes split."""
    rng = random.Random(seed)
    name = rng.choice(list(KINDS))
    _, depths, widths = KINDS[name]
    while True:
        names = rng.sample(("data", "model", "context"), rng.randint(1, 3))
        mesh = {one: rng.choice((2, 2, 4)) for one in names}
        devices = 1
        for size in mesh.values():
            devices *= size
        if devices <= 8 and ("context" not in mesh or widths):
            break
    splits: dict[str, tuple[str, ...]] = {}
    for one in names:
        if one == "data":
            splits[one] = ("batch",)
        elif one == "context":
            splits[one] = widths[: rng.randint(1, len(widths))]
        else:
            chosen = rng.sample(depths, rng.randint(1, len(depths)))
            between = widths if "context" not in names and rng.random() < 0.5 else ()  # norms by parts of widths
            splits[one] = (*chosen, *between)
    return name, mesh, splits
