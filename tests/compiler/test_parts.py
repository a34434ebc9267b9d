"""Small parts of the checker, by themselves: names that are near, weights listed, steps counted, folders looked in."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import attnc
from attnc.compiler.advice.sizes import require_sizes
from attnc.compiler.base.mentions import mentions_of
from attnc.compiler.base.names import did_you_mean, either, is_reserved, listed, nearest
from attnc.compiler.check import Program, build, steps
from attnc.compiler.graph.inventory import inventory
from attnc.compiler.graph.nodes import Call, makes
from attnc.compiler.graph.report import location
from attnc.compiler.names.folders import Folders, Outside
from attnc.dsl import syntax as s
from attnc.dsl.errors import AttnError
from attnc.dsl.parse import parse
from attnc.dsl.source import Source, Span


def checked(text: str) -> Program:
    program = build(Source("main.attn", text))
    told = [each for each in program.diagnostics if each.code != "A0529"]  # some take inputs that they have no use for
    assert not told, told[0].message
    return program


# -- names ---------------------------------------------------------------------------------------------------------

MANY = [f"axis{number}" for number in range(300)]
CASES = ["".join(letters) for letters in product(*(letter + letter.lower() for letter in "HEADS"))][1:]


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("modle", ["model", "heads"], "model"),
        ("Model", ["models", "model"], "model"),  # the same but for its case, before what is only alike
        ("model", ["model"], None),
        ("model", ["model", "modem"], "modem"),
        ("q", ["k", "v"], None),
        ("zzz", ["model", "heads"], None),
        ("k", ["key_and_value"], None),
        ("se", ["seq"], "seq"),
        ("seq", ["sequences"], None),
        ("seq", ["seq_len", "a"], "seq_len"),
        ("seq", [], None),
        ("a" * 200, ["a" * 199], "a" * 199),
        ("a" * 201, ["a" * 200], None),
        ("axes7", MANY, "axis7"),
        ("xaxis8", [*MANY, "x" * 6], "axis8"),  # of many, only what begins or ends alike is compared
        ("axas299", MANY, "axis299"),
        ("bxis", MANY, None),
        ("modle", [*MANY, "model"], "model"),
        ("mdoel", [*MANY, "model"], "model"),
        ("HEADS", CASES, "HEADs"),  # of many that are equally near it is always the same
        ("xeads", CASES[-4:], "heads"),
        ("head_size", ["size_of_head", "heads"], "heads"),
    ],
)
def test_the_nearest_name(name: str, known: list[str], near: str | None) -> None:
    assert nearest(name, known) == near
    assert nearest(name, reversed(known)) == near
    assert did_you_mean(name, known) == (f"did you mean `{near}`?" if near else "")


def test_names_in_words() -> None:
    assert listed([]) == ""
    assert listed(["a"]) == "`a`"
    assert listed(["a", "b"]) == "`a` and `b`"
    assert either(iter("abc")) == "`a`, `b` or `c`"


def test_reserved_names() -> None:
    assert all(map(is_reserved, ["train", "half", "lambda", "_x", "None"]))
    assert not any(map(is_reserved, ["trains", "x_", "W", "lambda_", "self_"]))


# -- weights ---------------------------------------------------------------------------------------------------------

WEIGHTS = """
width seq <= 16
depth d = 8, heads = 2, key = 4, vocab = 10
const layers = 2
block attend(x: [seq, d]) -> [seq, d] {
    Q = linear[d -> heads, key](x, init = xavier)
    return linear.O[heads, key -> d](Q, bias = false)
}
block norm(x: [seq, d]) -> [seq, d] {
    return layernorm.ln[d](x)
}
model net(ids: vocab[seq]) -> [seq, vocab] {
    param place: [seq, d] ~ normal(0.5) frozen
    share same = attend
    x = embed.E[vocab -> d](ids) + place
    repeat i in layers {
        x = x + attend.self(x)
        if i == 1 {
            x = norm(x)
        }
    }
    repeat.again layers shared {
        share same = attend
        x = x + same(same(x))
    }
    x = x + same(x)
    repeat.none layers {
        x = relu(x)
    }
    return linear.out[d -> vocab](same(x))
}
"""


def test_the_weights_of_a_model() -> None:
    """In the order of its ops: path, stored dimensions and their sizes; one set for all calls of a `share`."""
    found = inventory(checked(WEIGHTS).graph("net"))
    assert [str(spec) for spec in found.values()] == [
        "place [seq = 16, d = 8]",
        "E.weight [vocab = 10, d = 8]",
        *(
            line
            for number in range(2)
            for line in (
                f"layers.{number}.self.Q.weight [heads key = 8, d = 8]",
                f"layers.{number}.self.Q.bias [heads key = 8]",
                f"layers.{number}.self.O.weight [d = 8, heads key = 8]",
                *(["layers.1.norm.ln.weight [d = 8]", "layers.1.norm.ln.bias [d = 8]"] if number else []),
            )
        ),
        "again.same.Q.weight [heads key = 8, d = 8]",
        "again.same.Q.bias [heads key = 8]",
        "again.same.O.weight [d = 8, heads key = 8]",
        "same.Q.weight [heads key = 8, d = 8]",
        "same.Q.bias [heads key = 8]",
        "same.O.weight [d = 8, heads key = 8]",
        "out.weight [vocab = 10, d = 8]",
        "out.bias [vocab = 10]",
    ]
    place, q = found["place"], found["layers.0.self.Q.weight"]
    assert (place.frozen, place.init.kind, place.init.args, place.size) == (True, "normal", (0.5,), 128)
    assert (q.frozen, q.init.kind, q.fan_in, q.fan_out, q.shape, q.size) == (False, "xavier", 8, 8, (8, 8), 64)
    assert (place.fan_in, place.fan_out) == (0, 0)


def test_sizes_set_for_the_parameters_of_a_block() -> None:
    """What is set goes before a default, and what is made of it follows; a copy has the size of its original."""
    text = """
