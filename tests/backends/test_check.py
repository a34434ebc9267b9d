"""What comes into a model is refused, in its spec's words, by both checks at its border: the short one, which stands in
the model's own file, and the full one.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import attnc
from attnc.backends.loading.load import build_numpy, build_torch
from attnc.backends.runtime.numpy.check import check as numpy_check
from attnc.backends.runtime.torch.check import check as torch_check
from tests.sources import numpy_source, torch_source

Array = np.ndarray[Any, np.dtype[Any]]
F, Z, B = np.zeros, lambda shape: np.zeros(shape, int), lambda shape: np.zeros(shape, bool)


def on_torch(x: Any) -> Any:
    return torch.as_tensor(x) if isinstance(x, np.ndarray | np.generic) else x


LIBRARIES: dict[str, tuple[Callable[..., None], Callable[[Any], Any]]] = {
    "torch": (torch_check, on_torch),
    "numpy": (numpy_check, lambda x: x),
}
both = pytest.mark.parametrize("library", LIBRARIES)


# -- the short check itself ------------------------------------------------------------------------------------------

REFUSED: list[tuple[str, list[Any], dict[str, int], type[Exception], str]] = [  # declared, inputs, sizes, error
    ("x: [t]", [[1.0]], {}, TypeError, "`x` is list, but must be ARRAY of float: [t]"),
    ("x: [t]", [1.0], {}, TypeError, "`x` is float, but must be ARRAY of float: [t]"),
    ("x: [t]", [None], {}, TypeError, "`x` is NoneType, but must be ARRAY of float: [t]"),
    ("x?: [t]", ["a"], {}, TypeError, "`x?` is str, but must be ARRAY of float: [t]"),
    ("x: [t]", [Z(3)], {}, TypeError, "`x` is int64[3], but must be ARRAY of float: [t]"),
    ("x: [t]", [B(3)], {}, TypeError, "`x` is bool[3], but must be ARRAY of float: [t]"),
    ("x: [t]", [np.zeros(3, complex)], {}, TypeError, "`x` is complex128[3], but must be ARRAY of float: [t]"),
    ("x: bool[t]", [F(3)], {}, TypeError, "`x` is float64[3], but must be ARRAY of bool: bool[t]"),
    ("x: bool[t]", [Z(3)], {}, TypeError, "`x` is int64[3], but must be ARRAY of bool: bool[t]"),
    ("x: int[t]", [F(3)], {}, TypeError, "`x` is float64[3], but must be ARRAY of int: int[t]"),
    ("x: int[t]", [B(3)], {}, TypeError, "`x` is bool[3], but must be ARRAY of int: int[t]"),
    ("x: int[t]", [np.zeros(3, complex)], {}, TypeError, "`x` is complex128[3], but must be ARRAY of int: int[t]"),
    ("x: v[t]", [F(3)], {}, TypeError, "`x` is float64[3], but must be ARRAY of int: v[t]"),
    ("x: v[t]", [B(3)], {"v": 4}, TypeError, "`x` is bool[3], but must be ARRAY of int: v[t]"),
    ("x: [t, d]", [F(3)], {}, TypeError, "`x` is float64[3], but must be ARRAY of float: [t, d]"),
    ("y: [], x: [t]", [F(()), F(())], {}, TypeError, "`x` is float64[], but must be ARRAY of float: [t]"),
    ("x: [t], y: [t]", [F((2, 3)), F((4, 3))], {}, ValueError,
     "`y` has batch axes = (4,), but `x` has batch axes = (2,)"),
    ("x: [t], y: [t]", [F(3), F((1, 3))], {}, ValueError, "`y` has batch axes = (1,), but `x` has batch axes = ()"),
    ("x: [], y: [t]", [F(3), F((2, 3))], {}, ValueError, "`y` has batch axes = (2,), but `x` has batch axes = (3,)"),
    ("x: [t], y: [t]", [F(3), F(4)], {}, ValueError, "`y` has t = 4, but `x` has t = 3"),
    ("x: [t], y: [t]", [F(3), F(1)], {}, ValueError, "`y` has t = 1, but `x` has t = 3"),
    ("x: [t, t]", [F((3, 4))], {}, ValueError, "`x` has t = 4, but `x` has t = 3"),
    ("z?: [t], x: [t], y: [t]", [None, F(3), F(4)], {}, ValueError, "`y` has t = 4, but `x` has t = 3"),
    ("x: [t], y?: [t]", [F(3), F(4)], {}, ValueError, "`y?` has t = 4, but `x` has t = 3"),
    ("x: [t], y: [s like t]", [F(3), F(4)], {}, ValueError, "`y` has s like t = 4, but `x` has t = 3"),
    ("x: [t, s like t]", [F((3, 1))], {}, ValueError, "`x` has s like t = 1, but `x` has t = 3"),
    ("x: [t]", [F(3)], {"t": 4}, ValueError, "`x` has t = 3, but this model has t = 4"),
    ("x: [s like t]", [F(3)], {"t": 4}, ValueError, "`x` has s like t = 3, but this model has t = 4"),
    ("x: v[t]", [Z(3) - 1], {"v": 4}, IndexError, "`x` has -1..-1, but v has 0..3"),
    ("x: v[t]", [np.array([[0, 3], [4, 9]])], {"v": 4}, IndexError, "`x` has 0..9, but v has 0..3"),
    ("x: v[t]", [np.array([[0, 4]], np.uint8)], {"v": 4}, IndexError, "`x` has 0..4, but v has 0..3"),
    ("x: v[]", [np.array(4)], {"v": 4}, IndexError, "`x` has 4..4, but v has 0..3"),
    ("x: t[u], y: [t]", [Z(2) + 3, F(3)], {}, IndexError, "`x` has 3..3, but t has 0..2"),  # which a later one tells
    ("y: [t], x?: t[u]", [F(0), Z(2)], {}, IndexError, "`x?` has 0..0, but t has 0..-1"),
    ("z: v[t], x: v[t]", [Z(3), Z(3) + 4], {"v": 4}, IndexError, "`x` has 4..4, but v has 0..3"),
]  # fmt: skip


@both
@pytest.mark.parametrize(("declared", "inputs", "sizes", "error", "said"), REFUSED)
def test_what_the_short_check_refuses(
    library: str, declared: str, inputs: list[Any], sizes: dict[str, int], error: type[Exception], said: str
) -> None:
    check, wrap = LIBRARIES[library]
    with pytest.raises(error) as caught:
        check("m", declared, *map(wrap, inputs), **sizes)
    named = said.replace("ARRAY", "a Tensor" if library == "torch" else "an array")
    assert str(caught.value).replace("torch.", "") == f"m: {named}"


PASSED: list[tuple[str, list[Any], dict[str, int]]] = [
    ("x?: [t], y: [t]", [None, F((2, 5, 3))], {}),
    ("x?: [t], y?: v[t]", [None, None], {"v": 3}),
    ("x: [t]", [F(3)], {"d": 3, "x": 5, "model": 7, "declared": 8}),
    ("x: [], y: int[t]", [F((2, 3)), Z((2, 3, 4))], {}),
    ("x: v[t]", [np.array([0, 3])], {"v": 4}),
    ("x: v[t]", [np.array([0, 99])], {}),  # nothing tells how large v is
    ("x: int[t], y: [t]", [np.zeros(2, np.uint8), np.zeros(2, np.float16)], {}),
    ("x: v[t], y: [v]", [Z(0), F(0)], {}),
    ("x: bool[t], y: bool[]", [B(2), B(())], {}),
    ("x: [t, s like t], y: [s like t]", [F((3, 3)), F(3)], {"t": 3}),
]


@both
@pytest.mark.parametrize(("declared", "inputs", "sizes"), PASSED)
def test_what_the_short_check_lets_in(library: str, declared: str, inputs: list[Any], sizes: dict[str, int]) -> None:
    check, wrap = LIBRARIES[library]
    check("m", declared, *map(wrap, inputs), **sizes)


def test_half_precision_is_of_reals() -> None:
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        torch_check("m", "x: [t]", torch.zeros(3, dtype=dtype))
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    numpy_check("m", "x: [t]", np.zeros(3, bfloat16))


@both
def test_the_short_check_is_short(library: str) -> None:
    text = inspect.getsource(LIBRARIES[library][0])
    assert len(text.splitlines()) <= 20
    assert text.split('"""')[1]


