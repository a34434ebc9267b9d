"""Programs of several files: which declaration holds where, and what is said where they disagree."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import attnc
from attnc.compiler.check import Program, build
from attnc.compiler.graph.nodes import Call
from attnc.dsl.diagnostic import Diagnostic
from attnc.dsl.errors import AttnError
from attnc.dsl.mistakes.fixes import repair
from attnc.dsl.source import Source

# Files, each behind `# -- name`; the first is the one that is checked.
LOW = """# -- low
depth d = 8, e = 2 * d
width n <= 16
const k = 3
block low(x: [d]) -> [e] {
    return linear.w[d -> e](x) * k
}
"""
LOW2 = LOW.replace("low", "low2")
MID = "# -- mid\nuse low: low, d, e\nblock mid(x: [d]) -> [e] {\nreturn low.l(x)\n}\n"


def main(*lines: str, body: str = "return mid.m(x)", head: str = "x: [d]) -> [e]") -> str:
    return "\n".join((*lines, f"model net({head} {{", body, "}", ""))


def checked(text: str, folder: Path, config: str | None = None, sizes: dict[str, int] | None = None) -> Program:
    first, *rest = re.split(r"^# -- ", text, flags=re.MULTILINE)
    for part in rest:
        name, _, content = part.partition("\n")
        (folder / f"{name}.attn").write_text(content, encoding="utf-8")
    return build(Source("main.attn", first), base=folder, config=config, sizes=sizes)


RIGHT: dict[str, tuple[str, str | None, dict[str, int], dict[str, object]]] = {
    "their own": (main("use mid: mid, d, e") + MID + LOW, None, {}, {"d": 8, "e": 16}),
    "declared here, it holds in all": (
        main("use mid: mid, d, e", "depth d = 5") + MID + LOW, None, {}, {"d": 5, "e": 10}),
    "set from outside, it holds in all": (main("use mid: mid, d, e") + MID + LOW, None, {"d": 6}, {"d": 6, "e": 12}),
    "the names in another order": (
        main("use mid: mid, e, d", "use low: d, e, low", body="return mid.m(x) + low.n(x)")
        + MID.replace("d, e", "e, d") + LOW, None, {}, {"d": 8, "e": 16}),
    "by two ways, with the names in another order": (
        main("use mid: mid, e, d", "use low: e, low, d", "depth d = 4", "depth e = 6",
             body="return mid.m(x) + low.n(x)") + MID + LOW, None, {}, {"d": 4, "e": 6}),
    "two files that agree": (
        main("use low: low, d, e, k", "use low2: low2, d, e, k", body="return low.l(x) + low2.m(x) + k") + LOW + LOW2,
        None, {}, {"d": 8, "e": 16}),
    "two files that disagree, but it is set": (
        main("use low: low, d, e", "use low2: low2, d, e", body="return low.l(x) + low2.m(x)") + LOW
        + LOW2.replace("8", "9"), None, {"d": 3}, {"d": 3, "e": 6}),
    "two files that disagree, below one that says": (
        main("use mid: mid, d, e", "depth d = 3") + MID.replace("use low:", "use low2: low2, d, e\nuse low:") + LOW
        + LOW2.replace("8", "9"), None, {}, {"d": 3, "e": 6}),
    "one name for two, declared here": (
        main("use low: low, d as a, e", "use low2: low2, d as a", "depth a = 7", body="return low.l(x)",
             head="x: [a]) -> [e]") + LOW + LOW2.replace("8", "9"), None, {}, {"a": 7, "e": 14}),
    "a config sets a formula of a used file": (
        main("use mid: mid, d, e", "config big { d = 4 * (3 - 1) + 1, e = 2 ^ 3 }") + MID + LOW, "big", {},
        {"d": 9, "e": 8}),
    "what is set goes before the config": (
        main("use mid: mid, d, e", "config big { d = 4 * 3 }") + MID + LOW, "big", {"d": 2}, {"d": 2, "e": 4}),
    "one file for two that give it sizes of their own": (
        main("use mid: mid, d as a, e as f", "use mid2: mid2, d as b", body="return mid.m(x) * sum[b](mid2.k(y))",
             head="x: [a], y: [b]) -> [f]")
        + MID.replace("\nblock", "\ndepth d = 3\nblock")
        + MID.replace("mid", "mid2").replace("{\nreturn", "{\nreturn x * mean[e](").replace("(x)\n", "(x))\n")
        .replace("[e] {", "[d] {").replace("\nblock", "\ndepth d = 5\nblock") + LOW, None, {},
        {"a": 3, "b": 5, "f": 6}),
    "declared here and set": (main("use mid: mid, d, e", "depth d = 5") + MID + LOW, None, {"d": 6}, {"d": 6, "e": 12}),
    "made of a const that is set, of the file that it is for": (
        main("use low: low, d, e, k", "depth d = 2 * k", body="return low.l(x) * k") + LOW, None, {"k": 5},
        {"d": 10, "e": 20}),
    "set by the name that it has here": (
        main("use low: low, d as a, e", "depth d = 2", body="return low.l(x) * sum[d](y)",
             head="x: [a], y: [d]) -> [e]") + LOW, None, {"a": 4, "d": 3}, {"a": 4, "d": 3, "e": 8}),
    "a used file has a config of that name": (
        main("use mid: mid, d, e", "const k = 1", "config big { k = 2 }", body="return mid.m(x) * k") + MID
        + LOW.replace("block", "config big { d = 3, k = 5 }\nblock"), "big", {}, {"d": 8, "e": 16}),
    "a used file has a const of the name of one that is set": (
        main("use mid: mid, d, e", "const k = 1", body="return mid.m(x) * k") + MID + LOW, None, {"k": 4}, {}),
    "a block that only the sizes of this file make right": (
        main("use low: low, d, k", "depth d = 2 * k", body="return low(x) * k", head="x: [d]) -> [d]")
        + "# -- low\ndepth d = 8\nconst k = 3\nblock low(x: [d]) -> [d] {\ndepth third = d / 3\n"
        "return x * sum[third](third * 1.0)\n}\n", None, {}, {"d": 6}),
    "what a declaration here is made of": (
        main("use mid: mid, d, e", "depth d = 2 * half", "depth half = 3") + MID + LOW, None, {}, {"d": 6, "e": 12}),
    "made of what the file declares": (
        main("use mid: mid, d, e as f", "depth e = d + 1", head="x: [d], y: [e]) -> [f]",
             body="return mid.m(x) * sum[e](y)") + MID + LOW, None, {},
        {"d": 8, "e": 9, "f": 16}),
    "of one name, but of another kind": (
        main("use low: low, d, e", "depth k = 4", body="return low.m(x) * sum[k](k)") + LOW, None, {}, {"k": 4}),
    "of one name, which the call gives": (
        main("use low: low, d, e", "const k = 5", body="return low.m[k = k](x) + low.n[k = 2](x)") + LOW, None, {}, {}),
    "of one name, which each call of the share gives": (
        main("use low: low, d, e", "const k = 5", body="share f = low\nreturn f[k = k](x) + f[k = 2](x) * k") + LOW,
        None, {}, {}),
    "of one name, and brought under another": (
        main("use low: low, d, e, k as theirs", "const k = 5", body="return low.m(x) * k") + LOW, None, {}, {}),
    "of one name, in a block that is not called": (
        main("use low: low, d", "depth e = 5", body="return mean[d](x) * sum[e](e)", head="x: [d]) -> []") + LOW,
        None, {}, {"e": 5}),
    "of one name, and of one formula": (
        main("use low: low, d", "depth e = 2 * d", body="return low.m(x) * sum[e](e)", head="x: [d]) -> [d]")
        + LOW.replace("-> [e] {", "-> [d] {").replace("return ", "return linear.o[e -> d](").replace("(x) *", "(x)) *"),
        None, {"d": 6}, {"e": 12}),
    "of one name, which follows from what the call gives": (
        main("use low: low, d", "depth e = 5, z = 3", head="x: [z], y: [e]) -> []",
             body="return mean[z](low.m[d = z](x)) * sum[e](y)")
        + LOW.replace("-> [e] {", "-> [d] {").replace("return ", "return linear.o[e -> d](").replace("(x) *", "(x)) *"),
        None, {}, {"e": 5}),
    "of one name, by two ways": (
        main("use mid: mid, d, e, k", "depth d = 5", "const k = 2", body="return mid.m(x) * k")
        + MID.replace("low, d, e", "low, d, e, k") + LOW, None, {}, {"d": 5, "e": 10}),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_the_declaration_that_holds(name: str, tmp_path: Path) -> None:
    text, config, sizes, extents = RIGHT[name]
    program = checked(text, tmp_path, config, sizes)
    assert [(each.code, each.message) for each in program.diagnostics] == []
    assert {name: program.axes[name].extent for name in extents} == extents


WRONG: dict[str, tuple[str, str | None, dict[str, int], list[tuple[str, str]]]] = {
    "a width where the lowest file has a depth": (
        main("use mid: d", "width d = 4", body="return x", head="x: [d]) -> [d]")
        + "# -- mid\nuse low: low, d\ndepth d = 9\n" + LOW, None, {}, [("E0213", "d")]),
    "a config sets it by a name of this file": (
        main("use mid: mid, d, e", "const two = 2", "config big { d = 4 * two }", body="return mid.m(x) * two") + MID
        + LOW, "big", {}, [("E0207", "two")]),
    "a config sets it to a fraction": (
        main("use mid: mid, d, e", "config big { d = 7 / 2 }") + MID + LOW, "big", {}, [("E0207", "d")]),
    "a config that is not chosen": (
        main("use mid: mid, d, e", "config big { d = 7 / 0 }") + MID + LOW, None, {}, []),
    "a config sets it to what has no value": (
        main("use mid: mid, d, e", "config big { d = 7 / 0 }") + MID + LOW, "big", {}, [("E0207", "7 / 0")]),
    "another kind": (
        main("use low: d", "use low2: d", body="return x", head="x: [d]) -> [d]") + LOW
        + LOW2.replace("depth d = 8", "width d = 8"), None, {}, [("E0212", "d"), ("E0213", "d")]),
    "another bound": (
        main("use low: n", "use low2: n", body="return x", head="x: [n]) -> [n]") + LOW + LOW2.replace("16", "17"),
        None, {}, [("E0212", "n")]),
    "another formula": (
        main("use low: e, low", "use low2: e", body="return x", head="x: [e]) -> [e]") + LOW
        + LOW2.replace("2 * d", "d + 8"), None, {}, [("E0212", "e")]),
    "another number": (
        main("use low: k", "use low2: k", body="return x * k", head="x: []) -> []") + LOW + LOW2.replace("3", "4"),
        None, {}, [("E0212", "k")]),
    "an axis and a const": (
        main("use low: k", "use low2: k", body="return x * k", head="x: []) -> []") + LOW
        + LOW2.replace("const k = 3", "depth k = 3").replace(" * k", ""), None, {}, [("E0212", "k"), ("E0213", "k")]),
    "the library and nothing of it": (
        main("use std: d", "use std.attentions: e", body="return x", head="x: []) -> []"), None, {},
        [("E0209", "std"), ("E0209", "std.attentions")]),
    "near a file beside it": (
        main("use lo: low", "use mai: low as l", body="return x", head="x: []) -> []") + LOW, None, {},
        [("E0209", "lo"), ("E0209", "mai")]),
    "a folder that is not there": (
        main("use parts.low: low", body="return x", head="x: []) -> []") + LOW, None, {}, [("E0209", "parts.low")]),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_where_they_disagree(name: str, tmp_path: Path) -> None:
    text, config, sizes, told = WRONG[name]
    program = checked(text, tmp_path, config, sizes)
    assert [(each.code, each.span.text if each.span else "") for each in program.diagnostics] == told


def test_the_files_that_are_there(tmp_path: Path) -> None:
    """What a `use` may have meant: the files of the library, those beside the file, but not the file itself."""
    (tmp_path / "main.attn").touch()
    text, _, _, _ = WRONG["near a file beside it"]
    helps = [each.help for each in checked(text, tmp_path).diagnostics]
    assert helps == ["did you mean `low`?", "`use a.b` reads a/b.attn beside main.attn"]
    text, _, _, _ = WRONG["the library and nothing of it"]
    said = [each.help for each in checked(text, tmp_path).diagnostics]
    library = ["attention", "experts", "feed_forward", "layers", "masks", "positions"]
    assert said == [f"it has {', '.join(f'std.{name}' for name in library)}", "did you mean `std.attention`?"]
    calls = "block f(x: []) -> [] {\nreturn multihead(x)\n}\n"
    (found,) = checked(calls, tmp_path).diagnostics
    assert "std.attention" in found.help
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "layers.attn").touch()
    (found,) = checked(main("use parts.layer: f", body="return x", head="x: []) -> []"), tmp_path).diagnostics
    assert found.help == "did you mean `layers`?"
    assert found.fix and [(edit.span.text, edit.text) for edit in found.fix.edits] == [("layer", "layers")]


def test_the_files_of_a_program_each_once(tmp_path: Path) -> None:
    """In the order of loading; what was only looked at, to see what a declaration is made of, is none of them."""
    text = main("use low: low, d, k", "depth d = 2 * k", body="return low.l(x) * k", head="x: [d]) -> [d]")
    program = checked(text + LOW.replace("[e] {", "[d] {").replace("d -> e", "d -> d"), tmp_path)
    assert not program.diagnostics
    assert [Path(source.name).name for source in program.sources] == ["main.attn", "low.attn"]


def test_what_is_known_of_an_axis_that_is_set_in_place_of_a_used_file(tmp_path: Path) -> None:
    text = main("use low: low, d, e", body="return low.l(x)") + LOW.replace("d = 8", "d as D = 8")
    for sizes in ({}, {"d": 6}):
        axis = checked(text, tmp_path, sizes=sizes).axes["d"]
        assert (axis.label, axis.kind.value, axis.span and axis.span.source.name) == (
            "D", "depth", str(tmp_path / "low.attn"))  # fmt: skip


def test_an_axis_used_under_another_name_has_that_name(tmp_path: Path) -> None:
    """Beside one of this file that is called as it is there: the sizes of inputs are told apart by their names."""
    (tmp_path / "low.attn").write_text(LOW, encoding="utf-8")
    text = main("use low: d as theirs, e as more, low", "depth d = 5", body="return low.l(y), sum[d](x) + sum[more](e)",
                head="x: [d], y: [theirs], e: [more]) -> (a: [more], b: [])")  # fmt: skip
    model = attnc.loads(text, base=tmp_path).model("net")
    assert [port.axes for port in model.inputs] == [("d",), ("theirs",), ("e",)]
    run = model.numpy(seed=0)
    assert run(np.ones(5), np.ones(8), np.ones(16)).b == 21
    with pytest.raises(ValueError, match=r"`y` has theirs = 7, but this model has theirs = 8"):
        run(np.ones(5), np.ones(7), np.ones(16))


@pytest.mark.parametrize(
    ("declared", "call", "names"),
    [
        ("", "f.one[b = c](x, y)", ("a", "c")),
        ("depth a = 9", "f.one[b = c](x, y)", ("z", "c")),
        ("depth a = 9", "f.one[b = c, a = z](x, y)", ("z", "c")),
        ("depth a = 9", "f.one[b = c, z = z](x, y)", ("z", "c")),
    ],
)
def test_parameters_of_an_axis_under_another_name(
    declared: str, call: str, names: tuple[str, str], tmp_path: Path
) -> None:
    block = "block f(x: [a], y: [b]) -> [a, b] {\nreturn linear.w[a -> a](x) * linear.v[b -> b](y)\n}\n"
    (tmp_path / "two.attn").write_text(f"depth a = 2, b = 3\n{block}", encoding="utf-8")
    text = main("use two: a as z, f", "depth c = 3", declared, body=f"return {call}", head="x: [z], y: [c]) -> [z, c]")
    model = attnc.loads(text, base=tmp_path).model("net")
    assert [port.axes for port in model.inputs] == [(name,) for name in names]
    assert model.numpy(seed=0)(np.ones(2), np.ones(3)).shape == (2, 3)


def test_a_name_that_another_axis_has_there_is_not_taken(tmp_path: Path) -> None:
    block = "block f(x: [a], y: [b]) -> [a, b] {\nreturn linear.w[a -> a](x) * linear.v[b -> b](y)\n}\n"
    (tmp_path / "two.attn").write_text(f"depth a = 2, b = 3\n{block}", encoding="utf-8")
    text = main("use two: a as b, f", "depth c = 3, a = 9", body="return f.one[b = c](x, y)",
                head="x: [b], y: [c]) -> [b, c]")  # fmt: skip
    model = attnc.loads(text, base=tmp_path).model("net")
    assert model.numpy(seed=0)(np.ones(2), np.ones(3)).shape == (2, 3)


def test_two_files_may_use_one_axis_under_two_names(tmp_path: Path) -> None:
    (tmp_path / "c.attn").write_text(
        "width v\ndepth m = 4\nblock blk(x: [v, m]) -> [v, m] {\nreturn 2 * x\n}\n", encoding="utf-8"
    )
    (tmp_path / "a.attn").write_text(
        "use c: blk, v as seq, m\nblock wrap(x: [seq, m]) -> [seq, m] {\nreturn blk(x)\n}\n", encoding="utf-8"
    )
    text = main("use c: blk, v as items, m", "use a: wrap", "width seq", body="return dot[m](wrap(x), y)",
                head="x: [items, m], y: [seq, m]) -> [items, seq]")  # fmt: skip
    assert (
        attnc.loads(text, base=tmp_path).model("net").numpy()(np.ones((2, 4)), np.ones((3, 4))).tolist()
        == [[8] * 3] * 2
    )


@pytest.mark.parametrize(
    ("text", "config", "sizes", "told"),
    [
        ("depth modle = 8\n", None, {"model": 4},
         ("E0601", "main.attn has no axis or const `model` to set", "did you mean `modle`?")),
        ("depth d = 8\nconst n = 2\n", None, {"zzz": 4},
         ("E0601", "main.attn has no axis or const `zzz` to set", "it has d, n")),
        ("block f[e: depth](x: [e]) -> [e] {\nreturn x\n}\n", None, {"zzz": 4},
         ("E0601", "main.attn has no axis or const `zzz` to set", "it has e")),
        ("block f(x: []) -> [] {\nreturn x\n}\n", None, {"zzz": 4},
         ("E0601", "main.attn has no axis or const `zzz` to set", "")),
        ("depth d = 8\n", "big", {}, ("E0602", "main.attn has no config `big`", "it has none")),
        ("depth d = 8\nconfig small { d = 4 }\nconfig tiny { d = 2 }\n", "big", {},
         ("E0602", "main.attn has no config `big`", "it has small, tiny")),
        ("depth d = 8\nconfig small { d = 4 }\n", "smal", {},
         ("E0602", "main.attn has no config `smal`", "did you mean `small`?")),
        ("width s\nwidth t like s\nblock f(x: [s, t]) -> [s, t] {\nreturn x\n}\n", None, {"t": 4},
         ("E0601", "`t` is a copy of `s`, and has no size of its own", "set `s`")),
        ("block f[s: width, t: width like s](x: [s, t]) -> [s, t] {\nreturn x\n}\n", None, {"t": 4},
         ("E0601", "`t` is a copy of `s`, and has no size of its own", "set `s`")),
    ],
)  # fmt: skip
def test_what_is_set_and_is_not_there(
    text: str, config: str | None, sizes: dict[str, int], told: tuple[str, str, str], tmp_path: Path
) -> None:
    (found,) = checked(text, tmp_path, config, sizes).errors
    assert (found.code, found.message, found.help, found.span) == (*told, None)


BOUNDED = """
const most = 32
width n <= most
width m like n
config far { n = 99 }
config near { n = 8 }
config more { most = 64, n = 40 }
block f(x: [n]) -> [n] {
    param p: [n] ~ zeros
    return x + p
}
"""


@pytest.mark.parametrize(
    ("config", "sizes", "bound"),
    [
        (None, {}, 32),
        ("near", {}, 8),
        ("far", {}, 99),
        (None, {"n": 99}, 99),
        ("near", {"n": 16}, 16),
        ("more", {}, 40),
    ],
)
def test_a_bounded_width_stays_free_up_to_what_is_set(
    config: str | None, sizes: dict[str, int], bound: int, tmp_path: Path
) -> None:
    program = checked(BOUNDED, tmp_path, config, sizes)
    assert not program.errors
    assert (program.axes["n"].extent, program.axes["n"].bound) == (None, bound)


def test_a_config_sets_no_copy(tmp_path: Path) -> None:
    """Told where it is written, whichever config is used."""
    for config in (None, "far"):
        (found,) = checked(BOUNDED.replace("n = 99", "m = 3"), tmp_path, config, {}).errors
        assert (found.message, found.help) == ("`m` is a copy of `n`, and has no size of its own", "set `n`")
        assert found.span is not None and found.span.text == "m"


def test_all_that_is_set_and_is_not_there(tmp_path: Path) -> None:
    text = "block f[s: width, t: width like s](x: [s, t]) -> [s, t] {\nreturn x\n}\n"
    wrong = checked(text, tmp_path, sizes={"zzz": 1, "t": 2, "yyy": 3, "s": 4}).errors
    assert [re.findall("`(.)", each.message)[0] for each in wrong] == ["z", "t", "y"]


def test_a_copy_among_parameters_has_the_size_of_its_original(tmp_path: Path) -> None:
    text = """
