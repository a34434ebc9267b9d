"""What steps are made of small models, node by node: `derived/*.txt`; and that they give what the model gives.

Declarations that all cases of a file share; then for each the body of `net`, behind a line of its own inputs and result
if it has other ones, and behind `|` what is kept, what is prepared and the step. Axes that reach back are shown as the
axis and how many items before the new ones: `past-3`, `past-all`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import attnc
from attnc.backends.plan.lower import derived, lower
from attnc.compiler.graph.nodes import Call, Graph, Repeat
from attnc.compiler.sizes.axes import Literal, show_static
from tests.dump import dump

from .steps import check_steps

HERE = Path(__file__).parent
USUAL = "(x: [seq, d], y: [other, d]) -> [seq, d] causal seq"


def shown(model: attnc.Model) -> str:
    graph = model._sized
    found = derived(graph, lower(graph)[0])
    lines = str(found).splitlines()
    if found.prepare is None or found.step is None:
        return found.reason.partition(": ")[2] + (f" <- {found.span.text}" if found.span else "")
    parts = [*lines[1:]]
    if found.prepare.nodes:
        parts += ["", "prepare:", nodes(found.prepare)]
    for one in each(found.step):
        assert one.stepped is not None or one.kind == "block"
        for axis, keep in one.stepped.visible if one.stepped is not None else ():
            all_ = not isinstance(keep, Literal) and "whole" in show_static(keep)
            name = f"{axis.label}-{'all' if all_ else show_static(keep)}"
            object.__setattr__(axis, "name", name)  # it is the step's own, and is shown only
        if one.stepped is not None and one.stepped.tail is not None:
            object.__setattr__(one.stepped.tail, "name", "last")
    return "\n".join([*parts, "", "step:", nodes(found.step)]).strip("\n")


def each(graph: Graph) -> Iterator[Graph]:
    yield graph
    for node in graph.nodes:
        for inner in (node.graph,) if isinstance(node, Call) else node.bodies if isinstance(node, Repeat) else ():
            yield from each(inner)


def nodes(graph: Graph) -> str:
    """The graphs without what is declared of depths and consts."""
    text = re.sub(r"^  (?:depth|const) .*\n", "", dump(graph), flags=re.MULTILINE)
    return text.partition("\n")[2].strip("\n")


def spec(preamble: str, case: str) -> tuple[str, str]:
    """The case without what is expected of it, and its spec."""
    lines = [line for line in case.splitlines() if not line.startswith("|")]
    head = lines[0] if lines[0].startswith("(") else USUAL
    body = "\n".join(f"    {line}" for line in lines if not line.startswith("("))
    return "\n".join(lines), f"{preamble}\nmodel net{head} {{\n{body}\n}}\n"


@pytest.mark.parametrize("path", sorted((HERE / "derived").glob("*.txt")), ids=lambda path: path.stem)
def test_the_step(path: Path, golden: Callable[[Path, str], None]) -> None:
    preamble, *cases = re.split(r"\n{2,}", path.read_text("utf-8").strip())
    told = [preamble]
    for case in cases:
        mine, text = spec(preamble, case)
        model = attnc.loads(text).model("net")
        found = shown(model).splitlines()
        told.append("\n".join((mine, *(f"| {line}".rstrip() for line in found))))
        if model.decoding.step is not None and "magic" not in mine:  # which is nowhere
            check_steps(model, widths=(6, 4), seeds=(0, 1), dtypes=("float64",), backends=("numpy",))
    golden(path, "\n\n".join(told) + "\n")
