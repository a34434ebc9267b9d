"""Values of a wrong kind in what is read of a user's: each is one clear line, or is read; none ends in a traceback."""

from __future__ import annotations

import copy
import json
import random
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attnc import hub
from attnc.hub.adapters import adapter_of, adapters, unread
from attnc.hub.configuration import Configured, configured
from attnc.hub.generation import _HARMLESS, _HONOURED, _NEUTRAL, options_of
from attnc.hub.importing import specified
from attnc.hub.problem import as_json
from attnc.weights import WeightsError

from .kinds import KINDS

transformers = pytest.importorskip("transformers", reason='needs transformers: pip install ".[zoo]"')
KNOWN = adapters()
WRONG: tuple[Any, ...] = (
    None, "x", "", "\x1b[31m\nred", [], [1, 2], [None], [["x"]], {}, {"a": 1}, float("nan"), float("inf"), -1, -0.5, 0,
    0.5, 3, 10**30, 10**400, 1e300, True, False,
)  # fmt: skip


def told(kind: str, draw: random.Random) -> dict[str, Any]:
    """A configuration of the kind as a file has it."""
    options = copy.deepcopy(KINDS[kind].options(draw))
    found = getattr(transformers, KINDS[kind].config)(**options).to_dict()
    return json.loads(json.dumps(found | {"architectures": [KINDS[kind].reference]}))


def places(table: dict[str, Any], *above: str) -> Iterator[tuple[str, ...]]:
    """The paths of all keys, of nested tables too."""
    for key, value in table.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from places(value, *above, key)


def changed(config: dict[str, Any], place: tuple[str, ...], value: Any) -> dict[str, Any]:
    found = copy.deepcopy(config)
    table = found
    for key in place[:-1]:
        table = table[key]
    table[place[-1]] = value
    return found


def read(kind: str, config: dict[str, Any], known: set[str], draft: Path, most: int) -> str:
    """What is said of it; nothing where it is read. known: what was made of others; of `most` the spec is loaded."""
    adapter = adapter_of(kind, KNOWN, "")
    try:
        made = configured(adapter, config)
        key = repr(Configured(made.model, dict(made.sizes), dict(made.bounds)))
        if key not in known and len(known) < most:
            known.add(key)
            specified(adapter, made, "# a test", "config.json", draft)
    except hub.HubError as wrong:
        return str(wrong)
    return ""


def lines(kind: str, config: dict[str, Any], wrong: list[tuple[tuple[str, ...], Any]], draft: Path, most: int) -> None:
    known: set[str] = set()
    for place, value in wrong:
        said = read(kind, changed(config, place, value), known, draft, most)
        assert said.isprintable() and len(said) < 1000, (place, value, said)
        assert not said or "config.json" in said, (place, value, said)


@pytest.mark.parametrize("kind", KINDS)
def test_each_key_once(kind: str, tmp_path: Path) -> None:
    draw = random.Random(zlib.crc32(kind.encode()))
    config = told(kind, draw)
    some = draw.sample([*places(config)], 12)
    lines(kind, config, [(place, draw.choice(WRONG)) for place in some], tmp_path, 0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_each_key_and_each_value(kind: str, tmp_path: Path) -> None:
    draw = random.Random(zlib.crc32(kind.encode()))
    config = told(kind, draw)
    wrong = [(place, value) for place in places(config) for value in WRONG]
    lines(kind, config, draw.sample(wrong, len(wrong)), tmp_path, 40)


@pytest.mark.parametrize(
    ("kind", "key", "value", "said"),
    [
        ("llama", "architectures", "LlamaForCausalLM", '`architectures` is "LlamaForCausalLM", where a list of names'),
        ("llama", "architectures", [3], "`architectures` is [3], where a list of names is needed"),
        ("llama", "rms_norm_eps", float("nan"), '`eps` would be NaN, made of "rms_norm_eps": a number is needed'),
        ("llama", "rope_parameters", "x", '`rope_parameters` is "x", where a table is needed'),
        ("llama", "a\x1b[31m\n", 1, "does not know `a\\x1b[31m\\n`"),
    ],
)  # fmt: skip
def test_what_is_said(kind: str, key: str, value: Any, said: str) -> None:
    with pytest.raises(hub.HubError) as wrong:
        configured(adapter_of(kind, KNOWN, ""), told(kind, random.Random(0)) | {key: value})
    assert said in str(wrong.value)


def test_a_part_that_is_odd(tmp_path: Path) -> None:
    """Rotary positions turn pairs."""
    config = told("phi3", random.Random(0)) | {"hidden_size": 36, "num_attention_heads": 2, "num_key_value_heads": 1}
    config |= {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}}
    assert "pairs" in read("phi3", config, set(), tmp_path, 1)


@pytest.mark.parametrize("kind", unread())
def test_kinds_that_no_adapter_reads(kind: str) -> None:
    """For the reason that docs/models.md has."""
    with pytest.raises(hub.HubError, match=f"no adapter reads `{kind}`: ") as wrong:
        adapter_of(kind, KNOWN, "config.json")
    assert "](" not in str(wrong.value)
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    assert f"| `{kind}` | {unread()[kind]} |" in page


def test_generation() -> None:
    for key in ("warp\x1b", *_HARMLESS, *_HONOURED, *_NEUTRAL):
        for value in WRONG:
            try:
                options_of({key: value}, "g")
            except hub.HubError as wrong:
                assert str(wrong).startswith("g: ") and str(wrong).isprintable()


def test_what_import_wrote(tmp_path: Path) -> None:
    """attnc.json, an index: changed by hand."""
    pytest.importorskip("torch")
    config = transformers.LlamaConfig(**KINDS["llama"].options(random.Random(0)))
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / "theirs", max_shard_size="20KB")
    hub.import_folder(tmp_path / "theirs", tmp_path / "ours")
    draw = random.Random(0)
    for name in ("attnc.json", "weights.safetensors.index.json"):
        file = tmp_path / "ours" / name
        before = json.loads(file.read_text())
        for place in draw.sample([*places(before)], 8):
            for value in draw.sample(WRONG, 1):
                file.write_text(json.dumps(changed(before, place, value)))
                try:
                    hub.open(tmp_path / "ours")
                except (hub.HubError, WeightsError) as wrong:
                    assert str(wrong).isprintable() and str(tmp_path / "ours") in str(wrong)
                except OSError:
                    assert isinstance(value, str)  # the name of a file that is not there
        file.write_text(json.dumps(before))


def test_as_much_as_a_line_bears() -> None:
    assert as_json([1] * 10_000).endswith("1, ...") and len(as_json("x" * 10_000)) < 200
