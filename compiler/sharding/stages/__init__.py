"""A model as stages of a pipeline: graphs that are done one after another, each by devices of its own.

row.py      the nodes of a model in a row, with those of the blocks that have repeats, and each pass by itself
deal.py     which passes a stage has: so that the stage that has most to do has least
needs.py    what else a stage does, and what is sent from one to the next
build.py    the graph of a stage
stages.py   all of it
shapes.py   the shape of what is sent, from those of the inputs
"""

from .shapes import shape_of as shape_of
from .stages import Stage as Stage
from .stages import holders as holders
from .stages import stages as stages
