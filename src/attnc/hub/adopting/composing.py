"""A reading, written as a spec; and which weight of the spec is which piece of theirs."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt

from ...dsl.tokens import RESERVED
from ...spec import format
from .attention import AttentionUse, NotUnderstood, Split
from .begin import StreamStart
from .ending import Move
from .listening.uses import Elements, LinearUse, NormUse
from .parts import FeedUse, LayerPart
from .reading import Reading, Stream

_SINUSOIDS = {"interleaved": "sinusoid", "halves": "sinusoid_halves"}


@dataclass
class Composed:
    """text: the spec. model: its name there. weights: each by its path, and what it is made of.

    source: of each input of ours, the name of theirs.
    """

    text: str
    model: str
    weights: dict[str, list[Elements]]
    inputs: dict[str, str]


@dataclass
class _Writer:
    """What the spec is made of, as it is found to be needed."""

    consts: dict[str, str] = field(default_factory=dict)
    widths: list[str] = field(default_factory=list)
    depths: dict[str, str] = field(default_factory=dict)
    used: dict[str, None] = field(default_factory=dict)
    blocks: list[str] = field(default_factory=list)
    weights: dict[str, list[Elements]] = field(default_factory=dict)
    eps: float = 1e-5
    spelled: set[str] = field(default_factory=set)
    results: Sequence[str] = ()  # what the module calls its own


@dataclass(frozen=True)
class _Words:
    """What things of a stack are called: of an encoder and a decoder, apart."""

    seq: str
    other: str
    prefix: str

    def size(self, name: str) -> str:
        return f"{self.prefix}{name}"


def compose(reading: Reading, name: str, head: str, results: Sequence[str] = ()) -> Composed:
    """The spec of a reading, with one model of that name; `head` is the comment before it. results: what the module
    calls its own. Raises NotUnderstood.
    """
    writer = _Writer(results=results)
    every = [norm for stack in reading.stacks for norm in _norms(stack)]
    counted = Counter(norm.eps for norm in every if norm.eps)
    if counted:
        writer.eps = counted.most_common(1)[0][0]
        writer.consts["eps"] = _number(writer.eps)
    writer.depths["model"] = str(_model(reading.decoder))
    inputs: dict[str, str] = {}
    if reading.encoder is None:
        body = _alone(writer, reading.decoder, name, inputs)
    elif not reading.encoder.layers:
        body = _beside(writer, reading, name, inputs)
    else:
        body = _pair(writer, reading.encoder, reading.decoder, name, inputs)
    return Composed(format(_text(writer, head, body)), name, writer.weights, inputs)


def _norms(stack: Stream) -> list[NormUse]:
    found = [norm for part in stack.parts for norm in part.norms]
    for part in stack.parts:
        if isinstance(part.does, AttentionUse):
            found += [norm for norm in (part.does.q_norm, part.does.k_norm) if norm is not None]
    begin = [norm for norm in (stack.begin.norm, *stack.begin.patch_norms) if norm is not None]
    return [*found, *begin, *stack.ending.norms]


def _model(stack: Stream) -> int:
    return int(stack.parts[0].does.x.shape[-1])


def _text(writer: _Writer, head: str, body: str) -> str:
    lines = textwrap.wrap(head, 116)
    text = "\n".join(f"# {line}" for line in lines) + "\n\n"
    if writer.used:
        text += f"use std.positions: {', '.join(writer.used)}\n\n"
    text += f"const {', '.join(f'{k} = {v}' for k, v in writer.consts.items())}\n\n" if writer.consts else ""
    text += "\n".join(writer.widths) + "\n"
    text += f"depth {', '.join(f'{k} = {v}' if v else k for k, v in writer.depths.items())}\n\n"
    return text + "\n\n".join([*writer.blocks, body]) + "\n"


# -- stacks --------------------------------------------------------------------------------------------------------


def _alone(writer: _Writer, stack: Stream, name: str, inputs: dict[str, str]) -> str:
    picture = stack.begin.patch is not None
    words = _Words("seq", "past" if stack.is_causal else "other", "")
    first, lines = _begin(writer, stack.begin, words, inputs, "", stack)
    lines += _layers(writer, stack, words, "", "layers", None)
    result, more = _ending(writer, stack, words, "", "" if picture else " causal seq")
    return _block(f"model {name}({first}) -> {result}", [*lines, *more])


def _pair(writer: _Writer, encoder: Stream, decoder: Stream, name: str, inputs: dict[str, str]) -> str:
    source, target = _Words("source", "from", "source_"), _Words("target", "past", "target_")
    asked, lines = _begin(writer, encoder.begin, source, inputs, "encode.", encoder)
    lines += _layers(writer, encoder, source, "encode.", "layers", None)
    _, more = _ending(writer, encoder, source, "encode.")
    ids = asked.partition(":")[0]
    tables = encoder.begin.table, decoder.begin.table
    above: list[str] = []
    given, told = asked, ids
    if tables[0] is not None and tables[1] is not None and tables[0].name == tables[1].name:
        writer.weights["E"] = writer.weights.pop("encode.E")  # one table for both, passed on
        above = [line for line in lines if line.startswith("param E:")]
        lines = [line for line in lines if line not in above]
        given, told = f"{asked}, E: [vocab, model]", f"{ids}, E"
    writer.blocks.append(_block(f"block encode({given}) -> [source, model]", [*lines, *more]))
    asked_too, lines = _begin(writer, decoder.begin, target, inputs, "", decoder)
    lines = [*above, f"memory = encode({told})", *(line for line in lines if line not in above)]
    lines += _layers(writer, decoder, target, "", "layers", "memory")
    result, more = _ending(writer, decoder, target, "", " causal target")
    return _block(f"model {name}({asked}, {asked_too}) -> {result}", [*lines, *more])


def _beside(writer: _Writer, reading: Reading, name: str, inputs: dict[str, str]) -> str:
    """A stack that reads inputs beside its stream: a decoder without its encoder, attention alone."""
    target = _Words("target", "past", "target_")
    decoder, asked = reading.decoder, []
    crossing = next(part.does for part in decoder.parts if part.kind == "cross")
    assert isinstance(crossing, AttentionUse)
    made = [("memory", reading.encoder, crossing.K.linear.given)]
    made += [("values", reading.values, crossing.V.linear.given)] if reading.values is not None else []
    writer.widths.append("width source")
    for called, stack, size in made:
        assert stack is not None
        if stack.begin.table is not None or stack.begin.places.kind != "none" or stack.begin.enter is not None:
            raise NotUnderstood(f"the {called} that its attention reads are not an input of the module as it is")
        depth = "model" if size == _model(decoder) else f"{called}_model"
        writer.depths[depth] = str(size)
        inputs[called] = stack.begin.source
        asked.append(f"{called}: [source, {depth}]")
    asked_too, lines = _begin(writer, decoder.begin, target, inputs, "", decoder)
    lines += _layers(writer, decoder, target, "", "layers", ", ".join(called for called, *_ in made))
    result, more = _ending(writer, decoder, target, "", " causal target")
    return _block(f"model {name}({asked_too}, {', '.join(asked)}) -> {result}", [*lines, *more])


def _block(head: str, lines: Sequence[str]) -> str:
    return f"{head} {{\n" + "\n".join(f"    {line}" for line in lines) + "\n}"


# -- the beginning -------------------------------------------------------------------------------------------------


def _begin(
    writer: _Writer, begin: StreamStart, words: _Words, inputs: dict[str, str], path: str, stack: Stream
) -> tuple[str, list[str]]:
    """The input as it is declared, and the lines that make x of it."""
    seq, other = words.seq, words.other
    if begin.patch is not None:
        return _begin_patches(writer, begin, words, inputs, path)
    places = begin.places
    bound = ""
    if places.table is not None:
        rows = writer.depths[words.size("places")] = str(places.table.shape[0])
        bound = f" <= {int(rows) - places.offset}"
    writer.widths += [f"width {seq}{bound}", f"width {other} like {seq}  # a second copy of {seq}, for keys"]
    if begin.table is None:
        states = f"{words.prefix}states"
        inputs[states] = begin.source
        lines, asked = [f"x = {states}"], f"{states}: [{seq}, model]"
        if begin.enter is not None:
            given = words.size("given")
            writer.depths[given] = str(begin.enter.given)
            call = _linear(writer, Split.whole(begin.enter), "enter", given, "model", states, path)
            lines, asked = [f"x = {call}"], f"{states}: [{seq}, {given}]"
    else:
        ids, vocab = ("ids" if not words.prefix else f"{seq}_ids"), "vocab"
        size = str(begin.table.shape[0])
        known = writer.weights.get("E", [begin.table])
        if writer.depths.get("vocab", size) != size or known[0].name != begin.table.name:
            vocab = words.size("vocab")
        writer.depths[vocab] = size
        inputs[ids] = begin.source
        asked = f"{ids}: {vocab}[{seq}]"
        writer.weights[f"{path}E"] = [begin.table]
        lines = [
            f"param E: [{vocab}, model] ~ normal(0.02)",
            f"x = {_times(begin.factor)}E[{vocab} = {ids}]",
        ]
    if begin.segment is not None:
        writer.depths["segments"] = str(begin.segment.shape[0])
        writer.weights[f"{path}S"] = [begin.segment]
        lines += ["param S: [segments, model] ~ normal(0.02)", "x = x + S[segments = 0]"]
    if places.kind == "learned" and places.table is not None:
        at = f"int({seq})" + (f" + {places.offset}" if places.offset else "")
        rows = words.size("places")
        writer.weights[f"{path}P"] = [places.table]
        lines += [f"param P: [{rows}, model] ~ normal(0.02)", f"x = x + {_times(places.factor)}P[{rows} = {at}]"]
    elif places.kind != "none":
        lines.append(f"x = x + {_times(places.factor)}{_sinusoids(writer, places.kind, places.offset, seq)}")
    return asked, lines + _first_norm(writer, begin, path)


def _first_norm(writer: _Writer, begin: StreamStart, path: str) -> list[str]:
    return [] if begin.norm is None else [f"x = {_norm(writer, begin.norm, 'first', 'model', 'x', path)}"]


def _sinusoids(writer: _Writer, kind: str, offset: int, seq: str) -> str:
    if kind in _SINUSOIDS and not offset:
        writer.used[_SINUSOIDS[kind]] = None
        return f"{_SINUSOIDS[kind]}[{seq}, model]()"
    if "waves" not in writer.spelled:
        writer.spelled.add("waves")
        steps = "|half| - 1" if kind == "halves to the end" else "|half|"
        lines = ["depth half = model / 2", "depth other_half like half"]
        lines.append(f"angle = (n{f' + {offset}' if offset else ''}) / 10000 ^ (half / ({steps}))")
        if kind == "interleaved":
            lines = ["depth two = 2, half = model / 2", lines[2]]
            lines.append("return merge[half, two -> model](select(two == 0, sin(angle), cos(angle)))")
        else:
            lines += ["wave = cos(angle)"]
            lines.append("return concat[half, other_half -> model](sin(angle), wave[half as other_half])")
        writer.blocks.append(_block("block waves[n: width]() -> [n, model]", lines))
    return f"waves[{seq}]()"


def _begin_patches(
    writer: _Writer, begin: StreamStart, words: _Words, inputs: dict[str, str], path: str
) -> tuple[str, list[str]]:
    patch = begin.patch
    assert patch is not None
    high, wide, down, across, colour = begin.sizes
    inputs["image"] = begin.source
    extra = sum(len(one.rows) for one in begin.first)
    writer.widths += [
        f"width high = {high}, wide = {wide}  # pixels",
        "width rows = high / down, columns = wide / across",
        "width patches = rows * columns" + (f", first = {extra}, seq = patches + first" if extra else ""),
    ]
    seq = words.seq if extra else "patches"
    writer.widths.append(f"width {words.other} like {seq}  # a second copy of {seq}, for keys")
    writer.depths |= {"colour": str(colour), "down": str(down), "across": str(across)}
    lines = [
        "grid = split[wide -> columns, across](split[high -> rows, down](image))",
        "x = merge[rows, columns -> patches](grid)",
    ]
    before, behind = begin.patch_norms
    axes = ", ".join(begin.patch_order)
    if before is not None:
        writer.depths["pixels"] = "down * across * colour"
        lines.append(f"x = merge[{axes} -> pixels](x)")
        lines.append(f"x = {_norm(writer, before, 'pixels_norm', 'pixels', 'x', path)}")
        axes = "pixels"
    lines.append(f"x = {_linear(writer, Split.whole(patch), 'patch', axes, 'model', 'x', path)}")
    if behind is not None:
        lines.append(f"x = {_norm(writer, behind, 'patches_norm', 'model', 'x', path)}")
    if extra:
        writer.weights[f"{path}start"] = list(begin.first)
        lines += ["param start: [first, model] ~ normal(0.02)", "x = concat[first, patches -> seq](start, x)"]
    if begin.places.table is not None:
        writer.weights[f"{path}P"] = [begin.places.table]
        lines += [f"param P: [{seq}, model] ~ normal(0.02)", "x = x + P"]
    return "image: [colour, high, wide]", lines + _first_norm(writer, begin, path)


# -- layers --------------------------------------------------------------------------------------------------------


def _layers(writer: _Writer, stack: Stream, words: _Words, path: str, loop: str, memory: str | None) -> list[str]:
    template = stack.layers[0]
    seq = words.seq
    if stack.begin.patch is not None and not stack.begin.first:
        seq = "patches"
    count = words.size(loop)
    writer.consts = {count: str(len(stack.layers)), **writer.consts}
    parts = list(template)
    lines: list[str] = []
    calls = {
        part.kind: _attention(writer, part.does, words, seq)
        if isinstance(part.does, AttentionUse)
        else _feed(writer, part.does, words)
        for part in parts
    }
    pending: list[str] = []
    for i, part in enumerate(parts):
        following = parts[i + 1] if i + 1 < len(parts) else None
        y = "x"
        if part.before is not None:
            lines.append(f"y = {_norm_call(writer, part.before, f'before_{part.kind}', 'model', 'x')}")
            y = "y"
        elif part.once:
            y = "y" if parts[i - 1].before is not None else "x"
        call = calls[part.kind].format(y=y, memory=memory)
        if part.behind is not None:
            call = _norm_call(writer, part.behind, f"behind_{part.kind}", "model", call)
        if part.scale is not None:
            lines.append(f"param {part.kind}_scale: [model] ~ ones")
            call = f"{part.kind}_scale * {call}"
        call = f"{_times(part.added)}{call}"
        if following is not None and following.beside:
            name = "heard" if part.kind == "self" else "fed"
            lines.append(f"{name} = {call}")
            pending.append(name)
            continue
        total = " + ".join([*([f"{_times(part.kept)}x"] if part.kept else []), *pending, call])
        pending = []
        if part.after is not None:
            total = _norm_call(writer, part.after, f"after_{part.kind}", "model", total)
        lines.append(f"x = {total}")
    for i, layer in enumerate(stack.layers):
        here = f"{path}layers.{i}."
        for part in layer:
            _part_weights(writer, part, here)
    name = "repeat layers" if count == "layers" else f"repeat.layers {count}"
    return [f"{name} {{", *(f"    {line}" for line in lines), "}"]


def _part_weights(writer: _Writer, part: LayerPart, here: str) -> None:
    for norm, where in ((part.before, "before"), (part.behind, "behind"), (part.after, "after")):
        if norm is not None:
            _norm_weights(writer, norm, f"{here}{where}_{part.kind}")
    if part.scale is not None:
        writer.weights[f"{here}{part.kind}_scale"] = [part.scale.weight]
    does, inside = part.does, f"{here}{part.kind}"
    if isinstance(does, AttentionUse):
        for name, split in (("Q", does.Q), ("K", does.K), ("V", does.V), ("O", Split.whole(does.out))):
            _linear_weights(writer, split, f"{inside}.{name}")
        for norm, name in ((does.q_norm, "q_norm"), (does.k_norm, "k_norm")):
            if norm is not None:
                _norm_weights(writer, norm, f"{inside}.{name}")
    else:
        _linear_weights(writer, does.up, f"{inside}.up")
        if does.gate is not None:
            _linear_weights(writer, does.gate, f"{inside}.gate")
        _linear_weights(writer, Split.whole(does.down), f"{inside}.down")


def _attention(writer: _Writer, does: AttentionUse, words: _Words, seq: str) -> str:
    """The block, and a call of it."""
    kind = "cross" if does.cross else "self"
    heads, key, groups = words.size("heads"), words.size("key"), words.size("groups")
    inner = heads
    if does.groups == does.heads:
        writer.depths |= {heads: str(does.heads), key: str(does.key)}
        groups = heads
    else:
        sharing = words.size("sharing")
        writer.depths |= {groups: str(does.groups), sharing: str(does.heads // does.groups), key: str(does.key)}
        inner = f"{groups}, {sharing}"
    keys = "source" if does.cross else words.other
    read = {"K": "memory", "V": "values" if does.parted else "memory"} if does.cross else {"K": "x", "V": "x"}
    sizes = {
        called: "model" if split.linear.given == does.Q.linear.given else f"{called}_model"
        for called, split in ((read["V"], does.V), (read["K"], does.K))
    }
    lines = [
        f"Q = {_linear_call(does.Q, 'Q', 'model', f'{inner}, {key}', 'x', named=False)}",
        f"K = {_linear_call(does.K, 'K', sizes[read['K']], f'{groups}, {key}', read['K'], named=False)}",
        f"V = {_linear_call(does.V, 'V', sizes[read['V']], f'{groups}, {key}', read['V'], named=False)}",
    ]
    for norm, name, axes in ((does.q_norm, "Q", inner), (does.k_norm, "K", groups)):
        if norm is not None and norm.x.shape[-1] == does.key:
            lines.append(f"{name} = {_norm_call(writer, norm, f'{name.lower()}_norm', key, name)}")
        elif norm is not None:
            together = words.size(f"all_{name.lower()}")
            writer.depths[together] = f"{axes.replace(', ', ' * ')} * {key}"
            call = _norm_call(
                writer, norm, f"{name.lower()}_norm", together, f"merge[{axes}, {key} -> {together}]({name})"
            )
            lines.append(f"{name} = split[{together} -> {axes}, {key}]({call})")
    if does.rotary is not None:
        lines += [f"{name} = {_turned(writer, does, words, seq, key, name)}" for name in "QK"]
    scores = f"dot[{key}](Q, K{'' if does.cross else f'[{seq} as {keys}]'})"
    if abs(does.scale * sqrt(does.key) - 1) < 1e-6:
        scores += f" / sqrt(|{key}|)"
    elif abs(does.scale - 1) > 1e-6:
        scores += f" * {_number(does.scale, 8)}"
    if does.alibi:
        writer.used["alibi"] = None
        scores += f" + alibi[{heads}, {seq}, {keys}]()"
    where = ""
    if does.mask != "none":
        where = f" where {keys} <= {seq}"
        if isinstance(does.mask, int):
            writer.consts[words.size("span")] = str(does.mask)
            where += f" and {seq} - {keys} < {words.size('span')}"
    lines.append(f"weights = softmax[{keys}]({scores}{where})")
    values = "V" if does.cross else f"V[{seq} as {keys}]"
    out = _linear_call(Split.whole(does.out), "O", f"{inner}, {key}", "model", f"dot[{keys}](weights, {values})")
    lines.append(f"return {out}")
    name = f"{words.prefix}{'cross' if does.cross else 'attention'}"
    asked = list(dict.fromkeys(read.values())) if does.cross else []
    more = "".join(f", {called}: [source, {sizes[called]}]" for called in asked)
    writer.blocks.append(_block(f"block {name}(x: [{seq}, model]{more}) -> [{seq}, model]", lines))
    return f"{name}.{kind}({{y}}{', {memory}' if does.cross else ''})"


def _turned(writer: _Writer, does: AttentionUse, words: _Words, seq: str, key: str, name: str) -> str:
    rotary = does.rotary
    assert rotary is not None
    base = "" if rotary.base == 10000 else f", base = {_number(rotary.base)}"
    block = "rotary_interleaved" if rotary.pairs else "rotary"
    if rotary.turned == does.key:
        writer.used[block] = None
        return f"{block}[{seq}, {key}{base}]({name})"
    turned = words.size("turned")
    writer.depths[turned] = str(rotary.turned)
    if not rotary.pairs:
        writer.used["rotary_partial"] = None
        return f"rotary_partial[{seq}, {key}, {turned}{base}]({name})"
    writer.used[block] = None
    turn = f"{words.prefix}turn"
    if turn not in writer.spelled:
        writer.spelled.add(turn)
        lines = [
            f"depth rest = {key} - {turned}",
            f"y = {block}[{seq}, {turned}{base}](x[{key} = int({turned})])",
            f"return concat[{turned}, rest -> {key}](y, x[{key} = |{turned}| + int(rest)])",
        ]
        writer.blocks.append(_block(f"block {turn}(x: [{seq}, {key}]) -> [{seq}, {key}]", lines))
    return f"{turn}({name})"


def _feed(writer: _Writer, does: FeedUse, words: _Words) -> str:
    inner = words.size("inner")
    writer.depths[inner] = str(does.down.given)
    up = _linear_call(does.up, "up", "model", inner, "x")
    if does.gate is None:
        lines = [f"y = {up}", f"y = {_acted(does.act, 'y')}"]
    else:
        gate = _linear_call(does.gate, "gate", "model", inner, "x")
        lines = [f"y = {gate}", f"y = {_acted(does.act, 'y', True)} * {up}"]
    lines.append(f"return {_linear_call(Split.whole(does.down), 'down', inner, 'model', 'y')}")
    name = f"{words.prefix}feed_forward"
    writer.blocks.append(_block(f"block {name}(x: [model]) -> [model]", lines))
    return f"{name}.feed({{y}})"


def _acted(act: str, x: str, factor: bool = False) -> str:
    written = act.format(x=x)
    return f"({written})" if factor and " " in written else written


# -- the end -------------------------------------------------------------------------------------------------------


def _ending(writer: _Writer, stack: Stream, words: _Words, path: str, causal: str = "") -> tuple[str, list[str]]:
    """The type of what is returned, and the lines. causal: the claim of a result of all items."""
    seq = "patches" if stack.begin.patch is not None and not stack.begin.first else words.seq
    axis, items, lines, count = "model", seq, [], 0
    ending = stack.ending
    claim = causal if stack.is_causal else ""
    found: dict[int, tuple[str, str]] = {}
    for i, (kind, what) in enumerate([*ending.moves, ("end", "")]):
        for result in (one for one in ending.results if one.behind == i):
            name = "x" if len(ending.results) == 1 else _result_name(writer, result.index)
            made = [_does(one, "x" if place == 0 else name, axis) for place, one in enumerate(result.more)]
            lines += [f"{name} = {one}" for one in (made or ["x"] * (name != "x"))]
            found[result.index] = name, f"[{items}, {axis}]{claim}" if items else f"[{axis}]"
        if isinstance(what, NormUse):
            count += 1
            name = "last" if count == 1 else f"last_{count}"
            lines.append(f"x = {_norm(writer, what, name, axis, 'x', path)}")
        elif isinstance(what, LinearUse):
            final = not any(kind == "map" for kind, _ in ending.moves[i + 1 :])
            axis, more = _mapped(writer, stack, what, final, axis, count, path, items)
            count += 1
            lines += more
        elif kind == "pool" and not (what == "last" and stack.is_causal):  # all items, where the last is asked for
            at = {"first": "0", "last": f"|{seq}| - 1"}.get(str(what))
            lines.append(f"x = mean[{seq}](x)" if at is None else f"x = x[{seq} = {at}]")
            items = ""
        elif kind not in ("pool", "end"):
            lines.append(f"x = {_does((kind, what), 'x', axis)}")
    kept = [found[index] for index in sorted(found)]
    if len(kept) < 2:
        usual = f"[{items}, {axis}]{claim}" if items else f"[{axis}]"
        return kept[0][1] if kept else usual, [*lines, "return x"]
    types = ", ".join(f"{name}: {type}" for name, type in kept)
    return f"({types})", [*lines, f"return {', '.join(name for name, _ in kept)}"]


def _does(move: Move, x: str, axis: str) -> str:
    """What a move without weights makes of a value."""
    kind, what = move
    if kind == "times":
        return f"{_number(float(str(what)), 9)} * {x}"
    return _acted(str(what), x) if kind == "act" else str(what).format(axis=axis).replace("(x)", f"({x})")


def _result_name(writer: _Writer, index: int) -> str:
    """What the module calls a result, where a spec can."""
    own = writer.results[index]
    taken = {"x", "E", "memory", "values", "ids", "seq", "source", "target", *writer.depths, *writer.consts, *RESERVED}
    good = own.isidentifier() and own.isascii() and own not in taken and writer.results.count(own) == 1
    return own if good else f"result_{index + 1}"


def _mapped(
    writer: _Writer, stack: Stream, linear: LinearUse, final: bool, axis: str, count: int, path: str, items: str
) -> tuple[str, list[str]]:
    """The axis that a map of the end gives, and its lines. Tied to the embeddings, it is a product with them."""
    table = stack.begin.table
    vocab = next((name for name in ("target_vocab", "vocab") if name in writer.depths), "vocab")
    if table is not None and linear.weight.name == table.name and axis == "model":
        lines = [f"x = dot[{axis}](x, E)"]
        if linear.bias is not None:
            writer.weights[f"{path}bias"] = [linear.bias]
            lines += [f"param bias: [{vocab}] ~ zeros", "x = x + bias"]
        return vocab, lines
    size, name = linear.made, "logits" if final else f"mapped_{count}"
    if final and table is not None and size == table.shape[0] and items:
        out = vocab
    else:
        out = "label" if final else "model" if size == _model(stack) else f"{name}_size"
        writer.depths[out] = str(size)
    return out, [f"x = {_linear(writer, Split.whole(linear), name, axis, out, 'x', path)}"]


# -- maps and norms ------------------------------------------------------------------------------------------------


def _linear_call(split: Split, name: str, given: str, made: str, x: str, named: bool = True) -> str:
    """named: else it is called as what it is assigned to."""
    call = f"linear.{name}[{given} -> {made}]({x}{'' if split.bias is not None else ', bias = false'})"
    return call if named else call.replace(f".{name}[", "[")


def _linear(writer: _Writer, split: Split, name: str, given: str, made: str, x: str, path: str) -> str:
    _linear_weights(writer, split, f"{path}{name}")
    return _linear_call(split, name, given, made, x)


def _linear_weights(writer: _Writer, split: Split, path: str) -> None:
    writer.weights[f"{path}.weight"] = [split.weight]
    if split.bias is not None:
        writer.weights[f"{path}.bias"] = [split.bias]


def _norm(writer: _Writer, norm: NormUse, name: str, axis: str, x: str, path: str) -> str:
    _norm_weights(writer, norm, f"{path}{name}")
    return _norm_call(writer, norm, name, axis, x)


def _norm_call(writer: _Writer, norm: NormUse, name: str, axis: str, x: str) -> str:
    eps = "eps" if norm.eps == writer.eps else _number(norm.eps)
    scale = "" if norm.weight is not None else ", scale = false"
    bias = "" if norm.bias is not None else ", bias = false"
    if norm.kind == "layer" and not norm.plus:
        return f"layernorm.{name}[{axis}]({x}, {eps}{scale}{bias})"
    if norm.kind == "rms" and norm.bias is None and not norm.plus and norm.eps:
        return f"rmsnorm.{name}[{axis}]({x}, {eps}{scale})"
    return f"{_own_norm(writer, norm, eps)}.{name}[{axis}]({x})"


def _own_norm(writer: _Writer, norm: NormUse, eps: str) -> str:
    """A norm that no op is: with the gain 1 + weight, by the unbiased deviation, RMS with a bias or no epsilon."""
    root = "rms_gain_norm" if norm.eps else "length_norm"
    name = {"layer": "gain_norm", "rms": root, "spread": "spread_norm"}[norm.kind]
    if name in writer.spelled:
        return name
    writer.spelled.add(name)
    lines = []
    if norm.kind == "spread":
        lines += ["y = x - mean[d](x)", f"y = y / (sqrt(sum[d](y * y) / (|d| - 1)) + {eps})"]
    elif not norm.eps and norm.kind == "rms":
        lines += ["y = x / sqrt(mean[d](x * x))"]
    else:
        none = ", scale = false, bias = false" if norm.kind == "layer" else ", scale = false"
        op = "layer" if norm.kind == "layer" else "rms"
        lines += [f"y = {op}norm[d](x, {eps}{none})"]
    if norm.weight is not None:
        lines += [f"param weight: [d] ~ {'zeros' if norm.plus else 'ones'}"]
        lines += [f"y = y * {'(1 + weight)' if norm.plus else 'weight'}"]
    if norm.bias is not None:
        lines += ["param bias: [d] ~ zeros", "y = y + bias"]
    writer.blocks.insert(0, _block(f"block {name}[d: depth](x: [d]) -> [d]", [*lines, "return y"]))
    return name


def _norm_weights(writer: _Writer, norm: NormUse, path: str) -> None:
    for piece, leaf in ((norm.weight, "weight"), (norm.bias, "bias")):
        if piece is not None:
            writer.weights[f"{path}.{leaf}"] = [piece]


def _times(factor: float) -> str:
    return "" if factor == 1 else f"{_number(factor)} * "


def _number(number: float, digits: int = 17) -> str:
    """As the language writes it."""
    if number == int(number) and abs(number) < 1e15:
        return str(int(number))
    return f"{number:.{digits}g}" if digits < 17 else repr(number)
