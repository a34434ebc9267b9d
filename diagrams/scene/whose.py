"""Whose weights a glyph has: the same letter stands for the same weights, and other weights have another one.

A norm has no letter, for most have weights of their own: only one that stands in several places is given its name.
"""

from __future__ import annotations

from ..base.names import name_text
from ..base.text import Rich, italic, plain, raised, roman
from .steps import DrawStep, Scene, Section
from .tensors import tail

Owner = DrawStep | Section  # a glyph that has weights, or an open block


def tell_apart(scene: Scene) -> None:
    """Within a region, or between brackets, one letter may come from several blocks that are drawn in line. Then what
    was called is written behind it: `W (seen)`, `W (read)`. In different ones, a letter stands for other weights in
    each, unless it says `W (shared)`; of what is in an open block that is shared, its title says so."""
    owners: list[Owner] = [*(s for s in scene.sections if s.whose), *(s for s in scene.steps if s.whose)]
    uses: dict[str, list[Owner]] = {}
    for owner in owners:
        uses.setdefault(f"{isinstance(owner, Section)} {owner.whose}", []).append(owner)
    for own in uses.values():
        for step in own if len(own) > 1 else ():
            if isinstance(step, DrawStep) and step.mark == "ring":
                _name(step)
    said: dict[int, list[str]] = {}  # of owners, by their ids
    for paths in _alike(owners).values():
        for path, label in _labels(list(paths)).items() if len(paths) > 1 else ():
            for owner in paths[path]:
                said.setdefault(id(owner), []).append(label)
    for own in uses.values():
        if len({id(_around(owner)) for owner in own}) > 1:
            for owner in own:
                if not _in_shared(owner, uses):
                    said.setdefault(id(owner), []).append("shared")
    for owner in owners:
        if words := ", ".join(filter(None, said.get(id(owner), ()))):
            _write(owner, words.replace("_", " "))


def _around(owner: Owner) -> Section | None:
    return owner.parent if isinstance(owner, Section) else owner.section


def _in_shared(owner: Owner, uses: dict[str, list[Owner]]) -> bool:
    """Whether it lies in an open block that stands in several places."""
    around = _around(owner)
    while around is not None:
        if len(uses.get(f"True {around.whose}", ())) > 1:
            return True
        around = around.parent
    return False


def _alike(owners: list[Owner]) -> dict[object, dict[str, list[Owner]]]:
    """What is lettered alike at one place, by the paths of the weights."""
    groups: dict[object, dict[str, list[Owner]]] = {}
    for owner in owners:
        if isinstance(owner, DrawStep) and (owner.mark != "ring" or _is_named(owner)):
            key = id(owner.section), owner.mark, plain(owner.text) + plain(owner.raised)
            groups.setdefault(key, {}).setdefault(owner.whose, []).append(owner)
    return groups


def _labels(paths: list[str]) -> dict[str, str]:
    """What each path has and no other, with as few of its parts as do: what was called, before the weights' name."""
    parts = {path: [part for part in path.split(".")[:-1] if not part.isdigit()] for path in paths}
    for count in range(1, max(map(len, parts.values())) + 1):
        labels = {path: " ".join(own[-count:]) for path, own in parts.items()}
        if len(set(labels.values())) == len(labels):
            return labels
    return {}


def _is_named(norm: DrawStep) -> bool:
    return any(run.shift > 0 for run in norm.text)


def _name(norm: DrawStep) -> None:
    """Its name as a superscript, before the index that says in which passes it is another."""
    norm.text = _behind_letter(norm.text, raised(name_text(tail(norm.whose))))


def _behind_letter(text: Rich, more: Rich) -> Rich:
    letters = tuple(run for run in text if run.shift >= 0)
    return (*letters, *more, *text[len(letters) :])


def _write(owner: Owner, words: str) -> None:
    if isinstance(owner, Section):
        owner.title = _with(owner.title, words)
    elif owner.mark == "block":
        owner.text = roman(_with(plain(owner.text), words))
    elif owner.mark == "ring":
        owner.text = _behind_letter(owner.text, raised(italic(f" ({words})")))
    elif owner.raised:
        owner.raised = (*owner.raised, *italic(f" ({words})"))
    else:
        owner.text = (*owner.text, *italic(f" ({words})"))


def _with(title: str, words: str) -> str:
    return f"{title[:-1]}, {words})" if title.endswith(")") else f"{title} ({words})"
