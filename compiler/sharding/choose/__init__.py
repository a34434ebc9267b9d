"""Which axes of a model each axis of a mesh splits.

roles.py      the axes of a model by what they are
rules.py      what each axis of a mesh splits, as somebody says, else by the roles of axes
quickest.py   what `model` splits where nobody says so: that which makes a step shortest
"""

from .quickest import best_splits as best_splits
from .quickest import multiplied as multiplied
from .roles import axes_named as axes_named
from .roles import free_depths as free_depths
from .roles import grouped as grouped
from .roles import input_widths as input_widths
from .roles import with_sizes as with_sizes
from .rules import NoSplit as NoSplit
from .rules import mesh_over as mesh_over
from .rules import require_known as require_known
from .rules import splits_of as splits_of
