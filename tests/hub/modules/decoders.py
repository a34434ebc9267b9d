"""Decoders: one stream of items, each of which sees its own past."""

import math

import torch
from torch import nn
from torch.nn import functional as F

VOCAB, LONGEST = 50, 24


# -- one fused map, learned positions, a tied head, biases or none --------------------------------------------------


class OptionalBiasNorm(nn.Module):
    def __init__(self, size, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class FusedAttention(nn.Module):
    def __init__(self, size, heads, bias):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(size, 3 * size, bias=bias), nn.Linear(size, size, bias=bias)
        self.n_head, self.drop = heads, nn.Dropout(0.1)

    def forward(self, x):
        batch, count, size = x.shape
        parts = self.c_attn(x).split(size, dim=2)
        q, k, v = (part.view(batch, count, self.n_head, -1).transpose(1, 2) for part in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.drop(self.c_proj(y.transpose(1, 2).contiguous().view(batch, count, size)))


class FusedBlock(nn.Module):
    def __init__(self, size, heads, bias):
        super().__init__()
        self.ln_1, self.attn = OptionalBiasNorm(size, bias), FusedAttention(size, heads, bias)
        self.ln_2 = OptionalBiasNorm(size, bias)
        self.mlp = nn.ModuleDict(
            {"c_fc": nn.Linear(size, 4 * size, bias=bias), "c_proj": nn.Linear(4 * size, size, bias=bias)}
        )

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp["c_proj"](F.gelu(self.mlp["c_fc"](self.ln_2(x))))


class Fused(nn.Module):
    def __init__(self, bias=False, size=32, heads=4):
        super().__init__()
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(VOCAB, size),
                "wpe": nn.Embedding(LONGEST, size),
                "h": nn.ModuleList([FusedBlock(size, heads, bias) for _ in range(3)]),
                "ln_f": OptionalBiasNorm(size, bias),
            }
        )
        self.lm_head = nn.Linear(size, VOCAB, bias=False)
        self.lm_head.weight = self.transformer["wte"].weight

    def forward(self, idx, targets=None):
        x = self.transformer["wte"](idx) + self.transformer["wpe"](torch.arange(idx.shape[1]))
        for block in self.transformer["h"]:
            x = block(x)
        x = self.transformer["ln_f"](x)
        return (self.lm_head(x) if targets is not None else self.lm_head(x[:, [-1], :])), None


def fused():
    return Fused()


def fused_biased():
    return Fused(bias=True)


# -- maps apart, keys first, a mask in a buffer, parts beside each other --------------------------------------------


class Apart(nn.Module):
    """`scores` may be changed before the softmax."""

    def __init__(self, size, heads):
        super().__init__()
        self.key, self.query, self.value, self.proj = (nn.Linear(size, size) for _ in range(4))
        self.heads = heads
        self.register_buffer("mask", torch.tril(torch.ones(LONGEST, LONGEST))[None, None])

    def scores(self, q, k):
        return q @ k.transpose(-2, -1) / math.sqrt(k.shape[-1])

    def forward(self, x):
        batch, count, size = x.shape
        k, q, v = (
            one(x).view(batch, count, self.heads, -1).transpose(1, 2) for one in (self.key, self.query, self.value)
        )
        scores = self.scores(q, k).masked_fill(self.mask[:, :, :count, :count] == 0, float("-inf"))
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, count, size))


class ApartBlock(nn.Module):
    attention, act = Apart, staticmethod(F.gelu)

    def __init__(self, size=24, heads=3):
        super().__init__()
        self.ln1, self.ln2, self.attn = nn.LayerNorm(size), nn.LayerNorm(size), self.attention(size, heads)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.down(self.act(self.up(self.ln2(x))))


class Separate(nn.Module):
    block = ApartBlock

    def __init__(self, size=24):
        super().__init__()
        self.tok_emb, self.pos_emb = nn.Embedding(VOCAB, size), nn.Parameter(torch.zeros(1, LONGEST, size))
        self.blocks = nn.Sequential(*(self.block() for _ in range(2)))
        self.ln_f, self.head = nn.LayerNorm(size), nn.Linear(size, VOCAB, bias=False)

    def forward(self, idx):
        return self.head(self.ln_f(self.blocks(self.tok_emb(idx) + self.pos_emb[:, : idx.shape[1]])))


