"""The command line: one file a command, listed in `main.COMMANDS`.

Diagnostics go to stderr, what was asked for to stdout. Exit status: 0 clean, 1 the spec is wrong, 2 it could not run.
Nothing but the standard library is imported before a command needs it: `attnc check` loads lark for wrong files alone,
never NumPy or torch.
"""

from .main import main

__all__ = ["main"]
