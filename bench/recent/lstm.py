"""An LSTM beside torch.nn.LSTM and beside loops by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from speed.floor import Map, floor
from speed.timing import OURS, Case
from torch import Tensor, nn

from .paired import Way, case, drawn, example, numpy_case


@dataclass(frozen=True, slots=True)
class Sizes:
    width: int = 128
    batch: int = 8
    input: int = 256
    hidden: int = 256
    gradients: int = 1  # 0: forward alone


def bottom(sizes: Sizes, library: str, gradients: int) -> Callable[[], object]:
    """Input maps at once and a step's map for each item; backward a step's map again, the rest at once."""
    rows, into, hidden = sizes.width * sizes.batch, sizes.input, sizes.hidden
    first = [Map("x", rows, into, 4 * hidden)]
    steps = [[Map("h", sizes.batch, hidden, 4 * hidden)] for _ in range(sizes.width)]
    if not gradients:
        return floor([first, *steps], library=library)
    back = [[Map("of h", sizes.batch, 4 * hidden, hidden)] for _ in range(sizes.width)]
    last = [Map("of x", rows, 4 * hidden, into)]
    last += [Map(f"of weights {n}", d, rows, 4 * hidden) for n, d in enumerate((into, hidden))]
    return floor([first, *steps, *back, last], library=library)


def loop(x: Tensor, W: Tensor, b: Tensor, U: Tensor, c: Tensor) -> Tensor:
    """As one writes it who knows that the input map does not wait for the state."""
    given = torch.nn.functional.linear(x, W, b + c).unbind(1)
    U = U.T
    h = state = x.new_zeros(len(x), U.shape[0])
    found = []
    for one in given:
        write, keep, new, show = torch.addmm(one, h, U).chunk(4, -1)
        state = keep.sigmoid() * state + write.sigmoid() * new.tanh()
        h = show.sigmoid() * state.tanh()
        found.append(h)
    return torch.stack(found, 1)


def training(name: str, sizes: Sizes, target: float | None) -> list[Case]:
    (x,) = drawn((sizes.batch, sizes.width, sizes.input))
    ours = example("lstm", "lstm", input=sizes.input, hidden=sizes.hidden).torch(seed=0)
    weights = [ours.state_dict()[f"cell.{part}"].clone() for part in ("x.weight", "x.bias", "h.weight", "h.bias")]
    nets = nn.LSTM(sizes.input, sizes.hidden, batch_first=True)
    names = ("weight_ih_l0", "bias_ih_l0", "weight_hh_l0", "bias_hh_l0")
    nets.load_state_dict(dict(zip(names, weights, strict=True)))
    mine, theirs = dict(ours.named_parameters()), dict(nets.named_parameters())
    by_hand = [nn.Parameter(w) for w in weights]
    ways = {
        OURS: Way(ours, [x], [mine[f"cell.{part}"] for part in ("x.weight", "x.bias", "h.weight", "h.bias")]),
        "nn.LSTM": Way(lambda x: nets(x)[0], [x.clone()], [theirs[each] for each in names]),
        "loop by hand": Way(lambda x: loop(x, *by_hand), [x.clone()], by_hand),
    }
    what = f"LSTM of {sizes.hidden}, T {sizes.width}, batch {sizes.batch}"
    return [case(name, what, target, ways, sizes.gradients, bottom(sizes, "torch", sizes.gradients))]


def in_numpy(name: str, sizes: Sizes, target: float | None) -> list[Case]:
    draw = np.random.default_rng(0)
    x = draw.standard_normal((sizes.batch, sizes.width, sizes.input), dtype=np.float32)
    ours = example("lstm", "lstm", input=sizes.input, hidden=sizes.hidden).numpy(seed=0, dtype="float32")
    named = dict(ours.weights)
    W, b, U, c = (named[f"cell.{part}"] for part in ("x.weight", "x.bias", "h.weight", "h.bias"))

    def by_hand() -> np.ndarray:
        given = x @ W.T + (b + c)
        h = state = np.zeros((sizes.batch, sizes.hidden), np.float32)
        found = np.empty((sizes.batch, sizes.width, sizes.hidden), np.float32)
        for t in range(sizes.width):
            write, keep, new, show = np.split(given[:, t] + h @ U.T, 4, -1)
            state = state / (1 + np.exp(-keep)) + np.tanh(new) / (1 + np.exp(-write))
            found[:, t] = h = np.tanh(state) / (1 + np.exp(-show))
        return found

    what = f"LSTM of {sizes.hidden}, T {sizes.width}, batch {sizes.batch}"
    ways = {OURS: lambda: ours(x), "loop by hand": by_hand}
    return [numpy_case(name, what, target, ways, bottom(sizes, "numpy", 0))]
