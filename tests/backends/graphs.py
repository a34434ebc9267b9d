"""Graphs by hand, for tests of the backends that should not hang on the checker."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from attnc.compiler.axes import Axis, Kind
from attnc.compiler.graph import (
    Apply, Call, Constant, Element, Graph, IndexInto, Init, Input, Node, Output, Parameter, Positions, Repeat, Role,
    Scalar, Type, Value, Weight,
)  # fmt: skip
from attnc.compiler.static import Arith, Const, Literal, SizeOf, Static

_ids = count()


def depth(name: str, extent: int, size: Static | None = None) -> Axis:
    number = next(_ids)
    return Axis(number, name, Kind.DEPTH, name, extent, size, None, number, None)


def width(
    name: str, extent: int | None = None, bound: int | None = None, like: Axis | None = None, size: Static | None = None
) -> Axis:
    number = next(_ids)
    return Axis(number, name, Kind.WIDTH, name, extent, size, bound, like.family if like else number, None)


def div(a: Axis, b: Axis) -> Static:
    return Arith("/", (SizeOf(a), SizeOf(b)))


class Builder:
    """Collects the nodes of one graph; each method makes one op and returns its value."""

    def __init__(self, name: str, kind: str = "block", lifted: Sequence[Axis] = ()) -> None:
        self.name, self.kind, self.lifted = name, kind, tuple(lifted)
        self.inputs: list[Input] = []
        self.nodes: list[Node] = []
        self._ids = count()

    def value(
        self, element: Element, axes: Sequence[Axis], role: Role, name: str | None = None, thin: Sequence[Axis] = ()
    ) -> Value:
        return Value(next(self._ids), Type(element, tuple(axes), frozenset(thin)), role, name, None)

    def input(self, name: str, axes: Sequence[Axis], element: Element = Scalar.REAL, role: Role = Role.DATA,
              thin: Sequence[Axis] = (), default: Static | None = None) -> Value:  # fmt: skip
        value = self.value(element, axes, role, name, thin)
        self.inputs.append(Input(name, value, default))
        return value

    def constant(
        self, value: Static | int | float | bool, element: Element = Scalar.REAL, name: str | None = None
    ) -> Value:
        static = Literal(value) if isinstance(value, int | float) else value
        out = self.value(element, (), Role.CONSTANT, name)
        self.nodes.append(Constant(static, out))
        return out

    def positions(self, axis: Axis) -> Value:
        out = self.value(IndexInto(axis), (axis,), Role.TABLE)
        self.nodes.append(Positions(axis, out))
        return out

    def param(self, name: str, axes: Sequence[Axis], init: Init | None = None, frozen: bool = False) -> Value:
        weight = Weight(name, tuple((axis,) for axis in axes), init or Init("normal", (0.02,)), frozen, None)
        out = self.value(Scalar.REAL, axes, Role.WEIGHT, name)
        self.nodes.append(Parameter(weight, out))
        return out

    def apply(self, op: str, *operands: Value, axes: Sequence[Axis] = (), made: Sequence[Axis] = (), each: Sequence[Axis] = (),
              mask: Value | None = None, result: Sequence[Axis] | None = None, element: Element = Scalar.REAL, name: str | None = None,
              label: str | None = None, weights: tuple[Weight, ...] = (), **options: object) -> Value:  # fmt: skip
        fed = [*operands, *([mask] if mask else [])]
        if result is None:
            union = dict.fromkeys(axis for value in fed for axis in value.type.axes)
            result = [axis for axis in union if axis not in axes]
        thin = [
            a
            for a in result
            if all(a in v.type.thin or a not in v.type.axes for v in fed) and any(a in v.type.axes for v in fed)
        ]
        role = max([value.role for value in fed] + ([Role.WEIGHT] if weights else []))
        out = self.value(element, result, role, name, thin)
        given = {
            key: value if isinstance(value, Literal | Arith | SizeOf) else Literal(value)
            for key, value in options.items()
        }  # type: ignore[arg-type]
        self.nodes.append(Apply(op, operands, out, tuple(axes), tuple(made), tuple(each), mask, given, label, weights))
        return out

    def linear(self, x: Value, eaten: Sequence[Axis], made: Sequence[Axis], label: str, bias: bool = True, name: str | None = None,
               each: Sequence[Axis] = (), init: Init | None = None) -> Value:  # fmt: skip
        init = init or Init("default", (), tuple(eaten), tuple(made))
        groups = tuple((axis,) for axis in each)
        weights = [Weight(f"{label}.weight", (*groups, tuple(made), tuple(eaten)), init, False, None)]
        if bias:
            weights.append(
                Weight(f"{label}.bias", (*groups, tuple(made)), Init("default", (), tuple(eaten)), False, None)
            )
        left = [axis for axis in x.type.axes if axis not in eaten and axis not in each]
        return self.apply("linear", x, axes=eaten, made=made, each=each, result=[*left, *each, *made], label=label, weights=tuple(weights),
                          name=name, bias=bias)  # fmt: skip

    def layernorm(self, x: Value, axes: Sequence[Axis], label: str) -> Value:
        dims = tuple((axis,) for axis in axes)
        weights = (
            Weight(f"{label}.weight", dims, Init("ones"), False, None),
            Weight(f"{label}.bias", dims, Init("zeros"), False, None),
        )
        return self.apply("layernorm", x, axes=axes, result=x.type.axes, label=label, weights=weights, eps=1e-5)

    def softmax(self, x: Value, axis: Axis, mask: Value | None = None, name: str | None = None) -> Value:
        fed = [x, *([mask] if mask else [])]
        result = list(dict.fromkeys(a for v in fed for a in v.type.axes))
        return self.apply("softmax", x, axes=[axis], mask=mask, result=result, name=name)

    def rename(self, x: Value, old: Axis, new: Axis) -> Value:
        axes = [new if axis == old else axis for axis in x.type.axes]
        return self.apply("rename", x, axes=[old], made=[new], result=axes, element=x.type.element)

    def call(self, graph: Graph, name: str, args: Sequence[Value], axes: dict[Axis, Axis], names: Sequence[str | None] = (),
             consts: dict[Const, Static] | None = None) -> list[Value]:  # fmt: skip
        outs = []
        for place, output in enumerate(graph.outputs):
            value = output.value
            mapped = [axes.get(axis, axis) for axis in value.type.axes]
            outs.append(self.value(value.type.element, mapped, value.role, names[place] if names else None))
        self.nodes.append(
            Call(graph, name, tuple(args), tuple(outs), tuple(axes.items()), tuple((consts or {}).items()))
        )
        return outs

    def repeat(self, name: str, times: Static, body: Graph, args: Sequence[Value], carried: int, shared: bool = False,
               index: Const | None = None, names: Sequence[str | None] = ()) -> list[Value]:  # fmt: skip
        outs = [
            self.value(
                output.value.type.element, output.value.type.axes, output.value.role, names[i] if names else None
            )
            for i, output in enumerate(body.outputs)
        ]
        passes = times.value if isinstance(times, Literal) else 1
        self.nodes.append(
            Repeat(name, times, shared, index, (body,), (0,) * int(passes), tuple(args), carried, tuple(outs))
        )
        return outs

    def graph(
        self,
        outputs: Sequence[tuple[str | None, Value, Sequence[Axis]]],
        axes: Sequence[Axis],
        consts: Sequence[Const] = (),
    ) -> Graph:
        outs = tuple(Output(name, value, tuple(order)) for name, value, order in outputs)
        return Graph(
            self.name,
            self.kind,
            tuple(axes),
            len(axes),
            tuple(consts),
            self.lifted,
            tuple(self.inputs),
            tuple(self.nodes),
            outs,
        )


def attend(
    lifted: Sequence[Axis] = (), sizes: tuple[int, int] = (8, 8), mask: str = "full", roles: Role = Role.DATA
) -> tuple[Graph, tuple[Axis, ...]]:
    """Scaled dot-product attention over q, k, d, v; mask "none", "full" [q, k] or "thin" [k]."""
    q, k, d, v = width("q"), width("k"), depth("d", sizes[0]), depth("v", sizes[1])
    b = Builder("attend", lifted=lifted)
    Q = b.input("Q", [*lifted, q, d])  # noqa: N806
    K = b.input("K", [*lifted, k, d])  # noqa: N806
    V = b.input("V", [*lifted, k, v])  # noqa: N806
    m = None
    if mask != "none":
        m = b.input("mask", [q, k], Scalar.BOOL, roles, thin=[q] if mask == "thin" else [])
    size = b.constant(Arith("sqrt", (SizeOf(d),)))
    scores = b.apply("/", b.apply("dot", Q, K, axes=[d]), size, name="scores")
    weights = b.softmax(scores, k, m, name="weights")
    out = b.apply("dot", weights, V, axes=[k])
    return b.graph([(None, out, [q, v])], [q, k, d, v]), (q, k, d, v)


def multihead(
    model: int = 32, heads: int = 4, mask: str = "full", roles: Role = Role.DATA
) -> tuple[Graph, tuple[Axis, ...]]:
    """Multi-head attention, as std.attention has it."""
    q, k = width("q"), width("k")
    m, h = depth("model", model), depth("heads", heads)
    key, value = depth("key", model // heads, div(m, h)), depth("value", model // heads, div(m, h))
    b = Builder("multihead")
    base, injected = b.input("base", [q, m]), b.input("injected", [k, m])
    args = []
    if mask != "none":
        args.append(b.input("mask", [q, k], Scalar.BOOL, roles, thin=[q] if mask == "thin" else []))
    Q = b.linear(base, [m], [h, key], "Q", False, "Q")  # noqa: N806
    K = b.linear(injected, [m], [h, key], "K", False, "K")  # noqa: N806
    V = b.linear(injected, [m], [h, value], "V", False, "V")  # noqa: N806
    inner, (q2, k2, d2, v2) = attend([h], (model // heads, model // heads), mask, roles)
    (O,) = b.call(inner, "attend", [Q, K, V, *args], {q2: q, k2: k, d2: key, v2: value}, ["O"])  # noqa: N806, E741
    out = b.linear(O, [h, value], [m], "O", False)
    return b.graph([(None, out, [q, m])], [q, k, m, h, key, value]), (q, k, m, h)
