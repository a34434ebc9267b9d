"""Attention over devices that each have a part of the keys: as the whole, and no more is sent than masks let see."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import attnc
from attnc.spec import Model

from .devices import compared
from .test_numbers import assert_as_planned

HEAD = """use std.attention: attend, attend_offset
use std.masks: causal, sliding_window, blocks, prefix, local
width seq
width past like seq
width other
depth model = 16, groups = 4, sharing = 2, key = 4
"""
SELF = """model f(x: [seq, model], real: bool[seq] = true) -> [seq, model] {
    Q = linear[model -> groups, sharing, key](x)
    K = linear[model -> groups, key](x)
    V = linear[model -> groups, key](x)
    O = attend[seq, past, key, key](Q, K[seq as past], V[seq as past], MASK)
    return linear.O[groups, sharing, key -> model](O)
}
"""
CROSS = """model f(x: [seq, model], y: [other, model], real: bool[other]) -> [seq, model] {
    Q = linear[model -> groups, key](x)
    K = linear[model -> groups, key](y)
    V = linear[model -> groups, key](y)
    return linear.O[groups, key -> model](attend[seq, other, key, key](Q, K, V, MASK))
}
"""
MASKS = {
    "causal": "past <= seq",
    "windowed": "sliding_window[seq, past, reach = 4]()",
    "both_sides": "local[seq, past, reach = 2]() and real[seq as past]",
    "padding": "real[seq as past]",
    "full": "true",
    "blocks": "blocks[seq, past, size = 6]()",
    "strided": "past <= seq and (seq - past) % 5 == 0",
    "late": "seq - past >= 7",
}
SLOW = pytest.mark.slow
CONTEXT = {"context": 4}, {"context": ("seq", "other")}
BOTH = {"model": 2, "context": 2}, {"model": ("groups",), "context": ("seq", "other")}
COPIES = {"data": 2, "context": 2}, {"data": ("batch",), "context": ("seq", "other")}
SENDS = {  # by each of 4 devices, forward: to those that see any of its keys
    "causal": (3, 2, 1, 0), "windowed": (1, 1, 1, 0), "both_sides": (1, 2, 2, 1), "padding": (3, 3, 3, 3),
    "full": (3, 3, 3, 3), "blocks": (1, 1, 1, 1), "strided": (3, 2, 1, 0), "late": (2, 1, 0, 0),
}  # fmt: skip


def model(text: str, mask: str) -> Model:
    return attnc.loads(HEAD + text.replace("MASK", mask)).model("f")


def given(of: Model, widths: dict[str, int]) -> dict[str, Tensor]:
    found = {}
    for port in of.inputs:
        shape = [2, *(widths[name] if size is None else size for name, size in zip(port.axes, port.shape, strict=True))]
        real = torch.rand(shape) < 0.7
        real[0, :3] = False  # nothing of the first part is there
        found[port.name or ""] = real if port.element == "bool" else torch.randn(shape, dtype=torch.float64)
    return found


def check(
    of: Model, mesh: tuple[dict[str, int], dict[str, tuple[str, ...]]], widths: dict[str, int]
) -> dict[bool, tuple[int, ...]]:
    sizes, splits = mesh
    there = {name for port in of.inputs for name in port.axes} | {"batch", "groups"}
    splits = {axis: tuple(name for name in names if name in there) for axis, names in splits.items()}
    found = compared(of, sizes, splits, given(of, widths))
    assert found.results < 1e-10 and found.gradients < 1e-10, (found.results, found.gradients)
    widths = {name: size for name, size in widths.items() if name in there}
    planned = of.plan(sizes, widths, splits=splits, batch=2, dtype="float64")
    assert_as_planned(found, planned)
    assert not [one for one in planned.sent if one.means.value == "all-gather"]
    return {one.backward: one.messages for one in planned.sent if one.messages}


@pytest.mark.parametrize("mask", [pytest.param(mask, marks=SLOW if mask != "windowed" else ()) for mask in MASKS])
def test_of_four_devices(mask: str) -> None:
    """Each has three items, and sends keys and values to those alone that can see some of them."""
    sent = check(model(SELF, MASKS[mask]), CONTEXT, {"seq": 12})
    assert sent[False] == SENDS[mask]


@pytest.mark.slow
@pytest.mark.parametrize("mesh", [BOTH, COPIES], ids=["model", "data"])
@pytest.mark.parametrize("mask", ["causal", "windowed", "padding"])
def test_with_other_mesh_axes(mask: str, mesh: tuple[dict[str, int], dict[str, tuple[str, ...]]]) -> None:
    assert check(model(SELF, MASKS[mask]), mesh, {"seq": 10})


@pytest.mark.slow
@pytest.mark.parametrize("mesh", [CONTEXT, BOTH], ids=["alone", "model"])
@pytest.mark.parametrize("mask", ["real", "real and int(other) <= int(seq)", "true"])
def test_across_unlike_widths(mask: str, mesh: tuple[dict[str, int], dict[str, tuple[str, ...]]]) -> None:
    """Queries of one width and keys of another, of which each device has as large a share."""
    sent = check(model(CROSS, mask), mesh, {"seq": 12, "other": 20})
    assert sent[False] == ((3, 2, 1, 0) if "<=" in mask and mesh is CONTEXT else sent[False])


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("attend_offset[seq, past, key, key](Q, K[seq as past], V[seq as past], 0.1 * (past - seq))", "a bias"),
        ("dot[past](dropout(softmax[past](dot[key](Q, K[seq as past])), p = 0.1), V[seq as past])", "dropped weights"),
    ],
    ids=["bias", "dropout"],
)
def test_what_is_gathered_as_before(body: str, why: str) -> None:
    text = SELF.replace("attend[seq, past, key, key](Q, K[seq as past], V[seq as past], MASK)", body)
    planned = model(text, "").plan(CONTEXT[0], {"seq": 12}, splits={"context": ["seq"]})
    assert {one.means.value for one in planned.sent} == {"all-gather", "reduce-scatter"}, why
