// The four views are one: what is pointed at in one lights up in the others. `places` are numbers of words of the spec.
const ONES = {
  dash: "Here one tensor ends and the next begins.", shared: "These glyphs share their weights.", where: "A formula that the figure names.",
  note: "What is said beside the figure.", legend: "What the signs of the figure mean.", title: "The title.",
  inside: "The inside of a block: × closes it.",
};

// What an element speaks of: {places, part, wire, axis, said}, or null.
function aboutOf(element) {
  if (element.dataset && element.dataset.stop) return aboutOf(pieceOf(element.dataset.stop));
  const at = element.closest && element.closest("[data-s],[data-c],[data-p],[data-ps],[data-shut]");
  if (!at) return null;
  if (at.dataset.shut) return { places: [], box: at.dataset.shut };
  const places = at.dataset.ps !== undefined ? at.dataset.ps.split(" ").filter(Boolean).map(Number) : at.dataset.p !== undefined ? [Number(at.dataset.p)] : [];
  if (at.dataset.c) return { places, said: ONES[at.dataset.c] };
  const inner = at.dataset.s === undefined ? null : at.closest(".level");
  return { places, path: inner && inner.dataset.path, level: inner && Number(inner.dataset.level),
    step: inner ? at.dataset.s : undefined, wire: at.dataset.w, axis: at.dataset.a };
}

// Which places lie within a level, or within the levels of its boxes.
const within = data.levels.map(() => null);
function placesOf(number) {
  if (within[number] === null) {
    const found = within[number] = new Set();
    for (const fact of data.levels[number].steps) {
      if (fact.p !== undefined) found.add(fact.p);
      if (fact.b !== undefined) placesOf(fact.b).forEach(p => found.add(p));
    }
  }
  return within[number];
}

function dark() {
  document.querySelectorAll(".lit, .on, .dim").forEach(e => e.classList.remove("lit", "on", "dim"));
  figure.querySelectorAll(".glow").forEach(e => e.remove());
}

function show(what) {
  dark();
  if (!what) return;
  const wanted = new Set(what.places);
  if (what.wire !== undefined) {
    const own = new Set(through(what.path, what.wire).map(piece => piece.join(" ")));
    for (const g of figure.querySelectorAll("[data-w]")) {
      const lit = own.has(`${g.closest(".level").dataset.path} ${g.dataset.w}`);
      g.classList.add(lit ? "on" : "dim");
      if (lit) arrows(g);
    }
  }
  const found = new Map();
  for (const g of figure.querySelectorAll("[data-s]")) {
    const inner = g.closest(".level"), key = `${inner.dataset.path}/${g.dataset.s}`, wire = g.dataset.w !== undefined;
    const own = what.step !== undefined ? key === `${what.path}/${what.step}` : wanted.has(Number(g.dataset.p));
    const holds = what.step === undefined && g.dataset.box && !state.open.has(g.dataset.box) && [...placesOf(factOf(g.dataset.box).b)].some(p => wanted.has(p));
    if (!wire && (own || holds) && what.wire === undefined) found.set(key, [...(found.get(key) || []), g]);
    else if (wire && own && what.step === undefined) g.classList.add("on");
  }
  found.forEach(glow);
  for (const view of document.querySelectorAll(".view")) {
    let first = null;
    for (const e of view.querySelectorAll("[data-p], [data-l]")) {
      const own = e.dataset.l !== undefined ? e.dataset.l.split(" ").some(p => p && wanted.has(Number(p))) : wanted.has(Number(e.dataset.p));
      if (own) { e.classList.add("lit"); first ??= e; }
    }
    if (first && what.from !== view) reveal(view, first);
  }
}

// A frame around all pieces of one step.
function glow(pieces) {
  const rows = new Map();
  for (const g of pieces) {
    const { x, y, width, height } = g.getBBox(), row = rows.get(g.parentNode) || [x, y, x + width, y + height];
    rows.set(g.parentNode, [Math.min(row[0], x), Math.min(row[1], y), Math.max(row[2], x + width), Math.max(row[3], y + height)]);
  }
  rows.forEach(([a, b, c, d], row) => row.append(make("rect", { class: "glow", x: a - 3, y: b - 3, width: c - a + 6, height: d - b + 6, rx: 4 })));
}

function reveal(view, element) {
  const own = element.getBoundingClientRect(), box = view.getBoundingClientRect();
  if (own.top < box.top || own.bottom > box.bottom) view.scrollTop += own.top - box.top - box.height / 3;
  if (own.left < box.left || own.left > box.right - 40) view.scrollLeft += own.left - box.left - 40;
}
