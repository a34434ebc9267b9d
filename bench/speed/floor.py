"""The floor: the matrix products that the work cannot do without, into outputs allocated once, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True, slots=True)
class Product:
    """`count` times [batch, rows, inner] @ [batch, inner, columns]; batch 0: plain matrices."""

    rows: int
    inner: int
    columns: int
    count: float = 1
    batch: int = 0


def with_gradients(products: Iterable[Product]) -> list[Product]:
    """Each product and the two of its backward pass."""
    found = []
    for p in products:
        found += [
            p,
            Product(p.rows, p.columns, p.inner, p.count, p.batch),  # of the left operand
            Product(p.inner, p.rows, p.columns, p.count, p.batch),  # of the right one
        ]
    return found


def in_torch(products: Iterable[Product]) -> Callable[[], None]:
    """A call that does all of them in float32. A fraction of a count is a share of the rows."""
    work = []
    for p in products:
        for share, times in ((1.0, int(p.count)), (p.count % 1, 1)):
            rows = round(p.rows * share)
            if not times or not rows:
                continue
            lead = (p.batch,) if p.batch else ()
            a, b = torch.randn(*lead, rows, p.inner), torch.randn(*lead, p.inner, p.columns)
            out = torch.empty(*lead, rows, p.columns)
            work += [(torch.bmm if p.batch else torch.mm, a, b, out)] * times

    def call() -> None:
        for op, a, b, out in work:
            op(a, b, out=out)

    return call


def in_numpy(products: Iterable[Product]) -> Callable[[], None]:
    work = []
    for p in products:
        for share, times in ((1.0, int(p.count)), (p.count % 1, 1)):
            rows = round(p.rows * share)
            if not times or not rows:
                continue
            for _ in range(times):
                lead = (p.batch,) if p.batch else ()
                a = np.ones((*lead, rows, p.inner), np.float32)
                b = np.ones((*lead, p.inner, p.columns), np.float32)
                work.append((a, b, np.empty((*lead, rows, p.columns), np.float32)))

    def call() -> None:
        for a, b, out in work:
            np.matmul(a, b, out=out)

    return call
