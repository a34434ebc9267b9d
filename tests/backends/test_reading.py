"""The code that is made for programs of every kind, to be read: without the helpers, which all files share."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import attnc
from attnc.backends.numpy.module import numpy_code
from attnc.backends.text.carried import NUMPY, TORCH, helpers, used_helpers
from attnc.backends.torch.module import torch_code

PROGRAMS = Path(__file__).with_name("reading.txt").read_text(encoding="utf-8").split("---\n")
DECODED = ("lm", "decode", "outer")  # of these the file of decoding is shown too
CAPTURED = {
    "passes": ("outer.1.near", "outer.3.x", "again.part.linear", "x:1"),
    "twice": ("one.attend.softmax", "two.Q"),
}

ATTENTIONS = """
width q
width k like q
depth d = 4, v = 3, h = 2
const some = 3
block plain(Q: [q, d], K: [k, d], V: [k, v], mask: bool[q, k] = true) -> [q, v] {
    return dot[k](softmax[k](dot[d](Q, K) where mask), V)
}
model kinds(Q: [h, q, d], K: [h, k, d], V: [h, k, v], b: [h, q, k], real: bool[k], m: bool[q, k]) -> [h, q, v] {
    x = plain(Q, K, V) + dot[k](softmax[k](dot[d](Q, K) + b), V)
    x = x + dot[k](dropout(softmax[k](dot[d](Q, K) + b where real), 0.2), V)
    x = x + dot[k](softmax[k](dot[d](Q, K) / 3 where m), V) + dot[k](softmax[k](dot[d](Q, K) where m and k <= q), V)
    x = x + dot[k](dropout(softmax[k](dot[d](Q, K) where k <= q), 0.2), V)
    x = x + dot[k](dropout(softmax[k](dot[d](Q, K) where q - k < some), 0.2), V)
    x = x + dot[k](softmax[k](dot[d](Q, K) + b where k <= q), V)
    x = x + dot[k](softmax[k](2 * tanh(dot[d](Q, K) / 2) where k <= q), V)
    x = x + dot[k](softmax[k](b), V) + dot[k](softmax[k](b where k <= q), V) + plain(Q, K, V, k <= q)
    x = x + dot[k](softmax[k](dot[d](Q, K) where m[q = k, k = q] or sin(int(q) * int(k)) > 0), V)
    repeat.shared i in 2 shared {
        x = x + plain(Q, K, V, k <= q + i) * softmax[v](x)
    }
    repeat.all i in 13 {
        x = x + plain.one(Q, K, V, m and (i % 3 == 0 or k <= q + i)) + 0 * linear.o[v -> v](x)
    }
    return x
}
"""


# What test_semantics runs. Of these the golden files show what is computed: no imports, no checks of the inputs.
SPECS = Path(__file__).with_name("specs.txt").read_text(encoding="utf-8").split("\n---\n")
ABOVE = re.compile(r"\A.*?\n(?=class |def )", re.DOTALL)
CHECKS = re.compile(r"^ +(batch = )?check_inputs\(\n.*?^ +\)\n", re.DOTALL | re.MULTILINE)


def model_of(text: str) -> attnc.Model:
    """The last model of a program, or its last block."""
    spec = attnc.loads(text)
    return spec.model(spec.models[-1]) if spec.models else spec.block(spec.blocks[-1])


@pytest.mark.parametrize(("backend", "modules"), [("torch", TORCH), ("numpy", NUMPY)])
def test_the_code_reads_so(backend: str, modules: tuple[str, ...], golden: Callable[[Path, str], None]) -> None:
    code_of = torch_code if backend == "torch" else numpy_code
    check = helpers(f"{backend}/check")["check"]
    shown = []
    for text in PROGRAMS:
        model = model_of(text)
        for capture in ((), CAPTURED[model.name]) if model.name in CAPTURED else ((),):
            code = code_of(model._sized, capture=capture, checked=False)
            files = [code.default()] + ([code.beside(model.name)] if model.name in DECODED else [])
            told = "\n\n".join(files).replace(f"{check}\n\n\n", "")
            shown.append(f"{text.splitlines()[0]}{f' Captured: {capture}' if capture else ''}\n\n{told}")
    golden(Path(f"golden/reading_{backend}.txt"), "\n\n".join(shown))


@pytest.mark.parametrize("backend", ["torch", "numpy"])
def test_what_files_import_and_carry(backend: str) -> None:
    """What their code needs of ours, and no more; alone in a file it is whole."""
    code_of, needs = torch_code if backend == "torch" else numpy_code, 0
    for text in PROGRAMS:
        code = code_of(model_of(text)._sized)
        for source in (code.default(), *([code.beside("net")] if code.decoding else [])):
            tree = ast.parse(source)
            imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
            ours = [name for node in imports if node.module == f"attnc_runtime_{backend}" for name in node.names]
            read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            assert all((name.asname or name.name) in read for name in ours)
            needs += len(ours)
        assert not any(node.module and "attnc" in node.module for node in ast.parse(code.single()).body
                       if isinstance(node, ast.ImportFrom))  # fmt: skip
    assert needs > 50


def test_the_text_of_helpers() -> None:
    """Each runs by itself behind those that it needs; constants keep their comment, definitions their decorators."""
    for modules in (TORCH, NUMPY):
        texts = [text for module in modules for text in helpers.__wrapped__(module).values()]
        assert not any("type: ignore" in text for text in texts)
        names = [name for module in modules for name in helpers.__wrapped__(module)]
        assert len(names) == len(set(names)) and not any(text.endswith("\n") for text in texts)
    sights = helpers.__wrapped__("torch/sights")
    assert sights["Runs"].endswith("surely see all of them") and sights["Runs"].startswith("Runs = list[")
    assert helpers.__wrapped__("torch/masks")["compiled_flex"].startswith("@cache\ndef compiled_flex() -> Any:\n")
    assert list(helpers.__wrapped__("numpy/maps"))[:2] == ["FEW", "Joint"]
    ops = helpers("torch/ops")
    assert used_helpers(TORCH, {"concat", "unknown"}) == [ops["concat"], ops["resized"]]
    spans = helpers("common/spans")
    assert used_helpers(TORCH, {"Span"}) == used_helpers(NUMPY, {"Span", "Truth"}) == [spans["Truth"], spans["Span"]]


@pytest.mark.parametrize(("backend", "modules"), [("torch", TORCH), ("numpy", NUMPY)])
def test_the_code_of_small_programs(
    backend: str, modules: tuple[str, ...], golden: Callable[[Path, str], None]
) -> None:
    """Every sixth to be read; of the others a digest, which says that a change of the code reaches them."""
    check = helpers(f"{backend}/check")["check"]
    shown = []
    for number, text in enumerate(SPECS):
        code = model_of(text).source("torch" if backend == "torch" else "numpy").replace(f"{check}\n\n\n", "")
        code = CHECKS.sub("", ABOVE.sub("", code))
        digest = hashlib.sha256(code.encode()).hexdigest()[:16]
        shown.append(code if number % 6 == 0 else f"program {number}: {code.count(chr(10))} lines, {digest}")
    golden(Path(f"golden/specs_{backend}.txt"), "\n---\n".join(shown))


def test_what_is_told_of_them(golden: Callable[[Path, str], None]) -> None:
    golden(
        Path("golden/reading_reports.txt"),
        "\n".join(f"{model_of(text).explain()}\n" for text in [*PROGRAMS, ATTENTIONS]),
    )
