"""E07xx: what is claimed and proved of the whole graph."""

from __future__ import annotations

from .entry import Entry

ENTRIES = (
    Entry(
        "E0701",
        "not causal",
        """
        `-> [target, vocab] causal target` claims that item i of the result depends on no later item of any input, and
        the checker proves it or shows the path by which a later item leaks in. A model that sees what it is to predict
        trains to a wonderful loss and is worth nothing. Usual causes: a mask that is missing, or turned round
        (`target <= past` for `past <= target`); a sum, norm or sort over the whole sequence.
        """,
        """
width target
width past like target
depth d = 8

model look(x: [target, d]) -> [target, d] causal target {
    y = x[target as past]
    return dot[past](softmax[past](dot[d](x, y) where target <= past), y)
}
""",
        """
width target
width past like target
depth d = 8

model look(x: [target, d]) -> [target, d] causal target {
    y = x[target as past]
    return dot[past](softmax[past](dot[d](x, y) where past <= target), y)
}
""",
    ),
    Entry(
        "E0702",
        "causal along an axis that the result does not have",
        """
        `causal a` speaks of the items of the result along `a`, so the result has the axis `a`, or a part of it: of
        `width chunk = a / 4` each stands where the last item of its four does.
        """,
        """
width source, target
depth d = 8

model net(x: [target, d], y: [source, d]) -> [target, d] causal source {
    return relu(x) + broadcast[target](mean[source](y))
}
""",
        """
width source, target
depth d = 8

model net(x: [target, d], y: [source, d]) -> [target, d] causal target {
    return relu(x) + broadcast[target](mean[source](y))
}
""",
    ),
    Entry(
        "E0704",
        "a loss asks for what has been read",
        """
        A model that is causal learns by being asked, at each item, for one that it has not read: the next. Here the
        logits have read their target, so copying it is all that is learned; the loss falls to nothing and the model
        generates nonsense. Usual causes: the shift of the targets (or of what a decoder is fed) is missing, goes the
        wrong way or is done twice, or the index is clamped and the last item, whose target is then itself, counts.
        Told where it is surely so: a model that is to copy claims nothing, an item that the loss hides is nobody's
        target, and what is added to the input, `embed(ids) + noise`, may hide the item.

        The first losses of GPT and GPT-2 in transformers were such (pull request 404), and so was that of
        Transformer-XL (issue 3711); in KempnerForge (issue 154) the loss of captions fell to 0.0000 within a
        thousand steps, and every shape was right.
        """,
        """
width seq
width past like seq
depth model = 8, vocab = 20

model decoder(ids: vocab[seq]) -> [seq, vocab] causal seq {
    x = embed.E[vocab -> model](ids)
    w = softmax[past](dot[model](linear.Q[model -> model](x), x[seq as past]) / sqrt(|model|) where past <= seq)
    return linear.head[model -> vocab](x + dot[past](w, x[seq as past]))
}

model loss(ids: vocab[seq]) -> [] {
    return mean[seq](cross_entropy[vocab](decoder(ids), ids))
}
""",
        """
width seq
width past like seq
depth model = 8, vocab = 20

model decoder(ids: vocab[seq]) -> [seq, vocab] causal seq {
    x = embed.E[vocab -> model](ids)
    w = softmax[past](dot[model](linear.Q[model -> model](x), x[seq as past]) / sqrt(|model|) where past <= seq)
    return linear.head[model -> vocab](x + dot[past](w, x[seq as past]))
}

model loss(ids: vocab[seq]) -> [] {
    each = cross_entropy[vocab](decoder(ids), ids[seq = min(seq + 1, |seq| - 1)])
    return mean[seq](each where seq < |seq| - 1)
}
""",
    ),
)
