"""Who makes and reads what, and what a graph's own axes and consts stand for where it runs."""

from __future__ import annotations

from collections.abc import Iterator

from attnc.compiler.check import build
from attnc.compiler.graph.core.index import OUTERMOST, Index, Site, index_of, path_of
from attnc.compiler.graph.nodes import Apply, Call, Graph, Repeat, Scan, children, makes, nested, reads, values_of
from attnc.compiler.sizes.axes import Axis, ConstOf, SizeOf, axes_in, consts_in, known, show_static
from attnc.dsl.base.records import replace
from attnc.dsl.source import Source
from tests.soundness.generate import generate
from tests.soundness.judge import load


def graph_of(text: str, name: str = "f") -> Graph:
    lines = text.replace("{ ", "{\n").replace(" }", "\n}").replace("; ", "\n")
    program = build(Source("main.attn", lines))
    assert not program.errors, program.errors[0].message
    return program.graph(name)


def random_graphs(seeds: range) -> Iterator[Graph]:
    for seed in seeds:
        program = generate(seed)
        spec = load(program.text, program)
        yield from (spec.model(name).graph for name in spec.models)


def test_tables_say_what_nodes_say() -> None:
    for graph in nested(*random_graphs(range(12))):
        index = index_of(graph)
        assert index is index_of(graph)
        for value in values_of(graph):
            uses = [
                (node, place) for node in graph.nodes for place, one in enumerate(reads(node)) if one.id == value.id
            ]
            assert index.readers.get(value.id, ()) == tuple(uses)
            result = any(output.value.id == value.id for output in graph.outputs)
            assert index.alone(value) == (len(uses) == 1 and not result)
            assert (value.id in index.used) == (bool(uses) or result)
            maker, place = index.makers.get(value.id, (None, 0))
            assert index.maker(value) is maker
            if maker is None:
                assert graph.inputs[index.inputs[value.id]].value.id == value.id
            else:
                assert makes(maker)[place].id == value.id
                assert value.id not in index.inputs
                assert index.op(value) is (maker if isinstance(maker, Apply) else None)


def test_a_number_is_known_by_any_name() -> None:
    spec = "width t; width u like t; depth d = 4; block f(x: [t, d], n: int[]) -> (a: [t, d]) { BODY }"
    for body, shown in (
        ("a = broadcast[t, d](1.5); return a", "1.5"),
        ("a = broadcast[u, d](|t|)[u as t]; return 1.0 * a", "None"),
        ("a = broadcast[u, d](2.5)[u as t]; return a", "2.5"),
        ("a = broadcast[t, d](1.0 * n); return a", "None"),
        ("return x", "None"),
    ):
        graph = graph_of(spec.replace("BODY", body))
        number = index_of(graph).number(graph.outputs[0].value)
        assert (None if number is None else show_static(number)) == (None if shown == "None" else shown), body


PLACES = """
width seq; width short = seq / 2; depth model = 8
block inner[t: width, past: width like t, n: const = 1](x: [t], y: [past]) -> [t] {
    return x * n + broadcast[t](sum[past](y) * |past|)
}
block middle[s: width, k: const = 2](x: [s]) -> [s] {
    repeat.twice i in 2 { x = inner.same[s, s, n = k + i](x, x) }
    return x
}
model f(x: [seq], y: [short], z: [seq, model]) -> (a: [seq], b: [short], c: [seq, model]) {
    return middle.one[seq](x), middle.two[short, k = 3](y), middle.three[seq, k = 3](z)
}
"""


def sites(graph: Graph, site: Site = OUTERMOST, path: str = "") -> Iterator[tuple[str, Graph, Site]]:
    yield path, graph, site
    for node in graph.nodes:
        if isinstance(node, Call | Repeat | Scan):
            for inner in children(node):
                yield from sites(inner, site.inside(node), path + path_of(node))


def test_axes_and_consts_stand_for_those_of_the_outermost_graph() -> None:
    graph = graph_of(PLACES)
    found = {}
    for path, inner, site in sites(graph):
        if inner.name == "inner":
            t, past = inner.axes
            local = Axis(-7, "local", t.kind, "", None, None, None, t.family, None)
            assert site.axis(local) == site.axis(t), "one of its family stands for what it is a copy of"
            (n,) = inner.consts
            found[path] = site.axis(t).name, site.axis(past).name, show_static(site.number(ConstOf(n)))
            assert not consts_in(site.number(ConstOf(n))) or n.value is None
    assert set(found) == {"one.twice.*.same.", "two.twice.*.same.", "three.twice.*.same."}
    assert [names[0] for names in found.values()] == ["seq", "short", "seq"]
    assert [names[1] for names in found.values()] == ["seq", "short", "seq"]


def test_a_site_hangs_on_no_name() -> None:
    graph = graph_of(
        "width seq; depth d = 4; block g(x: [seq, d]) -> [seq, d] { return linear.w[d -> d](x) }; "
        "model f(x: [seq, d]) -> [seq, d] { return g.a(g.b(x)) }"
    )
    one, other = (node for node in graph.nodes if isinstance(node, Call))
    assert one.graph is other.graph
    assert OUTERMOST.inside(one) == OUTERMOST.inside(other)
    assert path_of(one) != path_of(other)


def test_sizes_given_as_consts_are_those_of_the_outermost_graph() -> None:
    """A const that a block in the middle makes of its own axis is said in the axis that this stands for."""
    graph = graph_of(
        "width seq; depth d = 4; block low[n: const = 1](x: [d]) -> [d] { return x * n }; "
        "block middle[s: width](x: [s, d]) -> [d] { return low.l[n = |s|](sum[s](x)) }; "
        "model f(x: [seq, d]) -> [d] { return middle.m[seq](x) }"
    )
    (numbers,) = ([site.number(ConstOf(c)) for c in g.consts] for path, g, site in sites(graph) if path == "m.l.")
    assert numbers == [SizeOf(graph.inputs[0].value.type.axes[0])]
    assert [axis.name for axis in axes_in(numbers[0])] == ["seq"]
    assert known(numbers[0]) is None


def test_an_index_goes_with_its_graph() -> None:
    graph = graph_of("depth d = 4; block f(x: [d]) -> [d] { return tanh(x) }")
    assert isinstance(index_of(graph), Index)
    assert index_of(replace(graph, nodes=graph.nodes)).graph is not graph
