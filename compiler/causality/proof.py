"""Causality, proved (LANGUAGE D12): item i of a result depends on no item after i of any input along that family.

On the expanded graph every value has a *reach*: upper bounds of the places, along the family in question, of the input
items that it depends on, as forms over the value's own indices (`reach.py`, `places.py`). Inputs reach their own place;
what is built of positions and weights reaches nothing. Pointwise ops unite; arranging ops and gathers put in their
index map; summing, normalising or picking over an axis puts in what its index is at most, from the *support* of what
is summed (`predicates.Cases`), else everything.

What is proved is sound, not complete: a failed proof shows the path of the leak as far as the rules see it.
"""

from __future__ import annotations

from ...dsl.base.records import field, mutable, replace
from ...dsl.source import Span
from ...dsl.syntax import Ident
from ..graph.core.places import group_of, made_of, place, place_of
from ..graph.nodes import Apply, Call, Constant, Graph, Input, Output, Parameter, Positions, Repeat, Scan
from ..graph.values import IndexInto
from ..problems.causality import Trace, Trials, Unproved
from ..sizes.axes import Axis, Const, SizeOf
from ..sizes.forms import LinearForm, holds
from ..sizes.limits import PROOF, ProofLimit, noting_limits
from ..sizes.polynomials import never_negative, poly
from ..sizes.predicates import ALWAYS, implies
from .caller_sizes import CallerSizes, constant_info, reach_of_anything, reach_of_number
from .leak import leak_span
from .reach import Info, Reach, exact, over_info, put_bound, reach_of_everything, unite
from .step import Step, up_to_here


def check_causal(
    graph: Graph, output: int, axis: Axis, span: Span, trials: Trials | None = None, trusted: Ident | None = None
) -> Unproved | None:
    """A claim that is not proved, None if it is. `axis` is one of the graph's own.

    trials: look for a witness that it leaks. trusted: why it is to be believed: then it is a warning.
    """
    claimed = frozenset({axis.family})
    sizes = CallerSizes(frozenset(part.family for part in made_of(axis)), claimed=claimed)
    direct = any(each.family == axis.family for entry in graph.inputs for each in entry.value.type.axes)
    inputs = [reach_of_input(entry, axis, sizes, direct) for entry in graph.inputs]
    with noting_limits() as met:
        info = CausalityAnalysis().run(graph, inputs, sizes)[output]
    here = place_of(graph.outputs[output].axes, axis, claimed)
    assert here is not None  # the claim names an axis of the result
    for bound, trace in info.reach.items():
        if not any(holds(here - form) for form in bound):
            numbers = trace.turns.union(*((form - here).turns for form in bound))
            tried = None if trials is None else trials(graph, output, axis, numbers)
            limits = tuple(limit for limit in ProofLimit if limit in met)
            return Unproved(leak_span(trace, span), trace, bound, here, graph, axis, span, tried, trusted, limits)
    return None


def reach_of_input(entry: Input, axis: Axis, sizes: CallerSizes, direct: bool) -> Info:
    """What is known of an input: its items stand at their own places, and its indices are 0 or more.

    direct: some input has the axis that is claimed, so that others have no places along it: no part or group of it.
    """
    axes = entry.value.type.axes
    reach: Reach = {}
    for each in axes:
        found = (
            None if direct and each.family != axis.family else place(each, sizes.claimed, axes) or group_of(each, axis)
        )
        if found is not None:
            reach[frozenset({found})] = Trace(f"`{entry.name}` is read along `{each.name}`", entry.value.span, None)
    if entry.default is not None:
        reach |= reach_of_number(entry.default, entry.value.span, sizes)
    element = entry.value.type.element
    if isinstance(element, IndexInto):
        return Info(reach, lowers=(LinearForm.number(0),))
    return Info(reach)


