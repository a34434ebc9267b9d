"""An encoder-decoder as tutorials write it: attention by hand, a module for each idea, no cache."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class Attention(nn.Module):
    """Multi-head attention (Vaswani et al. 2017, section 3.2): scores, a mask filled in, softmax, a sum."""

    def __init__(self, model: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.Q, self.K, self.V, self.O = (nn.Linear(model, model, bias=False) for _ in range(4))

    def forward(self, queries: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        batch, _, model = queries.shape
        q, k, v = (
            layer(x).view(batch, -1, self.heads, model // self.heads).transpose(1, 2)
            for layer, x in ((self.Q, queries), (self.K, memory), (self.V, memory))
        )
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        seen = torch.matmul(scores.softmax(dim=-1), v)
        return self.O(seen.transpose(1, 2).contiguous().view(batch, -1, model))


class FeedForward(nn.Module):
    def __init__(self, model: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(model, 4 * model), nn.Linear(4 * model, model)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.up(x).relu())


class Norm(nn.Module):
    """Layer normalisation, written out."""

    def __init__(self, model: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(model)), nn.Parameter(torch.zeros(model))

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(-1, keepdim=True)
        variance = x.var(-1, keepdim=True, unbiased=False)
        return self.weight * (x - mean) / torch.sqrt(variance + 1e-5) + self.bias


class EncoderLayer(nn.Module):
    def __init__(self, model: int, heads: int) -> None:
        super().__init__()
        self.self, self.feed_forward = Attention(model, heads), FeedForward(model)
        self.seen, self.fed = Norm(model), Norm(model)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        x = self.seen(x + self.self(x, x, mask))
        return self.fed(x + self.feed_forward(x))


class DecoderLayer(nn.Module):
    def __init__(self, model: int, heads: int) -> None:
        super().__init__()
        self.self, self.cross = Attention(model, heads), Attention(model, heads)
        self.feed_forward = FeedForward(model)
        self.seen, self.read, self.fed = Norm(model), Norm(model), Norm(model)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor, real: Tensor | None) -> Tensor:
        x = self.seen(x + self.self(x, x, mask))
        x = self.read(x + self.cross(x, memory, real))
        return self.fed(x + self.feed_forward(x))


class Annotated(nn.Module):
    """Logits [batch, target, vocab] of ids [batch, source] and [batch, target]; real [batch, source]: no padding."""

    wave: Tensor

    def __init__(self, layers: int, model: int, heads: int, vocab: int, wave: Tensor) -> None:
        super().__init__()
        self.E = nn.Parameter(torch.empty(vocab, model).normal_(std=0.044))
        self.register_buffer("wave", wave, persistent=False)
        self.encode = nn.ModuleList(EncoderLayer(model, heads) for _ in range(layers))
        self.decode = nn.ModuleList(DecoderLayer(model, heads) for _ in range(layers))

    def place(self, ids: Tensor) -> Tensor:
        return self.E[ids] * math.sqrt(self.E.shape[1]) + self.wave[: ids.shape[1]]

    def encoder(self, source: Tensor, real: Tensor | None) -> Tensor:
        x = self.place(source)
        for layer in self.encode:
            x = layer(x, real)
        return x

    def decoder(self, target: Tensor, memory: Tensor, real: Tensor | None) -> Tensor:
        width = target.shape[1]
        mask = torch.tril(torch.ones(1, 1, width, width))
        x = self.place(target)
        for layer in self.decode:
            x = layer(x, memory, mask, real)
        return x @ self.E.T

    def forward(self, source: Tensor, target: Tensor, real: Tensor | None = None) -> Tensor:
        real = None if real is None else real[:, None, None]
        return self.decoder(target, self.encoder(source, real), real)
