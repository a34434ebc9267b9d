"""Names that weights may not have, the known name nearest to a misspelt one, and lists of names for messages."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from ...dsl.source import Span

# What `torch.nn.Module` keeps for itself (`dir(nn.Module())`, public names): a weight of such a name could not be
# a module's attribute. Kept as text because checking never imports torch; a test compares it with torch's.
_MODULE = """
T_destination add_module apply bfloat16 buffers call_super_init children compile cpu cuda double dump_patches eval
extra_repr float forward get_buffer get_extra_state get_parameter get_submodule half ipu load_state_dict modules mtia
named_buffers named_children named_modules named_parameters parameters register_backward_hook register_buffer
register_forward_hook register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook
register_load_state_dict_post_hook register_load_state_dict_pre_hook register_module register_parameter
register_state_dict_post_hook register_state_dict_pre_hook requires_grad_ set_extra_state set_submodule share_memory
state_dict to to_empty train training type xpu zero_grad
"""
RESERVED = frozenset(_MODULE.split())
DECODING = ("prepare", "step", "generate", "stream")  # the functions of a model that decodes
METHODS = (*DECODING, "decodes", "lay_out_for_decoding", "export_decoding")  # what its class in PyTorch has besides


def is_reserved(name: str) -> bool:
    """Whether no part of a weight's path may bear this name."""
    return name in RESERVED or keyword.iskeyword(name) or name.startswith("_")


def indexed(text: str, brackets: str) -> str:
    """An expression with brackets behind it: they bind more tightly than operators."""
    return f"{text}{brackets}" if re.fullmatch(r"\w+(\[[^][]*\]|\([^()]*\))*", text) else f"({text}){brackets}"


_MANY, _LONGEST = 200, 200
_SURE, _SHORT, _WORD = 0.8, 5, 4


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was most likely meant, or None."""
    if len(name) > _LONGEST:
        return None
    pool = sorted(set(known) - {name})
    for candidate in pool:
        if candidate.lower() == name.lower():
            return candidate
    if len(pool) > _MANY:  # compare what is alike at one end, and no more than that
        alike = [each for each in pool if each[:2] == name[:2] or each[-2:] == name[-2:]]
        pool = sorted(alike, key=lambda each: abs(len(each) - len(name)))[:_MANY]
    import difflib  # of right files no name is looked for

    found = difflib.get_close_matches(name, pool, n=1, cutoff=0.6)
    return found[0] if found else None


def _alike(one: str, other: str) -> bool:
    import difflib

    return difflib.SequenceMatcher(None, one, other).ratio() >= _SURE


def akin(name: str, op: str) -> bool:
    """Whether an op may be meant by this name: much like it, with more or fewer letters at one end, or another one.

    Its letters alone do not tell: `detach` is near `tanh`, and `qr` near `sqrt`, but each is a function of its own.
    """
    name, op = name.lower(), op.lower()
    short, long = sorted((name, op), key=len)
    whole = len(short) >= _WORD and (long.startswith(short) or long.endswith(short))
    other = len(name) == len(op) >= _WORD and sum(a != b for a, b in zip(name, op, strict=True)) == 1
    return whole or other or misspelt(name, op) or _alike(name, op)


def misspelt(name: str, known: str) -> bool:
    """Whether a name is surely another one with letters lost, doubled or turned round, not only much like it.

    Short names lie near one another, and one more letter makes another function (`selu` is not `silu`, nor `tan`
    `tanh`): of these, letters turned round or doubled alone. What has a known name in it (`rrelu`, `dropout2d`),
    another beginning (`decoder`, `encoder`) or another number (`norm3`, `norm2`) is something else.
    """
    name, known = name.lower(), known.lower()
    alike = sorted(name) == sorted(known) or _once(name) == _once(known)
    if alike or min(len(name), len(known)) < _SHORT:
        return alike
    more = known in name and len(name) > len(known) + 1
    others = more or name[0] != known[0] or re.sub(r"\D", "", name) != re.sub(r"\D", "", known)
    return not others and _alike(name, known)


def respelt(span: Span | None, near: str | None) -> list[tuple[Span, str]]:
    """The edit that replaces a name by a near one, if it is surely a misspelling."""
    return [(span, near)] if span is not None and near and misspelt(span.text, near) else []


def _once(name: str) -> str:
    """Without the letters that are doubled."""
    return re.sub(r"(.)\1+", r"\1", name)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean `x`?`, or the empty string."""
    near = nearest(name, known)
    return f"did you mean `{near}`?" if near else ""


def listed(names: Iterable[str]) -> str:
    """`a`, `b` and `c`."""
    return _listed(names, " and ")


def either(names: Iterable[str]) -> str:
    """`a`, `b` or `c`."""
    return _listed(names, " or ")


def _listed(names: Iterable[str], last: str) -> str:
    *others, end = [f"`{name}`" for name in names] or [""]
    return last.join(filter(None, (", ".join(others), end)))
