"""Which axes of a model each axis of a mesh splits, where nobody says so."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ...base.names import did_you_mean, listed
from ...graph.nodes import Graph
from ...sizes.axes import Axis
from ..experts.dispatched import dispatched
from ..mesh import BATCH, PIPE, CannotDivide, Mesh, mesh_of
from .quickest import best_splits
from .roles import axes_named, free_depths, grouped, input_widths, picked, with_sizes

KNOWN = {"data": "the batch", "model": "heads, inner layers, vocabularies", "expert": "experts", "context": "widths"}


class NoSplit(CannotDivide):
    """A mesh axis of which nobody says what it splits, or that has nothing to split."""


def mesh_over(graph: Graph, sizes: Mapping[str, int], splits: Mapping[str, Sequence[str]]) -> Mesh:
    """The mesh of these sizes, which splits what is named, and else what is best for the model.

    It hangs on the model and the mesh alone: free widths are at their bounds, else at 8,192. So all that
    divides a model divides it alike: what plans, draws, compiles and runs it. Raises NoSplit.
    """
    require_known(graph, sizes, splits)
    return mesh_of(sizes, splits_of(graph, sizes, splits))


def require_known(graph: Graph, mesh: Collection[str], splits: Mapping[str, Sequence[str]]) -> None:
    """Raises NoSplit unless each axis of the mesh that splits is one of these, and what it splits is in the model."""
    names = axes_named(graph) if splits else {}
    for one, axes in splits.items():
        if isinstance(axes, str):
            raise NoSplit(f"`{one}` splits a list of axes: {{}}", (one, axes.split(",")))
        if one not in mesh:
            there = did_you_mean(one, mesh) or (f"the mesh has {listed(mesh)}" if mesh else "the mesh has no axes")
            raise NoSplit(f"there is no mesh axis `{one}` to split {listed(axes)}: {there}")
        for name in axes:
            if name not in names and name != BATCH:
                near = did_you_mean(name, [*names, BATCH]) or f"there are the batch, {with_sizes(names)}"
                raise NoSplit(f"`{one}` splits `{name}`, which no value and no weight of the model has: {near}")


def splits_of(graph: Graph, sizes: Mapping[str, int], given: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """For each mesh axis the names of the axes that it splits. given: those that somebody named. One device along an
    axis splits nothing, but for the batch. Raises NoSplit.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, size in sizes.items():
        if name == PIPE and name in given:
            raise NoSplit("`pipe` splits no axis: its devices have stages, cut between passes of repeats")
        if name == PIPE:
            found[name] = ()
        elif name in given:
            found[name] = tuple(given[name])
            if BATCH in found[name][1:]:
                others = [axis for axis in found[name] if axis != BATCH]
                raise NoSplit(f"`{name}` splits the batch, which comes first: {{}}", (name, [BATCH, *others]))
        elif name == "data":
            found[name] = (BATCH,)
        elif name not in KNOWN:
            near = did_you_mean(name, [*KNOWN, PIPE])
            say = f"{near.capitalize()} Or say" if near else "Say"
            raise NoSplit(
                f"what does the mesh axis `{name}` split? {say} {{}}; {listed([*KNOWN, PIPE])} are known",
                (name, ["AXIS", "AXIS"]),
            )
        elif size == 1:
            found[name] = ()
        elif name == "context":
            axes = {axis.name: axis for entry in graph.inputs for axis in entry.value.type.axes}
            found[name] = _some(name, input_widths(graph), f"no input has a width: they have {_there(axes)}")
        elif name == "expert":
            nothing = "no map has weights of its own for each item of an axis: weights have"
            experts = _some(name, grouped(graph), f"{nothing} {_there(free_depths(graph, set()))}")
            # rows go to the experts that they picked; where all are computed, each device does its own for all items
            found[name] = (BATCH, *experts) if picked(dispatched(graph)) else experts
        if size == 1:
            found[name] = tuple(axis for axis in found.get(name, ()) if axis == BATCH)
    if "model" in sizes and "model" not in found:
        taken = {axis for names in found.values() for axis in names}
        nothing = _undivided(sizes["model"], free_depths(graph, taken))
        found["model"] = _some("model", best_splits(graph, sizes["model"], taken), nothing)
    return {name: found[name] for name in sizes}


def _some(name: str, axes: Iterable[str], nothing: str) -> tuple[str, ...]:
    names = tuple(axes)
    if not names:
        raise NoSplit(f"the mesh axis `{name}` has nothing to split: {nothing}")
    return names


def _there(axes: Mapping[str, Axis]) -> str:
    return with_sizes(axes) or "no axis"


def _undivided(devices: int, depths: Mapping[str, Axis]) -> str:
    """What to say where so many devices divide none of these depths of weights."""
    sizes = {axis.extent for axis in depths.values()}
    would = [f"{n}" for n in range(2, 4097) if any(size and size % n == 0 for size in sizes)][:8]
    able = f"{', '.join(would)} would divide one of them" if would else "nothing would"
    return f"{devices:,} devices do not divide {with_sizes(depths) or 'what is left of weights'}: {able}"
