"""The processes of a run: how they begin, what they sum, and what is said when one of them dies.

Under `torchrun` they are there already; a program called without it, for a mesh of several devices, starts them here.
"""

import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import NoReturn

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

GRACE = 1.5  # seconds in which a rank that lives says so
LOST = 3  # exit status of a rank that has lost another


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
    """As `torchrun --standalone` does, in fewer words. Returns the exit status of the first rank that failed."""
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    config = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=processes, max_restarts=restarts, run_id="gpt",
        rdzv_backend="c10d", rdzv_endpoint="localhost:0", local_addr="localhost",
    )  # fmt: skip
    try:
        elastic_launch(config, sys.executable)("-u", *command)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        if failure.exitcode >= 0:
            return failure.exitcode
        print(f"rank {rank} was ended by {failure.signal_name()}", file=sys.stderr)
        return 128 - failure.exitcode
    except KeyboardInterrupt:
        return 130
    return 0


@dataclass
class Ranks:
    """This process among the others. `mesh` has the axes of `--mesh`."""

    mesh: DeviceMesh
    device: torch.device
    store: dist.Store
    rank: int
    size: int
    attempt: int  # how often torchrun has begun anew
    stop: int = 0  # the signal that asked to stop

    @property
    def first(self) -> bool:
        return self.rank == 0

    def total(self, values: Sequence[float]) -> list[float]:
        """Each summed over all ranks, in float64."""
        summed = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(summed)
        return summed.tolist()

    def listen(self) -> None:
        """Ctrl-C or SIGTERM ask to stop after the step, a second one at once."""

        def asked(number: int, _: object) -> None:
            self.stop = number
            signal.signal(number, signal.SIG_DFL)

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, asked)

    def fail(self, status: int) -> int:
        """An exit status, and this process ended with it if there are others, for which it is not to wait."""
        if self.size > 1:
            sys.stdout.flush()
            os._exit(status)
        dist.destroy_process_group()
        return status

    @property
    def restarts_left(self) -> int:
        return int(os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0")) - self.attempt

    def lost(self, error: Exception, doing: str, how_to_go_on: str) -> NoReturn:
        """Say which ranks are gone, once, and end this one."""
        with suppress(RuntimeError):
            self.store.set("lost", "")
            self.store.set(f"alive/{self.rank}", "")
        time.sleep(GRACE)
        gone, alive = [], [self.rank]
        with suppress(RuntimeError):  # the store is gone, too: with the first rank, or the machine that had it
            lives = [self.store.check([f"alive/{rank}"]) for rank in range(self.size)]
            gone = [str(rank) for rank, lives_on in enumerate(lives) if not lives_on]
            alive = [rank for rank, lives_on in enumerate(lives) if lives_on]
        if self.rank == min(alive):
            who = f"rank{'s' * (len(gone) > 1)} {', '.join(gone)} died" if gone else "the ranks have lost each other"
            why = "" if gone else f" ({str(error).splitlines()[0]})"
            print(f"{who} {doing}, and all stop{why}. {how_to_go_on}", file=sys.stderr, flush=True)
        os._exit(LOST)  # no thread is waited for: others may wait for ranks that are gone


def is_lost(error: BaseException) -> bool:
    """Whether a rank that is gone, or does not answer, is why this was raised."""
    told = ("connection closed", "connection reset", "connection refused", "broken pipe", "timed out", "timeout")
    return isinstance(error, dist.DistError) or (
        isinstance(error, RuntimeError) and any(words in str(error).lower() for words in told)
    )


def begin(axes: Mapping[str, int], timeout: timedelta) -> Ranks:
    """Join the other processes. Raises ValueError where there are not as many as devices of the mesh."""
    devices = math.prod(axes.values())
    cuda = torch.cuda.is_available() and torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    if under_torchrun():
        size = int(os.environ["WORLD_SIZE"])
        if size != devices:
            shown = ",".join(f"{name}={number}" for name, number in axes.items())
            raise ValueError(f"--mesh {shown} has {devices} devices, and torchrun has started {size} processes")
        store, rank, size = next(dist.rendezvous("env://", timeout=timeout))
    else:
        store, rank, size = dist.HashStore(), 0, 1
    attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
    own = dist.PrefixStore(str(attempt), store)  # torchrun's store has the addresses of processes that died, too
    backend = "cpu:gloo,cuda:nccl" if cuda else "gloo"
    dist.init_process_group(backend, store=own, rank=rank, world_size=size, timeout=timeout)
    mesh = init_device_mesh(device.type, tuple(axes.values()), mesh_dim_names=tuple(axes))
    if size > 1:
        watch = dist.PrefixStore(str(attempt), store.clone())  # another connection: it waits there
        threading.Thread(target=_wait_for_loss, args=(watch, rank), daemon=True).start()
    return Ranks(mesh, device, own, rank, size, attempt)


def _wait_for_loss(store: dist.Store, rank: int) -> None:
    """Once a rank has lost another: say that this one lives, though it may wait in a collective; and end it soon."""
    with suppress(RuntimeError):  # the store ends with the run
        store.wait(["lost"], timedelta(days=365))
        store.set(f"alive/{rank}", "")
        time.sleep(2 * GRACE)
        os._exit(LOST)
