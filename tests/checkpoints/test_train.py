"""examples/gpt/train.py in processes: a run goes on where it broke off, on another mesh, after ranks were killed."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.clock import PATIENCE, patience, wait_until

pytest.importorskip("rich", reason='the examples need rich: pip install ".[demo]"')
pytest.importorskip("torch")

TRAIN = Path(__file__).parents[2] / "examples" / "gpt" / "train.py"
SMALL = ("--batch=8", "--width=32", "--show=1", "--warmup=5", "--set=layers=2", "--set=model=32", "--set=inner=64")
WITHOUT_DROPOUT = "--set=drop=0"
MESHES = ("data=2,model=2", "data=4", "data=1")
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
KILLS, SEED = 20, 39
OFTEN = 10


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A little text: that of the library takes each process some seconds to read."""
    folder = tmp_path_factory.mktemp("library")
    for number in range(20):
        said = " ".join(f"{number * k % 97} times {k} leaves {number * k % 13}." for k in range(9))
        (folder / f"module{number}.py").write_text(f'"""Of the number {number}. {said}"""\n', encoding="utf-8")
    return folder


@contextmanager
def started(
    out: Path, library: Path, *options: str, launcher: Sequence[str] = (), room: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    """room: bytes that a file may have, as if the disk were full behind them."""
    command = (sys.executable, *launcher, str(TRAIN), "--out", str(out), "--library", str(library), *SMALL, *options)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "default"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if room is not None:
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (room, room))
    try:
        yield process
    finally:
        if process.poll() is None:  # the test has failed: a launcher ends its processes
            process.terminate()
            process.communicate()


def run(
    out: Path,
    library: Path,
    *options: str,
    launcher: Sequence[str] = (),
    room: int | None = None,
    status: int = 0,
) -> str:
    """What it prints."""
    with started(out, library, *options, launcher=launcher, room=room) as process:
        said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == status, said
    return said


def losses(out: Path) -> list[float]:
    """Of each step; there are no gaps, and no step is there twice."""
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["step"] for line in lines] == list(range(1, len(lines) + 1))
    return [line["loss"] for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "near"), [("float32", 1e-5), ("float64", 1e-10)])
def test_a_run_goes_on_on_another_mesh(dtype: str, near: float, library: Path, tmp_path: Path) -> None:
    """Ten steps on each mesh give the losses of thirty steps of one process; parts of a step change nothing, too."""
    same = ("--steps=30", "--every=10", f"--dtype={dtype}", WITHOUT_DROPOUT)
    run(tmp_path / "whole", library, *same)
    for number, mesh in enumerate(MESHES):
        stopped = tmp_path / f"until{10 * (number + 1)}"
        run(tmp_path / "moved", library, *same, f"--mesh={mesh}", "--resume", f"--accumulate={2 - number % 2}")
        lose(tmp_path / "moved", after=10 * (number + 1), kept=stopped)
    wanted, found = losses(tmp_path / "whole"), losses(stopped)
    assert len(found) == len(wanted) == 30
    assert max(abs(a - b) / a for a, b in zip(wanted, found, strict=True)) < near
    assert wanted[-1] < 0.95 * wanted[0]


@pytest.mark.slow
def test_a_run_goes_on_in_stages_and_without(library: Path, tmp_path: Path) -> None:
    """Each stage has its weights in checkpoints by their paths in the whole model: any mesh reads them."""
    same = ("--steps=20", "--every=5", "--dtype=float64", WITHOUT_DROPOUT)
    run(tmp_path / "whole", library, *same)
    for number, (mesh, micro) in enumerate((("pipe=2", 4), ("data=2", 1), ("data=1", 2), ("pipe=2,data=2", 2))):
        stopped = tmp_path / f"until{5 * (number + 1)}"
        run(tmp_path / "moved", library, *same, f"--mesh={mesh}", "--resume", f"--accumulate={micro}")
        lose(tmp_path / "moved", after=5 * (number + 1), kept=stopped)
    wanted, found = losses(tmp_path / "whole"), losses(stopped)
    assert len(found) == len(wanted) == 20
    assert max(abs(a - b) / a for a, b in zip(wanted, found, strict=True)) < 1e-10
    weights = [load_file(tmp_path / name / "weights.safetensors") for name in ("whole", "moved")]
    assert weights[0].keys() == weights[1].keys()
    assert all(np.allclose(weights[0][name], weights[1][name], rtol=0, atol=1e-10) for name in weights[0])


