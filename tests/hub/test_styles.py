"""`attnc adopt` of random modules in the styles that people write: equal, or refused in one line, nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")

from attnc import hub  # noqa: E402

from .styles.draw import asked, drawn, turns  # noqa: E402
from .styles.drawing import HIDDEN  # noqa: E402
from .styles.judge import LIMIT, Judged, compared, judged  # noqa: E402
from .styles.norms import BARE, KEPT, LAYERS, RMS  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # whatever PyTorch warns of

FEW, MANY, SHARD = 3, 120, 10  # modules of `make test`, of the first of `--seeds`, and of one test of those


def look(seed: int, folder: Path) -> Judged:
    style = drawn(seed)[1]
    place, made = f"tests.hub.styles.draw:seed_{seed}", lambda: drawn(seed)[0]
    return judged(place, made, turns(style), folder / f"seed{seed}", asked(seed, style))


def holds(seeds: range, folder: Path) -> None:
    found = {seed: look(seed, folder) for seed in seeds}
    wrong = [
        f"{drawn(seed)[1]}\n  {one.verdict}: {one.said}"
        for seed, one in found.items()
        if one.verdict in ("unequal", "failed")
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("seed", range(FEW))
def test_some_modules(seed: int, tmp_path: Path) -> None:
    holds(range(seed, seed + 1), tmp_path)


PLAIN = {"odd": "", "kind": "whole", "given": "ids", "maps": "apart", "items_first": False, "places": "learned",
         "rotary": "none", "softmax": "plain", "qk_norm": "none", "pool": None, "tail": "plain", "form": "pre",
         "act": "gelu", "scaled": "none", "head": "own", "window": None, "first_norm": False}  # fmt: skip
PLAINS = ["encoder layer", "encoder", "both", "decoder layer", "decoder", "attention"]
EVERY = [
    *({"hidden": how} for how in HIDDEN),
    *({"norm": kind} for kind in (*LAYERS, *RMS, *BARE)),
    *({"norm": "float rms", "kept": kept} for kept in KEPT),
    *({"tail": tail} for tail in ("tuple", "dict", "data", "named", "last item", "probabilities")),
    *({"pool": pool} for pool in ("mean", "first", "last")),
    *({"form": form} for form in ("post", "beside", "beside, two norms", "sandwich")),
]


def is_equal(fixed: dict[str, object], seed: int, folder: Path, patch: pytest.MonkeyPatch) -> None:
    published = ModuleType("published")
    vars(published)["made"] = lambda: drawn(seed, **fixed)[0]
    patch.setitem(sys.modules, "published", published)
    style = drawn(seed, **fixed)[1]
    found = judged("published:made", lambda: drawn(seed, **fixed)[0], turns(style), folder / "mine")
    assert found.verdict == "equal", f"{style}\n  {found.verdict}: {found.said}"


@pytest.mark.parametrize("hidden", HIDDEN)
def test_state_out_of_sight(hidden: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that has closed over a part reads the weights of the part, whatever is done with them meanwhile."""
    is_equal({**PLAIN, "layers": 1, "hidden": hidden}, HIDDEN.index(hidden), tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("fixed", EVERY, ids=str)
def test_each_kind(fixed: dict[str, object], seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One choice after the other, all else drawn or plain: epsilons of 1e-12 to 1e-3 in all."""
    is_equal({**PLAIN, **fixed}, 50 + seed, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("items_first", [False, True])
@pytest.mark.parametrize("plain", PLAINS)
def test_the_layers_of_pytorch(
    plain: str, items_first: bool, norm_first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone: vectors in, vectors out; attention of queries, keys and values of three depths, too."""
    sizes = {"kdim": 10, "vdim": 14} if norm_first else {}
    fixed = {"kind": "plain", "plain": plain, "items_first": items_first, "norm_first": norm_first, "sizes": sizes}
    is_equal(fixed, 1 + 2 * norm_first + items_first, tmp_path, monkeypatch)


@pytest.mark.parametrize("text", ["0.5 * dot[key]", "dot[key]"])
def test_the_judge_sees_what_differs(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published = ModuleType("published")
    vars(published)["made"] = lambda: drawn(1, **PLAIN)[0]
    monkeypatch.setitem(sys.modules, "published", published)
    hub.adopt("published:made", tmp_path / "mine")
    spec = tmp_path / "mine" / "whole.attn"
    spec.write_text(spec.read_text().replace("(dot[key]", f"({text}"))
    apart = compared(drawn(1, **PLAIN)[0], tmp_path / "mine", False, 9)
    assert (apart > LIMIT) == (text != "dot[key]")


@pytest.mark.slow
def test_memory() -> None:
    """At most three times the weights, of a module of 40 million parameters."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-m", "tests.hub.adopting_memory"], capture_output=True,
                          text=True, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})  # fmt: skip
    assert float(done.stdout.split()[0]) < 3, done.stdout


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "shard" in metafunc.fixturenames:
        first, last = (int(end) for end in metafunc.config.getoption("--seeds").split(":"))
        metafunc.parametrize("shard", range(first, min(last, first + MANY), SHARD))


@pytest.mark.slow
def test_many_modules(shard: int, tmp_path: Path) -> None:
    holds(range(shard, shard + SHARD), tmp_path)
