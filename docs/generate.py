"""Write what is generated in docs/: errors.md from the catalogue, ops.md from the op table, attentions.md and
the pictures from examples; and the grammar of the VS Code extension.

    make docs

`tests/test_docs.py` sees that the pages are current. docs/site.py makes the site's pages of ops and errors.
"""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from textwrap import dedent

import attnc

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"
NOTE = "<!-- Written by docs/generate.py (`make docs`): do not edit. -->\n"


def ops() -> str:
    """One section for each group of the table, one entry for each op."""
    from attnc.compiler.ops import OPS

    lines = ["# The ops", "", NOTE, "One row of `compiler/ops/` each. All axes that an op does not name lift."]
    for group, rows in groupby(OPS.values(), key=lambda op: op.group):
        lines += ["", f"## {group.capitalize()}"]
        for op in rows:
            lines += ["", f"### `{op.usage}`", "", op.doc]
            if op.options:
                lines += ["", "| option | default | |", "|---|---|---|"]
                for option in op.options:
                    default = "must be given" if option.default is None else f"`{str(option.default).lower()}`"
                    lines.append(f"| `{option.name}` | {default} | {option.doc} |")
            for head, program in (("Right:", op.example), ("Wrong:", op.wrong)):
                lines += ["", head, "", "```attn example", program.rstrip("\n"), "```"]
    return "\n".join(lines) + "\n"


def errors() -> str:
    """One section for each code."""
    from attnc.dsl.catalogue import CATALOGUE

    lines = ["# The errors", "", NOTE, "`attnc explain CODE` prints one of these."]
    for entry in CATALOGUE.values():
        lines += ["", f"## {entry.code}: {entry.title}", "", dedent(entry.explanation).strip()]
        for head, program in (("Wrong:", entry.wrong), ("Right:", entry.right)):
            lines += ["", head, "", "```attn example", program.strip("\n"), "```"]
    return "\n".join(lines) + "\n"


ATTENTIONS = runpy.run_path(str(DOCS / "attention_page.py"))
GRAMMAR = runpy.run_path(str(DOCS.parent / "editors" / "grammar.py"))
PAGES = {
    "ops.md": ops,
    "errors.md": errors,
    "attentions.md": ATTENTIONS["page"],
    "../editors/vscode/syntaxes/attn.tmLanguage.json": GRAMMAR["textmate"],
}


def pictures() -> Iterator[tuple[str, attnc.Model]]:
    yield "transformer.svg", attnc.load(EXAMPLES / "transformer.attn").model("transformer")


if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
    for name, model in pictures():
        model.draw().save(DOCS / "pictures" / name)
    ATTENTIONS["draw"]()
