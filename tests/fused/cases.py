"""Attentions whose kernels are tried: those of examples/attentions at tiny sizes, and new ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import attnc

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "attentions"
HEAD = "width target\nwidth past like target\ndepth heads as h = 2, key as d_k = 8, value as d_v = 8\n"
QKV = "Q: [heads, target, key], K: [heads, target, key], V: [heads, target, value]"
NEW = {
    "spherical": f"""model spherical({QKV}) -> [heads, target, value] {{
    scores = dot[key](Q, K[target as past])
    return dot[past](l2norm[past](select(past <= target, scores, 0)), V[target as past])
}}""",
    "sigmoid": f"""model sigmoid_attention({QKV}) -> [heads, target, value] causal target {{
    scores = dot[key](Q, K[target as past]) / sqrt(|key|) - 3
    weights = select(past <= target, sigmoid(scores), 0)
    return dot[past](weights, V[target as past])
}}""",
    "differential_pair": f"""model differential(
    {QKV}, R: [heads, target, key], L: [heads, target, key], portion: [heads]
) -> [heads, target, value] causal target {{
    first = softmax[past](dot[key](Q, K[target as past]) / sqrt(|key|) where past <= target)
    second = softmax[past](dot[key](R, L[target as past]) / sqrt(|key|) where past <= target)
    return dot[past](first - broadcast[target, past](portion) * second, V[target as past])
}}""",
    "gated": f"""model gated({QKV}, gate: [heads, target, value]) -> [heads, target, value] causal target {{
    weights = softmax[past](dot[key](Q, K[target as past]) / sqrt(|key|) where past <= target and target - past < 9)
    return sigmoid(gate) * dot[past](weights, V[target as past])
}}""",
    "shown": f"""model shown({QKV}, b: [target]) -> (
    output: [heads, target, value] causal target, weights: [target, past, heads] causal target, logs: [heads, target]
) {{
    scores = dot[key](Q, K[target as past]) / sqrt(|key|) + broadcast[target](b[target as past])
    weights = softmax[past](scores where past <= target)
    return dot[past](weights, V[target as past]), weights, logsumexp[past](scores where past <= target)
}}""",
    "shown_norm": f"""model shown_norm({QKV}, portion: [heads]) -> (
    output: [heads, target, value], weights: [heads, target, past], most: [heads, past]
) {{
    first = l2norm[past](dot[key](Q, K[target as past]))
    second = softmax[past](dot[key](K, K[target as past]) where past != target)
    weights = first - broadcast[target, past](portion) * second
    return dot[past](weights, V[target as past]), weights, sum[target](second)
}}""",
    "biased": """const layers = 2
depth places = 7, model = 16

block biases() -> [heads, target, past] {
    param table: [places, heads] ~ normal(0.5)
    return table[places = index[places](clamp(past - target, -6, 0) + 6)]
}

block read(x: [target, model], bias: [heads, target, past], seen: bool[target, past]) -> [target, model] {
    Q = linear[model -> heads, key](x)
    K = linear[model -> heads, key](x)
    V = linear[model -> heads, value](x)
    scores = dot[key](Q, K[target as past]) / sqrt(|key|) + bias
    return linear.O[heads, value -> model](dot[past](softmax[past](scores where seen), V[target as past]))
}

model biased(x: [target, model]) -> [target, model] causal target {
    bias = biases.near()
    repeat layers { x = x + read(x, bias, past <= target) }
    return x
}""",
    "two_streams": f"""width other
model two_streams(
    {QKV}, L: [heads, other, key], W: [heads, other, value], real: bool[other]
) -> [heads, target, value] causal target {{
    near = dot[key](Q, K[target as past]) / sqrt(|key|)
    far = dot[key](Q, L) / sqrt(|key|)
    here = logsumexp[past](near where past <= target)
    there = logsumexp[other](far where real)
    read = dot[past](softmax[past](near where past <= target), V[target as past])
    more = dot[other](softmax[other](far where real), W)
    return sigmoid(here - there) * read + sigmoid(there - here) * more
}}""",
    "polynomial": f"""model polynomial({QKV}) -> [heads, target, value] causal target {{
    param one: [heads] ~ normal(0.1)
    param two: [heads] ~ normal(0.01)
    away = target - past
    bias = one * away + two * away * away
    scores = 20 * tanh((dot[key](Q, K[target as past]) / sqrt(|key|) + bias) / 20)
    return dot[past](softmax[past](scores where past <= target), V[target as past])
}}""",
    "of_places": f"""depth places = 7
