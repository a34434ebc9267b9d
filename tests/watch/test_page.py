"""The page of `attnc watch` in a real browser, as its file is saved."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from attnc.watch.following import Following
from attnc.watch.server import WatchServer
from tests.clock import wait_until
from tests.diagrams.browser import CHROMIUM, Chromium
from tests.diagrams.test_live import NET

FIGURE = "document.getElementById('figure').contentDocument"
LEVELS = f"{FIGURE}.querySelectorAll('#figure .level').length"


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_save_leaves_open_what_was_open(tmp_path: Path) -> None:
    file = tmp_path / "net.attn"
    file.write_text(NET)
    following = Following(str(file), None, None, {}, ())
    server = WatchServer(following, 0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    following.start()
    browser = Chromium(tmp_path)

    def until(expression: str) -> None:
        why = lambda: (expression, browser.run("document.body.innerText"), browser.errors)  # noqa: E731
        wait_until(lambda: browser.run(expression), why)

    def tap(selector: str) -> None:
        found = f"{FIGURE}.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        frame = "document.getElementById('figure').getBoundingClientRect()"
        browser.click(
            *browser.run(f"((e, f) => [f.x + e.x + e.width / 2, f.y + e.y + e.height / 2])({found}, {frame})")
        )

    def said(words: str) -> str:
        return f"document.getElementById('mistakes').textContent.includes({words!r})"

    def drawn(op: str) -> str:
        return f"/{op}/i.test({FIGURE}.body?.textContent) && {FIGURE}.readyState === 'complete'"

    try:
        browser.visit(server.address)
        until(f"{LEVELS} === 3")  # at first all are open
        tap("[title^='close the innermost']")
        until(f"{LEVELS} === 2")
        tap("[title^='close the innermost']")
        until(f"{LEVELS} === 1")
        tap("#figure [data-box] rect, #figure [data-box] path")
        until(f"{LEVELS} === 2")
        file.write_text(NET.replace("tanh(c)", "gelu(c)"))
        until(drawn("gelu"))
        assert browser.run(LEVELS) == 2
        file.write_text(NET.replace("tanh(c)", "tahn(c)"))
        until(said("did you mean `tanh`"))
        assert browser.run(LEVELS) == 2  # the last that was right
        file.write_text(NET)
        until(f"document.getElementById('mistakes').hidden && {drawn('tanh')}")
        assert browser.run(LEVELS) == 2 and browser.errors == []
    finally:
        browser.close()
        server.shutdown()
        thread.join()
        following.stop()
        server.server_close()
