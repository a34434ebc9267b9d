"""How a way came about (`core/ways.Why`), step by step in words: the path of a leak, for messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ..graph.core.access import access
from ..graph.core.following import Followed, bases
from ..graph.core.term import ONE, ZERO
from ..graph.core.ways import By, Way, Why
from ..graph.nodes import Apply, Call, Constant, Input, Repeat, Scan
from ..graph.traits import Arrange, Gather, IndexMap, Normalise, Reduce, Window
from ..problems.causality import Trace
from ..sizes import limits as most
from ..sizes.axes import Axis, SizeOf, Static, axes_in, known
from ..sizes.forms import LinearForm, show, upper_bounds, without_quotients
from ..sizes.predicates import differences

EVEN = "even of equal items, it tells their number"
Text = str | Callable[[], str]


class Telling:
    """followed: what the relation follows, of which these ways are."""

    def __init__(self, followed: Followed) -> None:
        self.followed = followed

    def trace(self, way: Way, place: int) -> Trace:
        """The path of a way, as far as it says where one of its places stands."""
        why = way.why
        assert why is not None  # each way has come about somehow
        before = None if why.before is None else self.trace(why.before, place)
        match why.by:
            case By.INPUT:
                return _entered(why)
            case By.NUMBER:
                return _number(why)
            case By.READ | By.TELLS:
                return self._step(why, way, place, before)
            case By.ANYTHING if isinstance(why.node, Apply):
                return Trace(f"what `{why.node.op}` reads is not known: it may read anything", why.node.span, before)
            case By.ANYTHING:
                assert isinstance(why.node, Call)
                text = f"`{why.node.graph.name}` is an op of your own: it may read anything"
                return Trace(text, None, before, at=why.at, via=((why.node, why.home), *why.via))
            case By.LOOP:
                assert isinstance(why.node, Repeat | Scan)
                each = "pass" if isinstance(why.node, Repeat) else "step"
                return Trace(f"each {each} reaches further", why.node.span, before, again=True)
            case By.LIMIT:
                return Trace(
                    f"`{why.home.name}` is too long to follow: a proof takes at most {most.PROOF:,} steps",
                    why.home.span,
                    before,
                )

    # -- ops -------------------------------------------------------------------------------------------------------

    def _step(self, why: Why, way: Way, place: int, before: Trace | None) -> Trace:
        """The step of an op, or, if there is nothing to say of it, the one before, as it is seen behind this one."""
        node = why.node
        assert isinstance(node, Apply)
        text = self._tells(node, why, way) if before is None else self._reads(node, why, way, place, before)
        if why.by is By.TELLS and isinstance(node.traits.reads, Window) and _ahead(node):
            before = Trace(text, node.span, None, node, why.home, why.at, why.via)
            text = _ahead(node)
        if not text:
            assert before is not None
            inner = why.home
            for around, outer in why.via:
                before, inner = before.leaving(inner, around, outer), outer
            return before
        facts = why.case if why.by is By.READ else frozenset()
        return Trace(text, node.span, before, node, why.home, why.at, why.via, facts=facts)

    def _tells(self, node: Apply, why: Why, way: Way) -> Text:
        """Of an op whose result shows how many items there are."""
        axis = next(each for each in (*node.axes, *node.made) if self._counts(each, why, way))
        match node.traits.reads:
            case Reduce() | Normalise():
                return f"{self._how_far(node, why, {axis})}: {EVEN}"
            case Arrange(IndexMap.MIRRORED):
                return _turned(node, axis)
            case Arrange(IndexMap.DIGITS | IndexMap.NUMBER):
                return f"where `{node.op}` puts an item tells how many `{axis.name}` there are"
            case _:
                return f"`{node.op}` goes on after the last `{axis.name}`: {EVEN}"

    def _reads(self, node: Apply, why: Why, way: Way, place: int, before: Trace) -> Text:
        """Of an op that reads other items than its own; "" if there is nothing to say."""
        assert why.before is not None
        new = way.at[place].uppers
        own = {axis for form in why.before.at[place].uppers for axis in form.indices} & {*node.axes}
        if not own:
            return ""
        match node.traits.reads:
            case Reduce() | Normalise():
                return "" if new and _is_told(before, own) else partial(self._how_far, node, why, own)
            case Gather():
                return self._picks(node, why, bool(new))
            case Window():
                return _ahead(node)
            case Arrange(IndexMap.NUMBER) if not new:
                return f"`{node.op}` makes `{node.made[0].name}` of axes read further than their own index"
            case Arrange(IndexMap.MIRRORED):
                axis = next((axis for axis in node.axes if self._is_counted(axis, why)), None)
                return "" if axis is None else _turned(node, axis)
            case _:
                return ""

    def _picks(self, node: Apply, why: Why, bounded: bool) -> str:
        axis = node.axes[0]
        if bounded and why.limits == (ZERO,):
            return ""
        uppers = why.limits if self._is_counted(axis, why) else (*why.limits, LinearForm.extent(axis) - ONE)
        limits = [each for each in uppers if not self._tells_length(each, why)]
        if not bounded or not limits:
            return f"`[{axis.name} = ...]` may read any `{axis.name}`"
        return f"`[{axis.name} = ...]` reads `{axis.name}` up to {_shown(limits)}"

    def _how_far(self, node: Apply, why: Why, axes: set[Axis]) -> str:
        """Of the first of the axes of which every item is read, or of the last."""
        facts: dict[tuple[Axis, Axis], int] = differences((why.case,)) if why.alone else {}
        limits: Sequence[LinearForm] = ()
        for axis in sorted(axes, key=lambda axis: axis.id):
            limits = upper_bounds(LinearForm.index(axis), set(node.axes), why.case, lambda axis: False)
            if not limits or all(self._tells_length(limit, why) for limit in limits):
                turned = next((b for (b, a) in facts if a == axis and b not in node.axes), None)
                hint = f": its mask keeps `{turned.name} <= {axis.name}`, is it turned round?" if turned else ""
                return f"`{node.op}` reads every `{axis.name}`{hint}"
        return f"`{node.op}` reads `{axis.name}` up to {_shown(limits)}"

    # -- how many items there are ----------------------------------------------------------------------------------

    def _is_counted(self, axis: Axis, why: Why) -> bool:
        """Whether the number of an axis's items grows with the input, so that it reveals how many come after."""
        return bool(self.followed.sizes((axis,), why.site))

    def _counts(self, axis: Axis, why: Why, way: Way) -> bool:
        """Whether an axis is one whose number of items a way is about."""
        return any(each.source == way.source for each in self.followed.sizes((axis,), why.site))

    def _tells_length(self, form: LinearForm, why: Why) -> bool:
        counted = frozenset(self.followed.counted or ())
        actual = (why.site.family(family) for family in form.families)
        wholes = (whole.family for axis in actual if axis is not None for whole in bases(axis))
        return not counted.isdisjoint({*wholes, *form.families})


