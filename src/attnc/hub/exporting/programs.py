"""A model as programs of torch.export, and as ONNX: `prepare` and `step` where it decodes, else `forward`."""

from __future__ import annotations

import inspect
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...compiler.graph.values import IndexInto, Scalar
from ...spec import Model
from ..problem import HubError

if TYPE_CHECKING:
    import torch

BATCH, ITEMS, OTHERS = 2, 3, 5  # of the example, which tells the forms
ROOM = 1024  # items of a row, where neither the caller nor the spec says how many


def write_programs(model: Model, weights: Mapping[str, Any], to: str, room: int | None, draft: Path) -> list[str]:
    """Into an empty folder: NAME.pt2 or NAME.onnx for each program, whose names it gives.

    room: how many items a row may have. Raises HubError for what PyTorch cannot export.
    """
    import torch

    half = to == "onnx" and any(str(array.dtype) == "bfloat16" for array in weights.values())
    net = model.torch(weights=weights, dtype="float32" if half else None).eval()
    try:
        with _silent():
            programs = _programs(model, net, room)
            for name, program in programs.items():
                if to == "torch-export":
                    torch.export.save(program, draft / f"{name}.pt2")
                else:
                    file, made = str(draft / f"{name}.onnx"), _results(name, programs)
                    taken = [str(one).removeprefix("inputs_") for one in program.graph_signature.user_inputs]
                    torch.onnx.export(
                        program, (), file, input_names=taken, output_names=made, dynamo=True, verbose=False
                    )
    except ImportError:
        raise HubError('ONNX needs onnxscript: pip install "onnxscript>=0.7"') from None
    except (RuntimeError, ValueError, TypeError, NotImplementedError) as wrong:  # what exporters raise
        raise HubError(f"PyTorch cannot export `{model.name}`: {' '.join(str(wrong).split())[:300]}") from None
    return [*programs]


@contextmanager
def _silent() -> Iterator[None]:
    """Without what exporters say of themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)


def _results(name: str, programs: Mapping[str, torch.export.ExportedProgram]) -> list[str] | None:
    """What the results are called: of `prepare` as a step takes them, of a step `next_..` what is for the next one."""
    if name == "forward":
        return None
    taken = [str(one) for one in programs["step"].graph_signature.user_inputs][1:]
    if name == "prepare":
        return taken
    kept = taken[taken.index("count") :]
    results = len(programs["step"].graph_signature.user_outputs) - len(kept)
    return [*(f"scores_{i}" if i else "scores" for i in range(results)), *(f"next_{one}" for one in kept)]


def _programs(model: Model, net: Any, room: int | None) -> dict[str, torch.export.ExportedProgram]:
    import torch

    examples = {entry.name: _example(entry.value.type) for entry in model.graph.inputs}
    if not hasattr(net, "export_decoding"):
        free = {name: dict.fromkeys(dims, torch.export.Dim.AUTO) for name, (_, dims) in examples.items()}
        given = {name: x for name, (x, _) in examples.items()}
        program = torch.export.export(net, (), given, dynamic_shapes=free, strict=False)
        _refuse_one_width(model, program)
        return {"forward": program}
    items = next(iter(inspect.signature(net.step).parameters))
    others = {name: examples[name][0] for name in inspect.signature(net.prepare).parameters}
    (entry,) = (entry for entry in model.graph.inputs if entry.name == items)
    longest = next((axis.bound for axis in entry.value.type.axes if axis.bound), None)
    one = any(kept.kind == "state" for kept in model.decoding.caches)  # its steps are written out
    first = examples[items][0][:, : 1 if one else ITEMS].contiguous()
    prepare, step = net.export_decoding(first, room or min(longest or ROOM, ROOM), **others)
    return {"prepare": prepare, "step": step}


def _refuse_one_width(model: Model, program: torch.export.ExportedProgram) -> None:
    """A program that holds for the width of the example alone is of no use to anyone: HubError."""
    from torch.fx.experimental.symbolic_shapes import is_concrete_int

    shapes = {node.name: node.meta["val"].shape for node in program.graph.nodes if node.op == "placeholder"}
    for entry in model.graph.inputs:
        for axis, size in zip(entry.value.type.axes, shapes[entry.name][1:], strict=True):
            if axis.extent is None and is_concrete_int(size):
                raise HubError(
                    f"a program of `{model.name}` would hold for one width `{axis.name}` alone: a scan along it is a "
                    "loop. docs/compile.md says which scans do not; for a width of your own, give an example of it to "
                    "torch.export.export(model.torch(weights=..), (example,))"
                )


def _example(type: Any) -> tuple[torch.Tensor, list[int]]:
    """An input of that type, and which of its dimensions are free."""
    import torch

    shape = [BATCH, *(min(OTHERS, axis.bound or OTHERS) if axis.extent is None else axis.extent for axis in type.axes)]
    free = [0, *(dim for dim, axis in enumerate(type.axes, 1) if axis.extent is None)]
    if isinstance(type.element, IndexInto) or type.element is Scalar.INT:
        return torch.zeros(shape, dtype=torch.long), free
    if type.element is Scalar.BOOL:
        return torch.ones(shape, dtype=torch.bool), free
    return torch.zeros(shape), free
