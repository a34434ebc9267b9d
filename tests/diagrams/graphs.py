"""Graphs made by hand, so that pictures can be tested without the checker."""

from __future__ import annotations

from itertools import count

from attnc.compiler.graph.nodes import (
    Apply,
    Call,
    Constant,
    Graph,
    Init,
    Input,
    Node,
    Output,
    Parameter,
    Positions,
    Repeat,
    Weight,
)
from attnc.compiler.graph.traits import Anything, OpTraits
from attnc.compiler.graph.values import IndexInto, Role, Scalar, Type, Value
from attnc.compiler.ops import OPS
from attnc.compiler.sizes.axes import Arith, Axis, Kind, Literal, SizeOf, Static

_axis_ids = count()


def width(name: str, label: str | None = None, like: Axis | None = None) -> Axis:
    id = next(_axis_ids)
    return Axis(id, name, Kind.WIDTH, label or name, None, None, None, like.family if like else id, None)


def depth(name: str, label: str | None = None, extent: int | None = 64) -> Axis:
    id = next(_axis_ids)
    return Axis(id, name, Kind.DEPTH, label or name, extent, None, None, id, None)


def sqrt(axis: Axis) -> Static:
    return Arith("sqrt", (SizeOf(axis),))


class Block:
    """Collects nodes; each method makes one and returns its value."""

    def __init__(self, name: str, axes: tuple[Axis, ...] = (), kind: str = "block") -> None:
        self.name, self.axes, self.kind = name, axes, kind
        self.ids = count()
        self.inputs: list[Input] = []
        self.nodes: list[Node] = []

    def value(self, axes: tuple[Axis, ...], role: Role = Role.DATA, name: str | None = None, **more: object) -> Value:
        element = more.pop("element", Scalar.REAL)
        return Value(next(self.ids), Type(element, axes, more.pop("broadcast_axes", frozenset())), role, name, None)  # type: ignore[arg-type]

    def input(self, name: str, *axes: Axis, role: Role = Role.DATA, **more: object) -> Value:
        value = self.value(axes, role, name, **more)
        self.inputs.append(Input(name, value))
        return value

    def constant(self, value: Static) -> Value:
        out = self.value((), Role.CONSTANT)
        self.nodes.append(Constant(value, out))
        return out

    def number(self, value: float | bool) -> Value:
        return self.constant(Literal(value))

    def positions(self, axis: Axis) -> Value:
        out = self.value((axis,), Role.TABLE, element=IndexInto(axis))
        self.nodes.append(Positions(axis, out))
        return out

    def param(self, name: str, *axes: Axis) -> Value:
        out = self.value(axes, Role.WEIGHT, name)
        self.nodes.append(Parameter(Weight(name, tuple((a,) for a in axes), Init("default"), False, None), out))
        return out

    def op(
        self,
        op: str,
        *operands: Value,
        axes: tuple[Axis, ...] = (),
        made: tuple[Axis, ...] = (),
        out: tuple[Axis, ...] | None = None,
        mask: Value | None = None,
        name: str | None = None,
        label: str | None = None,
        learned: int = 0,
        **more: object,
    ) -> Value:
        if out is None:
            union = list(dict.fromkeys(a for v in operands for a in v.type.axes))
            if made:
                at = next((i for i, a in enumerate(union) if a in axes), len(union))
                union = [a for a in union if a not in axes]
                if op == "linear":
                    at = len(union)
                union[at:at] = made
            elif op in ("dot", "sum", "mean", "max", "min", "argmax", "logsumexp", "any", "all", "cross_entropy"):
                union = [a for a in union if a not in axes]
            out = tuple(union)
        role = max((v.role for v in operands), default=Role.CONSTANT)
        if learned:
            role = max(role, Role.WEIGHT)
        value = self.value(out, role, name, **more)
        weights = tuple(
            Weight(f"{label or op}.{kind}", ((a,) if False else axes,), Init("default"), False, None)
            for kind, a in zip(("weight", "bias"), (None, None), strict=False)
        )[:learned]
        self.nodes.append(
            Apply(
                OPS.get(op) or OpTraits(op, reads=Anything()), operands, value, axes, made, (), mask, {}, label, weights
            )
        )
        return value

    def linear(
        self, label: str, x: Value, eaten: tuple[Axis, ...], made: tuple[Axis, ...], bias: bool = False, **more: object
    ) -> Value:
        return self.op("linear", x, axes=eaten, made=made, label=label, learned=2 if bias else 1, **more)  # type: ignore[arg-type]

    def norm(self, x: Value, axis: Axis, label: str = "norm") -> Value:
        return self.op("layernorm", x, axes=(axis,), out=x.type.axes, label=label, learned=2)

    def rename(self, x: Value, a: Axis, b: Axis) -> Value:
        axes = tuple(b if c == a else c for c in x.type.axes)
        return self.op("rename", x, axes=(a,), made=(b,), out=axes, element=x.type.element)

    def call(
        self,
        graph: Graph,
        label: str,
        *args: Value,
        axes: dict[Axis, Axis] | None = None,
        outs: tuple[tuple[Axis, ...], ...] = (),
    ) -> Value:
        values = tuple(self.value(o) for o in outs)
        self.nodes.append(Call(graph, label, args, values, tuple((axes or {}).items()), ()))
        return values[0]

    def repeat(self, name: str, times: int, body: Graph, *args: Value, carried: int = 1) -> Value:
        outs = tuple(self.value(v.type.axes, name=v.name) for v in args[:carried])
        self.nodes.append(Repeat(name, Literal(times), False, None, (body,), (0,) * times, args, carried, outs))
        return outs[0]

    def done(
        self, *outputs: Value, lifted: tuple[Axis, ...] = (), names: tuple[str | None, ...] | None = None
    ) -> Graph:
        outs = tuple(Output(n, v, v.type.axes) for n, v in zip(names or (None,) * len(outputs), outputs, strict=True))
        return Graph(
            self.name, self.kind, self.axes, len(self.axes), (), lifted, tuple(self.inputs), tuple(self.nodes), outs
        )


