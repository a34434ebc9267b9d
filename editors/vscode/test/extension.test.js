// The bundled extension, loaded with a stand-in for the editor: it says clearly what is wrong where attnc is missing,
// and draws what the server sends.
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
  assert.deepStrictEqual(Object.keys(commands).sort(), ["attnc.explain", "attnc.restart", "attnc.showDiagram"]);
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
