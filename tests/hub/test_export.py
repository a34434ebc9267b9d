"""Folders for others: a published model as it was, one of our own with a modelling file, programs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnc
from attnc import hub
from attnc.cli.main import main
from attnc.weights import WeightsError

from .test_import import built, folder

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", reason='needs transformers: pip install ".[zoo]"')

pytestmark = pytest.mark.filterwarnings("ignore")  # whatever transformers and exporters warn of
Tensor = Any

GPT = """
use std.attention: grouped_query, model, heads, groups
use std.feed_forward: feed_forward_gelu, model, inner

width seq <= 64
width past like seq
depth model = 32, heads = 4, groups = 2, inner = 64, vocab = 50

model gpt(ids: vocab[seq]) -> [seq, vocab] causal seq {
    param E: [vocab, model] ~ normal(0.3)
    param P: [seq, model] ~ normal(0.3)
    x = E[vocab = ids] + P
    repeat.layers 2 {
        y = layernorm.see[model](x)
        x = x + grouped_query.self[seq, past](y, y[seq as past], mask = past <= seq and seq - past < 5)
        x = x + feed_forward_gelu(layernorm.feed[model](x))
    }
    return dot[model](layernorm.last[model](x), E)
}
"""
STATES = """
width seq
depth model = 12, vocab = 50

block cell(x: [model], h: [model]) -> (h: [model]) {
    return tanh(linear.x[model -> model](x) + linear.h[model -> model](h))
}

# What a class of the modelling file is called, too.
block padded_cache(x: [seq, model], real: bool[seq] = true) -> [seq, model] {
    return x * mean[model](select(real, tanh(x), 0))
}

model rnn(ids: vocab[seq]) -> [seq, vocab] causal seq {
    param start: [model] ~ normal(0.5)
    x = padded_cache(embed.E[vocab -> model](ids))
    h = scan[seq] cell(x, h = start)
    return linear.scores[model -> vocab](h + cumsum[seq](x))
}
"""
PROMPTS = [[3, 1, 4, 1, 5], [9, 2, 6], [5, 3, 5, 8, 9]]
NEW = 6


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that transformers copies goes to a folder of the test's."""
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", [*sys.path])


def own(text: str, tmp_path: Path) -> tuple[Any, Path, Path]:
    """A model of the text with weights, its file, and the file of these."""
    spec, file = tmp_path / "own.attn", tmp_path / "own.safetensors"
    spec.write_text(text)
    loaded = attnc.load(spec)
    net = loaded.model(loaded.models[0]).torch(seed=1).eval()
    attnc.weights.save(file, net.state_dict())
    return net, spec, file


def padded(prompts: list[list[int]]) -> tuple[Tensor, Tensor]:
    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(row)) + row for row in prompts])
    return ids, torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in prompts])


