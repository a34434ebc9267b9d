"""What is written at the glyph of an op: its name, options that change its numbers, what its operands are to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...compiler.graph.nodes import Apply, Graph, Repeat, children
from ...compiler.graph.traits import Choice, Compared, OpTraits, Power, Quotient, Remainder, Sum, Window
from ...compiler.ops import Op
from ...compiler.sharding.collectives import passes
from ...compiler.sharding.sends import RING, Collective, SendKind
from ..base.text import Rich, bold, joined, plain, roman
from .formulas.patterns import constant
from .formulas.symbolic import Symbolic, applied, of_static, written
from .op_glyphs import interchangeable, name_of
from .steps import Frame

SENT = {
    SendKind.REDUCE: "AR", SendKind.ENTER: "AR", SendKind.SETTLE: "AR", SendKind.GATHER: "AG", SendKind.OWN: "AG",
    SendKind.SCATTER: "RS", SendKind.EXCHANGE: "A2A", SendKind.COUNTS: "A2A", SendKind.ROWS: "A2A",
    SendKind.BACK: "A2A",
}  # fmt: skip
BACKWARD = (SendKind.ENTER, SendKind.OWN)
"""Collectives that only gradients need."""

_ELSEWHERE = ("eps", "p", "scale", "bias", "left", "value")
"""Options that the glyph tells in another way, and those that figures leave out (docs/diagrams.md)."""


def op_text(frame: Frame, node: Apply) -> Rich:
    """The name of an op, and those options that are not as they are if left out."""
    if isinstance(node.traits.reads, Window):
        return _window_text(frame, node)
    text = name_of(node.traits)
    for option in node.traits.options if isinstance(node.traits, Op) else ():
        if option.name in node.options and option.name not in _ELSEWHERE:
            value = _option(frame, node, option.name)
            if value.op != "number" or value.number != option.default:
                text += f", {option.name}" + ("" if value.truth is True else f" {plain(written(value))}")
    return roman(text)


def sent_text(op: Collective) -> Rich:
    """`AR model`: a collective and its mesh axis, lowered; in parentheses what is done for gradients alone."""
    return (*sent_letters(op), *(replace(run, shift=-1) for run in roman(op.along)))


def sent_letters(op: Collective) -> Rich:
    letters = op.name if op.name == RING else SENT[op.kind]
    return bold(f"({letters})" if op.kind in BACKWARD else letters)


def sends_in(graph: Graph) -> tuple[tuple[Collective, int], ...]:
    """The collectives of a block: one of each kind, and how many of it are done."""
    found: dict[str, tuple[Collective, int]] = {}

    def count(graph: Graph, times: int) -> None:
        for node in graph.nodes:
            if isinstance(node, Apply) and isinstance(node.traits, Collective):
                first, before = found.get(plain(sent_letters(node.traits)), (node.traits, 0))
                found[plain(sent_letters(first))] = first, before + times
            elif isinstance(node, Repeat):
                for body, _, runs in passes(node):
                    count(body, times * runs)
            else:
                for child in children(node):
                    count(child, times)

    count(graph, 1)
    return tuple(found.values())


def norm_text(node: Apply) -> Rich:
    """What a norm lacks of what it has if nothing is said: its scale γ, its bias β."""
    has = {weight.name.rpartition(".")[2] for weight in node.weights}
    options = {option.name for option in node.traits.options} if isinstance(node.traits, Op) else set()
    parts = (("scale", "weight", "γ"), ("bias", "bias", "β"))
    lacks = [letter for option, weight, letter in parts if option in options and weight not in has]
    return roman(f"no {', '.join(lacks)}") if lacks else ()


def bar_text(frame: Frame, node: Apply) -> Rich:
    """`pad, 1 before, of −1`: how many items stand before those there were, and what these are if not 0."""
    if "left" not in node.options:
        return ()
    left, value = _option(frame, node, "left"), _option(frame, node, "value")
    before = () if _is_0(left) else (*roman(", "), *written(left), *roman(" before"))
    of = () if _is_0(value) else (*roman(", of "), *written(value))
    return joined((*roman(name_of(node.traits)), *before, *of))


def _option(frame: Frame, node: Apply, name: str) -> Symbolic:
    return of_static(node.options[name], frame.axis, frame.consts)


def _is_0(formula: Symbolic) -> bool:
    return formula.op == "number" and formula.number == 0


def _window_text(frame: Frame, node: Apply) -> Rich:
    """`window −2…0`: the first and the last item that it sees, from the one where it stands."""
    options = {name: of_static(option, frame.axis, frame.consts) for name, option in node.options.items()}
    before = options["pad"]
    name, stride, pad = name_of(node.traits), constant(options["stride"]), constant(before)
    taps = frame.axis(node.made[-1]).extent
    step = roman("") if stride == 1 else (*roman(", stride "), *written(options["stride"]))
    if pad is None or taps is None or (_of_sizes(before) and pad != taps - 1):
        return (*roman(name), *roman(", pad "), *written(before), *step)
    ends = [f"{at:+d}".replace("-", "−") if at else "0" for at in (-pad, taps - 1 - pad)]
    return (*roman(f"{name} {'…'.join(dict.fromkeys(ends))}"), *step)


def _of_sizes(formula: Symbolic) -> bool:
    return formula.op == "size" or any(map(_of_sizes, formula.args))


# -- element by element ------------------------------------------------------------------------------------------


def role_of(op: OpTraits, place: int) -> Rich:
    """What stands at the wires of an operand that has a part of its own: the sign of `−`, `÷`, `<` at the second."""
    match op.meaning:
        case None:
            return ()
        case Choice():
            return roman(("if", "", "else")[place])
        case Sum((1, -1)) | Quotient() | Remainder() | Power() | Compared():
            return roman(name_of(op)) if place == 1 and not interchangeable(op) else ()
        case _:
            names = op.operands if isinstance(op, Op) else ()
            return () if interchangeable(op) or len(names) < 2 or place == 0 else roman(names[place])


def elementwise_text(op: OpTraits, numbers: Mapping[int, Symbolic], places: Sequence[int], count: int) -> Rich:
    """Between arrowheads, where there is one tensor; above the dots at which several meet.

    numbers: those of the operands that are numbers. places: of the others among all of them, so many as `count`.
    """
    match places:
        case []:
            return written(_filled(op, numbers, count))
        case [_] if not numbers:
            return roman(name_of(op))
        case [place]:
            text = applied(op.meaning, numbers[1 - place], flipped=place == 1) if count == 2 else ()
            return joined(text or written(_filled(op, numbers, count)))
    match op.meaning:
        case Choice():
            words = ("if ", "then ", "else ")
            return joined(run for i, item in numbers.items() for run in (*roman(words[i]), *written(item)))
        case _ if numbers:
            return written(_filled(op, numbers, count))
        case Sum((1, -1)) | Quotient() | Remainder() | Power() | Compared() if not interchangeable(op):
            return ()  # it stands at the wires of an operand
        case _:
            return roman(name_of(op))


def _filled(op: OpTraits, numbers: Mapping[int, Symbolic], count: int) -> Symbolic:
    """The op as a formula: a dot stands for each operand that is no number."""
    return Symbolic(name_of(op), tuple(numbers.get(i, _DOT) for i in range(count)), op)


_DOT = Symbolic("symbol", text="·")
