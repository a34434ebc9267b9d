"""The figure as one HTML page without network: hover, click, keyboard, and the spec's source beside it.

Every level that a reader can choose is drawn beforehand: the default, each block toggled (open if it was closed, closed
if it was open), and combinations of the first few blocks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import combinations

from ...compiler.graph.nodes import Graph
from ...dsl.source import Source, Span
from ..formats import dot, export
from ..formats.template import PAGE
from ..scene.steps import DrawStep
from .sheet import Sheet

Redraw = Callable[[frozenset[str]], Sheet]

_LEVELS = 24  # figures in a page, at most
_TOGETHER = 4  # blocks whose every combination is drawn


def write(graph: Graph, sheet: Sheet, openable: Sequence[str], redraw: Redraw) -> str:
    sources: dict[str, Source] = {}
    levels = []
    for toggled in states(openable):
        drawn = sheet if not toggled else redraw(toggled)
        svg = export.render(dot.write(drawn.picture, drawn.scale, drawn.theme.ink, graph.name), "svg").decode()
        levels.append({"state": sorted(toggled), "svg": _bare(svg), **_facts(drawn, sources)})
    data = {
        "name": graph.name,
        "blocks": list(openable),
        "levels": levels,
        "sources": {name: source.text.splitlines() for name, source in sources.items()},
    }
    title = graph.name.replace("&", "&amp;").replace("<", "&lt;")
    return PAGE.replace("@TITLE@", title).replace("@DATA@", _embedded(data))


def states(openable: Sequence[str]) -> list[frozenset[str]]:
    """Which sets of blocks are toggled in the levels of a page; the first is the empty one."""
    few, out = list(openable[:_TOGETHER]), [frozenset[str]()]
    out += [frozenset([name]) for name in openable[: _LEVELS - 1]]
    for size in range(2, len(few) + 1):
        out += [frozenset(group) for group in combinations(few, size)]
    return out[:_LEVELS]


def _embedded(data: object) -> str:
    """JSON that cannot end the script that it stands in."""
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":")).replace("<", "\\u003c")


def _bare(svg: str) -> str:
    """The `<svg>` element alone."""
    return re.sub(r"<!--.*?-->\n?", "", svg[svg.index("<svg") :], flags=re.DOTALL)


def _facts(sheet: Sheet, sources: dict[str, Source]) -> dict[str, object]:
    """What hovering shows: of a wire its axis and where it comes from, of a glyph its op; and the lines of the spec."""
    axes: dict[str, object] = {}
    wires: dict[str, object] = {}
    ops: dict[str, object] = {}
    for column in sheet.columns:
        for step in column.steps:
            meeting = sheet.meetings[id(step)]
            line = _line(step.span, sources)
            ops[sheet.slots[id(step)].id] = {"tip": step.tip or step.mark, "line": line}
            for own in meeting.outs:
                for wire in own:
                    if wire.axis is None:
                        continue
                    axis = wire.axis
                    axes.setdefault(
                        axis.name,
                        {
                            "kind": axis.kind.value,
                            "label": axis.label,
                            "size": axis.extent if axis.extent is not None else "known at run time",
                            "line": _line(axis.span, sources),
                        },
                    )
                    wires.setdefault(str(wire.number), {"axis": axis.name, "from": _origin(step), "line": line})
    return {"axes": axes, "wires": wires, "ops": ops}


def _origin(step: DrawStep) -> str:
    return step.tip or step.mark


def _line(span: Span | None, sources: dict[str, Source]) -> list[object] | None:
    if span is None:
        return None
    sources.setdefault(span.source.name, span.source)
    return [span.source.name, span.source.position(span.start)[0]]
