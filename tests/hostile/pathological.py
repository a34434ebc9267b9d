"""Legal specs that no one would write: long, wide, deep or doubling, of a size and a seed."""

from __future__ import annotations

import random
from collections.abc import Callable

HEAD = "width s\nwidth p like s\ndepth d = 8\n"
MODEL = "model m(x: [s, d]) -> [s, d] causal s {\n"
Shape = Callable[[random.Random, int], str]


def body(rng: random.Random, size: int, kinds: list[Callable[[int], str]], head: str = HEAD + MODEL) -> str:
    """A model of statements of some kinds, in a random order, as many as there is room for."""
    lines, left = [], size - len(head) - 20
    while True:
        line = rng.choice(kinds)(len(lines))
        if len(line) > left:
            return head + "".join(lines) + " return x\n}\n"
        left -= len(line)
        lines.append(line)


def statements(rng: random.Random, size: int) -> str:
    return body(rng, size, [
        lambda n: f" x = x + {n}\n",
        lambda n: " x = select(x > 1, x, -x)\n",
        lambda n: f" x = linear.w{n}[d -> d](x)\n",
        lambda n: f" x = layernorm.n{n}[d](x)\n",
        lambda n: " x = x[s as p][p as s]\n",
        lambda n: " expect x: [s, d]\n",
    ])  # fmt: skip


def gathers(rng: random.Random, size: int) -> str:
    return body(rng, size, [
        lambda n: " x = x[s = max(s - 1, 0)]\n",
        lambda n: f" x = x + x[s = max(s - {n % 7}, 0)]\n",
        lambda n: " x = x * x[s = min(max(s - 2, 0), s)]\n",
    ])  # fmt: skip


def attentions(rng: random.Random, size: int) -> str:
    return body(rng, size, [
        lambda n: " x = x + dot[p](softmax[p](dot[d](x, x[s as p]) where p <= s), x[s as p])\n",
        lambda n: f" x = dot[p](softmax[p](dot[d](x, x[s as p]) where p <= s and s - p < {n + 1}), x[s as p])\n",
    ])  # fmt: skip


