"""Right masks, places and gathers of the examples, changed to a wrong neighbour, each place by itself.

What leaks then is refused with a witness; what is proved has none. `neighbours.txt` has the verdict of each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import attnc
from tests.trials.test_witness import CLAIM, claim

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
FOLDERS = ("attentions", "zoo", "gpt", "dates", ".")
OPERAND = r"(?:floor|int)\([^()]*\)|\|\w+\||\w+"
KINDS = {  # what is written, and what in its place
    "one further": (rf"(<=?) ({OPERAND})(?![\w(])", r"\1 \2 + 1"),
    "<= for <": (" < ", " <= "),
    "turned round": (" <= ", " >= "),
    "the other axis": (r"other (<=?) (at|size)\b", r"\2 \1 other"),
    "chunk too small": (r"\* \|(at|size)\|", r"* (|\1| - 1)"),
    "chunk too large": (r"/ \|(at|size)\|", r"/ (|\1| + 1)"),
    "chunk begun": (r"\(chunk \+ 1\) \* \|at\||chunk \* \|at\| \+ \|at\| - 1", "chunk * |at|"),
    "gather further": (r"\[(seq|past) = (\|\w+\| \+ int\(\w+\)|chosen)\]", r"[\1 = min(\2 + 1, |\1| - 1)]"),
    "window further": (r"pad = \|(\w+)\| - 1", r"pad = |\1| - 2"),
    "sum for cumsum": (r"cumsum\[(\w+)\]\(([^()]*(?:\([^()]*\))?)\)", r"broadcast[\1](sum[\1](\2))"),
    "no mask": (r" where [\w ]*\b(past <= \w+|over|seen|other <= \w+|\(chunk .*\))\)", ")"),
}
HARMLESS = {  # not proved, and true: what is not over weighs 0, and is picked last
    "native_sparse.attn: no mask: chosen = topk[chunk -> best](sum[heads](likes))",
}


def neighbours(text: str) -> Iterator[tuple[str, str, str]]:
    """The kind, the line as it is then, and the whole."""
    lines = text.splitlines(keepends=True)
    for kind, (old, new) in KINDS.items():
        for number, line in enumerate(lines):
            code = line.split("#")[0].rstrip()
            for found in re.finditer(old, code) if code.startswith(" ") else ():
                made = code[: found.start()] + found.expand(new) + code[found.end() :]
                yield kind, made.strip(), "".join([*lines[:number], made + "\n", *lines[number + 1 :]])


def verdict(text: str, base: Path) -> str:
    found = [each for each in attnc.check(text, base=base) if each.code.startswith("E")]
    assert all(each.code == "E0701" for each in found), found
    if not found:
        return "proved"
    return "leaks" if all("is not causal" in each.message for each in found) else "not proved"


def rows(path: Path) -> Iterator[tuple[str, str, str]]:
    """The kind, the verdict, and how it is told in the table."""
    for kind, line, text in neighbours(path.read_text("utf-8")):
        found = verdict(text, path.parent)
        row = f"{path.name}: {kind}: {line}"
        assert found != "not proved" or row in HARMLESS, row
        if found == "proved":
            for model in re.findall(r"^model (\w+)\([^{]*causal", text, re.M):
                alone = text[text.index(f"model {model}(") :]
                before = text[: text.index(f"model {model}(")]
                assert claim(CLAIM.sub("", before) + alone, model, path.parent).witness is None, row
        yield kind, found, f"{found:10} {row}\n"


PATHS = [
    path for folder in FOLDERS for path in sorted((EXAMPLES / folder).glob("*.attn")) if CLAIM.search(path.read_text())
]


@pytest.mark.parametrize("name", ["indexed", "memory_tokens", "retention"])
def test_some_neighbours(name: str) -> None:
    known = (HERE / "neighbours.txt").read_text("utf-8")
    found = [text for _, _, text in rows(EXAMPLES / "attentions" / f"{name}.attn")]
    assert found and all(text in known for text in found)


@pytest.mark.slow
def test_all_neighbours(golden: Callable[[Path, str], None], record_property: Callable[[str, object], None]) -> None:
    found = [row for path in PATHS for row in rows(path)]
    golden(Path("neighbours.txt"), "".join(text for _, _, text in found))
    counts = Counter((kind, said) for kind, said, _ in found)
    said = ("leaks", "proved", "not proved")
    table = [f"{kind:16}" + "".join(f"{counts[kind, each]:10}" for each in said) for kind in KINDS]
    record_property("shown", "\n".join([f"{'':16}" + "".join(f"{each:>10}" for each in said), *table]))
