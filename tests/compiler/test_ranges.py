"""Where an index may point: outside for certain is an error; what may be inside is not."""

from __future__ import annotations

import pytest

import attnc

HEAD = """
width t, u
width past like t
depth d = 4, three = 3, five = 5
const two = 2
block f[n: const](x: [t, d], y: [u, d], i: d[], j: d[t], k: int[], m: bool[t], p: t[], r: []) -> int[] {
    made = %s
    return 0
}
"""

INSIDE = [
    "x[t = t - t]", "x[d = d - d]", "x[d = d - (d - 1)]", "x[t = t + t - t]", "x[d = (d + 4)[d = 0]]",
    "x[d = i]", "x[d = j]", "x[t = p]", "x[t = past]", "x[t = t]", "x[d = d]", "y[u = 0]", "x[d = 0]", "x[d = 3]",
    "x[d = 1 + two]", "x[d = |three|]", "x[d = int(three)]", "x[t = |t| - 1 - t]", "x[t = |t| - 1]",
    "x[d = int(three) + 1]", "x[t = max(t - 1, 0)]", "x[t = max(0, t - 1)]", "x[t = min(t + 1, |t| - 1)]",
    "x[t = min(|t| - 1, t + 1)]", "x[d = min(k % 3, 2)]", "x[d = k % 4]", "x[d = (d + 1) % 4]",
    "x[d = (d * 7) % |d|]", "x[d = k % 1]", "x[d = clamp(k, 0, 3)]", "x[d = clamp(k, 0, int(three))]",
    "x[d = select(m, 0, 3)]", "x[d = select(m, int(three), d)]", "x[d = select(m, 1, int(three) + 1)]",
    "x[d = max(d - 3, 0)]", "x[d = int(d)]", "x[d = index[d](int(three))]", "x[t = broadcast[u](t)]",
    "x[d = max(min(d + 5, 3), 0)]", "x[d = 3 - d]", "x[d = d - 0]", "x[d = -(0 - 3)]",
    "x[d = min(d + 9, int(three))]", "x[d = max(int(three) - 1, 0)]", "x[d = (d - int(three) + 9) % 4]",
    "x[t = t][d = d]", "index[d](3)", "d == index[d](k)",
]  # fmt: skip
PERHAPS = [
    "x[d = k]", "x[d = index[d](k)]", "x[t = max(t + 1, 0)]", "x[t = min(t - 1, |t| - 1)]", "x[t = max(k, 0)]",
    "x[d = min(k, 3)]", "x[d = max(d, 2) + d]", "x[d = k % 5]", "x[d = d[d = max(d - 1, 0)]]",
    "x[d = clamp(k, 0, 4)]", "x[d = clamp(k, -1, 3)]", "x[d = clamp(d, k, 3)]", "x[d = clamp(d, 0, k)]",
    "x[d = select(m, 4, 3)]", "x[d = select(m, -1, 3)]", "x[d = select(m, k, 3)]", "x[d = select(m, 3, k)]",
    "x[t = 0 + |u| - 1]", "x[t = int(u)]", "x[t = 3]", "x[t = int(u) % 3]", "x[d = floor(d / 2)]", "x[d = n]",
    "x[d = max(d, k)]", "x[d = min(d, k)]", "x[d = max(0, 4, d)]", "x[d = (d - int(three)) * 1]", "x[d = abs(d)]",
    "x[t = clamp(t - 1, 0, |t|)]", "x[d = k % n]", "x[d = max(i, j)]", "x[d = j + 0 * k]", "x[d = min(i, d)]",
    "x[d = max(i, 0)]", "x[d = d + k]", "x[d = k - d]", "x[d = max(d + 1, 3)]", "x[d = min(d - 1, 3)]",
    "x[d = select(m, d + 1, 0)]", "x[d = select(m, 0, d - 1)]",
]  # fmt: skip
OUTSIDE = [
    "x[d = int(d) + 4]", "x[d = index[d](int(d) + 4)]", "x[t = broadcast[u](t) + |t|]", "x[d = k % 3 + 9]",
    "x[d = clamp(k, 0, 2) - 3]", "x[d = select(m, 0, 1) + 4]", "x[d = max(d, 1) + 3]",
    "x[d = min(d, 1) - 2]", "x[t = t - past - |t|]", "x[t = (t + 1)[t as past]]", "x[d = -1 - k % 2]",
    "x[d = max(4, d)]", "x[d = 9 - k % 3]",
    "x[d = 4]", "x[d = -1]", "x[t = t - 1]", "x[t = t + 1]", "x[t = |t|]", "x[t = |t| - t]", "x[d = d + 1]",
    "x[d = 3 - d - 1]", "x[d = d - int(three) - 9]", "x[d = max(4, 5)]", "x[d = min(d, -1)]", "x[d = max(d, 4)]",
    "x[d = clamp(k, 4, 5)]", "x[d = int(five) + 1]", "x[d = d - int(three)]", "x[d = d + int(three)]",
    "x[d = int(five)]", "x[d = d - int(three) + 9]", "x[d = select(m, 4, 5)]", "x[d = select(m, -2, -1)]",
    "x[d = past - t - |t|]", "index[d](4)", "index[d](-1)", "d == index[d](5 - k % 2)",
]  # fmt: skip


def told(expression: str) -> list[str]:
    found = attnc.check(HEAD % expression)
    return [each.code for each in found if each.severity is attnc.Severity.ERROR]


@pytest.mark.parametrize("expression", [*INSIDE, *PERHAPS])
def test_perhaps_inside(expression: str) -> None:
    assert told(expression) == []


@pytest.mark.parametrize("expression", OUTSIDE)
def test_outside(expression: str) -> None:
    assert told(expression) == ["E0311"]
