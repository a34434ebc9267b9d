"""`%%attn` cells, with what they use of IPython's shell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import attnc

SPEC = """
depth d = 4, e = 8
width seq
config wide { d = 6 }
block twice(x: [seq, d]) -> [seq, d] {
    return 2 * x
}
model first(x: [seq, d]) -> [seq, d] {
    return twice(x)
}
model second(x: [seq, d]) -> [seq, e] {
    return linear.L[d -> e](x)
}
"""


class FakeShell:
    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {"other": 1}
        self.magics: dict[tuple[str, str], Callable[[str, str], Any]] = {}

    def register_magic_function(self, func: Any, magic_kind: str = "line", magic_name: str | None = None) -> None:
        self.magics[magic_kind, magic_name or ""] = func


@pytest.fixture
def shell() -> FakeShell:
    shell = FakeShell()
    attnc.load_ipython_extension(shell)
    return shell


def test_a_cell_binds_its_models_and_shows_the_last(shell: FakeShell, capsys: pytest.CaptureFixture[str]) -> None:
    run = shell.magics["cell", "attn"]
    shown = run("", SPEC)
    assert isinstance(shown, attnc.Model) and shown.name == "second"
    assert {*shell.user_ns} == {"other", "spec", "first", "second"}
    html = shown._repr_html_()
    assert html.startswith("<code>&lt;attnc.Model second") and "<iframe" in html and "srcdoc" in html
    assert "twice" in shell.user_ns["spec"]._repr_html_()
    run("mine --config wide --set e=3", SPEC)
    assert shell.user_ns["mine"].model("second").weights["L.weight"].shape == (3, 6)
    assert capsys.readouterr().err == ""


def test_mistakes_change_nothing(shell: FakeShell, capsys: pytest.CaptureFixture[str]) -> None:
    run = shell.magics["cell", "attn"]
    said = {
        ("", SPEC.replace("linear.L", "liner.L")): "--> the cell:12:12",
        ("", SPEC.replace("twice(x)\n", "twice(x\n")): "the cell",
        ("--set d", SPEC): "`d` is not NAME=VALUE",
        ("--config none", SPEC): "none",
        ("a b", SPEC): "unrecognized arguments: b",
        ("my-spec", SPEC): "`my-spec` is not the name of a variable",
        ("'", SPEC): "No closing quotation",
    }
    for (line, cell), words in said.items():
        assert run(line, cell) is None
        error = capsys.readouterr().err
        assert words in error, (line, error)
        assert shell.user_ns == {"other": 1}


def test_a_block_alone_is_shown(shell: FakeShell) -> None:
    shown = shell.magics["cell", "attn"]("", SPEC.split("model first")[0])
    assert shown.name == "twice"
    assert shell.magics["cell", "attn"]("", "depth d = 4\n") is None