# -- a published model, back -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "seed", "shards"),
    [
        ("llama", 0, "5GB"),
        pytest.param("llama", 0, "20KB", marks=pytest.mark.slow),
        *(
            pytest.param(kind, seed, "20KB", marks=pytest.mark.slow)
            for kind in ("phi3", "gemma2", "starcoder2", "smollm3", "olmo2", "falcon", "codegen", "opt")
            for seed in range(4)
        ),
    ],
)
def test_there_and_back(kind: str, seed: int, shards: str, tmp_path: Path) -> None:
    """Weights bit by bit, tied ones once; the configuration; the outputs; files no larger than they were."""
    source = folder(kind, seed, tmp_path, shards)
    hub.import_folder(source, tmp_path / "ours")
    hub.export_folder(tmp_path / "ours", tmp_path / "again")
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "again").eval()
    theirs = built(kind, seed)
    assert type(again) is type(theirs)
    told = json.loads((tmp_path / "again" / "config.json").read_text())
    assert told == json.loads((source / "config.json").read_text())
    for name, weight in theirs.state_dict().items():
        assert torch.equal(again.state_dict()[name], weight), name
    names = {name for file in (tmp_path / "again").glob("*.safetensors") for name in attnc.weights.load(file)}
    assert names == {name for file in source.glob("*.safetensors") for name in attnc.weights.load(file)}
    ids = torch.tensor(PROMPTS[:1])
    with torch.no_grad():
        assert torch.equal(again(ids).logits, theirs(ids).logits)
    sizes = [max(file.stat().st_size for file in at.glob("*.safetensors")) for at in (source, tmp_path / "again")]
    assert sizes[1] <= 1.3 * sizes[0]
    assert (kind, shards) != ("llama", "20KB") or len([*(tmp_path / "again").glob("*.safetensors")]) > 1


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        pytest.param(kind, seed, marks=pytest.mark.slow if (kind, seed) != ("dinov2", 1) else ())
        for kind in ("bert", "albert", "dinov2", "beit", "bart", "pegasus", "minimax", "roberta")
        for seed in range(6)
    ],
)
def test_what_the_spec_does_not_use_goes_along(kind: str, seed: int, tmp_path: Path) -> None:
    """Another head's weights, a token for training, tables that are reckoned: the file has them again, bit by bit."""
    source, theirs = folder(kind, seed, tmp_path), built(kind, seed)
    hub.import_folder(source, tmp_path / "ours")
    hub.export_folder(tmp_path / "ours", tmp_path / "again")
    before, after = (attnc.weights.load(at / "model.safetensors") for at in (source, tmp_path / "again"))
    assert {*before} == {*after}
    assert all(np.array_equal(before[name], after[name]) for name in before)
    again, told = type(theirs).from_pretrained(tmp_path / "again", output_loading_info=True)
    assert not told["missing_keys"] and not told["unexpected_keys"]
    assert all(torch.equal(again.state_dict()[name], weight) for name, weight in theirs.state_dict().items())


def test_trained_further(tmp_path: Path) -> None:
    """In bfloat16 it came, in float32 it goes on, and so it is there again, with what it generates."""
    transformers.LlamaForCausalLM(built("llama", 1).config).bfloat16().save_pretrained(tmp_path / "theirs")
    hub.import_folder(tmp_path / "theirs", tmp_path / "ours")
    hub.export_folder(tmp_path / "ours", tmp_path / "half")
    half = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "half")
    assert {weight.dtype for weight in half.parameters()} == {torch.bfloat16}

    net: Any = hub.open(tmp_path / "ours").torch(dtype="float32").train()
    descent = torch.optim.SGD(net.parameters(), lr=0.5)
    ids = torch.tensor(PROMPTS[:1])
    net(ids).log_softmax(-1)[..., 7].sum().neg().backward()
    descent.step()
    attnc.weights.save(tmp_path / "trained.safetensors", net.state_dict())
    given = ["--weights", str(tmp_path / "trained.safetensors"), "--out", str(tmp_path / "again")]
    assert main(["export", str(tmp_path / "ours"), "--to", "transformers", *given]) == 0
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "again").eval()
    assert {weight.dtype for weight in again.parameters()} == {torch.float32}
    with torch.no_grad():
        torch.testing.assert_close(again(ids).logits, net.eval()(ids), rtol=1e-4, atol=1e-5)
    assert not torch.allclose(again(ids).logits, half(ids).logits.float(), atol=1e-2)


