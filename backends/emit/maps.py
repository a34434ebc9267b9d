"""Code of `map` (compiler/decoding/join_maps.py), alike in both backends: the cache has the weights laid out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...compiler.decoding.join_maps import joined
from ...compiler.graph.nodes import Apply
from ..text.static_code import Code
from ..text.values import Val

if TYPE_CHECKING:
    from .body import Body


def mapped(body: Body, node: Apply, vals: list[Val]) -> Val:
    """`cache.map(x, ...)`; of maps that are done together, the first has the line `Q, K, V = cache.maps(x, ...)`."""
    x = body.last(body.real(body.spread_number(vals[0], node.operands[0]), False), node.axes)
    kept = tuple(axis for axis in x.axes if axis not in node.axes)
    flat = x if len(node.axes) == 1 else replace(x, code=Code(body.flatten(x, -len(node.axes), -1)))
    group = joined(body.graph, node)
    if len(group) == 1:
        code, names = Code(f"cache.map({flat.text}, {body.learned([node])})"), x.names
    else:
        if node is group[0]:
            given = [body.namer.give(one.out.name or one.name or "x") for one in group]
            body.joined |= {one.out.id: name for one, name in zip(group, given, strict=True)}
            body.line(f"{', '.join(given)} = cache.maps({flat.text}, {body.learned(group)})")
        name = body.joined.pop(node.out.id)
        body.namer.free(name)  # what is made of it may have its name
        code, names = Code(name), frozenset({name})
    val = body.combine([x], code, (*kept, *node.made), node.out, names=names)
    return val if len(node.made) == 1 else replace(val, code=Code(body.unflatten(val, -1, node.made)))
