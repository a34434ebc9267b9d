"""What stands near a mistake of meaning, and what is told of it: edits of the bases beside those of the corpus."""

from __future__ import annotations

import pytest

import attnc

from .corpus import base_text

Edits = list[tuple[str, str]]
FOR_PAD = [
    ("block encode(x: [source, model], real: bool[source])", "block encode(x: [source, model], pad: bool[source])"),
    ("real[source as origin]", "not pad[source as origin]"),
]


def told(base: str, edits: Edits) -> list[str]:
    text = base_text(base)
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return [each.code for each in attnc.check(text)]


@pytest.mark.parametrize(
    ("base", "edits"),
    [
        # The loss of a masked autoencoder is of what attention does not see.
        ("classifier", [("mean[word](x where real)", "mean[word](x where not real)")]),
        ("decoder", [("/ sqrt(|key|)", "* sqrt(|key|) / |key|")]),
        (
            "decoder",
            [("dot[key](Q, K[seq as past]) / sqrt(|key|)", "dot[key](Q / |key|, K[seq as past]) * sqrt(|key|)")],
        ),
        ("decoder", [("cross_entropy[vocab](logits, next)", "-log_softmax[vocab](logits)[vocab = next]")]),
        ("decoder", [("where past <= seq)", "where past <= seq and past < |past|)")]),
        (  # A wanted shuffle names another axis.
            "vision",
            [
                (
                    "linear.O[model -> model](merge[heads, key -> model](read))",
                    "linear.O[mixed -> model](merge[key, heads -> mixed](read))",
                ),
                ("inner = 64, label", "inner = 64, mixed = model, label"),
            ],
        ),
        (
            "translator",
            [*FOR_PAD, ("memory = encode(dropout(x, drop), real)", "memory = encode(dropout(x, drop), not real)")],
        ),
    ],
)
def test_of_what_is_meant_nothing_is_said(base: str, edits: Edits) -> None:
    assert told(base, edits) == []


def test_what_is_to_be_read_is_given_for_padding() -> None:
    assert told("translator", FOR_PAD) == ["W0525"]


def test_a_scale_behind_the_average_is_told_once() -> None:
    average = "dot[past](dropout(weights, drop), V[seq as past])"
    assert told("decoder", [("/ sqrt(|key|)", ""), (average, f"{average} / sqrt(|key|)")]) == ["W0504"]


POOLED = """
width word
width other like word
depth model = 8

block attend(x: [word, model], SEEN: bool[word]) -> [word, model] {
    scores = dot[model](x, x[word as other]) / sqrt(|model|)
    return dot[other](softmax[other](scores where MASK), x[word as other])
}

model read(x: [word, model], SEEN: bool[word], chosen: bool[word]) -> [model] {
    y = attend(x, SEEN)
    return END
}
"""


@pytest.mark.parametrize(
    ("name", "mask", "end", "help"),
    [
        ("real", "real[word as other]", "mean[word](y)", "`mean[word](y where real)`"),
        ("pad", "not pad[word as other]", "mean[word](y)", "`mean[word](y where not pad)`"),
        ("real", "real[word as other]", "l2norm[word](y)[word = 0]", "`select(real, x, 0)`"),
        ("real", "real[word as other]", "dot[word](y, x)", "`select(real, x, 0)`"),
        ("real", "real[word as other]", "y[word = |word| - 1]", ""),  # so SigLIP means it
        ("real", "real[word as other]", "sum[word](y where real) / |word|", "`max(sum[word](1 where real), 1)`"),
        ("real", "real[word as other]", "mean[word](y where chosen)", ""),
        ("real", "real[word as other]", "mean[word](y where word > 0)", ""),
        ("real", "real[word as other]", "dot[word](y, select(real, x, 0))", ""),
        ("real", "real[word as other]", "y[word = 0] / |word|", ""),
        ("real", "real[word as other] and other <= word", "y[word = |word| - 1]", ""),  # padded on the left, maybe
    ],
)
def test_padding_that_is_left_out_is_left_out_everywhere(name: str, mask: str, end: str, help: str) -> None:
    text = POOLED.replace("SEEN", name).replace("MASK", mask).replace("END", end)
    found = [each for each in attnc.check(text) if each.code == "W0522"]
    assert [help in each.help for each in found] == [True] * bool(help)


