"""The stages of a pipeline: which passes each has, what it is given and what it sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...graph.inventory import inventory
from ...graph.nodes import Graph, Repeat
from ..choose import NoSplit
from .build import StageBuilder
from .deal import dealt, work
from .draws import drawn
from .needs import Needs, needs
from .row import DealtNode, NodeRow


@dataclass(frozen=True)
class Stage:
    """One stage of a model.

    graph:    its first `received` inputs are what the stage before it sends, in order; the others are inputs of the
              model. Its results are what it sends on, those of the last are the model's.
    passes:   of each repeat that it has passes of, by the path of its weights: the first, and how many.
    numbered: of those repeats whose passes have weights of their own, the number of the first.
    work:     its part of all that is multiplied.
    like:     equal for stages that do the same, but for their weights.
    draws:    which of the numbers that the model draws at random it draws, and how many there are; None: nobody knows.
    """

    graph: Graph
    received: int
    passes: Mapping[str, tuple[int, int]]
    numbered: Mapping[str, int]
    work: float
    like: object
    draws: tuple[tuple[int, ...], int] | None

    def path(self, path: str) -> str:
        """The path of one of its weights in the whole model, where passes count from its first."""
        for prefix, first in self.numbered.items():
            number, _, rest = path.removeprefix(f"{prefix}.").partition(".")
            if path.startswith(f"{prefix}.") and number.isdigit():
                return f"{prefix}.{int(number) + first}.{rest}"
        return path


def stages(graph: Graph, count: int) -> tuple[Stage, ...]:
    """The model as so many stages, which are cut between passes of its repeats. Raises NoSplit.

    What neither depends on weights nor is drawn at random is made anew in each stage that reads it, as is what depends
    on weights alone: a weight may be in several stages, and its gradient is the sum of theirs.
    """
    row = NodeRow(graph)
    names: dict[str, int] = {}
    for place in row.passes:
        node = row.nodes[place]
        assert isinstance(node.node, Repeat)
        name = row.name(node.path) + node.node.name
        names[name] = names.get(name, 0) + 1
    total = sum(names.values())
    if not total:
        raise NoSplit(f"the mesh axis `pipe` cuts between passes of repeats, and {graph.name} has none")
    if count > total:
        told = ", ".join(f"{passes} of `{name}`" for name, passes in names.items())
        raise NoSplit(
            f"the mesh axis `pipe` has {count} stages, and {graph.name} is cut between the passes of its repeats: "
            f"{told}; it takes at most {total}"
        )
    passes = dealt(row, count)
    found, costs = needs(row, passes, count), dict(zip(row.nodes, work(row), strict=True))
    return tuple(_stage(found, number, costs) for number in range(count))


def _stage(found: Needs, number: int, costs: Mapping[DealtNode, float]) -> Stage:
    builder = StageBuilder(found, number)
    made, passes = builder.graph(), dict[str, tuple[int, int]]()
    for node in builder.done:
        if node.number is not None and isinstance(node.node, Repeat):
            name = found.row.name(node.path) + node.node.name
            first, runs = passes.get(name, (node.number, 0))
            passes[name] = first, runs + 1
    received = len(found.sent[number - 1]) if number else 0
    whole = sum(costs.values()) or 1.0
    part = sum(costs[node] for node in builder.done) / whole
    like, draws = _like(found, number, builder.done), drawn(found.row, builder.done)
    return Stage(made, received, passes, builder.firsts, part, like, draws)


def _like(found: Needs, number: int, done: Sequence[DealtNode]) -> object:
    """Which nodes it does, of passes which body; and what it is sent and sends."""
    last = number == len(found.done) - 1
    sent = [
        [(path, id, turn is None) for path, id, turn in keys] for keys in found.sent[max(number - 1, 0) : number + 1]
    ]
    return number == 0, last, repr(sent), tuple((node.path, node.place, _body(node)) for node in done)


def _body(node: DealtNode) -> int | None:
    """The number of a body that a pass runs; where it knows the number of the pass, that."""
    if node.number is None or not isinstance(node.node, Repeat):
        return None
    return node.node.runs(node.number) if node.node.index is None else -1 - node.number


def holders(found: tuple[Stage, ...]) -> dict[str, tuple[int, ...]]:
    """The stages that have each weight, by its path in the whole model."""
    have: dict[str, tuple[int, ...]] = {}
    for number, stage in enumerate(found):
        for path in inventory(stage.graph):
            have[stage.path(path)] = (*have.get(stage.path(path), ()), number)
    return have
