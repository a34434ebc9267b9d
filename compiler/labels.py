"""Names for learned ops that have none: what the fix of E0218 writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..dsl import syntax as s
from ..dsl.source import Span
from .mentions import walk
from .names import is_reserved
from .ops import OPS

_BASES = {"linear": "map", "embed": "table", "layernorm": "norm", "rmsnorm": "norm"}


def labels(decl: s.BlockDecl) -> dict[Span, str]:
    """For each learned op without a name, by the place of its callee, a label that nothing else in the block has.

    It is the name that the statement binds, where that is new there (`r = silu(linear[..](x))`: `r`); what is returned
    is `out`; else it says what the op is, with a number from the second on.
    """
    calls = [node for node in walk(decl.body) if isinstance(node, s.Call)]
    taken = {call.label.text for call in calls if call.label is not None}
    taken |= {call.callee.text for call in calls if call.label is None}
    named: set[int] = set()
    for node in walk(decl.body):
        if isinstance(node, s.Assign) and isinstance(node.value, s.Call) and len(node.targets) == 1:
            named.add(id(node.value))
            if _is_learned(node.value):
                taken.add(node.targets[0].text)
        elif isinstance(node, s.ParamDecl | s.Share):
            taken.add(node.name.text)
        elif isinstance(node, s.Repeat):
            taken |= {name.text for name in (node.label, node.count) if isinstance(name, s.Ident | s.Name)}
    found: dict[Span, str] = {}
    for statement in _statements(decl.body):
        for call in walk(statement):
            if isinstance(call, s.Call) and call.label is None and id(call) not in named and _is_learned(call):
                label = _first_free(_wishes(statement, call), taken)
                taken.add(label)
                found[call.callee.span] = label
    return found


def _is_learned(call: s.Call) -> bool:
    return call.callee.text in OPS and OPS[call.callee.text].learned


def _statements(body: Iterable[s.Statement]) -> Iterator[s.Assign | s.Return]:
    return (node for node in walk(tuple(body)) if isinstance(node, s.Assign | s.Return))


def _wishes(statement: s.Assign | s.Return, call: s.Call) -> Iterator[str]:
    if isinstance(statement, s.Return):
        yield "out"
    elif len(statement.targets) == 1:
        target = statement.targets[0].text
        if target != "_" and not any(
            isinstance(node, s.Name) and node.text == target for node in walk(statement.value)
        ):
            yield target
    base = _BASES[call.callee.text]
    yield base
    number = 2
    while True:
        yield f"{base}_{number}"
        number += 1


def _first_free(wishes: Iterator[str], taken: set[str]) -> str:
    return next(wish for wish in wishes if wish not in taken and not is_reserved(wish))
