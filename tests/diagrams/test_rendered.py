"""What Graphviz draws, looked at from outside: letters as they are, on nothing and on the page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import attnc
from tests.specs import sampled

from .rendered import faults, measurable, read

ROOT = Path(__file__).parent.parent.parent
SPECS = sorted(
    [
        *(ROOT / "compiler" / "std").glob("*.attn"),
        *(ROOT / "examples").rglob("*.attn"),
        *Path(__file__).parent.joinpath("specs").glob("*.attn"),
    ]
)
pytestmark = pytest.mark.skipif(
    shutil.which("dot") is None or not measurable(), reason="needs Graphviz, the CMU fonts and fontTools"
)


@pytest.mark.parametrize("path", sampled(SPECS), ids=lambda p: p.stem)
def test_rendered(path: Path) -> None:
    spec = attnc.load(path)
    for name in (*spec.models, *spec.blocks):
        model = spec.model(name) if name in spec.models else spec.block(name)
        assert faults(model.draw(legend=True).svg()) == [], name


def test_it_sees_faults() -> None:
    svg = attnc.load(ROOT / "compiler" / "std" / "attention.attn").block("attend").draw().svg()
    assert faults(svg) == []
    shapes, texts, curves, _ = read(svg)
    assert len(shapes) > 3
    assert len(texts) > 8
    assert len(curves) > 6
    x, y = next((t.box[0], t.box[3]) for t in texts if t.text == "softmax")
    again = f'<g class="node text" id="twin"><text x="{x + 3}" y="{y}" font-size="7">again</text></g></g>\n</svg>'
    assert any("on text 'again'" in fault for fault in faults(svg.replace("</g>\n</svg>", again)))
