"""Longest paths: table 1 of Vaswani et al. 2017, other sizes, and against what the compiled models depend on."""

from __future__ import annotations

from pathlib import Path

import pytest

import attnc

ROOT = Path(__file__).parents[2]
LAYERS = attnc.load(ROOT / "examples" / "table1" / "layers.attn")

TABLE = [
    ("self_attention", "O(n^2 d)", "O(1)", "O(1)"),
    ("recurrent", "O(n d^2)", "O(n)", "O(n)"),
    ("convolutional", "O(n d^2 k)", "O(1)", "O(n / k)"),
    ("dilated", "O(n d^2 k)", "O(1)", "O(log_k(n))"),
    ("restricted", "O(r n d)", "O(1)", "O(n / r)"),
]


@pytest.mark.parametrize(("name", "complexity", "sequential", "path"), TABLE)
def test_table_1(name: str, complexity: str, sequential: str, path: str) -> None:
    from attnc.compiler.cost.growth import rows

    assert rows(LAYERS.model(name).cost()) == [(name, complexity, sequential, path)]


@pytest.mark.parametrize(
    ("name", "sizes", "hops"),
    [
        ("self_attention", dict(seq=5000), 1),
        ("recurrent", dict(seq=300), 299),
        ("restricted", dict(seq=1024), 16),
        ("restricted", dict(seq=1025), 16),
        ("restricted", dict(seq=1026), 17),
        ("restricted", dict(seq=1000, r=10), 100),
        ("restricted", dict(seq=20, r=30), 1),
        ("convolutional", dict(seq=1025, tap=5), 256),
        ("dilated", dict(seq=81, tap=3), 4),
        ("dilated", dict(seq=82, tap=3), 5),
        ("dilated", dict(seq=4096, tap=2), 12),
    ],
)
def test_hops(name: str, sizes: dict[str, int], hops: int) -> None:
    assert LAYERS.model(name).cost(sizes).paths["seq"].hops == hops


