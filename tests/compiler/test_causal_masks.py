"""Random masks: what is proved causal is so by brute force, and most of what is so is proved."""

from __future__ import annotations

from itertools import islice

import pytest

import attnc

from .causal_masks import SETTINGS, Part, Setting, trials

LEAST = 0.9  # of the masks that leave out what comes after, so many are proved


def is_proved(setting: Setting, mask: Part) -> bool | None:
    """None: the checker has something else to say of the mask."""
    try:
        attnc.loads(setting.spec.replace("MASK", mask.text))
    except attnc.AttnError as error:
        codes = {found.code for found in error.diagnostics if found.code.startswith("E")}
        return False if codes == {"E0701"} else None
    return True


def rates(count: int) -> dict[str, tuple[int, int]]:
    """Of each setting: how many masks are proved, of how many that are causal. No other may be proved."""
    proved = dict.fromkeys((setting.name for setting in SETTINGS), 0)
    total = dict(proved)
    for seed, setting, mask, causal in islice(trials(), count):
        found = is_proved(setting, mask)
        assert causal or not found, f"seed {seed}: {mask.text} is proved, and reads what comes after"
        total[setting.name] += causal and found is not None
        proved[setting.name] += bool(found)
    return {name: (proved[name], total[name]) for name in proved}


@pytest.mark.parametrize("count", [200, pytest.param(2_500, marks=pytest.mark.slow)])
def test_what_is_proved_of_random_masks(count: int) -> None:
    found = rates(count)
    assert sum(proved for proved, _ in found.values()) >= LEAST * sum(total for _, total in found.values()), found


def test_a_proof_does_not_hang_on_what_was_checked_before() -> None:
    """Of another file with axes of the same numbers, but of a fixed size, which a quotient was remembered with."""
    inside = next(setting for setting in SETTINGS if setting.name == "inside")
    text = inside.spec.replace("MASK", "floor((before * |at| + other) / 2) < floor(int(before) / 2)")
    attnc.check(text.replace("width t\n", "width t = 12\n"))
    assert [found.code for found in attnc.check(text)] == ["E0701"]
