"""Two axes that would have to be copies of one, and are not: the help that asks what was meant.

To declare them copies makes any such program pass, and is right only where both always have one length (D4). So a copy
that exists comes first; and where two widths come with different inputs, what else may be meant stands before it.
"""

from __future__ import annotations

import re

from ..problems.axes import Surroundings
from ..sizes.axes import Axis
from .copies import copies, new_copy
from .words import Wording


def compared(a: Axis, b: Axis, around: Surroundings, written: str, words: Wording) -> str:
    """The help for a comparison of their indices, `written`."""
    first, second = _in_order(a, b)
    q = words.quoted
    declared, forgets = _declared(second, first, around, words), f"{q(f'int({a.name})')} forgets the axis on purpose"
    other_copies = [
        (axis, other, copy) for axis, other in ((a, b), (b, a)) for copy in copies(axis, around, [other])[:1]
    ]
    said = [(axis, copy, _with(copy, other, written)) for axis, other, copy in other_copies if _names(written, a, b)]
    if said:  # both may have one
        which = " and ".join(f"{q(copy)} is a copy of {q(axis.name)}" for axis, copy, _ in said)
        return f"{which}: was {' or '.join(q(text) for *_, text in said)} meant? {forgets}"
    if _separate(a, b, around):
        copy, how = new_copy(first, around, words)
        text = f", and write {q(_with(copy, second, written))}" if _names(written, a, b) else ""
        return f"which is meant: items of one width? declare a copy, {how}{text}; numbers? {forgets}; {_last(declared)}"
    return f"if they are two copies of one axis, declare it: {declared}; {forgets}"


def renamed(old: Axis, new: Axis, around: Surroundings, words: Wording) -> str:
    """The help for `x[old as new]`."""
    q = words.quoted
    if known := copies(old, around, [new]):
        return f"{q(known[0])} is a copy of {q(old.name)}: was {q(f'[{old.name} as {known[0]}]')} meant?"
    if known := copies(new, around, [old]):
        return (
            f"{q(known[0])} is a copy of {q(new.name)}: was a value meant that has {q(new.name)}, "
            f"{q(f'[{new.name} as {known[0]}]')}?"
        )
    if _separate(old, new, around):
        copy, how = new_copy(old, around, words)
        written, last = q(f"[{old.name} as {copy}]"), _last(_declared(new, old, around, words))
        return f"which is meant: its items, beside themselves? declare a copy, {how}, and write {written}; {last}"
    return f"declare a copy: {_declared(new, old, around, words)}"


def passed(original: Axis, actual: Axis, around: Surroundings, written: str, words: Wording) -> str:
    """The help for a call, `written`, that gives `actual` where a copy of `original` is wanted."""
    known, q = copies(original, around, [actual]), words.quoted
    if known:
        return f"{q(known[0])} is a copy of {q(original.name)}: was {q(_with(known[0], actual, written))} meant?"
    declared = _declared(actual, original, around, words)
    if _separate(original, actual, around):
        copy, how = new_copy(original, around, words)
        return (
            f"which is meant: items of one width? declare a copy, {how}, and pass it, "
            f"{q(_with(copy, actual, written))}; {_last(declared)}"
        )
    return f"declare {declared}"


def _separate(a: Axis, b: Axis, around: Surroundings) -> bool:
    """Whether the two are widths, and each comes with an input that has not the other: here, or, of axes of the file,
    in a block or model beside this one.
    """
    named = {a.name, b.name}
    blocks = [around.block, *(each for each in around.beside if not named & {g.name.text for g in each.generics})]
    own = named & around.parameters
    for block in blocks[:1] if own else blocks:
        carried = [{name.text for name in formal.type.axes} for formal in block.formals]
        alone = [any(one in axes and other not in axes for axes in carried) for one, other in _both_ways(a, b)]
        if all(alone):
            return a.is_width and b.is_width
    return False


def _both_ways(a: Axis, b: Axis) -> list[tuple[str, str]]:
    return [(a.name, b.name), (b.name, a.name)]


def _last(declared: str) -> str:
    return f"only where both inputs always have one length, declare {declared}"


def _declared(axis: Axis, original: Axis, around: Surroundings, words: Wording) -> str:
    """How the one is declared a copy of the other."""
    if {axis.name, original.name} <= around.parameters:
        return f"{words.quoted(f'{axis.name}: {axis.kind.value} like {original.name}')} among the parameters"
    return words.quoted(f"{axis.kind.value} {axis.name} like {original.name}")


def _in_order(a: Axis, b: Axis) -> tuple[Axis, Axis]:
    """The two in the order of their declarations."""
    first, second = sorted((a, b), key=lambda axis: axis.span.start if axis.span else 0)
    return first, second


def _names(written: str, *axes: Axis) -> bool:
    return {axis.name for axis in axes} <= set(re.findall(r"\w+", written))


def _with(copy: str, other: Axis, written: str) -> str:
    return re.sub(rf"\b{other.name}\b", copy, written)
