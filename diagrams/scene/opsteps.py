"""How the ops of a graph become steps.

Parameters, and values known without data (scales, positions, masks of indices), get no step of their own where the
glyph that reads them can show them.
"""

from __future__ import annotations

from dataclasses import replace

from ...compiler.graph.nodes import Apply
from ...compiler.graph.traits import OpTraits
from ...compiler.graph.values import Role
from ...compiler.sharding.sends import Collective
from ...compiler.sizes.axes import Axis
from ..base.names import name_text
from ..base.text import bold, roman
from .elementwise import Elementwise
from .formulas.counted import counted, is_counted
from .formulas.patterns import cases
from .formulas.predicates import predicate
from .formulas.symbolic import Symbolic, is_short, leaf_of, renamed, written
from .op_glyphs import BAR, BIRTH, MAP, NORM, PILL, RENAME, Glyph, Shape, glyph_of, name_of
from .selecting import keeps_truth, lookup, masked, one_hot, said
from .steps import DrawnOp, DrawStep, Frame, Item, StepKind
from .tensors import Learned, Tensor, tail
from .wording import bar_text, norm_text, op_text, sent_text

_LONGEST = 120  # characters of a formula that is written; a longer one is drawn


class Steps(Elementwise):
    """The steps of values and ops."""

    def tensor(self, frame: Frame, item: Item, name: str = "") -> Tensor:
        """The item as a tensor with wires. A table or a parameter gets a step here, from which its wires begin."""
        match item:
            case Tensor(boolean_input=True) if frame.section is not None:  # its wires begin just before their reader
                return self.named_again(frame, item, item.axes)
            case Tensor():
                return item
            case Learned(weight, axes, path, loops):
                tensor = Tensor(axes, weight)
                step = DrawStep(
                    StepKind.SOURCE, "learned", [], [tensor], frame.section, made=axes, text=name_text(weight, "b")
                )
                step.learned, step.late, step.tip = True, True, f"learned {weight}"
                self.passes(frame, step, path, loops)
                self.add(step)
                return tensor
            case Symbolic():
                if is_counted(item) and all(leaf.boolean_input for leaf in item.leaves):
                    tensor = Tensor(item.axes, item.text or name)
                    step = DrawStep(StepKind.SOURCE, "pill", [], [tensor], frame.section, text=written(item), late=True)
                    self.add(step).tip = f"counted {item.text or name}".strip()
                    return tensor
                if item.leaves:
                    return self.computed(frame, item)
                if not item.block and not is_short(item, _LONGEST) and isinstance(item.made_by, OpTraits):
                    return self.computed(frame, item)
                formula, name = written(item), item.text or name
                tensor = Tensor(item.axes, name)
                step = DrawStep(StepKind.SOURCE, "table", [], [tensor], frame.section, text=formula, late=True)
                step.tip = f"table {name}".strip()
                if item.boolean and 1 <= len(item.axes) <= 2:
                    on = tuple(
                        sorted(item.axes, key=lambda a: a.id)
                    )  # as they are met: its own go by what it says first
                    rows, columns = on[0] if len(on) > 1 else None, on[-1]
                    step.cases = cases(item, rows, columns, self.rank)
                if step.cases:
                    whole = predicate(item, rows, columns, self.rank)
                    step.mark, step.on, step.text = "predicate", on, said(step.cases, whole) or whole.rich
                elif item.block:
                    step.mark, step.text = "block", roman(item.text)
                    step.title, step.tint = item.text, self.titles.tint(item.text)
                elif name and item.axes:
                    step.text, step.note = name_text(name), formula
                self.add(step)
                return tensor

    def computed(self, frame: Frame, item: Symbolic) -> Tensor:
        """The steps of a formula over data, which was kept symbolic until something needed its wires."""
        if item.data is not None:
            return self.leaf(frame, item)
        operands: list[Item] = [self.leaf(frame, a) if a.data is not None else a for a in item.args]
        assert isinstance(item.made_by, OpTraits)
        glyph = glyph_of(item.made_by)
        if glyph is RENAME:
            return self.relabelled(frame, self.tensor(frame, operands[0]), item.axes)
        if glyph is BIRTH:
            x, out = self.tensor(frame, operands[0]), Tensor(item.axes, item.text)
            born = tuple(a for a in item.axes if a not in x.axes)
            if not born:  # along axes that are not shown
                return x
            self.add(DrawStep(StepKind.THROUGH, glyph.mark, [x], [out], frame.section, made=born, tip=item.op))
            return out
        return self.pointwise(frame, item.made_by, operands, item.axes, item.text)

    def leaf(self, frame: Frame, item: Symbolic) -> Tensor:
        """Data in a formula, along the axes that it reads them along."""
        assert item.data is not None
        tensor = self.tensor(frame, item.data)
        same = len(item.axes) != len(tensor.axes) or set(item.axes) == set(tensor.axes)
        return tensor if same else self.relabelled(frame, tensor, item.axes)

    # -- ops

    def apply(self, frame: Frame, node: Apply) -> Item:
        self.span = node.span or self.span
        op, glyph = DrawnOp.of(frame, node), glyph_of(node.traits)
        if glyph.shape is Shape.SILENT and op.items:
            return op.items[0]
        if (formula := counted(node, op.items, op.axes)) is not None:
            return formula
        op.items = [self.tensor(frame, item) if is_counted(item) else item for item in op.items]
        if (formula := _formula(op, glyph)) is not None:
            return formula
        self.mask(op)
        match glyph.shape:
            case Shape.RENAME:
                return self.renamed(op)
            case Shape.LOOKUP:
                return lookup(self, op)
            case Shape.CONTRACT:
                return self.contract(op)
            case Shape.LANE | Shape.JOIN if not node.axes:
                done = self.rides(frame, node, op.items) or one_hot(self, frame, node, op.items, op.axes)
                return done or self.pointwise(frame, node.traits, op.items, op.axes, op.name)
            case Shape.LANE | Shape.JOIN:
                return self.unary(op, PILL)
            case Shape.CONCAT:
                return self.whole(op, StepKind.JOIN, "bar")
            case Shape.BOX:
                return self.whole(op, StepKind.BOX, glyph.mark)
            case _:
                return self.unary(op, glyph)

    def mask(self, op: DrawnOp) -> None:
        """The operand behind its mask."""
        if op.node.mask is None:
            return
        x, mask = op.items[0], op.frame.items[op.node.mask.id]
        if isinstance(x, Symbolic) and not x.axes and not x.leaves:
            op.items[0] = self.tensor(op.frame, mask)  # `sum(1 where m)` counts m
        else:
            op.items[0] = masked(self, op.frame, self.tensor(op.frame, x), mask, op.eaten)

    def renamed(self, op: DrawnOp) -> Item:
        x = op.items[0]
        if isinstance(x, Learned):
            swap = dict(zip(op.eaten, op.made, strict=False))
            return replace(x, axes=tuple(swap.get(a, a) for a in x.axes))
        return self.relabelled(op.frame, self.tensor(op.frame, x), op.axes)

    def whole(self, op: DrawnOp, kind: StepKind, mark: str) -> Tensor:
        """A step that all operands come into: a box, or a bar where they are joined."""
        frame, out = op.frame, op.result()
        step = DrawStep(kind, mark, [self.tensor(frame, item) for item in op.items], [out], frame.section, tip=op.tip)
        if kind is StepKind.BOX:
            step.text = op_text(frame, op.node)
        else:
            step.made, step.contracted = op.made, op.eaten
        self.add(step)
        return out

    def unary(self, op: DrawnOp, glyph: Glyph) -> Tensor:
        """One tensor in, one out; further operands make it a box."""
        frame, node, axes = op.frame, op.node, op.axes
        tensors = [self.tensor(frame, item) for item in op.items if not (isinstance(item, Symbolic) and not item.axes)]
        out = op.indices()
        text = op_text(frame, node)
        if len(tensors) != 1:
            kind = StepKind.BOX if tensors else StepKind.SOURCE
            mark = "plain" if tensors else "table"
            if glyph is MAP:  # of rows that experts are given
                text = roman(f"{name_of(node.traits)} {tail(node.name or '')}")
            step = DrawStep(kind, mark, tensors, [out], frame.section, text=text, late=True, tip=op.tip)
            if node.weights:
                self.passes(frame, step, frame.prefix + (node.name or ""), frame.loops)
            self.add(step)
            return out
        x = tensors[0]
        step = DrawStep(
            StepKind.THROUGH, glyph.mark, [x], [out], frame.section, text=text, tip=op.tip, learned=bool(node.weights)
        )
        if glyph.shape is Shape.ON:
            step.kind, step.on = StepKind.ON, tuple(a for a in op.eaten if a in x.axes)
        else:
            step.eaten = tuple(a for a in x.axes if a in op.eaten or a not in axes)
            step.made = tuple(a for a in axes if a in op.made or a not in x.axes)
            if glyph is BAR:  # from the axis that counts in large steps to that of single steps
                step.eaten = tuple(dict.fromkeys(a for a in (*op.eaten, *step.eaten) if a in step.eaten))
                step.made = tuple(dict.fromkeys(a for a in (*op.made, *step.made) if a in step.made))
                step.note = bar_text(frame, node)
        if glyph is NORM:
            step.note = norm_text(node)
        if glyph is MAP:
            step.text, step.raised = bold(name_of(node.traits)), name_text(tail(node.name or ""))
            step.bias = any(w.name.endswith("bias") for w in node.weights)
            step.each = tuple(frame.axis(a) for a in node.each)
        if node.weights:
            self.passes(frame, step, frame.prefix + (node.name or ""), frame.loops)
        if isinstance(node.traits, Collective):
            step.text, step.sent, step.sent_along = sent_text(node.traits), node.traits, tuple(op.eaten)
        if not step.on and not step.eaten and not step.made:
            step.kind, step.mark = StepKind.LANE, "sent" if step.sent is not None else "arrow"
        self.add(step)
        return out

    def contract(self, op: DrawnOp) -> Tensor:
        """A contraction, two tensors at a time. With a parameter whose other axes are new: a learned map."""
        frame, over, tip = op.frame, op.eaten, op.tip
        rest = list(op.items)
        left = rest.pop(0)
        if isinstance(left, Learned) and rest and isinstance(rest[0], Tensor):
            left, rest[0] = rest[0], left
        x = self.tensor(frame, left)
        if not rest:
            out = op.result()
            eaten = tuple(a for a in x.axes if a in over)
            self.add(
                DrawStep(StepKind.THROUGH, "pill", [x], [out], frame.section, eaten=eaten, text=roman("sum"), tip=tip)
            )
            return out
        while rest:
            other = rest.pop(0)
            later: set[Axis] = set()
            for item in rest:
                later |= set(item.axes)
            eaten = tuple(a for a in over if a in x.axes and a in other.axes and a not in later)
            kept = [a for a in (*x.axes, *other.axes) if a not in eaten]
            out = Tensor(tuple(dict.fromkeys(kept)), "" if rest else op.name)
            if isinstance(other, Learned) and not (set(other.axes) - set(eaten)) & set(x.axes):
                born = tuple(a for a in other.axes if a not in eaten)
                step = DrawStep(
                    StepKind.THROUGH, "learned", [x], [out], frame.section, eaten=eaten, made=born, learned=True
                )
                step.text, step.raised = bold("L"), name_text(other.name)
                self.passes(frame, step, other.path, other.loops)
            else:
                y = self.tensor(frame, other)
                step = DrawStep(StepKind.JOIN, "loop", [x, y], [out], frame.section, contracted=eaten)
            step.tip = tip
            self.add(step)
            x = out
        return x


def _formula(op: DrawnOp, glyph: Glyph) -> Symbolic | None:
    """What is known without data stays a formula, and so do truth values; None for what is a step."""
    node, items = op.node, [item for item in op.items if not isinstance(item, Learned)]
    if len(items) < len(op.items):
        return None
    args = tuple(leaf_of(item) if isinstance(item, Tensor) else item for item in items)
    formula = Symbolic(node.op, args, made_by=node.traits, text=op.name, axes=op.axes, boolean=op.boolean)
    if all(isinstance(item, Symbolic) for item in items) and node.mask is None and node.out.role is not Role.WEIGHT:
        over = node.axes and glyph.shape is not Shape.RENAME  # it ends axes: a step shows where the wires end
        if not over and (op.boolean or not any(arg.leaves for arg in args)):
            swap = dict(zip(op.eaten, op.made, strict=False))
            return renamed(args[0], swap) if glyph.shape is Shape.RENAME else formula
    return formula if op.boolean and keeps_truth(node.traits) else None
