"""The command `attnc`, which is `python -m attnc` too."""

from __future__ import annotations

import gc
import sys
from typing import NoReturn


def entry() -> NoReturn:
    """The console script. What it imports is imported here, where Ctrl-C is as quiet as it is later."""
    gc.disable()  # nothing of what is imported is garbage
    try:
        from .cli.main import main
        from .cli.streams import prepare

        gc.freeze()
        if sys.argv[1:2] == ["check"]:  # which makes much that stays, and few cycles
            gc.set_threshold(200_000)
        gc.enable()
        prepare()
        status = main()
    except KeyboardInterrupt:
        status = 130  # `cli.output.INTERRUPTED`, which may not be there yet
    gc.freeze()  # what is left goes with the process: nobody need look through it
    sys.exit(status)


if __name__ == "__main__":
    entry()
