"""The shape of what stages send one another, from those of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...graph.nodes import Graph
from ...graph.values import Value
from ...sizes.arithmetic import replaced
from ...sizes.axes import Axis, ConstOf, Literal, SizeOf, Static, evaluate
from ..mesh import Mesh
from ..placement import BATCH_AXIS, claimed, loops, placed

Shapes = Mapping[str, Sequence[int]]


def shape_of(value: Value, root: Graph, mesh: Mesh) -> Callable[[Shapes], tuple[int, ...]]:
    """Gives, by the shapes of inputs of the model, what of a value a device of the mesh has, without the batch.

    It raises ValueError for a width that follows from none of these inputs.
    """
    place = placed(loops(value), claimed([*root.axes, BATCH_AXIS], mesh), mesh)

    def shape(shapes: Shapes) -> tuple[int, ...]:
        known: dict[int, int] = {}
        for entry in root.inputs:
            axes = entry.value.type.axes
            if axes and entry.name in shapes:
                sizes = shapes[entry.name][-len(axes) :]
                known.update({axis.family: size for axis, size in zip(axes, sizes, strict=True)})

        def size(axis: Axis) -> int:
            if axis.extent is not None:
                return axis.extent
            if axis.family in known:
                return known[axis.family]
            found = None if axis.size is None else evaluate(replaced(axis.size, number))
            if not isinstance(found, int):
                raise ValueError(f"stages send `{value.name}`, whose width `{axis.name}` no input that is given has")
            return found

        def number(part: SizeOf | ConstOf) -> Static:
            return Literal(size(part.axis)) if isinstance(part, SizeOf) else part

        sizes = [size(axis) for axis in value.type.axes]
        for axis, by in zip(place, mesh.axes, strict=True):
            if axis in value.type.axes:
                sizes[value.type.axes.index(axis)] //= by.size
        return tuple(sizes)

    return shape
