"""Steps over buffers that stay where they are: the same results, one graph for all places, used again and again."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch._dynamo.testing import CompileCounter

import attnc
from attnc.backends.runtime.common.decoding import Configuration
from attnc.backends.runtime.torch.cache import Cache
from attnc.backends.runtime.torch.fixed import FixedCache, FixedStep, cache_form, fixed_step, weight_addresses

from .models import ZOO, small
from .programs import causal
from .steps import apart, inputs_of

QUICK = {"gpt2", "mistral", "t5", "whisper", "scan", "mla"}
MODELS = [
    pytest.param(path, id=path.split("/")[-1], marks=() if path.split("/")[-1] in QUICK else pytest.mark.slow)
    for path in ZOO
]


def started(model: attnc.Model, given: Mapping[str, Any], at: int) -> tuple[nn.Module, Any, dict[str, Tensor]]:
    """A model, a cache that has seen the first `at` items, and the inputs along the sequence, time in front."""
    decoding = model.decoding
    assert decoding.step is not None and decoding.prepare is not None and decoding.time is not None
    tensors = {name: torch.as_tensor(x) for name, x in given.items()}
    net = model.torch(seed=1, dtype=torch.float64).eval()
    cache = net.prepare(**{item.name: tensors[item.name] for item in decoding.prepare.inputs if item.name in tensors})
    along = {}
    for item in decoding.step.inputs:
        if item.name in tensors:
            place = next(p for p, a in enumerate(item.value.type.axes) if a.family == decoding.step.stepped.new)
            along[item.name] = tensors[item.name].movedim(place - len(item.value.type.axes), 0)
    net.step(**cut(along, model, 0, at), cache=cache)
    return net, cache, along


def cut(along: Mapping[str, Tensor], model: attnc.Model, first: int, end: int) -> dict[str, Tensor]:
    decoding = model.decoding
    assert decoding.step is not None and decoding.step.stepped is not None
    found = {}
    for item in decoding.step.inputs:
        if item.name in along:
            place = next(p for p, a in enumerate(item.value.type.axes) if a.family == decoding.step.stepped.new)
            found[item.name] = along[item.name][first:end].movedim(0, place - len(item.value.type.axes))
    return found


def results(found: Any) -> list[np.ndarray[Any, Any]]:
    return [x.detach().numpy().copy() for x in torch.utils._pytree.tree_leaves(found)]


def check(model: attnc.Model, given: Mapping[str, Any], at: int, spare: int) -> None:
    """One item after another behind the first `at`, as the steps over a growing cache do them."""
    net, cache, along = started(model, given, at)
    total = next(iter(along.values())).shape[0]
    time = model.decoding.time
    assert time is not None
    longest = time.extent if time.extent is not None else time.bound  # tables have no room for more
    room = total + spare if longest is None else min(total + spare, longest)
    fixed = FixedCache(cache, room, torch.device("cpu"))
    places = {name: x.data_ptr() for name, x in fixed.tensors().items()}
    for now in range(at, total):
        items = cut(along, model, now, now + 1)
        for found, right in zip(
            results(net.step(**items, cache=fixed)), results(net.step(**items, cache=cache)), strict=True
        ):
            assert apart(found, right) < 1e-10, now
    assert {name: x.data_ptr() for name, x in fixed.tensors().items()} == places


@pytest.mark.parametrize("path", MODELS)
@pytest.mark.parametrize("at", [1, 6])
def test_fixed_steps_are_steps(path: str, at: int) -> None:
    model = small(path)
    check(model, inputs_of(model, (2,), (9, 7, 5), np.float64, 0), at, 3)


SEEDS = [pytest.param(seed, marks=() if seed < 30 else pytest.mark.slow) for seed in range(250)]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed: int) -> None:
    for text, model, given in causal(seed):
        if model.decoding.step is None:
            continue
        along = {item.name for item in model.decoding.step.inputs}
        wanted = along | {item.name for item in model.decoding.prepare.inputs}  # type: ignore[union-attr]
        kept = {name: x for name, x in given.items() if name in wanted}
        if along & set(kept):
            try:
                check(model, kept, 1, 0 if seed % 2 else 2)
            except AssertionError as error:
                raise AssertionError(text) from error


@pytest.mark.filterwarnings("ignore:The .grad attribute")
@pytest.mark.parametrize("path", MODELS)
def test_one_graph_for_all_places(path: str) -> None:
    model = small(path)
    torch._dynamo.reset()
    net, cache, along = started(model, inputs_of(model, (2,), (9, 7, 5), np.float64, 0), 2)
    fixed, counter = FixedCache(cache, 9, torch.device("cpu")), CompileCounter()
    whole = net.step.__wrapped__.__get__(net)  # as FixedStep has it compiled
    step = torch.no_grad()(torch.compile(whole, fullgraph=True, backend=counter))
    for now in range(2, next(iter(along.values())).shape[0]):
        items = cut(along, model, now, now + 1)
        for found, right in zip(
            results(step(**items, cache=fixed)), results(net.step(**items, cache=cache)), strict=True
        ):
            assert apart(found, right) < 1e-10
    assert counter.frame_count == 1


@pytest.fixture(scope="module")
def net() -> Any:
    return small("examples/zoo/mistral").torch(seed=0).eval()


PROMPTS = [[5, 7, 11], [3]]


@pytest.mark.parametrize("options", [{}, {"eos": 4}, {"temperature": 1.0, "seed": 3}])
def test_generate(net: Any, options: dict[str, Any]) -> None:
    expected = net.generate(PROMPTS, 9, **options)
    assert torch.equal(net.generate(PROMPTS, 9, static=True, **options), expected)
    assert torch.equal(torch.stack(list(net.stream(PROMPTS, 9, static=True, **options)), -1), expected)


def test_a_step_is_used_again(net: Any) -> None:
    first = net.generate(PROMPTS, 9, static=True)
    kept = net._fixed_step
    assert torch.equal(net.generate(PROMPTS, 9, static=True), first)
    assert torch.equal(net.generate([[1] * 40, [2]], 20, static=True), net.generate([[1] * 40, [2]], 20))
    assert net._fixed_step is kept
    net.generate([1, 2], 3, static=True)
    assert net._fixed_step is not kept  # another batch
    kept = net._fixed_step
    with torch.no_grad():
        next(net.parameters()).mul_(-1)
    assert torch.equal(net.generate([1, 2], 9, static=True), net.generate([1, 2], 9))
    assert net._fixed_step is kept  # weights changed where they are
    other = copy.deepcopy(net).double()
    assert torch.equal(other.generate([1, 2], 9, static=True), other.generate([1, 2], 9))
    assert net._fixed_step is kept and other._fixed_step is not kept
    with torch.no_grad():
        next(net.parameters()).mul_(-1)


def test_streams_beside_each_other(net: Any) -> None:
    """Each has a step of its own."""
    pairs = list(zip(net.stream([5, 7], 6, static=True), net.stream([3, 1], 6, static=True), strict=True))
    for place, prompt in enumerate(([5, 7], [3, 1])):
        assert torch.equal(torch.stack([pair[place] for pair in pairs]), net.generate(prompt, 6))


def test_compiled_by_what_is_given(net: Any) -> None:
    torch._dynamo.reset()
    counter = CompileCounter()

    def compiler(step: Any) -> Any:
        return torch.compile(step, fullgraph=True, backend=counter)

    for prompts in (PROMPTS, [[1, 2, 3, 4], [5, 6]]):
        assert torch.equal(net.generate(prompts, 9, static=compiler), net.generate(prompts, 9))
    assert counter.frame_count == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # the compiler's own
def test_compiled_by_the_real_compiler() -> None:
    torch._dynamo.reset()
    made = small("examples/zoo/gpt2").torch(seed=0).eval()
    assert torch.equal(made.generate(PROMPTS, 8, static=torch.compile), made.generate(PROMPTS, 8))


def test_what_cannot_be(net: Any) -> None:
    with pytest.raises(ValueError, match="a beam search puts rows in other places"):
        net.generate([1, 2], 3, beams=2, static=True)
    with pytest.raises(TypeError, match="static is 3, but must be True, False or what compiles a function"):
        net.generate([1, 2], 3, static=3)
    cache = net.prepare()
    net.step(torch.tensor([[1, 2]]), cache)
    with pytest.raises(ValueError, match="a step over a fixed cache takes one item, not 2"):
        net.step(torch.tensor([[1, 2]]), FixedCache(cache, 9, torch.device("cpu")))


def test_capturing_leaves_no_trace(net: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a CUDA that runs what it should record, and again when it is replayed."""
    stream = SimpleNamespace(wait_stream=lambda other: None)
    recorded: list[Any] = []

    @contextlib.contextmanager
    def graph(into: Any) -> Iterator[None]:
        into.replay = lambda: recorded[0].run()
        yield

    monkeypatch.setattr(torch.cuda, "Stream", lambda: stream)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda which: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "CUDAGraph", SimpleNamespace)
    monkeypatch.setattr(torch.cuda, "graph", graph)
    with torch.inference_mode():
        cache = net.prepare()
        scores = net.step(torch.tensor([[5, 7, 11]]), cache, last=1)
        items = scores.argmax(-1)
        fixed = FixedStep(SimpleNamespace(net=net, step_=type(net).step), cache, 20, items, None)
        recorded.append(fixed)
        with torch.inference_mode(False), torch.no_grad():
            fixed.capture(cache)
        for _ in range(6):
            found, right = fixed(items).clone(), net.step(items, cache, last=1)
            torch.testing.assert_close(found, right)
            items = right.argmax(-1)


