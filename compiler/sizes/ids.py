"""Where the ids of axes and consts begin that are made behind the checker: each kind has a range of its own, so that no
two are ever the same.
"""

from __future__ import annotations

STEPS = 1 << 40  # axes of decoding: of its steps
BROUGHT = 1 << 41  # axes of bodies that are brought elsewhere
PARTS = 1 << 50  # axes with the items that one device has of another
ROWS = 1 << 51  # axes of the rows that experts are given
PASSES = 1 << 52  # consts: numbers of passes, in a stage that has only some
