// The list of mistakes under the editor: each with its place, its words, and a button where it can be mended.
import { $, make, worded } from "./elements.js";

export function showMistakes(found, { go, apply, mend, explain }) {
  const fixes = found.filter(each => each.edits.length && each.severity !== "advice").length;
  $("mistakes").replaceChildren(
    ...found.map(each => make("li", { class: each.severity },
      make("button", { class: "place", type: "button", title: "go there", onclick: () => go(each.from) }, `line ${each.line}`),
      make("p", {}, ...worded(each.message),
        ...each.labels.filter(({ text }) => text && !each.labels.some(other => other.text.endsWith(`. ${text}`))).map(label => make("span", { class: "note" }, ...worded(label.text))),
        ...[...each.notes, each.help].filter(Boolean).map(text => make("span", { class: "note" }, ...worded(text)))),
      make("span", { class: "acts" },
        ...(each.edits.length ? [make("button", { class: "fix", type: "button", onclick: () => apply(each.edits) }, ...worded(each.fix))] : []),
        make("button", { class: "code", type: "button", title: "what this means", onclick: () => explain(each.code) }, each.code)))),
  );
  if (fixes > 1) $("mistakes").append(make("li", { class: "all" }, make("button", { class: "fix", type: "button", onclick: mend }, "Fix all that can be fixed")));
}
