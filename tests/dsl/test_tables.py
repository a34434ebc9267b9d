"""The cache of the parser's tables: never trusted, never in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from attnc.dsl import tables
from attnc.dsl.parse import parse
from attnc.dsl.source import Source
from attnc.dsl.tree import TreeBuilder


def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Counts how often the tables are built."""
    calls: list[str] = []
    build = tables.build_parser

    def counted(grammar: str, transformer: object = None, **more: bool) -> object:
        calls.append(grammar)
        return build(grammar, transformer, **more)

    monkeypatch.setattr(tables, "build_parser", counted)
    return calls


def works(folder: Path) -> None:
    builder = TreeBuilder()
    parser = tables.load_parser(builder, folder)
    builder.begin(Source("t", "width a"), 0, "")
    assert parser.parse("width a")[0].name.text == "a"  # type: ignore[index]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good file of tables, to be copied and spoilt."""
    folder = tmp_path_factory.mktemp("tables")
    works(folder)
    (file,) = folder.iterdir()
    return file


def test_the_second_time_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = built(monkeypatch)
    works(tmp_path / "new" / "attnc")
    works(tmp_path / "new" / "attnc")
    assert len(calls) == 1
    assert os.name != "posix" or (tmp_path / "new" / "attnc").stat().st_mode & 0o777 == 0o700
    assert [file.suffix for file in (tmp_path / "new" / "attnc").iterdir()] == [".json"]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"null", b'{"key": "another"}', b"[" * 100_000])
def test_a_corrupted_file_is_built_anew(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    file = tmp_path / table.name
    file.write_bytes(content)
    calls = built(monkeypatch)
    works(tmp_path)
    assert len(calls) == 1
    works(tmp_path)
    assert len(calls) == 1


def test_tables_of_another_grammar_are_built_anew(tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = json.loads(table.read_text("utf-8"))["key"]
    (tmp_path / table.name).write_text(table.read_text("utf-8").replace(key, "another"), "utf-8")
    tmp_path.chmod(0o700)
    calls = built(monkeypatch)
    works(tmp_path)
    works(tmp_path)
    assert len(calls) == 1


def test_tables_that_do_not_fit_are_built_anew(tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / table.name).write_text(table.read_text().replace('"memo"', '"memos"'))
    calls = built(monkeypatch)
    works(tmp_path)
    assert len(calls) == 1


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    works(tmp_path / "file" / "below")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    works(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_many_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(works, [tmp_path] * 3))
    assert len(list(tmp_path.iterdir())) == 1


def test_many_threads_parse() -> None:
    texts = [f"block f{n}(x: [a]) -> [a] {{\n    return x + {n}\n}}\n" * 20 for n in range(16)]
    alone = [parse(Source("t", text))[0] for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: parse(Source("t", text))[0], texts)) == alone


def test_the_users_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert tables.cache_folder() == tmp_path / "attnc"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert tables.cache_folder() == tmp_path / ".cache" / "attnc"


def test_what_is_built_is_kept_in_the_users_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    tables.load_parser(TreeBuilder())
    assert len(list((tmp_path / "attnc").iterdir())) == 1


def test_without_a_home_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert tables.cache_folder() is None
    assert tables.load_parser(TreeBuilder()) is not None


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(os, "replace", refused)
    works(tmp_path / "new")
    assert list((tmp_path / "new").iterdir()) == []


def test_the_tables_of_the_formatter_are_others(tmp_path: Path) -> None:
    works(tmp_path)
    for _ in range(2):
        every = tables.load_parser(None, tmp_path, keep_all_tokens=True).parse("width a, b")
        assert [str(token) for token in every.scan_values(lambda token: True)] == ["width", "a", ",", "b"]
    works(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize(("mode", "used"), [(0o700, True), (0o755, True), (0o770, False), (0o702, False)])
def test_whose_folder_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, used: bool) -> None:
    tmp_path.chmod(mode)
    works(tmp_path)
    assert bool(list(tmp_path.iterdir())) == used
    if used:  # another user's
        calls = built(monkeypatch)
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        works(tmp_path)
        assert len(calls) == 1


def test_where_there_are_no_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows and the Python of a browser have no `os.geteuid`, and no modes that say anything."""
    monkeypatch.delattr(os, "geteuid")
    tmp_path.chmod(0o777)
    works(tmp_path)
    assert list(tmp_path.iterdir()), "the tables are kept"
    calls = built(monkeypatch)
    works(tmp_path)
    assert calls == [], "and read"


def test_checking_loads_no_heavy_library() -> None:
    code = "import sys, attnc.dsl.parse, attnc.dsl.render; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "torch", "rich", "jaxtyping", "graphviz"} & {name.split(".")[0] for name in modules}
