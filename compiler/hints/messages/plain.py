"""Plain mistakes in words: a row for each.

`{0}` is the first fact, as it is shown; `{text}` is what is written where the mistake stands; and code between two
backticks is what the reader of the message would write (`Wording.quoted`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ....dsl.diagnostic import Diagnostic
from ...base.names import listed, nearest, respelt
from ...graph.typed_value import show_type
from ...graph.values import Type
from ...problems.plain import Fact, Plain, PlainProblem
from ...sizes.axes import Axis
from ..table import say, tells
from ..words import Wording


class PlainWords(NamedTuple):
    """What is said, and how to mend it. there: what stands at the other place; label: at the place itself.

    near: a known name that is like the first fact is the help. respelt: it is put in place of a misspelling.
    """

    message: str
    help: str
    there: str = ""
    label: str = ""
    near: bool = False
    respelt: bool = False


_UNDECLARED = "declare it: `depth {0} = 64` or `const {0} = 2`"
_ONE_OF_TWO = "declare `{0}` in this file (its declaration then holds in both), or rename one: `{1} as other`"
_CHOOSE = "choose between values with ``select(condition, x, y)``"
_MULTIPLIED = "multiplied here"
_LEFT_OUT = "padding is left out here"

PLAIN = {
    Plain.PARAM_OUTSIDE: PlainWords(
        "param `{0}` stands outside a block or model",
        "move it into the block or model that owns this weight; its path in the state dict starts there",
    ),
    Plain.DECLARED_TWICE: PlainWords("{0} `{1}` is declared twice", "rename one of the two"),
    Plain.DECLARED_ALREADY: PlainWords("`{0}` is declared already", "choose another name"),
    Plain.VALUE_ALREADY: PlainWords("`{0}` is a value already", "choose another name for the param"),
    Plain.DECLARED_AGAIN: PlainWords(
        "`{0}` is declared twice", "rename one of the two", "first declared here", "declared again here"
    ),
    Plain.UNKNOWN_SETTING: PlainWords(
        "config `{1}` sets `{0}`, which this file does not declare",
        "declare `{0}`, or leave it out",
        near=True,
        respelt=True,
    ),
    Plain.UNKNOWN_CONFIG: PlainWords("{1} has no config `{0}`", "it has {2}", near=True),
    Plain.NOT_DECLARED: PlainWords("no axis or const is named `{0}`", _UNDECLARED, near=True, respelt=True),
    Plain.NO_SIZE_NAMED: PlainWords("no axis or const is named `{0}`", _UNDECLARED, near=True),
    Plain.NO_PARAMETER_NAMED: PlainWords(
        "no axis is named `{0}`", "a copy stands after its original: `{0}: {1}, {2}: ...`", near=True, respelt=True
    ),
    Plain.NO_CLAIMED_AXIS: PlainWords("no axis is named `{0}`", "it has {1}", near=True),
    Plain.NO_BLOCK_NAMED: PlainWords(
        "no block is named `{0}`",
        "`share f = block` gives one set of weights to all calls of `f`",
        near=True,
        respelt=True,
    ),
    Plain.NO_BLOCK_SCANNED: PlainWords(
        "`scan` calls a block, but no block is named `{0}`", "declare a block that does one step", near=True
    ),
    Plain.NOT_IN_FILE: PlainWords("{1} has no `{0}`", "it has {2}", near=True, respelt=True),
    Plain.TWO_SOURCES: PlainWords("`{0}` comes from two files", _ONE_OF_TWO, "and from here"),
    Plain.TWO_SOURCES_DIFFER: PlainWords(
        "`{0}` comes from two files, and is not the same in both", _ONE_OF_TWO, "the first is used here"
    ),
    Plain.USED_IN_CIRCLE: PlainWords(
        "these files use each other in a circle: {0}", "move what both need into a third file"
    ),
    Plain.NEWER_OP: PlainWords(
        "`{0}` is an op too, since version {1}: this declaration is meant by its name here",
        "delete it if the op, `{2}`, does the same, or choose another name, `my_{0}`",
    ),
    Plain.ELEMENT_NAME: PlainWords("`{0}` is the name of an element kind", "choose another name"),
    Plain.OP_NAME: PlainWords("`{0}` is the name of an op", "choose another name, such as `my_{0}`"),
    Plain.KIND_IN_USED_FILE: PlainWords(
        "`{0}` is a {1} here but a {2} in {3}",
        "declare it as a {2}, or import it under another name: `use ...: {0} as other`",
        "a {2} here",
    ),
    Plain.KIND_OF_COPY: PlainWords("`{0}` is a {1} but `{2}` is a {3}", "write `{3} {4}`"),
    Plain.KIND_OF_PARAMETER: PlainWords("`{0}` is a {1} but `{2}` is a {3}", "a copy has the kind of its original"),
    Plain.KIND_OF_FILE_COPY: PlainWords(
        "`{0}` is a {1} but `{2}` is a {3}: a copy has the kind of its original",
        "write `{3} {4}`",
        "`{2}` is declared here",
    ),
    Plain.CONST_FOR_AXIS: PlainWords(
        "`{0}` is a {1} here, but a const in the file that uses this one",
        "declare it as a {1} there too, or use it under another name: `use ...: {0} as other`",
    ),
    Plain.NO_FOLDER: PlainWords(
        "`use {0}` has no folder to look in",
        "a text that is no file finds only `std.*`; give `base=` the folder of the other files",
    ),
    Plain.DISPLAY_EMPTY: PlainWords(
        "a display name is empty", 'write what readers call the block, as in `as "Multi-Head Attention"`'
    ),
    Plain.DISPLAY_SPACES: PlainWords("a display name has spaces that no figure shows", 'write "{0}"'),
    Plain.DISPLAY_LONG: PlainWords("a display name of {0} letters has more than {1}", "shorten it: it stands in a box"),
    Plain.DISPLAY_ODD: PlainWords(
        "{0} in a display name is no sign that every format can set",
        "use letters of Latin alphabets, Greek ones, digits, and common signs",
    ),
    Plain.DISPLAYED_ALIKE: PlainWords(
        '`{0}` and `{1}` are both called "{2}" in figures',
        "give one of them another display name",
        "`{0}`",
    ),
    Plain.NOTHING_DECLARED: PlainWords(
        "{0} declares nothing",
        "write `model name(x: [seq, depth]) -> [seq, depth] {{ ... }}`",
    ),
    Plain.UNUSED: PlainWords("`{0}` is never used", "delete it, or call it `_`"),
    Plain.UNUSED_IN_REPEAT: PlainWords(
        "`{0}` is never used",
        "delete it, or call it `_`; a repeat gives on what it rebinds, a name that stands before it",
    ),
    Plain.PASSES_IN_VAIN: PlainWords(
        "of {1} passes no result hangs on the first {2}: what they make, `{0}`, is bound over before it is read",
        "read in each pass what the one before it has made, `{0}`",
        "the passes",
    ),
    Plain.ROUND_IN_VAIN: PlainWords(
        "`{0}` goes round, and no result hangs on it",
        "read it behind the repeat or in what goes on from there, or leave it out",
        "the repeat",
    ),
    Plain.UNUSED_DECLARATION: PlainWords("{0} `{1}` is never used", "delete it"),
    Plain.NOT_EARLIER: PlainWords(
        "`{0}` is to be like `{1}`, which is no earlier parameter of this block",
        "make `{1}` a parameter too, before `{0}`",
    ),
    Plain.GONE_REPEAT: PlainWords(
        "`{0}` lives inside a repeat and is gone here",
        "bind `{0}` before the repeat; then each pass rebinds it and the last value comes out",
        "it is bound in this repeat",
    ),
    Plain.GONE_BRANCH: PlainWords(
        "`{0}` is bound only in a branch that is not taken",
        "bind `{0}` in both branches, or before the `if`",
        "it is bound here",
    ),
    Plain.PART_TAKES_STEP: PlainWords(
        "`{0}` has no step: a part of it with weights is called `{1}`, as a function of decoding is",
        "give it another name, or the call a label, such as `{1}_`; the paths of its weights change too",
        "`{0}` is causal: it could decode",
    ),
    Plain.CLAIM_ALONG: PlainWords(
        "this result has no items of `{0}`, nor groups of them: it cannot be causal along that",
        "write `causal` with one of {1}",
    ),
    Plain.CLAIM_WITHOUT: PlainWords(
        "this result has no items of `{0}`, nor groups of them: it cannot be causal along that",
        "leave the claim out: the result has no width",
    ),
    Plain.ALLOWS_NOTHING: PlainWords(
        "`{0}` is allowed here, but not told",
        "delete it; behind code it holds for that statement, on a line of its own for what is right beneath",
    ),
    Plain.ALLOWS_UNKNOWN: PlainWords(
        "`{0}` is no code of a warning",
        "a reason goes behind a colon: `# attnc: allow W0505: ...`",
    ),
    Plain.ALLOWS_ERROR: PlainWords(
        "`{0}` is an error, which cannot be allowed",
        "mend the mistake: `attnc explain {0}` says how",
    ),
    Plain.TRUSTED_IN_VAIN: PlainWords("`causal {0}` is proved: it need not be trusted", 'leave out `trusted "{1}"`'),
    Plain.SQUASHED_SCORES: PlainWords(
        "`{0}` takes scores of any size, and these lie between {2} and {3}: what it makes of them is almost flat",
        "give it {4}",
        "{1} here",
    ),
    Plain.LOGARITHMS_AS_SCORES: PlainWords(
        "`{0}` takes logits, and these are log-probabilities: the same result, computed twice",
        "give it the logits, from before the softmax",
        "{1} here",
    ),
    Plain.LOGARITHMS_AVERAGED: PlainWords(
        "values are averaged over `{0}` with logarithms of weights, which are negative and do not sum to one",
        "average with the weights: ``softmax[{0}](...)``",
        "{1} here",
    ),
    Plain.SCORES_GROWN: PlainWords(
        "the scores are multiplied by a power of {0}, which they are summed over; one divides by its root",
        "the usual scale is ``/ sqrt({0})``, once",
        "the softmax is taken here",
    ),
    Plain.SHARES_SCALED: PlainWords(
        "the scale stands behind the softmax: weights are divided, which sum to one no longer, and the scores are not",
        "divide the scores: ``softmax[...](scores / sqrt({0}))``",
        "the softmax is taken here",
    ),
    Plain.PADDING_READ: PlainWords(
        "what `{0}` is true of is let through here, and all else left out",
        "a mask is true where one may look: turn it round, ``not {0}``",
    ),
    Plain.REAL_SHUT_OUT: PlainWords(
        "what `{0}` is true of is left out here, and all else let through",
        "turn it round: ``softmax[...](scores where {0})``",
    ),
    Plain.PENALTY_SMALL: PlainWords(
        "what `{0}` leaves out scores {2} less, and is read all the same",
        "leave it out: ``softmax[{1}](... where {0})``",
        "the softmax is taken here",
    ),
    Plain.FILLED_HIGH: PlainWords(
        "what `{0}` leaves out scores {2}, and is read all the same",
        "leave it out: ``softmax[{1}](... where {0})``",
        "the softmax is taken here",
    ),
    Plain.SCORES_TIMES_ZERO: PlainWords(
        "what `{0}` leaves out scores 0, and is read all the same: a score of 0 weighs 1 before it is normalised",
        "leave it out: ``softmax[{1}](... where {0})``",
        "the softmax is taken here",
    ),
    Plain.ZERO_PICKED: PlainWords(
        "what `{1}` leaves out is 0, which `{0}` picks where all else is on its other side",
        "leave it out: ``{0}[...](x where {1})``",
        "set to 0 here",
    ),
    Plain.SHARES_ZEROED: PlainWords(
        "what `{0}` leaves out has its share in the softmax, and then none: the rest sums to less than one",
        "leave it out of the softmax: ``softmax[...](... where {0})``",
        "averaged with here",
    ),
    Plain.COMPARED_IN_VAIN: PlainWords(
        "this holds at {0}, whatever the sizes",
        "compare with another number, or leave it out",
    ),
    Plain.OFFSET_ZERO: PlainWords(
        "this is 0 wherever the mask lets through, where `{0}` is at most `{1}`",
        "turn the difference round: ``{2}``",
        "the mask of this softmax hides the rest",
    ),
    Plain.PADDING_MIXED: PlainWords(
        "`{0}` reads the padding of `{1}`, too, which attention leaves out by a mask",
        "leave it out here, too: ``{2}``{3}",
        _LEFT_OUT,
    ),
    Plain.PADDING_SUMMED: PlainWords(
        "`{0}` reads the padding of `{1}`, too, which attention leaves out by a mask",
        "let it add nothing, as zeros: ``select({2}, x, 0)`` for what varies along `{1}`{3}",
        _LEFT_OUT,
    ),
    Plain.PADDING_NORMED: PlainWords(
        "`{0}` reads the padding of `{1}`, too, which attention leaves out by a mask",
        "take the mean, and that of the squares, of what is real: ``mean[{1}](x where {2})``{3}",
        _LEFT_OUT,
    ),
    Plain.PADDING_COUNTED: PlainWords(
        "what is summed is real, and it is divided by the number of all places of `{0}`, with the padding",
        "divide by how many are real: ``max(sum[{0}](1 where {1}), 1)``{2}",
        _LEFT_OUT,
    ),
    Plain.PADDING_CALLED: PlainWords(
        "`{0}` is given no mask here, and reads the padding of `{1}`, which is left out elsewhere",
        "give it the mask, too: ``{2}``{3}",
        _LEFT_OUT,
    ),
    Plain.TURNED_ALONE: PlainWords(
        "this is turned by the place along `{0}`, and what it is multiplied with is not turned: their product hangs on "
        "one place, and not on the distance",
        "turn the other by its place, too{1}; or turn neither",
        _MULTIPLIED,
    ),
    Plain.TURNED_UNLIKE: PlainWords(
        "this and what it is multiplied with are not turned alike: their product is no function of the distance",
        "turn both equally often, at the same rates and in the same pairs, each pair by one angle",
        "the other is turned here",
    ),
    Plain.TURNED_ALONG: PlainWords(
        "this is turned along `{0}`, and the product sums over `{1}`: it is no function of the distance",
        "turn both along what is summed over: ``{2}``",
        _MULTIPLIED,
    ),
    Plain.TURNS_CANCEL: PlainWords(
        "this is turned by the place along `{0}`, as is what it is multiplied with: the turns "
        "cancel, and no place is left",
        "turn what runs along `{1}` by its own place, with `{1}` in the angle",
        _MULTIPLIED,
    ),
    Plain.VALUES_TURNED: PlainWords(
        "values are turned, each by its place along `{0}`, and their average is not turned back",
        "turn queries and keys alone; or turn the average back by the place of the query",
        "averaged here",
    ),
    Plain.SAME_FOR_KEYS: PlainWords(
        "this is the same for all of `{0}`, and so it changes nothing in `{1}`",
        "let it differ along `{0}`, such as by a distance, or leave it out",
        "normalised here",
    ),
    Plain.FAR_COUNTS: PlainWords(
        "this rises with the distance of `{1}` from `{0}`: what is farther away scores higher, without bound",
        "take it off, or turn the difference round",
        "the softmax is taken here",
    ),
    Plain.ONE_ROW: PlainWords(
        "this is one number for all pairs of `{0}` and `{1}` that may look at each other: one row of the table is read",
        "turn the difference round, if it is clipped: ``{0} - {1}``",
        "the softmax is taken here",
    ),
    Plain.FIRST_PLACE: PlainWords(
        "this is one row of a table along `{0}`, which all of `{0}` are given: their places are not told",
        "give each its own: leave out the brackets with the place",
        "added here",
    ),
    Plain.NEVER_LEARNS: PlainWords(
        "no gradient reaches {0}: {1} lets none through",
        "multiply by something real that is made of it, as by the weights of what is picked; or say that it is meant: "
        "`frozen` behind a param, or `stop_gradient`",
        label="the gradient ends here",
    ),
    Plain.NEVER_READ: PlainWords(
        "no gradient reaches {0}: what is made of it is bound over before anything reads it",
        "read it, or leave it out",
    ),
    Plain.BOTH_ZERO: PlainWords(
        "both factors begin at 0, by {0}, and stay there: neither has a gradient while the other is 0",
        "let one of the two begin elsewhere: at a constant, or drawn at random",
    ),
    Plain.ZERO_FROZEN: PlainWords(
        "this is 0, whatever {0} make: the factor `{1}` begins at 0 and is frozen",
        "let it learn, without `frozen`, or begin elsewhere: at a constant, or drawn at random",
    ),
    Plain.LAST_PASS: PlainWords(
        "only the last pass counts: each binds `{1}` over, and reads nothing of it, so {0} of the others never learn",
        "read in each pass what the one before it has made, `{1}`",
        "the passes",
    ),
    Plain.INPUT_UNREAD: PlainWords(
        "`{1}` takes `{0}`, and reads it nowhere",
        "read it where it was meant to count, or leave it out, here and where it is given",
    ),
    Plain.NEVER_CALLED: PlainWords(
        "nobody calls `{0}`, and the file has a model",
        "call it where it was meant to stand, or delete it; what other files use stands in a file of blocks alone",
    ),
    Plain.SCORES_DROPPED: PlainWords(
        "scores are dropped before `{0}`: one that is dropped is 0 there, and keeps its share",
        "drop the weights, behind `{0}`",
        "the scores are read here",
    ),
    Plain.LOGITS_DROPPED: PlainWords(
        "logits are dropped: the loss takes one that is dropped for a logit of 0",
        "drop what the logits are made of, before the last map",
        "the logits are read here",
    ),
    Plain.PICKED_DROPPED: PlainWords(
        "what `{0}` ranks is dropped: a score that is dropped is 0, and comes before all that are negative",
        "drop what the scores are made of, before their map",
        "ranked here",
    ),
    Plain.LOSS_DROPPED: PlainWords(
        "losses are dropped: some targets do not count, and the others count for more",
        "leave `dropout` out here; it belongs on features, or on the weights of attention",
        "the losses are made here",
    ),
    Plain.HEADS_UNLIKE: PlainWords(
        "{0}, but what it meets is cut in another order: item for item they are other features",
        "write `{2}`; or give all of them this order",
        "{1} here",
    ),
    Plain.SPLIT_TWO_WAYS: PlainWords(
        "`{0}` is split into {1} here, and into {2} there: they share features, and others nobody reads",
        "write `{3}`",
        "split into {2} here",
    ),
    Plain.RENAMED_BACKWARDS: PlainWords(
        "`{0} as {1}` renames `{0}`, which is not there",
        "the name that it has comes first: ``[{1} as {0}]``",
        "this is {2}",
        "no `{0}` in {2}",
    ),
    Plain.BROADCAST_TWICE: PlainWords("this has `{0}` already: it is {1}", "leave the broadcast out"),
    Plain.RANKS_TWICE: PlainWords(
        "`{0}` is an axis of {1} already: ranks need an axis of their own", "declare a copy: ``{3} rank like {2}``"
    ),
    Plain.JOINED_TWICE: PlainWords(
        "`{0}` of one operand becomes a part of `{1}`, but another one has it too",
        "rename it to a copy, ``x[{0} as ...]``, or take one item of it, ``x[{0} = 0]``",
        "joined along `{0}`",
        "this is {2}",
    ),
    Plain.NAMED_TWICE: PlainWords("`{0}` stands twice in these brackets", "name each axis once"),
    Plain.TARGETS_ALONG: PlainWords(
        "`cross_entropy` takes one target from `{0}`, but there is one for each `{0}` here",
        "leave ``{0}`` out of the axes of the targets: what they index is no axis of theirs",
        label="this is {1}",
    ),
    Plain.LOCAL_AXIS: PlainWords(
        "the result carries `{0}`, an axis of the block's own that no caller can name",
        "make ``{0}`` a parameter of the block, or an axis of the file",
    ),
    Plain.NO_SUCH_RANKS: PlainWords(
        "`{0}` gives a rank to every `{1}`, but `{2}` is no copy of it", "declare ``{3} {2} like {1}``"
    ),
    Plain.CHOSEN_MIXED: PlainWords(
        "`select` chooses between {0} and {1}: a number and a truth value",
        "write ``select(m, 1, 0)`` for 1 and 0, or compare the number: ``x > 0``",
    ),
    Plain.JOINED_MIXED: PlainWords(
        "`concat` joins {0} and {1}: different kinds of elements",
        "write ``select(m, 1, 0)`` for truth values, ``int(i)`` for indices",
    ),
    Plain.IDS_AS_FEATURES: PlainWords(
        "`{0}` computes with indices into `{2}` as if they were features",
        "look them up, `E[{2} = {text}]` or `embed`; `int({text})` is the plain number",
        label="this is {1}",
    ),
    Plain.PARAMETER_TWICE: PlainWords("parameter `{0}` is given twice", "leave one of the two out"),
    Plain.NUMBER_FOR_WIDTH: PlainWords(
        "parameter `{1}` of `{0}` is a width: it takes an axis, not a number",
        "pass a width that an argument has",
    ),
    Plain.VALUE_FOR_CONST: PlainWords(
        "`{0}` is a const: a number known at build time, but this is {1}",
        "pass a number, a const or a size; what is known at run time is an argument, in parentheses",
    ),
    Plain.DEFAULT_KIND: PlainWords(
        "parameter `{0}` is a {1}, but its default `{text}` is a {3}",
        "give it a {1}, or make it one of the other kind: `{0}: {3}`",
        "`{2}` is declared here",
    ),
    Plain.DEFAULT_COMPUTED: PlainWords(
        "the default of `{0}` is {1}, but a default is a number or truth value",
        "without a default, each call gives its `{0}`",
    ),
    Plain.CALLS_ITSELF: PlainWords(
        "`{0}` would call itself: {1}", "a block may not call itself; write the repetition as `repeat`"
    ),
    Plain.SCANNED_WHOLE: PlainWords(
        "`{0}` mentions `{1}`, but a scan gives it one item of that axis at a time",
        "what needs the whole axis stands outside the block that is scanned",
    ),
    Plain.NOTHING_RUNS: PlainWords(
        "nothing that `{0}` is given here runs along `{1}`",
        "``scan[{1}]`` takes one item of ``{1}`` at a time: pass a value that has it",
    ),
    Plain.STATE_ALONG: PlainWords(
        "`{0}` is the value before the first `{1}`, so it has no `{1}`: this is {2}",
        "pass its first item, ``x[{1} = 0]``, or 0",
    ),
    Plain.STATE_OF_SIZES: PlainWords(
        "`{0}` goes from step to step, and its default is made of sizes: give its first value",
        "write ``{0} = ...`` among the arguments",
    ),
    Plain.GIVEN_TWICE: PlainWords("`{0}` is given twice", "leave one of the two out"),
    Plain.OPTION_TRUTH: PlainWords("`{0}` is true or false", "{1}"),
    Plain.OPTION_NUMBER: PlainWords("`{0}` is a number", "{1}"),
    Plain.OPTION_UNKNOWN: PlainWords("`{0}` must be known at build time", "{1}"),
    Plain.INIT_ARGUMENTS: PlainWords(
        "`{0}` takes {1} number", "`normal(std)`, `uniform(bound)`, `constant(c)`, `zeros`, `ones`, `xavier`"
    ),
    Plain.XAVIER_PARAM: PlainWords(
        "`xavier` goes by what a weight maps to what: a param of two axes, but this has {0}",
        "`uniform(bound)` or `normal(std)`, with sizes: `uniform((6 / (|a| + |b|)) ^ 0.5)`",
    ),
    Plain.NO_INIT: PlainWords("this is no initialisation", "write one of {0}"),
    Plain.INIT_NUMBER: PlainWords(
        "an initialisation takes a number known at build time",
        "pass a number, a const or a size",
    ),
    Plain.INIT_IN_PASS: PlainWords(
        "an initialisation takes a number known at build time",
        "the weights of all passes begin alike: pass a number that does not depend on the pass",
    ),
    Plain.INIT_NEGATIVE: PlainWords(
        "`{0}` takes a number of 0 or more, but this is {1}",
        "it says how far the first values lie from 0",
    ),
    Plain.XAVIER_SCALE: PlainWords(
        "`xavier` goes by what a weight maps to what, but the scale of `{0}` maps nothing",
        "leave `init` out: the scale begins at 1",
    ),
    Plain.MERGE_FORM: PlainWords("`merge` makes one axis", "its form is ``merge[b, c -> a](x)``"),
    Plain.INDEX_FORM: PlainWords("`index` makes an index into one axis", "its form is ``index[a](i)``"),
    Plain.FEWER_WINDOWS: PlainWords(
        "with a stride of {2} the windows are fewer than |{0}|",
        "name an axis of its own: ``width step = ceil({0} / {2})``, ``window[{0} -> step, {1}]``",
    ),
    Plain.WINDOW_FORM: PlainWords(
        "`window` slides along one axis and makes two: where the window stands, and where in it an item is",
        "its form is ``window[seq -> seq, tap](x)``",
    ),
    Plain.PAD_FORM: PlainWords("`pad` makes one axis of one", "its form is ``pad[a -> b](x, left = 1)``"),
    Plain.RANKS_FORM: PlainWords("`{0}` makes one axis of ranks", "its form is ``{1}``"),
    Plain.PARTS_FORM: PlainWords(
        "`concat` joins one axis of each operand to one: "
        "here {0} operands have {1} before the arrow, and {2} behind it",
        "its form is ``concat[a, b -> c](x, y)``",
    ),
    Plain.NOTHING_RETURNED: PlainWords("`{0}` returns nothing", "end its body with `return ...`"),
    Plain.RETURNED_AGAIN: PlainWords("a second `return`", "return once, at the end", "the first"),
    Plain.RETURN_IN_REPEAT: PlainWords(
        "`return` stands inside a repeat",
        "bind the result, and return it after the repeat",
    ),
    Plain.BEHIND_RETURN: PlainWords("nothing after `return` is run", "move it above, or delete it"),
    Plain.SEVERAL_RESULTS: PlainWords(
        "`{0}` gives {1} results, but one is wanted here",
        "name them first: `{2} = ...` (`_` discards one)",
    ),
    Plain.CROSSED_RESULTS: PlainWords(
        "`{0}` takes the result `{1}` of `{2}`",
        "results come in their declared order: write `{3} = ...`",
    ),
    Plain.PASSES_DIFFER: PlainWords(
        "the passes of a `shared` repeat have one set of weights, but they hang on `{0}`: {1}",
        "learn the same in every pass, and choose between values, ``select({0} == 0, a, b)``; or leave out ``shared``",
    ),
    Plain.SET_PER_PASS: PlainWords(
        "each pass of this repeat has weights of its own, but the model `{0}` has one set",
        "write ``repeat ... shared {{ }}``, or make it a ``block``: each pass then has its own",
        "a model",
    ),
    Plain.SET_PER_PASS_CALLED: PlainWords(
        "each pass of this repeat has weights of its own, but the model `{0}`, which `{1}` calls, has one set",
        "write ``repeat ... shared {{ }}``, or make ``{0}`` a ``block``: each pass then has its own",
        "a model",
    ),
    Plain.SHARE_FROM_OUTSIDE: PlainWords(
        "each pass of this repeat has weights of its own, but `{0}` has one set, where it stands",
        "write ``repeat ... shared {{ }}`` if the passes are to have one set, or ``share {0} = {1}`` inside the repeat",
        "outside of the repeat",
    ),
    Plain.DIVIDES_BY_ZERO: PlainWords("this divides by zero", "divide by 1 or more"),
    Plain.TOO_LARGE: PlainWords("this number is too large", "whole numbers stay below 2 ^ 62"),
    Plain.UNDEFINED: PlainWords("this has no value", "change the numbers that it is made of"),
    Plain.NOT_STATIC: PlainWords(
        "this is no number known at build time",
        "a size or const is made of numbers, sizes and consts with + - * / % ^, ceil(a / b) and floor(a / b)",
    ),
    Plain.NOT_STATIC_NAME: PlainWords(
        "`{0}` is {1}: no number known at build time", "a size or const is made of numbers, sizes and consts"
    ),
    Plain.WRAPPED: PlainWords("this is no number known at build time", "write `{0}` alone"),
    Plain.FUNCTION_FORM: PlainWords("`{0}` takes {1}", "its form is `{0}({2})`"),
    Plain.SIZE_OF_COPY: PlainWords(
        "`{0}` is a copy of `{1}`, and has no size of its own",
        "leave out the size, or `like {1}`",
    ),
    Plain.SET_FOR_COPY: PlainWords("`{0}` is a copy of `{1}`, and has no size of its own", "set `{1}`"),
    Plain.SET_TO_LIST: PlainWords(
        "const `{0}` is one number, but is set to a list", "set it to a number: `{0}=2`", "`{0}` is declared here"
    ),
    Plain.SET_TO_NUMBER: PlainWords(
        "const `{0}` is a list, but is set to one number", "set it to a list: `{0}=[0,512]`", "`{0}` is declared here"
    ),
    Plain.SET_RAGGED: PlainWords(
        "`{0}` is ragged: its lengths come with the inputs, and cannot be set",
        "leave `{0}` out",
    ),
    Plain.SET_MIXED_LIST: PlainWords(
        "`{0}` is set to truth values and numbers, but a list is of one kind",
        "set numbers alone, or true and false alone",
    ),
    Plain.NAME_IN_CONFIG: PlainWords(
        "`{0}` cannot be used here: the config sets what comes from another file",
        "write a number",
    ),
    Plain.BOUNDED_DEPTH: PlainWords(
        "depth `{0}` is bounded, but a depth's size is known",
        "write `=`, or declare a width",
    ),
    Plain.NO_SIZE_IN_BLOCK: PlainWords(
        "`{0}` is declared in a block but has no size",
        "an axis of a block is made of others: `{1} {0} = ...`, or make it a parameter of the block",
    ),
    Plain.PASSES_AT_RUN_TIME: PlainWords(
        "the number of passes depends on a width, but must be known at build time",
        "count by a number, a const or the size of a depth; ``scan`` runs along a width",
    ),
    Plain.PASSES_INVALID: PlainWords("a repeat runs a whole number of times, not {0}", "count by 0, 1, 2 or more"),
    Plain.TOO_MANY_PASSES: PlainWords("a repeat of {0} passes is more than {1}", "repeat it less often"),
    Plain.MIXED_LIST: PlainWords(
        "this list holds truth values and numbers",
        "write numbers alone, or `true` and `false` alone",
    ),
    Plain.READ_FORM: PlainWords(
        "`{0}` is a list: its brackets say which one of its numbers is read",
        "write ``{0}[i]``, with the number of a pass, a const or a number for ``i``",
    ),
    Plain.READ_CONST: PlainWords(
        "`{0}` is one number, not a list: nothing is read off it",
        "write ``{0}`` alone, or make it a list, ``const {0} = [...]``",
    ),
    Plain.READ_SIZE: PlainWords("`{0}` is one number, not a list: nothing is read off it", "write ``{0}`` alone"),
    Plain.BRANCH_AT_RUN_TIME: PlainWords("`if` is decided at build time, but this is {0}", _CHOOSE),
    Plain.BRANCH_BY_WIDTH: PlainWords(
        "`if` is decided at build time, but this depends on a width, whose size only a run knows", _CHOOSE
    ),
    Plain.OPEN_DEPTH: PlainWords(
        "depth `{0}` of `{1}` has no size, and compiling needs one",
        "set it: `--set {0}=64`, or `sizes={{'{0}': 64}}` in Python",
    ),
    Plain.OPEN_CONST: PlainWords(
        "const `{0}` of `{1}` has no value, and compiling needs one",
        "set it: `--set {0}=2`, or `sizes={{'{0}': 2}}` in Python",
    ),
    Plain.OPEN_BRANCH: PlainWords(
        "which branch `{1}` takes depends on const `{0}`, which has no value",
        "set it: `--set {0}=2`, or `sizes={{'{0}': 2}}` in Python",
    ),
    Plain.OPEN_WEIGHT: PlainWords(
        "the weight `{0}` runs along `{1}`, of which no largest size is known",
        "set it: `--set {1}=1024`, or call the block with a width that is bounded",
        "`{1}` is declared here",
    ),
    Plain.PADDING_UNKNOWN: PlainWords(
        "`{0}` acts on the ragged width `{1}`, and how it reads padding is not known",
        "declare `{1}` without `ragged`",
    ),
    Plain.PADDING_UNDERIVED: PlainWords(
        "`{0}` makes `{1}` of the ragged width `{2}`, but its size does not follow from it",
        "derive it, so that each example has its own: `width {1} = ...` over `{2}`",
    ),
    Plain.PADDING_SMOOTHED: PlainWords(
        "`{0}` smooths over the ragged width `{1}`, its padding included",
        "leave `smoothing` out",
    ),
    Plain.RAGGED_OPTION: PlainWords(
        "`{0}` is given the size of a ragged width, which is another in each example",
        "give it a number, or the size of an axis that is not ragged",
    ),
    Plain.RAGGED_CONST: PlainWords(
        "a const of `{0}` is the size of a ragged width, which is another in each example",
        "pass it as an argument",
    ),
    Plain.OWN_OP_PADDED: PlainWords(
        "`{0}` is an op of your own: it would be given the padding of `{1}`",
        "declare `{1}` without `ragged`, and give the op a mask",
    ),
    Plain.SHRINKS: PlainWords(
        "it is not seen that the size of `{0}` grows with the ragged width `{1}`: an array as long as the longest "
        "example must have room for all",
        "derive it by what grows, such as `a * {1} / b + c`, or give it lengths of its own: `width {0} ragged`",
    ),
    Plain.MASKED_BY_HAND: PlainWords(
        "`{0}` masks the ragged width `{1}` by hand: its padding is left out already",
        "leave `{0}` out; the model is given {2} instead",
        "a mask over `{1}` or a copy of it",
    ),
    Plain.PICKS_READ: PlainWords(
        "`{0}` reads all of `{1}`, where there may be picks of nothing",
        "write it out: `mean[{1}](y)` and its like leave them out",
    ),
    Plain.PICKS_SMOOTHED: PlainWords("`{0}` smooths over `{1}`, picks of nothing included", "leave `smoothing` out"),
}


@tells(PlainProblem)
def plain(problem: PlainProblem, words: Wording) -> Diagnostic:
    row, facts, span = PLAIN[problem.plain], [_shown(fact) for fact in problem.facts], problem.span
    message, help, there, label = (text.format(*facts, text=problem.text) for text in row[:4])
    near = nearest(str(problem.facts[0]), problem.known) if row.near else None
    return say(
        problem,
        message,
        label,
        related=[(problem.there, there)] if there else [],
        help=f"did you mean `{near}`?" if near else re.sub("``(.+?)``", lambda code: words.quoted(code[1]), help),
        fix=respelt(span, near) if row.respelt else [],
    )


def _shown(fact: Fact) -> str | float:
    match fact:
        case Axis():
            return fact.name
        case Type():
            return show_type(fact)
        case tuple():
            return listed(fact)
        case _:
            return fact
