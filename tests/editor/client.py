"""A real client: pygls's own, speaking to `attnc lsp` over the pipes of a process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient
from pygls.uris import from_fs_path

from tests.clock import PATIENCE

Answer = TypeVar("Answer")


class Editor:
    """What an editor does, one thing at a time. Columns and lines of `Position` are the protocol's: UTF-16, from 0."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loop = asyncio.new_event_loop()
        self.client = LanguageClient("tests", "1")
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.published: dict[str, lsp.PublishDiagnosticsParams] = {}
        self.log: list[str] = []
        self.errors: list[str] = []

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: lsp.PublishDiagnosticsParams) -> None:
            self.published[params.uri] = params

        @self.client.feature(lsp.WINDOW_LOG_MESSAGE)
        def logged(params: lsp.LogMessageParams) -> None:
            if params.type == lsp.MessageType.Error:
                self.errors.append(params.message)

        @self.client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
        def register(params: lsp.RegistrationParams) -> None:
            self.log += [wish.method for wish in params.registrations]

    def run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return self.loop.run_until_complete(asyncio.wait_for(work, PATIENCE))

    def start(self, encodings: list[lsp.PositionEncodingKind | str] | None = None) -> lsp.InitializeResult:
        self.run(self.client.start_io(sys.executable, "-m", "attnc", "lsp", "--stdio"))
        completion = lsp.CompletionClientCapabilities(
            completion_item=lsp.ClientCompletionItemOptions(snippet_support=True)
        )
        watched = lsp.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)
        able = lsp.ClientCapabilities(
            text_document=lsp.TextDocumentClientCapabilities(completion=completion),
            workspace=lsp.WorkspaceClientCapabilities(did_change_watched_files=watched),
            general=lsp.GeneralClientCapabilities(position_encodings=encodings) if encodings else None,
        )
        folder = lsp.WorkspaceFolder(self.uri(""), "tests")
        asked = self.client.initialize_async(lsp.InitializeParams(able, workspace_folders=[folder]))
        result = self.run(asked)
        self.client.initialized(lsp.InitializedParams())
        return result

    def stop(self) -> int:
        """Says goodbye; the exit status of the server."""
        server = self.client._server
        assert server is not None
        self.run(self.client.shutdown_async(None))
        self.client.exit(None)
        status = self.run(server.wait())
        self.run(self.client.stop())
        self.run(self.loop.shutdown_default_executor())
        self.loop.close()
        return status

    # -- texts

    def uri(self, name: str) -> str:
        uri = from_fs_path(str(self.folder / name))
        assert uri is not None
        return uri

    def open(self, name: str, text: str) -> None:
        uri = self.uri(name) if "://" not in name and not name.startswith("untitled:") else name
        self.texts[name], self.versions[name] = text, 1
        item = lsp.TextDocumentItem(uri, "attn", 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def change(self, name: str, text: str) -> None:
        """Every other time the whole text is sent, else what differs."""
        old, self.texts[name] = self.texts[name], text
        self.versions[name] += 1
        changed = lsp.VersionedTextDocumentIdentifier(self.versions[name], self.uri(name))
        change: Any = lsp.TextDocumentContentChangeWholeDocument(text)
        if self.versions[name] % 2:
            change = difference(old, text)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(changed, [change]))

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        """A request of our own."""
        return await self.client.protocol.send_request_async(method, params)

    def close(self, name: str) -> None:
        del self.texts[name]
        self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(self.document(name)))

    def document(self, name: str) -> lsp.TextDocumentIdentifier:
        return lsp.TextDocumentIdentifier(name if name.startswith("untitled:") else self.uri(name))

    def diagnostics(self, name: str) -> list[lsp.Diagnostic]:
        """What the server says of the text as it is now."""
        uri = self.document(name).uri

        async def wait() -> list[lsp.Diagnostic]:
            while uri not in self.published or self.published[uri].version != self.versions[name]:
                await asyncio.sleep(0.01)
            return list(self.published[uri].diagnostics)

        return self.run(wait())

    def until(self, name: str, codes: list[str]) -> None:
        """Waits until the server says these codes of a text, whatever was changed for it."""
        uri = self.document(name).uri

        async def wait() -> None:
            while uri not in self.published or [d.code for d in self.published[uri].diagnostics] != codes:
                await asyncio.sleep(0.01)

        self.run(wait())

    # -- places: the first of a piece of text, `within` characters into it

    def at(self, name: str, piece: str, within: int = 0) -> lsp.Position:
        return place(self.texts[name], self.texts[name].index(piece) + within)

    def text(self, name: str, range: lsp.Range) -> str:
        """What stands in a range."""
        text = self.texts.get(name)
        lines = (text if text is not None else (self.folder / name).read_text()).split("\n")
        start, end = range.start, range.end
        assert start.line == end.line
        units = lines[start.line].encode("utf-16-le")
        return units[2 * start.character : 2 * end.character].decode("utf-16-le")

    def hover(self, name: str, piece: str, within: int = 0) -> str:
        asked = self.client.text_document_hover_async(
            lsp.HoverParams(self.document(name), self.at(name, piece, within))
        )
        found = self.run(asked)
        return "" if found is None else found.contents.value  # type: ignore[union-attr]

    def definition(self, name: str, piece: str, within: int = 0) -> list[lsp.Location]:
        asked = self.client.text_document_definition_async(
            lsp.DefinitionParams(self.document(name), self.at(name, piece, within))
        )
        return self.run(asked) or []  # type: ignore[return-value]

    def complete(self, name: str, piece: str, within: int) -> dict[str, lsp.CompletionItem]:
        asked = self.client.text_document_completion_async(
            lsp.CompletionParams(self.document(name), self.at(name, piece, within))
        )
        found = self.run(asked)
        assert isinstance(found, lsp.CompletionList)
        return {item.label: item for item in sorted(found.items, key=lambda item: item.sort_text or "")}

    def rename(self, name: str, piece: str, new: str, within: int = 0) -> dict[str, str]:
        """The texts after a rename, by file."""
        asked = self.client.text_document_rename_async(
            lsp.RenameParams(self.document(name), self.at(name, piece, within), new)
        )
        found = self.run(asked)
        assert found is not None and found.changes is not None
        after = {}
        for uri, edits in found.changes.items():
            file = uri.removeprefix(self.uri("")).lstrip("/")
            text = self.texts.get(file)
            after[file] = applied(text if text is not None else (self.folder / file).read_text(), list(edits))
        return after


