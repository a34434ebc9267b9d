"""What transformers reads of a configuration is read alike, or refused by name: keys that are dropped, null, of another
kind, old and new names side by side, lists of another length.

Each draw changes one thing in a configuration that is right. Where transformers builds a model of it, ours has the same
outputs with the same weights, or says what it has no match for; that may be a tenth of the draws at most.
"""

from __future__ import annotations

import copy
import json
import random
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
from attnc.weights import WeightsError, convert

from .kinds import KINDS

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", reason='needs transformers: pip install ".[zoo]"')

pytestmark = pytest.mark.filterwarnings("ignore")  # whatever transformers warns of
transformers.utils.logging.set_verbosity_error()
KNOWN = adapters()
LENGTH = 12
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
    place = draw.choice([*places(config)])
    table = found
    for key in place[:-1]:
        table = table[key]
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
    return float((found - wanted).abs().max() / wanted.std()) if found.shape == wanted.shape else float("inf")


def computes(theirs: Any) -> bool:
    """Whether theirs computes numbers; of other inputs than text it is believed to."""
    if theirs.main_input_name != "input_ids":
        return True
    ids = torch.tensor([[1, 2, 3, 1, 2, 3]])
    given = {"input_ids": ids} | ({"decoder_input_ids": ids} if theirs.config.is_encoder_decoder else {})
    try:
        with torch.no_grad():
            return bool(next(iter(theirs(**given, return_dict=True).values())).isfinite().all())
    except Exception:  # whatever their code says
        return False


def verdict(kind: str, config: dict[str, Any], place: Path) -> str:
    """theirs: they have none. same, or what is said in refusal. Anything else is wrong."""
    adapter = adapter_of(kind, KNOWN, "")
    theirs = theirs_of(config, place)
    if theirs is None:
        return "theirs"
    try:
        made = configured(adapter, config)
        distance = apart(theirs, adapter, made, config, place)
    except (hub.HubError, WeightsError) as wrong:
        return f"refused: {wrong}" if computes(theirs) else "theirs"
    return "theirs" if distance is None else "same" if distance < SAME else f"differs by {distance:.3g}"


def draws(kind: str, count: int, start: int, place: Path) -> Counter[str]:
    """How many of each verdict. Raises AssertionError for one that is silent and otherwise."""
    found: Counter[str] = Counter()
    for seed in range(start, start + count):
        draw = random.Random(seed + zlib.crc32(kind.encode()))
        what, config = changed(config_of(kind, draw), kind, draw)
        said = verdict(kind, config, place)
        assert said in ("theirs", "same") or said.startswith("refused: "), (kind, seed, what, said)
        found[said.partition(":")[0]] += 1
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


SIZES: dict[str, dict[str, Any]] = {"llama": {"max_position_embeddings": 32}, "gpt2": {}}
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
    ],
)  # fmt: skip
def test_of_two_names_one_counts(kind: str, given: dict[str, Any], like: dict[str, Any]) -> None:
    """As the configuration of transformers has it."""
    adapter = adapter_of(kind, KNOWN, "")
    assert configured(adapter, SIZES[kind] | given) == configured(adapter, SIZES[kind] | like)


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
    ],
)  # fmt: skip
def test_what_is_refused(kind: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(hub.HubError) as wrong:
        configured(adapter_of(kind, KNOWN, ""), given)
    assert said in str(wrong.value)


@pytest.mark.parametrize("kind", KINDS)
def test_other_names_of_keys(kind: str) -> None:
    """Those of the configuration's class mean the same here, or are not known."""
    adapter, names = adapter_of(kind, KNOWN, ""), getattr(transformers, KINDS[kind].config).attribute_map
    assert {key: adapter.aliases.get(key, name) for key, name in names.items()} == names
    assert all(key in adapter.aliases or key not in adapter.keys for key in names)
