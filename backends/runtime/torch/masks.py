"""Attention under masks of positions in generated PyTorch code.

What was measured of PyTorch's kernel, and led here (CPU, forward and backward): blocks of 64 queries are fastest for
narrow masks, of 256 for wide ones; more than four dimensions keep PyTorch from its fused kernels (a factor of 3.6);
slices of keys in place of pieces would cost a gradient of the whole width for each block.

PyTorch gives `broadcast_shapes` no types: hence the ignores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ..common.spans import Numbered, in_sight, kinds_along, mask_key
from .blocks import block_attention
from .ops import is_free, is_traced, masked_softmax
from .sights import Runs, block_mask, look, look_at, number_data, row_sights, unknown_data


def fold(x: Tensor, lead: tuple[int, ...]) -> Tensor:
    """x [..., a, b] as [batch, heads, a, b]: of the leading dimensions `lead`, all but the first are heads.

    PyTorch's fused attention takes these alone. Dimensions of size 1 that broadcast stay so where all of them do.
    """
    lead = (1,) * (2 - len(lead)) + lead
    x = x[(None,) * (len(lead) + 2 - x.dim())]
    if math.prod(x.shape[1:-2]) > 1:
        x = x.expand(x.shape[0], *lead[1:], *x.shape[-2:])
    return x.flatten(1, -3)


def attention(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    is_causal: bool = False,
    dropout_p: float = 0.0,
    scale: float | None = None,
) -> Tensor:
    """`safe_attention` of Q [..., q, d], K [..., k, d], V [..., k, v], whose leading axes broadcast.

    mask, bias: [..., q, k]; their leading axes broadcast too.
    """
    if mask is None and bias is None and Q.dim() == 4 and Q.shape[:-2] == K.shape[:-2] == V.shape[:-2]:
        return F.scaled_dot_product_attention(Q, K, V, None, dropout_p, is_causal, scale=scale)
    if Q.shape[-2] == 1 and bias is None and not is_causal and not torch.is_grad_enabled() and not is_traced():
        one = attention_of_one(Q, K, V, mask, dropout_p, scale)
        if one is not None:
            return one
    given = [x for x in (Q, K, V, mask, bias) if x is not None]
    lead = torch.broadcast_shapes(*(x.shape[:-2] for x in given))  # type: ignore[no-untyped-call]
    grouped = mask is None or Q.is_cpu
    keys = lead_of_keys(K, V, lead) if bias is None and grouped else lead
    Q = fold(Q.expand(*lead, *Q.shape[-2:]), lead)
    K, V = (fold(x.expand(*keys, *x.shape[-2:]), keys) for x in (K, V))
    mask, bias = (None if x is None else fold(x, lead) for x in (mask, bias))
    out = safe_attention(Q, K, V, mask, bias, is_causal, dropout_p, scale, keys != lead)
    return out.reshape(*lead, *out.shape[-2:])


def lead_of_keys(K: Tensor, V: Tensor, lead: tuple[int, ...]) -> tuple[int, ...]:
    """The leading dimensions of keys and values, of which those that share them lie along the last of `lead`.

    These keys are not expanded, but where a graph is made, which may be for what knows nothing of that, and on CUDA
    where no kernel but the plain one takes them: in full precision, and under masks.
    """
    if is_traced() or len(lead) < 2 or lead[-1] == 1 or not (K.is_cpu or K.dtype in (torch.float16, torch.bfloat16)):
        return lead
    return (*lead[:-1], 1) if all(x.dim() == 2 or x.shape[-3] == 1 for x in (K, V)) else lead


def attention_of_one(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None, dropout_p: float, scale: float | None
) -> Tensor | None:
    """`attention` of one query a head, as it is asked for at each step of decoding; None where that needs more care.

    Keys that heads share are not expanded: these heads are several queries of one. On a CPU a mask is looked at, which
    is done sooner than to attend under it: often it hides nothing.
    """
    if mask is not None and mask.is_cpu and bool(mask.all()):
        mask = None
    lead, keys = Q.shape[:-2], K.shape[:-2]
    if keys != V.shape[:-2] or not (mask is None or mask.dim() == 2 or fits(mask.shape[:-2], lead)):
        return None
    if lead == keys:
        return safe_attention(Q, K, V, mask, None, False, dropout_p, scale) if Q.dim() == 4 else None
    if Q.dim() != 5 or keys != (*lead[:-1], 1) or not (mask is None or mask.dim() == 2):
        return None
    out = safe_attention(Q.squeeze(-2), K.squeeze(-3), V.squeeze(-3), mask, None, False, dropout_p, scale)
    return out.unsqueeze(-2)


def fits(lead: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Whether dimensions are as many as these, and broadcast to them."""
    return len(lead) == len(whole) and all(one in (1, all_) for one, all_ in zip(lead, whole, strict=True))


