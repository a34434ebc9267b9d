"""`make demo`: the Transformer of Vaswani et al. from one text file, and a smaller one that learns to translate dates.

Runs the commands that a user would type, and shows them. Everything is written to out/.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = Path("out")
ENOUGH = 0.98  # of the held-out dates, exactly right

# What is drawn: the file's name in out/, and how it is asked for.
PICTURES = {
    "transformer": ["examples/transformer.attn:transformer"],
    "encoder": ["examples/transformer.attn:encode", "--open", "multihead,attend,feed_forward,join"],
    "decoder": ["examples/transformer.attn:decode", "--depth", "1"],
}


def main() -> int:
    start = time.perf_counter()
    specs = [f"examples/{name}.attn" for name in ("transformer", "torch_transformer", "dates/dates")]
    (ROOT / OUT).mkdir(exist_ok=True)

    heading("Checking the specs")
    attnc("check", *specs)

    heading("What the checker says of a causal mask turned round")
    spoil()

    heading("Drawing the Transformer")
    for name, target in PICTURES.items():
        for ending in ("svg", "pdf", "png"):
            attnc("draw", *target, "-o", str(OUT / f"{name}.{ending}"))

    heading("Compiling it")
    for backend in ("torch", "numpy"):
        (ROOT / OUT / f"attnc_runtime_{backend}.py").unlink(missing_ok=True)  # of an attnc that was here before
        attnc(
            "compile",
            "examples/transformer.attn:transformer",
            "--to",
            backend,
            "-o",
            str(OUT / f"transformer_{backend}.py"),
        )

    heading("Its weights (all of them are in out/transformer_weights.txt)")
    listed = attnc("summary", "examples/transformer.attn:transformer", show=False)
    (ROOT / OUT / "transformer_weights.txt").write_text(listed, encoding="utf-8")
    lines = listed.splitlines()
    print("\n".join([*lines[:6], "...", *lines[-3:]]))

    heading("Training a Transformer that translates dates")
    command(
        [sys.executable, "-P", "examples/dates/run.py", "--out", str(OUT / "dates")], "python examples/dates/run.py"
    )

    heading("Done")
    numbers = json.loads((ROOT / OUT / "dates" / "numbers.json").read_text())
    exact = numbers["exact_match"]
    print(f"{exact:.1%} of {numbers['held_out']:,} held-out dates are translated exactly ({ENOUGH:.0%} are wanted).")
    print(f"The whole demo took {(time.perf_counter() - start) / 60:.1f} minutes. What it made is in {ROOT / OUT}:\n")
    for path in sorted((ROOT / OUT).rglob("*")):
        if path.is_file():
            print(f"    {path.relative_to(ROOT / OUT).as_posix():32} {path.stat().st_size / 1024:>9,.0f} KiB")
    return 0 if exact >= ENOUGH else 1


def heading(text: str) -> None:
    print(f"\n{'-' * min(80, shutil.get_terminal_size().columns)}\n{text}\n", flush=True)


def attnc(*args: str, show: bool = True) -> str:
    """Run an attnc command; its output. Ends the demo if it fails."""
    return command([sys.executable, "-m", "attnc", *args], shlex.join(["attnc", *args]), capture=not show)


def command(args: list[str], shown: str, *, capture: bool = False) -> str:
    print(f"$ {shown}", flush=True)
    done = subprocess.run(args, cwd=ROOT, stdout=subprocess.PIPE if capture else None, text=True)
    if done.returncode:
        sys.exit(f"\nThe demo ends here: `{shown}` failed with exit status {done.returncode}.")
    return done.stdout or ""


def spoil() -> None:
    """Check the Transformer with a mistake that frameworks pass in silence."""
    good = (ROOT / "examples" / "transformer.attn").read_text(encoding="utf-8")
    wrong = good.replace("mask = past <= target", "mask = target <= past")
    (ROOT / OUT / "wrong.attn").write_text(wrong, encoding="utf-8")
    print("$ attnc check out/wrong.attn", flush=True)
    done = subprocess.run([sys.executable, "-m", "attnc", "check", "out/wrong.attn"], cwd=ROOT)
    if done.returncode != 1:
        sys.exit("\nThe demo ends here: the mistake was not found.")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
