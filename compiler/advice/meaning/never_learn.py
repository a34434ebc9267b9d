"""Weights that never learn: the gradient of every result is 0 for them, at every step (W0521).

Either no path leads back to them but by picks, comparisons, rounding, a softmax of one item or a factor 0, or nothing
reads them; or a factor is 0 and frozen; or two of one product begin at 0, so that neither moves the other: Fixup
(Zhang et al. 2019) and ReZero (Bachlechner et al. 2021) begin with one. What no result of a block reaches, no caller
of it does.

Silent: what is `frozen`, and what `stop_gradient` keeps away on purpose; results that pass a gradient to no weight and
to no input (indices, measures beside a loss); biases that begin at 0 and are only picked by, which a rule outside
updates (DeepSeek-V3); what some pass of a repeat learns; a part one of whose other results is used; and what a branch
reads that is not taken at these numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ....dsl.source import Span
from ...base.problems import Problem
from ...graph.core.index import below, path_of
from ...graph.core.kept import kept
from ...graph.flows.learning import Learning
from ...graph.flows.zeros import Moving
from ...graph.nodes import (
    Apply,
    Call,
    Constant,
    Graph,
    Node,
    Parameter,
    Repeat,
    Weight,
    children,
    makes,
    reads,
    values_of,
    weights_of,
)
from ...graph.traits import Normalise, Pointwise, Product, Rounded
from ...graph.values import Role, Value, is_real
from ...problems.plain import Plain
from ...sizes.axes import evaluate
from .branches import left_out

_NOUGHT = re.compile(r"0(\.0*)?")
_PASS = re.compile(r"(?<=\.)\d+(?=\.)")


def never_learn(graph: Graph) -> Iterator[Problem]:
    """Of a block, or of a model: for each op where a gradient ends, the weights behind it."""
    if all_learn(graph):
        return
    own = own_weights(graph)
    if not own or not any(is_real(output.value) for output in graph.outputs):
        return
    learning = Learning(ends_gradient)
    paths, inputs = learning.whole(graph)
    reached = by_pass(paths)
    if reached or any(inputs) or "loss" in re.split("[_0-9]+", graph.name.lower()):
        yield from _Dead(graph, learning, own.keys() - reached, whole=not reached).told()
    if reached:
        yield from _stuck(graph, own, reached)
        yield from _behind_zeros(graph, reached)


def ends_gradient(node: Node) -> bool:
    """Whether the gradient through it is 0, `stop_gradient` left aside."""
    if not isinstance(node, Apply):
        return False
    match node.traits.reads:
        case Pointwise(Rounded()):
            return True
        case Pointwise(Product()):
            return any(map(_is_nought, node.operands))
        case Normalise(weights=True):
            return all(axis.extent == 1 for axis in node.axes)
        case _:
            return False


def _is_nought(value: Value) -> bool:
    """Whether 0 itself is written there: a const may be 0 in one config alone."""
    span = value.span
    return value.role is Role.CONSTANT and span is not None and _NOUGHT.fullmatch(span.text) is not None


@kept
def all_learn(graph: Graph) -> bool:
    """Whether gradients of its results surely reach all its weights and real inputs, and no factor is 0 at first: all
    that is made is read by what passes a gradient on. Most graphs are so, and are looked through once for all callers.
    """
    passing = {output.value.id for output in graph.outputs if is_real(output.value)}
    for node in reversed(graph.nodes):
        made = [out.id in passing for out in makes(node) if is_real(out)]
        if not all(made) or any(map(_may_be_nought, weights_of(node))):
            return False
        if not made:
            if weights_of(node) or children(node):
                return False
            continue
        if not isinstance(node, Apply | Call | Repeat | Constant | Parameter) or ends_gradient(node):
            return False
        count = evaluate(node.count) if isinstance(node, Repeat) else 1
        if (isinstance(node, Call) and node.graph.target) or not isinstance(count, int) or count < 1:
            return False
        if not all(map(all_learn, children(node))):
            return False
        passing.update(value.id for value in reads(node) if is_real(value))
    return all(entry.value.id in passing for entry in graph.inputs if is_real(entry.value))


def _may_be_nought(weight: Weight) -> bool:
    return _starts_zero(weight) and (weight.frozen or _is_factor(weight, weight.name))


def by_pass(paths: Iterable[str]) -> frozenset[str]:
    """Paths with `*` for the number of a pass."""
    return frozenset(_PASS.sub("*", path) for path in paths)


def own_weights(
    graph: Graph, frozen: bool = False, known: dict[int, dict[str, Weight]] | None = None
) -> dict[str, Weight]:
    """The weights of a graph that are not frozen, or those that are, by their paths, with `*` for the number of a
    pass.
    """
    known = {} if known is None else known
    if id(graph) not in known:
        found = known[id(graph)] = {}
        for node in graph.nodes:
            found.update((weight.name, weight) for weight in weights_of(node) if weight.frozen is frozen)
            for child in children(node):
                prefix, inner = path_of(node), own_weights(child, frozen, known).items()
                found.update((prefix + path, weight) for path, weight in inner)
    return known[id(graph)]


def _weights(node: Node) -> list[Weight]:
    return [weight for weight in weights_of(node) if not weight.frozen]


# -- no path -------------------------------------------------------------------------------------------------------


class _Dead:
    """Weights that no path reaches, by the ops where these end. whole: nothing in the graph is reached."""

    def __init__(self, graph: Graph, learning: Learning, dead: frozenset[str] | set[str], whole: bool) -> None:
        self.graph, self.learning, self.dead, self.whole = graph, learning, dead, whole
        self.at: dict[Span | None, tuple[Node | None, list[str]]] = {}

    def told(self) -> Iterator[Problem]:
        if not self.dead:
            return
        self._look(self.graph, "", frozenset(self.dead))
        for span, (end, paths) in self.at.items():
            names = listed(paths)
            if end is None:
                yield Plain.NEVER_READ.at(span, names)
            else:
                yield Plain.NEVER_LEARNS.at(span, names, _shown(end))

    def _look(self, graph: Graph, prefix: str, dead: frozenset[str]) -> list[tuple[set[int], list[str]]]:
        """Follow the dead weights of a graph forward; what leaves it is told by the ids of values, with the paths."""
        leaves: list[tuple[set[int], list[str]]] = []
        for node in graph.nodes:
            for starts, paths in self._starts(node, prefix, dead):
                ends, live = _Forward(self.learning).of(graph, starts)
                if self._read_elsewhere(graph, live):
                    continue
                out = live & {output.value.id for output in graph.outputs}
                if ends:
                    first = next(
                        (end for end in ends if ends_gradient(end)), ends[0]
                    )  # what is picked is often used beside
                    if not _set_outside(node, first):
                        self._note(getattr(first, "span", None), first, paths)
                elif out:
                    leaves.append((out, paths))
                elif len(makes(node)) == 1 and _bound_over(graph, live):
                    self._note(getattr(node, "span", None) or makes(node)[0].span, None, paths)
        return leaves

    def _read_elsewhere(self, graph: Graph, live: set[int]) -> bool:
        """Whether a branch that is not taken reads one of these values, here or in what they are given to."""
        names = {value.name for value in values_of(graph) if value.id in live and value.name}
        if names and names & left_out(graph):
            return True
        for node in graph.nodes:
            given = [n for n, value in enumerate(reads(node)) if value.id in live and not isinstance(node, Apply)]
            for inner in children(node) if given else ():
                starts = {inner.inputs[n].value.id for n in given}
                if self._read_elsewhere(inner, _Forward(self.learning).of(inner, starts)[1]):
                    return True
        return False

    def _starts(self, node: Node, prefix: str, dead: frozenset[str]) -> list[tuple[set[int], list[str]]]:
        """The values of a node that dead weights begin to make, with their paths."""
        own = [prefix + weight.name for weight in _weights(node) if weight.name in dead]
        if own:
            return [({makes(node)[0].id}, own)]
        if isinstance(node, Repeat):
            inside = below(dead, path_of(node))
            found = []
            for body in node.bodies if inside and evaluate(node.count) != 0 else ():
                places = {output.value.id: n for n, output in enumerate(body.outputs)}
                for ids, paths in self._look(body, prefix + path_of(node), inside):
                    found.append(({node.outs[places[one]].id for one in ids}, paths))
            return found
        if isinstance(node, Call) and not node.graph.target:
            if node.graph.kind == "model" and not self.whole:
                return []
            at, inside = prefix + path_of(node), below(dead, path_of(node))
            passed = inside & by_pass(self.learning.whole(node.graph)[0]) if inside else inside
            if inside - passed:  # what no result of it reaches
                self._look(node.graph, at, inside - passed)
            if passed:
                outs = {out.id for n, out in enumerate(node.outs) if passed & self._of_result(node.graph, n)}
                return [(outs, [at + path for path in sorted(passed)])]
        return []

    def _of_result(self, graph: Graph, number: int) -> frozenset[str]:
        used = [n == number for n in range(len(graph.outputs))]
        return by_pass(self.learning.from_results(graph, used)[0])

    def _note(self, span: Span | None, end: Node | None, paths: list[str]) -> None:
        self.at.setdefault(span, (end, []))[1].extend(paths)


class _Forward:
    """From values forward to where their gradients end."""

    def __init__(self, learning: Learning) -> None:
        self.learning = learning

    def of(self, graph: Graph, starts: set[int]) -> tuple[list[Node], set[int]]:
        """The nodes through which nothing comes back, in order; and the values before them."""
        live, found = set(starts), []
        for node in graph.nodes:
            hit = {n for n, value in enumerate(reads(node)) if value.id in live and is_real(value)}
            if not hit:
                continue
            match node:
                case Repeat():
                    for body in node.bodies:
                        ends, inner = self.of(body, {body.inputs[n].value.id for n in hit})
                        found += ends
                        live |= {
                            out.id for n, out in enumerate(node.outs) if body.outputs[n].value.id in inner or n in hit
                        }
                case Call(graph=inside) if not inside.target and not any(
                    self.learning.whole(inside)[1][n] for n in hit
                ):
                    if not _says_so(node, hit):
                        found.append(node)
                case Apply() if ends_gradient(node) or not is_real(node.out):
                    found.append(node)
                case _:
                    live |= {out.id for out in makes(node) if is_real(out)}
        return found, live


def _says_so(node: Call, inputs: set[int]) -> bool:
    """Whether a block of the same file reads these inputs nowhere: that is told where it takes them (A0529)."""
    inside, here = node.graph, node.span
    ids = {inside.inputs[number].value.id for number in inputs}
    used = {value.id for each in inside.nodes for value in reads(each)} | {each.value.id for each in inside.outputs}
    return inside.span is not None and here is not None and inside.span.source is here.source and not ids & used


def _set_outside(node: Node, end: Node) -> bool:
    """A bias that begins at 0 and is only ranked by."""
    picked = isinstance(end, Apply) and end.traits.jumps
    return isinstance(node, Parameter) and _starts_zero(node.weight) and picked


def _bound_over(graph: Graph, live: set[int]) -> bool:
    """Whether the last of these values has a name that the text binds anew before anything mentions it.

    A name that nothing reads at all is told of already; and what a branch that is not taken mentions is read there.
    """
    last = next((out for node in reversed(graph.nodes) for out in makes(node) if out.id in live), None)
    if last is None or last.name is None or last.span is None:
        return False
    rest = last.span.source.text[last.span.end :].partition("\n}")[0]
    found = re.search(rf"\b{re.escape(last.name)}\b([^\n]*)", rest)
    if found is None:
        return False
    line = rest[: found.start()].rpartition("\n")[2]
    bound = re.match(r"\s*=(?!=)(.*)", found[1])
    return not line.strip() and bound is not None and not re.search(rf"\b{re.escape(last.name)}\b", bound[1])


def _shown(node: Node) -> str:
    if isinstance(node, Call):
        return f"`{node.graph.name}`"
    if not isinstance(node, Apply):
        return ""
    match node.traits.reads:
        case Normalise():
            return f"`{node.op}` of one item"
        case Pointwise(Product()):
            return "a factor 0"
        case _:
            return f"`{node.op}`"


# -- two factors that are 0 ----------------------------------------------------------------------------------------


def _starts_zero(weight: Weight) -> bool:
    return weight.init.kind == "zeros" or (weight.init.kind == "constant" and not any(weight.init.args))


def _stuck(graph: Graph, own: dict[str, Weight], reached: frozenset[str]) -> Iterator[Problem]:
    """Weights that stay 0: those that have no gradient while all of them are 0."""
    zeros = frozenset(path for path, weight in own.items() if _starts_zero(weight) and path in reached)
    if not any(_is_factor(own[path], path) for path in zeros):
        return
    flow = Moving(ends_gradient)
    while zeros:
        moved, products = flow.whole(graph, zeros)
        moving = zeros & by_pass(moved)
        if not moving:
            break
        zeros -= moving
    if zeros:
        for span, paths in (one[:2] for one in products if one.zeros > 1):
            yield Plain.BOTH_ZERO.at(span, " and ".join(f"`{path}`" for path in paths))


def _is_factor(weight: Weight, path: str) -> bool:
    """Not the bias of a map or norm."""
    return not path.endswith(".bias")


def _behind_zeros(graph: Graph, reached: frozenset[str]) -> Iterator[Problem]:
    """Weights that learn but for a factor that is 0 and frozen: what they make counts for nothing, ever."""
    frozen = own_weights(graph, frozen=True)
    flow = Moving(ends_gradient)
    for path in sorted(path for path, weight in frozen.items() if _starts_zero(weight)):
        moved, products = flow.whole(graph, frozenset((path,)))
        dead = (by_pass(flow.whole(graph, frozenset())[0]) & reached) - by_pass(moved)
        if dead and products:
            yield Plain.ZERO_FROZEN.at(products[0].span, listed(sorted(dead)), path)


def listed(paths: list[str]) -> str:
    return ", ".join(f"`{path}`" for path in paths[:3]) + (f" and {len(paths) - 3} more" if paths[3:] else "")