block f[n: depth, m: depth = 2 * n, w: width, v: width like w, c: const, e: const = 1, o: depth = 3](
    x: [n, m], y: [w], z: [o]
) -> [n, m] {
    return x * |n| + c + e + sum[w](y) + sum[o](z)
}
"""
    graph = attnc.loads(text, sizes={"n": 5, "w": 7, "c": 9, "e": 2}).block("f").graph
    assert [(axis.name, axis.extent) for axis in graph.axes] == [("n", 5), ("m", 10), ("w", 7), ("v", 7), ("o", 3)]
    assert [(const.name, const.value) for const in graph.consts] == [("c", 9), ("e", 2)]


# -- steps -----------------------------------------------------------------------------------------------------------


def test_steps_of_a_model_written_out() -> None:
    program = checked(
        """
depth d = 8
width t
block two(x: [d]) -> [d] {
    return relu(gelu(x))
}
block cell(x: [d], h: [d]) -> (h: [d]) {
    return x + two(h)
}
model net(x: [t, d]) -> [t, d] {
    repeat.a i in 5 {
        if i == 1 {
            x = two(x)
        } else {
            x = exp(x)
        }
    }
    return scan[t] cell(x, h = 0)
}
"""
    )
    assert steps(program.graph("two")) == 2
    assert steps(program.graph("cell")) == 1 + 1 + 2
    # The repeat, four passes of one step and one of a call; then a number, and the scan, which counts as one item.
    assert steps(program.graph("net")) == 1 + 4 * 1 + (1 + 2) + 1 + (1 + 4)


# -- what values are called ------------------------------------------------------------------------------------------


def test_a_value_keeps_its_first_name() -> None:
    program = checked(
        """
