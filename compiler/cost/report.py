"""What a model costs, as a person sees it: the bill, which shows itself as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..graph.nodes import Graph
from ..sizes.axes import Number
from .bill import Bill, bill
from .table import page


@dataclass(frozen=True, repr=False)
class Cost(Bill):
    """What a model costs, exactly. Made by `Model.cost`."""

    def __repr__(self) -> str:
        """The report that `attnc cost` prints; a page of it, where it has very many parts."""
        return "\n".join(page(self))


def cost(graph: Graph, sizes: Mapping[str, Number] | None = None, *, batch: int = 1, dtype: str = "float32") -> Cost:
    """The cost of a graph. sizes: of axes and consts, by name; they win over those of the spec.

    A free width that is not given is taken at its bound, else at 1,024; where that leaves a derived width no whole
    number, at the nearest size below or above that does. Raises CostError.
    """
    return bill(graph, sizes, batch=batch, dtype=dtype, kind=Cost)
