"""`attnc watch`."""

from __future__ import annotations

import argparse
import re
from contextlib import suppress

from ...dsl.errors import AttnError
from ...dsl.files import read
from ..arguments import sizes, target
from ..output import CLEAN, CannotRun, say
from ..target import STDIN, open_model, split

SUMMARY = "follow a spec on a page: mistakes, figure, code, cost"


def arguments(parser: argparse.ArgumentParser) -> None:
    target(parser)
    parser.add_argument("--port", type=port, default=0, metavar="N", help="of the page; without it any that is free")
    parser.add_argument("--browser", action="store_true", help="open the page")
    sizes(parser)


def port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or not int(text) < 2**16:
        raise argparse.ArgumentTypeError(f"`{text}` is not a port (1 to 65535)")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Serve a page that follows FILE as it is written: its mistakes, its figure, the code and the cost; where there are
    mistakes, the last that was right. The page is for browsers of this machine alone, and ends with ctrl-C.
    """
    from ...watch.following import Following
    from ...watch.server import WatchServer

    file, name = split(args.target)
    if file == STDIN:
        raise CannotRun("a file is followed, not stdin: name one")
    if name is None:
        read(file)  # what cannot be read, or is not there, at first is a slip of the command
    else:
        with suppress(AttnError):  # mistakes are for the page
            open_model(args, warn=False)
    following = Following(file, name, args.config, dict(args.set), args.path)
    try:
        server = WatchServer(following, args.port)
    except OSError as problem:
        raise CannotRun(f"cannot serve on port {args.port}: {problem.strerror}") from None
    say(f"{server.address} follows {file}; ctrl-C ends it")
    following.start()
    if args.browser:
        import webbrowser

        webbrowser.open(server.address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
        following.stop()
    return CLEAN
