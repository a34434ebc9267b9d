"""E03xx: values, their axes, and what may be done with them."""

from __future__ import annotations

from .entry import Entry

ENTRIES = (
    Entry(
        "E0301",
        "the axis is not there",
        """
        What stands in the brackets of an op is what it acts on, so the operand must have it. In torch `dim=-1` always
        finds some axis; here the name must be one of the operand's.
        """,
        """
width q, k
depth d = 8

block scores(Q: [q, d], K: [k, d]) -> [q, k] {
    return dot[q](Q, K)
}
""",
        """
width q, k
depth d = 8

block scores(Q: [q, d], K: [k, d]) -> [q, k] {
    return dot[d](Q, K)
}
""",
    ),
    Entry(
        "E0302",
        "the result would have one axis twice",
        """
        A value has each axis at most once: two axes of one name could not be told apart by name. To relate an axis to
        itself, as self-attention does, declare a copy, `width past like seq`, and rename, `x[seq as past]`.
        """,
        """
width seq
depth model = 8, heads = 2

block project(x: [seq, heads, model]) -> [seq, heads, model] {
    return linear.V[model -> heads, model](x)
}
""",
        """
width seq
depth model = 8, heads = 2

block project(x: [seq, heads, model]) -> [seq, heads, model] {
    return linear.V[heads, model -> heads, model](x)
}
""",
    ),
    Entry(
        "E0303",
        "only copies of one axis can be renamed to each other",
        """
        `x[a as b]` says that the items along `a` are from now on called `b`. That makes sense if the two are copies of
        one axis, `width b like a`; between unrelated axes it would hide a mistake whenever their sizes agree.
        """,
        """
width source, target

block read(memory: [source]) -> [target] {
    return memory[source as target]
}
""",
        """
width source
width from like source

block read(memory: [source]) -> [from] {
    return memory[source as from]
}
""",
    ),
    Entry(
        "E0304",
        "the wrong kind of element",
        """
        Elements are real numbers, whole numbers, truth values, or indices into an axis, and none of them turns into
        another by itself. A truth value is not 0 or 1: `select(m, 1, 0)` says so. An index is not a quantity:
        token 7 is not more than token 6; look it up, `E[vocab = ids]`, or say `int(ids)`.
        """,
        """
width seq
depth model = 8

block hide(x: [seq, model], real: bool[seq]) -> [seq, model] {
    return x * real
}
""",
        """
width seq
depth model = 8

block hide(x: [seq, model], real: bool[seq]) -> [seq, model] {
    return select(real, x, 0)
}
""",
    ),
    Entry(
        "E0305",
        "a value would be spread over every item",
        """
        Two values that both come from the inputs are joined item by item, so neither may lack a width of the other. In
        torch, a pooled vector, or another stream of the same length, is added to every item without a word. If that is
        meant, write `broadcast[w](x)`. Weights, constants, positions and masks spread freely.

        Of two such values one may lack a depth of the other, but not each one of the other: `[seq, a]` plus `[seq, b]`
        would be an outer sum, each `a` with each `b`. If that is meant, write `broadcast[b](x) + y`. An outer product,
        `x * y`, needs no word.
        """,
        """
width seq
depth model = 8

block centre(x: [seq, model]) -> [seq, model] {
    return x - mean[seq](x)
}
""",
        """
width seq
depth model = 8

block centre(x: [seq, model]) -> [seq, model] {
    return x - broadcast[seq](mean[seq](x))
}
""",
    ),
    Entry(
        "E0306",
        "indices of two unrelated axes do not compare",
        """
        The third item of one sequence is neither before nor after the second of another. Only indices of copies of one
        axis compare, or are subtracted: declare the copy, `width past like seq`, and `past <= seq` is a mask that the
        compiler understands. `int(i)` forgets the axis where that is meant.
        """,
        """
width source, target

block mask(scores: [target, source]) -> [target, source] {
    return softmax[source](scores where source <= target)
}
""",
        """
width target
width past like target

block mask(scores: [target, past]) -> [target, past] {
    return softmax[past](scores where past <= target)
}
""",
    ),
    Entry(
        "E0307",
        "weights that sum to one over another axis than they are summed over",
        """
        `softmax[k]` gives weights that sum to one over `k`, and `dot[k](weights, V)` is then an average of
        `V`. Were the
        softmax over `q`, it would still run, and train, but nothing would be averaged. This mistake is silent in torch
        and einsum when the shapes agree. If it is meant, as in slot attention, write `raw(weights)`.
        """,
        """
width q, k
depth d = 8

block attend(scores: [q, k], V: [k, d]) -> [q, d] {
    weights = softmax[q](scores)
    return dot[k](weights, V)
}
""",
        """
width q, k
depth d = 8

block attend(scores: [q, k], V: [k, d]) -> [q, d] {
    weights = softmax[k](scores)
    return dot[k](weights, V)
}
""",
    ),
    Entry(
        "E0308",
        "`where` stands only in an op that leaves items out",
        """
        `softmax[k](s where m)` leaves out the items at which `m` is false, exactly; so do sums, means and the like. On
        its own, `s where m` would need some number in the place of what is left out. If you want that, choose it:
        `select(m, s, 0)`.
        """,
        """
width q, k

block weigh(s: [q, k], m: bool[q, k]) -> [q, k] {
    masked = s where m
    return softmax[k](masked)
}
""",
        """
width q, k

block weigh(s: [q, k], m: bool[q, k]) -> [q, k] {
    return softmax[k](s where m)
}
""",
    ),
    Entry(
        "E0309",
        "the mask does not have the axis of its op",
        """
        The mask of `softmax[k](s where m)` says which `k` to leave out, so it has the axis `k`. A mask of the queries
        alone would switch whole rows off, which changes nothing that is normalised.
        """,
        """
width q, k

block weigh(s: [q, k], real: bool[q]) -> [q, k] {
    return softmax[k](s where real)
}
""",
        """
width q, k

block weigh(s: [q, k], real: bool[k]) -> [q, k] {
    return softmax[k](s where real)
}
""",
    ),
    Entry(
        "E0310",
        "a learned map over a width of no fixed size",
        """
        The weights of `linear` have a fixed shape, but a width such as `seq` differs from input to input. Most of the
        time a depth was meant. To mix the items of a sequence of one fixed length, as MLP-Mixer and Linformer do, fix
        it: `width seq = 4096`.
        """,
        """
width seq
depth model = 8

block mix(x: [seq, model]) -> [seq, model] {
    return linear.mix[seq -> seq](x)
}
""",
        """
width seq = 64
depth model = 8

block mix(x: [seq, model]) -> [seq, model] {
    return linear.mix[seq -> seq](x)
}
""",
    ),
    Entry(
        "E0311",
        "an index out of range",
        """
        `x[a = i]` picks the item at `i` along `a`, counted from 0. This index falls outside whatever the inputs are.
        Nothing wraps around: -1 is not the last item, `|a| - 1` is. Clamp it: `x[t = max(t - 1, 0)]`.
        """,
        """
width t
depth model = 8

block shift(x: [t, model]) -> [t, model] {
    return x[t = t - 1]
}
""",
        """
width t
depth model = 8

block shift(x: [t, model]) -> [t, model] {
    return x[t = max(t - 1, 0)]
}
""",
    ),
    Entry(
        "E0312",
        "indices into another table",
        """
        `vocab[seq]` are indices into the axis `vocab`; they pick rows of tables over `vocab`, and of no other. In torch
        a tensor of ids goes into any embedding that is large enough, whichever vocabulary it came from.
        """,
        """
width seq
depth german = 100, english = 100, model = 8

model look(ids: german[seq]) -> [seq, model] {
    return embed.E[english -> model](ids)
}
""",
        """
width seq
depth german = 100, model = 8

model look(ids: german[seq]) -> [seq, model] {
    return embed.E[german -> model](ids)
}
""",
    ),
    Entry(
        "E0313",
        "the result is not of the type that is promised",
        """
        What a block returns has exactly the axes written behind `->`. An axis too many often means that something was
        not summed over: a head axis that was never merged, for instance.
        """,
        """
width seq
depth model = 8, heads = 2, key = 4

block project(x: [seq, model]) -> [seq, key] {
    return linear.Q[model -> heads, key](x)
}
""",
        """
width seq
depth model = 8, heads = 2, key = 4

block project(x: [seq, model]) -> [seq, heads, key] {
    return linear.Q[model -> heads, key](x)
}
""",
    ),
    Entry(
        "E0314",
        "a repeat changes the type of what it carries",
        """
        Each pass of a `repeat` takes what the last one gave, so a name that it binds anew keeps its type. A pass that
        widened its input could not be run twice.
        """,
        """
width seq
depth model = 8, inner = 16
const layers = 2

block stack(x: [seq, model]) -> [seq, model] {
    repeat layers {
        x = linear.up[model -> inner](x)
    }
    return x
}
""",
        """
width seq
depth model = 8, inner = 16
const layers = 2

block stack(x: [seq, model]) -> [seq, model] {
    repeat layers {
        x = linear.down[inner -> model](linear.up[model -> inner](x))
    }
    return x
}
""",
    ),
    Entry(
        "E0315",
        "the value is not of the type written for it",
        """
        `name: [axes] = ...` and `expect name: [axes]` are comments that are checked: they say what the reader should
        know, and must be true.
        """,
        """
width q, k
depth d = 8

block scores(Q: [q, d], K: [k, d]) -> [q, k] {
    s: [q] = dot[d](Q, K)
    return s
}
""",
        """
width q, k
depth d = 8

block scores(Q: [q, d], K: [k, d]) -> [q, k] {
    s: [q, k] = dot[d](Q, K)
    return s
}
""",
    ),
    Entry(
        "E0316",
        "sizes that cannot agree",
        """
        `split[a -> b, c]` needs |a| = |b| |c|, `merge[b, c -> a]` too, and `concat[a, b -> c]` needs |c| = |a| + |b|.
        Declare one size by way of the others, `depth c = a + b`, and they agree whatever the sizes are.
        """,
        """
width seq
depth model = 10, heads = 4, key = 2

block heads_of(x: [seq, model]) -> [seq, heads, key] {
    return split[model -> heads, key](x)
}
""",
        """
width seq
depth model = 8, heads = 4
depth key = model / heads

block heads_of(x: [seq, model]) -> [seq, heads, key] {
    return split[model -> heads, key](x)
}
""",
    ),
    Entry(
        "E0317",
        "split one way and merged the other",
        """
        `split[model -> heads, key]` makes `heads` the slow and `key` the fast part of `model`. Merged back the
        other way
        round, `merge[key, heads -> model]`, the features are shuffled; in torch a forgotten `transpose` does just that,
        and nothing complains. If a shuffle is meant, merge into an axis of another name.
        """,
        """
width seq
depth model = 8, heads = 4
depth key = model / heads

block there_and_back(x: [seq, model]) -> [seq, model] {
    y = split[model -> heads, key](x)
    return merge[key, heads -> model](relu(y))
}
""",
        """
width seq
depth model = 8, heads = 4
depth key = model / heads

block there_and_back(x: [seq, model]) -> [seq, model] {
    y = split[model -> heads, key](x)
    return merge[heads, key -> model](relu(y))
}
""",
    ),
    Entry(
        "E0318",
        "the brackets are not of the form that is needed",
        """
        Brackets say what an op acts on; no op has an axis by default. `softmax[k](s)` normalises over `k`;
        `linear[model -> inner](x)` eats the axes before the arrow and makes those behind it; relu and its like
        work item by item and take none. On a value, brackets rename, `x[a as b]`, or pick, `x[a = i]`.
        """,
        """
width q, k

block weigh(s: [q, k]) -> [q, k] {
    return softmax(s)
}
""",
        """
width q, k

block weigh(s: [q, k]) -> [q, k] {
    return softmax[k](s)
}
""",
    ),
    Entry(
        "E0319",
        "the op takes other arguments",
        """
        Each op has a fixed set of operands, and options that are given by name: `linear[a -> b](x, bias = false)`. Only
        what owns weights has a label. `docs/ops.md` lists them all.
        """,
        """
width seq
depth model = 8

block layer(x: [seq, model]) -> [seq, model] {
    return linear.map[model -> model](x, biass = false)
}
""",
        """
width seq
depth model = 8

block layer(x: [seq, model]) -> [seq, model] {
    return linear.map[model -> model](x, bias = false)
}
""",
    ),
    Entry(
        "E0320",
        "an option has a value that it cannot have",
        """
        Options are numbers or truth values known at build time, and each has its range: dropout leaves items out with a
        probability of at least 0 and less than 1. The same goes for how a weight is initialised, `~ normal(0.02)`.
        """,
        """
width seq
depth model = 8

block drop(x: [seq, model]) -> [seq, model] {
    return dropout(x, 10)
}
""",
        """
width seq
depth model = 8

block drop(x: [seq, model]) -> [seq, model] {
    return dropout(x, 0.1)
}
""",
    ),
    Entry(
        "E0321",
        "a param over a width of no known size",
        """
        A weight has a fixed shape, but a width differs from input to input. Bound the width, `width seq <= 1024`: the
        weight is then made for 1024 items, and of it as many are used as the input has. Or fix it.
        """,
        """
width seq
depth model = 8

model place(x: [seq, model]) -> [seq, model] {
    param P: [seq, model]
    return x + P
}
""",
        """
width seq <= 1024
depth model = 8

model place(x: [seq, model]) -> [seq, model] {
    param P: [seq, model]
    return x + P
}
""",
    ),
    Entry(
        "E0322",
        "an axis stands twice where each stands once",
        """
        A value has each axis at most once, and an op acts on each once. The scores of self-attention are no
        `[seq, seq]`: of which `seq` would the softmax be? Declare a copy, `width past like seq`, and write
        `[seq, past]`.
        """,
        """
width seq
depth d = 8

block weigh(Q: [seq, d], K: [seq, d]) -> [seq] {
    scores: [seq, seq] = dot[d](Q, K)
    return softmax[seq](scores)
}
""",
        """
width seq
width past like seq
depth d = 8

block weigh(Q: [seq, d], K: [past, d]) -> [seq, past] {
    scores: [seq, past] = dot[d](Q, K)
    return softmax[past](scores)
}
""",
    ),
    Entry(
        "E0323",
        "`if` is decided at build time",
        """
        `if` chooses which statements, and so which weights, a model has. It depends on consts, on sizes (but not on
        that of a width that only a run knows), or on the index of a `repeat i in layers`. To choose between two values
        as the model runs, use `select(condition, x, y)`.
        """,
        """
width seq
depth model = 8

block clip(x: [seq, model]) -> [seq, model] {
    if x > 0 {
        x = 2 * x
    }
    return x
}
""",
        """
width seq
depth model = 8

block clip(x: [seq, model]) -> [seq, model] {
    return select(x > 0, 2 * x, x)
}
""",
    ),
    Entry(
        "E0324",
        "a division by the index of an axis",
        """
        In an expression the name of an axis stands for its index: 0, 1, 2, ... (the size is `|d|`). Dividing by it, by
        a power or by a multiple of it, divides by 0 at the first place. In attention this is the likeliest slip of all:
        `/ sqrt(d)` or `* d ^ -0.5` for `/ sqrt(|d|)`.
        """,
        """
width q
width k like q
depth d = 8

block scores(Q: [q, d], K: [k, d]) -> [q, k] {
    return dot[d](Q, K) / sqrt(d)
}
""",
        """
width q
width k like q
depth d = 8

block scores(Q: [q, d], K: [k, d]) -> [q, k] {
    return dot[d](Q, K) / sqrt(|d|)
}
""",
    ),
    Entry(
        "E0325",
        "an op that reads all of an axis, picks of nothing included",
        """
        Where a mask lets through fewer items than `topk` or `argsort` picks, the rest are picks of nothing. Sums,
        means, softmax and most other ops leave out what is computed of these. The few that cannot along the picks' own
        axis, such as `layernorm` with its weights for each place, are errors: normalise each item over its depth, or
        write the op out with `mean` and its like.
        """,
        """
width seq, memory
depth model = 8, best = 4

block read(s: [seq, memory], x: [memory, model], allowed: bool[seq, memory]) -> [seq, model] {
    pick = topk[memory -> best](s where allowed)
    return sum[best](layernorm.n[best](x[memory = pick]))
}
""",
        """
width seq, memory
depth model = 8, best = 4

block read(s: [seq, memory], x: [memory, model], allowed: bool[seq, memory]) -> [seq, model] {
    pick = topk[memory -> best](s where allowed)
    return sum[best](layernorm.n[model](x[memory = pick]))
}
""",
    ),
)
