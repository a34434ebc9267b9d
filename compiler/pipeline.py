"""The rewrites between the checked graph and code, in order: one table, for backends, the command line and docs.

Each can be left out, and what the code computes stays the same: in exact arithmetic all of them change nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .decoding.steps.join_maps import join_maps
from .decoding.steps.tabulate import tabulate
from .decoding.steps.unmask import unmask
from .graph.nodes import Graph
from .rewrites.dispatch.rows import dispatch
from .rewrites.kernels.attention import fuse_attention
from .rewrites.kernels.halves import halves
from .rewrites.kernels.mask_arguments import mask_arguments
from .rewrites.kernels.place_masks import place_masks
from .rewrites.kernels.spend_logits import spend_logits
from .rewrites.kernels.stack import stack
from .rewrites.numerics.guard import guard
from .rewrites.recurrent.cells import cells
from .rewrites.recurrent.lift import lift_scans
from .rewrites.recurrent.linear import linear_scans
from .rewrites.recurrent.sums import running_sums
from .rewrites.simplify.arrange import arrange
from .rewrites.simplify.constants import fold_truths
from .rewrites.simplify.hoist import hoist
from .rewrites.simplify.inline import inline
from .rewrites.simplify.merge import merge
from .rewrites.simplify.numbers import fold_numbers
from .rewrites.simplify.split_passes import split_passes

FORWARD, PREPARE, STEP = "forward", "prepare", "step"


@dataclass(frozen=True, slots=True)
class Pass:
    """One rewrite.

    about: what it does, in one line.
    run:   the graph rewritten, given it and the names of the passes that are on.
    kinds: which graphs get it: the model's own, and the two of decoding, which are made of the model's.
    """

    name: str
    about: str
    run: Callable[[Graph, frozenset[str]], Graph]
    kinds: tuple[str, ...] = (FORWARD, PREPARE, STEP)


PASSES = (
    Pass(
        "split_passes",
        "a repeat gets a body for each kind of pass where truths depend on the pass's number",
        lambda graph, on: split_passes(graph),
        (FORWARD,),
    ),
    Pass(
        "fold_truths",
        "truth values known now go into the blocks that they are passed to; masks `true` vanish",
        lambda graph, on: fold_truths(graph)[0],
        (FORWARD,),
    ),
    Pass(
        "halves",
        "a choice by sign between two halves that meet at 0 is the sum of both",
        lambda graph, on: halves(graph),
    ),
    Pass(
        "guard",
        "what a mask or a choice leaves out is made harmless, so that its gradient is a number",
        lambda graph, on: guard(graph),
        (FORWARD,),
    ),
    Pass(
        "fold_numbers",
        "factors in a row become one; what changes nothing (`x + 0`, `x * 1`) goes",
        lambda graph, on: fold_numbers(graph),
    ),
    Pass(
        "fuse_attention",
        "softmax(Q K' ..) V becomes one op, which PyTorch has a fused kernel for",
        # What caps its scores is computed in blocks of queries, which are those of placed masks.
        lambda graph, on: fuse_attention(graph, capped=graph.stepped is None and "place_masks" in on)[0],
    ),
    Pass(
        "place_masks",
        "masks of positions go to the attention that they belong to, and are never made",
        lambda graph, on: place_masks(graph),
        (FORWARD, PREPARE),
    ),
    Pass(
        "inline",
        "a block without weights that is one expression stands where it is called",
        lambda graph, on: inline(graph),
    ),
    Pass(
        "dispatch",
        "what is computed for each index of an axis, but read at picked ones alone, is computed for these",
        lambda graph, on: dispatch(graph),
    ),
    Pass(
        "stack",
        "a choice by the index of an axis of two items puts the two side by side",
        lambda graph, on: stack(graph),
    ),
    Pass("merge", "what a body makes twice is made once", lambda graph, on: merge(graph)),
    Pass(
        "linear_scans",
        "a scan whose states are linear in themselves is done for all items at once, in chunks",
        lambda graph, on: linear_scans(graph),
        (FORWARD,),
    ),
    Pass(
        "cells",
        "a scan that is an LSTM, a GRU or a plain recurrent network is one op, PyTorch's own",
        lambda graph, on: cells(graph),
        (FORWARD,),
    ),
    Pass(
        "lift_scans",
        "what does not hang on the states of a scan is done for all items at once, and not in the loop",
        lambda graph, on: lift_scans(graph),
        (FORWARD,),
    ),
    Pass(
        "running_sums",
        "running sums of products that queries read at once are read in chunks, and never made",
        lambda graph, on: running_sums(graph),
        (FORWARD,),
    ),
    Pass(
        "hoist",
        "what depends on positions and sizes alone is made once, not once a pass of a repeat or a call of a block",
        lambda graph, on: hoist(graph),
    ),
    Pass(
        "arrange",
        "what enters a repeat lies as the blocks in it want it, not transposed in each pass",
        lambda graph, on: arrange(graph),
    ),
    Pass(
        "spend_logits",
        "a cross-entropy computes in the memory of its logits, where nothing else reads them (PyTorch)",
        lambda graph, on: spend_logits(graph),
        (FORWARD,),
    ),
    Pass(
        "mask_arguments",
        "a block called with masks and without, causal or not, takes that as arguments, and is one",
        lambda graph, on: mask_arguments(graph),
        (FORWARD,),
    ),
    Pass(
        "unmask",
        "a mask that hides nothing is left out: that of one new item (PyTorch), and one that is kept",
        lambda graph, on: unmask(graph),
        (STEP,),
    ),
    Pass(
        "tabulate",
        "what a step makes of places by several ops is made for many at once, and read from a table (PyTorch)",
        lambda graph, on: tabulate(graph),
        (STEP,),
    ),
    Pass(
        "join_maps",
        "a step does the learned maps of one value as one product, where their weights lie side by side",
        lambda graph, on: join_maps(graph),
        (STEP,),
    ),
)
NAMES = tuple(one.name for one in PASSES)


def passes_without(names: Sequence[str] = ()) -> tuple[Pass, ...]:
    """The passes that are on where those of these names are off. Raises TypeError or ValueError, with all names."""
    if isinstance(names, str):
        raise TypeError(f"without: a list of passes, such as [{names!r}], not one")
    for name in names:
        if name not in NAMES:
            near = difflib.get_close_matches(str(name), NAMES)
            meant = f" (did you mean `{near[0]}`?)" if near else ""
            raise ValueError(f"there is no pass `{name}`{meant}; the passes are {', '.join(NAMES)}")
    return tuple(one for one in PASSES if one.name not in names)


def rewritten(graph: Graph, passes: Sequence[Pass], kind: str = FORWARD) -> Graph:
    """The graph with these passes done, of those that graphs of this kind get."""
    on = frozenset(one.name for one in passes)
    for one in passes:
        if kind in one.kinds:
            graph = one.run(graph, on)
    return graph
