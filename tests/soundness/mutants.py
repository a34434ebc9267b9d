"""Programs that are wrong by construction: a right one with one place spoiled, and why it is wrong.

What an op's row knows of its operands makes most of them (`Scope.wrong`); the others need no types: a name that nothing
bears, an argument too many, a size that does not divide.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .program import Program


@dataclass(frozen=True)
class Mutant:
    """`text[start:end]` is what was spoiled, on the line `line` (from 1)."""

    name: str
    why: str
    text: str
    line: int
    start: int
    end: int


def mutants(program: Program) -> Iterator[Mutant]:
    """All of them, in a fixed order."""
    text = program.text
    for wrong in program.wrongs:
        if text.count(wrong.good) == 1:
            yield _at(text, text.index(wrong.good), wrong.good, wrong.bad, wrong.name, wrong.why)
    yield from _spelled(program)
    yield from _headers(program)


def some(program: Program, most: int) -> list[Mutant]:
    """One of each kind, at most so many, chosen by the program's seed."""
    rng = random.Random(program.seed)
    kinds: dict[str, list[Mutant]] = {}
    for mutant in mutants(program):
        kinds.setdefault(mutant.name, []).append(mutant)
    names = rng.sample(sorted(kinds), min(most, len(kinds)))
    return [rng.choice(kinds[name]) for name in names]


def _at(text: str, start: int, good: str, bad: str, name: str, why: str) -> Mutant:
    spoiled = text[:start] + bad + text[start + len(good) :]
    return Mutant(name, why, spoiled, text.count("\n", 0, start) + 1, start, start + len(bad))


def _body_lines(text: str) -> Iterator[tuple[int, str]]:
    """Statements of blocks: (where the line starts, the line)."""
    start = 0
    for line in text.splitlines(keepends=True):
        if line.startswith("    ") and line.strip() not in ("}", "} else {"):
            yield start, line.rstrip("\n")
        start += len(line)


def _spelled(program: Program) -> Iterator[Mutant]:
    text = program.text
    axes = [axis.name for axis in program.axes]
    for start, line in _body_lines(text):
        for found in re.finditer(rf"[\[,] ?({'|'.join(axes)})(?=[\],])", line):
            yield _at(text, start + found.start(1), found[1], f"{found[1]}z", "misspelt axis", "no axis is named so")
        for found in re.finditer(r"(?<=[(, ])(v\d+)(?=[,) ]|$)", line):
            if "=" in line[: found.start()] or "return" in line:
                yield _at(
                    text, start + found.start(), found[1], f"{found[1]}z", "misspelt variable", "nothing is named so"
                )
        for found in re.finditer(r"\b(tanh|softmax|mean|linear|dot|broadcast|cumsum|split)(?=[\[(.])", line):
            yield _at(text, start + found.start(), found[1], f"{found[1]}e", "misspelt op", "no op is named so")
        for found in re.finditer(r"\b(tanh|sin|cos|erf|relu|silu|floor|abs)\((v\d+|x\d+)\)", line):
            yield _at(
                text,
                start + found.start(),
                found[0],
                f"{found[1]}({found[2]}, 0.5)",
                "argument too many",
                "it takes one",
            )
            yield _at(text, start + found.start(), found[0], f"{found[1]}()", "missing argument", "it takes one")
            name = f"{found[1]}[{axes[0]}]({found[2]})"
            yield _at(
                text, start + found.start(), found[0], name, "brackets on a pointwise op", "it works item by item"
            )
            bad = f"{found[1]}({found[2]} == {found[2]})"
            yield _at(
                text, start + found.start(), found[0], bad, "truth value where a number is due", "it needs numbers"
            )
            bad = f"{found[1]}({found[2]} where {axes[0]} < 1)"
            yield _at(text, start + found.start(), found[0], bad, "where in a pointwise op", "it takes no mask")
        for found in re.finditer(r"\b(linear|embed)\.(L\d+)(?=\[)", line):
            if not re.match(rf"\s+\w+(?:: .*)? = (?:[\w]+ \|> )?{found[1]}\.", line) or _more(line, found.end()):
                yield _at(text, start + found.start(), found[0], found[1], "label dropped", "weights need a name")
            label = f"{found[1]}.forward"
            yield _at(text, start + found.start(), found[0], label, "reserved label", "nn.Module keeps that name")
        if found := re.match(r"    (v\d+): (\w*)\[(\w+)(?:, )?(.*?)\] = ", line):
            bad = f"    {found[1]}: {found[2]}[{found[4]}] = "
            yield _at(text, start, found[0], bad, "axis left out of a type", "the value has that axis")
        if found := re.match(r"    expect (\w+): (\w*)\[(.*)\]", line):
            other = next((axis for axis in axes if not re.search(rf"\b{axis}\b", found[3])), None)
            if other:
                bad = f"    expect {found[1]}: {found[2]}[{', '.join(filter(None, [found[3], other]))}]"
                yield _at(text, start, found[0], bad, "axis too many in a type", "the value lacks that axis")
        for unit in program.units[:-1]:
            if unit.name in program.elsewhere:
                continue
            for found in re.finditer(rf"\b{unit.name}((?:\.\w+)?(?:\[[^\]]*\])?)\(", line):
                bad = f"{unit.name}{found[1]}(nothing_of_the_kind = 1, "
                yield _at(
                    text, start + found.start(), found[0], bad, "argument of no formal", "the block has no such formal"
                )
                if found[1].startswith("[") and "=" not in found[1]:
                    extra = f"{unit.name}{found[1][:-1]}, {axes[0]}]("
                    yield _at(text, start + found.start(), found[0], extra, "parameter too many", "the block has fewer")