# -- models ----------------------------------------------------------------------------------------------------------

SPEC = attnc.loads("""\
width seq <= 8
width past like seq
width chunk = seq / 2
width free
width four = 4
width packed ragged
depth model = 4, vocab = 11, half = 2

model net(ids: vocab[seq], real: bool[seq], x: [seq, model]) -> [seq, model] {
    param E: [vocab, model] ~ normal(1)
    param P: [seq, model] ~ normal(1)
    return select(real, E[vocab = ids] + P, x)
}

model pairs(x: [seq], y: [past], pair: [seq, past]) -> [seq] {
    return sum[past](pair * broadcast[seq](y)) + x
}

model pick(x: [free, model], at: free[seq], number: int[seq]) -> [seq, model] {
    return x[free = at] * number
}

model chosen(x: [four, model] = 1, real: bool[four] = true, at: four[] = 0) -> [model] {
    return sum[four](select(real, x, 0)) + x[four = at]
}

model maybe(real: bool[seq] = true, x: [chunk], y: [seq] = 2) -> [chunk] {
    return sum[half](split[seq -> chunk, half](select(real, y, 0))) + x
}

model halves(x: [seq], y: [chunk]) -> [chunk] {
    return sum[half](split[seq -> chunk, half](x)) + y
}

model lengths(x: [packed, model]) -> [model] {
    return sum[packed](x)
}

model scalar(x: [], i: vocab[]) -> [model] {
    param E: [vocab, model] ~ normal(1)
    return E[vocab = i] * x
}
""")
IDS, REAL, X = Z((2, 7)), B((2, 7)), F((2, 7, 4))


