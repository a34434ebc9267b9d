"""What functions of numbers compute: of the items of arrays (the pointwise ops of `compiler/ops`), and of the numbers
known at build time (OPERATIONS). Proofs, bounds and kinds of results follow from a function's `Meaning`, not its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...dsl.base.records import record

Number = int | float | bool
Value = Number | tuple[Number, ...]
"""What a const may be: a number, a truth value, or a list of them."""

# -- what a function computes --------------------------------------------------------------------------------------


class Alike:
    """What says all by its class: any two are equal. (Each dataclass would take a part of a millisecond to import.)"""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@record
class Sum:
    """The operands, each times its number: `+` is (1, 1), negation (-1,), and (1,) is the operand unchanged."""

    times: tuple[int, ...]


class Product(Alike):
    """The product of two operands."""


@record
class Quotient:
    """The first over the second. whole: rounded down."""

    whole: bool = False


class Remainder(Alike):
    """What the first leaves, divided by the second, with the sign of that."""


class Power(Alike):
    """The first to the power of the second."""


@record
class Rounded:
    """The nearest whole number on one side. up: at or above; else at or below."""

    up: bool


class Magnitude(Alike):
    """The absolute value."""


@record
class Extreme:
    """The largest of the operands, or the smallest."""

    largest: bool


class LogSum(Alike):
    """The logarithm of the sum of the operands' exponentials."""


class Limited(Alike):
    """The first, but at least the second and at most the third."""


@record
class Compared:
    """A truth value: a sign of comparison between two numbers, as Python writes it."""

    sign: str


class Conjunction(Alike):
    """Both truth values hold."""


class Disjunction(Alike):
    """At least one of the truth values holds."""


class Complement(Alike):
    """The truth value does not hold."""


class Choice(Alike):
    """The second where the first holds, else the third."""


class Lookup(Alike):
    """The row of a learned table at an index."""


class Listing(Alike):
    """A list of the operands."""


class Item(Alike):
    """One of the operands behind the first, which says which: 0 is the one right behind it."""


class Length(Alike):
    """How many operands there are."""


class Validity(Alike):
    """A truth value: whether an index is a pick of something (rewrites/picks)."""


@record
class Function:
    """A real function of one number.

    zero:     it is 0 at 0.
    least, greatest: its values never pass these.
    above, below: it and its derivative are finite strictly between these.
    harmless: a number between those, to stand in for one that is not.
    overflows: outside of those it has a value still, only too large a one. Padding of data is not kept from there
              (rewrites/ragged), as it is where nothing is said.
    rising:   it never falls.
    straight: it is made of straight lines, none steeper than the operand itself: its derivative is finite at infinity.
    power:    it is the number to this power.
    """

    zero: bool = False
    least: float = -math.inf
    greatest: float = math.inf
    above: float = -math.inf
    below: float = math.inf
    harmless: float | None = None
    overflows: bool = False
    rising: bool = False
    straight: bool = False
    power: float | None = None

    def __post_init__(self) -> None:
        if self.harmless is None and not self.everywhere:
            raise ValueError("a function that is not finite everywhere needs a harmless number")

    @property
    def everywhere(self) -> bool:
        """Whether it and its derivative are finite at all numbers."""
        return self.above == -math.inf and self.below == math.inf

    @property
    def closed(self) -> bool:
        """Whether it rises from a value at the least number that it takes, as a root does from 0."""
        return self.zero and self.rising and self.above == 0

    def takes(self, number: float) -> bool:
        """Whether it and its derivative are finite at a number."""
        return self.above < number < self.below

    def has_value(self, number: float) -> bool:
        """Whether it has a value at a number, be it too large a one."""
        return self.everywhere or self.overflows or self.takes(number) or (self.closed and number == self.above)


Connective = Conjunction | Disjunction | Complement  # joins truth values
Meaning = (
    Sum | Product | Quotient | Remainder | Power | Rounded | Magnitude | Extreme | LogSum | Limited | Compared
    | Conjunction | Disjunction | Complement | Choice | Lookup | Validity | Listing | Item | Length | Function
)  # fmt: skip


