"""The language server: the protocol's requests answered by the functions of this folder. Nothing here thinks.

A text is checked a moment after its last change; a request checks it at once. Whatever goes wrong in an answer is
logged, and the answer is empty.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from contextlib import redirect_stdout
from typing import Any, BinaryIO, cast

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from ..dsl.files import FileProblem
from . import describe
from .analysis import Analysis
from .convert import Converter, path_of
from .features import fixes, folds, hints, navigate, picture, tokens
from .features import rename as renaming
from .features.complete import complete
from .features.hover import hover
from .features.signature import signature
from .lexical import around
from .protocol import Shallow
from .session import answers, failed, server

REFUSED = -32803  # the protocol's RequestFailed: a request that is understood, but cannot be done


# -- texts


@server.feature(lsp.INITIALIZE)
def _initialize(params: lsp.InitializeParams) -> None:
    encoding = server.workspace.position_encoding
    server.converter = Converter(server.project, str(getattr(encoding, "value", encoding)))
    folders = [path_of(folder.uri) for folder in params.workspace_folders or ()]
    root = [path_of(params.root_uri)] if params.root_uri and not folders else []
    server.project.folders = [folder for folder in folders + root if os.path.isdir(folder)]


@server.feature(lsp.INITIALIZED)
def _initialized(params: lsp.InitializedParams) -> None:
    """Ask to be told of files that change on disk."""
    workspace = server.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace is not None else None
    if watched is not None and watched.dynamic_registration:
        options = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher("**/*.attn")])
        wish = lsp.Registration("attn-files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        server.client_register_capability(lsp.RegistrationParams([wish]))


# Each says to the event loop what came in, and has the other thread take it in, in turn.


@server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
async def _opened(params: lsp.DidOpenTextDocumentParams) -> None:
    await server.do(lambda: server.opened(params.text_document))


@server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
async def _changed(params: lsp.DidChangeTextDocumentParams) -> None:
    server.came(path_of(params.text_document.uri))
    await server.do(lambda: server.changed(params))


@server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
async def _saved(params: lsp.DidSaveTextDocumentParams) -> None:
    server.later(path_of(params.text_document.uri))


@server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
async def _closed(params: lsp.DidCloseTextDocumentParams) -> None:
    server.came(path_of(params.text_document.uri))
    await server.do(lambda: server.closed(params.text_document.uri))


@server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
async def _watched(params: lsp.DidChangeWatchedFilesParams) -> None:
    server.later("")
    await server.do(server.analyses.clear)


@answers(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
def _folders(params: lsp.DidChangeWorkspaceFoldersParams) -> None:
    gone = {path_of(folder.uri) for folder in params.event.removed}
    kept = [folder for folder in server.project.folders if folder not in gone]
    server.project.folders = [*kept, *(path_of(folder.uri) for folder in params.event.added)]


# -- what is at the cursor


@answers(lsp.TEXT_DOCUMENT_HOVER)
def _hover(params: lsp.HoverParams) -> lsp.Hover | None:
    analysis, offset = server.position_of(params)
    found = hover(analysis, offset)
    if found is None:
        return None
    span = server.converter.range(found.span) if found.span is not None else None
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, found.text), span)


@answers(lsp.TEXT_DOCUMENT_DEFINITION)
def _definition(params: lsp.DefinitionParams) -> list[lsp.Location]:
    return [server.converter.location(span) for span in dict.fromkeys(navigate.definition(*server.position_of(params)))]


@answers(lsp.TEXT_DOCUMENT_REFERENCES)
def _references(params: lsp.ReferenceParams) -> list[lsp.Location]:
    found = navigate.references(*server.position_of(params), declaration=params.context.include_declaration)
    return [server.converter.location(span) for span in dict.fromkeys(found)]


@answers(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
def _highlight(params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
    kinds = {True: lsp.DocumentHighlightKind.Write, False: lsp.DocumentHighlightKind.Read}
    found = navigate.highlight(*server.position_of(params))
    return [lsp.DocumentHighlight(server.converter.range(each.span), kinds[each.declares]) for each in found]


@answers(lsp.TEXT_DOCUMENT_SIGNATURE_HELP, lsp.SignatureHelpOptions(trigger_characters=["(", "[", ","]))
def _signature(params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
    found = signature(*server.position_of(params))
    if found is None:
        return None
    doc = lsp.MarkupContent(lsp.MarkupKind.Markdown, found.doc) if found.doc else None
    parts = [lsp.ParameterInformation(found.label[start:end]) for start, end in found.parts]
    return lsp.SignatureHelp([lsp.SignatureInformation(found.label, doc, parts)], 0, found.active)


@answers(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[".", "[", "(", ":", " "]))
def _complete(params: lsp.CompletionParams) -> lsp.CompletionList:
    analysis, offset = server.position_of(params)
    snippets = bool(_capability("text_document.completion.completion_item.snippet_support"))
    start = around(analysis.text, offset).start
    found = complete(analysis, offset)
    context = params.context
    if context is not None and context.trigger_character == " ":  # only where a name must follow
        found = found if _wants_name(analysis.text[:offset]) else []
    items = [server.converter.offer(offer, analysis.source, start, offset, snippets) for offer in found]
    return lsp.CompletionList(is_incomplete=False, items=items)


def _wants_name(before: str) -> bool:
    return before.rstrip().endswith((":", ",", "use", "like", "causal", "as", "->", "share")) and before[-2:] != "  "


def _capability(path: str) -> Any:
    found: Any = server.client_capabilities
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


# -- changes


@answers(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
def _prepare(params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder | None:
    try:
        found = renaming.prepare(*server.position_of(params))
    except renaming.RenameRefused as refused:
        raise JsonRpcException(str(refused), REFUSED) from None
    return lsp.PrepareRenamePlaceholder(server.converter.range(found.span), found.symbol.name)


@answers(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
def _rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    try:
        return server.converter.edits(renaming.rename(*server.position_of(params), params.new_name))
    except renaming.RenameRefused as refused:
        raise JsonRpcException(str(refused), REFUSED) from None


@answers(lsp.TEXT_DOCUMENT_FORMATTING)
def _format(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
    analysis = server.analysis(params.text_document.uri)
    return _canonical(analysis, 0, len(analysis.text))


@answers(lsp.TEXT_DOCUMENT_RANGE_FORMATTING)
def _format_range(params: lsp.DocumentRangeFormattingParams) -> list[lsp.TextEdit] | None:
    analysis = server.analysis(params.text_document.uri)
    start, end = (server.converter.offset(analysis.source, at) for at in (params.range.start, params.range.end))
    return _canonical(analysis, start, end)


def _canonical(analysis: Analysis, start: int, end: int) -> list[lsp.TextEdit] | None:
    edits = fixes.canonical(analysis, start, end)
    return None if edits is None else [lsp.TextEdit(server.converter.range(each.span), each.text) for each in edits]


@answers(
    lsp.TEXT_DOCUMENT_CODE_ACTION,
    lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.SourceFixAll]),
    empty=[],
)
def _actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    analysis = server.analysis(params.text_document.uri)
    start = server.converter.offset(analysis.source, params.range.start)
    end = server.converter.offset(analysis.source, params.range.end)
    wanted = params.context.only
    found = []
    if wanted is None or any("quickfix".startswith(str(getattr(kind, "value", kind))) for kind in wanted):
        one = fixes.quick_fixes(analysis, start, end)
        found += [_action(analysis, fix, lsp.CodeActionKind.QuickFix, len(one) == 1) for fix in one]
    if wanted is None or any("source.fixAll".startswith(str(getattr(kind, "value", kind))) for kind in wanted):
        all_ = fixes.fix_all(analysis)
        found += [_action(analysis, all_, lsp.CodeActionKind.SourceFixAll, False)] if all_ is not None else []
    return found


def _action(analysis: Analysis, fix: fixes.QuickFix, kind: lsp.CodeActionKind, preferred: bool) -> lsp.CodeAction:
    return lsp.CodeAction(
        fix.title,
        kind,
        [server.converter.diagnostic(problem, analysis) for problem in fix.mends],
        is_preferred=preferred,
        edit=server.converter.edits((edit.span, edit.text) for edit in fix.edits),
    )


# -- the whole text


@answers(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, empty=[])
def _outline(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    analysis = server.analysis(params.text_document.uri)
    return [server.converter.entry(entry) for entry in navigate.outline(analysis.file)]


@answers(lsp.TEXT_DOCUMENT_FOLDING_RANGE, empty=[])
def _folds(params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
    analysis = server.analysis(params.text_document.uri)
    found = []
    for start, end, is_comment in folds.folds(analysis.text):
        first, last = (server.converter.position(analysis.source, at).line for at in (start, end))
        found.append(lsp.FoldingRange(first, last, kind=lsp.FoldingRangeKind.Comment if is_comment else None))
    return found


@answers(
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL,
    lsp.SemanticTokensLegend(list(tokens.TYPES), list(tokens.MODIFIERS)),
)
def _tokens(params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
    analysis = server.analysis(params.text_document.uri)
    data: list[int] = []
    row = column = 0
    for span, kind, modifiers in tokens.tokens(analysis):
        place = server.converter.range(span)
        line, start = place.start.line, place.start.character
        bits = sum(1 << tokens.MODIFIERS.index(modifier) for modifier in modifiers)
        step = start - column if line == row else start
        data += [line - row, step, place.end.character - start, tokens.TYPES.index(kind), bits]
        row, column = line, start
    return lsp.SemanticTokens(data)


@answers(lsp.TEXT_DOCUMENT_INLAY_HINT, empty=[])
def _hints(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    analysis = server.analysis(params.text_document.uri)
    start = server.converter.offset(analysis.source, params.range.start)
    end = server.converter.offset(analysis.source, params.range.end)
    return [
        lsp.InlayHint(server.converter.position(analysis.source, at), text, lsp.InlayHintKind.Type)
        for at, text in hints.hints(analysis, start, end)
    ]


# -- our own requests


@server.feature("attnc/diagram")
async def _diagram(params: Any) -> dict[str, str]:
    """`{textDocument, position}` -> `{name, svg, message}`: the block at the cursor, drawn; or why it is not."""
    try:
        uri, place = params.textDocument.uri, lsp.Position(int(params.position.line), int(params.position.character))
    except (AttributeError, TypeError, ValueError):
        raise JsonRpcInvalidParams("`attnc/diagram` wants a textDocument and a position") from None
    chosen = picture.Subject("", None)
    try:
        chosen = await server.do(lambda: _subject(uri, place))
        if chosen.graph is None:
            return {"name": chosen.name, "svg": "", "message": chosen.message}
        if server.drawn[0] is not chosen.graph:  # drawing takes its time, so it must not keep others waiting
            server.drawn = (chosen.graph, *await asyncio.to_thread(picture.svg, chosen.graph))
        return {"name": chosen.name, "svg": server.drawn[1], "message": server.drawn[2]}
    except FileProblem as problem:
        return {"name": "", "svg": "", "message": str(problem)}
    except Exception as bug:
        failed("attnc/diagram")
        return {"name": chosen.name, "svg": "", "message": f"cannot be drawn: {bug}"}


def _subject(uri: str, place: lsp.Position) -> picture.Subject:
    analysis = server.analysis(uri)
    return picture.subject(analysis, server.converter.offset(analysis.source, place))


@server.feature("attnc/explain")
def _explain(params: Any) -> dict[str, str]:
    """`{code}` -> `{text}`: the page of a diagnostic, as Markdown; empty for a code that is none."""
    return {"text": describe.error_page(str(getattr(params, "code", "")))}


def serve() -> bool:
    """Answer on stdin and stdout until the client says `exit`, or is gone. Whether it went as the protocol wants it."""
    logging.getLogger("pygls").setLevel(logging.DEBUG if os.environ.get("ATTNC_DEBUG") == "1" else logging.CRITICAL)
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")  # pygls closes it
    with redirect_stdout(sys.stderr):  # nothing else may speak on this pipe
        server.start_io(cast(BinaryIO, Shallow(sys.stdin.buffer)), out)
    return not server.protocol.hasty
