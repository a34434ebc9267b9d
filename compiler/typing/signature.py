"""The parameters of a block in one elaboration of it, and where its mistakes go."""

from __future__ import annotations

from ...dsl.base.records import field, mutable
from ...dsl.source import Span
from ..base.problems import Problems
from ..names.modules import BlockDef, Module
from ..problems.sizes import DepthAtRunTime
from ..sizes.arithmetic import open_width
from ..sizes.axes import Axis, Const, ConstOf, Static, axes_in, consts_in


@mutable
class BlockSignature:
    """What names in the head of a block stand for, and those of its file.

    roles_known: whether it is known which arguments carry data, so that D7 is decided here. While a block that others
        call is checked on its own it is not: only a call decides.
    by_roles: whether something was refused here, or in what is called, by what is known to carry data.
    of_file, const_of_file: what stands here for an axis or const of a file, by its id.
    lifted: axes that the call brings.
    open: ids of axis parameters whose size is for each call to say, while the block is checked on its own; and those
        of what it calls that stand for them.
    running: const parameters for which a call gives what only a run knows.
    misdeclared: names of which nothing is known but that they are meant.
    at: the statement at hand.
    """

    block: BlockDef
    roles_known: bool
    by_roles: bool = False
    names: dict[str, Axis] = field(default_factory=dict)
    consts: dict[str, Static] = field(default_factory=dict)
    of_file: dict[int, Axis] = field(default_factory=dict)
    const_of_file: dict[int, Const] = field(default_factory=dict)
    lifted: tuple[Axis, ...] = ()
    params: list[Axis] = field(default_factory=list)
    const_params: list[Const] = field(default_factory=list)
    open: set[int] = field(default_factory=set)
    running: set[Const] = field(default_factory=set)
    misdeclared: set[str] = field(default_factory=set)
    at: Span | None = None
    problems: Problems = field(init=False)

    def __post_init__(self) -> None:
        self.problems = Problems(self.block.name)

    @property
    def module(self) -> Module:
        return self.block.module

    def is_missing(self, name: str) -> bool:
        """Whether its declaration is wrong, or stands in a file that could not be read: nothing is to be said of it."""
        return name in self.misdeclared or name in self.module.missing

    def is_open(self, static: Static | None) -> bool:
        """Whether it is a const parameter without a value: each call says whether it is a number or a truth value."""
        if not isinstance(static, ConstOf):
            return False
        return static.const.value is None and static.const.like is None and static.const in self.const_params

    def known_at_calls(self, static: Static) -> bool:
        """Whether each call decides all that is unknown in it. A depth has a size in every call."""
        consts = (const.value is not None or const in self.const_params for const in consts_in(static))
        return all(consts) and all(axis.extent is not None or not axis.is_width for axis in axes_in(static))

    def left_to_calls(self, static: Static) -> bool:
        """Whether a call would decide it and there is none: the block is checked on its own."""
        return self.known_at_calls(static) and not any(
            const.value is None and const.like is not None for const in consts_in(static)
        )

    def only_at_run_time(self, static: Static) -> bool:
        """Whether it is known at run time only: it depends on a width without a size, in every call."""
        return open_width(static, self.open) is not None or any(const in self.running for const in consts_in(static))

    def known_depth(self, name: str, size: Static, span: Span) -> bool:
        """Whether a depth has a size before a run (D1); reported."""
        if not self.only_at_run_time(size):
            return True
        return self.problems.refuse(DepthAtRunTime(span, name, open_width(size, self.open)))

    def opened(self, axis: Axis) -> Axis:
        """The axis; one of which nothing is known may have any size: it stands in a branch that is not taken."""
        if axis.extent is None and axis.size is None:
            self.open.add(axis.id)
        return axis