SWITCHED = """
const near = false
width seq
depth d = 4, e = 3
block attend(x: [seq, d], r: [e, d]) -> [seq, d] {
    if near {
        x = x + dot[e](dot[d](x, r), r)
    }
    return linear.L[d -> d](x)
}
block layer(x: [seq, d], r: [e, d]) -> [seq, d] {
    return attend.a(x, r)
}
model net(x: [seq, d]) -> [seq, d] {
    param R: [e, d] ~ normal(0.1)
    repeat.layers 2 {
        x = layer(x, R)
    }
    return x
}
"""


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("near = false", "near = false", []),
        ("near = false", "near = true", []),
        # The branch has a name of its own: no other number reads the weight.
        ("        x = x +", "        r = broadcast[e](x)[seq = 0]\n        x = x +", ["W0521"]),
        ("    if near {\n        x = x + dot[e](dot[d](x, r), r)\n    }\n", "", ["W0503", "A0529", "W0521"]),
    ],
)
def test_of_what_another_branch_would_read_nothing_is_said(old: str, new: str, codes: list[str]) -> None:
    text = SWITCHED.replace(old, new)
    assert [each.code for each in attnc.check(text)] == codes


TURNED = """
width seq
width past like seq
depth heads = 2, key = 8, two = 2, half = key / 2

block turn[n: width](x: [n, key]) -> [n, key] {
    parts = split[key -> PAIRS](x)
    swapped = merge[PAIRS -> key](select(two == 0, -parts[two = 1], parts[two = 0]))
    angle = PLACE / 10000 ^ (2 * RATE / |key|)
    return x * cos(angle) + swapped * sin(angle)
}

block scores(Q: [seq, heads, key], K: [seq, heads, key], V: [seq, heads, key]) -> [seq, heads, key] {
    Q = turn[seq](Q)
    K = KEYS
    weights = softmax[past](dot[key](Q, K[seq as past]) / sqrt(|key|) OFFSET where past <= seq)
    return linear.O[key -> key](READ)
}
"""
READ = "dot[past](weights, V[seq as past])"


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({}, ""),
        ({"RATE": "floor(key / 2)", "PAIRS": "half, two"}, ""),
        ({"RATE": "floor(key / 2)"}, "turn[seq](K)"),  # the two of a pair by unlike angles
        ({"PAIRS": "half, two"}, "turn[seq](K)"),
        ({"PLACE": "floor(n / 2)"}, ""),
        ({"KEYS": "K"}, ""),  # a caller may have turned it
        ({"KEYS": "linear.K[key -> key](K)"}, "turn[seq](Q)"),
        ({"KEYS": "linear.more[key -> key](turn[seq](K))"}, ""),  # a map may do anything to it
        ({"KEYS": "l2norm[key](turn[seq](K))"}, ""),  # not known to be such a sum
        ({"KEYS": "turn[seq](K) * log(2 + seq)"}, ""),  # longer, and turned no further
        ({"KEYS": "turn[seq](turn[seq](K))"}, "turn[seq](turn[seq](K))"),
        ({"READ": "dot[past](weights, turn[seq](V)[seq as past])"}, "turn[seq](V)"),
        ({"OFFSET": "- 0.1 * abs(seq - past)"}, ""),
        ({"OFFSET": "+ log(1 + seq - past)"}, "log(1 + seq - past)"),
        ({"OFFSET": "+ 0.1 * past"}, ""),
        ({"OFFSET": "- log(1 + seq)"}, "log(1 + seq)"),
        ({"OFFSET": "+ cos(2 * seq) * (seq - past)"}, ""),  # it rises for some queries alone
    ],
)
def test_scores_tell_distances(changed: dict[str, str], place: str) -> None:
    text = TURNED
    like = {"PAIRS": "two, half", "RATE": "(key % |half|)", "PLACE": "n", "KEYS": "turn[seq](K)", "READ": READ}
    for hole, filled in {**like, "OFFSET": "", **changed}.items():
        text = text.replace(hole, filled)
    said = [each for each in attnc.check(text) if not each.code.startswith("W0503")]
    assert [(each.code, each.span and each.span.text) for each in said] == [("W0526", place)] * bool(place)


LEFT_OUT = """
width word
width other like word
depth model = 8
model net(x: [word, model], NAME: bool[word]) -> [model] {
    s = dot[model](x, x[word as other]) / sqrt(|model|)
    y = dot[other](WEIGHTS, x[word as other])
    return mean[word](y)
}
"""
HIDDEN = "softmax[other](select(NAME[word as other], -1e9, s))"
BEHIND = "softmax[other](s + broadcast[word](select(NAME[word as other], -1e9, 0)))"


