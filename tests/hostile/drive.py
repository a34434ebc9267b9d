"""What a text is put through when it is fuzzed: all of attnc that a stranger's file may reach."""

from __future__ import annotations

import ast
import random
from contextlib import suppress
from pathlib import Path

import attnc
from attnc.dsl.files import FileProblem, decode
from attnc.dsl.tokens import RESERVED, TOKEN
from tests.backends.written import written
from tests.clock import at_most

ROOT = Path(__file__).parents[2]
SPECS = sorted(
    path for place in ("compiler/std", "examples", "tests/compiler/right") for path in (ROOT / place).rglob("*.attn")
)
SEEDS = [path.read_text("utf-8") for path in SPECS] + [(ROOT / "tests/dsl/tour.attn").read_text("utf-8")]
SIGNS = [
    *'()[]{}=,:.~|^*/+-<>%#"',
    "==",
    "|>",
    "->",
    "<=",
    "!=",
    "\n",
    "\n    ",
    "\r\n",
    " ",
    "é",
    "\ufeff",
    "\x00",
    "\x85",
]
WORDS = [
    *sorted(RESERVED), "as", "block", "causal", "config", "frozen", "in", "like", "model", "op", "shared", "use",
    "ragged", "x", "y", "seq", "heads", "std", "attention", "multihead", "linear", "dot", "softmax", "sum", "split",
    "merge", "concat", "window", "pad", "broadcast", "topk", "argsort", "index", "select", "layernorm", "embed",
    "dropout", "raw", "cumsum", "clamp", "max", "min", "floor", "sqrt", "_", "0", "1", "2", "0.5", "1e308", "999999999",
    "real", "bool", "int",
]  # fmt: skip
MOST = 200  # yardsticks, for all that is done with one text


def drive(content: bytes) -> str:
    """Put bytes through everything; what comes of them, in a word. Raises whatever should not have been raised."""
    with at_most(MOST):
        return _drive(content)


def _drive(content: bytes) -> str:
    try:
        source = decode("fuzz.attn", content)
    except FileProblem as problem:
        assert "\n" not in str(problem)
        return "no text"
    try:
        formatted = attnc.format(source.text)
    except attnc.AttnError as wrong:
        str(wrong)
        assert any(found.severity is attnc.Severity.ERROR for found in attnc.check(source.text))
        return "no syntax"
    assert attnc.format(formatted) == formatted
    try:
        spec = attnc.loads(source.text)
    except attnc.AttnError as wrong:
        str(wrong)
        return "wrong"
    emit(spec)
    return "right"


def emit(spec: attnc.Spec) -> None:
    """Code, equations and drawings of all that a spec has."""
    from attnc.backends import CannotEmit
    from attnc.diagrams import TooLarge

    for name in (*spec.models, *spec.blocks)[:2]:
        model = spec.model(name) if name in spec.models else spec.block(name)
        with suppress(TooLarge):
            model.draw().dot  # noqa: B018
        model.latex()
        for backend in ("torch", "numpy"):
            try:
                ast.parse(written(model, backend))
            except (CannotEmit, attnc.AttnError) as refusal:  # a size that a call would give; an op of this backend
                assert str(refusal)


def mutated(rng: random.Random, text: str, other: str) -> str:
    """A text with tokens dropped, doubled, swapped, taken from another text, or replaced."""
    tokens = [match.group() for match in TOKEN.finditer(text)]
    donors = [match.group() for match in TOKEN.finditer(other)]
    for _ in range(rng.choice([1, 1, 2, 4, 12])):
        if not tokens:
            break
        at = rng.randrange(len(tokens))
        end = min(len(tokens), at + rng.choice([1, 1, 1, 2, 5, 20]))
        match rng.randrange(7):
            case 0:
                del tokens[at:end]
            case 1:
                tokens[at:at] = tokens[at:end]
            case 2:
                there = rng.randrange(len(tokens))
                tokens[at], tokens[there] = tokens[there], tokens[at]
            case 3 if donors:
                start = rng.randrange(len(donors))
                tokens[at:end] = donors[start : start + rng.choice([1, 3, 10, 40])]
            case 4:
                tokens[at:end] = [rng.choice(SIGNS)]
            case 5:
                tokens[at] = rng.choice(WORDS)
            case _:
                words = [token for token in tokens if token.isidentifier()]
                tokens[at] = rng.choice(words or WORDS)
    return "".join(tokens)