width seq
width past like seq
block f[q: width = seq, k: width like q = past](x: [q, k]) -> [q, k] {
    return x
}
block g[k: width](x: [k]) -> [k] {
    return x
}
"""
    program = checked(text, tmp_path, sizes={"q": 5, "k": 3})
    assert not program.errors
    extents = {axis.name: axis.extent for axis in program.graph("f").axes}
    assert (extents["q"], extents["k"]) == (5, 5)
    assert program.graph("g").axes[0].extent == 3  # the only one that may be set


@pytest.mark.parametrize(("sizes", "size"), [({}, 10), ({"e": 4}, 10), ({"d": 9}, 9)])
def test_a_derived_size_that_is_set_hangs_on_nothing(sizes: dict[str, int], size: int, tmp_path: Path) -> None:
    """A call that gives what it is derived from gives it a size anew, unless it is set."""
    text = """
depth e = 3, d = 2 * e, h = 5
block f(x: [e]) -> [e] {
    return x * sum[d](broadcast[d](1.0))
}
model g(x: [h]) -> [h] {
    return f[e = h](x)
}
"""
    (call,) = checked(text, tmp_path, sizes=sizes).graph("g").nodes
    assert isinstance(call, Call)
    assert {formal.name: actual.extent for formal, actual in call.axes} == {"e": 5, "d": size}


def test_what_a_branch_hangs_on_that_is_open(tmp_path: Path) -> None:
    text = """
