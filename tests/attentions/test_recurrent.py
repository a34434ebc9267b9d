"""What attention replaced, and where it began: recurrent and convolutional models, additive attention."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from .checking import Array, Case, Weights, agrees, sigmoid, softmax, some_true

SEEDS = range(2)
SIZES = [(7, 3, 4), (1, 5, 2), (12, 2, 7)]  # words, input, hidden


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize(("words", "input", "hidden"), SIZES)
def test_recurrent(seed: int, kind: str, words: int, input: int, hidden: int) -> None:
    theirs = getattr(torch.nn, kind.upper())(input, hidden, batch_first=True, dtype=torch.float64)

    def of_torch(weights: Weights, x: Array) -> Array:
        """Weights and both biases as they are: gates lie one below the other there, too."""
        names = {"weight_ih_l0": "x.weight", "bias_ih_l0": "x.bias", "weight_hh_l0": "h.weight", "bias_hh_l0": "h.bias"}
        theirs.load_state_dict({name: torch.tensor(weights[f"cell.{ours}"]) for name, ours in names.items()})
        with torch.no_grad():
            return np.asarray(theirs(torch.tensor(x)[None])[0][0])

    case = Case(kind, sizes={"input": input, "hidden": hidden}, widths={"words": words})
    agrees(case, of_torch, seed)
    found = {path: weight.shape for path, weight in case.draw_weights(0).items()}
    assert sorted(found.values()) == sorted(tuple(weight.shape) for weight in theirs.parameters())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize(("words", "model", "taps", "layers"), [(9, 4, 3, 2), (5, 3, 5, 3), (2, 6, 1, 1)])
def test_convolution(seed: int, side: str, words: int, model: int, taps: int, layers: int) -> None:
    def of_torch(weights: Weights, x: Array) -> Array:
        here = torch.tensor(x).T[None]  # [1, model, words]
        left = taps - 1 if side == "decoder" else taps // 2
        for layer in range(layers):
            flat = torch.tensor(weights[f"layers.{layer}.gated.W.weight"])
            kernel = flat.reshape(2 * model, taps, model).transpose(1, 2)
            bias = torch.tensor(weights[f"layers.{layer}.gated.W.bias"])
            window = torch.nn.functional.pad(here, (left, taps - 1 - left))
            made = torch.nn.functional.glu(torch.nn.functional.conv1d(window, kernel, bias), dim=1)
            here = (here + made) * 0.5**0.5
        return here[0].T.numpy()

    sizes = {"model": model, "taps": taps, "layers": layers}
    agrees(Case("convolution", side, sizes, {"words": words}), of_torch, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("target", "source"), [(4, 6), (1, 3), (7, 2)])
def test_additive(seed: int, target: int, source: int) -> None:
    def formula(weights: Weights, y: Array, h: Array, start: Array, real: Array) -> tuple[Array, Array]:
        """Sections A.1.1, A.1.2 and A.2.2 of Bahdanau et al. 2015, word by word."""
        w = {path.removeprefix("word."): weight for path, weight in weights.items()}
        state, states, alignments = start, [], []
        for word in y:
            energies = [w["align.v"] @ np.tanh(w["align.W.weight"] @ state + weights["U.weight"] @ one) for one in h]
            alignment = softmax(np.array(energies), real)
            context = sum(share * one for share, one in zip(alignment, h, strict=True))

            def gate(name: str, state: Array, word: Array = word, context: Array = context) -> Array:
                heard = w[f"W{name}.weight"] @ word + w[f"W{name}.bias"] + w[f"C{name}.weight"] @ context
                return heard + w[f"U{name}.weight"] @ state

            z, r = sigmoid(gate("z", state)), sigmoid(gate("r", state))
            state = (1 - z) * state + z * np.tanh(gate("p", r * state))
            states.append(state)
            alignments.append(alignment)
        return np.array(states), np.array(alignments)

    sizes = {"input": 3, "state": 4, "annotation": 5, "hidden": 6}
    case = Case("additive", sizes=sizes, widths={"target": target, "source": source}, inputs={"real": some_true})
    agrees(case, formula, seed)
