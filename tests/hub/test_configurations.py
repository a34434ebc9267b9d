"""What transformers reads of a configuration is read alike, or refused by name: keys that are dropped, null, of another
kind, old and new names side by side, lists of another length, numbers at and beyond their borders.

Each draw changes one thing in a configuration that is right. Where transformers builds a model of it, ours has the same
outputs with the same weights, or says what it has no match for, with the key and its value; that may be a tenth of the
draws at most. Where transformers refuses it, or does not run, it is refused here too.
"""

from __future__ import annotations

import copy
import json
import random
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attnc import hub
from attnc.dsl.nested import from_json
from attnc.hub import comparing
from attnc.hub.adapter import Adapter
from attnc.hub.adapters import adapter_of, adapters
from attnc.hub.configuration import Configured, configured
from attnc.hub.folder import _number
from attnc.hub.imported import Imported
from attnc.hub.importing import specified
from attnc.hub.problem import ANY, is_a
from attnc.weights import WeightsError, convert

from .kinds import KINDS

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", reason='needs transformers: pip install ".[zoo]"')

pytestmark = pytest.mark.filterwarnings("ignore")  # whatever transformers warns of
transformers.utils.logging.set_verbosity_error()
KNOWN = adapters()
LENGTH = 12
MANY = 1000  # what no number becomes another key's from: theirs would build 58,100 layers
SAME = 1e-3  # standard deviations: what is read otherwise changes more
WRONG = (None, "x", [], [1, 2], {}, float("nan"), -1, 0, 0.5, 3, True, False)
ROPE: tuple[dict[str, Any], ...] = (
    {"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0},
    {"type": "linear", "factor": 2.0},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8, "rope_theta": 300.0},
    {"rope_type": "yarn", "factor": None, "original_max_position_embeddings": 8},
    {"rope_type": "yarn", "factor": 2.0, "attention_factor": None, "beta_fast": None, "beta_slow": 2.0},
    {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
     "original_max_position_embeddings": 8},
    {"rope_type": "llama3", "factor": 4.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "beta_fast": 8.0, "beta_slow": 1.0,
     "attention_factor": 1.2, "rope_theta": 100.0},
    {"rope_type": "longrope", "factor": 8.0, "original_max_position_embeddings": 32, "short_factor": [3.0],
     "long_factor": [2.0], "rope_theta": 5000.0},
    {"rope_type": "dynamic", "factor": 2.0},
    {"rope_type": "default", "rope_theta": 200.0},
    {"rope_type": "default"},
    {},
)  # fmt: skip
Place = tuple[str, ...]


def config_of(kind: str, draw: random.Random) -> dict[str, Any]:
    """A right one, as its file has it."""
    config = getattr(transformers, KINDS[kind].config)(**copy.deepcopy(KINDS[kind].options(draw)))
    found: dict[str, Any] = from_json(config.to_json_string(use_diff=draw.random() < 0.5), _number)
    return found | {"architectures": [KINDS[kind].reference], "model_type": found.get("model_type", kind)}


def places(table: dict[str, Any], *above: str) -> Iterator[Place]:
    for key, value in table.items():
        if key not in ("model_type", "architectures", "transformers_version"):
            yield (*above, key)
        if isinstance(value, dict):
            yield from places(value, *above, key)


def changed(config: dict[str, Any], kind: str, draw: random.Random) -> tuple[str, dict[str, Any]]:
    """One thing otherwise, and what."""
    found = copy.deepcopy(config)
    rotary = [key for key in ("rope_parameters", "rope_scaling") if isinstance(found.get(key), dict)]
    if rotary and draw.random() < 0.4 and "full_attention" not in found[rotary[0]]:
        found[rotary[0]] = copy.deepcopy(draw.choice(ROPE)) | {"rope_theta": 300.0}
    known = adapter_of(kind, KNOWN, "")
    near = [place for place in places(found) if not known.harmless & {place[0], place[-1]}]
    numbers = [place for place in near if is_number(at(found, place))]
    if numbers and draw.random() < 0.5:
        place = draw.choice([*numbers, *[place for place in numbers if len(place) > 1] * 3])
        return f"{'.'.join(place)}: border, {border(found, place, draw)}", found
    place = draw.choice(near)
    table = at(found, place[:-1])
    lists = [key for key, value in found.items() if isinstance(value, list) and key != "architectures"]
    how = draw.choice(["drop", "null", "wrong", "wrong", "both", "both", *["list"] * bool(lists)])
    if how == "drop":
        del table[place[-1]]
    elif how == "null":
        table[place[-1]] = None
    elif how == "wrong":
        table[place[-1]] = copy.deepcopy(draw.choice(WRONG))
        how += f" {table[place[-1]]!r}"
    elif how == "list":
        place = (draw.choice(lists),)
        items = found[place[0]]
        found[place[0]] = draw.choice([items[:-1], [*items, *items[-1:]], [*items[1:], "unknown"], items[:1], []])
        how += f" {found[place[0]]!r}"
    else:
        place, how = both(found, kind, draw)
    return f"{'.'.join(place)}: {how}", found


