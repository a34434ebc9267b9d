"""Names in generated code: ASCII identifiers, no keywords, each a name of its own, marked with whose it is."""

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
# What a model on a mesh has besides (runtime/parallel): parts of a spec without weights, sizes, methods make way.
DIVIDED = _words("batch_part clip_grad_norm_ draw_from forward_backward whole_result")
# While code is written, each name says whose it is by a letter in front, which no name of a spec begins with: it is of
# a variable of one class or function; of a class or function of the file; of what callers in the file give by name,
# which is called alike everywhere. All other names are ours. Which of them make way is told of the code as a whole
# (scopes.py, spelling.py); then the marks go.
LOCAL, FILE, SHARED = MARKS = ("\u01c0", "\u01c1", "\u01c2")
_UNMARKED = str.maketrans("", "", "".join(MARKS))
DEVICE, DTYPE, AT, FOUND = (f"{SHARED}{name}" for name in ("device", "dtype", "at", "found"))


def plain(text: str) -> str:
    """Code, or a name, without the marks."""
    return text.translate(_UNMARKED)


def is_identifier(name: str) -> bool:
    """Whether `name` is an ASCII identifier; anything else must never reach generated code."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None


def camel(name: str) -> str:
    """`feed_forward` -> `FeedForward`: the name of a class."""
    parts = [part for part in name.split("_") if part]
    return "".join(part[0].upper() + part[1:] for part in parts) or "Block"


def snake(name: str) -> str:
    """`EncodeLayer` -> `encode_layer`: the name of a function."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


class Namer:
    """Gives each thing of one scope a name of its own: the wish, else the wish with a number; marked with `mark`."""

    def __init__(self, avoid: frozenset[str] = frozenset(), mark: str = LOCAL) -> None:
        self._avoid = avoid
        self._mark = mark
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}
        self._bearers: dict[str, int] = {}

    def reserve(self, name: str) -> None:
        self._taken.add(plain(name))

    def take(self, name: str) -> None:
        """Gives a free name as it is."""
        name = plain(name)
        self._taken.add(name)
        self._bearers[name] = self.bearer(name) + 1

    def bearer(self, name: str) -> int:
        """Which of the things that bore a name, one after another, bears it now."""
        return self._bearers.get(plain(name), 0)

    def free(self, name: str) -> None:
        """Makes a name that `give` gave available again: what bore it is read no more."""
        self._taken.discard(plain(name))

    def is_taken(self, name: str) -> bool:
        return plain(name) in self._taken or plain(name) in self._avoid

    def give(self, wish: str) -> str:
        return self._give(wish, self._avoid)

    def claim(self, wish: str) -> str:
        """As `give`, of what the spec's reader calls by its name: no name is avoided for another scope's sake."""
        return self._give(wish, frozenset())

    def _give(self, wish: str, avoid: frozenset[str]) -> str:
        wish = plain(wish)
        if not is_identifier(wish):
            raise ValueError(f"{wish!r} is not an ASCII identifier")
        if wish.startswith("__"):  # in a class, Python would mangle it
            wish = wish.lstrip("_") or "value"
        name = f"{wish}_" if keyword.iskeyword(wish) or wish in avoid else wish
        if name in self._taken or name in avoid:
            # Numbers only rise, so that n values of one name cost n steps, not n squared.
            number = self._counts.get(wish, 1)
            while name in self._taken or name in avoid:
                number += 1
                name = f"{wish}_{number}"
            self._counts[wish] = number
        self.take(name)
        return self._mark + name