def _entered(why: Why) -> Trace:
    entry = why.node
    assert isinstance(entry, Input) and why.along is not None
    return Trace(f"`{entry.name}` is read along `{why.along.name}`", entry.value.span, None)


def _number(why: Why) -> Trace:
    match why.node:
        case Constant(value, out):
            return Trace(_of_size(value), out.span, None)
        case Apply(options=options, span=span):
            value = next(value for value in options.values() if known(value) is None)
            return Trace(_of_size(value), span, None)
        case Input(value=entered, default=default) if default is not None:
            return Trace(_of_size(default), entered.span, None)
        case _:
            raise AssertionError(why.node)


def _of_size(value: Static) -> str:
    shown = f"|{axes_in(value)[0].name}|" if isinstance(value, SizeOf) else "a size"
    return f"{shown} tells how many items there are"


def _turned(node: Apply, axis: Axis) -> str:
    return f"`{node.op}` turns the items of `{axis.name}` round: item 0 reads the last"


def _ahead(node: Apply) -> str:
    (read,) = access(node)
    axis, (at, tap) = node.axes[0], node.made
    if read.free:
        return f"`{node.op}` reads along another axis"
    last = read.at[axis].put({tap: LinearForm.extent(tap) - ONE})
    ahead = (last - LinearForm.index(at)).value if at == axis else None
    many = f"`{node.op}` reads up to {ahead} item{'s' if ahead is not None and ahead > 1 else ''} ahead"
    return many if ahead is not None and ahead > 0 else ""


def _is_told(trace: Trace, axes: set[Axis]) -> bool:
    """Whether the last step is a window, which has said how far these taps of it reach."""
    node = trace.node
    return node is not None and isinstance(node.traits.reads, Window) and axes <= {*node.made}


def _shown(limits: Sequence[LinearForm]) -> str:
    """`t` + 1."""
    simple = [offset for limit in limits if (offset := without_quotients(limit).offset) is not None]
    if simple:
        axis, by = min(simple, key=lambda offset: offset[1])
        return f"`{axis.name}`" + (f" {'+' if by > 0 else '-'} {abs(by)}" if by else "")
    return f"`{show(without_quotients(limits[0]))}`"
