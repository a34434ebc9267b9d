"""A model's border: annotations of arguments, names of results, and the call that checks what comes in."""

from __future__ import annotations

import keyword

from ..compiler.axes import Axis
from ..compiler.graph import Graph, IndexInto, Input
from ..compiler.sizes import solved
from ..compiler.static import axes_in
from .body import Body
from .names import Namer
from .plan import Plan, padded
from .values import FULL, NONE, Val


def border(body: Body) -> list[str]:
    """The call that checks a model's inputs: kinds, ranks, extents, batch axes, indices."""
    rows = []
    families: dict[str, str] = {}
    seen: dict[int, str] = {}
    sizes: dict[str, str] = {}
    bounds: dict[str, str] = {}
    for val, item in zip(body.inputs, body.graph.inputs, strict=True):
        element = item.value.type.element
        axes = body.core(item.value.type.axes)
        kind = val.kind
        mentioned = list(axes)
        if isinstance(element, IndexInto):
            # Where there is padding anything may stand; its readers check the rest.
            kind = "int" if padded(body.graph, item) else f"index {element.axis.name}"
            mentioned.append(element.axis)
        for axis in mentioned:
            known = seen.setdefault(axis.family, axis.name)
            if known != axis.name:
                families[axis.name] = known
            if body.plan.static_size(axis):
                sizes[known] = body.size_code(axis)
            elif axis.bound is not None and axis not in body.plan.open:
                bounds[axis.name] = body.bound_code(axis)
        if not body.checks_input(val):
            continue
        rows.append(f'"{item.name}": ({val.text}, "{kind}", "{" ".join(axis.name for axis in axes)}")')
    if not rows:
        return _lengths(body)
    quoted = {key: f'"{value}"' for key, value in families.items()}
    lines = [
        "batch = check_inputs(",
        f'    "{body.graph.name}",',
        "    {",
        *(f"        {row}," for row in rows),
        "    },",
    ]
    for name, entries in (("sizes", sizes), ("bounds", bounds), ("copies", quoted)):
        if entries:
            lines.append(f"    {name}={_table(entries)},")
    lines.append(")")
    return [*lines, *_lengths(body)]


def _lengths(body: Body) -> list[str]:
    """The call that checks each length of a ragged width against the extent."""
    lines = []
    for val, item in zip(body.inputs, body.graph.inputs, strict=True):
        if item.length_of is None:
            continue
        extents = [
            f"{other.text}.shape[{place - len(axes)}]"
            for other, entry in zip(body.inputs, body.graph.inputs, strict=True)
            if entry.default is None
            for axes in [body.core(entry.value.type.axes)]
            for place, axis in enumerate(axes)
            if axis.family == item.length_of.family
        ]
        if not extents:  # the function is given nothing that runs along it
            continue
        lines.append(
            f'{val.text} = check_lengths("{body.graph.name}", "{item.name}", {val.text}, '
            f'"{item.length_of.name}", {extents[0]})'
        )
    return lines


