"""What `attnc shard` says: known collectives, published memory, messages."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

import attnc
from attnc.cli import main
from attnc.cli.arguments import memory_size
from attnc.compiler.sharding.choose import NoSplit
from attnc.compiler.sharding.mesh import Indivisible
from attnc.compiler.sharding.plan import ShardingPlan

from .subjects import EXAMPLES, model

TRANSFORMER, LLAMA = EXAMPLES / "transformer.attn", EXAMPLES / "zoo/llama.attn"


def sent(plan: ShardingPlan) -> Counter[tuple[str, str, bool]]:
    found: Counter[tuple[str, str, bool]] = Counter()
    for one in plan.sent:
        found[one.path, one.means.value, one.backward] += one.times
    return found


def test_tensor_parallel_as_megatron() -> None:
    """Two sums forward and two backward of each layer (Shoeybi et al. 2019, section 3); of all cross-attentions the
    gradients of the memory are summed once, for they are added before.
    """
    of = attnc.load(TRANSFORMER).model("transformer")
    plan = of.plan({"model": 8}, splits={"model": ["heads", "inner", "vocab"]})
    assert sent(plan) == {
        ("place", "all-reduce", False): 2,
        ("encode.layers.self", "all-reduce", False): 6,
        ("encode.layers.feed_forward", "all-reduce", False): 6,
        ("encode.layers", "all-reduce", True): 12,
        ("", "all-reduce", True): 2,  # of the memory, and of what the logits are made of
        ("decode.layers.self", "all-reduce", False): 6,
        ("decode.layers.cross", "all-reduce", False): 6,
        ("decode.layers.feed_forward", "all-reduce", False): 6,
        ("decode.layers", "all-reduce", True): 18,
    }
    assert {path for path, placed in plan.weights.items() if placed.place == (None,)} == {
        path for path in plan.weights if ".norm." in path or path.endswith("down.bias")
    }


def test_norms_by_parts_of_the_sequence() -> None:
    """Sums become a scatter and a gather (Korthikanti et al. 2022, section 4.2.2): as many bytes, less memory."""
    of = attnc.load(LLAMA).model("llama")
    depths = ["groups", "inner", "vocab"]
    plain = of.plan({"model": 4}, {"seq": 4096}, splits={"model": depths})
    parts = of.plan({"model": 4}, {"seq": 4096}, splits={"model": [*depths, "seq"]})
    of_layers = {"all-gather": 64, "reduce-scatter": 64}
    forward = Counter(kind for (path, kind, back), n in sent(parts).items() if path and not back for _ in range(n))
    assert forward == of_layers
    assert parts.activation_bytes < plain.activation_bytes
    assert parts.cost.operations.value < plain.cost.operations.value  # norms are done once, not on each device


def test_context_parallel_sends_keys_and_values_to_later_devices() -> None:
    """In each layer the first device to three others; for gradients it sends them once more, and the last sends those
    of their keys and values to three.
    """
    of = attnc.load(LLAMA).model("llama")
    plan = of.plan({"context": 4}, {"seq": 4096})
    assert sent(plan) == {
        ("layers.self.attend", "send", False): 96,
        ("layers.self.attend", "send", True): 96,
    }
    assert [one.messages for one in plan.sent] == [(96, 64, 32, 0), (96, 96, 96, 96)]
    assert plan.parameters == plan.whole


ZERO = {0: 120.0, 1: 31.4, 2: 16.6, 3: 1.9}
"""Gigabytes of 7.5 billion weights on 64 devices, by stage (Rajbhandari et al. 2020, figure 1)."""


@pytest.mark.parametrize(("zero", "published"), ZERO.items())
def test_memory_by_stage_of_zero(zero: int, published: float) -> None:
    text = (
        "width seq\ndepth a = 75000, b = 100000\n"
        "model large(x: [seq, a]) -> [seq, b] { return linear.W[a -> b](x, bias = false) }\n"
    )
    plan = attnc.loads(text).model("large").plan({"data": 64}, {"seq": 1}, zero=zero)
    assert plan.whole == 7_500_000_000
    held = plan.weight_bytes + plan.gradient_bytes + plan.optimiser_bytes
    assert round(held / 1e9, 1) == published


def test_what_is_split_is_found() -> None:
    assert set(attnc.load(LLAMA).model("llama").plan({"model": 4}).mesh.axes[0].splits) == {"inner", "groups", "vocab"}
    assert set(attnc.load(TRANSFORMER).model("transformer").plan({"model": 4}).mesh.axes[0].splits) == {
        "inner", "heads", "vocab"
    }  # fmt: skip


def test_groups_fewer_than_devices_stay_whole() -> None:
    """Of 4 groups on 8 devices the checker says so where they are asked for, and splits others where it chooses."""
    of = model("zoo/decoder/decoder")
    with pytest.raises(Indivisible, match="`groups` has 4 items, which the 8 devices of `model` do not divide"):
        of.plan({"model": 8}, splits={"model": ["groups", "inner"]})
    chosen = attnc.load(LLAMA).model("llama").plan({"model": 16}).mesh.axes[0].splits
    assert "groups" not in chosen and "inner" in chosen


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--mesh", "model=3", "--split", "model=heads"], "`heads` has 8 items, which the 3 devices of `model`"),
        (["--mesh", "tensor=2"], "what does the mesh axis `tensor` split? Say `--split tensor=AXIS,AXIS`"),
        (["--mesh", "modle=2"], "axis `modle` split? Did you mean `model`? Or say `--split modle=AXIS,AXIS`; `data`, "),
        (
            ["--mesh", "model=2", "--split", "model=hads"],
            "`model` splits `hads`, which no value and no weight of the model has: did you mean `heads`?",
        ),
        (["--mesh", "model=2", "--split", "data=batch"], "axis `data` to split `batch`: the mesh has `model`"),
        (["--mesh", "model=2", "--split", "modle=heads"], "axis `modle` to split `heads`: did you mean `model`?"),
        (["--find", "2", "--split", "modle=heads"], "no mesh axis `modle` to split `heads`: did you mean `model`?"),
        (["--find", "2", "--split", "model=tokens"], "there are the batch, `source`, `"),
        (
            ["--mesh", "expert=2"],
            "`expert` has nothing to split: no map has weights of its own for each item of an axis: weights have `",
        ),
        (
            ["--mesh", "model=7"],
            "7 devices do not divide `vocab` (37,000), `heads` (8), `key` (64), `value` (64), `inner` (2,048): "
            "2, 4, 5, 8, 10, 16, 20, 25 would divide one of them",
        ),
        (["--mesh", "model=3", "--split", "model=heads,inner"], "or leave it whole, `--split model=inner`"),
        (["--mesh", "data=2", "--split", "data=heads,batch"], "which comes first: `--split data=batch,heads`"),
        (
            ["--mesh", "context=2", "--set", "source=33"],
            "`source` has 33 items, which the 2 devices of `context` do not",
        ),
        (["--mesh", "model=0"], "`model=0` is not NAME=DEVICES, such as data=2"),
        (["--mesh", "model=2,model=2"], "the mesh has two axes named `model`"),
        (["--find", "4", "--memory", "80XB"], "`80XB` is no size of memory: write a number and its unit, such as 80GB"),
        (["--find", "4", "--memory", "0GiB"], "`0GiB` is no size of memory"),
        (["--mesh", "data=2", "--bandwidth", "nan"], "`nan` is not a number above 0"),
        ([], "which devices? write --mesh data=2,model=4, or --find N"),
    ],
)
def test_messages(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shard", str(TRANSFORMER), *arguments]) == 2
    assert says in capsys.readouterr().err


def test_messages_name_the_argument_in_python() -> None:
    of = model("transformer")
    with pytest.raises(
        NoSplit, match=r'what does the mesh axis `tensor` split\? Say `splits={"tensor": \["AXIS", "AXIS"\]}`'
    ):
        of.plan({"tensor": 2})
    with pytest.raises(NoSplit, match=r'`model` splits a list of axes: `splits={"model": \["heads", "inner"\]}`'):
        of.plan({"model": 2}, splits={"model": "heads,inner"})
    sizes: Any = {"model": 2}
    with pytest.raises(TypeError, match=r'init_device_mesh\("cpu", \(2, 4\), mesh_dim_names=.*, not {\'model\': 2}$'):
        of.parallelize(sizes)
    with pytest.raises(Indivisible, match=r'or leave it whole, `splits={"model": \["inner"\]}`$'):
        of.plan({"model": 3}, splits={"model": ["heads", "inner"]})
    with pytest.raises(Indivisible, match=r"do not divide: it divides over 2, 4$"):
        of.plan({"model": 3}, splits={"model": ["heads"]})


def test_a_size_that_nothing_has_is_no_axis_to_split() -> None:
    """The heads of gpt.attn are a number: its weights have groups. Whoever divides says so, on one device, too."""
    of = attnc.load(EXAMPLES / "gpt/gpt.attn", sizes={"character": 97}).model("loss")
    one: Any = SimpleNamespace(mesh_dim_names=("model",), shape=(1,))
    splits = {"model": ["heads"]}
    for divide in (
        lambda: of.plan({"model": 2}, splits=splits),
        lambda: of.plan_stages({"pipe": 2, "model": 2}, splits=splits),
        lambda: of.draw(mesh={"model": 2}, splits=splits),
        lambda: of.files("torch", mesh={"model": 2}, splits=splits),
        lambda: of.parallelize(one, splits=splits),
    ):
        with pytest.raises(NoSplit, match=r"`model` splits `heads`, which no value .* `groups` \(4\), "):
            divide()


def test_queries_are_split_before_keys() -> None:
    """In whichever order the model is given them: keys of other devices go round, and scores are no device's whole."""
    of = attnc.load(EXAMPLES / "transformer_loss.attn").model("loss")
    sizes = {"source": 4096, "target": 4096}
    plans = [of.plan({"context": 2}, sizes, splits=splits) for splits in ({}, {"context": ["source", "target"]})]
    assert plans[0].mesh.axes[0].splits == ("target", "source")
    assert 4 * plans[0].activation_bytes < plans[1].activation_bytes


def test_sizes_of_memory() -> None:
    assert [memory_size(text) for text in ("80", "80GB", "1.5 GiB", "512mb")] == [80e9, 80e9, 1.5 * 2**30, 512e6]


@pytest.mark.parametrize("wrong", [{"zero": 4}, {"micro": 0}, {"batch": 0}, {"reduce": "float8"}])
def test_steps_that_cannot_be(wrong: dict[str, Any]) -> None:
    of = attnc.load(LLAMA).model("llama")
    for plan, mesh in ((of.plan, {"data": 2}), (of.plan_stages, {"pipe": 2})):
        with pytest.raises(ValueError, match=r"zero is 4: it is 0|micro is 0: a|batch is 0: a|'float8'"):
            plan(mesh, **wrong)


def test_no_axis_that_a_stream_has_is_chosen() -> None:
    text = (
        "width seq\ndepth model = 6\nmodel only(x: [seq, model]) -> [seq, model] { return layernorm.norm[model](x) }\n"
    )
    with pytest.raises(NoSplit, match="`model` has nothing to split"):
        attnc.loads(text).model("only").plan({"model": 2})
