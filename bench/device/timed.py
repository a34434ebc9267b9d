"""GPT-2 trained and decoding, causal attention and a window, beside what others write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from speed import attention, gpt, gpt_peers, peers
from speed.gpt_peers import Sizes
from speed.timing import OURS
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import attnc

from .setting import Call, Case, Goal, Setting, drawn, in_blocks

NANO = "nanoGPT"
HF = "Hugging Face"

GPT2 = {
    "124M": Sizes(layers=12, model=768, heads=12, width=1024, vocab=50_304, batch=32, prompt=16, tokens=256),
    "1.5B": Sizes(layers=48, model=1600, heads=25, width=1024, vocab=50_304, batch=16, prompt=16, tokens=256),
}
TINY = Sizes(layers=2, model=32, heads=2, width=16, vocab=64, batch=2, prompt=3, tokens=4)


class Nano(nn.Module):
    """A GPT written short: queries, keys and values one map, PyTorch's attention, the loss behind the logits."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.E, self.P = nn.Embedding(sizes.vocab, sizes.model), nn.Embedding(1024, sizes.model)
        self.blocks = nn.ModuleList(NanoBlock(sizes.model, sizes.heads) for _ in range(sizes.layers))
        self.last = nn.LayerNorm(sizes.model)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.E(ids) + self.P.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.last(x), self.E.weight)

    @classmethod
    def like(cls, sizes: Sizes, weights: Mapping[str, Tensor]) -> nn.Module:
        """With our weights."""
        net = cls(sizes)
        names = {"attn.c_attn": "QKV", "attn.c_proj": "O", "mlp.c_fc": "up", "mlp.c_proj": "down", "ln_1": "see"}
        names |= {"ln_2": "feed", "transformer.h.": "blocks.", "transformer.ln_f": "last", "transformer.wte": "E"}
        names |= {"transformer.wpe": "P"}
        found = {}
        for name, x in gpt_peers.gpt2_names(sizes, dict(weights)).items():
            for old, new in names.items():
                name = name.replace(old, new)
            found[name] = x
        del found["lm_head.weight"]
        net.load_state_dict(found)
        return net


class NanoBlock(nn.Module):
    def __init__(self, model: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.see, self.feed = nn.LayerNorm(model), nn.LayerNorm(model)
        self.QKV, self.O = nn.Linear(model, 3 * model), nn.Linear(model, model)
        self.up, self.down = nn.Linear(model, 4 * model), nn.Linear(4 * model, model)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in self.QKV(self.see(x)).chunk(3, -1))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.O(seen.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.feed(x))))


def training(setting: Setting, size: str, goals: Sequence[Goal], blocks: bool) -> Case:
    """Forward and backward under bfloat16's autocast, and a step of fused AdamW: what nanoGPT does.

    blocks: compiled block by block, which takes seconds, not as a whole, which takes minutes.
    """
    sizes = TINY if setting.small else GPT2[size]
    draw = torch.Generator(setting.device).manual_seed(0)
    ids, following = (
        torch.randint(sizes.vocab, (sizes.batch, sizes.width), generator=draw, device=setting.device) for _ in range(2)
    )
    first = drawn(gpt.spec(sizes).model("loss"), setting)
    weights = {name: x.clone() for name, x in first.state_dict().items()}
    makers: dict[str, Callable[[], nn.Module]] = {}
    if size == "124M":
        makers = {HF: lambda: gpt_peers.hugging_face(sizes, weights), NANO: lambda: Nano.like(sizes, weights)}
    if setting.nanogpt is not None:
        checkout = setting.nanogpt
        makers[NANO] = lambda: gpt_peers.nano_gpt(checkout, sizes, weights)
    with setting.device:
        nets = peers.installed(makers)

    def made(net: nn.Module) -> Callable[..., Tensor]:
        if not blocks:
            return setting.compiled(net)
        layers = getattr(net, "layers", None) or getattr(net, "blocks", None)
        in_blocks(net.transformer.h if layers is None else layers, setting)  # type: ignore[union-attr, arg-type]
        return net

    whole = made(first)
    losses: dict[str, tuple[nn.Module, Callable[[], Tensor]]] = {OURS: (first, lambda: whole(ids, following).mean())}
    for name, net in nets.items():
        run = made(net)
        if name == NANO and setting.nanogpt is not None:
            losses[name] = (net, lambda run=run: run(ids, following)[1])
        else:
            losses[name] = (net, lambda run=run: peers.cross_entropy(run(ids), following))

    def check() -> None:
        found = {}
        for name, (_, loss) in losses.items():
            with torch.autocast(setting.device.type, torch.bfloat16):
                found[name] = float(loss().detach())
        assert max(found.values()) - min(found.values()) < 0.02 * found[OURS], found

    contenders = {name: step(setting, *entry) for name, entry in losses.items()}
    how = "compiled in blocks" if blocks else "compiled"
    what = f"GPT-2 {size}, training, {gpt.described(sizes)}, bfloat16 autocast, AdamW, {how}"
    name = f"train_{size}" if blocks else f"train_{size}_whole"
    return Case(name, what, "tokens", sizes.batch * sizes.width, contenders, goals, check)


