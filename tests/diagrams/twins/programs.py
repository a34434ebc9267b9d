"""The blocks whose twins are drawn: one for each construct, those of the library and the examples, and random ones."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from attnc.compiler.check import build
from attnc.compiler.graph.nodes import Graph
from attnc.diagrams.base.metrics import GREEK
from attnc.dsl.source import Source
from tests.soundness.generate import generate

from .mutations import alone, blocks, changes, chosen, unchanged
from .sameness import key
from .signature import Signature, seen

ROOT = Path(__file__).parents[3]
CONSTRUCTS = Path(__file__).parent / "constructs.attn"
WRITTEN = (
    *sorted((ROOT / "compiler" / "std").glob("*.attn")),
    *sorted((ROOT / "examples" / "attentions").glob("*.attn")),
    ROOT / "examples" / "transformer.attn",
)


@dataclass(frozen=True)
class Unit:
    """A block or model, in a file with no others than it calls."""

    name: str
    text: str
    base: Path | None = None

    @property
    def small(self) -> bool:
        """Whether its figure is drawn in a moment."""
        return len(self.text) < 2500 and self.text.count("\n") < 40

    def graph(self, text: str | None = None) -> Graph | None:
        """Of this text in place of its own; None if it is no right program."""
        program = build(Source(f"<{self.name}>", self.text if text is None else text), base=self.base)
        if program.errors:
            return None
        graph = program._graphs.get(self.name)
        return graph if isinstance(graph, Graph) else None


@dataclass(frozen=True)
class Twin:
    kind: str
    unit: Unit
    text: str
    graph: Graph
    alike: bool  # drawn as the program that it was made of

    def __str__(self) -> str:
        pairs = zip(self.unit.text.split("\n"), self.text.split("\n"), strict=False)
        lines = [f"    {a.strip()}\n    {b.strip()}" for a, b in pairs if a != b]
        return f"{self.kind}, in {self.unit.name}:\n" + "\n".join(lines)


@cache
def constructs() -> tuple[Unit, ...]:
    text = CONSTRUCTS.read_text(encoding="utf-8")
    return tuple(Unit(block.name.text, alone(text, block.name.text)) for block in blocks(text))


def written() -> Iterator[Unit]:
    for path in WRITTEN:
        text = path.read_text(encoding="utf-8")
        yield from (Unit(block.name.text, alone(text, block.name.text), path.parent) for block in blocks(text))


def random_ones(seeds: range) -> Iterator[Unit]:
    for seed in seeds:
        text = generate(seed).text
        yield from (Unit(block.name.text, alone(text, block.name.text)) for block in blocks(text))


@cache
def drawn(unit: Unit, depth: int | None = None) -> tuple[Graph, int, Signature] | None:
    graph = unit.graph()
    return None if graph is None else (graph, key(graph), seen(graph, depth=depth))


def twins(unit: Unit, most: int = 10_000, seed: int = 0, each: int = 3) -> Iterator[Twin]:
    """So many other programs that differ from it in one place; of each kind of difference at most `each`."""
    first = drawn(unit)
    if first is None:
        return
    _, same, figure = first
    candidates = changes(unit.text, unit.name)
    count: Counter[str] = Counter()
    for kind, text in chosen(candidates, len(candidates), random.Random(f"{seed} {unit.text}")):
        graph = unit.graph(text) if count[kind] < each else None
        if graph is None or key(graph) == same:
            continue
        yield Twin(kind, unit, text, graph, seen(graph) == figure)
        count[kind] += 1
        if count.total() == most:
            return


def same_programs(unit: Unit) -> Iterator[Twin]:
    """The same program, written otherwise. How many blocks a figure opens by itself hangs on its rows; here, one."""
    first = drawn(unit, 1)
    if first is None:
        return
    _, same, figure = first
    for kind, text in [*unchanged(unit.text, unit.name)]:
        graph = unit.graph(text)
        if graph is not None:
            assert key(graph) == same, (kind, text)
            yield Twin(kind, unit, text, graph, seen(graph, depth=1) == figure)


_LIBRARY = "".join(path.read_text(encoding="utf-8") for path in WRITTEN if path.parent.name == "std")

# -- renaming --------------------------------------------------------------------------------------------------------

_ALIKE = ("bdhknpqu", "acegovxyz", "BCDEFGHKNOPQRTUVXYZ", "0123456789")  # letters that are about as wide as each other
_GREEK = ("alpha delta epsilon kappa lambda mu nu omega phi psi rho sigma tau theta", "Delta Phi Psi Theta")
_WORD = re.compile(r"(?<![\w.])[A-Za-z]\w*")


def renamed(unit: Unit, keep: frozenset[str]) -> tuple[str, dict[str, str]]:
    """The text with every name of its own replaced by one about as wide, but those in `keep`; and what each stood for.

    Words are replaced, so that the parts of `head_size` are what the parts of the new name stand for. A word that is
    written as a Greek letter becomes another Greek letter, and stands for it as a letter too.
    """
    declared = set(re.findall(r"\b([A-Za-z]\w*)\b", re.sub(r"#[^\n]*", "", unit.text))) - keep
    words = sorted({word for name in declared for word in name.split("_") if word} - keep)
    swap: dict[str, str] = {}
    library = {word for name in re.findall(r"\w+", _LIBRARY) for word in name.split("_")}  # it is not renamed
    # Not `E`, which a figure leaves out at a lookup; nor what stands below the line, which exponents run together.
    below = {word for name in re.findall(r"\bas (\w+_\w+)", unit.text) for word in name.split("_")}
    words = [word for word in words if word not in below | {"E"}]
    taken = set(words) | keep | below | (library if "use " in unit.text else set())
    for word in words:
        new = next((other for other in _others(word) if other not in taken), word)
        taken.add(new)
        swap[word] = new

    def replaced(match: re.Match[str]) -> str:
        name = match[0]
        return "_".join(swap.get(part, part) for part in name.split("_")) if name in declared else name

    text = re.sub(r"\b[A-Za-z]\w*", replaced, re.sub(r"#[^\n]*", "", unit.text))
    letters = {GREEK[new]: GREEK[old] for old, new in swap.items() if old in GREEK}
    return text, {new: old for old, new in swap.items()} | letters


def _others(word: str) -> Iterator[str]:
    if word in GREEK:
        group = next((group for group in map(str.split, _GREEK) if word in group), [word])
        at = group.index(word)
        yield from group[at + 1 :] + group[:at]
        return
    for shift in range(1, 40):
        out = ""
        for at, letter in enumerate(word):
            group = next((g for g in _ALIKE if letter in g), letter)
            out += group[(group.index(letter) + shift + at * (shift // 7)) % len(group)]
        yield out
