"""Lines of generated code: breaking those that are too long."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from .names import plain

WIDTH = 120  # of a line of generated code


def is_path(text: str) -> bool:
    """A variable or attribute: `x`, `self.E`."""
    return text.replace(".", "").replace("_", "a").isalnum() and not text[0].isdigit()


def singular(name: str) -> str:
    """One of what a plural names: `layer` for `layers`; nothing if it does not seem to be one."""
    if len(name) <= 3 or not name.endswith("s") or name.endswith("ss"):
        return ""
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    return name[:-2] if name.endswith(("sses", "shes", "ches", "xes")) else name[:-1]


def is_one_of(counter: str, passes: list[int]) -> str:
    """Whether it is one of these passes of a loop; the text does not grow with their number where they are evenly
    spaced.
    """
    steps = {b - a for a, b in pairwise(passes)}
    if len(passes) == 1:
        return f"{counter} == {passes[0]}"
    if len(passes) > 2 and len(steps) == 1:
        return f"{counter} in range({passes[0]}, {passes[-1] + 1}, {steps.pop()})"
    return f"{counter} in {tuple(passes)}"


def apart(lines: Sequence[str]) -> list[str]:
    """The statements of a function, those that are functions themselves between blank lines."""
    found: list[str] = []
    inside: str | None = None  # what stands in front of the lines of such a function
    for line in lines:
        if inside is not None and not line.startswith((inside, inside[:-4] + ")")):
            found.append("")
            inside = None
        if line.lstrip().startswith("def "):
            inside = line[: len(line) - len(line.lstrip())] + "    "
            found += [""] if found and found[-1] and not found[-1].endswith(":") else []
        found.append(line)
    return found


def within(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a block, in the class or function around."""
    return (f"    {line}" if line else line for line in lines)


def wrap(line: str, comment: str = "", width: int = WIDTH) -> list[str]:
    """A line of code with its comment, broken within brackets where it is too long."""
    noted = f"{line}  # {comment}" if comment else line
    if len(plain(noted)) <= width:
        return [noted]
    space = line[: len(line) - len(line.lstrip())]
    above = [f"{space}# {comment}"] if comment else []
    if len(plain(line)) <= width:
        return [*above, line]
    inner = space + "    "
    chosen = _choice(line)
    if chosen is not None:
        head, *parts = chosen
        return [*above, f"{head}(", *(text for part in parts for text in wrap(inner + part, "", width)), f"{space})"]
    opened = _outer_call(line)
    if opened is None:
        return [*above, line]
    start, end, commas = opened
    cuts = [start, *commas, end]
    parts = [part for a, b in pairwise(cuts) if (part := line[a + 1 : b].strip())]
    together = f"{inner}{', '.join(parts)}"
    if len(parts) > len(commas) and len(plain(together)) <= width:  # a comma at the end would keep them apart
        return [*above, line[: start + 1], together, f"{space}{line[end:]}"]
    if " for " in line[start:end]:  # a comprehension: one part, and no comma after it
        body = line[start + 1 : end]
        head, loop = body.rsplit(" for ", 1)
        return [
            *above,
            line[: start + 1],
            *(text for part in re.split(r" (?=else )", head) for text in wrap(f"{inner}{part}", "", width)),
            f"{inner}for {loop}",
            f"{space}{line[end:]}",
        ]
    found = [*above, line[: start + 1]]
    for part in parts:
        found += wrap(f"{inner}{part},", "", width)
    return [*found, f"{space}{line[end:]}"]


def _choice(line: str) -> tuple[str, str, str, str] | None:
    """`x = `, `a`, `if c`, `else b` of a line that chooses between two expressions."""
    head, equals, value = line.partition(" = ")
    depth, cuts = 0, list[int]()
    for place, sign in enumerate(value if equals and "(" not in head else ""):
        depth += (sign in "([{") - (sign in ")]}")
        if not depth and value.startswith((" if ", " else ")[len(cuts) : len(cuts) + 1] or "\0", place):
            cuts.append(place)
    if len(cuts) != 2:
        return None
    condition, other = cuts
    return head + equals, value[:condition], value[condition + 1 : other], value[other + 1 :]


def _outer_call(line: str) -> tuple[int, int, list[int]] | None:
    """The widest outermost parentheses that hold a list: where they open and close, and their commas."""
    depth, start = 0, -1
    commas: list[int] = []
    best: tuple[int, int, list[int]] | None = None
    quote = ""
    for place, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([{":
            if depth == 0:
                start, commas = place, []
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth == 0 and line[start] == "(":
                called = start > 0 and (line[start - 1].isalnum() or line[start - 1] in "_])")
                if (called or commas) and (best is None or place - start > best[1] - best[0]):
                    best = (start, place, commas)
        elif character == "," and depth == 1:
            commas.append(place)
    return best
