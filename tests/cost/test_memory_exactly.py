"""Peak and saved bytes of small programs, to the byte what torch holds: each shows one rule of `compiler/cost`."""

from __future__ import annotations

from typing import Any

import pytest

import attnc

pytest.importorskip("torch")

from tests.cost.measured import compiled, inputs, peak, saved
from tests.cost.test_flops import widths

UNIT = 3 * 16 * 8 * 4  # bytes of an array [n, d]
HEAD = "width n\nwidth m like n\ndepth d = 8, e = 6, a = 4, b = 2, f = 16\nconst layers = 3\n"
CALLED = """
block squash(x: [n, d]) -> [n, d] {
    h = linear.a[d -> d](x)
    return tanh(h)
}
block reads_twice(x: [n, d]) -> [n, d] {
    return exp(x) * linear.a[d -> d](x)
}
block without_weights(x: [n, d]) -> [n, d] {
    return tanh(x)
}
block hands_on(x: [n, d], y: [n, d]) -> (same: [n, d], other: [n, d]) {
    h = linear.a[d -> d](x)
    return x, h * y
}
block cell(x: [d], h: [d]) -> (h: [d]) {
    z = sigmoid(linear.z[d -> d](x))
    return z * h
}
block sum_up(x: [d], h: [d]) -> (h: [d]) {
    return h + x
}
"""
PROGRAMS = {
    "a product": "return linear.w[d -> d](x)",
    "names live on": """
        p = linear.a[d -> d](x)
        q = relu(p)
        r = linear.b[d -> d](q)
        return r * p
    """,
    "a name bound again lets go": """
        h = linear.a[d -> d](x)
        h = tanh(h)
        h = linear.b[d -> d](h)
        h = sigmoid(h)
        return h
    """,
    "a name that is not read again lives on": """
        p = linear.a[d -> d](x)
        q = tanh(p)
        r = linear.b[d -> d](q)
        return r + exp(q)
    """,
    "inputs are not counted": "return linear.a[d -> d](x) * x",
    "inputs have no gradient": "return exp(x) + linear.a[d -> d](x)",
    "a product of weights saves its operand": "return linear.a[d -> d](exp(x))",
    "a weight of the spec": """
        param scale: [d] ~ ones
        return exp(x * scale) * scale
    """,
    "what nothing reads does not run": """
        u = linear.u[d -> d](x)
        y = tanh(linear.y[d -> d](x))
        return y
    """,
    "views share their array": """
        y = linear.a[d -> d](x)
        z = split[d -> a, b](y)
        return y + exp(merge[a, b -> d](z))
    """,
    "truth is a byte": """
        y = linear.a[d -> d](x)
        return select(y > 0, y * 2, y)
    """,
    "a softmax": """
        q = linear.q[d -> d](x)
        k = linear.k[d -> d](x)
        w = softmax[m](dot[d](q, k[n as m]))
        return dot[m](w, x[n as m])
    """,
    "a call": """
        y = squash.a(x)
        z = squash.b(y)
        return y * z
    """,
    "a call saves its argument": """
        y = linear.z[d -> d](x)
        return reads_twice(y)
    """,
    "a call of the input": """
        y = without_weights(x)
        return linear.z[d -> d](y)
    """,
    "a call saves what it gives": """
        y = without_weights(linear.z[d -> d](x))
        return y + x
    """,
    "a call hands on its argument": """
        u = linear.u[d -> d](x)
        same, other = hands_on(u, u)
        return same * other
    """,
    "a repeat": """
        repeat.layers 3 {
            x = x + squash(x)
        }
        return x
    """,
    "a repeat of one pass": """
        repeat.layers 1 {
            x = tanh(linear.a[d -> d](x))
        }
        return x
    """,
    "a repeat reads what stays": """
        k = linear.k[d -> d](x)
        repeat.layers 3 {
            x = tanh(linear.a[d -> d](x)) * k
        }
        return x
    """,
    "a repeat that becomes graded": """
        repeat.layers 3 {
            x = exp(x) + linear.a[d -> d](sin(x))
        }
        return x
    """,
    "a repeat in a repeat": """
        repeat.outer 2 {
            x = linear.a[d -> d](x)
            repeat.inner 3 {
                x = exp(linear.b[d -> d](x))
            }
        }
        return x
    """,
    "a repeat with an index": """
        repeat i in layers {
            x = tanh(linear.a[d -> d](x) * (i + 1))
        }
        return x
    """,
    "a repeat of several bodies": """
        repeat i in layers {
            if i == 0 {
                x = tanh(linear.a[d -> d](x))
            } else {
                x = exp(linear.b[d -> d](linear.c[d -> d](x)))
            }
        }
        return x
    """,
    "a repeat of what is made": """
        h = linear.h[d -> d](x)
        repeat.layers 3 {
            h = h + squash(h)
        }
        return h
    """,
    "a repeat with an index of what is made": """
        h = linear.h[d -> d](x)
        repeat i in layers {
            h = tanh(linear.a[d -> d](h) * (i + 1))
        }
        return h
    """,
    "a repeat of no pass": """
        h = linear.h[d -> d](x)
        repeat.r 0 {
            h = tanh(linear.a[d -> d](h))
        }
        return tanh(h)
    """,
    "a repeat of no pass of the input": """
        h = x
        repeat.r 0 {
            h = tanh(linear.a[d -> d](h))
        }
        return tanh(linear.z[d -> d](h))
    """,
    "two values go round": """
        h = linear.h[d -> d](x)
        g = linear.g[d -> d](x)
        repeat.r 3 {
            h = tanh(linear.a[d -> d](h) + g)
            g = g * h
        }
        return g + h
    """,
    "one of two is not read again": """
        h = linear.h[d -> d](x)
        g = linear.g[d -> d](x)
        repeat.r 2 {
            h = tanh(linear.a[d -> d](h) + g)
        }
        return h
    """,
    "a wide array within a pass": """
        h = linear.h[d -> d](x)
        repeat.r 3 {
            y = linear.up[d -> f](h)
            z = relu(y)
            h = linear.down[f -> d](z)
        }
        return h
    """,
    "a wide array before the passes": """
        w = linear.up[d -> f](x)
        v = relu(w)
        h = linear.down[f -> d](v)
        repeat.r 3 {
            h = exp(linear.a[d -> d](h))
        }
        return h
    """,
    "a name bound again and again": """
        h = linear.down[f -> d](relu(linear.up[d -> f](x)))
        h = linear.z[d -> d](h)
        h = exp(h)
        return h
    """,
    "even and odd passes": """
        h = linear.h[d -> d](x)
        repeat i in layers {
            if i % 2 == 0 {
                h = tanh(linear.a[d -> d](h))
            } else {
                y = linear.up[d -> f](h)
                h = linear.down[f -> d](relu(y))
            }
        }
        return h
    """,
    "calls in calls": """
        y = squash.a(squash.b(x))
        return squash.c(y) + y
    """,
    "a frozen weight has no gradient": """
        param s: [d] ~ ones frozen
        y = x * s
        return exp(y) * s
    """,
    "a frozen weight is kept for the gradients of others": """
        param s: [d] ~ ones frozen
        h = linear.h[d -> d](x)
        return exp(h * s)
    """,
    "truth that two choose by": """
        h = linear.h[d -> d](x)
        t = h > 0
        return select(t, h, x) + select(t, x, exp(h))
    """,
    "argument handed on alone": """
        u = linear.u[d -> d](x)
        same, other = hands_on(u, x)
        return exp(same)
    """,
    "an index that nothing reads": """
        h = linear.h[d -> d](x)
        i = argmax[d](h)
        return h * 2
    """,
    "ids are looked up": """
        i = argmax[d](x)
        z = embed.E[d -> a](i)
        return linear.z[a -> d](z)
    """,
    "a weight is looked up": """
        param T: [d, e] ~ normal(1)
        z = T[d = argmax[d](x)]
        return linear.z[e -> d](z)
    """,
    "no gradient at all": """
        y = exp(x)
        z = y * y
        return z + tanh(y)
    """,
    "products of products": """
        h = linear.h[d -> d](x)
        return dot[m](dot[d](h, x[n as m]), x[n as m])
    """,
    "an array that nothing reads": """
        y = linear.z[d -> d](x)
        u = exp(y)
        return y
    """,
    "no dropout is no copy": """
        q = linear.q[d -> d](x)
        w = softmax[m](dot[d](q, x[n as m]))
        w2 = dropout(w, 0)
        return dot[m](w2, x[n as m])
    """,
    "a gradient by way of what stays": """
        k = linear.k[d -> d](x)
        repeat.r 2 {
            x = exp(x) * k
        }
        return x
    """,
    "the first pass has no weights": """
        repeat i in layers {
            if i == 0 {
                x = exp(x)
            } else {
                x = tanh(linear.b[d -> d](x))
            }
        }
        return x
    """,
    "a call in a repeat": """
        y = linear.z[d -> d](x)
        repeat.r 2 {
            y = reads_twice(y)
        }
        return y
    """,
    "a pass hands on what it got": """
        u = linear.u[d -> d](x)
        v = exp(u)
        repeat.r 2 {
            u, v = hands_on(u, v)
        }
        return v
    """,
    "two passes without weights": """
        repeat.r 2 {
            x = exp(x)
        }
        return x
    """,
    "a repeat without weights": """
        u = linear.u[d -> d](x)
        repeat.r 3 {
            u = without_weights(u)
        }
        return u + x
    """,
}
SCANS = {
    "a gate": """
        u = linear.u[d -> d](x)
        h = scan[n] cell(u, h = 0)
        return linear.o[d -> d](h)
    """,
    "a sum": """
        h = scan[n] sum_up(linear.u[d -> d](x), h = 0)
        return exp(h)
    """,
}