def forms(name: str, library: str, spec: attnc.Spec = SPEC) -> dict[str, Callable[..., Any]]:
    """The model with either check; it is given NumPy's arrays."""
    graph = spec.model(name)._sized
    if library == "numpy":
        return {form: build_numpy(graph, seed=0, dtype="float64", checked=form == "full") for form in FORMS}
    modules = {form: build_torch(graph, seed=0, dtype="float64", checked=form == "full") for form in FORMS}

    def run(module: torch.nn.Module, *inputs: Any, **named: Any) -> Any:
        return module(*map(on_torch, inputs), **{name: on_torch(x) for name, x in named.items()}).detach().numpy()

    return {
        form: lambda *inputs, _module=module, **named: run(_module, *inputs, **named)
        for form, module in modules.items()
    }


FORMS = ("short", "full")
both_forms = pytest.mark.parametrize("form", FORMS)
WRONG: dict[str, tuple[str, list[Any], type[Exception] | tuple[type[Exception], ...], str, str]] = {
    # model, inputs, error; what the short check says of it, and what the full one
    "list": ("net", [IDS.tolist(), REAL, X], TypeError, "`ids` is list", "`ids` is of type list"),
    "number": ("net", [IDS, REAL, 3.0], TypeError, "`x` is float", "`x` is of type float"),
    "reals for ids": ("net", [IDS + 0.5, REAL, X], TypeError,
                      r"`ids` is (torch.)?float64\[2, 7\].* of int: vocab\[seq\]", "must hold integers: it is an"),
    "integers for truth": ("net", [IDS, IDS, X], TypeError, "`real` is .*int64.* of bool", "`real` is .*truth values"),
    "integers for reals": ("net", [IDS, REAL, X.astype(int)], TypeError, "`x` is .*int64.* of float", "`x` is .*reals"),
    "reals for integers": ("pick", [F((3, 4)), Z(5), F(5)], TypeError, "`number` is .* of int", "`number` .* integers"),
    "rank": ("net", [IDS[0], REAL[0], F(4)], (TypeError, ValueError),
             r"`x` is .*\[4\], but must be an? .* of float: \[seq, model\]", r"rank 1, but needs at least 2: \[seq"),
    "size of an input": ("net", [IDS, REAL[:, :5], X], ValueError, *["`real` has seq = 5, but `ids` has seq = 7"] * 2),
    "size of the model": ("net", [IDS, REAL, X[..., :3]], ValueError,
                          *["`x` has model = 3, but this model has model = 4"] * 2),
    "size 1": ("net", [IDS, REAL[:, :1], X], ValueError, *["`real` has seq = 1, but `ids` has seq = 7"] * 2),
    "batch": ("net", [IDS, REAL[:1], X], ValueError, r"`real` has batch axes = \(1,\), but `ids` .* \(2,\)",
              r"`real` has the batch axes \(1,\), but `ids` has \(2,\)"),
    "bound": ("net", [Z(9), B(9), F((9, 4))], ValueError, *["`ids` has seq = 9, but seq is at most 8"] * 2),
    "above": ("net", [IDS + 11, REAL, X], IndexError, r"`ids` has 11..11, but vocab has 0..10",
              r"`ids`: 11 at \[0, 0\] is no index into vocab \(0..10\)"),
    "below": ("net", [IDS - 1, REAL, X], IndexError, r"`ids` has -1..-1, but vocab has 0..10",
              r"-1 at \[0, 0\] is no index"),
    "above an input's": ("pick", [F((3, 4)), Z(5) + 3, Z(5)], IndexError, r"`at` has 3..3, but free has 0..2",
                         r"`at`: 3 at \[0\] is no index into free \(0..2\)"),
    "copy": ("pairs", [F(3), F(1), F((3, 1))], ValueError, "`y` has past like seq = 1, but `x` has seq = 3",
             "`y` has past = 1, but `x` has seq = 3"),
    "copy, in one": ("pairs", [F(3), F(3), F((3, 1))], ValueError, "`pair` has past like seq = 1, but `x` has seq = 3",
                     "`pair` has past = 1, but `x` has seq = 3"),
    "bound of a copy": ("pairs", [F(9), F(9), F((9, 9))], ValueError, *["seq is at most 8"] * 2),
    "derived": ("halves", [F(6), F(2)], ValueError, *["`y` has chunk = 2, .*chunk = seq / 2.* 3"] * 2),
    "derived, not whole": ("halves", [F(5), F(2)], ValueError, *["chunk = seq / 2 does not divide: 5 / 2"] * 2),
    "too long": ("lengths", [F((2, 3, 4)), Z(2) + 4], ValueError, *["`packed_lengths`: 4 at .* packed = 3 here"] * 2),
    "reals for lengths": ("lengths", [F((2, 3, 4)), F(2)], TypeError, "`packed_lengths` is .* of int", "`packed_len"),
    "scalar": ("scalar", [F(2), Z(3)], ValueError, r"`i` has batch axes = \(3,\)", r"`i` has the batch axes \(3,\)"),
    "scalar above": ("scalar", [F(()), Z(()) + 11], IndexError, "`i` has 11..11, but vocab", "11 at .* into vocab"),
    "optional text": ("chosen", ["a"], TypeError, r"`x.?` is (str|<U1\[\])", "`x` is (of type str|<U1)"),
    "optional size": ("chosen", [None, B(3)], ValueError, *["`real.?` has four = 3, but this model has four = 4"] * 2),
    "optional above": ("chosen", [None, None, Z(()) + 4], IndexError, "`at.?` has 4..4, but four has 0..3",
                       r"`at`: 4 at \[\] is no index into four \(0..3\)"),
    "two alone": ("chosen", [F((2, 4, 4)), B((3, 4))], ValueError, r"`real.?` has batch axes = \(3,\)",
                  r"`real` has the batch axes \(3,\)"),
    "two optional": ("maybe", [B(4), F(2), F(6)], ValueError, "`y.?` has seq = 6, but `real.?` has seq = 4",
                     "`y` has seq = 6, but `real` has seq = 4"),
    "optional bound": ("maybe", [None, F(5), F(10)], ValueError, "`y` has seq = 10, but seq is at most 8",
                       "`x` has chunk = 5, but chunk is at most 4"),
}  # fmt: skip