def at(config: dict[str, Any], place: Place) -> Any:
    found: Any = config
    for key in place:
        found = found[key]
    return found


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def border(found: dict[str, Any], place: Place, draw: random.Random) -> str:
    """A number at or beyond its border, or one that belongs to another key; and what."""
    table, key = at(found, place[:-1]), place[-1]
    value = table[key]
    others = [name for name, other in table.items() if is_number(other) and name != key and other < MANY]
    if others and draw.random() < 0.4:
        other = draw.choice(others)
        table[key] = table[other]
        if draw.random() < 0.5:
            return f"as {other}"
        table[other] = value
        return f"exchanged with {other}"
    table[key] = draw.choice([0, -value, 1, value + 1, value / 2, float(value), str(value), [value]])
    return repr(table[key])


def both(found: dict[str, Any], kind: str, draw: random.Random) -> tuple[Place, str]:
    """Old and new names side by side."""
    names = getattr(transformers, KINDS[kind].config).attribute_map
    rotary = any("rope" in key for key in found)
    ways = ["dtype", *["rope"] * 3 * rotary, *["alias"] * bool(names)]
    way = draw.choice(ways)
    if way == "alias":
        alias = draw.choice(sorted(names))
        found[alias] = copy.deepcopy(found.get(names[alias]))
        return (alias,), f"alias {found[alias]!r}"
    if way == "rope":
        key = draw.choice(["rope_scaling", "rope_parameters"])
        found[key] = copy.deepcopy(draw.choice(ROPE))
        if draw.random() < 0.3:
            found["rope_theta"] = 700.0
        return (key,), f"rope {found[key]!r} {found.get('rope_theta')}"
    found["torch_dtype"] = "bfloat16"
    return ("torch_dtype",), "beside dtype"


def theirs_of(config: dict[str, Any], place: Path) -> Any:
    """Their model with redrawn weights, or None where they have none of it."""
    (place / "config.json").write_text(json.dumps(config))
    try:
        made = transformers.AutoConfig.from_pretrained(place)
        torch.manual_seed(0)
        model = getattr(transformers, config["architectures"][0])(made).float().eval()
        if hasattr(model, "set_experts_implementation"):  # the usual one has no float64
            model.set_experts_implementation("eager")
        with torch.no_grad():
            for weight in model.parameters():
                weight.normal_(std=0.3) if weight.requires_grad else weight
    except Exception:  # whatever their code says
        return None
    return model


def apart(theirs: Any, adapter: Adapter, made: Configured, config: dict[str, Any], place: Path) -> float | None:
    """How far the outputs are apart, in standard deviations; None where theirs has none. Raises as an import does."""
    _, model = specified(adapter, made, "# a test", "config.json", place)
    arrays = {name: weight.detach().numpy() for name, weight in theirs.state_dict().items()}
    weights = convert(arrays, adapter.map, model)
    imported = Imported(place, model, weights, adapter.map, adapter.inputs, config, {}, adapter.batched)  # type: ignore[arg-type]
    given, _, _ = comparing.drawn(imported, LENGTH, "none", torch.Generator().manual_seed(0))
    with torch.no_grad():
        try:
            wanted = theirs(**comparing.as_theirs(imported, given, torch.float32), return_dict=True)
        except Exception:  # whatever their code says
            return None
        wanted = next(iter(wanted.values()))
        if not bool(wanted.isfinite().all()):
            return None
        found = imported.torch(dtype="float32")(**given)
    found = found[0] if isinstance(found, tuple) else found
    size = max(float(wanted.std()), 1e-3 * float(wanted.abs().max()))  # of a vocabulary of one word, there is no std
    return float((found - wanted).abs().max()) / size if found.shape == wanted.shape else float("inf")


