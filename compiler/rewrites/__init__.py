"""Rewrites: pure functions graph -> graph, one per file. The graph is valid before and after each.

ragged      each example of a batch has its own length: what is padding is left out
constants   truth values known at build time are put into the blocks that they are passed to; masks `true` vanish
attention   softmax(Q K' ..) V becomes one op, which PyTorch has a fused kernel for
"""

from __future__ import annotations

from .attention import fuse_attention
from .constants import fold_truths
from .ragged import pad_ragged

__all__ = ["fold_truths", "fuse_attention", "pad_ragged"]
