"""Plans that papers warn of, in words of the reader's axes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..base.names import listed

if TYPE_CHECKING:
    from .plan import ShardingPlan

HOST = 8  # devices of a host, where nothing is said


def cautions(plan: ShardingPlan, host: int = HOST) -> list[str]:
    """What is likely meant otherwise. host: devices with fast links between them."""
    return [*_batch(plan), *_far(plan, host), *_uneven(plan), *_often(plan)]


def _batch(plan: ShardingPlan) -> Iterator[str]:
    parts = plan.copies * plan.micro
    if plan.batch % parts:
        times = f"in {plan.micro:,} micro-batches " if plan.micro > 1 else ""
        yield (
            f"a batch of {plan.batch:,} {times}leaves no whole number of items for each of {plan.copies:,} copies of "
            f"the model: counted is {plan.cost.batch:,} on each, a batch of {plan.cost.batch * parts:,}"
        )


def _far(plan: ShardingPlan, host: int) -> Iterator[str]:
    """Mesh axes along which devices of several hosts have parts of a product (Narayanan et al. 2021, section 3.2), or
    exchange items (DeepSeek-V3 2024, section 2.1.2).
    """
    for number, axis in enumerate(plan.mesh.axes):
        span = axis.size * math.prod(after.size for after in plan.mesh.axes[number + 1 :])
        times = sum(one.times for one in plan.sent if one.mesh == number) * plan.micro
        if number in plan.parts.unsplit or span <= host or axis.size == 1 or not times:
            continue
        if axis.copies:
            yield (
                f"`{axis.name}` reaches over {-(-span // host):,} hosts of {host}, and experts exchange items along "
                "it: let each item pick experts of a few hosts alone"
            )
            continue
        splits = listed(axis.splits)
        last = "" if axis.size > host else ", and name it last in --mesh, so that they are neighbours"
        yield (
            f"the devices of `{axis.name}` are not on one host of {host}: {times:,} collectives of {splits} wait for "
            f"slow links in a step; split these over at most {host}{last}"
        )


def _uneven(plan: ShardingPlan) -> Iterator[str]:
    if plan.imbalance > 1.05:
        yield (
            f"with a causal mask the last device of {listed(plan.behind)} does {plan.imbalance:.2f} times the work of "
            f"the mean, and the others wait {1 - 1 / plan.imbalance:.0%} of the time of computing: fewer devices along "
            "it are more even (a run of the sequence from either end for each is not there)"
        )


def _often(plan: ShardingPlan) -> Iterator[str]:
    """Dubey et al. 2024, section 3.3.2: weights are not scattered again between micro-batches."""
    if plan.zero == 3 and plan.micro > 1 and plan.copied:
        times = 2 * plan.micro
        yield f"weights are gathered {times:,} times in a step: with --zero 2 once, where there is memory for them"
