"""The rewrites that code generation wants, in order, and what they do to captured values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..compiler.decode import Decoding, decoding
from ..compiler.graph import Graph
from ..compiler.rewrites import fold_truths, fuse_attention, place_masks, spend_logits, split_passes
from .capture import Captures, resolve
from .decoder import reserved
from .plan import Program
from .values import CannotEmit

PASSES: tuple[tuple[str, Callable[[Graph], Graph]], ...] = (
    ("split_passes", split_passes),
    ("fold_truths", lambda graph: fold_truths(graph)[0]),
    ("fuse_attention", lambda graph: fuse_attention(graph, capped=True)[0]),
    ("place_masks", lambda graph: place_masks(graph)),
    ("spend_logits", spend_logits),
)


def lower(graph: Graph, capture: tuple[str, ...] = ()) -> tuple[Graph, Captures]:
    """The graph as the backends emit it.

    What is captured stays visible: no fused op swallows it, and its paths stay as the spec has them, so that masks are
    made and passed on.
    """
    if not capture:
        for _, rewrite in PASSES:
            graph = rewrite(graph)
        return graph, Captures()
    graph, _ = fold_truths(graph)
    wanted = resolve(graph, capture)
    keep: dict[int, set[int]] = {}
    for found in wanted.values():
        keep.setdefault(id(found.graph), set()).add(found.value.id)
    frozen = {key: frozenset(values) for key, values in keep.items()}
    graph, replaced = fuse_attention(graph, frozen)
    marks = {id(replaced[key]): values for key, values in frozen.items()}
    return graph, Captures(wanted, marks, replaced)


def stepping(graph: Graph, lowered: Graph) -> Decoding:
    """How the model decodes, its graphs lowered as the model is; `lowered` is the model as it is emitted."""
    folded, _ = fold_truths(split_passes(graph))
    found = decoding(folded, lowered)
    if found.step is None or found.prepare is None:
        return found
    name = reserved(lowered)
    if name is not None:
        reason = f"`{graph.name}` has no step: a part of it is called `{name}`, as a function would be: label it"
        return replace(found, prepare=None, step=None, caches=(), reason=reason)
    prepare, _ = fuse_attention(found.prepare)
    step, _ = fuse_attention(found.step)
    return replace(found, prepare=place_masks(prepare), step=step)


def described(graph: Graph) -> Decoding:
    """How the model decodes, if its steps can be written too."""
    from .torch_code import TorchEmitter

    lowered, captures = lower(graph)
    found = stepping(graph, lowered)
    if found.step is None or found.prepare is None:
        return found
    try:
        TorchEmitter(Program(lowered, captures.marks, (found.prepare, found.step)), captures, found).source("")
    except CannotEmit as problem:
        return replace(found, prepare=None, step=None, caches=(), reason=f"its steps cannot be written: {problem}")
    return found
