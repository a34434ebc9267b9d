"""Looking inside a compiled model: what its attention weighs, read by the names of the spec.

    import attnc.inspect

    look = attnc.inspect.look(model, {"x": x}, weights)        # every attention map: {path: Map}
    look["layers.0.multihead.weights"].entropy()               # in nats, for each head and query
    look.html()                                                # one page to explore them

Which axis is the keys' and which the queries' comes from the spec: a `softmax` normalises over the keys, and the widths
that are left are the queries'. NumPy does the figures; only pictures need matplotlib.
"""

from __future__ import annotations

from .find import Spot, spots
from .look import Look, look
from .maps import Map
from .measure import carried, entropy, spectrum
from .model_inputs import inputs
from .problem import InspectError

__all__ = ["InspectError", "Look", "Map", "Spot", "carried", "entropy", "inputs", "look", "spectrum", "spots"]
