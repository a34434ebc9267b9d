"""What generated code carries along: its text, read from `backends/runtime`, of which none is imported.

So emitting PyTorch code needs no PyTorch.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from .scopes import names_of

RUNTIME = Path(__file__).parents[1] / "runtime"


@cache
def helpers(module: str) -> dict[str, str]:
    """name -> source text of each top-level function, class and constant of `runtime/<module>.py`, in order."""
    text = (RUNTIME / f"{module}.py").read_text(encoding="utf-8")
    text = re.sub(r"  # type: ignore\[[\w-]+\]", "", text)  # for our own type checker: users of the code have theirs
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            above = "".join(f"@{ast.get_source_segment(text, line)}\n" for line in node.decorator_list)
            found[node.name] = above + (ast.get_source_segment(text, node) or "")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            (target,) = node.targets if isinstance(node, ast.Assign) else [node.target]
            if isinstance(target, ast.Name):  # with the comment at its end, which says what it is
                found[target.id] = "\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno])
    return found


TORCH = (
    "common/numbers",
    "torch/tracing",
    "torch/check",
    "torch/border",
    "torch/ops",
    "torch/losses",
    "common/spans",
    "torch/sights",
    "torch/blocks",
    "torch/masks",
    "torch/maps",
    "torch/parts",
    "common/decoding",
    "torch/cache",
    "torch/fixed",
    "torch/decoding",
)
NUMPY = (
    "common/numbers",
    "numpy/arrays",
    "numpy/check",
    "numpy/border",
    "numpy/ops",
    "numpy/pointwise",
    "common/spans",
    "numpy/masks",
    "numpy/maps",
    "common/decoding",
    "numpy/decoding",
)


def used_helpers(modules: tuple[str, ...], wanted: set[str]) -> list[str]:
    """The texts of the wanted helpers and of those that they need, in the order of their files."""
    texts = {name: text for module in modules for name, text in helpers(module).items()}
    closed: set[str] = set()
    todo = [name for name in wanted if name in texts]
    while todo:
        name = todo.pop()
        if name in closed:
            continue
        closed.add(name)
        todo += [other for other in names_of(texts[name]).wanted if other in texts]
    return [text for name, text in texts.items() if name in closed]
