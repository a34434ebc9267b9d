"""The command `attnc`, which is `python -m attnc` too."""

from __future__ import annotations

import sys
from typing import NoReturn


def entry() -> NoReturn:
    """The console script. What it imports is imported here, where Ctrl-C is as quiet as it is later."""
    try:
        from .cli.main import main
        from .cli.streams import prepare

        prepare()
        status = main()
    except KeyboardInterrupt:
        status = 130  # `cli.output.INTERRUPTED`, which may not be there yet
    sys.exit(status)


if __name__ == "__main__":
    entry()
