"""Tasks one after the other in a process of their own, each with a time limit: a failure is told, and the next runs.

A device that refused something may refuse all that follows, and what compiles cannot be interrupted: so the process is
ended where a task takes too long or leaves the device unwell, and another one does the rest.
"""

from __future__ import annotations

import multiprocessing
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import torch
import torch._dynamo  # loaded before there is a limit

from .setting import Setting

LEAST = 8.0  # seconds: with less, nothing is begun
START = 60.0  # seconds that a process may need to load what it needs


@dataclass(frozen=True, slots=True)
class Task:
    """seconds: what it may take. gibibytes: what the device must have free. do: gives what is told of it."""

    seconds: float
    gibibytes: float
    do: Callable[[Setting], dict[str, object]]


class Worker:
    """The other process, started when it is asked for something."""

    def __init__(self, target: Callable[[Connection, Setting], None], setting: Setting) -> None:
        self.target, self.setting = target, setting
        self.process: Any = None
        self.line: Any = None

    def ask(self, name: str, seconds: float) -> dict[str, object]:
        """What is told of a task, or how it went wrong."""
        if self.process is None:
            spawn = multiprocessing.get_context("spawn")
            self.line, theirs = spawn.Pipe()
            self.process = spawn.Process(target=self.target, args=(theirs, self.setting), daemon=True)
            self.process.start()
            theirs.close()
            if not self.heard(START) or self.line.recv() != "ready":
                self.end()
                return {"state": "failed", "error": "the process did not start"}
        self.line.send(name)
        if not self.heard(seconds):
            self.end()
            return {"state": "out of time", "error": f"more than {seconds:.0f} seconds"}
        try:
            told: dict[str, object] = self.line.recv()
        except EOFError:
            self.process.join(5)
            code = self.process.exitcode
            self.end()
            return {"state": "failed", "error": f"the process ended with {code}"}
        if not told.pop("well", True):
            self.end()
        return told

    def heard(self, seconds: float) -> bool:
        found: bool = self.line.poll(seconds)
        return found

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.line.close()
            self.process = None


def work(line: Connection, setting: Setting, tasks: Mapping[str, Task]) -> None:
    """In the other process: does what it is asked to, until nobody asks."""
    line.send("ready")
    while True:
        try:
            name = line.recv()
        except EOFError:
            return
        line.send(attempt(setting, tasks[name]))


def attempt(setting: Setting, task: Task) -> dict[str, object]:
    """What is told of one task; `well` is whether the device still is."""
    cuda = setting.device.type == "cuda"
    try:
        if cuda:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            free = torch.cuda.mem_get_info()[0] / 2**30
            if free < task.gibibytes:
                return {"state": "left out", "error": f"{task.gibibytes:g} GiB are needed, {free:.1f} are free"}
        told = {"state": "done", **task.do(setting)}
        if cuda:
            told["peak_gibibytes"] = torch.cuda.max_memory_allocated() / 2**30
    except Exception:  # whatever it is, the next task runs
        told = {"state": "failed", "error": traceback.format_exc()[-3000:]}
    torch._dynamo.reset()
    try:
        setting.wait()
    except RuntimeError:
        told["well"] = False
    return told


def guarded(
    tasks: Mapping[str, Task], chosen: Sequence[str], worker: Worker, minutes: float
) -> Iterator[tuple[str, dict[str, object]]]:
    """What is told of each, in order, until the minutes are over; of those that had no time, too."""
    end = time.monotonic() + 60 * minutes
    for name in chosen:
        left = end - time.monotonic()
        begun = time.monotonic()
        if left < LEAST:
            told: dict[str, object] = {"state": "no time"}
        else:
            told = worker.ask(name, min(tasks[name].seconds, left))
        yield name, {"name": name, "took": round(time.monotonic() - begun, 1), **told}
    worker.end()
