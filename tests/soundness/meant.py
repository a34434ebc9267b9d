"""What a random program may be told that it does not mean (W0520 and after): each alarm is looked at by numbers.

The checker's readers of meaning are not asked. Gradients are PyTorch's, at several draws of inputs and weights; masks,
comparisons and scores are the referee's, who runs the text at several sizes. An alarm that does not hold is false.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from attnc.dsl.diagnostic import Diagnostic

from .program import DATA, Program, Weights
from .referee import Foul, Referee, Use, examine

DRAWS = 4  # of inputs and weights
SIZES = (4, 8, 12)  # of free widths
NOUGHT = 1e-12  # beside the largest gradient
PASS = re.compile(r"(?<=\.)\d+(?=\.)")

Inputs = Callable[[int], Mapping[str, np.ndarray[Any, Any]]]


def speaks_of_meaning(found: Diagnostic) -> bool:
    return found.code[1:] >= "0520" and found.code[0] in "WA"


# -- weights ---------------------------------------------------------------------------------------------------------


def idle(
    module: torch.nn.Module, shapes: Mapping[str, tuple[int, ...]], inputs: Inputs, empty: Iterable[str] = ()
) -> set[str]:
    """The weights whose gradient is nought at all draws; those of `empty` are 0 meanwhile."""
    kept = {path: weight.clone() for path, weight in module.state_dict().items()}
    trained = {path: weight for path, weight in module.named_parameters() if weight.requires_grad}
    found = set(trained)
    for seed in range(1, DRAWS + 1) if found else ():
        drawn = Weights(seed)
        state = {path: torch.as_tensor(drawn.read(path, shape)) for path, shape in shapes.items()}
        module.load_state_dict(state | {path: torch.zeros_like(state[path]) for path in empty})
        module.zero_grad(set_to_none=True)
        result = module(**{name: torch.as_tensor(x) for name, x in inputs(seed).items()})
        draw = torch.Generator().manual_seed(seed)
        total = torch.zeros((), dtype=torch.float64)
        for x in result if isinstance(result, tuple) else (result,):
            if x.is_floating_point():
                total = total + (x * torch.randn(x.shape, generator=draw, dtype=x.dtype)).nan_to_num(0, 0, 0).sum()
        if total.requires_grad:
            total.backward()
        grads = {path: weight.grad for path, weight in trained.items() if weight.grad is not None and weight.numel()}
        sizes = dict.fromkeys(trained, 0.0) | {
            path: float(grad.nan_to_num(1.0).abs().max()) for path, grad in grads.items()
        }
        most = max(1.0, *sizes.values())
        found = {path for path in found if sizes[path] <= NOUGHT * most}
        if not found:
            break
    module.load_state_dict(kept)
    return found


def told_paths(said: Diagnostic) -> tuple[list[str], int]:
    """The paths of weights that a message names, and how many more it speaks of."""
    head = said.message.partition(":")[0] if said.message.startswith("no gradient") else said.message
    more = re.search(r"and (\d+) more", head)
    return re.findall(r"`([\w.*]+)`", head), int(more[1]) if more else 0


def matching(path: str, weights: Iterable[str]) -> set[str]:
    """Those of a model's weights that a block calls so."""
    same = {each: PASS.sub("*", each) for each in weights}
    return {each for each, name in same.items() if name == path or name.endswith(f".{path}")}


