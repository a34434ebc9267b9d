"""Decoding with weights that are tensors of other classes: sharded over processes (FSDP2), quantized (torchao)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

import attnc

SPEC = """
use std.attention: multihead, model, heads
use std.feed_forward: swiglu, inner, model

const layers = 2
width seq <= 32
width past like seq
width source
depth model = 64, heads = 2, inner = 128, vocab = 11

model lm(ids: vocab[seq]) -> [seq, vocab] causal seq {
    param E: [vocab, model] ~ normal(1)
    x = E[vocab = ids]
    repeat layers {
        y = layernorm.see[model](x)
        x = x + multihead.self[seq, past, bias = true](y, y[seq as past], past <= seq)
        x = x + swiglu.fed(layernorm.feed[model](x))
    }
    return dot[model](x, E)
}

model translator(words: vocab[source], ids: vocab[seq]) -> [seq, vocab] causal seq {
    param E: [vocab, model] ~ normal(1)
    memory = E[vocab = words]
    repeat.encode layers {
        memory = memory + swiglu.fed(layernorm.feed[model](memory))
    }
    x = E[vocab = ids]
    repeat.decode layers {
        y = layernorm.see[model](x)
        x = x + multihead.self[seq, past](y, y[seq as past], past <= seq) + multihead.cross[seq, source](y, memory)
    }
    return dot[model](x, E)
}
"""
IDS = torch.tensor([[1, 2, 3]])


def build(name: str = "lm") -> Any:
    return attnc.loads(SPEC).model(name).torch(seed=1, dtype="float64").eval()


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Any]:
    """A group of one process."""
    dist.init_process_group("gloo", store=dist.FileStore(str(tmp_path / "store"), 1), rank=0, world_size=1)
    try:
        yield init_device_mesh("cpu", (1,))
    finally:
        dist.destroy_process_group()


def beams_of(net: Any) -> Callable[..., Any]:
    return lambda *given: net.generate(*given, beams=2)


def sharded(net: nn.Module, mesh: Any) -> nn.Module:
    for name, module in net.named_modules():
        if name.rpartition(".")[0] in ("layers", "encode", "decode"):
            fully_shard(module, mesh=mesh)
    fully_shard(net, mesh=mesh)
    return net


@pytest.mark.filterwarnings("ignore")  # of torch, on a CPU
@pytest.mark.parametrize("name", ["lm", "translator"])
def test_a_sharded_model_generates(alone: Any, name: str) -> None:
    plain = build(name)
    net = sharded(copy.deepcopy(plain), alone)
    given = {"words": torch.tensor([[4, 5]])} if name == "translator" else {}
    options: list[dict[str, Any]] = [{}, {"temperature": 1.0, "seed": 3}, {"beams": 2}]
    for more in options:
        assert torch.equal(net.generate(IDS, 6, **given, **more), plain.generate(IDS, 6, **given, **more))
    assert [int(x) for x in net.stream(IDS, 6, **given)] == plain.generate(IDS, 6, **given)[0].tolist()
    with pytest.raises(ValueError, match=f"{name}: the weights are sharded, and so do not stay .*: leave static out"):
        net.generate(IDS, 6, static=True, **given)
    torch.testing.assert_close(net.step(IDS, net.prepare(**given)), plain.step(IDS, plain.prepare(**given)))


@pytest.mark.filterwarnings("ignore")
def test_a_sharded_model_trains_between_samples(alone: Any) -> None:
    plain = build()
    net = sharded(copy.deepcopy(plain), alone)
    descents = [torch.optim.SGD(each.parameters(), lr=0.01) for each in (net, plain)]
    for _ in range(2):
        assert torch.equal(net.generate(IDS, 6), plain.generate(IDS, 6))
        for each, descent in zip((net, plain), descents, strict=True):
            descent.zero_grad()
            each(IDS).log_softmax(-1)[..., 3].sum().neg().backward()
            for decode in (each.generate, lambda *given, each=each: list(each.stream(*given)), beams_of(each)):
                decode(IDS, 2)
                assert each is plain or all(isinstance(weight, DTensor) for weight in each.parameters())
            descent.step()
    torch.testing.assert_close(net(IDS), plain(IDS))


@pytest.mark.filterwarnings("ignore")
def test_a_sharded_model_is_not_laid_out(alone: Any) -> None:
    """Weights that stay gathered look plain, but in other memory they would be FSDP2's no more."""
    plain = build()
    net = copy.deepcopy(plain)
    for module in (*net.layers, net):
        fully_shard(module, mesh=alone, reshard_after_forward=False)
    assert torch.equal(net.generate(IDS, 3), plain.generate(IDS, 3))
    for module in (*net.layers, net):
        module.unshard()
    assert type(net.layers[0].self.Q.weight) is nn.Parameter
    net.lay_out_for_decoding()
    for module in (*net.layers, net):
        module.reshard()
    with torch.no_grad():
        for weight in (*net.parameters(), *plain.parameters()):
            weight.mul_(-1.5)
    assert torch.equal(net.generate(IDS, 6), plain.generate(IDS, 6))
    torch.testing.assert_close(net(IDS), plain(IDS))


@pytest.mark.filterwarnings("ignore")
def test_a_model_is_sharded_when_its_layout_is_undone(alone: Any) -> None:
    plain = build()
    net = copy.deepcopy(plain)
    net.lay_out_for_decoding()
    with pytest.raises(NotImplementedError, match="contiguous"):
        fully_shard(copy.deepcopy(net), mesh=alone)
    net.lay_out_for_decoding(undo=True)
    assert torch.equal(sharded(net, alone).generate(IDS, 6), plain.generate(IDS, 6))


class Marked(torch.Tensor):
    """A tensor that alone knows how to multiply: nobody may look at its memory, or at its version."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        version = torch.Tensor._version.__get__  # type: ignore[attr-defined]
        if func == version or getattr(func, "__name__", "") in ("detach", "data_ptr", "view"):
            raise RuntimeError("is no plain tensor")
        return super().__torch_function__(func, types, args, kwargs or {})


@pytest.mark.parametrize("which", ["weight", "bias"])
def test_maps_of_other_tensors_are_called(which: str) -> None:
    plain, net = build(), build()
    for module in net.modules():
        if isinstance(module, nn.Linear) and getattr(module, which) is not None:
            known = getattr(module, which).detach().as_subclass(Marked)
            del module._parameters[which]
            setattr(module, which, known)
    assert any(isinstance(getattr(m, which, None), Marked) for m in net.modules())
    assert torch.equal(net.generate(IDS, 6), plain.generate(IDS, 6))
    torch.testing.assert_close(torch.as_tensor(net.step(IDS, net.prepare())), plain.step(IDS, plain.prepare()))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_quantized_weights_of_torchao() -> None:
    quantization = pytest.importorskip("torchao.quantization")
    net = attnc.loads(SPEC).model("lm").torch(seed=1).eval()
    quantization.quantize_(net, quantization.Int8WeightOnlyConfig())
    cache, whole = net.prepare(), net(IDS)
    steps = torch.cat([net.step(IDS[:, place : place + 1], cache) for place in range(3)], 1)
    torch.testing.assert_close(steps, whole, atol=1e-3, rtol=1e-3)
    expected = IDS
    for _ in range(6):
        expected = torch.cat([expected, net(expected)[:, -1:].argmax(-1)], 1)
    for static in (False, True):
        assert torch.equal(net.generate(IDS, 6, static=static), expected[:, 3:])
