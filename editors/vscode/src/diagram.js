// The diagram of the block at the cursor, beside the text: it follows edits and the cursor.
"use strict";

const vscode = require("vscode");
const { randomBytes } = require("node:crypto");

const DELAY = 250; // milliseconds from the last edit or move of the cursor

class DiagramPanel {
  constructor(client) {
    this.client = client;
    this.listeners = [];
  }

  show() {
    const editor = vscode.window.activeTextEditor;
    if (editor && editor.document.languageId === "attn") this.editor = editor;
    if (this.panel) {
      this.panel.reveal(undefined, true);
    } else {
      this.panel = vscode.window.createWebviewPanel(
        "attnc.diagram",
        "Diagram",
        { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
        { enableScripts: true, retainContextWhenHidden: true, localResourceRoots: [] },
      );
      this.panel.webview.html = page(randomBytes(16).toString("hex"));
      this.panel.onDidDispose(() => this.closed());
      this.listeners = [
        vscode.workspace.onDidChangeTextDocument((event) => {
          if (this.editor && event.document.languageId === "attn") this.later(); // or of a text that it uses
        }),
        vscode.window.onDidChangeTextEditorSelection((event) => this.follow(event.textEditor)),
        vscode.window.onDidChangeActiveTextEditor((found) => this.follow(found)),
      ];
    }
    this.later(0);
  }

  follow(editor) {
    if (editor && editor.document.languageId === "attn") {
      this.editor = editor;
      this.later();
    }
  }

  later(delay = DELAY) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.draw(), delay);
  }

  async draw() {
    const client = this.client();
    const editor = this.editor;
    if (!this.panel || !editor) return;
    const turn = (this.turn = (this.turn || 0) + 1);
    let drawn = { name: "", svg: "", message: "the language server is not running" };
    if (client) {
      const { line, character } = editor.selection.active;
      const textDocument = { uri: client.code2ProtocolConverter.asUri(editor.document.uri) };
      drawn = await client
        .sendRequest("attnc/diagram", { textDocument, position: { line, character } })
        .catch((problem) => ({ name: "", svg: "", message: String(problem.message || problem) }));
    }
    if (!this.panel || editor !== this.editor || turn !== this.turn) return; // a later one is under way
    if (drawn.name) this.panel.title = drawn.name;
    await this.panel.webview.postMessage(drawn);
  }

  closed() {
    clearTimeout(this.timer);
    this.listeners.forEach((listener) => listener.dispose());
    this.listeners = [];
    this.panel = undefined;
  }

  dispose() {
    if (this.panel) this.panel.dispose();
  }
}

/** The page of the panel. The picture is an image, so nothing in it can run. */
function page(nonce) {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'nonce-${nonce}'">
<style>
  body { margin: 0; padding: 1em; }
  #message { font-family: var(--vscode-font-family); color: var(--vscode-descriptionForeground); min-height: 1.4em; }
  img { max-width: 100%; background: white; border-radius: 3px; cursor: zoom-in; }
  img.whole { max-width: none; cursor: zoom-out; }
  img.old { opacity: 0.4; }
  img:not([src]) { display: none; }
</style>
</head>
<body>
<div id="message">drawing ...</div>
<img id="picture" alt="">
<script nonce="${nonce}">
  const message = document.getElementById("message"), picture = document.getElementById("picture");
  picture.addEventListener("click", () => picture.classList.toggle("whole"));
  window.addEventListener("message", ({ data }) => {
    message.textContent = data.message;
    picture.classList.toggle("old", !data.svg);
    if (data.svg) {
      const bytes = new TextEncoder().encode(data.svg);
      picture.src = "data:image/svg+xml;base64," + btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(""));
      picture.alt = "the diagram of " + data.name;
    }
  });
</script>
</body>
</html>`;
}

module.exports = { DiagramPanel, page };
