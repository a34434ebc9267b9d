"""Losses of generated PyTorch code.

Measured on a CPU, 1,024 rows of 50,304 classes, with the products around, against these alone: F.cross_entropy 1.4, in
the memory of the logits 1.17, of which most is the fresh memory that the logits themselves take.

PyTorch gives `Function.apply` no types: hence the ignore.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .ops import is_traced


def cross_entropy(logits: Tensor, ids: Tensor, smoothing: float = 0.0) -> Tensor:
    """Minus the log-likelihood [...] of `ids` [...] by logits [..., vocab], which are spent: nobody reads them.

    One array of that size is ever there: it holds the logits, then what is left of them by exp, then their gradient.
    So the gradient can be taken once. torch.compile and torch.func make F.cross_entropy their own.
    """
    flat, wanted = logits.reshape(ids.numel(), logits.shape[-1]), ids.reshape(-1).long()
    if is_traced() or not flat.numel():
        loss = F.cross_entropy(flat, wanted, reduction="none", label_smoothing=smoothing)
    else:
        loss = SpentLogits.apply(flat, wanted, smoothing)  # type: ignore[no-untyped-call]
        if not torch.is_autocast_enabled(flat.device.type):  # under autocast, losses are float32
            loss = loss.to(flat.dtype)
    return loss.reshape(ids.shape)


class SpentLogits(torch.autograd.Function):
    """Cross-entropy of logits [n, vocab] in their own memory, some rows at a time, which stay in the cache."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, ids: Tensor, smoothing: float) -> Tensor:
        rows = max((2**20 if logits.device.type == "cpu" else 2**26) // logits.shape[1], 1)
        dtype = torch.promote_types(logits.dtype, torch.float32)
        losses, totals = [], []
        for part, wanted in zip(torch.split(logits, rows), torch.split(ids, rows), strict=True):
            z = part.to(dtype)  # itself, unless it is short of digits
            z -= z.amax(-1, keepdim=True)
            likely = z.gather(1, wanted[:, None])[:, 0]
            if smoothing:
                likely = (1 - smoothing) * likely + smoothing * z.mean(-1)
            totals.append(z.exp_().sum(-1))
            losses.append(totals[-1].log() - likely)
            if z is not part:
                part.copy_(z)
        ctx.save_for_backward(logits, ids, torch.cat(totals))
        ctx.rows, ctx.smoothing, ctx.spent = rows, smoothing, False
        return torch.cat(losses)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        if torch.is_grad_enabled():
            raise RuntimeError(
                "cross_entropy: create_graph asks for the gradient of its gradient, which is made in the memory of the"
                " logits and has none; compute the loss from the logits with F.cross_entropy instead"
            )
        if ctx.spent:
            raise RuntimeError(
                "cross_entropy: a second backward pass through it, but the first one made the gradient in the memory"
                " of the logits; compute the loss again, or take both gradients in one pass"
            )
        ctx.spent = True
        logits, ids, total = ctx.saved_tensors
        parts = (torch.split(x, ctx.rows) for x in (logits, ids, grad, total))
        for part, wanted, g, t in zip(*parts, strict=True):
            part *= (g / t)[:, None]
            if ctx.smoothing:
                part -= (g * (ctx.smoothing / part.shape[1]))[:, None]
            part.scatter_add_(1, wanted[:, None], (g * (ctx.smoothing - 1)).to(part.dtype)[:, None])
        return logits, None, None
