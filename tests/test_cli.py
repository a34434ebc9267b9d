"""The command line, in a process of its own where it matters: exit status, streams, files, imports."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from attnc import __version__, load
from attnc.cli.arguments import command_first, setting
from attnc.cli.main import main, parser
from attnc.cli.output import CLEAN, COULD_NOT_RUN, WRONG
from attnc.cli.target import split

GOOD = """\
use std.attention: multihead, model, heads

width target
width past like target
depth model = 16, heads = 4
const layers = 3
config big { model = 32, heads = 8 }

block layer(x: [target, model]) -> [target, model] {
    return x + multihead.self[target, past](x, x[target as past], mask = past <= target)
}

model net(x: [target, model]) -> [target, model] {
    repeat layers {
        x = layer(x)
    }
    return x
}
"""
MISSPELT = GOOD.replace("return x + multihead", "return x + multihed")
UNCLOSED = GOOD.replace("mask = past <= target)", "mask = past <= target")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, with a good spec in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.attn").write_text(GOOD)
    return tmp_path


def files(place: Path) -> set[str]:
    return {path.name for path in place.iterdir()}


def run(*args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """attnc in a process of its own."""
    command = [sys.executable, "-m", "attnc", *args]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or {})}, timeout=300)


def fails(capsys: pytest.CaptureFixture[str], *args: str, status: int = COULD_NOT_RUN) -> str:
    """attnc must fail with this status, saying so on stderr alone; the message."""
    assert main(args) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err
    assert "Traceback" not in err
    assert "internal error" not in err
    return err


def one_line(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    message = fails(capsys, *args)
    assert re.fullmatch(r"attnc: [^\n]+\n", message), message
    return message


# -- check ---------------------------------------------------------------------------------------------------------


def test_a_good_spec_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "good.attn"]) == CLEAN
    assert capsys.readouterr() == ("", "good.attn: ok\n")


def test_every_file_is_checked(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "wrong.attn").write_text(MISSPELT)
    err = fails(capsys, "check", "wrong.attn", "good.attn", status=WRONG)
    assert "multihed" in err
    assert "`multihead`" in err
    assert "good.attn: ok\n" in err
    assert err.endswith("1 error\n")


def test_not_readable_outweighs_wrong(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "wrong.attn").write_text(MISSPELT)
    err = fails(capsys, "check", "missing.attn", "wrong.attn", status=COULD_NOT_RUN)
    assert "missing.attn" in err
    assert "multihed" in err


def test_json_goes_to_stdout(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "wrong.attn").write_text(MISSPELT)
    assert main(["check", "--json", "wrong.attn", "good.attn"]) == WRONG
    out, err = capsys.readouterr()
    assert err == ""
    (found,) = json.loads(out)
    assert found["severity"] == "error"
    assert main(["check", "--json", "good.attn"]) == CLEAN
    assert json.loads(capsys.readouterr().out) == []


def test_a_warning_does_not_fail(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "unused.attn").write_text(GOOD + "width idle\n")
    assert main(["check", "unused.attn"]) == CLEAN
    err = capsys.readouterr().err
    assert "`idle` is never used" in err
    assert err.endswith("1 warning\n")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("misspelt", MISSPELT.encode()),
        ("unclosed", UNCLOSED.encode()),
        ("axis", GOOD.replace("target as past", "targt as past").encode()),
        ("argument", GOOD.replace("x = layer(x)", "x = layer()").encode()),
        ("heads", GOOD.replace("heads = 4", "heads = 5").encode()),
        ("nonsense", b"%%%%"),
        ("brace", b"model {"),
    ],
)
def test_a_wrong_spec(capsys: pytest.CaptureFixture[str], place: Path, name: str, content: bytes) -> None:
    (place / f"{name}.attn").write_bytes(content)
    err = fails(capsys, "check", f"{name}.attn", status=WRONG)
    assert re.search(rf"--> {name}.attn:\d+:\d+", err)
    for command in (["draw"], ["compile", "--to", "torch"], ["summary"]):
        fails(capsys, *command, f"{name}.attn", status=WRONG)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# only a comment\n"])
def test_an_empty_file_is_said_to_be_empty(capsys: pytest.CaptureFixture[str], place: Path, content: bytes) -> None:
    (place / "empty.attn").write_bytes(content)
    for command in ("check", "draw", "summary"):
        assert "empty.attn declares nothing" in fails(capsys, command, "empty.attn", status=WRONG)


@pytest.mark.parametrize("command", [["check"], ["draw"], ["compile", "--to", "numpy"], ["summary"]])
def test_a_file_that_cannot_be_read(capsys: pytest.CaptureFixture[str], place: Path, command: list[str]) -> None:
    (place / "binary.attn").write_bytes(bytes(range(256)))
    (place / "folder.attn").mkdir()
    for file in ("missing.attn", "binary.attn", "folder.attn"):
        assert file in one_line(capsys, *command, file)


def test_check_takes_whole_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert "`check` takes whole files: good.attn" in one_line(capsys, "check", "good.attn:net")


# -- sizes ---------------------------------------------------------------------------------------------------------


def test_set_and_config(capsys: pytest.CaptureFixture[str]) -> None:
    def total(*args: str) -> int:
        assert main(["summary", "good.attn", *args]) == CLEAN
        last = capsys.readouterr().out.splitlines()[-1]
        return int(last.replace(",", "").split()[0])

    assert total() == 3 * 4 * 16 * 16
    assert total("--set", "layers=1") == 4 * 16 * 16
    assert total("--config", "big") == 3 * 4 * 32 * 32
    assert total("--config", "big", "--set", "layers=1", "--set", "heads=2") == 4 * 32 * 32


@pytest.mark.parametrize(
    "text", ["layers", "=3", "layers=", "layers=three", "2x=3", "layers=1_0", "layers=nan", "a b=1"]
)
def test_a_set_that_is_not_one(capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert f"`{text}`" in one_line(capsys, "check", "good.attn", "--set", text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("n=3", 3), ("n=-3", -3), ("n=0.5", 0.5), ("n=1e-5", 1e-5), ("n=.5", 0.5), ("n=true", True), ("n=false", False)],
)
def test_a_set(text: str, value: float) -> None:
    got = setting(text)
    assert got == ("n", value)
    assert type(got[1]) is type(value)


def test_a_set_or_config_of_something_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert "`layers`" in one_line(capsys, "check", "good.attn", "--set", "layrs=3")
    assert "`big`" in one_line(capsys, "check", "good.attn", "--config", "bigg")


def test_a_set_that_breaks_the_spec(capsys: pytest.CaptureFixture[str]) -> None:
    err = fails(capsys, "check", "good.attn", "--set", "heads=5", status=WRONG)
    assert "16" in err
    assert "5" in err
    fails(capsys, "check", "good.attn", "--set", "layers=2.5", status=WRONG)
    fails(capsys, "check", "good.attn", "--set", "model=-16", status=WRONG)


# -- FILE[:NAME] ---------------------------------------------------------------------------------------------------


def test_a_name_is_what_follows_the_last_colon(place: Path) -> None:
    assert split("good.attn:net") == ("good.attn", "net")
    assert split("missing.attn:net") == ("missing.attn", "net")
    assert split("a:b/good.attn") == ("a:b/good.attn", None)
    (place / "odd:name").write_text(GOOD)
    assert split("odd:name") == ("odd:name", None)
    assert split("odd:name:net") == ("odd:name", "net")


def test_the_only_model_needs_no_name(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    assert main(["summary", "good.attn"]) == CLEAN
    one = capsys.readouterr().out
    assert main(["summary", "good.attn:net"]) == CLEAN
    assert capsys.readouterr().out == one
    (place / "block.attn").write_text(GOOD[: GOOD.index("model net")])
    assert main(["summary", "block.attn"]) == CLEAN


def test_an_open_choice_lists_the_names(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "two.attn").write_text(GOOD + GOOD[GOOD.index("model net") :].replace("net", "other"))
    message = one_line(capsys, "summary", "two.attn")
    assert "net, other" in message


def test_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean `layer`?" in one_line(capsys, "draw", "good.attn:layr")


# -- output --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_code_goes_to_stdout_or_a_file(capsys: pytest.CaptureFixture[str], place: Path, to: str) -> None:
    assert main(["compile", "good.attn", "--to", to]) == CLEAN
    text = capsys.readouterr().out
    assert __version__ in text
    assert main(["compile", "good.attn", "--to", to, "-o", "code.py"]) == CLEAN
    assert capsys.readouterr().out == ""
    assert (place / "code.py").read_text() == text
    ours = {f"attnc_runtime_{to}.py"} if f"attnc_runtime_{to}" in text else set()
    assert files(place) == {"good.attn", "code.py", *ours}


def test_a_picture_goes_to_a_file(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    for out, start in (("a.svg", b"<?xml"), ("a.pdf", b"%PDF"), ("a.png", b"\x89PNG"), ("a.dot", b"")):
        assert main(["draw", "good.attn", "-o", out]) == CLEAN
        assert (place / out).read_bytes().startswith(start)
    assert files(place) == {"good.attn", "a.svg", "a.pdf", "a.png", "a.dot"}
    capsys.readouterr()
    assert main(["draw", "good.attn"]) == CLEAN
    assert capsys.readouterr().out == (place / "a.dot").read_text()


def test_blocks_open(capsys: pytest.CaptureFixture[str]) -> None:
    def dot(*args: str) -> str:
        assert main(["draw", "good.attn", *args]) == CLEAN
        return capsys.readouterr().out

    assert dot("--depth", "0") != dot("--depth", "1")
    assert dot("--open", "layer") != dot("--depth", "0")
    assert "`layr`" in one_line(capsys, "draw", "good.attn", "--open", "layr")
    one_line(capsys, "draw", "good.attn", "--open", "layer", "--depth", "1")
    one_line(capsys, "draw", "good.attn", "--depth", "-1")


@pytest.mark.parametrize("command", [["draw", "-o", "{}.svg"], ["compile", "--to", "torch", "-o", "{}.py"]])
def test_output_that_cannot_be_written(capsys: pytest.CaptureFixture[str], place: Path, command: list[str]) -> None:
    def failing(stem: str) -> str:
        return one_line(capsys, *(part.format(stem) for part in command), "good.attn")

    assert "nowhere" in failing("nowhere/out")
    suffix = command[-1][2:]
    (place / f"folder{suffix}").mkdir()
    assert f"folder{suffix}" in failing("folder")
    assert files(place) == {"good.attn", f"folder{suffix}"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "closed").mkdir(mode=0o500)
    assert "closed" in one_line(capsys, "compile", "good.attn", "--to", "torch", "-o", "closed/a.py")


def test_a_picture_of_an_unknown_kind(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    for out in ("picture.jpeg", "picture"):
        message = one_line(capsys, "draw", "good.attn", "-o", out)
        assert all(kind in message for kind in (".svg", ".pdf", ".png", ".dot"))
    assert files(place) == {"good.attn"}


def test_an_existing_file_survives_a_failure(
    capsys: pytest.CaptureFixture[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "old.svg").write_text("old")
    monkeypatch.setenv("PATH", str(place))
    message = one_line(capsys, "draw", "good.attn", "-o", "old.svg")
    assert "dot" in message
    assert "Graphviz" in message
    assert (place / "old.svg").read_text() == "old"
    assert files(place) == {"good.attn", "old.svg"}
    assert main(["draw", "good.attn", "-o", "new.dot"]) == CLEAN  # DOT needs no Graphviz


def test_a_link_and_permissions_survive(place: Path) -> None:
    (place / "real.py").write_text("old")
    (place / "link.py").symlink_to("real.py")
    assert main(["compile", "good.attn", "--to", "numpy", "-o", "link.py"]) == CLEAN
    assert (place / "link.py").is_symlink()
    assert (place / "real.py").read_text() != "old"
    umask = os.umask(0)
    os.umask(umask)
    assert (place / "real.py").stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_device_is_written_not_replaced() -> None:
    done = run("compile", "good.attn", "--to", "numpy", "-o", "/dev/stdout")
    assert done.returncode == CLEAN
    assert done.stdout == run("compile", "good.attn", "--to", "numpy").stdout
    assert Path("/dev/stdout").is_symlink()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "attnc", "compile", "good.attn", "--to", "numpy"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == COULD_NOT_RUN
    assert re.fullmatch(r"attnc: .*No space left.*\n", done.stderr)


def test_a_broken_pipe_is_quiet() -> None:
    command = [sys.executable, "-m", "attnc", "compile", "good.attn", "--to", "numpy"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=300)
    os.close(writer)
    assert done.stderr == ""


def test_ctrl_c_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt  # not by a signal: a suite that runs in the background may have to ignore it

    monkeypatch.setattr("attnc.cli.target.checked", interrupted)
    assert main(["check", "good.attn"]) == 128 + signal.SIGINT
    assert capsys.readouterr() == ("", "")


def test_an_internal_error_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("what is this?")

    monkeypatch.delenv("ATTNC_DEBUG", raising=False)
    monkeypatch.setattr("attnc.cli.target.checked", broken)
    assert main(["check", "good.attn"]) == COULD_NOT_RUN
    assert re.fullmatch(r"attnc: internal error: RuntimeError: what is this\?.*\n", capsys.readouterr().err)
    monkeypatch.setenv("ATTNC_DEBUG", "1")
    with pytest.raises(RuntimeError):
        main(["check", "good.attn"])


def test_no_colour_where_nobody_sees_it(place: Path) -> None:
    (place / "wrong.attn").write_text(MISSPELT)
    assert "\x1b" not in run("check", "wrong.attn").stderr
    if script := shutil.which("script"):  # util-linux: gives the command a terminal
        command = [script, "-qec", f"{sys.executable} -m attnc check wrong.attn", "/dev/null"]
        env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"}
        assert b"\x1b" in subprocess.run(command, stdout=subprocess.PIPE, env=env, timeout=300).stdout
        assert (
            b"\x1b"
            not in subprocess.run(command, stdout=subprocess.PIPE, env=env | {"NO_COLOR": "1"}, timeout=300).stdout
        )


def test_check_tries_each_config(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistake of two configs is told once; of a config that is asked for alone, or of sizes, only those are tried."""
    text = """
depth model = 16, heads = 4
depth key = model / heads
config good { heads = 8 }
config odd { heads = 3 }
config twice { heads = 3, model = 16 }
block f(x: [model]) -> [heads, key] {
    return split[model -> heads, key](x)
}
"""
    file = tmp_path / "configs.attn"
    file.write_text(text)
    assert main(["check", str(file)]) == WRONG
    told = capsys.readouterr().err
    assert told.count("error[E0206]") == told.count("with `--config odd`") == 1
    assert load(file).configs == ("good", "odd", "twice")
    assert main(["check", str(file), "--config", "good"]) == main(["check", str(file), "--set", "heads=2"]) == CLEAN


