"""What a process of attnc is given and gives: the coding of texts, closed streams, names of files, Ctrl-C early on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attnc import load, weights
from attnc.cli.main import main
from attnc.cli.output import CLEAN, COULD_NOT_RUN, INTERRUPTED
from attnc.dsl.files import readable, whole

SPEC = """\
depth d = 4 # größe → “x”
width s
# ∑ Überall
block f(x: [s, d]) -> [s, d] {
    return linear.a[d -> d](x)
}
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.attn").write_text(SPEC, encoding="utf-8")
    return tmp_path


def run(*args: str | bytes, text: str = "", **env: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "attnc", *args]
    return subprocess.run(command, input=text.encode(), capture_output=True, env={**os.environ, **env}, timeout=300)


# -- coding


@pytest.mark.parametrize("coding", ["cp1252", "latin-1", "ascii", "utf-16"])
@pytest.mark.parametrize(
    "command",
    [
        ["fmt", "--diff", "a.attn"],
        ["fmt", "-"],
        ["draw", "a.attn", "--title", "Größe → ∑"],
        ["show", "a.attn", "--latex"],
        ["summary", "a.attn"],
        ["cost", "a.attn"],
        ["explain", "E0307"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_what_goes_into_a_file_is_utf8(command: list[str], coding: str) -> None:
    """Whatever the locale: what we write we can read, and `dot` and Python too."""
    usual, here = (run(*command, text=SPEC, PYTHONIOENCODING=name) for name in ("utf-8", coding))
    assert here.returncode == usual.returncode
    assert here.stdout == usual.stdout
    assert here.stdout.decode("utf-8")


def test_what_fmt_writes_is_what_it_reads(place: Path) -> None:
    once = run("fmt", "-", text=SPEC, PYTHONIOENCODING="latin-1").stdout
    assert "größe → “x”".encode() in once
    assert run("fmt", "-", text=once.decode(), PYTHONIOENCODING="latin-1").stdout == once
    assert b"\r" not in once


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_is_shown_what_it_can_show() -> None:
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "attnc", "fmt", "--diff", "a.attn"]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, env=environment) as process:
        os.close(theirs)
        shown = b""
        while b"linear" not in shown:
            shown += os.read(ours, 4096)
        assert process.stderr is not None
        assert process.stderr.read() == b""
    os.close(ours)
    assert "größe".encode("latin-1") in shown
    assert rb"\u2192" in shown


# -- names and titles that are no text


@pytest.fixture
def undecodable(place: Path) -> bytes:
    name = b"gr\xf6\xdfe.attn"
    try:
        (place / os.fsdecode(name)).write_text(SPEC, encoding="utf-8")
    except OSError:
        pytest.skip("this file system has text for names only")
    return name


def test_a_name_that_is_no_text(undecodable: bytes, place: Path) -> None:
    assert run("check", undecodable).stderr.decode() == "gr\ufffd\ufffde.attn: ok\n"
    assert run("fmt", "--check", undecodable).stdout == undecodable + b"\n"
    assert run("fmt", "--diff", undecodable).stdout.startswith(b"--- " + undecodable)
    (place / os.fsdecode(undecodable)).write_text("depth d = e\n")
    (found,) = json.loads(run("check", "--json", undecodable).stdout)
    assert os.fsencode(found["file"]) == undecodable
    told = run("check", undecodable).stderr.decode()
    assert "--> gr\ufffd\ufffde.attn:1:11" in told


def test_a_gallery_of_a_file_whose_name_is_no_text(undecodable: bytes, place: Path) -> None:
    done = run("draw", "--gallery", "out", undecodable)
    assert (done.returncode, b"internal" in done.stderr) == (CLEAN, False), done.stderr
    assert "<h1>gr\ufffd\ufffde.attn</h1>" in (place / "out/index.html").read_text(encoding="utf-8")


def test_a_plot_of_a_file_whose_name_is_no_text(undecodable: bytes, place: Path) -> None:
    pytest.importorskip("matplotlib")
    done = run("cost", "a.attn", "--compare", undecodable, "--plot", "a.svg", "--over", "s=1..64")
    assert done.returncode == CLEAN, done.stderr
    assert (place / "a.svg").exists()


@pytest.mark.parametrize(
    "command", [["draw", "a.attn", "--title"], ["inspect", "a.attn", "--text"], ["inspect", "a.attn", "--labels"]]
)
def test_text_that_is_none_is_refused(command: list[str]) -> None:
    """A picture would be written with it, or could not be."""
    done = run(*command, b"s=gr\xf6\xdfe")
    assert done.returncode == COULD_NOT_RUN
    assert done.stdout == b""
    assert f"{command[-1]}: `s=gr\ufffd\ufffde` is not UTF-8 text" in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
    told = run(*command, "s=\uffff".encode()).stderr.decode()
    assert f"{command[-1]}: `s=\ufffd` holds what is no character" in told


def test_utf8_is_text_in_every_locale() -> None:
    place = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    usual, here = (run("draw", "a.attn", "--title", "Größe → ∑".encode(), **more) for more in ({}, place))
    assert usual.returncode == here.returncode == CLEAN
    assert usual.stdout == here.stdout
    assert "Größe → ∑".encode() in here.stdout


def test_a_title_from_python_is_text_too() -> None:
    for title in ("gr\udcf6\udcdfe", "a\uffff"):
        with pytest.raises(ValueError, match="holds what is no character"):
            load("a.attn").block("f").draw(title=title)


def test_a_name_obeyed_by_a_terminal_is_not_printed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "\x1b[2J.attn").write_text(SPEC, encoding="utf-8")
    assert main(["check", "\x1b[2J.attn"]) == CLEAN
    assert capsys.readouterr().err == "\ufffd[2J.attn: ok\n"


