"""The step of a proof of causality through one op: what its result reads, by how the op reads its operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce

from ...dsl.base.records import mutable, replace
from ..graph.core.access import access, digits
from ..graph.core.places import place
from ..graph.core.term import ONE, ZERO, at_least, larger_of
from ..graph.nodes import Apply, Graph
from ..graph.traits import (
    Arrange,
    Choice,
    Gather,
    IndexMap,
    Normalise,
    OpTraits,
    Pointwise,
    Reduce,
    Running,
    Validity,
    Window,
)
from ..graph.values import Role, Value
from ..problems.causality import Trace
from ..sizes.axes import Axis
from ..sizes.forms import LinearForm, least, rises, show, upper_bounds, without_quotients
from ..sizes.predicates import ALWAYS, Cases, Facts, at_least_zero, both, differences, put, shared, without
from .caller_sizes import CallerSizes, reach_of_anything, reach_of_number, reveals_length
from .pointwise import pointwise, term
from .reach import TOP, Bound, Info, Reach, over_info, put_bound, unite


@mutable
class Step:
    """One op of the table."""

    node: Apply
    infos: dict[int, Info]
    sizes: CallerSizes
    graph: Graph

    def info(self) -> Info:
        found = self._result()
        numbers = [reach_of_number(value, self.node.span, self.sizes) for value in self.node.options.values()]
        return replace(found, reach=unite(found.reach, *numbers)) if any(numbers) else found

    def _result(self) -> Info:
        node, traits = self.node, self.node.traits
        parts = [self.infos[value.id] for value in node.operands]
        mask = self.infos[node.mask.id] if node.mask else None
        read = parts if mask is None else [*parts, mask]
        kept = ALWAYS if mask is None else mask.true
        if traits.checks:
            return Info({})
        match traits.reads:
            case Pointwise(Choice()):
                return self._choice(node, frozenset())
            case Pointwise(Validity()):
                return Info(parts[0].reach, self._ranks(node.operands[0], parts[0]))
            case Pointwise(meaning):
                found = pointwise(meaning, parts)
                return Info(found.reach, found.true) if traits.random else found  # multiplied: what is 0 stays so
            case Reduce() as how:
                return self._reduce(how, parts, read, kept)
            case Normalise() as how:
                return self._normalise(how, parts, read, kept)
            case Running():
                return Info(unite(*(up_to_here(part.reach, node.axes[0]) for part in read)))
            case Gather():
                return self.gather(parts[0], parts[1], mask)
            case Window():
                return self._window(parts[0])
            case Arrange(map):
                return self._arrange(map, parts)
            case _:
                text = f"what `{node.op}` reads is not known: it may read anything"
                values = node.operands if node.mask is None else (*node.operands, node.mask)
                return Info(reach_of_anything(text, node.span, read, values, self.sizes))

    # -- a choice ------------------------------------------------------------------------------------------------

    def _choice(self, node: Apply, given: Facts) -> Info:
        """What each side reads counts where it is taken."""
        condition, x, y = node.operands
        known = self.infos[condition.id]
        sides = (self._where(x, known.true, given), self._where(y, known.false, given))
        return pointwise(Choice(), [known, *sides], given)

    def _where(self, value: Value, cases: Cases, given: Facts) -> Info:
        """What is known of a value that is read in these cases alone."""
        return self._given(value, given | shared(cases) if cases else given)

    def _maker(self, value: Value) -> Apply | None:
        return next((each for each in self.graph.nodes if isinstance(each, Apply) and each.out.id == value.id), None)

    def _given(self, value: Value, given: Facts) -> Info:
        """What is known of a value where these facts hold of its indices: made again, as far back as these are read."""
        found, node = self.infos[value.id], self._maker(value)
        if not given or node is None or node.traits.random:
            return found
        match node.traits.reads:
            case Pointwise(Choice()):
                found = self._choice(node, given)
            case Pointwise(meaning):
                found = pointwise(meaning, [self._given(each, given) for each in node.operands], given)
            case Gather():
                x, at = node.operands
                mask = self.infos[node.mask.id] if node.mask else None
                found = replace(self, node=node).gather(self.infos[x.id], self._given(at, given), mask)
            case Arrange(IndexMap.NEW):
                found = self._given(node.operands[0], given)
        return replace(found, reach={_raised(bound, given): trace for bound, trace in found.reach.items()})

    # -- reach ---------------------------------------------------------------------------------------------------

    def _step(self, text: str | Callable[[], str], before: Trace | None, facts: Facts = frozenset()) -> Trace:
        return Trace(text, self.node.span, before, self.node, self.graph, self.graph, facts=facts)

    def _ranged(self, axis: Axis) -> bool:
        """Whether its size may bound an index: not where that tells how many items come after."""
        return not reveals_length(axis, self.sizes)

    def _tells_length(self, form: LinearForm) -> bool:
        return not self.sizes.families.isdisjoint(form.families)

    def _replaced(self, reaches: Sequence[Reach], axes: set[Axis], change: Callable[[LinearForm], Sequence[LinearForm]],
                  said: Callable[[Bound, Bound, Trace], str | Callable[[], str]],
                  facts: Facts = frozenset()) -> Reach:  # fmt: skip
        """The reach with each form replaced in which one of these axes stands.

        said: the words of the step from a bound to a new one, behind what was said so far; "" if it is none to be told.
        """
        out: Reach = {}
        for reach in reaches:
            for bound, trace in reach.items():
                if not any(form.indices & axes for form in bound):
                    out = unite(out, {bound: trace})
                    continue
                new = frozenset(least(made for form in bound for made in change(form)))
                text = said(bound, new, trace)
                out = unite(out, {new: self._step(text, trace, facts) if text else trace})
        return out

    def _put(self, x: Info, forms: Mapping[Axis, LinearForm]) -> Info:
        """Exactly these items, at other indices."""
        reach = unite({put_bound(bound, forms): trace for bound, trace in x.reach.items()})
        return Info(reach, put(x.true, forms), put(x.false, forms))

    def _bounded(self, parts: Sequence[Info], axes: set[Axis], support: Cases) -> Reach:
        """The reach after the axes went: in each case of the support each is replaced by what it is at most there,
        else by everything.
        """
        if not support:
            none = dict.fromkeys(axes, ZERO)
            return unite(*({put_bound(bound, none): trace for bound, trace in part.reach.items()} for part in parts))
        return unite(*(self._in_case(parts, axes, case, len(support) == 1) for case in support))

    def _in_case(self, parts: Sequence[Info], axes: set[Axis], case: Facts, alone: bool) -> Reach:
        def change(form: LinearForm) -> Sequence[LinearForm]:
            return upper_bounds(form, axes, case, self._ranged)

        def said(bound: Bound, new: Bound, trace: Trace) -> str | Callable[[], str]:
            own = {axis for form in bound for axis in form.indices} & axes
            return "" if new and _told(trace, own) else partial(self._how_far, own, case, alone)

        read = {axis for part in parts for bound in part.reach for form in bound for axis in form.indices}
        out = self._replaced([part.reach for part in parts], axes, change, said, case)
        for axis in sorted(axes - read, key=lambda axis: axis.id):
            if not reveals_length(axis, self.sizes):
                continue
            limits = change(LinearForm.index(axis))
            if any(_is_own(limit, axis) for limit in limits):
                continue
            there = place(axis, self.sizes.claimed)
            new = TOP if there is None else frozenset(change(there))
            text = self._how_far({axis}, case, alone)
            out = unite(out, {new: self._step(f"{text}: even of equal items, it tells their number", None)})
        return out

    def _how_far(self, axes: set[Axis], case: Facts, alone: bool) -> str:
        """In words, of the first of the axes of which every item is read, or of the last; alone: there is one case."""
        op, facts = self.node.op, differences((case,)) if alone else {}
        for axis in sorted(axes, key=lambda axis: axis.id):
            limits = upper_bounds(LinearForm.index(axis), set(self.node.axes), case, lambda axis: False)
            if not limits or all(map(self._tells_length, limits)):
                turned = next((b for (b, a) in facts if a == axis and b not in self.node.axes), None)
                hint = f": its mask keeps `{turned.name} <= {axis.name}`, is it turned round?" if turned else ""
                return f"`{op}` reads every `{axis.name}`{hint}"
        return f"`{op}` reads `{axis.name}` up to {_shown(limits)}"

    def _reduce(self, how: Reduce, parts: list[Info], read: list[Info], kept: Cases) -> Info:
        """It does not read what its mask leaves out; some ops do not read zeros either."""
        node, axes = self.node, set(self.node.axes)
        support = kept
        for part in parts if how.skips_zeros and (how.multiplies or len(parts) == 1) else []:
            support = both(support, part.true)
        biased = len(node.weights) > how.multiplies  # something is added to the product
        zero = how.skips_zeros and not biased and how.combination is not None and how.combination.neutral == 0
        reach = self._bounded(read, axes, support)
        true = without(support, axes) if zero else ALWAYS
        if not how.indices:
            return Info(reach, true)
        at = LinearForm.index(node.axes[0])
        found = [upper_bounds(at, axes, case, self._ranged) for case in kept]  # of a pick of something
        return Info(reach, true, lowers=(ZERO,), uppers=reduce(larger_of, found) if found else (ZERO,))  # there is none

    def _ranks(self, pick: Value, info: Info) -> Cases:
        """Where there are picks of something: items up to u are no more than u + 1, so that their ranks are up to u."""
        maker, found = self._maker(pick), ALWAYS
        if maker is None or not isinstance(maker.traits.reads, Reduce) or not maker.made:
            return found
        for upper in info.uppers:
            found = both(found, at_least_zero(upper - LinearForm.index(maker.made[0])))
        return found

    def _normalise(self, how: Normalise, parts: list[Info], read: list[Info], kept: Cases) -> Info:
        """Items that the mask leaves out have weight zero."""
        support = both(parts[0].true, kept) if how.skips_zeros else kept
        reach = self._bounded(read, set(self.node.axes), support)
        return Info(reach, kept if how.weights and not how.logarithm else ALWAYS)

    def gather(self, x: Info, e: Info, mask: Info | None) -> Info:
        """An index that may be less than 0 would count from the end. What the mask leaves out reads nothing."""
        node, axis = self.node, self.node.axes[0]
        sure = node.operands[1].role <= Role.TABLE or at_least(term(e), ZERO)
        uppers, lowers = (e.uppers, e.lowers) if sure else ((), ())
        if self._ranged(axis):
            uppers, lowers = (*uppers, LinearForm.extent(axis) - ONE), (*lowers, ZERO)

        def change(form: LinearForm) -> Sequence[LinearForm]:
            if axis not in form.indices:
                return [form]
            if e.form is not None and sure:
                return [form.put({axis: e.form})]
            limits = uppers if rises(form, axis) else lowers if rises(-form, axis) else ()
            return [form.put({axis: limit}) for limit in limits]

        def said(bound: Bound, new: Bound, trace: Trace) -> str:
            limits = [each for each in uppers if not self._tells_length(each)]
            if not new or not limits:
                return f"`[{axis.name} = ...]` may read any `{axis.name}`"
            return f"`[{axis.name} = ...]` reads `{axis.name}` up to {_shown(limits)}" if e.form != ZERO else ""

        reach = unite(self._replaced([x.reach], {axis}, change, said), e.reach, {} if mask is None else mask.reach)
        if e.form is not None:
            return Info(reach, put(x.true, {axis: e.form}), ALWAYS if mask else put(x.false, {axis: e.form}))
        return Info(reach, without(x.true, {axis}), ALWAYS if mask else without(x.false, {axis}))

    def _arrange(self, map: IndexMap, parts: list[Info]) -> Info:
        node, x = self.node, parts[0]
        match map:
            case IndexMap.NEW:
                return x
            case IndexMap.SAME:
                return over_info(x, dict(zip(node.axes, node.made, strict=True)))
            case IndexMap.SHIFTED:
                by = LinearForm.static(node.options["left"])
                ended = replace(x, reach=self._ended(x, node.axes[0]))
                return Info(self._put(ended, {node.axes[0]: LinearForm.index(node.made[0]) - by}).reach)
            case IndexMap.PARTS:
                return self._concat(parts)
            case IndexMap.DIGITS:
                return self._put(x, {node.axes[0]: digits(node.made)})
            case IndexMap.NUMBER:
                return self._merge(x)
            case IndexMap.MIRRORED:
                return self._mirror(x)

    def _concat(self, parts: list[Info]) -> Info:
        """Item i of a part stands behind all items of the parts before it."""
        node, before = self.node, ZERO
        reaches: list[Reach] = []
        for number, (part, axis) in enumerate(zip(parts, node.axes, strict=True)):
            reach = self._ended(part, axis) if number < len(parts) - 1 else part.reach
            there = LinearForm.index(node.made[0]) - before
            reaches.append({put_bound(bound, {axis: there}): trace for bound, trace in reach.items()})
            before += LinearForm.extent(axis)
        return Info(unite(*reaches))

    def _mirror(self, x: Info) -> Info:
        """Item 0 of the result is the last item, so the result reveals how many there are, even where all are equal."""
        axes = set(self.node.axes)
        turned = {axis: LinearForm.extent(axis) - ONE - LinearForm.index(axis) for axis in axes}
        if all(map(self._ranged, axes)):
            return self._put(x, turned)
        name = next(axis.name for axis in self.node.axes if not self._ranged(axis))
        text = f"`{self.node.op}` turns the items of `{name}` round: item 0 reads the last"
        reach = self._replaced([x.reach], axes, lambda form: [] if form.indices & axes else [form], lambda *_: text)
        return Info(unite(reach, {TOP: self._step(text, None)}))

    def _ended(self, x: Info, axis: Axis) -> Reach:
        """A result that goes on after the last item of an axis reveals, by what follows, that it was the last."""
        if reveals_length(axis, self.sizes) and not any(axis in form.indices for bound in x.reach for form in bound):
            text = f"`{self.node.op}` goes on after the last `{axis.name}`: even of equal items, it tells their number"
            there = place(axis, self.sizes.claimed)
            return unite(x.reach, {TOP if there is None else frozenset({there}): self._step(text, None)})
        return x.reach

    def _window(self, x: Info) -> Info:
        """Tap t of the window at s reads s * stride + t - pad."""
        node = self.node
        axis, (at, tap) = node.axes[0], node.made
        (read,) = access(node)
        ended = self._ended(x, axis)
        if read.free:
            return Info({TOP: self._step(f"`{node.op}` reads along another axis", None)})
        there = read.at[axis]
        last = there.put({tap: LinearForm.extent(tap) - ONE})
        ahead = (last - LinearForm.index(at)).value if at == axis else None
        many = f"`{node.op}` reads up to {ahead} item{'s' if ahead is not None and ahead > 1 else ''} ahead"
        said = many if ahead is not None and ahead > 0 else ""
        return Info(self._replaced([ended], {axis}, lambda form: [form.put({axis: there})], lambda *_: said))

    def _merge(self, x: Info) -> Info:
        """The axes are digits of the one made, from the coarsest."""
        node, axes, made = self.node, set(self.node.axes), LinearForm.index(self.node.made[0])
        number = digits(node.axes)
        facts = frozenset({made - number, number - made})

        def said(bound: Bound, new: Bound, trace: Trace) -> str:
            return "" if new else f"`{node.op}` makes `{node.made[0].name}` of axes read further than their own index"

        def change(form: LinearForm) -> Sequence[LinearForm]:
            return upper_bounds(form, axes, facts, self._ranged)

        reach = self._replaced([x.reach], axes, change, said)
        true, false = (tuple(case | facts for case in cases) for cases in (x.true, x.false))
        return Info(reach, without(true, axes), without(false, axes))


def _told(trace: Trace, axes: set[Axis]) -> bool:
    """Whether the last step is a window, which has said how far these taps of it reach."""
    match trace.node:
        case Apply(traits=OpTraits(reads=Window()), made=made):
            return axes <= {*made}
        case _:
            return False


def _is_own(limit: LinearForm, axis: Axis) -> bool:
    """Whether an index is at most that of another axis of its family."""
    found = limit.offset
    return found is not None and found[0].family == axis.family and found[1] <= 0


def _shown(limits: Sequence[LinearForm]) -> str:
    """`t` + 1."""
    simple = [offset for limit in limits if (offset := without_quotients(limit).offset) is not None]
    if simple:
        axis, by = min(simple, key=lambda offset: offset[1])
        return f"`{axis.name}`" + (f" {'+' if by > 0 else '-'} {abs(by)}" if by else "")
    return f"`{show(without_quotients(limits[0]))}`"


def _raised(bound: Bound, given: Facts) -> Bound:
    """A bound where these facts hold: what is a number is at most as much as an index that is at least that."""
    more = (form + fact for form in bound if form.value is not None for fact in given)
    return bound | {form for form in more if form.constant <= 0 and form.indices}


def up_to_here(reach: Reach, axis: Axis) -> Reach:
    """What the items of an axis up to each read together."""

    def change(form: LinearForm) -> Sequence[LinearForm]:
        if axis not in form.indices or rises(form, axis):
            return [form]
        return [form.put({axis: ZERO})] if rises(-form, axis) else []

    return unite({frozenset(made for form in bound for made in change(form)): t for bound, t in reach.items()})
