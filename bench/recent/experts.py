"""Models with experts: a Mixtral of 8 experts of which 2 are chosen, and one of 128 of which 8 are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from speed import peers, zoo
from speed.floor import Attention, Map, Pass, floor
from speed.timing import FLOOR, OURS, Case
from torch import Tensor, nn

import attnc

WAYS = ("eager", "grouped_mm", "batched_mm")  # experts_implementation of transformers that run on any processor
MOST = 2**30  # bytes of weights that batched_mm may copy for a layer: more is no way to do it


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of a decoder: as Grouped has them, and inner: the depth of an expert, of which `chosen` are for each item."""

    layers: int = 2
    model: int = 256
    groups: int = 2
    sharing: int = 2
    key: int = 64
    inner: int = 896
    expert: int = 8
    chosen: int = 2
    vocab: int = 2048
    width: int = 256
    batch: int = 2
    prompt: int = 8
    tokens: int = 32

    def copied(self, rows: int) -> int:
        """Bytes of weights, if each row takes those of its experts along."""
        return 4 * rows * self.chosen * 2 * self.inner * self.model


def model_of(sizes: Sizes) -> attnc.Model:
    parts = ("layers", "model", "groups", "sharing", "key", "inner", "vocab", "expert", "chosen")
    return zoo.load("mixtral", {part: getattr(sizes, part) for part in parts})


def hugging_face(sizes: Sizes, weights: dict[str, Tensor]) -> nn.Module:
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        vocab_size=sizes.vocab, hidden_size=sizes.model, num_hidden_layers=sizes.layers, head_dim=sizes.key,
        num_attention_heads=sizes.groups * sizes.sharing, num_key_value_heads=sizes.groups, pad_token_id=0,
        intermediate_size=sizes.inner, max_position_embeddings=4096, rms_norm_eps=1e-5, rope_theta=1e6,
        num_local_experts=sizes.expert, num_experts_per_tok=sizes.chosen, sliding_window=None,
        bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    return zoo.theirs(MixtralForCausalLM(config), model_of(sizes), weights)


def theirs(sizes: Sizes, weights: dict[str, Tensor], rows: int) -> dict[str, Callable[[], nn.Module]]:
    """One model of Hugging Face, by each way to do its experts: what gives it, told to go that way."""
    found = peers.installed({"Hugging Face": lambda: hugging_face(sizes, weights)})
    ways = [way for way in WAYS if way != "batched_mm" or sizes.copied(rows) <= MOST]

    def taken(net: nn.Module, way: str) -> nn.Module:
        net.config._experts_implementation = way  # type: ignore[union-attr]  # nothing of a call but this
        return net

    return {f"{who} {way}": lambda net=net, way=way: taken(net, way) for who, net in found.items() for way in ways}


def described(sizes: Sizes) -> str:
    return (
        f"{sizes.layers} layers, d {sizes.model}, {sizes.expert} experts of {sizes.inner}, {sizes.chosen} chosen, "
        f"batch {sizes.batch}"
    )


