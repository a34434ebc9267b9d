"""Encoder and decoder: a training step (forward and backward), and greedy decoding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import attnc

from .floor import Product, in_torch, with_gradients
from .timing import FLOOR, OURS, Case

SPEC = Path(__file__).with_name("seq2seq.attn")


@dataclass(frozen=True, slots=True)
class Sizes:
    """Layers on each side, depth of the stream, heads, widths of source and target, vocabulary, batch."""

    layers: int = 3
    model: int = 512
    heads: int = 8
    source: int = 64
    target: int = 64
    vocab: int = 8192
    batch: int = 8


def sizes(small: bool) -> Sizes:
    return Sizes(1, 64, 2, 12, 10, 256, 2) if small else Sizes()


def model(sizes: Sizes, name: str) -> attnc.Model:
    given = {"layers": sizes.layers, "model": sizes.model, "heads": sizes.heads, "vocab": sizes.vocab}
    return attnc.load(SPEC, sizes=given).model(name)


class TorchTransformer(nn.Module):
    """torch.nn.Transformer between embeddings, as its tutorial has it."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.E = nn.Embedding(sizes.vocab, sizes.model)
        self.scale = sizes.model**0.5
        self.inside = nn.Transformer(
            sizes.model, sizes.heads, sizes.layers, sizes.layers, 4 * sizes.model, 0.0, batch_first=True
        )
        place, depth = torch.arange(1024)[:, None], torch.arange(sizes.model)
        angle = place / 10000 ** (2 * (depth // 2) / sizes.model)
        self.register_buffer("wave", torch.where(depth % 2 == 0, angle.sin(), angle.cos()))

    def embed(self, ids: Tensor) -> Tensor:
        return self.E(ids) * self.scale + self.wave[: ids.shape[-1]]

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[-1])
        x = self.inside(self.embed(source), self.embed(target), tgt_mask=mask, tgt_is_causal=True)
        return x @ self.E.weight.mT


def marian(sizes: Sizes) -> nn.Module:
    """Marian of transformers: the same architecture, norms last, one embedding for all."""
    from transformers import MarianConfig, MarianMTModel

    return MarianMTModel(
        MarianConfig(
            vocab_size=sizes.vocab, decoder_vocab_size=sizes.vocab, max_position_embeddings=1024, d_model=sizes.model,
            encoder_layers=sizes.layers, decoder_layers=sizes.layers, encoder_attention_heads=sizes.heads,
            decoder_attention_heads=sizes.heads, encoder_ffn_dim=4 * sizes.model, decoder_ffn_dim=4 * sizes.model,
            dropout=0.0, attention_dropout=0.0, activation_dropout=0.0, activation_function="relu",
            scale_embedding=True, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, forced_eos_token_id=None,
        )
    )  # fmt: skip


def products(sizes: Sizes) -> list[Product]:
    """Of one forward pass; the decoder's self-attention sees half of its width."""
    model, head, lead = sizes.model, sizes.model // sizes.heads, sizes.batch * sizes.heads
    source, target = sizes.batch * sizes.source, sizes.batch * sizes.target
    found = []
    for rows, attentions in ((source, 1), (target, 2)):
        found += [
            Product(rows, model, 4 * model, sizes.layers),
            Product(rows, 4 * model, model, sizes.layers),
            Product(rows, model, model, 2 * attentions * sizes.layers),  # queries and results
        ]
    found += [Product(source, model, model, 4 * sizes.layers), Product(target, model, model, 2 * sizes.layers)]
    for rows, keys in (
        (sizes.source, sizes.source),
        (sizes.target, sizes.target // 2),
        (sizes.target, sizes.source),
    ):
        found += [Product(rows, head, keys, sizes.layers, lead), Product(rows, keys, head, sizes.layers, lead)]
    return [*found, Product(target, model, sizes.vocab)]


def copy_weights(ours: nn.Module, theirs: TorchTransformer, sizes: Sizes) -> None:
    """Ours into torch.nn.Transformer: its attentions have biases (made 0), its stacks end in a norm (left out)."""
    mine = ours.state_dict()
    found = {name: torch.zeros_like(x) for name, x in theirs.state_dict().items()}
    found["E.weight"], found["wave"] = mine["E"], theirs.wave
    for side, parts in (
        ("encoder", {"self": "self_attn"}),
        ("decoder", {"self": "self_attn", "cross": "multihead_attn"}),
    ):
        norms = ["seen", "fed"] if side == "encoder" else ["seen", "read", "fed"]
        for layer in range(sizes.layers):
            at, to = f"{side[:-1]}.{layer}.", f"inside.{side}.layers.{layer}."
            for name, theirs_name in parts.items():
                found[f"{to}{theirs_name}.in_proj_weight"] = torch.cat([mine[f"{at}{name}.{p}.weight"] for p in "QKV"])
                found[f"{to}{theirs_name}.out_proj.weight"] = mine[f"{at}{name}.O.weight"]
            for end in ("weight", "bias"):
                found[f"{to}linear1.{end}"] = mine[f"{at}feed_forward.up.{end}"]
                found[f"{to}linear2.{end}"] = mine[f"{at}feed_forward.down.{end}"]
                for number, norm in enumerate(norms, 1):
                    found[f"{to}norm{number}.{end}"] = mine[f"{at}{norm}.{end}"]
    theirs.load_state_dict(found)
    theirs.inside.encoder.norm = theirs.inside.decoder.norm = None


def training(sizes: Sizes, *, target: float) -> Case:
    rng = np.random.default_rng(0)
    source = torch.from_numpy(rng.integers(2, sizes.vocab, (sizes.batch, sizes.source)))
    given, following = (torch.from_numpy(rng.integers(2, sizes.vocab, (sizes.batch, sizes.target))) for _ in range(2))
    ours, in_torch_nn, hugging_face = model(sizes, "loss").torch(seed=0), TorchTransformer(sizes), marian(sizes)
    losses: dict[str, tuple[nn.Module, Callable[[], Tensor]]] = {
        OURS: (ours, lambda: ours(source, given, following).mean()),
        "torch.nn": (in_torch_nn, lambda: loss(in_torch_nn(source, given), following)),
        "Marian": (
            hugging_face,
            lambda: loss(hugging_face(input_ids=source, decoder_input_ids=given).logits, following),
        ),
    }

    def step(module: nn.Module, loss: Callable[[], Tensor]) -> Callable[[], None]:
        def call() -> None:
            module.zero_grad(set_to_none=True)
            loss().backward()

        return call

    def check() -> None:
        copy_weights(ours, in_torch_nn, sizes)
        for name in (OURS, "torch.nn"):
            step(*losses[name])()
        torch.testing.assert_close(losses[OURS][1](), losses["torch.nn"][1](), rtol=1e-4, atol=1e-5)
        mine, other = ours.E.grad, in_torch_nn.E.weight.grad
        assert float((mine - other).abs().max() / other.std()) < 1e-3

    contenders = {name: step(*entry) for name, entry in losses.items()}
    contenders[FLOOR] = in_torch(with_gradients(products(sizes)))
    what = f"encoder-decoder training, {sizes.layers} + {sizes.layers} layers, d {sizes.model}"
    return Case("seq2seq_train", what, target, contenders, check)


def loss(logits: Tensor, following: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), following.flatten())


def decoding(sizes: Sizes, *, tokens: int, target: float) -> Case:
    """Greedy, batch 1; Marian decodes with its cache, torch.nn without one, for it has none."""
    source = torch.from_numpy(np.random.default_rng(0).integers(2, sizes.vocab, (1, sizes.source)))
    start = torch.zeros(1, 1, dtype=torch.long)
    net, other, hugging_face = model(sizes, "translate").torch(seed=0).eval(), TorchTransformer(sizes), marian(sizes)
    other.eval()
    hugging_face.eval()
    copy_weights(net, other, sizes)

    def ours() -> Tensor:
        return net.generate(start, tokens, source_ids=source)

    def torch_nn() -> Tensor:
        ids = start
        with torch.inference_mode():
            memory = other.inside.encoder(other.embed(source))
            for _ in range(tokens):
                mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[-1])
                x = other.inside.decoder(other.embed(ids), memory, tgt_mask=mask, tgt_is_causal=True)
                ids = torch.cat([ids, (x[:, -1:] @ other.E.weight.mT).argmax(-1)], 1)
        return ids[:, 1:]

    def marian_() -> Tensor:
        with torch.inference_mode():
            return hugging_face.generate(
                source, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False, num_beams=1
            )

    def check() -> None:
        assert torch.equal(ours(), torch_nn())

    one = Sizes(sizes.layers, sizes.model, sizes.heads, sizes.source, 1, sizes.vocab, 1)
    model_, head = sizes.model, sizes.model // sizes.heads
    work = [  # the encoder and the keys and values of cross-attention, once
        Product(sizes.source, model_, 4 * model_, sizes.layers),
        Product(sizes.source, 4 * model_, model_, sizes.layers),
        Product(sizes.source, model_, model_, 6 * sizes.layers),
        Product(sizes.source, head, sizes.source, sizes.layers, sizes.heads),
        Product(sizes.source, sizes.source, head, sizes.layers, sizes.heads),
    ]
    for at in range(1, tokens + 1):
        work += [
            Product(1, model_, model_, 6 * one.layers),
            Product(1, model_, 4 * model_, one.layers),
            Product(1, 4 * model_, model_, one.layers),
            Product(1, model_, sizes.vocab),
        ]
        for keys in (at, sizes.source):
            work += [Product(1, head, keys, one.layers, sizes.heads), Product(1, keys, head, one.layers, sizes.heads)]
    contenders = {OURS: ours, "torch.nn": torch_nn, "Marian": marian_, FLOOR: in_torch(work)}
    return Case("seq2seq_decode", f"encoder-decoder decode, {tokens} tokens", target, contenders, check)
