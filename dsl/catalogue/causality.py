"""E07xx: what is claimed and proved of the whole graph."""

from __future__ import annotations

from .entry import Entry

ENTRIES = (
    Entry(
        "E0701",
        "not causal",
        """
        `-> [target, vocab] causal target` claims that item i of the result depends on no later item of any input, and
        the checker proves it or shows the path by which a later item leaks in. A model that sees what it is to predict
        trains to a wonderful loss and is worth nothing. Usual causes: a mask that is missing, or turned round
        (`target <= past` for `past <= target`); a sum, norm or sort over the whole sequence.
        """,
        """
width target
width past like target
depth d = 8

model look(x: [target, d]) -> [target, d] causal target {
    y = x[target as past]
    return dot[past](softmax[past](dot[d](x, y) where target <= past), y)
}
""",
        """
width target
width past like target
depth d = 8

model look(x: [target, d]) -> [target, d] causal target {
    y = x[target as past]
    return dot[past](softmax[past](dot[d](x, y) where past <= target), y)
}
""",
    ),
    Entry(
        "E0702",
        "causal along an axis that the result does not have",
        """
        `causal a` speaks of the items of the result along `a`, so the result has the axis `a`, or a part of it: of
        `width chunk = a / 4` each stands where the last item of its four does.
        """,
        """
width source, target
depth d = 8

model net(x: [target, d], y: [source, d]) -> [target, d] causal source {
    return relu(x) + broadcast[target](mean[source](y))
}
""",
        """
width source, target
depth d = 8

model net(x: [target, d], y: [source, d]) -> [target, d] causal target {
    return relu(x) + broadcast[target](mean[source](y))
}
""",
    ),
)