def difference(old: str, new: str) -> lsp.TextDocumentContentChangePartial:
    """The change of one range that makes a text another, in UTF-16."""
    start = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    most = min(len(old), len(new)) - start
    tail = zip(reversed(old[len(old) - most :]), reversed(new[len(new) - most :]), strict=True)
    kept = next((n for n, (a, b) in enumerate(tail) if a != b), most)
    while start and old[start - 1] == "\r":  # no place is between the two of a line end
        start -= 1
    while kept and old[len(old) - kept] == "\n":
        kept -= 1
    return lsp.TextDocumentContentChangePartial(
        lsp.Range(place(old, start), place(old, len(old) - kept)), new[start : len(new) - kept]
    )


def place(text: str, offset: int) -> lsp.Position:
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lsp.Position(len(before) - 1, len(before[-1].encode("utf-16-le", "surrogatepass")) // 2)


def applied(text: str, edits: list[lsp.TextEdit]) -> str:
    """The text after edits of an ASCII text, none of which meet."""
    lines = text.split("\n")
    starts = [sum(len(line) + 1 for line in lines[:n]) for n in range(len(lines) + 1)]
    for edit in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
        start = starts[edit.range.start.line] + edit.range.start.character
        end = starts[edit.range.end.line] + edit.range.end.character
        text = text[:start] + edit.new_text + text[end:]
    return text


@contextmanager
def editing(folder: Path, encodings: list[lsp.PositionEncodingKind | str] | None = None) -> Iterator[Editor]:
    """An editor with a server of its own, which must end cleanly."""
    editor = Editor(folder)
    editor.start(encodings)
    yield editor
    status = editor.stop()
    assert status == 0, status
