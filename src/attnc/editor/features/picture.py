"""The diagram of the block at the cursor."""

from __future__ import annotations

from dataclasses import dataclass

from ...compiler.graph.nodes import Graph
from ...dsl import syntax as s
from ..analysis import Analysis, views


@dataclass(frozen=True, slots=True)
class Subject:
    """What is to be drawn: the block at the cursor, or the one after it; or why nothing can be."""

    name: str
    graph: Graph | None
    message: str = ""


def subject(analysis: Analysis, offset: int) -> Subject:
    """The block or model at a place; outside of any, the nearest model, or block."""
    view, at = next(reversed(list(views(analysis, offset))))
    blocks = [item for item in view.file.items if isinstance(item, s.BlockDecl)]
    if not blocks:
        return Subject("", None, "there is no block and no model here")
    inside = next((b for b in blocks if b.span.start <= at <= b.span.end), None)
    chosen = inside or next((b for b in blocks if b.keyword == "model"), blocks[0])
    name = chosen.name.text
    if analysis.program.errors:
        first = analysis.program.errors[0]
        more = len(analysis.program.errors) - 1
        return Subject(name, None, f"{first.message}{f' (and {more} more)' if more else ''}")
    if name not in (*analysis.program.models, *analysis.program.blocks):
        return Subject(name, None, f"`{name}` is not drawn")
    return Subject(name, analysis.program.graph(name))


def svg(graph: Graph) -> tuple[str, str]:
    """The diagram as SVG, and what is wrong where it cannot be drawn."""
    from ...diagrams import ExportError, draw

    try:
        return draw(graph).svg(), ""
    except ExportError as problem:
        return "", str(problem)
