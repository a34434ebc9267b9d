"""The files of a model whose mesh has stages: one for each, and `parallelize`, which takes that of the device."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from ...compiler.graph.inventory import inventory
from ...compiler.graph.nodes import Graph
from ...compiler.graph.values import Scalar, Value
from ...compiler.sharding.mesh import BATCH, Mesh, MeshAxis
from ...compiler.sharding.stages import Stage, holders, shape_code, stages
from ..emit.file import Writing
from ..files.code import ModelCode
from .parallel_file import check_names, copies, parallel_code


@dataclass(frozen=True)
class PlannedStage:
    """A stage as it is written. mesh: of its devices. place: what `StagePlace` of the runtime has besides tensors."""

    graph: Graph
    mesh: Mesh
    received: Sequence[Value]
    sends: Sequence[Value]
    place: Mapping[str, Any]


def planned(graph: Graph, mesh: Mesh, number: int) -> PlannedStage:
    """One stage of a model on a mesh with an axis `pipe`. Raises NoSplit, and ValueError as `parallel_code` does."""
    check_names(graph)
    every = stages(graph, mesh.stages)
    stage, inner = every[number], mesh.of_stage()
    inner = inner if inner.axes else Mesh((MeshAxis("data", 1, (BATCH,)),))
    held = {path: by for path, by in holders(every).items() if len(by) > 1}
    place = {
        "number": number,
        "count": len(every),
        "inputs": tuple(entry.name for entry in graph.inputs),
        "own": tuple(entry.name for entry in stage.graph.inputs[stage.received :]),
        "optional": tuple(
            entry.name for entry in graph.inputs if entry.default is not None or entry.length_of is not None
        ),
        "held": {path: by for path, by in held.items() if number in by},
        "draws": stage.draws,
        "numbered": dict(stage.numbered),
        "alike": _alike(every, inner, number, held),
        "axes": _in_order(graph, mesh.of_stage()),
    }
    received = tuple(entry.value for entry in stage.graph.inputs[: stage.received])
    return PlannedStage(stage.graph, inner, received, tuple(one.value for one in stage.graph.outputs), place)


def _alike(
    every: Sequence[Stage], mesh: Mesh, number: int, held: Mapping[str, tuple[int, ...]]
) -> Collection[str] | None:
    """Axes of the mesh over which a stage may scatter its weights: those that all have which have some in common, so
    that devices have the same parts of these. None: whichever it has itself.
    """
    sharing = {stage for by in held.values() for stage in by}
    if number not in sharing:
        return None
    each = [copies(every[stage].graph, mesh, every[stage].received) for stage in sorted(sharing)]
    return tuple(sorted(set[str].intersection(*each)))


def _in_order(graph: Graph, mesh: Mesh) -> tuple[str, ...]:
    """The axes of a stage's mesh, first those along which weights may be scattered, as FSDP has them."""
    whole = {axis.name for spec in inventory(graph).values() for dim in spec.dims for axis in dim}
    last = {axis.name: (axis.splits != (BATCH,)) + 2 * bool(whole & {*axis.splits}) for axis in mesh.axes}
    return tuple(sorted(last, key=last.__getitem__))


def sent_as(value: Value) -> str | None:
    """The dtype in which stages send a value; None: that of all reals."""
    match value.type.element:
        case Scalar.BOOL:
            return "bool"
        case Scalar.REAL:
            return "float64" if value.exact else None
        case _:
            return "int64"


PARALLELIZE = '''def parallelize(
    net: nn.Module,
    mesh: DeviceMesh,
    *,
    zero: int = 3,
    checkpoint: bool = False,
    computed_in: torch.dtype | None = None,
    seed: int = 0,
) -> nn.Module:
    """The stage of this device, on a mesh with an axis `pipe`: it has its parts of the weights of `net`, the model of
    one device, by their paths there. `forward_backward` runs all stages, `clip_grad_norm_` takes the norm over all.

    net:        of its weights each device takes its part; on "meta" they are drawn by `seed`, part by part.
    zero:       3: weights, gradients and the optimiser's state are scattered over the devices that share the batch,
                and gathered for each pass of a repeat; 2: weights are gathered once a step; 0: nothing is scattered.
    checkpoint: each pass of a repeat is done again for its gradients.
    computed_in: another type for what is computed, of scattered weights; gradients are summed in that of the weights.

    Gradients are sums over all devices: divide a loss by what all of them count. Raises ValueError for another mesh,
    and for a `net` of other sizes.
    """
    return split_stages(net, (%s), mesh, zero, checkpoint, computed_in, seed)'''


def stage_codes(name: str, graph: Graph, mesh: Mesh, **asked: Unpack[Writing]) -> dict[str, ModelCode]:
    """`NAME_parallel`, and `NAME_stage0` and so on, which it imports: of each stage the classes of one device, its
    `DIVISION`, and `STAGE`, where it stands among the others.

    Raises NoSplit for stages that cannot be, ValueError where a file cannot say how much is sent.
    """
    found: dict[str, ModelCode] = {}
    for number in range(mesh.stages):
        plan = planned(graph, mesh, number)
        made = parallel_code(plan.graph, plan.mesh, len(plan.received), **asked)
        *classes, said, _ = made.model
        found[f"{name}_stage{number}"] = replace(made, model=(*classes, said, _stage(plan, graph, classes[-1])))
    first = next(iter(found.values()))
    known = {f"stage{number}": f"{home}:STAGE" for number, home in enumerate(found)}
    several = ", ".join(known) if len(known) > 1 else f"{next(iter(known))},"
    about = f"The classes of each stage are in {', '.join(f'{home}.py' for home in found)}."
    parallel = replace(first, about=about, model=(PARALLELIZE % several,), foreign=known)
    return {f"{name}_parallel": parallel, **found}


def _stage(plan: PlannedStage, graph: Graph, root: str) -> str:
    """What the file of a stage says of it: a `WrittenStage` of the runtime."""

    def sent(values: Sequence[Value]) -> str:
        lines = [f"            {_sent(each, plan, graph)},\n" for each in values]
        return f"(\n{''.join(lines)}        )" if lines else "()"

    tensors = {"received": sent(plan.received), "sends": sent(plan.sends)}
    given = {**tensors, **{word: repr(value).replace("'", '"') for word, value in plan.place.items()}}
    lines = "".join(f"        {word}={code},\n" for word, code in given.items())
    kind = root.removeprefix("class ").partition("(")[0]
    return f"STAGE = WrittenStage(\n    {kind},\n    DIVISION,\n    StagePlace(\n{lines}    ),\n)"


def _sent(value: Value, plan: PlannedStage, graph: Graph) -> str:
    dtype = sent_as(value)
    return f"SentTensor({shape_code(value, graph, plan.mesh)}{'' if dtype is None else f', torch.{dtype}'})"
