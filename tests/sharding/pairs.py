"""Pairs of model and mesh that a plan accepts, so drawn that each kind of parallelism comes alone and with each other.

`python -m tests.sharding.pairs RESULTS` prints how many of each there were, from lines that a run printed.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any

from attnc.compiler.sharding.choose import NoSplit, axes_named
from attnc.compiler.sharding.mesh import BATCH as ITEMS
from attnc.compiler.sharding.mesh import Indivisible, mesh_of
from attnc.compiler.sharding.spread import spread
from attnc.compiler.sharding.stages import stages

from .subjects import BATCH, KINDS, model

AXES = ("data", "model", "context", "expert", "pipe")
ROUTED = ("zoo/mixtral", "zoo/mixed/latent", "zoo/mixed/experts", "zoo/t5/t5")
DEPTHS, WIDTHS = ("inner", "narrow", "groups", "heads", "vocab"), ("seq", "source", "target")


def meshes(world: int) -> list[tuple[str, ...]]:
    """Axes of meshes of so many devices, in all choices: each alone and two together, of eight devices three, too."""
    most = int(math.log2(world))
    every = [axes for count in range(1 + (world > 4), most + 1) for axes in combinations(AXES, count)]
    return [axes for axes in every if world <= BATCH or axes != ("data", "expert")]  # both split the batch


def pairs(world: int, count: int) -> list[dict[str, Any]]:
    """So many of them, by seeds, each with its own way to train."""
    found: list[dict[str, Any]] = []
    for seed in range(1000 * world, 1000 * world + count):
        chosen = meshes(world)
        found.append(_pair(world, chosen[seed % len(chosen)], seed))
    return found


def _pair(world: int, axes: Sequence[str], seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    for _ in range(1000):
        sizes = [2] * len(axes)
        sizes[rng.randrange(len(axes))] *= world // math.prod(sizes)
        mesh = dict(rng.sample([*zip(axes, sizes, strict=True)], len(axes)))
        copies = mesh.get("data", 1) * mesh.get("expert", 1)
        if copies > BATCH:
            continue
        name = rng.choice(ROUTED if "expert" in mesh else [*KINDS])
        if name in KINDS:
            _, depths, widths = KINDS[name]
        else:
            named = axes_named(model(name).graph)
            depths, widths = ([each for each in some if each in named] for some in (DEPTHS, WIDTHS))
        splits = _splits(rng, mesh, depths, widths)
        if splits is None or not accepted(name, mesh, splits):
            continue
        case = {"name": name, "mesh": mesh, "splits": splits, "seed": seed}
        case |= {"zero": rng.choice((3, 3, 2, 0)), "checkpoint": rng.random() < 0.3, "steps": rng.choice((1, 3, 10))}
        case |= {"accumulate": rng.choice((1, 1, 2)), "clip": rng.choice((0.1, 1.0, 100.0))}
        if "pipe" in mesh:
            case["micro"] = rng.choice([n for n in (1, 2, 4) if BATCH // copies % n == 0])
        return case
    raise AssertionError(f"no model takes {axes} on {world} devices")


def _splits(
    rng: random.Random, mesh: dict[str, int], depths: Sequence[str], widths: Sequence[str]
) -> dict[str, tuple[str, ...]] | None:
    """What the axes of a mesh split; None where the model has no width for them."""
    splits: dict[str, tuple[str, ...]] = {}
    for one in mesh:
        if one == "data":
            splits[one] = (ITEMS,)
        elif one == "expert":
            splits[one] = (ITEMS, "expert")
        elif one == "context":
            if not widths:
                return None
            splits[one] = tuple(widths[: rng.randint(1, len(widths))])
        elif one == "model":
            free = [each for each in depths if each != "expert" or "expert" not in mesh]
            chosen = rng.sample(free, rng.randint(1, len(free)))
            between = widths if "context" not in mesh and rng.random() < 0.5 else ()  # norms by parts of widths
            splits[one] = (*chosen, *between)
    return splits


def accepted(name: str, mesh: dict[str, int], splits: dict[str, tuple[str, ...]]) -> bool:
    """Whether the model can be divided so."""
    whole, over = model(name)._sized, mesh_of(mesh, splits)
    with suppress(Indivisible, NoSplit):
        for each in [stage.graph for stage in stages(whole, over.stages)] if "pipe" in mesh else [whole]:
            spread(each, over.of_stage())
        return True
    return False


def told(found: dict[str, Any]) -> str:
    """One line of what was found for a pair."""
    case = found["case"]
    mesh = ", ".join(f"{axis} {size}: {' '.join(case['splits'].get(axis, ()))}" for axis, size in case["mesh"].items())
    more = " ".join(f"{what} {case[what]}" for what in ("zero", "steps", "accumulate", "micro") if what in case)
    off = "FAILED" if "failed" in found else f"{worst(found):.1e}"
    sent = f" SENT {found['sent']}" if found.get("sent") else ""
    took = f"{found.get('seconds', 0.0):.1f} s, {found.get('computing', 0.0):.1f} of them computing"
    return f"seed {case['seed']}  {off}{sent}  {took}  {case['name']}  [{mesh}]  {more}"


def worst(found: dict[str, Any]) -> float:
    return max(float(found[what]) for what in ("loss", "gradients", "norm", "weights"))


def main(file: str) -> None:
    counts: Counter[tuple[int, str]] = Counter()
    largest: dict[tuple[int, str], float] = {}
    with open(file, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("{"):
                found = json.loads(line)
                mesh = found["case"]["mesh"]
                key = math.prod(mesh.values()), "+".join(sorted(mesh))
                counts[key] += 1
                largest[key] = max(largest.get(key, 0.0), math.inf if "failed" in found else worst(found))
    for key, count in sorted(counts.items()):
        print(f"{key[0]}  {key[1]:24} {count:3}  {largest[key]:.1e}")
    print(f"{counts.total()} pairs, {max(largest.values()):.1e} at most")


if __name__ == "__main__":
    main(sys.argv[1])
