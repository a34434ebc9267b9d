"""Code of what each example of a ragged batch is held to, alike in both backends (compiler/rewrites/ragged)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ...compiler.graph.nodes import Apply
from ..text.values import Val

if TYPE_CHECKING:
    from .body import Body


def demand(body: Body, node: Apply, vals: list[Val], mask: Val | None) -> None:
    """A line that refuses the batch where a truth is false of an example."""
    ok, *shown = vals
    body.helper("check_examples")
    args = [ok.text, f'"{body.graph.name}: {node.says}"', *(val.text for val in shown)]
    body.line(f"check_examples({', '.join(args)})")


def within(body: Body, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """An index into each example's own items: proved, or checked when the code runs, but for what the mask drops."""
    index, length = vals
    axis = node.axes[0]
    if body.lies_in(index, axis):
        return index
    if index.number and length.number:
        body.check_index(index.text, length.text, axis)
        return index
    body.helper("check_ragged_index")
    index = body.one_word(index, "index")
    laid = [val for val in (index, length, mask) if val is not None and not val.number]
    order = body.union_order(laid, node.out)
    aligned = [body.align(val, order, short=True).text if val in laid else val.text for val in (index, length)]
    valid = "" if mask is None else f", {body.align(mask, order, short=True).text}"
    body.line(f'check_ragged_index({", ".join(aligned)}, "{body.graph.name}: index into {axis.name}"{valid})')
    return replace(index, bounds=body.bounds.positions(axis))


DEMANDS: dict[str, Callable[[Body, Apply, list[Val], Val | None], Val | None]] = {"demand": demand, "within": within}
