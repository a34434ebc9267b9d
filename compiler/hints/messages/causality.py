"""Claims of causality that are not proved, in words: the path of the leak, a witness of it, and how to mend it."""

from __future__ import annotations

import re

from ....dsl.base.records import replace
from ....dsl.diagnostic import Diagnostic
from ....dsl.source import Span
from ...base.names import indexed
from ...graph.nodes import Apply, Graph, Node, Repeat, ops_in
from ...graph.traits import Arrange, Gather, IndexMap, Normalise, OpTraits, Reduce, Running, Window
from ...graph.values import Role
from ...ops import OPS
from ...problems import causality as p
from ...problems.causality import Trace, Tried, Witness
from ...sizes.axes import Axis, axes_in
from ...sizes.forms import STEPS, least, show, without_quotients
from ...sizes.limits import BOUNDS, CASES, FACTS, ProofLimit
from ..table import say, tells
from ..words import Wording

STEPS_SHOWN = 20  # of the path of a leak
_MET = {
    ProofLimit.FACTS: f"of a mask it keeps {FACTS} of the comparisons that `and` joins",
    ProofLimit.CASES: f"of a mask it tells {CASES} cases apart that `or` joins",
    ProofLimit.STEPS: f"of the comparisons of a mask it puts {STEPS} together",
    ProofLimit.BOUNDS: f"of a value it keeps {BOUNDS} bounds of what it depends on",
}
_FEWER = {
    ProofLimit.FACTS: "join fewer comparisons of places with `and` in one mask",
    ProofLimit.CASES: "join fewer cases with `or`, or say behind them what holds in all, `(.. or ..) and ..`",
    ProofLimit.STEPS: "join fewer comparisons of places with `and` in one mask",
    ProofLimit.BOUNDS: "put fewer items that stand at different places into one value",
}


