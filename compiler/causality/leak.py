"""How a bound of a proof of causality came about, and the message of a claim that is not proved.

The mistake stands where the last step of the path was taken; of an op with a mask, where that mask is made: in the
block of the op, or in one that calls it. So a mask turned round is underlined itself, however many blocks it went
through.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from ...dsl.base.records import record
from ...dsl.diagnostic import Diagnostic, Severity, error
from ...dsl.source import Span
from ...dsl.syntax import Ident
from ..base.names import indexed
from ..graph.nodes import Apply, Call, Constant, Graph, Repeat, Scan
from ..graph.traits import Arrange, IndexMap, Normalise, OpTraits, Reduce, Running
from ..graph.values import Role, Value
from ..ops import OPS
from ..sizes.axes import Axis, axes_in
from ..sizes.predicates import Facts
from .witness import Tried, at_sizes, changes, searched

STEPS_SHOWN = 20  # of the path of a leak
Around = tuple[Call | Repeat | Scan, Graph]  # what runs a graph, and the graph in which that node stands


@record
class Trace:
    """How a bound came about: the last step, `said` in words, and the one before.

    node: the op of the step, if it is one, in the graph `home`. via: the calls and repeats around it, innermost first,
    out to the graph `at`, in which the bound is now. facts: what its mask says of what is read (`Cases`).
    """

    said: str | Callable[[], str]
    span: Span | None
    before: Trace | None
    node: Apply | None = None
    home: Graph | None = None
    at: Graph | None = None
    via: tuple[Around, ...] = ()
    again: bool = False  # the step is repeated without end
    facts: Facts = frozenset()

    @property
    def text(self) -> str:
        """What the step reads, in words; most are never asked for."""
        return self.said if isinstance(self.said, str) else self.said()

    @property
    def path(self) -> Iterator[Trace]:
        """The steps, the last first."""
        last: Trace | None = self
        while last is not None:
            yield last
            last = last.before

    @property
    def steps(self) -> int:
        """How many steps the path has."""
        return sum(1 for _ in self.path) - 1

    @property
    def turns(self) -> set[int]:
        """Numbers that its masks compare indices with: beyond one of them it may leak."""
        return {number for step in self.path for fact in step.facts for number in fact.turns}

    def leaving(self, inner: Graph, node: Call | Repeat | Scan, outer: Graph) -> Trace:
        """The path as seen outside of a call or a repeat; one whose last step is not in there stays as it was."""
        return replace(self, at=outer, via=(*self.via, (node, outer))) if self.at is inner else self


def unproved(
    trace: Trace, how: str, graph: Graph, axis: Axis, claim: Span, tried: Tried | None, trusted: Ident | None
) -> Diagnostic:
    """A claim that is not proved: the path that the proof does not get over, step by step; a witness if it leaks.

    how: what the proof takes an item of the result to depend on. trusted: why the spec believes the claim.
    """
    steps = [*trace.path][::-1]
    shown = list(enumerate(steps, 1))
    if len(shown) > STEPS_SHOWN:
        shown = [*shown[: STEPS_SHOWN // 2], *shown[-(STEPS_SHOWN // 2) :]]
    notes = [f"{number}. {step.text}" + (f"  ({_where(step.span)})" if step.span else "") for number, step in shown]
    if len(shown) < len(steps):
        notes.insert(STEPS_SHOWN // 2, f"... {len(steps) - len(shown)} steps more ...")
    place = _leak_span(trace, claim)
    related = [(step.span, f"{number}. {step.text}") for number, step in shown if step.span is not None]
    seen = [item for item in related if item[0].source is claim.source]
    here = next((said for span, said in reversed(seen) if span == place), "")
    path = ["the path of the leak:", *notes] if len(seen) < len(steps) else []
    witness = None if tried is None else tried.witness
    if witness is not None:
        code, says = "E0701", f"is not causal along `{axis.name}`: {changes(witness, graph, axis)}"
        path = [at_sizes(witness), *path]
        help = f"{_help(trace, steps, graph, axis)}, or drop the claim"
    elif trusted is not None:
        code, says = "W0517", f'is taken to be causal along `{axis.name}` because "{trusted.text}": no proof says so'
        path, help = [searched(tried), *path], ""
    else:
        code, says = "E0701", f"is not proved causal along `{axis.name}`: an item of its result may depend on {how}"
        path = [searched(tried), *path]
        help = f'{_help(trace, steps, graph, axis)}; or say why it holds: `causal {axis.name} trusted "..."`'
    return error(
        code,
        f"`{graph.name}` {says}",
        place,
        here or (trace.text if place != claim else f"`causal {axis.name}` does not hold"),
        related=[
            *((span, said) for span, said in seen if said != here),
            *([(claim, f"`causal {axis.name}` is claimed")] if place != claim else ()),
        ],
        notes=path,
        help=help,
        severity=Severity.ERROR if code == "E0701" else Severity.WARNING,
    )


def _help(trace: Trace, steps: list[Trace], graph: Graph, axis: Axis) -> str:
    match trace.node:
        case Apply(traits=OpTraits(reads=Arrange(IndexMap.MIRRORED))):
            return f"leave `{trace.node.op}` out"
    read = _groups(steps, axis)
    if read is None:
        return _masked(trace, graph, axis)
    group, *copies = sorted({each for each in (read, *graph.axes) if each.family == read.family}, key=_declared)
    copy = copies[0].name if copies else "before"
    declared = "" if copies else f" with `before` a copy of `{group.name}`"
    made = [step.node for step in steps if step.node is not None and any(each in copies for each in step.node.axes)]
    items = [(a, b) for node in made for a in node.axes if a not in copies for b in node.out.type.axes if _alike(a, b)]
    own = "".join(f" or ({copy} == {group.name} and {there.name} <= {here.name})" for there, here in items[:1])
    return (
        "groups are compared with groups alone: split what reads them, too, and let in those before its own, "
        f"`where {copy} < {group.name}{own}`{declared}"
    )


def _alike(axis: Axis, other: Axis) -> bool:
    return axis.family == other.family and axis != other


def _declared(axis: Axis) -> int:
    return axis.span.start if axis.span is not None else 0


def _masked(trace: Trace, graph: Graph, axis: Axis) -> str:
    """How to make the last step read nothing that comes after."""
    copies = sorted((each for each in graph.axes if _alike(each, axis)), key=_declared)
    new, node = "past" if axis.name != "past" else "before", trace.node
    at_hand = all(isinstance(around, Repeat) for around, _ in trace.via)  # a pass has the axes of what repeats it
    if node is not None and at_hand and node.traits.masked:
        match node.traits.reads:
            case Reduce() as how:
                read = next((each for each in node.axes if _alike(each, axis)), None)
                if read is not None:
                    return _with_mask(node, read, axis)
                if axis in node.axes:
                    declared = "" if copies else f", with `{axis.kind.value} {new} like {axis.name}`"
                    return _over_copy(node, how, axis, copies[0].name if copies else new) + declared
            case Normalise():
                alike = [each for each in node.out.type.axes if each.family == axis.family]
                eaten = [each for each in alike if each in node.axes]
                items = [each for each in alike if each not in node.axes]
                if not items and axis not in eaten:  # the result has it from the mask alone
                    items = [axis]
                if len(eaten) == len(items) == 1:
                    return _with_mask(node, eaten[0], items[0])
    return f"mask what comes after, `softmax[{new}](s where {new} <= {axis.name})`"


def _with_mask(node: Apply, read: Axis, item: Axis) -> str:
    """The op with a mask that keeps what is not after an item."""
    over_all = ", ".join(each.name for each in node.axes) + "".join(f" -> {each.name}" for each in node.made)
    seen = f"{_operand(node)} where {_kept(node)}{read.name} <= {item.name}"
    return f"mask what comes after, `{node.op}[{over_all}]({seen})`"


def _over_copy(node: Apply, how: Reduce, axis: Axis, past: str) -> str:
    """The op over a copy of the axis, masked; or the op that puts together the items up to each."""
    name, alone = axis.name, node.mask is None and not how.multiplies
    rows = [op for op in OPS.values() if isinstance(op.reads, Running) and op.reads.combination == how.combination]
    by_step = f", or `{rows[0].name}[{name}]({_operand(node)})`" if rows and alone else ""
    made = "".join(f" -> {each.name}" for each in node.made)
    over_all = ", ".join(past if each == axis else each.name for each in node.axes) + made
    read_as = past if _operand(node) == name else indexed(_operand(node), f"[{name} as {past}]")
    seen = f"{read_as} where {_kept(node, axis, past)}{past} <= {name}"
    return f"each `{name}` may read what is not after it: `{node.op}[{over_all}]({seen})`{by_step}"


def _operand(node: Apply) -> str:
    """The operand of an op as the spec writes it, if that is short."""
    text = node.span.text if node.span is not None else ""
    found = re.fullmatch(r"\w+\[[^]]*\]\((.*?)([ \n]where\b.*)?\)", text, re.DOTALL)
    inner = found[1].strip() if found is not None else ""
    closed = all(inner.count(a) == inner.count(b) for a, b in ("()", "[]"))
    return inner if 0 < len(inner) <= 40 and closed and "\n" not in inner else "x"


def _kept(node: Apply, axis: Axis | None = None, copy: str = "") -> str:
    """The conditions of an op's own mask, followed by `and`: the help keeps them.

    It keeps no comparison, which may be the leak itself, unless it bounds a distance. If the op is to read a copy of
    the axis, so are these.
    """
    mask = node.mask
    if mask is None or mask.span is None:
        return ""
    text, data = mask.span.text, mask.role is Role.DATA
    if mask.name and data:  # a name of data says what is real; one of positions may stand for any comparison
        text = mask.name
    whole = re.search(r"\bor\b|[\[(][^])]*\band\b", text) is not None
    parts = [text] if whole else [part.strip() for part in re.split(r"\band\b", text)]
    kept = [part for part in parts if not re.search("[<>]", part) or re.search(r"\w - \w+ <=? ", part)]
    if not kept:
        return ""
    shown = mask.name if mask.name and len(kept) == len(parts) else " and ".join(kept)
    if axis is not None and axis in mask.type.axes:
        shown = indexed(shown, f"[{axis.name} as {copy}]")
    return f"({shown}) and " if re.search(r"\bor\b", shown) and axis is None else f"{shown} and "


def _groups(steps: list[Trace], axis: Axis) -> Axis | None:
    """The width of groups of items that the path leads along: one that derives from the axis, or a copy of it."""

    def derives(width: Axis) -> bool:
        parts = axes_in(width.size) if width.is_width and width.size is not None else []
        return width.family != axis.family and any(part.family == axis.family or derives(part) for part in parts)

    widths = [width for step in reversed(steps) if step.node is not None for width in step.node.axes]
    return next((width for width in widths if derives(width)), None)


def _where(span: Span) -> str:
    line, column = span.source.position(span.start)
    return f"{span.source.name}:{line}:{column}"


def _leak_span(trace: Trace, claim: Span) -> Span:
    """Where the last step was taken, in the file of the claim; else the claim."""
    if trace.again and trace.before is not None:
        trace = trace.before
    span, via = trace.span, list(trace.via)
    mask = trace.node.mask if trace.node else None
    if mask is not None and trace.home is not None:
        span, via = _mask_origin(mask, trace.home, via)
    places = (span, *(node.span for node, _ in via))
    return next((place for place in places if place is not None and place.source is claim.source), claim)


def _mask_origin(mask: Value, graph: Graph, via: list[Around]) -> tuple[Span | None, list[Around]]:
    """Where a mask is made, and what is around there: one that a block is given, where its caller made it."""
    while via:
        number = next((n for n, entry in enumerate(graph.inputs) if entry.value.id == mask.id), None)
        if number is None:
            break
        (node, graph), *via = via
        mask = node.args[number]
    number_put_in = any(isinstance(node, Constant) and node.out.id == mask.id for node in graph.nodes)
    return (None if number_put_in else mask.span), via  # a default: the call that left it out
