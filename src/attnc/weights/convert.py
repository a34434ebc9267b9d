"""From someone else's weights to a spec's, and back, by a map."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.loading.load import WeightsError, is_real
from ..backends.loading.memory import as_array
from ..dsl.nested import from_json
from .files import Weights, load, save
from .maps import Map, Rule, Transform, filled, in_full, matched

if TYPE_CHECKING:
    from ..compiler.graph.inventory import WeightSpec
    from ..spec import Model

Array = np.ndarray[Any, np.dtype[Any]]


def convert(
    state_dict: Mapping[str, Any],
    map: Map | str | os.PathLike[str],
    model: Model,
    *,
    reverse: bool = False,
    like: Iterable[str] | None = None,
) -> Mapping[str, Array]:
    """Someone else's weights as the model's own, `{path: array}`; or, in `reverse`, the model's as someone else's.

    state_dict: {name: array or torch tensor}, all the weights of one side. Types stay as they are (torch's bfloat16 is
                that of ml_dtypes), and what `load` gave stays mapped.
    map:        a map or the path of one (`attnc.weights.maps` says what stands in it).
    like:       in reverse, the names that they had: where the map leaves a choice (`tie`, `optional`, `or`) it is made
                as there. Without it all second names and beginnings are given, and first rules win.

    Arrays are views where they can be: nothing but merged and stacked weights is copied. Raises WeightsError: one
    message that lists every weight that is missing, unexpected, of the wrong shape, no real number, or made by no rule.
    """
    read = map if isinstance(map, Map) else Map.read(map)
    given = {name: as_array(value) for name, value in state_dict.items()}
    problems: list[str] = []
    ways = _ways(read, model.weights, problems)
    made = _back(read, ways, given, model, problems, like) if reverse else _there(read, ways, given, problems)
    _raise(problems, read, model)
    return Weights(made, {}) if isinstance(state_dict, Weights) else made


def _raise(problems: list[str], map: Map, model: Model) -> None:
    if problems:
        count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
        raise WeightsError(f"{map.name}: {count} with the weights of `{model.name}`\n  " + "\n  ".join(problems))


def convert_shards(given: Weights, map: Map, model: Model, limit: int) -> Iterator[dict[str, Array]]:
    """Someone else's weights as the model's own, in parts of at most `limit` bytes, or of one rule's if it has more.

    Each part is made when it is asked for, so that no more than one need be in memory. Raises as `convert` does, for
    what is missing or unexpected before the first part, for a wrong shape at the end.
    """
    problems: list[str] = []
    full, links = _planned(map, _ways(map, model.weights, problems), given, problems)
    _raise(problems, map, model)
    yield from in_parts((_made(link, full, problems) for link in links), limit)
    _raise(problems, map, model)


def in_parts(made: Iterable[Iterable[tuple[str, Array]]], limit: int) -> Iterator[dict[str, Array]]:
    """Arrays by name, in parts of at most `limit` bytes; what comes together stays together."""
    part: dict[str, Array] = {}
    for some in made:
        arrays = dict(some)
        if part and sum(array.nbytes for array in (*part.values(), *arrays.values())) > limit:
            yield part
            part = {}
        part.update(arrays)
        del arrays
    yield part


def convert_file(
    map: str | os.PathLike[str],
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    model: Model,
    *,
    reverse: bool = False,
) -> None:
    """`convert` from file to file, without loss: bfloat16 stays, and the way back gives the names that there were.

    What the way back needs, their names and metadata, stands in our file's metadata. Raises as `load`, `convert` and
    `save` do.
    """
    given = load(source)
    if not reverse:
        kept = {"names": sorted(given), "metadata": given.metadata}
        metadata = {"attnc.model": model.name, "attnc.foreign": json.dumps(kept)}
        save(target, convert(given, map, model), metadata)
        return
    try:
        kept = from_json(given.metadata.get("attnc.foreign", "{}"))
        names, metadata = kept.get("names"), {str(k): str(v) for k, v in kept.get("metadata", {"format": "pt"}).items()}
        if names is not None and not all(isinstance(name, str) for name in names):
            raise ValueError
    except (ValueError, AttributeError, TypeError):
        raise WeightsError(f"{source}: its metadata `attnc.foreign` are not what `attnc convert` wrote") from None
    save(target, convert(given, map, model, reverse=True, like=names), metadata)


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """What one rule makes: these weights of theirs are those of ours."""

    theirs: tuple[str, ...]
    ours: tuple[str, ...]
    _link: _Link

    def of(self, given: Mapping[str, Array]) -> dict[str, Array]:
        """Ours by path, of theirs by name. Raises WeightsError."""
        problems: list[str] = []
        held = {full: given[name] for full, name in zip(self._link.theirs, self.theirs, strict=True)}
        made = dict(_made(self._link, held, problems))
        if problems:
            raise WeightsError(problems[0])
        return made


def made_of(shapes: Mapping[str, Array], map: Map, model: Model) -> list[Made]:
    """Which of theirs make which of ours, rule by rule. shapes: arrays of all of theirs. Raises as `convert` does."""
    problems: list[str] = []
    _, links = _planned(map, _ways(map, model.weights, problems), shapes, problems)
    _raise(problems, map, model)
    names, _ = in_full(map, shapes)
    return [
        Made(tuple(names.get(name, name) for name in link.theirs), tuple(spec.path for spec in link.ours), link)
        for link in links
    ]


def _there(map: Map, ways: _Ways, given: dict[str, Array], problems: list[str]) -> dict[str, Array]:
    """Theirs -> ours, in the order of the spec."""
    names: list[str] = []
    given, links = _planned(map, ways, given, names)
    found = {path: array for link in links for path, array in _made(link, given, problems)}
    problems += names
    return {path: found[path] for path in ways if path in found}


def _planned(
    map: Map, ways: _Ways, given: Mapping[str, Array], problems: list[str]
) -> tuple[dict[str, Array], list[_Link]]:
    """Theirs under their full names, and the rules that can be followed. What is missing or unexpected are problems."""
    names, _ = in_full(map, given)
    given = {full: given[name] for full, name in names.items()}
    ties = [
        (name, filled(original, values))
        for alias, original in map.ties
        for name in given
        if (values := matched(alias, name)) is not None
    ]
    links = _chosen(ways, {*given, *(original for _, original in ties)})
    needed = {name for link in links for name in link.theirs}
    for alias, original in ties:
        twin = None if alias in needed else given.pop(alias, None)
        if twin is not None and not _same(given.setdefault(original, twin), twin):
            problems.append(f"not tied: `{alias}` should be `{original}`, but they differ")
    unexpected = {
        name: array.shape
        for name, array in given.items()
        if name not in needed and not any(matched(pattern, name) is not None for pattern in map.ignored)
    }
    whole: list[_Link] = []
    for link in links:
        lost = [name for name in link.theirs if name not in given]
        wanted = " and ".join(str(spec) for spec in link.ours)
        problems += [f"missing: `{name}`, for {wanted}{_near(name, unexpected)}" for name in lost]
        if not lost:
            whole.append(link)
    problems += [f"unexpected: {_named(name)} {list(shape)}" for name, shape in unexpected.items()]
    return given, whole


def _made(link: _Link, given: Mapping[str, Array], problems: list[str]) -> list[tuple[str, Array]]:
    """What one rule makes: paths of ours with their arrays."""
    wanted = " and ".join(str(spec) for spec in link.ours)
    odd = [name for name in link.theirs if not is_real(given[name])]
    problems += [f"no real numbers: `{name}` is {given[name].dtype}, for {wanted}" for name in odd]
    if odd:
        return []
    try:
        parts = _forward(link, [given[name] for name in link.theirs])
    except _Misfit as wrong:
        shapes = ", ".join(f"`{name}` {list(given[name].shape)}" for name in link.theirs)
        problems.append(f"wrong shape: {shapes}, for {wanted}: {wrong}")
        return []
    return list(zip((spec.path for spec in link.ours), parts, strict=True))


def unconverted(
    given: Mapping[str, Array], map: Map, model: Model, like: Iterable[str] | None = None
) -> Iterator[list[tuple[str, Array]]]:
    """The model's own weights as someone else's, as `convert(reverse=True)` gives them, but for second names of tied
    ones: rule by rule, each made when it is asked for. Raises as `convert` does.
    """
    problems = _unlike(given, model)
    ways = _ways(map, model.weights, problems)
    _raise(problems, map, model)
    named = {} if like is None else in_full(map, like)[0]  # as they are without the beginnings that theirs lack
    for link in _chosen(ways, None if like is None else named):
        yield [(named.get(name, name), array) for name, array in _unmade(link, given, problems)]
        _raise(problems, map, model)


def _unlike(given: Mapping[str, Array], model: Model) -> list[str]:
    """What is missing, unexpected, of another shape or no real number among the model's own weights."""
    specs = model.weights
    problems = []
    unexpected = {name: array.shape for name, array in given.items() if name not in specs}
    for path, spec in specs.items():
        if path not in given:
            problems.append(f"missing: {spec}{_near(path, unexpected)}")
        elif given[path].shape != spec.shape:
            problems.append(f"wrong shape: {spec}, but given {list(given[path].shape)}")
        elif not is_real(given[path]):
            problems.append(f"no real numbers: {spec}, but given {given[path].dtype}")
    return problems + [f"unexpected: {_named(name)} {list(shape)}" for name, shape in unexpected.items()]