# -- a model of our own ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [GPT, pytest.param(STATES, marks=pytest.mark.slow)])
def test_a_model_of_our_own(text: str, tmp_path: Path) -> None:
    """Greedy, beams, padded prompts, the loss, and to a folder and back, by transformers alone."""
    net, spec, file = own(text, tmp_path)
    given = ["--weights", str(file), "--to", "transformers", "--out", str(tmp_path / "out")]
    assert main(["export", str(spec), *given]) == 0
    load = transformers.AutoModelForCausalLM.from_pretrained
    theirs = load(tmp_path / "out", trust_remote_code=True).eval()
    ids, real = padded(PROMPTS)
    options = {"attention_mask": real, "max_new_tokens": NEW, "do_sample": False, "pad_token_id": 0}
    assert torch.equal(theirs.generate(ids, **options)[:, ids.shape[1] :], net.generate(PROMPTS, NEW))
    beams = theirs.generate(ids, num_beams=3, **options)[:, ids.shape[1] :]
    assert torch.equal(beams, net.generate(PROMPTS, NEW, beams=3))
    assert torch.equal(theirs.generate(ids, use_cache=False, **options)[:, ids.shape[1] :], net.generate(PROMPTS, NEW))
    assert type(theirs(ids[:1], use_cache=True).past_key_values).__name__.startswith("PaddedCache")

    with torch.no_grad():
        padded_scores = theirs(ids, attention_mask=real).logits
        for row, prompt in enumerate(PROMPTS):
            torch.testing.assert_close(padded_scores[row, -len(prompt) :], net(torch.tensor([prompt]))[0])
    rows = torch.tensor([row for row in PROMPTS if len(row) == 5])
    wanted = torch.nn.functional.cross_entropy(net(rows)[:, :-1].flatten(0, 1), rows[:, 1:].flatten())
    torch.testing.assert_close(theirs(rows, labels=rows).loss, wanted)

    theirs.save_pretrained(tmp_path / "saved")
    again = load(tmp_path / "saved", trust_remote_code=True).eval()
    assert torch.equal(again(rows).logits, theirs(rows).logits)
    assert torch.equal(again.generate(ids, **options), theirs.generate(ids, **options))


@pytest.mark.slow
def test_a_modelling_file_needs_neither_us_nor_jaxtyping(tmp_path: Path) -> None:
    net, _, file = own(GPT, tmp_path)
    hub.export_model(attnc.loads(GPT).model("gpt"), file, tmp_path / "out")
    code = (tmp_path / "out" / "modeling_gpt.py").read_text()
    assert "import attnc" not in code and "from attnc" not in code and "type: ignore" not in code
    script = f"""
import sys
sys.modules["attnc"] = sys.modules["jaxtyping"] = None
import torch, transformers
net = transformers.AutoModelForCausalLM.from_pretrained({str(tmp_path / "out")!r}, trust_remote_code=True)
print(net.generate(torch.tensor([[3, 1, 4]]), max_new_tokens={NEW}, do_sample=False)[0, 3:].tolist())
fresh = type(net)(net.config)
print(float(fresh.net.E.std()))
"""
    told = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "HF_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=True,
    )
    new, spread = told.stdout.strip().splitlines()
    assert json.loads(new) == net.generate([3, 1, 4], NEW).tolist()
    assert 0.25 < float(spread) < 0.35  # drawn as the spec says


@pytest.mark.slow
def test_types_of_our_own(tmp_path: Path) -> None:
    _, spec, file = own(GPT, tmp_path)
    half = {path: torch.tensor(array).bfloat16() for path, array in attnc.weights.load(file).items()}
    attnc.weights.save(tmp_path / "half.safetensors", half)
    hub.export_model(attnc.load(spec).model("gpt"), tmp_path / "half.safetensors", tmp_path / "out")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out", trust_remote_code=True)
    assert {weight.dtype for weight in theirs.parameters()} == {torch.bfloat16}


def test_masks_that_are_refused(tmp_path: Path) -> None:
    _, spec, file = own(GPT, tmp_path)
    hub.export_model(attnc.load(spec).model("gpt"), file, tmp_path / "out")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out", trust_remote_code=True)
    for mask, said in (
        ([[1, 0, 1]], "one run of ones"),
        ([[0, 0, 0]], "one run of ones"),
        ([[1, 1]], "one run of ones for each row of [1, 3]"),
        ([[1, 1, 0]], "pad it at the left"),
    ):
        with pytest.raises(ValueError, match=re.escape(said)):
            theirs(torch.tensor([[1, 2, 3]]), attention_mask=torch.tensor(mask), use_cache=True)
    with pytest.raises(TypeError, match="what this model gave, not a DynamicCache"):
        theirs(torch.tensor([[1, 2, 3]]), past_key_values=transformers.DynamicCache())
    whole = theirs(torch.tensor([[1, 2, 3]]), attention_mask=torch.tensor([[1, 1, 0]])).logits  # that is no prompt
    torch.testing.assert_close(whole[:, :2], theirs(torch.tensor([[1, 2]])).logits)


