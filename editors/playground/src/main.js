// What the page does: a change is checked at once by one Python; figures and code are made by another meanwhile.
import { makeEditor } from "./editor.js";
import { $, save } from "./elements.js";
import { BadLink, fromFragment, toFragment } from "./link.js";
import { showMistakes } from "./mistakes.js";
import { keepSolved, listPuzzles, showPuzzle, signature } from "./puzzles.js";
import { Python } from "./python.js";
import { isMade, isShown, keep, partText, showPart, stale, waits } from "./results.js";
import { showSees } from "./sees.js";

const QUIET = 40, CALM = 350; // milliseconds after the last key: until a check, until figures
const DRAFT = "attnc-draft", FIRST = "examples/attentions/grouped_query.attn";
const checker = new Python(10), maker = new Python(90, true);
const [examples, puzzles] = await Promise.all(["examples.json", "puzzles.json"].map(async name => (await fetch(name)).json()));
const now = { part: "figure", name: "", names: [], wrong: false, puzzle: null, verdict: null, checked: null, linked: null };
const editor = makeEditor($("editor"), changed);
let quiet = 0, calm = 0;

function say(text, kind = "", where = $("state")) {
  where.textContent = text;
  where.className = kind;
}

// What Share and the download answer stays until the text is another one, whatever checks and figures say meanwhile.
const reply = (text, kind = "") => say(text, kind, $("reply"));

function changed(text) {
  clearTimeout(quiet);
  clearTimeout(calm);
  reply("");
  stale(true);
  quiet = setTimeout(() => check(text), QUIET);
  const chosen = examples.find(each => each.name === $("examples").value);
  if (chosen && chosen.text !== text) $("examples").value = "";
  if (text === now.linked) return; // what a link brought takes the place of a draft once it is changed
  if (now.linked !== null) history.replaceState(null, "", location.pathname + location.search);
  now.linked = null;
  try { if (!now.puzzle) localStorage.setItem(DRAFT, text); } catch { /* a browser that keeps nothing */ }
}

async function check(text) {
  if (!checker.ready) say("Starting Python …");
  const begun = performance.now();
  let answer;
  try {
    answer = await checker.ask({ ask: "check", text });
  } catch (problem) {
    return say(`attnc could not check this: ${problem.message}`, "wrong");
  }
  if (!answer || text !== editor.text()) return;
  maker.start();
  Object.assign(now, { wrong: answer.wrong, names: answer.names, checked: text });
  editor.show(answer.found);
  showMistakes(answer.found, { go: from => editor.go(from), apply: edits => editor.apply(edits), mend, explain });
  chooseName();
  const errors = answer.found.filter(each => each.severity === "error").length, others = answer.found.length - errors;
  const counts = [errors && `${errors} mistake${errors > 1 ? "s" : ""}`, others && `${others} warning${others > 1 ? "s" : ""}`].filter(Boolean).join(", ");
  now.told = `${counts || "It checks."}${errors && isShown() ? ": beside is the last that was right." : ""}`;
  say(now.told, errors ? "wrong" : "right");
  waits(errors ? "It appears here as soon as the spec checks." : now.name ? "It is being made." : "There is no block or model yet, of which it could be made.");
  document.body.dataset.checked = Math.round(performance.now() - begun);
  calm = setTimeout(results, CALM);
}

function chooseName() {
  const { names } = now;
  if (!names.includes(now.name)) now.name = names[0] ?? "";
  if ([...$("names").options].map(one => one.value).join() !== names.join()) $("names").replaceChildren(...names.map(name => new Option(name)));
  $("names").value = now.name;
  $("choice").hidden = names.length < 2;
}

// What is on show of a right text, and the verdict on a puzzle.
async function results() {
  const { checked: text, name, part, puzzle } = now;
  if (text !== editor.text()) return;
  if (puzzle) judge(text, puzzle);
  if (now.wrong || !name || part === "sees") return;
  if (!maker.ready) say("Checked. Starting a second Python, which draws …", "right");
  else if (!isMade(part, `${name}\n${text}`)) say("Checked. Making this …", "right");
  const of = `${name}\n${text}`;
  if (!isMade(part, of)) {
    stale(true);
    try {
      const answer = await maker.ask({ ask: "part", text, name, part });
      if (!answer) return;
      keep(part, of, answer.text, name);
    } catch (problem) {
      waits("It could not be made.");
      return say(`attnc could not make this: ${problem.message}`, "wrong");
    }
  }
  if (text === editor.text() && part === now.part && name === now.name) {
    stale(false);
    showPart(part);
    say(now.told, "right");
  }
}

async function judge(text, puzzle) {
  const verdict = await maker.ask({ ask: "judge", text, puzzle: puzzle.file }).catch(problem => ({ solved: false, why: problem.message, views: null }));
  if (!verdict || now.puzzle !== puzzle || text !== editor.text()) return;
  now.verdict = verdict;
  showSees(verdict.views);
  if (verdict.solved) keepSolved(puzzle.name);
  listPuzzles(puzzles);
  tellPuzzle();
}