def attend(masked: bool = False, lifted: Axis | None = None) -> tuple[Graph, dict[str, Axis]]:
    q, k = width("q", "y"), width("k", "x")
    d, v = depth("d", "k"), depth("v", "v")
    b = Block("attend", (q, k, d, v))
    heads = (lifted,) if lifted else ()
    Q, K, V = b.input("Q", *heads, q, d), b.input("K", *heads, k, d), b.input("V", *heads, k, v)
    mask = b.input("mask", q, k, role=Role.TABLE, element=Scalar.BOOL) if masked else None
    root = b.constant(sqrt(d))
    scores = b.op("/", b.op("dot", Q, K, axes=(d,)), root, name="scores")
    weights = b.op("softmax", scores, axes=(k,), out=scores.type.axes, name="weights", mask=mask)
    out = b.op("dot", weights, V, axes=(k,))
    return b.done(out, lifted=heads), {"q": q, "k": k, "d": d, "v": v}


def multihead(masked: bool = False) -> tuple[Graph, dict[str, Axis]]:
    y, x = width("q", "y"), width("k", "x")
    m, h, k, v = depth("model", "m"), depth("heads", "h"), depth("key", "k"), depth("value", "v")
    b = Block("multihead", (y, x, m, h, k, v))
    base, injected = b.input("Y", y, m), b.input("X", x, m)
    mask = b.input("mask", y, x, role=Role.TABLE, element=Scalar.BOOL) if masked else None
    Q = b.linear("Q", base, (m,), (h, k), name="Q")
    K = b.linear("K", injected, (m,), (h, k), name="K")
    V = b.linear("V", injected, (m,), (h, v), name="V")
    inner, names = attend(masked, lifted=h)
    axes = {names["q"]: y, names["k"]: x, names["d"]: k, names["v"]: v}
    heads = b.call(inner, "attend", Q, K, V, *([mask] if mask else []), axes=axes, outs=((h, y, v),))
    out = b.linear("O", heads, (h, v), (m,))
    return b.done(out), {"y": y, "x": x, "m": m, "h": h, "k": k, "v": v}


