"""`attnc import`: from a published model's folder to one of ours, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..dsl.base.escapes import escaped
from ..dsl.errors import AttnError
from ..spec import Model, load
from ..version import __version__
from ..weights.convert import convert_shards
from ..weights.files import largest_file, save, save_parts
from ..weights.files import load as load_weights
from ..weights.maps import Map, ignored
from .adapter import Adapter
from .adapters import adapter_of, adapters
from .configuration import Configured, configured
from .folder import CONFIG, GENERATION, TOKENIZER, HubFolder, whole_folder
from .problem import HubError
from .written import written

WEIGHTS, INDEX, ABOUT = "weights.safetensors", "weights.safetensors.index.json", "attnc.json"
UNUSED = "unused.safetensors"  # what the map ignores, by its names there: `attnc export` gives it back
LENGTH = 1024  # of the widths whose cost is told


def import_folder(source: str | Path, target: str | Path, folders: Sequence[str | Path] = ()) -> Model:
    """Read a published model's folder and write one of ours to `target`, which must not be there yet.

    folders: of the user's own adapters, before those that come with attnc.

    Raises HubError for what does not fit, WeightsError for weights that are missing, unexpected, of another
    shape or no real numbers. No more of the weights is in memory at once than the largest of their
    files has.
    """
    folder, target = HubFolder.read(Path(source)), Path(target)
    adapter = adapter_of(folder.model_type, adapters(folders), str(folder.path / CONFIG))
    with whole_folder(target) as draft:
        model = _write(folder, adapter, draft, target.name)
    return model


def _write(folder: HubFolder, adapter: Adapter, draft: Path, name: str) -> Model:
    source = escaped(folder.path.name)
    head = f"# Imported by attnc {__version__} from {source} ({folder.model_type}): its sizes stand below."
    told = str(folder.path / CONFIG)
    made = configured(adapter, folder.config, told)
    weights = folder.weights()
    texts, model = specified(adapter, made, head, told, draft)
    _convert(weights, adapter, model, draft)
    for file in (CONFIG, GENERATION, *TOKENIZER):
        if (folder.path / file).is_file():
            shutil.copyfile(folder.path / file, draft / file)
    _copy_map(adapter.map, draft)
    about = {
        "attnc": __version__,
        "spec": adapter.spec.name,
        "model": model.name,
        "map": adapter.map.name,
        "inputs": dict(adapter.inputs),
        "names": sorted(load_weights(weights)),
        "sha256": {file: sha256(draft / file) for file in (*texts, adapter.map.name, CONFIG)},
        "batched": adapter.batched,
    }
    (draft / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    model.draw().save(draft / "figure.svg")
    widths: dict[str, Any] = {
        axis.name: min(LENGTH, axis.bound or LENGTH)
        for entry in model.graph.inputs
        for axis in entry.value.type.axes
        if axis.extent is None
    }
    (draft / "cost.txt").write_text(f"{model.cost(**widths)}\n", encoding="utf-8")
    runs = first_run(model, adapter.inputs, (folder.path / TOKENIZER[0]).is_file(), name)
    (draft / "README.md").write_text(_readme(folder, adapter.spec.name, model, name, runs), encoding="utf-8")
    return model


def specified(adapter: Adapter, made: Configured, head: str, name: str, draft: Path) -> tuple[dict[str, str], Model]:
    """The spec that a configuration makes of an adapter's, written into a folder with the files that it uses.

    head: what is said before it. name: what messages call the configuration. Raises HubError where it cannot be.
    """
    texts = written(adapter.spec, made, head)
    for file, text in texts.items():
        (draft / file).parent.mkdir(exist_ok=True)
        (draft / file).write_text(text, encoding="utf-8")
    try:
        return texts, load(draft / adapter.spec.name).model(made.model)
    except AttnError as wrong:
        said = "; ".join(dict.fromkeys(one.message for one in wrong.diagnostics))
        spans = [one.span for one in wrong.diagnostics if one.span]
        lines = [span.source.line(span.source.position(span.start)[0]) for span in spans]
        raise HubError(
            f"{name}: {adapter.spec.name} refuses what it makes of it: {said}{made.told(said, lines)}"
        ) from None


def sha256(file: Path) -> str:
    """By which `attnc export` sees whether it is as it was."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _copy_map(map: Path, draft: Path) -> None:
    """A map, and those that it uses."""
    text = map.read_text(encoding="utf-8")
    (draft / map.name).write_text(text, encoding="utf-8")
    for used in re.findall(r"^use (\S+)", text, re.MULTILINE):
        _copy_map(map.parent / used, draft)


def _convert(weights: Path, adapter: Adapter, model: Model, draft: Path) -> None:
    """The weights in files no larger than theirs, with an index where there are several."""
    given, map = load_weights(weights), Map.read(adapter.map)
    parts = convert_shards(given, map, model, largest_file(weights))
    save_parts(draft, WEIGHTS.removesuffix(".safetensors"), parts)
    if unused := ignored(map, given):
        save(draft / UNUSED, {name: given[name] for name in sorted(unused)})


def first_run(model: Model, inputs: Mapping[str, str], tokenizer: bool, name: str) -> str:
    """The command that runs the model of a folder called `name`: what is generated, or else what is compared.

    inputs: ours, and what theirs are called. tokenizer: whether the folder has one.
    """
    if "input_ids" not in inputs.values() or model.decoding.reason:
        return f"attnc run {name} --check"
    return f'attnc run {name} --prompt "Once upon a time"' if tokenizer else f"attnc run {name} --ids 1,2,3"


def _readme(folder: HubFolder, spec: str, model: Model, name: str, runs: str) -> str:
    source = escaped(folder.path.name)
    commands = {
        f"attnc run {name} --check": "compare with transformers, where it is installed",
        f"attnc draw {name}/{spec}:{model.name} -o figure.pdf": "the figure, in other formats and styles",
    }
    if runs not in commands:
        commands = {runs: "generate", **commands}
    width = max(map(len, commands))
    taken = ", ".join(str(port.name) for port in model.inputs)
    listed = "\n".join(f"$ {command:{width}}   # {what}" for command, what in commands.items())
    return f"""# {source}

A `{folder.model_type}` model as an attnc spec, imported from `{source}`. `{spec}` is the model,
checked; `figure.svg` its diagram; `cost.txt` what it costs.

```console
{listed}
```

```python
import attnc

net = attnc.hub.open("{name}").torch()  # an nn.Module with these weights, which takes {taken}
```
"""
