"""What a device does of a micro-batch, as polynomials of its size: what is sent, computed, kept and done again."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from ...cost.bill import REALS
from ...cost.polynomials.polynomial import Poly
from ...cost.report import Cost
from ...cost.work import Meter
from ...graph.nodes import Graph
from ...graph.values import Value
from ..collectives import Sending, sendings
from ..experts.load import ExpertLoad, loads
from ..mesh import Mesh
from .activations import Checkpointing, activations, work_again
from .balance import DeviceWork, device_work


@dataclass(frozen=True)
class DeviceGraph:
    """The graph of one device, and what it comes to.

    cost:   of what it does. ringed: as it is sent for, with attention as rings.
    logits: its results that are logits, each with the float32 arrays of its size that cross-entropy makes of it.
    """

    mesh: Mesh
    cost: Cost
    ringed: Graph
    logits: tuple[tuple[Value, int], ...]
    _kept: dict[Checkpointing, tuple[Poly, Poly, Poly]] = field(default_factory=dict, compare=False)

    @cached_property
    def meter(self) -> Meter:
        return Meter(self.cost.scope, REALS[self.cost.dtype], self.cost.values)

    @cached_property
    def sent(self) -> tuple[Sending, ...]:
        """The collectives of a pass through the model, forward and backward, but for those of its weights."""
        return tuple(sendings(self.ringed, self.meter, self.mesh))

    @cached_property
    def loads(self) -> tuple[ExpertLoad, ...]:
        """The rows that experts are given, where these are divided."""
        return tuple(loads(self.cost.graph, self.meter, [axis.size for axis in self.mesh.axes]))

    @cached_property
    def work(self) -> DeviceWork:
        """What the device does that does most: which is that, and how even the work is."""
        return device_work(self.cost, self.mesh)

    def kept(self, how: Checkpointing) -> tuple[Poly, Poly, Poly]:
        """Bytes that are kept, those of the largest pass done again, multiply-adds done again."""
        if how not in self._kept:
            graph, meter = self.cost.graph, self.meter
            bytes = activations(graph, self.cost.fused, meter, how)
            self._kept[how] = *bytes, work_again(self.work.part, graph, meter, how)
        return self._kept[how]
