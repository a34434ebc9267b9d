// Going through the computation, step by step, in the order in which it is done.
function walkable() {
  const seen = new Set(), found = [];
  for (const g of figure.querySelectorAll("[data-s]")) {
    const key = keyOf(g), fact = factOf(key);
    if (g.dataset.w !== undefined || seen.has(key) || fact.q) continue;
    seen.add(key);
    found.push({ g, key, order: key.split("/").map(Number) });
  }
  const before = (a, b) => { for (let k = 0; k < Math.max(a.length, b.length); k++) if (a[k] !== b[k]) return (a[k] ?? -1) - (b[k] ?? -1); return 0; };
  return found.sort((a, b) => before(a.order, b.order));
}

function walk(by) {
  const steps = walkable(), now = state.held && state.held.step !== undefined ? `${state.held.path}/${state.held.step}` : null;
  let at = steps.findIndex(s => s.key === now);
  at = by === "first" ? 0 : by === "last" ? steps.length - 1 : at < 0 ? (by > 0 ? 0 : steps.length - 1) : Math.max(0, Math.min(steps.length - 1, at + by));
  const { g, key } = steps[at];
  stopAt(key).focus({ preventScroll: true });
  hold(aboutOf(g));
  $("about").append(make("p", { html: 1, class: "count" }, `step ${at + 1} of ${steps.length}`));
  const own = g.getBoundingClientRect(), box = figure.getBoundingClientRect(), low = Math.min(box.bottom, innerHeight - 150);
  if (own.top < Math.max(box.top, 0) || own.bottom > low || own.left < box.left || own.right > box.right)
    g.scrollIntoView({ block: "center", inline: "center", behavior: still.matches ? "auto" : "smooth" });
}

function hold(what) {
  state.held = what;
  show(what);
  tell(what);
}