@pytest.mark.parametrize(
    ("weights", "name", "help"),
    [
        (HIDDEN, "pad", "mean[word](y where not pad)"),
        (BEHIND, "padding", "mean[word](y where not padding)"),
        ("softmax[other](select(real[word as other], s, -1e9))", "real", "mean[word](y where real)"),
        ("softmax[other](s where not pad[word as other])", "pad", "mean[word](y where not pad)"),
        (HIDDEN, "gone", "mean[word](y where not gone)"),
        ("softmax[other](select(not NAME[word as other], s, -1e9))", "gone", "mean[word](y where not gone)"),
        ("softmax[other](select(NAME[word as other], s, -1e9) + 0.1 * other)", "m", "mean[word](y where m)"),
        (BEHIND, "gone", "mean[word](y where not gone)"),
        ("softmax[other](s + select(NAME[word as other], 0.5, 0))", "m", ""),  # a feature: nothing is left out
        ("softmax[other](s + select(NAME[word as other], 0.5, 0))", "valid", ""),
        ("softmax[other](s where anchor[word as other])", "anchor", "mean[word](y where anchor)"),
        ("softmax[other](s where not gone[word as other])", "gone", "mean[word](y where not gone)"),
        ("softmax[other](select(real[word as other], s, -1e-9))", "real", "softmax[other](... where real)"),
        ("softmax[other](select(pad[word as other], 1e9, s))", "pad", "softmax[other](... where not pad)"),
        (BEHIND.replace("1e9", "1"), "pad", "softmax[other](... where not pad)"),
        (BEHIND.replace("s + ", "s * ").replace("-1e9, 0", "0, 1"), "pad", "softmax[other](... where not pad)"),
        ("select(NAME[word as other], 0, softmax[other](s))", "pad", "softmax[...](... where not pad)"),
    ],
)
def test_masks_are_named_as_they_leave_out(weights: str, name: str, help: str) -> None:
    """What a help says to write leaves out the padding, whichever of the two the input is true of."""
    found = attnc.check(LEFT_OUT.replace("WEIGHTS", weights).replace("NAME", name))
    told = [each.help or "" for each in found if each.code in ("W0522", "W0525")]
    assert any(help in each for each in told) if help else not told, told


PLANES = """
use std.attention: multihead, model, heads
width chain, residue
width wide like residue
width chain2 like chain
width residue2 like residue
width wide2 like wide
depth model = 16, heads = 2
model net(x: [chain, residue, model], y: [residue, wide, model], NAME: bool[residue]) -> [model] {
    x = x + multihead.row[residue, residue2](x, x[residue as residue2], mask = NAME[residue as residue2])
    y = y + multihead.high[residue, residue2](y, y[residue as residue2], mask = NAME[residue as residue2])
    return END
}
"""


@pytest.mark.parametrize("name", ["real", "src_mask", "m"])
@pytest.mark.parametrize(
    ("end", "help"),
    [
        ("mean[chain](x)[residue = 0]", ""),
        ("(x + multihead.column[chain, chain2](x, x[chain as chain2]))[chain = 0, residue = 0]", ""),
        ("(y + multihead.wide[wide, wide2](y, y[wide as wide2]))[residue = 0, wide = 0]", ""),  # copies of one axis
        ("mean[wide](y)[residue = 0]", ""),
        ("mean[residue, chain](x where NAME) + max[wide](y)[residue = 0]", ""),
        ("mean[residue](x)[chain = 0]", "where NAME"),
        ("mean[residue](y)[wide = 0]", "where NAME"),
        ("(x + multihead.more[residue, residue2](x, x[residue as residue2]))[chain = 0, residue = 0]", "NAME[residue"),
    ],
)
def test_padding_lies_along_the_axis_of_its_mask(name: str, end: str, help: str) -> None:
    found = attnc.check(PLANES.replace("END", end).replace("NAME", name))
    assert not [each for each in found if each.code.startswith("E")]
    assert [help.replace("NAME", name) in each.help for each in found if each.code == "W0522"] == [True] * bool(help)


CHOOSING = """
width patch
width other like patch
depth d = 16
model net(x: [patch, d], NAME: bool[patch]) -> [d] {
    param token: [d] ~ normal(0.02)
    w = softmax[other](dot[d](x, x[patch as other]) / sqrt(|d|) where NAME[patch as other])
    x = x + dot[other](w, x[patch as other])
    END
}
"""


