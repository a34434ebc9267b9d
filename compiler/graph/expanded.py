"""How many steps a graph has when every call and every pass is written out."""

from __future__ import annotations

from .nodes import Call, Graph, Repeat, Scan


def steps(graph: Graph, known: dict[int, int] | None = None) -> int:
    """The number of ops of a graph; each call counts as its body, each pass of a repeat too, a scan as one item."""
    known = {} if known is None else known
    if id(graph) not in known:
        total = 0
        for node in graph.nodes:
            match node:
                case Call(inner) | Scan(inner):
                    total += 1 + steps(inner, known)
                case Repeat(bodies=bodies, variant=variant):
                    sizes = [steps(body, known) for body in bodies]
                    total += 1 + sum(sizes[one] for one in variant)
                case _:
                    total += 1
        known[id(graph)] = total
    return known[id(graph)]
