"""No adviser ends a check: each op of the table, alone and behind each other one, wherever the advisers look."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import pytest

import attnc
from attnc.cli.main import main
from attnc.compiler.advice.meaning import READERS
from attnc.compiler.advice.places.empty_queries import empty_queries
from attnc.compiler.base.problems import Problem
from attnc.compiler.graph.nodes import Graph
from attnc.compiler.graph.values import IndexInto, Scalar
from attnc.compiler.ops import OPS, Op
from attnc.compiler.sizes.limits import Limit, TooMuch
from attnc.dsl.diagnostic import Severity

from .test_op_table import ROWS, example

PLACES = {
    "scores": ("dot[d](x, x[q as k])", "qk", "softmax[k](v where k <= q)", "q, k"),
    "shares": ("softmax[k](dot[d](x, x[q as k]) where k <= q)", "qk", "dot[k](v, x[q as k])", "q, d"),
    "queries": ("x", "qd", "dot[k](softmax[k](dot[d](v, x[q as k]) / 2), x[q as k])", "q, d"),
    "values": ("x", "qd", "dot[k](softmax[k](dot[d](x, x[q as k]) where real[q as k]), v[q as k])", "q, d"),
    "turned": ("cos(q) * linear.a[d -> d](x)", "qd", "dot[d](v, (cos(q) * linear.b[d -> d](x))[q as k])", "q, k"),
    "offset": ("(q - k) / 2", "qk", "softmax[k](dot[d](x, x[q as k]) - v)", "q, k"),
    "mask": ("1.0 * (q - k)", "qk", "softmax[k](dot[d](x, x[q as k]) where v > 0 and real[q as k])", "q, k"),
    "logits": ("x", "qd", "mean[q](cross_entropy[d](v, ids) where q < |q| - 1)", ""),
    "target": (
        "1.0 * int(ids)",
        "q",
        "cross_entropy[d](dot[k](softmax[k](dot[d](x, x[q as k])), x[q as k]), index[d](floor(v)))",
        "q",
    ),
    "loss": ("cross_entropy[d](dropout(x, 0.1), ids)", "q", "mean[q](v)", ""),
    "layers": ("dropout(relu(linear.b[d -> d](x)), 0.1)", "qd", "x + linear.a[d -> d](v)", "q, d"),
}
"""Where advisers look: a value and its axes, and what is made of it behind ops, with its axes."""


@cache
def renamed(op: Op, name: str) -> tuple[str, dict[str, bool]]:
    """The example, all of whose names begin with this one; and of each axis whether it is a width."""
    declared = re.findall(r"^(?:width|depth) .*", op.example, re.MULTILINE)
    axes = {
        axis: line.startswith("width")
        for line in declared
        for axis in re.findall(r"\w+", re.sub(r"^\w+|like \w+|= \d+", "", line))
    }
    text = op.example.replace("block f(", f"block {name}_f(")
    for axis in axes:
        text = re.sub(rf"\b{axis}\b(?!:)", f"{name}_{axis}", text)
    text = re.sub(r"^(width \w+)(?:, (\w+))?$", r"\1 like q\nwidth \2 like q", text, flags=re.MULTILINE)
    text = text.replace("width  like q\n", "")
    return text, {f"{name}_{axis}": width for axis, width in axes.items()}


def behind(op: Op, name: str, axes: set[str]) -> tuple[str, list[str]]:
    """`v`, which has these axes, put through the example of an op: what is declared, and the statements.

    The example's widths stand for `q` and `k`; what it has beside these is learned.
    """
    declared, own = renamed(op, name)
    model = example(op)
    ports = [[f"{name}_{axis.name}" for axis in entry.value.type.axes] for entry in model.graph.inputs]
    stands = dict(zip([axis for axis in own if own[axis] and any(axis in port for port in ports)], "qk", strict=False))
    if "k" not in axes:
        stands = dict.fromkeys(stands, "q")
    lines, given, made = list[str](), list[str](), set[str]()
    for number, (entry, wanted) in enumerate(zip(model.graph.inputs, ports, strict=True)):
        here, text = {*axes}, "v"
        for axis in (one for one in wanted if own[one]):
            if stands[axis] in here:
                text = f"({text})[{stands[axis]} as {axis}]"
            else:  # another item of the same
                text = f"(broadcast[{axis}]({text}) * broadcast[{', '.join(sorted(here - axes))}](v[q as {axis}]))"
            here = here - {stands[axis]} | {axis}
        for axis in sorted(here & {*stands.values()}):
            text = f"mean[{axis}]({text})"
            here.remove(axis)
        if depths := [axis for axis in wanted if not own[axis]]:
            lines.append(f"param {name}_{number}: [{', '.join(depths)}]")
            text = f"{text} * {name}_{number}"
        match entry.value.type.element:
            case Scalar.BOOL:
                text = f"({text}) > 0"
            case Scalar.INT:
                text = f"floor({text})"
            case IndexInto(axis):
                text = f"index[{name}_{axis.name}](floor({text}))"
        given.append(text)
        made |= here - {*wanted}
    (out,) = model.graph.outputs
    made |= {f"{name}_{axis.name}" for axis in out.value.type.axes}
    label = f".{name}" if model.weights else ""
    text = f"{name}_f{label}({', '.join(given)})"
    if out.value.type.element is Scalar.BOOL:
        text = f"select({text}, 1, 0.5)"
    elif out.value.type.element is not Scalar.REAL:
        text = f"1.0 * int({text})" if isinstance(out.value.type.element, IndexInto) else f"1.0 * {text}"
    lines.append(f"v = {text}")
    for axis in sorted(made - {*"qkd"}):
        origin = stands.get(axis, max(axes & {*"qk"}) if own[axis] else "")
        if origin and origin not in made:
            lines.append(f"v = v[{axis} as {origin}]")
            made.add(origin)
        else:
            lines.append(f"v = mean[{axis}](v)")
        made.remove(axis)
    if lost := sorted(axes - made):
        lines.append(f"v = broadcast[{', '.join(lost)}](v) + first")
    if more := sorted(made - axes):
        lines.append(f"v = mean[{', '.join(more)}](v)")
    return declared, lines


def program(place: str, *ops: Op) -> str:
    """A model in which ops, one behind the other, stand at a place."""
    start, given, end, out = PLACES[place]
    declared, lines = ["width q", "width k like q", "depth d = 4"], [f"first = {start}", "v = first"]
    for name, op in zip("fg", ops, strict=False):
        text, more = behind(op, name, {*given})
        declared.append(text)
        lines += more
    body = "\n    ".join([*lines, f"return {end}, x * cos(q) + sin(q)"])
    return "\n".join(
        [
            *declared,
            f"model net(x: [q, d], ids: d[q], real: bool[q]) -> (made: [{out}], placed: [q, d]) {{\n    {body}\n}}\n",
        ]
    )


def checked(text: str) -> None:
    """Whatever is told of it, an adviser that fails raises here: conftest.py sees to that."""
    errors = [each for each in attnc.check(text) if each.severity is Severity.ERROR]
    assert {each.code for each in errors} <= {"E0704"}, f"{errors}\n{text}"


@ROWS
def test_no_adviser_fails_at_an_op(op: Op) -> None:
    for place in random.Random(op.name).sample([*PLACES], 5):
        checked(program(place, op))


def test_no_adviser_fails_at_some_pairs() -> None:
    checked(program("shares", OPS["flip"]))
    for place, one, other in random.Random(54).sample([*product(PLACES, OPS.values(), OPS.values())], 60):
        checked(program(place, one, other))


@pytest.mark.slow
@ROWS
def test_no_adviser_fails_at_any_pair(op: Op) -> None:
    for place in PLACES:
        checked(program(place, op))
        for other in OPS.values():
            checked(program(place, op, other))


# -- one that does -----------------------------------------------------------------------------------------------------

MASKED = """\
width q
width k like q
depth d = 4
model f(x: [q, d]) -> [q, d] {
    return dot[k](softmax[k](dot[d](x, x[q as k]) where k < q), x[q as k])
}
"""


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first adviser fails behind its first finding, and users are not told."""

    def first(graph: Graph) -> Iterator[Problem]:
        yield from empty_queries(graph)
        raise KeyError(graph.name)

    def has_too_much(graph: Graph) -> Iterator[Problem]:
        yield from ()
        raise TooMuch(Limit.STEPS)

    monkeypatch.undo()
    monkeypatch.setattr("attnc.compiler.check.READERS", (first, has_too_much, *READERS))


