"""Programs of torch.export hold for any width where a scan was lowered; where one stays a loop, for the example's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.export import Dim, export

import attnc

from .programs import program

STATE = """\
width seq
depth heads = 2, key = 4, value = 5

block step(
    q: [heads, key], k: [heads, key], v: [heads, value], a: [heads], c: [heads, key], S: [heads, key, value]
) -> (S: [heads, key, value], out: [heads, value]) {{
    {lines}
    return {state}, {out}
}}

model net(
    q: [heads, seq, key], k: [heads, seq, key], v: [heads, seq, value], a: [heads, seq], c: [heads, seq, key]
) -> [heads, seq, value] causal seq {{
    param first: [heads, key, value] ~ normal(1)
    _, y = scan[seq] step(q, l2norm[key](k), v, sigmoid(a), sigmoid(c), S = {first})
    return y
}}
"""
NETWORK = """\
width seq
depth hidden = 5, gate = {gates}

block cell(x: [hidden], {states}) -> ({states}) {{
    X = linear.X[hidden -> gate, hidden](x)
    H = linear.H[hidden -> gate, hidden](h)
    {lines}
}}

model net(x: [seq, hidden]) -> [seq, hidden] causal seq {{
    return {call}
}}
"""
LSTM = """\
c = sigmoid(X[gate = 1] + H[gate = 1]) * c + sigmoid(X[gate = 0] + H[gate = 0]) * tanh(X[gate = 2] + H[gate = 2])
    return sigmoid(X[gate = 3] + H[gate = 3]) * tanh(c), c"""
GRU = """\
r = sigmoid(X[gate = 0] + H[gate = 0])
    z = sigmoid(X[gate = 1] + H[gate = 1])
    n = tanh(X[gate = 2] + r * H[gate = 2])
    return (1 - z) * n + z * h"""


def state(lines: str, first: str = "0", state: str = "S", out: str = "dot[key](q, S)") -> str:
    return STATE.format(lines=lines, first=first, state=state, out=out)


def network(gates: int, lines: str) -> str:
    states, call = "h: [hidden]", "scan[seq] cell(x, h = 0)"
    if "tanh(c)" in lines:
        return NETWORK.replace("    return {call}", "    h, _ = {call}\n    return h").format(
            gates=gates, lines=lines, states=f"{states}, c: [hidden]", call="scan[seq] cell(x, h = 0, c = 0)"
        )
    return NETWORK.format(gates=gates, lines=lines, states=states, call=call)


FAMILIES = {
    "linear attention": (state("S = a * S + k * v"), 64),
    "sums": (state("S = S + k * v", "first"), 64),
    "decay by channel": (state("S = c * S + k * v", "first"), 16),
    "before its item": (state("T = S\n    S = a * S + k * v", "first", out="dot[key](q, T)"), 64),
    "delta rule": (state("S = a * S\n    S = S + k * (v - dot[key](k, S))", "first"), 32),
    "delta rule that keeps its start": (state("S = S + 0.1 * k * (v - dot[key](k, S))", "first"), 32),
    "delta rule that starts as a number": (state("S = S + k * (v - dot[key](k, S))", "0.5"), 32),
    "running": (state("S = a * S + k * v", "first", out="dot[key](q, tanh(S))"), 16),
    "running before": (state("T = S\n    S = a * S + k * v", "first", out="dot[key](q, tanh(T))"), 16),
    "LSTM": (network(4, LSTM), 16),
    "GRU": (network(3, GRU), 16),
    "plain": (network(1, "return tanh(X[gate = 0] + H[gate = 0])"), 16),
}


pytestmark = pytest.mark.filterwarnings("ignore")  # of the exporter


def inputs(model: attnc.Model, n: int, batch: int) -> dict[str, torch.Tensor]:
    draw = np.random.default_rng(n)
    shapes = {port.name: [n if size is None else size for size in port.shape] for port in model.inputs}
    return {name: torch.tensor(draw.normal(size=(batch, *shape))) for name, shape in shapes.items()}


def exported(model: attnc.Model, net: torch.nn.Module, n: int = 5, strict: bool = False) -> Any:
    """The program of an example of n items, whose batch and width are free."""
    dtype = next((x.dtype for x in net.parameters()), torch.float64)
    given = {name: x.to(dtype) for name, x in inputs(model, n, 2).items()}
    free = {port.name: {0: Dim.DYNAMIC, 1 + port.shape.index(None): Dim.DYNAMIC} for port in model.inputs}
    return export(net, (), given, dynamic_shapes=free, strict=strict).module()


def check(text: str, chunk: int, dtype: torch.dtype, strict: bool = False) -> None:
    model = attnc.loads(text).model("net")
    net: Any = model.torch(seed=0).to(dtype)
    if "cell(" in text and torch.__version__ < "2.13":  # where loops of graphs have no right gradients
        with pytest.raises(torch._dynamo.exc.UserError, match="specialized"):
            exported(model, net, strict=strict)
        return
    program, limit = exported(model, net, strict=strict), 1e-10 if dtype == torch.float64 else 2e-5
    for n in (1, 2, chunk - 1, chunk, chunk + 1, 3 * chunk + 5):
        names = [name for name, _ in program.named_parameters()]  # a strict one has none that nothing reads
        (mine, *ours), (wanted, *theirs) = (results(one, inputs(model, n, 3), names, dtype) for one in (program, net))
        assert float((mine - wanted).abs().max()) <= limit * max(float(wanted.std(correction=0)), 1e-2)
        for one, other in zip(ours, theirs, strict=True):
            assert float((one - other).abs().max()) <= limit * max(float(other.abs().max()), 1)


def results(
    net: torch.nn.Module, given: dict[str, torch.Tensor], names: list[str], dtype: torch.dtype
) -> list[torch.Tensor]:
    """The result and the gradients of what is given and of these weights."""
    given = {name: x.to(dtype).requires_grad_() for name, x in given.items()}
    out = net(**given)
    upstream = torch.linspace(-1, 1, out.numel(), dtype=dtype).reshape(out.shape)
    leaves = [*given.values(), *(dict(net.named_parameters())[name] for name in names)]
    return [
        out.detach(),
        *torch.autograd.grad((out * upstream).sum(), leaves, allow_unused=True, materialize_grads=True),
    ]


def test_any_width() -> None:
    check(*FAMILIES["linear attention"], torch.float64)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_any_width_of_all(name: str, strict: bool, dtype: torch.dtype) -> None:
    check(*FAMILIES[name], dtype, strict)


def test_what_stays_a_loop_has_the_width_of_its_example() -> None:
    text = network(1, "return sin(X[gate = 0] + H[gate = 0])")
    model = attnc.loads(text).model("net")
    with pytest.raises(torch._dynamo.exc.UserError, match="specialized"):
        exported(model, model.torch(seed=0))


@pytest.mark.slow
@pytest.mark.parametrize("group", range(6))
def test_any_width_of_random_programs(group: int) -> None:
    for seed in range(group * 20, group * 20 + 20):
        text, kind = program(seed)
        looped = "unbind(" in attnc.loads(text).model("net").source("torch")
        if not looped and (kind != "cell" or torch.__version__ >= "2.13"):
            follows(text, seed)


def follows(text: str, seed: int) -> None:
    model = attnc.loads(text).model("net")
    net: Any = model.torch(seed=0).double()
    try:
        free = exported(model, net, 7)
        for n in (2, 17, 70, 130):
            given = inputs(model, n, 3)
            with torch.no_grad():
                found, wanted = free(**given), net(**given)
            assert float((found - wanted).abs().max()) <= 1e-10 * max(float(wanted.std(correction=0)), 1e-2)
    except Exception as error:
        error.add_note(f"seed {seed}\n{text}")
        raise