def join(m: Axis) -> Graph:
    b = Block("join", (m,))
    x, change = b.input("x", m), b.input("change", m)
    dropped = b.op("dropout", change)
    return b.done(b.norm(b.op("+", x, dropped), m))


def feed(m: Axis, f: Axis) -> Graph:
    b = Block("feed_forward", (m, f))
    x = b.input("x", m)
    return b.done(b.linear("down", b.op("relu", b.linear("up", x, (m,), (f,), bias=True)), (f,), (m,), bias=True))


def call_join(b: Block, label: str, graph: Graph, m: Axis, x: Value, change: Value) -> Value:
    return b.call(_lifted(graph, x.type.axes[0]), label, x, change, axes={graph.axes[0]: m}, outs=(x.type.axes,))


def _lifted(graph: Graph, axis: Axis) -> Graph:
    """The same graph lifted over one more axis: its values get it in front."""
    swap: dict[int, Value] = {}

    def lift(v: Value) -> Value:
        if v.role is not Role.DATA:
            return v
        return swap.setdefault(
            v.id, Value(v.id, Type(v.type.element, (axis, *v.type.axes), v.type.broadcast_axes), v.role, v.name, v.span)
        )

    nodes: list[Node] = []
    for node in graph.nodes:
        assert isinstance(node, Apply)
        nodes.append(
            Apply(
                node.traits,
                tuple(map(lift, node.operands)),
                lift(node.out),
                node.axes,
                node.made,
                node.each,
                node.mask,
                node.options,
                node.name,
                node.weights,
            )
        )
    inputs = tuple(Input(i.name, lift(i.value)) for i in graph.inputs)
    outputs = tuple(Output(o.name, lift(o.value), (axis, *o.axes)) for o in graph.outputs)
    return Graph(graph.name, graph.kind, graph.axes, graph.params, (), (axis,), inputs, tuple(nodes), outputs)


def encoder(pre: bool = False, times: int = 6) -> Graph:
    s, f = width("source", "x"), depth("inner", "f")
    m = depth("model", "m")
    other = width("from", "x'", like=s)
    mh, names = multihead()
    body = Block("layers", kind="repeat")
    x = body.input("x", s, m)
    join_graph, feed_graph = join(m), feed(m, f)
    axes = {names["y"]: s, names["x"]: other, names["m"]: m}
    if pre:
        n = body.norm(x, m, "n1")
        x = body.op("+", x, body.call(mh, "self", n, body.rename(n, s, other), axes=axes, outs=((s, m),)))
        n = body.norm(x, m, "n2")
        x = body.op("+", x, body.call(_lifted(feed_graph, s), "feed_forward", n, axes={}, outs=((s, m),)))
    else:
        change = body.call(mh, "self", x, body.rename(x, s, other), axes=axes, outs=((s, m),))
        x = call_join(body, "seen", join_graph, m, x, change)
        change = body.call(_lifted(feed_graph, s), "feed_forward", x, axes={}, outs=((s, m),))
        x = call_join(body, "fed", join_graph, m, x, change)
    top = Block("encode", (s, m))
    start = top.input("X", s, m)
    return top.done(top.repeat("layers", times, body.done(x), start))


def swiglu() -> Graph:
    s, m, f = width("seq", "x"), depth("model", "m"), depth("inner", "f")
    b = Block("swiglu", (s, m, f))
    x = b.input("X", s, m)
    gate = b.op("silu", b.linear("gate", x, (m,), (f,)))
    return b.done(b.linear("down", b.op("*", gate, b.linear("up", x, (m,), (f,))), (f,), (m,)))


def glyphs() -> Graph:
    s, m, h, k, n = width("seq", "x"), depth("model", "m"), depth("heads", "h"), depth("key", "k"), depth("n")
    b = Block("glyphs", (s, m))
    x = b.input("X", s, m)
    x = b.op("split", x, axes=(m,), made=(h, k))
    x = b.op("softmax", x, axes=(k,))
    x = b.op("merge", x, axes=(h, k), made=(m,))
    x = b.op("rmsnorm", x, axes=(m,), out=x.type.axes, label="norm", learned=1)
    x = b.op("gelu", x)
    x = b.op("mean", x, axes=(s,))
    return b.done(b.linear("head", x, (m,), (n,)))


