"""What a mask of attention says about positions, kept symbolic so that no mask need be made.

read    from a value of the graph to its term
kinds   what a term is: causal, a band, strides, blocks, a prefix, padding, and joins of these

`graph/term.py` is the language: truth over the positions of queries and keys, and over data.
`rewrites/kernels/place_masks.py` brings the terms of a graph to the attention that they belong to.
"""
