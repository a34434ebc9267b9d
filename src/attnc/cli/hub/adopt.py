"""`attnc adopt`."""

from __future__ import annotations

import argparse
import re
import sys

from ..output import CLEAN, WRONG, CannotRun, say

SUMMARY = "read a PyTorch module of your own: its spec, the map of its weights, compared"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "module", metavar="MODULE", help="package.module:factory, a function or class that gives the nn.Module"
    )
    parser.add_argument("--to", metavar="DIR", help="the folder to write (the factory's name, in this one)")
    parser.add_argument(
        "--inputs",
        metavar="FUNCTION",
        help="package.module:function, which returns the arguments of one call: a tensor, a tuple or a dict",
    )
    parser.add_argument(
        "--anyway",
        action="store_true",
        help="write the folder, too, where the spec does not compute the same: its README says where it differs",
    )


def run(args: argparse.Namespace) -> int:
    """Read a PyTorch module of your own: write a folder with a spec that computes the same, the map of its weights,
    these weights, and a check of results and gradients. MODULE's package is imported, and the module run. What is not
    the same is not written, unless --anyway: then the place is told, the folder is there to be mended, and the exit
    status is 1.
    """
    try:
        import torch  # noqa: F401
    except ImportError:
        raise CannotRun('attnc adopt runs your module: pip install "torch>=2.6"') from None
    from ...hub import HubError, adopt
    from ...weights import WeightsError

    target = args.to or re.sub(r"\W+", "_", args.module.rpartition(":")[2]) or "adopted"
    try:
        adopted = adopt(args.module, target, args.inputs, args.anyway)
    except (HubError, WeightsError) as wrong:
        raise CannotRun(str(wrong)) from None
    parameters = sum(spec.size for spec in adopted.model.weights.values())
    print(f"{adopted.verdict}")
    for name in adopted.unused:
        say(f"the result does not hang on `{name}`: the map ignores it")
    if adopted.verdict.same:
        same = f"the same{adopted.verdict.but}"
        say(f"{target}: `{adopted.model.name}`, {parameters:,} parameters, {same}. Next: see README.md there")
        return CLEAN
    for doubt in adopted.doubts:
        print(doubt, file=sys.stderr)
    name = adopted.model.name
    say(f"{target}: `{name}` is not the same yet. Mend {target}/{name}.attn, then: python {target}/check.py")
    return WRONG