def safe_attention(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    is_causal: bool = False,
    dropout_p: float = 0.0,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """F.scaled_dot_product_attention, safe where a query sees nothing, which gets zeros; a bias counts under the mask.

    is_causal: query i sees the keys up to i alone, of those that the mask keeps; PyTorch's kernels do not take both.
    enable_gqa: there are fewer heads of keys than of queries, as many of which use the same.

    Not every kernel of PyTorch gives these zeros. Where it may not, they see all keys, so that whatever is computed
    has numbers and gradients, and are cleared after it.
    """
    if is_causal and (mask is not None or bias is not None):
        before = torch.ones(Q.shape[-2], K.shape[-2], dtype=torch.bool, device=Q.device).tril()
        mask, is_causal = before if mask is None else mask & before, False
    sees = None if mask is None or clears_blind(Q) else mask.any(-1, keepdim=True)
    if mask is not None and sees is not None:
        mask = mask | ~sees
    if bias is not None:
        mask = bias if mask is None else torch.where(mask, bias, -math.inf)
    if mask is not None and not Q.is_cpu:
        mask = keys_in_a_row(mask, K.shape[-2])
    out = F.scaled_dot_product_attention(Q, K, V, mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    return out if sees is None else torch.where(sees, out, 0)


def keys_in_a_row(mask: Tensor, keys: int) -> Tensor:
    """A mask or bias [..., q, keys or 1] as [..., q, keys], whose keys lie one after another in memory.

    CUDA's kernels of float32 refuse others, and cuDNN's, of half precision, read them as if they lay so: with PyTorch
    2.11 a bias that was the transpose of a table, or a mask of one item for all keys, gave wrong numbers.
    """
    return mask.expand(*mask.shape[:-1], keys).contiguous() if mask.shape[-1] != keys or mask.stride(-1) != 1 else mask


def clears_blind(Q: Tensor) -> bool:
    """Whether PyTorch's kernels for such queries give zeros to those that see nothing.

    Those of the CPU do, and on CUDA those of float32 and float64; cuDNN's, of half precision, does not.
    """
    if Q.device.type == "cuda":
        return Q.dtype in (torch.float32, torch.float64) and not torch.is_autocast_enabled("cuda")
    return Q.device.type == "cpu"


def masked_attention(
    seen: Callable[..., Any],
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    *data: Tensor,
    bias: Tensor | None = None,
    causal_if_true: bool = False,
    true_if_one: bool = False,
    numbers: tuple[float, ...] = (),
    dropout_p: float = 0.0,
    scale: float | None = None,
    cap: float | None = None,
) -> Tensor:
    """Attention of Q [..., q, d] to K [..., k, d] and V [..., k, v] under a mask that is never made as a whole.

    seen(q, k, *data): which of the keys k the queries q see, of positions and of the mask's data [..., q, k] there.
    cap: scores s become cap tanh(s / cap).
    causal_if_true: where all data is true, `seen` is not asked: the mask is `k <= q` alone, as the kernel has it.
        Who changes `seen` so that this is no longer so leaves it out.
    true_if_one: data of one item beside several keys is an input that the model was not given, and true. A graph, or
        a GPU, whose data nobody looks at, so has the kernel too.
    numbers: what the mask is made with besides, which a graph may leave open.

    Blocks of queries attend to the keys in their sight alone, under a mask of that block, or under none where each of
    its queries sees all of these keys. So memory is O(width x block). On a CPU this is BlockAttention's work where it
    can do it, on CUDA FlexAttention's. In a graph for all widths there is one block.
    """
    left_out = true_if_one and K.shape[-2] != 1 and all(x.shape[-1] == 1 for x in data)
    if causal_if_true and (left_out or all(look(x).every for x in data)):
        return attention(Q, K, V, is_causal=True, dropout_p=dropout_p, scale=scale)
    given = (Q, K, V, *data) if bias is None else (Q, K, V, *data, bias)
    lead = torch.broadcast_shapes(*(x.shape[:-2] for x in given))  # type: ignore[no-untyped-call]
    dim, kinds = kinds_along(seen, [number_data(x) for x in data])
    if kinds:
        Q = Q.expand(*lead, *Q.shape[-2:])
        options = {"dropout_p": dropout_p, "scale": scale, "cap": cap}
        return attention_by_kind(dim, kinds, Q, K, V, data, bias, options)
    if cap is None and not dropout_p and is_plain(*given):
        narrow = block_attention(seen, lead, Q, K, V, bias, data, scale)
        if narrow is not None:
            return narrow
    Q, K, V = (fold(x.expand(*lead, *x.shape[-2:]), lead) for x in (Q, K, V))
    data = tuple(fold(x, lead) for x in data)
    n, m = Q.shape[-2], K.shape[-2]
    bias = None if bias is None else fold(bias, lead).expand(-1, -1, n, m)
    if is_open(n, m, *numbers):
        mask = block_mask(seen, 0, n, [(0, m, False)], data, Q.device)
        out = attend_block(Q, [K], [V], bias, mask, dropout_p, scale, cap)
    elif Q.is_cuda and bias is None and not dropout_p and Q.shape[-1] >= 16 and V.shape[-1] >= 16:
        out = flexible_attention(seen, Q, K, V, *data, scale=scale, cap=cap)
    else:
        out = blocked_attention(seen, Q, K, V, data, bias, dropout_p, scale, cap)
    return out.reshape(*lead, n, V.shape[-1])


def attention_by_kind(
    dim: int,
    kinds: list[tuple[Numbered, list[int]]],
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    data: tuple[Tensor, ...],
    bias: Tensor | None,
    options: dict[str, Any],
) -> Tensor:
    """`masked_attention` where the mask is of several kinds along a leading dimension: heads see unlike keys."""
    found = []
    for seen, places in kinds:
        left = [x for x, number in zip(data, seen.numbers, strict=True) if number is None]
        q, k, v, *more = (at_places(x, dim, places, len(kinds)) for x in (Q, K, V, *left))
        tilt = None if bias is None else at_places(bias, dim, places, len(kinds))
        found.append(masked_attention(seen, q, k, v, *more, bias=tilt, **options))
    if len(found) == 1:
        return found[0]
    order = [place for _, places in kinds for place in places]
    turns = [place for first in range(len(kinds)) for place in range(first, len(order), len(kinds))]
    if order == turns and len(order) % len(kinds) == 0:
        return torch.stack(found, dim).flatten(dim - 1, dim)
    joined = torch.cat(found, dim)
    back = sorted(range(len(order)), key=order.__getitem__)
    return joined if order == sorted(order) else joined.index_select(dim, torch.tensor(back))


def at_places(x: Tensor, dim: int, places: list[int], kinds: int) -> Tensor:
    """These along a dimension, which x may lack; it is as it was where there is one kind alone."""
    if kinds == 1 or x.dim() < -dim or x.shape[dim] == 1:
        return x
    first, step = places[0], places[1] - places[0] if len(places) > 1 else 1
    if places == list(range(first, first + step * len(places), step)):
        return x.movedim(dim, 0)[first : places[-1] + 1 : step].movedim(0, dim)
    return x.index_select(dim, torch.tensor(places))


def is_plain(*given: Tensor) -> bool:
    """Whether these are tensors in the memory of a CPU, float32 or float64, which autograd alone watches."""
    if is_traced() or torch.is_autocast_enabled("cpu") or torch.autograd.forward_ad._current_level >= 0:
        return False
    dtypes = {x.dtype for x in given if x.is_floating_point()}
    return dtypes in ({torch.float32}, {torch.float64}) and all(
        type(x) in (Tensor, nn.Parameter) and x.device.type == "cpu" for x in given
    )


def is_open(*numbers: Any) -> bool:
    """Whether a graph is being made that leaves one of these numbers open: what follows from it cannot be told."""
    if not torch.compiler.is_compiling():
        return torch._C._is_tracing()
    # Not `is_exporting()`: up to torch 2.12 every graph of Dynamo takes that for true, and would skip no tile.
    if getattr(torch.compiler, "_is_exporting_flag", False):
        return True
    return any(is_free(number) for number in numbers)


def as_constant(function: Any) -> Any:
    """What torch.compiler.assume_constant_result does, without loading the compiler: graphs hold what it gives."""
    function.__dict__["_dynamo_marked_constant"] = True
    return function


def blocked_attention(
    seen: Callable[..., Any],
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    data: tuple[Tensor, ...],
    bias: Tensor | None,
    dropout_p: float,
    scale: float | None,
    cap: float | None,
) -> Tensor:
    """`masked_attention` of [batch, heads, width, depth]. What is wide is computed once more for its gradient."""
    n, m = Q.shape[-2], K.shape[-2]
    if torch.compiler.is_compiling():
        size, sights = unseen_sights(seen, n, m, tuple(x.dtype == torch.bool for x in data))
    else:
        size, sights = block_sights(seen, n, m, look_at(data))
    keys, values = torch.split(K, 64, -2), torch.split(V, 64, -2)
    biases = [None] * len(sights) if bias is None else torch.split(bias, size, -2)
    blocks = []
    for q0, q, runs, tilt in zip(range(0, n, size), torch.split(Q, size, -2), sights, biases, strict=False):
        if not runs:  # nothing is seen: zeros
            blocks.append(V[..., :0, :].sum(-2, keepdim=True).expand(-1, -1, q.shape[-2], -1))
            continue

        def attend(q: Tensor, q0: int = q0, runs: Runs = runs, tilt: Tensor | None = tilt) -> Tensor:
            k, v = ([part for a, b, _ in runs for part in x[a // 64 : -(-b // 64)]] for x in (keys, values))
            b = None if tilt is None else torch.cat([tilt[..., a:b] for a, b, _ in runs], -1)
            return attend_block(
                q, k, v, b, block_mask(seen, q0, q0 + q.shape[-2], runs, data, q.device), dropout_p, scale, cap
            )

        again = torch.is_grad_enabled() and sum(b - a for a, b, _ in runs) > 1024
        blocks.append(checkpoint(attend, q, use_reentrant=False) if again else attend(q))
    return torch.cat(blocks, -2) if blocks else Q @ K.mT @ V  # no queries: nothing, that follows from them all


def attend_block(
    q: Tensor,
    keys: list[Tensor],
    values: list[Tensor],
    bias: Tensor | None,
    mask: Tensor | None,
    dropout_p: float,
    scale: float | None,
    cap: float | None,
) -> Tensor:
    """One block of queries and the pieces of the keys and values that it sees."""
    k, v = (x[0] if len(x) == 1 else torch.cat(x, -2) for x in (keys, values))
    if cap is not None:  # no kernel does this
        scores = cap * torch.tanh(q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale) / cap)
        weights = scores.softmax(-1) if mask is None else masked_softmax(scores, mask, -1)
        return F.dropout(weights, dropout_p) @ v
    return safe_attention(q, k, v, mask, bias, dropout_p=dropout_p, scale=scale)


def block_sights(seen: Callable[..., Any], n: int, m: int, look: Callable[..., list[Any]]) -> tuple[int, list[Runs]]:
    """The size of a block of queries for PyTorch's kernel, and the sights of each."""
    for size in (64, 256):
        found = row_sights(seen, n, m, size, look)
        if all(sum(b - a for a, b, _ in runs) <= 512 for runs in found):
            break
    return size, found


@as_constant
def unseen_sights(seen: Callable[..., Any], n: int, m: int, truths: tuple[bool, ...]) -> tuple[int, list[Runs]]:
    """`block_sights` in a graph, which knows nothing of the data but which are truth values."""
    return block_sights(seen, n, m, lambda *tile: [unknown_data(truth) for truth in truths])


def flexible_attention(
    seen: Callable[..., Any],
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    *data: Tensor,
    scale: float | None = None,
    cap: float | None = None,
) -> Tensor:
    """`masked_attention` of [batch, heads, width, depth] by FlexAttention (Dong et al. 2024), which skips tiles."""
    from torch.nn.attention.flex_attention import BlockMask, flex_attention

    batch, heads, n, m = *Q.shape[:-1], K.shape[-2]
    if not n or not m:
        return V.sum(-2, keepdim=True).expand(-1, -1, n, -1)
    if torch.is_autocast_enabled(Q.device.type):  # as PyTorch's own attention does
        Q, K, V = (x.to(torch.get_autocast_dtype(Q.device.type)) for x in (Q, K, V))
    spread = tuple(x.expand(batch, heads, n, m) for x in data)

    def mask_mod(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        mask: Tensor = seen(q, k, *(x[b, h, q, k] for x in spread))
        return mask

    part, part_at, whole, whole_at, back, back_at, whole_back, whole_back_at = mask_tiles(
        seen, n, m, tuple(x.dtype == torch.bool for x in data), Q.device
    )
    blocks = BlockMask(
        (n, m), part, part_at, whole, whole_at, back, back_at, whole_back, whole_back_at, (128, 128), mask_mod
    )
    flex = flex_attention if torch.compiler.is_compiling() or not Q.is_cuda else compiled_flex()

    def score_mod(score: Tensor, b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return score if cap is None else cap * torch.tanh(score / cap)

    out: Tensor = flex(Q, K, V, score_mod=None if cap is None else score_mod, block_mask=blocks, scale=scale)
    return out


@cache
def compiled_flex() -> Any:
    """FlexAttention as one kernel: uncompiled it makes the whole matrix of weights."""
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention, dynamic=False)


TILES: dict[object, tuple[Tensor, ...]] = {}  # by mask, widths and device: made once, for all layers and calls


@as_constant
def mask_tiles(
    seen: Callable[..., Any], n: int, m: int, truths: tuple[bool, ...], device: torch.device
) -> tuple[Tensor, ...]:
    """For each 128 queries, how many tiles of 128 keys are seen in part, and which; likewise those seen as a whole.

    Then the same for each 128 keys and the queries that see them, which the gradient asks for.
    """
    key = (mask_key(seen), n, m, truths, device)
    if key[0] is not None and key in TILES:
        return TILES[key]
    kinds: list[list[tuple[int, int]]] = [[], []]  # (queries, keys) of tiles seen in part, and as a whole
    for q0 in range(0, n, 128):
        runs = in_sight(seen, q0, min(q0 + 128, n), m, 128, lambda a, b: [unknown_data(truth) for truth in truths])
        for a, b, every in runs:
            for k0 in range(a, b, 128):
                whole = every and k0 + 128 <= m and q0 + 128 <= n
                kinds[whole].append((q0 // 128, k0 // 128))
    rows, columns = -(-n // 128), -(-m // 128)
    found = []
    with torch.inference_mode(False):  # a later call may ask for gradients
        for turned, (lines, width) in ((False, (rows, columns)), (True, (columns, rows))):
            for tiles in kinds:
                listed: list[list[int]] = [[] for _ in range(lines)]
                for tile in tiles:
                    listed[tile[turned]].append(tile[not turned])
                padded = [line + [0] * (width - len(line)) for line in listed]
                found.append(torch.tensor([[[len(line) for line in listed]]], dtype=torch.int32, device=device))
                found.append(torch.tensor([[padded]], dtype=torch.int32, device=device))
    TILES[key] = tuple(found)
    return TILES[key]
