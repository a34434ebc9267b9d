"""A module that runs many times as if each were the first: one mode, the same random numbers, the same buffers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from .tensors import leaves, numbers, outputs, replaced


class Runner:
    """runs: how often it ran."""

    def __init__(self, module: Callable[..., Any], arguments: Mapping[str, Any], positional: bool, seed: int) -> None:
        self.module = module
        self.arguments = arguments
        self.positional = positional
        self.seed = seed
        self.runs = 0
        found = (pair for name, value in arguments.items() for pair in leaves(value, name))
        self.inputs = {name: value.detach() for name, value in found}
        self.types: dict[str, torch.dtype] = {}  # of the outputs, as of the last run
        modules = module.modules() if isinstance(module, nn.Module) else ()
        self._buffers = [
            (owner, name, buffer, None if buffer is None else buffer.detach().clone())
            for owner in modules
            for name, buffer in owner._buffers.items()
        ]

    def __call__(self, inputs: Mapping[str, Tensor], seed: int | None = None) -> dict[str, Tensor]:
        """The outputs by name. The module may write into its inputs: they are copies."""
        fresh = {name: value.clone() for name, value in inputs.items()}
        given = {name: replaced(value, name, fresh) for name, value in self.arguments.items()}
        devices = {value.device for value in inputs.values() if value.is_cuda}
        self.runs += 1
        with torch.no_grad(), torch.random.fork_rng(devices=list(devices)):
            torch.manual_seed(self.seed if seed is None else seed)
            result = self.module(*given.values()) if self.positional else self.module(**given)
            found = outputs(result)
            self.types = {name: value.dtype for name, value in found.items()}
            told = {name: numbers(value) for name, value in found.items()}
        self._put_back()
        return told

    def _put_back(self) -> None:
        for owner, name, buffer, kept in self._buffers:
            owner._buffers[name] = buffer
            if buffer is not None and kept is not None and buffer._version:
                with torch.no_grad():
                    buffer.copy_(kept)


@contextmanager
def mode(module: Callable[..., Any], train: bool) -> Iterator[None]:
    """The module in training or not, and each of its parts as it was in the end."""
    modules = {each: each.training for each in module.modules()} if isinstance(module, nn.Module) else {}
    try:
        if isinstance(module, nn.Module):
            module.train(train)
        yield
    finally:
        for each, was in modules.items():
            each.training = was


def copied(module: nn.Module, seed: int | None, dtype: torch.dtype | None) -> nn.Module:
    """A copy in a type, its weights drawn at random by a seed, so that none is zero: matrices evenly by what they sum
    over, others near what they were.
    """
    made = copy.deepcopy(module).to(dtype=dtype)
    if seed is None:
        return made
    generator = torch.Generator().manual_seed(seed)
    for weight in made.parameters():
        if weight.is_floating_point():
            drawn = torch.randn(weight.shape, generator=generator).to(weight)
            inner = max(weight[0].numel(), 1) if weight.ndim > 1 else 0
            with torch.no_grad():
                weight.copy_(drawn / inner**0.5 if inner else weight + drawn / 4)
    return made


def zeros(module: object) -> list[str]:
    """The names of matrices that hold nothing but zeros."""
    named = module.named_parameters() if isinstance(module, nn.Module) else ()
    return [name for name, weight in named if weight.ndim > 1 and not weight.is_meta and not weight.any()]


def precision(runner: Runner) -> float:
    """The step after 1 in the coarsest type that the module computes in."""
    weights = runner.module.parameters() if isinstance(runner.module, nn.Module) else ()
    types = {*runner.types.values(), *(value.dtype for value in (*runner.inputs.values(), *weights))}
    devices = {value.device.type for value in runner.inputs.values()}
    types |= {torch.get_autocast_dtype(device) for device in devices if torch.is_autocast_enabled(device)}
    return max((torch.finfo(each).eps for each in types if each.is_floating_point or each.is_complex), default=1e-7)
