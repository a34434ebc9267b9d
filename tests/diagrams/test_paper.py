"""What papers take: TikZ, equations, fonts."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import attnc
from attnc.diagrams import ExportError, draw

from . import graphs
from .tex_reader import Reader

ROOT = Path(__file__).parent.parent.parent
STD = sorted((ROOT / "compiler" / "std").glob("*.attn"))


def has_tex(*files: str) -> bool:
    if not shutil.which("pdflatex") or not shutil.which("kpsewhich"):
        return False
    return all(subprocess.run(["kpsewhich", f], capture_output=True, check=False).returncode == 0 for f in files)


needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")


def compiled(text: str, folder: Path) -> Path:
    (folder / "a.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "a.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    return folder / "a.pdf"


def models(path: Path) -> list[attnc.Model]:
    spec = attnc.load(path)
    return [spec.block(name) for name in spec.blocks] + [spec.model(name) for name in spec.models]


def balanced(tex: str) -> bool:
    bare = re.sub(r"\\.", "", tex)
    return bare.count("{") == bare.count("}") and _count(r"\\left\b", tex) == _count(r"\\right\b", tex)


def _count(pattern: str, tex: str) -> int:
    return len(re.findall(pattern, tex))


# -- equations ---------------------------------------------------------------------------------------------------


def test_attention_in_named_tensor_notation() -> None:
    text = attnc.load(ROOT / "compiler" / "std" / "attention.attn").block("attend").latex()
    assert r"\mathop{\underset{\mathsf{k}}{\mathrm{softmax}}}" in text
    assert r"\frac{Q \mathbin{\mathop{\underset{\mathsf{d}}{\odot}}} K}{\sqrt{|\mathsf{d}|}}" in text
    assert text.startswith(r"\begin{align*}")


def rows(body: str, head: str = "") -> list[str]:
    """The rows of a model of this body, from after the copy of `x` to before the result."""
    text = f"depth m = 8\n{head}\nmodel f(x: [m]) -> [m] {{\n{body}\nreturn x\n}}\n"
    lines = attnc.loads(text).model("f").latex().splitlines()
    return [line.strip().removesuffix(r" \\").replace(r"\quad ", "  ") for line in lines[3:-2]]


def test_each_kind_of_pass_has_its_equations() -> None:
    assert rows("repeat.a i in 4 {\nif i % 2 == 0 {\nx = sin(x)\n} else {\nx = cos(x)\n}\n}") == [
        r"&\text{for } i = 0, \ldots, 3\colon",
        r"&  \text{if } i \text{ even}\colon",
        r"&    x'' = \sin\left(x'\right)",
        r"&    x' \leftarrow x''",
        r"&  \text{if } i \text{ odd}\colon",
        r"&    x''' = \cos\left(x'\right)",
        r"&    x' \leftarrow x'''",
    ]


@pytest.mark.parametrize(
    ("condition", "inside", "outside"),
    [
        ("i == 2", "= 2", r"\ne 2"),
        ("i < 3", r"\le 2", r"\ge 3"),
        ("i >= 3 and i <= 6", r"= 3, \ldots, 6", "= 0, 1, 2, 7, 8, 9, 10, 11"),
        ("i % 3 == 1", r"\bmod 3 = 1", r"\bmod 3 \ne 1"),
        ("i < 2 or i == 4 or i == 5 or i == 7 or i == 9", "= 0, 1, 4, 5, 7, 9", "= 2, 3, 6, 8, 10, 11"),
    ],
)
def test_equations_name_every_pass(condition: str, inside: str, outside: str) -> None:
    found = rows(f"repeat.a i in 12 {{\nif {condition} {{\nx = sin(x)\n}}\n}}")
    told = [line.strip("& ") for line in found if "if" in line]
    assert set(told) == {rf"\text{{if }} i {passes}\colon" for passes in (inside, outside)}


def test_passes_are_numbered_as_the_index_is() -> None:
    once = "{\nx = x * (i + 1) + 2 ^ i\n}"
    assert rows(f"repeat.a i in 3 {once}")[:2] == [
        r"&\text{for } i = 0, \ldots, 2\colon",
        r"&  x'' = x' \cdot \left(i + 1\right) + {2}^{i}",
    ]
    assert rows(f"repeat.a i in 2 {once}")[0] == r"&\text{for } i = 0, 1\colon"
    assert rows(f"repeat.a i in 1 {once}")[0] == r"&\text{for } i = 0\colon"
    assert rows(f"repeat.a i in 0 {once}")[0] == r"&0 \text{ times}\colon"
    assert rows("repeat.a 1 {\nx = sin(x)\n}")[0] == r"&1 \text{ time}\colon"
    assert (
        rows("repeat.a 5 shared {\nx = linear.w[m -> m](x)\n}")[0] == r"&5 \text{ times} \text{ (shared weights)}\colon"
    )


def test_a_count_that_a_caller_gives_stands_in_the_equations() -> None:
    text = "depth m = 8\nblock f[n: const](x: [m]) -> [m] {\nrepeat i in n {\nx = x * i\n}\nreturn x\n}\n"
    assert r"\text{for } i = 0, \ldots, n - 1\colon" in attnc.loads(text).block("f").latex()
    block = "block g[n: const](x: [m]) -> [m] {\nreturn x * n\n}"
    assert r"&  x'' = \mathrm{g}(x', n = i + 1)" in rows("repeat.a i in 4 {\nx = g[n = i + 1](x)\n}", block)


def test_a_repeat_in_one_kind_of_pass() -> None:
    assert rows("repeat.a i in 2 {\nrepeat.b j in i + 1 {\nx = x * (i + j)\n}\n}") == [
        r"&\text{for } i = 0, 1\colon",
        r"&  \text{if } i = 0\colon",
        r"&    x'' = x'",
        r"&    \text{for } j = 0\colon",
        r"&      x''' = x'' \cdot \left(i + j\right)",
        r"&      x'' \leftarrow x'''",
        r"&    x' \leftarrow x''",
        r"&  \text{if } i = 1\colon",
        r"&    x^{\text{5th}} = x'",
        r"&    \text{for } j = 0, 1\colon",
        r"&      x^{\text{6th}} = x^{\text{5th}} \cdot \left(i + j\right)",
        r"&      x^{\text{5th}} \leftarrow x^{\text{6th}}",
        r"&    x' \leftarrow x^{\text{5th}}",
    ]


def test_values_that_change_places_do_so_at_once() -> None:
    found = rows("y = sin(x)\nrepeat.a 3 {\nz = x\nx = y\ny = z\n}\nx = x + y")
    assert r"&  x', y' \leftarrow y', x'" in found


def test_what_an_op_is_given_stands_in_the_equations() -> None:
    def op(text: str) -> str:
        head = "width t, half = ceil(t / 2)\ndepth d = 4, tap = 3, best = 2, long = 6"
        block = f"block f(x: [t, d]) -> [t, d] {{\ny = {text}\nreturn x\n}}"
        tex = attnc.loads(f"{head}\n{block}\n").block("f").latex()
        return tex.replace(r"\mathsf", "").replace(r"\mathit", "").replace(r"\mathrm", "")

    assert r"\underset{{t} \to {t}, {tap}}{{window}}}\left(x, {pad} = 2\right)" in op("window[t -> t, tap](x, pad = 2)")
    assert r"\underset{{t} \to {half}, {tap}}{{window}}}\left(x, {stride} = 2\right)" in op(
        "window[t -> half, tap](x, stride = 2)"
    )
    assert r"\underset{{d} \to {best}}{{topk}}}\left(x\right)" in op("topk[d -> best](x)")
    assert r"\underset{{d} \to {long}}{{pad}}}\left(x, {left} = 1\right)" in op("pad[d -> long](x, left = 1)")


def test_a_choice_within_a_formula_has_brackets() -> None:
    cases = r"\begin{cases} x & \text{if } x > 0 \\ 0 & \text{otherwise} \end{cases}"
    for text, tex in {
        "select(x > 0, x, 0)": cases,
        "select(x > 0, x, 0) * x": rf"\left({cases}\right) \cdot x",
        "select(x > 0, x, 0) + x": rf"\left({cases}\right) + x",
    }.items():
        latex = attnc.loads(f"depth m = 8\nblock f(x: [m]) -> [m] {{\nreturn {text}\n}}\n").block("f").latex()
        assert f"\\mathrm{{f}}(x) &= {tex}\n" in latex


REALS = ["a", "b", "c", "-a", "a + b", "a - b", "a * b", "a / b", "a % b", "a ^ 2", "sqrt(a)", "abs(a)", "floor(a)",
         "select(a < b, a, b)", "tanh(a)", "2", "pi"]  # fmt: skip
TRUTHS = ["p", "not p", "p and q", "p or q", "a < b", "a * b <= c", "a % b == c"]
TWO = ["{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}", "select({} < {}, a, c)"]
LOGIC = ["{} and {}", "{} or {}", "not ({} and {})", "not {} or {}"]


def formulas() -> Iterator[str]:
    for form in TWO:
        yield from (form.format(f"({x})", f"({y})") for x in REALS for y in REALS)
    for form in ("({}) ^ 3", "-({})", "abs({})", "2 ^ ({})", "floor({})", "1e-3 * ({})", "-2.5 - ({})"):
        yield from (form.format(x) for x in REALS)
    for form in LOGIC:
        yield from (form.format(f"({x})", f"({y})") for x in TRUTHS for y in TRUTHS)


@pytest.mark.parametrize("part", range(4))
def test_equations_mean_what_is_computed(part: int) -> None:
    """Read by habit, brackets and all: each op within each other on either side."""
    mine = [*formulas()][part::4]
    heads = ["[]" if " and " not in text and " or " not in text else "bool[]" for text in mine]
    made = "\n".join(
        f"block f{i}(a: [], b: [], c: [], p: bool[], q: bool[]) -> {head} {{\nreturn {text}\n}}"
        for i, (text, head) in enumerate(zip(mine, heads, strict=True))
    )
    spec = attnc.loads(made)
    for i, text in enumerate(mine):
        block = spec.block(f"f{i}")
        rows = [row.removesuffix(r" \\").split("&=", 1) for row in block.latex().splitlines()[2:-1]]
        computed = block.numpy(seed=0, dtype="float64")
        for truth in (True, False):
            values = {"a": 1.75, "b": 2.25, "c": 1.125, "p": truth, "q": not truth}
            expected = computed(*(np.asarray(value) for value in values.values()))
            for name, tex in rows:
                values[name.strip()] = found = Reader(tex.strip(), values).whole()
            assert np.allclose(found, expected), f"{text}: {rows}"


def test_products_of_named_tensors_have_brackets() -> None:
    """A product of named tensors says by its axes alone where it ends."""
    for text, tex in {
        "dot[m](x, x) * 2": r"\left(x \odot x\right) \cdot 2",
        "2 * sum[m](x * x)": r"2 \cdot \left(\sum x \cdot x\right)",
        "sum[m](broadcast[m](dot[m](x, x)) * x)": r"\sum \left(x \odot x\right) \cdot x",
        "dot[m](x, x) + 1": r"x \odot x + 1",
        "dot[m](x, 2 * x)": r"x \odot \left(2 \cdot x\right)",
        "dot[m](x, x) ^ 2": r"{\left(x \odot x\right)}^{2}",
    }.items():
        latex = attnc.loads(f"depth m = 8\nblock f(x: [m]) -> [] {{\nreturn {text}\n}}\n").block("f").latex()
        plain = re.sub(r"\\mathop\{\\underset\{\\mathsf\{m\}\}\{(\\odot|\\sum)\}\}", r"\1", latex)
        plain = plain.replace(r"\mathbin{\odot}", r"\odot")
        assert f"\\mathrm{{f}}(x) &= {tex}\n" in plain, plain


def test_calls_say_what_tells_them_apart() -> None:
    """The axes that stand for others, consts that calls give differently, labels of learned ops."""
    head = """
