"""Random programs of the shapes that are done for many items at once: linear scans, cells, loops, sums and pairs."""

from __future__ import annotations

import random

HEAD = """\
width seq
width past like seq
depth heads = {heads}, key = {key}, value = {value}, hidden = {hidden}, gate = {gates}
"""
INPUTS = {
    "q": ("heads", "key"),
    "k": ("heads", "key"),
    "v": ("heads", "value"),
    "a": ("heads",),
    "c": ("heads", "key"),
    "w": ("heads", "value"),
    "b": ("heads",),
    "x": ("hidden",),
}


def program(seed: int) -> tuple[str, str]:
    """A spec with a model `net`, and which kind it is."""
    rng = random.Random(seed)
    kind, make = rng.choice(
        [("linear", _linear), ("linear", _linear), ("sums", _sums), ("cell", _cell), ("loop", _loop)]
    )
    gates = 4
    if kind == "cell":
        gates = rng.choice([1, 3, 4])
    sizes = {name: rng.randint(1, 4) for name in ("heads", "key", "value", "hidden")}
    blocks, body = make(rng, gates)
    inputs = ", ".join(f"{name}: [{', '.join((*axes[:-1], 'seq', *axes[-1:]))}]" for name, axes in INPUTS.items())
    result = body[-1].partition(": ")[0]
    lines = "\n".join(f"    {line}" for line in body[:-1])
    text = f"{HEAD.format(**sizes, gates=gates)}{blocks}\nmodel net({inputs}) -> {result} {{\n{lines}\n"
    return f"{text}    return {body[-1].partition(': ')[2]}\n}}\n", kind


def _decay(rng: random.Random, axes: tuple[str, ...]) -> str:
    """What is left of a state: near 0 and 1, 0 and negative ones among them."""
    name = "c" if "key" in axes and rng.random() < 0.4 else "w" if "value" in axes and rng.random() < 0.3 else "a"
    name = name if "heads" in axes or name == "a" else "a"
    return rng.choice([
        "", "", "0.5 * ", "(1 - 2 ^ (-5 - heads)) * ", f"sigmoid(9 * {name}) * ", f"exp(-exp(4 * {name})) * ",
        f"{name} * ", f"select({name} > 0.5, 0, 1) * ",
        f"sigmoid({name}) * exp(min({name}, 0)) * ", f"-tanh({name}) * ",
    ])  # fmt: skip


def _linear(rng: random.Random, gates: int) -> tuple[str, list[str]]:
    """A state [heads, key, value], or one with fewer axes; read at once, or made anew by a delta rule."""
    delta = rng.random() < 0.35
    axes = ("heads", "key", "value") if delta or rng.random() < 0.7 else ("heads", "key")
    kept = _decay(rng, ("heads",) if delta else axes)
    added = "k * v" if "value" in axes else "k"
    if rng.random() < 0.3:
        added = f"b * {added}"
    lines = []
    if delta:
        unit = rng.choice(["l2norm[key](k)", "k / (1 + dot[key](k, k))"])
        lines += [
            f"u = {unit}",
            f"S = {kept}S",
            f"S = S + u * ({rng.choice(['sigmoid(b) * ', ''])}(v - dot[key](u, S)))",
        ]
    else:
        more = rng.choice(["", "", " - 0.5 * c * v" if "value" in axes else " - c"])
        lines += [f"S = {kept}S + {added}{more}" if rng.random() < 0.8 else f"S = ({kept}S + {added}{more}) / 2"]
    old = rng.random() < 0.25 and not delta
    state = "T" if old else "S"
    read = rng.choice(["dot[key](q, {})", "dot[key](q, {})", "dot[key](q, {}) * a", "tanh(dot[key](q, {}))", "2 * {}"])
    if delta or "value" not in axes:
        read = "dot[key](q, {})"
    twice = rng.random() < 0.3 and "value" in axes and not delta
    count = f"\n    z = {kept}z + k" if twice and "value" not in kept and "w" not in kept else ""
    shown = tuple(axis for axis in axes if axis != "key" or "dot" not in read)
    out = read.format(state) + (" / (1 + abs(dot[key](q, z)))" if count else "")
    given = [f"{name}: [{', '.join(own)}]" for name, own in INPUTS.items() if name != "x"]
    state_type = f"[{', '.join(axes)}]"
    parts = [f"S: {state_type}", *(["z: [heads, key]"] if count else []), f"out: [{', '.join(shown)}]"]
    begins = rng.choice(["0", "0", "0.5", f"param_{len(axes)}"])
    params = ""
    if begins.startswith("param"):
        params, begins = f"param first: {state_type} ~ normal(1)", "first"
    body = "\n    ".join([*(["T = S"] if old else []), *lines]) + count
    given += [f"S: {state_type}", *(["z: [heads, key]"] if count else [])]
    block = (
        f"block step({', '.join(given)}) -> ({', '.join(parts)}) {{\n"
        f"    {body}\n    return S{', z' if count else ''}, {out}\n}}\n"
    )
    names = ", ".join(name for name in INPUTS if name != "x")
    call = f"scan[seq] step({names}, S = {begins}{', z = 0' if count else ''})"
    left = "_, _, out" if count else "_, out"
    order = (*shown[:-1], "seq", *shown[-1:])
    return block, [*([params] if params else []), f"{left} = {call}", f"[{', '.join(order)}]: out"]


