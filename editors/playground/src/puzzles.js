// The puzzles: words, what is locked, and what the judge says. What was solved is remembered in this browser.
import { $, make, worded } from "./elements.js";

const STORE = "attnc-solved";
let solved = new Set();
try { solved = new Set(JSON.parse(localStorage.getItem(STORE) ?? "[]")); } catch { /* a browser that keeps nothing */ }

export function listPuzzles(puzzles) {
  const chosen = $("puzzles").value;
  $("puzzles").replaceChildren(new Option("choose …", ""), ...puzzles.map(({ name, title }, k) => new Option(`${solved.has(name) ? "✓" : k + 1 + "."} ${title}`, name)));
  $("puzzles").value = chosen;
}

export function keepSolved(name) {
  solved.add(name);
  try { localStorage.setItem(STORE, JSON.stringify([...solved])); } catch { /* as above */ }
}

// The signature of the model that is judged: [from, to] in the text.
export function signature(text, model) {
  const from = text.search(new RegExp(`^model ${model}\\b`, "m"));
  if (from < 0) return [];
  return [[from, text.indexOf("{\n", from) + 1]];
}

// verdict: what the judge said last, or null.
export function showPuzzle(puzzle, verdict, { again, next }) {
  $("puzzle").hidden = !puzzle;
  if (!puzzle) return;
  const said = !verdict ? make("p", {}, "…") : verdict.solved ? make("p", { class: "solved" }, "Solved: it checks, and it computes what was meant.") : make("p", { class: "not" }, ...worded(verdict.why));
  const hint = make("details", { open: $("puzzle").querySelector("details")?.open && $("puzzle").dataset.of === puzzle.name }, make("summary", {}, "A hint"), make("p", {}, ...worded(puzzle.hint)));
  $("puzzle").dataset.of = puzzle.name;
  $("puzzle").replaceChildren(make("h2", {}, puzzle.title), make("p", {}, ...worded(puzzle.words)), said, hint,
    make("div", { class: "acts" }, make("button", { type: "button", onclick: again }, "Begin again"), ...(verdict?.solved && next ? [make("button", { type: "button", class: "fix", onclick: next }, "Next puzzle")] : [])));
}