depth m = 8, n = 4
const far = 2
block mixed[a: depth, by: const = 1](x: [a]) -> [a] {
    return layernorm.norm[a](x, bias = false) * by
}
"""
    text = head + "model f(x: [m, n]) -> [m, n] {\nreturn mixed.p[m](x) + mixed.q[n](x) + mixed.r[n, by = far](x)\n}\n"
    rows = attnc.loads(text).model("f").latex().replace(r"\mathsf", "").replace(r"\mathrm", "")
    for axis, label, by in (("m", "p", 1), ("n", "q", 1), ("n", "r", 2)):
        call = rf"\mathop{{\underset{{{{a}} = {{{axis}}}}}{{{{mixed}}^{{{{{label}}}}}}}}}(x, \mathit{{by}} = {by})"
        assert call in rows, rows
    assert r"^{\mathit{norm}}" in attnc.loads(text).block("mixed").latex()
    one = head + "model f(x: [m]) -> [m] {\nreturn mixed[m](x)\n}\n"
    assert "by" not in attnc.loads(one).model("f").latex()  # nothing to tell apart


def test_what_has_no_name_is_called_as_nothing_else_is() -> None:
    text = "depth m = 8\nblock f(t: [m], u: [m]) -> [m] {\nreturn tanh(tanh(t) * u) + tanh(tanh(t) * u) * u\n}\n"
    tex = attnc.loads(text).block("f").latex()
    assert "t'" not in tex and "u'" not in tex


def every_equation() -> list[str]:
    return [m.latex() for path in [*STD, *sorted((ROOT / "examples").rglob("*.attn"))] for m in models(path)]


def test_equations_are_sound() -> None:
    for text in every_equation():
        assert balanced(text), text


@pytest.mark.skipif(not has_tex("amsmath.sty", "amssymb.sty"), reason="LaTeX is not installed")
def test_equations_compile(tmp_path: Path) -> None:
    body = "\n".join(every_equation())
    paper = r"\documentclass{article}\usepackage{amsmath,amssymb}\begin{document}"
    compiled(f"{paper}\n{body}\n\\end{{document}}\n", tmp_path)


# -- TikZ ----------------------------------------------------------------------------------------------------------


def test_tikz_needs_no_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    diagram = draw(graphs.multihead(True)[0], legend=True)
    text = diagram.save(tmp_path / "a.tex").read_text(encoding="utf-8")
    assert text == diagram.tex
    assert balanced(text)
    assert text.isascii()


@pytest.mark.skipif(not has_tex("tikz.sty", "geometry.sty"), reason="LaTeX with TikZ is not installed")
def test_tikz_compiles_alone_and_in_a_paper(tmp_path: Path) -> None:
    text = draw(graphs.transformer(), sizes=True, legend=True).tex
    assert compiled(text, tmp_path).read_bytes().startswith(b"%PDF")
    (tmp_path / "figure.tex").write_text(text, encoding="utf-8")
    compiled("\\documentclass{article}\\usepackage{tikz}\\begin{document}A\\input{figure}B\\end{document}\n", tmp_path)


# -- fonts ---------------------------------------------------------------------------------------------------------


@needs_dot
def test_outlined_svg_has_no_text() -> None:
    diagram = draw(graphs.attend()[0])
    try:
        text = diagram.svg(outline=True)
    except ExportError:
        pytest.skip("Graphviz without cairo")
    assert "<text" not in text
    assert "font-family" not in text
    assert "<text" in diagram.svg()


@needs_dot
def test_outlines_are_for_svg(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"outlined in \.svg"):
        draw(graphs.attend()[0]).save(tmp_path / "a.pdf", outline=True)


@needs_dot
@pytest.mark.skipif(shutil.which("pdffonts") is None, reason="pdffonts is not installed")
def test_fonts_are_embedded_and_the_page_is_as_wide_as_asked(tmp_path: Path) -> None:
    path = draw(graphs.transformer()).save(tmp_path / "a.pdf")
    fonts = subprocess.run(["pdffonts", path], capture_output=True, text=True, check=True).stdout.splitlines()[2:]
    assert fonts
    assert all(line.split()[-5] == "yes" for line in fonts)
    info = subprocess.run(["pdfinfo", path], capture_output=True, text=True, check=True).stdout
    wide = float(re.search(r"Page size:\s+([0-9.]+)", info)[1])  # type: ignore[index]
    assert wide <= 5.5 * 72 + 1
