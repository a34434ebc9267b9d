"""The file of kernels that lies beside a module of PyTorch, and the graph that calls it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...compiler.graph.nodes import Graph
from ...compiler.pipeline import PASSES, Pass, rewritten
from ...compiler.streams.prepare import prepared
from ..files.code import ModelCode
from ..plan.lower import STRUCTURE
from ..text.carried import joined, used_helpers
from ..text.scopes import names_of
from ..torch.module import torch_code
from .names import LAUNCH
from .outline import Outliner, text
from .read import Reason
from .tiles import Kernel, NoKernel


@dataclass(frozen=True)
class Streamed:
    """graph: with calls of kernels. text: their file, "" where there are none. reasons: why the rest is as it was."""

    graph: Graph
    text: str
    kernels: tuple[Kernel, ...]
    reasons: tuple[Reason, ...]


def streamed(graph: Graph, module: str, header: str = "") -> Streamed:
    """The graph with its streaming regions as calls of functions of `module`, and the text of that."""
    outliner = Outliner(module)
    changed = outliner(prepared(graph))
    if not outliner.kernels:
        return Streamed(graph, "", (), tuple(outliner.reasons))
    reasons = tuple(dict.fromkeys(outliner.reasons))
    return Streamed(changed, _file(outliner.kernels, reasons, header), tuple(outliner.kernels), reasons)


def _file(made: list[Kernel], reasons: tuple[Reason, ...], header: str) -> str:
    bodies = [text(kernel) for kernel in made]
    helpers = used_helpers((LAUNCH,), {name for body in bodies for name in names_of(body).wanted})
    digest = hashlib.sha256("\n".join([*helpers, *bodies]).encode()).hexdigest()[:8]
    texts = [f"# -- {kernel.name} {'-' * (112 - len(kernel.name))}\n\n\n{text(kernel, digest)}" for kernel in made]
    imports = joined((LAUNCH,))[0].replace("from __future__ import annotations\n", "").strip()
    left = [f"Left as PyTorch does it: {reason.where}: {reason.why}." for reason in reasons]
    says = [
        f'"""Kernels of Triton. {header[:1].upper()}{header[1:]}',
        "",
        "Needs torch and triton.",
        "",
        "Each is a fold: a program has a tile of rows (queries) and walks along columns (keys); what it knows of those",
        "before is a state of a few numbers for each row. So no score is stored. Backwards, scores are made again from",
        "what the fold came to. Names of axes are those of the spec; `lead` stands for all leading axes.",
        *left,
        '"""',
    ]
    return "\n".join([*says, "", imports, "", "", "\n\n\n".join((*helpers, *texts)), ""])


NO_STEP = "a model with kernels of Triton has no steps: compile it without them, its weights are the same"


def kernels_module(name: str) -> str:
    """The module of the kernels of a model that lies in the module `name`."""
    return f"{name}_kernels"


def triton_code(
    graph: Graph,
    *,
    name: str = "",
    header: str = "",
    passes: Sequence[Pass] = PASSES,
    checked: bool = True,
) -> tuple[ModelCode, str]:
    """What `torch_code` gives of a model whose streaming regions are kernels, and the file of these. name: of the
    module of the model. Raises NoKernel, a ValueError, where nothing of it becomes a kernel, with what is in the way.
    """
    structure = rewritten(graph, [one for one in passes if one.name in STRUCTURE])
    made = streamed(structure, kernels_module(name or graph.name), header.partition("\n")[0])
    if not made.text:
        why = [f"{reason.where}: {reason.why}" for reason in dict.fromkeys(made.reasons)]
        raise NoKernel(
            f"nothing of {graph.name} becomes a kernel of Triton: compile it for PyTorch alone"
            + "".join(
                f"\n  {line}"
                for line in why or ["nothing in it streams: what it makes is no larger than what it reads"]
            )
        )
    code = torch_code(made.graph, header=header, passes=passes, checked=checked)
    library = replace(
        code.library, packages=(*code.library.packages, "triton", f"{kernels_module(name or graph.name)}.py")
    )
    return replace(code, library=library, decoding=(), no_step=NO_STEP), made.text
