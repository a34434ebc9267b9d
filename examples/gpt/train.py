"""Train the GPT of gpt.attn on one device or many, so that the run survives what happens to it.

    python examples/gpt/train.py [--mesh data=2,model=2] [--out out/train] [--steps N] ...
    torchrun --standalone --nproc-per-node 4 examples/gpt/train.py --mesh pipe=2,data=2 --accumulate 4 ...

Without torchrun it starts the processes of the mesh on this machine itself. Every --every steps a checkpoint is written
while training goes on; `--resume` goes on from the last one, on whichever mesh: the batch of a step depends on the seed
and the step alone. With `--restarts N` (torchrun's --max-restarts) it is resumed by itself when a rank dies. Ctrl-C, or
SIGTERM, stops after a step, with a checkpoint. In the folder are checkpoints, log.jsonl with a line for each step,
loss.png, and at the end weights.safetensors. What is wrong is told once, whichever ranks find it. Exit status: 0; 2
where it could not run; 3 where a rank was lost, or 128 and the signal that ended it; 130 after Ctrl-C.
"""

import argparse
import itertools
import json
import math
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # examples/: run from anywhere, nothing to install

os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # what is said of a rank that died is ours
if "RANK" in os.environ:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while all ranks import: no page of tracebacks

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

import attnc
from attnc.checkpoints import CheckpointError, Checkpoints, read_tensors, training_state
from gpt import data
from gpt.ranks import MISTAKE, STOPPED, Ranks, is_lost, join, launch, mesh_sizes, under_torchrun
from training import console, whole

SPEC = Path(__file__).with_name("gpt.attn")
SPLITS = {"model": ("groups", "inner")}  # heads and inner layers: in a model so small none would pay
SAME = ("seed", "batch", "width", "dtype", "steps", "rate", "warmup", "decay", "clip", "set")  # or it is another run


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)  # else each rank would print it


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--mesh", default="data=1", metavar="AXIS=N,..", help="devices by the axes of the mesh (%(default)s)")
    add("--split", action="append", default=[], metavar="AXIS=NAME,..", help="what an axis splits, as of attnc shard")
    add("--out", type=Path, default=Path("out/train"), help="folder for what comes of it (%(default)s)")
    add("--resume", action="store_true", help="go on from the last checkpoint there, if there is one")
    add("--restarts", type=int, default=0, help="resume so often by itself; of torchrun: --max-restarts (%(default)s)")
    add("--every", type=int, default=50, help="steps between checkpoints (%(default)s)")
    add("--keep", type=int, default=3, help="checkpoints that are kept (%(default)s)")
    add("--steps", type=int, default=600, help="training steps (%(default)s)")
    add("--batch", type=int, default=16, help="texts in a step, on all devices together (%(default)s)")
    add("--accumulate", type=int, default=1, metavar="N", help="micro-batches of a step's texts (%(default)s)")
    add("--width", type=int, default=256, help="characters of a text, `seq` of the spec (%(default)s)")
    add("--rate", type=float, default=3e-3, help="the highest learning rate (%(default)s)")
    add("--warmup", type=int, default=100, help="steps in which the rate rises (%(default)s)")
    add("--decay", type=float, default=0.1, help="weight decay (%(default)s)")
    add("--clip", type=float, default=1.0, help="largest norm of the gradients (%(default)s)")
    add("--dtype", default="float32", choices=("float32", "float64", "bfloat16"), help="of the weights (%(default)s)")
    add("--seed", type=int, default=0, help="for weights, texts and dropout (%(default)s)")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="a size or const of the spec, as drop=0")
    add("--library", type=Path, help="where Python files are whose docstrings it learns (those of this Python)")
    add("--show", type=int, default=10, help="steps between lines (%(default)s)")
    add("--timeout", type=int, default=600, help="seconds that a rank waits for the others (%(default)s)")
    options = parser.parse_args(arguments)
    for name in ("every", "keep", "steps", "batch", "accumulate", "width", "show", "timeout"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} is at least 1")
    for name in ("restarts", "seed", "warmup"):
        if getattr(options, name) < 0:
            parser.error(f"--{name} is at least 0")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    ranks = join()
    try:
        options = parsed(arguments)
        axes = mesh_sizes(options.mesh)
        if not under_torchrun() and math.prod(axes.values()) > 1:
            return launch((__file__, *arguments), math.prod(axes.values()), options.restarts)
        mesh = ranks.meet(axes, timedelta(seconds=options.timeout))
        return Run(options, ranks, mesh).train()
    except OSError as error:
        return ranks.end(MISTAKE, f"error: {error.filename}: {error.strerror}" if error.filename else f"error: {error}")
    except attnc.AttnError as error:
        return ranks.end(MISTAKE, str(error).strip())
    except ValueError as error:
        return ranks.end(MISTAKE, f"error: {getattr(error, 'on_command_line', error)}")
    except KeyboardInterrupt:
        return STOPPED
    except Exception as error:
        if is_lost(error):
            return ranks.lost(error, "before the first step", lambda: "The same command goes on.")
        return ranks.end(1, traceback.format_exc())  # a mistake of ours
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


