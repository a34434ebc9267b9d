"""A client of the protocol made of the standard library alone: what it sends may be as wrong as one likes."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from typing import Any

from tests.clock import PATIENCE


class Raw:
    """Speaks JSON over the pipes of `attnc lsp`, or of `program`. Each message that comes is kept whole."""

    def __init__(self, program: str = "") -> None:
        command = [sys.executable, "-c", program] if program else [sys.executable, "-m", "attnc", "lsp"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.inbox: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.answers: dict[Any, dict[str, Any]] = {}
        self.notes: list[dict[str, Any]] = []
        self.last = 0
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        out = self.process.stdout
        assert out is not None
        while True:
            length = 0
            while (line := out.readline()) != b"\r\n":
                if not line:
                    self.inbox.put(None)
                    return
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            message = json.loads(out.read(length))
            assert message["jsonrpc"] == "2.0" and ("id" in message or "method" in message), message
            self.inbox.put(message)

    def send(self, body: bytes) -> None:
        pipe = self.process.stdin
        assert pipe is not None
        pipe.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        pipe.flush()

    def notify(self, method: str, **params: Any) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def begin(self, method: str, **params: Any) -> int:
        """Asks, and waits for nothing; the id of the request."""
        self.last += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}).encode())
        return self.last

    def _next(self) -> None:
        message = self.inbox.get(timeout=PATIENCE)
        assert message is not None, self.process.stderr and self.process.stderr.read().decode()
        if "method" in message:
            self.notes.append(message)
        else:
            assert ("result" in message) != ("error" in message), message
            self.answers[message["id"]] = message

    def wait(self, id: Any) -> dict[str, Any]:
        """The whole answer to a request."""
        while id not in self.answers:
            self._next()
        return self.answers[id]

    def ask(self, method: str, **params: Any) -> Any:
        """The result of a request, which must be no error."""
        answer = self.wait(self.begin(method, **params))
        assert "error" not in answer, answer
        return answer["result"]

    def error(self, method: str, **params: Any) -> int:
        """The code of the error that a request ends in."""
        code = self.wait(self.begin(method, **params))["error"]["code"]
        assert isinstance(code, int)
        return code

    # -- a session

    def start(self, **capabilities: Any) -> Any:
        found = self.ask("initialize", processId=os.getpid(), rootUri=None, capabilities=capabilities)
        self.notify("initialized")
        return found["capabilities"]

    def open(self, uri: str, text: str) -> None:
        self.notify("textDocument/didOpen", textDocument={"uri": uri, "languageId": "attn", "version": 1, "text": text})

    def change(self, uri: str, version: int, *changes: dict[str, Any]) -> None:
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", textDocument=document, contentChanges=list(changes))

    def hover(self, uri: str, line: int, column: int) -> str:
        found = self.ask("textDocument/hover", textDocument={"uri": uri}, position=at(line, column))
        return found["contents"]["value"] if found else ""

    def published(self, uri: str) -> list[dict[str, Any]]:
        method = "textDocument/publishDiagnostics"
        return [note["params"] for note in self.notes if note["method"] == method and note["params"]["uri"] == uri]

    def diagnostics(self, uri: str, version: int) -> list[dict[str, Any]]:
        """What the server says of this version of a text."""
        while True:
            found = [each for each in self.published(uri) if each.get("version") == version]
            if found:
                diagnostics = found[-1]["diagnostics"]
                assert isinstance(diagnostics, list)
                return diagnostics
            self._next()

    def stop(self) -> int:
        assert self.ask("shutdown") is None
        return self.leave()

    def leave(self) -> int:
        """Says `exit`; the status of the process."""
        self.send(b'{"jsonrpc": "2.0", "method": "exit"}')
        status = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        return status


def at(line: int, column: int) -> dict[str, int]:
    return {"line": line, "character": column}


def put(text: str, start: tuple[int, int], end: tuple[int, int]) -> dict[str, Any]:
    """A change of a range."""
    return {"range": {"start": at(*start), "end": at(*end)}, "text": text}
