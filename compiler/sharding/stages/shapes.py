"""The shape of what stages send one another, from those of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...graph.nodes import Graph
from ...graph.values import Value
from ...sizes.arithmetic import replaced
from ...sizes.axes import Arith, Axis, ConstOf, Literal, SizeOf, Static, evaluate
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


def shape_code(value: Value, root: Graph, mesh: Mesh) -> str:
    """The same as Python that a file can have: `lambda n: (n["ids"][-1], 32)`.

    It raises ValueError for a width that follows from none of the inputs that have to be given, or not by a sum, a
    difference, a product or a quotient.
    """
    place = placed(loops(value), claimed([*root.axes, BATCH_AXIS], mesh), mesh)
    known: dict[int, str] = {}
    for entry in root.inputs:
        axes = entry.value.type.axes
        for number, axis in enumerate(axes if entry.default is None else ()):
            known.setdefault(axis.family, f'n["{entry.name}"][{number - len(axes)}]')

    def size(axis: Axis) -> str:
        if axis.extent is not None:
            return str(axis.extent)
        if axis.family in known:
            return known[axis.family]
        return code(axis, axis.size)

    def code(axis: Axis, part: Static | None) -> str:
        match part:
            case Literal(number):
                return repr(number)
            case SizeOf(other):
                return size(other)
            case Arith("+" | "-" | "*" | "//" as op, (left, right)):
                return f"({code(axis, left)} {op} {code(axis, right)})"
            case _:
                raise ValueError(
                    f"stages send `{value.name}`, and a file cannot say how wide `{axis.name}` is: "
                    "`Model.parallelize` makes its stages"
                )

    sizes = [size(axis) for axis in value.type.axes]
    for split, by in zip(place, mesh.axes, strict=True):
        if split in value.type.axes:
            number = value.type.axes.index(split)
            sizes[number] = f"{sizes[number]} // {by.size}"
    return f"lambda n: ({', '.join(sizes)}{',' * (len(sizes) == 1)})"
