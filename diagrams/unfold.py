FL
class _Flattener:
    def __init__(self, scene: Scene, opening: Opening) -> None:
        self.scene = scene
        self.opening = opening
        self.maker: dict[int, Step] = {}  # of a tensor
        self.tints: dict[str, int] = {}

    # -- graphs

    def top(self, graph: Graph) -> None:
        items: dict[int, Item] = {}
        frame = Frame(graph, {}, {}, None, 0, items, uses(graph))
        for rank, given in enumerate(graph.inputs):
            tensor = Tensor(frame.shown(given.value), given.name, isinstance(given.value.type.element, IndexInto))
            items[given.value.id] = tensor
            tip = f"input {given.name}"
            self.add(
                Step(Kind.SOURCE, "input", [], [tensor], None, text=italic(spaced(given.name)), tip=tip, first=rank)
            )
        self.body(frame)
        results = []
        for output in graph.outputs:
            tensor = self.tensor(frame, items[output.value.id], output.name or "")
            axes = tuple(dict.fromkeys(frame.axis(a) for a in output.axes if frame.axis(a) in tensor.axes))
            results.append((tensor, axes, output.name))
        ends = [Tensor((*axes, *(a for a in t.axes if a not in axes)), name or "") for t, axes, name in results]
        named = [name for _, _, name in results if name]
        self.add(Step(Kind.SINK, "output", [t for t, _, _ in results], ends, None, text=roman("\n".join(named))))

    def body(self, frame: Frame) -> None:
        for node in frame.graph.nodes:
            match node:
                case Constant(value, out):
                    frame.items[out.id] = self.static(frame, value)
                case Positions(axis, out):
                    at = frame.axis(axis)
                    frame.items[out.id] = Formula("position", axis=at, axes=(at,))
                case Parameter(weight, out):
                    frame.items[out.id] = Learned(tail(weight.name), frame.shown(out))
                case Apply():
                    frame.items[node.out.id] = self.apply(frame, node)
                case Call():
                    self.call(frame, node)
                case Repeat():
                    self.repeat(frame, node)

    def static(self, frame: Frame, value: Static) -> Formula:
        return of_static(value, frame.axis, frame.consts)

