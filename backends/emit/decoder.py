"""What a model that decodes has besides its steps: how they begin, and the functions that stand around them."""

from __future__ import annotations

import hashlib

from ...compiler.decoding import Decoding
from ...compiler.graph.nodes import Graph
from ...compiler.graph.values import IndexInto
from ...compiler.sizes.axes import Axis, Value
from ..text.expressions import Code, call, joined
from ..text.names import plain
from ..text.statements import Do, Statement
from ..text.values import Val
from ..text.writing import WIDTH, wrap
from .body import CodeBody
from .file import Emitter
from .layout import length

DOCS = {
    "prepare": ['"""What no step changes, and an empty cache."""'],
    "step": [
        '"""The next items, after those that the cache has seen: the results for these, or for the `last` of them."""'
    ],
}


def begin_decoding(body: CodeBody) -> list[Statement]:
    """The first lines of `prepare` and `step` of a model."""
    if body.plan.method == "prepare":
        asked = {axis.name: axis for val in body.inputs for axis in val.axes if axis.name in body.file.asked}
        given = [val for val, item in zip(body.inputs, body.graph.inputs, strict=True) if item.default is None]
        batch = [_batch(given[0])] if given else []
        sizes = [Do(Code.of('cache.sizes["{}"] = {}', name, body.extent(axis))) for name, axis in asked.items()]
        return [Do(Code.of("cache = {}", call("Cache", body.configuration(), *batch))), *sizes]
    _, new = _new_items(body)
    count = next(length(new, axis) for axis in new.axes if body.is_new(axis))
    return [*_as_written(body), Do(call("begin_step", "cache", body.configuration(), _batch(new), count, "last"))]


def _as_written(body: CodeBody) -> list[Statement]:
    """Refuses a model that is built with other numbers than those in its steps were made of."""
    decoding, scope = body.file.decoding, body.scope
    written = () if decoding is None else decoding.written
    named = [
        (scope.axes[each].name, body.size_code(each), each.extent)
        if isinstance(each, Axis)
        else (scope.consts[each].name, body.const_code(each), each.value)
        for each in written
    ]
    if not named:
        return []
    given = [Code.of("{}=({}, {})", name, code, repr(value)) for name, code, value in named]
    return [Do(call("check_written", f'"{body.graph.name}"', *given))]


def _new_items(body: CodeBody) -> tuple[str, Val]:
    """The input of which a step takes new items, as the spec calls it."""
    inputs = zip(body.graph.inputs, body.inputs, strict=True)
    return next((item.name, val) for item, val in inputs if any(map(body.is_new, val.axes)))


def _batch(val: Val) -> Code:
    """The extents of the batch axes of an input."""
    return Code.of(f"{{}}.shape[:-{len(val.axes)}]" if val.axes else "{}.shape[:]", val.code)


def taken(file: Emitter) -> Code:
    """What each step takes new items of: an input, its axis, and how many there can be."""
    decoding = file.decoding
    assert decoding is not None and decoding.step is not None and decoding.time is not None
    body = file.bodies[file.program.plan(decoding.step).key]
    name, _ = _new_items(body)
    return joined([f'"{name}"', f'"{decoding.time.name}"', body.longest(decoding.time)])


def configuration(file: Emitter, sizes: str, taken: Code) -> list[str]:
    """What tells the caches of a model from those of others: its name, its code and its sizes; and what steps take."""
    digest = hashlib.sha256()
    for body in file.bodies.values():
        axes = [(axis.name, axis.extent, axis.bound) for axis in body.plan.axes]
        consts = [(const.name, const.value) for const in body.plan.consts]
        digest.update(plain(repr([body.words.library, axes, consts, body.made])).encode())
    made = f'    return Configuration("{file.program.root.name}", "{digest.hexdigest()[:8]}", {{}}, {taken.named})'
    if len(plain(made)) + len(plain(sizes)) <= WIDTH:
        return [made.format(sizes)]
    return [*wrap(f"    sizes = {sizes}"), *wrap(made.format("sizes"))]


def sizes_of_model(file: Emitter) -> dict[str, Value]:
    """What a model is built with, by the names of its parameters."""
    root = file.program.plan(file.program.root)
    scope = file.bodies[root.key].scope
    own = [axis for axis in root.axes if axis in root.graph.axes[: root.graph.params]]
    first = {axis.family: axis for axis in reversed(own)}  # its copies have the same bound
    sizes: dict[str, Value | None] = {scope.axes[axis].name: axis.extent for axis in own if root.formula(axis) is None}
    sizes |= {most.name: axis.bound for axis, most in scope.bounds.items() if first.get(axis.family) is axis}
    sizes |= {given.name: const.value for const, given in scope.consts.items()}
    return {name: size for name, size in sizes.items() if size is not None}


def decodes(decoding: Decoding, file: Emitter) -> Code:
    """What `generate` must know of a model: its other inputs as `prepare` calls them."""
    assert decoding.time is not None and decoding.prepare is not None and decoding.step is not None
    axis, graph = decoding.time, file.program.root
    vocab = scored(decoding, graph)
    assert vocab is not None
    inputs = file.bodies[file.program.plan(decoding.prepare).key].inputs
    given = [val.name for val in inputs]
    needs = [val.name for val, item in zip(inputs, decoding.prepare.inputs, strict=True) if item.default is None]
    step = file.bodies[file.program.plan(decoding.step).key]
    names = f'"{graph.name}"', f'"{decoding.prompt}"', f'"{axis.name}"', step.longest(axis), f'"{vocab.name}"'
    return call("Decodes", *names, step.known_size(vocab), _names(needs), _names(given), *file.over_rows())


def scored(decoding: Decoding, graph: Graph) -> Axis | None:
    """The axis that the prompt of `generate` indexes; None where there is no `generate`."""
    found = (item.value.type.element for item in graph.inputs if item.name == decoding.prompt)
    element = next(found, None)
    return element.axis if isinstance(element, IndexInto) else None


def _names(names: list[str]) -> str:
    quoted = ", ".join(f'"{plain(name)}"' for name in names)
    return f"({quoted},)" if len(names) == 1 else f"({quoted})"


def decoder_functions(file: Emitter, of: str, kind: str, decodes: str) -> list[str]:
    """`generate` and `stream`. of, kind: their first argument, and what it is; decodes: what is known of the model."""
    texts = []
    for name, result, says in (
        ("generate", file.array, "New items behind each prompt: see `Decoder.generate` for the options."),
        ("stream", f"Iterator[{file.array}]", "The items of `generate` as they come."),
    ):
        head = f"def {name}({of}: {kind}, prompt: Any, max_new: int, **options: Any) -> {result}:"
        made = f"    return {file.decoder}({decodes}, {of}, prepare, step).{name}(prompt, max_new, options)"
        texts.append("\n".join([*wrap(head), f'    """{says}"""', *wrap(made)]))
    return texts
