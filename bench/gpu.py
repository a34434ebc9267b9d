"""attnc on a GPU beside what others write by hand: `python bench/gpu.py [--only NAME] [--nanogpt CHECKOUT] [--small]`.

Each piece of work is done by every contender in turn, in shuffled rounds of one process, after it was checked that they
compute the same. Printed are what each does in a second (medians), ours over each peer with the interval of 90 %, and
which goals are met. Results go to out/bench/gpu.json. `--small` runs all of it at tiny sizes, on a CPU too: to see that
it works, not how fast. Matrices of float32 are multiplied in TF32, as nanoGPT asks for; attnc never does so by itself.
"""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch
from speed import attention, gpt, gpt_peers, peers
from speed.gpt_peers import Sizes
from speed.timing import OURS, Spread
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import attnc

Call = Callable[[], object]
NANO = "nanoGPT"
HF = "Hugging Face"


@dataclass(frozen=True, slots=True)
class Goal:
    """Ours does at least so many units in a second; or, with a peer, so many times what that does."""

    least: float
    peer: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One piece of work. `amount` units of it are done by each call of each contender; ours are all named attnc...

    check: raises if the contenders do not compute the same.
    """

    name: str
    what: str
    unit: str
    amount: float
    contenders: Mapping[str, Call]
    goals: Sequence[Goal]
    check: Call


@dataclass(frozen=True, slots=True)
class Setting:
    """Where and how: `backend` is torch.compile's, `rounds` of each."""

    device: torch.device
    small: bool
    backend: str
    rounds: int
    nanogpt: Path | None

    def compiled(self, function: Callable[..., object]) -> Callable[..., Tensor]:
        made: Callable[..., Tensor] = torch.compile(function, backend=self.backend)
        return made

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


GPT2 = {
    "124M": Sizes(layers=12, model=768, heads=12, width=1024, vocab=50_304, batch=32, prompt=16, tokens=768),
    "1.5B": Sizes(layers=48, model=1600, heads=25, width=1024, vocab=50_304, batch=16, prompt=16, tokens=768),
}
TINY = Sizes(layers=2, model=32, heads=2, width=16, vocab=64, batch=2, prompt=3, tokens=4)


def training(setting: Setting, size: str, goals: Sequence[Goal]) -> Case:
    """Forward and backward under bfloat16's autocast, and a step of fused AdamW: what nanoGPT does."""
    sizes = TINY if setting.small else GPT2[size]
    draw = torch.Generator().manual_seed(0)
    ids, following = (
        torch.randint(sizes.vocab, (sizes.batch, sizes.width), generator=draw).to(setting.device) for _ in range(2)
    )
    spec = gpt.spec(sizes).model("loss")
    first = spec.torch(seed=0, device=setting.device)
    weights = {name: x.clone() for name, x in first.state_dict().items()}
    whole = setting.compiled(first)
    losses: dict[str, tuple[nn.Module, Callable[[], Tensor]]] = {OURS: (first, lambda: whole(ids, following).mean())}
    if size == "124M":
        second = spec.torch(weights=weights, device=setting.device)
        for block in second.layers:  # type: ignore[union-attr]  # PyTorch says Module or Tensor of every attribute
            block.compile(backend=setting.backend)
        losses[f"{OURS}, blocks compiled"] = (second, lambda: second(ids, following).mean())

        def hugging_face() -> nn.Module:
            return gpt_peers.hugging_face(sizes, weights).to(setting.device)

        for name, module in peers.installed({HF: hugging_face}).items():
            made = setting.compiled(module)
            losses[name] = (module, lambda made=made: peers.cross_entropy(made(ids), following))
    if setting.nanogpt is not None:
        nano = gpt_peers.nano_gpt(setting.nanogpt, sizes, weights).to(setting.device)
        run = setting.compiled(nano)
        losses[NANO] = (nano, lambda: run(ids, following)[1])

    def check() -> None:
        found = {}
        for name, (_, loss) in losses.items():
            with torch.autocast(setting.device.type, torch.bfloat16):
                found[name] = float(loss().detach())
        assert max(found.values()) - min(found.values()) < 0.02 * found[OURS], found

    contenders = {name: step(setting, *entry) for name, entry in losses.items()}
    what = f"GPT-2 {size}, training, {gpt.described(sizes)}, bfloat16 autocast, AdamW, compiled"
    return Case(f"train_{size}", what, "tokens", sizes.batch * sizes.width, contenders, goals, check)


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
    draw = torch.Generator().manual_seed(0)
    prompt = torch.randint(sizes.vocab, (1, sizes.prompt), generator=draw).to(setting.device)
    net = gpt.spec(sizes).model("gpt").torch(seed=0, device=setting.device, dtype=torch.bfloat16).eval()
    weights = {name: x.float().cpu() for name, x in net.state_dict().items()}

    def hugging_face() -> nn.Module:
        return gpt_peers.hugging_face(sizes, weights).to(setting.device, torch.bfloat16).eval()

    theirs = peers.installed({HF: hugging_face})
    options = {"do_sample": False, "pad_token_id": 0, "eos_token_id": None, "max_new_tokens": sizes.tokens}
    contenders: dict[str, Call] = {
        OURS: lambda: net.generate(prompt, sizes.tokens),
        f"{OURS}, static": lambda: net.generate(prompt, sizes.tokens, static=True),
    }
    again = gpt.spec(sizes).model("gpt").torch(weights=weights, device=setting.device, dtype=torch.bfloat16).eval()
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


