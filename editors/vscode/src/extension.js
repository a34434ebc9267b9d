// The client of `attnc lsp`, and the diagram beside the text.
"use strict";

const vscode = require("vscode");
const { LanguageClient, State } = require("vscode-languageclient/node");
const { DiagramPanel } = require("./diagram");
const { FigurePanel } = require("./figure");
const { Pages } = require("./pages");
const { command, serve } = require("./server");

let client;

async function activate(context) {
  const log = vscode.window.createOutputChannel("attnc", { log: true });
  const pages = new Pages(() => client);
  const diagram = new DiagramPanel(() => (client && client.state === State.Running ? client : undefined));
  const figure = new FigurePanel();
  context.subscriptions.push(
    log,
    diagram,
    figure,
    vscode.workspace.registerTextDocumentContentProvider(Pages.scheme, pages),
    vscode.commands.registerCommand("attnc.showDiagram", () => diagram.show()),
    vscode.commands.registerCommand("attnc.showFigure", () => figure.show()),
    vscode.commands.registerCommand("attnc.explain", () => pages.show()),
    vscode.commands.registerCommand("attnc.restart", () => restart(log)),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("attnc.path")) restart(log);
    }),
  );
  if (vscode.workspace.isTrusted) {
    await start(log);
  } else {
    context.subscriptions.push(vscode.workspace.onDidGrantWorkspaceTrust(() => start(log)));
  }
}

async function start(log) {
  const program = command();
  const made = new LanguageClient(
    "attnc",
    "attnc",
    () => serve(program),
    {
      documentSelector: [{ language: "attn", scheme: "file" }, { language: "attn", scheme: "untitled" }],
      outputChannel: log,
      markdown: { isTrusted: false },
      middleware: { handleDiagnostics: (uri, found, next) => next(uri, found.map(Pages.linked)) },
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: 1 }), // Continue
        closed: () => ({ action: 1, handled: true }), // DoNotRestart: `serve` has said what is wrong
      },
    },
  );
  client = made;
  try {
    await made.start();
  } catch (problem) {
    log.error(String(problem)); // `serve` has told the user
  }
}

async function restart(log) {
  await deactivate();
  await start(log);
}

async function deactivate() {
  const old = client;
  client = undefined;
  if (old && old.needsStop()) await old.stop().catch(() => undefined);
}

module.exports = { activate, deactivate };
