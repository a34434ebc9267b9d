"""Statements: `dispatch.run`, and the kinds of statements, each of which says there what reads it."""

from . import assignments as assignments
from . import branches as branches
from . import declarations as declarations
from . import repeats as repeats
