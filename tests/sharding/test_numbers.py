"""A split model computes what the whole does: results, gradients, and what is sent is what the plan says."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

import attnc
from attnc.compiler.sharding.plan import ShardingPlan
from attnc.spec import Size

from .devices import Difference, compared
from .subjects import BATCH, EXAMPLES, WIDTH, draw, inputs, model

MESHES = [
    ("transformer_loss", {"data": 2, "model": 2}, {"data": ("batch",), "model": ("heads", "inner", "vocab")}),
    pytest.param(
        "zoo/decoder/decoder",
        {"model": 2, "context": 2},
        {"model": ("groups", "inner", "vocab"), "context": ("seq",)},
        marks=pytest.mark.slow,
    ),
    *(  # one axis split by several: parts lie within parts
        pytest.param("zoo/decoder/decoder", {"a": 2, "b": 2}, {"a": a, "b": b}, marks=pytest.mark.slow)
        for a, b in (
            (("vocab",), ("vocab",)),
            (("groups", "seq"), ("seq",)),
            (("seq",), ("groups", "inner", "seq")),
            (("inner", "groups", "vocab", "seq"), ("vocab", "groups", "inner", "seq")),
        )
    ),
]


def check(name: str, mesh: dict[str, int], splits: dict[str, tuple[str, ...]], seed: int = 0) -> None:
    of = model(name)
    given = inputs(of, seed)
    found = compared(of, mesh, splits, given, seed)
    assert found.results < 1e-10 and found.gradients < 1e-10, (name, mesh, splits, found.results, found.gradients)
    free = {name for port in of.inputs for name, size in zip(port.axes, port.shape, strict=True) if size is None}
    widths = dict.fromkeys(free, WIDTH)
    planned = of.plan(mesh, widths, splits=splits, batch=BATCH, dtype="float64")
    assert_as_planned(found, planned)


def expected(planned: ShardingPlan) -> tuple[Counter[tuple[str, str, int]], Counter[tuple[str, int, int]]]:
    """What is sent as the plan says: collectives of the first device, and messages of each."""
    said: Counter[tuple[str, str, int]] = Counter()
    messages: Counter[tuple[str, int, int]] = Counter()
    for one in planned.sent:
        along, bytes = planned.mesh.axes[one.mesh].name, planned.bytes_of(one.given)
        if one.messages:
            messages.update({(along, device, bytes): count for device, count in enumerate(one.messages)})
        else:
            said[one.means.value, along, bytes] += one.times
    return +said, +messages


def assert_as_planned(found: Difference, planned: ShardingPlan) -> None:
    """What is sent is what the plan says."""
    said, messages = expected(planned)
    assert Counter(found.sent) == said, planned.mesh
    assert found.messages == messages, planned.mesh


@pytest.mark.parametrize(("name", "mesh", "splits"), MESHES)
def test_known_meshes(name: str, mesh: dict[str, int], splits: dict[str, tuple[str, ...]]) -> None:
    check(name, mesh, splits)


CLIP: dict[str, Size] = {
    "text_layers": 1, "picture_layers": 1, "high": 32, "wide": 32, "down": 16, "across": 16, "longest": 16, "vocab": 40,
    "eos": 39, "joint": 16, "reader": 16, "reader_heads": 2, "reader_inner": 32, "viewer": 16, "viewer_heads": 2,
    "viewer_inner": 32,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("widths", [("pictures", "texts", "seq"), ("texts",), ("pictures",), ("seq",)])
def test_widths_over_which_blocks_lift(widths: tuple[str, ...]) -> None:
    """What is sent along them within a block, and within a repeat in that, knows their place."""
    of = attnc.load(EXAMPLES / "zoo/clip/clip.attn", sizes=CLIP).model("pairs")
    ids = torch.randint(0, 39, (2, 4, 8))
    ids[..., -1] = 39
    pictures = torch.randn(2, 4, 3, 32, 32, dtype=torch.float64)
    splits = {"context": widths}
    real = torch.ones(2, 4, 8, dtype=torch.bool)
    found = compared(of, {"context": 2}, splits, {"image": pictures, "ids": ids, "real": real})
    assert found.results < 1e-10 and found.gradients < 1e-10, (found.results, found.gradients)
    sizes = {"seq": 8, "texts": 4, "pictures": 4}
    assert_as_planned(found, of.plan({"context": 2}, sizes, splits=splits, batch=2, dtype="float64"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_random_meshes(seed: int) -> None:
    check(*draw(seed), seed)
