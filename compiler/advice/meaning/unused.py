"""What a program takes and does not use (A0529): inputs that nothing reads, and blocks that nobody calls.

fairseq's encoder layers were given a mask that their attention never got (its issues 1339 and 1682), and a head of timm
had a dropout that was never called (pytorch-image-models, issue 1726). A name that is bound in vain is
W0502, a declaration that nothing mentions W0503, and weights that make what nobody reads W0521.

Of files with a model, and inputs of what that model reaches: blocks alone are for others to use, and so are their
signatures. What the text mentions in a branch that is not taken is read there. Silent: an input without which a width
would have no size; names that begin with `_`; blocks of a file most of whose blocks stand alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ....dsl import syntax as s
from ....dsl.base.records import replace
from ....dsl.source import Span
from ...base.mentions import mentions_of, walk
from ...base.problems import Problem
from ...calls.closures import Closures
from ...graph.values import Scalar
from ...names.modules import BlockDef, Module
from ...problems.plain import Plain


def unused(
    module: Module, called: Collection[BlockDef], closures: Closures, told: Collection[Problem]
) -> Iterator[Problem]:
    """Of the file that is checked. called: the blocks that some block calls. told: what is told of it already."""
    padded = [problem.span for problem in told if problem.code == Plain.PADDING_MIXED.value[0]]
    reached = [block for block in module.own if block.is_model]
    if not reached:
        return
    for block in reached:
        yield from _unread(block, closures, padded)
        reached += [each for each in _callees(block) if each.module is module and each not in reached]
    alone = [block for block in module.own if not (block.is_model or block.target or block in called)]
    for block in alone if 2 * len(alone) < len(reached) else ():  # else the file is a collection
        if not block.name.startswith("_"):
            yield Plain.NEVER_CALLED.at(block.decl.name.span, block.name)


def _callees(block: BlockDef) -> Iterator[BlockDef]:
    known = block.module.blocks
    return (known[name] for name in dict.fromkeys(name for name, _ in block.mentions.calls) if name in known)


def _unread(block: BlockDef, closures: Closures, padded: Collection[Span | None]) -> Iterator[Problem]:
    """padded: where padding is read, which is told: of a mask of it that nothing reads no more is said."""
    whole = block.decl.span
    of_padding = any(
        at is not None and at.source is whole.source and whole.start <= at.start < whole.end for at in padded
    )
    names = (node for node in walk(block.decl.body) if isinstance(node, s.Name | s.Expect))
    read = {node.text if isinstance(node, s.Name) else node.name.text for node in names}
    kept = [each for each in block.decl.formals if each.name.text in read]
    for formal in block.decl.formals if not block.target else ():
        if formal in kept or formal.name.text.startswith("_") or (of_padding and _is_mask(formal)):
            continue
        if not _sizes(block, formal, kept, closures):
            yield Plain.INPUT_UNREAD.at(formal.span, formal.name.text, block.name)


def _is_mask(formal: s.Formal) -> bool:
    return formal.type.element is not None and formal.type.element.text == Scalar.BOOL.value


def _sizes(block: BlockDef, formal: s.Formal, kept: list[s.Formal], closures: Closures) -> bool:
    """Whether a width that the block has need of comes with this input alone."""
    there = {_origin(block, name.text) for each in kept for name in each.type.axes}
    alone = [name.text for name in formal.type.axes if _origin(block, name.text) not in there]
    if not alone:
        return False
    file, names = block.module.axes, mentions_of(replace(block.decl, generics=(), formals=())).names
    needed = [file[name] for name in names if name in file]
    needed += [axis for callee in _callees(block) for axis in closures.of(callee)[0]]
    for name in alone:
        if name in block.generics:
            if block.generics[name].kind == "width" and (name in names or block.generics[name].like is not None):
                return True
        elif name in file and file[name].is_width:
            axis = file[name]
            if any(each.family == axis.family or closures.hangs_on(each.id, {axis.id}) for each in needed):
                return True
    return False


def _origin(block: BlockDef, name: str) -> str | int:
    """What an axis has its size with: a copy has that of the axis that it is like."""
    generic = block.generics.get(name)
    if generic is not None:
        return name if generic.like is None else _origin(block, generic.like.text)
    axis = block.module.axes.get(name)
    return name if axis is None else axis.family
