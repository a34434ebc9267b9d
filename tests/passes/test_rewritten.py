"""What each pass makes of small graphs, node by node: `rewritten/*.txt`.

A model that all cases of a file share; then for each what stands in the place of BODY, and behind `|` the graph after
the pass. `hoist_of_steps.txt`: the steps of such models.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import attnc
from attnc.backends.plan.lower import derived, lower
from attnc.compiler.graph.nodes import Graph
from attnc.compiler.pipeline import PASSES
from attnc.compiler.rewrites.simplify.dead import alive
from attnc.dsl.errors import AttnError
from tests.dump import dump

HERE = Path(__file__).parent
ON = frozenset(one.name for one in PASSES)
RUN = {one.name: one.run for one in PASSES}
BEFORE = {
    "place_masks": ("fold_truths", "fuse_attention"),
    "spend_logits": ("fold_truths",),
    "merge": ("fold_truths", "fuse_attention", "place_masks"),
    "hoist": ("fold_truths", "merge"),
    "arrange": ("fold_truths",),
}


def after(text: str, name: str) -> str:
    """The graph after a pass; "as it was" if the pass leaves it alone."""
    graph: Graph = attnc.loads(text).model("f")._sized
    if name == "ragged":  # the first of all: what a model with ragged widths is
        return nodes(alive(graph))
    name, of_steps, _ = name.partition("_of_steps")
    if name == "join_maps" or of_steps:
        step = derived(graph, lower(graph)[0]).step
        assert step is not None
        graph = step
    for one in BEFORE.get(name, ()):
        graph = RUN[one](graph, ON)
    new = RUN[name](graph, ON)
    return "as it was" if new is graph else nodes(new)


def nodes(graph: Graph) -> str:
    """The graphs without their axes but their own, and without the inputs of the first."""
    text = re.sub(r"^  (?:width|depth|const) (?!.*\(own\)$).*\n", "", dump(graph), flags=re.MULTILINE)
    first, blank, rest = text.partition("\n\n")
    first = re.sub(r"^  in .*\n", "", first.partition("\n")[2], flags=re.MULTILINE)
    return (first + blank + rest).strip("\n")


def typed(text: str) -> str:
    """The text with the result that the checker finds in the place of RESULT."""
    try:
        attnc.loads(text.replace("RESULT", "[]"))
    except AttnError as wrong:
        found = re.search(r"is (.*?), but", str(wrong))
        assert found, wrong
        return text.replace("RESULT", found[1])
    return text.replace("RESULT", "[]")


@pytest.mark.parametrize("path", sorted((HERE / "rewritten").glob("*.txt")), ids=lambda path: path.stem)
def test_what_a_pass_makes(path: Path, golden: Callable[[Path, str], None]) -> None:
    preamble, *cases = re.split(r"\n{2,}", path.read_text("utf-8").strip())
    shown = [preamble]
    for case in cases:
        body = "\n".join(line for line in case.splitlines() if not line.startswith("|"))
        text = preamble.replace("    BODY", "\n".join(f"    {line}" for line in body.splitlines()))
        made = after(typed(text), path.stem).splitlines()
        shown.append("\n".join((body, *(f"| {line}".rstrip() for line in made))))
    golden(path, "\n\n".join(shown) + "\n")
