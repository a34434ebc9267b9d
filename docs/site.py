"""What MkDocs is told beyond the pages of this folder (`hooks` in mkdocs.yml): one page for each op, error and
spec, and the notebook.

They come from the tables and files that the compiler itself reads, so they are never out of date:

    ops/NAME.md        a row of the op table: a right program, its diagram, a wrong one and what the checker says of it
    errors/CODE.md     an entry of the catalogue, the same
    gallery/FILE.md    a spec of the library or of examples/: its source, and the diagram of each model and block
    notebook.md        notebook.ipynb: its cells, with what they printed and showed
"""

from __future__ import annotations

import html
import json
import posixpath
import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from textwrap import dedent

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import attnc
from attnc.compiler.ops import OPS, Op
from attnc.dsl.catalogue import CATALOGUE, Entry
from attnc.dsl.render import render_all

ROOT = Path(__file__).parents[1]

# Names of pages for ops that are signs; `index` would be the page of all ops.
SIGNS = {
    "+": "plus",
    "-": "minus",
    "*": "times",
    "/": "divided_by",
    "%": "remainder",
    "^": "power",
    "<=": "at_most",
    ">=": "at_least",
    "<": "less",
    ">": "more",
    "==": "equal",
    "!=": "unequal",
    "index": "to_index",
}


# -- the hooks -----------------------------------------------------------------------------------------------------


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for whole in ("ops.md", "errors.md"):  # for readers of the repository: here each has a page
        files.remove(files.src_uris[whole])
    for made in (ops, errors, gallery, notebook):
        for path, content in made():
            files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fences lose what only tests read (`attn E0307`); links out of docs/ lead to the files' own pages."""
    markdown = re.sub(r"^```(\w+) [^\n{]+$", r"```\1", markdown, flags=re.MULTILINE)
    here = posixpath.dirname(page.file.src_uri)

    def link(found: re.Match[str]) -> str:
        text, target, anchor = found[1], found[2], found[3] or ""
        path = posixpath.normpath(posixpath.join("docs", here, target))
        page = pages().get(path.rstrip("/"))
        if page is None and path.startswith("docs/") and path not in ("docs/ops.md", "docs/errors.md"):
            return found[0]
        return f"[{text}]({posixpath.relpath(page, here or '.')}{anchor})" if page else text

    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)#:\s]+)(#[^)]*)?\)", link, markdown)


@cache
def pages() -> dict[str, str]:
    """For paths in the repository, the page of the site that stands for them."""
    found = {
        "README.md": "index.md",
        "docs/ops.md": "ops/index.md",
        "docs/errors.md": "errors/index.md",
        "docs/notebook.ipynb": "notebook.md",
        "compiler/std": "gallery/index.md",
        "examples": "gallery/index.md",
    }
    return found | {spec.relative_to(ROOT).as_posix(): f"gallery/{slug(spec)}.md" for spec in specs()}


# -- ops and errors ------------------------------------------------------------------------------------------------


def ops() -> Iterator[tuple[str, str]]:
    index = ["# The ops", "", "All axes that an op does not name lift: it is done for each index of them."]
    for group, rows in groupby(OPS.values(), key=lambda op: op.group):
        index += ["", f"## {group.capitalize()}", "", "| | |", "|---|---|"]
        for op in rows:
            name = SIGNS.get(op.name, op.name)
            usage = op.usage.replace("|", "\\|")
            index.append(f"| [`{usage}`]({name}.md) | {op.doc} |")
            yield f"ops/{name}.md", op_page(op, f"{name}.svg")
            yield f"ops/{name}.svg", attnc.loads(op.example).block("f").draw(title="").svg()
    yield "ops/index.md", "\n".join(index) + "\n"


def op_page(op: Op, picture: str) -> str:
    lines = [f"# {op.name}", "", f"`{op.usage}`", "", op.doc]
    if op.options:
        lines += ["", "| option | default | |", "|---|---|---|"]
        for option in op.options:
            default = "must be given" if option.default is None else f"`{str(option.default).lower()}`"
            lines.append(f"| `{option.name}` | {default} | {option.doc} |")
    return "\n".join([*lines, "", *programs(op.example, op.wrong, f"![its diagram]({picture})")]) + "\n"


