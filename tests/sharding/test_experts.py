"""Experts on a mesh: rows go to the devices of the experts that they picked, and no others are computed."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import Tensor

import attnc
from attnc.cli import main
from attnc.compiler.sharding.choose import axes_named
from attnc.compiler.sharding.mesh import Indivisible, mesh_of
from attnc.compiler.sharding.plan import ShardingPlan
from attnc.compiler.sharding.spread import spread
from attnc.spec import Model, Size

from . import processes
from .devices import Difference, compared
from .subjects import BATCH, EXAMPLES, WIDTH, inputs
from .subjects import EXPERTS as SPECS
from .test_numbers import assert_as_planned, expected

SPLIT = {"expert": ("batch", "expert")}
ROUTED = """
width seq
depth model = 4, inner = 6, expert = 4, chosen = 2
model routed(x: [seq, model], best: expert[seq, chosen], real: bool[seq]) -> [seq, model] {
    x = linear.into[model -> model](x)
    gain = softmax[chosen](linear.gain[model -> chosen](x))
    up = silu(linear.up[expert: model -> inner](x))
    weights = sum[chosen](select(expert == best and real, gain, 0))
    return dot[expert](weights, linear.down[expert: inner -> model](up))
}
"""
"""Picks are given, so that a test can say which; what is no item picks nothing."""
ITEMS, CHOSEN, EXPERTS, DEEP = BATCH * WIDTH, 2, 4, 4

KINDS: list[tuple[str, dict[str, Size]]] = [
    ("zoo/mixtral", {}),
    ("zoo/mixed/experts", {"shared": True}),
    ("zoo/mixed/experts", {"limit": 7.0, "router_biased": True}),  # of GPT-OSS: maps of experts have biases
    ("zoo/mixed/latent", {}),
    ("zoo/t5/t5", {}),
]
DEPTHS = ("inner", "narrow", "groups", "heads", "vocab")
MESHES: list[tuple[dict[str, int], dict[str, tuple[str, ...]]]] = [
    ({"expert": 2}, SPLIT),
    ({"expert": 4}, SPLIT),
    ({"expert": 2, "model": 2}, {**SPLIT, "model": DEPTHS}),
    ({"data": 2, "expert": 2}, {**SPLIT, "data": ("batch",)}),
    ({"expert": 2, "nodes": 2}, {**SPLIT, "nodes": SPLIT["expert"]}),  # in turn along both
    ({"context": 2, "expert": 2}, {**SPLIT, "context": ("seq", "source")}),
    ({"context": 2}, {"context": ("seq", "source", "expert")}),  # items are parts of the sequence
    ({"model": 2}, {"model": ("expert", *DEPTHS)}),  # each device has all rows, and does its own
    ({"model": 2, "expert": 2}, {**SPLIT, "model": ("expert", *DEPTHS)}),
    ({"model": 2}, {"model": (*DEPTHS, "seq", "source")}),  # sums of items become parts of the sequence
]


@cache
def routed() -> Model:
    return attnc.loads(ROUTED).model("routed")


def run(
    best: Tensor, mesh: dict[str, int], splits: dict[str, tuple[str, ...]], real: Tensor | None = None
) -> Difference:
    x = torch.randn(BATCH, WIDTH, DEEP, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    real = torch.ones(BATCH, WIDTH, dtype=torch.bool) if real is None else real
    found = compared(routed(), mesh, splits, {"x": x, "best": best, "real": real})
    assert found.results < 1e-10 and found.gradients < 1e-10, (found.results, found.gradients)
    for rows in zip(*found.rows.values(), strict=True):
        assert sum(rows) == CHOSEN * int(real.sum()), "rows were computed that nobody picked"
    return found


def even() -> Tensor:
    """Each device's items pick each expert as often as any other."""
    return (torch.arange(ITEMS * CHOSEN) % EXPERTS).reshape(BATCH, WIDTH, CHOSEN)


