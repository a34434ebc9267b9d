"""Weights under other names: a small language that says how someone else's weights become a spec's, and back.

A map is a text file of rules, one a line:

    transformer.wte.weight                    -> E
    transformer.h.{layer}.ln_1.*              -> layers.{layer}.see.*
    transformer.h.{layer}.attn.c_attn.*       -> layers.{layer}.self.{Q, K, V}.* : transpose, split
    experts.{expert}.w1.weight                -> experts.gate.weight : stack expert

On the left their names, on the right ours. `{layer}` stands for a number, `*` for a part of a name without dots (often
`weight` or `bias`). `{Q, K, V}` are several names in this order: on both sides, for as many rules. What is done, on the
way from them to us, stands after the colon, in order:

    transpose        matrices are stored (in, out) there; vectors stay as they are
    split            theirs holds several of ours, one after the other along the first axis; `split per heads`: so for
                     each index of `heads`; `split per 4`: so in each of four equal blocks
    merge            several of theirs, one after the other along the first axis, are one of ours; also `per heads`
    stack expert     theirs are one for each index of `expert`, `{expert}` in the name; ours is one, that axis first
    shape [1, a, b]  theirs has the same elements in the same order, in this shape: our axes, products `a b`, numbers
    unpair key       along `key`, theirs has rotary pairs side by side (2 i, 2 i + 1), ours in halves (i, i + |key| / 2)
    pair key         the other way round

`or` before a rule: another way to make what earlier rules make; the first way for which all names are there is taken.

Four kinds of lines are no rules:

    use bert.map                                   # all the lines of that map, in the same project
    tie lm_head.weight = transformer.wte.weight    # a second name of theirs for one weight, unless the
                                                   # spec has a weight made of it; it may be absent
    ignore transformer.h.{layer}.attn.bias         # in their files, but no weight
    optional transformer.                          # their names may lack this beginning
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..backends.loading.load import WeightsError
from ..compiler.names.folders import Folders, Outside
from ..dsl.files import read

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_DEEPEST = 8  # maps that use maps
_SPREADS = ("split", "merge")  # one weight is several, or several are one
_STEPS = ("transpose", *_SPREADS, "stack", "shape", "unpair", "pair")


# -- the text ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Transform:
    """One thing that is done to weights: `kind` is one of the words above.

    axes: what it names; for `shape` a tuple of dimensions, each a tuple of axes and numbers.
    """

    kind: str
    axes: tuple[str, ...] = ()
    shape: tuple[tuple[str, ...], ...] = ()

    def __str__(self) -> str:
        if self.kind == "shape":
            return f"shape [{', '.join(' '.join(dim) for dim in self.shape)}]"
        return " ".join([self.kind, *(["per"] if self.kind in _SPREADS and self.axes else []), *self.axes])


@dataclass(frozen=True, slots=True)
class Rule:
    """`theirs -> ours : steps`, the braces with commas written out.

    location: its file and line.
    other: it began with `or`.
    """

    theirs: tuple[str, ...]
    ours: tuple[str, ...]
    steps: tuple[Transform, ...]
    location: str
    other: bool

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
        return Map.parse(read(path).text, str(path), Path(path).parent)

    @staticmethod
    def parse(text: str, name: str = "<map>", base: Path | None = None) -> Map:
        """The map in a string; `name` is what messages call it, `base` the folder of maps that it uses.

        As for `use` in a spec, nothing outside of the project is read: the nearest folder upwards of `base` that holds
        `.git` or `pyproject.toml`, else `base`. Raises WeightsError.
        """
        return Map._parse(text, name, base, Folders.of(base and base / "main.map", ()), 0)

    @staticmethod
    def _parse(text: str, name: str, base: Path | None, folders: Folders, depth: int) -> Map:
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
                    case ["tie", *_] if " = " in line:
                        alias, _, original = line.removeprefix("tie").partition("=")
                        ties += [(name, _pattern(original.strip())) for name in _spread(alias.strip())]
                    case ["use", file] if base is not None and depth < _DEEPEST:
                        path = folders.inside(base / file)
                        used = Map._parse(read(path, regular=True).text, str(path), path.parent, folders, depth + 1)
                        rules += used.rules
                        ties += used.ties
                        ignored += used.ignored
                        optional += used.optional
                    case ["use", file]:
                        raise ValueError(
                            f"cannot use {file}: " + ("maps use each other" if base else "in which folder?")
                        )
                    case ["ignore", pattern]:
                        ignored.append(_pattern(pattern))
                    case ["optional", prefix]:
                        optional.append(prefix)
                    case _:
                        rules += _rules(line, f"{Path(name).name}:{number}")
            except WeightsError:
                raise
            except Outside as away:
                raise WeightsError(
                    f"{name}:{number}: `{line}` leads out of the project {away.project}: copy that map into it"
                ) from None
            except (ValueError, OSError, RuntimeError) as wrong:  # RuntimeError: a circle of links
                raise WeightsError(f"{name}:{number}: {wrong}") from None
        if not rules:
            raise WeightsError(f"{name} has no rule `theirs -> ours`")
        return Map(name, tuple(rules), tuple(ties), tuple(ignored), tuple(optional))


def _rules(line: str, location: str) -> list[Rule]:
    """What one line says: one rule, or one for each pair of two lists. Raises ValueError."""
    other = line.startswith("or ")
    head, arrow, rest = line.removeprefix("or ").partition("->")
    if not arrow:
        raise ValueError("this is no rule: `theirs -> ours`, `tie a = b`, `ignore a` or `optional a.`")
    target, _, told = rest.partition(":")
    theirs, ours = _spread(head.strip()), _spread(target.strip())
    steps = tuple(_step(part) for part in re.split(r",(?![^\[]*\])", told) if part.strip())
    kinds = [step.kind for step in steps]
    for kind in (*_SPREADS, "stack", "transpose", "shape"):
        if kinds.count(kind) > 1:
            raise ValueError(f"`{kind}` stands here twice")
    if "shape" in kinds[:-1]:
        raise ValueError("`shape` must be the last")
    if len([kind for kind in kinds if kind in (*_SPREADS, "stack")]) > 1:
        raise ValueError("a rule has one of `split`, `merge` and `stack`")
    _same_places(theirs, ours, {step.axes[0] for step in steps if step.kind == "stack"})
    split, merge = (kind in kinds for kind in _SPREADS)
    if split or merge:
        if (len(ours) > 1) != split:
            raise ValueError("`split` has one name of theirs and several of ours, `{Q, K, V}`; `merge` the reverse")
        if (len(theirs) > 1) != merge:
            raise ValueError("`merge` has several names of theirs, `{q, k, v}`, and one of ours; `split` the reverse")
        return [Rule(theirs, ours, steps, location, other)]
    if len(theirs) != len(ours):
        raise ValueError(
            f"{len(theirs)} names of theirs and {len(ours)} of ours: `: split`, `: merge`, or as many of both"
        )
    return [Rule((their,), (our,), steps, location, other) for their, our in zip(theirs, ours, strict=True)]


def _same_places(theirs: tuple[str, ...], ours: tuple[str, ...], stacked: set[str]) -> None:
    """`{layer}` and `*` stand on both sides; what is stacked on the left alone. Raises ValueError."""
    held = [set(re.findall(rf"\{{{_NAME}\}}|\*", name)) for name in (*theirs, *ours)]
    made = {f"{{{axis}}}" for axis in stacked}
    if any(one - made != held[-1] for one in held) or not all(made <= one for one in held[: len(theirs)]):
        raise ValueError("`{name}` and `*` must be the same on both sides (but for what `stack` names)")


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


def _step(text: str) -> Transform:
    kind, *rest = text.split()
    names = all(re.fullmatch(_NAME, word) for word in rest)
    match kind, rest:
        case _, [] if kind in ("transpose", *_SPREADS):
            return Transform(kind)
        case _, ["per", axis] if kind in _SPREADS and (names or re.fullmatch("[1-9][0-9]{0,8}", axis)):
            return Transform(kind, (axis,))
        case (("stack" | "unpair" | "pair"), [axis]) if names:
            return Transform(kind, (axis,))
        case "shape", _:
            listed = re.fullmatch(r"\s*shape\s*\[([A-Za-z0-9_, ]*)\]\s*", text)
            if listed:
                return Transform(kind, shape=tuple(tuple(dim.split()) for dim in listed[1].split(",")))
    near = difflib.get_close_matches(kind, _STEPS, n=1)
    help = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(_STEPS)}"
    raise ValueError(f"`{text.strip()}` is nothing that can be done; {help}")


# -- names ---------------------------------------------------------------------------------------------------------


def matched(pattern: str, name: str) -> dict[str, str] | None:
    """What `{layer}` and `*` stand for, if the name fits."""
    found = _regex(pattern).fullmatch(name)
    return None if found is None else found.groupdict()


@cache
def _regex(pattern: str) -> re.Pattern[str]:
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
    return re.compile(regex)


def filled(pattern: str, values: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        return values["star"] if found[0] == "*" else values.get(f"{found[0][1:-1]}_", found[0])

    return re.sub(rf"\{{{_NAME}\}}|\*", value, pattern)


def in_full(map: Map, names: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """{a name as the rules write it: as it stands}, and the optional beginnings that these names lack."""
    known = list(names)
    bare = [prefix for prefix in map.optional if not any(name.startswith(prefix) for name in known)]
    patterns = [*map.ignored, *(theirs for rule in map.rules for theirs in rule.theirs)]

    def full(name: str) -> str:
        for prefix in bare:
            if any(matched(pattern, prefix + name) is not None for pattern in patterns):
                return prefix + name
        return name

    return {full(name): name for name in known}, bare


def ignored(map: Map, names: Iterable[str]) -> set[str]:
    """Those of the names that the map ignores."""
    full, _ = in_full(map, names)
    return {name for whole, name in full.items() if any(matched(one, whole) is not None for one in map.ignored)}
