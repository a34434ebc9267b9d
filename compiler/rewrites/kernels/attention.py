"""softmax[k](dot[d](Q, K) scale + bias where mask) times V over k becomes one op, `attention`.

Found by the shape of the graph, never by names. `Apply("attention", (Q, K, V[, bias]), axes=(d, k), made=(q, v))`, with
the options `scale` (a number: what scores, queries and keys are multiplied with), `p` (dropout of the weights) and
`cap` (scores s become cap tanh(s / cap): Gemma 2), and the softmax's mask. The bias is all that a sum has besides the
product, terms of either sign, also inside a factor: `(dot[d](Q, K) - a) / 8 + b`. d is contracted, k normalised and
contracted; q and v are the result's own axes, all others are shared or broadcast.

Only where nothing else reads the scores or the weights, where nobody asked to see them (`keep`), and where there is one
axis each of queries, keys, contraction and values. What it does not do: change any number but by rounding.
Reference: Vaswani et al. 2017, equation 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...graph.nodes import Apply, Call, Constant, Graph, Node, reads
from ...graph.traits import Combination, Meaning, Normalise, OpTraits, Pointwise, Product, Quotient, Reduce, Sum
from ...graph.typed_value import static_element
from ...graph.values import Role, Scalar, Type, Value
from ...ops import op_meaning, op_named
from ...sizes.arithmetic import substitute
from ...sizes.axes import Arith, Axis, Const, ConstOf, Literal, Static, known
from ..tools.walk import Fresh, Walk


def fuse_attention(
    graph: Graph, keep: Mapping[int, frozenset[int]] | None = None, capped: bool = False
) -> tuple[Graph, dict[int, Graph]]:
    """The graph with attention fused, and what became of each nested graph, by id.

    keep: for `id(graph)`, ids of values that must stay. capped: also where scores are capped, by a block perhaps, whose
    call then goes.
    """
    kept = keep or {}
    walk = Walk(lambda old, new: _fuse(new, kept.get(id(old), frozenset()), capped))
    return walk(graph), walk.replaced


def _fuse(graph: Graph, keep: frozenset[int], capped: bool) -> Graph:
    makers: dict[int, Node] = {}
    readers: dict[int, int] = {output.value.id: 2 for output in graph.outputs}  # what calls the graph reads it too
    for node in graph.nodes:
        if isinstance(node, Apply | Constant):
            makers[node.out.id] = node
        elif isinstance(node, Call) and len(node.outs) == 1:
            makers[node.outs[0].id] = node
        for value in reads(node):
            readers[value.id] = readers.get(value.id, 0) + 1
    match = _Match(makers, readers, keep, frozenset(graph.lifted), capped)
    fused: dict[int, list[Node]] = {}
    gone: set[int] = set()
    fresh = Fresh(graph)
    for node in graph.nodes:
        if isinstance(node, Apply) and _is_product(node):
            found = match.attention(node, fresh)
            if found is not None:
                fused[node.out.id], inner = found
                gone |= inner
                del makers[node.out.id]  # it is gone: no other attention takes it for its scores
    if not fused:
        return graph
    nodes: list[Node] = []
    for node in graph.nodes:
        if isinstance(node, Call) and len(node.outs) == 1 and node.outs[0].id in gone:
            continue
        if isinstance(node, Apply) and node.out.id in gone:
            continue
        nodes += fused.get(node.out.id, [node]) if isinstance(node, Apply) else [node]
    return replace(graph, nodes=tuple(nodes))


ONE = Literal(1)


@dataclass(frozen=True, slots=True)
class _Term:
    """One term of a sum, times a number."""

    value: Value
    scale: Static


def _is_product(node: Apply) -> bool:
    """Whether it multiplies two operands and sums over one axis."""
    match node.traits:
        case OpTraits(reads=Reduce(Combination(adds=True, averages=False), multiplies=True), gradient=True):
            return len(node.operands) == 2 and len(node.axes) == 1 and not node.weights
        case _:
            return False


def _minus(scale: Static) -> Static:
    match scale:
        case Literal(number) if not isinstance(number, bool):
            return Literal(-number)
        case _:
            return Arith("neg", (scale,))


def _is_negative(scale: Static) -> bool:
    match scale:
        case Arith(_, (of,)) if scale == _minus(of):
            return not _is_negative(of)
        case Arith("*" | "/", (one, other)):
            return _is_negative(one) is not _is_negative(other)
        case _:
            number = known(scale)
            return number is not None and number < 0


def _is_number(value: Value) -> bool:
    """Whether it is a number for all scores alike, of which softmax makes nothing."""
    return not value.type.axes and value.role <= Role.TABLE


def _total(terms: list[_Term], like: Value, fresh: Fresh, nodes: list[Node]) -> Value:
    """The sum of these terms, which varies along no other axes than `like`; what makes it goes to `nodes`."""

    def made(meaning: Meaning, *operands: Value) -> Value:
        real = any(value.type.element is Scalar.REAL for value in operands)
        axes = tuple(axis for axis in like.type.axes if any(axis in value.type.axes for value in operands))
        varies = {axis for value in operands for axis in value.type.varying}
        type = Type(Scalar.REAL if real else Scalar.INT, axes, frozenset(axes) - varies)
        out = fresh(Value(0, type, max(value.role for value in operands), None, like.span))
        nodes.append(Apply(op_meaning(meaning), operands, out, span=like.span))
        return out

    total: Value | None = None
    for value, scale in ((term.value, term.scale) for term in terms):
        negative = scale == _minus(ONE)
        if scale != ONE and not negative:
            number = fresh(Value(0, Type(static_element(scale), ()), Role.CONSTANT, None, like.span))
            nodes.append(Constant(scale, number))
            value = made(Product(), value, number)
        if total is None:
            total = made(Sum((-1,)), value) if negative else value
        else:
            total = made(Sum((1, -1 if negative else 1)), total, value)
    assert total is not None
    return total


def _positive(Q: Value, scale: Static, fresh: Fresh, nodes: list[Node]) -> tuple[Value, Static]:
    """Queries and scale, which is not negative: PyTorch's kernel of causal attention takes no such scale on a CPU."""
    if not _is_negative(scale):
        return Q, scale
    return _total([_Term(Q, _minus(ONE))], Q, fresh, nodes), _minus(scale)


