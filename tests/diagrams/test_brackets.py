"""At the brackets of repeats and scans: a start leads to the mark of what goes round, whatever stands beside it, and
words keep off the marks."""

from __future__ import annotations

from itertools import product

import pytest

from attnc.diagrams.draw.sheet import Sheet
from attnc.spec import loads

from .geometry import faults, overlap
from .loops import made

STARTS = {"number": "0", "parameter": "s", "value": "v"}
ITEMS = {"a": "[h, k]", "b": "[h, k]", "c": "[h, m]", "d": "[h]", "e": "[h]"}
STEPS = {  # what a step makes of its state S, and of items that it reads
    "written": "S = S + b * c",
    "fading": "S = exp(d) * S\n    S = S + b * c",
    "delta": "S = exp(d) * S\n    S = S + b * (e * (c - dot[k](b, S)))",
    "read": "S = tanh(exp(d) * S + b * (e * dot[k](b, S)))",
}


def spec(start: str, step: str, bias: bool) -> str:
    state = "h, k, m"
    weights = f"    param w: [{state}] ~ zeros\n" if bias else ""
    given = f", v: [{state}]" if start == "value" else ""
    begun = f"    param s: [{state}] ~ zeros\n" if start == "parameter" else ""
    items = "".join(f"{name}: {axes}, " for name, axes in ITEMS.items())
    wide = "".join(f", {name}: {axes.replace('[h', '[h, t')}" for name, axes in ITEMS.items()).removeprefix(", ")
    return (
        "width t\ndepth m = 8, k = 4, h = 2\n"
        f"block cell({items}S: [{state}]) -> (S: [{state}], out: [h, m]) {{\n{weights}"
        f"    {STEPS[step]}{' + w' if bias else ''}\n    return S, dot[k](a, S)\n}}\n"
        f"model f({wide}{given}) -> [h, t, m] {{\n{begun}"
        f"    _, out = scan[t] cell(a, b, c, d, e, S = {STARTS[start]})\n    return out\n}}\n"
    )


def beside(sheet: Sheet) -> list[str]:
    """What comes in at a bracket above or below its mark."""
    marks = {name: box for name, box, _ in sheet.glyphs}
    found = []
    for step in (step for step in sheet.scene.steps if step.enters):
        for k, own in enumerate(sheet.meetings[id(step)].ins):
            box = marks.get(f"{sheet.slots[id(step)].id}_m{k}")
            levels = [sheet.y(wire, sheet.column_of[id(step)]) for wire in own]
            if box is not None and not all(box[1] < y < box[3] for y in levels):
                found.append(f"{sheet.scene.title}: {step.ins[k].name} at {levels}, its mark at {box}")
    return found


@pytest.mark.parametrize("step", STEPS)
def test_a_start_leads_to_its_mark(step: str) -> None:
    wrong = []
    for start, bias in product(STARTS, (False, True)):
        sheet = loads(spec(start, step, bias)).model("f").draw()._sheet
        wrong += [f"{start}, {bias}: {each}" for each in (*beside(sheet), *faults(sheet))]
    assert not wrong, "\n".join(wrong)


HELD = """
width t
depth m = 8
model f(x: [t, m], {0}: [t, m], {1}: [t, m]) -> [t, m] {{
    repeat.r 3 {{
        x = layernorm.n[m](x * {0} + linear.D[m -> m](tanh(linear.E[m -> m](x))))
        x = sigmoid(linear.C[m -> m](x) + {1}) * x + tanh(linear.Q[m -> m](x))
    }}
    return x
}}
"""


def test_words_of_a_folded_loop_keep_off_its_marks() -> None:
    texts = [HELD.format(*names) for names in (("g", "k"), ("held", "kept"))] + [made(seed).text for seed in range(6)]
    count = 0
    for text, wide in product(texts, (2.5, 4.0)):
        sheet = loads(text).model("f").draw(width=wide)._sheet
        marks = [box for name, box, _ in sheet.glyphs if name.rpartition("_m")[2].isdigit()]
        for _, (x0, y0, x1, y1) in (each for each in sheet.texts if each[0].endswith(("go round", "goes round"))):
            count += 1
            assert not [box for box in marks if overlap((x0 - 6, y0, x1, y1), box)], text
    assert count > 15