@pytest.mark.parametrize("name", ["m", "visible", "keep", "present", "real"])
@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("return mean[patch](x)", True),
        ("return mean[patch](layernorm.n[d](x + linear.f[d -> d](x)))", True),
        ("return mean[patch](x where NAME)", False),
        ("return mean[patch](x where not NAME)", False),  # the loss of what attention does not see
        ("y = select(NAME, x, token)\n    return mean[patch](y)", False),  # as in masked autoencoders
        ("return mean[patch](x) + mean[patch](x where not NAME)", False),
        ("y = select(not NAME, token, x)\n    return mean[patch](y)", False),
        ("y = select(NAME, x, linear.hole[d -> d](x))\n    return mean[patch](y)", False),
        ("y = select(NAME, x, 0)\n    return mean[patch](x + linear.f[d -> d](y))", True),  # zeros hide, too
        (
            "near = softmax[other](dot[d](x, x[patch as other]) / 4 where abs(patch - other) < 3)\n"
            "    return mean[patch](x + dot[other](near, x[patch as other]))",
            False,  # as in Longformer, where some items are read from everywhere
        ),
    ],
)
def test_a_mask_that_chooses_among_items_is_none_of_padding(name: str, end: str, told: bool) -> None:
    codes = [each.code for each in attnc.check(CHOOSING.replace("END", end).replace("NAME", name))]
    assert [code for code in codes if code[0] == "E" or code == "W0522"] == ["W0522"] * told


WRAPPED = """
use std.attention: multihead, model, heads
width seq, source
width past like seq
depth model = 16, heads = 2
block wrap[q: width, k: width like q, far: width](x: [q, model], y: [far, model], mask: MASK) -> [q, model] {
    x = x + multihead.self[q, k](x, x[q as k]USED)
    return x + multihead.cross[q, far](x, y)
}
model net(x: [seq, model], y: [source, model], real: bool[source]) -> [seq, model] {
    return wrap[seq, past, source](x, y, GIVEN)
}
"""


@pytest.mark.parametrize(
    ("mask", "used", "given", "told"),
    [
        ("bool[q, k] = true", "", "past <= seq", True),
        ("bool[k, q]", "", "past <= seq", True),
        ("bool[k]", "", "past > 2", True),
        ("bool[past, seq]", "", "past <= seq", True),
        ("bool[q, k] = true", ", mask = mask", "past <= seq", False),
        ("bool[q, k] = true", ", mask = k <= q and mask", "past <= seq", False),
    ],
)
def test_a_mask_that_is_handed_on_is_used(mask: str, used: str, given: str, told: bool) -> None:
    text = WRAPPED.replace("MASK", mask).replace("USED", used).replace("GIVEN", given)
    found = [each for each in attnc.check(text) if each.code in ("A0529", "E0405")]
    assert [each.code for each in found if "`mask`" in each.message] == ["A0529"] * told


