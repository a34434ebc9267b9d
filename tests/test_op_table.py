"""Walks the op table: what each stage says of each op, by the example of its row.

A row that one of these tests fails is half a row: an op that the backends cannot write is refused here, before a user
meets it. What the stages say of such an op is in test_half_rows.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pytest

import attnc
from attnc.compiler.graph import traits as t
from attnc.compiler.graph.nodes import Apply, Graph, reads
from attnc.compiler.graph.values import IndexInto
from attnc.compiler.ops import OPS, Op
from attnc.compiler.ops.table import Brackets
from attnc.diagrams.scene.op_glyphs import glyph_of

ROWS = pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
FREE = 4  # items along a free width
Array = np.ndarray[Any, np.dtype[Any]]


# -- programs of a row -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """A program with an op, about one of its widths.

    text:  as it is; `block` says which of its blocks and models to compile.
    width: along which it claims to be causal, or is ragged.
    size:  how many items there are along it when the program runs.
    plain: the text without the claim and `ragged`.
    """

    text: str
    block: str
    width: str
    size: int
    plain: str

    def compiled(self, text: str) -> attnc.Model:
        spec = attnc.loads(text, name=f"{self.block}.attn")
        return spec.block(self.block) if self.block in spec.blocks else spec.model(self.block)


def example(op: Op) -> attnc.Model:
    spec = attnc.loads(op.example, name=f"{op.name}.attn")
    assert not spec.warnings
    return spec.block("f")


def widths(model: attnc.Model) -> dict[int, str]:
    """Families of widths of a free size among the inputs, each with the name that its length has."""
    axes = [axis for entry in model.graph.inputs for axis in entry.value.type.axes]
    return {axis.family: axis.name for axis in reversed(axes) if axis.is_width and axis.extent is None}


def own(op: Op) -> Iterator[tuple[str, str, int]]:
    """The example about each of its widths, and with each depth of its inputs made one where that is a program: the
    text, the width, and how many items it has.
    """
    for width in widths(example(op)).values():
        yield op.example, width, FREE
    for line in re.findall(r"^depth .*$", op.example, re.MULTILINE):
        depths = line.removeprefix("depth ").split(", ")
        for depth in depths:
            width, size = depth.split(" = ")
            rest = ", ".join(other for other in depths if other != depth)
            text = op.example.replace(line, f"width {width}\n" + (f"depth {rest}" if rest else ""))
            with suppress(attnc.AttnError):
                if width in widths(attnc.loads(text).block("f")).values():
                    yield text, width, int(size)


def lifted(op: Op, ragged: str = "", claim: str = "") -> str:
    """The example applied to each item of a width of its own: whatever an op acts on, it lifts over the rest (D3)."""
    model = example(op)
    (result,) = model.outputs

    def beside_time(port: attnc.Port) -> str:
        return f"{'' if port.element == 'real' else port.element}[{', '.join(('time', *port.axes))}]"

    given = ", ".join(f"{port.name}: {beside_time(port)}" for port in model.inputs)
    names = ", ".join(str(port.name) for port in model.inputs)
    head = f"model net({given}) -> {beside_time(result)}{claim}"
    return f"{op.example}width time{ragged}\n{head} {{\n    return f({names})\n}}\n"


def claims(op: Op) -> Iterator[Program]:
    """Programs that claim to be causal: along each width of the result that an input has too, and lifted."""
    for text, width, size in own(op):
        model = attnc.loads(text).block("f")
        family = next(family for family, name in widths(model).items() if name == width)
        for axis in model.graph.outputs[0].axes:
            if axis.family == family:
                claimed = text.replace(" {\n", f" causal {axis.name} {{\n", 1)
                yield Program(claimed, "f", axis.name, size, text)
    yield Program(lifted(op, claim=" causal time"), "net", "time", FREE, lifted(op))
    if op.masked:
        for text in both_along_time(op):
            yield Program(text.replace(" {\n", " causal q {\n", 1), "f", "q", FREE, text)


def both_along_time(op: Op) -> tuple[str, str]:
    """The example of an op that takes a mask, over `k`, with `k` a copy of `q`: over all of it, and over its past."""
    text = op.example.replace("width q, k\n", "width q\nwidth k like q\n")
    assert text != op.example, "an op with a mask has the widths `q` and `k` in its example"
    head, arrow, rest = text.partition(" -> ")
    past = re.sub(r"\((\w+)( where \w+)?\)\n", r"(\1 where k <= q)\n", rest)
    return text, head.replace("[q, k]", "[k]") + arrow + past


def raggeds(op: Op) -> Iterator[Program]:
    """Programs with a ragged width: each of the example, and lifted."""
    for text, width, size in own(op):
        ragged = re.sub(rf"^(width .*?\b{width}\b)", r"\1 ragged", text, count=1, flags=re.MULTILINE)
        yield Program(ragged, "f", width, size, text)
    yield Program(lifted(op, ragged=" ragged"), "net", "time", FREE, lifted(op))


def arguments(model: attnc.Model, batch: tuple[int, ...], size: int = FREE, seed: int = 0) -> dict[str, Array]:
    """Inputs of the declared kinds; free widths have `size` items. Lengths of ragged ones are not among them."""
    rng = np.random.default_rng(seed)
    found: dict[str, Array] = {}
    for port in model.inputs[: len(model.graph.inputs)]:
        assert port.name is not None
        shape = (*batch, *(size if one is None else one for one in port.shape))
        if port.element == "bool":
            found[port.name] = rng.random(shape) > 0.3
        elif port.element == "real":
            found[port.name] = rng.uniform(0.1, 2, shape)  # where log and sqrt are at home
        else:
            found[port.name] = rng.integers(0, 4, shape)
    return found


def along(graph: Graph, name: str, family: int) -> list[int]:
    """The dimensions of an input that run along a family of axes, counted from the right."""
    axes = next(entry.value.type.axes for entry in graph.inputs if entry.name == name)
    return [place - len(axes) for place, axis in enumerate(axes) if axis.family == family]


def first(array: Array, number: int, dims: list[int]) -> Array:
    """The first items along some dimensions."""
    for dim in dims:
        array = np.take(array, range(number), dim)
    return array


# -- the row ---------------------------------------------------------------------------------------------------------


@ROWS
def test_the_row_is_whole(op: Op) -> None:
    assert op.doc.endswith(".")
    assert op.usage
    assert glyph_of(op)
    assert "block f(" in op.example
    assert op.masked is False or "mask" in op.doc or op.group in ("reduce", "normalise")
    for template in (op.torch, op.numpy):  # an operand that stands there twice would be computed twice
        assert all(template.count(f"{{{place}}}") < 2 for place in range(3)), "write a function in its stead"


@ROWS
def test_what_it_reads_is_there(op: Op) -> None:
    """Operands, brackets and options are those of how the row says that it reads: proofs go by that."""
    assert fits(op)


def fits(op: Op) -> bool:
    """Whether the operands, brackets and options of a row are those of how it reads."""
    number, options = len(op.operands), {option.name for option in op.options}
    match op.reads:
        case t.Pointwise(meaning):
            several = op.variadic and isinstance(meaning, t.Extreme | t.LogSum | t.Conjunction | t.Disjunction)
            return op.brackets is not Brackets.ACTS and (several or (number == arity(meaning) and not op.variadic))
        case t.Reduce():
            return op.brackets in (Brackets.ACTS, Brackets.MAP)
        case t.Running() | t.Normalise() | t.Arrange(t.IndexMap.MIRRORED):
            return op.brackets is Brackets.ACTS and number == 1
        case t.Gather():
            return op.brackets is Brackets.MAP and number == 2
        case t.Arrange(t.IndexMap.NEW):
            return op.brackets is Brackets.MADE and number == 1
        case t.Arrange(map):
            shifts = "left" in options or map is not t.IndexMap.SHIFTED
            return op.brackets is Brackets.MAP and shifts and op.variadic is (map is t.IndexMap.PARTS)
        case t.Window():
            return op.brackets is Brackets.MAP and {"stride", "pad"} <= options
        case t.Anything():
            return True


def arity(meaning: t.Meaning) -> int:
    """How many operands it has, or at least has."""
    match meaning:
        case t.Sum(times):
            return len(times)
        case t.Rounded() | t.Magnitude() | t.Complement() | t.Lookup() | t.Validity() | t.Function():
            return 1
        case t.Limited() | t.Choice():
            return 3
        case _:
            return 2


@ROWS
def test_the_example_uses_the_op(op: Op) -> None:
    graph = example(op).graph
    assert op.name in {getattr(node, "op", "") for node in graph.nodes}


@ROWS
def test_the_wrong_program_is_refused(op: Op) -> None:
    """With one clear error, on a place that has to do with the op."""
    with pytest.raises(attnc.AttnError) as wrong:
        attnc.loads(op.wrong, name=f"{op.name}.attn")
    (found,) = wrong.value.diagnostics
    assert found.span is not None
    assert found.help or found.related


# -- what it computes ------------------------------------------------------------------------------------------------


@ROWS
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)], ids=str)
def test_both_backends_agree(op: Op, batch: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch")
    model = example(op)
    inputs = arguments(model, batch)
    plain = model.numpy(seed=1, dtype="float64")(**inputs)
    net = model.torch(seed=1, dtype=torch.float64).eval()
    with torch.no_grad():
        deep = net(**{name: torch.from_numpy(np.asarray(array)) for name, array in inputs.items()}).numpy()
    assert plain.shape == deep.shape
    port = model.outputs[0]
    assert plain.shape == (*batch, *(FREE if size is None else size for size in port.shape))
    assert plain.dtype == deep.dtype
    np.testing.assert_allclose(plain, deep, rtol=1e-10, atol=1e-12)


@ROWS
def test_float32_stays_float32(op: Op) -> None:
    model = example(op)
    result = model.numpy(seed=1)(
        **{k: a.astype(np.float32) if a.dtype == float else a for k, a in arguments(model, (2,)).items()}
    )
    assert result.dtype in (np.float32, np.int64, np.bool_)


@ROWS
def test_the_gradient_is_that_of_the_numbers(op: Op) -> None:
    """Of inputs and weights, against differences of what the op computes; what is no real has none."""
    torch = pytest.importorskip("torch")
    model = example(op)
    net = model.torch(seed=1, dtype=torch.float64).eval()
    given = {name: torch.from_numpy(np.asarray(x)) for name, x in arguments(model, (2,)).items()}
    varied = {
        name: x.detach().requires_grad_() for name, x in (given | net.state_dict()).items() if x.is_floating_point()
    }

    def result(*values: Any) -> Any:
        now = dict(zip(varied, values, strict=True))
        weights = {name: x for name, x in now.items() if name not in given}
        return torch.func.functional_call(net, weights, (), {name: now.get(name, x) for name, x in given.items()})

    out = result(*varied.values())
    graded = bool(varied) and model.outputs[0].element == "real" and op.gradient
    assert out.requires_grad is graded
    if graded:
        assert torch.autograd.gradcheck(result, tuple(varied.values()))


# -- what is known of it ---------------------------------------------------------------------------------------------


@ROWS
def test_the_op_is_drawn(op: Op) -> None:
    dot = example(op).draw().dot
    assert dot.startswith("digraph") or dot.startswith("graph")


@ROWS
def test_its_equations(op: Op) -> None:
    model = example(op)
    text = model.latex()
    assert text.startswith(r"\begin{align*}") and text.rstrip().endswith(r"\end{align*}")
    assert text.count("{") == text.count("}") and text.count(r"\left") == text.count(r"\right")
    *_, row = text.splitlines()[:-1]
    read = {value.id for node in model.graph.nodes for value in reads(node)}
    for entry in model.graph.inputs:
        assert (re.search(rf"\b{entry.name}\b", row.partition("=")[2]) is not None) is (entry.value.id in read), row


@ROWS
def test_its_cost(op: Op) -> None:
    """What hangs on the row alone: what each op takes is in tests/cost/test_rows.py."""
    model = example(op)
    cost = model.cost(**dict.fromkeys(widths(model).values(), FREE))
    assert cost.parameters.value == sum(np.prod(weight.shape) for weight in model.weights.values())
    moves = any(OPS[node.op].cost.moves for node in model.graph.nodes if isinstance(node, Apply))
    assert (cost.moved.value > 0, cost.steps.value > 0) == (moves, moves)
    assert cost.peak.value > 0 or not moves
    assert str(cost)


def proved(op: Op) -> Iterator[tuple[Program, attnc.Model]]:
    """The claims of the row that are proved. Each other is refused, at the op."""
    for program in claims(op):
        try:
            model = program.compiled(program.text)
        except attnc.AttnError as refused:
            (found,) = refused.diagnostics
            assert found.code == "E0701" and f"causal along `{program.width}`" in found.message
            assert found.help and f"`{op.name}`" in str(refused)
        else:
            yield program, model


@ROWS
def test_what_is_causal_reads_nothing_after_it(op: Op) -> None:
    """A claim that is proved holds when later items are others; that of the lifted example always is."""
    found = list(proved(op))
    assert "time" in {program.width for program, _ in found}
    for program, model in found:
        run = model.numpy(seed=1, dtype="float64")
        before, other = (arguments(model, (2,), program.size, seed) for seed in (0, 1))
        (output,) = model.graph.outputs
        axis = next(axis for axis in output.axes if axis.name == program.width)
        at = output.axes.index(axis) - len(output.axes)
        right = run(**before)
        for seen in range(1, program.size):
            after = dict(before)
            for name, array in before.items():
                for dim in along(model.graph, name, axis.family):
                    left = range(seen, array.shape[dim])
                    parts = np.take(after[name], range(seen), dim), np.take(other[name], left, dim)
                    after[name] = np.concatenate(parts, dim)
            np.testing.assert_array_equal(first(run(**after), seen, [at]), first(right, seen, [at]))


@ROWS
def test_its_steps_are_the_whole(op: Op) -> None:
    """Or it is said why there are none."""
    pytest.importorskip("torch")
    from tests.decode.steps import check_steps

    for program, model in proved(op):
        if model.decoding.step is None:
            assert model.decoding.reason.startswith(f"`{model.name}` has no one-step form along `{program.width}`")
        else:
            check_steps(model, dtypes=("float64",), values=arguments(model, (2,), program.size))


@ROWS
def test_each_ragged_example_is_as_if_alone(op: Op) -> None:
    """Or it is said why not."""
    torch = pytest.importorskip("torch")
    for program in raggeds(op):
        alone, size = program.compiled(program.plain), program.size
        family = next(family for family, width in widths(alone).items() if width == program.width)
        try:
            model = program.compiled(program.text)
        except attnc.AttnError as refused:
            for found in refused.diagnostics:
                assert f"`{op.name}`" in found.message and f"ragged width `{program.width}`" in found.message
                assert found.help and "not known" not in found.message
            continue
        inputs, lengths = arguments(model, (3,), size), np.array([size, (size + 1) // 2, size - 1])
        for entry in alone.graph.inputs:
            element = entry.value.type.element
            if isinstance(element, IndexInto) and element.axis.family == family:  # no index of padding
                ends = lengths.reshape(-1, *(1 for _ in entry.value.type.axes))
                inputs[entry.name] = inputs[entry.name] % ends
        given = {**inputs, f"{program.width}_lengths": lengths}
        together = model.numpy(seed=1, dtype="float64")(**given)
        net = model.torch(seed=1, dtype=torch.float64).eval()
        with torch.no_grad():
            deep = net(**{name: torch.from_numpy(array) for name, array in given.items()}).numpy()
        (output,) = alone.graph.outputs
        dims = [place - len(output.axes) for place, axis in enumerate(output.axes) if axis.family == family]
        run = alone.numpy(seed=1, dtype="float64")
        for place, length in enumerate(lengths):
            cut = {name: first(x[place], length, along(alone.graph, name, family)) for name, x in inputs.items()}
            right = run(**cut)
            for result in (together, deep):
                np.testing.assert_allclose(first(result[place], length, dims), right, rtol=1e-10, atol=1e-12)


# -- what its row says of code ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["torch", "numpy"])
def test_no_template_is_written_in_vain(backend: Literal["torch", "numpy"], monkeypatch: pytest.MonkeyPatch) -> None:
    """What the table says of an op's code stands in the code, or is not said: a backend's own function writes that."""
    for name, op in OPS.items():
        if getattr(op, backend):
            monkeypatch.setitem(OPS, name, replace(op, **{backend: f"hash({getattr(op, backend)})"}))
            assert "hash(" in example(op).source(backend), name
