"""How the dates are learned, and the trained model as a function of arrays."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

import attnc
import training

from .data import Dates, batches
from .evaluate import Predict

STEPS = 1500
BATCH = 64


def fit(spec: attnc.Spec, dates: Dates, *, steps: int, seed: int) -> tuple[nn.Module, training.Trained]:
    """Train the `loss` model; give back `translate`, which has the same weights, and how the training went."""
    loss = spec.model("loss").torch(seed=seed)
    torch.manual_seed(seed)  # for what a spec may draw while training, as dropout does
    trained = training.train(loss, batches(dates, size=BATCH, seed=seed), steps=steps)
    return spec.model("translate").torch(weights=loss.state_dict()).eval(), trained


@dataclass(frozen=True)
class FromTorch:
    """A compiled PyTorch model as a function of arrays."""

    module: nn.Module

    def __call__(self, source_ids: np.ndarray, target_ids: np.ndarray, real: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            logits: np.ndarray = self.module(*map(torch.from_numpy, (source_ids, target_ids, real))).numpy()
        return logits

    def generate(
        self, prompt: np.ndarray, max_new: int, *, eos: int, source_ids: np.ndarray, real: np.ndarray
    ) -> np.ndarray:
        given = {"source_ids": torch.from_numpy(source_ids), "real": torch.from_numpy(real)}
        ids: np.ndarray = self.module.generate(torch.from_numpy(prompt), max_new, eos=eos, **given).numpy()
        return ids


def from_torch(module: nn.Module) -> Predict:
    """A compiled PyTorch model as a function of arrays."""
    return FromTorch(module)
