"""What the examples share: a training loop that can be interrupted, and files that are written whole or not at all."""

import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import nn

console = Console(highlight=False, markup=False, soft_wrap=True)  # text is text, and a log wraps no lines


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training run says about itself. `loss` is per token, a running mean."""

    steps: int
    seconds: float
    loss: float


def train(
    module: nn.Module,
    batches: Iterable[Mapping[str, np.ndarray]],
    *,
    steps: int,
    rate: float = 3e-3,
    warmup: int = 100,
    clip: float = 1.0,
    decay: float = 0.0,
    threads: int = 1,
    checkpoint: Path | None = None,
    every: int = 500,
) -> Trained:
    """Train `module` in place with AdamW; the rate rises over `warmup` steps, then falls to nothing in a line.

    `module(**batch)` gives (total, count) for each item of a batch, as the `loss` models of the examples do; the mean
    is taken over the tokens of the whole batch. torch is left with `threads` threads. One, because the examples' models
    are small: a second one gains a fifth while a core is free for it, and where none is, waiting for each other makes
    both ten times slower.

    `checkpoint` names a safetensors file: it is written every so many steps, and when the run is interrupted (Ctrl-C),
    and where it exists the run goes on from it, to the same result as without a break, as long as `batches` gives the
    same batches again. Raises RuntimeError when a gradient is not finite, ValueError for a checkpoint of another run.
    """
    torch.set_num_threads(threads)
    warmup = min(warmup, steps // 2)
    optimizer = torch.optim.AdamW(module.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=decay)
    module.train()
    done, running, before = 0, 0.0, 0.0
    if checkpoint is not None and checkpoint.exists():
        done, running, before = resume(checkpoint, module, optimizer, steps)
        console.print(f"going on after step {done} of {steps}, from {checkpoint}")
    start = time.perf_counter() - before
    with _progress() as progress:
        task = progress.add_task("training", total=steps, completed=done, loss=running or float("nan"))
        try:
            for step, batch in enumerate(islice(batches, done, steps), done + 1):
                share = min(step / (warmup + 1), (steps - step + 1) / (steps - warmup))
                for group in optimizer.param_groups:
                    group["lr"] = rate * share
                total, count = module(**{name: torch.from_numpy(array) for name, array in batch.items()})
                mean = total.sum() / count.sum()
                optimizer.zero_grad()
                mean.backward()
                nn.utils.clip_grad_norm_(module.parameters(), clip, error_if_nonfinite=True)
                with _undisturbed():
                    optimizer.step()
                    weight = max(0.02, 1 / step)  # a plain mean at first, then one that forgets
                    running += weight * (mean.item() - running)
                    done = step
                progress.update(task, completed=step, loss=running)
                if checkpoint is not None and step % every == 0 and step < steps:
                    save_checkpoint(checkpoint, module, optimizer, step, steps, running, time.perf_counter() - start)
                if not console.is_terminal and step % max(steps // 10, 1) == 0:  # a log has no use for a moving bar
                    console.print(
                        f"step {step:>5} of {steps}   loss {running:.5f}   {time.perf_counter() - start:.0f} s"
                    )
        except KeyboardInterrupt:
            if checkpoint is not None:
                save_checkpoint(checkpoint, module, optimizer, done, steps, running, time.perf_counter() - start)
                console.print(f"interrupted after step {done} of {steps}; saved to {checkpoint}: run again to go on")
            raise
    module.eval()
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    return Trained(steps, time.perf_counter() - start, running)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits until this is done, so that weights, their moments and the count of steps belong together."""
    pending: list[object] = []
    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, lambda *_: pending.append(True))
    except ValueError:  # not the main thread: Ctrl-C is not ours to hold
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pending:
        raise KeyboardInterrupt


_MOMENTS = ("exp_avg", "exp_avg_sq", "step")


def save_checkpoint(
    path: Path, module: nn.Module, optimizer: torch.optim.Optimizer, step: int, steps: int, loss: float, seconds: float
) -> None:
    """Everything that going on needs: weights, the optimizer's moments, torch's random state, and how far it got."""
    tensors = {f"weight/{name}": tensor.detach().contiguous() for name, tensor in module.state_dict().items()}
    for name, parameter in module.named_parameters():
        state = optimizer.state.get(parameter, {})
        tensors |= {f"{moment}/{name}": state[moment].contiguous() for moment in _MOMENTS if moment in state}
    tensors["random"] = torch.get_rng_state()
    told = {"step": str(step), "steps": str(steps), "loss": repr(loss), "seconds": repr(seconds)}
    with whole(path) as unfinished:
        unfinished.write_bytes(save(tensors, metadata=told))


def resume(path: Path, module: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> tuple[int, float, float]:
    """Put a checkpoint back. Returns the steps done, the running loss and the seconds so far.

    Raises ValueError if the file is no checkpoint, or one of another model or length of run.
    """
    try:
        with safe_open(path, framework="pt") as file:
            told = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        done, loss, seconds = int(told["step"]), float(told["loss"]), float(told["seconds"])
        planned = int(told["steps"])
    except (SafetensorError, KeyError, ValueError, OSError) as error:
        raise ValueError(f"{path} is no checkpoint ({error}); delete it to begin anew") from None
    weights = {name.removeprefix("weight/"): t for name, t in tensors.items() if name.startswith("weight/")}
    shapes = {name: tensor.shape for name, tensor in module.state_dict().items()}
    if planned != steps or {name: tensor.shape for name, tensor in weights.items()} != shapes:
        raise ValueError(f"{path} is of another run ({planned} steps); delete it to begin anew, or run that one")
    module.load_state_dict(weights)
    for name, parameter in module.named_parameters():
        state = {moment: tensors[f"{moment}/{name}"] for moment in _MOMENTS if f"{moment}/{name}" in tensors}
        if state:
            optimizer.state[parameter] = state
    torch.set_rng_state(tensors["random"])
    return done, loss, seconds


def save_weights(path: Path, module: nn.Module) -> None:
    """The weights of `module` under their paths in the spec, as safetensors."""
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in module.state_dict().items()}
    with whole(path) as unfinished:
        unfinished.write_bytes(save(weights))  # save_file would make it readable to its owner alone


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes `path` when all went well; else `path` is as it was, and nothing is left."""
    unfinished = path.with_name(f".{os.getpid()}.{path.name}")  # the ending stays: matplotlib goes by it
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.4f}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
