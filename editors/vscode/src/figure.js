// The living figure beside the text: the page that `attnc draw -o X.html` writes. It follows what is saved, and a click
// leads to the line.
"use strict";

const vscode = require("vscode");
const { execFile } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { command } = require("./server");

const BLOCK = /^(?:block|model)[ \t]+([A-Za-z_]\w*)/gm;
// The scripts and the style of the page are in it, and it loads nothing.
const POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";

class FigurePanel {
  constructor() {
    this.listeners = [];
  }

  async show() {
    if (!vscode.workspace.isTrusted) {
      await vscode.window.showInformationMessage("attnc: figures are drawn in trusted workspaces."); // the path is a setting
      return;
    }
    const editor = vscode.window.activeTextEditor;
    if (editor && editor.document.languageId === "attn") {
      this.file = editor.document.uri.fsPath;
      this.name = blockAt(editor.document.getText(), editor.document.offsetAt(editor.selection.active));
    }
    if (this.panel) {
      this.panel.reveal(undefined, true);
    } else {
      const look = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
      const may = { enableScripts: true, retainContextWhenHidden: true, localResourceRoots: [] };
      this.panel = vscode.window.createWebviewPanel("attnc.figure", "Figure", look, may);
      this.panel.webview.html = "drawing ...";
      this.panel.onDidDispose(() => this.closed());
      this.listeners = [
        this.panel.webview.onDidReceiveMessage((place) => this.reveal(place)),
        vscode.workspace.onDidSaveTextDocument((saved) => {
          if (saved.languageId === "attn") return this.draw(); // or one that it uses
        }),
      ];
    }
    await this.draw();
  }

  /** Draws the file as it is saved. While it has mistakes, the last figure stays, with the first of them on it. */
  draw() {
    const { program, folder } = command();
    const target = this.name ? `${this.file}:${this.name}` : this.file;
    const turn = (this.turn = (this.turn || 0) + 1);
    const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "attnc-"));
    const out = path.join(scratch, "figure.html");
    return new Promise((done) => {
      execFile(program, ["draw", target, "-o", out], { cwd: folder }, (problem, _, told) => {
        const drawn = problem ? "" : fs.readFileSync(out, "utf8"); // what it told beside the page are warnings
        fs.rmSync(scratch, { recursive: true, force: true });
        if (this.panel && turn === this.turn) this.put(drawn, problem ? told.trim() || String(problem.message) : "");
        done();
      });
    });
  }

  put(drawn, problem) {
    if (drawn) {
      this.drawn = true;
      this.panel.title = this.name || path.basename(this.file);
      this.panel.webview.html = page(drawn);
    } else if (this.drawn) {
      this.panel.webview.postMessage({ problem });
    } else {
      this.panel.webview.html = `<pre>${problem.replace(/&/g, "&amp;").replace(/</g, "&lt;")}</pre>`;
    }
  }

  /** Shows the words of a spec: `source` is the name that the page has for it, the file itself or one beside it. */
  async reveal({ source, from, to }) {
    const file = [this.file, path.join(path.dirname(this.file), source)].find(
      (each) => path.basename(each) === path.basename(source) && fs.existsSync(each),
    );
    if (!file) return; // of the library
    const document = await vscode.workspace.openTextDocument(vscode.Uri.file(file));
    const selection = new vscode.Range(document.positionAt(from), document.positionAt(to));
    await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.One, selection, preserveFocus: true });
  }

  closed() {
    this.listeners.forEach((listener) => listener.dispose());
    this.listeners = [];
    this.panel = undefined;
    this.drawn = false;
  }

  dispose() {
    if (this.panel) this.panel.dispose();
  }
}

/** The name of the block or model that an offset is in, or after; "" before all of them. */
function blockAt(text, offset) {
  return [...text.matchAll(BLOCK)].filter((found) => found.index <= offset).map((found) => found[1]).pop() || "";
}

/** The page with what ties it to the editor. A page that takes the place of another opens the blocks that were open. */
function page(drawn) {
  return drawn
    .replace("<head>", () => `<head><meta http-equiv="Content-Security-Policy" content="${POLICY}">`)
    .replace(/<\/body>(?![\s\S]*<\/body>)/, () => `<script>(${tie})(acquireVsCodeApi());</script></body>`);
}

/* Runs in the page: `state`, `data` and the functions are those of its own scripts. */
/* global state, data, aboutOf, factOf, openNamed, zoom, say */
function tie(editor) {
  const kept = editor.getState();
  if (kept) {
    state.open.clear();
    openNamed(kept.open);
    if (kept.zoom !== 1) zoom(kept.zoom);
  }
  const keep = () =>
    editor.setState({ open: [...state.open].map((path) => data.levels[factOf(path).b].name), zoom: state.zoom });
  document.addEventListener("click", (event) => {
    const place = ((aboutOf(event.target) || {}).places || [])[0];
    keep();
    if (place === undefined || event.target.closest("button, summary, input, a")) return;
    const [source, from, to] = data.places[place];
    editor.postMessage({ source: data.sources[source][0], from, to });
  });
  document.addEventListener("keyup", keep);
  addEventListener("message", ({ data }) => data && data.problem && say("The text has a mistake:", data.problem));
}

module.exports = { FigurePanel, blockAt, page };
