"""How a model decodes, as far as its steps can be written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...compiler.decoding import Decoding
from ...compiler.graph.nodes import Graph
from ...compiler.pipeline import PASSES, Pass
from ..plan.lower import lower, stepping
from ..plan.plan import ModelPlan
from ..text.values import CannotEmit
from .module import TorchEmitter


def described(graph: Graph, passes: Sequence[Pass] = PASSES) -> Decoding:
    """How the model decodes, if its steps can be written too."""
    lowered, captures = lower(graph, passes=passes)
    found = stepping(graph, lowered, passes)
    if found.step is None or found.prepare is None:
        return found
    try:
        TorchEmitter(ModelPlan(lowered, captures.marks, (found.prepare, found.step)), captures, found).written("")
    except CannotEmit as problem:
        return replace(found, prepare=None, step=None, caches=(), reason=f"its steps cannot be written: {problem}")
    return found
