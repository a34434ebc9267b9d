"""What generated code imports, or carries along: its text, read from `backends/runtime`, of which none is imported.

So emitting PyTorch code needs no PyTorch.
"""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path

from .scopes import names_of

RUNTIME = Path(__file__).parents[1] / "runtime"


def _text(module: str) -> str:
    """A module without what is for our own type checker: users of the code have theirs."""
    text = (RUNTIME / f"{module}.py").read_text(encoding="utf-8")
    return re.sub(r"  # type: ignore\[[\w, -]+\]", "", text)


@cache
def helpers(module: str) -> dict[str, str]:
    """name -> source text of each top-level function, class and constant of `runtime/<module>.py`, in order."""
    text = _text(module)
    lines, found = text.splitlines(), {}
    for node in ast.parse(text).body:
        first = node.lineno
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name, first = node.name, min([first, *(each.lineno for each in node.decorator_list)])
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            (target,) = node.targets if isinstance(node, ast.Assign) else [node.target]
            if not isinstance(target, ast.Name):
                continue
            name = target.id  # with the comment at its end, which says what it is
        else:
            continue
        found[name] = "\n".join(lines[first - 1 : node.end_lineno])
    return found


TORCH = (
    "common/numbers",
    "torch/check",
    "torch/border",
    "torch/kernels/dispatch",
    "torch/ops",
    "torch/losses",
    "common/spans",
    "torch/sights",
    "torch/blocks",
    "torch/masks",
    "torch/maps",
    "scans/torch_free",
    "scans/torch_scans",
    "scans/torch_cells",
    "common/decoding",
    "torch/cache",
    "torch/fixed",
    "torch/exported",
    "torch/decoding",
)
PARALLEL = (
    "parallel/torch_running",
    "parallel/torch_parts",
    "parallel/torch_experts",
    "parallel/torch_ring",
    "parallel/torch_draws",
    "parallel/torch_weights",
    "parallel/torch_training",
    "parallel/torch_modules",
    "parallel/torch_stages",
    "parallel/torch_decoding",
)
"""What files of models that are divided over a mesh import besides."""
NUMPY = (
    "common/numbers",
    "numpy/arrays",
    "numpy/check",
    "numpy/border",
    "numpy/ops",
    "numpy/dispatch",
    "numpy/pointwise",
    "common/spans",
    "numpy/masks",
    "numpy/maps",
    "scans/numpy_scans",
    "scans/numpy_cells",
    "common/decoding",
    "numpy/decoding",
)


def joined(modules: tuple[str, ...]) -> tuple[str, str]:
    """These modules as one: the lines of its imports, and what stands behind them."""
    whole, parts, texts = set[str](), dict[str, set[str]](), list[str]()
    for module in modules:
        text = _text(module)
        tree = ast.parse(text)
        behind = 0
        for node in tree.body:
            if isinstance(node, ast.Import):
                whole |= set(map(_imported, node.names))
            elif isinstance(node, ast.ImportFrom):
                names = set(map(_imported, node.names)) if not node.level else set()
                parts.setdefault(node.module or "", set()).update(names)
            elif behind or not isinstance(node, ast.Expr):  # what stands below a constant is no docstring of the file
                continue
            behind = node.end_lineno or 0
        words = (ast.get_docstring(tree) or "").split("\n")
        texts.append("\n".join(f"# {line}".rstrip() for line in words))
        texts.append("\n".join(text.split("\n")[behind:]).strip("\n"))
    lines = [f"import {name}" for name in sorted(whole)]
    lines += [f"from {name} import {', '.join(sorted(names))}" for name, names in sorted(parts.items()) if names]
    standard = [line for line in lines if line.split()[1].split(".")[0] in sys.stdlib_module_names]
    first = [line for line in standard if "__future__" in line]
    groups = (first, [line for line in standard if line not in first], [x for x in lines if x not in standard])
    return "\n\n".join("\n".join(group) for group in groups), "\n\n\n".join(texts) + "\n"


def _imported(name: ast.alias) -> str:
    return name.name if name.asname is None else f"{name.name} as {name.asname}"


def homes(modules: tuple[str, ...]) -> dict[str, str]:
    """Which of these modules each name is made in."""
    return {name: module for module in modules for name in helpers(module)}


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
