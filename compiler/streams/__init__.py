"""Streaming regions: parts of a graph that can be computed one tile of an axis at a time, and the proof that they can.

`prepare.py` makes a graph ready, `find.py` reads it, `region.py` is what is found, `rules.py` the folds and how they
compose.
"""
