"""Write docs/models.md: which published models `attnc import` reads, what their tests found, their pictures and cost.

    .venv/bin/python docs/models.py [RESULTS.xml ...]

The differences are those of a run of tests/hub with the slow ones,
`pytest -n 2 -m "" tests/hub --junitxml RESULTS.xml`, which is done first where none is named. Of several files the
later ones stand for the tests that are in both: a run of those that were mended.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import transformers

import attnc
from attnc.hub.adapter import Adapter
from attnc.hub.adapters import adapters, unread
from attnc.hub.configuration import configured

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures" / "models"
sys.path.insert(0, str(ROOT))

from tests.hub.kinds import KINDS  # noqa: E402

LENGTH = 1024  # items of text, or what the model has at most
LARGE = 60_000  # bytes of a picture; where blocks drawn from the inside take more, they are boxes
GIVEN: dict[str, dict[str, Any]] = {"deepseek_v2": {"num_experts_per_tok": 6}}  # the class says none: that of V2 Lite
INSIDE = "llama"  # drawn from the inside, too
HEAD = """\
# Which published models

<!-- Written by docs/models.py: do not edit. -->
`attnc import` reads {counted} ([how](import.md)).
Is yours among them? Its config.json says its `model_type`. Of the others: [what is not covered](#what-is-not-covered).

## What their tests found

{configurations} random small configurations of each are compared with Hugging Face transformers: the outputs, all
weights both ways, and the items that are generated. Weights are redrawn, lengths go past every window and original
length, and there is padding on either side. Figures are the largest differences, in standard deviations of the output,
in float32; what theirs rounds itself is allowed for where the weights enlarge it. `tests/hub` does it, and its run
wrote this page.

| `model_type` | spec | options drawn | PyTorch | NumPy | generates the same items |
|---|---|---|---|---|---|
"""
SIZES = """
## What they cost, and their lines

At the sizes that the configuration class has when nothing is said. Multiply-adds are those of a forward pass of
{length:,} items, or as many as the model takes, and of one picture; all experts count, where the picked ones are
computed. Lines are those of the spec and of the map with the files that they use, and of the adapter's own file.

| `model_type` | parameters | multiply-adds | spec | adapter | map |
|---|---|---|---|---|---|
"""
DRAWN = """
## Their pictures

At the same sizes, by `attnc draw` ([how to read them](diagrams.md)). Models that are drawn alike share one: they differ
in sizes, activations, kinds of positions, or in what is inside a box. `attnc draw DIR/SPEC --depth 1` opens the boxes,
as here those of `{inside}`.

![{inside} from the inside](pictures/models/{inside}.inside.svg)
"""
REST = """
## What is not covered

No adapter, and why:

| `model_type` | |
|---|---|
{reasons}

Of models that are read, these are refused with a message:

- positions that hang on the length of the text (`dynamic`, `longrope`) beyond the length of the training;
- weights that are quantised or pickled;
- any key of config.json that the adapter does not know.

Code in a folder is not run. Specs have no dropout: imported models are for inference, or are trained without it. What
prepares pictures and sound (`preprocessor_config.json`) is not ours: in Python, give the model what it makes.
"""


def results(files: Iterable[Path]) -> dict[str, list[dict[str, str]]]:
    """By kind, what each of its tests has told. Raises AssertionError where a test of them failed."""
    cases: dict[tuple[str | None, str | None], tuple[bool, dict[str, str]]] = {}
    for file in files:
        for case in ElementTree.parse(file).iter("testcase"):
            told = {str(one.get("name")): str(one.get("value")) for one in case.iter("property")}
            passed = case.find("failure") is None and case.find("error") is None
            cases[case.get("classname"), case.get("name")] = passed, told
    found: dict[str, list[dict[str, str]]] = {}
    for (_, name), (passed, told) in cases.items():
        assert passed or "test_numbers" not in str(name), name
        if "kind" in told:
            found.setdefault(told["kind"], []).append(told)
    return found


def options(kind: str) -> str:
    """The keys of config.json that differ between draws, other than sizes."""
    drawn = [KINDS[kind].options(random.Random(seed)) for seed in range(40)]
    keys = sorted({key for one in drawn for key in one if len({str(other.get(key)) for other in drawn}) > 1})
    plain = [key for key in keys if not all(isinstance(one.get(key), int) and one.get(key, 0) > 1 for one in drawn)]
    return ", ".join(f"`{key}`" for key in plain)


def usual(adapter: Adapter, kind: str) -> attnc.Model:
    """The model at the sizes of the class's own configuration."""
    config = getattr(transformers, KINDS[kind].config)(**GIVEN.get(kind, {})).to_dict()
    made = configured(adapter, {**config, "architectures": [KINDS[kind].reference]})
    return attnc.load(adapter.spec, sizes=made.sizes).model(made.model)


def costs(model: attnc.Model, batched: bool) -> str:
    """Parameters and multiply-adds, of all experts. batched: whether it has no axis of examples."""
    widths: dict[str, Any] = {}
    for entry in model.graph.inputs:
        for place, axis in enumerate(entry.value.type.axes):
            if axis.extent is None:
                widths[axis.name] = min(LENGTH, axis.bound or LENGTH) if batched or place else 1
    cost = model.cost(**widths)
    return f"{int(cost.parameters.value):,} | {int(cost.macs.value) / 1e9:,.1f}e9"


def with_used(file: Path) -> set[Path]:
    """A spec or a map, and the files beside it that it uses."""
    found = {file}
    for name in re.findall(r"^use ([\w.]+?)(?::.*)?$", file.read_text(encoding="utf-8"), re.MULTILINE):
        beside = file.parent / (name if name.endswith(".map") else f"{name.replace('.', '/')}{file.suffix}")
        if beside.is_file():
            found |= with_used(beside)
    return found


def with_included(file: Path) -> set[Path]:
    """An adapter, and the files that it includes."""
    found = {file}
    for name in tomllib.loads(file.read_text(encoding="utf-8")).get("include", []):
        beside = file.parent / name
        found |= with_included(beside if beside.is_file() else ROOT / "examples" / "zoo" / name)
    return found


def lines(files: Iterable[Path]) -> int:
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def picture(model: attnc.Model, depth: int | None = None) -> str:
    """Its SVG without what a page does not show: names of parts, and what a pointer over them would be told."""
    svg = model.draw(title="", depth=depth).svg()
    if depth is None and len(svg) > LARGE:
        svg = model.draw(title="", depth=0).svg()
    svg = re.sub(r"<!--.*?-->\n|<title>.*?</title>\n", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xlink:title="[^"]*"| id="[^"]*"| class="[^"]*"', "", svg)
    return re.sub(r"<g><a>\n(.*?)</a>\n</g>\n", r"\1", svg, flags=re.DOTALL)


def pictures(models: dict[str, attnc.Model], known: dict[str, Adapter]) -> Iterator[str]:
    """Write them, and say of each which models it is of."""
    PICTURES.mkdir(exist_ok=True)
    for old in PICTURES.glob("*.svg"):
        old.unlink()
    (PICTURES / f"{INSIDE}.inside.svg").write_text(picture(models[INSIDE], depth=1), encoding="utf-8")
    alike: dict[tuple[Path, str], list[str]] = {}
    svgs = {kind: picture(model) for kind, model in models.items()}
    for kind, svg in svgs.items():
        shape = re.sub(r"×\d+(?![\d.])|\d+…\d+", "", svg)  # but for how often layers repeat
        alike.setdefault((known[kind].spec, shape), []).append(kind)
    before = None
    for (spec, _), kinds in alike.items():
        if spec != before:
            yield f"\n### {spec.name}\n"
        before = spec
        shown = INSIDE if INSIDE in kinds else kinds[0]
        (PICTURES / f"{shown}.svg").write_text(svgs[shown], encoding="utf-8")
        yield f"\n{', '.join(f'`{kind}`' for kind in kinds)}\n\n![{shown}](pictures/models/{shown}.svg)\n"


def page(found: dict[str, list[dict[str, str]]]) -> str:
    known = {kind: adapter for adapter in adapters() for kind in adapter.model_types}
    kinds = sorted(KINDS, key=lambda kind: (str(known[kind].spec), kind))
    specs = {file for kind in kinds for file in with_used(known[kind].spec)}
    own = {file for kind in kinds for file in with_included(known[kind].path)}
    maps = {file for kind in kinds for file in with_used(known[kind].map)}
    counted = (
        f"{len(kinds)} kinds of model by {len({known[kind].spec for kind in kinds})} specs: "
        f"{lines(specs):,} lines, with {lines(own):,} of\nadapters and {lines(maps):,} of maps"
    )
    models = {kind: usual(known[kind], kind) for kind in kinds}
    rows, sizes = [], []
    (configurations,) = {len(found[kind]) for kind in kinds}
    for kind in kinds:
        told, adapter = found[kind], known[kind]
        spec = adapter.spec.relative_to(ROOT).as_posix()
        rows.append(
            f"| {kind} | [{adapter.spec.stem}](../{spec}) | {options(kind)} | "
            f"{max(float(one['torch']) for one in told):.1e} | {max(float(one['numpy']) for one in told):.1e} | "
            f"{'yes' if any('generated' in one for one in told) else ''} |"
        )
        sizes.append(
            f"| {kind} | {costs(models[kind], adapter.batched)} | {lines(with_used(adapter.spec))} | "
            f"{lines([adapter.path])} | {lines(with_used(adapter.map))} |"
        )
    return "".join(
        (
            HEAD.format(counted=counted, configurations=configurations), "\n".join(rows), "\n",
            SIZES.format(length=LENGTH), "\n".join(sizes), "\n",
            DRAWN.format(inside=INSIDE), *pictures(models, known),
            REST.format(reasons="\n".join(f"| `{kind}` | {why} |" for kind, why in unread().items())),
        )
    )  # fmt: skip


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(name) for name in sys.argv[1:]]
        if not files:
            files = [Path(folder) / "results.xml"]
            command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "", "tests/hub"]
            subprocess.run([*command, "--junitxml", str(files[0])], cwd=ROOT, check=True)
        (ROOT / "docs" / "models.md").write_text(page(results(files)), encoding="utf-8")


if __name__ == "__main__":
    main()
