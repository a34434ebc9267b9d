"""`attnc cost --streams`: what streams in a model, on a device, as text and as data; and what does not, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...dsl.files import readable
from ..base.names import listed
from ..cost.bill import REALS
from ..cost.polynomials.figure import Figure
from ..cost.polynomials.polynomial import ONE, Poly
from ..cost.polynomials.show import amount, short
from ..cost.report import Cost
from ..cost.seconds import duration
from ..cost.work import Meter
from ..graph.nodes import Apply, Call, Graph, Repeat, Scan
from ..sizes.axes import Axis, evaluate
from .along import written
from .device import Device, DeviceError
from .find import find
from .prepare import prepared
from .region import Fold, Refusal, StreamingRegion, varies
from .traffic import Traffic, fitted

SHARE = 4  # what moves in one loop stays in the cache if it takes no more than one part in so many of it


@dataclass(frozen=True)
class CalledGraph:
    """A graph of a model where it is called: its path, the sizes there, and how often it runs."""

    path: str
    graph: Graph
    meter: Meter
    times: Poly


@dataclass(frozen=True)
class RegionCost:
    """A region on a device. `traffic`: with tiles that fit; None where none do."""

    cost: Cost
    place: CalledGraph
    region: StreamingRegion
    device: Device
    traffic: Traffic | None

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """Bytes asked for, at least, and of the ops one by one; multiply-adds; other operations."""
        it = self._known
        polys = {
            "asked": it.asked, "least": it.least, "unfused": it.unfused, "macs": it.macs, "others": it.others,
        }  # fmt: skip
        return {name: Figure(self.cost.figure(poly).poly, it.values) for name, poly in polys.items()}

    @property
    def _known(self) -> Traffic:
        assert self.traffic is not None
        return self.traffic

    @property
    def operations(self) -> int:
        return 2 * self.figures["macs"].value + self.figures["others"].value

    @property
    def intensity(self) -> float:
        """Operations for each byte that is asked for."""
        return self.operations / max(self.figures["asked"].value, 1)

    @property
    def arithmetic(self) -> float:
        """Seconds that the operations take."""
        products = self.device.products[self.cost.dtype]
        return 2 * self.figures["macs"].value / products + self.figures["others"].value / self.device.others

    @property
    def cached(self) -> bool:
        """Whether what moves comes from device memory once: the cache has it when other programs ask for it again."""
        it = self._known
        loop = sum(int(it.meter.bytes(x.value).at(it.values)) for x in it.inputs if x.moves)
        return loop / max(int(it.grid.at(it.values)), 1) * SHARE <= self.device.cache

    @property
    def memory(self) -> float:
        """Seconds that device memory takes."""
        return self.figures["least" if self.cached else "asked"].value / self.device.bandwidth

    @property
    def seconds(self) -> float:
        return max(self.arithmetic, self.memory)

    @property
    def bound(self) -> str:
        return "arithmetic" if self.arithmetic >= self.memory else "memory"

    @property
    def unfused_seconds(self) -> float:
        """The ops one by one compute each score, seen or not."""
        it = self._known
        seen, every = int(it.pairs.at(it.values)), int((it.queries * it.keys).at(it.values))
        full = self.arithmetic * every / max(seen, 1)
        return max(full, self.figures["unfused"].value / self.device.bandwidth)


@dataclass(frozen=True, repr=False)
class StreamReport:
    """All of a model. Made by `Model.streams`; it shows itself as what `attnc cost --streams` prints.

    graph: the model's, prepared, in which the regions lie.
    """

    cost: Cost
    graph: Graph
    device: Device
    regions: tuple[RegionCost, ...]
    refusals: tuple[tuple[str, Refusal], ...]

    def __repr__(self) -> str:
        return "\n".join(text(self))


def streams(cost: Cost, device: Device, tiles: tuple[int, int] | None = None) -> StreamReport:
    """What streams in the model that a cost is of. tiles: of rows and of the streamed axis; None: those that fit.

    Raises DeviceError for a dtype that the device has no figure for.
    """
    if cost.dtype not in device.products:
        raise DeviceError(
            f"{device.name} has no figure for products in {cost.dtype}: it has {listed(device.products)}; "
            f"say `--dtype {next(iter(device.products))}`, or add it to `[products]`"
        )
    graph = prepared(cost.graph)
    meter = Meter(cost.scope, REALS[cost.dtype], cost.values)
    regions: list[RegionCost] = []
    refusals: list[tuple[str, Refusal]] = []
    for place in _places(CalledGraph("", graph, meter, ONE)):
        found = find(place.graph)
        for region in found.regions:
            if tiles is None:
                traffic = fitted(region, place.meter, device, place.times)
            else:
                traffic = Traffic(region, place.meter, *tiles, place.times)
            regions.append(RegionCost(cost, place, region, device, traffic))
        refusals += [(place.path, refusal) for refusal in found.refusals]
    return StreamReport(cost, graph, device, tuple(regions), tuple(refusals))


def _places(place: CalledGraph) -> Iterator[CalledGraph]:
    yield place
    for node in place.graph.nodes:
        scope = place.meter.scope
        match node:
            case Call():
                runs = [(node.name or node.graph.name, node.graph, scope.inside(node), ONE)]
            case Scan():
                runs = [(node.name, node.graph, scope.inside(node), scope.size(node.axis))]
            case Repeat():
                runs = [*_passes(node, place)]
            case _:
                continue
        for name, graph, inner, times in runs:
            meter = Meter(inner, place.meter.real, place.meter.values)
            yield from _places(CalledGraph(f"{place.path}.{name}".lstrip("."), graph, meter, place.times * times))


def _passes(node: Repeat, place: CalledGraph) -> Iterator[tuple[str, Graph, Any, Poly]]:
    """The passes of a repeat, those that are alike together."""
    scope, passes = place.meter.scope, evaluate(node.count)
    if node.index is None:
        for body in node.bodies:
            count = scope.number(node.count)
            if len(node.bodies) > 1:
                count = Poly.of(sum(node.bodies[node.runs(number)] is body for number in range(int(passes or 0))))
            yield f"{node.name}.*", body, scope, count
        return
    for number in range(int(passes or 0)):
        yield f"{node.name}.{number}", node.bodies[node.runs(number)], scope.turn(node.index, Poly.of(number)), ONE


# -- text --------------------------------------------------------------------------------------------------------------


def text(report: StreamReport) -> list[str]:
    """The report, line by line."""
    cost, device = report.cost, report.device
    sizes = ", ".join(f"{name} = {size:,}" for name, size in cost.sizes.items())
    items = "one item" if cost.batch == 1 else f"{cost.batch} items"
    lines = [f"{cost.name}: {items}, {cost.dtype}, on {device.name}", f"sizes: {sizes}"]
    if cost.assumed:
        lines.append(f"assumed: {listed(cost.assumed)} (nobody gave a size)")
    alike: dict[str, list[str]] = {}
    for one in report.regions:
        body = "\n".join(_region(one))
        alike.setdefault(body, []).append(one.place.path or cost.name)
    for body, paths in alike.items():
        lines += ["", ", ".join(dict.fromkeys(paths)), body]
    said: dict[str, list[str]] = {}
    for path, refusal in report.refusals:
        said.setdefault(refusal_text(refusal), []).append(path or cost.name)
    for body, paths in said.items():
        lines += ["", f"{', '.join(dict.fromkeys(paths))}: does not stream", f"  {body}"]
    if not alike and not said:
        lines += ["", "nothing streams: nothing that is reduced over a width is larger than what it is made of"]
    return lines


def _region(one: RegionCost) -> list[str]:
    region = one.region
    split = [f"{axis.name} in tiles" if axis == region.rows else axis.name for axis in region.partitioned]
    lines = [
        f"  streams       {region.streamed.name}",
        f"  partitioned   {', '.join(split) or 'nothing'}",
        f"  together      {_names(region.together) or 'nothing'}",
        *(f"  fold          {fold_text(fold)}" for fold in region.folds),
        *(f"  stored        {line}" for line in stored_texts(region)),
    ]
    if one.traffic is None:
        return [*lines, f"  tiles         none fit {one.device.name}: {too_large(region)}"]
    it, figures = one.traffic, one.figures
    shared, registers = it.held
    tile = f"{it.tile} {region.rows.name} x " if region.rows is not None else ""
    room = f"{amount(shared)} of {amount(one.device.shared)}", f"{amount(registers)} of {amount(one.device.registers)}"
    lines += [
        f"  tiles         {tile}{it.step} {region.streamed.name}: shared memory {room[0]}, registers {room[1]}",
        f"  state         {it.state} bytes a row",
        f"  bytes         {amount(figures['asked'].value)} = {figures['asked']}",
        f"    at least    {amount(figures['least'].value)} = {figures['least']}",
        f"  operations    {short(one.operations)}, {one.intensity:.3g} a byte",
        f"  time          {duration(one.seconds)} at least, bound by {one.bound}",
        f"  op by op      {amount(figures['unfused'].value)} = {figures['unfused']}",
        f"    time        {duration(one.unfused_seconds)}, {one.unfused_seconds / max(one.seconds, 1e-15):.3g} x",
    ]
    if it.times != ONE:
        lines.append(f"  times         {int(it.times.at(it.values))}, in all of the above")
    return lines


def fold_text(fold: Fold) -> str:
    """`softmax[k]: maximum m and sum l`, in the words of the rules."""
    numbers = ", ".join(number.name for number in fold.rule.state)
    of = f" of {written(fold.of)}" if fold.of is not None else ""
    kept = f" [{_names(fold.axes)}]" if fold.axes else ""
    return f"{written(fold.node)}: {fold.kind.value}{of}, keeps {numbers}{kept}"


def stored_texts(region: StreamingRegion) -> list[str]:
    """Of each of the shares that are a result themselves: what is made a second time, and stored."""
    shown = [fold for fold in region.folds if fold.node.out in region.stored]
    return [f"{written(fold.node)} [{_names(varies(fold.node.out))}]: made again in a second walk" for fold in shown]


def refusal_text(refusal: Refusal, place: bool = True) -> str:
    """What would fold, and the op in the way, with its place in the spec."""
    folds = ", ".join(dict.fromkeys(map(written, refusal.folds)))
    node = refusal.node
    span = node.span if place and isinstance(node, Apply | Call | Repeat | Scan) else None
    line = "" if span is None else f" (line {span.source.position(span.start)[0]} of {readable(span.source.name)})"
    op = "something" if node is None else written(node)
    return f"{folds} over {refusal.axis.name}: {op}{line} {refusal.why}"


def too_large(region: StreamingRegion) -> str:
    return f"a tile has all of {_names(region.together)}"


def _names(axes: tuple[Axis, ...]) -> str:
    return ", ".join(axis.name for axis in axes)


# -- data --------------------------------------------------------------------------------------------------------------


def data(report: StreamReport) -> dict[str, Any]:
    """The same for JSON."""
    return {
        "name": report.cost.name,
        "device": report.device.name,
        "source": report.device.source,
        "dtype": report.cost.dtype,
        "regions": [_data(one) for one in report.regions],
        "refused": [{"place": path, "why": refusal_text(refusal)} for path, refusal in report.refusals],
    }


def _data(one: RegionCost) -> dict[str, Any]:
    region = one.region
    found: dict[str, Any] = {
        "place": one.place.path,
        "streamed": region.streamed.name,
        "partitioned": [axis.name for axis in region.partitioned],
        "together": [axis.name for axis in region.together],
        "folds": [fold_text(fold) for fold in region.folds],
        "stored": stored_texts(region),
    }
    if one.traffic is None:
        return {**found, "tiles": None}
    shared, registers = one.traffic.held
    figures = {name: {"value": figure.value, "formula": str(figure)} for name, figure in one.figures.items()}
    return {
        **found,
        "tiles": {"rows": one.traffic.tile, "streamed": one.traffic.step, "shared": shared, "registers": registers},
        "state": one.traffic.state,
        "times": int(one.traffic.times.at(one.traffic.values)),
        **figures,
        "intensity": one.intensity,
        "bound": one.bound,
        "seconds": one.seconds,
        "unfused_seconds": one.unfused_seconds,
    }