@both
@both_forms
@pytest.mark.parametrize("case", WRONG)
def test_a_model_refuses(library: str, form: str, case: str) -> None:
    name, inputs, error, short, full = WRONG[case]
    run = forms(name, library)[form]
    with pytest.raises(error, match=f"^{name}: .*{short if form == 'short' else full}"):
        run(*inputs)


RIGHT: dict[str, list[Any]] = {
    "net": [IDS, REAL, X],
    "pairs": [F(3) + 1, F(3) + 2, F((3, 3)) + 3],
    "pick": [F((3, 4)) + 1, Z(5) + 2, Z(5) + 3],
    "halves": [F(6) + 1, F(3)],
    "lengths": [F((2, 3, 4)) + 1, np.array([1, 3])],
    "scalar": [F((2, 3)) + 2, Z((2, 3)) + 10],
    "chosen": [F((2, 4, 4)) + 1, B((2, 4)), Z(2) + 3],
    "maybe": [None, F((2, 3)) + 1, F((2, 6)) + 3],
}


@both
@pytest.mark.parametrize("name", RIGHT)
def test_both_forms_let_in_the_same(library: str, name: str) -> None:
    short, full = (forms(name, library)[form](*RIGHT[name]) for form in FORMS)
    np.testing.assert_array_equal(short, full)


