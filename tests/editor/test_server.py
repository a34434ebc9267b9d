"""Each feature of `attnc lsp`, asked for by a real client over the pipes of a process."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

import attnc

from .client import Editor, applied, editing
from .edits import SPECS, edited

ROOT = Path(__file__).parents[2]
TRANSFORMER = (ROOT / "examples" / "transformer.attn").read_text()

SIZES = """# Sizes that others use.
depth model = 8, inner = 2 * model
const layers = 2
"""
PARTS = """use sizes: model, inner

# Twice as wide, and back.
block feed_forward(x: [model], slope: [] = 1) -> [model] {
    h = relu(linear.up[model -> inner](x)) * slope
    return linear.down[inner -> model](h)
}
"""
MAIN = """use parts: feed_forward, model
use std.attention: multihead, heads
use sizes: layers as deep
width seq
width past like seq
depth heads = 2

# All of it.
model small(x: [seq, model]) -> [seq, model] causal seq {
    repeat deep {
        y = multihead.self[seq, past, model = model](x, x[seq as past], mask = past <= seq)
        x = x + feed_forward(y, slope = 2)
    }
    return x
}
"""


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    folder = tmp_path_factory.mktemp("project")
    (folder / "sizes.attn").write_text(SIZES)
    (folder / "parts.attn").write_text(PARTS)
    (folder / "main.attn").write_text(MAIN)
    shutil.copy(ROOT / "examples" / "transformer.attn", folder)
    with editing(folder) as made:
        yield made


def where(editor: Editor, found: list[lsp.Location]) -> list[tuple[str, str]]:
    """File and text of each place."""
    return [(each.uri.rpartition("/")[2], editor.text(each.uri.rpartition("/")[2], each.range)) for each in found]


# -- diagnostics


def test_a_right_text_has_none_and_a_mistake_is_told(editor: Editor) -> None:
    editor.open("main.attn", MAIN)
    assert editor.diagnostics("main.attn") == []
    editor.change("main.attn", MAIN.replace("x[seq as past]", "x"))
    (found,) = editor.diagnostics("main.attn")
    assert found.code == "E0405" and found.severity == lsp.DiagnosticSeverity.Error and found.source == "attnc"
    assert editor.text("main.attn", found.range) == "x"
    assert "help: " in found.message and "`x[seq as past]`" in found.message
    assert found.related_information is not None
    assert {each.location.uri.rpartition("/")[2] for each in found.related_information} == {
        "main.attn",
        "attention.attn",
    }
    editor.change("main.attn", MAIN)
    assert editor.diagnostics("main.attn") == []


def test_a_warning_is_a_warning(editor: Editor) -> None:
    editor.open("warn.attn", "width seq\nblock f(x: [seq]) -> [seq] {\n    y = x\n    return x\n}\n")
    (found,) = editor.diagnostics("warn.attn")
    assert (found.code, found.severity) == ("W0502", lsp.DiagnosticSeverity.Warning)
    assert list(found.tags or ()) == [lsp.DiagnosticTag.Unnecessary]


def test_a_change_in_a_used_buffer_is_seen_at_once_and_closing_it_forgets_it(editor: Editor) -> None:
    editor.open("main.attn", MAIN)
    editor.open("sizes.attn", SIZES)
    assert editor.diagnostics("main.attn") == []
    editor.change("sizes.attn", SIZES.replace("model = 8", "model = 9"))  # not saved
    editor.until("main.attn", ["E0206"])
    editor.close("sizes.attn")
    editor.until("main.attn", [])


def test_a_used_file_that_is_not_there_is_found_when_it_is_opened(editor: Editor) -> None:
    editor.open("early.attn", "use late: size\ndepth model = size\nblock f(x: [model]) -> [model] {\n    return x\n}\n")
    assert [problem.code for problem in editor.diagnostics("early.attn")] == ["E0209"]
    editor.open("late.attn", "const size = 4\n")  # not on disk
    editor.until("early.attn", [])
    editor.close("late.attn")
    editor.until("early.attn", ["E0209"])
    editor.close("early.attn")


def test_a_pipe_with_the_name_of_a_spec_is_not_waited_for(editor: Editor) -> None:
    os.mkfifo(editor.folder / "pipe.attn")
    editor.open("reader.attn", "use pipe: size\ndepth model = size\n")
    (problem,) = editor.diagnostics("reader.attn")
    assert "this is a device or a pipe, not a file" in problem.message
    place = editor.document("reader.attn"), editor.at("reader.attn", "model")
    asked = editor.client.text_document_references_async(lsp.ReferenceParams(lsp.ReferenceContext(True), *place))
    assert len(editor.run(asked) or []) == 1  # of the whole folder, pipe.attn too
    editor.close("reader.attn")
    (editor.folder / "pipe.attn").unlink()


def test_mistakes_of_a_used_file_are_told_at_the_use(editor: Editor) -> None:
    editor.open("main.attn", MAIN)
    editor.open("parts.attn", PARTS.replace("relu(", "rleu("))
    editor.until("main.attn", ["E0203"])
    (found,) = editor.published[editor.uri("main.attn")].diagnostics
    assert editor.text("main.attn", found.range) == "parts"
    assert "parts.attn has a mistake in line 5: no op or block is named `rleu`" in found.message
    editor.close("parts.attn")
    editor.until("main.attn", [])


def test_a_file_that_changes_on_disk_is_read_again(editor: Editor) -> None:
    assert lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES in editor.log
    editor.open("main.attn", MAIN)
    editor.until("main.attn", [])
    file = editor.folder / "sizes.attn"
    file.write_text(SIZES.replace("layers", "levels"))
    event = lsp.FileEvent(editor.uri("sizes.attn"), lsp.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([event]))
    editor.until("main.attn", ["E0211"])
    file.write_text(SIZES)
    editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([event]))
    editor.until("main.attn", [])


def test_columns_are_utf_16(editor: Editor) -> None:
    text = (
        "# \U0001d4a6\U0001d4a6\nwidth seq\n\nblock f(x: [seq]) -> [seq] { # \U0001d4a6\n    return \U0001d4a6 + z\n}\n"
    )
    editor.open("wide.attn", text)
    assert [editor.text("wide.attn", found.range) for found in editor.diagnostics("wide.attn")] == ["\U0001d4a6"]
    editor.change("wide.attn", 'op g(x: []) -> [] = "\U0001d4a6:f" op\n')
    (found, *_) = editor.diagnostics("wide.attn")
    assert found.range.start == editor.at("wide.attn", " op\n", 1)
    editor.change("wide.attn", 'op g(x: []) -> [] = "\U0001d4a6 \U0001d4a6:f"\n')
    (found,) = editor.diagnostics("wide.attn")
    assert editor.text("wide.attn", found.range) == '"\U0001d4a6 \U0001d4a6:f"'


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 9), ("utf-32", 6)])
def test_the_client_chooses_what_columns_count(tmp_path: Path, encoding: str, column: int) -> None:
    with editing(tmp_path, [lsp.PositionEncodingKind(encoding)]) as editor:
        editor.open("wide.attn", 'op "\U0001d4a6"')
        (found,) = editor.diagnostics("wide.attn")
        assert (found.range.start.character, found.range.end.character) == (3, column)


# -- hover


def test_hover_tells_the_type_and_where_each_axis_comes_from(editor: Editor) -> None:
    editor.open("main.attn", MAIN)
    shown = editor.hover("main.attn", "y, slope")
    assert "y: [seq, model]" in shown
    assert "`seq`: width, size known at run time" in shown and "main.attn:4" in shown
    assert "`model`: depth, size 8, declared in [sizes.attn:2]" in shown
    assert "copies of one axis: `seq` and `past`" in shown
    assert "past <= seq: bool[past, seq]" in editor.hover("main.attn", "<= seq")
    assert "x[seq as past]: [past, model]" in editor.hover("main.attn", "seq as past]", 4)
    assert "2: int[] = 2" in editor.hover("main.attn", "2)\n")


def test_hover_tells_of_blocks_ops_consts_axes_files_and_words(editor: Editor) -> None:
    editor.open("main.attn", MAIN)
    editor.open("parts.attn", PARTS)
    block = editor.hover("main.attn", "feed_forward(y")
    assert "block feed_forward(x: [model], slope: [] = 1) -> [model]" in block
    assert "Twice as wide, and back." in block and "result: [seq, model]" in block and "parts.attn:4" in block
    assert "Multi-head attention (Vaswani et al. 2017" in editor.hover("main.attn", "multihead, heads")
    assert "const layers = 2" in editor.hover("main.attn", "deep {") and "the value is 2" in editor.hover(
        "main.attn", "deep {"
    )
    assert "model small(x: [seq, model])" in editor.hover("main.attn", "small(") and "All of it." in editor.hover(
        "main.attn", "small("
    )
    assert "size 16 = `2 * model`" in editor.hover("parts.attn", "inner](x)")
    op = editor.hover("parts.attn", "linear.up")
    assert "linear[model -> heads, key](x)" in op and "`up.weight`: stored as `[inner, model]` = 16 x 8" in op
    own = editor.hover("main.attn", "heads\nuse")  # the library's, for which this file declares its own
    assert own.startswith("```attn\ndepth heads = 2\n```") and "size 2, declared in [main.attn:6]" in own
    assert "in place of `depth heads as h = 8`, declared in [std/attention.attn:" in own
    assert "slope: [] = 1" in editor.hover("main.attn", "slope = 2")
    assert "Attention: scaled dot-product" in editor.hover("main.attn", "std.attention", 5)
    assert "the body, as many times" in editor.hover("main.attn", "repeat deep")
    assert "the weights of what it labels" in editor.hover("main.attn", "self[").lower()
    editor.close("parts.attn")


def test_hover_on_a_diagnostic_shows_the_page_of_the_error(editor: Editor) -> None:
    editor.open("main.attn", MAIN.replace("feed_forward(y, slope = 2)", "feed_forwerd(y)"))
    shown = editor.hover("main.attn", "feed_forwerd", 3)
    assert "**E0203: " in shown and "Wrong:" in shown and "Right:" in shown
    page = editor.run(editor.ask("attnc/explain", {"code": "E0203"}))
    assert page.text in shown


def test_hover_works_while_a_line_is_broken_and_while_a_brace_is_open(editor: Editor) -> None:
    editor.open("main.attn", MAIN)
    editor.diagnostics("main.attn")
    editor.change("main.attn", MAIN.replace("    return x\n", "    z = x +\n    w = softmax[\n    return x\n"))
    assert "y: [seq, model]" in editor.hover("main.attn", "y, slope")
    editor.change("main.attn", MAIN.replace("    return x\n}\n", "    return x\n"))
    assert "E0102" in [found.code for found in editor.diagnostics("main.attn")]
    assert "y: [seq, model]" in editor.hover("main.attn", "y, slope")
    assert where(editor, editor.definition("main.attn", "y, slope")) == [("main.attn", "y")]
    editor.change("main.attn", "\n\n" + MAIN.replace("    return x\n}\n", "    return x\n"))
    (place,) = editor.definition("main.attn", "y, slope")  # moved with the text
    assert editor.text("main.attn", place.range) == "y"


# -- definition, references, outline


def test_definition_across_files_and_into_the_library(editor: Editor) -> None:
    editor.open("main.attn", MAIN)
    assert where(editor, editor.definition("main.attn", "feed_forward(y")) == [("parts.attn", "feed_forward")]
    assert where(editor, editor.definition("main.attn", "slope = 2")) == [("parts.attn", "slope")]
    assert where(editor, editor.definition("main.attn", "model]) ->")) == [("sizes.attn", "model")]
    assert where(editor, editor.definition("main.attn", "deep {")) == [("sizes.attn", "layers")]
    assert where(editor, editor.definition("main.attn", "past, model =")) == [("main.attn", "past")]
    assert where(editor, editor.definition("main.attn", "y, slope")) == [("main.attn", "y")]
    assert where(editor, editor.definition("main.attn", "self[")) == [("main.attn", "self")]
    (library,) = editor.definition("main.attn", "multihead.self")
    path = Path(library.uri.removeprefix("file://"))
    assert path.name == "attention.attn" and path.read_text().split("\n")[library.range.start.line].startswith(
        'block multihead as "Multi-Head Attention"['
    )
    (mask,) = editor.definition("main.attn", "mask = past")
    assert mask.uri == library.uri
    (file,) = editor.definition("main.attn", "std.attention", 6)
    assert (file.uri, file.range.start) == (library.uri, lsp.Position(0, 0))
    theirs, ours = editor.definition("main.attn", "heads\nuse")  # named in a `use`, and declared here
    assert theirs.uri == library.uri and where(editor, [ours]) == [("main.attn", "heads")]


def test_references_are_found_in_files_that_are_not_open(editor: Editor) -> None:
    editor.open("main.attn", MAIN)
    place = lsp.ReferenceContext(include_declaration=True)
    asked = lsp.ReferenceParams(place, editor.document("main.attn"), editor.at("main.attn", "model]) ->"))
    found = editor.run(editor.client.text_document_references_async(asked))
    assert found is not None
    files = [each.uri.rpartition("/")[2] for each in found]
    assert {name: files.count(name) for name in files} == {"sizes.attn": 2, "main.attn": 4, "parts.attn": 5}
    assert {editor.text(each.uri.rpartition("/")[2], each.range) for each in found} == {"model"}
    asked = lsp.DocumentHighlightParams(editor.document("main.attn"), editor.at("main.attn", "y, slope"))
    marked = editor.run(editor.client.text_document_document_highlight_async(asked))
    assert marked is not None and [each.kind for each in marked] == [
        lsp.DocumentHighlightKind.Write,
        lsp.DocumentHighlightKind.Read,
    ]


def test_outline(editor: Editor) -> None:
    editor.open("main.attn", MAIN)
    found = editor.run(
        editor.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(editor.document("main.attn")))
    )
    assert found is not None
    assert [each.name for each in found] == ["parts", "std.attention", "sizes", "seq", "past", "heads", "small"]
    small = found[-1]
    assert isinstance(small, lsp.DocumentSymbol) and small.detail == "(x: [seq, model]) -> [seq, model] causal seq"
    assert [child.name for child in small.children or ()] == ["deep", "self"]


# -- completion


def test_completion(editor: Editor) -> None:
    def offered(line: str, before: str = "    return x\n") -> dict[str, lsp.CompletionItem]:
        text = MAIN.replace(before, line.replace("@", "") + "\n" + before, 1)
        editor.open("main.attn", text)
        cut = line.index("@")
        return editor.complete("main.attn", line.replace("@", ""), cut)

    assert list(offered("use @", MAIN[:10]))[:1] == ["std"]
    assert {"sizes", "parts", "transformer"} <= set(offered("use @", MAIN[:10]))
    assert list(offered("use std.@", MAIN[:10])) == [
        "attention",
        "experts",
        "feed_forward",
        "layers",
        "masks",
        "positions",
    ]
    assert set(offered("use parts: @", MAIN[:10])) == {"feed_forward"}
    assert {"block", "model", "width", "use"} <= set(offered("@", MAIN[:10]))
    assert list(offered("width more like @", "width seq")) == ["past", "seq"]
    assert {"return", "repeat", "x"} <= set(offered("    @"))
    assert list(offered("    z = softmax[@](x)"))[:2] == ["model", "seq"]  # the axes of x
    assert "seq" not in list(offered("    z = softmax[seq, @](x)"))
    assert {"model", "heads"} <= set(offered("    z = linear[model -> @](x)"))  # from an axis to itself
    assert "heads" not in offered("    z = linear[model -> heads, @](x)")
    assert "model" not in offered("    z = split[model -> @](x)")
    assert (
        offered("    param @") == offered("    param E @") == offered("    const @") == offered("    expect x @") == {}
    )
    assert {"bool", "int", "model"} <= set(offered("    param E: @"))
    assert set(offered("    param E: [model] @")) == set(offered("    param E: [model] ~ zeros @")) == {"frozen"}
    assert {"normal", "zeros"} <= set(offered("    param E: [model] ~ @"))
    assert list(offered("    z = x[seq as @]")) == ["past"] and offered("    z = x[model as @]") == {}  # its copies
    named = offered("    z = multihead.other[seq, past](x, x[seq as past], @)")
    assert "mask =" in named and "bias =" not in named
    assert {"base =", "injected ="}.isdisjoint(named) and "base =" in offered("    z = multihead.o[seq, past](@)")
    piped = offered("    z = x |> multihead.o[seq, past](@)")
    assert "base =" not in piped and "injected =" in piped
    assert "p =" in offered("    z = dropout(x, @)") and "p =" not in offered("    z = dropout(x, 0.1, @)")
    brackets = offered("    z = multihead.o[seq, model = model, @](x, x)")
    assert {"q =", "model ="}.isdisjoint(brackets) and {"k =", "heads ="} <= set(brackets)
    assert list(offered("    z = multihead.b[@"))[:2] == ["past", "seq"]  # widths, as the block wants them
    assert {"softmax", "feed_forward"} <= set(offered("    z = x |> @")) and "x" not in offered("    z = x |> @")
    assert {"bias =", "q =", "heads ="} <= set(offered("    z = multihead[@"))
    assert {"bias =", "init ="} <= set(offered("    z = linear[model -> model](x, @)"))
    assert list(offered("    z = linear[model -> model](x, init = @)"))[:2] == ["constant", "normal"]
    assert {"up", "down", "self"} & set(offered("    z = linear.@"))
    assert list(offered("    z = x / |@|")) == ["heads", "model", "past", "seq"]
    assert set(offered("    z = scan[seq] @(x, h = 0)")) == {"feed_forward", "multihead", "small"}
    assert list(offered("    repeat @ {"))[:1] == ["deep"] and "x" not in offered("    repeat @ {")
    assert {"bool", "int", "seq"} <= set(offered("    z: @")) and {"bool", "seq"} <= set(offered("    expect x: @"))
    assert offered("    # not in a com@ment") == {}
    snippet = offered("    z = soft@")["softmax"]
    assert snippet.text_edit is not None and snippet.text_edit.new_text == "softmax[${1:axis}](${2:x})"
    assert snippet.insert_text_format == lsp.InsertTextFormat.Snippet


def test_a_byte_order_mark_changes_nothing(editor: Editor) -> None:
    text = "\ufeffwidth more like \n" + MAIN
    editor.open("main.attn", text)
    assert list(editor.complete("main.attn", "like \n", 5)) == ["past", "seq"]
    editor.change("main.attn", "\ufeff" + MAIN)
    assert editor.diagnostics("main.attn") == []


def test_completion_brings_names_of_the_library(editor: Editor) -> None:
    text = MAIN.replace("    return x\n", "    z = swi\n    return x\n")
    editor.open("main.attn", text)
    item = editor.complete("main.attn", "z = swi", 7)["swiglu"]
    assert item.text_edit is not None and item.additional_text_edits is not None
    edits = [lsp.TextEdit(item.text_edit.range, "swiglu(x)"), *item.additional_text_edits]  # type: ignore[union-attr]
    after = applied(text, edits)
    assert "use std.feed_forward: swiglu\n" in after
    used = editor.complete("main.attn", "z = swi", 7)["attend"]
    assert used.additional_text_edits is not None and used.additional_text_edits[0].new_text == ", attend"


def test_completion_behind_a_pipe_leaves_out_what_is_piped(editor: Editor) -> None:
    """And a block of the library comes with the axes of its own that this file declares: its own would be others."""
    text = """# The sizes.
