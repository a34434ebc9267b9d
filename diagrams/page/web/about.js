// Beside the figure: what is pointed at, in words.
function say(...lines) {
  $("about").replaceChildren(...lines.filter(Boolean).map((line, k) => make(k ? "p" : "b", { html: 1 }, line)));
}

function tell(what) {
  if (!what) return say(data.name, "Point at anything in the figure, the equations, the spec or the code.");
  if (what.said) return say(what.said);
  const facts = what.step === undefined ? null : data.levels[what.level].steps[what.step];
  if (what.axis !== undefined) {
    const { name, label, kind } = data.axes[what.axis], size = sizeOf(what.axis, what.path || "");
    return say(`axis ${name}` + (label !== name ? ` (${label})` : ""), `kind: ${kind}`, `size: ${size === name ? "known at run time" : size}`, `from: ${originOf(what.wire === undefined ? facts : data.levels[what.level].steps[wiresOf(what.path)[what.wire][1][0][0]])}`);
  }
  if (facts) {
    say(...linesOf(what), facts.b !== undefined ? "a block: click it, or press Enter, to open or close it" : "");
    return heatOf(what);
  }
  if (what.places.length) return say(what.places.slice(0, 3).map(p => textOf(data.places[p]).replace(/\s+/g, " ")).join("; "));
  return null;
}

// What a step is, takes and gives.
function linesOf(what) {
  const facts = data.levels[what.level].steps[what.step], shapes = all => all.map(axes => shapeOf(axes, what.path)).join(", ");
  return [facts.h ? `${facts.h}${label(facts) ? ` (${label(facts)})` : ""}` : facts.t, facts.i.length ? `takes ${shapes(facts.i)}` : "",
    facts.o.length ? `gives ${facts.n ? facts.n + " " : ""}${shapes(facts.o)}` : "", facts.f ? `with ${facts.f}` : ""].filter(Boolean);
}

const originOf = facts => facts.h || facts.t;
