"""Random programs of the shape of experts: routers, what experts do, and who reads them."""

from __future__ import annotations

import random

ROUTERS = {
    "one": "best = argmax[expert](s)\nw = select(expert == best, p, 0)",
    "capacity": "best = argmax[expert](p)\nmine = expert == best\nplace = cumsum[seq](select(mine, 1, 0))\n"
    "w = select(mine and place <= 2, p, 0)",
    "several": "best = topk[expert -> chosen](s)\ng = softmax[chosen](s[expert = best])\n"
    "w = sum[chosen](select(expert == best, g, 0))",
    "crowded": "best = topk[expert -> chosen](s)\nmine = expert == best\n"
    "place = cumsum[seq](select(any[chosen](mine), 1, 0))\n"
    "w = sum[chosen](select(mine and place <= 3, p[expert = best], 0))",
    "scaled": "best = topk[expert -> chosen](s)\nw = select(any[chosen](expert == best), sigmoid(s), 0)\n"
    "w = 1.5 * (w / (sum[expert](w) + 0.5))",
    "masked": "best = topk[expert -> chosen](s)\nw = softmax[expert](s where any[chosen](expert == best))",
    "few": "best = topk[expert -> chosen](s where s > 0)\ng = softmax[chosen](s[expert = best])\n"
    "w = sum[chosen](select(expert == best, g, 0))",
    "groups": "top = max[member](split[expert -> group, member](s))\ngood = argmax[group](top)\n"
    "open = merge[group, member -> expert](broadcast[member](group == good))\n"
    "best = topk[expert -> chosen](s where open)\nw = select(any[chosen](expert == best), p, 0)",
    "whole": "best = topk[expert -> chosen](mean[seq](s))\n"
    "w = sum[chosen](select(expert == best, mean[seq](p)[expert = best], 0))",
}
EXPERTS = (
    "up = linear[expert: model -> inner](x{bias})\nmade = linear.down[expert: inner -> model](silu(up))",
    "gate = linear[expert: model -> inner](x{bias})\nup = linear[expert: model -> inner](x)\n"
    "made = linear.down[expert: inner -> model](gelu(gate) * up{bias})",
    "made = dot[inner](relu(dot[model](x, A) + b), B)",
    "up = linear[expert: model -> heads, inner](x)\nmade = linear.down[expert: heads, inner -> model](tanh(up){bias})",
    "up = linear[expert: model -> inner](l2norm[model](x))\nup = linear.mix[inner -> heads](up * b)\n"
    "made = linear.down[expert: heads -> model](softmax[heads](up))",
    "up = linear[expert: model -> inner](x + 0.1 * seq)\nmade = dot[inner](up * up, B) * (1 + expert)",
)
READERS = ("dot[expert](w, made)", "sum[expert](made * w)", "x + 2 * dot[expert](w, made)", "dot[expert](w, made, p)")
GATHERS = {"one": "made[expert = best] * max[expert](p)", "several": "dot[chosen](g, made[expert = best])"}


def program(seed: int) -> str:
    """A model `f` of x: [seq, model]; its router may be a block, or its experts with it."""
    rng = random.Random(seed)
    name = rng.choice([*ROUTERS])
    scores = "s = linear.router[model -> expert](x)\np = softmax[expert](s)\n"
    body = rng.choice(EXPERTS).format(bias=rng.choice(["", ", bias = false"]))
    readers = READERS[::2] if name == "whole" else READERS  # its weights are no item's: `*` spreads them over none
    reader = GATHERS[name] if name in GATHERS and rng.random() < 0.3 else rng.choice(readers)
    route, around = "", scores + ROUTERS[name]
    apart = "seq" not in around and "p" not in reader.replace("expert", "") and reader not in GATHERS.values()
    if apart and rng.random() < 0.5:
        route = f"block route(x: [model]) -> [expert] {{\n{around}\nreturn w\n}}\n"
        around = "w = route(x)"
    lines = [around, body] if rng.random() < 0.5 else [body, around]
    sizes = f"expert = {2 * rng.randint(2, 4)}, chosen = {rng.randint(1, 3)}"
    sizes += f", model = {rng.choice([4, 5])}, inner = {rng.choice([3, 4])}"
    return f"""\
width seq
depth {sizes}, heads = 2, member = 2, group = expert / member
{route}model f(x: [seq, model]) -> [seq, model] {{
param A: [expert, inner, model] ~ normal(0.7)
param B: [expert, model, inner] ~ normal(0.7)
param b: [expert, inner] ~ normal(0.7)
{lines[0]}
{lines[1]}
return {reader}
}}
"""
