"""An architecture that transformers does not know, as one modelling file: the model, its steps, and their methods."""

from __future__ import annotations

import ast
import re
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...compiler.graph.values import IndexInto
from ...spec import Model
from ..problem import HubError

_LINE = "# ---- carried ----\n"
_OWN = '''class {config}(transformers.PretrainedConfig):
    """sizes: what the model is built with, in place of what stands in its class."""

    model_type = "{model_type}"

    def __init__(self, sizes: dict[str, Any] | None = None, **more: Any) -> None:
        self.sizes = sizes or {{}}
        super().__init__(**{defaults} | more)


class {served}(ServedModel):
    config_class = {config}
    built = {kind}
    _tp_plan = {plan}
'''


@dataclass(frozen=True, slots=True)
class Modelling:
    """text: the file. config: what config.json says."""

    text: str
    config: dict[str, Any]


def modelling(model: Model, module: str, dtype: str) -> Modelling:
    """The modelling file of a model that generates, which will be called `module`.py.

    Raises HubError for a model that does not, or that needs more than its items.
    """
    if model.decoding.reason:
        raise HubError(
            f"`{model.name}` cannot be served by transformers, as it generates nothing: {model.decoding.reason}"
        )
    needed = [entry for entry in model.graph.inputs if entry.default is None]
    if len(needed) > 1:
        names = ", ".join(f"`{entry.name}`" for entry in needed)
        raise HubError(
            f"`{model.name}` takes {names}: a model of its own that transformers serves takes the items alone; "
            "inputs with a default may stand beside them"
        )
    items = needed[0].value.type
    assert isinstance(items.element, IndexInto)
    source = model.source("torch", decoding=True, single_file=True)
    tree = ast.parse(source)
    made = {item.name: item for item in tree.body if isinstance(item, ast.ClassDef | ast.FunctionDef)}
    (kind,) = (arg.annotation.id for arg in _arguments(made["prepare"])[:1] if isinstance(arg.annotation, ast.Name))
    carried = Path(__file__).with_name("served.py").read_text(encoding="utf-8").partition(_LINE)[2]
    carried = re.sub(r"  # type: ignore.*", "", carried).strip()
    config, served, model_type = f"{kind}Config", f"{kind}ForCausalLM", f"attnc_{model.name}"
    longest = items.axes[0].extent or items.axes[0].bound
    defaults = {"vocab_size": items.element.axis.extent, "tie_word_embeddings": False}
    own = _OWN.format(
        config=config,
        model_type=model_type,
        defaults=_written(defaults | ({"max_position_embeddings": longest} if longest else {}), 8),
        served=served,
        kind=kind,
        plan=_written(dict.fromkeys(_maps(model, source), "colwise_gather_output"), 4),
    )
    behind = f"{carried}\n\n\n{own}"
    for name in re.findall(r"(?m)^(?:class|def) (\w+)", behind):
        behind = re.sub(rf"\b{name}\b", _free(name, made), behind)
    config, served = _free(config, made), _free(served, made)
    return Modelling(
        f"{_with_imports(source, tree)}\n\n{behind}",
        {
            "architectures": [served],
            "auto_map": {"AutoConfig": f"{module}.{config}", "AutoModelForCausalLM": f"{module}.{served}"},
            "model_type": model_type,
            "dtype": dtype,
            "sizes": _sizes(made[kind]),
        },
    )


def _arguments(made: ast.stmt) -> list[ast.arg]:
    assert isinstance(made, ast.FunctionDef)
    return made.args.args


def _free(name: str, taken: Container[str]) -> str:
    """A block of the spec may be called so."""
    while name in taken:
        name += "_"
    return name


def _written(found: dict[str, Any], indent: int) -> str:
    """A dictionary as Python writes it, an entry a line."""
    inner = "".join(f'{" " * (indent + 4)}"{key}": {_literal(value)},\n' for key, value in found.items())
    return f"{{\n{inner}{' ' * indent}}}" if found else "{}"


def _literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _sizes(kind: ast.stmt) -> dict[str, Any]:
    """What the model's class is built with when it is given nothing."""
    assert isinstance(kind, ast.ClassDef)
    (init,) = (item for item in kind.body if isinstance(item, ast.FunctionDef) and item.name == "__init__")
    pairs = zip(init.args.kwonlyargs, init.args.kw_defaults, strict=True)
    return {arg.arg: ast.literal_eval(default) for arg, default in pairs if isinstance(default, ast.Constant)}


def _maps(model: Model, source: str) -> list[str]:
    """The learned maps that are called and nothing else, by their paths with `*` for a layer: those that can be split.

    Of others the weights are read by themselves, where a part of them would not do.
    """
    from torch import nn

    own = source.partition("\ndef generate(")[0]
    own = re.sub(r"cache\.(?:heads|maps)\(.*", "", own)  # they call what is split
    read = {name for name, behind in re.findall(r"\w\.(\w+)( = |\()?", own) if not behind}
    net = model.torch(device="meta")
    found = [path for path, part in net.named_modules() if type(part) is nn.Linear]
    plain = [f"net.{path}" for path in found if path.rpartition(".")[2] not in read]
    return list(dict.fromkeys(re.sub(r"\.\d+(?=\.|$)", ".*", path) for path in plain))


def _with_imports(source: str, tree: ast.Module) -> str:
    """With transformers; jaxtyping, which annotations alone are made of, may lack."""
    lines = source.splitlines()
    imports = [item for item in tree.body if isinstance(item, ast.Import | ast.ImportFrom)]
    (axes,) = (item for item in imports if isinstance(item, ast.ImportFrom) and item.module == "jaxtyping")
    written = lines[axes.lineno - 1 : axes.end_lineno]
    last = imports[-1].end_lineno or 0
    behind = ["", "try:  # annotations tell axes with it, and are not run", *(f"    {line}" for line in written)]
    behind += ["except ImportError:", "    pass"]
    rest = [*lines[axes.end_lineno : last], *behind, *lines[last:]]
    return "\n".join([*lines[: axes.lineno - 1], "import transformers", *rest]) + "\n"
