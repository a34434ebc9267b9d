"""Write what is generated in docs/: errors.md from the catalogue, ops.md from the op table, passes.md from the table of
rewrites, attentions.md, table1.md, meshes.md and the pictures from examples; and the grammar of the VS Code extension.

    make docs

`tests/test_docs.py` sees that the pages are current. docs/site.py makes the site's pages of ops and errors.
"""

from __future__ import annotations

import hashlib
import runpy
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import attnc
from attnc.diagrams import Diagram

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"
NOTE = "<!-- Written by docs/generate.py (`make docs`): do not edit. -->\n"


def ops() -> str:
    """One section for each group of the table, one entry for each op."""
    from attnc.compiler.ops import OPS
    from attnc.compiler.ops.table import FIRST

    lines = ["# The ops", "", NOTE, "An op acts on the axes in its brackets, for each index of all others."]
    for group in dict.fromkeys(op.group for op in OPS.values()):
        lines += ["", f"## {group.capitalize()}"]
        for op in (op for op in OPS.values() if op.group == group):
            lines += ["", f"### `{op.usage}`", "", op.doc if op.since == FIRST else f"{op.doc} New in {op.since}."]
            if op.options or op.learned:
                lines += ["", "| option | default | |", "|---|---|---|"]
                for option in op.options:
                    default = "must be given" if option.default is None else f"`{str(option.default).lower()}`"
                    lines.append(f"| `{option.name}` | {default} | {option.doc} |")
                if op.learned:
                    lines.append("| `init` | as torch.nn | how it begins: `normal(std)`, `zeros`, ... |")
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


PAPER = {  # what table 1 of the paper says, in its order: nothing below is made of it
    "self_attention": ("Self-Attention", "O(n^2 d)", "O(1)", "O(1)"),
    "recurrent": ("Recurrent", "O(n d^2)", "O(n)", "O(n)"),
    "dilated": ("Convolutional", "O(k n d^2)", "O(1)", "O(log_k(n))"),
    "convolutional": ("the same, contiguous kernels", "O(k n d^2)", "O(1)", "O(n / k)"),
    "restricted": ("Self-Attention (restricted)", "O(r n d)", "O(1)", "O(n / r)"),
}


def table1() -> str:
    """Table 1 of Vaswani et al. 2017 from the specs of its layers, beside what is printed there."""
    from attnc.compiler.cost.growth import rows

    spec = attnc.load(EXAMPLES / "table1" / "layers.attn")
    lines = [
        "# Table 1, derived", "", NOTE,
        'Table 1 of *Attention Is All You Need* compares layers that map n vectors of d numbers to as many. Here its',
        "columns are derived from the specs at the end of this page: the leading terms of the exact counts of",
        "[attnc cost](cost.md), and the longest of the shortest paths between any two items. `attnc cost",
        "examples/table1/layers.attn --growth` prints them.", "",
        "| layer | complexity per layer | sequential operations | maximum path length | the paper says |",
        "|---|---|---|---|---|",
    ]  # fmt: skip
    exact = []
    for name, (title, *printed) in PAPER.items():
        cost = spec.model(name).cost()
        ((_, *found),) = rows(cost)
        lines.append(f"| {title} (`{name}`) | {' | '.join(found)} | {', '.join(printed)} |")
        exact.append(f"| `{name}` | `{cost.kept}` | `{cost.steps}` | {next(iter(cost.paths.values())).hops} |")
    lines += [
        "", "k is a size like d, so it comes last in a product: `n d^2 k` is the paper's k n d^2. The paper counts no",
        "projections, and neither do these specs. A convolution with contiguous kernels needs n / k layers, a dilated",
        "stack log_k(n), as the paper's text says.", "",
        "The same exactly: multiply-adds (of what masks keep), steps, and hops at n = 1,024.", "",
        "| layer | multiply-adds | steps | hops |", "|---|---|---|---|", *exact, "",
        "```attn", (EXAMPLES / "table1" / "layers.attn").read_text().rstrip("\n"), "```",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def passes() -> str:
    """One row for each rewrite of `compiler/pipeline.py`, in order."""
    from attnc.compiler.pipeline import PASSES

    rows = [f"| `{one.name}` | {one.about} | {', '.join(one.kinds)} |" for one in PASSES]
    lines = [
        "# The passes", "", NOTE,
        "Between the checked graph and code these rewrites are done, in this order: each a pure function of the graph",
        "in a file of its own in `compiler/rewrites/`. What the code computes stays the same but for rounding.", "",
        "| pass | what it does | done to |", "|---|---|---|", *rows, "",
        "*forward* is the model itself; *prepare* and *step* are what it [decodes](decoding.md) with, made of the",
        "model behind `split_passes` and `fold_truths`.", "",
        "`attnc compile --without PASS` leaves one out (more than once: several), and so does `without=[...]` of",
        "`model.source`, `.torch`, `.numpy` and `.explain`. `attnc compile --explain` has a line for each pass that",
        "changed something, and where. With `capture=`, what is looked at stays as the spec has it: only `fold_truths`",
        "and `fuse_attention` are done, and no captured value is fused away.", "",
        "Tests (`tests/passes`) leave out each pass in turn, and all of them, in random programs: results and",
        "gradients in float64 agree to 1e-10 in both backends.",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


ATTENTIONS = runpy.run_path(str(DOCS / "attention_page.py"))
MESHES = runpy.run_path(str(DOCS / "meshes_page.py"))
GRAMMAR = runpy.run_path(str(DOCS.parent / "editors" / "grammar.py"))
PAGES = {
    "ops.md": ops,
    "errors.md": errors,
    "passes.md": passes,
    "attentions.md": ATTENTIONS["page"],
    "table1.md": table1,
    "meshes.md": MESHES["page"],
    "../editors/vscode/syntaxes/attn.tmLanguage.json": GRAMMAR["textmate"],
    "../editors/tree-sitter-attn/queries/highlights.scm": GRAMMAR["highlights"],
}


def stamp(figure: Diagram) -> str:
    """The last line of a picture: what it was drawn from, by which a test knows an old one."""
    return f"<!-- drawn from DOT sha256 {hashlib.sha256(figure.dot.encode()).hexdigest()[:32]} -->\n"


def pictures() -> Iterator[tuple[str, Diagram]]:
    yield "transformer.svg", attnc.load(EXAMPLES / "transformer.attn").model("transformer").draw()
    llama = attnc.load(EXAMPLES / "zoo" / "llama.attn").model("llama")
    splits = {"model": ["groups", "inner", "vocab", "seq"]}
    mixtral = attnc.load(EXAMPLES / "zoo" / "mixtral.attn").model("mixtral")
    yield "diff.svg", llama.draw_diff(mixtral, width=7)
    yield "mesh.svg", llama.draw(mesh={"data": 2, "model": 4}, splits=splits, open="swiglu", title="")


if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
    for name, figure in pictures():
        (DOCS / "pictures" / name).write_text(figure.svg().rstrip("\n") + "\n" + stamp(figure), encoding="utf-8")
    ATTENTIONS["draw"]()
