"""A graph as text: for golden files, and for looking at one."""

from __future__ import annotations

from attnc.compiler.graph.nodes import Apply, Call, Constant, Graph, Parameter, Positions, Repeat, Scan, nested
from attnc.compiler.graph.term import WORDS, Leaf, Number, Position, Term, TermOp
from attnc.compiler.graph.typed_value import show_axes, show_type
from attnc.compiler.graph.values import Value
from attnc.compiler.sizes.axes import show_static


def dump(graph: Graph) -> str:
    """Every distinct graph once, the callers first."""
    return "\n".join(map(_one, nested(graph)))


def _one(graph: Graph) -> str:
    lines = [f"{graph.kind} {graph.name}"]
    for position, axis in enumerate(graph.axes):
        size = f" = {axis.extent}" if axis.extent is not None else f" = {show_static(axis.size)}" if axis.size else ""
        bound = f" <= {axis.bound}" if axis.bound is not None and not size else ""
        lines.append(f"  {axis.kind.value} {axis.name}{size}{bound}{'' if position < graph.params else '  (own)'}")
    lines += [f"  const {const.name} = {const.value}" for const in graph.consts]
    if graph.lifted:
        lines.append(f"  lifted {show_axes(graph.lifted)}")
    lines += [f"  in {entry.name} {_value(entry.value)}" for entry in graph.inputs]
    for node in graph.nodes:
        match node:
            case Constant(value, out):
                lines.append(f"  {_value(out)} = {show_static(value)}")
            case Positions(axis, out):
                lines.append(f"  {_value(out)} = index of {axis.name}")
            case Parameter(weight, out):
                lines.append(f"  {_value(out)} = param {weight.name}")
            case Apply():
                lines.append(f"  {_value(node.out)} = {_apply(node)}")
            case Call():
                axes = ", ".join(f"{a.name} = {b.name}" for a, b in node.axes)
                args = ", ".join(f"%{arg.id}" for arg in node.args)
                lines.append(f"  {', '.join(map(_value, node.outs))} = {node.graph.name}.{node.name}[{axes}]({args})")
            case Scan():
                args = ", ".join(f"%{arg.id}" for arg in node.args)
                outs = ", ".join(map(_value, node.outs))
                lines.append(
                    f"  {outs} = scan[{node.axis.name}] {node.graph.name}.{node.name}({args}) steps "
                    f"{node.steps} states {node.states}"
                )
            case Repeat():
                args = ", ".join(f"%{arg.id}" for arg in node.args)
                shared = " shared" if node.shared else ""
                lines.append(
                    f"  {', '.join(map(_value, node.outs))} = repeat.{node.name} "
                    f"{show_static(node.count)}{shared} ({args}) carrying {node.carried}{_kinds(node)}"
                )
    for output in graph.outputs:
        lines.append(f"  out {output.name or ''}%{output.value.id} {show_axes(output.axes)}")
    return "\n".join(lines) + "\n"


def _apply(node: Apply) -> str:
    label = f".{node.name}" if node.name else ""
    each = f"{', '.join(a.name for a in node.each)}: " if node.each else ""
    axes = ", ".join(a.name for a in node.axes)
    made = f" -> {', '.join(a.name for a in node.made)}" if node.made else ""
    brackets = f"[{each}{axes}{made}]" if axes or made else ""
    mask = f" where %{node.mask.id}" if node.mask else f" where {_term(node.seen.term)}" if node.seen else ""
    options = "".join(f", {name} = {show_static(value)}" for name, value in node.options.items())
    return f"{node.op}{label}{brackets}({', '.join(f'%{v.id}' for v in node.operands)}{mask}{options})"


def _kinds(node: Repeat) -> str:
    return f" bodies {', '.join(map(str, node.variant))}" if len(node.bodies) > 1 else ""


def _term(term: Term) -> str:
    """A mask of positions, operators before what they act on; data with what it is called, and a number known of it."""
    match term:
        case Position(axis):
            return axis.name
        case Number(static):
            return show_static(static)
        case Leaf(value, name, known=number):
            called = f":{name.replace(' ', '')}" if name not in ("", value.name) else ""
            return f"%{value.id}{called}" + ("" if number is None else f"={number}")
        case TermOp(meaning, args):
            return f"({WORDS[meaning]} {' '.join(map(_term, args))})"


def _value(value: Value) -> str:
    name = f" {value.name}" if value.name else ""
    spread = tuple(axis for axis in value.type.axes if axis in value.type.broadcast_axes)
    broadcast = f" broadcast {show_axes(spread)}" if spread else ""
    return f"%{value.id}{name}: {show_type(value.type)}{broadcast} {value.role.name.lower()}"
