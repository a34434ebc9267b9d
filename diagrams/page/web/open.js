// Blocks open and close in place: what stays moves to where it belongs, and what is new grows out of its box.
function places() {
  const found = new Map();
  for (const g of figure.querySelectorAll("[data-key]")) found.set(g.dataset.key, g.getBoundingClientRect());
  return found;
}

function change(alter, anchor) {
  const before = places(), box = anchor && partAt(anchor), held = box && box.getBoundingClientRect();
  alter();
  draw();
  show(state.held);
  const again = held && partAt(anchor);
  if (again) {
    const now = again.getBoundingClientRect();
    figure.scrollBy(now.left - held.left, now.top - held.top);
  }
  if (still.matches) return;
  const unit = figure.querySelector("svg").getScreenCTM().a, after = places();
  for (const g of figure.querySelectorAll("[data-key]")) {
    const was = before.get(g.dataset.key), outer = g.parentNode.closest("[data-key]");
    if (outer && !before.has(outer.dataset.key)) continue;
    const base = g.getAttribute("transform").replace(/(-?[\d.]+(?:e-?\d+)?) (-?[\d.]+(?:e-?\d+)?)/, "$1px,$2px");
    const timing = { duration: 260, easing: "cubic-bezier(.3,0,.2,1)" };
    if (!was) {
      g.animate([{ opacity: 0, transform: `${base} scale(1,.6)` }, { opacity: 1, transform: base }], timing);
      continue;
    }
    const now = after.get(g.dataset.key), moved = (was.top - now.top) / unit;
    if (!outer && Math.abs(moved) > .5) g.animate([{ transform: `${base} translate(0px,${moved}px)` }, { transform: base }], timing);
  }
}

const partAt = path => figure.querySelector(`[data-box="${path}"]`);

function toggle(path) {
  change(() => {
    if (!state.open.delete(path)) state.open.add(path);
    else for (const other of [...state.open]) if (other.startsWith(path + "/")) state.open.delete(other);
  }, path);
  const fact = factOf(path);
  say(`${fact.h || fact.t} ${state.open.has(path) ? "is open" : "is closed"}`);
}

function factOf(path) {
  let facts = null, number = null;
  path.split("/").forEach((part, k) => {
    facts = k ? data.levels[number].steps[part] : null;
    number = k ? facts.b : Number(part);
  });
  return facts;
}

// Every box that is on show and closed is opened; or every open block with none open in it is closed.
function openLevel() {
  change(() => figure.querySelectorAll("[data-box]").forEach(box => state.open.add(box.dataset.box)));
}

function closeLevel() {
  const all = [...state.open];
  change(() => all.forEach(path => { if (!all.some(other => other.startsWith(path + "/"))) state.open.delete(path); }));
}

// Blocks of these names that are on show, and those in them.
function openNamed(names) {
  for (let last = -1; last !== state.open.size;) {
    last = state.open.size;
    draw();
    for (const box of figure.querySelectorAll("[data-box]"))
      if (names.includes(data.levels[factOf(box.dataset.box).b].name)) state.open.add(box.dataset.box);
  }
  draw();
}
