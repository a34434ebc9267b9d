"""What each rewrite did to a graph, in words, and where: a line of `attnc compile --explain`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from ...compiler.decoding.steps.join_maps import joined
from ...compiler.graph.nodes import Apply, Call, Graph, Repeat, Scan, children
from ...compiler.graph.traits import Choice, Pointwise, Product, Quotient, Sum

MOST = 6  # places named in a line
ARITHMETIC = [Pointwise(one) for one in (Sum((1, 1)), Sum((1, -1)), Product(), Quotient())]


def instances(graph: Graph, path: str = "") -> Iterator[tuple[Graph, str]]:
    """A graph and all that are nested in it, with their paths; passes of a repeat that are alike count once."""
    yield graph, path
    for node in graph.nodes:
        for place, child in enumerate(children(node)):
            assert isinstance(node, Repeat | Call | Scan)
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
    words, count = COUNTED[name]
    old: dict[str, list[Graph]] = {}
    for graph, path in instances(before):
        old.setdefault(path, []).append(graph)
    found: Counter[str] = Counter()
    for graph, path in instances(after):
        known = old.get(path) or [graph]
        number = count(known.pop(0) if len(known) > 1 else known[0], graph)
        if number > 0:
            found[path or graph.name] += number
    places = list(found)[:MOST] + ([f"{len(found) - MOST} more"] if len(found) > MOST else [])
    return f"{words(found.total())}: {', '.join(places)}" if places else ""


def many(count: int, what: str, more: str = "") -> str:
    return f"{count} {what if count == 1 else more or what + 's'}"


def _ops(graph: Graph, chosen: Callable[[Apply], bool]) -> int:
    return sum(isinstance(node, Apply) and chosen(node) for node in graph.nodes)


def _bodies(graph: Graph) -> int:
    return sum(len(node.bodies) > 1 for node in graph.nodes if isinstance(node, Repeat))


def _size(graph: Graph) -> int:
    return len(graph.inputs) + len(graph.nodes) + _ops(graph, lambda node: node.mask is not None)


def _calls(graph: Graph) -> int:
    return sum(isinstance(node, Call) for node in graph.nodes)


def _scans(graph: Graph) -> int:
    return sum(isinstance(node, Scan) for node in graph.nodes)


def _weighed(graph: Graph) -> int:
    return _ops(graph, lambda node: node.op == "linear_attention")


def _optional(graph: Graph) -> int:
    return sum(item.default is not None for item in graph.inputs)


def _choices(graph: Graph) -> int:
    return _ops(graph, lambda node: node.traits.reads == Pointwise(Choice()))


def _arithmetic(graph: Graph) -> int:
    return _ops(graph, lambda node: node.traits.reads in ARITHMETIC)


# For each rewrite: its words for so many changes, and how many one graph has, from what it was and what it is.
COUNTED: dict[str, tuple[Callable[[int], str], Callable[[Graph, Graph], int]]] = {
    "split_passes": (
        lambda count: f"{many(count, 'repeat')} with a body for each kind of pass",
        lambda before, after: _bodies(after) - _bodies(before),
    ),
    "fold_truths": (
        lambda count: "truths known now are put in, and masks that keep everything are gone",
        lambda before, after: _size(before) - _size(after),
    ),
    "halves": (
        lambda count: f"{many(count, 'choice')} by sign made a sum",
        lambda before, after: _choices(before) - _choices(after),
    ),
    "guard": (
        lambda count: f"{many(count, 'operand')} made harmless where a choice takes the other side",
        lambda before, after: _choices(after) - _choices(before),
    ),
    "fold_numbers": (
        lambda count: f"{many(count, 'operation')} with numbers done now",
        lambda before, after: _arithmetic(before) - _arithmetic(after),
    ),
    "fuse_attention": (
        lambda count: f"{many(count, 'attention')} fused",
        lambda before, after: _ops(after, lambda node: node.op == "attention"),
    ),
    "place_masks": (
        lambda count: f"{many(count, 'mask')} of positions kept as predicates, never made as a whole",
        lambda before, after: _ops(after, lambda node: node.seen is not None),
    ),
    "inline": (
        lambda count: f"{many(count, 'call')} of blocks of one expression done in place",
        lambda before, after: _calls(before) - _calls(after),
    ),
    "dispatch": (
        lambda count: f"{many(count, 'value')} computed for what is picked alone",
        lambda before, after: _ops(after, lambda node: node.op in ("back", "weighed")),
    ),
    "stack": (
        lambda count: f"{many(count, 'choice')} between two items put side by side",
        lambda before, after: _ops(after, lambda node: node.op == "stack"),
    ),
    "merge": (
        lambda count: f"{many(count, 'node')} merged with equal ones",
        lambda before, after: len(before.nodes) - len(after.nodes),
    ),
    "linear_scans": (
        lambda count: f"{many(count, 'scan')} linear in what they carry, done for all items at once",
        lambda before, after: _scans(before) - _scans(after),
    ),
    "cells": (
        lambda count: f"{many(count, 'recurrent network')} as one op",
        lambda before, after: _scans(before) - _scans(after),
    ),
    "lift_scans": (
        lambda count: f"{many(count, 'scan')} with no more in the loop than hangs on what they carry",
        lambda before, after: _scans(before) - _scans(after),
    ),
    "running_sums": (
        lambda count: f"{many(count, 'attention')} without a softmax done in chunks",
        lambda before, after: _weighed(after) - _weighed(before),
    ),
    "hoist": (
        lambda count: f"{many(count, 'table')} given to bodies that run several times",
        lambda before, after: len(after.inputs) - len(before.inputs),
    ),
    "arrange": (
        lambda count: f"{many(count, 'input')} of repeats in another order of axes",
        lambda before, after: sum(
            a.value.type.axes != b.value.type.axes for a, b in zip(before.inputs, after.inputs, strict=False)
        ),
    ),
    "spend_logits": (
        lambda count: f"{many(count, 'loss', 'losses')} computed in the memory of the logits (PyTorch)",
        lambda before, after: _ops(after, lambda node: "spend" in node.options),
    ),
    "mask_arguments": (
        lambda count: f"{many(count, 'argument')} for masks that calls of one block differ in",
        lambda before, after: _optional(after) - _optional(before) if after.kind == "block" else 0,
    ),
    "unmask": (
        lambda count: f"{many(count, 'mask')} not made for one new item",
        lambda before, after: _ops(after, lambda node: "several" in node.options and not node.traits.remembers),
    ),
    "tabulate": (
        lambda count: f"{many(count, 'table')} of places (PyTorch)",
        lambda before, after: _ops(after, lambda node: "table" in node.options),
    ),
    "join_maps": (
        lambda count: f"{many(count, 'product')} of several maps in a step",
        lambda before, after: _ops(after, lambda node: node.op == "map" and joined(after, node)[1:2] == [node]),
    ),
}