depth d = 8
block both(x: [d]) -> (a: [d], b: [d]) {
    return relu(x), gelu(x)
}
block net(x: [d]) -> [d] {
    y = relu(x)
    z = y
    a, b = both(z)
    a2 = a
    x2 = x
    repeat.r 2 {
        b = b + x2
    }
    c = b
    return z + a2 * c
}
"""
    )
    graph = program.graph("net")
    names = [[value.name for value in makes(node)] for node in graph.nodes]
    assert names == [["y"], ["a", "b"], ["b"], [None], [None]]
    assert [entry.name for entry in graph.inputs] == ["x"]


# -- what a block mentions -------------------------------------------------------------------------------------------

MENTIONING = """
block b[a: width, c: width like a2, k: const = k2 + 1](x: vocab[a, e1], y: bool[] = v1 > |z1|) -> (r: int[e2]) {
    depth own = n1 * |n2|, other like n3
    const mine = n4
    param W: [e3] ~ normal(n5)
    share s = callee1
    p: [e4] = callee2.label[a, e5 as e6, par = n6](x where m1, key = v2)
    q = scan[e7] callee3[e8: e9 -> e10](p[e11 as e12][e13 = n7])
    expect q: [e14]
    repeat.r i in n8 {
        if n9 == 1 {
            t = -s(q)
        } else {
            t = q
        }
    }
    return t
}
"""


def test_what_a_block_mentions() -> None:
    """As they stand, of indices the last first: it is the order of the parameters that it has by mentioning them."""
    (decl,) = parse(Source("main.attn", MENTIONING))[0].items
    assert isinstance(decl, s.BlockDecl)
    found = mentions_of(decl)
    assert found.names == (
        "a2", "k2", "a", "e1", "vocab", "bool", "v1", "z1", "e2", "int", "n1", "n2", "n3", "n4", "e3", "n5", "e4", "e5",
        "e6", "n6", "x", "m1", "v2", "e7", "e8", "e10", "e9", "e13", "e11", "e12", "p", "n7", "e14", "n8", "n9", "q",
        "t",
    )  # fmt: skip
    assert found.declared == {"own", "other", "mine"}
    assert found.calls == (
        ("normal", ()), ("callee1", ()), ("callee2", ("par",)), ("callee3", ()),
    )  # fmt: skip


# -- widths of weights -------------------------------------------------------------------------------------------------

ELSEWHERE = """\
width t <= 8, copy like t, half = t / 2, u <= 100
depth d = 2
block along(x: [t, d]) -> [t, d] {
    param w: [half]
    param v: [copy]
    return x * sum[half](w) * sum[copy](v)
}
block inside(x: [t, d]) -> [t, d] {
    width third = t / 4, other like t
    param w: [third]
    param v: [other]
    return x * sum[third](w) * sum[other](v)
}
block own[a: width, b: width = a / 5](x: [a, d]) -> [a, d] {
    param w: [b]
    return x * sum[b](w)
}
model net(x: [u, d], y: [t, d]) -> [u, d] {
    z = along.a1(y) |> inside.b1 |> own.c1[t]
    s = broadcast[u](sum[t](z))
    return s + along.a2[t = u](x) + inside.b2[t = u](x) + own.c2[u](x)
}
"""


def test_weights_along_widths_made_of_the_callers() -> None:
    """A block that is called for another width has weights as large as that one makes them."""
    found = inventory(checked(ELSEWHERE).graph("net"))
    sizes = {path: spec.shape for path, spec in found.items()}
    assert sizes == {
        "a1.w": (4,), "a1.v": (8,), "b1.w": (2,), "b1.v": (8,), "c1.w": (1,),
        "a2.w": (50,), "a2.v": (100,), "b2.w": (25,), "b2.v": (100,), "c2.w": (20,),
    }  # fmt: skip


# -- folders ---------------------------------------------------------------------------------------------------------


def test_where_a_use_looks(tmp_path: Path) -> None:
    project, given, away = tmp_path / "project", tmp_path / "given", tmp_path / "away"
    for folder in (project / "specs" / "parts", given, away):
        folder.mkdir(parents=True)
    (project / "pyproject.toml").touch()
    main = project / "specs" / "main.attn"
    for file in (
        project / "specs" / "parts" / "a.attn",
        project / "up.attn",
        given / "a.attn",
        given / "b.attn",
        away / "c.attn",
    ):
        file.touch()
    (project / "specs" / "linked.attn").symlink_to(away / "c.attn")
    (project / "specs" / "inner.attn").symlink_to(project / "up.attn")
    folders = Folders.of(main, [given])
    beside = main.parent
    assert folders == Folders(project.resolve(), (given,))
    assert folders.find(beside, ["parts", "a"]) == beside / "parts" / "a.attn"
    assert folders.find(beside, ["a"]) == given / "a.attn"
    assert folders.find(None, ["b"]) == given / "b.attn"
    assert folders.find(beside, ["nowhere"]) == beside / "nowhere.attn"  # where it should be
    assert folders.find(beside, ["inner"]) == beside / "inner.attn"
    assert Folders().find(None, ["a"]) is None
    with pytest.raises(Outside) as found:
        folders.find(beside, ["linked"])
    assert (found.value.file, found.value.project) == ((away / "c.attn").resolve(), project.resolve())
    assert Folders.of(main, [away]).find(beside, ["linked"]) == beside / "linked.attn"
    assert Folders.of(away / "c.attn", []).project == away.resolve()
    assert Folders.of(None, [given]) == Folders(None, (given,))


def test_the_project_is_the_nearest_folder_that_is_marked(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "middle" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "outer" / ".git").mkdir()
    assert Folders.of(inner / "main.attn", []).project == (tmp_path / "outer").resolve()
    (inner.parent / "pyproject.toml").touch()
    assert Folders.of(inner / "main.attn", []).project == inner.parent.resolve()
    (inner / ".git").mkdir()
    assert Folders.of(inner / "main.attn", []).project == inner.resolve()


# -- programs --------------------------------------------------------------------------------------------------------


def test_what_a_program_is() -> None:
    text = "depth d = 8\nblock b(x: [d]) -> [d] {\n    return relu(x)\n}\n"
    program = build(Source("main.attn", text + "model m(x: [d]) -> [d] {\n    return b(x)\n}\n"))
    assert (program.models, program.blocks, program.config, list(program.axes)) == (("m",), ("b",), None, ["d"])
    assert program.graph("m").kind == "model" and program.graph("b").kind == "block"
    with pytest.raises(KeyError):
        program.graph("none")
    wrong = build(Source("main.attn", "depth d = 0\nmodel m(x: [d]) -> [d] {\n    return y\n}\n"))
    assert [each.code for each in wrong.errors] == ["E0207", "E0202"]
    with pytest.raises(AttnError):
        wrong.graph("m")


SIZES: list[tuple[str, int | str]] = [
    ("4.0", 4), ("1e3", 1000), ("sqrt(16)", 4), ("2 ^ 62 - 1", 2**62 - 1), ("ceil(7 / 2)", 4), ("floor(7 / 2)", 3),
    ("max(4, 3)", 4), ("min(9, 4)", 4), ("abs(3 - 8)", 5), ("7 % 4", 3), ("8 / 2 * 3", 12), ("-(-3)", 3), ("exp(0)", 1),
    ("log(1) + 1", 1), ("7 / 3.5", 2), ("7.0 / 7", 1), ("ceil(7 / 2 / 2)", 2), ("ceil(7 / 2) / 2", 2),
    ("floor(min(7 / 2, 4))", 3), ("floor(sqrt(7 / 2) + 7 / 2)", 5), ("2 ^ 3 ^ 2", 512), ("10 - 4 - 3", 3),
    ("7 / 2", "`d`: 7 / 2 leaves a remainder of 1"), ("7.0 / 2", "`d`: 7.0 / 2 leaves a remainder of 1.0"),
    ("1 / 3 * 3", "`d`: 1 / 3 leaves a remainder of 1"), ("floor(7 / 2 + 1) / 3", "`d`: 4 / 3 leaves a remainder of 1"),
    ("7 / 0", "this divides by zero"), ("7 % 0", "this divides by zero"), ("7 / sqrt(0 - 1)", "this has no value"),
    ("floor((0 - 8) ^ 0.5)", "this has no value"), ("(9 ^ 9 ^ 9 ^ 9) / 2", "this number is too large"),
    ("2 ^ 20000 / 2 ^ 19999", "this number is too large"), ("(0 - 2) ^ 20000 / 2 ^ 20000", "this number is too large"),
    ("1e300 * 1e300", "this number is too large"), ("2 ^ 62", "this number is too large"),
    ("0 - 2 ^ 62", "this number is too large"), ("1 - 2 ^ 62", f"the size of `d` is {1 - 2**62}, but SIZE"),
    ("1e30", f"the size of `d` is {int(1e30)}, but a size is less than 2 ^ 62"),
    ("0 / 7", "the size of `d` is 0, but SIZE"), ("0.5", "the size of `d` is 0.5, but SIZE"),
    ("2 ^ -1", "the size of `d` is 0.5, but SIZE"), ("true", "the size of `d` is True, but SIZE"),
    ("ceil(zz)", "no axis or const is named `zz`"), ("max(3, zz)", "no axis or const is named `zz`"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "size"), SIZES)
def test_the_size_that_is_written(written: str, size: int | str) -> None:
    program = build(Source("main.attn", f"depth d = {written}\n"))
    said = [each.message.replace("a size is a whole number of 1 or more", "SIZE") for each in program.diagnostics]
    assert (program.axes["d"].extent, said) == ((size, []) if isinstance(size, int) else (None, [size]))


@pytest.mark.parametrize(
    ("size", "wrong"),
    [(1, ""), (2, ""), (3.0, ""), (2**62 - 1, ""), (0, "whole"), (-3, "whole"), (2.5, "whole"), (True, "whole"),
     (float("nan"), "whole"), (float("inf"), "whole"), (2**62, "2 ^ 62"), (1e30, "2 ^ 62")],
)  # fmt: skip
@pytest.mark.parametrize(
    "text",
    ["depth d = 8\nblock f(x: [d]) -> [d] {", "width d\nblock f(x: [d]) -> [d] {", "block f[d: depth](x: [d]) -> [d] {",
     "width d <= 9\nblock f(x: [d]) -> [d] {", "block f[d: width](x: [d]) -> [d] {",
     "block f[d: depth = 3](x: [d]) -> [d] {"],
)  # fmt: skip
def test_the_size_that_is_set(text: str, size: float, wrong: str) -> None:
    """For an axis of the file and for a parameter of a block alike."""
    program = build(Source("main.attn", text + "\n    return x\n}\n"), sizes={"d": size})
    assert [each.code for each in program.diagnostics] == (["E0207"] if wrong else [])
    assert all(wrong in each.message and each.notes == ("it is set from outside",) for each in program.diagnostics)
    if not wrong:
        (axis,) = program.graph("f").axes
        assert (axis.bound if "<=" in text else axis.extent) == size
        assert type(axis.extent or axis.bound) is int


def test_mistakes_are_told_in_the_order_of_the_text_and_not_more_than_a_hundred() -> None:
    names = [f"y{number}" for number in range(70)]
    block = "block b%d(x: [d]) -> [d] {\n" + "".join(f"    {name} = {name}\n" for name in names) + "    return x\n}\n"
    program = build(Source("main.attn", "depth d = 8, unused = 3\n" + block % 1 + block % 2))
    assert len(program.diagnostics) == 100
    places = [each.span.start for each in program.diagnostics if each.span]
    assert places == sorted(places) and len(places) == 100
    assert not any(each.notes for each in program.diagnostics[:-1])
    assert program.diagnostics[-1].notes == ("there are more: 140 in all, of which 100 are told",)


def test_warnings_are_told_where_errors_leave_room() -> None:
    unused = "".join(f"    z{number} = x\n" for number in range(105))
    block = "block %s(x: [d]) -> [d] {\n%s    return x\n}\n"
    text = "depth d = 8\n" + block % ("a", unused) + block % ("b", "    y = y1\n    z = y2\n")
    program = build(Source("main.attn", text))
    assert [each.code for each in program.diagnostics] == 98 * ["W0502"] + 2 * ["E0202"]
    assert [each.span.text for each in program.diagnostics if each.span][:2] == ["z0", "z1"]
    assert program.diagnostics[-1].notes == ("there are more: 107 in all, of which 100 are told",)


def test_a_place_is_where_it_begins() -> None:
    source = Source("main.attn", "a\nb\nc\n")
    assert location(Span(source, 2, 5)) == "main.attn:2"
    assert location(None) == "somewhere"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("block b[d: depth](x: [d]) -> [d] {\n    return relu(x)\n}\n",
         ["depth `d` of `b` has no size, and compiling needs one"]),
        (
            "depth d = 2\nblock b[n: const, m: const](x: [d]) -> [d] {\n    return x ^ n + m\n}\n",
            [f"const `{name}` of `b` has no value, and compiling needs one" for name in "nm"],
        ),
        (
            "depth d = 2\nblock b[w: width](x: [w, d]) -> [w, d] {\n    param P: [w, d]\n    return x + P\n}\n",
            ["the weight `P` runs along `w`, of which no largest size is known"],
        ),
        ("depth d = 2\nblock b[w: width](x: [d]) -> [w, d] {\n    return broadcast[w](x)\n}\n",
         ["nothing that `b` is given runs along the width `w`, so its size is never known"]),
        ("width t, half = t / 2\nblock b(x: [half]) -> [half] {\n    return x\n}\n", []),
        ("width t, u, both = t + u\nblock b(x: [both], y: [t]) -> [both] {\n"
         "    return x * sum[u](u * 1.0) + broadcast[both](mean[t](y))\n}\n", []),
        ("width t = 4\nblock b(x: []) -> [t] {\n    return broadcast[t](x)\n}\n", []),
        ("width t <= 4\nblock b(x: [t]) -> [t] {\n    param P: [t]\n    return x + P\n}\n", []),
    ],
)  # fmt: skip
def test_what_must_be_known_to_compile(text: str, said: list[str]) -> None:
    graph = checked(text).graph("b")
    if not said:
        require_sizes(graph)
        return
    with pytest.raises(AttnError) as found:
        require_sizes(graph)
    assert [each.message for each in found.value.diagnostics] == said
    assert all(each.span and each.help for each in found.value.diagnostics)


@pytest.mark.parametrize(
    ("inputs", "value", "untold"),
    [
        ("", "|t|", "t"), ("", "|both|", "tu"),
        ("", "sum[both](broadcast[both](z))", "tu"), ("", "sum[u](u * 1.0)", "u"), ("x: [t], ", "|both|", "u"),
        ("x: [t], y: [both], ", "|both| * |u|", ""), ("y: [both], ", "|both|", ""),
        ("y: [both], ", "mean[t](broadcast[t](z))", "t"), ("y: [more], ", "|t|", ""), ("y: [ten], ", "|t|", ""),
        ("y: [other], ", "|t|", ""), ("x: [t], y: [both], w: [product], ", "|v|", ""), ("w: [product], ", "|u|", "u"),
        ("", "own[t](z)", "t"), ("", "unused[t](z)", ""), ("y: [both], ", "own[both](z)", ""),
        ("", "later[t](z)", "t"), ("", "sum[ten](scan[ten] cell[u](broadcast[ten](z), h = 0))", "tu"),
        ("", "power[n = |t|](z)", "t"), ("y: [both], ", "by_the_file(z)", ""), ("", "by_the_file(z)", "tu"),
    ],
)  # fmt: skip
def test_the_widths_that_a_model_must_be_told(inputs: str, value: str, untold: str) -> None:
    """Those that values run along, or whose sizes are read, in the model or below, unless others tell them."""
    text = f"""
