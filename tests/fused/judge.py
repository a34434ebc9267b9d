"""Judges what kernels compute of a drawn attention: beside float64, beside plain PyTorch, and by what they load.

`python -m tests.fused.judge 0:300` judges these seeds, and prints what is wrong and how many there were.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

os.environ.setdefault("TRITON_INTERPRET", "1")

import numpy as np
import torch

import attnc
from attnc.backends.triton.outline import Outliner
from attnc.backends.triton.tiles import NoKernel, PairNumber
from attnc.compiler.streams.device import DEVICES
from attnc.compiler.streams.prepare import prepared
from attnc.compiler.streams.region import varies
from attnc.compiler.streams.report import StreamReport, streams

from .drawn import Drawn, drawn

TILE = 16  # of the kernels where they run in Python
Numbers = dict[str, torch.Tensor]


@dataclass
class Judged:
    """kernels: how many were made. reasons: why something stayed as it was. errors: the worst of float32, of bfloat16,
    and beside plain PyTorch. traffic: whether loads and stores were compared.
    """

    kernels: int = 0
    reasons: tuple[str, ...] = ()
    errors: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    traffic: bool = False


def inputs(model: attnc.Model, one: Drawn) -> Numbers:
    """What the model is given: small, so that float32 has its digits."""
    draw, sizes = torch.Generator().manual_seed(one.seed), dict(model.cost(one.sizes).sizes)
    found = {}
    for port in model.inputs:
        shape = (*one.batch, *(sizes[axis] for axis in port.axes))
        if port.element == "real":
            x = torch.randn(shape, generator=draw, dtype=torch.float64)
        elif port.element == "bool":
            x = torch.rand(shape, generator=draw) < 0.7
        else:
            x = torch.randint(4, shape, generator=draw)
        found[str(port.name)] = x
    return found


def numbers(net: torch.nn.Module, given: Mapping[str, torch.Tensor], dtype: torch.dtype) -> Numbers:
    """Results and all gradients, by name; 0 where something has none."""
    given = {name: x.to(dtype).requires_grad_() if x.is_floating_point() else x for name, x in given.items()}
    made = net(**given)
    results = {f"result {i}": x for i, x in enumerate(made if isinstance(made, tuple) else (made,))}
    draw = torch.Generator().manual_seed(2)
    finite, ups = [], []
    for x in results.values():
        up = torch.randn(x.shape, generator=draw, dtype=torch.float64).to(dtype)
        finite.append(torch.where(x.isfinite(), x, 0.0))  # a logarithm of nothing
        ups.append(up)
    leaves = {f"gradient of {name}": x for name, x in (*given.items(), *net.named_parameters()) if x.requires_grad}
    if not any(x.requires_grad for x in finite):
        return results
    grads = torch.autograd.grad(finite, [*leaves.values()], ups, allow_unused=True)
    zeros = [torch.zeros_like(x) for x in leaves.values()]
    found = (zero if x is None else x for x, zero in zip(grads, zeros, strict=True))
    return {**results, **dict(zip(leaves, found, strict=True))}


def error(x: torch.Tensor, right: torch.Tensor, least: float = 0.05) -> float:
    """Root mean squares, in those of what is right, or in `least`: gradients may be 0, as that of a bias of all keys
    is. Infinite where other numbers are.
    """
    x, right = x.detach().double(), right.detach().double()
    if x.shape != right.shape:
        return float("inf")
    known = right.isfinite()
    if not x.numel():
        return 0.0
    if not torch.equal(x[~known], right[~known]) or not x[known].isfinite().all():
        return float("inf")
    if not known.any():
        return 0.0
    x, right = x[known], right[known]
    return float((x - right).square().mean().sqrt() / right.square().mean().sqrt().clamp(min=least))


def worst(found: Numbers, right: Numbers, least: float = 0.05) -> tuple[float, str]:
    assert found.keys() == right.keys()
    return max((error(found[name], right[name], least), name) for name in right)


@contextmanager
def counted() -> Iterator[dict[str, int]]:
    """Bytes that are loaded and stored meanwhile, by the interpreter's own functions."""
    from triton.runtime.interpreter import InterpreterBuilder as Builder

    moved = {"loads": 0, "stores": 0}
    load, store = Builder.create_masked_load, Builder.create_masked_store

    def loaded(self: Any, pointers: Any, mask: Any, *more: Any) -> Any:
        value = load(self, pointers, mask, *more)
        moved["loads"] += int(np.asarray(mask.data).sum()) * value.data.dtype.itemsize
        return value

    def stored(self: Any, pointers: Any, value: Any, mask: Any, *more: Any) -> Any:
        moved["stores"] += int(np.asarray(mask.data).sum()) * value.data.dtype.itemsize
        return store(self, pointers, value, mask, *more)

    Builder.create_masked_load, Builder.create_masked_store = loaded, stored
    try:
        yield moved
    finally:
        Builder.create_masked_load, Builder.create_masked_store = load, store


