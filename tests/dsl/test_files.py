"""Files that are read, and those that are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from attnc.dsl.files import MAX_BYTES, FileProblem, read
from attnc.dsl.parse import parse


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
