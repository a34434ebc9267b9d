"""A difference of two models, as data and as text: sizes, then the parts, those that differ with all around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ..graph.nodes import Call, Graph, Node, Scan


class DiffKind(Enum):
    """What became of a part."""

    SAME = " "
    CHANGED = "~"
    ADDED = "+"
    REMOVED = "-"


@dataclass(frozen=True, slots=True)
class DiffPart:
    """A part of one model, or of both.

    title: `self (rotary_attention)`, `softmax[past]`.
    says:  what differs of the part itself: `over key, was value`.
    parts: of a block or repeat that both have, and that differ within: its own, in order.
    old, new: the nodes; None where a model does not have it.
    within: of a block or repeat that both have: what differs of it as a whole.
    """

    change: DiffKind
    title: str
    says: tuple[str, ...] = ()
    parts: tuple[DiffPart, ...] = ()
    old: Node | None = None
    new: Node | None = None
    within: tuple[str, ...] = ()

    def walk(self) -> Iterator[DiffPart]:
        """This part, and all within it."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True, slots=True)
class SizeChange:
    """An axis or a const that one of them has, or that has another size or value: as text, None where it is not there.

    kind: "width", "depth" or "const".
    """

    kind: str
    name: str
    old: str | None
    new: str | None


Places = Mapping[tuple[int, int], DiffKind]
"""What became of what makes a value, by the graph (by id) and the value's id."""


@dataclass(frozen=True)
class Difference:
    """Two models, and what they do not have in common.

    sizes: of axes and consts of the models.
    says:  what differs of inputs, results and claims.
    parts: in order, those of both that are the same among them.
    old_places, new_places: for figures.
    """

    old: Graph
    new: Graph
    sizes: tuple[SizeChange, ...]
    says: tuple[str, ...]
    parts: tuple[DiffPart, ...]
    old_places: Places
    new_places: Places

    @property
    def same(self) -> bool:
        """Whether both compute the same, of weights with the same names, at the same sizes."""
        return not (self.sizes or self.says) and all(part.change is DiffKind.SAME for part in self.parts)

    def __str__(self) -> str:
        """The report. What is the same is counted; what differs of a block is told at the first of its calls."""
        if self.same:
            return f"{self.old.name} and {self.new.name} are the same"
        out = [f"{self.old.name} -> {self.new.name}"]
        for kind in dict.fromkeys(size.kind for size in self.sizes):
            out += ["", f"{kind}s", *_sizes([size for size in self.sizes if size.kind == kind])]
        out += ["", f"  {self.new.name}", *(f"~   {each}" for each in self.says), *_parts(self.parts, 1, {})]
        return "\n".join(out)

    def data(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "old": self.old.name,
            "new": self.new.name,
            "same": self.same,
            "sizes": [{"kind": one.kind, "name": one.name, "old": one.old, "new": one.new} for one in self.sizes],
            "says": [*self.says],
            "parts": [_data(part) for part in self.parts if part.change is not DiffKind.SAME],
        }


def _data(part: DiffPart) -> dict[str, Any]:
    return {
        "change": part.change.name.lower(),
        "part": part.title,
        "says": [*part.says, *part.within],
        "parts": [*map(_data, _differing(part))],
    }


def _sizes(sizes: Sequence[SizeChange]) -> Iterator[str]:
    wide = max(len(size.name) for size in sizes)
    for size in sizes:
        if size.old is None or size.new is None:
            yield f"{'+' if size.old is None else '-'} {size.name:{wide}}  {size.new or size.old}"
        else:
            yield f"~ {size.name:{wide}}  {size.old} -> {size.new}"


def _parts(parts: Sequence[DiffPart], level: int, told: dict[object, str]) -> Iterator[str]:
    """told: what was told of blocks before, and at which call."""
    same = 0
    for part in parts:
        if part.change is DiffKind.SAME:
            same += 1
            continue
        yield from _passed(same, level)
        same = 0
        inside = _inside(part)
        known = inside is not None and inside in told
        says = part.says if known else (*part.says, *part.within)
        sign = part.change.value if says or part.change is not DiffKind.CHANGED else " "
        place = _place(part.new or part.old)
        again = f"  changed as {told[inside]}" if known else ""
        yield f"{sign} {'  ' * level}{part.title}{place}{again}"
        yield from (f"~ {'  ' * (level + 2)}{each}" for each in says)
        if not known:
            yield from _parts(part.parts, level + 1, told)
        if inside is not None:
            told.setdefault(inside, f"at {place.strip()}" if place else "above")
    yield from _passed(same, level)


def _inside(part: DiffPart) -> object:
    """All that is told of a block that both call; None of another part, or where it is the same."""
    inner = tuple(map(_said, _differing(part)))
    if isinstance(part.new, Call | Scan) and isinstance(part.old, Call | Scan) and (part.within or inner):
        return part.old.graph.name, part.new.graph.name, part.within, inner
    return None


def _said(part: DiffPart) -> object:
    place = _place(part.new or part.old)
    return part.change, part.title, place, part.says, part.within, tuple(map(_said, _differing(part)))


def _differing(part: DiffPart) -> Sequence[DiffPart]:
    return [inner for inner in part.parts if inner.change is not DiffKind.SAME]


def _passed(same: int, level: int) -> Iterator[str]:
    if same:
        yield f"  {'  ' * level}... {same} the same"


def _place(node: Node | None) -> str:
    """The file and the line."""
    span = getattr(node, "span", None)
    if span is None:
        return ""
    name = span.source.name.replace("\\", "/").rpartition("/")[2]
    return f"  [{name}:{span.source.position(span.start)[0]}]"