BLOCKS
    # -- blocks and repeats

    def call(self, frame: Frame, node: Call) -> None:
        how = self.opening.how(node, frame.level)
        axes = {inner: frame.axis(outer) for inner, outer in node.axes}
        for axis in node.graph.lifted:
            axes.setdefault(axis, frame.axis(axis))
        if how is How.CLOSED:
            self.box(frame, node)
            return
        consts = {const.id: self.static(frame, given) for const, given in node.consts}
        inner = Frame(node.graph, axes, consts, frame.section, frame.level + 1, {}, uses(node.graph))
        args = [frame.items[v.id] for v in node.args]
        title = block_title(node)
        section = None
        if how is How.REGION:
            section = self.section(False, title, frame.section)
            args = self.enter(frame, section, args, inner)
            inner.section = section
        for given, item in zip(node.graph.inputs, args, strict=True):
            inner.items[given.value.id] = item
        self.body(inner)
        results = [inner.items[output.value.id] for output in node.graph.outputs]
        if section is not None:
            results = self.leave(inner, frame, section, results)
        for value, result in zip(node.outs, results, strict=True):
            frame.items[value.id] = result

    def repeat(self, frame: Frame, node: Repeat) -> None:
        body = node.bodies[0]
        count = evaluate(node.count)
        shown = (
            str(int(count)) if count is not None else "".join(r.text for r in written(self.static(frame, node.count)))
        )
        if node.shared:
            shown += ", shared weights"
        if len(node.bodies) > 1:  # a static `if` on the index: the first body is drawn, and says that it is not all
            shown += ", passes differ"
        section = self.section(True, shown, frame.section)
        consts = dict(frame.consts)
        if node.index is not None:
            consts[node.index.id] = Formula("symbol", text=node.index.name)
        inner = Frame(body, frame.axes, consts, section, frame.level, {}, uses(body))
        args = [frame.items[v.id] for v in node.args]
        for i in range(node.carried):  # what goes round must be wires
            args[i] = self.tensor(frame, args[i], node.args[i].name or "")
        args = self.enter(frame, section, args, inner, node.carried)
        for given, item in zip(body.inputs, args, strict=True):
            inner.items[given.value.id] = item
        self.body(inner)
        results = [inner.items[output.value.id] for output in body.outputs]
        for value, result in zip(node.outs, self.leave(inner, frame, section, results), strict=True):
            frame.items[value.id] = result

    def section(self, repeat: bool, title: str, parent: Section | None) -> Section:
        tint = 0
        if not repeat:
            first = self.tints.setdefault(title, len(self.tints))
            around = parent
            taken = set()
            while around is not None:
                if not around.repeat:
                    taken.add(around.tint)
                around = around.parent
            tint = next((t % _TINTS for t in range(first, first + _TINTS) if t % _TINTS not in taken), first % _TINTS)
        section = Section(repeat, title, parent, tint)
        self.scene.sections.append(section)
        return section

    def enter(
        self, frame: Frame, section: Section, args: Sequence[Item], inner: Frame, carried: int | None = None
    ) -> list[Item]:
        """The border going in: every tensor that is read inside gets a port."""
        ports: dict[int, Tensor] = {}
        step = Step(Kind.ENTER, "bracket" if section.repeat else "border", [], [], frame.section, border=section)
        out: list[Item] = []
        for i, (given, item) in enumerate(zip(inner.graph.inputs, args, strict=True)):
            swapped = item
            if isinstance(item, Formula) and item.leaves and inner.reads.get(given.value.id):
                swapped = self.tensor(frame, item)
            if isinstance(swapped, Tensor):
                fresh = carried is not None and i < carried  # goes round by itself even if two begin as one
                if id(swapped) not in ports or fresh:
                    port = Tensor(swapped.axes, swapped.name, swapped.index)
                    step.ins.append(swapped)
                    step.outs.append(port)
                    ports[id(swapped)] = port
                    swapped = port
                else:
                    swapped = ports[id(swapped)]
            out.append(swapped)
        section.outside = max(0, len(step.ins) - carried) if carried is not None else 0
        section.enter = self.add(step)
        return out

    def leave(self, inner: Frame, frame: Frame, section: Section, results: Sequence[Item]) -> list[Item]:
        ports: dict[int, Tensor] = {}
        step = Step(Kind.EXIT, "bracket" if section.repeat else "border", [], [], frame.section, border=section)
        out: list[Item] = []
        for item in results:
            swapped = self.tensor(inner, item)
            if id(swapped) not in ports:
                ports[id(swapped)] = Tensor(swapped.axes, swapped.name, swapped.index)
                step.ins.append(swapped)
                step.outs.append(ports[id(swapped)])
            out.append(ports[id(swapped)])
        section.exit = self.add(step)
        return out

    def box(self, frame: Frame, node: Call) -> None:
        """A block kept closed: touched by all wires of what it receives."""
        ins: list[Tensor] = []
        seen: Pattern | None = None
        constants = uses(node.graph)
        for given, value in zip(node.graph.inputs, node.args, strict=True):
            item = frame.items[value.id]
            if not constants.get(given.value.id):
                continue
            if isinstance(item, Formula) and not item.axes and not item.leaves:
                continue
            if isinstance(item, Formula) and item.boolean:
                columns = item.axes[-1]
                rows = item.axes[0] if len(item.axes) > 1 else None
                axes = [frame.axis(dict(node.axes).get(a, a)) for a in given.value.type.axes]
                if len(item.axes) > 1 and axes and set(item.axes) <= set(axes):
                    rows, columns = (a for a in axes if a in item.axes)  # as the formal has them
                found = pattern(item, rows, columns) if len(item.axes) <= 2 else None
                seen = found if found is not None and not all(map(all, found)) else seen
                ins.extend(leaf for leaf in item.leaves if all(leaf is not t for t in ins))
                continue
            ins.append(self.tensor(frame, item, given.name))
        title = block_title(node)
        outs = [Tensor(frame.shown(v), v.name or "") for v in node.outs]
        for value, tensor in zip(node.outs, outs, strict=True):
            frame.items[value.id] = tensor
        tint = self.tints.setdefault(node.graph.name, len(self.tints))
        tip = f"{node.graph.name} {node.name}".strip()
        kind = Kind.BOX if ins else Kind.SOURCE
        self.add(
            Step(
                kind, "block", ins, outs, frame.section, text=roman(title), pattern=seen, tint=tint, tip=tip, late=True
            )
        )



TITLE
def block_title(node: Call) -> str:
    """`multihead.self` is called "self multihead"; a label that is the block's own name is not said twice."""
    block = spaced(node.graph.name)
    label = spaced(tail(node.name))
    return block if not label or label == block else f"{label} {block}"