# -- the rest ------------------------------------------------------------------------------------------------------


def test_summary_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", "good.attn", "--set", "layers=1"]) == CLEAN
    out = capsys.readouterr().out
    assert "layers.0.layer.self.Q.weight" in out
    assert "1,024" in out.splitlines()[-1]


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "e0601"]) == CLEAN
    assert "E0601" in capsys.readouterr().out
    assert "E9999" in one_line(capsys, "explain", "E9999")


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    for args in (
        ["draw"],
        ["check"],
        ["compile", "good.attn"],
        ["compile", "good.attn", "--to", "jax"],
        ["draw", "--x"],
    ):
        one_line(capsys, *args)
    assert "did you mean `check`?" in one_line(capsys, "chek", "good.attn")


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == CLEAN
    assert capsys.readouterr().out == f"attnc {__version__}\n"
    for args in ([], ["check"], ["draw"], ["compile"], ["summary"], ["explain"]):
        assert main([*args, "--help"]) == CLEAN
        assert "usage: attnc" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "absent"),
    [
        (
            ["check"],
            ["torch", "numpy", "jaxtyping", "graphviz", "safetensors", "rich", "lark", "dataclasses", "inspect"],
        ),
        (["summary"], ["torch"]),
        (["draw", "-o", "a.svg"], ["torch"]),
        (["compile", "--to", "torch"], ["torch"]),
        (["compile", "--to", "numpy"], ["torch"]),
    ],
    ids=lambda value: value[0],
)
def test_what_is_imported(command: list[str], absent: list[str]) -> None:
    """`check` of a right file is quick because it loads nothing but our own; only running a model needs torch."""
    code = f"import sys; from attnc.cli import main; assert main({[*command, 'good.attn']}) == 0; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert loaded & set(absent) == set()


