"""Right programs, usual and unusual: none may be refused, or warned of. They stand in the folder `right`."""

from __future__ import annotations

from pathlib import Path

import pytest

from attnc.compiler.check import build
from attnc.dsl.files import read
from attnc.dsl.render import render_all
from attnc.dsl.source import Source
from tests.dump import dump

HERE = Path(__file__).parent
FILES = [
    *sorted((HERE / "right").glob("*.attn")),
    HERE / "right" / "files" / "main.attn",
    HERE / "right" / "files" / "early.attn",
]
EXAMPLES = sorted((HERE.parents[1] / "examples").rglob("*.attn"))
LIBRARY = sorted((HERE.parents[1] / "compiler" / "std").glob("*.attn"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_is_right(path: Path) -> None:
    program = build(read(path))
    assert not program.diagnostics, render_all(program.diagnostics)
    for name in (*program.models, *program.blocks):
        assert dump(program.graph(name))


@pytest.mark.parametrize("path", EXAMPLES + LIBRARY, ids=lambda path: path.stem)
def test_examples_and_library_are_right(path: Path) -> None:
    program = build(read(path))
    assert not program.errors, render_all(program.diagnostics)


@pytest.mark.parametrize("path", [*FILES, *EXAMPLES], ids=lambda path: path.stem)
def test_configs_are_right(path: Path) -> None:
    source = read(path)
    names = [line.split()[1] for line in source.text.splitlines() if line.startswith("config ")]
    for name in names:
        program = build(source, config=name)
        assert not program.errors, render_all(program.diagnostics)
        assert program.config == name


def test_sizes_may_be_set() -> None:
    source = read(HERE / "right" / "decoder_only.attn")
    program = build(source, sizes={"layers": 1, "model": 32, "heads": 8})
    assert not program.diagnostics, render_all(program.diagnostics)
    assert program.axes["key"].extent == 4
    assert program.axes["inner"].extent == 128


def test_a_size_of_a_used_file_may_be_set() -> None:
    path = HERE / "right" / "files" / "main.attn"
    program = build(read(path), sizes={"model": 32})
    assert not program.diagnostics, render_all(program.diagnostics)
    assert program.axes["key"].extent == 8


@pytest.mark.parametrize(
    ("sizes", "extents"), [({}, (6, 12, 24)), ({"base": 5}, (5, 10, 20)), ({"model": 7}, (6, 7, 14))]
)
def test_an_axis_made_of_names_of_the_file_that_it_is_for(sizes: dict[str, int], extents: tuple[int, ...]) -> None:
    source = read(HERE / "right" / "files" / "early.attn")
    for text in (source.text, source.text.replace("base, layers, model", "model, layers, base")):
        program = build(Source(source.name, text), sizes=sizes)
        assert not program.diagnostics, render_all(program.diagnostics)
        assert tuple(program.axes[name].extent for name in ("base", "model", "inner")) == extents


def test_a_file_of_declarations_is_right() -> None:
    assert not build(Source("sizes.attn", "depth model = 8\nconst layers = 2\n")).diagnostics


PROGRAMS = (HERE / "right.txt").read_text(encoding="utf-8").split("=== ")[1:]


@pytest.mark.parametrize("text", PROGRAMS, ids=lambda text: text.partition("\n")[0])
def test_what_a_stranger_may_write(text: str) -> None:
    """Architectures as people write them: nothing is said of them, and both backends have code for them."""
    import attnc

    program = build(Source("main.attn", text.partition("\n")[2]))
    assert not program.diagnostics, render_all(program.diagnostics)
    for name in program.models:
        model = attnc.loads(text.partition("\n")[2]).model(name)
        compile(model.source("torch"), "torch", "exec")
        compile(model.source("numpy"), "numpy", "exec")
