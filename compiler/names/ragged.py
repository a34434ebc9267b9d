"""What the checker says of ragged widths: declarations that cannot be, ops that mix padding in, masks by hand.

`width source ragged` gives each example of a batch a length of its own. `rewrites/ragged.py` makes that true of a
graph; here stand the complaints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...dsl import syntax as s
from ...dsl.diagnostic import Diagnostic, Severity, error
from ...dsl.source import Span
from ..base.names import listed
from ..base.session import Reporter
from ..graph.nodes import Apply, Call, Graph, Repeat, Scan
from ..graph.values import Scalar
from ..rewrites.ragged.widths import pad_ragged
from ..sizes.arithmetic import with_parts


def refuse_ragged(reporter: Reporter, decl: s.AxisDecl, *, in_block: bool = False) -> bool:
    """Report `ragged` on an axis that cannot have a length for each example. True if it was refused."""
    if decl.ragged is None:
        return False
    name, size = decl.name.text, decl.size.span.text if decl.size is not None else ""
    most = f" <= {size}" if size else ""
    if decl.kind == "depth":
        why, help = (
            "a depth's size is known when the spec is compiled",
            f"declare it as a width: `width {name}{most} ragged`",
        )
    elif decl.like is not None:
        original = decl.like.text
        why = f"it is a copy of `{original}`, and has its lengths"
        help = f"leave the word out here, and write it behind the declaration of `{original}`: its copies follow"
    elif in_block or (decl.size is not None and not decl.bounded):
        why, help = "its size follows from others, and is ragged if they are", "leave the word out"
        if isinstance(decl.size, s.Number):
            why = "its size is fixed"
            help = f"leave the size to the inputs, `width {name} ragged`, or bound it, `width {name} <= {size} ragged`"
    else:
        return False
    reporter.report("E0801", f"`{name}` cannot be ragged: {why}", decl.ragged.span, help=help)
    return True


def complaints(graph: Graph) -> list[Diagnostic]:
    """Of one model or block with ragged widths: ops that cannot leave padding out, and masks that do so by hand."""
    if not any(axis.ragged for axis in graph.axes):
        return []
    padded, problems = pad_ragged(graph)
    lengths = {entry.length_of.family: entry.name for entry in padded.inputs if entry.length_of is not None}
    return [*problems, *_by_hand(graph, lengths)]


def _by_hand(graph: Graph, lengths: Mapping[int, str]) -> Iterator[Diagnostic]:
    """Warnings for inputs of a model that say for each item of a ragged width whether it is real.

    lengths: the inputs that do say it, by the family of their width. A derived width is ragged if a part of it is.
    """
    for entry in graph.inputs if graph.kind == "model" else ():
        axes = entry.value.type.axes
        if entry.value.type.element is not Scalar.BOOL or len(axes) != 1:
            continue
        parts = {part.family for part in with_parts({axes[0]})}
        told = [name for family, name in lengths.items() if family in parts]
        if not told:
            continue
        place = next(_masks(graph, {entry.value.id}), None)
        if place is not None:
            name = axes[0].name
            yield error(
                "W0505",
                f"`{entry.name}` masks the ragged width `{name}` by hand: its padding is left out already",
                entry.value.span,
                related=[(place, f"a mask over `{name}` or a copy of it")],
                help=f"leave `{entry.name}` out; the model is given {listed(told)} instead",
                severity=Severity.WARNING,
            )


def _masks(graph: Graph, tainted: set[int]) -> Iterator[Span | None]:
    """Places where a mask keeps only what one of these values keeps."""
    for node in graph.nodes:
        match node:
            case Apply():
                if node.mask is not None and node.mask.id in tainted:
                    yield node.span
                if node.op in ("rename", "and", "gather", "broadcast") and any(
                    value.id in tainted for value in node.operands
                ):
                    tainted.add(node.out.id)
            case Call() | Scan():
                yield from _masks(node.graph, _inside(node.graph, node, tainted))
            case Repeat():
                for body in node.bodies:
                    yield from _masks(body, _inside(body, node, tainted))
            case _:
                pass


def _inside(graph: Graph, node: Call | Scan | Repeat, tainted: set[int]) -> set[int]:
    """The inputs of a nested graph that are given one of these values."""
    return {entry.value.id for entry, arg in zip(graph.inputs, node.args, strict=False) if arg.id in tainted}
