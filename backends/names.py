"""Names in generated code: ASCII identifiers, never a Python keyword, a module we import, or another thing's name."""

from __future__ import annotations

import keyword
import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What `nn.Module` itself uses as attributes (dir(nn.Module()) of torch 2.13, without dunders); a size stored under one
# of these would break the module. Kept as text, so that emitting source does not import torch.
MODULE_ATTRIBUTES = _words(
    """T_destination add_module apply bfloat16 buffers call_super_init children compile cpu cuda double dump_patches
    eval extra_repr float forward get_buffer get_extra_state get_parameter get_submodule half ipu load_state_dict
    modules mtia named_buffers named_children named_modules named_parameters parameters register_backward_hook
    register_buffer register_forward_hook register_forward_pre_hook register_full_backward_hook
    register_full_backward_pre_hook register_load_state_dict_post_hook register_load_state_dict_pre_hook
    register_module register_parameter register_state_dict_post_hook register_state_dict_pre_hook requires_grad_
    set_extra_state set_submodule share_memory state_dict to to_empty train training type xpu zero_grad"""
)
# The builtins that generated code calls (a variable `input` or `id` may well be called that), and what it imports.
_RESERVED = (
    frozenset(keyword.kwlist)
    | frozenset(keyword.softkwlist)
    | _words(
        """ValueError TypeError IndexError abs all any bool dict enumerate float int isinstance len list max min next
        range str sum super tuple zip print property"""
    )
    | _words("self cls torch np math F nn w at found batch dtype Tensor Array Float Int Bool Captured NamedTuple Any")
)


def is_identifier(name: str) -> bool:
    """Whether `name` is an ASCII identifier; anything else must never reach generated code."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None


def camel(name: str) -> str:
    """`feed_forward` -> `FeedForward`: the name of a class."""
    parts = [part for part in name.split("_") if part]
    return "".join(part[0].upper() + part[1:] for part in parts) or "Block"


class Namer:
    """Gives each thing of one scope a name of its own: the wish, else the wish with `_`, else with a number."""

    def __init__(self, reserved: frozenset[str] = frozenset()) -> None:
        self._reserved = reserved
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}
        self._bearers: dict[str, int] = {}

    def reserve(self, name: str) -> None:
        self._taken.add(name)

    def take(self, name: str) -> None:
        """Gives a free name as it is."""
        self._taken.add(name)
        self._bearers[name] = self.bearer(name) + 1

    def bearer(self, name: str) -> int:
        """Which of the things that bore a name, one after another, bears it now."""
        return self._bearers.get(name, 0)

    def free(self, name: str) -> None:
        """Makes a name that `give` gave available again: what bore it is read no more."""
        self._taken.discard(name)

    def is_taken(self, name: str) -> bool:
        return name in self._taken or name in self._reserved

    def give(self, wish: str) -> str:
        if not is_identifier(wish):
            raise ValueError(f"{wish!r} is not an ASCII identifier")
        if wish.startswith("op_"):  # so are called ops of the user's own
            wish = f"{wish}_"
        if wish.startswith("__"):  # in a class, Python would mangle it
            wish = wish.lstrip("_") or "value"
        name = wish if wish not in _RESERVED and wish not in self._reserved else wish + "_"
        if self.is_taken(name):
            # Numbers only rise, so that n values of one name cost n steps, not n squared.
            number = self._counts.get(wish, 1)
            while self.is_taken(name):
                number += 1
                name = f"{wish}_{number}"
            self._counts[wish] = number
        self.take(name)
        return name
