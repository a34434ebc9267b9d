"""Streaming regions: parts of a graph that can be computed one tile of an axis at a time, and the proof that they can.

`region.py` is what is found, `rules.py` the folds and how they compose, `find.py` the reader of a finished graph.
"""
