"""The VS Code extension: its manifest, its grammar, and the package that `make vscode` makes."""

from __future__ import annotations

import json
import re
import runpy
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from pygments.token import Comment, Keyword, Name, Number, Operator, String

import attnc
from attnc.editor.features.tokens import TYPES
from attnc.editor.pygments import AttnLexer
from tests.diagrams.browser import CHROMIUM, Chromium

from .edits import ROOT, SPECS

HERE = ROOT / "editors" / "vscode"
MANIFEST: dict[str, Any] = json.loads((HERE / "package.json").read_text())
CONTRIBUTES = MANIFEST["contributes"]
RULES: Any = runpy.run_path(str(ROOT / "editors" / "grammar.py"))["RULES"]
STANDARD = {"function", "class", "parameter", "variable", "namespace"}  # token types of the protocol itself


def test_the_manifest_tells_the_truth() -> None:
    assert MANIFEST["version"] == attnc.__version__
    for path in (CONTRIBUTES["grammars"][0]["path"], CONTRIBUTES["languages"][0]["configuration"], MANIFEST["icon"]):
        assert (HERE / path).is_file(), path
    source = "".join(path.read_text() for path in sorted((HERE / "src").glob("*.js")))
    commands = {each["command"] for each in CONTRIBUTES["commands"]}
    assert commands == set(re.findall(r'registerCommand\("([^"]+)"', source))
    menus = [entry["command"] for menu in CONTRIBUTES["menus"].values() for entry in menu]
    assert {*menus, *(key["command"] for key in CONTRIBUTES["keybindings"])} <= commands
    settings = set(CONTRIBUTES["configuration"]["properties"])
    assert settings == {"attnc.path", "attnc.trace.server"} and 'get("path")' in source
    described = {each["id"] for each in CONTRIBUTES["semanticTokenTypes"]}
    assert described == set(TYPES) - STANDARD == set(CONTRIBUTES["semanticTokenScopes"][0]["scopes"])
    assert {'"attnc/diagram"', '"attnc/explain"'} <= set(re.findall(r'"attnc/\w+"', source))
    assert MANIFEST["icon"] and (HERE / MANIFEST["icon"]).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert (HERE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_no_file_names_a_registry() -> None:
    lock = json.loads((HERE / "package-lock.json").read_text())
    assert [name for name, each in lock["packages"].items() if "resolved" in each] == []
    assert all(each.get("integrity") for name, each in lock["packages"].items() if name)


def test_brackets_and_indentation() -> None:
    language = json.loads((HERE / "language-configuration.json").read_text())
    assert language["comments"] == {"lineComment": "#"}
    rules = {name: re.compile(rule) for name, rule in language["indentationRules"].items()}
    for line in ("block f(x: [a]) -> [a] {", "    repeat layers {", "config c {  # one", "block f("):
        assert rules["increaseIndentPattern"].match(line), line
    for line in ("x = f(x)", "config c { a = 1 }", "# {", "y = softmax[k](s)"):
        assert not rules["increaseIndentPattern"].match(line), line
    assert rules["decreaseIndentPattern"].match("    }") and not rules["decreaseIndentPattern"].match("x }")
    assert re.fullmatch(language["wordPattern"], "feed_forward2")


# -- the grammar


def scopes(line: str) -> Iterator[tuple[str, str]]:
    """The stretches of a line, each with its scope, as a TextMate engine finds them: the first rule of the earliest."""
    at = 0
    while at < len(line):
        best: tuple[re.Match[str], str, dict[int, str]] | None = None
        for expression, scope, groups in RULES:
            found = re.compile(expression).search(line, at)
            if found and found.end() > at and (best is None or found.start() < best[0].start()):
                best = found, scope, groups
        if best is None:
            yield line[at:], ""
            return
        found, scope, groups = best
        yield line[at : found.start()], ""
        if groups:
            done = found.start()
            for number, name in sorted(groups.items()):
                yield line[done : found.start(number)], ""
                yield found[number], name
                done = found.end(number)
            yield line[done : found.end()], ""
        else:
            yield found.group(), scope
        at = found.end()


SAME = {
    "comment": (Comment,),
    "string": (String,),
    "storage.type": (Keyword,),
    "keyword.control": (Keyword,),
    "keyword.other": (Keyword,),
    "keyword.operator": (Operator,),
    "constant.numeric": (Number,),
    "constant.language": (Keyword, Name.Constant),
    "support.function": (Name.Builtin,),
    "support.type": (Keyword.Type,),
    "entity.name.function": (Name.Function,),
    "entity.name.namespace": (Name.Namespace,),
    "entity.other.attribute-name": (Name.Attribute,),
}


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_grammar_colours_every_spec_as_the_lexer_does(path: Path) -> None:
    text = path.read_text("utf-8")
    kinds: dict[int, Any] = {}
    for at, kind, value in AttnLexer().get_tokens_unprocessed(text):
        kinds |= dict.fromkeys(range(at, at + len(value)), kind)
    start = 0
    for line in text.split("\n"):
        at = start
        for piece, scope in scopes(line):
            assert scope or not piece.strip(), (line, piece)
            wanted = next((kind for name, kind in SAME.items() if scope.startswith(name)), None)
            if wanted is not None:
                assert any(kinds[at] in kind for kind in wanted), (line, piece, scope, kinds[at])
            at += len(piece)
        start += len(line) + 1


# -- the package


@pytest.mark.skipif(not (HERE / "attnc.vsix").exists(), reason="`make vscode` makes the package")
def test_the_package_holds_what_the_editor_needs() -> None:
    with zipfile.ZipFile(HERE / "attnc.vsix") as package:
        assert package.testzip() is None
        names = set(package.namelist())
        manifest = json.loads(package.read("extension/package.json"))
        ElementTree.fromstring(package.read("[Content_Types].xml"))
        about = ElementTree.fromstring(package.read("extension.vsixmanifest"))
        code = package.read("extension/dist/extension.js").decode()
    (identity,) = [each for each in about.iter() if each.tag.endswith("Identity")]
    assert (identity.get("Id"), identity.get("Version")) == ("attnc", attnc.__version__)
    needed = [manifest["main"], manifest["icon"], CONTRIBUTES["grammars"][0]["path"]]
    needed += [CONTRIBUTES["languages"][0]["configuration"], "dist/LICENSES.txt"]
    assert {f"extension/{path.removeprefix('./')}" for path in needed} <= names
    assert not [name for name in names if "node_modules" in name or name.endswith(".map")]
    assert set(re.findall(r'require\("([^"]+)"\)', code)) <= {
        "vscode", "child_process", "crypto", "fs", "net", "os", "path", "url", "util", "readline", "node:child_process",
        "node:crypto", "node:fs", "node:os", "node:path", "node:readline", "node:net", "node:util",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_living_figure_tells_the_editor_where_a_click_leads(tmp_path: Path) -> None:
    """The real page under the panel's own policy, tied as the extension ties it to a stand-in for the editor."""
    source = (HERE / "src" / "figure.js").read_text()
    (policy,) = re.findall(r'^const POLICY = "(.*)";$', source, re.MULTILINE)
    (tie,) = re.findall(r"^function tie\(.*?^}$", source, re.MULTILINE | re.DOTALL)
    page = attnc.load(ROOT / "examples" / "transformer.attn").model("transformer").draw().html()
    stand_in = (
        "window.told = []; window.kept = JSON.parse(localStorage.kept || 'null'); const editor = {"
        " getState: () => kept, postMessage: p => told.push(p),"
        " setState: s => { localStorage.kept = JSON.stringify(s) } };"
    )
    page = page.replace("<head>", f'<head><meta http-equiv="Content-Security-Policy" content="{policy}">', 1)
    (tmp_path / "page.html").write_text(page.replace("</body>", f"<script>{stand_in}({tie})(editor);</script></body>"))
    browser = Chromium(tmp_path)
    try:
        browser.open(tmp_path / "page.html")
        browser.click(*browser.at("#figure [data-box]"))
        (place,) = browser.run("told")
        text = (ROOT / "examples" / "transformer.attn").read_text()
        assert place["source"].endswith("transformer.attn")
        assert text[place["from"] : place["to"]].startswith("multihead.self[")
        levels = "figure.querySelectorAll('.level').length"
        shown = browser.run(levels)
        browser.open(tmp_path / "page.html")  # as after the next save: what was open is open
        assert browser.run(levels) >= shown > 1
        browser.run("postMessage({ problem: 'error[E0307]: wrong' }, '*')")
        assert browser.run("new Promise(done => setTimeout(() => done($('about').textContent), 50))").endswith("wrong")
        assert browser.errors == []
    finally:
        browser.close()