width t, u, v, both = t + u, product = u * v, more = t + four, ten = t * three, other like t
width four = 4
depth three = 3
block own[w: width](z: []) -> [] {{
    width c = w + 1
    return z * |c|
}}
block by_the_file(z: []) -> [] {{
    width c = both + 1
    return z * |c|
}}
block unused[w: width](z: []) -> [] {{
    return z
}}
block later[w: width](z: []) -> [] {{
    repeat.r i in 2 {{
        if i == 1 {{
            z = z + sum[w](broadcast[w](z))
        }}
    }}
    return z
}}
block cell[w: width](z: [], h: []) -> (h: []) {{
    return h + z * |w|
}}
block power[n: const](z: []) -> [] {{
    return z ^ n
}}
model m({inputs}z: []) -> [] {{
    return z * {value}
}}
"""
    program = build(Source("main.attn", text))
    told = [each for each in program.diagnostics if each.code == "E0409"]
    assert {each.code for each in program.diagnostics} <= {"E0409", "W0503", "A0529"}
    assert [each.span and each.span.text for each in told] == list(untold)
    if not told:
        model = attnc.loads(text).model("m")
        assert model.source("numpy") and model.source("torch")


def test_how_sizes_are_to_be_given() -> None:
    text = "block b[d: depth, n: const](x: [d]) -> [d] {\n    return x * n\n}\n"
    with pytest.raises(AttnError) as found:
        require_sizes(checked(text).graph("b"))
    assert [(each.code, each.help, each.span and each.span.text) for each in found.value.diagnostics] == [
        ("E0409", "set it: `--set d=64`, or `sizes={'d': 64}` in Python", "d"),
        ("E0409", "set it: `--set n=2`, or `sizes={'n': 2}` in Python", "block b[d: depth, n: const](x: [d]) -> [d]"),
    ]
    text = "block b[w: width](x: [w]) -> [w] {\n    param P: [w]\n    return x + P\n}\n"
    with pytest.raises(AttnError) as found:
        require_sizes(checked(text).graph("b"))
    (weight,) = found.value.diagnostics
    assert weight.help == "set it: `--set w=1024`, or call the block with a width that is bounded"
    assert [(each.span.text, each.text) for each in weight.related] == [("w", "`w` is declared here")]
    assert weight.span is not None and weight.span.text == "param P: [w]"


# -- one set of weights --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("calls", "inputs"),
    [
        (["s(x, 3)", "s(x, 3)"], ["x", "x"]),
        (["s(x, 3)", "s(x, by = 3)", "s(by = 3, x)"], ["x", "x", "x"]),
        (["s(x, 3)", "s(x, 4)"], ["x", "x"]),
        (["s(x, 3)", "s(x)"], ["x", "x"]),
        (["s(x, 3)", "s(x, y)"], ["x", "x by"]),
        (["s(x, 3, y > 0)", "s(x, y, false)"], ["x plus", "x by"]),
    ],
)
def test_a_number_that_a_call_writes_stands_in_its_body(calls: list[str], inputs: list[str]) -> None:
    """So what it decides is decided at build time, whatever other calls of the same weights are given."""
    text = f"""depth d = 2
block f(x: [d], by: [] = 2, plus: bool[] = true) -> [d] {{
    return linear.a[d -> d](x) * by + select(plus, 1, 0)
}}
model net(x: [d], y: []) -> [d] {{
    share s = f
    return {" + ".join(calls)}
}}
"""
    bodies = [node.graph for node in checked(text).graph("net").nodes if isinstance(node, Call)]
    assert [" ".join(item.name for item in body.inputs) for body in bodies] == inputs


# -- where an axis went --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("doubled", "told"), [(0, True), (49, True), (50, False)])
def test_where_an_axis_went_is_sought_in_each_op_once(doubled: int, told: bool) -> None:
    """There are 2 ^ 49 ways back to the op that took it, and 50 ops; no more are looked at."""
    lines = ["y = max[t](x)", *["y = y + y"] * doubled, "return y"]
    text = "width t\ndepth d = 2\nblock f(x: [t, d]) -> [t, d] {\n" + "\n".join(lines) + "\n}\n"
    (problem,) = build(Source("main.attn", text)).diagnostics
    assert problem.code == "E0313"
    assert ("`max[t]` on line 4 takes away `t`" in problem.help) == told, problem.help