MODELS = {
    "two windows a layer": """
        repeat layers {
            x = attend.near[seq, past, model, model](x, x[seq as past], x[seq as past], mask = abs(seq - past) <= 2)
            x = x + attend.back[seq, past, model, model](
                x, x[seq as past], x[seq as past], mask = past <= seq and seq - past < 4)
        }
        return x""",
    "a window and a convolution": """
        x = x + linear.one[tap, model -> model](window[seq -> seq, tap](x, pad = 1))
        x = x + attend[seq, past, model, model](x, x[seq as past], x[seq as past], mask = abs(seq - past) <= 3)
        return x""",
    "shifts": """
        repeat i in layers {
            x = x + x[seq = max(seq - floor(2 ^ i), 0)]
        }
        return x""",
    "chunks and everything": """
        parts = split[seq -> chunk, place](x)
        near = sum[place](parts)
        return x + broadcast[seq](mean[chunk](near))""",
    "a running sum": """
        return cumsum[seq](x)""",
    "an average": """
        return x + broadcast[seq](mean[seq](x))""",
    "items of the other side": """
        return x + x[seq = min(seq + 5, |seq| - 1)]""",
    "the past without oneself": """
        near = past < seq and seq - past <= 4
        return attend[seq, past, model, model](x, x[seq as past], x[seq as past], mask = near)""",
    "what is far ahead": """
        return x + attend[seq, past, model, model](x, x[seq as past], x[seq as past], mask = past >= seq + 2)""",
    "a window to the past": """
        x = x + linear.one[tap, model -> model](window[seq -> seq, tap](x, pad = |tap| - 1))
        return linear.two[tap, model -> model](window[seq -> seq, tap](x, pad = |tap| - 1))""",
    "a power": """
        return x + x[seq = max(seq - 2 ^ layers, 0)]""",
    "shifts by more and more": """
        repeat i in layers {
            x = x + x[seq = max(seq - i - 1, 0)]
        }
        return x""",
    "the first shift is none": """
        repeat i in layers {
            x = x + x[seq = max(seq - i, 0)]
        }
        return x""",
    "two kinds of layers": """
        repeat i in layers {
            if i == 0 {
                x = x + x[seq = max(seq - 5, 0)]
            } else {
                x = x + x[seq = max(seq - 2, 0)]
            }
        }
        return x""",
    "layers that look at what does not change": """
        y = x
        repeat layers {
            x = tanh(x) + y[seq = max(seq - 4, 0)]
        }
        return x""",
    "a state": """
        return scan[seq] cell(x, h = 0)""",
    "a state of states": """
        repeat layers {
            x = scan[seq] cell(x, h = 0)
        }
        return x""",
    "means of chunks": """
        parts = split[seq -> chunk, place](x)
        return merge[chunk, place -> seq](parts + broadcast[place](mean[place](parts)))""",
    "running sums of chunks": """
        return merge[chunk, place -> seq](cumsum[place](split[seq -> chunk, place](x)))""",
    "states of chunks": """
        return merge[chunk, place -> seq](scan[place] cell(split[seq -> chunk, place](x), h = 0))""",
    "chunks within layers": """
        repeat layers {
            parts = split[seq -> chunk, place](x)
            x = merge[chunk, place -> seq](parts + broadcast[place](mean[place](parts)))
        }
        return x""",
    "means across chunks": """
        parts = split[seq -> chunk, place](x)
        return merge[chunk, place -> seq](parts + broadcast[chunk](mean[chunk](parts)))""",
    "windows, then bands in chunks": """
        x = attend[seq, past, model, model](x, x[seq as past], x[seq as past], mask = abs(seq - past) <= 2)
        parts = split[seq -> chunk, place](x)
        x = merge[chunk, place -> seq](sum[other](parts[place as other] where abs(place - other) <= 20))
        return x""",
    "windows, then what comes before in chunks": """
        x = attend[seq, past, model, model](x, x[seq as past], x[seq as past], mask = abs(seq - past) <= 2)
        parts = split[seq -> chunk, place](x)
        return merge[chunk, place -> seq](sum[other](parts[place as other] where other <= place))""",
    "means across chunks and within them": """
        parts = split[seq -> chunk, place](x)
        repeat layers {
            parts = parts + broadcast[chunk](mean[chunk](parts)) + broadcast[place](mean[place](parts))
        }
        return merge[chunk, place -> seq](parts)""",
    "windows over pieces of one item": """
        parts = split[seq -> each, single](x)
        repeat layers {
            parts = linear[tap, model -> model](window[each -> each, tap](parts, pad = 1))
        }
        return merge[each, single -> seq](parts)""",
    "running sums over pieces of one item": """
        parts = cumsum[each](cumsum[single](split[seq -> each, single](x)))
        return merge[each, single -> seq](parts)""",
    "running sums in chunks of pieces of one item": """
        parts = cumsum[single](split[seq -> chunk, single, place](x))
        return merge[chunk, single, place -> seq](cumsum[place](parts))""",
    "backwards": """
        return x[seq = |seq| - 1 - seq]""",
    "padded": """
        y = pad[seq -> longer](x, left = 2)
        return broadcast[seq](mean[longer](y))""",
    "joined": """
        y = concat[seq, past -> double](x, x[seq as past])
        return broadcast[seq](mean[double](y))""",
}
NEVER = ("means of chunks", "running sums of chunks", "states of chunks", "chunks within layers",
         "means across chunks", "windows, then bands in chunks", "running sums in chunks of pieces of one item",
         "windows, then what comes before in chunks")  # fmt: skip


def model(body: str) -> attnc.Model:
    text = f"""
use std.attention: attend
width seq
width past like seq
width third like seq
depth model = 3, tap = 3, place = 4, single = 1
depth other like place
width chunk = seq / 4, each = seq, longer = seq + 3, double = 2 * seq
const layers = 3, two = 2
block cell(x: [model], h: [model]) -> (h: [model]) {{
    return tanh(x + h)
}}
model net(x: [seq, model]) -> [seq, model] {{{body}
}}
"""
    return attnc.loads(text).model("net")


