"""What each rewrite did to a graph, in words, and where: a line of `attnc compile --explain`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...compiler.decoding.steps.join_maps import joined
from ...compiler.graph.nodes import NESTS, Apply, Call, Graph, Repeat, Scan, children
from ...compiler.graph.traits import Choice, Pointwise, Product, Quotient, Sum

MOST = 6  # places named in a line
ARITHMETIC = [Pointwise(one) for one in (Sum((1, 1)), Sum((1, -1)), Product(), Quotient())]


def instances(graph: Graph, path: str = "") -> Iterator[tuple[Graph, str]]:
    """A graph and all that are nested in it, with their paths; passes of a repeat that are alike count once."""
    yield graph, path
    for node in graph.nodes:
        for place, child in enumerate(children(node)):
            assert isinstance(node, NESTS)
            name = node.name
            if isinstance(node, Repeat) and not node.shared:
                these = [number for number, kind in enumerate(node.variant) if kind == place]
                name = f"{name}.{'*' if len(node.bodies) == 1 else _listed(these)}"
            yield from instances(child, f"{path}.{name}".strip("."))


def _listed(numbers: list[int]) -> str:
    """Passes as a part of a path: `0,2`, `0,3,..,96`."""
    return ",".join(map(str, numbers if len(numbers) <= 4 else [*numbers[:2], "..", numbers[-1]]))


def change(name: str, before: Graph, after: Graph) -> str:
    """What the rewrite of that name made of a graph, and where; nothing if it is only another copy of it."""
    counted = COUNTED[name]
    old: dict[str, list[Graph]] = {}
    for graph, path in instances(before):
        old.setdefault(path, []).append(graph)
    found: Counter[str] = Counter()
    for graph, path in instances(after):
        known = old.get(path) or [graph]
        number = counted.number(known.pop(0) if len(known) > 1 else known[0], graph)
        if number > 0:
            found[path or graph.name] += number
    places = list(found)[:MOST] + ([f"{len(found) - MOST} more"] if len(found) > MOST else [])
    return f"{counted.words(found.total())}: {', '.join(places)}" if places else ""


def many(count: int, what: str, more: str = "") -> str:
    return f"{count} {what if count == 1 else more or what + 's'}"


def _ops(graph: Graph, chosen: Callable[[Apply], bool]) -> int:
    return sum(isinstance(node, Apply) and chosen(node) for node in graph.nodes)


def _bodies(graph: Graph) -> int:
    return sum(len(node.bodies) > 1 for node in graph.nodes if isinstance(node, Repeat))


def _size(graph: Graph) -> int:
    return len(graph.inputs) + len(graph.nodes) + _ops(graph, lambda node: node.mask is not None)


def _scans(graph: Graph) -> int:
    return sum(isinstance(node, Scan) for node in graph.nodes)


def _optional(graph: Graph) -> int:
    return sum(item.default is not None for item in graph.inputs)


def _calls(graph: Graph) -> int:
    return sum(isinstance(node, Call) for node in graph.nodes)


def _where(chosen: Callable[[Apply], bool]) -> Callable[[Graph], int]:
    return lambda graph: _ops(graph, chosen)


_choices = _where(lambda node: node.traits.reads == Pointwise(Choice()))


def _reordered(before: Graph, after: Graph) -> int:
    pairs = zip(before.inputs, after.inputs, strict=False)
    return sum(one.value.type.axes != other.value.type.axes for one, other in pairs)


Counting = Callable[[Graph, Graph], int]
"""How many changes one graph has, from what it was and what it is."""


def _more(count: Callable[[Graph], int]) -> Counting:
    return lambda before, after: count(after) - count(before)


def _fewer(count: Callable[[Graph], int]) -> Counting:
    return lambda before, after: count(before) - count(after)


def _now(chosen: Callable[[Apply], bool]) -> Counting:
    return lambda before, after: _ops(after, chosen)


class Counted(NamedTuple):
    """What a rewrite makes: how many of what, and what became of these. plural: of what, where an s does not do."""

    what: str
    became: str
    number: Counting
    plural: str = ""

    def words(self, count: int) -> str:
        return f"{many(count, self.what, self.plural)} {self.became}" if self.what else self.became


COUNTED = {
    "split_passes": Counted("repeat", "with a body for each kind of pass", _more(_bodies)),
    "fold_truths": Counted("", "truths known now are put in, and masks that keep everything are gone", _fewer(_size)),
    "halves": Counted("choice", "by sign made a sum", _fewer(_choices)),
    "guard": Counted("operand", "made harmless where a mask or a choice leaves it out", _more(_choices)),
    "fold_numbers": Counted(
        "operation",
        "with numbers done now",
        _fewer(_where(lambda node: node.traits.reads in ARITHMETIC)),
    ),
    "fuse_attention": Counted("attention", "fused", _now(lambda node: node.op == "attention")),
    "place_masks": Counted(
        "mask", "of positions kept as predicates, never made as a whole", _now(lambda node: node.seen is not None)
    ),
    "inline": Counted(
        "call",
        "of blocks of one expression done in place",
        _fewer(_calls),
    ),
    "dispatch": Counted(
        "value", "computed for what is picked alone", _now(lambda node: node.op in ("back", "weighed"))
    ),
    "stack": Counted("choice", "between two items put side by side", _now(lambda node: node.op == "stack")),
    "merge": Counted("node", "merged with equal ones", _fewer(lambda graph: len(graph.nodes))),
    "linear_scans": Counted("scan", "linear in what they carry, done for all items at once", _fewer(_scans)),
    "cells": Counted("recurrent network", "as one op", _fewer(_scans)),
    "lift_scans": Counted("scan", "with no more in the loop than hangs on what they carry", _fewer(_scans)),
    "running_sums": Counted(
        "attention",
        "without a softmax done in chunks",
        _more(_where(lambda node: node.op == "linear_attention")),
    ),
    "hoist": Counted("table", "given to bodies that run several times", _more(lambda graph: len(graph.inputs))),
    "arrange": Counted("input", "of repeats in another order of axes", _reordered),
    "spend_logits": Counted(
        "loss", "computed in the memory of the logits (PyTorch)", _now(lambda node: "spend" in node.options), "losses"
    ),
    "mask_arguments": Counted(
        "argument",
        "for masks that calls of one block differ in",
        lambda before, after: _optional(after) - _optional(before) if after.kind == "block" else 0,
    ),
    "unmask": Counted(
        "mask",
        "not made for one new item",
        _now(lambda node: "several" in node.options and not node.traits.remembers),
    ),
    "tabulate": Counted("table", "of places (PyTorch)", _now(lambda node: "table" in node.options)),
    "join_maps": Counted(
        "product",
        "of several maps in a step",
        lambda before, after: _ops(after, lambda node: node.op == "map" and joined(after, node)[1:2] == [node]),
    ),
}