# -- by themselves ---------------------------------------------------------------------------------------------------

CPU = torch.device("cpu")


def held(count: int = 3, dtype: torch.dtype = torch.float64, rows: int = 2) -> Cache:
    """A cache with a part, after `count` items: all keys, a window of two, a state, and what is kept once."""
    cache = Cache(Configuration("net", "", {}, "x", "t", None), (rows,))
    cache.advance(count)
    part = cache.at("layers.0")
    for now in range(count):
        part.extend("K", torch.full((rows, 1, 2), now + 1.0, dtype=dtype), -2)
        part.extend("near", torch.full((rows, 1), now + 1.0, dtype=dtype), -1, 2)
    part.leave("h", torch.full((rows, 1), 7.0 + count, dtype=dtype), own=1)
    cache.store("memory", torch.full((rows, 4), 1.0 + count, dtype=dtype))
    return cache


def test_a_fixed_cache_holds_what_another_does_where_it_stood() -> None:
    first = held()
    fixed = FixedCache(first, 6, CPU)
    places = {name: x.data_ptr() for name, x in fixed.tensors().items()}
    for cache, row, count in ((first, [1.0, 2.0, 3.0], 3), (held(5), [1.0, 2.0, 3.0, 4.0, 5.0], 5)):
        if cache is not first:
            fixed.fill(cache)
        kept = fixed.tensors()
        assert kept["layers.0.K"][1, :, 1].tolist() == row + [0] * (6 - count)
        assert kept["layers.0.near"][1].tolist() == [0] * (count - 2) + row[-2:] + [0] * (6 - count)
        assert kept["layers.0.h"].tolist() == [[7 + count]] * 2 and kept["memory"].tolist() == [[1 + count] * 4] * 2
        assert {name: x.data_ptr() for name, x in kept.items()} == places
        assert not {x.data_ptr() for x in cache.tensors().values()} & set(places.values())
        assert fixed.place is not None and fixed.place.tolist() == [count - 1]
    assert (fixed.configuration, fixed.batch, fixed.room) == (first.configuration, (2,), 6)
    assert (fixed.start, fixed.end, fixed.next) == (5, 6, 5)
    part = fixed.at("layers.0")
    assert isinstance(part, FixedCache) and part.whole is fixed and part.place is fixed.place and part.end == 6
    assert part.span(1) == 6 and part.sizes == {} and part.own == {"h": 1}


