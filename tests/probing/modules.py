"""Modules that leak and modules that do not, written by hand."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH = 6


class Attention(nn.Module):
    """Attention of one head: `allowed(query, key)` says who sees whom; `real` hides padding."""

    def __init__(self, allowed: Callable[[Tensor, Tensor], Tensor], hide: bool = True) -> None:
        super().__init__()
        self.maps = nn.Linear(WIDTH, 3 * WIDTH)
        self.allowed = allowed
        self.hide = hide

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        query, key, value = self.maps(x).chunk(3, -1)
        places = torch.arange(x.shape[1])
        mask = self.allowed(places[:, None], places[None, :]).expand(len(x), -1, -1)
        if real is not None and self.hide:
            mask = mask & real[:, None, :].bool()
        scores = query @ key.mT / WIDTH**0.5
        # as many do: a very small number, so that a query that sees nothing is still a number
        return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) @ value


def causal() -> Attention:
    return Attention(lambda query, key: key <= query)


def one_further() -> Attention:
    return Attention(lambda query, key: key <= query + 1)


def turned_round() -> Attention:
    return Attention(lambda query, key: key >= query)


def same_chunk() -> Attention:
    return Attention(lambda query, key: key // 4 <= query // 4)


def all_see_all() -> Attention:
    return Attention(lambda query, key: key >= 0 * query)


class Less(nn.Module):
    """A function of the inputs, as a module."""

    def __init__(self, compute: Callable[..., object]) -> None:
        super().__init__()
        self.forward = compute  # type: ignore[method-assign]


def minus_mean(x: Tensor) -> Tensor:
    return x - x.mean(1, keepdim=True)


def running_norm(x: Tensor) -> Tensor:
    """Each item over the norm of all up to it."""
    return x / (x.square().mean(-1, keepdim=True).cumsum(1) / (1 + torch.arange(x.shape[1]))[None, :, None]).sqrt()


def over_length(x: Tensor) -> Tensor:
    return x / x.shape[1]


def causal_convolution(x: Tensor) -> Tensor:
    """By Fourier transforms, padded: rounding of later items is everywhere."""
    length = x.shape[1]
    kernel = torch.exp(-torch.arange(length) / 4).to(x)
    spectrum = torch.fft.rfft(x, n=2 * length, dim=1) * torch.fft.rfft(kernel, n=2 * length)[None, :, None]
    return torch.fft.irfft(spectrum, n=2 * length, dim=1)[:, :length]


def circular_convolution(x: Tensor) -> Tensor:
    kernel = torch.exp(-torch.arange(x.shape[1]) / 4).to(x)
    return torch.fft.irfft(torch.fft.rfft(x, dim=1) * torch.fft.rfft(kernel)[None, :, None], n=x.shape[1], dim=1)


def borrows(x: Tensor) -> Tensor:
    """Each example has a little of the one before it in the batch."""
    return x + 0.01 * x.roll(1, 0)


class Cross(nn.Module):
    """A decoder over another sequence: both have padding."""

    def __init__(self, hide: bool) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 2, batch_first=True)
        self.hide = hide

    def forward(self, target: Tensor, source: Tensor, source_real: Tensor) -> dict[str, Tensor]:
        hidden = ~source_real if self.hide else None
        seen, _ = self.attention(target, source, source, key_padding_mask=hidden)
        return {"states": seen, "pooled": seen.mean(1)}


class ZeroBranch(nn.Module):
    """A leak that a matrix of zeros hides until something is learnt."""

    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        nn.init.zeros_(self.out.weight)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.out(x.flip(1))


class Tokens(nn.Module):
    def __init__(self, mix: nn.Module) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, WIDTH)
        self.mix = mix
        self.logits = nn.Linear(WIDTH, 50)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.logits(F.layer_norm(self.mix(self.embed(tokens)), (WIDTH,)))
