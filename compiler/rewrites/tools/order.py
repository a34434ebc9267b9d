"""Nodes in an order in which each stands behind what it reads."""

from __future__ import annotations

from collections.abc import Sequence

from ...graph.nodes import Node, makes, reads


def in_order(nodes: Sequence[Node]) -> list[Node]:
    """The nodes, each behind what it reads, else as they are."""
    makers = {out.id: node for node in nodes for out in makes(node)}
    done: set[int] = set()
    found: list[Node] = []

    def add(node: Node) -> None:
        if id(node) in done:
            return
        done.add(id(node))
        for value in reads(node):
            if value.id in makers:
                add(makers[value.id])
        found.append(node)

    for node in nodes:
        add(node)
    return found
