"""What random attentions found wrong in kernels, each as the smallest spec that shows it."""

from __future__ import annotations

import ast
import os

import pytest

import attnc

pytest.importorskip("torch")
os.environ.setdefault("TRITON_INTERPRET", "1")
pytest.importorskip("triton", reason="Triton is not installed")

from attnc.backends.text.carried import helpers
from attnc.backends.triton.names import LAUNCH, reserved

from .drawn import Drawn
from .judge import judge

pytestmark = pytest.mark.slow

HEAD = """width q
width k like q
depth h = 2, d = 3
model drawn(
    Q: [h, q, d], K: [h, q, d], V: [h, q, d]MORE
) -> [h, q, d] {
    scores = dot[d](Q, K[q as k])
    BODY
}
"""


def wrong(text: str, sizes: dict[str, int], dtype: str = "float32") -> list[str]:
    return judge(Drawn(0, text, sizes, (2,), dtype, ()), traffic=True).wrong


def body(text: str, more: str = "") -> str:
    return HEAD.replace("BODY", text).replace("MORE", more and f", {more}")


NUMBERS = {
    "of queries": "scores / log(q + 2)",
    "of keys": "scores / broadcast[q](offer[q as k])",
    "of a pair": "scores + log(q - k + 1)",
    "beyond the last": "scores / sqrt(|k| - int(k))",
    "in a table": "scores * table[b = index[b](min(abs(q - k), 2))] / sqrt(|k| - int(k))",
    "too large": "scores * 10 ^ (k - q)",
}


@pytest.mark.parametrize("scores", NUMBERS)
def test_pairs_that_do_not_count(scores: str) -> None:
    """Of a pair beyond the end, or masked, a gradient was 0 times infinity: NaN in those of all queries and keys."""
    text = body(f"return dot[k](softmax[k]({NUMBERS[scores]} where k <= q), V[q as k])", "offer: [h, q]")
    text = text.replace("d = 3\n", "d = 3, b = 3\n").replace(
        "    scores =", "    param table: [b, h] ~ normal(0.5)\n    scores ="
    )
    model = attnc.loads(text).model("drawn")
    assert model.files("triton", "net")
    assert not wrong(text, {"q": 17})


SCORES = {
    "negative power": "(scores * scores + 1) ^ -2",
    "odd power": "(1.2 * tanh(scores)) ^ 9",
    "decay of heads": "scores * (1 - 2 ^ (-3 - h)) ^ (q - k)",
    "learned decay": "scores * sigmoid(broadcast[q, k](n)) ^ abs(q - k)",
    "power of both": "scores + (1.5 + tanh(scores)) ^ (1 + n2)",
    "alternating": "scores * (0 - 1) ^ (q - k)",
    "large whole numbers": "scores * (1 + abs(q - k)) ^ 9 / 10 ^ 9",
    "remainder": "scores + (n2 - k / 3) % (1.1 + sigmoid(n2))",
    "largest of three": "max(scores, n2, q - k)",
    "varying bounds": "clamp(scores, n2 - 1, 1 + exp(n2))",
    "bound by scores": "clamp(n2 * (q - k), -1, scores)",
    "gelu_tanh": "gelu_tanh(scores)",
}


@pytest.mark.parametrize("scores", SCORES)
def test_scores(scores: str) -> None:
    """Pointwise ops that had no form, or wrong numbers or gradients."""
    code = SCORES[scores].replace("n2", "broadcast[q, k](n)")
    text = body(f"return dot[k](softmax[k]({code} where k <= q), V[q as k])", "n: [h]")
    assert attnc.loads(text).model("drawn").files("triton", "net")
    assert not wrong(text, {"q": 17})


SHARES = {
    "softmax": "softmax[k](scores where MASK)",
    "norm": "l2norm[k](select(MASK, scores, 0))",
    "sum": "select(MASK, sigmoid(scores), 0)",
}


@pytest.mark.parametrize("mask", ["|d| > 5", "|d| > 5 and k <= q", "false", "not (|d| < 5 or k <= q)"])
@pytest.mark.parametrize("fold", SHARES)
def test_masks_that_are_known_to_hide_all(fold: str, mask: str) -> None:
    """They counted as no mask, and all pairs were seen."""
    text = body(f"return dot[k]({SHARES[fold].replace('MASK', f'k >= 0 and ({mask})')}, V[q as k])")
    assert judge(Drawn(0, text, {"q": 5}, (2,), "float32", ())).reasons
    assert not wrong(text.replace(" > 5", " > 2").replace("false", "true").replace(" < 5", " < 2"), {"q": 17})