def _unmade(link: _Link, given: Mapping[str, Array], problems: list[str]) -> list[tuple[str, Array]]:
    """What one rule gives back: names of theirs with their arrays."""
    try:
        parts = _backward(link, [given[spec.path] for spec in link.ours])
    except _Misfit as wrong:
        problems.append(f"wrong shape: {' and '.join(str(spec) for spec in link.ours)}: {wrong}")
        return []
    return list(zip(link.theirs, parts, strict=True))


def _back(
    map: Map, ways: _Ways, given: dict[str, Array], model: Model, problems: list[str], like: Iterable[str] | None
) -> dict[str, Array]:
    """Ours -> theirs, in the order of the spec."""
    problems += _unlike(given, model)
    if problems:
        return {}
    wanted, bare = in_full(map, like) if like is not None else (None, [])
    links = _chosen(ways, wanted)
    found = {name: array for link in links for name, array in _unmade(link, given, problems)}
    for pattern, tied in map.ties:
        for original in list(found):
            values = matched(tied, original)
            alias = pattern if values is None else filled(pattern, values)
            if values is not None and alias not in found and (wanted is None or alias in wanted):
                found[alias] = found[original]
    for prefix in bare:
        found = {name.removeprefix(prefix): array for name, array in found.items()}
    return found


