"""Questions of the page, as JSON, and their answers. A text is checked as by `attnc.loads`: it can use the standard
library, no file, and no op of a user's own.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

from ..compiler.check import Program
from ..compiler.sizes.limits import deep
from ..dsl import catalogue
from ..dsl.errors import AttnError
from ..dsl.nested import from_json
from ..dsl.source import Source
from ..spec import built, format
from ..watch.parts import PARTS, made, named, reason
from .bundle import bundle
from .found import found_in, mended, wrong

NAME = "playground.attn"
Asked = dict[str, Any]
_last: dict[str, Program] = {}  # the text that was checked last: its parts are asked for one by one


@deep()
def answer(question: str) -> str:
    """question: {"ask": one of those below, and what it needs}. Raises whatever is a mistake of ours."""
    asked = from_json(question)
    return json.dumps(_ANSWERS[asked["ask"]](asked))


def _program(text: str) -> Program:
    if text not in _last:
        _last.clear()
        _last[text] = built(Source(NAME, text), None, None, None, ())
    return _last[text]


def _check(asked: Asked) -> Asked:
    """{"text"}: what is wrong with it, and what it declares."""
    program = _program(asked["text"])
    return {
        "found": found_in(program.source, program.diagnostics),
        "wrong": wrong(program.diagnostics),
        "names": [*program.models, *program.blocks],
    }


def _part(asked: Asked) -> Asked:
    """{"text", "name", "part"}: of a right text a part of a model or block (`watch/parts.py`)."""
    try:
        model = named(_program(asked["text"]), asked["name"])
    except AttnError as why:  # a block that cannot stand alone
        return {"text": reason(asked["part"], str(why))}
    return {"text": made(asked["part"], PARTS[asked["part"]], model)}


def _mend(asked: Asked) -> Asked:
    """{"text"}: the text after all fixes."""
    return {"text": mended(Source(NAME, asked["text"]))}


def _format(asked: Asked) -> Asked:
    """{"text"}: its canonical form; the text itself where it does not parse."""
    try:
        return {"text": format(asked["text"])}
    except AttnError:
        return {"text": asked["text"]}


def _explain(asked: Asked) -> Asked:
    """{"code"}: what `attnc explain` says."""
    return {"text": catalogue.explain(asked["code"]) or ""}


def _judge(asked: Asked) -> Asked:
    """{"text", "puzzle": its file}: whether it is solved, why not, and what each item sees."""
    from .judging import judged  # which loads NumPy
    from .puzzles import read

    return judged(read(asked["puzzle"]), asked["text"])


def _bundle(asked: Asked) -> Asked:
    """{"text", "name"}: files for a paper as a zip, in base64; or why there are none."""
    try:
        packed = bundle(asked["text"], named(_program(asked["text"]), asked["name"]))
    except (AttnError, ValueError, RuntimeError) as why:
        return {"problem": str(why).strip()}
    return {"zip": b64encode(packed).decode("ascii")}


_ANSWERS: dict[str, Callable[[Asked], Asked]] = {
    "check": _check,
    "part": _part,
    "mend": _mend,
    "format": _format,
    "explain": _explain,
    "judge": _judge,
    "bundle": _bundle,
}
