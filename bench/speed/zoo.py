"""Models of the zoo beside Hugging Face's, with one set of weights: Llama and T5 decode, ViT and T5 are trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import attnc

from . import hand, peers, seq2seq, seq2seq_peers
from .floor import Attention, Map, Pass, floor
from .hand import Grouped
from .peers import Loss
from .timing import FLOOR, OURS, Case

ZOO = Path(__file__).resolve().parents[2] / "examples" / "zoo"


def load(name: str, sizes: Mapping[str, object]) -> attnc.Model:
    return attnc.load(ZOO / f"{name}.attn", sizes=sizes).model(name)


def theirs(net: nn.Module, model: attnc.Model, weights: Mapping[str, Tensor]) -> nn.Module:
    """Theirs, with our weights by the zoo's map."""
    mine = {name: x.detach().numpy() for name, x in weights.items()}
    names = [name for name, _ in net.named_parameters()]
    found = attnc.weights.convert(mine, ZOO / f"{model.name}.map", model, reverse=True, like=names)
    left = net.load_state_dict({name: torch.tensor(np.asarray(x)) for name, x in found.items()}, strict=False)
    assert not left.unexpected_keys and not set(left.missing_keys) & set(names), left
    return net


def greedily(net: nn.Module, tokens: int, **given: Tensor) -> Callable[[], Tensor]:
    """The last `tokens` items of generate() of transformers."""
    settings = {"do_sample": False, "num_beams": 1, "max_new_tokens": tokens}
    net.eval().generation_config.eos_token_id = None
    return torch.inference_mode()(lambda: net.generate(**given, **settings)[:, -tokens:])


def grouped(sizes: Grouped, rows: int, queries: int, keys: int) -> Pass:
    """Of a forward pass of a Llama over `rows` items, the last of each example scored; heads of a group share keys."""
    model, layers, depth = sizes.model, sizes.layers, sizes.groups * sizes.key
    return [
        Map("QKV", rows, model, (sizes.sharing + 2) * depth, layers),
        Attention("self", sizes.sharing * queries, keys, sizes.key, sizes.batch * sizes.groups, layers),
        Map("O", rows, sizes.sharing * depth, model, layers),
        Map("gate and up", rows, model, 2 * sizes.inner, layers),
        Map("down", rows, sizes.inner, model, layers),
        Map("logits", sizes.batch, model, sizes.vocab),
    ]


