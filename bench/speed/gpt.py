"""GPT: a training step (forward and backward), greedy decoding, and NumPy's forward."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import attnc

from . import peers
from .floor import Product, in_numpy, in_torch, with_gradients
from .peers import Sizes
from .timing import FLOOR, OURS, Case

SPEC = Path(__file__).with_name("gpt.attn")


def spec(sizes: Sizes) -> attnc.Spec:
    return attnc.load(
        SPEC, sizes={"layers": sizes.layers, "model": sizes.model, "heads": sizes.heads, "vocab": sizes.vocab}
    )


def products(sizes: Sizes, rows: int, keys: float | None = None) -> list[Product]:
    """Of one forward pass over `rows` items of each example, which look at `keys` (None: causal, half of the width)."""
    model, head = sizes.model, sizes.model // sizes.heads
    all_rows, seen = sizes.batch * rows, sizes.width / 2 if keys is None else keys
    maps = [(model, 3 * model), (model, model), (model, 4 * model), (4 * model, model)]
    found = [Product(all_rows, inner, out, sizes.layers) for inner, out in maps]
    lead = sizes.batch * sizes.heads
    found += [
        Product(rows, head, round(seen), sizes.layers, lead),
        Product(rows, round(seen), head, sizes.layers, lead),
    ]
    return [*found, Product(all_rows, model, sizes.vocab)]


def training(sizes: Sizes, *, nanogpt: Path | None = None, target: float) -> Case:
    rng = np.random.default_rng(0)
    ids, following = (torch.from_numpy(rng.integers(0, sizes.vocab, (sizes.batch, sizes.width))) for _ in range(2))
    ours = spec(sizes).model("loss").torch(seed=0)
    theirs = {
        "Hugging Face": peers.hugging_face(sizes),
        "x-transformers": peers.x_transformers(sizes),
        "torch.nn": peers.TorchLayers(sizes),
    }
    losses: dict[str, tuple[nn.Module, Callable[[], Tensor]]] = {OURS: (ours, lambda: ours(ids, following).mean())}
    for name, module in theirs.items():
        losses[name] = (module, lambda module=module: cross_entropy(module(ids), following))
    if nanogpt is not None:
        nano = peers.nano_gpt(nanogpt, sizes)
        losses["nanoGPT"] = (nano, lambda: nano(ids, following)[1])

    def step(module: nn.Module, loss: Callable[[], Tensor]) -> Callable[[], None]:
        def call() -> None:
            module.zero_grad(set_to_none=True)
            loss().backward()

        return call

    def check() -> None:
        """Ours and Hugging Face's have the same loss and gradient for the same weights."""
        copied = theirs["Hugging Face"]
        copy_weights(ours, copied, sizes)
        for name in (OURS, "Hugging Face"):
            step(*losses[name])()
        torch.testing.assert_close(losses[OURS][1](), losses["Hugging Face"][1](), rtol=1e-4, atol=1e-5)
        mine, other = ours.E.grad, copied.transformer.wte.weight.grad
        assert float((mine - other).abs().max() / other.std()) < 1e-3

    contenders = {name: step(*entry) for name, entry in losses.items()}
    contenders[FLOOR] = in_torch(with_gradients(products(sizes, sizes.width)))
    what = f"GPT training step, {sizes.layers} layers, d {sizes.model}, T {sizes.width}, vocab {sizes.vocab:,}"
    return Case(f"gpt_train_{sizes.vocab}", what, target, contenders, check)


def cross_entropy(found: object, following: Tensor) -> Tensor:
    logits = getattr(found, "logits", found)
    return F.cross_entropy(logits.flatten(0, 1), following.flatten())


def copy_weights(ours: nn.Module, theirs: nn.Module, sizes: Sizes) -> None:
    """Ours into Hugging Face's GPT-2, whose maps are stored [in, out], queries, keys and values in one."""
    mine = ours.state_dict()
    found = {"transformer.wte.weight": mine["E"], "lm_head.weight": mine["E"], "transformer.wpe.weight": mine["P"]}
    for end in ("weight", "bias"):
        found[f"transformer.ln_f.{end}"] = mine[f"last.{end}"]
    for layer in range(sizes.layers):
        at, to = f"layers.{layer}.", f"transformer.h.{layer}."
        for end in ("weight", "bias"):
            turn = (lambda x: x.T) if end == "weight" else (lambda x: x)
            found[f"{to}ln_1.{end}"], found[f"{to}ln_2.{end}"] = mine[f"{at}see.{end}"], mine[f"{at}feed.{end}"]
            found[f"{to}attn.c_attn.{end}"] = turn(torch.cat([mine[f"{at}self.{part}.{end}"] for part in "QKV"]))
            found[f"{to}attn.c_proj.{end}"] = turn(mine[f"{at}self.O.{end}"])
            found[f"{to}mlp.c_fc.{end}"] = turn(mine[f"{at}fed.up.{end}"])
            found[f"{to}mlp.c_proj.{end}"] = turn(mine[f"{at}fed.down.{end}"])
    theirs.load_state_dict(found)


