"""Every way into a model that runs, given what it cannot take: one message that begins with the model's name and is in
its axes' names. What Python itself says of a missing or unknown argument names that argument; nothing else is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

import attnc

SPEC = """
width seq <= 6
width past like seq
width source
depth model = 4, vocab = 5
model lm(ids: vocab[seq]) -> [seq, vocab] causal seq {
    x = embed.E[vocab -> model](ids)
    w = softmax[past](dot[model](x, x[seq as past]) where past <= seq)
    return linear.out[model -> vocab](dot[past](w, x[seq as past]))
}
model two(memory: [source, model], ids: vocab[seq]) -> [seq, vocab] causal seq {
    x = embed.E[vocab -> model](ids)
    return linear.out[model -> vocab](x + dot[source](softmax[source](dot[model](x, memory)), memory))
}
model feat(x: [seq, model], open: bool[seq], n: int[seq]) -> [seq, model] causal seq {
    y = linear.a[model -> model](x)
    w = softmax[past](dot[model](y, y[seq as past]) where past <= seq and open[seq as past])
    return dot[past](w, y[seq as past]) + broadcast[model](n * 1.0)
}
"""
SIZES = {"seq": 3, "source": 4, "model": 4}
KINDS = (
    "float16 float32 float64 bfloat16 bool int8 uint8 int16 int32 int64 uint16 uint32 complex64 complex128 "
    "float8_e4m3fn object str"
)
BY_PYTHON = r"\S+\(\) (missing|got an unexpected|takes)"
NUMBERS: tuple[Any, ...] = (
    [1, 2], (1,), "a", None, -1, 1.5, 1e400, float("nan"), True, 2**70, np.array([1, 2]), torch.tensor([1, 2]), {}, 1j,
)  # fmt: skip
OPTIONS = ("temperature", "top_k", "top_p", "eos", "seed", "beams", "length_penalty")
Given = dict[str, Any]


def odd(x: Any) -> Iterator[tuple[str, Any]]:
    """What may be given in place of an input by mistake; some of it is right."""
    library: Any = torch if isinstance(x, torch.Tensor) else np
    yield from (("none", None), ("text", "abc"), ("list", x.tolist()), ("number", 1), ("no rank", x.reshape(-1)[0]))
    yield "other library", x.numpy() if library is torch else torch.as_tensor(x)
    yield from (("rank 1 less", x[0]), ("rank 2 less", x[0, 0]), ("rank more", x[None]), ("narrow", x[..., :1]))
    yield from (("longer", library.concatenate([x] * 9, 1)), ("empty", x[:, :0]), ("no row", x[:0]))
    yield "a row more", library.concatenate([x, x[:1]], 0)
    yield "negative", -x if "bool" not in str(x.dtype) else x
    for kind in KINDS.split():
        if library is torch:
            if hasattr(torch, kind):
                yield kind, x.to(getattr(torch, kind))
        elif kind not in ("bfloat16", "float8_e4m3fn"):
            yield kind, x.astype(kind)
    if library is torch:
        yield from (("meta", x.to("meta")), ("sparse", (x * 1.0).to_sparse()))


def told(model: str, call: Callable[[], Any]) -> str:
    """Nothing, or what is wrong with what is said."""
    try:
        call()
    except (TypeError, ValueError, IndexError) as error:
        said = str(error)
        fits = said.startswith(f"{model}: ") or re.match(BY_PYTHON, said)
        return "" if fits and "\n" not in said else f"{type(error).__name__}: {said}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def inputs(model: attnc.Model, backend: str) -> Given:
    draw, found = np.random.default_rng(0), {}
    for port in model.inputs:
        shape = (2, *(SIZES[axis] for axis in port.axes))
        if port.name in ("memory", "x"):
            x = draw.normal(size=shape).astype("f4")
        else:
            x = draw.random(shape) < 0.5 if port.name == "open" else draw.integers(1, 4, shape)
        found[str(port.name)] = torch.as_tensor(x) if backend == "torch" else x
    return found


def sensible(number: Any) -> bool:
    """Not so large that it takes all memory, as it should."""
    return not isinstance(number, int) or number < 99


def entries(net: Any, good: Given) -> Iterator[tuple[str, Given, Callable[[Given], Any]]]:
    before = {name: x for name, x in good.items() if name == "memory"}
    items = {name: x for name, x in good.items() if name != "memory"}

    def prepared(given: Given) -> Any:
        return net.prepare(**{name: given[name] for name in before if name in given})

    yield "call", good, lambda given: net(**given)
    yield "step", items, lambda given: net.step(**given, cache=prepared(before))
    yield "prepare", before, lambda given: net.prepare(**given)
    if "ids" in good:
        yield "generate", good, lambda given: net.generate(given.pop("ids"), 2, **given)
        yield "stream", good, lambda given: list(net.stream(given.pop("ids"), 2, **given))
        yield "beams", good, lambda given: net.generate(given.pop("ids"), 2, beams=2, **given)


def wrong(net: Any, good: Given) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Calls, each with what it gets wrong."""
    for entry, given, call in entries(net, good):
        yield f"{entry} as it should be", partial(call, {**given})
        for name in given:
            for what, x in odd(given[name]):
                yield f"{entry}: {name} {what}", partial(call, {**given, name: x})
            if name != "ids":
                yield f"{entry}: {name} missing", partial(call, {n: x for n, x in given.items() if n != name})
        yield f"{entry}: another", partial(call, {**given, "nothing": 1})
    before = {name: x for name, x in good.items() if name == "memory"}
    items = {name: x for name, x in good.items() if name != "memory"}
    for bad in (None, 1, "a", [], type(net.prepare(**before))):
        yield f"step: cache {bad!r}", partial(net.step, **items, cache=bad)
    for last in filter(sensible, NUMBERS):
        yield f"step: last {last!r}", partial(net.step, **items, cache=net.prepare(**before), last=last)
    yield "step: no cache", partial(net.step, **items)
    yield "call: too many", partial(net, *good.values(), 1, 2)
    if "ids" in good:
        yield from wrong_options(net, good["ids"], before)


