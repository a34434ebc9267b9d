"""Types that are promised and not given, results that are missing, and calls of models with weights."""

from __future__ import annotations

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.problems import Problem
from ..graph.typed_value import TypedValue
from ..graph.values import Type
from ..sizes.axes import Axis
from .axes import Surroundings


class OtherType(Problem, code="E0315"):
    """A value has not the type that is written for it, at `at`. what: its name."""

    name: str
    value: TypedValue
    wanted: Type
    at: Span
    around: Surroundings


class OtherResult(OtherType, code="E0313"):
    """The same of a result. of_block: whether the name is that of the block."""

    of_block: bool


class TypeInRepeat(Problem, code="E0314"):
    """What a pass takes is not what it gives.

    head: of the repeat; number: of the pass, where passes differ. given: the variables that are arguments of the block.
    """

    name: str
    before: TypedValue
    after: TypedValue
    head: Span
    number: int | None
    given: tuple[tuple[str, TypedValue], ...]
    around: Surroundings


class NothingPromised(Problem, code="E0408"):
    """A model that does not say what it gives: values of these types."""

    name: str
    gives: tuple[Type, ...]


class OtherCount(Problem, code="E0408"):
    """A block promises so many results, at `promised`, and returns others."""

    name: str
    statement: s.Return
    gives: int
    wants: int
    promised: Span


class Unpacked(Problem, code="E0408"):
    """So many names for other results. axis: of a single value, one as long as there are names."""

    names: int
    results: int
    value: Span
    axis: Axis | None


class SharedDifferently(Problem):
    """Calls of one set of weights need it in two shapes. differs: the code, and what differs.

    name: of a model; or of a share, and then `block` is what it calls.
    """

    differs: tuple[str, str]
    name: str
    there: Span
    block: str = ""

    @property
    def code(self) -> str:
        return self.differs[0]


class SecondSet(Problem, code="E0413"):
    """A model would get a second set of weights, by another path. once: the block to be shared instead."""

    model: str
    declared: Span | None
    first: Span | None
    once: str
