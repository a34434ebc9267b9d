"""What the referee lets each op do: one row an op, its form and a rule that computes or says `Foul`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce as fold
from typing import TYPE_CHECKING, Any

import numpy as np

from . import named
from .named import Arr, pointwise

if TYPE_CHECKING:
    from .referee import Ax, Use, V

TABLE, WEIGHT, DATA = 1, 2, 3


@dataclass(frozen=True)
class Move:
    """least, most: operands. brackets: whether it needs them (None: it may have them). arrow: whether it makes axes."""

    rule: Callable[[Use], V]
    least: int = 1
    most: int = 1
    brackets: bool | None = True
    arrow: bool = False
    masked: bool = False
    options: tuple[str, ...] = ()


MOVES: dict[str, Move] = {}


def move(*names: str, **form: Any) -> Callable[[Callable[[Use], V]], Callable[[Use], V]]:
    def add(rule: Callable[[Use], V]) -> Callable[[Use], V]:
        for name in names:
            MOVES[name] = Move(rule, **form)
        return rule

    return add


def keys(axes: Sequence[Ax]) -> list[str]:
    return [axis.key for axis in axes]


def widened(use: Use, axes: Sequence[Ax], place: int = 0) -> Arr:
    """The operand with these axes written out."""
    return use.operands[place].arr.full(
        [key for key in keys(axes) if key not in use.operands[place].arr.axes], use.sizes()
    )


# -- item by item ------------------------------------------------------------------------------------------------


@move(
    "exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "erf", "relu", "gelu", "gelu_tanh", "silu",
    brackets=False,
)  # fmt: skip
def function(use: Use) -> V:
    use.numbers()
    made = use.result(pointwise(named.FUNCTIONS[use.name], use.operands[0].arr), static=use.operands[0].static)
    made.bare = use.operands[0].bare if use.name in ("sqrt", "rsqrt") else None
    return made


@move("abs", brackets=False)
def absolute(use: Use) -> V:
    x = use.operands[0]
    if x.element == "bool":
        raise use.foul("of a truth value")
    element = "real" if x.element == "real" else "int"
    return use.result(pointwise(np.abs, x.arr), element, static=x.static)


@move("floor", "ceil", brackets=False)
def whole(use: Use) -> V:
    if use.operands[0].element == "bool":
        raise use.foul("of a truth value")
    x = use.operands[0]
    return use.result(pointwise(named.FUNCTIONS[use.name], x.arr), "int", static=x.static)


@move("int", brackets=False)
def to_int(use: Use) -> V:
    if use.operands[0].element in ("real", "bool"):
        raise use.foul("of no index")
    return use.result(use.operands[0].arr, "int")


@move("valid", brackets=False)
def valid(use: Use) -> V:
    if use.operands[0].element != "index":
        raise use.foul("of no index")
    return use.result(named.validity(use.operands[0].arr), "bool")


@move("raw", brackets=False)
def raw(use: Use) -> V:
    x = use.operands[0]
    return use.result(x.arr, x.element, into=x.into)


@move("max", "min", least=2, most=99, brackets=False)
def extreme(use: Use) -> V:
    elements = [x.element for x in use.operands]
    indices = [x for x in use.operands if x.element == "index"]
    if "bool" in elements or len({x.into.family for x in indices if x.into}) > 1:
        raise use.foul("of what does not compare")
    use.referee.spread(use.operands, use.line, use.scope)
    f = np.maximum if use.name == "max" else np.minimum
    element = "real" if "real" in elements else "index" if indices else "int"
    arr = fold(lambda a, b: pointwise(f, a, b), [x.arr for x in use.operands])
    return use.result(arr, element, into=indices[0].into if element == "index" else None,
                      static=all(x.static for x in use.operands))  # fmt: skip


@move("clamp", least=3, most=3, brackets=False)
def clamp(use: Use) -> V:
    x, low, high = use.operands
    if "bool" in (x.element, low.element, high.element):
        raise use.foul("of a truth value")
    element = "real" if "real" in (x.element, low.element, high.element) else x.element
    return use.result(pointwise(np.clip, x.arr, low.arr, high.arr), element, into=x.into)


@move("select", least=3, most=3, brackets=False)
def select(use: Use) -> V:
    c, x, y = use.operands
    if c.element != "bool" or (x.element == "bool") != (y.element == "bool"):
        raise use.foul("it chooses by a truth value between like things")
    if x.into and y.into and x.into.family != y.into.family:
        raise use.foul("indices of two families")
    use.referee.spread([x, y], use.line, use.scope)
    element = x.element if x.element == y.element else "real" if "real" in (x.element, y.element) else "int"
    return use.result(named.choose(c.arr, x.arr, y.arr), element, into=x.into or y.into)


@move("dropout", options=("p",), brackets=False)
def dropout(use: Use) -> V:
    use.numbers()
    if not 0 <= use.options.get("p", 0) < 1:
        raise use.foul("no probability")
    x = use.operands[0]
    return use.result(x.arr, mark=x.mark, loose=x.loose)


# -- contracting, reducing, normalising ------------------------------------------------------------------------------


def masked(use: Use) -> tuple[Arr, Arr | None]:
    """The operand and its mask, which has some axis of the op's."""
    x, mask = use.operands[0], use.mask
    for axis in use.axes:
        if not x.has(axis) and not (x.role < DATA and mask is not None and mask.has(axis)):
            raise use.foul(f"no {axis.name}")
    if mask is not None and not mask.static and not any(mask.has(axis) for axis in use.axes):
        raise use.foul("the mask says nothing of its axes")
    return x.arr, mask.arr if mask is not None and not mask.static else None


