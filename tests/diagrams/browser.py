"""Real browsers without a screen, driven by real clicks, touches and keys: Chromium through its pipe for DevTools,
Firefox through Marionette. Nothing but the standard library."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from base64 import b64decode
from itertools import count
from pathlib import Path
from typing import Any

from tests.clock import patience, wait_until

CHROMIUM = next((p for p in ("chromium", "chromium-browser", "google-chrome") if shutil.which(p)), None)
FIREFOX = next((p for p in ("firefox-esr", "firefox") if shutil.which(p)), None)
_CODES = {
    "Enter": 13,
    "End": 35,
    " ": 32,
    "Escape": 27,
    "ArrowRight": 39,
    "ArrowLeft": 37,
    "Tab": 9,
    "]": 221,
    "[": 219,
}
_KEYS = {
    "Enter": "\ue007",
    "End": "\ue010",
    "Escape": "\ue00c",
    "ArrowRight": "\ue014",
    "ArrowLeft": "\ue012",
    "Tab": "\ue004",
}


class Chromium:
    """One page. Sizes and places are CSS pixels."""

    def __init__(self, folder: Path, wide: int = 1280, high: int = 800) -> None:
        assert CHROMIUM is not None
        mine_in, its_out = os.pipe()
        its_in, mine_out = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"]
        flags += ["--remote-debugging-pipe", f"--user-data-dir={folder / 'profile'}", "about:blank"]
        moved = f'exec "$@" 3<&{its_in} 4>&{its_out}'  # Chromium reads 3 and writes 4
        self.process = subprocess.Popen(
            ["bash", "-c", moved, "bash", CHROMIUM, *flags],
            pass_fds=(its_in, its_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(its_in)
        os.close(its_out)
        self._in, self._out = os.fdopen(mine_in, "rb"), os.fdopen(mine_out, "wb", buffering=0)
        self._count, self._session, self.errors = count(1), "", list[str]()
        target = next(t for t in self.send("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attached = self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.send(f"{domain}.enable")
        self.asked: list[str] = []
        self.size(wide, high)

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._count)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                found: dict[str, Any] = answer["result"]
                return found
            self._meet(answer)

    def _read(self) -> dict[str, Any]:
        text = bytearray()
        while (byte := self._in.read(1)) not in (b"\0", b""):
            text += byte
        assert text, "Chromium is gone"
        read: dict[str, Any] = json.loads(text)
        return read

    def _meet(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(event["params"]["exceptionDetails"]))
        if event.get("method") == "Network.requestWillBeSent":
            self.asked.append(event["params"]["request"]["url"])

    def size(self, wide: int, high: int) -> None:
        self.send("Emulation.setDeviceMetricsOverride", width=wide, height=high, deviceScaleFactor=1, mobile=wide < 600)

    def open(self, file: Path) -> None:
        self.visit(file.as_uri())

    def visit(self, url: str) -> None:
        self.send("Page.navigate", url=url)
        wait_until(lambda: self.run("document.readyState") == "complete")

    def type(self, text: str) -> None:
        self.send("Input.insertText", text=text)

    def run(self, script: str) -> Any:
        """The value of an expression."""
        done = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    look = run

    def tap(self, selector: str, number: int = 0) -> None:
        self.click(*self.at(selector, number))

    def at(self, selector: str, number: int = 0) -> tuple[float, float]:
        """The middle of an element, after it was scrolled into view."""
        found = f"document.querySelectorAll({json.dumps(selector)})[{number}]"
        self.run(f"{found}.scrollIntoView({{block: 'center', inline: 'center'}})")
        script = f"(b => [b.x + b.width / 2, b.y + b.height / 2])({found}.getBoundingClientRect())"
        x, y = self.run(script)
        return x, y

    def move(self, x: float, y: float) -> None:
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def touch(self, x: float, y: float) -> None:
        self.send("Emulation.setTouchEmulationEnabled", enabled=True)
        self.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def press(self, key: str) -> None:
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = _CODES.get(key, ord(key[0]))
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def picture(self, file: Path) -> None:
        file.write_bytes(b64decode(self.send("Page.captureScreenshot")["data"]))

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(10)
        self._in.close()
        self._out.close()


class Firefox:
    """The same, as far as the tests ask for it."""

    def __init__(self, folder: Path, wide: int = 1280, high: int = 800) -> None:
        assert FIREFOX is not None
        profile = folder / "firefox"
        profile.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (profile / "user.js").write_text(f'user_pref("marionette.port", {port});\n', encoding="utf-8")
        command = [FIREFOX, "--headless", "--marionette", "--no-remote", "--profile", str(profile)]
        command += ["--width", str(wide), "--height", str(high)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        waiting = patience()
        while waiting():
            try:
                self._socket = socket.create_connection(("127.0.0.1", port))
                break
            except OSError:
                time.sleep(0.1)
        self._count = count(1)
        self._read()
        self.send("WebDriver:NewSession", capabilities={})

    def send(self, command: str, **params: Any) -> Any:
        text = json.dumps([0, next(self._count), command, params]).encode()
        self._socket.sendall(str(len(text)).encode() + b":" + text)
        _, _, error, result = self._read()
        assert error is None, error
        return result

    def _read(self) -> Any:
        head = b""
        while not head.endswith(b":"):
            head += self._socket.recv(1)
        left, text = int(head[:-1]), b""
        while len(text) < left:
            text += self._socket.recv(left - len(text))
        return json.loads(text)

    def open(self, file: Path) -> None:
        self.visit(file.as_uri())

    def visit(self, url: str) -> None:
        self.send("WebDriver:Navigate", url=url)

    def run(self, script: str) -> Any:
        return self.look(f"eval({json.dumps(script)})")

    def look(self, script: str) -> Any:
        """The value of an expression without names of the page's scripts: a page may forbid `eval`."""
        return self.send("WebDriver:ExecuteScript", script=f"return {script}", args=[])["value"]

    def size(self, wide: int, high: int) -> None:
        """Of the page: the window is larger by its bars."""
        for _ in range(2):
            inner = self.look("[outerWidth - innerWidth, outerHeight - innerHeight]")
            self.send("WebDriver:SetWindowRect", width=wide + inner[0], height=high + inner[1])

    def type(self, text: str) -> None:
        keys = [_KEYS["Enter"] if each == "\n" else each for each in text]
        self._keys(*({"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")))

    def click(self, selector: str, number: int = 0) -> None:
        found = self.send("WebDriver:FindElements", using="css selector", value=selector)
        element = found[number]
        origin = {"type": "pointerMove", "x": 0, "y": 0, "origin": element, "duration": 0}
        self.look(f"document.querySelectorAll({json.dumps(selector)})[{number}].scrollIntoView({{block: 'center'}})")
        actions = [origin, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.send("WebDriver:PerformActions", actions=[{"type": "pointer", "id": "m", "actions": actions}])

    tap = click

    def press(self, key: str) -> None:
        key = _KEYS.get(key, key)
        self._keys({"type": "keyDown", "value": key}, {"type": "keyUp", "value": key})

    def _keys(self, *actions: dict[str, str]) -> None:
        self.send("WebDriver:PerformActions", actions=[{"type": "key", "id": "k", "actions": list(actions)}])

    def picture(self, file: Path) -> None:
        file.write_bytes(b64decode(self.send("WebDriver:TakeScreenshot", full=False)["value"]))

    def close(self) -> None:
        self._socket.close()
        self.process.terminate()
        self.process.wait(20)
