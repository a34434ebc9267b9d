"""No name of a spec is changed for what generated code uses itself: programs of every kind, all things renamed."""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import attnc
from attnc.backends.loading.init import initial_weights
from attnc.backends.text import spelling
from attnc.backends.text.carried import NUMPY, TORCH, helpers
from attnc.backends.text.names import camel, plain
from attnc.backends.text.scopes import names_of
from attnc.compiler.base.names import METHODS, is_reserved
from attnc.compiler.graph.inventory import inventory
from attnc.compiler.graph.nodes import Graph
from attnc.compiler.ops import OPS
from attnc.dsl.tokens import RESERVED

from .agreement import random_inputs, sizes_of
from .written import written

torch = pytest.importorskip("torch")

PROGRAMS = [
    re.sub(r"#.*", "", text)
    for text in Path(__file__).with_name("reading.txt").read_text(encoding="utf-8").split("---\n")
    if "use std" not in text  # a library's names are its own
]
Array = np.ndarray[Any, np.dtype[Any]]
WIDTHS, STEP, SIZE = (12, 6, 4), 150, 60
ISSUE = ("map", "slice", "sorted", "getattr", "random", "partial", "callable", "Iterator", "decoder", "tensor", "f_")
CAPTURED = {"passes": ("outer.1.near", "outer.3.x", "x:1"), "twice": ("one.attend.softmax", "two.Q")}
# What the language calls so itself, beside ops.
WORDS = """use std attention multihead block model op like ragged causal bool int in shared normal init xavier bias pad
smoothing sum mean max min any real as _"""
LANGUAGE = RESERVED | set(OPS) | set(WORDS.split())
WORD = re.compile(r"\"[^\"\n]*\"|(?<![\w.])[A-Za-z_]\w*|(?<=[A-Za-z_]\.)[A-Za-z_]\w*")


@cache
def pool() -> tuple[str, ...]:
    """Every name of Python, and every name that a helper, an import or code written for a spec has."""
    found = {*dir(builtins), *spelling._MODULES, *spelling._HOMES}
    texts = [text for module in (*TORCH, *NUMPY) for text in helpers(module).values()]
    for text in PROGRAMS:
        for backend in ("torch", "numpy"):
            code = model_of(text)._code(backend, False, False, ())
            texts += [plain(made) for made in (*code.model, *code.decoding)]
    found |= {use.name for text in texts for use in names_of(text).uses}
    return tuple(sorted(name for name in found if name not in LANGUAGE and name != "_"))


def model_of(text: str) -> attnc.Model:
    """The last model of a program, or its last block."""
    spec = attnc.loads(text)
    return spec.model(spec.models[-1]) if spec.models else spec.block(spec.blocks[-1])


def named(text: str) -> list[str]:
    """What a program names."""
    return [word for word in dict.fromkeys(WORD.findall(text)) if word not in LANGUAGE and word[0] != '"']


def renamed(text: str, names: Mapping[str, str]) -> str:
    return WORD.sub(lambda word: names.get(word[0], word[0]), text)


def for_weights(name: str) -> bool:
    """Whether weights may be called so: not as an attribute of a module (D11), nor as a function of decoding."""
    return not is_reserved(name) and name not in METHODS


def ways(names: list[str], learned: set[str], start: int) -> dict[str, str]:
    """Other names for all of them, from a place in the pool on."""
    left = [*pool()[start:], *pool()[:start]]
    found = {}
    for name in names:
        found[name] = next(new for new in left if name not in learned or for_weights(new))
        left.remove(found[name])
    return found


def given(graph: Graph) -> list[Array]:
    """Inputs for two examples; of a ragged width the second is shorter."""
    sizes = sizes_of(graph, WIDTHS)
    made = random_inputs(graph, (2,), WIDTHS)
    lengths = [item.length_of and sizes[item.length_of.family] for item in graph.inputs]
    return [x if n is None else np.array([n, n - 1]) for x, n in zip(made, lengths, strict=True)]


def outcome(model: attnc.Model, backend: str, weights: Mapping[str, Array], capture: tuple[str, ...]) -> list[Array]:
    """All that a model gives, at once, in steps, and when it generates."""
    graph, decoding = model._sized, model.decoding
    if backend == "numpy":
        call: Any = model.numpy(weights, dtype="float64", capture=capture)
        inputs: list[Any] = given(graph)
    else:
        call = model.torch(weights=weights, dtype="float64", capture=capture).eval()
        inputs = [torch.from_numpy(x) for x in given(graph)]
    made = call(*inputs)
    found = [made] if not capture else [made[0], *(x.value for x in made[1].values())]
    by_name = {item.name: x for item, x in zip(graph.inputs, inputs, strict=True)}
    if decoding.step is not None and decoding.prepare is not None and not capture:
        once = {item.name: by_name[item.name] for item in decoding.prepare.inputs}
        found.append(call.step(*(by_name[item.name] for item in decoding.step.inputs), call.prepare(**once)))
        if decoding.prompt is not None:
            prompt = by_name[decoding.prompt][:, :4]
            found += [call.generate(prompt, 3, **once), *call.stream(prompt, 3, **once)]
            found.append(call.generate(prompt, 3, **{option_name("beams", once): 2}, **once))
            options = {option_name("temperature", once): 1.0, option_name("seed", once): 1}
            found.append(call.generate(prompt, 3, **options, **once))
    every = [x for one in found for x in (one if isinstance(one, tuple) else (one,))]
    return [x.detach().numpy() if backend == "torch" else np.asarray(x) for x in every]


