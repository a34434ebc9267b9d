"""The processes of a run: how they begin, what they sum, and how they end, with one message for all of them.

Under `torchrun` they are there already; a program called without it, for a mesh of several devices, starts them here.
"""

import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

GRACE = timedelta(seconds=1.5)  # in which a rank that lives says so
MISTAKE, LOST, STOPPED = 2, 3, 130  # exit statuses: it could not run; a rank has lost another; asked to stop


def mesh_sizes(text: str) -> dict[str, int]:
    """Of `data=2,model=2`. Raises ValueError."""
    sizes: dict[str, int] = {}
    for part in text.split(","):
        name, _, size = part.partition("=")
        if not name or not size.isdecimal() or int(size) < 1 or name in sizes:
            raise ValueError(f"--mesh {text}: write axes with their sizes, such as data=2,model=2")
        sizes[name] = int(size)
    return sizes


def under_torchrun() -> bool:
    return "RANK" in os.environ


def launch(command: Sequence[str], processes: int, restarts: int) -> int:
    """As `torchrun --standalone` does, in fewer words. Returns the exit status of the first rank that failed.

    restarts: how often all are started again, to resume, where one has died.
    """
    logging.disable()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    config = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=processes, max_restarts=0, run_id="gpt",
        rdzv_backend="c10d", rdzv_endpoint="localhost:0", local_addr="localhost",
    )  # fmt: skip
    try:
        elastic_launch(config, sys.executable)("-u", *command, f"--restarts={restarts}")
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        if restarts and (failure.exitcode < 0 or failure.exitcode == LOST):
            return launch((*command, "--resume"), processes, restarts - 1)
        if failure.exitcode >= 0:
            return failure.exitcode
        print(f"rank {rank} was ended by {failure.signal_name()}", file=sys.stderr)
        return 128 - failure.exitcode
    except (KeyboardInterrupt, SignalException):  # the ranks were sent it, too, and have ended
        return STOPPED
    return 0


@dataclass
class Ranks:
    """This process among the others, and a store through which they speak of how they end."""

    store: dist.Store
    rank: int
    size: int
    again: bool = False  # whether torchrun has begun anew
    restarts: int = 0  # how often it will
    stop: int = 0  # the signal that asked to stop

    @property
    def first(self) -> bool:
        return self.rank == 0

    def meet(self, axes: Mapping[str, int], timeout: timedelta) -> DeviceMesh:
        """The mesh, one device for each process. Raises ValueError where there are not as many."""
        devices, shown = math.prod(axes.values()), ",".join(f"{name}={number}" for name, number in axes.items())
        if devices != self.size:
            raise ValueError(f"--mesh {shown} has {devices} devices, and torchrun has started {self.size} processes")
        cuda = torch.cuda.is_available() and torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        if cuda:
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        backend = "cpu:gloo,cuda:nccl" if cuda else "gloo"
        dist.init_process_group(backend, store=self.store, rank=self.rank, world_size=self.size, timeout=timeout)
        return init_device_mesh("cuda" if cuda else "cpu", tuple(axes.values()), mesh_dim_names=tuple(axes))

    def total(self, values: Sequence[float]) -> list[float]:
        """Each summed over all ranks, in float64."""
        summed = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(summed)
        return summed.tolist()

    def listen(self) -> None:
        """Ctrl-C or SIGTERM ask to stop after the step, a second one at once."""

        def asked(number: int, _: object) -> None:
            self.stop = number
            signal.signal(number, signal.SIG_DFL)

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, asked)

    def end(self, status: int, message: str) -> int:
        """Say why, once for all ranks, and end all of them, though they may be waiting for each other."""
        if not under_torchrun():
            print(message, file=sys.stderr)
            return status
        with suppress(RuntimeError):  # where the store is gone, too, with the machine that had it, each rank says it
            if self.store.add("tellers", 1) > 1:
                self.store.wait(["told"], 2 * GRACE)
                os._exit(int(self.store.get("told")))
        print(message, file=sys.stderr, flush=True)
        with suppress(RuntimeError):
            if status == MISTAKE:
                self.store.underlying_store.set("mistaken", "")
            self.store.set("told", str(status))
            self.store.set("ends", "")
        os._exit(status)  # no thread is waited for: others may wait for ranks that are gone

    def lost(self, error: Exception, doing: str, how_to_go_on: Callable[[], str]) -> int:
        """Say which ranks are gone, and end all others."""
        gone = []
        with suppress(RuntimeError):
            self.store.set("ends", "")
            self.store.set(f"alive/{self.rank}", "")
            time.sleep(GRACE.total_seconds())
            gone = [str(rank) for rank in range(self.size) if not self.store.check([f"alive/{rank}"])]
        who = f"rank{'s' * (len(gone) > 1)} {', '.join(gone)} died" if gone else "the ranks have lost each other"
        why = "" if gone else f" ({str(error).splitlines()[0]})"
        return self.end(LOST, f"{who} {doing}, and all stop{why}. {how_to_go_on()}")


def join() -> Ranks:
    """Of the processes that torchrun has started this one; else it is alone."""
    if not under_torchrun():
        return Ranks(dist.HashStore(), 0, 1)
    store, rank, size = next(dist.rendezvous("env://"))
    if store.check(["mistaken"]):  # it was told, and beginning anew mends nothing
        os._exit(MISTAKE)
    attempt, most = (int(os.environ.get(f"TORCHELASTIC_{name}", "0")) for name in ("RESTART_COUNT", "MAX_RESTARTS"))
    own, watch = (dist.PrefixStore(str(attempt), each) for each in (store, store.clone()))  # no word of earlier ranks
    threading.Thread(target=_end_with_others, args=(watch, rank), daemon=True).start()
    return Ranks(own, rank, size, attempt > 0, most - attempt)


def _end_with_others(store: dist.Store, rank: int) -> None:
    """Once a rank ends early: say that this one lives, though it may wait in a collective, and end it, too, when the
    reason is told.
    """
    with suppress(RuntimeError):  # the store ends with the run
        store.wait(["ends"], timedelta(days=365))
        store.set(f"alive/{rank}", "")
        status = LOST
        with suppress(RuntimeError):
            store.wait(["told"], 2 * GRACE)
            status = int(store.get("told"))
        os._exit(status)


def is_lost(error: BaseException) -> bool:
    """Whether a rank that is gone, or does not answer, is why this was raised."""
    told = ("connection closed", "connection reset", "connection refused", "broken pipe", "timed out", "timeout")
    return isinstance(error, dist.DistError) or (
        isinstance(error, RuntimeError) and any(words in str(error).lower() for words in told)
    )