class _Match:
    """Looks for attention around one `dot`."""

    def __init__(
        self,
        makers: Mapping[int, Node],
        readers: Mapping[int, int],
        keep: frozenset[int],
        lifted: frozenset[Axis],
        capped: bool,
    ) -> None:
        self.makers, self.readers, self.keep, self.lifted, self.capped = makers, readers, keep, lifted, capped

    def private(self, value: Value, random: bool = False) -> Apply | None:
        """The op that made the value, if the value has one reader and is not captured. It has a gradient, and draws
        nothing at random unless that is asked for.
        """
        node = self.makers.get(value.id)
        if isinstance(node, Apply) and self.readers.get(value.id) == 1 and value.id not in self.keep:
            return node if node.traits.gradient and node.traits.random is random else None
        return None

    def constant(self, value: Value) -> Static | None:
        node = self.makers.get(value.id)
        return node.value if isinstance(node, Constant) else None

    def core(self, value: Value) -> set[Axis]:
        """The axes that it varies along, those of callers left out."""
        return {axis for axis in value.type.varying if axis not in self.lifted}

    def attention(self, node: Apply, fresh: Fresh) -> tuple[list[Node], set[int]] | None:
        """The fused op for `dot[k](weights, V)`, behind what makes its bias, and the values that it swallows."""
        for weights, values in (node.operands, node.operands[::-1]):
            found = self._around(node, weights, values, fresh)
            if found is not None:
                return found
        return None

    def _around(self, node: Apply, weights: Value, values: Value, fresh: Fresh) -> tuple[list[Node], set[int]] | None:
        k = node.axes[0]
        gone = {weights.id}
        p: Static | None = None
        dropout = self.private(weights, random=True)
        if dropout is not None and dropout.op == "dropout":  # the kernel draws as it does: no other op will do
            p = dropout.options.get("p", Literal(0.0))
            gone.add(dropout.operands[0].id)
            weights = dropout.operands[0]
        softmax = self.private(weights)
        if softmax is None or softmax.traits.reads != Normalise(weights=True) or softmax.axes != (k,):
            return None
        scores = softmax.operands[0]
        gone.add(scores.id)
        others: list[_Term] = []
        product = self._scaled(scores, gone)
        cap: Static | None = None
        found = self._cap(scores) if product is None and self.capped else None
        if found is not None:
            inner_gone = gone | found[2]
            product = self._scaled(found[0], inner_gone)
            if product is not None:
                cap, gone = found[1], inner_gone
        if product is None:
            terms = self._terms(scores, gone)
            products = [term for term in terms if self._scaled(term.value, set()) is not None]
            if len(products) != 1:
                return None
            product = self._scaled(products[0].value, gone, products[0].scale)
            others = [term for term in terms if term is not products[0] and not _is_number(term.value)]
        if product is None:
            return None
        dot, scale = product
        Q, scale = self._unscaled(dot.operands[0], scale, gone)
        K, scale = self._unscaled(dot.operands[1], scale, gone)
        if k not in self.core(K):
            Q, K = K, Q
        axes = self._axes(Q, K, values, dot.axes[0], k)
        beside = [term.value for term in others] + ([softmax.mask] if softmax.mask is not None else [])
        more = set[Axis]().union(*(self.core(value) for value in beside))
        if axes is None or more & {dot.axes[0], axes[1]}:  # the weights themselves would vary along these
            return None
        nodes: list[Node] = []
        Q, scale = _positive(Q, scale, fresh, nodes)
        options: dict[str, Static] = {"scale": scale}
        options |= {name: value for name, value in (("p", p), ("cap", cap)) if value is not None}
        biases = [_total(others, scores, fresh, nodes)] if others else []
        fused = replace(
            node,
            traits=op_named("attention"),
            operands=(Q, K, values, *biases),
            axes=(dot.axes[0], k),
            made=axes,
            mask=softmax.mask,
            options=options,
        )
        return [*nodes, fused], gone

    def _terms(self, value: Value, gone: set[int], scale: Static = ONE) -> list[_Term]:
        """What a sum is of, each term times the numbers around the sum, which goes."""
        swallowed: set[int] = set()
        inner, around = self._unscaled(value, scale, swallowed)
        node = self.private(inner)
        match node:
            case Apply(OpTraits(reads=Pointwise(Sum(times)))) if times in ((1, 1), (1, -1), (-1,)):
                gone |= {*swallowed, inner.id}
                found = []
                for sign, operand in zip(times, node.operands, strict=True):
                    found += self._terms(operand, gone, _minus(around) if sign < 0 else around)
                return found
            case _:
                return [_Term(value, scale)]

    def _scaled(self, value: Value, gone: set[int], scale: Static = ONE) -> tuple[Apply, Static] | None:
        """A dot product over one axis, times or over a number known at build time."""
        swallowed: set[int] = set()
        inner, scale = self._unscaled(value, scale, swallowed)
        node = self.private(inner)
        if node is None or not _is_product(node) or node.out.is_table:  # tables are exact, and no kernel is
            return None
        gone |= {*swallowed, inner.id}
        return node, scale

    def _unscaled(self, value: Value, scale: Static, gone: set[int]) -> tuple[Value, Static]:
        """What is multiplied with or divided by numbers known at build time, and these, joined to the scale."""
        while (node := self.private(value)) is not None:
            match node.traits.reads, node.operands:
                case Pointwise(Product()), (x, by) if (number := self.constant(by)) is not None:
                    scale = number if scale == ONE else Arith("*", (scale, number))
                case Pointwise(Product()), (by, x) if (number := self.constant(by)) is not None:
                    scale = number if scale == ONE else Arith("*", (scale, number))
                case Pointwise(Quotient(whole=False)), (x, by) if (number := self.constant(by)) is not None:
                    scale = Arith("/", (scale, number))
                case _:
                    break
            gone.add(value.id)
            value = x
        return value, scale

    def _cap(self, value: Value) -> tuple[Value, Static, set[int]] | None:
        """x and the number c, if the value is `c * tanh(x / c)`, or a block's that is; and what goes with it."""
        node = self.makers.get(value.id)
        if self.readers.get(value.id) != 1 or value.id in self.keep:
            return None
        if isinstance(node, Call) and node.graph.kind == "block":
            inside = _InlinedBlock(node)
            found = inside.match._cap(node.graph.outputs[0].value)
            if found is None or found[0].id not in inside.args:
                return None
            x = inside.args[found[0].id]
            cap = inside.number(found[1], self)
            return None if cap is None else (x, cap, {x.id})
        node = self.private(value)
        if node is None or node.traits.reads != Pointwise(Product()):
            return None
        for one, other in (node.operands, node.operands[::-1]):
            cap, bent = self.constant(one), self.private(other)
            if cap is None or bent is None or bent.op != "tanh":  # the kernel's cap is of no other function
                continue
            ratio = self.private(bent.operands[0])
            if ratio is None or ratio.traits.reads != Pointwise(Quotient()):
                continue
            if self.constant(ratio.operands[1]) == cap:
                x = ratio.operands[0]
                return x, cap, {other.id, bent.operands[0].id, x.id}
        return None

    def _axes(self, Q: Value, K: Value, V: Value, d: Axis, k: Axis) -> tuple[Axis, Axis] | None:
        """The axis of the queries and that of the values, if there is one of each."""
        qs, ks, vs = self.core(Q), self.core(K), self.core(V)
        if k in qs or k not in ks or k not in vs or d not in qs or d not in ks:
            return None
        if not ks - {k, d} <= qs - {d}:
            return None
        own = vs - {k} - (qs - {d})
        free = [axis for axis in Q.type.axes if axis in qs - {d} - ks - vs]
        if len(free) > 1:  # several could be the queries: the width is, the others are shared
            free = [axis for axis in free if axis.is_width]
        if len(free) != 1 or len(own) != 1:
            return None
        return free[0], next(iter(own))