LISTED = """
width seq
width past like seq
depth d = 16
const windows = LIST
block look[near: const](x: [seq, d]) -> [seq, d] {
    w = softmax[past](dot[d](linear.Q[d -> d](x), x[seq as past]) / sqrt(|d|) where MASK)
    return linear.O[d -> d](dot[past](w, x[seq as past]))
}
model net(x: [seq, d]) -> [seq, d] {
    BODY
    return x
}
"""
BODIES = {
    "in": "repeat near in windows {\n        x = x + look[near = near](x)\n    }",
    "number": "repeat i in |windows| {\n        x = x + look[near = windows[i]](x)\n    }",
    "one": "x = x + look[near = windows[|windows| - 1]](x)",
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(
    ("list", "mask", "told"),
    [
        ("[0, 8, 8]", "past <= seq and near == 0 and seq - past < near", True),
        ("[4, 8, 0]", "past <= seq and seq - past < near", True),
        ("[4, 8, -1]", "past <= seq and seq - past <= near", True),
        ("[4, 8, 2]", "past <= seq and seq - past > near", True),
        ("[4, 8, 0]", "past <= seq and (near == 0 or seq - past < near)", False),
        ("[4, 8, 1]", "past <= seq and seq - past < near", False),
        ("[4, 8, 2]", "abs(seq - past) <= near", False),
    ],
)
def test_masks_by_numbers_of_a_list(body: str, list: str, mask: str, told: bool) -> None:
    text = LISTED.replace("LIST", list).replace("MASK", mask).replace("BODY", BODIES[body])
    codes = [each.code for each in attnc.check(text)]
    assert [code for code in codes if code[0] == "E" or code == "W0523"] == ["W0523"] * told


GATED = """
width seq
depth d = 8
const n = 3
block feed[scale: const = 2](x: [seq, d], g: []) -> [seq, d] {
    return broadcast[seq](scale * g) * linear.f[d -> d](x)
}
model net(x: [seq, d]) -> [seq, d] {
    BODY
    return x
}
"""


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("param g: [] ~ zeros frozen\n    x = x + tanh(g) * linear.f[d -> d](x)", True),
        ("param g: [] ~ zeros frozen\n    x = x + linear.f[d -> d](x) * -g / 2", True),
        ("param g: [] ~ constant(0) frozen\n    x = x + feed(x, g)", True),
        ("param g: [d] ~ zeros frozen\n    x = x + g * linear.f[d -> d](x)", True),
        ("repeat n {\n        param g: [] ~ zeros frozen\n        x = x + g * linear.f[d -> d](x)\n    }", True),
        ("param g: [] ~ zeros frozen\n    repeat n {\n        x = x + feed(x, g)\n    }", True),
        ("param g: [] ~ zeros\n    x = x + tanh(g) * linear.f[d -> d](x)", False),  # ReZero
        ("param g: [] ~ zeros frozen\n    x = x + sigmoid(g) * linear.f[d -> d](x)", False),
        ("param g: [] ~ constant(0.5) frozen\n    x = x + g * linear.f[d -> d](x)", False),
        ("param m: [d] ~ zeros frozen\n    x = linear.f[d -> d](x - m)", False),  # what a buffer is for
        ("param g: [] ~ zeros frozen\n    x = x + (1 + g) * linear.f[d -> d](x)", False),
        ("param W: [d] ~ zeros frozen\n    x = linear.f[d -> d](x) + W * x", False),  # weights of others, to be read
    ],
)
def test_a_factor_that_is_always_zero(body: str, told: bool) -> None:
    codes = [each.code for each in attnc.check(GATED.replace("BODY", body))]
    assert [code for code in codes if code[0] == "E" or code == "W0521"] == ["W0521"] * told


PASSES = """
width seq
depth d = 8
const n = 3
model net(x: [seq, d]) -> [seq, d] {
    BODY
}
"""
MAP = "linear.a[d -> d](layernorm.n[d](x))"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (f"h = x\n    repeat n {{\n        h = x + {MAP}\n    }}\n    return h", True),
        (f"h = x\n    repeat i in n {{\n        h = i * {MAP}\n    }}\n    return h", True),
        (
            f"h = x\n    repeat n {{\n        repeat.m n {{\n            h = x + {MAP}\n        }}\n"
            "        x = x + h\n    }\n    return x",
            True,
        ),
        (f"h = x\n    repeat n {{\n        y = x + {MAP}\n        h = linear.b[d -> d](y)\n    }}\n    return h", True),
        (f"h = x\n    s = x\n    repeat n {{\n        s = s + 1\n        h = s * {MAP}\n    }}\n    return h", True),
        (f"repeat n {{\n        x = x + {MAP}\n    }}\n    return x", False),
        (f"h = x\n    repeat n {{\n        h = h + {MAP}\n    }}\n    return h", False),
        (f"h = x\n    repeat n {{\n        x = x + {MAP}\n        h = x\n    }}\n    return h", False),
        (f"h = x\n    repeat n shared {{\n        h = x + {MAP}\n    }}\n    return h", False),
        (f"h = x\n    repeat n {{\n        h = x + {MAP} * (1 + int(floor(mean[d](h))))\n    }}\n    return h", False),
        (  # two streams: of the last pass one is left aside
            "y = x\n    repeat n {\n        z = x + y\n        x = x + linear.c[d -> d](z)\n"
            "        y = y + linear.e[d -> d](z)\n    }\n    return x",
            False,
        ),
    ],
)
def test_passes_that_bind_over_what_the_one_before_has_made(body: str, told: bool) -> None:
    codes = [each.code for each in attnc.check(PASSES.replace("BODY", body))]
    assert [code for code in codes if code[0] == "E" or code == "W0521"] == ["W0521"] * told


CHOSEN = """
width seq
depth d = 8
const deep = VALUE, twice = false
model net(x: [seq, d]) -> [seq, d] {
    y = linear.a[d -> d](x)
    BODY
    return y
}
"""
B, C = "y = linear.b[d -> d](x)", "y = linear.c[d -> d](x)"