@pytest.mark.slow
def test_parts_that_are_several_boxes_go_on_elsewhere(library: Path, tmp_path: Path) -> None:
    """Queries that share a key are split within each group: a device has a box of each group, and PyTorch knows one."""
    same = ("--steps=6", "--every=3", "--dtype=float64", WITHOUT_DROPOUT, "--set=groups=2", "--set=sharing=2")
    run(tmp_path / "whole", library, *same)
    run(tmp_path / "moved", library, *same, "--mesh=data=2,model=2", "--split=model=sharing,inner")
    index = json.loads((tmp_path / "moved" / "checkpoints" / "step-00000003" / "index.json").read_text())["content"]
    assert len(index["tensors"]["model.layers.0.self.Q.weight"]["chunks"]) > 4  # more than there are devices
    weights = [load_file(tmp_path / name / "weights.safetensors") for name in ("whole", "moved")]
    assert weights[0].keys() == weights[1].keys()
    assert all(np.allclose(weights[0][name], weights[1][name], rtol=0, atol=1e-10) for name in weights[0])
    lose(tmp_path / "moved", after=3, kept=tmp_path / "first")
    run(tmp_path / "moved", library, *same, "--resume")
    wanted, found = losses(tmp_path / "whole"), losses(tmp_path / "moved")
    assert max(abs(a - b) / a for a, b in zip(wanted, found, strict=True)) < 1e-10


def lose(out: Path, after: int, kept: Path) -> None:
    """As if it had ended there: later checkpoints go. The log as it is now stays."""
    kept.mkdir()
    (kept / "log.jsonl").write_bytes((out / "log.jsonl").read_bytes())
    for folder in (out / "checkpoints").iterdir():
        if int(folder.name.removeprefix("step-")) > after:
            for path in folder.iterdir():
                path.unlink()
            folder.rmdir()


def workers(launcher: int) -> list[int]:
    """The processes that it has started, by rank."""
    found: list[tuple[int, int]] = []
    for task in Path(f"/proc/{launcher}/task").iterdir():
        for child in (task / "children").read_text().split():
            with suppress(OSError):  # it has ended meanwhile
                rank = re.search(r"(?:^|\0)RANK=(\d+)", Path(f"/proc/{child}/environ").read_text())
                found += [(int(rank[1]), int(child))] if rank else []
    return [pid for _, pid in sorted(found)]


