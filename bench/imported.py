"""A published model's folder, imported, loaded and asked for one item, beside transformers: `python bench/imported.py`.

The folders are made here, with random weights at real sizes, in shards: GPT-2's 124 million parameters as a Llama in
float32, and 1.1 billion in bfloat16. Each measurement is a process of its own. Told are the median time and the peak of
anonymous memory above what the imported libraries took: files that are mapped and only read do not count, as the
system may drop them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

SIZES = {
    "tiny": {
        "vocab_size": 96, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "intermediate_size": 48, "dtype": "float32", "shard": "20KB",
    },
    "124m": {
        "vocab_size": 50257, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
        "num_key_value_heads": 12, "intermediate_size": 2048, "tie_word_embeddings": True, "dtype": "float32",
        "shard": "200MB",
    },
    "1.1b": {
        "vocab_size": 32000, "hidden_size": 2048, "num_hidden_layers": 22, "num_attention_heads": 32,
        "num_key_value_heads": 4, "intermediate_size": 5632, "dtype": "bfloat16", "shard": "500MB",
    },
}  # fmt: skip
PROMPT = [*range(1, 17)]
EVERY = 0.002  # seconds between two looks at the memory


def anonymous() -> int:
    """Bytes of this process that no file holds."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise OSError("this system does not tell anonymous memory")


@contextmanager
def measured(found: dict[str, float], name: str, before: int) -> Iterator[None]:
    """Seconds of what is done within, and the most of anonymous memory above `before`."""
    most, stop = [anonymous()], threading.Event()

    def look() -> None:
        while not stop.wait(EVERY):
            most[0] = max(most[0], anonymous())

    watch = threading.Thread(target=look)
    watch.start()
    start = time.perf_counter()
    try:
        yield
    finally:
        found[f"{name} s"] = time.perf_counter() - start
        stop.set()
        watch.join()
    found[f"{name} MiB"] = (max(most[0], anonymous()) - before) / 2**20


def make(folder: Path, size: str) -> None:
    import torch
    import transformers

    options = dict(SIZES[size])
    shard, dtype = options.pop("shard"), options.pop("dtype")
    config = transformers.LlamaConfig(**options)
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(config).to(getattr(torch, str(dtype))).save_pretrained(folder, max_shard_size=shard)


def import_ours(folder: Path, target: Path) -> dict[str, float]:
    from attnc import hub

    found: dict[str, float] = {}
    with measured(found, "import", anonymous()):
        hub.import_folder(folder, target)
    return found


def run_ours(folder: Path) -> dict[str, float]:
    import torch

    from attnc import hub

    before = anonymous()
    found: dict[str, float] = {}
    with measured(found, "load", before):
        net = hub.open(folder).torch()
    with torch.no_grad(), measured(found, "first item", before):
        net.generate(PROMPT, 1)
    return found


def run_theirs(folder: Path) -> dict[str, float]:
    import torch
    import transformers
    from transformers.models.llama import modeling_llama

    assert modeling_llama  # the library is read in parts
    transformers.utils.logging.set_verbosity_error()
    before = anonymous()
    found: dict[str, float] = {}
    with measured(found, "load", before):
        net = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="auto").eval()
    ids = torch.tensor([PROMPT])
    with torch.no_grad(), measured(found, "first item", before):
        net.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=1, do_sample=False, pad_token_id=0)
    return found


STEPS: dict[str, Callable[..., dict[str, float]]] = {"import": import_ours, "ours": run_ours, "theirs": run_theirs}


def in_a_process(step: str, *paths: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--step", step, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(size: str, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as at:
        theirs, ours = Path(at) / "theirs", Path(at) / "ours"
        make(theirs, size)
        files = [file.stat().st_size / 2**20 for file in theirs.glob("*.safetensors")]
        print(f"{size}: {len(files)} files, {sum(files):.0f} MiB, the largest {max(files):.0f}")
        runs: dict[str, list[dict[str, float]]] = {"import": [in_a_process("import", theirs, ours)]}
        for _ in range(rounds):
            runs.setdefault("ours", []).append(in_a_process("ours", ours))
            runs.setdefault("theirs", []).append(in_a_process("theirs", theirs))
        for step, found in runs.items():
            told = {name: statistics.median(one[name] for one in found) for name in found[0]}
            print(
                f"  {step:7}"
                + ", ".join(f"{name.split()[0]} {value:.2f} {name.split()[-1]}" for name, value in told.items())
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--size", nargs="+", choices=SIZES, default=["124m", "1.1b"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        step, *paths = options.step
        print(json.dumps(STEPS[step](*map(Path, paths))))
        return
    for size in options.size:
        compare(size, options.rounds)


if __name__ == "__main__":
    main()
