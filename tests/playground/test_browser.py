"""The playground in real browsers, built as `make playground` builds it: typed into, clicked, shared, offline."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from zlib import compressobj

import pytest

from tests.clock import elapsed, wait_until
from tests.diagrams.browser import CHROMIUM, FIREFOX, Chromium, Firefox

ROOT = Path(__file__).parents[2]
HOME = ROOT / "editors" / "playground"
WRONG = """width seq
width past like seq
depth key = 4

model net(Q: [seq, key], K: [seq, key], V: [seq, key]) -> [seq, key] {
    weights = softmax[seq](dot[key](Q, K[seq as past]))
    return dot[past](weights, V[seq as past])
}
"""
RIGHT = WRONG.replace("softmax[seq]", "softmax[past]")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("npm") is None, reason="needs Node and npm"),
]
BROWSERS = [
    pytest.param(Chromium, marks=pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")),
    pytest.param(Firefox, marks=pytest.mark.skipif(FIREFOX is None, reason="Firefox is not installed")),
]
DRAWN = "document.querySelector('#figure iframe:not(.coming)') && !document.querySelector('#results.stale')"
WATCHED = "{subtree: true, childList: true, characterData: true, attributes: true}"
BOTH = """const state = document.querySelector("#state"), none = document.querySelector("#none");
    if (state.className === "right" && !none.hidden && none.textContent.includes("as soon as"))
        window.both.push(state.textContent);"""
VIEW = """new Promise(done => {
    addEventListener("message", ({data}) => done(JSON.stringify(data.view)), {once: true});
    document.querySelector("#figure iframe:not(.coming)").contentWindow.postMessage({view: true}, "*");
})"""


class Files(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


class Playground:
    """A browser on the page, and the server of its files."""

    def __init__(self, kind: type[Chromium] | type[Firefox], folder: Path, files: Path) -> None:
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(files)))
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.browser = kind(folder, 1366, 768)

    def end_server(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def until(self, script: str) -> float:
        """The seconds until an expression is true."""
        why = lambda: (script, self.errors, self.run("document.body.innerText"))  # noqa: E731
        return elapsed(lambda: wait_until(lambda: self.browser.look(f"!!({script})"), why))

    def run(self, script: str) -> Any:
        return self.browser.look(script)

    @property
    def errors(self) -> list[str]:
        return self.browser.errors if isinstance(self.browser, Chromium) else []

    def choose(self, what: str, name: str) -> None:
        choice = f"document.querySelector('#{what}')"
        self.run(f"({choice}.value = {json.dumps(name)}, {choice}.dispatchEvent(new Event('change')))")

    def view(self) -> Any:
        """What is open in the figure, and how large it is."""
        return json.loads(self.run(VIEW))

    def visit(self, text: str) -> None:
        """The page with a spec in its address."""
        self.browser.visit("about:blank")
        self.browser.visit(self.url + link(text))

    def text(self) -> str:
        found: str = self.run("[...document.querySelectorAll('.cm-line')].map(line => line.textContent).join('\\n')")
        return found


def link(text: str) -> str:
    packer = compressobj(wbits=-15)
    return "#1." + urlsafe_b64encode(packer.compress(text.encode()) + packer.flush()).decode().rstrip("=")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("playground") / "out"
    subprocess.run(["npm", "ci", "--ignore-scripts", "--silent"], cwd=HOME, check=True)
    subprocess.run([sys.executable, str(HOME / "build.py"), str(out)], check=True)
    return out


@pytest.fixture(scope="module", params=BROWSERS)
def page(request: pytest.FixtureRequest, built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    made = Playground(request.param, tmp_path_factory.mktemp("profile"), built)
    yield made
    made.browser.close()


def test_it_checks_draws_and_mends_at_a_click(page: Playground) -> None:
    page.visit(WRONG)
    print(f"first check: {page.until('document.body.dataset.checked'):.1f} s")
    assert "E0307" in page.run("document.querySelector('#mistakes').textContent")
    assert "as soon as" in page.run("document.querySelector('#none').textContent")
    page.run(f"(window.both = [], new MutationObserver(() => {{ {BOTH} }}).observe(document.body, {WATCHED}), 0)")
    page.browser.tap("#mistakes .fix")
    page.until("document.querySelector('#mistakes').childElementCount === 0")
    assert "softmax[past]" in page.text()
    print(f"first figure: {page.until(DRAWN):.1f} s")
    assert page.run("document.querySelector('#none').hidden")
    for part, words in (("torch", "class Net"), ("numpy", "def net("), ("cost", "multiply")):
        page.browser.tap(f"[data-part={part}]")
        page.until(f"document.querySelector('#text').textContent.includes({json.dumps(words)})")
    assert page.run("JSON.stringify(window.both)") == "[]"
    assert not page.errors


def test_a_keystroke_at_sixty_lines(page: Playground) -> None:
    text = (ROOT / "examples" / "transformer.attn").read_text(encoding="utf-8")
    lines = text.splitlines()[:60] if len(text.splitlines()) < 60 else text.splitlines()
    page.visit("\n".join(lines) + "\n")
    page.until("document.body.dataset.checked")
    page.browser.tap(".cm-line")
    taken = []
    for _ in range(15):
        page.run("(document.body.dataset.checked = '')")
        page.browser.type("#")
        page.until("document.body.dataset.checked")
        taken.append(page.run("Number(document.body.dataset.checked)") / 1000)
        time.sleep(0.2)
    print(f"{len(lines)} lines, a keystroke: median {statistics.median(taken):.2f} s, most {max(taken):.2f} s")


def test_links_are_text_and_nothing_else(page: Playground) -> None:
    evil = "use foreign.place: thing\n# </script><script>top.evil = 1</script><img src=x onerror='top.evil = 1'>\n"
    if isinstance(page.browser, Chromium):
        page.browser.asked.clear()
    page.visit(evil + "model </script> <b>x</b>(x: []) -> [] {\n    return x\n}\n")
    page.until("document.body.dataset.checked")
    assert "</script>" in page.text() and page.run("window.evil") is None
    assert page.run("document.querySelectorAll('#spec script, #spec img, #spec b').length") == 0
    page.visit("use std.attention: attend\nuse foreign: thing\n")
    page.until("document.querySelector('#mistakes').textContent.includes('E0209')")
    for fragment, said in (("#2.abc", "version 2"), ("#1.%%%", "damaged"), (link("x" * 200_000), "at most")):
        page.browser.visit("about:blank")
        page.browser.visit(page.url + fragment)
        page.until(f"document.querySelector('#reply.wrong')?.textContent.includes({json.dumps(said)})")
        assert page.run("document.querySelector('.cm-content').textContent"), "what was there before stays"
    if isinstance(page.browser, Chromium):
        asked = page.browser.asked
        assert all(url.startswith((page.url, "data:", "about:", "blob:")) for url in asked), asked


def test_a_shared_link_comes_back(page: Playground) -> None:
    page.visit(WRONG)
    page.until("document.body.dataset.checked")
    page.browser.tap(".cm-line")
    page.browser.type("# 𝔭 ü\n")
    page.browser.tap("#share")
    page.until("document.querySelector('#reply').textContent.includes('link')")
    shared = page.run("location.href")
    page.browser.visit("about:blank")
    page.browser.visit(shared)
    page.until("document.querySelector('.cm-content')?.textContent.includes('𝔭 ü')")


def test_a_puzzle(page: Playground) -> None:
    page.visit(WRONG)
    page.until("document.body.dataset.checked")
    page.choose("puzzles", "01_turned_mask")
    page.until("document.querySelector('#puzzle .not')")
    page.until("document.querySelectorAll('#sees td.leak').length === 15")
    before = page.text()
    for line, changes in ((4, False), (9, True)):  # the signature is locked, the mask is not
        page.browser.tap(".cm-line", line)
        page.browser.press("End")
        page.browser.type(" # mine")
        assert (page.text() != before) is changes
    line = "[...document.querySelectorAll('.cm-line')].find(each => each.textContent.includes('past >= target'))"
    page.run(f"getSelection().setBaseAndExtent({line}, 0, {line}, {line}.childNodes.length)")
    time.sleep(0.3)
    page.browser.type("    weights = softmax[past](scores where past <= target)")
    page.until("document.querySelector('#puzzle .solved')")
    assert page.run("document.querySelectorAll('#sees td.leak, #sees td.blind').length") == 0
    assert page.run("document.querySelector('#puzzles').selectedOptions[0].text").startswith("✓")


def test_what_is_written_is_kept(page: Playground) -> None:
    """What is shared and then changed stays after a reload, and a link that is only looked at takes no draft away."""
    page.visit(WRONG)
    page.until("document.body.dataset.checked")
    page.browser.tap("#share")
    page.until("document.querySelector('#reply').textContent")
    page.browser.tap(".cm-line")
    page.browser.type("# my own\n")
    page.until("location.hash === ''")
    page.browser.visit("about:blank")
    page.visit(RIGHT)
    page.until("document.querySelector('.cm-content')?.textContent.includes('softmax[past]')")
    page.browser.visit("about:blank")
    page.browser.visit(page.url)
    page.until("document.querySelector('.cm-content')?.textContent.includes('my own')")


def test_blocks_stay_open(page: Playground) -> None:
    """The figure of a changed spec has the blocks open that were open before, as large as before."""
    text = (ROOT / "examples" / "transformer.attn").read_text(encoding="utf-8")
    page.visit(text)
    print(f"the Transformer: {page.until(DRAWN):.1f} s")
    assert page.view()["open"] == []
    page.run("document.querySelector('#figure iframe').focus()")
    for key in ("Tab",) * 13 + ("]", "+"):  # past the buttons, to the first step
        page.browser.press(key)
    before = page.view()
    assert before["open"] and before["zoom"] > 1
    page.browser.tap(".cm-line")
    page.browser.press("End")
    page.browser.type(" Again.")
    page.until("document.querySelector('#results.stale')")
    assert page.run("!!document.querySelector('#figure iframe:not(.coming)')"), "the figure before stays"
    print(f"again: {page.until(DRAWN):.1f} s")
    assert page.view() == before


def test_a_newer_text_ends_an_older_drawing(page: Playground) -> None:
    lines = (f"    x = x + relu(linear.m{k}[d -> d](x)) * linear.g{k}[d -> d](x)\n" for k in range(150))
    large = "width n\ndepth d = 4\n\nmodel net(x: [n, d]) -> [n, d] {\n" + "".join(lines) + "    return x\n}\n"
    page.visit(RIGHT)
    page.until(DRAWN)
    page.choose("examples", "examples/attentions/rnn.attn")
    page.until(DRAWN)
    page.run(f"(location.hash = {json.dumps(link(large))})")
    page.until("document.querySelector('#state').textContent.includes('Making')")
    time.sleep(1)
    page.run("(document.body.dataset.checked = '')")
    page.browser.tap(".cm-line")
    page.browser.type("# ")
    print(f"a keystroke while it draws: {page.until('document.body.dataset.checked'):.1f} s")
    page.choose("examples", "examples/attentions/rnn.attn")
    page.until("document.querySelector('.cm-content').textContent.includes('tanh')")
    drawn = page.until("document.querySelector('#state').textContent === 'It checks.' && " + DRAWN)
    print(f"the newer figure: {drawn:.1f} s behind its text")
    assert page.run("document.querySelector('#figure iframe').dataset.name") == "rnn"


def test_a_puzzle_stays_locked(page: Playground) -> None:
    page.visit(RIGHT)
    page.until("document.body.dataset.checked")
    page.choose("puzzles", "01_turned_mask")
    page.until("document.querySelector('#puzzle .not')")
    before = page.text()
    page.browser.tap("#format")
    page.until("document.querySelector('#reply').textContent.includes('locked')")
    page.browser.tap(".cm-line", 4)
    page.browser.type("#")
    page.browser.press("Enter")
    assert page.text() == before
    page.browser.tap(".cm-line")  # two warnings with fixes above it: mending all leaves the lock where it was
    page.browser.type("# x")
    page.browser.tap(".cm-line", 4)
    page.browser.type("#")
    assert page.text().splitlines()[4] == before.splitlines()[4]


def test_with_the_keyboard_alone(page: Playground) -> None:
    page.visit(RIGHT)
    page.until("document.body.dataset.checked")
    page.run("document.querySelector('.cm-content').focus()")
    page.browser.press("Escape")
    page.browser.press("Tab")
    met = []
    for _ in range(12):
        met.append(page.run("document.activeElement.dataset.part ?? document.activeElement.tagName.toLowerCase()"))
        page.browser.press("Tab")
        if met[-1] == "figure":
            break
    assert met[-1] == "figure", met
    page.run("document.querySelector('[data-part=figure]').focus()")
    page.browser.press("ArrowRight")
    page.until("document.querySelector('#text').textContent.includes('class')")
    assert page.run("document.activeElement.dataset.part") == "torch"


def test_every_example_checks_and_is_drawn(page: Playground) -> None:
    page.visit(RIGHT)
    page.until(DRAWN)
    names = page.run("[...document.querySelectorAll('#examples option')].map(each => each.value).filter(Boolean)")
    taken = {}
    for name in names:
        page.choose("examples", name)
        page.until("document.querySelector('#results.stale')")
        taken[name] = page.until(f"document.querySelector('#state').className === 'right' && {DRAWN}")
        assert "mistake" not in page.run("document.querySelector('#state').textContent"), name
    slow = sorted(taken, key=lambda name: -taken[name])[:5]
    print(f"{len(names)} examples drawn; the slowest: {', '.join(f'{name} {taken[name]:.1f} s' for name in slow)}")
    assert len(names) > 40


def test_offline(page: Playground) -> None:
    """The last of these tests: the server goes."""
    page.visit(WRONG)
    page.until("document.body.dataset.checked")
    page.run("navigator.serviceWorker.ready.then(() => true)")
    page.until("navigator.serviceWorker.controller")
    page.end_server()
    page.visit(WRONG)
    page.until("document.querySelector('#mistakes').textContent.includes('E0307')")