def told(report: StreamReport) -> dict[str, int]:
    """What the report says that the kernels of all regions load and store."""
    loads = stores = 0
    for one in report.regions:
        it = one.traffic
        assert it is not None
        loads += sum(it.reads(item).at(it.values) for item in it.inputs)
        stores += sum(it.written(fold).at(it.values) for fold in it.region.folds)
    return {"loads": int(loads), "stores": int(stores)}


def alike(model: attnc.Model, report: StreamReport) -> bool:
    """Whether each region is one kernel that is given what the region reads: no numbers that PyTorch makes before, and
    no tables, of which a kernel reads items for pairs beyond the end, too.
    """
    outliner = Outliner("net")
    outliner(prepared(model.graph))
    if outliner.reasons or len(outliner.kernels) != len(report.regions):
        return False
    parts = [part for kernel in outliner.kernels for part in kernel.inputs]
    if any(isinstance(part, PairNumber) and part.looked_up for part in parts):
        return False
    ours = Counter((frozenset(part.axes), part.value.type.element) for part in parts)
    inputs = [item.value for one in report.regions if one.traffic is not None for item in one.traffic.inputs]
    return ours == Counter((frozenset(varies(value)), value.type.element) for value in inputs)


def judge(one: Drawn, traffic: bool = False) -> Judged:
    """All that is asked of one."""
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # beyond the end numbers may be anything
        return _judge(one, traffic)


def _judge(one: Drawn, traffic: bool) -> Judged:
    found = Judged()
    model = attnc.loads(one.text).model("drawn")
    try:
        text = model.files("triton", "net")["net_kernels.py"]
    except NoKernel as reason:
        found.reasons = (str(reason),)
        return found
    found.kernels = text.count("_forward(\n")
    found.reasons = tuple(line for line in text.splitlines() if line.startswith("Left as"))
    given = inputs(model, one)
    ours, plain = (
        model.torch(kernels="triton", seed=0),
        model.torch(dtype="float64", seed=0, without=["fuse_attention"]),
    )
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in ours.parameters():
            weight += 0.15 * torch.randn(weight.shape, generator=draw)
    half = one.dtype != "float32"
    kind = getattr(torch, one.dtype)
    if half:
        ours = ours.to(kind)
        given = {name: x.to(kind).double() if x.is_floating_point() else x for name, x in given.items()}
    plain.load_state_dict({name: x.double() for name, x in ours.state_dict().items()})
    right = numbers(plain, given, torch.float64)
    mine = numbers(ours, given, kind)
    torchs = model.torch(seed=0).to(kind)
    torchs.load_state_dict(ours.state_dict())
    theirs = numbers(torchs, given, kind)
    least = 1.0 if half else 0.2  # gradients that come in are 1
    e, name = worst(mine, right, least)
    other, _ = worst(theirs, right, least)
    found.errors = {one.dtype: e, f"plain {one.dtype}": other}
    limit = max(8e-2, 4 * other) if half else max(1e-5, 2 * other)
    if e > limit:
        found.wrong.append(f"{name} is off by {e:.2g} in {one.dtype} (plain PyTorch by {other:.2g} at most)")
    if not half:
        between, name = worst(mine, theirs, least)
        found.errors["beside plain"] = between
        if between > max(2e-5, 2 * (limit + other)):
            found.wrong.append(f"{name} is off by {between:.2g} beside plain PyTorch")
    report = streams(model.cost(one.sizes, batch=int(np.prod(one.batch))), DEVICES["h100"], (TILE, TILE))
    if traffic and not half and "few queries" not in one.tags and alike(model, report):
        with torch.no_grad(), counted() as moved:
            ours(**{name: x.float() if x.is_floating_point() else x for name, x in given.items()})
        found.traffic = True
        if moved != told(report):
            found.wrong.append(f"moved are {moved}, told are {told(report)}")
    return found


def main() -> None:
    start, end = map(int, sys.argv[1].split(":"))
    refused: Counter[str] = Counter()
    largest: dict[str, float] = {}
    wrong = kernels = traffic = partly = 0
    for seed in range(start, end):
        one = drawn(seed)
        try:
            found = judge(one, True)
        except Exception:
            wrong += 1
            print(f"FAILED {seed}: {traceback.format_exc(limit=-1)}", flush=True)
            continue
        kernels += found.kernels > 0
        partly += bool(found.kernels and found.reasons)
        traffic += found.traffic
        for reason in found.reasons:
            refused[reason] += 1
            print(f"REFUSED {seed}: {reason}", flush=True)
        for name, e in found.errors.items():
            largest[name] = max(e, largest.get(name, 0.0))
        if found.wrong:
            wrong += 1
            print("\n".join(f"WRONG {seed}: {line}" for line in found.wrong), flush=True)
    print(
        f"{end - start} drawn, {kernels} with kernels ({partly} in part), {wrong} wrong, traffic of {traffic};", largest
    )
    for reason, count in refused.most_common():
        print(f"{count:5d}  {reason}")


if __name__ == "__main__":
    main()