def option_name(option: str, inputs: Mapping[str, object]) -> str:
    """What an option of `generate` is called beside these inputs."""
    return option if option not in inputs else option_name(f"_{option}", inputs)


@cache
def usual(place: int, backend: str, capture: tuple[str, ...]) -> list[Array]:
    model = model_of(PROGRAMS[place])
    return outcome(model, backend, initial_weights(inventory(model._sized), 0), capture)


def check(place: int, start: int, backend: str) -> None:
    """A program gives the same by any names."""
    text = PROGRAMS[place]
    model = model_of(text)
    names = ways(named(text), {part for path in model.weights for part in path.split(".")}, start)
    other = model_of(renamed(text, names))

    def path(old: str) -> str:
        return re.sub(r"[A-Za-z_]\w*", lambda word: names.get(word[0], word[0]), old)

    weights = {path(old): x for old, x in initial_weights(inventory(model._sized), 0).items()}
    for capture in ((), CAPTURED[model.name]) if model.name in CAPTURED else ((),):
        found = outcome(other, backend, weights, tuple(map(path, capture)))
        for one, right in zip(found, usual(place, backend, capture), strict=True):
            np.testing.assert_array_equal(one, right)


@pytest.fixture(autouse=True)
def foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("ops_of_their_own")
    module.twice = lambda x: 2 * x  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.parametrize("backend", ["torch", "numpy"])
@pytest.mark.parametrize("place", range(len(PROGRAMS)))
def test_programs_by_any_names(place: int, backend: str) -> None:
    for start in range(place * 11 % STEP, len(pool()), STEP):
        check(place, start, backend)


BLOCK = """block BLOCK[AXIS: depth, CONST: const](IN: [zseq, AXIS], MASK: bool[zseq]) -> [zseq, AXIS] {
    param WEIGHT: [AXIS, DEPTH]
    VALUE = cumsum[zseq](tanh(IN)) * CONST + zseq
    repeat.zpasses NUMBER shared { VALUE = VALUE / |DEPTH| + dot[DEPTH](dot[AXIS](IN, WEIGHT), WEIGHT) }
    zy = softmax[zpast](dot[AXIS](VALUE, IN[zseq as zpast]) where zpast <= zseq and MASK[zseq as zpast])
    return sqrt(abs(clamp(dot[zpast](zy, VALUE[zseq as zpast]), -2, CONST)))
}
model MODEL(IN: [zseq, zm], MASK: [zm] = 0.5) -> [zseq, zm] causal zseq {
    return linear.WEIGHT_of_it[zm -> zm](IN) + broadcast[zseq](MASK)
}
"""
CALL = "    zx = MODEL(BLOCK.zPLACE[AXIS = zm, CONST = 2](zx, zseq > 1 or zseq < 1) + broadcast[zseq](IN))"


def crowd(names: Sequence[str]) -> str:
    """A program with things of all kinds for each name; what meets in one place has different ones.

    Of three parts of the names in turn, one is of blocks and what they are made of, the others of models and axes.
    """
    third = len(names) // 3
    inner, outer, axes = names[:third], names[third : 2 * third], names[2 * third :]
    depths, numbers = axes[::2], axes[1::2]
    lines = ["width zseq <= 16", "width zpast like zseq", "depth zvocab = 5, zm = 4"]
    lines += [f"depth {name} = {2 + place % 3}" for place, name in enumerate(depths)]
    lines += [f"const {name} = {2 + place % 3}" for place, name in enumerate(numbers)]
    blocks, calls = [], []
    for place in range(third):
        own = [inner[(place + step) % third] for step in range(third)]
        weight = next((name for name in own[6:] if for_weights(name)), "zweight")
        words = dict(zip(("BLOCK", "AXIS", "CONST", "IN", "MASK", "VALUE"), own, strict=False))
        words |= {"WEIGHT": weight, "WEIGHT_of_it": f"zof{place}", "MODEL": outer[place], "zPLACE": f"z{place}"}
        words |= {"DEPTH": depths[place % len(depths)], "NUMBER": numbers[place % len(numbers)]}
        blocks.append(renamed(BLOCK, words))
        calls.append(renamed(CALL, words))
    inputs = ", ".join(f"{name}: [zm] = 0.5" for name in inner)
    root = [f"model zroot(zids: zvocab[zseq], {inputs}) -> [zseq, zvocab] causal zseq {{"]
    root += ["    param zE: [zvocab, zm]", "    zx = zE[zvocab = zids]", *calls, "    return dot[zm](zx, zE)", "}"]
    return "\n".join([*lines, *blocks, *root])