class BesideBlock(ApartBlock):
    def forward(self, x):
        y = self.ln1(x)
        return x + self.attn(y) + 0.5 * self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))


class Beside(Separate):
    block = BesideBlock


class Unscaled(Apart):
    def scores(self, q, k):
        return q @ k.transpose(-2, -1)


class UnscaledBlock(ApartBlock):
    attention, act = Unscaled, staticmethod(lambda x: F.relu(x) ** 2)


class UnscaledScores(Separate):
    block = UnscaledBlock


class SlantedScores(Apart):
    """ALiBi, as BLOOM has it: by the place of the key alone, which a softmax cannot tell from the distance."""

    def scores(self, q, k):
        slopes = torch.tensor([2**-4, 2**-8, 2**-2], dtype=q.dtype)  # of three heads
        return super().scores(q, k) + slopes[:, None, None] * torch.arange(k.shape[-2])


class SlantedBlock(ApartBlock):
    attention = SlantedScores


class Slanted(Separate):
    block = SlantedBlock


# -- a module for each head -----------------------------------------------------------------------------------------


class Head(nn.Module):
    def __init__(self, size, key):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(size, key, bias=False) for _ in range(3))

    def forward(self, x):
        q, k = self.query(x), self.key(x)
        seen = torch.ones(x.shape[1], x.shape[1]).tril() == 0
        return ((q @ k.mT) * k.shape[-1] ** -0.5).masked_fill(seen, float("-inf")).softmax(-1) @ self.value(x)


class Heads(nn.Module):
    def __init__(self, size, count):
        super().__init__()
        self.heads = nn.ModuleList([Head(size, size // count) for _ in range(count)])
        self.proj = nn.Linear(size, size)

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))


class HeadsBlock(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.sa, self.ln1, self.ln2 = Heads(size, heads), nn.LayerNorm(size), nn.LayerNorm(size)
        self.net = nn.Sequential(nn.Linear(size, 4 * size), nn.ReLU(), nn.Linear(4 * size, size), nn.Dropout(0.2))

    def forward(self, x):
        x = x + self.sa(self.ln1(x))
        return x + self.net(self.ln2(x))


class HeadModules(nn.Module):
    def __init__(self, size=16, heads=4):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCAB, size), nn.Embedding(LONGEST, size)
        self.blocks = nn.Sequential(*(HeadsBlock(size, heads) for _ in range(2)))
        self.ln_f, self.lm_head = nn.LayerNorm(size), nn.Linear(size, VOCAB)

    def forward(self, idx):
        x = self.tokens(idx) + self.places(torch.arange(idx.shape[1]))
        return self.lm_head(self.ln_f(self.blocks(x)))


# -- RMS norms, rotary positions as complex numbers, grouped queries, a gate, numbers cast to float32 -----------------


class RMS(nn.Module):
    def __init__(self, size, eps=1e-6):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(size))

    def forward(self, x):
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight


def turned(x, wheel):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * wheel[None, :, None]).flatten(3).type_as(x)


class GroupedAttention(nn.Module):
    def __init__(self, size, heads, groups):
        super().__init__()
        key = size // heads
        self.heads, self.groups = heads, groups
        self.wq, self.wo = nn.Linear(size, size, bias=False), nn.Linear(size, size, bias=False)
        self.wk, self.wv = nn.Linear(size, groups * key, bias=False), nn.Linear(size, groups * key, bias=False)

    def forward(self, x, wheel, mask):
        batch, count, _ = x.shape
        q = turned(self.wq(x).view(batch, count, self.heads, -1), wheel).transpose(1, 2)
        k = turned(self.wk(x).view(batch, count, self.groups, -1), wheel).transpose(1, 2)
        v = self.wv(x).view(batch, count, self.groups, -1).transpose(1, 2)
        k, v = (one.repeat_interleave(self.heads // self.groups, dim=1) for one in (k, v))
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1]) + mask
        return self.wo((scores.float().softmax(-1).type_as(q) @ v).transpose(1, 2).reshape(batch, count, -1))


