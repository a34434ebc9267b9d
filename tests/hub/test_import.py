"""Folders that the transformers library writes, imported: the same numbers, weights and items, or one message."""

from __future__ import annotations

import copy
import json
import random
import re
import string
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnc
from attnc import hub, weights
from attnc.cli.main import main
from attnc.hub import comparing
from attnc.hub.adapters import adapter_of, adapters
from attnc.hub.configuration import configured
from attnc.hub.generation import options_of

from .kinds import KINDS

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", reason='needs transformers: pip install ".[zoo]"')

transformers.utils.logging.disable_progress_bar()

pytestmark = pytest.mark.filterwarnings("ignore")  # whatever transformers warns of
LENGTH = 24
KNOWN = adapters()


@cache
def built(kind: str, seed: int) -> Any:
    """A model with redrawn weights: at the library's own, a wrong base of rotary positions would hardly show."""
    draw = random.Random(seed + zlib.crc32(kind.encode()))
    torch.manual_seed(seed)
    options = copy.deepcopy(KINDS[kind].options(draw))  # the class may write into its tables, which draws share
    config = getattr(transformers, KINDS[kind].config)(**options)
    model = getattr(transformers, KINDS[kind].head(seed))(config).eval()
    if hasattr(model, "set_experts_implementation"):  # the usual one has no float64
        model.set_experts_implementation("eager")
    reckoned = {name for name, weight in model.named_parameters() if not weight.requires_grad}  # no part of their files
    with torch.no_grad():
        for name, weight in model.state_dict().items():
            if name in reckoned or "_decay" in name or "slope" in name or not weight.dtype.is_floating_point:
                continue
            if weight.dim() > 1:
                size = 0.5 if KINDS[kind].small in name else 2
                weight.normal_(std=size / (weight.shape[-1] if "experts" in name else weight[0].numel()) ** 0.5)
            elif (any(word in name.lower() for word in ("norm", "ln_")) and name.endswith("weight")) or name.endswith(
                "running_var"
            ):
                weight.uniform_(0.5, 1.5)
            else:
                weight.normal_(std=0.3)
    return model


def folder(kind: str, seed: int, at: Path, shards: str = "5GB") -> Path:
    built(kind, seed).save_pretrained(at / "theirs", max_shard_size=shards)
    return at / "theirs"


def some(kind: str) -> list[Any]:
    slow = pytest.mark.slow
    return [pytest.param(kind, seed, marks=slow if seed or not KINDS[kind].quick else ()) for seed in range(12)]


