"""What is proved of random programs: each result, along each of its widths, in each graph that is nested in a model.

Also of programs that one slip makes leak or not: a comparison turned round, an item further, a mask left out.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import attnc
from attnc.compiler.causality.proof import check_causal
from attnc.compiler.graph.core.places import place_of
from attnc.compiler.graph.nodes import Graph, nested
from attnc.compiler.rewrites.picks.follow import follow_picks
from attnc.compiler.sizes.axes import Axis
from attnc.compiler.sizes.limits import TooMuch
from tests.soundness.generate import generate
from tests.soundness.program import Program

CLAIM = re.compile(r" causal \w+")
SLIPS = {  # what stands there, and what in its place
    r" <= ": (" < ", " >= ", " == "),
    r" < (?=[\w|(])": (" <= ", " > "),
    r" \+ 1\b": (" + 2", " - 1", ""),
    r" - 1\b": (" - 2", " + 1", ""),
    r"\bmin\(": ("max(",),
    r"\bmax\(": ("min(",),
    r"\bfloor\(": ("ceil(",),
    r" and ": (" or ",),
    r"\bnot ": ("",),
    r"cumsum\[(\w+)\]": (r"flip[\1]",),
    r"split\[(\w+) -> (\w+), (\w+)\]": (r"split[\1 -> \3, \2]",),
    r"merge\[(\w+), (\w+) ->": (r"merge[\2, \1 ->",),
    r" where [^()\n]*\)": (")",),
}


def texts(program: Program, slips: int) -> Iterator[str]:
    """A program without its claims, and with one slip each."""
    text, rng = CLAIM.sub("", program.text), random.Random(program.seed)
    yield text
    places = [(at, new) for old, several in SLIPS.items() for at in re.finditer(old, text) for new in several]
    for at, new in rng.sample(places, min(slips, len(places))):
        yield text[: at.start()] + at.expand(new) + text[at.end() :]


def unclaimed(text: str, program: Program) -> attnc.Spec:
    """As `tests.soundness.judge.load`, with no claim in any file."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in program.files.items():
            (Path(folder) / name).write_text(CLAIM.sub("", content))
        return attnc.loads(text, base=folder, config=program.config, sizes=program.sizes)


def questions(graph: Graph) -> Iterator[tuple[Graph, int, Axis]]:
    for each in nested(graph):
        if not each.target and each.kind != "repeat" and each.inputs:
            for number, output in enumerate(each.outputs):
                for axis in output.axes:
                    if axis.is_width and place_of(output.axes, axis, {axis.family}) is not None:
                        yield each, number, axis


def verdict(graph: Graph, output: int, axis: Axis) -> str:
    """`proved`, or the way of the leak."""
    try:
        unproved = check_causal(graph, output, axis, graph.span or graph.inputs[0].value.span)
    except TooMuch:
        return "too much"
    return "proved" if unproved is None else " | ".join(step.text for step in unproved.trace.path)


def verdicts(seed: int, picks: bool = False, slips: int = 0) -> Iterator[str]:
    """A line for each question."""
    program = generate(seed, picks)
    for number, text in enumerate(texts(program, slips)):
        try:
            spec = unclaimed(text, program)
        except attnc.AttnError:
            yield f"{number}: refused"
            continue
        for name in spec.models:
            graph, problems = follow_picks(spec.model(name).graph)
            for each, output, axis in questions(graph) if not problems else ():
                yield f"{number}: {name}, {each.name} {output} along {axis.name}: {verdict(each, output, axis)}"
