"""What checking and compiling cost: `python bench/check.py [rounds]`, after `make wheel`.

Ratios and times of the processor over several rounds: medians, with the interval in which they lie with 90 %.

1. `attnc check examples/transformer.attn` as a whole process against `python -c "import numpy"`, in turn: the wheel, in
   an environment of its own, without extras, with what Python and the parser keep written before;
2. specs as whole processes: of 2,500 and of 10,000 lines, time and peak memory, also for each of that at two older
   commits, in turn; a folder of 1,000 files that use the library;
3. a repeated block of 1,000 passes against one of 1: the cost must not grow with the count;
4. calls nested in one another, many calls of one block, a repeat in a repeat: time, and expressions that are checked,
   for each step of the graph as it is written out, at four sizes: neither may grow;
5. code written for 100 layers against 2, in this process;
6. `attnc compile examples/transformer.attn --to torch` as a whole process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from speed.timing import Spread

ROOT = Path(__file__).parents[1]
SPEC = "examples/transformer.attn"
OLDER = ("50e8b2a", "bc34144")  # without advice, and before that was made quick

BLOCK = """# Block {n}.
block b{n}(x: [seq, model], m: bool[seq, past]) -> [seq, model] {{
    Q = linear[model -> heads, key](x, bias = false)
    K = linear[model -> heads, key](x[seq as past], bias = false)
    V = linear[model -> heads, key](x[seq as past], bias = false)
    w = softmax[past](dot[key](Q, K) / sqrt(|key|) where m and past <= seq)
    y = x + linear.O[heads, key -> model](dot[past](w, V))
    z = layernorm.n[model](y) |> linear.up[model -> inner] |> gelu |> linear.down[inner -> model]
    return y + {rest}
}}

"""
SMALL = """use std.attention: multihead, model, heads
width seq
width past like seq
depth model = 64, heads = {heads}

model small(x: [seq, model]) -> [seq, model] {{
    return x + multihead.self[seq, past](x, x[seq as past], mask = past <= seq)
}}
"""


def large_spec(lines: int) -> str:
    """Blocks that call one another, ten deep."""
    text = "width seq\nwidth past like seq\ndepth model = 64, inner = 128, heads = 4, key = 16\n\n"
    n = 0
    while text.count("\n") < lines:
        text += BLOCK.format(n=n, rest=f"b{n - 1}(z, m)" if n % 10 else "z")
        n += 1
    return text


# -- calls, at four sizes ----------------------------------------------------------------------------------------------

CALLED = """width t
depth m = 8
block b0[a: depth](x: [t, a]) -> [t, a] {
    return x + linear.l[a -> a](layernorm.n[a](x)) * 2
}
"""


def model(*lines: str) -> str:
    return (
        CALLED + "model f(x: [t, m]) -> [t, m] {\n" + "".join(f"    {line}\n" for line in lines) + "    return x\n}\n"
    )


def in_one_another(deep: int) -> str:
    return model("x = " + "".join(f"b0.c{n}[m](" for n in range(deep)) + "x" + ")" * deep)


def block_in_block(deep: int) -> str:
    """Each block calls the one before twice: written out, the graph doubles."""
    blocks = "".join(
        f"block b{n}[a: depth](x: [t, a]) -> [t, a] {{\n    return b{n - 1}.two[a](b{n - 1}.one[a](x))\n}}\n"
        for n in range(1, deep + 1)
    )
    return model(f"x = b{deep}.c[m](x)") + blocks


def often(times: int) -> str:
    return model(*(f"x = b0.c{n}[m](x)" for n in range(times)))


def repeated(times: int) -> str:
    calls = "".join(f"            x = b0.c{n}[a](x)\n" for n in range(times))
    loops = f"    repeat.outer 3 {{\n        repeat.inner 3 {{\n{calls}        }}\n    }}\n"
    block = f"block r[a: depth](x: [t, a]) -> [t, a] {{\n{loops}    return x\n}}\n"
    return model("x = r.c[m](x)") + block


CALLS: dict[str, tuple[Callable[[int], str], tuple[int, ...]]] = {
    "calls in one another": (in_one_another, (3, 6, 9, 12)),
    "blocks in one another": (block_in_block, (3, 6, 9, 12)),
    "calls of one block": (often, (25, 50, 100, 200)),
    "repeat in a repeat": (repeated, (5, 10, 20, 40)),
}


def measure_calls(rounds: int) -> None:
    from attnc.compiler.calls.checker import Checker
    from attnc.compiler.check import build, steps
    from attnc.dsl.source import Source, Span

    checked = 0
    spend = Checker.spend

    def counted(self: Checker, span: Span, amount: int = 1) -> None:
        nonlocal checked
        checked += amount
        spend(self, span, amount)

    Checker.spend = counted
    for name, (spec, sizes) in CALLS.items():
        for size in sizes:
            source = Source(f"{name}.attn", spec(size))
            spent: list[float] = []
            for _ in range(rounds):
                checked = 0
                start = time.process_time()
                program = build(source)
                spent.append(time.process_time() - start)
            nodes = steps(program.graph("f"), {})
            each = Spread.of([1e6 * seconds / nodes for seconds in spent])
            print(f"{name:22} {size:3}: {nodes:6} steps, {checked / nodes:5.2f} checked each, {each} us each")
    Checker.spend = spend


# -- processes ---------------------------------------------------------------------------------------------------------


def installed(folder: Path, what: Path) -> str:
    """The Python of an environment that has the wheel, or what lies in a folder, and nothing else."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = str(folder / "bin" / "python")
    pip = (python, "-m", "pip", "install", "-qq", "--disable-pip-version-check")
    subprocess.run([*pip, "-c", ROOT / "constraints.txt", what], check=True)
    return python


