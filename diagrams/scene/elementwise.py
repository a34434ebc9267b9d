"""Ops element by element: in a lane of their own, at dots where tensors meet, or a scale on a contraction's arrow."""

from __future__ import annotations

from collections.abc import Sequence

from ...compiler.graph.nodes import Apply
from ...compiler.graph.traits import OpTraits, Product, Quotient
from ...compiler.sizes.axes import Axis
from .formulas.symbolic import Symbolic, applied
from .op_glyphs import Shape, glyph_of
from .steps import Collector, DrawStep, Frame, Item, StepKind
from .tensors import Tensor
from .wording import elementwise_text, role_of


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
        places: list[int] = []  # of these among the operands
        numbers: dict[int, Symbolic] = {}
        for i, item in enumerate(items):
            if isinstance(item, Symbolic) and not item.axes and not item.leaves:
                numbers[i] = item
            else:
                solid.append(self.tensor(frame, item))
                places.append(i)
        glyph = glyph_of(op)
        out = Tensor(axes, name)
        tip = op.name
        text = elementwise_text(op, numbers, places, len(items))
        if not solid:
            self.add(DrawStep(StepKind.SOURCE, "table", [], [out], frame.section, text=text, late=True, tip=tip))
            return out
        if len(solid) == 1 and set(axes) == set(solid[0].axes):
            self.add(DrawStep(StepKind.LANE, "arrow", solid, [out], frame.section, text=text, tip=tip))
            return out
        mark = glyph.mark if glyph.shape is Shape.JOIN else "sign"
        step = DrawStep(StepKind.JOIN, mark, solid, [out], frame.section, text=text, tip=tip)
        if len(solid) > 1:
            step.roles = tuple(role_of(op, place) for place in places)
        self.add(step)
        return out