block f[m: const = 2, n: const](x: []) -> [] {
    if n > m {
        z = x
    } else {
        w = x
    }
    return w
}
"""
    with pytest.raises(AttnError) as told:
        checked(text, tmp_path).graph("f")
    (found,) = told.value.diagnostics
    assert (found.code, found.message) == (
        "E0409", "which branch `f` takes depends on const `n`, which has no value")  # fmt: skip
    assert checked(text, tmp_path, sizes={"n": 2}).graph("f").outputs
    before = text.replace("    if n", "    w = 2 * x\n    if n")  # then it has a value either way
    assert checked(before, tmp_path).graph("f").outputs


def test_a_file_outside_of_the_project(tmp_path: Path) -> None:
    project, away = tmp_path / "project", tmp_path / "away"
    project.mkdir()
    away.mkdir()
    (away / "other.attn").write_text("depth d = 8\n", encoding="utf-8")
    (project / "other.attn").symlink_to(away / "other.attn")
    text = "use other: d\nblock f(x: [d]) -> [d] {\nreturn x\n}\n"
    (found,) = build(Source("main.attn", text), base=project).diagnostics
    assert found.message == f"`use other` leads out of the project, to {(away / 'other.attn').resolve()}"
    assert found.notes == (f"the project is {project.resolve()}",)
    assert found.help == f"allow its folder: `--path {away.resolve()}`, or in Python `path=[...]`"
    assert not build(Source("main.attn", text), base=project, path=[away]).diagnostics
    (alone,) = build(Source("<string>", text)).diagnostics
    assert alone.message == "`use other` has no folder to look in"
    assert "`base=`" in alone.help
    assert not build(Source("<string>", text), path=[away]).diagnostics


def test_the_fix_for_an_axis_left_out_makes_the_declaration_hold(tmp_path: Path) -> None:
    """And so does naming the other file's own, the other way that the help gives, which keeps it."""
    (tmp_path / "low.attn").write_text(
        "depth d = 8, heads = 8, key = d / heads\n"
        "block low(x: [d]) -> [d] {\nQ = linear[d -> heads, key](x)\nreturn linear.O[heads, key -> d](Q)\n}\n"
    )
    text = "use low: low, d, key\ndepth d = 16, heads = 4, key = d / heads\n"
    text += "model net(x: [d], y: [heads]) -> [d] {\nreturn low(x) * sum[heads](y)\n}\n"

    def check(source: Source) -> Program:
        return build(source, base=tmp_path)

    def heads(program: Program) -> tuple[int, ...]:
        return attnc.loads(program.source.text, base=tmp_path).model("net").weights["low.Q.weight"].shape

    source = Source("main.attn", text)
    (found,) = check(source).diagnostics
    assert (found.code, found.span and found.span.text) == ("E0212", "heads")
    mended = check(repair(source, lambda each: check(each).diagnostics).source)
    assert mended.diagnostics == ()
    assert heads(mended) == (4 * 4, 16)
    kept = check(Source("main.attn", text.replace("low, d, key", "low, d, key, heads as other")))
    assert kept.diagnostics == ()
    assert heads(kept) == (8 * 4, 16)


