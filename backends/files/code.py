"""The files of one model: its classes (or functions), its decoding beside them, and the module that both import.

    transformer.py              the model: `forward` alone
    transformer_decoding.py     the steps of these classes, for whoever asks for them
    attnc_runtime_torch.py      what both need of ours, one for all models of a folder

Or all in one, the model first.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ...compiler.base.names import METHODS
from ...version import __version__
from ..text.carried import homes, joined, used_helpers
from ..text.docstrings import docstring
from ..text.names import DTYPE, plain
from ..text.scopes import names_of
from ..text.spelling import Spelling

EDIT = "Yours to edit; saved weights load as long as their names and shapes stay."
STEPS = "`attnc compile --decoding` adds a file of its steps over a cache: functions for these classes as they stand."
_VERSION = re.compile(r'^ATTNC_RUNTIME = "([^"\n]*)"$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Library:
    """What the files of a backend have in common.

    runtime: the module that they import. modules: those of `backends/runtime` that it is made of. own: what of these a
    file says itself; short: and what it says itself where it would import nothing else. packages: what else they need.
    """

    runtime: str
    modules: tuple[str, ...]
    own: frozenset[str]
    short: frozenset[str]
    packages: tuple[str, ...]

    def runtime_file(self) -> str:
        """The text of the module that they import."""
        imports, body = joined(self.modules)
        version = f"{__version__} {hashlib.sha256(body.encode()).hexdigest()[:8]}"
        says = (
            f"What files written by attnc {__version__} for {self.packages[0]} import of ours: one for all of a folder."
        )
        return f'"""{says}"""\n\n{imports}\n\nATTNC_RUNTIME = "{version}"\n\n\n{body}'


def version_of_runtime(text: str) -> str | None:
    """Of which version a file of that kind is; None for a file of another kind."""
    found = _VERSION.search(text)
    return None if found is None else found[1]


@dataclass(frozen=True)
class ModelCode:
    """What was written for a model, names marked, before it is put into files.

    header: where it comes from; about: what the docstring says then. model, decoding: classes and functions. foreign:
    ops of the user's own. asked: what may be given by name to `generate`. together: the paths of weights that the
    products of steps read together. no_step: why it has no steps, where it has none.
    """

    library: Library
    name: str
    header: str
    about: str
    model: Sequence[str]
    decoding: Sequence[str] = ()
    foreign: Mapping[str, str] = field(default_factory=dict)
    asked: Sequence[str] = ()
    together: Sequence[tuple[str, ...]] = ()
    no_step: str = ""

    @cached_property
    def _runtime(self) -> dict[str, str]:
        """What of ours is imported, and where from."""
        return dict.fromkeys(homes(self.library.modules).keys() - self._own, self.library.runtime)

    @cached_property
    def _own(self) -> frozenset[str]:
        """What of ours the file of the model says itself."""
        all_own = self.library.own | self.library.short
        imported = _wanted(self.model) & homes(self.library.modules).keys() - all_own
        return self.library.own if imported else all_own

    @cached_property
    def _default(self) -> Spelling:
        own = used_helpers(self.library.modules, _wanted(self.model) & self._own)
        return Spelling((*own, *self.model), (), self.foreign, self._runtime, None, self.decoding)

    def _steps(self, home: str) -> Spelling:
        made = {name for text in self.model for name in names_of(text).made} | self._own
        known = self._runtime | dict.fromkeys(made, home)
        there = {name: self._default(name) for name in self._own}
        return Spelling(self.decoding, self.asked, self.foreign, known, there, self.model)

    @cached_property
    def names(self) -> dict[str, str]:
        """How the functions of decoding are spelled, and the parameter `dtype`, if any: a name of the spec may be
        the same.
        """
        spelling = self._steps(self.name)
        given = [DTYPE] if any(DTYPE in text for text in (*self.model, *self.decoding)) else []
        return {plain(name): spelling(name) for name in (*given, *(METHODS if self.decoding else ()))}

    @property
    def needs_runtime(self) -> bool:
        """Whether the file of the model imports the module of ours."""
        return bool(self._default.imported)

    def default(self) -> str:
        """The file of the model."""
        about = f"{self.about} {STEPS}" if self.decoding and self.about else self.about
        return self._file(self.header, about, self._default, self.needs_runtime, EDIT)

    def beside(self, home: str) -> str:
        """The file of decoding, which imports the model's from the module `home`."""
        assert self.decoding
        about = f"Functions over a cache, for the model as it stands in {home}.py."
        return self._file(f"Decoding of {self.header}" if self.header else "", about, self._steps(home), True, "")

    def single(self, decoding: bool = True) -> str:
        """All in one: the model first, then its steps, then what both need."""
        modules, written = self.library.modules, [*self.model, *(self.decoding if decoding else ())]
        helpers = used_helpers(modules, _wanted(written))
        first = used_helpers(modules, _wanted([*written, *helpers]) & (self.library.own | self.library.short))
        last = [text for text in helpers if text not in first]
        spelling = Spelling((*first, *written, *last), self.asked, self.foreign)
        return self._file(self.header, self.about, spelling, False, EDIT, ("from __future__ import annotations", ""))

    def _file(
        self, header: str, about: str, spelling: Spelling, beside: bool, edit: str, first: Sequence[str] = ()
    ) -> str:
        *others, last = self.library.packages
        needs = f"Needs {', '.join(others)}{' and ' if others else ''}{last} alone."
        if beside:
            needs = f"Needs {', '.join(self.library.packages)} and {self.library.runtime}.py, which lies beside it."
        said = docstring(f"{header} {needs}\n{edit}\n\n{about}") if header else []
        code = "\n".join((*first, *spelling.imports)) + "\n\n\n" + "\n\n\n".join(spelling.texts) + "\n"
        return "\n".join([*said, "", code]) if said else code


def _wanted(texts: Iterable[str]) -> set[str]:
    return {name for text in texts for name in names_of(text).wanted}
