"""`attnc run`."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any

from ..output import CLEAN, WRONG, CannotRun

SUMMARY = "run an imported model: generate, or compare it with transformers"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="a folder that `attnc import` wrote")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--prompt", metavar="TEXT", help="go on from this text")
    what.add_argument("--ids", metavar="N,N,..", type=ids, help="go on from these items; items are printed")
    what.add_argument("--check", action="store_true", help="compare with transformers on random inputs")
    parser.add_argument("--max-new", type=int, metavar="N", help="how many items at most")
    parser.add_argument("--temperature", type=float, metavar="T", help="0 takes the likeliest")
    parser.add_argument("--top-k", type=int, metavar="K", help="draw from the K likeliest")
    parser.add_argument("--top-p", type=float, metavar="P", help="draw from the fewest that have probability P")
    parser.add_argument("--beams", type=int, metavar="N", help="beam search")
    parser.add_argument("--seed", type=int, metavar="N", help="of the draws")
    parser.add_argument("--plain", action="store_true", help="leave out generation_config.json")


def ids(text: str) -> list[int]:
    if not re.fullmatch(r"[0-9]+(,[0-9]+)*", text):
        raise argparse.ArgumentTypeError(f"`{text}` is not a list of items, such as 1,15,27")
    return [int(part) for part in text.split(",")]


def run(args: argparse.Namespace) -> int:
    """Generate from a prompt with a model that `attnc import` wrote, as its generation_config.json says; or compare it
    with the transformers library on random inputs (`--check`), exit status 1 if the numbers differ.
    """
    from ...hub import HubError, open
    from ...weights import WeightsError

    try:
        imported = open(args.folder)
        if args.check:
            return _check(imported)
        _generate(imported, args)
    except (HubError, WeightsError) as wrong:
        raise CannotRun(str(wrong)) from None
    except ValueError as wrong:  # what `generate` says of its options
        raise CannotRun(str(wrong)) from None
    return CLEAN


def _check(imported: Any) -> int:
    from ...hub.comparing import LARGER, TOLERANCE, compare

    found = compare(imported)
    for one in found:
        side = "no padding" if one.padded == "none" else f"padding at the {one.padded}"
        print(f"{one.length} items, {side}: {one.difference:.1e} of the standard deviation")
    if beside := found[0].beside:
        print(f"not compared, as the spec has it not: {', '.join(beside)}")
    if all(one.same for one in found):
        return CLEAN
    print(f"these differ: float32 allows for {TOLERANCE:.0e}, or {LARGER} times what theirs rounds", file=sys.stderr)
    return WRONG


def _generate(imported: Any, args: argparse.Namespace) -> None:
    from ...hub.running import TextStream, continued, prompt_ids

    names = ("max_new", "temperature", "top_k", "top_p", "beams", "seed")
    more = {name: value for name in names if (value := getattr(args, name)) is not None}
    prompt = args.ids if args.ids is not None else prompt_ids(imported, args.prompt)
    new = continued(imported, prompt, args.plain, more)
    if args.ids is not None:
        print(",".join(map(str, new)))
        return
    text = TextStream(imported.tokenizer(), prompt)
    print(args.prompt, end="", flush=True)
    for item in new:
        print(text.add(item), end="", flush=True)
    print()
