"""Plain mistakes in words: what is said of each, how to mend it, and what stands at the other place that is shown.

`{0}` is the first fact, `{text}` what is written where the mistake stands, and code between two backticks is what the
reader of the message would write (`Wording.quoted`).
"""

from __future__ import annotations

import re

from ....dsl.diagnostic import Diagnostic
from ...problems.plain import Plain, PlainProblem
from ..table import say, tells
from ..words import Wording

PLAIN: dict[Plain, tuple[str, str] | tuple[str, str, str]] = {
    Plain.PARAM_OUTSIDE: (
        "param `{0}` stands outside a block or model",
        "move it into the block or model that owns this weight; its path in the state dict starts there",
    ),
    Plain.DECLARED_TWICE: ("{0} `{1}` is declared twice", "rename one of the two"),
    Plain.DECLARED_ALREADY: ("`{0}` is declared already", "choose another name"),
    Plain.VALUE_ALREADY: ("`{0}` is a value already", "choose another name for the param"),
    Plain.ELEMENT_NAME: ("`{0}` is the name of an element kind", "choose another name"),
    Plain.OP_NAME: ("`{0}` is the name of an op", "choose another name, such as `my_{0}`"),
    Plain.CONST_FOR_AXIS: (
        "`{0}` is a {1} here, but a const in the file that uses this one",
        "declare it as a {1} there too, or use it under another name: `use ...: {0} as other`",
    ),
    Plain.NO_FOLDER: (
        "`use {0}` has no folder to look in",
        "a text that is no file finds only `std.*`; give `base=` the folder of the other files",
    ),
    Plain.DISPLAYED_ALIKE: (
        '`{0}` and `{1}` are both called "{2}" in figures',
        "give one of them another display name",
        "`{0}`",
    ),
    Plain.NOTHING_DECLARED: (
        "{0} declares nothing",
        "write `model name(x: [seq, depth]) -> [seq, depth] {{ ... }}`",
    ),
    Plain.UNUSED_DECLARATION: ("{0} `{1}` is never used", "delete it"),
    Plain.NOT_EARLIER: (
        "`{0}` is to be like `{1}`, which is no earlier parameter of this block",
        "make `{1}` a parameter too, before `{0}`",
    ),
    Plain.GONE_REPEAT: (
        "`{0}` lives inside a repeat and is gone here",
        "bind `{0}` before the repeat; then each pass rebinds it and the last value comes out",
        "it is bound in this repeat",
    ),
    Plain.GONE_BRANCH: (
        "`{0}` is bound only in a branch that is not taken",
        "bind `{0}` in both branches, or before the `if`",
        "it is bound here",
    ),
    Plain.PART_TAKES_STEP: (
        "`{0}` has no step: a part of it with weights is called `{1}`, as a function of decoding is",
        "give it another name, or the call a label, such as `{1}_`; the paths of its weights change too",
        "`{0}` is causal: it could decode",
    ),
    Plain.TRUSTED_IN_VAIN: ("`causal {0}` is proved: it need not be trusted", 'leave out `trusted "{1}"`'),
    Plain.PARAMETER_TWICE: ("parameter `{0}` is given twice", "leave one of the two out"),
    Plain.NUMBER_FOR_WIDTH: (
        "parameter `{1}` of `{0}` is a width: it takes an axis, not a number",
        "pass a width that an argument has",
    ),
    Plain.STATE_OF_SIZES: (
        "`{0}` goes from step to step, and its default is made of sizes: give its first value",
        "write ``{0} = ...`` among the arguments",
    ),
    Plain.GIVEN_TWICE: ("`{0}` is given twice", "leave one of the two out"),
    Plain.OPTION_TRUTH: ("`{0}` is true or false", "{1}"),
    Plain.OPTION_NUMBER: ("`{0}` is a number", "{1}"),
    Plain.OPTION_UNKNOWN: ("`{0}` must be known at build time", "{1}"),
    Plain.INIT_NUMBER: (
        "an initialisation takes a number known at build time",
        "pass a number, a const or a size",
    ),
    Plain.INIT_IN_PASS: (
        "an initialisation takes a number known at build time",
        "the weights of all passes begin alike: pass a number that does not depend on the pass",
    ),
    Plain.INIT_NEGATIVE: (
        "`{0}` takes a number of 0 or more, but this is {1}",
        "it says how far the first values lie from 0",
    ),
    Plain.XAVIER_SCALE: (
        "`xavier` goes by what a weight maps to what, but the scale of `{0}` maps nothing",
        "leave `init` out: the scale begins at 1",
    ),
    Plain.MERGE_FORM: ("`merge` makes one axis", "its form is ``merge[b, c -> a](x)``"),
    Plain.INDEX_FORM: ("`index` makes an index into one axis", "its form is ``index[a](i)``"),
    Plain.WINDOW_FORM: (
        "`window` slides along one axis and makes two: where the window stands, and where in it an item is",
        "its form is ``window[seq -> seq, tap](x)``",
    ),
    Plain.PAD_FORM: ("`pad` makes one axis of one", "its form is ``pad[a -> b](x, left = 1)``"),
    Plain.RANKS_FORM: ("`{0}` makes one axis of ranks", "its form is ``{1}``"),
    Plain.PARTS_FORM: (
        "`concat` joins one axis of each operand to one: "
        "here {0} operands have {1} before the arrow, and {2} behind it",
        "its form is ``concat[a, b -> c](x, y)``",
    ),
    Plain.NOTHING_RETURNED: ("`{0}` returns nothing", "end its body with `return ...`"),
    Plain.RETURNED_AGAIN: ("a second `return`", "return once, at the end", "the first"),
    Plain.RETURN_IN_REPEAT: (
        "`return` stands inside a repeat",
        "bind the result, and return it after the repeat",
    ),
    Plain.BEHIND_RETURN: ("nothing after `return` is run", "move it above, or delete it"),
    Plain.SEVERAL_RESULTS: (
        "`{0}` gives {1} results, but one is wanted here",
        "name them first: `{2} = ...` (`_` discards one)",
    ),
    Plain.CROSSED_RESULTS: (
        "`{0}` takes the result `{1}` of `{2}`",
        "results come in their declared order: write `{3} = ...`",
    ),
    Plain.PASSES_DIFFER: (
        "the passes of a `shared` repeat have one set of weights, but they hang on `{0}`: {1}",
        "learn the same in every pass, and choose between values, ``select({0} == 0, a, b)``; or leave out ``shared``",
    ),
    Plain.SET_PER_PASS: (
        "each pass of this repeat has weights of its own, but the model `{0}` has one set",
        "write ``repeat ... shared {{ }}``, or make it a ``block``: each pass then has its own",
        "a model",
    ),
    Plain.SET_PER_PASS_CALLED: (
        "each pass of this repeat has weights of its own, but the model `{0}`, which `{1}` calls, has one set",
        "write ``repeat ... shared {{ }}``, or make ``{0}`` a ``block``: each pass then has its own",
        "a model",
    ),
    Plain.SHARE_FROM_OUTSIDE: (
        "each pass of this repeat has weights of its own, but `{0}` has one set, where it stands",
        "write ``repeat ... shared {{ }}`` if the passes are to have one set, or ``share {0} = {1}`` inside the repeat",
        "outside of the repeat",
    ),
    Plain.DIVIDES_BY_ZERO: ("this divides by zero", "divide by 1 or more"),
    Plain.TOO_LARGE: ("this number is too large", "whole numbers stay below 2 ^ 62"),
    Plain.UNDEFINED: ("this has no value", "change the numbers that it is made of"),
    Plain.NOT_STATIC: (
        "this is no number known at build time",
        "a size or const is made of numbers, sizes and consts with + - * / % ^, ceil(a / b) and floor(a / b)",
    ),
    Plain.WRAPPED: ("this is no number known at build time", "write `{0}` alone"),
    Plain.FUNCTION_FORM: ("`{0}` takes {1}", "its form is `{0}({2})`"),
    Plain.SIZE_OF_COPY: (
        "`{0}` is a copy of `{1}`, and has no size of its own",
        "leave out the size, or `like {1}`",
    ),
    Plain.SET_FOR_COPY: ("`{0}` is a copy of `{1}`, and has no size of its own", "set `{1}`"),
    Plain.SET_RAGGED: (
        "`{0}` is ragged: its lengths come with the inputs, and cannot be set",
        "leave `{0}` out",
    ),
    Plain.SET_MIXED_LIST: (
        "`{0}` is set to truth values and numbers, but a list is of one kind",
        "set numbers alone, or true and false alone",
    ),
    Plain.NAME_IN_CONFIG: (
        "`{0}` cannot be used here: the config sets what comes from another file",
        "write a number",
    ),
    Plain.BOUNDED_DEPTH: (
        "depth `{0}` is bounded, but a depth's size is known",
        "write `=`, or declare a width",
    ),
    Plain.NO_SIZE_IN_BLOCK: (
        "`{0}` is declared in a block but has no size",
        "an axis of a block is made of others: `{1} {0} = ...`, or make it a parameter of the block",
    ),
    Plain.PASSES_AT_RUN_TIME: (
        "the number of passes depends on a width, but must be known at build time",
        "count by a number, a const or the size of a depth; ``scan`` runs along a width",
    ),
    Plain.PASSES_INVALID: ("a repeat runs a whole number of times, not {0}", "count by 0, 1, 2 or more"),
    Plain.TOO_MANY_PASSES: ("a repeat of {0} passes is more than {1}", "repeat it less often"),
    Plain.MIXED_LIST: (
        "this list holds truth values and numbers",
        "write numbers alone, or `true` and `false` alone",
    ),
    Plain.READ_FORM: (
        "`{0}` is a list: its brackets say which one of its numbers is read",
        "write ``{0}[i]``, with the number of a pass, a const or a number for ``i``",
    ),
    Plain.READ_CONST: (
        "`{0}` is one number, not a list: nothing is read off it",
        "write ``{0}`` alone, or make it a list, ``const {0} = [...]``",
    ),
    Plain.READ_SIZE: ("`{0}` is one number, not a list: nothing is read off it", "write ``{0}`` alone"),
    Plain.OPEN_DEPTH: (
        "depth `{0}` of `{1}` has no size, and compiling needs one",
        "set it: `--set {0}=64`, or `sizes={{'{0}': 64}}` in Python",
    ),
    Plain.OPEN_CONST: (
        "const `{0}` of `{1}` has no value, and compiling needs one",
        "set it: `--set {0}=2`, or `sizes={{'{0}': 2}}` in Python",
    ),
    Plain.OPEN_BRANCH: (
        "which branch `{1}` takes depends on const `{0}`, which has no value",
        "set it: `--set {0}=2`, or `sizes={{'{0}': 2}}` in Python",
    ),
    Plain.OPEN_WEIGHT: (
        "the weight `{0}` runs along `{1}`, of which no largest size is known",
        "set it: `--set {1}=1024`, or call the block with a width that is bounded",
        "`{1}` is declared here",
    ),
    Plain.PADDING_UNKNOWN: (
        "`{0}` acts on the ragged width `{1}`, and how it reads padding is not known",
        "declare `{1}` without `ragged`",
    ),
    Plain.PADDING_UNDERIVED: (
        "`{0}` makes `{1}` of the ragged width `{2}`, but its size does not follow from it",
        "derive it, so that each example has its own: `width {1} = ...` over `{2}`",
    ),
    Plain.PADDING_SMOOTHED: (
        "`{0}` smooths over the ragged width `{1}`, its padding included",
        "leave `smoothing` out",
    ),
    Plain.RAGGED_OPTION: (
        "`{0}` is given the size of a ragged width, which is another in each example",
        "give it a number, or the size of an axis that is not ragged",
    ),
    Plain.RAGGED_CONST: (
        "a const of `{0}` is the size of a ragged width, which is another in each example",
        "pass it as an argument",
    ),
    Plain.OWN_OP_PADDED: (
        "`{0}` is an op of your own: it would be given the padding of `{1}`",
        "declare `{1}` without `ragged`, and give the op a mask",
    ),
    Plain.SHRINKS: (
        "it is not seen that the size of `{0}` grows with the ragged width `{1}`: an array as long as the longest "
        "example must have room for all",
        "derive it by what grows, such as `a * {1} / b + c`, or give it lengths of its own: `width {0} ragged`",
    ),
    Plain.PICKS_READ: (
        "`{0}` reads all of `{1}`, where there may be picks of nothing",
        "write it out: `mean[{1}](y)` and its like leave them out",
    ),
    Plain.PICKS_SMOOTHED: ("`{0}` smooths over `{1}`, picks of nothing included", "leave `smoothing` out"),
}


@tells(PlainProblem)
def plain(problem: PlainProblem, words: Wording) -> Diagnostic:
    message, help, *there = (text.format(*problem.facts, text=problem.text) for text in PLAIN[problem.plain])
    help = re.sub("``(.+?)``", lambda code: words.quoted(code[1]), help)
    return say(problem, message, related=[(problem.there, text) for text in there], help=help)