@move("sum", "mean", "max[]", "min[]", "logsumexp", masked=True)
def reduction(use: Use) -> V:
    use.numbers()
    x, mask = masked(use)
    name = use.name
    element = use.operands[0].element
    element = "int" if element == "int" and name in ("sum", "max", "min") else "real"
    return use.result(named.reduce(name, x, mask, keys(use.axes), use.sizes()), element)


@move("any", "all", masked=True)
def quantify(use: Use) -> V:
    if use.operands[0].element != "bool":
        raise use.foul("of no truth value")
    x, mask = masked(use)
    return use.result(named.reduce(use.name, x, mask, keys(use.axes), use.sizes()), "bool")


@move("argmax", masked=True)
def argmax(use: Use) -> V:
    use.numbers()
    x, mask = masked(use)
    return use.result(named.reduce("argmax", x, mask, keys(use.axes), use.sizes()), "index", into=use.axes[0])


@move("cumsum")
def cumsum(use: Use) -> V:
    use.numbers()
    use.have(*use.axes)
    x = use.operands[0]
    return use.result(named.cumsum(x.arr, use.axes[0].key), "int" if x.element == "int" else "real")


@move("softmax", "log_softmax", masked=True)
def softmax(use: Use) -> V:
    use.numbers()
    x, mask = masked(use)
    shares = named.softmax(x, mask, keys(use.axes), use.sizes())
    if use.name == "log_softmax":
        return use.result(pointwise(np.log, shares))
    return use.result(shares, mark=frozenset(keys(use.axes)))


@move("l2norm", options=("eps",))
def l2norm(use: Use) -> V:
    use.numbers()
    use.have(*use.axes)
    return use.result(named.l2norm(use.operands[0].arr, keys(use.axes), use.options.get("eps", 1e-12)))


@move("dot", most=99)
def dot(use: Use) -> V:
    for axis in use.axes:
        holders = sum(x.has(axis) for x in use.operands)
        if holders < min(2, len(use.operands)):
            raise use.foul(f"{axis.name} joins no two operands")
    for x in use.operands:
        if x.element == "bool" or (x.element == "index" and x.role > TABLE):
            raise use.foul("of no numbers")
    contracted = frozenset(keys(use.axes))
    for place, x in enumerate(use.operands):
        others = [other for at, other in enumerate(use.operands) if at != place]
        if not x.mark or x.mark <= contracted or not others:
            continue
        if any(other.loose or (other.mark and other.mark <= contracted) for other in others):
            continue
        if any(other.role > WEIGHT for other in others):
            raise use.foul("it averages over another axis than its weights sum to one over")
    return use.result(named.dot([x.arr for x in use.operands], keys(use.axes)))