depth model = 8
width seq
model small(x: [seq, model]) -> [seq, model] {
    return x |> @
}
"""
    for word, whole in {
        "rel": "relu", "softm": "softmax[${1:axis}]", "lin": "linear[${1:from} -> ${2:to}]", "swig": "swiglu",
        "multih": "multihead[${1:q}, ${2:k}](${3:injected})",
    }.items():  # fmt: skip
        typed = text.replace("@", word)
        editor.open("main.attn", typed)
        item = editor.complete("main.attn", word, len(word))[whole.partition("[")[0]]
        assert isinstance(item.text_edit, lsp.TextEdit) and item.text_edit.new_text == whole
        if word == "swig":
            edits = [item.text_edit, *(item.additional_text_edits or ())]
            after = applied(typed, edits)
            assert after.startswith("use std.feed_forward: swiglu, model\n# The sizes.\n")
            editor.change("main.attn", after)
            assert editor.diagnostics("main.attn") == []
        if word == "multih":  # `heads` stands in its body alone
            editor.change("main.attn", typed.replace("model = 8", "model = 8, heads = 2"))
            item = editor.complete("main.attn", word, len(word))[whole.partition("[")[0]]
            (edit,) = item.additional_text_edits or ()
            assert edit.new_text == "use std.attention: multihead, model, heads\n"
    editor.open("main.attn", MAIN)


def test_signature_help(editor: Editor) -> None:
    editor.open("main.attn", MAIN.replace("    return x\n", "    z = multihead.b[seq, past](x, \n    return x\n"))
    asked = lsp.SignatureHelpParams(editor.document("main.attn"), editor.at("main.attn", "](x, \n", 5))
    found = editor.run(editor.client.text_document_signature_help_async(asked))
    assert found is not None and found.active_parameter is not None
    (signature,) = found.signatures
    assert signature.label.startswith("multihead[q: width, k: width,") and signature.parameters is not None
    assert signature.parameters[found.active_parameter].label == "injected: [k, model]"


# -- rename


def test_rename_across_files(editor: Editor) -> None:
    editor.open("main.attn", MAIN)
    after = editor.rename("main.attn", "model]) ->", "channels")
    assert set(after) == {"main.attn", "parts.attn", "sizes.attn"}
    assert after["sizes.attn"] == SIZES.replace("model", "channels")
    assert after["parts.attn"] == PARTS.replace("model", "channels")
    assert after["main.attn"] == MAIN.replace("model", "channels").replace("channels small", "model small").replace(
        "channels = channels",
        "model = channels",  # a parameter of the library's
    )
    after = editor.rename("main.attn", "feed_forward(y", "mlp")
    assert after == {
        "main.attn": MAIN.replace("feed_forward", "mlp"),
        "parts.attn": PARTS.replace("feed_forward", "mlp"),
    }
    assert set(editor.rename("main.attn", "slope", "steepness")) == {"main.attn", "parts.attn"}


def test_rename_keeps_what_the_text_means(editor: Editor, tmp_path: Path) -> None:
    """An axis put in place of another file's goes on being so; aliases; variables; labels."""
    editor.open("main.attn", MAIN)
    after = editor.rename("main.attn", "depth heads", "h", 6)["main.attn"]
    assert "use std.attention: multihead, heads as h\n" in after and "depth h = 2" in after
    assert editor.rename("main.attn", "deep {", "n")["main.attn"] == MAIN.replace("deep", "n")
    assert editor.rename("main.attn", "y, slope", "seen")["main.attn"].count("seen") == 2
    assert "multihead.own[" in editor.rename("main.attn", "self[", "own")["main.attn"]
    for name in ("main.attn", "parts.attn", "sizes.attn"):
        shutil.copy(editor.folder / name, tmp_path)
    (tmp_path / "main.attn").write_text(after)
    assert (
        attnc.load(tmp_path / "main.attn").model("small").weights.keys()
        == attnc.load(editor.folder / "main.attn").model("small").weights.keys()
    )


