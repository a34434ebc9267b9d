"""Random programs with loops, and others that differ from them in one field of one statement.

A program is data here (`Program`), so that each field has its mutation (`mutants`) and a failing pair can be made
smaller (`smaller`). Names that a loop's body binds again run from pass to pass; all others that it reads are held.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

OPS = {  # an op with its operands; LABEL is that of its weights
    "same": "{0}",
    "tanh": "tanh({0})",
    "sum": "{0} + {1}",
    "product": "{0} * {1}",
    "difference": "{0} - 0.5 * {1}",
    "map": "linear.LABEL[m -> m]({0})",
    "residual": "{0} + tanh(linear.LABEL[m -> m]({1}))",
    "gate": "{0} * sigmoid(linear.LABEL[m -> m]({1}))",
    "keys": "dot[y](softmax[y](dot[m]({0}, {1}[x as y]) / sqrt(|m|)), {2}[x as y])",
    "block": "g.LABEL({0}, {1})",
    "inside": "h.LABEL({0}, {1})",
}
COUNT = {name: len(set(re.findall(r"\{\d\}", text))) for name, text in OPS.items()}
SWAPPED = {"sum": "product", "product": "sum", "tanh": "map", "residual": "gate", "gate": "residual"}
EXCHANGED = ("sum", "product")  # the order of their operands means nothing
HEAD = "width x\nwidth y like x\ndepth m = 3\n"
BLOCKS = {
    "g": "(u: [x, m], v: [x, m]) -> [x, m] { return tanh(linear.P[m -> m](u)) * linear.Q[m -> m](v) }\n",
    "h": "(u: [x, m], v: [x, m]) -> [x, m] {\n"
    "    repeat.inner 2 { u = v + tanh(linear.R[m -> m](u)) }\n    return u\n}\n",
    "cell": "(item: [m], state: [m], along: [m]) -> (state: [m]) {\n"
    "    return tanh(linear.S[m -> m](item) + state JOINED along)\n}\n",
}
MODEL = "model f(a: [x, m], b: [x, m], c: [x, m]) -> [x, m] {\n"


@dataclass(frozen=True)
class Let:
    """`name = op(args)`. number: of the statement; its weights are called by it."""

    name: str
    op: str
    args: tuple[str, ...]
    number: int

    def text(self, indent: str) -> str:
        return f"{indent}{self.name} = " + OPS[self.op].replace("LABEL", f"w{self.number}").format(*self.args) + "\n"


@dataclass(frozen=True)
class Param:
    """A weight of the body that it stands in. used: `name = name * weight`, in this statement or in a later one."""

    number: int

    def text(self, indent: str) -> str:
        return f"{indent}param p{self.number}: [m] ~ normal(1.0)\n"


@dataclass(frozen=True)
class Scaled:
    """`name = value * weight`, the weight a `Param` around."""

    name: str
    args: tuple[str, ...]
    number: int

    def text(self, indent: str) -> str:
        return f"{indent}{self.name} = {self.args[0]} * p{self.number}\n"


@dataclass(frozen=True)
class Scanned:
    """`name = scan[x] cell(items, state = start, along = held)`; `reads`: what a step multiplies what is held with."""

    name: str
    args: tuple[str, ...]
    number: int

    def text(self, indent: str) -> str:
        items, start, held = self.args
        return (
            f"{indent}{self.name} = scan[x] cell.w{self.number}({items}, "
            f"state = mean[x]({start}), along = mean[x]({held}))\n"
        )


@dataclass(frozen=True)
class Loop:
    times: int
    shared: bool
    body: tuple[Node, ...]
    number: int

    def text(self, indent: str) -> str:
        inside = "".join(node.text(indent + "    ") for node in self.body)
        shared = " shared" if self.shared else ""
        return f"{indent}repeat.r{self.number} {self.times}{shared} {{\n{inside}{indent}}}\n"


Node = Let | Param | Scaled | Scanned | Loop


@dataclass(frozen=True)
class Program:
    body: tuple[Node, ...]
    result: str
    joined: str = "*"  # how a scan's step joins its state with what is held: "*" or "+"

    @property
    def text(self) -> str:
        inside = "".join(node.text("    ") for node in self.body)
        called = "".join(f"block {name}{text}" for name, text in BLOCKS.items() if f" {name}.w" in inside)
        return HEAD + called.replace("JOINED", self.joined) + MODEL + inside + f"    return {self.result}\n}}\n"


# -- at random -------------------------------------------------------------------------------------------------------


class _Maker:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"loops {seed}")
        self.count = 0

    def number(self) -> int:
        self.count += 1
        return self.count

    def statement(self, names: Sequence[str], target: str) -> Node:
        rng = self.rng
        kind = rng.choice([*OPS, "sum", "residual", "residual", "scan"])
        if kind == "scan":
            return Scanned(target, tuple(rng.choices(names, k=3)), self.number())
        return Let(target, kind, tuple(rng.choices(names, k=COUNT[kind])), self.number())

    def loop(self, names: Sequence[str], depth: int) -> Loop:
        rng = self.rng
        running = rng.sample(names, min(len(names), rng.choice((1, 1, 1, 2))))
        known, body = list(names), list[Node]()
        if rng.random() < 0.4:
            weight = Param(self.number())
            body.append(weight)
        else:
            weight = None
        number = self.number()
        for k in range(rng.randint(0, 2)):
            name = f"n{number}{'pq'[k]}"
            body.append(self.statement(known, name))
            known.append(name)
        if depth and rng.random() < 0.35:
            body.append(self.loop(known, depth - 1))
        for name in running:
            body.append(self.statement([*known, name, name], name))
        if weight is not None:
            body.append(Scaled(running[0], (running[0],), weight.number))
        return Loop(rng.choice((2, 3)), rng.random() < 0.4, tuple(body), number)


def made(seed: int) -> Program:
    """A program: perhaps a start and a weight before the loop, the loop, perhaps something behind it."""
    maker = _Maker(seed)
    rng, names, body = maker.rng, ["a", "b"], list[Node]()
    if rng.random() < 0.8:  # often another name for what runs, so that passes can read the start once more
        alias = Let("start", "same", (rng.choice(names),), maker.number())
        body.append(alias if rng.random() < 0.6 else maker.statement(names, "start"))
        names.append("start")
    loop = maker.loop(names, 1)
    body.append(loop)
    bound = [name for name in bindings(loop.body) if name in names]
    result = rng.choice(bound)
    if len(bound) > 1 or rng.random() < 0.3:
        body.append(Let("out", "difference", (bound[0], rng.choice(names)), maker.number()))
        result = "out"
    return Program(tuple(body), result, rng.choice("*+"))


def bindings(body: Sequence[Node]) -> Iterator[str]:
    for node in body:
        if isinstance(node, Loop):
            yield from bindings(node.body)
        elif not isinstance(node, Param):
            yield node.name


# -- one field otherwise ---------------------------------------------------------------------------------------------


def mutants(program: Program) -> Iterator[tuple[str, Program]]:
    """Each program that differs from this one in one field, with what differs. Not all of them are right programs."""
    for kind, body in _bodies(program.body, ("a", "b", "c"), ()):
        yield kind, replace(program, body=body)
    yield "a step's op", replace(program, joined="+" if program.joined == "*" else "*")
    for name in dict.fromkeys(("a", "b", *bindings(program.body))):
        if name != program.result:
            yield "result", replace(program, result=name)


def _bodies(
    body: tuple[Node, ...], known: tuple[str, ...], outside: tuple[str, ...]
) -> Iterator[tuple[str, tuple[Node, ...]]]:
    """known: names there are before it; outside: those of the bodies around it."""
    for at, node in enumerate(body):

        def put(*nodes: Node, at: int = at) -> tuple[Node, ...]:
            return (*body[:at], *nodes, *body[at + 1 :])

        if isinstance(node, Loop):
            for kind, inner in _bodies(node.body, known, known):
                yield kind, put(replace(node, body=inner))
            yield "times", put(replace(node, times=5 - node.times))
            yield "shared", put(replace(node, shared=not node.shared))
            yield "loop or none", put(*node.body)
            for k, first in enumerate(node.body):  # out of the loop: before it, or behind it
                rest = (*node.body[:k], *node.body[k + 1 :])
                kind = "weight in or out" if isinstance(first, Param) else "statement in or out"
                yield kind, put(first, replace(node, body=rest))
                yield kind, put(replace(node, body=rest), first)
        elif isinstance(node, Param):
            later = next((k for k in range(at + 1, len(body)) if isinstance(body[k], Loop)), None)
            if later is not None:
                loop = body[later]
                assert isinstance(loop, Loop)
                inner = replace(loop, body=(node, *loop.body))
                yield "weight in or out", (*body[:at], *body[at + 1 : later], inner, *body[later + 1 :])
        else:
            for k, had in enumerate(node.args):
                for name in known:
                    if name != had:
                        args = (*node.args[:k], name, *node.args[k + 1 :])
                        yield "operand", put(replace(node, args=args))
            for name in known:
                if name != node.name:
                    yield "what it binds", put(replace(node, name=name))
            if isinstance(node, Let) and node.op in SWAPPED:
                op = SWAPPED[node.op]
                yield "op", put(replace(node, op=op, args=(*node.args, "a")[: COUNT[op]]))
            yield "left out", put()
            known = (*known, node.name) if node.name not in known else known


# -- the same, written otherwise -------------------------------------------------------------------------------------


def same(program: Program, seed: int) -> tuple[Program, dict[str, str]]:
    """The same program: operands of sums and products exchanged, other names of its own; and what these stand for."""
    rng = random.Random(f"same {seed}")
    local = [name for name in dict.fromkeys(bindings(program.body)) if name not in ("a", "b", "c")]
    new = {name: f"q{k}{name[-1]}" for k, name in enumerate(local)}

    def renamed(node: Node) -> Node:
        if isinstance(node, Loop):
            return replace(node, body=tuple(map(renamed, node.body)))
        if isinstance(node, Param):
            return node
        args = tuple(new.get(name, name) for name in node.args)
        if isinstance(node, Let) and node.op in EXCHANGED and rng.random() < 0.7:
            args = args[::-1]
        return replace(node, name=new.get(node.name, node.name), args=args)

    body = tuple(map(renamed, program.body))
    return replace(program, body=body, result=new.get(program.result, program.result)), {
        new[name]: name for name in local
    }


# -- smaller ---------------------------------------------------------------------------------------------------------


def smaller(program: Program) -> Iterator[Program]:
    """Programs with a statement less, or fewer passes."""
    for kind, body in _bodies(program.body, (), ()):
        if kind in ("left out", "loop or none"):
            yield replace(program, body=body)
