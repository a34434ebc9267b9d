"""What a divided model has besides what its spec says: names that it takes, batches, and steps that fail."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

import attnc
from attnc.backends.text.carried import helpers
from attnc.backends.text.names import DIVIDED

SIZES = """
width seq
depth model = 4, whole_result = 2, _run = 2, _division = 2, _modules = 2
block draw_from(x: [seq, model]) -> [seq, model] { return 2 * x }
model forward_backward(x: [seq, model]) -> [seq, model] { return linear.own[model -> model](x) }
model m(x: [seq, model]) -> [seq, model, whole_result, _run, _division, _modules] {
    return linear.out[model -> model, whole_result, _run, _division, _modules](draw_from(forward_backward(x)))
}
"""
WEIGHTS = """
width seq
depth model = 4
model m(x: [seq, model]) -> [seq, model] {
    repeat.layers 2 {
        x = x + linear.own[model -> model](x)
    }
    return linear.batch_part[model -> model](x)
}
"""


@pytest.fixture
def several() -> Iterator[None]:
    """The second of four processes; to whom nothing is sent."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=1, world_size=4)
    yield
    dist.destroy_process_group()


@pytest.fixture
def alone() -> Iterator[None]:
    """One process."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def mesh(*names: str) -> DeviceMesh:
    return init_device_mesh("cpu", (1,) * len(names), mesh_dim_names=names)


def test_sizes_and_blocks_make_way() -> None:
    assert attnc.loads(SIZES).model("m").torch(seed=0)(torch.zeros(2, 3, 4)).shape == (2, 3, 4, 2, 2, 2, 2)


@pytest.mark.slow
def test_sizes_and_blocks_make_way_on_a_mesh(alone: None) -> None:
    of = attnc.loads(SIZES).model("m")
    whole, net, x = of.torch(seed=0), of.parallelize(mesh("data", "model"), seed=0), torch.randn(2, 3, 4)
    one: Any = net
    assert torch.equal(net(one.batch_part(x)), whole(x)) and torch.equal(one.whole_result(net(x)), whole(x))
    one.forward_backward(x, loss=torch.sum)
    assert one.clip_grad_norm_(1.0) > 0


SAID = (
    "^`batch_part` of `m` has weights, and a model on a mesh has a method of that name: call it otherwise in the spec$"
)


def test_weights_may_not() -> None:
    of = attnc.loads(WEIGHTS).model("m")
    for over in ({"data": 2}, {"pipe": 2}):
        with pytest.raises(ValueError, match=SAID):
            of.files("torch", mesh=over)


@pytest.mark.slow
def test_weights_may_not_on_a_mesh(alone: None) -> None:
    for names in (("data", "model"), ("pipe",)):
        with pytest.raises(ValueError, match=SAID):
            attnc.loads(WEIGHTS).model("m").parallelize(mesh(*names))


def test_the_names_are_those_of_all_methods() -> None:
    found = set[str]()
    for file, name in (("torch_modules", "DividedModule"), ("torch_stages", "PipelinedModule")):
        (kind,) = ast.parse(helpers(f"parallel/{file}")[name]).body
        assert isinstance(kind, ast.ClassDef)
        found |= {each.name for each in kind.body if isinstance(each, ast.FunctionDef)} - {"forward"}
    assert {name for name in found if not name.startswith("_")} == DIVIDED


UNEVEN = "^the batch has 6 items, which 4 devices along `data` and `other` do not divide: 4 or 8 would do$"


@pytest.mark.slow
def test_parts_of_a_batch_are_equal(several: None) -> None:
    of = attnc.loads(SIZES).model("m")
    over = init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("data", "model", "other"))
    net: Any = of.parallelize(over, seed=0, zero=0, splits={"other": ["batch"]})
    assert net.batch_part(torch.arange(8)).tolist() == [2, 3] and not len(net.batch_part(torch.zeros(0, 3)))
    with pytest.raises(ValueError, match=UNEVEN):
        net.batch_part(torch.zeros(6, 3))


@pytest.mark.slow
def test_a_step_that_fails_leaves_gradients_as_they_were(alone: None) -> None:
    net: Any = attnc.loads(SIZES).model("m").parallelize(mesh("data", "model"), seed=0)
    x = torch.randn(4, 3, 4)
    net.forward_backward(x, loss=torch.sum, micro=2)
    before = {name: weight.grad.clone() for name, weight in net.named_parameters()}
    losses = iter((torch.sum,))
    with pytest.raises(StopIteration):
        net.forward_backward(x, loss=lambda y: next(losses)(y), micro=2)
    assert all(torch.equal(weight.grad, before[name]) for name, weight in net.named_parameters())
