"""Steps that nothing reads are dropped, and a value that is read n times is copied, once for each reader."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from .steps import DrawStep, Enters, Scene, Section, StepKind
from .tensors import Tensor


def prune(scene: Scene) -> None:
    """Drop the steps and results that nothing reads, so that every wire leads somewhere.

    What is carried from pass to pass, and read in a pass, is kept, even if nothing reads it behind the last one.
    """
    kept = {key for step in scene.steps for key in step.kept}
    live = _live(scene.steps, kept)
    carried = [pair for section in scene.sections for pair in section.carried]
    while more := {id(result) for port, result in carried if id(port) in live} - kept:
        kept |= more
        live = _live(scene.steps, kept)
    out: list[DrawStep] = []
    for step in scene.steps:
        if step.kind in (StepKind.ENTER, StepKind.EXIT):
            _prune_border(step, live, kept)
        elif step.kind is not StepKind.SINK:
            step.outs = [t for t in step.outs if id(t) in live]
        if step.outs or step.kind is StepKind.SINK:
            out.append(step)
    scene.steps = out
    alive = {id(step) for step in scene.steps}
    for section in scene.sections:
        if section.enter is not None and id(section.enter) not in alive:
            section.enter = None
            section.loops = () if section.streams is None else section.loops
        if section.exit is not None and id(section.exit) not in alive:
            section.exit = None
    scene.sections = [s for s in scene.sections if s.enter is not None or s.exit is not None]


def _prune_border(step: DrawStep, live: Collection[int], kept: Collection[int]) -> None:
    """What goes on, and what is carried to the next pass but ends here behind the last one."""
    on = [k for k, out in enumerate(step.outs) if id(out) in live]
    ending = [k for k, x in enumerate(step.ins) if k not in on and id(x) in kept]
    section, running = step.border, [k for k, how in enumerate(step.enters) if how is Enters.RUNNING]
    if section is not None and running:
        section.loops = tuple(name for name, k in zip(section.loops, running, strict=True) if k in on)
    step.ports = tuple(step.ports[k] for k in (*on, *ending)) if step.ports else ()
    step.enters = tuple(step.enters[k] for k in on) if step.enters else ()
    step.ins, step.outs = [step.ins[k] for k in (*on, *ending)], [step.outs[k] for k in on]


def _live(steps: Sequence[DrawStep], kept: Collection[int]) -> set[int]:
    """The tensors (by id) that are read on the way to a result. kept: operands of a closing bracket that are needed if
    anything comes out of it."""
    live: set[int] = set()
    for step in reversed(steps):
        if step.kind is StepKind.SINK:
            live.update(id(t) for t in step.ins)
        elif any(id(t) in live for t in step.outs):
            if step.kind in (StepKind.ENTER, StepKind.EXIT):
                pairs = zip(step.ins, step.outs, strict=True)
                live.update(id(a) for a, b in pairs if id(b) in live or id(a) in kept)
            else:
                live.update(id(t) for t in step.ins)
    return live


def split_copies(scene: Scene) -> None:
    """Insert copy steps until every tensor has one reader. A relabelling that would read a copy becomes the copy."""
    readers: dict[int, list[tuple[DrawStep, int]]] = {}
    for step in scene.steps:
        for at, tensor in enumerate(step.ins):
            readers.setdefault(id(tensor), []).append((step, at))
    depth = _depths(scene.steps, readers)
    gone: set[int] = set()
    extra: dict[int, list[DrawStep]] = {}

    def split(tensor: Tensor, among: list[tuple[DrawStep, int]], section: Section | None) -> DrawStep | None:
        """A copy step for the nearest readers. All others share one more copy, which is copied again when they come."""
        if len(among) < 2:
            return None
        nearest = min(depth[id(s)] for s, _ in among)
        now = [r for r in among if depth[id(r[0])] <= nearest + 1]
        rest = among[len(now) :] if now == among[: len(now)] else [r for r in among if r not in now]
        copy = DrawStep(StepKind.COPY, "copy", [tensor], [], section, tip="copy")
        if len(rest) == 1:
            now, rest = among, []
        for step, at in now:
            if step.kind is StepKind.COPY and step.mark == "copy" and len(step.outs) == 1 and step.section is section:
                copy.outs.append(step.outs[0])
                gone.add(id(step))
            else:
                strand = Tensor(tensor.axes, tensor.name, tensor.index)
                step.ins[at] = strand
                copy.outs.append(strand)
        if rest:
            strand = Tensor(tensor.axes, tensor.name, tensor.index)
            copy.outs.append(strand)
            for step, at in rest:
                step.ins[at] = strand
            again = split(strand, rest, section)
            if again is not None:
                extra.setdefault(id(copy), []).append(again)
        return copy

    out: list[DrawStep] = []
    for step in scene.steps:
        if id(step) in gone:
            continue
        out.append(step)
        inside = step.border if step.kind is StepKind.ENTER else step.section
        for tensor in step.outs:
            among = [r for r in readers.get(id(tensor), ()) if id(r[0]) not in gone]
            copy = split(tensor, among, inside)
            while copy is not None:
                out.append(copy)
                later = extra.get(id(copy))
                copy = later[0] if later else None
    scene.steps = [s for s in out if id(s) not in gone]
    # A relabelled strand may itself be read several times.
    _copies_again(scene)


def _copies_again(scene: Scene) -> None:
    readers: dict[int, int] = {}
    for step in scene.steps:
        for tensor in step.ins:
            readers[id(tensor)] = readers.get(id(tensor), 0) + 1
    if any(count > 1 for count in readers.values()):
        split_copies(scene)


def _depths(steps: Sequence[DrawStep], readers: Mapping[int, list[tuple[DrawStep, int]]]) -> dict[int, int]:
    """How many steps lie before each step, on the longest way from the inputs."""
    depth: dict[int, int] = {}
    ready: dict[int, int] = {}
    entered: dict[int, int] = {}
    for step in steps:
        at = max((ready.get(id(t), 0) for t in step.ins), default=0)
        if step.section is not None:
            at = max(at, entered.get(id(step.section), 0))
        depth[id(step)] = at
        if step.border is not None and step.kind is StepKind.ENTER:
            entered[id(step.border)] = at + 1
        for tensor in step.outs:
            ready[id(tensor)] = at + 1
    return depth
