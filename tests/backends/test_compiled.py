"""What `torch.compile` makes of generated modules: one graph, for all widths, and for all layers that are alike."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._dynamo.testing import CompileCounter
from torch.nn.attention.flex_attention import BlockMask

import attnc
from attnc.backends.runtime.torch import masks as torch_masks
from attnc.backends.runtime.torch.masks import flexible_attention, mask_tiles
from tests.backends.agreement import random_inputs
from tests.decode.models import ROOT, ZOO, small

pytestmark = [  # what PyTorch says of its own code
    pytest.mark.filterwarnings("ignore:The .grad attribute"),
    pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile"),
]
QUICK = {"examples/zoo/gpt2", "examples/zoo/mistral"}
MODELS = [
    pytest.param(path, id=path.split("/")[-1], marks=() if path in QUICK else pytest.mark.slow)
    for path in ZOO
    if not path.endswith("scan")  # a scan is written out, item by item
]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    torch._dynamo.reset()


def given(model: attnc.Model, *widths: int) -> list[Tensor]:
    return [torch.tensor(x) for x in random_inputs(model._sized, (2,), widths, np.float32)]


def blocks(net: nn.Module) -> list[nn.Module]:
    """Those that repeats repeat: what docs/gpu.md compiles."""
    return [block for part in net.modules() if isinstance(part, nn.ModuleList) for block in part]


@pytest.mark.parametrize("path", MODELS)
def test_one_graph_for_all_widths(path: str) -> None:
    """The second width opens it; no further one is compiled again."""
    model = small(path)
    net = model.torch(seed=0).eval()
    counter = CompileCounter()
    whole = torch.compile(net, fullgraph=True, backend=counter)
    for widths in ((12, 11), (9, 8), (8, 13), (11, 7)):
        inputs = given(model, *widths)
        torch.testing.assert_close(whole(*inputs), net(*inputs), rtol=1e-4, atol=1e-5)
    assert counter.frame_count == 2


def test_one_graph_for_all_numbers_of_a_mask() -> None:
    """A mask may be made with the width of something else, which a graph leaves open too."""
    text = """\
