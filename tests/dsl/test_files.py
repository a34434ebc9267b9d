"""Files that are read, and those that are not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from attnc.dsl.files import MAX_BYTES, FileProblem, read, read_bytes
from attnc.dsl.parse import parse
from attnc.dsl.source import Source, Span


def test_a_byte_order_mark_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.attn"
    path.write_bytes(b"\xef\xbb\xbfwidth a # one\r\nwidth b\r\n")
    source = read(path)
    assert source.name == str(path)
    assert source.text == "width a # one\r\nwidth b\r\n"
    file, problems = parse(source)
    assert problems == []
    assert [item.span.text for item in file.items] == ["a", "b"]
    assert [comment.text for comment in file.comments] == ["# one"]
    assert source.position(file.items[1].span.start) == (2, 7)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"width a\n\xff", "not UTF-8 text (byte 0xff on line 2)"),
        (b"width \x00", "not a text file (it holds NUL bytes)"),
        (b"width \x00\x00\x00\x00", "not a text file (it holds NUL bytes)"),
        (b"\x00", "not a text file (it holds NUL bytes)"),
        ("width a\n".encode("utf-16"), "this is UTF-16 text; save it as UTF-8"),
        ("# 幅\n".encode("utf-16"), "this is UTF-16 text; save it as UTF-8"),
        ("width a\n".encode("utf-16-le"), "this is UTF-16 text; save it as UTF-8"),
        ("width a\n".encode("utf-16-be"), "this is UTF-16 text; save it as UTF-8"),
        ("width a\n".encode("utf-32"), "this is UTF-32 text; save it as UTF-8"),
        (b"\x00\x00\xfe\xff" + "width a\n".encode("utf-32-be"), "this is UTF-32 text; save it as UTF-8"),
        (b"a" * (MAX_BYTES + 1), "larger than 1 MiB; this is not a spec"),
    ],
)
def test_files_that_are_no_specs(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.attn"
    path.write_bytes(content)
    with pytest.raises(FileProblem) as problem:
        read(path)
    assert str(problem.value) == f"{path}: {message}"


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="no such file"):
        read(tmp_path / "none.attn")
    with pytest.raises(FileProblem, match="this is a folder"):
        read(tmp_path)
    with pytest.raises(FileProblem, match="NUL"):
        read("a\0b")


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="descriptors as files")
def test_a_pipe_that_is_open_already_is_read() -> None:
    """As `/dev/stdin` and `<(...)` of a shell are."""
    for take in (lambda path: read(path).text.encode(), read_bytes):
        out, into = os.pipe()
        os.write(into, b"width n")
        os.close(into)
        assert take(f"/dev/fd/{out}") == b"width n"
        with pytest.raises(FileProblem, match="this is a device or a pipe, not a file"):
            read(f"/dev/fd/{out}", regular=True)
        os.close(out)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_other_devices_and_pipes_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), os.devnull):
        for regular in (True, False):
            with pytest.raises(FileProblem) as problem:
                read(path, regular=regular)
            assert str(problem.value) == f"{path}: this is a device or a pipe, not a file"
    with pytest.raises(FileProblem, match="this is a folder, not a file"):
        read(tmp_path, regular=True)
    (tmp_path / "a.attn").write_text("width a\n")
    assert read(tmp_path / "a.attn", regular=True).text == "width a\n"


def test_what_the_system_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "round").symlink_to(tmp_path / "round")
    for path, why in (
        (tmp_path / "round", "Too many levels of symbolic links"),
        (tmp_path / ("x" * 300), "File name too long"),
    ):
        with pytest.raises(FileProblem) as problem:
            read(path)
        assert str(problem.value) == f"{path}: {why}"

    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("builtins.open", refused)
    (tmp_path / "a.attn").touch()
    for path, why in ((tmp_path / "a.attn", "no permission to read it"), (tmp_path, "this is a folder, not a file")):
        with pytest.raises(FileProblem) as problem:
            read(path)
        assert str(problem.value) == f"{path}: {why}"


def test_the_largest_file(tmp_path: Path) -> None:
    path = tmp_path / "a.attn"
    path.write_bytes(b"#" * MAX_BYTES)
    assert len(read(path).text) == MAX_BYTES
    path.write_bytes(b"#" * (MAX_BYTES + 5))
    assert len(read_bytes(path)) == MAX_BYTES + 1


@pytest.mark.parametrize(
    ("text", "newline"),
    [
        ("", "\n"),
        ("a", "\n"),
        ("\na\r\n", "\n"),
        ("\na\r", "\n"),
        ("a\r\nb\n", "\r\n"),
        ("\r\na", "\r\n"),
        ("a\nb\r\n", "\n"),
    ],
)
def test_the_first_line_says_how_lines_end(text: str, newline: str) -> None:
    assert Source("t", text).newline == newline


def test_spans() -> None:
    source = Source("t", "one two\nthree")
    one, two, three = Span(source, 0, 3), Span(source, 4, 7), Span(source, 8, 13)
    assert one.to(three).text == source.text
    assert one.to(three).to(two).text == source.text
    assert two.to(one) == two
    assert [source.position(at) for at in (0, 7, 8, 13)] == [(1, 1), (1, 8), (2, 1), (2, 6)]
    assert [source.line(number) for number in (1, 2)] == ["one two", "three"]
