"""Fuzzing led by coverage: `python -m tests.hostile.guided --seconds 600`.

With --atheris libFuzzer leads. Without it a small loop does what it does: a text that reaches a line of attnc that no
text before it reached joins the corpus, and texts of the corpus are changed further. Lines are seen by `sys.settrace`,
only in functions that showed a new one lately, so that the loop soon runs at nearly full speed.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import traceback
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tests.clock import patience

BORING = 40
"""After so many calls without a new line a function is traced no more."""


class Coverage:
    """The lines of attnc that were ever run."""

    def __init__(self) -> None:
        packages = (import_module(f"attnc.{name}") for name in ("backends", "compiler", "diagrams", "dsl"))
        self.ours = tuple(folder for package in packages for folder in package.__path__)
        self.unseen: dict[CodeType, set[int]] = {}
        self.patience: dict[CodeType, int] = {}
        self.count = 0

    def of_call(self, frame: FrameType, event: str, arg: object) -> Any:
        code = frame.f_code
        if code not in self.unseen:
            ours = code.co_filename.startswith(self.ours)
            self.unseen[code] = {line for _, _, line in code.co_lines() if line is not None} if ours else set()
            self.patience[code] = BORING
        self.patience[code] -= 1
        return self.of_line if self.unseen[code] and self.patience[code] > 0 else None

    def of_line(self, frame: FrameType, event: str, arg: object) -> Any:
        left = self.unseen[frame.f_code]
        if frame.f_lineno in left:
            left.discard(frame.f_lineno)
            self.patience[frame.f_code] = BORING
            self.count += 1
        return self.of_line


def loop(seconds: float, seed: int, failures: Path) -> int:
    """Fuzz for a time; each failure is written to a file. The number of failures."""
    from .drive import SEEDS, drive, mutated

    rng, coverage = random.Random(seed), Coverage()
    corpus, runs = list(SEEDS), 0
    found: dict[str, str] = {}
    waiting = patience(seconds)
    fresh = list(SEEDS)
    while waiting():
        text = fresh.pop() if fresh else mutated(rng, rng.choice(corpus[-200:] + SEEDS), rng.choice(corpus))
        before = coverage.count
        sys.settrace(coverage.of_call)
        try:
            drive(text.encode())
        except Exception as problem:
            sys.settrace(None)
            last = traceback.extract_tb(problem.__traceback__)[-1]
            sign = f"{type(problem).__name__} at {Path(last.filename).name}:{last.lineno}"
            if sign not in found:
                found[sign] = text
                failures.mkdir(parents=True, exist_ok=True)
                (failures / f"failure{len(found)}.attn").write_text(text, encoding="utf-8")
                print(sign, str(problem)[:300], flush=True)
        finally:
            sys.settrace(None)
        runs += 1
        if coverage.count > before and len(text) < 20_000:
            corpus.append(text)
    print(f"{runs} texts, {coverage.count} lines reached, {len(corpus)} in the corpus, {len(found)} failures")
    return len(found)


def with_atheris(seconds: float, seed: int, failures: Path) -> None:
    """libFuzzer, which ends the process; what fails stands in `failures`."""
    import atheris

    with atheris.instrument_imports(include=["attnc"]):
        from .drive import SEEDS, drive, mutated

        for text in SEEDS:  # importing all that a text may need
            drive(text.encode())

    def change(content: bytes, most: int, number: int) -> bytes:
        rng = random.Random(number)
        return mutated(rng, content.decode("utf-8", "replace"), rng.choice(SEEDS)).encode()[:most]

    corpus = failures / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(SEEDS):
        (corpus / f"seed{number}").write_text(text, encoding="utf-8")
    flags = [f"-max_total_time={seconds:.0f}", f"-seed={seed + 1}", "-timeout=60", "-max_len=20000"]
    # What libFuzzer takes for this process's memory begins with that of the process that started it.
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    flags.append(f"-rss_limit_mb={before + 2048}")
    atheris.Setup(
        [sys.argv[0], *flags, f"-artifact_prefix={failures}/", str(corpus)], lambda content: drive(content) and None,
        custom_mutator=change,
    )  # fmt: skip
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--failures", type=Path, default=Path("out/fuzz"))
    parser.add_argument("--atheris", action="store_true")
    args = parser.parse_args()
    if args.atheris:
        with_atheris(args.seconds, args.seed, args.failures)
        return 0
    return min(1, loop(args.seconds, args.seed, args.failures))


if __name__ == "__main__":
    sys.exit(main())