use std.attention: multihead, model, heads
width seq, other
width past like seq
depth model = 8, heads = 2
model net(x: [seq, model], y: [other, model]) -> [seq, model] {
    seen = past <= seq and seq - past < int(|other|)
    return multihead[seq, past](x, x[seq as past], seen) + broadcast[seq](mean[other](y))
}
"""
    net = attnc.loads(text).model("net").torch(seed=0)
    counter = CompileCounter()
    whole = torch.compile(net, fullgraph=True, backend=counter)
    for seq, other in ((20, 5), (20, 6), (20, 9), (30, 7), (41, 8)):
        inputs = torch.randn(2, seq, 8), torch.randn(2, other, 8)
        torch.testing.assert_close(whole(*inputs), net(*inputs))
    assert counter.frame_count == 3  # for one pair of widths, for all others, for all of both


@pytest.mark.parametrize("layers", [2, 6])
@pytest.mark.parametrize("file", ["bench/speed/gpt", "tests/zoo/more/gemma2"])
def test_layers_that_are_alike_share_a_graph(file: str, layers: int) -> None:
    """GPT has one kind of layer, Gemma 2 two (a window in every second): however many there are, so many graphs."""
    sizes = {"layers": layers, "model": 24, "heads": 4, "vocab": 31} if "gpt" in file else {"layers": layers}
    spec = attnc.load(ROOT / f"{file}.attn", sizes=sizes)
    model = spec.model(spec.models[0])
    net, plain = model.torch(seed=0), model.torch(seed=0)
    counter = CompileCounter()
    made = blocks(net)
    assert len(made) == layers
    for block in made:
        block.compile(fullgraph=True, backend=counter)
    inputs = given(model, 9)
    results = net(*inputs), plain(*inputs)
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)
    for result in results:
        result.square().sum().backward()
    for one, other in zip(net.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-3, atol=1e-4)
    assert counter.frame_count == len({type(block) for block in made})


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # the compiler's own
def test_blocks_by_the_real_compiler() -> None:
    """Forward and backward by inductor, which needs a C++ compiler; dtype and autocast of training."""
    spec = attnc.load(ROOT / "bench/speed/gpt.attn", sizes={"layers": 3, "model": 32, "heads": 2, "vocab": 50})
    net, plain = (spec.model("loss").torch(seed=0) for _ in range(2))
    for block in blocks(net):
        block.compile(fullgraph=True)
    inputs = given(spec.model("loss"), 16)
    with torch.autocast("cpu", torch.bfloat16):
        losses = net(*inputs).mean(), plain(*inputs).mean()
    torch.testing.assert_close(*losses, rtol=1e-2, atol=1e-2)
    for loss in losses:
        loss.backward()
    for one, other in zip(net.parameters(), plain.parameters(), strict=True):
        assert one.grad is not None and other.grad is not None
        assert (one.grad - other.grad).norm() < 0.1 * other.grad.norm()


# FlexAttention, which is for CUDA: what can be seen of it on a CPU.


def window(q: Tensor, k: Tensor, real: Tensor, near: int = 100) -> Tensor:
    return (k <= q) & (q - k < near) & real


def layers(seen: Callable[..., Tensor], x: Tensor, real: Tensor, count: int) -> Tensor:
    for _ in range(count):
        x = flexible_attention(seen, x, x, x, real)
    return x


@pytest.mark.parametrize("compiled", [False, True])
def test_tiles_are_made_once(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """For all layers and calls of one width, and within graphs as constants that nothing has to be copied for."""
    monkeypatch.setattr(torch_masks, "TILES", {})
    made = []
    true = torch_masks.in_sight
    monkeypatch.setattr(torch_masks, "in_sight", lambda *given: made.append(given[1]) or true(*given))
    run = torch.compile(layers, fullgraph=True, backend="eager") if compiled else layers
    x, real = torch.randn(2, 3, 300, 16), torch.rand(2, 1, 1, 300) > 0.2
    place = torch.arange(300)
    mask = window(place[:, None], place, real)
    expected = x
    for _ in range(3):
        expected = F.scaled_dot_product_attention(expected, expected, expected, mask)
    for _ in range(2):
        torch.testing.assert_close(run(window, x, real, 3), expected)
    assert made == [0, 128, 256]  # each row of tiles, once
    assert len(torch_masks.TILES) == 1


def test_tiles_as_pytorch_turns_them() -> None:
    """The columns are what BlockMask finds by itself from the rows; and the tiles hold all that is seen."""
    torch_masks.TILES.clear()
    with torch.inference_mode():
        tiles = mask_tiles(lambda q, k: (k <= q) & (q - k < 300), 700, 900, (), torch.device("cpu"))
    assert not any(x.is_inference() for x in tiles)  # a later call may train
    ours = BlockMask((700, 900), *tiles, (128, 128))  # type: ignore[arg-type]  # a tuple of any length
    theirs = BlockMask.from_kv_blocks(*tiles[:4], BLOCK_SIZE=128, seq_lengths=(700, 900))
    for counts, places in (("q_num_blocks", "q_indices"), ("full_q_num_blocks", "full_q_indices")):
        mine, right = getattr(ours, counts), getattr(theirs, counts)
        assert torch.equal(mine, right)
        for column in range(mine.shape[-1]):
            kept = [getattr(x, places)[0, 0, column, : mine[0, 0, column]].tolist() for x in (ours, theirs)]
            assert kept[0] == kept[1]
    q, k = torch.arange(768)[:, None], torch.arange(1024)
    seen = ((k <= q) & (q - k < 300) & (q < 700) & (k < 900)).unflatten(0, (-1, 128)).unflatten(-1, (-1, 128))
    assert torch.equal(ours.to_dense()[0, 0].bool(), seen.any(-1).any(1))


def test_flexible_attention_under_autocast() -> None:
    """Queries and keys that were turned by a table are float32, values are not."""
    Q, V = torch.randn(1, 2, 50, 16), torch.randn(1, 2, 50, 16).bfloat16()
    real = torch.ones(1, 1, 1, 50, dtype=torch.bool)
    with torch.autocast("cpu", torch.bfloat16):
        out = flexible_attention(window, Q, Q, V, real)
    expected = F.scaled_dot_product_attention(Q, Q, V.float(), is_causal=True)
    assert out.dtype == torch.bfloat16
    assert (out - expected).abs().max() < 0.05 * expected.std()


LEFT_OUT = """
width seq
width past like seq
depth model = 8, heads = 2, key = 4
block attend(x: [seq, model], real: bool[past]) -> [seq, model] {{
    Q = linear[model -> heads, key](x)
    K = linear[model -> heads, key](x[seq as past])
    V = linear[model -> heads, key](x[seq as past])
    O = dot[past](softmax[past](dot[key](Q, K) / sqrt(|key|) where past <= seq and real), V)
    return linear.out[heads, key -> model](O)
}}
model net(x: [seq, model], real: bool[seq] = {default}) -> [seq, model] {{
    {before}
    repeat.layers i in 2 {{
        x = x + attend(x, {mask})
        {after}
    }}
    return x
}}
"""


def kernels(net: nn.Module, *given: Tensor) -> tuple[list[bool], Tensor]:
    """For each kernel of the one graph whether it is causal, without a mask; and the result."""
    found: list[bool] = []

    def backend(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., object]:
        calls = [node for node in graph.graph.nodes if node.target is F.scaled_dot_product_attention]
        found.extend(node.args[3] is None and node.args[5] is True for node in calls)
        return graph.forward

    torch._dynamo.reset()
    return found, torch.compile(net, backend=backend, fullgraph=True)(*given)


LEFT_OUT_PARTS = {"default": "true", "before": "", "after": "", "mask": "real[seq as past]"}


@pytest.mark.parametrize(
    ("said", "parts"),
    [
        (True, {}),
        (False, {"default": "false"}),
        (False, {"mask": "(not real)[seq as past]"}),
        (False, {"before": "other = sum[model](x) > 0", "mask": "other[seq as past]"}),
        (False, {"before": "other = real and sum[model](x) > 0", "mask": "other[seq as past]"}),
        (False, {"after": "x = x + attend.more(x, (not real)[seq as past])"}),
    ],
)
def test_what_may_be_false_is_not_taken_for_padding_left_out(said: bool, parts: dict[str, str]) -> None:
    model = attnc.loads(LEFT_OUT.format(**LEFT_OUT_PARTS | parts)).model("net")
    assert ("true_if_one=True" in model.source("torch")) == said


def test_padding_that_is_left_out_is_no_mask() -> None:
    """The causal kernel, though nobody looks at what a graph is given."""
    net = attnc.loads(LEFT_OUT.format(**LEFT_OUT_PARTS)).model("net").torch(seed=0)
    x, real = torch.randn(2, 5, 8), torch.tensor([[False, True, True, False, True], [True] * 5])
    found, made = kernels(net, x)
    assert found == [True, True]
    torch.testing.assert_close(made, net(x))
    for width in (5, 1):  # one key is of one item where it is given, too
        found, made = kernels(net, x[:, :width], real[:, :width])
        assert found == [False, False]
        torch.testing.assert_close(made, net(x[:, :width], real[:, :width]))


def test_padding_that_is_left_out_is_no_mask_where_it_is_exported() -> None:
    net = attnc.loads(LEFT_OUT.format(**LEFT_OUT_PARTS)).model("net").torch(seed=0)
    made = torch.export.export(net, (torch.randn(2, 5, 8),), dynamic_shapes=({1: torch.export.Dim("seq", min=2)},))
    calls = [node for node in made.graph.nodes if "scaled_dot_product" in str(node.target)]
    assert [node.args[3:] for node in calls] == [(None, 0.0, True)] * 2
    longer = torch.randn(2, 9, 8)
    torch.testing.assert_close(made.module()(longer), net(longer))