@pytest.mark.parametrize(("kind", "seed"), [case for kind in KINDS for case in some(kind)])
def test_numbers(kind: str, seed: int, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Outputs, with padding on either side; weights both ways; items one by one. docs/models.py reads the record."""
    source = folder(kind, seed, tmp_path)
    hub.import_folder(source, tmp_path / "ours")
    ours, theirs = hub.open(tmp_path / "ours"), built(kind, seed)
    assert not attnc.load(next((tmp_path / "ours").glob("*.attn"))).warnings

    own = comparing.reference(ours)
    unused = weights.maps.ignored(weights.maps.Map.read(ours.map), own.state_dict())
    for name, weight in own.state_dict().items():
        assert name in unused or torch.equal(weight, theirs.state_dict()[name]), name
    compared = comparing.compare(ours, LENGTH)
    assert all(found.same for found in compared), compared
    given, _, _ = comparing.drawn(ours, LENGTH, "none", torch.Generator().manual_seed(3))
    named = comparing.as_theirs(ours, given)
    with torch.no_grad():
        plain = theirs(**named)[0]
        exact = theirs.double()(**comparing.as_theirs(ours, given, torch.float64))[0]
        theirs.float()
    arrays = ours.model.numpy({path: array.astype("float32") for path, array in ours.weights.items()})
    found = arrays(**{name: value.numpy() for name, value in given.items()})
    found = found[0] if isinstance(found, tuple) else found
    rounding = float((plain - exact).abs().max() / plain.std())  # of theirs, of these inputs
    numpy_differs = float(np.abs(found - plain.numpy()).max()) / float(plain.std())
    if numpy_differs > max(3e-5, 4 * rounding):  # and of ours
        doubles = ours.model.numpy({path: array.astype("float64") for path, array in ours.weights.items()})
        more = doubles(**{name: value.numpy() for name, value in given.items()})
        more = more[0] if isinstance(more, tuple) else more
        rounding = max(rounding, float(np.abs(found - more).max()) / float(plain.std()))
    allowed = max(3e-5, 4 * rounding, 4 * max(one.rounding for one in compared))
    assert numpy_differs <= allowed
    record_property("kind", kind)
    record_property("torch", max(one.difference for one in compared))
    record_property("numpy", numpy_differs)
    if not KINDS[kind].greedy or seed % len(KINDS[kind].heads):
        return
    goes = "decoder_input_ids" if "decoder_input_ids" in named else "input_ids"
    (mine,) = (name for name, value in ours.inputs.items() if value == goes)
    named = {name: value[:1] for name, value in named.items()}
    kept = {name: value[0] for name, value in given.items() if name != mine and goes != "input_ids"}
    if goes != "input_ids":  # it begins with one item
        given[mine] = named[goes] = named[goes][:, :1]
        named["decoder_start_token_id"] = int(named[goes])
    new = ours.torch(dtype="float32").generate(given[mine][0].tolist(), 6, **kept).tolist()
    wanted = transformers.GenerationMixin.generate(
        theirs, **named, max_new_tokens=6, do_sample=False, num_beams=1, pad_token_id=0, eos_token_id=-1,
        use_cache=KINDS[kind].cached,
    )  # fmt: skip
    assert new == wanted[0, given[mine].shape[1] :].tolist()
    record_property("generated", len(new))


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_is_known(kind: str) -> None:
    """Each key of the configuration's class is a size, a switch, refused or harmless: none is dropped unseen."""
    adapter = adapter_of(kind, KNOWN, "")
    keys = set(getattr(transformers, KINDS[kind].config)().to_dict())
    assert keys <= adapter.keys
    assert adapter.path.is_file() and set(adapter.architectures.values()) <= {*attnc.load(adapter.spec).models}


@pytest.mark.parametrize("kind", KINDS)
def test_missing_keys_mean_what_they_do_there(kind: str) -> None:
    """A key that config.json leaves out means what the configuration's class has, the rotary base with the rest."""
    adapter, heads = adapter_of(kind, KNOWN, ""), {"architectures": [KINDS[kind].reference]}
    full = getattr(transformers, KINDS[kind].config)().to_dict() | heads
    if kind == "deepseek_v2":  # theirs has no number of experts of its own
        heads |= {"num_experts_per_tok": 2}
        full |= heads
    assert configured(adapter, heads).sizes == configured(adapter, full).sizes


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if adapter_of(kind, KNOWN, "").spec.stem == "decoder"])
def test_a_part_that_is_turned_is_what_theirs_turns(kind: str, tmp_path: Path) -> None:
    """Most of theirs know `partial_rotary_factor`, and do not read it."""
    options = KINDS[kind].options(random.Random(3))
    if "rope_theta" not in (options.get("rope_parameters") or {}):
        return  # it has no such table, or one for each kind of layer
    options |= {"rope_parameters": {"rope_type": "default", "rope_theta": 5000.0, "partial_rotary_factor": 0.5}}
    if (
        options.get("head_dim", 4) % 4
        and options["hidden_size"] != options["num_attention_heads"] * options["head_dim"]
    ):
        options["head_dim"] = 8  # of which a half is even
    torch.manual_seed(0)
    theirs = getattr(transformers, KINDS[kind].reference)(getattr(transformers, KINDS[kind].config)(**options)).eval()
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.normal_(std=0.4)
    theirs.save_pretrained(tmp_path / "theirs")
    hub.import_folder(tmp_path / "theirs", tmp_path / "ours")
    assert all(found.same for found in comparing.compare(hub.open(tmp_path / "ours"), LENGTH))


