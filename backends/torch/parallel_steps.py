"""How a model decodes that is divided over a mesh: the graphs of its decoding, divided as its own is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...compiler.base.names import listed
from ...compiler.decoding import Decoding
from ...compiler.graph.nodes import Graph
from ...compiler.pipeline import Pass
from ...compiler.sharding.choose import input_widths
from ...compiler.sharding.mesh import Mesh
from ...compiler.sharding.spread import GraphSpread, spread
from ...compiler.sharding.weights import placed_weights
from ..plan.lower import stepping


def divided_steps(found: GraphSpread, graph: Graph, passes: Sequence[Pass]) -> Callable[[Graph], Decoding]:
    """How the model decodes on one device. found: of the graph; given the model of one device as it is lowered."""

    def divided(whole: Decoding) -> Decoding:
        assert whole.prepare is not None and whole.step is not None and whole.time is not None
        mesh = found.grown.places.mesh
        items = {whole.time.name, *input_widths(graph)}
        alone = [axis.name for axis in mesh.axes if axis.splits and not {*axis.splits} - items]
        if alone:
            return _without(whole, _over_items(graph, mesh, alone))
        # Steps have few items: each device has all of them, and its part of what else is split.
        of_steps = Mesh(
            tuple(replace(axis, splits=tuple(s for s in axis.splits if s not in items)) for axis in mesh.axes)
        )
        parts = found.grown.places.parts
        prepare, step = (spread(each, of_steps, beside=parts) for each in (whole.prepare, whole.step))
        lies = placed_weights(found)
        for path, weight in (*placed_weights(prepare).items(), *placed_weights(step).items()):
            if path not in lies or weight.place != lies[path].place:
                return _without(
                    whole, f"`{graph.name}` does not decode on this mesh, which splits `{path}` by its items"
                )
        return replace(whole, prepare=prepare.graph, step=step.graph)

    return lambda lowered: stepping(graph, lowered, passes, divided)


def _over_items(graph: Graph, mesh: Mesh, alone: Sequence[str]) -> str:
    """Why a model does not decode on a mesh along some axes of which devices have parts of the sequence alone."""
    left = [f'"{axis.name}"' for axis in mesh.axes if axis.name not in alone]
    write = f"model.parallelize(mesh[{', '.join(left)}])" if left else "model.torch(..)"
    return (
        f"`{graph.name}` does not decode along {listed(alone)} of this mesh, which splits sequences alone, and a step "
        f"has one item: make another net to decode with, {write}"
    )


def no_stage_decodes(graph: Graph) -> str:
    """Why stages of a pipeline do not decode."""
    return (
        f"`{graph.name}` does not decode in stages: each would wait for all others at each item: make another net to "
        'decode with, on a mesh without `pipe`: model.parallelize(mesh["data", "model"])'
    )


def _without(whole: Decoding, reason: str) -> Decoding:
    return replace(whole, prepare=None, step=None, caches=(), reason=reason)