def text_alone(theirs: Any) -> bool:
    return theirs.main_input_name == "input_ids" and not hasattr(theirs.config, "vision_config")


def computes(theirs: Any) -> bool:
    """Whether theirs computes numbers; of other inputs than text it is believed to."""
    if not text_alone(theirs):
        return True
    for ids in (torch.tensor([[1, 2, 3, 1, 2, 3]]), torch.tensor([[0]])):
        given = {"input_ids": ids} | ({"decoder_input_ids": ids} if theirs.config.is_encoder_decoder else {})
        try:
            with torch.no_grad():
                if bool(next(iter(theirs(**given, return_dict=True).values())).isfinite().all()):
                    return True
        except Exception:  # whatever their code says
            pass
    return False


def verdict(kind: str, config: dict[str, Any], place: Path) -> str:
    """theirs: they have none, and it is refused. same, or what is said in refusal. Anything else is wrong."""
    adapter = adapter_of(kind, KNOWN, "")
    theirs = theirs_of(config, place)
    has = theirs is not None and computes(theirs)
    try:
        made = configured(adapter, config)
        if has:
            distance = apart(theirs, adapter, made, config, place)
            if distance is None:
                return "theirs" if text_alone(theirs) else "read here alone"
            return "same" if distance < SAME else f"differs by {distance:.3g}"
        specified(adapter, made, "# a test", "config.json", place)
    except (hub.HubError, WeightsError) as wrong:
        return f"{'refused' if has else 'theirs'}: {wrong}"
    reals = {key: float(value) for key, value in config.items() if type(value) is int and whole_as_real(adapter, key)}
    return verdict(kind, config | reals, place) if reals else "read here alone"


def whole_as_real(adapter: Adapter, key: str) -> bool:
    """Theirs refuses 1 where it wants 1.0."""
    return key not in adapter.harmless and adapter.kind(key).startswith("number")


def tells(said: str, key: str) -> bool:
    """Whether a refusal names the key; or another, as of a list that has too few items for it."""
    return key in said or re.search(r"`[\w.]+` is |does not know", said) is not None


def draws(kind: str, count: int, start: int, place: Path) -> Counter[str]:
    """How many of each verdict, where refused beyond a border is its own. Raises AssertionError for one that is silent
    and otherwise.
    """
    found: Counter[str] = Counter()
    for seed in range(start, start + count):
        draw = random.Random(seed + zlib.crc32(kind.encode()))
        what, config = changed(config_of(kind, draw), kind, draw)
        said = verdict(kind, config, place)
        assert said in ("theirs", "same") or said.startswith(("refused: ", "theirs: ")), (kind, seed, what, said)
        assert ": " not in said or tells(said, what.partition(":")[0].rpartition(".")[2]), (kind, seed, what, said)
        beyond = said.startswith("refused") and ": border" in what  # what theirs makes of 0 or -1 is mostly nonsense
        found["beyond a border" if beyond else said.partition(":")[0]] += 1
    return found


