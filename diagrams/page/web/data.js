// What the page knows, and what all of its parts share.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const figure = $("figure"), SVG = "http://www.w3.org/2000/svg";
const still = matchMedia("(prefers-reduced-motion: reduce)");

// root: the level on show. open: the paths of open blocks, such as "0/12": the block at step 12 of level 0.
// zoom: 1 fits the window. sizes: what the reader gave for axes whose size is known at run time only, by family.
const state = { root: data.root, open: new Set(), zoom: 1, sizes: {}, held: null };

function make(name, attributes = {}, ...inside) {
  const svg = ["g", "svg", "rect", "path", "text", "title", "desc"].includes(name) && attributes.html === undefined;
  const element = svg ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (key !== "html") element.setAttribute(key, value);
  element.append(...inside);
  return element;
}

// The size of an axis; within an open block (`path`) that of the axis which it stands for there, or its name.
function sizeOf(axis, path = "") {
  const { name, size, family } = data.axes[axis];
  if (size !== null || state.sizes[family]) return String(size ?? state.sizes[family]);
  let called = name;
  for (let at = path; at.includes("/"); at = at.slice(0, at.lastIndexOf("/"))) {
    const pairs = (factOf(at).a || "").split(", ").map(pair => pair.split(" = "));
    called = (pairs.find(([theirs]) => theirs === called) || [called, called])[1];
  }
  const known = data.axes.find(a => a.name === called && (a.size ?? state.sizes[a.family]));
  return String(known ? known.size ?? state.sizes[known.family] : name);
}

function shapeOf(axes, path) {
  if (!axes.length) return "a number";
  const names = axes.map(a => data.axes[a].name), sizes = axes.map(a => sizeOf(a, path)).join(" × ");
  return `[${names.join(", ")}]` + (sizes === names.join(" × ") ? "" : ` = ${sizes}`);
}

const textOf = ([source, from, to]) => data.sources[source][1].slice(from, to);
