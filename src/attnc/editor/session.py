"""What the server remembers of one client: its texts, their analyses, and when to check them."""

from __future__ import annotations

import asyncio
import functools
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from .. import __version__
from ..dsl.files import FileProblem
from .analysis import Analysis, analyse, is_current
from .convert import Converter, path_of
from .project import Project

DELAY = 0.15
"""Seconds from the last change of a text to its check."""

Answer = TypeVar("Answer")


class Server(LanguageServer):
    """The texts and analyses of one client."""

    def __init__(self) -> None:
        super().__init__("attnc", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full)
        self.project = Project()
        self.converter = Converter(self.project, "utf-16")
        self.analyses: dict[str, Analysis] = {}
        self.timers: dict[str, asyncio.TimerHandle] = {}
        self.drawn: tuple[object, str, str] = (None, "", "")

    def analysis(self, uri: str) -> Analysis:
        """The text as it is now, checked. Raises FileProblem for one that cannot be read."""
        path = path_of(uri)
        known = self.analyses.get(path)
        if known is None or not is_current(known):
            known = self.analyses[path] = analyse(self.project, path, known)
        return known

    def place(self, params: Any) -> tuple[Analysis, int]:
        """The text and the offset that a request is about."""
        analysis = self.analysis(params.text_document.uri)
        return analysis, self.converter.offset(analysis.source, params.position)

    # -- diagnostics

    def changed(self, path: str, text: str) -> None:
        self.project.open(path, text)
        self.later(path)

    def later(self, path: str) -> None:
        """Check a text a moment after its last change, and those that use it."""
        if path in self.timers:
            self.timers.pop(path).cancel()
        self.timers[path] = asyncio.get_running_loop().call_later(DELAY, self.check, path)

    def check(self, path: str) -> None:
        """Tell the client what is wrong with a text, and with the open texts that use it."""
        if path in self.timers:
            self.timers.pop(path).cancel()
        for each in dict.fromkeys([path, *self.converter.opened]):
            known = self.analyses.get(each)
            if each in self.converter.opened and (each == path or known is None or not is_current(known)):
                try:
                    self.publish(each)
                except Exception:
                    failed(f"checking {each}")

    def publish(self, path: str) -> None:
        uri = self.converter.opened[path]
        analysis = self.analysis(uri)
        found = [self.converter.diagnostic(problem, analysis) for problem in analysis.diagnostics]
        version = self.workspace.get_text_document(uri).version
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, version))

    def check_all(self) -> None:
        """Files on disk were changed: whatever was read of them is old."""
        self.analyses.clear()
        for path in self.converter.opened:
            self.later(path)


server = Server()


def failed(what: str) -> None:
    """A mistake of ours, into the client's log."""
    text = f"{what} failed; please report it with the spec:\n{traceback.format_exc()}"
    server.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, text))


def answers(method: str, options: Any = None, empty: Any = None) -> Callable[[Callable[..., Answer]], None]:
    """Registers the answer to a request; `empty` stands in where there is none, because the text cannot be read or
    the answer itself has a mistake.
    """

    def register(answer: Callable[..., Answer]) -> None:
        @functools.wraps(answer)
        def guarded(params: Any) -> Any:
            try:
                return answer(params)
            except JsonRpcException:
                raise
            except FileProblem:  # a file that is gone: there is nothing to say about it
                pass
            except Exception:
                failed(method)
            return empty

        server.feature(method, options)(guarded)

    return register
