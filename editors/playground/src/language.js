// The colours: the TextMate grammar of the extension for VS Code, which is made from the language's own tables, rule by rule.
import { StreamLanguage } from "@codemirror/language";
import { tags } from "@lezer/highlight";
import grammar from "../../vscode/syntaxes/attn.tmLanguage.json";

const KINDS = [
  ["comment", tags.comment], ["string", tags.string], ["storage.type", tags.keyword], ["keyword.operator", tags.operator],
  ["keyword", tags.keyword], ["constant.language", tags.bool], ["constant.numeric", tags.number], ["support.type", tags.typeName],
  ["support.function", tags.standard(tags.function(tags.variableName))], ["entity.name.namespace", tags.namespace],
  ["entity.name.function", tags.function(tags.variableName)], ["entity.other", tags.propertyName], ["punctuation", tags.punctuation],
];
const rules = grammar.patterns.map(({ match, name, captures = {} }) => ({
  find: new RegExp(match, "dy"), kind: kindOf(name),
  groups: Object.entries(captures).map(([number, capture]) => [Number(number), kindOf(capture.name)]),
}));

function kindOf(scope = "") {
  const known = KINDS.find(([prefix]) => scope.startsWith(prefix));
  return known ? known[0].replaceAll(".", "-") : null;
}

// What the rules make of a line: [where it ends, kind] for each piece of it.
function pieces(line) {
  const found = [];
  for (let at = 0; at < line.length;) {
    let end = at + 1;
    for (const { find, kind, groups } of rules) {
      find.lastIndex = at;
      const match = find.exec(line);
      if (!match || !match[0]) continue;
      end = find.lastIndex;
      for (const [number, of] of groups) if (match.indices[number]) found.push([match.indices[number][0], kind], [match.indices[number][1], of]);
      found.push([end, kind]);
      break;
    }
    if (end === at + 1 && (!found.length || found.at(-1)[0] < end)) found.push([end, null]);
    at = end;
  }
  return found;
}

export const attn = StreamLanguage.define({
  name: "attn",
  startState: () => ({ line: null, pieces: [] }),
  copyState: state => ({ ...state }),
  token(stream, state) {
    if (stream.sol() || state.line !== stream.string) Object.assign(state, { line: stream.string, pieces: pieces(stream.string) });
    const [end, kind] = state.pieces.find(([end]) => end > stream.pos) ?? [stream.string.length, null];
    stream.pos = end;
    return kind;
  },
  tokenTable: Object.fromEntries(KINDS.map(([prefix, tag]) => [prefix.replaceAll(".", "-"), tag])),
  languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["(", "[", "{"] } },
});
