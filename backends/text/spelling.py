"""How the names of generated code are spelled in the end: those of the spec as they are, and what they hide makes way.

    from builtins import map as _map

    def map(w: dict[str, Array], x):  # a block of that name

Where one name hides another is told of the code itself (scopes.py), so no list of names is kept.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence

from .names import FILE, LOCAL, SHARED, plain
from .scopes import PythonScope, TextNames, Use, names_of
from .writing import WIDTH

_BUILTINS = frozenset(dir(builtins))
_MODULES = {
    "math": "math",
    "random": "random",
    "sys": "sys",
    "weakref": "weakref",
    "np": "numpy",
    "torch": "torch",
    "F": "torch.nn.functional",
}
_HOMES = {
    "Callable": "collections.abc",
    "Iterator": "collections.abc",
    "Sequence": "collections.abc",
    "suppress": "contextlib",
    "cache": "functools",
    "partial": "functools",
    "wraps": "functools",
    "Any": "typing",
    "NamedTuple": "typing",
    "Bool": "jaxtyping",
    "Float": "jaxtyping",
    "Int": "jaxtyping",
    "Tensor": "torch",
    "nn": "torch",
    "DeviceMesh": "torch.distributed.device_mesh",
    "checkpoint": "torch.utils.checkpoint",
}
_STANDARD = ("collections.abc", "contextlib", "functools", "typing")


class Spelling:
    """The names of one file: its texts as they are written in the end, and its imports.

    asked: what may be given by name to those of the texts that take anything so. foreign: ops of the user's own, each
    with what it is in its module. homes: what is imported from other files of ours, each with its module; there: what
    these call it, where that is another name. beside: the texts of those that share names with this one: what all call
    alike is called so in both.
    """

    def __init__(
        self,
        texts: Iterable[str],
        asked: Iterable[str] = (),
        foreign: Mapping[str, str] | None = None,
        homes: Mapping[str, str] | None = None,
        there: Mapping[str, str] | None = None,
        beside: Iterable[str] = (),
    ) -> None:
        self._texts = [names_of(text) for text in texts]
        self._asked = {f"{LOCAL}{plain(name)}" for name in asked}
        self._foreign, self._homes, self._there = foreign or {}, homes or {}, there or {}
        self._made = frozenset[str]().union(*(names.made for names in self._texts))
        every = [use.name for names in (*self._texts, *map(names_of, beside)) for use in names.uses]
        self._words = set(map(plain, every))
        self._wanted = {name for names in self._texts for name in names.wanted} - self._made
        self.imported = self._wanted & self._homes.keys()
        unknown = self._wanted - {*_BUILTINS, *_MODULES, *_HOMES, *self._foreign, *self._homes}
        assert not unknown, f"nothing makes what generated code uses: {sorted(unknown)}"
        self._file: dict[str, list[str]] = {}  # what the file, its imports and Python have of each plain name
        for name in sorted(self._made | self._wanted):
            self._file.setdefault(plain(name), []).append(name)
        self._moved: set[tuple[str, PythonScope | None]] = set()  # names that make way wherever they stand for the same
        self._hidden: set[tuple[int, Use]] = set()  # those of Python, and of the spec itself, only where they must
        self._others: dict[str, str] = {}  # what stands in place of each
        spoken = {plain(name) for name in every if name.startswith((LOCAL, FILE))}
        for name in sorted({name for name in every if name.startswith(SHARED) and plain(name) in spoken}):
            self._moved.add((name, None))
            self._other(name)
        for place, names in enumerate(self._texts):
            for use in names.uses:
                self._settle(place, use)
        self._aside = {use.name for _, use in self._hidden}
        self.texts = [self._written(place, names) for place, names in enumerate(self._texts)]

    def __call__(self, name: str) -> str:
        """How a name of the file is spelled."""
        return self._other(name) if (name, None) in self._moved else plain(name)

    def _settle(self, place: int, use: Use) -> None:
        """Sees to it that a name stands for the right thing where it is used."""
        word, home = plain(use.name), use.home
        if use.name.startswith(SHARED):  # what is called alike everywhere differs from all that the spec names
            return
        if home is not None and use.name in home.open and LOCAL + word in self._asked:
            self._moved.add((use.name, home))
        for scope in use.crossed():
            for other in self._alike(word, scope):
                if other == use.name:
                    continue
                if not use.name.startswith((LOCAL, FILE)):
                    self._make_way(place, use)
                elif not other.startswith((LOCAL, FILE)):
                    self._moved.add((other, scope))
                elif use.name.startswith(FILE):
                    self._hidden.add((place, use))

    def _alike(self, word: str, scope: PythonScope | None) -> Sequence[str]:
        """What is called so in a scope."""
        if scope is None:
            return self._file.get(word, ())
        return [name for mark in ("", LOCAL, FILE) if (name := mark + word) in scope.names]

    def _make_way(self, place: int, use: Use) -> None:
        if use.home is None and use.name in _BUILTINS and use.name not in self._made:
            self._hidden.add((place, use))
        else:
            self._moved.add((use.name, use.home))

    def _other(self, name: str) -> str:
        """What stands in place of a name that makes way: one that nothing bears."""
        if name not in self._others:
            wish = other = f"_{plain(name).lstrip('_') or 'unused'}"
            number = 1
            while other in self._words:
                number += 1
                other = f"{wish}_{number}"
            self._words.add(other)
            self._others[name] = other
        return self._others[name]

    def _written(self, place: int, names: TextNames) -> str:
        """A text with its names as they are in the end."""
        lines: dict[int, list[tuple[int, str]]] = {}
        for use in names.uses:
            home = None if use.name.startswith(SHARED) else use.home
            if (use.name, home) in self._moved or (place, use) in self._hidden:
                lines.setdefault(use.line, []).append((use.column, use.name))
        text = names.text.split("\n")
        for number, found in lines.items():
            line = text[number - 1].encode()
            for column, name in sorted(found, reverse=True):
                line = line[:column] + self._other(name).encode() + line[column + len(name.encode()) :]
            text[number - 1] = line.decode()
        text += [f"\n\n{self._other(name)} = {name}" for name in sorted(names.made) if name in self._aside]
        return plain("\n".join(text))

    def _called(self, name: str) -> str:
        """A name in an import."""
        known = self._there.get(name, plain(name))
        return f"{known} as {self(name)}" if self(name) != known else known

    def module(self, name: str) -> str:
        """The line that imports a module."""
        path = _MODULES[name]
        return f"import {path}" if path == self(name) else f"import {path} as {self(name)}"

    def modules(self, *names: str) -> list[str]:
        """The lines that import modules, of those that are used."""
        return [self.module(name) for name in names if name in self._wanted]

    def parts(self, *paths: str) -> list[str]:
        """The lines that import parts of modules, of those that are used."""
        found = []
        for path in paths:
            names = [name for name, home in _HOMES.items() if home == path and name in self._wanted]
            found += [f"from {path} import {', '.join(map(self._called, names))}"] if names else []
        return found

    @property
    def standard(self) -> list[str]:
        """The lines that import what is used of the standard library."""
        away = {name for name, home in self._moved if home is None} | self._aside
        lost = sorted(away & self._wanted & _BUILTINS)
        names = [f"from builtins import {', '.join(f'{name} as {self._other(name)}' for name in lost)}"] if lost else []
        return [*self.modules("math", "random", "sys", "weakref"), *names, *self.parts(*_STANDARD)]

    @property
    def imports(self) -> list[str]:
        """All lines of imports."""
        packages = ("jaxtyping", "torch", "torch.distributed.device_mesh", "torch.utils.checkpoint")
        groups = [self.standard, [*self.modules("np", "torch", "F"), *self.parts(*packages)], self._beside]
        lines = [line for group in groups if group for line in ("", *group)][1:]
        return [*lines, *self._own]

    @property
    def _beside(self) -> list[str]:
        """The lines that import from other files of ours."""
        lines = []
        for module in sorted({self._homes[name] for name in self.imported}):
            names = sorted((name for name in self.imported if self._homes[name] == module), key=_kind)
            shown = [self._called(name) for name in names]
            shown += [f"{plain(name)} as {self._other(name)}" for name in names if name in self._aside]
            line = f"from {module} import {', '.join(shown)}"
            several = [f"from {module} import (", *(f"    {name}," for name in shown), ")"]
            lines += [line] if len(line) <= WIDTH else several
        return lines

    @property
    def _own(self) -> list[str]:
        """The lines that import ops of the user's own."""
        found = []
        for name, target in sorted(self._foreign.items(), key=lambda item: item[1]):
            if name not in self._wanted:
                continue
            module, function = target.split(":")
            found.append(f"from {module} import {function} as {self(name)}")
        return found


def _kind(name: str) -> tuple[bool, bool, str]:
    """Constants come first in an import, then classes, then functions."""
    word = plain(name)
    return not word.isupper(), not word[:1].isupper(), word