class _InlinedBlock:
    """A block of one result, to be matched as if it stood in its caller: its numbers are the caller's."""

    def __init__(self, node: Call) -> None:
        graph = node.graph
        makers: dict[int, Node] = {inner.out.id: inner for inner in graph.nodes if isinstance(inner, Apply | Constant)}
        self.args = {item.value.id: arg for item, arg in zip(graph.inputs, node.args, strict=True)}
        self.stand_in: dict[Static, Value] = {}
        for place, item in enumerate(graph.inputs):
            if item.value.role is Role.CONSTANT:  # a number: here it stands for itself
                number = ConstOf(Const(-1 - place, item.name, None))
                makers[item.value.id] = Constant(number, item.value)
                self.stand_in[number] = node.args[place]
        self.consts = {const.id: static for const, static in node.consts}
        readers: dict[int, int] = {}
        for inner in graph.nodes:
            for value in reads(inner):
                readers[value.id] = readers.get(value.id, 0) + 1
        readers[graph.outputs[0].value.id] = readers.get(graph.outputs[0].value.id, 0) + 1
        self.match = _Match(makers, readers, frozenset(), frozenset(graph.lifted), True)

    def number(self, static: Static, outside: _Match) -> Static | None:
        """A number of the block in the caller's terms."""
        if static in self.stand_in:
            return outside.constant(self.stand_in[static])
        return substitute(static, {}, self.consts)