SPLIT = """
import sys
import torch
import torch.distributed as dist
from transformers import AutoModelForCausalLM
from transformers.distributed import DistributedConfig

dist.init_process_group("gloo")
load = AutoModelForCausalLM.from_pretrained
whole = load(sys.argv[1], trust_remote_code=True).eval()
config = DistributedConfig(tp_size=2, tp_plan="auto")
split = load(sys.argv[1], trust_remote_code=True, distributed_config=config).eval()
ids, real = torch.tensor([[3, 1, 4, 1], [0, 0, 5, 9]]), torch.tensor([[1, 1, 1, 1], [0, 0, 1, 1]])
own = sum((x.to_local() if hasattr(x, "to_local") else x).numel() for x in split.parameters())
options = {"attention_mask": real, "max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
assert torch.equal(whole.generate(ids, **options), split.generate(ids, **options))
for net in (whole, split):
    net(ids[:1], labels=ids[:1]).loss.backward()
for (name, one), other in zip(split.named_parameters(), whole.parameters(), strict=True):
    found = one.grad.full_tensor() if hasattr(one.grad, "full_tensor") else one.grad
    torch.testing.assert_close(found, other.grad, rtol=1e-4, atol=1e-6)
difference = float((whole(ids[:1]).logits - split(ids[:1]).logits).abs().max())
if dist.get_rank() == 0:
    print(own / whole.num_parameters(), difference)
dist.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.parametrize("text", [GPT, STATES])
def test_a_tensor_parallel_plan_on_two_ranks(text: str, tmp_path: Path) -> None:
    """Each rank has a part of every learned map; outputs, items and gradients are those of the whole."""
    pytest.importorskip("accelerate", reason='needs accelerate: pip install ".[interop]"')
    _, spec, file = own(text, tmp_path)
    loaded = attnc.load(spec)
    hub.export_model(loaded.model(loaded.models[0]), file, tmp_path / "out")
    (tmp_path / "split.py").write_text(SPLIT)
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    told = subprocess.run(
        [*run, str(tmp_path / "split.py"), str(tmp_path / "out")],
        env={**os.environ, "HF_HOME": str(tmp_path / "home"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr[-3000:]
    part, difference = map(float, told.stdout.split())
    assert part < 0.8 and difference < 1e-5


# -- programs --------------------------------------------------------------------------------------------------------


def greedy(prepare: Any, step: Any, prompt: Tensor, one: bool) -> Tensor:
    """What the two programs, tensors in and tensors out, make of a prompt."""
    split = prompt.split(1, 1) if one else [prompt]
    given = prepare(split[0])
    for items in split:
        scores, given = step(items, given)
    found = [scores[:, -1].argmax(-1, keepdim=True)]
    while len(found) < NEW:
        scores, given = step(found[-1], given)
        found.append(scores[:, -1].argmax(-1, keepdim=True))
    return torch.cat(found, 1)


@pytest.mark.slow
@pytest.mark.parametrize("text", [GPT, STATES])
def test_onnx(text: str, tmp_path: Path) -> None:
    """In onnxruntime, by the names of the files alone."""
    pytest.importorskip("onnxscript", reason='needs onnxscript: pip install ".[interop]"')
    runtime = pytest.importorskip("onnxruntime", reason='needs onnxruntime: pip install ".[interop]"')
    net, spec, file = own(text, tmp_path)
    given = ["--weights", str(file), "--to", "onnx", "--out", str(tmp_path / "out"), "--room", "20"]
    assert main(["export", str(spec), *given]) == 0
    first, later = (runtime.InferenceSession(str(tmp_path / "out" / f"{name}.onnx")) for name in ("prepare", "step"))

    def prepare(items: Tensor) -> dict[str, Any]:
        return dict(
            zip([one.name for one in first.get_outputs()], first.run(None, {"items": items.numpy()}), strict=True)
        )

    def step(items: Tensor, kept: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        names = [one.name for one in later.get_outputs()]
        made = dict(zip(names, later.run(None, {"items": items.numpy(), **kept}), strict=True))
        return torch.from_numpy(made["scores"]), kept | {
            name: made[f"next_{name}"] for name in kept if f"next_{name}" in made
        }

    for prompt in (torch.tensor([[3, 1, 4], [1, 5, 9]]), torch.tensor([[2, 6, 5, 3], [5, 8, 9, 7], [9, 3, 2, 3]])):
        assert torch.equal(greedy(prepare, step, prompt, text is STATES), net.generate(prompt, NEW))


@pytest.mark.slow
def test_onnx_of_an_encoder_and_decoder(tmp_path: Path) -> None:
    """`prepare` takes the source by the spec's names."""
    pytest.importorskip("onnxscript", reason='needs onnxscript: pip install ".[interop]"')
    runtime = pytest.importorskip("onnxruntime", reason='needs onnxruntime: pip install ".[interop]"')
    spec = attnc.load(Path(__file__).parents[2] / "examples" / "transformer.attn", config="tiny")
    net: Any = spec.model("transformer").torch(seed=1).eval()
    attnc.weights.save(tmp_path / "own.safetensors", net.state_dict())
    hub.export_model(spec.model("transformer"), tmp_path / "own.safetensors", tmp_path / "out", "onnx", room=20)
    first, later = (runtime.InferenceSession(str(tmp_path / "out" / f"{name}.onnx")) for name in ("prepare", "step"))
    items = torch.tensor([[3, 1], [4, 1], [5, 9]])
    source = {
        "source_ids": torch.tensor([[2, 7, 1, 8]] * 3),
        "real": torch.tensor([[True] * 4, [True] * 4, [True] * 3 + [False]]),
    }
    given = {name: x.numpy() for name, x in {"items": items, **source}.items()}
    kept = dict(zip([one.name for one in first.get_outputs()], first.run(None, given), strict=True))
    scores = later.run(None, {"items": items.numpy(), **kept})[0]
    torch.testing.assert_close(torch.from_numpy(scores), net(source["source_ids"], items, source["real"])[:, -1:])


