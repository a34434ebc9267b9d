"""Blocks, and what stands before and behind a stack of them."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from .attention import LONGEST, Attention
from .drawing import Style, hidden
from .norms import norm

VOCAB = 41
ACTS: dict[str, Callable[[Any], Any]] = {
    "gelu": F.gelu, "gelu module": nn.GELU(), "tanh gelu": lambda x: F.gelu(x, approximate="tanh"),
    "new gelu": lambda x: 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0)))),
    "relu": F.relu, "silu": F.silu, "swish": lambda x: x * torch.sigmoid(x), "squared": lambda x: F.relu(x).pow(2),
    "quick": lambda x: x * torch.sigmoid(1.702 * x), "mish": F.mish, "leaky": lambda x: F.leaky_relu(x, 0.5).square(),
    "erf": lambda x: x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0))),
}  # fmt: skip


class Feed(nn.Module):
    def __init__(self, style: Style, size: int) -> None:
        super().__init__()
        self.style, bias, inner = style, style.feed_bias, style.inner
        self.act = ACTS[style.act]
        if style.gate == "fused":
            self.both = nn.Linear(size, 2 * inner, bias)
        else:
            self.up = nn.Linear(size, inner, bias)
        if style.gate == "apart":
            self.gate = nn.Linear(size, inner, bias)
        self.down = nn.Linear(inner, size, bias)

    def forward(self, x: Any) -> Any:
        if self.style.gate == "fused":
            a, b = self.both(x).chunk(2, -1)
            return self.down(self.act(a) * b)
        if self.style.gate == "apart":
            return self.down(self.act(self.gate(x)) * self.up(x))
        return self.down(self.act(self.up(x)))


class Experts(nn.Module):
    def __init__(self, style: Style, size: int) -> None:
        super().__init__()
        self.router, self.every = nn.Linear(size, 3), nn.ModuleList(Feed(style, size) for _ in range(3))

    def forward(self, x: Any) -> Any:
        weights, chosen = self.router(x).softmax(-1).topk(2, -1)
        made = torch.stack([one(x) for one in self.every], -2)
        picked = made.gather(-2, chosen[..., None].expand(*chosen.shape, x.shape[-1]))
        return (picked * weights[..., None]).sum(-2)


class Block(nn.Module):
    """One layer, with attention to a memory or without."""

    def __init__(self, style: Style, size: int, causal: bool, cross: bool = False, odd: str = "") -> None:
        super().__init__()
        self.style, self.cross = style, cross
        self.attn = Attention(style, size, causal, odd=odd)
        self.feed = Experts(style, size) if odd == "experts" else Feed(style, size)
        self.first, self.second = norm(style, size), norm(style, size)
        if cross:
            self.memory, self.third = Attention(style, size, False, True), norm(style, size)
        if style.form == "sandwich":
            self.behind = nn.ModuleList(norm(style, size) for _ in range(3 if cross else 2))
        if style.scaled == "learned":
            self.scales = nn.ParameterList(nn.Parameter(torch.full((size,), 0.1)) for _ in range(2))
        if odd == "mixed":
            self.mix = nn.Conv1d(size, size, 3, padding=2, groups=size)
        self.odd = odd
        way = style.hidden
        self.fed: Any = self.feed if way == "none" else hidden(way, _fed, self.feed)
        self.kept = hidden(way, _mixed, self.attn) if way != "none" and style.form in ("pre", "post") else self.attn

    def add(self, x: Any, y: Any, i: int) -> Any:
        if self.style.scaled == "learned" and i < 2:
            y = y * self.scales[i]
        if self.style.scaled == "stream":
            return 1.3 * x + y
        return x + (0.5 * y if self.style.scaled == "number" else y)

    def forward(self, x: Any, memory: Any = None) -> Any:
        form = self.style.form
        if self.odd == "mixed":
            x = x + self.mix(x.mT)[..., : x.shape[1]].mT
        if form == "beside":
            y = self.first(x)
            return x + self.attn(y) + self.fed(y)
        if form == "beside, two norms":
            return x + self.attn(self.first(x)) + self.fed(self.second(x))
        steps = [(self.kept, self.first), *([(self.crossed(memory), self.third)] if self.cross else [])]
        steps.append((self.fed, self.second))
        for i, (part, by) in enumerate(steps):
            at = len(steps) - 1 if i == len(steps) - 1 else i
            which = 1 if i == len(steps) - 1 else 0 if i == 0 else 2
            if form == "post":
                x = by(self.add(x, part(x), which))
            elif form == "sandwich":
                x = self.add(x, self.behind[at](part(by(x))), which)
            else:
                x = self.add(x, part(by(x)), which)
        return x

    def crossed(self, memory: Any) -> Callable[[Any], Any]:
        return lambda x: self.memory(x, memory)


def _fed(held: Any, x: Any) -> Any:
    return held(x)


def _mixed(held: Any, x: Any) -> Any:
    return held(x)


def waves(count: int, size: int) -> Any:
    place = torch.arange(count)[:, None]
    rates = torch.exp(torch.arange(0, size, 2) * (-math.log(10000.0) / size))
    made = torch.zeros(count, size)
    made[:, 0::2], made[:, 1::2] = torch.sin(place * rates), torch.cos(place * rates)
    return made


class Begin(nn.Module):
    """From ids, vectors or a picture to [batch, items, size]."""

    def __init__(self, style: Style, size: int) -> None:
        super().__init__()
        self.style, self.size = style, size
        if style.given == "picture":
            if style.patches == "convolution":
                self.patch: Any = nn.Conv2d(3, size, 4, 4)
            else:
                self.patch = nn.Linear(48, size)
            if style.token:
                self.token = nn.Parameter(torch.zeros(1, 1, size))
        elif style.given == "ids":
            self.table = nn.Embedding(VOCAB, size)
        elif style.given == "wide vectors":
            self.enter = nn.Linear(7, size)
        if style.places == "learned":
            rows = 4 + style.token if style.given == "picture" else LONGEST
            self.places: Any = (
                nn.Parameter(torch.zeros(1, rows, size)) if style.table == "parameter" else nn.Embedding(rows, size)
            )
        elif style.places == "waves":
            if style.table == "parameter":
                self.register_buffer("wave", waves(LONGEST, size))
            else:
                self.wave = waves(LONGEST, size)
        if style.first_norm:
            self.norm = norm(style, size)

    def forward(self, x: Any) -> Any:
        style = self.style
        if style.given == "picture":
            if style.patches == "convolution":
                x = self.patch(x).flatten(2).transpose(1, 2)
            else:
                batch = x.shape[0]
                x = x.reshape(batch, 3, 2, 4, 2, 4).permute(0, 2, 4, 3, 5, 1).reshape(batch, 4, 48)
                x = self.patch(x)
            if style.token:
                x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1)
        elif style.given == "ids":
            x = self.table(x)
            if style.table_scale:
                x = x * math.sqrt(self.size)
        elif style.given == "wide vectors":
            x = self.enter(x)
        if style.places == "learned":
            count = x.shape[1]
            x = x + (self.places[:, :count] if style.table == "parameter" else self.places(torch.arange(count)))
        elif style.places == "waves":
            x = x + self.wave[: x.shape[1]]
        return self.norm(x) if style.first_norm else x


@dataclass
class Answer:
    logits: Any
    loss: Any = None


Named = namedtuple("Named", ["hidden", "logits"])


class Whole(nn.Module):
    """One stack."""

    def __init__(self, style: Style, size: int) -> None:
        super().__init__()
        self.style = style
        self.begin = Begin(style, size)
        self.layers = nn.ModuleList(block(style, size, i) for i in range(style.layers))
        if style.odd == "shared":
            self.layers = nn.ModuleList([self.layers[0]] * 2)
        self.norm = norm(style, size) if style.last_norm else nn.Identity()
        tied = style.head == "tied" and style.given == "ids" and not style.pool
        if style.head != "none":
            self.head: Any = nn.Linear(size, VOCAB if style.given == "ids" else 5, style.head_bias)
        if tied:
            self.head.weight = self.begin.table.weight
        way = style.hidden
        self.finish: Any = self.finished if way == "none" else hidden(way, Whole.finished, self)

    def finished(self, x: Any) -> Any:
        style = self.style
        x = self.norm(x)
        if style.pool:
            x = {"mean": lambda: x.mean(1), "first": lambda: x[:, 0], "last": lambda: x[:, -1]}[style.pool]()
        if style.tail == "last item":
            x = x[:, [-1]]
        y = x if style.head == "none" else self.head(x)
        if style.odd == "capped logits":
            y = 9 * torch.tanh(y / 9)
        return y, x

    def forward(self, x: Any) -> Any:
        style = self.style
        x = x.transpose(0, 1) if style.items_first and style.given != "picture" else x
        x = self.begin(x)
        for layer in self.layers:
            x = layer(x)
        y, hidden_x = self.finish(x)
        if style.items_first and y.ndim == 3 and style.given != "picture":
            y = y.transpose(0, 1)
        tail = style.tail
        if tail == "probabilities":
            return y.log_softmax(-1)
        if tail == "flat":
            return y.reshape(-1, y.shape[-1])
        made = {"tuple": lambda: (y, None), "dict": lambda: {"logits": y, "loss": None}, "data": lambda: Answer(y),
                "named": lambda: Named(hidden_x, y)}  # fmt: skip
        return made.get(tail, lambda: y)()


def block(style: Style, size: int, i: int) -> nn.Module:
    odd = style.odd
    if odd == "alternating":
        told = dict(style.told)
        style = Style(0)
        style.told = {**told, "window": 3 if i % 2 else None}
        odd = ""
    if odd == "unlike" and i == 1:
        told = dict(style.told)
        style = Style(0)
        style.told = {**told, "inner": style.told.get("inner", 0) or told["inner"] + 8}
        odd = ""
    return Block(style, size, style.causal, odd=odd)


class Pair(nn.Module):
    """An encoder and a decoder."""

    def __init__(self, style: Style, size: int) -> None:
        super().__init__()
        self.style = style
        self.begin, self.begin_too = Begin(style, size), Begin(style, size)
        if style.given == "ids" and style.head == "tied":
            self.begin_too.table = self.begin.table
        self.encoder = nn.ModuleList(Block(style, size, False) for _ in range(style.layers))
        self.decoder = nn.ModuleList(Block(style, size, True, True) for _ in range(style.layers))
        self.norms = nn.ModuleList(norm(style, size) if style.last_norm else nn.Identity() for _ in range(2))
        self.head = nn.Linear(size, VOCAB, style.head_bias)

    def forward(self, src: Any, tgt: Any) -> Any:
        memory, x = self.begin(src), self.begin_too(tgt)
        for layer in self.encoder:
            memory = layer(memory)
        memory = self.norms[0](memory)
        for layer in self.decoder:
            x = layer(x, memory)
        y = self.head(self.norms[1](x))
        return {"logits": y} if self.style.tail == "dict" else (y, memory) if self.style.tail == "tuple" else y