def step(setting: Setting, module: nn.Module, loss: Callable[[], Tensor]) -> Call:
    optimiser = torch.optim.AdamW(module.parameters(), lr=1e-5, betas=(0.9, 0.95), fused=True)

    def call() -> None:
        with torch.autocast(setting.device.type, torch.bfloat16):
            found = loss()
        found.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return call


def causal_attention(setting: Setting, goals: Sequence[Goal]) -> Case:
    """Forward, head 128; causal counted at half."""
    sizes = (
        attention.Sizes(width=64, heads=2, head=16)
        if setting.small
        else attention.Sizes(width=8192, heads=16, head=128, batch=4)
    )
    mask = "k <= q"
    net = of_mask(setting, sizes, mask)
    Q, K, V = given(setting, sizes)
    contenders: dict[str, Call] = {
        OURS: lambda: net(Q, K, V),
        "SDPA": lambda: F.scaled_dot_product_attention(Q, K, V, is_causal=True),
    }
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION):

        def under(backend: SDPBackend = backend) -> Tensor:
            with sdpa_kernel(backend):
                return net(Q, K, V)  # type: ignore[no-any-return]  # a Module may return anything

        if works(under):
            contenders[f"{OURS}, {backend.name.split('_')[0].lower()}"] = under

    def check() -> None:
        same({name: call() for name, call in contenders.items()})

    amount = 4 * sizes.width**2 / 2 * sizes.head * sizes.heads * sizes.batch / 1e12
    what = f"causal attention, forward, N {sizes.width}, head {sizes.head}, bfloat16"
    return Case("attention", what, "TFLOP", amount, contenders, goals, check)


def window(setting: Setting, gradients: bool, goals: Sequence[Goal]) -> Case:
    """A window of 1,024 in 16,384: ours is FlexAttention on CUDA, with a block mask made once."""
    sizes = (
        attention.Sizes(width=96, heads=2, head=16, window=16)
        if setting.small
        else attention.Sizes(width=16_384, heads=16, head=64, window=1024)
    )
    net = of_mask(setting, sizes, f"k <= q and q - k < {sizes.window}")
    inputs = [x.requires_grad_(gradients) for x in given(setting, sizes)]
    place = torch.arange(sizes.width, device=setting.device)
    dense = (place <= place[:, None]) & (place[:, None] - place < sizes.window)
    whole = setting.compiled(net)
    ways: dict[str, Callable[..., Tensor]] = {
        OURS: net,
        f"{OURS}, compiled": whole,
        "SDPA, dense mask": lambda *x: F.scaled_dot_product_attention(*x, dense),
        "SDPA, causal alone": lambda *x: F.scaled_dot_product_attention(*x, is_causal=True),
    }

    def both(way: Callable[..., Tensor]) -> Call:
        def call() -> Tensor:
            out = way(*inputs)
            if gradients:
                out.sum().backward()
                for x in inputs:
                    x.grad = None
            return out.detach()

        return call

    contenders = {name: both(way) for name, way in ways.items()}

    def check() -> None:
        same({name: call() for name, call in contenders.items() if name != "SDPA, causal alone"})

    passes = "forward and backward" if gradients else "forward"
    what = f"window of {sizes.window} in {sizes.width}, {passes}, head {sizes.head}, bfloat16"
    name = "window_train" if gradients else "window"
    return Case(name, what, "passes", 1, contenders, goals, check)


