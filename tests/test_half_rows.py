"""What each stage says of an op of which it knows its row alone: an answer that is clear, and never an internal error.

Such a row is made of each row of the table: the same under a name that no stage has heard of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

import attnc
from attnc.backends import CannotEmit
from attnc.cli import main
from attnc.compiler.graph.nodes import Apply, Graph, children
from attnc.compiler.graph.traits import Anything, Pointwise, Validity
from attnc.compiler.hints.tell import tell
from attnc.compiler.ops import OPS, Op
from attnc.compiler.problems.causality import Tried
from attnc.compiler.rewrites.ragged.widths import pad_ragged
from attnc.compiler.rewrites.tools.walk import Walk
from tests import test_op_table as table
from tests.dump import dump

BACKENDS: tuple[Literal["torch", "numpy"], ...] = ("torch", "numpy")


def renamed(op: Op) -> Op:
    """The row under a new name, wherever its texts call it."""
    name = f"{op.name}_anew"

    def text(old: str) -> str:
        return re.sub(rf"\b{op.name}(?=(\.\w+)?(\[[^\]]*\])?\()", name, old)

    return replace(op, name=name, usage=text(op.usage), example=text(op.example), wrong=text(op.wrong))


# What `valid` is of, it hangs on: a rewrite puts it there.
OTHERS = [op for op in OPS.values() if op.reads != Pointwise(Validity())]
CALLED = [op for op in OTHERS if op.name.isidentifier() and renamed(op).example != op.example]
WRITTEN = [op for op in CALLED if op.torch and op.numpy]  # their rows say all that a backend writes


def nodes(graph: Graph) -> Iterator[Apply]:
    """The ops in a graph, and in those of its calls."""
    for node in graph.nodes:
        if isinstance(node, Apply):
            yield node
        for child in children(node):
            yield from nodes(child)


def changed(graph: Graph, old: Op, new: Op) -> Graph:
    """The graph with another row in place of one, which type rules need not know."""

    def step(_: Graph, graph: Graph) -> Graph:
        ops = (
            replace(node, traits=new) if isinstance(node, Apply) and node.traits is old else node
            for node in graph.nodes
        )
        return replace(graph, nodes=tuple(ops))

    return Walk(step)(graph)


@pytest.fixture
def row(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Op:
    """A row in the table for the time of a test."""
    op: Op = request.param
    monkeypatch.setitem(OPS, op.name, op)
    return op


def rows(ops: list[Op]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", ops, ids=lambda op: op.name, indirect=True)


HALF = rows([replace(renamed(op), torch="", numpy="") for op in CALLED])


def test_of_every_kind() -> None:
    assert {op.group for op in CALLED} == {op.group for op in OPS.values()}
    assert WRITTEN


@HALF
def test_what_the_row_says_is_all_that_these_need(row: Op) -> None:
    table.test_the_example_uses_the_op(row)
    table.test_the_op_is_drawn(row)
    table.test_its_equations(row)
    table.test_its_cost(row)


@HALF
def test_no_backend_writes_it(row: Op) -> None:
    """It is said in whose name, and what is missing."""
    model = table.example(row)
    for backend in BACKENDS:
        with pytest.raises(CannotEmit, match=f"^f: `{row.name}` has no code for {backend}: its row"):
            model.source(backend)


@HALF
def test_the_table_refuses_it(row: Op) -> None:
    with pytest.raises(CannotEmit):
        table.test_both_backends_agree(row, ())


def claim(program: table.Program) -> tuple[attnc.Model | None, tuple[str, ...]]:
    """What claims to be causal, if it is, and what is said of it if it is not."""
    try:
        return program.compiled(program.text), ()
    except attnc.AttnError as refused:
        (found,) = refused.diagnostics
        labels = (found.label, *(label.text for label in found.related))
        return None, (found.code, found.message, *labels, *found.notes, found.help)


@HALF
def test_causality_and_decoding(row: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its claims are proved or refused as those of the op that it is. How its steps are taken is not known.

    It has no code, so no claim is tried.
    """
    monkeypatch.setattr("attnc.spec._tried", lambda *_: Tried(None, 0))
    old = row.name.removesuffix("_anew")
    for program, before in zip(table.claims(row), table.claims(OPS[old]), strict=True):
        (model, said), (known, right) = claim(program), claim(before)
        assert tuple(text.replace(row.name, old) for text in said) == right
        if model is not None and known is not None:
            reason = model.decoding.reason
            told = (reason, *model.decoding.at_once)  # it is done anew for all items, or nothing is
            assert any(f"`{row.name}`" in each for each in told) or (reason and reason == known.decoding.reason), told


