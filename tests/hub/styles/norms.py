"""Norms, written in many ways, their epsilon in an attribute or out of sight."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from .drawing import Style

LAYERS = ["module layer", "functional layer", "hand layer", "spread"]
RMS = ["module rms", "default rms", "functional rms", "default functional rms", "hand rms", "float rms", "plus rms",
       "float plus rms", "plain rms", "normalised rms", "biased rms"]  # fmt: skip
BARE = ["bare layer", "bare rms"]
KEPT = ["eps", "variance_epsilon", "e", "closure", "default", "partial", "list"]


def _rms(x: Any, eps: float) -> Any:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


def _root(x: Any, eps: float) -> Any:
    return x / torch.sqrt((x * x).mean(dim=-1, keepdim=True) + eps)


def _layer(x: Any, eps: float) -> Any:
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, unbiased=False, keepdim=True)
    return (x - mean) / torch.sqrt(var + eps)


def _spread(x: Any, eps: float) -> Any:
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps)


def _plain(x: Any, _: float) -> Any:
    return x / x.norm(dim=-1, keepdim=True) * math.sqrt(x.shape[-1])


def _normalised(x: Any, _: float) -> Any:
    return F.normalize(x, dim=-1) * x.shape[-1] ** 0.5


FORMS = {
    "hand layer": _layer, "spread": _spread, "hand rms": _rms, "float rms": _root, "plus rms": _rms,
    "float plus rms": _rms, "plain rms": _plain, "normalised rms": _normalised, "bare rms": _rms, "biased rms": _root,
}  # fmt: skip


class Written(nn.Module):
    """One of FORMS with a gain, or without."""

    def __init__(self, kind: str, size: int, eps: float, kept: str) -> None:
        super().__init__()
        self.kind = kind
        plus = "plus" in kind
        self.weight = None if "bare" in kind else nn.Parameter(torch.zeros(size) if plus else torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size)) if kind in ("hand layer", "spread", "biased rms") else None
        form = FORMS[kind]
        if kept == "closure":
            self.form: Any = lambda x: form(x, eps)
        elif kept == "default":
            self.form = lambda x, eps=eps: form(x, eps)
        elif kept == "partial":
            self.form = partial(form, eps=eps) if kind not in ("plain rms", "normalised rms") else partial(form, _=eps)
        elif kept == "list":
            self.options = [eps]
            self.form = lambda x: form(x, self.options[0])
        else:
            setattr(self, kept, eps)
            self.form = lambda x: form(x, getattr(self, kept))

    def forward(self, x: Any) -> Any:
        if "float" in self.kind:
            y = self.form(x.float())
            if self.kind == "float plus rms":
                return (y * (1.0 + self.weight.float())).type_as(x)
            return self.weight * y.to(x.dtype)
        y = self.form(x)
        if self.weight is not None:
            y = y * (1 + self.weight) if "plus" in self.kind else self.weight * y
        return y if self.bias is None else y + self.bias


class Functional(nn.Module):
    def __init__(self, kind: str, size: int, eps: float | None, bias: bool) -> None:
        super().__init__()
        self.kind, self.size, self.e = kind, size, eps
        self.scale = nn.Parameter(torch.ones(size))
        self.shift = nn.Parameter(torch.zeros(size)) if bias else None

    def forward(self, x: Any) -> Any:
        if self.kind == "functional layer":
            return F.layer_norm(x, (self.size,), self.scale, self.shift, self.e)
        return F.rms_norm(x, (self.size,), self.scale, self.e)


class Bare(nn.Module):
    def forward(self, x: Any) -> Any:
        return F.layer_norm(x, x.shape[-1:])


def norm(style: Style, size: int, kind: str | None = None) -> nn.Module:
    kind = kind or style.norm
    eps, bias = style.eps, style.norm_bias
    if kind == "module layer":
        return nn.LayerNorm(size, eps=eps, bias=bias)
    if kind == "module rms":
        return nn.RMSNorm(size, eps=eps)
    if kind == "default rms":
        return nn.RMSNorm(size)
    if kind.endswith("functional rms") or kind == "functional layer":
        return Functional(kind, size, None if "default" in kind else eps, bias)
    if kind == "bare layer":
        return Bare()
    return Written(kind, size, eps, style.kept)
