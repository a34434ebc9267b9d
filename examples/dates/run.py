"""Learn to translate dates from German into English with the Transformer of dates.attn, and show what came of it.

    python examples/dates/run.py [--out out/dates] [--steps N] [--seed S]

Compiles the spec to PyTorch and NumPy, trains, translates 1,000 dates held out of training with both, and draws what
cross-attention looked at. `--out` gets code, weights, pictures and numbers.json. Exit status: 0, or 1 where the two
backends disagree, or 2 where it could not run.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # examples/: run from anywhere, nothing to install

from rich.table import Table
from safetensors.numpy import load_file

import attnc
from dates import data, evaluate, picture, train
from dates.spec import FILE, load_spec
from training import console, save_weights, whole

TYPED = ("Dienstag, 5. März 2024", "24. Dezember 1999", "01.04.2031", "29.02.68", "03.10.90")
TOLERANCE = 2e-5  # of the logits' standard deviation: the noise of float32 is 2e-6, the quietest mistake 4e-5


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return failed(f"cannot write to {options.out}: {error.strerror}")
    try:
        return run(options.out, steps=options.steps, seed=options.seed)
    except KeyboardInterrupt:
        return failed("interrupted", status=130)
    except (attnc.AttnError, OSError) as error:
        return failed(str(error))


def run(out: Path, *, steps: int, seed: int) -> int:
    """All of it, in order. Returns the exit status."""
    start = time.perf_counter()

    heading("1. Dates, as CLDR writes them")
    dates = data.load()
    console.print(f"{len(dates.train):,} training pairs, {len(dates.held_out):,} held-out dates, none of them in both")
    for pair in dates.held_out[: len(data.STYLES)]:
        console.print(f"    {pair.style:7} {pair.german:30} {pair.english}")

    heading("2. The spec, checked and compiled")
    spec = load_spec(dates)
    model = spec.model("translate")
    for warning in spec.warnings:
        console.print(f"warning: {warning.message}")
    for backend in ("torch", "numpy"):
        with whole(out / f"translate_{backend}.py") as path:
            path.write_text(model.source(backend, single_file=True, decoding=True), encoding="utf-8")
    console.print(f"{FILE.name}: checked. In {out}: translate_torch.py, translate_numpy.py")
    try:
        with whole(out / "translate.svg") as path:
            model.draw().save(path)
        console.print(f"In {out}: translate.svg, its diagram")
    except RuntimeError as error:  # there is no `dot`: a pity, but no reason not to learn
        console.print(f"no diagram: {error}")

    heading(f"3. Training: {steps:,} steps of {train.BATCH} pairs, seed {seed}")
    module, trained = train.fit(spec, dates, steps=steps, seed=seed)
    save_weights(out / "weights.safetensors", module)
    parameters = sum(weight.numel() for weight in module.parameters())
    console.print(f"{parameters:,} weights, {trained.seconds:.0f} s, loss {trained.loss:.5f} a character")

    heading("4. The held-out dates, PyTorch: greedy, exact match")
    in_torch = evaluate.judge(train.from_torch(module), dates)
    console.print(table(in_torch))
    for pair, answer in in_torch.mistakes[:5]:
        console.print(f"    {pair.german} is {pair.english}, not {answer}")

    heading("5. The same, NumPy, from the saved weights")
    predict = model.numpy(load_file(out / "weights.safetensors"))
    in_numpy = evaluate.judge(predict, dates)
    agreement = evaluate.agreement(in_torch.decoded, in_numpy.decoded)
    agreed = agreement.same_ids and agreement.difference <= TOLERANCE
    console.print(f"exact match {in_numpy.exact_match:.1%} in {in_numpy.seconds:.0f} s")
    console.print(
        f"tokens {'equal' if agreement.same_ids else 'NOT equal'}; logits at most {agreement.difference:.1e} of their "
        f"standard deviation apart ({TOLERANCE:.0e} allowed)"
    )

    heading("6. A few typed dates, NumPy")
    typed = {text: evaluate.translate(predict, dates, text) for text in TYPED}
    for german, english in typed.items():
        console.print(f"    {german:30} {english}")

    heading("7. What cross-attention looked at")
    shown = [evaluate.pairs_of(dates, style)[0].german for style in ("full", "short")]
    figure = picture.draw([picture.look(spec, module, dates, german) for german in shown])
    for ending in ("png", "pdf"):
        with whole(out / f"attention.{ending}") as path:
            figure.savefig(path, dpi=150)
    console.print(f"In {out}: attention.png, attention.pdf")

    seconds = time.perf_counter() - start
    numbers = {
        "steps": steps,
        "seed": seed,
        "parameters": parameters,
        "loss": trained.loss,
        "held_out": len(dates.held_out),
        "exact_match": in_torch.exact_match,
        "exact_match_by_style": {style: in_torch.right[style] / in_torch.count[style] for style in data.STYLES},
        "exact_match_numpy": in_numpy.exact_match,
        "tokens_equal": agreement.same_ids,
        "logits_difference_over_std": agreement.difference if agreement.same_ids else None,
        "typed": typed,
        "seconds": {
            "training": trained.seconds,
            "decoding_torch": in_torch.seconds,
            "decoding_numpy": in_numpy.seconds,
            "all": seconds,
        },
    }
    with whole(out / "numbers.json") as path:
        path.write_text(json.dumps(numbers, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    console.print(f"\n{in_torch.exact_match:.1%} exact in {seconds:.0f} s. Everything is in {out}")
    return 0 if agreed else failed("the PyTorch and the NumPy code disagree", status=1)


def table(judged: evaluate.Judged) -> Table:
    """Exact match in all and per style."""
    shown = Table("style", "exact", "of", "share")
    for column in shown.columns[1:]:
        column.justify = "right"
    for style in data.STYLES:
        right, count = judged.right[style], judged.count[style]
        shown.add_row(style, f"{right}", f"{count}", f"{right / count:.1%}")
    shown.add_section()
    right, count = sum(judged.right.values()), sum(judged.count.values())
    shown.add_row("all", f"{right}", f"{count}", f"{right / count:.1%}")
    return shown


def heading(text: str) -> None:
    console.print()
    console.rule(text, align="left")


def failed(message: str, *, status: int = 2) -> int:
    print(f"error: {message}", file=sys.stderr)
    return status


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/dates"), help="folder for what comes of it (%(default)s)")
    parser.add_argument("--steps", type=positive, default=train.STEPS, help="training steps (%(default)s)")
    parser.add_argument("--seed", type=natural, default=0, help="for weights and order of examples (%(default)s)")
    return parser.parse_args(arguments)


def positive(text: str) -> int:
    if (number := natural(text)) == 0:
        raise argparse.ArgumentTypeError("at least 1 is needed")
    return number


def natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
