"""One head or too many? How well the dates are translated when heads of the trained model are taken out.

    python examples/dates/heads.py [--out out/dates] [--dates N] [--train STEPS]

Of the weights that run.py left in `--out`, each head is removed in turn; then, in each attention, all but one; then
all. A head is removed by zeroing its columns of the map `O`, so that nothing of it is passed on. With `--train`, models
with 1, 2, 4, 8 and 16 heads of the same depth in all are trained from the start, too. Exact match of the held-out dates
goes into a table and heads.json. After Michel, Levy and Neubig 2019, "Are Sixteen Heads Really Better than One?", whose
tables 1 and 3 ask the same of translation.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # examples/: run from anywhere, nothing to install

import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file
from torch import nn

import attnc
import attnc.inspect
from dates import data, evaluate, train
from dates.spec import FILE, load_spec
from training import console, whole

HEADS = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Site:
    """One attention of the model. output: the path of its map `O`, whose columns belong to the heads in turn."""

    path: str
    output: str
    heads: int


@dataclass(frozen=True, slots=True)
class Result:
    """Exact match, from 0 to 1, of the model without some heads of one attention."""

    attention: str
    removed: tuple[int, ...]
    exact_match: float


def sites(model: attnc.Model) -> list[Site]:
    """Every attention of a model, in the order of its spec."""
    found = []
    for spot in attnc.inspect.spots(model):
        if spot.is_attention:
            block = spot.path.rpartition(".")[0]
            heads = next(side.extent for side in spot.sides if side.name == "heads")
            assert heads is not None and f"{block}.O.weight" in model.weights
            found.append(Site(block, f"{block}.O.weight", heads))
    return found


@contextmanager
def without(module: nn.Module, site: Site, heads: Sequence[int]) -> Iterator[None]:
    """The module with these heads taken out of one attention; afterwards it is as it was."""
    weight = module.get_parameter(site.output)  # [model, heads value]
    before = weight.detach().clone()
    try:
        with torch.no_grad():
            by_head = weight.unflatten(1, (site.heads, -1))
            by_head[:, list(heads)] = 0.0
        yield
    finally:
        with torch.no_grad():
            weight.copy_(before)


def ablate(module: nn.Module, model: attnc.Model, dates: data.Dates) -> tuple[float, list[Result]]:
    """Exact match of the whole model, and with each head out, with all but one out, with all out."""
    predict = train.from_torch(module)
    whole_model = evaluate.judge(predict, dates).exact_match
    results = []
    for site in sites(model):
        everyone = range(site.heads)
        for removed in dict.fromkeys(
            [
                *((head,) for head in everyone),
                *(tuple(other for other in everyone if other != head) for head in everyone),
                tuple(everyone),
            ]
        ):
            if removed:
                with without(module, site, removed):
                    results.append(Result(site.path, removed, evaluate.judge(predict, dates).exact_match))
                console.print(f"{site.path}: without {list(removed)} {results[-1].exact_match:.1%}")
    return whole_model, results


def trained(dates: data.Dates, heads: int, *, steps: int, seed: int) -> float:
    """Exact match of a model trained with so many heads; `model` stays, so more heads are thinner ones."""
    sizes = {"german": len(dates.german), "english": len(dates.english), "heads": heads}
    module, _ = train.fit(attnc.load(FILE, sizes=sizes), dates, steps=steps, seed=seed)
    return evaluate.judge(train.from_torch(module), dates).exact_match


def table(whole_model: float, results: Sequence[Result], heads: int) -> str:
    """A line for each attention: exact match without head 0, 1, ..., with head 0, 1, ... alone, without any."""
    everyone = tuple(range(heads))
    alone = [tuple(other for other in everyone if other != head) for head in everyone]
    removed = [*((head,) for head in everyone), *alone, everyone] if heads > 1 else [everyone]
    names = [f"-{head}" for head in everyone] + [f"only {head}" for head in everyone] + ["none"]
    rows = [["", *(names if heads > 1 else ["none"])]]
    by_site: dict[str, dict[tuple[int, ...], float]] = {}
    for result in results:
        by_site.setdefault(result.attention, {})[result.removed] = result.exact_match
    rows += [[path, *(f"{found[which]:.1%}" for which in removed)] for path, found in by_site.items()]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([f"exact match without heads; {whole_model:.1%} with all", *lines])


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0, or 2 where it could not run."""
    options = parse(arguments)
    weights_file = options.out / "weights.safetensors"
    if not weights_file.is_file():
        return failed(f"no weights at {weights_file}: examples/dates/run.py writes them")
    try:
        weights = load_file(weights_file)
    except (OSError, SafetensorError) as error:
        return failed(f"cannot read weights from {weights_file}: {error}")
    dates = data.load()
    dates = replace(dates, held_out=dates.held_out[: options.dates])
    try:
        return run(options, weights, dates)
    except KeyboardInterrupt:
        return failed("interrupted", status=130)
    except (ValueError, OSError) as error:
        return failed(str(error))


def run(options: argparse.Namespace, weights: Mapping[str, object], dates: data.Dates) -> int:
    start = time.perf_counter()
    torch.set_num_threads(1)
    model = load_spec(dates).model("translate")
    module = model.torch(weights=weights).eval()
    whole_model, results = ablate(module, model, dates)
    console.print(table(whole_model, results, sites(model)[0].heads))
    again = {}
    if options.train:
        for heads in HEADS:
            again[heads] = trained(dates, heads, steps=options.train, seed=options.seed)
            console.print(f"trained with {heads} heads, {options.train:,} steps: {again[heads]:.1%}")
    numbers = {
        "dates": len(dates.held_out),
        "exact_match": whole_model,
        "without": [asdict(result) for result in results],
        "trained": {"steps": options.train, "seed": options.seed, "exact_match_by_heads": again} if again else None,
        "seconds": time.perf_counter() - start,
    }
    with whole(options.out / "heads.json") as path:
        path.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
    console.print(f"In {options.out}: heads.json")
    return 0


def failed(message: str, *, status: int = 2) -> int:
    print(f"error: {message}", file=sys.stderr)
    return status


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--out", type=Path, default=Path("out/dates"), help="folder with weights.safetensors (%(default)s)"
    )
    parser.add_argument(
        "--dates", type=positive, default=data.HELD_OUT, help="held-out dates to judge by (%(default)s)"
    )
    parser.add_argument("--train", type=positive, metavar="STEPS", help="train models with 1, 2, ..., 16 heads, too")
    parser.add_argument("--seed", type=int, default=0, help="of that training (%(default)s)")
    return parser.parse_args(arguments)


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
