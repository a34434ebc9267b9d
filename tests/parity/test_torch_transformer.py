"""The Transformer against `torch.nn.Transformer` with the same weights, and NumPy against torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import attnc

torch = pytest.importorskip("torch")

# The reference says when its own fast path does not apply; that is none of ours.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:torch.nn.modules.transformer")

SPEC = Path(__file__).parents[2] / "examples" / "torch_transformer.attn"
TOLERANCE = {"float32": 2e-5, "float64": 1e-10}  # of the output's standard deviation


def copied(reference: torch.nn.Transformer, layers: int) -> dict[str, torch.Tensor]:
    """torch's weights under our paths: its attention stacks Q, K and V in one matrix."""
    theirs = dict(reference.state_dict())
    ours: dict[str, torch.Tensor] = {}

    def attention(source: str, path: str) -> None:
        for kind in ("weight", "bias"):
            parts = theirs.pop(f"{source}.in_proj_{kind}").chunk(3)
            ours.update({f"{path}.{name}.{kind}": part for name, part in zip("QKV", parts, strict=True)})
            ours[f"{path}.O.{kind}"] = theirs.pop(f"{source}.out_proj.{kind}")

    def rename(source: str, path: str) -> None:
        for kind in ("weight", "bias"):
            ours[f"{path}.{kind}"] = theirs.pop(f"{source}.{kind}")

    for stack, norms in (("encoder", ("seen", "fed")), ("decoder", ("seen", "read", "fed"))):
        for layer in range(layers):
            at, here = f"{stack}.layers.{layer}", f"{stack}.{layer}"
            attention(f"{at}.self_attn", f"{here}.self")
            if stack == "decoder":
                attention(f"{at}.multihead_attn", f"{here}.cross")
            for number, name in enumerate(norms, 1):
                rename(f"{at}.norm{number}", f"{here}.{name}.norm")
            rename(f"{at}.linear1", f"{here}.feed_forward.up")
            rename(f"{at}.linear2", f"{here}.feed_forward.down")
    rename("encoder.norm", "memory")
    rename("decoder.norm", "final")
    assert not theirs, f"not copied: {sorted(theirs)}"
    return ours


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("layers", "heads", "model", "inner", "source", "target", "batch"),
    [
        (2, 4, 20, 28, 7, 5, (3,)),
        (1, 3, 12, 16, 5, 6, ()),
        (12, 2, 8, 12, 4, 3, (2,)),
        (1, 1, 4, 5, 1, 1, (2, 3)),
        (3, 6, 24, 30, 1, 9, (2,)),
    ],
)
def test_equals_torch(
    layers: int, heads: int, model: int, inner: int, source: int, target: int, batch: tuple[int, ...], dtype: str
) -> None:
    torch.manual_seed(layers * 100 + source)
    kind = getattr(torch, dtype)
    reference = torch.nn.Transformer(
        model, heads, layers, layers, inner, dropout=0.1, batch_first=True, dtype=kind
    ).eval()
    with torch.no_grad():
        for weight in reference.parameters():  # the defaults have zero biases and unit gains
            weight.add_(torch.randn_like(weight) * 0.1)
    sizes = {"layers": layers, "heads": heads, "model": model, "inner": inner}
    ours = attnc.load(SPEC, sizes=sizes).model("transformer")
    weights = copied(reference, layers)
    assert {path: tuple(spec.shape) for path, spec in ours.weights.items()} == {
        path: tuple(weight.shape) for path, weight in weights.items()
    }

    x = torch.randn(*batch, source, model, dtype=kind)
    y = torch.randn(*batch, target, model, dtype=kind)
    real = torch.rand(*batch, source) > 0.3
    real[..., 0] = True  # torch gives NaN for a row that sees nothing
    written = torch.rand(*batch, target) > 0.3
    written[..., 0] = True

    net = ours.torch(weights=weights, dtype=kind).eval()
    with torch.no_grad():
        found = net(x, y, real, written)
        flat = [part.reshape(-1, *part.shape[len(batch) :]) for part in (x, y, real, written)]
        expected = reference(
            flat[0],
            flat[1],
            tgt_mask=torch.ones(target, target, dtype=torch.bool).triu(1),
            src_key_padding_mask=~flat[2],
            tgt_key_padding_mask=~flat[3],
            memory_key_padding_mask=~flat[2],
        ).reshape(found.shape)
    error = float((found - expected).abs().max() / expected.std())
    assert error <= TOLERANCE[dtype]

    arrays = {path: weight.numpy() for path, weight in weights.items()}
    plain = ours.numpy(arrays, dtype=dtype)(x.numpy(), y.numpy(), real.numpy(), written.numpy())
    assert plain.dtype == np.dtype(dtype)
    assert float(np.abs(plain - found.numpy()).max() / expected.std()) <= TOLERANCE[dtype]


def test_the_padding_that_torch_cannot_do() -> None:
    """A source of nothing but padding: zeros from the attention, no NaN, in values and gradients."""
    ours = attnc.load(SPEC, sizes={"layers": 2, "heads": 2, "model": 8, "inner": 8}).model("transformer")
    net = ours.torch(seed=1)
    x = torch.randn(2, 3, 8, requires_grad=True)
    y = torch.randn(2, 4, 8)
    real = torch.tensor([[True, False, True], [False, False, False]])
    result = net(x, y, real, torch.ones(2, 4, dtype=torch.bool))
    result.sum().backward()
    assert torch.isfinite(result).all()
    assert torch.isfinite(x.grad).all()
    assert all(torch.isfinite(weight.grad).all() for weight in net.parameters())