def test_an_axis_of_the_library_gets_another_name_here(editor: Editor) -> None:
    text = """\
use std.attention: multihead, model, heads
width q, k
model small(x: [q, model], y: [k, model]) -> [q, model] {
    same = multihead.other[q, k, heads = heads / 2](x, y)
    return same + multihead[q, k, model = model](x[model = model], y)
}
"""
    expected = """\
use std.attention: multihead, model as m, heads
width q, k
model small(x: [q, m], y: [k, m]) -> [q, m] {
    same = multihead.other[q, k, heads = heads / 2](x, y)
    return same + multihead[q, k, model = m](x[m = m], y)
}
"""
    editor.open("main.attn", text)
    for piece in ("model, heads", "model], y: [k"):
        assert editor.rename("main.attn", piece, "m") == {"main.attn": expected}
    assert list(attnc.loads(expected).model("small").weights) == list(attnc.loads(text).model("small").weights)
    with pytest.raises(JsonRpcException, match="`q` is the name of a width already"):
        editor.rename("main.attn", "model, heads", "q")


def test_an_axis_that_stands_in_the_place_of_the_librarys_is_renamed_from_the_use_too(editor: Editor) -> None:
    text = """\
use std.attention: multihead, model, heads
width q, k
depth model = 64, heads = 4
model small(x: [q, model], y: [k, model]) -> [q, model] {
    return multihead[q, k](x, y)
}
"""
    editor.open("main.attn", text)
    expected = (
        text.replace("model]", "emb]")
        .replace("depth model", "depth emb")
        .replace("multihead, model", "multihead, model as emb")
    )
    for piece in ("model, heads\nwidth", "model = 64"):
        assert editor.rename("main.attn", piece, "emb") == {"main.attn": expected}


