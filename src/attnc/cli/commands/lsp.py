"""`attnc lsp`."""

from __future__ import annotations

import argparse

from ..output import CLEAN, CannotRun

SUMMARY = "serve an editor: the language server"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stdio", action="store_true", help="speak over stdin and stdout (as it does anyway)")


def run(args: argparse.Namespace) -> int:
    """Speak the Language Server Protocol over stdin and stdout, for any editor: diagnostics, hover, completion, rename
    and the rest. docs/editors.md says how to set one up.
    """
    try:
        import pygls.lsp.server  # noqa: F401
    except ImportError:
        raise CannotRun('the language server needs pygls: pip install "pygls>=2.1"') from None
    from ...editor.server import serve

    return CLEAN if serve() else 1  # as the protocol has it