def _same(a: Array, b: Array) -> bool:
    """Bit by bit, so that NaN equals itself."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    one, other = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (a, b))
    return bool(np.array_equal(one, other))


def _named(name: str) -> str:
    """A name from a file, fit for a terminal."""
    return f"`{name}`" if name.isprintable() else ascii(name)


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; near it: {_named(near[0])}" if near else ""


# -- which rule makes which weight -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Link:
    """One rule for one layer: these weights of theirs are those of ours."""

    rule: Rule
    theirs: tuple[str, ...]
    ours: tuple[WeightSpec, ...]


_Ways = dict[str, list[_Link]]
"""For each weight of ours the rules that can make it, in the order of the map."""


def _ways(map: Map, specs: Mapping[str, WeightSpec], problems: list[str]) -> _Ways:
    """Every rule for every layer of the model. What no rule makes, or two without `or`, are problems."""
    ways: _Ways = {path: [] for path in specs}
    for rule in map.rules:
        for path, spec in specs.items():
            values = matched(rule.ours[0], path)
            if values is None:
                continue
            ours = [filled(pattern, values) for pattern in rule.ours]
            lost = [name for name in ours if name not in specs]
            problems += [f"{rule.location} makes `{name}`, which the spec has not" for name in lost]
            theirs = tuple(filled(pattern, values) for pattern in rule.theirs)
            if rule.stacked is not None:
                count = _extents(spec).get(rule.stacked)
                if count is None:
                    problems.append(f"{rule.location} stacks `{rule.stacked}`, which is no axis of {spec}")
                    continue
                theirs = tuple(filled(theirs[0], {f"{rule.stacked}_": str(i)}) for i in range(count))
            if lost:
                continue
            link = _Link(rule, theirs, tuple(specs[name] for name in ours))
            for name in ours:
                if ways[name] and not rule.other:
                    problems.append(
                        f"{ways[name][-1].rule.location} and {rule.location} both make `{name}`, without `or`"
                    )
                ways[name].append(link)
    patterns = [pattern for rule in map.rules for pattern in rule.ours]
    problems += [
        f"no rule of the map makes {specs[path]}{_near(path, patterns)}" for path, links in ways.items() if not links
    ]
    return ways


def _chosen(ways: _Ways, known: Container[str] | None) -> list[_Link]:
    """For each weight the first rule that has all its names among the known ones, else the first; each rule once."""
    chosen: list[_Link] = []
    for links in ways.values():
        if links:
            whole = (link for link in links if known is None or all(name in known for name in link.theirs))
            chosen.append(next(whole, links[0]))
    return list(dict.fromkeys(chosen))


def _extents(spec: WeightSpec) -> dict[str, int]:
    """The sizes of the axes of a stored weight; a bounded width counts at its bound."""
    return {axis.name: axis.extent if axis.extent is not None else axis.bound or 0 for dim in spec.dims for axis in dim}


# -- arrays --------------------------------------------------------------------------------------------------------


class _Misfit(Exception):
    """Why an array cannot be what the map says."""


def _forward(link: _Link, parts: list[Array]) -> list[Array]:
    """Theirs -> ours. Raises _Misfit."""
    for step in link.rule.steps:
        match step.kind:
            case "split":
                parts = _cut(parts[0], [spec.shape for spec in link.ours], step, link.ours[0])
            case "merge":
                parts = [_joined(parts, step, link.ours[0])]
            case "stack":
                if len({part.shape for part in parts}) != 1:
                    raise _Misfit(f"{len(parts)} of several shapes")
                parts = [np.stack(parts)]
            case _:
                parts = [_one(part, step, _spec(link, i, parts), False) for i, part in enumerate(parts)]
    for part, spec in zip(parts, link.ours, strict=True):
        if part.shape != spec.shape:
            raise _Misfit(f"it would be {list(part.shape)}")
    return parts


def _backward(link: _Link, parts: list[Array]) -> list[Array]:
    """Ours -> theirs: the steps undone, the last one first. Raises _Misfit."""
    for step in reversed(link.rule.steps):
        match step.kind:
            case "split":
                parts = [_joined(parts, step, link.ours[0])]
            case "merge":
                whole, count = link.ours[0], len(link.theirs)
                along = 1 if _alone(step, whole) else 0
                if whole.shape[along] % count:
                    raise _Misfit(f"it does not divide into {count} equal parts")
                shape = tuple(size // count if i == along else size for i, size in enumerate(whole.shape))
                parts = _cut(parts[0], [shape] * count, step, whole)
            case "stack":
                parts = list(parts[0])
            case _:
                parts = [_one(part, step, _spec(link, i, parts), True) for i, part in enumerate(parts)]
    return parts


def _spec(link: _Link, i: int, parts: Sequence[Array]) -> WeightSpec:
    return link.ours[i] if len(parts) == len(link.ours) else link.ours[0]


def _alone(step: Transform, spec: WeightSpec) -> bool:
    """Whether the axis of `split per axis` is a dimension of its own, as the experts of `linear[expert: a -> b]`."""
    return bool(step.axes) and tuple(axis.name for axis in spec.dims[0]) == step.axes


def _grid(array: Array, step: Transform, spec: WeightSpec) -> Array:
    """[axis, rows of each, rest] of what is to be cut or joined `per axis`."""
    (each,) = step.axes
    first = spec.dims[0][0].name if spec.dims and spec.dims[0] else ""
    if first != each and not each.isdigit():
        raise _Misfit(f"`{step}` needs `{each}` as its first axis")
    count = int(each) if each.isdigit() else _extents(spec)[first]
    if array.ndim < 1 or array.shape[0] % count:
        named = "" if each.isdigit() else f"{each} = "
        raise _Misfit(f"its first axis should divide by {named}{count}")
    if _alone(step, spec):
        return array if array.ndim > 1 else array[:, None]
    return array.reshape(count, array.shape[0] // count, *array.shape[1:])


def _joined(parts: Sequence[Array], step: Transform, spec: WeightSpec) -> Array:
    try:
        if not step.axes:
            return np.concatenate(parts)
        joined = np.concatenate([_grid(part, step, spec) for part in parts], axis=1)
    except ValueError:
        raise _Misfit(f"{' and '.join(str(list(part.shape)) for part in parts)} do not join") from None
    return joined if _alone(step, spec) else joined.reshape(-1, *joined.shape[2:])


def _cut(array: Array, shapes: Sequence[tuple[int, ...]], step: Transform, spec: WeightSpec) -> list[Array]:
    """The parts of these shapes, that stand one after the other along the first axis, or so for each index of one."""
    alone = _alone(step, spec)
    along = 1 if alone else 0
    if array.ndim <= along:
        raise _Misfit(f"it is {list(array.shape)}, which cannot be split")
    total = sum(shape[along] for shape in shapes)
    if array.shape[along] != total:
        raise _Misfit(f"it should have {total} where it has {array.shape[along]}")
    grid = _grid(array, step, spec) if step.axes else array[None]
    rows = [shape[along] if alone else shape[0] // grid.shape[0] for shape in shapes]
    cuts = np.split(grid, list(np.cumsum(rows)[:-1]), axis=1)
    return cuts if alone else [cut.reshape(-1, *cut.shape[2:]) for cut in cuts]


def _one(array: Array, step: Transform, spec: WeightSpec, back: bool) -> Array:
    """The steps that make one array of one."""
    sizes = _extents(spec)
    if step.kind == "transpose":
        return array.swapaxes(-1, -2) if array.ndim > 1 else array
    if step.kind == "shape":
        unknown = [name for dim in step.shape for name in dim if not name.isdigit() and name not in sizes]
        if unknown:
            raise _Misfit(f"the map's `{step}` names `{unknown[0]}`, which is no axis of it")
        theirs = tuple(prod(int(name) if name.isdigit() else sizes[name] for name in dim) for dim in step.shape)
        if prod(theirs) != prod(spec.shape):
            raise _Misfit(f"the map's `{step}` is {list(theirs)}, which has another number of elements")
        if not back and array.shape != theirs:
            raise _Misfit(f"the map's `{step}` is {list(theirs)}")
        return array.reshape(theirs if back else spec.shape)
    (axis,) = step.axes
    place = next((i for i, dim in enumerate(spec.dims) if any(a.name == axis for a in dim)), None)
    if place is None or sizes[axis] % 2:
        raise _Misfit(f"`{step}` needs an even axis `{axis}`")
    if array.ndim <= place or array.shape[place] != spec.shape[place]:
        raise _Misfit(f"`{step}` needs {spec.shape[place]} where it has {list(array.shape)}")
    names = [a.name for a in spec.dims[place]]
    after = prod(sizes[name] for name in names[names.index(axis) + 1 :])
    side_by_side = (step.kind == "unpair") != back
    pair = (sizes[axis] // 2, 2) if side_by_side else (2, sizes[axis] // 2)
    shape = array.shape
    split = array.reshape(*shape[:place], -1, *pair, after, *shape[place + 1 :])
    return split.swapaxes(place + 1, place + 2).reshape(shape)
