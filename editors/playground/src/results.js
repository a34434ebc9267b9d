// The right side: the living figure, both sources, cost and weights of the model that is chosen.
import { $, make } from "./elements.js";

const TEXTS = new Set(["torch", "numpy", "cost", "weights"]);
const made = new Map(); // part -> what was made of this text and model
let frame = null;

export function showPart(part) {
  for (const tab of document.querySelectorAll("#parts [role=tab]")) {
    tab.setAttribute("aria-selected", tab.dataset.part === part);
    tab.tabIndex = tab.dataset.part === part ? 0 : -1;
  }
  $("figure").hidden = part !== "figure";
  $("text").hidden = !TEXTS.has(part);
  $("sees").hidden = part !== "sees";
  if (TEXTS.has(part)) $("text").textContent = made.get(part)?.text ?? "";
  $("copy").hidden = !TEXTS.has(part) || !made.has(part);
}

// of: the text and the model that it was made of.
export function keep(part, of, text) {
  made.set(part, { of, text });
  if (part === "figure") drawn(text);
}

export const isMade = (part, of) => made.get(part)?.of === of;
export const isShown = () => made.size > 0 && $("sees").hidden;
export const partText = part => made.get(part)?.text ?? "";
export const stale = on => $("results").classList.toggle("stale", on);

// The new figure takes the place of the old one once it is there.
function drawn(page) {
  const next = make("iframe", { src: "figure.html", sandbox: "allow-scripts allow-downloads allow-modals", title: "the living figure" });
  next.addEventListener("load", () => {
    next.contentWindow.postMessage({ figure: page }, "*");
    if (frame) frame.remove();
    frame = next;
  }, { once: true });
  $("figure").append(next);
}
