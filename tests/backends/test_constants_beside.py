"""A number, a table or whole numbers beside what learns, at each place of each op that works item by item: PyTorch's
gradient is that of the numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import torch

import attnc
from attnc.compiler.graph.traits import Compared, Conjunction, Disjunction, Lookup, Pointwise
from attnc.compiler.ops import OPS
from attnc.compiler.ops.table import Notation, Op

REAL = ("x", "y", "z")
BESIDE = ("2", "0.5", "|d|", "k", "s + 1", "1 + exp(s)", "i", "stop_gradient(h)", "h")
HEAD = "width s\ndepth d = 3\nconst k = 2\n"


def learning() -> Iterator[Op]:
    for op in OPS.values():
        kind = type(op.reads.meaning) if isinstance(op.reads, Pointwise) else Lookup
        if len(op.operands) > 1 and kind not in (Compared, Conjunction, Disjunction, Lookup):
            yield op


def written(op: Op, operands: list[str]) -> str:
    if op.notation is Notation.INFIX:
        return f"({operands[0]}) {op.name} ({operands[1]})"
    return f"{op.usage.partition('(')[0]}({', '.join(operands)})"


def expressions() -> Iterator[str]:
    """At each place what learns, or something beside it; of the places in front of a choice the truth value alone."""
    for op in learning():
        first = ["x > y"] if op.operands[0] == "c" else []
        places = len(op.operands) - len(first)
        for which in itertools.product((True, False), repeat=places):
            for beside in BESIDE if any(which) and not all(which) else BESIDE[:1] * all(which):
                given = [REAL[place] if one else beside for place, one in enumerate(which)]
                yield written(op, [*first, *given])


def test_the_gradient_is_that_of_the_numbers() -> None:
    texts = [*expressions()]
    assert len(texts) > 100
    names = [f"r{place}" for place in range(len(texts))]
    model = attnc.loads(program(texts, names)).model("net")
    net = model.torch(dtype=torch.float64, seed=0)
    draw = torch.Generator().manual_seed(0)
    real = [torch.rand(7, generator=draw, dtype=torch.float64) * 3 + 0.3 for _ in REAL]
    held = torch.rand(7, generator=draw, dtype=torch.float64) + 1
    whole = torch.randint(1, 4, (7,), generator=draw)
    leaves = [x.clone().requires_grad_() for x in real]
    results = net(*leaves, held, whole)
    wrong = []
    for place, name in enumerate(REAL):
        eps = 1e-6
        moved = []
        for sign in (1, -1):
            given = [x + sign * eps * (at == place) for at, x in enumerate(real)]
            with torch.no_grad():
                moved.append(net(*given, held, whole))
        for text, result, above, below in zip(texts, results, *moved, strict=True):
            wanted = (above - below) / (2 * eps)
            found = None
            try:
                if result.requires_grad:
                    (found,) = torch.autograd.grad(result.sum(), leaves[place], retain_graph=True, allow_unused=True)
            except RuntimeError as error:
                wrong.append((text, name, error))
                continue
            found = torch.zeros(7) if found is None else found
            if not torch.allclose(found, wanted.to(found), rtol=1e-5, atol=1e-5):
                wrong.append((text, name, found, wanted))
    assert not wrong, "\n".join(map(str, wrong))


def program(texts: list[str], names: list[str]) -> str:
    inputs = ", ".join(f"{name}: [s]" for name in (*REAL, "h"))
    results = ", ".join(f"{name}: [s]" for name in names)
    lines = "".join(f"    {name} = {text}\n" for name, text in zip(names, texts, strict=True))
    return f"{HEAD}model net({inputs}, i: int[s]) -> ({results}) {{\n{lines}    return {', '.join(names)}\n}}\n"