def errors() -> Iterator[tuple[str, str]]:
    index = ["# The errors", "", "`attnc explain CODE` prints one of these.", "", "| | |", "|---|---|"]
    for entry in CATALOGUE.values():
        index.append(f"| [{entry.code}]({entry.code}.md) | {entry.title} |")
        yield f"errors/{entry.code}.md", error_page(entry)
    yield "errors/index.md", "\n".join(index) + "\n"


def error_page(entry: Entry) -> str:
    text = dedent(entry.explanation).strip()
    return "\n".join([f"# {entry.code}: {entry.title}", "", text, "", *programs(entry.right, entry.wrong)]) + "\n"


def programs(right: str, wrong: str, picture: str = "") -> Iterator[str]:
    yield from ("## Right", "", *fence("attn", right), "", picture, "", "## Wrong", "", *fence("attn", wrong))
    said = diagnosis(wrong)
    if said:
        yield from ("", "attnc says:", "", *fence("text", said))


def fence(language: str, text: str) -> tuple[str, ...]:
    return (f"```{language}", text.strip("\n"), "```")


def diagnosis(program: str) -> str:
    """What the checker says of a program; nothing of one that is wrong only in the company of other files."""
    try:
        found = attnc.loads(program, name="spec.attn").warnings
    except attnc.AttnError as wrong:
        found = tuple(wrong.diagnostics)
    return render_all(found) if found else ""


# -- the gallery ---------------------------------------------------------------------------------------------------


@cache
def specs() -> tuple[Path, ...]:
    """The library and the examples."""
    return (*sorted((ROOT / "compiler" / "std").glob("*.attn")), *sorted((ROOT / "examples").rglob("*.attn")))


def slug(spec: Path) -> str:
    return ".".join(spec.relative_to(ROOT).with_suffix("").parts).removeprefix("compiler.")


def gallery() -> Iterator[tuple[str, str | bytes]]:
    """A page for each spec, and its pictures."""
    index = ["# Gallery", "", "Every diagram was drawn by `attnc draw` from the text beside it."]
    for folder, group in groupby(specs(), key=lambda spec: spec.parent):
        title = "The standard library" if folder.name == "std" else folder.relative_to(ROOT).as_posix()
        index += ["", f"## {title}", ""]
        for spec in group:
            file = attnc.load(spec)
            lines = [f"# {slug(spec)}", "", *fence("attn", spec.read_text(encoding="utf-8"))]
            for name, svg in drawings(file):
                picture = f"{slug(spec)}.{name}.svg"
                yield f"gallery/{picture}", svg
                lines += ["", f"## {name}", "", f"![diagram of {name}]({picture})"]
            index.append(f"- [{slug(spec)}]({slug(spec)}.md): {', '.join((*file.models, *file.blocks))}")
            yield f"gallery/{slug(spec)}.md", "\n".join(lines) + "\n"
    yield "gallery/index.md", "\n".join(index) + "\n"


def drawings(file: attnc.Spec) -> Iterator[tuple[str, str]]:
    """The SVG of each model and block; blocks that cannot stand alone have none."""
    for name in (*file.models, *file.blocks):
        try:
            model = file.model(name) if name in file.models else file.block(name)
        except attnc.AttnError:
            continue
        yield name, model.draw().svg()


# -- the notebook --------------------------------------------------------------------------------------------------


def notebook() -> Iterator[tuple[str, str]]:
    """The page of notebook.ipynb; each figure is a page of its own, in a frame."""
    lines: list[str] = []
    cells = json.loads((ROOT / "docs" / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    for number, cell in enumerate(cells):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            lines += [source, ""]
            continue
        lines += [*fence("attn" if source.startswith("%%attn") else "python", source), ""]
        for output in cell["outputs"]:
            data = output.get("data", {})
            page = re.search(r'srcdoc="([^"]*)"', "".join(data.get("text/html", "")))
            if page:
                yield f"notebook-{number}.html", html.unescape(page[1])
                frame = f'<iframe src="notebook-{number}.html" title="a living figure" class="living"></iframe>'
                lines += [frame, ""]
            else:
                lines += [*fence("text", "".join(output.get("text") or data["text/plain"])), ""]
    yield "notebook.md", "\n".join(lines)
