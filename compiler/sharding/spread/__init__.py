"""The graph of one device: the model's graph with parts in place of the axes that are split, and collectives between.

Where a value lies follows from its type (`placement.py`). An op is split along one of the axes that it runs over, the
first that each mesh axis claims and that it can be split along; its operands are brought there, its result from there
to where it belongs: what is sent for it is a collective (`sends.py`), an op of the graph as others are.

A graph is spread once for each way in which its inputs are given. What its own ops need of these says how they are
given best: what does not depend on weights is made anew where it is needed, and gradients of several uses are summed
at once.

    placing.py     where the values of a graph lie, and the parts of axes
    growing.py     the graph of one device as it grows: what is known of each value
    moving.py      values brought elsewhere: collectives
    free.py        values that are made anew where they are needed; bringing.py: all values, where an op needs them
    splits.py      along which axes an op can be split; elementary.py: ops as several that can
    rows.py        what is done for the rows that experts are given: all that is split otherwise than its type says
    ops.py         an op split; lookups.py: one that looks up items of which each device has some
    finished.py    a graph that is done: its axes, and how it is given its inputs best
    graphs.py      a graph and all that is nested in it
"""

from .finished import GraphSpread as GraphSpread
from .graphs import spread as spread