# -- fmt -----------------------------------------------------------------------------------------------------------

UGLY = "depth  model=8#size\nwidth seq\n"
PRETTY = "depth model = 8  # size\nwidth seq\n"


def test_fmt_writes_what_changes(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "a.attn").write_text(UGLY)
    (place / "a.attn").chmod(0o640)
    (place / "deep/.hidden").mkdir(parents=True)
    (place / "deep/b.attn").write_bytes(b"\xef\xbb\xbfwidth seq\r\ndepth d =3")
    (place / "deep/.hidden/c.attn").write_text(UGLY)
    (place / "deep/notes.txt").write_text("not a spec")
    assert main(["fmt", "a.attn", "good.attn", "deep"]) == CLEAN
    assert capsys.readouterr() == ("", "a.attn: formatted\ndeep/b.attn: formatted\n")
    assert (place / "a.attn").read_text() == PRETTY
    assert (place / "a.attn").stat().st_mode & 0o777 == 0o640
    assert (place / "good.attn").read_text() == GOOD
    assert (place / "deep/b.attn").read_bytes() == b"width seq\r\ndepth d = 3\r\n"
    assert (place / "deep/.hidden/c.attn").read_text() == UGLY
    assert main(["fmt", "."]) == CLEAN
    assert capsys.readouterr() == ("", "")