@pytest.mark.slow
@pytest.mark.parametrize("text", [GPT, STATES])
def test_torch_export(text: str, tmp_path: Path) -> None:
    net, spec, file = own(text, tmp_path)
    loaded = attnc.load(spec)
    hub.export_model(loaded.model(loaded.models[0]), file, tmp_path / "out", "torch-export", room=20)
    first, later = (torch.export.load(tmp_path / "out" / f"{name}.pt2").module() for name in ("prepare", "step"))

    def step(items: Tensor, given: Any) -> tuple[Tensor, Any]:
        scores, *kept = later(items, *given)
        return scores, (given[0], *kept)

    prompt = torch.tensor([[2, 6, 5, 3], [5, 8, 9, 7], [9, 3, 2, 3]])
    assert torch.equal(greedy(lambda x: first(x, {}), step, prompt, text is STATES), net.generate(prompt, NEW))


ENCODER = """
width seq
depth model = 8
model smooth(x: [seq, model], real: bool[seq] = true) -> [seq, model] {
    return x + linear.O[model -> model](x * softmax[seq](x where real))
}
"""
LOOP = """
width seq
depth model = 4
block cell(x: [model], h: [model]) -> (h: [model]) {
    return sin(x + linear.U[model -> model](h))
}
model turned(x: [seq, model]) -> [seq, model] {
    return flip[seq](scan[seq] cell(flip[seq](x), h = 0))
}
"""


def test_a_model_without_steps(tmp_path: Path) -> None:
    """Is one program, of any length."""
    net, spec, file = own(ENCODER, tmp_path)
    given = ["--weights", str(file), "--to", "torch-export", "--out", str(tmp_path / "out")]
    assert main(["export", str(spec), *given]) == 0
    forward = torch.export.load(tmp_path / "out" / "forward.pt2").module()
    x, real = torch.randn(3, 9, 8), torch.rand(3, 9) < 0.7
    torch.testing.assert_close(forward(x=x, real=real), net(x, real))


