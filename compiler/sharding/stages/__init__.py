"""A model as stages of a pipeline: graphs that are done one after another, each by devices of its own.

row.py      the nodes of a model in a row, with those of the blocks that have repeats, and each pass by itself
deal.py     which passes a stage has: so that the stage that has most to do has least
needs.py    what else a stage does, and what is sent from one to the next
build.py    the graph of a stage
draws.py    which random numbers of the model it draws
stages.py   all of it
shapes.py   the shape of what is sent, from those of the inputs
plan.py     what stages come to on a mesh; page.py: as text, and as data
"""

from .page import data_of_stages as data_of_stages
from .page import page_of_stages as page_of_stages
from .plan import PipelinePlan as PipelinePlan
from .plan import planned_stages as planned_stages
from .shapes import shape_code as shape_code
from .shapes import shape_of as shape_of
from .stages import Stage as Stage
from .stages import holders as holders
from .stages import stages as stages
