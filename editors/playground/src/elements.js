// Elements are made of text, never of markup: what a link brings stays text.
export const $ = id => document.getElementById(id);

export function make(name, attributes = {}, ...inside) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== false && value !== undefined) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...inside);
  return element;
}

// Words with `code` in them.
export const worded = text => text.split("`").map((part, k) => (k % 2 ? make("code", {}, part) : part));

// A file for the reader to keep.
export function save(name, content) {
  const url = URL.createObjectURL(new Blob([content]));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
