"""The Python face: what README.md promises of `load`, `Spec` and `Model`."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attnc

SPEC = """\
# A small decoder.
use std.attention: multihead, model, heads

width target, source
width past like target
depth model = 16, heads = 4, vocab = 11
const layers = 2
config big { model = 32, heads = 8 }

block layer(x: [target, model], memory: [source, model], real: bool[source]) -> [target, model] {
    x = x + multihead.self[target, past](x, x[target as past], mask = past <= target)
    return x + multihead.cross[target, source](x, memory, mask = real)
}

model net(ids: vocab[target], memory: [source, model], real: bool[source]) -> [target, vocab] {
    param E: [vocab, model] ~ normal(0.02)
    x = E[vocab = ids]
    repeat layers {
        x = layer(x, memory, real)
    }
    return linear.out[model -> vocab](x)
}
"""
WRONG = SPEC.replace("past <= target", "past <= source").replace("layer(x, memory, real)", "layr(x, memory, real)")


@pytest.fixture(scope="module")
def spec() -> attnc.Spec:
    return attnc.loads(SPEC)


@pytest.fixture(scope="module")
def net(spec: attnc.Spec) -> attnc.Model:
    return spec.model("net")


def arguments(batch: tuple[int, ...] = (3,), model: int = 16) -> dict[str, Any]:
    """Inputs of `net`: ids [target 5], memory [source 7, model], real [source], under batch axes."""
    random = np.random.default_rng(0)
    return {
        "ids": random.integers(0, 11, (*batch, 5)),
        "memory": random.normal(size=(*batch, 7, model)).astype(np.float32),
        "real": random.random((*batch, 7)) < 0.7,
    }


def tensors(values: dict[str, Any]) -> dict[str, torch.Tensor]:
    return {name: torch.as_tensor(value) for name, value in values.items()}


# -- loading -------------------------------------------------------------------------------------------------------


def test_load_reads_a_file(tmp_path: Path) -> None:
    (tmp_path / "small.attn").write_text(SPEC)
    for path in (tmp_path / "small.attn", str(tmp_path / "small.attn")):
        spec = attnc.load(path)
        assert (spec.models, spec.blocks, spec.warnings) == (("net",), ("layer",), ())


def test_load_finds_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "parts.attn").write_text(
        "width n\ndepth d = 4\nblock twice(x: [n, d]) -> [n, d] {\n    return x + x\n}\n"
    )
    text = "use parts: twice, n, d\nmodel net(x: [n, d]) -> [n, d] {\n    return twice(x)\n}\n"
    (tmp_path / "main.attn").write_text(text)
    assert attnc.load(tmp_path / "main.attn").models == ("net",)
    assert attnc.loads(text, base=tmp_path).models == ("net",)
    with pytest.raises(attnc.AttnError):
        attnc.loads(text)


def test_a_wrong_spec_raises_with_every_mistake() -> None:
    with pytest.raises(attnc.AttnError) as caught:
        attnc.loads(WRONG, name="wrong.attn")
    assert len(caught.value.diagnostics) == 2
    assert all(isinstance(found, attnc.Diagnostic) for found in caught.value.diagnostics)
    assert "wrong.attn:11" in str(caught.value)
    assert "`layer`" in str(caught.value)


@pytest.mark.parametrize("settings", [{"config": "bigg"}, {"sizes": {"layrs": 3}}, {"sizes": {"heads": 5}}])
def test_wrong_settings_raise(settings: dict[str, Any]) -> None:
    with pytest.raises(attnc.AttnError):
        attnc.loads(SPEC, **settings)


@pytest.mark.parametrize("name", ["missing.attn", "folder", "binary.attn"])
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary.attn").write_bytes(bytes(range(256)))
    with pytest.raises(OSError, match=name) as caught:
        attnc.load(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_sizes_win_over_config() -> None:
    def layers_and_model(**settings: Any) -> tuple[int, int]:
        model = attnc.loads(SPEC, **settings).model("net")
        paths = {path.split(".")[1] for path in model.weights if path.startswith("layers.")}
        return len(paths), model.weights["E"].shape[1]

    assert layers_and_model() == (2, 16)
    assert layers_and_model(sizes={"layers": 3}) == (3, 16)
    assert layers_and_model(config="big") == (2, 32)
    assert layers_and_model(config="big", sizes={"model": 64}) == (2, 64)


# -- a spec and its models -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["base.attn", "./base.attn", "/a/base.attn", "base-2.attn\n"])
def test_the_name_of_a_file_for_its_text(name: str) -> None:
    with pytest.raises(attnc.AttnError, match=re.escape(f"`attnc.load({name.strip()!r})` reads it")):
        attnc.loads(name)


@pytest.mark.parametrize("name", ["a" * 3000, "/" + "a/" * 2000, "a\nb", "\0", "ü", "..", ".", "/", ""])
def test_any_text_names_a_text(name: str, tmp_path: Path) -> None:
    """It is what messages call it, and need not be the name of any file."""
    (tmp_path / "part.attn").write_text("block act(x: []) -> [] {\n    return relu(x)\n}\n")
    text = "use part: act\n\nwidth n\n\nmodel net(x: [n]) -> [n] {\n    return act(x)\n}\n"
    spec = attnc.loads(text, name=name, base=tmp_path)
    assert spec.name == name
    assert spec.model("net").source("numpy")
    (found,) = attnc.check(text, name=name)
    assert found.code == "E0209"
    assert str(attnc.AttnError([found]))


def test_an_unknown_name_gets_a_near_one(spec: attnc.Spec) -> None:
    with pytest.raises(LookupError, match="no model `nett`; did you mean `net`"):
        spec.model("nett")
    with pytest.raises(LookupError, match="no block `net`; it has `layer`"):
        spec.block("net")


def test_inputs_and_outputs(net: attnc.Model, spec: attnc.Spec) -> None:
    assert [str(port) for port in net.inputs] == ["ids: vocab[target]", "memory: [source, model]", "real: bool[source]"]
    assert [(port.element, port.axes, port.shape, port.optional) for port in net.inputs] == [
        ("vocab", ("target",), (None,), False),
        ("real", ("source", "model"), (None, 16), False),
        ("bool", ("source",), (None,), False),
    ]
    assert net.outputs == (attnc.Port(None, "real", ("target", "vocab"), (None, 11)),)
    assert "ids: vocab[target]" in repr(net)
    assert "net" in repr(spec)


def test_weights_are_the_state_dict(net: attnc.Model) -> None:
    state = net.torch(seed=0).state_dict()
    assert {path: tuple(value.shape) for path, value in state.items()} == {
        path: tuple(weight.shape) for path, weight in net.weights.items()
    }
    assert "layers.1.layer.cross.O.weight" in state
    assert net.weights["out.weight"].shape == (11, 16)
    assert net.weights["out.bias"].shape == (11,)


def test_a_block_stands_alone(spec: attnc.Spec) -> None:
    layer = spec.block("layer")
    assert list(layer.weights) == [
        f"{call}.{name}.weight" for call in ("self", "cross") for name in ("Q", "K", "V", "O")
    ]
    values = arguments()
    x = np.ones((3, 5, 16), np.float32)
    call, module = layer.numpy(seed=1), layer.torch(seed=1)
    expected = module(torch.as_tensor(x), torch.as_tensor(values["memory"]), torch.as_tensor(values["real"]))
    np.testing.assert_allclose(call(x, values["memory"], values["real"]), expected.detach(), atol=1e-5)


# -- running -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_torch_and_numpy_agree(net: attnc.Model, batch: tuple[int, ...]) -> None:
    values = arguments(batch)
    expected = net.torch(seed=0)(**tensors(values)).detach().numpy()
    got = net.numpy(seed=0)(**values)
    assert got.shape == (*batch, 5, 11)
    assert np.abs(got - expected).max() < 2e-5 * expected.std()


def test_float64(net: attnc.Model) -> None:
    values = arguments() | {"memory": arguments()["memory"].astype(np.float64)}
    expected = net.torch(seed=0, dtype=torch.float64)(**tensors(values)).detach().numpy()
    got = net.numpy(seed=0, dtype=np.float64)(**values)
    assert got.dtype == expected.dtype == np.float64
    assert np.abs(got - expected).max() < 1e-10 * expected.std()


def test_a_seed_is_a_seed(net: attnc.Model) -> None:
    def weight(seed: int | None) -> torch.Tensor:
        return net.torch(seed=seed).state_dict()["E"]

    assert torch.equal(weight(0), weight(0))
    assert not torch.equal(weight(0), weight(1))
    assert not torch.equal(weight(None), weight(None))


def test_weights_given(net: attnc.Model) -> None:
    module = net.torch(seed=3)
    weights = {path: value.numpy() for path, value in module.state_dict().items()}
    values = arguments()
    expected = module(**tensors(values)).detach().numpy()
    again = net.torch(weights=weights)(**tensors(values)).detach().numpy()
    np.testing.assert_array_equal(again, expected)
    np.testing.assert_allclose(net.numpy(weights)(**values), expected, atol=1e-5)


@pytest.mark.parametrize("backend", ["torch", "numpy"])
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda weights: weights.pop("out.bias"), "out.bias"),
        (lambda weights: weights.update({"out.bios": weights["out.bias"]}), "out.bios"),
        (lambda weights: weights.update({"out.bias": weights["out.bias"][1:]}), r"out\.bias.*11.*10|out\.bias.*10.*11"),
    ],
    ids=["missing", "unknown", "shape"],
)
def test_wrong_weights(net: attnc.Model, backend: str, change: Any, says: str) -> None:
    weights = {path: value.numpy() for path, value in net.torch(seed=3).state_dict().items()}
    change(weights)
    with pytest.raises(ValueError, match=says):
        getattr(net, backend)(weights=weights)


def test_capture(net: attnc.Model) -> None:
    path = "layers.1.layer.cross.weights"  # of `attend`, which owns no weights and so may be left out
    values = arguments()
    result, captured = net.torch(seed=0, capture=(path,))(**tensors(values))
    assert result.shape == (3, 5, 11)
    assert list(captured) == [path]
    assert set(captured[path].axes) == {"q", "k", "heads"}  # the names of the block that it is in
    total = captured[path].value.sum(
        captured[path].value.ndim - len(captured[path].axes) + captured[path].axes.index("k")
    )
    torch.testing.assert_close(total, torch.ones_like(total))
    _, again = net.numpy(seed=0, capture=(path,))(**values)
    np.testing.assert_allclose(again[path].value, captured[path].value.detach(), atol=1e-5)
    assert again[path].axes == captured[path].axes
    with pytest.raises(ValueError, match=r"layers\.1\.layer\.cross\.(attend\.)?weights"):
        net.torch(capture=("layers.1.layer.cross.weight",))


@pytest.mark.parametrize("backend", ["torch", "numpy"])
def test_widths_that_disagree_are_said_at_the_border(net: attnc.Model, backend: str) -> None:
    values = arguments()
    values["real"] = values["real"][:, :-1]
    run = getattr(net, backend)(seed=0)
    with pytest.raises(ValueError, match=r"(?s)source.*(6.*7|7.*6)"):
        run(**(tensors(values) if backend == "torch" else values))


def test_a_token_out_of_range(net: attnc.Model) -> None:
    values = arguments()
    values["ids"][0, 0] = 11
    with pytest.raises((ValueError, IndexError), match="vocab"):
        net.numpy(seed=0)(**values)
    with pytest.raises((ValueError, IndexError)):
        net.torch(seed=0)(**tensors(values))


def test_a_fully_masked_row_is_zero_not_nan(spec: attnc.Spec) -> None:
    layer = spec.block("layer")
    values = arguments()
    values["real"][1] = False
    x = np.ones((3, 5, 16), np.float32)
    got = layer.numpy(seed=0)(x, values["memory"], values["real"])
    assert np.isfinite(got).all()
    module = layer.torch(seed=0)
    assert (
        module(torch.as_tensor(x), torch.as_tensor(values["memory"]), torch.as_tensor(values["real"])).isfinite().all()
    )


def test_several_results_are_a_named_tuple() -> None:
    text = "width n\ndepth d = 4\nmodel two(x: [n, d]) -> (total: [d], same: [n, d]) {\n    return sum[n](x), x\n}\n"
    model = attnc.loads(text).model("two")
    x = np.ones((2, 3, 4), np.float32)
    for result in (model.torch()(torch.as_tensor(x)), model.numpy()(x)):
        assert result._fields == ("total", "same")
        assert result.total.shape == (2, 4)
        assert result.same.shape == (2, 3, 4)


# -- source and pictures -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["torch", "numpy"])
def test_source_stands_alone(net: attnc.Model, backend: Any) -> None:
    source = net.source(backend, single_file=True)
    imported = {
        name.name.split(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (node.names if isinstance(node, ast.Import) else [ast.alias(node.module or "")])
    }
    known = {"torch", "numpy", "jaxtyping", "math", "typing", "collections", "functools", "contextlib", "__future__"}
    assert imported <= known
    head = source[: source.index("import")]
    assert f"attnc {attnc.__version__}" in head
    assert " with " not in head.partition(". Needs ")[0]  # no config, nothing set
    assert source == attnc.loads(SPEC).model("net").source(backend, single_file=True)
    with pytest.raises(ValueError, match="'torch' and 'numpy'"):
        net.source("jax")  # type: ignore[arg-type]


def test_the_header_tells_specs_and_configurations_apart() -> None:
    def head(text: str, **settings: Any) -> str:
        return attnc.loads(text, **settings).model("net").source("torch").split("import")[0]

    assert head(SPEC) != head(SPEC.replace("A small", "A tiny"))
    assert "big, layers = 1" in head(SPEC, config="big", sizes={"layers": 1})


def test_draw(net: attnc.Model, tmp_path: Path) -> None:
    diagram = net.draw(open=("layer",))
    assert diagram.dot == net.draw(open=("layer",)).dot
    assert diagram.dot != net.draw(depth=0).dot
    assert "<svg" in diagram.svg()
    diagram.save(tmp_path / "net.svg")
    assert (tmp_path / "net.svg").read_text().startswith("<?xml")
    assert diagram.dot == net.draw(open="layer").dot
    for names in ("layr", ("layr",)):
        with pytest.raises(ValueError, match="`layr`"):
            net.draw(open=names)


def test_importing_attnc_is_cheap() -> None:
    code = "import attnc, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "numpy", "lark", "jaxtyping", "graphviz", "safetensors"} & set(loaded)


def test_without_torch_the_message_says_what_to_install(net: attnc.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'pip install "torch>=2\.6"$'):
        net.torch()
    assert "import torch" in net.source("torch")


def test_arguments_of_the_wrong_kind_get_one_message() -> None:
    model = attnc.loads("width s\ndepth d = 2\nmodel m(x: [s, d]) -> [s, d] {\n return linear.a[d -> d](x)\n}\n").model(
        "m"
    )
    for build in (model.numpy, model.torch):
        with pytest.raises(TypeError, match="not the name of a file"):
            build(weights="file.safetensors")  # type: ignore[operator]
        with pytest.raises(TypeError, match="seed: a whole number"):
            build(seed="1")  # type: ignore[operator]
        with pytest.raises(ValueError, match="0 or more"):
            build(seed=-1)  # type: ignore[operator]
        with pytest.raises(TypeError, match="a list of paths"):
            build(capture="a")  # type: ignore[operator]


def test_a_device_that_is_not_there() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(ValueError, match="device 'cuda' cannot be used here"):
        attnc.loads("width s\nmodel m(x: [s]) -> [s] {\n return x\n}\n").model("m").torch(device="cuda")


def test_the_weights_given_stay_the_callers() -> None:
    model = attnc.loads("width s\ndepth d = 2\nmodel m(x: [s, d]) -> [s, d] {\n return linear.a[d -> d](x)\n}\n").model(
        "m"
    )
    mine = {path: np.zeros(spec.shape, np.float32) for path, spec in model.weights.items()}
    made = model.numpy(mine)
    made.weights["a.weight"][:] = 1  # type: ignore[attr-defined]
    assert not mine["a.weight"].any()