def _more(line: str, start: int) -> bool:
    """Whether something follows the call that starts here."""
    depth = 0
    for place in range(start, len(line)):
        depth += line[place] in "[("
        depth -= line[place] in "])"
        if depth == 0 and line[place] == ")":
            return line[place + 1 :] != ""
    return False


def _headers(program: Program) -> Iterator[Mutant]:
    text = program.text
    sizes = program.extents
    for found in re.finditer(r"^depth (\w+) = (\w+) / (\w+)$", text, re.M):
        if found[2] in sizes and sizes[found[2]] % 7 and re.search(rf"\b{found[1]}\b", text[found.end() :]):
            bad = f"depth {found[1]} = {found[2]} / 7"
            yield _at(
                text,
                found.start(),
                found[0],
                bad,
                "size that does not divide",
                f"{sizes[found[2]]} / 7 leaves a remainder",
            )
    for found in re.finditer(r"^(width|depth) (\w+) like (\w+)$", text, re.M):
        bad = f"{found[1]} {found[2]} like {found[3]}z"
        yield _at(text, found.start(), found[0], bad, "copy of nothing", "no axis is named so")
        bad = f"{'depth' if found[1] == 'width' else 'width'} {found[2]} like {found[3]}"
        yield _at(text, found.start(), found[0], bad, "copy of the other kind", "a copy is of its original's kind")
    for found in re.finditer(r"^(width|depth) (\w+)\b.*$", text, re.M):
        yield _at(text, found.end() + 1, "", f"{found[1]} {found[2]}\n", "declared twice", "the name is taken")
        break
    start = text.rindex("\nmodel ") + 1
    if found := re.compile(r"-> (\w*)\[(.*?)\]( causal \w+)? \{$", re.M).search(text, start):
        axes = [axis.name for axis in program.axes if not re.search(rf"\b{axis.name}\b", found[2])]
        if axes:
            bad = f"-> {found[1]}[{', '.join(filter(None, [found[2], axes[0]]))}]{found[3] or ''} {{"
            yield _at(text, found.start(), found[0], bad, "result of another type", "what is returned lacks that axis")
