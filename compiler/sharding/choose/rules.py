"""Which axes of a model each axis of a mesh splits, where nobody says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...base.names import did_you_mean, listed
from ...graph.nodes import Graph
from ..experts.dispatched import dispatched
from ..mesh import BATCH, PIPE, CannotDivide, Mesh, mesh_of
from .quickest import best_splits
from .roles import axes_named, grouped, input_widths, picked

KNOWN = {"data": "the batch", "model": "heads, inner layers, vocabularies", "expert": "experts", "context": "widths"}


class NoSplit(CannotDivide):
    """A mesh axis of which nobody says what it splits, or that has nothing to split."""


def mesh_over(graph: Graph, sizes: Mapping[str, int], splits: Mapping[str, Sequence[str]]) -> Mesh:
    """The mesh of these sizes, which splits what is named, and else what is best for the model.

    It hangs on the model and the mesh alone: free widths are at their bounds, else at 8,192. So all that
    divides a model divides it alike: what plans, draws, compiles and runs it. Raises NoSplit.
    """
    for name in splits:
        if name not in sizes:
            raise NoSplit(f"there is no mesh axis `{name}` to split {listed(splits[name])}: there are {listed(sizes)}")
    _known(graph, splits)
    return mesh_of(sizes, splits_of(graph, sizes, splits))


def _known(graph: Graph, splits: Mapping[str, Sequence[str]]) -> None:
    names = {*axes_named(graph), BATCH}
    for mesh, axes in splits.items():
        for name in axes:
            if name not in names:
                near = did_you_mean(name, names)
                raise NoSplit(f"`{mesh}` splits `{name}`, but no axis is named so{near and ': ' + near}")


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
            raise NoSplit(
                f"what does the mesh axis `{name}` split? Say {{}}; {listed([*KNOWN, PIPE])} are known",
                (name, ["AXIS", "AXIS"]),
            )
        elif size == 1:
            found[name] = ()
        elif name == "context":
            found[name] = _some(name, input_widths(graph), "no input has a width")
        elif name == "expert":
            experts = _some(name, grouped(graph), "no map has weights of its own for each item of an axis")
            # rows go to the experts that they picked; where all are computed, each device does its own for all items
            found[name] = (BATCH, *experts) if picked(dispatched(graph)) else experts
        if size == 1:
            found[name] = tuple(axis for axis in found.get(name, ()) if axis == BATCH)
    if "model" in sizes and "model" not in found:
        taken = {axis for names in found.values() for axis in names}
        found["model"] = _some(
            "model", best_splits(graph, sizes["model"], taken), "no axis of its weights divides over it"
        )
    return {name: found[name] for name in sizes}


def _some(name: str, axes: Iterable[str], nothing: str) -> tuple[str, ...]:
    names = tuple(axes)
    if not names:
        raise NoSplit(f"the mesh axis `{name}` has nothing to split: {nothing}")
    return names
