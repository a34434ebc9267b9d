"""The digits example: it learns, and an interrupted run goes on to the same result."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import attnc

pytest.importorskip("sklearn", reason='the digits example needs scikit-learn: pip install ".[demo]"')
torch = pytest.importorskip("torch")
EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

import training  # noqa: E402

from digits import run as digits  # noqa: E402  # isort: skip

SMALL = {"layers": 1, "model": 8, "heads": 2, "inner": 8}


def module(seed: int = 0) -> torch.nn.Module:
    torch.manual_seed(seed)  # for dropout
    return attnc.load(digits.SPEC, sizes=SMALL).model("loss").torch(seed=seed)


def test_every_digit_has_its_share_in_both_parts() -> None:
    seen, unseen = digits.load()
    assert len(seen.labels) + len(unseen.labels) == 1797
    for digit in range(10):
        assert (unseen.labels == digit).mean() == pytest.approx((seen.labels == digit).mean(), abs=0.01)
    known = {image.tobytes() + bytes([label]) for image, label in zip(seen.images, seen.labels, strict=True)}
    repeated = sum(
        image.tobytes() + bytes([label]) in known for image, label in zip(unseen.images, unseen.labels, strict=True)
    )
    assert repeated == 0


def test_it_learns() -> None:
    seen, _ = digits.load()
    early = training.train(module(), digits.batches(seen, seed=0), steps=20, rate=1e-2)
    late = training.train(module(), digits.batches(seen, seed=0), steps=300, rate=1e-2)
    assert late.loss < early.loss - 0.1


@pytest.mark.parametrize("stop", [1, 7, 29])
def test_an_interrupted_run_goes_on_to_the_same_result(stop: int, tmp_path: Path) -> None:
    seen, _ = digits.load()
    path = tmp_path / "checkpoint.safetensors"

    def interrupted() -> Iterator[Mapping[str, np.ndarray]]:
        yield from islice(digits.batches(seen, seed=3), stop)
        raise KeyboardInterrupt

    whole = module()
    plain = training.train(whole, digits.batches(seen, seed=3), steps=30)
    broken = module()
    with pytest.raises(KeyboardInterrupt):
        training.train(broken, interrupted(), steps=30, checkpoint=path)
    assert path.exists()
    again = module(seed=5)  # nothing of the first run is left but the file
    resumed = training.train(again, digits.batches(seen, seed=3), steps=30, checkpoint=path)
    assert resumed.loss == plain.loss
    for name, weight in whole.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name]), name
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\xff" * 100])
def test_a_file_that_is_no_checkpoint(content: bytes, tmp_path: Path) -> None:
    seen, _ = digits.load()
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is no checkpoint"):
        training.train(module(), digits.batches(seen, seed=0), steps=3, checkpoint=path)


def test_a_checkpoint_of_another_run(tmp_path: Path) -> None:
    seen, _ = digits.load()
    path = tmp_path / "checkpoint.safetensors"

    def interrupted() -> Iterator[Mapping[str, np.ndarray]]:
        yield from islice(digits.batches(seen, seed=3), 2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        training.train(module(), interrupted(), steps=30, checkpoint=path)
    with pytest.raises(ValueError, match="another run"):
        training.train(module(), digits.batches(seen, seed=3), steps=40, checkpoint=path)
