"""The checker, following calls: each is a `BlockCall` or a `ScanCall`."""

from __future__ import annotations

from dataclasses import dataclass

from ...dsl import syntax as s
from ..graph.typed_value import TypedValue
from ..names.modules import BlockDef
from ..typing.environment import Environment, Specialisation
from .alone import check_alone
from .block import BlockCall
from .checker import Checker
from .scan import ScanCall


@dataclass(eq=False)
class Calls(Checker):
    """A checker of blocks that applies them where they are called."""

    def check_alone(self, block: BlockDef, stack: tuple[BlockDef, ...] = ()) -> Specialisation:
        if block not in self.alone:
            self.alone[block] = check_alone(self, block, stack)
        return self.alone[block]

    def call_block(
        self, env: Environment, block: BlockDef, call: s.CallExpr, shared: str | None = None
    ) -> list[TypedValue | None] | None:
        made = ScanCall if call.scan is not None else BlockCall
        return made(self, env, block, call, shared).run()