def passed(sizes: Sizes, rows: int, queries: int, keys: int, picked: Iterable[int]) -> Pass:
    """Products of a forward pass in which the `picked` experts of each layer are given equal shares of the rows."""
    layers, model, depth = sizes.layers, sizes.model, sizes.groups * sizes.key
    picked = list(picked)
    share = max(rows * sizes.chosen // len(picked), 1)
    maps = [
        [Map(f"up {e}", share, model, 2 * sizes.inner, layers), Map(f"down {e}", share, sizes.inner, model, layers)]
        for e in picked
    ]
    return [
        Map("QKV", rows, model, (sizes.sharing + 2) * depth, layers),
        Attention("self", sizes.sharing * queries, keys, sizes.key, sizes.batch * sizes.groups, layers),
        Map("O", rows, sizes.sharing * depth, model, layers),
        Map("router", rows, model, sizes.expert, layers),
        *(each for both in maps for each in both),
    ]


def whole(sizes: Sizes, gradients: bool) -> Callable[[], object]:
    """The floor of all items at once."""
    rows = sizes.batch * sizes.width
    works = passed(sizes, rows, max(sizes.width // 2, 1), sizes.width, range(sizes.expert))
    return floor([[*works, Map("logits", rows, sizes.model, sizes.vocab)]], gradients=gradients)


def ids_of(sizes: Sizes, width: int) -> Tensor:
    """Without 0, which is padding to Hugging Face: its embedding does not learn."""
    return torch.from_numpy(np.random.default_rng(0).integers(1, sizes.vocab, (sizes.batch, width)))


def training(name: str, sizes: Sizes, target: float | None) -> list[Case]:
    given, following = ids_of(sizes, sizes.width + 1).unfold(1, sizes.width, 1).unbind(1)
    ours = model_of(sizes).torch(seed=0)
    losses: dict[str, peers.Loss] = {OURS: (ours, lambda: peers.cross_entropy(ours(given), following))}
    for who, net in theirs(sizes, ours.state_dict(), sizes.batch * sizes.width).items():
        losses[who] = (net().train(), lambda net=net: peers.cross_entropy(net()(given, use_cache=False), following))

    def check() -> None:
        for who in losses:  # of one model the gradients lie in one place
            both = {OURS: losses[OURS], who: losses[who]}
            weights = {each: dict(net.named_parameters()) for each, (net, _) in both.items()}
            names = {each: "E.weight" if each == OURS else "model.embed_tokens.weight" for each in both}
            peers.same_training(both, {each: weights[each][names[each]] for each in both})

    contenders = {who: peers.step(*loss) for who, loss in losses.items()}
    contenders[FLOOR] = whole(sizes, gradients=True)
    return [Case(name, f"training step, {described(sizes)}, T {sizes.width}", target, contenders, check)]


def forward(name: str, sizes: Sizes, target: float | None) -> list[Case]:
    given = ids_of(sizes, sizes.width)
    ours = model_of(sizes).torch(seed=0).eval()
    others = theirs(sizes, ours.state_dict(), sizes.batch * sizes.width)
    contenders: dict[str, Callable[[], Tensor]] = {OURS: lambda: ours(given)}
    contenders |= {who: lambda net=net: net().eval()(given, use_cache=False).logits for who, net in others.items()}
    contenders = {who: torch.inference_mode()(call) for who, call in contenders.items()}

    def check() -> None:
        expected = contenders[OURS]()
        for who, call in contenders.items():
            differ = ((call() - expected).abs() > 1e-3 * expected.std()).any(-1)
            assert float(differ.float().mean()) < 0.01, who  # rounding may break a tie of two experts

    what = f"forward, {described(sizes)}, T {sizes.width}"
    return [Case(name, what, target, {**contenders, FLOOR: whole(sizes, gradients=False)}, check)]


def decoding(name: str, sizes: Sizes, target: float | None) -> list[Case]:
    """Greedy."""
    prompt, tokens = ids_of(sizes, sizes.prompt), sizes.tokens
    ours = model_of(sizes).torch(seed=0).eval()
    others = theirs(sizes, ours.state_dict(), sizes.batch * sizes.prompt)
    ours.lay_out_for_decoding()
    contenders: dict[str, Callable[[], Tensor]] = {OURS: lambda: ours.generate(prompt, tokens)}
    for who, net in others.items():
        call = zoo.greedily(net(), tokens, input_ids=prompt, attention_mask=torch.ones_like(prompt))
        contenders[who] = lambda net=net, call=call: (net(), call())[1]

    def check() -> None:
        for who, call in contenders.items():
            found = call()
            assert found.shape == (sizes.batch, tokens), who
            with torch.inference_mode():
                logits = ours(torch.cat([prompt, found], 1))[:, sizes.prompt - 1 : -1]
            peers.greedy(found.flatten(), logits.flatten(0, 1), who)

    rows, logits = sizes.batch * sizes.prompt, Map("logits", sizes.batch, sizes.model, sizes.vocab)
    first = passed(sizes, rows, max(sizes.prompt // 2, 1), sizes.prompt, range(min(sizes.expert, rows * sizes.chosen)))
    passes = [[*first, logits]]
    for step in range(1, tokens):  # the experts in turn: their weights are not the same at each token
        picked = {
            (step * sizes.chosen + n) % sizes.expert for n in range(min(sizes.batch * sizes.chosen, sizes.expert))
        }
        passes.append([*passed(sizes, sizes.batch, 1, sizes.prompt + step, sorted(picked)), logits])
    what = f"greedy decode, {described(sizes)}, prompt {sizes.prompt}, {tokens} tokens"
    return [Case(name, what, target, {**contenders, FLOOR: floor(passes)}, check, sizes.layers * tokens)]
