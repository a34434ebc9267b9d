"""The checker, following calls: each is a `BlockCall` or a `ScanCall`."""

from __future__ import annotations

from dataclasses import dataclass

from ...dsl import syntax as s
from ..graph.typed_value import TypedValue
from ..names.modules import BlockDef
from ..typing.scope import Scope
from .block import BlockCall
from .checker import Checker
from .scan import ScanCall


@dataclass(eq=False)
class Calls(Checker):
    """A checker of blocks that applies them where they are called."""

    def call_block(
        self, body: Scope, block: BlockDef, call: s.CallExpr, shared: str | None = None
    ) -> list[TypedValue | None] | None:
        """A block called: its results in the caller's axes; None after a report."""
        made = ScanCall if call.scan is not None else BlockCall
        return made(self, body, block, call, shared).run()
