"""Hints put into a scene: its inputs in order, what is hidden, where rows begin; then notes and tints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...compiler.graph.nodes import Graph
from ...dsl.diagnostic import Diagnostic, error
from ...dsl.errors import AttnError
from ..base.names import spaced
from ..base.text import italic, roman
from ..scene.steps import Callout, DrawStep, Scene, Section, StepKind, Tint
from .hints import TINTS, Hints, Said
from .naming import FigureNames


class Applied:
    """Hints for the figure of a graph. strict: raise AttnError for a name that the figure does not have."""

    def __init__(self, hints: Hints, graph: Graph, *, strict: bool = True) -> None:
        self.hints, self.graph, self.strict = hints, graph, strict

    def arrange(self, scene: Scene) -> None:
        """Before values are copied for their readers."""
        wrong: list[Diagnostic] = []
        names = FigureNames(scene, self.graph)
        inputs = [mark for _, mark in self._found(names, self.hints.inputs, wrong, inputs=True)]
        self._in_order(scene, [mark for mark in inputs if isinstance(mark, DrawStep)])
        for _, mark in self._found(names, self.hints.breaks, wrong):
            step = mark if isinstance(mark, DrawStep) else mark.enter
            if step is not None:
                step.breaks = True
        for said, mark in self._found(names, self.hints.hide, wrong):
            if isinstance(mark, Section):
                message = f"`{said.text}` is open in this figure, so it cannot be hidden"
                wrong.append(error("E1004", message, said.span, help="close it, or hide a value within it"))
            elif mark.mark == "input":
                message = f"`{said.text}` is an input: nothing is behind it that could be hidden"
                wrong.append(error("E1004", message, said.span, help="hide what is made of it"))
            else:
                scene.steps[scene.steps.index(mark)] = _hidden(mark, said)
        self._raise(wrong)

    @staticmethod
    def _in_order(scene: Scene, first: list[DrawStep]) -> None:
        """The inputs that the author names stand on top, in this order."""
        given = [step for step in scene.steps if step.mark == "input" and not step.late]
        if first:
            order = iter([*first, *(step for step in given if step not in first)])
            scene.steps = [next(order) if step in given else step for step in scene.steps]
            for step in given:
                step.placed = True

    def annotate(self, scene: Scene) -> None:
        """When all else is known."""
        wrong: list[Diagnostic] = []
        names = FigureNames(scene, self.graph)
        for note in self.hints.notes:
            found = [names.find(said) for said in note.at]
            wrong += [each for each in found if isinstance(each, Diagnostic)]
            marks = [each for each in found if not isinstance(each, Diagnostic)]
            if marks:
                scene.callouts.append(Callout(note.text, TINTS[note.tint], note.side, marks))
        for said, tint in self.hints.tints:
            mark = names.find(said, inputs=False)
            if isinstance(mark, Diagnostic):
                wrong += [] if self.hints.every else [mark]
            else:
                scene.tints.append(Tint(mark[0], TINTS[tint]))
        self._raise(wrong)

    def rest(self, scene: Scene) -> Hints:
        """What is said of things that are not in a scene."""
        names = FigureNames(scene, self.graph)

        def missing(said: Iterable[Said], *, inputs: bool | None = None) -> tuple[Said, ...]:
            return tuple(each for each in said if isinstance(names.find(each, inputs=inputs), Diagnostic))

        notes = tuple(replace(note, at=at) for note in self.hints.notes if (at := missing(note.at)))
        tints = tuple((said, tint) for said, tint in self.hints.tints if missing([said], inputs=False))
        inputs = missing(self.hints.inputs, inputs=True)
        breaks, hide = missing(self.hints.breaks), missing(self.hints.hide)
        return replace(self.hints, inputs=inputs, breaks=breaks, hide=hide, notes=notes, tints=tints)

    def _found(
        self, names: FigureNames, said: Iterable[Said], wrong: list[Diagnostic], *, inputs: bool | None = None
    ) -> list[tuple[Said, DrawStep | Section]]:
        found = []
        for each in said:
            mark = names.find(each, inputs=inputs)
            if isinstance(mark, Diagnostic):
                wrong.append(mark)
            else:
                found.append((each, mark[0]))
        return found

    def _raise(self, wrong: list[Diagnostic]) -> None:
        if wrong and self.strict:
            raise AttnError(wrong)


def _hidden(step: DrawStep, said: Said) -> DrawStep:
    """In place of a step: its name in a dashed frame that says that it is not drawn, at which its wires begin."""
    name = spaced(said.text.split(".")[-1])
    text = (*italic(name), *roman(": not drawn"))
    made = DrawStep(StepKind.SOURCE, "hidden", [], step.outs, step.section, text=text, tip=f"{name}, not drawn")
    made.late, made.names, made.path, made.span = True, step.names, step.path, step.span
    return made