def test_hover_on_a_result_shows_the_type_that_is_declared(editor: Editor) -> None:
    """A variable of its name is of other types on the way."""
    editor.open(
        "main.attn",
        "depth model = 8, key = 4\nblock f(x: [model]) -> (h: [model], s: [key]) {\n"
        "    h = linear.down[model -> key](x)\n    s = tanh(h)\n    h = linear.up[key -> model](s)\n"
        "    return h, s\n}\n",
    )
    shown = editor.hover("main.attn", "h: [model]")
    assert "h: [model]" in shown and "of another type on the way" in shown
    assert "h: [key]" in editor.hover("main.attn", "h = linear.down")


@pytest.mark.parametrize(
    ("piece", "new", "why"),
    [
        ("y, slope", "seq", "`seq` is the name of a width already"),
        ("y, slope", "x", "`x` is the name of an argument already"),
        ("y, slope", "where", "`where` is a word of the language"),
        ("y, slope", "1y", "`1y` is no name"),
        ("feed_forward(y", "softmax", "`softmax` is the name of an op"),
        ("feed_forward(y", "multihead", "`multihead` is the name of a block already"),
        ("self[", "train", "weights cannot be named `train`"),
        ("seq\nwidth", "y", "`y` is the name of a variable already"),
        ("multihead.self", "mha", "`multihead` lives in the standard library"),
        ("return x", "give", "there is no name here"),
    ],
)  # fmt: skip
def test_rename_refuses(editor: Editor, piece: str, new: str, why: str) -> None:
    editor.open("main.attn", MAIN)
    with pytest.raises(JsonRpcException, match=why):
        editor.rename("main.attn", piece, new)


