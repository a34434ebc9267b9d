"""A model as it is computed: scans and running sums in chunks, number by number, by kernels, or item by item."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from ..graph.nodes import Graph, Scan, nested, ops_in
from ..pipeline import PASSES, rewritten
from .polynomials.figure import Figure
from .polynomials.polynomial import Poly
from .seconds import seconds
from .walk import Part

# Of softmax attention and experts a bill has figures of its own; what only lies elsewhere takes the same.
ELSEWHERE = ("fuse_attention", "place_masks", "dispatch", "stack", "arrange", "spend_logits", "mask_arguments")
FORMS = ("linear_scans", "cells", "running_sums")  # what makes one form of another


def as_computed(graph: Graph, without: Collection[str] = ()) -> Graph:
    """The graph with scans and running sums as they are computed. without: passes that are left out."""
    return rewritten(graph, [one for one in PASSES if one.name not in (*ELSEWHERE, *without)])


def has_ways(graph: Graph) -> bool:
    """Whether anything in it is not computed op by op."""
    scans = any(isinstance(node, Scan) for each in nested(graph) for node in each.nodes)
    return scans or any(node.traits.cost.kernel is not None for node in ops_in(graph))


@dataclass(frozen=True, repr=False)
class Lowered:
    """What a model takes as the code of PyTorch computes it.

    bill: the bill, part by part, of the model as it is computed without some passes.
    """

    bill: Callable[[Collection[str]], Part]
    figure: Callable[[Poly], Figure]

    @cached_property
    def part(self) -> Part:
        """The bill, part by part."""
        return self.bill(())

    @cached_property
    def ways(self) -> tuple[tuple[str, str], ...]:
        """The path of each scan and running sum, and how it is computed: "in chunks of 64"."""
        return tuple(dict.fromkeys(_ways(self.part, "")))

    @cached_property
    def macs(self) -> Figure:
        """Multiply-adds of the forward pass."""
        return self.figure(self.part.work.macs)

    @cached_property
    def backward(self) -> Figure:
        """Multiply-adds of the gradients of every weight that is not frozen."""
        return self.figure(self.part.work.back)

    @cached_property
    def operations(self) -> Figure:
        """What is no multiply-add of a product of matrices."""
        return self.figure(self.part.work.ops)

    @cached_property
    def seconds(self) -> float:
        """About how long a forward pass takes."""
        return seconds(self.part.work, self.figure)

    @cached_property
    def written_seconds(self) -> float:
        """The same with scans in loops, and sums as they are written: without the passes `FORMS`."""
        return seconds(self.bill(FORMS).work, self.figure)

    @property
    def cheaper(self) -> str | None:
        """Which form takes less time by these estimates, "computed" or "written"; None where they are one."""
        if self.seconds == self.written_seconds:
            return None
        return "computed" if self.seconds < self.written_seconds else "written"

    @property
    def flops(self) -> int:
        """2 for each multiply-add, as `torch.utils.flop_counter` counts; a triangular matrix is inverted uncounted."""
        return 2 * self.macs.value


def _ways(part: Part, path: str) -> Iterator[tuple[str, str]]:
    if part.kind == "scan":
        yield path, "item by item"
    elif part.how:
        yield path, part.how
    for inner in part.parts:
        name = inner.name if inner.kind != "op" or inner.how else ""
        yield from _ways(inner, f"{path}.{name}" if path and name else path or name)