def hold_derived(body: Body) -> None:
    """Holds inputs to the formulas of their derived widths, as far as other inputs tell what these are made of.

    Of a ragged width the examples' own lengths are held to that (rewrites/ragged.py): an array may be longer.
    """
    plan, stepped = body.plan, body.graph.stepped
    arrays: list[tuple[Val, Input, list[Axis]]] = []
    for val, item in zip(body.inputs, body.graph.inputs, strict=True):
        if body.checks_input(val):
            axes = body.core(item.value.type.axes)
            arrays.append((val, item, [a for a in axes if stepped is None or a.family not in stepped.times]))
    given = {axis.family: axis for _, item, axes in arrays if item.default is None for axis in axes}

    def told(axis: Axis, without: int, seen: frozenset[int] = frozenset()) -> bool:
        """Whether inputs tell the extent, also without a look at this family."""
        if plan.static_size(axis) or (axis.family in given and axis.family != without):
            return True
        formula = plan.formula(axis)
        if axis.family in seen:
            return False
        seen |= {axis.family}
        if formula is not None and all(told(part, without, seen) for part in axes_in(formula)):
            return True
        return any(_alone(whole, axis) for whole in given.values() if whole.family != without)

    held = set[int]()
    for val, item, axes in sorted(arrays, key=lambda array: array[1].default is not None):
        for axis in axes:
            if axis.family in held or plan.static_size(axis):
                continue
            formula = plan.formula(axis)
            if formula is None and item.default is not None and axis.family not in given:
                whole = next((whole for whole in given.values() if _alone(whole, axis)), None)
                formula = None if whole is None else solved(whole, axis)
            if formula is None or any(map(_is_ragged, (axis, *axes_in(formula)))):
                continue
            if all(told(part, axis.family) for part in axes_in(formula)):
                body.hold_extent(axis, formula, val, item)
                if item.default is None:
                    held.add(axis.family)
    for val, item in zip(body.inputs, body.graph.inputs, strict=True):
        element = item.value.type.element
        if not isinstance(element, IndexInto) or item.default is not None or padded(body.graph, item):
            continue
        axis = element.axis
        known = axis.family in given or plan.static_size(axis) or _is_ragged(axis) or stepped is not None
        if not known and plan.formula(axis) is not None and told(axis, -1):
            body.hold_indices(axis, val, item)


def _alone(whole: Axis, part: Axis) -> bool:
    """Whether the extent of one axis tells that of another, which it is derived from."""
    turned = solved(whole, part) if whole.size is not None else None
    return turned is not None and {axis.family for axis in axes_in(turned)} <= {whole.family}


def _is_ragged(axis: Axis) -> bool:
    return axis.ragged or (axis.size is not None and any(map(_is_ragged, axes_in(axis.size))))


def behind_default(graph: Graph) -> list[Input]:
    """Inputs without a default that follow one with a default: Python wants one of these too."""
    first = next((place for place, item in enumerate(graph.inputs) if item.default is not None), len(graph.inputs))
    return [item for item in graph.inputs[first:] if item.default is None]


def missing(body: Body) -> list[str]:
    """Refuses a call without one of these."""
    late = behind_default(body.graph)
    lines = []
    for val, item in zip(body.inputs, body.graph.inputs, strict=True):
        if item in late:
            lines += [f"if {val.text} is None:", f'    raise TypeError("{body.graph.name}: `{item.name}` is missing")']
    return lines


def _table(entries: dict[str, str]) -> str:
    return "{" + ", ".join(f'"{key}": {value}' for key, value in entries.items()) + "}"


def output_names(plan: Plan) -> list[str]:
    """Names of a model's results, fit for a NamedTuple."""
    namer = Namer()
    wishes = [output.name or f"out_{place}" for place, output in enumerate(plan.graph.outputs)]
    return [namer.give(wish.lstrip("_") or "out") for wish in wishes]


def annotation(body: Body, val: Val, array: str) -> str:
    """`Float[Tensor, "*batch q d"]`."""
    if val.number:
        return {"int": "int", "bool": "bool"}.get(val.kind, "float")
    kind = {"int": "Int", "bool": "Bool"}.get(val.kind, "Float")
    names = {axis.name for axis in body.plan.axes}
    batch = next(name for name in ("batch", "lead", "leading", "several") if name not in names or name == "several")
    lead = [] if val.lead == NONE else [f"*{batch}" if val.lead == FULL else f"*#{batch}"]
    axes = [f"#{_dimension(axis)}" if axis in val.thin else _dimension(axis) for axis in val.axes]
    return f'{kind}[{array}, "{" ".join([*lead, *axes])}"]'


def _dimension(axis: Axis) -> str:
    """The name of an axis as jaxtyping takes it, which reads a `_` in front; a keyword would read as code."""
    name = f"axis{axis.name}" if axis.name.startswith("_") else axis.name
    return f"{name}_" if keyword.iskeyword(name) else name