def has_all_numbers(meaning: Meaning) -> bool:
    """Whether it has a value for all numbers, as far as they are not too large."""
    match meaning:
        case Quotient() | Remainder() | Power() | Item():
            return False
        case Function():
            return meaning.everywhere
        case _:
            return True


# -- the numbers known at build time -------------------------------------------------------------------------------


@record
class Operation:
    """What makes a number of numbers: as Python computes it, and what that means.

    size: a declaration may call it in a size or a const.
    noun: what messages call the result, of a function that not all numbers have.
    """

    of: Callable[..., Number]
    meaning: Meaning
    size: bool = False
    noun: str = ""

    def __call__(self, *numbers: Any) -> Number:
        """Raises ZeroDivisionError, ValueError or OverflowError as Python does."""
        return self.of(*numbers)


def _power(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int) and abs(b) * abs(a).bit_length() > 10_000:
        raise OverflowError("a number of thousands of digits")
    return a**b


class NoSuchItem(ValueError):
    """A list has no number at this place."""

    def __init__(self, place: Number, length: int) -> None:
        super().__init__(f"there is no number {place} among {length}")
        self.place, self.length = place, length


def _no_number(*numbers: Number) -> Number:
    raise ValueError("a list is no number")


def _item(place: Number, *numbers: Number) -> Number:
    if not 0 <= place < len(numbers) or place % 1:
        raise NoSuchItem(place, len(numbers))
    return numbers[int(place)]


LARGEST_EXPONENT = 80.0  # float32 goes up to e ^ 88

# By the signs and words with which the language writes them; `//` is a quotient in a size, which must be whole.
OPERATIONS: dict[str, Operation] = {
    "+": Operation(lambda a, b: a + b, Sum((1, 1))),
    "-": Operation(lambda a, b: a - b, Sum((1, -1))),
    "*": Operation(lambda a, b: a * b, Product()),
    "/": Operation(lambda a, b: a / b, Quotient()),
    "//": Operation(lambda a, b: a // b, Quotient(whole=True)),
    "%": Operation(lambda a, b: a % b, Remainder()),
    "^": Operation(_power, Power()),
    "<=": Operation(lambda a, b: a <= b, Compared("<=")),
    ">=": Operation(lambda a, b: a >= b, Compared(">=")),
    "<": Operation(lambda a, b: a < b, Compared("<")),
    ">": Operation(lambda a, b: a > b, Compared(">")),
    "==": Operation(lambda a, b: a == b, Compared("==")),
    "!=": Operation(lambda a, b: a != b, Compared("!=")),
    "and": Operation(lambda a, b: a and b, Conjunction()),
    "or": Operation(lambda a, b: a or b, Disjunction()),
    "not": Operation(lambda a: not a, Complement()),
    "neg": Operation(lambda a: -a, Sum((-1,))),
    "abs": Operation(abs, Magnitude(), size=True),
    "floor": Operation(math.floor, Rounded(up=False), size=True),
    "ceil": Operation(math.ceil, Rounded(up=True), size=True),
    "sqrt": Operation(
        math.sqrt, Function(zero=True, least=0, above=0, harmless=1, rising=True, power=0.5), size=True, noun="root"
    ),
    "rsqrt": Operation(lambda a: 1 / math.sqrt(a), Function(least=0, above=0, harmless=1, power=-0.5), noun="root"),
    "exp": Operation(
        math.exp, Function(least=0, below=LARGEST_EXPONENT, harmless=0, overflows=True, rising=True), size=True
    ),
    "log": Operation(math.log, Function(above=0, harmless=1, rising=True), size=True, noun="logarithm"),
    "sin": Operation(math.sin, Function(zero=True, least=-1, greatest=1)),
    "cos": Operation(math.cos, Function(least=-1, greatest=1)),
    "tanh": Operation(math.tanh, Function(zero=True, least=-1, greatest=1, rising=True)),
    "max": Operation(max, Extreme(largest=True), size=True),
    "min": Operation(min, Extreme(largest=False), size=True),
    "select": Operation(lambda c, a, b: a if c else b, Choice(), size=True),
    # Of lists, whose numbers are operands one by one. A list is no number: nothing is computed of it alone.
    "list": Operation(_no_number, Listing()),
    "item": Operation(_item, Item()),
    "length": Operation(lambda *numbers: len(numbers), Length()),
}
