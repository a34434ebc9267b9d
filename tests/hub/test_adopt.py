"""Modules in many styles, read by `attnc adopt`: the same results and gradients, the place that differs, a message."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import attnc
from attnc import hub, weights
from attnc.cli.main import main

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore")  # whatever PyTorch warns of

HERE = "tests.hub.modules"
SAME = {
    "decoders:fused_biased": {"model": 32, "heads": 4, "places": 24},
    "decoders:Separate": {"model": 24, "heads": 3, "inner": 96},
    "decoders:Beside": {"heads": 3, "inner": 96},
    "decoders:UnscaledScores": {"heads": 3},
    "decoders:Slanted": {"heads": 3},
    "decoders:HeadModules": {"heads": 4, "key": 4},
    "decoders:Grouped": {"groups": 2, "sharing": 2, "inner": 96},
    "decoders:Halves": {"heads": 4, "key": 8, "turned": 4, "inner": 48},
    "encoders:Library": {"heads": 2, "label": 5},
    "encoders:library_first": {"heads": 2, "label": 5},
    "encoders:LibraryPair": {"source_heads": 2, "target_vocab": 25},
    "encoders:Words": {"heads": 3, "segments": 2, "places": 20},
    "encoders:ItemsFirst": {"heads": 2},
    "encoders:Taught": {"source_heads": 4, "target_heads": 4},
    "encoders:Cut": {"heads": 4, "key": 8, "down": 4, "label": 10},
    "encoders:Convolved": {"heads": 3, "down": 4, "label": 7},
}
OTHER = {
    "Capped": ("blocks.0.attn.proj.weight", "its scores are no multiple of the products of queries and keys"),
    "SlowlyTurned": ("blocks.0.attn.proj.weight", "its scores are no multiple of the products of queries and keys"),
    "OddFunction": ("blocks.0.down.weight", "what stands between `blocks.0.up.weight` and `blocks.0.down.weight`"),
    "OddSum": ("blocks.1.attn.key.weight", "the stream behind `blocks.0.down.weight` is no sum"),
}


def of(place: str) -> Any:
    name, _, factory = place.partition(":")
    torch.manual_seed(0)
    return getattr(importlib.import_module(f"{HERE}.{name}"), factory)().eval()


def test_a_module_is_adopted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its spec is short, its map is of rules for all layers, and its weights give its numbers."""
    torch.manual_seed(0)
    assert main(["adopt", f"{HERE}.decoders:fused", "--to", str(tmp_path / "mine")]) == 0
    said = capsys.readouterr()
    assert re.search(r"results within \de-1\d|results within .*e-1\d of the standard deviation", said.out)
    assert "theirs gives [3, 1, 50], the last item alone, where the spec gives [3, 11, 50]" in said.out
    assert "the same but for the form of its result" in said.out + said.err
    assert "It computes the same, but for the form of its result: " in (tmp_path / "mine" / "README.md").read_text()
    text = (tmp_path / "mine" / "fused.attn").read_text()
    assert "model fused(ids: vocab[seq]) -> [seq, vocab] causal seq" in text
    assert len(text.splitlines()) < 50
    map = (tmp_path / "mine" / "fused.map").read_text()
    assert "transformer.h.{layer}.attn.c_attn.weight -> layers.{layer}.self.{Q, K, V}.weight : split" in map
    assert "tie lm_head.weight = transformer.wte.weight" in map
    model = attnc.load(tmp_path / "mine" / "fused.attn").model("fused")
    held = weights.load(tmp_path / "mine" / "weights.safetensors")
    net = model.torch(weights=held)
    module = of("decoders:fused")
    back = weights.convert(held, tmp_path / "mine" / "fused.map", model, reverse=True)
    module.load_state_dict({name: torch.tensor(array) for name, array in back.items()})
    ids = torch.randint(0, 50, (2, 9))
    torch.testing.assert_close(net(ids=ids)[:, -1:], module(ids)[0])
    assert {"figure.svg", "cost.txt", "README.md", "check.py", "attnc.json"} <= {
        one.name for one in (tmp_path / "mine").iterdir()
    }


@pytest.mark.slow
@pytest.mark.parametrize("place", SAME)
def test_the_same(place: str, tmp_path: Path) -> None:
    """Results and gradients, and the sizes that it has."""
    found = hub.adopt(f"{HERE}.{place}", tmp_path / "mine")
    assert found.verdict.same, found.verdict
    assert not found.doubts
    text = next((tmp_path / "mine").glob("*.attn")).read_text()
    assert attnc.format(text) == text
    for name, size in SAME[place].items():
        assert re.search(rf"\b{name} = {size}\b", text), name


BOTH = {"states": "[seq, model] causal seq", "logits": "[seq, vocab] causal seq"}


