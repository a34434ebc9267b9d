"""The page that shows the diagrams of a file one beneath the other."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ...dsl.files import readable


def index(title: str, names: Sequence[str]) -> str:
    """HTML with the figures `NAME.svg` beside it."""
    title = escape(readable(title))
    figures = "\n".join(
        f'<figure id="{escape(name)}"><img src="{escape(name)}.svg" alt="diagram of {escape(name)}">'
        f"<figcaption>{escape(name)}</figcaption></figure>"
        for name in names
    )
    style = (
        "body{font:15px system-ui,sans-serif;margin:2rem auto;max-width:60rem}figure{margin:2rem 0}img{max-width:100%}"
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>{style}</style>\n<h1>{title}</h1>\n{figures}\n</html>\n"
    )