def test_a_const_that_is_used_under_another_name(editor: Editor) -> None:
    (editor.folder / "lib.attn").write_text("const deep = 2\n")
    editor.open("main.attn", "use lib: deep as passes\nmodel f(x: []) -> [] {\n    return x * passes\n}\n")
    assert "const deep = 2" in editor.hover("main.attn", "deep")
    assert "each call" not in editor.hover("main.attn", "deep")
    assert "the value is 2" in editor.hover("main.attn", "passes\n}")


WEIGHTS = """\
depth d = 4
const n = 2
block f(x: [d]) -> [d] {
    return linear.up[d -> d](x)
}
model net(x: [d]) -> [d] {
    param p: [d] ~ zeros
    share s = f
    y = f(x) + s(x)
    repeat n {
        y = linear.a[d -> d](y)
    }
    z = linear.z[d -> d](y) + p
    return linear.m[d -> d](z)
}
"""


@pytest.mark.parametrize(
    ("piece", "new"), [("f(x: ", "m"), ("s = f", "m"), ("p: [d]", "m"), ("n = 2", "m"), ("m[d", "n"), ("m[d", "p")]
)
def test_rename_refuses_what_would_bring_out_a_mistake(editor: Editor, piece: str, new: str) -> None:
    """Weights have one name each, whatever they are named by."""
    editor.open("main.attn", WEIGHTS)
    assert f"{piece[0]}_" in editor.rename("main.attn", piece, f"{piece[0]}_")["main.attn"]
    with pytest.raises(JsonRpcException, match=rf"that would be a mistake, in main.attn, line \d+: .*`{new}`.* \(E"):
        editor.rename("main.attn", piece, new)


