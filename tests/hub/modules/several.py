"""Modules that give several results: one after another on the way to the last, or apart."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .decoders import Separate

Both = namedtuple("Both", ["logits", "states"])


@dataclass
class Fields:
    states: Tensor
    logits: Tensor


@dataclass
class Keyed(OrderedDict[str, Any]):
    """As the outputs of transformers: fields, some of them None, and keys as soon as someone makes them."""

    loss: Tensor | None = None
    states: Tensor | None = None

    def with_keys(self, **more: Tensor) -> Keyed:
        self.update(more)
        return self


class Several(Separate):
    """Its results in a form that `gives` makes of the logits and what they are made of."""

    def __init__(self, gives: Any) -> None:
        super().__init__()
        self.gives = gives

    def forward(self, idx: Tensor) -> Any:
        kept: list[Tensor] = []
        hook = self.head.register_forward_pre_hook(lambda _, given: kept.append(given[0]))
        logits = super().forward(idx)
        hook.remove()
        return self.gives(logits, kept[0])


def a_tuple() -> nn.Module:
    return Several(lambda logits, states: (logits, states))


def a_named_tuple() -> nn.Module:
    return Several(Both)


def a_dict() -> nn.Module:
    return Several(lambda logits, states: {"states": states, "logits": logits})


def fields() -> nn.Module:
    return Several(lambda logits, states: Fields(states, logits))


def fields_and_keys() -> nn.Module:
    """The states a field alone, the logits a key alone."""
    return Several(lambda logits, states: Keyed(states=states).with_keys(logits=logits))


def nothing() -> nn.Module:
    return Several(lambda logits, states: {"ids": logits.argmax(-1)})


def probabilities() -> nn.Module:
    return Several(lambda logits, states: {"logits": logits, "where": logits.softmax(-1)})


def apart() -> nn.Module:
    """The second is no value on the way to the first."""
    return Several(lambda logits, states: (logits, torch.tanh(states.mean(1))))
