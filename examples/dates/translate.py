"""Translate German dates with the weights that run.py trained: the NumPy code, without torch.

python examples/dates/translate.py [--weights out/dates/weights.safetensors] "Freitag, 3. Mai 2041" 03.05.41
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # examples/: run from anywhere, nothing to install

from safetensors import SafetensorError
from safetensors.numpy import load_file

import attnc
from dates import data, evaluate
from dates.spec import load_spec


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line for each date. Exit status: 0, or 2 where something could not be read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dates", nargs="+", metavar="DATE")
    parser.add_argument("--weights", type=Path, default=Path("out/dates/weights.safetensors"), help="(%(default)s)")
    options = parser.parse_args(arguments)
    if not options.weights.is_file():
        return failed(f"no weights at {options.weights}: run.py writes them")
    try:
        weights = load_file(options.weights)
    except (OSError, SafetensorError) as error:
        return failed(f"cannot read weights from {options.weights}: {error}")
    dates = data.load()
    try:
        predict = load_spec(dates).model("translate").numpy(weights)
        for typed in options.dates:
            print(evaluate.translate(predict, dates, typed))
    except (data.DateError, attnc.AttnError, ValueError) as error:
        return failed(str(error))
    return 0


def failed(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
