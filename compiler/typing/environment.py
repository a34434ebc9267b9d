"""One elaboration of a block: what names mean in it, and the mistakes found."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.problems import Problems
from ..names.modules import BlockDef, Module
from ..names.written_sizes import checked_size
from ..problems.sizes import DepthAtRunTime
from ..problems.surroundings import Surroundings
from ..sizes.arithmetic import open_width
from ..sizes.axes import Axis, Const, ConstOf, Static, axes_in, consts_in


@dataclass(eq=False)
class Environment:
    """One elaboration of a block: the meaning of names in it, and the mistakes found.

    open: ids of axis parameters whose size is for each call to say, while the block is checked on its own; and those
        of what it calls that stand for them.
    roles_known: whether it is known which arguments carry data, so that D7 is decided here. While a block that others
        call is checked on its own it is not: only a call decides.
    taken: whether what is checked is surely done. In a branch of a static `if` that is not taken, or that may not be,
        names and types are checked, and sizes are not: they may fit only where it is taken.
    """

    block: BlockDef
    module: Module
    names: dict[str, Axis]
    consts: dict[str, Static]
    of_file: dict[int, Axis]  # the axis of this specialisation that stands for a file's axis
    const_of_file: dict[int, Const]
    lifted: tuple[Axis, ...]
    roles_known: bool
    params: list[Axis] = field(default_factory=list)
    const_params: list[Const] = field(default_factory=list)
    results: tuple[s.ResultDecl, ...] = ()
    own_axes: list[Axis] = field(default_factory=list)
    open: set[int] = field(default_factory=set)
    local_consts: dict[str, Static] = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)
    at: Span | None = None  # the statement at hand
    running: set[Const] = field(default_factory=set)  # const parameters for which a call gives what only a run knows
    misdeclared: set[str] = field(default_factory=set)  # names of which nothing is known but that they are meant
    taken: bool = True

    @classmethod
    def of(cls, block: BlockDef, *, roles_known: bool, taken: bool = True) -> Environment:
        """An environment without parameters yet."""
        results = block.decl.results
        return cls(
            block,
            block.module,
            {},
            {},
            {},
            {},
            (),
            roles_known,
            results=results,
            problems=Problems(block.name),
            taken=taken,
        )

    @property
    def of_sizes(self) -> Problems:
        """Where it is said that sizes and numbers are not what they must be: aside, in a branch that is not taken."""
        return self.problems if self.taken else Problems()

    def sized(
        self, size: Static, span: Span, name: str, *, formula_span: Span | None = None, library: bool = False
    ) -> tuple[int | None, Static | None]:
        """The extent of an axis where it is known, and its formula; a wrong one is reported. In a branch that is not
        taken nothing is known of such a size.
        """
        problems = self.of_sizes
        extent = checked_size(problems, size, span, name, formula_span=formula_span, library=library)
        return extent, None if not self.taken and problems.found else size

    def axis(self, name: str) -> Axis | None:
        return self.names.get(name)

    def const(self, name: str) -> Static | None:
        return self.local_consts.get(name) or self.consts.get(name)

    def bearer(self, name: str) -> tuple[str, Span | None] | None:
        """What has this name here already, so that no variable may: "axis" or "const", and where it is declared."""
        axis = self.axis(name) or self.module.axes.get(name)  # also what the block does not mention otherwise
        if axis is not None:
            return "axis", axis.span
        return None if self.const(name) is None and name not in self.module.consts else ("const", None)

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

    @property
    def surroundings(self) -> Surroundings:
        """What is known of axes at this point, for mistakes."""
        module, block = self.module, self.block
        beside = tuple(each.decl for each in module.own if each is not block)
        return Surroundings(self.names, module.axes, self.of_file, module.spans.keys(), self.lifted, block.decl, beside)

    def axis_names(self) -> list[str]:
        return list(self.names)

    def const_names(self) -> list[str]:
        return [*self.consts, *self.local_consts]

    def candidate_axes(self) -> list[str]:
        """The axis names that a misspelt one may mean: also those of the file that the block does not mention."""
        return [*self.names, *self.module.axes]

    def candidate_consts(self) -> list[str]:
        return [*self.const_names(), *self.module.consts]

    def add_axis(self, axis: Axis) -> None:
        self.names = {**self.names, axis.name: axis}
        self.own_axes.append(axis)
