"""The typed graph: what the checker proves, and all that analyses, rewrites, backends and diagrams read.

A `Graph` is one specialisation of a block (or model), or the body of a repeat: inputs, nodes in order, outputs. Every
`Value` is made once. Blocks and repeats stay nested: a `Call` or a `Repeat` node holds the graph of its body, and equal
calls hold the *same* graph object.

Axes. A type is a set of axes (D2); `Type.axes` keeps an order for show only: as written, or as made. In a block's
graph the axes are the block's own parameters and locals; a `Call` says which axis of the caller each stands for. Axes
of the caller over which a call lifts appear in the callee's graph as they are (`Graph.lifted`).

A *broadcast axis* of a type is one that the value formally has but does not vary along: an argument that lacks an axis
of its formal (a padding mask `[k]` for a formal `bool[q, k]`) has it so. Checks treat it as absent; a backend may keep
a dimension of size 1 for it, so that one class serves both kinds of call. (The op `broadcast` makes none: it copies its
operand along an axis that the result then has.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from ...dsl.base.records import field, record
from ...dsl.source import Span
from ..sizes.axes import Axis, Const, Static
from ..sizes.limits import ELEMENTS, Limit, TooMuch
from .term import Predicate
from .traits import OpTraits
from .values import Value

# -- weights -----------------------------------------------------------------------------------------------------


@record
class Init:
    """How a weight begins. `kind`: normal(std), uniform(bound), zeros, ones, constant(c), xavier, or default.

    `default` is what torch gives `nn.Linear`: uniform in +-1/sqrt(fan_in).
    """

    kind: str
    args: tuple[float, ...] = ()
    fan_in: tuple[Axis, ...] = ()
    fan_out: tuple[Axis, ...] = ()


@record
class Weight:
    """A stored array. `dims` has one tuple of axes per stored dimension, flattened in that order (D2).

    `name` is relative to the graph that owns it: `Q.weight`, `norm.bias`, `E`. `doc` is the comment behind a `param`.
    """

    name: str
    dims: tuple[tuple[Axis, ...], ...]
    init: Init
    frozen: bool
    span: Span | None = field(compare=False, repr=False)
    doc: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        elements = math.prod(axis.extent or 1 for axes in self.dims for axis in axes)
        if elements > ELEMENTS:
            raise TooMuch(Limit.ELEMENTS, self.name, elements, ELEMENTS, span=self.span)


# -- nodes -------------------------------------------------------------------------------------------------------


@record
class Constant:
    """A number known at build time (or a size known at run time): no axes."""

    value: Static
    out: Value


@record
class Positions:
    """An axis standing for its index (D5): 0, 1, ..., |axis| - 1."""

    axis: Axis
    out: Value


@record
class Parameter:
    """A `param`: a named weight, stored as written."""

    weight: Weight
    out: Value


@record
class Apply:
    """An op of the table (`compiler/ops`).

    traits:  what is known of it: analyses match this, not its name.
    axes:    what stands in brackets, what the op acts on: contracted, reduced, normalised, eaten by `linear`.
    made:    what stands behind the arrow: axes born here (`linear`, `split`, `merge`, `concat`, `rename`, `gather`).
    each:    what stands before a colon: `linear[expert: a -> b]`.
    mask:    the mask of `x where m`, for the ops that take one.
    options: static keyword arguments (`eps`, `p`, `smoothing`, `bias` as a truth value).
    name:    a learned op's name (D11), else None.
    weights: its weights, in the order of the op's row.
    seen:    of `attention`, in place of a mask: what its queries see, kept symbolic (rewrites/place_masks.py).
    says:    of `demand`, the message where its first operand is false: `{}` stands for each other operand in turn.
    """

    traits: OpTraits
    operands: tuple[Value, ...]
    out: Value
    axes: tuple[Axis, ...] = ()
    made: tuple[Axis, ...] = ()
    each: tuple[Axis, ...] = ()
    mask: Value | None = None
    options: Mapping[str, Static] = field(default_factory=dict)
    name: str | None = None
    weights: tuple[Weight, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)
    seen: Predicate | None = None
    says: str = ""

    @property
    def op(self) -> str:
        """Its name."""
        return self.traits.name


@record
class Call:
    """A block called. `outs[i]` is the i-th result in the caller's axes.

    name:  the path it adds to weight names; "" for a call of a model (D11). Calls with one `name` in a graph are calls
           of one shared set of weights (`share`), or of blocks without weights.
    args:  one per input of `graph`, in order.
    axes:  (axis of the callee, axis of the caller that it stands for).
    consts: (const of the callee, what it is given in the caller's terms).
    """

    graph: Graph
    name: str
    args: tuple[Value, ...]
    outs: tuple[Value, ...]
    axes: tuple[tuple[Axis, Axis], ...]
    consts: tuple[tuple[Const, Static], ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Repeat:
    """`repeat layers { x = f(x) }` (D10). The bodies' axes are those of the graph around.

    bodies:  the distinct bodies; `variant[i]` says which one pass i runs. One body, unless a static `if` in it hangs
             on the index.
    carried: values going round: `args[:carried]` are their initial values, matching the bodies' first inputs and all
             of their outputs, in order. `args[carried:]` enter from outside, the same in every pass.
    outs:    the carried values after the last pass.
    index:   the const that stands for the pass's number in the bodies, if it is used.
    beside:  its weights stand beside those of the graph around, as those of a called model do, for it calls a `share`
             of that graph. Those of its own have its name in theirs: `layers.Q`. Only of a shared one.
    """

    name: str
    count: Static
    shared: bool
    index: Const | None
    bodies: tuple[Graph, ...]
    variant: tuple[int, ...]
    args: tuple[Value, ...]
    carried: int
    outs: tuple[Value, ...]
    span: Span | None = field(default=None, compare=False, repr=False)
    beside: bool = False

    @property
    def prefix(self) -> str:
        """What it puts before the names of weights in its bodies, but for the number of the pass."""
        return "" if self.beside else f"{self.name}."

    def runs(self, number: int) -> int:
        """Which of the bodies a pass runs. A count that a caller gives leaves one body for all passes."""
        return self.variant[number] if self.variant else 0


@record
class Scan:
    """A block called at each index of `axis` in order; axes, consts and name are as in `Call`.

    args:   one per input of `graph`. Those at the positions `steps` have the axis and are given item by item.
    states: (position of the input, position of the result that is its next value); `args` holds the value before the
            first index, which may lack axes of the state (it is the same along them) and may be an int for a real.
    outs:   each result with `axis` in addition, behind the lifted axes.
    """

    graph: Graph
    name: str
    axis: Axis
    args: tuple[Value, ...]
    steps: tuple[int, ...]
    states: tuple[tuple[int, int], ...]
    outs: tuple[Value, ...]
    axes: tuple[tuple[Axis, Axis], ...]
    consts: tuple[tuple[Const, Static], ...]
    span: Span | None = field(default=None, compare=False, repr=False)


Node = Constant | Positions | Parameter | Apply | Call | Repeat | Scan
NESTS = (Call, Repeat, Scan)  # those that hold graphs; a union of them is slower to ask


@record
class Input:
    """One input of a graph.

    default:   the constant that stands in for it when it is not given (of models; of blocks, kernels/mask_arguments).
    length_of: the ragged width whose length in each example it is (models only; `rewrites/ragged.py`).
    """

    name: str
    value: Value
    default: Static | None = None
    length_of: Axis | None = None


@record
class Output:
    """One result. `value.type` may have lost or gained nothing: its axes are `axes`, in declared (memory) order.

    `name` is None where a single result has no name. `lifted` axes come first in memory. `causal`: the axes along which
    it is proved causal, as the spec claims (D12). `trusted`: those for which it is to be believed.
    """

    name: str | None
    value: Value
    axes: tuple[Axis, ...]
    causal: tuple[Axis, ...] = ()
    trusted: tuple[Axis, ...] = ()


@record
class ItemsAlong:
    """An axis of a step whose items come in chunks of those of time, or behind a prefix (compiler/decoding/pace).

    size:   how many items of time make one.
    before: how many items stand before the first one of time.
    new:    it has those that the new items are in; else it reaches back:
    keep:   how far; None: to the first one.
    chunk:  not 0: it has all items of those chunks of so many that the new ones are in.
    """

    size: int
    before: Static
    new: bool = False
    keep: Static | None = None
    chunk: int = 0


@record(eq=False)
class Stepped:
    """What makes a graph a part of decoding (`compiler/decoding`): a step, or what is prepared before the first one.

    method:  "step" or "prepare".
    origin:  the graph whose weights it has: the block or model that it is a step of; None if that has no use for it.
    segment: what it adds to the path of its caches in the graph that calls it; `{i}` stands for the number of a pass.
    new:     the family of the axes of the new items.
    whole:   an axis as long as all items so far.
    visible: axes of visible ranges, each with how many items before the new ones it has.
    along:   axes whose items are not those of time alone: chunks of them, or items behind a prefix.
    filled:  the family of axes of all items so far and as many more as make a length that the model takes; the least
             such length, and the step to the next one.
    grouped: families of axes whose extents follow from that of such an axis, and fit it.
    tail:    the axis of the new items that are wanted of a model's result.
    times:   families of axes that stood for all items before there were steps; weights along them still have these.
    variant: it is one of several bodies of a repeat, whose steps are called alike.
    absent:  inputs, by the ids of their values: masks which a step of one item does without (decoding/steps/unmask).
    """

    method: str
    origin: Graph | None
    segment: str
    new: int
    whole: Axis
    visible: tuple[tuple[Axis, Static], ...] = ()
    along: tuple[tuple[Axis, ItemsAlong], ...] = ()
    filled: tuple[int, int, int] | None = None
    grouped: frozenset[int] = frozenset()
    tail: Axis | None = None
    variant: bool = False
    times: frozenset[int] = frozenset()
    absent: frozenset[int] = frozenset()


@record(eq=False, slots=False)  # it keeps what is asked of it: core/kept.py
class Graph:
    """One specialisation of a block, model, or body of a repeat.

    kind:    "block", "model", "repeat", "op"; or "loop", what streams, in graphs of figures alone (streams/drawn).
    axes:    its axis parameters, explicit ones first, then those of the file that it mentions, then its own.
    params:  how many of `axes` are parameters (the rest are its own: `depth pair = d / 2`, with `size` formulas).
    consts:  its const parameters.
    lifted:  axes of callers over which this specialisation lifts; they come first in the memory order of its values.
    target:  "module:function" of an `op` of the user's own (kind "op"): no nodes, the outputs are what it returns. It
             gets its inputs in memory order (batch axes, lifted axes, declared axes) and must return likewise.
    stepped: set in the graphs of decoding, and in no others.
    display: its name in figures and equations, if the spec gives one.
    rank:    which of the blocks that the file declares or calls it is: figures of one file tint a block alike by it.
    """

    name: str
    kind: str
    axes: tuple[Axis, ...]
    params: int
    consts: tuple[Const, ...]
    lifted: tuple[Axis, ...]
    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Output, ...]
    doc: str = ""
    span: Span | None = field(default=None, repr=False)
    target: str = ""
    stepped: Stepped | None = None
    display: str = ""
    rank: int | None = None


def values_of(graph: Graph) -> Iterator[Value]:
    """Every value made in a graph (not in those nested in it), inputs first, in order."""
    for entry in graph.inputs:
        yield entry.value
    for node in graph.nodes:
        yield from makes(node)


def reads(node: Node) -> tuple[Value, ...]:
    """The values that a node reads, in order, its mask last."""
    match node:
        case Apply():
            return node.operands if node.mask is None else (*node.operands, node.mask)
        case Call() | Repeat() | Scan():
            return node.args
        case _:
            return ()


def makes(node: Node) -> tuple[Value, ...]:
    """The values that a node makes."""
    return node.outs if isinstance(node, NESTS) else (node.out,)


def weights_of(node: Node) -> tuple[Weight, ...]:
    """The weights that a node has itself, not those of graphs nested in it."""
    match node:
        case Apply():
            return node.weights
        case Parameter():
            return (node.weight,)
        case _:
            return ()


def stops_gradient(node: Node) -> bool:
    """Whether no gradient goes through it to its operands."""
    return isinstance(node, Apply) and not node.traits.gradient


def children(node: Node) -> tuple[Graph, ...]:
    """The graphs nested in a node."""
    match node:
        case Call() | Scan():
            return (node.graph,)
        case Repeat():
            return node.bodies
        case _:
            return ()


def nested(*graphs: Graph) -> Iterator[Graph]:
    """Graphs and all that are nested in them, at any depth: each once, level by level."""
    found, seen = list(dict.fromkeys(graphs)), {*graphs}
    for each in found:  # grows as it goes
        yield each
        new = dict.fromkeys(inner for node in each.nodes for inner in children(node) if inner not in seen)
        seen.update(new)
        found += new


def ops_in(graph: Graph) -> Iterator[Apply]:
    """The ops of a graph and of all that are nested in it, those of each graph once."""
    return (node for each in nested(graph) for node in each.nodes if isinstance(node, Apply))


def owns(graph: Graph, known: dict[Graph, bool] | None = None) -> bool:
    """Whether a graph, or anything nested in it, has weights. known: answers kept from one question to the next."""
    known = {} if known is None else known
    if graph not in known:
        known[graph] = any(
            bool(weights_of(node)) or any(owns(child, known) for child in children(node)) for node in graph.nodes
        )
    return known[graph]
