// The spec, the equations and the generated PyTorch, each piece of which knows the words of the spec that it comes from.
function specView() {
  const view = $("spec").querySelector(".view");
  data.sources.forEach(([name, text], source) => {
    const own = data.places.map((place, p) => [...place, p]).filter(place => place[0] === source).sort((a, b) => a[1] - b[1] || b[2] - a[2]);
    if (!own.length) return;
    view.append(make("h3", { html: 1 }, name));
    let start = 0;
    text.split("\n").forEach((line, k) => {
      const end = start + line.length;
      const here = own.filter(([, a, b]) => a < end && b > start && b > a).map(([, a, b, p]) => [Math.max(a, start), Math.min(b, end), p]);
      const row = make("div", { html: 1, class: "row", "data-ps": here.map(h => h[2]).join(" ") }, make("i", {}, String(k + 1)));
      row.append(...nested(text, start, end, here));
      view.append(row);
      start = end + 1;
    });
  });
}

// Text from `a` to `b`, with elements for the spans in it; a span that begins in another does not end behind it.
function nested(text, a, b, spans) {
  const out = [];
  while (spans.length) {
    const [from, to, place] = spans[0];
    let k = 1;
    while (k < spans.length && spans[k][0] < to) k++;
    if (from > a) out.push(text.slice(a, from));
    out.push(make("span", { "data-p": place }, ...nested(text, from, Math.min(to, b), spans.slice(1, k).map(([x, y, p]) => [x, Math.min(y, to), p]))));
    a = Math.min(to, b);
    spans = spans.slice(k);
  }
  if (a < b) out.push(text.slice(a, b));
  return out;
}

function equationView() {
  const view = $("equations").querySelector(".view");
  if (!data.equations.length) return $("equations").remove();
  for (const [name, rows] of data.equations) {
    view.append(make("h3", { html: 1 }, name));
    for (const row of rows) {
      const line = make("div");
      line.innerHTML = `<math displaystyle="true">${row}</math>`;
      view.append(line);
    }
  }
}

function codeView() {
  const view = $("code").querySelector(".view");
  if (!data.code.length) return $("code").remove();
  data.code.forEach(([text, places], k) => {
    view.append(make("div", { html: 1, class: "row", "data-ps": places.join(" "), "data-l": places.join(" ") }, make("i", {}, String(k + 1)), text));
  });
}

function axesView() {
  const table = make("table"), families = new Set();
  table.append(make("tr", {}, ...["axis", "kind", "size"].map(t => make("th", {}, t))));
  data.axes.forEach(({ name, label, kind, size, family }) => {
    if (families.has(family)) return;
    families.add(family);
    const row = make("tr", {}, make("td", {}, name + (label !== name ? ` (${label})` : "")), make("td", {}, kind));
    const cell = make("td", {});
    if (size !== null) cell.append(String(size));
    else {
      const input = make("input", { type: "number", min: 1, "aria-label": `size of ${name}`, placeholder: "?" });
      input.addEventListener("input", () => { if (input.value > 0) state.sizes[family] = Number(input.value); else delete state.sizes[family]; tell(state.held); });
      cell.append(input);
    }
    row.append(cell);
    table.append(row);
  });
  $("axes").querySelector(".view").append(table);
}