def wheel() -> Path:
    wheels = list((ROOT / ".venv" / "dist").glob("attnc-*.whl"))
    if len(wheels) != 1:
        sys.exit("bench/check.py measures the wheel: run `make wheel` first")
    return wheels[0]


def at(commit: str, folder: Path) -> str | None:
    """The Python of an environment that has an older commit; None if this clone does not."""
    source, archive = folder / "source", folder / "archive.tar"
    source.mkdir(parents=True)
    command = ["git", "archive", "--output", archive, commit]
    if subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode:
        return None
    subprocess.run(["tar", "-x", "-C", source, "-f", archive], check=True)
    return installed(folder / "venv", source)


def taken(*command: str) -> tuple[float, float]:
    """By a process: seconds of the processor, user and system, which is its run where nothing else runs; and MiB, at
    least those of this one.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}  # as installed
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT, env=kept)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def seconds(*command: str) -> float:
    return taken(*command)[0]


def in_turn(rounds: int, one: tuple[str, ...], other: tuple[str, ...]) -> tuple[Spread, Spread, Spread]:
    """The seconds of two commands, run pair by pair, and what the first takes for each of the second."""
    seconds(*one), seconds(*other)  # writes what is kept: bytecode, the parser's tables
    pairs = [(seconds(*one), seconds(*other)) for _ in range(rounds)]
    mine, theirs = zip(*pairs, strict=True)
    return Spread.of([*mine]), Spread.of([*theirs]), Spread.of([a / b for a, b in pairs])


def of_lines(lines: int, rounds: int, place: Path, ours: str, older: dict[str, str]) -> None:
    """A large spec: seconds and MiB, ours and of each older commit in turn."""
    path = place / f"{lines}.attn"
    path.write_text(large_spec(lines), encoding="utf-8")
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ("ours", *older)}
    for number in range(rounds + 1):
        for name, python in {"ours": ours, **older}.items():
            one = taken(python, "-m", "attnc", "check", str(path))
            found[name] += [one] if number else []  # the first writes what is kept: bytecode, the parser's tables
    for name, each in found.items():
        time_of, memory = Spread.of([s for s, _ in each]), max(mib for _, mib in each)
        ratio = Spread.of([mine / theirs for (mine, _), (theirs, _) in zip(found["ours"], each, strict=True)])
        beside = "" if name == "ours" else f"; ours takes {ratio} of it"
        row(f"attnc check of {lines:,} lines, {name}", f"{time_of} s, {memory:.0f} MiB{beside}")


def row(what: str, found: Spread | str, target: str = "") -> None:
    print(f"{what:44}{found}" + (f"   (target: {target})" if target else ""))


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        python, folder = installed(Path(place) / "venv", wheel()), Path(place) / "many"
        check = (python, "-m", "attnc", "check")
        ours, numpy, ratio = in_turn(rounds, (*check, SPEC), (python, "-c", "import numpy"))
        row(f"attnc check {SPEC}", f"{ours} s")
        row("python -c 'import numpy'", f"{numpy} s")
        row("ratio, pair by pair", ratio, "at most 2")

        few = max(3, rounds // 4)
        older = {}
        for commit in OLDER:
            if (theirs := at(commit, Path(place) / commit)) is None:
                row(f"commit {commit}", "is not in this clone: `git fetch --unshallow` brings it")
            else:
                older[commit] = theirs
        for lines in (2_500, 10_000):
            of_lines(lines, few, Path(place), python, older)
        folder.mkdir()
        for n in range(1000):
            (folder / f"f{n}.attn").write_text(SMALL.format(heads=2 ** (n % 5)), encoding="utf-8")
        row("attnc check of 1,000 files", f"{Spread.of([seconds(*check, str(folder)) for _ in range(few)])} s")

        _, _, ratio = in_turn(
            rounds, (*check, SPEC, "--set", "layers=1000"), (*check, SPEC, "--set", "layers=1")
        )  # fmt: skip
        row("1,000 layers against 1", ratio, "about 1")
        to_torch = (python, "-m", "attnc", "compile", SPEC, "--to", "torch")
        row("attnc compile --to torch", f"{Spread.of([seconds(*to_torch) for _ in range(rounds)])} s", "at most 1")

    measure_calls(rounds)

    import attnc as package

    ratios = []
    for _ in range(rounds):
        spent = []
        for layers in (2, 100):
            start = time.process_time()
            spec = package.load(ROOT / SPEC, sizes={"layers": layers})
            spec.model("transformer").source("torch")
            spent.append(time.process_time() - start)
        ratios.append(spent[1] / spent[0])
    row("code of 100 layers against 2", Spread.of(ratios), "at most 1.5")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 11)
