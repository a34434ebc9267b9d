"""`generate(seed)`: a random well-typed program, the same for the same seed; `picks`: with picks under masks in it."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace
from typing import Any

from .attention import attend
from .blocks import fill, new_block
from .picks import picked
from .program import Axis, Program, Result, Unit, Val
from .scope import Draft, Gen, Scope

WIDTHS = ["seq", "target", "source", "frame", "query"]
RAGGED = 0.12  # of the widths that may be
DEPTHS = ["model", "inner", "vocab", "state", "channel", "bucket"]


OF_PICKS = r"\b(topk|argsort|argmax)\[.* where "


def declare(gen: Gen) -> None:
    """The file's axes and consts."""
    rng = gen.rng

    def add(text: str, name: str, width: bool, size: int, family: str = "", **more: Any) -> Axis:
        axis = Axis(name, width, size, family or name, **{"fixed": not width, **more})
        gen.axes.append(axis)
        gen.header.append(f"{'width' if width else 'depth'} {text}")
        return axis

    for place, name in enumerate(rng.sample(WIDTHS, rng.randint(1, 2))):
        size = rng.randint(1, 4)
        kind = rng.randrange(8)
        ragged = (name, 1, 0) if kind and rng.random() < RAGGED else None
        word = " ragged" if ragged else ""
        size = max(size, 2) if ragged else size
        if kind == 0:
            axis = add(f"{name} = {size}", name, True, size, fixed=True)
            gen.tags.add("fixed width")
        elif kind <= 2:
            room = size + rng.randint(0, 2)
            axis = add(f"{name} <= {room}{word}", name, True, size, bounded=True, ragged=ragged)
            gen.capacity[name] = room
            gen.tags.add("bounded width")
        else:
            axis = add(f"{name}{word}", name, True, size, ragged=ragged)
        for copy in [f"past_{name}", f"other_{name}"][: rng.randint(0 if place else 1, 2)]:
            more = {"fixed": axis.fixed, "bounded": axis.bounded, "ragged": ragged}
            made = add(f"{copy} like {name}", copy, True, size, name, **more)
            if axis.bounded:
                gen.capacity[made.name] = gen.capacity[name]
        if axis.fixed or axis.bounded:
            continue
        if rng.random() < 0.3:  # a width of two others, held at run time
            extra = add(f"extra_{name} = {rng.randint(1, 2)}", f"extra_{name}", False, 0)
            gen.axes[-1] = extra = replace(extra, size=int(gen.header[-1].split()[-1]))
            follows = (name, 1, extra.size) if ragged else None
            text = f"long_{name} = {name} + {extra.name}"
            longer = add(text, f"long_{name}", True, size + extra.size, derived=True, ragged=follows)
            gen.sums.append((axis, extra, longer))
            gen.tags.add("derived width")
        elif rng.random() < 0.4:
            part = add(f"part_{name} = 2", f"part_{name}", False, 2)
            of_all, of_chunks = ((f"whole_{name}", 1, 0), (f"whole_{name}", 2, 0)) if ragged else (None, None)
            whole = add(f"whole_{name}{word}", f"whole_{name}", True, size * 2, ragged=of_all)
            text = f"chunks_{name} = whole_{name} / part_{name}"
            chunks = add(text, f"chunks_{name}", True, size, derived=True, ragged=of_chunks)
            gen.chunks.append((whole, chunks, part))
            gen.tags.add("derived width")
    heads, key = rng.randint(1, 3), rng.randint(1, 3)
    add(f"heads = {heads}", "heads", False, heads)
    names = rng.sample(DEPTHS, rng.randint(2, 3))
    if rng.random() < 0.5:
        add(f"key = {key}", "key", False, key)
        add(f"{names[0]} = heads * key", names[0], False, heads * key, derived=True)
    else:
        add(f"{names[0]} as m = {heads * key}", names[0], False, heads * key)
        add(f"key = {names[0]} / heads", "key", False, key, derived=True)
    for name in names[1:]:
        size = rng.randint(1, 4)
        add(f"{name} = {size}", name, False, size)
        if rng.random() < 0.3:
            add(f"{name}_copy like {name}", f"{name}_copy", False, size, name)
    if rng.random() < 0.5:
        add("joined = heads + key", "joined", False, heads + key, derived=True)
    gen.consts = {"layers": rng.randint(1, 3), "drop": 0.1, "factor": rng.choice([2, 0.5])}
    gen.header.append("const " + ", ".join(f"{name} = {value}" for name, value in gen.consts.items()))


