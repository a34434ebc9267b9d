"""Mistakes as data: each kind is told, with its code and how to mend it; data is frozen, and kept apart where asked."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from string import Formatter

import pytest

import attnc
from attnc.compiler import problems
from attnc.compiler.base.problems import Problem, Problems
from attnc.compiler.hints import messages
from attnc.compiler.hints.messages.plain import PLAIN
from attnc.compiler.hints.table import TELLS
from attnc.compiler.hints.tell import tell
from attnc.compiler.problems.plain import Plain
from attnc.compiler.problems.sizes import Beyond
from attnc.compiler.sizes.limits import Limit, TooMuch
from attnc.dsl.catalogue import CATALOGUE

MODULES = [import_module(f"{problems.__name__}.{each.name}") for each in iter_modules(problems.__path__)]
for each in iter_modules(messages.__path__):  # what a file tells is known once it is imported
    import_module(f"{messages.__name__}.{each.name}")


def kinds(of: type[Problem] = Problem) -> Iterator[type[Problem]]:
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


ALL = [kind for kind in kinds() if kind.__module__ != __name__]
KINDS = [kind for kind in ALL if kind.CODE or not kind.__subclasses__()]  # the others are what some have in common
OWN = [kind for kind in KINDS if kind.CODE]  # the others have the code of what they relay


def test_each_kind_is_told_by_one_function() -> None:
    print(f"{len(KINDS)} kinds of mistakes in {len(MODULES)} files, and {len(Plain)} plain ones")
    assert len(KINDS) + len(Plain) > 200
    assert {kind.__module__ for kind in KINDS} <= {module.__name__ for module in MODULES}
    assert set(TELLS) == {*KINDS}
    stray = [kind for kind, tell in TELLS.items() if kind.__module__.split(".")[-1] != tell.__module__.split(".")[-1]]
    assert not stray, f"told in another file, where nothing looks for it: {stray}"
    assert len(set(TELLS.values())) == len(TELLS)


def test_each_kind_has_a_page_and_each_tells_how_to_mend_it() -> None:
    assert len(OWN) + len(Plain) > 200
    assert {kind.CODE for kind in OWN} <= set(CATALOGUE)
    silent = [kind.__name__ for kind in OWN if "help" not in keywords(TELLS[kind])]
    assert not silent, silent


def test_each_plain_mistake_has_a_page_and_words_for_the_facts_that_it_is_given() -> None:
    """What stands for a number is in the words and given where the mistake is found, wherever that is."""
    assert [*PLAIN] == [*Plain]
    assert {each.value[0] for each in Plain} <= set(CATALOGUE)
    assert not [each for each in Plain if not PLAIN[each].help], "how is it mended?"
    found = {
        each: facts for path in Path(str(problems.__file__)).parents[1].rglob("*.py") for each, facts in given(path)
    }
    wanted = {}
    for each, row in PLAIN.items():
        numbers = {hole for text in row[:4] for _, hole, _, _ in Formatter().parse(text) if hole not in (None, "text")}
        wanted[each] = (len(numbers), {"there": bool(row.there), "known": row.near})
        assert numbers == {f"{place}" for place in range(len(numbers))}, each
    assert found == wanted


def given(path: Path) -> Iterator[tuple[Plain, tuple[int, dict[str, bool]]]]:
    """Where plain mistakes are found in a file: the number of their facts, and what else is given."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if "Plain." in text else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "at":
            named = {keyword.arg for keyword in node.keywords}
            for kind in ast.walk(node.func.value):
                if isinstance(kind, ast.Attribute) and isinstance(kind.value, ast.Name) and kind.value.id == "Plain":
                    yield Plain[kind.attr], (len(node.args) - 1, {each: each in named for each in ("there", "known")})


def keywords(tell: Callable[..., object]) -> set[str]:
    """The keywords that a function passes, or another one of its file that it calls."""
    found, todo, seen = set[str](), [tell], list[object]()
    while todo:
        seen.append(one := todo.pop())
        for node in ast.walk(ast.parse(inspect.getsource(one))):
            if isinstance(node, ast.keyword) and node.arg:
                found.add(node.arg)
            elif isinstance(node, ast.Name):
                other = getattr(import_module(one.__module__), node.id, None)
                if inspect.isfunction(other) and other.__module__ == one.__module__ and other not in seen:
                    todo.append(other)
    return found


def test_no_fact_hides_what_is_asked_of_each_mistake() -> None:
    asked = set(dir(Problem)) - {"FIELDS", "span"}
    assert not [(kind, name) for kind in ALL for name in kind.FIELDS if name in asked]


def test_a_kind_holds_facts_and_no_sentences() -> None:
    for module in MODULES:
        nodes = list(ast.walk(ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))))
        assert any(isinstance(node, ast.ClassDef) for node in nodes)
        assert not any(isinstance(node, ast.JoinedStr) for node in nodes), module


class _Odd(Problem, code="E0304"):
    number: int = 3


def test_a_mistake_is_frozen_and_what_is_tried_is_kept_apart() -> None:
    odd = _Odd(None, 5)
    assert (odd.code, odd.number, _Odd(None).number) == ("E0304", 5, 3) and repr(odd) == "_Odd(span=None, number=5)"
    with pytest.raises(AttributeError, match="_Odd is frozen"):
        odd.number = 4  # type: ignore[misc]
    problems = Problems()
    with problems.aside() as outer:
        problems.add(odd)
        with suppress(KeyError), problems.aside() as inner:
            problems.add(_Odd(None, 6))
            raise KeyError
    assert (outer, [each.number for each in inner if isinstance(each, _Odd)], problems.found) == ([odd], [6], [])


def test_a_block_has_so_many_mistakes_and_warnings_are_none() -> None:
    class Warns(Problem, code="W0502"):
        pass

    problems = Problems("f")
    for _ in range(200):
        problems.add(Warns(None))
    for _ in range(100):
        problems.add(_Odd(None))
    with pytest.raises(TooMuch) as much:
        problems.add(_Odd(None))
    said = tell(Beyond.of(much.value, None))
    assert (much.value.limit, said.message) == (Limit.MISTAKES, "`f` has more than 100 mistakes")


@pytest.mark.parametrize("kind", ["block", "op", "model", "function", "block[seq]", "block[]", "op[seq]", "fn[seq]"])
@pytest.mark.parametrize("use", ["f(x)", "f.a(x)", "x |> f", "x + f", "other(x)"])
@pytest.mark.parametrize("call", ["with_f(x, other)", "with_f(x, f = other)", "with_f.a(x, other)"])
def test_of_a_block_as_an_argument_it_is_told_once(kind: str, use: str, call: str) -> None:
    text = (
        "width seq\nblock other(x: [seq]) -> [seq] { return tanh(x) }\n"
        f"block with_f(x: [seq], f: {kind}) -> [seq] {{ return {use} }}\n"
        f"model net(x: [seq]) -> [seq] {{ return {call} }}\n"
    )
    told = [each.message for each in attnc.check(text) if each.code.startswith("E")]
    assert told == ["no block or op is an argument"]


def test_an_axis_may_be_called_so() -> None:
    text = (
        "width seq\ndepth block = 4, model = 3\n"
        "model net(f: block[seq]) -> [seq, model] { return embed.E[block -> model](f) }\n"
    )
    assert not [each for each in attnc.check(text) if each.code.startswith("E")]
