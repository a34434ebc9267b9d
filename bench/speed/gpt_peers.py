"""What others write by hand for a GPT, with the weights of ours where their architecture is the same."""

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
    """Of a GPT: layers, depth of the stream, heads, width, vocabulary, examples in a batch; tokens behind a prompt."""

    layers: int = 6
    model: int = 384
    heads: int = 6
    width: int = 256
    vocab: int = 8192
    batch: int = 4
    prompt: int = 8
    tokens: int = 64


def hugging_face(sizes: Sizes, weights: dict[str, Tensor]) -> nn.Module:
    """GPT-2 of transformers, with the attention that it takes by itself (SDPA). Its maps are stored [in, out]."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        bos_token_id=None, eos_token_id=None,
        vocab_size=sizes.vocab, n_positions=1024, n_embd=sizes.model, n_layer=sizes.layers, n_head=sizes.heads,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, activation_function="gelu",
    )  # fmt: skip
    net = GPT2LMHeadModel(config)
    maps = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
    named = gpt2_names(sizes, weights)
    net.load_state_dict({name: x.T if name.endswith(maps) else x for name, x in named.items()})
    return net


def nano_gpt(checkout: Path, sizes: Sizes, weights: dict[str, Tensor]) -> nn.Module:
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
    net: nn.Module = module.GPT(config)
    net.load_state_dict(gpt2_names(sizes, weights))
    return net


def gpt2_names(sizes: Sizes, ours: dict[str, Tensor]) -> dict[str, Tensor]:
    """Our weights as GPT-2 names them; queries, keys and values are one map there."""
    found = {"transformer.wte.weight": ours["E"], "lm_head.weight": ours["E"], "transformer.wpe.weight": ours["P"]}
    for end in ("weight", "bias"):
        found[f"transformer.ln_f.{end}"] = ours[f"last.{end}"]
        for layer in range(sizes.layers):
            at, to = f"layers.{layer}.", f"transformer.h.{layer}."
            found[f"{to}ln_1.{end}"], found[f"{to}ln_2.{end}"] = ours[f"{at}see.{end}"], ours[f"{at}feed.{end}"]
            found[f"{to}attn.c_attn.{end}"] = torch.cat([ours[f"{at}self.{part}.{end}"] for part in "QKV"])
            found[f"{to}attn.c_proj.{end}"] = ours[f"{at}self.O.{end}"]
            found[f"{to}mlp.c_fc.{end}"] = ours[f"{at}fed.up.{end}"]
            found[f"{to}mlp.c_proj.{end}"] = ours[f"{at}fed.down.{end}"]
    return found


def x_transformers(sizes: Sizes) -> nn.Module:
    """Nearly the same architecture: its maps have no biases, so its weights stay its own."""
    from x_transformers import Decoder, TransformerWrapper

    return TransformerWrapper(
        num_tokens=sizes.vocab, max_seq_len=1024, tie_embedding=True,
        attn_layers=Decoder(dim=sizes.model, depth=sizes.layers, heads=sizes.heads,
                            attn_dim_head=sizes.model // sizes.heads, attn_flash=True, ff_mult=4),
    )  # fmt: skip


class TorchLayers(nn.Module):
    """torch.nn's encoder layers under a causal mask: what its tutorial writes."""

    def __init__(self, sizes: Sizes, weights: dict[str, Tensor]) -> None:
        super().__init__()
        self.E = nn.Embedding(sizes.vocab, sizes.model)
        self.P = nn.Embedding(1024, sizes.model)
        layer = nn.TransformerEncoderLayer(
            sizes.model, sizes.heads, 4 * sizes.model, 0.0, F.gelu, batch_first=True, norm_first=True
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.layers = nn.TransformerEncoder(layer, sizes.layers, nn.LayerNorm(sizes.model))
        names = {"attn.c_attn.": "self_attn.in_proj_", "attn.c_proj": "self_attn.out_proj", "ln_1": "norm1"}
        names |= {"mlp.c_fc": "linear1", "mlp.c_proj": "linear2", "ln_2": "norm2", "transformer.h.": "layers.layers."}
        names |= {"transformer.ln_f": "layers.norm", "transformer.wte": "E", "transformer.wpe": "P"}
        found = {}
        for name, x in gpt2_names(sizes, weights).items():
            for old, new in names.items():
                name = name.replace(old, new)
            found[name] = x
        del found["lm_head.weight"]
        self.load_state_dict(found)

    def forward(self, ids: Tensor) -> Tensor:
        width = ids.shape[-1]
        x = self.E(ids) + self.P(torch.arange(width, device=ids.device))
        mask = nn.Transformer.generate_square_subsequent_mask(width, device=ids.device)
        return self.layers(x, mask=mask, is_causal=True) @ self.E.weight.mT
