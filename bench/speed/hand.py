"""Decoding as one writes it by hand: beside ours, with the same weights.

`Loop` has the layout of ours: queries, keys and values in one map, weights that lie in memory the way round that is
the faster for one row, keys and values in rooms made once, the last item alone scored, all of it in inference mode; so
has `GroupedLoop`. `Cached` is modules in the manner of nanoGPT, with the cache that most add to it. `bare` is the ops
of a step and nothing else: each on a tensor that is there, none waiting for what the one before it gave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .gpt_peers import Sizes, gpt2_names
from .seq2seq_peers import Sizes as PairSizes
from .seq2seq_peers import wave

Weights = Mapping[str, Tensor]


def laid(weight: Tensor) -> Tensor:
    """[out, in], in memory as [in, out] where that is no fewer results than operands."""
    return weight.T.contiguous().T if weight.shape[0] >= weight.shape[1] else weight.contiguous()


class Map:
    """Maps of one value side by side."""

    def __init__(self, weights: Weights, *names: str) -> None:
        self.weight = laid(torch.cat([weights[f"{name}.weight"] for name in names]))
        biases = [weights[f"{name}.bias"] for name in names if f"{name}.bias" in weights]
        self.bias = torch.cat(biases) if biases else None

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class Loop:
    """Of a GPT: its maps and tensors, and a loop over them."""

    def __init__(self, sizes: Sizes, weights: Weights) -> None:
        self.sizes, self.E, self.P = sizes, weights["E"], weights["P"]
        self.layers = []
        for layer in range(sizes.layers):
            at = f"layers.{layer}."
            self.layers.append((
                weights[f"{at}see.weight"], weights[f"{at}see.bias"],
                Map(weights, *(f"{at}self.{part}" for part in "QKV")), Map(weights, f"{at}self.O"),
                weights[f"{at}feed.weight"], weights[f"{at}feed.bias"],
                Map(weights, f"{at}fed.up"), Map(weights, f"{at}fed.down"),
            ))  # fmt: skip
        self.last = weights["last.weight"], weights["last.bias"]
        self.logits = laid(self.E)

    @torch.inference_mode()
    def __call__(self, ids: Tensor, tokens: int) -> Tensor:
        sizes, batch, at, found = self.sizes, ids.shape[0], 0, []
        depth, heads = (sizes.model,), sizes.heads
        room = (sizes.layers, batch, heads, ids.shape[1] + tokens, sizes.model // heads)
        keys, values = torch.empty(room), torch.empty(room)
        for _ in range(tokens):
            width = ids.shape[1]
            end = at + width
            x = F.embedding(ids, self.E) + self.P[at:end]
            for (see, see_bias, QKV, join, feed, feed_bias, up, down), K, V in zip(
                self.layers, keys, values, strict=True
            ):
                made = QKV(F.layer_norm(x, depth, see, see_bias)).view(batch, width, 3, heads, -1)
                q, k, v = made.permute(2, 0, 3, 1, 4).unbind()
                K[:, :, at:end], V[:, :, at:end] = k, v
                seen = F.scaled_dot_product_attention(q, K[:, :, :end], V[:, :, :end], is_causal=width > 1)
                x = x + join(seen.transpose(1, 2).reshape(batch, width, -1))
                x = x + down(F.gelu(up(F.layer_norm(x, depth, feed, feed_bias))))
            at = end
            scores = F.linear(F.layer_norm(x[:, -1:], depth, *self.last), self.logits)
            ids = scores[:, -1].argmax(-1, keepdim=True)
            found.append(ids)
        return torch.cat(found, 1)

    def bare(self, tokens: int) -> Callable[[], None]:
        """The ops of `tokens` steps of one item, without indices and views."""
        sizes = self.sizes
        depth, head = (sizes.model,), sizes.model // sizes.heads
        x = torch.randn(sizes.batch, 1, sizes.model)
        inner = torch.randn(sizes.batch, 1, 4 * sizes.model)
        q = torch.randn(sizes.batch, sizes.heads, 1, head)
        K, V = torch.randn(2, sizes.layers, sizes.batch, sizes.heads, sizes.prompt + tokens // 2, head)

        @torch.inference_mode()
        def call() -> None:
            for _ in range(tokens):
                for layer, (see, see_bias, QKV, join, feed, feed_bias, up, down) in enumerate(self.layers):
                    F.layer_norm(x, depth, see, see_bias)
                    QKV(x)
                    F.scaled_dot_product_attention(q, K[layer], V[layer])
                    join(x)
                    x + x
                    F.layer_norm(x, depth, feed, feed_bias)
                    up(x)
                    F.gelu(inner)
                    down(inner)
                    x + x
                F.linear(F.layer_norm(x, depth, *self.last), self.logits).argmax(-1)

        return call


class PairLoop:
    """Of an encoder-decoder, norms last: the source at once, then an item at a time, which looks at what came before it
    and at the source, whose keys and values are made once."""

    def __init__(self, sizes: PairSizes, weights: Weights) -> None:
        self.sizes, self.E, self.wave = sizes, weights["E"], wave(sizes.model)
        self.logits = laid(self.E)
        self.encode, self.decode = [], []
        for layer in range(sizes.layers):
            for kept, at in (self.encode, f"encode.{layer}."), (self.decode, f"decode.{layer}."):
                feed = f"{at}feed_forward."
                norms = [
                    (weights[f"{at}{name}.weight"], weights[f"{at}{name}.bias"])
                    for name in ("seen", "read", "fed") if f"{at}{name}.weight" in weights
                ]  # fmt: skip
                maps = [Map(weights, *(f"{at}self.{part}" for part in "QKV")), Map(weights, f"{at}self.O")]
                if kept is self.decode:
                    cross = f"{at}cross."
                    maps += [
                        Map(weights, f"{cross}Q"),
                        Map(weights, f"{cross}K", f"{cross}V"),
                        Map(weights, f"{cross}O"),
                    ]
                kept.append((maps, norms, Map(weights, f"{feed}up"), Map(weights, f"{feed}down")))

    def norm(self, x: Tensor, of: tuple[Tensor, Tensor]) -> Tensor:
        return F.layer_norm(x, (self.sizes.model,), *of)

    def heads(self, x: Tensor, parts: int) -> tuple[Tensor, ...]:
        """[batch, heads, width, head], each of the parts that stand side by side in x."""
        return x.view(*x.shape[:2], parts, self.sizes.heads, -1).permute(2, 0, 3, 1, 4).unbind()

    @torch.inference_mode()
    def __call__(self, source: Tensor, ids: Tensor, tokens: int) -> Tensor:
        """Without padding; of one item to begin with."""
        sizes, batch, found = self.sizes, len(ids), []
        scale = sizes.model**0.5
        memory = F.embedding(source, self.E) * scale + self.wave[: source.shape[1]]
        for (QKV, join), (seen, fed), up, down in self.encode:
            y = F.scaled_dot_product_attention(*self.heads(QKV(memory), 3))
            memory = self.norm(memory + join(y.transpose(1, 2).flatten(2)), seen)
            memory = self.norm(memory + down(F.relu(up(memory))), fed)
        read = [self.heads(maps[3](memory), 2) for maps, *_ in self.decode]
        room = (sizes.layers, batch, sizes.heads, tokens, sizes.model // sizes.heads)
        keys, values = torch.empty(room), torch.empty(room)
        for at in range(tokens):
            end = at + 1
            x = F.embedding(ids, self.E) * scale + self.wave[at:end]
            for (maps, (seen, met, fed), up, down), known, K, V in zip(self.decode, read, keys, values, strict=True):
                QKV, join, Q, _, meet = maps
                q, k, v = self.heads(QKV(x), 3)
                K[:, :, at:end], V[:, :, at:end] = k, v
                y = F.scaled_dot_product_attention(q, K[:, :, :end], V[:, :, :end])
                x = self.norm(x + join(y.transpose(1, 2).flatten(2)), seen)
                y = F.scaled_dot_product_attention(*self.heads(Q(x), 1), *known)
                x = self.norm(x + meet(y.transpose(1, 2).flatten(2)), met)
                x = self.norm(x + down(F.relu(up(x))), fed)
            ids = F.linear(x, self.logits)[:, -1].argmax(-1, keepdim=True)
            found.append(ids)
        return torch.cat(found, 1)


@dataclass(frozen=True, slots=True)
class Grouped:
    """Of a Llama: layers, depth of the stream, groups of keys, heads that share one, depth of a head, depth inside,
    vocabulary, examples in a batch; tokens behind a prompt."""

    layers: int = 4
    model: int = 512
    groups: int = 2
    sharing: int = 4
    key: int = 64
    inner: int = 1408
    vocab: int = 8192
    batch: int = 1
    prompt: int = 8
    tokens: int = 64


class GroupedLoop:
    """Of a Llama. The queries of a group are rows that look at one room of keys."""

    def __init__(self, sizes: Grouped, weights: Weights) -> None:
        self.sizes, self.E = sizes, weights["E.weight"]
        self.layers = []
        for layer in range(sizes.layers):
            at = f"layers.{layer}."
            self.layers.append((
                weights[f"{at}see.weight"], Map(weights, *(f"{at}self.{part}" for part in "QKV")),
                Map(weights, f"{at}self.O"), weights[f"{at}feed.weight"],
                Map(weights, f"{at}swiglu.gate", f"{at}swiglu.up"), Map(weights, f"{at}swiglu.down"),
            ))  # fmt: skip
        self.last, self.logits = weights["last.weight"], Map(weights, "logits")
        angle = torch.arange(1024)[:, None] / 500_000 ** (torch.arange(0, sizes.key, 2).double() / sizes.key)
        self.cos, self.sin = angle.cos().float().repeat(1, 2), angle.sin().float().repeat(1, 2)
        self.sin[:, : sizes.key // 2] *= -1

    @torch.inference_mode()
    def __call__(self, ids: Tensor, tokens: int) -> Tensor:
        sizes, batch, at, found = self.sizes, ids.shape[0], 0, []
        groups, sharing, key = sizes.groups, sizes.sharing, sizes.key
        heads, depth = groups * sharing, (sizes.model,)
        room = (sizes.layers, batch, groups, ids.shape[1] + tokens, key)
        keys, values = torch.empty(room), torch.empty(room)
        for _ in range(tokens):
            width = ids.shape[1]
            end = at + width
            cos, sin = self.cos[at:end, None], self.sin[at:end, None]
            x = F.embedding(ids, self.E)
            for (see, QKV, join, feed, gate_up, down), K, V in zip(self.layers, keys, values, strict=True):
                made = QKV(F.rms_norm(x, depth, see, 1e-5)).view(batch, width, heads + 2 * groups, key)
                turned, v = made.split([heads + groups, groups], 2)
                turned = turned * cos + turned.roll(key // 2, -1) * sin
                q, k = turned.split([heads, groups], 2)
                K[:, :, at:end], V[:, :, at:end] = k.transpose(1, 2), v.transpose(1, 2)
                if width == 1:
                    seen = F.scaled_dot_product_attention(
                        q.view(batch, groups, sharing, key), K[:, :, :end], V[:, :, :end]
                    )
                else:
                    seen = F.scaled_dot_product_attention(
                        q.transpose(1, 2), K[:, :, :end], V[:, :, :end], is_causal=True, enable_gqa=True
                    ).transpose(1, 2)
                x = x + join(seen.reshape(batch, width, -1))
                gate, up = gate_up(F.rms_norm(x, depth, feed, 1e-5)).chunk(2, -1)
                x = x + down(F.silu(gate) * up)
            at = end
            ids = self.logits(F.rms_norm(x[:, -1:], depth, self.last, 1e-5))[:, -1].argmax(-1, keepdim=True)
            found.append(ids)
        return torch.cat(found, 1)


Kept = tuple[Tensor, Tensor]


class CachedAttention(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.heads = sizes.heads
        self.c_attn, self.c_proj = nn.Linear(sizes.model, 3 * sizes.model), nn.Linear(sizes.model, sizes.model)

    def forward(self, x: Tensor, past: Kept | None) -> tuple[Tensor, Kept]:
        batch, width, model = x.size()
        q, k, v = (
            part.view(batch, width, self.heads, model // self.heads).transpose(1, 2)
            for part in self.c_attn(x).split(model, dim=2)
        )
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=past is None)
        return self.c_proj(y.transpose(1, 2).contiguous().view(batch, width, model)), (k, v)


class CachedFeed(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.c_fc, self.c_proj = nn.Linear(sizes.model, 4 * sizes.model), nn.Linear(4 * sizes.model, sizes.model)
        self.gelu = nn.GELU()

    def forward(self, x: Tensor) -> Tensor:
        return self.c_proj(self.gelu(self.c_fc(x)))


class CachedLayer(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(sizes.model), CachedAttention(sizes)
        self.ln_2, self.mlp = nn.LayerNorm(sizes.model), CachedFeed(sizes)

    def forward(self, x: Tensor, past: Kept | None) -> tuple[Tensor, Kept]:
        seen, kept = self.attn(self.ln_1(x), past)
        x = x + seen
        return x + self.mlp(self.ln_2(x)), kept


class Cached(nn.Module):
    def __init__(self, sizes: Sizes, weights: dict[str, Tensor]) -> None:
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(sizes.vocab, sizes.model), "wpe": nn.Embedding(1024, sizes.model),
            "h": nn.ModuleList(CachedLayer(sizes) for _ in range(sizes.layers)), "ln_f": nn.LayerNorm(sizes.model),
        })  # fmt: skip
        self.lm_head = nn.Linear(sizes.model, sizes.vocab, bias=False)
        self.lm_head.weight = self.transformer["wte"].weight
        self.load_state_dict(gpt2_names(sizes, weights))

    def forward(self, ids: Tensor, past: list[Kept] | None) -> tuple[Tensor, list[Kept]]:
        start = past[0][0].size(2) if past else 0
        place = torch.arange(start, start + ids.size(1), device=ids.device)
        x = self.transformer["wte"](ids) + self.transformer["wpe"](place)
        kept = []
        for number, layer in enumerate(self.transformer["h"]):
            x, one = layer(x, past[number] if past else None)
            kept.append(one)
        return self.lm_head(self.transformer["ln_f"](x)[:, [-1]]), kept

    @torch.inference_mode()
    def generate(self, ids: Tensor, tokens: int) -> Tensor:
        past, new = None, ids
        for _ in range(tokens):
            logits, past = self(new, past)
            new = logits[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, new], dim=1)
        return ids[:, -tokens:]
