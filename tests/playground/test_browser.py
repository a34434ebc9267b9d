"""The playground in headless Chromium, built as `make playground` builds it: typed into, clicked, shared, offline."""

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

from tests.diagrams.browser import CHROMIUM, Chromium

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
SECONDS = 120.0  # for anything: what is measured is printed
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None or shutil.which("npm") is None, reason="needs Chromium, Node and npm"),
]


class Files(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


class Playground:
    """A browser on the page, and the server of its files."""

    def __init__(self, folder: Path, files: Path) -> None:
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(files)))
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.browser = Chromium(folder, 1366, 768)

    def end_server(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def until(self, script: str) -> float:
        """The seconds until an expression is true."""
        begun = time.monotonic()
        while not self.browser.run(f"!!({script})"):
            assert time.monotonic() - begun < SECONDS, (
                script,
                self.browser.errors,
                self.run("document.body.innerText"),
            )
            time.sleep(0.02)
        return time.monotonic() - begun

    def run(self, script: str) -> Any:
        return self.browser.run(script)

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


@pytest.fixture(scope="module")
def page(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    made = Playground(tmp_path_factory.mktemp("profile"), built)
    yield made
    made.browser.close()


def test_it_checks_draws_and_mends_at_a_click(page: Playground) -> None:
    page.visit(WRONG)
    print(f"first check: {page.until('document.body.dataset.checked'):.1f} s")
    assert "E0307" in page.run("document.querySelector('#mistakes').textContent")
    page.browser.click(*page.browser.at("#mistakes .fix"))
    page.until("document.querySelector('#mistakes').childElementCount === 0")
    assert "softmax[past]" in page.text()
    print(f"first figure: {page.until('document.querySelector(`#figure iframe`)'):.1f} s")
    for part, words in (("torch", "class Net"), ("numpy", "def net("), ("cost", "multiply")):
        page.browser.click(*page.browser.at(f"[data-part={part}]"))
        page.until(f"document.querySelector('#text').textContent.includes({json.dumps(words)})")
    assert not page.browser.errors


def test_a_keystroke_at_sixty_lines(page: Playground) -> None:
    text = (ROOT / "examples" / "transformer.attn").read_text(encoding="utf-8")
    lines = text.splitlines()[:60] if len(text.splitlines()) < 60 else text.splitlines()
    page.visit("\n".join(lines) + "\n")
    page.until("document.body.dataset.checked")
    page.browser.click(*page.browser.at(".cm-line"))
    taken = []
    for _ in range(15):
        page.run("document.body.dataset.checked = ''")
        page.browser.type("#")
        page.until("document.body.dataset.checked")
        taken.append(page.run("Number(document.body.dataset.checked)") / 1000)
        time.sleep(0.2)
    print(f"{len(lines)} lines, a keystroke: median {statistics.median(taken):.2f} s, most {max(taken):.2f} s")


def test_links_are_text_and_nothing_else(page: Playground) -> None:
    evil = "use foreign.place: thing\n# </script><script>top.evil = 1</script><img src=x onerror='top.evil = 1'>\n"
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
        page.until(f"document.querySelector('.cm-content')?.textContent.includes({json.dumps(said)})")
    assert all(url.startswith((page.url, "data:", "about:", "blob:")) for url in page.browser.asked), page.browser.asked


def test_a_shared_link_comes_back(page: Playground) -> None:
    page.visit(WRONG)
    page.until("document.body.dataset.checked")
    page.browser.click(*page.browser.at(".cm-line"))
    page.browser.type("# 𝔭 ü\n")
    page.browser.click(*page.browser.at("#share"))
    page.until("document.querySelector('#reply').textContent.includes('link')")
    shared = page.run("location.href")
    page.browser.visit("about:blank")
    page.browser.visit(shared)
    page.until("document.querySelector('.cm-content')?.textContent.includes('𝔭 ü')")


def test_a_puzzle(page: Playground) -> None:
    page.visit(WRONG)
    page.until("document.body.dataset.checked")
    page.run("document.querySelector('#puzzles').value = '01_turned_mask'")
    page.run("document.querySelector('#puzzles').dispatchEvent(new Event('change'))")
    page.until("document.querySelector('#puzzle .not')")
    page.until("document.querySelectorAll('#sees td.leak').length === 15")
    before = page.text()
    for line, changes in ((4, False), (9, True)):  # the signature is locked, the mask is not
        page.browser.click(*page.browser.at(".cm-line", line))
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


def test_offline(page: Playground) -> None:
    """The last of these tests: the server goes."""
    page.visit(WRONG)
    page.until("document.body.dataset.checked")
    page.run("navigator.serviceWorker.ready.then(() => true)")
    page.until("navigator.serviceWorker.controller")
    page.end_server()
    page.visit(WRONG)
    page.until("document.querySelector('#mistakes').textContent.includes('E0307')")