def test_the_page_of_models_has_each() -> None:
    """docs/models.md, which docs/models.py writes: a row for what was tested, one for the cost, and its picture."""
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "models.md").read_text(encoding="utf-8")
    drawn = re.findall(r"^((?:`[\w-]+`(?:, )?)+)$", page, re.MULTILINE)
    assert sorted(kind for line in drawn for kind in re.findall(r"`([\w-]+)`", line)) == sorted(KINDS)
    assert all(page.count(f"\n| {kind} | ") == 2 for kind in KINDS)
    shown = re.findall(r"\(pictures/models/(.*?)\)", page)
    assert sorted(shown) == sorted(file.name for file in (docs / "pictures" / "models").iterdir())


def test_shards(tmp_path: Path) -> None:
    """Several files become several, none larger than the largest of theirs, with their types."""
    theirs = folder("llama", 0, tmp_path, "20KB")
    hub.import_folder(theirs, tmp_path / "ours")
    largest = max(file.stat().st_size for file in theirs.glob("*.safetensors"))
    parts = sorted((tmp_path / "ours").glob("*.safetensors"))
    assert len(parts) > 1 and max(file.stat().st_size for file in parts) <= 1.3 * largest
    imported = hub.open(tmp_path / "ours")
    assert set(imported.weights) == set(imported.model.weights)


def test_types_are_kept(tmp_path: Path) -> None:
    model = transformers.LlamaForCausalLM(built("llama", 0).config).bfloat16()
    model.save_pretrained(tmp_path / "theirs")
    hub.import_folder(tmp_path / "theirs", tmp_path / "ours")
    assert {str(array.dtype) for array in hub.open(tmp_path / "ours").weights.values()} == {"bfloat16"}


# -- what is refused -------------------------------------------------------------------------------------------------


def changed(tmp_path: Path, **config: Any) -> Path:
    source = folder("llama", 0, tmp_path)
    told = json.loads((source / "config.json").read_text())
    told.update(config)
    (source / "config.json").write_text(json.dumps(told))
    return source


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"residual_scale": 2}, "does not know `residual_scale`"),
        ({"mlp_biass": True}, "near it: `mlp_bias`"),
        ({"pretraining_tp": 2}, "`pretraining_tp` is 2, and decoder.attn has it as 1 alone"),
        ({"hidden_act": "mish"}, "`act` of decoder.attn has no value: `hidden_act` is \"mish\" there: the spec has "),
        ({"model_type": "lama"}, "no adapter knows `model_type` \"lama\"; near it: llama"),
        ({"architectures": ["LlamaForTokenClassification"]}, "knows LlamaForCausalLM"),
        ({"hidden_size": "many"}, "`hidden_size` is \"many\", where a whole number is needed"),
        ({"num_attention_heads": 0}, "by zero (`hidden_size` is 16, `num_attention_heads` is 0)"),
        ({"intermediate_size": 0}, "1 or more; `inner` is 0 because `intermediate_size` is 0"),
        ({"rope_parameters": {"rope_type": "axial", "factor": 2.0}}, "`rope_type` is \"axial\" there"),
    ],
)  # fmt: skip
def test_configurations_that_are_refused(
    config: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(changed(tmp_path, **config)), "--to", str(tmp_path / "ours")]) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1
    assert not any(path.name.startswith((".ours", "ours")) for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("kind", "config", "said"),
    [
        ("mpt", {"attn_config": {"alibi": False}}, "`attn_config.alibi` is false, and decoder.attn has it as true"),
        ("mpt", {"attn_config": {"heads": 2}}, "mpt.toml does not know `heads` of `attn_config`"),
        ("falcon", {"alibi": True}, "`alibi` is true"),
        ("bloom", {"slow_but_exact": True}, "`slow_but_exact` is true"),
        (
            "gemma3_text",
            {"rope_parameters": {"sliding_attention": {"rope_type": "linear", "factor": 2.0}}},
            "does not know `factor` of `rope_parameters.sliding_attention`",
        ),
        ("phi3", {"rope_parameters": {"rope_type": "linear", "factor": 2.0}}, "`rope_type` is \"linear\" there"),
        ("dinov2", {"image_size": [28, 42]}, "its pictures are not square"),
    ],
)  # fmt: skip
def test_options_that_are_refused(kind: str, config: dict[str, Any], said: str) -> None:
    with pytest.raises(hub.HubError, match=re.escape(said)):
        configured(adapter_of(kind, KNOWN, ""), config)


