"""Where an item stands along the family of a claim (D12): its index, or what follows from how sizes are derived.

With `width seq = mem + text` and a claim along `text`, item i of `seq` stands at `i - |mem|`. With `chunk = seq / 4`
and a claim along `seq`, a chunk stands where its last item does, `4 * chunk + 3`; item `at` of it at `4 * chunk + at`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...sizes.axes import Arith, Axis, SizeOf, Static, axes_in
from ...sizes.forms import LinearForm, floored, quotient

ONE = LinearForm.number(1)


def made_of(axis: Axis) -> set[Axis]:
    """An axis, and the widths whose sizes its own is made of: of `seq = blk * 2` the size of `blk` reveals as much."""
    found, left = {axis}, [axis]
    while left:
        size = left.pop().size
        parts = set() if size is None else {part for part in axes_in(size) if part.is_width and part.extent is None}
        left += parts - found
        found |= parts
    return found


def place(axis: Axis, claimed: Collection[int], beside: Collection[Axis] = ()) -> LinearForm | None:
    """The place of an item of an axis, None where it has none along the claimed families (of one axis and its copies).

    beside: the axes of the value: of an item of a group, one that is as long as the group says which.
    """
    if axis.family in claimed:
        return LinearForm.index(axis)
    if axis.size is None:
        return None
    match axis.size:
        case SizeOf(whole):
            found = place(whole, claimed)
            return None if found is None else found.put({whole: LinearForm.index(axis)})
        case Arith("/" | "//", (SizeOf(whole), divisor)):
            found, size = place(whole, claimed), LinearForm.static(divisor)
            first = LinearForm.index(axis).times(size)
            if found is None or first is None:
                return None
            inside = next((each for each in beside if _as_long(each, size) and each.family != axis.family), None)
            return found.put({whole: first + (LinearForm.index(inside) if inside is not None else size - ONE)})
        case Arith("+", _):
            return _behind(axis, claimed)
    return None


def _as_long(axis: Axis, size: LinearForm) -> bool:
    return LinearForm.extent(axis) == size


def _behind(axis: Axis, claimed: Collection[int]) -> LinearForm | None:
    """Of a sum of sizes: the part that has a place begins where those before it end."""
    assert axis.size is not None
    before = LinearForm.number(0)
    for part in _terms(axis.size):
        match part:
            case SizeOf(piece) if (found := place(piece, claimed)) is not None:
                return found.put({piece: LinearForm.index(axis) - before})
        if any(place(piece, claimed) is not None for piece in axes_in(part)):
            return None
        before += LinearForm.static(part)
    return None


def _terms(size: Static) -> Iterator[Static]:
    match size:
        case Arith("+", (a, b)):
            yield from _terms(a)
            yield from _terms(b)
        case _:
            yield size


def group_of(axis: Axis, claimed: Axis) -> LinearForm | None:
    """Of an item, where groups are claimed, `chunk = seq / 4`: that of the group in which it is."""
    match claimed.size:
        case Arith("/" | "//", (SizeOf(whole), divisor)) if whole.family == axis.family:
            shares = quotient(LinearForm.index(axis), LinearForm.static(divisor))
            return None if shares is None else floored(shares)
        case _:
            return None


def counterpart(axis: Axis, whole: Axis) -> LinearForm | None:
    """Which item of a width is there just if an item of another one is: their sizes differ by a number, or a factor."""
    index, rest = LinearForm.index(axis), LinearForm.extent(axis) - LinearForm.extent(whole)
    if not rest.families & {part.family for part in made_of(whole)}:
        return index - rest
    match axis.size, whole.size:
        case _, Arith("*", (SizeOf(part), other)) | Arith("*", (other, SizeOf(part))) if part.family == axis.family:
            return index.times(LinearForm.static(other))
        case Arith("*", (SizeOf(part), other)) | Arith("*", (other, SizeOf(part))), _ if part.family == whole.family:
            found = quotient(index, LinearForm.static(other))
            return None if found is None else floored(found)
        case Arith("/" | "//", (SizeOf(of), size)), _ if of.family == whole.family:  # exactly: with its first item
            return index.times(LinearForm.static(size))
        case _:
            return place(axis, {whole.family})


def place_of(axes: Collection[Axis], axis: Axis, claimed: Collection[int]) -> LinearForm | None:
    """The place of an item of a value with these axes, where the claim names `axis`."""
    if axis in axes:
        return LinearForm.index(axis)
    found = (place(each, claimed, axes) for each in axes)
    return next((form for form in found if form is not None), None)