function tellPuzzle() {
  const next = puzzles[puzzles.indexOf(now.puzzle) + 1];
  showPuzzle(now.puzzle, now.verdict, { again: () => openPuzzle(now.puzzle), next: next && (() => openPuzzle(next)) });
}

function openPuzzle(puzzle) {
  Object.assign(now, { puzzle, verdict: null });
  document.querySelector("[data-part=sees]").hidden = !puzzle;
  $("puzzles").value = puzzle?.name ?? "";
  tellPuzzle();
  if (puzzle) {
    $("examples").value = "";
    editor.replace(puzzle.start);
    editor.lock(signature(puzzle.start, puzzle.model));
    showSees(null);
    openPart("sees");
  } else if (now.part === "sees") openPart("figure");
}

function openPart(part) {
  now.part = part;
  showPart(part);
  results();
}

// The text as the checker changes it; where the text stays as it is, `same` says why that may be.
async function change(ask, same) {
  const text = editor.text(), answer = await checker.ask({ ask, text }).catch(problem => reply(`attnc could not do this: ${problem.message}`, "wrong"));
  if (!answer || text !== editor.text()) return;
  if (answer.text === text) reply(same);
  else if (!editor.rewrite(answer.text)) reply("It would change what is locked.");
}

const mend = () => change("mend", "Nothing could be mended: one fix at a time, please.");

async function explain(code) {
  const answer = await checker.ask({ ask: "explain", code }).catch(() => null);
  if (!answer?.text) return;
  $("page").querySelector("pre").textContent = answer.text;
  $("page").showModal();
}

const tabs = [...document.querySelectorAll("#parts [role=tab]")];
for (const tab of tabs) tab.addEventListener("click", () => openPart(tab.dataset.part));
document.querySelector("#parts [role=tablist]").addEventListener("keydown", ({ key }) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[key], shown = tabs.filter(tab => !tab.hidden);
  if (!step) return;
  const next = shown[(shown.findIndex(tab => tab.dataset.part === now.part) + step + shown.length) % shown.length];
  next.focus();
  next.click();
});
$("names").addEventListener("change", () => { now.name = $("names").value; results(); });
$("copy").addEventListener("click", async () => {
  const copied = await navigator.clipboard?.writeText(partText(now.part)).then(() => true, () => false);
  reply(copied ? "Copied." : "This browser lets no page copy: mark the text instead.", copied ? "right" : "wrong");
});
$("examples").addEventListener("change", () => {
  const found = examples.find(each => each.name === $("examples").value);
  if (!found) return;
  openPuzzle(null);
  now.name = "";
  editor.replace(found.text);
});
$("puzzles").addEventListener("change", () => openPuzzle(puzzles.find(each => each.name === $("puzzles").value) ?? null));
$("format").addEventListener("click", () => {
  if (now.puzzle) return reply("A puzzle is not formatted: its signature is locked.");
  change("format", now.wrong ? "It stays as it is: what does not parse has no other form." : "It has this form already.");
});
$("share").addEventListener("click", async () => {
  try {
    const text = editor.text(), fragment = await toFragment(text);
    history.replaceState(null, "", fragment);
    if (text === editor.text()) now.linked = text;
  } catch (problem) {
    return reply(problem.message, "wrong");
  }
  const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
  reply(copied ? "The link is copied: it holds the whole spec, and no server sees it." : "The address of this page is the link now: it holds the whole spec.", "right");
});
$("bundle").addEventListener("click", async () => {
  if (now.wrong || !now.name) return reply("A figure for a paper takes a spec that checks.", "wrong");
  reply("Drawing …");
  const answer = await maker.ask({ ask: "bundle", text: editor.text(), name: now.name }).catch(problem => ({ problem: problem.message }));
  if (!answer?.zip) return reply(answer?.problem ?? "", "wrong");
  save(`${now.name}.zip`, Uint8Array.from(atob(answer.zip), character => character.charCodeAt(0)));
  reply("Saved. In Overleaf: New project, Upload project. The equations and the figure are files of their own.", "right");
});

async function open() {
  let wrong = "";
  try {
    const linked = await fromFragment(location.hash);
    if (linked !== null) {
      now.linked = linked;
      return editor.replace(linked);
    }
  } catch (problem) {
    if (!(problem instanceof BadLink)) throw problem;
    wrong = problem.message;
    history.replaceState(null, "", location.pathname + location.search);
  }
  let draft = null;
  try { draft = localStorage.getItem(DRAFT); } catch { /* a browser that keeps nothing */ }
  editor.replace(draft || (examples.find(each => each.name === FIRST) ?? examples[0]).text);
  reply(wrong, "wrong");
}

for (const group of new Set(examples.map(each => each.group))) {
  const found = document.createElement("optgroup");
  found.label = group;
  found.append(...examples.filter(each => each.group === group).map(each => new Option(each.title, each.name)));
  $("examples").append(found);
}
listPuzzles(puzzles);
addEventListener("hashchange", () => { openPuzzle(null); open(); });
checker.start();
await open();
showPart(now.part);
if ("serviceWorker" in navigator) navigator.serviceWorker.register("offline.js").catch(() => {});
