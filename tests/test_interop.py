"""What users of PyTorch do to models, each done once to a decoder alone and to an encoder with a decoder.

After it, `generate` gives the tokens that the model's own scores say: those of a loop that asks `forward` for all.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import attnc

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[1]
MODELS = ("gpt", "transformer")
PROMPT = torch.tensor([[3, 1, 4, 1], [5, 9, 2, 6]])
SOURCE = {
    "source_ids": torch.tensor([[2, 7, 1, 8, 2], [8, 1, 8, 2, 8]]),
    "real": torch.tensor([[True] * 5, [True, True, True, False, False]]),
}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("name", MODELS),
    pytest.mark.filterwarnings("ignore"),  # of the libraries, about one another
]


def build(name: str) -> Any:
    if name == "transformer":
        model = attnc.load(ROOT / "examples" / "transformer.attn", config="tiny").model("transformer")
    else:
        sizes = {"layers": 2, "model": 64, "heads": 2, "vocab": 50}
        model = attnc.load(ROOT / "bench" / "speed" / "gpt.attn", sizes=sizes).model("gpt")
    return model.torch(seed=1).eval()


def given(name: str) -> Mapping[str, Any]:
    return SOURCE if name == "transformer" else {}


def arguments(name: str, ids: Any) -> dict[str, Any]:
    return {"target_ids": ids} | SOURCE if name == "transformer" else {"ids": ids}


def scores(net: Any, name: str, ids: Any) -> Any:
    with torch.no_grad():
        return net(**arguments(name, ids))


def greedy(score: Callable[[Any], Any], count: int) -> Any:
    """The `count` tokens behind PROMPT that have the highest scores, one after another."""
    ids = PROMPT
    for _ in range(count):
        ids = torch.cat([ids, score(ids)[:, -1:].argmax(-1)], 1)
    return ids[:, PROMPT.shape[1] :]


def holds(net: Any, name: str, module: Any = None) -> None:
    """`generate` of a model gives what its own `forward`, or that of `module` around it, scores highest."""
    expected = greedy(lambda ids: scores(net if module is None else module, name, ids), 5)
    assert torch.equal(net.generate(PROMPT, 5, **given(name)), expected)


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Any]:
    """A group of one process."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh

    dist.init_process_group("gloo", store=dist.FileStore(str(tmp_path / "store"), 1), rank=0, world_size=1)
    try:
        yield init_device_mesh("cpu", (1,))
    finally:
        dist.destroy_process_group()


def test_as_it_is(name: str) -> None:
    holds(build(name), name)


def test_compiled_in_one_graph(name: str) -> None:
    torch._dynamo.reset()
    net = build(name)
    holds(net, name, torch.compile(net, fullgraph=True, backend="eager"))
    torch.testing.assert_close(scores(torch.compile(net, fullgraph=True), name, PROMPT), scores(net, name, PROMPT))


def test_exported(name: str) -> None:
    """With a batch and a width of any size."""
    net = build(name)
    batch, width = torch.export.Dim("batch", min=2), torch.export.Dim("width", min=2, max=64)
    shapes: dict[str, Any] = {"target_ids" if name == "transformer" else "ids": {0: batch, 1: width}}
    if name == "transformer":
        source = torch.export.Dim("source", min=2, max=64)
        shapes |= {key: {0: batch, 1: source} for key in SOURCE}
    exported = torch.export.export(net, (), arguments(name, PROMPT), dynamic_shapes=shapes).module()
    holds(net, name, exported)


def test_pickled_and_copied(name: str) -> None:
    net = build(name)
    for again in (pickle.loads(pickle.dumps(net)), copy.deepcopy(net)):
        assert torch.equal(scores(again, name, PROMPT), scores(net, name, PROMPT))
        holds(again, name)


def test_quantized_by_torchao(name: str) -> None:
    """Weights of 8 bits, each channel with its scale: the scores move a little, and `generate` follows them."""
    quantization = pytest.importorskip("torchao.quantization", reason='needs torchao: pip install ".[interop]"')
    net = build(name)
    before = scores(net, name, PROMPT)
    quantization.quantize_(net, quantization.Int8WeightOnlyConfig())
    after = scores(net, name, PROMPT)
    assert any(type(weight) is not torch.nn.Parameter for weight in net.parameters())
    assert 0 < (after - before).abs().max() <= 0.2 * before.std()
    holds(net, name)


def test_sharded_by_fsdp2(name: str, alone: Any) -> None:
    from torch.distributed.fsdp import fully_shard

    net = build(name)
    expected = net.generate(PROMPT, 5, **given(name))
    layers = [net.layers] if name == "gpt" else [net.encode.layers, net.decode.layers]
    for layer in (one for some in layers for one in some):
        fully_shard(layer, mesh=alone)
    fully_shard(net, mesh=alone)
    assert torch.equal(net.generate(PROMPT, 5, **given(name)), expected)
    net(**arguments(name, PROMPT)).square().mean().backward()
    torch.optim.SGD(net.parameters(), lr=0.1).step()
    holds(net, name)


def test_adapted_by_peft(name: str) -> None:
    """LoRA on queries and values: trained, decoded with the adapters, merged into the weights, and decoded again."""
    peft = pytest.importorskip("peft", reason='needs peft: pip install ".[interop]"')
    net = build(name)
    plain = copy.deepcopy(net)
    before = plain.generate(PROMPT, 5, **given(name))
    tuned = peft.get_peft_model(net, peft.LoraConfig(r=4, target_modules=["Q", "V"], init_lora_weights=False))
    learned = [path for path, weight in tuned.named_parameters() if weight.requires_grad]
    assert learned and all("lora" in path for path in learned)
    descent = torch.optim.SGD([weight for weight in tuned.parameters() if weight.requires_grad], lr=1.0)
    for _ in range(3):
        descent.zero_grad()
        torch.nn.functional.cross_entropy(tuned(**arguments(name, PROMPT)).flatten(0, 1), PROMPT.flatten()).backward()
        descent.step()
    assert not torch.equal(scores(tuned, name, PROMPT), scores(plain, name, PROMPT))
    holds(net, name, tuned)
    with tuned.disable_adapter():
        assert torch.equal(net.generate(PROMPT, 5, **given(name)), before)
    merged = tuned.merge_and_unload()
    assert [path for path, _ in merged.named_parameters()] == [path for path, _ in plain.named_parameters()]
    holds(merged, name)
