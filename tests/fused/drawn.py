"""Random attentions that ought to stream: what scores are made of, what is seen, what weighs, and around it all.

`python -m tests.fused.drawn 7` prints that of seed 7.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

NAMES = (  # of queries and keys: plain ones, and those that Python, Triton or the kernels have a use for
    ("q", "k"), ("target", "past"), ("query", "memory"), ("tl", "triton"), ("row", "column"), ("lambda", "yield"),
    ("begin", "end"), ("tile", "part"), ("score", "seen"), ("torch", "lead"), ("len", "max_"), ("chunks", "own"),
    ("start_at", "end_at"), ("Q_at", "K_at"), ("ctx", "kind"), ("class", "def"), ("stat", "delta"), ("math", "launch"),
)  # fmt: skip
DEPTHS = (("d", "e"), ("key", "turned"), ("None", "del"), ("product", "block"), ("range", "print"), ("D", "d"))
VALUES = ("v", "value", "import", "float", "tiles", "store_tile")
HEADS = (("h",), ("heads",), ("g", "s"), ("group", "sharing"), ("int_", "as_"), ("for", "while"), ("low", "high"))
VECTORS = (("Q", "K", "V"), ("query_in", "key_in", "value_in"), ("read", "read1", "stat"), ("d_K", "K", "d_V"),
           ("Q_tile", "shrink", "total"), ("inputs", "output", "self"))  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """A spec. sizes: of its free widths. batch: leading axes. weights: what they are called. split: keys are shared."""

    seed: int
    text: str
    sizes: dict[str, int]
    batch: tuple[int, ...]
    dtype: str
    tags: tuple[str, ...]

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} = {size}" for name, size in self.sizes.items())
        return f"seed {self.seed}: {sizes}, batch {self.batch}, {self.dtype}\n{self.text}"


def drawn(seed: int, tiny: bool = False) -> Drawn:
    """The spec of a seed."""
    return Attention(random.Random(seed), tiny).whole(seed)


@dataclass
class Attention:
    """One that is being drawn."""

    rng: random.Random
    tiny: bool
    axes: list[str] = field(default_factory=list)
    ports: list[str] = field(default_factory=list)
    params: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    count: int = 0

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def one(self, *some: str) -> str:
        return self.rng.choice(some)

    def new(self, wish: str) -> str:
        self.count += 1
        return f"{wish}{self.count}"

    def line(self, wish: str, code: str) -> str:
        """A name for what is written, which is then used."""
        if self.chance(0.5):
            return f"({code})"
        name = self.new(wish)
        self.lines.append(f"{name} = {code}")
        return name

    # -- around ---------------------------------------------------------------------------------------------------

    def whole(self, seed: int) -> Drawn:
        self.begin()
        scores = self.scores()
        mask = self.mask(2) if self.chance(0.85) else ""
        if mask and not re.search(rf"\b{self.k}\b", mask):
            mask = f"({mask}) and int({self.k}) >= 0"
        results = self.fold(scores, mask)
        outs = [self.result(*result) for result in results]
        shapes = ", ".join(f"[{', '.join(axes)}]" for _, axes in results)
        if len(outs) > 1:
            shapes = "(" + ", ".join(f"r{i}: [{', '.join(axes)}]" for i, (_, axes) in enumerate(results)) + ")"
        inner = [*self.params, *self.lines, f"return {', '.join(outs)}"]
        body = "".join(f"    {line}\n" for line in inner)
        head = "".join(f"{line}\n" for line in self.axes)
        text = f"{head}\nmodel drawn(\n    {', '.join(self.ports)}\n) -> {shapes} {{\n{body}}}\n"
        if self.chance(0.15):
            text = self.called(text, shapes)
        rank = self.rng.choice((0, 1, 1, 1, 2))
        batch = tuple(self.rng.choice((1, 2)) for _ in range(rank))
        dtype = "bfloat16" if self.chance(0.15) else "float32"
        return Drawn(seed, text, self.sizes, batch, dtype, tuple(dict.fromkeys(self.tags)))

    def called(self, text: str, shapes: str) -> str:
        """The same as a block that a model calls."""
        self.tags.append("called")
        names = ", ".join(port.split(":")[0] for port in self.ports)
        outs = ", ".join(f"y{i}" for i in range(max(1, shapes.count("]"))))
        call = f"    {outs} = inner({names})\n    return {outs}\n"
        model = f"\nmodel drawn({', '.join(self.ports)}) -> {shapes} {{\n{call}}}\n"
        return text.replace("model drawn(", "block inner(") + model

    def begin(self) -> None:
        """Axes, and where queries, keys and values come from."""
        rng = self.rng
        self.q, self.k = rng.choice(NAMES[:2] if self.tiny else NAMES)
        self.family = self.chance(0.6)
        few = not self.family and self.chance(0.3) and not self.tiny
        long = rng.choice((1, 2, 7, 16, 17, 23, 33, 41))
        if self.tiny:
            long = rng.choice((3, 5))
        self.sizes = {self.q: long}
        self.axes.append(f"width {self.q}")
        if self.family:
            self.axes.append(f"width {self.k} like {self.q}")
        else:
            self.axes.append(f"width {self.k}")
            self.sizes[self.k] = rng.choice((1, 5, 16, 30, 40)) if not self.tiny else 4
        if few:
            self.tags.append("few queries")
            self.sizes = {self.q: rng.choice((1, 2, 5)), self.k: rng.choice((64, 70, 130))}
        self.keys = self.sizes[self.q if self.family else self.k]
        self.d, self.e = rng.choice(DEPTHS)
        self.v = rng.choice(VALUES)
        taken = {self.q, self.k, self.d, self.e, self.v}
        self.heads = [*rng.choice([(), *HEADS])]
        if self.tiny or taken & {*self.heads}:
            self.heads = []
        big = 3 if self.sizes[self.q] > 30 or self.keys > 50 else 9
        sizes = {name: rng.choice((1, 2, 2, 3)) for name in self.heads}
        sizes |= {self.d: rng.choice((1, 2, 4, 5, big)), self.e: rng.choice((1, 3, 4)), self.v: rng.randint(1, big)}
        if self.chance(0.15):
            sizes[self.d] = 17
        self.axes += [f"depth {name} = {size}" for name, size in sizes.items()]
        self.batch = list(self.heads)
        if self.chance(0.12) and not self.tiny:
            self.axes.append("width side")
            self.sizes["side"] = rng.choice((1, 2))
            self.batch.append("side")
            self.tags.append("a width of the batch")
        if len(self.batch) > 1 and self.chance(0.3):
            self.rng.shuffle(self.batch)
        used = {line.split()[1] for line in self.axes}
        self.Q, self.K, self.V = rng.choice([names for names in VECTORS if used.isdisjoint(names)])
        self.made = self.chance(0.15) and not self.tiny  # by learned maps, from what flows
        if self.made:
            self.tags.append("learned maps")
            self.axes.append("depth flow = 4")
            self.ports.append(f"x: [{', '.join([*self.side(), self.q, 'flow'])}]")
            if not self.family:
                self.ports.append(f"y: [{', '.join([*self.side(), self.k, 'flow'])}]")
        self.keyed = self.some(self.batch)  # of keys
        self.valued = self.keyed if self.chance(0.7) else self.some(self.batch)

    def side(self) -> list[str]:
        return [axis for axis in self.batch if axis == "side"]

    def some(self, axes: Sequence[str]) -> list[str]:
        """All, or some, or none."""
        if self.chance(0.6):
            return [*axes]
        return [axis for axis in axes if self.chance(0.5)]

    def vectors(self, name: str, place: str, depth: str, batch: Sequence[str]) -> str:
        """Vectors of queries, or of keys: an input, or made of one."""
        keys = place == self.k
        source = self.q if keys and self.family and self.chance(0.7) else place
        renamed = f"[{self.q} as {self.k}]" if source != place else ""
        if self.made and (source == self.q or not self.family):
            batch = [axis for axis in batch if axis != "side"]
            flow = "x" if source == self.q else "y"
            out = ", ".join([*batch, depth])
            self.lines.append(f"{name} = linear.{name}[flow -> {out}]({flow})")
        else:
            axes = [*batch, source, depth]
            if self.chance(0.15):
                self.rng.shuffle(axes)
            self.ports.append(f"{name}: [{', '.join(axes)}]")
        return f"{name}{renamed}"

    def number(self, wish: str, axes: Sequence[str], kind: str = "real", learned: float = 0.5) -> str:
        """Numbers along some axes: learned (along depths alone), or given; broadcast to where they are used."""
        name = self.new(wish)
        depths = [axis for axis in axes if axis in self.heads]
        if kind == "real" and [*axes] == depths and self.chance(learned):
            self.params.append(f"param {name}: [{', '.join(axes)}] ~ normal(0.5)")
            self.tags.append("learned numbers")
            return name
        source = [*axes]
        renamed = ""
        if self.k in source and self.q not in source and self.family and self.chance(0.5):
            source[source.index(self.k)] = self.q
            renamed = f"[{self.q} as {self.k}]"
        self.ports.append(f"{name}: {'' if kind == 'real' else kind}[{', '.join(source)}]")
        missing = [axis for axis in (*self.batch, self.q, self.k) if axis not in axes]
        if self.chance(0.3):
            self.rng.shuffle(missing)
        if kind != "real" or not missing:
            return f"{name}{renamed}"
        return f"broadcast[{', '.join(missing)}]({name}{renamed})"

    # -- positions ------------------------------------------------------------------------------------------------

    def at(self, axis: str) -> str:
        return axis if self.family else f"int({axis})"

    def away(self) -> str:
        """A difference of positions, a whole number."""
        q, k = self.at(self.q), self.at(self.k)
        return self.one(f"({q} - {k})", f"({k} - {q})", f"abs({q} - {k})", f"abs({k} - {q})")

    def bucket(self, count: int) -> str:
        """A whole number below count, by arithmetic of positions."""
        q, k = self.at(self.q), self.at(self.k)
        reach = (count - 1) // 2
        rows = [
            f"clamp({k} - {q}, -{reach}, {count - 1 - reach}) + {reach}",
            f"({q} - {k} + 1000) % {count}",
            f"clamp({q} - {k}, 0, {count - 1})",
            f"min(abs({q} - {k}), {count - 1})",
            f"min(floor(int({self.q}) / 3), {count - 1})",
            f"min(int({self.k}), {count - 1})",
            f"min(floor(abs({q} - {k}) / 4), {count - 1})",
            f"min(floor(2 * log(abs({q} - {k}) + 1.3)), {count - 1})",
            f"min(floor(sqrt(abs({k} - {q}) + 0.2)), {count - 1})",
            f"select({k} > {q}, {count - 1}, clamp({q} - {k}, 0, {count - 1}))",
            f"clamp(floor((2 * int({self.k}) + 1) / (int({self.q}) + 1.5)), 0, {count - 1})",
            f"(floor(int({self.k}) / 2) + 3 * int({self.q})) % {count}",
        ]  # fmt: skip
        return self.rng.choice(rows)

    def table(self) -> str:
        """A learned number for each bucket."""
        self.tags.append("table")
        count = self.rng.choice((1, 3, 6, 7))
        depth, name = self.new("bucket"), self.new("table")
        self.axes.append(f"depth {depth} = {count}")
        axes = [depth, *self.some(self.heads)]
        if self.chance(0.5):
            self.rng.shuffle(axes)
        given = self.chance(0.2)
        if not given:
            self.params.append(f"param {name}: [{', '.join(axes)}] ~ normal(0.5)")
        else:
            self.ports.append(f"{name}: [{', '.join(axes)}]")
            self.tags.append("table given")
        found = []
        for _ in range(1 + self.chance(0.15)):
            bucket = self.bucket(count)
            while given and not all(re.search(rf"\b{axis}\b", bucket) for axis in (self.q, self.k)):
                bucket = self.bucket(count)
            index = self.line("at", f"index[{depth}]({bucket})")
            found.append(f"{name}[{depth} = {index}]")
        if given:
            missing = [axis for axis in self.batch if axis not in axes]
            found = [f"broadcast[{', '.join(missing)}]({one})" if missing else one for one in found]
        return f"({' + '.join(found)})"

    # -- scores ---------------------------------------------------------------------------------------------------

    def scores(self) -> str:
        q, k = self.vectors(self.Q, self.q, self.d, self.batch), self.vectors(self.K, self.k, self.d, self.keyed)
        if self.chance(0.2):
            q = f"{q} / sqrt(|{self.d}|)" if self.chance(0.5) else f"{q} * 0.5"
        if self.chance(0.1):
            self.lines.append(f"turned_q = {self.one('tanh', f'rmsnorm.of_q[{self.d}]', f'l2norm[{self.d}]')}({q})")
            q = "turned_q"
        both = (q, k) if self.chance(0.8) else (k, q)
        found = f"dot[{self.d}]({both[0]}, {both[1]})"
        if self.chance(0.5):
            found = f"{found} / sqrt(|{self.d}|)"
        if self.chance(0.2):
            self.tags.append("two products")
            other = self.some(self.batch)
            left = self.vectors("more_Q", self.q, self.e, self.batch)
            right = self.vectors("more_K", self.k, self.e, other)
            second = f"dot[{self.e}]({left}, {right})"
            found = f"{found} {self.one('+', '+', '-')} {self.one('', '', '0.5 * ')}{second}"
        for _ in range(self.rng.choice((0, 1, 1, 2, 3, 4))):
            found = self.line("scores", self.rng.choice(self.STEPS)(self, found))
        return self.line("scores", found)

    def _scaled(self, x: str) -> str:
        return self.one(
            f"{x} * 0.7",
            f"0.6 * {x}",
            f"{x} / 1.5",
            f"{x} - 0.3",
            f"-{x}",
            f"{x} / sqrt(|{self.d}|)",
            f"1 - {x}",
            f"{x} / {self.keys}",
            f"{x} * 3 / 2",
        )

    def _capped(self, x: str) -> str:
        c = self.one("2", "5.0", "30")
        return f"{c} * tanh({x} / {c})"

    def _clipped(self, x: str) -> str:
        return self.one(f"clamp({x}, -2, 1.5)", f"min({x}, 0.8)", f"max({x}, -0.7)", f"max(-0.9, min({x}, 1.1))")

    def _function(self, x: str) -> str:
        name = self.one("sin", "cos", "softplus", "gelu", "silu", "relu", "erf", "sigmoid", "tanh", "abs", "gelu_tanh")
        return f"{name}({x})"

    def _guarded(self, x: str) -> str:
        x = self.one(f"clamp({x}, -3, 3)", f"(3 * tanh({x} / 3))", f"min(2.5, max({x}, -2.5))")
        return self.one(f"log(1 + exp({x}))", f"sqrt(1 + {x} * {x})", f"log1p(exp({x}))", f"expm1({x} / 4)",
                        f"1 / (1.5 + tanh({x}))", f"rsqrt(1 + {x} ^ 2)", f"exp({x} / 3)", f"{x} ^ 2", f"({x} / 2) ^ 3",
                        f"2 ^ ({x} / 2)", f"exp({x} / 4) ^ 1.5", f"exp({x}) ^ 0.5", f"stop_gradient({x}) + {x}",
        )  # fmt: skip

    def _alibi(self, x: str) -> str:
        """Lowered by distance, each head at a rate of its own."""
        self.tags.append("alibi")
        if self.heads and self.chance(0.5):
            h = self.rng.choice(self.heads)
            slope = f"2 ^ (-8 * ({h} + 1) / |{h}|)"
        else:
            slope = self.number("slope", self.some(self.heads))
        return f"{x} {self.one('+', '-')} {slope} * {self.away()}{self.one('', ' / 8')}"

    def _curve(self, x: str) -> str:
        away = self.away()
        if self.chance(0.5):
            one, two = self.number("one", self.some(self.heads)), self.number("two", self.some(self.heads))
            return f"{x} + ({one} * {away} + {two} * {away} * {away} / 20) / 20"
        return f"{x} {self.one('*', '+', '/')} {self.decay(away)}"

    def decay(self, away: str) -> str:
        near = away if away.startswith("abs") else f"abs({away})"
        h = f"({self.rng.choice(self.heads)} + 1)" if self.heads else "2"
        return self.one(f"0.9 ^ {near}", f"(1 + {near} / 7)", f"(1.5 + cos(0.3 * {away}))", f"log({near} + 2)",
                        f"(1 - 2 ^ (-2 - {h})) ^ {near}", f"sqrt({near} + 1)", f"exp(-{near} / 10)",
                        f"(1.1 + sin({away} / {h}))", f"log(int({self.q}) + 2)", f"(2 + int({self.k}) / 9)",
                        f"log(|{self.k}| + 1)", f"(1 + 1 / (1 + {near}))")  # fmt: skip

    def _learned_decay(self, x: str) -> str:
        rate, away = self.number("rate", self.some(self.heads)), self.away()
        near = away if away.startswith("abs") else f"abs({away})"
        return self.one(f"{x} * exp(-sigmoid({rate}) * {near} / 4)", f"{x} - softplus({rate}) * log(1 + {near})",
                        f"{x} + cos({rate} * {away})", f"{x} * sigmoid({rate} * {away})")  # fmt: skip

    def _with_table(self, x: str) -> str:
        return f"{x} {self.one('+', '+', '+', '*', '-')} {self.table()}"

    def _per_query(self, x: str) -> str:
        self.tags.append("numbers of queries")
        n = self.number("warmth", [*self.some(self.batch), self.q])
        return self.one(f"{x} * exp({n} / 4)", f"{x} + {n}", f"{x} * {n}", f"{x} / (2 + tanh({n}))")

    def _per_key(self, x: str) -> str:
        self.tags.append("numbers of keys")
        n = self.number("offer", [*self.some(self.batch), self.k])
        return self.one(f"{x} + {n}", f"{n} + {x}", f"{x} * sigmoid({n})", f"{x} * {n}", f"{x} - softplus({n})")

    def _per_head(self, x: str) -> str:
        n = self.number("of_head", self.some(self.batch))
        return self.one(f"{x} * {n}", f"{x} * (1 + tanh({n}))", f"{x} + {n}", f"{n} - {x}", f"{x} * exp({n} / 2)")

    def _dense(self, x: str) -> str:
        self.tags.append("bias of pairs")
        n = self.number("bias", [*self.some(self.batch), self.q, self.k])
        return self.one(f"{x} + {n}", f"{x} * {n}", f"{x} - {n} / 2")

    def _chosen(self, x: str) -> str:
        mask = self.atom()
        return self.one(f"select({mask}, {x}, {x} / 3)", f"select({mask}, 0.5 * {x}, 0.2)", f"select({mask}, -1, {x})",
                        f"{x} + select({mask}, 0.7, 0)", f"select({mask}, {x}, {self.number('other', [])})",
        )  # fmt: skip

    STEPS: tuple[Callable[[Attention, str], str], ...] = (
        _scaled, _capped, _clipped, _function, _guarded, _alibi, _curve, _learned_decay, _with_table, _with_table,
        _per_query, _per_key, _per_head, _dense, _chosen,
    )  # fmt: skip

    # -- masks ----------------------------------------------------------------------------------------------------

    def mask(self, depth: int) -> str:
        kind = self.one("atom", "atom", "and", "and", "or", "not") if depth else "atom"
        if kind == "not":
            return f"not ({self.mask(depth - 1)})"
        if kind != "atom":
            return f"({self.mask(depth - 1)}) {kind} ({self.mask(depth - 1)})"
        return self.atom()

    def atom(self) -> str:
        q, k, n = self.at(self.q), self.at(self.k), self.rng.randint(1, 9)
        rows = [
            f"{k} <= {q}", f"{k} < {q}", f"{q} - {k} < {n}", f"abs({q} - {k}) <= {n}", f"({q} - {k}) % {n} == 0",
            f"{k} >= {q} - {n}", f"int({self.k}) < {n}", f"floor({self.k} / {n}) == floor({self.q} / {n})",
            f"floor({self.k} / {n}) <= floor({self.q} / {n})", f"{k} != {q}", f"2 * {self.k} <= int({self.q}) + {n}",
            f"int({self.k}) <= 2 * {self.q}", f"int({self.k}) + int({self.q}) < |{self.q}|", f"{k} <= {q} + {n}",
            f"int({self.k}) + int({self.q}) >= {n}", f"{self.k} % {n} == {self.q} % {n}", f"int({self.k}) >= {n}",
            f"|{self.k}| - int({self.k}) > {n}", f"int({self.q}) >= {n}", f"{k} > {q}", f"|{self.q}| > {n}",
            f"sqrt(int({self.k}) + 0.5) < int({self.q})", f"{q} - {k} > -{n} and {q} - {k} < {n}",
        ]  # fmt: skip
        if self.heads:
            h = self.rng.choice(self.heads)
            rows += [f"{q} - {k} < 2 ^ ({h} + 1)", f"{h} == 0", f"abs({q} - {k}) <= {n} * {h}"]
        if self.chance(0.65):
            return self.rng.choice(rows)
        self.tags.append("mask of data")
        axes, kind = self.some(self.batch), self.rng.randrange(8)
        if kind == 0:
            return self.number("real", [*axes, self.k], "bool")
        if kind == 1:
            return self.number("asks", [*axes, self.q], "bool")
        if kind == 2:
            return self.number("pair", [*axes, self.q, self.k], "bool")
        if kind == 3:
            return self.number("here", axes, "bool")
        if kind == 4:
            return f"{q} - {k} < {self.number('reach', axes, 'int')}"
        if kind == 5:
            return f"int({self.k}) < {self.number('length', axes, 'int')}"
        ours = self.number("part", [*axes, self.q], "int")
        theirs = f"{ours}[{self.q} as {self.k}]" if self.family else self.number("piece", [*axes, self.k], "int")
        return f"{theirs} {self.one('==', '==', '<=', '!=')} {ours}"

    # -- folds ----------------------------------------------------------------------------------------------------

    def fold(self, scores: str, mask: str) -> list[tuple[str, list[str]]]:
        """Results, each with its axes."""
        k, where = self.k, f" where {mask}" if mask else ""
        V = self.vectors(self.V, k, self.v, self.valued)
        axes = [*self.batch, self.q, self.v]
        kind = self.one(
            "softmax", "softmax", "softmax", "softmax", "l2norm", "sum", "sum", "difference", "logs", "sink"
        )
        self.tags.append(kind)
        if kind in ("l2norm", "sum"):
            weights = f"l2norm[{k}]({self.left(mask, scores)})" if kind == "l2norm" else self.pointwise(mask, scores)
        else:
            weights = f"softmax[{k}]({scores}{where})"
        if kind == "difference":
            return [(self.difference(weights, mask, V), axes)]
        weights = self.line("weights", weights)
        found = f"dot[{k}]({weights}, {V})" if self.chance(0.85) else f"dot[{k}]({V}, {weights})"
        results = [(found, axes)]
        if kind == "logs":
            results.append((f"logsumexp[{k}]({scores}{where})", [*self.batch, self.q]))
        if kind == "sink":
            n = self.number("sink", self.some(self.heads), learned=0.9)
            n = n if not n.startswith("broadcast") else f"broadcast[{self.q}]({n[n.index('(') + 1 : -1]})"
            results = [(f"sigmoid(logsumexp[{k}]({scores}{where}) - {n}) * {found}", axes)]
        if self.chance(0.15):
            self.tags.append("two contractions")
            depth = self.v if self.chance(0.5) else self.e
            U = self.vectors("U", k, depth, self.some(self.batch))
            results.append((f"dot[{k}]({weights}, {U})", [*self.batch, self.q, depth]))
        return results

    def left(self, mask: str, x: str) -> str:
        return f"select({mask}, {x}, 0)" if mask else x

    def pointwise(self, mask: str, x: str) -> str:
        if self.chance(0.15):
            return self.left(mask, x)
        name = self.one("sigmoid", "relu", "silu", "gelu", "tanh", "softplus", "exp", "square", "reglu")
        made = {"exp": f"exp(clamp({x}, -9, 2))", "square": f"tanh({x}) ^ 2", "reglu": f"relu({x}) ^ 2"}.get(
            name, f"{name}({x})"
        )
        found = self.left(mask, made)
        return self.one(found, found, found, f"{found} / |{self.k}|", f"0.5 * {found}")

    def difference(self, first: str, mask: str, V: str) -> str:
        """Two softmaxes, one taken from the other."""
        q, k = (
            self.vectors("other_Q", self.q, self.d, self.batch),
            self.vectors("other_K", self.k, self.d, self.some(self.batch)),
        )
        where = f" where {mask if self.chance(0.7) and mask else f'({self.mask(1)}) and int({self.k}) >= 0'}"
        second = f"softmax[{self.k}](dot[{self.d}]({q}, {k}) / sqrt(|{self.d}|){where})"
        by = self.one("0.4", self.number("portion", self.some(self.batch)))
        first, second = self.line("first", first), self.line("second", second)
        return f"dot[{self.k}]({first} {self.one('-', '+')} {by} * {second}, {V})"

    def result(self, code: str, axes: list[str]) -> str:
        """What is returned, perhaps with something done to it."""
        if self.chance(0.15) and not code.startswith("logsumexp"):
            gate = self.new("gate")
            self.ports.append(f"{gate}: [{', '.join(axes)}]")
            code = f"sigmoid({gate}) * {code}"
        return self.line("out", code) if self.chance(0.5) else code


if __name__ == "__main__":
    print(drawn(int(sys.argv[1])))