@tells(p.Unproved)
def unproved(problem: p.Unproved, words: Wording) -> Diagnostic:
    trace, graph, axis, claim, place = problem.trace, problem.graph, problem.axis, problem.claim, problem.span
    steps = [*trace.path][::-1]
    shown = list(enumerate(steps, 1))
    if len(shown) > STEPS_SHOWN:
        shown = [*shown[: STEPS_SHOWN // 2], *shown[-(STEPS_SHOWN // 2) :]]
    notes = [f"{number}. {step.text}" + (f"  ({_where(step.span)})" if step.span else "") for number, step in shown]
    if len(shown) < len(steps):
        notes.insert(STEPS_SHOWN // 2, f"... {len(steps) - len(shown)} steps more ...")
    related = [(step.span, f"{number}. {step.text}") for number, step in shown if step.span is not None]
    seen = [item for item in related if item[0].source is claim.source]
    last = f". {trace.text}"  # a step told at a part of it, such as its mask, is not told at the whole, too
    here = next((said for span, said in reversed(seen) if span == place or said.endswith(last)), "")
    path = ["the path of the leak:", *notes] if len(seen) < len(steps) else []
    witness, trusted = problem.witness, problem.trusted
    if witness is not None:
        says = f"is not causal along `{axis.name}`: {_changes(witness, graph, axis)}"
        path = [_at_sizes(witness), *path]
        mend = _help(trace, steps, graph, axis)
        help = f"{mend}, or drop the claim" if mend else "drop the claim"
    elif trusted is not None:
        says = f'is taken to be causal along `{axis.name}` because "{trusted.text}": no proof says so'
        path, help = [*_limits(problem), _searched(problem.tried), *path], ""
    else:
        says = f"is not proved causal along `{axis.name}`: an item of its result may depend on {_reached(problem)}"
        path = [*_limits(problem), _searched(problem.tried), *path]
        mend = "; ".join(dict.fromkeys(_FEWER[limit] for limit in _met(problem))) or _help(trace, steps, graph, axis)
        trust = f'say why it holds: `causal {axis.name} trusted "..."`'
        help = f"{mend}; or {trust}" if mend else trust
    return say(
        problem,
        f"`{graph.name}` {says}",
        here or (trace.text if place != claim else f"`causal {axis.name}` does not hold"),
        related=[
            *((span, said) for span, said in seen if said != here),
            *([(claim, f"`causal {axis.name}` is claimed")] if place != claim else ()),
        ],
        notes=path,
        help=help,
    )


@tells(p.OwnTarget)
def own_target(problem: p.OwnTarget, words: Wording) -> Diagnostic:
    axis, along, source, unread = problem.axis.name, problem.along.name, problem.source, problem.unread
    behind = f"``where {axis} + {unread} < |{axis}|``"
    last, count, its = ("last item", "counts", "its") if unread == 1 else (f"last {unread} items", "count", "their")
    match problem.edge:
        case "last":
            message = f"the {last} of `{axis}` {count}, and {its} own logits have read {its} target in `{source}`"
            help = f"nothing comes after the last: leave out the {last}, {behind}"
        case "first":
            message = f"the first item of `{axis}` is fed its own target in `{source}`"
            help = (
                f"feed it a token that begins, ``select({along} == 0, index[{problem.classes.name}](0), before)``, or "
                f"leave it out, ``where {axis} > 0``"
            )
        case _:
            message = f"the logits at each item of `{axis}` have read the item of `{source}` that is their target"
            next_one = "what comes next" if unread == 1 else f"the first item that they have not read, {unread} on"
            help = (
                f"ask for {next_one}, ``{source}[{along} = min({along} + {unread}, |{along}| - 1)]``, and leave out "
                f"the {last}, {behind}"
            )
            if problem.by == 0 and unread == 1:
                help += (
                    f"; or feed what stands before, ``{source}[{along} = max({along} - 1, 0)]``, and to the first item "
                    "something else"
                )
            elif problem.by == 1 and unread == 2:
                help += f"; or feed ``{source}`` as it is"
    return say(
        problem,
        message,
        related=[(problem.loss, "the loss of each item")] if problem.loss not in (None, problem.span) else [],
        help=re.sub("``(.+?)``", lambda code: words.quoted(code[1]), help),
    )


def _reached(problem: p.Unproved) -> str:
    """What an item of the result depends on."""
    bound, here, axis = problem.bound, problem.here, problem.axis
    if all(axis.family in form.families for form in bound):
        return f"items of `{axis.name}` after it"
    form = without_quotients(least(bound)[0])
    after, offset = (form - here).value, form.offset
    if after is not None:
        return f"the item {after} after it"
    if form.value is not None:
        return f"the item {form.value} after it"
    if offset is not None:
        return f"items along `{offset[0].name}`, which may come after it"
    return f"items up to `{show(form)}`, as far as the proof can tell"


def _changes(witness: Witness, graph: Graph, axis: Axis) -> str:
    """A leak in words."""
    output = graph.outputs[witness.result]
    result = f"`{output.name}`" if output.name else "its result"
    if witness.appended:
        cause = f"another item of `{axis.name}` behind the last one"
    else:
        cause = f"item {witness.item} of `{witness.input}`"
    return f"{cause} changes item {witness.reached} of {result}"


def _at_sizes(witness: Witness) -> str:
    """By how much, and where that was seen."""
    sizes = ", ".join(f"{name} = {size}" for name, size in witness.sizes.items())
    where = f" and {sizes}" if sizes else ""
    return (
        f"with random weights and inputs{where} it changes by {witness.change:.2g} ({witness.share:.2g} standard "
        "deviations); items count from 0"
    )


def _limits(problem: p.Unproved) -> list[str]:
    """That the proof did not end for want of a rule alone."""
    met = " and ".join(_MET[limit] for limit in _met(problem))
    return [f"the proof met a limit of its own, which may be why it failed: {met}"] if met else []


def _met(problem: p.Unproved) -> list[ProofLimit]:
    """The limits that the last step may have failed for: of a mask, where it has one; of bounds, where none is left."""
    node = problem.trace.node
    masked = node is not None and (node.mask is not None or isinstance(node.traits.reads, Reduce))
    return [each for each in problem.limits if (not problem.bound if each is ProofLimit.BOUNDS else masked)]


def _searched(tried: Tried | None) -> str:
    """What trials say where they found no leak."""
    if tried is None:
        return "no trial was made"
    if not tried.trials:
        return f"no trial was made: {tried.reason}"
    return f"{tried.trials} trials at small sizes found no leak"


def _help(trace: Trace, steps: list[Trace], graph: Graph, axis: Axis) -> str:
    """How to mend it; "" where nothing fits."""
    if trace.again and trace.before is not None:  # what each pass does
        trace = replace(trace.before, again=True)
    length = _length(trace, axis)
    if length:
        return length
    match trace.node:
        case Apply(traits=OpTraits(reads=Arrange(IndexMap.MIRRORED))):
            return f"leave `{trace.node.op}` out"
    read = _groups(steps, axis)
    if read is None:
        return _masked(trace, graph, axis)
    over = _groups_over(trace.node, read, axis, graph)
    if over:
        return over
    group, *copies = sorted({each for each in (read, *graph.axes) if each.family == read.family}, key=_declared)
    copy = copies[0].name if copies else "before"
    declared = "" if copies else f" with `before` a copy of `{group.name}`"
    made = [step.node for step in steps if step.node is not None and any(each in copies for each in step.node.axes)]
    items = [(a, b) for node in made for a in node.axes if a not in copies for b in node.out.type.axes if _alike(a, b)]
    own = "".join(f" or ({copy} == {group.name} and {there.name} <= {here.name})" for there, here in items[:1])
    return (
        "groups are compared with groups alone: split what reads them, too, and let in those before its own, "
        f"`where {copy} < {group.name}{own}`{declared}"
    )


def _groups_over(node: Node | None, group: Axis, axis: Axis, graph: Graph) -> str:
    """Where items of the axis itself read groups: the mask that lets in those that are over; "" where none can."""
    if not isinstance(node, Apply) or not node.traits.masked:
        return ""
    if group not in node.axes or axis not in node.out.type.axes:
        return ""
    digits = (each.made for each in ops_in(graph) if each.traits.reads == Arrange(IndexMap.DIGITS))
    part = next((made[1] for made in digits if len(made) == 2 and made[0].family == group.family), None)
    if part is None:
        return ""
    ends = f"{group.name} * |{part.name}| + |{part.name}| - 1"
    return f"let in the groups that are over, `where {ends} <= int({axis.name})`"


def _length(trace: Trace, axis: Axis) -> str:
    """What is said of a length that tells what is to come, in place of a mask; "" if the last step is none such."""
    node, span = trace.node, trace.span
    if node is None and span is not None and trace.text.endswith("tells how many items there are"):
        fixed = f"in place of `{span.text}` write a number that is fixed, such as `1024`"
        if span.text != f"|{axis.name}|":
            return f"no mask mends it: {fixed}"
        so_far = f"how many there have been, `({axis.name} + 1)`"
        before = span.source.text[: span.start]
        sums = re.search(rf"(\w+)\[{axis.name}\]\([^\n]*\)\s*/\s*$", before)
        if sums is not None and sums[1] in OPS and isinstance(OPS[sums[1]].reads, Running):
            return f"no mask mends it: in place of `{span.text}` write {so_far}"
        return f"no mask mends it: {fixed}, or {so_far}"
    mask = node.mask if node is not None else None
    if mask is None or mask.span is None:
        return ""
    name, text = axis.name, mask.span.text
    ends = re.search(rf"[<>]=? *\|{name}\|", text) is not None and axis not in mask.type.axes
    if not ends or re.search(rf"(?<!\|)\b{name}\b(?!\|)", text):
        return ""
    written = text.replace(f"|{name}|", f"int({name})")
    return f"`|{name}|` is where all items end; the place of each is `int({name})`: `{written}`"


def _alike(axis: Axis, other: Axis) -> bool:
    return axis.family == other.family and axis != other


def _declared(axis: Axis) -> int:
    return axis.span.start if axis.span is not None else 0


def _masked(trace: Trace, graph: Graph, axis: Axis) -> str:
    """How to make the last step read nothing that comes after."""
    copies = sorted((each for each in graph.axes if _alike(each, axis)), key=_declared)
    new, node = "past" if axis.name != "past" else "before", trace.node
    at_hand = all(isinstance(around, Repeat) for around, _ in trace.via)  # a pass has the axes of what repeats it
    if node is not None and at_hand and node.traits.masked:
        match node.traits.reads:
            case Reduce() as how:
                read = next((each for each in node.axes if _alike(each, axis)), None)
                if read is not None:
                    return _with_mask(node, read, axis) + _spread(node, axis)
                if axis in node.axes:
                    declared = "" if copies else f", with `{axis.kind.value} {new} like {axis.name}`"
                    over = _over_copy(node, how, axis, copies[0].name if copies else new)
                    return over + declared + _spread(node, axis)
            case Normalise():
                alike = [each for each in node.out.type.axes if each.family == axis.family]
                eaten = [each for each in alike if each in node.axes]
                items = [each for each in alike if each not in node.axes]
                if not items and axis not in eaten:  # the result has it from the mask alone
                    items = [axis]
                if len(eaten) == len(items) == 1:
                    return _with_mask(node, eaten[0], items[0])
    if node is not None and at_hand:
        match node.traits.reads:
            case Gather() if axis in node.axes and node.operands[1].role is Role.TABLE and not trace.again:
                return f"read an item that is not after it, at an index such as `max({axis.name} - 1, 0)`"
            case Gather():
                return _picked(node, axis)
            case Window() if node.axes[0].family == axis.family and node.made[0] == node.axes[0]:
                return f"let it read back alone, `pad = |{node.made[1].name}| - 1`"
    return "" if node is None else _elsewhere(trace, node, axis)


def _picked(node: Apply, axis: Axis) -> str:
    """An index that picks nothing after the item that is made; "" where the result has no such items."""
    here = next((each for each in node.out.type.axes if each.family == axis.family), None)
    index = node.operands[1]
    text = index.name or (index.span.text if index.span is not None else "")
    shown = text if 0 < len(text) <= 40 and "\n" not in text else ".."
    same = node.axes[0].family == axis.family
    return (
        f"read an item that is not after it, at an index such as `min({shown}, {here.name})`" if here and same else ""
    )


def _elsewhere(trace: Trace, node: Apply, claimed: Axis) -> str:
    """What the mask of an op in a block, or of what an op multiplies, must keep, in the axes of the claim."""
    read = [outward for each in node.axes if (outward := _outward(each, trace)) is not None]
    items = [outward for each in node.out.type.axes if (outward := _outward(each, trace)) is not None]
    pairs = [(a, b) for a in read for b in items if _alike(b, a) and a.family == claimed.family]
    if not pairs or not isinstance(node.traits.reads, Reduce | Normalise):
        return ""
    there, here = pairs[0]
    axis = node.axes[read.index(there)] if len(read) == len(node.axes) else node.axes[0]
    keeps = f"{there.name} <= {here.name}"
    if node.mask is not None:
        return f"let its mask keep nothing that comes after, `{keeps}`"
    made = {each.out.id: each for each in trace.home.nodes if isinstance(each, Apply)} if trace.home is not None else {}
    weights = next((each for each in node.operands if {axis, *node.out.type.axes} & {*each.type.axes} > {axis}), None)
    maker = made.get(weights.id) if weights is not None else None
    if maker is not None and isinstance(maker.traits.reads, Normalise) and maker.mask is None:
        return f"mask what comes after, `{maker.op}[{there.name}](s where {keeps})`"
    if node.traits.masked:
        return f"mask what comes after, `{node.op}[{there.name}](x where {keeps})`"
    name = weights.name if weights is not None and weights.name else "x"
    return f"make 0 of what comes after, `select({keeps}, {name}, 0)`"


def _outward(axis: Axis, trace: Trace) -> Axis | None:
    """What an axis of the last step is called where the claim stands; None if it is a block's own."""
    found: Axis | None = axis
    for around, _ in trace.via:
        if found is not None and not isinstance(around, Repeat):
            found = dict(around.axes).get(found)
    return found


def _with_mask(node: Apply, read: Axis, item: Axis) -> str:
    """The op with a mask that keeps what is not after an item."""
    over_all = ", ".join(each.name for each in node.axes) + "".join(f" -> {each.name}" for each in node.made)
    seen = f"{_operand(node)} where {_kept(node)}{read.name} <= {item.name}"
    return f"mask what comes after, `{node.op}[{over_all}]({seen})`"


def _over_copy(node: Apply, how: Reduce, axis: Axis, past: str) -> str:
    """The op over a copy of the axis, masked; or the op that puts together the items up to each."""
    name, alone = axis.name, node.mask is None and not how.multiplies
    rows = [op for op in OPS.values() if isinstance(op.reads, Running) and op.reads.combination == how.combination]
    rest = ", ".join(each.name for each in node.axes if each != axis)
    inner = f"{node.op}[{rest}]({_operand(node)})" if rest else _operand(node)
    by_step = f", or `{rows[0].name}[{name}]({inner})`" if rows and alone else ""
    made = "".join(f" -> {each.name}" for each in node.made)
    over_all = ", ".join(past if each == axis else each.name for each in node.axes) + made
    read_as = past if _operand(node) == name else indexed(_operand(node), f"[{name} as {past}]")
    seen = f"{read_as} where {_kept(node, axis, past)}{past} <= {name}"
    return f"each `{name}` may read what is not after it: `{node.op}[{over_all}]({seen})`{by_step}"


def _spread(node: Apply, axis: Axis) -> str:
    """What is to go around an op, or around its result, that then has its axis itself."""
    if node.span is None:
        return ""
    text, name = node.span.source.text, node.out.name
    around = re.search(r"(broadcast\[[\w, ]+\])\($", text[: node.span.start])
    found = around or (re.search(rf"(broadcast\[[\w, ]+\])\({name}\)", text[node.span.end :]) if name else None)
    spread = re.findall(r"\w+", found[1])[1:] if found is not None else []
    if found is None or axis.name not in spread:
        return ""
    where = "around it" if around is not None else f"of `{name}`"
    left = ", ".join(each for each in spread if each != axis.name)
    return f", with `broadcast[{left}]` for the `{found[1]}` {where}" if left else f", without the `{found[1]}` {where}"


def _operand(node: Apply) -> str:
    """The operand of an op as the spec writes it, if that is short."""
    text = node.span.text if node.span is not None else ""
    found = re.fullmatch(r"\w+\[[^]]*\]\((.*?)([ \n]where\b.*)?\)", text, re.DOTALL)
    inner = found[1].strip() if found is not None else ""
    closed = all(inner.count(a) == inner.count(b) for a, b in ("()", "[]"))
    return inner if 0 < len(inner) <= 60 and closed and "\n" not in inner else "..."


def _kept(node: Apply, axis: Axis | None = None, copy: str = "") -> str:
    """The conditions of an op's own mask, followed by `and`: the help keeps them.

    It keeps no comparison, which may be the leak itself, unless it bounds a distance. If the op is to read a copy of
    the axis, so are these.
    """
    mask = node.mask
    if mask is None or mask.span is None:
        return ""
    text, data = mask.span.text, mask.role is Role.DATA
    if mask.name and data:  # a name of data says what is real; one of positions may stand for any comparison
        text = mask.name
    whole = re.search(r"\bor\b|[\[(][^])]*\band\b", text) is not None
    parts = [text] if whole else [part.strip() for part in re.split(r"\band\b", text)]
    kept = [part for part in parts if not re.search("[<>]", part) or re.search(r"\w - \w+ <=? ", part)]
    if not kept:
        return ""
    shown = mask.name if mask.name and len(kept) == len(parts) else " and ".join(kept)
    if axis is not None and axis in mask.type.axes:
        shown = indexed(shown, f"[{axis.name} as {copy}]")
    return f"({shown}) and " if re.search(r"\bor\b", shown) and axis is None else f"{shown} and "


def _groups(steps: list[Trace], axis: Axis) -> Axis | None:
    """The width of groups of items that the path leads along: one that derives from the axis, or a copy of it."""

    def derives(width: Axis) -> bool:
        parts = axes_in(width.size) if width.is_width and width.size is not None else []
        return width.family != axis.family and any(part.family == axis.family or derives(part) for part in parts)

    widths = [width for step in reversed(steps) if step.node is not None for width in step.node.axes]
    return next((width for width in widths if derives(width)), None)


def _where(span: Span) -> str:
    line, column = span.source.position(span.start)
    return f"{span.source.name}:{line}:{column}"
