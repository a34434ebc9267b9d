"""The folds: what a reduction keeps of the items so far, and how two such states become one.

A reduction streams if it is a fold with a small state: `begin` makes the state of one tile of items, `join` that of
two tiles next to each other, `finish` the result. `join` is associative and `neutral` changes nothing, so tiles may
come in any split, one after another or from several programs (decoding with keys split over programs).

How folds compose:

1. *Pointwise before.* A fold of f(x), for f pointwise along the axis, is a fold of x: a tile of x gives a tile of f(x).
2. *Side by side.* Folds of one axis run in one loop: their states stand beside each other.
3. *A contraction with shares* (`WEIGHTED`) is a fold though shares are known only at the end: sum_k w_k v_k with
   w_k = exp(s_k - m) / l is the sum of exp(s_k - m) v_k, over l. Where the largest score m rises, what was summed
   so far is multiplied by exp(m_old - m_new); the division comes last, for it is the same for all k. One pair (m, l)
   serves any number of contractions. With `ROOT` for the shares nothing is rescaled: the length only divides. Any
   factor that knows nothing of the fold may stand beside v_k.
4. *Linear after.* A contraction of a sum is a sum of contractions, and a factor without the axis comes out of it. So
   the difference of two softmaxes contracted is two folds, and what divides by another fold divides last.
5. *Partition.* An axis that all of it is pointwise along is a grid of independent folds.

Sources. The pair (m, l): Milakov and Gimelshein 2018, "Online normalizer calculation for softmax", arXiv 1805.02867.
FoldRule 3, for attention: Rabe and Staats 2021, arXiv 2112.05682; Dao et al. 2022, "FlashAttention", arXiv 2205.14135.
Which axes stream and which partition, as rules for diagrams: Abbott and Zardini 2024, "FlashAttention on a Napkin",
arXiv 2412.03317; the L2 norm then a contraction (`ROOT`): Abbott et al. 2025, arXiv 2505.09326.
"""

from __future__ import annotations

import math
from enum import Enum

from ...dsl.base.records import record


class FoldKind(Enum):
    """How a reduction folds."""

    TOTAL = "a sum"
    AVERAGE = "an average"
    LARGEST = "largest"
    SMALLEST = "smallest"
    SOME = "whether any"
    EVERY = "whether all"
    LOGSUM = "logarithm of the sum of exponentials"
    SHARES = "shares"
    ROOT = "L2 norm"
    WEIGHTED = "weighted sum"
    TOP = "the few largest"


@record
class StateNumber:
    """A number of a state, for each item of what the state varies along.

    neutral: its value before the first item.
    begin:   of one tile: an expression of its items x (and v, what shares weigh), reductions being over the axis.
    join:    of two tiles: an expression of its values a and b in either, and of the other numbers.
    """

    name: str
    neutral: float | bool
    begin: str
    join: str


@record
class FoldRule:
    """A fold: its state, and what is made of it. In expressions, `m1` and `m2` are the number m of two states, and
    `grown(m1, m)` is exp(m1 - m), and 0 where m1 is -inf; `over(a, b)` is a / b, and 0 where b is 0.

    Numbers are joined in order: a later one may name the joined value of an earlier one.
    """

    state: tuple[StateNumber, ...]
    finish: str
    source: str


_M = StateNumber("m", -math.inf, "max(x)", "maximum(m1, m2)")
_L = StateNumber("l", 0.0, "sum(grown(x, m))", "l1 * grown(m1, m) + l2 * grown(m2, m)")
_ONLINE = "Milakov and Gimelshein 2018, arXiv 1805.02867"
_FOLD = "a sum, product or largest of a list is one of its parts' (a monoid)"

RULES: dict[FoldKind, FoldRule] = {
    FoldKind.TOTAL: FoldRule((StateNumber("s", 0.0, "sum(x)", "s1 + s2"),), "s", _FOLD),
    FoldKind.AVERAGE: FoldRule(
        (StateNumber("s", 0.0, "sum(x)", "s1 + s2"), StateNumber("n", 0.0, "count(x)", "n1 + n2")), "over(s, n)", _FOLD
    ),
    FoldKind.LARGEST: FoldRule((StateNumber("m", -math.inf, "max(x)", "maximum(m1, m2)"),), "m", _FOLD),
    FoldKind.SMALLEST: FoldRule((StateNumber("m", math.inf, "min(x)", "minimum(m1, m2)"),), "m", _FOLD),
    FoldKind.SOME: FoldRule((StateNumber("t", False, "any(x)", "t1 | t2"),), "t", _FOLD),
    FoldKind.EVERY: FoldRule((StateNumber("t", True, "all(x)", "t1 & t2"),), "t", _FOLD),
    FoldKind.LOGSUM: FoldRule((_M, _L), "m + log(l)", _ONLINE),
    FoldKind.SHARES: FoldRule((_M, _L), "over(grown(x, m), l)", _ONLINE),
    FoldKind.ROOT: FoldRule(
        (StateNumber("n", 0.0, "sum(x * x)", "n1 + n2"),),
        "over(x, maximum(sqrt(n), eps))",
        "Abbott et al. 2025, arXiv 2505.09326",
    ),
    FoldKind.WEIGHTED: FoldRule(
        (StateNumber("a", 0.0, "sum(weight * v)", "a1 * grown(m1, m) + a2 * grown(m2, m)"),),
        "over(a, l)",
        "Dao et al. 2022, arXiv 2205.14135; Abbott and Zardini 2024, arXiv 2412.03317",
    ),
    FoldKind.TOP: FoldRule(
        (StateNumber("t", -math.inf, "top(x)", "top(both(t1, t2))"),),
        "t",
        "the largest few of two lists are among those of each",
    ),
}
"""Of WEIGHTED, `m`, `l` and `weight` (an exponential, not divided yet) are those of the shares that it is a sum of; of
a ROOT `weight` is x, nothing is rescaled, and what divides is its root. `eps` is the option of the norm. Of TOP, `t`
has an entry for each of the few (`top` sorts, and fills up with -inf; `both` puts lists in a row), and where it stands
along the axis goes with it.
"""
