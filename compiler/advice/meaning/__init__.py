"""Mistakes of meaning: what fits in all its shapes and is wrong, or is worth a look, all the same. One file a kind.

Each is a reader of a finished graph: of a block as it stands alone, and of a model with all that it calls. What two
readings find at one place is told once. A reader says nothing of what it cannot prove: a false alarm costs more than a
mistake that is missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...base.problems import Problem
from ...graph.nodes import Graph
from ..places.empty_queries import empty_queries
from ..places.offsets import offsets
from ..places.own_target import own_targets
from ..places.turns import turns
from .comparisons import masks_of_places
from .dropped import wrongly_dropped
from .heads import heads_unlike
from .idle import idle
from .masks import masks_of_data
from .never_learn import never_learn
from .numbers import wrong_numbers
from .padding import padding_read

READERS: tuple[Callable[[Graph], Iterable[Problem]], ...] = (
    own_targets,
    empty_queries,
    wrong_numbers,
    masks_of_data,
    masks_of_places,
    padding_read,
    wrongly_dropped,
    heads_unlike,
)
OF_CALLERS: tuple[Callable[[Graph], Iterable[Problem]], ...] = (turns, offsets)
"""Those that read a block alone only if no model calls it: the model's own reading of it knows what it is given."""

OF_OWN_SIZES: tuple[Callable[[Graph], Iterable[Problem]], ...] = (never_learn, idle)
"""Those that read a file at the sizes that it declares alone: with others a softmax may be over one item, which is no
mistake of the text.
"""