def matters(module: torch.nn.Module, shapes: Mapping[str, tuple[int, ...]], inputs: Inputs, path: str) -> bool:
    """Whether any result changes with a weight."""

    def results(state: Mapping[str, torch.Tensor], given: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
        module.load_state_dict(state)
        with torch.no_grad():
            found = module(**given)
        return list(found) if isinstance(found, tuple) else [found]

    kept = {name: weight.clone() for name, weight in module.state_dict().items()}
    changed = False
    for seed in range(1, DRAWS + 1):
        first, other = Weights(seed), Weights(seed + DRAWS)
        state = {name: torch.as_tensor(first.read(name, shape)) for name, shape in shapes.items()}
        given = {name: torch.as_tensor(x) for name, x in inputs(seed).items()}
        before = results(state, given)
        after = results({**state, path: torch.as_tensor(other.read(path, shapes[path]))}, given)
        changed |= any(not torch.allclose(a, b, 1e-9, 1e-9, equal_nan=True) for a, b in zip(before, after, strict=True))
    module.load_state_dict(kept)
    return changed


def weights_misjudged(
    said: Sequence[Diagnostic], module: torch.nn.Module, shapes: Mapping[str, tuple[int, ...]], inputs: Inputs
) -> str | None:
    """Why what is told of weights that never learn (W0521) is wrong, or lacks some."""
    still, named, more = idle(module, shapes, inputs), set[str](), 0
    for each in said:
        paths, others = told_paths(each)
        found = {path: matching(path, shapes) for path in paths}
        more += others
        named.update(*found.values())
        both = each.message.startswith("both factors")  # they have a gradient unless both are 0
        empty = idle(module, shapes, inputs, set().union(*found.values())) if both else still
        for path, weights in found.items():
            if not weights or not weights <= empty:
                return f"{sorted(weights) or path} learns, and this is told: {each.message}"
    trained = {path for path, weight in module.named_parameters() if weight.requires_grad}
    if still == trained:  # none of the model learns: it is not there to be trained
        return None
    missed = [path for path in sorted(still - named) if matters(module, shapes, inputs, path)]
    return f"{missed} never learn, and nothing is told of it" if len(missed) > more else None


# -- what is computed ------------------------------------------------------------------------------------------------


def runs(program: Program) -> list[Referee]:
    """The text as the referee runs it, at several sizes of its free widths."""
    free = {line.split()[1] for line in program.header if re.fullmatch(r"width \w+( ragged)?", line)}
    limits = [re.match(r"width (\w+) <= (\d+)", line) for line in program.header]
    bounded = {limit[1]: int(limit[2]) for limit in limits if limit is not None}
    parameters = {unit.name: {g.axis.name: g.axis.size for g in unit.generics} for unit in program.units}
    found = []
    for seed, size in enumerate(SIZES):
        extents = program.extents | bounded | dict.fromkeys(free, size)
        referee = Referee(program.text, program.files, extents, parameters, config=program.config, sizes=program.sizes)
        try:
            examine(referee, seed)
        except Foul as foul:
            if not foul.of_sizes:
                raise
            continue
        found.append(referee)
    return found


def used(referee: Referee, op: str, lines: set[int]) -> list[Use]:
    """The uses of an op on some lines, or in what is called there."""
    return [use for at, use in referee.uses if use.name == op and lines & {*at}]


def lines_of(said: Diagnostic) -> set[int]:
    spans = [said.span, *(label.span for label in said.related)]
    return {span.source.position(span.start)[0] for span in spans if span is not None}


ROWS = re.compile(
    r"this `(?P<op>\w+)` hides .* from (?:(?P<each>each item)|the first item|the first (?P<head>\d+) items"
    r"|items? (?P<from>\d+)(?: to (?P<to>\d+))?)(?: of `\w+`)?(?P<rest> and all after it)?:"
)


def mask_misjudged(said: Diagnostic, program: Program) -> str | None:
    """W0523: the items that are said to see nothing see nothing, at any size."""
    match = ROWS.search(said.message)
    if match is None:
        return f"which items? {said.message}"
    first = int(match["from"] or 0)
    last = None if match["each"] or match["rest"] else int(match["to"] or first + int(match["head"] or 1) - 1)
    stretch, shown = slice(first, None if last is None else last + 1), 0
    for referee in runs(program):
        masks = [use for use in used(referee, match["op"], lines_of(said)) if use.mask is not None]
        found = [rows for use in masks for rows in _hidden(use, stretch)]
        if not any(size == 0 or hidden for size, hidden in found):
            return f"some item of it sees something: {said.message}"
        shown += any(size and hidden for size, hidden in found)
    return None if shown else f"no size shows it: {said.message}"


def _hidden(use: Use, stretch: slice) -> list[tuple[int, bool]]:
    """For each width of items how many there are in a stretch, and whether the mask hides all from them."""
    assert use.mask is not None
    arr, over = use.mask.arr, {axis.key for axis in use.axes}
    items = [key for key in arr.axes if key not in over]
    found = []
    for item in items:
        rows = arr.along([item, *(key for key in arr.axes if key != item)])[stretch]
        found.append((len(rows), not rows.any()))
    return found


def scores_misjudged(said: Diagnostic, program: Program) -> str | None:
    """W0524, of which random programs show one kind: scores that lie between two numbers."""
    match = re.match(r"`(\w+)` takes scores of any size, and these lie between (\S+) and (\S+):", said.message)
    if match is None:
        return f"no number is looked at for this: {said.message}"
    for referee in runs(program):
        given = [use.operands[0].arr.data for use in used(referee, match[1], lines_of(said))]
        low, high = float(match[2]), float(match[3])
        if not any(((x >= low) & (x <= high)).all() for x in given):
            return f"they do not: {said.message}"
    return None


RANKING = ("argmax", "argmin", "topk", "argsort", "max", "min")


def dropout_misjudged(said: Diagnostic, program: Program) -> str | None:
    """W0528: where all is dropped, data say nothing of what is ranked, or made a share or a loss; else they do."""
    for referee in runs(program):
        lines = lines_of(said)
        drops = frozenset(use.line for use in used(referee, "dropout", lines))
        losses = said.message.startswith("losses are dropped")
        ops = ("cross_entropy",) if losses else ("softmax", "log_softmax", "cross_entropy", *RANKING)
        if losses:  # what is dropped is what a loss makes
            if not drops or not any(used(referee, op, lines) for op in ops):
                return f"no loss is dropped there: {said.message}"
            continue
        given = []
        for dropped in (frozenset[int](), drops):
            referee.dropped = dropped
            seen = []
            for seed in (1, 2):
                referee.uses.clear()
                examine(referee, seed)
                seen.append([use.operands[0].arr.data for op in ops for use in used(referee, op, lines)])
            given.append([np.array_equal(a, b) for a, b in zip(*seen, strict=True)])
        if not any(whole is False and none for whole, none in zip(*given, strict=True)):
            return f"it is not: {said.message}"
    return None


def padding_misjudged(said: Diagnostic, program: Program) -> str | None:
    """W0522: the op has no mask there, and another has one that data say."""
    match = re.match(r"`(\w+)` reads the padding", said.message)
    for referee in runs(program) if match is not None else ():
        plain = any(use.mask is None for use in used(referee, match[1] if match else "", lines_of(said)))
        if not plain or not any(use.mask is not None and use.mask.role == DATA for _, use in referee.uses):
            return f"nothing is left out here and read there: {said.message}"
    return None if match is not None else f"which op? {said.message}"


def input_misjudged(said: Diagnostic, program: Program) -> str | None:
    """A0529: the name does not stand in the body of its block."""
    match = re.match(r"`(\w+)` takes `(\w+)`, and reads it nowhere", said.message)
    if match is None:
        return f"what is not used? {said.message}"
    body = next(unit.text() for unit in program.units if unit.name == match[1]).partition("{\n")[2]
    return f"it stands in its body: {said.message}" if re.search(rf"\b{match[2]}\b", body) else None


REFEREES: dict[str, Callable[[Diagnostic, Program], str | None]] = {
    "A0529": input_misjudged,
    "W0522": padding_misjudged,
    "W0523": mask_misjudged,
    "W0524": scores_misjudged,
    "W0528": dropout_misjudged,
}
"""W0521 is judged of all that is told at once. A code that has no referee here may not be told of a random program."""


def misjudged(said: Sequence[Diagnostic], program: Program) -> str | None:
    """What is false of all that is told of meaning, but of weights."""
    main = [each for each in said if each.code != "W0521" and each.span is not None]
    for each in main:
        referee = REFEREES.get(each.code)
        if referee is None:
            return f"no referee knows {each.code}: {each.message}"
        assert each.span is not None
        if each.span.source.text != program.text:  # told of the file beside it, whose lines are others
            continue
        wrong = referee(each, program)
        if wrong is not None:
            return wrong
    return None