# What was asked for, on an H200.
WORK: dict[str, Callable[[Setting], Case]] = {
    "train_124M": lambda s: training(s, "124M", [Goal(460_000), Goal(1.1, NANO)]),
    "train_1.5B": lambda s: training(s, "1.5B", [Goal(42_000)]),
    "attention": lambda s: causal_attention(s, [Goal(550)]),
    "window": lambda s: window(s, False, [Goal(5, "SDPA, dense mask")]),
    "window_train": lambda s: window(s, True, []),
    "decode_124M": lambda s: decoding(s, "124M", [Goal(3_000), Goal(20, HF)]),
    "decode_1.5B": lambda s: decoding(s, "1.5B", [Goal(900), Goal(20, HF)]),
}


@dataclass(slots=True)
class Result:
    """Seconds of each round, by contender. judged: at the sizes of the goals, on a GPU."""

    case: Case
    judged: bool
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def speed(self, name: str) -> float:
        return self.case.amount / statistics.median(self.seconds[name])

    def over(self, name: str, peer: str) -> Spread:
        """How many times the speed of the peer."""
        return Spread.of([b / a for a, b in zip(self.seconds[name], self.seconds[peer], strict=True)])

    @property
    def best(self) -> str:
        """The fastest way of ours."""
        return max((name for name in self.seconds if name.startswith(OURS)), key=self.speed)

    def goals(self) -> Iterator[tuple[str, float | None, bool | None]]:
        """What was asked for, what is, and whether that is enough; None where that cannot be told."""
        for goal in self.case.goals:
            if not goal.peer:
                found: float | None = self.speed(self.best)
                text = f"at least {goal.least:,g} {self.case.unit}/s"
            else:
                found = self.over(self.best, goal.peer).median if goal.peer in self.seconds else None
                text = f"at least {goal.least:g} times {goal.peer}"
            yield text, found, None if found is None or not self.judged else found >= goal.least


def run(case: Case, setting: Setting) -> Result:
    """Every contender once a round, as often in a row as fills a quarter of a second, in a new order."""
    result = Result(case, not setting.small, {name: [] for name in case.contenders})
    least = 0.0 if setting.small else 0.25
    times = {}
    for name, call in case.contenders.items():
        start = time.perf_counter()
        for _ in range(1 if setting.small else 5):  # what compiles has compiled after the first
            call()
            if time.perf_counter() - start > 10:
                break
        times[name] = max(1, round(least / max(seconds(call, 1, setting), 1e-9)))
    order, rng = list(case.contenders), random.Random(0)
    for _ in range(setting.rounds):
        rng.shuffle(order)
        for name in order:
            result.seconds[name].append(seconds(case.contenders[name], times[name], setting))
    return result


def seconds(call: Call, times: int, setting: Setting) -> float:
    """Of one call, until the device has done it."""
    setting.wait()
    start = time.perf_counter()
    for _ in range(times):
        call()
    setting.wait()
    return (time.perf_counter() - start) / times


def show(result: Result) -> None:
    case = result.case
    print(f"\n{case.what}")
    for name in sorted(result.seconds, key=result.speed, reverse=True):
        beside = "" if name.startswith(OURS) else f"   {result.best} is {result.over(result.best, name)} times as fast"
        print(f"  {name:24} {result.speed(name):12,.4g} {case.unit}/s{beside}")
    for text, found, met in result.goals():
        verdict = {True: "met", False: "missed", None: "not judged"}[met]
        print(f"  goal: {text}: {'' if found is None else f'{found:,.4g}, '}{verdict}", flush=True)


def data(result: Result) -> dict[str, object]:
    peers_ = [name for name in result.seconds if not name.startswith(OURS)]
    return {
        "name": result.case.name,
        "what": result.case.what,
        "unit": result.case.unit,
        "per_second": {name: result.speed(name) for name in result.seconds},
        "seconds": result.seconds,
        "best": result.best,
        "best_over": {name: [s.median, s.low, s.high] for name in peers_ for s in [result.over(result.best, name)]},
        "goals": [{"goal": text, "found": found, "met": met} for text, found, met in result.goals()],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=list(WORK), help="this work alone; may be repeated")
    parser.add_argument("--rounds", type=int, default=10, help="of each (%(default)s)")
    parser.add_argument("--small", action="store_true", help="tiny sizes, on a CPU too, to see that it works")
    parser.add_argument("--backend", help="torch.compile's (inductor; with --small eager, which compiles nothing)")
    parser.add_argument("--nanogpt", type=Path, metavar="CHECKOUT", help="a checkout of nanoGPT to run beside")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder for results (%(default)s)")
    options = parser.parse_args(arguments)
    if not torch.cuda.is_available() and not options.small:
        sys.exit("bench/gpu.py: there is no CUDA device here; --small tries everything at tiny sizes on the CPU")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    backend = options.backend or ("eager" if options.small else "inductor")
    setting = Setting(device, options.small, backend, options.rounds, options.nanogpt)
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    options.out.mkdir(parents=True, exist_ok=True)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    told: dict[str, object] = {"device": name, "torch": torch.__version__, "small": options.small}
    results = []
    for each in options.only or WORK:
        case = WORK[each](setting)
        case.check()
        result = run(case, setting)
        show(result)
        results.append(data(result))
        told["work"] = results
        (options.out / "gpu.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
        del case, result  # and the models with them
        if device.type == "cuda":
            torch.cuda.empty_cache()
        torch._dynamo.reset()
    return 0


if __name__ == "__main__":
    sys.exit(main())
