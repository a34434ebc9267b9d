"""Expressions: `dispatch.expression`, and the kinds of expressions, each of which says there what reads it."""

from . import atoms as atoms
from . import calls as calls
from . import indexing as indexing
from . import operators as operators