def _sums(rng: random.Random, gates: int) -> tuple[str, list[str]]:
    """Running sums of products, and pairs of items, the later of which weighs the earlier."""
    queries = rng.choice(["q", "b * q", "exp(q)"])
    keys = rng.choice(["k", "exp(k)"])
    if rng.random() < 0.5:
        lines = [f"Q = {queries}", f"K = {keys}", "S = cumsum[seq](K * broadcast[key](v))", "out = dot[key](Q, S)"]
        count = "dot[key](Q, cumsum[seq](K))"
    else:
        sign = rng.choice(["<=", "<=", "<"])
        base = rng.choice(["", " * 0.9 ^ (seq - past)", " * (1 - 2 ^ (-5 - heads)) ^ (seq - past)"])
        scale = rng.choice(["", " / sqrt(|key|)", " * 2"])
        lines = [f"Q = {queries}", f"K = {keys}", f"s = dot[key](Q, K[seq as past]){scale}"]
        lines += [f"P = select(past {sign} seq, s{base}, 0)", "out = dot[past](P, v[seq as past])"]
        count = "sum[past](P)"
    if rng.random() < 0.5:
        lines.append(f"out = out / (1 + abs({count}))")
    return "", [*lines, "[heads, seq, value]: out"]


def _cell(rng: random.Random, gates: int) -> tuple[str, list[str]]:
    """An LSTM, a GRU or a plain network, its gates in any order, by one map or by several."""
    bias = rng.choice(["", ", bias = false"])
    other = rng.choice(["", ", bias = false"])
    whole = rng.random() < 0.6 and gates > 1
    order = rng.sample(range(gates), gates)
    if whole:
        maps = [f"X = linear.X[hidden -> gate, hidden](x{bias})", f"H = linear.H[hidden -> gate, hidden](h{other})"]
        into = [f"X[gate = {place}]" for place in order]
        back = [f"H[gate = {place}]" for place in order]
    else:
        maps, names = [], "ABCD"[:gates]
        into = [f"linear.{name}[hidden -> hidden](x{bias})" for name in names]
        back = [f"linear.{name}h[hidden -> hidden](h{other})" for name in names]
    both = [rng.choice([f"{one} + {two}", f"{two} + {one}"]) for one, two in zip(into, back, strict=True)]
    if gates == 4:
        i, f, g, o = both
        c = rng.choice([f"sigmoid({f}) * c + sigmoid({i}) * tanh({g})", f"tanh({g}) * sigmoid({i}) + c * sigmoid({f})"])
        lines = [*maps, f"c = {c}", f"return sigmoid({o}) * tanh(c), c"]
        head, call = "c: [hidden]) -> (h: [hidden], c: [hidden])", "h, _ = scan[seq] cell(x, h = 0, c = 0)"
        head = f"h: [hidden], {head}"
    elif gates == 3:
        r, z, _ = both
        lines = [*maps, f"r = sigmoid({r})", f"z = sigmoid({z})", f"n = tanh({into[2]} + r * {_in(back[2])})"]
        lines += ["return " + rng.choice(["(1 - z) * n + z * h", "h * z + n * (1 - z)", "n + z * (h - n)"])]
        head, call = "h: [hidden]) -> (h: [hidden])", "h = scan[seq] cell(x, h = 0)"
    else:
        lines = [*maps, f"return tanh({both[0]})"]
        head, call = "h: [hidden]) -> (h: [hidden])", "h = scan[seq] cell(x, h = 0)"
    body = "\n    ".join(lines)
    params = []
    if rng.random() < 0.3:
        params, call = (
            ["param first: [hidden] ~ normal(1)"],
            call.replace("h = 0", "h = first").replace("c = 0", "c = first"),
        )
    return f"block cell(x: [hidden], {head} {{\n    {body}\n}}\n", [*params, call, "[seq, hidden]: h"]


def _in(text: str) -> str:
    return f"({text})" if " " in text else text


def _loop(rng: random.Random, gates: int) -> tuple[str, list[str]]:
    """A state put through what is not linear, with work that need not wait for it before and behind."""
    given = rng.choice(["x", "sin(x)", "linear.W[hidden -> hidden](x)", "softmax[hidden](x)", "2 * x"])
    heard = rng.choice(["h", "linear.U[hidden -> hidden](h)", "select(h > 0, h, exp(h) - 1)"])
    lines = [f"g = {given}", f"h = {rng.choice(['tanh', 'sin', 'sigmoid'])}(g {rng.choice('+*')} {heard})"]
    lines += [f"y = {rng.choice(['h', 'linear.Y[hidden -> hidden](h)', 'h * g', 'linear.Y[hidden -> gate](h * g)'])}"]
    last = "gate" if "gate" in lines[-1] else "hidden"
    body = "\n    ".join(lines)
    block = f"block cell(x: [hidden], h: [hidden]) -> (h: [hidden], y: [{last}]) {{\n    {body}\n    return h, y\n}}\n"
    both = rng.random() < 0.4 and last == "hidden"
    call = f"{'h' if both else '_'}, y = scan[seq] cell(x, h = {rng.choice(['0', '0.5'])})"
    return block, [call, f"[seq, {last}]: {'h + y' if both else 'y'}"]
