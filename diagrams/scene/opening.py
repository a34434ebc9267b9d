"""Which calls are drawn open, and how: in line (only their contents) or as a tinted region with a title.

If the user asks for nothing, a figure opens structure (blocks that hold a repeat) and glue (blocks of a few glyphs with
at most one learned), both in line. A small figure also opens its smallest blocks, as regions, while it stays small. A
block that is a function of each element stays closed, as its name between arrowheads: opened, it would copy all wires.
So do, at any depth, blocks that turn vectors or make a table (graphs/positional.py); a table's formula is written, if
short. A block that is one scan is drawn with the inside of its step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum

from ...compiler.graph.nodes import NESTS, Apply, Call, Constant, Graph, Repeat, Scan, children, ops_in
from ...compiler.graph.traits import Product, Quotient
from ...compiler.graph.values import Role, Scalar, Value
from .graphs.canonical import Canonical
from .graphs.positional import makes_table, turns
from .op_glyphs import BIRTH, Shape, glyph_of, is_silent
from .steps import Path

GLUE = 4  # glyphs at most, and
LEARNED = 1  # of them learned, at most: then a block is glue
TINY = 2  # glyphs at most: such a block is never drawn as a region with a title
SMALL = 10  # glyphs that a figure may grow to by opening blocks that nobody asked for


class How(Enum):
    CLOSED = "a box"
    INLINE = "its contents"
    REGION = "its contents, tinted, with a title"


class UnknownBlock(ValueError):
    """A name to open or close that no call in the diagram has."""

    def __init__(self, name: str, known: list[str], verb: str = "open") -> None:
        self.name, self.known = name, known
        super().__init__(f"no block `{name}` to {verb}; this diagram has {', '.join(known) if known else 'no calls'}")


class Opening:
    """How each call under `graph` is drawn. `open`, `close`: names of blocks or labels; `depth`: levels to open.

    `to_loops` opens what holds a loop over tiles, if neither of these is given; a loop itself is always open.

    `growth` lists blocks that a small figure might also open; `draw` puts those that fit on the page into `grown`.
    Raises UnknownBlock for a name in `open` that no call has.
    """

    def __init__(
        self, graph: Graph, open: Collection[str] = (), depth: int | None = None, close: Collection[str] = (),
        *, to_loops: bool = False,
    ) -> None:  # fmt: skip
        self.open, self.close = tuple(open), tuple(close)
        self.depth = depth
        self.to_loops = to_loops and depth is None and not self.open
        self.sizes: dict[int, tuple[int, int]] = {}
        self.holds: dict[int, bool] = {}
        self.named: dict[int, frozenset[str]] = {}
        self.fixed: dict[int, How | None] = {}
        self.canonical = Canonical()
        self.grown: set[int] = set()
        self.apart: set[str] = set()  # blocks with a panel of their own: boxes, whatever else is said
        self.letters: dict[int, str] = {}  # of those panels, by call
        self.growth: list[int] = []  # calls (by id) that a small figure might also open, smallest first
        known = sorted(self.names(graph))
        for names, verb in ((self.open, "open"), (self.close, "close")):
            for name in names:
                if name not in known:
                    raise UnknownBlock(name, known, verb)
        self.alone = _the_scan(graph)  # of a block that is one scan
        if depth is None and not self.open:
            self._grow(graph)

    def how(self, call: Call | Scan, level: int) -> How:
        if call.graph.kind in ("op", "loop"):
            return How.CLOSED if call.graph.kind == "op" else How.REGION
        return self._how(call, level)

    def shown(self, graph: Graph) -> tuple[str, ...]:
        """The names of the blocks under `graph` that are drawn open."""
        reached = self._reached(graph, ())
        return tuple(dict.fromkeys(c.graph.name for c, path in reached if self.how(c, len(path)) is not How.CLOSED))

    def letter(self, call: Call | Scan) -> str:
        """Of the panel that a box has; as long as none is given, one as wide, so that its room is known."""
        return self.letters.get(id(call), "a" if call.graph.name in self.apart else "")

    def opened(self, graph: Graph) -> list[str]:
        """The blocks drawn open under `graph`: the innermost first, of those the largest; not the very small ones."""
        levels: dict[str, tuple[int, int]] = {}
        for call, path in self._reached(graph, ()):
            size = self._size(call.graph)[0]
            if size > TINY and self.how(call, len(path)) is not How.CLOSED:
                levels[call.graph.name] = max(levels.get(call.graph.name, (0, 0)), (len(path), size))
        return sorted(levels, key=lambda name: levels[name], reverse=True)

    def closed(self, graph: Graph) -> Iterator[tuple[Call | Scan, Opening, Path]]:
        """The calls under `graph` that have panels of their own, what to open in each, and the path to its inside."""
        for call, path in self._reached(graph, ()):
            if call.graph.name in self.apart:
                within = self.names(call.graph)
                depth = None if self.depth is None else max(0, self.depth - len(path) - 1)
                open, close = ([name for name in names if name in within] for names in (self.open, self.close))
                inside = Opening(call.graph, open, depth, close, to_loops=self.to_loops)
                yield call, inside, (*path, called(call))

    def _reached(self, graph: Graph, path: Path) -> Iterator[tuple[Call | Scan, Path]]:
        """The calls that are drawn under `graph`, as boxes or open, with the open blocks around them."""
        for call in _calls(graph):
            yield call, path
            if self.how(call, len(path)) is not How.CLOSED:
                yield from self._reached(call.graph, (*path, called(call)))

    def _how(self, call: Call | Scan, level: int) -> How:
        names = called(call)
        if call.graph.name in self.apart or any(name in names for name in self.close):
            return How.CLOSED
        if any(name in names for name in self.open):
            return How.REGION
        if any(name in self.names(call.graph) for name in self.open):  # on the way to it
            return How.INLINE if self._structure(call.graph) or self._glue(call.graph) else How.REGION
        if call is self.alone and self.depth is None:
            return How.INLINE
        if (fixed := self._fixed(call.graph)) is not None:
            return fixed if self.depth is None or level < self.depth else How.CLOSED
        if self.depth is not None:
            return How.REGION if level < self.depth else How.CLOSED
        if self.to_loops and self._streams(call.graph):
            return How.INLINE if self._structure(call.graph) or self._glue(call.graph) else How.REGION
        if pointwise(call.graph):
            return How.CLOSED
        tiny = self._size(call.graph)[0] <= TINY
        if self._structure(call.graph) or self._glue(call.graph):
            return How.REGION if id(call) in self.grown and not tiny else How.INLINE
        return How.REGION if id(call) in self.grown else How.CLOSED

    # -- what there is

    def names(self, graph: Graph) -> frozenset[str]:
        """What every call under it is named by."""
        if id(graph) not in self.named:
            names: set[str] = set()
            for node in graph.nodes:
                for inner in children(node):
                    names |= self.names(inner)
                if isinstance(node, Call | Scan) and node.graph.kind not in ("op", "loop"):
                    names |= called(node)
            self.named[id(graph)] = frozenset(names)
        return self.named[id(graph)]

    def _structure(self, graph: Graph) -> bool:
        if id(graph) not in self.holds:
            self.holds[id(graph)] = any(
                isinstance(node, Repeat | Scan) or (isinstance(node, Call) and self._structure(node.graph))
                for node in graph.nodes
            )
        return self.holds[id(graph)]

    def loops_out_of_sight(self, graph: Graph) -> list[str]:
        """The closed blocks that hold loops over tiles, where no loop is drawn under a graph."""
        calls = [(call, self.how(call, len(path))) for call, path in self._reached(graph, ())]
        if any(map(_has_loop, (graph, *(call.graph for call, how in calls if how is not How.CLOSED)))):
            return []
        return [call.graph.name for call, how in calls if how is How.CLOSED and self._streams(call.graph)]

    def _streams(self, graph: Graph) -> bool:
        return graph.kind == "loop" or any(self._streams(inner) for node in graph.nodes for inner in children(node))

    def _fixed(self, graph: Graph) -> How | None:
        """How a block that says where items stand is drawn, unless it is opened by name."""
        if id(graph) not in self.fixed:
            table = makes_table(graph)
            how = How.INLINE if table and _is_formula(graph) else How.CLOSED if table or turns(graph) else None
            self.fixed[id(graph)] = how
        return self.fixed[id(graph)]

    def _glue(self, graph: Graph) -> bool:
        glyphs, learned = self._size(graph)
        return glyphs <= (GLUE if graph.inputs else 1) and learned <= LEARNED

    def _size(self, graph: Graph) -> tuple[int, int]:
        """(glyphs, learned glyphs) of a body whose blocks are closed, unless they are structure."""
        if id(graph) not in self.sizes:
            glyphs = learned = 0
            if graph.kind == "op":
                glyphs, learned = GLUE + 1, 0
            for node in graph.nodes:
                match node:
                    case Apply() if is_drawn(node):
                        glyphs += 1
                        learned += bool(node.weights)
                    case Call():
                        inner = self._size(node.graph)
                        if self._structure(node.graph):
                            glyphs, learned = glyphs + inner[0], learned + inner[1]
                        else:
                            glyphs, learned = glyphs + 1, learned + (inner[1] > 0)
                    case Scan():
                        inner = self._size(node.graph)
                        glyphs, learned = glyphs + inner[0] + 1, learned + inner[1]
                    case Repeat():
                        for body in node.bodies:
                            inner = self._size(body)
                            glyphs, learned = glyphs + inner[0] + 1, learned + inner[1]
            self.sizes[id(graph)] = glyphs, learned
        return self.sizes[id(graph)]

    def _grow(self, graph: Graph) -> None:
        """List the smallest blocks, as many as a small figure can open and stay small."""
        total = self._size(graph)[0]
        front = list(_calls(graph, self.canonical))
        while front:
            front.sort(key=lambda call: self._size(call.graph)[0])
            call = front.pop(0)
            size = self._size(call.graph)[0]
            if pointwise(call.graph) or self._fixed(call.graph) is not None:
                continue
            if total - 1 + size > SMALL:
                return
            total += size - 1
            self.growth.append(id(call))
            front.extend(_calls(call.graph, self.canonical))


def _has_loop(graph: Graph) -> bool:
    """Whether a loop over tiles stands in it, or in a repeat of it."""
    inner = [(node, child) for node in graph.nodes for child in children(node)]
    return any(child.kind == "loop" or (isinstance(node, Repeat) and _has_loop(child)) for node, child in inner)


def called(call: Call | Scan) -> frozenset[str]:
    """What a call is named by: its block, and its labels."""
    return frozenset({call.graph.name, *call.name.split(".")} - {""})


def segments(graph: Graph, node: Call | Repeat) -> frozenset[str]:
    """What paths of values call what a graph has, each part with its number among those of one name: `attend:2`."""
    alike = [each.outs for each in graph.nodes if isinstance(each, type(node)) and each.name == node.name]
    number = alike.index(node.outs) + 1  # the node itself may be a copy in canonical order
    return frozenset(f"{part}:{number}" for part in node.name.split("."))


def is_drawn(node: Apply) -> bool:
    """Whether an op gets a glyph of its own. Not exact, but good enough to estimate the size of a figure."""
    if node.out.role <= Role.TABLE or is_silent(node.traits):
        return False
    scaled = isinstance(node.traits.meaning, Product | Quotient) and any(v.role is Role.CONSTANT for v in node.operands)
    return node.out.type.element is not Scalar.BOOL and not scaled


def pointwise(graph: Graph) -> bool:
    """Whether a block is a function of each element of its one tensor, and reads a value more than once."""
    within = all(
        isinstance(node, Constant)
        or (isinstance(node, Apply) and not (node.axes or node.made or node.weights or node.mask))
        for node in graph.nodes
    )
    single = len(graph.inputs) == len(graph.outputs) == 1 and graph.kind != "op"
    return single and within and max(uses(graph).values(), default=0) > 1


def _calls(graph: Graph, canonical: Canonical | None = None) -> Iterator[Call | Scan]:
    """The calls of a body and of its repeats, as they are written or in an order that does not hang on that."""
    for node in graph.nodes if canonical is None else canonical.nodes(graph):
        if isinstance(node, Call | Scan):
            if node.graph.kind not in ("op", "loop"):
                yield node
        elif isinstance(node, Repeat):
            for body in node.bodies:
                yield from _calls(body, canonical)


def _the_scan(graph: Graph) -> Scan | None:
    """The scan that a block is, if there is nothing else that is drawn of it."""
    drawn = [node for node in graph.nodes if isinstance(node, NESTS) or _is_seen(node)]
    match drawn:
        case [Scan() as scan]:
            return scan
        case [Call(graph=inner)]:
            return _the_scan(inner)
        case _:
            return None


def _is_formula(graph: Graph) -> bool:
    """Whether what a table is made of can be written down: nothing joins, sums or rearranges items."""
    plain = (Shape.SILENT, Shape.LANE, Shape.JOIN, Shape.RENAME)
    glyphs = (glyph_of(node.traits) for node in ops_in(graph))
    return all(glyph.shape in plain or glyph is BIRTH for glyph in glyphs)


def _is_seen(node: object) -> bool:
    return isinstance(node, Apply) and is_drawn(node)


def uses(graph: Graph) -> dict[int, int]:
    """How often each value (by id) is read."""
    count: dict[int, int] = {}

    def read(value: Value) -> None:
        count[value.id] = count.get(value.id, 0) + 1

    for node in graph.nodes:
        match node:
            case Apply():
                for value in node.operands:
                    read(value)
                if node.mask is not None:
                    read(node.mask)
            case Call() | Repeat() | Scan():
                for value in node.args:
                    read(value)
    for output in graph.outputs:
        read(output.value)
    return count
