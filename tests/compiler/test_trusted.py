"""Claims that are trusted: `causal seq trusted "..."`."""

from __future__ import annotations

import pytest

import attnc
from attnc.cli.main import main
from tests.decode.steps import check_steps

HEAD = "width seq\nwidth past like seq\ndepth d = 3\n"
SEEN = "(seq - past) ^ 3 >= 0"  # which is `past <= seq`
LOOK = f"dot[past](softmax[past](dot[d](x, x[seq as past]) where {SEEN}), x[seq as past])"
WHY = "a cube has the sign of what is cubed"


def text(claim: str, body: str = LOOK, keyword: str = "model net") -> str:
    return f"{keyword}(x: [seq, d]) -> [seq, d] causal {claim} {{\n    return {body}\n}}\n"


def codes(spec: str) -> list[str]:
    return [found.code for found in attnc.check(spec)]


def test_what_is_said() -> None:
    (unproved,) = attnc.check(HEAD + text("seq"))
    assert unproved.code == "E0701" and "is not proved causal along `seq`" in unproved.message
    assert unproved.help.endswith('or say why it holds: `causal seq trusted "..."`')
    assert any("trials at small sizes found no leak" in note for note in unproved.notes)
    (trusted,) = attnc.check(HEAD + text(f'seq trusted "{WHY}"'))
    assert trusted.code == "W0517" and f'because "{WHY}"' in trusted.message
    (needless,) = attnc.check(HEAD + text(f'seq trusted "{WHY}"', LOOK.replace(SEEN, "past <= seq")))
    assert needless.code == "W0518"


@pytest.mark.parametrize("leak", ["past >= seq", "past <= seq + 1", "abs(past - seq) <= 1", "(seq - past) ^ 2 >= 0"])
def test_a_leak_is_an_error_all_the_same(leak: str) -> None:
    (found,) = attnc.check(HEAD + text(f'seq trusted "{WHY}"', LOOK.replace(SEEN, leak)))
    assert found.code == "E0701" and " changes item " in found.message and "trusted" not in found.help


def test_callers_rely_on_it() -> None:
    part = text(f'seq trusted "{WHY}"', keyword="block part")
    assert codes(HEAD + part + text("seq", "x + part(relu(x))")) == ["W0517"]
    assert codes(HEAD + part + text("seq", "x + part(x)[seq = min(seq + 1, |seq| - 1)]")) == ["W0517", "E0701"]


def test_of_several_results_each_is_trusted_by_itself() -> None:
    body = f"{{\n    return {LOOK}, cumsum[seq](x)\n}}\n"
    both = "model net(x: [seq, d]) -> (a: [seq, d] causal seq{}, b: [seq, d] causal seq)"
    assert codes(HEAD + both.format("") + body) == ["E0701"]
    assert codes(HEAD + both.format(' trusted "so"') + body) == ["W0517"]


def test_its_steps_make_anew_what_is_not_proved() -> None:
    layers = f"    repeat.layers 2 {{\n        x = x + {LOOK.replace('x, x[', 'linear.q[d -> d](x), x[')}\n    }}\n"
    head = f'model net(x: [seq, d]) -> [seq, d] causal seq trusted "{WHY}" '
    model = attnc.loads(f"{HEAD}{head}{{\n{layers}    return x\n}}\n").model("net")
    check_steps(model, dtypes=("float64",), seeds=(0, 1, 2))


def test_strict(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    file = f"{tmp_path}/a.attn"
    with open(file, "w", encoding="utf-8") as opened:
        opened.write(HEAD + text(f'seq trusted "{WHY}"'))
    assert main(["check", file]) == 0
    assert main(["check", "--strict", file]) == 1
    assert "W0517" in capsys.readouterr().err


def test_it_is_a_name_elsewhere() -> None:
    assert codes("width seq\nblock f(trusted: [seq]) -> [seq] causal seq {\n    return trusted\n}\n") == []


@pytest.mark.parametrize("claim", ["seq trusted", "seq trusted because", "trusted", 'seq "why"'])
def test_written_wrong(claim: str) -> None:
    found = attnc.check(HEAD + text(claim))
    assert found and all(each.code.startswith("E0") for each in found)
