"""Train the Vision Transformer of digits.attn on scikit-learn's handwritten digits.

    python examples/digits/run.py [--out out/digits] [--steps N] [--seed S]

Prints its accuracy on a stratified fifth that it never saw, beside logistic regression's on the same split. Ctrl-C
saves a checkpoint; the same command then goes on from it. Exit status: 0; 1 where the NumPy code disagrees; 2 where it
could not run; 130 after Ctrl-C.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # examples/: run from anywhere, nothing to install

import numpy as np
import torch
from safetensors.numpy import load_file
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import attnc
from training import console, save_weights, train, whole

SPEC = Path(__file__).with_name("digits.attn")
STEPS = 2500
BATCH = 64


@dataclass(frozen=True, slots=True)
class Digits:
    """Images [item, high, wide] between 0 and 1, and their labels [item]."""

    images: np.ndarray
    labels: np.ndarray


def load(seed: int = 0) -> tuple[Digits, Digits]:
    """Four fifths to learn from, one fifth to be judged by; every digit has its share in both."""
    images, labels = load_digits(return_X_y=True)
    parts = train_test_split(
        (images / 16).astype(np.float32), labels, test_size=0.2, stratify=labels, random_state=seed
    )
    seen, unseen = (Digits(part.reshape(-1, 8, 8), kept) for part, kept in zip(parts[:2], parts[2:], strict=True))
    return seen, unseen


def batches(digits: Digits, *, seed: int) -> Iterator[Mapping[str, np.ndarray]]:
    """Endless, in a new order each time round; some images are moved by a pixel, down or up, right or left."""
    rng = np.random.default_rng(seed)
    padded = np.pad(digits.images, ((0, 0), (1, 1), (1, 1)))
    while True:
        order = rng.permutation(len(digits.labels))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            down, right = 1 + rng.choice([-1, 1], (2, BATCH)) * (rng.random((2, BATCH)) < 0.25)
            rows, columns = down[:, None] + np.arange(8), right[:, None] + np.arange(8)
            yield {
                "image": padded[chosen[:, None, None], rows[:, :, None], columns[:, None, :]],
                "label": digits.labels[chosen],
            }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--out", type=Path, default=Path("out/digits"), help="folder for what comes of it (%(default)s)"
    )
    parser.add_argument("--steps", type=int, default=STEPS, help="training steps (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="for weights and order of examples (%(default)s)")
    options = parser.parse_args(arguments)
    if options.steps < 1 or options.seed < 0:
        parser.error("--steps is at least 1, --seed at least 0")
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        return run(options.out, steps=options.steps, seed=options.seed)
    except KeyboardInterrupt:
        return 130
    except (attnc.AttnError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def run(out: Path, *, steps: int, seed: int) -> int:
    """All of it, in order. Returns the exit status."""
    seen, unseen = load()
    spec = attnc.load(SPEC)
    baseline = LogisticRegression(max_iter=2000).fit(seen.images.reshape(-1, 64), seen.labels)
    linear = float(baseline.score(unseen.images.reshape(-1, 64), unseen.labels))
    console.print(f"{len(seen.labels):,} images to learn from, {len(unseen.labels)} to be judged by")

    loss = spec.model("loss").torch(seed=seed)
    torch.manual_seed(seed)  # for dropout
    trained = train(
        loss, batches(seen, seed=seed), steps=steps, rate=2e-3, decay=0.01, checkpoint=out / "checkpoint.safetensors"
    )
    save_weights(out / "weights.safetensors", loss)

    model = spec.model("classify")
    with torch.inference_mode():
        scores = model.torch(weights=loss.state_dict()).eval()(torch.from_numpy(unseen.images)).numpy()
    plain = model.numpy(load_file(out / "weights.safetensors"))(unseen.images)
    difference = float(np.abs(plain - scores).max() / scores.std())
    right = float((scores.argmax(-1) == unseen.labels).mean())
    console.print(f"Vision Transformer   {right:.1%} of the unseen digits, after {trained.seconds:.0f} s of training")
    console.print(f"logistic regression  {linear:.1%}")
    console.print(f"NumPy against PyTorch: at most {difference:.1e} of the scores' standard deviation apart")
    numbers = {
        "accuracy": right, "logistic_regression": linear, "steps": steps, "seed": seed,
        "seconds": trained.seconds, "numpy_difference_over_std": difference,
    }  # fmt: skip
    with whole(out / "numbers.json") as path:
        path.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
    console.print(f"In {out}: weights.safetensors, numbers.json")
    return 0 if difference <= 2e-5 else 1


if __name__ == "__main__":
    sys.exit(main())
