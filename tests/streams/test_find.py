"""What streams, and what is in the way."""

from __future__ import annotations

import pytest

from attnc import loads
from attnc.compiler.graph.values import Scalar
from attnc.compiler.streams.along import written
from attnc.compiler.streams.find import find
from attnc.compiler.streams.region import StreamingRegion, Streams
from attnc.compiler.streams.rules import FoldKind

HEAD = """\
width q
width k like q
depth h = 4, d = 8, v = 6
const p = 0.1
model f(Q: [h, q, d], K: [h, k, d], V: [h, k, v], U: [h, k, v], b: [h, q, k], real: bool[k]) -> [h, q, v] {
    s = dot[d](Q, K) / sqrt(|d|)
"""


def found(body: str, head: str = HEAD) -> Streams:
    return find(loads(head + body + "\n}\n").model("f").graph)


def region(body: str) -> StreamingRegion:
    answer = found(body)
    assert len(answer.regions) == 1 and not answer.refusals, answer
    return answer.regions[0]


def names(values: object) -> list[str]:
    assert isinstance(values, tuple)
    return [value.name for value in values]


def test_softmax_attention() -> None:
    one = region("return dot[k](softmax[k](s + b where k <= q and real), V)")
    assert one.streamed.name == "k" and names(one.partitioned) == ["h", "q"] and names(one.queries) == ["q"]
    assert set(names(one.together)) == {"d", "v"}
    assert [fold.kind for fold in one.folds] == [FoldKind.SHARES, FoldKind.WEIGHTED]
    assert one.folds[1].of is one.folds[0].node and names(one.folds[1].axes) == ["h", "q", "v"]
    assert {item.value.name: (item.moves, item.dense) for item in one.inputs} == {
        "Q": (False, False), "K": (True, False), "V": (True, False), "b": (True, True), "real": (True, False),
    }  # fmt: skip
    assert one.seen is not None and (one.seen.q.name, one.seen.k.name) == ("q", "k")


def test_a_mask_of_the_keys_alone_is_read() -> None:
    """A number compared with positions of the keys: keys that a weight makes of what it leaves out stay outside."""
    head = HEAD.replace("real: bool[k]", "y: [k, v], n: int[]").replace("K: [h, k, d], ", "")
    answer = found(
        "K = linear[v -> h, d](select(int(k) < n, y, 1))\nt = dot[d](Q, K)\n"
        + "return dot[k](softmax[k](t where int(k) < n), V)",
        head.partition("    s = ")[0],
    )
    (one,) = answer.regions
    assert [item.value.type.axes[0].name for item in one.inputs if item.value.type.element is Scalar.BOOL] == ["k"]
    assert not answer.refusals


def test_what_folds() -> None:
    kinds = {
        "return dot[k](sigmoid(s), V)": [FoldKind.TOTAL],
        "return dot[k](l2norm[k](s), V)": [FoldKind.ROOT, FoldKind.WEIGHTED],
        "w = softmax[k](s)\n return dot[k](w, V) * dot[k](w, U)": [
            FoldKind.SHARES,
            FoldKind.WEIGHTED,
            FoldKind.WEIGHTED,
        ],
        "return dot[k](dropout(softmax[k](s), p), V)": [FoldKind.SHARES, FoldKind.WEIGHTED],
        "return dot[k](softmax[k](s), V) * logsumexp[k](s)": [FoldKind.SHARES, FoldKind.LOGSUM, FoldKind.WEIGHTED],
        "return dot[k](relu(s), V) + max[k](s) + mean[k](s)": [FoldKind.LARGEST, FoldKind.AVERAGE, FoldKind.TOTAL],
    }
    for body, expected in kinds.items():
        assert sorted(fold.kind.name for fold in region(body).folds) == sorted(kind.name for kind in expected), body


def test_what_is_in_the_way_is_named() -> None:
    ways = {
        "s2 = linear.mix[h -> h](s)\n return dot[k](softmax[k](s2), V)": "`linear.mix`",
        "w = softmax[k](s)\n return dot[k](w * sum[h](w), V)": "`sum[h]`",
        "w = softmax[k](s)\n return dot[k](exp(w), V)": "`exp`",
        "return dot[k](exp(s - broadcast[k](max[k](s))), V)": "`broadcast`",
        "return dot[k](softmax[k](cumsum[k](s)), V)": "`cumsum[k]`",
    }
    for body, op in ways.items():
        answer = found(body)
        assert not answer.regions and len(answer.refusals) == 1, (body, answer)
        node = answer.refusals[0].node
        assert node is not None and written(node) == op, (body, answer.refusals[0].why)


def test_weights_that_are_a_result() -> None:
    head = HEAD.replace("-> [h, q, v]", "-> (O: [h, q, v], w: [h, q, k])")
    (one,) = found("w = softmax[k](s)\n return dot[k](w, V), w", head).regions
    assert names(one.stored) == ["w"] and len(one.results) == 1
    for body, why in {
        "w = softmax[k](s)\n return U[k as q], w": "weighs nothing here",
        "w = 2 * softmax[k](s)\n return dot[k](w, V), w": "no softmax or norm",
    }.items():
        answer = found(body, head)
        assert not answer.regions and why in answer.refusals[0].why


def test_nothing_large_is_no_region() -> None:
    assert found("return dot[d](Q, dot[k](K, V))", HEAD) == Streams((), ())


@pytest.mark.parametrize(
    ("scores", "why"),
    [("linear.mix[h -> h](s)", "mixes h of every pair with weights"), ("cumsum[k](s)", "`cumsum`")],
)
def test_a_model_of_which_nothing_becomes_a_kernel_is_refused(scores: str, why: str) -> None:
    """With what is in the way: else who asked for kernels would have PyTorch without a word."""
    body = f"return dot[k](softmax[k]({scores}), V)"
    with pytest.raises(ValueError, match="compile it for PyTorch alone") as refused:
        loads(f"{HEAD}{body}\n}}\n").model("f").files("triton", "f")
    assert why in str(refused.value)