def test_readable() -> None:
    assert readable("größe.attn") == "größe.attn"
    assert readable(os.fsdecode(b"gr\xf6\xc3\x9f.attn")) == "gr\ufffdß.attn"


# -- closed streams


def closed(streams: str, *args: str) -> subprocess.CompletedProcess[bytes]:
    """attnc with these streams closed, as `<&- >&- 2>&-` do."""
    shell = f'exec "{sys.executable}" -m attnc "$@" {streams}'
    return subprocess.run(["sh", "-c", shell, "sh", *args], capture_output=True, timeout=300)


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_streams_change_no_status(streams: str, place: Path) -> None:
    told = b"" if "2>" in streams else b"a.attn: ok\n"
    done = closed(streams, "check", "a.attn")
    assert (done.returncode, done.stdout, done.stderr) == (CLEAN, b"", told)
    assert closed(streams, "draw", "a.attn", "-o", "a.dot").returncode == CLEAN
    assert (place / "a.dot").read_text(encoding="utf-8").startswith("digraph")
    done = closed(streams, "check", "missing.attn")
    assert (done.returncode, done.stdout) == (COULD_NOT_RUN, b"")


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize(
    "command", [["compile", "a.attn", "--to", "numpy"], ["-h"], ["explain", "E0307"], ["--version"]]
)
def test_what_is_asked_for_on_a_closed_stdout_is_not_lost_in_silence(command: list[str]) -> None:
    done = closed(">&-", *command)
    assert done.returncode == COULD_NOT_RUN
    assert done.stderr == b"attnc: cannot write to stdout: Bad file descriptor\n"


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_a_closed_stdin_is_an_empty_one() -> None:
    assert closed("<&-", "fmt", "-").returncode == run("fmt", "-").returncode


# -- long names


@pytest.mark.parametrize("length", [248, 249, 254, 255])
@pytest.mark.parametrize("ending", [".py", ".dot", ".svg", ".npz"])
def test_as_long_a_name_as_there_can_be(place: Path, length: int, ending: str) -> None:
    name = "n" * (length - len(ending)) + ending
    if ending == ".npz":
        text = "depth c = 2\nwidth s\nblock f(x: [s, c]) -> [s, c] {\nw = softmax[s](x)\nreturn w * x\n}"
        (place / "w.attn").write_text(text)
        command = ["inspect", "w.attn", "--seed", "0", "--random", "s=3", "--capture", "w", "-o", name]
    else:
        command = ["compile", "--to", "numpy", "a.attn"] if ending == ".py" else ["draw", "a.attn"]
        command += ["-o", name]
    for _ in range(2):  # new, and in place of what is there
        assert main(command) == CLEAN
        assert (place / name).stat().st_size > 100
    assert not [path for path in place.iterdir() if path.name.startswith(".")]


def test_weights_with_as_long_a_name_as_there_can_be(place: Path) -> None:
    name = "n" * 243 + ".safetensors"
    weights.save(name, {"a": np.ones(3)})
    assert weights.load(name)["a"].tolist() == [1.0, 1.0, 1.0]
    assert not [path for path in place.iterdir() if path.name.startswith(".")]


def test_a_longer_name_is_said_to_be_too_long(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "a.attn", "--to", "numpy", "-o", "n" * 256]) == COULD_NOT_RUN
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "File name too long" in err
    assert "n" * 256 in err


def test_a_failure_names_the_target_and_leaves_nothing(place: Path) -> None:
    (place / "old").write_text("old")
    with pytest.raises(TypeError), whole("old") as beside:
        beside.write_text(3)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError) as problem, whole("no/file") as beside:
        beside.write_text("")
    assert problem.value.filename == "no/file"
    with pytest.raises(NotADirectoryError) as below, whole("old/file") as beside:
        beside.write_text("")
    assert below.value.filename == "old/file"
    with pytest.raises(FileNotFoundError) as problem, whole("old"):
        Path("other").read_text()
    assert problem.value.filename == "other"
    assert {path.name: path.read_text() for path in place.glob("[!a]*")} == {"old": "old"}


# -- Ctrl-C during the imports


@pytest.mark.parametrize(
    "module", ["argparse", "attnc.cli", "attnc.cli.main", "attnc.spec", "attnc.dsl", "attnc.dsl.base.automaton"]
)
def test_ctrl_c_during_the_imports_is_quiet(module: str) -> None:
    """As the console script imports: nothing but `entry`, which is light."""
    code = (
        "import os, signal, sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a suite in the background ignores it
        "from attnc.__main__ import entry\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "sys.argv = ['attnc', 'check', 'a.attn']\n"
        "entry()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, b"", b"")


def test_the_console_script_imports_nothing_before_it_can_be_interrupted() -> None:
    code = (
        "import sys; from attnc.__main__ import entry; print(*sorted(n for n in sys.modules if n.startswith('attnc')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.split() == ["attnc", "attnc.__main__"]
    done = subprocess.run([sys.executable, "-c", "import attnc; print(dir(attnc))"], capture_output=True, text=True)
    assert "'load'" in done.stdout
    assert "'weights'" in done.stdout


@pytest.mark.parametrize("name", ["AttnError", "load", "diagrams.ExportError", "weights.load", "spec.Model"])
def test_what_is_named_is_imported_by_its_name(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", f"import attnc; attnc.{name}"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
