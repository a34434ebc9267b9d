"""What training holds, by name: weights, and what the optimiser keeps of each."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_optimizer_state_dict
from torch.optim import Optimizer


def training_state(net: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
    """The very tensors, not copies: `model.PATH` and `optimizer.state.PATH.MOMENT`, whole or as DTensors.

    Moments that the optimiser has not made yet are made, so that a checkpoint can be read into them. Its settings, such
    as the rate, are not among them: they are the run's own.
    """
    # The optimiser first: torch makes what it lacks with a step of rate 0, which is none.
    kept = get_optimizer_state_dict(net, optimizer, options=StateDictOptions(flatten_optimizer_state_dict=True))
    found: dict[str, Any] = {f"optimizer.{name}": value for name, value in kept.items()}
    found |= {f"model.{name}": value for name, value in get_model_state_dict(net).items()}
    return {name: value for name, value in found.items() if isinstance(value, Tensor)}