@both
@pytest.mark.parametrize("given", [(0,), (1,), (2,), (0, 2), (1, 2), ()])
def test_inputs_that_are_all_optional(library: str, given: tuple[int, ...]) -> None:
    inputs = [x if place in given else None for place, x in enumerate(RIGHT["chosen"])]
    found = [run(*inputs) for run in forms("chosen", library).values()]
    assert found[0].shape == (2, 4) if given else (4,)
    np.testing.assert_array_equal(*found)


@both
def test_what_is_left_out_of_a_call_is_named(library: str) -> None:
    for run in forms("net", library).values():
        with pytest.raises(TypeError, match="real"):
            run(IDS, x=X)


# -- what PyTorch does to the code -----------------------------------------------------------------------------------


@pytest.fixture
def module() -> torch.nn.Module:
    return build_torch(SPEC.model("net")._sized, seed=0, checked=False).eval()


def tensors(batch: int, seq: int) -> tuple[torch.Tensor, ...]:
    return torch.randint(11, (batch, seq)), torch.rand(batch, seq) > 0.5, torch.randn(batch, seq, 4)


def test_it_compiles_as_one_graph_for_all_sizes(module: torch.nn.Module) -> None:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(module, fullgraph=True, dynamic=True, backend="eager")
    for sizes in ((2, 7), (3, 5), (4, 6)):
        given = tensors(*sizes)
        torch.testing.assert_close(compiled(*given), module(*given))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


@pytest.mark.parametrize("strict", [True, False])
def test_it_is_exported(module: torch.nn.Module, strict: bool) -> None:
    batch, seq = torch.export.Dim("batch"), torch.export.Dim("seq", max=8)
    exported = torch.export.export(module, tensors(2, 7), dynamic_shapes=({0: batch, 1: seq},) * 3, strict=strict)
    for sizes in ((2, 7), (3, 5)):
        given = tensors(*sizes)
        torch.testing.assert_close(exported.module()(*given), module(*given))


@pytest.mark.filterwarnings("ignore")
def test_it_is_traced_and_transformed(module: torch.nn.Module) -> None:
    given, other = tensors(2, 7), tensors(3, 5)
    traced = torch.jit.trace(module, given)
    torch.testing.assert_close(traced(*other), module(*other))
    torch.testing.assert_close(torch.vmap(module)(*given), module(*given))
    weights = dict(module.named_parameters())

    def loss(weights: Mapping[str, Any], *inputs: Any) -> Any:
        return torch.func.functional_call(module, weights, inputs).sum()

    each = torch.vmap(torch.func.grad(loss), (None, 0, 0, 0))(weights, *given)
    whole = torch.func.grad(loss)(weights, *given)
    torch.testing.assert_close({key: value.sum(0) for key, value in each.items()}, whole)
    for mode in ("real", "fake", "symbolic"):
        graph = make_fx(module, tracing_mode=mode, _allow_non_fake_inputs=True)(*given)
        torch.testing.assert_close(graph(*given), module(*given))
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert module(*tensors(2, 7)).shape == (2, 7, 4)
    on_meta = build_torch(SPEC.model("net")._sized, device="meta", checked=False)
    assert on_meta(*(x.to("meta") for x in given)).shape == (2, 7, 4)


# -- how it is written -----------------------------------------------------------------------------------------------