class Run:
    """A model, its optimiser, its texts and its checkpoints."""

    def __init__(self, options: argparse.Namespace, ranks: Ranks, mesh: DeviceMesh) -> None:
        self.options, self.ranks, self.device = options, ranks, torch.device(mesh.device_type)
        torch.set_num_threads(1)
        self.text = data.load(options.library)
        if options.width >= len(self.text.train):
            raise ValueError(
                f"--width {options.width} is more than the {len(self.text.train):,} characters that there are"
            )
        sizes = {"character": data.ALPHABET, **dict(_setting(text) for text in options.set)}
        model = attnc.load(SPEC, sizes=sizes).model("loss")
        asked = dict(_split(text) for text in options.split)
        usual = {axis: names for axis, names in SPLITS.items() if axis in mesh.mesh_dim_names}
        self.net: Any = model.parallelize(mesh, splits={**usual, **asked}, seed=options.seed, dtype=options.dtype)
        mine = len(self.net.batch_part(torch.empty(options.batch)))
        if mine % options.accumulate:
            raise ValueError(
                f"--accumulate {options.accumulate} does not divide the {mine} texts of a device in a step"
            )
        self.copies = options.batch // mine  # how many devices have texts of their own
        self.optimizer = torch.optim.AdamW(self.net.parameters(), betas=(0.9, 0.98), weight_decay=options.decay)
        options.out.mkdir(parents=True, exist_ok=True)
        limit = timedelta(seconds=options.timeout)
        self.checkpoints = Checkpoints(options.out / "checkpoints", keep=options.keep, timeout=limit)
        self.step = self.begun = self.saved = 0  # the last that was done, of which a checkpoint was begun, and is whole
        self.log = Log(options.out / "log.jsonl")
        self.start = time.perf_counter()
        self.say(
            f"{len(self.text.train):,} characters to learn from, {options.batch * options.width:,} in a step, on "
            f"{ranks.size} {self.device.type} device{'s' * (ranks.size > 1)} ({options.mesh})"
        )

    def say(self, text: str) -> None:
        if self.ranks.first:
            console.print(text)

    def train(self) -> int:
        """Returns the exit status."""
        self.ranks.listen()
        try:
            self.resume()
            while self.step < self.options.steps and not self.ranks.stop:
                self.one_step()
            if self.step > self.begun:
                self.save()
            self.report(self.checkpoints.wait)
        except Exception as error:
            if not is_lost(error):
                raise
            return self.ranks.lost(error, f"in step {self.step + 1}", self.how_to_go_on)
        if self.saved < self.step:
            raise ValueError(f"step {self.step} is done, and its checkpoint could not be written")
        if self.step < self.options.steps:
            self.say(f"stopped after step {self.step}: --resume goes on")
            return STOPPED
        self.finish()
        return 0

    def how_to_go_on(self) -> str:
        names = sorted(folder.name for folder in self.checkpoints.folder.glob("step-*"))  # no rank need answer
        last = f"The last checkpoint is of step {int(names[-1][5:])}" if names else "There is no checkpoint yet"
        again = self.options.restarts or self.ranks.restarts
        return f"{last}: {'it is resumed' if again else 'the same command with --resume goes on'}."

    def resume(self) -> None:
        """Raises ValueError where there are checkpoints of another run."""
        here = self.checkpoints.steps()
        if here and not (self.options.resume or self.ranks.again):
            raise ValueError(
                f"{self.options.out} has checkpoints, the last of step {here[-1]}: "
                f"--resume goes on from it, another --out begins anew"
            )
        found = self.checkpoints.restore(training_state(self.net, self.optimizer)) if here else None
        if found is not None:
            for told in found.passed_over:
                self.say(f"{told}; the one before is taken")
            for name in SAME:
                if (mine := getattr(self.options, name)) != (theirs := found.told.get(name)):
                    raise ValueError(f"--{name} {mine}, and {theirs} in the checkpoints of {self.options.out}")
            self.step = self.begun = self.saved = found.step
            self.say(f"going on after step {found.step} of {self.options.steps}, on {self.options.mesh}")
        elif self.options.resume or self.ranks.again:
            self.say("beginning anew: there is no checkpoint yet")
        if self.ranks.first:
            self.log.begin(self.step)

    def one_step(self) -> None:
        options, began = self.options, time.perf_counter()
        step = self.step + 1
        shown, following = data.batch_of_step(
            self.text.train, width=options.width, size=options.batch, seed=options.seed, step=step
        )
        rate = options.rate * self.share(step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.net.draw_from(options.seed * options.steps + step)  # dropout goes on as it would have
        characters = options.batch * options.width  # gradients are sums over all devices: each divides by all
        part = self.net.forward_backward(
            self.own(shown), self.own(following), loss=lambda total, count: total.sum() / characters,
            micro=options.accumulate,
        )  # fmt: skip
        norm = float(self.net.clip_grad_norm_(options.clip))
        self.optimizer.step()
        self.optimizer.zero_grad()
        # Devices that have the same texts say the same. Whoever was asked to stop says so to all: they stop together.
        loss, stop = self.ranks.total([float(part) * self.copies / self.ranks.size, self.ranks.stop])
        self.ranks.stop = int(stop)
        if not math.isfinite(loss + norm):
            raise ValueError(f"step {step}: the loss is {loss}, the norm of its gradients {norm}: a lower --rate?")
        self.step = step
        self.record(loss=loss, norm=norm, rate=rate, seconds=time.perf_counter() - began)
        self.report(self.checkpoints.done)
        if step % options.every == 0:
            self.save()

    def own(self, texts: Any) -> torch.Tensor:
        """Of texts [item, character] those of this device."""
        part: torch.Tensor = self.net.batch_part(torch.from_numpy(texts).to(self.device))
        return part

    def share(self, step: int) -> float:
        """Of the highest rate: it rises in a line, then falls to nothing in a line."""
        steps = self.options.steps
        warmup = min(self.options.warmup, steps // 2)
        return min(step / (warmup + 1), (steps - step + 1) / (steps - warmup))

    def record(self, *, seconds: float, **numbers: float) -> None:
        if not self.ranks.first:
            return
        options = self.options
        line = {
            "step": self.step, **numbers, "tokens_per_second": options.batch * options.width / seconds,
            "memory_mb": memory(self.device), "seconds": time.perf_counter() - self.start, "mesh": options.mesh,
        }  # fmt: skip
        self.log.add(line)
        if self.step % options.show == 0 or self.step == options.steps:
            console.print(
                f"step {self.step:>5} of {options.steps}   loss {line['loss']:.4f}   norm {line['norm']:.2f}   "
                f"{line['tokens_per_second']:,.0f} tokens/s   {line['memory_mb']:,.0f} MB"
            )

    def save(self) -> None:
        self.report(self.checkpoints.wait)
        self.begun = self.step
        told = {name: getattr(self.options, name) for name in SAME}
        self.checkpoints.save(self.step, training_state(self.net, self.optimizer), told)

    def report(self, ended: Callable[[], int | None]) -> None:
        """Say that a checkpoint is whole, or could not be written, as where the disk is full."""
        try:
            step = ended()
        except CheckpointError as error:
            self.say(f"{error}{'; training goes on' * (self.step < self.options.steps)}")
            return
        if step is not None:
            self.saved = step
            self.say(f"checkpoint of step {step}")

    def finish(self) -> None:
        """The weights of the whole model, and a picture of the run."""
        if self.ranks.first:
            weights = read_tensors(self.checkpoints.folder_of(self.step), "model.")
            attnc.weights.save(self.options.out / "weights.safetensors", weights)
            made = "weights.safetensors, log.jsonl" + ", loss.png" * self.log.plot(self.options.out / "loss.png")
            console.print(f"In {self.options.out}: {made}")


class Log:
    """A file with a line of JSON for each step."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, step: int) -> None:
        """Leave out what a run that broke off did after its last checkpoint, and the line in which it broke off."""
        kept = [line for line in self.lines() if line["step"] <= step]
        with whole(self.path) as unfinished:
            unfinished.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")

    def add(self, line: Mapping[str, Any]) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:  # of a full disk, which names no file
            raise OSError(error.errno, error.strerror, str(self.path)) from None

    def lines(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        *texts, _ = self.path.read_text(encoding="utf-8").split("\n")  # behind the last break: nothing, or a torn line
        return [json.loads(text) for text in texts]

    def plot(self, path: Path) -> bool:
        """Loss and tokens a second over the steps; False without matplotlib."""
        try:
            from matplotlib.figure import Figure
        except ImportError:
            return False
        lines = self.lines()
        steps = [line["step"] for line in lines]
        figure = Figure(figsize=(7, 5), layout="constrained")
        loss, speed = figure.subplots(2, 1, sharex=True)
        loss.plot(steps, [line["loss"] for line in lines], linewidth=1)
        loss.set_ylabel("loss, nats a character")
        speed.plot(steps, [line["tokens_per_second"] for line in lines], linewidth=1)
        speed.set_ylabel("tokens a second")
        speed.set_ylim(bottom=0)
        speed.yaxis.set_major_formatter("{x:,.0f}")
        speed.xaxis.get_major_locator().set_params(integer=True)
        speed.set_xlabel("step")
        begun = [now for before, now in itertools.pairwise(lines) if before["seconds"] > now["seconds"]]
        for line in [*lines[:1], *begun]:  # where it began, and where it was resumed
            for axes in (loss, speed):
                axes.axvline(line["step"], color="gray", linestyle=":", linewidth=1)
            speed.annotate(
                line["mesh"], (line["step"], 0), xytext=(3, 3), textcoords="offset points", rotation=90, color="gray",
                fontsize="small",
            )  # fmt: skip
        with whole(path) as unfinished:
            figure.savefig(unfinished, dpi=120)
        return True


def memory(device: torch.device) -> float:
    """The most of the first rank so far, in MB: of the device, or of the process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def _setting(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        raise ValueError(f"--set {text}: write NAME=NUMBER") from None


def _split(text: str) -> tuple[str, list[str]]:
    axis, _, names = text.partition("=")
    if not axis or not names:
        raise ValueError(f"--split {text}: write AXIS=NAME,NAME, such as model=groups,inner")
    return axis, names.split(",")


if __name__ == "__main__":
    sys.exit(main())