def test_a_step_over_a_fixed_cache_goes_on_in_place() -> None:
    fixed = FixedCache(held(), 6, CPU)
    part = fixed.at("layers.0")
    fixed.advance(1)
    assert part.places(CPU).tolist() == [3] and part.rows(torch.arange(12).reshape(2, 6), -1).tolist() == [[3], [9]]
    assert part.rows(torch.arange(12).reshape(6, 2), -2).tolist() == [[6, 7]]
    found = part.extend("K", torch.full((2, 1, 2), 9.0, dtype=torch.float64), -2)
    assert found[0, :, 0].tolist() == [1, 2, 3, 9, 0, 0]
    near = part.extend("near", torch.full((2, 1), 9.0, dtype=torch.float64), -1, 2)
    assert near[0].tolist() == [0, 2, 3, 9, 0, 0]
    state = part.resume("h", torch.zeros(2, 1))
    assert state.tolist() == [[10], [10]]
    state.add_(1)
    assert part.resume("h", torch.zeros(2, 1)).tolist() == [[10], [10]]
    where = part.states["h"].data_ptr()
    part.leave("h", torch.full((2, 1), 5.0))
    assert part.states["h"].data_ptr() == where and part.resume("h", torch.zeros(1)).tolist() == [[5], [5]]
    for count in (0, 2):
        with pytest.raises(ValueError, match=f"^net: a step over a fixed cache takes one item, not {count}$"):
            fixed.advance(count)
    assert part.places(CPU).tolist() == [3]