@cache
def plain_crowd(backend: str) -> tuple[list[tuple[int, ...]], list[Array]]:
    model = model_of(crowd([f"z{place}_" for place in range(SIZE)]))
    weights = initial_weights(inventory(model._sized), 0)
    return list(weights.values()), outcome(model, backend, weights, ())


def check_crowd(chosen: Sequence[str], backend: str) -> None:
    model, (weights, right) = model_of(crowd(chosen)), plain_crowd(backend)
    found = outcome(model, backend, dict(zip(model.weights, weights, strict=True)), ())
    for one, other in zip(found, right, strict=True):
        np.testing.assert_array_equal(one, other)


def parts(names: Sequence[str]) -> Iterator[list[str]]:
    """Lists of SIZE of these names, such that each name is for once in each third."""
    for start in range(0, len(names), SIZE):
        chosen = list(names[start : start + SIZE])
        chosen += [name for name in pool() if name not in chosen][: SIZE - len(chosen)]
        for turn in range(0, SIZE, SIZE // 3):
            yield [*chosen[turn:], *chosen[:turn]]


def of_files() -> list[str]:
    """What helpers, and code beside them, may read of a file, its imports or Python: only these can be hidden."""
    texts = [text for module in (*TORCH, *NUMPY) for text in helpers(module).values()]
    found = {name for text in texts for name in (*names_of(text).made, *names_of(text).wanted)}
    return [name for name in pool() if name in found or name in ISSUE]


TURNS = [
    (0, "torch"),
    *(pytest.param(turn, by, marks=pytest.mark.slow) for by in ("torch", "numpy") for turn in (1, 2)),
]


@pytest.mark.parametrize(("turn", "backend"), [*TURNS, pytest.param(0, "numpy", marks=pytest.mark.slow)])
def test_what_files_read_by_every_kind_of_thing(turn: int, backend: str) -> None:
    for chosen in islice(parts(of_files()), turn, None, 3):
        check_crowd(chosen, backend)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["torch", "numpy"])
def test_every_name_by_every_kind_of_thing(backend: str) -> None:
    for chosen in parts(pool()):
        check_crowd(chosen, backend)


# -- one by one ------------------------------------------------------------------------------------------------------

DECODER = """
width seq <= 16
depth vocab = 5, size = 4
block f(x: [seq, size]) -> [seq, size] { return linear.w[size -> size](x) + cumsum[seq](x) }
model m(ids: vocab[seq], by: [size]) -> [seq, vocab] causal seq {
    param E: [vocab, size]
    return dot[size](f.one(E[vocab = ids]) * broadcast[seq](by), E)
}
"""


def decoder(**names: str) -> attnc.Model:
    return model_of(renamed(DECODER, names))


@pytest.mark.parametrize("name", ISSUE)
def test_blocks_and_models_of_the_names_that_code_uses(name: str) -> None:
    """In a file of its own each, and the model too: its class and its function are called as it is."""
    usual = decoder()
    weights = initial_weights(inventory(usual._sized), 0)
    for names in ({"m": name}, {"f": name}, {"by": name}, {"size": name}, {"m": name, "by": f"{name}_", "x": name}):
        model = decoder(**names)
        for backend in ("torch", "numpy"):
            given = [weights[path.replace(name, "f") if path not in weights else path] for path in model.weights]
            right = outcome(usual, backend, weights, ())
            for one, other in zip(
                outcome(model, backend, dict(zip(model.weights, given, strict=True)), ()), right, strict=True
            ):
                np.testing.assert_array_equal(one, other)
        if "m" in names:
            assert f"\nclass {camel(name)}(nn.Module)" in model.source("torch")
            assert re.search(rf"^def {name}\(", model.source("numpy"), re.MULTILINE)


def test_the_file_says_what_makes_way() -> None:
    source = decoder(m="decoder", f="any_", by="len").source("torch", single_file=True, decoding=True)
    assert "class Decoder(nn.Module):" in source and "class _Decoder(NamedTuple):" in source
    assert 'len: Float[Tensor, "*batch size"]' in source and "from builtins" not in source
    source = written(decoder(m="decoder", f="any_", by="len"), "torch")
    assert "Decoder as _Decoder," in source and "def generate(net: Decoder, prompt: _Any" in source
    source = decoder(f="map").source("numpy", single_file=True, decoding=True)
    assert "from builtins import map as _map\n" in source and "list(_map(plain, prompt))" in source
    assert "def map(w: dict[str, Array], at: str, x: Float" in source
    source = decoder(m="partial", f="np", size="w", ids="self", by="dtype").source("numpy")
    assert "import numpy as _np\n" in source and "def partial(\n    _w: dict[str, Array],\n    self: Int[" in source


def test_nothing_makes_way_without_need() -> None:
    """A builtin that a file does not use, or uses elsewhere, is as it was."""
    source = decoder(f="hex", by="len", x="sorted").source("numpy")
    assert not re.search(r"^(def|class) _| as _", source, re.MULTILINE)
