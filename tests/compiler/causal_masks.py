"""Random masks that leave out what comes after, in four settings: items, groups of items, items in groups, a prefix.

Whether a mask does so is found by trying all pairs at several sizes, by an evaluation of its own. What counts for the
prover are masks that do, are not the same everywhere, and are more than one comparison of two indices.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
Values = Mapping[str, Array]


@dataclass(frozen=True)
class Part:
    """A piece of an expression: how it is written, and what it is."""

    text: str
    of: Callable[[Values], Array]


@dataclass(frozen=True)
class Setting:
    """key, query: the place of an item that is read, and of the one that reads, each written in all ways.

    indices: those of the mask by their range, for the sizes tried; `last` of the key's group, `own` of the query.
    """

    name: str
    spec: str
    indices: Callable[[int], dict[str, int]]
    last: Callable[[Values], Array]
    own: Callable[[Values], Array]
    keys: tuple[Part, ...]
    queries: tuple[Part, ...]
    others: tuple[Part, ...] = ()  # further whole numbers of key and query


def _index(name: str) -> Part:
    return Part(name, lambda values: values[name])


def _linear(text: str, /, **times: int) -> Part:
    constant = times.pop("plus", 0)
    return Part(text, lambda values: sum((values[name] * by for name, by in times.items()), np.asarray(constant)))


ITEMS = Setting(
    "items",
    """\
width t
width past like t
depth d = 2
model f(x: [t, d]) -> [t, d] causal t {
    return dot[past](softmax[past](dot[d](x, x[t as past]) where MASK), x[t as past])
}
""",
    lambda n: {"past": n, "t": n},
    lambda values: values["past"],
    lambda values: values["t"],
    (_index("past"), _linear("(int(past) + 1)", past=1, plus=1)),
    (_index("t"), _linear("(int(t) + 2)", t=1, plus=2)),
)
GROUPS = Setting(
    "groups",
    """\
width t
width group = t / at
depth at = 4, d = 2
model f(x: [t, d]) -> [t, d] causal t {
    means = mean[at](split[t -> group, at](x))
    return dot[group](softmax[group](dot[d](x, means) where MASK), means)
}
""",
    lambda n: {"group": n, "t": 4 * n},
    lambda values: 4 * values["group"] + 3,
    lambda values: values["t"],
    (_linear("(group * |at| + |at| - 1)", group=4, plus=3), _linear("(4 * int(group) + 3)", group=4, plus=3),
     _linear("((int(group) + 1) * |at|)", group=4, plus=4)),
    (_index("t"), _linear("(int(t) + 1)", t=1, plus=1)),
    (_index("group"), Part("floor(t / |at|)", lambda values: values["t"] // 4)),
)  # fmt: skip
INSIDE = Setting(
    "inside",
    """\
width t
width group = t / at
width before like group
width at = 3
width other like at
depth d = 2
model f(x: [t, d]) -> [t, d] causal t {
    q = split[t -> group, at](x)
    k = q[group as before, at as other]
    read = dot[before, other](softmax[before, other](dot[d](q, k) where MASK), k)
    return merge[group, at -> t](read)
}
""",
    lambda n: {"group": n, "before": n, "at": 3, "other": 3},
    lambda values: 3 * values["before"] + values["other"],
    lambda values: 3 * values["group"] + values["at"],
    (_linear("(before * |at| + other)", before=3, other=1),
     _linear("(3 * int(before) + int(other))", before=3, other=1), _linear("(3 * int(before) + 2)", before=3, plus=2)),
    (_linear("(group * |at| + at)", group=3, at=1), _linear("(3 * int(group) + int(at))", group=3, at=1),
     _linear("(3 * int(group))", group=3)),
    (_index("group"), _index("before"), _index("at"), _index("other")),
)  # fmt: skip
PREFIX = Setting(
    "prefix",
    """\
