"""The page as one text: its figures and facts as data, its style and its scripts within it. It loads nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files

from ...compiler.graph.nodes import Graph, children
from ...dsl.source import Span
from ..base.names import spaced
from ..formats.equations import Place, marked
from ..formats.mathml import mathml, spoken
from ..formats.texmath import TexTerm, read
from .facts import source_name
from .levels import Levels

_SCRIPTS = (
    "data", "compose", "light", "through", "stops", "heat", "about", "open", "views", "steps", "zoom", "save", "start",
)  # fmt: skip


Code = Callable[[], Sequence[tuple[str, Sequence[Span]]]]
"""Lines of code, each with the words of the spec that it comes from."""


def write(
    graph: Graph, levels: Levels, opened: Iterable[str], code: Sequence[tuple[str, Sequence[Span]]],
    seen: Sequence[Mapping[str, object]] = (), *, title: str, flags: str = "",
) -> str:  # fmt: skip
    """The page of a graph. opened: names of blocks that are open at first. seen: what a run made inside (`heat`).
    flags: with which `attnc draw` draws such figures.
    """
    whole = levels.add(graph)
    folded = levels.add(graph, folded=True)
    place = levels.facts.place
    equations = _equations(graph, place)
    file = "FILE.attn" if graph.span is None else source_name(graph.span.source.name)
    data = {
        "name": title,
        "file": graph.name,
        "command": f"attnc draw {file}:{graph.name}{flags}",
        "root": whole,
        "folded": None if folded == whole else folded,
        "open": list(opened),
        "levels": levels.levels,
        "drawings": [json.loads(text) for text in levels.drawings],
        "colors": levels.palette.colors,
        "equations": [[name, [mathml(row) for row in rows]] for name, rows in equations],
        "code": [[line, [p for span in spans if (p := place(span)) is not None]] for line, spans in code],
        "heat": seen,
        "words": [f"{name}: {'; '.join(map(spoken, rows))}." for name, rows in equations],
        **levels.facts.data(),
    }
    style = _text("page.css").replace("@RULES@", levels.palette.rules())
    style = style.replace("@LIGHT@", levels.palette.css()).replace("@DARK@", levels.palette.css(dark=True))
    parts = {
        "STYLE": style,
        "SCRIPT": "\n".join(_text(f"{name}.js") for name in _SCRIPTS),
        "TITLE": escape(title, quote=False),
        "DATA": _embedded(data),
    }
    return re.sub("@([A-Z]+)@", lambda match: parts[match[1]], _text("page.html"))


def _equations(graph: Graph, place: Place) -> list[tuple[str, list[TexTerm]]]:
    """Of the graph, then of each block under it, what it is called and its rows."""
    found: dict[str, tuple[str, list[TexTerm]]] = {}
    seen: set[int] = set()
    todo = [graph]
    while todo:
        inner = todo.pop(0)
        if id(inner) not in seen:
            seen.add(id(inner))
            todo += [child for node in inner.nodes for child in children(node)]
            if inner.kind != "repeat":
                rows = marked(inner, place)
                title = inner.display or spaced(inner.name)
                found.setdefault("\n".join((inner.name, *rows[1:])), (title, list(map(read, rows))))
    return list(found.values())


def _text(name: str) -> str:
    return files(__package__).joinpath("web").joinpath(name).read_text(encoding="utf-8")


def _embedded(data: object) -> str:
    """JSON that cannot end the script that it stands in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("</", "<\\/").replace("<!--", "<\\u0021--")
