"""The text of a class or function, written once, from its statements.

Here it is decided what has a line of its own, what is written where it is read, and what variables are called: a name
is free again when nothing reads what bore it. What a loop reads of the outside is read by each pass.
"""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Iterator, Sequence, Set

from .expressions import ATOM, HOLE, Code, Given, Variable
from .names import Namer, plain
from .statements import Begin, Block, Def, Do, For, Let, Place, Returns, Statement, codes
from .writing import is_path, wrap

INLINE = 64  # characters: a longer expression gets a line of its own
PATH = 16  # characters: so short a path is written wherever it is read
LONG, SHORT = (20, 12), 4  # characters: a part that gets one where there is no room, sooner and later; a name for it
UNNAMED = ("x", "y", "z")  # what a result is called that has no name


class CodePrinter:
    """Writes the statements of one scope, whose names come from `namer`, in lines of `width` characters."""

    def __init__(self, namer: Namer, width: int, statements: Sequence[Statement]) -> None:
        self.namer, self.width = namer, width
        self.lines: list[str] = []
        self._indent = ""
        self.left = Counter[Variable]()  # reads still to come
        self._outside: dict[int, list[Variable]] = {}  # of a loop, the variables that it reads and does not make
        self._latest: dict[Variable, int] = {}  # the last statement that reads a variable, counted from the end
        self._position = 0
        self._result: Let | None = None  # what is returned as it is, right behind it
        self._assigned = set(_assigned(statements))
        self._wishes = {plain(variable.name or variable.wish) for variable in self._assigned}
        self._names: dict[Variable, str] = {}
        self._inline: dict[Variable, Let] = {}  # what is written where it is read
        self._count(statements)

    def _count(self, statements: Sequence[Statement]) -> None:
        """Counts reads, from the end: of what nobody reads nothing is written."""
        for after, statement in zip([None, *reversed(statements)], reversed(statements), strict=False):
            if isinstance(statement, Let) and statement.place < Place.LINE and not self.left[statement.variable]:
                continue
            if (
                isinstance(after, Returns)
                and isinstance(statement, Let)
                and after.results == (statement.variable.code,)
            ):
                self._result = statement
            self._position += 1
            if isinstance(statement, For):
                before = self.left.copy()
                self._count(statement.body)
                read = [variable for variable, count in self.left.items() if count > before[variable]]
                made = {*statement.variables, *_made(statement.body)}
                outside = self._outside[id(statement)] = [each for each in read if each not in made]
                self.left.update(outside)
            elif isinstance(statement, Block):
                self._count(statement.body)
            read = [variable for code in codes(statement) for variable, _ in code.reads]
            self.left.update(read)
            if not (isinstance(statement, Let) and statement.place is Place.ASIDE):
                for variable in read:
                    self._latest.setdefault(variable, self._position)

    def print(self, statements: Sequence[Statement]) -> None:
        for statement in statements:
            match statement:
                case Let():
                    self._let(statement)
                case Do(code, targets, comment):
                    given = ", ".join("_" if target is None else target.name or target.wish for target in targets)
                    self._make_room([code], len(given) + len(" = ") + len(comment))
                    text = self._taken(code)
                    names = ["_" if target is None else self._named(target) for target in targets]
                    self._line(f"{', '.join(names)} = {text}" if names else text, comment)
                case Begin():
                    self._begin(statement)
                case For():
                    self._for(statement)
                case Block(head, body):
                    self._block(f"{self._taken(head)}:", body)
                case Def(variable, parameters, result, comment):
                    self._line(f"def {self._named(variable)}({self._taken(parameters)}):", comment)
                    self._line(f"    return {self._taken(result)}")
                case Returns(results, made, comment):
                    self._make_room(results, len(f"return {made}()") + 2 * (len(results) - 1) + len(comment))
                    texts = [self._taken(result) for result in results]
                    text = ", ".join(texts)
                    self._line(f"return {made}({text})" if made else f"return {text}", self._noted(texts, comment))

    def _noted(self, texts: Sequence[str], comment: str) -> str:
        """A comment on what is returned; on variables there is nothing to say."""
        return "" if all(map(is_path, texts)) else comment

    def _make_room(self, given: Sequence[Code], more: int) -> None:
        """Gives lines to the largest parts of expressions that would not fit one line, if the rest then fits."""
        while True:
            room = self.width - len(self._indent) - len("  # ") - more
            excess = sum(len(plain(self._text(code)[0])) for code in given) - room
            every = [part for code in given for part in self._parts(code)]
            choices = ([part for part in every if part[0] >= least] for least in LONG)
            parts = next((some for some in choices if sum(length - SHORT for length, _ in some) >= excess), [])
            if excess <= 0 or not parts:
                return
            chosen = set[Variable]()
            for length, variable in sorted(parts, key=lambda part: -part[0]):
                if excess > 0 and not any(variable in self._within(other) for other in chosen):
                    chosen.add(variable)
                    excess -= length - SHORT
            for variable in [variable for _, variable in parts if variable in chosen]:
                let = self._inline.pop(variable)
                text = self._taken(let.code)
                self._line(f"{self._named(variable)} = {text}", let.comment)

    def _within(self, variable: Variable) -> set[Variable]:
        """What is written within an expression that is written where it is read."""
        return {part for _, part in self._parts(self._inline[variable].code)}

    def _parts(self, code: Code) -> Iterator[tuple[int, Variable]]:
        """The expressions that are written within this one and are more than a variable, and their lengths."""
        for variable, _ in code.reads:
            let = self._inline.get(variable)
            if let is not None:
                text, _ = self._text(let.code)
                if code.text != HOLE and not is_path(text):
                    yield len(plain(text)), variable
                yield from self._parts(let.code)

    def _line(self, text: str, comment: str = "") -> None:
        laid = [self._indent + line for line in text.split("\n")]
        self.lines += laid if len(laid) > 1 else wrap(laid[0], comment, self.width)

    def _block(self, head: str, body: Sequence[Statement]) -> None:
        self.lines.append(self._indent + head)
        self._indent += "    "
        self.print(body)
        self._indent = self._indent[:-4]

    def _let(self, let: Let) -> None:
        left = self.left[let.variable]
        if not left and let.place < Place.LINE:
            return
        text, _ = self._text(let.code)
        short = let.place < Place.ASIDE or (len(plain(text)) <= PATH and all(self._stays(v) for v, _ in let.code.reads))
        if (left == 1 and self._stands_within(let, text)) or (let.place < Place.LINE and short and is_path(text)):
            self._inline[let.variable] = let
            return
        self._make_room([let.code], len(f"{let.variable.name or let.variable.wish} = ") + len(let.comment))
        text = self._taken(let.code)
        self._line(f"{self._named(let.variable)} = {text}", let.comment)

    def _stands_within(self, let: Let, text: str) -> bool:
        """Whether an expression that is read once is written there."""
        match let.place:
            case Place.ANYWHERE:
                return True
            case Place.INLINE:
                return len(plain(text)) <= INLINE
            case Place.NAMED:
                return let is self._result
            case Place.ASIDE:
                reader = self._latest.get(let.variable, 0)  # none of these is read by what is told aside itself
                read = (variable for variable, _ in let.code.reads)
                return all(self._stays(each) or self._latest.get(each, reader + 1) <= reader for each in read)
            case Place.LINE:
                return False

    def _stays(self, variable: Variable) -> bool:
        """Whether it is what it is from the beginning to the end: given, and its name is nobody else's wish."""
        given = isinstance(variable, Given) or (variable.lasting and variable not in self._assigned)
        return given and plain(variable.name) not in self._wishes

    def _begin(self, begin: Begin) -> None:
        texts = [self._text(code)[0] for code in begin.codes]
        for code in begin.codes:
            self._read(code)
        for variable, text in zip(begin.variables, texts, strict=True):
            if text.isidentifier() and not keyword.iskeyword(text) and not self.namer.is_taken(text):
                self.namer.take(text)
                self._names[variable] = text
            else:
                self._named(variable)
        new = [
            (self._names[variable], text, comment)
            for variable, text, comment in zip(begin.variables, texts, begin.comments, strict=True)
            if self._names[variable] != text
        ]
        if len(new) > 1:  # at once: a first value may be the variable of another
            self._line(f"{', '.join(name for name, _, _ in new)} = {', '.join(text for _, text, _ in new)}")
        for name, text, comment in new if len(new) == 1 else ():
            self._line(f"{name} = {text}", comment)

    def _for(self, loop: For) -> None:
        names = [self._named(each) if self.left[each] else "_" for each in loop.variables]
        self._block(f"for {', '.join(names)} in {self._taken(loop.over)}:", loop.body)
        for name in names:
            self.namer.free(name)
        for variable in self._outside[id(loop)]:
            self._read(variable.code)

    def _named(self, variable: Variable) -> str:
        if variable not in self._names:
            self._names[variable] = variable.name or self.namer.give(self._wish(variable))
        return self._names[variable]

    def _wish(self, variable: Variable) -> str:
        """What a variable is to be called: of those that have no name, the first letter that nothing else wants."""
        first, *others = UNNAMED
        if variable.wish != first or not self.namer.is_taken(first):
            return variable.wish
        free = (each for each in others if each not in self._wishes and not self.namer.is_taken(each))
        return next(free, first)

    def _taken(self, code: Code) -> str:
        """The text of an expression that is written now."""
        text, _ = self._text(code)
        self._read(code)
        return text

    def _read(self, code: Code) -> None:
        """Notes that an expression has been written; a variable that nothing will read again gives its name back."""
        for variable, _ in code.reads:
            self.left[variable] -= 1
            if not self.left[variable]:
                let = self._inline.pop(variable, None)
                if let is not None:
                    self._read(let.code)
                elif not variable.unique:
                    self.namer.free(self._names.get(variable, variable.name))

    def _text(self, code: Code) -> tuple[str, int]:
        """The text of an expression, and how tightly it binds."""
        if code.text == HOLE:
            return self._variable(code.reads[0][0])
        texts = []
        for variable, wanted in code.reads:
            text, level = self._variable(variable)
            texts.append(text if level >= wanted else f"({text})")
        return code.filled(texts), code.level

    def _variable(self, variable: Variable) -> tuple[str, int]:
        let = self._inline.get(variable)
        return self._text(let.code) if let is not None else (self._names.get(variable, variable.name), ATOM)


def reads_of(statements: Sequence[Statement]) -> Set[Variable]:
    """The variables that are read by what is written of these."""
    return CodePrinter(Namer(), 0, statements).left.keys()


def _assigned(statements: Sequence[Statement]) -> Iterator[Variable]:
    """All variables that these give a value."""
    for statement in statements:
        match statement:
            case Let(variable) | Def(variable):
                yield variable
            case Begin(variables) | For(variables):
                yield from variables
            case Do(targets=targets):
                yield from (target for target in targets if target is not None)
        if isinstance(statement, For | Block):
            yield from _assigned(statement.body)


def _made(statements: Sequence[Statement]) -> set[Variable]:
    """The variables that have a value from these statements alone: of those that `Do` gives one, it is a new one."""
    found = set[Variable]()
    for statement in statements:
        match statement:
            case Let(variable) | Def(variable):
                found.add(variable)
            case Begin(variables) | For(variables):
                found.update(variables)
        if isinstance(statement, For | Block):
            found |= _made(statement.body)
    return found
