"""Files as modules: their axes, consts and blocks, and what `use` brings in (LANGUAGE D13).

A file is loaded once for each set of declarations that its importers put in place of its own: `use std.attention:
multihead, model` in a file that declares `model` makes the library's `model` that file's.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from ...dsl import syntax as s
from ...dsl.base.records import field, mutable, record
from ...dsl.source import Source, Span
from ..base.mentions import Mentions, mentions_of
from ..graph.values import Scalar
from ..sizes.axes import Axis, Const
from .labels import labels

ELEMENTS = frozenset(scalar.value for scalar in Scalar)
Override = Axis | Const
Found = tuple[Source, Path | None, bool]  # the file of a `use`; whether it is of the standard library


@record(eq=False, slots=False)
class BlockDef:
    """A block or model as declared, with the module that gives its names their meaning."""

    decl: s.BlockDecl
    module: Module = field(repr=False)
    target: str = ""  # "module:function", for an op of the user's own: a block without a body

    @property
    def name(self) -> str:
        return self.decl.name.text

    @property
    def display(self) -> str:
        """Its name in figures, if the spec gives one."""
        return self.decl.display.text if self.decl.display is not None else ""

    @cached_property
    def generics(self) -> dict[str, s.Generic]:
        """Its parameters in brackets; of two of one name, which is a mistake, the first."""
        found: dict[str, s.Generic] = {}
        for generic in self.decl.generics:
            found.setdefault(generic.name.text, generic)
        return found

    @cached_property
    def mentions(self) -> Mentions:
        """What its text mentions and calls."""
        return mentions_of(self.decl)

    @cached_property
    def labels(self) -> dict[Span, str]:
        """A label for each learned op and repeat that has no name."""
        return labels(self.decl)

    @property
    def is_model(self) -> bool:
        return self.decl.keyword == "model"


@mutable
class Module:
    """One file, under one set of overriding declarations."""

    source: Source
    file: s.File
    path: Path | None
    library: bool
    axes: dict[str, Axis] = field(default_factory=dict)
    consts: dict[str, Const] = field(default_factory=dict)
    blocks: dict[str, BlockDef] = field(default_factory=dict)
    configs: dict[str, s.ConfigDecl] = field(default_factory=dict)
    own: list[BlockDef] = field(default_factory=list)
    spans: dict[str, Span] = field(default_factory=dict)  # where each name was declared or used
    read: set[str] = field(default_factory=set)  # file-level names that something mentions
    missing: set[str] = field(default_factory=set)  # names of files that could not be read: nothing is known of them

    def also_used(self, block: str, name: str) -> list[tuple[Span, str]]:
        """The edit that names an axis or const in the `use` that brings a block: the one of this file then holds."""
        use = self._use_of(block)
        return [(Span(use.span.source, use.span.end, use.span.end), f", {name}")] if use is not None else []

    def is_used(self, block: str, name: str) -> bool:
        """Whether the `use` that brings a block names this of its file, too."""
        use = self._use_of(block)
        return use is not None and any(used.name.text == name for used in use.names)

    def _use_of(self, block: str) -> s.UseDecl | None:
        for item in self.file.items:
            if isinstance(item, s.UseDecl) and any((used.rename or used.name).text == block for used in item.names):
                return item
        return None


def called_blocks(blocks: Iterable[BlockDef]) -> set[BlockDef]:
    """The blocks that some block calls."""
    return {
        block.module.blocks[name] for block in blocks for name, _ in block.mentions.calls if name in block.module.blocks
    }


def ranks(blocks: Iterable[BlockDef]) -> dict[BlockDef, int]:
    """A number for each of these blocks and of those that they call, in the order in which a reader meets them."""
    found: dict[BlockDef, int] = {}
    todo = list(blocks)[::-1]
    while todo:
        block = todo.pop()
        if block not in found:
            found[block] = len(found)
            known = block.module.blocks
            todo += [known[name] for name, _ in reversed(block.mentions.calls) if name in known]
    return found
