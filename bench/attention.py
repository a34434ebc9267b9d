"""What attention costs under masks: `python bench/attention.py [rounds]`.

For each work, time over the floor: the matrix products alone, with outputs made before, causal counted at half and a
window at the keys that its blocks hold. Ours is the compiled spec. All in one process and one thread, in shuffled
rounds; medians of the CPU clock, and of the ratios to ours round by round, with the middle 90 %.
The last lines are peaks of memory.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from attnc import loads

SPEC = """\
width q
width k like q
depth h = {heads}, d = {depth}
model f(Q: [h, q, d], K: [h, k, d], V: [h, k, d], real: bool[q]) -> [h, q, d] {{
    return dot[k](softmax[k](dot[d](Q, K) / sqrt(|d|) where {mask}), V)
}}
"""
Work = Mapping[str, Callable[[], Any]]


def timed(works: Work, rounds: int) -> dict[str, list[float]]:
    """Seconds of each, round by round."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(rounds):
        for name in random.sample(list(works), len(works)):
            start = time.thread_time()
            works[name]()
            found[name].append(time.thread_time() - start)
    return found


def show(title: str, works: Work, rounds: int) -> None:
    """Time over the floor, and over ours with the middle 90 % of the rounds."""
    found = timed(works, rounds)
    floor = statistics.median(found["floor"])
    print(title)
    for name, seconds in found.items():
        ratios = sorted(a / b for a, b in zip(seconds, found["ours"], strict=True))
        low, high = ratios[len(ratios) // 20], ratios[-1 - len(ratios) // 20]
        ratio = f"{statistics.median(ratios):6.2f} of ours ({low:.2f} .. {high:.2f})"
        print(f"    {name:24} {statistics.median(seconds) / floor:6.2f} of the floor   {ratio}")


def torch_works(mask: str, seen: Callable[..., Any], width: int, pairs: int, batch: int, heads: int = 8) -> Work:
    """Forward and backward of a compiled spec and of what people write. pairs: of queries and keys, for the floor."""
    depth, block = 64, 64
    net = loads(SPEC.format(heads=heads, depth=depth, mask=mask)).model("f").torch()
    inputs = [torch.randn(batch, heads, width, depth, requires_grad=True) for _ in range(3)]
    real = torch.ones(batch, width, dtype=torch.bool)
    real[0, : width // 3] = False
    upstream = torch.randn(batch, heads, width, depth)

    def whole() -> torch.Tensor:
        place = torch.arange(width)
        return seen(place[:, None], place[None], real[:, None, None, :])

    def by_hand(Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        scores = (Q @ K.mT / depth**0.5).masked_fill(~whole(), -1e30)
        return scores.softmax(-1) @ V

    def einsum(Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        scores = torch.einsum("bhqd,bhkd->bhqk", Q, K) / depth**0.5
        return torch.einsum("bhqk,bhkd->bhqd", scores.masked_fill(~whole(), -1e30).softmax(-1), V)

    def both(run: Callable[..., torch.Tensor]) -> Callable[[], None]:
        def step() -> None:
            for x in inputs:
                x.grad = None
            run(*inputs).backward(upstream)

        return step

    ways = {
        "ours": lambda *x: net(*x, real),
        "SDPA, dense mask": lambda *x: F.scaled_dot_product_attention(*x, attn_mask=whole()),
        "SDPA, causal alone": lambda *x: F.scaled_dot_product_attention(*x, is_causal=True),
        "matmul, dense mask": by_hand,
        "einsum, dense mask": einsum,
    }
    expected = ways["SDPA, dense mask"](*inputs)
    torch.testing.assert_close(ways["ours"](*inputs), expected, rtol=1e-4, atol=1e-5)
    keys = pairs // width
    shape = (batch * heads * (width // block), block)
    a, o = torch.randn(*shape, depth), torch.empty(*shape, depth)
    k, w, ow = torch.randn(shape[0], keys, depth), torch.randn(*shape, keys), torch.empty(*shape, keys)
    ok = torch.empty(shape[0], keys, depth)

    def floor() -> None:
        torch.bmm(a, k.mT, out=ow)
        torch.bmm(w, k, out=o)
        torch.bmm(a, k.mT, out=ow)
        torch.bmm(w.mT, a, out=ok)
        torch.bmm(w, k, out=o)
        torch.bmm(w.mT, a, out=ok)

    return {"floor": floor, **{name: both(run) for name, run in ways.items()}}


def numpy_works(width: int, heads: int = 8, depth: int = 64) -> Work:
    """Causal attention forward, in NumPy."""
    net = loads(SPEC.format(heads=heads, depth=depth, mask="k <= q")).model("f").numpy(dtype="float32")
    draw = np.random.default_rng(0)
    Q, K, V = (draw.standard_normal((heads, width, depth), dtype=np.float32) for _ in range(3))
    real = np.ones(width, dtype=bool)
    place = np.arange(width)
    scores, out = np.empty((heads, width // 2, width), np.float32), np.empty((heads, width // 2, depth), np.float32)

    def floor() -> None:
        np.matmul(Q[:, : width // 2], K.swapaxes(-1, -2), out=scores)
        np.matmul(scores, V, out=out)

    def by_hand(products: bool) -> np.ndarray:
        s = Q @ K.swapaxes(-1, -2) if products else np.einsum("hqd,hkd->hqk", Q, K, optimize=True)
        s = np.where(place <= place[:, None], s * np.float32(depth**-0.5), -np.inf)
        s = np.exp(s - s.max(-1, keepdims=True))
        s /= s.sum(-1, keepdims=True)
        return s @ V if products else np.einsum("hqk,hkd->hqd", s, V, optimize=True)

    np.testing.assert_allclose(net(Q, K, V, real), by_hand(True), rtol=1e-4, atol=1e-5)
    ours = {"floor": floor, "ours": lambda: net(Q, K, V, real)}
    return {**ours, "matmul": lambda: by_hand(True), "einsum": lambda: by_hand(False)}


def numpy_peak(width: int) -> None:
    """Peak memory of NumPy causal attention, against the scores that it would take."""
    works = numpy_works(width, heads=1)
    for name in ("ours", "matmul"):
        tracemalloc.start()
        works[name]()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        print(f"    {name:24} {peak / 2**20:6.1f} MiB ({peak / width**2:.2f} bytes for each pair)")


def main(rounds: int) -> None:
    torch.set_num_threads(1)
    near = "k <= q and q - k < 128"
    show(
        "PyTorch, window of 128 in 1,024, forward and backward",
        torch_works(near, lambda q, k, real: (k <= q) & (q - k < 128), 1024, 1024 * 192, 1),
        rounds,
    )
    show(
        "PyTorch, window of 128 in 4,096, forward and backward",
        torch_works(near, lambda q, k, real: (k <= q) & (q - k < 128), 4096, 4096 * 192, 1, 2),
        max(rounds // 4, 3),
    )
    show(
        "PyTorch, causal and padding, 1,024, forward and backward",
        torch_works("k <= q and real[q as k]", lambda q, k, real: (k <= q) & real, 1024, 1024 * 512, 2),
        max(rounds // 2, 3),
    )
    show(
        "PyTorch, causal and strided by 32 or within 64, 2,048, forward and backward",
        torch_works(
            "k <= q and ((q - k) % 32 == 0 or q - k < 64)",
            lambda q, k, real: (k <= q) & (((q - k) % 32 == 0) | (q - k < 64)), 2048, 2048 * 1024, 1,
        ),
        max(rounds // 5, 3),
    )  # fmt: skip
    show("NumPy, causal, 2,048, forward", numpy_works(2048), max(rounds // 2, 3))
    show("NumPy, causal, 256, forward", numpy_works(256), rounds)
    print("NumPy, causal, 4,096: peak memory")
    numpy_peak(4096)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