def test_caches_of_one_form() -> None:
    form = cache_form(held())
    assert form == cache_form(held()) == cache_form(held(5))
    for other in (held(dtype=torch.float32), held(rows=3)):
        assert form != cache_form(other)
    for name in ("K", "h", "part", "batch", "sizes", "once"):
        other = held()
        part = other.at("layers.0")
        if name == "K":
            part.grown["K"] = part.grown["near"]
        elif name == "h":
            part.leave("h", torch.zeros(2, 2, dtype=torch.float64))
        elif name == "part":
            other.at("layers.1")
        elif name == "batch":
            other.batch = (2, 1)
        elif name == "sizes":
            other.sizes["source"] = 3
        else:
            other.store("memory", torch.zeros(2, 5, dtype=torch.float64))
        assert form != cache_form(other), name


class Counted(nn.Module):
    """A model of which a step says what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))
        self.register_buffer("table", torch.zeros(3))


@torch.inference_mode()
def step_of(net: Counted, items: Tensor, cache: Any, last: int) -> Tensor:
    cache.advance(1)
    return cache.place + items * last * net.w


def counted(longest: int | None = None) -> Any:
    return SimpleNamespace(net=Counted(), step_=step_of, decodes=SimpleNamespace(longest=longest))


def test_a_fixed_step_is_made_with_room_to_spare_and_used_again() -> None:
    items = torch.ones(2, 1)
    for longest, room, wanted in ((None, 1, 128), (None, 128, 128), (None, 129, 256), (200, 150, 200), (900, 150, 256)):
        assert fixed_step(counted(longest), held(), room, items, True).cache.room == wanted
    made = counted()
    model = made.net
    step = fixed_step(made, held(), 100, items, True)
    assert "_fixed_step" not in model.__dict__  # whoever uses it puts it there
    assert step(items * 2).tolist() == [[3 + 2.0] * 2] * 2 and step(items).tolist() == [[4 + 1.0] * 2] * 2
    assert not step.scores.requires_grad and not step.scores.is_inference()

    def again(cache: Cache, room: int = 100, static: Any = True) -> FixedStep:
        model.__dict__["_fixed_step"] = step
        found = fixed_step(made, cache, room, items, static)
        assert "_fixed_step" not in model.__dict__
        return found

    assert again(held(5)) is step and step(items).tolist() == [[5 + 1.0] * 2] * 2  # filled anew
    assert again(held(), 128) is step and again(held(), 129) is not step
    assert again(held(rows=3)) is not step
    compiled = again(held(), static=lambda step: lambda *given, **named: 2 * step(*given, **named))
    assert compiled is not step and compiled(items).tolist() == [[8.0] * 2] * 2
    model.w.data = torch.zeros(2)
    assert again(held()) is not step
    assert step.serves(made, held(), 1, None) is False
    step.weights = weight_addresses(model)
    assert len(step.weights) == 2 and again(held()) is step
    model.table = torch.zeros(3)
    assert again(held()) is not step
    copied: object = copy.copy(step)
    assert copied is None  # a copy of a model makes its own
