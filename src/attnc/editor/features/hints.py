"""The type of what is bound, beside its name."""

from __future__ import annotations

from ...compiler.base.mentions import walk
from ...compiler.graph.typed_value import show
from ...dsl import syntax as s
from ..analysis import Analysis


def hints(analysis: Analysis, start: int, end: int) -> list[tuple[int, str]]:
    """For each name bound in a stretch without a type: the offset behind it, and `: [q, k]`."""
    found = []
    for item in analysis.file.items:
        if not isinstance(item, s.BlockDecl) or item.span.end < start or item.span.start > end:
            continue
        for node in walk(item.body):
            if isinstance(node, s.Assign) and node.type is None:
                for target in node.targets:
                    wire = analysis.typed_value(target.span)
                    if wire is not None and target.text != "_" and start <= target.span.end <= end:
                        found.append((target.span.end, f": {show(wire)}"))
    return found
