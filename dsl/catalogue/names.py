"""E02xx: names, declarations and files."""

from __future__ import annotations

from .entry import Entry

ENTRIES = (
    Entry(
        "E0201",
        "no axis has this name",
        """
        Every axis is declared before it is used: in the file, as a parameter of the block, in the block itself, or in a
        file named in a `use`. Axes are known by their names, so a misspelt one would be another axis; no
        program guesses which one you meant.
        """,
        """
width seq
depth model = 8

block twice(x: [seq, modle]) -> [seq, model] {
    return 2 * x
}
""",
        """
width seq
depth model = 8

block twice(x: [seq, model]) -> [seq, model] {
    return 2 * x
}
""",
    ),
    Entry(
        "E0202",
        "nothing has this name here",
        """
        A name in an expression is an argument, a variable bound above, a const, or an axis (which stands for
        its index).
        A variable that is bound only inside a `repeat` is gone after it: bind it before the repeat, and each pass binds
        it anew.
        """,
        """
depth model = 8

block double(x: [model]) -> [model] {
    y = x + x
    return z
}
""",
        """
depth model = 8

block double(x: [model]) -> [model] {
    y = x + x
    return y
}
""",
    ),
    Entry(
        "E0203",
        "no op or block has this name",
        """
        What is called is an op of the language, a block of this file, or a block of a file that a `use` names. The
        standard library is used by name as well: `use std.attention: multihead`.
        """,
        """
width seq
depth model = 8

block weigh(scores: [seq, model]) -> [seq, model] {
    return sofmax[model](scores)
}
""",
        """
width seq
depth model = 8

block weigh(scores: [seq, model]) -> [seq, model] {
    return softmax[model](scores)
}
""",
    ),
    Entry(
        "E0204",
        "a name is taken already",
        """
        A name is declared once in a file, and once in a block. Were the second declaration to win in silence, all that
        was written for the first would mean something else. The names of ops and of element kinds (`bool`, `int`,
        `real`) are taken too.
        """,
        """
width seq
depth model = 8
depth model = 16

block twice(x: [seq, model]) -> [seq, model] {
    return 2 * x
}
""",
        """
width seq
depth model = 8
depth inner = 16

block widen(x: [seq, model]) -> [seq, inner] {
    return linear.up[model -> inner](x)
}
""",
    ),
    Entry(
        "E0205",
        "a variable has the name of an axis or const",
        """
        In an expression the name of an axis stands for its index: 0, 1, 2 and so on along it. If a variable could bear
        the same name, `x + seq` would mean one thing or the other, depending on a line far above.
        """,
        """
width seq
depth model = 8

block twice(x: [seq, model]) -> [seq, model] {
    model = 2 * x
    return model
}
""",
        """
width seq
depth model = 8

block twice(x: [seq, model]) -> [seq, model] {
    doubled = 2 * x
    return doubled
}
""",
    ),
    Entry(
        "E0206",
        "a size does not divide",
        """
        `/` between sizes must leave no remainder. Rounded in silence, ten features in four heads would be two for each
        head, and two would be lost. To round on purpose, write `floor(a / b)` or `ceil(a / b)`.
        """,
        """
width seq
depth model = 10, heads = 4
depth key = model / heads

block project(x: [seq, model]) -> [seq, heads, key] {
    return linear.Q[model -> heads, key](x)
}
""",
        """
width seq
depth model = 12, heads = 4
depth key = model / heads

block project(x: [seq, model]) -> [seq, heads, key] {
    return linear.Q[model -> heads, key](x)
}
""",
    ),
    Entry(
        "E0207",
        "this is no size, or no number known at build time",
        """
        Sizes, consts and the number of passes of a `repeat` are known when the model is built: numbers, other sizes and
        consts, joined by arithmetic. A size is a whole number of 1 or more. A value that is computed from the model's
        inputs comes too late.
        """,
        """
width seq
depth model = 8
depth rest = model - 8

block shrink(x: [seq, model]) -> [seq, rest] {
    return linear.down[model -> rest](x)
}
""",
        """
width seq
depth model = 8
depth rest = model - 4

block shrink(x: [seq, model]) -> [seq, rest] {
    return linear.down[model -> rest](x)
}
""",
    ),
    Entry(
        "E0208",
        "a size is declared by way of itself",
        """
        Declarations may stand in any order, but they must lead to numbers in the end. Here they lead back to where they
        began. Give one of them a number.
        """,
        """
depth model = heads * key
depth heads = 4
depth key = model / heads

block twice(x: [model]) -> [heads, key] {
    return 2 * split[model -> heads, key](x)
}
""",
        """
depth model = 32
depth heads = 4
depth key = model / heads

block twice(x: [model]) -> [heads, key] {
    return 2 * split[model -> heads, key](x)
}
""",
    ),
    Entry(
        "E0209",
        "a file that is used cannot be read",
        """
        `use a.b: name` reads the file `a/b.attn` beside this one; `use std.a: name` reads a file of the standard
        library, which is part of attnc.
        """,
        """
use std.atention: multihead

width seq
width past like seq

block layer(x: [seq]) -> [seq] {
    return relu(x)
}
""",
        """
use std.attention: multihead, model

width seq
width past like seq

block layer(x: [seq, model]) -> [seq, model] {
    return x + multihead[seq, past](x, x[seq as past])
}
""",
    ),
    Entry(
        "E0210",
        "files use each other in a circle",
        """
        What a file declares may depend on the files that it uses, so none of them can come first in a circle. Move what
        both need into a third file.
        """,
        """
use other: inner

depth model = 8

block outer(x: [model]) -> [model] {
    return inner(x)
}

# -- other.attn
use main: model

block inner(x: [model]) -> [model] {
    return relu(x)
}
""",
        """
use other: inner
use sizes: model

block outer(x: [model]) -> [model] {
    return inner(x)
}

# -- other.attn
use sizes: model

block inner(x: [model]) -> [model] {
    return relu(x)
}

# -- sizes.attn
depth model = 8
""",
    ),
    Entry(
        "E0211",
        "the file that is used has no such name",
        """
        `use` brings in the blocks, axes and consts of another file that it names, and nothing else. Names that
        the other file itself only uses count too.
        """,
        """
use std.attention: multi_head, model

width seq
width past like seq

block layer(x: [seq, model]) -> [seq, model] {
    return multi_head[seq, past](x, x[seq as past])
}
""",
        """
use std.attention: multihead, model

width seq
width past like seq

block layer(x: [seq, model]) -> [seq, model] {
    return multihead[seq, past](x, x[seq as past])
}
""",
    ),
    Entry(
        "E0212",
        "two axes of one name meet",
        """
        Axes of different files are different axes, although they may have the same name: another file's `model` may
        have another size. Name the axis in the `use`, and both files speak of one: yours, if you declare it, else that
        of the other file.

        They need not meet in a value: `heads = 4` in your file does not reach a block of another that has `heads = 8`,
        and all sizes that it derives from it, unless the `use` names `heads`. If the other file's own is meant, bring
        it under another name, `heads as other`, or give the size in the brackets of the call. Where the two have one
        size, this is the warning W0513.
        """,
        """
use std.attention: multihead

width seq
width past like seq
depth model = 64

block layer(x: [seq, model]) -> [seq, model] {
    return multihead[seq, past](x, x[seq as past])
}
""",
        """
use std.attention: multihead, model

width seq
width past like seq
depth model = 64

block layer(x: [seq, model]) -> [seq, model] {
    return multihead[seq, past](x, x[seq as past])
}
""",
    ),
    Entry(
        "E0213",
        "a width where a depth is declared, or the other way",
        """
        A width counts items (tokens, patches, time steps); a depth is how much is known of each item. What may be
        broadcast and what may be learned both depend on it. So a copy has the kind of its original, and an axis that
        two files share is of one kind in both.
        """,
        """
width seq
depth past like seq

block look(x: [seq]) -> [past] {
    return x[seq as past]
}
""",
        """
width seq
width past like seq

block look(x: [seq]) -> [past] {
    return x[seq as past]
}
""",
    ),
    Entry(
        "E0214",
        "a param outside a block",
        """
        A `param` is a weight, and a weight belongs to the block or model in which it stands: its name in the
        `state_dict` begins there.
        """,
        """
width seq
depth vocab = 100, model = 8
param E: [vocab, model]

model look(ids: vocab[seq]) -> [seq, model] {
    return E[vocab = ids]
}
""",
        """
width seq
depth vocab = 100, model = 8

model look(ids: vocab[seq]) -> [seq, model] {
    param E: [vocab, model]
    return E[vocab = ids]
}
""",
    ),
    Entry(
        "E0215",
        "no such kind of element",
        """
        What stands before the brackets of a type says what the elements are: `bool[seq]` are truth values, `int[seq]`
        whole numbers, `vocab[seq]` indices into the axis `vocab`; `[seq]` alone are real numbers.
        """,
        """
width seq
depth vocab = 100, model = 8

block look(E: [vocab, model], ids: long[seq]) -> [seq, model] {
    return E[vocab = ids]
}
""",
        """
width seq
depth vocab = 100, model = 8

block look(E: [vocab, model], ids: vocab[seq]) -> [seq, model] {
    return E[vocab = ids]
}
""",
    ),
    Entry(
        "E0216",
        "a reserved name for weights",
        """
        Names of learned ops, blocks and repeats become attributes of a torch module, so they cannot be names that a
        torch module keeps for itself (`train`, `forward`, `type`, ...), nor words of Python, nor begin with `_`.
        """,
        """
width seq
depth model = 8

block layer(x: [seq, model]) -> [seq, model] {
    return linear.forward[model -> model](x)
}
""",
        """
width seq
depth model = 8

block layer(x: [seq, model]) -> [seq, model] {
    return linear.ahead[model -> model](x)
}
""",
    ),
    Entry(
        "E0217",
        "one name for two sets of weights",
        """
        Weights are stored by their names, so two learned ops of one block need two names. A learned op is named by its
        label, `linear.up[...]`, or by the name to which its result is bound; a call of a block by its label, or by the
        block. If the weights are to be the same, say so: `share f = block`.
        """,
        """
width seq
depth model = 8

block layer(x: [seq, model]) -> [seq, model] {
    y = relu(linear.map[model -> model](x))
    return linear.map[model -> model](y)
}
""",
        """
width seq
depth model = 8

block layer(x: [seq, model]) -> [seq, model] {
    y = relu(linear.first[model -> model](x))
    return linear.second[model -> model](y)
}
""",
    ),
    Entry(
        "E0218",
        "weights without a name",
        """
        Every weight is stored under a name. A learned op gets it from its label, `linear.up[...]`, or from the name to
        which its whole result is bound; a `repeat` from its label, `repeat.layers 6`, or from the const that counts it.
        A made-up name (`linear_3`) would change when a line is put in above, and old weights would no longer load.
        """,
        """
width seq
depth model = 8, inner = 16

block feed(x: [seq, model]) -> [seq, inner] {
    return relu(linear[model -> inner](x))
}
""",
        """
width seq
depth model = 8, inner = 16

block feed(x: [seq, model]) -> [seq, inner] {
    return relu(linear.up[model -> inner](x))
}
""",
    ),
    Entry(
        "E0219",
        "the file declares nothing",
        """
        There is nothing to check, draw or compile: the file is empty, or holds nothing but comments.
        """,
        """
# To do.
""",
        """
width seq
depth model = 8

model twice(x: [seq, model]) -> [seq, model] {
    return 2 * x
}
""",
    ),
    Entry(
        "E0220",
        "the spec asks for too much",
        """
        There are limits, far above what published models need, so that every text is answered at once: files, and
        uses of uses; blocks that call blocks; the steps of a model with every call and pass written out; axes of one
        value; elements of one weight; operands of an op; terms of a number; letters of a name; expressions that are
        checked anew because calls give other sizes, or passes differ. The message says which.
        """,
        """
width seq
depth model = 10000000, inner = 10000000

model wide(x: [seq, model]) -> [seq, inner] {
    return linear.up[model -> inner](x)
}
""",
        """
width seq
depth model = 1000, inner = 1000

model wide(x: [seq, model]) -> [seq, inner] {
    return linear.up[model -> inner](x)
}
""",
    ),
    Entry(
        "E0221",
        "a display name that cannot be set",
        """
        The text behind `as` is what figures and equations call the block. It is one line of at most sixty characters
        that every format can set: letters of Latin alphabets, Greek letters, digits and common signs, without spaces at
        its ends.
        """,
        """
depth model = 8

block act as " Activation "(x: [model]) -> [model] {
    return relu(x)
}
""",
        """
depth model = 8

block act as "Activation"(x: [model]) -> [model] {
    return relu(x)
}
""",
    ),
    Entry(
        "E0222",
        "a list is not read as one",
        """
        A const may be a list, `const windows = [0, 512, 512]`: of numbers, or of truth values. It is read one number at
        a time, at a place known at build time: `windows[i]` in a `repeat i in layers`, where 0 is the first; or a
        repeat runs over it, `repeat near in windows`. A place that the list does not have is a mistake, in whichever
        pass; so is the list itself where one number is wanted, and a number read as if it were a list.
        """,
        """
width seq
depth model = 8
const layers = 3, gains = [1, 0.5]

model scaled(x: [seq, model]) -> [seq, model] {
    repeat i in layers {
        x = x + gains[i] * linear.W[model -> model](x)
    }
    return x
}
""",
        """
width seq
depth model = 8
const gains = [1, 0.5, 0.5]

model scaled(x: [seq, model]) -> [seq, model] {
    repeat gain in gains {
        x = x + gain * linear.W[model -> model](x)
    }
    return x
}
""",
    ),
)
