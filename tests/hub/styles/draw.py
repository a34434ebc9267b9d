"""One module of a seed."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .attention import MAPS, ROTARY, SCORES
from .drawing import HIDDEN, Style
from .library import Own, Stack, Two, plain
from .norms import BARE, KEPT, LAYERS, RMS
from .streams import ACTS, Pair, Whole

ODD = ["capped", "sinks", "temperature", "relative", "gated", "talking", "experts", "mixed", "shared", "alternating",
       "unlike", "capped logits"]  # fmt: skip


def drawn(seed: int, **fixed: Any) -> tuple[nn.Module, Style]:
    """The module, and what it is like. fixed: choices that are not drawn."""
    style = Style(seed, **fixed)
    style.draw_eps()
    kind = style("kind", ["whole", "pair", "stack", "two", "own", "plain"], [14, 2, 1, 1, 1, 2])
    style("bias", [True, False])
    style("items_first", [False, True], [5, 1])
    style("causal", [True, False], [2, 1])
    style("last_norm", [True, False], [4, 1])
    for name, among in (("mask", ["bool", "float"]), ("told_causal", [False, True]), ("norm_first", [False, True]),
                        ("library_act", ["gelu", "relu", "module", "silu", "string"])):  # fmt: skip
        style(name, among)
    torch.manual_seed(seed)
    if kind in ("stack", "two", "own", "plain"):
        return {"stack": Stack, "two": Two, "own": Own, "plain": plain}[kind](style).eval(), style
    _norms(style)
    _attention(style)
    _stream(style, kind)
    size = style("size", [16, 24, 30, 32])
    return (Pair if kind == "pair" else Whole)(style, size).eval(), style


def _norms(style: Style) -> None:
    style("norm", style.random.choice([LAYERS, RMS, RMS, BARE, LAYERS]))
    style("norm_bias", [True, False])
    style("kept", KEPT)


def _attention(style: Style) -> None:
    style("heads", [2, 3, 4, 6])
    style("key", [4, 6, 8, 12])
    style("maps", MAPS)
    style("groups", [one for one in (1, 2, 3, 4, 6) if style.heads % one == 0])
    style("scores", SCORES)
    style("scale", ["root", "none", "own", "before"], [5, 1, 1, 2])
    style("softmax", ["plain", "float", "hand"], [6, 1, 1])
    style("out_bias", [True, False])
    style("qk_norm", ["none", "head", "all"], [6, 1, 1])
    style("persistent", [True, False])
    style("spread", ["expand", "interleave"])
    style("places", ["learned", "waves", "rotary", "alibi", "none"], [4, 2, 5, 1, 1])
    rotary = style.places == "rotary"
    style("rotary", ROTARY[1:] if rotary else ["none"])
    style("base", [10000.0, 500000.0, 1000.0, 7000.0], [6, 2, 1, 1])
    style("part", [style.key, style.key, style.key // 2 if style.key % 4 == 0 else style.key])
    style("window", [None, 4], [8, 1])


def _stream(style: Style, kind: str) -> None:
    given = ["ids", "vectors", "wide vectors", "picture"]
    style("given", given, [8, 1, 1, 2 if kind == "whole" else 0])
    if style.given == "picture":
        style("causal", [False])
        style("places", ["learned", "none"])
        style("rotary", ["none"])
    style("patches", ["convolution", "linear"])
    style("token", [False, True])
    style("table", ["parameter", "module"])
    style("table_scale", [False, True], [4, 1])
    style("first_norm", [False, True], [5, 1])
    style("layers", [1, 2, 3])
    style("act", list(ACTS))
    style("gate", ["none", "none", "apart", "fused"])
    style("inner", [32, 40, 64])
    style("feed_bias", [True, False])
    alone = int(kind == "whole")
    style("form", ["pre", "post", "beside", "beside, two norms", "sandwich"], [5, 3, alone, alone, 1])
    style("scaled", ["none", "learned", "number", "stream"], [6, 1, 1, 1])
    style("hidden", ["none", *HIDDEN], [2, 1, 1, 1, 1])
    style("head", ["own", "tied", "none"], [3, 2, 1])
    style("head_bias", [False, True])
    style("pool", [None, "mean", "first", "last"], [6, 1, 1, 1])
    style(
        "tail",
        ["plain", "tuple", "dict", "data", "named", "last item", "probabilities", "flat"],
        [4, 1, 1, 1, 1, 1, 1, 1],
    )
    if style.pool or style.given == "picture":
        style("tail", ["plain", "tuple", "dict", "data"])
    style("odd", ["", *ODD], [4 * len(ODD), *(1 for _ in ODD)])


def __getattr__(name: str) -> Any:
    """`seed_17`: a function that gives the module of that seed; `asked_17`: one that gives a picture for it."""
    if name.startswith("asked_"):
        return lambda: torch.randn(2, 3, 8, 8)
    if not name.startswith("seed_"):
        raise AttributeError(name)
    return lambda: drawn(int(name[5:]))[0]


def asked(seed: int, style: Style) -> str | None:
    """Where its inputs are, if they cannot be guessed: nothing says how large its picture is."""
    return f"{__name__}:asked_{seed}" if style.told.get("given") == "picture" else None


def turns(style: Style) -> bool:
    """Whether its inputs are items first."""
    return style.items_first and style.kind in ("whole", "plain") and style.told.get("given") != "picture"