def test_rename_refuses_where_axes_of_two_files_would_meet(editor: Editor) -> None:
    (editor.folder / "lib.attn").write_text("depth e = 3\nblock f[k: width](x: [k]) -> [k, e] {\n    return x * e\n}\n")
    text = "use lib: f\nblock g[q: width](x: [q]) -> [q] {\n    y = f[q](x)\n    return x\n}\n"
    editor.open("main.attn", text)
    with pytest.raises(JsonRpcException, match=r"E0212"):
        editor.rename("main.attn", "q: width", "e")
    editor.open("lib.attn", (editor.folder / "lib.attn").read_text())
    with pytest.raises(JsonRpcException, match=r"that would be a mistake, in main.attn.*E0212"):
        editor.rename("lib.attn", "e = 3", "q")


def test_rename_while_a_brace_is_open(editor: Editor) -> None:
    editor.open("main.attn", WEIGHTS)
    editor.open("main.attn", WEIGHTS.rstrip("}\n"))
    with pytest.raises(JsonRpcException, match="has syntax errors: mend them first"):
        editor.rename("main.attn", "z = ", "w")


# -- actions, formatting, colours, hints, diagrams


def actions(editor: Editor, name: str, only: list[str] | None = None) -> list[lsp.CodeAction]:
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(999, 0))
    context = lsp.CodeActionContext([], only=only)  # type: ignore[arg-type]
    asked = lsp.CodeActionParams(editor.document(name), whole, context)
    return list(editor.run(editor.client.text_document_code_action_async(asked)) or [])  # type: ignore[arg-type]