def test_a_loop_is_no_program_of_any_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, spec, file = own(LOOP, tmp_path)
    given = ["--weights", str(file), "--to", "torch-export", "--out", str(tmp_path / "out")]
    assert main(["export", str(spec), *given]) == 2
    assert "a program of `turned` would hold for one width `seq` alone: a scan" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# -- what is refused -------------------------------------------------------------------------------------------------


def test_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, and nothing is left behind."""
    _, spec, file = own(GPT, tmp_path)
    (tmp_path / "encoder.attn").write_text(ENCODER)
    attnc.weights.save(tmp_path / "none.safetensors", {"O.weight": torch.zeros(8, 8), "O.bias": torch.zeros(8)})
    hub.import_folder(folder("llama", 0, tmp_path), tmp_path / "ours")
    out = str(tmp_path / "out")
    to = ["--to", "transformers", "--out", out]
    other = ["--weights", str(tmp_path / "none.safetensors")]
    for given, said in (
        ([str(spec), *to], "a spec is exported with its weights: --weights FILE.safetensors"),
        ([str(spec), *to, *other], "these are not the weights of `gpt`: it has no "),
        (
            [str(tmp_path / "encoder.attn"), *to, *other],
            "`smooth` cannot be served by transformers, as it generates nothing",
        ),
        ([str(tmp_path), *to], "`attnc import` did not write this"),
        ([str(tmp_path / "ours"), "--set", "layers=1", *to], "--set and --config are for a spec"),
        ([str(tmp_path / "ours"), *to, *other], "missing: "),
        ([str(spec), "--weights", str(file), "--to", "transformers", "--out", str(tmp_path)], "it is there already"),
        ([str(spec), "--weights", str(file), "--room", "0", *to], "a row has at least one item"),
    ):
        capsys.readouterr()
        assert main(["export", *given]) == 2
        told = capsys.readouterr().err
        assert said in told, told
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(("out", ".out"))]


def test_a_folder_that_was_edited(tmp_path: Path) -> None:
    """The published code would not compute what the spec says."""
    hub.import_folder(folder("llama", 0, tmp_path), tmp_path / "ours")
    for name in ("decoder.attn", "config.json", "decoder.map"):
        edited = tmp_path / "ours" / name
        before = edited.read_text()
        edited.write_text(before + "\n")
        with pytest.raises(hub.HubError, match=f"{name}: it was changed since the import.*--to transformers --out DIR"):
            hub.export_folder(tmp_path / "ours", tmp_path / "out")
        edited.write_text(before)


def test_an_edited_spec_goes_as_one_of_its_own(tmp_path: Path) -> None:
    hub.import_folder(folder("llama", 0, tmp_path), tmp_path / "ours")
    model = attnc.load(tmp_path / "ours" / "decoder.attn").model("decoder")
    hub.export_model(model, tmp_path / "ours" / "weights.safetensors", tmp_path / "out")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out", trust_remote_code=True).eval()
    ids, real = padded(PROMPTS)
    options = {"attention_mask": real, "max_new_tokens": NEW, "do_sample": False, "pad_token_id": 0, "eos_token_id": -1}
    assert torch.equal(theirs.generate(ids, **options), built("llama", 0).generate(ids, **options))


def test_weights_that_do_not_fit_a_folder(tmp_path: Path) -> None:
    hub.import_folder(folder("llama", 0, tmp_path), tmp_path / "ours")
    given = dict(attnc.weights.load(tmp_path / "ours" / "weights.safetensors"))
    given["E"] = given["E"][:3]
    attnc.weights.save(tmp_path / "less.safetensors", given)
    with pytest.raises(WeightsError, match="wrong shape"):
        hub.export_folder(tmp_path / "ours", tmp_path / "out", weights=tmp_path / "less.safetensors")
    assert not (tmp_path / "out").exists()