@pytest.mark.parametrize("name", MODELS)
def test_what_is_reached_is_what_the_module_depends_on(name: str) -> None:
    """At n items all pairs (in a direction in which anything goes) are connected just if the path fits the passes."""
    torch = pytest.importorskip("torch")
    net = model(MODELS[name]).torch(seed=0, dtype=torch.float64)
    seen = set()
    for n in (4, 8, 12, 16, 20, 24, 28, 32, 36):
        depends = torch.autograd.functional.jacobian(lambda x: net(x).sum(-1), torch.randn(n, 3, dtype=torch.float64))
        depends = depends.abs().sum(-1) > 0
        ends = [(depends[-1, 0], depends.tril(-1)), (depends[0, -1], depends.triu(1))]
        path = model(MODELS[name]).cost(seq=n).paths["seq"]
        connected = all(end or not side.any() for end, side in ends) and any(end for end, _ in ends)
        reached = path.hops is not None and path.passes <= path.there
        assert reached == connected or (reached and not path.sure), (n, path)
        seen |= {connected} if n > 4 or name not in NEVER else set()  # four are one chunk
    assert (True in seen) == (name not in NEVER)


def near(name: str, reach: int) -> str:
    return (
        f"attend.{name}[seq, past, model, model](x, x[seq as past], x[seq as past], mask = abs(seq - past) <= {reach})"
    )


