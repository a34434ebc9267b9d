"""Choices, drawn one by one and kept by their names, so that a module can be told in words."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial
from typing import Any


class Style:
    """What one module is like: `style("norm", [...])` draws, `style.norm` is what was drawn."""

    def __init__(self, seed: int, **fixed: Any) -> None:
        """fixed: choices that are not drawn."""
        self.random, self.fixed = random.Random(f"style {seed}"), fixed
        self.told: dict[str, Any] = {"seed": seed}

    def __call__(self, name: str, among: list[Any], weights: list[float] | None = None) -> Any:
        found = self.random.choices(among, weights)[0]
        self.told[name] = self.fixed.get(name, found)
        return self.told[name]

    def __getattr__(self, name: str) -> Any:
        try:
            return vars(self)["told"][name]
        except KeyError:
            raise AttributeError(name) from None

    def draw_eps(self) -> float:
        """Log-uniform, 1e-12 to 1e-3; half of them a power of ten."""
        power = self.random.uniform(-12, -3)
        whole = self.random.random() < 0.5
        self.told["eps"] = 10.0 ** round(power) if whole else float(f"{math.exp(power * math.log(10)):.3g}")
        return self.told["eps"]

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.told.items())


def hidden(how: str, function: Callable[..., Any], held: Any) -> Any:
    """function(held, x), with `held` where `state_dict`, `deepcopy` and `named_modules` do not look."""
    if how == "closure":
        return lambda x: function(held, x)
    if how == "default":
        return lambda x, held=held: function(held, x)
    if how == "partial":
        return partial(function, held)
    return _Kept([held], function)


class _Kept:
    """An object that is no module."""

    def __init__(self, held: list[Any], function: Callable[..., Any]) -> None:
        self.held, self.function = held, function

    def __call__(self, x: Any) -> Any:
        return self.function(self.held[0], x)


HIDDEN = ["closure", "default", "partial", "object"]
