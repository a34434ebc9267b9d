// What answers to pointer, touch and keys; then the page is drawn.
const BUTTONS = [
  ["‹", "the step before", () => walk(-1)], ["›", "the next step", () => walk(1)],
  ["open all", "open every block on show", openLevel], ["close", "close the innermost blocks", closeLevel],
  ["overview", "all blocks as boxes, or as they are by themselves", overview],
  ["−", "smaller", () => zoom(state.zoom / 1.25)], ["+", "larger", () => zoom(state.zoom * 1.25)], ["fit", "as large as the window", () => zoom(1)],
  ["dark", "dark or light", mode], ["SVG", "save this state as SVG", saveSvg], ["PDF", "print this state", () => print()], ["TikZ", "the command that makes it", tikz],
];

function overview() {
  if (data.folded === null) return say("Nothing here is drawn in line: every block is a box already.");
  change(() => { state.root = state.root === data.root ? data.folded : data.root; state.open.clear(); state.held = null; });
}

function mode() {
  const dark = document.documentElement.dataset.mode ? document.documentElement.dataset.mode === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.mode = dark ? "light" : "dark";
}

function press(key) {
  const { held } = state, box = held && held.step !== undefined && held.wire === undefined && data.levels[held.level].steps[held.step].b !== undefined ? `${held.path}/${held.step}` : null;
  const keys = {
    ArrowRight: () => (held && held.wire !== undefined ? along(held, 1) : walk(1)), ArrowLeft: () => (held && held.wire !== undefined ? along(held, -1) : walk(-1)),
    ArrowDown: () => across(held, 1), ArrowUp: () => across(held, -1), Home: () => walk("first"), End: () => walk("last"),
    "]": openLevel, "[": closeLevel, "+": () => zoom(state.zoom * 1.25), "=": () => zoom(state.zoom * 1.25), "-": () => zoom(state.zoom / 1.25), "0": () => zoom(1),
    Escape: () => { hold(null); figure.focus({ preventScroll: true }); }, Enter: box && (() => toggle(box)), " ": box && (() => toggle(box)),
  };
  return keys[key];
}

// Only a pointer that moves points: what comes to lie under one at rest, as keys scroll the figure, is not meant.
let rest = null, over = null, told = false; // where it is ("?": keys came before it), upon what it moved last, and whether that says something
addEventListener("keydown", event => {
  if (event.target !== document.body && !figure.contains(event.target)) return; // at once: nothing need be clicked first
  rest ??= "?";
  const act = !event.ctrlKey && !event.metaKey && !event.altKey && press(event.key);
  if (act) { event.preventDefault(); act(); }
});
function point(target) {
  const what = target && aboutOf(target), left = told;
  over = target;
  told = Boolean(what) && !what.box;
  if (told) { what.from = target.closest(".view"); show(what); tell(what); } else if (left) { show(state.held); tell(state.held); }
}
document.addEventListener("pointermove", event => {
  const at = `${event.clientX} ${event.clientY}`, moved = rest !== at && rest !== "?";
  if (event.pointerType === "touch") return;
  rest = at;
  if (moved && event.target !== over) point(event.target);
});
document.documentElement.addEventListener("pointerleave", event => { if (event.pointerType !== "touch") point(null); });
document.addEventListener("click", event => {
  if (event.target.closest("button, summary, input, a")) return;
  if (event.target.dataset.stop) return event.target.focus(), press("Enter")?.(); // by a screen reader: the pointer does not meet it
  const what = aboutOf(event.target), g = event.target.closest("[data-box]");
  if (what && what.box) return toggle(what.box);
  if (!what) { if (event.target.closest("#figure")) hold(null); return; }
  what.from = event.target.closest(".view");
  hold(what);
  if (g) { toggle(g.dataset.box); show(state.held); }
});

for (const [text, title, act] of BUTTONS) {
  const button = make("button", { type: "button", title, "aria-label": title }, text);
  button.addEventListener("click", act);
  $("tools").append(button);
}
specView();
equationView();
codeView();
axesView();
$("words").append(...data.words.map(line => make("p", {}, line)));
openNamed(data.open);
tell(null);
let wide = figure.clientWidth;
new ResizeObserver(() => { if (figure.clientWidth !== wide) { wide = figure.clientWidth; draw(); show(state.held); } }).observe(figure);