def test_quick_fixes_mend_what_they_say(editor: Editor) -> None:
    wrong = MAIN.replace("feed_forward(y,", "feed_forwerd(y,").replace("[seq, model] causal", "[seq, modle] causal")
    editor.open("main.attn", wrong)
    found = actions(editor, "main.attn")
    assert [each.title for each in found] == [
        "Write `model` instead of `modle`",
        "Write `feed_forward` instead of `feed_forwerd`",
        "Fix all that can be fixed",
    ]
    all_ = found[-1]
    assert all_.kind == lsp.CodeActionKind.SourceFixAll and all_.edit is not None and all_.edit.changes is not None
    assert applied(wrong, list(all_.edit.changes[editor.uri("main.attn")])) == MAIN
    assert [each.kind for each in actions(editor, "main.attn", ["source.fixAll"])] == [lsp.CodeActionKind.SourceFixAll]
    editor.open("main.attn", MAIN)
    assert actions(editor, "main.attn") == []


def test_all_fixes_at_once_are_those_of_the_command(editor: Editor) -> None:
    """Syntax alone first: `near` is declared, in a line that cannot be read yet; then what the line had hidden."""
    wrong = """width seq, inner
width past like seq
cosnt layers = 3, near = 4

block band(x: [past, seq]) -> [past, seq] {
    return selct(seq - past < near, x, |inner| * layers)
}
"""
    editor.open("main.attn", wrong)
    (all_,) = actions(editor, "main.attn", ["source.fixAll"])
    assert all_.edit is not None and all_.edit.changes is not None
    mended = applied(wrong, list(all_.edit.changes[editor.uri("main.attn")]))
    assert mended == wrong.replace("cosnt", "const").replace("selct", "select")
    editor.open("main.attn", wrong.replace("cosnt layers", "const {"))
    assert actions(editor, "main.attn", ["source.fixAll"]) == []
    editor.open("main.attn", MAIN)


def test_formatting_changes_only_what_must_be(editor: Editor) -> None:
    loose = MAIN.replace("seq, past, model = model", "seq,past,   model=model")

    def edits(text: str) -> list[lsp.TextEdit]:
        editor.open("main.attn", text)
        options = lsp.FormattingOptions(tab_size=4, insert_spaces=True)
        asked = lsp.DocumentFormattingParams(editor.document("main.attn"), options)
        return list(editor.run(editor.client.text_document_formatting_async(asked)) or [])

    (edit,) = edits(loose)
    assert applied(loose, [edit]) == attnc.format(loose) == attnc.format(MAIN)
    assert edit.range.start.line == edit.range.end.line  # the rest of the text is not touched
    assert edits(attnc.format(MAIN)) == []
    assert edits(loose + "block\n") == []  # it does not parse: as it is
    editor.open("main.attn", MAIN)


def test_formatting_of_a_selection(editor: Editor) -> None:
    loose = MAIN.replace("seq, past, model = model", "seq,past,   model=model").replace("return x", "return  x")
    editor.open("main.attn", loose)
    line = lsp.Range(editor.at("main.attn", "return"), editor.at("main.attn", "return", 4))
    options = lsp.FormattingOptions(tab_size=4, insert_spaces=True)
    asked = lsp.DocumentRangeFormattingParams(editor.document("main.attn"), line, options)
    edits = editor.run(editor.client.text_document_range_formatting_async(asked))
    assert edits and applied(loose, list(edits)) == loose.replace("return  x", "return x")
    editor.open("main.attn", MAIN)


def test_colours_tell_width_from_depth(editor: Editor) -> None:
    result = editor.run(editor.client.text_document_semantic_tokens_full_async(
        lsp.SemanticTokensParams(editor.document("main.attn"))))  # fmt: skip
    assert result is not None
    capabilities = editor.client.protocol
    assert capabilities is not None
    from attnc.editor.features.tokens import TYPES

    line = column = 0
    seen: dict[str, set[str]] = {}
    for at in range(0, len(result.data), 5):
        down, right, length, kind, _ = result.data[at : at + 5]
        line, column = line + down, right if down else column + right
        text = MAIN.split("\n")[line][column : column + length]
        seen.setdefault(TYPES[kind], set()).add(text)
    assert seen["widthAxis"] == {"seq", "past"} and seen["depthAxis"] == {"model", "heads"}
    assert seen["weight"] == {"self"} and "feed_forward" in seen["function"] and "deep" in seen["constant"]


def test_folding(editor: Editor) -> None:
    editor.open("folds.attn", "# a\n# b\nwidth seq\n\nblock f(x: [seq]) -> [seq] {\n    return x\n}\n")
    asked = lsp.FoldingRangeParams(editor.document("folds.attn"))
    found = editor.run(editor.client.text_document_folding_range_async(asked))
    assert [(each.start_line, each.end_line, each.kind) for each in found or ()] == [(0, 1, "comment"), (4, 5, None)]


def test_hints_give_the_type_at_each_binding(editor: Editor) -> None:
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(999, 0))
    found = editor.run(editor.client.text_document_inlay_hint_async(
        lsp.InlayHintParams(editor.document("main.attn"), whole)))  # fmt: skip
    assert found is not None
    assert [each.label for each in found] == [": [seq, model]", ": [seq, model]"]


