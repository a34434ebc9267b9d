"""Smaller programs with the same fault: statements, with what hangs on them, and results go while it stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from .program import Program, Stmt, Unit, Uses


def shrink(program: Program, fails: Callable[[Program], bool], budget: int = 300) -> Program:
    again = True
    while again and budget > 0:
        again = False
        for smaller in candidates(program):
            budget -= 1
            if budget <= 0:
                break
            if fails(smaller):
                program, again = smaller, True
                break
    return program


def candidates(program: Program) -> Iterator[Program]:
    """The boldest first."""
    model = program.model
    results = model.results
    if len(results) > 1:
        for result in results:
            yield _with(program, replace(model, results=(result,)))
    if program.batch:
        yield replace(program, batch=program.batch[:-1])
    for at in range(len(program.units) - 1, -1, -1):
        unit = program.units[at]
        for place in range(len(unit.body) - 1, -1, -1):
            stmt = unit.body[place]
            if stmt.needed:
                continue
            smaller = without(unit, place)
            if smaller is not None:
                yield _with(program, smaller, at)
            for inner in _hollowed(stmt):
                body = (*unit.body[:place], inner, *unit.body[place + 1 :])
                yield _with(program, replace(unit, body=body), at)
    if program.elsewhere:
        yield replace(program, elsewhere=frozenset())
    if program.omitted:
        yield replace(program, omitted=frozenset())


def without(unit: Unit, place: int) -> Unit | None:
    """The unit without a statement and all that hangs on it; of a model the results go too."""
    gone = set(unit.body[place].makes) - {"weights"}
    body: list[Stmt] = []
    for at, stmt in enumerate(unit.body):
        if at == place or stmt.all_uses() & gone:
            if stmt.needed and at != place:
                return None
            gone |= stmt.makes - {"weights"}
        else:
            body.append(stmt)
    results = tuple(r for r in unit.results if not r.val.uses & gone)
    if not results or (unit.keyword == "block" and len(results) < len(unit.results)):
        return None
    return replace(unit, body=tuple(body), results=results)


def _hollowed(stmt: Stmt) -> Iterator[Stmt]:
    """A repeat or an `if` with a statement less inside."""
    if stmt.body is None:
        return
    for place in range(len(stmt.body) - 1, -1, -1):
        gone: Uses = stmt.body[place].makes - {"weights"}
        if stmt.body[place].needed or any(s.all_uses() & gone for s in stmt.body[place + 1 :]):
            continue
        yield replace(stmt, body=(*stmt.body[:place], *stmt.body[place + 1 :]))
    for place in range(len(stmt.other or ()) - 1, -1, -1):
        assert stmt.other is not None
        gone = stmt.other[place].makes - {"weights"}
        if stmt.other[place].needed or any(s.all_uses() & gone for s in stmt.other[place + 1 :]):
            continue
        yield replace(stmt, other=(*stmt.other[:place], *stmt.other[place + 1 :]))


def _with(program: Program, unit: Unit, at: int = -1) -> Program:
    units = list(program.units)
    units[at] = unit
    return replace(program, units=tuple(units)).pruned()
