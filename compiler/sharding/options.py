"""What is asked of a plan beside the model and the mesh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from ..base.names import listed
from ..cost.bill import REALS
from ..sizes.axes import Number


class PlanKeywords(TypedDict, total=False):
    """The fields of `PlanOptions` but for `sizes`, as keywords of `Model.plan` and `Model.plan_stages`."""

    splits: Mapping[str, Sequence[str]] | None
    batch: int | None
    dtype: str
    zero: int
    reduce: str | None
    micro: int


@dataclass(frozen=True)
class PlanOptions:
    """As `Model.plan` has it. Raises ValueError for a step that cannot be."""

    sizes: Mapping[str, Number] = field(default_factory=dict)
    splits: Mapping[str, Sequence[str]] | None = None
    batch: int | None = None
    dtype: str = "bfloat16"
    zero: int = 3
    reduce: str | None = None
    micro: int = 1

    def __post_init__(self) -> None:
        if self.zero not in range(4):
            raise ValueError(f"zero is {self.zero!r}: it is 0, 1, 2 or 3")
        if self.reduce is not None and self.reduce not in REALS:
            raise ValueError(f"gradients cannot be summed in {self.reduce!r}: in one of {listed(REALS)}")
        if self.micro < 1:
            raise ValueError(f"micro is {self.micro}: a step has 1 micro-batch or more")
        if self.batch is not None and self.batch < 1:
            raise ValueError(f"batch is {self.batch}: a step has 1 item or more")
