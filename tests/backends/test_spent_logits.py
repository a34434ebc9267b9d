"""Cross-entropy in the memory of its logits: the same numbers and gradients, and only where nothing else reads them."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import attnc
from attnc.backends.runtime.torch.losses import cross_entropy

HEAD = """
width seq
depth model = 8, vocab = 11
model f(x: [seq, model], ids: vocab[seq], kept: bool[seq]) -> {out} {{
    param E: [vocab, model] ~ normal(1.0)
    logits = {logits}
    loss = cross_entropy[vocab](logits, ids, smoothing = 0.1)
    return {result}
}}
"""
MEAN = {"out": "[]", "result": "mean[seq](loss where kept)"}


def model(**parts: str) -> attnc.Model:
    return attnc.loads(HEAD.format(**{"logits": "dot[model](x, E)", **MEAN, **parts})).model("f")


def spends(found: attnc.Model) -> bool:
    return " cross_entropy(" in found.source("torch").rsplit("def forward", 1)[1]


def test_only_products_that_nothing_else_reads_are_spent() -> None:
    assert spends(model())
    assert spends(model(logits="linear.head[model -> vocab](x)"))
    assert not spends(model(logits="dot[model](x, E) / 2"))
    both = {"out": "(loss: [seq], best: vocab[seq])", "result": "loss, argmax[vocab](logits)"}
    assert not spends(model(**both))
    assert not spends(model(out="(loss: [seq], logits: [seq, vocab])", result="loss, logits"))
    assert not spends(model(logits="E[model = argmax[model](x)]"))


def test_logits_of_a_model_called_here() -> None:
    text = """
width seq
depth model = 8, vocab = 11
model inner(x: [seq, model]) -> {out} {{
    logits = linear[model -> vocab](x)
    return {result}
}}
model f(x: [seq, model], ids: vocab[seq]) -> [seq] {{
    {names} = inner(x)
    return cross_entropy[vocab](a, ids)
}}
"""
    one = {"out": "[seq, vocab]", "result": "logits", "names": "a"}
    two = {"out": "(a: [seq, vocab], b: [seq, vocab])", "result": "logits, logits", "names": "a, _"}
    assert spends(attnc.loads(text.format(**one)).model("f"))
    assert not spends(attnc.loads(text.format(**two)).model("f"))


@pytest.mark.parametrize("logits", ["dot[model](x, E)", "linear.head[model -> vocab](x)"])
def test_the_same_loss_and_gradients(logits: str) -> None:
    found = model(logits=logits)
    ours = found.torch(seed=0, dtype=torch.float64)
    plain = found.torch(seed=0, dtype=torch.float64, capture=("logits",))  # what is captured is not spent
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    ids, kept = torch.randint(11, (2, 5)), torch.rand(2, 5) < 0.7
    grads = []
    for net, first in ((ours, lambda y: y), (plain, lambda y: y[0])):
        given = x.clone().requires_grad_()
        loss = first(net(given, ids, kept))
        (loss * torch.tensor([1.0, 3.0])).sum().backward()
        grads.append([loss, given.grad, *(p.grad for p in net.parameters() if p.grad is not None)])
    for a, b in zip(*grads, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize(("dtype", "near"), [(torch.float64, 1e-12), (torch.float32, 1e-5), (torch.bfloat16, 2e-2)])
def test_in_parts_of_the_rows(smoothing: float, dtype: torch.dtype, near: float) -> None:
    logits = torch.randn(5, 2**18 + 1, dtype=dtype) * 3  # three rows are a part
    ids, weight = torch.randint(2**18 + 1, (5,)), torch.tensor([0.0, 1.0, -2.0, 3.0, 0.5], dtype=dtype)
    one, other = (logits.clone().requires_grad_() for _ in range(2))
    mine = cross_entropy(one * 1, ids, smoothing)
    plain = F.cross_entropy(other.double(), ids, reduction="none", label_smoothing=smoothing).to(dtype)
    assert mine.dtype == dtype
    torch.testing.assert_close(mine, plain, rtol=near, atol=near)
    for loss in (mine, plain):
        (loss * weight).sum().backward()
    assert one.grad is not None and other.grad is not None
    torch.testing.assert_close(one.grad, other.grad, rtol=near, atol=near)


def test_a_row_that_is_more_than_a_part() -> None:
    logits, ids = torch.randn(2, 2**20 + 1) * 3, torch.tensor([5, 2**20])
    expected = F.cross_entropy(logits, ids, reduction="none")
    torch.testing.assert_close(cross_entropy(logits.clone(), ids), expected, rtol=1e-4, atol=1e-4)


def test_logits_so_large_that_their_powers_overflow() -> None:
    logits, ids = torch.tensor([[1e4, 0.0, 1e4], [-1e4, -2e4, 3e4]]), torch.tensor([0, 1])
    given = logits.clone().requires_grad_()
    loss = cross_entropy(given * 1, ids, 0.1)
    torch.testing.assert_close(loss, F.cross_entropy(logits, ids, reduction="none", label_smoothing=0.1))
    loss.sum().backward()
    assert given.grad is not None and given.grad.isfinite().all()


def test_autocast_gives_losses_in_float32() -> None:
    net = model().torch(seed=0)
    x, ids, kept = torch.randn(4, 5, 8), torch.randint(11, (4, 5)), torch.ones(4, 5, dtype=torch.bool)
    exact = net(x, ids, kept)
    with torch.autocast("cpu", torch.bfloat16):
        loss = net(x, ids, kept)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, exact, rtol=3e-2, atol=3e-2)
    loss.sum().backward()


def test_compiled_and_under_transforms() -> None:
    net = model().torch(seed=0)
    x, ids, kept = torch.randn(4, 5, 8), torch.randint(11, (4, 5)), torch.ones(4, 5, dtype=torch.bool)
    compiled = torch.compile(net, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, ids, kept), net(x, ids, kept))
    slope = torch.func.grad(lambda x: net(x, ids, kept).sum())(x)
    given = x.clone().requires_grad_()
    net(given, ids, kept).sum().backward()
    torch.testing.assert_close(slope, given.grad)
    logits, ids = torch.randn(3, 7), torch.tensor([0, 6, 2])
    found = [torch.func.grad(lambda x, ids=some: cross_entropy(x, ids).sum())(logits) for some in (ids, ids.int())]
    torch.testing.assert_close(*found)


def test_a_gradient_can_be_taken_once() -> None:
    net = model().torch(seed=0)
    loss = net(torch.randn(5, 8), torch.randint(11, (5,)), torch.ones(5, dtype=torch.bool))
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError) as caught:
        loss.backward()
    assert str(caught.value) == (
        "cross_entropy: a second backward pass through it, but the first one made the gradient in the memory of the"
        " logits; compute the loss again, or take both gradients in one pass"
    )
    again = net(torch.randn(5, 8), torch.randint(11, (5,)), torch.ones(5, dtype=torch.bool))
    with pytest.raises(RuntimeError) as caught:
        torch.autograd.grad(again, net.E, create_graph=True)
    assert str(caught.value) == (
        "cross_entropy: create_graph asks for the gradient of its gradient, which is made in the memory of the logits"
        " and has none; compute the loss from the logits with F.cross_entropy instead"
    )