@pytest.mark.parametrize("deep", ["true", "false"])
@pytest.mark.parametrize(
    ("body", "told"),
    [
        (f"if deep {{ {B} }}", False),
        (f"if deep {{ }} else {{ {B} }}", False),
        (f"if not deep {{ {B} }}", False),
        (f"if deep {{ {B} }} else {{ y = relu(y) }}", False),
        (f"if deep {{ if not twice {{ {B} }} }}", False),
        (f"if deep {{ {B} }} else {{ if twice {{ {C} }} }}", False),
        (f"z = x\n    if deep {{ z = y }}\n    {B}\n    y = y + z", False),
        (f"if deep {{ {B} }} else {{ {C} }}", True),
        (f"if deep {{ {B} }} else {{ if twice {{ {C} }} else {{ {C} }} }}", True),
        (f"z = x\n    if deep {{ z = relu(x) }}\n    {B}\n    y = y + z", True),
        (B, True),
    ],
)
def test_what_a_branch_binds_over_goes_on_past_it(body: str, told: bool, deep: str) -> None:
    """With a config that sets the number otherwise, the value is read."""
    body = body.replace("{ ", "{\n").replace(" }", "\n    }")
    codes = [each.code for each in attnc.check(CHOSEN.replace("BODY", body).replace("VALUE", deep))]
    assert [code for code in codes if code[0] == "E" or code == "W0521"] == ["W0521"] * told


GIVEN = """
use std.positions: rotary
width seq
width past like seq
depth model = 8, key = 4
block cross(x: [seq, model], k: [past, key], v: [past, key]) -> [seq, key] {
    q = rotary[seq, key](linear.q[model -> key](x))
    return dot[past](softmax[past](dot[key](q, k) / sqrt(|key|) where past <= seq), v)
}
model net(x: [seq, model]) -> [seq, key] {
    k = linear.K[model -> key](x)[seq as past]
    return cross(x, KEYS, linear.V[model -> key](x)[seq as past])
}
"""


@pytest.mark.parametrize(("keys", "codes"), [("rotary[past, key](k)", []), ("k", ["W0526"])])
def test_what_a_caller_has_turned(keys: str, codes: list[str]) -> None:
    """A block that is given keys does not know; with its caller it does."""
    assert [each.code for each in attnc.check(GIVEN.replace("KEYS", keys))] == codes


STRICT = """
width seq
width past like seq
depth model = 8, two = 2 * model
block attend(x: [seq, model]) -> [seq, model] {
    w = softmax[past](dot[model](x, x[seq as past]) / sqrt(|model|) where past < seq)
    return linear.O[model -> model](dot[past](w, x[seq as past]))
}
model net(x: [seq, model]) -> [seq, model] {
    y = attend(x)
    return END
}
"""


@pytest.mark.parametrize(
    ("end", "codes"),
    [
        ("linear.out[model -> model](y)", ["W0523"]),
        ("layernorm.n[model](x + dropout(y, 0.1))", ["W0523"]),
        ("x + sigmoid(linear.G[model -> model](x)) * y", ["W0523"]),
        ("linear.out[two -> model](concat[model, model -> two](y, x))", []),  # as in PixelSNAIL
        ("linear.out[model -> model](tanh(linear.L[model -> model](x) + y))", []),
        ("x + y + linear.L[model -> model](x)", []),
        ("x + linear.L[model -> model](x) * sigmoid(linear.G[model -> model](y))", []),
        ("linear.out[model -> model](select(seq == 0, 0, y))", ["W0523"]),
        ("(x + linear.out[model -> model](y))[seq = min(seq + 1, |seq| - 1)]", []),  # as in XLNet
    ],
)
def test_what_joins_an_item_that_sees_nothing(end: str, codes: list[str]) -> None:
    said = [each.code for each in attnc.check(STRICT.replace("END", end))]
    assert [code for code in said if code != "W0503"] == codes  # `two` is not needed by all


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("linear.out[model -> model](select(seq == 0, first, y))", False),
        ("linear.out[model -> model](y + select(seq == 0, first, 0))", False),
        ("linear.out[model -> model](select(seq == 0, 1, 0) * first + y)", False),
        ("linear.out[model -> model](y + first)", False),
        ("linear.out[model -> model](y - first)", False),
        ("linear.out[model -> model](y + select(seq == 0, 1, 0))", False),
        ("x + linear.out[model -> model](linear.up[model -> model](y) * first)", True),
        ("linear.out[model -> model](y * first)", True),
        ("linear.out[model -> model](y) + first", True),  # as a bias is
        ("linear.out[model -> model](y + 0)", True),
    ],
)
def test_a_learned_vector_in_the_place_of_an_item_that_sees_nothing(end: str, told: bool) -> None:
    read = "dot[past](w, x[seq as past])"
    text = STRICT.replace("y = attend(x)", "param first: [model] ~ normal(0.02)\n    y = attend(x)")
    text = text.replace(f"linear.O[model -> model]({read})", read).replace("END", end)
    said = [each.code for each in attnc.check(text)]
    assert [code for code in said if code[0] == "E" or code == "W0523"] == ["W0523"] * told


