"""What would be undefined in the padding (a quotient, a logarithm, a root, a remainder by no items) reaches nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import attnc

SPEC = """
width words <= 4 ragged
width others like words
depth heads = 3

model m(x: [words], y: [words]) -> [heads, words] {
    a = log_softmax[words](x * cos(heads)) + log(abs(y) - 1 + 0.001 * (heads + 1)) / (y - 1.0)
    n = linear.A[heads -> heads](a + rsqrt(y - 1) + sqrt(y - 1.5) + (y - 1) ^ (-1))
    later = y[words = (words + 1) % |words|]
    w = softmax[others](dot[heads](n, n[words as others]) where (others - words) % 3 == 0 and x >= 0.3)
    return dot[others](w, n[words as others]) + later
}
"""


def test_nothing_undefined_leaves_the_padding() -> None:
    model = attnc.loads(SPEC).model("m")
    net, plain = model.torch(seed=0, dtype=torch.float64), model.numpy(seed=0, dtype=np.float64)
    rng = np.random.default_rng(0)
    x, y, lengths = rng.normal(size=(4, 3)), 2 + rng.random((4, 3)), np.array([2, 1, 3, 0])
    for row, length in enumerate(lengths):
        x[row, length:] = y[row, length:] = np.nan
    given = torch.tensor(x, requires_grad=True), torch.tensor(y, requires_grad=True)
    found = net(*given, torch.tensor(lengths))
    np.testing.assert_allclose(plain(x, y, lengths), found.detach().numpy(), atol=1e-10)
    for row, length in enumerate(lengths):
        assert not found[row, :, length:].any()
        if length:
            alone = plain(x[row : row + 1, :length], y[row : row + 1, :length], lengths[row : row + 1])
            np.testing.assert_allclose(found[row : row + 1, :, :length].detach().numpy(), alone, atol=1e-10)
    found.sum().backward()
    for grad in (*(weight.grad for weight in net.parameters()), *(one.grad for one in given)):
        assert grad is not None
        assert grad.isfinite().all()


@pytest.mark.parametrize(
    "body",
    [
        "dot[k](softmax[k](dot[d](linear.Q[d -> d](x), y) / sqrt(|k|)), y)",
        "dot[k](softmax[k](dot[d](linear.Q[d -> d](x), y) * log(|k|)), y)",
        "dot[k](softmax[k](dot[d](linear.Q[d -> d](x), y)) / |k|, y)",
        "x * broadcast[q](sum[k](linear.Q[d -> d](y) / |k|))",
        "x * broadcast[q](sum[k](linear.Q[d -> d](y) * (k / |k|)))",
        "x * broadcast[q](sum[k](linear.Q[d -> d](y) * (1 / (|k| * 2 - |k|))))",
    ],
)
def test_the_size_of_no_items_spoils_no_gradient(body: str) -> None:
    """An empty example is divided by its size of 0: all of that is padding, but gradients would be no numbers."""
    text = f"width q\nwidth k ragged\ndepth d = 4\nmodel f(x: [q, d], y: [k, d]) -> [q, d] {{ return {body} }}\n"
    model = attnc.loads(text).model("f")
    net, rng = model.torch(seed=0, dtype=torch.float64), np.random.default_rng(0)
    x, y, lengths = rng.normal(size=(3, 2, 4)), rng.normal(size=(3, 3, 4)), np.array([3, 0, 2])
    found = net(*(torch.tensor(value) for value in (x, y, lengths)))
    np.testing.assert_allclose(model.numpy(seed=0, dtype=np.float64)(x, y, lengths), found.detach(), atol=1e-10)
    found.sum().backward()
    grads = [weight.grad.clone() for weight in net.parameters() if weight.grad is not None]
    assert len(grads) == 2 and all(grad.isfinite().all() for grad in grads)
    net.zero_grad()
    rows = [0, 2]  # the empty one adds nothing
    net(*(torch.tensor(value[rows]) for value in (x, y, lengths))).sum().backward()
    for grad, weight in zip(grads, net.parameters(), strict=True):
        np.testing.assert_allclose(grad, weight.grad, atol=1e-10)