# Of `h`, which has a gradient, and `x`, which has none.
OPS = {
    "[n, d]": """h + 1; h + x; x + h; h * x; x * h; h * h; h * 2; 2 * h; h / x; x / h; h / h; h / 2; h - x; h ^ 2; -h;
        h / 2.5; h / sqrt(|d|); h % 3; exp(h); log(h); sqrt(h); rsqrt(h); sin(h); cos(h); tanh(h); sigmoid(h); erf(h);
        relu(h); gelu(h); gelu_tanh(h); silu(h); abs(h); clamp(h, -1, 1); max(h, x); min(h, 0);
        select(x > 0, h, x); select(h > 0, h, x); softmax[n](h); softmax[d](h); log_softmax[d](h); cumsum[n](h);
        softplus(h); log1p(h); expm1(h); cummax[n](h); logcumsumexp[n](h); flip[n](h);
        stop_gradient(h); h * stop_gradient(h); dropout(h, 0);
        linear.z[d -> d](h, bias = false); h[n = max(n - 1, 0)]; merge[a, b -> d](split[d -> a, b](h))""",
    "[m, d]": "h[n as m]",
    "[d]": "h[n = 0]",
    "[n]": "sum[d](h); mean[d](h); max[d](h); max[d](h) * 2; min[d](h); logsumexp[d](h); dot[d](h, x); dot[d](h, h)",
    "[n, m]": "dot[d](h, h[n as m]); dot[d](x, h[n as m]); dot[d](h, x[n as m])",
    "d[n]": "argmax[d](h)",
    "bool[n]": "any[d](h > 0)",
    "[n, f]": "concat[d, d -> f](h, x)",
}
PIECES = {piece.strip(): gives for gives, pieces in OPS.items() for piece in pieces.split(";")}