def numpy_forward(sizes: Sizes, *, target: float) -> Case:
    ids = np.random.default_rng(0).integers(0, sizes.vocab, (sizes.batch, sizes.width))
    ours = spec(sizes).model("gpt").numpy(seed=0)
    reference = spec(sizes).model("gpt").torch(weights=ours.weights).eval()

    def check() -> None:
        with torch.inference_mode():
            other = reference(torch.from_numpy(ids)).numpy()
        assert float(np.abs(ours(ids) - other).max() / other.std()) < 2e-5

    contenders = {
        OURS: lambda: ours(ids),
        "einsum": lambda: with_einsum(ours.weights, ids, sizes),
        FLOOR: in_numpy(products(sizes, sizes.width)),
    }
    return Case("numpy_gpt", f"NumPy GPT forward, T {sizes.width}", target, contenders, check)


def with_einsum(w: dict[str, np.ndarray], ids: np.ndarray, sizes: Sizes) -> np.ndarray:
    """As a page of NumPy has it: einsum throughout, a mask of minus infinities."""

    def norm(x: np.ndarray, at: str) -> np.ndarray:
        scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return scaled * w[f"{at}.weight"] + w[f"{at}.bias"]

    def linear(x: np.ndarray, at: str) -> np.ndarray:
        return np.einsum("bti,oi->bto", x, w[f"{at}.weight"]) + w[f"{at}.bias"]

    def gelu(x: np.ndarray) -> np.ndarray:
        return 0.5 * x * (1 + np.tanh(np.float32(0.79788456) * (x + np.float32(0.044715) * x**3)))

    width, heads = ids.shape[1], sizes.heads
    x = w["E"][ids] + w["P"][:width]
    mask = np.where(np.tri(width, dtype=bool), np.float32(0), np.float32(-np.inf))
    for layer in range(sizes.layers):
        at = f"layers.{layer}."
        y = norm(x, f"{at}see")
        q, k, v = (linear(y, f"{at}self.{part}").reshape(*y.shape[:2], heads, -1) for part in "QKV")
        scores = np.einsum("bqhd,bkhd->bhqk", q, k) / np.float32(q.shape[-1] ** 0.5) + mask
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        x = x + linear(np.einsum("bhqk,bkhd->bqhd", weights, v).reshape(y.shape), f"{at}self.O")
        x = x + linear(gelu(linear(norm(x, f"{at}feed"), f"{at}fed.up")), f"{at}fed.down")
    return np.einsum("bti,oi->bto", norm(x, "last"), w["E"])


def decoding(sizes: Sizes, *, tokens: int, targets: tuple[float, float]) -> list[Case]:
    """Greedy, batch 1, from a prompt of 8 tokens: in PyTorch and in NumPy, beside Hugging Face with its cache."""
    prompt = np.random.default_rng(0).integers(0, sizes.vocab, (1, 8))
    model = spec(sizes).model("gpt")
    plain = model.numpy(seed=0)
    net = model.torch(weights=plain.weights).eval()
    other = peers.hugging_face(sizes).eval()
    copy_weights(net, other, sizes)
    deep = torch.from_numpy(prompt)

    def hugging_face() -> Tensor:
        settings = {"do_sample": False, "pad_token_id": 0, "eos_token_id": None, "max_new_tokens": tokens}
        with torch.inference_mode():
            return other.generate(deep, attention_mask=torch.ones_like(deep), **settings)[:, 8:]

    def check() -> None:
        mine = net.generate(deep, tokens)
        assert torch.equal(mine, hugging_face())
        assert np.array_equal(plain.generate(prompt, tokens), mine.numpy())

    one = Sizes(sizes.layers, sizes.model, sizes.heads, 1, sizes.vocab, 1)
    work = [p for at in range(8, 8 + tokens) for p in products(one, 1, at)]
    what = f"greedy decode, batch 1, {tokens} tokens"
    in_pytorch = {OURS: lambda: net.generate(deep, tokens), "Hugging Face": hugging_face, FLOOR: in_torch(work)}
    in_plain = {OURS: lambda: plain.generate(prompt, tokens), FLOOR: in_numpy(work)}
    return [
        Case("gpt_decode", f"{what}, PyTorch", targets[0], in_pytorch, check),
        Case("gpt_decode_numpy", f"{what}, NumPy", targets[1], in_plain),
    ]