def of_mask(setting: Setting, sizes: attention.Sizes, mask: str) -> nn.Module:
    text = attention.SPEC.format(heads=sizes.heads, head=sizes.head, mask=mask).replace(", real: bool[q]", "")
    return attnc.loads(text).model("f").torch(device=setting.device, dtype=torch.bfloat16)


def given(setting: Setting, sizes: attention.Sizes) -> list[Tensor]:
    shape = (sizes.batch, sizes.heads, sizes.width, sizes.head)
    draw = torch.Generator(setting.device).manual_seed(0)
    return [torch.randn(shape, generator=draw, device=setting.device, dtype=torch.bfloat16) for _ in range(3)]


def works(call: Call) -> bool:
    """Whether this kernel is there."""
    try:
        call()
    except RuntimeError:
        return False
    return True


def same(results: Mapping[str, object]) -> None:
    """All within what bfloat16 rounds."""
    first = results[OURS]
    for name, found in results.items():
        assert isinstance(found, Tensor) and isinstance(first, Tensor)
        assert float((found.float() - first.float()).abs().max()) < 0.1 * float(first.float().std()), name


def decoding(setting: Setting, size: str, goals: Sequence[Goal]) -> Case:
    """Greedy, batch 1, bfloat16."""
    sizes = TINY if setting.small else GPT2[size]
    draw = torch.Generator(setting.device).manual_seed(0)
    prompt = torch.randint(sizes.vocab, (1, sizes.prompt), generator=draw, device=setting.device)
    model = gpt.spec(sizes).model("gpt")
    net = drawn(model, setting, torch.bfloat16).eval()
    weights = net.state_dict()
    with setting.device:
        theirs = peers.installed({HF: lambda: gpt_peers.hugging_face(sizes, weights).to(torch.bfloat16).eval()})
    options = {"do_sample": False, "pad_token_id": 0, "eos_token_id": None, "max_new_tokens": sizes.tokens}
    contenders: dict[str, Call] = {
        OURS: lambda: net.generate(prompt, sizes.tokens),
        f"{OURS}, static": lambda: net.generate(prompt, sizes.tokens, static=True),
    }
    again = model.torch(device="meta", dtype=torch.bfloat16).eval()
    again.load_state_dict(weights, assign=True)
    contenders[f"{OURS}, static, compiled"] = lambda: again.generate(prompt, sizes.tokens, static=setting.compiled)
    for name, other in theirs.items():
        contenders[name] = lambda other=other: other.generate(prompt, attention_mask=torch.ones_like(prompt), **options)

    def check() -> None:
        with torch.inference_mode():
            same({OURS: net(prompt), **{name: other(prompt).logits for name, other in theirs.items()}})
        tokens = [call() for name, call in contenders.items() if name.startswith(OURS)]
        assert setting.device.type == "cuda" or all(torch.equal(tokens[0], other) for other in tokens)  # ties, there
        for name, call in contenders.items():
            # (other cases time what returns no tensor)
            assert call().shape[-1] in (sizes.tokens, sizes.tokens + sizes.prompt), name  # type: ignore[attr-defined]

    what = f"GPT-2 {size}, greedy decode, {sizes.tokens} tokens behind {sizes.prompt}, batch 1, bfloat16"
    return Case(f"decode_{size}", what, "tokens", sizes.tokens, contenders, goals, check)
