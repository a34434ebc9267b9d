"""What each stage does beside its passes, and what is sent from one stage to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .row import DealtNode, Key, NodeRow


@dataclass(eq=False)
class Needs:
    """Of a row whose passes are dealt.

    done:   for each stage the nodes of the row that it does. given: the inputs of the model that it reads.
    sent:   what each stage sends to the next, in the order in which it is made.
    """

    row: NodeRow
    done: list[set[DealtNode]] = field(default_factory=list)
    given: list[set[Key]] = field(default_factory=list)
    sent: list[list[Key]] = field(default_factory=list)


def needs(row: NodeRow, passes: Sequence[int], stages: int) -> Needs:
    """What stages need. passes: the stage of each pass. All else is done as late as it can be: in the first of the
    stages that read it, results of the model in the last.
    """
    dealt = dict(zip(row.passes, passes, strict=True))
    maker = {key: place for place, node in enumerate(row.nodes) for key in node.makes}
    stage = _stages(row, dealt, maker, stages - 1)
    found, read = Needs(row), dict[Key, set[int]]()
    for here in range(stages):
        done, given, seen = set[DealtNode](), set[Key](), set[Key]()
        todo = list(row.outputs) if here == stages - 1 else []
        for place, node in enumerate(row.nodes):
            if stage.get(place) == here:
                done.add(node)
                todo += node.reads
        while todo:
            key = todo.pop()
            if key in seen:
                continue
            seen.add(key)
            if key not in maker:
                given.add(key)
            elif row.nodes[maker[key]].anew:
                done.add(row.nodes[maker[key]])
                todo += row.nodes[maker[key]].reads
            else:
                read.setdefault(key, set()).add(here)
        found.done.append(done)
        found.given.append(given)
    for here in range(stages - 1):
        on_its_way = [key for key, readers in read.items() if stage[maker[key]] <= here < max(readers)]
        found.sent.append(sorted(on_its_way, key=lambda key: (maker[key], row.nodes[maker[key]].makes.index(key))))
    return found


def _stages(row: NodeRow, dealt: Mapping[int, int], maker: Mapping[Key, int], last: int) -> dict[int, int]:
    """The stage of each node that is done once, by its place in the row."""
    found: dict[int, int] = {}
    read = {key for node in row.nodes for key in node.reads}.union(row.outputs)
    first = dict.fromkeys((maker[key] for key in row.outputs if key in maker), last)  # reader of each node
    for place in range(len(row.nodes) - 1, -1, -1):
        node = row.nodes[place]
        if place in dealt:
            here = dealt[place]
        elif not node.anew:
            here = first.get(place, last)
        elif read.isdisjoint(node.makes):
            here = 0  # what inputs are held to, and weights that nothing reads
        else:
            continue
        found[place] = here
        for key in node.reads:
            if key in maker:
                first[maker[key]] = min(first.get(maker[key], last), here)
    return found
