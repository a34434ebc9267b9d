"""`attnc adapters`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..output import CLEAN, CannotRun
from . import import_

SUMMARY = "list the models that `attnc import` knows"


def arguments(parser: argparse.ArgumentParser) -> None:
    import_.adapters(parser)


def run(args: argparse.Namespace) -> int:
    """List the models that `attnc import` knows: their `model_type` in config.json, spec, and architectures."""
    from ...hub import HubError, adapters

    try:
        known = adapters([Path(folder) for folder in args.adapters])
    except HubError as wrong:
        raise CannotRun(str(wrong)) from None
    for adapter in known:
        print(f"{', '.join(adapter.model_types):16} {adapter.spec.name:20} {', '.join(adapter.architectures)}")
    return CLEAN