def test_positions_that_hang_on_the_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are what they were trained to be, and no text is longer than those of the training."""
    source = changed(tmp_path, max_position_embeddings=9, rope_parameters={"rope_type": "dynamic", "factor": 2.0})
    hub.import_folder(source, tmp_path / "ours")
    assert "width seq <= 9\n" in (tmp_path / "ours" / "decoder.attn").read_text()
    assert main(["run", str(tmp_path / "ours"), "--ids", "1,2,3", "--max-new", "6", "--plain"]) == 0
    assert main(["run", str(tmp_path / "ours"), "--ids", "1,2,3", "--max-new", "8", "--plain"]) == 2
    assert "9" in capsys.readouterr().err


def test_folders_that_are_refused(tmp_path: Path) -> None:
    with pytest.raises(hub.HubError, match="no folder"):
        hub.import_folder(tmp_path / "nowhere", tmp_path / "ours")
    source = folder("llama", 0, tmp_path)
    (tmp_path / "ours").mkdir()
    with pytest.raises(hub.HubError, match="there already"):
        hub.import_folder(source, tmp_path / "ours")
    (source / "model.safetensors").rename(source / "pytorch_model.bin")
    with pytest.raises(hub.HubError, match="pickled"):
        hub.import_folder(source, tmp_path / "other")
    (source / "config.json").write_text("{")
    with pytest.raises(hub.HubError, match="cannot be read as JSON"):
        hub.import_folder(source, tmp_path / "other")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ('{"model_type": "xlnet"}', "no adapter reads `xlnet`: it predicts items in an order"),
        ('{"model_type": ["llama"]}', '`model_type` is ["llama"], where text is needed'),
        ('{"model_type": "llama", "hidden_size": %s}' % ("1" * 5001), "`hidden_size` has 5,001 digits"),
        ('{"model_type": "llama", "hidden_size": "16"}', '`hidden_size` is "16", where a whole number is needed'),
        ('{"model_type": "llama"}', "it has no model.safetensors"),
    ],
)
def test_a_configuration_is_refused_before_weights_are_missed(config: str, said: str, tmp_path: Path) -> None:
    """And places of folders may be texts."""
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(hub.HubError) as wrong:
        hub.import_folder(str(tmp_path), str(tmp_path / "ours"), [str(tmp_path)])
    assert said in str(wrong.value)


def test_weights_of_another_shape(tmp_path: Path) -> None:
    source = changed(tmp_path, intermediate_size=30)
    with pytest.raises(weights.WeightsError, match="wrong shape"):
        hub.import_folder(source, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


# -- the commands ----------------------------------------------------------------------------------------------------


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What README.md of the folder says, word for word."""
    assert main(["import", str(folder("qwen3", 0, tmp_path)), "--to", str(tmp_path / "ours")]) == 0
    assert {path.name for path in (tmp_path / "ours").iterdir()} == {
        "README.md", "attnc.json", "config.json", "cost.txt", "decoder.attn", "decoder.map", "figure.svg",
        "generation_config.json", "weights.safetensors",
    }  # fmt: skip
    capsys.readouterr()
    assert main(["run", str(tmp_path / "ours"), "--ids", "3,5,8", "--max-new", "4", "--plain"]) == 0
    assert len(capsys.readouterr().out.split(",")) == 4
    assert "$ attnc run ours --ids 1,2,3 " in (tmp_path / "ours" / "README.md").read_text()
    assert main(["run", str(tmp_path / "ours"), "--check"]) == 0
    assert capsys.readouterr().out.count("of the standard deviation") == 3
    assert main(["run", str(tmp_path / "ours"), "--prompt", "Once"]) == 2
    assert "no tokenizer.json" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "ours" / "decoder.attn")]) == 0
    assert main(["adapters"]) == 0
    assert "mistral" in capsys.readouterr().out