class GatedBlock(nn.Module):
    def __init__(self, size, heads, groups):
        super().__init__()
        self.attention, self.attention_norm, self.ffn_norm = (
            GroupedAttention(size, heads, groups),
            RMS(size),
            RMS(size),
        )
        self.w1, self.w3 = nn.Linear(size, 3 * size, bias=False), nn.Linear(size, 3 * size, bias=False)
        self.w2 = nn.Linear(3 * size, size, bias=False)

    def forward(self, x, wheel, mask):
        x = x + self.attention(self.attention_norm(x), wheel, mask)
        y = self.ffn_norm(x)
        return x + self.w2(F.silu(self.w1(y)) * self.w3(y))


class Grouped(nn.Module):
    def __init__(self, size=32, heads=4, groups=2, theta=50000.0):
        super().__init__()
        self.tok_embeddings = nn.Embedding(VOCAB, size)
        self.layers = nn.ModuleList([GatedBlock(size, heads, groups) for _ in range(2)])
        self.norm, self.output = RMS(size), nn.Linear(size, VOCAB, bias=False)
        key = size // heads
        rates = theta ** (-torch.arange(0, key, 2).float() / key)
        angle = torch.outer(torch.arange(64).float(), rates)
        self.wheel = torch.polar(torch.ones_like(angle), angle)

    def forward(self, tokens):
        count = tokens.shape[1]
        x, mask = self.tok_embeddings(tokens), torch.full((count, count), float("-inf")).triu(1)
        for layer in self.layers:
            x = layer(x, self.wheel[:count], mask)
        return self.output(self.norm(x)).float()


# -- weights stored (in, out), one map for keys and values, rotary positions in halves, norms of queries and keys -----


class StoredInOut(nn.Module):
    def __init__(self, given, made):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(given, made) * 0.02), nn.Parameter(torch.zeros(made))

    def forward(self, x):
        return torch.addmm(self.bias, x.reshape(-1, x.shape[-1]), self.weight).view(*x.shape[:-1], -1)


def rotated(x, part):
    head, rest = x[..., :part], x[..., part:]
    rates = 10000 ** (-torch.arange(0, part, 2, dtype=x.dtype) / part)
    angle = torch.outer(torch.arange(x.shape[-2], dtype=x.dtype), rates).repeat(1, 2)
    a, b = head.chunk(2, dim=-1)
    return torch.cat([head * angle.cos() + torch.cat([-b, a], -1) * angle.sin(), rest], -1)


class HalvesAttention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads, self.to_q, self.to_kv = heads, StoredInOut(size, size), StoredInOut(size, 2 * size)
        self.q_norm, self.k_norm = nn.LayerNorm(size // heads), nn.LayerNorm(size // heads)
        self.to_out = StoredInOut(size, size)

    def forward(self, x):
        q, k, v = (
            one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in (self.to_q(x), *self.to_kv(x).chunk(2, -1))
        )
        q, k = rotated(self.q_norm(q), 4), rotated(self.k_norm(k), 4)
        scores = torch.einsum("bhid,bhjd->bhij", q, k) * q.shape[-1] ** -0.5
        near = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril().triu(-4)
        weights = scores.masked_fill(~near, -1e9).softmax(-1)
        return self.to_out(torch.einsum("bhij,bhjd->bihd", weights, v).flatten(2))


class Halves(nn.Module):
    """A window of the past; what each part adds is scaled, by a weight and by a number."""

    def __init__(self, size=32, heads=4):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, size)
        self.norms = nn.ModuleList([nn.LayerNorm(size, elementwise_affine=False) for _ in range(5)])
        self.attends = nn.ModuleList([HalvesAttention(size, heads) for _ in range(2)])
        self.both = nn.ModuleList([StoredInOut(size, 2 * 48) for _ in range(2)])
        self.back = nn.ModuleList([StoredInOut(48, size) for _ in range(2)])
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(size)) for _ in range(2)])

    def forward(self, ids):
        x = self.embed(ids) * math.sqrt(self.embed.embedding_dim)
        for i in range(2):
            x = x + self.attends[i](self.norms[2 * i](x)) * self.scales[i]
            up, gate = self.both[i](self.norms[2 * i + 1](x)).chunk(2, dim=-1)
            x = x + 0.25 * self.back[i](up * F.gelu(gate))
        return F.linear(self.norms[4](x), self.embed.weight)
