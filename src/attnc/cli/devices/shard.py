"""`attnc shard`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..arguments import above_zero, memory_size, mesh_sizes, sizes, split_axes, target
from ..commands.cost import opened, whole
from ..output import CLEAN, CannotRun

if TYPE_CHECKING:
    from ...compiler.sharding.plan import ShardingPlan

REALS = ("float64", "float32", "bfloat16", "float16")
SUMMARY = "plan a model over many devices"


def arguments(parser: argparse.ArgumentParser) -> None:
    target(parser)
    sizes(parser)
    parser.add_argument("--mesh", type=mesh_sizes, metavar="NAME=N,..", help="the devices, such as data=2,model=4")
    parser.add_argument(
        "--split", action="append", default=[], type=split_axes, metavar="NAME=AXIS,..", help="what a mesh axis splits"
    )
    parser.add_argument("--find", type=whole, metavar="N", help="the best meshes of N devices, in place of --mesh")
    parser.add_argument(
        "--memory", type=memory_size, default="80GB", metavar="SIZE", help="what a device has, for --find (80GB)"
    )
    parser.add_argument("--batch", type=whole, metavar="N", help="items of all devices together (one for each copy)")
    parser.add_argument("--dtype", default="bfloat16", metavar="DTYPE", help="of reals: bfloat16, float32, ...")
    parser.add_argument("--micro", type=whole, default=1, metavar="N", help="micro-batches in a step (1)")
    parser.add_argument(
        "--reduce", choices=REALS, metavar="DTYPE", help="in which gradients are summed and kept (as --dtype)"
    )
    parser.add_argument("--zero", type=int, choices=range(4), default=3, metavar="N", help="ZeRO's stage, 0 to 3 (3)")
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
    from ...compiler.sharding.choose import NoSplit
    from ...compiler.sharding.data import data
    from ...compiler.sharding.find import MeshSearch, found
    from ...compiler.sharding.mesh import PIPE, Indivisible
    from ...compiler.sharding.page import page
    from ...compiler.sharding.stages import data_of_stages, page_of_stages

    if (args.mesh is None) == (args.find is None):
        raise CannotRun("which devices? write --mesh data=2,model=4, or --find N for the best meshes of N")
    if args.find is not None and args.json:
        raise CannotRun("--json is of one plan: it goes with --mesh")
    speeds = {"bandwidth": args.bandwidth * 1e9, "flops": args.flops * 1e12}
    how = {"dtype": args.dtype, "stage": args.zero, "reduce": args.reduce, "micro": args.micro}
    try:
        model, given = opened(args.target, args)

        def planned(mesh: Mapping[str, int], known: Mapping[str, Sequence[str]]) -> ShardingPlan:
            splits = {**known, **dict(args.split)}
            if args.find is not None:
                splits = {name: axes for name, axes in splits.items() if name in mesh}
            return model.plan(mesh, given, splits=splits, batch=args.batch, **how)

        if args.find is None and PIPE in args.mesh:
            stages = model.plan_stages(args.mesh, given, splits=dict(args.split), batch=args.batch, **how)
            said = {**speeds, "host": args.host}
            lines = page_of_stages(stages, **said)
            if args.json:
                lines = [json.dumps(data_of_stages(stages, **said), indent=2)]
        elif args.find is None and args.json:
            lines = [json.dumps(data(planned(args.mesh, {}), **speeds, host=args.host), indent=2)]
        elif args.find is None:
            lines = page(planned(args.mesh, {}), **speeds, host=args.host)
        else:
            search = MeshSearch(
                model._sized, planned, args.find, args.memory, lambda plan: plan.seconds(**speeds), args.batch,
                args.micro,
            )  # fmt: skip
            lines = found(search, speeds["bandwidth"])
    except (CostError, NoSplit, Indivisible) as problem:
        raise CannotRun(str(problem)) from None
    print("\n".join(lines))
    return CLEAN
