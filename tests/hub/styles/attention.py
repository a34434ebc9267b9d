"""Attention, written in many ways."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from .drawing import Style
from .norms import norm

MAPS = ["apart", "chunk", "split", "three first", "heads first", "keys and values", "einsum", "matrices",
        "a module a head", "convolutions"]  # fmt: skip
SCORES = ["sdpa", "sdpa bool", "sdpa float", "inf", "least", "large", "added", "where", "einsum", "bmm"]
ROTARY = ["none", "halves", "interleaved", "complex"]
LONGEST = 32


def turned(how: str, x: Any, base: float, part: int) -> Any:
    """x: [batch, heads, items, key]."""
    if how == "none":
        return x
    head, rest = x[..., :part], x[..., part:]
    rates = 1.0 / (base ** (torch.arange(0, part, 2).float() / part))
    angle = torch.outer(torch.arange(x.shape[-2]).float(), rates)
    if how == "complex":
        wave = torch.polar(torch.ones_like(angle), angle)
        pairs = torch.view_as_complex(head.float().reshape(*head.shape[:-1], -1, 2))
        made = torch.view_as_real(pairs * wave).flatten(-2).type_as(x)
    elif how == "interleaved":
        a, b = head[..., ::2], head[..., 1::2]
        made = torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1).flatten(-2)
    else:
        both = torch.cat([angle, angle], -1)
        a, b = head.chunk(2, -1)
        made = head * both.cos() + torch.cat([-b, a], -1) * both.sin()
    return torch.cat([made, rest], -1)


def slopes(heads: int) -> Any:
    most = 2 ** math.floor(math.log2(heads))
    first = [2 ** (-8 * (i + 1) / most) for i in range(most)]
    return torch.tensor(first + [2 ** (-4 * (2 * i + 1) / most) for i in range(heads - most)])


class Attention(nn.Module):
    """forward(x, memory): [batch, items, size]. causal: each item sees its past."""

    def __init__(self, style: Style, size: int, causal: bool, cross: bool = False, odd: str = "") -> None:
        super().__init__()
        self.style, self.causal, self.cross, self.odd = style, causal, cross, odd
        self.heads, self.key = style.heads, style.key
        self.maps = "apart" if cross and style.maps not in ("apart", "einsum", "matrices") else style.maps
        self.groups = style.groups if self.maps in ("apart", "split", "keys and values") else self.heads
        bias, inner, few = style.bias, self.heads * self.key, self.groups * self.key
        self.draw_maps(size, inner, few, bias)
        self.out = nn.Linear(inner, size, bias=style.out_bias)
        if style.qk_norm != "none":
            of = self.key if style.qk_norm == "head" else 0
            kind = style.norm if style.qk_norm == "head" else "hand rms"
            self.q_norm, self.k_norm = norm(style, of or inner, kind), norm(style, of or few, kind)
        self.register_buffer("tril", torch.tril(torch.ones(LONGEST, LONGEST)).bool(), persistent=style.persistent)
        self.drop = nn.Dropout(0.1)
        if odd == "sinks":
            self.sinks = nn.Parameter(torch.zeros(self.heads))
        if odd == "temperature":
            self.temperature = nn.Parameter(torch.ones(self.heads, 1, 1))
        if odd == "relative":
            self.relative = nn.Embedding(2 * LONGEST, self.heads)
        if odd == "gated":
            self.gate = nn.Linear(size, inner)
        if odd == "talking":
            self.talk = nn.Linear(self.heads, self.heads, bias=False)

    def draw_maps(self, size: int, inner: int, few: int, bias: bool) -> None:
        if self.maps == "apart":
            self.q, self.k, self.v = (
                nn.Linear(size, inner, bias),
                nn.Linear(size, few, bias),
                nn.Linear(size, few, bias),
            )
        elif self.maps == "convolutions":
            self.q, self.k, self.v = (nn.Conv1d(size, inner, 1, bias=bias) for _ in range(3))
        elif self.maps == "keys and values":
            self.q, self.kv = nn.Linear(size, inner, bias), nn.Linear(size, 2 * few, bias)
        elif self.maps == "einsum":
            made = [nn.Parameter(torch.randn(self.heads, size, self.key) / size**0.5) for _ in range(3)]
            self.q, self.k, self.v = made
        elif self.maps == "matrices":
            self.q, self.k, self.v = (nn.Parameter(torch.randn(size, inner) / size**0.5) for _ in range(3))
        elif self.maps == "a module a head":
            made = [nn.ModuleList(nn.Linear(size, self.key, bias) for _ in range(self.heads)) for _ in range(3)]
            self.q, self.k, self.v = made
        else:
            self.qkv = nn.Linear(size, inner + 2 * few, bias)

    def cut(self, x: Any, count: int) -> Any:
        return x.view(*x.shape[:2], count, self.key).transpose(1, 2)

    def mapped(self, x: Any, memory: Any) -> tuple[Any, Any, Any]:
        """[batch, heads, items, key] of each."""
        batch, count = x.shape[:2]
        if self.maps == "apart":
            return (
                self.cut(self.q(x), self.heads),
                self.cut(self.k(memory), self.groups),
                self.cut(self.v(memory), self.groups),
            )
        if self.maps == "convolutions":
            return tuple(
                self.cut(one(x.transpose(1, 2)).transpose(1, 2).contiguous(), self.heads)
                for one in (self.q, self.k, self.v)
            )
        if self.maps == "keys and values":
            k, v = self.kv(memory).chunk(2, dim=-1)
            return self.cut(self.q(x), self.heads), self.cut(k, self.groups), self.cut(v, self.groups)
        if self.maps == "einsum":
            return tuple(
                torch.einsum("bnd,hdk->bhnk", y, w) for y, w in ((x, self.q), (memory, self.k), (memory, self.v))
            )
        if self.maps == "matrices":
            return tuple(self.cut(y @ w, self.heads) for y, w in ((x, self.q), (memory, self.k), (memory, self.v)))
        if self.maps == "a module a head":
            return tuple(torch.stack([one(x) for one in some], 1) for some in (self.q, self.k, self.v))
        made = self.qkv(x)
        if self.maps == "chunk":
            return tuple(self.cut(one, self.heads) for one in made.chunk(3, dim=-1))
        if self.maps == "split":
            sizes = [self.heads * self.key, self.groups * self.key, self.groups * self.key]
            return tuple(
                self.cut(one, n)
                for one, n in zip(made.split(sizes, -1), (self.heads, self.groups, self.groups), strict=True)
            )
        if self.maps == "three first":
            return tuple(made.view(batch, count, 3, self.heads, self.key).permute(2, 0, 3, 1, 4))
        return tuple(made.view(batch, count, self.heads, 3, self.key).permute(3, 0, 2, 1, 4))

    def normed(self, q: Any, k: Any) -> tuple[Any, Any]:
        if self.style.qk_norm == "head":
            return self.q_norm(q), self.k_norm(k)
        if self.style.qk_norm == "all":

            def whole(x: Any, by: Any) -> Any:
                batch, heads, count, key = x.shape
                return by(x.transpose(1, 2).reshape(batch, count, -1)).view(batch, count, heads, key).transpose(1, 2)

            return whole(q, self.q_norm), whole(k, self.k_norm)
        return q, k

    def forward(self, x: Any, memory: Any = None) -> Any:
        batch, count, _ = x.shape
        q, k, v = self.mapped(x, x if memory is None else memory)
        q, k = self.normed(q, k)
        if memory is None:
            how, base, part = self.style.rotary, self.style.base, self.style.part
            q, k = turned(how, q, base, part), turned(how, k, base, part)
        if self.groups != self.heads:
            many = self.heads // self.groups
            if self.style.spread == "expand":
                k, v = (
                    one[:, :, None].expand(-1, -1, many, -1, -1).reshape(batch, self.heads, -1, self.key)
                    for one in (k, v)
                )
            else:
                k, v = k.repeat_interleave(many, 1), v.repeat_interleave(many, 1)
        y = self.attend(q, k, v)
        y = y.transpose(1, 2).reshape(batch, count, -1)
        if self.odd == "gated":
            y = y * torch.sigmoid(self.gate(x))
        return self.drop(self.out(y))

    def attend(self, q: Any, k: Any, v: Any) -> Any:
        how, scale = self.style.scores, self.style.scale
        number = {"root": self.key**-0.5, "none": 1.0, "own": 0.21, "before": self.key**-0.5}[scale]
        seen = self.seen(q.shape[-2], k.shape[-2])
        bias = self.bias(q, k)
        if how.startswith("sdpa") and not self.odd and bias is None:
            return self.library(q, k, v, number, seen)
        if scale == "before":
            q, number = q * number, 1.0
        if how == "einsum":
            scores = torch.einsum("bhik,bhjk->bhij", q, k) * number
        elif how == "bmm":
            flat = [one.reshape(-1, *one.shape[2:]) for one in (q, k)]
            scores = torch.bmm(flat[0], flat[1].mT).view(*q.shape[:3], -1) * number
        else:
            scores = (q @ k.transpose(-2, -1)) * number
        if bias is not None:
            scores = scores + bias
        if self.odd == "capped":
            scores = 5 * torch.tanh(scores / 5)
        if self.odd == "temperature":
            scores = scores * self.temperature
        scores = self.masked(scores, seen)
        if self.odd == "talking":
            scores = self.talk(scores.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
            scores = self.masked(scores, seen)
        weights = self.softmax(scores)
        if how == "einsum":
            return torch.einsum("bhij,bhjk->bhik", self.drop(weights), v)
        return self.drop(weights) @ v

    def library(self, q: Any, k: Any, v: Any, number: float, seen: Any) -> Any:
        given = {} if self.style.scale in ("root", "before") else {"scale": number}
        if seen is None:
            return F.scaled_dot_product_attention(q, k, v, **given)
        if self.style.scores == "sdpa" and self.window is None:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, **given)
        if self.style.scores == "sdpa float":
            seen = torch.zeros(seen.shape, dtype=q.dtype).masked_fill(~seen, float("-inf"))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen, **given)

    @property
    def window(self) -> int | None:
        return self.style.window if self.causal and not self.cross else None

    def seen(self, queries: int, keys: int) -> Any:
        if not self.causal or self.cross:
            return None
        past = self.tril[:queries, :keys]
        if self.window is not None:
            past = past & ~torch.tril(torch.ones(queries, keys), -self.window).bool()
        return past

    def bias(self, q: Any, k: Any) -> Any:
        if self.cross:
            return None
        apart = torch.arange(k.shape[-2])[None, :] - torch.arange(q.shape[-2])[:, None]
        if self.odd == "relative":
            return self.relative(apart + LONGEST).permute(2, 0, 1)
        if self.style.places == "alibi" and self.causal:
            return (slopes(self.heads)[:, None, None] * apart).to(q.dtype)
        return None

    def masked(self, scores: Any, seen: Any) -> Any:
        if seen is None:
            return scores
        how = self.style.scores
        if how in ("least", "bmm"):
            return scores.masked_fill(~seen, torch.finfo(scores.dtype).min)
        if how == "large":
            return scores.masked_fill(seen == 0, -1e9)
        if how == "added":
            return scores + torch.where(seen, 0.0, -1e10).to(scores.dtype)
        if how == "where":
            return torch.where(seen, scores, torch.tensor(float("-inf"), dtype=scores.dtype))
        return scores.masked_fill(~seen, float("-inf"))

    def softmax(self, scores: Any) -> Any:
        if self.odd == "sinks":
            sinks = self.sinks.view(1, -1, 1, 1).expand(scores.shape[0], -1, scores.shape[2], 1)
            return torch.cat([scores, sinks], -1).softmax(-1)[..., :-1]
        if self.style.softmax == "float":
            return F.softmax(scores, dim=-1, dtype=torch.float32).to(scores.dtype)
        if self.style.softmax == "hand":
            up = torch.exp(scores - scores.max(-1, keepdim=True).values)
            return up / up.sum(-1, keepdim=True)
        return scores.softmax(dim=-1)