def transformer() -> Graph:
    """Vaswani et al. 2017, with its blocks as the standard library has them."""
    source, target = width("source", "x"), width("target", "y")
    other, past = width("from", "x'", like=source), width("past", "y'", like=target)
    m, f, vocab = depth("model", "m"), depth("inner", "f"), depth("vocab", "n")
    mh_masked, names_masked = multihead(True)
    join_graph, feed_graph = join(m), feed(m, f)

    def place(n: Axis) -> Graph:
        b = Block("place", (n,))
        ids = b.input("ids", n, element=IndexInto(vocab))
        E = b.input("E", vocab, m, role=Role.WEIGHT)
        at, i = b.positions(n), b.positions(m)
        wave = b.op("sin", b.op("/", at, b.op("+", i, b.number(1))), name="wave")
        rows = b.op("gather", E, ids, axes=(vocab,), out=(n, m))
        scaled = b.op("*", rows, b.constant(sqrt(m)))
        return b.done(b.op("dropout", b.op("+", scaled, wave)))

    def layers(name: str, decode: bool) -> Graph:
        b = Block("layers", kind="repeat")
        axis, copy = (target, past) if decode else (source, other)
        x = b.input("x", axis, m)
        memory = b.input("memory", source, m) if decode else None
        real = b.input("real", source, element=Scalar.BOOL)
        if decode:
            mask = b.op("<=", b.positions(past), b.positions(target), element=Scalar.BOOL)
            axes = {names_masked["y"]: axis, names_masked["x"]: copy, names_masked["m"]: m}
        else:
            mask = b.rename(real, source, other)
            axes = {names_masked["y"]: axis, names_masked["x"]: copy, names_masked["m"]: m}
        change = b.call(mh_masked, "self", x, b.rename(x, axis, copy), mask, axes=axes, outs=((axis, m),))
        x = call_join(b, "seen", join_graph, m, x, change)
        if memory is not None:
            axes = {names_masked["y"]: axis, names_masked["x"]: source, names_masked["m"]: m}
            change = b.call(mh_masked, "cross", x, memory, real, axes=axes, outs=((axis, m),))
            x = call_join(b, "read", join_graph, m, x, change)
        change = b.call(_lifted(feed_graph, axis), "feed_forward", x, axes={}, outs=((axis, m),))
        x = call_join(b, "fed", join_graph, m, x, change)
        return b.done(x)

    def stack(name: str, decode: bool) -> Graph:
        b = Block(name)
        x = b.input("x", target if decode else source, m)
        rest = [b.input("memory", source, m)] if decode else []
        rest.append(b.input("real", source, element=Scalar.BOOL))
        return b.done(b.repeat("layers", 6, layers(name, decode), x, *rest))

    b = Block("transformer", kind="model")
    source_ids = b.input("source_ids", source, element=IndexInto(vocab))
    target_ids = b.input("target_ids", target, element=IndexInto(vocab))
    real = b.input("real", source, element=Scalar.BOOL)
    E = b.param("E", vocab, m)
    x = b.call(place(source), "place", source_ids, E, outs=((source, m),))
    memory = b.call(stack("encode", False), "encode", x, real, outs=((source, m),))
    y = b.call(place(target), "place", target_ids, E, outs=((target, m),))
    y = b.call(stack("decode", True), "decode", y, memory, real, outs=((target, m),))
    return b.done(b.op("dot", y, E, axes=(m,)))


def flat(n: int) -> Graph:
    """A block of about n ops in a row, residuals and all."""
    s, m = width("seq", "x"), depth("model", "m")
    b = Block("flat", (s, m))
    x = b.input("X", s, m)
    for i in range(n // 4):
        y = b.linear(f"l{i}", b.norm(x, m, f"n{i}"), (m,), (m,))
        x = b.op("+", x, b.op("gelu", y))
    return b.done(x)
