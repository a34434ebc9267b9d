"""Names and texts of a spec reach Python, DOT, SVG, HTML and TeX as text alone: hostile specs, rendered and read."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

import attnc
from tests.backends.docstrings import parted
from tests.backends.written import written

NASTY = [
    "</script><script>alert(1)</script>",
    "<!-- -->]]>&amp;&lt;",
    "\\input{/etc/passwd}\\write18{id}",
    "%^_~$#{}\\",
    "'''x'''+__import__('os').system('id')#",
    "\\x41\\u0041\\N{BULLET}\\",
    "ünïcödé 注意 \u202e\u2028\u2029\x85\x0b\x0c\x1b[31m",
    "javascript:alert(1)",
    "-->{{7*7}}${x}`id`",
]
WORDS = ["True", "None", "class", "lambda", "import", "self", "torch", "np", "print", "node", "digraph", "strict",
         "textbf", "end", "__class__", "__init__", "_", "__", "exec", "input", "x" * 300, "nan"]  # fmt: skip


COMMANDS = re.compile(r"\\(input|write|include|openin|openout|csname|newwrite|special)(?![a-zA-Z])")


def spec(comment: str, names: list[str], target: str | None = None) -> str:
    """A spec whose comments are hostile, and whose names mean something elsewhere."""
    a, b, c, d, e = names
    op = f'op own(x: [seq]) -> [seq] = "{target}"\n' if target else ""
    body = "own(y)" if target else "y"
    return f"""\
# {comment}
width seq as {a}_
depth {b} as {c} = 4, {d}_d as {e} = 2
{op}
# {comment}
block {a}_b(x: [seq, {b}]) -> [seq, {b}] {{
    # {comment}
    return linear.{c}_w[{b} -> {b}](x)
}}

# {comment}
model {d}_m({e}_x: [seq, {b}], {c}_y: [seq] = 0) -> ({a}_r: [seq, {b}], {b}_s: [seq]) {{
    {e}_v = {a}_b.{d}_l({e}_x)  # {comment}
    y = {c}_y + 1
    return {e}_v, {body}
}}
"""


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), (tag, attrs)
            if name != "aria-label":  # a name that is read out, and leads nowhere
                assert "javascript:" not in (value or "").lower(), (tag, attrs)


def check(text: str, hostile: str) -> None:
    file = attnc.loads(text, name=f"{hostile}.attn")
    for name in (*file.models, *file.blocks):
        model = file.model(name) if name in file.models else file.block(name)
        for backend in ("torch", "numpy"):
            source = written(model, backend)
            tree = ast.parse(source)
            assert not any(mark in source for mark in ("\r", "\x0b", "\x0c"))
            assert all(line.isprintable() for line in source.split("\n"))
            code, _ = parted(source)  # comments are words of docstrings, and nothing else
            assert code.isascii()
            assert not any(mark in code for mark in ("<script", "/etc/passwd"))
            called = {
                node.func.id
                for node in ast.walk(tree)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            }
            assert not called & {"__import__", "exec", "eval"}
        diagram = model.draw(title=hostile, legend=True, sizes=True)
        unquoted = re.sub(r'"(?:[^"\\]|\\.)*"', '""', diagram.dot)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", diagram.dot)
        assert "<script" not in unquoted
        assert not COMMANDS.search(diagram.tex.partition("\n")[2])  # the first line says how to compile it
        assert not COMMANDS.search(model.latex())
        if shutil.which("dot"):
            svg = diagram.svg()
            tags = {
                element.tag.rpartition("}")[2] for element in ET.fromstring(svg).iter() if isinstance(element.tag, str)
            }
            assert not tags & {"script", "foreignObject", "image", "iframe"}, tags
            plain, page = Tags(), Tags()
            page.feed(diagram.html())
            plain.feed(model.draw(title="plain", legend=True, sizes=True).html())
            assert page.tags.count("script") == plain.tags.count("script")


@pytest.mark.parametrize("comment", NASTY)
def test_comments_and_titles(comment: str) -> None:
    text = spec(re.sub(r"[\r\n]", " ", comment), ["alpha", "beta", "gamma", "delta", "eps"])
    check(text, comment)
    assert attnc.format(attnc.format(text)) == attnc.format(text)


@pytest.mark.parametrize("start", range(0, len(WORDS), 4))
def test_names_that_mean_something_elsewhere(start: int) -> None:
    names = [WORDS[(start + step) % len(WORDS)] for step in range(5)]
    try:
        check(spec("x", names), "names")
    except attnc.AttnError as wrong:  # a name may be refused, with a message
        assert all(found.span for found in wrong.diagnostics)


@pytest.mark.parametrize(
    "target", [*NASTY, "os:system", "a.b:c'd", 'x":y', "a:b\r", "os:__import__", "../x:y", " os:system"]
)
def test_targets_of_ops(target: str) -> None:
    try:
        file = attnc.loads(spec("x", ["a", "b", "c", "d", "e"], target))
    except attnc.AttnError as wrong:
        assert {found.code for found in wrong.diagnostics} <= {"E0902", "E0101", "E0103", "E0104", "E0102"}
        return
    for backend in ("torch", "numpy"):
        ast.parse(file.model("d_m").source(backend))  # type: ignore[arg-type]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_tex_compiles(tmp_path: Path) -> None:
    model = attnc.loads(spec("%", ["a", "b_c", "c", "d__e", "e"])).model("d__e_m")
    (tmp_path / "figure.tex").write_text(model.draw(title=NASTY[3]).tex)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "figure.tex"],
        cwd=tmp_path, capture_output=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