HALVES = """
width q, k
depth key = 16, two = 2, half = key / 2, other = 8
block scores(Q: [q, key], K: [k, key]) -> [q, k] {
    return dot[two, half](split[key -> two, half](Q), split[key -> two, half](K)) / sqrt(SIZE)
}
"""


@pytest.mark.parametrize(("size", "codes"), [("|key|", []), ("|two| * |half|", []), ("|half|", ["W0504"])])
def test_the_size_of_an_axis_that_was_cut(size: str, codes: list[str]) -> None:
    said = [each.code for each in attnc.check(HALVES.replace("SIZE", size))]
    assert [code for code in said if code != "W0503"] == codes


NEXT = "ids[seq = min(seq + 1, |seq| - 1)]"
OVER_NEXT = "ids[seq = min(seq + 2, |seq| - 1)]"


def fed(what: str, asked: str, counts: str) -> str:
    """The decoder's loss, of what it is fed and what it is asked for."""
    text = base_text("decoder")
    head = text[: text.index("    logits = decoder(ids)")]
    loss = f"cross_entropy[vocab](logits, {asked})"
    return f"{head}    logits = decoder({what})\n    return mean[seq]({loss} where {counts})\n}}\n"


@pytest.mark.parametrize(
    ("wrong", "mended"),
    [
        (("ids", "ids", "true"), ("ids", NEXT, "seq + 1 < |seq|")),
        ((NEXT, NEXT, "seq + 1 < |seq|"), (NEXT, OVER_NEXT, "seq + 2 < |seq|")),
        ((NEXT, NEXT, "seq + 1 < |seq|"), ("ids", NEXT, "seq + 1 < |seq|")),
        ((NEXT, OVER_NEXT, "true"), (NEXT, OVER_NEXT, "seq + 2 < |seq|")),
        (("ids", "ids[seq = max(seq - 1, 0)]", "true"), ("ids", NEXT, "seq + 1 < |seq|")),
    ],
)
def test_a_target_that_was_read_is_mended_as_the_help_says(
    wrong: tuple[str, str, str], mended: tuple[str, str, str]
) -> None:
    (told,) = attnc.check(fed(*wrong))
    new = [part for part, before in zip(mended, wrong, strict=True) if part != before]
    assert told.code == "E0704"
    assert all(f"`{part}`" in (told.help or "").replace("`where ", "`") for part in new), told.help
    assert not attnc.check(fed(*mended))


BEHIND_SOFTMAX = """
width word
width other like word
depth model = 8
block attend(x: [word, model], real: bool[word]) -> [word, model] {
    s = dot[model](x, x[word as other]) / sqrt(|model|)
    seen = broadcast[word](select(real[word as other], 1, 0))
    w = softmax[other](SCORES)
    return READ
}
"""
TIMES = "dot[other](w * seen, x[word as other])"


@pytest.mark.parametrize(
    ("scores", "read", "told"),
    [
        ("s", TIMES, "w * seen"),
        ("s where other <= word", TIMES.replace("w", "dropout(w, 0.1)", 1), "dropout(w, 0.1) * seen"),
        ("s", "dot[other](w, x[word as other] * broadcast[model](select(real[word as other], 1, 0)))", "x["),
        ("s where real[word as other]", TIMES, ""),
        ("s + log(seen)", TIMES, ""),  # left out before, too
        ("s", f"{TIMES} / sum[other](w * seen)", ""),
        ("s", f"{TIMES} / sum[other](w where real[word as other])", ""),
        ("s", TIMES.replace("w", "l2norm[other](w", 1).replace("seen", "seen)"), ""),
        ("s + log(seen)", "dot[other](w * sigmoid(s), x[word as other])", ""),  # a gate
        ("s + log(seen)", "dot[other](select(real, w, 0), x[word as other])", ""),  # of queries
    ],
)
def test_shares_that_are_set_to_zero(scores: str, read: str, told: str) -> None:
    text = BEHIND_SOFTMAX.replace("SCORES", scores).replace("READ", read)
    found = [each for each in attnc.check(text) if each.code == "W0525"]
    assert [each.span is not None and each.span.text.startswith(told) for each in found] == [True] * bool(told)
    drawn = attnc.check(text.replace("real", "keep"))  # it may be drawn, as for dropout
    assert not [each for each in drawn if each.code == "W0525"]


