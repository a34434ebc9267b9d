"""The weights of a model: path -> shape, axes and initialisation, as `state_dict` and safetensors name them (D11)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...dsl.base.records import record
from ..sizes.axes import Axis, evaluate
from .nodes import Apply, Call, Graph, Init, Parameter, Repeat, Scan, Weight


@record
class WeightSpec:
    """One stored array.

    dims:    for each stored dimension the axes flattened into it, in order.
    shape:   the extent of each stored dimension; a bounded width counts at its bound (D14).
    fan_in, fan_out: the products of the sizes of the initialisation's axes; 0 where it names none.
    """

    path: str
    dims: tuple[tuple[Axis, ...], ...]
    shape: tuple[int, ...]
    init: Init
    frozen: bool
    fan_in: int
    fan_out: int

    @property
    def axes(self) -> tuple[str, ...]:
        """The name of each stored dimension: `heads key` where axes are flattened into one."""
        return tuple(" ".join(axis.name for axis in dim) or "1" for dim in self.dims)

    @property
    def size(self) -> int:
        """The number of its elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def __str__(self) -> str:
        """`decode.layers.0.self.Q.weight [heads key = 512, model = 512]`."""
        shown = ", ".join(f"{name} = {extent}" for name, extent in zip(self.axes, self.shape, strict=True))
        return f"{self.path} [{shown}]"

    def __repr__(self) -> str:
        return f"<WeightSpec {self}: {self.begins}>"

    @property
    def begins(self) -> str:
        """How it begins, as a spec writes it; `default` with the numbers that it comes to."""
        kind, args = self.init.kind, self.init.args
        if kind == "default":
            kind, args = ("uniform", (self.fan_in**-0.5,)) if self.fan_in else ("normal", (1.0,))
        text = f"{kind}({', '.join(f'{arg:.4g}' for arg in args)})" if args else kind
        return f"{text} frozen" if self.frozen else text


Law = tuple[str, float, float] | tuple[str, float]


def law(spec: WeightSpec) -> Law:
    """How a weight is drawn: ("fill", value), ("normal", mean, deviation) or ("uniform", least, largest).

    `default` is what torch gives `nn.Linear`: uniform in +-1/sqrt(fan_in).
    `xavier` is Glorot and Bengio 2010, equation 16: uniform in +-sqrt(6 / (fan_in + fan_out)).
    """
    init = spec.init
    match init.kind:
        case "zeros":
            return "fill", 0.0
        case "ones":
            return "fill", 1.0
        case "constant":
            return "fill", float(init.args[0])
        case "normal":
            return "normal", 0.0, float(init.args[0])
        case "uniform":
            bound = float(init.args[0])
        case "xavier":
            bound = math.sqrt(6 / max(spec.fan_in + spec.fan_out, 1))
        case "default":
            bound = 1 / math.sqrt(max(spec.fan_in, 1))
        case kind:
            raise ValueError(f"initialisation {kind!r} of `{spec.path}`")
    return "uniform", -bound, bound


class Inventory(dict[str, WeightSpec]):
    """Weights by their paths. Printed, it is a page: of many weights the first and the last."""

    def __repr__(self) -> str:
        return "\n".join(table(self, FIRST, LAST))


FIRST, LAST = 30, 10  # rows of a page, where there are more


def table(weights: Mapping[str, WeightSpec], first: int | None = None, last: int = 0) -> list[str]:
    """The weights as lines of aligned text, and their total; `first`, `last`: so many rows, where there are more."""
    specs = list(weights.values())
    left_out = len(specs) - (len(specs) if first is None else first + last)
    shown = specs if first is None or left_out <= 0 else specs[:first] + specs[-last:]
    rows = [("path", "axes", "shape", "init", "parameters")]
    for spec in shown:
        axes, shape = f"[{', '.join(spec.axes)}]", " x ".join(map(str, spec.shape)) or "1"
        rows.append((spec.path, axes, shape, spec.begins, f"{spec.size:,}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            [*(cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)), row[-1].rjust(widths[-1])]
        )
        for row in rows
    ]
    if first is not None and left_out > 0:
        lines.insert(first + 1, f"... {left_out:,} more ...")
    total, frozen = sum(spec.size for spec in specs), sum(spec.size for spec in specs if spec.frozen)
    note = f" ({frozen:,} of them frozen)" if frozen else ""
    return [*lines, "", f"{total:,} parameters in {len(specs):,} weights{note}"]


def extent(axis: Axis) -> int:
    """The size that storage needs along an axis: its extent, or the bound of a bounded width."""
    size = axis.extent if axis.extent is not None else axis.bound
    if size is None:
        raise ValueError(f"a weight over the width `{axis.name}`, which has neither a size nor a bound")
    return size


def inventory(graph: Graph) -> Inventory:
    """Every weight of a model once, in the order of its ops; calls of shared weights count once."""
    memo: dict[int, list[WeightSpec]] = {}
    return Inventory((spec.path, spec) for spec in _collect(graph, memo))


def _collect(graph: Graph, memo: dict[int, list[WeightSpec]]) -> list[WeightSpec]:
    """The weights of one graph, with paths relative to it; each graph object is visited once."""
    if id(graph) in memo:
        return memo[id(graph)]
    found: dict[str, WeightSpec] = {}

    def nest(prefix: str, specs: list[WeightSpec]) -> None:
        for spec in specs:
            path = prefix + spec.path
            if path not in found:
                found[path] = WeightSpec(path, spec.dims, spec.shape, spec.init, spec.frozen, spec.fan_in, spec.fan_out)

    for node in graph.nodes:
        match node:
            case Parameter(weight, _):
                nest("", [_spec(weight)])
            case Apply():
                nest("", [_spec(weight) for weight in node.weights])
            case Call() | Scan():
                nest(f"{node.name}." if node.name else "", _collect(node.graph, memo))
            case Repeat():
                inner = [_collect(body, memo) for body in node.bodies]
                if not any(inner):
                    continue
                count = evaluate(node.count)
                assert isinstance(count, int), "the count of a repeat is known at build time"
                if node.shared:
                    for specs in inner:
                        nest(node.prefix, specs)
                else:
                    for number in range(count):
                        nest(f"{node.name}.{number}.", inner[node.runs(number)])
    memo[id(graph)] = list(found.values())
    return memo[id(graph)]


def _spec(weight: Weight) -> WeightSpec:
    shape = []
    for dim in weight.dims:
        size = 1
        for axis in dim:
            size *= extent(axis)
        shape.append(size)
    return WeightSpec(
        weight.name,
        weight.dims,
        tuple(shape),
        weight.init,
        weight.frozen,
        _product(weight.init.fan_in),
        _product(weight.init.fan_out),
    )


def _product(axes: tuple[Axis, ...]) -> int:
    size = 1 if axes else 0
    for axis in axes:
        size *= extent(axis)
    return size
