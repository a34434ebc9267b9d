"""GPT: a training step (forward and backward), greedy decoding, and NumPy's forward."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import attnc

from . import gpt_peers, hand, peers, plain
from .floor import Attention, Map, Pass, floor
from .gpt_peers import Sizes
from .peers import Loss
from .timing import FLOOR, OURS, Case

SPEC = Path(__file__).with_name("gpt.attn")


def spec(sizes: Sizes) -> attnc.Spec:
    return attnc.load(
        SPEC, sizes={"layers": sizes.layers, "model": sizes.model, "heads": sizes.heads, "vocab": sizes.vocab}
    )


def products(sizes: Sizes, rows: int, queries: int, keys: int, scored: int | None = None) -> Pass:
    """Of one forward pass over `rows` items of all examples, of which `scored` (all) get scores of the vocabulary."""
    model, layers = sizes.model, sizes.layers
    return [
        Map("QKV", rows, model, 3 * model, layers),
        Attention("self", queries, keys, model // sizes.heads, sizes.batch * sizes.heads, layers),
        Map("O", rows, model, model, layers),
        Map("up", rows, model, 4 * model, layers),
        Map("down", rows, 4 * model, model, layers),
        Map("logits", rows if scored is None else scored, model, sizes.vocab),
    ]


def whole(sizes: Sizes) -> Pass:
    """Of a forward pass over whole examples; causal, so half of the queries."""
    return products(sizes, sizes.batch * sizes.width, max(sizes.width // 2, 1), sizes.width)


def described(sizes: Sizes) -> str:
    return f"{sizes.layers} layers, d {sizes.model}, T {sizes.width}, vocab {sizes.vocab:,}, batch {sizes.batch}"


def training(name: str, sizes: Sizes, target: float | None, nanogpt: Path | None) -> list[Case]:
    rng = np.random.default_rng(0)
    ids, following = (torch.from_numpy(rng.integers(0, sizes.vocab, (sizes.batch, sizes.width))) for _ in range(2))
    ours = spec(sizes).model("loss").torch(seed=0)
    weights = ours.state_dict()
    makers: dict[str, Callable[[], nn.Module]] = {
        "Hugging Face": lambda: gpt_peers.hugging_face(sizes, weights),
        "x-transformers": lambda: gpt_peers.x_transformers(sizes),
        "torch.nn": lambda: gpt_peers.TorchLayers(sizes, weights),
    }
    losses: dict[str, Loss] = {OURS: (ours, lambda: ours(ids, following).mean())}
    for other, module in peers.installed(makers).items():
        losses[other] = (module, lambda module=module: peers.cross_entropy(module(ids), following))
    if nanogpt is not None:
        nano = gpt_peers.nano_gpt(nanogpt, sizes, weights)
        losses["nanoGPT"] = (nano, lambda: nano(ids, following)[1])

    def check() -> None:
        names = {OURS: "E", "Hugging Face": "transformer.wte.weight", "nanoGPT": "transformer.wte.weight"}
        names["torch.nn"] = "E.weight"
        present = {who: dict(losses[who][0].named_parameters())[at] for who, at in names.items() if who in losses}
        peers.same_training(losses, present)

    contenders = {who: peers.step(*entry) for who, entry in losses.items()}
    contenders[FLOOR] = floor([whole(sizes)], gradients=True)
    return [Case(name, f"GPT training step, {described(sizes)}", target, contenders, check)]


def numpy_forward(name: str, sizes: Sizes, target: float | None) -> list[Case]:
    ids = np.random.default_rng(0).integers(0, sizes.vocab, (sizes.batch, sizes.width))
    ours = spec(sizes).model("gpt").numpy(seed=0)
    reference = spec(sizes).model("gpt").torch(weights=ours.weights).eval()
    contenders: dict[str, Callable[[], np.ndarray]] = {
        OURS: lambda: ours(ids),
        "einsum": lambda: plain.gpt(ours.weights, ids, sizes.layers, sizes.heads, einsum=True),
        "matmul": lambda: plain.gpt(ours.weights, ids, sizes.layers, sizes.heads),
    }

    def check() -> None:
        with torch.inference_mode():
            other = reference(torch.from_numpy(ids)).numpy()
        for who, call in contenders.items():  # theirs have tanh's form of GELU
            assert float(np.abs(call() - other).max() / other.std()) < (2e-5 if who == OURS else 1e-2), who

    bottom = floor([whole(sizes)], library="numpy")
    return [Case(name, f"NumPy GPT forward, {described(sizes)}", target, {**contenders, FLOOR: bottom}, check)]


def decoding_sizes(sizes: Sizes) -> list[Pass]:
    """The prompt at once, its last item alone scored; then a token at a time, which looks at what came before."""
    first = products(sizes, sizes.batch * sizes.prompt, max(sizes.prompt // 2, 1), sizes.prompt, sizes.batch)
    later = range(sizes.prompt + 1, sizes.prompt + sizes.tokens)
    return [first, *(products(sizes, sizes.batch, 1, keys) for keys in later)]


def greedy_what(sizes: Sizes, library: str) -> str:
    shape = f"{sizes.layers} layers, d {sizes.model}, vocab {sizes.vocab:,}, batch {sizes.batch}"
    return f"greedy decode, {library}, prompt {sizes.prompt}, {sizes.tokens} tokens, {shape}"


def decoding(
    name: str, sizes: Sizes, target: float | None, nanogpt: Path | None = None, peered: bool = True
) -> list[Case]:
    """Greedy, in PyTorch, beside loops by hand, those that have a cache, and nanoGPT, which has none.

    Not `peered`: beside what is written by hand alone, and the bare ops, where calls are what costs.
    """
    prompt = torch.from_numpy(np.random.default_rng(0).integers(0, sizes.vocab, (sizes.batch, sizes.prompt)))
    net = spec(sizes).model("gpt").torch(seed=0).eval()
    weights, tokens, end = net.state_dict(), sizes.tokens, sizes.prompt + sizes.tokens
    net.lay_out_for_decoding()

    def hugging_face() -> Callable[[], Tensor]:
        other = gpt_peers.hugging_face(sizes, weights).eval()
        settings = {"do_sample": False, "pad_token_id": 0, "eos_token_id": None, "max_new_tokens": tokens}
        return lambda: other.generate(prompt, attention_mask=torch.ones_like(prompt), **settings)[:, sizes.prompt :]

    def x_transformers() -> Callable[[], Tensor]:
        from x_transformers import AutoregressiveWrapper

        other = AutoregressiveWrapper(gpt_peers.x_transformers(sizes).eval()).eval()
        return lambda: other.generate(prompt, tokens, temperature=0.0, cache_kv=True)

    loop, cached = hand.Loop(sizes, weights), hand.Cached(sizes, weights).eval()
    makers = {"Hugging Face": hugging_face, "x-transformers": x_transformers}
    contenders: dict[str, Callable[[], Tensor]] = {
        OURS: lambda: net.generate(prompt, tokens),
        "hand loop": lambda: loop(prompt, tokens),
        "modules by hand": lambda: cached.generate(prompt, tokens),
    }
    for who, call in peers.installed(makers if peered else {}).items():
        contenders[who] = torch.inference_mode()(call)
    if peered and nanogpt is not None:
        nano = gpt_peers.nano_gpt(nanogpt, sizes, weights).eval()
        contenders["nanoGPT"] = torch.inference_mode()(
            lambda: nano.generate(prompt, tokens, top_k=1)[:, sizes.prompt :]
        )

    def check() -> None:
        for who, call in contenders.items():
            found = call()
            assert found.shape == (sizes.batch, tokens), who
            if who != "x-transformers":  # whose weights are its own
                with torch.inference_mode():
                    logits = net(torch.cat([prompt, found], 1))[:, sizes.prompt - 1 : end - 1]
                peers.greedy(found.flatten(), logits.flatten(0, 1), who)

    others = {FLOOR: floor(decoding_sizes(sizes))} | ({} if peered else {"bare ops": loop.bare(tokens)})
    what = greedy_what(sizes, "PyTorch")
    return [Case(name, what, target, {**contenders, **others}, check, sizes.layers * tokens)]


def numpy_decoding(name: str, sizes: Sizes, target: float | None) -> list[Case]:
    prompt = np.random.default_rng(0).integers(0, sizes.vocab, (sizes.batch, sizes.prompt))
    ours = spec(sizes).model("gpt").numpy(seed=0)

    def logits(ids: np.ndarray) -> np.ndarray:
        return plain.gpt(ours.weights, ids, sizes.layers, sizes.heads)

    contenders: dict[str, Callable[[], np.ndarray]] = {
        OURS: lambda: ours.generate(prompt, sizes.tokens),
        "matmul": lambda: plain.decode(logits, prompt, sizes.tokens),
    }

    def check() -> None:
        found = ours.generate(prompt, sizes.tokens)
        by = ours(np.concatenate([prompt, found], 1))[:, sizes.prompt - 1 : -1]
        peers.greedy(torch.from_numpy(found).flatten(), torch.from_numpy(by).flatten(0, 1), OURS)

    bottom = floor(decoding_sizes(sizes), library="numpy")
    return [Case(name, greedy_what(sizes, "NumPy"), target, {**contenders, FLOOR: bottom}, check)]
