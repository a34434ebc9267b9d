"""What of a model can be looked at: every value by its path, its axes in the model's terms, and what is a map."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..backends import CaptureError
from ..backends.plan.capture import Found, everything, resolve
from ..compiler.graph.nodes import Apply, Call, Graph, Node, Repeat, Scan
from ..compiler.graph.traits import Normalise, OpTraits
from ..compiler.graph.values import IndexInto
from ..compiler.rewrites.simplify.constants import fold_truths
from ..compiler.sizes.axes import Axis
from ..spec import Model
from .problem import InspectError

Steps = tuple[tuple[Graph, int], ...]


@dataclass(frozen=True, slots=True)
class Side:
    """An axis of a value: what its block calls it, and which axis it is where the model calls that block.

    name:   in the block that makes the value (`q` of `attend`).
    outer:  in the model (`target`): the same axis.
    family: the number that copies of one axis share.
    """

    name: str
    outer: str
    family: int
    is_width: bool
    extent: int | None

    def __str__(self) -> str:
        return self.name if self.name == self.outer else f"{self.name} = {self.outer}"


@dataclass(frozen=True, slots=True)
class Mask:
    """Where the mask of a softmax comes from: a value of the model (`path`), or one of its inputs."""

    path: str | None
    input: str | None
    axes: Mapping[str, str]  # what the mask's block calls an axis -> what the softmax's block calls it


@dataclass(frozen=True, slots=True)
class Spot:
    """A value that can be captured.

    path:       as short as it is unambiguous; `full` has every block.
    op:         what makes it: the op's name, or "" for the results of calls.
    element:    "real", "bool", "int", or the axis that the elements index.
    normalised: of a softmax, the names of the axes over which it sums to one, else nothing.
    last:       it stands in a repeat whose passes share weights: it is what the last pass makes.
    mask:       of a softmax with one, where it comes from; None if there is none, or if it cannot be told.
    masked:     whether a softmax has a mask.
    """

    path: str
    full: str
    sides: tuple[Side, ...]
    op: str
    element: str
    normalised: tuple[str, ...] = ()
    last: bool = False
    mask: Mask | None = None
    masked: bool = False
    line: int | None = field(default=None, compare=False)

    @property
    def is_attention(self) -> bool:
        """Whether it is what a softmax makes over a width."""
        return any(side.name in self.normalised and side.is_width for side in self.sides)

    def __str__(self) -> str:
        element = "" if self.element == "real" else self.element
        return f"{self.path}: {element}[{', '.join(map(str, self.sides))}]"


def spots(model: Model, *, named: bool = True) -> list[Spot]:
    """Every value of a model that can be captured, in the order of the spec.

    named: only those with a name of their own, and what a softmax makes; else what every op makes.
    """
    graph, _ = fold_truths(model._sized)
    paths = _Paths(graph)
    return [
        paths.spot(found)
        for found in everything(graph)
        if not named or found.value.name is not None or _softmax(found.node)
    ]


def chosen(model: Model, capture: Sequence[str]) -> list[Spot]:
    """The values of these paths; with none, every attention map. Raises InspectError, with near names."""
    graph, _ = fold_truths(model._sized)
    paths = _Paths(graph)
    if capture:
        try:
            wanted = resolve(graph, tuple(capture))
        except CaptureError as wrong:
            raise InspectError(str(wrong).removeprefix("capture: ")) from None
        return [paths.spot(found) for found in {found.path: found for found in wanted.values()}.values()]
    found = [paths.spot(one) for one in everything(graph) if _softmax(one.node)]
    maps = [spot for spot in found if spot.is_attention]
    if not maps:
        hidden = scanned_softmax(graph)
        why = "the softmax of this model stands in a `scan`, where nothing can be captured" if hidden else (
            "no softmax of this model runs over a width"
        )  # fmt: skip
        raise InspectError(f"there are no attention weights to show: {why}; --capture names other values (--list)")
    return maps


def scanned_softmax(graph: Graph, within: bool = False) -> bool:
    """Whether a softmax stands in a scan."""
    for node in graph.nodes:
        match node:
            case Apply() if within and _softmax(node):
                return True
            case Call() if scanned_softmax(node.graph, within):
                return True
            case Scan() if scanned_softmax(node.graph, True):
                return True
            case Repeat() if any(scanned_softmax(body, within) for body in node.bodies):
                return True
            case _:
                pass
    return False


def _softmax(node: Node | None) -> Apply | None:
    """The node, if it makes weights that sum to one."""
    match node:
        case Apply(traits=OpTraits(reads=Normalise(weights=True, logarithm=False))):
            return node
        case _:
            return None


class _Paths:
    """The paths of one graph: made once, asked often."""

    def __init__(self, root: Graph) -> None:
        self.root = root
        self.known = {(_enclosing(found), _key(found.steps), found.value.id): found.path for found in everything(root)}

    def spot(self, found: Found) -> Spot:
        node, value = found.node, found.value
        outward = {axis: _outermost(axis, found.steps) for axis in value.type.axes}
        sides = tuple(
            Side(axis.name, outward[axis].name, outward[axis].family, axis.is_width, axis.extent)
            for axis in value.type.axes
            if axis not in value.type.broadcast_axes
        )
        element = value.type.element
        softmax = _softmax(node)
        repeats = [graph.nodes[place] for graph, place in found.steps]
        return Spot(
            path=self.short(found),
            full=found.path,
            sides=sides,
            op=node.op if isinstance(node, Apply) else "",
            element=element.axis.name if isinstance(element, IndexInto) else element.value,
            normalised=tuple(axis.name for axis in softmax.axes) if softmax else (),
            last=any(isinstance(one, Repeat) and one.shared for one in repeats),
            mask=self.mask(found, softmax) if softmax else None,
            masked=softmax is not None and softmax.mask is not None,
        )

    def short(self, found: Found) -> str:
        """Without the blocks that have no weights, where that still names this value alone."""
        parts = found.path.split(".")
        for place in range(len(parts) - 2, -1, -1):
            tried = [*parts[:place], *parts[place + 1 :]]
            try:
                same = resolve(self.root, (".".join(tried),))[".".join(tried)].path == found.path
            except CaptureError:
                same = False
            if same:
                parts = tried
        return ".".join(parts)

    def mask(self, found: Found, node: Apply) -> Mask | None:
        """Follows the mask outwards to where it is made; None where it goes round in a repeat."""
        value, steps = node.mask, found.steps
        if value is None:
            return None
        names = {axis: axis for axis in (*found.value.type.axes, *value.type.axes)}  # of the softmax's block -> here
        graph, around = found.graph, _enclosing(found)
        while True:
            back = {here.name: inner.name for inner, here in names.items()}
            path = self.known.get((around, _key(steps), value.id))
            if path is not None:
                return Mask(path, None, back)
            place = next((i for i, item in enumerate(graph.inputs) if item.value.id == value.id), None)
            if place is None:
                return None
            if not steps:
                return Mask(None, graph.inputs[place].name, back)
            graph, at = steps[-1]
            steps = steps[:-1]
            outer = graph.nodes[at]
            match outer:
                case Call():
                    around = around[: len(around) - bool(outer.name)]
                    moved = dict(outer.axes)
                    names = {inner: moved.get(here, here) for inner, here in names.items()}
                case Repeat() if place >= outer.carried:
                    around = around[: -1 if outer.shared else -2]
                case _:
                    return None
            value = outer.args[place]


def _enclosing(found: Found) -> tuple[str, ...]:
    """The blocks, repeats and passes around a value."""
    return tuple(found.path.split(".")[:-1])


def _key(steps: Steps) -> tuple[tuple[int, int], ...]:
    return tuple((id(graph), place) for graph, place in steps)


def _outermost(axis: Axis, steps: Steps) -> Axis:
    """The axis of the model that an axis of a block stands for; itself if the block made it."""
    for graph, place in reversed(steps):
        node = graph.nodes[place]
        if isinstance(node, Call | Scan):
            axis = dict(node.axes).get(axis, axis)
    return axis


def families(model: Model) -> Iterator[tuple[str, int]]:
    """The axes of a model by name, each with the number that its copies share."""
    for axis in model._sized.axes:
        yield axis.name, axis.family
