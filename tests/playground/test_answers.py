"""What the playground's page is told, without a browser: questions and answers as JSON."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from base64 import b64decode
from typing import Any

import pytest

from attnc.playground.answers import answer

WRONG = """width seq
width past like seq
depth key = 4  # 𝔭 takes two units in a browser

model net(Q: [seq, key], K: [seq, key], V: [seq, key]) -> [seq, key] {
    weights = softmax[seq](dot[key](Q, K[seq as past]))
    return dot[past](weights, V[seq as past])
}
"""
RIGHT = WRONG.replace("softmax[seq]", "softmax[past]")


SPECS = ("start", "solution")
KEYS = ("title", "words", "hint", "model", *SPECS)


def ask(**question: Any) -> Any:
    return json.loads(answer(json.dumps(question)))


def in_units(text: str, start: int, end: int) -> str:
    """What a browser finds between two places."""
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")


def test_a_mistake_and_its_fix() -> None:
    told = ask(ask="check", text=WRONG)
    assert told["wrong"] and told["names"] == ["net"]
    found = told["found"][0]
    assert found["code"] == "E0307" and found["severity"] == "error" and found["line"] == 7
    assert in_units(WRONG, found["from"], found["to"]) == "past"
    assert [in_units(WRONG, label["from"], label["to"]) for label in found["labels"]] == ["past", "seq"]
    (edit,) = found["edits"]
    assert in_units(WRONG, 0, edit["from"]) + edit["insert"] + in_units(WRONG, edit["to"], len(WRONG) + 1) == RIGHT
    assert found["fix"] == "Write `past` instead of `seq`"
    assert ask(ask="mend", text=WRONG)["text"] == RIGHT
    assert ask(ask="check", text=RIGHT) == {"found": [], "wrong": False, "names": ["net"]}


def test_parts_of_a_model() -> None:
    parts = {part: ask(ask="part", text=RIGHT, name="net", part=part)["text"] for part in ("figure", "numpy", "cost")}
    assert (
        parts["figure"].startswith("<!doctype html>") and "def net(" in parts["numpy"] and "multiply" in parts["cost"]
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("use mine: twice\n", "E0209"),
        ("use .mine: twice\n", "E01"),
        ("use std.attention: nothing\n", "E02"),
        ("</script><script>alert(1)</script>\n", "E01"),
    ],
)
def test_a_text_reaches_nothing_but_the_library(text: str, code: str) -> None:
    told = ask(ask="check", text=text)
    assert told["wrong"] and any(found["code"].startswith(code) for found in told["found"]), told


OP = """width n
op f(x: [n]) -> [n] = "antigravity:geohash"
model net(x: [n]) -> [n] {
    return f(x)
}
"""


def test_an_op_of_the_user_is_never_imported() -> None:
    """What a link brings may name any module of Python."""
    assert not ask(ask="check", text=OP)["wrong"]
    for part in ("figure", "torch", "numpy", "cost"):
        assert ask(ask="part", text=OP, name="net", part=part)["text"]
    puzzle = "\n".join(f"{key} = {json.dumps(RIGHT if key in SPECS else 'net', ensure_ascii=False)}" for key in KEYS)
    for text in (OP, OP.replace("[n] {", "[n] causal n {"), OP + "what"):
        assert ask(ask="judge", text=text, puzzle=puzzle)["solved"] is False
    assert "antigravity" not in sys.modules


def test_files_for_a_paper() -> None:
    packed = b64decode(ask(ask="bundle", text=RIGHT, name="net")["zip"])
    with zipfile.ZipFile(io.BytesIO(packed)) as files:
        assert set(files.namelist()) == {"main.tex", "figure.tex", "equations.tex", "net.attn"}
        assert files.read("net.attn").decode() == RIGHT and b"tikzpicture" in files.read("figure.tex")


def test_what_a_code_means() -> None:
    assert "E0307" in ask(ask="explain", code="E0307")["text"]
    assert ask(ask="explain", code="E9999") == {"text": ""}