def costs(inside: str, gives: str = "[n, d]") -> tuple[Any, Any, Any]:
    """What is said of the model, and the module with its inputs."""
    model = attnc.loads(f"{HEAD}{CALLED}model net(x: [n, d]) -> {gives} {{\n{inside}\n}}\n").model("net")
    cost = model.cost(dict.fromkeys(widths(model), 16), batch=3)
    return cost, compiled(model, "cpu"), inputs(model, dict(cost.sizes), (3,), "cpu")


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_byte(name: str) -> None:
    cost, net, given = costs(PROGRAMS[name])
    assert cost.peak.value / UNIT == peak(lambda: net(*given)) / UNIT
    assert cost.saved.value / UNIT == saved(net, given) / UNIT


def test_one_item_is_a_view() -> None:
    cost, net, given = costs("y = linear.a[d -> d](x)\nreturn y[n = 0]", "[d]")
    assert cost.peak.value == peak(lambda: net(*given)) == UNIT


@pytest.mark.parametrize("piece", PIECES)
def test_what_each_op_makes_and_saves(piece: str) -> None:
    cost, net, given = costs(f"h = linear.h[d -> d](x)\nreturn {piece}", PIECES[piece])
    assert cost.peak.value / UNIT == peak(lambda: net(*given)) / UNIT
    assert cost.saved.value / UNIT == saved(net, given) / UNIT


@pytest.mark.parametrize(("x", "mask"), [("h", "h > 0"), ("h", "x[n = 0] > 0"), ("h[n = 0]", "h > 0")])
@pytest.mark.parametrize("op", ["sum", "mean", "max", "min", "logsumexp", "argmax", "softmax", "log_softmax"])
def test_what_a_mask_takes(op: str, x: str, mask: str) -> None:
    """An array where what it leaves out is replaced. (The number that is put in takes torch 4 bytes.)"""
    gives = "[n, d]" if "soft" in op else "d[n]" if op == "argmax" else "[n]"
    cost, net, given = costs(f"h = linear.h[d -> d](x)\nkept = {mask}\nreturn {op}[d]({x} where kept)", gives)
    assert cost.peak.value == pytest.approx(peak(lambda: net(*given)), abs=4)
    if op != "argmax":
        assert cost.saved.value == saved(net, given)


@pytest.mark.parametrize("name", SCANS)
def test_what_a_scan_saves(name: str) -> None:
    """But for the state that it begins with. (What stacking takes for a moment depends on torch.)"""
    cost, net, given = costs(SCANS[name])
    assert cost.saved.value / UNIT == pytest.approx(saved(net, given) / UNIT, abs=1 / 16)


def test_capped_scores_are_stored() -> None:
    """No kernel that the bill speaks of caps them."""
    text = (
        "width q\nwidth k like q\ndepth d = 4\nmodel f(x: [q, d]) -> [q, d] {\n"
        "    s = dot[d](x, x[q as k])\n    return dot[k](softmax[k](SCORES), x[q as k])\n}\n"
    )
    plain, capped = (attnc.loads(text.replace("SCORES", s)).model("f").cost(q=64) for s in ("s", "9 * tanh(s / 9)"))
    assert plain.fused_peak.value < plain.peak.value
    assert capped.fused_peak.value == capped.peak.value
