"""A spec with other sizes written into its text: what a configuration makes of it stands in the file that is left."""

from __future__ import annotations

from pathlib import Path

from ..dsl import syntax as s
from ..dsl.files import read
from ..dsl.parse import parse
from ..spec import Setting
from .configuration import Configured
from .problem import HubError


def written(spec: Path, made: Configured, head: str) -> str:
    """The text of a spec with these values in its declarations and without its configs; `head` is said before it.

    Raises HubError for a size that the spec does not declare, or a bound of what is no free width.
    """
    source = read(spec)
    file, _ = parse(source)
    values: dict[str, s.Expr] = {}
    free: dict[str, int] = {}  # where the declaration of a free width ends
    edits: list[tuple[int, int, str]] = []
    for item in file.items:
        match item:
            case s.AxisDecl(name=name, size=size) if size is not None:
                values[name.text] = size
            case s.AxisDecl(kind="width", name=name, like=None):
                free[name.text] = item.span.end
            case s.ConstDecl(name=name, value=value):
                values[name.text] = value
            case s.ConfigDecl():
                edits.append((item.span.start, item.span.end, ""))
            case _:
                pass
    for width, most in made.bounds.items():
        if width not in free:
            raise HubError(f"{spec.name} has no free width `{width}`, which its adapter bounds")
        edits.append((free[width], free[width], f" <= {shown(most)}"))
    for known, setting in made.sizes.items():
        if known not in values:
            raise HubError(f"{spec.name} declares no `{known}`, which its adapter gives a value")
        edits.append((values[known].span.start, values[known].span.end, shown(setting)))
    text = source.text
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return f"{head}\n\n{text}"


def shown(setting: Setting) -> str:
    """A number or a list as the language writes it."""
    if isinstance(setting, bool):
        return str(setting).lower()
    if isinstance(setting, int | float):
        return repr(setting)
    return f"[{', '.join(map(shown, setting))}]"
