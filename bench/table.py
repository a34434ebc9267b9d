"""The table of docs/speed.md from results of bench/run.py: `python bench/table.py BEFORE/speed.json NOW/speed.json`.

A line for each row of what is trained today: ours over its peer, medians and intervals of 90 %, before and now, what
was to be reached, ours over the floor, and the peaks of memory. Without NOW, what was before alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# Peers by row, of several the fastest, and what ours may take at most, as a multiple of it.
FASTEST = "Hugging Face"
REACH = {
    "experts_train": (FASTEST, 0.95),
    "experts_decode": (FASTEST, 0.8),
    "experts_many": (FASTEST, 0.95),
    "experts_many_decode": (FASTEST, 0.8),
    "lstm": ("nn.LSTM", 1.3),
    "lstm_one": ("nn.LSTM", 1.6),
    "lstm_numpy": ("loop by hand", 1.05),
    "linear": ("chunked by hand", 1.2),
    "linear_numpy": ("chunked by hand", 1.3),
    "retention": ("chunked by hand", 1.2),
    "retention_recurrent": ("chunked by hand", 1.2),
    "selective_scan": ("by hand", 1.1),
    "gated_delta": (FASTEST, 0.7),
    "window_seen": ("floor", 2.2),
    "blocks_seen": ("floor", 3.0),
    "blocks_given": ("floor", 3.0),
    "heads_strided": ("heads apart", 1.15),
    "heads_fixed": ("heads apart", 1.15),
    "numpy_attention": ("floor", 1.9),
}
OTHER = "_other"


def main(files: Sequence[str]) -> int:
    runs = [read(Path(file)) for file in files]
    print("| row | sizes | peer | before | now | reach | now / floor | MiB, peer's |\n|" + "---|" * 8)
    for name in runs[0]:
        reach = REACH.get(name.removesuffix(OTHER))
        if reach is None or any(name not in run for run in runs):
            continue
        peer, most = reach
        found = [run[name] for run in runs]
        who = fastest(found[-1], peer)
        told = [spread(over(one, fastest(one, peer))) for one in found]
        floor = spread(found[-1]["over_floor"].get("attnc"))
        peaks = " , ".join(f"{found[-1]['peak_bytes'].get(each, 0) / 2**20:.0f}" for each in ("attnc", who))
        peaks = peaks.replace(" , ", ", ") if who != "floor" else peaks.partition(" ,")[0]
        now = told[1] if len(told) > 1 else ""
        print(f"| `{name}` | {found[-1]['what']} | {who} | {told[0]} | {now} | {most} | {floor} | {peaks} |")
    return 0


def read(file: Path) -> dict[str, Any]:
    return {work["name"]: work for work in json.loads(file.read_text(encoding="utf-8"))["work"]}


def fastest(work: Mapping[str, Any], peer: str) -> str:
    """Of those whose names have this in them the one that takes least; itself, where it is the floor."""
    if peer == "floor":
        return peer
    ours_over: dict[str, list[float]] = work["ours_over"]
    return max((who for who in ours_over if peer in who), key=lambda who: ours_over[who][0])


def over(work: Mapping[str, Any], who: str) -> list[float]:
    found: list[float] = work["over_floor"]["attnc"] if who == "floor" else work["ours_over"][who]
    return found


def spread(values: list[float] | None) -> str:
    return "{:.2f} ({:.2f} to {:.2f})".format(*values) if values else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
