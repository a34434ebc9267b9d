"""Decoding, derived (LANGUAGE D12): from a model proved causal, the function that goes on from where it stopped.

`decoding(graph, origin)` gives two graphs. `step` takes the next items of what the model is causal along, one or many,
and gives the same results as the whole model would for these items; `prepare` makes what no step changes. Between steps
lives a cache: of what meets `past` with `target` (keys and values, or a latent where that is much smaller; of a bounded
window only the window), of states of scans, running results, and of what is static.

sites      the model taken apart; what is static, what is made of positions, what of items
pace       when the items along an axis come: chunks of those of time, or behind a prefix
demand     which items of each value a step needs
facts      how far back a mask lets an op look
finality   what may be kept             lengths    how many items a model takes
cut        what to remember: a minimum cut
build      the graph of the step        prepare    that of what is made once
written    the sizes and consts that its numbers hang on
steps/     passes over the graph of a step once it is built
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...dsl.source import Span as Text
from ..graph.nodes import Constant, Graph
from ..graph.values import IndexInto, Scalar, Value
from ..rewrites.simplify.constants import fold_truths
from ..sizes.axes import Axis, Const, Literal, Static, known
from .build import Axes, Kept, StepBuilder
from .cut import remembered
from .demand import DemandAnalysis, anew
from .facts import SiteFacts
from .finality import Finality, finality
from .lengths import lengths
from .pace import TICK
from .prepare import Prepare
from .sites import TIME, Cell, Demand, NoStep, Sites, StepSite, grouped
from .steps.tail import take_tail
from .visible_range import ENTIRE, Need, VisibleRange
from .written import written_for

ENDLESS = 2**62  # a number of items that no row reaches

__all__ = ["CacheEntry", "Decoding", "NoStep", "decoding"]


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """What is kept of one value for later steps.

    path:   where: `decoder.layers.{i}.self.K`; `{i}` stands for the number of a pass, of which there are `passes`.
    axes:   its axes for each item, with their sizes (None: known at run time).
    keep:   how many items later steps can see, one number, or one for each pass; None: all. 0 for what does not grow.
    kind:   "history" (grows with the items), "once" (made before the first step), "state" (replaced at each step).
    each:   of how many items there is one.
    floats: how many numbers an item has, None if that is known at run time only.
    """

    path: str
    axes: tuple[tuple[str, int | None], ...]
    keep: tuple[int | None, ...]
    kind: str
    passes: int
    element: str
    each: int = 1

    @property
    def floats(self) -> int | None:
        total = 1
        for _, size in self.axes:
            if size is None:
                return None
            total *= size
        return total

    def __str__(self) -> str:
        axes = ", ".join(name if size is None else f"{name} = {size}" for name, size in self.axes)
        one = "item" if self.each == 1 else f"chunk of {self.each}"
        counts = dict.fromkeys(_so_many(k, one) for k in self.keep)
        state = "of the last item" if self.each == 1 else f"of the last whole {one}"
        kinds = {"history": " or ".join(counts), "once": "made once", "state": state}
        times = f", {self.passes} times" if self.passes > 1 else ""
        each = f" {'an item' if self.each == 1 else 'a chunk'}" if self.kind == "history" else ""
        count = "1 number" if self.floats == 1 else f"{self.floats} numbers"
        numbers = f": {count}{each}" if self.floats is not None else ""
        return f"{self.path} [{axes}], {kinds[self.kind]}{times}{numbers}"


def _so_many(keep: int | None, one: str) -> str:
    many = one.replace("item", "items").replace("chunk", "chunks")
    if keep is None:
        return f"all {many}"
    return f"the last {one}" if keep == 1 else f"the last {keep} {many}" if keep else f"no {one}"


@dataclass(frozen=True, eq=False)
class Decoding:
    """How a model decodes.

    prepare, step: the graphs; None if there is no one-step form: `reason` then says which op and why, `span` where.
    time:          the axis that it is causal along.
    caches:        what is kept, in the order of the step.
    prompt:        the name of the input that generated items go into; None where there is no `generate`: `reason` then
                   says why not.
    reason:        "" where nothing stands in the way of a step and of `generate`.
    at_once:       what is done anew for all items so far at each step, in words.
    written:       the model's parameters that the numbers in its step hang on: built with others, it has no step.
    left_out:      results that a step does not give: not causal along `time`, or with a copy of it.
    """

    prepare: Graph | None = None
    step: Graph | None = None
    time: Axis | None = None
    caches: tuple[CacheEntry, ...] = ()
    prompt: str | None = None
    reason: str = ""
    span: Text | None = None
    left_out: tuple[str, ...] = ()
    at_once: tuple[str, ...] = ()
    written: tuple[Axis | Const, ...] = ()

    def __repr__(self) -> str:
        if self.step is None or self.time is None:
            return self.reason
        more = f"`generate` takes `{self.prompt}`" if self.prompt is not None else self.reason
        time, names = self.time.name, " and ".join(f"`{name}`" for name in self.left_out)
        without = f"a step gives no {names}: only what is causal along {time} and has no copy of it"
        lines = [f"{self.step.name} decodes along {time}; {more}", *([without] if names else ())]
        lines += [f"done anew for all items at each step: {', '.join(self.at_once)}"] if self.at_once else []
        return "\n".join([*lines, *map(str, self.caches)])


def decoding(graph: Graph, origin: Graph | None = None) -> Decoding:
    """The decoding of a model, in which every size is known.

    origin: the same model as it is emitted, whose weights the step has; its nested graphs must stand in the same order.
    """
    time = next((axis for output in graph.outputs for axis in output.causal if axis.is_width), None)
    if time is None:
        return Decoding(
            reason=f"`{graph.name}` is not declared causal: write `causal` behind its result, and it is proved"
        )
    try:
        return _derive(graph, origin or graph, time)
    except NoStep as found:
        reason = f"`{graph.name}` has no one-step form along `{time.name}`: {found.reason}"
        return Decoding(time=time, reason=reason, span=found.span)


def _derive(graph: Graph, origin: Graph, time: Axis) -> Decoding:
    whole, (graph, _) = graph, fold_truths(_with_defaults(graph, time))
    results = _results(graph, time)
    root = Sites(graph, origin, time).root
    taken = lengths(graph, time) if root.families != {time.family} and time.extent is None else (0, 1)
    if taken is None:
        raise NoStep(f"no number of items of `{time.name}` gives whole numbers for the widths made of it", None)
    facts = SiteFacts(root, fills=taken != (0, 1))
    analysis = _analysed(root, time, results, facts)
    axes = Axes(time, taken)
    maker = StepBuilder(analysis, axes)
    entering = _entering(root, time)
    outputs = [graph.outputs[place] for place in results]
    # A value may have more axes of time than the result: it is the same along these.
    leaving: list[tuple[Cell, Demand]] = [
        (cell, tuple(ENTIRE if axis.family in root.grouped else None for axis in cell.axes))
        for cell in (root.cells[output.value.id] for output in outputs)
    ]
    step = maker.graph(root, list(entering), leaving, outputs)
    new = frozenset(axis for (home, _, _), axis in axes.by_origin.items() if home is root and axis.family == axes.new)
    step = take_tail(step, new, axes.tail)
    prepare = Prepare(root, maker.keys, axes).build()
    caches = tuple(_cache(kept) for kept in maker.kept)
    prompt, reason = _prompt(graph, results, [cell.value for cell, _ in entering])
    others = [one for place, one in enumerate(graph.outputs) if place not in results]
    left_out = tuple(one.name or "result" for one in others)
    at_once = tuple(dict.fromkeys([*analysis.at_once, *anew(analysis)]))
    counts = (
        facts.counts or taken != (0, 1) or any(pace != TICK for site in root.walk() for pace in site.paces.values())
    )
    written = written_for(whole, root.families if counts else frozenset())
    return Decoding(prepare, step, time, caches, prompt, reason, left_out=left_out, at_once=at_once, written=written)


def _results(graph: Graph, time: Axis) -> list[int]:
    """The places of the results that a step gives, causal along time, which they have once. NoStep without any."""
    groups = grouped(graph, frozenset({time.family}))
    results: list[int] = []
    refused: NoStep | None = None
    for place, output in enumerate(graph.outputs):
        if all(axis.family != time.family for axis in output.causal):
            continue
        along = [axis for axis in output.axes if axis.family == time.family or axis.family in groups]
        if all(axis.family != time.family for axis in along):
            raise NoStep(f"its result has the items of `{time.name}` in groups", output.value.span)
        if len(along) == 1:
            results.append(place)
        else:
            refused = NoStep(f"its result has both `{along[0].name}` and `{along[1].name}`", output.value.span)
    if refused is not None and not results:
        raise refused
    return results


def _analysed(root: StepSite, time: Axis, results: list[int], facts: SiteFacts) -> DemandAnalysis:
    """What a step needs of each value, once it is chosen what to remember. What may change yet is not kept."""
    first = DemandAnalysis(root, results, facts, None)
    found = finality(root, time) if first.at_once or first.open else Finality()
    changing = frozenset[Cell]()
    while more := (found.unsettled | first.filled(found.early)) - changing:
        changing |= more
        first = DemandAnalysis(root, results, facts, None, changing)
    chosen = remembered(first)
    analysis = DemandAnalysis(root, results, facts, chosen, changing)
    while missing := {cell for cell, made_of in analysis.made_of.items() if made_of is None} - chosen:
        chosen |= missing  # with this choice they are wanted in further modes
        analysis = DemandAnalysis(root, results, facts, chosen, changing)
    return analysis


def _entering(root: StepSite, time: Axis) -> list[tuple[Cell, tuple[None]]]:
    """The inputs that come item by item, each with the demand for its new items. NoStep for those that cannot."""
    cells = [root.cells[item.value.id] for item in root.graph.inputs]
    entering: list[tuple[Cell, tuple[None]]] = [(cell, (None,)) for cell in cells if cell.kind == TIME]
    if not entering:
        raise NoStep(f"no input gives items of `{time.name}`", None)
    for cell, demand in entering:
        name, axis = cell.value.name, cell.axes[0]
        if root.derived(axis):
            raise NoStep(f"`{name}` has items of `{axis.name}`, which follow from its own", cell.value.span)
        if len(cell.axes) != 1:
            raise NoStep(f"`{name}` has two axes of time", cell.value.span)
        if demand not in cell.demands:
            cell.demands.append(demand)
    return entering


def _with_defaults(graph: Graph, time: Axis) -> Graph:
    """Inputs along time that may be left out are left out. All rows go on item by item, so no row has a length yet."""
    given, nodes = [], []
    for item in graph.inputs:
        if item.length_of is not None and item.length_of.family == time.family:
            nodes.append(Constant(Literal(ENDLESS), item.value))
        elif item.default is not None and any(axis.family == time.family for axis in item.value.type.axes):
            nodes.append(Constant(_number(item.default, item.value), item.value))
        else:
            given.append(item)
    return replace(graph, inputs=tuple(given), nodes=(*nodes, *graph.nodes))


def _number(static: Static, value: Value) -> Static:
    found = known(static)
    if found is None:
        return static
    return Literal(bool(found)) if value.type.element is Scalar.BOOL else Literal(found)


def _prompt(graph: Graph, results: Sequence[int], entering: Sequence[Value]) -> tuple[str | None, str]:
    """The input that generated items go into: its elements index an axis of the first result."""
    name = graph.name
    if len(entering) != 1:
        names = ", ".join(f"`{value.name}`" for value in entering)
        return None, f"`{name}` has no `generate`: each step wants {names}; call `step` with them"
    value, output = entering[0], graph.outputs[results[0]]
    element = value.type.element
    if element is Scalar.INT and len(value.type.axes) == 1:
        hint = f"declare `{value.name}: vocab[{value.type.axes[0].name}]`, with the axis that it indexes"
        return None, f"`{name}` has no `generate`: what the ints of `{value.name}` index is not known: {hint}"
    if not isinstance(element, IndexInto) or len(value.type.axes) != 1:
        return None, f"`{name}` has no `generate`: `{value.name}` is no sequence of indices; call `step`"
    rest = [axis for axis in output.axes if axis.family != value.type.axes[0].family]
    if [axis.family for axis in rest] != [element.axis.family] or output.value.type.element is not Scalar.REAL:
        return None, f"`{name}` has no `generate`: its result is no score for each `{element.axis.name}`; call `step`"
    return value.name, ""


def _keep(visible: VisibleRange, site: StepSite | None) -> Need:
    """How many items, for each of the passes in which this body of the repeat runs."""
    repeat = visible.repeat
    while site is not None and site.repeat is not repeat:
        site = site.parent
    if repeat is None or site is None or site.parent is None or len(repeat.bodies) == 1:
        return visible.keep
    number = site.parent.inside[site.index].index(site)
    return tuple(keep for keep, variant in zip(visible.keep, repeat.variant, strict=True) if variant == number)


def _cache(kept: Kept) -> CacheEntry:
    cell = kept.cell
    broadcast_axes = cell.value.type.broadcast_axes
    axes = tuple((a.name, a.extent) for a in cell.value.type.axes if a not in cell.axes and a not in broadcast_axes)
    kind = "state" if kept.state else "once" if kept.visible is None else "history"
    element = cell.value.type.element
    shown = "index" if isinstance(element, IndexInto) else element.value
    keep = _keep(kept.visible.root(), cell.site) if kept.visible is not None else (0,)
    return CacheEntry(kept.path, axes, keep, kind, cell.site.passes, shown, kept.pace.size)
