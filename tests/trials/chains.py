"""Random chains of moves along a width, behind prefixes, margins, parts and sizes that are known only at run time.

Half of them are pairs that undo each other, `flip` of a `flip` or a margin that is cut off again, with others between:
so that a good part is causal, for a reason that hangs on where each item stands and how many there are.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

HEADER = """\
width mem
width at{part}
{cut}
width all = mem + seq
width back = seq + mem
width more = seq + {margin}
width twice = seq * 2
width past like seq
width pall like all
width pmore like more
width patt like at
width pchunk like chunk
width tap = {taps}
depth d = 2
const turns = 2
"""
CUTS = ("width chunk\nwidth seq = chunk * at", "width seq\nwidth chunk = seq / at")
COPIES = {"seq": "past", "all": "pall", "more": "pmore", "at": "patt", "chunk": "pchunk"}
LINES = 24


class Chain:
    """Lines of a body, and the last value's widths."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.value, self.widths = "x", ["seq"]
        self.margin, self.taps = self.random.randint(1, 3), self.random.choice([2, 3])
        self.part = self.random.choice([" = 2", " = 3", "", ""])

    def add(self, text: str, *widths: str) -> None:
        """Another value; of other widths, if any are named."""
        self.lines.append(f"    v{len(self.lines)} = {text}")
        self.value, self.widths = f"v{len(self.lines) - 1}", list(widths) or self.widths

    def choose(self, *options: str) -> str:
        return self.random.choice(options)

    # -- numbers -------------------------------------------------------------------------------------------------

    def number(self, width: str) -> str:
        few = ("0", "1", "1", "2", "3", f"{self.margin}")
        return self.choose(*few, *few, "|mem|", "|mem| + 1", "|at|", "|at| - 1", f"|{width}| - 1")

    def place(self, w: str) -> str:
        n = self.number(w)
        return self.choose(
            w, f"{w} - {n}", f"{w} + {n}", f"|{w}| - 1 - {w}", f"floor({w} / 2)", f"{w} - {w} % |at|", f"{w} * 2",
            f"{n} + 0 * {w}", f"floor({w} / |at|) * |at| + |at| - 1", f"abs({w} - {n})", f"select({w} < {n}, {w}, {n})",
        )  # fmt: skip

    def mask(self, p: str, w: str) -> str:
        n = self.number(w)
        usual = (f"{p} <= {w}", f"{p} < {w}", f"{p} <= {w} - {n}")
        found = self.choose(
            *usual, *usual, f"{p} >= {w}", f"{p} + {w} < |{w}|", f"{p} < {n} + 0 * {w}", f"abs({w} - {p}) < {n}",
            f"{p} == {w}", f"floor({p} / |at|) < floor({w} / |at|)",
        )  # fmt: skip
        return found if self.random.random() < 0.7 else f"{found} {self.choose('and', 'or')} {self.mask(p, w)}"

    def within(self, w: str, place: str) -> str:
        """An index, whatever number it is."""
        return self.choose(f"clamp({place}, 0, |{w}| - 1)", f"max(min({place}, |{w}| - 1), 0)")

    # -- moves ---------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """One move that keeps the widths."""
        w = self.random.choice(self.widths)
        copy = COPIES.get(w, "")
        kinds = ["flip", "at", "cumsum", "window", "size", "spread"]
        kind = self.choose(*kinds, *(["sum", "softmax"] * 2 if copy and copy not in self.widths else []))
        v = self.value
        match kind:
            case "flip":
                self.add(f"flip[{w}]({v})")
            case "at":
                near = (f"max({w} - {self.number(w)}, 0)", f"min({w} + {self.number(w)}, |{w}| - 1)")
                self.add(f"{v}[{w} = {self.choose(*near, self.within(w, self.place(w)))}]")
            case "cumsum":
                self.add(f"cumsum[{w}]({v})")
            case "window":
                taken = self.choose("sum[tap](%s)", f"%s[tap = {self.random.randrange(self.taps)}]")
                self.add(taken % f"window[{w} -> {w}, tap]({v}, pad = {self.taps - 1})")
            case "size":
                self.add(f"{v} * {self.choose(f'|{w}|', f'(1 + {w})', f'(|{w}| - {w})', '|mem|')}")
            case "spread":
                item = self.choose("0", "0", f"min({self.number(w)}, |{w}| - 1)", f"|{w}| - 1")
                self.add(f"{v} + broadcast[{w}]({v}[{w} = {item}])")
            case "sum":
                op = self.choose("sum", "max", "mean")
                self.add(f"{op}[{copy}]({v}[{w} as {copy}] where {self.mask(copy, w)})")
            case "softmax":
                y = f"{v}[{w} as {copy}]"
                self.add(f"dot[{copy}](softmax[{copy}]({y}[d = 0] where {self.mask(copy, w)}), {y})")

    def between(self) -> None:
        for _ in range(self.random.randint(0, 2)):
            if self.random.random() < 0.2:
                self.pair()
            else:
                self.step()

    def pair(self) -> None:
        """A move, others, and the one that undoes it, or nearly."""
        kind = self.choose(
            "flip", "shift", *(["all", "back", "more", "twice", "parts"] if self.widths == ["seq"] else [])
        )
        further = self.choose("", "", "", "", " - 1", " + 1")
        v, w = self.value, self.random.choice(self.widths)
        match kind:
            case "flip":
                self.add(f"flip[{w}]({v})")
                self.between()
                self.add(f"flip[{w}]({self.value})")
            case "shift":
                n = self.number(w)
                self.add(f"{v}[{w} = max({w} - {n}, 0)]")
                self.between()
                self.add(f"{self.value}[{w} = clamp({w} + {self.choose(n, n, n, self.number(w))}, 0, |{w}| - 1)]")
            case "parts":
                self.add(f"split[seq -> chunk, at]({v})", "chunk", "at")
                self.between()
                self.add(f"merge[chunk, at -> seq]({self.value})", "seq")
            case wide:
                before, text = {
                    "all": ("|mem| + ", f"concat[mem, seq -> all](m, {v})"),
                    "back": ("", f"concat[seq, mem -> back]({v}, m)"),
                    "twice": (self.choose("", "|seq| + "), f"concat[seq, past -> twice]({v}, {v}[seq as past])"),
                    "more": (f"{self.margin} + ", f"pad[seq -> more]({v}, left = {self.margin})"),
                }[wide]
                if wide == "more" and self.random.random() < 0.3:
                    before, text = "", f"pad[seq -> more]({v})"
                self.add(text, wide)
                self.between()
                self.add(f"{self.value}[{wide} = clamp({before}int(seq){further}, 0, |{wide}| - 1)]", "seq")


