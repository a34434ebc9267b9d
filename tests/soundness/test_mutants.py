"""Programs that are wrong by construction are refused, and the message stands where they are wrong.

That they are wrong the referee confirms, who knows nothing of the checker; mutants that he finds nothing wrong with
are discarded, and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import attnc

from .generate import generate
from .judge import load
from .mutants import Mutant, some
from .named import Arr
from .program import Program, Weights
from .referee import Foul, Referee, examine
from .run import run

Show = Callable[[str, object], None]
KINDS = 20  # of mutation, at least
EACH = 5  # mutants of one program
QUICK, MANY, SHARD = 500, 20_000, 50


def extents(program: Program) -> dict[str, int]:
    """Room enough: what is wrong at some size is wrong, so free widths get a size where it shows."""
    sizes = program.extents
    for line in program.header:
        words = line.removesuffix(" ragged").split()
        if words[0] == "width" and len(words) == 2:
            sizes[words[1]] = 4
        elif words[0] == "width" and "<=" in words:
            sizes[words[1]] = int(words[-1])
    return sizes


def referee(text: str, program: Program, sizes: dict[str, int], weights: Weights | None = None) -> Referee:
    parameters = {unit.name: {g.axis.name: g.axis.size for g in unit.generics} for unit in program.units}
    return Referee(text, program.files, sizes, parameters, config=program.config, sizes=program.sizes, weights=weights)


def verdict(mutant: Mutant, program: Program) -> Foul | None:
    try:
        examine(referee(mutant.text, program, extents(program)))
    except Foul as foul:
        return foul
    return None


def refusal(mutant: Mutant, program: Program, foul: Foul) -> bool:
    """Whether the first error stands on what was spoiled. Fails if there is none."""
    try:
        load(mutant.text, program)
    except attnc.AttnError as error:
        errors = [found for found in error.diagnostics if found.code.startswith("E")]
        return any(
            span.start <= mutant.end and mutant.start <= span.end and span.source.position(span.start)[0] == mutant.line
            for span in (found.span for found in errors)
            if span is not None
        )
    pytest.fail(
        f"seed {program.seed}: accepted, though {mutant.name}: {mutant.why} (line {mutant.line}; the referee: {foul})"
        f"\n\n{mutant.text}",
        False,
    )


def runs(mutant: Mutant, program: Program) -> None:
    """What nothing is wrong with is compiled and run, if the checker has nothing against it either."""
    try:
        spec = load(mutant.text, program)
        model = spec.model("net")
    except attnc.AttnError:
        return
    try:
        run(model)
    except Exception as error:
        error.add_note(f"seed {program.seed}: {mutant.name}\n\n{mutant.text}")
        raise


@dataclass
class Tally:
    refused: Counter[str] = field(default_factory=Counter)
    discarded: Counter[str] = field(default_factory=Counter)
    elsewhere: list[str] = field(default_factory=list)  # whose message does not stand on the place


def look(seeds: range) -> Tally:
    """Each program's mutants; the seeds say which."""
    tally = Tally()
    for seed in seeds:
        program = generate(seed)
        for mutant in some(program, EACH):
            foul = verdict(mutant, program)
            if foul is None:
                tally.discarded[mutant.name] += 1
                runs(mutant, program)
                continue
            tally.refused[mutant.name] += 1
            if not refusal(mutant, program, foul):
                tally.elsewhere.append(f"seed {seed}, {mutant.name}, line {mutant.line}")
    return tally


def judged(start: int, count: int, record_property: Show) -> None:
    """So many mutants are refused, with the shares that are asked for."""
    tally = look(range(start, start + count // EACH))
    refused = ", ".join(f"{name} {count}" for name, count in tally.refused.most_common())
    lost = f"{tally.discarded.total()} discarded, the message of {len(tally.elsewhere)} elsewhere"
    record_property("shown", f"{tally.refused.total()} mutants refused ({lost}): {refused}")
    assert 0.99 * count <= tally.refused.total() + tally.discarded.total() <= count  # a short program has fewer kinds
    assert len(tally.refused) >= KINDS
    assert tally.discarded.total() <= 0.1 * count
    assert len(tally.elsewhere) <= 0.05 * count, tally.elsewhere


@pytest.mark.parametrize("start", range(0, QUICK // EACH, SHARD // EACH * 2))
def test_wrong_programs_are_refused(start: int, record_property: Show) -> None:
    judged(start, SHARD * 2, record_property)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(QUICK, QUICK + MANY // EACH, 100))
def test_many_wrong_programs_are_refused(start: int, record_property: Show) -> None:
    judged(start, 100 * EACH, record_property)


@pytest.mark.parametrize("start", range(0, 100, 50))
def test_the_referee_reads_right_programs_as_they_are_meant(start: int) -> None:
    """He finds nothing wrong with them, and computes what the generator means: so his word counts."""
    for seed in range(start, start + 50):
        program = replace(generate(seed), batch=())
        examine(referee(program.text, program, extents(program)))
        inputs = program.inputs()
        with np.errstate(all="ignore"):
            meant = program.evaluate(inputs, weights := Weights(seed))
            reader = referee(program.text, program, program.extents, Weights(seed))
            for formal in program.model.formals:
                if formal.name in program.omitted:
                    assert formal.default is not None
                    shape = [axis.size for axis in formal.val.axes]
                    inputs[formal.name] = Arr(np.full(shape, formal.default), tuple(a.name for a in formal.val.axes))
            block = [block for block, _ in reader.main.blocks.values() if block.keyword == "model"][-1]
            found = reader.alone(block, inputs)
        assert set(reader.weights.arrays) == set(weights.arrays)
        for result, value, want in zip(program.model.results, found, meant, strict=True):
            got = np.broadcast_to(value.arr.along([axis.name for axis in result.axes]), want.shape)
            np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-9, err_msg=f"seed {seed}: {result.text}")


def test_the_referee_imports_nothing_of_the_checker() -> None:
    from pathlib import Path

    here = Path(__file__).parent
    for name in ("referee", "moves", "reader", "named", "program"):
        assert "attnc" not in (here / f"{name}.py").read_text(), name