# -- learned -----------------------------------------------------------------------------------------------------


@move("linear", arrow=True, options=("bias",))
def linear(use: Use) -> V:
    use.numbers()
    use.have(*use.axes)
    use.new(use.made, [*use.axes, *use.each])
    label = use.learn()
    inner = {axis.key: f"eaten {axis.key}" for axis in use.axes}
    weight = use.weight(f"{label}.weight", [*([a] for a in use.each), use.made, [_renamed(a, inner) for a in use.axes]])
    y = named.dot([use.operands[0].arr.rename(inner), weight], list(inner.values()))
    if use.options.get("bias", True):
        y = pointwise(np.add, y, use.weight(f"{label}.bias", [*([a] for a in use.each), use.made]))
    return use.result(y, role=max(WEIGHT, use.operands[0].role))


def _renamed(axis: Ax, names: dict[str, str]) -> Ax:
    return type(axis)(names[axis.key], axis.name, axis.width, axis.size, axis.family, axis.known, axis.bound)


@move("embed", arrow=True)
def embed(use: Use) -> V:
    ids, vocab = use.operands[0], use.axes[0]
    if ids.element != "index" or ids.into is None or ids.into.family != vocab.family:
        raise use.foul("no indices into its table")
    use.new(use.made)
    label = use.learn()
    row = _renamed(vocab, {vocab.key: "the vocabulary"})
    table = use.weight(f"{label}.weight", [[row], use.made])
    return use.result(named.gather(table, "the vocabulary", ids.arr), role=max(WEIGHT, ids.role))


@move("layernorm", "rmsnorm", options=("eps", "scale", "bias"))
def norm(use: Use) -> V:
    use.numbers()
    use.have(*use.axes)
    centred = use.name == "layernorm"
    scale, bias = use.options.get("scale", True), centred and use.options.get("bias", True)
    eps = use.options.get("eps", 1e-5 if centred else 1e-6)
    y = named.standardise(widened(use, use.axes), keys(use.axes), eps, centred)
    role = use.operands[0].role
    if scale or bias:
        label, role = use.learn(), max(WEIGHT, role)
        dims = [[axis] for axis in use.axes]
        y = pointwise(np.multiply, y, use.weight(f"{label}.weight", dims)) if scale else y
        y = pointwise(np.add, y, use.weight(f"{label}.bias", dims)) if bias else y
    return use.result(y, role=role)


# -- arranging ---------------------------------------------------------------------------------------------------


@move("broadcast")
def broadcast(use: Use) -> V:
    use.new(use.axes)
    x = use.operands[0]
    return use.result(widened(use, use.axes), x.element, into=x.into, mark=x.mark, loose=x.loose)


@move("split", arrow=True)
def split(use: Use) -> V:
    use.have(*use.axes)
    use.new(use.made, use.axes)
    whole, x = use.axes[0], use.operands[0]
    if math.prod(axis.size for axis in use.made) != whole.size and _open(use):
        raise use.foul("the parts do not multiply to the whole", of_sizes=True)
    _splits(use)[frozenset(keys(use.made))] = (whole.key, tuple(keys(use.made)))
    mark = (x.mark - {whole.key}) | set(keys(use.made)) if whole.key in x.mark else x.mark
    arr = named.split(x.arr, whole.key, keys(use.made), use.sizes())
    return use.result(arr, x.element, into=x.into, mark=frozenset(mark), loose=x.loose)


def _open(use: Use) -> bool:
    """Sizes of parameters and of run-time widths are looked at elsewhere."""
    return all(axis.known for axis in (*use.axes, *use.made)) or not use.scope.alone


def _splits(use: Use) -> dict[frozenset[str], tuple[str, tuple[str, ...]]]:
    return use.scope.__dict__.setdefault("splits", {})  # type: ignore[no-any-return]


