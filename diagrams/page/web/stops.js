// What a screen reader finds in the figure: its steps in the order of the computation, by name, each with a place of its own.
// The drawing itself says nothing to it. Tab goes from block to block, arrow keys from step to step.
function stops(svg) {
  const group = make("g", { class: "stops" }), from = svg.getBoundingClientRect(), unit = svg.getScreenCTM().a, frames = new Map();
  for (const g of figure.querySelectorAll("[data-s]:not([data-w])")) {
    const { left, top, right, bottom } = g.getBoundingClientRect(), key = keyOf(g), [a, b, c, d] = frames.get(key) || [left, top, right, bottom];
    frames.set(key, [Math.min(a, left), Math.min(b, top), Math.max(c, right), Math.max(d, bottom)]);
  }
  for (const { g, key } of walkable()) {
    const what = aboutOf(g), block = factOf(key).b !== undefined, [a, b, c, d] = frames.get(key);
    group.append(make("rect", { x: (a - from.left) / unit, y: (b - from.top) / unit, width: (c - a) / unit, height: (d - b) / unit,
      "data-stop": key, role: block ? "button" : "img", "aria-label": linesOf(what).slice(0, 3).join("; "), tabindex: block ? 0 : -1,
      ...(block ? { "aria-expanded": state.open.has(key) } : {}) }));
  }
  svg.append(group);
}

const keyOf = g => `${g.closest(".level").dataset.path}/${g.dataset.s}`;
const stopAt = key => figure.querySelector(`[data-stop="${key}"]`);
const focused = () => (figure.contains(document.activeElement) ? document.activeElement.dataset.stop : undefined);

// The pieces of the step that a stop stands for.
const pieceOf = key => [...figure.querySelectorAll("[data-s]:not([data-w])")].find(g => keyOf(g) === key);

figure.addEventListener("focusin", event => {
  const key = event.target.dataset.stop;
  if (key && !(state.held && state.held.wire === undefined && `${state.held.path}/${state.held.step}` === key)) hold(aboutOf(event.target));
});