width mem = 2
width text
width seq = mem + text
width past like seq
depth d = 2
model f(x: [text, d]) -> [text, d] causal text {
    param M: [mem, d]
    z = concat[mem, text -> seq](M, x)
    q = z[seq = |mem| + int(text)]
    return dot[past](softmax[past](dot[d](q, z[seq as past]) where MASK), z[seq as past])
}
""",
    lambda n: {"past": n + 2, "text": n},
    lambda values: values["past"] - 2,
    lambda values: values["text"],
    (_index("past"), _linear("(int(past) - |mem|)", past=1, plus=-2)),
    (_linear("(|mem| + int(text))", text=1, plus=2), _index("text")),
)
SETTINGS = (ITEMS, GROUPS, INSIDE, PREFIX)

COMPARED: dict[str, Callable[[Array, Array], Array]] = {
    "<=": np.less_equal, "<": np.less, ">=": np.greater_equal, ">": np.greater, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


class Masks:
    """Draws masks of a setting: atoms that compare places, joined, negated, floored into blocks, shifted."""

    def __init__(self, setting: Setting, draw: random.Random) -> None:
        self.setting, self.draw = setting, draw

    def mask(self, depth: int, causal: bool) -> Part:
        """`causal`: one that is made to leave out what comes after (it may fail to)."""
        draw = self.draw
        if depth == 0 or draw.random() < 0.15:
            return self.ordered() if causal else self.anything()
        kind = draw.choice(("and", "and", "or", "not"))
        if kind == "not":
            return self.negated(self.mask(depth - 1, False) if not causal else self.after(depth - 1))
        first = self.mask(depth - 1, causal)
        second = self.mask(depth - 1, causal and kind == "or")
        if draw.random() < 0.5:
            first, second = second, first
        return self.joined(first, kind, second)

    def after(self, depth: int) -> Part:
        """True of all that comes after, so that its complement leaves that out."""
        later = self.compared(self.draw.choice(self.setting.keys), ">", self.draw.choice(self.setting.queries))
        return self.joined(later, "or", self.mask(depth, False)) if depth and self.draw.random() < 0.6 else later

    @staticmethod
    def joined(a: Part, op: str, b: Part) -> Part:
        both = np.logical_and if op == "and" else np.logical_or
        return Part(f"({a.text} {op} {b.text})", lambda values: both(a.of(values), b.of(values)))

    @staticmethod
    def negated(a: Part) -> Part:
        return Part(f"not ({a.text})", lambda values: np.logical_not(a.of(values)))

    @staticmethod
    def compared(a: Part, sign: str, b: Part) -> Part:
        """Indices of axes that are no copies of each other compare as numbers."""
        copies = {a.text, b.text} in ({"t", "past"}, {"group", "before"}, {"at", "other"})
        left, right = (a.text, b.text) if copies or not b.text.isidentifier() else (_whole(a), _whole(b))
        return Part(f"{left} {sign} {right}", lambda values: COMPARED[sign](a.of(values), b.of(values)))

    def ordered(self) -> Part:
        """Reads what is at or before."""
        draw, setting = self.draw, self.setting
        key, query = draw.choice(setting.keys), draw.choice(setting.queries)
        match draw.choice(("plain", "plain", "turned", "shifted", "blocks", "near", "distance", "equal", "others")):
            case "plain":
                return self.compared(key, draw.choice(("<=", "<")), query)
            case "turned":
                return self.compared(query, draw.choice((">=", ">")), key)
            case "shifted":
                by = draw.choice((1, 2, 5))
                return self.compared(self.plus(key, by), draw.choice(("<=", "<")), query)
            case "blocks":
                size = draw.choice((2, 3, 4))
                return self.compared(self.floored(key, size), draw.choice(("<", "<=")), self.floored(query, size))
            case "near":
                width = draw.choice((1, 2, 6))
                near = Part(f"abs({query.text} - {key.text}) <= {width}",
                            lambda values: np.abs(query.of(values) - key.of(values)) <= width)  # fmt: skip
                return self.joined(near, "and", self.compared(key, "<=", query))
            case "distance":
                apart = self.minus(query, key)
                return self.compared(apart, draw.choice((">=", ">")), self.number(draw.choice((0, 1, 3))))
            case "equal":
                apart, size = self.minus(query, key), draw.choice((0, 1, 4))
                return self.compared(apart, "==", self.number(size))
            case _:
                if not setting.others:
                    return self.compared(key, "<=", query)
                first, second = draw.sample(setting.others, 2)
                least = self.compared(first, draw.choice(("<", "<=", "==")), second)
                return self.joined(least, "and", self.compared(key, "<=", query)) if draw.random() < 0.5 else least

    def anything(self) -> Part:
        draw, setting = self.draw, self.setting
        places = (*setting.keys, *setting.queries, *setting.others)
        a, b = draw.choice(places), draw.choice(places)
        match draw.choice(("compared", "number", "remainder", "blocks", "near")):
            case "compared":
                return self.compared(a, draw.choice(tuple(COMPARED)), self.plus(b, draw.choice((0, 1, 4))))
            case "number":
                return self.compared(a, draw.choice(tuple(COMPARED)), self.number(draw.choice((1, 3, 7))))
            case "remainder":
                by, left = draw.choice((2, 3)), self.minus(a, b)
                rest = Part(f"({left.text}) % {by}", lambda values: left.of(values) % by)
                return self.compared(rest, draw.choice(("==", "!=")), self.number(0))
            case "blocks":
                size = draw.choice((2, 3))
                sign = draw.choice(("==", "<=", "<", "!="))
                return self.compared(self.floored(a, size), sign, self.floored(b, size))
            case _:
                most, apart = draw.choice((1, 3)), self.minus(a, b)
                size = Part(f"abs({apart.text})", lambda values: np.abs(apart.of(values)))
                return self.compared(size, draw.choice(("<=", "<", ">")), self.number(most))

    @staticmethod
    def number(value: int) -> Part:
        return Part(str(value), lambda values: np.asarray(value))

    @staticmethod
    def plus(a: Part, by: int) -> Part:
        return Part(f"({_whole(a)} + {by})", lambda values: a.of(values) + by) if by else a

    @staticmethod
    def minus(a: Part, b: Part) -> Part:
        return Part(f"{_whole(a)} - {_whole(b)}", lambda values: a.of(values) - b.of(values))

    @staticmethod
    def floored(a: Part, size: int) -> Part:
        return Part(f"floor({_whole(a)} / {size})", lambda values: a.of(values) // size)


def _whole(part: Part) -> str:
    """An index as a number: what it is added to need not be an index of its axis."""
    return f"int({part.text})" if part.text.isidentifier() else part.text


def is_causal(setting: Setting, mask: Part) -> bool | None:
    """Whether nothing after is read at any size tried; None: it is the same everywhere at each."""
    seen: set[bool] = set()
    causal = True
    for n in (1, 2, 3, 5, 8, 13, 24):
        ranges = setting.indices(n)
        grids = np.meshgrid(*(np.arange(size) for size in ranges.values()), indexing="ij")
        values = dict(zip(ranges, grids, strict=True))
        kept = np.broadcast_to(mask.of(values), grids[0].shape)
        seen |= set(np.unique(kept).tolist())
        causal = causal and not (kept & (setting.last(values) > setting.own(values))).any()
    return None if len(seen) < 2 else causal


def drawn(seed: int) -> tuple[Setting, Part]:
    draw = random.Random(seed)
    setting = SETTINGS[seed % len(SETTINGS)]
    return setting, Masks(setting, draw).mask(draw.choice((1, 2, 2, 3)), causal=draw.random() < 0.7)


def trials() -> Iterator[tuple[int, Setting, Part, bool]]:
    """Each with its seed, and whether it is causal. One comparison by itself does not count."""
    seed = 0
    while True:
        setting, mask = drawn(seed)
        causal = is_causal(setting, mask)
        if causal is not None and (" and " in mask.text or " or " in mask.text or "not " in mask.text):
            yield seed, setting, mask, causal
        seed += 1