@HALF
def test_ragged_widths(row: Op) -> None:
    """Padding is left out of what it reads, or that is refused, as of the op that it is."""
    old = row.name.removesuffix("_anew")
    for program, before in zip(table.raggeds(row), table.raggeds(OPS[old]), strict=True):
        try:
            model = program.compiled(program.text)
        except attnc.AttnError as refused:
            assert not row.masked
            with pytest.raises(attnc.AttnError) as right:
                before.compiled(before.text)
            for found, known in zip(refused.diagnostics, right.value.diagnostics, strict=True):
                assert (found.message.replace(row.name, old), found.help) == (known.message, known.help)
                assert found.help and "not known" not in found.message
        else:
            if re.search(rf"\b{row.name}\b", dump(model._sized)):  # else padding has made another op of it
                with pytest.raises(CannotEmit, match=f"`{row.name}` has no code for torch"):
                    model.source("torch")
            else:
                assert row.name == "flip_anew" and model.source("torch")
            assert before.compiled(before.text).source("torch")


@rows([renamed(op) for op in CALLED])
def test_ragged_widths_of_what_may_read_anything(row: Op) -> None:
    """It is refused wherever its operands run along one, in its brackets or not."""
    for program in table.raggeds(row):
        with suppress(attnc.AttnError):
            graph = program.compiled(program.text).graph
            problems = pad_ragged(changed(graph, row, replace(row, reads=Anything())))[1]
            (node,) = (node for node in nodes(graph) if node.op == row.name)
            assert bool(problems) is any(
                axis.name == program.width for value in node.operands for axis in value.type.axes
            )
            for found in map(tell, problems):
                said = f"`{row.name}` acts on the ragged width `{program.width}`, and how it reads padding is not known"
                assert said in found.message and found.help


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, and no traceback."""
    monkeypatch.setitem(OPS, "exp_anew", replace(renamed(OPS["exp"]), torch="", numpy=""))
    file = tmp_path / "new.attn"
    file.write_text("width seq\nmodel f(x: [seq]) -> [seq] {\n    return exp_anew(x)\n}\n")
    assert main(["check", str(file)]) == 0
    assert main(["compile", str(file), "--to", "torch"]) != 0
    said = capsys.readouterr().err
    assert "f: `exp_anew` has no code for torch" in said and "Traceback" not in said


@rows([renamed(op) for op in WRITTEN])
def test_a_row_with_templates_is_whole(row: Op) -> None:
    """Of what is done item by item no other file has to know."""
    for batch in [(), (2, 3)]:
        table.test_both_backends_agree(row, batch)
    table.test_float32_stays_float32(row)
    table.test_the_gradient_is_that_of_the_numbers(row)
    table.test_what_is_causal_reads_nothing_after_it(row)
    table.test_its_steps_are_the_whole(row)
    table.test_each_ragged_example_is_as_if_alone(row)


@rows([renamed(op) for op in WRITTEN if len(op.operands) == 1])
@pytest.mark.parametrize("number", ["0.5", "1 / |d|", "|seq|", "pass + 1"])
def test_of_numbers_known_at_build_time(row: Op, number: str) -> None:
    """Python's numbers do not have it, but arrays do."""
    text = (
        "width seq\ndepth d = 4\nmodel f(x: [seq, d]) -> [seq, d] {\n"
        f"    repeat.r pass in 2 {{\n        x = x * {row.name}({number})\n    }}\n    return x\n}}\n"
    )
    old = text.replace(row.name, row.name.removesuffix("_anew"))
    inputs = table.arguments(attnc.loads(old).model("f"), (2,))
    right = attnc.loads(old).model("f").numpy(dtype="float64")(**inputs)
    torch = pytest.importorskip("torch")
    model = attnc.loads(text).model("f")
    deep = model.torch(dtype=torch.float64)(torch.from_numpy(inputs["x"]))
    for found in (model.numpy(dtype="float64")(**inputs), deep.numpy()):
        assert abs(found - right).max() <= 1e-12 * abs(right).max()