@pytest.mark.usefixtures("broken")
def test_a_failure_ends_no_check() -> None:
    found = attnc.loads(MASKED)
    assert [each.code for each in found.warnings] == ["W0523"]  # by the one that failed, and by the others
    assert [(each.adviser, str(each.bug)) for each in found.failures] == [("first", "'f'")]


@pytest.mark.parametrize("adviser", ["same_names", "taken_step", "unused"])
def test_none_of_the_others_ends_a_check(adviser: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: object) -> Iterator[Problem]:
        raise KeyError(adviser)

    monkeypatch.undo()
    monkeypatch.setattr(f"attnc.compiler.check.{adviser}", fails)
    found = attnc.loads(MASKED)
    assert [each.code for each in found.warnings] == ["W0523"]
    assert [each.adviser for each in found.failures] == ["fails"]


@pytest.mark.usefixtures("broken")
def test_what_is_allowed_is_not_in_vain_where_an_adviser_failed() -> None:
    allowed = MASKED.replace("    return", "    # attnc: allow W0527: a reason\n    return")
    assert [each.code for each in attnc.check(allowed)] == ["W0523"]


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("strict", [False, True])
def test_only_strict_tells_of_it(strict: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "f.attn"
    path.write_text(MASKED.replace("k < q", "k <= q"))
    assert main(["check", str(path), *(["--strict"] if strict else [])]) == 0
    said = capsys.readouterr().err.replace(str(path), "f.attn").splitlines()
    note = "f.attn: note: internal error: KeyError in `first`: not all warnings were looked for."
    assert said[-1] == "f.attn: ok"
    assert [line.partition(" Please")[0] for line in said[:-1]] == ([note] if strict else [])


@pytest.mark.usefixtures("broken")
def test_debugging_shows_where_it_happened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f.attn").write_text(MASKED)
    monkeypatch.setenv("ATTNC_DEBUG", "1")
    with pytest.raises(KeyError):
        main(["check", "--strict", str(tmp_path / "f.attn")])


def test_in_a_test_it_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnc.compiler.check.READERS", (lambda graph: [][0],))
    with pytest.raises(IndexError):
        attnc.check(MASKED)
