"""Fresh axes and consts of one elaboration, for the parameters of a block."""

from __future__ import annotations

from ...dsl.base.records import replace
from ..base.session import Session
from ..sizes.arithmetic import substitute
from ..sizes.axes import Axis, Const, ConstOf, Number, Static, Value
from ..typing.signature import BlockSignature


def parameter(
    session: Session, signature: BlockSignature, like: Axis, extents: Axis, family: int, implicit: bool
) -> Axis:
    """A parameter of a specialisation, with the size of what it stands for."""
    axis = session.axis(
        like.name,
        like.kind,
        label=like.label,
        extent=extents.extent,
        bound=extents.bound,
        family=family,
        span=like.span,
        ragged=extents.ragged,
    )
    signature.params.append(axis)
    if implicit:
        signature.of_file[like.id] = axis
    else:
        signature.names[like.name] = axis
    return axis


def const_parameter(
    session: Session,
    signature: BlockSignature,
    name: str,
    value: Value | None,
    of_file: Const | None,
    like: Number | None = None,
) -> Const:
    const = session.const(name, value, like=like)
    signature.const_params.append(const)
    if of_file is None:
        signature.consts[name] = ConstOf(const)
    else:
        signature.const_of_file[of_file.id] = const
    return const


def derive_sizes(signature: BlockSignature, axes: list[Axis], rebound: frozenset[int] = frozenset()) -> None:
    """Derived axes of the file keep their formula, over the axes of the specialisation."""
    for axis in axes:
        if axis.size is None or axis.id in rebound:
            continue
        consts: dict[int, Static] = {id: ConstOf(const) for id, const in signature.const_of_file.items()}
        mine = signature.of_file[axis.id]
        size = substitute(axis.size, signature.of_file, consts)
        derived = replace(mine, size=size)
        signature.of_file[axis.id] = derived
        signature.params[signature.params.index(mine)] = derived


def keep_names_known(signature: BlockSignature) -> None:
    """File-level names that the block does not mention by any path cannot be wanted, but may be
    misspelt: keep them known.
    """
    for name, axis in signature.module.axes.items():
        if axis.id in signature.of_file:
            signature.names.setdefault(name, signature.of_file[axis.id])
    for name, const in signature.module.consts.items():
        if const.id in signature.const_of_file:
            signature.consts.setdefault(name, ConstOf(signature.const_of_file[const.id]))