@pytest.mark.parametrize(
    ("logits", "help"),
    [
        ("exp(log_softmax[vocab](z))", "the logits, from before the softmax"),
        ("mean[two](softmax[vocab](broadcast[two](z)))", "`log(...)`"),
        ("0.5 * softmax[vocab](z) + 0.5 * softmax[vocab](z + 1)", "`log(...)`"),
        ("clamp(z, 0, 1)", "what the clamp is given"),
        ("sigmoid(z) * 2 - 1", "what the sigmoid is given"),
        ("1 - sigmoid(z)", "what the sigmoid is given"),
        ("z", ""),
        ("30 * tanh(z / 30)", ""),
        ("10 * sigmoid(z)", ""),
        ("clamp(z, -30, 30)", ""),
        ("log(0.5 * softmax[vocab](z) + 0.5 * softmax[vocab](z + 1))", ""),
    ],
)
def test_what_a_loss_takes_is_of_any_size(logits: str, help: str) -> None:
    head = "width seq\ndepth vocab = 9, two = 2\n"
    loss = f"return mean[seq](cross_entropy[vocab]({logits}, next))"
    text = f"{head}model loss(z: [seq, vocab], next: vocab[seq]) -> [] {{\n    {loss}\n}}\n"
    found = [each for each in attnc.check(text) if each.code != "W0503"]
    assert [(each.code, help in (each.help or "")) for each in found] == [("W0524", True)] * bool(help)


DENOISED = """
width seq
width past like seq
depth model = 8, vocab = 16

model loss(ids: vocab[seq], eps: [seq, model], all: [model], level: []) -> [] {
    x = FED
    scores = dot[model](linear.Q[model -> model](x), x[seq as past]) / sqrt(|model|)
    READ
    return mean[seq](cross_entropy[vocab](linear.logits[model -> vocab](x), ids[seq = min(seq + BY, |seq| - 1)])COUNTED)
}
"""
CAUSAL = "x = x + dot[past](softmax[past](scores where past <= seq), x[seq as past])"
EMBEDDED = "embed.E[vocab -> model](ids)"


@pytest.mark.parametrize(
    ("fed", "read", "by", "told"),
    [
        # What an input adds to each item may be noise.
        (f"{EMBEDDED} + eps", CAUSAL, 0, False),
        (f"eps + {EMBEDDED}", CAUSAL, 0, False),
        (f"{EMBEDDED} + 0.1 * eps", CAUSAL, 0, False),
        (f"eps * broadcast[seq, model](level) + {EMBEDDED} * 0.5", CAUSAL, 0, False),
        (f"{EMBEDDED} - eps / 2", CAUSAL, 0, False),
        (f"{EMBEDDED} + eps", CAUSAL, 1, False),
        # What is alike for all items hides none of them, nor does what is made of them.
        (EMBEDDED, CAUSAL, 0, True),
        (f"{EMBEDDED} + broadcast[seq](all)", CAUSAL, 0, True),
        (f"broadcast[seq](all) + {EMBEDDED}", CAUSAL, 0, True),
        (f"{EMBEDDED} + cos(seq / |model|)", CAUSAL, 0, True),
        (EMBEDDED, CAUSAL, 1, False),
        # An item ahead is read on purpose, and asked for.
        (EMBEDDED, "x = x + x[seq = min(seq + 1, |seq| - 1)]", 1, True),
        (EMBEDDED, "x = x[seq = min(seq + 1, |seq| - 1)] + x", 1, True),
        (EMBEDDED, "x = x + x[seq = min(seq + 2, |seq| - 1)]", 2, True),
        (EMBEDDED, "x = x + x[seq = max(seq - 1, 0)]", 1, False),
        (EMBEDDED, "x = x + x[seq = min(seq + 1, |seq| - 1)]", 2, False),
        (EMBEDDED, "x = tanh(x)", 1, False),
        (EMBEDDED, "x = tanh(x)", 0, False),
    ],
)
def test_targets_that_are_read(fed: str, read: str, by: int, told: bool) -> None:
    text = DENOISED.replace("FED", fed).replace("READ", read).replace("BY", str(by))
    text = text.replace("COUNTED", f" where seq + {by} < |seq|" if by else "")
    codes = [each.code for each in attnc.check(text) if each.code.startswith("E")]
    assert codes == ["E0704"] * told
