// The figure: levels are drawn once, and put together here, an open block beneath the row in which its box stands.
const PAD = 9, HEAD = 20;

// The layout whose letters are large enough in the window, for the figure and all open blocks, and how large a point of it is then.
function fitting() {
  const room = Math.max(200, figure.clientWidth - 4), least = room < 500 ? 10.5 : 12.5;
  const shown = [[state.root, 1], ...[...state.open].map(path => [numberOf(path), path.split("/").length])];
  const widest = at => Math.max(...shown.map(([n, deep]) => {
    const d = data.drawings[data.levels[n].drawn[at]];
    return d.x[1] - d.x[0] + 2 * PAD * deep;
  }));
  const layouts = data.levels[state.root].drawn.map((_, at) => widest(at)), found = layouts.findIndex(wide => room / wide * 12 >= least);
  const at = found < 0 ? layouts.length - 1 : found, unit = Math.max(Math.min(room / layouts[at], 1.9), least / 12 * .9);
  return { at, wide: Math.max(layouts[at], room / unit), unit };
}

function level(number, path, at, wide) {
  const facts = data.levels[number], d = data.drawings[facts.drawn[at]];
  const g = make("g", { class: "level", "data-level": number, "data-path": path });
  let y = 0, width = d.x[1] - d.x[0];
  d.rows.forEach(([top, low, svg], r) => {
    const row = make("g", { class: "band", "data-key": `${path}:${r}`, transform: `translate(${-d.x[0]} ${y - top})` });
    row.innerHTML = svg;
    for (const part of row.querySelectorAll("[data-s], [data-w]")) mark(part, facts, facts.wires[at], path);
    g.append(row);
    y += low - top;
    for (const [step, box] of Object.entries(d.boxes)) {
      const own = `${path}/${step}`, fact = facts.steps[step];
      if (box[4] !== r || fact.b === undefined || !state.open.has(own)) continue;
      const inner = room(fact, own, box, { x: -d.x[0], y: y - low }, at, wide, y + 10);
      g.insertBefore(inner.lens, g.firstChild);
      g.append(inner.g);
      y += inner.high + 20;
      width = Math.max(width, inner.right);
    }
  });
  return { g, wide: width, high: y };
}

// An open block: its level in a tinted room as wide as the window, tied to its box.
function room(fact, path, box, move, at, wide, y) {
  const inner = level(fact.b, path, at, wide - 2 * PAD);
  const shrink = Math.min(1, (wide - 2 * PAD) / inner.wide), long = inner.wide * shrink + 2 * PAD;
  const middle = (box[0] + box[2]) / 2 + move.x, x = Math.max(0, Math.min(middle - long / 2, wide - long));
  const high = inner.high * shrink + HEAD + PAD;
  const g = make("g", { class: "inset", "data-key": path, transform: `translate(0 ${y})` });
  g.append(make("rect", { class: `room f${fact.c}`, "data-c": "inside", width: wide, height: high, rx: 6 }));
  const name = make("text", { class: "name", "data-c": "inside", x: PAD, y: 15, "font-size": 12.5 }, fact.h + (label(fact) ? ` (${label(fact)})` : ""));
  const shut = make("text", { class: "shut", x: wide - 12, y: 15, "font-size": 15, "data-shut": path }, "×");
  g.append(name, shut);
  if (fact.a) g.append(make("text", { class: "same", "data-c": "inside", x: PAD + 12 + 7 * name.textContent.length, y: 15, "font-size": 11 }, fact.a));
  inner.g.setAttribute("transform", `translate(${x + PAD} ${HEAD}) scale(${shrink})`);
  g.append(inner.g);
  const [a, b, low] = [box[0] + move.x, box[2] + move.x, box[3] + move.y];
  const lens = make("path", { class: `lens f${fact.c}`, d: `M${a} ${low}L${b} ${low}L${wide} ${y + 4}L0 ${y + 4}Z` });
  return { g, lens, high, right: wide };
}

const label = fact => { const words = fact.t.split(" "); return words.length > 1 && words[1] !== words[0] ? words[1] : ""; };

// What a piece of the figure speaks of.
function mark(part, facts, wires, path) {
  const ends = wires[part.dataset.w];
  if (ends) part.dataset.s = ends[1][0][0];
  const fact = facts.steps[part.dataset.s];
  if (fact.p !== undefined) part.dataset.p = fact.p;
  if (ends) {
    if (ends[0] !== null) part.dataset.a = ends[0];
    for (const path of [...part.querySelectorAll("path")]) {
      const hit = path.cloneNode();
      hit.setAttribute("class", "hit");
      part.append(hit);
    }
  } else if (fact.b !== undefined) part.dataset.box = `${path}/${part.dataset.s}`;
}

function draw() {
  const fit = fitting(), made = level(state.root, String(state.root), fit.at, fit.wide - 2 * PAD);
  const wide = Math.max(fit.wide, made.wide + 2 * PAD), high = made.high + 2 * PAD, unit = fit.unit * state.zoom;
  const svg = make("svg", { xmlns: SVG, role: "group", "aria-labelledby": "name description",
    viewBox: `0 0 ${wide} ${high}`, width: Math.round(wide * unit), height: Math.round(high * unit) });
  svg.append(make("title", { id: "name" }, data.name), make("desc", { id: "description" }, data.words.join(" ")));
  made.g.setAttribute("aria-hidden", "true");
  made.g.setAttribute("transform", `translate(${PAD + Math.max(0, (fit.wide - 2 * PAD - made.wide) / 2)} ${PAD})`);
  svg.append(made.g);
  svg.querySelectorAll("title").forEach(t => { if (t.id !== "name") t.remove(); });
  const key = focused();
  figure.replaceChildren(svg);
  stops(svg);
  if (key) (stopAt(key) || figure).focus({ preventScroll: true });
  document.body.dataset.open = [...state.open].sort().join(" ");
  document.body.dataset.layout = fit.at;
}
