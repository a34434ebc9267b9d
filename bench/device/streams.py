"""Kernels made of specs, on a GPU: are they right, and how fast beside PyTorch's own, FlexAttention and plain code?

    python bench/device/streams.py [--seconds 200] [--small --device cpu]

First times in bfloat16, forward and with gradients, the most telling first, in half of the seconds, then their table;
results and all gradients of every attention beside float64, in bfloat16 and in float32, each attention in a process of
its own with a limit. What fails is told, and the next case runs. `--small` tries all at tiny sizes; on a CPU with
TRITON_INTERPRET=1.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from device.setting import Setting

import attnc

SECONDS = 200.0
HEAD = """width target
width past like target
depth heads as h = 16, key as d_k = 128, value as d_v = 128
depth groups as g = 4, sharing as s = 4, turned as d_r = 64, places = 33
"""
QKV = "Q: [heads, target, key], K: [heads, target, key], V: [heads, target, value]"
SCORES = "dot[key](Q, K[target as past]) / sqrt(|key|)"
READ = "dot[past](softmax[past](scores where past <= target), V[target as past])"
OUT = "[heads, target, value]"
SPECS = {
    "causal": f"model causal({QKV}) -> {OUT} {{\n    scores = {SCORES}\n    return {READ}\n}}",
    "full": f"model full({QKV}) -> {OUT} {{\n    return dot[past](softmax[past]({SCORES}), V[target as past])\n}}",
    "grouped": """model grouped(
    Q: [groups, sharing, target, key], K: [groups, target, key], V: [groups, target, value]
) -> [groups, sharing, target, value] {
    scores = dot[key](Q, K[target as past]) / sqrt(|key|)
    return dot[past](softmax[past](scores where past <= target), V[target as past])
}""",
    "alibi": f"""model alibi({QKV}, slope: [heads]) -> {OUT} {{
    scores = {SCORES} - slope * (target - past)
    return {READ}
}}""",
    "softcap": f"""model softcap({QKV}) -> {OUT} {{
    scores = 30 * tanh({SCORES} / 30)
    return dot[past](softmax[past](scores where past <= target and target - past < 1024), V[target as past])
}}""",
    "sigmoid": f"""model sigmoid_attention({QKV}) -> {OUT} {{
    scores = {SCORES}
    return dot[past](select(past <= target, sigmoid(scores - 8), 0), V[target as past])
}}""",
    "differential": f"""model differential(
    {QKV}, R: [heads, target, key], L: [heads, target, key], portion: [heads]
) -> {OUT} {{
    first = softmax[past]({SCORES} where past <= target)
    second = softmax[past](dot[key](R, L[target as past]) / sqrt(|key|) where past <= target)
    return dot[past](first - broadcast[target, past](portion) * second, V[target as past])
}}""",
    "spherical": f"""model spherical({QKV}) -> {OUT} {{
    scores = {SCORES}
    return dot[past](l2norm[past](select(past <= target, scores, 0)), V[target as past])
}}""",
    "latent": f"""model latent({QKV}, Q_turned: [heads, target, turned], K_turned: [target, turned]) -> {OUT} {{
    scores = (dot[key](Q, K[target as past]) + dot[turned](Q_turned, K_turned[target as past])) / sqrt(|key| + |turned|)
    return {READ}
}}""",
    "sinks": f"""model sinks({QKV}, sink: [heads]) -> {OUT} {{
    scores = {SCORES}
    kept = sigmoid(logsumexp[past](scores where past <= target) - broadcast[target](sink))
    return kept * {READ}
}}""",
    "table": f"""model of_places({QKV}, table: [places, heads], real: bool[target]) -> {OUT} {{
    bucket = index[places](clamp(past - target, -16, 16) + 16)
    scores = {SCORES} + table[places = bucket]
    return dot[past](softmax[past](scores where real[target as past]), V[target as past])
}}""",
}
# One query, as in a step of decoding: programs share its keys.
ONE = """width target, past
depth heads as h = 16, key as d_k = 128, value as d_v = 128
model one(Q: [heads, target, key], K: [heads, past, key], V: [heads, past, value]) -> [heads, target, value] {
    return dot[past](softmax[past](dot[key](Q, K) / sqrt(|key|)), V)
}"""
TINY = {"heads": 2, "key": 16, "value": 16, "groups": 2, "sharing": 2, "turned": 8}
ENOUGH = {torch.float32: 2e-5, torch.bfloat16: 2e-2}  # of the root mean square


def model(name: str, small: bool) -> attnc.Model:
    text = ONE if name == "one" else HEAD + SPECS[name]
    sizes = {key: size for key, size in TINY.items() if f"{key} as" in text or f"{key} =" in text}
    spec = attnc.loads(text, sizes=sizes if small else {})
    return spec.model(spec.models[0])


@dataclass
class Bench:
    """device: where. small: tiny sizes. until: when to begin nothing more. seconds: for all."""

    device: torch.device
    small: bool
    until: float
    seconds: float
    rows: list[tuple[str, ...]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def left(self) -> float:
        return self.until - time.perf_counter()

    def inputs(self, of: attnc.Model, length: int, dtype: torch.dtype, batch: int = 1) -> dict[str, Tensor]:
        draw = torch.Generator(self.device).manual_seed(0)
        lengths = {"target": 1, "past": length} if of.name == "one" else {"target": length}
        sizes = dict(of.cost(lengths).sizes)
        found = {}
        for port in of.inputs:
            shape = (batch, *(sizes[axis] for axis in port.axes))
            if port.element == "bool":
                found[str(port.name)] = torch.rand(shape, generator=draw, device=self.device) < 0.8
                continue
            x = torch.randn(shape, generator=draw, device=self.device)
            small = port.name in ("slope", "portion", "sink", "table")
            found[str(port.name)] = (x.abs() * 0.1 if small else x).to(dtype)
        return found

    def milliseconds(self, call: Callable[[], object]) -> float:
        """The median of a few runs."""
        if self.device.type != "cuda":
            start = time.perf_counter()
            call()
            return (time.perf_counter() - start) * 1e3
        for _ in range(3):
            call()
        torch.cuda.synchronize()
        times = []
        begun = time.perf_counter()
        while len(times) < 20 and (len(times) < 4 or time.perf_counter() - begun < 0.25):
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            call()
            last.record()
            torch.cuda.synchronize()
            times.append(first.elapsed_time(last))
        return statistics.median(times)


# -- right? -----------------------------------------------------------------------------------------------------------


def results(net: nn.Module, given: Mapping[str, Tensor]) -> list[Tensor]:
    """The result and the gradients of all inputs."""
    given = {name: x.detach().requires_grad_() if x.is_floating_point() else x for name, x in given.items()}
    y = net(**given)
    draw = torch.Generator(y.device).manual_seed(1)
    up = torch.randn(y.shape, device=y.device, generator=draw).to(y.dtype)
    return [y, *torch.autograd.grad(y, [x for x in given.values() if x.is_floating_point()], up)]


def error(x: Tensor, right: Tensor) -> float:
    return float(((x.double() - right).square().mean().sqrt() / right.square().mean().sqrt().clamp(min=1e-3)).detach())


def check(bench: Bench, name: str, dtype: torch.dtype) -> None:
    """One attention beside float64. What compiles for this length (a multiple of 16) serves those that are timed."""
    of = model(name, bench.small)
    ours = of.torch(kernels="triton", device=bench.device)
    plain = of.torch(without=["fuse_attention"], device=bench.device, dtype="float64")
    given = bench.inputs(of, 21 if bench.small else 608, dtype, 2)
    right = results(plain, {key: x.double() if x.is_floating_point() else x for key, x in given.items()})
    errors = list(map(error, results(ours, given), right))
    if not max(errors) < ENOUGH[dtype]:  # no number is wrong, too
        bench.wrong.append(f"{name} in {dtype}: {errors}")
    told = " ".join(f"{e:.0e}" for e in errors)
    print(f"{name}: result and gradients, {str(dtype)[6:]} {told}, {bench.left:.0f} s left", flush=True)


LIMIT = 30.0  # seconds of a process that checks one attention: a kernel that compiles for long is left


def check_apart(bench: Bench, names: Sequence[str]) -> None:
    """Each attention in a process of its own, four at a time: most of what they do is to compile."""

    def told(work: tuple[str, str]) -> None:
        name, dtype = work
        if bench.left < 4:
            print(f"{name}, {dtype}: no time", flush=True)
            return
        command = [sys.executable, __file__, "--check", dtype, "--only", name, "--device", str(bench.device)]
        command += ["--small"] if bench.small else []
        try:
            limit = min(LIMIT, bench.left)
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            bench.wrong.append(f"{name}, {dtype}: not done in {limit:.0f} s")
            return
        print(done.stdout.strip(), flush=True)
        if done.returncode:
            bench.wrong.append(f"{name}, {dtype}: {(done.stdout + done.stderr).strip()[-500:]}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(told, [(name, dtype) for dtype in ("bfloat16", "float32") for name in names]))


# -- fast? ------------------------------------------------------------------------------------------------------------


def flex(name: str, given: Mapping[str, Tensor], small: bool) -> Callable[..., Tensor] | None:
    """The same in FlexAttention, compiled, where it can be said there."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    if small:  # on a CPU it compiles for minutes, and has no gradients
        return None

    def seen(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return (j <= i) & (i - j < 1024) if name == "softcap" else j <= i

    scores: Callable[..., Tensor] | None = None
    if name == "alibi":
        slope = given["slope"][0].float()

        def scores(s: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            return s - slope[h] * (i - j)

    elif name == "softcap":

        def scores(s: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            return 30 * torch.tanh(s / 30)

    elif name not in ("causal", "grouped"):
        return None
    n = given["Q"].shape[-2]
    mask = create_block_mask(seen, None, None, n, n, device=given["Q"].device.type)
    compiled = torch.compile(flex_attention, dynamic=False)
    grouped = name == "grouped"

    def call(Q: Tensor, K: Tensor, V: Tensor, **_: Tensor) -> Tensor:
        Q = Q.flatten(1, 2) if grouped else Q
        made: Tensor = compiled(Q, K, V, score_mod=scores, block_mask=mask, enable_gqa=grouped)
        return made

    return call


def sdpa(name: str) -> Callable[..., Tensor] | None:
    def call(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        Q = Q.flatten(1, 2) if name == "grouped" else Q
        return F.scaled_dot_product_attention(
            Q, K, V, is_causal=name in ("causal", "grouped"), enable_gqa=name == "grouped"
        )

    return call if name in ("causal", "full", "grouped", "one") else None


def contenders(bench: Bench, name: str, length: int) -> Iterator[tuple[str, Callable[..., Tensor]]]:
    of = model(name, bench.small)
    yield "ours", of.torch(kernels="triton", device=bench.device, dtype="bfloat16")
    theirs = sdpa(name)
    if theirs is not None:
        yield "SDPA", theirs
    if length <= 8192 or name == "one":
        yield "plain", of.torch(without=["fuse_attention"], device=bench.device, dtype="bfloat16")
    if bench.left > 0.6 * bench.seconds:  # it compiles for a while
        made = flex(name, bench.inputs(of, length, torch.bfloat16), bench.small)
        if made is not None:
            yield "flex", made


def measure(bench: Bench, name: str, length: int) -> None:
    """Times of one attention at one length: forward, and forward and backward together."""
    given = bench.inputs(model(name, bench.small), length, torch.bfloat16)
    learnt = [x.requires_grad_() for x in given.values() if x.is_floating_point()]
    found: dict[str, tuple[float, float]] = {}
    for who, call in contenders(bench, name, length):
        try:
            with torch.no_grad():
                forward = bench.milliseconds(partial(call, **given))
            up = torch.randn_like(call(**given))

            def both(call: Callable[..., Tensor] = call, up: Tensor = up) -> object:
                return torch.autograd.grad(call(**given), learnt, up, allow_unused=True)

            found[who] = forward, bench.milliseconds(both)
        except Exception as problem:
            print(f"{name} N {length}, {who}: {type(problem).__name__}: {str(problem)[:200]}", flush=True)
            if bench.device.type == "cuda":
                torch.cuda.empty_cache()
    ours = found.get("ours", (math.nan, math.nan))
    cells = [name, str(length), *(f"{x:.3f}" for x in ours)]
    for who in ("SDPA", "flex", "plain"):
        cells += [f"{them:.3f} ({them / mine:.2f})" for mine, them in zip(ours, found[who], strict=True)] if (
            who in found
        ) else ["-", "-"]  # fmt: skip
    bench.rows.append(tuple(cells))
    print(" ".join(cells), flush=True)


ORDER = (
    ("causal", 8192),
    ("alibi", 8192),
    ("softcap", 8192),
    ("sigmoid", 8192),
    ("differential", 8192),
    ("grouped", 8192),
    ("one", 65536),
    ("causal", 2048),
    ("causal", 16384),
    ("latent", 8192),
    ("full", 8192),
    ("spherical", 8192),
    ("sinks", 8192),
    ("causal", 4096),
    ("table", 4096),
    ("sigmoid", 2048),
    ("differential", 2048),
)


def table(bench: Bench) -> str:
    """What was measured: milliseconds, and how many times ours those of each peer are."""
    head = ("bfloat16, ms", "N", "ours", "+ back", "SDPA", "+ back", "flex", "+ back", "plain", "+ back")
    rows = [head, *bench.rows]
    widths = [max(len(row[place]) for row in rows) for place in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def run(device: torch.device, small: bool, seconds: float, names: Sequence[str] = ()) -> Bench:
    """All of it."""
    bench = Bench(device, small, time.perf_counter() + seconds, seconds)
    for name, length in ORDER if not small else (("causal", 19), ("grouped", 19)):
        if bench.left < 0.5 * seconds or (names and name not in names):
            continue
        try:
            measure(bench, name, length)
        except Exception as problem:
            print(f"{name} N {length}: {type(problem).__name__}: {str(problem)[:500]}", flush=True)
    print(table(bench), flush=True)
    check_apart(bench, names or (*SPECS, "one"))
    print(f"{len(bench.wrong)} wrong", *bench.wrong, sep="\n  ")
    return bench


def told(setting: Setting) -> dict[str, object]:
    """All of it as a task of bench/gpu.py."""
    what = "kernels of streaming regions"
    if importlib.util.find_spec("triton") is None:
        return {"what": f"{what}, which need Triton: not tried", "wrong": []}
    if setting.device.type == "cpu" and os.environ.get("TRITON_INTERPRET") != "1":
        return {"what": f"{what}, which need TRITON_INTERPRET=1 (or --device cpu) on a CPU: not tried", "wrong": []}
    bench = run(setting.device, setting.small, SECONDS, ("causal",) if setting.small else ())
    return {"what": what, "wrong": bench.wrong, "rows": [list(row) for row in bench.rows]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for all together (%(default)s)")
    parser.add_argument("--small", action="store_true", help="tiny sizes, to see that it works")
    parser.add_argument("--device", default="cuda")
    parser.add_argument(
        "--only", action="append", default=[], choices=(*SPECS, "one"), help="this one; may be repeated"
    )
    parser.add_argument("--check", choices=("bfloat16", "float32"), help="whether it is right in this type, no more")
    options = parser.parse_args()
    if options.check:
        bench = Bench(torch.device(options.device), options.small, time.perf_counter() + LIMIT, LIMIT)
        for name in options.only:
            check(bench, name, getattr(torch, options.check))
        print(*bench.wrong, sep="\n")
        return 1 if bench.wrong else 0
    return 1 if run(torch.device(options.device), options.small, options.seconds, options.only).wrong else 0


if __name__ == "__main__":
    sys.exit(main())
