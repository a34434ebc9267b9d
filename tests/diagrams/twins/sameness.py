"""Whether two checked graphs are the same program: what they compute, beside what a figure need not show.

`key` is equal for graphs that are equal up to the order of independent nodes, what nothing reads, the order of the
operands of a sum or product, and the short list in docs/diagrams.md. What is called is the same as if it stood there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from attnc.compiler.graph.nodes import (
    Apply,
    Call,
    Constant,
    Graph,
    Parameter,
    Positions,
    Repeat,
    Scan,
    makes,
    reads,
)
from attnc.compiler.graph.traits import Arrange, IndexMap, Reduce
from attnc.compiler.graph.values import IndexInto
from attnc.compiler.sizes.axes import Arith, Axis, ConstOf, Literal, SizeOf, Static
from attnc.compiler.sizes.functions import Compared, Conjunction, Disjunction, Extreme, Product, Sum

_NUMBERS: dict[object, int] = {}
UNSHOWN_OPTIONS = {"eps", "p", "init", "bias", "scale"}  # biases and scales show as weights


def _number(of: object) -> int:
    return _NUMBERS.setdefault(of, len(_NUMBERS))


@dataclass(frozen=True)
class _Frame:
    """What the names in a graph stand for where it is called."""

    axes: Mapping[Axis, str] = field(default_factory=dict)
    consts: Mapping[int, object] = field(default_factory=dict)
    path: str = ""

    def axis(self, axis: Axis) -> str:
        return self.axes.get(axis, axis.name)

    def names(self, axes: Iterable[Axis]) -> tuple[str, ...]:
        return tuple(sorted(map(self.axis, axes)))


def key(graph: Graph) -> int:
    known: dict[int, int] = {}
    for entry in graph.inputs:
        element = entry.value.type.element
        kind = element.axis.name if isinstance(element, IndexInto) else element.value
        names = tuple(sorted(axis.name for axis in entry.value.type.axes))
        known[entry.value.id] = _number(("input", entry.name, kind, names))
    return _number(tuple(zip((output.name for output in graph.outputs), _body(graph, known, _Frame()), strict=True)))


def _body(graph: Graph, known: dict[int, int], frame: _Frame) -> list[int]:
    """The results."""
    if graph.kind == "op":
        args = tuple(known[entry.value.id] for entry in graph.inputs)
        return [_number(("op", graph.target, args, k)) for k in range(len(graph.outputs))]
    for node in graph.nodes:
        match node:
            case Constant(value=value, out=out):
                known[out.id] = _number(("constant", _static(value, frame)))
            case Positions(axis=axis, out=out):
                known[out.id] = _number(("position", frame.axis(axis)))
            case Parameter(weight=weight, out=out):
                dims = tuple(tuple(map(frame.axis, dim)) for dim in weight.dims)
                known[out.id] = _number(("param", frame.path + weight.name, dims))
            case Apply():
                known[node.out.id] = _apply(node, known, frame)
            case Call():
                args = [known[value.id] for value in node.args]
                for out, result in zip(node.outs, _called(node, args, frame), strict=True):
                    known[out.id] = result
            case Repeat():
                _repeat(node, known, frame)
            case Scan():
                args = [known[value.id] for value in node.args]
                inner = [_number(("item", arg)) if k in node.steps else arg for k, arg in enumerate(args)]
                for at, _ in node.states:
                    inner[at] = _number(("state", at))
                begun = tuple(args[at] for at, _ in node.states)
                made = ("scan", frame.axis(node.axis), begun, node.states, tuple(_called(node, inner, frame)))
                for k, out in enumerate(node.outs):
                    known[out.id] = _number((made, k))
    return [known[output.value.id] for output in graph.outputs]


def _called(node: Call | Scan, args: Sequence[int], frame: _Frame) -> list[int]:
    """The results of what is called, of these arguments."""
    axes = {a: frame.axis(b) for a, b in node.axes} | {a: frame.axis(a) for a in node.graph.lifted}
    consts = {const.id: _static(value, frame) for const, value in node.consts}
    inner = {entry.value.id: arg for entry, arg in zip(node.graph.inputs, args, strict=True)}
    return _body(node.graph, inner, _Frame(axes, consts, f"{frame.path}{node.name}." if node.name else frame.path))


def _repeat(node: Repeat, known: dict[int, int], frame: _Frame) -> None:
    args = tuple(known[value.id] for value in node.args)
    bodies = []
    for body in node.bodies:
        inner = {
            entry.value.id: _number(("carried", node.name, k)) if k < node.carried else args[k]
            for k, entry in enumerate(body.inputs)
        }
        bodies.append(tuple(_body(body, inner, replace(frame, path=f"{frame.path}{node.name}."))))
    for k, (out, live) in enumerate(zip(node.outs, _needed(node), strict=True)):
        passes = tuple(tuple(body[j] for j in live) for body in bodies)
        begun = tuple(args[j] for j in live)
        known[out.id] = _number(("repeat", _static(node.count, frame), node.shared, passes, node.variant, begun, k))


def _needed(node: Repeat) -> list[list[int]]:
    """Of each value that is carried from pass to pass, which of them it hangs on in the end."""
    needs = [{k} for k in range(node.carried)]
    for body in node.bodies:
        made = {entry.value.id: {k} for k, entry in enumerate(body.inputs[: node.carried])}
        for inner in body.nodes:
            own = set().union(*(made.get(value.id, set()) for value in reads(inner)))
            made.update((out.id, own) for out in makes(inner))
        for k, output in enumerate(body.outputs):
            needs[k] |= made.get(output.value.id, set())
    for _ in needs:
        needs = [own.union(*(needs[j] for j in own)) for own in needs]
    return list(map(sorted, needs))


def _apply(node: Apply, known: dict[int, int], frame: _Frame) -> int:
    operands = [known[value.id] for value in node.operands]
    if node.traits.random:
        return operands[0]
    op, meaning, reads = node.op, node.traits.meaning, node.traits.reads
    match meaning:
        case Compared(">" | ">=" as sign):
            op, operands = ("<" if sign == ">" else "<="), operands[::-1]
        case Compared("==" | "!=") | Product() | Sum((1, 1)) | Conjunction() | Disjunction() | Extreme():
            operands.sort()
    if isinstance(reads, Reduce) and reads.multiplies and not node.weights:
        operands.sort()
    axes, made = list(map(frame.axis, node.axes)), list(map(frame.axis, node.made))
    pairs = isinstance(reads, Arrange) and reads.map is IndexMap.SAME
    ordered = isinstance(reads, Arrange) and not pairs
    if pairs:
        axes, made = sorted(f"{a} as {b}" for a, b in zip(axes, made, strict=True)), []
    elif not ordered:
        axes, made = sorted(axes), sorted(made)
    options = tuple(sorted((n, _static(v, frame)) for n, v in node.options.items() if n not in UNSHOWN_OPTIONS))
    weights = tuple(sorted(frame.path + weight.name for weight in node.weights))
    mask = known[node.mask.id] if node.mask is not None else None
    each = frame.names(node.each)
    return _number((op, tuple(operands), tuple(axes), tuple(made), each, mask, options, weights))


def _static(value: Static, frame: _Frame) -> object:
    match value:
        case Literal(number):
            return (type(number).__name__, number)
        case SizeOf(axis):
            return ("size", frame.axis(axis))
        case ConstOf(const):
            return frame.consts.get(const.id, ("const", const.name, const.value))
        case Arith(op, args):
            inner = [_static(arg, frame) for arg in args]
            return (op, *(sorted(inner, key=repr) if op in ("+", "*") else inner))
