"""Heads taken out of the dates model: what `heads.py` removes, and what it writes."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))  # as the script does for itself

import training  # noqa: E402
from dates import data, heads, spec, train  # noqa: E402


@pytest.fixture(scope="module")
def dates():
    found = data.load()
    return replace(found, held_out=found.held_out[:8])


def test_a_head_without_its_columns_passes_nothing_on(dates):
    """The model without a head is the model whose values `V` of that head are zero."""
    model = spec.load_spec(dates).model("translate")
    found = heads.sites(model)
    assert [site.path for site in found] == [
        *(f"encode.layers.{n}.self" for n in (0, 1)),
        *(f"decode.layers.{n}.{name}" for n in (0, 1) for name in ("self", "cross")),
    ]
    module = model.torch(seed=0).eval()
    predict = train.from_torch(module)
    batch = dates.encode(dates.held_out)
    inputs = (batch["source_ids"], batch["target_ids"], batch["real"])
    before = predict(*inputs)
    site = found[3]
    with heads.without(module, site, [1, 2]):
        removed = predict(*inputs)
    np.testing.assert_array_equal(predict(*inputs), before)
    assert not np.allclose(removed, before, atol=1e-4)
    with torch.no_grad():
        module.get_parameter(f"{site.path}.V.weight").unflatten(0, (4, 16))[1:3] = 0.0
    np.testing.assert_allclose(predict(*inputs), removed, atol=1e-5)


def test_the_script_writes_a_table_and_json(dates, tmp_path, capsys):
    module, _ = train.fit(spec.load_spec(dates), dates, steps=2, seed=0)
    training.save_weights(tmp_path / "weights.safetensors", module)
    assert heads.main(["--out", str(tmp_path), "--dates", "4"]) == 0
    numbers = json.loads((tmp_path / "heads.json").read_text())
    assert numbers["dates"] == 4
    assert numbers["exact_match"] == 0  # two steps
    assert len(numbers["without"]) == 6 * (4 + 4 + 1)
    assert numbers["without"][4] == {"attention": "encode.layers.0.self", "removed": [1, 2, 3], "exact_match": 0.0}
    assert re.search(r"encode.layers.0.self( +0.0%){9}\n", capsys.readouterr().out)


def test_without_weights_it_says_who_writes_them(tmp_path, capsys):
    assert heads.main(["--out", str(tmp_path)]) == 2
    assert "run.py writes them" in capsys.readouterr().err
