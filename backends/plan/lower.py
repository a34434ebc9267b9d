"""The model as the backends emit it: the passes done, and what they do to captured values; its steps likewise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...compiler.advice.methods import why_no_step
from ...compiler.decoding import Decoding, decoding
from ...compiler.decoding.steps.lay_kept import lay_kept
from ...compiler.graph.nodes import Graph
from ...compiler.pipeline import PASSES, PREPARE, STEP, Pass, rewritten
from ...compiler.rewrites.kernels.attention import fuse_attention
from ...compiler.rewrites.kernels.mask_arguments import mask_arguments
from ...compiler.rewrites.simplify.constants import fold_truths
from ...compiler.rewrites.tools.walk import Walk
from .capture import Captures, recorded, resolve

STRUCTURE = ("split_passes", "fold_truths")  # what a step is derived from has these, and no fused ops


def lower(graph: Graph, capture: tuple[str, ...] = (), passes: Sequence[Pass] = PASSES) -> tuple[Graph, Captures]:
    """The graph as the backends emit it.

    What is captured stays visible: no fused op swallows it, and its paths stay as the spec has them, so that masks are
    made and passed on.
    """
    if not capture:
        return rewritten(graph, passes), Captures()
    on = {one.name for one in passes}
    if "fold_truths" in on:
        graph, _ = fold_truths(graph)
    wanted = resolve(graph, capture)
    labels = {(id(inside), number): found.label for found in wanted.values() for inside, number in recorded(found)}
    keep: dict[int, set[int]] = {}
    for key, number in labels:
        keep.setdefault(key, set()).add(number)
    frozen = {key: frozenset(values) for key, values in keep.items()}
    if "fuse_attention" in on:
        graph, replaced = fuse_attention(graph, frozen)
    else:
        walk = Walk(lambda _, new: new)
        graph, replaced = walk(graph), walk.replaced
    marks = {id(replaced[key]): values for key, values in frozen.items()}
    labels = {(id(replaced[key]), number): label for (key, number), label in labels.items()}
    return graph, Captures(wanted, marks, replaced, labels)


def derived(graph: Graph, lowered: Graph, passes: Sequence[Pass] = PASSES) -> Decoding:
    """How the model decodes, its graphs as they are made; `lowered` is the model as it is emitted."""
    found = decoding(rewritten(graph, [one for one in passes if one.name in STRUCTURE]), lowered)
    reason = why_no_step(lowered) if found.step is not None else ""
    return replace(found, prepare=None, step=None, caches=(), reason=reason) if reason else found


def stepping(
    graph: Graph,
    lowered: Graph,
    passes: Sequence[Pass] = PASSES,
    divided: Callable[[Decoding], Decoding] = lambda found: found,
) -> Decoding:
    """How the model decodes, its graphs lowered as the model is. divided: makes them those of one device of a mesh."""
    found = derived(graph, lowered, passes)
    if found.step is not None:
        found = divided(found)
    if found.step is None or found.prepare is None:
        return found
    prepare, step = rewritten(found.prepare, passes, PREPARE), rewritten(found.step, passes, STEP)
    if any(one.name == "mask_arguments" for one in passes):
        prepare, step = mask_arguments(prepare, lowered), mask_arguments(step, lowered)
    if any(one.name == "arrange" for one in passes):
        prepare, step = lay_kept(prepare, step)
    return replace(found, prepare=prepare, step=step)