# Number of items: hops, passes (or layers) of those that there are, formula of the hops.
STACKS: dict[str, tuple[str, dict[int, tuple[int | None, str, str]]]] = {
    "before, within and after a repeat": (
        f"x = {near('a', 2)}; repeat layers {{ x = {near('b', 3)} }}; x = {near('c', 4)}",
        {
            5: (1, "1 of 1", "1"),
            8: (2, "1 of 3", "ceil((seq - 5) / 3) + 1"),
            11: (3, "2 of 3", "ceil((seq - 5) / 3) + 1"),
            16: (5, "3 of 3", "ceil((seq - 7) / 3) + 2"),
            17: (4, "4 of 1", "ceil((seq - 1) / 4)"),
        },
    ),
    "two repeats": (
        f"repeat layers {{ x = {near('b', 3)} }}; repeat two {{ x = {near('c', 5)} }}",
        {
            6: (1, "1 of 1", "1"),
            7: (2, "2 of 3", "ceil((seq - 1) / 3)"),
            11: (2, "2 of 2", "ceil((seq - 1) / 5)"),
            12: (3, "3 of 5", "two + ceil(seq / 3 - 1 / 3 - 5 two / 3)"),
            20: (5, "5 of 5", "ceil(seq / 3 - 1 / 3 - 5 two / 3) + two"),
            21: (4, "4 of 2", "ceil((seq - 1) / 5)"),
        },
    ),
    "all after windows": (
        f"repeat layers {{ x = {near('b', 3)} }};"
        " x = attend[seq, past, model, model](x, x[seq as past], x[seq as past])",
        {40: (1, "1 of 1", "1")},
    ),
    "a mean of windows": (
        "repeat layers { x = linear.one[tap, model -> model](window[seq -> seq, tap](x, pad = 1)) };"
        " x = broadcast[seq](mean[seq](x))",
        {40: (1, "1 of 1", "1")},
    ),
    "a repeat in a repeat": (
        "repeat two { repeat layers { x = x[seq = max(seq - 2, 0)] } }",
        {
            5: (2, "2 of 3", "ceil((seq - 1) / 2)"),
            13: (6, "2 of 2", "layers ceil((seq - 1) / (2 layers))"),
            14: (9, "3 of 2", "layers ceil((seq - 1) / (2 layers))"),
        },
    ),
    "what comes in at each pass": (
        f"y = x; x = x * 0; repeat layers {{ x = {near('b', 3)} + y }}",
        {4: (1, "1 of 1", "1"), 7: (2, "2 of 3", "ceil((seq - 1) / 3)"), 10: (3, "3 of 3", "ceil((seq - 1) / 3)")},
    ),
    "what comes in at each pass alone": (
        f"y = x; x = broadcast[seq, model](1.5); repeat layers {{ x = {near('b', 3)} + y }}",
        {4: (1, "1 of 1", "1"), 7: (2, "2 of 2", "ceil((seq - 1) / 3)"), 8: (3, "3 of 2", "ceil((seq - 1) / 3)")},
    ),
    "what comes in by the number of the pass": (
        "y = x; repeat i in layers { x = tanh(x) + y[seq = max(seq - i - 1, 0)] }",
        {2: (1, "1 of 1", "1"), 4: (1, "1 of 1", "1"), 5: (2, "2 of 1", "ceil((seq - 1) / 3)")},
    ),
    "taps first": (
        "x = sum[tap](x[seq = min(int(tap) + int(seq), |seq| - 1)])",
        {3: (1, "1 of 1", "1"), 4: (2, "2 of 1", "ceil((seq - 1) / (tap - 1))")},
    ),
    "taps last, backwards": (
        "x = sum[tap](x[seq = max(int(seq) - int(tap), 0)])",
        {3: (1, "1 of 1", "1"), 4: (2, "2 of 1", "ceil((seq - 1) / (tap - 1))")},
    ),
    "taps of taps": (
        "x = sum[tap](sum[place](x[seq = clamp(int(seq) + int(tap) - 2 * int(place) + 1, 0, |seq| - 1)]))",
        {4: (1, "1 of 1", "1"), 8: (3, "3 of 1", "ceil((seq - 1) / tap)")},
    ),
    "the past, then both sides": (
        "repeat layers { x = attend.b[seq, past, model, model](x, x[seq as past], x[seq as past],"
        " mask = past <= seq and seq - past <= 3) };"
        " x = linear.one[tap, model -> model](window[seq -> seq, tap](x, pad = 1))",
        {3: (2, "2 of 1", "ceil((seq - 1) / (tap - 2))"), 8: (7, "7 of 1", "ceil((seq - 1) / (tap - 2))")},
    ),
    "a state, then a window": (
        f"x = scan[seq] cell(x, h = 0); x = {near('b', 3)}",
        {8: (3, "3 of 1", "ceil((seq - 1) / 3)")},
    ),
    "windows and running sums in layers": (
        f"repeat layers {{ x = {near('b', 3)}; x = cumsum[seq](x) }}",
        {8: (6, "3 of 3", "2 ceil((seq - 1) / 3)"), 11: (8, "4 of 1", "2 ceil((seq - 1) / 3)")},
    ),
    "shifts by more and more, then by nine": (
        "repeat i in layers { x = x + x[seq = max(seq - floor(2 ^ i), 0)] }; x = x + x[seq = max(seq - 9, 0)]",
        {
            10: (1, "1 of 1", "1"),
            11: (2, "1 of 3", ""),
            17: (4, "3 of 3", ""),
            18: (2, "2 of 1", "ceil((seq - 1) / 9)"),
        },
    ),
    "what comes in through a repeat, further at each pass": (
        "y = x; repeat i in layers { z = y; repeat two { z = z + z[seq = max(seq - i - 1, 0)] };"
        " x = tanh(x) + z[seq = max(seq - 1, 0)] }",
        {4: (2, "1 of 2", "ceil((seq - 2) / 3) + 1"), 8: (3, "2 of 2", "ceil((seq - 2) / 3) + 1")},
    ),
    "what others are shown beside a band": (
        "x = sum[third](sum[past](x[seq as past] where third <= seq and abs(seq - past) <= 2))",
        {3: (1, "1 of 1", "1"), 8: (4, "4 of 1", "ceil((seq - 1) / 2)")},
    ),
    "all, weighed by what a band gave": (
        f"z = broadcast[seq](x[seq as past]); x = {near('a', 2)}; x = sum[past](broadcast[past](x) * z)",
        {8: (1, "1 of 1", "1")},
    ),
    "all, by products with what a band gave": (
        f"z = x[seq as past]; x = {near('a', 2)}; x = dot[past](broadcast[past](x), z)",
        {8: (1, "1 of 1", "1")},
    ),
    "all, and some of it by strides": (
        "x = attend.a[seq, past, model, model](x, x[seq as past], x[seq as past]) + attend.b[seq, past, model, model]"
        "(x, x[seq as past], x[seq as past], mask = (seq - past) % 3 == 0)",
        {9: (1, "1 of 1", "1")},
    ),
    "means across chunks and within them": (
        "y = split[seq -> chunk, place](x);"
        " repeat layers { y = y + broadcast[chunk](mean[chunk](y)) + broadcast[place](mean[place](y)) };"
        " x = merge[chunk, place -> seq](y)",
        {16: (2, "2 of 3", "ceil((seq - 1) / (place (seq - 4) / 4))")},
    ),
    "back, and then a window": (
        f"repeat layers {{ x = x[seq = max(seq - 1, 0)] }}; x = {near('b', 5)}",
        {
            3: (1, "1 of 1", "1"),
            8: (16, "4 of 1", "layers ceil((seq - 1) / (-layers + 5)) + ceil((seq - 1) / (-layers + 5))"),
        },
    ),
    "the repeat that goes further in a hop": (
        "repeat layers { x = x[seq = max(seq - 3, 0)] };"
        " repeat two { x = x[seq = max(seq - 5, 0)]; x = x[seq = max(seq - 5, 0)] }",
        {12: (4, "2 of 2", "2 ceil((seq - 1) / 10)"), 24: (5, "3 of 5", "2 two + ceil(seq / 3 - 1 / 3 - 10 two / 3)")},
    ),
    "shifts by less and less": (
        "repeat i in layers { x = x + x[seq = max(seq - 2 + i, 0)] }",
        {3: (1, "1 of 1", "1"), 4: (2, "2 of 3", ""), 5: (None, "1 of 1", "")},
    ),
    "shifts by an index that is computed": (
        "x = x + x[seq = index[seq](max(int(seq) - 3, 0))]",
        {4: (1, "1 of 1", "1"), 8: (3, "3 of 1", "ceil((seq - 1) / 3)")},
    ),
    "a window, and a depth that is summed with it": (
        "repeat layers { x = broadcast[model](sum[model, past](x[seq as past] where abs(seq - past) <= 2)) }",
        {3: (1, "1 of 1", "1"), 7: (3, "3 of 3", "ceil((seq - 1) / 2)")},
    ),
    "copies by their index": (
        "x = attend[seq, past, model, model](x, x[seq = past], x[seq = past], mask = abs(seq - past) <= 2)",
        {8: (4, "4 of 1", "ceil((seq - 1) / 2)")},
    ),
    "shifts of all lengths": (  # without the routes that others cover these are 1,024
        "; ".join(f"x = x + x[seq = max(seq - {2**power}, 0)]" for power in range(10)),
        {1024: (10, "1 of 1", "10"), 1025: (2, "2 of 1", "ceil((seq - 1) / 512)")},
    ),
}