def masks(rng: random.Random, size: int) -> str:
    """One mask of very many parts."""
    terms = ["p <= s", *(rng.choice([f"s - p < {n}", f"s - p != {n}", f"(s - p) % {n + 2} != 1"])
                         for n in range(min(size // 16, 3000)))]  # fmt: skip
    mask = " and ".join(terms)
    return f"{HEAD}{MODEL} w = softmax[p](dot[d](x, x[s as p]) where {mask})\n return dot[p](w, x[s as p])\n}}\n"


def doubling_masks(rng: random.Random, size: int) -> str:
    """Each mask holds the one before it twice: written out, there are more parts than atoms."""
    lines = [f" k{n + 1} = (k{n} and s - p != {n}) or (k{n} and s - p > {n})\n" for n in range(60)]
    use = " w = softmax[p](dot[d](x, x[s as p]) where k60)\n return dot[p](w, x[s as p])\n}\n"
    return f"{HEAD}{MODEL} k0 = p <= s\n{''.join(lines)}{use}"


def doubling_indices(rng: random.Random, size: int) -> str:
    lines = [f" i{n + 1} = min(i{n}, max(i{n} - {rng.randrange(3)}, 0))\n" for n in range(60)]
    return f"{HEAD}{MODEL} i0 = s\n{''.join(lines)} return x[s = i60]\n}}\n"


def long_indices(rng: random.Random, size: int) -> str:
    count = size // 34
    lines = [f" i{n + 1} = max(i{n} - {rng.randrange(1, 3)}, 0)\n" for n in range(count)]
    return f"{HEAD}{MODEL} i0 = s\n{''.join(lines)} return x[s = i{count}]\n}}\n"


def sizes(rng: random.Random, size: int) -> str:
    """Widths derived from the two before them."""
    count = size // 30
    lines = [f"width w{n} = w{n - 1} + w{n - rng.choice([1, 2])}\n" for n in range(2, 60)]
    lines += [f"width w{n} = floor((w{n - 1} + 1) / 2)\n" for n in range(60, max(60, count))]
    last = 59 + max(0, count - 60)
    head = "model m(x: [w0], y: [w1]) -> [] {\n return sum[w0](x) + sum[w1](y)"
    return f"width w0, w1\n{''.join(lines)}{head} + |w{last}|\n}}\n"


def products_of_sums(rng: random.Random, size: int) -> str:
    pairs = "".join(f"width a{n}, b{n}\n" for n in range(22))
    chain = "width w0 = a0 + b0\n" + "".join(f"width w{n} = w{n - 1} * (a{n} + b{n})\n" for n in range(1, 22))
    inputs = ", ".join(f"x{n}: [a{n}, b{n}]" for n in range(22))
    return f"{pairs}{chain}model m({inputs}, y: [w21]) -> [w21] {{\n return y[w21 = min(w21, |w21| - 1)]\n}}\n"


def inputs(rng: random.Random, size: int) -> str:
    count = size // 24
    named = ", ".join(f"a{n}: [s]" for n in range(count))
    return f"width s\nmodel m({named}) -> [s] {{\n return {' + '.join(f'a{n}' for n in range(count))}\n}}\n"


def operators(rng: random.Random, size: int) -> str:
    op = rng.choice([" + ", " * ", " - "])
    return f"{HEAD}{MODEL} return {op.join(['x'] * min(size // 4, 4000))}\n}}\n"


def operands(rng: random.Random, size: int) -> str:
    return body(rng, size, [lambda n: f" x = {rng.choice(['max', 'min'])}({', '.join(['x'] * 300)})\n"])


def blocks(rng: random.Random, size: int) -> str:
    count = min(95, size // 80)
    chain = "".join(
        f"block b{n + 1}(x: [s, d]) -> [s, d] {{\n return b{n}(linear.w[d -> d](x))\n}}\n" for n in range(count)
    )
    return f"{HEAD}block b0(x: [s, d]) -> [s, d] {{\n return relu(x)\n}}\n{chain}{MODEL} return b{count}(x)\n}}\n"


def calls(rng: random.Random, size: int) -> str:
    head = f"{HEAD}block f[n: const](x: [s, d]) -> [s, d] {{\n return relu(x) * n\n}}\n{MODEL}"
    return body(rng, size, [lambda n: f" x = f[n = {rng.randrange(200)}](x)\n"], head)


def repeats(rng: random.Random, size: int) -> str:
    return body(rng, size, [
        lambda n: f" repeat.r{n} {rng.randrange(1, 9)} {{\n  x = x + linear.w[d -> d](x)\n }}\n",
        lambda n: f" repeat.r{n} i in 6 {{\n  if i % 2 == 0 {{\n   x = x + {n}\n  }}\n }}\n",
    ])  # fmt: skip


def nested_repeats(rng: random.Random, size: int) -> str:
    deep = 60
    opened = "".join(f"repeat.r{n} 1 {{\n" for n in range(deep))
    return f"{HEAD}{MODEL}{opened}x = linear.w[d -> d](x)\n{'}' + chr(10)}{('}' + chr(10)) * (deep - 1)} return x\n}}\n"


def uses(rng: random.Random, size: int) -> str:
    count = size // 40
    many = "".join(f"use std.attention: multihead as m{n}\n" for n in range(count))
    return f"{many}{HEAD}{MODEL} return x\n}}\n"


def splits(rng: random.Random, size: int) -> str:
    head = "width s\nwidth a = s / 4\ndepth b = 4, d = 2\nmodel m(x: [s, d]) -> [s, d] {\n y = split[s -> a, b](x)\n"
    made = body(rng, size - 40, [
        lambda n: " y = y + y[a = max(a - 1, 0)]\n", lambda n: " y = y + y[b = min(b + 1, 3)]\n",
    ], head)  # fmt: skip
    return made.replace(" return x\n", " return merge[a, b -> s](y)\n")


def comments(rng: random.Random, size: int) -> str:
    noise = "".join(rng.choice(["# a\n", "#\n", "\n", "  # }\n", '# "\n']) for _ in range(size // 4))
    return f"{noise}{HEAD}{MODEL} return x  # {'}' * 50}\n}}\n"


SHAPES: dict[str, Shape] = {
    shape.__name__: shape
    for shape in (
        statements, gathers, attentions, masks, doubling_masks, doubling_indices, long_indices, sizes,
        products_of_sums, inputs, operators, operands, blocks, calls, repeats, nested_repeats, uses, splits, comments,
    )
}  # fmt: skip
