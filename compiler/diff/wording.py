"""Parts, axes and weights in words."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.nodes import Apply, Call, Constant, Node, Parameter, Positions, Repeat, Scan, Weight
from ..ops.table import Notation, Op
from ..sizes.axes import Axis, show_static


def label(node: Node) -> str:
    """What a part is called: `self (rotary_attention)`, `layers x 32`, `softmax[past]`."""
    match node:
        case Apply(traits=Op(notation=Notation.ITEM, sign=sign), axes=axes, made=made):
            return f"[{axes_text(axes)} {sign} {axes_text(made) or '...'}]"
        case Apply(op=op):
            each = f"{axes_text(node.each)}: " if node.each else ""
            over = axes_text(node.axes)
            to = f" -> {axes_text(node.made)}" if node.made else ""
            brackets = f"[{each}{over}{to}]" if each or over or to else ""
            op = op if op[0].isalpha() else f"({op})"
            return f"{node.name} ({op}{brackets})" if node.name else f"{op}{brackets}"
        case Call(graph=graph, name=name):
            return graph.name if name in ("", graph.name) else f"{name} ({graph.name})"
        case Scan(graph=graph, axis=axis):
            return f"{graph.name} along {axis.name}"
        case Repeat(name=name, count=count):
            number = show_static(count)
            return name if number == name else f"{name} x {number}"
        case Parameter(weight=weight):
            return f"param {weight.name}"
        case Constant(value=value):
            return show_static(value)
        case Positions(axis=axis):
            return axis.name


def axes_text(axes: Sequence[Axis]) -> str:
    return ", ".join(axis.name for axis in axes)


def begins(weight: Weight) -> str:
    """How it begins, and whether it learns."""
    args = f"({', '.join(map(str, weight.init.args))})" if weight.init.args else ""
    return f"{weight.init.kind}{args} at first{', frozen' if weight.frozen else ''}"


def stored(weight: Weight) -> str:
    """Its axes, in the order of memory."""
    return f"[{', '.join(' '.join(axis.name for axis in axes) for axes in weight.dims)}]"
