"""What two models have in common, and what not: part by part, over blocks and repeats.

Parts are set side by side by what they are called and in the order in which they are written, as lines of two texts
are; what stands side by side is then compared by what it acts on, its weights, its numbers and what it reads.
"""

from .comparing import difference
from .difference import Difference, DiffKind, DiffPart, SizeChange

__all__ = ["DiffKind", "DiffPart", "Difference", "SizeChange", "difference"]
