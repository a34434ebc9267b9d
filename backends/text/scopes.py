"""What each name of generated code stands for: every use of a name, where it is used and where it is bound.

Of one class or function at a time, by Python's own rules: a class's names are seen in its body alone, not in its
methods; defaults, annotations and decorators are read where the function stands.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from .names import SHARED


@dataclass(eq=False, slots=True)
class PythonScope:
    """A function, class or comprehension; `around` is None for what stands in the file itself."""

    around: PythonScope | None
    of_class: bool = False
    open: frozenset[str] = frozenset()  # the parameters of what has a `**` besides: anything may be given it by name
    names: set[str] = field(default_factory=set)  # that it binds


@dataclass(frozen=True, slots=True)
class Use:
    """One place where a name is written. home: what binds it; None: the file, or what the file imports."""

    name: str
    line: int
    column: int  # in bytes
    scope: PythonScope | None
    home: PythonScope | None

    def crossed(self) -> Iterator[PythonScope | None]:
        """The scopes from where a name is used to where it is bound: none of them may bind another of its name."""
        scope = self.scope
        while scope is not self.home:
            assert scope is not None
            if scope is self.scope or not scope.of_class:
                yield scope
            scope = scope.around
        yield self.home


@dataclass(frozen=True)
class TextNames:
    """The names of one text. made: what it adds to the file."""

    text: str
    uses: Sequence[Use]
    made: frozenset[str]

    @property
    def wanted(self) -> Iterator[str]:
        """What it reads of the file, its imports, or Python."""
        return (u.name for u in self.uses if u.home is None and not (u.name in self.made or u.name.startswith(SHARED)))


@lru_cache(maxsize=1024)  # helpers are carried again and again
def names_of(text: str) -> TextNames:
    found = _Finder(text)
    found.visit(ast.parse(text))
    made = frozenset(name for name, _, _, scope, binds in found.seen if binds and scope is None)
    uses = [Use(name, line, column, scope, _home(name, scope)) for name, line, column, scope, _ in found.seen]
    return TextNames(text, uses, made)


def renamed(text: str, old: str, new: str) -> str:
    """A text where a name is another one, whatever it stands for."""
    lines = text.split("\n")
    for use in sorted((use for use in names_of(text).uses if use.name == old), key=lambda use: -use.column):
        line = lines[use.line - 1].encode()
        lines[use.line - 1] = (line[: use.column] + new.encode() + line[use.column + len(old.encode()) :]).decode()
    return "\n".join(lines)


def _home(name: str, scope: PythonScope | None) -> PythonScope | None:
    """The scope that binds a name which is used in this one."""
    used = scope
    while scope is not None and (name not in scope.names or (scope.of_class and scope is not used)):
        scope = scope.around
    return scope


class _Finder(ast.NodeVisitor):
    """Notes each name of a text: (name, line, column, scope, whether it is bound there)."""

    def __init__(self, text: str) -> None:
        self.lines = [line.encode() for line in text.split("\n")]
        self.scope: PythonScope | None = None
        self.seen: list[tuple[str, int, int, PythonScope | None, bool]] = []

    def note(self, name: str, line: int, column: int, binds: bool) -> None:
        written = self.lines[line - 1][column : column + len(name.encode())].decode()
        assert written == name, f"{name!r} is not at {line}:{column}, but {written!r}"
        self.seen.append((name, line, column, self.scope, binds))
        if binds and self.scope is not None:
            self.scope.names.add(name)

    def within(self, scope: PythonScope, nodes: Sequence[ast.AST]) -> None:
        self.scope, around = scope, self.scope
        for node in nodes:
            self.visit(node)
        self.scope = around

    def all(self, nodes: Sequence[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self.note(node.id, node.lineno, node.col_offset, not isinstance(node.ctx, ast.Load))

    def visit_arg(self, node: ast.arg) -> None:
        self.note(node.arg, node.lineno, node.col_offset, True)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg is not None and node.arg.startswith(SHARED):  # the callee's, which the scope at hand may not have
            scope, self.scope = self.scope, None
            self.note(node.arg, node.lineno, node.col_offset, False)
            self.scope = scope
        self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.all(node.decorator_list)
        self._named(node, "def ")
        args = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        for hint in [*(arg.annotation for arg in args if arg is not None), node.returns]:
            self.hint(hint)
        self._function(node.args, node.body)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node.args, [node.body])

    def _function(self, args: ast.arguments, body: Sequence[ast.AST]) -> None:
        self.all([*args.defaults, *args.kw_defaults])
        own = [*args.posonlyargs, *args.args, *args.kwonlyargs]
        more = [arg for arg in (args.vararg, args.kwarg) if arg is not None]
        scope = PythonScope(self.scope, open=frozenset(arg.arg for arg in own if args.kwarg is not None))
        self.within(scope, [*own, *more, *body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.all([*node.decorator_list, *node.bases, *node.keywords])
        self._named(node, "class ")
        self.within(PythonScope(self.scope, of_class=True), node.body)

    def _named(self, node: ast.FunctionDef | ast.ClassDef, word: str) -> None:
        self.note(node.name, node.lineno, node.col_offset + len(word), True)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.hint(node.annotation)
        self.all([node.value, node.target])

    def hint(self, node: ast.AST | None) -> None:
        """An annotation: what is quoted in it is code too, but for the axes of an array (jaxtyping)."""
        match node:
            case None:
                pass
            case ast.Constant(value=str(text)):
                for name in ast.walk(ast.parse(text, mode="eval")):
                    if isinstance(name, ast.Name):
                        self.note(name.id, node.lineno, node.col_offset + 1 + name.col_offset, False)
            case ast.Subscript(value=ast.Name(id="Float" | "Int" | "Bool")):
                self.visit(node)
            case ast.expr() if not isinstance(node, ast.Name):
                for child in ast.iter_child_nodes(node):
                    self.hint(child)
            case _:
                self.visit(node)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        first, *others = node.generators
        self.visit(first.iter)
        made: list[ast.AST] = [first.target, *first.ifs, *others]
        made += [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self.within(PythonScope(self.scope), made)

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        assert self.scope is not None, "the file's imports are no helper's"
        self.scope.names.update(name.asname or name.name for name in node.names)

    def unknown(self, node: ast.AST) -> None:
        raise AssertionError(f"generated code has no {type(node).__name__}")

    visit_Global = visit_Nonlocal = visit_NamedExpr = visit_Import = visit_Match = visit_AsyncFunctionDef = unknown

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        assert node.name is None, "generated code names no exception"
        self.generic_visit(node)
