"""The protocol to its letter: changes of ranges, cancelled and malformed requests, requests at the wrong time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from attnc.editor.protocol import edited
from tests.clock import elapsed

from .raw import Raw, at, put

TEXT = "width seq\ndepth model = 8\nblock f(x: [seq, model]) -> [seq, model] {\n    return x\n}\n"
URI = "file:///nowhere/a%20b%25%C3%A9.attn"


@pytest.fixture
def client() -> Iterator[Raw]:
    made = Raw()
    made.start()
    yield made
    assert made.stop() == 0


@pytest.mark.parametrize(
    ("encodings", "chosen", "width"),
    [(None, "utf-16", 2), (["utf-8"], "utf-8", 4), (["utf-32", "utf-16"], "utf-32", 1), (["odd"], "utf-16", 2)],
)
def test_changes_of_ranges(encodings: list[str] | None, chosen: str, width: int) -> None:
    """Each counts in the text that the one before left, in the units of the client and the lines of the protocol."""
    client = Raw()
    general = {} if encodings is None else {"general": {"positionEncodings": encodings}}
    able = client.start(**general)
    assert (able["positionEncoding"], able["textDocumentSync"]["change"]) == (chosen, 2)
    client.open(URI, TEXT)
    assert client.diagnostics(URI, 1) == []
    client.change(URI, 2, put("\U0001d4a6", (3, 11), (3, 12)))
    (found,) = client.diagnostics(URI, 2)
    assert found["range"] == {"start": at(3, 11), "end": at(3, 11 + width)}
    client.change(URI, 3, put("x", (3, 11), (3, 11 + width)))
    assert client.diagnostics(URI, 3) == []
    many = "y = x  # a line \u2028 ends \f not \x85 here \U0001d4a6\r\n    "
    client.change(URI, 4, put(many, (3, 4), (3, 4)), put("yy", (4, 11), (4, 12)))
    (found,) = client.diagnostics(URI, 4)
    assert (found["code"], found["range"]) == ("E0202", {"start": at(4, 11), "end": at(4, 13)})
    client.change(URI, 5, put("y", (4, 11), (4, 13)), put("# the end", (99, 7), (100, 0)))
    assert client.diagnostics(URI, 5) == []
    client.change(URI, 6, {"text": TEXT})
    assert client.diagnostics(URI, 6) == []
    client.change(URI, 7)  # none at all
    assert client.diagnostics(URI, 7) == []
    assert client.stop() == 0


def ends(text: str) -> list[int]:
    """The offsets of a text that are not inside a line end."""
    return [at for at in range(len(text) + 1) if text[at - 1 : at + 1] != "\r\n"]


@pytest.mark.parametrize(
    ("encoding", "codec", "unit"), [("utf-8", "utf-8", 1), ("utf-16", "utf-16-le", 2), ("utf-32", "utf-32-le", 4)]
)
def test_any_range_of_any_text_is_replaced(encoding: str, codec: str, unit: int) -> None:
    chance = random.Random(7)
    letters = ["a", "\n", "\r\n", "\u00e9", "\U0001d4a6", "\u2028", "\f"]

    def place(text: str) -> lsp.Position:
        """Where a text ends."""
        rows = text.replace("\r\n", "\n").split("\n")
        return lsp.Position(len(rows) - 1, len(rows[-1].encode(codec)) // unit)

    for _ in range(300):
        text = "".join(chance.choices(letters, k=chance.randrange(12)))
        start, end = sorted(chance.choices(ends(text), k=2))
        new = "".join(chance.choices(letters, k=chance.randrange(4)))
        change = lsp.TextDocumentContentChangePartial(lsp.Range(place(text[:start]), place(text[:end])), new)
        assert edited(text, [change], encoding) == text[:start] + new + text[end:]


def test_of_a_burst_of_changes_the_last_is_told(client: Raw) -> None:
    client.open(URI, TEXT)
    for version in range(2, 52):
        client.change(
            URI, version, put(f"q{version}", (3, 11), (3, 11 + len("x" if version == 2 else f"q{version - 1}")))
        )
    (found,) = client.diagnostics(URI, 51)
    assert "`q51`" in found["message"]
    versions = [each["version"] for each in client.published(URI)]
    assert versions == sorted(set(versions)) and len(versions) < 10


def test_a_path_that_is_opened_under_another_address_is_told_of_again(client: Raw) -> None:
    for uri in (URI, URI.replace("file:///", "file://localhost/"), URI):
        client.notes.clear()
        client.open(uri, TEXT)
        assert client.diagnostics(uri, 1) == [] and "x: [seq, model]" in client.hover(uri, 3, 11)


def test_a_text_that_another_uses_is_told_of_though_a_request_came_between(client: Raw, tmp_path: Path) -> None:
    sizes, main = (tmp_path / "sizes.attn").as_uri(), (tmp_path / "main.attn").as_uri()
    client.open(sizes, "depth model = 8\n")
    client.open(main, "use sizes: model\n" + TEXT.replace("depth model = 8\n", ""))
    assert client.diagnostics(main, 1) == []
    client.change(sizes, 2, {"text": "depth modle = 8\n"})
    client.hover(main, 2, 12)  # checks main.attn by itself
    while not client.published(main)[-1]["diagnostics"]:
        client._next()
    assert client.published(main)[-1]["diagnostics"][0]["code"] == "E0211"


def long(blocks: int) -> str:
    body = "".join(f"    x = x + softmax[model](tanh(x) * {n})\n" for n in range(30))
    return TEXT + "".join(
        f"block f{n}(x: [seq, model]) -> [seq, model] {{\n{body}    return x\n}}\n" for n in range(blocks)
    )


def test_requests_are_answered_while_a_long_text_is_checked_and_what_is_cancelled_is_given_up(client: Raw) -> None:
    client.open(URI, long(1))
    client.diagnostics(URI, 1)
    client.change(URI, 2, {"text": long(60)})
    hover = client.begin("textDocument/hover", textDocument={"uri": URI}, position=at(2, 9))
    unknown = client.begin("textDocument/nothing")
    assert client.wait(unknown)["error"]["code"] == -32601 and hover not in client.answers
    client.notify("$/cancelRequest", id=hover)
    assert client.wait(hover)["error"]["code"] == -32800
    client.change(URI, 3, {"text": TEXT})  # at once, though the long text was never checked to its end
    quick = elapsed(lambda: client.diagnostics(URI, 3))
    assert client.diagnostics(URI, 3) == [] and 2 not in [each["version"] for each in client.published(URI)]
    client.change(URI, 4, {"text": long(60)})
    assert quick < elapsed(lambda: client.diagnostics(URI, 4)), "the long text, to its end"
    client.change(URI, 5, {"text": TEXT})
    client.notify("$/cancelRequest", id=12345)
    assert "x: [seq, model]" in client.hover(URI, 3, 11)


def test_every_malformed_message_is_survived_and_every_malformed_request_answered(client: Raw) -> None:
    client.open(URI, TEXT)
    for body in (b"{", b"\xff\xfe{}"):
        client.answers.pop(None, None)
        client.send(body)
        assert client.wait(None)["error"]["code"] == -32700
    for body in (b"[]", b"null", b"5", b'{"jsonrpc": "2.0"}', b'{"jsonrpc": "2.0", "id": 77}'):
        client.send(body)
    client.send(b'{"id": "old", "method": "textDocument/hover"}')
    assert client.wait("old")["error"]["code"] == -32600
    client.send(b'{"jsonrpc": "2.0", "id": "six", "method": 6}')
    assert client.wait("six")["error"]["code"] == -32602
    place = {"line": "x", "character": 0}
    assert client.error("textDocument/hover") == client.error("textDocument/hover", textDocument=5) == -32602
    assert client.error("textDocument/hover", textDocument={"uri": URI}, position=place) == -32602
    assert client.error("attnc/diagram") == client.error("workspace/executeCommand", command="none") == -32602
    client.notify("textDocument/didOpen", textDocument=5)
    client.notify(
        "textDocument/didChange", textDocument={"uri": "file:///never/opened.attn", "version": 2}, contentChanges=[]
    )
    client.notify("textDocument/didClose", textDocument={"uri": "file:///never/opened.attn"})
    client.notify("textDocument/willSave", textDocument={"uri": URI}, reason=1)
    client.notify("$/anything", at="all")
    assert "x: [seq, model]" in client.hover(URI, 3, 11)
    assert all(note["method"] == "textDocument/publishDiagnostics" for note in client.notes), client.notes


def test_messages_that_nest_without_end(client: Raw) -> None:
    """Also while a check has raised the limit of Python, up to which the parser of JSON would recurse in C."""
    client.open("file:///long.attn", "depth d = 4\n" + "block b(x: [d]) -> [d] {\n    return x\n}\n" * 200)
    for start in (
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"jsonrpc": "2.0", "id": 9, "method": "x", "params": ' + "[" * 100_000,
    ):
        client.answers.pop(None, None)
        client.send(start.encode())
        assert client.wait(None)["error"]["code"] == -32700


def test_requests_at_the_wrong_time() -> None:
    client = Raw()
    client.open(URI, TEXT)  # not heard yet
    assert client.error("textDocument/hover", textDocument={"uri": URI}, position=at(0, 0)) == -32002
    client.start()
    assert client.error("initialize", processId=None, rootUri=None, capabilities={}) == -32600
    assert client.hover(URI, 3, 11) == ""
    client.ask("shutdown")
    assert client.error("textDocument/hover", textDocument={"uri": URI}, position=at(0, 0)) == -32600
    assert client.leave() == 0


def test_exit_without_shutdown_is_an_error() -> None:
    client = Raw()
    client.start()
    assert client.leave() == 1


def test_a_crash_of_the_checker_is_told_and_survived() -> None:
    client = Raw("""
import attnc.editor.session as session
from attnc.editor.server import serve
right = session.analyse
def analyse(project, path, last=None):
    if "seven" in project.source(path).text:
        raise KeyError("seven")
    return right(project, path, last)
session.analyse = analyse
serve()
""")
    client.start()
    client.open(URI, TEXT.replace("= 8", "= 8  # seven"))
    (found,) = client.diagnostics(URI, 1)
    assert "a mistake of its own (KeyError: 'seven')" in found["message"]
    assert client.hover(URI, 3, 11) == ""
    client.change(URI, 2, {"text": TEXT})
    assert client.diagnostics(URI, 2) == [] and "x: [seq, model]" in client.hover(URI, 3, 11)
    assert client.stop() == 0
