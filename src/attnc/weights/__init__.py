"""Weights in files (safetensors), and under other people's names.

    weights = attnc.weights.load("model.safetensors")                    # mapped: nothing is read yet
    weights = attnc.weights.convert(weights, "gpt2.map", model)          # to the names of the spec
    net = model.torch(weights=weights)

Nothing here unpickles, or runs anything that a file says.
"""

from ..backends.loading.load import WeightsError
from .convert import convert
from .files import Weights, load, save
from .maps import Map

__all__ = ["Map", "Weights", "WeightsError", "convert", "load", "save"]
