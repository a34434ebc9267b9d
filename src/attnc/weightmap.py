"""Weights under other names: a small language that says how someone else's weights become a spec's, and back.

A map is a text file of rules, one a line:

    transformer.wte.weight                    -> E
    transformer.h.{layer}.ln_1.*              -> layers.{layer}.see.*
    transformer.h.{layer}.attn.c_attn.*       -> layers.{layer}.self.{Q, K, V}.* : transpose, split
    experts.{expert}.w1.weight                -> experts.gate.weight : stack expert

On the left their names, on the right ours. `{layer}` stands for a number, `*` for a part of a name without dots (often
`weight` or `bias`), `{Q, K, V}` for several names in this order. What is done, on the way from them to us, stands after
the colon, in order:

    transpose        matrices are stored (in, out) there; vectors stay as they are
    split            theirs holds several of ours, one after the other along the first axis; `split per heads`: so for
                     each index of `heads`
    merge            several of theirs, one after the other along the first axis, are one of ours; also `per heads`
    stack expert     theirs are one for each index of `expert`, `{expert}` in the name; ours is one, that axis first
    shape [1, a, b]  theirs has the same elements in the same order, in this shape: our axes, products `a b`, numbers
    unpair key       along `key`, theirs has rotary pairs side by side (2 i, 2 i + 1), ours in halves (i, i + |key| / 2)
    pair key         the other way round

Three kinds of lines are no rules:

    tie lm_head.weight = transformer.wte.weight    # a second name of theirs for one weight; it may be absent
    ignore transformer.h.{layer}.attn.bias         # in their files, but no weight
    optional transformer.                          # their names may lack this beginning
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .backends.load import WeightsError

if TYPE_CHECKING:
    from .compiler.inventory import WeightSpec
    from .spec import Model

Array = np.ndarray[Any, np.dtype[Any]]

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_STEPS = ("transpose", "split", "merge", "stack", "shape", "unpair", "pair")


# -- the text ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is done to weights: `kind` is one of the words above.

    axes: what it names; for `shape` a tuple of dimensions, each a tuple of axes and numbers.
    """

    kind: str
    axes: tuple[str, ...] = ()
    shape: tuple[tuple[str, ...], ...] = ()

    def __str__(self) -> str:
        if self.kind == "shape":
            return f"shape [{', '.join(' '.join(dim) for dim in self.shape)}]"
        return " ".join([self.kind, *(["per"] if self.kind in ("split", "merge") and self.axes else []), *self.axes])


@dataclass(frozen=True, slots=True)
class Rule:
    """`theirs -> ours : steps`, the braces with commas written out."""

    theirs: tuple[str, ...]
    ours: tuple[str, ...]
    steps: tuple[Step, ...]
    line: int

    @property
    def stacked(self) -> str | None:
        """The axis that `stack` makes."""
        return next((step.axes[0] for step in self.steps if step.kind == "stack"), None)