def wait_for(so: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    def ready() -> bool:
        if so():
            return True
        assert process.poll() is None, process.communicate()[0]
        return False

    wait_until(ready, pause=0.002)


def last_step(out: Path) -> int:
    """In the log, which may be being written."""
    try:
        lines = (out / "log.jsonl").read_text(encoding="utf-8").split("\n")
        return int(json.loads(lines[-2])["step"]) if len(lines) > 1 else 0
    except (FileNotFoundError, json.JSONDecodeError):
        return 0


def inode(out: Path) -> int | None:
    with suppress(FileNotFoundError):
        return (out / "log.jsonl").stat().st_ino
    return None


def whole_steps(out: Path) -> list[int]:
    folder = out / "checkpoints"
    names = [path.name for path in folder.iterdir()] if folder.exists() else []
    return sorted(int(name.removeprefix("step-")) for name in names if name.startswith("step-"))


@pytest.mark.slow
def test_ranks_are_killed_at_random_moments(
    library: Path, tmp_path: Path, record_property: pytest.RecordProperty
) -> None:
    """Twenty times, every other one in a checkpoint. Each time it goes on from a checkpoint no older than the last that
    was there, and in the end all losses are those of a run that nobody disturbed, bit by bit, dropout included.
    """
    same = ("--steps=100", "--every=2", "--dtype=float64", "--mesh=data=2")
    run(tmp_path / "whole", library, *same)
    rng = random.Random(SEED)
    out = tmp_path / "killed"
    kills, begun = list[dict[str, int]](), None
    with started(out, library, *same, f"--restarts={KILLS}") as process:
        for kill in range(KILLS):
            wait_for(lambda begun=begun: inode(out) not in (begun, None), process)  # it writes the log anew
            begun, aim = inode(out), last_step(out) + rng.randrange(2, 6)
            wait_for(lambda aim=aim: last_step(out) >= aim, process)
            if kill % 2:
                wait_for(lambda: any((out / "checkpoints").glob(".step-*.part")), process)
            time.sleep(rng.uniform(0, 0.02 if kill % 2 else 0.1))
            rank, whole = rng.randrange(2), max(whole_steps(out), default=0)
            os.kill(workers(process.pid)[rank], signal.SIGKILL)
            begun_aside = [int(path.name[6:14]) for path in (out / "checkpoints").glob(".step-*.part")]
            kills.append({"rank": rank, "done": last_step(out), "writing": max(begun_aside, default=0), "whole": whole})
        said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    resumed = [int(step or 0) for step in re.findall(r"going on after step (\d+)|beginning anew", said)]
    table = ["kill  rank  steps done  checkpoint in writing  last whole  resumed after  steps lost"]
    for number, (each, step) in enumerate(zip(kills, resumed, strict=True), 1):
        table.append(
            f"{number:>4}  {each['rank']:>4}  {each['done']:>10}  {each['writing'] or '-':>21}  {each['whole']:>10}  "
            f"{step:>13}  {max(each['done'] - step, 0):>10}"
        )
    print(*table, sep="\n")
    assert all(step >= each["whole"] for step, each in zip(resumed, kills, strict=True))
    assert len(re.findall(r"rank [01] died in step \d+, and all stop\. .*: it is resumed\.", said)) == KILLS
    assert "Traceback" not in said and "damaged" not in said
    assert losses(out) == losses(tmp_path / "whole")
    record_property("shown", f"{KILLS} ranks killed, {sum(each['writing'] > 0 for each in kills)} in a checkpoint")


@pytest.mark.slow
def test_what_is_said_of_a_rank_that_dies(library: Path, tmp_path: Path) -> None:
    """In a line, by torchrun and without it; the same command goes on."""
    for number, launcher in enumerate(((), TORCHRUN)):
        out = tmp_path / str(number)
        same = ("--steps=2000", "--every=2", "--mesh=data=2")
        with started(out, library, *same, launcher=launcher) as process:
            wait_for(lambda out=out: last_step(out) >= 5, process)
            os.kill(workers(process.pid)[1], signal.SIGKILL)
            said, _ = process.communicate(timeout=PATIENCE)
        told = r"rank 1 died in step \d+, and all stop\. The last checkpoint is of step \d+: "
        assert re.search(told + "the same command with --resume goes on", said)
        if not launcher:
            assert said.endswith("rank 1 was ended by SIGKILL\n")
            assert process.returncode == 128 + signal.SIGKILL
            assert "Traceback" not in said and "[W" not in said
    assert "--resume goes on from it" in run(out, library, *same, status=2)


@pytest.mark.slow
def test_it_stops_when_asked_to(library: Path, tmp_path: Path) -> None:
    """SIGTERM to one rank: both stop after the same step, with a checkpoint."""
    with started(tmp_path, library, "--steps=2000", "--every=1000", "--mesh=data=2") as process:
        wait_for(lambda: last_step(tmp_path) >= 3, process)
        os.kill(workers(process.pid)[1], signal.SIGTERM)
        said, _ = process.communicate(timeout=PATIENCE)
    stopped = re.search(r"checkpoint of step (\d+)\nstopped after step (\d+): --resume goes on", said)
    assert stopped and stopped[1] == stopped[2], said
    assert process.returncode == 130
    assert whole_steps(tmp_path) == [int(stopped[1])]


MISTAKES: list[tuple[str, str]] = [
    ("--mesh=data", "error: --mesh data: write axes with their sizes, such as data=2,model=2\n"),
    ("--mesh=data=3,model=1", "error: --mesh data=3,model=1 has 3 devices, and torchrun has started 2 processes\n"),
    (
        "--mesh=modle=2",
        "error: what does the mesh axis `modle` split? Did you mean `model`? Or say `--split modle=AXIS,AXIS`; ",
    ),
    (
        "--mesh=model=2 --split=model=heads",
        "error: `model` splits `heads`, which no value and no weight of the model has: there are the batch, `seq`, ",
    ),
    ("--steps=0", "error: --steps is at least 1\n"),
    ("--library=nowhere", "error: no docstrings under nowhere: is the standard library there as source?\n"),
    ("--batch=7", "error: the batch has 7 items, which 2 devices along `data` do not divide: 6 or 8 would do\n"),
    ("--accumulate=3", "error: --accumulate 3 does not divide the 4 texts of a device in a step\n"),
    ("--width=5000", "error: --width 5000 is more than the 3,742 characters that there are\n"),
    ("--set=drop", "error: --set drop: write NAME=NUMBER\n"),
    ("--set=groups=3 --mesh=model=2", "error: `groups` has 3 items, which the 2 devices of `model` do not divide"),
    ("--out={there}", "error: {there} has checkpoints, the last of step 2: --resume goes on from it, another --out"),
    ("--out={there} --resume --seed=1", "error: --seed 1, and 0 in the checkpoints of {there}\n"),
    (
        "--out={there} --resume --set=model=16",
        "error: {there}/checkpoints/step-00000002 is of another model: model.E is [97, 32] there and [97, 16] here\n",
    ),
    ("--out={damaged} --resume", "error: no checkpoint is whole: {damaged}/checkpoints/step-00000002 is damaged ("),
    ("--out={file}", "error: {file}: File exists\n"),
    (
        "--mesh=context=2 --width=33",
        "error: `seq` has 33 items, which 2 devices along `context` do not divide: 32 or 34 would do\n",
    ),
]


@pytest.fixture(scope="module")
def places(library: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What options name: a run of two steps, and one whose checkpoints are damaged."""
    folder = tmp_path_factory.mktemp("places")
    run(folder / "there", library, "--steps=2", "--every=2")
    shutil.copytree(folder / "there", folder / "damaged")
    (folder / "damaged" / "checkpoints" / "step-00000002" / "index.json").write_text("{")
    return {"there": folder / "there", "damaged": folder / "damaged", "file": library / "module0.py"}


def errors(said: str) -> int:
    return len(re.findall("^error", said, re.MULTILINE))


@pytest.mark.slow
@pytest.mark.parametrize(("options", "told"), MISTAKES, ids=[options for options, _ in MISTAKES])
def test_mistakes_are_told_once(
    options: str, told: str, places: dict[str, Path], library: Path, tmp_path: Path
) -> None:
    """Whichever of two ranks are first to find them, and end, as often as one tries; in one process, too."""
    given, told = (text.format(**places) for text in (options, told))
    alone = "torchrun" in told or "--mesh" in given or "--batch" in given or "--accumulate" in given
    launchers = [()] * OFTEN + [TORCHRUN] * 2
    if "torchrun" in told:
        launchers = [TORCHRUN] * OFTEN
    elif options in ("--mesh=data", "--steps=0"):  # without torchrun there are no ranks yet
        launchers = [(), *[TORCHRUN] * OFTEN]
    for launcher in launchers:
        waiting = patience(PATIENCE / 2)
        said = run(
            tmp_path / "new", library, "--steps=2", "--mesh=data=2", *given.split(), launcher=launcher,
            status=1 if launcher else 2,
        )  # fmt: skip
        assert said.count(told) == errors(said) == 1, said
        assert launcher or "Traceback" not in said
        assert waiting(), "the other rank does not wait until its messages are given up"
    if not alone:
        assert run(tmp_path / "new", library, "--steps=2", *given.split(), status=2).count(told) == 1


@pytest.mark.slow
def test_a_disk_that_is_full(library: Path, tmp_path: Path) -> None:
    """Of a checkpoint it is told each time, and in the end; of the log at once. By one rank, and all end."""
    same = ("--steps=4", "--every=2", "--mesh=data=2")
    said = run(tmp_path, library, *same, room=50_000, status=2)
    assert re.findall(r"checkpoint of step (\d): rank \d: .*File too large.*", said) == ["2", "4"]
    assert said.endswith("error: step 4 is done, and its checkpoint could not be written\n")
    assert "Traceback" not in said and errors(said) == 1 and not whole_steps(tmp_path)
    said = run(tmp_path, library, *same, room=500, status=2)
    assert said.endswith(f"error: {tmp_path}/log.jsonl: File too large\n") and errors(said) == 1
    assert said.count("step     2 of 4") == 1 and "Traceback" not in said


@pytest.mark.slow
def test_ctrl_c_ends_the_launcher_quietly(library: Path, tmp_path: Path) -> None:
    with started(tmp_path, library, "--steps=2000", "--every=1000", "--mesh=data=2", "--restarts=3") as process:
        wait_for(lambda: last_step(tmp_path) >= 3, process)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=PATIENCE)
    assert re.search(r"checkpoint of step (\d+)\nstopped after step \1: --resume goes on\n$", said), said
    assert process.returncode == 130