def diagram(editor: Editor, name: str, piece: str) -> dict[str, str]:
    place = editor.at(name, piece)
    asked = {"textDocument": {"uri": editor.uri(name)}, "position": {"line": place.line, "character": place.character}}
    answer = editor.run(editor.ask("attnc/diagram", asked))
    return {"name": answer.name, "svg": answer.svg, "message": answer.message}


def test_the_diagram_of_the_block_at_the_cursor_follows_edits(editor: Editor) -> None:
    editor.open("transformer.attn", TRANSFORMER)
    drawn = diagram(editor, "transformer.attn", "block feed_forward")
    assert drawn["name"] == "feed_forward" and drawn["message"] == "" and "<svg" in drawn["svg"]
    assert diagram(editor, "transformer.attn", "block join")["name"] == "join"
    assert diagram(editor, "transformer.attn", "width source")["name"] == "transformer"
    editor.change("transformer.attn", TRANSFORMER.replace("|> relu |>", "|> gelu |>"))
    again = diagram(editor, "transformer.attn", "block feed_forward")
    assert "<svg" in again["svg"] and again["svg"] != drawn["svg"]
    editor.change("transformer.attn", TRANSFORMER.replace("|> relu |>", "|> rleu |>"))
    assert "no op or block is named `rleu`" in diagram(editor, "transformer.attn", "block feed_forward")["message"]


# -- hard to break


def test_a_file_of_the_library_that_is_not_there(editor: Editor) -> None:
    editor.open("typing.attn", "use std.fe: x\nwidth a\nblock f(y: [a]) -> [a] {\n    return x(y)\n}\n")
    assert [found.code for found in editor.diagnostics("typing.attn")] == ["E0209"]
    assert "y: [a]" in editor.hover("typing.attn", "y)\n")
    assert editor.errors == []


def test_texts_that_are_no_files(editor: Editor) -> None:
    editor.open("untitled:Untitled-1", "use std.masks: causal\nuse other: thing\n")
    assert [found.code for found in editor.diagnostics("untitled:Untitled-1")] == ["E0209"]


@pytest.mark.parametrize(
    "text", ["", "\r", "\0\0", "((((", "block", 'op x() -> [] = "', "\ufeffwidth a\n", "{" * 300, "# \ud83d"]
)
def test_any_text_gets_answers(editor: Editor, text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    editor.open("odd.attn", text)
    editor.diagnostics("odd.attn")
    place = lsp.Position(7, 3)  # outside
    for asked in (lsp.HoverParams, lsp.DefinitionParams, lsp.CompletionParams, lsp.SignatureHelpParams):
        params = asked(editor.document("odd.attn"), place)
        method = {"HoverParams": "hover", "DefinitionParams": "definition", "CompletionParams": "completion",
                  "SignatureHelpParams": "signature_help"}[asked.__name__]  # fmt: skip
        editor.run(getattr(editor.client, f"text_document_{method}_async")(params))
    assert isinstance(actions(editor, "odd.attn"), list)


@pytest.mark.parametrize("seed", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_random_edits_and_requests_all_get_answers_and_the_server_ends_cleanly(tmp_path: Path, seed: int) -> None:
    """Requests are sent without waiting for one another, as a fast hand does."""
    chance = random.Random(seed)
    edits = 20 if seed < 3 else 400
    with editing(tmp_path) as editor:
        text = chance.choice(SPECS).read_text("utf-8").encode("utf-8", "replace").decode()
        editor.open("typed.attn", text)
        document = editor.document("typed.attn")
        client = editor.client
        none, top = lsp.CodeActionContext([]), {"line": 1, "character": 2}

        async def ask(place: lsp.Position) -> None:
            at = {"text_document": document, "position": place}
            whole = lsp.Range(lsp.Position(0, 0), place)
            await asyncio.gather(
                client.text_document_hover_async(lsp.HoverParams(**at)),
                client.text_document_definition_async(lsp.DefinitionParams(**at)),
                client.text_document_completion_async(lsp.CompletionParams(**at)),
                client.text_document_signature_help_async(lsp.SignatureHelpParams(**at)),
                client.text_document_document_symbol_async(lsp.DocumentSymbolParams(document)),
                client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(document)),
                client.text_document_inlay_hint_async(lsp.InlayHintParams(document, whole)),
                client.text_document_code_action_async(lsp.CodeActionParams(document, whole, none)),
                editor.ask("attnc/diagram", {"textDocument": {"uri": document.uri}, "position": top}),
            )

        for _ in range(edits):
            text, _ = edited(text, chance)
            editor.change("typed.attn", text)
            if chance.random() < 0.5:
                editor.run(ask(lsp.Position(chance.randrange(60), chance.randrange(60))))
        assert isinstance(editor.diagnostics("typed.attn"), list)
        assert editor.errors == []


def test_a_request_about_a_file_that_is_not_there(editor: Editor) -> None:
    editor.texts["gone.attn"] = "x"
    assert editor.hover("gone.attn", "x") == ""
    assert editor.definition("gone.attn", "x") == []