@dataclass(frozen=True, slots=True)
class Map:
    """A map, read: see this module's head for the language."""

    name: str
    rules: tuple[Rule, ...]
    ties: tuple[tuple[str, str], ...]
    ignored: tuple[str, ...]
    optional: tuple[str, ...]

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Map:
        """The map in a file. Raises WeightsError, naming the line, if it is wrong; OSError if it cannot be read."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise WeightsError(f"{path} is not text (UTF-8)") from None
        return Map.parse(text, str(path))

    @staticmethod
    def parse(text: str, name: str = "<map>") -> Map:
        """The map in a string; `name` is what messages call it. Raises WeightsError."""
        rules: list[Rule] = []
        ties: list[tuple[str, str]] = []
        ignored: list[str] = []
        optional: list[str] = []
        for number, full in enumerate(text.splitlines(), 1):
            line = full.partition("#")[0].strip()
            try:
                match line.split():
                    case []:
                        pass
                    case ["tie", alias, "=", original]:
                        ties.append((_pattern(alias), _pattern(original)))
                    case ["ignore", pattern]:
                        ignored.append(_pattern(pattern))
                    case ["optional", prefix]:
                        optional.append(prefix)
                    case _:
                        rules.append(_rule(line, number))
            except ValueError as wrong:
                raise WeightsError(f"{name}:{number}: {wrong}") from None
        if not rules:
            raise WeightsError(f"{name} has no rule `theirs -> ours`")
        return Map(name, tuple(rules), tuple(ties), tuple(ignored), tuple(optional))

    def omitted(self, names: Iterable[str]) -> tuple[str, ...]:
        """Which optional beginnings and second names these names of theirs do without: to go back to just them."""
        known = list(names)
        bare = tuple(prefix for prefix in self.optional if not any(name.startswith(prefix) for name in known))
        full = {_with_prefix(self, name, bare) for name in known}
        return bare + tuple(alias for alias, _ in self.ties if not any(_match(alias, name) is not None for name in full))


def _rule(line: str, number: int) -> Rule:
    head, arrow, rest = line.partition("->")
    if not arrow:
        raise ValueError("this is no rule: `theirs -> ours`, `tie a = b`, `ignore a` or `optional a.`")
    target, _, told = rest.partition(":")
    theirs, ours = _spread(head.strip()), _spread(target.strip())
    steps = tuple(_step(part) for part in re.split(r",(?![^\[]*\])", told) if part.strip())
    kinds = [step.kind for step in steps]
    for kind in ("split", "merge", "stack", "transpose", "shape"):
        if kinds.count(kind) > 1:
            raise ValueError(f"`{kind}` stands here twice")
    if len([kind for kind in kinds if kind in ("split", "merge", "stack")]) > 1:
        raise ValueError("a rule has one of `split`, `merge` and `stack`")
    if (len(ours) > 1) != ("split" in kinds):
        raise ValueError("several names of ours need `split`, and `split` needs several, `{Q, K, V}`")
    if (len(theirs) > 1) != ("merge" in kinds):
        raise ValueError("several names of theirs need `merge`, and `merge` needs several, `{q, k, v}`")
    held = [set(re.findall(rf"\{{({_NAME})\}}|(\*)", name)) for name in (*theirs, *ours)]
    flat = [{number or star for number, star in one} for one in held]
    stacked = {step.axes[0] for step in steps if step.kind == "stack"}
    if any(one - stacked != flat[-1] for one in flat) or not all(stacked <= one for one in flat[: len(theirs)]):
        raise ValueError("`{name}` and `*` must be the same on both sides (but for what `stack` names)")
    return Rule(theirs, ours, steps, number)


def _spread(text: str) -> tuple[str, ...]:
    """`self.{Q, K}.*` -> `self.Q.*`, `self.K.*`; at most one such list."""
    found = re.search(r"\{([^{}]*,[^{}]*)\}", text)
    if found is None:
        return (_pattern(text),)
    return tuple(_pattern(text[: found.start()] + part.strip() + text[found.end() :]) for part in found[1].split(","))


def _pattern(text: str) -> str:
    if not re.fullmatch(rf"(?:[A-Za-z0-9_.\-/]|\*|\{{{_NAME}\}})+", text):
        raise ValueError(f"`{text}` is not a name of weights")
    if text.count("*") > 1:
        raise ValueError(f"`{text}` has more than one `*`")
    return text


def _step(text: str) -> Step:
    kind, *rest = text.split()
    names = all(re.fullmatch(_NAME, word) for word in rest)
    match kind, rest:
        case ("transpose" | "split" | "merge"), []:
            return Step(kind)
        case ("split" | "merge"), ["per", axis] if names:
            return Step(kind, (axis,))
        case ("stack" | "unpair" | "pair"), [axis] if names:
            return Step(kind, (axis,))
        case "shape", _:
            listed = re.fullmatch(r"\s*shape\s*\[([A-Za-z0-9_, ]*)\]\s*", text)
            if listed:
                return Step(kind, shape=tuple(tuple(dim.split()) for dim in listed[1].split(",")))
    near = difflib.get_close_matches(kind, _STEPS, n=1)
    help = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(_STEPS)}"
    raise ValueError(f"`{text.strip()}` is nothing that can be done; {help}")


# -- names ---------------------------------------------------------------------------------------------------------


def _match(pattern: str, name: str) -> dict[str, str] | None:
    """What `{layer}` and `*` stand for, if the name fits."""
    parts = re.split(rf"(\{{{_NAME}\}}|\*)", pattern)
    regex, seen = "", set()
    for part in parts:
        if part == "*":
            regex += r"(?P<star>[^.]+)"
        elif part.startswith("{"):
            regex += f"(?P={part[1:-1]}_)" if part in seen else f"(?P<{part[1:-1]}_>[0-9]+)"
            seen.add(part)
        else:
            regex += re.escape(part)
    found = re.fullmatch(regex, name)
    return None if found is None else found.groupdict()


def _fill(pattern: str, values: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        return values["star"] if found[0] == "*" else values.get(f"{found[0][1:-1]}_", found[0])

    return re.sub(rf"\{{{_NAME}\}}|\*", value, pattern)


def _with_prefix(map: Map, name: str, bare: Sequence[str]) -> str:
    """A name without an optional beginning as the rules write it."""
    for prefix in bare:
        for rule in map.rules:
            if any(_match(theirs, prefix + name) is not None for theirs in rule.theirs):
                return prefix + name
        if any(_match(pattern, prefix + name) is not None for pattern in map.ignored):
            return prefix + name
    return name


# -- what becomes of what ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Link:
    """One rule for one layer: these weights of theirs are those of ours."""

    rule: Rule
    theirs: tuple[str, ...]
    ours: tuple[WeightSpec, ...]


def _links(map: Map, specs: Mapping[str, WeightSpec], problems: list[str]) -> list[_Link]:
    """Every rule for every layer of the model. Weights of ours that no rule or several rules make are problems."""
    links: list[_Link] = []
    made: dict[str, int] = {}
    for rule in map.rules:
        for path in specs:
            values = _match(rule.ours[0], path)
            if values is None:
                continue
            ours = [_fill(pattern, values) for pattern in rule.ours]
            lost = [name for name in ours if name not in specs]
            if lost:
                problems.append(f"line {rule.line} of the map makes `{lost[0]}` beside `{path}`, but the spec has none")
                continue
            for name in ours:
                if made.setdefault(name, rule.line) != rule.line:
                    problems.append(f"lines {made[name]} and {rule.line} of the map both make `{name}`")
            theirs = tuple(_fill(pattern, values) for pattern in rule.theirs)
            if rule.stacked is not None:
                count = _extents(specs[path]).get(rule.stacked)
                if count is None:
                    problems.append(f"line {rule.line} of the map: `{path}` has no axis `{rule.stacked}`")
                    continue
                theirs = tuple(_fill(theirs[0], {f"{rule.stacked}_": str(i)}) for i in range(count))
            links.append(_Link(rule, theirs, tuple(specs[name] for name in ours)))
    for path, spec in specs.items():
        if path not in made and not any(path == spec.path for link in links for spec in link.ours):
            problems.append(f"no rule of the map makes {spec}{_near(path, [n for r in map.rules for n in r.ours])}")
    return links


def _extents(spec: WeightSpec) -> dict[str, int]:
    return {axis.name: axis.extent or axis.bound or 0 for dim in spec.dims for axis in dim}


def _near(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; near it: `{near[0]}`" if near else ""


# -- arrays --------------------------------------------------------------------------------------------------------


class _Misfit(Exception):
    """What is wrong with the shapes of one link."""


def _forward(link: _Link, parts: list[Array]) -> list[Array]:
    """Theirs -> ours. Raises _Misfit."""
    for step in link.rule.steps:
        if step.kind == "split":
            parts = _cut(parts[0], _rows(link, step), step)
        elif step.kind == "merge":
            parts = [_joined(parts, step, link)]
        elif step.kind == "stack":
            if len({part.shape for part in parts}) != 1:
                raise _Misfit("theirs have several shapes")
            parts = [np.stack(parts)]
        else:
            parts = [_one(part, step, link, True) for part in parts]
    for part, spec in zip(parts, link.ours, strict=True):
        if part.shape != spec.shape:
            raise _Misfit(f"{spec} would get {list(part.shape)}")
    return parts


def _backward(link: _Link, parts: list[Array]) -> list[Array]:
    """Ours -> theirs: the steps undone, from the last."""
    for step in reversed(link.rule.steps):
        if step.kind == "split":
            parts = [_joined(parts, step, link)]
        elif step.kind == "merge":
            count = len(link.theirs)
            if parts[0].shape[0] % count:
                raise _Misfit(f"the first axis of {link.ours[0]} does not divide into {count}")
            parts = _cut(parts[0], [parts[0].shape[0] // count] * count, step, link)
        elif step.kind == "stack":
            parts = list(parts[0])
        else:
            parts = [_one(part, step, link, False) for part in parts]
    return parts
