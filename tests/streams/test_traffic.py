"""What a region moves: FlashAttention's published counts, masks that leave tiles out, tiles that fit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from attnc import loads
from attnc.compiler.graph.term import Predicate
from attnc.compiler.masks.bounds import key_bounds
from attnc.compiler.streams.device import DEVICES, DeviceError, device
from attnc.compiler.streams.find import find
from attnc.compiler.streams.prepare import prepared
from attnc.compiler.streams.report import streams
from attnc.compiler.streams.sight import visited
from attnc.compiler.streams.traffic import Traffic

ONE_HEAD = """\
width q, k
depth d = 64
model f(Q: [q, d], K: [k, d], V: [k, d]) -> [q, d] {
    return dot[k](softmax[k](dot[d](Q, K)), V)
}
"""


def traffic(text: str, tiles: tuple[int, int], dtype: str = "float16", **sizes: int) -> Traffic:
    cost = loads(text).model("f").cost(sizes, dtype=dtype)
    (one,) = streams(cost, DEVICES["h100"], tiles).regions
    assert one.traffic is not None
    return one.traffic


def test_flash_attention_s_published_counts() -> None:
    """Dao et al. 2022, theorem 2: attention by the book takes of the order of N d + N^2 accesses, FlashAttention, with
    M numbers on the chip and blocks of M / 4d, of N^2 d^2 / M. (Saha and Ye 2024 show that no order is less.)
    """
    n, d = 4096, 64
    for m in (16 * d * 4, 64 * d * 4, 128 * d * 4):  # numbers on the chip
        it = traffic(ONE_HEAD, (m // (4 * d), 64), q=n, k=n)
        rows = 2 * n * d + 4 * n // 2  # queries and results once; what is kept for gradients is float32
        assert it.asked.at(it.values) == 2 * (8 * n * n * d * d // m + rows)
        # algorithm 0 of the paper: scores written and read, weights written and read; queries, keys, values, results
        assert it.unfused.at(it.values) == 2 * (4 * n * n + 4 * n * d)
    assert str(it.tiles.symbols[0].name) == "ceil(q / B_q)"


def test_twice_the_chip_half_the_transfers() -> None:
    """Abbott and Zardini 2024, section on FlashAttention: what moves is read once for each tile of queries."""
    moved = [traffic(ONE_HEAD, (tile, 64), q=4096, k=4096) for tile in (32, 64, 128)]
    loops = [it.asked.at(it.values) - 2 * 2 * 4096 * 64 - 4 * 4096 for it in moved]
    assert loops[0] == 2 * loops[1] == 4 * loops[2]


def test_groups_read_their_keys_for_each_head() -> None:
    grouped = """\
width q, k
depth g = 2, s = 3, d = 16, v = 8
model f(Q: [g, s, q, d], K: [g, k, d], V: [g, k, v], real: bool[k]) -> [g, s, q, v] {
    return dot[k](softmax[k](dot[d](Q, K) where real), V)
}
"""
    it = traffic(grouped, (16, 16), q=40, k=50)
    by_name = {item.value.name: it.reads(item).at(it.values) for item in it.region.inputs}
    assert by_name == {"Q": 2 * 6 * 40 * 16, "K": 2 * 6 * 3 * 50 * 16, "V": 2 * 6 * 3 * 50 * 8, "real": 6 * 3 * 50}
    assert [it.written(fold).at(it.values) for fold in it.region.folds] == [4 * 6 * 40, 2 * 6 * 40 * 8]


@pytest.mark.parametrize(
    "mask",
    [
        "k <= q",
        "k < q",
        "q - k < 5 and k <= q",
        "abs(q - k) <= 7",
        "k < 9",
        "k >= 6 and k <= q + 3",
        "q == k",
        "q + k < 20",
    ],
)
def test_loops_leave_out_what_no_query_sees(mask: str) -> None:
    text = ONE_HEAD.replace("width q, k", "width q\nwidth k like q").replace("(Q, K))", f"(Q, K) where {mask})")
    (region,) = find(prepared(loads(text).model("f").graph)).regions
    assert isinstance(region.seen, Predicate)
    bounds = key_bounds(region.seen).sides
    assert bounds
    for n in (1, 15, 36):
        for tile, step in ((16, 16), (8, 4), (4, 16)):
            keys = pairs = 0
            for first in range(0, n, tile):
                rows = range(first, min(first + tile, n))
                seen = [k for k in range(n) for q in rows if eval(mask, {"abs": abs}, {"q": q, "k": k})]
                keys += len(seen) and (min(max(seen) // step * step + step, n) - min(seen) // step * step)
                pairs += len(seen)
            read, computed = visited(bounds, n, n, tile, step)
            assert read >= keys and computed >= pairs
            if "k >= 6" not in mask:  # where no query of a tile sees any, a step of it may be read
                assert read == keys, (mask, n, tile, step)


def test_devices_are_told_by_files(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    good = "bandwidth = 1e12\nothers = 2e13\nshared = 100000\nregisters = 262144\ncache = 4e6\n"
    good += "[products]\nfloat32 = 9e13\n"
    file.write_text(good)
    assert device(str(file)).name == "mine" and device(str(file)).products == {"float32": 9e13}
    for text, said in (
        (good.replace("shared = 100000\n", ""), "`shared` is missing: bytes of shared memory"),
        (good.replace("1e12", "-1"), "`bandwidth` is -1, but it must be a number above 0"),
        (good.replace("bandwidth", "bandwith"), "there is no `bandwith` of a device; did you mean `bandwidth`?"),
        (good.split("[")[0], "for each dtype"),
        ("a =", "cannot be read as TOML"),
    ):
        file.write_text(text)
        with pytest.raises(DeviceError, match=re.escape(said)):
            device(str(file))
    for wish, said in (
        ("h10", "did you mean `h100`?"),
        ("tpu", "there are `a100`, `h100` and `h200`"),
        ("no.toml", "No such"),
    ):
        with pytest.raises(DeviceError, match=re.escape(said)):
            device(wish)
    file.write_text(good)
    with pytest.raises(DeviceError, match="mine has no figure for products in bfloat16"):
        loads(ONE_HEAD).model("f").streams(device=str(file))


def test_tiles_fit() -> None:
    for dtype in ("bfloat16", "float32"):
        for one in loads(ONE_HEAD).model("f").streams(dtype=dtype, device="a100").regions:
            assert one.traffic is not None and one.traffic.fits(DEVICES["a100"]) and one.traffic.tile >= 64
    wide = ONE_HEAD.replace("d = 64", "d = 65536")
    (one,) = loads(wide).model("f").streams().regions
    assert one.traffic is None