@move("merge", arrow=True)
def merge(use: Use) -> V:
    use.have(*use.axes)
    use.new(use.made, use.axes)
    x, made = use.operands[0], use.made[0]
    gone = set(keys(use.axes))
    earlier = _splits(use).get(frozenset(gone))
    if earlier is not None and earlier[0] == made.key and earlier[1] != tuple(keys(use.axes)):
        raise use.foul("merged in another order than split")
    if math.prod(axis.size for axis in use.axes) != made.size:
        raise use.foul("the whole is not the product of the parts", of_sizes=True)
    mark = x.mark
    if mark & gone:
        mark = frozenset((mark - gone) | {made.key}) if gone <= mark else frozenset()
    arr = named.merge(widened(use, use.axes), keys(use.axes), made.key)
    return use.result(arr, x.element, into=x.into, mark=mark, loose=x.loose)


@move("concat", least=2, most=99, arrow=True)
def concat(use: Use) -> V:
    if len(use.axes) != len(use.operands) or len(use.made) != 1:
        raise use.foul("one axis for each operand")
    made = use.made[0]
    for axis, x in zip(use.axes, use.operands, strict=True):
        if not x.has(axis) or (x.has(made) and made not in use.axes):
            raise use.foul(f"no {axis.name}, or {made.name} already")
    if sum(axis.size for axis in use.axes) != made.size:
        raise use.foul("the sizes do not add up", of_sizes=True)
    use.referee.spread(use.operands, use.line, use.scope, keys(use.axes), outer=True)
    return use.result(named.concat([x.arr for x in use.operands], keys(use.axes), made.key))


@move("window", arrow=True, options=("stride", "pad"))
def window(use: Use) -> V:
    use.numbers()
    use.have(*use.axes)
    axis, (place, tap) = use.axes[0], use.made
    use.new(use.made, use.axes)
    stride, pad = use.options.get("stride", 1), use.options.get("pad", 0)
    arr = named.window(use.operands[0].arr, axis.key, place.key, tap.key, int(stride), int(pad), use.sizes())
    return use.result(arr, use.operands[0].element)


@move("pad", arrow=True, options=("left", "value"))
def pad(use: Use) -> V:
    use.numbers()
    use.have(*use.axes)
    use.new(use.made, use.axes)
    left, value = int(use.options.get("left", 0)), use.options.get("value", 0)
    if use.axes[0].size + left > use.made[0].size:
        raise use.foul("no room")
    arr = named.pad(use.operands[0].arr, use.axes[0].key, use.made[0].key, left, value, use.sizes())
    return use.result(arr, "real" if isinstance(value, float) else use.operands[0].element)


@move("topk", "argsort", arrow=True, masked=True, options=("descending",))
def rank(use: Use) -> V:
    use.numbers()
    x, mask = masked(use)
    use.new(use.made)
    axis, made = use.axes[0], use.made[0]
    down = use.name == "topk" or bool(use.options.get("descending", False))
    x = x.full([axis.key], use.sizes())
    fewer = made.family != axis.family and not (axis.known and made.known)
    arr = named.ranks(x, axis.key, made.key, down, made.size, named.number(True) if mask is None and fewer else mask)
    return use.result(arr, "index", into=axis)


@move("index")
def index(use: Use) -> V:
    if use.operands[0].element != "int":
        raise use.foul("of no whole number")
    return use.result(use.operands[0].arr, "index", into=use.axes[0])


@move("cross_entropy", least=2, most=2, options=("smoothing",))
def cross_entropy(use: Use) -> V:
    use.have(*use.axes)
    logits, ids = use.operands
    vocab = use.axes[0]
    if ids.element != "index" or ids.into is None or ids.into.family != vocab.family:
        raise use.foul("no indices into its classes")
    use.referee.spread(use.operands, use.line, use.scope, [vocab.key], always=True, outer=True)
    return use.result(named.cross_entropy(logits.arr, ids.arr, vocab.key, use.options.get("smoothing", 0)))
