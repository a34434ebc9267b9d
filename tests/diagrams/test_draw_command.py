"""`attnc draw` and `attnc show`: the flags, and what they say when they cannot."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import attnc
from attnc.cli import main
from attnc.cli.output import COULD_NOT_RUN

LIBRARY = sorted((Path(__file__).parents[2] / "compiler" / "std").glob("*.attn"))
SPEC = """
use std.attention: multihead, model, heads
width t
width s like t
block part(x: [t, model]) -> [t, model] { return multihead[t, s](x, x[t as s], mask = s <= t) }
model net(x: [t, model]) -> [t, model] { return x + part(x) }
"""


@pytest.fixture(autouse=True)
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.attn").write_text(SPEC, encoding="utf-8")


def says(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["draw", "a.attn:net", *args]) == COULD_NOT_RUN
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    return err


def dot(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["draw", "a.attn:net", *args]) == 0
    return capsys.readouterr().out


def test_flags(capsys: pytest.CaptureFixture[str]) -> None:
    plain = dot(capsys)
    assert "=512" in dot(capsys, "--sizes")
    assert "copy" in dot(capsys, "--legend")
    assert "#00548F" not in dot(capsys, "--theme", "mono")
    assert "Our net" in dot(capsys, "--title", "Our net")
    assert "softmax" not in dot(capsys, "--depth", "9", "--close", "attend")
    assert dot(capsys, "--width", "5.5in") == plain == dot(capsys, "--width", "5.5")
    assert dot(capsys, "--width", "139.7mm") == plain == dot(capsys, "--width", "13.97cm")


@pytest.mark.parametrize("wrong", ["5.5inch", "-3in", "0in", "wide", "1e9in", ""])
def test_widths_that_are_none(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is not a width such as 5.5in" in says(capsys, f"--width={wrong}")


def test_open_and_close_may_be_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    once = dot(capsys, "--open", "part,multihead", "--close", "attend")
    assert dot(capsys, "--open", "part", "--open", "multihead", "--close", "attend") == once


def test_names_that_are_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no block `parts` to close" in says(capsys, "--close", "parts")
    assert "--theme" in says(capsys, "--theme", "pink")
    assert "must end in one of" in says(capsys, "-o", "a.docx")
    assert "--outline is for .svg" in says(capsys, "-o", "a.pdf", "--outline")
    assert "goes without" in says(capsys, "--gallery", "out")


def test_too_narrow_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", "a.attn:net", "--width", "0.6in", "-o", "a.dot"]) == 0
    assert "give it a width of" in capsys.readouterr().err


def test_tex_pages_and_equations_need_no_graphviz(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["draw", "a.attn:net", "-o", "a.tex"]) == 0
    assert "tikzpicture" in Path("a.tex").read_text(encoding="utf-8")
    assert main(["draw", "a.attn:net", "-o", "a.html"]) == 0
    assert Path("a.html").read_text(encoding="utf-8").endswith("</html>\n")
    assert main(["show", "a.attn:part", "--latex"]) == 0
    assert "Multi-Head" in capsys.readouterr().out
    assert "apt-get install graphviz" in says(capsys, "-o", "a.svg")


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_gallery(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", "a.attn", "--gallery", "out"]) == 0
    assert sorted(p.name for p in Path("out").iterdir()) == ["index.html", "net.svg", "part.svg"]
    assert '<img src="net.svg"' in Path("out/index.html").read_text(encoding="utf-8")
    assert main(["draw", "a.attn", "--gallery", "no/such"]) == COULD_NOT_RUN


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_gallery_of_the_library() -> None:
    """Every block of the standard library is drawn."""
    for file in LIBRARY:
        assert main(["draw", str(file), "--gallery", file.stem]) == 0
        drawn = [picture.stem for picture in Path(file.stem).glob("*.svg")]
        page = Path(file.stem, "index.html").read_text(encoding="utf-8")
        assert all(f'<img src="{name}.svg"' in page for name in drawn)
        assert set(drawn) == set(attnc.load(file).blocks)


def test_show_says_how(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "a.attn:net"]) == COULD_NOT_RUN
    assert "--latex" in capsys.readouterr().err
