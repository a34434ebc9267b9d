"""What a help or a fix leaves out, whoever follows it loses: a `shared`, a label, an option.

Every mistake that the tests know: no word of the user's vanishes that is not the mistake itself.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from attnc.compiler.check import build
from attnc.dsl.diagnostic import Diagnostic, Edit, error
from attnc.dsl.mistakes.fixes import apply
from attnc.dsl.source import Source, Span
from attnc.trials import tried

from .cases import CASES, written

SLIPS = Path(__file__).parents[1] / "dsl" / "slips.txt"


def programs() -> Iterator[tuple[str, str]]:
    for case in CASES:
        yield f"{case.file}: {case.title}", case.text
    for number, part in enumerate(re.split(r"\n{2,}", SLIPS.read_text(encoding="utf-8"))):
        lines = [line for line in part.split("\n") if not line.startswith(("! ", "== "))]
        yield f"slips: {number}", "\n".join(lines) + "\n"


@contextmanager
def checker(text: str) -> Iterator[tuple[Source, Callable[[Source], tuple[Diagnostic, ...]]]]:
    """The main file of a program, and what says what is wrong with it, among the others."""
    with tempfile.TemporaryDirectory() as folder:
        files = written(text, Path(folder))
        yield files.main, lambda source: files.check(source).diagnostics


@cache
def mistakes() -> list[tuple[str, Diagnostic]]:
    found = []
    for name, text in programs():
        with checker(text) as (source, check):
            found += [(name, each) for each in check(source)]
    return found


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"[A-Za-z_]\w*", text))


def mistaken(found: Diagnostic) -> set[str]:
    """The words that the mistake is about: of its message, of what is underlined, and of what the help says of them."""
    underlined = found.span.text if found.span is not None else ""
    said = re.sub("`[^`]*`", "", found.help)  # "no longer ragged"
    return set(words(f"{found.message} {said} {underlined if '(' not in underlined else ''}"))


# -- fixes

# Words of other languages, and what is said with other words here.
ELSEWHERE = {"import", "op"}


def lost_by_fix(found: Diagnostic) -> set[str]:
    assert found.fix is not None
    source = found.fix.edits[0].span.source
    gone = words(source.text) - words(apply(source.text, found.fix.edits))
    joined = {word for edit in found.fix.edits for word in re.split("_", edit.text)}  # `my-model`: `my_model`
    return set(gone) - mistaken(found) - ELSEWHERE - joined


def test_no_fix_loses_a_word() -> None:
    fixed = [(name, found) for name, found in mistakes() if found.fix]
    assert len(fixed) > 250
    lost = {(name, found.code): gone for name, found in fixed if (gone := lost_by_fix(found))}
    assert not lost


# -- helps

KINDS = "width|depth|const|param|config|share|repeat"
NOT_THE_CALL = (
    ("E01", ""),  # of what cannot be parsed, forms are shown
    ("E0203", "share f = block"),
    ("E0304", "select("),  # makes a number of a truth value
    ("E0319", "raw("),  # one of the two goes
    ("E0318", "max["),  # `max[0](x, y)` is of one operand
    ("E0311", "m"),  # `min(i, ...)` goes around an index
    *(("E0320", init) for init in ("normal(", "uniform(", "constant(")),  # a list of all
)


def lost_by_help(found: Diagnostic) -> Iterator[tuple[str, set[str]]]:
    """The words that a help lacks where it shows a text for one that stands there, with the same head."""
    for shown in re.findall(r"`([^`]+)`", found.help):
        if any(found.code.startswith(code) and shown.startswith(head) for code, head in NOT_THE_CALL):
            continue
        stands = standing(found, shown)
        if stands is not None:
            there = stands.text.partition("(")[0] if "(..." in shown else stands.text
            gone = set(words(there)) - set(words(shown)) - mistaken(found)
            if gone:
                yield f"{there} => {shown}", gone


def standing(found: Diagnostic, shown: str) -> Span | None:
    """What stands in the program that this is shown for."""
    assert found.span is not None
    text, line = found.span.source.text, whole_lines(found.span)
    if other := re.search(r"on line (\d+)", found.help):
        line = whole_lines(nth(found.span.source, int(other[1])))
    if declared := re.match(rf"({KINDS})[ .]+(\w+)", shown):
        kind, name = declared.groups()
        if kind == "repeat":
            head = re.search(r"repeat\b[^{]*(?=\{)", line.text)
            return Span(line.source, line.start + head.start(), line.start + head.end()) if head else None
        at = re.search(rf"^[ ]*{kind} (?:[^\n#]*, )?({name}\b(?:[^\n#,(]|\([^)]*\))*)", text, re.MULTILINE)
        return Span(line.source, *at.span(1)) if at else None
    called = re.match(r"(?:.+ \|> )?(?:scan\[\w+\] )?(\w+)(?:\.\w+)?(?:\[[^]]*\])?\(", shown)
    if called is None:
        return None
    before = r"(?:[\w.]+ \|> )?" if "|>" in shown else ""
    before += r"(?:scan\[\w+\] )?" if "scan[" in shown else ""
    places = [
        Span(line.source, line.start + at.start(), end(line, at.end()))
        for at in re.finditer(rf"{before}(?<![\w.|]){called[1]}(?:\.\w+)?(?=[\[(])", line.text)
    ]
    own = [place for place in places if place.start < found.span.end and found.span.start < place.end]
    return (own or places)[-1] if places else None


def whole_lines(span: Span) -> Span:
    text = span.source.text
    return Span(span.source, text.rfind("\n", 0, span.start) + 1, (text + "\n").index("\n", span.end))


def nth(source: Source, number: int) -> Span:
    start = sum(len(line) for line in source.text.splitlines(keepends=True)[: number - 1])
    return Span(source, start, start)


def end(line: Span, at: int) -> int:
    """Where the brackets and parentheses of a call end that begin there."""
    depth, text = 0, line.source.text
    for place in range(line.start + at, len(text)):
        depth += (text[place] in "([") - (text[place] in ")]")
        if depth == 0 and (text[place] == ")" or text[place + 1 : place + 2] not in ("(", "[")):
            return place + 1
    return len(text)


def test_no_help_leaves_a_word_out() -> None:
    told = [(name, found) for name, found in mistakes() if found.span is not None and found.help]
    assert len(told) > 1000
    lost = {(name, found.code): gone for name, found in told if (gone := list(lost_by_help(found)))}
    assert not lost


# -- followed to the letter

NAMES = {"E0201", "E0202", "E0203", "E0319", "E0401", "E0410"}
FOLLOWED_BY_MORE = {
    ("once_accepted: the number of items, in the weights of a softmax of indices", "E0701"),  # leaks elsewhere too
    ("kept: a claim that does not hold, of an op that has a mask", "E0701"),  # the copy is to be declared
}


def test_a_call_as_a_help_writes_it_is_right() -> None:
    """It mends its mistake, and no name in it is made up, unless the help says what to declare."""
    followed, wrong = 0, []
    for name, text in programs():
        with checker(text) as (source, check):
            before = check(source)
            for found in before:
                for shown in written_calls(found) if found.span is not None and found.span.source is source else ():
                    stands = standing(found, shown)
                    if stands is None or (name, found.code) in FOLLOWED_BY_MORE:
                        continue
                    if source.text[: stands.start].endswith("|> "):  # the help shows it with what is piped inside
                        continue
                    after = check(Source(source.name, apply(source.text, [Edit(stands, shown)])))
                    mine = Counter(told(before))[told([found])[0]] > Counter(told(after))[told([found])[0]]
                    made_up = [code for code, _ in set(told(after)) - set(told(before)) if code in NAMES]
                    followed += 1
                    if not mine or made_up:
                        wrong.append((name, found.code, f"{stands.text} => {shown}", made_up))
    assert not wrong
    assert followed > 60


def told(found: Iterable[Diagnostic]) -> list[tuple[str, str]]:
    return [(each.code, each.message) for each in found]


def written_calls(found: Diagnostic) -> list[str]:
    """The calls that a help writes out. What it calls a form, or shows beside a declaration, is none of them."""
    if re.search("its form is|declare|on line|with `(width|depth)", found.help):
        return []
    shown = re.findall(r"`([^`]+)`", found.help)
    heads = [head for code, head in NOT_THE_CALL if found.code.startswith(code)]
    return [each for each in shown if each.endswith(")") and "..." not in each and not each.startswith(tuple(heads))]


@pytest.mark.parametrize(
    ("text", "help", "gone"),
    [
        ("repeat 3 shared {", "write `repeat.layers 3 { ... }`", {"shared"}),
        ("repeat i in 3 {", "write `repeat.layers i in 3 { ... }`", set()),
        ("width seq <= 64 ragged", "write `width seq <= 64`", {"ragged"}),
        ("y = rmsnorm.one(x, eps = 0.1)", "write `rmsnorm[d](x)`", {"one", "eps"}),
        ("y = rmsnorm.one[d](x, eps = 0.1)", "write `rmsnorm.two[d](...)`", {"one"}),
        ("y = f(x) + f(g(x, z))", "write `f[b](g(x, z))`", set()),
        ("y = f(x) + f(g(x, z))", "write `f[b](x)`", {"g", "z"}),
    ],
)
def test_what_is_seen_to_be_lost(text: str, help: str, gone: set[str]) -> None:
    found = error("E0999", "a mistake", Span(Source("t", text), len(text) - 1, len(text)), help=help)
    assert set().union(*(gone for _, gone in lost_by_help(found))) == gone


def test_repeats_labelled_as_their_helps_say_are_right() -> None:
    """All of them at once: each label is another, and none that the block has already."""
    (case,) = [case for case in CASES if case.title == "repeats without a label beside names that are taken"]
    found = build(Source("main.attn", case.text), trials=tried).diagnostics
    shown = [re.search(r"`repeat(\.\w+) ", each.help) for each in found]
    labels = [Edit(each.fix.edits[0].span, label[1]) for each, label in zip(found, shown, strict=True)]  # type: ignore[union-attr, index]
    mended = Source("main.attn", apply(case.text, labels))
    assert len(labels) == 6 and not build(mended).diagnostics
