"""Plain mistakes: of each a sentence is said, and how to mend it, with a name or a number or two in them."""

from __future__ import annotations

from enum import Enum

from ...dsl.source import Span
from ..base.problems import Problem


class Plain(Enum):
    """The code of each, and what it is; in parentheses the facts that `at` takes, in their order."""

    # names and declarations
    PARAM_OUTSIDE = "E0214", "a param stands in no block (its name)"
    DECLARED_TWICE = "E0204", "a parameter, argument or result (which of these, its name)"
    DECLARED_ALREADY = "E0204", "an axis or const of a block has a name that is taken (the name)"
    VALUE_ALREADY = "E0204", "a param has the name of a value (the name)"
    ELEMENT_NAME = "E0204", "an element kind is declared as something else (its name)"
    OP_NAME = "E0204", "a block has the name of an op (the name)"
    CONST_FOR_AXIS = "E0213", "a const stands for an axis in a file that is used (its name, the kind of the axis)"
    NO_FOLDER = "E0209", "a text that is no file uses one (as written)"
    DISPLAYED_ALIKE = (
        "W0516",
        "blocks are called alike in figures (both names, what they are called; there: the first)",
    )
    NOTHING_DECLARED = "E0219", "an empty file (its name)"
    UNUSED_DECLARATION = "W0503", "nothing mentions it (its kind, its name)"
    NOT_EARLIER = "E0403", "a parameter is like what is no parameter before it (its name, the other)"
    GONE_REPEAT = "E0202", "a variable of a repeat that has ended (its name; there: where it was bound)"
    GONE_BRANCH = "E0202", "a variable of a branch that is not taken (its name; there: where it was bound)"
    PART_TAKES_STEP = "W0514", "a part is called as a function of decoding is (its model, its name; there: the model)"
    TRUSTED_IN_VAIN = "W0518", "a claim that is proved is to be trusted (its axis, the reason)"
    # what an op or a block is given
    PARAMETER_TWICE = "E0401", "in brackets (its name)"
    NUMBER_FOR_WIDTH = "E0402", "a number is given for a width (the block, the parameter)"
    STATE_OF_SIZES = "E0411", "the default of a state of a scan is made of sizes (its name)"
    GIVEN_TWICE = "E0319", "an argument of an op (its name)"
    OPTION_TRUTH = "E0320", "a number for a truth value (the option, what it is)"
    OPTION_NUMBER = "E0320", "a truth value for a number (the option, what it is)"
    OPTION_UNKNOWN = "E0320", "an option is not known at build time (its name, what it is)"
    INIT_NUMBER = "E0320", "an initialisation is given what is not known at build time"
    INIT_IN_PASS = "E0320", "an initialisation is given what depends on a pass"
    INIT_NEGATIVE = "E0320", "an initialisation is given a number below 0 (its name, the number)"
    XAVIER_SCALE = "E0320", "xavier for a scale, which maps nothing (the op)"
    MERGE_FORM = "E0318", "brackets of `merge` that do not make one axis"
    INDEX_FORM = "E0318", "brackets of `index` with more than one axis"
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
    WRAPPED = "E0207", "a number in a function of other languages, as `range(n)` (the number)"
    FUNCTION_FORM = "E0207", "a function of numbers with other arguments (its name, what it takes, how it is written)"
    SIZE_OF_COPY = "E0207", "a copy is declared with a size of its own (its name, the original)"
    SET_FOR_COPY = "E0601", "a size is set for a copy, from outside or by a config (its name, the original)"
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
    PICKS_READ = "E0325", "an op reads picks of nothing (the op, the axis)"
    PICKS_SMOOTHED = "E0325", "targets are smoothed over picks of nothing (the op, the axis)"

    def at(self, span: Span | None, *facts: str | float, there: Span | None = None) -> PlainProblem:
        """The mistake at a place; `there` is another one that is shown."""
        return PlainProblem(span, self, facts, there)


class PlainProblem(Problem):
    plain: Plain
    facts: tuple[str | float, ...]
    there: Span | None

    @property
    def code(self) -> str:
        return self.plain.value[0]
