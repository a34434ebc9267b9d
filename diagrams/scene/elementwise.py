"""Ops element by element: in a lane of their own, at dots where tensors meet, or a scale on a contraction's arrow."""

from __future__ import annotations

from collections.abc import Sequence

from ...compiler.graph.nodes import Apply
from ...compiler.graph.traits import OpTraits, Product, Quotient
from ...compiler.sizes.axes import Axis
from ..base.text import joined, roman
from .formulas.symbolic import Symbolic, applied, written
from .op_glyphs import Shape, glyph_of, name_of
from .steps import Collector, DrawStep, Frame, Item, StepKind
from .tensors import Tensor


class Elementwise(Collector):
    """The steps of ops element by element."""

    def rides(self, frame: Frame, node: Apply, items: Sequence[Item]) -> Tensor | None:
        """A scale right after a contraction: written on the arrow that leaves its half-loop."""
        meaning = node.traits.meaning
        if not isinstance(meaning, Product | Quotient) or len(items) != 2:
            return None
        for at, (x, c) in enumerate(((items[0], items[1]), (items[1], items[0]))):
            if (
                not isinstance(x, Tensor)
                or not isinstance(c, Symbolic)
                or c.axes
                or c.leaves
                or (at and isinstance(meaning, Quotient))
            ):
                continue
            step = self.maker.get(id(x))
            if step is None or step.mark != "loop" or step.note or step.section is not frame.section:
                continue
            if not step.contracted or frame.reads.get(node.operands[at].id) != 1:
                continue
            step.note = applied(meaning, c)
            x.name = node.out.name or x.name
            return x
        return None

    def pointwise(self, frame: Frame, op: OpTraits, items: Sequence[Item], axes: tuple[Axis, ...], name: str) -> Tensor:
        """An op element by element: in a lane beside the wires of one tensor; with dots where several tensors meet."""
        solid: list[Tensor] = []
        scalars: list[tuple[int, Symbolic]] = []
        for i, item in enumerate(items):
            if isinstance(item, Symbolic) and not item.axes and not item.leaves:
                scalars.append((i, item))
            else:
                solid.append(self.tensor(frame, item))
        glyph = glyph_of(op)
        out = Tensor(axes, name)
        text = roman(name_of(op))
        if len(solid) == 1:
            if scalars:
                inner = ", ".join("".join(r.text for r in written(s)) for _, s in scalars)
                text = roman(f"{name_of(op)}({inner})")
            if len(items) == 2 and len(scalars) == 1:
                place, factor = scalars[0]
                text = applied(op.meaning, factor, flipped=place == 0) or text
            if set(axes) == set(solid[0].axes):
                self.add(DrawStep(StepKind.LANE, "arrow", solid, [out], frame.section, text=joined(text), tip=op.name))
                return out
        if not solid:
            self.add(DrawStep(StepKind.SOURCE, "table", [], [out], frame.section, text=text, late=True, tip=op.name))
            return out
        mark = glyph.mark if glyph.shape is Shape.JOIN else "sign"
        self.add(DrawStep(StepKind.JOIN, mark, solid, [out], frame.section, text=text, tip=op.name))
        return out
