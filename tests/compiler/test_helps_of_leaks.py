"""What is said to mend a leak fits: it names axes that there are or says how they are declared, ops that stand there,
and no mask that stands there already.
"""

from __future__ import annotations

import re

import pytest

import attnc
from attnc.compiler.ops import OPS
from tests.mistakes.cases import CASES, Case

LEAKS = [case for case in CASES if "E0701" in case.codes]
WORDS = {"where", "trusted", "causal", "and", "or", "select", "index", "int", "min", "max", "s", "x"}
HEAD = "width seq\nwidth past like seq\ndepth d = 4, tap = 3\n"
TAKEN = {  # what is wrong, what the help says to write, and what takes its place
    "window": ("sum[tap](window[seq -> seq, tap](x, pad = 1))", "pad = |tap| - 1", "pad = 1"),
    "window of two": ("sum[tap](window[seq -> seq, tap](x, pad = 0))", "pad = |tap| - 1", "pad = 0"),
    "picks": ("x[seq = i]", "min(i, seq)", "i]"),
    "picks of a table": ("x[seq = min(seq + 1, |seq| - 1)]", "max(seq - 1, 0)", "min(seq + 1, |seq| - 1)"),
    "weights": ("dot[past](a, x[seq as past])", "select(past <= seq, a, 0)", "a,"),
}


@pytest.mark.parametrize("case", LEAKS, ids=[f"{case.file}: {case.title}" for case in LEAKS])
def test_each_help_fits(case: Case) -> None:
    text = case.text
    with pytest.raises(attnc.AttnError) as caught:
        attnc.loads(text)
    for found in caught.value.diagnostics:
        if found.code != "E0701" or not found.help:
            continue
        declared = re.findall(r"(?:width|depth) (\w+) like|`(\w+)` a copy of", found.help)
        told = " ".join([found.label or "", *found.notes, *(each.text for each in found.related)])
        known = {*re.findall(r"\w+", f"{text} {told}"), *WORDS, *(name for names in declared for name in names)}
        codes = [re.sub(r'"[^"]*"', "", code) for code in re.findall(r"`([^`]+)`", found.help)]
        words = {word for code in codes for word in re.findall(r"\b[A-Za-z_]\w*", code)} - known
        assert not words - {*OPS, "width", "depth", "like", "as"}, found.help
        assert "softmax" not in words, found.help
        assert not [
            code for code in codes if found.span is not None and " where " in code and code in found.span.text
        ], found.help


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_followed_is_proved(name: str) -> None:
    wrong, said, place = TAKEN[name]
    text = f"{HEAD}model f(x: [seq, d], i: seq[seq], a: [seq, past]) -> [seq, d] causal seq {{\n    return {{}}\n}}\n"
    with pytest.raises(attnc.AttnError) as caught:
        attnc.loads(text.replace("{}", wrong))
    (found,) = caught.value.diagnostics
    assert found.help is not None and f"`{said}`" in found.help
    attnc.loads(text.replace("{}", wrong.replace(place, said + place[-1:] * (place[-1:] in "],"))))
