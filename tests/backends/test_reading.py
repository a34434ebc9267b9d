"""The code that is made for programs of every kind, to be read: without the helpers, which all files share."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import attnc
from attnc.backends import numpy_source, torch_source
from attnc.backends.text.carried import NUMPY, TORCH, helpers, used_helpers
from attnc.backends.text.scopes import names_of

PROGRAMS = Path(__file__).with_name("reading.txt").read_text(encoding="utf-8").split("---\n")
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
    source = torch_source if backend == "torch" else numpy_source
    carried = {name: text for module in modules for name, text in helpers(module).items()}
    shown = []
    for text in PROGRAMS:
        model = model_of(text)
        for capture in ((), CAPTURED[model.name]) if model.name in CAPTURED else ((),):
            code = source(model._sized, capture=capture)
            there = [name for name, helper in carried.items() if f"{helper}\n\n\n" in code]
            for name in there:
                code = code.replace(f"{carried[name]}\n\n\n", "")
            words = {"Array"} if backend == "numpy" else set()
            words |= set(names_of(ABOVE.sub("", code)).wanted)
            assert [carried[name] for name in there] == used_helpers(modules, words)  # those that it needs, and no more
            shown.append(f"{text.splitlines()[0]}{f' Captured: {capture}' if capture else ''}\n\n{code}")
    golden(Path(f"golden/reading_{backend}.txt"), "\n\n".join(shown))


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
    assert used_helpers(TORCH, {"concat", "unknown"}) == [helpers("torch/ops")["concat"]]
    spans = helpers("common/spans")
    assert used_helpers(TORCH, {"Span"}) == used_helpers(NUMPY, {"Span", "Truth"}) == [spans["Truth"], spans["Span"]]


@pytest.mark.parametrize(("backend", "modules"), [("torch", TORCH), ("numpy", NUMPY)])
def test_the_code_of_small_programs(
    backend: str, modules: tuple[str, ...], golden: Callable[[Path, str], None]
) -> None:
    carried = {f"{text}\n\n\n" for module in modules for text in helpers(module).values()}
    carried |= {re.sub(r"\bF\.", "_F.", text) for text in carried}  # beside a class `F`
    shown = []
    for text in SPECS:
        code = model_of(text).source("torch" if backend == "torch" else "numpy")
        for helper in carried:
            code = code.replace(helper, "")
        shown.append(CHECKS.sub("", ABOVE.sub("", code)))
    golden(Path(f"golden/specs_{backend}.txt"), "\n---\n".join(shown))


def test_what_is_told_of_them(golden: Callable[[Path, str], None]) -> None:
    golden(
        Path("golden/reading_reports.txt"),
        "\n".join(f"{model_of(text).explain()}\n" for text in [*PROGRAMS, ATTENTIONS]),
    )
