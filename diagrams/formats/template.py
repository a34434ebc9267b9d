"""The HTML page around a figure: its style and script. It loads nothing from the network."""

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>@TITLE@</title>
<style>
:root { color-scheme: light; }
body { margin: 0; font: 15px/1.45 system-ui, sans-serif; color: #1a1a1a; background: #fff; }
main { display: grid; grid-template-columns: minmax(0, 3fr) minmax(16rem, 1fr); gap: 1rem; padding: 1rem; }
h1 { font-size: 1.1rem; margin: 0 0 .4rem; }
#figure { overflow: auto; }
#figure svg { width: 100%; height: auto; max-height: 92vh; }
#figure .wire path { transition: stroke-width .1s; }
#figure .lit path { stroke-width: 3; }
#figure .dim { opacity: .28; }
#figure [data-block] { cursor: pointer; }
#figure [data-block]:focus-visible { outline: 2px solid #0072b2; outline-offset: 2px; }
aside { border-left: 1px solid #ddd; padding-left: 1rem; min-width: 0; }
#about { min-height: 5.5em; } #about dt { color: #555; float: left; clear: left; width: 4.5em; }
#about dd { margin: 0 0 0 4.8em; }
#blocks button { margin: 0 .3rem .3rem 0; font: inherit; border: 1px solid #999; background: #fff; border-radius: 3px; }
#blocks button[aria-pressed=true] { background: #e2f0f8; }
pre { overflow: auto; max-height: 60vh; font: 12px/1.5 ui-monospace, monospace; margin: .4rem 0 0; }
pre span { display: block; padding: 0 .3rem; } pre .here { background: #fff3c9; }
.keys { color: #555; font-size: .85rem; }
@media (max-width: 60rem) { main { grid-template-columns: 1fr; } aside { border: 0; padding: 0; } }
</style>
<main>
<section aria-label="diagram">
<h1>@TITLE@</h1>
<div id="figure"></div>
</section>
<aside>
<div id="blocks" role="group" aria-label="open or close a block"></div>
<p class="keys">Point at a wire or a glyph. Click a block, or press Tab and Enter, to open or close it;
<kbd>[</kbd> and <kbd>]</kbd> go through the levels, <kbd>0</kbd> goes back.</p>
<dl id="about" aria-live="polite"></dl>
<div id="file"></div>
<pre id="source" tabindex="0" aria-label="source"></pre>
</aside>
</main>
<script id="data" type="application/json">@DATA@</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const figure = document.getElementById("figure"), about = document.getElementById("about");
const source = document.getElementById("source"), file = document.getElementById("file");
const blocks = document.getElementById("blocks");
let level = data.levels[0], shown = null;

function key(state) { return [...state].sort().join(","); }
function find(state) { return data.levels.find(l => key(l.state) === key(state)); }

function say(pairs, line) {
  about.replaceChildren();
  for (const [name, value] of pairs) {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = name; dd.textContent = value; about.append(dt, dd);
  }
  point(line);
}

function point(line) {
  if (!line) return;
  const [name, number] = line;
  if (shown !== name) {
    shown = name; file.textContent = name; source.replaceChildren();
    (data.sources[name] || []).forEach((text, i) => {
      const row = document.createElement("span");
      row.textContent = String(i + 1).padStart(4) + "  " + text; source.append(row);
    });
  }
  for (const row of source.children) row.className = "";
  const row = source.children[number - 1];
  if (row) { row.className = "here"; source.scrollTop = row.offsetTop - source.offsetTop - source.clientHeight / 2; }
}

function clear() { for (const g of figure.querySelectorAll(".lit, .dim")) g.classList.remove("lit", "dim"); }

function wireOf(g) { const m = /(?:^| )w([0-9]+)(?: |$)/.exec(g.getAttribute("class") || ""); return m && m[1]; }

function hover(g) {
  clear();
  const number = wireOf(g);
  if (number !== null) {
    const wire = level.wires[number];
    for (const other of figure.querySelectorAll("g.wire"))
      other.classList.add(wireOf(other) === number ? "lit" : "dim");
    if (!wire) return;
    const axis = level.axes[wire.axis];
    say([["axis", wire.axis + (axis.label !== wire.axis ? " (" + axis.label + ")" : "")], ["kind", axis.kind],
         ["size", String(axis.size)], ["from", wire.from]], wire.line || axis.line);
    return;
  }
  const op = level.ops[((g.id || "").match(/^op[0-9]+_[0-9]+/) || [""])[0]];
  if (op) say([["glyph", op.tip]], op.line);
}

function toggle(name) {
  const state = new Set(level.state);
  if (state.has(name)) state.delete(name); else state.add(name);
  show(find(state) || find([name]) || data.levels[0], name);
}

function show(next, focus) {
  level = next;
  const parsed = new DOMParser().parseFromString(level.svg, "image/svg+xml").documentElement;
  figure.replaceChildren(document.importNode(parsed, true));
  for (const g of figure.querySelectorAll("title")) g.remove();
  for (const a of figure.querySelectorAll("a"))
    for (const name of ["xlink:title", "xlink:href", "title"]) a.removeAttribute(name);
  for (const g of figure.querySelectorAll("g")) {
    const cls = g.getAttribute("class") || "", block = /(?:^| )block-([A-Za-z0-9_]+)/.exec(cls);
    if (/(?:^| )(wire|op)(?: |$)/.test(cls)) g.addEventListener("pointerenter", () => hover(g));
    if (/(?:^| )wire(?: |$)/.test(cls)) g.addEventListener("pointerleave", clear);
    if (block && data.blocks.includes(block[1])) {
      g.dataset.block = block[1];
      g.setAttribute("tabindex", "0"); g.setAttribute("role", "button");
      g.setAttribute("aria-label", "open or close " + block[1]);
      g.addEventListener("click", event => { event.stopPropagation(); toggle(block[1]); });
      g.addEventListener("keydown", event => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(block[1]); }
      });
    }
  }
  for (const button of blocks.children) button.setAttribute("aria-pressed", level.state.includes(button.value));
  const again = focus && figure.querySelector('[data-block="' + focus + '"]');
  if (again) again.focus();
  document.body.dataset.level = key(level.state);
}

for (const name of data.blocks) {
  const button = document.createElement("button");
  button.type = "button"; button.value = name; button.textContent = name;
  button.addEventListener("click", () => toggle(name));
  blocks.append(button);
}
document.addEventListener("keydown", event => {
  const at = data.levels.indexOf(level), count = data.levels.length;
  if (event.key === "]") show(data.levels[(at + 1) % count]);
  else if (event.key === "[") show(data.levels[(at + count - 1) % count]);
  else if (event.key === "0") show(data.levels[0]);
});
show(level);
const first = Object.values(level.ops).find(op => op.line);
if (first) point(first.line);
</script>
</html>
"""