@pytest.mark.parametrize("name", STACKS)
def test_fewest_hops(name: str) -> None:
    body, expected = STACKS[name]
    found = {}
    for n in expected:
        cost = model(f"\n{body}\nreturn x".replace("; ", "\n").replace(";", "\n")).cost(seq=n)
        path = cost.paths["seq"]
        passes = f"{path.passes} of {path.there}"
        assert path.sure
        found[n] = (path.hops, passes, "" if path.formula is None else str(cost.figure(path.formula)))
    assert found == expected


@pytest.mark.parametrize("name", STACKS)
def test_of_too_many_routes_a_bound_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnc.compiler.cost.paths.reach.MANY", 3)
    body, expected = STACKS[name]
    for n, (hops, _, _) in expected.items():
        path = model(f"\n{body}\nreturn x".replace("; ", "\n").replace(";", "\n")).cost(seq=n).paths["seq"]
        assert path.hops == hops if path.sure else path.hops is not None and (hops is None or path.hops <= hops)


@pytest.mark.parametrize("index", ["", " i in"])
@pytest.mark.parametrize(
    "layer", [near("a", 50), "x = merge[chunk, place -> seq](cumsum[place](split[seq -> chunk, place](x)))"]
)
def test_no_pass_reaches_nothing(index: str, layer: str) -> None:
    """It was as if there were one; with an index, the largest of no blocks was asked for."""
    layer = layer if layer.startswith("x = ") else f"x = {layer}"
    path = model(f"\nrepeat.r{index} 0 {{\n{layer}\n}}\nx = {near('b', 3)}\nreturn x").cost(seq=16).paths["seq"]
    assert (path.hops, path.passes) == (5, 5)


def test_repeats_in_repeats_have_not_too_many_routes() -> None:
    """Each level had as many times more of them as the one inside, and the bill did not end."""
    layer = f"x = kept + {near('a', 2)}; x = x + x[seq = max(seq - 3, 0)]; x = x + cumsum[seq](x)"
    for level in range(4):
        layer = f"repeat.r{level} two {{ {layer}; x = x + x[seq = max(seq - {level + 4}, 0)] }}"
    body = f"kept = x; {layer}; return x".replace("; ", "\n").replace("{ ", "{\n").replace(" }", "\n}")
    path = model(f"\n{body}").cost(seq=600).paths["seq"]
    assert path.hops is not None and not path.sure


