"""What a node of a rewritten graph takes that is computed as a whole: in chunks, number by number, by a kernel."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ...graph.nodes import Apply
from ...graph.traits import CellKernel, Chunks, RunningState
from ...sizes.axes import Axis
from ..polynomials.polynomial import ONE, Poly
from ..work import Meter, Work, core
from .cells import by_kernel
from .chunks import ChunkInputs, in_chunks
from .running import number_by_number
from .shapes import ArrayShape, Tally


@dataclass(frozen=True, slots=True)
class KernelNode:
    """A node. graded, data: which operands have a gradient, and the batch axes. counts: it counts keys beside, too."""

    node: Apply
    meter: Meter
    graded: Sequence[bool]
    data: Sequence[bool]
    counts: bool = False

    def work(self) -> tuple[Work, str]:
        """What it takes, and how it is computed."""
        tally = Tally(self.meter)
        match self.node.traits.cost.kernel:
            case Chunks():
                inputs = self._chunk_inputs()
                in_chunks(tally, inputs)
                n = int(self._size(self.node.axes[:1]).at(self.meter.values))
                how = f"in chunks of {inputs.chunk(n)}"
            case RunningState():
                t = self.node.axes[0]
                x, *others = (self._shape(at, [t], (t,)) for at in range(len(self.node.operands)))
                number_by_number(tally, x, before="before" in self.node.options, **self._named(others))
                how = "number by number"
            case CellKernel() as cell:
                self._cell(tally, cell)
                how = "by PyTorch's kernel"
            case _:
                how = ""
        return tally.work, how

    def _size(self, axes: Collection[Axis]) -> Poly:
        return self.meter.scope.product(axes)

    def _shape(self, at: int, behind: Collection[Axis], *groups: Sequence[Axis], full: bool = False) -> ArrayShape:
        """An operand, each group of axes as a dimension, of size 1 where it has none of them. behind: all of these."""
        value = self.node.operands[at]
        own = core(value)
        lead = {axis for axis in own if axis not in behind} | ({None} if self.data[at] else set[Axis | None]())
        dims = (self._size(group) if full or {*group} & {*own} else ONE for group in groups)
        return ArrayShape(frozenset(lead), tuple(dims), self.graded[at])

    def _named(self, others: Sequence[ArrayShape]) -> dict[str, ArrayShape]:
        names = [name for name in ("decay", "erase", "start") if name in self.node.options]
        return dict(zip(names, others, strict=True))

    def _chunk_inputs(self) -> ChunkInputs:
        (t, *d), e = self.node.axes, self.node.made
        behind = (t, *d, *e)
        q, k, v = (self._shape(at, behind, [t], by, full=True) for at, by in enumerate((d, d, e)))
        if self.counts:  # one more value of each item
            v = v.having(v.dims[0], v.dims[1] + 1)
        more = {}
        for at, name in enumerate((name for name in ("decay", "erase", "start") if name in self.node.options), 3):
            groups = (d, e) if name == "start" else ([t], d)
            more[name] = self._shape(at, behind, *groups, full=name == "erase")
        decay = more.get("decay")
        if decay is not None and decay.dims[-1].at(self.meter.values) == 1:
            more["decay"] = decay.having(decay.dims[0], ONE)
        return ChunkInputs(q, k, v, **more)

    def _cell(self, tally: Tally, cell: CellKernel) -> None:
        node, (t,), made = self.node, self.node.axes, self.node.made
        ahead = {axis for axis in node.out.type.axes if axis != t} - {*made}
        given = [axis for axis in core(node.operands[0]) if axis != t and axis not in ahead]
        x = self._shape(0, (t, *given), [t], given, full=True)
        state = 1 + 2 * (1 if node.options else cell.gates)  # the maps stand between: one for all gates, or one each
        start = self._shape(state, made, made) if state < len(node.operands) else None
        by_kernel(tally, cell, x, self._size(made), start)
