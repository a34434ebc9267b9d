// Along wires: from the step that makes one to the step that reads it, past copies, and through the walls of open blocks.
const wiresOf = path => data.levels[numberOf(path)].wires[document.body.dataset.layout];
const numberOf = path => (path.includes("/") ? factOf(path).b : Number(path));
const wireAt = (path, wire) => figure.querySelector(`.level[data-path="${path}"] > .band > [data-w="${wire}"]`);

// Wires that a step makes (side 1) or reads (side 2), all or those of one of its results or operands. A wire goes on past steps
// that leave its axis alone: [axis, [[step, result] ..], [[step, operand] ..]].
const wiresAt = (path, side, step, place) => Object.entries(wiresOf(path))
  .filter(([, ends]) => ends[side].some(([s, p]) => s === step && (place === undefined || p === place))).map(([w]) => w);

// Whether an axis inside a block is this one outside.
function stands(inside, outside, fact) {
  const theirs = data.axes[inside].name, same = (fact.a || "").split(", ").map(pair => pair.split(" = ")).find(pair => pair[0] === theirs);
  return data.axes[outside].name === (same ? same[1] : theirs);
}

// The same wire in open blocks, and around them: [path, wire] of each piece.
function through(path, wire) {
  const found = [[path, wire]], known = new Set([`${path} ${wire}`]);
  for (const [at, w] of found) { // grows as it goes
    const [axis, made, read] = wiresOf(at)[w], steps = data.levels[numberOf(at)].steps;
    const add = (path, wires, fits) => wires.filter(w => axis !== null && wiresOf(path)[w][0] !== null && fits(wiresOf(path)[w][0])).forEach(w => {
      if (!known.has(`${path} ${w}`)) { known.add(`${path} ${w}`); found.push([path, w]); }
    });
    const into = (step, ends) => {
      const inner = `${at}/${step}`;
      if (state.open.has(inner)) data.levels[numberOf(inner)].steps.forEach((s, k) => add(inner, ends(inner, s, k), theirs => stands(theirs, axis, factOf(inner))));
    };
    for (const [step, operand] of read) into(step, (inner, s, k) => (!s.i.length && (steps[step].u[operand] || []).includes(s.n) ? wiresAt(inner, 1, k) : []));
    for (const [step, result] of made) into(step, (inner, s, k) => (s.o.length ? [] : wiresAt(inner, 2, k, result)));
    if (!at.includes("/")) continue;
    const outer = at.slice(0, at.lastIndexOf("/")), box = Number(at.slice(at.lastIndexOf("/") + 1)), fact = factOf(at), fits = ours => stands(axis, ours, fact);
    for (const [step] of made) if (!steps[step].i.length) fact.u.forEach((names, k) => names.includes(steps[step].n) && add(outer, wiresAt(outer, 2, box, k), fits));
    for (const [step, operand] of read) if (!steps[step].o.length) add(outer, wiresAt(outer, 1, box, operand), fits);
  }
  return found;
}

const holdWire = (path, wire, step) => hold({ ...aboutOf(wireAt(path, wire)), step: String(step) });

// From a wire on to the next step that reads it, or back to the step behind; past copies. by: 1 with the flow, -1 against it.
function along({ path, wire, step }, by) {
  const [axis, made, read] = wiresOf(path)[wire], end = by > 0 ? read.map(([s]) => s).find(s => s > step) : Number(step);
  if (end === undefined) return;
  if (data.levels[numberOf(path)].steps[end].q) {
    const next = wiresAt(path, by > 0 ? 1 : 2, end).find(w => wiresOf(path)[w][0] === axis);
    if (next === undefined) return;
    const from = by > 0 ? end : wiresOf(path)[next][1].map(([s]) => s).filter(s => s < end).pop();
    return next === wire ? along({ path, wire, step: from }, by) : holdWire(path, next, from);
  }
  const stop = stopAt(`${path}/${end}`);
  if (stop) stop.focus({ preventScroll: true });
}

// From a step to a wire that it makes (or reads, where it makes none, or `by` is -1); from a wire to the next beside it.
function across(held, by) {
  if (!held || held.step === undefined) return walk(by);
  const { path } = held, step = Number(held.step), made = wiresAt(path, 1, step), read = wiresAt(path, 2, step);
  if (held.wire !== undefined) {
    const all = made.includes(held.wire) ? made : read, next = all[all.indexOf(held.wire) + by];
    if (next !== undefined) return holdWire(path, next, step);
    const stop = stopAt(`${path}/${step}`); // past the last of them
    return stop && stop.focus({ preventScroll: true });
  }
  if (by > 0 && made.length) return holdWire(path, made[0], step);
  if (!read.length) return made.length ? holdWire(path, made[0], step) : walk(by);
  const from = wiresOf(path)[read[0]][1].map(([s]) => s).filter(s => s < step).pop();
  return holdWire(path, read[0], from);
}

// Which way a wire goes: arrows on it.
function arrows(g) {
  for (const line of g.querySelectorAll("path.l:not(.hit)")) {
    const long = line.getTotalLength();
    for (const part of long > 160 ? [0.25, 0.75] : long > 24 ? [0.5] : []) {
      const a = line.getPointAtLength(long * part - 1), b = line.getPointAtLength(long * part + 1);
      const turn = Math.atan2(b.y - a.y, b.x - a.x) * 180 / Math.PI;
      g.append(make("path", { class: "glow way", d: "M-5 -4L4 0L-5 4z", transform: `translate(${b.x} ${b.y}) rotate(${turn})` }));
    }
  }
}