def configured(gen: Gen) -> str | None:
    """Sizes written otherwise, and set by a `config`, or from outside."""
    rng = gen.rng
    kind = rng.random()
    at = next((i for i, line in enumerate(gen.header) if line.startswith("const layers")), 0)
    if kind < 0.15:
        gen.header[at] = re.sub(r"layers = \d", "layers = 4", gen.header[at])
        gen.header.append(f"config small {{ layers = {gen.consts['layers']}, drop = 0.2 }}")
        gen.consts["drop"] = 0.2
        gen.tags.add("config")
        return "small"
    if kind < 0.25:
        gen.header[at] = re.sub(r"layers = \d", "layers = 4", gen.header[at])
        gen.sizes["layers"] = gen.consts["layers"]
        gen.tags.add("sizes from outside")
    return None


def write(gen: Gen, seed: int) -> Program | None:
    rng = gen.rng
    declare(gen)
    widths = [axis for axis in gen.axes if axis.width and not axis.derived]
    gen.stream = rng.choice(widths).family
    for _ in range(rng.randint(0, 4)):
        kind = rng.random()
        unit = new_block(gen, cell=kind < 0.35, model=kind > 0.85)
        if unit is not None:
            gen.units.append(unit)
    s = Scope(gen, list(gen.axes), Draft(), consts=dict(gen.consts), deciding={"layers": False}, model=True)
    for _ in range(rng.randint(1, 3)):
        s.input(s.random_axes(1, 3))
    for _ in range(rng.randint(1, 2) if gen.picks else 0):
        picked(s)
    fill(s, rng.randint(9, 20))
    attend(s, random.Random(f"{seed} attention"))
    s.inputs_open = False
    leaves = [val for val in s.vals if not val.uses & s.used and not val.owner] or s.vals[-1:]
    leaves = leaves[-rng.randint(1, 8) :] if rng.random() < 0.85 else leaves[-1:]
    alone = len(leaves) + len(gen.promised) == 1
    results = [outcome(s, val, None if alone else gen.fresh("r")) for val in leaves]
    results += [Result(val, val.axes, None if alone else gen.fresh("r"), axis) for val, axis in gen.promised[:2]]
    unit = Unit("model", "net", tuple(s.draft.formals), tuple(results), tuple(s.stmts))
    config = configured(gen)
    batch = tuple(rng.randint(1, 3) for _ in range(rng.choice([0, 1, 1, 1, 2])))
    if any(axis.ragged for axis in gen.axes):
        batch = (*batch[:-1], rng.randint(2, 3))
    axes = tuple(gen.axes)
    free = sorted({a.family for a in axes if a.width and not a.fixed and not a.ragged} - gen.filled)
    related = {axis.family for group in (*gen.sums, *gen.chunks) for axis in group}
    free = [family for family in free if family not in related]
    if free and rng.random() < 0.2:
        empty = rng.choice(free)
        axes = tuple(replace(axis, size=0) if axis.family == empty else axis for axis in axes)
        gen.tags.add("empty width")
    uses = tuple(f"use {path}: {', '.join(names)}" for path, names in sorted(gen.uses.items()))
    program = Program(
        seed, tuple(gen.header), uses, (*gen.units, unit), axes, gen.capacity, batch, config, gen.sizes,
        tags=frozenset(gen.tags), ops=gen.ops, wrongs=tuple(gen.wrongs), slips=tuple(gen.slips),
    ).pruned()  # fmt: skip
    if any(line.endswith(" ragged") for line in program.header):
        program = replace(program, tags=program.tags | {"ragged width"})
    if empty_axes := {axis for axis in axes if not axis.size}:
        program = replaced_sizes(program, {axis.name for axis in empty_axes})
    return omitting(elsewhere(program, rng), rng)


def outcome(s: Scope, val: Val, name: str | None) -> Result:
    """A result, claimed causal where that is plain."""
    along = [axis for axis in val.axes if val.reach is not None and val.reach <= {axis} and axis.family == s.gen.stream]
    claim = along[0] if along and s.chance(0.7) else None
    if claim is not None and val.reach:
        s.tag("causal")
    return Result(val, tuple(s.some(val.axes, 9, 9)), name, claim)


