"""What is kept of a program while its blocks are checked.

Blocks are checked once on their own (`alone.py`), and specialised where they are called (`specialise.py`, D8): "A call
means its body with the arguments put in." So a call elaborates the callee's body for the sizes, the families, the extra
axes and the kinds of its arguments, once for each distinct combination. A mistake that the body makes by itself was
reported when the block was checked on its own; what only some calls get wrong is a requirement of the body, and is
reported at the call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from ...dsl import syntax as s
from ...dsl.base.records import field, mutable
from ...dsl.source import Span
from ..base.session import Session
from ..graph.equality import ModelPaths
from ..graph.nodes import Graph
from ..graph.typed_value import TypedValue
from ..names.modules import BlockDef
from ..sizes.axes import Value
from ..sizes.limits import WORK, Exhausted, Limit
from ..typing.environment import Environment, Specialisation
from ..typing.facts import Facts
from .closures import Closures


@mutable
class Checker(ABC):
    """All blocks of a program.

    called:   those that some other block calls. given_up: those that ask for too much.
    owners:   whether graphs have weights; ways: how graphs come to models with weights.
    library:  names that the standard library has, and where.
    generic_sizes: set from outside, for blocks checked alone.
    facts:    to be filled.
    fuel:     expressions that may still be checked.
    ranks:    the order in which a reader meets the blocks.
    """

    session: Session
    closures: Closures = field(init=False)
    specialisations: dict[object, Specialisation] = field(default_factory=dict)
    alone: dict[BlockDef, Specialisation] = field(default_factory=dict)
    called: set[BlockDef] = field(default_factory=set)
    given_up: set[BlockDef] = field(default_factory=set)
    owners: dict[Graph, bool] = field(default_factory=dict)
    ways: dict[Graph, ModelPaths] = field(default_factory=dict)
    library: dict[str, str] = field(default_factory=dict)
    generic_sizes: Mapping[str, Value] = field(default_factory=dict)
    facts: Facts | None = None
    fuel: int = WORK
    ranks: Mapping[BlockDef, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.closures = Closures(self.session)

    def spend(self, span: Span, amount: int = 1) -> None:
        """Use up fuel: an expression is checked, or so many parameters are given. Raises Exhausted if none is left."""
        self.fuel -= amount
        if self.fuel < 0:
            raise Exhausted(Limit.WORK, WORK, span=span)

    @abstractmethod
    def check_alone(self, block: BlockDef, stack: tuple[BlockDef, ...] = ()) -> Specialisation:
        """Check a block with its own axes standing for themselves; the graph is that of the block as a model."""

    @abstractmethod
    def call_block(
        self, env: Environment, block: BlockDef, call: s.CallExpr, shared: str | None = None
    ) -> list[TypedValue | None] | None:
        """A block called: its results in the caller's axes; None after a report."""