@mutable
class CausalityAnalysis:
    """Runs over graphs, nested ones with the infos of their arguments; kept by graph and infos."""

    kept: dict[object, list[Info]] = field(default_factory=dict)
    fuel: int = field(default_factory=lambda: PROOF)  # read late: a test of the limit sets it

    def run(self, graph: Graph, inputs: list[Info], sizes: CallerSizes) -> list[Info]:
        """The infos of a graph's outputs."""
        if graph.target:
            text = f"`{graph.name}` is an op of your own: it may read anything"
            read = reach_of_anything(text, None, inputs, [entry.value for entry in graph.inputs], sizes)
            read = {bound: replace(trace, at=graph) for bound, trace in read.items()}  # the step is the call
            return [Info(read) for _ in graph.outputs]
        key = (id(graph), sizes, tuple(_freeze(info) for info in inputs))
        if key in self.kept:
            return self.kept[key]
        self.fuel -= len(graph.nodes)
        if self.fuel < 0:
            read = reach_of_everything(
                f"`{graph.name}` is too long to follow: a proof takes at most {PROOF:,} steps",
                graph.span,
                *(info.reach for info in inputs),
            )
            return [Info(read) for _ in graph.outputs]
        infos: dict[int, Info] = {entry.value.id: info for entry, info in zip(graph.inputs, inputs, strict=True)}
        for node in graph.nodes:
            match node:
                case Constant(value, out):
                    infos[out.id] = constant_info(value, out, sizes)
                case Positions(axis, out):
                    infos[out.id] = exact(LinearForm.index(axis))
                case Parameter(_, out):
                    infos[out.id] = Info({})
                case Apply():
                    infos[node.out.id] = Step(node, infos, sizes, graph).info()
                case Call():
                    self.call(node, infos, sizes, graph)
                case Repeat():
                    self._repeat(node, infos, sizes, graph)
                case Scan():
                    self.scan(node, infos, sizes, graph)
        result = [infos[output.value.id] for output in graph.outputs]
        self.kept[key] = result
        return result

    def call(self, node: Call, infos: dict[int, Info], sizes: CallerSizes, graph: Graph) -> None:
        """Puts the infos of a call's results beside those of its arguments."""
        inner = sizes.inside(node)
        found = self.run(node.graph, entering(node, infos), inner)
        for out, info, output in zip(node.outs, found, node.graph.outputs, strict=True):
            infos[out.id] = leaving(outside(believed(info, output, inner), node), node.graph, node, graph)

    def scan(self, node: Scan, infos: dict[int, Info], sizes: CallerSizes, graph: Graph) -> None:
        """Puts the infos of a scan's results beside those of its arguments.

        A state depends on what the steps before depend on: on no item of the step at hand.
        """
        inner, first = sizes.inside(node), entering(node, infos)
        for at, _ in node.states:  # what is known of the first value need not hold of the next
            first[at] = Info(first[at].reach)
        before = {node.axis: LinearForm.index(node.axis) - LinearForm.number(1)}
        args, found = first, list[Info]()
        for attempt in range(8):
            found = self.run(node.graph, args, inner)
            after = list(first)
            for at, result in node.states:
                past = up_to_here(found[result].reach, node.axis)
                known = args[at].reach  # what the state had is at most as much a step earlier
                shifted = {b if b in known else put_bound(b, before): trace for b, trace in past.items()}
                after[at] = Info(unite(first[at].reach, shifted))
            if all(set(a.reach) == set(b.reach) for a, b in zip(args, after, strict=True)):
                break
            args = after
            if attempt == 6:
                for at, _ in node.states:
                    read = reach_of_everything("each step reaches further", node.span, args[at].reach, again=True)
                    args[at] = Info(read)
        for out, info in zip(node.outs, found, strict=True):
            infos[out.id] = Info(leaving(outside(info, node), node.graph, node, graph).reach)

    def _repeat(self, node: Repeat, infos: dict[int, Info], sizes: CallerSizes, graph: Graph) -> None:
        """What goes round reaches what any pass does; what is 0 in it stays so, if each pass gives it back so."""
        carried = [Info(infos[arg.id].reach, infos[arg.id].true) for arg in node.args[: node.carried]]
        outside = [infos[arg.id] for arg in node.args[node.carried :]]
        for attempt in range(8):
            after = list(carried)
            for body in node.bodies:
                made = self.run(body, [*carried, *outside], sizes)
                found = [leaving(of_any_pass(info, node.index), body, node, graph) for info in made]
                after = [
                    Info(unite(a.reach, b.reach), a.true if implies(given.true, a.true) else ALWAYS)
                    for a, b, given in zip(after, found, made, strict=True)
                ]
            settled = all(
                set(a.reach) == set(b.reach) and a.true == b.true for a, b in zip(carried, after, strict=True)
            )
            carried = after
            if settled:
                break
            if attempt == 6:  # a bound that grows with every pass
                carried = [
                    Info(reach_of_everything("each pass reaches further", node.span, info.reach, again=True))
                    for info in carried
                ]
        for out, info in zip(node.outs, carried, strict=True):
            infos[out.id] = info


def believed(info: Info, output: Output, sizes: CallerSizes) -> Info:
    """What is known of a block's result where the block says that it is to be trusted (`causal seq trusted "..."`)."""
    axis = next((axis for axis in output.trusted if axis.family in sizes.claimed), None)
    here = None if axis is None else place_of(output.axes, axis, sizes.claimed)
    if here is None or not info.reach:
        return info
    return replace(info, reach={frozenset({here}): next(iter(info.reach.values()))})


def _freeze(info: Info) -> object:
    return frozenset(info.reach), frozenset(info.true), frozenset(info.false), info.lowers, info.uppers


def entering(node: Call | Scan, infos: dict[int, Info]) -> list[Info]:
    """What is known of the arguments, in the axes of the block."""
    sizes = {actual.family: poly(SizeOf(formal)) for formal, actual in node.axes if _free(actual)}
    out = []
    for entry, arg in zip(node.graph.inputs, node.args, strict=True):
        back = {actual: formal for formal, actual in node.axes if formal in entry.value.type.axes}
        out.append(over_info(infos[arg.id], back, sizes))
    return out


def outside(info: Info, node: Call | Scan) -> Info:
    """What is known of a result of a block, in the axes of its caller."""
    sizes = {formal.family: poly(SizeOf(actual)) for formal, actual in node.axes if _free(formal)}
    return over_info(info, dict(node.axes), sizes)


def _free(axis: Axis) -> bool:
    return axis.extent is None and axis.size is None


def of_any_pass(info: Info, index: Const | None) -> Info:
    """What holds whatever the number of the pass: 0 or more. Only its reach goes round."""
    if index is None:
        return Info(info.reach)
    zero = LinearForm.number(0)

    def largest(form: LinearForm) -> LinearForm | None:
        if index not in form.unknowns():
            return form
        by = form.coefficient(index)
        rest = form - (by.times(LinearForm.of({(index,): 1})) or zero)
        return rest if index not in rest.unknowns() and never_negative((-by).poly) else None

    made = {tuple(map(largest, bound)): trace for bound, trace in info.reach.items()}
    return Info(unite({frozenset(form for form in forms if form is not None): trace for forms, trace in made.items()}))


def leaving(info: Info, inner: Graph, node: Call | Repeat | Scan, outer: Graph) -> Info:
    """The same, seen outside of a call or a repeat: its traces have that node on their way."""
    return replace(info, reach={bound: trace.leaving(inner, node, outer) for bound, trace in info.reach.items()})