@pytest.mark.parametrize(
    ("body", "n", "hops"),
    [
        ("x = merge[chunk, place -> seq](cumsum[chunk](split[seq -> chunk, place](x)))", 16, None),
        ("x = merge[chunk, place -> seq](broadcast[chunk](mean[chunk](split[seq -> chunk, place](x))))", 16, 2),
        ("x = x[seq = |seq| - 1 - seq]", 9, 1),
        (
            "y = concat[seq, past -> double](x, x[seq as past])\nx = y[double = index[double](int(seq) + |seq| - 2)]",
            9,
            4,
        ),
        ("x = x[seq = min(2 * int(seq), |seq| - 1)]", 9, None),
    ],
)
def test_bounds_alone(body: str, n: int, hops: int | None) -> None:
    """Every other item, from the end, across a seam: at least so many hops, or none at all."""
    path = model(f"\n{body}\nreturn x").cost(seq=n).paths["seq"]
    assert path.hops == hops and (hops is None or not path.sure)


def test_any_item_by_content() -> None:
    """Indices that are data may name any item."""
    picks = "\n return x[seq = argsort[past -> seq](mean[model](x)[seq as past])]"
    path = model(picks).cost(seq=9).paths["seq"]
    assert (path.hops, path.sure) == (1, True)


def test_by_way_of_a_mask() -> None:
    """What is summed is the same everywhere: only which items count depends on others."""
    counted = "\n return x * 0 + broadcast[seq](sum[past](broadcast[past](2.5) where mean[model](x)[seq as past] > 0))"
    path = model(counted).cost(seq=9).paths["seq"]
    assert (path.hops, path.sure) == (1, True)


def test_by_way_of_an_index() -> None:
    """A row is looked up: which one, hangs on all items. Each width is looked at in its own terms."""
    looked = "\n param E: [model, tap]\n row = E[model = argmax[model](sum[seq](x))]"
    path = model(looked + "\n return x * 0 + broadcast[seq, model](mean[tap](row))").cost(seq=9).paths["seq"]
    assert (path.hops, path.sure) == (1, True)
    two = attnc.loads(
        "width a, b\nwidth far = 2 * b\ndepth tap = 3\n"
        "model f(x: [a, far], y: [a, b]) -> [a, far] {\n"
        "    z = mean[tap](window[far -> far, tap](x, pad = 1)) + broadcast[far](mean[b](y))\n"
        "    return z + broadcast[a](mean[a](z))\n}\n"
    )
    paths = two.model("f").cost(a=5, b=3).paths
    assert {name: path.hops for name, path in paths.items()} == {"a": 1, "far": 5, "b": 1}


def test_never() -> None:
    """Items that do not meet have no path; a mask that is no band gives a bound."""
    assert model("\n return relu(x)").cost().paths["seq"].hops is None
    assert model("\n return broadcast[seq](x[seq = 0])").cost().paths["seq"].hops is None
    strided = (
        "\n return attend[seq, past, model, model](x, x[seq as past], x[seq as past], mask = (seq - past) % 3 == 0)"
    )
    assert not model(strided).cost().paths["seq"].sure


@pytest.mark.parametrize(
    "op",
    [
        "softmax[seq](x)",
        "log_softmax[seq](x)",
        "l2norm[seq](x)",
        "layernorm.a[seq](x)",
        "rmsnorm.a[seq](x)",
        "x - broadcast[seq](mean[seq](x))",
        "x * broadcast[seq](max[seq](x))",
        "x / (1 + broadcast[seq](sum[seq](abs(x))))",
        "x + broadcast[seq](logsumexp[seq](x))",
    ],
)
def test_what_acts_along_a_width_reaches_across_it(op: str) -> None:
    text = f"width seq = 50\ndepth model = 4\nmodel net(x: [seq, model]) -> [seq, model] {{ return {op} }}"
    assert attnc.loads(text).model("net").cost().paths["seq"].hops == 1
