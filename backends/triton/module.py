"""The file of kernels that lies beside a module of PyTorch, and the graph that calls it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Unpack

from ...compiler.decoding import Decoding
from ...compiler.graph.nodes import Graph
from ...compiler.pipeline import PASSES, rewritten
from ...compiler.streams.prepare import prepared
from ..emit.file import Writing, written
from ..files.code import ModelCode
from ..plan.lower import STRUCTURE, stepping
from ..text.carried import joined, used_helpers
from ..text.scopes import names_of
from ..torch.module import TorchEmitter
from .names import LAUNCH
from .outline import Outliner, text
from .read import Reason
from .tiles import Kernel, NoKernel

SAYS = """\
Each is a fold: a program has a tile of rows (queries) and walks along columns (keys); what it knows of those
before is a state of a few numbers for each row. So no score is stored. Backwards, scores are made again from
what the fold came to: `stat`, of a softmax the logarithm to base 2 of its sum (inf where a row sees nothing).

Names are those of the spec. `lead` stands for all leading axes as one. Of an operand Q and an axis q, `Q_q` is
how far apart its items lie along q in memory, `Q_tile` the part that a program has, `q_at` the places of a tile
along q, `d_Q` a gradient. What has no name in the spec is x, x_2, .. in each function anew. Here % and // round
towards 0, as in C: ((a % b) + b) % b is what Python calls a % b."""


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
        *SAYS.split("\n"),
        *left,
        '"""',
    ]
    return "\n".join([*says, "", imports, "", "", "\n\n\n".join((*helpers, *texts)), ""])


def kernels_module(name: str) -> str:
    """The module of the kernels of a model that lies in the module `name`."""
    return f"{name}_kernels"


def triton_code(
    graph: Graph, *, name: str = "", decoding: bool = True, **asked: Unpack[Writing]
) -> tuple[ModelCode, str]:
    """What `torch_code` gives of a model whose streaming regions are kernels, and the file of these.

    name: of the module of the model. decoding: whether that file has the kernels of steps, too. Raises NoKernel, a
    ValueError, where nothing of the model becomes a kernel, with what is in the way.
    """
    passes = asked.get("passes", PASSES)
    whole = prepared(rewritten(graph, [one for one in passes if one.name in STRUCTURE]))
    outliner = Outliner(kernels_module(name or graph.name))
    # What a mask in a kernel leaves out is known before the kernel is one op, and no longer behind that.
    changed = outliner(prepared(rewritten(graph, [one for one in passes if one.name in (*STRUCTURE, "guard")])))
    asked["passes"] = [one for one in passes if one.name != "guard"]
    if not outliner.kernels:
        why = [f"{reason.where}: {reason.why}" for reason in dict.fromkeys(outliner.reasons)]
        raise NoKernel(
            f"nothing of {graph.name} becomes a kernel of Triton: compile it for PyTorch alone"
            + "".join(
                f"\n  {line}"
                for line in why or ["nothing in it streams: what it makes is no larger than what it reads"]
            )
        )
    made, reasons = [*outliner.kernels], [*outliner.reasons]

    def with_kernels(found: Decoding) -> Decoding:
        """The same, what streams in its steps done by kernels, too: along the keys that are kept, for a few queries."""
        assert found.prepare is not None and found.step is not None
        return replace(found, prepare=outliner(found.prepare), step=outliner(found.step))

    code = written(TorchEmitter, changed, lambda lowered: stepping(whole, lowered, passes, with_kernels), **asked)
    if code.decoding and decoding:
        made, reasons = outliner.kernels, outliner.reasons
    text = _file(made, tuple(dict.fromkeys(reasons)), asked.get("header", "").partition("\n")[0])
    library = replace(code.library, packages=(*code.library.packages, "triton", f"{outliner.module}.py"))
    return replace(code, library=library), text
