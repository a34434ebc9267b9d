"""E04xx: blocks and their calls."""

from __future__ import annotations

from .entry import Entry

ENTRIES = (
    Entry(
        "E0401",
        "the brackets of the call do not fit the parameters",
        """
        A block with parameters in brackets, `block attend[q: width, k: width](...)`, is called with an axis for each:
        `attend[target, source](...)`, or by name, `attend[q = target, k = source](...)`. Nothing is guessed from the
        arguments.
        """,
        """
width q, k
depth d = 8

block pool[n: width](x: [n, d]) -> [d] {
    return mean[n](x)
}

block both(x: [q, d]) -> [d] {
    return pool(x)
}
""",
        """
width q
depth d = 8

block pool[n: width](x: [n, d]) -> [d] {
    return mean[n](x)
}

block both(x: [q, d]) -> [d] {
    return pool[q](x)
}
""",
    ),
    Entry(
        "E0402",
        "a parameter of the wrong kind",
        """
        A parameter is a `width`, a `depth` or a `const`, and what is passed is of that kind: a block that averages over
        items does not know what to do with features.
        """,
        """
width seq
depth model = 8

block pool[n: width](x: [n]) -> [] {
    return mean[n](x)
}

block pooled(x: [seq, model]) -> [seq] {
    return pool[model](x)
}
""",
        """
width seq
depth model = 8

block pool[n: width](x: [n]) -> [] {
    return mean[n](x)
}

block pooled(x: [seq, model]) -> [model] {
    return pool[seq](x)
}
""",
    ),
    Entry(
        "E0403",
        "a parameter must be a copy of another",
        """
        A block that compares the indices of two axes, or renames one to the other, says so: `k: width like q`. It can
        then be called only with two copies of one axis.
        """,
        """
width source, target

block causal[q: width, k: width like q](s: [q, k]) -> [q, k] {
    return softmax[k](s where k <= q)
}

block weigh(s: [target, source]) -> [target, source] {
    return causal[target, source](s)
}
""",
        """
width target
width past like target

block causal[q: width, k: width like q](s: [q, k]) -> [q, k] {
    return softmax[k](s where k <= q)
}

block weigh(s: [target, past]) -> [target, past] {
    return causal[target, past](s)
}
""",
    ),
    Entry(
        "E0404",
        "two parameters are bound to one axis",
        """
        Inside the block some value has both axes: the scores `[q, k]`, say. With one axis for both, it would be the
        diagonal only: each item would look at itself alone. In einsum that is `bqd,bqd->bqq`, which no program
        warns of. Declare a copy, `width past like seq`, and pass `x[seq as past]`.
        """,
        """
width seq
depth d = 8

block look[q: width, k: width](Q: [q, d], K: [k, d]) -> [q, d] {
    return dot[k](softmax[k](dot[d](Q, K)), K)
}

block self_attention(x: [seq, d]) -> [seq, d] {
    return look[seq, seq](x, x)
}
""",
        """
width seq
width past like seq
depth d = 8

block look[q: width, k: width](Q: [q, d], K: [k, d]) -> [q, d] {
    return dot[k](softmax[k](dot[d](Q, K)), K)
}

block self_attention(x: [seq, d]) -> [seq, d] {
    return look[seq, past](x, x[seq as past])
}
""",
    ),
    Entry(
        "E0405",
        "the argument lacks an axis",
        """
        An argument has the axes that are written for it (more of them are fine: the block is done for each index of
        those). One that lacks a width would be spread over all items in silence; if that is meant, write
        `broadcast[w](x)`. Masks and weights may lack any axis.
        """,
        """
width source, target
depth model = 8

block add[n: width](x: [n, model], change: [n, model]) -> [n, model] {
    return x + change
}

block join(x: [target, model], memory: [source, model]) -> [target, model] {
    return add[target](x, memory)
}
""",
        """
width target
depth model = 8

block add[n: width](x: [n, model], change: [n, model]) -> [n, model] {
    return x + change
}

block join(x: [target, model], memory: [target, model]) -> [target, model] {
    return add[target](x, memory)
}
""",
    ),
    Entry(
        "E0406",
        "the block would be lifted over an axis that it uses itself",
        """
        An axis of an argument that the block knows nothing of is carried along: the block is done for each of its
        indices. It cannot be carried along past an op that acts on that very axis. Rename it to a copy first, or pass
        what the argument asks for.
        """,
        """
width seq

block centre(x: [seq], weight: []) -> [seq] {
    return (x - broadcast[seq](mean[seq](x))) * weight
}

block scale(x: [seq], gate: [seq]) -> [seq] {
    return centre(x, gate)
}
""",
        """
width seq

block centre(x: [seq], weight: [seq]) -> [seq] {
    return (x - broadcast[seq](mean[seq](x))) * weight
}

block scale(x: [seq], gate: [seq]) -> [seq] {
    return centre(x, gate)
}
""",
    ),
    Entry(
        "E0407",
        "a block calls itself",
        """
        A call means the body of the block with the arguments put in, and that would never end. Write the repetition as
        `repeat`.
        """,
        """
depth model = 8

block deep(x: [model]) -> [model] {
    return deep(relu(x))
}
""",
        """
depth model = 8
const layers = 4

block deep(x: [model]) -> [model] {
    repeat layers {
        x = relu(x)
    }
    return x
}
""",
    ),
    Entry(
        "E0408",
        "the number of results, or where they are returned",
        """
        A block ends with one `return`, which gives as many values as are declared behind `->`. A call with several
        results binds a name to each: `out, weights = attend(x)`; the name `_` throws one away.
        """,
        """
depth model = 8

block halves(x: [model]) -> (low: [model], high: [model]) {
    return min(x, 0), max(x, 0)
}

block both(x: [model]) -> [model] {
    low = halves(x)
    return low
}
""",
        """
depth model = 8

block halves(x: [model]) -> (low: [model], high: [model]) {
    return min(x, 0), max(x, 0)
}

block both(x: [model]) -> [model] {
    low, _ = halves(x)
    return low
}
""",
    ),
    Entry(
        "E0409",
        "compiling needs a size",
        """
        A block is checked for whatever sizes its parameters have, but code is made for certain ones: the weights need a
        shape. Give the size, `--set d=64`, or compile a model that calls the block.
        """,
        """
# attnc compile main.attn:scale --to torch
block scale[n: width, d: depth](x: [n, d]) -> [n, d] {
    return linear.a[d -> d](x)
}
""",
        """
# attnc compile main.attn:net --to torch
width seq
depth model = 8

block scale[n: width, d: depth](x: [n, d]) -> [n, d] {
    return linear.a[d -> d](x)
}

model net(x: [seq, model]) -> [seq, model] {
    return scale[seq, model](x)
}
""",
    ),
    Entry(
        "E0410",
        "the arguments of the call do not fit the block",
        """
        A block is called with its arguments in order, or by name; those with a default may be left out.
        """,
        """
depth model = 8

block add(x: [model], change: [model]) -> [model] {
    return x + change
}

block twice(x: [model]) -> [model] {
    return add(x)
}
""",
        """
depth model = 8

block add(x: [model], change: [model]) -> [model] {
    return x + change
}

block twice(x: [model]) -> [model] {
    return add(x, x)
}
""",
    ),
    Entry(
        "E0411",
        "a scan that does not fit its block",
        """
        `h = scan[seq] cell(x, h = 0)` calls `cell` at each index of `seq` in order. The block gets one item of
        what runs along `seq`, so at least one argument has that axis, the block itself does not mention it, and the
        first value of what is carried (`h`) does not have it. What is carried goes in again as it came out: the
        argument and the result of its name are of one type.
        """,
        """
width seq
depth model = 8

block cell(x: [model], h: [model]) -> (h: [model]) {
    return tanh(x + h)
}

block run(x: [model]) -> [seq, model] {
    return scan[seq] cell(x, h = 0)
}
""",
        """
width seq
depth model = 8

block cell(x: [model], h: [model]) -> (h: [model]) {
    return tanh(x + h)
}

block run(x: [seq, model]) -> [seq, model] {
    return scan[seq] cell(x, h = 0)
}
""",
    ),
    Entry(
        "E0412",
        "shared weights of two shapes",
        """
        `share f = block` gives one set of weights to all calls of `f`, so all of them need the weights in one shape;
        and so has a model that others call. A block that is called for axes of two sizes needs two sets of weights:
        call the block itself, with a label.
        """,
        """
depth model = 8, inner = 16

block mix[d: depth](x: [d]) -> [d] {
    return linear.a[d -> d](x)
}

block both(x: [model], y: [inner]) -> (x: [model], y: [inner]) {
    share f = mix
    return f[model](x), f[inner](y)
}
""",
        """
depth model = 8, inner = 16

block mix[d: depth](x: [d]) -> [d] {
    return linear.a[d -> d](x)
}

block both(x: [model], y: [inner]) -> (x: [model], y: [inner]) {
    return mix.small[model](x), mix.large[inner](y)
}
""",
    ),
    Entry(
        "E0413",
        "a second set of weights for what has one",
        """
        A model has one set of weights, wherever it is called, and calling it adds nothing to their names. A repeat that
        is not `shared` gives each pass weights of its own; each call of a block that calls the model has its own too,
        and so has a shared repeat. One of the two must give way: share the repeat or the block, call the model in one
        way alone, or make it a block. A `share` has one set too, in the place where it stands: a repeat whose passes
        have weights of their own calls only those that stand inside it.
        """,
        """
width seq
depth d = 8
const layers = 2

model step(x: [seq, d]) -> [seq, d] {
    return tanh(linear.W[d -> d](x))
}

model net(x: [seq, d]) -> [seq, d] {
    repeat layers {
        x = step(x)
    }
    return x
}
""",
        """
width seq
depth d = 8
const layers = 2

model step(x: [seq, d]) -> [seq, d] {
    return tanh(linear.W[d -> d](x))
}

model net(x: [seq, d]) -> [seq, d] {
    repeat layers shared {
        x = step(x)
    }
    return x
}
""",
    ),
    Entry(
        "E0414",
        "one set of weights, made in two ways",
        """
        All calls of `share f = block`, and all of a model, have one set of weights. They may compute different things
        with it: one is given a mask and another none, or another const. But what makes the weights is the same at all
        calls: which there are, of which op or block, in which passes, with a bias or none, and how they begin. The
        passes of a `shared` repeat have one set too: a static `if` may make them differ, the first from the others say,
        in what learns nothing; and no depth that a weight runs along may depend on the number of the pass.
        """,
        """
width seq
depth model = 8

block scaled[std: const = 0.1](x: [seq, model]) -> [seq, model] {
    param W: [model] ~ normal(std)
    return x * W
}

model both(x: [seq, model]) -> [seq, model] {
    share f = scaled
    return f(x) + f[std = 0.2](x)
}
""",
        """
width seq
depth model = 8

block scaled[times: const](x: [seq, model]) -> [seq, model] {
    param W: [model] ~ normal(0.1)
    return x * W * times
}

model both(x: [seq, model]) -> [seq, model] {
    share f = scaled
    return f[times = 1](x) + f[times = 2](x)
}
""",
    ),
)