def given(fix: str, tmp_path: Path, main: str, low: str) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights of a program whose one mistake was mended by its fix, which is this text."""
    (tmp_path / "low.attn").write_text(low, encoding="utf-8")

    def check(source: Source) -> tuple[Diagnostic, ...]:
        return build(source, base=tmp_path).diagnostics

    source = Source("main.attn", main)
    (found,) = check(source)
    assert found.fix is not None and {edit.text for edit in found.fix.edits} == {fix}
    mended = repair(source, check)
    assert mended.left == ()
    model = attnc.loads(mended.source.text, base=tmp_path).model("net")
    return {name: weight.shape for name, weight in model.weights.items()}


LOW_HEADS = """
depth d = 8, heads = 8
block low(x: [d]) -> [d] {
    return linear.O[heads -> d](linear.Q[d -> heads](x))
}
"""


def test_a_const_gives_a_depth_of_its_name_its_number(tmp_path: Path) -> None:
    main = "use low: low, d\nconst heads = 4\nmodel net(x: [d]) -> [d] {\nreturn low(x) * heads\n}\n"
    assert given("[heads = heads]", tmp_path, main, LOW_HEADS)["low.Q.weight"] == (4, 8)


def test_a_depth_gives_a_const_of_its_name_its_number(tmp_path: Path) -> None:
    main = "use low: low, d\ndepth n = 5\nmodel net(x: [d]) -> [d] {\n"
    main += "return linear.b[n -> d](linear.a[d -> n](low(x)))\n}\n"
    low = "depth d = 8\nconst n = 3\nblock low(x: [d]) -> [d] {\nrepeat n {\nx = linear.W[d -> d](x)\n}\nreturn x\n}\n"
    assert "low.n.4.W.weight" in given("[n = |n|]", tmp_path, main, low)


ALONG = """use low: low, d
depth heads = 4
block within(x: [d]) -> [d] {
    return low(x)
}
model net(x: [d, heads]) -> [d, heads] {
    repeat.layers 2 {
        x = low(x)
    }
    return x
}
"""


def test_a_call_along_an_axis_takes_its_number(tmp_path: Path) -> None:
    """The block may not mention the axis itself: that would be E0406."""
    shapes = given("[heads = |heads|]", tmp_path, ALONG, LOW_HEADS)
    assert [shape for name, shape in shapes.items() if name.endswith("low.Q.weight")] == [(4, 8)] * 2


def test_a_call_within_what_is_called_along_an_axis_takes_a_number(tmp_path: Path) -> None:
    """There neither the axis nor its size may be mentioned."""
    main = ALONG.replace("x = low(x)", "x = within(x)")
    (tmp_path / "low.attn").write_text(LOW_HEADS, encoding="utf-8")
    (found,) = build(Source("main.attn", main), base=tmp_path).diagnostics
    assert found.help.endswith("give it a size in the call, such as `low[heads = 4]`") and found.fix is None
    assert not build(Source("main.attn", main.replace("low(x)", "low[heads = 4](x)")), base=tmp_path).diagnostics


@pytest.mark.parametrize("mine", ["const heads = 0.5", "const heads = true", "const heads = -4", "width heads"])
def test_what_is_no_size_is_not_meant_for_a_depth(mine: str, tmp_path: Path) -> None:
    (tmp_path / "low.attn").write_text(LOW_HEADS, encoding="utf-8")
    uses = "select(heads, 1, 0)" if "true" in mine else "|heads|" if "width" in mine else "heads"
    formal = ", y: [heads]" if "width" in mine else ""
    text = f"use low: low, d\n{mine}\nmodel net(x: [d]{formal}) -> [d] {{\nreturn low(x) * {uses}\n}}\n"
    assert not build(Source("main.attn", text), base=tmp_path).diagnostics
