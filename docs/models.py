"""Write docs/models.md: which published models `attnc import` reads, and what their tests found.

    .venv/bin/python docs/models.py [RESULTS.xml]

The differences are those of a run of tests/hub with the slow ones,
`pytest -n 2 -m "" tests/hub --junitxml RESULTS.xml`, which is done first where none is named.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import transformers

import attnc
from attnc.hub.adapter import Adapter
from attnc.hub.adapters import adapters
from attnc.hub.configuration import configured

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.hub.kinds import KINDS  # noqa: E402

LENGTH = 1024  # items of text, or what the model has at most
HEAD = """\
# Which published models

<!-- Written by docs/models.py: do not edit. -->
`attnc import` reads these ([how](import.md)). Each is compared with Hugging Face transformers on random small
configurations, with all weights redrawn, past every window and original length, and with padding on either side: the
outputs, all weights both ways, and the items that are generated. `tests/hub` does it, and this page is written from its
run. Differences are the largest, in standard deviations of the output, in float32; what theirs rounds itself is allowed
for where the weights enlarge it.

{counted}

| `model_type` | spec | configurations | options drawn | PyTorch | NumPy | generates |
|---|---|---|---|---|---|---|
"""
SIZES = """
What they cost at the sizes that their configuration class has when nothing is said: parameters, and the multiply-adds
of a forward pass of {length:,} items, or as many as the model takes; pictures are of its own size.

| `model_type` | parameters | multiply-adds |
|---|---|---|
"""


def results(file: Path) -> dict[str, list[dict[str, str]]]:
    """By kind, what each of its tests has told."""
    found: dict[str, list[dict[str, str]]] = {}
    for case in ElementTree.parse(file).iter("testcase"):
        told = {str(one.get("name")): str(one.get("value")) for one in case.iter("property")}
        if "kind" in told:
            assert case.find("failure") is None and case.find("error") is None, case.get("name")
            found.setdefault(told["kind"], []).append(told)
    return found


def options(kind: str) -> str:
    """The keys of config.json that differ between draws, other than sizes."""
    drawn = [KINDS[kind].options(random.Random(seed)) for seed in range(40)]
    keys = sorted({key for one in drawn for key in one if len({str(other.get(key)) for other in drawn}) > 1})
    plain = [key for key in keys if not all(isinstance(one.get(key), int) and one.get(key, 0) > 1 for one in drawn)]
    return ", ".join(f"`{key}`" for key in plain)


def sized(adapter: Adapter, kind: str) -> tuple[int, int]:
    """Parameters and multiply-adds of the class's own configuration."""
    config = getattr(transformers, KINDS[kind].config)().to_dict() | {"architectures": [KINDS[kind].reference]}
    made = configured(adapter, config)
    model = attnc.load(adapter.spec, sizes=made.sizes).model(made.model)
    widths: dict[str, Any] = {
        axis.name: min(LENGTH, axis.bound or LENGTH)
        for entry in model.graph.inputs
        for axis in entry.value.type.axes
        if axis.extent is None
    }
    cost = model.cost(**widths)
    return int(cost.parameters.value), int(cost.macs.value)


def page(found: dict[str, list[dict[str, str]]]) -> str:
    known = {kind: adapter for adapter in adapters() for kind in adapter.model_types}
    specs = {adapter.spec for adapter in known.values()}
    lines = sum(len(spec.read_text(encoding="utf-8").splitlines()) for spec in specs)
    counted = f"{len(known)} kinds of model by {len(specs)} specs of {lines} lines in all."
    rows, sizes = [], []
    for kind in sorted(KINDS, key=lambda kind: (str(known[kind].spec), kind)):
        told, spec = found[kind], known[kind].spec.relative_to(ROOT).as_posix()
        steps = sum("generated" in one for one in told)
        rows.append(
            f"| {kind} | [{known[kind].spec.stem}](../{spec}) | {len(told)} | {options(kind)} | "
            f"{max(float(one['torch']) for one in told):.1e} | {max(float(one['numpy']) for one in told):.1e} | "
            f"{f'{steps} of them, the same items' if steps else ''} |"
        )
        parameters, macs = sized(known[kind], kind)
        sizes.append(f"| {kind} | {parameters:,} | {macs / 1e9:,.1f}e9 |")
    head = HEAD.format(counted=counted)
    return head + "\n".join(rows) + "\n" + SIZES.format(length=LENGTH) + "\n".join(sizes) + "\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(sys.argv[1]) if sys.argv[1:] else Path(folder) / "results.xml"
        if not sys.argv[1:]:
            command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "", "tests/hub", "--junitxml", str(file)]
            subprocess.run(command, cwd=ROOT, check=True)
        (ROOT / "docs" / "models.md").write_text(page(results(file)), encoding="utf-8")


if __name__ == "__main__":
    main()
