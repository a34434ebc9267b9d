"""Names for learned ops and repeats that have none: what the fix of E0218 writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.mentions import walk
from ..base.names import is_reserved
from ..ops import OPS


def labels(decl: s.BlockDecl) -> dict[Span, str]:
    """For each learned op and repeat without a name, a label that nothing else in the block has, by the place of the
    op's callee or of the repeat's count.

    It is the name that the statement binds, where that is new there (`r = silu(linear[..](x))`: `r`); what is returned
    is `out`; else it says what the op is, with a number from the second on. A repeat is `layers`.
    """
    calls = [node for node in walk(decl.body) if isinstance(node, s.CallExpr)]
    taken = {call.label.text for call in calls if call.label is not None}
    taken |= {call.callee.text for call in calls if call.label is None}
    named: set[int] = set()
    for node in walk(decl.body):
        if isinstance(node, s.Assign) and isinstance(node.value, s.CallExpr) and _name(node) is not None:
            named.add(id(node.value))
            if _is_learned(node.value):
                taken.add(node.targets[0].text)
        elif isinstance(node, s.ParamDecl | s.Share):
            taken.add(node.name.text)
        elif isinstance(node, s.RepeatStatement):
            taken |= {name.text for name in (node.label, node.count) if isinstance(name, s.Ident | s.Name)}
    found: dict[Span, str] = {}
    for part in (*_statements(decl.body), decl.formals, decl.body):  # defaults and conditions come last
        for call in walk(part):
            if not isinstance(call, s.CallExpr) or call.label is not None or call.callee.span in found:
                continue
            if id(call) not in named and _is_learned(call):
                label = _first_free(_candidates(part, call), taken)
                taken.add(label)
                found[call.callee.span] = label
    for node in walk(decl.body):
        if isinstance(node, s.RepeatStatement) and node.label is None and not isinstance(node.count, s.Name):
            label = _first_free(_numbered("layers"), taken)
            taken.add(label)
            found[node.count.span] = label
    return found


def _is_learned(call: s.CallExpr) -> bool:
    return call.callee.text in OPS and OPS[call.callee.text].learned


def _statements(body: Iterable[s.Statement]) -> Iterator[s.Assign | s.Return]:
    return (node for node in walk(tuple(body)) if isinstance(node, s.Assign | s.Return))


def _name(statement: s.Assign) -> str | None:
    """The one name that it binds, if it does: `_` is none."""
    return statement.targets[0].text if len(statement.targets) == 1 and statement.targets[0].text != "_" else None


def _candidates(part: object, call: s.CallExpr) -> Iterator[str]:
    if isinstance(part, s.Return):
        yield "out"
    target = _name(part) if isinstance(part, s.Assign) else None
    if target is not None and not any(isinstance(x, s.Name) and x.text == target for x in walk(part)):
        yield target
    op = OPS[call.callee.text]
    yield from _numbered(op.label or op.name)


def _numbered(base: str) -> Iterator[str]:
    yield base
    number = 2
    while True:
        yield f"{base}_{number}"
        number += 1


def _first_free(candidates: Iterator[str], taken: set[str]) -> str:
    return next(name for name in candidates if name not in taken and not is_reserved(name))
