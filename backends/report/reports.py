"""What the backends make of a model, told without writing any code: `attnc compile --explain`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...compiler.decoding import Decoding
from ...compiler.graph.nodes import Apply, Call, Graph, Node, Scan, children, nested, reads
from ...compiler.graph.report import Attended, Change, Report, Unread
from ...compiler.graph.term import Leaf, Predicate, leaves, plain, positional
from ...compiler.graph.traits import Normalise
from ...compiler.graph.values import Value
from ...compiler.masks.kinds import classify, is_causal
from ...compiler.masks.read import Reader
from ...compiler.pipeline import FORWARD, PASSES, STEP, Pass, rewritten
from ...compiler.sizes.axes import Literal
from ..plan.lower import derived
from .changes import change, instances

IN_CODE = ("inline", "mask_arguments")  # what attention is told of is what a block as it is written has
ZERO = (Literal(0), Literal(0.0))
LEFT_OUT = "left out"
WHOLE = "the whole matrix of scores"
UNFUSED = "not fused: the weights are read elsewhere, or the scores are more than a product, scaled, and a bias"


def explain(graph: Graph, decoding: Decoding, passes: Sequence[Pass] = PASSES) -> Report:
    """The report of a model whose sizes are known, compiled with these passes; decoding: how it then decodes."""
    lowered, changes = _changes(graph, passes, FORWARD)
    found: dict[object, Attended] = {}
    for attended in _attended(rewritten(graph, [one for one in passes if one.name not in IN_CODE])):
        key = (attended.span, attended.sees, attended.unread, tuple(attended.how.items()))
        paths = (*found[key].paths, *attended.paths) if key in found else attended.paths
        found[key] = replace(attended, paths=tuple(dict.fromkeys(paths)))
    told = str(decoding).splitlines()
    step = derived(graph, lowered, passes).step
    if decoding.step is not None and step is not None:
        told += [f"step: {one.rewrite}: {one.what}" for one in _changes(step, passes, STEP)[1]]
    left_out = [Change(one.name, LEFT_OUT) for one in PASSES if one not in passes]
    order = {one.name: place for place, one in enumerate(PASSES)}
    changes = sorted([*changes, *left_out], key=lambda one: order[one.rewrite])
    return Report(graph.name, tuple(changes), tuple(found.values()), tuple(told))


def _changes(graph: Graph, passes: Sequence[Pass], kind: str) -> tuple[Graph, list[Change]]:
    """The graph lowered, and what each pass did to it."""
    on, changes = frozenset(one.name for one in passes), []
    for one in passes:
        new = one.run(graph, on) if kind in one.kinds else graph
        if new is not graph and (what := change(one.name, graph, new)):
            changes.append(Change(one.name, what))
        graph = new
    return graph, changes


def _attended(root: Graph) -> Iterator[Attended]:
    givers = _Givers(root)
    for graph, where in instances(root):
        reader = Reader(graph)
        for node in graph.nodes:
            if isinstance(node, Apply) and node.op == "attention":
                yield _fused(node, graph, where, reader, givers)
            elif isinstance(node, Apply) and _weighs(node) and len(node.axes) == 1 and node.axes[0].is_width:
                predicate = _made(node, reader)
                under = "" if predicate is None else ", under a mask of that size"
                how = {"torch": WHOLE + under, "numpy": WHOLE + under}
                yield Attended(graph.name, node.span, (where or graph.name,), _sees(predicate), (), how, UNFUSED)


class _Givers:
    """Who gives a graph its inputs, by the ids of their values, and what."""

    def __init__(self, root: Graph) -> None:
        self._given: dict[tuple[int, int], list[tuple[Graph, Node, Value]]] = {}
        for graph in nested(root):
            for node in graph.nodes:
                for child in children(node):
                    for item, arg in zip(child.inputs, reads(node), strict=True):
                        self._given.setdefault((id(child), item.value.id), []).append((graph, node, arg))

    def why(self, graph: Graph, leaf: Leaf) -> str:
        """Why a dense part of a mask was not read."""
        reasons: dict[str, None] = {}
        for caller, node, arg in self._given.get((id(graph), leaf.value.id), []) if not leaf.why else []:
            term = Reader(caller).term(arg)
            if not positional(term):
                reasons |= {self.why(caller, part): None for part in leaves(term)}
            elif isinstance(node, Scan):
                reasons["a scan is given its mask item by item"] = None
            elif isinstance(node, Call) and node.graph.kind == "model":
                reasons["a model that is called is given its mask as data"] = None
            else:
                reasons["calls of one set of weights have unlike masks"] = None
        return leaf.why or ", and ".join(reasons) or "it is data"


def _weighs(node: Apply) -> bool:
    """Whether it makes weights of scores."""
    return node.traits.reads == Normalise(weights=True)


def _sees(predicate: Predicate | None) -> str:
    """What queries see, in words."""
    return "all" if predicate is None else classify(predicate).name


def _made(node: Apply, reader: Reader) -> Predicate | None:
    """The mask of a softmax that is not fused, as a predicate of the keys and of what else is a width."""
    if node.mask is None:
        return None
    k = node.axes[0]
    others = [axis for axis in node.out.type.axes if axis != k and axis.is_width]
    near = [axis for axis in others if axis.family == k.family] or others or [k]
    return Predicate(near[0], k, plain(reader.term(node.mask)))


def _fused(node: Apply, graph: Graph, where: str, reader: Reader, givers: _Givers) -> Attended:
    predicate = node.seen
    if predicate is None and node.mask is not None:
        predicate = Predicate(node.made[0], node.axes[1], plain(reader.term(node.mask)))
    if predicate is None:
        return Attended(graph.name, node.span, (where or graph.name,), _sees(None), (), _how(node, None))
    kind = classify(predicate)
    unread = []
    for leaf in kind.dense:
        why = givers.why(graph, leaf)
        name = leaf.name or leaf.value.name
        unread.append(Unread(f"`{name}`" if name else "a part of the mask", why, leaf.value.span))
    return Attended(graph.name, node.span, (where or graph.name,), kind.name, tuple(unread), _how(node, predicate))


def _how(node: Apply, predicate: Predicate | None) -> dict[str, str]:
    """How each backend computes a fused attention."""
    reads = 0 if node.seen is None else len(leaves(node.seen.term))
    biased = len(node.operands) - reads > 3
    dropped = node.options.get("p", Literal(0)) not in ZERO
    kernel = "scaled_dot_product_attention"
    if node.seen is None:
        under = "" if predicate is None else ", under the mask as it is given" if classify(predicate).dense else (
            ", under a mask of one row"
        )  # fmt: skip
        torch = f"{kernel}{', with its bias made as a whole' if biased else ''}{under}"
        return {"torch": torch, "numpy": f"blocks of 64 queries{under}"}
    if is_causal(node.seen) and not biased and "cap" not in node.options:
        torch = f"{kernel}, is_causal"
    else:
        flex = "" if biased else "; on CUDA FlexAttention" + (" where nothing is dropped" if dropped else "")
        torch = f"blocks of 64 or 256 queries with the keys in sight{flex}"
    return {"torch": torch, "numpy": "blocks of 64 queries with the keys in sight"}
