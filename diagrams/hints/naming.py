"""What names in hints stand for in a figure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches

from ...compiler.graph.nodes import Apply, Call, Graph, Scan, children, values_of
from ...dsl.diagnostic import Diagnostic, error
from ..scene.steps import DrawStep, Mark, Path, Scene, Section, StepKind
from ..scene.tensors import tail
from .hints import Said

_FORM = re.compile(r"((?:\w+\.)*)(\w+)(?:\[(\w+)\])?")
_BARE = (StepKind.COPY, StepKind.ENTER, StepKind.EXIT, StepKind.SINK)  # no glyphs of their own


class FigureNames:
    """What may be named in a scene, in the order of its steps."""

    def __init__(self, scene: Scene, graph: Graph) -> None:
        self.scene, self.graph = scene, graph
        self.steps = [step for step in scene.steps if step.kind not in _BARE]

    def find(self, said: Said, *, inputs: bool | None = None) -> Mark | Diagnostic:
        """The first thing of that name, or what is wrong with the name. inputs: among inputs alone, or without them."""
        form = _FORM.fullmatch(said.text.strip())
        if form is None:
            help = (
                "write a name such as `Q`, `cross.Q` (within a block that is open) or `Q[h]` (its wire of the axis `h`)"
            )
            return error("E1004", f"`{said.text}` is no name of a thing in a figure", said.span, help=help)
        path, name, axis = form[1].split(".")[:-1], form[2], form[3]
        marks: list[DrawStep | Section] = [] if inputs else [s for s in self.scene.sections if name in _called_open(s)]
        marks += [s for s in self.steps if name in called(s) and (inputs is None or inputs is (s.mark == "input"))]
        if not inputs:  # brackets, by their own name, and by that of what comes out of them, if nothing in them has it
            marks += [section for section in self.scene.sections if name in called_brackets(section)]
        marks = [mark for mark in marks if _within(mark.path, path)]
        if not marks:
            return self._missing(said, [*path, name], inputs is True)
        if axis is None:
            return marks[0], None
        for mark in marks:
            wires = [a for tensor in mark.outs for a in tensor.axes] if isinstance(mark, DrawStep) else []
            found = next((a for a in wires if axis in (a.name, a.label)), None)
            if found is not None:
                return mark, found
        own = [a.name for mark in marks if isinstance(mark, DrawStep) for t in mark.outs for a in t.axes]
        near = get_close_matches(axis, own, 1, 0.5)
        help = f"did you mean `{form[1]}{name}[{near[0]}]`?" if near else f"it has {_listed(own) or 'no wires'}"
        return error("E1004", f"`{form[1]}{name}` has no wire `{axis}`", said.span, help=help)

    def _missing(self, said: Said, parts: list[str], inputs: bool) -> Diagnostic:
        name, what = parts[-1], "input" if inputs else "thing"
        message = f"there is no {what} `{said.text}` in the figure of `{self.graph.name}`"
        opened = {each for step in self.scene.steps for names in step.path for each in names}
        around = () if inputs else _closed_around(self.graph, name)
        closed = next((block for block in around if block not in opened), None)
        known = list(
            dict.fromkeys(n for step in self.steps if not inputs or step.mark == "input" for n in called(step))
        )
        if not inputs:
            sections = self.scene.sections
            known += [name for section in sections for name in sorted(_called_open(section) | called_brackets(section))]
        near = get_close_matches(name, known, 1, 0.6)
        if closed is not None and name not in known:
            return error(
                "E1004", message, said.span, help=f'it is in `{closed}`, which is closed: `open = ["{closed}"]`'
            )
        if near and near[0] != name:
            text = said.text.replace(name, near[0])
            fix = [(said.span, text)] if said.span is not None and said.span.text == said.text else []
            return error("E1004", message, said.span, help=f"did you mean `{text}`?", fix=fix)
        return error("E1004", message, said.span, help=f"it has {_listed(known) or 'nothing that has a name'}")


def called(step: DrawStep) -> set[str]:
    """The names of a step: of what it makes, of its weights, of the block that it is, of the mask that it applies."""
    own = set(step.names)
    if step.kind is StepKind.SOURCE:
        own |= {tensor.name for tensor in step.outs}
    if step.mark == "mask" or step.block:  # what is set in italics there, but for axes, is data
        axes = {axis.label for tensor in (*step.ins, *step.outs) for axis in tensor.axes}
        said = (*step.note, *(run for case in step.cases for run in case.text))
        own |= {run.text.strip() for run in said if run.style == "i"} - axes
    names = {name.replace(" ", "_") for name in own}
    return {name for name in names if name.isidentifier()}


def _called_open(section: Section) -> set[str]:
    """The names of an open block: its own, and that of what it makes."""
    made = section.exit.names if section.exit is not None else set()
    return set() if section.repeat else set(section.names) | made


def called_brackets(section: Section) -> set[str]:
    """The same of a repeat or a scan."""
    made = section.exit.names if section.exit is not None else set()
    return set(section.names) | made if section.repeat else set()


def _within(path: Path, wanted: list[str]) -> bool:
    """Whether the names of open blocks stand in a path in this order."""
    at = iter(path)
    return all(any(name in names for names in at) for name in wanted)


def _closed_around(graph: Graph, name: str) -> Iterator[str]:
    """Blocks that hold something of this name."""
    for node in graph.nodes:
        for inner in children(node):
            names = {value.name for value in values_of(inner)}
            names |= {tail(n.name) for n in inner.nodes if isinstance(n, Apply | Call | Scan) and n.name}
            if isinstance(node, Call | Scan) and name in names:
                yield node.graph.name
            yield from _closed_around(inner, name)


def _listed(names: list[str]) -> str:
    shown = list(dict.fromkeys(names))
    return ", ".join(f"`{name}`" for name in shown[:12]) + (f" and {len(shown) - 12} more" if len(shown) > 12 else "")