def test_fmt_and_fix_leave_what_may_not_be_written(
    capsys: pytest.CaptureFixture[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in a folder that may be written could be replaced, whatever its own mode is. The others are done."""
    for name in ("a.attn", "b.attn"):
        (place / name).write_text(UGLY)
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "a.attn")
    assert main(["fmt", "a.attn", "b.attn"]) == COULD_NOT_RUN
    assert capsys.readouterr().err == "attnc: cannot write a.attn: Permission denied\nb.attn: formatted\n"
    (place / "a.attn").write_text("width seq\nblock f(x: [seq]) -> [seq] {\n    return rleu(x)\n}\n")
    assert main(["check", "--fix", "a.attn", "good.attn"]) == COULD_NOT_RUN
    assert capsys.readouterr().err == "attnc: cannot write a.attn: Permission denied\ngood.attn: ok\n"
    assert "rleu" in (place / "a.attn").read_text()
    assert files(place) == {"a.attn", "b.attn", "good.attn"}


def test_fmt_check_and_diff_write_nothing(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "a.attn").write_text(UGLY)
    assert main(["fmt", "--check", "a.attn", "good.attn"]) == WRONG
    assert capsys.readouterr() == ("a.attn\n", "")
    assert main(["fmt", "--diff", "a.attn", "good.attn"]) == WRONG
    out, err = capsys.readouterr()
    assert out.splitlines()[:2] == ["--- a.attn", "+++ a.attn"]
    assert "-depth  model=8#size\n+depth model = 8  # size\n" in out
    assert err == ""
    assert (place / "a.attn").read_text() == UGLY
    assert main(["fmt", "--check", "good.attn"]) == CLEAN


def test_fmt_leaves_what_does_not_parse(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "a.attn").write_text(UNCLOSED)
    (place / "b.attn").write_text(UGLY)
    assert "E0102" in fails(capsys, "fmt", "a.attn", "b.attn", status=WRONG)
    assert (place / "a.attn").read_text() == UNCLOSED
    assert (place / "b.attn").read_text() == PRETTY
    assert "no such file" in one_line(capsys, "fmt", "missing.attn")
    (place / "empty").mkdir()
    assert "no .attn files in empty" in one_line(capsys, "fmt", "empty")
    assert "stands alone" in one_line(capsys, "fmt", "-", "a.attn")


def test_fmt_from_stdin_to_stdout() -> None:
    command = [sys.executable, "-m", "attnc", "fmt", "-"]
    done = subprocess.run(command, input=UGLY, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (CLEAN, PRETTY, "")
    done = subprocess.run(command, input="width =", capture_output=True, text=True, timeout=300)
    assert done.returncode == WRONG
    assert done.stdout == ""
    assert "<stdin>:1" in done.stderr
    done = subprocess.run(command, input=b"\xff", capture_output=True, timeout=300)
    assert done.returncode == COULD_NOT_RUN
    assert done.stderr == b"attnc: <stdin>: not UTF-8 text (byte 0xff on line 1)\n"


# -- check --fix -----------------------------------------------------------------------------------------------------

TWO_SLIPS = MISSPELT.replace("const layers = 3", "const layers == 3")


def test_fix_mends_what_is_certain(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "wrong.attn").write_bytes(TWO_SLIPS.replace("\n", "\r\n").encode())
    assert main(["check", "--fix", "wrong.attn", "good.attn"]) == CLEAN
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(
        r"wrong.attn:6:14: fixed E0101: [^\n]*\nwrong.attn:10:16: fixed E0203: [^\n]*\ngood.attn: ok\n", err
    )
    assert (place / "wrong.attn").read_bytes() == GOOD.replace("\n", "\r\n").encode()
    assert (place / "good.attn").read_text() == GOOD


def test_fix_says_what_is_left(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "wrong.attn").write_text(TWO_SLIPS.replace("return x\n", "return x + nothing\n"))
    err = fails(capsys, "check", "--fix", "wrong.attn", status=WRONG)
    assert "fixed E0203" in err
    assert "error[E0202]" in err
    assert "nothing" in (place / "wrong.attn").read_text()


def test_fix_can_be_previewed(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "wrong.attn").write_text(TWO_SLIPS)
    assert main(["check", "--fix", "--diff", "wrong.attn"]) == WRONG
    out, err = capsys.readouterr()
    assert "-const layers == 3\n+const layers = 3\n" in out
    assert "would fix E0203" in err
    assert (place / "wrong.attn").read_text() == TWO_SLIPS
    assert "goes with --fix" in one_line(capsys, "check", "--diff", "wrong.attn")


def test_fix_as_json(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "wrong.attn").write_text(TWO_SLIPS)
    assert main(["check", "--fix", "--json", "wrong.attn"]) == CLEAN
    found = json.loads(capsys.readouterr().out)
    assert [each["code"] for each in found["fixed"]] == ["E0101", "E0203"]
    assert found["left"] == []


def test_check_takes_folders(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "deep").mkdir()
    (place / "deep/wrong.attn").write_text(MISSPELT)
    err = fails(capsys, "check", ".", status=WRONG)
    assert "multihed" in err
    assert "good.attn: ok" in err
    assert main(["check", "--json", "missing.attn"]) == COULD_NOT_RUN
    (found,) = json.loads(capsys.readouterr().out)
    assert found["message"] == "missing.attn: no such file"


# -- stdin, and the first word ---------------------------------------------------------------------------------------


def from_stdin(text: str | bytes, *args: str) -> subprocess.CompletedProcess[bytes]:
    content = text.encode() if isinstance(text, str) else text
    return subprocess.run([sys.executable, "-m", "attnc", *args], input=content, capture_output=True, timeout=300)


def test_check_from_stdin(place: Path) -> None:
    done = from_stdin(GOOD, "check", "-")
    assert (done.returncode, done.stdout, done.stderr) == (CLEAN, b"", b"<stdin>: ok\n")
    done = from_stdin(MISSPELT, "check", "-", "--set", "layers=2", "--json")
    assert done.returncode == WRONG
    (found,) = json.loads(done.stdout)
    assert (found["code"], found["file"]) == ("E0203", "<stdin>")
    (place / "part.attn").write_text(PART)
    assert from_stdin(USES, "check", "-").returncode == CLEAN, "what it uses lies in the folder at hand"
    heads = GOOD.replace("config big { model = 32, heads = 8 }", "config odd { heads = 3 }")
    assert b"with `--config odd`" in from_stdin(heads, "check", "-").stderr, "read once, checked with each config"
    done = from_stdin(b"\xff", "check", "-")
    assert (done.returncode, done.stderr) == (
        COULD_NOT_RUN,
        b"attnc: <stdin>: not UTF-8 text (byte 0xff on line 1)\n",
    )


def test_fix_from_stdin_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    done = from_stdin(TWO_SLIPS, "check", "--fix", "-")
    assert (done.returncode, done.stdout.decode()) == (CLEAN, GOOD)
    assert b"<stdin>:6:14: fixed E0101" in done.stderr
    done = from_stdin(TWO_SLIPS, "check", "--fix", "--diff", "-")
    assert b"--- <stdin>\n+++ <stdin>\n" in done.stdout
    assert b"-const layers == 3\n+const layers = 3\n" in done.stdout
    for command in (["check"], ["check", "--fix"], ["fmt"]):
        assert "stands alone" in one_line(capsys, *command, "good.attn", "-")
    assert "choose one" in one_line(capsys, "check", "--fix", "--json", "-")


def test_alone_it_prints_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == CLEAN
    out, err = capsys.readouterr()
    assert main(["-h"]) == CLEAN
    assert (out, err) == capsys.readouterr()
    assert "check" in out


@pytest.mark.parametrize(
    ("words", "written"),
    [
        (["good.attn"], "attnc check good.attn"),
        (["good.attn:net"], "attnc check good.attn"),
        (["missing.attn", "--set", "layers=2"], "attnc check missing.attn"),
        (["."], "attnc check ."),
        (["-"], "attnc check -"),
        (["my spec.attn"], "attnc check 'my spec.attn'"),
    ],
)
def test_a_file_is_no_command(capsys: pytest.CaptureFixture[str], words: list[str], written: str) -> None:
    said = one_line(capsys, *words)
    assert f"`{words[0]}` is no command" in said
    assert f"`{written}`" in said


def test_a_misspelt_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no command `chekc`; did you mean `check`?" in one_line(capsys, "chekc", "good.attn")


def test_options_stand_before_a_command_or_behind_it() -> None:
    """Each option of each command, with a value or without."""
    commands = parser().choices
    tried = 0
    for name, command in commands.items():
        for action in command._actions:
            for option in action.option_strings:
                value = [] if action.nargs == 0 else [name]  # a value that is called as the command is
                assert command_first([option, *value, name, "f.attn"], commands) == [name, option, *value, "f.attn"]
                if value and option.startswith("--"):
                    assert command_first([f"{option}=x", name], commands) == [name, f"{option}=x"]
                tried += 1
    assert tried > 100


@pytest.mark.parametrize("words", [["--color", "always"], ["--color=always"], ["-q"], ["--strict", "good.attn"]])
def test_options_alone_are_no_command(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert "no command: name one, as in `attnc check FILE`" in one_line(capsys, *words)


@pytest.mark.parametrize("command", [["check"], ["compile", "--to", "torch"], ["summary"]])
def test_colours_on_demand(place: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    (place / "wrong.attn").write_text("model net(x: [seq]) -> [seq] { return y }")
    for words in (["--color", "always", *command], [*command, "--color=always"]):
        main([*words, "wrong.attn"])
        assert "\x1b[1;31merror" in capsys.readouterr().err
    for words in (["--color", "never", *command], command):
        main([*words, "wrong.attn"])
        said = capsys.readouterr().err
        assert "error" in said
        assert "\x1b" not in said


# -- what `use` may read ---------------------------------------------------------------------------------------------

USES = "use part: act\n\nwidth seq\n\nmodel net(x: [seq]) -> [seq] {\n    return act(x)\n}\n"
PART = "block act(x: []) -> [] {\n    return relu(x)\n}\n"


@pytest.fixture
def apart(place: Path) -> Path:
    """A project in a folder, and a file outside of it."""
    (place / "project/deep").mkdir(parents=True)
    (place / "other").mkdir()
    (place / "other/part.attn").write_text(PART)
    (place / "project/deep/net.attn").write_text(USES)
    return place


def test_a_link_out_of_the_project_is_not_followed(capsys: pytest.CaptureFixture[str], apart: Path) -> None:
    (apart / "project/deep/part.attn").symlink_to(apart / "other/part.attn")
    net = str(apart / "project/deep/net.attn")
    assert "leads out of the project" in fails(capsys, "check", net, status=WRONG)
    assert main(["check", "--path", str(apart / "other"), net]) == CLEAN


def test_a_link_inside_the_project_is_followed(capsys: pytest.CaptureFixture[str], apart: Path) -> None:
    (apart / "project/part.attn").write_text(PART)
    (apart / "project/deep/part.attn").symlink_to("../part.attn")
    net = str(apart / "project/deep/net.attn")
    assert "leads out of the project" in fails(capsys, "check", net, status=WRONG)  # the project is its folder ...
    (apart / "project/pyproject.toml").write_text("")  # ... and now the one above
    assert main(["check", net]) == CLEAN


def test_a_folder_given_is_looked_in(capsys: pytest.CaptureFixture[str], apart: Path) -> None:
    net = str(apart / "project/deep/net.attn")
    assert "no such file" in fails(capsys, "check", net, status=WRONG)
    assert main(["check", net, "--path", str(apart / "other")]) == CLEAN
    assert main(["compile", "--to", "numpy", net, "--path", str(apart / "other")]) == CLEAN


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "huge", "device", "dangling"])
def test_a_used_file_that_is_none(capsys: pytest.CaptureFixture[str], apart: Path, kind: str) -> None:
    part = apart / "project/deep/part.attn"
    match kind:
        case "pipe":
            os.mkfifo(part)
        case "folder":
            part.mkdir()
        case "loop":
            part.symlink_to("part.attn")
        case "huge":
            part.write_bytes(b"#" * (1 << 21))
        case "device":
            part.symlink_to("/dev/zero")
        case "dangling":
            part.symlink_to("nowhere.attn")
    assert "E0209" in fails(capsys, "check", str(apart / "project/deep/net.attn"), status=WRONG)


def test_a_folder_is_walked_past_pipes_devices_and_links_out_of_it(
    capsys: pytest.CaptureFixture[str], apart: Path
) -> None:
    project = apart / "project/deep"
    os.mkfifo(project / "pipe.attn")
    (project / "device.attn").symlink_to("/dev/zero")
    (project / "away.attn").symlink_to(apart / "other/part.attn")
    (project / "nowhere.attn").symlink_to("missing.attn")
    (project / "part.attn").write_text(PART)
    (apart / "other/part.attn").write_text("# not ours\nblock  act(x: []) -> [] { return x }\n")
    before = (apart / "other/part.attn").read_text()
    assert main(["fmt", str(project)]) == COULD_NOT_RUN
    assert "nowhere.attn: no such file" in capsys.readouterr().err
    assert main(["check", str(project)]) == COULD_NOT_RUN
    found = re.findall(r"(\w+)\.attn: ", capsys.readouterr().err)
    assert found == ["net", "nowhere", "part"]
    assert (apart / "other/part.attn").read_text() == before


# -- small things ----------------------------------------------------------------------------------------------------


def test_a_dash_is_stdout(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    for args in (["compile", "good.attn", "--to", "numpy"], ["draw", "good.attn"]):
        assert main(args) == CLEAN
        plain = capsys.readouterr().out
        assert main([*args, "-o", "-"]) == CLEAN
        assert capsys.readouterr().out == plain
    assert files(place) == {"good.attn"}


def test_whole_numbers_however_written(capsys: pytest.CaptureFixture[str]) -> None:
    for value in ("2", "2e0", "2.0"):
        assert main(["summary", "good.attn", "--set", f"layers={value}", "--set", "model=2e1"]) == CLEAN, value
        assert "layers.1.layer.self" in capsys.readouterr().out


def test_of_very_many_configs_the_first_are_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "many.attn"
    lines = ["width seq", "depth d = 4", "model f(x: [seq, d]) -> [seq, d] {", "    return x", "}"]
    lines += [f"config c{number} {{ d = {number + 1} }}" for number in range(1000)]
    file.write_text("\n".join([*lines, ""]))
    assert main(["check", str(file)]) == 0
    assert re.search(r": \d+ of 1000 configs were tried; `--config NAME` checks one\n", "".join(capsys.readouterr()))
