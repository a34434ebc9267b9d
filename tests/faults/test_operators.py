"""A fault changes what it says, in one definition, and nothing else."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.faults.operators import change, faults, one_line, with_fault
from tests.faults.trial import function_at

ROOT = Path(__file__).parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
TEXT = '''"""Doc."""
Both = First | Second
TABLE = {"a": 1, "b": 2}


def kept(x):  # as it stands
    return  x


class Thing:
    def size(self, x: int | None = None) -> int:
        """Doc: 1."""
        assert x != 0
        for each in self.parts:
            if each < 3 and not x:
                self.note(each, x, loud=True)
        return f"{x}.sum({each}, -1)" + "!"
'''
EMITS = list(faults(TEXT, emits=True))


@pytest.mark.parametrize("fault", EMITS, ids=lambda fault: fault.what)
def test_a_fault(fault: object) -> None:
    before, after = change(TEXT, fault, emits=True)  # type: ignore[arg-type]
    faulty = with_fault(TEXT, fault, emits=True)  # type: ignore[arg-type]
    assert before != after and ast.dump(ast.parse(faulty)) != ast.dump(ast.parse(TEXT))
    if fault.lines.start > 8:  # type: ignore[attr-defined]
        assert faulty.startswith(TEXT[: TEXT.index("class")])
        assert function_at(TEXT, fault.lines) == "Thing.size"  # type: ignore[attr-defined]


def test_what_faults_there_are() -> None:
    found = {(fault.what, *change(TEXT, fault, emits=True)) for fault in EMITS}
    assert ("a boundary moved", "each < 3", "each <= 3") in found
    assert ("an entry left out", "{'a': 1, 'b': 2}", "{'b': 2}") in found
    assert ("arguments swapped", "self.note(each, x, loud=True)", "self.note(x, each, loud=True)") in found
    assert ("an argument left out", "self.note(each, x, loud=True)", "self.note(each, x)") in found
    assert ("a part of a condition lost", "each < 3 and (not x)", "not x") in found
    assert not any(
        "None" in before or "First" in before or "Doc" in before or "!= 0" in before for _, before, _ in found
    )


def test_only_emitted_strings_are_changed() -> None:
    assert {fault.what for fault in EMITS} - {fault.what for fault in faults(TEXT)} == {"wrong code emitted"}


def test_each_equivalent_fault_is_still_there() -> None:
    """A row of `equivalent.txt` names a file and a text of it: where either is gone, so is what the row says."""
    rows = [line.split(" | ") for line in EQUIVALENT.read_text(encoding="utf-8").splitlines()]
    assert all(len(row) == 5 for row in rows), "path | fault | before | after | reason"
    stale = [row[:3] for row in rows if row[2] not in texts_of(row[0])]
    assert not stale, "\n".join(map(str, stale))


@cache
def texts_of(name: str) -> frozenset[str]:
    """Each statement and expression of a file, as the list has them."""
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8")) if (ROOT / name).is_file() else ast.Module([], [])
    kinds = ast.expr | ast.stmt | ast.comprehension | ast.arguments | ast.match_case
    large = ast.ClassDef | ast.FunctionDef
    return frozenset(
        one_line(ast.unparse(node))
        for node in ast.walk(tree)
        if isinstance(node, kinds) and not isinstance(node, large)
    )
