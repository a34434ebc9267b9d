"""Steps of divided models: scores and items are those of one device, on each device of a mesh."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from attnc.backends.text.carried import PARALLEL, TORCH, helpers
from attnc.backends.torch.parallel_file import parallel_code
from attnc.compiler.sharding.choose import mesh_over
from attnc.compiler.sharding.mesh import mesh_of
from attnc.compiler.sharding.spread import spread
from attnc.compiler.sharding.weights import placed_weights

from . import processes
from .beside import far
from .decoding import DRAWN, PROMPTS, prompt_of, stepped
from .devices import Devices, part, redrawn
from .subjects import KINDS, model

DATA, EXPERT = ("batch",), ("batch", "expert")


def test_four_devices() -> None:
    """As threads: caches hold a device's own groups, and each has all items."""
    of = model("zoo/decoder/decoder")
    mesh = mesh_of({"data": 2, "model": 2}, {"data": DATA, "model": ("groups", "inner", "vocab")})
    torch.manual_seed(0)
    whole = of.torch(seed=0, dtype="float64").eval()
    redrawn(whole)
    ids, _ = prompt_of(of, 0)
    scores = stepped(whole, ids, {})
    options: dict[str, Any] = {**DRAWN, "eos": int(whole.generate(PROMPTS, 3, **DRAWN)[0, 2])}
    items = whole.generate(PROMPTS, 3, **options)
    code = parallel_code(of._sized, mesh, checked=False)
    devices = Devices(mesh)
    files = {"split.py": code.default(), "split_decoding.py": code.beside("split")}
    module = devices.module({**files, "attnc_parallel_torch.py": code.library.runtime_file()}, "split")
    placed = placed_weights(spread(of._sized, mesh))

    def work(place: tuple[int, ...]) -> None:
        net = module.Decoder().double().eval()
        net._run = None
        with torch.no_grad():
            for name, weight in net.named_parameters():
                weight.copy_(part(whole.get_parameter(name), placed[name], mesh, place))
        mine = slice(2 * place[0], 2 * place[0] + 2)
        found = stepped(
            SimpleNamespace(prepare=partial(module.prepare, net), step=partial(module.step, net)), ids[mine], {}
        )
        assert max(far(x, y[mine]) for x, y in zip(found, scores, strict=True)) < 1e-10
        cache = module.prepare(net)
        module.step(net, ids[mine, :3], cache)
        assert cache.at("layers.0").at("self").grown["K"].kept.shape == (2, 2, 3, 8)  # two of four groups
        assert torch.equal(module.generate(net, PROMPTS, 3, **options), items)

    devices.run(work)


def check(world: int, cases: list[tuple[str, dict[str, int], int]]) -> None:
    for found in processes.run(
        world,
        [
            {"name": name, "mesh": mesh, "splits": splits_of(name, mesh), "seed": seed, "zero": zero, "decoded": True}
            for seed, (name, mesh, zero) in enumerate(cases)
        ],
        600.0,
    ):
        assert found["scores"] < 1e-10 and found["wrong"] == [0, 0], found


def splits_of(name: str, mesh: dict[str, int]) -> dict[str, tuple[str, ...]]:
    known = {"data": DATA, "expert": EXPERT, "model": KINDS[name][1]}
    return {axis: known[axis] for axis in mesh}


@pytest.mark.slow
def test_two_processes() -> None:
    names = ("zoo/gpt2", "zoo/decoder/decoder", "zoo/mixtral", "zoo/mixed/latent", "zoo/t5", "transformer", "zoo/bart")
    check(2, [(name, {"model": 2}, 3) for name in names] + [("gpt/gpt", {"data": 2}, 3), ("zoo/t5", {"data": 2}, 2)])


@pytest.mark.slow
def test_four_processes() -> None:
    both, experts = {"data": 2, "model": 2}, {"expert": 2, "model": 2}
    dense = [("zoo/gpt2", both, 3), ("zoo/decoder/decoder", both, 2), ("zoo/t5", both, 3), ("transformer", both, 0)]
    mixed = [("zoo/mixtral", both, 3), ("zoo/mixtral", experts, 0), ("zoo/mixed/latent", both, 3)]
    sent = [("zoo/mixed/latent", {"data": 2, "expert": 2}, 3), ("zoo/mixtral", {"expert": 4}, 2)]
    check(4, [*dense, *mixed, *sent, ("zoo/decoder/decoder", {"model": 4}, 3)])


@pytest.mark.slow
def test_eight_processes() -> None:
    every = {"data": 2, "expert": 2, "model": 2}
    check(
        8,
        [
            ("zoo/mixtral", every, 3),
            ("zoo/gpt2", {"data": 2, "model": 4}, 3),
            ("transformer", {"data": 4, "model": 2}, 0),
        ],
    )


def test_parts_of_a_sequence_do_not_decode() -> None:
    of = model("zoo/gpt2")
    code = parallel_code(of._sized, mesh_over(of._sized, {"data": 2, "context": 2}, {}), checked=False)
    assert code.default() and not code.decoding
    assert code.no_step == (
        "`gpt2` does not decode along `context` of this mesh, which splits sequences alone, and a step has one item: "
        'make another net to decode with, model.parallelize(mesh["data"])'
    )


def test_names_of_the_library_are_made_once() -> None:
    """The modules that files import are one: a name that stood twice would be that of the last."""
    made = [name for module in (*TORCH, *PARALLEL) for name in helpers(module)]
    assert len(made) == len({*made})
