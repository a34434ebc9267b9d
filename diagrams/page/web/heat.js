// At a step whose value a run has given: a map for each head, and the number under the pointer.
function mapsOf(what) {
  const facts = what && what.step !== undefined && data.levels[what.level].steps[what.step];
  if (!facts || !(facts.n || facts.l) || !data.heat.length) return [];
  const steps = what.path.split("/"), around = [];
  let number = Number(steps[0]);
  for (const step of steps.slice(1)) {
    const box = data.levels[number].steps[step];
    around.push(...(box.r || []), box.k);
    number = box.b;
  }
  around.push(...(facts.r || []));
  const inside = data.heat.map(one => ({ one, parts: one.full.split(".") })).map(({ one, parts }) => ({ one, last: parts.pop(), parts }))
    .filter(({ parts }) => leads(parts, around));
  const numbered = inside.filter(({ last }) => last === facts.l); // of several values of one name in a body
  return (numbered.length ? numbered : inside.filter(({ last }) => (facts.n || facts.l.split(":")[0]).split(", ").includes(last.split(":")[0]))).map(({ one }) => one);
}

// Whether a path leads through these blocks and repeats, and no others: of each the parts of its name, with its number among those
// of one name (`attend:2`), which a path may have; a model in a model has no name. No path leads into a scan.
function leads(parts, around) {
  const named = (at, part) => around[at] && around[at].some(name => name === part || name.split(":")[0] === part), nameless = at => named(at, "");
  let at = -1;
  for (const part of parts) {
    if (/^\d+$/.test(part)) continue;
    let next = at + 1;
    while (nameless(next)) next += 1;
    if (named(next, part)) at = next;
    else if (!named(at, part)) return false; // a name may have several parts
  }
  return around.every((_, k) => k <= at || nameless(k));
}

function heatOf(what) {
  const maps = mapsOf(what);
  if (!maps.length) return;
  const pick = make("select", { "aria-label": "which pass" }), heads = make("div", { class: "heads" }), said = make("p", {}, `rows ${maps[0].rows.join(", ")}, columns ${maps[0].columns.join(", ")}`);
  maps.forEach(({ path }, k) => pick.append(make("option", { value: k }, path)));
  const show = () => heads.replaceChildren(...maps[pick.value].values.map((rows, h) => canvas(rows, maps[pick.value].heads[h], said)));
  pick.addEventListener("change", show);
  $("about").append(pick, heads, said);
  show();
}

function canvas(rows, name, said) {
  const high = rows.length, wide = rows[0].length, shown = make("canvas", { width: wide, height: high, role: "img", "aria-label": `${name}: ${high} by ${wide} numbers` });
  const most = Math.max(...rows.flat().filter(Number.isFinite)), least = Math.min(0, ...rows.flat().filter(Number.isFinite));
  const pen = shown.getContext("2d"), pixels = pen.createImageData(wide, high);
  rows.flat().forEach((x, k) => {
    const part = most > least ? (x - least) / (most - least) : 0;
    pixels.data.set([255 - 255 * part, 250 - 136 * part, 245 - 67 * part, 255], 4 * k);
  });
  pen.putImageData(pixels, 0, 0);
  shown.addEventListener("pointermove", event => {
    const box = shown.getBoundingClientRect(), i = Math.min(high - 1, Math.max(0, Math.floor((event.clientY - box.top) / box.height * high))), j = Math.min(wide - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * wide)));
    said.textContent = `${name} row ${i}, column ${j}: ${rows[i][j]}`;
  });
  return shown;
}

// The sizes of the run are the real ones.
for (const { rows, columns, values } of data.heat)
  for (const [names, size] of [[rows, values[0].length], [columns, values[0][0].length]])
    if (names.length === 1) for (const { name, family } of data.axes) if (name === names[0]) state.sizes[family] = size;
