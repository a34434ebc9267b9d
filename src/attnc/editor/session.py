"""What the server remembers of one client: its texts, their analyses, and when to check them.

The event loop only receives and sends. All that thinks is a job of one other thread, done in the order in which it was
asked for, so that each answer is about the text that the client had when it asked. A job that nobody waits for any
more (a request that was cancelled, a check of a text that was changed again) is not begun, or given up halfway.
"""

from __future__ import annotations

import asyncio
import functools
import json
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from ..dsl.files import FileProblem
from ..version import __version__
from .analysis import Analysis, Outdated, analyse, is_current
from .convert import Converter, path_of
from .project import Project
from .protocol import Protocol, edited

DELAY = 0.15
"""Seconds from the last change of a text to its check."""
STACK = 64 * 2**20
"""Bytes of stack of the thread that checks: texts may nest deep."""

Answer = TypeVar("Answer")


class Job:
    """Something to be done by the thread that thinks, as long as it is wanted."""

    def __init__(self, wanted: Callable[[], bool] | None = None) -> None:
        self.cancelled = False
        self._wanted = wanted

    @property
    def wanted(self) -> bool:
        return not self.cancelled and (self._wanted is None or self._wanted())


class Server(LanguageServer):
    """The texts and analyses of one client. What the event loop alone writes: `received`, `timers`."""

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__("attnc", __version__, lsp.TextDocumentSyncKind.Incremental, protocol_cls=Protocol)
        self.project = Project(lambda: self.job.wanted)
        self.converter = Converter(self.project, "utf-16")
        self.analyses: dict[str, Analysis] = {}
        self.versions: dict[str, int | None] = {}
        self.published: dict[str, tuple[Analysis, int | None]] = {}  # of which the client has the diagnostics
        self.received: dict[str, int] = {}  # how many changes of each text came in
        self.timers: dict[str, asyncio.TimerHandle] = {}
        self.drawn: tuple[object, str, str] = (None, "", "")
        self.job = Job()
        self.thinker: ThreadPoolExecutor | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    def report_server_error(self, error: Exception, source: Any) -> None:
        """A wrong request is the client's affair: it gets an error as its answer, and its user sees nothing."""
        if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
            self.protocol.refuse_text()

    # -- jobs

    async def do(self, work: Callable[[], Answer], job: Job | None = None) -> Answer:
        """Has the other thread do it, after all that was asked before. Raises Outdated if it is not wanted."""
        this = job if job is not None else Job()

        def run() -> Answer:
            self.job = this
            if not this.wanted:
                raise Outdated
            return work()

        if self.thinker is None:
            threading.stack_size(STACK)
            self.thinker = ThreadPoolExecutor(1, "attnc")
            self.loop = asyncio.get_running_loop()
        try:
            return await asyncio.get_running_loop().run_in_executor(self.thinker, run)
        except asyncio.CancelledError:
            this.cancelled = True
            raise

    def tell(self, message: Callable[[], None]) -> None:
        """Sends something: the event loop does, whichever thread asks."""
        assert self.loop is not None
        self.loop.call_soon_threadsafe(message)

    # -- texts: done by the other thread

    def analysis(self, uri: str) -> Analysis:
        """The text as it is now, checked. Raises FileProblem for one that cannot be read."""
        path = path_of(uri)
        known = self.analyses.get(path)
        if known is None or not is_current(known):
            known = self.analyses[path] = analyse(self.project, path, known)
        return known

    def position_of(self, params: Any) -> tuple[Analysis, int]:
        """The text and the offset that a request is about."""
        analysis = self.analysis(params.text_document.uri)
        return analysis, self.converter.offset(analysis.source, params.position)

    def opened(self, document: lsp.TextDocumentItem) -> None:
        """A text is checked when it is opened, even if it changes meanwhile: for a while no later one may parse."""
        path = path_of(document.uri)
        self.converter.opened[path] = document.uri
        self.versions[path] = document.version
        self.project.open(path, document.text)
        self.published.pop(path, None)  # a path may be opened anew, under another address
        self.check(path)

    def changed(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """A change of a text that is not open is ignored."""
        path = path_of(params.text_document.uri)
        if path in self.converter.opened:
            text = self.project.source(path).text
            self.project.open(path, edited(text, params.content_changes, self.converter.encoding))
            self.versions[path] = params.text_document.version

    def closed(self, uri: str) -> None:
        path = path_of(uri)
        self.project.close(path)
        for known in (self.converter.opened, self.versions, self.analyses, self.published):
            known.pop(path, None)
        self.tell(lambda: self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, [])))

    # -- diagnostics

    def came(self, path: str) -> None:
        """A change of a text came in: checks of what it was are not wanted any more. It is checked in a moment."""
        self.received[path] = self.received.get(path, 0) + 1
        self.later(path)

    def later(self, path: str) -> None:
        """Check a text a moment after its last change, and what else is open."""
        if path in self.timers:
            self.timers.pop(path).cancel()
        self.timers[path] = asyncio.get_running_loop().call_later(DELAY, self._begin, path)

    def _begin(self, path: str) -> None:
        self.timers.pop(path, None)
        of = self.received.get(path)
        check = self.do(lambda: self.check(path), Job(lambda: self.received.get(path) == of))
        asyncio.ensure_future(check).add_done_callback(lambda done: done.cancelled() or done.exception())

    def check(self, path: str) -> None:
        """Tell the client what is wrong with a text, and with all others that it is open with: they may use it."""
        for each in dict.fromkeys([path, *self.converter.opened]):
            if each in self.converter.opened:
                try:
                    self.publish(each)
                except FileProblem:
                    pass
                except Outdated:
                    raise
                except Exception as bug:
                    failed(f"checking {each}")
                    self.confess(each, bug)

    def publish(self, path: str) -> None:
        """Once for each version of a text, and again when a text that it uses was changed."""
        uri = self.converter.opened[path]
        analysis, version = self.analysis(uri), self.versions[path]
        if self.published.get(path) != (analysis, version):
            found = [self.converter.diagnostic(problem, analysis) for problem in analysis.diagnostics]
            self.published[path] = analysis, version
            params = lsp.PublishDiagnosticsParams(uri, found, version)
            self.tell(lambda: self.text_document_publish_diagnostics(params))

    def confess(self, path: str, bug: Exception) -> None:
        """attnc itself failed while a text was checked: what was said of the text before holds no more."""
        self.published.pop(path, None)
        words = (
            f"attnc failed on this text, which is a mistake of its own ({type(bug).__name__}: {bug}): please report it"
        )
        top = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
        problem = lsp.Diagnostic(top, words, lsp.DiagnosticSeverity.Error, source="attnc")
        params = lsp.PublishDiagnosticsParams(self.converter.opened[path], [problem], self.versions[path])
        self.tell(lambda: self.text_document_publish_diagnostics(params))

    def shutdown(self) -> None:
        if self.thinker is not None:
            self.job.cancelled = True
            self.thinker.shutdown(wait=False, cancel_futures=True)
        super().shutdown()  # type: ignore[no-untyped-call]  # of pygls


server = Server()


def failed(what: str) -> None:
    """A failure of attnc itself, into the client's log."""
    text = f"{what} failed; please report it with the spec:\n{traceback.format_exc()}"
    server.tell(lambda: server.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, text)))


def answers(method: str, options: Any = None, empty: Any = None) -> Callable[[Callable[[Any], Answer]], None]:
    """Registers the answer to a request; `empty` stands in where there is none, because the text cannot be read or
    the answer itself has a mistake.
    """

    def register(answer: Callable[[Any], Answer]) -> None:
        def guarded(params: Any) -> Any:
            try:
                return answer(params)
            except (JsonRpcException, Outdated):
                raise
            except FileProblem:  # a file that is gone: there is nothing to say about it
                pass
            except Exception:
                failed(method)
            return empty

        @functools.wraps(answer)
        async def asked(params: Any) -> Any:
            return await server.do(lambda: guarded(params))

        server.feature(method, options)(asked)

    return register
