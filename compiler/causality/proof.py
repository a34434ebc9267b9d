"""Causality, proved (LANGUAGE D12): item i of a result depends on no item after i of any input along that family.

On the expanded graph every value has a *reach*: upper bounds of the input indices, along the family in question, that
it depends on. A bound is a number in mixed radix whose digits are the value's own axes plus an offset (one digit, until
an axis is split). Inputs reach their own index; what is built of positions and weights reaches nothing. Pointwise ops
unite; arranging ops and gathers substitute their index map; summing, normalising or picking over a reached axis
replaces it by its bound, taken from the *support* of what is summed (`predicates.Cases`), else by everything.

What is proved is sound, not complete: a failed proof shows the path of the leak as far as the rules see it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...dsl.diagnostic import Diagnostic
from ...dsl.source import Span
from ..graph.nodes import Apply, Call, Constant, Graph, Parameter, Positions, Repeat, Scan
from ..sizes.axes import Axis
from ..sizes.limits import PROOF
from ..sizes.predicates import Cases, Linear
from .caller_sizes import CallerSizes, constant_info, made_of, reach_of_anything, reach_of_number
from .leak import Trace, leak
from .reach import Bound, Digit, Info, over_info, reach_of_everything, unite
from .step import Step


def check_causal(graph: Graph, output: int, axis: Axis, span: Span) -> Diagnostic | None:
    """The diagnostic of a claim that does not hold, or None if it is proved. `axis` is one of the graph's own."""
    sizes = CallerSizes(frozenset(part.family for part in made_of(axis)))
    found = _first_leak(graph, output, axis, span, sizes)
    if found is not None and _first_leak(graph, output, axis, span, replace(sizes, wanted=axis)) is None:
        return None
    return found


def _first_leak(graph: Graph, output: int, axis: Axis, span: Span, sizes: CallerSizes) -> Diagnostic | None:
    """What a result reads after its own item, in the order of the proof; None if that is nothing."""
    analysis = CausalityAnalysis()
    inputs = [
        Info(
            {
                (Digit(a),): Trace(f"`{entry.name}` is read along `{a.name}`", entry.value.span, None)
                for a in entry.value.type.axes
                if a.family == axis.family
            }
            | (reach_of_number(entry.default, entry.value.span, sizes) if entry.default is not None else {})
        )
        for entry in graph.inputs
    ]
    info = analysis.run(graph, inputs, sizes)[output]
    for bound, trace in info.reach.items():
        if not _within(bound, axis):
            return leak(trace, _reached(bound, axis), graph, axis, span)
    return None


def _within(bound: Bound, axis: Axis) -> bool:
    if all(digit.zero for digit in bound):
        return True
    return len(bound) == 1 and bound[0].axis == axis and bound[0].offset <= 0


def _reached(bound: Bound, axis: Axis) -> str:
    """In words: what an item of the result depends on."""
    digit = bound[0]
    if digit.axis is None:
        return f"items of `{axis.name}` after it"
    if len(bound) > 1:
        return f"whole groups of items, up to group number `{digit.axis.name}` as far as the proof can tell"
    if digit.axis == axis:
        return f"the item {digit.offset} after it"
    return f"items along `{digit.axis.name}`, which may come after it"


@dataclass
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
                f"`{graph.name}` is too long to follow", graph.span, *(info.reach for info in inputs)
            )
            return [Info(read) for _ in graph.outputs]
        infos: dict[int, Info] = {entry.value.id: info for entry, info in zip(graph.inputs, inputs, strict=True)}
        for node in graph.nodes:
            match node:
                case Constant(value, out):
                    infos[out.id] = constant_info(value, out, sizes)
                case Positions(axis, out):
                    form = Linear.of({axis: 1}, 0)
                    infos[out.id] = Info({}, linear=form, uppers=(form,))
                case Parameter(_, out):
                    infos[out.id] = Info({})
                case Apply():
                    infos[node.out.id] = Step(node, infos, sizes, graph).info()
                case Call():
                    self.call(node, infos, sizes, graph)
                case Repeat():
                    self._repeat(node, infos, sizes, graph)
                case Scan():
                    self._scan(node, infos, sizes, graph)
        result = [infos[output.value.id] for output in graph.outputs]
        self.kept[key] = result
        return result

    def call(self, node: Call, infos: dict[int, Info], sizes: CallerSizes, graph: Graph) -> None:
        """Puts the infos of a call's results beside those of its arguments."""
        inner = sizes.inside(node)
        entering = []
        for entry, arg in zip(node.graph.inputs, node.args, strict=True):
            back = {actual: formal for formal, actual in node.axes if formal in entry.value.type.axes}
            entering.append(over_info(infos[arg.id], back))
        names = dict(node.axes)
        for out, info in zip(node.outs, self.run(node.graph, entering, inner), strict=True):
            infos[out.id] = leaving(over_info(info, names), node.graph, node, graph)

    def _scan(self, node: Scan, infos: dict[int, Info], sizes: CallerSizes, graph: Graph) -> None:
        """A state depends on items up to the one at hand: each step adds its own, and none after it."""
        inner = sizes.inside(node)
        entering = []
        for entry, arg in zip(node.graph.inputs, node.args, strict=True):
            back = {actual: formal for formal, actual in node.axes if formal in entry.value.type.axes}
            entering.append(over_info(infos[arg.id], back))
        for at, _ in node.states:  # what is known of the first value need not hold of the next
            entering[at] = Info(entering[at].reach)
        found: list[Info] = []
        for attempt in range(8):
            found = self.run(node.graph, entering, inner)
            after = list(entering)
            for at, result in node.states:
                after[at] = Info(unite(entering[at].reach, found[result].reach))
            if all(set(a.reach) == set(b.reach) for a, b in zip(entering, after, strict=True)):
                break
            entering = after
            if attempt == 6:
                for at, _ in node.states:
                    entering[at] = Info(
                        reach_of_everything("each step reaches further", node.span, entering[at].reach, again=True)
                    )
        names = dict(node.axes)
        for out, info in zip(node.outs, found, strict=True):
            infos[out.id] = Info(leaving(over_info(info, names), node.graph, node, graph).reach)

    def _repeat(self, node: Repeat, infos: dict[int, Info], sizes: CallerSizes, graph: Graph) -> None:
        carried = [Info(infos[arg.id].reach) for arg in node.args[: node.carried]]
        outside = [infos[arg.id] for arg in node.args[node.carried :]]
        for attempt in range(8):
            after = [Info(info.reach) for info in carried]
            for body in node.bodies:
                found = [leaving(info, body, node, graph) for info in self.run(body, [*carried, *outside], sizes)]
                after = [Info(unite(a.reach, b.reach)) for a, b in zip(after, found, strict=True)]
            settled = all(set(a.reach) == set(b.reach) for a, b in zip(carried, after, strict=True))
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


def _freeze(info: Info) -> object:
    def facts(of: Cases) -> object:
        return frozenset(frozenset(case.items()) for case in of)

    forms = (info.linear, info.uppers, info.absolute, info.extent, info.never_negative)
    return (frozenset(info.reach), facts(info.true), facts(info.false), *forms)


def leaving(info: Info, inner: Graph, node: Call | Repeat | Scan, outer: Graph) -> Info:
    """The same, seen outside of a call or a repeat: its traces have that node on their way."""
    return replace(info, reach={bound: trace.leaving(inner, node, outer) for bound, trace in info.reach.items()})