def test_what_is_said_of_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model that generates nothing, with a second head that the spec has not."""
    config = transformers.BertConfig(
        vocab_size=37, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=20
    )
    transformers.BertForPreTraining(config).save_pretrained(tmp_path / "theirs")
    assert main(["import", str(tmp_path / "theirs"), "--to", str(tmp_path / "ours")]) == 0
    told = capsys.readouterr().err
    assert f"Next: attnc run {tmp_path / 'ours'} --check\nIt generates nothing: from Python, " in told
    assert "takes ids, segment, real\n" in told and "cls.seq_relationship.bias, cls.seq_relationship.weight" in told
    assert "--prompt" not in (tmp_path / "ours" / "README.md").read_text()
    assert main(["run", str(tmp_path / "ours"), "--check"]) == 0
    assert "has it not: seq_relationship_logits\n" in capsys.readouterr().out


def test_a_prompt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    source = folder("llama", 0, tmp_path)
    words = {letter: i for i, letter in enumerate(string.ascii_letters[:37])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="a"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(source / "tokenizer.json"))
    hub.import_folder(source, tmp_path / "ours")
    assert main(["run", str(tmp_path / "ours"), "--prompt", "b c d", "--max-new", "3", "--plain"]) == 0
    assert capsys.readouterr().out.startswith("b c d")


def test_an_adapter_of_ones_own(tmp_path: Path) -> None:
    """A folder of adapters stands before those that come with attnc."""
    own = tmp_path / "own"
    own.mkdir()
    text = """include = ["decoder/llama.toml"]
model_type = "llama"
harmless = ["residual_scale"]

[architectures]
LlamaForCausalLM = "decoder"
"""
    (own / "mine.toml").write_text(text)
    hub.import_folder(changed(tmp_path, residual_scale=2), tmp_path / "ours", [own])
    for old, new, said in (
        ("[architectures]", "[size]", "no entry `size`"),
        ("decoder/", "decoders/", "there is no file decoders/llama.toml, beside it or in "),
        ("model_type", 'spec = "mine.attn"\nmodel_type', "there is no file mine.attn, beside it or in "),
    ):
        (own / "mine.toml").write_text(text.replace(old, new))
        with pytest.raises(hub.HubError, match=said):
            adapters([own])


@pytest.mark.parametrize(
    ("generation", "options"),
    [
        ({}, {}),
        ({"do_sample": True, "temperature": 0.6, "top_p": 0.9}, {"temperature": 0.6, "top_k": 50, "top_p": 0.9}),
        ({"num_beams": 4, "length_penalty": 0.8, "eos_token_id": [7]}, {"beams": 4, "length_penalty": 0.8, "eos": 7}),
        ({"eos_token_id": [7, 9], "max_new_tokens": 5}, {"stops": [7, 9], "max_new": 5}),
        ({"repetition_penalty": 1.0, "use_cache": True}, {}),
    ],
)
def test_generation(generation: dict[str, Any], options: dict[str, Any]) -> None:
    assert options_of(generation, "g") == options


@pytest.mark.parametrize("generation", [{"repetition_penalty": 1.2}, {"warp": 3}])
def test_generation_that_is_refused(generation: dict[str, Any]) -> None:
    with pytest.raises(hub.HubError, match="g: it"):
        options_of(generation, "g")


def test_a_check_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing says which class theirs is, and where theirs fails: one message each."""
    hub.import_folder(changed(tmp_path, architectures=None), tmp_path / "ours")
    assert main(["run", str(tmp_path / "ours"), "--check"]) == 2
    assert "names no `architectures`" in capsys.readouterr().err
    config = transformers.FalconConfig(
        vocab_size=37, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, num_kv_heads=1, alibi=False,
        new_decoder_architecture=True, parallel_attn=False, num_ln_in_parallel_attn=2, bias=False,
    )  # fmt: skip
    transformers.FalconForCausalLM(config).save_pretrained(tmp_path / "falcon")
    hub.import_folder(tmp_path / "falcon", tmp_path / "bird")
    assert main(["run", str(tmp_path / "bird"), "--check"]) == 2
    told = capsys.readouterr().err
    assert "FalconForCausalLM fails itself: AttributeError" in told and "internal error" not in told