def wrong_options(net: Any, ids: Any, before: Given) -> Iterator[tuple[str, Callable[[], Any]]]:
    def streamed(*given: Any, **named: Any) -> list[Any]:
        return list(net.stream(*given, **named))

    for bad in NUMBERS:
        for option in OPTIONS if sensible(bad) else OPTIONS[:5]:
            more: Given = {"temperature": 1.0} if option in ("top_k", "top_p", "seed") else {}
            more |= {**before, option: bad}
            yield f"generate: {option} {bad!r}", partial(net.generate, ids, 2, **more)
            yield f"stream: {option} {bad!r}", partial(streamed, ids, 2, **more)
        if sensible(bad):
            yield f"generate: max_new {bad!r}", partial(net.generate, ids, bad, **before)
    yield "generate: no max_new", partial(net.generate, ids, **before)
    yield "generate: nothing", partial(net.generate, **before)


@pytest.mark.parametrize("backend", ["torch", "numpy"])
@pytest.mark.parametrize("name", ["lm", "two", "feat"])
def test_each_is_told_in_the_models_words(name: str, backend: str) -> None:
    model = attnc.loads(SPEC).model(name)
    net: Any = model.torch(seed=0).eval() if backend == "torch" else model.numpy(seed=0)
    found = []
    for what, call in wrong(net, inputs(model, backend)):
        said = told(name, call)
        if said:
            found.append(f"{what}: {said}")
    assert not found, "\n".join(found)


def test_what_is_right_is_taken() -> None:
    """Reals of another type where PyTorch casts, or where some of the weights are of that type."""
    net = attnc.loads(SPEC).model("feat").torch(seed=0).eval()
    x, truths, n = torch.randn(2, 3, 4), torch.ones(2, 3, dtype=torch.bool), torch.ones(2, 3, dtype=torch.int64)
    with torch.autocast("cpu", torch.bfloat16):
        net(x.to(torch.bfloat16), truths, n)
    with pytest.raises(TypeError, match=r"feat: `x` is torch\.float64, but the weights are torch\.float32: give it as"):
        net(x.double(), truths, n)
    net.double()(x.double(), truths, n)


def test_targets_may_be_wider_than_weights_of_half_precision() -> None:
    model = attnc.loads(
        "width seq\ndepth d = 4\nmodel fit(x: [seq, d], y: [seq]) -> [] {\n"
        "    return mean[seq]((sum[d](linear.a[d -> d](x)) - y) ^ 2)\n}\n"
    ).model("fit")
    net, x, y = model.torch(seed=0, dtype="bfloat16"), torch.randn(3, 4), torch.randn(3)
    net(x.to(torch.bfloat16), y).backward()
    with pytest.raises(TypeError, match=r"fit: `y` is torch\.float64, but the weights are torch\.bfloat16"):
        net(x.to(torch.bfloat16), y.double())


def test_a_model_that_is_called_takes_what_its_caller_makes() -> None:
    """A table is kept in float64, whatever the type of the weights."""
    text = (
        "width s\ndepth d = 4\nmodel inner(x: [s, d]) -> [s, d] {\n    param g: [d] ~ ones\n    return x * g\n}\n"
        "model net(y: [s, d]) -> [s, d] {\n    return y + inner(cos(s * 1.0 + d))\n}\n"
    )
    net = attnc.loads(text).model("net").torch(seed=0)
    assert net(torch.zeros(3, 4)).dtype is torch.float32
