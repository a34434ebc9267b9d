"""What others write by hand, at the sizes of a benchmark."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of a GPT: layers, depth of the stream, heads, width, vocabulary, examples in a batch."""

    layers: int = 6
    model: int = 384
    heads: int = 6
    width: int = 256
    vocab: int = 8192
    batch: int = 4


def hugging_face(sizes: Sizes) -> nn.Module:
    """GPT-2 of transformers, with the attention that it takes by itself (SDPA)."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=sizes.vocab, n_positions=1024, n_embd=sizes.model, n_layer=sizes.layers, n_head=sizes.heads,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, activation_function="gelu",
    )  # fmt: skip
    return GPT2LMHeadModel(config)


def x_transformers(sizes: Sizes) -> nn.Module:
    from x_transformers import Decoder, TransformerWrapper

    return TransformerWrapper(
        num_tokens=sizes.vocab, max_seq_len=1024, tie_embedding=True,
        attn_layers=Decoder(dim=sizes.model, depth=sizes.layers, heads=sizes.heads,
                            attn_dim_head=sizes.model // sizes.heads, attn_flash=True, ff_mult=4),
    )  # fmt: skip


class TorchLayers(nn.Module):
    """torch.nn's encoder layers under a causal mask: what its tutorial writes."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.E = nn.Embedding(sizes.vocab, sizes.model)
        self.P = nn.Embedding(1024, sizes.model)
        layer = nn.TransformerEncoderLayer(
            sizes.model, sizes.heads, 4 * sizes.model, 0.0, F.gelu, batch_first=True, norm_first=True
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.layers = nn.TransformerEncoder(layer, sizes.layers, nn.LayerNorm(sizes.model))

    def forward(self, ids: Tensor) -> Tensor:
        width = ids.shape[-1]
        x = self.E(ids) + self.P(torch.arange(width, device=ids.device))
        mask = nn.Transformer.generate_square_subsequent_mask(width, device=ids.device)
        return self.layers(x, mask=mask, is_causal=True) @ self.E.weight.mT


def nano_gpt(checkout: Path, sizes: Sizes) -> nn.Module:
    """`model.py` of a checkout of nanoGPT that the user names. Raises FileNotFoundError if it has none."""
    file = checkout / "model.py"
    found = importlib.util.spec_from_file_location("nanogpt_model", file)
    if not file.is_file() or found is None or found.loader is None:
        raise FileNotFoundError(f"{file} is not there: --nanogpt names a checkout of nanoGPT")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    config = module.GPTConfig(
        block_size=1024, vocab_size=sizes.vocab, n_layer=sizes.layers, n_head=sizes.heads, n_embd=sizes.model,
        dropout=0.0, bias=True,
    )  # fmt: skip
    return module.GPT(config)