def llama(name: str, sizes: Grouped, target: float | None) -> list[Case]:
    """Greedy decoding with grouped keys."""
    draw = np.random.default_rng(0)
    prompt, tokens = torch.from_numpy(draw.integers(0, sizes.vocab, (sizes.batch, sizes.prompt))), sizes.tokens
    parts = ("layers", "model", "groups", "sharing", "key", "inner", "vocab")
    model = load("llama", {part: getattr(sizes, part) for part in parts})
    net = model.torch(seed=0).eval()
    weights = net.state_dict()
    net.lay_out_for_decoding()

    def hugging_face() -> Callable[[], Tensor]:
        from transformers import LlamaConfig, LlamaForCausalLM

        config = LlamaConfig(
            vocab_size=sizes.vocab, hidden_size=sizes.model, num_hidden_layers=sizes.layers, head_dim=sizes.key,
            num_attention_heads=sizes.groups * sizes.sharing, num_key_value_heads=sizes.groups, pad_token_id=0,
            intermediate_size=sizes.inner, max_position_embeddings=1024, rms_norm_eps=1e-5, rope_theta=500_000.0,
            bos_token_id=None, eos_token_id=None,
        )  # fmt: skip
        other = theirs(LlamaForCausalLM(config), model, weights)
        return greedily(other, tokens, input_ids=prompt, attention_mask=torch.ones_like(prompt))

    loop = hand.GroupedLoop(sizes, weights)
    contenders: dict[str, Callable[[], Tensor]] = {
        OURS: lambda: net.generate(prompt, tokens),
        "hand loop": lambda: loop(prompt, tokens),
    }
    contenders |= peers.installed({"Hugging Face": hugging_face})

    def check() -> None:
        for who, call in contenders.items():
            found = call()
            assert found.shape == (sizes.batch, tokens), who
            with torch.inference_mode():
                logits = net(torch.cat([prompt, found], 1))[:, sizes.prompt - 1 : -1]
            peers.greedy(found.flatten(), logits.flatten(0, 1), who)

    first = grouped(sizes, sizes.batch * sizes.prompt, max(sizes.prompt // 2, 1), sizes.prompt)
    later = range(sizes.prompt + 1, sizes.prompt + tokens)
    bottom = floor([first, *(grouped(sizes, sizes.batch, 1, keys) for keys in later)])
    what = (
        f"greedy decode of a Llama, PyTorch, prompt {sizes.prompt}, {tokens} tokens, {sizes.layers} layers, "
        f"d {sizes.model}, {sizes.groups} groups of {sizes.sharing} heads, batch {sizes.batch}"
    )
    return [Case(name, what, target, {**contenders, FLOOR: bottom}, check, sizes.layers * tokens)]


@dataclass(frozen=True, slots=True)
class Pictures:
    """Layers, depth of the stream, heads, pixels on a side of a picture and of a patch, labels, examples in a batch."""

    layers: int = 6
    model: int = 384
    heads: int = 6
    picture: int = 224
    patch: int = 16
    label: int = 1000
    batch: int = 4

    def patches(self) -> int:
        return (self.picture // self.patch) ** 2


class TorchPictures(nn.Module):
    """torch.nn's encoder layers between a convolution and a map, as tutorials write a ViT."""

    def __init__(self, sizes: Pictures, weights: Mapping[str, Tensor]) -> None:
        super().__init__()
        model, patch = sizes.model, sizes.patch
        self.patch = nn.Conv2d(3, model, patch, patch)
        self.start = nn.Parameter(torch.empty(1, model))
        self.P = nn.Parameter(torch.empty(1 + sizes.patches(), model))
        layer = nn.TransformerEncoderLayer(
            model, sizes.heads, 4 * model, 0.0, F.gelu, layer_norm_eps=1e-12, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(
            layer, sizes.layers, nn.LayerNorm(model, eps=1e-12), enable_nested_tensor=False
        )
        self.label = nn.Linear(model, sizes.label)
        names = {"self.O.": "self_attn.out_proj.", "see.": "norm1.", "feed.": "norm2.", "fed.up": "linear1"}
        names |= {"fed.down": "linear2", "layers.": "layers.layers.", "last.": "layers.norm."}
        found = {}
        for name, x in weights.items():
            if ".self.Q." in name:
                three = [weights[name.replace(".Q.", f".{part}.")] for part in "QKV"]
                found[name.replace("layers.", "layers.layers.").replace("self.Q.", "self_attn.in_proj_")] = torch.cat(
                    three
                )
            elif ".self.K." not in name and ".self.V." not in name:
                for old, new in names.items():
                    name = name.replace(old, new)
                found[name] = x.reshape(model, 3, patch, patch) if name == "patch.weight" else x
        self.load_state_dict(found)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patch(image).flatten(2).mT
        x = torch.cat([self.start.expand(len(x), -1, -1), x], 1) + self.P
        return self.label(self.layers(x)[:, 0])


def vit(name: str, sizes: Pictures, target: float | None) -> list[Case]:
    """A training step, forward and backward."""
    torch.manual_seed(0)
    image = torch.randn(sizes.batch, 3, sizes.picture, sizes.picture)
    right = torch.randint(sizes.label, (sizes.batch,))
    given = {part: getattr(sizes, part) for part in ("layers", "model", "heads", "label")}
    given |= {"high": sizes.picture, "wide": sizes.picture, "down": sizes.patch, "across": sizes.patch}
    model = load("vit", given)
    ours = model.torch(seed=0)
    weights = ours.state_dict()

    def hugging_face() -> nn.Module:
        from transformers import ViTConfig, ViTForImageClassification

        config = ViTConfig(
            hidden_size=sizes.model, num_hidden_layers=sizes.layers, num_attention_heads=sizes.heads,
            intermediate_size=4 * sizes.model, image_size=sizes.picture, patch_size=sizes.patch,
            num_labels=sizes.label, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        )  # fmt: skip
        return theirs(ViTForImageClassification(config), model, weights)

    makers = {"Hugging Face": hugging_face, "torch.nn": lambda: TorchPictures(sizes, weights)}
    losses: dict[str, Loss] = {OURS: (ours, lambda: F.cross_entropy(ours(image), right))}
    for who, net in peers.installed(makers).items():
        losses[who] = (
            net.train(),
            lambda net=net: F.cross_entropy(getattr(found := net(image), "logits", found), right),
        )

    def check() -> None:
        names = {OURS: "label.weight", "torch.nn": "label.weight", "Hugging Face": "classifier.weight"}
        peers.same_training(losses, {
            who: dict(losses[who][0].named_parameters())[at] for who, at in names.items() if who in losses
        })  # fmt: skip

    layers, d, rows = sizes.layers, sizes.model, sizes.batch * (sizes.patches() + 1)
    works = [
        Map("patch", sizes.batch * sizes.patches(), 3 * sizes.patch**2, d, data=True),
        Map("QKV", rows, d, 3 * d, layers),
        Attention(
            "self", sizes.patches() + 1, sizes.patches() + 1, d // sizes.heads, sizes.batch * sizes.heads, layers
        ),
        Map("O", rows, d, d, layers),
        Map("up", rows, d, 4 * d, layers),
        Map("down", rows, 4 * d, d, layers),
    ]
    passes = [[*works, Map("label", sizes.batch, d, sizes.label)]]
    contenders = {who: peers.step(*entry) for who, entry in losses.items()}
    contenders[FLOOR] = floor(passes, gradients=True)
    what = f"ViT training step, {layers} layers, d {d}, {sizes.patches()} patches, batch {sizes.batch}"
    return [Case(name, what, target, contenders, check)]


def t5(sizes: seq2seq_peers.Sizes) -> tuple[nn.Module, dict[str, Callable[[], nn.Module]]]:
    """Ours, and what makes Hugging Face's with the same weights."""
    d, key = sizes.model, sizes.model // sizes.heads
    given = {part: getattr(sizes, part) for part in ("layers", "model", "heads", "vocab")}
    model = load("t5", {**given, "key": key, "inner": 4 * d, "drop": 0.0})
    ours = model.torch(seed=0)

    def hugging_face() -> nn.Module:
        from transformers import T5Config, T5ForConditionalGeneration

        config = T5Config(
            vocab_size=sizes.vocab, d_model=d, d_kv=key, d_ff=4 * d, num_layers=sizes.layers, num_heads=sizes.heads,
            dropout_rate=0.0, decoder_start_token_id=0,
        )  # fmt: skip
        return theirs(T5ForConditionalGeneration(config), model, ours.state_dict())

    return ours, {"Hugging Face": hugging_face}


def t5_training(name: str, sizes: seq2seq_peers.Sizes, target: float | None) -> list[Case]:
    draw = np.random.default_rng(0)
    source = seq2seq.source_of(sizes, draw)
    given, following = (torch.from_numpy(draw.integers(2, sizes.vocab, (sizes.batch, sizes.target))) for _ in range(2))
    ours, makers = t5(sizes)
    losses: dict[str, Loss] = {OURS: (ours, lambda: peers.cross_entropy(ours(source, given), following))}
    for who, net in peers.installed(makers).items():
        call = seq2seq.logits_of("Marian", net.train(), source, given, None)
        losses[who] = (net, lambda call=call: peers.cross_entropy(call(), following))

    def check() -> None:
        names = {OURS: "E", "Hugging Face": "shared.weight"}
        peers.same_training(losses, {
            who: dict(losses[who][0].named_parameters())[at] for who, at in names.items() if who in losses
        })  # fmt: skip

    rows = sizes.batch * sizes.target
    works = [*seq2seq.encoder(sizes), *seq2seq.decoder(sizes, rows, max(sizes.target // 2, 1), sizes.target)]
    contenders = {who: peers.step(*entry) for who, entry in losses.items()}
    contenders[FLOOR] = floor([works], gradients=True)
    what = f"T5 training step, {seq2seq.described(sizes)}, target {sizes.target}"
    return [Case(name, what, target, contenders, check)]


def t5_decoding(name: str, sizes: seq2seq_peers.Sizes, target: float | None) -> list[Case]:
    """Greedy."""
    source = seq2seq.source_of(sizes, np.random.default_rng(0))
    start, tokens = torch.zeros(sizes.batch, 1, dtype=torch.long), sizes.tokens
    ours, makers = t5(sizes)
    net = ours.eval()
    contenders: dict[str, Callable[[], Tensor]] = {OURS: lambda: net.generate(start, tokens, source_ids=source)}
    for who, other in peers.installed(makers).items():
        contenders[who] = greedily(other, tokens, input_ids=source, attention_mask=torch.ones_like(source))
    net.lay_out_for_decoding()

    def check() -> None:
        for who, call in contenders.items():
            found = call()
            assert found.shape == (sizes.batch, tokens), who
            with torch.inference_mode():
                logits = net(source, torch.cat([start, found[:, :-1]], 1))
            peers.greedy(found.flatten(), logits.flatten(0, 1), who)

    passes = [seq2seq.encoder(sizes), *(seq2seq.decoder(sizes, sizes.batch, 1, keys) for keys in range(1, tokens + 1))]
    what = f"greedy decode of a T5, PyTorch, {tokens} tokens, {seq2seq.described(sizes)}"
    return [Case(name, what, target, {**contenders, FLOOR: floor(passes)}, check, sizes.layers * tokens)]
