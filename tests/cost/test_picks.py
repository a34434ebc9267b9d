"""Multiply-adds of what is picked under masks: counted one by one, for each query what it may see and what it picks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import attnc

D, BEST = 3, 4
HEAD = f"""
width seq
width past like seq
width rank like seq
width best = {BEST}
depth d = {D}

block layer[k: width](y: [k, d]) -> [k, d] {{
    return tanh(linear.w[d -> d](y))
}}
"""
SCORES = "    s = dot[d](x, x[seq as past])\n"
PICK = SCORES + "    pick = topk[past -> best](s where {})\n"
READ = PICK + "    y = x[seq as past][past = pick]\n"
Sees = Callable[[int, int], bool]
MASKS: dict[str, Sees] = {
    "past <= seq": lambda q, k: k <= q,
    "past < seq": lambda q, k: k < q,
    "past + 2 <= seq": lambda q, k: k + 2 <= q,
    "past <= seq + 1": lambda q, k: k <= q + 1,
}
# Its body, and what it takes of a query that sees so many of n and picks so many.
FORMS: dict[str, tuple[str, Callable[[int, int, int], int]]] = {
    "attention over picks": (
        READ + "    return dot[best](softmax[best](dot[d](x, y)), y)",
        lambda n, seen, picked: D * seen + 2 * D * picked,
    ),
    "a map of what is picked": (
        READ + "    return mean[best](linear.v[d -> d](y))",
        lambda n, seen, picked: D * seen + D * D * picked,
    ),
    "maps of maps": (
        READ + "    v = layer[best](y)\n    return dot[best](v, linear.v[d -> d](v * y))",
        lambda n, seen, picked: D * seen + (2 * D * D + D) * picked,
    ),
    "all in order": (
        SCORES + "    pick = argsort[past -> rank](s where {})\n    y = x[seq as past][past = pick]\n"
        "    return dot[rank](softmax[rank](dot[d](x, y)), y)",
        lambda n, seen, picked: 3 * D * seen,
    ),
    "the best": (
        SCORES + "    one = argmax[past](s where {})\n    return x[seq as past][past = one]",
        lambda n, seen, picked: D * seen,
    ),
    "scores that are read twice": (
        PICK + "    y = x[seq as past][past = pick]\n"
        "    return dot[best](softmax[best](dot[d](x, y)), y) + dot[past](softmax[past](s where {}), x[seq as past])",
        lambda n, seen, picked: 2 * D * seen + 2 * D * picked,
    ),
    "scores that are read without a mask": (
        PICK + "    return dot[past](softmax[past](s), x[seq as past]) + sum[best](x[seq as past][past = pick])",
        lambda n, seen, picked: 2 * D * n,
    ),
    "a mask of picks": (  # of what may be picked all counts, as it lies in one band
        PICK + "    seen = any[best](past == pick)\n    return dot[past](softmax[past](s where seen), x[seq as past])",
        lambda n, seen, picked: 2 * D * seen,
    ),
    "picks or nothing": (
        READ + "    return dot[best](softmax[best](dot[d](x, select(valid(pick), y, 1))), y)",
        lambda n, seen, picked: D * seen + D * BEST + D * picked,
    ),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("form", FORMS)
def test_what_is_kept(form: str, mask: str) -> None:
    body, takes = FORMS[form]
    model = attnc.loads(f"{HEAD}model net(x: [seq, d]) -> [seq, d] {{\n{body.replace('{}', mask)}\n}}\n").model("net")
    sees = MASKS[mask]
    for n in (4, 5, 9) if "+ 1" in mask else (1, 2, 4, 5, 9):  # past the last item there are none to pick
        seen = [sum(sees(q, k) for k in range(n)) for q in range(n)]
        cost = model.cost(seq=n, batch=2)
        assert cost.kept.value == 2 * sum(takes(n, some, min(some, BEST)) for some in seen), n
        assert cost.kept.value <= cost.macs.value


NO_BANDS: dict[str, Sees] = {
    "seq - past <= 1 and past <= seq": lambda q, k: 0 <= q - k <= 1,
    "(seq - past) % 2 == 0 and past <= seq": lambda q, k: k <= q and (q - k) % 2 == 0,
    "past <= seq + 1": lambda q, k: k <= q + 1,
    "past <= seq or past < 1": lambda q, k: k <= q,
    "real": lambda q, k: True,
}


@pytest.mark.parametrize("mask", NO_BANDS)
def test_never_too_little(mask: str) -> None:
    """Of what is no band from the first item on, and of what data say."""
    body, takes = FORMS["attention over picks"]
    text = f"{HEAD}model net(x: [seq, d], real: bool[past]) -> [seq, d] {{\n{body.replace('{}', mask)}\n}}\n"
    for n in (1, 2, 4, 9):
        cost = attnc.loads(text).model("net").cost(seq=n)
        each = [sum(NO_BANDS[mask](q, k) for k in range(n)) for q in range(n)]
        least = sum(takes(n, some, min(some, BEST)) for some in each)
        assert least <= cost.kept.value <= cost.macs.value
    assert (cost.kept.value == cost.macs.value) == ("and" not in mask and mask != "past <= seq + 1")
