"""The file of a model that is divided over a mesh: the classes of one device, and `parallelize`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Unpack

from ...compiler.decoding import Decoding
from ...compiler.graph.inventory import WeightSpec, extent, inventory, law
from ...compiler.graph.nodes import Apply, Graph
from ...compiler.graph.values import Role
from ...compiler.pipeline import PASSES
from ...compiler.sharding.mesh import BATCH, Mesh
from ...compiler.sharding.rings.rewrite import with_rings
from ...compiler.sharding.spread import GraphSpread, spread
from ...compiler.sharding.weights import PlacedWeight, placed_weights
from ...compiler.sizes.axes import Axis
from ..emit.file import Writing, written
from ..files.code import Library, ModelCode
from ..plan.plan import Plan
from ..text.carried import PARALLEL, TORCH
from ..text.expressions import Code, call
from ..text.names import DIVIDED
from .body import TorchBody
from .module import TorchEmitter
from .parallel_steps import divided_steps, no_stage_decodes

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")  # of a layer in a path
_CLASS = re.compile(r"class (\w+)\(")


class SplitBody(TorchBody):
    """The code of one class, as one device runs it."""

    def drawing(self, node: Apply, function: str, *args: Code) -> Code:
        """Devices that have the same draw the same; along these axes of the mesh each has something else."""
        assert isinstance(self.file, SplitEmitter)
        apart = self.file.apart(node)
        return call("own_draws", Code("self.training"), Code(_quoted(apart)), Code(function), *args)


class SplitEmitter(TorchEmitter):
    """The modules of one device. parts: of the axes that it has parts of, which axes of the mesh split each."""

    library = Library(
        "attnc_parallel_torch", (*TORCH, *PARALLEL), frozenset(), frozenset({"check"}), ("torch", "jaxtyping")
    )
    decoder = "DividedDecoder"
    mode = "over_parts"
    mesh = Mesh(())
    parts: Mapping[Axis, tuple[int, ...]] = {}

    def body(self, plan: Plan) -> TorchBody:
        return SplitBody(self, plan)

    def over_rows(self) -> list[str]:
        batch = tuple(axis.name for axis in self.mesh.axes if axis.copies)
        return [_quoted(batch), _quoted(tuple(axis.name for axis in self.mesh.axes if not axis.copies))]

    def _export(self, kind: str) -> list[str]:
        """A program of `torch.export` knows no devices."""
        return []

    def apart(self, node: Apply) -> tuple[str, ...]:
        """The axes of the mesh along which what an op computes with differs."""
        values = (*node.operands, node.out)
        by = {number for value in values for axis in value.type.axes for number in self.parts.get(axis, ())}
        if any(value.role is Role.DATA for value in values):
            by |= {number for number, axis in enumerate(self.mesh.axes) if BATCH in axis.splits}
        return tuple(axis.name for number, axis in enumerate(self.mesh.axes) if number in by)


def emitter(found: GraphSpread) -> type[SplitEmitter]:
    """What writes the modules of one device of this mesh."""
    parts = found.grown.places.parts.made
    known = {"mesh": found.grown.places.mesh, "parts": {part: by for (_, by), part in parts.items()}}
    return type("SplitEmitter", (SplitEmitter,), known)


@dataclass(frozen=True)
class Lying:
    """Where a weight lies on a mesh and how it begins, as `Lies` of the runtime has it."""

    split: Mapping[str, int | tuple[int, int]]
    summed: tuple[str, ...]
    drawn: tuple[str | float, ...]

    def code(self) -> str:
        given = [
            repr(dict(self.split)) if self.split or self.summed else "",
            f"summed={self.summed!r}" if self.summed else "",
            f"drawn={self.drawn!r}",
        ]
        return f"Lies({', '.join(each for each in given if each)})".replace("'", '"')


def lying(found: GraphSpread, specs: Mapping[str, WeightSpec]) -> dict[str, Lying]:
    """Where each weight lies, by its path."""
    mesh = found.grown.places.mesh
    return {path: _lies(each, mesh, specs[path]) for path, each in placed_weights(found).items()}


def copies(graph: Graph, mesh: Mesh, received: int) -> set[str]:
    """Axes of the mesh along which devices have the same weights, each the gradient of its part of the work."""
    every = lying(spread(graph, mesh, received), inventory(graph)).values()
    return {each.name for each in mesh.axes if all(each.name in lies.summed for lies in every)}


def _lies(placed: PlacedWeight, mesh: Mesh, spec: WeightSpec) -> Lying:
    split: dict[str, int | tuple[int, int]] = {}
    for number, axis in enumerate(mesh.axes):
        where = placed.split(number)
        if where is not None:
            dim, place, _ = where
            blocks = 1
            for before in placed.weight.dims[dim][:place]:
                blocks *= extent(before)
            split[axis.name] = dim if blocks == 1 else (dim, blocks)
    summed = tuple(axis.name for number, axis in enumerate(mesh.axes) if number in placed.partial)
    return Lying(split, summed, law(spec))


def results(found: GraphSpread) -> Iterator[dict[str, int]]:
    """Of each result the dimensions that axes of the mesh split, from its end; the batch is that before all others."""
    for output in found.old.outputs:
        dims = {}
        for number, axis in enumerate(found.grown.places.of(output.value)):
            if axis is not None and axis.name == BATCH:
                dims[found.grown.places.mesh.axes[number].name] = 0
            elif axis in output.axes:
                dims[found.grown.places.mesh.axes[number].name] = output.axes.index(axis) - len(output.axes)
        yield dims


def division(found: GraphSpread, specs: Mapping[str, WeightSpec]) -> str:
    """What the file says of how the model is divided: a `Division` of the runtime."""
    mesh = found.grown.places.mesh
    fixed = {axis.name: axis.size for axis in mesh.axes if axis.splits != (BATCH,)}
    batch = tuple(axis.name for axis in mesh.axes if BATCH in axis.splits)
    alike: dict[str, dict[str, Lying]] = {}
    for path, each in lying(found, specs).items():
        alike.setdefault(_NUMBER.sub("*", path), {})[path] = each
    lines = ["DIVISION = Division(", f"    mesh={_quoted(fixed)},", f"    batch={_quoted(batch)},", "    weights={"]
    for pattern, paths in alike.items():
        first, *others = paths.values()
        shown = {pattern: first} if all(other == first for other in others) else paths
        lines += [f'        "{path}": {each.code()},' for path, each in shown.items()]
    lines += ["    },", f"    results=({''.join(f'{_quoted(each)}, ' for each in results(found)).rstrip()}),", ")"]
    return "\n".join(lines)


def _quoted(value: object) -> str:
    return repr(value).replace("'", '"')


PARALLELIZE = '''def parallelize(
    net: nn.Module,
    mesh: DeviceMesh,
    *,
    zero: int = 3,
    checkpoint: bool = False,
    computed_in: torch.dtype | None = None,
    seed: int = 0,
    **sizes: Any,
) -> {kind}:
    """The model on a mesh of devices: each has its parts of the weights of `net`, which is the model of one device.

    net:        of its weights each device takes its part; on "meta" they are drawn by `seed`, part by part.
    zero:       3: weights, gradients and the optimiser's state are scattered over the devices that share the batch,
                and gathered for each pass of a repeat; 2: weights are gathered once a step; 0: nothing is scattered.
    checkpoint: each pass of a repeat is done again for its gradients.
    computed_in: another type for what is computed, of scattered weights; gradients are summed in that of the weights.
    sizes:      as `net` was made with, where these are not those of this file.

    Each device is given its part of the batch (`batch_part`), and has its parts of the results (`whole_result`).
    Gradients are sums over all devices: divide a loss by what all of them count. Raises ValueError for another mesh,
    and for a `net` of other sizes.
    """
    return split_over(net, {kind}, sizes, mesh, DIVISION, zero, checkpoint, computed_in, seed)'''


def check_names(graph: Graph) -> None:
    """Raises ValueError where the paths of weights begin as a method of a divided model is called."""
    for name in sorted({path.partition(".")[0] for path in inventory(graph)} & DIVIDED):
        raise ValueError(
            f"`{name}` of `{graph.name}` has weights, and a model on a mesh has a method of that name: call it "
            "otherwise in the spec"
        )


def of_one_device(found: GraphSpread) -> Graph:
    """The graph that the modules of one device are written from."""
    return with_rings(found.graph, found.grown.places.parts)


def parallel_code(graph: Graph, mesh: Mesh, received: int | None = None, **asked: Unpack[Writing]) -> ModelCode:
    """The classes of one device of a mesh, `DIVISION`, and `parallelize`, which divides a model over such a mesh; and
    its steps, if it decodes.

    received: of a stage of a pipeline: so many of its first inputs are what another one sends, by parts (`spread`).

    Raises Indivisible for an axis that does not divide over the devices which split it, ValueError for weights with the
    name of a method that divided models have.
    """
    check_names(graph)
    found = spread(graph, mesh, received or 0)
    passes = asked.get("passes", PASSES)
    steps = (
        divided_steps(found, graph, passes) if received is None else lambda _: Decoding(reason=no_stage_decodes(graph))
    )
    code = written(emitter(found), of_one_device(found), steps, **asked)
    root = _CLASS.match(code.model[-1])
    assert root is not None
    said = PARALLELIZE.replace("{kind}", root[1])
    return replace(code, model=(*code.model, division(found, inventory(graph)), said))