@pytest.mark.parametrize("op", ["sum", "mean", "max", "min", "logsumexp"])
def test_reductions_beside(op: str) -> None:
    """What has no kernel is refused by its name."""
    text = body(f"return dot[k](sigmoid(scores), V[q as k]) * {op}[k](tanh(scores))")
    (reason,) = judge(Drawn(0, text, {"q": 5}, (2,), "float32", ())).reasons
    assert f"along k: `{op}[k]` of scores, " in reason


def test_tables_in_half_precision() -> None:
    """Items of a table are computed with in float32, as all else is."""
    text = body("return dot[k](softmax[k](scores + a[b = index[b](min(abs(q - k), 2))] * 3 where k <= q), V[q as k])")
    text = text.replace("d = 3\n", "d = 3, b = 3\n").replace(
        "    scores =", "    param a: [b, h] ~ normal(0.5)\n    scores ="
    )
    assert not wrong(text, {"q": 5}, "bfloat16")


NAMES = {
    "what kernels call": "product tile_of load_tile launch fitted steps tiles block",
    "results": "read read1 stat delta score share_ d_read out",
    "what is made of others": "Q_at Q_tile d_Q Q Q_item BLOCK_Q LEARN_Q Q_Q_at",
    "steps": "a a_b b b_c c a_lead lead d",
    "of functions": "own drawn_op drawn_score drawn_back drawn_back_op drawn_keep drawn_forward drawn_seen",
    "of launches": "chunks parts kind ctx inputs output how given",
    "of Python": "lambda None del class import int range print",
}


@pytest.mark.parametrize("some", NAMES)
def test_names(some: str) -> None:
    """Whatever axes, inputs and values are called, no two things of a kernel have one name."""
    keys, depth, heads, Q, K, V, bias, value = NAMES[some].split()
    text = f"""width rows
width {keys} like rows
depth {heads} = 2, {depth} = 3
model drawn(
    {Q}: [{heads}, rows, {depth}], {K}: [rows, {depth}], {V}: [rows, {depth}], {bias}: [{keys}]
) -> [{heads}, rows, {depth}] {{
    sum_of = dot[{depth}]({Q}, {K}[rows as {keys}]) + broadcast[rows]({bias})
    {value} = tanh(sum_of)
    return dot[{keys}](softmax[{keys}]({value} where {keys} <= rows), {V}[rows as {keys}])
}}
"""
    assert not wrong(text, {"rows": 5})


def test_all_names_of_their_own_are_kept_free() -> None:
    """Whatever a file of kernels calls something that is not made of the spec's names cannot be one of these."""
    text = """
width zqa
width zqb like zqa
depth zqh = 2, zqd = 8, zqv = 4, zqt = 5
model zqm(zqQ: [zqh, zqa, zqd], zqK: [zqa, zqd], zqV: [zqh, zqa, zqv], zqn: [zqa], zqB: [zqa, zqb], zqr: bool[zqa])
    -> [zqh, zqa, zqv] {
    param zqtab: [zqt] ~ normal(0.5)
    zqs = dot[zqd](zqQ, zqK[zqa as zqb]) + zqB + broadcast[zqb](zqn) + zqtab[zqt = index[zqt](clamp(zqa - zqb, 0, 4))]
    zqs = zqs + broadcast[zqa](zqn[zqa as zqb])
    zqw = softmax[zqb](zqs where zqb <= zqa and zqr[zqa as zqb])
    zql = logsumexp[zqb](zqs where zqb <= zqa and zqr[zqa as zqb])
    zqx = dot[zqb](l2norm[zqb](zqs), zqV[zqa as zqb]) + dot[zqb](sigmoid(zqs), zqV[zqa as zqb])
    return zql * dot[zqb](zqw, zqV[zqa as zqb]) + zqx
}
"""
    written = attnc.loads(text).model("zqm").files("triton", "net")["net_kernels.py"]
    for helper in helpers(LAUNCH).values():
        written = written.replace(helper, "")
    made = [node for node in ast.walk(ast.parse(written)) if isinstance(node, ast.Name | ast.arg | ast.FunctionDef)]
    names = {getattr(node, "id", None) or getattr(node, "arg", None) or getattr(node, "name", None) for node in made}
    allowed = {"read", "d_read", "read_tile", "d_read_tile"}  # of results
    own = {str(name) for name in names if "zq" not in str(name)} - allowed
    assert {name for name in own if not name.removeprefix("d_").startswith("x")} <= reserved()
