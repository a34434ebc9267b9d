// The bundled extension, loaded with a stand-in for the editor: it says clearly what is wrong where attnc is missing,
// and shows what attnc draws.
"use strict";

const assert = require("node:assert");
const Module = require("node:module");
const path = require("node:path");
const { test } = require("node:test");

const BUNDLE = path.join(__dirname, "..", "dist", "extension.js");

/** Anything: callable, constructible, with every property. */
function anything(known = {}) {
  const target = function () {};
  return new Proxy(target, {
    get: (_, key) => (key in known ? known[key] : key === Symbol.toPrimitive ? () => "" : key === "then" ? undefined : anything()),
    apply: () => anything(),
    construct: () => anything(),
  });
}

/** A class to be extended. */
class Thing {
  event = () => ({ dispose() {} });
  fire() {}
  dispose() {}
}

function editor(settings) {
  const said = [], commands = {};
  const vscode = anything({
    version: "1.100.0",
    window: anything({
      createOutputChannel: () => anything(),
      showErrorMessage: async (message) => void said.push(message),
    }),
    workspace: anything({
      isTrusted: true,
      workspaceFolders: undefined,
      textDocuments: [],
      getConfiguration: () => ({ get: (name) => settings[name] }),
    }),
    commands: anything({ registerCommand: (name, run) => ((commands[name] = run), { dispose() {} }) }),
    env: anything({ language: "en", appName: "test" }),
  });
  // Classes that the client extends.
  const extended = [
    "CallHierarchyItem", "CancellationError", "CodeAction", "CodeLens", "CompletionItem", "Diagnostic", "DocumentLink",
    "Disposable", "EventEmitter", "InlayHint", "SymbolInformation", "TypeHierarchyItem", "WorkspaceSymbol",
  ];
  const classes = Object.fromEntries(extended.map((name) => [name, class extends Thing {}]));
  return { said, commands, vscode: new Proxy(vscode, { get: (_, key) => classes[key] || vscode[key] }) };
}

function load(vscode) {
  const resolve = Module._load;
  Module._load = (name, ...rest) => (name === "vscode" ? vscode : resolve(name, ...rest));
  try {
    delete require.cache[require.resolve(BUNDLE)];
    return require(BUNDLE);
  } finally {
    Module._load = resolve;
  }
}

test("a missing attnc is one clear message", async () => {
  const { said, commands, vscode } = editor({ path: "/nowhere/attnc" });
  const extension = load(vscode);
  await extension.activate({ subscriptions: [] });
  await new Promise((done) => setTimeout(done, 200));
  assert.deepStrictEqual(Object.keys(commands).sort(), ["attnc.explain", "attnc.restart", "attnc.showDiagram", "attnc.showFigure"]);
  assert.deepStrictEqual(said.slice(0, 1), [
    'attnc: the program `/nowhere/attnc` was not found. Install it (in a clone of attnc: `pip install ".[lsp]"`), or set its path.',
  ]);
});

test("a server that cannot run says why", async () => {
  const { said, vscode } = editor({ path: path.join(__dirname, "broken") });
  await load(vscode).activate({ subscriptions: [] });
  await new Promise((done) => setTimeout(done, 500));
  assert.deepStrictEqual(said.slice(0, 1), ['attnc: the language server needs pygls: pip install "pygls>=2.1"']);
});

/** An editor with a saved text, the cursor at its end, and a panel that notes what it is given. */
function withText(text, path) {
  const made = editor({ path: path }), shown = [], posted = [], revealed = [], heard = {};
  const offsets = { getText: () => text, offsetAt: () => text.length, positionAt: (offset) => offset };
  const document = { languageId: "attn", uri: { fsPath: __filename }, ...offsets };
  const webview = {
    set html(page) { shown.push(page); },
    postMessage: (message) => void posted.push(message),
    onDidReceiveMessage: (run) => ((heard.place = run), { dispose() {} }),
  };
  Object.assign(made, { shown, posted, revealed, heard });
  const vscode = made.vscode, known = {
    window: anything({
      ...Object.fromEntries(["createOutputChannel", "showErrorMessage"].map((name) => [name, vscode.window[name]])),
      activeTextEditor: { document, selection: { active: 0 } },
      createWebviewPanel: () => ({ webview, onDidDispose() {}, reveal() {} }),
      showTextDocument: async (opened, how) => void revealed.push([opened.uri.fsPath, how.selection.from, how.selection.to]),
    }),
    workspace: anything({
      isTrusted: true,
      workspaceFolders: undefined,
      textDocuments: [],
      getConfiguration: () => ({ get: () => path }),
      onDidSaveTextDocument: (run) => ((heard.save = run), { dispose() {} }),
      openTextDocument: async () => document,
    }),
    Uri: { file: (name) => name },
    Range: class { constructor(from, to) { Object.assign(this, { from, to }); } },
  };
  made.vscode = new Proxy(vscode, { get: (_, key) => known[key] || vscode[key] });
  return made;
}

test("the living figure follows what is saved, and leads to the line", async () => {
  const made = withText("block a() {}\nmodel b() {}", path.join(__dirname, "drawing"));
  await load(made.vscode).activate({ subscriptions: [] });
  await made.commands["attnc.showFigure"]();
  const page = made.shown.splice(0).pop();
  assert.ok(page.includes(`drawn: ${__filename}:b`), page); // the block at the cursor
  assert.ok(page.startsWith('<html><head><meta http-equiv="Content-Security-Policy" content="default-src \'none\';'));
  assert.match(page, /acquireVsCodeApi\(\)\);<\/script><\/body>/);
  await made.heard.place({ source: path.basename(__filename), from: 3, to: 7 });
  assert.deepStrictEqual(made.revealed, [[__filename, 3, 7]]);
  await made.heard.place({ source: "std/attention.attn", from: 0, to: 1 }); // no file beside
  assert.strictEqual(made.revealed.length, 1);
  process.env.ATTNC_TEST_FAILS = "1";
  await made.heard.save({ languageId: "attn" });
  delete process.env.ATTNC_TEST_FAILS;
  assert.deepStrictEqual([made.shown, made.posted], [[], [{ problem: "error[E0307]: wrong" }]]); // the last one stays
  await made.heard.save({ languageId: "attn" });
  assert.strictEqual(made.shown.length, 1);
});
