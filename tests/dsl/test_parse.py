"""The syntax tree of every construct."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from attnc.dsl import syntax as s
from attnc.dsl.parse import parse
from attnc.dsl.source import Source, Span

TOUR = Path(__file__).with_name("tour.attn").read_text("utf-8")


def read(text: str) -> s.File:
    file, problems = parse(Source("t.attn", text))
    assert problems == []
    return file


def item(text: str) -> Any:
    (only,) = read(text).items
    return only


def body(*lines: str) -> tuple[s.Statement, ...]:
    block = item("block f() {\n" + "\n".join(lines) + "\n}")
    assert isinstance(block, s.BlockDecl)
    return block.body


def expression(text: str) -> Any:
    (statement,) = body(f"y = {text}")
    assert isinstance(statement, s.Assign)
    return statement.value


def show(node: object) -> object:
    """A tree as nested lists of plain values."""
    match node:
        case s.Ident(text) | s.Name(text):
            return text
        case s.NumberLiteral(value) | s.Truth(value):
            return value
        case s.Binary(op, left, right):
            return [show(left), op, show(right)]
        case s.Unary(op, operand):
            return [op, show(operand)]
        case s.SizeExpr(axis):
            return f"|{axis.text}|"
        case tuple():
            return [show(each) for each in node]
        case _ if is_dataclass(node):
            shown = [(f.name, show(getattr(node, f.name))) for f in fields(node) if f.compare]
            return {type(node).__name__: {name: value for name, value in shown if value not in (None, [], "")}}
    return node


# -- declarations


def test_use() -> None:
    assert show(item("use std.attention: a, b as c")) == {
        "UseDecl": {
            "path": ["std", "attention"],
            "names": [{"Used": {"name": "a"}}, {"Used": {"name": "b", "rename": "c"}}],
        }
    }
    assert show(item("use other")) == {"UseDecl": {"path": ["other"]}}


def test_axes() -> None:
    file = read("width a, b like a, c <= 9\ndepth d as m = a / 2 + 1, e")
    assert [show(each) for each in file.items] == [
        {"AxisDecl": {"kind": "width", "name": "a", "bounded": False}},
        {"AxisDecl": {"kind": "width", "name": "b", "like": "a", "bounded": False}},
        {"AxisDecl": {"kind": "width", "name": "c", "size": 9, "bounded": True}},
        {"AxisDecl": {"kind": "depth", "name": "d", "display": "m", "size": [["a", "/", 2], "+", 1], "bounded": False}},
        {"AxisDecl": {"kind": "depth", "name": "e", "bounded": False}},
    ]


def test_numbers() -> None:
    values = [each.value.value for each in read("const a = 6, b = 0.1, c = 1e-5, d = 2.5E+3, e = 007").items]  # type: ignore[union-attr]
    assert values == [6, 0.1, 1e-5, 2500.0, 7]
    assert [type(value) for value in values] == [int, float, float, float, int]


def test_params() -> None:
    full, bare, kept = read("param E: [v, m] ~ normal(0.02) frozen\nparam P: bool[] ~ zeros\nparam Q: [v] frozen").items
    assert show(full) == {
        "ParamDecl": {
            "name": "E",
            "type": {"TypeExpr": {"axes": ["v", "m"]}},
            "init": {"CallExpr": {"callee": "normal", "arguments": [{"Argument": {"value": 0.02}}]}},
            "frozen": True,
        }
    }
    assert show(bare) == {
        "ParamDecl": {
            "name": "P",
            "type": {"TypeExpr": {"element": "bool"}},
            "init": {"CallExpr": {"callee": "zeros"}},
            "frozen": False,
        }
    }
    assert isinstance(kept, s.ParamDecl)
    assert kept.frozen
    assert kept.init is None


@pytest.mark.parametrize(
    "text", ["config c { a = 1, b = 2 }", "config c {\n a = 1\n\n b = 2\n}", "config c {\na = 1,\nb = 2,\n}"]
)
def test_config(text: str) -> None:
    settings = [{"Setting": {"name": "a", "value": 1}}, {"Setting": {"name": "b", "value": 2}}]
    assert show(item(text)) == {"ConfigDecl": {"name": "c", "settings": settings}}


def test_op() -> None:
    op = item('op f[a: width](x: [a]) -> [a]\n    = "module:function"')
    assert isinstance(op, s.OpDecl)
    assert op.target == "module:function"
    assert op.target_span.text == '"module:function"'
    assert show(op.generics) == [{"Generic": {"name": "a", "kind": "width"}}]


def test_block() -> None:
    block = item("block f[q: width, k: width like q, n: const = 3,](x: int[q] = 1 + n,) -> (a: [q] causal q, b: []) {}")
    assert show(block) == {
        "BlockDecl": {
            "keyword": "block",
            "name": "f",
            "generics": [
                {"Generic": {"name": "q", "kind": "width"}},
                {"Generic": {"name": "k", "kind": "width", "like": "q"}},
                {"Generic": {"name": "n", "kind": "const", "default": 3}},
            ],
            "formals": [
                {
                    "Formal": {
                        "name": "x",
                        "type": {"TypeExpr": {"element": "int", "axes": ["q"]}},
                        "default": [1, "+", "n"],
                    }
                }
            ],
            "results": [
                {"ResultDecl": {"name": "a", "type": {"TypeExpr": {"axes": ["q"]}}, "causal": ["q"]}},
                {"ResultDecl": {"name": "b", "type": {"TypeExpr": {}}}},
            ],
        }
    }


def test_model_with_one_result() -> None:
    model = item("model m() -> [a, b] causal a, b {\n}")
    assert model.keyword == "model"
    assert show(model.results) == [{"ResultDecl": {"type": {"TypeExpr": {"axes": ["a", "b"]}}, "causal": ["a", "b"]}}]
    assert item("model m() {\n}").results == ()


def test_documentation() -> None:
    file = read(
        dedent("""
            # not about f

            # About f.
            #
            #   Indented.
            block f() {
            } # after
            # About g.
            op g() -> [] = "m:g"
            width a  # a comment beside
            block h() {
            }
        """)
    )
    f, g, _, h = file.items
    assert isinstance(f, s.BlockDecl)
    assert isinstance(g, s.OpDecl)
    assert isinstance(h, s.BlockDecl)
    assert f.doc == "About f.\n\n  Indented."
    assert g.doc == "About g."
    assert h.doc == ""
    assert [comment.text for comment in file.comments][-3:] == ["# after", "# About g.", "# a comment beside"]


# -- statements


def test_statements() -> None:
    assert [
        show(each) for each in body("x: [a] = 1", "a, _ = f(x)", "expect x: [a]", "share g = f", "return x, a")
    ] == [
        {"Assign": {"targets": ["x"], "type": {"TypeExpr": {"axes": ["a"]}}, "value": 1}},
        {
            "Assign": {
                "targets": ["a", "_"],
                "value": {"CallExpr": {"callee": "f", "arguments": [{"Argument": {"value": "x"}}]}},
            }
        },
        {"Expect": {"name": "x", "type": {"TypeExpr": {"axes": ["a"]}}}},
        {"Share": {"name": "g", "block": "f"}},
        {"Return": {"values": ["x", "a"]}},
    ]


def test_local_declarations() -> None:
    kinds = [type(each) for each in body("width a, b", "depth c = 2", "const d = 1, e = 2", "param p: [a] ~ zeros")]
    assert kinds == [s.AxisDecl, s.AxisDecl, s.AxisDecl, s.ConstDecl, s.ConstDecl, s.ParamDecl]


def test_repeat() -> None:
    plain, full = body("repeat layers { x = 1 }", "repeat.upper i in 2 * n shared {\n}")
    assert isinstance(plain, s.RepeatStatement)
    assert isinstance(full, s.RepeatStatement)
    assert show(plain.count) == "layers"
    assert len(plain.body) == 1
    assert (show(full.label), show(full.index), show(full.count), full.shared) == ("upper", "i", [2, "*", "n"], True)
    assert full.head.text == "repeat.upper i in 2 * n shared"


def test_if() -> None:
    (statement,) = body("if a { x = 1 } else if b { x = 2 }", "else { x = 3 }")
    assert isinstance(statement, s.If)
    (inner,) = statement.otherwise
    assert isinstance(inner, s.If)
    assert show([inner.condition, *inner.otherwise]) is not None
    assert len(inner.otherwise) == 1


# -- expressions


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a + b * c - d", [["a", "+", ["b", "*", "c"]], "-", "d"]),
        ("a / b / c % d", [[["a", "/", "b"], "/", "c"], "%", "d"]),
        ("a ^ b ^ c", ["a", "^", ["b", "^", "c"]]),
        ("-a ^ -b", ["-", ["a", "^", ["-", "b"]]]),
        ("a * -b", ["a", "*", ["-", "b"]]),
        ("--a", ["-", ["-", "a"]]),
        ("not a == b and c or d", [[["not", ["a", "==", "b"]], "and", "c"], "or", "d"]),
        ("a <= b + 1", ["a", "<=", ["b", "+", 1]]),
        ("(a or b) and true", [["a", "or", "b"], "and", True]),
        ("|key| ^ 0.5", ["|key|", "^", 0.5]),
        ("|key|>3", ["|key|", ">", 3]),
        ("a--b", ["a", "-", ["-", "b"]]),
        ("1<-b", [1, "<", ["-", "b"]]),
    ],
)
def test_operators(text: str, tree: object) -> None:
    assert show(expression(text)) == tree


def test_where_is_loosest() -> None:
    value = expression("x + 1 |> f where a and b")
    assert isinstance(value, s.WhereExpr)
    assert isinstance(value.value, s.CallExpr)
    assert show(value.mask) == ["a", "and", "b"]
    assert value.span.text == "x + 1 |> f where a and b"


def test_pipes_are_calls() -> None:
    assert expression("x |> f |> g.up[a -> b] |> h[c](y, p = 1)") == expression("h[c](g.up[a -> b](f(x)), y, p = 1)")
    assert expression("(x |> f) + 1") == expression("f(x) + 1")
    assert expression("x |> scan[t] cell(h = 0)") == expression("scan[t] cell(x, h = 0)")


def test_calls() -> None:
    assert show(expression("linear.O[heads, value -> model](x, bias = false,)")) == {
        "CallExpr": {
            "callee": "linear",
            "label": "O",
            "brackets": {
                "BracketList": {
                    "items": [{"BracketItem": {"name": "heads"}}, {"BracketItem": {"name": "value"}}],
                    "result": ["model"],
                }
            },
            "arguments": [{"Argument": {"value": "x"}}, {"Argument": {"name": "bias", "value": False}}],
        }
    }


def test_brackets() -> None:
    experts = expression("linear[e, f: a -> b](x)").brackets
    assert [show(experts.each), show(experts.result)] == [["e", "f"], ["b"]]
    assert show(expression("f[q = target, n = 2 + 1]()").brackets.items) == [
        {"BracketItem": {"name": "q", "value": "target"}},
        {"BracketItem": {"name": "n", "value": [2, "+", 1]}},
    ]


def test_index() -> None:
    value = expression("f(x)[a as b, t = |t| - 1][c = 0]")
    assert isinstance(value, s.IndexExpr)
    assert isinstance(value.value, s.IndexExpr)
    assert isinstance(value.value.value, s.CallExpr)
    assert show(value.value.brackets.items[0]) == {"BracketItem": {"name": "a", "rename": "b"}}
    assert isinstance(expression("x[a = 0]"), s.IndexExpr)
    assert isinstance(expression("(x + y)[a = 0]"), s.IndexExpr)


def test_scan() -> None:
    value = expression("scan[seq] cell.fore[d](x, h = 0)")
    assert isinstance(value, s.CallExpr)
    assert value.scan is not None
    assert [value.scan.text, value.callee.text, value.label and value.label.text] == ["seq", "cell", "fore"]
    assert value.span.text == "scan[seq] cell.fore[d](x, h = 0)"


# -- layout


@pytest.mark.parametrize(
    "text",
    [
        "a + b",
        "a +\nb",
        "a\n    + b",
        "a # one\n\n  # two\n   \n  + b",
        "(a\n+ b)",
        "a\r\n  + b",
        "a\t+\tb",
    ],
)
def test_a_sum_may_be_broken(text: str) -> None:
    (statement,) = body(f"y = {text}")
    assert isinstance(statement, s.Assign)
    assert show(statement.value) == ["a", "+", "b"]


@pytest.mark.parametrize(
    "text",
    [
        "y =\n  f(x,\n    m\n  )",
        "y\n  = x\n  |> f(m)",
        "y = x |>\n f(m)",
        "y = f(\n\n x\n , m)",
    ],
)
def test_a_call_may_be_broken(text: str) -> None:
    assert body(text, "z = 1") == body("y = f(x, m)", "z = 1")


def test_words_that_continue_a_line() -> None:
    assert body("y = f(x)", "  where a", "  and b", "  or not", "  c", "z = 1") == body(
        "y = f(x) where a and b or not c", "z = 1"
    )
    assert body("yor = 1", "order = 2") == body("yor = 1", "order = 2")


def test_braces_may_stand_on_their_own() -> None:
    spread = "block f(x: [a])\n\n  -> [a]\n{\n\n    repeat 2\n    {\n        x = x\n    }\n\n    return x }\n\n"
    assert item(spread) == item("block f(x: [a]) -> [a] { repeat 2 { x = x }\n return x }")


@pytest.mark.parametrize("text", ["", "\n", "# only a comment", "  \t\r\n\n# a\n# b\n"])
def test_nothing(text: str) -> None:
    assert read(text).items == ()


# -- spans


def nodes(root: object) -> list[tuple[object, object]]:
    """Every node with its parent."""
    found: list[tuple[object, object]] = []
    todo: list[tuple[object, object]] = [(root, None)]
    while todo:
        node, parent = todo.pop()
        if isinstance(node, tuple):
            todo += ((each, parent) for each in node)
        elif is_dataclass(node) and not isinstance(node, (Span, Source)):
            found.append((node, parent))
            todo += ((getattr(node, field.name), node) for field in fields(node))
    return found


def test_every_span_lies_inside_its_parents() -> None:
    for node, parent in nodes(read(TOUR)):
        span: Span = node.span  # type: ignore[attr-defined]
        assert span.start < span.end
        assert span.text == span.text.strip() or isinstance(node, s.File)
        piped = isinstance(parent, s.CallExpr) and isinstance(node, s.Argument) and span.start < parent.span.start
        if parent is not None and not piped and not isinstance(node, s.Comment):
            outer: Span = parent.span  # type: ignore[attr-defined]
            assert outer.start <= span.start <= span.end <= outer.end or _in_pipe(parent), (node, parent)


def _in_pipe(node: object) -> bool:
    return isinstance(node, s.Argument)


def test_spans_hold_the_text_of_their_nodes() -> None:
    file = read(TOUR)
    block = next(each for each in file.items if isinstance(each, s.BlockDecl) and each.name.text == "attend")
    assert block.doc == "Scaled dot-product attention.\n\nThe second paragraph."
    assert block.head.text.startswith("block attend[")
    assert block.head.text.endswith("weights: [q, k])")
    assert block.span.text.endswith("weights\n}")
    scores = block.body[0]
    assert isinstance(scores, s.Assign)
    assert isinstance(scores.value, s.Binary)
    assert scores.span.text == "scores = dot[d](Q, K) / sqrt(|d|)"
    assert scores.value.op_span.text == "/"
    assert scores.value.left.span.text == "dot[d](Q, K)"
    assert [each.span.text for each in block.formals] == ["Q: [q, d]", "K: [k, d]", "mask: bool[q, k] = true"]
    assert [each.span.text for each in block.results] == ["out: [q, d] causal q", "weights: [q, k]"]
    assert block.generics[3].span.text == "d: depth = 2 * model"


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("expect x: [a]", ["expect x: [a]"]),
        ("share f = g", ["share f = g"]),
        ("param w: [a] ~ normal(0.1) frozen", ["param w: [a] ~ normal(0.1) frozen"]),
        ("param w: int[a] ~ normal(0.1)", ["param w: int[a] ~ normal(0.1)"]),
        ("param w: [a]", ["param w: [a]"]),
        ("width b = 2 * a, c like b", ["b = 2 * a", "c like b"]),
        ("depth b as bb = 2 * a ragged, c <= 3, e as ee", ["b as bb = 2 * a ragged", "c <= 3", "e as ee"]),
        ("const n = 3, m = (n + 1)", ["n = 3", "m = (n + 1)"]),
        ("y: [a] = f(x)", ["y: [a] = f(x)"]),
        ("y, _ = x |> f |> g[a]", ["y, _ = x |> f |> g[a]"]),
        ("return y, x + 1", ["return y, x + 1"]),
        ("repeat.r i in n shared {\n    y = x\n}", ["repeat.r i in n shared {\n    y = x\n}"]),
        ("repeat n + 1 {\n}", ["repeat n + 1 {\n}"]),
        ("if n == 1 {\n}", ["if n == 1 {\n}"]),
        ("if n == 1 {\n} else {\n    y = x\n}", ["if n == 1 {\n} else {\n    y = x\n}"]),
        ("if n == 1 {\n} else if n == 2 {\n    y = x\n}", ["if n == 1 {\n} else if n == 2 {\n    y = x\n}"]),
    ],
)
def test_a_statement_spans_its_text(text: str, spans: list[str]) -> None:
    file, problems = parse(Source("main.attn", f"block f(x: [a]) {{\n{text}\n}}\n"))
    assert not problems
    (block,) = file.items
    assert isinstance(block, s.BlockDecl)
    assert [statement.span.text for statement in block.body] == spans


def test_documentation_is_what_stands_right_above() -> None:
    text = "# far\n\n#one\n# two\n#\n#   three  \nblock f() {\n}\nwidth a  # beside\nblock g() {\n}\n"
    items = parse(Source("main.attn", text))[0].items
    assert [item.doc for item in items if isinstance(item, s.BlockDecl)] == ["one\ntwo\n\n  three", ""]


def test_what_items_span() -> None:
    texts = [
        "use a.b",
        "use a.b: c, d as e",
        "config c { n = 3, m = n + 1 }",
        'op f[q: width](x: [q]) -> [q] = "m:f"',
        "block g[q: width, k: width like q](x: [q]) -> (y: [q] causal q, z: [k]) {\n}",
        "model h(x: [q], m: bool[q] = true) {\n}",
    ]
    file, problems = parse(Source("main.attn", "\n".join(texts)))
    assert not problems
    assert [item.span.text for item in file.items] == texts
    heads = [item.head.text for item in file.items if isinstance(item, s.BlockDecl)]
    assert heads == [text.removesuffix(" {\n}") for text in texts[-2:]]
    (_, used, config, op, block, model) = file.items
    assert isinstance(used, s.UseDecl) and [each.span.text for each in used.names] == ["c", "d as e"]
    assert isinstance(config, s.ConfigDecl) and [each.span.text for each in config.settings] == ["n = 3", "m = n + 1"]
    assert isinstance(op, s.OpDecl) and [each.span.text for each in op.results] == ["[q]"]
    assert isinstance(block, s.BlockDecl) and isinstance(model, s.BlockDecl)
    assert [each.span.text for each in block.generics] == ["q: width", "k: width like q"]
    assert [each.span.text for each in block.results] == ["y: [q] causal q", "z: [k]"]
    assert [each.type.span.text for each in (*block.results, *model.formals)] == ["[q]", "[k]", "[q]", "bool[q]"]
    assert [each.span.text for each in model.formals] == ["x: [q]", "m: bool[q] = true"]


def test_a_bracketed_expression_spans_its_brackets() -> None:
    value = expression("(a + b) * (c)")
    assert isinstance(value, s.Binary)
    assert [value.span.text, value.left.span.text, value.right.span.text] == ["(a + b) * (c)", "(a + b)", "(c)"]


def test_a_piped_call_spans_its_own_stage() -> None:
    value = expression("x |> f[a](y) |> g")
    assert isinstance(value, s.CallExpr)
    assert [value.span.text, value.arguments[0].span.text] == ["g", "x |> f[a](y)"]


def test_layout_takes_no_part_in_equality() -> None:
    assert read(TOUR) == read(TOUR.replace(", ", " ,\n   ").replace("{ model", "{\nmodel"))


# -- size


def test_a_sum_of_a_thousand_terms() -> None:
    value = expression(" + ".join(["x"] * 1000))
    for _ in range(999):
        assert isinstance(value, s.Binary)
        value = value.left
    assert show(value) == "x"


def test_a_pipe_of_a_thousand_stages() -> None:
    assert isinstance(expression("x" + " |> f" * 1000), s.CallExpr)


def test_brackets_a_hundred_deep() -> None:
    assert show(expression("(" * 98 + "x" + ")" * 98)) == "x"


def test_many_items() -> None:
    assert len(read("block f(x: [a]) -> [a] {\n    return x\n}\n" * 500).items) == 500


SAME = [("y = f.a[b](x, k = 1)", "y = f . a [b] ( x , k = 1 )"), ("y = a", "y = a  # said"), ("y = (a)", "y = a")]
DIFFERENT = [
    ("y = a", "y = b"), ("y = 1", "y = 1.0"), ("y = true", "y = 1"), ("y = 1", "y = 2"), ("y = f(x)", "y = f(x, x)"),
    ("y = f(x)", "y = f.a(x)"), ("y = a + b", "y = a - b"), ("y = a + b", "y = b + a"), ("y = -a", "y = not a"),
    ("y = f(a, b)", "y = f(b, a)"), ("y = a", "y: [] = a"), ("y = f[a](x)", "y = f[a as b](x)"), ("y = a", "return a"),
]  # fmt: skip


def test_which_trees_are_the_same() -> None:
    """Those that differ in places and comments alone; however deep the difference lies."""
    for one, other in SAME:
        assert s.same(read(f"block f() {{\n{one}\n}}").items, read(f"block f()  {{\n\n  {other}\n}}").items)
    for one, other in DIFFERENT:
        for a, b in ((one, other), (other, one)):
            texts = (f"block f() {{\nz = 1\nrepeat 2 {{\n{line}\n}}\nreturn z\n}}" for line in (a, b))
            first, second = (read(text).items for text in texts)
            assert not s.same(first, second)
    assert not s.same(read("width a").items, read("width a\nwidth b").items)