model of_places(
    {QKV}, warmth: [heads, target], offer: [heads, target], real: bool[target]
) -> [heads, target, value] {{
    param table: [places, heads] ~ normal(0.5)
    bucket = index[places](clamp(past - target, -3, 3) + 3)
    scores = dot[key](Q, K[target as past]) / sqrt(|key|) + table[places = bucket]
    scores = scores * broadcast[past](exp(warmth)) + broadcast[target](offer[target as past])
    seen = real[target as past] and floor(past / 3) != floor(target / 5)
    return dot[past](softmax[past](scores where seen), V[target as past])
}}""",
}


@dataclass(frozen=True)
class Case:
    """A model, its sizes, and how many kernels are written for it (equal ones once)."""

    file: str
    model: str
    kernels: int
    sizes: Mapping[str, int] = field(default_factory=dict)

    def load(self) -> attnc.Model:
        if self.file in NEW:
            return attnc.loads(HEAD + NEW[self.file]).model(self.model)
        return attnc.load(EXAMPLES / f"{self.file}.attn", sizes=dict(self.sizes)).model(self.model)


SMALL = {"model": 16, "heads": 2}
APART = {"heads": 2, "key": 8, "value": 8}
CASES = (
    Case("multi_head", "multi_head", 1, SMALL),
    Case("multi_query", "multi_query", 1, SMALL),
    Case("grouped_query", "grouped_query", 1, {"model": 32, "groups": 2, "sharing": 2}),
    Case("scaled_dot_product", "scaled_dot_product", 1, {"key": 8, "value": 8}),
    Case("cross", "cross", 1, {**SMALL, "memory": 12}),
    Case("alibi", "alibi_attention", 1, SMALL),
    Case("differential", "differential", 1, {"model": 32, "heads": 2}),
    Case(
        "latent",
        "latent_attention",
        1,
        {"model": 16, "heads": 2, "latent": 8, "query": 8, "plain": 8, "turned": 4, "value": 8},
    ),
    Case("linformer", "linformer", 1, {**SMALL, "target": 20, "short": 5}),
    Case("longformer", "longformer", 2, {**SMALL, "reach": 5}),
    Case("memory_tokens", "remembering", 1, {**SMALL, "inner": 8, "layers": 1}),
    Case("perceiver", "perceiver", 1, {"channels": 6, "latent": 16, "latents": 5, "blocks": 1, "layers": 1}),
    Case("relative_t5", "t5", 1, {**SMALL, "key": 8}),
    Case("sinks", "streaming", 1, {**APART, "reach": 6, "sinks": 2}),
    Case("sinks", "learned_sinks", 1, {**APART, "reach": 6, "sinks": 2}),
    Case("sparse", "strided", 1, {**APART, "heads": 1, "stride": 6, "summary": 2}),
    Case("sparse", "fixed", 1, {**APART, "heads": 1, "stride": 6, "summary": 2}),
    Case("sparse", "local", 1, {**APART, "heads": 1, "stride": 6, "summary": 2}),
    Case("vision_prefix", "reads_a_picture", 1, {**SMALL, "inner": 8, "layers": 1, "pixels": 6, "vocab": 11}),
    Case("../transformer", "transformer", 2, {"model": 16, "heads": 2, "layers": 1, "inner": 8, "vocab": 13}),
    Case("blockwise", "blockwise", 1, {**APART, "heads": 1, "size": 8}),
    Case("blockwise", "band", 1, {**APART, "heads": 1, "size": 8}),
    Case("spherical", "spherical", 1),
    Case("sigmoid", "sigmoid_attention", 1),
    Case("differential_pair", "differential", 2),
    Case("gated", "gated", 1),
    Case("shown", "shown", 1),
    Case("shown_norm", "shown_norm", 2),
    Case("biased", "biased", 1),
    Case("two_streams", "two_streams", 2),
    Case("polynomial", "polynomial", 1),
    Case("of_places", "of_places", 1),
)
