"""Tables of places, which a step makes for many places at once (compiler/decoding/steps/tabulate.py).

if cache.lacks("cos"):
    angle = cache.ahead(device).double()[:, None] / net.base**x
    cache.tabulate("cos", torch.cos(angle), -2)
cos = cache.entries("cos")
"""

from __future__ import annotations

from dataclasses import replace

from ...compiler.decoding.steps.tabulate import made_into, tables_of
from ...compiler.graph.nodes import Apply, makes, reads
from ..emit.body import CodeBody
from ..emit.layout import ReadCount
from ..text.expressions import Code, call
from ..text.statements import Block, Place
from ..text.values import Val, is_table


def write_tables(body: CodeBody) -> None:
    """The lines that make and read the tables of a step."""
    graph, tables = body.graph, tables_of(body.graph)
    if not tables:
        return
    names = _names(body, tables)
    made = [graph.nodes[place] for place in made_into(graph)]
    lines, env, readers, known = body.lines, dict(body.env), body.readers, dict(body.told.known)
    body.lines, body.readers, body.tabulating = [], {}, True
    for node in made:
        for value in reads(node):
            body.readers.setdefault(value.id, ReadCount()).left += 1
    for node in tables:
        body.readers.setdefault(node.out.id, ReadCount()).left += 1
    new = {axis for node in made for value in makes(node) for axis in value.type.axes if body.is_new(axis)}
    body.told.known |= dict.fromkeys(new, Code("cache.reach"))
    for node in made:
        body.node(node)
    found = []
    for node, name in zip(tables, names, strict=True):
        axis = next(axis for axis in node.out.type.axes if body.is_new(axis))
        val = _as_read(body, node, body.full(body.env[node.out.id], [axis]))
        body.do(call("cache.tabulate", f'"{name}"', val.code, val.dim(axis)))
        found.append(replace(val, code=call("cache.entries", f'"{name}"')))
    inside = body.lines
    body.lines, body.env, body.readers, body.told.known, body.tabulating = lines, env, readers, known, False
    body.lines.append(Block(Code(f'if cache.lacks("{names[0]}")'), inside))
    for node, name, val in zip(tables, names, found, strict=True):
        body.keep(node.out, body.let(name, val, Place.INLINE if node.out.name is None else Place.NAMED))


def _names(body: CodeBody, tables: list[Apply]) -> list[str]:
    found: list[str] = []
    for node in tables:
        wish = node.out.name or "table"
        found.append(wish if wish not in found else f"{wish}_{len(found)}")
    return found


def _as_read(body: CodeBody, node: Apply, val: Val) -> Val:
    """In the numbers of those who read it, which would else cast it one by one."""
    readers = [one for one in body.graph.nodes if any(value.id == node.out.id for value in reads(one))]
    done = [one.out for one in readers if isinstance(one, Apply)]
    alike = len(done) == len(readers) and not any(map(is_table, done))
    return body.real(val, False) if readers and alike else val
