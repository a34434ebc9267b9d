"""`attnc watch` and `attnc draw --watch`: what is shown as a file changes, and who may see it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from attnc.cli import main
from attnc.watch import following as shown_by
from attnc.watch.following import Following, Shown
from attnc.watch.server import WatchServer
from tests.clock import PATIENCE, patience

SPEC = """
use mine: twice
depth d = 4
width seq
model net(x: [seq, d]) -> [seq, d] {
    return twice(x) + linear.L[d -> d](x)
}
block other(x: [seq, d]) -> [seq] {
    return sum[d](x)
}
"""
MINE = "block twice(x: []) -> [] {\n    return 2 * x\n}\n"
SECONDS = 5.0  # from one thing shown to the next, at most


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "mine.attn").write_text(MINE)
    file = tmp_path / "net.attn"
    file.write_text(SPEC)
    return file


@pytest.fixture
def followed(file: Path) -> Iterator[Following]:
    made = Following(str(file), None, None, {}, ())
    made.start()
    yield made
    made.stop()


def until(followed: Following, text: str = "") -> Shown:
    """What is shown once nothing is old, or something is wrong, and this is said."""
    shown = followed.shown
    waiting = patience()
    while waiting():
        if (shown.wrong or (shown.names and not shown.stale and "weights" in shown.parts)) and text in repr(shown):
            return shown
        shown = followed.newer(shown.version, SECONDS)
    raise AssertionError(shown)


def test_it_follows_the_file_and_what_it_uses(file: Path, followed: Following) -> None:
    first = until(followed)
    assert first.names == ("net", "other") and first.name == "net" and not first.wrong
    assert "class Net" in first.parts["torch"] and "multiply-adds" in first.parts["cost"]
    file.write_text(SPEC.replace("linear.L", "linear.M"))
    second = until(followed, "self.M")
    assert "self.L" not in second.parts["torch"] and not second.wrong
    (file.parent / "mine.attn").write_text(MINE.replace("2 * x", "y"))
    broken = until(followed, "E0202")
    assert broken.wrong and "mine.attn" in broken.mistakes
    assert broken.parts == second.parts and {*broken.stale} == {*second.parts}  # the last that was right
    (file.parent / "mine.attn").write_text(MINE.replace("2 * x", "3 * x"))
    assert not until(followed, "3 * x").wrong


def test_a_file_that_goes_comes_back(file: Path, followed: Following) -> None:
    until(followed)
    file.unlink()
    assert "no such file" in until(followed, "no such file").mistakes
    file.write_text(SPEC)
    assert until(followed, "wrong=False").names == ("net", "other")


def test_another_of_the_file(followed: Following) -> None:
    until(followed)
    followed.choose("nothing")
    followed.choose("other")
    shown = until(followed, "name='other'")
    assert shown.name == "other" and "class Other" in shown.parts["torch"]


def test_a_name_that_goes_is_told(file: Path, followed: Following) -> None:
    until(followed)
    followed.choose("other")
    until(followed, "name='other'")
    file.write_text(SPEC.replace("block other", "block others"))
    gone = until(followed, "`other`; did you mean `others`?")
    assert gone.wrong and gone.names == ("net", "others") and "class Other(" in gone.parts["torch"]
    followed.choose("others")
    assert until(followed, "wrong=False").name == "others"


def ask(server: WatchServer, path: str, host: str = "") -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=PATIENCE)
    connection.request("GET", path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that take no time."""
    monkeypatch.setattr(shown_by, "PARTS", {"figure": lambda model: "<p>drawn", "weights": lambda model: "L.weight"})


def test_browsers_of_this_machine_alone(made: None, followed: Following) -> None:
    server = WatchServer(followed, 0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        assert server.server_address[0] == "127.0.0.1"
        until(followed)
        assert ask(server, "/")[0] == 200 and "<!doctype html>" in ask(server, "/")[1]
        news = json.loads(ask(server, "/news?than=-1")[1])
        assert news["names"] == ["net", "other"] and news["texts"] == {"weights": "L.weight"} and news["figure"]
        assert ask(server, "/figure") == (200, "<p>drawn")
        assert ask(server, "/nothing")[0] == 404
        for host in ("evil.example", f"evil.example:{server.server_port}", "127.0.0.1"):
            assert ask(server, "/news?than=-1", host)[0] == 403
        with pytest.raises(OSError, match="in use"):
            WatchServer(followed, server.server_port)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_slips_of_the_command(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = {
            ("watch", str(file.parent / "none.attn")): "none.attn: no such file",
            ("watch", "-"): "not stdin",
            ("watch", f"{file}:nothing"): "has no model or block `nothing`; it has `net`, `other`",
            ("watch", str(file), "--port", "99999"): "is not a port",
            ("watch", str(file), "--port", str(taken.getsockname()[1])): "cannot serve on port",
            ("draw", str(file), "--watch"): "Write -o OUT",
        }
        for args, words in said.items():
            assert main([*args]) == 2
            error = capsys.readouterr().err
            assert words in error and error.count("\n") == 1


def test_draw_again(file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """At each change: what was right is drawn, what is wrong is told and leaves the figure as it was."""
    out = file.with_suffix(".dot")
    texts = iter([SPEC.replace("linear.L", "linear.Mine"), SPEC.replace("+ linear", "+ liner"), None])
    drawn = []

    def wait(seconds: float) -> None:
        drawn.append(out.read_text())
        text = next(texts)
        if text is None:
            raise KeyboardInterrupt
        file.write_text(text)

    monkeypatch.setattr("time.sleep", wait)
    assert main(["draw", str(file), "-o", str(out), "--watch"]) == 0
    assert len(drawn) == 3 and "Mine" not in drawn[0] and "Mine" in drawn[1] and drawn[2] == drawn[1]
    error = capsys.readouterr().err
    assert error.count("drawn") == 2 and "liner" in error