def planned(of: Model, mesh: dict[str, int], splits: dict[str, tuple[str, ...]]) -> ShardingPlan:
    free = {name for port in of.inputs for name, size in zip(port.axes, port.shape, strict=True) if size is None}
    return of.plan(mesh, dict.fromkeys(free, WIDTH), splits=splits, batch=BATCH, dtype="float64")


def test_even_load_is_as_planned() -> None:
    found = run(even(), {"expert": 2}, SPLIT)
    rows = ITEMS * CHOSEN // 2
    plan = planned(routed(), {"expert": 2}, SPLIT)
    assert_as_planned(found, plan)
    assert found.sent[0] == ("all-to-all", "expert", 8 * EXPERTS)  # counts go first
    assert Counter(found.sent)["all-to-all", "expert", 8 * DEEP * rows] == 4  # rows, forth and back, and of gradients
    assert found.rows == {(0,): [rows] * 2, (1,): [rows] * 2}
    (load,) = plan.loads
    assert (plan.bytes_of(load.even), plan.bytes_of(load.most), plan.bytes_of(load.counts)) == (rows, 2 * rows, 32)


ODD = {
    "all rows to one device": torch.tensor([0, 1]).expand(BATCH, WIDTH, CHOSEN),
    "an expert of each gets none": even() // 2 * 2,
    "one pick twice": torch.full((BATCH, WIDTH, CHOSEN), 3),
}