ODD = attnc.loads("""\
width seq
depth class = 3, model = 2, inputs = 4, __x = 5, declared = 6
block check(x: [model]) -> [model] {
    return x + 1
}
model named(axes: [seq, model], name: [class, inputs], self: [__x], lambda: class[seq], sizes: [declared]) -> [model] {
    total = sum[inputs, class](name) * sum[__x](self) * sum[declared](sizes)
    return sum[seq](check(axes)) * total
}
model long(first_of_the_inputs: [seq, model], second_of_the_inputs: [seq, model], third_of_the_inputs: [seq, model],
           fourth_of_the_inputs: [seq, model], fifth_of_the_inputs: [seq, model]) -> [seq, model] {
    return first_of_the_inputs + second_of_the_inputs + third_of_the_inputs + fourth_of_the_inputs + fifth_of_the_inputs
}
""")


@both
@both_forms
def test_names_of_the_spec_that_the_check_has_too(library: str, form: str) -> None:
    run = forms("named", library, ODD)[form]
    given = [F((3, 2)), F((3, 4)) + 1, F(5) + 1, Z(3) + 2, F(6) + 1]
    np.testing.assert_array_equal(run(*given), np.full(2, 3 * 12 * 5 * 6))
    for place, said in ((0, "model = 1"), (1, "inputs = 3"), (2, "__x = 4"), (4, "declared = 5")):
        wrong = [x[..., :-1] if number == place else x for number, x in enumerate(given)]
        with pytest.raises(ValueError, match=f"^named: .* has {said}, but this model has"):
            run(*wrong)
    with pytest.raises(IndexError, match="class"):
        run(*given[:3], Z(3) + 3, given[4])


@both
@both_forms
def test_many_inputs(library: str, form: str) -> None:
    run = forms("long", library, ODD)[form]
    np.testing.assert_array_equal(run(*[F((3, 2)) + 1] * 5), np.full((3, 2), 5))
    with pytest.raises(
        ValueError, match="long: `fifth_of_the_inputs` has seq = 2, but `first_of_the_inputs` has seq = 3"
    ):
        run(*[F((3, 2))] * 4, F((2, 2)))


SOURCES: dict[str, Callable[..., str]] = {"torch": torch_source, "numpy": numpy_source}


@both
def test_the_call_takes_a_line_or_two(library: str) -> None:
    text = SOURCES[library](attnc.load("examples/transformer.attn").model("transformer")._sized, checked=False)
    vocab = "self.vocab" if library == "torch" else "vocab"
    call = f"""\
inputs = "source_ids: vocab[source], target_ids: vocab[target], real: bool[source]"
check("transformer", inputs, source_ids, target_ids, real, vocab={vocab})
"""
    assert call in re.sub("(?m)^ +", "", text)
    assert re.search(r"(?m)^from attnc_runtime_\w+ import .*\bcheck\b", text) and "check_inputs" not in text
    assert inspect.getsource(LIBRARIES[library][0]).strip() not in text
    text = SOURCES[library](SPEC.model("net")._sized, checked=False)
    call = """\
inputs = "ids: vocab[seq], real: bool[seq], x: [seq, model]"
check("net", inputs, ids, real, x, vocab=self.vocab, model=self.model)
if ids.shape[-1] > self.max_seq:
raise ValueError(f"net: `ids` has seq = {ids.shape[-1]}, but seq is at most {self.max_seq}")
"""
    if library == "numpy":
        call = """\
check("net", "ids: vocab[seq], real: bool[seq], x: [seq, model]", ids, real, x, vocab=vocab, model=model)
if ids.shape[-1] > max_seq:
raise ValueError(f"net: `ids` has seq = {ids.shape[-1]}, but seq is at most {max_seq}")
"""
    assert call in re.sub("(?m)^ +", "", text)
    assert "batch = " not in text
    alone = attnc.loads("width seq\ndepth d = 2\nmodel plus(x: [seq, d]) -> [seq, d] { return x + x }").model("plus")
    text = SOURCES[library](alone._sized, checked=False)  # it needs nothing else of ours
    assert inspect.getsource(LIBRARIES[library][0]).strip() in text and "attnc_runtime" not in text


@both
def test_the_full_check_is_there_if_asked_for(library: str) -> None:
    text = SOURCES[library](SPEC.model("net")._sized, checked=True)
    assert "check_inputs(" in text and "def check(" not in text
