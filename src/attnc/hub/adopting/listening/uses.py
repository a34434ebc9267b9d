"""What a run does with weights: where it maps, looks up, normalises and scales with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from math import prod

import torch

from .trace import RunStep, RunTrace, RunValue, Tensor

CLOSE = 1e-5  # of the standard deviation: what a formula of the same values may differ by, also where theirs rounds
EPSILONS = (1e-5, 1e-6, 1e-8, 1e-12, 1e-7, 1e-3, 1e-4, 1e-9, 0.0)
LARGEST = 0.1  # of epsilons
NEAR_BY = 14  # steps behind a value, where what is normalised may be
NORMS = ("layer", "rms", "spread")  # `spread`: by the unbiased deviation + eps (The Annotated Transformer)


@dataclass(frozen=True, slots=True)
class Elements:
    """Elements of a parameter of theirs, in the order of ours: that at [i, j] has the place rows[i] + columns[j] in the
    flat parameter, of a vector (columns is None) that at [i] the place rows[i].
    """

    name: str
    rows: Tensor
    columns: Tensor | None = None

    @staticmethod
    def whole(name: str, shape: Sequence[int]) -> Elements:
        """All of a parameter, as a matrix of this shape."""
        rows, columns = shape
        return Elements(name, torch.arange(rows) * columns, torch.arange(columns))

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.rows),) if self.columns is None else (len(self.rows), len(self.columns))

    @property
    def count(self) -> int:
        return prod(self.shape)

    @property
    def turned(self) -> Elements:
        """The transpose of a matrix."""
        return self if self.columns is None else Elements(self.name, self.columns, self.rows)

    @property
    def vector(self) -> Elements:
        """The same in one row."""
        return Elements(self.name, _outer(self.rows, self.columns))


@dataclass(eq=False, repr=False)
class LinearUse:
    """y = x @ weight.T + bias. weight: [out, in]. x, y: [batch, items, in or out]; of a convolution of patches x is
    the picture, [batch, colour, high, wide], and `patches` how far one reaches, down and across."""

    step: RunStep
    last: RunStep
    weight: Elements
    bias: Elements | None
    x: Tensor
    y: Tensor
    patches: tuple[int, int] | None = None

    @property
    def operand(self) -> RunValue:
        """What is mapped, as the run has it."""
        return next(read for read in self.step.reads if read.kind == "data")

    @property
    def given(self) -> int:
        return self.weight.shape[1]

    @property
    def made(self) -> int:
        return self.weight.shape[0]


@dataclass(eq=False, repr=False)
class NormUse:
    """y is x normalised along its last axis, times weight, plus bias. plus: it is times 1 + weight.

    fitting: what its epsilon may be, since all of these give these numbers, but for what is rounded; of each how far
    they are, over the least. claimed: what the module of its gain has for one.
    """

    step: RunStep
    last: RunStep
    kind: str
    eps: float
    weight: Elements | None
    bias: Elements | None
    plus: bool
    x: Tensor
    y: Tensor
    fitting: Mapping[float, float] = field(default_factory=dict)
    claimed: Sequence[float] = ()

    @property
    def form(self) -> tuple[str, float, bool, bool, bool]:
        return self.kind, self.eps, self.weight is not None, self.bias is not None, self.plus


@dataclass(eq=False, repr=False)
class ScaleUse:
    """y = x * weight, along the last axis."""

    step: RunStep
    weight: Elements
    x: Tensor
    y: Tensor


@dataclass(eq=False, repr=False)
class TableUse:
    """Rows of a table: y = weight[ids]. counted: the ids do not hang on the inputs."""

    step: RunStep
    weight: Elements
    ids: Tensor
    counted: bool
    y: Tensor


def _outer(rows: Tensor, columns: Tensor | None) -> Tensor:
    return rows if columns is None else (rows[:, None] + columns).reshape(-1)


def near(a: Tensor, b: Tensor) -> float:
    """The largest difference in standard deviations of b; infinite for other shapes."""
    if a.shape != b.shape or not a.numel():
        return float("inf")
    a, b = a.detach().double(), b.detach().double()
    scale = float(b.std()) if b.numel() > 1 else float(b.abs().max())
    found = float((a - b).abs().max()) / (scale or 1.0)
    return found if found == found else float("inf")


def same(a: Tensor, b: Tensor) -> bool:
    return near(a, b) < CLOSE


def normalised(x: Tensor, kind: str, eps: float) -> Tensor:
    """x without weights: [*, d]."""
    if kind == "rms":
        return x * (x.square().mean(-1, keepdim=True) + eps).rsqrt()
    centred = x - x.mean(-1, keepdim=True)
    if kind == "layer":
        return centred * (centred.square().mean(-1, keepdim=True) + eps).rsqrt()
    return centred / (x.std(-1, keepdim=True) + eps)


def _epsilon(x: Tensor, y: Tensor, kind: str) -> float:
    """The epsilon with which x normalised is nearest to y."""
    x, y = x.detach().double(), y.detach().double()
    centred = x if kind == "rms" else x - x.mean(-1, keepdim=True)
    root = (centred * y).sum(-1) / y.square().sum(-1)  # by which each row is divided
    if kind == "spread":
        return max(float((root - x.std(-1)).median()), 0.0)
    return max(float((root.square() - centred.square().mean(-1)).median()), 0.0)


@dataclass
class WeightUses:
    """Of one run, in its order. parameters: the module's, as the run had them. epsilons: of each parameter, the small
    numbers that its module has.
    """

    trace: RunTrace
    parameters: Mapping[str, Tensor]
    epsilons: Mapping[str, Sequence[float]]

    @cached_property
    def linears(self) -> list[LinearUse]:
        return [one for step in self.trace.steps if (one := self._linear(step)) is not None]

    @cached_property
    def by_step(self) -> dict[int, LinearUse]:
        return {one.step.number: one for one in self.linears}

    @cached_property
    def lookups(self) -> list[TableUse]:
        found = []
        for step in self.trace.steps:
            if step.op in _LOOKS and step.reads and step.reads[0].kind == "weight":
                ids = step.reads[-1]
                weight = self.piece(step.reads[0])
                if weight is not None and len(weight.shape) == 2 and step.makes and not ids.tensor.is_floating_point():
                    counted = ids.kind != "data"
                    found.append(TableUse(step, weight, ids.tensor, counted, step.makes[0].tensor))
        return found

    # -- where a weight's elements come from -----------------------------------------------------------------------

    def piece(self, value: RunValue, shift: float = 0.0) -> Elements | None:
        """Which elements of a parameter a value is made of, each as it is; else None. Of more than two axes all but the
        first are one. shift: what is added to each.
        """
        if value.kind != "weight" or value.source is None:
            return None
        if shift:
            held = (self.parameters[value.source].detach().to(value.tensor.dtype) + shift).reshape(-1)
            alike = torch.equal(held, value.tensor.detach().reshape(-1))
            return Elements(value.source, torch.arange(len(held))) if alike else None
        return self._strided(value, 0) or self._copied(value, 0)

    def _matrix(self, value: RunValue) -> Elements | None:
        """The same of a matrix, which may stand there several times."""
        lead = value.tensor.ndim - 2
        return None if lead < 0 else self._strided(value, lead) or self._copied(value, lead)

    def _strided(self, value: RunValue, lead: int) -> Elements | None:
        """Of a view. lead: so many axes at first repeat the rest."""
        parameter, tensor = self.parameters[value.source or ""], value.tensor
        if tensor.untyped_storage().data_ptr() != parameter.untyped_storage().data_ptr():
            return None
        sized = [*zip(tensor.shape, tensor.stride(), strict=True)]
        if any(size > 1 and stride for size, stride in sized[:lead]):
            return None
        first = torch.tensor(tensor.storage_offset() - int(parameter.storage_offset()))
        (size, stride), *rest = sized[lead:] or [(1, 0)]
        rows = first + torch.arange(size) * stride
        columns = torch.zeros(1, dtype=torch.long) if rest else None
        for count, step in rest:
            columns = _outer(columns, torch.arange(count) * step) if columns is not None else None
        return Elements(value.source or "", rows, columns)

    def _copied(self, value: RunValue, lead: int) -> Elements | None:
        """Of what was moved about in memory: the same is done with the places of the elements."""
        at = self._places(value)
        if at is None or any(bool((at != at[:1]).any()) for _ in range(lead)):
            return None
        at = at.reshape(-1, *at.shape[lead:])[0] if lead else at
        if at.ndim < 2:
            return Elements(value.source or "", at.reshape(-1))
        flat = at.flatten(1)
        rows, columns = flat[:, 0], flat[0] - flat[0, 0]
        return Elements(value.source or "", rows, columns) if torch.equal(rows[:, None] + columns, flat) else None

    def _places(self, value: RunValue) -> Tensor | None:
        parameter, tensor, step = self.parameters[value.source or ""], value.tensor, value.step
        if tensor.untyped_storage().data_ptr() == parameter.untyped_storage().data_ptr():
            count = parameter.untyped_storage().nbytes() // parameter.element_size()
            at = torch.arange(count).as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
            return at - int(parameter.storage_offset())
        if step is None or step.op not in _MOVES or [one.kind for one in step.reads] != ["weight"]:
            return None
        before = self._places(step.reads[0])
        if before is None or step.op == "aten::_to_copy":
            return before
        made: Tensor = step.again(before)
        return made

    # -- maps ------------------------------------------------------------------------------------------------------

    def _linear(self, step: RunStep) -> LinearUse | None:
        if step.op == "aten::convolution":
            return self._convolution(step)
        start = _MAPS.get(step.op)
        if start is None or not step.makes:
            return None
        left, right = step.args[start : start + 2]
        turned = left.kind == "weight" and right.kind == "data"
        if turned:
            left, right = right, left
        if left.kind != "data" or right.kind != "weight":
            return None
        weight, x, y = self._matrix(right), left.tensor, step.makes[0].tensor
        if weight is None:
            return None
        if turned:
            x, y = x.mT, y.mT
        if not turned and step.op != "aten::linear":
            weight = weight.turned
        bias = self.piece(step.args[0]) if start == 1 else None
        last, made = step, step.makes[0]
        if bias is None:
            last, made, bias = self._biased(step, weight.shape[0])
            if bias is not None:
                y = made.tensor
        order = _order(left, self.trace.batch) or _order(made, self.trace.batch)
        flat = self._items(x.reshape(-1, weight.shape[1]), order), self._items(y.reshape(-1, weight.shape[0]), order)
        return LinearUse(step, last, weight, None if bias is None else bias.vector, *flat)

    def _biased(self, step: RunStep, made: int) -> tuple[RunStep, RunValue, Elements | None]:
        """Where a bias is added to what a map makes, if one is."""
        value = step.makes[0]
        for _ in range(4):
            if len(value.readers) != 1:
                break
            reader = value.readers[0]
            if reader.op in _SUMS and len(reader.reads) == 2 and reader.makes:
                other = reader.reads[0] if reader.reads[1] is value else reader.reads[1]
                bias = self.piece(other)
                if bias is not None and bias.count == made:
                    return reader, reader.makes[0], bias
                break
            if reader.op not in _MOVES or not reader.makes:
                break
            value = reader.makes[0]
        return step, step.makes[0], None

    def _convolution(self, step: RunStep) -> LinearUse | None:
        x, kernel, bias = step.args[:3]
        weight = self.piece(kernel) if isinstance(kernel, RunValue) else None
        if weight is None or x.kind != "data":
            return None
        y, held = step.makes[0].tensor, self.piece(bias) if isinstance(bias, RunValue) else None
        window = list(kernel.tensor.shape[2:])
        if len(window) == 1 and window == [1] and step.args[8] == 1:  # a map of each item, written as a convolution
            return LinearUse(step, step, weight, held, x.tensor.mT, y.mT)
        plain = step.args[3] == window and not any(step.args[4]) and step.args[8] == 1 and len(window) == 2
        items = y.flatten(2).mT
        if not plain:
            return None
        return LinearUse(step, step, weight, held, x.tensor, items, (window[0], window[1]))

    def _items(self, rows: Tensor, order: str | None) -> Tensor:
        """[rows, d] as [batch, items, d], whichever of the two came first."""
        count, batch = len(rows), self.trace.batch
        if count % batch:
            return rows[None]
        if order == "items":
            return rows.reshape(count // batch, batch, -1).transpose(0, 1)
        return rows.reshape(batch, count // batch, -1)

    def items(self, value: RunValue) -> Tensor | None:
        """A value of the stream as [batch, items, d]; None for one of another form."""
        tensor, batch = value.tensor, self.trace.batch
        if not tensor.is_floating_point() or tensor.ndim not in (2, 3):
            return None
        if tensor.ndim == 2:
            return self._items(tensor, _order(value, batch)) if len(tensor) % batch == 0 else None
        if tensor.shape[0] == batch:
            return tensor
        return tensor.transpose(0, 1) if tensor.shape[1] == batch else None

    def nearest(self, value: RunValue, stop: Iterable[int] = ()) -> list[LinearUse]:
        """The maps that a value is made of, without those behind them; steps of `stop` end the way, too."""
        ends = set(stop)
        lasts = {one.last.number: one for one in self.linears}
        whole = {**self.by_step, **lasts}
        steps = self.trace.back(value, lambda step: step.number in whole or step.number in ends)
        return list(dict.fromkeys(whole[step.number] for step in steps if step.number in whole))

    # -- norms -----------------------------------------------------------------------------------------------------

    @cached_property
    def norms(self) -> list[NormUse]:
        """Those with weights, and then those without."""
        found: list[NormUse] = []
        for step in self.trace.steps:
            if step.op == "aten::native_layer_norm":
                made = self._layer_norm(step)
            elif step.op in _PRODUCTS and len(step.reads) == 2 and step.makes:
                made = self._written_norm(step)
            else:
                made = None
            if made is not None and all(made.last is not one.last for one in found):
                found.append(made)
        found += self._weightless(found)
        counted = Counter(eps for one in found for eps in one.fitting)
        apart = {eps: sum(one.fitting.get(eps, 0.0) for one in found) for eps in counted}
        wrong = {eps for one in found for eps in one.claimed if eps not in one.fitting}
        for one in found:  # where several fit: what all modules say that say it; the one that fits most norms, and best
            told = [eps for eps in one.claimed if eps not in wrong]
            one.eps = max(told or one.fitting, key=lambda eps: (counted[eps], -apart[eps]), default=one.eps)
        return found

    @cached_property
    def scales(self) -> list[ScaleUse]:
        taken = {one.weight.name for one in self.norms if one.weight is not None}
        found = []
        for step in self.trace.steps:
            if step.op in _PRODUCTS and len(step.reads) == 2 and step.makes:
                data, other = sorted(step.reads, key=lambda read: read.kind)
                piece = self.piece(other) if data.kind == "data" else None
                x, y = self.items(data), self.items(step.makes[0])
                if piece is None or piece.name in taken or x is None or y is None or piece.count != x.shape[-1]:
                    continue
                found.append(ScaleUse(step, piece.vector, x, y))
        return found

    def _layer_norm(self, step: RunStep) -> NormUse | None:
        x, shape, weight, bias, eps = step.args[:5]
        if len(shape) != 1:
            return None
        gain, shift = (self.piece(one) if isinstance(one, RunValue) else None for one in (weight, bias))
        y = self._stream(step.makes[0])
        return NormUse(step, step, "layer", eps, gain, shift, False, self._stream(x), y)

    def _stream(self, value: RunValue) -> Tensor:
        items = self.items(value)
        return value.tensor if items is None else items

    def _written_norm(self, step: RunStep) -> NormUse | None:
        """One that theirs has written out: x is somewhere before this product by a weight, y somewhere behind it."""
        data, other = sorted(step.reads, key=lambda read: read.kind)
        size = data.tensor.shape[-1] if data.tensor.ndim else 0
        if data.kind != "data" or other.kind != "weight" or other.tensor.numel() != size or size < 2:
            return None
        piece, plus = self.piece(other), False
        if piece is None:
            piece, plus = self.piece(other, 1.0), True
        if piece is None:
            return None
        gain = other.tensor.reshape(-1)
        fits: list[tuple[float, int, int, NormUse]] = []
        for later, (after, bias, last) in enumerate(self._afters(step, size)):
            shift = 0 if bias is None else self.parameters[bias.name].detach().reshape(-1)[bias.rows]
            for earlier, before in enumerate(self._befores(data)):
                for kind in NORMS:
                    fit = self._fitting(kind, before.tensor, (after.tensor - shift) / gain, piece.name)
                    if fit is not None:
                        x, y = self._stream(before), self._stream(after)
                        told = self.epsilons.get(piece.name, ())
                        use = NormUse(step, last, kind, min(fit[1]), piece.vector, bias, plus, x, y, fit[1], told)
                        fits.append((fit[0], later, earlier, use))
        return _best(fits)

    def _weightless(self, weighed: list[NormUse]) -> list[NormUse]:
        """By a quotient for each item, of which no norm with weights is made."""
        found: list[NormUse] = []
        known = [one.x for one in weighed]
        for step in self.trace.steps:
            if step.op not in ("aten::mul", "aten::div") or len(step.reads) != 2 or not step.makes:
                continue
            whole = step.makes[0].tensor.shape
            x, other = step.reads if step.reads[0].tensor.shape == whole else step.reads[::-1]
            if {x.kind, other.kind} != {"data"} or other.tensor.shape != (*whole[:-1], 1) or whole[-1] < 2:
                continue
            y = step.makes[0]
            fits = []
            for n, before in enumerate(self._befores(x)):
                for kind in NORMS:
                    fit = self._fitting(kind, before.tensor, y.tensor, "")
                    if fit is not None:
                        told = self._stream(before), self._stream(y)
                        fits.append(
                            (fit[0], 0, n, NormUse(step, step, kind, min(fit[1]), None, None, False, *told, fit[1]))
                        )
            made = _best(fits)
            if made is not None and not any(same(made.x, one) for one in known):
                found.append(made)
        return found

    def _fitting(self, kind: str, x: Tensor, y: Tensor, name: str) -> tuple[float, dict[float, float]] | None:
        """How far y is from x normalised so, at best, and by which epsilons it is as near; None where it is by none.
        name: of the gain.
        """
        if not x.is_floating_point():
            return None
        found = _epsilon(x, y, kind)
        apart = near(normalised(x, kind, found), y)
        if apart >= CLOSE or found > LARGEST:  # else what is normalised already could be multiplied by any number
            return None
        short = [float(f"{found:.{digits}g}") for digits in range(1, 5)]
        claimed = (*self.epsilons.get(name, ()), *self.epsilons.get("", ()))
        for tried in ([*claimed, *short, *EPSILONS], [found]):
            told = {eps: near(normalised(x, kind, eps), y) for eps in tried}
            least = min(apart, *told.values())
            fitting = {eps: one / (least or 1.0) for eps, one in told.items() if one <= max(10 * least, 1e-13)}
            if fitting:
                return least, fitting
        return None

    def _befores(self, value: RunValue) -> list[RunValue]:
        """The value, and those of its shape right before it, up to maps and what is attended to."""
        steps = self.trace.back(value, lambda step: step.number in self.by_step or step.op in _ENDS)
        reads = [read for step in islice(steps, NEAR_BY) for read in step.reads if read.kind == "data"]
        return [value, *dict.fromkeys(read for read in reads if read.tensor.shape == value.tensor.shape)]

    def _afters(self, step: RunStep, size: int) -> list[tuple[RunValue, Elements | None, RunStep]]:
        """The product, and what stands right behind it: changes of type, quotients, the sum with a bias."""
        value, bias, last = step.makes[0], None, step
        found: list[tuple[RunValue, Elements | None, RunStep]] = [(value, bias, last)]
        for _ in range(4):
            if len(value.readers) != 1 or value.readers[0].op not in _BEHIND_NORMS:
                break
            last = value.readers[0]
            if last.op in _SUMS:
                bias = self.piece(next(read for read in last.reads[::-1] if read is not value or len(last.reads) < 2))
                if bias is None or bias.count != size:
                    break
                bias = bias.vector
            if not last.makes or last.makes[0].tensor.shape[-1:] != (size,):
                break
            value = last.makes[0]
            found.append((value, bias, last))
        return found


def _best(fits: list[tuple[float, int, int, NormUse]]) -> NormUse | None:
    """Of those that fit as well as the best, the one that reaches from farthest back to farthest on, and then the
    first: where theirs rounds on its way, an epsilon is not seen to the last digit, and its modules' own come first.
    """
    if not fits:
        return None
    least = min(apart for apart, *_ in fits)
    good = [one for one in fits if one[0] <= max(10 * least, 1e-13)]
    chosen = max(good, key=lambda one: (one[1], one[2]))
    for one in sorted(good, key=lambda one: one[2]):  # of values that differ by a factor alone, the one right before it
        if one[1] == chosen[1] and _is_multiple(one[3].x, chosen[3].x):
            return one[3]
    return chosen[3]


def _is_multiple(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and same(a, b * float((a * b).sum() / (b * b).sum()))


def _order(value: RunValue, batch: int) -> str | None:
    """Whether the batch or the items come first in a value, as what it is a view of, or what is made of it, shows."""
    for going in (makers(value), _made_of(value)):
        for one in going:
            if one.tensor.ndim >= 3 and batch in one.tensor.shape[:2]:
                return "batch" if one.tensor.shape[0] == batch else "items"
    return None


def makers(value: RunValue) -> Iterator[RunValue]:
    """The value, and what it was before it was moved about."""
    for _ in range(6):
        yield value
        if value.step is None or value.step.op not in _MOVES or not value.step.reads:
            return
        value = value.step.reads[0]


def _made_of(value: RunValue) -> Iterator[RunValue]:
    for _ in range(6):
        yield value
        if not value.readers or value.readers[0].op not in _MOVES or not value.readers[0].makes:
            return
        value = value.readers[0].makes[0]


_SUMS, _PRODUCTS = ("aten::add", "aten::add_"), ("aten::mul", "aten::mul_")
_LOOKS = ("aten::embedding", "aten::index_select", "aten::index")
_BEHIND_NORMS = (*_SUMS, "aten::div", "aten::mul", "aten::_to_copy")
_MAPS = {"aten::mm": 0, "aten::addmm": 1, "aten::bmm": 0, "aten::baddbmm": 1, "aten::matmul": 0, "aten::linear": 0}
_MOVES = (
    "aten::view",
    "aten::_unsafe_view",
    "aten::reshape",
    "aten::clone",
    "aten::transpose",
    "aten::permute",
    "aten::unsqueeze",
    "aten::squeeze",
    "aten::t",
    "aten::expand",
    "aten::_to_copy",
    "aten::alias",
    "aten::detach",
    "aten::contiguous",
)
_ENDS = ("aten::_softmax", "aten::_safe_softmax", "aten::embedding", "aten::native_layer_norm")