@pytest.mark.parametrize(
    ("factory", "results", "left"),
    [
        pytest.param("a_tuple", {"result_1": BOTH["logits"], "result_2": BOTH["states"]}, "", marks=pytest.mark.slow),
        ("a_dict", BOTH, ""),
        pytest.param("a_named_tuple", dict(reversed(BOTH.items())), "", marks=pytest.mark.slow),
        pytest.param("fields", BOTH, "", marks=pytest.mark.slow),
        pytest.param("fields_and_keys", BOTH, "", marks=pytest.mark.slow),
        pytest.param(
            "probabilities", {"logits": BOTH["logits"], "result_2": BOTH["logits"]}, "", marks=pytest.mark.slow
        ),
        ("apart", None, "theirs gives 2 results, of which the spec leaves out number 2 [3, 24]"),
    ],
)
def test_several_results(
    factory: str, results: dict[str, str] | None, left: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that lie on one way are results of the spec, by their names; what is left out is told."""
    assert main(["adopt", f"{HERE}.several:{factory}", "--to", str(tmp_path / "mine")]) == 0
    said = capsys.readouterr()
    text = (tmp_path / "mine" / "several.attn").read_text()
    types = ", ".join(f"{name}: {type}" for name, type in (results or {}).items())
    assert (f"-> ({types}) {{" if results else f"-> {BOTH['logits']} {{") in text
    assert left in said.out and ("but for results that are left out" in said.out + said.err) == bool(left)
    assert left in (tmp_path / "mine" / "README.md").read_text()
    assert hub.check_adopted(tmp_path / "mine").same


@pytest.mark.slow
def test_a_place_that_differs_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line; or the folder is there, and mended, it is the same."""
    command = ["adopt", f"{HERE}.others:Capped", "--to", str(tmp_path / "mine")]
    assert main(command) == 2
    said = capsys.readouterr()
    assert "does not compute the same" in said.err and "its scores are no multiple of the products" in said.err
    assert len(said.err.splitlines()) == 1 and not list(tmp_path.iterdir())
    assert main([*command, "--anyway"]) == 1
    said = capsys.readouterr()
    assert "they differ first before `blocks.0.attn.proj.weight` (ours `layers.0.self.O.weight`)" in said.out
    assert "layer 0, self: its scores are no multiple of the products of queries and keys" in said.err
    assert "**It does not compute the same**" in (tmp_path / "mine" / "README.md").read_text()
    spec = tmp_path / "mine" / "capped.attn"
    scores = re.compile(r"softmax\[past\]\(.* where")
    mended = scores.sub("softmax[past](7 * tanh(dot[key](Q, K[seq as past]) / sqrt(|key|) / 7) where", spec.read_text())
    spec.write_text(mended)
    assert hub.check_adopted(tmp_path / "mine").same


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHER)
def test_where_it_differs(name: str, tmp_path: Path) -> None:
    found = hub.adopt(f"{HERE}.others:{name}", tmp_path / "mine", anyway=True)
    before, doubt = OTHER[name]
    assert not found.verdict.same
    assert f"they differ first before `{before}`" in found.verdict.where
    assert doubt in found.doubts[0]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("others:Mixed", "no place was found for `pos_emb`, `near.weight`, `near.bias`, which the module uses"),
        ("others:Thrice", "`layers.2.before_self.weight`: weights that layers share are not read"),
        ("others:Outside", "with weights read as [batch, heads, queries, keys], the values"),
        ("several:nothing", "Several is not understood: it gives no tensor of real numbers"),
        ("others:Recurrent", "Recurrent is not understood: there is no attention in it"),
        ("others:Uneven", "layer 1 is not like layer 0: of its self, heads is (4, 4, 6), not (3, 3, 8)"),
        ("others:WritesOver", "your code failed, its gradients: RuntimeError: one of the variables needed"),
        ("others:Asks", "Asks(ids, factor, sizes): its inputs could not be guessed: give a function"),
        ("others:Fails", "others.py:"),
        ("others:broken", "your code failed, broken(): "),
        ("others:number", "this gives a int, not a torch.nn.Module"),
        ("others:none", "tests.hub.modules.others has no `none`"),
        ("nothing:x", "there is no package tests.hub.modules.nothing, here or installed"),
        ("decoders", "name a module as package.module:function"),
    ],
)
def test_what_is_not_understood_is_one_message(
    place: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["adopt", f"{HERE}.{place}", "--to", str(tmp_path / "mine")]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_inputs_of_a_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["adopt", f"{HERE}.others:Asks", "--to", str(tmp_path / "mine"), "--inputs"]
    assert main([*command, f"{HERE}.others:asked"]) == 0
    assert main([*command[:3], str(tmp_path / "other"), "--inputs", f"{HERE}.others:one_example"]) == 2
    assert "a batch of two examples or more" in capsys.readouterr().err
    assert main([*command, f"{HERE}.others:asked"]) == 2  # the folder is there
    assert "it is there already" in capsys.readouterr().err
    done = subprocess.run(
        [sys.executable, str(tmp_path / "mine" / "check.py")], capture_output=True, text=True, check=False, timeout=120,
        env={"PYTHONPATH": ".", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "gradients within" in done.stdout


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("head", "options"),
    [
        ("GPT2LMHeadModel", {"n_embd": 32, "n_head": 4, "n_layer": 2, "vocab_size": 70, "n_positions": 32}),
        ("GPTNeoXForCausalLM", {}),
        ("Qwen3ForCausalLM", {"num_key_value_heads": 2, "head_dim": 16}),
        ("GemmaForCausalLM", {"num_key_value_heads": 1, "head_dim": 16}),
        ("Olmo2ForCausalLM", {}),
        ("RobertaModel", {"pad_token_id": 1}),
        ("BertForMaskedLM", {}),
        ("BertForSequenceClassification", {}),
        ("ViTForImageClassification", {"image_size": 24, "patch_size": 8}),
        ("BartForConditionalGeneration", {"d_model": 32, "encoder_layers": 2, "decoder_layers": 1}),
    ],
)
def test_classes_of_transformers(
    head: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transformers = pytest.importorskip("transformers", reason='needs transformers: pip install ".[zoo]"')
    usual = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 70,
             "intermediate_size": 64, "max_position_embeddings": 32}  # fmt: skip
    kind = getattr(transformers, head)
    config = kind.config_class(**({} if head.startswith("GPT2") else usual), **options)
    published = ModuleType("published")
    vars(published)["made"] = lambda: kind(config)
    monkeypatch.setitem(sys.modules, "published", published)
    found = hub.adopt("published:made", tmp_path / "mine")
    assert found.verdict.same, found.verdict
