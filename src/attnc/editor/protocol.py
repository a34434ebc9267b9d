"""pygls's side of the protocol, held to its letter where pygls is lax.

Texts change as ours do, not by pygls's own count of lines (which ends one at U+2028 and at a form feed); a request is
answered whatever is wrong with it: one that cannot be read, one before `initialize`, one after `shutdown`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, BinaryIO

from lsprotocol import types as lsp
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, lsp_method

from ..dsl.nested import too_deep
from .lines import Lines


def edited(text: str, changes: Iterable[lsp.TextDocumentContentChangeEvent], encoding: str) -> str:
    """The text after changes, each of the whole or of a range of what the one before it left."""
    for change in changes:
        if isinstance(change, lsp.TextDocumentContentChangePartial):
            lines, start, end = Lines(text, encoding), change.range.start, change.range.end
            begin = lines.offset(start.line, start.character)
            text = text[:begin] + change.text + text[max(begin, lines.offset(end.line, end.character)) :]
        else:
            text = change.text
    return text


class Shallow:
    """stdin, whose messages pygls reads with `json`: what nests too deep for that comes as what is no JSON."""

    def __init__(self, stdin: BinaryIO) -> None:
        self._stdin = stdin
        self.readline = stdin.readline

    def read(self, size: int) -> bytes:
        """The body of a message."""
        body = self._stdin.read(size)
        return b"[" if too_deep(body.decode(errors="replace")) else body


class Protocol(LanguageServerProtocol):
    """Requests come in any state of a session and of a client; each gets an answer."""

    hasty = False
    """Whether the client said `exit` without `shutdown`: then the status of the process is 1."""

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> Generator[Any, Any, None]:
        """The texts are the server's (session.py): what is wrong with a change must not keep it from them."""
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    def handle_message(self, message: Any) -> None:
        if not hasattr(message, "jsonrpc"):
            id = message.get("id") if isinstance(message, dict) else None
            self._refuse(id, JsonRpcInvalidRequest("this is no message of JSON-RPC 2.0"))
            return
        method, id = getattr(message, "method", None), getattr(message, "id", None)
        started = self._workspace is not None
        self.hasty = method == lsp.EXIT and not self._shutdown
        if self._shutdown and method not in (None, lsp.EXIT):
            problem: JsonRpcException | None = JsonRpcInvalidRequest("the server has been told to shut down")
        elif method == lsp.INITIALIZE and started:
            problem = JsonRpcInvalidRequest("`initialize` comes once")
        elif method is not None and not started and method not in (lsp.INITIALIZE, lsp.EXIT):
            problem = JsonRpcServerNotInitialized("`initialize` comes first")
        else:
            problem = None
        if problem is None:
            super().handle_message(message)
        elif id is not None:
            self._refuse(id, problem)

    def refuse_text(self) -> None:
        """What was sent is no JSON."""
        self._refuse(None, JsonRpcParseError("this is no JSON"))

    def _refuse(self, id: Any, problem: JsonRpcException) -> None:
        error = {"code": problem.code, "message": problem.message}
        self._send_data({"jsonrpc": self.VERSION, "id": id, "error": error})

    def structure_message(self, data: dict[str, Any]) -> Any:
        """What was sent, as the type of its method. A request of another form is answered with an error."""
        try:
            return super().structure_message(data)
        except JsonRpcException as problem:
            if "method" in data and isinstance(data.get("id"), int | str):
                wrong = JsonRpcInvalidParams(f"these are no parameters of `{data['method']}`")
                self._refuse(data["id"], wrong)
            raise problem
