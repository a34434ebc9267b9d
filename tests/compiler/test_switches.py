"""Switches of a spec: lists of numbers, sizes of branches that are not taken, truths that are known early.

What is wrong of them stands in tests/mistakes/lists.txt and switches.txt; what they compute, at the end of
tests/backends/specs.txt and in tests/backends/test_windows.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest
import torch

import attnc
from attnc.cli.arguments import setting
from attnc.compiler.check import build
from attnc.compiler.graph.nodes import Repeat
from attnc.compiler.sizes.axes import Value, known
from attnc.dsl.errors import AttnError
from attnc.dsl.render import render_all
from attnc.dsl.source import Source

WINDOWS = """
width seq
width past like seq
depth d = 4
const near = 8, windows = [0, near, 2 * near]
config short { windows = [0, near], near = 3 }
config one { windows = [5] }

model f(x: [seq, d]) -> [seq, d] causal seq {
    repeat window in windows {
        seen = past <= seq and (window == 0 or seq - past < window)
        x = linear.W[d -> d](x + dot[past](softmax[past](dot[d](x, x[seq as past]) where seen), x[seq as past]))
    }
    return x
}
"""


def windows_of(**given: object) -> Value | None:
    program = build(Source("<test>", WINDOWS), **given)  # type: ignore[arg-type]
    assert not program.errors, render_all(program.diagnostics)
    graph = program.graph("f")
    (repeat,) = (node for node in graph.nodes if isinstance(node, Repeat))
    (found,) = (const.value for const in graph.consts if const.name == "windows")
    assert isinstance(found, tuple) and known(repeat.count) == len(found) and repeat.name == "windows"
    return found


def test_a_list_is_declared_taken_from_a_config_and_set() -> None:
    assert windows_of() == (0, 8, 16)
    assert windows_of(config="short") == (0, 3)
    assert windows_of(config="one") == (5,)
    assert windows_of(sizes={"near": 2}) == (0, 2, 4)
    assert windows_of(sizes={"windows": (7, 0), "near": 2}, config="one") == (7, 0)


@pytest.mark.parametrize("given", [[0, 3], (0, 3), np.array([0, 3])])
def test_a_list_is_set_from_python(given: list[int]) -> None:
    model = attnc.loads(WINDOWS, sizes={"windows": given}).model("f")
    assert [path for path in model.weights if path.endswith("weight")] == ["windows.0.W.weight", "windows.1.W.weight"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("0,512,512", (0, 512, 512)), ("[0, 512]", (0, 512)), ("[7]", (7,)), ("[0.5,1]", (0.5, 1)),
     ("true,false", (True, False)),
     ("7,", (7,))],
)  # fmt: skip
def test_a_list_is_set_on_the_command_line(text: str, value: Value) -> None:
    assert setting(f"windows={text}") == ("windows", value)


@pytest.mark.parametrize("text", ["[]", "[1", "1,,2", "1,x", "[1]2", ","])
def test_what_is_no_list_on_the_command_line(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a number"):
        setting(f"windows={text}")


@pytest.mark.parametrize(
    ("sizes", "code", "said"),
    [
        ({"windows": 5}, "E0601", "`windows` is a list, but is set to one number"),
        ({"near": (1, 2)}, "E0601", "`near` is one number, but is set to a list"),
        ({"d": (1, 2)}, "E0207", "the size of `d` is set to a list"),
        ({"windows": (1, True)}, "E0601", "truth values and numbers"),
    ],
)
def test_a_setting_of_the_wrong_kind(sizes: dict[str, Value], code: str, said: str) -> None:
    found, *more = build(Source("<test>", WINDOWS), sizes=sizes).errors
    assert not more and found.code == code and said in found.message


def test_what_python_cannot_set() -> None:
    for value in ("8", [], ["8"], None):
        with pytest.raises(TypeError, match="a number, True or False, or a list of them"):
            attnc.loads(WINDOWS, sizes={"windows": value})  # type: ignore[dict-item]


def test_a_list_of_a_used_file_is_the_importers_own(tmp_path: Path) -> None:
    (tmp_path / "lib.attn").write_text(
        "width t\ndepth d = 4\nconst gains = [1, 2]\nblock scaled(x: [t, d]) -> [t, d] {\n"
        "    repeat gain in gains {\n        x = x * gain\n    }\n    return x\n}\n"
    )
    main = "use lib: scaled, t, d, gains\n{}model f(x: [t, d]) -> [t, d] {{\n    return scaled(x) + gains[0]\n}}\n"
    for own, wanted in (("", 2 + 1), ("const gains = [3, 5, 7]\n", 105 + 3)):
        model = attnc.loads(main.format(own), base=tmp_path).model("f")
        assert model.numpy()(np.ones((1, 4)))[0, 0] == wanted
    with pytest.raises(AttnError, match="`gains` is a list, but is set to one number"):
        attnc.loads(main.format("const gains = 3\n"), base=tmp_path)


BODY = """
width seq
depth d = 8, turned = 8
const n = 0, list = [1, 0, 3], sometimes = [true, false]
block part[m: const](x: [seq, d]) -> [seq, d] {{
    depth small = d / m
    return linear.b[small -> d](linear.a[d -> small](x))
}}
model f(x: [seq, d]) -> [seq, d] {{
    {}
    return x
}}
"""


@pytest.mark.parametrize(
    "body",
    [
        "if |turned| == |d| { x = 2 * x } else { depth rest = d - turned\n"
        "x = linear.b[rest -> d](linear.a[d -> rest](x)) }",
        "if n != 0 { depth third = d / 3\n x = linear.b[third -> d](linear.a[d -> third](x)) }",
        "if n != 0 { depth three = 3, two = 2\n x = merge[three, two -> d](split[d -> three, two](x)) }",
        "if n != 0 { x = x[d = max(d, 9)] + x[d = 8] }",
        "if n != 0 { depth k = 9\n i = topk[d -> k](x)\n x = x + 1 / n + dropout(x, p = 2) }",
        "if n != 0 { x = part[m = 3](part.other[m = n](x)) }",
        "if n != 0 { const bad = 1 / n\n repeat.r 0 - 1 { x = x + bad } }",
        "repeat.r i in 3 { if i == 9 { depth none = d - turned\n x = linear.b[none -> d](linear.a[d -> none](x)) } }",
        "repeat.r i in 3 { if list[i] != 0 { depth some = list[i]\n"
        "x = linear.b[some -> d](linear.a[d -> some](x)) } }",
        "repeat.r i in 3 { if n == 0 or i % n != 0 { x = x + 1 } }",
        "repeat.r i in 3 { if n != 0 and i % n == 0 { x = x + 1 } }",
        "repeat.r i in 3 { if list[i] != 0 and 6 / list[i] > 1 { x = x + 6 / list[i] } }",
        "repeat.r k in list { x = x + select(k == 0, 1, 6 / k) }",
        "repeat.r i in 2 { if sometimes[i] or 1 - i == 0 { x = x + select(i > 0, 1, 1 / (i + 1)) } }",
        "const half = select(n == 0, 4, d / n)\n depth inner = select(n == 0, 4, d / n)\n x = x + half",
        "x = x + select(n == 0 or 1 / n > 0, |d|, 1 / n) + select(true, list[2], list[9])",
        "x = select(n == 0, x, x / n)",
        "m = n == 0 or int(seq) % n == 0\n x = select(m, x, 0)",
        "repeat list { x = x + 1 }\n repeat.b i in |list| { x = x + list[|list| - 1 - i] }",
    ],
)  # fmt: skip
def test_what_is_not_needed_need_not_fit(body: str) -> None:
    program = build(Source("<test>", BODY.format(body)))
    assert not program.errors, render_all(program.diagnostics)
    model = attnc.loads(BODY.format(body)).model("f")
    assert model.torch()(torch.zeros(2, 8)).shape == model.numpy()(np.zeros((2, 8))).shape


def test_a_choice_of_numbers_is_a_number() -> None:
    body = "depth k = select(n > 0, 3, d / 2)\n x = linear.b[k -> d](linear.k[d -> k](x))"
    assert attnc.loads(BODY.format(body)).model("f").weights["k.weight"].shape == (4, 8)


def test_a_list_is_printed_in_one_way() -> None:
    text = "const windows=[ 0,512 , 2*3,],b=[true]\nconfig c{windows=[1,2]\nb=[false,true,]}\n"
    want = "const windows = [0, 512, 2 * 3], b = [true]\nconfig c { windows = [1, 2], b = [false, true] }\n"
    assert attnc.format(text) == attnc.format(want) == want
    long = f"const windows = [{', '.join(['1000000'] * 20)}]\n"
    assert attnc.format(long).splitlines()[:2] == ["const windows = [", "    1000000,"]