def program(seed: int) -> str:
    """A model `f` of x over `seq`, without a claim: as a body, in a block that is called twice, or in a repeat."""
    chain = Chain(seed)
    for _ in range(chain.random.randint(1, 3)):
        move: Callable[[], None] = chain.pair if chain.random.random() < 0.8 else chain.step
        move()
        if len(chain.lines) > LINES:
            break
    body = "\n".join([*chain.lines, f"    return {chain.value}"])
    uses_part = not chain.part and re.search(r"\b(at|chunk)\b", body)
    formals = "".join((", m: [mem, d]" if re.search(r"\b(m|mem)\b", body) else "", ", z: [at]" if uses_part else ""))
    args = "".join(f", {name}" for name in re.findall(r"(\w): ", formals))
    head = HEADER.format(cut=chain.choose(*CUTS), part=chain.part, margin=chain.margin, taps=chain.taps)
    signature = f"(x: [seq, d]{formals}) -> [seq, d] {{\n"
    if chain.random.random() < 0.7:
        return f"{head}\nmodel f{signature}{body}\n}}\n"
    twice = chain.choose(
        f"    repeat turns shared {{\n        x = moved(x{args})\n    }}\n    return x\n",
        f"    y = moved(x{args})\n    return moved(y{args})\n",
    )
    return f"{head}\nblock moved{signature}{body}\n}}\nmodel f{signature}{twice}}}\n"