@pytest.mark.slow
@pytest.mark.parametrize("load", ODD)
def test_odd_loads(load: str) -> None:
    """What is sent is what was picked; results and gradients stay."""
    best = ODD[load].clone()
    found = run(best, {"expert": 2}, SPLIT)
    mine = best[: BATCH // 2].numel()  # rows of the first device, and those that its experts are given
    given = int((best < EXPERTS // 2).sum())
    assert found.rows[0,] == [given] * 2
    rows = Counter(bytes // (8 * DEEP) for what, _, bytes in found.sent[1:] if what == "all-to-all")
    assert rows == Counter({mine: 2}) + Counter({given: 2})


def test_what_is_masked_picks_nothing() -> None:
    real = torch.arange(WIDTH) < torch.tensor([[8], [3], [0], [0]])  # the items of the second device are all padding
    found = run(even(), {"expert": 2}, SPLIT, real)
    assert sum(rows[0] for rows in found.rows.values()) == CHOSEN * 11


@pytest.mark.slow
@pytest.mark.parametrize(("mesh", "splits"), MESHES)
@pytest.mark.parametrize(("name", "sizes"), KINDS)
def test_zoo(name: str, sizes: dict[str, Size], mesh: dict[str, int], splits: dict[str, tuple[str, ...]]) -> None:
    of = spec(name, tuple(sizes.items()))
    known = {*axes_named(of.graph), "batch"}
    splits = {one: tuple(axis for axis in axes if axis in known) for one, axes in splits.items()}
    check(of, mesh, splits)


@cache
def spec(name: str, sizes: tuple[tuple[str, Size], ...]) -> Model:
    found = attnc.load(EXAMPLES / f"{name}.attn", sizes={**SPECS[name], **dict(sizes)})
    return found.model(found.models[0])


def check(of: Model, mesh: dict[str, int], splits: dict[str, tuple[str, ...]], seed: int = 0) -> None:
    """Results and gradients; what is sent as planned, but that rows are as many as they are."""
    biased = any(path.endswith("down.bias") for path in of.weights)  # biases of rows: they are summed as rows
    found = compared(of, mesh, splits, inputs(of, seed), seed)
    assert found.results < 1e-10 and found.gradients < 1e-10, (mesh, splits, found.results, found.gradients)
    said, messages = expected(planned(of, mesh, splits))
    assert found.messages == messages
    actual = Counter(found.sent)
    for what, axis in {(what, axis) for what, axis, _ in (*said, *actual)}:
        times = [sum(n for (a, b, _), n in sent.items() if (a, b) == (what, axis)) for sent in (said, actual)]
        assert times[0] == times[1], (what, axis)
        if what != "all-to-all" and not biased:
            alike = [{key: n for key, n in sent.items() if key[:2] == (what, axis)} for sent in (said, actual)]
            assert alike[0] == alike[1], (what, axis)


BALANCED = """
width seq
depth model = 8, inner = 6, expert = 4, vocab = 12
model balanced(ids: vocab[seq], target: vocab[seq]) -> (loss: [], balance: []) {
    x = embed.E[vocab -> model](ids)
    odds = softmax[expert](linear.router[model -> expert](x))
    best = argmax[expert](odds)
    made = linear.down[expert: inner -> model](silu(linear.up[expert: model -> inner](x)))
    x = x + dot[expert](select(expert == best, odds, 0), made)
    loss = mean[seq](cross_entropy[vocab](linear.logits[model -> vocab](x), target))
    picked = mean[seq](select(expert == best, 1.0, 0.0))
    balance = |expert| * dot[expert](picked, mean[seq](odds))
    return loss, balance
}
"""
"""Top-1 with the loss of Fedus et al. 2021 (equation 4), of each example."""


@pytest.mark.slow
@pytest.mark.parametrize(("mesh", "splits"), [each for each in MESHES if "nodes" not in each[0]])
def test_balance_losses(mesh: dict[str, int], splits: dict[str, tuple[str, ...]]) -> None:
    """A loss of each example, as specs have it, is that of its device; over parts of a width its means are summed."""
    of = attnc.loads(BALANCED).model("balanced")
    known = {*axes_named(of.graph), "batch"}
    check(of, mesh, {one: tuple(axis for axis in axes if axis in known) for one, axes in splits.items()})


OF_WEIGHTS = """
width seq
depth model = 4, expert = 4
block pooled(W: [expert, model]) -> [model] { return tanh(mean[expert](W)) }
model summed(x: [seq, model]) -> [seq, model] {
    param W: [expert, model] ~ normal(1.0)
    param V: [expert, model] ~ normal(1.0)
    param u: [model] ~ normal(1.0)
    x = x * (sum[expert](softmax[expert](W) * V) + u) + pooled(V * u)
    return x + max[expert](V) * sum[expert](cumsum[expert](linear.a[model -> model](W)) * V)
}
"""


@pytest.mark.parametrize("data", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_sums_over_experts_of_weights_used_by_parts_of_the_batch(data: int) -> None:
    """What comes together over devices which each have a part of the batch: the gradients of these are summed, once."""
    of = attnc.loads(OF_WEIGHTS).model("summed")
    check(of, {"data": data, "expert": 2}, {"data": ("batch",), **SPLIT})


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_drawn(seed: int) -> None:
    """Specs and meshes at random, experts in any place among what is split, and split several times."""
    rng = random.Random(seed)
    name, sizes = rng.choice(KINDS)
    of = spec(name, tuple(sizes.items()))
    axes = [axis for axis in ("seq", "source", *DEPTHS) if axis in axes_named(of.graph)]
    while True:
        mesh = dict.fromkeys(rng.sample(("a", "b", "c"), rng.randint(1, 3)), 2)
        splits = {}
        for number, one in enumerate(mesh):
            chosen = [*rng.sample(axes, rng.randint(0, 2)), *(["expert"] if rng.random() < 0.8 else [])]
            rng.shuffle(chosen)
            splits[one] = (*(["batch"] if number < 2 and rng.random() < 0.6 else []), *chosen) or ("expert",)
        with suppress(Indivisible):  # else it is split too often
            spread(of._sized, mesh_of(mesh, splits))
            break
    check(of, mesh, splits, seed)


@pytest.mark.slow
@pytest.mark.parametrize("world", [2, 4])
def test_trained_over_processes(world: int) -> None:
    """Ten steps of AdamW with clipping are those of one device, whatever is scattered, with passes done again, too."""
    cases = [
        {"name": name, "mesh": mesh, "splits": splits, "seed": 7, "zero": zero, "checkpoint": zero == 3}
        for name, zero in (("zoo/mixtral", 3), ("zoo/mixed/latent", 2), ("zoo/t5/t5", 0))
        for mesh, splits in known_meshes(name)
        if math.prod(mesh.values()) == world
    ]
    for found in processes.run(world, cases, 600.0):
        off = {what: found[what] for what in ("loss", "gradients", "norm", "weights")}
        assert max(off.values()) < 1e-10, (found["case"], off)
        assert not found["sent"], (found["case"], found["sent"])


def known_meshes(name: str) -> list[tuple[dict[str, int], dict[str, tuple[str, ...]]]]:
    """What axes of a spec the meshes split."""
    known = {*axes_named(spec(name, ()).graph), "batch"}
    return [(mesh, {m: tuple(a for a in axes if a in known) for m, axes in splits.items()}) for mesh, splits in MESHES]


@pytest.mark.slow
def test_page(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the router's own part of the batch is routed, nothing is gathered, and each expert is on one device."""
    assert main(["shard", str(EXAMPLES / "zoo/mixtral.attn"), "--mesh", "expert=8", "--set", "seq=4096"]) == 0
    page = capsys.readouterr().out
    assert "splits   expert: batch, expert\n" in page
    assert (
        "load balance  layers.experts: 8,192 rows on a device if even, as is counted here, 32,768 at most; "
        "64 B of counts go first\n"
    ) in page
    assert [line.split()[2] for line in page.splitlines() if line.startswith("layers.experts  ")] == ["all-to-all"] * 2


GLOO = """
import sys, torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from attnc.backends.runtime.parallel.torch_experts import returned_rows, sent_counts, sent_rows
from attnc.backends.runtime.parallel.torch_running import DividedRun, run_as
from attnc.backends.runtime.torch.kernels.dispatch import Dispatch
rank, port, dtype = int(sys.argv[1]), sys.argv[2], getattr(torch, sys.argv[3])
dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
run = DividedRun(init_device_mesh("cpu", (2,), mesh_dim_names=("expert",)))
for load in ([[0, 1], [2, 3]], [[0, 0], [0, 0]], [[3, 2], [2, 3]], [[0, 1], [0, 1]]):
    torch.manual_seed(0)
    picks = torch.tensor([load, load[::-1]]).repeat(1, 3, 1)  # [devices, items, ranks]
    x, weight = torch.randn(2, 6, 8, dtype=dtype), torch.randn(4, 8, 8, dtype=dtype, requires_grad=True)
    home = Dispatch(picks[rank], 4, counted=True)
    mine, own = x[rank].clone().requires_grad_(), weight[2 * rank : 2 * rank + 2].detach().clone().requires_grad_()
    with run_as(run):
        there = sent_counts(home, "expert")
    y = home.back(returned_rows(there.product(sent_rows(home.rows(mine, 1), there), own), there))
    y.square().sum().backward()
    x.requires_grad_()
    whole = torch.einsum("nri,nroi->nro", x.flatten(0, 1)[:, None].expand(-1, 2, -1), weight[picks.flatten(0, 1)])
    whole.square().sum().backward()
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype is torch.float32 else {}
    torch.testing.assert_close(y, whole.reshape(2, 6, 2, 8)[rank], **close)
    torch.testing.assert_close(mine.grad, x.grad[rank], **close)
    torch.testing.assert_close(own.grad, weight.grad[2 * rank : 2 * rank + 2], **close)
dist.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_processes(dtype: str, tmp_path: Path) -> None:
    """The same over gloo: rows of all counts, none at all among them."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    works = [
        subprocess.Popen([sys.executable, "-c", GLOO, str(rank), port, dtype], stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    for work in works:
        _, problems = work.communicate(timeout=120)
        assert work.returncode == 0, problems
