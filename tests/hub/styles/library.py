"""PyTorch's own layers, in the ways that they are called."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from .drawing import Style
from .streams import VOCAB

SIZE = 24


def _options(style: Style) -> dict[str, Any]:
    act = {"gelu": F.gelu, "relu": "relu", "module": nn.GELU(), "silu": F.silu, "string": "gelu"}[style.library_act]
    return {
        "nhead": 3, "dim_feedforward": 40, "activation": act, "batch_first": not style.items_first,
        "norm_first": style.norm_first, "layer_norm_eps": style.eps, "bias": style.bias,
    }  # fmt: skip


def _mask(count: int, how: str) -> Any:
    if how == "bool":
        return torch.triu(torch.ones(count, count), 1).bool()
    return nn.Transformer.generate_square_subsequent_mask(count)


class Stack(nn.Module):
    """nn.TransformerEncoder over ids."""

    def __init__(self, style: Style) -> None:
        super().__init__()
        self.style = style
        self.table, self.places = nn.Embedding(VOCAB, SIZE), nn.Embedding(32, SIZE)
        layer = nn.TransformerEncoderLayer(SIZE, **_options(style))
        last = nn.LayerNorm(SIZE) if style.last_norm else None
        self.stack = nn.TransformerEncoder(layer, 2, norm=last, enable_nested_tensor=False)
        self.head = nn.Linear(SIZE, VOCAB)

    def forward(self, ids: Any) -> Any:
        style, count = self.style, ids.shape[1]
        x = self.table(ids) + self.places(torch.arange(count))
        x = x.transpose(0, 1) if style.items_first else x
        if style.causal:
            x = self.stack(
                x,
                mask=_mask(count, style.mask).to(x.dtype if style.mask != "bool" else torch.bool),
                is_causal=style.told_causal,
            )
        else:
            x = self.stack(x)
        return self.head(x.transpose(0, 1) if style.items_first else x)


class Two(nn.Module):
    """nn.Transformer over ids."""

    def __init__(self, style: Style) -> None:
        super().__init__()
        self.style = style
        self.source, self.target = nn.Embedding(VOCAB, SIZE), nn.Embedding(VOCAB - 3, SIZE)
        self.both = nn.Transformer(SIZE, num_encoder_layers=2, num_decoder_layers=1 + style.causal, **_options(style))
        self.head = nn.Linear(SIZE, VOCAB - 3)

    def forward(self, src: Any, tgt: Any) -> Any:
        x, y = self.source(src), self.target(tgt)
        if self.style.items_first:
            x, y = x.transpose(0, 1), y.transpose(0, 1)
        mask = _mask(tgt.shape[1], self.style.mask) if self.style.causal else None
        if mask is not None and self.style.mask != "bool":
            mask = mask.to(x.dtype)
        made = self.both(x, y, tgt_mask=mask, tgt_is_causal=self.style.told_causal if mask is not None else None)
        return self.head(made.transpose(0, 1) if self.style.items_first else made)


class Own(nn.Module):
    """nn.MultiheadAttention in a block of one's own."""

    def __init__(self, style: Style) -> None:
        super().__init__()
        self.style = style
        self.table = nn.Embedding(VOCAB, SIZE)
        self.attn = nn.ModuleList(nn.MultiheadAttention(SIZE, 3, bias=style.bias, batch_first=True) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(SIZE, eps=style.eps) for _ in range(2))
        self.feeds = nn.ModuleList(nn.Sequential(nn.Linear(SIZE, 50), nn.GELU(), nn.Linear(50, SIZE)) for _ in range(2))
        self.head = nn.Linear(SIZE, VOCAB)

    def forward(self, ids: Any) -> Any:
        x = self.table(ids)
        style = self.style
        mask = _mask(ids.shape[1], style.mask) if style.causal else None
        if mask is not None and style.mask != "bool":
            mask = mask.to(x.dtype)
        for attn, norm, feed in zip(self.attn, self.norms, self.feeds, strict=True):
            y = norm(x)
            x = x + attn(y, y, y, attn_mask=mask, need_weights=style.told_causal, is_causal=False)[0]
            x = x + feed(x)
        return self.head(x)


def plain(style: Style) -> nn.Module:
    """A layer of the library itself: vectors in, vectors out."""
    kind = style("plain", ["encoder layer", "encoder", "both", "decoder layer", "decoder", "attention"])
    options = _options(style)
    if kind == "encoder layer":
        return nn.TransformerEncoderLayer(SIZE, **options)
    if kind == "encoder":
        return nn.TransformerEncoder(nn.TransformerEncoderLayer(SIZE, **options), 2, enable_nested_tensor=False)
    if kind == "both":
        return nn.Transformer(SIZE, num_encoder_layers=1, num_decoder_layers=2, **options)
    if kind == "decoder layer":
        return nn.TransformerDecoderLayer(SIZE, **options)
    if kind == "decoder":
        return nn.TransformerDecoder(nn.TransformerDecoderLayer(SIZE, **options), 2)
    more = style("sizes", [{}, {"kdim": 10}, {"kdim": 10, "vdim": 14}])
    return nn.MultiheadAttention(SIZE, 3, bias=style.bias, batch_first=not style.items_first, **more)
