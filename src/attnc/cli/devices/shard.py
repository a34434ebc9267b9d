"""`attnc shard`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..arguments import above_zero, memory_size, mesh_sizes, sizes, splits, target, whole
from ..output import CLEAN, CannotRun
from ..target import opened

if TYPE_CHECKING:
    from ...compiler.sharding.options import PlanKeywords

REALS = ("float64", "float32", "bfloat16", "float16")
SUMMARY = "plan a model over many devices"


def arguments(parser: argparse.ArgumentParser) -> None:
    target(parser)
    sizes(parser)
    parser.add_argument("--mesh", type=mesh_sizes, metavar="NAME=N,..", help="the devices, such as data=2,model=4")
    splits(parser)
    parser.add_argument("--find", type=whole, metavar="N", help="the best meshes of N devices, in place of --mesh")
    parser.add_argument(
        "--memory", type=memory_size, default="80GB", metavar="SIZE", help="what a device has, for --find (80GB)"
    )
    parser.add_argument("--batch", type=whole, metavar="N", help="items of all devices together (one for each copy)")
    parser.add_argument("--dtype", default="bfloat16", metavar="DTYPE", help="of reals: bfloat16, float32, ...")
    parser.add_argument("--micro", type=whole, metavar="N", help="micro-batches in a step (1; the best for --find)")
    parser.add_argument(
        "--reduce", choices=REALS, metavar="DTYPE", help="in which gradients are summed and kept (as --dtype)"
    )
    parser.add_argument(
        "--zero", type=int, choices=range(4), metavar="N", help="ZeRO's stage, 0 to 3 (3; the best for --find)"
    )
    parser.add_argument("--host", type=whole, default=8, metavar="N", help="devices of a host, with fast links (8)")
    parser.add_argument("--bandwidth", type=above_zero, default=100.0, metavar="GB/S", help="what a device sends (100)")
    parser.add_argument(
        "--flops", type=above_zero, default=400.0, metavar="TFLOP/S", help="what a device computes (400)"
    )
    parser.add_argument("--json", action="store_true", help="the plan as JSON")


def run(args: argparse.Namespace) -> int:
    """Plan a model over the devices of a mesh: where each weight lies, what is sent, and what each device holds. `data`
    splits the batch, `model` heads, inner layers and vocabularies, `expert` experts, `context` widths; `--split` says
    otherwise.
    """
    import json

    from ...compiler.cost.bill import CostError
    from ...compiler.sharding.data import data
    from ...compiler.sharding.find import ZEROS, MeshSearch, found
    from ...compiler.sharding.mesh import PIPE, CannotDivide
    from ...compiler.sharding.options import PlanOptions
    from ...compiler.sharding.page import page
    from ...compiler.sharding.stages import data_of_stages, page_of_stages
    from ...compiler.sizes.limits import deep

    if (args.mesh is None) == (args.find is None):
        raise CannotRun("which devices? write --mesh data=2,model=4, or --find N for the best meshes of N")
    if args.find is not None and args.json:
        raise CannotRun("--json is of one plan: it goes with --mesh")
    speeds = {"bandwidth": args.bandwidth * 1e9, "flops": args.flops * 1e12}
    said = {**speeds, "host": args.host}
    try:
        model, given = opened(args.target, args)
        by = dict(args.split)
        if args.find is not None:
            how = PlanOptions(given, by, args.batch, args.dtype, reduce=args.reduce)
            if args.zero == 1:
                raise CannotRun("--find finds what can be run, and `parallelize` has no --zero 1: 0, 2 or 3")
            zeros = ZEROS if args.zero is None else (args.zero,)
            search = MeshSearch(model._sized, how, args.find, args.memory, **speeds, micro=args.micro, zeros=zeros)
            with deep():
                lines = found(search, _command(args))
        else:
            step: PlanKeywords = {
                "splits": by, "batch": args.batch, "dtype": args.dtype, "reduce": args.reduce,
                "zero": 3 if args.zero is None else args.zero, "micro": args.micro or 1,
            }  # fmt: skip
            if PIPE in args.mesh:
                stages = model.plan_stages(args.mesh, given, **step)
                lines = (
                    [json.dumps(data_of_stages(stages, **said), indent=2)]
                    if args.json
                    else page_of_stages(stages, **said)
                )
            else:
                plan = model.plan(args.mesh, given, **step)
                lines = [json.dumps(data(plan, **said), indent=2)] if args.json else page(plan, **said)
    except CannotDivide as problem:
        raise CannotRun(problem.on_command_line) from None
    except CostError as problem:
        raise CannotRun(str(problem)) from None
    print("\n".join(lines))
    return CLEAN


def _command(args: argparse.Namespace) -> str:
    """This command, but for the mesh and the step."""
    import shlex

    said = ["attnc", "shard", args.target]
    for name, value in args.set:
        values = value if isinstance(value, tuple) else (value,)
        said += ["--set", f"{name}={','.join(str(each).lower() for each in values)}"]
    said += ["--config", args.config] if args.config else []
    said += [part for folder in args.path for part in ("--path", folder)]
    return shlex.join(said)
