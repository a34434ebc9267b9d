"""What the examples share: a training loop with a progress bar, and files that are written whole or not at all."""

import os
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
    threads: int = 1,
) -> Trained:
    """Train `module` in place with AdamW; the rate rises over `warmup` steps, then falls to nothing in a line.

    `module(**batch)` gives (total, count) for each item of a batch, as the `loss` models of the examples do; the mean
    is taken over the tokens of the whole batch. torch is left with `threads` threads. One, because the examples' models
    are small: a second one gains a fifth while a core is free for it, and where none is, waiting for each other makes
    both ten times slower. Raises RuntimeError when a gradient is not finite.
    """
    torch.set_num_threads(threads)
    warmup = min(warmup, steps // 2)
    optimizer = torch.optim.AdamW(module.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (warmup + 1), (steps - step) / (steps - warmup))
    )
    module.train()
    running = 0.0
    start = time.perf_counter()
    with _progress() as progress:
        task = progress.add_task("training", total=steps, loss=float("nan"))
        for step, batch in enumerate(islice(batches, steps), 1):
            total, count = module(**{name: torch.from_numpy(array) for name, array in batch.items()})
            mean = total.sum() / count.sum()
            optimizer.zero_grad()
            mean.backward()
            nn.utils.clip_grad_norm_(module.parameters(), clip, error_if_nonfinite=True)
            optimizer.step()
            schedule.step()
            weight = max(0.02, 1 / step)  # a plain mean at first, then one that forgets
            running += weight * (mean.item() - running)
            progress.update(task, completed=step, loss=running)
            if not console.is_terminal and step % max(steps // 10, 1) == 0:  # a log has no use for a moving bar
                console.print(f"step {step:>5} of {steps}   loss {running:.5f}   {time.perf_counter() - start:.0f} s")
    module.eval()
    return Trained(steps, time.perf_counter() - start, running)


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
