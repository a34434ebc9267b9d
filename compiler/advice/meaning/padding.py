"""Padding that attention leaves out, and that is read elsewhere (W0522): in a layer without the mask, a mean or another
pooling, a normalisation, a loss. What is computed of an example then hangs on how far the others of its batch are long.

Of each value it is known along which axis its items are those of which input: `x[word]` of `ids[word]`, also behind
maps of each item by itself and under another name of the axis. A truth value of an input is a mask of padding if a
softmax over keys, for queries of data, lets no key through where it is false (or true), whatever else holds and whoever
asks: `real[key]` and what is joined to it by `and`, not `kind[key] == kind`. Or an input is a number of items, and no
key from it on is let through (`key < n`). What it leaves out there is padding of the input that the keys are of, along
their axis alone. One that says which items are hidden from an encoder, or serve as memory, has another part too:
elsewhere its opposite is a mask, a branch puts other data or a learned vector in their place, or places choose among
the same keys. A fill or a penalty, `select(pad, -1e9, scores)`, leaves out as a mask does. Names say nothing.

Silent: what has any mask of its own (places, as where a causal model is padded on the right; other data); what the mask
has a part in (`select(real, x, 0)`); masks beside which another mask is used on the same keys, so that they may choose
among real items; pooling alone, where nothing is attended to; the last place of all, which SigLIP (Zhai et al. 2023)
means to be padding; ragged widths, which have no padding.

A mean that takes the padding in is issue 15045 of jsboige/CoursIA, and issue 13 of BERT-whitening-pytorch, which
measures what it costs; a cross-attention that reads the padding of texts, issue 258 of aigc-apps/VideoX-Fun.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ....dsl.source import Span
from ...base.problems import Problem
from ...graph.core.flow import Leaf
from ...graph.core.index import Nest, index_of
from ...graph.core.term import constant
from ...graph.nodes import Apply, Call, Constant, Graph, Input, Positions
from ...graph.traits import (
    ADDED,
    Arrange,
    Choice,
    Compared,
    Complement,
    IndexMap,
    Normalise,
    Pointwise,
    Product,
    Quotient,
    Reduce,
    Running,
    Sum,
)
from ...graph.values import Role, Scalar, Value
from ...problems.plain import Plain
from ...sizes.axes import Axis, SizeOf, evaluate
from ...sizes.forms import LinearForm
from ..places.tables import widths
from .comparisons import NONE, NOTHING, ItemCounts, Items, KnownTruth, implied
from .flow import Follower, KnownValues
from .masks import LARGE

_SPOKEN = -1  # no input's: along this axis all that is to be said is said, or nothing is known
_OTHER = -2  # no input's: a mask that is computed
_GIVEN = re.compile(r"\bwhere\b")


class _Scope(NamedTuple):
    """A graph with what is known in it. call: the one in it that is read, if any."""

    graph: Graph
    known: KnownValues[KnownTruth]
    names: Mapping[Axis, Axis]
    call: Call | None


class _Left(NamedTuple):
    """Where a mask leaves out padding of these inputs. turned: its opposite does."""

    inputs: frozenset[int]
    turned: bool
    node: Apply
    scopes: tuple[_Scope, ...]


class _Read(NamedTuple):
    """Where items of these inputs are put together along an axis. kept: masks that have a part in it."""

    inputs: frozenset[int]
    kept: frozenset[int]
    axis: Axis
    node: Apply
    plain: Plain
    scopes: tuple[_Scope, ...]  # the last is that of the node


def padding_read(graph: Graph) -> Iterator[Problem]:
    """Padding that a graph, or what it calls, leaves out at one place and reads at another."""
    reading = _Padding(graph)
    if reading.paddings and graph.span is not None:
        yield from reading.told(graph)


class _Padding(Follower[KnownTruth]):
    """along: each width of each input, which is what is numbered, and at the end each input that is a whole number.
    counts: these. truths: these, and the widths of truth values; paddings: those of them that may be masks.
    """

    def __init__(self, top: Graph) -> None:
        super().__init__()
        self.top, self.source = top, None if top.span is None else top.span.source
        self.along = [(entry, axis) for entry in top.inputs for axis in widths(entry.value)]
        bools = (n for n, (entry, _) in enumerate(self.along) if entry.value.type.element is Scalar.BOOL)
        whole = (each for each in top.inputs if each.value.type.element is Scalar.INT and not widths(each.value))
        ones = {len(self.along) + n: entry for n, entry in enumerate(whole)}
        self.counts = ItemCounts(ones)
        self.along += zip(ones.values(), self.counts.units, strict=True)
        self.truths = frozenset((*bools, *ones))
        self.paddings = frozenset(n for n in self.truths if n in ones or len(widths(self.along[n][0].value)) == 1)
        self.masked: dict[int, list[_Left]] = {}
        self.attended: list[tuple[frozenset[int], frozenset[int]]] = []  # inputs, and the masks of their keys
        self.placed: list[frozenset[int]] = []  # inputs whose keys a mask of places chooses
        self.sides: set[int] = set()  # truth values, or their opposites, that ops have as masks, or branches go by
        self.seen: list[_Read] = []
        self.scopes: tuple[_Scope, ...] = ()
        self.now = KnownValues[KnownTruth]({})  # in the graph that is read

    def told(self, graph: Graph) -> list[Problem]:
        self.follow(graph)
        return [found for read in self.seen for found in self._wrong(read)] if self.masked else []

    # -- what is known -----------------------------------------------------------------------------------------------

    def entering(self, given: tuple[KnownTruth | None, ...]) -> tuple[KnownTruth | None, ...]:
        if self.home is not self.top:
            return given
        return tuple(map(self._entered, self.top.inputs))

    def _entered(self, one: Input) -> KnownTruth:
        own = [(axis, n) for n, (entry, axis) in enumerate(self.along) if entry is one]
        if any(axis in self.counts.units for axis, _ in own):
            return KnownTruth(form=LinearForm.index(own[0][0]))
        if one.value.type.element is not Scalar.BOOL:
            return KnownTruth(frozenset(own))
        return KnownTruth(frozenset(own), frozenset(own), frozenset((axis, -3 - n) for axis, n in own))

    def passed(
        self, node: Nest, given: tuple[KnownTruth | None, ...], known: KnownValues[KnownTruth]
    ) -> tuple[KnownTruth | None, ...]:
        self.scopes = self._around(known, node if isinstance(node, Call) else None)
        return given

    def _around(self, known: KnownValues[KnownTruth], call: Call | None = None) -> tuple[_Scope, ...]:
        """The graphs around, outermost first, and this one."""
        graphs = [scope.graph for scope in self.scopes]
        outer = self.scopes[: graphs.index(self.home)] if self.home in graphs else self.scopes
        return (*outer, _Scope(self.home, known, self.names, call))

    def one(self, node: Leaf, known: KnownValues[KnownTruth]) -> KnownTruth | None:
        self.now = known
        if isinstance(node, Positions):
            return KnownTruth(form=LinearForm.index(*self.named((node.axis,)))) if self.counts.units else None
        return super().one(node, known)

    def number(self, node: Constant) -> KnownTruth | None:
        form = constant(node.value).form if self.counts.units else None
        return None if form is None else KnownTruth(form=form)

    def of(self, node: Apply, given: list[KnownTruth | None]) -> KnownTruth | None:
        if node.traits.meaning == Quotient():
            self._divided(node)
        if not any(given):
            return None
        known = [each or NOTHING for each in given]
        if isinstance(node.traits.meaning, Compared) and any(each.form is not None for each in known):
            return self.counts.compared(node, known, self._items(node, known) or NONE)
        true, false = implied(node, known, self.named)
        if isinstance(node.traits.meaning, Choice | Sum):
            true |= self._not_filled(node, known)
        return KnownTruth(self._items(node, known) or NONE, true, false, self.counts.form(node, known, self.named))

    def _not_filled(self, node: Apply, known: list[KnownTruth]) -> Items:
        """Of scores: which truth values surely hold where no large penalty shuts an item out."""
        match node.traits.meaning:
            case Choice():
                yes, no = map(self._shuts, node.operands[1:])
                return (known[0].false if yes else NONE) | (known[0].true if no else NONE)
            case Sum(times) if node.out.type.element is Scalar.REAL:
                return NONE.union(*(each.true for sign, each in zip(times, known, strict=True) if sign > 0))
            case _:
                return NONE

    def _shuts(self, value: Value) -> bool:
        index = index_of(self.home)
        static = index.number(value) if value.role is Role.CONSTANT else None
        number = None if static is None else evaluate(static)
        return isinstance(number, int | float) and number <= -LARGE

    def _items(self, node: Apply, known: list[KnownTruth]) -> Items | None:
        items = NONE
        for each in (one.items for one in known):
            if each and each is not items:
                items = items | each if items else each
        if not items:
            return None
        reads, eaten = node.traits.reads, [axis for axis in node.axes if axis.is_width]
        if isinstance(reads, Pointwise):
            return self._pointwise(node, items)
        if node.weights:
            items = frozenset((axis, n) for axis, n in items if n >= 0 and n not in self.truths)
        if not eaten:
            return items
        if isinstance(reads, Normalise | Reduce):
            self._together(node, eaten, items)
        elif reads == Arrange(IndexMap.SAME):
            axes = self.renamed(node, [axis for axis, _ in items])
            return frozenset(zip(axes, [n for _, n in items], strict=True))
        if isinstance(reads, Normalise | Running):
            return items | {(axis, _SPOKEN) for axis in self.named(eaten)}
        gone = {*self.named(eaten)} - {*self.named(node.made)}
        return frozenset(one for one in items if one[0] not in gone)

    def _pointwise(self, node: Apply, items: Items) -> Items:
        if node.traits.meaning == Complement():
            return frozenset((axis, -3 - n if n != _SPOKEN else n) for axis, n in items)
        if any(
            max(n, -3 - n) in self.truths for _, n in items
        ):  # shares that are set to 0 behind: told of as such (W0525)
            self.seen = [read for read in self.seen if not any(read.node.out is value for value in node.operands)]
        if node.traits.meaning == Choice() and all(each.role > Role.TABLE for each in node.operands[1:]):
            test = self.now.get(node.operands[0].id, NOTHING).items  # what it leaves out has another value in its place
            self.sides.update(each for _, n in test for each in (n, -3 - n))
        chosen = self.named(_by_place(node))
        return items | {(axis, _SPOKEN) for axis in chosen} if chosen else items

    # -- what is found -----------------------------------------------------------------------------------------------

    def _together(self, node: Apply, eaten: list[Axis], items: Items) -> None:
        """Items along the axes that are eaten are put together: with a mask, or without one."""
        seen = NOTHING if node.mask is None else self.now.get(node.mask.id, NOTHING)
        mask = seen.items
        self.sides.update(n for _, n in mask)
        for axis, along in zip(eaten, self.named(eaten), strict=True):
            inputs, kept = self._here(items, along)
            if not inputs or (along, _SPOKEN) in items:
                continue
            if isinstance(node.traits.reads, Normalise) and node.traits.reads.weights:
                kept |= self._here(mask, along)[1]
                if not kept and node.mask is not None and node.mask.role is Role.DATA:
                    kept |= {_OTHER}
                if kept:
                    self.attended.append((inputs, kept))
                elif node.mask is not None:
                    self.placed.append(inputs)
                if any(other != along and n >= 0 and n not in self.truths for other, n in items):  # of queries
                    scopes = self._around(self.now)
                    facts = seen.true | self.now.get(node.operands[0].id, NOTHING).true
                    for n in kept & self.paddings & self._here(facts, along)[1]:
                        turned = (along, -3 - n) in facts and (along, n) not in facts
                        self.masked.setdefault(n, []).append(_Left(inputs, turned, node, scopes))
            if node.mask is None and _reads_all(node):
                self._found(_Read(inputs, kept, axis, node, _how(node), self._around(self.now)))

    def _here(self, items: Items, along: Axis) -> tuple[frozenset[int], frozenset[int]]:
        """Of which inputs these are the items along an axis, and which masks had a part in them."""
        here = frozenset(max(n, -3 - n) for axis, n in items if axis == along) - {_SPOKEN, _OTHER}
        return here - self.truths, here & self.truths

    def _divided(self, node: Apply) -> None:
        """A sum of real items is divided by the number of all. A loss is the same one if it is scaled."""
        index, (summed, by) = index_of(self.home), node.operands
        static, made = index.number(by) if by.role is Role.CONSTANT else None, index.op(summed)
        if not isinstance(static, SizeOf) or not node.out.type.axes or made is None or not _adds(made):
            return
        if made.mask is not None and made.axes == (static.axis,):
            (along,) = self.named(made.axes)
            inputs, _ = self._here(self.now.get(made.operands[0].id, NOTHING).items, along)
            _, kept = self._here(self.now.get(made.mask.id, NOTHING).items, along)
            self._found(_Read(inputs, kept, static.axis, node, Plain.PADDING_COUNTED, self._around(self.now)))

    def _found(self, read: _Read) -> None:
        if read.inputs and not read.axis.ragged:
            self.seen.append(read)

    # -- what is said ------------------------------------------------------------------------------------------------

    def _wrong(self, read: _Read) -> Iterator[Problem]:
        """What is read although a mask leaves it out elsewhere."""
        for n, places in self.masked.items():
            place = next((one for one in places if one.inputs & read.inputs), None)
            counted = read.plain is Plain.PADDING_COUNTED
            if place is None or (n in read.kept) is not counted or len(self.counts.more.get(n, ())) > 1:
                continue
            if any(inputs & read.inputs and n not in kept for inputs, kept in self.attended):  # it chooses
                continue
            if {n, -3 - n} <= self.sides or any(each & read.inputs for each in self.placed):
                continue
            found = self._problem(read, n, place)
            if found is not None:
                yield found
            return

    def _problem(self, read: _Read, n: int, place: _Left) -> Problem | None:
        """It stands at the op, or at the call that gives it no mask."""
        node, home = read.node, read.scopes[-1]
        along = home.names.get(read.axis, read.axis)
        own = node.span is not None and (read.plain is not Plain.PADDING_MIXED or _GIVEN.search(node.span.text) is None)
        span, depth = self._stands(node, read.scopes, own)
        formal = {entry.value.id for entry in place.scopes[-1].graph.inputs}
        masked = place.node.mask is None or place.node.mask.id not in formal
        there = self._stands(place.node, place.scopes, masked)[0]
        scope = read.scopes[depth]
        if span is None:
            return None
        if scope.call is None:
            return _problem(read, span, *self._mask(read.scopes, read.axis, along, n, place.turned), there)
        axis = next((actual for _, actual in scope.call.axes if scope.names.get(actual, actual) == along), along)
        mask, to_give = self._mask(read.scopes[: depth + 1], axis, along, n, place.turned)
        return Plain.PADDING_CALLED.at(span, scope.call.graph.name, axis, mask, to_give, there=there)

    def _stands(self, node: Apply, scopes: tuple[_Scope, ...], own: bool) -> tuple[Span | None, int]:
        """Where it is written in this file, and in which of the graphs around: the op itself, if it is its own."""
        nodes = [scope.call for scope in scopes[:-1]] + ([node] if own else [])
        for depth in range(len(nodes) - 1, -1, -1):
            each = nodes[depth]
            if each is not None and each.span is not None and each.span.source is self.source:
                return each.span, depth
        return None, 0

    def _mask(self, scopes: tuple[_Scope, ...], axis: Axis, along: Axis, n: int, turned: bool) -> tuple[str, str]:
        """A mask as it is written where it stands, and, where it is not known there, where it is to be given."""
        if n in self.counts.more:
            return self._counting(scopes, axis, n, turned)
        for scope in reversed(scopes):
            for entry in scope.graph.inputs:
                known = scope.known.get(entry.value.id, NOTHING).items
                for own in widths(entry.value) if entry.value.type.element is Scalar.BOOL else ():
                    outer = scope.names.get(own, own)
                    for number in {n, -3 - n} & {number for each, number in known if each == outer}:
                        return _written(entry.name, own, outer == along, axis, (number < 0) is not turned), ""
            if scope.graph.kind != "repeat":
                break
        entry, own = self.along[n]
        name = entry.name
        text = _written(name, own, own == along, axis, turned)
        return text, f"; `{scopes[-1].graph.name}` is to be given `{name}`"

    def _counting(self, scopes: tuple[_Scope, ...], axis: Axis, n: int, turned: bool) -> tuple[str, str]:
        """The same for an input that is a number of items."""
        (more,), (given, unit) = self.counts.more[n], self.along[n]
        name, to_give = given.name, f"; `{scopes[-1].graph.name}` is to be given `{given.name}`"
        for scope in reversed(scopes):
            own = (each.name for each in scope.graph.inputs if self._is_count(scope, each, unit))
            found = next(own, None)
            if found is not None:
                name, to_give = found, ""
                break
            if scope.graph.kind != "repeat":
                break
        by = f" {'+' if more > 0 else '-'} {abs(more)}" if more else ""
        return f"{axis.name} {'>=' if turned else '<'} {name}{by}", to_give

    @staticmethod
    def _is_count(scope: _Scope, entry: Input, unit: Axis) -> bool:
        return scope.known.get(entry.value.id, NOTHING).form == LinearForm.index(unit)


def _problem(read: _Read, span: Span, mask: str, to_give: str, there: Span | None) -> Problem:
    op, axis = read.node.op, read.axis
    match read.plain:
        case Plain.PADDING_COUNTED:
            return Plain.PADDING_COUNTED.at(span, axis, mask, to_give, there=there)
        case Plain.PADDING_SUMMED:
            return Plain.PADDING_SUMMED.at(span, op, axis, mask, to_give, there=there)
        case Plain.PADDING_NORMED:
            return Plain.PADDING_NORMED.at(span, op, axis, mask, to_give, there=there)
        case _:
            text = _with_mask(span.text, mask) or f"{op}[{axis.name}](... where {mask})"
            return Plain.PADDING_MIXED.at(span, op, axis, text, to_give, there=there)


def _written(name: str, own: Axis, same: bool, axis: Axis, turned: bool) -> str:
    """A mask, in the axis of the keys."""
    return ("not " if turned else "") + (name if same else f"{name}[{own.name} as {axis.name}]")


def _adds(node: Apply) -> bool:
    reads = node.traits.reads
    return isinstance(reads, Reduce) and reads.combination == ADDED and not reads.multiplies


def _by_place(node: Apply) -> list[Axis]:
    """The widths along which what is made of data is chosen, or weighed in pairs, by places; or chosen by data."""
    if isinstance(node.traits.meaning, Compared):
        return widths(node.out)
    if node.out.type.element not in (Scalar.REAL, Scalar.BOOL):
        return []
    weighs = node.traits.meaning == Product()
    tables = [value for value in node.operands if value.role is Role.TABLE]
    bools = [value.type.element is Scalar.BOOL for value in tables]
    return [axis for value, is_bool in zip(tables, bools, strict=True) for axis in widths(value)
            if is_bool or (weighs and len(widths(value)) > 1)]  # fmt: skip


def _how(node: Apply) -> Plain:
    """How it reads padding: what takes no mask can be given zeros, if these change nothing."""
    match node.traits.reads:
        case _ if node.traits.masked:
            return Plain.PADDING_MIXED
        case Reduce(skips_zeros=True) | Normalise(skips_zeros=True):
            return Plain.PADDING_SUMMED
        case _:
            return Plain.PADDING_NORMED


def _reads_all(node: Apply) -> bool:
    """Whether it puts together numbers of data, and no weights stand for the number of items."""
    match node.traits.reads:
        case Normalise():
            return True
        case Reduce(combination, indices=False):
            known = combination is not None and not combination.truths
            return known and not node.weights and all(value.role is Role.DATA for value in node.operands)
        case _:
            return False


def _with_mask(text: str, mask: str) -> str:
    """`op[axis](x)` with a mask behind its one argument; "" if it is written otherwise."""
    written = re.fullmatch(r"(\w+(?:\.\w+)?\[[^]]*\])\((.*)\)", text, re.DOTALL)
    if written is None:
        return ""
    depth = 0
    for letter in written[2]:
        depth += (letter in "([") - (letter in ")]")
        if depth < 0 or (letter == "," and not depth):
            return ""
    return f"{written[1]}({' '.join(written[2].split())} where {mask})"
