"""The encoder-decoder of Vaswani et al. (2017): a training step, and greedy decoding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import attnc

from . import hand, peers, seq2seq_peers
from .floor import Attention, Map, Pass, floor
from .peers import Loss
from .seq2seq_peers import Sizes
from .timing import FLOOR, OURS, Case

SPEC = Path(__file__).with_name("seq2seq.attn")


def model(sizes: Sizes, name: str) -> attnc.Model:
    given = {"layers": sizes.layers, "model": sizes.model, "heads": sizes.heads, "vocab": sizes.vocab}
    return attnc.load(SPEC, sizes=given).model(name)


def encoder(sizes: Sizes) -> Pass:
    """The products of the encoder, and of the keys and values that the decoder reads."""
    layers, d, rows, batch = sizes.layers, sizes.model, sizes.batch * sizes.source, sizes.batch * sizes.heads
    return [
        Map("encoder QKV", rows, d, 3 * d, layers),
        Attention("encoder", sizes.source, sizes.source, d // sizes.heads, batch, layers),
        Map("encoder O", rows, d, d, layers),
        Map("encoder up", rows, d, 4 * d, layers),
        Map("encoder down", rows, 4 * d, d, layers),
        Map("read KV", rows, d, 2 * d, layers),
    ]


def decoder(sizes: Sizes, rows: int, queries: int, keys: int) -> Pass:
    """Of the decoder over `rows` items of all examples: of each, `queries` look at `keys`, and all at the source."""
    layers, d, batch, head = sizes.layers, sizes.model, sizes.batch * sizes.heads, sizes.model // sizes.heads
    return [
        Map("decoder QKV", rows, d, 3 * d, layers),
        Attention("decoder", queries, keys, head, batch, layers),
        Map("decoder O", rows, d, d, layers),
        Map("read Q", rows, d, d, layers),
        Attention("read", rows // sizes.batch, sizes.source, head, batch, layers),
        Map("read O", rows, d, d, layers),
        Map("decoder up", rows, d, 4 * d, layers),
        Map("decoder down", rows, 4 * d, d, layers),
        Map("logits", rows, d, sizes.vocab),
    ]


def described(sizes: Sizes) -> str:
    padding = f", of which {sizes.padding} are none in half of the examples" if sizes.padding else ""
    return (
        f"{sizes.layers} + {sizes.layers} layers, d {sizes.model}, vocab {sizes.vocab:,}, batch {sizes.batch}, "
        f"source {sizes.source}{padding}"
    )


def source_of(sizes: Sizes, rng: np.random.Generator) -> Tensor:
    return torch.from_numpy(rng.integers(2, sizes.vocab, (sizes.batch, sizes.source)))


def training(name: str, sizes: Sizes, target: float | None) -> list[Case]:
    rng = np.random.default_rng(0)
    source, real = source_of(sizes, rng), sizes.real()
    given, following = (torch.from_numpy(rng.integers(2, sizes.vocab, (sizes.batch, sizes.target))) for _ in range(2))
    ours = model(sizes, "loss").torch(seed=0)
    weights = ours.state_dict()
    makers: dict[str, Callable[[], nn.Module]] = {
        "annotated": lambda: seq2seq_peers.annotated(sizes, weights),
        "torch.nn": lambda: seq2seq_peers.TorchTransformer(sizes, weights),
        "Marian": lambda: seq2seq_peers.marian(sizes, weights),
        "BART": lambda: seq2seq_peers.bart(sizes),
        "x-transformers": lambda: seq2seq_peers.x_transformers(sizes),
    }
    there = peers.installed(makers)
    losses: dict[str, Loss] = {OURS: (ours, lambda: ours(source, given, following, real).mean())}
    for who, net in there.items():
        call = logits_of(who, net, source, given, real)
        losses[who] = (net, lambda call=call: peers.cross_entropy(call(), following))

    def check() -> None:
        names = {OURS: "E", "annotated": "E", "torch.nn": "E.weight", "Marian": "model.shared.weight"}
        present = {who: dict(losses[who][0].named_parameters())[at] for who, at in names.items() if who in losses}
        peers.same_training(losses, present)

    contenders = {who: peers.step(*entry) for who, entry in losses.items()}
    rows = sizes.batch * sizes.target
    works = [*encoder(sizes), *decoder(sizes, rows, max(sizes.target // 2, 1), sizes.target)]
    contenders[FLOOR] = floor([works], gradients=True)
    what = f"encoder-decoder training, {described(sizes)}, target {sizes.target}"
    return [Case(name, what, target, contenders, check)]


def logits_of(who: str, net: nn.Module, source: Tensor, target: Tensor, real: Tensor | None) -> Callable[[], object]:
    """What calls a peer as its own documentation does."""
    if who in ("Marian", "BART"):
        return lambda: net(input_ids=source, attention_mask=real, decoder_input_ids=target)
    if who == "x-transformers":  # whose decoder would compute a loss of its own
        return lambda: net.decoder.net(
            target, context=net.encoder(source, mask=real, return_embeddings=True), context_mask=real
        )
    return lambda: net(source, target, real)


def decoding(name: str, sizes: Sizes, target: float | None) -> list[Case]:
    """Greedy; Marian, BART and x-transformers decode with their caches, the others have none."""
    source, real = source_of(sizes, np.random.default_rng(0)), sizes.real()
    start = torch.zeros(sizes.batch, 1, dtype=torch.long)
    net = model(sizes, "translate").torch(seed=0).eval()
    weights, tokens = net.state_dict(), sizes.tokens
    net.lay_out_for_decoding()

    def without_cache(other: seq2seq_peers.Annotated | seq2seq_peers.TorchTransformer) -> Callable[[], Tensor]:
        other.eval()
        seen = real[:, None, None] if isinstance(other, seq2seq_peers.Annotated) and real is not None else real

        def call() -> Tensor:
            ids, memory = start, other.encoder(source, seen)
            for _ in range(tokens):
                ids = torch.cat([ids, other.decoder(ids, memory, seen)[:, -1:].argmax(-1)], 1)
            return ids[:, 1:]

        return call

    def hugging_face(other: nn.Module) -> Callable[[], Tensor]:
        settings = {"max_new_tokens": tokens, "do_sample": False, "num_beams": 1, "attention_mask": real}
        other.eval().generation_config.eos_token_id = None
        return lambda: other.generate(source, **settings)[:, 1:]

    def x_transformers() -> Callable[[], Tensor]:
        other = seq2seq_peers.x_transformers(sizes).eval()
        return lambda: other.generate(source, start, tokens, mask=real, temperature=0.0, cache_kv=True)

    makers = {
        "annotated": lambda: without_cache(seq2seq_peers.annotated(sizes, weights)),
        "torch.nn": lambda: without_cache(seq2seq_peers.TorchTransformer(sizes, weights)),
        "Marian": lambda: hugging_face(seq2seq_peers.marian(sizes, weights)),
        "BART": lambda: hugging_face(seq2seq_peers.bart(sizes)),
        "x-transformers": x_transformers,
    }
    given = {"source_ids": source} | ({} if real is None else {"real": real})
    contenders: dict[str, Callable[[], Tensor]] = {OURS: lambda: net.generate(start, tokens, **given)}
    if real is None:
        loop = hand.PairLoop(sizes, weights)
        contenders["hand loop"] = lambda: loop(source, start, tokens)
    for who, call in peers.installed(makers).items():
        contenders[who] = torch.inference_mode()(call)

    def check() -> None:
        for who, call in contenders.items():
            found = call()
            assert found.shape == (sizes.batch, tokens), who
            if who not in ("BART", "x-transformers"):  # whose weights are their own
                with torch.inference_mode():
                    logits = net(source, torch.cat([start, found[:, :-1]], 1), real)
                peers.greedy(found.flatten(), logits.flatten(0, 1), who)

    passes = [encoder(sizes), *(decoder(sizes, sizes.batch, 1, keys) for keys in range(1, tokens + 1))]
    what = f"encoder-decoder decode, {tokens} tokens, {described(sizes)}"
    return [Case(name, what, target, {**contenders, FLOOR: floor(passes)}, check, sizes.layers * tokens)]
