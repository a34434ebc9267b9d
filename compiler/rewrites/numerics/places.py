"""What is known, as terms of the core, of numbers and truths of positions where they stand at one place."""

from __future__ import annotations

from collections.abc import Mapping

from ...graph.core.index import OUTERMOST, Site, index_of
from ...graph.core.term import UNKNOWN, Term, constant, exactly, pointwise
from ...graph.nodes import Apply, Call, Constant, Node, Positions
from ...graph.traits import Arrange, IndexMap, OpTraits, Pointwise
from ...graph.values import Role, Value
from ...sizes.axes import Axis
from ...sizes.forms import LinearForm


class AtPlace:
    """The terms of the values of one body, each made when it is first asked for.

    makers: the nodes that make values, by id. at: where along axes. given: terms of inputs. site: where the body runs.
    """

    def __init__(
        self,
        makers: Mapping[int, Node],
        at: Mapping[Axis, LinearForm],
        given: Mapping[int, Term] = {},
        site: Site = OUTERMOST,
    ) -> None:
        self.makers, self.at, self.given, self.site = makers, at, given, site
        self._terms = dict(given)

    def __call__(self, value: Value) -> Term:
        if value.id not in self._terms:
            self._terms[value.id] = self._read(value) if value.role <= Role.TABLE else UNKNOWN
        return self._terms[value.id]

    def _read(self, value: Value) -> Term:
        match self.makers.get(value.id):
            case Positions(axis):
                return exactly(self._index(axis))
            case Constant(static):
                return constant(self.site.outermost(static))
            case Apply(traits=OpTraits(reads=Pointwise(meaning)), operands=operands):
                return pointwise(meaning, [self(operand) for operand in operands])
            case Apply(traits=OpTraits(reads=Arrange(IndexMap.SAME | IndexMap.NEW)), operands=(x,)) as node:
                moved = {old: self._index(new) for old, new in zip(node.axes, node.made, strict=False)}
                return AtPlace(self.makers, {**self.at, **moved}, self.given, self.site)(x) if moved else self(x)
            case Call(graph=graph) as node if not graph.target:
                numbers = {
                    item.value.id: self(arg)
                    for item, arg in zip(graph.inputs, node.args, strict=True)
                    if not arg.type.axes
                }
                at = {**self.at, **{formal: self._index(actual) for formal, actual in node.axes}}
                inner = AtPlace(index_of(graph).made_by, at, numbers, self.site.inside(node))
                return inner(graph.outputs[node.outs.index(value)].value)
            case _:
                return UNKNOWN

    def _index(self, axis: Axis) -> LinearForm:
        return self.at.get(axis, LinearForm.index(axis))
