"""A spec with other sizes written into its text: what a configuration makes of it stands in the files that are left."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..dsl import syntax as s
from ..dsl.files import read
from ..dsl.parse import parse
from ..dsl.source import Source
from ..spec import Setting
from .configuration import Configured
from .problem import HubError


@dataclass
class _File:
    """declared: the values in its declarations. free: where the declaration of a free width ends. used: names from
    another file, and what they are called there. edits: what is put in place of its text, from and to where.
    """

    source: Source
    declared: dict[str, s.Expr] = field(default_factory=dict)
    free: dict[str, int] = field(default_factory=dict)
    used: dict[str, tuple[Path, str]] = field(default_factory=dict)
    edits: list[tuple[int, int, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        text = self.source.text
        for start, end, new in sorted(self.edits, reverse=True):
            text = text[:start] + new + text[end:]
        return text


def written(spec: Path, made: Configured, head: str) -> dict[str, str]:
    """The texts of a spec and of the files beside it that it uses, by name, with these values in their declarations
    and without configs; `head` is said before the spec.

    Raises HubError for a size that the spec neither declares nor uses, or a bound of what is no free width.
    """
    files: dict[Path, _File] = {}
    _collect(spec, files)
    for width, most in made.bounds.items():
        file, name = _declaring(files, spec, width)
        if name not in file.free:
            raise HubError(f"{spec.name} has no free width `{width}`, which its adapter bounds")
        file.edits.append((file.free[name], file.free[name], f" <= {shown(most)}"))
    for known, setting in made.sizes.items():
        file, name = _declaring(files, spec, known)
        if name not in file.declared:
            raise HubError(f"{spec.name} declares no `{known}`, which its adapter gives a value")
        span = file.declared[name].span
        file.edits.append((span.start, span.end, shown(setting)))
    texts = {path.relative_to(spec.parent).as_posix(): file.text for path, file in files.items()}
    return texts | {spec.name: f"{head}\n\n{texts[spec.name]}"}


def _declaring(files: dict[Path, _File], path: Path, name: str) -> tuple[_File, str]:
    """The file that declares what a file calls `name`, and what it is called there."""
    while name not in files[path].declared and name in files[path].used:
        path, name = files[path].used[name]
    return files[path], name


def _collect(path: Path, files: dict[Path, _File]) -> None:
    """The file and those beside it that it uses, once each."""
    file = files[path] = _File(read(path))
    for item in parse(file.source)[0].items:
        match item:
            case s.AxisDecl(name=name, size=size) if size is not None:
                file.declared[name.text] = size
            case s.AxisDecl(kind="width", name=name, like=None):
                file.free[name.text] = item.span.end
            case s.ConstDecl(name=name, value=value):
                file.declared[name.text] = value
            case s.ConfigDecl():
                file.edits.append((item.span.start, item.span.end, ""))
            case s.UseDecl(path=parts, names=names):
                used = path.parent.joinpath(*(part.text for part in parts)).with_suffix(".attn")
                if used.is_file():  # else it is of the standard library
                    file.used |= {(one.rename or one.name).text: (used, one.name.text) for one in names}
                    if used not in files:
                        _collect(used, files)
            case _:
                pass


def shown(setting: Setting) -> str:
    """A number or a list as the language writes it."""
    if isinstance(setting, bool):
        return str(setting).lower()
    if isinstance(setting, int | float):
        return repr(setting)
    return f"[{', '.join(map(shown, setting))}]"
