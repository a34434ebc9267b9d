"""docs/meshes.md: plans on published meshes beside what was published of them. docs/generate.py writes it.

Figures of others are typed here from their sources, each named in its row's footnote; nothing of ours is made of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import attnc
from attnc.compiler.sharding.collectives import Means
from attnc.compiler.sharding.page import percent
from attnc.compiler.sharding.plan import ShardingPlan
from attnc.spec import Size

ZOO = Path(__file__).parents[1] / "examples" / "zoo"
GIB, GB = 2**30, 10**9
LLAMA_70B = {"model": 8192, "inner": 28672, "layers": 80, "sharing": 8}
LLAMA_405B = {"model": 16384, "inner": 53248, "layers": 126, "sharing": 16}
GPT_175B = {"model": 12288, "heads": 96, "layers": 96, "vocab": 51200, "longest": 2048, "drop": 0.0}
WHOLE = ["groups", "inner", "vocab", "seq"]  # norms by parts of the sequence, too

INTRODUCTION = """\
# Plans of published meshes

How near is a plan to what was measured? Here [`attnc shard`](sharding.md) plans models on the mesh that their authors
published. *Ours* is calculated: no device was used, and nothing is fitted. [What is counted](#what-is-counted).

## Memory that was measured

torchtitan published the most memory that PyTorch's allocator reserved on a device, of Llama 3.1 with sequences of 8,192
on H100s in December 2024
([llama3_h100_202412](https://github.com/pytorch/torchtitan/blob/main/benchmarks/llama3_h100_202412_torchtitan.md)).
Planned with its settings (commit 9dec370): float32 weights, gradients and moments, scattered (FSDP); bfloat16
computing; norms by parts of the sequence along `model`. In GiB; *states* are weights, gradients and AdamW's moments.

| model | mesh | batch a device | checkpointing | states | gathered | activations | loss | ours | theirs | difference |
|---|---|---|---|---|---|---|---|---|---|---|
"""

MISSED = """
- Without `torch.compile`: {eager}. Compiled code keeps less than the plan says: not those results of selective
  checkpointing that no gradient needs.
- Float8 and the buffers of asynchronous tensor parallelism are not counted.
- 405B: {missed}. Each of its eight stages is planned as a model of its own, and the largest is compared: the first (15
  layers and the embedding, eight micro-batches on their way), the second (16 layers, seven) or the last (15 layers,
  the norm and the logits). With `--zero 1`: gradients are scattered after the last micro-batch. Not counted is what a
  schedule keeps beside that: what stages receive and send, and gradients in both forms while they are scattered.
  Interleaved stages (theirs: 72.7) are not planned.

## Memory that was not published

Meshes of papers, with one micro-batch of one sequence at a time. In GB. *Sending* is its share of a step at 400
TFLOP/s and 100 GB/s, where nothing overlaps, with what checkpointing does again.

| model | devices | mesh | `--zero` | checkpointing | states | activations | all | sending | limited by |
|---|---|---|---|---|---|---|---|---|---|
"""

END = """
**Llama 3 405B**: table 4 and section 3.3.2 of [Dubey et al. 2024](https://arxiv.org/abs/2407.21783). FSDP scatters
optimiser and gradients and leaves weights gathered; gradients are summed in float32; 126 layers in 16 stages, the first
and the last with one less. They trained sequences of 8,192 without checkpointing on 80 GB a device. This plan does not
fit there: {gathered} of its {kept} GB of activations are norms that were gathered for maps, which Megatron gathers anew
for the gradient ([Korthikanti et al. 2022](https://arxiv.org/abs/2205.05198), section 4.2.2); and their schedule has
fewer micro-batches on their way. With `context = 16` the paper gives each device a part from either end of a sequence,
so that its mask costs all as much.

**DeepSeek-V3**: sections 3.2 and 4.2 of [the report](https://arxiv.org/abs/2412.19437). 16 stages, experts over 64
devices, ZeRO 1, sequences of 4,096 in batches of 15,360. Planned as a stage of four layers with experts, in bfloat16
(theirs: float8), without the prediction of further tokens. Weights that are no experts are scattered over the 2 devices
of `data`, as `parallelize` does it; theirs over all 128.

**GPT-3 175B**: table 2 of [Narayanan et al. 2021](https://arxiv.org/abs/2104.04473). Model-parallel over 96 devices (8
and 12 stages), batches of 1,536, micro-batches of one, all activations done again.

## What is counted

- **Weights, gradients, AdamW's state**, each in its dtype. From its ZeRO stage on
  ([Rajbhandari et al. 2020](https://arxiv.org/abs/1910.02054); their example of 7.5 billion weights on 64 devices is a
  test) each is divided over the devices that have the same of it: along the axes of the mesh on which no weight is
  split, `data` beside `expert`. With `--reduce float32` and `--zero 3` weights are kept in float32 alone, and cast when
  they are gathered, as PyTorch's `fully_shard` does.
- **Gathered**: with `--zero 3` the weights outside of repeats, and those of the pass at work and of the next one. From
  stage 2 on also the gradients of a pass, in both dtypes, until they are scattered
  ([Zhao et al. 2023](https://arxiv.org/abs/2304.11277)).
- **Activations**: what each op's gradient needs, with fused attention ([how](cost.md)). *Full* checkpointing keeps what
  enters each pass of a repeat ([Chen et al. 2016](https://arxiv.org/abs/1604.06174)). *Selective* also keeps the
  results of attention, of scattered sums, and of every second map by weights, as torchtitan's `op`. One pass that is
  done again is there as well.
- **Loss**: three float32 arrays over the vocabulary (log-probabilities, their gradient, that of the logits:
  `cross_entropy`), or four where devices have parts of the vocabulary (`loss_parallel`).

All of these are added. Not counted: what an allocator leaves unused, buffers of collectives, temporaries of the
optimiser, NCCL's and CUDA's own memory.
"""


@dataclass(frozen=True)
class Run:
    """A published run: its plans (of stages, if it has such), what is kept, and what was measured, in GiB."""

    model: str
    mesh: str
    plans: Sequence[tuple[ShardingPlan, int]]  # and of how many micro-batches activations are kept
    how: str
    theirs: Mapping[str, float]

    def largest(self) -> tuple[ShardingPlan, int]:
        return max(self.plans, key=lambda one: one[0].memory(self.how, one[1]))


def llama(sizes: Mapping[str, Size] | None = None) -> attnc.Model:
    return attnc.load(ZOO / "llama.attn", sizes=sizes).model("llama")


def stage(part: str, layers: int) -> attnc.Model:
    """A stage of Llama's layers: the first has the embedding, the last the norm and the logits."""
    text = (ZOO / "llama.attn").read_text(encoding="utf-8")
    if part != "last":
        text = text.replace("-> [seq, vocab] causal", "-> [seq, model] causal")
        text = text.replace("linear.logits[model -> vocab](rmsnorm.last[model](x, eps), bias = false)", "x")
    if part != "first":
        ids = ", ids: vocab[seq]" if part == "last" else ""  # so that its results are known to be logits
        text = text.replace("(ids: vocab[seq], ", "(x: [seq, model], ").replace("= true) ->", f"= true{ids}) ->")
        text = text.replace("    x = embed.E[vocab -> model](ids)\n", "")
    return attnc.loads(text, sizes={**LLAMA_405B, "layers": layers}).model("llama")


def measured() -> list[Run]:
    """The rows of torchtitan's tables 1, 3, 4 and 5."""
    runs = []
    for devices, theirs in ((8, {"": 82.4, "compiled": 77.0}), (128, {"": 67.0, "compiled": 62.0})):
        plan = llama().plan({"data": devices}, {"seq": 8192}, batch=2 * devices, reduce="float32")
        runs.append(Run("8B", f"data = {devices}", [(plan, 1)], "selective", theirs))
    plan = llama(LLAMA_70B).plan(
        {"data": 32, "model": 8}, {"seq": 8192}, splits={"model": WHOLE}, batch=512, reduce="float32"
    )
    theirs = {"compiled, float8": 71.9, "asynchronous, too": 67.6}
    runs.append(Run("70B", "data = 32, model = 8", [(plan, 1)], "full", theirs))
    parts = (("first", 15, 8), ("middle", 16, 7), ("last", 15, 1))
    stages = [(staged(part, layers, {"data": 8, "model": 8}, 256, 8, 1), flight) for part, layers, flight in parts]
    runs.append(Run("405B", "data = 8, model = 8, 8 stages", stages, "full", {"compiled, float8": 82.5}))
    return runs


def staged(
    part: str, layers: int, mesh: Mapping[str, int], batch: int, micro: int, zero: int, seq: int = 8192
) -> ShardingPlan:
    absent = {"vocab"} if part == "middle" else set()
    splits = {"model": [name for name in WHOLE if name not in absent | ({"seq"} if "context" in mesh else set())]}
    return stage(part, layers).plan(
        mesh, {"seq": seq}, splits=splits, batch=batch, micro=micro, zero=zero, reduce="float32"
    )


def unmeasured() -> list[tuple[Run, int]]:
    """The meshes of papers, and how many stages their pipelines have."""
    runs = []
    for mesh, batch, seq in (
        ({"data": 64, "model": 8}, 32 * 64, 8192),
        ({"data": 128, "model": 8}, 16 * 128, 8192),
        ({"data": 8, "context": 16, "model": 8}, 16 * 8, 131072),
    ):
        micro = batch // mesh["data"]
        parts = (("first", 7, 16), ("middle", 8, 15), ("last", 7, 1))
        plans = [
            (staged(part, layers, mesh, batch, micro, 2, seq), min(flight, micro)) for part, layers, flight in parts
        ]
        shown = ", ".join(f"{name} = {count}" for name, count in mesh.items())
        runs.append((Run("Llama 3 405B", shown, plans, "none", {}), 16))
    deepseek = attnc.load(ZOO / "mixed" / "latent.attn", sizes={"layers": 4, "dense": 0}).model("decoder")
    plan = deepseek.plan({"data": 2, "expert": 64}, {"seq": 4096}, batch=15360, micro=120, zero=1)
    runs.append((Run("DeepSeek-V3", "data = 2, expert = 64", [(plan, 16)], "full", {}), 16))
    gpt = attnc.load(ZOO / "gpt2.attn", sizes={**GPT_175B, "layers": 8}).model("gpt2")
    depths = {"model": ["heads", "inner", "vocab"]}
    plan = gpt.plan({"data": 4, "model": 8}, {"seq": 2048}, splits=depths, batch=1536, micro=384, zero=0)
    runs.append((Run("GPT-3 175B", "data = 4, model = 8", [(plan, 12)], "full", {}), 12))
    return runs


def page() -> str:
    text = [INTRODUCTION.replace("\n\n", "\n\n<!-- Written by docs/generate.py (`make docs`): do not edit. -->\n", 1)]
    differences = {}
    for run in measured():
        plan, flight = run.largest()
        held = plan.held(run.how, flight)
        states = held.weights + held.gradients + held.optimiser
        parts = (states, held.gathered, held.activations + held.again, held.loss, held.all)
        for what, theirs in run.theirs.items():
            off = f"{held.all / GIB / theirs - 1:+.1%}"
            differences[run.model, run.mesh, what] = off
            name = f"{run.model} ({what})" if what else run.model
            figures = " | ".join(f"{each / GIB:.1f}" for each in parts)
            batch = plan.cost.batch * plan.micro
            text.append(f"| {name} | {run.mesh} | {batch} | {run.how} | {figures} | {theirs} | {off} |\n")
    eager = " and ".join(off for (*_, what), off in differences.items() if not what)
    missed = next(off for (model, *_), off in differences.items() if model == "405B")
    text.append(MISSED.format(eager=eager, missed=missed))
    kept = gathered = 0.0
    for run, stages in unmeasured():
        plan, flight = run.largest()
        held = plan.held(run.how, flight)
        states = held.weights + held.gradients + held.optimiser
        if not kept:
            kept = held.activations / GB
            gathered = flight * sum(
                plan.bytes_of(one.given) * plan.mesh.axes[one.mesh].size * one.times
                for one in plan.sent
                if one.means is Means.ALL_GATHER and not one.backward
            ) / GB  # fmt: skip
        computing = (plan.flops + plan.flops_again(run.how)) / 4e14
        sending = (plan.sent_bytes + plan.sent_again(run.how)) / 1e11
        share = percent(sending, computing + sending)
        limit = "computing" if computing > sending else "sending"
        figures = " | ".join(f"{each / GB:.0f}" for each in (states, held.activations + held.again, held.all))
        text.append(
            f"| {run.model} | {plan.mesh.devices * stages:,} | {run.mesh}; {stages} stages | {plan.zero} | "
            f"{run.how} | {figures} | {share} | {limit} |\n"
        )
    return "".join(text) + END.format(gathered=round(gathered), kept=round(kept))


if __name__ == "__main__":
    print(page())
