"""Plain mistakes: of each a sentence is said, and how to mend it, with some names, numbers or types in them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from ...dsl.source import Span
from ..base.problems import Problem
from ..graph.values import Type
from ..sizes.axes import Axis

Fact = str | float | tuple[str, ...] | Axis | Type


class Plain(Enum):
    """The code of each, and what it is; in parentheses the facts that `at` takes, in their order."""

    # names and declarations
    PARAM_OUTSIDE = "E0214", "a param stands in no block (its name)"
    DECLARED_TWICE = "E0204", "a parameter, argument or result (which of these, its name)"
    DECLARED_ALREADY = "E0204", "an axis or const of a block has a name that is taken (the name)"
    VALUE_ALREADY = "E0204", "a param has the name of a value (the name)"
    DECLARED_AGAIN = "E0204", "a name of a file (it; there: the first)"
    UNKNOWN_SETTING = "E0601", "a config sets what its file does not declare (the name, the config; known)"
    UNKNOWN_CONFIG = "E0602", "no such config (its name, the file, all that it has; known)"
    NOT_DECLARED = "E0201", "neither an axis nor a const of the file (the name; known)"
    NO_SIZE_NAMED = "E0201", "neither an axis nor a const (the name; known)"
    NO_PARAMETER_NAMED = "E0201", "a parameter is like none (the other, its kind, its name; known)"
    NO_CLAIMED_AXIS = "E0201", "a claim is causal along none (the name, the axes; known)"
    NO_BLOCK_NAMED = "E0203", "a share of no block (its name; known)"
    NO_BLOCK_SCANNED = "E0203", "a scan of no block (its name; known)"
    NOT_IN_FILE = "E0211", "a file has it not (the name, the file, what it has; known)"
    TWO_SOURCES = "E0212", "two files bring a name (it, what it is in the second; there: the first)"
    TWO_SOURCES_DIFFER = "E0212", "the same by way of two others (it, what it is in the second; there: the first)"
    USED_IN_CIRCLE = "E0210", "files use each other (the way from one to itself)"
    NEWER_OP = "W0515", "a block has the name of an op that is newer (its name, since when, how it is written)"
    ELEMENT_NAME = "E0204", "an element kind is declared as something else (its name)"
    OP_NAME = "E0204", "a block has the name of an op (the name)"
    KIND_IN_USED_FILE = "E0213", "another kind in a used file (its name, kind, that there, the file; there)"
    KIND_OF_COPY = "E0213", "a copy is of another kind (its name, kind, the original, its kind, the declaration)"
    KIND_OF_PARAMETER = "E0213", "the same among parameters (its name, kind, the original, its kind)"
    KIND_OF_FILE_COPY = "E0213", "the same of a file (as `KIND_OF_COPY`; there: the original)"
    CONST_FOR_AXIS = "E0213", "a const stands for an axis in a file that is used (its name, the kind of the axis)"
    NO_FOLDER = "E0209", "a text that is no file uses one (as written)"
    DISPLAY_EMPTY = "E0221", "nothing is to be shown of a block"
    DISPLAY_SPACES = "E0221", "a display name with spaces that no figure shows (it without)"
    DISPLAY_LONG = "E0221", "more letters than there may be (the number, the most)"
    DISPLAY_ODD = "E0221", "a display name with a sign that cannot be set (what that is called)"
    DISPLAYED_ALIKE = (
        "W0516",
        "blocks are called alike in figures (both names, what they are called; there: the first)",
    )
    NOTHING_DECLARED = "E0219", "an empty file (its name)"
    UNUSED = "W0502", "a variable (its name)"
    UNUSED_IN_REPEAT = "W0502", "a variable of a repeat (its name)"
    PASSES_IN_VAIN = (
        "W0502",
        "passes that the next bind over (what, how many there are, how many do nothing; there: it)",
    )
    ROUND_IN_VAIN = "W0502", "a value that only its own next pass reads (its name; there: the repeat)"
    UNUSED_DECLARATION = "W0503", "nothing mentions it (its kind, its name)"
    NOT_EARLIER = "E0403", "a parameter is like what is no parameter before it (its name, the other)"
    GONE_REPEAT = "E0202", "a variable of a repeat that has ended (its name; there: where it was bound)"
    GONE_BRANCH = "E0202", "a variable of a branch that is not taken (its name; there: where it was bound)"
    PART_TAKES_STEP = "W0514", "a part is called as a function of decoding is (its model, its name; there: the model)"
    CLAIM_ALONG = "E0702", "a result is claimed causal along an axis that it has not (the axis, widths of the result)"
    CLAIM_WITHOUT = "E0702", "the same of a result without any width"
    ALLOWS_NOTHING = "W0519", "nothing of what a comment allows is told there (the code)"
    ALLOWS_UNKNOWN = "W0519", "a comment allows what is no code (as written)"
    ALLOWS_ERROR = "W0519", "a comment allows an error (the code)"
    TRUSTED_IN_VAIN = "W0518", "a claim that is proved is to be trusted (its axis, the reason)"
    # mistakes of meaning
    SQUASHED_SCORES = (
        "W0524",
        "numbers between bounds stand for scores (what takes them, taken or made, the bounds, what to use; there)",
    )
    LOGARITHMS_AS_SCORES = "A0524", "logarithms of shares stand for logits (the same)"
    LOGARITHMS_AVERAGED = "W0524", "logarithms of shares are averaged with (their axis, averaged with or made; there)"
    SCORES_GROWN = "W0524", "scores are multiplied by a size (those that are summed over; there: the softmax)"
    SHARES_SCALED = "W0524", "shares are divided by a size, and their scores not (the same)"
    PADDING_READ = "W0525", "a mask of padding lets padding through (its name)"
    REAL_SHUT_OUT = "W0525", "a mask of what is to be read shuts that out (its name)"
    PENALTY_SMALL = "W0525", "a penalty on padding is small (its mask, the axis, how large; there: the softmax)"
    FILLED_HIGH = (
        "W0525",
        "scores are set to a number that is read (its mask, the axis, the number; there: the softmax)",
    )
    SCORES_TIMES_ZERO = "W0525", "scores are multiplied by 0 at padding (its mask, the axis; there: the softmax)"
    ZERO_PICKED = "W0525", "padding is 0 where the largest is picked (the op, the mask; there: the zeros)"
    SHARES_ZEROED = "W0525", "shares are set to 0 and not made to sum to one anew (the mask; there: the average)"
    COMPARED_IN_VAIN = "W0525", "a comparison of places that is always alike (where it holds)"
    OFFSET_ZERO = "W0525", "an offset is 0 wherever the mask lets through (two axes, what to write; there: the softmax)"
    PADDING_MIXED = "W0522", "padding is read with the rest (the op, the axis, what to write, who lacks it; there)"
    PADDING_SUMMED = "W0522", "products are summed over padding (the op, the axis, the mask, who lacks it; there)"
    PADDING_NORMED = "W0522", "a norm that takes no mask is of padding, too (the same; there: where it is left out)"
    PADDING_COUNTED = "W0522", "a sum of real items is divided by the number of all (axis, mask, who lacks it; there)"
    PADDING_CALLED = "W0522", "a block is not given the mask (its name, axis, mask, who lacks it; there)"
    TURNED_ALONE = "W0526", "one factor of scores is turned by its place (the width, the other so; there: the product)"
    TURNED_UNLIKE = "W0526", "both are turned, in unlike ways (there: the other)"
    TURNED_ALONG = "W0526", "they are turned along an axis that is not summed over (it, that, mended; there)"
    TURNS_CANCEL = "W0526", "both are turned by one place (the width, the other; there: the product)"
    VALUES_TURNED = "W0526", "values are turned, and not back (the width; there: the average)"
    SAME_FOR_KEYS = "W0526", "an offset is the same for all keys (the width, the op; there: it)"
    FAR_COUNTS = "W0526", "an offset rises with the distance (the widths; there: the softmax)"
    ONE_ROW = "W0526", "one row of a table is read by all pairs (the widths; there: the softmax)"
    FIRST_PLACE = "W0526", "one row of a table of places is added to all items (the width; there: the sum)"
    NEVER_LEARNS = "W0521", "no gradient comes to weights (their paths, the op where it ends)"
    NEVER_READ = "W0521", "what weights make is bound over before it is read (their paths)"
    BOTH_ZERO = "W0521", "two factors begin at 0, and stay (the paths of weights that make them so)"
    ZERO_FROZEN = "W0521", "a factor of what weights make is 0 and frozen (their paths, that of the factor)"
    LAST_PASS = "W0521", "passes whose result the next does not read (paths of weights, what is bound over; there: it)"
    INPUT_UNREAD = "A0529", "nothing reads an input (its name, that of the block or model)"
    NEVER_CALLED = "A0529", "nobody calls a block (its name)"
    SCORES_DROPPED = "W0528", "dropout before a softmax (it; there: it)"
    LOGITS_DROPPED = "W0528", "dropout on the logits of a loss (there: it)"
    PICKED_DROPPED = "W0528", "dropout on what is ranked (by what; there: that)"
    LOSS_DROPPED = "W0528", "dropout on losses (there: what makes them)"
    HEADS_UNLIKE = (
        "W0527",
        "heads are cut in another order than what meets them (both, the op mended; there: the other)",
    )
    SPLIT_TWO_WAYS = "W0527", "one value is split in two orders (the axis, both, the op mended; there: the other)"
    # axes and elements
    RENAMED_BACKWARDS = "E0301", "`[new as old]` for `[old as new]` (old, new, the operand; there: it)"
    BROADCAST_TWICE = "E0302", "a value has the axis (the axis, the value)"
    RANKS_TWICE = "E0302", "ranks along an axis that the operand has (the axis, the operand, what is ranked, its kind)"
    JOINED_TWICE = "E0302", "another operand has what is joined (its axis, what is made, the operand; there: the first)"
    NAMED_TWICE = "E0322", "in brackets (the axis)"
    TARGETS_ALONG = "E0322", "targets run along what they index (the axis, the targets)"
    LOCAL_AXIS = "E0313", "a result carries an axis of the block's own (the axis)"
    NO_SUCH_RANKS = "E0316", "ranks along an axis of another length (the op, the axis, that of ranks, their kind)"
    CHOSEN_MIXED = "E0304", "`select` chooses between a number and a truth value (both)"
    JOINED_MIXED = "E0304", "`concat` joins elements of different kinds (two operands)"
    IDS_AS_FEATURES = "W0509", "an op computes with indices (the op, the indices, their axis)"
    # what an op or a block is given
    PARAMETER_TWICE = "E0401", "in brackets (its name)"
    NUMBER_FOR_WIDTH = "E0402", "a number is given for a width (the block, the parameter)"
    VALUE_FOR_CONST = "E0402", "something that only a run knows (the const, the value)"
    DEFAULT_KIND = "E0402", "the default of a parameter is an axis of another kind (its name, kind, the axis, its kind)"
    DEFAULT_COMPUTED = "E0320", "the default of an argument is no number (its name, the default)"
    CALLS_ITSELF = "E0407", "a block (as it is called, the way from it to itself)"
    SCANNED_WHOLE = "E0411", "a block mentions the axis that it is scanned along (the block, the axis)"
    NOTHING_RUNS = "E0411", "nothing that a scan is given runs along its axis (the block, the axis)"
    STATE_ALONG = "E0411", "the value before the first step runs along the axis (its name, the axis, the value)"
    STATE_OF_SIZES = "E0411", "the default of a state of a scan is made of sizes (its name)"
    GIVEN_TWICE = "E0319", "an argument of an op (its name)"
    OPTION_TRUTH = "E0320", "a number for a truth value (the option, what it is)"
    OPTION_NUMBER = "E0320", "a truth value for a number (the option, what it is)"
    OPTION_UNKNOWN = "E0320", "an option is not known at build time (its name, what it is)"
    INIT_ARGUMENTS = "E0320", "an initialisation takes other arguments (its name, one or no)"
    XAVIER_PARAM = "E0320", "xavier for a param that has not two axes (those it has)"
    NO_INIT = "E0320", "no initialisation (all that there are)"
    INIT_NUMBER = "E0320", "an initialisation is given what is not known at build time"
    INIT_IN_PASS = "E0320", "an initialisation is given what depends on a pass"
    INIT_NEGATIVE = "E0320", "an initialisation is given a number below 0 (its name, the number)"
    XAVIER_SCALE = "E0320", "xavier for a scale, which maps nothing (the op)"
    MERGE_FORM = "E0318", "brackets of `merge` that do not make one axis"
    INDEX_FORM = "E0318", "brackets of `index` with more than one axis"
    FEWER_WINDOWS = (
        "E0316",
        "windows with a stride are fewer than items (the axis, that of taps, the stride)",
    )
    WINDOW_FORM = "E0318", "brackets of `window` that do not make two axes of one"
    PAD_FORM = "E0318", "brackets of `pad` that do not make one axis of one"
    RANKS_FORM = "E0318", "brackets of an op that do not make one axis of ranks (the op, how it is written)"
    PARTS_FORM = "E0318", "brackets of `concat` (the number of operands, of axes before the arrow, and behind it)"
    # results
    NOTHING_RETURNED = "E0408", "a block without `return` (its name)"
    RETURNED_AGAIN = "E0408", "a second `return` (there: the first)"
    RETURN_IN_REPEAT = "E0408", "a `return` inside a repeat"
    BEHIND_RETURN = "E0408", "a statement behind `return`"
    SEVERAL_RESULTS = "E0408", "a call of several where one is wanted (what is called, how many, their names)"
    CROSSED_RESULTS = "W0507", "a name takes another result (the name, the result, what is called, all results)"
    PASSES_DIFFER = "E0414", "passes of a `shared` repeat differ in weights (their index, how)"
    SET_PER_PASS = "E0413", "a pass has weights of its own, a model one set (the model; there: the model)"
    SET_PER_PASS_CALLED = "E0413", "the same of what the repeat calls (the model, its caller; there: the model)"
    SHARE_FROM_OUTSIDE = "E0413", "the same of a share outside of the repeat (its name, its block; there: the share)"
    # sizes and numbers
    DIVIDES_BY_ZERO = "E0207", "arithmetic has no value"
    TOO_LARGE = "E0207", "a number that no machine has room for"
    UNDEFINED = "E0207", "arithmetic has no value for another reason"
    NOT_STATIC = "E0207", "no number known at build time"
    NOT_STATIC_NAME = "E0207", "a variable among sizes (its name, its value)"
    WRAPPED = "E0207", "a number in a function of other languages, as `range(n)` (the number)"
    FUNCTION_FORM = "E0207", "a function of numbers with other arguments (its name, what it takes, how it is written)"
    SIZE_OF_COPY = "E0207", "a copy is declared with a size of its own (its name, the original)"
    SET_FOR_COPY = "E0601", "a size is set for a copy, from outside or by a config (its name, the original)"
    SET_TO_LIST = "E0601", "a list for a const that is one number (its name; there: its declaration)"
    SET_TO_NUMBER = "E0601", "a number for a const that is a list (its name; there: its declaration)"
    SET_RAGGED = "E0601", "the size of a ragged width is set (its name)"
    SET_MIXED_LIST = "E0601", "a const is set to numbers and truth values (its name)"
    NAME_IN_CONFIG = "E0207", "a name where a config sets what comes from another file (the name)"
    BOUNDED_DEPTH = "E0207", "a depth with `<=` (its name)"
    NO_SIZE_IN_BLOCK = "E0207", "an axis that a block declares without a size (its name, its kind)"
    PASSES_AT_RUN_TIME = "E0207", "the number of passes depends on a width"
    PASSES_INVALID = "E0207", "a number of passes that is none (the number)"
    TOO_MANY_PASSES = "E0207", "more than there may be (the number, the most)"
    MIXED_LIST = "E0222", "truth values and numbers in one list"
    READ_FORM = "E0222", "brackets behind a list do not say which number is read (its name)"
    READ_CONST = "E0222", "a const that is one number is read as a list (its name)"
    READ_SIZE = "E0222", "a size is read as a list (its name)"
    BRANCH_AT_RUN_TIME = "E0323", "a static `if` that a run decides (what decides it)"
    BRANCH_BY_WIDTH = "E0323", "a static `if` that a width decides"
    OPEN_DEPTH = "E0409", "a depth without a size is to be compiled (its name, the block)"
    OPEN_CONST = "E0409", "a const without a value is to be compiled (its name, the block)"
    OPEN_BRANCH = "E0409", "which branch a block takes depends on a const without a value (the const, the block)"
    OPEN_WEIGHT = "E0409", "a weight along a width without a largest size (its name, the width; there: the width)"
    # padding of ragged widths, and picks of nothing
    PADDING_UNKNOWN = "E0802", "it is not known how an op reads padding (the op, the width)"
    PADDING_UNDERIVED = "E0802", "the size of what an op makes does not follow from the width (the op, that, the width)"
    PADDING_SMOOTHED = "E0802", "targets are smoothed over padding (the op, the width)"
    RAGGED_OPTION = "E0802", "an op is given the size of a ragged width (the op)"
    RAGGED_CONST = "E0802", "a block is given the size of a ragged width (the block)"
    OWN_OP_PADDED = "E0802", "an op of the user's own would be given padding (the op, the width)"
    SHRINKS = "E0802", "an axis may be shorter where a ragged width is longer (the axis, the width)"
    MASKED_BY_HAND = "W0505", "an input is a mask of padding (it, the width, the inputs that say more; there: the mask)"
    PICKS_READ = "E0325", "an op reads picks of nothing (the op, the axis)"
    PICKS_SMOOTHED = "E0325", "targets are smoothed over picks of nothing (the op, the axis)"

    def at(self, span: Span | None, *facts: Fact, there: Span | None = None, known: Iterable[str] = ()) -> PlainProblem:
        """The mistake at a place. there: another one that is shown. known: the names one of which may be meant."""
        return PlainProblem(span, self, facts, there, tuple(known))


class PlainProblem(Problem):
    plain: Plain
    facts: tuple[Fact, ...]
    there: Span | None
    known: tuple[str, ...]

    @property
    def code(self) -> str:
        return self.plain.value[0]
