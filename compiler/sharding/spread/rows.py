"""What is done for the rows that experts are given (rewrites/dispatch), on one device.

A device has rows of its items, and is sent, along some axes of the mesh, those of others that picked its experts: what
lies between is done for these, and what comes of it goes back. Rows stand where the batch stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...graph.nodes import Apply, Constant, Node, Parameter, Positions, Weight, reads
from ...graph.traits import Conjunction
from ...graph.values import IndexInto, Scalar, Type, Value
from ...ops import op_meaning
from ...ops.internal import BACK, DISPATCH, MAP_WEIGHTS, TAKEN, WEIGHED
from ...sizes.axes import Axis, Literal
from ..experts.regions import RowRegion, regions_of
from ..placement import BATCH_AXIS, Placement, loops, placed
from ..sends import ADD_BIAS, ENTERED, SHARE, Collective, SendKind
from .bringing import bring
from .growing import GrowingGraph
from .lookups import inside_part
from .moving import collective, told_apart
from .ops import finish, plain_node, those_of, work_of


@dataclass
class RowNodes:
    """The nodes of one graph, those of rows among them.

    plans: of a dispatch, which rows there are: of the items of the device, and after each axis of the mesh along which
           they were sent. left: where nodes stand that keep the place of a map, by the name of its weight.
    parts:  axes of the mesh along which devices have parts of sums, by the id of the old value: they are summed when
            they are brought to their items, which are fewer.
    """

    here: GrowingGraph
    plans: dict[int, list[Value]] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    parts: dict[int, frozenset[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        places = self.here.places
        self.regions = regions_of(self.here.old, places.claims, places.mesh)
        self.readers: dict[int, list[Node]] = {}
        for node in self.here.old.nodes:
            for value in reads(node):
                self.readers.setdefault(value.id, []).append(node)

    def visit(self, node: Constant | Positions | Parameter | Apply) -> None:
        """A node with no graph in it."""
        if not isinstance(node, Apply):
            plain_node(self.here, node)
            return
        region = self.regions.of(node)
        if node.traits is MAP_WEIGHTS and {weight.name for weight in node.weights} <= self.regions.weights:
            self.left[node.weights[0].name] = len(self.here.nodes)
            self.here.nodes.append(node)
        elif region is None:
            plain_node(self.here, node)
        elif node.traits is DISPATCH:
            self._dispatch(node, region)
        elif node.traits is TAKEN:
            self._taken(node, region)
        elif node.traits is BACK or node.traits is WEIGHED:
            self._back(node, region)
        else:
            self._between(node, region)

    def _dispatch(self, node: Apply, region: RowRegion) -> None:
        """Which rows there are, here and, once they are sent, there."""
        here = self.here
        given = [
            bring(here, value, those_of(region.home, loops(value)), here.places.nowhere) for value in node.operands
        ]
        options = node.options
        if region.own is not None:
            (part,) = here.places.local([region.axis], region.experts([region.own]))
            safe, inside = inside_part(here, given[0], part, region.own)
            given = [safe, inside if len(given) == 1 else self._both(given[1], inside)]
        if region.own is not None or region.over:
            left = 1 if region.own is None else here.places.mesh.axes[region.own].size
            options = {**options, SHARE: Literal(left)}
        plan = self._rows(node, region, 0)
        items, each = here.places.local(node.axes, region.home), (self._expert(region, 0),)
        here.nodes.append(replace(node, operands=tuple(given), out=plan, axes=items, each=each, options=options))
        plans = [plan]
        for number, m in enumerate(region.over, 1):
            op = collective(here, SendKind.COUNTS, m, False)
            plan = replace(self._rows(node, region, number), name="experts")
            here.nodes.append(Apply(op, (plans[-1],), plan, options=told_apart(op), span=node.span))
            plans.append(plan)
        self.plans[node.out.id] = plans
        here.now[node.out.id] = plan, region.of_rows(node.out)

    def _expert(self, region: RowRegion, sent: int) -> Axis:
        """The axis of the experts that rows are for once they were sent so often."""
        (axis,) = self.here.places.local([region.axis], region.experts([*region.mine, *region.over[:sent]]))
        return axis

    def _rows(self, node: Apply, region: RowRegion, sent: int) -> Value:
        return replace(self.here.fresh(node.out), type=Type(IndexInto(self._expert(region, sent)), ()))

    def _both(self, one: Value, other: Value) -> Value:
        axes = tuple(dict.fromkeys((*one.type.axes, *other.type.axes)))
        out = replace(self.here.fresh(one), type=Type(Scalar.BOOL, axes), role=max(one.role, other.role), name=None)
        self.here.nodes.append(Apply(op_meaning(Conjunction()), (one, other), out, span=one.span))
        return out

    def _taken(self, node: Apply, region: RowRegion) -> None:
        """What rows read: of an item, which goes where its expert is; or of an expert, where that is."""
        here, (x, plan) = self.here, node.operands
        plans, have = self.plans[plan.id], loops(x)
        there = bool(node.each) and not {BATCH_AXIS, *node.axes} & {*have}
        split = region.experts([*region.over, *region.mine] if there else region.mine)
        own, home = placed(have, region.claims, here.places.mesh), those_of(region.home, have)
        of_expert = those_of(split, have)
        need = tuple(
            own[m] if m not in region.divided else of_expert[m] if there else home[m] or of_expert[m]
            for m in range(len(own))
        )
        entered = frozenset() if there else self._entered(node.out, region)
        work = tuple(ENTERED if m in entered else axis for m, axis in enumerate(self._work(region, own)))
        value = bring(here, x, need, work)
        here.entered[node.out.id] = entered
        out = region.of_rows(node.out)
        made = here.new(node.out, out)
        here.nodes.append(
            replace(
                node,
                operands=(value, plans[-1 if there else 0]),
                out=made,
                axes=here.places.local(node.axes, region.home),
                each=here.places.local(node.each, split),
            )
        )
        if x.id in here.graded:
            here.graded.add(node.out.id)
        if not there:
            for m, after in zip(region.over, plans[1:], strict=True):
                op = collective(here, SendKind.ROWS, m, x.id in here.graded)
                given, made = made, here.new(node.out, out)
                here.nodes.append(Apply(op, (given, after), made, options=told_apart(op), span=node.span))
        here.now[node.out.id] = made, out

    def _entered(self, out: Value, region: RowRegion) -> frozenset[int]:
        """Axes of the mesh along which all that reads rows is split: gradients are summed of the items, not of rows."""
        here = self.here.split_otherwise(region.claims)
        works = [work_of(here, node) for node in self.readers.get(out.id, ()) if isinstance(node, Apply)]
        whole = (m for m, axis in enumerate(region.of_rows(out)) if axis is None)
        return frozenset(m for m in whole if all(work[m] is not None for work in works))

    def _work(self, region: RowRegion, own: Placement) -> Placement:
        """How what is done for rows is split, which has axes of its own that are split so."""
        mine = region.experts(region.mine)
        return tuple((home or mine[m]) if m in region.divided else own[m] for m, home in enumerate(region.home))

    def _between(self, node: Apply, region: RowRegion) -> None:
        """What is done for rows where the experts are."""
        here, there = self.here, self.here.split_otherwise(region.claims)
        split = region.experts([*region.over, *region.mine])
        others = [value for value in reads(node) if value.id in here.now and value.id not in self.regions.found]
        for value in others:  # of no rows: of experts those of the device, else the same for all rows
            have = here.now[value.id][1]
            kept = tuple(None if m in region.divided else axis for m, axis in enumerate(have))
            need = tuple(b or a for a, b in zip(kept, those_of(split, loops(value)), strict=True))
            there.now[value.id] = bring(here, value, need, self._work(region, here.places.nowhere)), kept
        first = len(here.nodes)
        plain_node(there, node)
        here.now = {**there.now, **here.now}
        self._of_experts(node, region, first)
        self._unsummed(node, first)

    def _unsummed(self, node: Apply, first: int) -> None:
        """Sums over devices of what is brought to its items next are done behind that."""
        here = self.here
        if not all(
            isinstance(one, Apply) and one.traits in (BACK, WEIGHED) for one in self.readers.get(node.out.id, ())
        ):
            return
        summed = []
        while isinstance(last := here.nodes[-1], Apply) and isinstance(last.traits, Collective):
            if len(here.nodes) == first + 1 or last.traits.kind is not SendKind.REDUCE:
                break
            summed.append(last.traits.mesh)
            here.now[node.out.id] = last.operands[0], here.now[node.out.id][1]
            here.nodes.pop()
        self.parts[node.out.id] = frozenset(summed)

    def _of_experts(self, node: Apply, region: RowRegion, first: int) -> None:
        """The weights of a map are those of the experts of the device. first: where its new nodes begin."""
        here = self.here
        split = region.experts([*region.over, *region.mine])
        weights = {}
        for weight in node.weights:
            _, place, partial = here.weights[weight.name]
            there = those_of(split, [axis for dim in weight.dims for axis in dim])
            place = tuple(b or a for a, b in zip(place, there, strict=True))
            here.weights[weight.name] = weight, place, frozenset(m for m in partial if there[m] is None)
            weights[weight.name] = here.cut(weight, place)
        for number, new in enumerate(here.nodes[first:], first):
            if isinstance(new, Apply) and (new.weights or new.each):
                operands = new.operands if new.traits is not ADD_BIAS else (*new.operands, self._plan(node))
                each = here.places.local(new.each, split)
                own = tuple(weights[weight.name] for weight in new.weights)
                here.nodes[number] = new = replace(new, operands=operands, weights=own, each=each)
                if new.traits is node.traits and node.weights:
                    self._keep_place(new, tuple(weights.values()))

    def _keep_place(self, new: Apply, weights: tuple[Weight, ...]) -> None:
        """What keeps the place of a map has its weights."""
        at = self.left.get(weights[0].name)
        if at is not None:
            kept = self.here.nodes[at]
            assert isinstance(kept, Apply)
            out = replace(kept.out, type=Type(Scalar.REAL, (*new.each, *new.made)))
            same = replace(kept, axes=new.axes, made=new.made, each=new.each, weights=weights, out=out)
            self.here.nodes[at] = same

    def _plan(self, node: Apply) -> Value:
        """The rows that a map is done for, where its experts are."""
        return next(self.plans[value.id][-1] for value in node.operands if value.id in self.plans)

    def _back(self, node: Apply, region: RowRegion) -> None:
        """What is made of rows, brought to their items."""
        here, (y, plan, *weights) = self.here, node.operands
        plans = self.plans[plan.id]
        own = region.of_rows(y)
        value = bring(here, y, own, own)
        graded = any(each.id in here.graded for each in node.operands)
        if graded:
            here.graded.add(node.out.id)
        for m, before in zip(reversed(region.over), reversed(plans[1:]), strict=True):
            op = collective(here, SendKind.BACK, m, y.id in here.graded)
            given, value = value, here.new(y, own)
            here.nodes.append(Apply(op, (given, before), value, options=told_apart(op), span=node.span))
        parts = self.parts.get(y.id, frozenset())
        work = tuple(ENTERED if m in parts else axis for m, axis in enumerate(self._work(region, own)))
        brought = [bring(here, each, those_of(region.home, loops(each)), work) for each in weights]
        summed = parts.union(region.mine)
        local = tuple(None if m in summed else axis for m, axis in enumerate(work))
        new = replace(
            node,
            operands=(value, plans[0], *brought),
            axes=here.places.local(node.axes, region.home),
        )
        finish(here, new, local, summed, node)
