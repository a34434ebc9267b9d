"""Inputs have the extents that the formulas of their widths say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import attnc


def either(text: str) -> Iterator[Callable[..., Any]]:
    """Both backends of a model, given tensors."""
    model = attnc.loads(text).model("f")
    plain = model.numpy()
    yield model.torch()
    yield lambda **given: plain(**{name: x.numpy() for name, x in given.items()})


@pytest.mark.parametrize(
    ("declared", "right", "said"),
    [
        ("s * 2", 6, "`y` has c = 5, but c = s * 2 is 6"),
        ("a + 1", 7, "`y` has c = 5, but c = a + 1 is 7"),
        ("s - k", 2, "`y` has c = 5, but c = s - k is 2.0"),
        ("min(s, 4) ^ 2", 9, "`y` has c = 5, but c = min(s, 4) ^ 2 is 9"),
        ("(s + 1) / 2", 2, "`y` has c = 5, but c = (s + 1) / 2 is 2"),
        ("s / 2", None, "c = s / 2 does not divide: 3 / 2"),
    ],
)
@pytest.mark.parametrize("read", ["y", "y * broadcast[c](sum[s](x))"])
def test_inputs_are_held_to_the_formulas_of_their_widths(
    declared: str, right: int | None, said: str, read: str
) -> None:
    """Whatever the model reads of them."""
    text = (
        f"const k = 1.0\nwidth s\nwidth a = s * 2, c = {declared}, other like c\nmodel f(x: [s], y: [other]) -> [other]"
    )
    text += f" {{\n    return {read.replace('[c]', '[other]')}\n}}\n"
    for run in either(text):
        if right is not None:
            assert run(x=torch.ones(3), y=torch.ones(right)).shape == (right,)
        with pytest.raises(ValueError, match=re.escape(f"f: {said.replace('c = ', 'other = ')}")):
            run(x=torch.ones(3), y=torch.ones(5))


def test_two_widths_that_derive_from_one_are_held_to_each_other() -> None:
    text = "width s\nwidth a = s * 2, b = s * 3\n"
    text += "model f(x: [a], y: [b]) -> [b] {\n    return y * broadcast[b](sum[a](x))\n}\n"
    for run in either(text):
        assert run(x=torch.ones(4), y=torch.ones(6)).shape == (6,)
        with pytest.raises(ValueError, match=r"f: `y` has b = 5, but b = s \* 3 is 6"):
            run(x=torch.ones(4), y=torch.ones(5))
    one = "width s\nwidth a = s * 2\nmodel f(x: [a]) -> [a] {\n    return x\n}\n"  # nothing tells what s is
    assert next(either(one))(x=torch.ones(3)).shape == (3,)


@pytest.mark.parametrize(
    ("declared", "inputs", "right", "wrong"),
    [
        ("a = s * 2, b = a * 2, c = a + 1", "x: [b], y: [c]", [(8, 5)], (8, 6)),  # by way of what no input has
        ("c = s * 2", "x: [s], y: [c] = 0", [(3, 6), (3, None)], (3, 1)),
        ("c = s * 2", "x: [c], y: [s] = 0", [(6, 3), (6, None)], (6, 5)),
        ("c = s * r", "x: [s], y: [c]", [(50, 55)], (50, 54)),  # 55.00000000000001
    ],
)
def test_what_inputs_tell_of_each_other(
    declared: str, inputs: str, right: list[tuple[int, int | None]], wrong: tuple[int, int]
) -> None:
    text = f"const r = 1.1\nwidth s\nwidth {declared}\nmodel f({inputs}) -> [] {{\n    return 0 * r\n}}\n"
    for run in either(text):
        for first, second in right:
            run(x=torch.ones(first), **({} if second is None else {"y": torch.ones(second)}))
        with pytest.raises(ValueError, match=r"f: `y` has . = \d, but|f: `y` has c = 54, but"):
            run(x=torch.ones(wrong[0]), y=torch.ones(wrong[1]))


@pytest.mark.parametrize(
    "declared",
    [
        "h, w\nwidth a = h * w, b = h * 2 + w * 2",
        "s, t\nwidth a = s + t, b = s * t",
        "s, t\nwidth a = s + t, b = t + s",
    ],
)
def test_what_no_input_tells_is_not_held_to(declared: str) -> None:
    text = f"width {declared}\nmodel f(x: [a], y: [b]) -> [a] {{\n    return x * 2\n}}\n"
    for run in either(text):
        assert run(x=torch.ones(6), y=torch.ones(10)).shape == (6,)


def test_a_width_that_its_own_size_would_tell_is_not_told() -> None:
    """The checker says so, not the backend."""
    text = "width s\nwidth c = (s - 1) / 3\nwidth d = s + c\nmodel f(x: [d]) -> [] {\n    return sum[d](x) + |s|\n}\n"
    with pytest.raises(attnc.AttnError, match="E0409"):
        attnc.loads(text).model("f").torch()
    both = text.replace("x: [d]", "x: [d], y: [c]").replace("|s|", "|s| + 0 * sum[c](y)")
    for run in either(both):
        assert run(x=torch.ones(5), y=torch.ones(1)) == 9


def test_nothing_is_divided_by_a_const_of_0() -> None:
    text = "const k = 0\nwidth s\nwidth d = s * k\nmodel f(x: [d]) -> [] {\n    return sum[d](x) + |s|\n}\n"
    for run in either(text):
        with pytest.raises(ValueError, match="f: s = d / k does not divide: 0 / 0"):
            run(x=torch.ones(0))


@pytest.mark.parametrize("wrong", [-1, 4])
def test_indices_into_a_width_that_no_input_has(wrong: int) -> None:
    text = "width s\nwidth past like s\nwidth c = s * 2\nmodel f(x: [s], i: c[s]) -> [s] {\n"
    for body in ("concat[s, past -> c](x, x[s as past])[c = i]", "x + 0 * int(i)"):
        for run in either(f"{text}    return {body}\n}}\n"):
            assert run(x=torch.ones(2), i=torch.tensor([3, 0])).tolist() == [1, 1]
            with pytest.raises(IndexError, match=rf"f: `i`: index into c: {wrong} is no index \(0\.\.3\)"):
                run(x=torch.ones(2), i=torch.tensor([0, wrong]))


def test_a_ragged_sum_is_held_to_its_examples() -> None:
    """The longest of sums is shorter than the sum of the longest."""
    text = "width s ragged\nwidth t ragged\nwidth c = s + t\nmodel f(x: [s], z: [t], y: [c]) -> [] {\n"
    text += "    return sum[c](y) + 0 * sum[s](x) * sum[t](z)\n}\n"
    for run in either(text):
        more = {"s_lengths": torch.tensor([5, 1]), "t_lengths": torch.tensor([1, 5])}
        for room in (6, 9):
            found = run(x=torch.ones(2, 5), z=torch.ones(2, 5), y=torch.ones(2, room), **more)
            assert found.tolist() == [6, 6]
        with pytest.raises(ValueError, match=r"f: `y` has c = 5, but c = s \+ t is 6 \(the example at \[0\]\)"):
            run(x=torch.ones(2, 5), z=torch.ones(2, 5), y=torch.ones(2, 5), **more)
