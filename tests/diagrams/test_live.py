"""The living figure: what the page holds, and how it answers to real clicks, touches and keys in real browsers."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnc
from attnc.diagrams.formats.equations import latex, marked
from attnc.diagrams.formats.mathml import mathml, spoken
from attnc.diagrams.formats.texmath import TexTerm, read

from .browser import CHROMIUM, FIREFOX, Chromium, Firefox

ROOT = Path(__file__).parent.parent.parent
SIZES = {"phone": (390, 844), "laptop": (1280, 800), "projector": (1920, 1080)}
in_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
in_firefox = pytest.mark.skipif(FIREFOX is None, reason="Firefox is not installed")

NET = """
width t
depth m = 8, f = 16
block swell(x: [m]) -> [m] {
    y = linear.up[m -> f](x)
    z = relu(y)
    return linear.down[f -> m](z)
}
block turn(x: [t, m]) -> [t, m] {
    a = swell(x) + x
    b = layernorm[m](a)
    c = linear.one[m -> f](b)
    d = linear.two[f -> m](tanh(c))
    return d * 2
}
model net(x: [t, m]) -> [t, m] { return turn(x) }
"""


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    read: dict[str, Any] = json.loads(found[1])
    return read


@pytest.fixture(scope="module")
def small() -> str:
    return attnc.loads(NET, name="net.attn").model("net").draw().html()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "transformer.html"
    attnc.load(ROOT / "examples" / "transformer.attn").model("transformer").draw().save(file)
    return file


def test_the_page_needs_no_network_and_tells_no_path(small: str) -> None:
    assert "src=" not in small
    assert not re.search(r"https?://(?!www\.w3\.org/)", small)
    file = attnc.load(ROOT / "examples" / "transformer.attn")
    assert str(ROOT) not in file.block("join").draw().html()


def test_every_block_is_drawn_once(small: str) -> None:
    data = data_of(small)
    levels = {level["name"]: level for level in data["levels"]}
    assert set(levels) == {"net", "turn", "swell"}
    assert data["levels"][data["root"]]["name"] == "net"
    (box,) = (step for step in levels["turn"]["steps"] if "b" in step)
    assert data["levels"][box["b"]]["name"] == "swell"
    for level in levels.values():
        assert len(level["drawn"]) == 3
        for number in level["drawn"]:
            for _, _, svg in data["drawings"][number]["rows"]:
                used = {int(k) for k in re.findall(r"data-s='(\d+)'", svg)}
                assert used and used <= set(range(len(level["steps"])))
    axes = {axis["name"]: axis for axis in data["axes"]}
    assert (axes["m"]["kind"], axes["m"]["size"], axes["t"]["size"]) == ("depth", 8, None)


def test_what_was_asked_to_be_open_is_open_at_first() -> None:
    model = attnc.loads(NET, name="net.attn").model("net")
    assert data_of(model.draw(depth=2).html())["open"] == ["turn", "swell"]
    assert data_of(model.draw(open="turn").html())["open"] == ["turn"]
    assert data_of(model.draw(depth=0).html())["open"] == []


def test_places_are_words_of_the_spec(small: str) -> None:
    data = data_of(small)
    words = {data["sources"][source][1][a:b] for source, a, b in data["places"]}
    assert {"linear.up[m -> f](x)", "relu(y)", "swell(x)", "turn(x)"} <= words


def test_code_knows_its_words_of_the_spec(small: str) -> None:
    data = data_of(small)
    words = [data["sources"][source][1][a:b] for source, a, b in data["places"]]
    found = {line.strip().partition("  #")[0]: {words[p] for p in places} for line, places in data["code"]}
    assert {"linear.down[f -> m](z)"} <= next(words for line, words in found.items() if "self.down(" in line)
    assert {"layernorm[m](a)"} <= next(words for line, words in found.items() if "self.b(" in line)
    assert not found["import torch"]


def test_a_line_that_calls_two_blocks_leads_to_the_words_of_both() -> None:
    model = attnc.load(ROOT / "examples" / "attentions" / "linear_attention.attn").model("recurrent")
    assert next(spans for line, spans in model._lines() if "torch.exp" in line)


def test_what_cannot_be_code_has_a_page_without() -> None:
    block = attnc.load(ROOT / "compiler" / "std" / "attention.attn").block("attend")  # its depths have no sizes
    assert data_of(block.draw().html())["code"] == []


def test_equations_know_their_words_of_the_spec(small: str) -> None:
    data = data_of(small)
    rows = dict(data["equations"])
    words = [data["sources"][source][1][a:b] for source, a, b in data["places"]]
    (row,) = (row for row in rows["swell"] if "ReLU" in row)
    assert words[int(re.findall(r'data-p="(\d+)"', row)[0])] == "relu(y)"
    assert "y is W up dot over m and x plus b up; z is ReLU(y);" in " ".join(data["words"])


def test_the_signature_of_a_block_is_the_declared_one(small: str) -> None:
    """Without the axes of the caller over which it is lifted, on either side."""
    rows = dict(data_of(small)["equations"])
    assert [rows[name][0].count(">t<") for name in ("net", "turn", "swell")] == [2, 2, 0]
    assert latex(attnc.loads(NET, name="net.attn").block("swell")._graph).splitlines()[1].count(r"\mathsf{m}") == 2
    assert "swell maps numbers along m to numbers along m" in " ".join(data_of(small)["words"])


def test_an_input_leads_to_the_lines_and_equations_that_read_it() -> None:
    source = NET.replace("turn(x) }", "turn(x * 2) + x }").replace("swell(x) + x", "swell(x) + x / |m|")
    data = data_of(attnc.loads(source, name="net.attn").model("net").draw().html())
    inputs = {level["name"]: step["p"] for level in data["levels"] for step in level["steps"] if step["t"] == "input x"}
    lines = {name: [line.strip() for line, places in data["code"] if p in places] for name, p in inputs.items()}
    assert set(inputs) == {"net", "turn", "swell"}
    for name, line in (("net", "return self.turn(x * 2) + x"), ("turn", "self.swell(x) + x"), ("swell", "self.up(x)")):
        assert line in lines[name][-1] and len(lines[name]) == 1 + (name == "net"), lines[name]  # a model checks it
        assert any(f'data-p="{inputs[name]}"' in row for row in dict(data["equations"])[name])
    assert all(place is not None for _, places in data["code"] for place in places)


def test_what_begins_with_an_axis_called_model_is_a_place() -> None:
    source = "depth model = 8\nmodel net() -> [model] { return tanh(model / 2) }\n"
    data = data_of(attnc.loads(source, name="net.attn").model("net").draw().html())
    words = {data["sources"][source][1][a:b] for source, a, b in data["places"]}
    assert "tanh(model / 2)" in words and not any(text.startswith("model net") for text in words)


@pytest.mark.parametrize(
    ("tex", "words"),
    [
        (r"\frac{Q \mathbin{\mathop{\underset{\mathsf{k}}{\odot}}} K}{\sqrt{|\mathsf{k}|}}",
         "(Q dot over k and K) over (the root of (the size of k))"),
        (r"x'' \leftarrow \left\lfloor \frac{n}{2} \right\rfloor", "x prime prime becomes floor of n over 2"),
        (r"f &\colon \mathbb{R}^{\mathsf{a} \times \mathsf{b}} \to \mathbb{R}",
         "f maps numbers along a and b to numbers"),
        (r"&6 \text{ times}\colon", "6 times:"),
        (r"\begin{cases} 0 & \text{if } \mathsf{q} \bmod 2 = 0 \\ 1 & \text{otherwise} \end{cases}",
         "0 if q modulo 2 is 0; 1 otherwise"),
        (r"x''' \cdot y^{\text{5th}}", "x prime prime prime times the 5th y"),
    ],
)  # fmt: skip
def test_equations_can_be_heard(tex: str, words: str) -> None:
    assert spoken(read(tex)) == words


@pytest.mark.parametrize("name", ["x", "hidden", "w_k", "lambda", "lambda_q", "x_", "head_size"])
def test_a_name_that_is_bound_again_is_no_power(name: str) -> None:
    """However often: each value has a name of its own, in letters and in words, and none reads as a power."""
    body = "".join(f"    {name} = {name} + {count}\n" for count in range(30))
    text = f"width seq\nmodel net({name}: [seq]) -> [seq] {{\n{body}    return {name}\n}}\n"
    rows = attnc.loads(text).model("net").latex().rstrip().split("\n")[2:-2]
    names = [row.partition(" &")[0].strip() for row in rows]
    said = [spoken(read(made)) for made in names]
    assert len(set(names)) == len(set(said)) == 30
    assert not any("power" in words for words in said)
    assert not any(re.search(r"\^\{?\(?\d", made) for made in names)


def test_equations_are_mathml() -> None:
    found = mathml(
        read(
            r"w = \place{7}{\mathop{\underset{\mathsf{k}}{\mathrm{softmax}}}\left(s_{\mathrm{ab}} < 1\right)\endplace}"
        )
    )
    (term,) = (each for each in ET.fromstring(f"<math>{found}</math>").iter() if each.get("data-p") == "7")
    assert {each.tag for each in term.iter()} == {"mrow", "munder", "mi", "mo", "msub", "mn"}


def names_in(term: TexTerm) -> set[str]:
    return set().union(*map(names_in, term.parts)) | ({term.text} if term.style == "r" else set())


FUNCTIONS = {"sin", "cos", "tanh", "exp", "log", "max", "min"}


@pytest.mark.slow
def test_no_equation_has_what_the_page_cannot_read() -> None:
    """Of every example and every block of std: no command of TeX is left over, and marks change no equation."""
    for file in (*sorted((ROOT / "examples").rglob("*.attn")), *sorted((ROOT / "compiler" / "std").glob("*.attn"))):
        try:
            spec = attnc.load(file)
            models = [spec.model(name) for name in spec.models] + [spec.block(name) for name in spec.blocks]
        except attnc.AttnError:
            continue  # what needs sizes
        for model in models:
            plain = latex(model._graph).split("\n")[1:-2]
            rows = marked(model._graph, lambda span: None if span is None else span.start)
            bare = [re.sub(r"\\place\{[0-9]+\}\{|\\endplace\}", "", row) for row in rows]
            assert bare == [row.strip().removesuffix(" \\\\") for row in plain], f"{file.name} {model.name}"
            for row in (*rows, *bare):
                ET.fromstring(f"<math>{mathml(read(row))}</math>")
                commands = {name[1:] for name in re.findall(r"\\[a-zA-Z]+", row)} - {"place"}
                assert names_in(read(row)) & commands <= FUNCTIONS, (model.name, row)  # others the page does not know


@pytest.mark.slow
def test_it_is_light(page: Path) -> None:
    assert page.stat().st_size < 400_000


NARROW = """[...figure.querySelectorAll('.room')].filter(room => {
    const deep = room.closest('.level').dataset.path.split('/').length, unit = room.getScreenCTM().a;
    return room.getBoundingClientRect().width + 2 * PAD * deep * unit < figure.clientWidth - 6;
}).map(room => room.parentNode.dataset.key)"""  # open blocks that are not as wide as the window


@in_chromium
def test_it_opens_in_a_browser(small: str, tmp_path: Path) -> None:
    """The one that runs with the fast tests, where there is a browser."""
    (tmp_path / "page.html").write_text(small, encoding="utf-8")
    browser = Chromium(tmp_path)
    try:
        browser.open(tmp_path / "page.html")
        levels = "figure.querySelectorAll('.level').length"
        assert browser.run(levels) == 3  # so small a figure opens its blocks by itself
        assert browser.run(NARROW) == []
        for key, step in (("ArrowRight", 1), ("End", 14), ("Home", 1)):  # nothing was clicked before
            browser.press(key)
            assert f"step {step} of" in browser.run("$('about').textContent")
        browser.click(*browser.at("#figure [data-box]"))
        assert browser.run(levels) == 1
        assert browser.errors == []
    finally:
        browser.close()


@pytest.fixture(scope="module")
def chromium(page: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    browser = Chromium(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


@pytest.mark.slow
@in_chromium
@pytest.mark.parametrize("size", SIZES)
def test_it_is_laid_out_for_the_window(chromium: Chromium, page: Path, size: str) -> None:
    chromium.size(*SIZES[size])
    chromium.open(page)
    assert chromium.errors == []
    heights = chromium.run(
        "[...figure.querySelectorAll('text')].map(t => parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a)"
    )
    assert min(heights) >= {"phone": 8.5, "laptop": 10, "projector": 13}[size]
    assert chromium.run("figure.scrollWidth <= figure.clientWidth + 1")
    assert chromium.run("document.documentElement.scrollWidth <= innerWidth")
    chromium.run("openLevel(), openLevel()")
    assert chromium.run(NARROW) == [] and chromium.run("figure.querySelectorAll('.room').length") > 2
    paint = "performance.getEntriesByType('paint')[0].startTime"
    assert chromium.run(f"new Promise(done => requestAnimationFrame(() => setTimeout(() => done({paint}), 50)))") < 1000
    assert [url for url in chromium.asked if not url.startswith(("file:", "data:"))] == []


@pytest.mark.slow
@in_chromium
@pytest.mark.parametrize("name", ["transformer", "llama", "lstm"])
def test_every_part_answers(chromium: Chromium, tmp_path: Path, name: str) -> None:
    """Each piece that is drawn says something when it is pointed at."""
    chromium.size(1280, 800)
    (file,) = (ROOT / "examples").rglob(f"{name}.attn")
    chromium.open(attnc.load(file).model(name).draw(legend=True).save(tmp_path / "page.html"))
    chromium.run("openLevel()")
    dumb = chromium.run("""[...figure.querySelectorAll('text, rect, circle, ellipse, path')].filter(e => !aboutOf(e)
        && !e.classList.contains('lens')).map(e => e.outerHTML)""")
    assert dumb == []


@pytest.mark.slow
@in_chromium
def test_the_four_views_are_one(chromium: Chromium, page: Path) -> None:
    """What is pointed at in one lights up in the three others; in the figure, inside a block or on its box."""
    chromium.size(1280, 800)
    chromium.open(page)
    words = "softmax[k](scores where mask)"
    place = chromium.run(f"data.places.findIndex(p => textOf(p) === {json.dumps(words)})")

    def lit() -> list[bool]:
        views = [chromium.run(f"!!document.querySelector('#{name} .lit')") for name in ("equations", "spec", "code")]
        return [*views, chromium.run("!!figure.querySelector('.glow')")]

    for selector in (f"#equations [data-p='{place}']", f"#spec [data-p='{place}']", "#code .row.lit"):
        x, y = chromium.at(selector)
        chromium.move(2, 2)
        chromium.move(x, y)
        assert lit() == [True] * 4, selector
    chromium.click(*chromium.at("#figure [data-box]"))
    chromium.run("Promise.all(document.getAnimations().map(each => each.finished))")
    made = "linear[model -> heads, key](base, bias = bias)"
    wire = chromium.run(f"data.places.findIndex(p => textOf(p) === {json.dumps(made)})")
    for said, piece, code in (
        (words, f"g[data-p='{place}']:not([data-w]) path", "safe_attention("),
        (made, f"g[data-p='{wire}'][data-w] path", "self.Q("),
    ):
        chromium.at(f"#figure {piece}")
        middle = "p.getPointAtLength(p.getTotalLength() / 3).matrixTransform(p.getScreenCTM())"
        x, y = chromium.run(
            f"(p => {{ const q = {middle}; return [q.x, q.y] }})(figure.querySelector({json.dumps(piece)}))"
        )
        chromium.move(2, 2)
        chromium.move(x, y)
        assert lit()[:3] == [True] * 3, piece
        assert chromium.run("document.querySelector('#spec .lit').textContent") == said
        assert code in chromium.run("[...document.querySelectorAll('#code .lit')].pop().textContent")
    assert chromium.run("figure.querySelectorAll('.on').length") >= 1


@pytest.mark.slow
@in_chromium
@pytest.mark.parametrize("how", ["click", "key", "touch"])
def test_blocks_open_in_place(chromium: Chromium, page: Path, how: str) -> None:
    chromium.size(*(SIZES["phone"] if how == "touch" else SIZES["laptop"]))
    chromium.open(page)
    before = chromium.run("figure.querySelectorAll('.level').length")
    x, y = chromium.at("#figure [data-box]")

    def act() -> None:
        if how == "click":
            chromium.click(x, y)
        elif how == "touch":
            chromium.touch(x, y)
        else:
            chromium.run("figure.focus()")
            for _ in range(30):
                if chromium.run("state.held && !!data.levels[state.held.level].steps[state.held.step].h"):
                    break
                chromium.press("ArrowRight")
            chromium.press("Enter")

    act()
    assert chromium.run("figure.querySelectorAll('.level').length") == before + 1
    assert chromium.run("document.body.dataset.open.split(' ').length") == 1
    if how != "key":  # it stands where it stood
        assert chromium.at("#figure [data-box]") == pytest.approx((x, y), abs=2)
    act()
    assert chromium.run("figure.querySelectorAll('.level').length") == before
    assert chromium.errors == []


@pytest.mark.slow
@in_chromium
def test_a_screen_reader_finds_every_step(chromium: Chromium, page: Path) -> None:
    """In the order of the computation: its name, what it takes and gives; of a block, whether it is open."""
    chromium.size(*SIZES["laptop"])
    chromium.open(page)
    chromium.run("openLevel()")

    def found(*roles: str) -> list[dict[str, Any]]:
        nodes = chromium.send("Accessibility.getFullAXTree")["nodes"]
        return [node for node in nodes if node.get("role", {}).get("value") in roles and not node["ignored"]]

    (whole,) = found("application")
    assert whole["name"]["value"] == "transformer" and "go from step to step" in whole["description"]["value"]
    assert "transformer maps" in whole["description"]["value"]
    names = [node["name"]["value"] for node in found("button", "image") if ";" in node["name"]["value"]]
    assert names == chromium.run("walkable().map(w => linesOf(aboutOf(w.g)).slice(0, 3).join('; '))")
    (attention,) = [k for k, name in enumerate(names) if name.startswith("Multi-Head Attention (cross)")]
    inside = ("input base", "input injected", "linear[model] Q", "linear[model] K", "linear[model] V", "dot[d]", "mask")
    assert [name.startswith(own) for own, name in zip(inside, names[attention + 1 :], strict=False)] == [True] * 7
    chromium.run("figure.focus()")
    focused = "document.activeElement.ariaLabel"
    blocks = [node["name"]["value"] for node in found("button") if ";" in node["name"]["value"]]
    for block in blocks:  # Tab goes from one to the next
        chromium.press("Tab")
        assert chromium.run(focused) == block
    assert {p["name"]: p["value"].get("value") for p in found("button")[-1]["properties"]}["expanded"] is True
    chromium.press("Enter")
    assert chromium.run(focused) == blocks[-1] and chromium.run("document.activeElement.ariaExpanded") == "false"
    chromium.press("ArrowRight")
    assert chromium.run(focused).startswith("+; ")
    assert "aria-hidden" not in chromium.run("svgText()") and 'role="img"' in chromium.run("svgText()")
    assert chromium.errors == []


@pytest.mark.slow
@in_chromium
def test_keys_are_not_disturbed_by_a_pointer_at_rest(chromium: Chromium, page: Path) -> None:
    """What the figure scrolls under it is not pointed at, until it moves."""
    chromium.size(*SIZES["laptop"])
    chromium.open(page)
    chromium.run("openLevel()")
    chromium.run("Promise.all(document.getAnimations().map(each => each.finished))")
    x, y = chromium.run(
        "(b => [b.x + b.width / 2, Math.min(b.bottom, innerHeight) / 2])(figure.getBoundingClientRect())"
    )
    chromium.move(2, 2)
    chromium.move(x, y)
    chromium.run("figure.focus()")
    for step in range(1, 41):
        chromium.press("ArrowRight")
        chromium.run("new Promise(done => setTimeout(done, 120))")
        assert f"step {step} of" in chromium.run("$('about').textContent"), step
    chromium.move(*chromium.at("#equations [data-p]"))
    assert "step" not in chromium.run("$('about').textContent")
    chromium.move(2, 2)  # on nothing: what is held is told again
    assert chromium.run("$('about').textContent") == chromium.run("linesOf(state.held).join('')")


@pytest.mark.slow
@in_chromium
def test_an_input_lights_the_lines_that_read_it(chromium: Chromium, page: Path) -> None:
    chromium.size(*SIZES["laptop"])
    chromium.open(page)
    chromium.run("hold(aboutOf(walkable()[0].g))")
    lit = chromium.run("[...document.querySelectorAll('#code .lit')].map(row => row.textContent)")
    assert len(lit) == 2 and all("source_ids" in line for line in lit)
    assert chromium.run("document.querySelector('#equations .lit').textContent").replace("_", "") == "sourceids"


@pytest.mark.slow
@in_chromium
def test_wires_lead_on(chromium: Chromium, page: Path) -> None:
    """By keys along each of them, from step to step; into an open block, and out of it."""
    chromium.size(*SIZES["laptop"])
    chromium.open(page)
    chromium.run("openLevel()")
    chromium.run("figure.focus()")
    chromium.press("ArrowRight")
    chromium.press("ArrowDown")
    assert chromium.run("state.held.wire !== undefined && $('about').textContent").startswith("axis source")
    assert chromium.run("figure.querySelectorAll('.way').length") > 0  # which way it goes
    chromium.press("ArrowRight")
    assert chromium.run("document.activeElement.ariaLabel").startswith("gather[vocab]")
    chromium.press("ArrowUp")
    chromium.press("ArrowLeft")
    assert chromium.run("document.activeElement.ariaLabel").startswith("input source_ids")
    cross = "data.levels[state.root].steps.findIndex(step => step.t.endsWith(' cross'))"
    for operand, name in ((0, "base"), (1, "injected")):
        ways = f"wiresAt(String(state.root), 2, {cross}, {operand}).map(w => through(String(state.root), w))"
        found = chromium.run(
            f"{ways}.map(way => way.filter(([path]) => path.includes('/')).map(([path, w]) =>"
            " [data.axes[wiresOf(path)[w][0]].name, factOf(`${path}/${wiresOf(path)[w][1][0][0]}`).n]))"
        )
        assert found == [[["q" if operand == 0 else "k", name]], [["model", name]]]
    wire = f"wiresAt(String(state.root), 1, {cross})[0]"
    chromium.run(f"hold(aboutOf(wireAt(String(state.root), {wire})))")
    assert chromium.run("figure.querySelectorAll('.on').length") >= 2  # what the block gives, in it and behind it
    assert chromium.errors == []


@pytest.mark.slow
@in_chromium
def test_numbers_stand_at_their_steps(chromium: Chromium, tmp_path: Path) -> None:
    model = attnc.load(ROOT / "examples" / "transformer.attn", config="tiny").model("transformer")
    given = {"source_ids": [[1, 2, 3, 4, 5]], "target_ids": [[1, 2, 3]], "real": [[True] * 5]}
    seen = attnc.inspect.look(model, given)
    (tmp_path / "page.html").write_text(model.draw().html(seen), encoding="utf-8")
    chromium.size(1280, 800)
    chromium.open(tmp_path / "page.html")
    chromium.run("openLevel()")
    paths = chromium.run("walkable().map(w => mapsOf(aboutOf(w.g)).map(m => m.path)).filter(p => p.length)")
    assert sorted(path for some in paths for path in some) == sorted(seen)
    assert len(paths) == 3
    chromium.run("hold(aboutOf(walkable().filter(w => mapsOf(aboutOf(w.g)).length)[2].g))")
    assert "gives weights [heads, q, k] = 4 × 3 × 5" in chromium.run("$('about').textContent")
    x, y = chromium.at("#about canvas")
    chromium.move(x, y)
    number = seen["decode.layers.0.cross.weights"].flat()[0][1][2]
    assert f"row 1, column 2: {round(float(number), 3):g}" in chromium.run("$('about').textContent")


CALLS = """
width seq
width key like seq
depth d = 8
block attend(x: [seq, d]) -> [seq, d] {
    weights = softmax[key](dot[d](x, x[seq as key]))
    return dot[key](weights, x[seq as key])
}
block two(x: [seq, d]) -> [seq, d] { return attend(attend(x)) * 2 }
model calls(x: [seq, d]) -> [seq, d] {
    y = two(attend(attend(x)))
    weights = softmax[key](dot[d](y, y[seq as key]) * 2)
    y = dot[key](weights, y[seq as key])
    weights = softmax[key](dot[d](y, y[seq as key]) * 3)
    y = dot[key](weights, y[seq as key])
    y = dot[key](softmax[key](dot[d](y, y[seq as key])), y[seq as key])
    repeat.near 2 { y = attend(attend(y)) }
    repeat.far 3 shared { y = attend(y) }
    return linear.o[d -> d](y)
}
"""


@pytest.mark.slow
@in_chromium
def test_numbers_of_each_call_of_a_block_stand_at_that_call(chromium: Chromium, tmp_path: Path) -> None:
    """Where nothing but a number tells them apart (`attend:1.weights`), whether blocks are drawn in line or open."""
    model = attnc.loads(CALLS, name="calls.attn").model("calls")
    seen = attnc.inspect.look(model, {"x": np.random.default_rng(0).standard_normal((1, 5, 8))}, seed=0)
    one = ["attend:1.weights", "attend:2.weights", "two.attend:1.weights", "two.attend:2.weights"]
    passes = [[f"near.{number}.attend:{call}.weights" for number in (0, 1)] for call in (1, 2)]
    wanted = [*([path] for path in (*one, "weights:1", "weights", "softmax")), *passes, ["far.attend.weights"]]
    assert sorted(found.full for found in seen.values()) == sorted(path for some in wanted for path in some)
    for how in ({}, {"depth": 0}):
        (tmp_path / "page.html").write_text(model.draw(**how).html(seen), encoding="utf-8")
        chromium.size(1280, 800)
        chromium.open(tmp_path / "page.html")
        for _ in range(3):
            chromium.run("openLevel()")
        paths = chromium.run("walkable().map(w => mapsOf(aboutOf(w.g)).map(m => m.full)).filter(p => p.length)")
        assert paths == wanted
        chromium.run("hold(aboutOf(walkable().find(w => mapsOf(aboutOf(w.g)).length).g))")
        assert chromium.run("document.querySelectorAll('#about canvas').length") == 1


@pytest.mark.slow
@in_chromium
def test_zoom_keeps_its_place(chromium: Chromium, page: Path) -> None:
    chromium.size(1280, 800)
    chromium.open(page)
    chromium.run("zoom(2)")
    box = "[...figure.querySelectorAll('[data-box]')][1].getBoundingClientRect()"
    chromium.run(f"figure.scrollTo({box}.x - 200, {box}.y - 200)")
    x, y = chromium.run(f"[{box}.x - figure.getBoundingClientRect().x, {box}.y - figure.getBoundingClientRect().y]")
    chromium.run(f"zoom(3, {x}, {y})")
    again = chromium.run(f"[{box}.x - figure.getBoundingClientRect().x, {box}.y - figure.getBoundingClientRect().y]")
    assert again == pytest.approx([x, y], abs=3)


@pytest.mark.slow
@in_chromium
def test_print_is_light(chromium: Chromium, page: Path) -> None:
    """Whatever the screen is."""
    colors = "[document.body, ...figure.querySelectorAll('svg text, svg path, svg rect')].map(e => getComputedStyle(e))"
    colors = f"JSON.stringify({colors}.map(s => [s.color, s.backgroundColor, s.fill, s.stroke]))"
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    try:
        chromium.open(page)
        light = chromium.run(colors)
        chromium.run("mode()")
        assert chromium.run(colors) != light
        chromium.send("Emulation.setEmulatedMedia", media="print")
        assert chromium.run(colors) == light
        chromium.open(page)
        chromium.send("Emulation.setEmulatedMedia", media="screen", features=dark)
        assert chromium.run(colors) != light
        chromium.send("Emulation.setEmulatedMedia", media="print", features=dark)
        assert chromium.run(colors) == light
    finally:
        chromium.send("Emulation.setEmulatedMedia", media="", features=[])


@pytest.mark.slow
@in_firefox
def test_it_answers_in_firefox(page: Path, tmp_path: Path) -> None:
    browser = Firefox(tmp_path)
    try:
        browser.open(page)
        before = browser.run("figure.querySelectorAll('.level').length")
        browser.click("#figure [data-box] rect, #figure [data-box] path")
        assert browser.run("figure.querySelectorAll('.level').length") == before + 1
        assert "Multi-Head" in browser.run("document.getElementById('about').textContent")
        browser.run("figure.focus()")
        browser.press("ArrowRight")
        assert "step" in browser.run("document.getElementById('about').textContent")
    finally:
        browser.close()
