// Every spec of the repository, tokenised by the engine that VS Code uses.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const oniguruma = require("vscode-oniguruma");
const { INITIAL, Registry, parseRawGrammar } = require("vscode-textmate");

const HERE = path.join(__dirname, "..");
const ROOT = path.join(HERE, "..", "..");
const GRAMMAR = path.join(HERE, "syntaxes", "attn.tmLanguage.json");

async function grammar() {
  const wasm = fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const registry = new Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => parseRawGrammar(fs.readFileSync(GRAMMAR, "utf8"), GRAMMAR),
  });
  return registry.loadGrammar("source.attn");
}

/** The tokens of a text: [text, innermost scope]. */
function tokens(made, text) {
  let state = INITIAL;
  const found = [];
  for (const line of text.split("\n")) {
    const result = made.tokenizeLine(line, state);
    state = result.ruleStack;
    for (const each of result.tokens) {
      found.push([line.slice(each.startIndex, each.endIndex), each.scopes[each.scopes.length - 1]]);
    }
  }
  return found;
}

function specs(folder) {
  return fs
    .readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(".attn") && !/node_modules|\.venv|(^|\/)\.|build/.test(name))
    .map((name) => path.join(folder, name));
}

test("every spec is coloured whole", async () => {
  const made = await grammar();
  const files = ["examples", "compiler/std", "tests"].flatMap((folder) => specs(path.join(ROOT, folder)));
  assert.ok(files.length > 30);
  for (const file of files) {
    for (const [text, scope] of tokens(made, fs.readFileSync(file, "utf8"))) {
      assert.ok(!text.trim() || scope !== "source.attn", `${file}: ${JSON.stringify(text)} has no scope`);
    }
  }
});

test("words are told from names", async () => {
  const made = await grammar();
  const found = tokens(made, fs.readFileSync(path.join(ROOT, "tests/dsl/tour.attn"), "utf8"));
  const scopes = (text) => [...new Set(found.filter((each) => each[0] === text).map((each) => each[1]))];
  assert.deepStrictEqual(scopes("softmax"), ["support.function.attn"]);
  assert.deepStrictEqual(scopes("transformer"), ["entity.name.function.attn"]);
  assert.deepStrictEqual(scopes("and"), ["keyword.operator.word.attn"]);
  assert.deepStrictEqual(scopes("repeat"), ["keyword.control.attn"]);
  assert.deepStrictEqual(scopes("bool"), ["support.type.attn"]);
  assert.deepStrictEqual(scopes("up"), ["entity.other.attribute-name.attn"]);
  assert.deepStrictEqual(scopes("model"), ["variable.other.attn", "storage.type.attn"]);
});
