"""What others write by hand for an encoder-decoder, with the weights of ours where their architecture is the same."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .annotated import Annotated


@dataclass(frozen=True, slots=True)
class Sizes:
    """Layers on each side, depth of the stream, heads, widths of source and target, vocabulary, batch; tokens decoded.

    padding: how many items of the source are none, in every second example from the first on.
    """

    layers: int = 3
    model: int = 512
    heads: int = 8
    source: int = 64
    target: int = 64
    vocab: int = 8192
    batch: int = 8
    tokens: int = 64
    padding: int = 0

    def real(self) -> Tensor | None:
        """Truth [batch, source]; None without padding: nobody then has a mask."""
        real = torch.ones(self.batch, self.source, dtype=torch.bool)
        real[::2, self.source - self.padding :] = False
        return real if self.padding else None


def wave(model: int) -> Tensor:
    """Sinusoids [1024, model], sines and cosines in turn (Vaswani et al. 2017, section 3.5)."""
    place, depth = torch.arange(1024)[:, None].double(), torch.arange(model)
    angle = place / 10000 ** (2 * (depth // 2) / model)
    return torch.where(depth % 2 == 0, angle.sin(), angle.cos()).float()


def annotated(sizes: Sizes, weights: dict[str, Tensor]) -> Annotated:
    net = Annotated(sizes.layers, sizes.model, sizes.heads, sizes.vocab, wave(sizes.model))
    net.load_state_dict(weights)
    return net


class TorchTransformer(nn.Module):
    """torch.nn.Transformer between embeddings, as its tutorial has it; its attentions have biases, here 0."""

    wave: Tensor

    def __init__(self, sizes: Sizes, weights: dict[str, Tensor]) -> None:
        super().__init__()
        self.E = nn.Embedding(sizes.vocab, sizes.model)
        self.scale = sizes.model**0.5
        self.inside = nn.Transformer(
            sizes.model, sizes.heads, sizes.layers, sizes.layers, 4 * sizes.model, 0.0, batch_first=True
        )
        self.inside.encoder.norm = self.inside.decoder.norm = None  # the paper has none
        self.register_buffer("wave", wave(sizes.model), persistent=False)
        found = {name: torch.zeros_like(x) for name, x in self.state_dict().items()} | {"E.weight": weights["E"]}
        for at, side, norms in sublayers(sizes):
            to = f"inside.{side}"
            for ours, theirs in {"self": "self_attn", "cross": "multihead_attn"}.items():
                if f"{at}{ours}.O.weight" in weights:
                    parts = [weights[f"{at}{ours}.{part}.weight"] for part in "QKV"]
                    found[f"{to}{theirs}.in_proj_weight"] = torch.cat(parts)
                    found[f"{to}{theirs}.out_proj.weight"] = weights[f"{at}{ours}.O.weight"]
            names = {"feed_forward.up": "linear1", "feed_forward.down": "linear2"}
            for ours, theirs in (names | {norm: f"norm{number}" for number, norm in enumerate(norms, 1)}).items():
                for end in ("weight", "bias"):
                    found[f"{to}{theirs}.{end}"] = weights[f"{at}{ours}.{end}"]
        self.load_state_dict(found)

    def embed(self, ids: Tensor) -> Tensor:
        return self.E(ids) * self.scale + self.wave[: ids.shape[-1]]

    def encoder(self, source: Tensor, real: Tensor | None) -> Tensor:
        return self.inside.encoder(self.embed(source), src_key_padding_mask=None if real is None else ~real)

    def decoder(self, target: Tensor, memory: Tensor, real: Tensor | None) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[-1])
        padding = None if real is None else ~real
        x = self.inside.decoder(
            self.embed(target), memory, tgt_mask=mask, tgt_is_causal=True, memory_key_padding_mask=padding
        )
        return x @ self.E.weight.mT

    def forward(self, source: Tensor, target: Tensor, real: Tensor | None = None) -> Tensor:
        return self.decoder(target, self.encoder(source, real), real)


def sublayers(sizes: Sizes) -> list[tuple[str, str, list[str]]]:
    """For each layer: what its weights begin with for us and for others, and its norms in order."""
    sides = (("encode", "encoder", ["seen", "fed"]), ("decode", "decoder", ["seen", "read", "fed"]))
    return [(f"{a}.{i}.", f"{b}.layers.{i}.", norms) for a, b, norms in sides for i in range(sizes.layers)]


def marian(sizes: Sizes, weights: dict[str, Tensor]) -> nn.Module:
    """Marian of transformers: the same, given our order of sines and cosines; its attentions' biases are 0."""
    from transformers import MarianConfig, MarianMTModel

    net = MarianMTModel(
        MarianConfig(**common(sizes), decoder_vocab_size=sizes.vocab, activation_function="relu", scale_embedding=True)
    )
    found = {name: torch.zeros_like(x) for name, x in net.state_dict().items()}
    for name in ("model.shared", "model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        found[f"{name}.weight"] = weights["E"]
    for side in ("encoder", "decoder"):
        found[f"model.{side}.embed_positions.weight"] = wave(sizes.model)
    names = {"seen": "self_attn_layer_norm", "read": "encoder_attn_layer_norm", "fed": "final_layer_norm"}
    names |= {"feed_forward.up": "fc1", "feed_forward.down": "fc2"}
    for ours, theirs in {"self": "self_attn", "cross": "encoder_attn"}.items():
        projections = {"Q": "q_proj", "K": "k_proj", "V": "v_proj", "O": "out_proj"}
        names |= {f"{ours}.{part}": f"{theirs}.{their_part}" for part, their_part in projections.items()}
    for at, side, _ in sublayers(sizes):
        for ours, theirs in names.items():
            for end in ("weight", "bias"):
                if f"{at}{ours}.{end}" in weights:
                    found[f"model.{side}{theirs}.{end}"] = weights[f"{at}{ours}.{end}"]
    net.load_state_dict(found)
    return net


def bart(sizes: Sizes) -> nn.Module:
    """BART of transformers: learned positions and a norm of the embeddings, so its weights stay its own."""
    from transformers import BartConfig, BartForConditionalGeneration

    return BartForConditionalGeneration(BartConfig(**common(sizes), bos_token_id=0))


def common(sizes: Sizes) -> dict[str, object]:
    """What Marian and BART call our sizes."""
    both = {"layers": sizes.layers, "attention_heads": sizes.heads, "ffn_dim": 4 * sizes.model}
    return {
        "vocab_size": sizes.vocab, "max_position_embeddings": 1024, "d_model": sizes.model, "dropout": 0.0,
        "attention_dropout": 0.0, "activation_dropout": 0.0, "pad_token_id": 0, "eos_token_id": 1,
        "decoder_start_token_id": 0, "forced_eos_token_id": None,
    } | {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in both.items()}  # fmt: skip


def x_transformers(sizes: Sizes) -> nn.Module:
    """The same sizes; norms first, maps without biases and learned positions, so its weights stay its own."""
    from x_transformers import XTransformer

    side = {"num_tokens": sizes.vocab, "depth": sizes.layers, "heads": sizes.heads, "max_seq_len": 1024}
    side |= {"attn_dim_head": sizes.model // sizes.heads, "attn_flash": True, "ff_mult": 4}
    given = {f"{end}_{name}": value for end in ("enc", "dec") for name, value in side.items()}
    return XTransformer(dim=sizes.model, tie_token_emb=True, **given)
