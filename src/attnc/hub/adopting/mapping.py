"""From pieces of theirs to a map: which of their weights is which of the spec's, in the language of `weights.maps`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import torch

from .attention import ManyElements, NotUnderstood
from .listening.uses import Elements

_LAYER = re.compile(r"(?<=layers\.)\d+(?=\.)")


@dataclass(frozen=True)
class _Line:
    """theirs -> ours : steps. Names of several are in the order of the rule."""

    theirs: tuple[str, ...]
    ours: tuple[str, ...]
    steps: str = ""

    def text(self, width: int) -> str:
        """As a map has it, what stands before the arrow so wide."""
        return f"{_joined(self.theirs):{width}} -> {_joined(self.ours)}{' : ' if self.steps else ''}{self.steps}"


def map_text(
    weights: Mapping[str, list[Elements]],
    shapes: Mapping[str, Sequence[int]],
    ties: Sequence[tuple[str, str]],
    ignored: Sequence[str],
    head: str,
) -> str:
    """The map. weights: of each path of ours its pieces. shapes: of their parameters. ties: a second name, the first.

    Raises NotUnderstood for pieces that the language of maps cannot say.
    """
    lines = [*_lines(weights, shapes)]
    every = [*_with_stars(_with_layers(lines))]
    width = max(len(_joined(line.theirs)) for line in every)
    told = [line.text(width) for line in every]
    told += ["", *(f"tie {alias} = {name}" for alias, name in ties)] if ties else []
    told += ["", *(f"ignore {name}" for name in ignored)] if ignored else []
    return "\n".join([f"# {head}", *told]) + "\n"


def _joined(names: tuple[str, ...]) -> str:
    """`a.{Q, K}.weight` of `a.Q.weight` and `a.K.weight`."""
    if len(names) == 1:
        return names[0]
    parts = [name.split(".") for name in names]
    if len({len(part) for part in parts}) == 1:
        apart = [i for i, some in enumerate(zip(*parts, strict=True)) if len(set(some)) > 1]
        if len(apart) == 1:
            some = ", ".join(part[apart[0]] for part in parts)
            return ".".join([*parts[0][: apart[0]], f"{{{some}}}", *parts[0][apart[0] + 1 :]])
    start = _common(names)
    end = _common([name[len(start) :][::-1] for name in names])[::-1]
    middle = ", ".join(name[len(start) : len(name) - len(end)] for name in names)
    return f"{start}{{{middle}}}{end}"


def _common(names: Sequence[str]) -> str:
    length = 0
    while all(len(name) > length for name in names) and len({name[length] for name in names}) == 1:
        length += 1
    return names[0][:length]


def _lines(weights: Mapping[str, list[Elements]], shapes: Mapping[str, Sequence[int]]) -> list[_Line]:
    """A rule for each parameter of theirs, or for each weight of ours that several make."""
    lines: list[_Line] = []
    shared: dict[str, list[tuple[str, Elements]]] = {}
    for path, pieces in weights.items():
        (piece, *more) = pieces
        if more or isinstance(piece, ManyElements):
            lines.append(_merged(path, pieces, shapes))
        else:
            shared.setdefault(piece.name, []).append((path, piece))
    for name, some in shared.items():
        lines.append(_one(name, some, shapes[name]))
    order = {path: i for i, path in enumerate(weights)}
    return sorted(lines, key=lambda line: order[line.ours[0]])


def _merged(path: str, pieces: list[Elements], shapes: Mapping[str, Sequence[int]]) -> _Line:
    names = [name for piece in pieces for name in (piece.names if isinstance(piece, ManyElements) else (piece.name,))]
    shape = list(shapes[names[0]])
    if len(names) == 1:
        return _one(names[0], [(path, pieces[0])], shape)
    if any(list(shapes[name]) != shape for name in names):
        raise NotUnderstood(
            f"`{path}` is made of parameters of several shapes, {', '.join(f'`{name}`' for name in names)}"
        )
    plain = len(shape) < 3
    whole = ", ".join(str(size) for size in (len(names) * shape[0], *shape[1:]))
    steps = f"merge, shape [{whole}]"
    steps = steps.partition(",")[0] if plain else steps
    return _Line(tuple(names), (path,), steps)


def _one(name: str, some: list[tuple[str, Elements]], shape: Sequence[int]) -> _Line:
    """What one parameter makes: all of it, in its order or transposed, cut into parts or not."""
    total = prod(shape)
    if sum(piece.count for _, piece in some) > total:
        used = ", ".join(f"`{path}`" for path, _ in some)
        raise NotUnderstood(f"`{name}` is used several times, as {used}: weights that layers share are not read")
    if len(some) == 1 and len(shape) == 3 and _is_turned(some[0][1], shape):
        return _Line((name,), (some[0][0],), f"transpose, shape {_listed([shape[0], shape[2], shape[1]])}")
    for turned in (False, True):
        if turned and len(shape) != 2:
            continue
        steps = ["transpose"] if turned else []
        if len(some) == 1:
            path, piece = some[0]
            if turned:
                alike = piece.shape == tuple(shape[::-1]) and _in_order(piece.turned)
            else:
                alike = piece.count == total and _in_order(piece)
            if alike:
                kept = piece.shape == tuple(shape[::-1] if turned else shape)
                return _Line((name,), (path,), ", ".join([*steps, *([] if kept else [f"shape {_listed(shape)}"])]))
            continue
        if len(shape) > 2:
            continue
        cut = _cut(some, list(shape), turned)
        if cut is not None:
            return _Line((name,), cut[0], ", ".join([*steps, cut[1]]))
    listed = ", ".join(f"`{path}`" for path, _ in some)
    raise NotUnderstood(f"`{name}` {list(shape)} is used as {listed}, in an order, or in parts, that a map cannot say")


def _is_turned(piece: Elements, shape: Sequence[int]) -> bool:
    """Whether its rows are the first and the last axis, its columns that between them: (in, out) of each head."""
    first, given, made = shape
    rows = (torch.arange(first)[:, None] * (given * made) + torch.arange(made)).reshape(-1)
    if piece.columns is None or piece.shape != (first * made, given):
        return False
    return torch.equal(piece.rows + piece.columns[0], rows) and torch.equal(
        piece.columns - piece.columns[0], torch.arange(given) * made
    )


def _listed(shape: Sequence[int]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _in_order(piece: Elements) -> bool:
    """Whether its elements are those of a parameter from the first on, one after the other."""
    if piece.columns is None:
        return torch.equal(piece.rows, torch.arange(len(piece.rows)))
    whole = Elements.whole(piece.name, piece.shape)
    return torch.equal(piece.rows + piece.columns[0], whole.rows) and _are_columns(piece, whole)


def _are_columns(piece: Elements, whole: Elements) -> bool:
    """Whether the columns are as far from the first as those of the whole."""
    if piece.columns is None or whole.columns is None:
        return piece.columns is whole.columns
    return torch.equal(piece.columns - piece.columns[0], whole.columns)


def _cut(parts: list[tuple[str, Elements]], shape: list[int], turned: bool) -> tuple[tuple[str, ...], str] | None:
    """The parts in their order, and `split` or `split per N`, where they are cut so of the rows of the whole."""
    if len(shape) == 1:
        whole = Elements("", torch.arange(shape[0]))
    else:
        whole = Elements.whole("", shape).turned if turned else Elements.whole("", shape)
    firsts = [piece.rows + (0 if piece.columns is None else piece.columns[0]) for _, piece in parts]
    if any(not _are_columns(piece, whole) for _, piece in parts):
        return None
    order = sorted(range(len(parts)), key=lambda i: int(firsts[i][0]))
    sizes = [len(firsts[i]) for i in order]
    if sum(sizes) != len(whole.rows):
        return None
    counts = [1, *(n for n in range(2, min(sizes) + 1) if all(size % n == 0 for size in sizes))]
    for count in counts:
        made = torch.cat([firsts[i].reshape(count, -1) for i in order], 1).reshape(-1)
        if torch.equal(made, whole.rows):
            return tuple(parts[i][0] for i in order), f"split per {count}".removesuffix(" per 1")
    return None


def _with_layers(lines: list[_Line]) -> list[_Line]:
    """The rules of all layers as one with `{layer}`, where their numbers are those of ours."""
    kinds: dict[tuple[str, ...], list[_Line]] = {}
    for line in lines:
        kinds.setdefault(tuple(_LAYER.sub("{layer}", path) for path in line.ours), []).append(line)
    found: list[_Line] = []
    for ours, some in kinds.items():
        numbers = [_LAYER.search(line.ours[0]) for line in some]
        patterns = {
            tuple(pattern)
            for line, number in zip(some, numbers, strict=True)
            if number is not None and len(some) > 1
            for pattern in [_numbered(some, line, number[0])]
        }
        if len(patterns) == 1 and len({line.steps for line in some}) == 1:
            found.append(_Line(patterns.pop(), ours, some[0].steps))
        else:
            found += some
    return found


def _numbered(some: list[_Line], line: _Line, number: str) -> list[str]:
    """Their names with `{layer}` in the place of the one number that is not the same in all layers."""
    found: list[str] = []
    for i, name in enumerate(line.theirs):
        every = [other.theirs[i].split(".") if i < len(other.theirs) else [] for other in some]
        parts = name.split(".")
        made = [
            "{layer}" if part == number and len({one[k] if k < len(one) else "" for one in every}) > 1 else part
            for k, part in enumerate(parts)
        ]
        found.append(".".join(made))
    return found


def _with_stars(lines: list[_Line]) -> list[_Line]:
    """A weight and its bias under one rule, `*`."""
    known = {(line.theirs, line.ours, line.steps): line for line in lines}
    done: set[tuple[tuple[str, ...], tuple[str, ...], str]] = set()
    found: list[_Line] = []
    for key, line in known.items():
        if key in done:
            continue
        twin = (
            tuple(_ended(name, "bias") for name in line.theirs),
            tuple(_ended(p, "bias") for p in line.ours),
            line.steps,
        )
        if all(name.endswith(".weight") for name in (*line.theirs, *line.ours)) and twin in known:
            done.add(twin)
            line = _Line(
                tuple(_ended(name, "*") for name in line.theirs), tuple(_ended(p, "*") for p in line.ours), line.steps
            )
        found.append(line)
    return found


def _ended(name: str, leaf: str) -> str:
    return f"{name.rpartition('.')[0]}.{leaf}"
