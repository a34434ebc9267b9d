"""`FILE[:NAME]`: the spec, model or block that a command works on."""

from __future__ import annotations

import argparse
import os
import re

from ..dsl.diagnostic import AttnError
from ..spec import Model, Spec, load, suggestion
from .output import CannotRun, report

UNKNOWN_SETTING, UNKNOWN_CONFIG = "E0601", "E0602"  # without a span: of the command line


def open_spec(file: str, args: argparse.Namespace) -> Spec:
    """Read and check one file, with `--set` and `--config`.

    Raises AttnError if it is wrong, OSError if it cannot be read, CannotRun for a setting or config it does not have.
    """
    try:
        return load(file, config=args.config, sizes=dict(args.set))
    except AttnError as wrong:
        for found in wrong.diagnostics:
            if found.span is None and found.code in (UNKNOWN_SETTING, UNKNOWN_CONFIG):
                raise CannotRun(found.message + (f" ({found.help})" if found.help else "")) from None
        raise


def open_model(args: argparse.Namespace, *, warn: bool = True) -> Model:
    """The model or block that `FILE[:NAME]` names. Raises as `open_spec` does."""
    file, name = split(args.target)
    spec = open_spec(file, args)
    if warn:
        report(spec.warnings)
    name = name or the_only(spec)
    if name in spec.blocks:
        return spec.block(name)
    try:
        return spec.model(name)
    except LookupError:
        known = spec.models + spec.blocks
        raise CannotRun(f"{file} has no model or block `{name}`{suggestion(name, known)}") from None


def split(target: str) -> tuple[str, str | None]:
    """`FILE` or `FILE:NAME`. A file may have colons in its path: what exists as it stands is a file."""
    file, colon, name = target.rpartition(":")
    if colon and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and not os.path.exists(target):
        return file, name
    return target, None


def the_only(spec: Spec) -> str:
    """The only model, else the only block; raises CannotRun with the names if the choice is open."""
    for names in (spec.models, spec.blocks):
        if len(names) == 1:
            return names[0]
        if names:
            listed = ", ".join(spec.models + spec.blocks)
            raise CannotRun(f"which one of {spec.name}? write {spec.name}:NAME; it has {listed}")
    raise CannotRun(f"{spec.name} has no model and no block")
