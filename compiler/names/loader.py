"""Files found, read and parsed, each once, for what a `use` names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from pathlib import Path

from ...dsl import syntax as s
from ...dsl.base.records import field, mutable
from ...dsl.diagnostic import Diagnostic
from ...dsl.files import FileProblem, read
from ...dsl.parse import parse
from ...dsl.source import Source, Span
from ..base.names import nearest
from ..base.session import Session
from ..problems.files import NoLibraryFile, OutsideProject, TurnedComment, Unreadable
from ..problems.plain import Plain
from ..problems.relayed import Misparsed
from ..problems.sizes import Beyond
from ..sizes.axes import Value
from ..sizes.limits import PATH, Limit
from .declarations import Declarations
from .folders import Folders, Outside
from .modules import Found, Module, Override

_LIBRARY = Path(__file__).parents[1] / "std"


@cache
def library_source(name: str) -> Source:
    """A file of the standard library (`attention`), which never changes."""
    text = (_LIBRARY / f"{name}.attn").read_text(encoding="utf-8")
    return Source(f"std/{name}.attn", text)


def _files_beside(folder: Path, own: Path | None) -> list[str]:
    """The names of the files that a `use` could have named in a folder."""
    return [path.stem for path in folder.glob("*.attn") if path != own]


def _library_files() -> list[str]:
    """The files of the standard library; its folder holds nothing else."""
    names = (item.name for item in _LIBRARY.iterdir())
    return sorted(name.removesuffix(".attn") for name in names)


def _read(path: Path) -> Source:
    return read(path, regular=True)


# A tree is never changed: each config of a file, and each file that uses the library, is checked over the same one.
parsed = lru_cache(maxsize=32)(parse)


@mutable
class Loader:
    """Loads modules, each once; `settings` replace sizes and consts of the main file."""

    session: Session
    settings: Mapping[str, Value]
    config: str | None = None
    modules: dict[tuple[str, tuple[tuple[str, int], ...]], Module] = field(default_factory=dict)
    loading: list[str] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)  # each file read once
    read: Callable[[Path], Source] = _read  # raises FileProblem; an editor reads what is not saved yet
    folders: Folders = field(default_factory=Folders)
    parse: Callable[[Source], tuple[s.File, list[Diagnostic]]] = parsed

    def load(
        self, source: Source, path: Path | None, library: bool, overrides: Mapping[str, Override], main: bool = False
    ) -> Module:
        """The module of a source; raises nothing for a user's mistake: diagnostics go to the session."""
        key = (str(path or source.name), tuple(sorted((name, item.id) for name, item in overrides.items())))
        if key in self.modules:
            return self.modules[key]
        file, problems = self.parse(source)
        for problem in problems:
            self.session.problems.add(Misparsed(problem.span, problem))
        for comment in file.comments:
            _look_through(comment.span, self.session)
        module = Module(source, file, path, library)
        if problems:
            module.missing |= _names_in_text(source.text)
        self.modules[key] = module
        self.loading.append(source.name)
        settings, config = (self.settings, self.config) if main else ({}, None)
        Declarations(self, module, overrides, settings, config=config).run()
        self.loading.pop()
        return module

    def peek(
        self, source: Source, path: Path | None, library: bool, overrides: Mapping[str, Override] | None = None
    ) -> Module:
        """A file as it is on its own, or with these in place of its own, only to look at its declarations."""
        before = set(self.modules)
        module = self.load(source, path, library, overrides or {})
        for key in set(self.modules) - before:
            del self.modules[key]
        return module

    def library_names(self) -> dict[str, str]:
        """The blocks of the standard library, and the file of each, for the help of an unknown name."""
        return {
            name: f"std.{file}"
            for file in _library_files()
            for name in re.findall(r"^block (\w+)", library_source(file).text, re.MULTILINE)
        }

    def resolve(self, use: s.UseDecl, module: Module) -> Found | None:
        """The file that a `use` names."""
        names = [part.text for part in use.path]
        span = use.path[0].span.to(use.path[-1].span)
        if len(span.text) > PATH:
            self.session.problems.add(Beyond(span, Limit.PATH, (len(span.text), PATH)))
            return None
        if names[0] == "std":
            known = [f"std.{file}" for file in _library_files()]
            if ".".join(names) in known:
                return library_source("/".join(names[1:])), None, True
            self.session.problems.add(NoLibraryFile(span, ".".join(names), tuple(known)))
            return None
        beside = None if module.path is None else module.path.parent
        try:
            path = self.folders.find(beside, names)
            if path is None:
                self.session.problems.add(Plain.NO_FOLDER.at(span, ".".join(names)))
                return None
            if str(path) not in self.sources:
                self.sources[str(path)] = self.read(path)
            return self.sources[str(path)], path, False
        except Outside as away:
            self.session.problems.add(OutsideProject(span, ".".join(names), away.file, away.project))
        except OSError as problem:  # FileProblem, or a circle of links
            near = (
                None if beside is None else nearest(names[-1], _files_beside(beside.joinpath(*names[:-1]), module.path))
            )
            why = str(problem if isinstance(problem, FileProblem) else problem.strerror)
            name, last, file = ".".join(names), use.path[-1].span, module.source.name
            self.session.problems.add(Unreadable(span, name, why, last, near, file))
        return None


# These reverse what is shown of a line, in part, and nothing of what is read (Unicode Standard Annex 9): embeddings,
# overrides and isolates, and what ends them. Marks for a single place (U+200E, U+200F) cannot mislead so.
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def _look_through(comment: Span, session: Session) -> None:
    """Warn of a comment that may look like code, or hide it: Boucher and Anderson, "Trojan Source" (2021).

    Outside of comments such characters are mistakes by themselves.
    """
    found = [
        Span(comment.source, comment.start + at.start(), comment.start + at.end())
        for at in _TURNS.finditer(comment.text)
    ]
    if found:
        name = unicodedata.name(found[0].text).lower()
        session.problems.add(TurnedComment(found[0], tuple(found), name))


_DECLARES = frozenset(("use", "width", "depth", "const", "block", "model", "op", "share"))


def _names_in_text(text: str) -> set[str]:
    """The names that a file which does not parse may have meant to declare: no mistake is reported of them."""
    from ...dsl.mistakes.expected import begins_item

    lines = re.finditer(r"^[ \t]*(\w+)(.*)", text, re.MULTILINE)
    heads = [line[2] for line in lines if line[1] in _DECLARES or begins_item(text, line.start(1))]
    outside = re.findall(r"^(\w+)[ \t]*[=:,]", text, re.MULTILINE)  # statements where only declarations stand
    return {*outside, *(name for head in heads for name in re.findall(r"[A-Za-z_]\w*", head.split("(")[0]))}
