"""The page as one text: its figures and facts as data, its style and its scripts within it. It loads nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from html import escape
from importlib.resources import files

from ...compiler.graph.nodes import Graph
from .facts import source_name
from .levels import Levels

_SCRIPTS = ("data", "compose", "light", "about", "open", "views", "steps", "zoom", "save", "start")


def write(graph: Graph, levels: Levels, opened: Iterable[str], *, title: str) -> str:
    """The page of a graph. opened: names of blocks that are open at first."""
    whole = levels.add(graph)
    folded = levels.add(graph, folded=True)
    file = "FILE.attn" if graph.span is None else source_name(graph.span.source.name)
    data = {
        "name": title,
        "file": graph.name,
        "command": f"attnc draw {file}:{graph.name}",
        "root": whole,
        "folded": None if folded == whole else folded,
        "open": list(opened),
        "levels": levels.levels,
        "drawings": [json.loads(text) for text in levels.drawings],
        "colors": levels.palette.colors,
        "equations": [],
        "code": [],
        "words": "",
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


def _text(name: str) -> str:
    return files(__package__).joinpath("web").joinpath(name).read_text(encoding="utf-8")


def _embedded(data: object) -> str:
    """JSON that cannot end the script that it stands in."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