def few_refused(found: Counter[str]) -> bool:
    """At most a tenth of what theirs has; of few draws, one more."""
    return found["refused"] <= 1 + (found["refused"] + found["same"]) // 10


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_a_few_draws(kind: str, tmp_path: Path) -> None:
    found = draws(kind, 4, 0, tmp_path)
    assert few_refused(found) and found["same"], found


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_draws(kind: str, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Of --seeds START:STOP a thousandth, for each kind."""
    start, stop = map(int, pytestconfig.getoption("seeds").split(":"))
    found = draws(kind, max((stop - start) // 1000, 1), start, tmp_path)
    assert few_refused(found), found


SIZES: dict[str, dict[str, Any]] = {"llama": {"max_position_embeddings": 32}, "gpt2": {"n_head": 4}}
NEW, OLD = {"rope_type": "default", "rope_theta": 5e3}, {"rope_type": "linear", "factor": 4.0}


@pytest.mark.parametrize(
    ("kind", "given", "like"),
    [
        ("llama", {"rope_parameters": NEW, "rope_scaling": OLD}, {"rope_parameters": OLD}),
        ("llama", {"rope_parameters": NEW, "rope_scaling": {}}, {"rope_parameters": NEW}),
        ("llama", {"rope_parameters": NEW, "rope_scaling": None}, {"rope_parameters": NEW}),
        ("llama", {"rope_theta": 7e3, "rope_scaling": OLD}, {"rope_parameters": OLD | {"rope_theta": 7e3}}),
        (
            "llama",
            {"rope_parameters": {"rope_type": "yarn", "factor": None, "original_max_position_embeddings": 8}},
            {"rope_parameters": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8}},
        ),
        ("gpt2", {"n_embd": 8, "hidden_size": 16}, {"n_embd": 16}),
        ("t5", {"dense_act_fn": "gelu_new", "is_gated_act": True}, {"feed_forward_proj": "gated-gelu"}),
        ("t5", {"feed_forward_proj": "gated-silu", "is_gated_act": False}, {"feed_forward_proj": "silu"}),
    ],
)  # fmt: skip
def test_of_two_names_one_counts(kind: str, given: dict[str, Any], like: dict[str, Any]) -> None:
    """As the configuration of transformers has it."""
    adapter = adapter_of(kind, KNOWN, "")
    usual = SIZES.get(kind, {})
    assert configured(adapter, usual | given) == configured(adapter, usual | like)


LONG = {"rope_type": "longrope", "factor": 8.0, "short_factor": [1.0] * 64, "long_factor": [1.0] * 64}
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        *(
            ("llama", {"rope_parameters": {k: v for k, v in LLAMA3.items() if k != lacks}}, f"`{lacks}`")
            for lacks in ("factor", "low_freq_factor", "high_freq_factor")
        ),
        ("llama", {"rope_parameters": {"rope_type": "linear", "factor": None}}, "`factor` is missing"),
        ("llama", {"rope_parameters": {"rope_type": "yarn"}}, "`factor` is missing"),
        ("llama", {"rope_theta": 0}, "the base of rotary positions is not above 0"),
        ("qwen2", {"num_hidden_layers": 2, "layer_types": ["full_attention"]}, "has 1 words, for 2 layers"),
        ("qwen2", {"num_hidden_layers": 1, "layer_types": ["near"]}, "`layer_types` has \"near\"; the spec has"),
        ("gemma2", {"num_hidden_layers": 1, "layer_types": "full_attention"}, "where a list of words is needed"),
        ("qwen2", {"layer_types": []}, "`layer_types` has 0 words"),
        *(
            ("llama", {"rope_parameters": LLAMA3 | {key: value}}, f"`rope_parameters.{key}` is {said}")
            for key in ("factor", "low_freq_factor", "high_freq_factor")
            for value, said in ((True, "true, where a number is needed"), ("x", '"x", where a'), (0, "0): llama"))
        ),
        ("llama", {"rope_parameters": LLAMA3 | {"original_max_position_embeddings": None}}, "embeddings` is null, "),
        ("llama", {"max_position_embeddings": None}, "`max_position_embeddings` is null, where a whole number is"),
        ("llama", {"num_attention_heads": "4"}, '`num_attention_heads` is "4", where a whole number is needed'),
        ("llama", {"num_attention_heads": 4.0}, "`num_attention_heads` is 4.0, where a whole number is needed"),
        ("llama", {"rope_parameters": LONG | {"short_factor": [1.0, 2.0]}}, "`rope_parameters.short_factor` is [1.0, "),
        ("phi3", {"rope_parameters": LONG | {"short_factor": [1.0]}}, "`rope_parameters.short_factor` is [1.0]"),
        ("phi3", {"rope_parameters": LONG | {"rope_type": "su"}}, '`rope_parameters.rope_type` is "su"'),
        ("gemma2", {"query_pre_attn_scalar": None}, "`query_pre_attn_scalar` is null, where a whole number is needed"),
        ("gemma2", {"query_pre_attn_scalar": -4}, "(`query_pre_attn_scalar` is -4)"),
        ("gemma2", {"attn_logit_softcapping": 0.0}, "a cap is 0 (`attn_logit_softcapping` is 0.0"),
        ("gemma2", {"final_logit_softcapping": 0.0}, "`final_logit_softcapping` is 0.0)"),
        *(
            (kind, {"sliding_window": window} | more, f"`sliding_window` is {said}")
            for kind, more in (
                ("mistral", {}),
                ("mixtral", {}),
                ("gemma2", {}),
                ("qwen2", {"use_sliding_window": True, "max_window_layers": 1}),
                ("qwen3_moe", {"use_sliding_window": True}),
            )
            for window, said in ((0, "0"), (-3, "-3"))
        ),
        ("gemma2", {"sliding_window": None}, "`sliding_window` is null"),
        ("gemma3_text", {"final_logit_softcapping": 0.0}, "`final_logit_softcapping` is 0.0)"),
        *(("t5", {key: None}, f"`{key}` is null") for key in ("dense_act_fn", "is_gated_act", "scale_decoder_outputs")),
        ("qwen3_moe", {"num_local_experts": None}, "`num_local_experts` is null, where a whole number is needed"),
        *(
            (kind, {"out_indices": places}, "`out_indices` are no stages, or not in order")
            for kind in ("beit", "dinov2", "swin")
            for places in ([2, 1], [1, 1], [-1, 1], [13])
        ),
        *((kind, {"pad_token_id": 10**6}, "`pad_token_id` is no word") for kind in ("llama", "mixtral", "bert")),
        ("mpt", {"attn_config": {"qk_ln": None}}, "`attn_config.qk_ln` is null, and"),
        ("swin", {"out_features": ["stem"], "out_indices": [1]}, "are not the same stages"),
        ("qwen2", {"num_hidden_layers": 1, "layer_types": ["sliding_attention"]}, "`use_sliding_window` is false"),
    ],
)  # fmt: skip
def test_what_is_refused(kind: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(hub.HubError) as wrong:
        configured(adapter_of(kind, KNOWN, ""), given)
    assert said in str(wrong.value)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_padding_that_is_no_word(kind: str, tmp_path: Path) -> None:
    """Is refused where theirs has a table of words that knows its padding; elsewhere it changes nothing."""
    config = config_of(kind, random.Random(1))
    said = verdict(kind, config | {"pad_token_id": config.get("vocab_size", 0)}, tmp_path)
    assert said == "same" or (said.startswith("theirs: ") and "`pad_token_id`" in said)


@pytest.mark.parametrize("kind", KINDS)
def test_other_names_of_keys(kind: str) -> None:
    """Those of the configuration's class mean the same here, or are not known."""
    adapter, names = adapter_of(kind, KNOWN, ""), getattr(transformers, KINDS[kind].config).attribute_map
    assert {key: adapter.aliases.get(key, name) for key, name in names.items()} == names
    assert all(key in adapter.aliases or key not in adapter.keys for key in names)


SAMPLES: dict[Any, Any] = {
    int: 3, float: 0.5, bool: True, str: "x", dict: {}, list: [], list[int]: [1], list[str]: ["x"], list[float]: [0.5],
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_values(kind: str) -> None:
    """Each key has a kind that values of the types in the configuration's class are of; a table in it, too."""
    adapter = adapter_of(kind, KNOWN, "")
    types = {key: one for base in reversed(getattr(transformers, KINDS[kind].config).__mro__)
             for key, one in getattr(base, "__annotations__", {}).items()}  # fmt: skip
    for key in adapter.keys - adapter.harmless - set(adapter.aliases) - set(adapter.only):
        assert adapter.kind(key) != ANY, key
        for one in getattr(types.get(key), "__args__", [types.get(key)]):
            if one in SAMPLES:
                assert is_a(SAMPLES[one], adapter.kind(key)), (key, one, adapter.kind(key))
    for table, names in adapter.inside.items():
        for name in {*names} - adapter.harmless:
            assert f"{table}.{name}" in adapter.only or adapter.kind(name, top=False) != ANY, (table, name)
