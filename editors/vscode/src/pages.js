// The page of an error: behind its code in the list of problems, and by a command.
"use strict";

const vscode = require("vscode");

class Pages {
  static scheme = "attnc-explain";

  constructor(client) {
    this.client = client;
  }

  /** A diagnostic whose code leads to its page. */
  static linked(diagnostic) {
    if (typeof diagnostic.code === "string") {
      diagnostic.code = { value: diagnostic.code, target: Pages.address(diagnostic.code) };
    }
    return diagnostic;
  }

  static address(code) {
    return vscode.Uri.from({ scheme: Pages.scheme, path: `/${code}.md` });
  }

  async provideTextDocumentContent(uri) {
    const client = this.client();
    const code = uri.path.replace(/^\/|\.md$/g, "");
    const page = client ? await client.sendRequest("attnc/explain", { code }) : { text: "" };
    return page.text || `There is no page for ${code}.`;
  }

  /** The page of the diagnostic at the cursor. */
  async show() {
    const editor = vscode.window.activeTextEditor;
    const found = editor
      ? vscode.languages
          .getDiagnostics(editor.document.uri)
          .find((each) => each.source === "attnc" && each.range.contains(editor.selection.active))
      : undefined;
    if (!found) {
      await vscode.window.showInformationMessage("attnc: there is no error at the cursor.");
      return;
    }
    const code = typeof found.code === "object" ? found.code.value : found.code;
    await vscode.commands.executeCommand("markdown.showPreviewToSide", Pages.address(code));
  }
}

module.exports = { Pages };
