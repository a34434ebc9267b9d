"""Names of the file of kernels: those of the spec, where neither they nor what is made of them mean something else."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable
from functools import cache

from ..text.carried import helpers

LAUNCH = "triton/launch"
"""The functions that the file carries along."""
IMPORTED = "torch triton tl Tensor Sequence FakeTensor InterpretedFunction"
OWN = """lead lead_at tile tiles at part start start_at begin end end_at low high whole_from whole_to share shares score
seen grown base shrink largest total length stat delta range inside ends at_pair first last item here gradient rows row
columns column logs divisor inverse how given own own_from own_to chunks parts kind ctx inputs output read read_tile
d_read d_read_tile d_score d_share d_stat stat_tile delta_tile PRECISION CHUNKS ADD shown given_shares d_shares SHOWN"""

PART = (
    "d_{0} {0}_tile d_{0}_tile {0}_item {0}_size {0}_here {0}_bound d_{0}_pairs LEARN_{0} learn_{0} {0}_lead d_{0}_lead"
)
AXIS = "{0}_at BLOCK_{0}"
SCORE = "d_{0}"
FOLD = """{0}_score {0}_seen {0}_back {0}_forward {0}_shares {0}_back_rows {0}_back_columns {0}_op {0}_back_op {0}_keep
{0}_gradient"""


@cache
def of_file() -> frozenset[str]:
    """Words of Python, and what the file imports and carries along."""
    return frozenset((*IMPORTED.split(), *helpers(LAUNCH), *keyword.kwlist, *dir(builtins)))


@cache
def reserved() -> frozenset[str]:
    """These, and what is written around the spec's names in kernels and the functions that launch them."""
    return of_file() | {*OWN.split()}


def plain(name: str | None, other: str, taken: frozenset[str] | None = None) -> str:
    """A name of the spec as one of a variable here; `other` where it has none."""
    text = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name or "").strip("_")
    text = text if text and not text[0].isdigit() else other
    is_taken = text in (reserved() if taken is None else taken) or re.fullmatch(r"(d_)?read\d+(_tile)?", text)
    return f"{text}_" if is_taken else text


class FreeNames:
    """Names of one file, or function: the wish, else the wish with a number."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)

    def give(self, wish: str, made: str = "") -> str:
        """A name that is free, and with it all that is `made` of it, {0} being the name."""
        count = 1
        while self.taken & (new := self._with(name := wish if count == 1 else f"{wish}_{count}", made)):
            count += 1
        self.taken |= new
        return name

    def _with(self, name: str, made: str) -> set[str]:
        return {name, *made.format(name).split()}


class KernelNames(FreeNames):
    """Names in a kernel: of what it is given, of axes, and of the steps of the one along the other."""

    def __init__(self) -> None:
        super().__init__(["fold", *FOLD.format("fold").split()])  # what it is called until it is written
        self.given: dict[str, list[str]] = {PART: [], AXIS: []}

    def give(self, wish: str, made: str = "") -> str:
        name = super().give(wish, made)
        if made in self.given:
            self.given[made].append(name)
        return name

    def _with(self, name: str, made: str) -> set[str]:
        new = super()._with(name, made)
        parts, axes = self.given[PART], self.given[AXIS]
        along = [(name, axis) for axis in axes if made == PART] + [(part, name) for part in parts if made == AXIS]
        return new | {f"{before}{part}_{axis}" for part, axis in along for before in ("", "d_")}
