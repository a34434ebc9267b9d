"""Train the GPT of gpt.attn on the docstrings of Python's standard library, and let it write.

    python examples/gpt/run.py [--out out/gpt] [--steps N] [--seed S] [--prompt TEXT]

Prints its loss on docstrings of files that it never saw, beside that of counting which character follows which. What it
writes comes from the decoder that attnc derives from the spec: `model.torch().generate(...)`. Ctrl-C saves a
checkpoint; the same command then goes on from it. Exit status: 0; 1 where the NumPy code disagrees; 2 where it could
not run; 130 after Ctrl-C.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # examples/: run from anywhere, nothing to install

import numpy as np
import torch
from safetensors.numpy import load_file

import attnc
from gpt import data
from training import console, save_weights, train, whole

SPEC = Path(__file__).with_name("gpt.attn")
STEPS, WIDTH, BATCH = 600, 256, 16
WRITTEN = 240  # characters: with the prompt no more than it has seen at once
TOLERANCE = 2e-5  # of the scores' standard deviation
PROMPTS = ("Return the ", "Raise ", "A class that ")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/gpt"), help="folder for what comes of it (%(default)s)")
    parser.add_argument("--steps", type=int, default=STEPS, help="training steps (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="for weights, pieces of text and draws (%(default)s)")
    parser.add_argument("--prompt", action="append", default=[], metavar="TEXT", help="what it is to go on from")
    options = parser.parse_args(arguments)
    if options.steps < 1 or options.seed < 0 or not all(options.prompt):
        parser.error("--steps is at least 1, --seed at least 0, and a prompt at least one character")
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        return run(options.out, steps=options.steps, seed=options.seed, prompts=options.prompt or PROMPTS)
    except KeyboardInterrupt:
        return 130
    except (attnc.AttnError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def run(out: Path, *, steps: int, seed: int, prompts: Sequence[str]) -> int:
    """All of it, in order. Returns the exit status."""
    text = data.load()
    console.print(
        f"{len(text.train):,} characters to learn from, {len(text.held_out):,} of other files to be judged by"
    )
    spec = attnc.load(SPEC, sizes={"character": data.ALPHABET})
    bigram = data.bigram_loss(text)

    loss = spec.model("loss").torch(seed=seed)
    torch.manual_seed(seed)  # for dropout
    pieces = data.batches(text.train, width=WIDTH, size=BATCH, seed=seed)
    trained = train(
        loss, pieces, steps=steps, rate=3e-3, decay=0.1, checkpoint=out / "checkpoint.safetensors", every=200
    )
    save_weights(out / "weights.safetensors", loss)
    model = spec.model("gpt")
    net = model.torch(weights=loss.state_dict()).eval()
    held_out = judge(loss.eval(), text.held_out)
    console.print(
        f"GPT      {held_out:.3f} nats a character on the unseen docstrings, {trained.seconds:.0f} s of training"
    )
    console.print(f"bigrams  {bigram:.3f}")

    # All prompts in one batch, though their lengths differ: each row comes out as it would alone.
    start = time.perf_counter()
    options = {"temperature": 0.8, "top_k": 20, "seed": seed}
    rows = net.generate([data.encode(prompt) for prompt in prompts], WRITTEN, **options).numpy()
    seconds = time.perf_counter() - start
    written = [prompt + data.decode(row) for prompt, row in zip(prompts, rows, strict=True)]
    for sample in written:
        console.rule(align="left")
        console.print(sample)
    console.rule(align="left")
    console.print(f"{rows.size / seconds:,.0f} characters a second, {len(rows)} texts at once")

    plain = model.numpy(load_file(out / "weights.safetensors"))
    same = bool(
        (
            plain.generate([data.encode(prompt) for prompt in prompts], 50, seed=seed)
            == net.generate([data.encode(prompt) for prompt in prompts], 50, seed=seed).numpy()
        ).all()
    )
    piece = text.held_out[None, : 2 * WIDTH]
    with torch.inference_mode():
        scores = net(torch.from_numpy(piece)).numpy()
    difference = float(np.abs(plain(piece) - scores).max() / scores.std())
    console.print(
        f"NumPy against PyTorch: at most {difference:.1e} of the scores' standard deviation apart; "
        f"greedy texts {'equal' if same else 'NOT equal'}"
    )
    numbers = {
        "loss": held_out, "bigram_loss": bigram, "steps": steps, "seed": seed, "seconds": trained.seconds,
        "characters_per_second": rows.size / seconds, "numpy_difference_over_std": difference, "written": written,
    }  # fmt: skip
    with whole(out / "numbers.json") as path:
        path.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
    console.print(f"In {out}: weights.safetensors, numbers.json")
    return 0 if difference <= TOLERANCE else 1


def judge(loss: torch.nn.Module, ids: np.ndarray) -> float:
    """Nats a character, over all of the text in pieces of WIDTH."""
    count = (len(ids) - 1) // WIDTH
    shown, following = (ids[shift : shift + count * WIDTH].reshape(count, WIDTH) for shift in (0, 1))
    total = 0.0
    with torch.inference_mode():
        for start in range(0, count, 64):
            part = slice(start, start + 64)
            total += float(loss(torch.from_numpy(shown[part]), torch.from_numpy(following[part])).total.sum())
    return total / (count * WIDTH)


if __name__ == "__main__":
    sys.exit(main())