def replaced_sizes(program: Program, empty: set[str]) -> Program:
    """The inputs' axes with their new extents."""

    def again(val: Val) -> Val:
        return replace(val, axes=tuple(replace(a, size=0) if a.name in empty else a for a in val.axes))

    model = program.model
    formals = tuple(replace(f, val=again(f.val)) for f in model.formals)
    results = tuple(
        replace(r, axes=tuple(replace(a, size=0) if a.name in empty else a for a in r.axes)) for r in model.results
    )
    return replace(program, units=(*program.units[:-1], replace(model, formals=formals, results=results)))


def elsewhere(program: Program, rng: random.Random) -> Program:
    """Some blocks in a file of their own: those that mention nothing of this one."""
    if rng.random() > 0.8:
        return program
    names = {axis.name for axis in program.axes} | {"layers", "drop", "factor", "doubled", "centred"}
    names |= {name for line in program.uses for name in re.findall(r"\w+", line)} | {
        unit.name for unit in program.units
    }
    moved = {
        unit.name for unit in program.units[:-1]
        if not set(re.findall(r"\w+", unit.text())) & (names - {unit.name})
    }  # fmt: skip
    if not moved:
        return program
    return replace(program, elsewhere=frozenset(moved), tags=program.tags | {"several files"})


def omitting(program: Program, rng: random.Random) -> Program:
    """Inputs left to their default, where their widths are known from others."""
    may = [f for f in program.model.formals if f.default is not None and rng.random() < 0.85]
    given = [f for f in program.model.formals if f not in may]
    known = {axis.family for formal in given for axis in formal.val.axes}
    omitted = {f.name for f in may if given and all(not a.width or a.fixed or a.family in known for a in f.val.axes)}
    tags = program.tags | ({"default of an input"} if omitted else set())
    return replace(program, omitted=frozenset(omitted), tags=tags)


def generate(seed: int, picks: bool = False) -> Program:
    for attempt in range(20):
        gen = Gen(random.Random(f"{seed} {attempt}" + " picks" * picks), picks=picks)
        program = write(gen, seed)
        if picks and not re.search(OF_PICKS, program.model.text()):
            continue
        if program is not None and count_ops(program) >= 8 and len(program.text) < 12_000:
            return program
    raise AssertionError(f"no program for seed {seed}")


# -- what a program shows --------------------------------------------------------------------------------------------

NAMED_OPS = [
    "linear",
    "embed",
    "layernorm",
    "rmsnorm",
    "dot",
    "sum",
    "mean",
    "any",
    "all",
    "argmax",
    "logsumexp",
    "cumsum",
    "softmax",
    "log_softmax",
    "l2norm",
    "broadcast",
    "split",
    "merge",
    "concat",
    "window",
    "pad",
    "topk",
    "argsort",
    "index",
    "select",
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "erf",
    "relu",
    "gelu",
    "gelu_tanh",
    "silu",
    "abs",
    "floor",
    "ceil",
    "clamp",
    "int",
    "dropout",
    "cross_entropy",
    "raw",
]
PATTERNS: dict[str, str] = {name: rf"\b{name}(?:\.\w+)?[\[(]|\|> {name}\b" for name in NAMED_OPS}
PATTERNS |= {f"{name} along an axis": rf"\b{name}\[" for name in ("max", "min")}
PATTERNS |= {f"{name} of several": rf"\b{name}\(" for name in ("max", "min")}
PATTERNS |= {
    symbol: rf" {re.escape(symbol)} " for symbol in ("+", "*", "/", "%", "^", "<=", ">=", "<", ">", "==", "!=")
}
PATTERNS |= {"subtract": r"[\w)\]|] - ", "negate": r"-[\w(]", "and": r"\band\b", "or": r"\bor\b", "not": r"\bnot\b"}
PATTERNS |= {
    "rename": r"\[\w+ as \w+\]",
    "gather": r"\[\w+ = [^\],]*\](?!\()",
    "param": r"\bparam\b",
    "frozen": r"\bfrozen\b",
}
PATTERNS |= {"size of an axis": r"\|\w+\|", "expect": r"\bexpect\b", "const": r"\bfactor\b(?! =)", "pipe": r"\|>"}


def shown(program: Program) -> Counter[str]:
    """How often each op stands in the text, and the constructs that it shows."""
    bodies = "\n".join(line for unit in program.units for line in unit.text().splitlines() if line.startswith(" "))
    found = Counter({name: len(re.findall(pattern, bodies)) for name, pattern in PATTERNS.items()})
    return +found + Counter({f"({tag})": 1 for tag in program.tags})


def count_ops(program: Program) -> int:
    found = shown(program)
    return sum(found[name] for name in PATTERNS if name not in ("expect", "frozen", "pipe", "size of an axis", "const"))
