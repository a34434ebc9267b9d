"""Rewrites: pure functions graph -> graph, one per file. The graph is valid before and after each.

`compiler/pipeline.py` lists those between the checked graph and code, in order; each can be left out.

picks      where a mask lets through too few items, the rest are picks of nothing, which count for nothing
ragged     each example of a batch has a length of its own, and what is padding is left out
numerics   numbers as they are meant: whole ones exact, gradients finite
kernels    what becomes one op with a kernel of its own: attention, its masks, a cross-entropy in its logits' memory
simplify   the same with less: truths known at build time, equal nodes, factors, what is the same in every pass
tools      walking nested graphs, and carrying nodes from one into another
"""
